/* emit_x86_64_scalar.c - see emit_x86_64.h. Ops on scalars: those of reals, casts, choice among all others. */
#include "mdf_c/base/processor.h"
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/lowered_run.h"
#include "mdf_c/machine/emit_x86_64.h"

#include <string.h>

static unsigned type_of(const struct emission *emission, mdf_lowered_id id)
{
    return emission->lowered->values[id].form.dtype;
}

/* Kinds of types, as sets. */
enum {
    DOUBLES = 1,
    FLOATS = 2,
    LONGS = 4, /* int64 */
    INTS = 8,  /* int32 */
    TRUTHS = 16,
    OTHERS = 32,
    NATURALS = 64, /* other whole numbers */
    HALVES = 128,  /* which are chosen, and cast from float32 and to it */
    REALS = DOUBLES | FLOATS,
    WHOLES = LONGS | INTS | NATURALS,
    NUMBERS = REALS | WHOLES,
    COVERED = NUMBERS | TRUTHS,
    ANY = COVERED | OTHERS | HALVES
};

static unsigned kinds_of(unsigned dtype)
{
    return dtype == MDF_DTYPE_FLOAT64            ? DOUBLES
           : mdf_dtype_is_real(dtype)            ? FLOATS
           : dtype == MDF_DTYPE_INT64            ? LONGS
           : dtype == MDF_DTYPE_INT32            ? INTS
           : machine_is_whole(dtype)             ? NATURALS
           : dtype == MDF_DTYPE_BOOL             ? TRUTHS
           : mdf_dtype_is_half((mdf_dtype)dtype) ? HALVES
                                                 : OTHERS;
}

bool machine_takes(enum mdf_lowered_code code, unsigned dtype, bool is_packed)
{
    static const struct {
        uint8_t scalar, packed; /* kinds of operands that there is code for */
    } takes[] = {
        [MDF_LOWERED_ADD] = {NUMBERS, NUMBERS},
        [MDF_LOWERED_SUBTRACT] = {NUMBERS, NUMBERS},
        [MDF_LOWERED_MULTIPLY] = {NUMBERS, NUMBERS},
        [MDF_LOWERED_NEGATE] = {NUMBERS, NUMBERS},
        [MDF_LOWERED_ABSOLUTE] = {NUMBERS, NUMBERS},
        [MDF_LOWERED_DIVIDE] = {REALS, REALS},
        [MDF_LOWERED_DIVIDE_NONZERO] = {REALS, REALS},
        [MDF_LOWERED_SQUARE_ROOT] = {REALS, REALS},
        [MDF_LOWERED_FLOOR] = {REALS, REALS},
        [MDF_LOWERED_CEILING] = {REALS, REALS},
        [MDF_LOWERED_QUOTIENT] = {WHOLES, 0},
        [MDF_LOWERED_REMAINDER] = {WHOLES, 0},
        [MDF_LOWERED_FLOOR_QUOTIENT] = {WHOLES, 0},
        [MDF_LOWERED_FLOOR_REMAINDER] = {WHOLES, 0},
        [MDF_LOWERED_ADD_EXACT] = {LONGS, 0},
        [MDF_LOWERED_SUBTRACT_EXACT] = {LONGS, 0},
        [MDF_LOWERED_MULTIPLY_EXACT] = {LONGS, 0},
        [MDF_LOWERED_SHIFT_LEFT_EXACT] = {LONGS, 0},
        [MDF_LOWERED_SHIFT_RIGHT_EXACT] = {LONGS, 0},
        [MDF_LOWERED_NEGATE_EXACT] = {LONGS, 0},
        [MDF_LOWERED_AND] = {WHOLES | TRUTHS, WHOLES | TRUTHS},
        [MDF_LOWERED_OR] = {WHOLES | TRUTHS, WHOLES | TRUTHS},
        [MDF_LOWERED_EXCLUSIVE_OR] = {WHOLES | TRUTHS, WHOLES | TRUTHS},
        [MDF_LOWERED_NOT] = {WHOLES | TRUTHS, WHOLES | TRUTHS},
        [MDF_LOWERED_SHIFT_LEFT] = {WHOLES, WHOLES},
        [MDF_LOWERED_SHIFT_RIGHT] = {WHOLES, WHOLES},
        [MDF_LOWERED_EQUAL] = {COVERED, COVERED},
        [MDF_LOWERED_NOT_EQUAL] = {COVERED, COVERED},
        [MDF_LOWERED_LESS] = {COVERED, NUMBERS},
        [MDF_LOWERED_LESS_EQUAL] = {COVERED, NUMBERS},
        [MDF_LOWERED_GREATER] = {COVERED, NUMBERS},
        [MDF_LOWERED_GREATER_EQUAL] = {COVERED, NUMBERS},
        [MDF_LOWERED_SELECT] = {COVERED | HALVES, COVERED | HALVES},
        [MDF_LOWERED_CAST] = {COVERED | HALVES, COVERED | HALVES},
        [MDF_LOWERED_FUNCTION] = {DOUBLES, 0},
        [MDF_LOWERED_ELEMENTS] = {ANY, 0},
        [MDF_LOWERED_COPY] = {ANY, 0},
    };

    return (size_t)code < sizeof takes / sizeof *takes &&
           (kinds_of(dtype) & (is_packed ? takes[code].packed : takes[code].scalar)) != 0;
}

unsigned machine_vector_code(enum mdf_lowered_code code)
{
    static const unsigned codes[] = {
        [MDF_LOWERED_ADD] = VECTOR_ADD,
        [MDF_LOWERED_SUBTRACT] = VECTOR_SUBTRACT,
        [MDF_LOWERED_MULTIPLY] = VECTOR_MULTIPLY,
        [MDF_LOWERED_DIVIDE] = VECTOR_DIVIDE,
        [MDF_LOWERED_DIVIDE_NONZERO] = VECTOR_DIVIDE,
        [MDF_LOWERED_NOT_EQUAL] = VECTOR_EXCLUSIVE_OR,
        [MDF_LOWERED_AND] = VECTOR_AND,
        [MDF_LOWERED_OR] = VECTOR_OR,
        [MDF_LOWERED_EXCLUSIVE_OR] = VECTOR_EXCLUSIVE_OR,
    };

    return (size_t)code < sizeof codes / sizeof *codes ? codes[code] : 0;
}

/* Whether there are instructions for a cast of a half, or to one. */
static bool casts_half_here(unsigned from, unsigned to)
{
    return (mdf_dtype_is_half((mdf_dtype)from) && to == MDF_DTYPE_FLOAT32) ||
           (from == MDF_DTYPE_FLOAT32 && to == MDF_DTYPE_FLOAT16);
}

bool emission_casts_by_call(const struct emission *emission, const struct mdf_lowered_op *op)
{
    unsigned kinds;

    if (op->code != MDF_LOWERED_CAST) {
        return false;
    }
    kinds = kinds_of(op->dtype) | kinds_of(type_of(emission, op->out));
    return (kinds & OTHERS) != 0 || ((kinds & HALVES) != 0 && !casts_half_here(op->dtype, type_of(emission, op->out)));
}

static bool covers_type(const struct emission *emission, const struct mdf_lowered_op *op)
{
    if (emission_casts_by_call(emission, op)) {
        return !mdf_dtype_is_real(op->dtype) || (kinds_of(type_of(emission, op->out)) & HALVES) != 0; /* what always fits */
    }
    if (!machine_takes((enum mdf_lowered_code)op->code, op->dtype, false)) {
        return false;
    }
    if (op->code == MDF_LOWERED_CAST && mdf_dtype_is_real(op->dtype)) { /* what reals are cut off to */
        unsigned to = type_of(emission, op->out);

        return mdf_dtype_is_real(to) || to == MDF_DTYPE_BOOL || to == MDF_DTYPE_INT32 || to == MDF_DTYPE_INT64 ||
               to == MDF_DTYPE_UINT64 || mdf_dtype_is_half((mdf_dtype)to);
    }
    return op->code == MDF_LOWERED_FUNCTION ? op->n_in <= 2 : op->code == MDF_LOWERED_ELEMENTS ? op->loop != NULL : true;
}

bool emission_covers_scalar(const struct emission *emission, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_value *values = emission->lowered->values;

    if (op->out == MDF_LOWERED_NONE || op->n_in == 0 || !covers_type(emission, op)) {
        return false;
    }
    if (op->code == MDF_LOWERED_COPY) {
        return values[op->out].is_scalar == values[op->in[0]].is_scalar;
    }
    for (size_t i = 0; i < op->n_in; i++) {
        if (!values[op->in[i]].is_scalar) {
            return false;
        }
    }
    return values[op->out].is_scalar;
}

/* ------------------------------------------------------------------ reals */

static unsigned kind_of(const struct mdf_lowered_op *op)
{
    return op->dtype == MDF_DTYPE_FLOAT32 ? OF_FLOAT : OF_DOUBLE;
}

static void emit_binary(struct emission *emission, const struct mdf_lowered_op *op, unsigned code)
{
    uint8_t first = emission_real(emission, op->in[0], SECOND_SCRATCH_REAL);
    uint8_t target = emission_target(emission, op->out, SCRATCH_REAL);

    assemble_vector(emission->assembler, code | kind_of(op), 16, target, first, emission_operand(emission, op->in[1]));
    emission_finish(emission, op->out, target);
}

/* With a constant in all lanes: the sign bit, or all but it. */
static void emit_bits(struct emission *emission, const struct mdf_lowered_op *op, unsigned code, uint64_t bits)
{
    uint8_t first = emission_real(emission, op->in[0], SECOND_SCRATCH_REAL);
    uint8_t target = emission_target(emission, op->out, SCRATCH_REAL);

    assemble_vector(emission->assembler, code, 16, target, first,
                    constant_operand(emission->assembler, bits, op->dtype == MDF_DTYPE_FLOAT32 ? 4 : 8));
    emission_finish(emission, op->out, target);
}

static void emit_sign(struct emission *emission, const struct mdf_lowered_op *op)
{
    uint64_t sign = op->dtype == MDF_DTYPE_FLOAT32 ? UINT64_C(0x80000000) : UINT64_C(1) << 63;

    if (op->code == MDF_LOWERED_NEGATE) {
        emit_bits(emission, op, VECTOR_EXCLUSIVE_OR, sign);
    } else {
        emit_bits(emission, op, VECTOR_AND, op->dtype == MDF_DTYPE_FLOAT32 ? sign - 1 : ~sign);
    }
}

static void emit_unary(struct emission *emission, const struct mdf_lowered_op *op)
{
    uint8_t first = emission_real(emission, op->in[0], SECOND_SCRATCH_REAL);
    uint8_t target = emission_target(emission, op->out, SCRATCH_REAL);
    struct machine_operand operand = in_register(first);

    if (op->code == MDF_LOWERED_SQUARE_ROOT) {
        assemble_vector(emission->assembler, VECTOR_SQUARE_ROOT | kind_of(op), 16, target, first, operand);
    } else {
        assemble_vector_with_number(emission->assembler,
                                    op->dtype == MDF_DTYPE_FLOAT32 ? VECTOR_ROUND_FLOAT : VECTOR_ROUND_DOUBLE, 16, target, first,
                                    operand, op->code == MDF_LOWERED_FLOOR ? 9 : 10);
    }
    emission_finish(emission, op->out, target);
}

static void bail_out_where_zero(struct emission *emission, const struct mdf_lowered_op *op)
{
    struct assembler *assembler = emission->assembler;
    machine_label past = new_label(assembler);
    uint8_t divisor = emission_real(emission, op->in[1], SECOND_SCRATCH_REAL);

    assemble_vector(assembler, VECTOR_EXCLUSIVE_OR, 16, SCRATCH_REAL, SCRATCH_REAL, in_register(SCRATCH_REAL));
    assemble_vector(assembler, op->dtype == MDF_DTYPE_FLOAT32 ? VECTOR_ORDER_FLOAT : VECTOR_ORDER_DOUBLE, 16, divisor, 0,
                    in_register(SCRATCH_REAL));
    assemble_jump_if(assembler, IF_PARITY, past);
    assemble_jump_if(assembler, IF_EQUAL, emission->bail_out);
    bind_label(assembler, past);
}

static bool is_constant_other_than_zero(const struct emission *emission, mdf_lowered_id id)
{
    return emission_is_constant(emission, id) && emission_constant(emission, id) << (emission->lives[id].size == 4 ? 33 : 1) != 0;
}

static void emit_real(struct emission *emission, const struct mdf_lowered_op *op)
{
    enum mdf_lowered_code code = (enum mdf_lowered_code)op->code;

    if (code == MDF_LOWERED_DIVIDE_NONZERO && !is_constant_other_than_zero(emission, op->in[1])) {
        bail_out_where_zero(emission, op);
    }
    if (machine_vector_code(code) != 0) {
        emit_binary(emission, op, machine_vector_code(code));
    } else if (code == MDF_LOWERED_NEGATE || code == MDF_LOWERED_ABSOLUTE) {
        emit_sign(emission, op);
    } else {
        emit_unary(emission, op);
    }
}

/* ------------------------------------------------------------------ casts */

/* What does not fit gives the lowest number, which fits itself: whether the real is that number, or bails out. */
static void emit_lowest(struct emission *emission, const struct late_case *late)
{
    struct assembler *assembler = emission->assembler;
    uint64_t lowest = late->is_float ? UINT64_C(0xDF000000) : UINT64_C(0xC3E0000000000000);

    assemble_vector(assembler, late->is_float ? VECTOR_ORDER_FLOAT : VECTOR_ORDER_DOUBLE, 16, late->first, 0,
                    constant_operand(assembler, lowest, late->is_float ? 4 : 8));
    assemble_jump_if(assembler, IF_PARITY, emission->bail_out);
    assemble_jump_if(assembler, IF_NOT_EQUAL, emission->bail_out);
}

/* A real as int64 in rax; bails out where the number does not fit. */
static void truncate_to_long(struct emission *emission, bool is_float, uint8_t real)
{
    struct assembler *assembler = emission->assembler;

    assemble_vector(assembler, is_float ? VECTOR_INT_8_OF_FLOAT : VECTOR_INT_8_OF_DOUBLE, 16, RAX, 0, in_register(real));
    assemble_with_number(assembler, NUMBER_COMPARE, 8, in_register(RAX), 1);
    emission_jump_late(emission, IF_OVERFLOW, (struct late_case){.emit = emit_lowest, .first = real, .is_float = is_float});
}

/* From 2^63 on without that, which is the upper bit. */
static void truncate_to_natural(struct emission *emission, bool is_float, uint8_t real)
{
    struct assembler *assembler = emission->assembler;
    machine_label is_small = new_label(assembler), done = new_label(assembler);
    struct machine_operand limit =
        constant_operand(assembler, is_float ? UINT64_C(0x5F000000) : UINT64_C(0x43E0000000000000), is_float ? 4 : 8);

    assemble_vector(assembler, is_float ? VECTOR_ORDER_FLOAT : VECTOR_ORDER_DOUBLE, 16, real, 0, limit);
    assemble_jump_if(assembler, IF_BELOW, is_small); /* NaN, too */
    assemble_vector(assembler, VECTOR_SUBTRACT | (is_float ? OF_FLOAT : OF_DOUBLE), 16, SCRATCH_REAL, real, limit);
    assemble_vector(assembler, is_float ? VECTOR_INT_8_OF_FLOAT : VECTOR_INT_8_OF_DOUBLE, 16, RAX, 0, in_register(SCRATCH_REAL));
    assemble_with_number(assembler, NUMBER_COMPARE, 8, in_register(RAX), 1);
    assemble_jump_if(assembler, IF_OVERFLOW, emission->bail_out);
    assemble_move_number(assembler, RCX, UINT64_C(1) << 63);
    assemble_general(assembler, GENERAL_EXCLUSIVE_OR, 8, RAX, in_register(RCX));
    assemble_jump(assembler, done);
    bind_label(assembler, is_small);
    truncate_to_long(emission, is_float, real);
    bind_label(assembler, done);
}

/* Reals of the type `dtype` as rax; bails out where the number does not fit. */
static void truncate_real(struct emission *emission, const struct mdf_lowered_op *op)
{
    bool is_float = op->dtype == MDF_DTYPE_FLOAT32;
    struct assembler *assembler = emission->assembler;
    uint8_t real = emission_real(emission, op->in[0], SECOND_SCRATCH_REAL);

    if (type_of(emission, op->out) == MDF_DTYPE_INT64 && emission_is_only_index(emission, op->out)) {
        assemble_vector(assembler, is_float ? VECTOR_INT_8_OF_FLOAT : VECTOR_INT_8_OF_DOUBLE, 16, RAX, 0, in_register(real));
        return;
    }
    if (type_of(emission, op->out) == MDF_DTYPE_INT64) {
        truncate_to_long(emission, is_float, real);
        return;
    }
    if (type_of(emission, op->out) == MDF_DTYPE_UINT64) {
        truncate_to_natural(emission, is_float, real);
        return;
    }
    assemble_vector(assembler, is_float ? VECTOR_INT_8_OF_FLOAT : VECTOR_INT_8_OF_DOUBLE, 16, RAX, 0, in_register(real));
    assemble_general(assembler, GENERAL_SIGN_EXTEND, 8, RCX, in_register(RAX));
    assemble_general(assembler, GENERAL_COMPARE, 8, RCX, in_register(RAX));
    assemble_jump_if(assembler, IF_NOT_EQUAL, emission->bail_out);
    assemble_general(assembler, GENERAL_LOAD, 4, RAX, in_register(RAX));
}

static void truth_of_real(struct emission *emission, const struct mdf_lowered_op *op)
{
    struct assembler *assembler = emission->assembler;
    uint8_t real = emission_real(emission, op->in[0], SECOND_SCRATCH_REAL);

    assemble_vector(assembler, VECTOR_EXCLUSIVE_OR, 16, SCRATCH_REAL, SCRATCH_REAL, in_register(SCRATCH_REAL));
    assemble_vector(assembler, op->dtype == MDF_DTYPE_FLOAT32 ? VECTOR_ORDER_FLOAT : VECTOR_ORDER_DOUBLE, 16, real, 0,
                    in_register(SCRATCH_REAL));
    assemble_set_if(assembler, IF_NOT_EQUAL, RAX);
    assemble_set_if(assembler, IF_PARITY, RCX);
    assemble_general(assembler, GENERAL_OR, 4, RAX, in_register(RCX));
    assemble_general(assembler, GENERAL_LOAD_BYTE, 4, RAX, in_register(RAX));
}

static void cast_real_to_real(struct emission *emission, const struct mdf_lowered_op *op)
{
    uint8_t first = emission_real(emission, op->in[0], SECOND_SCRATCH_REAL);
    uint8_t target = emission_target(emission, op->out, SCRATCH_REAL);

    if (op->dtype == type_of(emission, op->out)) {
        emission_finish(emission, op->out, first);
        return;
    }
    assemble_vector(emission->assembler, op->dtype == MDF_DTYPE_FLOAT32 ? VECTOR_DOUBLE_OF_FLOAT : VECTOR_FLOAT_OF_DOUBLE, 16,
                    target, first, in_register(first));
    emission_finish(emission, op->out, target);
}

/* uint64 in rax that has the upper bit, in `target`: as twice its half, of which the last bit says that something follows, so
 * that it is rounded once. */
static void make_half_real(struct emission *emission, unsigned code, unsigned real, uint8_t target)
{
    struct assembler *assembler = emission->assembler;

    assemble_move(assembler, RCX, RAX);
    assemble_shift(assembler, SHIFT_RIGHT, 8, RCX, 1);
    assemble_with_number(assembler, NUMBER_AND, 4, in_register(RAX), 1);
    assemble_general(assembler, GENERAL_OR, 8, RAX, in_register(RCX));
    assemble_vector(assembler, code, 16, target, target, in_register(RAX));
    assemble_vector(assembler, VECTOR_ADD | real, 16, target, target, in_register(target));
}

static void cast_to_real(struct emission *emission, const struct mdf_lowered_op *op)
{
    struct assembler *assembler = emission->assembler;
    bool is_float = type_of(emission, op->out) == MDF_DTYPE_FLOAT32, is_natural = op->dtype == MDF_DTYPE_UINT64;
    bool is_wide = machine_whole_size(op->dtype) == 8 || op->dtype == MDF_DTYPE_UINT32;
    unsigned code = is_float ? (is_wide ? VECTOR_FLOAT_OF_INT_8 : VECTOR_FLOAT_OF_INT)
                             : (is_wide ? VECTOR_DOUBLE_OF_INT_8 : VECTOR_DOUBLE_OF_INT);
    uint8_t target = emission_target(emission, op->out, SCRATCH_REAL), number = emission_whole_number(emission, op->in[0], RAX);
    machine_label is_small = new_label(assembler), done = new_label(assembler);

    assemble_vector(assembler, VECTOR_EXCLUSIVE_OR, 16, target, target, in_register(target));
    if (op->dtype == MDF_DTYPE_UINT32) {
        assemble_general(assembler, GENERAL_LOAD, 4, RAX, in_register(number));
        number = RAX;
    }
    if (is_natural && mdf_has_avx512()) {
        code = is_float ? VECTOR_FLOAT_OF_NATURAL_8 : VECTOR_DOUBLE_OF_NATURAL_8;
    } else if (is_natural) {
        assemble_move(assembler, RAX, number);
        number = RAX;
        assemble_general(assembler, GENERAL_TEST, 8, RAX, in_register(RAX));
        assemble_jump_if(assembler, IF_NOT_NEGATIVE, is_small);
        make_half_real(emission, code, is_float ? OF_FLOAT : OF_DOUBLE, target);
        assemble_jump(assembler, done);
    }
    bind_label(assembler, is_small);
    assemble_vector(assembler, code, 16, target, target, in_register(number));
    bind_label(assembler, done);
    emission_finish(emission, op->out, target);
}

static void cast_whole(struct emission *emission, const struct mdf_lowered_op *op)
{
    struct assembler *assembler = emission->assembler;
    unsigned type = type_of(emission, op->out), size = machine_whole_size(op->dtype);
    size_t from = mdf_dtype_size((mdf_dtype)op->dtype), to = mdf_dtype_size((mdf_dtype)type);
    uint8_t number;

    if (type == MDF_DTYPE_BOOL && op->dtype != MDF_DTYPE_BOOL) {
        number = emission_whole_number(emission, op->in[0], RAX);
        assemble_general(assembler, GENERAL_TEST, size, number, in_register(number));
        assemble_set_if(assembler, IF_NOT_EQUAL, RAX);
        assemble_general(assembler, GENERAL_LOAD_BYTE, 4, RAX, in_register(RAX));
        emission_finish(emission, op->out, RAX);
        return;
    }
    if (op->dtype == MDF_DTYPE_BOOL || to <= from) {
        emission_finish(emission, op->out, emission_general(emission, op->in[0], RAX));
        return;
    }
    number = emission_whole_number(emission, op->in[0], RAX);
    if (to == 8 && machine_is_signed(op->dtype)) {
        assemble_general(assembler, GENERAL_SIGN_EXTEND, 8, RAX, in_register(number));
    } else {
        assemble_general(assembler, GENERAL_LOAD, 4, RAX, in_register(number));
    }
    emission_finish(emission, op->out, RAX);
}

/* To float32: the bits of bfloat16 are its upper ones. */
static void cast_half(struct emission *emission, const struct mdf_lowered_op *op)
{
    struct assembler *assembler = emission->assembler;
    uint8_t target = emission_target(emission, op->out, SCRATCH_REAL), number = emission_general(emission, op->in[0], RAX);

    if (op->dtype == MDF_DTYPE_BFLOAT16) {
        assemble_move(assembler, RAX, number);
        assemble_shift(assembler, SHIFT_LEFT, 4, RAX, 16);
        assemble_vector(assembler, VECTOR_FROM_GENERAL, 16, target, 0, in_register(RAX));
    } else {
        assemble_vector(assembler, VECTOR_FROM_GENERAL, 16, target, 0, in_register(number));
        assemble_vector(assembler, VECTOR_FLOATS_OF_HALVES, 16, target, 0, in_register(target));
    }
    emission_finish(emission, op->out, target);
}

static void cast_to_float16(struct emission *emission, const struct mdf_lowered_op *op)
{
    uint8_t first = emission_real(emission, op->in[0], SCRATCH_REAL);

    assemble_vector_with_number(emission->assembler, VECTOR_HALVES_OF_FLOATS, 16, first, 0, in_register(SCRATCH_REAL), 0);
    assemble_vector(emission->assembler, VECTOR_TO_GENERAL, 16, SCRATCH_REAL, 0, in_register(RAX));
    emission_finish(emission, op->out, RAX);
}

/* Of whole numbers, or to them, and of halves, for which there is no code here. */
static void call_cast(struct emission *emission, const struct mdf_lowered_op *op)
{
    struct assembler *assembler = emission->assembler;
    bool (*cast)(mdf_dtype, mdf_dtype, const void *, void *, size_t) = mdf_lowered_cast;
    const void *address;

    emission_publish(emission, op->in[0]);
    memcpy(&address, &cast, sizeof address);
    assemble_move_number(assembler, RDI, op->dtype);
    assemble_move_number(assembler, RSI, type_of(emission, op->out));
    assemble_general(assembler, GENERAL_ADDRESS, 8, RDX, in_memory(CELLS, (int32_t)(8 * op->in[0])));
    assemble_general(assembler, GENERAL_ADDRESS, 8, RCX, in_memory(CELLS, (int32_t)(8 * op->out)));
    assemble_move_number(assembler, R8, 1);
    emission_call(emission, address);
    emission_restore(emission);
    emission_fetch(emission, op->out);
}

static void emit_cast(struct emission *emission, const struct mdf_lowered_op *op)
{
    unsigned type = type_of(emission, op->out);

    if (emission_casts_by_call(emission, op)) {
        call_cast(emission, op);
    } else if (mdf_dtype_is_half((mdf_dtype)op->dtype)) {
        cast_half(emission, op);
    } else if (type == MDF_DTYPE_FLOAT16) {
        cast_to_float16(emission, op);
    } else if (mdf_dtype_is_real(op->dtype) && mdf_dtype_is_real(type)) {
        cast_real_to_real(emission, op);
    } else if (mdf_dtype_is_real(op->dtype) && type == MDF_DTYPE_BOOL) {
        truth_of_real(emission, op);
        emission_finish(emission, op->out, RAX);
    } else if (mdf_dtype_is_real(op->dtype)) {
        truncate_real(emission, op);
        emission_finish(emission, op->out, RAX);
    } else if (mdf_dtype_is_real(type) && emission_deferred(emission, op->in[0]) != NULL) {
        emission_cast_condition(emission, op);
    } else if (mdf_dtype_is_real(type)) {
        cast_to_real(emission, op);
    } else {
        cast_whole(emission, op);
    }
}

/* ------------------------------------------------------------------ C functions */

static void emit_function(struct emission *emission, const struct mdf_lowered_op *op)
{
    struct assembler *assembler = emission->assembler;
    const void *function;

    _Static_assert(sizeof function == sizeof op->of.function, "functions and data have pointers of one size");
    if (op->n_in == 1) {
        memcpy(&function, &op->of.function, sizeof function);
    } else {
        memcpy(&function, &op->of.function_of_two, sizeof function);
    }
    for (size_t i = op->n_in; i-- > 0;) {
        emission_load_real(emission, op->in[i], (uint8_t)(SECOND_SCRATCH_REAL - i));
    }
    for (size_t i = 0; i < op->n_in; i++) {
        emission_move_real(emission, (uint8_t)i, (uint8_t)(SECOND_SCRATCH_REAL - i));
    }
    emission_call(emission, function);
    emission_move_real(emission, SCRATCH_REAL, 0);
    emission_restore(emission);
    assemble_vector(assembler, VECTOR_SUBTRACT | OF_DOUBLE, 16, SECOND_SCRATCH_REAL, SCRATCH_REAL, in_register(SCRATCH_REAL));
    assemble_vector(assembler, VECTOR_ORDER_DOUBLE, 16, SECOND_SCRATCH_REAL, 0, in_register(SECOND_SCRATCH_REAL));
    assemble_jump_if(assembler, IF_PARITY, emission->bail_out);
    emission_finish(emission, op->out, SCRATCH_REAL);
}

/* The function of one element. */
static void emit_number(struct emission *emission, const struct mdf_lowered_op *op, mdf_number_function number)
{
    const void *function;

    memcpy(&function, &number, sizeof function);
    for (size_t i = op->n_in; i-- > 0;) {
        emission_load_real(emission, op->in[i], op->n_in == 1 ? 0 : (uint8_t)(SECOND_SCRATCH_REAL - i));
    }
    for (size_t i = 0; i < op->n_in && op->n_in > 1; i++) {
        emission_move_real(emission, (uint8_t)i, (uint8_t)(SECOND_SCRATCH_REAL - i));
    }
    assemble_move_address(emission->assembler, RDI, op->loop_settings);
    emission_call(emission, function);
    emission_move_real(emission, SCRATCH_REAL, 0);
    emission_restore(emission);
    emission_finish(emission, op->out, SCRATCH_REAL);
}

/* The loop over elements, for one. */
static void emit_elements(struct emission *emission, const struct mdf_lowered_op *op)
{
    static const size_t steps[MDF_MAX_OPERANDS] = {1, 1, 1};
    struct assembler *assembler = emission->assembler;
    mdf_number_function number = mdf_number_here(op->loop);

    if (number != NULL) {
        emit_number(emission, op, number);
        return;
    }
    for (size_t i = 0; i < op->n_in; i++) {
        emission_publish(emission, op->in[i]);
    }
    for (size_t i = 0; i < op->n_in; i++) {
        assemble_general(assembler, GENERAL_ADDRESS, 8, RAX, in_memory(CELLS, (int32_t)(8 * op->in[i])));
        assemble_store(assembler, 8, RAX, in_memory(RSP, (int32_t)(FRAME_POINTERS + 8 * i)));
    }
    assemble_general(assembler, GENERAL_ADDRESS, 8, RDI, in_memory(CELLS, (int32_t)(8 * op->out)));
    emission_call_loop(emission, op, steps, 1);
    emission_restore(emission);
    emission_fetch(emission, op->out);
}

/* Operand or result number `i` of numbers side by side. */
static struct machine_operand beside(const struct emission *emission, const struct mdf_lowered_op *op, size_t i, bool is_result)
{
    uint32_t first = emission->first_beside + (is_result ? MDF_LOWERED_MOST_BESIDE : 0);
    struct machine_operand place = emission_cell(emission, (mdf_lowered_id)(emission->lowered->n_values + first));

    place.displacement += (int32_t)(i * mdf_dtype_size((mdf_dtype)op->dtype));
    return place;
}

/* One of several numbers that a function makes at once: its operand is stored; with the last one the function is called. */
static void emit_beside(struct emission *emission, const struct mdf_lowered_op *op)
{
    static const size_t steps[MDF_MAX_OPERANDS] = {1, 1, 1};
    const struct step *step = &emission->steps[emission->at];
    struct assembler *assembler = emission->assembler;
    bool is_float = op->dtype == MDF_DTYPE_FLOAT32;
    size_t n = step->beside;

    assemble_vector(assembler, is_float ? VECTOR_STORE_FLOAT : VECTOR_STORE_DOUBLE, 16,
                    emission_real(emission, op->in[0], SCRATCH_REAL), 0, beside(emission, op, n - 1, false));
    if (!step->is_last_beside) {
        return;
    }
    assemble_general(assembler, GENERAL_ADDRESS, 8, RAX, beside(emission, op, 0, false));
    assemble_store(assembler, 8, RAX, in_memory(RSP, FRAME_POINTERS));
    assemble_general(assembler, GENERAL_ADDRESS, 8, RDI, beside(emission, op, 0, true));
    emission_call_loop(emission, op, steps, n);
    emission_restore(emission);
    for (size_t i = 0; i < n; i++) {
        mdf_lowered_id out = emission->steps[emission->at + 1 + i - n].op->out;
        uint8_t target = emission_target(emission, out, SCRATCH_REAL);

        if (emission->lives[out].n_uses > 0) {
            assemble_vector(assembler, is_float ? VECTOR_LOAD_FLOAT : VECTOR_LOAD_DOUBLE, 16, target, 0,
                            beside(emission, op, i, true));
            emission_finish(emission, out, target);
        }
    }
}

/* Elements of an array. */
static void emit_array_copy(struct emission *emission, const struct mdf_lowered_op *op)
{
    const struct mdf_value *form = &emission->lowered->values[op->out].form;

    assemble_load(emission->assembler, 8, RDI, emission_array_data(op->out));
    assemble_load(emission->assembler, 8, RSI, emission_array_data(op->in[0]));
    assemble_move_number(emission->assembler, RDX, form->length * mdf_dtype_size((mdf_dtype)form->dtype));
    emission_call_memcpy(emission);
    emission_restore(emission);
}

void emission_scalar(struct emission *emission, const struct mdf_lowered_op *op)
{
    switch ((enum mdf_lowered_code)op->code) {
    case MDF_LOWERED_FUNCTION:
        emit_function(emission, op);
        return;
    case MDF_LOWERED_ELEMENTS:
        if (emission->steps[emission->at].beside > 0) {
            emit_beside(emission, op);
        } else {
            emit_elements(emission, op);
        }
        return;
    case MDF_LOWERED_COPY:
        if (emission->lowered->values[op->out].is_scalar) {
            emission_copy(emission, op->out, op->in[0]);
        } else if (!emission->lowered->values[op->out].is_in_place) { /* else it lies there */
            emit_array_copy(emission, op);
        }
        return;
    case MDF_LOWERED_CAST:
        emit_cast(emission, op);
        return;
    case MDF_LOWERED_SELECT:
        emission_select(emission, op);
        return;
    default:
        break;
    }
    if (emission_is_comparison(op->code)) {
        emission_comparison(emission, op);
    } else if (mdf_dtype_is_real(op->dtype)) {
        emit_real(emission, op);
    } else {
        emission_whole(emission, op);
    }
}
