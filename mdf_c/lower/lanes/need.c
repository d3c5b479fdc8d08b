/* need.c - which values of a narrow form have to be made, for what is wanted of it. See lanes.h. Calls, loops, puts, and all that
 * may bail out are made in any case: an instance alone would tell what comes up there. */
#include "functions/elements/element.h"
#include "mdf_c/lower/lanes/widening.h"

struct needing {
    const struct mdf_lowered *narrow;
    bool *needed;
    bool has_changed;
};

static void need(struct needing *needing, mdf_lowered_id id)
{
    if (id != MDF_LOWERED_NONE && !needing->needed[id]) {
        needing->needed[id] = needing->has_changed = true;
    }
}

static void need_all(struct needing *needing, const mdf_lowered_id *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        need(needing, ids[i]);
    }
}

static bool is_needed(const struct needing *needing, mdf_lowered_id id)
{
    return id != MDF_LOWERED_NONE && needing->needed[id];
}

static void need_region(struct needing *needing, const struct mdf_lowered_region *region);

static void need_loop(struct needing *needing, const struct mdf_lowered_loop *loop)
{
    need(needing, loop->trip_count);
    need(needing, loop->condition);
    need(needing, loop->next_condition);
    for (size_t i = 0; i < loop->n_rows; i++) {
        need(needing, loop->rows[i].source);
        need(needing, loop->rows[i].parameter);
    }
    for (size_t i = 0; i < loop->n_stacks; i++) {
        need(needing, loop->stacks[i].item);
        need(needing, loop->stacks[i].appends ? loop->stacks[i].initial : MDF_LOWERED_NONE);
    }
    need_region(needing, &loop->body);
    for (size_t i = 0; i < loop->n_states; i++) {
        if (is_needed(needing, loop->states[i].parameter)) {
            need(needing, loop->states[i].initial);
            need(needing, loop->states[i].next);
        }
    }
}

static void need_branches(struct needing *needing, const struct mdf_lowered_if *branches)
{
    need(needing, branches->condition);
    for (size_t i = 0; i < branches->n_merges; i++) {
        if (is_needed(needing, branches->merges[i].out)) {
            need(needing, branches->merges[i].then);
            need(needing, branches->merges[i].otherwise);
        }
    }
    need_region(needing, &branches->then);
    need_region(needing, &branches->otherwise);
}

/* Whether a step refuses some elements: a division, a cast of reals to whole numbers, a function that says so. */
static bool may_refuse(const struct mdf_nest_step *step)
{
    bool is_cut = step->code == MDF_LOWERED_CAST && mdf_dtype_kind((mdf_dtype)step->operand_dtype) == 'f' &&
                  mdf_dtype_kind((mdf_dtype)step->dtype) != 'f' && step->dtype != MDF_DTYPE_BOOL;
    const struct mdf_element_form *form =
        step->code == MDF_LOWERED_ELEMENTS && step->operator!= NULL
            ? mdf_element_form(mdf_element_of(step->operator, step->settings), (mdf_dtype)step->operand_dtype)
            : NULL;

    return step->kind == MDF_NEST_ELEMENT &&
           (is_cut || step->code == MDF_LOWERED_DIVIDE_NONZERO || (form != NULL && form->refused != NULL) ||
            (step->code >= MDF_LOWERED_QUOTIENT && step->code <= MDF_LOWERED_FLOOR_REMAINDER));
}

bool mdf_lanes_needs_nest(const struct mdf_lowered_nest *nest, const bool *needed)
{
    bool is_made = nest->is_open;

    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];
        bool has_view = step->kind == MDF_NEST_LOAD || step->kind == MDF_NEST_STORE;

        is_made = is_made || may_refuse(step) || (has_view && step->view.at != MDF_NEST_NONE) ||
                  (step->kind == MDF_NEST_STORE && needed[step->view.id]);
    }
    return is_made;
}

static void need_nest(struct needing *needing, const struct mdf_lowered_nest *nest)
{
    if (!mdf_lanes_needs_nest(nest, needing->needed)) {
        return;
    }
    for (size_t i = 0; i < nest->n_steps; i++) {
        if (nest->steps[i].kind == MDF_NEST_LOAD || nest->steps[i].kind == MDF_NEST_STORE) {
            need(needing, nest->steps[i].view.id);
        }
    }
}

static void need_op(struct needing *needing, const struct mdf_lowered_op *op)
{
    switch ((enum mdf_lowered_code)op->code) {
    case MDF_LOWERED_CALL:
        need_all(needing, op->of.call->inputs, op->of.call->n_inputs);
        need_all(needing, op->of.call->outputs, op->of.call->n_outputs);
        break;
    case MDF_LOWERED_NEST:
        need_nest(needing, op->of.nest);
        break;
    case MDF_LOWERED_IF:
        need_branches(needing, op->of.branches);
        break;
    case MDF_LOWERED_LOOP:
        need_loop(needing, op->of.loop);
        break;
    MDF_LOWERED_CASES_OF_ELEMENTS:
        if (op->code == MDF_LOWERED_PUT || mdf_lanes_may_bail_out(needing->narrow, op)) {
            need(needing, op->out);
        }
        if (is_needed(needing, op->out)) {
            need_all(needing, op->in, op->n_in);
        }
        break;
    }
}

static void need_region(struct needing *needing, const struct mdf_lowered_region *region)
{
    for (size_t i = region->n_ops; i-- > 0;) {
        need_op(needing, &region->ops[i]);
    }
}

void mdf_lanes_need(const struct mdf_lowered *narrow, bool *needed)
{
    struct needing needing = {narrow, needed, true};

    while (needing.has_changed) {
        needing.has_changed = false;
        need_region(&needing, &narrow->region);
    }
}
