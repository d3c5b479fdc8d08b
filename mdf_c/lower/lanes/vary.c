/* vary.c - which values differ between instances. See lanes.h. What may differ is taken to: a value that depends on one that
 * does, what an IF leaves whose condition does, and all states of a loop that runs for some of them longer than for others. */
#include "mdf_c/lower/lanes/widening.h"

struct marking {
    bool *varies;
    bool has_changed;
    bool draws; /* what draws is marked */
};

static void mark_as(struct marking *marking, mdf_lowered_id id, bool varies)
{
    if (id != MDF_LOWERED_NONE && varies && !marking->varies[id]) {
        marking->varies[id] = marking->has_changed = true;
    }
}

static bool is_marked(const struct marking *marking, mdf_lowered_id id)
{
    return id != MDF_LOWERED_NONE && marking->varies[id];
}

static bool any_marked(const struct marking *marking, const mdf_lowered_id *ids, size_t n)
{
    size_t i;

    for (i = 0; i < n && !is_marked(marking, ids[i]); i++) {
    }
    return i < n;
}

bool mdf_lanes_has_own_bounds(const struct mdf_lowered_loop *loop, const bool *varies)
{
    return (loop->trip_count != MDF_LOWERED_NONE && varies[loop->trip_count]) ||
           (loop->condition != MDF_LOWERED_NONE && (varies[loop->condition] || varies[loop->next_condition]));
}

static void mark_region(struct marking *marking, const struct mdf_lowered_region *region);

static void mark_loop(struct marking *marking, const struct mdf_lowered_loop *loop)
{
    bool has_own_bounds = mdf_lanes_has_own_bounds(loop, marking->varies);

    for (size_t i = 0; i < loop->n_states; i++) {
        mark_as(marking, loop->states[i].parameter,
                has_own_bounds || is_marked(marking, loop->states[i].initial) || is_marked(marking, loop->states[i].next));
    }
    for (size_t i = 0; i < loop->n_rows; i++) {
        mark_as(marking, loop->rows[i].parameter, is_marked(marking, loop->rows[i].source));
    }
    mark_region(marking, &loop->body);
    for (size_t i = 0; i < loop->n_stacks; i++) {
        mark_as(marking, loop->stacks[i].stack,
                has_own_bounds || is_marked(marking, loop->stacks[i].item) ||
                    (loop->stacks[i].appends && is_marked(marking, loop->stacks[i].initial)));
    }
}

static void mark_branches(struct marking *marking, const struct mdf_lowered_if *branches)
{
    bool varies = is_marked(marking, branches->condition);

    mark_region(marking, &branches->then);
    mark_region(marking, &branches->otherwise);
    for (size_t i = 0; i < branches->n_merges; i++) {
        mark_as(marking, branches->merges[i].out,
                varies || is_marked(marking, branches->merges[i].then) || is_marked(marking, branches->merges[i].otherwise));
    }
}

static void mark_nest(struct marking *marking, const struct mdf_lowered_nest *nest)
{
    bool varies = false;

    for (size_t i = 0; i < nest->n_steps; i++) {
        varies = varies || (nest->steps[i].kind == MDF_NEST_LOAD && is_marked(marking, nest->steps[i].view.id));
    }
    for (size_t i = 0; i < nest->n_steps; i++) { /* a part of what another nest stores may be the same in all */
        varies = varies || (nest->steps[i].kind == MDF_NEST_STORE && is_marked(marking, nest->steps[i].view.id));
    }
    for (size_t i = 0; i < nest->n_steps; i++) {
        if (nest->steps[i].kind == MDF_NEST_STORE) {
            mark_as(marking, nest->steps[i].view.id, varies);
        }
    }
}

static void mark_op(struct marking *marking, const struct mdf_lowered_op *op)
{
    switch ((enum mdf_lowered_code)op->code) {
    case MDF_LOWERED_CALL:
        for (size_t i = 0; i < op->of.call->n_outputs; i++) {
            mark_as(marking, op->of.call->outputs[i],
                    (marking->draws && mdf_lanes_draws(op->of.call)) || any_marked(marking, op->of.call->inputs, op->of.call->n_inputs));
        }
        break;
    case MDF_LOWERED_NEST:
        mark_nest(marking, op->of.nest);
        break;
    case MDF_LOWERED_IF:
        mark_branches(marking, op->of.branches);
        break;
    case MDF_LOWERED_LOOP:
        mark_loop(marking, op->of.loop);
        break;
    MDF_LOWERED_CASES_OF_ELEMENTS:
        mark_as(marking, op->out, any_marked(marking, op->in, op->n_in));
        break;
    }
}

static void mark_region(struct marking *marking, const struct mdf_lowered_region *region)
{
    for (size_t i = 0; i < region->n_ops; i++) {
        mark_op(marking, &region->ops[i]);
    }
}

static void mark_all(const struct mdf_lowered *narrow, bool *marks, bool draws)
{
    struct marking marking = {marks, true, draws};

    while (marking.has_changed) {
        marking.has_changed = false;
        mark_region(&marking, &narrow->region);
    }
}

void mdf_lanes_mark(const struct mdf_lowered *narrow, bool *varies)
{
    mark_all(narrow, varies, true);
}

void mdf_lanes_mark_what_follows(const struct mdf_lowered *narrow, bool *marks)
{
    mark_all(narrow, marks, false);
}
