/* determinant.c - Det: determinants of square matrices.
 *
 * Comes in: an array [..., n, n]. Goes out: an array [...]. By elimination with partial pivoting, in float64; that of a
 * matrix without elements is 1. Source: ONNX Det, all versions. */
#include "functions/kernel/routine.h"
#include "functions/kernel/workspace.h"
#include "functions/moves/indexing.h"

#include <math.h>
#include <string.h>

#include "functions/products/eliminate_routine.inc"

static bool determinant(struct mdf_call *call)
{
    const struct mdf_value *x = mdf_call_tensor(call, 0);
    struct mdf_workspace workspace;
    const double *matrices;
    double *matrix, *y;
    size_t n, n_matrices;

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
    matrix = matrices == NULL ? NULL : mdf_workspace_matrix(&workspace, MDF_DTYPE_FLOAT64, n, x->length > 0 ? n : 0);
    y = matrix == NULL ? NULL : mdf_workspace_output(&workspace, 0, (mdf_dtype)x->dtype, x->rank - 2, mdf_value_shape(x));
    if (y == NULL || !mdf_workspace_product(call, mdf_value_shape(x), 0, x->rank - 2, &n_matrices)) {
        return false;
    }
    for (size_t i = 0; i < n_matrices; i++) {
        if (n > 0) {
            memcpy(matrix, matrices + i * n * n, n * n * sizeof *matrix);
        }
        y[i] = mdf_eliminate(matrix, (int64_t)n);
    }
    return mdf_workspace_end(&workspace);
}

static bool plan_determinant(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct mdf_value *x = call->inputs[0];
    size_t n = (size_t)mdf_value_shape(x)[x->rank - 1];

    if (!mdf_routine_room(plan, 2, 0)) {
        return false;
    }
    plan->function = "determinants";
    plan->dtype = (mdf_dtype)x->dtype;
    plan->whole[0] = (int64_t)mdf_axes_product(mdf_value_shape(x), 0, x->rank - 2u);
    plan->whole[1] = (int64_t)n;
    plan->work_bytes = n * n * sizeof(double);
    return true;
}

const struct mdf_operator mdf_operators_determinant[] = {
    {"Det", 11, 99, determinant, NULL, 0, MDF_OPERATOR_PURE, NULL,
     .derivatives = MDF_DERIVATIVES({0, "numpy.expand_dims(dy * y, (-2, -1)) * gradient.turn(numpy.linalg.inv(x0), True)"}),
     .routine = &(const struct mdf_routine){plan_determinant, .takes_halves = true}, .infer = &mdf_rule_det},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
