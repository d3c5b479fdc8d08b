/* whole_extremes.h - the largest and smallest whole numbers, found in their own type in vectors; the order does not matter. */
#ifndef MDF_FUNCTIONS_FOLDS_WHOLE_EXTREMES_H
#define MDF_FUNCTIONS_FOLDS_WHOLE_EXTREMES_H

#include "mdf_c/tensor/dtype.h"

/* Elements are those of the type that was asked for; `n` and `n_rows` are not 0. */
struct mdf_whole_extremes {
    /* The largest of n adjacent elements, or the smallest, as int64 or uint64. */
    void (*row)(size_t n, const void *x, bool largest, void *total);
    /* most[i] = that of most[i] and element i of all rows, row t of which begins at x + offsets[t]; of the rows alone for the
     * first ones. */
    void (*rows)(size_t n, size_t n_rows, const size_t *offsets, const void *x, bool largest, bool begins, void *most);
};

/* NULL: there are none of that type, which is not one of 8 to 64 bits with or without sign. */
const struct mdf_whole_extremes *mdf_whole_extremes(mdf_dtype dtype);

#endif
