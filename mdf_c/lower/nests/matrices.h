/* matrices.h - products of matrices as nests: for the files that find what is multiplied by what. */
#ifndef MDF_LOWER_MATRICES_H
#define MDF_LOWER_MATRICES_H

#include "mdf_c/lower/nests/nest_draft.h"

#include "functions/products/gemm/gemm.h"

/* What is multiplied, or added: axes[d] is the axis of dimension d; `strides`: those of its elements, NULL: as the value lies. */
struct matrices_operand {
    mdf_lowered_id id;
    uint8_t axes[MDF_NEST_MOST_AXES];
    size_t rank;
    const int64_t *strides;
};

/* A sum of products in the making: result = sum over the axes `summed` of a b, by the kernel's order. */
struct matrices {
    struct lowering *lowering;
    struct nest_draft *draft;
    mdf_dtype dtype; /* in which it is computed: float32, float64, or int64, of which other whole numbers are low bits */
    enum mdf_product_order order;
    double alpha;
    uint8_t start; /* the register that totals begin with, of type `dtype`; MDF_NEST_NONE: 0 */
    bool is_empty; /* nothing is summed */
    uint8_t summed[MDF_NEST_MOST_AXES];
    size_t n_summed; /* axes, in order; 0: one product is the sum */
};

/* The type in which products of elements of a type are computed; NONE: one that nests do not have. */
mdf_dtype matrices_dtype(mdf_dtype dtype);
/* Whether nests that run here sum as fast as the kernel, or faster: `n` products in all, of reals. */
bool matrices_run_here(const struct mdf_product *product, size_t n);
/* An operand's element, in the type in which it is computed, for products over some axes. */
uint8_t matrices_load(struct matrices *matrices, const struct matrices_operand *operand, unsigned axes);
/* The register of the sums. The draft has failed where nests do not sum so. */
uint8_t matrices_sum(struct matrices *matrices, const struct matrices_operand *a, const struct matrices_operand *b);

#endif
