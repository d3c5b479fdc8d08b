#!/usr/bin/env bash
# Lets every allocation of small runs fail, alone and with all that follow it: reading and writing each format, evaluating, compiling,
# sweeping, Python. A run must end in a message and exit status 1 or 2, or in the same output; never in a signal, nor hang, nor leak.
# (Calls that change files: tests/run/test_failing.c tries each of them.)
# Usage: check_failing.sh [SECONDS]   for each command and way; default 60. Those that time did not suffice for are told.
set -u
# SECONDS is a variable of bash; that of make is an argument here.
seconds=${1:-60}
build=${BUILD:-build}
failer=$build/tests/preload/fail_allocation.so
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
export XDG_CACHE_HOME=$folder
status=0

check() {
    local how
    for how in once on; do
        echo "$*"
        env FAIL_ALLOCATION=1:0:1:$how FAIL_ALLOCATION_SECONDS="$seconds" LD_PRELOAD="$failer" "$build/$@" || status=1
    done
    if compgen -G "$folder/*.new" >/dev/null; then
        echo "$1 leaves $(ls "$folder")"
        status=1
    fi
}

printf 'parameters: {cup.time_constant: [100.0, 200.0, 300.0]}\nsteps: 4\ndt: 1\n' >"$folder/sweep.yaml"
"$build/mdf-convert" examples/elman_rnn.json "$folder/in.bson" || status=1
"$build/mdf-run" --quiet --compile examples/cooling.yaml --dt 1 >/dev/null || status=1

for model in two_nodes.json onnx/string_scalar.onnx onnx/body_nested_deep.onnx; do
    check mdf-run --check "tests/data/$model"
done
for example in newton_sqrt.json elman_rnn.json cooling.yaml slow_and_fast.yaml traffic_light.yaml multiplication_table.yaml shared_body.json; do
    check mdf-run "examples/$example" -n 3 --trace
done
check mdf-run "$folder/in.bson" --typed
check mdf-run examples/cooling.yaml --dt 1 -n 3 --trace -o "$folder/out.csv"
check mdf-run examples/cooling.yaml --quiet --graph-image "$folder/out.dot"
check mdf-run tests/data/onnx/loop_grows.onnx -i m=3 -i c=true -i x=[1]
check mdf-run tests/data/failing/libraries.json # images and a regular expression, by libraries of others
check mdf-run --compile examples/cooling.yaml --dt 1
check mdf-run --sweep "$folder/sweep.yaml" examples/cooling.yaml --threads 2
# libzip leaves a block where it gets no memory while it writes.
FAIL_ALLOCATION_LEFT=1 check mdf-run --sweep "$folder/sweep.yaml" examples/cooling.yaml -o "$folder/sweep.npz"
check mdf-run --quiet --sweep "$folder/sweep.yaml" examples/cooling.yaml --chunk 2 --resume -o "$folder/sweep.zarr"
for suffix in json yaml bson; do
    check mdf-convert examples/cooling.yaml "$folder/out.$suffix"
done
check mdf-convert --weights-beside 12 tests/data/onnx/default_input.onnx "$folder/parted.json"
check mdf-run "$folder/parted.json" -i x=[1,2,3]
check mdf-compile examples/fitzhugh_nagumo.yaml -o "$folder/out.h"
check mdf-fmu examples/cooling.yaml --dt 1 --source-only -o "$folder/out.fmu"

if python=$(tools/find_python.sh); then
    python=$("$python" -c 'import sys; print(sys.executable)')
    LD_PRELOAD=$failer MDF_C_BUILD=$build "$python" tests/calls/failing_calls.py --seconds "$((2 * seconds))" || status=1
fi
exit $status
