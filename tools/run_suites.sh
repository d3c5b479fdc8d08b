#!/usr/bin/env bash
# Runs Criterion suites one after another and sums up: prints what fails, then one line "N passed, N failed".
# WITH_PYTHON=1: the tests of the Python package too (tools/run_python_tests.sh), and random models (tools/run_random_models.sh,
# tests/random/nested_pairs.py).
# Usage: run_suites.sh SUITE... A suite that ends without a report, or fails without a failed test, counts as one failure. A
# test that leaks under the address sanitizer has failed too, which Criterion does not see: it ends before the leak is found.
set -u

passed=0
failed=0
export BUILD="${BUILD:-build}"
kept="$PWD/tests/support/cc_kept.sh" # the suites' compiler alone: what others compile is kept by --compile, or is new each time
export TZ="${TZ:-UTC}" # else the C library looks for the system's file at each time of an archive's entry
[ ! -d "$BUILD/compiled" ] || find "$BUILD/compiled" -type f -mtime +7 -delete # sources that are others today
# Large blocks stay with the process: the system clears what it is asked for anew.
export MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=1073741824
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=1:allocator_may_return_null=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1}"
for suite in "$@"; do
    output=$(CC="${CC:-$kept}" MDF_RANDOM_CC="$kept" "$suite" --color=never --short-filename 2>&1)
    status=$?
    report=$(printf '%s\n' "$output" | sed -n 's/.*Synthesis: Tested: .*Passing: \([0-9]*\) | Failing: \([0-9]*\) .*/\1 \2/p' | tail -n 1)
    leaks=$(printf '%s\n' "$output" | grep -c 'ERROR: LeakSanitizer')
    read -r good bad <<<"${report:-0 0}" # tests that crash are among those that fail
    good=$((good > leaks ? good - leaks : 0))
    wrong=$((bad + leaks))
    [ "$status" -eq 0 ] || [ "$wrong" -gt 0 ] || wrong=1
    [ -n "$report" ] || wrong=1
    passed=$((passed + good))
    failed=$((failed + wrong))
    if [ "$wrong" -gt 0 ]; then
        printf '%s: exit status %d\n%s\n' "${suite##*/}" "$status" "$output"
    else
        printf '%s: %d passed\n' "${suite##*/}" "$good"
    fi
done
# Adds what a script tells in its last line, "N passed, N failed"; prints the lines before.
add_counts_of() {
    output=$("$@")
    printf '%s\n' "$output" | sed '$d'
    read -r good bad <<<"$(printf '%s\n' "$output" | sed -n '$s/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p')"
    passed=$((passed + ${good:-0}))
    failed=$((failed + ${bad:-1}))
}
if [ -n "${WITH_PYTHON:-}" ]; then
    add_counts_of tools/run_python_tests.sh
    add_counts_of tools/run_random_models.sh
    ! command -v python3 >/dev/null || add_counts_of python3 tests/random/nested_pairs.py --pairs 150
    ! command -v python3 >/dev/null || add_counts_of python3 tests/random/check_gradients.py --models 60
    ! command -v python3 >/dev/null || add_counts_of python3 tests/random/check_names.py --models 60
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
