/* numpy_rows.h - functions that turn each row of an array, along one axis, into another of the same length: sort, cumsum. */
#ifndef MDF_FUNCTIONS_NUMPY_ROWS_H
#define MDF_FUNCTIONS_NUMPY_ROWS_H

#include "functions/python/numpy/numpy_reduce.h"

/* Writes `n` results for the `n` items of a row; false with the error set. */
typedef bool (*mdf_row_function)(struct mdf_call *call, mdf_dtype dtype, const void *items, size_t n, void *results);

/* Orders `n` items, NaN last, equal ones as they stand: `order` gets their numbers. Any type but complex. Uses scratch
 * MDF_SCRATCH_AXES. */
bool mdf_numpy_order(struct mdf_call *call, mdf_dtype dtype, const void *items, size_t n, int64_t *order);

#endif
