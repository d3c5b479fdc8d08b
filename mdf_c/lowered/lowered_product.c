/* lowered_product.c - products of a loop's body by prepared products, one by one or, where they depend on no state, for a block
 * of runs at once, or, where they are only stacked, all behind the last run. See lowered.h. */
#include "mdf_c/lowered/lowered_parts.h"

enum { LINE_BYTES = 64 };

/* The panels begin on a line of the cache. */
static char *panels_of(const struct mdf_lowered_product *product)
{
    char *bytes = product->panels.data;

    return bytes + (LINE_BYTES - (uintptr_t)bytes % LINE_BYTES) % LINE_BYTES;
}

static const void *matrix_of(const struct mdf_lowered *lowered, const struct mdf_lowered_product *product)
{
    return product->prepared.is_laid_out ? panels_of(product) : lowered->arrays[product->b].data;
}

static const void *start_of(const struct mdf_lowered *lowered, const struct mdf_lowered_product *product)
{
    return product->start == MDF_LOWERED_NONE ? NULL : lowered->arrays[product->start].data;
}

static bool make_bytes(const struct mdf_lowered *lowered, struct mdf_value *value, size_t n_bytes)
{
    int64_t length = (int64_t)n_bytes + LINE_BYTES;

    return value->kind == MDF_KIND_TENSOR ||
           mdf_value_make_tensor(lowered->context->memory, value, MDF_DTYPE_UINT8, 1, &length) != NULL;
}

bool mdf_lowered_make_products(struct mdf_lowered *lowered, struct mdf_lowered_loop *loop)
{
    for (size_t i = 0; i < loop->n_products; i++) {
        struct mdf_lowered_product *product = loop->products[i];

        if ((product->prepared.is_laid_out && !make_bytes(lowered, &product->panels, product->prepared.n_bytes)) ||
            (product->rows != NULL &&
             !make_bytes(lowered, &product->results, loop->block_runs * mdf_lowered_size(lowered, product->out)))) {
            return false;
        }
    }
    return true;
}

bool mdf_lowered_begin_products(struct mdf_lowered *lowered, struct mdf_lowered_loop *loop, size_t n_runs)
{
    for (size_t i = 0; i < loop->n_products; i++) {
        const struct mdf_lowered_product *product = loop->products[i];

        if (product->prepared.is_laid_out) {
            mdf_lay_out_matrix(&product->prepared, lowered->arrays[product->b].data, product->b_row, product->b_column,
                               panels_of(product));
        }
    }
    loop->ahead_runs = n_runs;
    return loop->block_runs == 0 || n_runs == 0 || mdf_lowered_multiply_ahead(lowered, loop, 0) == 0;
}

void mdf_lowered_multiply(struct mdf_lowered *lowered, const struct mdf_lowered_product *product)
{
    mdf_multiply_prepared(lowered->context, &product->prepared, matrix_of(lowered, product), product->n_rows,
                          lowered->arrays[product->a].data, start_of(lowered, product), lowered->arrays[product->out].data);
}

void mdf_lowered_multiply_behind(struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop)
{
    for (size_t i = 0; i < loop->n_products; i++) {
        if (loop->products[i]->is_behind) {
            mdf_lowered_multiply(lowered, loop->products[i]);
        }
    }
}

/* Items lie in the order of the runs, or the other way round; so do the results. */
int mdf_lowered_multiply_ahead(struct mdf_lowered *lowered, struct mdf_lowered_loop *loop, size_t run)
{
    size_t left = run < loop->ahead_runs ? loop->ahead_runs - run : 0, n = left < loop->block_runs ? left : loop->block_runs;

    if (loop->concurrent != NULL && !mdf_lowered_await_items(lowered, loop, run + n)) {
        return 1;
    }
    for (size_t i = 0; n > 0 && i < loop->n_products; i++) {
        const struct mdf_lowered_product *product = loop->products[i];
        const char *items;
        size_t first;

        if (product->rows == NULL) {
            continue;
        }
        items = mdf_lowered_elements(lowered, product->rows->source);
        first = product->rows->is_reversed ? left - n : run;
        mdf_multiply_prepared(lowered->context, &product->prepared, matrix_of(lowered, product), n * product->n_rows,
                              items + first * mdf_lowered_size(lowered, product->rows->parameter), start_of(lowered, product),
                              product->results.data);
        lowered->arrays[product->out].data =
            (char *)product->results.data + (product->rows->is_reversed ? (n - 1) * mdf_lowered_size(lowered, product->out) : 0);
    }
    loop->block_end = run + n;
    return 0;
}

void mdf_lowered_place_products(struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop, size_t n_runs, size_t run)
{
    size_t first = run / loop->block_runs * loop->block_runs;
    size_t n = n_runs - first < loop->block_runs ? n_runs - first : loop->block_runs;

    for (size_t i = 0; i < loop->n_products; i++) {
        const struct mdf_lowered_product *product = loop->products[i];

        if (product->rows != NULL) {
            size_t item = product->rows->is_reversed ? first + n - 1 - run : run - first;

            lowered->arrays[product->out].data = (char *)product->results.data + item * mdf_lowered_size(lowered, product->out);
        }
    }
}
