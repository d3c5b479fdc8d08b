#!/usr/bin/env bash
# Runs a fixed number of random models by every way that the engine has (tests/random/README.md), and sees that what is wrong would be found:
# prints what it finds, then one line "N passed, N failed". Without a Python that has NumPy: "0 passed, 0 failed".
set -u

python=$(tools/find_python.sh) || {
    echo "random models: not run: there is no Python with NumPy and pytest"
    echo "0 passed, 0 failed"
    exit 0
}
export PYTHONDONTWRITEBYTECODE=1
export BUILD="${BUILD:-build}"
passed=0
failed=0
count() {
    if [ "$1" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}
"$python" tests/random/self_test.py
count $?
"$python" tests/random/check_random.py --seeds "${RANDOM_SEEDS:-400}" --from 0 --compile-every "${RANDOM_COMPILE_EVERY:-60}"
count $?
"$python" tests/random/check_numpy.py --seeds "${RANDOM_SEEDS:-400}"
count $?
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
