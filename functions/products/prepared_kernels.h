/* prepared_kernels.h - for the files of prepared_product.c: the innermost loops, for each type and kind of vector. */
#ifndef MDF_FUNCTIONS_PRODUCTS_PREPARED_KERNELS_H
#define MDF_FUNCTIONS_PRODUCTS_PREPARED_KERNELS_H

#include "functions/products/prepared_product.h"
#include "mdf_c/base/processor.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { DEPTH = 256 /* rows of a block of B, as in gemm.c */ };

struct mdf_prepared_kernels {
    size_t lanes, size_bytes; /* elements of a vector; bytes of an element */
    /* Columns [column, end), of whole panels but for the last. */
    void (*at_once)(const struct mdf_prepared_product *product, const void *b, size_t n_rows, size_t column, size_t end,
                    const void *a, const void *start, void *c);
    void (*in_blocks)(const struct mdf_prepared_product *product, const void *b, size_t n_rows, size_t column, size_t end,
                      const void *a, const void *start, void *c);
    void (*lay_out)(const struct mdf_prepared_product *product, const void *b, int64_t row, int64_t column, void *panels);
};

/* Of one block of B, in elements. */
struct strides {
    size_t depth;
    int64_t a_row, b_row, b_panel;
    int64_t b_block; /* where the block begins */
};

static inline size_t depth_of(const struct mdf_prepared_product *product)
{
    return product->in_blocks ? DEPTH : product->k;
}

/* Columns of a panel, and of all panels together. */
static inline size_t panel_columns(const struct mdf_prepared_product *product, size_t lanes)
{
    return product->n <= lanes ? lanes : 2 * lanes;
}

static inline size_t padded_columns(const struct mdf_prepared_product *product, size_t lanes)
{
    size_t n_panel = panel_columns(product, lanes);

    return (product->n + n_panel - 1) / n_panel * n_panel;
}

static inline struct strides strides_of(const struct mdf_prepared_product *product, size_t lanes, size_t first, size_t depth)
{
    struct strides strides = {.a_row = (int64_t)product->k, .b_row = (int64_t)product->n, .b_panel = (int64_t)(2 * lanes)};

    strides.depth = product->k - first < depth ? product->k - first : depth;
    strides.b_block = (int64_t)(first * product->n);
    if (product->is_laid_out) {
        strides.b_row = (int64_t)panel_columns(product, lanes);
        strides.b_panel = strides.b_row * (int64_t)strides.depth;
        strides.b_block = (int64_t)(first * padded_columns(product, lanes));
    }
    return strides;
}

/* Their names end in the lanes of a vector; those without are portable. */
#if defined(__x86_64__)
extern const struct mdf_prepared_kernels mdf_prepared_kernels_float32_16, mdf_prepared_kernels_float64_8;
extern const struct mdf_prepared_kernels mdf_prepared_kernels_float32_8, mdf_prepared_kernels_float64_4;
extern const struct mdf_prepared_kernels mdf_prepared_kernels_float32_4, mdf_prepared_kernels_float64_2;
#endif
extern const struct mdf_prepared_kernels mdf_prepared_kernels_float32, mdf_prepared_kernels_float64;

#endif
