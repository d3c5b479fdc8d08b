/* rows.h - sequences whose items are arrays of one form, as the rows of one array. */
#ifndef MDF_TENSOR_ROWS_H
#define MDF_TENSOR_ROWS_H

#include "mdf_c/tensor/value.h"

/* The form of the array that has the items of a list as its rows, without elements; of a sequence without items an array of one
 * axis that has none. False: it is no list, or its items are not typed arrays of numbers in one form, or have too many axes. */
bool mdf_rows_form(const struct mdf_value *list, struct mdf_value *form);
/* What a value is as an array: itself, or, of a sequence, the array of its rows; `form` has no elements of its own. False: it is
 * none. */
bool mdf_array_form(const struct mdf_value *value, struct mdf_value *form);
/* Copies the elements of the items, row by row, to where there is room for such an array. */
void mdf_rows_copy(const struct mdf_value *list, void *elements);
/* `list` becomes one whose items look at the rows of such an array, which lasts longer. False: refused. */
bool mdf_rows_borrow(struct mdf_memory *memory, struct mdf_value *list, mdf_dtype dtype, size_t rank, const int64_t *shape,
                     const void *elements);

#endif
