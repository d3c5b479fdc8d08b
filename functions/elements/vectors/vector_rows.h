/* vector_rows.h - simple work on rows of adjacent elements, in the widest vectors that the processor has.
 *
 * Results are the same on every processor: sums are taken in 16 float64 parts, element i in part i % 16, whatever the width. */
#ifndef MDF_FUNCTIONS_ELEMENTS_VECTOR_ROWS_H
#define MDF_FUNCTIONS_ELEMENTS_VECTOR_ROWS_H

#include "mdf_c/tensor/dtype.h"

/* Parts in which a row is summed, and in which its extremes are found: element i in part i % of so many. */
enum { MDF_SUM_PARTS = 16, MDF_EXTREME_PARTS = 64 };

/* Elements are those of the type that was asked for. `step`: how far apart the elements of x lie that meet adjacent ones of y. */
struct mdf_vector_rows {
    /* y = the larger of x and y; NaN where one of them is. */
    void (*larger)(size_t n, const void *x, size_t step, void *y);
    void (*smaller)(size_t n, const void *x, size_t step, void *y);
    /* The same with rows one after the other, row t beginning at x + offsets[t]. */
    void (*larger_rows)(size_t n, size_t n_rows, const size_t *offsets, const void *x, void *y);
    void (*smaller_rows)(size_t n, size_t n_rows, const size_t *offsets, const void *x, void *y);
    void (*add)(size_t n, const void *x, size_t step, void *y);  /* y += x */
    void (*take)(size_t n, const void *x, size_t step, void *y); /* y = x */
    /* totals += x, with rows one after the other, row t beginning at x + offsets[t]. */
    void (*add_wide)(size_t n, size_t n_rows, const size_t *offsets, const void *x, double *totals);
    /* y = x where that lies between the bounds, else the bound; NaN stays, a bound that is NaN wins */
    void (*confine)(size_t n, const void *x, const void *low, const void *high, void *y);
    /* The largest element, the smallest; NaN where one is. Of nothing -infinity, infinity. */
    double (*largest)(size_t n, const void *x);
    double (*smallest)(size_t n, const void *x);
    void (*largest_of_rows)(size_t n_rows, size_t n, const void *x, double *totals); /* that lie one behind the other */
    void (*smallest_of_rows)(size_t n_rows, size_t n, const void *x, double *totals);
    double (*sum)(size_t n, const void *x);
    void (*sums)(size_t n_rows, size_t n, const void *x, double *totals); /* of rows that lie one behind the other */
    double (*sum_squares)(size_t n, const void *x, double mean);          /* of (x - mean)^2, in float64 */
    /* y = (x - mean) factor + shift, in the elements' type */
    void (*normalise)(size_t n, const void *x, double mean, double factor, double shift, void *y);
    /* y = (x - mean) factor scale + bias; `bias` may be NULL. `factor` is rounded to the elements' type first. */
    void (*normalise_each)(size_t n, const void *x, double mean, double factor, const void *scale, const void *bias, void *y);
};

/* FLOAT32 or FLOAT64. */
const struct mdf_vector_rows *mdf_vector_rows(mdf_dtype dtype);

#endif
