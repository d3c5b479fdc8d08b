/* linear_attention.c - attention by a state that is updated from token to token: LinearAttention.
 *
 * Comes in: queries, keys, values, and by rule the decay and the update rate of the state. Goes out: for each token the state
 * read with its query, and the last state. Rule "linear": S += k v'; "delta": v is what is wrong with S' k, times the rate;
 * "gated": S decays first. Computed in float32. Source: ONNX LinearAttention 27. */
#include "functions/kernel/routine.h"
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

enum { INPUT_QUERY, INPUT_KEY, INPUT_VALUE, INPUT_STATE, INPUT_DECAY, INPUT_BETA, N_INPUTS, N_SLOTS = 10 };

/* Numbers for linear_attention_routine.inc. */
enum {
    LINEAR_FIRST,
    LINEAR_END,
    LINEAR_TOKEN,
    LINEAR_TOKEN_END,
    LINEAR_TOKENS,
    LINEAR_HEADS,
    LINEAR_GROUP,
    LINEAR_KEYS,
    LINEAR_VALUES,
    LINEAR_DECAYS,
    LINEAR_RATES,
    LINEAR_PAIRS,
    LINEAR_NUMBERS
};

#include "functions/recurrent/linear_attention_routine.inc"

struct recurrence {
    const struct mdf_context *context; /* a step may take long */
    const void *in[N_INPUTS];          /* the past state, decays, rates: may be NULL */
    void *out[2];                      /* the second: NULL, not wanted */
    int64_t whole[LINEAR_NUMBERS];
    double scale;
    float *work;
};

/* Rough time of one multiplication and addition, to judge what is worth a thread. */
static const double multiply_ns = 0.5;

/* Heads of keys [first, last), counted by batch, each with all of its tokens: as many at a time as need not ask to stop. */
static void run_heads(void *context, size_t first, size_t last)
{
    enum { MOST_MULTIPLIED = 1 << 20 };
    const struct recurrence *job = context;
    int64_t whole[LINEAR_NUMBERS], n_elements, n_tokens;

    memcpy(whole, job->whole, sizeof whole);
    n_elements = whole[LINEAR_KEYS] * whole[LINEAR_VALUES];
    n_tokens = n_elements < MOST_MULTIPLIED ? MOST_MULTIPLIED / (n_elements + 1) + 1 : 1;
    for (size_t pair = first; pair < last; pair++) {
        whole[LINEAR_FIRST] = (int64_t)pair;
        whole[LINEAR_END] = (int64_t)pair + 1;
        for (int64_t token = 0; token < whole[LINEAR_TOKENS] && !mdf_should_stop(job->context); token += n_tokens) {
            whole[LINEAR_TOKEN] = token;
            whole[LINEAR_TOKEN_END] = token + n_tokens < whole[LINEAR_TOKENS] ? token + n_tokens : whole[LINEAR_TOKENS];
            mdf_linear_attention(job->out, job->in, whole, &job->scale, job->work);
        }
    }
}

/* ------------------------------------------------------------------ inputs */

/* Decay or rate: given just where the rule uses it. */
static bool describe_gate(struct mdf_call *call, size_t input, bool used, const struct mdf_heads *keys, struct mdf_heads *gate)
{
    const struct linear_settings *settings = call->settings;
    const struct mdf_value *value = mdf_call_input(call, input);
    int64_t n_heads = settings->kv_num_heads;

    *gate = (struct mdf_heads){0};
    if ((value != NULL) != used) {
        return mdf_call_error(call, MDF_VALUE, "the update rule '%.40s' %s the input '%s'", settings->update_rule,
                              used ? "needs" : "has no use for", input == INPUT_DECAY ? "decay" : "beta");
    }
    if (value == NULL) {
        return true;
    }
    if (input == INPUT_BETA && value->rank == 3 && mdf_value_shape(value)[2] == 1) {
        n_heads = 1;
    }
    if (!mdf_heads_form(call, input, n_heads, gate)) {
        return false;
    }
    if (value->rank != 3 || gate->n_batches != keys->n_batches || gate->n_rows != keys->n_rows ||
        (gate->n_columns != 1 && (input == INPUT_BETA || gate->n_columns != keys->n_columns))) {
        char text[128];

        mdf_value_describe(value, text, sizeof text);
        return mdf_call_error(call, MDF_SHAPE, "%s, %s, does not fit the keys", input == INPUT_DECAY ? "decay" : "beta", text);
    }
    return true;
}

/* Heads of queries, keys and values. */
static bool describe_tokens(struct mdf_call *call, struct mdf_heads *heads)
{
    const struct linear_settings *settings = call->settings;

    for (size_t i = INPUT_QUERY; i <= INPUT_VALUE; i++) {
        const struct mdf_value *value = mdf_call_tensor(call, i);

        if (value == NULL || value->rank != 3) {
            return mdf_call_error(call, MDF_SHAPE, "queries, keys and values must have rank 3");
        }
    }
    if (!mdf_heads_form(call, INPUT_QUERY, settings->q_num_heads, &heads[INPUT_QUERY]) ||
        !mdf_heads_form(call, INPUT_KEY, settings->kv_num_heads, &heads[INPUT_KEY]) ||
        !mdf_heads_form(call, INPUT_VALUE, settings->kv_num_heads, &heads[INPUT_VALUE]) ||
        !mdf_heads_check(call, &heads[INPUT_QUERY], &heads[INPUT_KEY], &heads[INPUT_VALUE])) {
        return false;
    }
    return heads[INPUT_QUERY].n_rows == heads[INPUT_KEY].n_rows ||
           mdf_call_error(call, MDF_SHAPE, "there are %zu queries but %zu keys", heads[INPUT_QUERY].n_rows,
                          heads[INPUT_KEY].n_rows);
}

/* What shapes and attributes say. */
static bool describe(struct mdf_call *call, int64_t *whole, double *scale)
{
    const struct linear_settings *settings = call->settings;
    const char *rule = settings->update_rule;
    bool gated = strcmp(rule, "gated") == 0 || strcmp(rule, "gated_delta") == 0;
    bool delta = strcmp(rule, "delta") == 0 || strcmp(rule, "gated_delta") == 0;
    struct mdf_heads heads[N_INPUTS];
    const struct mdf_heads *keys = &heads[INPUT_KEY];
    size_t n_columns;

    if (!gated && !delta && strcmp(rule, "linear") != 0) {
        return mdf_call_error(call, MDF_VALUE, "there is no update rule '%.100s'", rule);
    }
    if (!describe_tokens(call, heads) || !describe_gate(call, INPUT_DECAY, gated, keys, &heads[INPUT_DECAY]) ||
        !describe_gate(call, INPUT_BETA, delta, keys, &heads[INPUT_BETA])) {
        return false;
    }
    if (!mdf_size_multiply(heads[INPUT_QUERY].n_heads, heads[INPUT_VALUE].n_columns, &n_columns) || n_columns > INT64_MAX) {
        return mdf_call_error(call, MDF_LIMIT, "the result would have more elements than any memory");
    }
    memcpy(whole,
           (const int64_t[LINEAR_NUMBERS]){[LINEAR_END] = (int64_t)(keys->n_batches * keys->n_heads),
                                           [LINEAR_TOKEN_END] = (int64_t)keys->n_rows,
                                           [LINEAR_TOKENS] = (int64_t)keys->n_rows,
                                           [LINEAR_HEADS] = (int64_t)keys->n_heads,
                                           [LINEAR_GROUP] =
                                               keys->n_heads > 0 ? (int64_t)(heads[INPUT_QUERY].n_heads / keys->n_heads) : 0,
                                           [LINEAR_KEYS] = (int64_t)keys->n_columns,
                                           [LINEAR_VALUES] = (int64_t)heads[INPUT_VALUE].n_columns,
                                           [LINEAR_DECAYS] = gated ? (int64_t)heads[INPUT_DECAY].n_columns : 0,
                                           [LINEAR_RATES] = delta ? (int64_t)heads[INPUT_BETA].n_heads : 0,
                                           [LINEAR_PAIRS] = (int64_t)(keys->n_batches * keys->n_heads)},
           LINEAR_NUMBERS * sizeof *whole);
    *scale = settings->scale > 0 || settings->scale < 0 ? settings->scale
                                                        : 1 / sqrt((double)(keys->n_columns > 0 ? keys->n_columns : 1));
    return true;
}

/* The shape of the state, which that of the past fits, and how many elements it has. */
static bool shape_states(struct mdf_call *call, const int64_t *whole, int64_t *shape, size_t *n)
{
    const struct mdf_value *past = mdf_call_input(call, INPUT_STATE);

    shape[0] = mdf_value_shape(call->inputs[INPUT_KEY])[0];
    shape[1] = whole[LINEAR_HEADS];
    shape[2] = whole[LINEAR_KEYS];
    shape[3] = whole[LINEAR_VALUES];
    return mdf_workspace_product(call, shape, 0, 4, n) &&
           (past == NULL || mdf_workspace_check_shape(call, "past_state", past, 4, shape));
}

/* So little that nobody need ask to stop, nor heads go to several threads. */
static bool is_little(const int64_t *whole)
{
    enum { MOST_MULTIPLIED = 1 << 14 };

    return (double)whole[LINEAR_PAIRS] * (double)whole[LINEAR_TOKENS] * (double)whole[LINEAR_KEYS] *
               (double)whole[LINEAR_VALUES] <=
           MOST_MULTIPLIED;
}

/* Elements that the function works in; `has_states`: states are an output in each of its calls. */
static bool count_work(struct mdf_call *call, const int64_t *whole, bool has_states, size_t n_of_states, size_t *n)
{
    return (mdf_size_multiply((size_t)whole[LINEAR_PAIRS], (size_t)whole[LINEAR_VALUES], n) &&
            mdf_size_add(*n, has_states ? 0 : n_of_states, n)) ||
           mdf_call_error(call, MDF_LIMIT, "the states would have more elements than any memory");
}

static bool linear_attention(struct mdf_call *call)
{
    struct recurrence job = {.context = call->context};
    struct mdf_workspace workspace;
    const struct mdf_value *past = mdf_call_input(call, INPUT_STATE);
    int64_t shape[4], *whole = job.whole;
    size_t n_of_states, n_work;

    if (!mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT32, N_SLOTS) || !describe(call, whole, &job.scale) ||
        !shape_states(call, whole, shape, &n_of_states) ||
        !count_work(call, whole, mdf_call_result(call, 1) != NULL, n_of_states, &n_work)) {
        return false;
    }
    for (size_t i = INPUT_QUERY; i < N_INPUTS; i++) {
        job.in[i] = mdf_call_input(call, i) != NULL ? mdf_workspace_input(&workspace, i) : NULL;
    }
    if (mdf_call_result(call, 1) != NULL) {
        job.out[1] =
            mdf_workspace_output(&workspace, 1, (mdf_dtype)(past != NULL ? past : call->inputs[INPUT_QUERY])->dtype, 4, shape);
    }
    memcpy(shape,
           (const int64_t[3]){shape[0], whole[LINEAR_TOKENS], whole[LINEAR_HEADS] * whole[LINEAR_GROUP] * whole[LINEAR_VALUES]},
           3 * sizeof *shape);
    job.out[0] = mdf_workspace_output(&workspace, 0, (mdf_dtype)call->inputs[INPUT_QUERY]->dtype, 3, shape);
    job.work = mdf_workspace_array(&workspace, MDF_DTYPE_FLOAT32, n_work);
    if (job.out[0] == NULL || job.work == NULL || call->context->error.code != MDF_OK) {
        return false;
    }
    mdf_parallel_for(call->context, (size_t)whole[LINEAR_PAIRS],
                     multiply_ns * (double)whole[LINEAR_TOKENS] * (double)whole[LINEAR_KEYS] * (double)whole[LINEAR_VALUES],
                     run_heads, &job);
    return mdf_workspace_end(&workspace);
}

static bool plan_linear(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    bool has_states;
    int64_t shape[4];
    size_t n;

    for (size_t i = INPUT_QUERY; i < N_INPUTS; i++) {
        if (mdf_call_input(call, i) != NULL && call->inputs[i]->dtype != MDF_DTYPE_FLOAT32) {
            return false;
        }
    }
    plan->dtype = MDF_DTYPE_NONE;
    plan->function = "linear_attention";
    if (call->inputs[INPUT_QUERY]->length == 0 || call->inputs[INPUT_VALUE]->length == 0 ||
        !mdf_routine_room(plan, LINEAR_NUMBERS, 1) || !describe(call, plan->whole, plan->real) ||
        !shape_states(call, plan->whole, shape, &n)) {
        return false;
    }
    /* In loops, which call it for little, an output that nobody reads is left out after this. */
    has_states = mdf_call_result(call, 1) != NULL && !is_little(plan->whole);
    return count_work(call, plan->whole, has_states, n, &n) && mdf_size_multiply(n, sizeof(float), &plan->work_bytes);
}

static mdf_routine_function linear_function(const struct mdf_routine_plan *plan)
{
    return is_little(plan->whole) ? mdf_linear_attention : NULL;
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
          NULL}),
     .routine = &(const struct mdf_routine){plan_linear, .function = linear_function}, .infer = &mdf_rule_linear_attention},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
