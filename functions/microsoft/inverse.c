/* inverse.c - inverses of square matrices: Inverse.
 *
 * Comes in: an array [..., n, n]. Goes out: the same shape. By elimination with partial pivoting, in float64; a matrix that has
 * no inverse is an error. Source: Inverse of ONNX Runtime's com.microsoft, version 1. */
#include "functions/kernel/workspace.h"

#include <math.h>
#include <string.h>

/* `rows` is [n, 2 n]: the matrix, and the identity that becomes its inverse. */
static void begin_rows(double *rows, const double *matrix, size_t n)
{
    memset(rows, 0, 2 * n * n * sizeof *rows);
    for (size_t row = 0; row < n; row++) {
        memcpy(rows + 2 * n * row, matrix + n * row, n * sizeof *rows);
        rows[2 * n * row + n + row] = 1;
    }
}

static void swap_rows(double *a, double *b, size_t n)
{
    for (size_t i = 0; a != b && i < n; i++) {
        double element = a[i];

        a[i] = b[i];
        b[i] = element;
    }
}

static bool eliminate(double *rows, size_t n)
{
    size_t width = 2 * n;

    for (size_t step = 0; step < n; step++) {
        size_t pivot = step;
        double factor;

        for (size_t row = step + 1; row < n; row++) {
            pivot = fabs(rows[row * width + step]) > fabs(rows[pivot * width + step]) ? row : pivot;
        }
        swap_rows(rows + step * width, rows + pivot * width, width);
        factor = rows[step * width + step];
        if (!(fabs(factor) > 0)) {
            return false;
        }
        for (size_t i = step; i < width; i++) {
            rows[step * width + i] /= factor;
        }
        for (size_t row = 0; row < n; row++) {
            factor = rows[row * width + step];
            for (size_t i = step; row != step && i < width; i++) {
                rows[row * width + i] -= factor * rows[step * width + i];
            }
        }
    }
    return true;
}

static bool check_matrices(struct mdf_call *call, const struct mdf_value *x)
{
    char text[128];

    if (x->rank >= 2 && mdf_value_shape(x)[x->rank - 1] == mdf_value_shape(x)[x->rank - 2]) {
        return true;
    }
    mdf_value_describe(x, text, sizeof text);
    return mdf_call_error(call, MDF_SHAPE, "X is %s; its last two axes have to be those of square matrices", text);
}

static bool inverse(struct mdf_call *call)
{
    const struct mdf_value *x = mdf_call_tensor(call, 0);
    struct mdf_workspace workspace;
    const double *matrices;
    double *rows, *y;
    size_t n;

    if (x == NULL || !check_matrices(call, x) || !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, 3)) {
        return false;
    }
    n = x->length > 0 ? (size_t)mdf_value_shape(x)[x->rank - 1] : 0;
    matrices = mdf_workspace_input(&workspace, 0);
    rows = matrices == NULL ? NULL : mdf_workspace_matrix(&workspace, MDF_DTYPE_FLOAT64, n, 2 * n);
    y = rows == NULL ? NULL : mdf_workspace_output(&workspace, 0, (mdf_dtype)x->dtype, x->rank, mdf_value_shape(x));
    for (size_t done = 0; y != NULL && done < x->length; done += n * n) {
        begin_rows(rows, matrices + done, n);
        if (!eliminate(rows, n)) {
            return mdf_call_error(call, MDF_VALUE, "matrix number %zu of X has no inverse", done / (n * n));
        }
        for (size_t row = 0; row < n; row++) {
            memcpy(y + done + n * row, rows + 2 * n * row + n, n * sizeof *y);
        }
    }
    return y != NULL && mdf_workspace_end(&workspace);
}

const struct mdf_operator mdf_operators_inverse[] = {
    {"Inverse", 1, 99, inverse, NULL, 0, MDF_OPERATOR_PURE, NULL, .infer = &mdf_rule_same,
     .derivatives = MDF_DERIVATIVES({0, "-numpy.matmul(gradient.turn(y, True), numpy.matmul(dy, gradient.turn(y, True)))"})},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
