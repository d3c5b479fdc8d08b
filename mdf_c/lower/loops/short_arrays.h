/* short_arrays.h - arrays of a few elements in a loop's body, each element of which is a number of its own: what the two files
 * that make it so share. */
#ifndef MDF_LOWER_SHORT_ARRAYS_H
#define MDF_LOWER_SHORT_ARRAYS_H

#include "mdf_c/lower/lowering.h"
#include "mdf_c/lowered/nest.h"

enum { SHORT_ARRAY_MOST = 4 };

struct short_array {
    bool is_apart;                             /* its elements are numbers of their own */
    bool is_stored;                            /* it is an array besides, for what reads it as one */
    mdf_lowered_id elements[SHORT_ARRAY_MOST]; /* of one that is apart, once they are made */
};

struct short_arrays {
    struct lowering *lowering;
    struct mdf_lowered_loop *loop;
    size_t depth;              /* of the loop's body */
    struct short_array *array; /* by value; of the first n_values */
    size_t n_values;
    struct mdf_lowered_op *ops; /* of the new body */
    size_t n_ops, capacity;
};

/* The array's entry; NULL: it is none that is apart. */
struct short_array *short_array_of(const struct short_arrays *arrays, mdf_lowered_id id);

/* Whether a nest can be written out as ops on numbers, and calls no function for several points. */
bool short_nest_may_be_written(const struct lowering *lowering, const struct mdf_lowered_nest *nest);
/* Writes it into the new body. */
bool short_nest_write(struct short_arrays *arrays, const struct mdf_lowered_nest *nest);

/* A number of a type, of no op yet. */
mdf_lowered_id short_number(const struct short_arrays *arrays, enum mdf_lowered_place place, mdf_dtype dtype);
bool short_add_op(struct short_arrays *arrays, const struct mdf_lowered_op *op);
/* The nest that loads an element into a number, or stores a number as an element; `index`: what view->at is, NONE: nothing. NULL:
 * memory ran out. */
struct mdf_lowered_nest *short_move(struct lowering *lowering, const struct mdf_nest_view *from, const struct mdf_nest_view *to,
                                    mdf_lowered_id index);

#endif
