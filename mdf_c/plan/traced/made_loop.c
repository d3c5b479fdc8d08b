/* made_loop.c - see made_loop.h. */
#include "mdf_c/plan/traced/made_loop.h"

#include <string.h>

enum { LOOP_SINCE = 13, FIRST_STATE = 2 };

struct mdf_code *made_loop_body(struct target *body, const struct list *formals, const struct list *yields, mdf_operand goes_on,
                                const char *id)
{
    struct compiler *compiler = body->compiler;
    mdf_operand iteration = unit_new_slot(body, 0), condition = unit_new_slot(body, OPERAND_IS_BOOL);
    struct list all_formals = {0}, all_yields = {0}, types = {0};
    struct mdf_code *code;

    goes_on = goes_on != MDF_NO_OPERAND ? goes_on : unit_add_bool(body, true);
    if (!list_add_operand(compiler, &all_formals, iteration) || !list_add_operand(compiler, &all_formals, condition) ||
        !list_add_operands(compiler, &all_formals, formals->items, formals->n) ||
        !list_add_operand(compiler, &all_yields, goes_on) ||
        !list_add_operands(compiler, &all_yields, yields->items, yields->n)) {
        return NULL;
    }
    for (size_t i = 0; i < all_yields.n; i++) {
        if (!list_add(compiler, &types, &mdf_static_unknown, sizeof mdf_static_unknown)) {
            return NULL;
        }
    }
    code = unit_finish_body(compiler, body->unit, &all_formals, &all_yields, &types);
    if (code != NULL) {
        code->id = id;
    }
    return code;
}

bool made_loop_call(struct target *target, struct mdf_code *body, uint64_t most, mdf_operand condition, const mdf_operand *states,
                    const mdf_operand *outputs, size_t n_states, struct mdf_code_call *call)
{
    struct compiler *compiler = target->compiler;
    const struct mdf_operator *row = mdf_operator_onnx("Loop", LOOP_SINCE);
    mdf_operand *inputs = mdf_arena_array(&compiler->scratch, FIRST_STATE + n_states, sizeof *inputs);
    uint32_t *index = mdf_arena_allocate(compiler->arena, sizeof *index);
    void *settings = mdf_arena_allocate(compiler->arena, row->settings_size);
    struct mdf_value trip_count = {0};

    if (!list_add(compiler, &target->unit->bodies, &body, sizeof body)) {
        mdf_code_clear(compiler->memory, body);
        return false;
    }
    if (inputs == NULL || index == NULL || settings == NULL ||
        !mdf_value_make_int(compiler->memory, &trip_count, (int64_t)most)) {
        compile_out_of_memory(compiler);
        return false;
    }
    *index = (uint32_t)target->unit->bodies.n - 1;
    trip_count.strength = MDF_STRENGTH_TYPED;
    inputs[0] = unit_add_constant(target, &trip_count, 0);
    inputs[1] = condition;
    memcpy(inputs + FIRST_STATE, states, n_states * sizeof *states);
    *call = (struct mdf_code_call){.operator= row,
                                   .settings = settings,
                                   .inputs = inputs,
                                   .n_inputs = FIRST_STATE + n_states,
                                   .outputs = outputs,
                                   .n_outputs = n_states,
                                   .bodies = index,
                                   .n_bodies = 1};
    return inputs[0] != MDF_NO_OPERAND;
}

bool made_loop_emit_stacking(struct target *target, struct mdf_code *body, uint64_t most, mdf_operand condition,
                             const mdf_operand *states, const mdf_operand *outputs, size_t n_states, size_t n_outputs)
{
    struct mdf_code_call call;

    if (!made_loop_call(target, body, most, condition, states, outputs, n_states, &call)) {
        return false;
    }
    call.n_outputs = n_outputs;
    return unit_emit_call(target, &call);
}

bool made_loop_emit(struct target *target, struct mdf_code *body, uint64_t most, mdf_operand condition, const mdf_operand *states,
                    const mdf_operand *outputs, size_t n_states)
{
    return made_loop_emit_stacking(target, body, most, condition, states, outputs, n_states, n_states);
}
