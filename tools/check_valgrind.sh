#!/usr/bin/env bash
# Runs every example under valgrind: no invalid access, no leak. VALGRIND and BUILD may be set.
set -u

passed=0
failed=0
while IFS=$'\t' read -r file _ options; do
    if output=$(eval "${VALGRIND:-valgrind} -q --leak-check=full --show-leak-kinds=all --error-exitcode=99 \
            ${BUILD:-build}/mdf-run --quiet --threads 1 $options examples/$file" 2>&1 >/dev/null </dev/null); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf '%s\n%s\n' "$file" "$output"
    fi
done < <(tools/list_examples.sh examples/README.md examples/*/README.md | sort -u -t "$(printf "\t")" -k 1,1)
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
