/* product_types.h - for gemm.c: what depends on the type of a product's elements. */
#ifndef MDF_FUNCTIONS_PRODUCTS_GEMM_PRODUCT_TYPES_H
#define MDF_FUNCTIONS_PRODUCTS_GEMM_PRODUCT_TYPES_H

#include "functions/products/gemm/gemm_kernels.h"

/* A part of C. */
struct mdf_gemm_range {
    size_t first_row, last_row, first_column, last_column;
};

/* What depends on the element type but not on the instruction set. NULL: such elements are not packed, not turned, or not
 * multiplied as they lie. */
struct mdf_gemm_type {
    size_t size_bytes;
    void (*pack_a)(const struct mdf_product *product, size_t row, size_t n, size_t n_panel, size_t first, size_t depth,
                   void *packed);
    void (*pack_b)(const struct mdf_product *product, size_t batch, size_t first, size_t depth, size_t column, size_t n,
                   size_t n_panel, size_t n_last, void *packed, void *row);
    void (*store_edge)(const void *edge, size_t n_edge, void *target, int64_t c_row, size_t rows, size_t columns, bool add);
    void (*store_turned)(const void *turned, size_t turned_row, void *target, int64_t c_row, size_t rows, size_t columns);
    void (*multiply_plain)(const struct mdf_gemm_kernels *kernels, const struct mdf_product *product,
                           const struct mdf_gemm_range *range);
};

const struct mdf_gemm_type *mdf_gemm_type_of(const struct mdf_product *product);
const struct mdf_gemm_kernels *mdf_gemm_kernels_of(const struct mdf_product *product);

/* Whether each element is a scalar product of adjacent elements. */
static inline bool mdf_gemm_is_dot(const struct mdf_product *product)
{
    return product->a_column == 1 && product->b_row == 1 && (product->b_column != 1 || product->n == 1);
}

#endif
