/* rotary.c - positions made into rotations: RotaryEmbedding.
 *
 * Comes in: tokens by heads; cosines and sines, by position id or by token. Goes out: the tokens, pairs of whose elements (halves
 * of a token, or neighbours) are turned; elements past `rotary_embedding_dim` stay. Source: ONNX RotaryEmbedding 23. */
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

enum { INPUT_X, INPUT_COSINES, INPUT_SINES, INPUT_POSITIONS };

struct rotation {
    struct mdf_heads x;
    float *y;
    const float *cosines, *sines; /* rows of n_pairs */
    const int64_t *rows;          /* of each token; NULL: its own number */
    size_t n_pairs;
    bool interleaved;
};

/* Rough time of one element, to judge what is worth a thread. */
static const double element_ns = 1;

/* Tokens [first, last), counted by batch, head, row. */
static void rotate(void *context, size_t first, size_t last)
{
    const struct rotation *job = context;
    const struct mdf_heads *x = &job->x;

    for (size_t token = first; token < last; token++) {
        size_t row = token % x->n_rows, pair = token / x->n_rows, batch = pair / x->n_heads, number = batch * x->n_rows + row;
        int64_t offset = mdf_heads_offset(x, batch, pair % x->n_heads) + (int64_t)row * x->row_step;
        size_t line = (job->rows != NULL ? (size_t)job->rows[number] : number) * job->n_pairs;
        const float *from = (const float *)x->elements + offset, *cosines = job->cosines + line, *sines = job->sines + line;
        float *to = job->y + offset;

        for (size_t i = 0; i < job->n_pairs; i++) {
            size_t a = job->interleaved ? 2 * i : i, b = job->interleaved ? 2 * i + 1 : i + job->n_pairs;

            to[a] = cosines[i] * from[a] - sines[i] * from[b];
            to[b] = sines[i] * from[a] + cosines[i] * from[b];
        }
        memcpy(to + 2 * job->n_pairs, from + 2 * job->n_pairs, (x->n_columns - 2 * job->n_pairs) * sizeof *to);
    }
}

/* The shapes of cosines and sines, which hold a row for each position id, or for each token. */
static bool check_tables(struct mdf_call *call, const struct rotation *job, bool has_positions)
{
    const struct mdf_value *cosines = mdf_call_tensor(call, INPUT_COSINES), *sines = mdf_call_tensor(call, INPUT_SINES);
    int64_t shape[3] = {(int64_t)job->x.n_batches, (int64_t)job->x.n_rows, (int64_t)job->n_pairs};

    if (cosines == NULL || sines == NULL) {
        return false;
    }
    if (has_positions && cosines->rank == 2) {
        shape[1] = mdf_value_shape(cosines)[0];
    }
    return mdf_workspace_check_shape(call, "cos_cache", cosines, has_positions ? 2 : 3, has_positions ? shape + 1 : shape) &&
           mdf_workspace_check_shape(call, "sin_cache", sines, has_positions ? 2 : 3, has_positions ? shape + 1 : shape);
}

/* The position ids, one a token, each a row of the tables. */
static bool read_positions(struct mdf_call *call, struct rotation *job)
{
    int64_t shape[2] = {(int64_t)job->x.n_batches, (int64_t)job->x.n_rows}, n_rows;
    const struct mdf_value *positions = mdf_call_tensor(call, INPUT_POSITIONS);
    size_t n;

    if (positions == NULL || !mdf_workspace_check_shape(call, "position_ids", positions, 2, shape)) {
        return false;
    }
    job->rows = mdf_call_integers(call, INPUT_POSITIONS, 2, &n);
    if (job->rows == NULL) {
        return false;
    }
    n_rows = mdf_value_shape(call->inputs[INPUT_COSINES])[0];
    for (size_t i = 0; i < n; i++) {
        if (job->rows[i] < 0 || job->rows[i] >= n_rows) {
            return mdf_call_error(call, MDF_VALUE, "position id %lld is not one of the %lld rows of cos_cache",
                                  (long long)job->rows[i], (long long)n_rows);
        }
    }
    return true;
}

static bool read_rotation(struct mdf_call *call, struct rotation *job)
{
    const struct rotary_settings *settings = call->settings;
    bool has_positions = mdf_call_input(call, INPUT_POSITIONS) != NULL;
    int64_t n_columns = (int64_t)job->x.n_columns, n_turned = settings->rotary_embedding_dim;

    n_turned = n_turned == MDF_NOT_GIVEN || n_turned == 0 ? n_columns : n_turned;
    if (n_turned < 0 || n_turned > n_columns || n_turned % 2 != 0) {
        return mdf_call_error(call, MDF_VALUE, "%lld elements of a head of %lld can not be turned in pairs", (long long)n_turned,
                              (long long)n_columns);
    }
    job->n_pairs = (size_t)n_turned / 2;
    job->interleaved = settings->interleaved != MDF_NOT_GIVEN && settings->interleaved != 0;
    return check_tables(call, job, has_positions) && (!has_positions || read_positions(call, job));
}

static bool rotary_embedding(struct mdf_call *call)
{
    const struct rotary_settings *settings = call->settings;
    struct mdf_workspace workspace;
    struct rotation job = {0};
    const struct mdf_value *x;

    if (!mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT32, 4) ||
        !mdf_heads_input(&workspace, INPUT_X, settings->num_heads, &job.x) || !read_rotation(call, &job)) {
        return false;
    }
    x = call->inputs[INPUT_X];
    job.cosines = mdf_workspace_input(&workspace, INPUT_COSINES);
    job.sines = job.cosines == NULL ? NULL : mdf_workspace_input(&workspace, INPUT_SINES);
    job.y = job.sines == NULL ? NULL : mdf_workspace_output(&workspace, 0, (mdf_dtype)x->dtype, x->rank, mdf_value_shape(x));
    if (job.y == NULL) {
        return false;
    }
    if (x->length > 0) {
        mdf_parallel_for(call->context, x->length / job.x.n_columns, element_ns * (double)job.x.n_columns, rotate, &job);
    }
    return mdf_workspace_end(&workspace);
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
         {"result", "all if x0.ndim == 4 else numpy.reshape(numpy.swapaxes(all, 1, 2), x0.shape)", NULL})},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
