/* operands.c - see operands.h. */
#include "mdf_c/code/operands.h"

#include "functions/kernel/setting.h"

static bool any_of(const mdf_operand *operands, size_t n, mdf_operand_visitor *visit, void *context)
{
    for (size_t i = 0; i < n; i++) {
        if (operands[i] != MDF_NO_OPERAND && visit(context, operands[i])) {
            return true;
        }
    }
    return false;
}

static bool any_capture(const struct mdf_code *body, mdf_operand_visitor *visit, void *context)
{
    return any_of(body->captures, body->n_captures, visit, context);
}

static bool any_read_by_call(const struct mdf_code_call *call, struct mdf_code *const *bodies, mdf_operand_visitor *visit,
                             void *context)
{
    if (any_of(call->inputs, call->n_inputs, visit, context)) {
        return true;
    }
    for (size_t i = 0; i < call->n_bodies; i++) {
        if (call->bodies[i] != UINT32_MAX && any_capture(bodies[call->bodies[i]], visit, context)) {
            return true;
        }
    }
    return false;
}

bool mdf_any_read(const struct mdf_instruction *instruction, const struct mdf_code_call *calls, struct mdf_code *const *bodies,
                  mdf_operand_visitor *visit, void *context)
{
    switch ((enum mdf_opcode)instruction->opcode) {
    case MDF_OPCODE_CALL:
        return any_read_by_call(&calls[instruction->target], bodies, visit, context);
    case MDF_OPCODE_GRAPH:
        return any_capture(bodies[instruction->target], visit, context);
    case MDF_OPCODE_COPY:
    case MDF_OPCODE_BORROW:
    case MDF_OPCODE_ARRAY:
    case MDF_OPCODE_DECLARE:
        return visit(context, instruction->b);
    case MDF_OPCODE_SWAP:
    case MDF_OPCODE_APPEND:
        return visit(context, instruction->a) || visit(context, instruction->b);
    case MDF_OPCODE_NEXT:
        return visit(context, instruction->b) || visit(context, instruction->c);
    case MDF_OPCODE_JUMP_IF:
    case MDF_OPCODE_JUMP_UNLESS:
        return visit(context, instruction->a);
    case MDF_OPCODE_JUMP:
    case MDF_OPCODE_JUMP_WITHOUT_DT:
    case MDF_OPCODE_LIST:
    case MDF_OPCODE_YIELD: /* what a body yields is its own */
        break;
    }
    return false;
}

bool mdf_any_written(const struct mdf_instruction *instruction, const struct mdf_code_call *calls, mdf_operand_visitor *visit,
                     void *context)
{
    switch ((enum mdf_opcode)instruction->opcode) {
    case MDF_OPCODE_CALL:
        return any_of(calls[instruction->target].outputs, calls[instruction->target].n_outputs, visit, context);
    case MDF_OPCODE_SWAP:
        return visit(context, instruction->a) || visit(context, instruction->b);
    case MDF_OPCODE_NEXT:
        return visit(context, instruction->a) || visit(context, instruction->c);
    case MDF_OPCODE_COPY:
    case MDF_OPCODE_BORROW:
    case MDF_OPCODE_ARRAY:
    case MDF_OPCODE_DECLARE:
    case MDF_OPCODE_LIST:
    case MDF_OPCODE_APPEND:
    case MDF_OPCODE_YIELD:
        return visit(context, instruction->a);
    case MDF_OPCODE_JUMP:
    case MDF_OPCODE_JUMP_IF:
    case MDF_OPCODE_JUMP_UNLESS:
    case MDF_OPCODE_JUMP_WITHOUT_DT:
    case MDF_OPCODE_GRAPH:
        break;
    }
    return false;
}

const void *mdf_code_setting(const struct mdf_code_call *call, const char *name)
{
    return mdf_setting_field(call->operator, call->settings, name);
}

int64_t mdf_code_setting_at(const struct mdf_code_call *call, const char *name, size_t i)
{
    const struct mdf_ints *list = mdf_code_setting(call, name);

    return list != NULL && list->items != NULL && i < list->n ? list->items[i] : 0;
}
