/* emit_x86_64_packed_whole.c - see emit_x86_64_packed.h. Whole numbers of all types, and their bits, in vectors. */
#include "mdf_c/base/processor.h"
#include "mdf_c/machine/emit_x86_64_packed.h"

/* ------------------------------------------------------------------ lanes */

/* Bytes of a register that has values of a type. */
static unsigned size_of(const struct packed *packed, unsigned dtype)
{
    return packed_register_size(packed, packed_element_size(packed, dtype));
}

/* Numbers of fewer bytes than their lanes lie there with their own sign, or zeros, above them: what an op has left there is made
 * that. */
static void make_short(struct packed *packed, unsigned dtype, uint8_t target, uint8_t source)
{
    struct assembler *assembler = packed->assembler;
    unsigned width = packed_element_size(packed, dtype), size = packed_register_size(packed, width);
    unsigned n_bits = 8 * (unsigned)mdf_dtype_size((mdf_dtype)dtype),
             shift = width == 2 ? VECTOR_SHIFT_SHORTS : VECTOR_SHIFT_INTS;

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
    return machine_is_short(dtype) && packed_element_size(packed, dtype) > mdf_dtype_size((mdf_dtype)dtype);
}

/* Of instructions for whole numbers of 1, 2, 4 and 8 bytes, that for an op's operands. */
unsigned packed_of_lanes(const struct packed *packed, unsigned bytes, unsigned shorts, unsigned ints, unsigned longs)
{
    unsigned width = packed_element_size(packed, packed->dtype);

    return width == 1 ? bytes : width == 2 ? shorts : width == 4 ? ints : longs;
}

/* ------------------------------------------------------------------ arithmetic */

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
    assemble_vector_with_number(assembler, VECTOR_SHIFT_INTS_8, size, VECTOR_TO_LEFT, SCRATCH_REAL, in_register(SCRATCH_REAL),
                                32);
    assemble_vector(assembler, VECTOR_MULTIPLY_HALVES, size, SECOND_SCRATCH_REAL, a, in_register(b));
    target = packed->out;
    assemble_vector(assembler, VECTOR_ADD_INTS_8, size, target, SCRATCH_REAL, in_register(SECOND_SCRATCH_REAL));
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
    unsigned width = packed_element_size(packed, packed->dtype);

    if (width == 8) {
        emit_product_of_long(packed);
    } else if (width == 1) {
        emit_product_of_bytes(packed);
    } else {
        packed_emit_two(packed, width == 2 ? VECTOR_MULTIPLY_SHORTS : VECTOR_MULTIPLY_INTS);
    }
}

static void emit_negation(struct packed *packed)
{
    uint8_t first = packed->in[0], target = packed->out;

    packed_make_zero(packed, SCRATCH_REAL);
    assemble_vector(
        packed->assembler,
        packed_of_lanes(packed, VECTOR_SUBTRACT_BYTES, VECTOR_SUBTRACT_SHORTS, VECTOR_SUBTRACT_INTS, VECTOR_SUBTRACT_INTS_8),
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
    if (packed_element_size(packed, packed->dtype) < 8) {
        assemble_vector(assembler,
                        packed_of_lanes(packed, VECTOR_ABSOLUTE_BYTES, VECTOR_ABSOLUTE_SHORTS, VECTOR_ABSOLUTE_INTS, 0), size,
                        target, 0, in_register(first));
        return;
    }
    if (mdf_has_avx512()) {
        assemble_vector(assembler, VECTOR_ABSOLUTE_INTS_8, size, target, 0, in_register(first));
        return;
    }
    /* (x ^ sign) - sign */
    packed_make_zero(packed, SCRATCH_REAL);
    assemble_vector(assembler, VECTOR_GREATER_INTS_8, size, SCRATCH_REAL, SCRATCH_REAL, in_register(first));
    assemble_vector(assembler, VECTOR_EXCLUSIVE_OR, size, SECOND_SCRATCH_REAL, SCRATCH_REAL, in_register(first));
    assemble_vector(assembler, VECTOR_SUBTRACT_INTS_8, size, target, SECOND_SCRATCH_REAL, in_register(SCRATCH_REAL));
}

/* ------------------------------------------------------------------ shifts */

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
    packed_make_zero(packed, SCRATCH_REAL);
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
    unsigned width = packed_element_size(packed, packed->dtype), size = packed_register_size(packed, width);
    uint8_t first = packed->in[0], target = packed->out, n_bits = (uint8_t)(count < 8 * width ? count : 8 * width);

    n_bits = is_signed && n_bits == 8 * width ? (uint8_t)(n_bits - 1) : n_bits;
    if (width == 1) {
        shift_bytes(packed, n_bits);
    } else if (is_signed && width == 8) {
        shift_long_signed(packed, in_register(first), true, n_bits);
    } else {
        assemble_vector_with_number(packed->assembler,
                                    packed_of_lanes(packed, 0, VECTOR_SHIFT_SHORTS, VECTOR_SHIFT_INTS, VECTOR_SHIFT_INTS_8), size,
                                    is_left     ? VECTOR_TO_LEFT
                                    : is_signed ? VECTOR_TO_RIGHT_SIGNED
                                                : VECTOR_TO_RIGHT,
                                    target, in_register(first), n_bits);
    }
}

static void emit_shift(struct packed *packed)
{
    bool is_left = packed->code == MDF_LOWERED_SHIFT_LEFT, is_long = packed_element_size(packed, packed->dtype) == 8;
    bool is_signed = !is_left && machine_is_signed(packed->dtype);

    if (packed->constants[1] != MDF_LOWERED_NONE) {
        shift_by(packed, packed_constant(packed, 1));
    } else if (is_signed && is_long) {
        shift_long_signed(packed, in_register(packed->in[1]), false, 0);
    } else {
        packed_emit_two(packed, is_left     ? (is_long ? VECTOR_LEFT_INTS_8 : VECTOR_LEFT_INTS)
                                : is_signed ? VECTOR_RIGHT_SIGNED_INTS
                                : is_long   ? VECTOR_RIGHT_INTS_8
                                            : VECTOR_RIGHT_INTS);
    }
}

/* To the left, what comes out on one side comes in on the other. */
void packed_emit_rotation(struct packed *packed)
{
    assemble_vector_with_number(
        packed->assembler, packed_element_size(packed, packed->dtype) == 8 ? VECTOR_ROTATE_INTS_8 : VECTOR_ROTATE_INTS,
        size_of(packed, packed->dtype), VECTOR_ROTATED, packed->out, in_register(packed->in[0]), packed->rotation);
}

/* ------------------------------------------------------------------ ops */

static void emit_number(struct packed *packed)
{
    switch (packed->code) {
    case MDF_LOWERED_ADD:
        packed_emit_two(packed, packed_of_lanes(packed, VECTOR_ADD_BYTES, VECTOR_ADD_SHORTS, VECTOR_ADD_INTS, VECTOR_ADD_INTS_8));
        break;
    case MDF_LOWERED_SUBTRACT:
        packed_emit_two(packed, packed_of_lanes(packed, VECTOR_SUBTRACT_BYTES, VECTOR_SUBTRACT_SHORTS, VECTOR_SUBTRACT_INTS,
                                                VECTOR_SUBTRACT_INTS_8));
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
    case MDF_LOWERED_OR:
    case MDF_LOWERED_EXCLUSIVE_OR:
        packed_emit_two(packed, machine_vector_code(packed->code) | packed_lane_kind(packed));
        break;
    case MDF_LOWERED_NOT:
        packed_emit_with_constant(packed, VECTOR_EXCLUSIVE_OR, UINT64_MAX);
        break;
    case MDF_LOWERED_SHIFT_LEFT:
    case MDF_LOWERED_SHIFT_RIGHT:
        emit_shift(packed);
        break;
    case MDF_LOWERED_QUOTIENT:
    case MDF_LOWERED_REMAINDER:
    case MDF_LOWERED_FLOOR_REMAINDER:
        packed_divide(packed);
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
           packed->code == MDF_LOWERED_SHIFT_RIGHT ||
           (packed->code >= MDF_LOWERED_QUOTIENT && packed->code <= MDF_LOWERED_FLOOR_REMAINDER) ||
           (packed->code == MDF_LOWERED_NOT && machine_is_signed(packed->dtype));
}

void packed_emit_whole(struct packed *packed)
{
    emit_number(packed);
    if (is_in_wider_lane(packed, packed->dtype) && !keeps_short(packed)) {
        make_short(packed, packed->dtype, packed->out, packed->out);
    }
}

/* ------------------------------------------------------------------ comparisons */

/* In lanes of `width` bytes, by the instructions of AVX-512: to VECTOR_MASK, then to a mask of lanes, in the first scratch
 * register or the result. */
void packed_compare_wide_set(struct packed *packed, unsigned width, bool is_signed, enum vector_order order, uint8_t first,
                             uint8_t second)
{
    struct assembler *assembler = packed->assembler;
    unsigned size = packed_register_size(packed, width);
    bool is_result = width == packed->width;
    uint8_t target = is_result ? packed->out : SCRATCH_REAL;

    assemble_vector_with_number(assembler,
                                width == 4 ? (is_signed ? VECTOR_COMPARE_INTS : VECTOR_COMPARE_NATURALS)
                                           : (is_signed ? VECTOR_COMPARE_INTS_8 : VECTOR_COMPARE_NATURALS_8),
                                size, VECTOR_MASK, first, in_register(second), (uint8_t)order);
    assemble_vector(assembler, (width == 4 ? VECTOR_OF_MASK_4 : VECTOR_OF_MASK_8) | VECTOR_IS_WIDE_SET, size, target, 0,
                    in_register(VECTOR_MASK));
    packed_note_mask(assembler, target, (uint8_t)width);
    if (!is_result) {
        packed_finish_mask(packed, width, false);
    }
}

/* Without signs: of up to 4 bytes the larger or the smaller one is the first, or is not; of 8 the upper bits are flipped before.
 */
static void compare_naturals(struct packed *packed)
{
    enum mdf_lowered_code code = packed->code;
    struct assembler *assembler = packed->assembler;
    unsigned width = packed_element_size(packed, packed->dtype), size = packed_register_size(packed, width);
    bool is_least = code == MDF_LOWERED_LESS_EQUAL || code == MDF_LOWERED_GREATER;
    bool swaps = code == MDF_LOWERED_LESS || code == MDF_LOWERED_GREATER_EQUAL;
    uint8_t first = packed->in[width == 8 && swaps ? 1 : 0], second = packed->in[width == 8 && swaps ? 0 : 1];

    if (width < 8) {
        unsigned least =
            packed_of_lanes(packed, VECTOR_MINIMUM_NATURAL_BYTES, VECTOR_MINIMUM_NATURAL_SHORTS, VECTOR_MINIMUM_NATURALS, 0);
        unsigned most =
            packed_of_lanes(packed, VECTOR_MAXIMUM_NATURAL_BYTES, VECTOR_MAXIMUM_NATURAL_SHORTS, VECTOR_MAXIMUM_NATURALS, 0);

        assemble_vector(assembler, is_least ? least : most, size, SCRATCH_REAL, first, in_register(second));
        assemble_vector(assembler, packed_of_lanes(packed, VECTOR_EQUAL_BYTES, VECTOR_EQUAL_SHORTS, VECTOR_EQUAL_INTS, 0), size,
                        SCRATCH_REAL, SCRATCH_REAL, in_register(first));
        packed_finish_mask(packed, width, code == MDF_LOWERED_LESS || code == MDF_LOWERED_GREATER);
        return;
    }
    assemble_vector(assembler, VECTOR_EXCLUSIVE_OR, size, SCRATCH_REAL, first, constant_operand(assembler, UINT64_C(1) << 63, 8));
    assemble_vector(assembler, VECTOR_EXCLUSIVE_OR, size, SECOND_SCRATCH_REAL, second,
                    constant_operand(assembler, UINT64_C(1) << 63, 8));
    assemble_vector(assembler, VECTOR_GREATER_INTS_8, size, SCRATCH_REAL, SCRATCH_REAL, in_register(SECOND_SCRATCH_REAL));
    packed_finish_mask(packed, width, code == MDF_LOWERED_LESS_EQUAL || code == MDF_LOWERED_GREATER_EQUAL);
}

/* There are only "equal" and "greater". */
static void compare_signed(struct packed *packed)
{
    enum mdf_lowered_code code = packed->code;
    unsigned width = packed_element_size(packed, packed->dtype);
    bool is_equality = code == MDF_LOWERED_EQUAL || code == MDF_LOWERED_NOT_EQUAL;
    bool swaps = code == MDF_LOWERED_LESS || code == MDF_LOWERED_GREATER_EQUAL;
    bool flips = code == MDF_LOWERED_NOT_EQUAL || code == MDF_LOWERED_LESS_EQUAL || code == MDF_LOWERED_GREATER_EQUAL;
    static const uint8_t orders[] = {ORDER_EQUAL,      ORDER_NOT_EQUAL, ORDER_LESS,
                                     ORDER_LESS_EQUAL, ORDER_GREATER,   ORDER_GREATER_EQUAL};
    unsigned equal = packed_of_lanes(packed, VECTOR_EQUAL_BYTES, VECTOR_EQUAL_SHORTS, VECTOR_EQUAL_INTS, VECTOR_EQUAL_INTS_8);
    unsigned greater =
        packed_of_lanes(packed, VECTOR_GREATER_BYTES, VECTOR_GREATER_SHORTS, VECTOR_GREATER_INTS, VECTOR_GREATER_INTS_8);
    uint8_t first = packed->in[swaps ? 1 : 0];
    struct machine_operand second = packed_operand(packed, swaps ? 0 : 1);

    if (packed_register_size(packed, width) == 64 && packed->dtype != MDF_DTYPE_BOOL) {
        packed_compare_wide_set(packed, width, machine_is_signed(packed->dtype),
                                (enum vector_order)orders[code - MDF_LOWERED_EQUAL], packed->in[0], packed->in[1]);
        return;
    }
    assemble_vector(packed->assembler, is_equality ? equal : greater, packed_register_size(packed, width), SCRATCH_REAL, first,
                    second);
    packed_finish_mask(packed, width, flips);
}

void packed_compare_wholes(struct packed *packed)
{
    bool is_equality = packed->code == MDF_LOWERED_EQUAL || packed->code == MDF_LOWERED_NOT_EQUAL;
    bool is_natural =
        machine_is_whole(packed->dtype) && !machine_is_signed(packed->dtype) && !is_in_wider_lane(packed, packed->dtype);

    if (is_natural && !is_equality && packed->lanes * packed_element_size(packed, packed->dtype) < 64) {
        compare_naturals(packed);
    } else {
        compare_signed(packed);
    }
}

/* ------------------------------------------------------------------ casts */

/* Whether numbers of one type lie in lanes as they would as the other one. */
static bool lies_as(const struct packed *packed, unsigned from, unsigned to)
{
    size_t from_size = mdf_dtype_size((mdf_dtype)from), to_size = mdf_dtype_size((mdf_dtype)to);

    return from == to || to_size == packed_element_size(packed, to) ||
           (from_size < to_size && (machine_is_signed(to) || !machine_is_signed(from)));
}

void packed_cast_whole(struct packed *packed)
{
    unsigned from = packed_element_size(packed, packed->dtype), to = packed_element_size(packed, packed->result);
    uint8_t first = packed->in[0], target = packed->out;

    if (from < to && packed->dtype == MDF_DTYPE_UINT32) {
        assemble_vector(packed->assembler, VECTOR_FILL_INTS, packed_register_size(packed, to), target, 0, in_register(first));
    } else if (from != to) {
        packed_change_width(packed, target, first, from, to);
    } else if (lies_as(packed, packed->dtype, packed->result)) {
        assemble_vector(packed->assembler, VECTOR_MOVE, packed_register_size(packed, to), target, 0, in_register(first));
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
void packed_cast_naturals(struct packed *packed)
{
    struct assembler *assembler = packed->assembler;
    unsigned size = size_of(packed, packed->result);
    uint8_t first = packed->in[0], target = packed->out;
    struct machine_operand power = constant_operand(assembler, UINT64_C(0x4330000000000000), 8);

    if (mdf_has_avx512()) {
        assemble_vector(assembler, packed->result == MDF_DTYPE_FLOAT64 ? VECTOR_DOUBLES_OF_NATURALS : VECTOR_FLOATS_OF_NATURALS,
                        size, target, 0, in_register(first));
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

/* The lowest number that a real is cut off to, where it is that or above it, and the first one that is too large. */
struct cut {
    double low, end;
    bool is_above;
};

static uint64_t real_bits(bool is_float, double real)
{
    union {
        double real;
        uint64_t bits;
    } wide = {real};
    union {
        float real;
        uint32_t bits;
    } narrow = {(float)real};

    return is_float ? narrow.bits : wide.bits;
}

/* Bails out where a real of a lane that counts does not fit. */
static void check_cut(struct packed *packed, struct cut cut)
{
    bool is_float = packed->dtype == MDF_DTYPE_FLOAT32;
    struct assembler *assembler = packed->assembler;
    unsigned size = size_of(packed, packed->dtype), kind = is_float ? OF_FLOATS : OF_DOUBLES, width = is_float ? 4 : 8;
    int32_t all = (int32_t)((UINT32_C(1) << packed->active) - 1);

    packed_compare(assembler, VECTOR_COMPARE | kind, size, SCRATCH_REAL, packed->in[0],
                   constant_operand(assembler, real_bits(is_float, cut.end), width), VECTOR_LESS);
    packed_compare(assembler, VECTOR_COMPARE | kind, size, SECOND_SCRATCH_REAL, packed->in[0],
                   constant_operand(assembler, real_bits(is_float, cut.low), width),
                   cut.is_above ? VECTOR_GREATER : VECTOR_GREATER_EQUAL);
    assemble_vector(assembler, VECTOR_AND | kind, size, SCRATCH_REAL, SCRATCH_REAL, in_register(SECOND_SCRATCH_REAL));
    if (size < 64) {
        assemble_vector(assembler, is_float ? VECTOR_SIGNS_OF_FLOATS : VECTOR_SIGNS_OF_DOUBLES, size, RCX, 0,
                        in_register(SCRATCH_REAL));
    } else {
        assemble_vector(assembler, is_float ? VECTOR_TO_MASK_4 : VECTOR_TO_MASK_8, size, VECTOR_MASK, 0,
                        in_register(SCRATCH_REAL));
        assemble_vector(assembler, VECTOR_MASK_TO_GENERAL, 16, RCX, 0, in_register(VECTOR_MASK));
    }
    assemble_with_number(assembler, NUMBER_AND, 4, in_register(RCX), all);
    assemble_with_number(assembler, NUMBER_COMPARE, 4, in_register(RCX), all);
    assemble_jump_if(assembler, IF_NOT_EQUAL, packed->emission->bail_out);
}

void packed_cut_reals(struct packed *packed)
{
    static const struct cut ints = {-0x1p31, 0x1p31, false}, ints_of_doubles = {-0x1p31 - 1, 0x1p31, true},
                            longs = {-0x1p63, 0x1p63, false}, naturals = {-0x1p63, 0x1p64, false};
    bool is_float = packed->dtype == MDF_DTYPE_FLOAT32;
    struct assembler *assembler = packed->assembler;
    unsigned size = size_of(packed, packed->result);
    uint8_t first = packed->in[0], target = packed->out, sign = first;

    if (packed->result == MDF_DTYPE_INT32) {
        check_cut(packed, is_float ? ints : ints_of_doubles);
        assemble_vector(assembler, is_float ? VECTOR_INTS_OF_FLOATS : VECTOR_INTS_OF_DOUBLES, size_of(packed, packed->dtype),
                        target, 0, in_register(first));
        return;
    }
    check_cut(packed, packed->result == MDF_DTYPE_INT64 ? longs : naturals);
    if (packed->result == MDF_DTYPE_INT64) {
        assemble_vector(assembler, is_float ? VECTOR_INTS_8_OF_FLOATS : VECTOR_INTS_8_OF_DOUBLES, size, target, 0,
                        in_register(first));
        return;
    }
    /* those below 0 wrap */
    assemble_vector(assembler, is_float ? VECTOR_INTS_8_OF_FLOATS : VECTOR_INTS_8_OF_DOUBLES, size, SCRATCH_REAL, 0,
                    in_register(first));
    assemble_vector(assembler, is_float ? VECTOR_NATURALS_8_OF_FLOATS : VECTOR_NATURALS_8_OF_DOUBLES, size, SECOND_SCRATCH_REAL,
                    0, in_register(first));
    if (is_float) {
        sign = THIRD_SCRATCH_REAL;
        assemble_vector(assembler, VECTOR_EXTEND_INTS, size, sign, 0, in_register(first));
    }
    assembler->mask_bytes = 0; /* the sign alone counts here */
    packed_choose(assembler, false, size, target, sign, in_register(SCRATCH_REAL), SECOND_SCRATCH_REAL);
    assembler->mask_bytes = 0;
}

/* ------------------------------------------------------------------ division by constants */

/* Of numbers of `n_bits` bits with a sign, by d >= 3 that is no power of two: the upper half of the product with m is shifted by
 * so many bits (emit_x86_64_division.c). */
struct lane_multiplier {
    uint64_t m;
    uint8_t shift;
};

static struct lane_multiplier find_signed_multiplier(uint64_t d, unsigned n_bits)
{
    uint64_t half = UINT64_C(1) << (n_bits - 1), largest = half - 1 - half % d;
    unsigned power = n_bits;

    while ((UINT64_C(1) << power) <= largest * (d - (UINT64_C(1) << power) % d)) {
        power++;
    }
    return (struct lane_multiplier){((UINT64_C(1) << power) + d - (UINT64_C(1) << power) % d) / d, (uint8_t)(power - n_bits)};
}

/* Of all numbers of so many bits: what is added to 2^n_bits is m. */
static struct lane_multiplier find_natural_multiplier(uint64_t d, unsigned n_bits)
{
    unsigned l = 64 - (unsigned)__builtin_clzll(d - 1);

    return (struct lane_multiplier){(((UINT64_C(1) << l) - d) << n_bits) / d + 1, (uint8_t)(l - 1)};
}

static int64_t divisor_of(uint64_t bits, unsigned dtype)
{
    size_t size = mdf_dtype_size((mdf_dtype)dtype);
    unsigned n_unused = 64 - 8 * (unsigned)size;

    return machine_is_signed(dtype) ? (int64_t)(bits << n_unused) >> n_unused : (int64_t)(bits << n_unused >> n_unused);
}

static bool is_power(uint64_t d)
{
    return (d & (d - 1)) == 0;
}

bool packed_covers_division(enum mdf_lowered_code code, unsigned dtype, uint64_t bits)
{
    int64_t d = divisor_of(bits, dtype);
    bool is_signed = machine_is_signed(dtype);

    if (code != MDF_LOWERED_QUOTIENT && code != MDF_LOWERED_REMAINDER && code != MDF_LOWERED_FLOOR_REMAINDER) {
        return false;
    }
    if (machine_whole_size(dtype) == 8) {
        return d >= 2 && is_power((uint64_t)d) && (!is_signed || mdf_has_avx512());
    }
    return d >= 2 || (is_signed && d <= -2 && d != -(INT64_C(1) << (8 * mdf_dtype_size((mdf_dtype)dtype) - 1)));
}

static void shift_lanes(struct packed *packed, enum vector_shift shift, uint8_t target, uint8_t source, unsigned n_bits)
{
    unsigned width = packed_element_size(packed, packed->dtype);
    unsigned code = width == 8 && shift == VECTOR_TO_RIGHT_SIGNED
                        ? VECTOR_ROTATE_INTS_8
                        : packed_of_lanes(packed, 0, VECTOR_SHIFT_SHORTS, VECTOR_SHIFT_INTS, VECTOR_SHIFT_INTS_8);

    assemble_vector_with_number(packed->assembler, code, packed_register_size(packed, width), (uint8_t)shift, target,
                                in_register(source), (uint8_t)n_bits);
}

/* The op's first operand and a constant, or two registers, by the instruction for lanes. */
static void add_lanes(struct packed *packed, bool subtracts, uint8_t target, uint8_t first, struct machine_operand second)
{
    unsigned add = packed_of_lanes(packed, 0, VECTOR_ADD_SHORTS, VECTOR_ADD_INTS, VECTOR_ADD_INTS_8);
    unsigned subtract = packed_of_lanes(packed, 0, VECTOR_SUBTRACT_SHORTS, VECTOR_SUBTRACT_INTS, VECTOR_SUBTRACT_INTS_8);

    assemble_vector(packed->assembler, subtracts ? subtract : add, size_of(packed, packed->dtype), target, first, second);
}

static struct machine_operand lane_number(struct packed *packed, uint64_t number)
{
    return constant_operand(packed->assembler, number, packed_element_size(packed, packed->dtype));
}

/* The upper half of each product with m, to the first scratch register; changes the second. */
static void upper_product(struct packed *packed, uint64_t m, bool is_signed)
{
    struct assembler *assembler = packed->assembler;
    unsigned size = size_of(packed, packed->dtype);
    unsigned product = is_signed ? VECTOR_MULTIPLY_HALVES_SIGNED : VECTOR_MULTIPLY_HALVES;
    uint8_t x = packed->in[0];

    if (packed_element_size(packed, packed->dtype) == 2) {
        assemble_vector(assembler, is_signed ? VECTOR_UPPER_PRODUCT_SHORTS : VECTOR_UPPER_PRODUCT_NATURAL_SHORTS, size,
                        SCRATCH_REAL, x, constant_operand(assembler, m, 2));
        return;
    }
    assemble_vector(assembler, product, size, SCRATCH_REAL, x, constant_operand(assembler, m, 4));
    assemble_vector_with_number(assembler, VECTOR_SHIFT_INTS_8, size, VECTOR_TO_RIGHT, SECOND_SCRATCH_REAL, in_register(x), 32);
    assemble_vector(assembler, product, size, SECOND_SCRATCH_REAL, SECOND_SCRATCH_REAL, constant_operand(assembler, m, 4));
    assemble_vector_with_number(assembler, VECTOR_SHIFT_INTS_8, size, VECTOR_TO_RIGHT, SCRATCH_REAL, in_register(SCRATCH_REAL),
                                32);
    assemble_vector_with_number(assembler, VECTOR_TAKE_INTS, size, SCRATCH_REAL, SCRATCH_REAL, in_register(SECOND_SCRATCH_REAL),
                                0xAA);
}

/* The truncated quotient, in the first scratch register. `is_natural`: numbers are not below 0, and have a bit left. */
static void find_quotient(struct packed *packed, int64_t divisor, bool is_signed, bool is_natural)
{
    unsigned n_bits = 8 * packed_element_size(packed, packed->dtype);
    uint64_t d = divisor < 0 ? 0 - (uint64_t)divisor : (uint64_t)divisor;
    unsigned power = 63 - (unsigned)__builtin_clzll(d);
    uint8_t x = packed->in[0];
    struct lane_multiplier multiplier;

    if (is_power(d) && (!is_signed || is_natural)) {
        shift_lanes(packed, VECTOR_TO_RIGHT, SCRATCH_REAL, x, power);
    } else if (is_power(d)) {
        shift_lanes(packed, VECTOR_TO_RIGHT_SIGNED, SCRATCH_REAL, x, n_bits - 1);
        shift_lanes(packed, VECTOR_TO_RIGHT, SCRATCH_REAL, SCRATCH_REAL, n_bits - power);
        add_lanes(packed, false, SCRATCH_REAL, SCRATCH_REAL, in_register(x));
        shift_lanes(packed, VECTOR_TO_RIGHT_SIGNED, SCRATCH_REAL, SCRATCH_REAL, power);
    } else if (is_signed) {
        multiplier = find_signed_multiplier(d, n_bits);
        upper_product(packed, multiplier.m, true);
        if (multiplier.m >> (n_bits - 1) != 0) {
            add_lanes(packed, false, SCRATCH_REAL, SCRATCH_REAL, in_register(x));
        }
        shift_lanes(packed, VECTOR_TO_RIGHT_SIGNED, SCRATCH_REAL, SCRATCH_REAL, multiplier.shift);
        if (!is_natural) {
            shift_lanes(packed, VECTOR_TO_RIGHT, SECOND_SCRATCH_REAL, x, n_bits - 1);
            add_lanes(packed, false, SCRATCH_REAL, SCRATCH_REAL, in_register(SECOND_SCRATCH_REAL));
        }
    } else {
        multiplier = find_natural_multiplier(d, n_bits);
        upper_product(packed, multiplier.m, false);
        add_lanes(packed, true, SECOND_SCRATCH_REAL, x, in_register(SCRATCH_REAL));
        shift_lanes(packed, VECTOR_TO_RIGHT, SECOND_SCRATCH_REAL, SECOND_SCRATCH_REAL, 1);
        add_lanes(packed, false, SCRATCH_REAL, SCRATCH_REAL, in_register(SECOND_SCRATCH_REAL));
        shift_lanes(packed, VECTOR_TO_RIGHT, SCRATCH_REAL, SCRATCH_REAL, multiplier.shift);
    }
    if (divisor < 0) {
        packed_make_zero(packed, SECOND_SCRATCH_REAL);
        add_lanes(packed, true, SCRATCH_REAL, SECOND_SCRATCH_REAL, in_register(SCRATCH_REAL));
    }
}

/* x minus the quotient times d, in the first scratch register. */
static void find_remainder(struct packed *packed, int64_t divisor)
{
    struct assembler *assembler = packed->assembler;
    unsigned size = size_of(packed, packed->dtype);
    uint64_t d = (uint64_t)divisor;

    if (divisor > 0 && is_power(d)) {
        shift_lanes(packed, VECTOR_TO_LEFT, SCRATCH_REAL, SCRATCH_REAL, 63 - (unsigned)__builtin_clzll(d));
    } else {
        assemble_vector(assembler, packed_of_lanes(packed, 0, VECTOR_MULTIPLY_SHORTS, VECTOR_MULTIPLY_INTS, 0), size,
                        SCRATCH_REAL, SCRATCH_REAL, lane_number(packed, d));
    }
    add_lanes(packed, true, SCRATCH_REAL, packed->in[0], in_register(SCRATCH_REAL));
}

/* Where a remainder has not the divisor's sign, the divisor is added. */
static void round_down(struct packed *packed, int64_t divisor)
{
    struct assembler *assembler = packed->assembler;
    unsigned size = size_of(packed, packed->dtype), n_bits = 8 * packed_element_size(packed, packed->dtype);

    if (divisor > 0) {
        shift_lanes(packed, VECTOR_TO_RIGHT_SIGNED, SECOND_SCRATCH_REAL, SCRATCH_REAL, n_bits - 1);
    } else {
        packed_make_zero(packed, SECOND_SCRATCH_REAL);
        assemble_vector(assembler, packed_of_lanes(packed, 0, VECTOR_GREATER_SHORTS, VECTOR_GREATER_INTS, 0), size,
                        SECOND_SCRATCH_REAL, SCRATCH_REAL, in_register(SECOND_SCRATCH_REAL));
    }
    assemble_vector(assembler, VECTOR_AND, size, SECOND_SCRATCH_REAL, SECOND_SCRATCH_REAL,
                    lane_number(packed, (uint64_t)divisor));
    add_lanes(packed, false, SCRATCH_REAL, SCRATCH_REAL, in_register(SECOND_SCRATCH_REAL));
}

void packed_divide(struct packed *packed)
{
    int64_t divisor = divisor_of(emission_constant(packed->emission, packed->constants[1]), packed->dtype);
    bool is_wider = is_in_wider_lane(packed, packed->dtype), is_natural = is_wider && !machine_is_signed(packed->dtype);
    bool is_signed = is_wider || machine_is_signed(packed->dtype), floors = packed->code == MDF_LOWERED_FLOOR_REMAINDER;
    unsigned size = size_of(packed, packed->dtype);

    if (packed->code != MDF_LOWERED_QUOTIENT && divisor > 0 && is_power((uint64_t)divisor) &&
        (floors || !is_signed || is_natural)) {
        assemble_vector(packed->assembler, VECTOR_AND | packed_lane_kind(packed), size, packed->out, packed->in[0],
                        lane_number(packed, (uint64_t)divisor - 1));
        return;
    }
    find_quotient(packed, divisor, is_signed, is_natural);
    if (packed->code != MDF_LOWERED_QUOTIENT) {
        find_remainder(packed, divisor);
    }
    if (floors && is_signed && !is_natural) {
        round_down(packed, divisor);
    }
    assemble_vector(packed->assembler, VECTOR_MOVE, size, packed->out, 0, in_register(SCRATCH_REAL));
}
