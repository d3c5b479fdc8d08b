/* widening.h - for the files that make lanes.h's form: a lowered form that is made of another one, op by op. */
#ifndef MDF_LOWER_LANES_WIDENING_H
#define MDF_LOWER_LANES_WIDENING_H

#include "functions/kernel/operator.h"
#include "mdf_c/lower/lanes/lanes.h"
#include "mdf_c/lower/lowering.h"
#include "mdf_c/lowered/nest.h"

struct widening {
    struct lowering *lowering;
    const struct mdf_lanes_request *request;
    const struct mdf_lowered *narrow;
    size_t n_lanes;
    mdf_lowered_id *ids;  /* of each narrow value: what stands for it; NONE: nothing yet */
    mdf_lowered_id mask;  /* the lanes that do what is being widened; NONE: all */
    mdf_lowered_id traps; /* the lanes that have bailed out so far; NONE: none */
};

static inline bool widening_varies(const struct widening *widening, mdf_lowered_id narrow)
{
    return narrow != MDF_LOWERED_NONE && widening->request->varies[narrow];
}

/* Whether a narrow value has to be made. */
static inline bool widening_needs(const struct widening *widening, mdf_lowered_id narrow)
{
    return narrow != MDF_LOWERED_NONE && widening->request->needed[narrow];
}

/* What stands for a narrow value; NONE for NONE, and where there is nothing (then it fails). */
mdf_lowered_id widening_value(struct widening *widening, mdf_lowered_id narrow);
/* A new value for a narrow one, which is noted as what stands for it. */
mdf_lowered_id widening_add(struct widening *widening, enum mdf_lowered_place place, mdf_lowered_id narrow);
/* A new result like `narrow`, of lanes or not, in the innermost region. */
mdf_lowered_id widening_add_like(struct widening *widening, mdf_lowered_id narrow, bool varies);
/* A value of the type of `form`, in another shape, whose elements are zeros as an example. */
mdf_lowered_id widening_add_shape(struct widening *widening, enum mdf_lowered_place place, const struct mdf_value *form, size_t rank,
                                  const int64_t *shape);
bool widening_add_op(struct widening *widening, const struct mdf_lowered_op *op);
/* The same elements in memory of their own. */
mdf_lowered_id widening_copy(struct widening *widening, mdf_lowered_id id);
/* One op of elements, on a number for each lane, or on single numbers where no operand has lanes. */
mdf_lowered_id widening_compute(struct widening *widening, const struct mdf_lowered_op *op, mdf_dtype result);
mdf_lowered_id widening_compute_two(struct widening *widening, enum mdf_lowered_code code, mdf_dtype dtype, mdf_lowered_id a,
                                    mdf_lowered_id b);
mdf_lowered_id widening_and(struct widening *widening, mdf_lowered_id a, mdf_lowered_id b); /* NONE: true */
mdf_lowered_id widening_not(struct widening *widening, mdf_lowered_id a);
/* Of a number: whether it has one for each lane. */
bool widening_has_lanes(const struct widening *widening, mdf_lowered_id id);
/* New numbers that the narrow form has not: a result, a parameter of a loop for each lane, and the number of a loop's run. */
mdf_lowered_id widening_add_number(struct widening *widening, mdf_dtype dtype, bool has_lanes);
mdf_lowered_id widening_add_parameter(struct widening *widening, mdf_dtype dtype);
mdf_lowered_id widening_add_loop_number(struct widening *widening);

/* --- widen_float32.c */
/* What an op on numbers that were float32 is in float32, with the same result; NONE: nothing. */
mdf_lowered_id widening_in_float32(struct widening *widening, const struct mdf_lowered_op *op, mdf_dtype result);

/* --- widen_trap.c */
/* A constant number of a type. */
mdf_lowered_id widening_constant(struct widening *widening, mdf_dtype dtype, double number);
/* Makes `traps` an array, of lanes that have bailed out so far. */
bool widening_begin_traps(struct widening *widening);
/* Whether a narrow op on numbers bails out, by its own meaning; the op, whose operands are wide, with its result. */
bool mdf_lanes_may_bail_out(const struct mdf_lowered *narrow, const struct mdf_lowered_op *op);
mdf_lowered_id widening_compute_trapped(struct widening *widening, const struct mdf_lowered_op *op, mdf_dtype result);

/* --- widen_draw.c: a kernel that draws random numbers, by the generators of each lane. */
static inline bool mdf_lanes_draws(const struct mdf_lowered_call *call)
{
    return call->call.operator!= NULL && (call->call.operator->flags & MDF_OPERATOR_RANDOM) != 0;
}
bool widening_draw(struct widening *widening, const struct mdf_lowered_op *op);

/* --- widen_call.c: a kernel: once where all its inputs are the same for all, else for one lane after the other. */
bool widening_call(struct widening *widening, const struct mdf_lowered_op *op);

/* --- widen_nest.c */
/* A nest that moves elements of one value to those of another, along so many axes. */
bool widening_move(struct widening *widening, const struct mdf_nest_view *from, const struct mdf_nest_view *to, size_t n_axes,
                   const size_t *extents);
/* The elements of a lane as a value of the narrow form, and the reverse: they are stored as those of the lane in `wide`. */
mdf_lowered_id widening_take_lane(struct widening *widening, mdf_lowered_id wide, mdf_lowered_id narrow, size_t lane);
bool widening_put_lane(struct widening *widening, mdf_lowered_id single, mdf_lowered_id wide, size_t lane);
/* A value for all lanes that is the same in all of them. */
mdf_lowered_id widening_spread(struct widening *widening, mdf_lowered_id id, mdf_lowered_id narrow);
/* A value with lanes, also where the narrow one is the same for all. */
mdf_lowered_id widening_with_lanes(struct widening *widening, mdf_lowered_id narrow);
mdf_lowered_id widening_spread_number(struct widening *widening, mdf_lowered_id id, mdf_dtype dtype);
/* mask ? then : otherwise, which are narrow values, as is `like`, of the form of the result. */
mdf_lowered_id widening_choose(struct widening *widening, mdf_lowered_id mask, mdf_lowered_id then, mdf_lowered_id otherwise,
                               mdf_lowered_id like);
/* Whether any of a number for each lane, 1 or 0, is 1: a single truth. */
mdf_lowered_id widening_any(struct widening *widening, mdf_lowered_id reals, mdf_dtype dtype);
bool widening_nest(struct widening *widening, const struct mdf_lowered_op *op);

/* --- widen.c */
bool widening_region(struct widening *widening, const struct mdf_lowered_region *region);
/* Whether something in a region may bail out for some lanes only. */
bool widening_may_trap(const struct widening *widening, const struct mdf_lowered_region *region, bool is_masked);

/* --- need.c: whether a nest has to be run */
bool mdf_lanes_needs_nest(const struct mdf_lowered_nest *nest, const bool *needed);

/* --- widen_loop.c */
bool widening_loop(struct widening *widening, const struct mdf_lowered_op *op);
bool mdf_lanes_has_own_bounds(const struct mdf_lowered_loop *loop, const bool *varies);

#endif
