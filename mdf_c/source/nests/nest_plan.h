/* nest_plan.h - how a loop nest (mdf_c/lowered/nest.h) is laid out as loops: a row of events, which source_nest.c writes as they
 * come.
 *
 * Steps of one level that need one another through a fold are not in one loop: the loop of the fold ends, and another one over
 * the same axis follows. A register that is needed in both is made again where that costs little, else it is kept in an array.
 *
 * One axis may go innermost in all loops (the vector axis: folds over axes within it take elements that are apart, while those
 * along it are adjacent; a sum of at most 64 in many lanes is written out for each index of it). Loops then are over the other
 * axes, and each group of steps that follow one another without a loop in between is a loop over the vector axis; a register that
 * is needed past its group is kept, and totals are arrays, of a fold in few lanes one for each lane.
 *
 * What is moved and turned meanwhile (a transposed matrix, and the roots of its elements) goes through few columns of what it
 * stores at a time, row by row: so many streams of what is loaded, and whole pieces of cache lines of what is stored, stay in the
 * nearest cache.
 *
 * What functions (exp) give for each index of a loop around others is made in a loop of its own, which can be one of vectors, in
 * front of the loop that goes through the others, or, of what they are folded to, behind it. So
 * is what they give along a few short rows that are folded in lanes: no row waits then until the one before it is joined. */
#ifndef MDF_SOURCE_NEST_PLAN_H
#define MDF_SOURCE_NEST_PLAN_H

#include "mdf_c/lowered/nest.h"

enum nest_event_kind {
    NEST_TILE, /* the vector axis, where it is too long, is cut: until the next CLOSE that has no OPEN */
    NEST_OPEN, /* a loop over an axis */
    NEST_CLOSE,
    NEST_COMPUTE, /* a step other than FOLD */
    NEST_KEEP,    /* a register goes into its array */
    NEST_BEGIN,   /* FOLD: its total */
    NEST_TAKE,    /* the register that is folded goes into the total */
    NEST_END
};

struct nest_event {
    uint8_t kind;  /* enum nest_event_kind */
    uint8_t index; /* of the step, or axis */
};

enum { NEST_MOST_EVENTS = 4096, NEST_TILE_LENGTH = 128, NEST_TURNED_LENGTH = 8, NEST_TURNED_COMPUTED = 16 };

struct nest_plan {
    const struct mdf_lowered_nest *nest;
    struct mdf_nest_set steps;           /* a bit for each that is written */
    size_t vector;                       /* the vector axis; n_axes: none */
    size_t tile;                         /* the indices of the vector axis in a piece, where it has more */
    size_t tile_depth;                   /* of the loop over these pieces */
    bool is_turned;                      /* it goes through few columns at a time */
    uint8_t kept[MDF_NEST_MOST_STEPS];   /* the depth from which on the array of a register has axes; MDF_NEST_NONE: no array */
    uint8_t starts[MDF_NEST_MOST_STEPS]; /* mdf_nest_start of each step */
    uint8_t n_uses[MDF_NEST_MOST_STEPS]; /* by steps that are written */
    bool keeps_all;                      /* nothing is made again */
    bool has_failed;                     /* there are more events than room */
    /* An element is looked up at what a comparison's 0 or 1 leads to: vectors that gcc 12 makes of such a loop, where it is told
     * that runs are independent, look it up at other places. */
    bool looks_up_by_truth;
    struct nest_event events[NEST_MOST_EVENTS];
    size_t n_events;
};

/* `steps`: those that are to be written; what they need is added. */
void nest_plan_make(struct nest_plan *plan, const struct mdf_lowered_nest *nest, struct mdf_nest_set steps);

/* How many loops are around a step: its level, but for the vector axis. */
size_t nest_plan_depth(const struct nest_plan *plan, size_t step);
/* Whether a register has an element for each index of the vector axis; and whether a fold has one total for each, which elements
 * go into as they come. */
bool nest_plan_is_total(const struct nest_plan *plan, size_t step);
bool nest_plan_is_vector(const struct nest_plan *plan, size_t step);

/* Whether the row of a sum is written out for each index of the vector axis, and its totals joined in pairs. */
bool nest_plan_is_in_pairs(const struct nest_plan *plan, size_t step);

/* The lanes of a fold that have an element (or fill a power of two): those without one add nothing, as totals begin with what
 * changes nothing. */
size_t nest_plan_used_lanes(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *fold);
/* The totals of a fold in lanes that has one of each for each index of the vector axis: as many as have an element. 1: it has no
 * such lanes. */
size_t nest_plan_lanes(const struct nest_plan *plan, size_t step);

#endif
