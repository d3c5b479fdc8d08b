/* widen_loop.c - loops of several instances. Where its bounds are the same for all, a loop is what it was, with states, rows and
 * stacks that have lanes. Else it runs until the last of them has done all its runs: `active` says which still do; the states of
 * the others stay as they are. Truths that go from run to run do so as reals, 1 and 0, which lie in vectors as what they choose
 * does: to make bytes of masks and masks of bytes costs more than most runs. See widening.h. */
#include "mdf_c/lower/lanes/widening.h"
#include "mdf_c/lower/terms.h"

#include <string.h>

struct widened {
    struct widening *widening;
    const struct mdf_lowered_loop *narrow;
    struct mdf_lowered_loop *loop;
    struct region region;
    bool has_own_bounds, has_traps;
    mdf_lowered_id around;              /* the mask around it */
    mdf_lowered_id active;              /* of own bounds: the state */
    mdf_lowered_id trip_count;          /* of own bounds: the number of runs of each lane; NONE: no such */
    mdf_lowered_id next_number;         /* of those: the number of the next run */
};

static struct mdf_lowered_state *new_state(struct widened *in, mdf_lowered_id initial, mdf_lowered_id parameter)
{
    struct mdf_lowered_state *state = &in->loop->states[in->loop->n_states++];

    *state = (struct mdf_lowered_state){.initial = initial, .parameter = parameter, .next = MDF_LOWERED_NONE};
    return initial == MDF_LOWERED_NONE || parameter == MDF_LOWERED_NONE ? NULL : state;
}

static mdf_dtype real_of(const struct widened *in)
{
    return in->widening->request->execution->context.real;
}

static mdf_lowered_id as_reals(const struct widened *in, mdf_lowered_id truths)
{
    const struct mdf_lowered_op op = {.code = MDF_LOWERED_CAST, .dtype = MDF_DTYPE_BOOL, .n_in = 1, .in = {truths}};

    return widening_compute(in->widening, &op, real_of(in));
}

static mdf_lowered_id as_truths(const struct widened *in, mdf_lowered_id reals)
{
    return widening_compute_two(in->widening, MDF_LOWERED_NOT_EQUAL, real_of(in), reals,
                                widening_constant(in->widening, real_of(in), 0));
}

/* A state of truths, as reals, of which it returns the parameter. */
static mdf_lowered_id add_truths(struct widened *in, mdf_lowered_id reals)
{
    mdf_lowered_id parameter = reals == MDF_LOWERED_NONE ? reals : widening_add_parameter(in->widening, real_of(in));

    return new_state(in, reals, parameter) == NULL ? MDF_LOWERED_NONE : parameter;
}

/* Whether a narrow state is one truth that differs between lanes. */
static bool is_truth(const struct widened *in, const struct mdf_lowered_state *narrow)
{
    const struct mdf_value *form = &in->widening->narrow->values[narrow->parameter].form;

    return form->dtype == MDF_DTYPE_BOOL && form->length == 1 && widening_varies(in->widening, narrow->parameter);
}

static bool add_states(struct widened *in)
{
    for (size_t i = 0; i < in->narrow->n_states; i++) {
        const struct mdf_lowered_state *state = &in->narrow->states[i];
        mdf_lowered_id initial;

        if (!widening_needs(in->widening, state->parameter)) {
            continue;
        }
        initial = widening_varies(in->widening, state->parameter) ? widening_with_lanes(in->widening, state->initial)
                                                                  : widening_value(in->widening, state->initial);
        if (is_truth(in, state)) {
            in->widening->ids[state->parameter] = add_truths(in, as_reals(in, initial));
            if (in->widening->ids[state->parameter] == MDF_LOWERED_NONE) {
                return false;
            }
        } else if (new_state(in, initial, widening_add(in->widening, MDF_LOWERED_PARAMETER, state->parameter)) == NULL) {
            return false;
        }
    }
    return true;
}

static bool add_rows(struct widened *in)
{
    in->loop->n_rows = in->narrow->n_rows;
    in->loop->rows = mdf_arena_array(&in->widening->lowering->lowered->arena, in->narrow->n_rows, sizeof *in->loop->rows);
    if (in->loop->rows == NULL) {
        return lowering_out_of_memory(in->widening->lowering);
    }
    for (size_t i = 0; i < in->narrow->n_rows; i++) {
        struct mdf_lowered_rows *rows = &in->loop->rows[i];

        *rows = in->narrow->rows[i];
        rows->source = widening_value(in->widening, rows->source);
        rows->parameter = widening_add(in->widening, MDF_LOWERED_PARAMETER, rows->parameter);
        if (rows->source == MDF_LOWERED_NONE || rows->parameter == MDF_LOWERED_NONE) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ bounds */

static bool keep_bounds(struct widened *in)
{
    const struct mdf_lowered_loop *narrow = in->narrow;

    in->loop->trip_count = widening_value(in->widening, narrow->trip_count);
    in->loop->condition = widening_value(in->widening, narrow->condition);
    return (in->loop->trip_count != MDF_LOWERED_NONE || narrow->trip_count == MDF_LOWERED_NONE) &&
           (in->loop->condition != MDF_LOWERED_NONE || narrow->condition == MDF_LOWERED_NONE);
}

/* Lanes that go on, of those that do so far (NONE: all): by a condition, NONE: there is none, and as `number` is below the trip
 * count; and that have not left. */
static mdf_lowered_id go_on(struct widened *in, mdf_lowered_id active, mdf_lowered_id condition, mdf_lowered_id number)
{
    struct widening *widening = in->widening;

    active = widening_and(widening, active, condition);
    if (in->trip_count != MDF_LOWERED_NONE) {
        active = widening_and(widening, active,
                              widening_compute_two(widening, MDF_LOWERED_LESS, MDF_DTYPE_INT64, number, in->trip_count));
    }
    if (widening->traps != MDF_LOWERED_NONE) {
        active = widening_and(widening, active, widening_not(widening, widening->traps));
    }
    return active;
}

/* The first mask is an array, also where no condition has one; it goes into the loop as reals. */
static bool begin_bounds(struct widened *in)
{
    struct widening *widening = in->widening;
    const struct mdf_lowered_loop *narrow = in->narrow;
    mdf_lowered_id first, condition, active;

    if (narrow->trip_count != MDF_LOWERED_NONE && widening_varies(widening, narrow->trip_count)) {
        in->trip_count = widening_value(widening, narrow->trip_count);
    } else {
        in->loop->trip_count = widening_value(widening, narrow->trip_count);
    }
    first = mdf_term_whole(widening->lowering, 0);
    condition = narrow->condition == MDF_LOWERED_NONE ? narrow->condition : widening_value(widening, narrow->condition);
    active = go_on(in, in->around, condition, first);
    if (active == MDF_LOWERED_NONE) {
        return lowering_fail(widening->lowering, MDF_REFUSED_NOT_SAID);
    }
    in->active = as_reals(in, active);
    if (widening_has_lanes(widening, active)) {
        in->loop->condition = widening_any(widening, in->active, real_of(in));
    } else {
        in->active = widening_spread_number(widening, in->active, real_of(in));
        in->loop->condition = active;
    }
    return in->loop->condition != MDF_LOWERED_NONE && in->active != MDF_LOWERED_NONE;
}

/* ------------------------------------------------------------------ the end of a run */

/* What a state is next has to be made by an op of the body itself, and be that of no other state. */
static bool is_own(const struct widened *in, mdf_lowered_id id)
{
    const struct lowering *lowering = in->widening->lowering;

    for (size_t i = 0; i < in->loop->n_states; i++) {
        if (in->loop->states[i].next == id) {
            return false;
        }
    }
    return lowering->lowered->values[id].place == MDF_LOWERED_RESULT && lowering->facts[id].region == &in->region &&
           !lowering->facts[id].is_merged && !lowering->facts[id].is_view;
}

static bool set_next(struct widened *in, size_t i, mdf_lowered_id next)
{
    if (next != MDF_LOWERED_NONE && !is_own(in, next)) {
        next = widening_copy(in->widening, next);
    }
    in->loop->states[i].next = next;
    return next != MDF_LOWERED_NONE;
}

static mdf_lowered_id next_of(struct widened *in, const struct mdf_lowered_state *state)
{
    struct widening *widening = in->widening;
    mdf_lowered_id next;

    if (in->has_own_bounds) {
        next = widening_choose(widening, in->active, state->next, state->parameter, state->parameter);
    } else {
        next = widening_varies(widening, state->parameter) ? widening_with_lanes(widening, state->next)
                                                           : widening_value(widening, state->next);
    }
    return is_truth(in, state) ? as_reals(in, next) : next;
}

static bool end_run(struct widened *in)
{
    struct widening *widening = in->widening;
    const struct mdf_lowered_loop *narrow = in->narrow;
    mdf_lowered_id next_active;
    size_t n = 0;

    for (size_t i = 0; i < narrow->n_states; i++) {
        if (widening_needs(widening, narrow->states[i].parameter) && !set_next(in, n++, next_of(in, &narrow->states[i]))) {
            return false;
        }
    }
    if (in->has_traps && !set_next(in, n++, as_reals(in, widening->traps))) {
        return false;
    }
    if (!in->has_own_bounds) {
        in->loop->next_condition =
            narrow->condition == MDF_LOWERED_NONE ? narrow->condition : widening_value(widening, narrow->next_condition);
        return in->loop->next_condition != MDF_LOWERED_NONE || narrow->condition == MDF_LOWERED_NONE;
    }
    next_active = go_on(in, in->active,
                    narrow->condition == MDF_LOWERED_NONE ? narrow->condition : widening_value(widening, narrow->next_condition),
                    in->next_number);
    if (!set_next(in, n, as_reals(in, next_active))) {
        return false;
    }
    in->loop->next_condition = widening_any(widening, in->loop->states[n].next, real_of(in));
    return in->loop->next_condition != MDF_LOWERED_NONE;
}

static bool add_stacks(struct widened *in)
{
    struct widening *widening = in->widening;
    const struct mdf_lowered_loop *narrow = in->narrow;

    in->loop->n_stacks = narrow->n_stacks;
    in->loop->stacks = mdf_arena_array(&widening->lowering->lowered->arena, narrow->n_stacks, sizeof *in->loop->stacks);
    if (in->loop->stacks == NULL) {
        return lowering_out_of_memory(widening->lowering);
    }
    for (size_t i = 0; i < narrow->n_stacks; i++) {
        const struct mdf_lowered_stack *stack = &narrow->stacks[i];
        bool varies = widening_varies(widening, stack->stack);

        if (stack->is_put || (varies && (stack->appends || in->has_own_bounds))) {
            return lowering_fail(widening->lowering, MDF_REFUSED_LANES_STACK);
        }
        in->loop->stacks[i] =
            (struct mdf_lowered_stack){.item = varies ? widening_with_lanes(widening, stack->item) : widening_value(widening, stack->item),
                                       .is_reversed = stack->is_reversed,
                                       .appends = stack->appends,
                                       .axis = stack->axis,
                                       .initial = stack->appends ? widening_value(widening, stack->initial) : stack->initial,
                                       .item_bytes = stack->item_bytes * (varies ? widening->n_lanes : 1)};
        if (in->loop->stacks[i].item == MDF_LOWERED_NONE) {
            return false;
        }
    }
    return true;
}

/* The arrays that stacks are, behind the loop. */
static bool name_stacks(struct widened *in)
{
    for (size_t i = 0; i < in->narrow->n_stacks; i++) {
        in->loop->stacks[i].stack = widening_add(in->widening, MDF_LOWERED_RESULT, in->narrow->stacks[i].stack);
        if (in->loop->stacks[i].stack == MDF_LOWERED_NONE) {
            return false;
        }
        in->widening->lowering->lowered->values[in->loop->stacks[i].stack].is_scalar = false;
    }
    return true;
}

/* ------------------------------------------------------------------ the loop */

static bool begin(struct widened *in)
{
    struct widening *widening = in->widening;
    struct mdf_arena *arena = &widening->lowering->lowered->arena;
    const struct mdf_lowered_loop *narrow = in->narrow;

    in->loop = mdf_arena_allocate(arena, sizeof *in->loop);
    if (in->loop == NULL || (in->loop->states = mdf_arena_array(arena, narrow->n_states + 2, sizeof *in->loop->states)) == NULL) {
        return lowering_out_of_memory(widening->lowering);
    }
    if (narrow->n_products > 0) {
        return lowering_fail(widening->lowering, MDF_REFUSED_LANES_CALL);
    }
    if (in->has_own_bounds && narrow->n_padded > 0) {
        return lowering_fail(widening->lowering, MDF_REFUSED_LANES_STACK);
    }
    in->loop->n_runs = narrow->n_runs;
    in->loop->n_padded = narrow->n_padded;
    in->loop->limit = narrow->limit;
    in->loop->trip_count = in->loop->condition = in->loop->next_condition = MDF_LOWERED_NONE;
    in->loop->number = in->loop->is_going_on = MDF_LOWERED_NONE;
    if ((in->has_traps && !widening_begin_traps(widening)) || !(in->has_own_bounds ? begin_bounds(in) : keep_bounds(in)) ||
        !add_states(in) || !add_rows(in)) {
        return false;
    }
    if (in->has_traps && (widening->traps = add_truths(in, as_reals(in, widening->traps))) == MDF_LOWERED_NONE) {
        return false;
    }
    return !in->has_own_bounds || (in->active = add_truths(in, in->active)) != MDF_LOWERED_NONE;
}

/* The number of the run, and whether it goes on, which it does while somebody asks. */
static bool add_parameters(struct widened *in)
{
    struct widening *widening = in->widening;
    const struct mdf_lowered_loop *narrow = in->narrow;

    if (narrow->number != MDF_LOWERED_NONE) {
        in->loop->number = widening_add(widening, MDF_LOWERED_PARAMETER, narrow->number);
    } else if (in->trip_count != MDF_LOWERED_NONE) {
        in->loop->number = widening_add_loop_number(widening);
    }
    if (in->trip_count != MDF_LOWERED_NONE) { /* at the beginning, so that all behind it may become one nest */
        in->next_number = widening_compute_two(widening, MDF_LOWERED_ADD, MDF_DTYPE_INT64, in->loop->number,
                                               mdf_term_whole(widening->lowering, 1));
    }
    if (narrow->is_going_on != MDF_LOWERED_NONE && in->has_own_bounds) {
        widening->ids[narrow->is_going_on] = mdf_term_truth(widening->lowering, true);
    } else if (narrow->is_going_on != MDF_LOWERED_NONE) {
        in->loop->is_going_on = widening_add(widening, MDF_LOWERED_PARAMETER, narrow->is_going_on);
    }
    return !lowering_has_failed(widening->lowering);
}

/* Within the loop, states and rows change from run to run. */
static void see_from_inside(struct widened *in)
{
    struct lowering *lowering = in->widening->lowering;

    for (size_t i = 0; i < in->loop->n_states; i++) {
        lowering->facts[in->loop->states[i].parameter].depth = in->region.depth;
    }
    for (size_t i = 0; i < in->loop->n_rows; i++) {
        lowering->facts[in->loop->rows[i].parameter].depth = in->region.depth;
    }
}

/* Truths of the narrow form, of their states: in the body, and again behind it. */
static bool see_truths(struct widened *in)
{
    struct widening *widening = in->widening;
    size_t n = 0;

    for (size_t i = 0; i < in->narrow->n_states; i++) {
        const struct mdf_lowered_state *state = &in->narrow->states[i];

        if (!widening_needs(widening, state->parameter)) {
            continue;
        }
        if (is_truth(in, state)) {
            widening->ids[state->parameter] = as_truths(in, in->loop->states[n].parameter);
        }
        n++;
    }
    if (in->has_traps) {
        widening->traps = as_truths(in, in->loop->states[n++].parameter);
    }
    return !lowering_has_failed(widening->lowering);
}

/* Behind the loop, parameters are what its last run left. */
static bool see_from_outside(struct widened *in)
{
    for (size_t i = 0; i < in->loop->n_states; i++) {
        in->widening->lowering->facts[in->loop->states[i].parameter].depth = in->widening->lowering->region->depth;
    }
    return see_truths(in);
}

bool widening_loop(struct widening *widening, const struct mdf_lowered_op *source)
{
    const struct mdf_lowered_loop *narrow = source->of.loop;
    bool has_own_bounds = mdf_lanes_has_own_bounds(narrow, widening->request->varies);
    struct widened in = {.widening = widening,
                         .narrow = narrow,
                         .has_own_bounds = has_own_bounds,
                         .has_traps =
                             widening_may_trap(widening, &narrow->body, has_own_bounds || widening->mask != MDF_LOWERED_NONE),
                         .around = widening->mask,
                         .active = MDF_LOWERED_NONE,
                         .trip_count = MDF_LOWERED_NONE,
                         .next_number = MDF_LOWERED_NONE};
    struct mdf_lowered_op op = *source;

    if (!begin(&in)) {
        return false;
    }
    lowering_begin_region(widening->lowering, &in.region, REGION_BODY);
    see_from_inside(&in);
    in.active = has_own_bounds ? as_truths(&in, in.active) : in.active;
    widening->mask = has_own_bounds ? in.active : in.around;
    if (!add_parameters(&in) || !see_truths(&in) || !widening_region(widening, &narrow->body) || !end_run(&in) || !add_stacks(&in) ||
        !lowering_end_region(widening->lowering, &in.loop->body) || !name_stacks(&in)) {
        return false;
    }
    widening->mask = in.around;
    op.of.loop = in.loop;
    return widening_add_op(widening, &op) && see_from_outside(&in);
}
