/* indexing.h - moving elements: boxes of two arrays copied by strides, runs of elements copied and filled, indices checked.
 *
 * Elements move by their size, whatever their type; strings move by sharing, and what a copy overwrites is let go. Offsets
 * and strides count elements. Scratch value 1 of a call holds the arrays of axes that these functions need. */
#ifndef MDF_FUNCTIONS_MOVES_INDEXING_H
#define MDF_FUNCTIONS_MOVES_INDEXING_H

#include "functions/kernel/call.h"

/* Scratch values: 0 takes outputs that nobody reads, 1 the arrays of axes; 2 and 3 are the kernel's. */
enum { MDF_SCRATCH_AXES = 1, MDF_SCRATCH_FIRST = 2, MDF_SCRATCH_SECOND = 3 };

/* A box of elements in a target and a source array: for every index i below `shape`, target element sum(i * target_strides)
 * becomes source element sum(i * source_strides). */
struct mdf_box {
    size_t rank;
    int64_t *shape;
    int64_t *target_strides; /* no two elements of the box may meet */
    int64_t *source_strides; /* 0 repeats, a negative one goes backward */
    int64_t *index;          /* room for one, of the caller's own use */
};

/* Room for a box of `rank` axes, and for `n_more` further int64 (*more; may be NULL where 0), in scratch value
 * MDF_SCRATCH_AXES, where they stay until the next call of this function; false with the error set. */
bool mdf_box_prepare(struct mdf_call *call, size_t rank, size_t n_more, struct mdf_box *box, int64_t **more);
/* Copies the elements of a box. The arrays of the box are changed. */
void mdf_box_copy(struct mdf_call *call, struct mdf_box *box, mdf_dtype dtype, void *target, const void *source);

/* Row-major strides of a shape. Those of a shape without elements are not to be used. */
void mdf_strides(size_t rank, const int64_t *shape, int64_t *strides);
/* Product of the sizes of axes [first, last) of an array that exists; 0 where one is 0. */
size_t mdf_axes_product(const int64_t *shape, size_t first, size_t last);

/* Element number `i` of an array. */
static inline const void *mdf_element_at(mdf_dtype dtype, const void *elements, size_t i)
{
    return (const char *)elements + i * mdf_dtype_size(dtype);
}

static inline void *mdf_element_to_write(mdf_dtype dtype, void *elements, size_t i)
{
    return (char *)elements + i * mdf_dtype_size(dtype);
}

/* Copies `n` adjacent elements. */
void mdf_elements_copy(struct mdf_call *call, mdf_dtype dtype, void *target, const void *source, size_t n);
/* Copies `n` blocks of `n_block` adjacent elements: block i is the one at offset i of the source. */
void mdf_blocks_gather(struct mdf_call *call, mdf_dtype dtype, void *target, const void *source, const size_t *offsets, size_t n,
                       size_t n_block);
/* The other way round: block i of the source goes to offset i of the target; the later one wins. */
void mdf_blocks_scatter(struct mdf_call *call, mdf_dtype dtype, void *target, const void *source, const size_t *offsets, size_t n,
                        size_t n_block);
/* Writes `n` copies of one element; NULL: zero, false, the empty string. False with the error set. */
bool mdf_elements_fill(struct mdf_call *call, mdf_dtype dtype, void *target, size_t n, const void *element);

/* Makes an index in [-size, size) non-negative; false with the error set, which names `position` (of the index among the
 * indices) and the axis. */
bool mdf_index_check(struct mdf_call *call, int64_t index, size_t position, size_t axis, int64_t size, size_t *result);

/* Output `i`, or scratch value 0 where nobody reads it. */
static inline struct mdf_value *mdf_call_target(struct mdf_call *call, size_t i)
{
    struct mdf_value *result = mdf_call_result(call, i);

    return result != NULL ? result : &call->scratch[0];
}

/* Item number `i` of what is to be joined; NULL with the error set where it is not an array. */
typedef const struct mdf_value *(*mdf_item_at)(struct mdf_call *call, size_t i);

/* Output 0 becomes the `n` items joined along an axis that they have or, with `new_axis`, along a new one. */
bool mdf_concatenate(struct mdf_call *call, size_t n, mdf_item_at item_at, int64_t axis, bool new_axis);

/* `target` becomes the part [first, first + length) of an array along an axis, which is left out where not `keep_axis`
 * (`length` is then 1). False with the error set. Uses the scratch value MDF_SCRATCH_AXES. */
bool mdf_take_part(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *source, size_t axis, size_t first,
                   size_t length, bool keep_axis);

#endif
