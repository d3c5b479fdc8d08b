#!/usr/bin/env bash
# Runs the tests of the Python package on the engine in BUILD: prints what fails, then one line "N passed, N failed". Tests of parts that
# other packages are needed for are passed over where these are absent. Without a Python that has NumPy and pytest: "0 passed, 0 failed".
set -u

python=$(tools/find_python.sh) || {
    echo "python: not tested: there is no Python with NumPy and pytest"
    echo "0 passed, 0 failed"
    exit 0
}
export PYTHONDONTWRITEBYTECODE=1
MDF_C_BUILD=$(cd "${BUILD:-build}" && pwd) && export MDF_C_BUILD
output=$(cd python && timeout 900 "$python" -m pytest -q -rs -p no:cacheprovider 2>&1)
status=$?
summary=$(printf '%s\n' "$output" | tail -n 1)
count() {
    printf '0%s\n' "$(printf '%s\n' "$summary" | grep -o "[0-9]* $1" | grep -o '^[0-9]*')"
}
passed=$((10#$(count passed)))
failed=$((10#$(count failed) + 10#$(count error)))
[ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
if [ "$failed" -gt 0 ]; then
    printf 'python: exit status %d\n%s\n' "$status" "$output"
else
    printf '%s\n' "$output" | sed -n 's/^SKIPPED \[\([0-9]*\)\] [^:]*:[0-9]*: \(.*\)/python: \1 passed over: \2/p'
    echo "python: $passed passed"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
