/* matrix_product.h - numpy.matmul of two arrays: matrices in the last two axes, the others broadcast. */
#ifndef MDF_FUNCTIONS_PRODUCTS_MATRIX_PRODUCT_H
#define MDF_FUNCTIONS_PRODUCTS_MATRIX_PRODUCT_H

#include "functions/kernel/workspace.h"
#include "functions/products/gemm/gemm.h"

/* What the shapes of two operands say. An operand of rank 1 is a row (the first) or a column (the second), and has no axis in
 * the result. */
struct mdf_matrix_product {
    mdf_dtype dtype;                    /* of the elements: the workspace's */
    enum mdf_product_elements elements; /* numbers */
    size_t m, n, k, n_batches;
    size_t n_batch_axes;
    const int64_t *batch_shape, *a_strides, *b_strides; /* of the batch axes, in elements; 0: broadcast */
    size_t rank;
    const int64_t *shape; /* of the result */
};

/* Works out sizes and strides; false with the error set where the shapes do not fit. Uses one array of the workspace. */
bool mdf_matrix_product_plan(struct mdf_workspace *workspace, const struct mdf_value *a, const struct mdf_value *b,
                             struct mdf_matrix_product *plan);
/* The first elements of the matrices of a batch. */
void mdf_matrix_product_place(const struct mdf_matrix_product *plan, size_t batch, int64_t *a, int64_t *b);
/* Computes the product of elements of the plan's type; `b_is_constant`: B's are the same in each run of the call. Uses two
 * arrays of the workspace. */
bool mdf_matrix_product_run(struct mdf_workspace *workspace, const struct mdf_matrix_product *plan, const void *a, const void *b,
                            bool b_is_constant, void *c);

#endif
