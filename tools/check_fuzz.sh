#!/usr/bin/env bash
# Runs the fuzz driver, one process a core: every prefix of ten ONNX files, 100,000 inputs with bytes flipped, as many that are
# changed along their structure; then a tenth of that on the same models as JSON, YAML and BSON. Fails where one crashes, hangs,
# leaks or shows another fault.
#
#   check_fuzz.sh DRIVER [FILE|FOLDER...]      default: tests/data, for texts examples
#   SEED=1 FLIPS=100000 MUTATIONS=100000 TRUNCATE=10 may be set
set -u
driver=$1
shift
seed=${SEED:-1} flips=${FLIPS:-100000} mutations=${MUTATIONS:-100000} truncate=${TRUNCATE:-10}
folder=$(dirname "$driver")
n=$(nproc 2>/dev/null || echo 1)
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
status=0
pids=()

# run_part PART OPTIONS...
run_part() {
    local part=$1
    shift
    if ! "$driver" --seed "$seed" --part "$part/$n" --current "$folder/current.$part" "$@" >"$folder/log.$part" 2>&1; then
        cat "$folder/log.$part"
        echo "FAILED at input $(tr -d ' ' <"$folder/current.$part"): $driver --seed $seed --only NUMBER --keep FILE $*"
        return 1
    fi
    cat "$folder/log.$part"
}

# run_all OPTIONS...
run_all() {
    local part pid
    pids=()
    for ((part = 0; part < n; part++)); do
        run_part "$part" "$@" &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        wait "$pid" || status=1
    done
}

run_all --truncate "$truncate" --flips "$flips" --mutations "$mutations" --format onnx "${@:-tests/data}"
for format in json yaml bson; do
    run_all --truncate 0 --flips $((flips / 10)) --mutations $((mutations / 10)) --as $format "${@:-examples}"
done
exit $status
