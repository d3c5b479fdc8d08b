#!/usr/bin/env bash
# Runs fuzzers, two at a time, from the corpus that is kept in fuzz/corpus; what they find to be new goes to FOLDER/corpus. Prints a
# line for each; fails where one does, with its last lines and the command that shows the fault again.
#
#   run_fuzzers.sh FOLDER SECONDS TARGET...     FOLDER has the programs fuzz_TARGET
#   run_fuzzers.sh FOLDER minimise TARGET...    fuzz/corpus becomes the fewest inputs that reach as much as both folders
#   JOBS=2, FUZZ_FLAGS="..." (of libFuzzer) may be set
set -u
folder=$1 time=$2
shift 2
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=1:allocator_may_return_null=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1}"
export MSAN_OPTIONS="${MSAN_OPTIONS:-allocator_may_return_null=1}"

flags_of() {
    local flags=(-timeout=25 -rss_limit_mb=2560 -max_len=16384 -print_final_stats=1 "-artifact_prefix=$folder/$1-")
    [ ! -f "fuzz/dictionaries/$1.dict" ] || flags+=("-dict=fuzz/dictionaries/$1.dict")
    printf '%s\n' "${flags[@]}"
}

fuzz() {
    local target=$1 log=$folder/$1.log flags
    mapfile -t flags < <(flags_of "$target")
    mkdir -p "$folder/corpus/$target" "fuzz/corpus/$target"
    # shellcheck disable=SC2086
    if ! "$folder/fuzz_$target" "${flags[@]}" -max_total_time="$time" ${FUZZ_FLAGS:-} "$folder/corpus/$target" "fuzz/corpus/$target" >"$log" 2>&1; then
        tail -n 60 "$log"
        echo "fuzz_$target FAILED; again: $folder/fuzz_$target $(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)"
        return 1
    fi
    echo "fuzz_$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, $(sed -n 's/^fuzz_[a-z]*: inputs //p' "$log"), $(
        sed -n 's/.*DONE *\(cov: [0-9]*\).*/\1/p' "$log")"
}

minimise() {
    local target=$1 kept flags
    kept=$(mktemp -d "fuzz/corpus/$target.XXXXXX")
    mapfile -t flags < <(flags_of "$target")
    mkdir -p "$folder/corpus/$target" "fuzz/corpus/$target"
    if "$folder/fuzz_$target" "${flags[@]}" -merge=1 "$kept" "fuzz/corpus/$target" "$folder/corpus/$target" >"$folder/$target.merge.log" 2>&1; then
        rm -r "fuzz/corpus/$target" && mv "$kept" "fuzz/corpus/$target" && chmod 755 "fuzz/corpus/$target"
        echo "fuzz/corpus/$target: $(find "fuzz/corpus/$target" -type f | wc -l) inputs, $(du -sk --apparent-size "fuzz/corpus/$target" | cut -f 1) KB"
    else
        rm -r "$kept"
        tail -n 20 "$folder/$target.merge.log"
        return 1
    fi
}

status=0
for target in "$@"; do
    while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-2}" ]; do
        wait -n || status=1
    done
    if [ "$time" = minimise ]; then
        minimise "$target" &
    else
        fuzz "$target" &
    fi
done
while [ -n "$(jobs -p)" ]; do
    wait -n || status=1
done
exit $status
