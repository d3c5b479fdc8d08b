/* weighted_rows.h - sums of weighted rows of adjacent elements, in the widest vectors that the processor has.
 *
 * Where the processor has fused multiplication and addition it is used, so that last bits may differ from one to another. */
#ifndef MDF_FUNCTIONS_WEIGHTED_ROWS_H
#define MDF_FUNCTIONS_WEIGHTED_ROWS_H

#include "mdf_c/tensor/dtype.h"

enum { MDF_ROW_SLACK = 16 /* elements behind a row's last that are read, and have to be there */ };

/* y[i] = start + the sum over t of weights[t] x[offsets[t] + i], for i < n, t in order. Elements are float32 or float64. */
typedef void (*mdf_weighted_rows)(size_t n, size_t n_rows, const int64_t *offsets, const void *weights, const void *x,
                                  const void *start, void *y);

mdf_weighted_rows mdf_weighted_rows_for(mdf_dtype dtype);

#endif
