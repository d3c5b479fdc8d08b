/* pairs.c - distances of all pairs of rows of two matrices: CDist.
 *
 * Comes in: A [m, k], B [n, k]. Goes out: [m, n], squared or not. Computed in float64, from the differences. Source: CDist of
 * ONNX Runtime's com.microsoft, version 1. */
#include "functions/kernel/workspace.h"

#include <math.h>
#include <string.h>

struct pair_settings {
    const char *metric;
};

static const struct mdf_setting pair_table[] = {{"metric", MDF_SETTING_STRING, offsetof(struct pair_settings, metric)},
                                                {NULL, MDF_SETTING_INT, 0}};

/* Sums of squares in two totals, which do not wait for each other. */
static double squared_distance(const double *a, const double *b, size_t n)
{
    double even = 0, odd = 0;
    size_t i;

    for (i = 0; i + 1 < n; i += 2) {
        double first = a[i] - b[i], second = a[i + 1] - b[i + 1];

        even += first * first;
        odd += second * second;
    }
    if (i < n) {
        even += (a[i] - b[i]) * (a[i] - b[i]);
    }
    return even + odd;
}

static bool check_matrices(struct mdf_call *call, const struct mdf_value *a, const struct mdf_value *b)
{
    if (a->rank != 2 || b->rank != 2) {
        return mdf_call_error(call, MDF_SHAPE, "A has rank %u and B rank %u; both have to be matrices", a->rank, b->rank);
    }
    if (mdf_value_shape(a)[1] != mdf_value_shape(b)[1]) {
        return mdf_call_error(call, MDF_SHAPE, "rows of A have %lld elements, and rows of B %lld",
                              (long long)mdf_value_shape(a)[1], (long long)mdf_value_shape(b)[1]);
    }
    return true;
}

static bool distances(struct mdf_call *call)
{
    const struct pair_settings *settings = call->settings;
    const struct mdf_value *a = mdf_call_tensor(call, 0), *b = mdf_call_tensor(call, 1);
    bool is_squared = strcmp(settings->metric, "sqeuclidean") == 0;
    struct mdf_workspace workspace;
    const double *x, *y;
    int64_t shape[2];
    size_t n_columns;
    double *target;

    if (a == NULL || b == NULL || !check_matrices(call, a, b) || !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, 3)) {
        return false;
    }
    if (!is_squared && strcmp(settings->metric, "euclidean") != 0) {
        return mdf_call_error(call, MDF_UNSUPPORTED, "metric '%s' is neither 'sqeuclidean' nor 'euclidean'", settings->metric);
    }
    shape[0] = mdf_value_shape(a)[0];
    shape[1] = mdf_value_shape(b)[0];
    n_columns = (size_t)mdf_value_shape(a)[1];
    x = mdf_workspace_input(&workspace, 0);
    y = x == NULL ? NULL : mdf_workspace_input(&workspace, 1);
    target = y == NULL ? NULL : mdf_workspace_output(&workspace, 0, (mdf_dtype)a->dtype, 2, shape);
    for (int64_t i = 0; target != NULL && i < shape[0]; i++) {
        for (int64_t j = 0; j < shape[1]; j++) {
            double sum = squared_distance(x + (size_t)i * n_columns, y + (size_t)j * n_columns, n_columns);

            *target++ = is_squared ? sum : sqrt(sum);
        }
    }
    return target != NULL && mdf_workspace_end(&workspace);
}

const struct mdf_operator mdf_operators_pairs[] = {
    {"CDist", 1, 99, distances, pair_table, sizeof(struct pair_settings), MDF_OPERATOR_PURE, NULL, .infer = &mdf_rule_rank,
     .meaning = MDF_MEANING("result", NULL, {"between", "numpy.expand_dims(x0, 1) - numpy.expand_dims(x1, 0)", NULL},
                            {"squares", "numpy.sum(between * between, -1)", NULL},
                            {"apart", "squares > 0", NULL}, /* where two points meet, the derivative is 0 */
                            {"result",
                             "squares if metric == 'sqeuclidean' else numpy.where(apart, numpy.sqrt(numpy.where(apart, squares, "
                             "1.0)), 0.0)",
                             NULL})},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
