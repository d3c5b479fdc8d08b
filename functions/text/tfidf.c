/* tfidf.c - how often runs of tokens occur: TfIdfVectorizer.
 *
 * Comes in: rows of tokens, strings or integers; a pool of runs (n-grams) of 1, 2, ... tokens. Goes out: for each row the counts
 * of the runs of the pool, tokens of a run standing up to max_skip_count + 1 apart, weighed as the mode says. Source: ONNX
 * TfIdfVectorizer 9. */
#include "functions/kernel/lookup.h"
#include "functions/kernel/routine.h"

#include <string.h>

struct tfidf_settings {
    const char *mode;
    struct mdf_ints counts, indexes, integers;
    struct mdf_strings strings;
    struct mdf_floats weights;
    int64_t max_skip, min_length, max_length;
};

#define SETTING(name, type, field)                                       \
    {                                                                    \
        name, MDF_SETTING_##type, offsetof(struct tfidf_settings, field) \
    }
static const struct mdf_setting tfidf_table[] = {SETTING("mode", STRING, mode),
                                                 SETTING("ngram_counts", INTS, counts),
                                                 SETTING("ngram_indexes", INTS, indexes),
                                                 SETTING("pool_int64s", INTS, integers),
                                                 SETTING("pool_strings", STRINGS, strings),
                                                 SETTING("weights", FLOATS, weights),
                                                 SETTING("max_skip_count", INT, max_skip),
                                                 SETTING("min_gram_length", INT, min_length),
                                                 SETTING("max_gram_length", INT, max_length),
                                                 {NULL, MDF_SETTING_INT, 0}};
#undef SETTING

enum { N_SLOTS = 8, TOKENS_PER_LOOK = 1 << 10 };

/* Runs of the pool are numbered throughout. Tokens are numbers of keys of the look-up, the same for the same token. */
struct pool {
    struct mdf_lookup lookup;
    const int64_t *tokens; /* of the pool */
    int64_t *starts;       /* where run i begins in the pool */
    int64_t *lengths;
    int64_t *heads; /* by token: the first run that begins with it, or -1 */
    int64_t *nexts; /* by run: the next that begins with the same token, or -1 */
    size_t n_tokens, n_runs;
};

/* Numbers of the tokens, in an array of the workspace; -1: not in the pool. */
static int64_t *number_tokens(struct mdf_workspace *workspace, const struct mdf_lookup *lookup, const struct mdf_keys *tokens)
{
    int64_t *numbers = mdf_workspace_array(workspace, MDF_DTYPE_INT64, tokens->n);

    for (size_t i = 0; numbers != NULL && i < tokens->n; i++) {
        if (mdf_should_stop_at(workspace->call->context, i, TOKENS_PER_LOOK)) {
            return NULL; /* numbers are indices */
        }
        numbers[i] = mdf_lookup_find(lookup, tokens, i);
    }
    return numbers;
}

/* The part [*first, *last) of the pool that holds runs of `length` tokens; false with the error set. */
static bool find_part(struct mdf_call *call, const struct pool *pool, size_t length, size_t *first, size_t *last)
{
    const struct mdf_ints *counts = &((const struct tfidf_settings *)call->settings)->counts;
    int64_t begin = counts->items[length - 1], end = length < counts->n ? counts->items[length] : (int64_t)pool->n_tokens;

    if (begin < 0 || begin > end || end > (int64_t)pool->n_tokens || (size_t)(end - begin) % length != 0) {
        return mdf_call_error(call, MDF_VALUE, "ngram_counts does not cut the pool of %zu tokens into runs", pool->n_tokens);
    }
    *first = (size_t)begin;
    *last = (size_t)end;
    return true;
}

static bool fill_runs(struct mdf_call *call, struct pool *pool)
{
    const struct tfidf_settings *settings = call->settings;
    size_t run = 0, first = 0, last = 0;

    for (size_t i = 0; i < pool->n_tokens; i++) {
        pool->heads[i] = -1;
    }
    for (size_t length = 1; length <= settings->counts.n; length++) {
        if (!find_part(call, pool, length, &first, &last)) {
            return false;
        }
        for (size_t at = first; at < last; at += length, run++) {
            int64_t token = pool->tokens[at];

            if (run >= pool->n_runs || settings->indexes.items[run] < 0 || settings->indexes.items[run] > INT32_MAX) {
                return mdf_call_error(call, MDF_VALUE, "ngram_indexes has no place for run %zu of the pool", run);
            }
            pool->starts[run] = (int64_t)at;
            pool->lengths[run] = (int64_t)length;
            pool->nexts[run] = pool->heads[token];
            pool->heads[token] = (int64_t)run;
        }
    }
    pool->n_runs = run;
    return true;
}

static bool make_pool(struct mdf_workspace *workspace, struct pool *pool)
{
    struct mdf_call *call = workspace->call;
    const struct tfidf_settings *settings = call->settings;
    struct mdf_keys keys = {.strings = settings->strings.items, .integers = settings->integers.items};
    int64_t *arrays;

    keys.n = keys.strings != NULL ? settings->strings.n : settings->integers.n;
    if ((keys.strings == NULL) == (keys.integers == NULL)) {
        return mdf_call_error(call, MDF_VALUE, "one of pool_strings and pool_int64s has to be given");
    }
    pool->n_tokens = keys.n;
    pool->n_runs = settings->indexes.n;
    if (!mdf_lookup_make(workspace, &keys, settings, &pool->lookup)) {
        return false;
    }
    pool->tokens = number_tokens(workspace, &pool->lookup, &keys);
    arrays = mdf_workspace_array(workspace, MDF_DTYPE_INT64, pool->n_tokens + 3 * pool->n_runs);
    if (pool->tokens == NULL || arrays == NULL) {
        return false;
    }
    pool->heads = arrays;
    pool->starts = pool->heads + pool->n_tokens;
    pool->lengths = pool->starts + pool->n_runs;
    pool->nexts = pool->lengths + pool->n_runs;
    return fill_runs(call, pool);
}

/* ------------------------------------------------------------------ counting */

/* Counts the runs that begin at `at` and whose tokens are `distance` apart. */
static void count_at(const struct tfidf_settings *settings, const struct pool *pool, const int64_t *row, size_t n, size_t at,
                     size_t distance, int64_t *counts)
{
    for (int64_t run = row[at] < 0 ? -1 : pool->heads[row[at]]; run >= 0; run = pool->nexts[run]) {
        size_t length = (size_t)pool->lengths[run], matched = 1;

        if (pool->lengths[run] < settings->min_length || pool->lengths[run] > settings->max_length ||
            (length == 1 && distance > 1) || (length > 1 && distance > (n - 1 - at) / (length - 1))) {
            continue; /* single tokens are counted once, whatever the distance */
        }
        while (matched < length && row[at + matched * distance] == pool->tokens[(size_t)pool->starts[run] + matched]) {
            matched++;
        }
        counts[run] += matched == length;
    }
}

/* Counts of all runs made into a row of the result. */
static void weigh_row(const struct tfidf_settings *settings, const struct pool *pool, const int64_t *counts, size_t width,
                      float *y)
{
    bool truncated = strcmp(settings->mode, "IDF") == 0, weighed = strcmp(settings->mode, "TF") != 0;

    memset(y, 0, width * sizeof *y);
    for (size_t run = 0; run < pool->n_runs; run++) {
        double count = (double)(truncated && counts[run] > 1 ? 1 : counts[run]);

        y[settings->indexes.items[run]] +=
            (float)(weighed && run < settings->weights.n ? count * settings->weights.items[run] : count);
    }
}

static bool count_rows(struct mdf_workspace *workspace, const struct pool *pool, const int64_t *tokens, size_t n_rows, size_t n,
                       size_t width, float *y)
{
    const struct tfidf_settings *settings = workspace->call->settings;
    int64_t *counts = mdf_workspace_array(workspace, MDF_DTYPE_INT64, pool->n_runs);
    size_t furthest = (uint64_t)settings->max_skip + 1 < n ? (size_t)settings->max_skip + 1 : n;

    for (size_t row = 0; counts != NULL && row < n_rows; row++) {
        memset(counts, 0, pool->n_runs * sizeof *counts);
        for (size_t distance = 1; distance <= furthest; distance++) {
            for (size_t at = 0; at < n; at++) {
                if (mdf_should_stop_at(workspace->call->context, at, TOKENS_PER_LOOK)) {
                    return false;
                }
                count_at(settings, pool, tokens + row * n, n, at, distance, counts);
            }
        }
        weigh_row(settings, pool, counts, width, y + row * width);
    }
    return counts != NULL;
}

static bool check_settings(struct mdf_call *call)
{
    const struct tfidf_settings *settings = call->settings;
    bool known = strcmp(settings->mode, "TF") == 0 || strcmp(settings->mode, "IDF") == 0 || strcmp(settings->mode, "TFIDF") == 0;

    if (!known) {
        return mdf_call_error(call, MDF_VALUE, "there is no mode '%.100s'", settings->mode);
    }
    return (settings->max_skip >= 0 && settings->min_length >= 1 && settings->max_length >= settings->min_length) ||
           mdf_call_error(call, MDF_VALUE, "runs of %lld to %lld tokens with up to %lld skipped are not possible",
                          (long long)settings->min_length, (long long)settings->max_length, (long long)settings->max_skip);
}

static bool tfidf_vectorizer(struct mdf_call *call)
{
    const struct tfidf_settings *settings = call->settings;
    const struct mdf_value *x = mdf_call_tensor(call, 0);
    int64_t *tokens, shape[2] = {1, 0};
    struct mdf_workspace workspace;
    struct mdf_keys elements;
    struct pool pool = {0};
    float *y;

    if (x == NULL || !check_settings(call) || !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT32, N_SLOTS) ||
        !make_pool(&workspace, &pool) || !mdf_keys_of_value(&workspace, x, &elements)) {
        return false;
    }
    if (x->rank > 2 || (elements.strings != NULL) != (settings->strings.items != NULL) || elements.reals != NULL) {
        return mdf_call_error(call, MDF_TYPE, "X has rank %u and holds %s; rows of what the pool holds are needed", x->rank,
                              mdf_dtype_name((mdf_dtype)x->dtype));
    }
    for (size_t i = 0; i < settings->indexes.n; i++) {
        shape[1] = settings->indexes.items[i] >= shape[1] ? settings->indexes.items[i] + 1 : shape[1];
    }
    shape[0] = x->rank == 2 ? mdf_value_shape(x)[0] : 1;
    tokens = number_tokens(&workspace, &pool.lookup, &elements);
    y = tokens == NULL ? NULL
                       : mdf_call_output(call, 0, MDF_DTYPE_FLOAT32, x->rank == 2 ? 2 : 1, x->rank == 2 ? shape : shape + 1);
    return y != NULL &&
           (shape[1] == 0 || count_rows(&workspace, &pool, tokens, (size_t)shape[0],
                                        x->rank == 0 ? 1 : (size_t)mdf_value_shape(x)[x->rank - 1], (size_t)shape[1], y));
}

/* ------------------------------------------------------------------ as plain C: tfidf_routine.inc */

/* Numbers of tfidf_routine.inc in front of the runs. */
enum { ROWS, TOKENS, WIDTH, IS_WIDE, FURTHEST, IS_CUT, RUNS, TFIDF_NUMBERS };

/* The runs that count, and what each weighs. */
static bool write_runs(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct tfidf_settings *settings = call->settings;
    struct pool pool = {.n_tokens = settings->integers.n};
    bool weighed = strcmp(settings->mode, "TF") != 0;
    int64_t *to = plan->whole + TFIDF_NUMBERS;
    size_t run = 0, first = 0, last = 0;

    for (size_t length = 1; length <= settings->counts.n; length++) {
        bool counts = (int64_t)length >= settings->min_length && (int64_t)length <= settings->max_length;

        if (!find_part(call, &pool, length, &first, &last)) {
            return false;
        }
        for (; first < last; first += length, run++) {
            if (run >= settings->indexes.n || settings->indexes.items[run] < 0 ||
                settings->indexes.items[run] >= plan->whole[WIDTH]) {
                return false;
            }
            if (counts) {
                to[0] = (int64_t)length;
                to[1] = settings->indexes.items[run];
                memcpy(to + 2, settings->integers.items + first, length * sizeof *to);
                to += 2 + length;
                plan->real[plan->whole[RUNS]++] = weighed && run < settings->weights.n ? settings->weights.items[run] : 1;
            }
        }
    }
    return true;
}

static bool plan_tfidf(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct tfidf_settings *settings = call->settings;
    const struct mdf_value *x = call->inputs[0], *y = call->outputs[0];
    size_t n_runs = settings->indexes.n;
    int64_t n = x->rank == 0 ? 1 : mdf_value_shape(x)[x->rank - 1];

    plan->dtype = MDF_DTYPE_NONE;
    plan->function = "tfidf";
    if ((x->dtype != MDF_DTYPE_INT32 && x->dtype != MDF_DTYPE_INT64) || x->rank > 2 || x->length == 0 ||
        settings->integers.items == NULL || settings->strings.items != NULL || !check_settings(call) ||
        !mdf_routine_room(plan, TFIDF_NUMBERS + 2 * n_runs + settings->integers.n, n_runs)) {
        return false;
    }
    plan->whole[ROWS] = x->rank == 2 ? mdf_value_shape(x)[0] : 1;
    plan->whole[TOKENS] = n;
    plan->whole[WIDTH] = mdf_value_shape(y)[y->rank - 1];
    plan->whole[IS_WIDE] = x->dtype == MDF_DTYPE_INT64;
    plan->whole[FURTHEST] = settings->max_skip < n - 1 ? settings->max_skip + 1 : n;
    plan->whole[IS_CUT] = strcmp(settings->mode, "IDF") == 0;
    return write_runs(call, plan);
}

const struct mdf_operator mdf_operators_tfidf[] = {{"TfIdfVectorizer", 9, 99, tfidf_vectorizer, tfidf_table,
                                                    sizeof(struct tfidf_settings), MDF_OPERATOR_PURE, NULL,
                                                    .routine = MDF_ROUTINE(plan_tfidf, NULL)},
                                                   {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
