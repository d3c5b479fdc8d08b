/* flex_attention.c - attention whose scores and weights go through bodies: FlexAttention.
 *
 * Comes in: queries, keys and values [batch, head, row, column]; a body that changes all scores, another that changes all
 * weights; both may be absent. Goes out: values weighed by the softmax of the scores. The bodies see the type softmax_precision,
 * float32 by default, float64 of float64. A row of scores that are all -infinity gives NaN, as Softmax does. Source: ONNX
 * ai.onnx.preview FlexAttention 1. */
#include "functions/kernel/derivatives.h"
#include "functions/recurrent/heads.h"

#include <math.h>
#include <string.h>

struct flex_settings {
    size_t score_mod, prob_mod;
    double scale;
    mdf_dtype softmax_precision;
};

static const struct mdf_setting flex_table[] = {
    {"score_mod", MDF_SETTING_GRAPH, offsetof(struct flex_settings, score_mod)},
    {"prob_mod", MDF_SETTING_GRAPH, offsetof(struct flex_settings, prob_mod)},
    {"scale", MDF_SETTING_FLOAT, offsetof(struct flex_settings, scale)},
    {"softmax_precision", MDF_SETTING_DTYPE, offsetof(struct flex_settings, softmax_precision)},
    {NULL, MDF_SETTING_INT, 0}};

enum { BODY_SCORES, BODY_WEIGHTS, N_SLOTS = 8 };

struct flex_rows {
    void *scores;
    size_t n;
};

/* Rough time of one score, to judge what is worth a thread. */
static const double score_ns = 3;

#define ELEMENT float
#define NAME(x) x##_float32
#define EXP expf
#include "functions/onnx_preview/flex_rows.inc"
#define ELEMENT double
#define NAME(x) x##_float64
#define EXP exp
#include "functions/onnx_preview/flex_rows.inc"

/* Lets a body change an array of type `dtype`, that is held in the workspace's type. */
static bool modify(struct mdf_workspace *workspace, struct mdf_body *body, mdf_dtype dtype, const int64_t shape[4],
                   void *elements, size_t n)
{
    struct mdf_call *call = workspace->call;
    const struct mdf_value *result;
    void *target;

    if (body == NULL) {
        return true;
    }
    if (body->n_inputs != 1 || body->n_outputs != 1) {
        return mdf_call_error(call, MDF_MODEL, "a body takes %zu inputs and yields %zu outputs, not one each", body->n_inputs,
                              body->n_outputs);
    }
    if (body->inputs[0] != NULL) {
        target = mdf_value_make_tensor(call->context->memory, body->inputs[0], dtype, 4, shape);
        if (target == NULL) {
            return mdf_call_out_of_memory(call);
        }
        mdf_value_convert_elements(call->context->memory, dtype, target, workspace->dtype, elements, n, false);
    }
    if (!body->run(body)) {
        return false;
    }
    result = body->outputs[0];
    if (result->kind != MDF_KIND_TENSOR || mdf_dtype_kind((mdf_dtype)result->dtype) != 'f') {
        return mdf_call_error(call, MDF_TYPE, "a body yields something else than an array of reals");
    }
    if (!mdf_workspace_check_shape(call, "what a body yields", result, 4, shape)) {
        return false;
    }
    mdf_value_convert_elements(call->context->memory, workspace->dtype, elements, (mdf_dtype)result->dtype, result->data, n,
                               false);
    return true;
}

/* All scores, changed, softened, changed again. */
static bool weigh(struct mdf_workspace *workspace, mdf_dtype dtype, const struct mdf_heads *q, const struct mdf_heads *k,
                  struct mdf_heads *scores)
{
    struct mdf_call *call = workspace->call;
    const struct flex_settings *settings = call->settings;
    double scale = isnan(settings->scale) ? 1 / sqrt((double)(q->n_columns > 0 ? q->n_columns : 1)) : settings->scale;
    int64_t shape[4] = {(int64_t)q->n_batches, (int64_t)q->n_heads, (int64_t)q->n_rows, (int64_t)k->n_rows};
    struct mdf_value *scratch = mdf_workspace_value(workspace);
    struct flex_rows rows;
    size_t n;

    if (scratch == NULL || !mdf_workspace_product(call, shape, 0, 4, &n)) {
        return false;
    }
    *scores = (struct mdf_heads){NULL, q->n_batches, q->n_heads, q->n_rows, k->n_rows, 0, 0, 0, 0};
    mdf_heads_layout(scores, false);
    scores->elements = mdf_workspace_array(workspace, workspace->dtype, n);
    if (scores->elements == NULL ||
        !mdf_heads_multiply(workspace, scratch, q, k, true, scale, scores, 0, q->n_batches * q->n_heads) ||
        !modify(workspace, call->bodies[BODY_SCORES], dtype, shape, scores->elements, n)) {
        return false;
    }
    rows = (struct flex_rows){scores->elements, k->n_rows};
    if (n > 0) {
        mdf_parallel_for(call->context, n / rows.n, score_ns * (double)rows.n,
                         workspace->dtype == MDF_DTYPE_FLOAT32 ? soften_rows_float32 : soften_rows_float64, &rows);
    }
    return modify(workspace, call->bodies[BODY_WEIGHTS], dtype, shape, scores->elements, n);
}

/* The type that the bodies see, and whether the work is in float64. */
static mdf_dtype find_precision(struct mdf_call *call, bool *is_double)
{
    const struct flex_settings *settings = call->settings;
    bool given = settings->softmax_precision != MDF_DTYPE_NONE;

    *is_double = settings->softmax_precision == MDF_DTYPE_FLOAT64;
    for (size_t i = 0; i < 3; i++) {
        *is_double = *is_double || call->inputs[i]->dtype == MDF_DTYPE_FLOAT64;
    }
    return given                                         ? settings->softmax_precision
           : call->inputs[0]->dtype == MDF_DTYPE_FLOAT64 ? MDF_DTYPE_FLOAT64
                                                         : MDF_DTYPE_FLOAT32;
}

static bool flex_attention(struct mdf_call *call)
{
    struct mdf_workspace workspace;
    struct mdf_heads q, k, v, y, scores;
    struct mdf_value *scratch;
    mdf_dtype precision;
    int64_t shape[4];
    bool is_double;

    for (size_t i = 0; i < 3; i++) {
        if (mdf_call_tensor(call, i) == NULL) {
            return false;
        }
        if (call->inputs[i]->rank != 4) {
            return mdf_call_error(call, MDF_SHAPE, "input %zu has rank %u, not 4", i + 1, call->inputs[i]->rank);
        }
    }
    precision = find_precision(call, &is_double);
    if (mdf_dtype_kind(precision) != 'f') {
        return mdf_call_error(call, MDF_TYPE, "softmax_precision is %s, not a type of reals", mdf_dtype_name(precision));
    }
    if (!mdf_workspace_begin(&workspace, call, is_double ? MDF_DTYPE_FLOAT64 : MDF_DTYPE_FLOAT32, N_SLOTS) ||
        !mdf_heads_input(&workspace, 0, MDF_NOT_GIVEN, &q) || !mdf_heads_input(&workspace, 1, MDF_NOT_GIVEN, &k) ||
        !mdf_heads_input(&workspace, 2, MDF_NOT_GIVEN, &v) || !mdf_heads_check(call, &q, &k, &v) ||
        !weigh(&workspace, precision, &q, &k, &scores)) {
        return false;
    }
    y = (struct mdf_heads){NULL, q.n_batches, q.n_heads, q.n_rows, v.n_columns, 0, 0, 0, 0};
    mdf_heads_layout(&y, false);
    memcpy(shape, (const int64_t[4]){(int64_t)y.n_batches, (int64_t)y.n_heads, (int64_t)y.n_rows, (int64_t)y.n_columns},
           sizeof shape);
    y.elements = mdf_workspace_output(&workspace, 0, (mdf_dtype)call->inputs[0]->dtype, 4, shape);
    scratch = mdf_workspace_value(&workspace);
    return y.elements != NULL && scratch != NULL &&
           mdf_heads_multiply(&workspace, scratch, &scores, &v, false, 1, &y, 0, q.n_batches * q.n_heads) &&
           mdf_workspace_end(&workspace);
}

const struct mdf_operator mdf_operators_preview_attention[] = {
    {"FlexAttention", 1, 99, flex_attention, flex_table, sizeof(struct flex_settings), MDF_OPERATOR_MODIFIES, NULL,
     .meaning =
         MDF_MEANING("result", NULL, {"keys", "numpy.repeat(x1, x0.shape[1] // x1.shape[1], 1)", NULL},
                     {"values", "numpy.repeat(x2, x0.shape[1] // x2.shape[1], 1)", NULL},
                     {"scores",
                      "numpy.matmul(x0, gradient.turn(keys, True)) * (1 / math.sqrt(x0.shape[-1]) if scale is None else scale)",
                      NULL},
                     {"changed", "body 0 scores", NULL},
                     {"powers", "numpy.exp(changed - numpy.max(changed, -1, keepdims=True))", NULL},
                     {"shares", "powers / numpy.sum(powers, -1, keepdims=True)", NULL}, {"weights", "body 1 shares", NULL},
                     {"result", "numpy.matmul(weights, values)", NULL})},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
