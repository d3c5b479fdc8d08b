#!/usr/bin/env bash
# Installs into a folder, builds README's C program against what is there (pkg-config; as C++ and by CMake where these are), runs it, and
# uninstalls: nothing may be left.
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
prefix=$folder/usr
CC=${CC:-cc}

fail() {
    echo "check-install: $*" >&2
    exit 1
}

# The program of README.md's page, and what it prints.
sed -n '/^    #include <mdf.h>/,/^    }/s/^    //p' README.md >"$folder/root.c"
expect() {
    local printed
    printed=$("$@") || fail "$* failed"
    [[ $printed == 3.1622776601683* ]] || fail "$* printed '$printed'"
}

make --no-print-directory install BUILD="${BUILD:-build}" PREFIX="$prefix" >"$folder/log" 2>&1 || { cat "$folder/log" >&2; fail "make install"; }
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib
# shellcheck disable=SC2046,SC2086
$CC -std=c11 -Wall -Wextra -Werror -pedantic "$folder/root.c" -o "$folder/by_pkg_config" $(pkg-config --cflags --libs mdf)
expect "$folder/by_pkg_config"
n_ways=1
if command -v c++ >/dev/null; then
    sed 's/{0}/{}/' "$folder/root.c" >"$folder/root.cc"
    # shellcheck disable=SC2046
    c++ -std=c++11 -Wall -Wextra -Werror -pedantic "$folder/root.cc" -o "$folder/by_c++" $(pkg-config --cflags --libs mdf)
    expect "$folder/by_c++"
    n_ways=$((n_ways + 1))
fi
if command -v cmake >/dev/null; then
    cat >"$folder/CMakeLists.txt" <<'LISTS'
cmake_minimum_required(VERSION 3.13)
project(root C)
find_package(mdf 0.1 REQUIRED)
add_executable(root root.c)
target_link_libraries(root PRIVATE mdf::mdf)
LISTS
    if ! { cmake -S "$folder" -B "$folder/cmake" -DCMAKE_PREFIX_PATH="$prefix" && cmake --build "$folder/cmake"; } >"$folder/log" 2>&1; then
        cat "$folder/log" >&2
        fail "CMake"
    fi
    expect "$folder/cmake/root"
    n_ways=$((n_ways + 1))
fi
expect sh -c "$prefix/bin/mdf-run examples/newton_sqrt.json -i a=10 | sed -n 's/.*\"x\": \([0-9.]*\).*/\1/p' | head -1"
make --no-print-directory uninstall BUILD="${BUILD:-build}" PREFIX="$prefix" >/dev/null
left=$(find "$prefix" -not -type d)
[ -z "$left" ] || fail "uninstall leaves $left"
echo "check-install: README's program built and run in $n_ways ways; nothing left after uninstall"
