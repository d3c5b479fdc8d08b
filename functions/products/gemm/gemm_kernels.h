/* gemm_kernels.h - for the files of gemm.c: the innermost loops, for each type and kind of vector. */
#ifndef MDF_FUNCTIONS_PRODUCTS_GEMM_KERNELS_H
#define MDF_FUNCTIONS_PRODUCTS_GEMM_KERNELS_H

#include "functions/products/fused_vectors.h"
#include "functions/products/fused_words.h"
#include "functions/products/gemm/gemm.h"

/* What a tile does with what C holds: nothing, it adds the sums to it, or sums begin with it. */
enum mdf_tile_sums { MDF_TILE_OVERWRITES, MDF_TILE_ADDS, MDF_TILE_GOES_ON };

typedef void (*mdf_tile_function)(size_t depth, const void *a_packed, const void *b_packed, const void *start, void *target,
                                  int64_t c_row, enum mdf_tile_sums sums);
typedef void (*mdf_row_function)(size_t depth, const void *a, int64_t a_step, const void *b_packed, const void *start,
                                 void *target, bool add);

/* The innermost loops for one element type and instruction set. */
struct mdf_gemm_kernels {
    size_t rows, lanes;            /* a tile has up to `rows` rows and 2 * lanes columns */
    mdf_tile_function tiles[3][2]; /* of 1/3, 2/3, 3/3 of the rows; of 1, 2 vectors */
    mdf_row_function row_tiles[3]; /* of one row; of 1 vector, 2 vectors, 4 panels of 2 vectors */
    mdf_add_scaled add_scaled;
    /* y += alpha a B for one row of A, the elements of its rows adjacent; without fused operations */
    void (*add_rows)(size_t n, size_t k, const void *alpha, const void *a, int64_t a_column, const void *b, int64_t b_row,
                     void *y);
    void (*multiply_small)(const struct mdf_product *product); /* the elements of B's rows adjacent; NULL: there is none */
    /* some rows of what a block of `depth` rows of B, which is packed, adds to a product of a few columns; NULL: there is none */
    void (*multiply_narrow)(const struct mdf_product *product, const void *b_packed, size_t first_row, size_t last_row,
                            size_t first, size_t depth);
    void (*dot)(size_t n, const void *x, const void *y, void *result);
};
MDF_DECLARE_FUSED(struct mdf_gemm_kernels, mdf_gemm_kernels);
MDF_DECLARE_WORDS(struct mdf_gemm_kernels, mdf_gemm_kernels);
MDF_DECLARE_PAIRS(struct mdf_gemm_kernels, mdf_gemm_kernels);
extern const struct mdf_gemm_kernels mdf_gemm_kernels_integer32_avx512, mdf_gemm_kernels_integer32_avx2,
    mdf_gemm_kernels_integer32_plain, mdf_gemm_kernels_integer64_avx512, mdf_gemm_kernels_integer64_avx2,
    mdf_gemm_kernels_integer64_plain;

#endif
