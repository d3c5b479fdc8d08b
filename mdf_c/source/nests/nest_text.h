/* nest_text.h - a nest while it is written as C, for source_nest.c and source_nest_folds.c. */
#ifndef MDF_SOURCE_NEST_TEXT_H
#define MDF_SOURCE_NEST_TEXT_H

#include "mdf_c/source/nests/nest_plan.h"
#include "mdf_c/source/source_writer.h"

enum { MOST_LOOPS = MDF_NEST_MOST_AXES + 1 };

/* A register while it is written. */
struct nest_register {
    const char *name;    /* its element, in the blocks that are open; NULL: it has none there */
    size_t block;        /* in which the name is declared */
    const char *array;   /* where it is kept; NULL: not yet */
    const char *row;     /* of a fold in an order of its own: its elements; NULL: not yet */
    const char *total;   /* of FOLD: the variable, or array, of totals */
    const char *best;    /* of FOLD to an index: the same for the extreme */
    const char *part;    /* of FOLD in blocks: the total of the block at hand */
    const char *running; /* of FOLD: the variable that its total is while several elements go into it; NULL: none */
    const char
        *place; /* of LOAD: the index that it has in loops within, in the blocks that are open; NULL: none was made there */
    size_t place_block; /* in which that is declared */
    bool is_stored;     /* by the statement that made it */
    bool is_of_few;     /* of FOLD: it is written without a loop */
};

struct nest_text {
    struct mdf_source_writer *writer;
    const struct mdf_lowered_nest *nest;
    const struct nest_plan *plan;
    struct nest_register registers[MDF_NEST_MOST_STEPS];
    struct {
        const char *index;                         /* where it is: the variable, or, in loops over lanes, what that would be */
        const char *variable, *block, *end, *lane; /* block and end of blocks of lanes, and of tiles */
    } axes[MDF_NEST_MOST_AXES];
    unsigned lanes[MDF_NEST_MOST_AXES]; /* a loop over an axis is one over blocks of so many lanes, and one within them; 1: not */
    size_t n_blocks;                    /* that are open */
    size_t outside[MOST_LOOPS];         /* blocks that were open before each loop that is */
    const struct nest_event *opens[MOST_LOOPS]; /* what opened it */
    size_t n_loops;                             /* over axes or tiles, that are open */
    bool is_group;                              /* the innermost block is a loop over the vector axis */
    bool is_rest;                               /* the loop over lanes that is open, or opens, is behind the last whole block */
    bool is_several;                            /* all that is written goes into that */
    const struct nest_event *event;             /* that is written */
    const char *count;                          /* of the open axis: how long it is now; NULL: none is open */
    size_t rest_of;    /* the loop over the open axis that opens is over what is left behind groups of so many; 0: it is not */
    const char *first; /* of the open axis: the index that it begins with; NULL: 0 */
    const char *why;   /* an element may be refused, for this reason; NULL: none is */
    const char *why_beyond; /* the same of an index */
};

static inline const struct mdf_nest_step *step_of(const struct nest_text *text, size_t step)
{
    return &text->nest->steps[step];
}

static inline const char *type_of(const struct nest_text *text, size_t step)
{
    return mdf_source_type((mdf_dtype)step_of(text, step)->dtype);
}

static inline bool is_whole(mdf_dtype dtype)
{
    return mdf_dtype_kind(dtype) != 'f';
}

/* The indices of the vector axis in one tile. */
static inline size_t tile_length(const struct nest_text *text)
{
    size_t n = text->nest->extents[text->plan->vector];

    return n < text->plan->tile ? n : text->plan->tile;
}

static inline bool is_open_axis(const struct nest_text *text, size_t axis)
{
    return text->count != NULL && axis == text->nest->open_axis;
}

/* Whether an axis consists of pieces of n indices, for certain. */
static inline bool is_even(const struct nest_text *text, size_t axis, size_t n)
{
    return !is_open_axis(text, axis) && text->nest->extents[axis] % n == 0;
}

/* How many indices an axis has. */
const char *nest_text_extent(struct nest_text *text, size_t axis);

/* Whether a total is in lanes, each of them one of its own, which are joined in the end. */
static inline bool has_lanes(const struct nest_text *text, size_t step)
{
    return step_of(text, step)->lanes > 1 && step_of(text, step)->fold <= MDF_NEST_MINIMUM &&
           step_of(text, step)->order == MDF_NEST_IN_LANES && !nest_plan_is_vector(text->plan, step);
}

/* Of a fold that finds where an extreme stands, in one row: whether it goes through the row twice, in vectors, for the extreme
 * and then for its place. Shorter ones take as long one by one, longer ones much memory. */
static inline bool is_found_in_row(const struct nest_text *text, size_t step)
{
    const struct mdf_nest_step *fold = step_of(text, step);

    return fold->fold >= MDF_NEST_FIRST_MAXIMUM && !text->nest->is_open && text->nest->extents[fold->level] > 32 &&
           text->nest->extents[fold->level] <= 4096 && !nest_plan_is_vector(text->plan, step);
}

/* Whether all elements of a fold are kept in a row first, which a helper folds in its order. */
static inline bool has_row(const struct nest_text *text, size_t step)
{
    return (step_of(text, step)->order != MDF_NEST_IN_LANES && step_of(text, step)->order != MDF_NEST_IN_DEPTHS &&
            !nest_plan_is_in_pairs(text->plan, step)) ||
           is_found_in_row(text, step);
}

/* Whether blocks of the elements of a fold have totals of their own, which are added up one by one. */
static inline bool has_depths(const struct nest_text *text, size_t step)
{
    return step_of(text, step)->order == MDF_NEST_IN_DEPTHS;
}

/* --- source_nest.c */

/* Ends the loop over the vector axis that is open; or goes into one, or out of it, as a step wants. */
void nest_text_close_group(struct nest_text *text);
void nest_text_enter(struct nest_text *text, size_t step);
/* In front of what is written out of a loop within one over the vector axis, or behind it: that takes in what stands around. Not
 * where it keeps something for that, or finds items by an index that is the same all along it, which is looked at in front. */
void nest_text_leave(struct nest_text *text, const struct nest_event *opens);
/* What a register is called here. */
const char *nest_text_operand(struct nest_text *text, size_t step);
/* Whether a load is written where it is used. */
bool nest_text_is_inlined(const struct nest_text *text, size_t step);
/* A variable for a register, in the block that is open. */
const char *nest_text_name(struct nest_text *text, size_t step, const char *hint);

/* Blocks of C, and loops that are such. A loop over pieces of n indices of an axis, the last of which may be shorter; whole,
 * rest: what the variable of its end is then. A loop of n runs without another one in it, which may be marked as one of which no
 * run reads what another one stores; whether that over an axis is. */
void nest_text_open_block(struct nest_text *text, const char *head);
void nest_text_close_block(struct nest_text *text);
void nest_text_open_pieces(struct nest_text *text, size_t axis, size_t n, const char *whole, const char *rest);
void nest_text_open_innermost(struct nest_text *text, bool is_independent, size_t n, const char *head);
bool nest_text_is_independent(const struct nest_text *text, const struct nest_event *opens);

/* A loop over an axis, of which each run takes `step` indices: an axis that is no multiple of it has some left behind. */
void nest_text_open(struct nest_text *text, const struct nest_event *event, size_t step);
void nest_text_close(struct nest_text *text);
/* The folds in blocks whose totals begin before a loop over an axis; MDF_NEST_NONE ends them. */
void nest_text_find_depths(const struct nest_text *text, const struct nest_event *opens, uint8_t folds[MDF_NEST_MOST_STEPS + 1]);
/* All of a nest, as it is planned. */
bool nest_text_write(struct nest_text *text);
/* Writes what a step makes, or what an event says. */
bool nest_text_write_event(struct nest_text *text, const struct nest_event *event);
bool nest_text_compute(struct nest_text *text, size_t step);

/* --- source_nest_places.c: the element that a step loads, or stores; of a register in its array, the axes that this has, and how
 * many indices each. */
const char *nest_text_viewed(struct nest_text *text, size_t step);
const char *nest_text_kept(struct nest_text *text, size_t step);
bool nest_text_is_axis_kept(const struct nest_text *text, size_t step, size_t axis);
size_t nest_text_kept_extent(const struct nest_text *text, size_t axis);
/* Behind a register: the items that loads in loops within find by it. In front of a loop over the vector axis, which begins with
 * a step: those that loads in it find by an index that is the same all along it. */
void nest_text_name_places(struct nest_text *text, const struct nest_event *event);
void nest_text_name_fixed_places(struct nest_text *text, size_t step);

/* --- source_nest_lanes.c: the most lanes that the totals have which begin before a loop over an axis (1: none, or the axis has
 * no more indices); the loop over the blocks of these, and that within; and, where the one ends that is open, what opens it again
 * for the indices behind the last whole block (NULL: nothing does). */
unsigned nest_text_lanes_of(const struct nest_text *text, const struct nest_event *opens);
void nest_text_open_lanes(struct nest_text *text, const struct nest_event *opens);
const struct nest_event *nest_text_rest_of_lanes(struct nest_text *text);

/* --- source_nest_several.c: the event that closes a loop which can take several indices at a time (NULL: it can not), and all of
 * that loop. */
const struct nest_event *nest_text_end_of_several(const struct nest_text *text, const struct nest_event *opens);
bool nest_text_write_several(struct nest_text *text, const struct nest_event *opens);

/* --- source_nest_pairs.c: the same of a loop along which a sum is written out whose totals are joined in pairs. */
const struct nest_event *nest_text_end_of_pairs(const struct nest_text *text, const struct nest_event *opens);
bool nest_text_write_pairs(struct nest_text *text, const struct nest_event *opens);

/* --- source_nest_neighbours.c: the same of a loop that looks up elements by places in memory, which may lie side by side. */
const struct nest_event *nest_text_end_of_neighbours(const struct nest_text *text, const struct nest_event *opens);
bool nest_text_write_neighbours(struct nest_text *text, const struct nest_event *opens);

/* --- source_nest_few.c: the same of a loop over few elements that are only folded to extremes; and whether the event at hand
 * begins one of these. */
const struct nest_event *nest_text_end_of_few(const struct nest_text *text, const struct nest_event *opens);
bool nest_text_begins_few(const struct nest_text *text);
bool nest_text_write_few(struct nest_text *text, const struct nest_event *opens);

/* --- source_nest_ends.c: the elements of the blocks that a row along an axis is gone through in, the last of which ends with the
 * row (as many as the row has: it is not); opens the loops over these. */
size_t nest_text_block_of_row(const struct nest_text *text, size_t axis);
void nest_text_open_blocks_of_row(struct nest_text *text, size_t axis, size_t block);

/* --- source_nest_folds.c: a total before its loop, an element that goes into it, and the total behind. */
void nest_text_begin(struct nest_text *text, size_t step);
void nest_text_take(struct nest_text *text, size_t step);
/* A sum of reals that an exact product goes into, with fma where that is fast; NULL: it is no such sum, or has to be written
 * otherwise. */
const char *nest_text_sum_of_product(struct nest_text *text, size_t step);
/* The total that an element goes to. */
const char *nest_text_total(struct nest_text *text, size_t step);
void nest_text_end(struct nest_text *text, size_t step);
/* A total and an element, or another total, as one. */
const char *nest_text_joined(struct nest_text *text, size_t step, const char *total, const char *element);

/* --- source_nest_whole.c: finds how long the open axis is now; false: it is refused. */
bool nest_text_open_extent(struct nest_text *text, struct mdf_lowered_nest *nest);
/* Whether the nest may be done once more, with what lay where it stores something, of each step, kept before and restored. */
bool nest_text_may_repeat(const struct nest_text *text);
/* Whether elements may be computed once more as it goes: none is loaded from where one is stored. */
bool nest_text_may_go_twice(const struct nest_text *text);
void nest_text_keep_old(const struct nest_text *text, const char **old);
void nest_text_restore_old(const struct nest_text *text, const char *const *old);

#endif
