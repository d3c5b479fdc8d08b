/* determinant.c - Det: determinants of square matrices.
 *
 * Comes in: an array [..., n, n]. Goes out: an array [...]. By elimination with partial pivoting, in float64; that of a
 * matrix without elements is 1. Source: ONNX Det, all versions. */
#include "functions/kernel/workspace.h"

#include <math.h>
#include <string.h>

static void swap_rows(double *matrix, size_t n, size_t a, size_t b)
{
    for (size_t column = 0; column < n; column++) {
        double element = matrix[a * n + column];

        matrix[a * n + column] = matrix[b * n + column];
        matrix[b * n + column] = element;
    }
}

/* The matrix is used up. */
static double eliminate(double *matrix, size_t n)
{
    double determinant = 1;

    for (size_t step = 0; step < n; step++) {
        size_t pivot = step;

        for (size_t row = step + 1; row < n; row++) {
            pivot = fabs(matrix[row * n + step]) > fabs(matrix[pivot * n + step]) ? row : pivot;
        }
        if (matrix[pivot * n + step] == 0) {
            return 0;
        }
        if (pivot != step) {
            swap_rows(matrix, n, pivot, step);
            determinant = -determinant;
        }
        determinant *= matrix[step * n + step];
        for (size_t row = step + 1; row < n; row++) {
            double factor = matrix[row * n + step] / matrix[step * n + step];

            for (size_t column = step; column < n; column++) {
                matrix[row * n + column] -= factor * matrix[step * n + column];
            }
        }
    }
    return determinant;
}

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
        y[i] = eliminate(matrix, n);
    }
    return mdf_workspace_end(&workspace);
}

const struct mdf_operator mdf_operators_determinant[] = {
    {"Det", 11, 99, determinant, NULL, 0, MDF_OPERATOR_PURE, NULL,
     .derivatives = MDF_DERIVATIVES({0, "numpy.expand_dims(dy * y, (-2, -1)) * gradient.turn(numpy.linalg.inv(x0), True)"})},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
