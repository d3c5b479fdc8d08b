/* lower_place_numbers.c - places in tables of several axes as numbers of their own, so that what no run of a loop changes of them is
 * computed in front of it, and places that are the same are computed once. See lowering.h.
 *
 * In: loops' bodies, complete, of which nests of one point look for a number along several axes one after the other, or as a sum of
 * multiples of indices, each of which has to lie on its axis. Out: nests that look there by one number. An index that does not lie
 * on its axis makes that so large that the nest itself bails out. Not of the few runs that blocks leave (lower_blocks.c), and not for
 * C source, whose compilers do this. */
#include "mdf_c/lower/loops/blocks.h"

#include <string.h>

enum { MOST_TERMS = 6 };
#define FAR_AWAY (INT64_C(1) << 31)
#define MOST_SCALE (INT64_C(1) << 28) /* MOST_TERMS numbers as far away, so many times, do not wrap */

struct numbering {
    struct blocks blocks;
    const struct mdf_lowered_nest *nest;
    size_t in_body;    /* where ops of the body go, in front of the nest */
    bool leaves_axes; /* what runs change may be left to the nest, which looks whether it lies on its axis */
};

static const struct mdf_lowered_value *value_of(const struct numbering *numbering, const struct mdf_nest_step *step)
{
    return &numbering->blocks.lowering->lowered->values[step->view.id];
}

/* Whether a step loads a whole number that is no element. */
static bool loads_number(const struct numbering *numbering, const struct mdf_nest_step *step)
{
    return step->kind == MDF_NEST_LOAD && step->dtype == MDF_DTYPE_INT64 && step->view.at == MDF_NEST_NONE &&
           value_of(numbering, step)->is_scalar && value_of(numbering, step)->form.dtype == MDF_DTYPE_INT64;
}

static bool is_positive_constant(const struct numbering *numbering, const struct mdf_nest_step *step, int64_t *number)
{
    bool is_one = loads_number(numbering, step) && value_of(numbering, step)->place == MDF_LOWERED_CONSTANT;

    if (is_one) {
        memcpy(number, value_of(numbering, step)->form.data, sizeof *number);
    }
    return is_one && *number > 0 && *number < MOST_SCALE;
}

/* Whether a number is known to be from 0 to below a limit in all runs. */
static bool is_known_within(struct numbering *numbering, mdf_lowered_id id, int64_t limit)
{
    const struct place place = block_place_of(&numbering->blocks, id, MOST_SUMMED);
    struct lowering_range range;

    return place.is_known && block_find_range(&numbering->blocks, &place, &range) && range.low >= 0 && range.high < limit;
}

/* ------------------------------------------------------------------ what may be a number of its own */

/* Whether no run changes what a step makes. */
static bool stays(const struct numbering *numbering, const struct mdf_nest_step *step)
{
    const struct mdf_nest_step *steps = numbering->nest->steps;

    return step->kind == MDF_NEST_LOAD
               ? (step->view.at == MDF_NEST_NONE ? block_is_from_outside(&numbering->blocks, step->view.id)
                                                 : stays(numbering, &steps[step->view.at]))
               : step->kind == MDF_NEST_ELEMENT && step->n_in == 2 && stays(numbering, &steps[step->in[0]]) &&
                     stays(numbering, &steps[step->in[1]]);
}

/* Whether a step makes a sum of multiples of indices that lie on their axes; `scale`: how often it counts. */
static bool may_be_number(struct numbering *numbering, const struct mdf_nest_step *step, int64_t scale, unsigned *n_left)
{
    const struct mdf_nest_step *steps = numbering->nest->steps, *index;
    int64_t number;

    if (*n_left == 0 || scale >= MOST_SCALE) {
        return false;
    }
    if (step->kind == MDF_NEST_LOAD) {
        --*n_left;
        if (loads_number(numbering, step)) {
            return is_positive_constant(numbering, step, &number) || is_known_within(numbering, step->view.id, FAR_AWAY);
        }
        index = mdf_nest_loads_its_index(numbering->blocks.lowering->lowered, step) ? &steps[step->view.at] : NULL;
        return index != NULL && loads_number(numbering, index) && step->view.at_limit < FAR_AWAY &&
               (numbering->leaves_axes || stays(numbering, index) ||
                is_known_within(numbering, index->view.id, step->view.at_limit));
    }
    if (step->kind != MDF_NEST_ELEMENT || step->dtype != MDF_DTYPE_INT64 || step->operand_dtype != MDF_DTYPE_INT64) {
        return false;
    }
    if (step->code == MDF_LOWERED_MULTIPLY) {
        return is_positive_constant(numbering, &steps[step->in[1]], &number) &&
               may_be_number(numbering, &steps[step->in[0]], scale * number, n_left);
    }
    return step->code == MDF_LOWERED_ADD && may_be_number(numbering, &steps[step->in[0]], scale, n_left) &&
           may_be_number(numbering, &steps[step->in[1]], scale, n_left);
}

/* ------------------------------------------------------------------ numbers */

static mdf_lowered_id add_op(struct numbering *numbering, bool in_front, struct mdf_lowered_op op, mdf_dtype result)
{
    struct blocks *blocks = &numbering->blocks;

    return in_front ? block_add_op(blocks, blocks->region, blocks->at, blocks->depth, op, result)
                    : block_add_op(blocks, &blocks->loop->body, &numbering->in_body, blocks->depth + 1, op, result);
}

static mdf_lowered_id choose(struct numbering *numbering, mdf_lowered_id truth, mdf_lowered_id a, mdf_lowered_id b)
{
    const struct mdf_lowered_op op = {.code = MDF_LOWERED_SELECT, .dtype = MDF_DTYPE_INT64, .n_in = 3, .in = {truth, a, b}};

    return b == MDF_LOWERED_NONE ? b : add_op(numbering, true, op, MDF_DTYPE_INT64);
}

/* In front of the loop: an index as it is counted from the first, or what is far away. */
static mdf_lowered_id find_on_axis(struct numbering *numbering, mdf_lowered_id id, int64_t limit)
{
    struct blocks *blocks = &numbering->blocks;
    struct place place = block_place_of(blocks, id, MOST_SUMMED);
    struct lowering_range range;
    bool is_from_front = place.is_known && block_find_range(blocks, &place, &range) && range.low >= 0;
    mdf_lowered_id end = block_number(blocks, limit), zero = block_number(blocks, 0), is_below;

    if (!is_from_front) {
        id = choose(numbering, block_before(blocks, MDF_LOWERED_LESS, id, zero), block_before(blocks, MDF_LOWERED_ADD, id, end), id);
    }
    is_below = block_before(blocks, MDF_LOWERED_LESS, id, end);
    if (!is_from_front) {
        is_below = block_before(blocks, MDF_LOWERED_AND, is_below, block_before(blocks, MDF_LOWERED_GREATER_EQUAL, id, zero));
    }
    return choose(numbering, is_below, id, block_number(blocks, FAR_AWAY));
}

/* What a step makes, of may_be_number. */
static mdf_lowered_id make_number(struct numbering *numbering, const struct mdf_nest_step *step)
{
    const struct mdf_nest_step *steps = numbering->nest->steps;
    struct mdf_lowered_op op = {.code = step->code, .dtype = MDF_DTYPE_INT64, .n_in = 2};
    mdf_lowered_id id;

    if (step->kind == MDF_NEST_LOAD && step->view.at == MDF_NEST_NONE) {
        return step->view.id;
    }
    if (step->kind == MDF_NEST_LOAD) {
        id = steps[step->view.at].view.id;
        return is_known_within(numbering, id, step->view.at_limit) ? id : find_on_axis(numbering, id, step->view.at_limit);
    }
    op.in[0] = make_number(numbering, &steps[step->in[0]]);
    op.in[1] = make_number(numbering, &steps[step->in[1]]);
    return add_op(numbering, stays(numbering, step), op, MDF_DTYPE_INT64);
}

/* Drops what nothing needs any more. */
static void drop_unneeded(struct mdf_lowered_nest *nest)
{
    for (size_t at = nest->n_steps; at-- > 0;) {
        uint8_t numbers[MDF_NEST_MOST_STEPS];
        struct mdf_nest_set needed = {{0}};

        for (size_t i = at + 1; i < nest->n_steps; i++) {
            mdf_nest_add_operands(&nest->steps[i], &needed);
        }
        if (nest->steps[at].kind == MDF_NEST_STORE || mdf_nest_set_has(&needed, at)) {
            continue;
        }
        for (size_t i = 0; i < nest->n_steps; i++) {
            numbers[i] = (uint8_t)(i > at ? i - 1 : i);
        }
        memmove(&nest->steps[at], &nest->steps[at + 1], (--nest->n_steps - at) * sizeof *nest->steps);
        for (size_t i = at; i < nest->n_steps; i++) {
            mdf_nest_renumber(&nest->steps[i], numbers);
        }
    }
}

/* Whether all that a nest makes is needed for what it stores. */
static bool has_only_needed(const struct mdf_lowered_nest *nest)
{
    struct mdf_nest_set needed = {{0}};
    size_t i;

    for (i = 0; i < nest->n_steps; i++) {
        mdf_nest_add_operands(&nest->steps[i], &needed);
    }
    for (i = 0; i < nest->n_steps && (nest->steps[i].kind == MDF_NEST_STORE || mdf_nest_set_has(&needed, i)); i++) {
    }
    return i == nest->n_steps;
}

/* A step loads its number, which stands in front of the nest or of the loop. */
static bool take_number(struct numbering *numbering, struct mdf_nest_step *step)
{
    mdf_lowered_id id = make_number(numbering, step);

    if (id == MDF_LOWERED_NONE) {
        return lowering_out_of_memory(numbering->blocks.lowering);
    }
    *step = (struct mdf_nest_step){
        .kind = MDF_NEST_LOAD, .dtype = MDF_DTYPE_INT64, .origin = step->origin, .view = {.id = id, .at = MDF_NEST_NONE}};
    return true;
}

/* Whether a load looks at a place that may be a number, of which `leaves_axes` says more. */
static bool looks_at_number(struct numbering *numbering, const struct mdf_nest_step *load, bool leaves_axes)
{
    const struct mdf_nest_step *index = load->kind == MDF_NEST_LOAD && load->view.at != MDF_NEST_NONE
                                            ? &numbering->nest->steps[load->view.at]
                                            : NULL;
    unsigned n_left = MOST_TERMS;

    numbering->leaves_axes = leaves_axes;
    return index != NULL && index->kind == MDF_NEST_ELEMENT && load->view.at_limit < FAR_AWAY &&
           may_be_number(numbering, index, 1, &n_left);
}

/* Of a place that is no number: what stays of it in all runs. */
static bool take_what_stays(struct numbering *numbering, struct mdf_nest_step *step)
{
    struct mdf_nest_step *steps = numbering->nest->steps;

    if (step->kind != MDF_NEST_ELEMENT) {
        return true;
    }
    return stays(numbering, step) ? take_number(numbering, step)
                                  : take_what_stays(numbering, &steps[step->in[0]]) && take_what_stays(numbering, &steps[step->in[1]]);
}

static bool number_places(struct numbering *numbering, struct mdf_lowered_nest *nest)
{
    bool done = true;

    numbering->nest = nest;
    if (nest->n_axes != 0 || nest->is_open || !has_only_needed(nest)) {
        return true;
    }
    for (size_t i = 0; done && i < nest->n_steps; i++) {
        const struct mdf_nest_step *load = &nest->steps[i];

        if (looks_at_number(numbering, load, false)) {
            done = take_number(numbering, &nest->steps[load->view.at]);
        } else if (looks_at_number(numbering, load, true)) {
            done = take_what_stays(numbering, &nest->steps[load->view.at]);
        }
    }
    drop_unneeded(nest);
    return done;
}

static bool number_places_of_loop(struct lowering *lowering, struct mdf_lowered_region *region, size_t *at)
{
    struct mdf_lowered_loop *loop = region->ops[*at].of.loop;
    struct numbering numbering = {
        .blocks = {.lowering = lowering, .loop = loop, .region = region, .at = at, .may = MDF_LOWERED_NONE}};
    struct region body;

    if (loop->number == MDF_LOWERED_NONE || loop->n_lanes > 0 || lowering->facts[loop->number].is_rest) {
        return true;
    }
    numbering.blocks.depth = lowering->facts[loop->number].depth - 1;
    for (numbering.in_body = 0; numbering.in_body < loop->body.n_ops; numbering.in_body++) {
        const struct mdf_lowered_op *op = &loop->body.ops[numbering.in_body];

        if (op->code == MDF_LOWERED_NEST && !number_places(&numbering, op->of.nest)) {
            return false;
        }
    }
    body = (struct region){.ops = loop->body.ops, .n_ops = loop->body.n_ops};
    return lowering_share_ops(lowering, &body);
}

/* Not where instances of a sweep go side by side: numbers are those of all of them, then. */
bool lowering_compute_places(struct lowering *lowering)
{
    bool is_for_lanes = lowering->request != NULL && lowering->request->keeps_calls;

    return is_for_lanes || lowering->is_for_source ||
           lowering_for_loops(lowering, &lowering->lowered->region, number_places_of_loop);
}
