/* attention.c - scaled dot-product attention: Attention.
 *
 * Comes in: queries, keys and values by heads; masks; keys and values of the past. Goes out: values weighed by the softmax of
 * queries times keys, present keys and values, and the scores at a stage that `qk_matmul_output_mode` names. A query that no key
 * is left for gets zeros. float16 and bfloat16 are computed in float32 and rounded once. Heads are done in groups whose scores
 * stay small. Source: ONNX Attention 23, 24, 25 with its errata. */
#include "functions/elements/exp_sum.h"
#include "functions/kernel/routine.h"
#include "functions/recurrent/heads.h"

#include <math.h>
#include <string.h>

struct attention_settings {
    double scale, softcap;
    int64_t is_causal, q_num_heads, kv_num_heads, shown_stage, left_window, right_window;
    mdf_dtype softmax_precision;
};

static const struct mdf_setting attention_table[] = {
    {"scale", MDF_SETTING_FLOAT, offsetof(struct attention_settings, scale)},
    {"softcap", MDF_SETTING_FLOAT, offsetof(struct attention_settings, softcap)},
    {"is_causal", MDF_SETTING_INT, offsetof(struct attention_settings, is_causal)},
    {"q_num_heads", MDF_SETTING_INT, offsetof(struct attention_settings, q_num_heads)},
    {"kv_num_heads", MDF_SETTING_INT, offsetof(struct attention_settings, kv_num_heads)},
    {"qk_matmul_output_mode", MDF_SETTING_INT, offsetof(struct attention_settings, shown_stage)},
    {"left_window_size", MDF_SETTING_INT, offsetof(struct attention_settings, left_window)},
    {"right_window_size", MDF_SETTING_INT, offsetof(struct attention_settings, right_window)},
    {"softmax_precision", MDF_SETTING_DTYPE, offsetof(struct attention_settings, softmax_precision)},
    {NULL, MDF_SETTING_INT, 0}};

enum { INPUT_Q, INPUT_K, INPUT_V, INPUT_MASK, INPUT_PAST_KEY, INPUT_PAST_VALUE, INPUT_LENGTHS };
enum { OUTPUT_Y, OUTPUT_PRESENT_KEY, OUTPUT_PRESENT_VALUE, OUTPUT_SCORES };
enum { STAGE_RAW, STAGE_CAPPED, STAGE_MASKED, STAGE_WEIGHTS };

enum { N_SLOTS = 16, GROUP_ELEMENTS = 1 << 20 /* of scores, held at a time */ };

/* Rough time of one score, to judge what is worth a thread. */
static const double score_ns = 0.5;

/* Numbers for attention_rows_routine.inc and, from BATCHES on, for attention_routine.inc. */
enum {
    ATTENTION_HEADS,
    ATTENTION_QUERIES,
    ATTENTION_KEYS,
    ATTENTION_OFFSET,
    ATTENTION_LEFT,
    ATTENTION_RIGHT,
    ATTENTION_MASK_STEPS,
    ATTENTION_MASK_KEYS = ATTENTION_MASK_STEPS + 3,
    ATTENTION_MASK_IS_BOOL,
    ATTENTION_STAGE,
    ATTENTION_NARROW,
    ATTENTION_BATCHES,
    ATTENTION_KEY_HEADS,
    ATTENTION_COLUMNS,
    ATTENTION_VALUE_COLUMNS,
    ATTENTION_SCORES_ORDER,
    ATTENTION_RESULT_ORDER,
    ATTENTION_STEPS, /* of queries, keys, values, the result */
    ATTENTION_NUMBERS = ATTENTION_STEPS + 12
};

/* Rows of scores on their way to weights. */
struct rows {
    void *scores, *shown; /* shown: output 3, or NULL */
    size_t first_pair;
    const void *mask;       /* NULL: none */
    const int64_t *lengths; /* keys that count, by batch; NULL: all */
    double softcap;
    int64_t whole[ATTENTION_NUMBERS];
};

static void multiply_float64(size_t n, double factor, double *scores)
{
    for (size_t i = 0; i < n; i++) {
        scores[i] *= factor;
    }
}

static void mdf_soften_nothing_float32(float *scores, int64_t n);
static void mdf_soften_nothing_float64(double *scores, int64_t n);

/* n scores become weights that add up to 1. */
static void mdf_soften_scores_float32(float *scores, int64_t n)
{
    const struct mdf_vector_math *math = mdf_vector_math();
    float largest = math->largest((size_t)n, scores);

    if (largest == -INFINITY) {
        mdf_soften_nothing_float32(scores, n);
        return;
    }
    math->multiply((size_t)n, (float)(1 / math->exp_sum((size_t)n, scores, largest, scores)), scores);
}

static void mdf_soften_scores_float64(double *scores, int64_t n)
{
    double largest = mdf_largest_float64((size_t)n, scores);

    if (largest == -INFINITY) {
        mdf_soften_nothing_float64(scores, n);
        return;
    }
    multiply_float64((size_t)n, 1 / mdf_exp_sum_float64((size_t)n, scores, largest, scores), scores);
}

#include "mdf_c/tensor/half_floats.inc"

#include "functions/recurrent/attention_keys_routine.inc"
#define ROUTINES "functions/recurrent/attention_rows_routine.inc"
#include "functions/kernel/routine_reals.inc"

static void finish_rows(const struct rows *job, size_t first, size_t last, bool is_double)
{
    size_t size_bytes = is_double ? sizeof(double) : sizeof(float), n_queries = (size_t)job->whole[ATTENTION_QUERIES],
           n = (size_t)job->whole[ATTENTION_KEYS];

    for (size_t row = first; row < last; row++) {
        size_t pair = job->first_pair + row / n_queries, query = row % n_queries;
        void *scores = (char *)job->scores + row * n * size_bytes;
        void *shown = job->shown == NULL ? NULL : (char *)job->shown + (pair * n_queries + query) * n * size_bytes;

        if (is_double) {
            mdf_finish_scores_float64(job->whole, job->softcap, job->mask, job->lengths, (int64_t)pair, (int64_t)query, scores,
                                      shown);
        } else {
            mdf_finish_scores_float32(job->whole, job->softcap, job->mask, job->lengths, (int64_t)pair, (int64_t)query, scores,
                                      shown);
        }
    }
}

static void finish_rows_float32(void *context, size_t first, size_t last)
{
    finish_rows(context, first, last, false);
}

static void finish_rows_float64(void *context, size_t first, size_t last)
{
    finish_rows(context, first, last, true);
}

/* ------------------------------------------------------------------ inputs */

/* Copies the rows of `part` into `whole`, behind `first_row` rows. */
static void copy_rows(const struct mdf_heads *part, const struct mdf_heads *whole, size_t first_row, size_t size_bytes)
{
    for (size_t pair = 0; pair < part->n_batches * part->n_heads; pair++) {
        int64_t from = mdf_heads_offset(part, pair / part->n_heads, pair % part->n_heads);
        int64_t to = mdf_heads_offset(whole, pair / part->n_heads, pair % part->n_heads) + (int64_t)first_row * whole->row_step;

        for (size_t row = 0; row < part->n_rows && part->n_columns > 0; row++) {
            memcpy((char *)whole->elements + (size_t)(to + (int64_t)row * whole->row_step) * size_bytes,
                   (const char *)part->elements + (size_t)(from + (int64_t)row * part->row_step) * size_bytes,
                   part->n_columns * size_bytes);
        }
    }
}

/* Keys (values) with those of the past before them; output `output` gets them. `heads` becomes the whole. */
static bool join_past(struct mdf_workspace *workspace, size_t past_input, size_t output, struct mdf_heads *heads)
{
    struct mdf_call *call = workspace->call;
    size_t size_bytes = mdf_dtype_size(workspace->dtype);
    struct mdf_heads past = {0}, whole = *heads;
    mdf_dtype dtype = (mdf_dtype)call->inputs[past_input == INPUT_PAST_KEY ? INPUT_K : INPUT_V]->dtype;
    bool has_past = mdf_call_input(call, past_input) != NULL;
    int64_t shape[4];
    size_t n;

    if (!has_past && mdf_call_result(call, output) == NULL) {
        return true;
    }
    if (has_past && (!mdf_heads_input(workspace, past_input, MDF_NOT_GIVEN, &past) || past.n_batches != heads->n_batches ||
                     past.n_heads != heads->n_heads || past.n_columns != heads->n_columns)) {
        return mdf_call_error(call, MDF_SHAPE,
                              "input %zu must be of rank 4, with the batches, heads and columns of what it precedes",
                              past_input + 1);
    }
    whole.n_rows += past.n_rows;
    memcpy(shape,
           (const int64_t[4]){(int64_t)whole.n_batches, (int64_t)whole.n_heads, (int64_t)whole.n_rows, (int64_t)whole.n_columns},
           sizeof shape);
    if (!mdf_workspace_product(call, shape, 0, 4, &n)) {
        return false;
    }
    whole.elements = mdf_call_result(call, output) != NULL ? mdf_workspace_output(workspace, output, dtype, 4, shape)
                                                           : mdf_workspace_array(workspace, workspace->dtype, n);
    if (whole.elements == NULL) {
        return false;
    }
    mdf_heads_layout(&whole, false);
    if (has_past) {
        copy_rows(&past, &whole, 0, size_bytes);
    }
    copy_rows(heads, &whole, past.n_rows, size_bytes);
    *heads = whole;
    return true;
}

/* The mask, whose axes broadcast to [batch, head, query, key]; its last one may be shorter, what is missing then does not count.
 */
static bool describe_mask(struct mdf_call *call, const struct mdf_heads *q, size_t n_keys, int64_t *whole)
{
    const struct mdf_value *value = mdf_call_input(call, INPUT_MASK);
    size_t sizes[4] = {q->n_batches, q->n_heads, q->n_rows, n_keys}, step = 1;
    bool fits = value != NULL && value->rank >= 1 && value->rank <= 4;
    char text[128];

    whole[ATTENTION_MASK_KEYS] = (int64_t)n_keys;
    if (value == NULL) {
        return true;
    }
    for (size_t back = 0; fits && back < value->rank; back++) {
        size_t size = (size_t)mdf_value_shape(value)[value->rank - 1 - back], axis = 3 - back;

        fits = back == 0 ? size <= n_keys : size == 1 || size == sizes[axis];
        if (axis < 3) {
            whole[ATTENTION_MASK_STEPS + axis] = size == 1 ? 0 : (int64_t)step;
        }
        step *= size;
    }
    if (!fits) {
        mdf_value_describe(value, text, sizeof text);
        return mdf_call_error(call, MDF_SHAPE, "attn_mask, %s, does not broadcast to [%zu,%zu,%zu,%zu]", text, sizes[0], sizes[1],
                              sizes[2], sizes[3]);
    }
    whole[ATTENTION_MASK_KEYS] = mdf_value_shape(value)[value->rank - 1];
    whole[ATTENTION_MASK_IS_BOOL] = value->dtype == MDF_DTYPE_BOOL;
    return true;
}

static bool read_mask(struct mdf_workspace *workspace, struct rows *job)
{
    const struct mdf_value *value = mdf_call_input(workspace->call, INPUT_MASK);

    job->mask = value == NULL                        ? NULL
                : job->whole[ATTENTION_MASK_IS_BOOL] ? value->data
                                                     : mdf_workspace_input(workspace, INPUT_MASK);
    return value == NULL || value->length == 0 || job->mask != NULL;
}

/* How many keys of each batch count. */
static bool read_lengths(struct mdf_call *call, size_t n_batches, const int64_t **lengths)
{
    size_t n;

    *lengths = NULL;
    if (mdf_call_input(call, INPUT_LENGTHS) == NULL) {
        return true;
    }
    if (mdf_call_input(call, INPUT_PAST_KEY) != NULL) {
        return mdf_call_error(call, MDF_VALUE, "nonpad_kv_seqlen can not stand beside past_key and past_value");
    }
    *lengths = mdf_call_integers(call, INPUT_LENGTHS, 2, &n);
    if (*lengths == NULL) {
        return false;
    }
    if (n != n_batches) {
        return mdf_call_error(call, MDF_SHAPE, "nonpad_kv_seqlen has %zu numbers for %zu batches", n, n_batches);
    }
    for (size_t i = 0; i < n; i++) {
        if ((*lengths)[i] < 0 || (*lengths)[i] > INT32_MAX) {
            return mdf_call_error(call, MDF_VALUE, "nonpad_kv_seqlen[%zu] is %lld", i, (long long)(*lengths)[i]);
        }
    }
    return true;
}

/* ------------------------------------------------------------------ the operator */

static bool read_settings(struct mdf_call *call, int64_t *whole)
{
    const struct attention_settings *settings = call->settings;
    int64_t windows[2] = {settings->left_window, settings->right_window};
    bool causal = mdf_is_set(settings->is_causal);

    for (size_t i = 0; i < 2; i++) {
        if (windows[i] == MDF_NOT_GIVEN) {
            windows[i] = -1; /* versions before 25 have none */
        }
        if (windows[i] < -1 || windows[i] > INT32_MAX) {
            return mdf_call_error(call, MDF_VALUE, "a window of %lld keys is neither -1 nor a size", (long long)windows[i]);
        }
    }
    if (settings->shown_stage != MDF_NOT_GIVEN && (settings->shown_stage < 0 || settings->shown_stage > STAGE_WEIGHTS)) {
        return mdf_call_error(call, MDF_VALUE, "qk_matmul_output_mode is %lld, not 0 to 3", (long long)settings->shown_stage);
    }
    whole[ATTENTION_STAGE] = settings->shown_stage == MDF_NOT_GIVEN ? STAGE_RAW : settings->shown_stage;
    whole[ATTENTION_LEFT] = windows[0];
    whole[ATTENTION_RIGHT] = causal ? 0 : windows[1];
    whole[ATTENTION_NARROW] = settings->softmax_precision == MDF_DTYPE_FLOAT16    ? 1
                              : settings->softmax_precision == MDF_DTYPE_BFLOAT16 ? 2
                                                                                  : 0;
    return true;
}

/* The factor of scores, and the softcap. */
static void read_reals(const struct mdf_call *call, size_t n_columns, double *real)
{
    const struct attention_settings *settings = call->settings;

    real[0] = settings->scale > 0 || settings->scale < 0 ? settings->scale : 1 / sqrt((double)(n_columns > 0 ? n_columns : 1));
    real[1] = isnan(settings->softcap) ? 0 : settings->softcap;
}

/* Heads in groups: scores, weights, values weighed. */
static bool attend(struct mdf_workspace *workspace, const struct mdf_heads *q, const struct mdf_heads *k,
                   const struct mdf_heads *v, const struct mdf_heads *y, double scale, struct rows *job)
{
    size_t n_pairs = q->n_batches * q->n_heads, n_scores, group;
    struct mdf_heads scores = {NULL, q->n_batches, q->n_heads, q->n_rows, k->n_rows, 0, 0, 0, 0};
    struct mdf_value *scratch = mdf_workspace_value(workspace);

    if (!mdf_size_multiply(q->n_rows, k->n_rows, &n_scores)) {
        return mdf_call_error(workspace->call, MDF_LIMIT, "the scores would have more elements than any memory");
    }
    mdf_heads_layout(&scores, false);
    group = n_scores == 0 ? n_pairs : GROUP_ELEMENTS / n_scores;
    group = group < 1 ? 1 : group > n_pairs ? n_pairs : group;
    job->scores = scores.elements = mdf_workspace_matrix(workspace, workspace->dtype, group, n_scores);
    if (scores.elements == NULL || scratch == NULL) {
        return false;
    }
    for (job->first_pair = 0; job->first_pair < n_pairs; job->first_pair += group) {
        size_t n = n_pairs - job->first_pair < group ? n_pairs - job->first_pair : group;

        scores.origin = (int64_t)(job->first_pair * n_scores);
        if (!mdf_heads_multiply(workspace, scratch, q, k, true, scale, &scores, job->first_pair, n)) {
            return false;
        }
        mdf_parallel_for(workspace->call->context, n * q->n_rows, score_ns * (double)k->n_rows,
                         workspace->dtype == MDF_DTYPE_FLOAT32 ? finish_rows_float32 : finish_rows_float64, job);
        if (!mdf_heads_multiply(workspace, scratch, &scores, v, false, 1, y, job->first_pair, n)) {
            return false;
        }
    }
    return true;
}

/* Where the result, of the form that the queries have, lies. */
static void lay_out_result(const struct mdf_call *call, const struct mdf_heads *q, const struct mdf_heads *v, struct mdf_heads *y)
{
    *y = (struct mdf_heads){NULL, q->n_batches, q->n_heads, q->n_rows, v->n_columns, 0, 0, 0, 0};
    mdf_heads_layout(y, call->inputs[INPUT_Q]->rank == 3);
}

/* Output 0, and output 3. */
static bool make_outputs(struct mdf_workspace *workspace, const struct mdf_heads *q, const struct mdf_heads *v,
                         struct mdf_heads *y, struct rows *job)
{
    struct mdf_call *call = workspace->call;
    mdf_dtype dtype = (mdf_dtype)call->inputs[INPUT_Q]->dtype;
    int64_t scores_shape[4] = {(int64_t)q->n_batches, (int64_t)q->n_heads, (int64_t)q->n_rows, (int64_t)v->n_rows};
    int64_t shape[4] = {(int64_t)q->n_batches, (int64_t)q->n_heads, (int64_t)q->n_rows, (int64_t)v->n_columns};
    bool side_by_side = call->inputs[INPUT_Q]->rank == 3;
    size_t n;

    if (!mdf_workspace_product(call, shape, 0, 4, &n)) {
        return false;
    }
    lay_out_result(call, q, v, y);
    if (side_by_side) {
        shape[1] = (int64_t)q->n_rows;
        shape[2] = (int64_t)(q->n_heads * v->n_columns);
    }
    y->elements = mdf_workspace_output(workspace, OUTPUT_Y, dtype, side_by_side ? 3 : 4, shape);
    if (y->elements != NULL && mdf_call_result(call, OUTPUT_SCORES) != NULL) {
        job->shown = mdf_workspace_output(workspace, OUTPUT_SCORES, dtype, 4, scores_shape);
        return job->shown != NULL;
    }
    return y->elements != NULL;
}

/* What shapes say of scores; `n_past`: keys of the past, which are `n_keys` with the others. */
static bool describe_scores(struct mdf_call *call, const struct mdf_heads *q, size_t n_past, size_t n_keys, int64_t *whole)
{
    whole[ATTENTION_HEADS] = (int64_t)q->n_heads;
    whole[ATTENTION_QUERIES] = (int64_t)q->n_rows;
    whole[ATTENTION_KEYS] = (int64_t)n_keys;
    whole[ATTENTION_OFFSET] = (int64_t)n_past;
    return describe_mask(call, q, n_keys, whole);
}

static bool attention(struct mdf_call *call)
{
    const struct attention_settings *settings = call->settings;
    struct mdf_workspace workspace;
    struct mdf_heads q, k, v, y;
    struct rows job = {0};
    double real[2];
    bool is_double = false;
    size_t n_own;

    for (size_t i = INPUT_Q; i <= INPUT_V; i++) {
        if (mdf_call_tensor(call, i) == NULL) {
            return false;
        }
        is_double = is_double || call->inputs[i]->dtype == MDF_DTYPE_FLOAT64;
    }
    if ((mdf_call_input(call, INPUT_PAST_KEY) != NULL) != (mdf_call_input(call, INPUT_PAST_VALUE) != NULL)) {
        return mdf_call_error(call, MDF_VALUE, "past_key and past_value must be given together");
    }
    if (!read_settings(call, job.whole) ||
        !mdf_workspace_begin(&workspace, call, is_double ? MDF_DTYPE_FLOAT64 : MDF_DTYPE_FLOAT32, N_SLOTS) ||
        !mdf_heads_input(&workspace, INPUT_Q, settings->q_num_heads, &q) ||
        !mdf_heads_input(&workspace, INPUT_K, settings->kv_num_heads, &k) ||
        !mdf_heads_input(&workspace, INPUT_V, settings->kv_num_heads, &v) || !mdf_heads_check(call, &q, &k, &v)) {
        return false;
    }
    n_own = k.n_rows;
    if (!join_past(&workspace, INPUT_PAST_KEY, OUTPUT_PRESENT_KEY, &k) ||
        !join_past(&workspace, INPUT_PAST_VALUE, OUTPUT_PRESENT_VALUE, &v) || !mdf_heads_check(call, &q, &k, &v) ||
        !describe_scores(call, &q, k.n_rows - n_own, k.n_rows, job.whole) || !read_mask(&workspace, &job) ||
        !read_lengths(call, q.n_batches, &job.lengths) || !make_outputs(&workspace, &q, &v, &y, &job)) {
        return false;
    }
    read_reals(call, q.n_columns, real);
    job.softcap = real[1];
    return attend(&workspace, &q, &k, &v, &y, real[0], &job) && mdf_workspace_end(&workspace);
}

/* ------------------------------------------------------------------ as plain C: attention_routine.inc */

/* Arrays of one type; the mask may be of truths. */
static bool has_routine_types(const struct mdf_call *call)
{
    int dtype = call->inputs[INPUT_Q]->dtype;

    for (size_t i = INPUT_K; i <= INPUT_PAST_VALUE; i++) {
        const struct mdf_value *value = mdf_call_input(call, i);

        if (value != NULL && value->dtype != dtype && (i != INPUT_MASK || value->dtype != MDF_DTYPE_BOOL)) {
            return false;
        }
    }
    return mdf_dtype_is_real(dtype) &&
           (mdf_call_input(call, INPUT_LENGTHS) == NULL || call->inputs[INPUT_LENGTHS]->dtype == MDF_DTYPE_INT64);
}

/* How scores and results are multiplied: heads of one column, whose order hangs on where they lie, are not asked for. */
static void plan_orders(mdf_dtype dtype, double factor, int64_t *whole)
{
    struct mdf_product scores = {.dtype = dtype, .m = (size_t)whole[ATTENTION_QUERIES], .alpha = factor}, result;

    scores.n = (size_t)whole[ATTENTION_KEYS];
    scores.k = (size_t)whole[ATTENTION_COLUMNS];
    scores.a_row = scores.b_column = whole[ATTENTION_COLUMNS];
    scores.a_column = scores.b_row = 1;
    scores.c_row = whole[ATTENTION_KEYS];
    result = scores;
    result.n = (size_t)whole[ATTENTION_VALUE_COLUMNS];
    result.k = scores.n;
    result.a_row = whole[ATTENTION_KEYS];
    result.b_row = result.c_row = whole[ATTENTION_VALUE_COLUMNS];
    result.b_column = 1;
    result.alpha = 1;
    whole[ATTENTION_SCORES_ORDER] = mdf_product_routine(mdf_product_order(&scores), dtype);
    whole[ATTENTION_RESULT_ORDER] = mdf_product_routine(mdf_product_order(&result), dtype);
}

static bool plan_sizes(struct mdf_call *call, const struct mdf_heads *heads, struct mdf_routine_plan *plan)
{
    const struct mdf_value *past = mdf_call_input(call, INPUT_PAST_KEY);
    size_t n_past = past == NULL ? 0 : (size_t)mdf_value_shape(past)[2], n = heads[INPUT_K].n_rows + n_past;
    size_t n_columns = heads[INPUT_Q].n_columns, n_values = heads[INPUT_V].n_columns;
    int64_t *whole = plan->whole;

    if (!describe_scores(call, &heads[INPUT_Q], n_past, n, whole)) {
        return false;
    }
    whole[ATTENTION_BATCHES] = (int64_t)heads[INPUT_Q].n_batches;
    whole[ATTENTION_KEY_HEADS] = (int64_t)heads[INPUT_K].n_heads;
    whole[ATTENTION_COLUMNS] = (int64_t)n_columns;
    whole[ATTENTION_VALUE_COLUMNS] = (int64_t)n_values;
    for (size_t i = 0; i < 4; i++) {
        int64_t *steps = whole + ATTENTION_STEPS + 3 * i;

        steps[0] = heads[i].batch_step;
        steps[1] = heads[i].head_step;
        steps[2] = heads[i].row_step;
    }
    read_reals(call, n_columns, plan->real);
    plan_orders(plan->dtype, plan->real[0], whole);
    plan->work_bytes = mdf_dtype_size(plan->dtype) * (2 * n * (n_columns + 1) + (n + 1) * n_values + n_columns);
    return true;
}

static bool plan_attention(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct attention_settings *settings = call->settings;
    const struct mdf_value *past = mdf_call_input(call, INPUT_PAST_KEY);
    struct mdf_heads heads[4]; /* queries, keys, values, the result */

    plan->function = "attention";
    plan->dtype = (mdf_dtype)call->inputs[INPUT_Q]->dtype;
    if (!has_routine_types(call) || (past != NULL && past->rank != 4) || !mdf_routine_room(plan, ATTENTION_NUMBERS, 2) ||
        !read_settings(call, plan->whole) || !mdf_heads_form(call, INPUT_Q, settings->q_num_heads, &heads[INPUT_Q]) ||
        !mdf_heads_form(call, INPUT_K, settings->kv_num_heads, &heads[INPUT_K]) ||
        !mdf_heads_form(call, INPUT_V, settings->kv_num_heads, &heads[INPUT_V]) || call->inputs[INPUT_Q]->length == 0 ||
        call->inputs[INPUT_K]->length == 0 || heads[INPUT_Q].n_columns < 2 || heads[INPUT_V].n_columns < 2) {
        return false;
    }
    lay_out_result(call, &heads[INPUT_Q], &heads[INPUT_V], &heads[3]);
    return plan_sizes(call, heads, plan);
}

/* Tokens by heads: [batch, head, token, column]. */
#define HEADS(x, n)                                                                                                 \
    "(" x " if " x ".ndim == 4 else numpy.swapaxes(numpy.reshape(" x ", [" x ".shape[0], " x ".shape[1], " n ", " x \
    ".shape[2] // " n "]), 1, 2))"

const struct mdf_operator mdf_operators_attention[] = {
    {"Attention", 23, 99, attention, attention_table, sizeof(struct attention_settings), MDF_OPERATOR_PURE, NULL,
     .meaning = MDF_MEANING(
         "result key value -", NULL, {"q", HEADS("x0", "q_num_heads"), NULL}, {"k", HEADS("x1", "kv_num_heads"), NULL},
         {"v", HEADS("x2", "kv_num_heads"), NULL}, {"key", "k if x4 is None else numpy.concatenate([x4, k], 2)", NULL},
         {"value", "v if x5 is None else numpy.concatenate([x5, v], 2)", NULL},
         {"keys", "numpy.repeat(key, q.shape[1] // key.shape[1], 1)", NULL},
         {"values", "numpy.repeat(value, q.shape[1] // value.shape[1], 1)", NULL},
         {"raw", "numpy.matmul(q, gradient.turn(keys, True)) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)", NULL},
         {"plain", "raw if softcap is None or softcap == 0 else softcap * numpy.tanh(raw / softcap)", NULL},
         {"offset", "numpy.arange(keys.shape[2]) - numpy.expand_dims(numpy.arange(q.shape[2]), 1) - (keys.shape[2] - k.shape[2])",
          NULL},
         {"causal", "numpy.where(offset > 0, -math.inf, plain) if is_causal else plain", NULL},
         {"masked", "causal if x3 is None else numpy.where(x3, causal, -math.inf) if x3.dtype == 'bool' else causal + x3", NULL},
         {"scores",
          "masked if x6 is None and (left_window_size is None or left_window_size == -1) and (right_window_size is None or "
          "right_window_size == -1) "
          "else gradient.refuse('attention by lengths or windows')",
          NULL},
         {"largest", "numpy.max(scores, -1, keepdims=True)", NULL},
         {"powers", "numpy.exp(scores - numpy.where(largest == -math.inf, 0.0, largest))", NULL},
         {"sums", "numpy.sum(powers, -1, keepdims=True)", NULL},
         {"out", "numpy.matmul(powers / numpy.where(sums == 0, 1.0, sums), values)", NULL},
         {"result", "out if x0.ndim == 4 else numpy.reshape(numpy.swapaxes(out, 1, 2), y.shape)", NULL}),
     .routine = MDF_ROUTINE(plan_attention, "a length of keys is negative, or too large"), .infer = &mdf_rule_attention},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
