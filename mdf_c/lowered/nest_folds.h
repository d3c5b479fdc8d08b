/* nest_folds.h - the folds of nests (nest.h) on rows of adjacent elements: what they mean, for the plain way of running them. */
#ifndef MDF_LOWERED_NEST_FOLDS_H
#define MDF_LOWERED_NEST_FOLDS_H

#include "mdf_c/lowered/nest.h"

/* Whether there is the fold for elements of a type. */
bool mdf_nest_has_fold(enum mdf_nest_fold fold, mdf_dtype dtype);
/* Each of n totals is that of one of n rows of `n_row` elements, one row behind the other. */
void mdf_nest_fold_rows(const struct mdf_nest_step *step, size_t n, size_t n_row, const void *rows, void *totals);

#endif
