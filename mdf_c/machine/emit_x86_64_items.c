/* emit_x86_64_items.c - see emit_x86_64_packed.h. Items: where they lie, how they get into registers and out. What is needed last
 * is the first to lose its register. */
#include "mdf_c/machine/emit_x86_64_packed.h"

#include <string.h>

enum {
    SMALLEST_N_MOVING = 5, /* registers for what is not the same in each run of the loop */
    SLOT = 32              /* bytes for an item in memory */
};

/* rax and rcx are taken, and r11. */
static const uint8_t pointer_registers[] = {RDX, RSI, RDI, R8, R9, R10};

static const struct mdf_lowered_value *value_of(const struct packed *packed, uint32_t item)
{
    return &packed->emission->lowered->values[packed->items[item].id];
}

unsigned packed_size(const struct packed *packed, unsigned element_size)
{
    return packed->lanes * element_size > 16 ? 32 : 16;
}

static unsigned register_size(const struct packed *packed, uint32_t item)
{
    return packed_size(packed, packed->items[item].size);
}

/* ------------------------------------------------------------------ finding items */

/* The item of a value; `ids` lists those of all values, NO_ITEM where there is none yet. */
static uint32_t find_item(struct packed *packed, uint32_t *ids, mdf_lowered_id id, size_t at, bool is_made)
{
    const struct mdf_lowered_value *value = &packed->emission->lowered->values[id];
    struct packed_item *item;

    if (ids[id] != NO_ITEM) {
        return ids[id];
    }
    item = &packed->items[packed->n_items];
    *item = (struct packed_item){
        .id = id, .number = NO_REGISTER, .pointer = NO_REGISTER, .first = (uint32_t)at, .last = (uint32_t)at};
    item->dtype = value->form.dtype;
    item->is_bool = item->dtype == MDF_DTYPE_BOOL;
    item->size = (uint8_t)(item->is_bool ? packed->width : mdf_dtype_size((mdf_dtype)value->form.dtype));
    item->kind = is_made                                ? ITEM_MADE
                 : !value->is_scalar                    ? ITEM_ARRAY
                 : value->place == MDF_LOWERED_CONSTANT ? ITEM_CONSTANT
                                                        : ITEM_SCALAR;
    return ids[id] = (uint32_t)packed->n_items++;
}

static void find_items(struct packed *packed, uint32_t *ids)
{
    size_t i, j;

    for (i = 0; i < packed->n_ops; i++) {
        struct packed_op *op = &packed->ops[i];

        op->op = &packed->fused->body.ops[i];
        for (j = 0; j < op->op->n_in; j++) {
            op->in[j] = find_item(packed, ids, op->op->in[j], i, false);
            packed->items[op->in[j]].last = (uint32_t)i;
        }
        op->out = find_item(packed, ids, op->op->out, i, true);
    }
    for (i = 0; i < packed->n_items; i++) {
        ids[packed->items[i].id] = NO_ITEM;
    }
}

/* The most items at a time that are no scalars in all lanes: what comes in from its first use, what is made, to its last use. */
static size_t count_moving(const struct packed *packed)
{
    size_t at, i, n, most = 0;

    for (at = 0; at < packed->n_ops; at++) {
        for (i = 0, n = 0; i < packed->n_items; i++) {
            const struct packed_item *item = &packed->items[i];

            n += (item->kind == ITEM_ARRAY || item->kind == ITEM_MADE) && item->first <= at && at <= item->last;
        }
        most = n > most ? n : most;
    }
    return most;
}

static void fix(struct packed *packed, enum item_kind kind, size_t most, size_t *n_fixed)
{
    size_t i;

    for (i = 0; i < packed->n_items && *n_fixed < most; i++) {
        struct packed_item *item = &packed->items[i];

        if (item->kind == kind) {
            item->is_fixed = true;
            item->number = (uint8_t)(N_REAL_REGISTERS - 1 - (*n_fixed)++);
            packed->in_registers[item->number] = (uint32_t)i;
        }
    }
}

/* Scalars first, then constants, which can as well be read from memory, stay in registers where there is room for the rest. */
static void give_registers(struct packed *packed)
{
    size_t n_moving = count_moving(packed) + 1, n_pointers = 0, n_fixed = 0, i;
    size_t room = n_moving + SMALLEST_N_MOVING < N_REAL_REGISTERS ? N_REAL_REGISTERS - n_moving : SMALLEST_N_MOVING;

    room = room > N_REAL_REGISTERS - SMALLEST_N_MOVING ? N_REAL_REGISTERS - SMALLEST_N_MOVING : room;
    for (i = 0; i < packed->n_items; i++) {
        struct packed_item *item = &packed->items[i];
        bool has_array = item->kind == ITEM_ARRAY || (item->kind == ITEM_MADE && value_of(packed, (uint32_t)i)->is_stored);

        if (has_array && n_pointers < sizeof pointer_registers) {
            item->pointer = pointer_registers[n_pointers++];
        }
    }
    fix(packed, ITEM_SCALAR, room, &n_fixed);
    if (packed->fused->n > packed->lanes) {
        fix(packed, ITEM_CONSTANT, room, &n_fixed);
    }
}

bool packed_init(struct packed *packed, struct emission *emission, const struct mdf_lowered_fused *fused)
{
    *packed = (struct packed){.emission = emission,
                              .assembler = emission->assembler,
                              .fused = fused,
                              .lanes = packed->lanes,
                              .width = packed->width,
                              .n_ops = fused->body.n_ops};
    memset(packed->in_registers, 0xFF, sizeof packed->in_registers);
    packed->ops = mdf_memory_allocate_zeroed(emission->memory, packed->n_ops, sizeof *packed->ops);
    packed->items = mdf_memory_allocate_zeroed(emission->memory, packed->n_ops * (MDF_MAX_OPERANDS + 1), sizeof *packed->items);
    if (emission->items == NULL) {
        emission->items = mdf_memory_allocate_zeroed(emission->memory, emission->lowered->n_values, sizeof *emission->items);
        if (emission->items != NULL) {
            memset(emission->items, 0xFF, emission->lowered->n_values * sizeof *emission->items);
        }
    }
    if (packed->ops == NULL || packed->items == NULL || emission->items == NULL) {
        packed_release(packed);
        return false;
    }
    find_items(packed, emission->items);
    give_registers(packed);
    return true;
}

void packed_release(struct packed *packed)
{
    mdf_memory_release(packed->emission->memory, packed->ops);
    mdf_memory_release(packed->emission->memory, packed->items);
}

/* ------------------------------------------------------------------ places in memory */

static struct machine_operand slot_of(uint32_t item)
{
    return in_memory(ITEM_MEMORY, (int32_t)(SLOT * item));
}

/* The next elements of an item's array. */
static struct machine_operand elements_of(struct packed *packed, uint32_t item)
{
    uint8_t pointer = packed->items[item].pointer;
    uint8_t scale = packed->items[item].is_bool ? 1 : packed->items[item].size;

    if (pointer == NO_REGISTER) {
        assemble_load(packed->assembler, 8, RCX, emission_array_data(packed->items[item].id));
        pointer = RCX;
    }
    return in_memory_at(pointer, COUNTER, scale, 0);
}

static struct machine_operand constant_of(struct packed *packed, uint32_t item)
{
    uint64_t bits = emission_constant(packed->emission, packed->items[item].id);

    if (packed->items[item].is_bool) {
        bits = bits != 0 ? UINT64_MAX : 0;
    }
    return constant_operand(packed->assembler, bits, packed->items[item].is_bool ? 8 : packed->items[item].size);
}

/* Bytes 0 and 1 become masks. */
static void load_bools(struct packed *packed, uint32_t item, uint8_t number)
{
    struct assembler *assembler = packed->assembler;
    unsigned size = register_size(packed, item), width = packed->width;
    struct machine_operand bytes = elements_of(packed, item);

    if (packed->lanes == 1) {
        assemble_general(assembler, GENERAL_LOAD_BYTE, 4, RCX, bytes);
        assemble_single(assembler, SINGLE_NEGATE, 8, in_register(RCX));
        assemble_vector(assembler, VECTOR_FROM_GENERAL_8, 16, number, 0, in_register(RCX));
        return;
    }
    assemble_vector(assembler, width == 4 ? VECTOR_EXTEND_BYTES_TO_4 : VECTOR_EXTEND_BYTES_TO_8, size, number, 0, bytes);
    assemble_vector(assembler, VECTOR_EXCLUSIVE_OR, 16, SCRATCH_REAL, SCRATCH_REAL, in_register(SCRATCH_REAL));
    assemble_vector(assembler, width == 4 ? VECTOR_SUBTRACT_INTS : VECTOR_SUBTRACT_INTS_8, size, number, SCRATCH_REAL,
                    in_register(number));
}

static void load_item(struct packed *packed, uint32_t item, uint8_t number)
{
    const struct packed_item *of = &packed->items[item];
    unsigned n_bytes = packed->lanes * of->size;

    if (of->kind == ITEM_CONSTANT) {
        assemble_vector(packed->assembler, VECTOR_LOAD, register_size(packed, item), number, 0, constant_of(packed, item));
    } else if (of->kind != ITEM_ARRAY) {
        assemble_vector(packed->assembler, VECTOR_LOAD, register_size(packed, item), number, 0, slot_of(item));
    } else if (of->is_bool) {
        load_bools(packed, item, number);
    } else {
        unsigned code = n_bytes == 4 ? VECTOR_LOAD_FLOAT : n_bytes == 8 ? VECTOR_LOAD_DOUBLE : VECTOR_LOAD;

        assemble_vector(packed->assembler, code, register_size(packed, item), number, 0, elements_of(packed, item));
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

static void store_bools(struct packed *packed, uint32_t item)
{
    packed_make_bytes(packed, packed->items[item].number);
    if (packed->lanes == 1) {
        assemble_vector_with_number(packed->assembler, VECTOR_STORE_BYTE, 16, SCRATCH_REAL, 0, elements_of(packed, item), 0);
    } else {
        assemble_vector(packed->assembler, packed->lanes == 8 ? VECTOR_STORE_DOUBLE : VECTOR_STORE_FLOAT, 16, SCRATCH_REAL, 0,
                        elements_of(packed, item));
    }
}

void packed_store(struct packed *packed, uint32_t item)
{
    const struct packed_item *of = &packed->items[item];
    unsigned n_bytes = packed->lanes * of->size;
    unsigned code = n_bytes == 4 ? VECTOR_STORE_FLOAT : n_bytes == 8 ? VECTOR_STORE_DOUBLE : VECTOR_STORE;

    if (!value_of(packed, item)->is_stored) {
        return;
    }
    if (of->is_bool) {
        store_bools(packed, item);
    } else {
        assemble_vector(packed->assembler, code, register_size(packed, item), of->number, 0, elements_of(packed, item));
    }
}

/* ------------------------------------------------------------------ before the loop */

/* A scalar into all lanes. */
static void enter_scalar(struct packed *packed, uint32_t item)
{
    struct assembler *assembler = packed->assembler;
    struct packed_item *of = &packed->items[item];
    struct machine_operand cell = emission_cell(packed->emission, of->id);
    uint8_t number = of->is_fixed ? of->number : SCRATCH_REAL;

    if (of->is_bool) {
        assemble_general(assembler, GENERAL_LOAD_BYTE, 4, RCX, cell);
        assemble_single(assembler, SINGLE_NEGATE, 8, in_register(RCX));
        assemble_vector(assembler, VECTOR_FROM_GENERAL_8, 16, number, 0, in_register(RCX));
        assemble_vector(assembler, VECTOR_BROADCAST_8, 32, number, 0, in_register(number));
    } else {
        assemble_vector(assembler, of->size == 4 ? VECTOR_BROADCAST_4 : VECTOR_BROADCAST_8, 32, number, 0, cell);
    }
    if (!of->is_fixed) {
        assemble_vector(assembler, VECTOR_STORE, 32, number, 0, slot_of(item));
    }
}

void packed_enter(struct packed *packed)
{
    struct assembler *assembler = packed->assembler;
    uint32_t i;

    /* First from registers to cells: the loop takes all registers. */
    for (i = 0; i < packed->n_items; i++) {
        if (packed->items[i].kind == ITEM_SCALAR) {
            emission_publish(packed->emission, packed->items[i].id);
        }
    }
    assemble_move_address(assembler, ITEM_MEMORY, packed->fused->tiles);
    for (i = 0; i < packed->n_items; i++) {
        if (packed->items[i].kind == ITEM_SCALAR) {
            enter_scalar(packed, i);
        } else if (packed->items[i].is_fixed) {
            assemble_vector(assembler, VECTOR_LOAD, 32, packed->items[i].number, 0, constant_of(packed, i));
        }
        if (packed->items[i].pointer != NO_REGISTER) {
            assemble_load(assembler, 8, packed->items[i].pointer, emission_array_data(packed->items[i].id));
        }
    }
}

/* ------------------------------------------------------------------ registers */

/* The first op from `at` on that reads the item; SIZE_MAX: none. */
static size_t next_use(const struct packed *packed, uint32_t item, size_t at)
{
    size_t i, j;

    for (i = at; i < packed->n_ops; i++) {
        for (j = 0; j < packed->ops[i].op->n_in; j++) {
            if (packed->ops[i].in[j] == item) {
                return i;
            }
        }
    }
    return SIZE_MAX;
}

static void empty_register(struct packed *packed, uint8_t number)
{
    uint32_t item = packed->in_registers[number];
    struct packed_item *of;

    if (item == NO_ITEM) {
        return;
    }
    of = &packed->items[item];
    if (of->kind == ITEM_MADE && !of->is_saved && of->last >= packed->at) {
        assemble_vector(packed->assembler, VECTOR_STORE, register_size(packed, item), number, 0, slot_of(item));
        of->is_saved = true;
    }
    of->number = NO_REGISTER;
    packed->in_registers[number] = NO_ITEM;
}

/* A free register, pinned. */
static uint8_t take_register(struct packed *packed)
{
    size_t farthest = 0, use;
    uint8_t number, best = NO_REGISTER;

    for (number = 0; number < N_REAL_REGISTERS; number++) {
        uint32_t item = packed->in_registers[number];

        if ((packed->pinned >> number & 1) != 0 || (item != NO_ITEM && packed->items[item].is_fixed)) {
            continue;
        }
        use = item == NO_ITEM ? SIZE_MAX : next_use(packed, item, packed->at);
        if (best == NO_REGISTER || use > farthest) {
            best = number;
            farthest = use;
        }
        if (item == NO_ITEM) {
            best = number;
            break;
        }
    }
    empty_register(packed, best);
    packed->pinned |= 1u << best;
    return best;
}

uint8_t packed_register(struct packed *packed, uint32_t item)
{
    struct packed_item *of = &packed->items[item];

    if (of->number == NO_REGISTER) {
        uint8_t number = take_register(packed);

        load_item(packed, item, number);
        of->number = number;
        packed->in_registers[number] = item;
    }
    packed->pinned |= 1u << of->number;
    return of->number;
}

struct machine_operand packed_operand(struct packed *packed, uint32_t item)
{
    const struct packed_item *of = &packed->items[item];
    bool is_whole = packed->lanes * of->size >= 16 && !of->is_bool;

    if (of->number == NO_REGISTER) {
        if (of->kind == ITEM_CONSTANT) {
            return constant_of(packed, item);
        }
        if (of->kind == ITEM_ARRAY && is_whole && packed->items[item].last <= packed->at) {
            return elements_of(packed, item);
        }
    }
    return in_register(packed_register(packed, item));
}

uint8_t packed_target(struct packed *packed, uint32_t item)
{
    uint8_t number = packed->items[item].number;

    if (number != NO_REGISTER) {
        return number;
    }
    /* What is read for the last time makes room. */
    for (number = 0; number < N_REAL_REGISTERS; number++) {
        uint32_t there = packed->in_registers[number];

        if (there != NO_ITEM && !packed->items[there].is_fixed && packed->items[there].last <= packed->at) {
            packed->items[there].number = NO_REGISTER;
            packed->in_registers[number] = NO_ITEM;
            packed->pinned &= ~(1u << number);
        }
    }
    number = take_register(packed);
    packed->items[item].number = number;
    packed->in_registers[number] = item;
    return number;
}

void packed_drop(struct packed *packed)
{
    uint8_t number;

    for (number = 0; number < N_REAL_REGISTERS; number++) {
        uint32_t item = packed->in_registers[number];

        if (item != NO_ITEM && !packed->items[item].is_fixed && packed->items[item].last <= packed->at) {
            packed->items[item].number = NO_REGISTER;
            packed->in_registers[number] = NO_ITEM;
        }
    }
    packed->pinned = 0;
}

void packed_forget(struct packed *packed)
{
    size_t i;

    for (i = 0; i < packed->n_items; i++) {
        struct packed_item *item = &packed->items[i];

        item->is_saved = false;
        if (!item->is_fixed && item->number != NO_REGISTER) {
            packed->in_registers[item->number] = NO_ITEM;
            item->number = NO_REGISTER;
        }
    }
}
