/* along.h - elements that indices point at along one axis: GatherElements, ScatterElements.
 *
 * Input 1 of the call has the rank of the indexed array; its element at (i, j, k) points at (index, j, k) for axis 0, and so on.
 * A negative index counts from the end. All functions use the scratch values MDF_SCRATCH_AXES and MDF_SCRATCH_SECOND. */
#ifndef MDF_FUNCTIONS_MOVES_ALONG_H
#define MDF_FUNCTIONS_MOVES_ALONG_H

#include "functions/moves/indexing.h"

/* Indices along an axis, checked for their shape. Rows are those of the indices' last axis. */
struct mdf_along {
    struct mdf_call *call;
    mdf_dtype dtype;
    size_t axis, rank, n_rows, n_columns;
    size_t size, stride;            /* of the axis, in the indexed array */
    bool is_last;                   /* the axis: elements of a row all lie in one row of the array */
    const int64_t *indices, *shape; /* shape: of the indices */
    const int64_t *strides;         /* of the indexed array */
};

/* False with the error set. */
bool mdf_along_begin(struct mdf_call *call, const struct mdf_value *data, size_t axis, struct mdf_along *along);
/* The whole call, on input 0: output 0 is what the indices point at along an axis as it is given. */
bool mdf_along_gather_all(struct mdf_call *call, int64_t given_axis);
/* Writes the updates, of the indices' shape, to where they point in `target`, or combines the two elements; in the order of the
 * indices where several point at one place. `combine` may be NULL. False with the error set. */
bool mdf_along_scatter(const struct mdf_along *along, void *target, const void *updates,
                       void (*combine)(void *a, const void *b, size_t n));

#endif
