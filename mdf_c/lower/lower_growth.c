/* lower_growth.c - states of a Loop that only grow: each run puts something behind them, and nothing else in the body looks at
 * them. Such a state becomes a stack (struct mdf_lowered_stack, `appends`), which nobody copies to make it longer. See
 * lower_loops.h. */
#include "mdf_c/lower/lower_loops.h"

/* The axis along which `longer` is `state` with `item` behind it, their elements lying one after the other; MDF_INLINE_RANK:
 * there is none. */
static size_t find_axis(const struct mdf_value *state, const struct mdf_value *item, size_t axis)
{
    size_t d;

    if (item->kind != MDF_KIND_TENSOR || item->dtype != state->dtype || item->strength != state->strength ||
        item->rank != state->rank || axis >= state->rank) {
        return MDF_INLINE_RANK;
    }
    for (d = 0; d < state->rank; d++) {
        int64_t size = mdf_value_shape(state)[d];

        if (d != axis && (size != mdf_value_shape(item)[d] || (d < axis && size != 1))) {
            return MDF_INLINE_RANK;
        }
    }
    return axis;
}

static const struct growth *growth_of(struct lowering *lowering, struct scope *scope, mdf_operand operand)
{
    mdf_lowered_id id = operand == MDF_NO_OPERAND ? MDF_LOWERED_NONE : lowering_value_of(lowering, scope, operand);

    return id == MDF_LOWERED_NONE ? NULL : lowering->facts[id].growth;
}

/* The state with something behind it: a value that no op makes. */
static mdf_lowered_id add_longer(struct lowering *lowering, mdf_lowered_id state, mdf_lowered_id item, size_t axis)
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
    id = lowering_add_value(lowering, MDF_LOWERED_PARAMETER, lowering_example(lowering, state));
    if (id != MDF_LOWERED_NONE) {
        lowering->facts[id].growth = growth;
        lowering->facts[id].depth = lowering->facts[state].depth;
    }
    return id;
}

bool lowering_append(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source, bool *taken)
{
    const struct growth *growth = NULL;
    mdf_lowered_id state, item;
    size_t n = 0, axis, i;

    for (i = 0; lowering->n_growing > 0 && i < source->n_inputs; i++) {
        const struct growth *other = growth_of(lowering, scope, source->inputs[i]);

        growth = i == 0 ? other : growth;
        n += other != NULL;
    }
    *taken = n > 0;
    if (n == 0) {
        return true;
    }
    if (n > 1 || growth == NULL || growth->item != MDF_LOWERED_NONE ||
        source->operator->form != MDF_FORM_CONCATENATE || source->n_inputs != 2) {
        return lowering_fail(lowering, MDF_REFUSED_CHANGING_STATE);
    }
    state = lowering_value_of(lowering, scope, source->inputs[0]);
    item = lowering_value_of(lowering, scope, source->inputs[1]);
    if (item == MDF_LOWERED_NONE) {
        return false;
    }
    axis = lowering_axis(source, lowering_example(lowering, state)->rank, MDF_INLINE_RANK);
    axis = find_axis(lowering_example(lowering, state), lowering_example(lowering, item), axis);
    return axis < MDF_INLINE_RANK ? lowering_bind(lowering, scope, source->outputs[0], add_longer(lowering, state, item, axis))
                                  : lowering_fail(lowering, MDF_REFUSED_CHANGING_STATE);
}

bool loop_add_growing_state(struct loop *loop, size_t i, size_t formal)
{
    struct lowering *lowering = loop->lowering;
    struct growth *growth = mdf_arena_allocate(&lowering->scratch, sizeof *growth);
    mdf_lowered_id id;

    if (growth == NULL) {
        return lowering_out_of_memory(lowering);
    }
    *growth = (struct growth){.loop = loop->result, .state = i, .item = MDF_LOWERED_NONE};
    id = loop_add_parameter(loop, lowering_example(lowering, loop->initial[i]));
    if (id != MDF_LOWERED_NONE) {
        lowering->facts[id].growth = growth;
        lowering->n_growing++;
    }
    return lowering_bind(lowering, &loop->inner, loop->body->formals[formal], id);
}

bool loop_append_state(struct loop *loop, size_t i)
{
    struct lowering *lowering = loop->lowering;
    const struct growth *growth = lowering->facts[loop->yields[loop->first_yield + i]].growth;

    lowering->n_growing--;
    if (growth == NULL || growth->loop != loop->result || growth->state != i || growth->item == MDF_LOWERED_NONE) {
        return lowering_fail(lowering, MDF_REFUSED_CHANGING_STATE);
    }
    return loop_add_stack_behind(loop, growth->item, i, loop->initial[i], growth->axis);
}
