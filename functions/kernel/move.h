/* move.h - operators whose results are elements of their inputs in other places. See docs/elements.md.
 *
 * Where elements go is said by the kernel alone: run on arrays whose elements are their own positions, it tells where each comes
 * from. From that follow the form in C, views for loop nests, and derivatives. */
#ifndef MDF_FUNCTIONS_KERNEL_MOVE_H
#define MDF_FUNCTIONS_KERNEL_MOVE_H

#include "functions/kernel/call.h"

struct mdf_move {
    size_t n_data;   /* how many inputs are moved, the first ones; MDF_MOVE_ALL. The others say how. */
    bool in_order;   /* all elements of input 0, in their order: only shape (or type) changes */
    bool cuts;       /* takes some of the elements, in rows that lie together */
    bool zeros;      /* puts zeros in between */
    size_t fills;    /* ... or any element: that of the input of this number where it is given, else an attribute's; 0: none */
    bool shapes;     /* what says how are sizes: other ones give a result of another shape */
    bool chooses;    /* what says how may differ from run to run, the shape staying as it is */
    size_t n_behind; /* of MDF_MOVE_ALL: how many at the end are not */
    bool by_tuples;  /* ... and has an index of each of the first axes along its last one */
    bool promotes;   /* what is moved is brought to the type of the result */
};

#define MDF_MOVE_ALL SIZE_MAX
#define MDF_MOVE(...) (&(const struct mdf_move){__VA_ARGS__})

/* How many of a call's inputs are moved. */
static inline size_t mdf_move_data(const struct mdf_move *move, size_t n_inputs)
{
    return move->n_data < n_inputs - move->n_behind ? move->n_data : n_inputs - move->n_behind;
}

/* What stands for an element that is none of the inputs': 0, or what the operator fills with. */
#define MDF_POSITION_NONE ((int64_t)-1)

/* Where the elements of results come from. `call` is one whose inputs stand as they are, but those that are moved only have a
 * shape; results[i], which the caller clears, become arrays of int64 of the outputs' shapes (those of outputs that call->outputs
 * has): the number of the element, counted through all inputs that are moved, one after the other; or MDF_POSITION_NONE. False,
 * with the error of the call's context set: it can not run so, or makes other elements than it is given (MDF_UNSUPPORTED). */
bool mdf_move_positions(struct mdf_call *call, const struct mdf_move *move, struct mdf_value *results);

#endif
