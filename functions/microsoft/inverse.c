/* inverse.c - inverses of square matrices: Inverse.
 *
 * Comes in: an array [..., n, n]. Goes out: the same shape. As numpy.linalg.inv has them: by elimination with partial pivoting,
 * in float64; a matrix that has none is an error. Source: Inverse of ONNX Runtime's com.microsoft, version 1. */
#include "functions/kernel/workspace.h"
#include "functions/python/numpy/numpy_linalg.h"

#include <string.h>

static bool inverse(struct mdf_call *call)
{
    const struct mdf_value *x = mdf_call_tensor(call, 0);
    struct mdf_workspace workspace;
    const double *matrices;
    double *work, *y;
    size_t n;

    if (x == NULL || !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, 3)) {
        return false;
    }
    if (x->rank < 2 || mdf_value_shape(x)[x->rank - 1] != mdf_value_shape(x)[x->rank - 2]) {
        char text[128];

        mdf_value_describe(x, text, sizeof text);
        return mdf_call_error(call, MDF_SHAPE, "X is %s; its last two axes have to be those of square matrices", text);
    }
    n = (size_t)mdf_value_shape(x)[x->rank - 1];
    matrices = mdf_workspace_input(&workspace, 0);
    work = matrices == NULL ? NULL : mdf_workspace_array(&workspace, MDF_DTYPE_FLOAT64, x->length);
    y = work == NULL ? NULL : mdf_workspace_output(&workspace, 0, (mdf_dtype)x->dtype, x->rank, mdf_value_shape(x));
    if (y == NULL) {
        return false;
    }
    if (x->length > 0) {
        memcpy(work, matrices, x->length * sizeof *work);
    }
    return mdf_invert(call, work, y, n, n > 0 ? x->length / (n * n) : 0) && mdf_workspace_end(&workspace);
}

const struct mdf_operator mdf_operators_inverse[] = {{"Inverse", 1, 99, inverse, NULL, 0, MDF_OPERATOR_PURE, NULL,
                                                      .infer = &mdf_rule_same, .derivatives = MDF_INVERSE_DERIVATIVES,
                                                      .routine = &mdf_inverse_routine},
                                                     {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
