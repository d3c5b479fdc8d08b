/* emit_x86_64_packed.c - see emit_x86_64_packed.h. Element ops on several elements at a time. What takes several instructions
 * works in the free registers, and writes the result with the last one: it may have the register of an operand. */
#include "mdf_c/machine/emit_x86_64_packed.h"

#include "mdf_c/base/processor.h"

static bool covers_cast(unsigned from, unsigned to)
{
    bool is_of_half = mdf_dtype_is_half((mdf_dtype)from), is_to_half = mdf_dtype_is_half((mdf_dtype)to);

    if (is_of_half || is_to_half) {
        return (is_of_half && to == MDF_DTYPE_FLOAT32) || (is_to_half && from == MDF_DTYPE_FLOAT32);
    }
    if (mdf_dtype_is_real(from)) {
        return mdf_dtype_is_real(to) || to == MDF_DTYPE_BOOL || to == MDF_DTYPE_INT32 ||
               ((to == MDF_DTYPE_INT64 || to == MDF_DTYPE_UINT64) && mdf_has_avx512());
    }
    return emission_has_vectors(to) && (!mdf_dtype_is_real(to) || machine_whole_size(from) == 4 || mdf_has_avx512());
}

bool packed_covers(enum mdf_lowered_code code, unsigned dtype, unsigned to)
{
    return machine_takes(code, dtype, true) && (code != MDF_LOWERED_CAST || covers_cast(dtype, to));
}

/* ------------------------------------------------------------------ pieces */

/* Of the register: 16, 32 or 64. */
unsigned packed_register_size(const struct packed *packed, unsigned element_size)
{
    return packed->lanes * element_size > 32 ? 64 : packed->lanes * element_size > 16 ? 32 : 16;
}

/* Bytes of an element of the op's operands, in a register. */
unsigned packed_element_size(const struct packed *packed, unsigned dtype)
{
    return machine_lane_bytes(dtype, packed->width);
}

static unsigned size_of(const struct packed *packed, unsigned dtype)
{
    return packed_register_size(packed, packed_element_size(packed, dtype));
}

uint64_t emission_lane_constant(const struct emission *emission, mdf_lowered_id id)
{
    int32_t number;

    return machine_is_short(emission->lowered->values[id].form.dtype) && emission_small_constant(emission, id, &number)
               ? (uint32_t)number
               : emission_constant(emission, id);
}

uint64_t packed_constant(const struct packed *packed, size_t k)
{
    return emission_lane_constant(packed->emission, packed->constants[k]);
}

/* An operand that an instruction may read from memory. */
struct machine_operand packed_operand(struct packed *packed, size_t k)
{
    if (packed->in[k] != NO_REGISTER) {
        return in_register(packed->in[k]);
    }
    if (packed->constants[k] == MDF_LOWERED_NONE) {
        return packed->memory;
    }
    return constant_operand(packed->assembler, packed_constant(packed, k), packed_element_size(packed, packed->dtype));
}

void packed_make_zero(struct packed *packed, uint8_t number)
{
    assemble_vector(packed->assembler, VECTOR_EXCLUSIVE_OR, 16, number, number, in_register(number));
}

/* Lanes of `from` bytes become lanes of `to` bytes, half or twice as wide, in the register `target`, by their signs. */
void packed_change_width(struct packed *packed, uint8_t target, uint8_t source, unsigned from, unsigned to)
{
    struct assembler *assembler = packed->assembler;

    if (from < to) {
        assemble_vector(assembler, VECTOR_EXTEND_INTS, packed_register_size(packed, to), target, 0, in_register(source));
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
static uint8_t mask_for(struct packed *packed, unsigned to)
{
    uint8_t number = packed->in[0];

    if (to == packed->width) {
        return number;
    }
    packed_change_width(packed, SCRATCH_REAL, number, packed->width, to);
    return SCRATCH_REAL;
}

/* A mask of lanes of `from` bytes in the first scratch register, flipped where asked for, becomes the op's result. */
void packed_finish_mask(struct packed *packed, unsigned from, bool flips)
{
    struct assembler *assembler = packed->assembler;
    uint8_t target = packed->out;

    if (flips) {
        assemble_vector(assembler, VECTOR_EXCLUSIVE_OR, packed_register_size(packed, from), SCRATCH_REAL, SCRATCH_REAL,
                        constant_operand(assembler, UINT64_MAX, 8));
    }
    if (from != packed->width) {
        packed_change_width(packed, target, SCRATCH_REAL, from, packed->width);
    } else {
        assemble_vector(assembler, VECTOR_MOVE, packed_register_size(packed, from), target, 0, in_register(SCRATCH_REAL));
    }
}

/* ------------------------------------------------------------------ arithmetic */

static unsigned real_kind(const struct packed *packed)
{
    return packed->dtype == MDF_DTYPE_FLOAT32 ? OF_FLOATS : OF_DOUBLES;
}

/* Of operations on bits: by the size of elements. */
unsigned packed_lane_kind(const struct packed *packed)
{
    return packed_element_size(packed, packed->dtype) < 8 ? OF_FLOATS : OF_DOUBLES;
}

void packed_note_mask(struct assembler *assembler, uint8_t vector, uint8_t n_bytes)
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
        packed_note_mask(assembler, target, code == (VECTOR_COMPARE | OF_FLOATS) ? 4 : 8);
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
            packed_note_mask(assembler, mask, is_narrow ? 4 : 8);
        }
        assemble_vector(assembler, is_narrow ? VECTOR_CHOOSE_FLOATS : VECTOR_CHOOSE_DOUBLES, size, target, otherwise, then);
    }
}

void packed_emit_two(struct packed *packed, unsigned code)
{
    uint8_t first = packed->in[0];
    struct machine_operand second = packed_operand(packed, 1);
    uint8_t target = packed->out;

    assemble_vector(packed->assembler, code, size_of(packed, packed->dtype), target, first, second);
}

void packed_emit_with_constant(struct packed *packed, unsigned code, uint64_t bits)
{
    uint8_t first = packed->in[0], target = packed->out;
    unsigned size = size_of(packed, packed->dtype);

    assemble_vector(packed->assembler, size == 64 ? code | packed_lane_kind(packed) : code, size, target, first,
                    constant_operand(packed->assembler, bits, packed_element_size(packed, packed->dtype)));
}

static void emit_one(struct packed *packed)
{
    unsigned size = size_of(packed, packed->dtype);
    struct machine_operand operand = packed_operand(packed, 0);
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
    packed_make_zero(packed, SCRATCH_REAL);
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
    unsigned code = machine_vector_code(packed->code);

    if (packed->code == MDF_LOWERED_DIVIDE_NONZERO) {
        bail_out_where_zero(packed);
    }
    if (code != 0) {
        packed_emit_two(packed, code | real_kind(packed));
    } else if (packed->code == MDF_LOWERED_NEGATE) {
        packed_emit_with_constant(packed, VECTOR_EXCLUSIVE_OR, sign);
    } else if (packed->code == MDF_LOWERED_ABSOLUTE) {
        packed_emit_with_constant(packed, VECTOR_AND, sign - 1);
    } else {
        emit_one(packed);
    }
}

/* ------------------------------------------------------------------ conditions */

static void compare_reals(struct packed *packed)
{
    static const uint8_t comparisons[] = {VECTOR_EQUAL,      VECTOR_NOT_EQUAL, VECTOR_LESS,
                                          VECTOR_LESS_EQUAL, VECTOR_GREATER,   VECTOR_GREATER_EQUAL};
    unsigned width = packed_element_size(packed, packed->dtype), size = packed_register_size(packed, width);
    uint8_t first = packed->in[0], target;
    struct machine_operand second = packed_operand(packed, 1);
    uint8_t comparison = comparisons[packed->code - MDF_LOWERED_EQUAL];

    if (width == packed->width) {
        target = packed->out;
        packed_compare(packed->assembler, VECTOR_COMPARE | real_kind(packed), size, target, first, second, comparison);
        return;
    }
    packed_compare(packed->assembler, VECTOR_COMPARE | real_kind(packed), size, SCRATCH_REAL, first, second, comparison);
    packed_finish_mask(packed, width, false);
}

static void emit_logic(struct packed *packed)
{
    if (packed->code == MDF_LOWERED_NOT) {
        packed_emit_with_constant(packed, VECTOR_EXCLUSIVE_OR, UINT64_MAX);
    } else if (packed->code == MDF_LOWERED_EQUAL) {
        packed_compare_wholes(packed); /* of masks */
    } else {
        packed_emit_two(packed, machine_vector_code(packed->code));
    }
}

static void emit_select(struct packed *packed)
{
    unsigned width = packed_element_size(packed, packed->dtype);
    uint8_t mask = mask_for(packed, width), otherwise = packed->in[2];
    struct machine_operand then = packed_operand(packed, 1);
    uint8_t target = packed->out;

    if (width < 4) {
        assemble_vector_with_number(packed->assembler, VECTOR_BLEND_BYTES, packed_register_size(packed, width), target, otherwise,
                                    then, (uint8_t)(mask << 4));
        return;
    }
    packed_choose(packed->assembler, width == 4, packed_register_size(packed, width), target, mask, then, otherwise);
}

/* ------------------------------------------------------------------ casts */

static void cast_mask(struct packed *packed, unsigned to)
{
    static const uint64_t one_of_double = UINT64_C(0x3FF0000000000000);
    unsigned width = packed_element_size(packed, to);
    uint8_t mask = mask_for(packed, width), target = packed->out;
    uint64_t one = to == MDF_DTYPE_FLOAT64 ? one_of_double : to == MDF_DTYPE_FLOAT32 ? UINT64_C(0x3F800000) : 1;

    assemble_vector(packed->assembler, width == 8 ? VECTOR_AND | OF_DOUBLES : VECTOR_AND, packed_register_size(packed, width),
                    target, mask, constant_operand(packed->assembler, one, width));
}

static void cast_to_mask(struct packed *packed)
{
    unsigned width = packed_element_size(packed, packed->dtype), size = packed_register_size(packed, width);
    uint8_t first = packed->in[0];

    packed_make_zero(packed, SCRATCH_REAL);
    if (mdf_dtype_is_real(packed->dtype)) {
        packed_compare(packed->assembler, VECTOR_COMPARE | real_kind(packed), size, SCRATCH_REAL, first,
                       in_register(SCRATCH_REAL), VECTOR_NOT_EQUAL);
    } else if (size == 64) {
        packed_compare_wide_set(packed, width, false, ORDER_NOT_EQUAL, first, SCRATCH_REAL);
        return;
    } else {
        assemble_vector(packed->assembler,
                        packed_of_lanes(packed, VECTOR_EQUAL_BYTES, VECTOR_EQUAL_SHORTS, VECTOR_EQUAL_INTS, VECTOR_EQUAL_INTS_8),
                        size, SCRATCH_REAL, first, in_register(SCRATCH_REAL));
    }
    packed_finish_mask(packed, width, !mdf_dtype_is_real(packed->dtype));
}

/* float16 and bfloat16 lie in lanes of 4 bytes, with zeros above. Those of float16 are converted side by side. */
static void cast_half(struct packed *packed)
{
    struct assembler *assembler = packed->assembler;
    unsigned size = size_of(packed, MDF_DTYPE_FLOAT32);
    uint8_t first = packed->in[0], target = packed->out;

    if (packed->dtype == MDF_DTYPE_BFLOAT16) { /* their bits are the upper ones */
        assemble_vector_with_number(assembler, VECTOR_SHIFT_INTS, size, VECTOR_TO_LEFT, target, in_register(first), 16);
        return;
    }
    if (size == 64) {
        assemble_vector(assembler, VECTOR_SHORTS_OF_INTS, 64, first, 0, in_register(SCRATCH_REAL));
    } else {
        packed_make_short(packed, packed->dtype, first);
    }
    assemble_vector(assembler, VECTOR_FLOATS_OF_HALVES, size, target, 0, in_register(SCRATCH_REAL));
}

static void cast_to_half(struct packed *packed)
{
    struct assembler *assembler = packed->assembler;
    unsigned size = size_of(packed, MDF_DTYPE_FLOAT32);
    uint8_t first = packed->in[0], target = packed->out;

    if (packed->result == MDF_DTYPE_FLOAT16) {
        assemble_vector_with_number(assembler, VECTOR_HALVES_OF_FLOATS, size, first, 0, in_register(SCRATCH_REAL), 0);
        assemble_vector(assembler, VECTOR_FILL_SHORTS_TO_4, size, target, 0, in_register(SCRATCH_REAL));
        return;
    }
    /* half of the last bit that stays, less one where that is 0, carries into it; NaN keeps its sign, and nothing else */
    assemble_vector_with_number(assembler, VECTOR_SHIFT_INTS, size, VECTOR_TO_RIGHT, SCRATCH_REAL, in_register(first), 16);
    assemble_vector(assembler, VECTOR_AND, size, SCRATCH_REAL, SCRATCH_REAL, constant_operand(assembler, 1, 4));
    assemble_vector(assembler, VECTOR_ADD_INTS, size, SCRATCH_REAL, SCRATCH_REAL, constant_operand(assembler, 0x7FFF, 4));
    assemble_vector(assembler, VECTOR_ADD_INTS, size, SECOND_SCRATCH_REAL, SCRATCH_REAL, in_register(first));
    packed_compare(assembler, VECTOR_COMPARE, size, THIRD_SCRATCH_REAL, first, in_register(first), VECTOR_UNORDERED);
    assemble_vector(assembler, VECTOR_AND, size, SCRATCH_REAL, first, constant_operand(assembler, UINT64_C(0x80000000), 4));
    assemble_vector(assembler, VECTOR_OR, size, SCRATCH_REAL, SCRATCH_REAL, constant_operand(assembler, UINT64_C(0x7FC00000), 4));
    packed_choose(assembler, true, size, target, THIRD_SCRATCH_REAL, in_register(SCRATCH_REAL), SECOND_SCRATCH_REAL);
    assemble_vector_with_number(assembler, VECTOR_SHIFT_INTS, size, VECTOR_TO_RIGHT, target, in_register(target), 16);
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
    if (mdf_dtype_is_half((mdf_dtype)from)) {
        cast_half(packed);
    } else if (mdf_dtype_is_half((mdf_dtype)to)) {
        cast_to_half(packed);
    } else if (mdf_dtype_is_real(from) && machine_is_whole(to)) {
        packed_cut_reals(packed);
    } else if (machine_is_whole(from) && machine_is_whole(to)) {
        packed_cast_whole(packed);
    } else if (machine_is_whole(from) && machine_whole_size(from) == 8) {
        bool is_float = to == MDF_DTYPE_FLOAT32, is_signed = machine_is_signed(from);

        assemble_vector(assembler,
                        is_float ? (is_signed ? VECTOR_FLOATS_OF_INTS_8 : VECTOR_FLOATS_OF_NATURALS_8)
                                 : (is_signed ? VECTOR_DOUBLES_OF_INTS_8 : VECTOR_DOUBLES_OF_NATURALS_8),
                        size_of(packed, from), target, 0, in_register(first));
    } else if (from == MDF_DTYPE_UINT32) {
        packed_cast_naturals(packed);
    } else if (from == to) {
        assemble_vector(assembler, VECTOR_MOVE, size_of(packed, to), target, 0, in_register(first));
    } else if (from == MDF_DTYPE_FLOAT32) {
        assemble_vector(assembler, VECTOR_DOUBLES_OF_FLOATS, size_of(packed, to), target, 0, packed_operand(packed, 0));
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
        packed_emit_rotation(packed);
    } else if (packed->code == MDF_LOWERED_CAST) {
        emit_cast(packed);
    } else if (packed->code == MDF_LOWERED_SELECT) {
        emit_select(packed);
    } else if (packed->dtype == MDF_DTYPE_BOOL) {
        emit_logic(packed);
    } else if (emission_is_comparison(packed->code)) {
        if (mdf_dtype_is_real(packed->dtype)) {
            compare_reals(packed);
        } else {
            packed_compare_wholes(packed);
        }
    } else if (mdf_dtype_is_real(packed->dtype)) {
        emit_real(packed);
    } else {
        packed_emit_whole(packed);
    }
}

void packed_make_short(struct packed *packed, unsigned dtype, uint8_t number)
{
    struct assembler *assembler = packed->assembler;
    bool is_signed = machine_is_signed(dtype);

    if (packed_element_size(packed, dtype) == 2) { /* bytes within each half, of which the second becomes the third */
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
