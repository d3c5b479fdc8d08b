/* nest_rows.h - several rows of a nest at a time.
 *
 * Where totals along the vector axis (nest_plan.h) take products with what is the same for all rows of an axis around (the right
 * factor of a product of matrices, the image of a convolution for all of its channels), a nest that goes through NEST_ROWS rows at
 * once loads that once for all of them. It is made of copies of the steps that are others for each row; what each of them computes,
 * and in which order, stays. */
#ifndef MDF_SOURCE_NEST_ROWS_H
#define MDF_SOURCE_NEST_ROWS_H

#include "mdf_c/source/nests/nest_plan.h"

enum { NEST_ROWS = 4 };

/* The axis whose rows are worth it; the nest's number of axes: there is none. */
size_t nest_rows_axis(const struct nest_plan *plan);

/* The first rows of the axis, as many as can be taken so; and the others, one by one: false where there are none. `rows`: a copy of
 * the nest, with steps of its own, MDF_NEST_MOST_STEPS of them. */
void nest_rows_together(const struct mdf_lowered_nest *nest, size_t axis, struct mdf_lowered_nest *rows);
bool nest_rows_rest(const struct mdf_lowered_nest *nest, size_t axis, struct mdf_lowered_nest *rows);

#endif
