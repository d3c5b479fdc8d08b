/* widen_call.c - kernels. One that gets the same in all instances is called once; else it is called for each lane, on values of
 * their own, and what it gives is put side by side. See widening.h. */
#include "mdf_c/lower/lanes/widening.h"

/* The call on other values, of which `outputs` are there; each with scratch values of its own. */
static bool add_call(struct widening *widening, const struct mdf_lowered_op *source, const mdf_lowered_id *inputs,
                     const mdf_lowered_id *outputs)
{
    struct mdf_arena *arena = &widening->lowering->lowered->arena;
    struct mdf_lowered_call *call = mdf_arena_allocate(arena, sizeof *call);
    struct mdf_lowered_op op = *source;

    if (call == NULL) {
        return lowering_out_of_memory(widening->lowering);
    }
    *call = *source->of.call;
    call->call.scratch = mdf_arena_array(arena, MDF_CALL_SCRATCH, sizeof *call->call.scratch);
    call->inputs = mdf_arena_array(arena, call->n_inputs, sizeof *call->inputs);
    call->outputs = mdf_arena_array(arena, call->n_outputs, sizeof *call->outputs);
    if (call->call.scratch == NULL || call->inputs == NULL || call->outputs == NULL) {
        return lowering_out_of_memory(widening->lowering);
    }
    for (size_t i = 0; i < call->n_inputs; i++) {
        call->inputs[i] = inputs[i];
    }
    for (size_t i = 0; i < call->n_outputs; i++) {
        call->outputs[i] = outputs[i];
    }
    op.of.call = call;
    return widening_add_op(widening, &op);
}

static bool find_inputs(struct widening *widening, const struct mdf_lowered_call *call, mdf_lowered_id *inputs, bool *varies)
{
    for (size_t i = 0; i < call->n_inputs; i++) {
        inputs[i] = widening_value(widening, call->inputs[i]);
        if (inputs[i] == MDF_LOWERED_NONE && call->inputs[i] != MDF_LOWERED_NONE) {
            return false;
        }
        *varies = *varies || widening_varies(widening, call->inputs[i]);
    }
    return true;
}

static bool add_outputs(struct widening *widening, const struct mdf_lowered_call *call, mdf_lowered_id *outputs)
{
    for (size_t i = 0; i < call->n_outputs; i++) {
        outputs[i] = call->outputs[i] == MDF_LOWERED_NONE ? call->outputs[i]
                                                          : widening_add(widening, MDF_LOWERED_RESULT, call->outputs[i]);
        if (outputs[i] == MDF_LOWERED_NONE && call->outputs[i] != MDF_LOWERED_NONE) {
            return false;
        }
    }
    return true;
}

static bool call_lane(struct widening *widening, const struct mdf_lowered_op *source, const mdf_lowered_id *inputs,
                      const mdf_lowered_id *outputs, mdf_lowered_id *own, size_t lane)
{
    const struct mdf_lowered_call *call = source->of.call;
    mdf_lowered_id *own_outputs = own + call->n_inputs;

    for (size_t i = 0; i < call->n_inputs; i++) {
        own[i] = widening_varies(widening, call->inputs[i]) ? widening_take_lane(widening, inputs[i], call->inputs[i], lane)
                                                            : inputs[i];
        if (own[i] == MDF_LOWERED_NONE && inputs[i] != MDF_LOWERED_NONE) {
            return false;
        }
    }
    for (size_t i = 0; i < call->n_outputs; i++) {
        own_outputs[i] = outputs[i] == MDF_LOWERED_NONE ? MDF_LOWERED_NONE : widening_add_like(widening, call->outputs[i], false);
        if (own_outputs[i] == MDF_LOWERED_NONE && outputs[i] != MDF_LOWERED_NONE) {
            return false;
        }
    }
    if (!add_call(widening, source, own, own_outputs)) {
        return false;
    }
    for (size_t i = 0; i < call->n_outputs; i++) {
        if (outputs[i] != MDF_LOWERED_NONE && !widening_put_lane(widening, own_outputs[i], outputs[i], lane)) {
            return false;
        }
    }
    return true;
}

bool widening_call(struct widening *widening, const struct mdf_lowered_op *source)
{
    const struct mdf_lowered_call *call = source->of.call;
    struct mdf_arena *scratch = &widening->lowering->scratch;
    mdf_lowered_id *inputs = mdf_arena_array(scratch, call->n_inputs + 1, sizeof *inputs);
    mdf_lowered_id *outputs = mdf_arena_array(scratch, call->n_outputs + 1, sizeof *outputs);
    mdf_lowered_id *own = mdf_arena_array(scratch, call->n_inputs + call->n_outputs + 1, sizeof *own);
    bool varies = false;

    if (inputs == NULL || outputs == NULL || own == NULL) {
        return lowering_out_of_memory(widening->lowering);
    }
    if (call->stack != NULL || call->product != NULL) { /* of which the loop around has to know */
        return lowering_fail(widening->lowering, MDF_REFUSED_LANES_CALL);
    }
    if (mdf_lanes_draws(call)) {
        return widening_draw(widening, source);
    }
    if (!find_inputs(widening, call, inputs, &varies) || !add_outputs(widening, call, outputs)) {
        return false;
    }
    if (!varies) {
        return add_call(widening, source, inputs, outputs);
    }
    for (size_t lane = 0; lane < widening->n_lanes; lane++) {
        if (!call_lane(widening, source, inputs, outputs, own, lane)) {
            return false;
        }
    }
    return true;
}
