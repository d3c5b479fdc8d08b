/* byte_products.h - matrix products and convolutions of 8-bit integers less their zero points, as sums of 32 bits that wrap. */
#ifndef MDF_FUNCTIONS_BYTE_PRODUCTS_H
#define MDF_FUNCTIONS_BYTE_PRODUCTS_H

#include "functions/products/matrix_product.h"
#include "functions/windows/convolutions/conv.h"

struct mdf_byte_operand {
    const struct mdf_value *value, *zero; /* zero: NULL, one number, or one a slice along an axis of the value */
    bool is_constant;                     /* the value's elements are the same in each run of the call */
    bool is_transposed;                   /* a second operand, of one matrix, that lies as [n][k] */
};

/* Whether an operand is of 8-bit integers, with a zero point for all or, where `axis` is an axis, for each slice along it. */
bool mdf_byte_operand_fits(const struct mdf_byte_operand *operand, size_t axis);
/* The zero point of slice `i`. */
int mdf_byte_operand_zero(const struct mdf_byte_operand *operand, size_t i);

/* Arrays and values of the workspace that each of the two functions below takes, besides MDF_CONV_ARRAYS. */
enum { MDF_BYTE_PRODUCT_ARRAYS = 8 };

/* The product of matrices; zero points go along the rows of A and the columns of B. False with the error set. */
bool mdf_byte_product(struct mdf_workspace *workspace, const struct mdf_matrix_product *plan, const struct mdf_byte_operand *a,
                      const struct mdf_byte_operand *b, uint32_t *sums);

/* The convolution; zero points go along the output channels. Padding is the zero point of x. `bias`: int32, added; may be NULL.
 * *fits: false where this way is not meant for such windows; then nothing is computed. False with the error set. */
bool mdf_byte_convolution(struct mdf_workspace *workspace, const struct mdf_conv_plan *plan, const struct mdf_byte_operand *x,
                          const struct mdf_byte_operand *weights, const int32_t *bias, uint32_t *sums, bool *fits);

#endif
