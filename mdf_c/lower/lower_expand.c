/* lower_expand.c - an operand that repeats along the axes of a result, as a bias does, and does not change in the loop around it:
 * it is expanded once, before the loop, so that the op is one on arrays of one length. See lowering.h. */
#include "mdf_c/lower/lowering.h"

enum { LONGEST_EXPANDED = 4096 }; /* elements; reading longer ones costs more than it saves */

/* Runs Expand on the value's example. */
static bool run_expand(struct lowering *lowering, struct mdf_call *call, const struct mdf_value *inputs[2],
                       struct mdf_value *result)
{
    struct mdf_value scratch[MDF_CALL_SCRATCH] = {{0}}, *outputs[1] = {result};
    struct mdf_call trial = *call;
    size_t i;
    bool done;

    trial.inputs = inputs;
    trial.outputs = outputs;
    trial.scratch = scratch;
    done = trial.kernel(&trial) && !mdf_stop_is_untold(call->context->stop);
    for (i = 0; i < MDF_CALL_SCRATCH; i++) {
        mdf_value_clear(lowering->memory, &scratch[i]);
    }
    return done || lowering_out_of_memory(lowering);
}

static mdf_lowered_id add_call(struct lowering *lowering, struct region *region, const struct mdf_call *call,
                               const mdf_lowered_id inputs[2], const struct mdf_value *result)
{
    struct mdf_lowered_call *added = lowering_make_call(lowering, call, inputs);
    struct mdf_lowered_op op = {.code = MDF_LOWERED_CALL, .out = MDF_LOWERED_NONE, .operator= call->operator, .of.call = added };

    if (added == NULL) {
        return MDF_LOWERED_NONE;
    }
    added->outputs[0] = lowering_add_value(lowering, MDF_LOWERED_RESULT, result);
    if (added->outputs[0] == MDF_LOWERED_NONE || !lowering_add_op(lowering, region, &op)) {
        return MDF_LOWERED_NONE;
    }
    lowering->facts[added->outputs[0]].depth = region->depth;
    lowering->facts[added->outputs[0]].region = region;
    return added->outputs[0];
}

mdf_lowered_id lowering_expand(struct lowering *lowering, mdf_lowered_id id, const struct mdf_value *like)
{
    enum { EXPAND_VERSION = 13 };
    const struct mdf_operator *expand = mdf_operator_onnx("Expand", EXPAND_VERSION);
    struct region *region = id == MDF_LOWERED_NONE ? NULL : lowering_place(lowering, lowering->facts[id].depth);
    struct mdf_value shape = {0}, result = {0};
    const struct mdf_value *inputs[2] = {NULL, &shape};
    mdf_lowered_id ids[2] = {id, MDF_LOWERED_NONE}, expanded = MDF_LOWERED_NONE;
    struct mdf_call call = {.operator= expand, .n_inputs = 2, .n_outputs = 1, .context = &lowering->execution->context};
    int64_t rank = (int64_t)like->rank;

    if (region == NULL || expand == NULL || lowering->is_for_source || region == lowering->region ||
        like->length > LONGEST_EXPANDED || lowering_example(lowering, id)->rank > like->rank) {
        return MDF_LOWERED_NONE;
    }
    inputs[0] = lowering_example(lowering, id);
    call.kernel = expand->kernel;
    mdf_value_borrow_tensor(lowering->memory, &shape, MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, 1, &rank, mdf_value_shape(like));
    ids[1] = lowering_add_constant(lowering, &shape, false);
    if (ids[1] != MDF_LOWERED_NONE && run_expand(lowering, &call, inputs, &result)) {
        expanded = lowering_is_constant(lowering, id) ? lowering_add_constant(lowering, &result, false)
                                                      : add_call(lowering, region, &call, ids, &result);
    }
    mdf_value_clear(lowering->memory, &result);
    return expanded;
}
