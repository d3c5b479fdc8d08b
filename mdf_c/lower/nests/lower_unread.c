/* lower_unread.c - what nothing reads is dropped when all ops are there: calls that can not fail, moves whose results are read
 * where they lie, stores of nests and what leads to them. Axes of nests that are gone through as one are joined. See lowering.h.
 */
#include "functions/kernel/move.h"
#include "mdf_c/lower/nests/nest_draft.h"
#include "mdf_c/lowered/lowered_reads.h"

#include <string.h>

struct counting {
    struct lowering *lowering;
    size_t *n_reads; /* of each value */
    int step;        /* 1: reads are added; -1: taken back */
};

static void count(void *context, mdf_lowered_id id, bool is_aliased)
{
    struct counting *counting = context;

    (void)is_aliased;
    counting->n_reads[id] += (size_t)counting->step;
}

static void count_op(struct counting *counting, const struct mdf_lowered_op *op)
{
    mdf_lowered_visit_reads(op, count, counting);
}

/* ------------------------------------------------------------------ nests */

/* Whether a number may not fit the type that it is cast to. */
static bool is_checked_cast(const struct mdf_nest_step *step)
{
    return step->code == MDF_LOWERED_CAST && mdf_dtype_kind((mdf_dtype)step->operand_dtype) == 'f' &&
           mdf_dtype_kind((mdf_dtype)step->dtype) != 'f' && step->dtype != MDF_DTYPE_BOOL;
}

/* A nest with an open axis loads a value that says how long it is. */
static void keep_open_load(const struct counting *counting, const struct mdf_lowered_nest *nest, bool needed[])
{
    size_t first = nest->n_steps;
    bool is_empty = true;

    for (size_t i = nest->n_steps; i-- > 0;) {
        is_empty = is_empty && !needed[i];
        if (nest->steps[i].kind == MDF_NEST_LOAD && counting->lowering->lowered->values[nest->steps[i].view.id].open_axes != 0) {
            first = i;
        }
    }
    if (!is_empty && first < nest->n_steps) {
        needed[first] = true;
    }
}

/* Whether a step of a nest may bail out. */
static bool step_may_bail_out(const struct mdf_nest_step *step)
{
    bool is_element = step->kind == MDF_NEST_ELEMENT;

    return step->view.at != MDF_NEST_NONE ||
           (is_element &&
            (step->code == MDF_LOWERED_DIVIDE_NONZERO || step->code == MDF_LOWERED_ELEMENTS || is_checked_cast(step) ||
             (step->code >= MDF_LOWERED_QUOTIENT && step->code <= MDF_LOWERED_FLOOR_REMAINDER)));
}

/* Drops stores that nothing reads, and steps that lead to no store. An element op that bails out does so for elements that nobody
 * looks at, too, when the model is evaluated plainly: it stays. */
static void trim_nest(const struct counting *counting, struct mdf_lowered_nest *nest)
{
    bool needed[MDF_NEST_MOST_STEPS] = {false};
    uint8_t numbers[MDF_NEST_MOST_STEPS];
    size_t n = 0;

    for (size_t i = nest->n_steps; i-- > 0;) {
        const struct mdf_nest_step *step = &nest->steps[i];

        needed[i] =
            needed[i] || (step->kind == MDF_NEST_STORE && counting->n_reads[step->view.id] > 0) || step_may_bail_out(step);
        for (size_t k = 0; needed[i] && k < step->n_in; k++) {
            needed[step->in[k]] = true;
        }
        if (needed[i] && step->view.at != MDF_NEST_NONE) {
            needed[step->view.at] = true;
        }
    }
    if (nest->is_open) {
        keep_open_load(counting, nest, needed);
    }
    for (size_t i = 0; i < nest->n_steps; i++) {
        struct mdf_nest_step step = nest->steps[i];

        if (!needed[i]) {
            if (step.kind == MDF_NEST_STORE) {
                counting->lowering->facts[step.view.id].is_nested = false;
            }
            counting->lowering->has_dropped_folds = counting->lowering->has_dropped_folds || step.kind == MDF_NEST_FOLD;
            continue;
        }
        mdf_nest_renumber(&step, numbers);
        numbers[i] = (uint8_t)n;
        nest->steps[n++] = step;
    }
    nest->n_steps = n;
}

/* ------------------------------------------------------------------ ops */

static bool is_unread_move(const struct counting *counting, mdf_lowered_id id)
{
    const struct lowering_view *view = id != MDF_LOWERED_NONE ? &counting->lowering->facts[id].view : NULL;

    return view == NULL || (counting->n_reads[id] == 0 && view->is_there && view->at == MDF_LOWERED_NONE);
}

/* Whether a call gives a result whatever its elements are: products of matrices, reductions, moves that are known before; of
 * arrays whose shapes are. */
static bool never_fails(const struct lowering *lowering, const struct mdf_lowered_op *op)
{
    const struct mdf_operator *row = op->operator;
    const struct mdf_lowered_call *call = op->of.call;
    bool is_product = row->form == MDF_FORM_MATMUL || row->form == MDF_FORM_DOT;
    size_t n_data = row->move != NULL ? mdf_move_data(row->move, call->n_inputs) : row->fold != NULL ? 1 : call->n_inputs;

    for (size_t i = 0; i < call->n_inputs; i++) {
        mdf_lowered_id id = call->inputs[i];

        if (id != MDF_LOWERED_NONE && (lowering->facts[id].is_open || lowering_example(lowering, id)->kind != MDF_KIND_TENSOR ||
                                       (i >= n_data && !lowering_is_constant(lowering, id) && !mdf_counts_by_form(row, i)))) {
            return false;
        }
    }
    return (is_product || row->fold != NULL || row->move != NULL);
}

static bool has_reader(const struct counting *counting, const struct mdf_lowered_call *call)
{
    for (size_t i = 0; i < call->n_outputs; i++) {
        if (call->outputs[i] != MDF_LOWERED_NONE && counting->n_reads[call->outputs[i]] > 0) {
            return true;
        }
    }
    return false;
}

static bool nest_may_bail_out(const struct mdf_lowered_nest *nest)
{
    size_t i;

    for (i = 0; i < nest->n_steps && !step_may_bail_out(&nest->steps[i]); i++) {
    }
    return nest->is_open || i < nest->n_steps;
}

/* Whether the runs of a region end by themselves, change nothing but the values that they make, and never bail out. */
static bool is_harmless(const struct lowering *lowering, const struct mdf_lowered_region *region);

static bool is_harmless_loop(const struct lowering *lowering, const struct mdf_lowered_loop *loop)
{
    return loop->n_runs != SIZE_MAX && loop->condition == MDF_LOWERED_NONE && loop->limit == 0 &&
           is_harmless(lowering, &loop->body);
}

static bool is_harmless_op(const struct lowering *lowering, const struct mdf_lowered_op *op)
{
    switch ((enum mdf_lowered_code)op->code) {
    case MDF_LOWERED_NEST:
        return !nest_may_bail_out(op->of.nest);
    case MDF_LOWERED_CALL:
        return op->of.call->stack == NULL && (op->operator->flags & MDF_OPERATOR_RANDOM) == 0 && never_fails(lowering, op);
    case MDF_LOWERED_LOOP:
        return is_harmless_loop(lowering, op->of.loop);
    case MDF_LOWERED_IF:
        return is_harmless(lowering, &op->of.branches->then) && is_harmless(lowering, &op->of.branches->otherwise);
    case MDF_LOWERED_PUT:
        return false;
        MDF_LOWERED_ELEMENT_LIST(MDF_LOWERED_CASE)
        break;
    }
    return !mdf_lowered_may_bail_out(op->code);
}

static bool is_harmless(const struct lowering *lowering, const struct mdf_lowered_region *region)
{
    size_t i;

    for (i = 0; i < region->n_ops && is_harmless_op(lowering, &region->ops[i]); i++) {
    }
    return i == region->n_ops;
}

/* Whether a loop, whose own reads do not count now, and whose stacks that nobody reads are gone, is of no use. */
static bool is_unread_loop(const struct counting *counting, const struct mdf_lowered_loop *loop)
{
    size_t i;

    for (i = 0; i < loop->n_states && counting->n_reads[loop->states[i].parameter] == 0; i++) {
    }
    return i == loop->n_states && loop->n_stacks == 0 && is_harmless_loop(counting->lowering, loop);
}

/* Whether nothing reads what an op makes, and it may be left out for that. */
static bool is_unread(const struct counting *counting, const struct mdf_lowered_op *op)
{
    if (op->code < MDF_LOWERED_PUT) {
        return counting->n_reads[op->out] == 0 && !counting->lowering->facts[op->out].is_watched &&
               !mdf_lowered_may_bail_out(op->code);
    }
    if (op->code != MDF_LOWERED_CALL || op->of.call->product != NULL || op->of.call->stack != NULL ||
        (op->operator->flags & MDF_OPERATOR_RANDOM) != 0) {
        return false;
    }
    if (!has_reader(counting, op->of.call) && never_fails(counting->lowering, op)) {
        return true;
    }
    for (size_t i = 0; i < op->of.call->n_outputs; i++) {
        if (!is_unread_move(counting, op->of.call->outputs[i])) {
            return false;
        }
    }
    return op->of.call->n_outputs > 0;
}

/* Drops stacks that nothing reads; where calls put items into one of them, the stacks stay where they are. */
static void drop_stacks(const struct counting *counting, struct mdf_lowered_loop *loop)
{
    size_t n = 0;

    for (size_t i = 0; i < loop->n_stacks; i++) {
        if (loop->stacks[i].is_put) {
            return;
        }
    }
    for (size_t i = 0; i < loop->n_stacks; i++) {
        if (counting->n_reads[loop->stacks[i].stack] > 0 || counting->lowering->facts[loop->stacks[i].stack].is_watched) {
            loop->stacks[n++] = loop->stacks[i];
        }
    }
    loop->n_stacks = n;
}

/* Drops rows that the body does not read, but where products are computed ahead of rows. */
static void drop_rows(const struct counting *counting, struct mdf_lowered_loop *loop)
{
    size_t n = 0;

    for (size_t i = 0; loop->n_products == 0 && i < loop->n_rows; i++) {
        mdf_lowered_id parameter = loop->rows[i].parameter;

        if (counting->n_reads[parameter] > 0 || counting->lowering->facts[parameter].is_watched) {
            loop->rows[n++] = loop->rows[i];
        } else {
            counting->n_reads[loop->rows[i].source]--;
        }
    }
    loop->n_rows = loop->n_products == 0 ? n : loop->n_rows;
}

/* Whether a load is at a place that a number says which is one for all indices; a nest has such a load with that number. */
static const struct mdf_nest_step *outer_index(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *load)
{
    const struct mdf_nest_step *index =
        load->kind == MDF_NEST_LOAD && load->view.at != MDF_NEST_NONE ? &nest->steps[load->view.at] : NULL;

    return index != NULL && index->kind == MDF_NEST_LOAD && index->level == 0 && index->view.at == MDF_NEST_NONE ? index : NULL;
}

static bool looks_at(const struct mdf_lowered_nest *nest, const struct mdf_nest_view *view, const struct mdf_nest_view *index)
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_view *load = &nest->steps[i].view;
        const struct mdf_nest_step *number = outer_index(nest, &nest->steps[i]);

        if (number != NULL && load->id == view->id && load->at_limit == view->at_limit && load->at_stride == view->at_stride &&
            number->view.id == index->id && number->view.first == index->first) {
            return true;
        }
    }
    return false;
}

/* Whether a nest only looks whether indices are some, and those behind it do so, too. */
static bool is_looked_at_later(const struct mdf_lowered_region *region, size_t number)
{
    const struct mdf_lowered_nest *nest = region->ops[number].of.nest;
    size_t j;

    for (size_t i = 0; i < nest->n_steps && !nest->is_open; i++) {
        const struct mdf_nest_step *index = outer_index(nest, &nest->steps[i]);

        if (nest->steps[i].kind != MDF_NEST_LOAD || (index == NULL && nest->steps[i].view.at != MDF_NEST_NONE)) {
            return false;
        }
        for (j = number + 1; index != NULL && j < region->n_ops; j++) {
            if (region->ops[j].code == MDF_LOWERED_NEST && !region->ops[j].of.nest->is_open &&
                looks_at(region->ops[j].of.nest, &nest->steps[i].view, &index->view)) {
                break;
            }
        }
        if (index != NULL && j == region->n_ops) {
            return false;
        }
    }
    return !nest->is_open;
}

static void drop_region(struct counting *counting, struct mdf_lowered_region *region)
{
    bool *stays;
    size_t n = 0;

    stays = mdf_arena_array(&counting->lowering->scratch, region->n_ops, sizeof *stays);
    for (size_t i = region->n_ops; stays != NULL && i-- > 0;) {
        struct mdf_lowered_op *op = &region->ops[i];

        stays[i] = !is_unread(counting, op);
        if (!stays[i] || op->code == MDF_LOWERED_NEST || op->code == MDF_LOWERED_LOOP) {
            counting->step = -1;
            count_op(counting, op);
            counting->step = 1;
        }
        if (op->code == MDF_LOWERED_IF) {
            drop_region(counting, &op->of.branches->then);
            drop_region(counting, &op->of.branches->otherwise);
        } else if (op->code == MDF_LOWERED_LOOP) {
            drop_stacks(counting, op->of.loop);
            stays[i] = !is_unread_loop(counting, op->of.loop);
            if (!stays[i]) {
                continue;
            }
            count_op(counting, op);
            drop_region(counting, &op->of.loop->body);
            drop_rows(counting, op->of.loop);
        } else if (op->code == MDF_LOWERED_NEST) {
            trim_nest(counting, op->of.nest);
            draft_join_axes(op->of.nest);
            count_op(counting, op);
            stays[i] = op->of.nest->n_steps > 0;
        }
    }
    for (size_t i = 0; stays != NULL && i < region->n_ops; i++) {
        if (stays[i] && !(region->ops[i].code == MDF_LOWERED_NEST && is_looked_at_later(region, i))) {
            region->ops[n++] = region->ops[i];
        }
    }
    region->n_ops = stays != NULL ? n : region->n_ops;
}

bool lowering_drop_unread(struct lowering *lowering)
{
    struct counting counting = {.lowering = lowering, .step = 1};

    counting.n_reads = mdf_lowered_count_reads(lowering->lowered, &lowering->scratch);
    if (counting.n_reads == NULL) {
        return lowering_out_of_memory(lowering);
    }
    drop_region(&counting, &lowering->lowered->region);
    return !lowering->scratch.has_refused || lowering_out_of_memory(lowering);
}
