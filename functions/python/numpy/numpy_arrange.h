/* numpy_arrange.h - rearranging elements of arrays. */
#ifndef MDF_FUNCTIONS_NUMPY_ARRANGE_H
#define MDF_FUNCTIONS_NUMPY_ARRANGE_H

#include "functions/python/python_values.h"

/* `target`, which is not `array`, becomes the array broadcast to a shape; false with the error set where it does not fit. */
bool mdf_numpy_broadcast(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *array, size_t rank,
                         const int64_t *shape);
/* `target` becomes the array with axis `order[i]` as its axis i; NULL: the axes in reverse. */
bool mdf_numpy_transpose(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *array, const int64_t *order);
/* The array along the axis that input 2 names; where it names none, flattened in a slot. NULL: the error is set. */
const struct mdf_value *mdf_numpy_along(struct mdf_call *call, const struct mdf_value *array, size_t *axis);

#endif
