/* lower_group.c - ops of a region that go through one index space become one: element ops over arrays of one length a FUSED op;
 * nests, with element ops that use what they make, a NEST. See lowering.h.
 *
 * An op joins another one where that stands, so that all it reads has to be made there or before. */
#include "mdf_c/lower/nest_draft.h"

#include <string.h>

enum { LONGEST_ALONE = 4096, MOST_TRIED = 6 }; /* elements; ops that a nest may join */

static bool is_array_op(const struct lowering *lowering, const struct mdf_lowered_op *op)
{
    return op->code < MDF_LOWERED_COPY && !lowering->lowered->values[op->out].is_scalar;
}

/* A function that is a loop over elements by itself, on arrays that stay in the cache from one op to the next, needs no group: so
 * machine code can do what is before and behind it, and call the loop. */
static bool stands_alone(const struct lowering *lowering, const struct mdf_lowered_op *op)
{
    return op->code == MDF_LOWERED_ELEMENTS && !lowering->is_for_source &&
           lowering->lowered->values[op->out].form.length <= LONGEST_ALONE;
}

static bool new_group(struct lowering *lowering, struct mdf_lowered_op *op, size_t n, size_t capacity)
{
    struct mdf_lowered_fused *fused = mdf_arena_allocate(&lowering->lowered->arena, sizeof *fused);

    if (fused == NULL) {
        return lowering_out_of_memory(lowering);
    }
    fused->n = n;
    fused->body.ops = mdf_arena_array(&lowering->lowered->arena, capacity, sizeof *fused->body.ops);
    *op = (struct mdf_lowered_op){.code = MDF_LOWERED_FUSED, .out = MDF_LOWERED_NONE, .of.fused = fused};
    return fused->body.ops != NULL || lowering_out_of_memory(lowering);
}

/* Puts an op that makes an array into the group, which stands at `group` of the ops so far: not where an operand is made behind
 * it. */
static bool joins(const struct mdf_lowered_op *op, const size_t *made_at, size_t group)
{
    size_t i;

    for (i = 0; i < op->n_in; i++) {
        if (made_at[op->in[i]] != SIZE_MAX && made_at[op->in[i]] > group) {
            return false;
        }
    }
    return true;
}

/* A value that several nests store is made by the last of them. */
static void note_store(size_t *made_at, const struct mdf_lowered_nest *nest, const struct mdf_nest_step *store, size_t at,
                       const struct mdf_lowered_value *values)
{
    bool is_part = mdf_nest_count(nest, 0, store->level) < values[store->view.id].form.length;
    size_t *made = &made_at[store->view.id];

    *made = is_part && *made != SIZE_MAX && *made > at ? *made : at;
}

/* Notes where the results of an op are made. */
static void note_made(size_t *made_at, const struct mdf_lowered_op *op, size_t at, const struct mdf_lowered_value *values)
{
    size_t i;

    switch ((enum mdf_lowered_code)op->code) {
    case MDF_LOWERED_CALL:
        for (i = 0; i < op->of.call->n_outputs; i++) {
            if (op->of.call->outputs[i] != MDF_LOWERED_NONE) {
                made_at[op->of.call->outputs[i]] = at;
            }
        }
        break;
    case MDF_LOWERED_IF:
        for (i = 0; i < op->of.branches->n_merges; i++) {
            made_at[op->of.branches->merges[i].out] = at;
        }
        break;
    case MDF_LOWERED_LOOP:
        for (i = 0; i < op->of.loop->n_states; i++) {
            made_at[op->of.loop->states[i].parameter] = at;
        }
        for (i = 0; i < op->of.loop->n_stacks; i++) {
            made_at[op->of.loop->stacks[i].stack] = at;
        }
        break;
    case MDF_LOWERED_NEST:
        for (i = 0; i < op->of.nest->n_steps; i++) {
            if (op->of.nest->steps[i].kind == MDF_NEST_STORE) {
                note_store(made_at, op->of.nest, &op->of.nest->steps[i], at, values);
            }
        }
        break;
    case MDF_LOWERED_FUSED: /* its ops are noted as they join it */
        break;
    MDF_LOWERED_CASES_OF_ELEMENTS:
        made_at[op->out] = at;
        break;
    }
}

/* A group of one op. */
static bool add_alone(struct lowering *lowering, struct mdf_lowered_op *group, const struct mdf_lowered_op *op)
{
    if (!new_group(lowering, group, lowering->lowered->values[op->out].form.length, 1)) {
        return false;
    }
    group->of.fused->body.ops[group->of.fused->body.n_ops++] = *op;
    lowering->facts[op->out].fused = group->of.fused;
    return true;
}

/* ------------------------------------------------------------------ nests */

/* The nest of an element op whose operands have as many elements as its result, or one; NULL: it has none. */
static struct mdf_lowered_nest *nest_of_op(struct lowering *lowering, const struct mdf_lowered_op *op)
{
    const struct mdf_value *result = &lowering->lowered->values[op->out].form;
    struct nest_draft *draft = draft_new(lowering);
    uint8_t axes[MDF_INLINE_RANK], own[MDF_INLINE_RANK], in[MDF_MAX_OPERANDS] = {0};
    size_t i, d;

    if (draft == NULL || (op->loop == NULL && op->code != MDF_LOWERED_CAST)) {
        return NULL;
    }
    for (d = 0; d < result->rank; d++) {
        axes[d] = draft_axis(draft, mdf_value_shape(result)[d]);
    }
    for (i = 0; i < op->n_in; i++) {
        const struct mdf_value *operand = &lowering->lowered->values[op->in[i]].form;
        size_t n = 0;

        for (d = 0; d < operand->rank && operand->length > 1; d++) { /* axes of more than one index, in their order */
            own[d] = mdf_value_shape(operand)[d] == 1 ? DRAFT_NO_AXIS : (uint8_t)n++;
            if (own[d] != DRAFT_NO_AXIS &&
                (own[d] >= draft->n_axes || draft->extents[own[d]] != (size_t)mdf_value_shape(operand)[d])) {
                return NULL;
            }
        }
        in[i] = draft_load(lowering, draft, op->in[i], own);
    }
    in[0] = draft_element(draft, op, (mdf_dtype)result->dtype, in, (1u << draft->n_axes) - 1);
    draft_store(lowering, draft, in[0], op->out, axes);
    return draft_finish(lowering, draft);
}

/* The nest of a group of element ops; NULL: they do not share a shape. */
static struct mdf_lowered_nest *nest_of_group(struct lowering *lowering, const struct mdf_lowered_fused *fused)
{
    struct mdf_lowered_nest *nest = NULL;
    size_t i;

    for (i = 0; i < fused->body.n_ops; i++) {
        struct mdf_lowered_nest *next = nest_of_op(lowering, &fused->body.ops[i]);

        nest = next == NULL || i == 0 ? next : draft_merge(lowering, nest, next, false);
        if (nest == NULL) {
            return NULL;
        }
    }
    return nest;
}

/* What its nest is, or would be. */
static struct mdf_lowered_nest *nest_at(struct lowering *lowering, const struct mdf_lowered_op *op)
{
    return op->code == MDF_LOWERED_NEST    ? op->of.nest
           : op->code == MDF_LOWERED_FUSED ? nest_of_group(lowering, op->of.fused)
                                           : NULL;
}

static void become_nest(struct lowering *lowering, struct mdf_lowered_op *op, struct mdf_lowered_nest *nest, size_t *made_at,
                        size_t at)
{
    size_t i;

    *op = (struct mdf_lowered_op){.code = MDF_LOWERED_NEST,
                                  .out = MDF_LOWERED_NONE,
                                  .origin = op->code == MDF_LOWERED_NEST ? op->origin : NULL,
                                  .of.nest = nest};
    for (i = 0; i < nest->n_steps; i++) {
        if (nest->steps[i].kind == MDF_NEST_STORE) {
            lowering->facts[nest->steps[i].view.id].fused = NULL;
            lowering->facts[nest->steps[i].view.id].is_nested = true;
            lowering->lowered->values[nest->steps[i].view.id].is_stored =
                !lowering->lowered->values[nest->steps[i].view.id].is_scalar;
        }
    }
    note_made(made_at, op, at, lowering->lowered->values);
}

/* A region whose ops are gone through: the first n are done. */
struct grouping {
    struct lowering *lowering;
    struct region *region;
    size_t *made_at; /* of each value: the op that makes it; SIZE_MAX: none of these */
    size_t n;
    size_t group; /* the FUSED op that element ops join; SIZE_MAX: none */
};

/* The op behind which all is there that a nest loads; SIZE_MAX: that is so before the first. */
static size_t last_maker(const struct grouping *grouping, const struct mdf_lowered_nest *nest)
{
    size_t last = SIZE_MAX, i;

    for (i = 0; i < nest->n_steps; i++) {
        size_t made = nest->steps[i].kind == MDF_NEST_LOAD ? grouping->made_at[nest->steps[i].view.id] : SIZE_MAX;

        last = made != SIZE_MAX && (last == SIZE_MAX || made > last) ? made : last;
    }
    return last;
}

/* Makes a nest part of another op before number `end`, one that makes something of what it loads. What became larger by that may
 * be joined to one before it in turn, which leaves an op without a nest. */
static bool joins_nest(struct grouping *grouping, const struct mdf_lowered_nest *nest, size_t end, bool only_nests)
{
    size_t last = last_maker(grouping, nest), at, n_tried = 0;

    for (at = end; last != SIZE_MAX && at-- > last && n_tried < MOST_TRIED;) {
        struct mdf_lowered_op *op = &grouping->region->ops[at];
        struct mdf_lowered_nest *other, *both;

        if (op->code != MDF_LOWERED_NEST && (only_nests || op->code != MDF_LOWERED_FUSED)) {
            continue;
        }
        n_tried++;
        other = nest_at(grouping->lowering, op);
        both = other == NULL ? NULL : draft_merge(grouping->lowering, other, nest, true);
        if (both != NULL) {
            grouping->group = at == grouping->group ? SIZE_MAX : grouping->group;
            become_nest(grouping->lowering, op, both, grouping->made_at, at);
            if (joins_nest(grouping, both, at, false)) {
                op->of.nest = NULL;
            }
            return true;
        }
    }
    return false;
}

static void add_op(struct grouping *grouping, const struct mdf_lowered_op *op)
{
    note_made(grouping->made_at, op, grouping->n, grouping->lowering->lowered->values);
    grouping->region->ops[grouping->n++] = *op;
}

static bool add_to_group(struct grouping *grouping, const struct mdf_lowered_op *op, size_t n_left)
{
    struct mdf_lowered_op *ops = grouping->region->ops;
    size_t length = grouping->lowering->lowered->values[op->out].form.length;
    struct mdf_lowered_fused *fused;

    if (grouping->group == SIZE_MAX || ops[grouping->group].of.fused->n != length ||
        !joins(op, grouping->made_at, grouping->group)) {
        grouping->group = grouping->n++;
        if (!new_group(grouping->lowering, &ops[grouping->group], length, n_left)) {
            return false;
        }
    }
    fused = ops[grouping->group].of.fused;
    fused->body.ops[fused->body.n_ops++] = *op;
    grouping->lowering->facts[op->out].fused = fused;
    grouping->made_at[op->out] = grouping->group;
    return true;
}

/* Whether an operand is made by a nest of the region. */
static bool reads_nest(const struct grouping *grouping, const struct mdf_lowered_op *op)
{
    size_t i;

    for (i = 0; i < op->n_in; i++) {
        const struct lowering_view *view = &grouping->lowering->facts[op->in[i]].view;
        size_t made = grouping->made_at[view->is_there ? view->id : op->in[i]];

        if (made != SIZE_MAX && grouping->region->ops[made].code == MDF_LOWERED_NEST) {
            return true;
        }
    }
    return false;
}

static bool group_op(struct grouping *grouping, struct mdf_lowered_op op, size_t n_left)
{
    struct mdf_lowered_nest *nest;

    if (op.code == MDF_LOWERED_NEST) {
        if (!joins_nest(grouping, op.of.nest, grouping->n, false)) {
            add_op(grouping, &op);
        }
        return true;
    }
    if (!is_array_op(grouping->lowering, &op)) {
        add_op(grouping, &op);
        return true;
    }
    nest = reads_nest(grouping, &op) ? nest_of_op(grouping->lowering, &op) : NULL;
    if (nest != NULL && joins_nest(grouping, nest, grouping->n, true)) {
        return true;
    }
    if (!stands_alone(grouping->lowering, &op)) {
        return add_to_group(grouping, &op, n_left);
    }
    if (!add_alone(grouping->lowering, &grouping->region->ops[grouping->n], &op)) {
        return false;
    }
    grouping->made_at[op.out] = grouping->n++;
    return true;
}

bool lowering_group(struct lowering *lowering, struct region *region)
{
    struct grouping grouping = {.lowering = lowering, .region = region, .group = SIZE_MAX};
    size_t i;

    grouping.made_at = mdf_arena_array(&lowering->scratch, lowering->lowered->n_values, sizeof *grouping.made_at);
    if (grouping.made_at == NULL) {
        return lowering_out_of_memory(lowering);
    }
    memset(grouping.made_at, 0xff, lowering->lowered->n_values * sizeof *grouping.made_at);
    for (i = 0; i < region->n_ops; i++) {
        if (!group_op(&grouping, region->ops[i], region->n_ops - i)) {
            return false;
        }
    }
    region->n_ops = 0;
    for (i = 0; i < grouping.n; i++) {
        if (region->ops[i].code != MDF_LOWERED_NEST || region->ops[i].of.nest != NULL) {
            region->ops[region->n_ops++] = region->ops[i];
        }
    }
    return !lowering_has_failed(lowering);
}
