/* nest_folds.h - the folds of nests (nest.h) on rows of adjacent elements: what they mean, for the plain way of running them. */
#ifndef MDF_LOWERED_NEST_FOLDS_H
#define MDF_LOWERED_NEST_FOLDS_H

#include "mdf_c/lowered/nest.h"

/* Whether there is the fold for elements of a type. */
bool mdf_nest_has_fold(enum mdf_nest_fold fold, mdf_dtype dtype);
/* What is folded: rows of `n_row` elements, one row behind the other. */
struct mdf_nest_rows {
    size_t n, n_row;
    const void *elements, *factors;       /* `factors`: of a fused sum, by which elements are multiplied; else NULL */
    bool repeats_element, repeats_factor; /* of a fused sum: there is but one of them */
    const void *starts;                   /* one for each row; NULL: the fold's own beginning */
};

/* Each of rows->n totals is that of one row. */
void mdf_nest_fold_rows(const struct mdf_nest_step *step, const struct mdf_nest_rows *rows, void *totals);

#endif
