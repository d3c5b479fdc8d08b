/* linear_attention.c - attention by a state that is updated from token to token: LinearAttention.
 *
 * Comes in: queries, keys, values, and by rule the decay and the update rate of the state. Goes out: for each token the state
 * read with its query, and the last state. Rule "linear": S += k v'; "delta": v is what is wrong with S' k, times the rate;
 * "gated": S decays first. Computed in float32. Source: ONNX LinearAttention 27. */
#include "functions/recurrent/heads.h"

#include <math.h>
#include <string.h>

struct linear_settings {
    int64_t q_num_heads, kv_num_heads;
    double scale;
    const char *update_rule;
};

static const struct mdf_setting linear_table[] = {
    {"q_num_heads", MDF_SETTING_INT, offsetof(struct linear_settings, q_num_heads)},
    {"kv_num_heads", MDF_SETTING_INT, offsetof(struct linear_settings, kv_num_heads)},
    {"scale", MDF_SETTING_FLOAT, offsetof(struct linear_settings, scale)},
    {"update_rule", MDF_SETTING_STRING, offsetof(struct linear_settings, update_rule)},
    {NULL, MDF_SETTING_INT, 0}};

enum { INPUT_QUERY, INPUT_KEY, INPUT_VALUE, INPUT_STATE, INPUT_DECAY, INPUT_BETA, N_SLOTS = 10 };

struct recurrence {
    const struct mdf_context *context; /* a step may take long */
    struct mdf_heads q, k, v, y;
    struct mdf_heads decay, beta; /* elements NULL: none; one column: of the whole head; one head of beta: of all */
    float *states;                /* [batch, head, key column, value column] */
    float *values;                /* what is written, one row a head */
    float scale;
};

/* Rough time of one multiplication and addition, to judge what is worth a thread. */
static const double multiply_ns = 0.5;

static const float *row_of(const struct mdf_heads *heads, size_t batch, size_t head, size_t row)
{
    return (const float *)heads->elements + mdf_heads_offset(heads, batch, head) + (int64_t)row * heads->row_step;
}

static void decay_state(const struct recurrence *job, size_t batch, size_t head, size_t row, float *state)
{
    const float *decay = row_of(&job->decay, batch, head, row);
    size_t n = job->v.n_columns;

    for (size_t i = 0; i < job->k.n_columns && !mdf_should_stop(job->context); i++) {
        float factor = expf(decay[job->decay.n_columns == 1 ? 0 : i]);

        for (size_t j = 0; j < n; j++) {
            state[i * n + j] *= factor;
        }
    }
}

/* values = rate (value - state' key) */
static void correct_values(const struct recurrence *job, size_t batch, size_t head, size_t row, const float *state, float *values)
{
    const float *key = row_of(&job->k, batch, head, row), *value = row_of(&job->v, batch, head, row);
    float rate = *row_of(&job->beta, batch, job->beta.n_heads == 1 ? 0 : head, row);
    size_t n = job->v.n_columns;

    memset(values, 0, n * sizeof *values);
    for (size_t i = 0; i < job->k.n_columns && !mdf_should_stop(job->context); i++) {
        for (size_t j = 0; j < n; j++) {
            values[j] += state[i * n + j] * key[i];
        }
    }
    for (size_t j = 0; j < n; j++) {
        values[j] = rate * (value[j] - values[j]);
    }
}

static void read_state(const struct recurrence *job, size_t batch, size_t head, size_t row, const float *state)
{
    const float *query = row_of(&job->q, batch, head, row);
    float *y = (float *)job->y.elements + mdf_heads_offset(&job->y, batch, head) + (int64_t)row * job->y.row_step;
    size_t n = job->v.n_columns;

    memset(y, 0, n * sizeof *y);
    for (size_t i = 0; i < job->k.n_columns && !mdf_should_stop(job->context); i++) {
        for (size_t j = 0; j < n; j++) {
            y[j] += query[i] * state[i * n + j];
        }
    }
    for (size_t j = 0; j < n; j++) {
        y[j] *= job->scale;
    }
}

/* Heads of keys [first, last), counted by batch, each with all of its tokens. */
static void run_heads(void *context, size_t first, size_t last)
{
    const struct recurrence *job = context;
    size_t n = job->v.n_columns, group = job->q.n_heads / job->k.n_heads;

    for (size_t pair = first; pair < last; pair++) {
        size_t batch = pair / job->k.n_heads, head = pair % job->k.n_heads;
        float *state = job->states + pair * job->k.n_columns * n, *corrected = job->values + pair * n;

        for (size_t row = 0; row < job->k.n_rows; row++) {
            const float *key = row_of(&job->k, batch, head, row), *values = row_of(&job->v, batch, head, row);

            if (job->decay.elements != NULL) {
                decay_state(job, batch, head, row, state);
            }
            if (job->beta.elements != NULL) {
                correct_values(job, batch, head, row, state, corrected);
                values = corrected;
            }
            for (size_t i = 0; i < job->k.n_columns && !mdf_should_stop(job->context); i++) {
                for (size_t j = 0; j < n; j++) {
                    state[i * n + j] += key[i] * values[j];
                }
            }
            for (size_t query = head * group; query < (head + 1) * group; query++) {
                read_state(job, batch, query, row, state);
            }
        }
    }
}

/* ------------------------------------------------------------------ inputs */

/* Decay or rate: given just where the rule uses it. */
static bool read_gate(struct mdf_workspace *workspace, size_t input, bool used, struct recurrence *job, struct mdf_heads *gate)
{
    const struct linear_settings *settings = workspace->call->settings;
    const struct mdf_value *value = mdf_call_input(workspace->call, input);
    int64_t n_heads = settings->kv_num_heads;

    if ((value != NULL) != used) {
        return mdf_call_error(workspace->call, MDF_VALUE, "the update rule '%.40s' %s the input '%s'", settings->update_rule,
                              used ? "needs" : "has no use for", input == INPUT_DECAY ? "decay" : "beta");
    }
    if (value == NULL) {
        return true;
    }
    if (input == INPUT_BETA && value->rank == 3 && mdf_value_shape(value)[2] == 1) {
        n_heads = 1;
    }
    if (!mdf_heads_input(workspace, input, n_heads, gate)) {
        return false;
    }
    if (value->rank != 3 || gate->n_batches != job->k.n_batches || gate->n_rows != job->k.n_rows ||
        (gate->n_columns != 1 && (input == INPUT_BETA || gate->n_columns != job->k.n_columns))) {
        char text[128];

        mdf_value_describe(value, text, sizeof text);
        return mdf_call_error(workspace->call, MDF_SHAPE, "%s, %s, does not fit the keys",
                              input == INPUT_DECAY ? "decay" : "beta", text);
    }
    return true;
}

static bool read_inputs(struct mdf_workspace *workspace, struct recurrence *job)
{
    const struct linear_settings *settings = workspace->call->settings;
    const char *rule = settings->update_rule;
    bool gated = strcmp(rule, "gated") == 0 || strcmp(rule, "gated_delta") == 0;
    bool delta = strcmp(rule, "delta") == 0 || strcmp(rule, "gated_delta") == 0;

    if (!gated && !delta && strcmp(rule, "linear") != 0) {
        return mdf_call_error(workspace->call, MDF_VALUE, "there is no update rule '%.100s'", rule);
    }
    for (size_t i = INPUT_QUERY; i <= INPUT_VALUE; i++) {
        const struct mdf_value *value = mdf_call_tensor(workspace->call, i);

        if (value == NULL || value->rank != 3) {
            return mdf_call_error(workspace->call, MDF_SHAPE, "queries, keys and values must have rank 3");
        }
    }
    if (!mdf_heads_input(workspace, INPUT_QUERY, settings->q_num_heads, &job->q) ||
        !mdf_heads_input(workspace, INPUT_KEY, settings->kv_num_heads, &job->k) ||
        !mdf_heads_input(workspace, INPUT_VALUE, settings->kv_num_heads, &job->v) ||
        !mdf_heads_check(workspace->call, &job->q, &job->k, &job->v)) {
        return false;
    }
    if (job->q.n_rows != job->k.n_rows) {
        return mdf_call_error(workspace->call, MDF_SHAPE, "there are %zu queries but %zu keys", job->q.n_rows, job->k.n_rows);
    }
    return read_gate(workspace, INPUT_DECAY, gated, job, &job->decay) && read_gate(workspace, INPUT_BETA, delta, job, &job->beta);
}

/* Output 1, the state, starts as the past one, or zero. */
static bool start_states(struct mdf_workspace *workspace, struct recurrence *job)
{
    struct mdf_call *call = workspace->call;
    const struct mdf_value *past = mdf_call_input(call, INPUT_STATE);
    mdf_dtype dtype = (mdf_dtype)(past != NULL ? past : call->inputs[INPUT_QUERY])->dtype;
    int64_t shape[4] = {(int64_t)job->k.n_batches, (int64_t)job->k.n_heads, (int64_t)job->k.n_columns, (int64_t)job->v.n_columns};
    const float *from = NULL;
    size_t n;

    if (!mdf_workspace_product(call, shape, 0, 4, &n)) {
        return false;
    }
    if (past != NULL) {
        if (!mdf_workspace_check_shape(call, "past_state", past, 4, shape)) {
            return false;
        }
        from = mdf_workspace_input(workspace, INPUT_STATE);
        if (from == NULL) {
            return false;
        }
    }
    job->states = mdf_call_result(call, 1) != NULL ? mdf_workspace_output(workspace, 1, dtype, 4, shape)
                                                   : mdf_workspace_array(workspace, MDF_DTYPE_FLOAT32, n);
    for (size_t i = 0; job->states != NULL && i < n; i++) {
        job->states[i] = from != NULL ? from[i] : 0;
    }
    return job->states != NULL;
}

static bool linear_attention(struct mdf_call *call)
{
    const struct linear_settings *settings = call->settings;
    struct recurrence job = {.context = call->context};
    struct mdf_workspace workspace;
    int64_t shape[3];
    size_t n_pairs, n_columns;

    if (!mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT32, N_SLOTS) || !read_inputs(&workspace, &job) ||
        !start_states(&workspace, &job)) {
        return false;
    }
    if (!mdf_size_multiply(job.q.n_heads, job.v.n_columns, &n_columns) || n_columns > INT64_MAX) {
        return mdf_call_error(call, MDF_LIMIT, "the result would have more elements than any memory");
    }
    job.y = (struct mdf_heads){NULL, job.q.n_batches, job.q.n_heads, job.q.n_rows, job.v.n_columns, 0, 0, 0, 0};
    mdf_heads_layout(&job.y, true);
    memcpy(shape, (const int64_t[3]){(int64_t)job.q.n_batches, (int64_t)job.q.n_rows, (int64_t)n_columns}, sizeof shape);
    n_pairs = job.k.n_batches * job.k.n_heads;
    job.y.elements = mdf_workspace_output(&workspace, 0, (mdf_dtype)call->inputs[INPUT_QUERY]->dtype, 3, shape);
    job.values = mdf_workspace_matrix(&workspace, MDF_DTYPE_FLOAT32, n_pairs, job.v.n_columns);
    if (job.y.elements == NULL || job.values == NULL) {
        return false;
    }
    job.scale =
        (float)(settings->scale > 0 || settings->scale < 0 ? settings->scale
                                                           : 1 / sqrt((double)(job.k.n_columns > 0 ? job.k.n_columns : 1)));
    mdf_parallel_for(call->context, n_pairs,
                     multiply_ns * (double)job.k.n_rows * (double)job.k.n_columns * (double)job.v.n_columns, run_heads, &job);
    return mdf_workspace_end(&workspace);
}

/* ------------------------------------------------------------------ what derivatives are made of */

/* Tokens first: [token, batch, head, ...]. */
#define TOKENS(x, shape) "numpy.swapaxes(numpy.reshape(" x ", [" x ".shape[0], " x ".shape[1], " shape "]), 0, 1)"

static const struct mdf_meaning_scan tokens = {
    "state:first", "q:queries k:keys v:values decay:decays rate:rates",
    (const struct mdf_meaning_step[]){{"kept", "state * decay", NULL},
                                      {"read", "numpy.matmul(gradient.turn(k, True), kept)", NULL},
                                      {"written", "rate * (v - read) if corrects else v", NULL},
                                      {"next", "kept + numpy.matmul(k, written)", NULL},
                                      {"row", "numpy.matmul(q, next)", NULL},
                                      {NULL, NULL, NULL}},
    "next row"};

const struct mdf_operator mdf_operators_linear_attention[] = {
    {"LinearAttention", 27, 99, linear_attention, linear_table, sizeof(struct linear_settings), MDF_OPERATOR_PURE, NULL,
     .meaning = MDF_MEANING(
         "result last", NULL, {"heads", "kv_num_heads", NULL}, {"n", "x1.shape[2] // heads", NULL},
         {"corrects", "update_rule == 'delta' or update_rule == 'gated_delta'", NULL},
         {"queries", TOKENS("x0", "heads, q_num_heads // heads, n"), NULL}, {"keys", TOKENS("x1", "heads, n, 1"), NULL},
         {"values", TOKENS("x2", "heads, 1, x2.shape[2] // heads"), NULL},
         {"ones", "numpy.ones([x0.shape[1], 1, 1, 1, 1])", NULL},
         {"decays", "ones if x4 is None else numpy.exp(" TOKENS("x4", "heads, x4.shape[2] // heads, 1") ")", NULL},
         {"rates", "ones if x5 is None else " TOKENS("x5", "x5.shape[2], 1, 1"), NULL},
         {"first", "numpy.zeros([x0.shape[0], heads, n, x2.shape[2] // heads]) if x3 is None else x3", NULL},
         {"last rows", NULL, &tokens},
         {"result",
          "numpy.reshape(numpy.swapaxes(rows, 0, 1), y.shape) * (1 / math.sqrt(n) if scale is None or scale == 0 else scale)",
          NULL})},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
