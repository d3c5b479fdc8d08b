/* test_attention_oracle.c - Attention against its equations, one query at a time: groups of heads that share keys, keys and
 * values of the past, masks of both kinds, causal or not, windows, capped scores; heads as an axis, or side by side. */
#include "tests/support/kernel_call.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KEYS = 100, N_CASES = 400 };

struct attention {
    int64_t n_batch, n_heads, n_kv_heads, n_queries, n_keys, n_past, size, v_size;
    int64_t is_causal, left, right; /* windows; -1: none */
    double scale, softcap;          /* softcap 0: none */
    bool has_heads_axis;
    int64_t mask_shape[4];
    const struct mdf_value *q, *k, *v, *mask, *past_key, *past_value;
};

/* Element `i` of a head's row in an array [batch, heads, rows, size] or [batch, rows, heads * size]. */
static double in_head(const struct attention *attention, const struct mdf_value *array, const int64_t *at, int64_t n_heads,
                      int64_t n_rows, int64_t size, int64_t i)
{
    int64_t row =
        attention->has_heads_axis ? (at[0] * n_heads + at[1]) * n_rows + at[2] : (at[0] * n_rows + at[2]) * n_heads + at[1];

    return kernel_number(array, (size_t)(row * size + i));
}

/* Of key or value `row` of all, those of the past first. */
static double of_key(const struct attention *attention, const struct mdf_value *now, const struct mdf_value *past, int64_t batch,
                     int64_t head, int64_t row, int64_t size, int64_t i)
{
    if (row < attention->n_past) { /* always with an axis for heads */
        int64_t place = (batch * attention->n_kv_heads + head) * attention->n_past + row;

        return kernel_number(past, (size_t)(place * size + i));
    }
    return in_head(attention, now, (const int64_t[3]){batch, head, row - attention->n_past}, attention->n_kv_heads,
                   attention->n_keys, size, i);
}

/* What the mask, the windows and the past leave of a score. */
static double masked(const struct attention *attention, const int64_t *at, int64_t key, double score)
{
    int64_t place = at[2] + attention->n_past; /* the query's own, among the keys */
    const int64_t *shape = attention->mask_shape;

    if ((attention->is_causal && key > place) || (attention->left >= 0 && key < place - attention->left) ||
        (attention->right >= 0 && key > place + attention->right)) {
        return -INFINITY;
    }
    if (attention->mask != NULL) {
        int64_t batch = shape[0] == 1 ? 0 : at[0], head = shape[1] == 1 ? 0 : at[1], row = shape[2] == 1 ? 0 : at[2];
        double mask = kernel_number(attention->mask, (size_t)(((batch * shape[1] + head) * shape[2] + row) * shape[3] + key));

        return attention->mask->dtype == MDF_DTYPE_BOOL ? (mask != 0 ? score : -(double)INFINITY) : score + mask;
    }
    return score;
}

/* The weights of all keys for one query; of a query that no key is left for: zeros. */
static void weigh(const struct attention *attention, const int64_t *at, double *weights)
{
    int64_t n = attention->n_past + attention->n_keys, kv_head = at[1] / (attention->n_heads / attention->n_kv_heads);
    double largest = -INFINITY, sum = 0;

    for (int64_t key = 0; key < n; key++) {
        double score = 0;

        for (int64_t i = 0; i < attention->size; i++) {
            score += in_head(attention, attention->q, at, attention->n_heads, attention->n_queries, attention->size, i) *
                     of_key(attention, attention->k, attention->past_key, at[0], kv_head, key, attention->size, i);
        }
        score *= attention->scale;
        score = attention->softcap > 0 ? attention->softcap * tanh(score / attention->softcap) : score;
        weights[key] = masked(attention, at, key, score);
        largest = weights[key] > largest ? weights[key] : largest;
    }
    for (int64_t key = 0; key < n; key++) {
        weights[key] = isinf(largest) ? 0 : exp(weights[key] - largest);
        sum += weights[key];
    }
    for (int64_t key = 0; key < n; key++) {
        weights[key] = sum > 0 ? weights[key] / sum : 0;
    }
}

static const struct mdf_value *add_heads(struct kernel_call *call, const struct attention *attention, int64_t n_heads,
                                         int64_t n_rows, int64_t size)
{
    const int64_t apart[4] = {attention->n_batch, n_heads, n_rows, size},
                  joined[3] = {attention->n_batch, n_rows, n_heads * size};

    return kernel_add(call, MDF_DTYPE_FLOAT32, attention->has_heads_axis ? 4 : 3, attention->has_heads_axis ? apart : joined,
                      NUMBERS_SHORT, false);
}

static void add_inputs(struct kernel_call *call, struct attention *attention)
{
    int64_t n_all = attention->n_past + attention->n_keys;
    const int64_t past_key[4] = {attention->n_batch, attention->n_kv_heads, attention->n_past, attention->size};
    const int64_t past_value[4] = {attention->n_batch, attention->n_kv_heads, attention->n_past, attention->v_size};

    attention->q = add_heads(call, attention, attention->n_heads, attention->n_queries, attention->size);
    attention->k = add_heads(call, attention, attention->n_kv_heads, attention->n_keys, attention->size);
    attention->v = add_heads(call, attention, attention->n_kv_heads, attention->n_keys, attention->v_size);
    if (kernel_pick(0, 1) == 1) {
        size_t left_out = (size_t)kernel_pick(0, 2);

        attention->mask_shape[0] = left_out > 0 || kernel_pick(0, 1) == 1 ? 1 : attention->n_batch;
        attention->mask_shape[1] = left_out > 1 || kernel_pick(0, 1) == 1 ? 1 : attention->n_heads;
        attention->mask_shape[2] = attention->n_queries;
        attention->mask_shape[3] = n_all;
        attention->mask = kernel_add(call, kernel_pick(0, 1) == 1 ? MDF_DTYPE_BOOL : MDF_DTYPE_FLOAT32, 4 - left_out,
                                     attention->mask_shape + left_out, NUMBERS_SHORT, kernel_pick(0, 1) == 1);
    } else if (attention->n_past > 0) {
        kernel_omit(call);
    }
    if (attention->n_past > 0) {
        attention->past_key = kernel_add(call, MDF_DTYPE_FLOAT32, 4, past_key, NUMBERS_SHORT, false);
        attention->past_value = kernel_add(call, MDF_DTYPE_FLOAT32, 4, past_value, NUMBERS_SHORT, false);
    }
}

static struct attention pick_attention(void)
{
    struct attention attention = {.n_batch = kernel_pick(1, 2),
                                  .n_kv_heads = kernel_pick(1, 3),
                                  .n_queries = kernel_pick(0, 9) == 0 ? kernel_pick(20, 60) : kernel_pick(1, 8),
                                  .n_keys = kernel_pick(0, 9) == 0 ? kernel_pick(20, 70) : kernel_pick(1, 8),
                                  .n_past = kernel_pick(0, 2) == 0 ? kernel_pick(1, 9) : 0,
                                  .size = kernel_pick(1, 20),
                                  .v_size = kernel_pick(1, 20),
                                  .is_causal = kernel_pick(0, 1),
                                  .left = kernel_pick(0, 3) == 0 ? kernel_pick(0, 5) : -1,
                                  .right = kernel_pick(0, 3) == 0 ? kernel_pick(0, 5) : -1,
                                  .softcap = kernel_pick(0, 3) == 0 ? 2 : 0,
                                  .has_heads_axis = kernel_pick(0, 1) == 1};

    attention.n_heads = attention.n_kv_heads * kernel_pick(1, 3);
    attention.scale = 1 / sqrt((double)attention.size);
    return attention;
}

static void check_attention(void)
{
    struct attention attention = pick_attention();
    double weights[MOST_KEYS];
    struct kernel_call call;
    int64_t at[3];

    kernel_begin(&call, "Attention", 25);
    kernel_set_int(&call, "is_causal", attention.is_causal);
    kernel_set_int(&call, "left_window_size", attention.left);
    kernel_set_int(&call, "right_window_size", attention.right);
    *(double *)kernel_field(&call, "softcap") = attention.softcap;
    if (!attention.has_heads_axis) {
        kernel_set_int(&call, "q_num_heads", attention.n_heads);
        kernel_set_int(&call, "kv_num_heads", attention.n_kv_heads);
    }
    add_inputs(&call, &attention);
    call.call.n_outputs = attention.n_past > 0 ? 3 : 1;
    kernel_run(&call);
    for (size_t row = 0; row < (size_t)(attention.n_batch * attention.n_heads * attention.n_queries); row++) {
        int64_t kv_head;

        kernel_index(3, (const int64_t[3]){attention.n_batch, attention.n_heads, attention.n_queries}, row, at);
        kv_head = at[1] / (attention.n_heads / attention.n_kv_heads);
        weigh(&attention, at, weights);
        for (int64_t i = 0; i < attention.v_size; i++) {
            int64_t joined = (at[0] * attention.n_queries + at[2]) * attention.n_heads + at[1];
            double sum = 0;

            for (int64_t key = 0; key < attention.n_past + attention.n_keys; key++) {
                sum += weights[key] *
                       of_key(&attention, attention.v, attention.past_value, at[0], kv_head, key, attention.v_size, i);
            }
            kernel_check(&call, 0, (size_t)((attention.has_heads_axis ? (int64_t)row : joined) * attention.v_size + i), sum,
                         1e-5);
        }
    }
    kernel_end(&call);
}

Test(attention_oracle, all_options)
{
    for (size_t i = 0; i < N_CASES; i++) {
        check_attention();
    }
}
