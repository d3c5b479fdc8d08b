/* gemm.h - the matrix product that the heavy operators share: C = alpha A B, or C += alpha A B.
 *
 * A is m by k, B k by n, C m by n; strides count elements. The elements are float32 or float64, or integers of 32 or 64 bits
 * (signed or not: sums wrap). Each element of C is summed in an order that depends on the sizes alone, never on the number of
 * threads. Products of fewer than some 5000 multiplications, and those with vectors, are the same on every processor; larger ones, and
 * those with a matrix that is kept packed, use fused multiplication and addition where there is, and so may differ in their last
 * bits. */
#ifndef MDF_FUNCTIONS_PRODUCTS_GEMM_H
#define MDF_FUNCTIONS_PRODUCTS_GEMM_H

#include "functions/products/lines.h"

enum {
    MDF_PLAIN_PRODUCTS = 5000, /* a product with fewer multiplications is not worth packing */
    MDF_DOT_PARTS = 32,        /* partial sums of a scalar product: element i in part i % 32 */
    MDF_PRODUCT_DEPTH = 256    /* rows of B that are summed from 0 on, if not said; the sums of such blocks are added one by one */
};

/* Writes elements [first, first + n) of row `row` of B, where B is not held as an array. Called from several threads. */
typedef void (*mdf_product_row)(const void *context, size_t batch, size_t row, size_t first, size_t n, void *elements);

struct mdf_product {
    mdf_dtype dtype;                    /* FLOAT32, FLOAT64, INT32, UINT32, INT64 or UINT64 */
    enum mdf_product_elements elements; /* words, pairs: k > 0, alpha 1 */
    size_t m, n, k;
    const void *a, *b;                        /* b: NULL where `row` gives B */
    int64_t a_row, a_column, b_row, b_column; /* strides, any */
    void *c;
    int64_t c_row;     /* stride from row to row; columns are adjacent */
    bool add;          /* C is added to, otherwise overwritten */
    const void *start; /* without `add`: m elements, what the rows of C begin with; NULL: 0 */
    double alpha;
    size_t depth; /* rows of B in a block that is summed from 0 on; 0: MDF_PRODUCT_DEPTH */
    mdf_product_row row;
    const void *row_context;
    /* What mdf_product_keep_a, mdf_product_keep_b made of A, of B, or of A turned; NULL: nothing. */
    const void *packed_a, *packed_b, *packed_turned;
};

/* Where the matrices of one of several products lie: sets a, b, c of a product. */
typedef void (*mdf_product_locate)(const void *context, size_t batch, struct mdf_product *product);

/* Sizes and strides of a product of two arrays that are rows of `m` and of `n` elements, as many of both (`length` elements of the
 * first): the first one, turned, by the other. */
void mdf_product_of_lines(struct mdf_product *product, size_t length, int64_t m, int64_t n);

/* Computes one product. `scratch` keeps the packed matrices; it is any value of the kernel's own, so that repeated calls
 * allocate nothing. False with the error set. */
bool mdf_multiply(struct mdf_call *call, struct mdf_value *scratch, const struct mdf_product *product);

/* Computes `n_batches` products of one size; no two write the same elements. */
bool mdf_multiply_batch(struct mdf_call *call, struct mdf_value *scratch, const struct mdf_product *product, size_t n_batches,
                        mdf_product_locate locate, const void *locate_context);

/* Whether a product of these sizes is made of packed matrices; others are multiplied as they lie. */
bool mdf_product_is_packed(const struct mdf_product *product);

/* How an element of C is summed, c being what it begins with: 0, or, with `add`, what is there. */
enum mdf_product_order {
    MDF_PRODUCT_IN_ORDER, /* c + (alpha a) b + ..., one by one */
    MDF_PRODUCT_TURNED,   /* the same with alpha b in place of alpha a */
    MDF_PRODUCT_DOT,      /* c + alpha (a scalar product in MDF_DOT_PARTS parts) */
    /* Blocks of MDF_PRODUCT_DEPTH rows of B: sums of (alpha a) b from 0, by fused multiplication and addition where
     * mdf_product_is_fused; the first is the total, or with `add` what is added to c, the others are added to that. */
    MDF_PRODUCT_IN_BLOCKS
};
enum mdf_product_order mdf_product_order(const struct mdf_product *product);
bool mdf_product_is_fused(mdf_dtype dtype);
/* How functions/products/multiply_routine.inc sums in that order, alpha being 1. */
int64_t mdf_product_routine(enum mdf_product_order order, mdf_dtype dtype);
/* Keeps A or B packed in `kept`, a value of the kernel's own, for any number of products with it. With `is_constant`, the
 * elements are those of the last time wherever they lie at the same place, in the same form. Afterwards a product is made of
 * packed matrices, whatever its sizes; its sums are the same with and without this where mdf_product_is_packed. False with the
 * error set. */
bool mdf_product_keep_a(struct mdf_call *call, struct mdf_value *kept, bool is_constant, struct mdf_product *product);
bool mdf_product_keep_b(struct mdf_call *call, struct mdf_value *kept, bool is_constant, struct mdf_product *product);

/* y += scale x for `n` adjacent elements, in the widest vectors that the processor has. */
typedef void (*mdf_add_scaled)(size_t n, const void *scale, const void *x, void *y);
mdf_add_scaled mdf_add_scaled_for(mdf_dtype dtype);

/* The type in which a product of elements of this type is computed: of whole numbers it has their low bits. */
mdf_dtype mdf_product_dtype(mdf_dtype dtype);

/* The kernel of onnx::MatMul: inputs 0 and 1 multiplied as numpy.matmul does, both of one type. */
bool mdf_matmul(struct mdf_call *call);

#endif
