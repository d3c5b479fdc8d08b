#!/bin/sh
# Lists the operator tables that the families in functions/ end in, one line a table:
#     MDF_OPERATOR_TABLE(mdf_operators_unary)
# functions/kernel/registry.c includes the result. Run from the root of the tree.
set -eu
export LC_ALL=C
find functions -name "*.c" -exec sed -n 's/^const struct mdf_operator \(mdf_operators_[a-z0-9_]*\)\[\].*/MDF_OPERATOR_TABLE(\1)/p' {} + | sort -u
