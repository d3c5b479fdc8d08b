/* lower_mapped.c - a loop whose runs do not hang on each other becomes a loop nest: where its body is one nest, the runs are one
 * axis more of it, the rows that it goes through and the number of the run are strides along that, and its stacks are what the
 * nest stores. What is before and behind the loop can be joined to it then, and vectors may go along the runs. See lowering.h. */
#include "mdf_c/lower/nests/nest_draft.h"
#include "mdf_c/lowered/lowered_reads.h"

#include <string.h>

/* Points of the nest: between the runs of a loop somebody may interrupt it, between the points of a nest nobody does. */
enum { MOST_POINTS = 1 << 24 };
enum { RUNS = 0 }; /* the number of the axis */

struct mapping {
    struct lowering *lowering;
    const struct mdf_lowered_loop *loop;
    const struct mdf_lowered_nest *body;
    struct nest_draft *draft;
    bool is_backwards;                      /* the last run comes first along the axis */
    bool varies[MDF_NEST_MOST_STEPS];       /* the register hangs on the run */
    bool is_number[MDF_NEST_MOST_STEPS];    /* it is the number of the run */
    uint8_t registers[MDF_NEST_MOST_STEPS]; /* in the draft */
};

/* Whether a place that a number says is there in all runs: that of the run itself. */
static bool is_there(const struct mdf_lowered_loop *loop, mdf_lowered_id number, int64_t limit)
{
    return number == MDF_LOWERED_NONE || (number == loop->number && limit >= (int64_t)loop->n_runs);
}

static bool nest_moves(const struct mdf_lowered_loop *loop, const struct mdf_lowered_nest *nest)
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];
        const struct mdf_nest_step *number = step->view.at == MDF_NEST_NONE ? NULL : &nest->steps[step->view.at];

        if ((step->kind != MDF_NEST_LOAD && step->kind != MDF_NEST_STORE) ||
            (number != NULL && (number->kind != MDF_NEST_LOAD || !is_there(loop, number->view.id, step->view.at_limit)))) {
            return false;
        }
    }
    return !nest->is_open;
}

/* Whether an op only moves elements, which can not fail: it is not needed where they are read at their first place. */
static bool only_moves(const struct lowering *lowering, const struct mdf_lowered_loop *loop, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_call *call = op->code == MDF_LOWERED_CALL ? op->of.call : NULL;
    const struct lowering_view *view;

    if (op->code == MDF_LOWERED_NEST) {
        return nest_moves(loop, op->of.nest);
    }
    if (call == NULL || call->n_outputs != 1 || call->outputs[0] == MDF_LOWERED_NONE || call->stack != NULL) {
        return false;
    }
    view = &lowering->facts[call->outputs[0]].view;
    return view->is_there && is_there(loop, view->at, view->at_limit);
}

struct reading {
    const struct mdf_lowered_op *nest;
    bool reads;
};

static void note_read(void *context, mdf_lowered_id id)
{
    struct reading *reading = context;

    reading->reads = reading->reads || mdf_lowered_reads(reading->nest, id);
}

/* Whether an op is a nest that stores items of stacks, all or a part of one. */
static bool stores_items(const struct mdf_lowered_loop *loop, const struct mdf_lowered_op *op)
{
    for (size_t i = 0; op->code == MDF_LOWERED_NEST && i < loop->n_stacks; i++) {
        if (mdf_nest_stores(op->of.nest, loop->stacks[i].item)) {
            return true;
        }
    }
    return false;
}

/* The nest that is all of a loop's body, but for moves that it does not need; NULL: there is none. */
static const struct mdf_lowered_nest *body_of(const struct lowering *lowering, const struct mdf_lowered_loop *loop)
{
    struct reading reading = {0};

    for (size_t i = 0; i < loop->body.n_ops && loop->n_stacks > 0; i++) {
        const struct mdf_lowered_op *op = &loop->body.ops[i];

        if (op->code == MDF_LOWERED_NEST && mdf_nest_stores(op->of.nest, loop->stacks[0].item)) {
            reading.nest = op;
        }
    }
    for (size_t i = 0; i < loop->body.n_ops && reading.nest != NULL; i++) {
        const struct mdf_lowered_op *op = &loop->body.ops[i];

        if (op != reading.nest && (stores_items(loop, op) || !only_moves(lowering, loop, op))) {
            return NULL;
        }
        mdf_lowered_visit_results(op, note_read, &reading);
    }
    return reading.nest == NULL || reading.reads ? NULL : reading.nest->of.nest;
}

bool lowering_is_map(const struct lowering *lowering, const struct mdf_lowered_loop *loop)
{
    if (loop->n_runs < 2 || loop->n_runs > MOST_POINTS || loop->n_states > 0 || loop->n_padded > 0 ||
        loop->condition != MDF_LOWERED_NONE || loop->next_condition != MDF_LOWERED_NONE ||
        (loop->limit != 0 && loop->n_runs > loop->limit)) {
        return false;
    }
    for (size_t i = 0; i < loop->n_stacks; i++) {
        if (lowering->facts[loop->stacks[i].stack].is_watched) { /* in the memory that the loop has for it */
            return false;
        }
    }
    return true;
}

/* Whether its body is a nest that can have the runs as an axis. */
static bool is_nest_map(const struct lowering *lowering, const struct mdf_lowered_loop *loop, const struct mdf_lowered_nest *nest)
{
    return nest != NULL && lowering_is_map(lowering, loop) && !nest->is_open && nest->n_axes < MDF_NEST_MOST_AXES && (nest->n_axes == 0 || nest->extents[0] > 0) &&
           mdf_nest_count(nest, 0, nest->n_axes) <= MOST_POINTS / loop->n_runs;
}

static const struct mdf_lowered_rows *rows_of(const struct mapping *mapping, mdf_lowered_id id)
{
    for (size_t i = 0; i < mapping->loop->n_rows; i++) {
        if (mapping->loop->rows[i].parameter == id) {
            return &mapping->loop->rows[i];
        }
    }
    return NULL;
}

/* The first stack of an item; NULL: it has none, and nothing but the nest that makes it looks at it. */
static const struct mdf_lowered_stack *stack_of(const struct mdf_lowered_loop *loop, mdf_lowered_id id)
{
    size_t i;

    for (i = 0; i < loop->n_stacks && loop->stacks[i].item != id; i++) {
    }
    return i < loop->n_stacks ? &loop->stacks[i] : NULL;
}

/* Lets a view go along the runs, from the first to the last, or from the last to the first. */
static void step_by(const struct mapping *mapping, struct mdf_nest_view *view, int64_t step, bool is_reversed)
{
    is_reversed = is_reversed != mapping->is_backwards;
    view->first += is_reversed ? step * (int64_t)(mapping->loop->n_runs - 1) : 0;
    view->strides[RUNS] += is_reversed ? -step : step;
}

/* Lets a view of an item go along the runs: each has `length` elements in the array `whole`. False: it does not lie there so. */
static bool go_along(const struct mapping *mapping, struct mdf_nest_view *view, mdf_lowered_id whole, bool is_reversed)
{
    const struct mdf_lowered_value *values = mapping->lowering->lowered->values;
    size_t length = values[view->id].form.length, n_runs = mapping->loop->n_runs;

    if (values[whole].is_list || values[whole].open_axes != 0 || values[whole].is_scalar ||
        values[whole].form.length != length * n_runs) {
        return false;
    }
    view->id = whole;
    step_by(mapping, view, (int64_t)length, is_reversed);
    return true;
}

/* A load at the number of the run is one along the runs. */
static bool go_by_number(const struct mapping *mapping, struct mdf_nest_view *view)
{
    if (view->at_limit < (int64_t)mapping->loop->n_runs) {
        return false;
    }
    step_by(mapping, view, view->at_stride, false);
    view->at = MDF_NEST_NONE;
    view->at_stride = view->at_limit = 0;
    view->cuts = false;
    return true;
}

static bool map_load(struct mapping *mapping, struct mdf_nest_view *view, size_t i)
{
    const struct mdf_lowered_rows *rows = rows_of(mapping, view->id);
    bool varies = rows != NULL;

    if (view->id == mapping->loop->number) {
        mapping->is_number[i] = true;
        return true;
    }
    if (view->id == mapping->loop->is_going_on || (varies && !go_along(mapping, view, rows->source, rows->is_reversed))) {
        return false;
    }
    if (view->at != MDF_NEST_NONE && mapping->is_number[view->at]) {
        varies = true;
        if (!go_by_number(mapping, view)) {
            return false;
        }
    } else if (view->at != MDF_NEST_NONE) {
        varies = varies || mapping->varies[view->at];
        view->at = mapping->registers[view->at];
    }
    mapping->varies[i] = mapping->varies[i] || varies;
    return true;
}

static bool map_store(struct mapping *mapping, struct mdf_nest_view *view)
{
    const struct mdf_lowered_stack *stack = stack_of(mapping->loop, view->id);

    return go_along(mapping, view, stack->stack, stack->is_reversed);
}

/* Step number `i` of the body to the draft. */
static bool map_step(struct mapping *mapping, size_t i)
{
    struct nest_draft *draft = mapping->draft;
    struct draft_step step = draft->steps[i];

    if (step.step.kind == MDF_NEST_STORE && stack_of(mapping->loop, step.step.view.id) == NULL) {
        return true;
    }
    for (size_t k = 0; k < step.step.n_in; k++) {
        if (mapping->is_number[step.step.in[k]]) {
            return false;
        }
        mapping->varies[i] = mapping->varies[i] || mapping->varies[step.step.in[k]];
        step.step.in[k] = mapping->registers[step.step.in[k]];
    }
    if ((step.step.kind == MDF_NEST_LOAD && !map_load(mapping, &step.step.view, i)) ||
        (step.step.kind == MDF_NEST_STORE && !map_store(mapping, &step.step.view))) {
        return false;
    }
    if (!mapping->is_number[i]) { /* nothing has it but views that have been changed */
        step.axes |= (uint8_t)(mapping->varies[i] || step.step.kind == MDF_NEST_STORE ? 1u << RUNS : 0);
        mapping->registers[i] = (uint8_t)draft->n_steps;
        draft->steps[draft->n_steps++] = step;
    }
    return true;
}

/* The axes of a draft of the body, each behind that of the runs. */
static void make_axis(struct mapping *mapping)
{
    struct nest_draft *draft = mapping->draft;

    memmove(draft->extents + 1, draft->extents, draft->n_axes * sizeof *draft->extents);
    draft->extents[RUNS] = mapping->loop->n_runs;
    draft->n_axes++;
    for (size_t i = 0; i < draft->n_steps; i++) {
        struct draft_step *step = &draft->steps[i];

        memmove(step->step.view.strides + 1, step->step.view.strides, (MDF_NEST_MOST_AXES - 1) * sizeof *step->step.view.strides);
        step->step.view.strides[RUNS] = 0;
        step->axes = (uint8_t)(step->axes << 1);
        for (size_t k = 0; k < step->n_folded; k++) {
            step->folded[k]++;
        }
        /* What is stored is made for each run, also where it is the same in all. */
        if (step->step.kind == MDF_NEST_STORE && stack_of(mapping->loop, step->step.view.id) != NULL) {
            mapping->varies[step->step.in[0]] = true;
        }
    }
}

/* The nest; NULL: there is none. */
static struct mdf_lowered_nest *nest_of(struct mapping *mapping)
{
    struct nest_draft *draft = draft_new(mapping->lowering);
    size_t n_steps = mapping->body->n_steps;

    if (draft == NULL) {
        return NULL;
    }
    mapping->draft = draft;
    draft_read(draft, mapping->body);
    if (draft->has_failed) {
        return NULL;
    }
    make_axis(mapping);
    draft->n_steps = 0; /* steps move to the front where some are left out: numbers of runs, stores that nothing reads */
    for (size_t i = 0; i < n_steps; i++) {
        if (!map_step(mapping, i)) {
            return NULL;
        }
    }
    return draft_finish(mapping->lowering, draft);
}

/* Whether each stack has an item of its own that the body makes, and all are filled the same way round. */
static bool stores_all(const struct mdf_lowered_loop *loop, const struct mdf_lowered_nest *nest)
{
    for (size_t i = 0; i < loop->n_stacks; i++) {
        const struct mdf_lowered_stack *stack = &loop->stacks[i];

        if (stack->is_reversed != loop->stacks[0].is_reversed || stack->appends || stack->is_put ||
            stack_of(loop, stack->item) != stack || !mdf_nest_stores(nest, stack->item)) {
            return false;
        }
    }
    return loop->n_stacks > 0;
}

/* What it is as a nest; NULL: it stays a loop. */
static struct mdf_lowered_nest *map_loop(struct lowering *lowering, const struct mdf_lowered_loop *loop)
{
    const struct mdf_lowered_nest *body = body_of(lowering, loop);
    struct mapping *mapping;

    if (!is_nest_map(lowering, loop, body) || !stores_all(loop, body)) {
        return NULL;
    }
    mapping = mdf_arena_allocate(&lowering->scratch, sizeof *mapping);
    if (mapping == NULL) {
        lowering_out_of_memory(lowering);
        return NULL;
    }
    mapping->lowering = lowering;
    mapping->loop = loop;
    mapping->body = body;
    mapping->is_backwards = loop->stacks[0].is_reversed;
    return nest_of(mapping);
}

bool lowering_map_loops(struct lowering *lowering, struct region *region)
{
    for (size_t i = 0; i < region->n_ops; i++) {
        struct mdf_lowered_op *op = &region->ops[i];
        const struct mdf_lowered_loop *loop = op->code == MDF_LOWERED_LOOP ? op->of.loop : NULL;
        struct mdf_lowered_nest *nest = loop == NULL ? NULL : map_loop(lowering, loop);

        if (nest == NULL) {
            continue;
        }
        for (size_t k = 0; k < loop->n_stacks; k++) {
            lowering->facts[loop->stacks[k].item].is_nested = false;
            lowering->facts[loop->stacks[k].stack].is_nested = lowering->facts[loop->stacks[k].stack].is_mapped = true;
        }
        *op = (struct mdf_lowered_op){.code = MDF_LOWERED_NEST, .out = MDF_LOWERED_NONE, .origin = op->origin};
        op->of.nest = nest;
    }
    return !lowering_has_failed(lowering);
}
