/* source_uses.c - who reads which value of a lowered region: what need not be written at all. */
#include "functions/kernel/routine.h"
#include "mdf_c/source/nests/nest_plan.h"
#include "mdf_c/source/source_writer.h"

#include <string.h>

/* ------------------------------------------------------------------ live values */

struct mdf_nest_set mdf_source_live_steps(const struct mdf_source_writer *writer, const struct mdf_lowered_nest *nest)
{
    struct mdf_nest_set live = {{0}};

    for (size_t i = nest->n_steps; i-- > 0;) {
        const struct mdf_nest_step *step = &nest->steps[i];
        bool is_result = step->kind == MDF_NEST_STORE && mdf_source_is_live(writer, step->view.id);

        if (is_result || mdf_source_step_may_bail_out(step)) {
            mdf_nest_set_add(&live, i);
        }
        if (mdf_nest_set_has(&live, i)) {
            mdf_nest_add_operands(step, &live);
        }
    }
    return live;
}

static bool mark(struct mdf_source_writer *writer, mdf_lowered_id id)
{
    if (id == MDF_LOWERED_NONE || writer->values[id].is_live) {
        return false;
    }
    writer->values[id].is_live = true;
    return true;
}

bool mdf_source_is_live(const struct mdf_source_writer *writer, mdf_lowered_id id)
{
    return id != MDF_LOWERED_NONE && writer->values[id].is_live;
}

static bool mark_region(struct mdf_source_writer *writer, const struct mdf_lowered_region *region);

bool mdf_source_takes_grown_item(const struct mdf_source_writer *writer, const struct mdf_lowered_call *call)
{
    return call->call.operator!= NULL && call->call.operator->form == MDF_FORM_GATHER &&
        call->inputs[0] != MDF_LOWERED_NONE && writer->lowered->values[call->inputs[0]]
            .open_axes != 0;
}

/* Whether somebody reads elements of it. */
static bool is_read(const struct mdf_source_writer *writer, mdf_lowered_id id)
{
    return mdf_source_is_live(writer, id) &&
           (writer->lowered->values[id].form.length > 0 || writer->lowered->values[id].open_axes != 0);
}

/* What may refuse what it is given, or draws, does so whoever needs its results; a routine writes all that it has. */
static bool mark_call(struct mdf_source_writer *writer, const struct mdf_lowered_call *call)
{
    const struct mdf_routine *routine = call->stack != NULL ? NULL : call->call.operator->routine;
    bool is_quotient = call->stack == NULL && call->call.operator->form == MDF_FORM_QUOTIENT;
    bool may_refuse =
        mdf_source_takes_grown_item(writer, call) || is_quotient || (routine != NULL && (routine->why != NULL || routine->draws));
    bool any = may_refuse, changed = false;

    for (size_t i = 0; i < call->n_outputs; i++) {
        any = any || (call->stack != NULL ? mdf_source_is_live(writer, call->outputs[i]) : is_read(writer, call->outputs[i]));
        changed |=
            i > 0 && call->stack != NULL && mdf_source_is_live(writer, call->outputs[i]) && mark(writer, call->stack->columns);
    }
    if (call->stack != NULL) { /* what it puts there it takes from the stack's own item */
        return (any && mark(writer, call->stack->stack)) || changed;
    }
    for (size_t i = 0; any && (routine != NULL || may_refuse) && i < call->n_outputs; i++) {
        changed |= mark(writer, call->outputs[i]);
    }
    for (size_t i = 0; any && i < call->n_inputs; i++) {
        changed |= mark(writer, call->inputs[i]);
    }
    return changed;
}

static bool mark_branches(struct mdf_source_writer *writer, const struct mdf_lowered_if *branches)
{
    bool changed = mark(writer, branches->condition);

    for (size_t i = 0; i < branches->n_merges; i++) {
        if (mdf_source_is_live(writer, branches->merges[i].out)) {
            changed |= mark(writer, branches->merges[i].then);
            changed |= mark(writer, branches->merges[i].otherwise);
        }
    }
    changed |= mark_region(writer, &branches->then);
    changed |= mark_region(writer, &branches->otherwise);
    return changed;
}

static bool mark_loop(struct mdf_source_writer *writer, const struct mdf_lowered_loop *loop)
{
    bool changed = mark(writer, loop->trip_count);

    changed |= mark(writer, loop->condition);
    changed |= mark(writer, loop->next_condition);
    for (size_t i = 0; i < loop->n_states; i++) {
        if (mdf_source_is_live(writer, loop->states[i].parameter)) {
            changed |= mark(writer, loop->states[i].initial);
            changed |= mark(writer, loop->states[i].next);
        }
    }
    for (size_t i = 0; i < loop->n_rows; i++) {
        changed |= mdf_source_is_live(writer, loop->rows[i].parameter) && mark(writer, loop->rows[i].source);
    }
    for (size_t i = 0; i < loop->n_stacks; i++) {
        if (mdf_source_is_live(writer, loop->stacks[i].stack)) {
            changed |= mark(writer, loop->stacks[i].item);
            changed |= loop->stacks[i].appends && mark(writer, loop->stacks[i].initial);
        }
    }
    changed |= mark_region(writer, &loop->body);
    return changed;
}

static bool mark_nest(struct mdf_source_writer *writer, const struct mdf_lowered_nest *nest)
{
    struct mdf_nest_set steps = mdf_source_live_steps(writer, nest);
    bool changed = false;

    for (size_t i = 0; i < nest->n_steps && !mdf_nest_set_is_empty(&steps); i++) {
        mdf_lowered_id id = nest->steps[i].view.id;

        /* What is open says how long the axis is. */
        changed |= nest->steps[i].kind == MDF_NEST_LOAD &&
                   (mdf_nest_set_has(&steps, i) || writer->lowered->values[id].open_axes != 0) && mark(writer, id);
    }
    return changed;
}

static bool mark_op(struct mdf_source_writer *writer, const struct mdf_lowered_op *op)
{
    bool changed = false;

    switch ((enum mdf_lowered_code)op->code) {
    case MDF_LOWERED_CALL:
        return mark_call(writer, op->of.call);
    case MDF_LOWERED_NEST:
        return mark_nest(writer, op->of.nest);
    case MDF_LOWERED_IF:
        return mark_branches(writer, op->of.branches);
    case MDF_LOWERED_LOOP:
        return mark_loop(writer, op->of.loop);
    MDF_LOWERED_CASES_OF_ELEMENTS:
        break;
    }
    if (!mdf_source_is_live(writer, op->out) && !mdf_source_op_may_bail_out(writer->lowered, op)) {
        return false;
    }
    /* Where what is put is not read, it is still asked whether the place is there. */
    for (size_t i = op->code == MDF_LOWERED_PUT && !mdf_source_is_live(writer, op->out) ? 2 : 0; i < op->n_in; i++) {
        changed |= mark(writer, op->in[i]);
    }
    return changed;
}

static bool mark_region(struct mdf_source_writer *writer, const struct mdf_lowered_region *region)
{
    bool changed = false;

    for (size_t i = region->n_ops; i-- > 0;) {
        changed |= mark_op(writer, &region->ops[i]);
    }
    return changed;
}

void mdf_source_mark_live(struct mdf_source_writer *writer)
{
    const struct mdf_lowered *lowered = writer->lowered;

    for (size_t i = 0; i < lowered->n_outputs; i++) {
        if (writer->find_slot(writer->slot_context, lowered->outputs[i].slot) != NULL) {
            mark(writer, lowered->outputs[i].id);
            if (lowered->outputs[i].is_optional) {
                mark(writer, lowered->outputs[i].is_there);
            }
        }
    }
    while (mark_region(writer, &lowered->region)) {
    }
}
