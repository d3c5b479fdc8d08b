#!/usr/bin/env bash
# Static checks with what is installed of cppcheck, clang-tidy and shellcheck.
set -u

status=0
flags="-std=gnu11 -I. -Ibuild/generated $(pkg-config --cflags yaml-0.1 libcjson libbson-1.0 libprotobuf-c libzip)"
sources=$(find mdf_c schemas functions -name '*.c' | sort)
if command -v cppcheck >/dev/null; then
    # shellcheck disable=SC2086
    cppcheck -q --std=c11 --enable=warning,performance,portability --inline-suppr --suppress=missingIncludeSystem \
        --suppressions-list=tools/cppcheck_suppressions.txt --error-exitcode=1 -I. -Ibuild/generated -j "$(nproc)" $sources || status=1
fi
if command -v clang-tidy >/dev/null; then
    # shellcheck disable=SC2086
    clang-tidy --quiet --warnings-as-errors='*' \
        --checks='-*,bugprone-*,-bugprone-easily-swappable-parameters,-bugprone-branch-clone,clang-analyzer-*,-clang-analyzer-security.insecureAPI.*' \
        $sources -- $flags || status=1
fi
if command -v shellcheck >/dev/null; then
    shellcheck tools/*.sh .ci/run || status=1
fi
exit "$status"
