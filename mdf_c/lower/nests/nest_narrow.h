/* nest_narrow.h - what makes registers of nests int32: shared by lower_narrow.c and lower_narrow_known.c. */
#ifndef MDF_LOWER_NEST_NARROW_H
#define MDF_LOWER_NEST_NARROW_H

#include "functions/elements/element.h"
#include "mdf_c/lower/nests/nest_draft.h"

/* What stands in front of the nest: numbers as int32, and what rows are as such. */
enum { MOST_NARROW = 6, OPS_OF_NUMBER = 7 };

struct narrow {
    uint8_t step; /* of the nest, which loads it */
    bool is_added_to;
    struct lowering_range bounds;
    mdf_lowered_id id;
};

struct narrow_row {
    mdf_lowered_id wide, id;
};

struct narrow_front {
    struct lowering *lowering;
    struct mdf_lowered_op ops[MOST_NARROW * OPS_OF_NUMBER];
    struct narrow numbers[MOST_NARROW];
    struct narrow_row rows[MOST_NARROW];
    size_t n_ops, n_numbers, n_rows, depth;
};

/* A nest with narrow registers, which reads what it adds to `front`; NULL: the nest stays as it is, or lowering has failed. */
typedef struct mdf_lowered_nest *narrow_function(struct narrow_front *front, const struct mdf_lowered_nest *nest);

/* Replaces nests of a region and of those within it. False: lowering has failed. */
bool narrow_region(struct lowering *lowering, struct mdf_lowered_region *region, narrow_function *narrow);

/* Adds to a draft what step i, as a step of one that was read, becomes there. */
typedef void narrow_writer(struct narrow_front *front, const struct mdf_lowered_nest *nest, struct nest_draft *draft, size_t i,
                           struct draft_step *step, void *context);

/* The nest step by step, in the same index space; NULL: there is no room, or it would be too large. */
struct mdf_lowered_nest *narrow_rewritten(struct narrow_front *front, const struct mdf_lowered_nest *nest, narrow_writer *write,
                                          void *context);

/* Whether a step compares int64. */
bool narrow_is_comparison(const struct mdf_nest_step *step);
/* The least and the largest element of a constant row that a step loads; false: it loads something else, or they are no int32, or
 * at the ends of these. */
bool narrow_find_bounds(const struct lowering *lowering, const struct mdf_nest_step *load, struct lowering_range *range);
/* Whether a step loads a number. */
bool narrow_is_number(const struct lowering *lowering, const struct mdf_lowered_nest *nest, uint8_t step);
/* Elements that a fold makes one of. */
size_t narrow_points_of(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *fold);
/* The function of a code; NULL: it is none of those that are done in int32. */
const struct mdf_element *narrow_element(unsigned code);

/* A constant row as int32, or what was made of it before; NONE: there is no room. */
mdf_lowered_id narrow_row(struct narrow_front *front, mdf_lowered_id wide);
/* A number of the nest between just below and just beyond the bounds, as int32, or what was made of it before; NONE: there is no
 * room. What `is_added_to` bails out where a sum could wrap. */
mdf_lowered_id narrow_number(struct narrow_front *front, const struct mdf_lowered_nest *nest, uint8_t step,
                             struct lowering_range bounds, bool is_added_to);

#endif
