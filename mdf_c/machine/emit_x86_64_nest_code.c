/* emit_x86_64_nest_code.c - see emit_x86_64_nest.h. Nodes become instructions. rax and rcx are free within a node, as are the
 * vector registers from 13 on, as far as they are not given away; where values have no registers, two or four more are free,
 * behind the ones that are given away. */
#include "mdf_c/lowered/lowered_run.h"
#include "mdf_c/machine/emit_x86_64_nest.h"

#include <math.h>
#include <string.h>

static const uint8_t saved_registers[N_NEST_SAVED] = {R12, R13, R14, R15};

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
        nest_load_number(code, operand, number);
    } else if (nest_is_loaded_again(operand)) {
        nest_load(code, operand, number, NO_REGISTER);
    } else {
        assemble_vector(nest_assembler(code), VECTOR_LOAD, nest_widest_size(code), number, 0, nest_slot(operand));
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
        assemble_vector(nest_assembler(code), VECTOR_STORE, nest_widest_size(code), number, 0, nest_slot(node));
    }
}

/* ------------------------------------------------------------------ elements */

/* An element op, of which the code, types, operands and result are said. */
static void emit_element(struct nest_code *code, struct packed packed)
{
    packed.emission = code->emission;
    packed.assembler = nest_assembler(code);
    packed.lanes = code->shape.lanes;
    packed.width = code->shape.width;
    packed_emit_op(&packed);
}

/* Where operand number `k` lies, of which the node may read one in memory: its register, if it has one. */
static struct machine_operand operand_of(struct nest_code *code, const struct nest_node *node, size_t k)
{
    const struct nest_node *operand = &code->nodes[node->in[k]];

    return operand->is_spilled && nest_lies_in_memory(code, operand) ? nest_memory_operand(code, operand)
                                                                     : in_register(operand_register(code, node, k));
}

/* in[0] plus in[1] times in[2]; the target may be the register of any of them. */
static void emit_sum_of_product(struct nest_code *code, const struct nest_node *node)
{
    struct assembler *assembler = nest_assembler(code);
    uint8_t in[] = {operand_register(code, node, 0), operand_register(code, node, 1), operand_register(code, node, 2)},
            target = target_register(code, node);
    unsigned size = nest_vector_size(code, node->dtype);

    if (target != in[0] && (target == in[1] || target == in[2])) {
        assemble_vector(assembler, VECTOR_PRODUCT_ADD, size, target, target == in[1] ? in[2] : in[1], in_register(in[0]));
    } else {
        if (target != in[0]) {
            assemble_vector(assembler, VECTOR_MOVE, size, target, 0, in_register(in[0]));
        }
        assemble_vector(assembler, VECTOR_ADD_PRODUCT, size, target, in[1], in_register(in[2]));
    }
    write_back(code, node, target);
}

static void emit_step(struct nest_code *code, const struct nest_node *node)
{
    const struct mdf_nest_step *step = &code->nest->steps[node->step];
    struct packed packed = {.code = (enum mdf_lowered_code)step->code,
                            .dtype = step->operand_dtype,
                            .result = step->dtype,
                            .active = node->active,
                            .constants = {MDF_LOWERED_NONE, node->has_count ? node->constant : MDF_LOWERED_NONE},
                            .rotation = node->rotation,
                            .out = target_register(code, node)};

    for (size_t k = 0; k < node->n_in; k++) {
        const struct nest_node *operand = &code->nodes[node->in[k]];

        packed.constants[k] = operand->code == NODE_NUMBER ? operand->constant : MDF_LOWERED_NONE;
        if (k != nest_memory_input(code, node)) {
            packed.in[k] = operand_register(code, node, k);
        } else if (operand->code == NODE_NUMBER && operand->is_spilled) {
            packed.in[k] = NO_REGISTER;
        } else {
            packed.memory = operand_of(code, node, k);
            packed.in[k] = packed.memory.kind == IN_REGISTER ? packed.memory.number : NO_REGISTER;
        }
    }
    emit_element(code, packed);
    write_back(code, node, packed.out);
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
    case MDF_NEST_LARGEST:
    case MDF_NEST_FIRST_MAXIMUM:
    case MDF_NEST_LAST_MAXIMUM:
        return bits_of(dtype, -INFINITY, is_long ? INT64_MIN : INT32_MIN);
    case MDF_NEST_MINIMUM:
    case MDF_NEST_SMALLEST:
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

    if (node->n_in == 1) {
        assemble_vector(nest_assembler(code), VECTOR_MOVE, nest_vector_size(code, node->dtype), target, 0,
                        in_register(operand_register(code, node, 0)));
        write_back(code, node, target);
        return;
    }
    nest_load_bits(code, node->is_index ? 0 : beginning_of(step->fold, node->dtype),
                   (unsigned)mdf_dtype_size((mdf_dtype)node->dtype), target);
    write_back(code, node, target);
}

/* Where a register has NaN, the target has that, else what is in the first scratch register. */
static void prefer_nan(struct nest_code *code, unsigned dtype, uint8_t number, uint8_t target)
{
    struct assembler *assembler = nest_assembler(code);
    unsigned size = nest_vector_size(code, dtype);
    bool is_float = dtype == MDF_DTYPE_FLOAT32;

    packed_compare(assembler, VECTOR_COMPARE | (is_float ? OF_FLOATS : OF_DOUBLES), size, SECOND_SCRATCH_REAL, number,
                   in_register(number), VECTOR_UNORDERED);
    packed_choose(assembler, is_float, size, target, SECOND_SCRATCH_REAL, in_register(number), SCRATCH_REAL);
}

/* The greater (or lesser) of the total and the element: x > t || x != x ? x : t; where the first NaN stays, t if it is NaN. */
static void emit_extreme(struct nest_code *code, enum mdf_nest_fold fold, unsigned dtype, uint8_t total, uint8_t element,
                         uint8_t target)
{
    bool is_maximum = fold == MDF_NEST_MAXIMUM || fold == MDF_NEST_LARGEST, keeps_first = fold >= MDF_NEST_LARGEST;
    struct assembler *assembler = nest_assembler(code);
    unsigned size = nest_vector_size(code, dtype);
    unsigned kind = dtype == MDF_DTYPE_FLOAT32 ? OF_FLOATS : OF_DOUBLES;

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
    prefer_nan(code, dtype, element, keeps_first ? SCRATCH_REAL : target);
    if (keeps_first) {
        prefer_nan(code, dtype, total, target);
    }
}

static void emit_take(struct nest_code *code, const struct mdf_nest_step *step, uint8_t total, struct machine_operand element,
                      uint8_t target)
{
    unsigned dtype = step->operand_dtype;

    if (step->fold == MDF_NEST_SUM || step->fold == MDF_NEST_PRODUCT) {
        emit_element(code, (struct packed){.code = step->fold == MDF_NEST_SUM ? MDF_LOWERED_ADD : MDF_LOWERED_MULTIPLY,
                                           .dtype = dtype,
                                           .result = dtype,
                                           .in = {total, element.kind == IN_REGISTER ? element.number : NO_REGISTER},
                                           .constants = {MDF_LOWERED_NONE, MDF_LOWERED_NONE},
                                           .memory = element,
                                           .active = code->shape.lanes,
                                           .out = target});
    } else {
        emit_extreme(code, (enum mdf_nest_fold)step->fold, dtype, total, element.number, target);
    }
}

/* A new total, of another one and what that takes. */
static void emit_new_total(struct nest_code *code, const struct nest_node *node)
{
    uint8_t total = operand_register(code, node, 0), target = target_register(code, node);
    struct machine_operand element =
        nest_memory_input(code, node) == 1 ? operand_of(code, node, 1) : in_register(operand_register(code, node, 1));

    emit_take(code, &code->nest->steps[node->step], total, element, target);
    write_back(code, node, target);
}

/* The mask of where an element takes the total's place, in the first scratch register. */
static void emit_better(struct nest_code *code, const struct mdf_nest_step *step, uint8_t total, uint8_t element)
{
    struct assembler *assembler = nest_assembler(code);
    bool is_maximum = step->fold == MDF_NEST_FIRST_MAXIMUM || step->fold == MDF_NEST_LAST_MAXIMUM;
    bool is_first = step->fold == MDF_NEST_FIRST_MAXIMUM || step->fold == MDF_NEST_FIRST_MINIMUM;
    unsigned dtype = step->operand_dtype, size = nest_vector_size(code, dtype);
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
    struct assembler *assembler = nest_assembler(code);
    uint8_t total = operand_register(code, node, 0), element = operand_register(code, node, 1);
    uint8_t place = operand_register(code, node, 2), count = operand_register(code, node, 3);
    bool is_narrow = mdf_dtype_size((mdf_dtype)step->operand_dtype) == 4;
    bool has_narrow_place = step->dtype == MDF_DTYPE_INT32;

    emit_better(code, step, total, element);
    assemble_vector_with_number(assembler, is_narrow ? VECTOR_BLEND_FLOATS : VECTOR_BLEND_DOUBLES,
                                nest_vector_size(code, step->operand_dtype), total, total, in_register(element),
                                SCRATCH_REAL << 4);
    if (is_narrow && !has_narrow_place) {
        assemble_vector(assembler, VECTOR_EXTEND_INTS, nest_vector_size(code, MDF_DTYPE_INT64), SCRATCH_REAL, 0,
                        in_register(SCRATCH_REAL));
    }
    assemble_vector_with_number(assembler, has_narrow_place ? VECTOR_BLEND_FLOATS : VECTOR_BLEND_DOUBLES,
                                nest_vector_size(code, step->dtype), place, place, in_register(count), SCRATCH_REAL << 4);
    write_back(code, &code->nodes[node->in[0]], total);
    write_back(code, &code->nodes[node->in[2]], place);
}

/* A sum takes a product. */
static void emit_take_product(struct nest_code *code, const struct nest_node *node, uint8_t total, uint8_t target)
{
    struct assembler *assembler = nest_assembler(code);
    uint8_t factor = operand_register(code, node, 1);
    struct machine_operand other = operand_of(code, node, 2);
    unsigned size = nest_vector_size(code, node->dtype);

    if (target != total) {
        assemble_vector(assembler, VECTOR_MOVE, size, target, 0, in_register(total));
    }
    assemble_vector(assembler, node->dtype == MDF_DTYPE_FLOAT32 ? VECTOR_ADD_PRODUCT_OF_FLOATS : VECTOR_ADD_PRODUCT, size, target,
                    factor, other);
}

/* They lie in memory for it. */
static void take_in_turn(struct nest_code *code, const struct nest_node *node)
{
    struct assembler *assembler = nest_assembler(code);
    bool is_narrow = node->dtype == MDF_DTYPE_FLOAT32;
    unsigned operation = code->nest->steps[node->step].fold == MDF_NEST_SUM ? VECTOR_ADD : VECTOR_MULTIPLY;
    uint8_t total = operand_register(code, node, 0);
    struct machine_operand element = nest_slot(node);

    assemble_vector(assembler, VECTOR_STORE, nest_vector_size(code, node->dtype), operand_register(code, node, 1), 0, element);
    for (unsigned lane = 0; lane < node->active; lane++) {
        assemble_vector(assembler, operation | (is_narrow ? OF_FLOAT : OF_DOUBLE), 16, total, total, element);
        element.displacement += is_narrow ? 4 : 8;
    }
    assemble_vector(assembler, is_narrow ? VECTOR_BROADCAST_4 : VECTOR_BROADCAST_8, nest_widest_size(code), total, 0,
                    in_register(total));
    write_back(code, &code->nodes[node->in[0]], total);
}

static void take(struct nest_code *code, const struct nest_node *node)
{
    const struct mdf_nest_step *step = &code->nest->steps[node->step];
    uint8_t total, target;
    bool is_masked = node->active >= MASKED, is_partial = node->active < code->shape.lanes || is_masked;

    if (node->n_in == 4) {
        take_index(code, node);
        return;
    }
    if (node->is_in_turn) {
        take_in_turn(code, node);
        return;
    }
    total = operand_register(code, node, 0);
    target = is_partial ? code->join_register : total;
    if (node->n_in == 3) {
        emit_take_product(code, node, total, target);
    } else {
        emit_take(code, step, total,
                  nest_memory_input(code, node) == 1 ? operand_of(code, node, 1) : in_register(operand_register(code, node, 1)),
                  target);
    }
    if (is_masked) {
        bool is_narrow = mdf_dtype_size((mdf_dtype)node->dtype) == 4;

        nest_load_mask(code, node->active, is_narrow ? 4 : 8, SCRATCH_REAL);
        assemble_vector_with_number(nest_assembler(code), is_narrow ? VECTOR_BLEND_FLOATS : VECTOR_BLEND_DOUBLES,
                                    nest_vector_size(code, node->dtype), total, total, in_register(code->join_register),
                                    SCRATCH_REAL << 4);
    } else if (is_partial) {
        assemble_vector_with_number(nest_assembler(code),
                                    mdf_dtype_size((mdf_dtype)node->dtype) == 4 ? VECTOR_TAKE_FLOATS : VECTOR_TAKE_DOUBLES,
                                    nest_vector_size(code, node->dtype), total, total, in_register(code->join_register),
                                    (uint8_t)((1u << node->active) - 1));
    }
    write_back(code, &code->nodes[node->in[0]], total);
}

static void emit_count(struct nest_code *code, const struct nest_node *node)
{
    uint8_t number = operand_register(code, node, 0);
    bool is_narrow = node->dtype == MDF_DTYPE_INT32;

    assemble_vector(nest_assembler(code), is_narrow ? VECTOR_ADD_INTS : VECTOR_ADD_INTS_8, nest_vector_size(code, node->dtype),
                    number, number, constant_operand(nest_assembler(code), 1, is_narrow ? 4 : 8));
    write_back(code, &code->nodes[node->in[0]], number);
}

/* A sum in pairs: neighbours are joined, then neighbours of these, until all lanes have all of them. */
static uint8_t join_neighbours(struct nest_code *code, const struct mdf_nest_step *step, uint8_t total, uint8_t target)
{
    struct assembler *assembler = nest_assembler(code);
    unsigned size = nest_element_size(code, step->dtype), n;

    for (n = 1; n < code->shape.lanes; n *= 2) {
        if (n * size == 16) {
            assemble_vector_with_number(assembler, VECTOR_UPPER_HALF, 32, total, 0, in_register(code->join_register), 1);
        } else {
            assemble_vector_with_number(assembler, VECTOR_SHUFFLE_INTS, nest_vector_size(code, step->dtype), code->join_register,
                                        0, in_register(total), n * size == 8 ? 0x4E : 0xB1);
        }
        emit_take(code, step, total, in_register(code->join_register), target);
        total = target;
    }
    return total;
}

/* How many lanes of totals along vectors have taken an element: the others are what the fold begins with, which changes nothing.
 */
static size_t count_filled(const struct nest_code *code)
{
    size_t axis = code->shape.vector_axis;

    return nest_is_open_axis(code, axis) ? code->shape.lanes : code->nest->extents[axis];
}

/* Halves of the lanes are joined until there is one. */
static void join(struct nest_code *code, const struct nest_node *node)
{
    const struct mdf_nest_step *step = &code->nest->steps[node->step];
    struct assembler *assembler = nest_assembler(code);
    unsigned size = nest_element_size(code, node->dtype), n;
    uint8_t total = operand_register(code, node, 0), target = target_register(code, node);

    if (step->order == MDF_NEST_PAIRWISE) {
        total = join_neighbours(code, step, total, target);
    }
    for (n = step->order == MDF_NEST_PAIRWISE ? 0 : code->shape.lanes / 2; n > 0; n /= 2) {
        if (n >= count_filled(code)) {
            continue;
        }
        if (n * size == 32) {
            assemble_vector_with_number(assembler, VECTOR_UPPER_32, 64, total, 0, in_register(code->join_register), 1);
        } else if (n * size == 16) {
            assemble_vector_with_number(assembler, VECTOR_UPPER_HALF, 32, total, 0, in_register(code->join_register), 1);
        } else {
            assemble_vector_with_number(assembler, VECTOR_SHUFFLE_INTS, 16, code->join_register, 0, in_register(total),
                                        n * size == 8 ? 0xEE : 0x55);
        }
        emit_take(code, step, total, in_register(code->join_register), target);
        total = target;
    }
    assemble_vector(assembler, size == 4 ? VECTOR_BROADCAST_4 : VECTOR_BROADCAST_8, nest_widest_size(code), target, 0,
                    in_register(total));
    write_back(code, node, target);
}

/* ------------------------------------------------------------------ calls */

static bool is_changed_by_calls(uint8_t number)
{
    return number != NO_REGISTER && number < R12 && number != RBX && number != RBP;
}

/* Registers of pointers and counters to their words, or back. */
static void move_words(struct nest_code *code, bool stores)
{
    struct assembler *assembler = nest_assembler(code);

    for (size_t i = 0; i < MOST_POINTERS + MDF_NEST_MOST_AXES + 1; i++) {
        uint8_t number = i >= MOST_POINTERS     ? code->counters[i - MOST_POINTERS]
                         : i < code->n_pointers ? code->pointers[i].number
                                                : NO_REGISTER;

        if (!is_changed_by_calls(number)) {
            continue;
        }
        if (stores) {
            assemble_store(assembler, 8, number, nest_word(code, i));
        } else {
            assemble_load(assembler, 8, number, nest_word(code, i));
        }
    }
}

/* Moves what is in a register, or a word, by a number. */
static void add_number(struct nest_code *code, struct machine_operand operand, int64_t number)
{
    if (number >= INT32_MIN && number <= INT32_MAX) {
        assemble_with_number(nest_assembler(code), NUMBER_ADD, 8, operand, (int32_t)number);
        return;
    }
    assemble_move_number(nest_assembler(code), RAX, (uint64_t)number);
    if (operand.kind == IN_REGISTER) {
        assemble_general(nest_assembler(code), GENERAL_ADD, 8, operand.number, in_register(RAX));
    } else {
        assemble_general(nest_assembler(code), GENERAL_ADD, 8, RAX, operand);
        assemble_store(nest_assembler(code), 8, RAX, operand);
    }
}

/* The address of the first element that a view leads to. */
static void load_address(struct nest_code *code, uint8_t number, const struct mdf_nest_step *step)
{
    struct assembler *assembler = nest_assembler(code);

    if (code->emission->lowered->values[step->view.id].is_scalar) {
        assemble_general(assembler, GENERAL_ADDRESS, 8, number, in_memory(CELLS, (int32_t)(8 * step->view.id)));
        return;
    }
    assemble_load(assembler, 8, number, emission_array_data(step->view.id));
    if (step->view.first != 0) {
        add_number(code, in_register(number), step->view.first * (int64_t)mdf_dtype_size((mdf_dtype)step->dtype));
    }
}

/* That of the row that a call makes. */
static void load_target(struct nest_code *code, uint8_t number, size_t step)
{
    const struct nest_call *call = &code->steps[step].call;

    if (call->to != MDF_NEST_NONE) {
        load_address(code, number, &code->nest->steps[call->to]);
    } else {
        assemble_general(nest_assembler(code), GENERAL_ADDRESS, 8, number, nest_row(code, call->offsets[MDF_MAX_OPERANDS]));
    }
}

static void load_operand(struct nest_code *code, uint8_t number, const struct nest_call *call, size_t k)
{
    if (call->from[k] == MDF_NEST_NONE) {
        assemble_general(nest_assembler(code), GENERAL_ADDRESS, 8, number, nest_row(code, call->offsets[k]));
    } else if (code->nest->steps[call->from[k]].kind == MDF_NEST_LOAD) {
        load_address(code, number, &code->nest->steps[call->from[k]]);
    } else {
        load_target(code, number, call->from[k]);
    }
}

static void emit_call(struct nest_code *code, const struct nest_node *node, char *memory)
{
    static const size_t steps[8][MDF_MAX_OPERANDS] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0},
                                                      {0, 0, 1}, {1, 0, 1}, {0, 1, 1}, {1, 1, 1}};
    const struct mdf_nest_step *step = &code->nest->steps[node->step];
    const struct nest_call *call = &code->steps[node->step].call;
    struct mdf_lowered_op op = {.loop = step->loop, .loop_settings = step->loop_settings};
    struct assembler *assembler = nest_assembler(code);
    bool (*cast)(mdf_dtype, mdf_dtype, const void *, void *, size_t) = mdf_lowered_cast;
    const void *address;
    unsigned arrays = 0;

    move_words(code, true);
    if (step->code == MDF_LOWERED_CAST) {
        memcpy(&address, &cast, sizeof address);
        assemble_move_number(assembler, RDI, step->operand_dtype);
        assemble_move_number(assembler, RSI, step->dtype);
        load_operand(code, RDX, call, 0);
        load_target(code, RCX, node->step);
        assemble_move_number(assembler, R8, call->n);
        emission_call(code->emission, address);
        assemble_general(assembler, GENERAL_LOAD_BYTE, 4, RAX, in_register(RAX));
        assemble_general(assembler, GENERAL_TEST, 4, RAX, in_register(RAX));
        assemble_jump_if(assembler, IF_EQUAL, code->emission->bail_out);
    } else {
        for (size_t k = 0; k < step->n_in; k++) {
            arrays |= call->is_one[k] ? 0 : 1u << k;
            load_operand(code, RAX, call, k);
            assemble_store(assembler, 8, RAX, in_memory(RSP, (int32_t)(FRAME_POINTERS + 8 * k)));
        }
        load_target(code, RDI, node->step);
        emission_call_loop(code->emission, &op, steps[arrays], call->n);
    }
    assemble_move_address(assembler, NEST_MEMORY, memory);
    move_words(code, false);
}

/* ------------------------------------------------------------------ loops */

/* Moves all pointers that the block uses by so many indices of its axis. */
void nest_move_pointers(struct nest_code *code, const struct nest_block *block, int64_t indices)
{
    for (size_t i = 0; i < code->n_pointers; i++) {
        const struct nest_pointer *pointer = &code->pointers[i];

        if (mdf_nest_set_has(&block->pointers, i) && pointer->strides[block->axis] != 0) {
            add_number(code, pointer->number != NO_REGISTER ? in_register(pointer->number) : nest_word(code, i),
                       indices * pointer->strides[block->axis]);
        }
    }
}

void nest_emit_rounds(struct nest_code *code, uint32_t body, char *memory)
{
    const struct nest_block *block = &code->blocks[body];
    struct assembler *assembler = nest_assembler(code);
    uint8_t number = code->counters[block->depth];
    struct machine_operand counter =
        number != NO_REGISTER ? in_register(number) : nest_word(code, (size_t)MOST_POINTERS + block->depth);
    machine_label begin = new_label(assembler);

    if (number == NO_REGISTER) {
        assemble_store(assembler, 8, RAX, counter);
    } else if (block->is_open) {
        assemble_move(assembler, number, RAX);
    }
    assemble_align(assembler, 16);
    bind_label(assembler, begin);
    nest_emit_block(code, body, memory);
    nest_move_pointers(code, block, (int64_t)block->advance);
    assemble_with_number(assembler, NUMBER_SUBTRACT, 8, counter, 1);
    assemble_jump_if(assembler, IF_NOT_EQUAL, begin);
}

static void emit_loop(struct nest_code *code, uint32_t body, char *memory)
{
    const struct nest_block *block = &code->blocks[body];
    uint8_t number = code->counters[block->depth];

    if (block->is_open) {
        nest_emit_open_loop(code, body, memory);
        return;
    }
    assemble_move_number(nest_assembler(code), number != NO_REGISTER ? number : RAX, block->count);
    nest_emit_rounds(code, body, memory);
    nest_move_pointers(code, block, -(int64_t)(block->count * block->advance));
}

static void emit_load(struct nest_code *code, const struct nest_node *node)
{
    uint8_t target = target_register(code, node), index = NO_REGISTER;

    if (nest_is_loaded_together(code, node)) {
        if (node->n_together > 0) {
            index = node->n_in > 0 ? operand_register(code, node, 0) : NO_REGISTER;
            nest_load_together(code, node, index);
        }
    } else if ((node->last != node->first || node->n_in > 0) && !(node->is_spilled && nest_is_loaded_again(node))) {
        index = node->n_in > 0 ? operand_register(code, node, 0) : NO_REGISTER;
        nest_load(code, node, target, index);
        write_back(code, node, target);
    }
}

/* The smaller or the larger one of two numbers; where it is asked for, the first where that is NaN. */
static void emit_choice(struct nest_code *code, const struct nest_node *node)
{
    struct assembler *assembler = nest_assembler(code);
    unsigned kind = node->dtype == MDF_DTYPE_INT32 ? 0 : node->dtype == MDF_DTYPE_FLOAT32 ? OF_FLOATS : OF_DOUBLES;
    unsigned size = nest_vector_size(code, node->dtype);
    uint8_t first = operand_register(code, node, 0), second = operand_register(code, node, 1),
            target = target_register(code, node);

    assemble_vector(assembler, node->extreme | kind, size, node->keeps_nan ? SCRATCH_REAL : target, first, in_register(second));
    if (node->keeps_nan) {
        prefer_nan(code, node->dtype, first, target);
    }
    write_back(code, node, target);
}

/* What an element's node makes. */
static void emit_result(struct nest_code *code, const struct nest_node *node)
{
    const struct mdf_nest_step *step = &code->nest->steps[node->step];

    if (node->n_in == 3 && (step->kind == MDF_NEST_FOLD || step->code == MDF_LOWERED_ADD)) {
        emit_sum_of_product(code, node);
    } else if (step->kind == MDF_NEST_FOLD) {
        emit_new_total(code, node);
    } else if (node->extreme != 0) {
        emit_choice(code, node);
    } else {
        emit_step(code, node);
    }
}

static void emit_store(struct nest_code *code, const struct nest_node *node)
{
    unsigned size = 2 * nest_vector_size(code, node->dtype);
    uint8_t number = operand_register(code, node, 0);

    if (node->n_in == 2) {
        assemble_vector_with_number(nest_assembler(code), size == 64 ? VECTOR_INSERT_32 : VECTOR_INSERT_HALF, size, SCRATCH_REAL,
                                    number, operand_of(code, node, 1), 1);
        number = SCRATCH_REAL;
    }
    nest_store(code, node, number);
}

static void emit_node(struct nest_code *code, const struct nest_node *node, char *memory)
{
    bool is_unread = node->last == node->first;
    uint8_t target = target_register(code, node);

    switch ((enum node_code)node->code) {
    case NODE_LOAD:
        emit_load(code, node);
        break;
    case NODE_NUMBER:
        if (!is_unread && !node->is_spilled) {
            nest_load_number(code, node, target);
        }
        break;
    case NODE_ELEMENT:
        if (!is_unread || node->is_spilled) {
            emit_result(code, node);
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
        emit_store(code, node);
        break;
    case NODE_CALL:
        emit_call(code, node, memory);
        break;
    case NODE_LOOP:
        emit_loop(code, node->body, memory);
        break;
    }
}

void nest_emit_block(struct nest_code *code, uint32_t number, char *memory)
{
    for (size_t i = 0; i < code->blocks[number].n_nodes && !nest_assembler(code)->failed; i++) {
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

/* Whether a register is as it was in front of the nest while pointer `k` is loaded. */
static bool is_kept(const struct nest_code *code, uint8_t number, size_t k)
{
    size_t i;

    for (i = 0; i <= k && code->pointers[i].number != number; i++) {
    }
    return i > k && number != NEST_MEMORY && number != NO_REGISTER;
}

/* The register that has the number of the element that pointer `k` begins at: its own, or rcx; bails out where there is none. */
static uint8_t find_first(struct nest_code *code, size_t k)
{
    const struct mdf_nest_view *view = &code->pointers[k].view;
    const struct mdf_nest_step *index = &code->nest->steps[view->at];
    struct emission *emission = code->emission;
    bool is_cast = index->kind == MDF_NEST_ELEMENT, is_number;
    struct machine_operand operand;

    index = is_cast ? &code->nest->steps[index->in[0]] : index;
    is_number = emission->lowered->values[index->view.id].is_scalar;
    if (is_number && !is_cast && index->dtype == MDF_DTYPE_INT64 &&
        is_kept(code, emission_target(emission, index->view.id, NO_REGISTER), k)) {
        return emission_find_index(emission, index->view.id, view->at_limit, RCX);
    }
    operand = in_memory(CELLS, (int32_t)(8 * index->view.id));
    if (!is_number) {
        assemble_load(nest_assembler(code), 8, RCX, emission_array_data(index->view.id));
        operand = in_memory(RCX, (int32_t)(index->view.first * (int64_t)mdf_dtype_size((mdf_dtype)index->dtype)));
    }
    if (index->dtype == MDF_DTYPE_INT32) {
        assemble_general(nest_assembler(code), GENERAL_SIGN_EXTEND, 8, RCX, operand);
    } else {
        assemble_load(nest_assembler(code), 8, RCX, operand);
    }
    emission_check_index(emission, RCX, view->at_limit, emission_range(emission, index->view.id));
    return RCX;
}

/* Moves pointer `k`, which is in a register, to the place that a whole number says, or bails out. rcx changes. */
static void add_index(struct nest_code *code, size_t k, uint8_t pointer)
{
    mdf_dtype dtype = (mdf_dtype)code->emission->lowered->values[code->pointers[k].id].form.dtype;
    int64_t step = code->pointers[k].view.at_stride * (int64_t)mdf_dtype_size(dtype);
    struct assembler *assembler = nest_assembler(code);
    uint8_t number = find_first(code, k);

    if (step == 1 || step == 2 || step == 4 || step == 8) {
        assemble_general(assembler, GENERAL_ADDRESS, 8, pointer, in_memory_at(pointer, number, (uint8_t)step, 0));
    } else {
        assemble_multiply_by(assembler, 8, RCX, in_register(number), (int32_t)step);
        assemble_general(assembler, GENERAL_ADD, 8, pointer, in_register(RCX));
    }
}

static void enter(struct nest_code *code, char *memory)
{
    struct assembler *assembler = nest_assembler(code);

    assemble_move_address(assembler, NEST_MEMORY, memory);
    for (size_t i = 0; i < N_NEST_SAVED; i++) {
        if (uses_register(code, saved_registers[i])) {
            assemble_store(assembler, 8, saved_registers[i], nest_word(code, NEST_WORDS - 1 - i));
        }
    }
    for (size_t i = 0; i < code->n_pointers; i++) {
        const struct nest_pointer *pointer = &code->pointers[i];
        uint8_t number = pointer->number != NO_REGISTER ? pointer->number : RAX;

        if (nest_is_fixed(pointer)) {
            continue;
        }
        if (pointer->id == MDF_LOWERED_NONE) {
            assemble_general(assembler, GENERAL_ADDRESS, 8, number, nest_row(code, pointer->offset));
        } else {
            assemble_load(assembler, 8, number, emission_array_data(pointer->id));
        }
        if (pointer->has_index) {
            add_index(code, i, number);
        }
        if (pointer->number == NO_REGISTER) {
            assemble_store(assembler, 8, number, nest_word(code, i));
        }
    }
}

void nest_emit(struct nest_code *code, char *memory)
{
    enter(code, memory);
    nest_emit_block(code, 0, memory);
    for (size_t i = 0; i < N_NEST_SAVED; i++) {
        if (uses_register(code, saved_registers[i])) {
            assemble_load(nest_assembler(code), 8, saved_registers[i], nest_word(code, NEST_WORDS - 1 - i));
        }
    }
}
