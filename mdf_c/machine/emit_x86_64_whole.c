/* emit_x86_64_whole.c - see emit_x86_64.h. Ops on whole numbers and bool values. */
#include "mdf_c/machine/emit_x86_64.h"

static unsigned size_of(const struct mdf_lowered_op *op)
{
    return op->dtype == MDF_DTYPE_INT64 ? 8 : 4;
}

static bool is_bool(const struct mdf_lowered_op *op)
{
    return op->dtype == MDF_DTYPE_BOOL;
}

/* An operand of the op's size: its register or cell; of bool values, of which a cell has one byte, always a register. */
static struct machine_operand operand_of(struct emission *emission, const struct mdf_lowered_op *op, mdf_lowered_id id,
                                         uint8_t scratch)
{
    return is_bool(op) ? in_register(emission_general(emission, id, scratch)) : emission_operand(emission, id);
}

static bool lies_in(struct machine_operand operand, uint8_t number)
{
    return operand.kind == IN_REGISTER && operand.number == number;
}

/* target = in[0] code in[1]; where it can not be computed there, in rax. */
static uint8_t emit_two(struct emission *emission, const struct mdf_lowered_op *op, unsigned code, bool commutes)
{
    struct assembler *assembler = emission->assembler;
    mdf_lowered_id first = op->in[0], second = op->in[1];
    uint8_t target = emission_target(emission, op->out, RAX);
    struct machine_operand operand;

    if (commutes && emission_is_constant(emission, first)) {
        first = op->in[1];
        second = op->in[0];
    }
    operand = operand_of(emission, op, second, RCX);
    if (lies_in(operand, target) && commutes && !emission_is_constant(emission, first)) {
        mdf_lowered_id swapped = first;

        first = second;
        second = swapped;
        operand = operand_of(emission, op, second, RCX);
    }
    target = lies_in(operand, target) && first != second ? RAX : target;
    emission_load_general(emission, first, target);
    assemble_general(assembler, code, size_of(op), target, operand);
    return target;
}

/* target = in[0] code number */
static uint8_t emit_with_number(struct emission *emission, const struct mdf_lowered_op *op, mdf_lowered_id id,
                                enum general_with_number code, int32_t number)
{
    uint8_t target = emission_target(emission, op->out, RAX);

    emission_load_general(emission, id, target);
    assemble_with_number(emission->assembler, code, size_of(op), in_register(target), number);
    return target;
}

/* A sum or difference that wraps, where an address computation gives it in one instruction. */
static bool emit_as_address(struct emission *emission, const struct mdf_lowered_op *op, bool subtracts)
{
    uint8_t target = emission_target(emission, op->out, RAX);
    struct machine_operand first = emission_operand(emission, op->in[0]), second = emission_operand(emission, op->in[1]);
    int32_t number;

    if (emission_small_constant(emission, op->in[1], &number) && first.kind == IN_REGISTER && number != INT32_MIN) {
        if (first.number == target) {
            return false;
        }
        assemble_general(emission->assembler, GENERAL_ADDRESS, size_of(op), target,
                         in_memory(first.number, subtracts ? -number : number));
    } else if (!subtracts && first.kind == IN_REGISTER && second.kind == IN_REGISTER && first.number != target &&
               second.number != target) {
        assemble_general(emission->assembler, GENERAL_ADDRESS, size_of(op), target,
                         in_memory_at(first.number, second.number, 1, 0));
    } else {
        return false;
    }
    emission_finish(emission, op->out, target);
    return true;
}

static void bail_out_on_overflow(struct emission *emission)
{
    assemble_jump_if(emission->assembler, IF_OVERFLOW, emission->bail_out);
}

static void emit_sum(struct emission *emission, const struct mdf_lowered_op *op, bool subtracts, bool is_exact)
{
    mdf_lowered_id first = op->in[0], second = op->in[1];
    uint8_t target;
    int32_t number;

    if (!is_exact && emit_as_address(emission, op, subtracts)) {
        return;
    }
    if (!subtracts && emission_is_constant(emission, first)) {
        first = op->in[1];
        second = op->in[0];
    }
    if (emission_small_constant(emission, second, &number)) {
        target = emit_with_number(emission, op, first, subtracts ? NUMBER_SUBTRACT : NUMBER_ADD, number);
    } else {
        target = emit_two(emission, op, subtracts ? GENERAL_SUBTRACT : GENERAL_ADD, !subtracts);
    }
    if (is_exact) {
        bail_out_on_overflow(emission);
    }
    emission_finish(emission, op->out, target);
}

static uint8_t power_of_two(int32_t number)
{
    uint8_t n_bits = 0;

    while (n_bits < 31 && (int64_t)1 << n_bits < number) {
        n_bits++;
    }
    return (int64_t)1 << n_bits == number ? n_bits : UINT8_MAX;
}

/* A product with a constant. */
static uint8_t multiply_by(struct emission *emission, const struct mdf_lowered_op *op, mdf_lowered_id id, int32_t number,
                           bool is_exact)
{
    struct assembler *assembler = emission->assembler;
    uint8_t target = emission_target(emission, op->out, RAX), first;

    if (!is_exact && power_of_two(number) != UINT8_MAX) {
        emission_load_general(emission, id, target);
        assemble_shift(assembler, SHIFT_LEFT, size_of(op), target, power_of_two(number));
        return target;
    }
    if (!is_exact && (number == 3 || number == 5 || number == 9)) {
        first = emission_general(emission, id, RCX);
        assemble_general(assembler, GENERAL_ADDRESS, size_of(op), target, in_memory_at(first, first, (uint8_t)(number - 1), 0));
        return target;
    }
    assemble_multiply_by(assembler, size_of(op), target, emission_operand(emission, id), number);
    return target;
}

static void emit_product(struct emission *emission, const struct mdf_lowered_op *op, bool is_exact)
{
    uint8_t target;
    int32_t number;

    if (emission_small_constant(emission, op->in[1], &number) && !emission_is_constant(emission, op->in[0])) {
        target = multiply_by(emission, op, op->in[0], number, is_exact);
    } else if (emission_small_constant(emission, op->in[0], &number) && !emission_is_constant(emission, op->in[1])) {
        target = multiply_by(emission, op, op->in[1], number, is_exact);
    } else {
        target = emit_two(emission, op, GENERAL_MULTIPLY, true);
    }
    if (is_exact) {
        bail_out_on_overflow(emission);
    }
    emission_finish(emission, op->out, target);
}

static void emit_negation(struct emission *emission, const struct mdf_lowered_op *op, bool is_exact)
{
    uint8_t target = emission_target(emission, op->out, RAX);

    emission_load_general(emission, op->in[0], target);
    assemble_single(emission->assembler, SINGLE_NEGATE, size_of(op), in_register(target));
    if (is_exact) {
        bail_out_on_overflow(emission);
    }
    emission_finish(emission, op->out, target);
}

static void emit_absolute(struct emission *emission, const struct mdf_lowered_op *op)
{
    uint8_t number = emission_general(emission, op->in[0], RCX);

    assemble_move(emission->assembler, RAX, number);
    assemble_single(emission->assembler, SINGLE_NEGATE, size_of(op), in_register(RAX));
    assemble_general(emission->assembler, GENERAL_MOVE_IF + IF_NEGATIVE, size_of(op), RAX, in_register(number));
    emission_finish(emission, op->out, RAX);
}

static void emit_logic(struct emission *emission, const struct mdf_lowered_op *op)
{
    unsigned code = op->code == MDF_LOWERED_AND ? GENERAL_AND : op->code == MDF_LOWERED_OR ? GENERAL_OR : GENERAL_EXCLUSIVE_OR;

    if (op->code == MDF_LOWERED_NOT) {
        emission_finish(emission, op->out, emit_with_number(emission, op, op->in[0], NUMBER_EXCLUSIVE_OR, 1));
    } else {
        emission_finish(emission, op->out, emit_two(emission, op, code, true));
    }
}

void emission_whole(struct emission *emission, const struct mdf_lowered_op *op)
{
    switch ((enum mdf_lowered_code)op->code) {
    case MDF_LOWERED_ADD:
    case MDF_LOWERED_ADD_EXACT:
        emit_sum(emission, op, false, op->code == MDF_LOWERED_ADD_EXACT);
        break;
    case MDF_LOWERED_SUBTRACT:
    case MDF_LOWERED_SUBTRACT_EXACT:
        emit_sum(emission, op, true, op->code == MDF_LOWERED_SUBTRACT_EXACT);
        break;
    case MDF_LOWERED_MULTIPLY:
    case MDF_LOWERED_MULTIPLY_EXACT:
        emit_product(emission, op, op->code == MDF_LOWERED_MULTIPLY_EXACT);
        break;
    case MDF_LOWERED_NEGATE:
    case MDF_LOWERED_NEGATE_EXACT:
        emit_negation(emission, op, op->code == MDF_LOWERED_NEGATE_EXACT);
        break;
    case MDF_LOWERED_ABSOLUTE:
        emit_absolute(emission, op);
        break;
    case MDF_LOWERED_AND:
    case MDF_LOWERED_OR:
    case MDF_LOWERED_EXCLUSIVE_OR:
    case MDF_LOWERED_NOT:
        emit_logic(emission, op);
        break;
    case MDF_LOWERED_QUOTIENT:
    case MDF_LOWERED_REMAINDER:
    case MDF_LOWERED_FLOOR_QUOTIENT:
    case MDF_LOWERED_FLOOR_REMAINDER:
        emission_division(emission, op);
        break;
    default: /* not of whole numbers: no machine code */
        emission->assembler->failed = true;
        break;
    }
}
