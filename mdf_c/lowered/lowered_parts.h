/* lowered_parts.h - what the files share that run the lowered form as it stands (lowered_run.h). */
#ifndef MDF_LOWERED_LOWERED_PARTS_H
#define MDF_LOWERED_LOWERED_PARTS_H

#include "mdf_c/lowered/lowered_run.h"

static inline size_t mdf_lowered_element_size(const struct mdf_lowered *lowered, mdf_lowered_id id)
{
    return mdf_dtype_size((mdf_dtype)lowered->values[id].form.dtype);
}

/* Bytes of a value of the form. */
static inline size_t mdf_lowered_size(const struct mdf_lowered *lowered, mdf_lowered_id id)
{
    return lowered->values[id].form.length * mdf_lowered_element_size(lowered, id);
}

/* Where the elements of a value are. */
static inline void *mdf_lowered_elements(const struct mdf_lowered *lowered, mdf_lowered_id id)
{
    return lowered->values[id].is_scalar ? (void *)&lowered->cells[id] : lowered->arrays[id].data;
}

static inline bool mdf_lowered_truth(const struct mdf_lowered *lowered, mdf_lowered_id id)
{
    return *(const uint8_t *)&lowered->cells[id] != 0;
}

/* The first open axis of a value that has one. */
static inline size_t mdf_lowered_open_axis(const struct mdf_lowered_value *value)
{
    size_t axis = 0;

    while ((value->open_axes >> axis & 1) == 0) {
        axis++;
    }
    return axis;
}

/* Elements that each index of that axis has, if axes in front of it are of length 1. */
static inline size_t mdf_lowered_open_stride(const struct mdf_lowered_value *value)
{
    size_t axis = mdf_lowered_open_axis(value), n = 1;

    for (axis++; axis < value->form.rank; axis++) {
        n *= (size_t)value->form.shape.sizes[axis];
    }
    return n;
}

/* An array of the value's form in memory of its own. False: refused. */
bool mdf_lowered_make_array(const struct mdf_lowered *lowered, mdf_lowered_id id, struct mdf_value *array);

/* --- lowered_compute.c: an element op on scalars by its code, up to SELECT. False: bail out. */
bool mdf_lowered_run_scalar(uint64_t *cells, const struct mdf_lowered_op *op);

/* --- lowered_product.c: memory for a loop's products; then lays out their matrices, and computes those of its first runs, which
 * needs no more memory. False: refused, or bail out. */
bool mdf_lowered_make_products(struct mdf_lowered *lowered, struct mdf_lowered_loop *loop);
bool mdf_lowered_begin_products(struct mdf_lowered *lowered, struct mdf_lowered_loop *loop, size_t n_runs);
/* Where the results of products made ahead are in a run. */
void mdf_lowered_place_products(struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop, size_t n_runs, size_t run);

/* --- lowered_loop.c */
/* A CALL that looks at a stack of the loop around it. */
void mdf_lowered_look_at_stack(struct mdf_lowered *lowered, const struct mdf_lowered_call *call);
bool mdf_lowered_run_loop(struct mdf_lowered *lowered, struct mdf_lowered_loop *loop);
/* The number of runs that a loop can have at most; SIZE_MAX: no bound, or a negative one where that is refused. */
size_t mdf_lowered_bound(const struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop);
/* The part of mdf_lowered_begin_loop that allocates; mdf_lowered_begin_products is the other. False: refused, or bail out. */
bool mdf_lowered_make_room(struct mdf_lowered *lowered, struct mdf_lowered_loop *loop, size_t n_runs);

/* --- lowered_concurrent.c: before a loop that may run beside another one looks at the first `n` items of that. False: they do not
 * come. */
bool mdf_lowered_await_items(const struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop, size_t n);

#endif
