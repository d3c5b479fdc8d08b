/* rotary.c - positions made into rotations: RotaryEmbedding.
 *
 * Comes in: tokens by heads; cosines and sines, by position id or by token. Goes out: the tokens, pairs of whose elements (halves
 * of a token, or neighbours) are turned; elements past `rotary_embedding_dim` stay. Source: ONNX RotaryEmbedding 23. */
#include "functions/kernel/routine.h"
#include "functions/recurrent/heads.h"

#include <string.h>

struct rotary_settings {
    int64_t interleaved, num_heads, rotary_embedding_dim;
};

static const struct mdf_setting rotary_table[] = {
    {"interleaved", MDF_SETTING_INT, offsetof(struct rotary_settings, interleaved)},
    {"num_heads", MDF_SETTING_INT, offsetof(struct rotary_settings, num_heads)},
    {"rotary_embedding_dim", MDF_SETTING_INT, offsetof(struct rotary_settings, rotary_embedding_dim)},
    {NULL, MDF_SETTING_INT, 0}};

enum { INPUT_X, INPUT_COSINES, INPUT_SINES, INPUT_POSITIONS, N_INPUTS };

/* Numbers for rotary_routine.inc. */
enum {
    ROTARY_FIRST,
    ROTARY_END,
    ROTARY_HEADS,
    ROTARY_ROWS,
    ROTARY_COLUMNS,
    ROTARY_BATCH_STEP,
    ROTARY_HEAD_STEP,
    ROTARY_ROW_STEP,
    ROTARY_PAIRS,
    ROTARY_INTERLEAVED,
    ROTARY_TABLE_ROWS,
    ROTARY_NUMBERS
};

#include "functions/recurrent/rotary_routine.inc"

struct rotation {
    const void *in[N_INPUTS];
    void *out[1];
    int64_t whole[ROTARY_NUMBERS];
};

/* Rough time of one element, to judge what is worth a thread. */
static const double element_ns = 1;

/* Tokens [first, last), counted by batch, head, row. */
static void rotate(void *context, size_t first, size_t last)
{
    const struct rotation *job = context;
    int64_t whole[ROTARY_NUMBERS];

    memcpy(whole, job->whole, sizeof whole);
    whole[ROTARY_FIRST] = (int64_t)first;
    whole[ROTARY_END] = (int64_t)last;
    mdf_rotate_tokens(job->out, job->in, whole, NULL, NULL);
}

/* The shapes of cosines and sines, which hold a row for each position id, or for each token; and of these ids. */
static bool check_tables(struct mdf_call *call, const struct mdf_heads *x, int64_t n_pairs)
{
    const struct mdf_value *cosines = mdf_call_tensor(call, INPUT_COSINES), *sines = mdf_call_tensor(call, INPUT_SINES);
    bool has_positions = mdf_call_input(call, INPUT_POSITIONS) != NULL;
    int64_t tokens[2] = {(int64_t)x->n_batches, (int64_t)x->n_rows}, shape[3] = {tokens[0], tokens[1], n_pairs};

    if (cosines == NULL || sines == NULL || (has_positions && mdf_call_tensor(call, INPUT_POSITIONS) == NULL)) {
        return false;
    }
    if (has_positions && cosines->rank == 2) {
        shape[1] = mdf_value_shape(cosines)[0];
    }
    return mdf_workspace_check_shape(call, "cos_cache", cosines, has_positions ? 2 : 3, has_positions ? shape + 1 : shape) &&
           mdf_workspace_check_shape(call, "sin_cache", sines, has_positions ? 2 : 3, has_positions ? shape + 1 : shape) &&
           (!has_positions || mdf_workspace_check_shape(call, "position_ids", call->inputs[INPUT_POSITIONS], 2, tokens));
}

/* The position ids, one a token, each a row of the tables. */
static bool read_positions(struct mdf_call *call, struct rotation *job)
{
    int64_t n_rows = job->whole[ROTARY_TABLE_ROWS];
    const int64_t *rows;
    size_t n;

    job->in[INPUT_POSITIONS] = rows = mdf_call_integers(call, INPUT_POSITIONS, 2, &n);
    for (size_t i = 0; rows != NULL && i < n; i++) {
        if (rows[i] < 0 || rows[i] >= n_rows) {
            return mdf_call_error(call, MDF_VALUE, "position id %lld is not one of the %lld rows of cos_cache",
                                  (long long)rows[i], (long long)n_rows);
        }
    }
    return rows != NULL;
}

/* What attributes and shapes say: tokens by heads, and pairs of their elements. */
static bool describe_rotation(struct mdf_call *call, const struct mdf_heads *x, int64_t *whole)
{
    const struct rotary_settings *settings = call->settings;
    int64_t n_columns = (int64_t)x->n_columns, n_turned = settings->rotary_embedding_dim;

    n_turned = n_turned == MDF_NOT_GIVEN || n_turned == 0 ? n_columns : n_turned;
    if (n_turned < 0 || n_turned > n_columns || n_turned % 2 != 0) {
        return mdf_call_error(call, MDF_VALUE, "%lld elements of a head of %lld can not be turned in pairs", (long long)n_turned,
                              (long long)n_columns);
    }
    if (!check_tables(call, x, n_turned / 2)) {
        return false;
    }
    memcpy(whole,
           (const int64_t[ROTARY_NUMBERS]){[ROTARY_END] = (int64_t)(x->n_batches * x->n_heads * x->n_rows),
                                           [ROTARY_HEADS] = (int64_t)x->n_heads,
                                           [ROTARY_ROWS] = (int64_t)x->n_rows,
                                           [ROTARY_COLUMNS] = n_columns,
                                           [ROTARY_BATCH_STEP] = x->batch_step,
                                           [ROTARY_HEAD_STEP] = x->head_step,
                                           [ROTARY_ROW_STEP] = x->row_step,
                                           [ROTARY_PAIRS] = n_turned / 2,
                                           [ROTARY_INTERLEAVED] = mdf_is_set(settings->interleaved),
                                           [ROTARY_TABLE_ROWS] = mdf_call_input(call, INPUT_POSITIONS) != NULL
                                                                     ? mdf_value_shape(call->inputs[INPUT_COSINES])[0]
                                                                     : (int64_t)(x->n_batches * x->n_rows)},
           ROTARY_NUMBERS * sizeof *whole);
    return true;
}

static bool rotary_embedding(struct mdf_call *call)
{
    const struct rotary_settings *settings = call->settings;
    struct mdf_workspace workspace;
    struct rotation job = {0};
    struct mdf_heads tokens;
    const struct mdf_value *x;

    if (!mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT32, 4) ||
        !mdf_heads_input(&workspace, INPUT_X, settings->num_heads, &tokens) || !describe_rotation(call, &tokens, job.whole) ||
        (mdf_call_input(call, INPUT_POSITIONS) != NULL && !read_positions(call, &job))) {
        return false;
    }
    x = call->inputs[INPUT_X];
    job.in[INPUT_X] = tokens.elements;
    job.in[INPUT_COSINES] = mdf_workspace_input(&workspace, INPUT_COSINES);
    job.in[INPUT_SINES] = mdf_workspace_input(&workspace, INPUT_SINES);
    job.out[0] = mdf_workspace_output(&workspace, 0, (mdf_dtype)x->dtype, x->rank, mdf_value_shape(x));
    if (job.in[INPUT_COSINES] == NULL || job.in[INPUT_SINES] == NULL || job.out[0] == NULL) {
        return false;
    }
    if (x->length > 0) {
        mdf_parallel_for(call->context, x->length / tokens.n_columns, element_ns * (double)tokens.n_columns, rotate, &job);
    }
    return mdf_workspace_end(&workspace);
}

static bool plan_rotary(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct rotary_settings *settings = call->settings;
    const struct mdf_value *positions = mdf_call_input(call, INPUT_POSITIONS);
    struct mdf_heads x;

    for (size_t i = INPUT_X; i <= INPUT_SINES; i++) {
        if (call->inputs[i]->dtype != MDF_DTYPE_FLOAT32) {
            return false;
        }
    }
    plan->dtype = MDF_DTYPE_NONE;
    plan->function = "rotate_tokens";
    return call->inputs[INPUT_X]->length > 0 && (positions == NULL || positions->dtype == MDF_DTYPE_INT64) &&
           mdf_heads_form(call, INPUT_X, settings->num_heads, &x) && mdf_routine_room(plan, ROTARY_NUMBERS, 0) &&
           describe_rotation(call, &x, plan->whole);
}

const struct mdf_operator mdf_operators_rotary[] = {
    {"RotaryEmbedding", 23, 99, rotary_embedding, rotary_table, sizeof(struct rotary_settings), MDF_OPERATOR_PURE, NULL,
     .meaning = MDF_MEANING(
         "result", NULL,
         {"x",
          "x0 if x0.ndim == 4 else numpy.swapaxes(numpy.reshape(x0, [x0.shape[0], x0.shape[1], num_heads, x0.shape[2] // "
          "num_heads]), 1, 2)",
          NULL},
         {"n", "x.shape[3] if rotary_embedding_dim is None or rotary_embedding_dim == 0 else rotary_embedding_dim", NULL},
         {"cosines", "numpy.expand_dims(x1 if x3 is None else numpy.take(x1, x3, 0), 1)", NULL},
         {"sines", "numpy.expand_dims(x2 if x3 is None else numpy.take(x2, x3, 0), 1)", NULL},
         {"a", "x[..., 0:n:2] if interleaved else x[..., :n // 2]", NULL},
         {"b", "x[..., 1:n:2] if interleaved else x[..., n // 2:n]", NULL}, {"first", "cosines * a - sines * b", NULL},
         {"second", "sines * a + cosines * b", NULL},
         {"turned",
          "numpy.reshape(numpy.stack([first, second], -1), [s for s in first.shape[:3]] + [n]) if interleaved else "
          "numpy.append(first, second, -1)",
          NULL},
         {"all", "numpy.append(turned, x[..., n:], -1)", NULL},
         {"result", "all if x0.ndim == 4 else numpy.reshape(numpy.swapaxes(all, 1, 2), x0.shape)", NULL}),
     .routine = MDF_ROUTINE(plan_rotary, "a position names no row of the cosines"), .infer = &mdf_rule_same},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
