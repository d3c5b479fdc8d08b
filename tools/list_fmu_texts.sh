#!/bin/sh
# Writes the files of mdf_c/cli/fmu/runtime as arrays of lines in C, which mdf_c/cli/fmu/fmu_source.c includes:
#     static const char *const fmu_instance_lines[] = {"...\n", ..., NULL};
# Run from the root of the tree.
set -eu
export LC_ALL=C
for file in mdf_c/cli/fmu/runtime/*.inc; do
    name=$(basename "$file" .inc)
    echo "static const char *const ${name}_lines[] = {"
    sed 's/\\/\\\\/g; s/"/\\"/g; s/^/    "/; s/$/\\n",/' "$file"
    echo "    NULL};"
done
