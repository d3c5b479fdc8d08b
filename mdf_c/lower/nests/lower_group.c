/* lower_group.c - ops of a region that go through one index space become one NEST: element ops over arrays of one length, with
 * one axis; nests, with element ops that use what they make, with theirs. See lowering.h.
 *
 * An op joins another one where that stands, so that all it reads has to be made there or before. */
#include "functions/moves/indexing.h"
#include "mdf_c/lower/nests/nest_draft.h"
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/machine/emit.h"

#include <string.h>

enum { LONGEST_ALONE = 4096, MOST_TRIED = 6 };      /* elements; ops that a nest may join */
enum { SHORTEST_TURNED = 9, FEWEST_TURNED = 4096 }; /* indices of an axis, and of all, of what is stored across */
enum { MANY_TIMES = 32 };                           /* as many points as another nest has: that costs little by itself */

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

/* Element ops on arrays of n elements that will be one nest. */
struct group {
    struct mdf_lowered_op *ops;
    size_t n_ops, n;
    size_t n_steps;  /* of the nest, at most */
    bool is_covered; /* by machine code */
};

/* Which op makes a value. The room is one for all regions: what is less than `base` is of another one. */
struct makers {
    size_t *made_at; /* of each value: base + the number of the op */
    size_t base;
};

static size_t maker_of(const struct makers *makers, mdf_lowered_id id)
{
    return makers->made_at[id] < makers->base ? SIZE_MAX : makers->made_at[id] - makers->base;
}

static void note_maker(const struct makers *makers, mdf_lowered_id id, size_t at)
{
    makers->made_at[id] = makers->base + at;
}

/* A region whose ops are gone through: the first n are done. */
struct grouping {
    struct lowering *lowering;
    struct region *region;
    struct makers makers;
    size_t n;
    struct group **groups; /* of each op: the group that it stands for; NULL: it is what it is */
    size_t group;          /* the one that element ops join; SIZE_MAX: none */
};

/* Whether machine code has vectors of all of an op's types; on C source it does not matter. */
static bool is_covered(const struct lowering *lowering, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_value *values = lowering->lowered->values;
    bool covers = mdf_machine_has_vectors((mdf_dtype)values[op->out].form.dtype);

    for (size_t i = 0; i < op->n_in; i++) {
        covers = covers && mdf_machine_has_vectors((mdf_dtype)values[op->in[i]].form.dtype);
    }
    return covers || lowering->is_for_source;
}

static bool new_group(struct grouping *grouping, size_t at, const struct mdf_lowered_op *op, size_t capacity)
{
    struct mdf_arena *arena = &grouping->lowering->scratch;
    struct group *group = mdf_arena_allocate(arena, sizeof *group);

    if (group == NULL) {
        return lowering_out_of_memory(grouping->lowering);
    }
    group->n = grouping->lowering->lowered->values[op->out].form.length;
    group->is_covered = is_covered(grouping->lowering, op);
    group->ops = mdf_arena_array(arena, capacity, sizeof *group->ops);
    grouping->groups[at] = group;
    grouping->region->ops[at] = (struct mdf_lowered_op){.code = MDF_LOWERED_NEST, .out = MDF_LOWERED_NONE, .origin = op->origin};
    return group->ops != NULL || lowering_out_of_memory(grouping->lowering);
}

static void put(struct grouping *grouping, size_t at, const struct mdf_lowered_op *op)
{
    struct group *group = grouping->groups[at];

    group->ops[group->n_ops++] = *op;
    group->n_steps += op->n_in + 2u;
    note_maker(&grouping->makers, op->out, at);
}

/* Whether an op can be put into the group that stands at `at` of the ops so far: not where an operand is made behind it. */
static bool joins(const struct grouping *grouping, const struct mdf_lowered_op *op, size_t at)
{
    const struct group *group = at == SIZE_MAX ? NULL : grouping->groups[at];

    if (group == NULL || group->n != grouping->lowering->lowered->values[op->out].form.length ||
        group->n_steps + op->n_in + 2 > MDF_NEST_MOST_STEPS || group->is_covered != is_covered(grouping->lowering, op)) {
        return false;
    }
    for (size_t i = 0; i < op->n_in; i++) {
        size_t made = maker_of(&grouping->makers, op->in[i]);

        if (made != SIZE_MAX && made > at) {
            return false;
        }
    }
    return true;
}

/* A value that several nests store is made by the last of them. */
static void note_store(const struct makers *makers, const struct mdf_lowered_nest *nest, const struct mdf_nest_step *store,
                       size_t at, const struct mdf_lowered_value *values)
{
    bool is_part = mdf_nest_count(nest, 0, store->level) < values[store->view.id].form.length;
    size_t made = maker_of(makers, store->view.id);

    note_maker(makers, store->view.id, is_part && made != SIZE_MAX && made > at ? made : at);
}

struct making {
    const struct makers *makers;
    size_t at;
};

static void note_result(void *context, mdf_lowered_id id)
{
    const struct making *making = context;

    note_maker(making->makers, id, making->at);
}

/* Notes where the results of an op are made. */
static void note_made(const struct makers *makers, const struct mdf_lowered_op *op, size_t at,
                      const struct mdf_lowered_value *values)
{
    if (op->code != MDF_LOWERED_NEST) {
        mdf_lowered_visit_results(op, note_result, &(struct making){makers, at});
        return;
    }
    for (size_t i = 0; op->of.nest != NULL && i < op->of.nest->n_steps; i++) {
        if (op->of.nest->steps[i].kind == MDF_NEST_STORE) {
            note_store(makers, op->of.nest, &op->of.nest->steps[i], at, values);
        }
    }
}

/* ------------------------------------------------------------------ nests */

/* Whether a nest of the region stores a large array in another order than that which it was found in: C goes through it there. */
static bool is_made_turned(const struct grouping *grouping, mdf_lowered_id id)
{
    const struct lowering *lowering = grouping->lowering;
    const struct mdf_value *form = &lowering->lowered->values[id].form;
    const struct lowering_view *view = &lowering->facts[id].view;
    size_t made = maker_of(&grouping->makers, id);

    return lowering->is_for_source && made != SIZE_MAX && grouping->region->ops[made].code == MDF_LOWERED_NEST &&
           grouping->groups[made] == NULL && form->length >= FEWEST_TURNED && form->rank > 1 && view->is_there &&
           view->at == MDF_LOWERED_NONE && view->strides[form->rank - 1] != 1;
}

/* An operand of an op: where it was found, or, of one that is to be joined with what made it, where that stores it. */
static uint8_t load_operand(struct lowering *lowering, struct nest_draft *draft, mdf_lowered_id id, const uint8_t *axes,
                            const struct grouping *grouping)
{
    const struct mdf_value *form = &lowering->lowered->values[id].form;
    struct mdf_nest_view view = {.id = id, .at = MDF_NEST_NONE};
    int64_t strides[MDF_INLINE_RANK] = {0};

    if (grouping == NULL || !is_made_turned(grouping, id)) {
        return draft_load(lowering, draft, id, axes);
    }
    mdf_strides(form->rank, mdf_value_shape(form), strides);
    return draft_load_elements(lowering, draft, &view, form->rank, axes, strides);
}

/* The nest of an element op whose operands have as many elements as its result, or one; NULL: it has none. `grouping`: it is to
 * be joined with nests that make operands; or NULL. */
static struct mdf_lowered_nest *nest_of_op(struct lowering *lowering, const struct mdf_lowered_op *op,
                                           const struct grouping *grouping)
{
    const struct mdf_value *result = &lowering->lowered->values[op->out].form;
    struct nest_draft *draft = draft_new(lowering);
    uint8_t axes[MDF_INLINE_RANK], own[MDF_INLINE_RANK], in[MDF_MAX_OPERANDS] = {0};

    if (draft == NULL || result->length == 0 || (op->loop == NULL && op->code != MDF_LOWERED_CAST)) {
        return NULL;
    }
    for (size_t d = 0; d < result->rank; d++) {
        axes[d] = draft_axis(draft, mdf_value_shape(result)[d]);
    }
    for (size_t i = 0; i < op->n_in; i++) {
        const struct mdf_value *operand = &lowering->lowered->values[op->in[i]].form;
        size_t n = 0;

        for (size_t d = 0; d < operand->rank && operand->length > 1; d++) { /* axes of more than one index, in their order */
            own[d] = mdf_value_shape(operand)[d] == 1 ? DRAFT_NO_AXIS : (uint8_t)n++;
            if (own[d] != DRAFT_NO_AXIS &&
                (own[d] >= draft->n_axes || draft->extents[own[d]] != (size_t)mdf_value_shape(operand)[d])) {
                return NULL;
            }
        }
        in[i] = load_operand(lowering, draft, op->in[i], own, grouping);
    }
    in[0] = draft_element(draft, op, (mdf_dtype)result->dtype, in, (1u << draft->n_axes) - 1);
    draft_store(lowering, draft, in[0], op->out, axes);
    return draft_finish(lowering, draft);
}

/* The nest of a group of element ops over the axes of their shape; NULL: they do not share one. */
static struct mdf_lowered_nest *nest_of_group(struct lowering *lowering, const struct group *group)
{
    struct mdf_lowered_nest *nest = NULL;

    for (size_t i = 0; i < group->n_ops; i++) {
        struct mdf_lowered_nest *next = nest_of_op(lowering, &group->ops[i], NULL);

        nest = next == NULL || i == 0 ? next : draft_merge(lowering, nest, next, false);
        if (nest == NULL) {
            return NULL;
        }
    }
    return nest;
}

enum { SHORTEST_ROW = 8 }; /* elements, of several rows, that are read where they lie, in place of a copy of them */

/* Whether an array is a state of the region, and nothing is put into it before op number `at`, so that it may be read there. */
static bool is_whole_state(const struct grouping *grouping, mdf_lowered_id id, size_t at)
{
    const struct mdf_lowered_op *ops = grouping->region->ops;
    size_t i;

    for (i = 0; i < at && (ops[i].code != MDF_LOWERED_PUT || ops[i].in[0] != id); i++) {
    }
    return i == at && maker_of(&grouping->makers, id) == SIZE_MAX &&
           grouping->lowering->lowered->values[id].place == MDF_LOWERED_PARAMETER;
}

/* Whether an operand is a copy of rows of an array from outside the region, which nothing in it changes, or of a state. */
static bool reads_rows(const struct grouping *grouping, size_t at, const struct mdf_lowered_op *op, mdf_lowered_id operand)
{
    const struct lowering *lowering = grouping->lowering;
    const struct fact *facts = lowering->facts;
    const struct mdf_value *form = &lowering->lowered->values[operand].form;
    const struct lowering_view *view = &facts[operand].view;
    size_t d = form->rank;

    while (d > 0 && mdf_value_shape(form)[d - 1] == 1) {
        d--;
    }
    return view->is_there && !facts[operand].is_view &&
           (facts[view->id].depth < facts[op->out].depth || is_whole_state(grouping, view->id, at)) && d > 0 &&
           view->strides[d - 1] == 1 && (d == 1 || mdf_value_shape(form)[d - 1] >= SHORTEST_ROW);
}

/* Whether it is worth to go through a group along the axes of its shape, as views are read. */
static bool reads_views(const struct grouping *grouping, size_t at)
{
    const struct group *group = grouping->groups[at];

    for (size_t i = 0; i < group->n_ops; i++) {
        for (size_t k = 0; k < group->ops[i].n_in; k++) {
            if (reads_rows(grouping, at, &group->ops[i], group->ops[i].in[k])) {
                return true;
            }
        }
    }
    return false;
}

/* The same over one axis: elements as they lie. */
static struct mdf_lowered_nest *flat_nest(struct lowering *lowering, const struct group *group)
{
    const struct mdf_lowered_value *values = lowering->lowered->values;
    struct mdf_nest_view view = {.at = MDF_NEST_NONE};
    struct nest_draft *draft = draft_new(lowering);
    const int64_t stride = 1;
    uint8_t axis, made[MDF_NEST_MOST_STEPS], in[MDF_MAX_OPERANDS] = {0};
    size_t j;

    if (draft == NULL) {
        return NULL;
    }
    axis = draft_axis(draft, (int64_t)group->n);
    for (size_t i = 0; i < group->n_ops; i++) {
        const struct mdf_lowered_op *op = &group->ops[i];

        for (size_t k = 0; k < op->n_in; k++) {
            for (j = i; j > 0 && group->ops[j - 1].out != op->in[k]; j--) {
            }
            view.id = op->in[k];
            in[k] = j > 0 ? made[j - 1]
                          : draft_load_elements(lowering, draft, &view, values[view.id].is_scalar ? 0 : 1, &axis, &stride);
        }
        made[i] = draft_element(draft, op, (mdf_dtype)values[op->out].form.dtype, in, 1);
        view.id = op->out;
        draft_store_elements(lowering, draft, made[i], &view, 1, &axis, &stride);
        lowering->facts[op->out].is_nested = true;
    }
    return draft_finish(lowering, draft);
}

/* What its nest is, or would be; NULL: it has none. */
static struct mdf_lowered_nest *nest_at(struct grouping *grouping, size_t at)
{
    const struct mdf_lowered_op *op = &grouping->region->ops[at];

    return op->code != MDF_LOWERED_NEST   ? NULL
           : grouping->groups[at] != NULL ? nest_of_group(grouping->lowering, grouping->groups[at])
                                          : op->of.nest;
}

static void become_nest(struct grouping *grouping, size_t at, struct mdf_lowered_nest *nest)
{
    struct mdf_lowered_op *op = &grouping->region->ops[at];

    grouping->group = at == grouping->group ? SIZE_MAX : grouping->group;
    grouping->groups[at] = NULL;
    op->of.nest = nest;
    for (size_t i = 0; i < nest->n_steps; i++) {
        if (nest->steps[i].kind == MDF_NEST_STORE) {
            grouping->lowering->facts[nest->steps[i].view.id].is_nested = true;
        }
    }
    note_made(&grouping->makers, op, at, grouping->lowering->lowered->values);
}

/* The op behind which all is there that a nest loads; SIZE_MAX: that is so before the first. */
static size_t last_maker(const struct grouping *grouping, const struct mdf_lowered_nest *nest)
{
    size_t last = SIZE_MAX;

    for (size_t i = 0; i < nest->n_steps; i++) {
        size_t made = nest->steps[i].kind == MDF_NEST_LOAD ? maker_of(&grouping->makers, nest->steps[i].view.id) : SIZE_MAX;

        last = made != SIZE_MAX && (last == SIZE_MAX || made > last) ? made : last;
    }
    return last;
}

/* Whether a register is made of a fold over axes within `axis`, of elements that lie together along that, and apart along them.
 */
static bool is_folded_across(const struct mdf_lowered_nest *nest, size_t step, size_t axis, bool is_within_fold)
{
    const struct mdf_nest_step *own = &nest->steps[step];

    if (own->kind == MDF_NEST_LOAD) {
        return is_within_fold && own->level > axis + 1 && own->view.strides[axis] == 1 && own->view.strides[own->level - 1] > 1;
    }
    is_within_fold = is_within_fold || (own->kind == MDF_NEST_FOLD && own->level == axis + 1);
    for (size_t k = 0; k < own->n_in; k++) {
        if (is_folded_across(nest, own->in[k], axis, is_within_fold)) {
            return true;
        }
    }
    return false;
}

/* Loops of C have vectors along one axis of a nest: not along one that is folded, where what is folded, as a product of matrices,
 * would have them. */
static bool takes_vectors(const struct grouping *grouping, const struct mdf_lowered_nest *nest)
{
    for (size_t i = 0; grouping->lowering->is_for_source && i < nest->n_steps; i++) {
        const struct mdf_nest_step *fold = &nest->steps[i];

        if (fold->kind == MDF_NEST_FOLD && nest->steps[fold->in[0]].level == fold->level + 1 &&
            is_folded_across(nest, fold->in[0], fold->level, false)) {
            return true;
        }
    }
    return false;
}

/* The axis along which what a step stores of a large array lies side by side; MDF_NEST_MOST_AXES: none, or none of many indices.
 */
static size_t axis_stored_along(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *step)
{
    if (step->kind != MDF_NEST_STORE || mdf_nest_count(nest, 0, step->level) < FEWEST_TURNED) {
        return MDF_NEST_MOST_AXES;
    }
    for (size_t axis = 0; axis < step->level; axis++) {
        if (step->view.strides[axis] == 1 && nest->extents[axis] >= SHORTEST_TURNED) {
            return axis;
        }
    }
    return MDF_NEST_MOST_AXES;
}

/* Whether an op of the region, or a group that stands for one, reads a value. */
static bool reads(const struct grouping *grouping, size_t at, mdf_lowered_id id)
{
    const struct group *group = grouping->groups[at];

    for (size_t i = 0; group != NULL && i < group->n_ops; i++) {
        for (size_t k = 0; k < group->ops[i].n_in; k++) {
            if (group->ops[i].in[k] == id) {
                return true;
            }
        }
    }
    return group == NULL && (grouping->region->ops[at].code != MDF_LOWERED_NEST || grouping->region->ops[at].of.nest != NULL) &&
           mdf_lowered_reads(&grouping->region->ops[at], id);
}

/* Whether nobody but a nest reads a value of the region, so that it need not be stored where the nest becomes one with what makes
 * it. It is known once all outputs are. */
static bool is_only_read_by(const struct grouping *grouping, mdf_lowered_id id, const struct mdf_lowered_nest *reader)
{
    const struct mdf_lowered_op *ops = grouping->region->ops;

    if (grouping->lowering->lowered->outputs == NULL || grouping->lowering->facts[id].n_outputs > 0) {
        return false;
    }
    for (size_t i = 0; i < grouping->region->n_ops; i++) {
        if ((ops[i].code != MDF_LOWERED_NEST || ops[i].of.nest != reader) && reads(grouping, i, id)) {
            return false;
        }
    }
    return mdf_nest_reads(reader, id);
}

/* Whether a nest stores one large array along one of its axes, and one along another: loops of C would go across the rows of one
 * of them, where a nest that only turns what the other one stored goes through both by pieces of rows. `part`: what the nest got
 * of what reads others' results. */
static bool stores_across(const struct grouping *grouping, const struct mdf_lowered_nest *nest,
                          const struct mdf_lowered_nest *part)
{
    size_t along = MDF_NEST_MOST_AXES;

    for (size_t i = 0; grouping->lowering->is_for_source && i < nest->n_steps; i++) {
        size_t axis = axis_stored_along(nest, &nest->steps[i]);

        if (axis != MDF_NEST_MOST_AXES && is_only_read_by(grouping, nest->steps[i].view.id, part)) {
            continue;
        }
        if (axis != MDF_NEST_MOST_AXES && along != MDF_NEST_MOST_AXES && axis != along) {
            grouping->lowering->has_left_apart = true;
            return true;
        }
        along = axis != MDF_NEST_MOST_AXES ? axis : along;
    }
    return false;
}

/* Whether a nest gets elements from one of far fewer points, which folds nothing: together they would go along its axis first,
 * and a fold over that axis, as of comparisons of all with all, could not join them. */
static bool stays_apart(const struct mdf_lowered_nest *maker, const struct mdf_lowered_nest *nest)
{
    size_t i;

    for (i = 0; i < maker->n_steps && maker->steps[i].kind != MDF_NEST_FOLD; i++) {
    }
    return i == maker->n_steps && maker->n_axes > 0 &&
           mdf_nest_count(nest, 0, nest->n_axes) / MANY_TIMES >= mdf_nest_count(maker, 0, maker->n_axes);
}

/* Whether nothing behind nest number `at`, up to number `to`, reads what it stores: it may as well stand there. */
static bool may_sink(const struct grouping *grouping, size_t at, size_t to)
{
    const struct mdf_lowered_nest *nest = grouping->region->ops[at].of.nest;

    for (size_t i = 0; i < nest->n_steps; i++) {
        for (size_t j = at + 1; nest->steps[i].kind == MDF_NEST_STORE && j <= to; j++) {
            if (reads(grouping, j, nest->steps[i].view.id)) {
                return false;
            }
        }
    }
    return true;
}

static void renumber(void *context, mdf_lowered_id id)
{
    const struct making *making = context;

    if (maker_of(making->makers, id) == making->at + 1) {
        note_maker(making->makers, id, making->at);
    }
}

/* Moves nest number `at` behind number `to`, where it has that number. */
static void sink(struct grouping *grouping, size_t at, size_t to)
{
    struct mdf_lowered_op op = grouping->region->ops[at];

    for (size_t i = at; i < to; i++) {
        struct making making = {&grouping->makers, i};
        const struct mdf_lowered_op *moved = &grouping->region->ops[i];
        const struct group *group = grouping->groups[i + 1];

        grouping->region->ops[i] = grouping->region->ops[i + 1];
        grouping->groups[i] = grouping->groups[i + 1];
        for (size_t k = 0; group != NULL && k < group->n_ops; k++) {
            renumber(&making, group->ops[k].out);
        }
        if (group == NULL && (moved->code != MDF_LOWERED_NEST || moved->of.nest != NULL)) {
            mdf_lowered_visit_results(moved, renumber, &making);
        }
    }
    grouping->region->ops[to] = op;
    grouping->groups[to] = NULL;
    grouping->group -= grouping->group != SIZE_MAX && grouping->group > at && grouping->group <= to;
}

/* Makes a nest part of one that makes something of what it loads, though something else that it loads is made between them, by
 * the last op of all: the first one then stands behind that. */
static bool joins_sunk(struct grouping *grouping, const struct mdf_lowered_nest *nest)
{
    size_t last = last_maker(grouping, nest), i;

    for (i = 0; last != SIZE_MAX && i < nest->n_steps; i++) {
        size_t at = nest->steps[i].kind == MDF_NEST_LOAD ? maker_of(&grouping->makers, nest->steps[i].view.id) : SIZE_MAX;
        struct mdf_lowered_op *op = at < last ? &grouping->region->ops[at] : NULL;
        struct mdf_lowered_nest *both;

        if (op == NULL || op->code != MDF_LOWERED_NEST || grouping->groups[at] != NULL || op->of.nest == NULL ||
            stays_apart(op->of.nest, nest) || !may_sink(grouping, at, last)) {
            continue;
        }
        both = draft_merge(grouping->lowering, op->of.nest, nest, true);
        if (both != NULL && !takes_vectors(grouping, both) && !stores_across(grouping, both, nest)) {
            sink(grouping, at, last);
            become_nest(grouping, last, both);
            return true;
        }
    }
    return false;
}

/* Makes a nest part of another op before number `end`, one that makes something of what it loads. What became larger by that may
 * be joined to one before it in turn, which leaves an op without a nest. */
static bool joins_nest(struct grouping *grouping, const struct mdf_lowered_nest *nest, size_t end, bool only_nests)
{
    size_t last = last_maker(grouping, nest), at, n_tried = 0;

    for (at = end; last != SIZE_MAX && at-- > last && n_tried < MOST_TRIED;) {
        struct mdf_lowered_op *op = &grouping->region->ops[at];
        struct mdf_lowered_nest *other, *both;

        if (op->code != MDF_LOWERED_NEST || (only_nests && grouping->groups[at] != NULL)) {
            continue;
        }
        n_tried++;
        other = nest_at(grouping, at);
        both = other == NULL || stays_apart(other, nest) ? NULL : draft_merge(grouping->lowering, other, nest, true);
        if (both != NULL && !takes_vectors(grouping, both) && !stores_across(grouping, both, nest)) {
            become_nest(grouping, at, both);
            if (joins_nest(grouping, both, at, false) || joins_sunk(grouping, both)) {
                op->of.nest = NULL;
            }
            return true;
        }
    }
    return false;
}

static void add_op(struct grouping *grouping, const struct mdf_lowered_op *op)
{
    note_made(&grouping->makers, op, grouping->n, grouping->lowering->lowered->values);
    grouping->region->ops[grouping->n++] = *op;
}

/* Whether an operand is made by a nest of the region. */
static bool reads_nest(const struct grouping *grouping, const struct mdf_lowered_op *op)
{
    for (size_t i = 0; i < op->n_in; i++) {
        const struct lowering_view *view = &grouping->lowering->facts[op->in[i]].view;
        bool is_elsewhere = view->is_there && !is_made_turned(grouping, op->in[i]);
        size_t made = maker_of(&grouping->makers, is_elsewhere ? view->id : op->in[i]);

        if (made != SIZE_MAX && grouping->region->ops[made].code == MDF_LOWERED_NEST && grouping->groups[made] == NULL) {
            return true;
        }
    }
    return false;
}

/* An op that reads of a nest, and of the group behind that: with all of the group it joins the nest, in whose axes both are. */
static bool joins_with_group(struct grouping *grouping, const struct mdf_lowered_op *op, const struct mdf_lowered_nest *nest)
{
    size_t at = grouping->group;
    struct mdf_lowered_nest *both;

    if (!joins(grouping, op, at) || stands_alone(grouping->lowering, op)) {
        return false;
    }
    both = nest_of_group(grouping->lowering, grouping->groups[at]);
    both = both == NULL ? NULL : draft_merge(grouping->lowering, both, nest, true);
    if (both == NULL || !joins_nest(grouping, both, at, true)) {
        return false;
    }
    grouping->groups[at] = NULL;
    grouping->region->ops[at].of.nest = NULL;
    grouping->group = SIZE_MAX;
    return true;
}

static bool group_op(struct grouping *grouping, struct mdf_lowered_op op, size_t n_left)
{
    struct mdf_lowered_nest *nest;
    bool made = true;
    size_t at;

    if (op.code == MDF_LOWERED_NEST) {
        if (!joins_nest(grouping, op.of.nest, grouping->n, false) && !joins_sunk(grouping, op.of.nest)) {
            add_op(grouping, &op);
        }
        return true;
    }
    if (!is_array_op(grouping->lowering, &op)) {
        add_op(grouping, &op);
        return true;
    }
    nest = reads_nest(grouping, &op) ? nest_of_op(grouping->lowering, &op, grouping) : NULL;
    if (nest != NULL &&
        (joins_nest(grouping, nest, grouping->n, true) || joins_with_group(grouping, &op, nest) || joins_sunk(grouping, nest))) {
        return true;
    }
    if (stands_alone(grouping->lowering, &op)) {
        made = new_group(grouping, grouping->n, &op, 1);
        at = grouping->n++;
    } else {
        if (!joins(grouping, &op, grouping->group)) {
            made = new_group(grouping, grouping->n, &op, n_left);
            grouping->group = grouping->n++;
        }
        at = grouping->group;
    }
    if (made) {
        put(grouping, at, &op);
    }
    return made;
}

/* What a group is in the end. */
static bool finish_group(struct grouping *grouping, size_t at)
{
    const struct group *group = grouping->groups[at];
    struct mdf_lowered_nest *nest = reads_views(grouping, at) ? nest_of_group(grouping->lowering, group) : NULL;

    if (nest != NULL) {
        become_nest(grouping, at, nest);
        return true;
    }
    grouping->region->ops[at].of.nest = flat_nest(grouping->lowering, group);
    return grouping->region->ops[at].of.nest != NULL;
}

static bool begin_makers(struct lowering *lowering, const struct region *region, struct makers *makers)
{
    if (lowering->n_made_at < lowering->lowered->n_values) {
        lowering->n_made_at = 2 * lowering->lowered->n_values;
        lowering->made_at = mdf_arena_array(&lowering->scratch, lowering->n_made_at, sizeof *lowering->made_at);
        if (lowering->made_at == NULL) {
            lowering->n_made_at = 0;
            return lowering_out_of_memory(lowering);
        }
    }
    *makers = (struct makers){lowering->made_at, lowering->n_grouped + 1};
    lowering->n_grouped += region->n_ops + 1;
    return true;
}

bool lowering_group(struct lowering *lowering, struct region *region)
{
    struct grouping grouping = {.lowering = lowering, .region = region, .group = SIZE_MAX};

    grouping.groups = mdf_arena_array(&lowering->scratch, region->n_ops, sizeof *grouping.groups);
    if (grouping.groups == NULL || !begin_makers(lowering, region, &grouping.makers)) {
        return lowering_out_of_memory(lowering);
    }
    for (size_t i = 0; i < region->n_ops; i++) {
        if (!group_op(&grouping, region->ops[i], region->n_ops - i)) {
            return false;
        }
    }
    region->n_ops = 0;
    for (size_t i = 0; i < grouping.n; i++) {
        struct mdf_lowered_op *op = &region->ops[i];

        if (grouping.groups[i] != NULL && !finish_group(&grouping, i)) {
            return lowering_out_of_memory(lowering);
        }
        if (op->code != MDF_LOWERED_NEST || op->of.nest != NULL) {
            region->ops[region->n_ops++] = *op;
        }
    }
    return !lowering_has_failed(lowering);
}

static bool group_again(struct lowering *lowering, struct mdf_lowered_region *region)
{
    struct region ops = {.ops = region->ops, .n_ops = region->n_ops};
    bool done = true;

    for (size_t i = 0; done && i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        if (op->code == MDF_LOWERED_LOOP) {
            done = group_again(lowering, &op->of.loop->body);
        } else if (op->code == MDF_LOWERED_IF) {
            done = group_again(lowering, &op->of.branches->then) && group_again(lowering, &op->of.branches->otherwise);
        }
    }
    done = done && lowering_group(lowering, &ops);
    region->n_ops = done ? ops.n_ops : region->n_ops;
    return done;
}

bool lowering_group_again(struct lowering *lowering)
{
    return (!lowering->has_dropped_folds && !lowering->has_left_apart) || group_again(lowering, &lowering->lowered->region);
}
