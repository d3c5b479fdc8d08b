#!/bin/sh
# Writes what a kernel of a plugin sees, two structs of mdf_c/mdf.h, as a string in C, which mdf_c/source/source_custom.c includes.
# Run from the root of the tree.
set -eu
export LC_ALL=C
for name in mdf_tensor mdf_function_call; do
    sed -n "/^typedef struct $name {/,/^} $name;/p" mdf_c/mdf.h | sed 's/\\/\\\\/g; s/"/\\"/g; s/^/    "/; s/$/\\n"/'
done
