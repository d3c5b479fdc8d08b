/* infer_call.c - types and shapes through one onnx:: call: what is known of its operands goes into the rules of schemas/, what
 * these say is noted at its outputs, and a call that can not run is refused here, before anything has. */
#include "functions/kernel/setting.h"
#include "mdf_c/plan/compiler.h"

#include <string.h>

/* Types of which nothing is known; NULL with the error set: memory ran out. */
static struct mdf_static_type *new_types(struct target *target, size_t n)
{
    struct mdf_static_type *types = mdf_arena_array(&target->compiler->scratch, n, sizeof *types);

    for (size_t i = 0; types != NULL && i < n; i++) {
        types[i] = mdf_static_unknown;
    }
    if (types == NULL) {
        compile_out_of_memory(target->compiler);
    }
    return types;
}

/* Whether what is known to have no axes may be made an array of one: see MDF_OPERATOR_NEEDS_AXIS. */
static bool may_be_array_of_one(const struct call_types *call, const struct mdf_static_type *type)
{
    return (call->row->flags & MDF_OPERATOR_NEEDS_AXIS) != 0 && type->kind == MDF_STATIC_TENSOR && type->has_shape &&
           type->rank == 0 && type->dtype == MDF_DTYPE_NONE;
}

/* What is known of the inputs of a call; `promised`: what there is known if bodies keep what they declare. */
static bool begin(struct target *target, const struct call_types *call, bool promised, struct mdf_inference *inference)
{
    struct mdf_static_type *inputs = new_types(target, call->n_inputs);
    size_t i;

    if (inputs == NULL) {
        return false;
    }
    for (i = 0; i < call->n_inputs; i++) {
        if (call->inputs[i] == MDF_NO_OPERAND) {
            inputs[i].kind = MDF_STATIC_OMITTED;
        } else {
            inputs[i] = promised ? unit_promised_type(target->unit, call->inputs[i]) : unit_type(target->unit, call->inputs[i]);
            if (may_be_array_of_one(call, &inputs[i])) {
                inputs[i] = mdf_static_unknown;
            }
        }
    }
    *inference = (struct mdf_inference){.schema = call->schema,
                                        .rule = mdf_operator_rule(call->row),
                                        .arena = &target->compiler->scratch,
                                        .inputs = inputs,
                                        .n_inputs = call->n_inputs,
                                        .n_bodies = call->n_bodies};
    mdf_setting_show(inference, call->row, call->settings);
    memcpy(inference->bodies, call->bodies, sizeof inference->bodies);
    for (i = 0; promised && i < MDF_STATIC_BODIES; i++) {
        inference->bodies[i].yields = call->bodies[i].promised;
    }
    return true;
}

static bool refuse(struct target *target, const struct mdf_inference *inference)
{
    if (inference->status == MDF_OUT_OF_MEMORY) {
        compile_out_of_memory(target->compiler);
    } else {
        compile_error(target->compiler, inference->status, "%s::%s: %s", mdf_schema_prefix(inference->schema),
                      inference->schema->name, inference->message);
    }
    return false;
}

bool infer_formals(struct target *target, const struct call_types *call, size_t n_formals, const struct mdf_static_type **formals)
{
    struct mdf_static_type *types = new_types(target, n_formals);
    struct mdf_inference inference;

    *formals = types;
    if (types == NULL || !begin(target, call, false, &inference)) {
        return false;
    }
    inference.bodies[0].formals = types;
    inference.bodies[0].n_formals = n_formals;
    return mdf_infer_formals(&inference) || refuse(target, &inference);
}

bool infer_output_count(struct target *target, const struct call_types *call, size_t *n_outputs)
{
    struct mdf_inference inference;

    if (!begin(target, call, false, &inference)) {
        return false;
    }
    *n_outputs = mdf_infer_output_count(&inference);
    return true;
}

static bool has_promise(const struct target *target, const struct call_types *call)
{
    size_t i;

    for (i = 0; i < call->n_bodies; i++) {
        if (call->bodies[i].promised != NULL) {
            return true;
        }
    }
    for (i = 0; i < call->n_inputs; i++) {
        if (call->inputs[i] != MDF_NO_OPERAND && unit_has_promise(target->unit, call->inputs[i])) {
            return true;
        }
    }
    return false;
}

/* `promised`: what the outputs are if what bodies declare holds; nothing is refused for it. */
static bool infer(struct target *target, const struct call_types *call, const mdf_operand *outputs, size_t n_outputs,
                  bool promised)
{
    struct mdf_static_type *types = new_types(target, n_outputs);
    struct mdf_inference inference;
    size_t i;

    if (types == NULL || !begin(target, call, promised, &inference)) {
        return false;
    }
    inference.outputs = types;
    inference.n_outputs = n_outputs;
    if (!mdf_infer_outputs(&inference)) {
        return (promised && inference.status != MDF_OUT_OF_MEMORY) || refuse(target, &inference);
    }
    for (i = 0; i < n_outputs; i++) {
        (promised ? unit_promise_type : unit_set_type)(target->unit, outputs[i], &types[i]);
    }
    return true;
}

bool infer_outputs(struct target *target, const struct call_types *call, const mdf_operand *outputs, size_t n_outputs)
{
    return infer(target, call, outputs, n_outputs, false) &&
           (!has_promise(target, call) || infer(target, call, outputs, n_outputs, true));
}
