#!/bin/sh
# Prints, for each pair NAME/PACKAGE of the command line, what the system's loader knows the library of that pkg-config package by:
# #define MDF_LATE_NAME "libzip.so.5". CC is the compiler that finds it.
set -eu

for pair in "$@"; do
    package=${pair#*/}
    # What pkg-config does not know is the name of the library itself.
    link_name=$(pkg-config --libs-only-l "$package" 2>/dev/null | sed 's/^ *-l\([^ ]*\).*/\1/')
    link_name=${link_name:-$package}
    file=$(pkg-config --variable=libdir "$package" 2>/dev/null || true)/lib$link_name.so
    [ -e "$file" ] || file=$(${CC:-cc} -print-file-name="lib$link_name.so")
    name=$(readelf -d "$file" 2>/dev/null | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
    echo "#define MDF_LATE_$(echo "${pair%%/*}" | tr '[:lower:]' '[:upper:]') \"${name:-lib$link_name.so}\""
done
