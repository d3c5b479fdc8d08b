/* emit_x86_64_packed.c - see emit_x86_64_packed.h. Element ops on several elements at a time. What takes several instructions
 * works in the free registers, and writes the result with the last one: it may have the register of an operand. */
#include "mdf_c/machine/emit_x86_64_packed.h"

#include "mdf_c/base/processor.h"

static bool is_real_type(unsigned dtype)
{
    return dtype == MDF_DTYPE_FLOAT32 || dtype == MDF_DTYPE_FLOAT64;
}

static bool covers_cast(unsigned from, unsigned to)
{
    if (is_real_type(from)) {
        return is_real_type(to) || to == MDF_DTYPE_BOOL;
    }
    return emission_has_vectors(to) && (!is_real_type(to) || machine_whole_size(from) == 4 || mdf_has_avx512());
}

bool packed_covers(enum mdf_lowered_code code, unsigned dtype, unsigned to)
{
    return machine_takes(code, dtype, true) && (code != MDF_LOWERED_CAST || covers_cast(dtype, to));
}

/* ------------------------------------------------------------------ pieces */

/* Of the register: 16, 32 or 64. */
static unsigned packed_size(const struct packed *packed, unsigned element_size)
{
    return packed->lanes * element_size > 32 ? 64 : packed->lanes * element_size > 16 ? 32 : 16;
}

/* Bytes of an element of the op's operands, in a register. */
static unsigned element_size(const struct packed *packed, unsigned dtype)
{
    return machine_lane_bytes(dtype, packed->width);
}

static unsigned size_of(const struct packed *packed, unsigned dtype)
{
    return packed_size(packed, element_size(packed, dtype));
}

uint64_t emission_lane_constant(const struct emission *emission, mdf_lowered_id id)
{
    int32_t number;

    return machine_is_short(emission->lowered->values[id].form.dtype) && emission_small_constant(emission, id, &number)
               ? (uint32_t)number
               : emission_constant(emission, id);
}

static uint64_t packed_constant(const struct packed *packed, size_t k)
{
    return emission_lane_constant(packed->emission, packed->constants[k]);
}

/* An operand that an instruction may read from memory. */
static struct machine_operand operand_of(struct packed *packed, size_t k)
{
    if (packed->in[k] != NO_REGISTER) {
        return in_register(packed->in[k]);
    }
    if (packed->constants[k] == MDF_LOWERED_NONE) {
        return packed->memory;
    }
    return constant_operand(packed->assembler, packed_constant(packed, k), element_size(packed, packed->dtype));
}

static void make_zero(struct packed *packed, uint8_t number)
{
    assemble_vector(packed->assembler, VECTOR_EXCLUSIVE_OR, 16, number, number, in_register(number));
}

/* Lanes of `from` bytes become lanes of `to` bytes, half or twice as wide, in the register `target`, by their signs. */
static void change_width(struct packed *packed, uint8_t target, uint8_t source, unsigned from, unsigned to)
{
    struct assembler *assembler = packed->assembler;

    if (from < to) {
        assemble_vector(assembler, VECTOR_EXTEND_INTS, packed_size(packed, to), target, 0, in_register(source));
    } else if (packed->lanes * from == 64) {
        assemble_vector(assembler, VECTOR_NARROW_INTS_8, 64, source, 0, in_register(target));
    } else if (packed->lanes == 4) {
        assemble_vector_with_number(assembler, VECTOR_UPPER_HALF, 32, source, 0, in_register(THIRD_SCRATCH_REAL), 1);
        assemble_vector_with_number(assembler, VECTOR_SHUFFLE_FLOATS, 16, target, source, in_register(THIRD_SCRATCH_REAL), 0x88);
    } else {
        assemble_vector(assembler, VECTOR_MOVE, 16, target, 0, in_register(source));
    }
}

/* The register that has the mask of a bool operand in lanes of `to` bytes: its own, or the first scratch register. */
static uint8_t mask_for(struct packed *packed, size_t k, unsigned to)
{
    uint8_t number = packed->in[k];

    if (to == packed->width) {
        return number;
    }
    change_width(packed, SCRATCH_REAL, number, packed->width, to);
    return SCRATCH_REAL;
}

/* A mask of lanes of `from` bytes in the first scratch register, flipped where asked for, becomes the op's result. */
static void finish_mask(struct packed *packed, unsigned from, bool flips)
{
    struct assembler *assembler = packed->assembler;
    uint8_t target = packed->out;

    if (flips) {
        assemble_vector(assembler, VECTOR_EXCLUSIVE_OR, packed_size(packed, from), SCRATCH_REAL, SCRATCH_REAL,
                        constant_operand(assembler, UINT64_MAX, 8));
    }
    if (from != packed->width) {
        change_width(packed, target, SCRATCH_REAL, from, packed->width);
    } else {
        assemble_vector(assembler, VECTOR_MOVE, packed_size(packed, from), target, 0, in_register(SCRATCH_REAL));
    }
}

/* ------------------------------------------------------------------ arithmetic */

static unsigned real_kind(const struct packed *packed)
{
    return packed->dtype == MDF_DTYPE_FLOAT32 ? OF_FLOATS : OF_DOUBLES;
}

/* Of operations on bits: by the size of elements. */
static unsigned lane_kind(const struct packed *packed)
{
    return element_size(packed, packed->dtype) < 8 ? OF_FLOATS : OF_DOUBLES;
}

static void note_mask(struct assembler *assembler, uint8_t vector, uint8_t n_bytes)
{
    assembler->mask_of = vector;
    assembler->mask_bytes = n_bytes;
}

void packed_compare(struct assembler *assembler, unsigned code, unsigned size, uint8_t target, uint8_t first,
                    struct machine_operand second, uint8_t comparison)
{
    if (size < 64) {
        assemble_vector_with_number(assembler, code, size, target, first, second, comparison);
    } else {
        assemble_vector_with_number(assembler, code, size, VECTOR_MASK, first, second, comparison);
        assemble_vector(assembler, code == (VECTOR_COMPARE | OF_FLOATS) ? VECTOR_OF_MASK_4 : VECTOR_OF_MASK_8, size, target, 0,
                        in_register(VECTOR_MASK));
        note_mask(assembler, target, code == (VECTOR_COMPARE | OF_FLOATS) ? 4 : 8);
    }
}

void packed_choose(struct assembler *assembler, bool is_narrow, unsigned size, uint8_t target, uint8_t mask,
                   struct machine_operand then, uint8_t otherwise)
{
    if (size < 64) {
        assemble_vector_with_number(assembler, is_narrow ? VECTOR_BLEND_FLOATS : VECTOR_BLEND_DOUBLES, size, target, otherwise,
                                    then, (uint8_t)(mask << 4));
    } else {
        if (assembler->mask_bytes != (is_narrow ? 4 : 8) || assembler->mask_of != mask) {
            assemble_vector(assembler, is_narrow ? VECTOR_TO_MASK_4 : VECTOR_TO_MASK_8, size, VECTOR_MASK, 0, in_register(mask));
            note_mask(assembler, mask, is_narrow ? 4 : 8);
        }
        assemble_vector(assembler, is_narrow ? VECTOR_CHOOSE_FLOATS : VECTOR_CHOOSE_DOUBLES, size, target, otherwise, then);
    }
}

/* Numbers of fewer bytes than their lanes lie there with their own sign, or zeros, above them: what an op has left there is made
 * that. */
static void make_short(struct packed *packed, unsigned dtype, uint8_t target, uint8_t source)
{
    struct assembler *assembler = packed->assembler;
    unsigned width = element_size(packed, dtype), size = packed_size(packed, width);
    unsigned n_bits = 8 * (unsigned)mdf_dtype_size((mdf_dtype)dtype), shift = width == 2 ? VECTOR_SHIFT_SHORTS : VECTOR_SHIFT_INTS;

    if (machine_is_signed(dtype)) {
        assemble_vector_with_number(assembler, shift, size, VECTOR_TO_LEFT, target, in_register(source),
                                    (uint8_t)(8 * width - n_bits));
        assemble_vector_with_number(assembler, shift, size, VECTOR_TO_RIGHT_SIGNED, target, in_register(target),
                                    (uint8_t)(8 * width - n_bits));
    } else {
        assemble_vector(assembler, VECTOR_AND, size, target, source,
                        constant_operand(assembler, (UINT64_C(1) << n_bits) - 1, width));
    }
}

/* Whether numbers of a type have fewer bytes than their lanes. */
static bool is_in_wider_lane(const struct packed *packed, unsigned dtype)
{
    return machine_is_short(dtype) && element_size(packed, dtype) > mdf_dtype_size((mdf_dtype)dtype);
}

/* Of instructions for whole numbers of 1, 2, 4 and 8 bytes, that for an op's operands. */
static unsigned of_lanes(const struct packed *packed, unsigned bytes, unsigned shorts, unsigned ints, unsigned longs)
{
    unsigned width = element_size(packed, packed->dtype);

    return width == 1 ? bytes : width == 2 ? shorts : width == 4 ? ints : longs;
}

static void emit_two(struct packed *packed, unsigned code)
{
    uint8_t first = packed->in[0];
    struct machine_operand second = operand_of(packed, 1);
    uint8_t target = packed->out;

    assemble_vector(packed->assembler, code, size_of(packed, packed->dtype), target, first, second);
}

static void emit_with_constant(struct packed *packed, unsigned code, uint64_t bits)
{
    uint8_t first = packed->in[0], target = packed->out;
    unsigned size = size_of(packed, packed->dtype);

    assemble_vector(packed->assembler, size == 64 ? code | lane_kind(packed) : code, size, target, first,
                    constant_operand(packed->assembler, bits, element_size(packed, packed->dtype)));
}

static void emit_one(struct packed *packed)
{
    unsigned size = size_of(packed, packed->dtype);
    struct machine_operand operand = operand_of(packed, 0);
    uint8_t target = packed->out;

    if (packed->code == MDF_LOWERED_SQUARE_ROOT) {
        assemble_vector(packed->assembler, VECTOR_SQUARE_ROOT | real_kind(packed), size, target, 0, operand);
    } else {
        assemble_vector_with_number(packed->assembler,
                                    packed->dtype == MDF_DTYPE_FLOAT32 ? VECTOR_ROUND_FLOATS : VECTOR_ROUND_DOUBLES, size, target,
                                    0, operand, packed->code == MDF_LOWERED_FLOOR ? 9 : 10);
    }
}

static void bail_out_where_zero(struct packed *packed)
{
    struct assembler *assembler = packed->assembler;
    unsigned size = size_of(packed, packed->dtype);
    bool is_float = packed->dtype == MDF_DTYPE_FLOAT32;

    if (packed->constants[1] != MDF_LOWERED_NONE &&
        emission_constant(packed->emission, packed->constants[1]) << (is_float ? 33 : 1) != 0) {
        return;
    }
    make_zero(packed, SCRATCH_REAL);
    assemble_vector_with_number(assembler, VECTOR_COMPARE | real_kind(packed), size, size < 64 ? SCRATCH_REAL : VECTOR_MASK,
                                packed->in[1], in_register(SCRATCH_REAL), VECTOR_EQUAL);
    if (size < 64) {
        assemble_vector(assembler, is_float ? VECTOR_SIGNS_OF_FLOATS : VECTOR_SIGNS_OF_DOUBLES, size, RCX, 0,
                        in_register(SCRATCH_REAL));
    } else {
        assemble_vector(assembler, VECTOR_MASK_TO_GENERAL, 16, RCX, 0, in_register(VECTOR_MASK));
    }
    assemble_with_number(assembler, NUMBER_AND, 4, in_register(RCX), (1 << packed->active) - 1);
    assemble_jump_if(assembler, IF_NOT_EQUAL, packed->emission->bail_out);
}

static void emit_real(struct packed *packed)
{
    uint64_t sign = packed->dtype == MDF_DTYPE_FLOAT32 ? UINT64_C(0x80000000) : UINT64_C(1) << 63;

    switch (packed->code) {
    case MDF_LOWERED_ADD:
        emit_two(packed, VECTOR_ADD | real_kind(packed));
        break;
    case MDF_LOWERED_SUBTRACT:
        emit_two(packed, VECTOR_SUBTRACT | real_kind(packed));
        break;
    case MDF_LOWERED_MULTIPLY:
        emit_two(packed, VECTOR_MULTIPLY | real_kind(packed));
        break;
    case MDF_LOWERED_DIVIDE_NONZERO:
        bail_out_where_zero(packed);
        emit_two(packed, VECTOR_DIVIDE | real_kind(packed));
        break;
    case MDF_LOWERED_DIVIDE:
        emit_two(packed, VECTOR_DIVIDE | real_kind(packed));
        break;
    case MDF_LOWERED_NEGATE:
        emit_with_constant(packed, VECTOR_EXCLUSIVE_OR, sign);
        break;
    case MDF_LOWERED_ABSOLUTE:
        emit_with_constant(packed, VECTOR_AND, sign - 1);
        break;
    case MDF_LOWERED_SQUARE_ROOT:
    case MDF_LOWERED_FLOOR:
    case MDF_LOWERED_CEILING:
        emit_one(packed);
        break;
    default: /* not of reals: no machine code */
        packed->assembler->failed = true;
        break;
    }
}

/* a * b of 64 bits from products of 32: low * low + ((high * low + low * high) << 32). */
static void emit_product_of_long(struct packed *packed)
{
    struct assembler *assembler = packed->assembler;
    unsigned size = size_of(packed, packed->dtype);
    uint8_t a = packed->in[0], b = packed->in[1], target;

    if (mdf_has_avx512()) {
        assemble_vector(assembler, VECTOR_MULTIPLY_INTS_8, size, packed->out, a, in_register(b));
        return;
    }
    assemble_vector_with_number(assembler, VECTOR_SHIFT_INTS_8, size, VECTOR_TO_RIGHT, SCRATCH_REAL, in_register(a), 32);
    assemble_vector(assembler, VECTOR_MULTIPLY_HALVES, size, SCRATCH_REAL, SCRATCH_REAL, in_register(b));
    assemble_vector_with_number(assembler, VECTOR_SHIFT_INTS_8, size, VECTOR_TO_RIGHT, SECOND_SCRATCH_REAL, in_register(b), 32);
    assemble_vector(assembler, VECTOR_MULTIPLY_HALVES, size, SECOND_SCRATCH_REAL, SECOND_SCRATCH_REAL, in_register(a));
    assemble_vector(assembler, VECTOR_ADD_INTS_8, size, SCRATCH_REAL, SCRATCH_REAL, in_register(SECOND_SCRATCH_REAL));
    assemble_vector_with_number(assembler, VECTOR_SHIFT_INTS_8, size, VECTOR_TO_LEFT, SCRATCH_REAL, in_register(SCRATCH_REAL), 32);
    assemble_vector(assembler, VECTOR_MULTIPLY_HALVES, size, SECOND_SCRATCH_REAL, a, in_register(b));
    target = packed->out;
    assemble_vector(assembler, VECTOR_ADD_INTS_8, size, target, SCRATCH_REAL, in_register(SECOND_SCRATCH_REAL));
}

static void emit_negation(struct packed *packed)
{
    uint8_t first = packed->in[0], target = packed->out;

    make_zero(packed, SCRATCH_REAL);
    assemble_vector(packed->assembler,
                    of_lanes(packed, VECTOR_SUBTRACT_BYTES, VECTOR_SUBTRACT_SHORTS, VECTOR_SUBTRACT_INTS, VECTOR_SUBTRACT_INTS_8),
                    size_of(packed, packed->dtype), target, SCRATCH_REAL, in_register(first));
}

static void emit_absolute(struct packed *packed)
{
    struct assembler *assembler = packed->assembler;
    unsigned size = size_of(packed, packed->dtype);
    uint8_t first = packed->in[0], target = packed->out;

    if (!machine_is_signed(packed->dtype)) {
        assemble_vector(assembler, VECTOR_MOVE, size, target, 0, in_register(first));
        return;
    }
    if (element_size(packed, packed->dtype) < 8) {
        assemble_vector(assembler, of_lanes(packed, VECTOR_ABSOLUTE_BYTES, VECTOR_ABSOLUTE_SHORTS, VECTOR_ABSOLUTE_INTS, 0), size,
                        target, 0, in_register(first));
        return;
    }
    if (mdf_has_avx512()) {
        assemble_vector(assembler, VECTOR_ABSOLUTE_INTS_8, size, target, 0, in_register(first));
        return;
    }
    /* (x ^ sign) - sign */
    make_zero(packed, SCRATCH_REAL);
    assemble_vector(assembler, VECTOR_GREATER_INTS_8, size, SCRATCH_REAL, SCRATCH_REAL, in_register(first));
    assemble_vector(assembler, VECTOR_EXCLUSIVE_OR, size, SECOND_SCRATCH_REAL, SCRATCH_REAL, in_register(first));
    assemble_vector(assembler, VECTOR_SUBTRACT_INTS_8, size, target, SECOND_SCRATCH_REAL, in_register(SCRATCH_REAL));
}

/* To the right with the sign, of 8 bytes: what is negative is flipped before and after. */
static void shift_long_signed(struct packed *packed, struct machine_operand count, bool is_constant, uint8_t n_bits)
{
    struct assembler *assembler = packed->assembler;
    unsigned size = size_of(packed, packed->dtype);
    uint8_t first = packed->in[0], target = packed->out;

    if (mdf_has_avx512() && is_constant) {
        assemble_vector_with_number(assembler, VECTOR_ROTATE_INTS_8, size, VECTOR_TO_RIGHT_SIGNED, target, in_register(first),
                                    n_bits);
        return;
    }
    if (mdf_has_avx512()) {
        assemble_vector(assembler, VECTOR_RIGHT_SIGNED_INTS_8, size, target, first, count);
        return;
    }
    make_zero(packed, SCRATCH_REAL);
    assemble_vector(assembler, VECTOR_GREATER_INTS_8, size, SCRATCH_REAL, SCRATCH_REAL, in_register(first));
    assemble_vector(assembler, VECTOR_EXCLUSIVE_OR, size, SECOND_SCRATCH_REAL, SCRATCH_REAL, in_register(first));
    if (is_constant) {
        assemble_vector_with_number(assembler, VECTOR_SHIFT_INTS_8, size, VECTOR_TO_RIGHT, SECOND_SCRATCH_REAL,
                                    in_register(SECOND_SCRATCH_REAL), n_bits);
    } else {
        assemble_vector(assembler, VECTOR_RIGHT_INTS_8, size, SECOND_SCRATCH_REAL, SECOND_SCRATCH_REAL, count);
    }
    assemble_vector(assembler, VECTOR_EXCLUSIVE_OR, size, target, SECOND_SCRATCH_REAL, in_register(SCRATCH_REAL));
}

/* The same of bytes, as parts of numbers of 2 bytes: what comes in from the other one is cut off. */
static void shift_bytes(struct packed *packed, uint8_t n_bits)
{
    bool is_left = packed->code == MDF_LOWERED_SHIFT_LEFT, is_signed = !is_left && machine_is_signed(packed->dtype);
    struct assembler *assembler = packed->assembler;
    unsigned size = size_of(packed, packed->dtype);
    uint64_t left = n_bits < 8 ? (is_left ? UINT64_C(0xFF) << n_bits & 0xFF : UINT64_C(0xFF) >> n_bits) : 0;
    uint64_t sign = UINT64_C(0x80) >> n_bits;
    uint8_t first = packed->in[0], target = packed->out;

    assemble_vector_with_number(assembler, VECTOR_SHIFT_SHORTS, size, is_left ? VECTOR_TO_LEFT : VECTOR_TO_RIGHT, target,
                                in_register(first), n_bits);
    assemble_vector(assembler, VECTOR_AND, size, target, target, constant_operand(assembler, left, 1));
    if (is_signed) {
        assemble_vector(assembler, VECTOR_EXCLUSIVE_OR, size, target, target, constant_operand(assembler, sign, 1));
        assemble_vector(assembler, VECTOR_SUBTRACT_BYTES, size, target, target, constant_operand(assembler, sign, 1));
    }
}

/* By a number of bits that is the same for all: past the width, 0 or the sign is left. */
static void shift_by(struct packed *packed, uint64_t count)
{
    bool is_left = packed->code == MDF_LOWERED_SHIFT_LEFT, is_signed = !is_left && machine_is_signed(packed->dtype);
    unsigned width = element_size(packed, packed->dtype), size = packed_size(packed, width);
    uint8_t first = packed->in[0], target = packed->out, n_bits = (uint8_t)(count < 8 * width ? count : 8 * width);

    n_bits = is_signed && n_bits == 8 * width ? (uint8_t)(n_bits - 1) : n_bits;
    if (width == 1) {
        shift_bytes(packed, n_bits);
    } else if (is_signed && width == 8) {
        shift_long_signed(packed, in_register(first), true, n_bits);
    } else {
        assemble_vector_with_number(packed->assembler, of_lanes(packed, 0, VECTOR_SHIFT_SHORTS, VECTOR_SHIFT_INTS, VECTOR_SHIFT_INTS_8),
                                    size,
                                    is_left     ? VECTOR_TO_LEFT
                                    : is_signed ? VECTOR_TO_RIGHT_SIGNED
                                                : VECTOR_TO_RIGHT,
                                    target, in_register(first), n_bits);
    }
}

static void emit_shift(struct packed *packed)
{
    bool is_left = packed->code == MDF_LOWERED_SHIFT_LEFT, is_long = element_size(packed, packed->dtype) == 8;
    bool is_signed = !is_left && machine_is_signed(packed->dtype);

    if (packed->constants[1] != MDF_LOWERED_NONE) {
        shift_by(packed, packed_constant(packed, 1));
    } else if (is_signed && is_long) {
        shift_long_signed(packed, in_register(packed->in[1]), false, 0);
    } else {
        emit_two(packed, is_left     ? (is_long ? VECTOR_LEFT_INTS_8 : VECTOR_LEFT_INTS)
                         : is_signed ? VECTOR_RIGHT_SIGNED_INTS
                         : is_long   ? VECTOR_RIGHT_INTS_8
                                     : VECTOR_RIGHT_INTS);
    }
}

/* To the left, what comes out on one side comes in on the other. */
static void emit_rotation(struct packed *packed)
{
    assemble_vector_with_number(packed->assembler,
                                element_size(packed, packed->dtype) == 8 ? VECTOR_ROTATE_INTS_8 : VECTOR_ROTATE_INTS,
                                size_of(packed, packed->dtype), VECTOR_ROTATED, packed->out, in_register(packed->in[0]),
                                packed->rotation);
}

/* Bytes as parts of numbers of 2 bytes: those below and those above. */
static void emit_product_of_bytes(struct packed *packed)
{
    struct assembler *assembler = packed->assembler;
    unsigned size = size_of(packed, packed->dtype);
    uint8_t a = packed->in[0], b = packed->in[1];

    assemble_vector_with_number(assembler, VECTOR_SHIFT_SHORTS, size, VECTOR_TO_RIGHT, SCRATCH_REAL, in_register(a), 8);
    assemble_vector_with_number(assembler, VECTOR_SHIFT_SHORTS, size, VECTOR_TO_RIGHT, SECOND_SCRATCH_REAL, in_register(b), 8);
    assemble_vector(assembler, VECTOR_MULTIPLY_SHORTS, size, SCRATCH_REAL, SCRATCH_REAL, in_register(SECOND_SCRATCH_REAL));
    assemble_vector_with_number(assembler, VECTOR_SHIFT_SHORTS, size, VECTOR_TO_LEFT, SCRATCH_REAL, in_register(SCRATCH_REAL), 8);
    assemble_vector(assembler, VECTOR_MULTIPLY_SHORTS, size, SECOND_SCRATCH_REAL, a, in_register(b));
    assemble_vector(assembler, VECTOR_AND, size, SECOND_SCRATCH_REAL, SECOND_SCRATCH_REAL, constant_operand(assembler, 0xFF, 2));
    assemble_vector(assembler, VECTOR_OR, size, packed->out, SCRATCH_REAL, in_register(SECOND_SCRATCH_REAL));
}

static void emit_product(struct packed *packed)
{
    unsigned width = element_size(packed, packed->dtype);

    if (width == 8) {
        emit_product_of_long(packed);
    } else if (width == 1) {
        emit_product_of_bytes(packed);
    } else {
        emit_two(packed, width == 2 ? VECTOR_MULTIPLY_SHORTS : VECTOR_MULTIPLY_INTS);
    }
}

static void emit_number(struct packed *packed)
{
    switch (packed->code) {
    case MDF_LOWERED_ADD:
        emit_two(packed, of_lanes(packed, VECTOR_ADD_BYTES, VECTOR_ADD_SHORTS, VECTOR_ADD_INTS, VECTOR_ADD_INTS_8));
        break;
    case MDF_LOWERED_SUBTRACT:
        emit_two(packed,
                 of_lanes(packed, VECTOR_SUBTRACT_BYTES, VECTOR_SUBTRACT_SHORTS, VECTOR_SUBTRACT_INTS, VECTOR_SUBTRACT_INTS_8));
        break;
    case MDF_LOWERED_MULTIPLY:
        emit_product(packed);
        break;
    case MDF_LOWERED_NEGATE:
        emit_negation(packed);
        break;
    case MDF_LOWERED_ABSOLUTE:
        emit_absolute(packed);
        break;
    case MDF_LOWERED_AND:
        emit_two(packed, VECTOR_AND | lane_kind(packed));
        break;
    case MDF_LOWERED_OR:
        emit_two(packed, VECTOR_OR | lane_kind(packed));
        break;
    case MDF_LOWERED_EXCLUSIVE_OR:
        emit_two(packed, VECTOR_EXCLUSIVE_OR | lane_kind(packed));
        break;
    case MDF_LOWERED_NOT:
        emit_with_constant(packed, VECTOR_EXCLUSIVE_OR, UINT64_MAX);
        break;
    case MDF_LOWERED_SHIFT_LEFT:
    case MDF_LOWERED_SHIFT_RIGHT:
        emit_shift(packed);
        break;
    default: /* not of whole numbers: no machine code */
        packed->assembler->failed = true;
        break;
    }
}

/* Whether an op leaves numbers of fewer than 4 bytes as they lie in lanes of 4. */
static bool keeps_short(const struct packed *packed)
{
    return packed->code == MDF_LOWERED_AND || packed->code == MDF_LOWERED_OR || packed->code == MDF_LOWERED_EXCLUSIVE_OR ||
           packed->code == MDF_LOWERED_SHIFT_RIGHT || (packed->code == MDF_LOWERED_NOT && machine_is_signed(packed->dtype));
}

static void emit_whole(struct packed *packed)
{
    emit_number(packed);
    if (is_in_wider_lane(packed, packed->dtype) && !keeps_short(packed)) {
        make_short(packed, packed->dtype, packed->out, packed->out);
    }
}

/* ------------------------------------------------------------------ conditions */

static void compare_reals(struct packed *packed)
{
    static const uint8_t comparisons[] = {VECTOR_EQUAL,      VECTOR_NOT_EQUAL, VECTOR_LESS,
                                          VECTOR_LESS_EQUAL, VECTOR_GREATER,   VECTOR_GREATER_EQUAL};
    unsigned width = element_size(packed, packed->dtype), size = packed_size(packed, width);
    uint8_t first = packed->in[0], target;
    struct machine_operand second = operand_of(packed, 1);
    uint8_t comparison = comparisons[packed->code - MDF_LOWERED_EQUAL];

    if (width == packed->width) {
        target = packed->out;
        packed_compare(packed->assembler, VECTOR_COMPARE | real_kind(packed), size, target, first, second, comparison);
        return;
    }
    packed_compare(packed->assembler, VECTOR_COMPARE | real_kind(packed), size, SCRATCH_REAL, first, second, comparison);
    finish_mask(packed, width, false);
}

/* In lanes of `width` bytes, by the instructions of AVX-512: to VECTOR_MASK, then to a mask of lanes, in the first scratch register
 * or the result. */
static void compare_wide_set(struct packed *packed, unsigned width, bool is_signed, enum vector_order order, uint8_t first,
                             uint8_t second)
{
    struct assembler *assembler = packed->assembler;
    unsigned size = packed_size(packed, width);
    bool is_result = width == packed->width;
    uint8_t target = is_result ? packed->out : SCRATCH_REAL;

    assemble_vector_with_number(assembler,
                                width == 4 ? (is_signed ? VECTOR_COMPARE_INTS : VECTOR_COMPARE_NATURALS)
                                           : (is_signed ? VECTOR_COMPARE_INTS_8 : VECTOR_COMPARE_NATURALS_8),
                                size, VECTOR_MASK, first, in_register(second), (uint8_t)order);
    assemble_vector(assembler, (width == 4 ? VECTOR_OF_MASK_4 : VECTOR_OF_MASK_8) | VECTOR_IS_WIDE_SET, size, target, 0,
                    in_register(VECTOR_MASK));
    note_mask(assembler, target, (uint8_t)width);
    if (!is_result) {
        finish_mask(packed, width, false);
    }
}

/* Without signs: of up to 4 bytes the larger or the smaller one is the first, or is not; of 8 the upper bits are flipped before. */
static void compare_naturals(struct packed *packed)
{
    enum mdf_lowered_code code = packed->code;
    struct assembler *assembler = packed->assembler;
    unsigned width = element_size(packed, packed->dtype), size = packed_size(packed, width);
    bool is_least = code == MDF_LOWERED_LESS_EQUAL || code == MDF_LOWERED_GREATER;
    bool swaps = code == MDF_LOWERED_LESS || code == MDF_LOWERED_GREATER_EQUAL;
    uint8_t first = packed->in[width == 8 && swaps ? 1 : 0], second = packed->in[width == 8 && swaps ? 0 : 1];

    if (width < 8) {
        unsigned least = of_lanes(packed, VECTOR_MINIMUM_NATURAL_BYTES, VECTOR_MINIMUM_NATURAL_SHORTS, VECTOR_MINIMUM_NATURALS, 0);
        unsigned most = of_lanes(packed, VECTOR_MAXIMUM_NATURAL_BYTES, VECTOR_MAXIMUM_NATURAL_SHORTS, VECTOR_MAXIMUM_NATURALS, 0);

        assemble_vector(assembler, is_least ? least : most, size, SCRATCH_REAL, first, in_register(second));
        assemble_vector(assembler, of_lanes(packed, VECTOR_EQUAL_BYTES, VECTOR_EQUAL_SHORTS, VECTOR_EQUAL_INTS, 0), size,
                        SCRATCH_REAL, SCRATCH_REAL, in_register(first));
        finish_mask(packed, width, code == MDF_LOWERED_LESS || code == MDF_LOWERED_GREATER);
        return;
    }
    assemble_vector(assembler, VECTOR_EXCLUSIVE_OR, size, SCRATCH_REAL, first,
                    constant_operand(assembler, UINT64_C(1) << 63, 8));
    assemble_vector(assembler, VECTOR_EXCLUSIVE_OR, size, SECOND_SCRATCH_REAL, second,
                    constant_operand(assembler, UINT64_C(1) << 63, 8));
    assemble_vector(assembler, VECTOR_GREATER_INTS_8, size, SCRATCH_REAL, SCRATCH_REAL, in_register(SECOND_SCRATCH_REAL));
    finish_mask(packed, width, code == MDF_LOWERED_LESS_EQUAL || code == MDF_LOWERED_GREATER_EQUAL);
}

/* There are only "equal" and "greater". */
static void compare_wholes(struct packed *packed)
{
    enum mdf_lowered_code code = packed->code;
    unsigned width = element_size(packed, packed->dtype);
    bool is_equality = code == MDF_LOWERED_EQUAL || code == MDF_LOWERED_NOT_EQUAL;
    bool swaps = code == MDF_LOWERED_LESS || code == MDF_LOWERED_GREATER_EQUAL;
    bool flips = code == MDF_LOWERED_NOT_EQUAL || code == MDF_LOWERED_LESS_EQUAL || code == MDF_LOWERED_GREATER_EQUAL;
    static const uint8_t orders[] = {ORDER_EQUAL,      ORDER_NOT_EQUAL, ORDER_LESS,
                                     ORDER_LESS_EQUAL, ORDER_GREATER,   ORDER_GREATER_EQUAL};
    unsigned equal = of_lanes(packed, VECTOR_EQUAL_BYTES, VECTOR_EQUAL_SHORTS, VECTOR_EQUAL_INTS, VECTOR_EQUAL_INTS_8);
    unsigned greater = of_lanes(packed, VECTOR_GREATER_BYTES, VECTOR_GREATER_SHORTS, VECTOR_GREATER_INTS, VECTOR_GREATER_INTS_8);
    uint8_t first = packed->in[swaps ? 1 : 0];
    struct machine_operand second = operand_of(packed, swaps ? 0 : 1);

    if (packed_size(packed, width) == 64 && packed->dtype != MDF_DTYPE_BOOL) {
        compare_wide_set(packed, width, machine_is_signed(packed->dtype), (enum vector_order)orders[code - MDF_LOWERED_EQUAL],
                         packed->in[0], packed->in[1]);
        return;
    }
    assemble_vector(packed->assembler, is_equality ? equal : greater, packed_size(packed, width), SCRATCH_REAL, first, second);
    finish_mask(packed, width, flips);
}

static void emit_logic(struct packed *packed)
{
    switch (packed->code) {
    case MDF_LOWERED_AND:
        emit_two(packed, VECTOR_AND);
        break;
    case MDF_LOWERED_OR:
        emit_two(packed, VECTOR_OR);
        break;
    case MDF_LOWERED_NOT:
        emit_with_constant(packed, VECTOR_EXCLUSIVE_OR, UINT64_MAX);
        break;
    case MDF_LOWERED_EQUAL:
        compare_wholes(packed); /* of masks */
        break;
    case MDF_LOWERED_NOT_EQUAL:
    case MDF_LOWERED_EXCLUSIVE_OR:
        emit_two(packed, VECTOR_EXCLUSIVE_OR);
        break;
    default: /* not of truths: no machine code */
        packed->assembler->failed = true;
        break;
    }
}

static void emit_select(struct packed *packed)
{
    unsigned width = element_size(packed, packed->dtype);
    uint8_t mask = mask_for(packed, 0, width), otherwise = packed->in[2];
    struct machine_operand then = operand_of(packed, 1);
    uint8_t target = packed->out;

    if (width < 4) {
        assemble_vector_with_number(packed->assembler, VECTOR_BLEND_BYTES, packed_size(packed, width), target, otherwise, then,
                                    (uint8_t)(mask << 4));
        return;
    }
    packed_choose(packed->assembler, width == 4, packed_size(packed, width), target, mask, then, otherwise);
}

/* ------------------------------------------------------------------ casts */

static void cast_mask(struct packed *packed, unsigned to)
{
    static const uint64_t one_of_double = UINT64_C(0x3FF0000000000000);
    unsigned width = element_size(packed, to);
    uint8_t mask = mask_for(packed, 0, width), target = packed->out;
    uint64_t one = to == MDF_DTYPE_FLOAT64 ? one_of_double : to == MDF_DTYPE_FLOAT32 ? UINT64_C(0x3F800000) : 1;

    assemble_vector(packed->assembler, width == 8 ? VECTOR_AND | OF_DOUBLES : VECTOR_AND, packed_size(packed, width), target,
                    mask, constant_operand(packed->assembler, one, width));
}

static void cast_to_mask(struct packed *packed)
{
    unsigned width = element_size(packed, packed->dtype), size = packed_size(packed, width);
    uint8_t first = packed->in[0];

    make_zero(packed, SCRATCH_REAL);
    if (is_real_type(packed->dtype)) {
        packed_compare(packed->assembler, VECTOR_COMPARE | real_kind(packed), size, SCRATCH_REAL, first,
                       in_register(SCRATCH_REAL), VECTOR_NOT_EQUAL);
    } else if (size == 64) {
        compare_wide_set(packed, width, false, ORDER_NOT_EQUAL, first, SCRATCH_REAL);
        return;
    } else {
        assemble_vector(packed->assembler,
                        of_lanes(packed, VECTOR_EQUAL_BYTES, VECTOR_EQUAL_SHORTS, VECTOR_EQUAL_INTS, VECTOR_EQUAL_INTS_8), size,
                        SCRATCH_REAL, first, in_register(SCRATCH_REAL));
    }
    finish_mask(packed, width, !is_real_type(packed->dtype));
}

/* Whether numbers of one type lie in lanes as they would as the other one. */
static bool lies_as(const struct packed *packed, unsigned from, unsigned to)
{
    size_t from_size = mdf_dtype_size((mdf_dtype)from), to_size = mdf_dtype_size((mdf_dtype)to);

    return from == to || to_size == element_size(packed, to) || (from_size < to_size && (machine_is_signed(to) || !machine_is_signed(from)));
}

static void cast_whole(struct packed *packed)
{
    unsigned from = element_size(packed, packed->dtype), to = element_size(packed, packed->result);
    uint8_t first = packed->in[0], target = packed->out;

    if (from < to && packed->dtype == MDF_DTYPE_UINT32) {
        assemble_vector(packed->assembler, VECTOR_FILL_INTS, packed_size(packed, to), target, 0, in_register(first));
    } else if (from != to) {
        change_width(packed, target, first, from, to);
    } else if (lies_as(packed, packed->dtype, packed->result)) {
        assemble_vector(packed->assembler, VECTOR_MOVE, packed_size(packed, to), target, 0, in_register(first));
        return;
    } else {
        make_short(packed, packed->result, target, first);
        return;
    }
    if (machine_is_short(packed->result)) {
        make_short(packed, packed->result, target, target);
    }
}

/* uint32 to reals: of float64 as the last bits of 2^52, which is taken away; of float32 as both halves, of which the sum alone is
 * rounded. */
static void cast_naturals(struct packed *packed)
{
    struct assembler *assembler = packed->assembler;
    unsigned size = size_of(packed, packed->result);
    uint8_t first = packed->in[0], target = packed->out;
    struct machine_operand power = constant_operand(assembler, UINT64_C(0x4330000000000000), 8);

    if (mdf_has_avx512()) {
        assemble_vector(assembler, packed->result == MDF_DTYPE_FLOAT64 ? VECTOR_DOUBLES_OF_NATURALS : VECTOR_FLOATS_OF_NATURALS, size,
                        target, 0, in_register(first));
        return;
    }
    if (packed->result == MDF_DTYPE_FLOAT64) {
        assemble_vector(assembler, VECTOR_FILL_INTS, size, SCRATCH_REAL, 0, in_register(first));
        assemble_vector(assembler, VECTOR_OR | OF_DOUBLES, size, SCRATCH_REAL, SCRATCH_REAL, power);
        assemble_vector(assembler, VECTOR_SUBTRACT | OF_DOUBLES, size, target, SCRATCH_REAL, power);
        return;
    }
    assemble_vector_with_number(assembler, VECTOR_SHIFT_INTS, size, VECTOR_TO_RIGHT, SCRATCH_REAL, in_register(first), 16);
    assemble_vector(assembler, VECTOR_FLOATS_OF_INTS, size, SCRATCH_REAL, 0, in_register(SCRATCH_REAL));
    assemble_vector(assembler, VECTOR_MULTIPLY | OF_FLOATS, size, SCRATCH_REAL, SCRATCH_REAL,
                    constant_operand(assembler, UINT64_C(0x47800000), 4));
    assemble_vector(assembler, VECTOR_AND, size, SECOND_SCRATCH_REAL, first, constant_operand(assembler, 0xFFFF, 4));
    assemble_vector(assembler, VECTOR_FLOATS_OF_INTS, size, SECOND_SCRATCH_REAL, 0, in_register(SECOND_SCRATCH_REAL));
    assemble_vector(assembler, VECTOR_ADD | OF_FLOATS, size, target, SCRATCH_REAL, in_register(SECOND_SCRATCH_REAL));
}

static void emit_cast(struct packed *packed)
{
    unsigned from = packed->dtype, to = packed->result;
    struct assembler *assembler = packed->assembler;
    uint8_t first, target;

    if (to == MDF_DTYPE_BOOL && from != MDF_DTYPE_BOOL) {
        cast_to_mask(packed);
        return;
    }
    if (from == MDF_DTYPE_BOOL && to != MDF_DTYPE_BOOL) {
        cast_mask(packed, to);
        return;
    }
    first = packed->in[0];
    target = packed->out;
    if (machine_is_whole(from) && machine_is_whole(to)) {
        cast_whole(packed);
    } else if (machine_is_whole(from) && machine_whole_size(from) == 8) {
        bool is_float = to == MDF_DTYPE_FLOAT32, is_signed = machine_is_signed(from);

        assemble_vector(assembler,
                        is_float ? (is_signed ? VECTOR_FLOATS_OF_INTS_8 : VECTOR_FLOATS_OF_NATURALS_8)
                                 : (is_signed ? VECTOR_DOUBLES_OF_INTS_8 : VECTOR_DOUBLES_OF_NATURALS_8),
                        size_of(packed, from), target, 0, in_register(first));
    } else if (from == MDF_DTYPE_UINT32) {
        cast_naturals(packed);
    } else if (from == to) {
        assemble_vector(assembler, VECTOR_MOVE, size_of(packed, to), target, 0, in_register(first));
    } else if (from == MDF_DTYPE_FLOAT32) {
        assemble_vector(assembler, VECTOR_DOUBLES_OF_FLOATS, size_of(packed, to), target, 0, operand_of(packed, 0));
    } else if (from == MDF_DTYPE_FLOAT64) {
        assemble_vector(assembler, VECTOR_FLOATS_OF_DOUBLES, size_of(packed, from), target, 0, in_register(first));
    } else if (to == MDF_DTYPE_FLOAT32) {
        assemble_vector(assembler, VECTOR_FLOATS_OF_INTS, size_of(packed, to), target, 0, in_register(first));
    } else {
        assemble_vector(assembler, VECTOR_DOUBLES_OF_INTS, size_of(packed, to), target, 0, in_register(first));
    }
}

void packed_emit_op(struct packed *packed)
{
    if (packed->rotation > 0) {
        emit_rotation(packed);
    } else if (packed->code == MDF_LOWERED_CAST) {
        emit_cast(packed);
    } else if (packed->code == MDF_LOWERED_SELECT) {
        emit_select(packed);
    } else if (packed->dtype == MDF_DTYPE_BOOL) {
        emit_logic(packed);
    } else if (emission_is_comparison(packed->code)) {
        if (is_real_type(packed->dtype)) {
            compare_reals(packed);
        } else if (packed->lanes * element_size(packed, packed->dtype) < 64 && !machine_is_signed(packed->dtype) &&
                   !is_in_wider_lane(packed, packed->dtype) && packed->code != MDF_LOWERED_EQUAL && packed->code != MDF_LOWERED_NOT_EQUAL) {
            compare_naturals(packed);
        } else {
            compare_wholes(packed);
        }
    } else if (is_real_type(packed->dtype)) {
        emit_real(packed);
    } else {
        emit_whole(packed);
    }
}

void packed_make_short(struct packed *packed, unsigned dtype, uint8_t number)
{
    struct assembler *assembler = packed->assembler;
    bool is_signed = machine_is_signed(dtype);

    if (element_size(packed, dtype) == 2) { /* bytes within each half, of which the second becomes the third */
        assemble_vector(assembler, is_signed ? VECTOR_PACK_SHORTS : VECTOR_PACK_SHORTS_NATURALS, 32, SCRATCH_REAL, number,
                        in_register(number));
        assemble_vector_with_number(assembler, VECTOR_TURN_LANES_8, 32, SCRATCH_REAL, 0, in_register(SCRATCH_REAL), 0x08);
        return;
    }
    if (packed->lanes > 4) {
        assemble_vector_with_number(assembler, VECTOR_UPPER_HALF, 32, number, 0, in_register(SCRATCH_REAL), 1);
    }
    assemble_vector(assembler, is_signed ? VECTOR_PACK_INTS : VECTOR_PACK_INTS_NATURALS, 16, SCRATCH_REAL, number,
                    in_register(packed->lanes > 4 ? SCRATCH_REAL : number));
    if (mdf_dtype_size((mdf_dtype)dtype) == 1) {
        assemble_vector(assembler, is_signed ? VECTOR_PACK_SHORTS : VECTOR_PACK_SHORTS_NATURALS, 16, SCRATCH_REAL, SCRATCH_REAL,
                        in_register(SCRATCH_REAL));
    }
}

void packed_make_bytes(struct packed *packed, uint8_t number)
{
    struct assembler *assembler = packed->assembler;
    bool is_long = packed->lanes * packed->width == 32;

    if (packed->lanes == 1) {
        assemble_vector(assembler, VECTOR_ABSOLUTE_BYTES, 16, SCRATCH_REAL, 0, in_register(number));
        return;
    }
    if (is_long) {
        assemble_vector_with_number(assembler, VECTOR_UPPER_HALF, 32, number, 0, in_register(SCRATCH_REAL), 1);
    }
    if (is_long && packed->width == 8) {
        assemble_vector_with_number(assembler, VECTOR_SHUFFLE_FLOATS, 16, SCRATCH_REAL, number, in_register(SCRATCH_REAL), 0x88);
        assemble_vector(assembler, VECTOR_PACK_INTS, 16, SCRATCH_REAL, SCRATCH_REAL, in_register(SCRATCH_REAL));
    } else {
        assemble_vector(assembler, VECTOR_PACK_INTS, 16, SCRATCH_REAL, number, in_register(is_long ? SCRATCH_REAL : number));
    }
    assemble_vector(assembler, VECTOR_PACK_SHORTS, 16, SCRATCH_REAL, SCRATCH_REAL, in_register(SCRATCH_REAL));
    assemble_vector(assembler, VECTOR_ABSOLUTE_BYTES, 16, SCRATCH_REAL, 0, in_register(SCRATCH_REAL));
}
