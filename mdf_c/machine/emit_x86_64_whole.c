/* emit_x86_64_whole.c - see emit_x86_64.h. Ops on whole numbers and bool values.
 *
 * Whole numbers of 1 and 2 bytes are computed with 4: what is above them in a register is anything, and is looked at by nobody.
 * Who wants the number itself (a comparison, a shift to the right, a quotient, a cast to more bytes) extends it first. */
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/machine/emit_x86_64.h"

static unsigned size_of(const struct mdf_lowered_op *op)
{
    return machine_whole_size(op->dtype);
}

static bool is_bool(const struct mdf_lowered_op *op)
{
    return op->dtype == MDF_DTYPE_BOOL;
}

/* An operand of the op's size: its register or cell; of what has fewer bytes in a cell, always a register. */
static struct machine_operand operand_of(struct emission *emission, const struct mdf_lowered_op *op, mdf_lowered_id id,
                                         uint8_t scratch)
{
    return is_bool(op) || machine_is_short(op->dtype) ? in_register(emission_general(emission, id, scratch))
                                                      : emission_operand(emission, id);
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
    assemble_multiply_by(assembler, size_of(op), target, operand_of(emission, op, id, RCX), number);
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
    uint8_t number = emission_whole_number(emission, op->in[0], RCX);

    if (!machine_is_signed(op->dtype)) {
        emission_finish(emission, op->out, number);
        return;
    }
    assemble_move(emission->assembler, RAX, number);
    assemble_single(emission->assembler, SINGLE_NEGATE, size_of(op), in_register(RAX));
    assemble_general(emission->assembler, GENERAL_MOVE_IF + IF_NEGATIVE, size_of(op), RAX, in_register(number));
    emission_finish(emission, op->out, RAX);
}

static void emit_logic(struct emission *emission, const struct mdf_lowered_op *op)
{
    unsigned code = op->code == MDF_LOWERED_AND ? GENERAL_AND : op->code == MDF_LOWERED_OR ? GENERAL_OR : GENERAL_EXCLUSIVE_OR;
    enum general_with_number with_number = op->code == MDF_LOWERED_AND  ? NUMBER_AND
                                           : op->code == MDF_LOWERED_OR ? NUMBER_OR
                                                                        : NUMBER_EXCLUSIVE_OR;
    bool is_first = op->n_in == 2 && emission_is_constant(emission, op->in[0]);
    int32_t number;

    if (op->code == MDF_LOWERED_NOT) {
        emission_finish(emission, op->out, emit_with_number(emission, op, op->in[0], NUMBER_EXCLUSIVE_OR, is_bool(op) ? 1 : -1));
    } else if (emission_small_constant(emission, op->in[is_first ? 0 : 1], &number)) {
        emission_finish(emission, op->out, emit_with_number(emission, op, op->in[is_first ? 1 : 0], with_number, number));
    } else {
        emission_finish(emission, op->out, emit_two(emission, op, code, true));
    }
}

/* ------------------------------------------------------------------ shifts */

static bool shifts_left(const struct mdf_lowered_op *op)
{
    return mdf_lowered_wrapping(op->code) == MDF_LOWERED_SHIFT_LEFT;
}

/* By a number of bits that is known: past the width 0 is left, or the sign. */
static void shift_by(struct emission *emission, const struct mdf_lowered_op *op, uint64_t n_bits)
{
    struct assembler *assembler = emission->assembler;
    unsigned width = (unsigned)(8 * mdf_dtype_size((mdf_dtype)op->dtype));
    bool is_signed = machine_is_signed(op->dtype);
    uint8_t target = emission_target(emission, op->out, RAX);

    if (n_bits >= width && (shifts_left(op) || !is_signed)) {
        assemble_move_number(assembler, target, 0);
    } else if (shifts_left(op)) {
        emission_load_general(emission, op->in[0], target);
        assemble_shift(assembler, SHIFT_LEFT, size_of(op), target, (uint8_t)n_bits);
    } else {
        emission_load_whole_number(emission, op->in[0], target);
        assemble_shift(assembler, is_signed ? SHIFT_RIGHT_SIGNED : SHIFT_RIGHT, size_of(op), target,
                       (uint8_t)(n_bits < width ? n_bits : width - 1));
    }
    emission_finish(emission, op->out, target);
}

/* rax is shifted by rcx, which is taken without sign; changes rdx. Numbers of fewer than 4 bytes have no bits left past their
 * width. */
static void shift_rax(struct emission *emission, const struct mdf_lowered_op *op)
{
    struct assembler *assembler = emission->assembler;
    unsigned size = size_of(op);

    if (!shifts_left(op) && machine_is_signed(op->dtype)) {
        assemble_move_number(assembler, RDX, 8 * size - 1);
        assemble_general(assembler, GENERAL_COMPARE, size, RCX, in_register(RDX));
        assemble_general(assembler, GENERAL_MOVE_IF + IF_ABOVE, size, RCX, in_register(RDX));
        assemble_single(assembler, SINGLE_SHIFT_RIGHT_SIGNED, size, in_register(RAX));
        return;
    }
    assemble_single(assembler, shifts_left(op) ? SINGLE_SHIFT_LEFT : SINGLE_SHIFT_RIGHT, size, in_register(RAX));
    assemble_move_number(assembler, RDX, 0);
    assemble_with_number(assembler, NUMBER_COMPARE, size, in_register(RCX), (int32_t)(8 * size));
    assemble_general(assembler, GENERAL_MOVE_IF + IF_ABOVE_OR_EQUAL, size, RAX, in_register(RDX));
}

static void emit_shift(struct emission *emission, const struct mdf_lowered_op *op)
{
    unsigned size = (unsigned)mdf_dtype_size((mdf_dtype)op->dtype);
    int32_t number;

    if (emission_small_constant(emission, op->in[1], &number)) {
        shift_by(emission, op, size == 4 ? (uint32_t)number : (uint64_t)number);
        return;
    }
    emission_load_whole_number(emission, op->in[0], RAX);
    emission_load_whole_number(emission, op->in[1], RCX);
    shift_rax(emission, op);
    emission_finish(emission, op->out, RAX);
}

/* Of Python's numbers. Of a shift to the left all bits come back, unless 0 is shifted by 63 bits or more. */
static void emit_exact_shift(struct emission *emission, const struct mdf_lowered_op *op)
{
    struct assembler *assembler = emission->assembler;
    machine_label is_far = new_label(assembler), done = new_label(assembler);

    emission_load_general(emission, op->in[0], RAX);
    emission_load_general(emission, op->in[1], RCX);
    if (!shifts_left(op)) {
        assemble_general(assembler, GENERAL_TEST, 8, RCX, in_register(RCX));
        assemble_jump_if(assembler, IF_NEGATIVE, emission->bail_out);
        shift_rax(emission, op);
        emission_finish(emission, op->out, RAX);
        return;
    }
    assemble_with_number(assembler, NUMBER_COMPARE, 8, in_register(RCX), 62);
    assemble_jump_if(assembler, IF_ABOVE, is_far);
    assemble_single(assembler, SINGLE_SHIFT_LEFT, 8, in_register(RAX));
    assemble_move(assembler, RDX, RAX);
    assemble_single(assembler, SINGLE_SHIFT_RIGHT_SIGNED, 8, in_register(RDX));
    assemble_general(assembler, GENERAL_COMPARE, 8, RDX, emission_operand(emission, op->in[0]));
    assemble_jump_if(assembler, IF_NOT_EQUAL, emission->bail_out);
    assemble_jump(assembler, done);
    bind_label(assembler, is_far);
    assemble_general(assembler, GENERAL_TEST, 8, RCX, in_register(RCX));
    assemble_jump_if(assembler, IF_NEGATIVE, emission->bail_out);
    assemble_general(assembler, GENERAL_TEST, 8, RAX, in_register(RAX));
    assemble_jump_if(assembler, IF_NOT_EQUAL, emission->bail_out);
    bind_label(assembler, done);
    emission_finish(emission, op->out, RAX);
}

bool emission_find_rotation(const struct emission *emission, const struct mdf_lowered_op *op, mdf_lowered_id *number,
                            uint8_t *n_bits)
{
    const struct mdf_lowered_op *left, *right;
    uint64_t width = 8 * mdf_dtype_size((mdf_dtype)op->dtype), n_left, n_right;

    if ((op->code != MDF_LOWERED_OR && op->code != MDF_LOWERED_EXCLUSIVE_OR && op->code != MDF_LOWERED_ADD) ||
        (op->dtype != MDF_DTYPE_UINT32 && op->dtype != MDF_DTYPE_UINT64)) {
        return false;
    }
    left = emission_maker(emission, op->in[0]);
    right = emission_maker(emission, op->in[1]);
    if (left != NULL && left->code == MDF_LOWERED_SHIFT_RIGHT) {
        const struct mdf_lowered_op *other = left;

        left = right;
        right = other;
    }
    if (left == NULL || right == NULL || left->code != MDF_LOWERED_SHIFT_LEFT || right->code != MDF_LOWERED_SHIFT_RIGHT ||
        left->in[0] != right->in[0] || !emission_is_constant(emission, left->in[1]) ||
        !emission_is_constant(emission, right->in[1])) {
        return false;
    }
    n_left = emission_constant(emission, left->in[1]);
    n_right = emission_constant(emission, right->in[1]);
    *number = left->in[0];
    *n_bits = (uint8_t)n_left;
    return n_left > 0 && n_left < width && n_left + n_right == width;
}

/* Of parts that nobody else wants: they have not been computed. */
static bool emit_rotation(struct emission *emission, const struct mdf_lowered_op *op)
{
    mdf_lowered_id number;
    uint8_t n_bits, target;

    if (!emission_find_rotation(emission, op, &number, &n_bits) || emission_deferred(emission, op->in[0]) == NULL) {
        return false;
    }
    target = emission_target(emission, op->out, RAX);
    emission_load_general(emission, number, target);
    assemble_shift(emission->assembler, ROTATE_LEFT, size_of(op), target, n_bits);
    emission_finish(emission, op->out, target);
    return true;
}

void emission_whole(struct emission *emission, const struct mdf_lowered_op *op)
{
    enum mdf_lowered_code code = mdf_lowered_wrapping(op->code);
    bool is_exact = code != op->code;

    if (emit_rotation(emission, op)) {
        return;
    }
    switch (code) {
    case MDF_LOWERED_ADD:
        emit_sum(emission, op, false, is_exact);
        break;
    case MDF_LOWERED_SUBTRACT:
        emit_sum(emission, op, true, is_exact);
        break;
    case MDF_LOWERED_MULTIPLY:
        emit_product(emission, op, is_exact);
        break;
    case MDF_LOWERED_NEGATE:
        emit_negation(emission, op, is_exact);
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
    case MDF_LOWERED_SHIFT_LEFT:
    case MDF_LOWERED_SHIFT_RIGHT:
        (is_exact ? emit_exact_shift : emit_shift)(emission, op);
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
