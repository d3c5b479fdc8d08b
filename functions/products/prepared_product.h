/* prepared_product.h - many products of a few rows with one matrix: C = A B, or C = start + A B. Sizes are looked at once and the
 * matrix is laid out once; afterwards nothing is checked, nothing fails, and nothing is allocated.
 *
 * Each element of C has the same bits as in a product of `m` rows by mdf_multiply (gemm.h), however many rows are multiplied in
 * one go. So the rows of several products may be multiplied together. */
#ifndef MDF_FUNCTIONS_PRODUCTS_PREPARED_PRODUCT_H
#define MDF_FUNCTIONS_PRODUCTS_PREPARED_PRODUCT_H

#include "functions/kernel/call.h"

struct mdf_prepared_kernels;

struct mdf_prepared_product {
    mdf_dtype dtype;  /* FLOAT32 or FLOAT64 */
    size_t n, k;      /* A is any number of rows of k adjacent elements; B k by n; rows of C are n adjacent elements */
    bool in_blocks;   /* sums go on from block to block of B, as in large products; else from the first row of B to the last */
    bool is_laid_out; /* B is read in panels; else as it lies, row by row */
    size_t n_bytes;   /* of the panels */
    const struct mdf_prepared_kernels *kernels;
};

/* For products of m rows. `has_rows`: rows of B are adjacent elements, one row after the other, as B may be left. False: such
 * products are made in another way, by a scalar product or of no elements. */
bool mdf_prepare_product(struct mdf_prepared_product *product, mdf_dtype dtype, size_t m, size_t n, size_t k, bool has_rows);

/* Writes the panels of B, whose elements are `row` and `column` apart, where is_laid_out. */
void mdf_lay_out_matrix(const struct mdf_prepared_product *product, const void *b, int64_t row, int64_t column, void *panels);

/* `b` is B as it lies, or its panels. `start`: n elements, which each row of C begins with; NULL: 0. Takes several threads where
 * that is worth it. */
void mdf_multiply_prepared(const struct mdf_context *context, const struct mdf_prepared_product *product, const void *b,
                           size_t n_rows, const void *a, const void *start, void *c);

#endif
