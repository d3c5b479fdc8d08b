/* pairs.c - distances of all pairs of rows of two matrices: CDist.
 *
 * Comes in: A [m, k], B [n, k]. Goes out: [m, n], squared or not. Computed in float64, from the differences. Source: CDist of
 * ONNX Runtime's com.microsoft, version 1. */
#include "functions/kernel/routine.h"
#include "functions/kernel/workspace.h"

#include <math.h>
#include <string.h>

enum { N_WHOLE = 4 };

struct pair_settings {
    const char *metric;
};

static const struct mdf_setting pair_table[] = {{"metric", MDF_SETTING_STRING, offsetof(struct pair_settings, metric)},
                                                {NULL, MDF_SETTING_INT, 0}};

#define ROUTINES "functions/microsoft/pairs_routine.inc"
#include "functions/kernel/routine_reals.inc"

static bool is_known(const char *metric)
{
    return strcmp(metric, "sqeuclidean") == 0 || strcmp(metric, "euclidean") == 0;
}

/* What the routine gets. */
static void put_numbers(const struct pair_settings *settings, const struct mdf_value *a, const struct mdf_value *b,
                        int64_t whole[N_WHOLE])
{
    whole[0] = mdf_value_shape(a)[0];
    whole[1] = mdf_value_shape(b)[0];
    whole[2] = mdf_value_shape(a)[1];
    whole[3] = strcmp(settings->metric, "sqeuclidean") == 0;
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
    struct mdf_workspace workspace;
    const void *in[2];
    int64_t shape[2];
    void *out[1];

    if (a == NULL || b == NULL || !check_matrices(call, a, b) || !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, 3)) {
        return false;
    }
    if (!is_known(settings->metric)) {
        return mdf_call_error(call, MDF_UNSUPPORTED, "metric '%s' is neither 'sqeuclidean' nor 'euclidean'", settings->metric);
    }
    shape[0] = mdf_value_shape(a)[0];
    shape[1] = mdf_value_shape(b)[0];
    in[0] = mdf_workspace_input(&workspace, 0);
    in[1] = in[0] == NULL ? NULL : mdf_workspace_input(&workspace, 1);
    out[0] = in[1] == NULL ? NULL : mdf_workspace_output(&workspace, 0, (mdf_dtype)a->dtype, 2, shape);
    if (out[0] != NULL) {
        int64_t whole[N_WHOLE];

        put_numbers(settings, a, b, whole);
        mdf_distances_float64(out, in, whole, NULL, NULL);
    }
    return out[0] != NULL && mdf_workspace_end(&workspace);
}

/* ------------------------------------------------------------------ as plain C: pairs_routine.inc */

static bool plan_distances(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct pair_settings *settings = call->settings;
    const struct mdf_value *a = call->inputs[0], *b = call->inputs[1];

    plan->dtype = (mdf_dtype)a->dtype;
    if (!mdf_dtype_is_real(plan->dtype) || b->dtype != a->dtype || a->rank != 2 || b->rank != 2 ||
        mdf_value_shape(a)[1] != mdf_value_shape(b)[1] || !is_known(settings->metric) || !mdf_routine_room(plan, N_WHOLE, 0)) {
        return false;
    }
    plan->function = "distances";
    put_numbers(settings, a, b, plan->whole);
    return true;
}

const struct mdf_operator mdf_operators_pairs[] = {
    {"CDist", 1, 99, distances, pair_table, sizeof(struct pair_settings), MDF_OPERATOR_PURE, NULL, .infer = &mdf_rule_rank,
     .routine = MDF_ROUTINE(plan_distances, NULL),
     .meaning = MDF_MEANING("result", NULL, {"between", "numpy.expand_dims(x0, 1) - numpy.expand_dims(x1, 0)", NULL},
                            {"squares", "numpy.sum(between * between, -1)", NULL},
                            {"result", "squares if metric == 'sqeuclidean' else operator.norm_root(squares)", NULL})},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
