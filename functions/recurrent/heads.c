/* heads.c - see heads.h. */
#include "functions/recurrent/heads.h"

/* More rows without any element can not be meant, but would take long to go through. */
enum { MAX_EMPTY_ROWS = 1 << 20 };

void mdf_heads_layout(struct mdf_heads *heads, bool side_by_side)
{
    int64_t n_rows = (int64_t)heads->n_rows, n_columns = (int64_t)heads->n_columns, n_heads = (int64_t)heads->n_heads;

    heads->row_step = side_by_side ? n_heads * n_columns : n_columns;
    heads->head_step = side_by_side ? n_columns : n_rows * n_columns;
    heads->batch_step = n_heads * n_rows * n_columns;
    heads->origin = 0;
}

bool mdf_heads_form(struct mdf_call *call, size_t i, int64_t n_heads, struct mdf_heads *heads)
{
    const struct mdf_value *value = mdf_call_tensor(call, i);
    const int64_t *shape;
    size_t n;

    if (value == NULL) {
        return false;
    }
    shape = mdf_value_shape(value);
    if (value->rank == 4) {
        *heads = (struct mdf_heads){NULL, (size_t)shape[0], (size_t)shape[1], (size_t)shape[2], (size_t)shape[3], 0, 0, 0, 0};
    } else if (value->rank == 3 && n_heads > 0 && shape[2] % n_heads == 0) {
        *heads = (struct mdf_heads){
            NULL, (size_t)shape[0], (size_t)n_heads, (size_t)shape[1], (size_t)(shape[2] / n_heads), 0, 0, 0, 0};
    } else if (value->rank == 3) {
        return mdf_call_error(
            call, MDF_SHAPE,
            "input %zu has %lld columns, and heads are %lld: the number of heads must be given, and divide the columns", i + 1,
            (long long)shape[2], (long long)(n_heads == MDF_NOT_GIVEN ? 0 : n_heads));
    } else {
        return mdf_call_error(call, MDF_SHAPE, "input %zu has rank %u, not 3 or 4", i + 1, value->rank);
    }
    if (value->length == 0 && (!mdf_size_multiply(heads->n_batches, heads->n_heads, &n) || n > MAX_EMPTY_ROWS ||
                               !mdf_size_multiply(n, heads->n_rows, &n) || n > MAX_EMPTY_ROWS)) {
        return mdf_call_error(call, MDF_LIMIT, "input %zu is empty, but has too many rows", i + 1);
    }
    mdf_heads_layout(heads, value->rank == 3);
    return true;
}

bool mdf_heads_input(struct mdf_workspace *workspace, size_t i, int64_t n_heads, struct mdf_heads *heads)
{
    if (!mdf_heads_form(workspace->call, i, n_heads, heads)) {
        return false;
    }
    heads->elements = (void *)(uintptr_t)mdf_workspace_input(workspace, i);
    return heads->elements != NULL;
}

int64_t mdf_heads_offset(const struct mdf_heads *heads, size_t batch, size_t head)
{
    return (int64_t)batch * heads->batch_step + (int64_t)head * heads->head_step - heads->origin;
}

bool mdf_heads_check(struct mdf_call *call, const struct mdf_heads *q, const struct mdf_heads *k, const struct mdf_heads *v)
{
    if (q->n_batches != k->n_batches || k->n_batches != v->n_batches || k->n_rows != v->n_rows || q->n_columns != k->n_columns) {
        return mdf_call_error(
            call, MDF_SHAPE,
            "queries, keys and values do not fit: batches %zu, %zu, %zu; keys and values %zu, %zu; head sizes of "
            "queries and keys %zu, %zu",
            q->n_batches, k->n_batches, v->n_batches, k->n_rows, v->n_rows, q->n_columns, k->n_columns);
    }
    if (k->n_heads != v->n_heads || (k->n_heads == 0 && q->n_heads != 0) || (k->n_heads > 0 && q->n_heads % k->n_heads != 0)) {
        return mdf_call_error(call, MDF_SHAPE, "%zu heads of queries can not share %zu heads of keys and %zu of values",
                              q->n_heads, k->n_heads, v->n_heads);
    }
    return true;
}

/* ------------------------------------------------------------------ products */

struct place {
    const struct mdf_heads *a, *b, *c;
    size_t first, size_bytes;
};

static void locate(const void *context, size_t batch, struct mdf_product *product)
{
    const struct place *place = context;
    const struct mdf_heads *a = place->a, *b = place->b, *c = place->c;
    size_t pair = place->first + batch, head = pair % c->n_heads;
    int64_t size_bytes = (int64_t)place->size_bytes;

    batch = pair / c->n_heads;
    product->a = (const char *)a->elements + mdf_heads_offset(a, batch, head / (c->n_heads / a->n_heads)) * size_bytes;
    product->b = (const char *)b->elements + mdf_heads_offset(b, batch, head / (c->n_heads / b->n_heads)) * size_bytes;
    product->c = (char *)c->elements + mdf_heads_offset(c, batch, head) * size_bytes;
}

bool mdf_heads_multiply(struct mdf_workspace *workspace, struct mdf_value *scratch, const struct mdf_heads *a,
                        const struct mdf_heads *b, bool transposed, double alpha, const struct mdf_heads *c, size_t first,
                        size_t n)
{
    struct place place = {a, b, c, first, mdf_dtype_size(workspace->dtype)};
    struct mdf_product product = {.dtype = workspace->dtype,
                                  .m = c->n_rows,
                                  .n = c->n_columns,
                                  .k = a->n_columns,
                                  .a_row = a->row_step,
                                  .a_column = 1,
                                  .b_row = transposed ? 1 : b->row_step,
                                  .b_column = transposed ? b->row_step : 1,
                                  .c_row = c->row_step,
                                  .alpha = alpha};

    if (n == 0 || product.m == 0 || product.n == 0) {
        return true;
    }
    return mdf_multiply_batch(workspace->call, scratch, &product, n, locate, &place);
}
