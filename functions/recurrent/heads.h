/* heads.h - arrays seen as matrices, one a batch and head: what the attention operators share.
 *
 * An array is [batch, head, row, column], or [batch, row, head * column] with the heads side by side; strides tell them apart, so
 * that nothing is moved. */
#ifndef MDF_FUNCTIONS_RECURRENT_HEADS_H
#define MDF_FUNCTIONS_RECURRENT_HEADS_H

#include "functions/kernel/workspace.h"
#include "functions/products/gemm/gemm.h"

struct mdf_heads {
    void *elements; /* of the workspace's type; inputs are only read */
    size_t n_batches, n_heads, n_rows, n_columns;
    int64_t batch_step, head_step, row_step; /* strides in elements */
    int64_t origin;                          /* offset of the first element that is held */
};

/* Input `i`: of rank 4, or of rank 3 with `n_heads` heads. False with the error set. Uses one array of the workspace. */
bool mdf_heads_input(struct mdf_workspace *workspace, size_t i, int64_t n_heads, struct mdf_heads *heads);
/* The same of what it says without its elements, which stay NULL. */
bool mdf_heads_form(struct mdf_call *call, size_t i, int64_t n_heads, struct mdf_heads *heads);
/* Strides of an array [batch, head, row, column], or [batch, row, head, column] with `side_by_side`. */
void mdf_heads_layout(struct mdf_heads *heads, bool side_by_side);
/* Element (batch, head, 0, 0). */
int64_t mdf_heads_offset(const struct mdf_heads *heads, size_t batch, size_t head);

/* c = alpha a b (b transposed where `transposed`) for the matrices [first, first + n) of c, counted by batch, then head. Where a
 * or b have fewer heads, each serves a group of neighbours. `scratch` is a value of the workspace. False with the error set. */
bool mdf_heads_multiply(struct mdf_workspace *workspace, struct mdf_value *scratch, const struct mdf_heads *a,
                        const struct mdf_heads *b, bool transposed, double alpha, const struct mdf_heads *c, size_t first,
                        size_t n);

/* Queries, keys and values fit each other: batches, columns, rows, and heads in groups. False with the error set. */
bool mdf_heads_check(struct mdf_call *call, const struct mdf_heads *q, const struct mdf_heads *k, const struct mdf_heads *v);

#endif
