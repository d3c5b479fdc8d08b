#!/bin/sh
# Lists the operator tables that the families in functions/ end in, one line a table, with what its rows are, by its name:
#     MDF_OPERATOR_TABLE(mdf_operators_unary, ONNX)
# functions/kernel/registry.c includes the result. Run from the root of the tree.
set -eu
export LC_ALL=C
find functions -name "*.c" -exec sed -n 's/^const struct mdf_operator \(mdf_operators_[a-z0-9_]*\)\[\].*/MDF_OPERATOR_TABLE(\1, ONNX)/p' {} + |
    sed 's/(mdf_operators_python_attribute, ONNX/(mdf_operators_python_attribute, ATTRIBUTE/
         s/(mdf_operators_python_\(.*\), ONNX/(mdf_operators_python_\1, FUNCTION/' | sort -u
