/* ordering.h - the order of elements of any type, and sorting by it. */
#ifndef MDF_FUNCTIONS_FOLDS_ORDERING_H
#define MDF_FUNCTIONS_FOLDS_ORDERING_H

#include "functions/kernel/routine.h"
#include "mdf_c/base/stop.h"
#include "mdf_c/tensor/value.h"

/* Where NaN stands. */
enum mdf_nan_order { MDF_NAN_FIRST, MDF_NAN_LAST };

/* Keys of `n` elements that stand `stride` apart, such that the order of the keys as unsigned numbers is that of the elements:
 * ascending, or descending. Equal elements (-0 and 0, any two NaN) have equal keys. All types but complex and strings. */
void mdf_order_keys(mdf_dtype dtype, const void *elements, size_t stride, size_t n, bool descending, enum mdf_nan_order nan_order,
                    uint64_t *keys);

/* < 0, 0, > 0 as item `a` stands before, with or behind item `b`. */
typedef int (*mdf_compare)(const void *context, int64_t a, int64_t b);

/* Sorts items by keys[item], keeping the order of equal ones. `spare` has room for `n` items. False: `stop` (which may be NULL)
 * was asked to; the items are then in some order, and may stand there twice. */
bool mdf_sort_by_keys(struct mdf_stop *stop, int64_t *items, int64_t *spare, size_t n, const uint64_t *keys);

/* Sorts items, keeping the order of equal ones, in at most n log n comparisons; the rest as above. */
bool mdf_merge_sort(struct mdf_stop *stop, int64_t *items, int64_t *spare, size_t n, mdf_compare compare, const void *context);

/* The function `in_order` of order_routine.inc for a plan that sorts few elements, where it takes less than keys do; NULL: it
 * does not. */
mdf_routine_function mdf_in_order_function(const struct mdf_routine_plan *plan);

/* The same of `searched`, for few values. */
mdf_routine_function mdf_searched_function(const struct mdf_routine_plan *plan);

#endif
