#!/usr/bin/env bash
# Runs every example under valgrind: no invalid access, no leak. VALGRIND and BUILD may be set.
set -u

passed=0
failed=0
for model in examples/*.json examples/*.yaml; do
    [ -f "$model" ] || continue
    if output=$(${VALGRIND:-valgrind} -q --leak-check=full --show-leak-kinds=all --error-exitcode=99 \
            "${BUILD:-build}/mdf-run" --quiet --steps 3 --dt 0.01 "$model" 2>&1 >/dev/null); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf '%s\n%s\n' "$model" "$output"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
