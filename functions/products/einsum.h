/* einsum.h - how an Einsum is computed: its terms are joined from left to right, each time as a batch of matrix products; what is
 * summed and occurs in neither later terms nor the result is summed right away.
 *
 * Labels are numbered: A to Z, a to z, then the axes of the ellipsis from left to right. */
#ifndef MDF_FUNCTIONS_PRODUCTS_EINSUM_H
#define MDF_FUNCTIONS_PRODUCTS_EINSUM_H

#include "functions/kernel/operator.h"
#include "functions/kernel/workspace.h"
#include "functions/products/gemm/gemm.h"

enum { MDF_EINSUM_ABSENT = -1, MDF_EINSUM_MOST_TERMS = 6 /* that derivatives go back to */ };

struct mdf_einsum_settings {
    const char *equation;
};

extern const struct mdf_setting mdf_einsum_settings[];
extern const struct mdf_derivative mdf_einsum_derivatives[];

/* The kernels: the sum of products of inputs of one type; the gradient of a term, of that of the result, the terms (of
 * MDF_EINSUM_MOST_TERMS inputs those that are there), ones in the term's shape, and its number. */
bool mdf_einsum(struct mdf_call *call);
bool mdf_einsum_back(struct mdf_call *call);

/* An array with labelled axes. */
struct mdf_einsum_operand {
    const void *elements;
    int64_t *strides; /* of each label, in elements; ABSENT where it has none */
};

struct mdf_einsum {
    struct mdf_workspace *workspace;
    size_t n_terms, n_labels, n_ellipsis;
    int64_t *sizes;        /* of each label */
    int64_t *last_term;    /* of each label: the last that has it; n_terms: the result has it */
    int64_t *counts;       /* of each label: axes that have it, in all terms */
    int64_t *term_strides; /* [n_terms][n_labels] */
    int64_t *result;       /* the result's labels in order */
    size_t n_result;
    int64_t *order; /* all labels: those of the result in its order, then the others */
    int64_t *spare; /* for two odometers, and labels in order */
    void *target;   /* of the result */
};

/* Labels in order: those of batches, then of the rows of a matrix, then of its columns. */
struct mdf_einsum_order {
    int64_t *labels; /* room for all */
    size_t first_row, first_column, n;
    bool lies_turned; /* the operand lies as such matrices transposed; else it is laid out in this order, where it does not lie so
                       */
};

/* Begins a run of the call, and reads its equation and shapes; false with the error set. */
bool mdf_einsum_begin(struct mdf_workspace *workspace, struct mdf_call *call, struct mdf_einsum *einsum);
/* The product that `left` becomes with term number `next`: the labels of both operands (a's rows and b's columns are those of the
 * product, a's columns and b's rows are summed), and all of `product` but its elements. False with the error set. */
bool mdf_einsum_join(const struct mdf_einsum *einsum, const struct mdf_einsum_operand *left,
                     const struct mdf_einsum_operand *right, size_t next, struct mdf_einsum_order *a, struct mdf_einsum_order *b,
                     size_t *n_batches, struct mdf_product *product);

#endif
