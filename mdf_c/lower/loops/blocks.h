/* blocks.h - for the files that have loops do several runs at once (lower_blocks.c), or keep an element (lower_kept_elements.c), or
 * find it by a number of its own (lower_place_numbers.c): places in tables.
 *
 * A place is a sum: a constant, values from outside the loop, and the loop's number, each of these times a constant. */
#ifndef MDF_LOWER_BLOCKS_H
#define MDF_LOWER_BLOCKS_H

#include "mdf_c/lower/nests/nest_draft.h"

enum {
    SHORT_BLOCK = 8,
    SHORT_BLOCK_BITS = 3,
    LONG_BLOCK_BYTES = 256,
    MOST_BASES = 4,
    MOST_SUMMED = 8,
    MOST_TESTS = 24,
    MOST_VALUES = 64
};
#define BLOCKS_LARGEST_FACTOR (INT64_C(1) << 31)

struct place {
    bool is_known;
    int64_t constant, factor; /* of the loop's number */
    int64_t most;             /* of what is tested, it is from 0 to that; -1: it is not known */
    size_t n;
    struct {
        mdf_lowered_id id;
        int64_t factor;
    } bases[MOST_BASES];
};

/* An element of an array that is gone through as one of one axis. */
struct element {
    struct place place;
    mdf_lowered_id array;
};

/* What has to hold of a place in all runs. */
struct test {
    struct place place;
    int64_t limit;
};

struct blocks {
    struct lowering *lowering;
    struct mdf_lowered_loop *loop;
    size_t depth; /* of the region that the loop stands in */
    struct mdf_lowered_region *region;
    size_t *at;                    /* of the loop, in it */
    mdf_lowered_id n_runs, may;    /* `may`: a truth; NONE: it holds */
    struct mdf_lowered_loop *wide; /* the new one */
    mdf_lowered_id first;          /* the run that a block begins with */
    struct nest_draft *draft;
    uint8_t axis;
    bool is_apart;     /* what a block loads of what it puts into is what it replaces, or lies apart from all of that */
    int64_t size, way; /* runs of a block; `way`: 1, or -1: the last run of a block goes first, as places go down */
    struct test tests[MOST_TESTS];
    size_t n_tests;
    struct {
        mdf_lowered_id id;
        uint8_t number;
    } registers[MOST_VALUES]; /* of values of the body */
    size_t n_registers;
    struct {
        struct place place;
        mdf_lowered_id id;
    } places[MOST_TESTS]; /* that a block begins with */
    size_t n_places;
};

/* a + b * factor; the same place. */
struct place block_add_places(struct place a, const struct place *b, int64_t factor);
struct place block_constant_place(int64_t constant);
bool block_is_same_place(const struct place *a, const struct place *b);
/* Of a whole number; of a register of a nest of one point, of which it notes what has to be tested. */
struct place block_place_of(const struct blocks *blocks, mdf_lowered_id id, unsigned n_left);
struct place block_place_of_register(struct blocks *blocks, const struct mdf_lowered_nest *nest, uint8_t number);
/* An element that a nest of one point loads, and where a put puts its number; false: it is not known. What has to be tested of
 * the places is noted. */
bool block_find_element(struct blocks *blocks, const struct mdf_lowered_nest *nest, const struct mdf_nest_step *step,
                        struct element *element);
bool block_find_put_place(struct blocks *blocks, const struct mdf_lowered_op *op, struct place *place);
bool block_is_from_outside(const struct blocks *blocks, mdf_lowered_id id);
/* The array of which each run has an element as `id`; NULL: there is none. */
const struct mdf_lowered_rows *block_find_row(const struct mdf_lowered_loop *loop, mdf_lowered_id id);
/* Notes that a place has to be from 0 to below the limit in all runs. */
void block_add_test(struct blocks *blocks, struct place *place, int64_t limit);

/* An op on numbers, at the end of a region (`at` NULL), or in front of op number *at, which moves; its result, or that of the same
 * op further in front. NONE: memory ran out, or it is of NONE. */
mdf_lowered_id block_add_op(struct blocks *blocks, struct mdf_lowered_region *region, size_t *at, size_t depth,
                            struct mdf_lowered_op op, mdf_dtype result);
mdf_lowered_id block_number(const struct blocks *blocks, int64_t constant);
/* In front of the loop, of two whole numbers, or of two truths. */
mdf_lowered_id block_before(struct blocks *blocks, enum mdf_lowered_code code, mdf_lowered_id a, mdf_lowered_id b);
/* What a place is in the first run, and `more`. */
mdf_lowered_id block_first_place(struct blocks *blocks, const struct place *place, int64_t more);
/* There is no block where this does not hold: a truth; test number `i`; that no run loads what one less than a block of runs
 * before it has put, nor, of `is_apart`, what one behind it puts. False: it is known that it does not, or it is not asked. */
void block_require(struct blocks *blocks, mdf_lowered_id truth);
bool block_require_within(struct blocks *blocks, size_t i);
/* Between which numbers it lies in all runs; false: it is not known. */
bool block_find_range(const struct blocks *blocks, const struct place *place, struct lowering_range *range);
bool block_is_from_front(const struct blocks *blocks, size_t i); /* the place of a test is known not to be negative */
bool block_require_apart(struct blocks *blocks, const struct place *load, const struct place *put);

#endif
