/* lower_growth.c - states of a Loop that only grow: each run puts something behind them, and nothing else in the body looks at
 * them. Such a state becomes a stack (struct mdf_lowered_stack), which nobody copies to make it longer: an array behind what it
 * begins with, a list as the array of its items: behind the loop it is a sequence (lower_sequence.c). See lower_loops.h. */
#include "mdf_c/lower/loops/lower_loops.h"
#include "mdf_c/lower/terms.h"

#include "functions/elements/element.h"

#include <string.h>

/* The axis along which an item is put behind a state, if their elements lie one after the other then, or would with that axis as
 * the first one; MDF_INLINE_RANK: they do not. */
static size_t find_axis(const struct growth *growth, const struct mdf_value *state, const struct mdf_value *item, size_t axis)
{
    if (item->kind != MDF_KIND_TENSOR || item->length == 0 || item->dtype != state->dtype || item->strength != state->strength ||
        item->rank != state->rank || axis >= state->rank || (growth->is_turned && axis != growth->axis)) {
        return MDF_INLINE_RANK;
    }
    for (size_t d = 0; d < state->rank; d++) {
        int64_t size = mdf_value_shape(state)[d];

        if (d != axis && (size != mdf_value_shape(item)[d] || (d < axis && size != 1 && !growth->is_turned))) {
            return MDF_INLINE_RANK;
        }
    }
    return axis;
}

mdf_lowered_id lowering_add_longer(struct lowering *lowering, mdf_lowered_id state, mdf_lowered_id item, size_t axis)
{
    struct growth *growth = mdf_arena_allocate(&lowering->scratch, sizeof *growth);
    mdf_lowered_id id;

    if (growth == NULL) {
        lowering_out_of_memory(lowering);
        return MDF_LOWERED_NONE;
    }
    *growth = *lowering->facts[state].growth;
    growth->item = item;
    growth->axis = (uint8_t)axis;
    id = lowering_add_placeholder(lowering, lowering_example(lowering, state));
    if (id != MDF_LOWERED_NONE) {
        lowering->facts[id].growth = growth;
        lowering->facts[id].depth = lowering->facts[state].depth;
    }
    return id;
}

mdf_lowered_id lowering_append_row(struct lowering *lowering, mdf_lowered_id state, mdf_lowered_id item)
{
    if (lowering->facts[state].growth->item != MDF_LOWERED_NONE || lowering->facts[item].is_open) {
        lowering_fail(lowering, MDF_REFUSED_CHANGING_STATE);
        return MDF_LOWERED_NONE;
    }
    return lowering_add_longer(lowering, state, item, 0);
}

/* Whether an array may become an item of a list. */
static bool may_be_item(const struct mdf_value *list, const struct mdf_value *item)
{
    return item->kind == MDF_KIND_TENSOR && item->strength == MDF_STRENGTH_TYPED && list->dtype == item->dtype &&
           item->length > 0;
}

/* What Concat or SequenceInsert makes of a state; NONE without a refusal: it does something else. */
static mdf_lowered_id append(struct lowering *lowering, const struct mdf_code_call *source, mdf_lowered_id state,
                             mdf_lowered_id item)
{
    const struct mdf_value *before = lowering_example(lowering, state), *added = lowering_example(lowering, item);
    size_t axis;

    if (source->operator->form == MDF_FORM_SEQUENCE_INSERT) {
        return before->kind == MDF_KIND_LIST && may_be_item(before, added) ? lowering_add_longer(lowering, state, item, 0)
                                                                           : MDF_LOWERED_NONE;
    }
    if (source->operator->form != MDF_FORM_CONCATENATE || before->kind != MDF_KIND_TENSOR) {
        return MDF_LOWERED_NONE;
    }
    axis = find_axis(lowering->facts[state].growth, before, added, lowering_axis(source, before->rank, MDF_INLINE_RANK));
    return axis < MDF_INLINE_RANK ? lowering_add_longer(lowering, state, item, axis) : MDF_LOWERED_NONE;
}

/* The length of a list that was empty before the loop. */
static mdf_lowered_id count_items(struct lowering *lowering, const struct growth *growth)
{
    return growth->item == MDF_LOWERED_NONE
               ? growth->loop->number
               : mdf_term_compute(lowering, MDF_LOWERED_ADD, false, growth->loop->number, mdf_term_whole(lowering, 1));
}

/* Up to the last one that is given. */
static size_t count_inputs(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source)
{
    size_t n = source->n_inputs;

    for (; n > 0; n--) {
        mdf_lowered_id id = source->inputs[n - 1] == MDF_NO_OPERAND
                                ? MDF_LOWERED_NONE
                                : lowering_any_value_of(lowering, scope, source->inputs[n - 1]);

        if (id != MDF_LOWERED_NONE && lowering_example(lowering, id)->kind != MDF_KIND_NONE) {
            break;
        }
    }
    return n;
}

static bool append_call(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source, bool *taken)
{
    mdf_lowered_id state = lowering_any_value_of(lowering, scope, source->inputs[0]), item, result = MDF_LOWERED_NONE;
    bool is_list = lowering_example(lowering, state)->kind == MDF_KIND_LIST;
    const struct growth *growth = lowering->facts[state].growth;

    if (source->operator->element == MDF_ELEMENT(kept)) {
        result = state;
    } else if (source->operator->form == MDF_FORM_SEQUENCE_LENGTH && is_list) {
        result = count_items(lowering, growth);
    } else if (growth->item == MDF_LOWERED_NONE && count_inputs(lowering, scope, source) == 2) {
        item = lowering_any_value_of(lowering, scope, source->inputs[1]);
        result = item == MDF_LOWERED_NONE || lowering->facts[item].is_open || lowering->facts[item].growth != NULL
                     ? MDF_LOWERED_NONE
                     : append(lowering, source, state, item);
    }
    if (result == MDF_LOWERED_NONE && !is_list && !lowering_has_failed(lowering)) {
        *taken = false; /* it looks at the state as any call does */
        return true;
    }
    return result == MDF_LOWERED_NONE ? lowering_fail(lowering, MDF_REFUSED_CHANGING_STATE)
                                      : lowering_bind(lowering, scope, source->outputs[0], result);
}

bool lowering_append(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source, bool *taken)
{
    mdf_lowered_id first = MDF_LOWERED_NONE;

    for (size_t i = 0; lowering->n_growing > 0 && i < source->n_inputs; i++) {
        mdf_lowered_id id =
            source->inputs[i] == MDF_NO_OPERAND ? MDF_LOWERED_NONE : lowering_any_value_of(lowering, scope, source->inputs[i]);

        if (id == MDF_LOWERED_NONE || lowering->facts[id].growth == NULL) {
            continue;
        }
        if (i > 0 && lowering_example(lowering, id)->kind == MDF_KIND_LIST) {
            return lowering_fail(lowering, MDF_REFUSED_CHANGING_STATE);
        }
        first = i == 0 ? id : first;
    }
    *taken = first != MDF_LOWERED_NONE;
    return !*taken || append_call(lowering, scope, source, taken);
}

/* ------------------------------------------------------------------ states */

/* The one axis along which a state is longer in the second run, if axes of more than one index stand in front of it; else 0. */
static uint8_t find_turned_axis(const struct mdf_value *initial, const struct mdf_value *next)
{
    int64_t n_front = 1;
    size_t axis = 0;

    if (initial->kind != MDF_KIND_TENSOR || next->rank != initial->rank || initial->rank > MDF_INLINE_RANK ||
        initial->strength != MDF_STRENGTH_TYPED || initial->dtype == MDF_DTYPE_STRING) {
        return 0;
    }
    while (axis < initial->rank && mdf_value_shape(next)[axis] <= mdf_value_shape(initial)[axis]) {
        n_front *= mdf_value_shape(initial)[axis++];
    }
    return axis < initial->rank && n_front > 1 ? (uint8_t)axis : 0;
}

bool loop_add_growing_state(struct loop *loop, size_t i, size_t formal)
{
    struct lowering *lowering = loop->lowering;
    const struct mdf_value *initial = lowering_example(lowering, loop->initial[i]);
    struct growth *growth = mdf_arena_allocate(&lowering->scratch, sizeof *growth);
    mdf_lowered_id id;

    if (growth == NULL) {
        return lowering_out_of_memory(lowering);
    }
    if (initial->kind == MDF_KIND_LIST && (initial->length > 0 || !lowering_is_constant(lowering, loop->initial[i]))) {
        return lowering_fail_about(lowering, MDF_REFUSED_NO_NUMBERS, initial, NULL);
    }
    *growth = (struct growth){.loop = loop->result, .state = i, .item = MDF_LOWERED_NONE, .initial = loop->initial[i]};
    if (initial->kind == MDF_KIND_TENSOR) {
        growth->seen = mdf_arena_allocate(&lowering->scratch, sizeof *growth->seen);
        if (growth->seen == NULL) {
            return lowering_out_of_memory(lowering);
        }
        *growth->seen = (struct seen_state){.region = &loop->region,
                                            .next = loop->next[i],
                                            .before = MDF_LOWERED_NONE,
                                            .after = MDF_LOWERED_NONE,
                                            .turned_from = MDF_LOWERED_NONE};
        growth->axis = find_turned_axis(initial, loop->next[i]);
        growth->is_turned = growth->axis > 0;
        growth->initial = growth->is_turned ? lowering_move_axis(lowering, growth->initial, growth->axis, 0) : growth->initial;
        if (growth->initial == MDF_LOWERED_NONE) {
            return false;
        }
    }
    id = lowering_add_placeholder(lowering, lowering_example(lowering, loop->initial[i]));
    if (id != MDF_LOWERED_NONE) {
        lowering->facts[id].growth = growth;
        lowering->facts[id].depth = loop->region.depth;
        lowering->n_growing++;
    }
    return lowering_bind(lowering, &loop->inner, loop->body->formals[formal], loop_show_state(loop, i, id));
}

/* The sequence of what an item is in each run. */
static bool append_items(struct loop *loop, size_t i, mdf_lowered_id item)
{
    struct lowering *lowering = loop->lowering;

    if (loop->result->n_runs == 1 && lowering_example(lowering, item)->length == 1) {
        /* An array of one element, which ops on scalars can not read. */
        return lowering_fail(lowering, MDF_REFUSED_CHANGING_STATE);
    }
    if (!loop_add_stack(loop, item, i, false)) {
        return false;
    }
    loop->results[i] = lowering_add_sequence(lowering, loop->results[i]);
    return loop->results[i] != MDF_LOWERED_NONE;
}

/* The calls that look at the state look at its stack, the last one. */
static bool show_stack(struct loop *loop, const struct seen_state *seen)
{
    struct mdf_lowered_stack *stack = &loop->result->stacks[loop->result->n_stacks - 1];

    for (size_t i = 0; seen != NULL && seen->before != MDF_LOWERED_NONE && i < 2; i++) {
        seen->calls[i]->stack = stack;
        stack->is_put = true;
    }
    return true;
}

bool loop_append_state(struct loop *loop, size_t i)
{
    struct lowering *lowering = loop->lowering;
    const struct growth *growth = lowering->facts[loop->yields[loop->first_yield + i]].growth;
    mdf_lowered_id item;

    lowering->n_growing--;
    if (growth == NULL || growth->loop != loop->result || growth->state != i || growth->item == MDF_LOWERED_NONE) {
        return lowering_fail(lowering, MDF_REFUSED_CHANGING_STATE);
    }
    if (lowering_example(lowering, loop->initial[i])->kind == MDF_KIND_LIST) {
        return append_items(loop, i, growth->item);
    }
    if (growth->seen != NULL) {
        lowering_forget_looks(growth->seen);
    }
    if (growth->seen != NULL && growth->seen->before != MDF_LOWERED_NONE &&
        lowering_look_at_state(lowering, loop->yields[loop->first_yield + i]) == MDF_LOWERED_NONE) {
        return false;
    }
    item = lowering_item_behind(lowering, growth);
    return item != MDF_LOWERED_NONE &&
           loop_add_stack_behind(loop, item, i, growth->initial, growth->is_turned ? 0 : growth->axis) &&
           show_stack(loop, growth->seen);
}

bool loop_move_back_state(struct loop *loop, size_t i)
{
    const struct growth *growth = loop->lowering->facts[loop->yields[loop->first_yield + i]].growth;

    if (growth->is_turned) {
        loop->results[i] = lowering_move_axis(loop->lowering, loop->results[i], 0, growth->axis);
    }
    return loop->results[i] != MDF_LOWERED_NONE;
}
