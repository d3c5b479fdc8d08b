/* emit_x86_64_nest_moves.c - see emit_x86_64_nest.h. Values between registers and memory: slots, rows, the places of views. rax
 * and rcx, and the scratch registers, are free within each. */
#include "mdf_c/base/processor.h"
#include "mdf_c/machine/emit_x86_64_nest.h"

#include <string.h>

/* ------------------------------------------------------------------ memory: slots, words, rows */

struct machine_operand nest_slot(const struct nest_node *node)
{
    return in_memory(NEST_MEMORY, (int32_t)(NEST_SLOT * node->slot));
}

struct machine_operand nest_word(const struct nest_code *code, size_t word)
{
    return in_memory(NEST_MEMORY, (int32_t)(NEST_SLOT * code->n_slots + 8 * word));
}

static size_t rows_begin(const struct nest_code *code)
{
    return NEST_SLOT * code->n_slots + (8 * NEST_WORDS + NEST_SLOT - 1) / NEST_SLOT * NEST_SLOT;
}

size_t nest_memory_bytes(const struct nest_code *code)
{
    return rows_begin(code) + code->row_bytes;
}

unsigned nest_element_size(const struct nest_code *code, unsigned dtype)
{
    return machine_lane_bytes(dtype, code->shape.width);
}

/* Of a register that has values of a type. */
unsigned nest_vector_size(const struct nest_code *code, unsigned dtype)
{
    unsigned size = code->shape.lanes * nest_element_size(code, dtype);

    return size > 32 ? 64 : size > 16 ? 32 : 16;
}

unsigned nest_widest_size(const struct nest_code *code)
{
    return code->shape.lanes * code->shape.width > 32 ? 64 : 32;
}

struct machine_operand nest_row(const struct nest_code *code, uint32_t offset)
{
    return in_memory(NEST_MEMORY, (int32_t)(rows_begin(code) + offset));
}

/* ------------------------------------------------------------------ places */

/* `bytes` behind what a place says. */
static struct machine_operand operand_at(struct nest_code *code, const struct nest_place *place, int64_t bytes)
{
    const struct nest_pointer *pointer = &code->pointers[place->pointer];
    int32_t displacement = place->displacement + (int32_t)bytes;

    if (place->is_cell) {
        return in_memory(CELLS, (int32_t)(8 * place->id));
    }
    if (nest_is_fixed(pointer)) {
        return in_memory(NEST_MEMORY, (int32_t)(rows_begin(code) + pointer->offset) + displacement);
    }
    if (pointer->number != NO_REGISTER) {
        return in_memory(pointer->number, displacement);
    }
    assemble_load(nest_assembler(code), 8, RCX, nest_word(code, place->pointer));
    return in_memory(RCX, displacement);
}

/* The same where rax has a number of bytes that is added. */
static struct machine_operand with_index(struct machine_operand operand, bool has_index)
{
    if (has_index) {
        operand.index = RAX;
        operand.scale = 1;
    }
    return operand;
}

/* Whether the index of a load is int32. */
static bool has_narrow_index(const struct nest_code *code, const struct nest_node *node)
{
    return code->nest->steps[code->nest->steps[node->step].view.at].dtype == MDF_DTYPE_INT32;
}

/* Brings the bytes that a lane of an index stands for to rax, or bails out. */
static void find_index(struct nest_code *code, const struct nest_node *node, uint8_t number, unsigned lane)
{
    const struct mdf_nest_view *view = &code->nest->steps[node->step].view;
    struct assembler *assembler = nest_assembler(code);
    size_t size = mdf_dtype_size((mdf_dtype)node->dtype);
    bool is_narrow = has_narrow_index(code, node);
    unsigned per_half = is_narrow ? 4 : 2;

    if (lane >= per_half) {
        assemble_vector_with_number(assembler, VECTOR_UPPER_HALF, 32, number, 0, in_register(SECOND_SCRATCH_REAL), 1);
        number = SECOND_SCRATCH_REAL;
    }
    if (lane % per_half == 0) {
        assemble_vector(assembler, is_narrow ? VECTOR_TO_GENERAL : VECTOR_TO_GENERAL_8, 16, number, 0, in_register(RAX));
    } else {
        assemble_vector_with_number(assembler, is_narrow ? VECTOR_EXTRACT_4 : VECTOR_EXTRACT_8, 16, number, 0, in_register(RAX),
                                    (uint8_t)(lane % per_half));
    }
    if (is_narrow) {
        assemble_general(assembler, GENERAL_SIGN_EXTEND, 8, RAX, in_register(RAX));
    }
    emission_check_index(code->emission, RAX, view->at_limit, machine_any_number);
    assemble_multiply_by(assembler, 8, RAX, in_register(RAX), (int32_t)(view->at_stride * (int64_t)size));
}

bool nest_lies_in_memory(const struct nest_code *code, const struct nest_node *node)
{
    if (!nest_is_loaded_again(node)) {
        return true;
    }
    return node->code == NODE_LOAD && node->place.kind == PLACE_ROW && mdf_dtype_size((mdf_dtype)node->dtype) >= 4 &&
           node->active * nest_element_size(code, node->dtype) == nest_vector_size(code, node->dtype);
}

struct machine_operand nest_memory_operand(struct nest_code *code, const struct nest_node *node)
{
    return nest_is_loaded_again(node) ? operand_at(code, &node->place, 0) : nest_slot(node);
}

/* ------------------------------------------------------------------ masks of the first lanes */

/* The mask of lanes of a round over the rest of the open axis. */
static void load_open_mask(struct nest_code *code, unsigned copy, unsigned size, uint8_t number)
{
#define SIXTEEN(x) x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x
    enum { MOST = 64 }; /* indices of a round */
    static const int32_t narrow[2 * MOST] = {SIXTEEN(-1), SIXTEEN(-1), SIXTEEN(-1), SIXTEEN(-1)};
    static const int64_t wide[2 * MOST] = {SIXTEEN(-1), SIXTEEN(-1), SIXTEEN(-1), SIXTEEN(-1)};
#undef SIXTEEN
    struct machine_operand operand = in_memory(RAX, (int32_t)(copy * code->shape.lanes * size));

    nest_load_extent(code, RCX, (size_t)code->shape.lanes * code->shape.group);
    assemble_single(nest_assembler(code), SINGLE_NEGATE, 8, in_register(RCX));
    assemble_move_address(nest_assembler(code), RAX, size == 4 ? (const void *)&narrow[MOST] : (const void *)&wide[MOST]);
    operand.index = RCX;
    operand.scale = (uint8_t)size;
    assemble_vector(nest_assembler(code), VECTOR_LOAD, code->shape.lanes * size > 16 ? 32 : 16, number, 0, operand);
}

void nest_load_mask(struct nest_code *code, unsigned active, unsigned size, uint8_t number)
{
    uint64_t words[4] = {0};

    if (active >= MASKED) {
        load_open_mask(code, active - MASKED, size, number);
        return;
    }
    memset(words, 0xFF, active * size);
    assemble_vector(nest_assembler(code), VECTOR_LOAD, 32, number, 0, constant_words_operand(nest_assembler(code), words));
}

/* The instruction that loads or stores so many bytes side by side; 0: there is none. */
static unsigned move_code(size_t n_bytes, bool stores)
{
    switch (n_bytes) {
    case 4:
        return stores ? VECTOR_STORE_FLOAT : VECTOR_LOAD_FLOAT;
    case 8:
        return stores ? VECTOR_STORE_DOUBLE : VECTOR_LOAD_DOUBLE;
    case 16:
    case 32:
    case 64:
        return stores ? VECTOR_STORE : VECTOR_LOAD;
    default:
        return 0;
    }
}

/* At most 16 bytes of a row, `at` bytes on from where it begins. */
static void move_piece(struct nest_code *code, struct machine_operand row, int32_t at, size_t n_bytes, uint8_t number,
                       bool stores)
{
    struct assembler *assembler = nest_assembler(code);
    size_t first = n_bytes == 12 ? 8 : n_bytes;

    row.displacement += at;
    assemble_vector(assembler, move_code(first, stores), 16, number, 0, row);
    row.displacement += 8;
    if (first < n_bytes && stores) {
        assemble_vector_with_number(assembler, VECTOR_EXTRACT_4, 16, number, 0, row, 2);
    } else if (first < n_bytes) {
        assemble_vector_with_number(assembler, VECTOR_INSERT_4, 16, number, number, row, 2);
    }
}

/* A row of fewer than 32 bytes, as pieces that there are instructions for: a load waits until all that was stored by a mask is in
 * the cache, and may have what was stored without one earlier. */
static void move_pieces(struct nest_code *code, struct machine_operand row, size_t n_bytes, uint8_t number, bool stores)
{
    struct assembler *assembler = nest_assembler(code);

    move_piece(code, row, 0, n_bytes > 16 ? 16 : n_bytes, number, stores);
    if (n_bytes > 16 && stores) {
        assemble_vector_with_number(assembler, VECTOR_UPPER_HALF, 32, number, 0, in_register(SCRATCH_REAL), 1);
        move_piece(code, row, 16, n_bytes - 16, SCRATCH_REAL, stores);
    } else if (n_bytes > 16) {
        move_piece(code, row, 16, n_bytes - 16, SCRATCH_REAL, stores);
        assemble_vector_with_number(assembler, VECTOR_INSERT_HALF, 32, number, number, in_register(SCRATCH_REAL), 1);
    }
}

/* ------------------------------------------------------------------ loads */

/* Bytes 0 and 1, the lowest of a register or in memory, become masks. */
static void extend_bools(struct nest_code *code, uint8_t number, struct machine_operand bytes)
{
    struct assembler *assembler = nest_assembler(code);
    bool is_wide = code->shape.width == 8;
    unsigned size = nest_vector_size(code, MDF_DTYPE_BOOL);

    assemble_vector(assembler, is_wide ? VECTOR_EXTEND_BYTES_TO_8 : VECTOR_EXTEND_BYTES_TO_4, size, number, 0, bytes);
    assemble_vector(assembler, VECTOR_EXCLUSIVE_OR, 16, SCRATCH_REAL, SCRATCH_REAL, in_register(SCRATCH_REAL));
    assemble_vector(assembler, is_wide ? VECTOR_SUBTRACT_INTS_8 : VECTOR_SUBTRACT_INTS, size, number, SCRATCH_REAL,
                    in_register(number));
}

/* Whether elements have lanes of another size, or are truths in lanes of bytes: numbers of 1 or 2 bytes. */
static bool is_short(const struct nest_code *code, unsigned dtype)
{
    return machine_is_short(dtype) || (dtype == MDF_DTYPE_BOOL && code->shape.width < 4);
}

/* A mask of the lanes that count, to VECTOR_MASK; what is added to a code that moves them. */
static unsigned mask_lanes(struct nest_code *code, unsigned active)
{
    if (active == code->shape.lanes) {
        return 0;
    }
    assemble_move_number(nest_assembler(code), RCX, (UINT64_C(1) << active) - 1);
    assemble_vector(nest_assembler(code), VECTOR_MASK_OF_GENERAL, 16, VECTOR_MASK, 0, in_register(RCX));
    return VECTOR_IS_MASKED | VECTOR_IS_WIDE_SET;
}

/* The instruction that loads a number of 1 or 2 bytes as one of 4, to a general register or, of several, to vectors. */
static unsigned short_load(unsigned dtype)
{
    bool is_byte = mdf_dtype_size((mdf_dtype)dtype) == 1;

    return machine_is_signed(dtype) ? (is_byte ? GENERAL_SIGN_BYTE : GENERAL_SIGN_SHORT)
                                    : (is_byte ? GENERAL_LOAD_BYTE : GENERAL_LOAD_SHORT);
}

static unsigned short_extension(const struct nest_code *code, unsigned dtype)
{
    bool is_byte = mdf_dtype_size((mdf_dtype)dtype) == 1;

    if (mdf_dtype_size((mdf_dtype)dtype) == code->shape.width) {
        return is_byte ? VECTOR_LOAD_BYTES : VECTOR_LOAD_SHORTS;
    }
    if (code->shape.width == 2) {
        return machine_is_signed(dtype) ? VECTOR_EXTEND_BYTES_TO_2 : VECTOR_FILL_BYTES_TO_2;
    }
    return machine_is_signed(dtype) ? (is_byte ? VECTOR_EXTEND_BYTES_TO_4 : VECTOR_EXTEND_SHORTS_TO_4)
                                    : (is_byte ? VECTOR_FILL_BYTES_TO_4 : VECTOR_FILL_SHORTS_TO_4);
}

/* Truths, 0 and 1 in lanes of 1 or 2 bytes, become masks. */
static void make_masks(struct nest_code *code, unsigned dtype, uint8_t number)
{
    struct assembler *assembler = nest_assembler(code);

    if (dtype == MDF_DTYPE_BOOL) {
        assemble_vector(assembler, VECTOR_EXCLUSIVE_OR, 16, SCRATCH_REAL, SCRATCH_REAL, in_register(SCRATCH_REAL));
        assemble_vector(assembler, code->shape.width == 1 ? VECTOR_SUBTRACT_BYTES : VECTOR_SUBTRACT_SHORTS, 32, number,
                        SCRATCH_REAL, in_register(number));
    }
}

/* One by one to lanes of 1 or 2 bytes; `index`: the register that has their places. */
static void load_short_lanes(struct nest_code *code, const struct nest_node *node, uint8_t number, bool has_index)
{
    struct assembler *assembler = nest_assembler(code);
    unsigned per_half = 16 / code->shape.width;

    assemble_vector(assembler, VECTOR_EXCLUSIVE_OR, 16, number, number, in_register(number));
    assemble_vector(assembler, VECTOR_EXCLUSIVE_OR, 16, SCRATCH_REAL, SCRATCH_REAL, in_register(SCRATCH_REAL));
    for (unsigned lane = 0; lane < node->active; lane++) {
        uint8_t target = lane < per_half ? number : SCRATCH_REAL;

        assemble_general(assembler, short_load(node->dtype), 4, RCX,
                         with_index(operand_at(code, &node->place, lane * node->place.lane_bytes), has_index));
        assemble_vector_with_number(assembler, code->shape.width == 1 ? VECTOR_INSERT_BYTE : VECTOR_INSERT_SHORT, 16, target,
                                    target, in_register(RCX), (uint8_t)(lane % per_half));
    }
    if (node->active > per_half) {
        assemble_vector_with_number(assembler, VECTOR_INSERT_HALF, 32, number, number, in_register(SCRATCH_REAL), 1);
    }
    make_masks(code, node->dtype, number);
}

/* Those side by side, of lanes of any size. */
static void load_short_row(struct nest_code *code, const struct nest_node *node, uint8_t number, bool has_index)
{
    struct assembler *assembler = nest_assembler(code);
    size_t n_bytes = node->active * mdf_dtype_size((mdf_dtype)node->dtype);
    bool is_own = mdf_dtype_size((mdf_dtype)node->dtype) == code->shape.width;
    unsigned masked = 0;

    if (is_own && move_code(n_bytes, false) != 0) {
        assemble_vector(assembler, move_code(n_bytes, false), n_bytes >= 32 ? (unsigned)n_bytes : 16, number, 0,
                        with_index(operand_at(code, &node->place, 0), has_index));
    } else {
        if (node->active < code->shape.lanes) {
            masked = mask_lanes(code, node->active) | VECTOR_IS_ZEROED;
        }
        assemble_vector(assembler, short_extension(code, node->dtype) | masked, nest_vector_size(code, node->dtype), number, 0,
                        with_index(operand_at(code, &node->place, 0), has_index));
    }
    make_masks(code, node->dtype, number);
}

static void load_spread(struct nest_code *code, const struct nest_node *node, uint8_t number, bool has_index)
{
    struct assembler *assembler = nest_assembler(code);
    struct machine_operand operand = with_index(operand_at(code, &node->place, 0), has_index);

    if (machine_is_short(node->dtype)) {
        unsigned width = nest_element_size(code, node->dtype);

        assemble_general(assembler, short_load(node->dtype), 4, RCX, operand);
        assemble_vector(assembler, VECTOR_FROM_GENERAL, 16, number, 0, in_register(RCX));
        assemble_vector(assembler,
                        width == 1   ? VECTOR_BROADCAST_1
                        : width == 2 ? VECTOR_BROADCAST_2
                                     : VECTOR_BROADCAST_4,
                        nest_vector_size(code, node->dtype), number, 0, in_register(number));
    } else if (node->dtype == MDF_DTYPE_BOOL) {
        assemble_general(assembler, GENERAL_LOAD_BYTE, 4, RCX, operand);
        assemble_single(assembler, SINGLE_NEGATE, 8, in_register(RCX));
        assemble_vector(assembler, VECTOR_FROM_GENERAL_8, 16, number, 0, in_register(RCX));
        assemble_vector(assembler, VECTOR_BROADCAST_8, nest_widest_size(code), number, 0, in_register(number));
    } else {
        assemble_vector(assembler, nest_element_size(code, node->dtype) == 4 ? VECTOR_BROADCAST_4 : VECTOR_BROADCAST_8,
                        nest_vector_size(code, node->dtype), number, 0, operand);
    }
}

/* Element by element; where `index` is a register, each from a place of its own. */
static void load_lanes(struct nest_code *code, const struct nest_node *node, uint8_t number, uint8_t index, bool has_index)
{
    struct assembler *assembler = nest_assembler(code);
    size_t size = node->dtype == MDF_DTYPE_BOOL ? 1 : nest_element_size(code, node->dtype);
    unsigned per_half = size == 1 ? 8 : (unsigned)(16 / size), lane;
    uint8_t first = size == 1 ? SCRATCH_REAL : number;

    if (is_short(code, node->dtype) && code->shape.width < 4) {
        load_short_lanes(code, node, number, has_index); /* indices are wider: there are none of their own */
        return;
    }
    for (lane = 0; lane < node->active; lane++) {
        uint8_t target = lane < per_half ? first : SCRATCH_REAL;
        struct machine_operand operand;

        if (index != NO_REGISTER) {
            find_index(code, node, index, lane);
        }
        operand = with_index(operand_at(code, &node->place, lane * node->place.lane_bytes), has_index || index != NO_REGISTER);
        if (machine_is_short(node->dtype)) {
            assemble_general(assembler, short_load(node->dtype), 4, RCX, operand);
            operand = in_register(RCX);
        }
        if (size == 1) {
            assemble_vector_with_number(assembler, VECTOR_INSERT_BYTE, 16, target, target, operand, (uint8_t)lane);
        } else if (lane % per_half == 0) {
            assemble_vector(assembler, operand.kind == IN_REGISTER ? VECTOR_FROM_GENERAL : move_code(size, false), 16, target, 0,
                            operand);
        } else {
            assemble_vector_with_number(assembler, size == 4 ? VECTOR_INSERT_4 : VECTOR_INSERT_8, 16, target, target, operand,
                                        (uint8_t)(lane % per_half));
        }
    }
    if (size == 1) {
        extend_bools(code, number, in_register(first));
    } else if (node->active > per_half) {
        assemble_vector_with_number(assembler, VECTOR_INSERT_HALF, 32, number, number, in_register(SCRATCH_REAL), 1);
    }
}

bool nest_gathers(const struct nest_code *code, const struct nest_node *node)
{
    const struct mdf_nest_view *view = &code->nest->steps[node->step].view;
    unsigned lanes = code->shape.lanes, size = (unsigned)mdf_dtype_size((mdf_dtype)node->dtype);
    int64_t scale = view->at_stride * (int64_t)size;

    return node->code == NODE_LOAD && node->n_in > 0 && nest_depends_on_lanes(code, view->at) &&
           node->place.kind == PLACE_LANES && node->active == lanes &&
           (has_narrow_index(code, node) ? size == 4 && lanes <= 8 && lanes >= 4 : lanes == 4) && node->place.lane_bytes == 0 &&
           !node->place.is_cell && node->dtype != MDF_DTYPE_BOOL && !machine_is_short(node->dtype) &&
           (scale == 1 || scale == 2 || scale == 4 || scale == 8);
}

/* Instructions for whole numbers of one size. */
struct index_codes {
    unsigned broadcast, add, equal, greater, signs, to_general, gather_4, gather_8;
};

static const struct index_codes narrow_codes = {.broadcast = VECTOR_BROADCAST_4,
                                                .add = VECTOR_ADD_INTS,
                                                .equal = VECTOR_EQUAL_INTS,
                                                .greater = VECTOR_GREATER_INTS,
                                                .signs = VECTOR_SIGNS_OF_FLOATS,
                                                .to_general = VECTOR_TO_GENERAL,
                                                .gather_4 = VECTOR_GATHER_4_BY_4};
static const struct index_codes wide_codes = {.broadcast = VECTOR_BROADCAST_8,
                                              .add = VECTOR_ADD_INTS_8,
                                              .equal = VECTOR_EQUAL_INTS_8,
                                              .greater = VECTOR_GREATER_INTS_8,
                                              .signs = VECTOR_SIGNS_OF_DOUBLES,
                                              .to_general = VECTOR_TO_GENERAL_8,
                                              .gather_4 = VECTOR_GATHER_4,
                                              .gather_8 = VECTOR_GATHER_8};

/* Loads by the same indices, to registers. */
struct gathered {
    const struct nest_node *nodes[MOST_TOGETHER];
    uint8_t numbers[MOST_TOGETHER];
    size_t n;
};

/* The elements at the indices of a register, where these are neighbours: vectors as any other. Else it goes to a label. */
static void load_neighbours(struct nest_code *code, const struct gathered *gathered, uint8_t index, machine_label apart)
{
    static const uint64_t wide_ahead[4] = {0, 1, 2, 3}, narrow_ahead[4] = {UINT64_C(1) << 32, UINT64_C(3) << 32 | 2,
                                                                           UINT64_C(5) << 32 | 4, UINT64_C(7) << 32 | 6};
    const struct nest_node *first = gathered->nodes[0];
    bool is_narrow = has_narrow_index(code, first);
    const struct index_codes *codes = is_narrow ? &narrow_codes : &wide_codes;
    struct assembler *assembler = nest_assembler(code);
    unsigned lanes = code->shape.lanes, size = (unsigned)mdf_dtype_size((mdf_dtype)first->dtype);
    unsigned index_bytes = lanes * (is_narrow ? 4 : 8);

    assemble_vector(assembler, codes->broadcast, index_bytes, SCRATCH_REAL, 0, in_register(index));
    assemble_vector(assembler, codes->add, index_bytes, SCRATCH_REAL, SCRATCH_REAL,
                    constant_words_operand(assembler, is_narrow ? narrow_ahead : wide_ahead));
    assemble_vector(assembler, codes->equal, index_bytes, SCRATCH_REAL, SCRATCH_REAL, in_register(index));
    assemble_vector(assembler, codes->signs, index_bytes, RAX, 0, in_register(SCRATCH_REAL));
    assemble_with_number(assembler, NUMBER_COMPARE, 4, in_register(RAX), (1 << lanes) - 1);
    assemble_jump_if(assembler, IF_NOT_EQUAL, apart);
    assemble_vector(assembler, codes->to_general, 16, index, 0, in_register(RAX)); /* below 0: above all limits, of 4 bytes too */
    assemble_with_number(assembler, NUMBER_COMPARE, 8, in_register(RAX),
                         (int32_t)(code->nest->steps[first->step].view.at_limit - lanes));
    assemble_jump_if(assembler, IF_ABOVE, apart);
    for (size_t k = 0; k < gathered->n; k++) {
        struct machine_operand operand = operand_at(code, &gathered->nodes[k]->place, 0);

        operand.index = RAX;
        operand.scale = (uint8_t)size;
        assemble_vector(assembler, VECTOR_LOAD, size * lanes, gathered->numbers[k], 0, operand);
    }
}

/* The load of the indices, where they lie side by side in memory, each of 8 bytes, and go to elements of 4; NULL: they do not. */
static const struct nest_node *indices_in_memory(const struct nest_code *code, const struct nest_node *node)
{
    const struct nest_node *load = &code->nodes[node->in[0]];

    return load->code == NODE_LOAD && load->n_in == 0 && load->block == node->block && load->place.kind == PLACE_ROW &&
                   !load->place.is_cell && !load->is_overwritten && load->active == node->active &&
                   load->dtype == MDF_DTYPE_INT64 && mdf_dtype_size((mdf_dtype)node->dtype) == 4
               ? load
               : NULL;
}

/* One element after the other, by indices in memory: that takes less than to take these from a register. */
static void load_apart(struct nest_code *code, const struct gathered *gathered, const struct nest_node *indices)
{
    const struct mdf_nest_view *view = &code->nest->steps[gathered->nodes[0]->step].view;
    struct assembler *assembler = nest_assembler(code);

    for (unsigned lane = 0; lane < code->shape.lanes; lane++) {
        assemble_load(assembler, 8, RAX, operand_at(code, &indices->place, 8 * (int64_t)lane));
        emission_check_index(code->emission, RAX, view->at_limit, machine_any_number);
        for (size_t k = 0; k < gathered->n; k++) {
            struct machine_operand operand = operand_at(code, &gathered->nodes[k]->place, 0);
            uint8_t number = gathered->numbers[k];

            operand.index = RAX;
            operand.scale = (uint8_t)(view->at_stride * 4);
            if (lane == 0) {
                assemble_vector(assembler, VECTOR_LOAD_FLOAT, 16, number, 0, operand);
            } else {
                assemble_vector_with_number(assembler, VECTOR_INSERT_FLOAT, 16, number, number, operand, (uint8_t)(lane << 4));
            }
        }
    }
}

/* The elements at the indices of a register; where one is not there, it bails out. */
static void gather(struct nest_code *code, const struct gathered *gathered, uint8_t index)
{
    const struct nest_node *first = gathered->nodes[0];
    const struct mdf_nest_view *view = &code->nest->steps[first->step].view;
    bool is_narrow = has_narrow_index(code, first);
    const struct index_codes *codes = is_narrow ? &narrow_codes : &wide_codes;
    struct assembler *assembler = nest_assembler(code);
    unsigned lanes = code->shape.lanes, size = (unsigned)mdf_dtype_size((mdf_dtype)first->dtype);
    unsigned index_size = is_narrow ? 4 : 8, bytes = lanes * index_size;
    const struct nest_node *in_memory = view->at_limit <= INT32_MAX ? indices_in_memory(code, first) : NULL;
    machine_label apart = new_label(assembler), done = new_label(assembler);

    if (view->at_stride == 1 && view->at_limit >= lanes && view->at_limit <= INT32_MAX) {
        load_neighbours(code, gathered, index, apart);
        assemble_jump(assembler, done);
    }
    bind_label(assembler, apart);
    if (in_memory != NULL) {
        load_apart(code, gathered, in_memory);
        bind_label(assembler, done);
        return;
    }
    /* those below 0 count from the end */
    assemble_vector(assembler, VECTOR_EXCLUSIVE_OR, bytes, SCRATCH_REAL, SCRATCH_REAL, in_register(SCRATCH_REAL));
    assemble_vector(assembler, codes->greater, bytes, SCRATCH_REAL, SCRATCH_REAL, in_register(index));
    assemble_vector(assembler, VECTOR_AND, bytes, SCRATCH_REAL, SCRATCH_REAL,
                    constant_operand(assembler, (uint64_t)view->at_limit, index_size));
    assemble_vector(assembler, codes->add, bytes, SCRATCH_REAL, SCRATCH_REAL, in_register(index));
    assemble_vector(assembler, codes->greater, bytes, SECOND_SCRATCH_REAL, SCRATCH_REAL,
                    constant_operand(assembler, (uint64_t)view->at_limit - 1, index_size));
    assemble_vector(assembler, VECTOR_OR, bytes, SECOND_SCRATCH_REAL, SECOND_SCRATCH_REAL, in_register(SCRATCH_REAL));
    assemble_vector(assembler, codes->signs, bytes, RAX, 0, in_register(SECOND_SCRATCH_REAL));
    assemble_general(assembler, GENERAL_TEST, 4, RAX, in_register(RAX));
    assemble_jump_if(assembler, IF_NOT_EQUAL, code->emission->bail_out);
    for (size_t k = 0; k < gathered->n; k++) {
        struct machine_operand operand = operand_at(code, &gathered->nodes[k]->place, 0);

        operand.index = SCRATCH_REAL;
        operand.scale = (uint8_t)(view->at_stride * (int64_t)size);
        assemble_vector(assembler, VECTOR_EQUAL_INTS, bytes, SECOND_SCRATCH_REAL, SECOND_SCRATCH_REAL,
                        in_register(SECOND_SCRATCH_REAL));
        assemble_vector(assembler, size == 4 ? codes->gather_4 : codes->gather_8, bytes, gathered->numbers[k],
                        SECOND_SCRATCH_REAL, operand);
    }
    bind_label(assembler, done);
}

static void load_row(struct nest_code *code, const struct nest_node *node, uint8_t number, bool has_index)
{
    struct assembler *assembler = nest_assembler(code);
    size_t size = mdf_dtype_size((mdf_dtype)node->dtype), n_bytes = node->active >= MASKED ? 0 : node->active * size;

    if (is_short(code, node->dtype) && code->shape.lanes > 1 &&
        (node->active == code->shape.lanes || mdf_has_avx512() ||
         (size == code->shape.width && move_code(n_bytes, false) != 0))) {
        load_short_row(code, node, number, has_index);
    } else if (size < 4 && (code->shape.lanes == 1 || node->active < code->shape.lanes)) {
        load_lanes(code, node, number, NO_REGISTER, has_index);
    } else if (size == 1) {
        extend_bools(code, number, with_index(operand_at(code, &node->place, 0), has_index));
    } else if (move_code(n_bytes, false) != 0) {
        assemble_vector(assembler, move_code(n_bytes, false), n_bytes >= 32 ? (unsigned)n_bytes : 16, number, 0,
                        with_index(operand_at(code, &node->place, 0), has_index));
    } else if (n_bytes > 0) {
        move_pieces(code, with_index(operand_at(code, &node->place, 0), has_index), n_bytes, number, false);
    } else {
        nest_load_mask(code, node->active, (unsigned)size, SCRATCH_REAL);
        assemble_vector(assembler, size == 4 ? VECTOR_LOAD_MASKED_4 : VECTOR_LOAD_MASKED_8, nest_vector_size(code, node->dtype),
                        number, SCRATCH_REAL, with_index(operand_at(code, &node->place, 0), has_index));
    }
}

void nest_load(struct nest_code *code, const struct nest_node *node, uint8_t number, uint8_t index)
{
    bool is_varied = false;

    if (node->n_in > 0) {
        const struct mdf_nest_step *step = &code->nest->steps[node->step];

        is_varied = (code->steps[step->view.at].axes >> code->shape.vector_axis & 1) != 0;
        if (!is_varied) {
            find_index(code, node, index, 0);
        }
    }
    if (node->place.kind == PLACE_SPREAD) {
        load_spread(code, node, number, node->n_in > 0);
    } else if (node->place.kind == PLACE_ROW) {
        load_row(code, node, number, node->n_in > 0);
    } else if (nest_gathers(code, node)) {
        gather(code, &(const struct gathered){.nodes = {node}, .numbers = {number}, .n = 1}, index);
    } else {
        load_lanes(code, node, number, is_varied ? index : NO_REGISTER, node->n_in > 0);
    }
}

/* ------------------------------------------------------------------ rows that are turned */

/* 16 bytes of one lane, or 8 of each of two. */
static void load_part(struct nest_code *code, const struct nest_place *place, unsigned lane, bool is_whole, uint8_t number)
{
    struct assembler *assembler = nest_assembler(code);

    if (is_whole) {
        assemble_vector(assembler, VECTOR_LOAD, 16, number, 0, operand_at(code, place, lane * place->lane_bytes));
        return;
    }
    assemble_vector(assembler, VECTOR_LOAD_DOUBLE, 16, number, 0, operand_at(code, place, lane * place->lane_bytes));
    assemble_vector(assembler, VECTOR_LOAD_UPPER, 16, number, number, operand_at(code, place, (lane + 1) * place->lane_bytes));
}

/* Such a part in each half of the register: the upper one's are so many lanes on as a half has. `free` changes. */
static void load_parts(struct nest_code *code, const struct nest_node *node, unsigned lane, bool is_whole, uint8_t number,
                       uint8_t free)
{
    const struct nest_place *place = &node->place;
    unsigned upper = lane + code->shape.lanes / 2;

    load_part(code, place, lane, is_whole, number);
    if (nest_vector_size(code, node->dtype) == 32 && is_whole) {
        assemble_vector_with_number(nest_assembler(code), VECTOR_INSERT_HALF, 32, number, number,
                                    operand_at(code, place, upper * place->lane_bytes), 1);
    } else if (nest_vector_size(code, node->dtype) == 32) {
        load_part(code, place, upper, is_whole, free);
        assemble_vector_with_number(nest_assembler(code), VECTOR_INSERT_HALF, 32, number, number, in_register(free), 1);
    }
}

/* The first and the second of each two elements of `a` and `b`, in turn, of 8 bytes each: to two registers, which may be these.
 */
static void interleave_pairs(struct nest_code *code, unsigned size, uint8_t a, uint8_t b, uint8_t first, uint8_t second)
{
    assemble_vector(nest_assembler(code), VECTOR_INTERLEAVE_LOWER | OF_DOUBLES, size, first, a, in_register(b));
    assemble_vector(nest_assembler(code), VECTOR_INTERLEAVE_UPPER | OF_DOUBLES, size, second, a, in_register(b));
}

/* Four elements of 4 bytes of each lane. */
static void load_four(struct nest_code *code, const struct nest_node *node, unsigned size, const uint8_t *to)
{
    struct assembler *assembler = nest_assembler(code);

    load_parts(code, node, 0, true, SCRATCH_REAL, SCRATCH_REAL);
    load_parts(code, node, 1, true, to[0], to[0]);
    assemble_vector(assembler, VECTOR_INTERLEAVE_UPPER, size, to[2], SCRATCH_REAL, in_register(to[0]));
    assemble_vector(assembler, VECTOR_INTERLEAVE_LOWER, size, SCRATCH_REAL, SCRATCH_REAL, in_register(to[0]));
    load_parts(code, node, 2, true, to[1], to[1]);
    load_parts(code, node, 3, true, to[0], to[0]);
    assemble_vector(assembler, VECTOR_INTERLEAVE_UPPER, size, to[3], to[1], in_register(to[0]));
    assemble_vector(assembler, VECTOR_INTERLEAVE_LOWER, size, to[1], to[1], in_register(to[0]));
    interleave_pairs(code, size, SCRATCH_REAL, to[1], to[0], to[1]);
    assemble_vector(assembler, VECTOR_MOVE, size, SCRATCH_REAL, 0, in_register(to[2]));
    interleave_pairs(code, size, SCRATCH_REAL, to[3], to[2], to[3]);
}

static void load_turned(struct nest_code *code, const struct nest_node *first)
{
    const struct nest_node *node = &code->nodes[first->together[0]];
    struct assembler *assembler = nest_assembler(code);
    bool is_wide = mdf_dtype_size((mdf_dtype)node->dtype) == 8;
    unsigned size = nest_vector_size(code, node->dtype);
    uint8_t to[MOST_TOGETHER];

    for (size_t i = 0; i < first->n_together; i++) {
        to[i] = code->nodes[first->together[i]].number;
    }
    if (first->n_together == 4) {
        load_four(code, node, size, to);
        return;
    }
    load_parts(code, node, 0, is_wide, SCRATCH_REAL, to[0]);
    load_parts(code, node, is_wide ? 1 : 2, is_wide, to[1], to[0]);
    if (is_wide) {
        interleave_pairs(code, size, SCRATCH_REAL, to[1], to[0], to[1]);
    } else {
        assemble_vector_with_number(assembler, VECTOR_SHUFFLE_FLOATS, size, to[0], SCRATCH_REAL, in_register(to[1]), 0x88);
        assemble_vector_with_number(assembler, VECTOR_SHUFFLE_FLOATS, size, to[1], SCRATCH_REAL, in_register(to[1]), 0xDD);
    }
}

void nest_load_together(struct nest_code *code, const struct nest_node *first, uint8_t index)
{
    struct gathered gathered = {.n = first->n_together};

    if (index == NO_REGISTER) {
        load_turned(code, first);
        return;
    }
    for (size_t i = 0; i < gathered.n; i++) {
        gathered.nodes[i] = &code->nodes[first->together[i]];
        gathered.numbers[i] = gathered.nodes[i]->number;
    }
    gather(code, &gathered, index);
}

void nest_load_bits(struct nest_code *code, uint64_t bits, unsigned size, uint8_t number)
{
    if (bits == 0) {
        assemble_vector(nest_assembler(code), VECTOR_EXCLUSIVE_OR, 16, number, number, in_register(number));
    } else if (nest_widest_size(code) == 64) {
        assemble_vector(nest_assembler(code), size == 4 ? VECTOR_BROADCAST_4 : VECTOR_BROADCAST_8, 64, number, 0,
                        constant_operand(nest_assembler(code), bits, size));
    } else {
        assemble_vector(nest_assembler(code), VECTOR_LOAD, 32, number, 0, constant_operand(nest_assembler(code), bits, size));
    }
}

void nest_load_number(struct nest_code *code, const struct nest_node *node, uint8_t number)
{
    uint64_t bits = emission_lane_constant(code->emission, node->constant);
    bool is_bool = node->dtype == MDF_DTYPE_BOOL;

    nest_load_bits(code, is_bool && bits != 0 ? UINT64_MAX : bits, is_bool ? 8 : nest_element_size(code, node->dtype), number);
}

/* ------------------------------------------------------------------ stores */

static void store_lanes(struct nest_code *code, const struct nest_node *node, uint8_t number)
{
    struct assembler *assembler = nest_assembler(code);
    size_t size = node->dtype == MDF_DTYPE_BOOL ? 1 : nest_element_size(code, node->dtype);
    unsigned per_half = size == 1 ? 16 : (unsigned)(16 / size), lane;

    for (lane = 0; lane < node->active; lane++) {
        struct machine_operand operand = operand_at(code, &node->place, lane * node->place.lane_bytes);

        if (lane == per_half) {
            assemble_vector_with_number(assembler, VECTOR_UPPER_HALF, 32, number, 0, in_register(SCRATCH_REAL), 1);
            number = SCRATCH_REAL;
        }
        if (machine_is_short(node->dtype)) {
            assemble_vector_with_number(assembler, VECTOR_EXTRACT_4, 16, number, 0, in_register(RAX), (uint8_t)(lane % per_half));
            assemble_store(assembler, (unsigned)mdf_dtype_size((mdf_dtype)node->dtype), RAX, operand);
        } else if (size == 1) {
            assemble_vector_with_number(assembler, VECTOR_STORE_BYTE, 16, number, 0, operand, (uint8_t)lane);
        } else if (lane % per_half == 0) {
            assemble_vector(assembler, move_code(size, true), 16, number, 0, operand);
        } else {
            assemble_vector_with_number(assembler, size == 4 ? VECTOR_EXTRACT_4 : VECTOR_EXTRACT_8, 16, number, 0, operand,
                                        (uint8_t)(lane % per_half));
        }
    }
}

/* One by one, of lanes of 1 or 2 bytes. */
static void store_short_lanes(struct nest_code *code, const struct nest_node *node, uint8_t number)
{
    struct assembler *assembler = nest_assembler(code);
    unsigned per_half = 16 / code->shape.width;

    for (unsigned lane = 0; lane < node->active; lane++) {
        struct machine_operand operand = operand_at(code, &node->place, lane * node->place.lane_bytes);

        if (lane == per_half) {
            assemble_vector_with_number(assembler, VECTOR_UPPER_HALF, 32, number, 0, in_register(SCRATCH_REAL), 1);
            number = SCRATCH_REAL;
        }
        assemble_vector_with_number(assembler, code->shape.width == 1 ? VECTOR_STORE_BYTE : VECTOR_STORE_SHORT, 16, number, 0,
                                    in_register(RAX), (uint8_t)(lane % per_half));
        assemble_store(assembler, (unsigned)mdf_dtype_size((mdf_dtype)node->dtype), RAX, operand);
    }
}

/* The instruction of AVX-512 that stores the low bytes of each lane. */
static unsigned short_store(const struct nest_code *code, unsigned dtype)
{
    bool is_byte = mdf_dtype_size((mdf_dtype)dtype) == 1;

    return mdf_dtype_size((mdf_dtype)dtype) == code->shape.width ? (is_byte ? VECTOR_STORE_BYTES : VECTOR_STORE_SHORTS)
           : code->shape.width == 2                              ? VECTOR_BYTES_OF_SHORTS
           : is_byte                                             ? VECTOR_BYTES_OF_INTS
                                                                 : VECTOR_SHORTS_OF_INTS;
}

/* Numbers of 1 or 2 bytes, or truths in such lanes. */
static void store_short(struct nest_code *code, const struct nest_node *node, uint8_t number)
{
    struct assembler *assembler = nest_assembler(code);
    struct packed packed = {.assembler = assembler, .lanes = code->shape.lanes, .width = code->shape.width};
    size_t n_bytes = node->active * mdf_dtype_size((mdf_dtype)node->dtype);
    bool is_own = mdf_dtype_size((mdf_dtype)node->dtype) == nest_element_size(code, node->dtype);
    bool is_row = node->place.kind != PLACE_LANES && code->shape.lanes > 1;

    if (node->dtype == MDF_DTYPE_BOOL) { /* of masks */
        assemble_vector(assembler, code->shape.width == 1 ? VECTOR_ABSOLUTE_BYTES : VECTOR_ABSOLUTE_SHORTS, 32, SCRATCH_REAL, 0,
                        in_register(number));
        number = SCRATCH_REAL;
    }
    if (is_row && is_own && move_code(n_bytes, true) != 0) {
        assemble_vector(assembler, move_code(n_bytes, true), n_bytes >= 32 ? (unsigned)n_bytes : 16, number, 0,
                        operand_at(code, &node->place, 0));
    } else if (is_row && mdf_has_avx512()) {
        unsigned masked = mask_lanes(code, node->active);

        assemble_vector(assembler, short_store(code, node->dtype) | masked, nest_vector_size(code, node->dtype), number, 0,
                        operand_at(code, &node->place, 0));
    } else if (is_row && move_code(n_bytes, true) != 0) {
        packed_make_short(&packed, node->dtype, number);
        assemble_vector(assembler, move_code(n_bytes, true), n_bytes >= 32 ? (unsigned)n_bytes : 16, SCRATCH_REAL, 0,
                        operand_at(code, &node->place, 0));
    } else if (code->shape.width < 4) {
        store_short_lanes(code, node, number);
    } else {
        store_lanes(code, node, number);
    }
}

void nest_store(struct nest_code *code, const struct nest_node *node, uint8_t number)
{
    struct assembler *assembler = nest_assembler(code);
    size_t size = mdf_dtype_size((mdf_dtype)node->dtype), n_bytes = node->active >= MASKED ? 0 : node->active * size * node->n_in;

    struct packed packed = {.assembler = assembler, .lanes = code->shape.lanes, .width = code->shape.width};

    if (is_short(code, node->dtype)) {
        store_short(code, node, number);
        return;
    }
    if (node->dtype == MDF_DTYPE_BOOL) {
        packed_make_bytes(&packed, number);
        number = SCRATCH_REAL;
    }
    if (node->place.kind == PLACE_LANES || move_code(n_bytes, true) == 0) {
        if (node->place.kind == PLACE_LANES || size < 4) {
            store_lanes(code, node, number);
            return;
        }
        if (n_bytes > 0) {
            move_pieces(code, operand_at(code, &node->place, 0), n_bytes, number, true);
            return;
        }
        nest_load_mask(code, node->active, (unsigned)size, SCRATCH_REAL);
        assemble_vector(assembler, size == 4 ? VECTOR_STORE_MASKED_4 : VECTOR_STORE_MASKED_8, nest_vector_size(code, node->dtype),
                        number, SCRATCH_REAL, operand_at(code, &node->place, 0));
        return;
    }
    assemble_vector(assembler, move_code(n_bytes, true), n_bytes >= 32 ? (unsigned)n_bytes : 16, number, 0,
                    operand_at(code, &node->place, 0));
}
