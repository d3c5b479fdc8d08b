/* loop_condition.c - whether the condition that the body of a Loop yields is always true, as far as its code shows.
 *
 * Comes in: the compiled body. A condition that is a constant, that goes through the body as it came in, or that is made of such
 * ones by operators that only pass it on or join it, is known; any other is not. */
#include "mdf_c/plan/compiler.h"

#include "functions/elements/element.h"
#include "functions/kernel/move.h"
#include "mdf_c/code/operands.h"

enum { DEEPEST = 64, FORMAL_CONDITION = 1 };

enum truth { TRUTH_UNKNOWN, TRUTH_FALSE, TRUTH_TRUE };

static enum truth truth_of_value(const struct mdf_value *value)
{
    int truth = mdf_value_truth(value);

    return truth < 0 ? TRUTH_UNKNOWN : truth == 1 ? TRUTH_TRUE : TRUTH_FALSE;
}

static enum truth truth_of(const struct unit *unit, const struct mdf_code *body, mdf_operand operand, int depth);

static enum truth truth_of_call(const struct unit *unit, const struct mdf_code *body, const struct mdf_code_call *call, int depth)
{
    const struct mdf_element *element = mdf_element_of(call->operator, call->settings);
    const struct mdf_move *move = call->operator->move;
    enum truth a = truth_of(unit, body, call->n_inputs > 0 ? call->inputs[0] : MDF_NO_OPERAND, depth), b;

    if (element == MDF_ELEMENT(negation)) {
        return a == TRUTH_UNKNOWN ? a : a == TRUTH_TRUE ? TRUTH_FALSE : TRUTH_TRUE;
    }
    if (element != MDF_ELEMENT(logical_or) && element != MDF_ELEMENT(logical_and)) {
        bool passes = call->operator->since> 0 && move != NULL && move->n_data == 1 && !move->zeros && !move->fills;

        return passes ? a : TRUTH_UNKNOWN;
    }
    b = truth_of(unit, body, call->n_inputs > 1 ? call->inputs[1] : MDF_NO_OPERAND, depth);
    if (element == MDF_ELEMENT(logical_or)) {
        return a == TRUTH_TRUE || b == TRUTH_TRUE ? TRUTH_TRUE : a == b ? a : TRUTH_UNKNOWN;
    }
    return a == TRUTH_FALSE || b == TRUTH_FALSE ? TRUTH_FALSE : a == b ? a : TRUTH_UNKNOWN;
}

static bool is_slot(void *context, mdf_operand slot)
{
    return slot == *(const mdf_operand *)context;
}

/* Of a slot that one instruction writes. */
static enum truth truth_of_slot(const struct unit *unit, const struct mdf_code *body, mdf_operand slot, int depth)
{
    const struct mdf_instruction *writer = NULL;

    for (size_t i = 0; i < body->n_instructions; i++) {
        if (mdf_any_written(&body->instructions[i], body->calls, is_slot, &slot)) {
            if (writer != NULL) {
                return TRUTH_UNKNOWN;
            }
            writer = &body->instructions[i];
        }
    }
    if (writer == NULL) {
        return TRUTH_UNKNOWN;
    }
    switch ((enum mdf_opcode)writer->opcode) {
    case MDF_OPCODE_CALL:
        return truth_of_call(unit, body, &body->calls[writer->target], depth);
    case MDF_OPCODE_COPY:
    case MDF_OPCODE_BORROW:
    case MDF_OPCODE_ARRAY:
    case MDF_OPCODE_DECLARE:
        return truth_of(unit, body, writer->b, depth);
    case MDF_OPCODE_SWAP:
    case MDF_OPCODE_JUMP:
    case MDF_OPCODE_JUMP_IF:
    case MDF_OPCODE_JUMP_UNLESS:
    case MDF_OPCODE_JUMP_WITHOUT_DT:
    case MDF_OPCODE_LIST:
    case MDF_OPCODE_APPEND:
    case MDF_OPCODE_NEXT:
    case MDF_OPCODE_GRAPH:
    case MDF_OPCODE_YIELD:
        break;
    }
    return TRUTH_UNKNOWN;
}

/* Of a value of the unit around the body, or of one around that. */
static enum truth truth_outside(const struct unit *unit, mdf_operand operand)
{
    for (; MDF_OPERAND_KIND(operand) == MDF_OPERAND_CAPTURE && unit->outer != NULL; unit = unit->outer) {
        operand = ((const mdf_operand *)unit->captures.items)[MDF_OPERAND_INDEX(operand)];
    }
    return MDF_OPERAND_KIND(operand) == MDF_OPERAND_CONSTANT
               ? truth_of_value(&((const struct mdf_value *)unit->constants.items)[MDF_OPERAND_INDEX(operand)])
               : TRUTH_UNKNOWN;
}

static enum truth truth_of(const struct unit *unit, const struct mdf_code *body, mdf_operand operand, int depth)
{
    if (operand == MDF_NO_OPERAND || depth >= DEEPEST) {
        return TRUTH_UNKNOWN;
    }
    if (MDF_OPERAND_KIND(operand) == MDF_OPERAND_CONSTANT) {
        return truth_of_value(&body->constants[MDF_OPERAND_INDEX(operand)]);
    }
    if (MDF_OPERAND_KIND(operand) == MDF_OPERAND_CAPTURE) {
        return truth_outside(unit, body->captures[MDF_OPERAND_INDEX(operand)]);
    }
    return body->n_formals > FORMAL_CONDITION && operand == body->formals[FORMAL_CONDITION]
               ? TRUTH_TRUE
               : truth_of_slot(unit, body, operand, depth + 1);
}

bool loop_goes_on(const struct unit *unit, const struct mdf_code *body)
{
    return truth_of(unit, body, body->yields[0], 0) == TRUTH_TRUE;
}
