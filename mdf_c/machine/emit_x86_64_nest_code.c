/* emit_x86_64_nest_code.c - see emit_x86_64_nest.h. Nodes become instructions. rax and rcx are free within a node, as are the
 * vector registers from 13 on, as far as they are not given away; where values have no registers, two or four more are free,
 * behind the ones that are given away. */
#include "mdf_c/lowered/lowered_run.h"
#include "mdf_c/machine/emit_x86_64_nest.h"

#include <math.h>
#include <string.h>

enum { N_SAVED = 4, WORDS = MOST_POINTERS + MDF_NEST_MOST_AXES + 1 + N_SAVED };

static const uint8_t saved_registers[N_SAVED] = {R12, R13, R14, R15};

/* ------------------------------------------------------------------ memory: slots, words, rows */

static struct machine_operand slot_of(const struct nest_node *node)
{
    return in_memory(ITEM_MEMORY, (int32_t)(NEST_SLOT * node->slot));
}

static struct machine_operand word_of(const struct nest_code *code, size_t word)
{
    return in_memory(ITEM_MEMORY, (int32_t)(NEST_SLOT * code->n_slots + 8 * word));
}

static size_t rows_begin(const struct nest_code *code)
{
    return NEST_SLOT * code->n_slots + (8 * WORDS + NEST_SLOT - 1) / NEST_SLOT * NEST_SLOT;
}

size_t nest_memory_bytes(const struct nest_code *code)
{
    return rows_begin(code) + code->row_bytes;
}

static struct assembler *assembler_of(struct nest_code *code)
{
    return code->emission->assembler;
}

static unsigned element_size(const struct nest_code *code, unsigned dtype)
{
    return dtype == MDF_DTYPE_BOOL ? code->shape.width : (unsigned)mdf_dtype_size((mdf_dtype)dtype);
}

/* Of a register that has values of a type. */
static unsigned vector_size(const struct nest_code *code, unsigned dtype)
{
    return code->shape.lanes * element_size(code, dtype) > 16 ? 32 : 16;
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
        return in_memory(ITEM_MEMORY, (int32_t)(rows_begin(code) + pointer->offset) + displacement);
    }
    if (pointer->number != NO_REGISTER) {
        return in_memory(pointer->number, displacement);
    }
    assemble_load(assembler_of(code), 8, RCX, word_of(code, place->pointer));
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

/* Brings the bytes that a lane of an index stands for to rax, or bails out. */
static void find_index(struct nest_code *code, const struct nest_node *node, uint8_t number, unsigned lane)
{
    const struct mdf_nest_view *view = &code->nest->steps[node->step].view;
    struct assembler *assembler = assembler_of(code);
    machine_label done = new_label(assembler);
    size_t size = mdf_dtype_size((mdf_dtype)node->dtype);

    if (lane >= 2) {
        assemble_vector_with_number(assembler, VECTOR_UPPER_HALF, 32, number, 0, in_register(SECOND_SCRATCH_REAL), 1);
        number = SECOND_SCRATCH_REAL;
    }
    if (lane % 2 == 0) {
        assemble_vector(assembler, VECTOR_TO_GENERAL_8, 16, number, 0, in_register(RAX));
    } else {
        assemble_vector_with_number(assembler, VECTOR_EXTRACT_8, 16, number, 0, in_register(RAX), 1);
    }
    assemble_general(assembler, GENERAL_TEST, 8, RAX, in_register(RAX));
    assemble_jump_if(assembler, IF_NOT_NEGATIVE, done);
    assemble_with_number(assembler, NUMBER_ADD, 8, in_register(RAX), (int32_t)view->at_limit);
    bind_label(assembler, done);
    assemble_with_number(assembler, NUMBER_COMPARE, 8, in_register(RAX), (int32_t)view->at_limit);
    assemble_jump_if(assembler, IF_ABOVE_OR_EQUAL, code->emission->bail_out);
    assemble_multiply_by(assembler, 8, RAX, in_register(RAX), (int32_t)(view->at_stride * (int64_t)size));
}

/* ------------------------------------------------------------------ masks of the first lanes */

static void load_mask(struct nest_code *code, unsigned active, unsigned size, uint8_t number)
{
    uint64_t words[4] = {0};

    memset(words, 0xFF, active * size);
    assemble_vector(assembler_of(code), VECTOR_LOAD, 32, number, 0, constant_words_operand(assembler_of(code), words));
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
        return stores ? VECTOR_STORE : VECTOR_LOAD;
    default:
        return 0;
    }
}

/* ------------------------------------------------------------------ loads */

/* Bytes 0 and 1, the lowest of a register or in memory, become masks. */
static void extend_bools(struct nest_code *code, uint8_t number, struct machine_operand bytes)
{
    struct assembler *assembler = assembler_of(code);
    bool is_wide = code->shape.width == 8;
    unsigned size = vector_size(code, MDF_DTYPE_BOOL);

    assemble_vector(assembler, is_wide ? VECTOR_EXTEND_BYTES_TO_8 : VECTOR_EXTEND_BYTES_TO_4, size, number, 0, bytes);
    assemble_vector(assembler, VECTOR_EXCLUSIVE_OR, 16, SCRATCH_REAL, SCRATCH_REAL, in_register(SCRATCH_REAL));
    assemble_vector(assembler, is_wide ? VECTOR_SUBTRACT_INTS_8 : VECTOR_SUBTRACT_INTS, size, number, SCRATCH_REAL,
                    in_register(number));
}

static void load_spread(struct nest_code *code, const struct nest_node *node, uint8_t number, bool has_index)
{
    struct assembler *assembler = assembler_of(code);
    struct machine_operand operand = with_index(operand_at(code, &node->place, 0), has_index);

    if (node->dtype == MDF_DTYPE_BOOL) {
        assemble_general(assembler, GENERAL_LOAD_BYTE, 4, RCX, operand);
        assemble_single(assembler, SINGLE_NEGATE, 8, in_register(RCX));
        assemble_vector(assembler, VECTOR_FROM_GENERAL_8, 16, number, 0, in_register(RCX));
        assemble_vector(assembler, VECTOR_BROADCAST_8, 32, number, 0, in_register(number));
    } else {
        assemble_vector(assembler, element_size(code, node->dtype) == 4 ? VECTOR_BROADCAST_4 : VECTOR_BROADCAST_8,
                        vector_size(code, node->dtype), number, 0, operand);
    }
}

/* Element by element; where `index` is a register, each from a place of its own. */
static void load_lanes(struct nest_code *code, const struct nest_node *node, uint8_t number, uint8_t index, bool has_index)
{
    struct assembler *assembler = assembler_of(code);
    size_t size = mdf_dtype_size((mdf_dtype)node->dtype);
    unsigned per_half = size == 1 ? 8 : (unsigned)(16 / size), lane;
    uint8_t first = size == 1 ? SCRATCH_REAL : number;

    for (lane = 0; lane < node->active; lane++) {
        uint8_t target = lane < per_half ? first : SCRATCH_REAL;
        struct machine_operand operand;

        if (index != NO_REGISTER) {
            find_index(code, node, index, lane);
        }
        operand = with_index(operand_at(code, &node->place, lane * node->place.lane_bytes), has_index || index != NO_REGISTER);
        if (size == 1) {
            assemble_vector_with_number(assembler, VECTOR_INSERT_BYTE, 16, target, target, operand, (uint8_t)lane);
        } else if (lane % per_half == 0) {
            assemble_vector(assembler, move_code(size, false), 16, target, 0, operand);
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

static void load_row(struct nest_code *code, const struct nest_node *node, uint8_t number, bool has_index)
{
    struct assembler *assembler = assembler_of(code);
    size_t size = mdf_dtype_size((mdf_dtype)node->dtype), n_bytes = node->active * size;

    if (size == 1 && (code->shape.lanes == 1 || node->active < code->shape.lanes)) {
        load_lanes(code, node, number, NO_REGISTER, has_index);
    } else if (size == 1) {
        extend_bools(code, number, with_index(operand_at(code, &node->place, 0), has_index));
    } else if (move_code(n_bytes, false) != 0) {
        assemble_vector(assembler, move_code(n_bytes, false), n_bytes == 32 ? 32 : 16, number, 0,
                        with_index(operand_at(code, &node->place, 0), has_index));
    } else {
        load_mask(code, node->active, (unsigned)size, SCRATCH_REAL);
        assemble_vector(assembler, size == 4 ? VECTOR_LOAD_MASKED_4 : VECTOR_LOAD_MASKED_8, vector_size(code, node->dtype),
                        number, SCRATCH_REAL, with_index(operand_at(code, &node->place, 0), has_index));
    }
}

/* `index`: the register that has the node's index, if it has one. */
static void load(struct nest_code *code, const struct nest_node *node, uint8_t number, uint8_t index)
{
    bool is_varied = false;

    if (node->n_in > 0) {
        const struct mdf_nest_step *step = &code->nest->steps[node->step];

        is_varied = (code->axes[step->view.at] >> code->shape.vector_axis & 1) != 0;
        if (!is_varied) {
            find_index(code, node, index, 0);
        }
    }
    if (node->place.kind == PLACE_SPREAD) {
        load_spread(code, node, number, node->n_in > 0);
    } else if (node->place.kind == PLACE_ROW) {
        load_row(code, node, number, node->n_in > 0);
    } else {
        load_lanes(code, node, number, is_varied ? index : NO_REGISTER, node->n_in > 0);
    }
}

static void load_bits(struct nest_code *code, uint64_t bits, unsigned size, uint8_t number)
{
    if (bits == 0) {
        assemble_vector(assembler_of(code), VECTOR_EXCLUSIVE_OR, 16, number, number, in_register(number));
    } else {
        assemble_vector(assembler_of(code), VECTOR_LOAD, 32, number, 0, constant_operand(assembler_of(code), bits, size));
    }
}

static void load_number(struct nest_code *code, const struct nest_node *node, uint8_t number)
{
    uint64_t bits = emission_constant(code->emission, node->constant);
    bool is_bool = node->dtype == MDF_DTYPE_BOOL;

    load_bits(code, is_bool && bits != 0 ? UINT64_MAX : bits, is_bool ? 8 : (unsigned)mdf_dtype_size((mdf_dtype)node->dtype),
              number);
}

/* ------------------------------------------------------------------ operands and results */

/* The register that has operand number `k`: its own, or one that is free for this node. */
static uint8_t operand_register(struct nest_code *code, const struct nest_node *node, size_t k)
{
    const struct nest_node *operand = &code->nodes[node->in[k]];
    uint8_t number = (uint8_t)(code->n_registers + k);

    if (!operand->is_spilled) {
        return operand->number;
    }
    if (operand->code == NODE_NUMBER) {
        load_number(code, operand, number);
    } else if (nest_is_loaded_again(operand)) {
        load(code, operand, number, NO_REGISTER);
    } else {
        assemble_vector(assembler_of(code), VECTOR_LOAD, 32, number, 0, slot_of(operand));
    }
    return number;
}

static uint8_t target_register(const struct nest_code *code, const struct nest_node *node)
{
    /* It may be that of the first operand, unless that is read again and again: an index. */
    return node->is_spilled ? (uint8_t)(code->n_registers + (node->code == NODE_LOAD ? 1 : 0)) : node->number;
}

static void write_back(struct nest_code *code, const struct nest_node *node, uint8_t number)
{
    if (node->is_spilled) {
        assemble_vector(assembler_of(code), VECTOR_STORE, 32, number, 0, slot_of(node));
    }
}

/* ------------------------------------------------------------------ elements */

/* An element op on registers, by the emitter of groups. `constants` may be NULL: which operands are constants. */
static void emit_element(struct nest_code *code, enum mdf_lowered_code element, unsigned dtype, unsigned result, size_t n_in,
                         const uint8_t *registers, const mdf_lowered_id *constants, uint8_t target, unsigned active)
{
    struct mdf_lowered_op op = {.code = (uint8_t)element, .dtype = (uint8_t)dtype, .n_in = (uint8_t)n_in};
    struct packed_item items[MDF_MAX_OPERANDS + 1] = {{0}};
    struct packed_op packed_op = {.op = &op, .in = {0, 1, 2}, .out = MDF_MAX_OPERANDS};
    struct packed packed = {.emission = code->emission,
                            .assembler = assembler_of(code),
                            .lanes = code->shape.lanes,
                            .width = code->shape.width,
                            .active = active,
                            .items = items,
                            .n_items = MDF_MAX_OPERANDS + 1,
                            .ops = &packed_op,
                            .n_ops = 1};
    size_t k;

    memset(packed.in_registers, 0xFF, sizeof packed.in_registers);
    for (k = 0; k <= MDF_MAX_OPERANDS; k++) {
        bool is_condition = element == MDF_LOWERED_SELECT && k == 0, is_result = k == MDF_MAX_OPERANDS;
        struct packed_item *item = &items[k];

        if (!is_result && k >= n_in) {
            continue;
        }
        item->dtype = (uint8_t)(is_result ? result : is_condition ? MDF_DTYPE_BOOL : dtype);
        item->is_bool = item->dtype == MDF_DTYPE_BOOL;
        item->size = (uint8_t)element_size(code, item->dtype);
        item->number = is_result ? target : registers[k];
        item->kind = ITEM_MADE;
        if (!is_result && constants != NULL && constants[k] != MDF_LOWERED_NONE) {
            item->kind = ITEM_CONSTANT;
            item->id = constants[k];
        }
    }
    packed_emit_op(&packed);
}

/* Whether the second operand may be read from memory. */
static bool reads_memory(unsigned element)
{
    return element == MDF_LOWERED_ADD || element == MDF_LOWERED_SUBTRACT || element == MDF_LOWERED_MULTIPLY ||
           element == MDF_LOWERED_DIVIDE;
}

static void emit_step(struct nest_code *code, const struct nest_node *node)
{
    const struct mdf_nest_step *step = &code->nest->steps[node->step];
    bool is_real = step->operand_dtype == MDF_DTYPE_FLOAT32 || step->operand_dtype == MDF_DTYPE_FLOAT64;
    mdf_lowered_id constants[MDF_MAX_OPERANDS];
    uint8_t registers[MDF_MAX_OPERANDS] = {0}, target = target_register(code, node);
    size_t k;

    for (k = 0; k < node->n_in; k++) {
        const struct nest_node *operand = &code->nodes[node->in[k]];

        constants[k] = operand->code == NODE_NUMBER ? operand->constant : MDF_LOWERED_NONE;
        if (operand->code == NODE_NUMBER && operand->is_spilled && k == 1 && is_real && reads_memory(step->code)) {
            registers[k] = NO_REGISTER;
        } else {
            registers[k] = operand_register(code, node, k);
        }
    }
    emit_element(code, (enum mdf_lowered_code)step->code, step->operand_dtype, step->dtype, node->n_in, registers, constants,
                 target, node->active);
    write_back(code, node, target);
}

/* ------------------------------------------------------------------ folds */

static uint64_t bits_of(unsigned dtype, double real, int64_t whole)
{
    float single = (float)real;
    uint64_t bits = 0;

    if (dtype == MDF_DTYPE_FLOAT32) {
        memcpy(&bits, &single, sizeof single);
    } else if (dtype == MDF_DTYPE_FLOAT64) {
        memcpy(&bits, &real, sizeof real);
    } else {
        bits = dtype == MDF_DTYPE_INT32 ? (uint32_t)whole : (uint64_t)whole;
    }
    return bits;
}

static uint64_t beginning_of(unsigned fold, unsigned dtype)
{
    bool is_long = dtype == MDF_DTYPE_INT64;

    switch ((enum mdf_nest_fold)fold) {
    case MDF_NEST_PRODUCT:
        return bits_of(dtype, 1, 1);
    case MDF_NEST_MAXIMUM:
    case MDF_NEST_FIRST_MAXIMUM:
    case MDF_NEST_LAST_MAXIMUM:
        return bits_of(dtype, -INFINITY, is_long ? INT64_MIN : INT32_MIN);
    case MDF_NEST_MINIMUM:
    case MDF_NEST_FIRST_MINIMUM:
    case MDF_NEST_LAST_MINIMUM:
        return bits_of(dtype, INFINITY, is_long ? INT64_MAX : INT32_MAX);
    case MDF_NEST_SUM:
    case N_MDF_NEST_FOLDS:
        break;
    }
    return 0;
}

static void emit_total(struct nest_code *code, const struct nest_node *node)
{
    const struct mdf_nest_step *step = &code->nest->steps[node->step];
    uint8_t target = target_register(code, node);

    load_bits(code, node->is_index ? 0 : beginning_of(step->fold, node->dtype), (unsigned)mdf_dtype_size((mdf_dtype)node->dtype),
              target);
    write_back(code, node, target);
}

/* The greater (or lesser) of the total and the element: x > t || x != x ? x : t. */
static void emit_extreme(struct nest_code *code, bool is_maximum, unsigned dtype, uint8_t total, uint8_t element, uint8_t target)
{
    struct assembler *assembler = assembler_of(code);
    unsigned size = vector_size(code, dtype);
    bool is_float = dtype == MDF_DTYPE_FLOAT32;
    unsigned kind = is_float ? OF_FLOATS : OF_DOUBLES;

    if (dtype == MDF_DTYPE_INT32) {
        assemble_vector(assembler, is_maximum ? VECTOR_MAXIMUM_INTS : VECTOR_MINIMUM_INTS, size, target, total,
                        in_register(element));
        return;
    }
    if (dtype == MDF_DTYPE_INT64) {
        assemble_vector(assembler, VECTOR_GREATER_INTS_8, size, SCRATCH_REAL, is_maximum ? element : total,
                        in_register(is_maximum ? total : element));
        assemble_vector_with_number(assembler, VECTOR_BLEND_DOUBLES, size, target, total, in_register(element),
                                    SCRATCH_REAL << 4);
        return;
    }
    /* Where one of them is NaN, and where both are 0, the instruction gives the second. */
    assemble_vector(assembler, (is_maximum ? VECTOR_MAXIMUM : VECTOR_MINIMUM) | kind, size, SCRATCH_REAL, element,
                    in_register(total));
    assemble_vector_with_number(assembler, VECTOR_COMPARE | kind, size, SECOND_SCRATCH_REAL, element, in_register(element),
                                VECTOR_UNORDERED);
    assemble_vector_with_number(assembler, is_float ? VECTOR_BLEND_FLOATS : VECTOR_BLEND_DOUBLES, size, target, SCRATCH_REAL,
                                in_register(element), SECOND_SCRATCH_REAL << 4);
}

static void emit_take(struct nest_code *code, const struct mdf_nest_step *step, uint8_t total, uint8_t element, uint8_t target)
{
    unsigned dtype = step->operand_dtype;
    uint8_t registers[] = {total, element};

    if (step->fold == MDF_NEST_SUM || step->fold == MDF_NEST_PRODUCT) {
        emit_element(code, step->fold == MDF_NEST_SUM ? MDF_LOWERED_ADD : MDF_LOWERED_MULTIPLY, dtype, dtype, 2, registers, NULL,
                     target, code->shape.lanes);
    } else {
        emit_extreme(code, step->fold == MDF_NEST_MAXIMUM, dtype, total, element, target);
    }
}

/* The mask of where an element takes the total's place, in the first scratch register. */
static void emit_better(struct nest_code *code, const struct mdf_nest_step *step, uint8_t total, uint8_t element)
{
    struct assembler *assembler = assembler_of(code);
    bool is_maximum = step->fold == MDF_NEST_FIRST_MAXIMUM || step->fold == MDF_NEST_LAST_MAXIMUM;
    bool is_first = step->fold == MDF_NEST_FIRST_MAXIMUM || step->fold == MDF_NEST_FIRST_MINIMUM;
    unsigned dtype = step->operand_dtype, size = vector_size(code, dtype);
    unsigned kind = dtype == MDF_DTYPE_FLOAT32 ? OF_FLOATS : OF_DOUBLES;

    if (dtype == MDF_DTYPE_INT32 || dtype == MDF_DTYPE_INT64) { /* the last: not where the total is better */
        bool swaps = is_maximum != is_first;

        assemble_vector(assembler, dtype == MDF_DTYPE_INT32 ? VECTOR_GREATER_INTS : VECTOR_GREATER_INTS_8, size, SCRATCH_REAL,
                        swaps ? total : element, in_register(swaps ? element : total));
        if (!is_first) {
            assemble_vector(assembler, VECTOR_EXCLUSIVE_OR, size, SCRATCH_REAL, SCRATCH_REAL,
                            constant_operand(assembler, UINT64_MAX, 8));
        }
        return;
    }
    /* The first: not (x <= t), which is so where one is NaN too, and t is none. The last: x >= t, or x is NaN. */
    assemble_vector_with_number(assembler, VECTOR_COMPARE | kind, size, SCRATCH_REAL, element, in_register(total),
                                is_first ? (is_maximum ? VECTOR_NOT_LESS_EQUAL : VECTOR_NOT_GREATER_EQUAL)
                                         : (is_maximum ? VECTOR_GREATER_EQUAL : VECTOR_LESS_EQUAL));
    assemble_vector_with_number(assembler, VECTOR_COMPARE | kind, size, SECOND_SCRATCH_REAL, is_first ? total : element,
                                in_register(is_first ? total : element), is_first ? VECTOR_ORDERED : VECTOR_UNORDERED);
    assemble_vector(assembler, is_first ? VECTOR_AND : VECTOR_OR, size, SCRATCH_REAL, SCRATCH_REAL,
                    in_register(SECOND_SCRATCH_REAL));
}

static void take_index(struct nest_code *code, const struct nest_node *node)
{
    const struct mdf_nest_step *step = &code->nest->steps[node->step];
    struct assembler *assembler = assembler_of(code);
    uint8_t total = operand_register(code, node, 0), element = operand_register(code, node, 1);
    uint8_t place = operand_register(code, node, 2), count = operand_register(code, node, 3);
    bool is_narrow = mdf_dtype_size((mdf_dtype)step->operand_dtype) == 4;

    emit_better(code, step, total, element);
    assemble_vector_with_number(assembler, is_narrow ? VECTOR_BLEND_FLOATS : VECTOR_BLEND_DOUBLES,
                                vector_size(code, step->operand_dtype), total, total, in_register(element), SCRATCH_REAL << 4);
    if (is_narrow) {
        assemble_vector(assembler, VECTOR_EXTEND_INTS, vector_size(code, MDF_DTYPE_INT64), SCRATCH_REAL, 0,
                        in_register(SCRATCH_REAL));
    }
    assemble_vector_with_number(assembler, VECTOR_BLEND_DOUBLES, vector_size(code, MDF_DTYPE_INT64), place, place,
                                in_register(count), SCRATCH_REAL << 4);
    write_back(code, &code->nodes[node->in[0]], total);
    write_back(code, &code->nodes[node->in[2]], place);
}

static void take(struct nest_code *code, const struct nest_node *node)
{
    const struct mdf_nest_step *step = &code->nest->steps[node->step];
    uint8_t total, element;
    bool is_partial = node->active < code->shape.lanes;

    if (node->n_in == 4) {
        take_index(code, node);
        return;
    }
    total = operand_register(code, node, 0);
    element = operand_register(code, node, 1);
    emit_take(code, step, total, element, is_partial ? code->join_register : total);
    if (is_partial) {
        assemble_vector_with_number(
            assembler_of(code), mdf_dtype_size((mdf_dtype)node->dtype) == 4 ? VECTOR_TAKE_FLOATS : VECTOR_TAKE_DOUBLES,
            vector_size(code, node->dtype), total, total, in_register(code->join_register), (uint8_t)((1u << node->active) - 1));
    }
    write_back(code, &code->nodes[node->in[0]], total);
}

static void emit_count(struct nest_code *code, const struct nest_node *node)
{
    uint8_t number = operand_register(code, node, 0);

    assemble_vector(assembler_of(code), VECTOR_ADD_INTS_8, vector_size(code, MDF_DTYPE_INT64), number, number,
                    constant_operand(assembler_of(code), 1, 8));
    write_back(code, &code->nodes[node->in[0]], number);
}

/* Halves of the lanes are joined until there is one. */
static void join(struct nest_code *code, const struct nest_node *node)
{
    const struct mdf_nest_step *step = &code->nest->steps[node->step];
    struct assembler *assembler = assembler_of(code);
    unsigned size = element_size(code, node->dtype), n;
    uint8_t total = operand_register(code, node, 0), target = target_register(code, node);

    for (n = code->shape.lanes / 2; n > 0; n /= 2) {
        if (n * size == 16) {
            assemble_vector_with_number(assembler, VECTOR_UPPER_HALF, 32, total, 0, in_register(code->join_register), 1);
        } else {
            assemble_vector_with_number(assembler, VECTOR_SHUFFLE_INTS, 16, code->join_register, 0, in_register(total),
                                        n * size == 8 ? 0xEE : 0x55);
        }
        emit_take(code, step, total, code->join_register, target);
        total = target;
    }
    assemble_vector(assembler, size == 4 ? VECTOR_BROADCAST_4 : VECTOR_BROADCAST_8, 32, target, 0, in_register(total));
    write_back(code, node, target);
}

/* ------------------------------------------------------------------ stores */

static void store_lanes(struct nest_code *code, const struct nest_node *node, uint8_t number)
{
    struct assembler *assembler = assembler_of(code);
    size_t size = mdf_dtype_size((mdf_dtype)node->dtype);
    unsigned per_half = size == 1 ? 16 : (unsigned)(16 / size), lane;

    for (lane = 0; lane < node->active; lane++) {
        struct machine_operand operand = operand_at(code, &node->place, lane * node->place.lane_bytes);

        if (lane == per_half) {
            assemble_vector_with_number(assembler, VECTOR_UPPER_HALF, 32, number, 0, in_register(SCRATCH_REAL), 1);
            number = SCRATCH_REAL;
        }
        if (size == 1) {
            assemble_vector_with_number(assembler, VECTOR_STORE_BYTE, 16, number, 0, operand, (uint8_t)lane);
        } else if (lane % per_half == 0) {
            assemble_vector(assembler, move_code(size, true), 16, number, 0, operand);
        } else {
            assemble_vector_with_number(assembler, size == 4 ? VECTOR_EXTRACT_4 : VECTOR_EXTRACT_8, 16, number, 0, operand,
                                        (uint8_t)(lane % per_half));
        }
    }
}

static void store(struct nest_code *code, const struct nest_node *node)
{
    struct assembler *assembler = assembler_of(code);
    size_t size = mdf_dtype_size((mdf_dtype)node->dtype), n_bytes = node->active * size;
    uint8_t number = operand_register(code, node, 0);

    if (size == 1) {
        struct packed packed = {.assembler = assembler, .lanes = code->shape.lanes, .width = code->shape.width};

        packed_make_bytes(&packed, number);
        number = SCRATCH_REAL;
    }
    if (node->place.kind == PLACE_LANES || move_code(n_bytes, true) == 0) {
        if (node->place.kind == PLACE_LANES || size == 1) {
            store_lanes(code, node, number);
            return;
        }
        load_mask(code, node->active, (unsigned)size, SCRATCH_REAL);
        assemble_vector(assembler, size == 4 ? VECTOR_STORE_MASKED_4 : VECTOR_STORE_MASKED_8, vector_size(code, node->dtype),
                        number, SCRATCH_REAL, operand_at(code, &node->place, 0));
        return;
    }
    assemble_vector(assembler, move_code(n_bytes, true), n_bytes == 32 ? 32 : 16, number, 0, operand_at(code, &node->place, 0));
}

/* ------------------------------------------------------------------ calls */

static bool is_changed_by_calls(uint8_t number)
{
    return number != NO_REGISTER && number < R12 && number != RBX && number != RBP;
}

/* Registers of pointers and counters to their words, or back. */
static void move_words(struct nest_code *code, bool stores)
{
    struct assembler *assembler = assembler_of(code);
    size_t i;

    for (i = 0; i < MOST_POINTERS + MDF_NEST_MOST_AXES + 1; i++) {
        uint8_t number = i >= MOST_POINTERS     ? code->counters[i - MOST_POINTERS]
                         : i < code->n_pointers ? code->pointers[i].number
                                                : NO_REGISTER;

        if (!is_changed_by_calls(number)) {
            continue;
        }
        if (stores) {
            assemble_store(assembler, 8, number, word_of(code, i));
        } else {
            assemble_load(assembler, 8, number, word_of(code, i));
        }
    }
}

static struct machine_operand row_of(const struct nest_code *code, uint32_t offset)
{
    return in_memory(ITEM_MEMORY, (int32_t)(rows_begin(code) + offset));
}

static void emit_call(struct nest_code *code, const struct nest_node *node, char *memory)
{
    static const size_t steps[8][MDF_MAX_OPERANDS] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0},
                                                      {0, 0, 1}, {1, 0, 1}, {0, 1, 1}, {1, 1, 1}};
    const struct mdf_nest_step *step = &code->nest->steps[node->step];
    const struct nest_call *call = &code->calls[node->step];
    struct mdf_lowered_op op = {.loop = step->loop, .loop_settings = step->loop_settings};
    struct assembler *assembler = assembler_of(code);
    bool (*cast)(mdf_dtype, mdf_dtype, const void *, void *, size_t) = mdf_lowered_cast;
    const void *address;
    unsigned arrays = 0;
    size_t k;

    move_words(code, true);
    assemble_vector_end(assembler);
    if (step->code == MDF_LOWERED_CAST) {
        memcpy(&address, &cast, sizeof address);
        assemble_move_number(assembler, RDI, step->operand_dtype);
        assemble_move_number(assembler, RSI, step->dtype);
        assemble_general(assembler, GENERAL_ADDRESS, 8, RDX, row_of(code, call->offsets[0]));
        assemble_general(assembler, GENERAL_ADDRESS, 8, RCX, row_of(code, call->offsets[MDF_MAX_OPERANDS]));
        assemble_move_number(assembler, R8, call->n);
        emission_call(code->emission, address);
        assemble_general(assembler, GENERAL_LOAD_BYTE, 4, RAX, in_register(RAX));
        assemble_general(assembler, GENERAL_TEST, 4, RAX, in_register(RAX));
        assemble_jump_if(assembler, IF_EQUAL, code->emission->bail_out);
    } else {
        for (k = 0; k < step->n_in; k++) {
            arrays |= call->is_one[k] ? 0 : 1u << k;
            assemble_general(assembler, GENERAL_ADDRESS, 8, RAX, row_of(code, call->offsets[k]));
            assemble_store(assembler, 8, RAX, in_memory(RSP, (int32_t)(FRAME_POINTERS + 8 * k)));
        }
        assemble_general(assembler, GENERAL_ADDRESS, 8, RDI, row_of(code, call->offsets[MDF_MAX_OPERANDS]));
        emission_call_loop(code->emission, &op, steps[arrays], call->n);
    }
    assemble_move_address(assembler, ITEM_MEMORY, memory);
    move_words(code, false);
}

/* ------------------------------------------------------------------ loops */

static void add_number(struct nest_code *code, struct machine_operand operand, int64_t number)
{
    if (number >= INT32_MIN && number <= INT32_MAX) {
        assemble_with_number(assembler_of(code), NUMBER_ADD, 8, operand, (int32_t)number);
        return;
    }
    assemble_move_number(assembler_of(code), RAX, (uint64_t)number);
    if (operand.kind == IN_REGISTER) {
        assemble_general(assembler_of(code), GENERAL_ADD, 8, operand.number, in_register(RAX));
    } else {
        assemble_general(assembler_of(code), GENERAL_ADD, 8, RAX, operand);
        assemble_store(assembler_of(code), 8, RAX, operand);
    }
}

/* Moves all pointers that the block uses by so many indices of its axis. */
static void move_pointers(struct nest_code *code, const struct nest_block *block, int64_t indices)
{
    size_t i;

    for (i = 0; i < code->n_pointers; i++) {
        const struct nest_pointer *pointer = &code->pointers[i];

        if ((block->pointers >> i & 1) != 0 && pointer->strides[block->axis] != 0) {
            add_number(code, pointer->number != NO_REGISTER ? in_register(pointer->number) : word_of(code, i),
                       indices * pointer->strides[block->axis]);
        }
    }
}

static void emit_block(struct nest_code *code, uint32_t number, char *memory);

static void emit_loop(struct nest_code *code, uint32_t body, char *memory)
{
    const struct nest_block *block = &code->blocks[body];
    struct assembler *assembler = assembler_of(code);
    uint8_t number = code->counters[block->depth];
    struct machine_operand counter =
        number != NO_REGISTER ? in_register(number) : word_of(code, (size_t)MOST_POINTERS + block->depth);
    machine_label begin = new_label(assembler);

    assemble_move_number(assembler, number != NO_REGISTER ? number : RAX, block->count);
    if (number == NO_REGISTER) {
        assemble_store(assembler, 8, RAX, counter);
    }
    assemble_align(assembler, 16);
    bind_label(assembler, begin);
    emit_block(code, body, memory);
    move_pointers(code, block, (int64_t)block->advance);
    assemble_with_number(assembler, NUMBER_SUBTRACT, 8, counter, 1);
    assemble_jump_if(assembler, IF_NOT_EQUAL, begin);
    move_pointers(code, block, -(int64_t)(block->count * block->advance));
}

static void emit_node(struct nest_code *code, const struct nest_node *node, char *memory)
{
    bool is_unread = node->last == node->first;
    uint8_t target = target_register(code, node);

    switch ((enum node_code)node->code) {
    case NODE_LOAD:
        if ((!is_unread || node->n_in > 0) && !(node->is_spilled && nest_is_loaded_again(node))) {
            uint8_t index = node->n_in > 0 ? operand_register(code, node, 0) : NO_REGISTER;

            load(code, node, target, index);
            write_back(code, node, target);
        }
        break;
    case NODE_NUMBER:
        if (!is_unread && !node->is_spilled) {
            load_number(code, node, target);
        }
        break;
    case NODE_ELEMENT:
        if (!is_unread || node->is_spilled) {
            emit_step(code, node);
        }
        break;
    case NODE_TOTAL:
        if (!is_unread || node->is_spilled) {
            emit_total(code, node);
        }
        break;
    case NODE_TAKE:
        take(code, node);
        break;
    case NODE_COUNT:
        emit_count(code, node);
        break;
    case NODE_JOIN:
        if (!is_unread || node->is_spilled) {
            join(code, node);
        }
        break;
    case NODE_STORE:
        store(code, node);
        break;
    case NODE_CALL:
        emit_call(code, node, memory);
        break;
    case NODE_LOOP:
        emit_loop(code, node->body, memory);
        break;
    }
}

static void emit_block(struct nest_code *code, uint32_t number, char *memory)
{
    size_t i;

    for (i = 0; i < code->blocks[number].n_nodes && !assembler_of(code)->failed; i++) {
        emit_node(code, &code->nodes[code->blocks[number].nodes[i]], memory);
    }
}

/* ------------------------------------------------------------------ the whole */

static bool uses_register(const struct nest_code *code, uint8_t number)
{
    size_t i;

    for (i = 0; i < code->n_pointers && code->pointers[i].number != number; i++) {
    }
    return i < code->n_pointers || memchr(code->counters, number, sizeof code->counters) != NULL;
}

static void enter(struct nest_code *code, char *memory)
{
    struct assembler *assembler = assembler_of(code);
    size_t i;

    assemble_move_address(assembler, ITEM_MEMORY, memory);
    for (i = 0; i < N_SAVED; i++) {
        if (uses_register(code, saved_registers[i])) {
            assemble_store(assembler, 8, saved_registers[i], word_of(code, WORDS - 1 - i));
        }
    }
    for (i = 0; i < code->n_pointers; i++) {
        const struct nest_pointer *pointer = &code->pointers[i];
        uint8_t number = pointer->number != NO_REGISTER ? pointer->number : RAX;

        if (nest_is_fixed(pointer)) {
            continue;
        }
        if (pointer->id == MDF_LOWERED_NONE) {
            assemble_general(assembler, GENERAL_ADDRESS, 8, number, row_of(code, pointer->offset));
        } else {
            assemble_load(assembler, 8, number, emission_array_data(pointer->id));
        }
        if (pointer->number == NO_REGISTER) {
            assemble_store(assembler, 8, number, word_of(code, i));
        }
    }
}

void nest_emit(struct nest_code *code, char *memory)
{
    size_t i;

    enter(code, memory);
    emit_block(code, 0, memory);
    for (i = 0; i < N_SAVED; i++) {
        if (uses_register(code, saved_registers[i])) {
            assemble_load(assembler_of(code), 8, saved_registers[i], word_of(code, WORDS - 1 - i));
        }
    }
    assemble_vector_end(assembler_of(code));
}
