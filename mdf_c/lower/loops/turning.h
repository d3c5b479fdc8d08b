/* turning.h - what files share that lay out arrays by columns for nests that fold their short rows (lower_turned.c,
 * lower_turned_states.c, lower_stored_moved.c). */
#ifndef MDF_LOWER_TURNING_H
#define MDF_LOWER_TURNING_H

#include "mdf_c/lower/lowering.h"
#include "mdf_c/lowered/nest.h"

enum {
    TURNING_FEWEST_RUNS = 4,
    TURNING_FEWEST_ROWS = 16,
    TURNING_LARGEST = 1 << 15 /* elements: they stay in a cache */
};

enum { TURNING_MOST = 8 };

/* An array that has been laid out, as some view goes through it. */
struct turned {
    struct mdf_nest_view from, to;
    size_t extents[MDF_NEST_MOST_AXES];
    struct mdf_lowered_op op;
};

/* Of one loop, or of a nest by itself. */
struct turning {
    struct lowering *lowering;
    bool *is_inside; /* of each value that there was when it began: it is made there */
    struct turned turned[TURNING_MOST];
    size_t n_turned;
};

/* That of an op, nothing laid out yet; NULL: memory ran out. */
struct turning *turning_of(struct lowering *lowering, const struct mdf_lowered_op *op);

/* The axis that vectors go along where the rows that are folded are short: the last of those that are not. The number of axes: it
 * is no such nest. */
size_t turning_find_lanes(const struct lowering *lowering, const struct mdf_lowered_nest *nest);

/* Whether an array from outside is loaded across rows. */
bool turning_is_across(const struct turning *turning, const struct mdf_lowered_nest *nest, const struct mdf_nest_step *step,
                       size_t lanes);

/* Whether what is loaded or stored lies as vectors along an axis want it: side by side, or one element for all, and not from
 * another place on for each lane, which an index says that is found when it runs. */
bool turning_is_along(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *step, size_t lanes);

/* Whether something is laid out for a nest by itself, whose axes may change places for that: what it is otherwise does not
 * change. */
bool turning_is_worth_it(const struct turning *turning, struct mdf_lowered_nest *nest);

/* Two axes change places: no step has a level between them. */
void turning_change_places(struct mdf_lowered_nest *nest, size_t axis, size_t other);

#endif
