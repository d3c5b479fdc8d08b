/* x86_64_assembler.c - see x86_64_assembler.h. */
#include "mdf_c/machine/x86_64_assembler.h"

#include <string.h>

enum {
    LARGEST_CODE = 1 << 28, /* distances fit their four bytes by far */
    LONGEST_INSTRUCTION = 16,
    LOOK_BACK = 256 /* constants among which an equal one is looked for */
};

void assembler_init(struct assembler *assembler, struct mdf_memory *memory)
{
    *assembler = (struct assembler){.memory = memory};
}

void assembler_release(struct assembler *assembler)
{
    mdf_memory_release(assembler->memory, assembler->bytes);
    mdf_memory_release(assembler->memory, assembler->labels);
    mdf_memory_release(assembler->memory, assembler->fixups);
    mdf_memory_release(assembler->memory, assembler->constants);
    mdf_memory_release(assembler->memory, assembler->addresses);
    *assembler = (struct assembler){.memory = assembler->memory};
}

void *assembler_grow(struct assembler *assembler, void *items, size_t *capacity, size_t n, size_t item_size)
{
    void *grown;

    if (assembler->failed || n < *capacity) {
        return items;
    }
    grown = mdf_memory_grow(assembler->memory, items, capacity, n + 1, item_size);
    assembler->failed = grown == NULL;
    return grown == NULL ? items : grown;
}

/* Room for one more instruction. */
static bool make_room(struct assembler *assembler)
{
    if (assembler->n_bytes > LARGEST_CODE) {
        assembler->failed = true;
    }
    assembler->bytes =
        assembler_grow(assembler, assembler->bytes, &assembler->capacity, assembler->n_bytes + LONGEST_INSTRUCTION, 1);
    return !assembler->failed;
}

static void put(struct assembler *assembler, unsigned byte)
{
    assembler->bytes[assembler->n_bytes++] = (uint8_t)byte;
}

static void put_four(struct assembler *assembler, uint32_t number)
{
    for (unsigned i = 0; i < 4; i++) {
        put(assembler, number >> 8 * i & 0xFF);
    }
}

static void add_fixup(struct assembler *assembler, machine_label label, unsigned n_behind)
{
    assembler->fixups =
        assembler_grow(assembler, assembler->fixups, &assembler->fixup_capacity, assembler->n_fixups, sizeof *assembler->fixups);
    if (!assembler->failed) {
        assembler->fixups[assembler->n_fixups++] = (struct machine_fixup){assembler->n_bytes, label, (uint8_t)n_behind};
    }
}

bool assembler_finish(struct assembler *assembler)
{
    assembler->end = assembler->n_bytes;
    for (size_t i = 0; i < assembler->n_constants; i++) {
        assemble_align(assembler, 32);
        assembler->bytes = assembler_grow(assembler, assembler->bytes, &assembler->capacity, assembler->n_bytes + 32, 1);
        if (assembler->failed) {
            return false;
        }
        bind_label(assembler, assembler->constants[i].label);
        memcpy(assembler->bytes + assembler->n_bytes, assembler->constants[i].words, 32);
        assembler->n_bytes += 32;
    }
    for (size_t i = 0; i < assembler->n_fixups && !assembler->failed; i++) {
        const struct machine_fixup *fixup = &assembler->fixups[i];
        size_t target = assembler->labels[fixup->label];
        uint32_t distance = (uint32_t)(target - fixup->at - 4 - fixup->n_behind);

        assembler->failed = target == SIZE_MAX;
        memcpy(assembler->bytes + fixup->at, &distance, sizeof distance);
    }
    return !assembler->failed;
}

/* ------------------------------------------------------------------ operands, labels */

struct machine_operand in_register(uint8_t number)
{
    return (struct machine_operand){.kind = IN_REGISTER, .number = number, .index = NO_REGISTER};
}

struct machine_operand in_memory(uint8_t base, int32_t displacement)
{
    return (struct machine_operand){.kind = IN_MEMORY, .number = base, .index = NO_REGISTER, .displacement = displacement};
}

struct machine_operand in_memory_at(uint8_t base, uint8_t index, uint8_t scale, int32_t displacement)
{
    return (struct machine_operand){
        .kind = IN_MEMORY, .number = base, .index = index, .scale = scale, .displacement = displacement};
}

struct machine_operand constant_words_operand(struct assembler *assembler, const uint64_t words[4])
{
    struct machine_operand operand = {.kind = AT_LABEL, .index = NO_REGISTER};
    size_t first = assembler->n_constants > LOOK_BACK ? assembler->n_constants - LOOK_BACK : 0;
    struct machine_constant *constant;

    for (size_t i = first; i < assembler->n_constants; i++) {
        if (memcmp(assembler->constants[i].words, words, sizeof assembler->constants[i].words) == 0) {
            operand.label = assembler->constants[i].label;
            return operand;
        }
    }
    operand.label = new_label(assembler);
    assembler->constants = assembler_grow(assembler, assembler->constants, &assembler->constant_capacity, assembler->n_constants,
                                          sizeof *assembler->constants);
    if (!assembler->failed) {
        constant = &assembler->constants[assembler->n_constants++];
        *constant = (struct machine_constant){{words[0], words[1], words[2], words[3]}, operand.label};
    }
    return operand;
}

struct machine_operand constant_operand(struct assembler *assembler, uint64_t pattern, size_t size)
{
    for (size_t filled = size; filled < 8; filled *= 2) {
        uint64_t low = pattern & ((UINT64_C(1) << 8 * filled) - 1);

        pattern = low | low << 8 * filled;
    }
    return constant_words_operand(assembler, (uint64_t[]){pattern, pattern, pattern, pattern});
}

machine_label new_label(struct assembler *assembler)
{
    assembler->labels =
        assembler_grow(assembler, assembler->labels, &assembler->label_capacity, assembler->n_labels, sizeof *assembler->labels);
    if (assembler->failed || assembler->n_labels >= UINT32_MAX) {
        assembler->failed = true;
        return 0;
    }
    assembler->labels[assembler->n_labels] = SIZE_MAX;
    return (machine_label)assembler->n_labels++;
}

void bind_label(struct assembler *assembler, machine_label label)
{
    assembler->mask_bytes = 0; /* who comes from elsewhere may have another one */
    if (!assembler->failed) {
        assembler->labels[label] = assembler->n_bytes;
    }
}

void assemble_align(struct assembler *assembler, size_t alignment)
{
    static const uint8_t nothing[][9] = {{0x90},
                                         {0x66, 0x90},
                                         {0x0F, 0x1F, 0x00},
                                         {0x0F, 0x1F, 0x40, 0x00},
                                         {0x0F, 0x1F, 0x44, 0x00, 0x00},
                                         {0x66, 0x0F, 0x1F, 0x44, 0x00, 0x00},
                                         {0x0F, 0x1F, 0x80, 0x00, 0x00, 0x00, 0x00},
                                         {0x0F, 0x1F, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
                                         {0x66, 0x0F, 0x1F, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00}};
    size_t n = (alignment - assembler->n_bytes % alignment) % alignment, length;

    for (; n > 0 && make_room(assembler); n -= length) {
        length = n < 9 ? n : 9;
        memcpy(assembler->bytes + assembler->n_bytes, nothing[length - 1], length);
        assembler->n_bytes += length;
    }
}

/* The byte that names register and operand, and what follows it. `n_behind` bytes of the instruction come after; `may_be_short`:
 * a displacement may have one byte. */
static void put_operand(struct assembler *assembler, unsigned number, const struct machine_operand *operand, unsigned n_behind,
                        bool may_be_short)
{
    unsigned field = (number & 7) << 3, base = operand->number & 7, mode;
    bool is_short = may_be_short && operand->displacement >= -128 && operand->displacement <= 127;

    assembler->touched |= (uint16_t)(1U << (number & 15));
    if (operand->kind == IN_REGISTER) {
        assembler->touched |= (uint16_t)(1U << (operand->number & 15));
        put(assembler, 0xC0 | field | base);
        return;
    }
    if (operand->kind == AT_LABEL) {
        put(assembler, 0x05 | field);
        add_fixup(assembler, operand->label, n_behind);
        put_four(assembler, 0);
        return;
    }
    mode = operand->displacement == 0 && base != RBP ? 0x00 : is_short ? 0x40 : 0x80;
    if (operand->index != NO_REGISTER) {
        unsigned scale = operand->scale == 8 ? 3u : operand->scale == 4 ? 2u : operand->scale == 2 ? 1u : 0u;

        put(assembler, mode | field | 4);
        put(assembler, scale << 6 | (operand->index & 7u) << 3 | base);
    } else {
        put(assembler, mode | field | base);
        if (base == RSP) {
            put(assembler, 0x24);
        }
    }
    if (mode == 0x40) {
        put(assembler, (unsigned)operand->displacement & 0xFF);
    } else if (mode == 0x80) {
        put_four(assembler, (uint32_t)operand->displacement);
    }
}

static bool has_upper_base(const struct machine_operand *operand)
{
    return operand->kind != AT_LABEL && operand->number > 7;
}

static bool has_upper_index(const struct machine_operand *operand)
{
    return operand->kind == IN_MEMORY && operand->index != NO_REGISTER && operand->index > 7;
}

void assemble_jump(struct assembler *assembler, machine_label label)
{
    if (make_room(assembler)) {
        put(assembler, 0xE9);
        add_fixup(assembler, label, 0);
        put_four(assembler, 0);
    }
}

void assemble_jump_if(struct assembler *assembler, enum machine_condition condition, machine_label label)
{
    if (make_room(assembler)) {
        put(assembler, 0x0F);
        put(assembler, 0x80u + condition);
        add_fixup(assembler, label, 0);
        put_four(assembler, 0);
    }
}

/* ------------------------------------------------------------------ integer instructions */

/* `force`: the registers are seen as bytes, of which some need the prefix. */
static void put_prefix(struct assembler *assembler, unsigned size, unsigned number, const struct machine_operand *operand,
                       bool force)
{
    unsigned prefix = (size == 8 ? 8u : 0u) | (number > 7 ? 4u : 0u) | (has_upper_index(operand) ? 2u : 0u) |
                      (has_upper_base(operand) ? 1u : 0u);

    if (prefix != 0 || force) {
        put(assembler, 0x40 | prefix);
    }
}

static void put_opcode(struct assembler *assembler, unsigned code)
{
    if (code > 0xFF) {
        put(assembler, code >> 8);
    }
    put(assembler, code & 0xFF);
}

void assemble_general(struct assembler *assembler, unsigned code, unsigned size, uint8_t number, struct machine_operand operand)
{
    if (make_room(assembler)) {
        put_prefix(assembler, size, number, &operand,
                   code == GENERAL_LOAD_BYTE || code == GENERAL_SIGN_BYTE || code == GENERAL_COMPARE_BYTE);
        put_opcode(assembler, code);
        put_operand(assembler, number, &operand, 0, true);
    }
}

void assemble_single(struct assembler *assembler, enum general_single code, unsigned size, struct machine_operand operand)
{
    if (code == SINGLE_CALL) {
        assembler->mask_bytes = 0;
        assembler->touched = UINT16_MAX;
    }
    if (make_room(assembler)) {
        put_prefix(assembler, size, 0, &operand, false);
        put(assembler, code & 0xFF);
        put_operand(assembler, (unsigned)code >> 8, &operand, 0, true);
    }
}

void assemble_prefetch(struct assembler *assembler, struct machine_operand operand)
{
    if (make_room(assembler)) {
        put_prefix(assembler, 4, 0, &operand, false);
        put(assembler, 0x0F);
        put(assembler, 0x18);
        put_operand(assembler, 2, &operand, 0, true);
    }
}

void assemble_with_number(struct assembler *assembler, enum general_with_number code, unsigned size,
                          struct machine_operand operand, int32_t number)
{
    bool is_short = number >= -128 && number <= 127;

    if (!make_room(assembler)) {
        return;
    }
    put_prefix(assembler, size, 0, &operand, size == 1 && operand.kind == IN_REGISTER);
    put(assembler, size == 1 ? 0x80 : is_short ? 0x83 : 0x81);
    put_operand(assembler, code, &operand, is_short ? 1 : 4, true);
    if (is_short) {
        put(assembler, (unsigned)number & 0xFF);
    } else {
        put_four(assembler, (uint32_t)number);
    }
}

void assemble_test_number(struct assembler *assembler, unsigned size, struct machine_operand operand, int32_t number)
{
    if (make_room(assembler)) {
        put_prefix(assembler, size, 0, &operand, false);
        put(assembler, 0xF7);
        put_operand(assembler, 0, &operand, 4, true);
        put_four(assembler, (uint32_t)number);
    }
}

void assemble_multiply_by(struct assembler *assembler, unsigned size, uint8_t target, struct machine_operand operand,
                          int32_t number)
{
    if (make_room(assembler)) {
        put_prefix(assembler, size, target, &operand, false);
        put(assembler, 0x69);
        put_operand(assembler, target, &operand, 4, true);
        put_four(assembler, (uint32_t)number);
    }
}

void assemble_shift(struct assembler *assembler, enum general_shift code, unsigned size, uint8_t number, uint8_t n_bits)
{
    struct machine_operand operand = in_register(number);

    if (make_room(assembler)) {
        put_prefix(assembler, size, 0, &operand, false);
        put(assembler, 0xC1);
        put_operand(assembler, code, &operand, 1, true);
        put(assembler, n_bits);
    }
}

void assemble_store(struct assembler *assembler, unsigned size, uint8_t number, struct machine_operand operand)
{
    if (!make_room(assembler)) {
        return;
    }
    if (size == 2) {
        put(assembler, 0x66);
    }
    put_prefix(assembler, size, number, &operand, size == 1);
    put(assembler, size == 1 ? 0x88 : GENERAL_STORE);
    put_operand(assembler, number, &operand, 0, true);
}

void assemble_load(struct assembler *assembler, unsigned size, uint8_t number, struct machine_operand operand)
{
    unsigned code = size == 1 ? GENERAL_LOAD_BYTE : size == 2 ? GENERAL_LOAD_SHORT : GENERAL_LOAD;

    assemble_general(assembler, code, size == 8 ? 8 : 4, number, operand);
}

void assemble_set_if(struct assembler *assembler, enum machine_condition condition, uint8_t number)
{
    struct machine_operand operand = in_register(number);

    if (make_room(assembler)) {
        put_prefix(assembler, 4, 0, &operand, true);
        put_opcode(assembler, 0x0F90u + condition);
        put_operand(assembler, 0, &operand, 0, true);
    }
}

void assemble_move_number(struct assembler *assembler, uint8_t number, uint64_t value)
{
    struct machine_operand operand = in_register(number);
    bool is_sign_extended = (int64_t)value >= INT32_MIN && (int64_t)value<0, is_wide = value> UINT32_MAX;

    if (!make_room(assembler)) {
        return;
    }
    assembler->touched |= (uint16_t)(1U << (number & 15));
    put_prefix(assembler, is_wide ? 8 : 4, 0, &operand, false);
    if (is_sign_extended) {
        put(assembler, 0xC7);
        put_operand(assembler, 0, &operand, 4, true);
    } else {
        put(assembler, 0xB8u + (number & 7u));
    }
    put_four(assembler, (uint32_t)value);
    if (is_wide && !is_sign_extended) {
        put_four(assembler, (uint32_t)(value >> 32));
    }
}

void assemble_move_address(struct assembler *assembler, uint8_t number, const void *address)
{
    struct machine_operand operand = in_register(number);
    uint64_t value = (uint64_t)(uintptr_t)address;

    if (address == NULL) {
        assemble_move_number(assembler, number, 0);
        return;
    }
    assembler->addresses = assembler_grow(assembler, assembler->addresses, &assembler->address_capacity, assembler->n_addresses,
                                          sizeof *assembler->addresses);
    if (!make_room(assembler)) {
        return;
    }
    assembler->touched |= (uint16_t)(1U << (number & 15));
    put_prefix(assembler, 8, 0, &operand, false);
    put(assembler, 0xB8u + (number & 7u));
    assembler->addresses[assembler->n_addresses++] = assembler->n_bytes;
    put_four(assembler, (uint32_t)value);
    put_four(assembler, (uint32_t)(value >> 32));
}

void assemble_move(struct assembler *assembler, uint8_t target, uint8_t source)
{
    if (target != source) {
        assemble_general(assembler, GENERAL_LOAD, 8, target, in_register(source));
    }
}

void assemble_sign_of_rax(struct assembler *assembler)
{
    if (make_room(assembler)) {
        put(assembler, 0x48);
        put(assembler, 0x99);
    }
}

static void put_short(struct assembler *assembler, unsigned opcode, uint8_t number)
{
    assembler->touched |= (uint16_t)(1U << (number & 15));
    if (make_room(assembler)) {
        if (number > 7) {
            put(assembler, 0x41);
        }
        put(assembler, opcode + (number & 7u));
    }
}

void assemble_push(struct assembler *assembler, uint8_t number)
{
    put_short(assembler, 0x50, number);
}

void assemble_pop(struct assembler *assembler, uint8_t number)
{
    put_short(assembler, 0x58, number);
}

void assemble_return(struct assembler *assembler)
{
    put_short(assembler, 0xC3, 0);
}

/* ------------------------------------------------------------------ SSE and AVX */

static void put_vector(struct assembler *assembler, unsigned code, unsigned size, unsigned target, unsigned first,
                       const struct machine_operand *operand, unsigned n_behind)
{
    unsigned opcode = code & 0xFF, prefix = code >> 8 & 3, table = code >> 10 & 3, w = code >> 12 & 1;
    unsigned tail = (~first & 15u) << 3 | (size == 32 ? 4u : 0u) | prefix, not_upper = target > 7 ? 0u : 0x80u;

    if (table == 1 && w == 0 && !has_upper_base(operand) && !has_upper_index(operand)) {
        put(assembler, 0xC5);
        put(assembler, not_upper | tail);
    } else {
        put(assembler, 0xC4);
        put(assembler, not_upper | (has_upper_index(operand) ? 0u : 0x40u) | (has_upper_base(operand) ? 0u : 0x20u) | table);
        put(assembler, w << 7 | tail);
    }
    put(assembler, opcode);
    put_operand(assembler, target, operand, n_behind, true);
}

/* Of whole numbers in the table of reals: of 8 bytes; of any. */
static bool is_of_longs(unsigned code)
{
    return code == VECTOR_ADD_INTS_8 || code == VECTOR_SUBTRACT_INTS_8 || code == VECTOR_SHIFT_INTS_8 ||
           code == VECTOR_MULTIPLY_HALVES;
}

static bool is_of_ints(unsigned code)
{
    return (code & VECTOR_IS_WIDE_SET) != 0 || code == VECTOR_ADD_INTS || code == VECTOR_SUBTRACT_INTS ||
           code == VECTOR_SHIFT_INTS;
}

/* Whether the form of 64 bytes says that elements have 8. */
static bool has_long_elements(unsigned code)
{
    bool is_real = (code >> 10 & 3) == 1 && !is_of_ints(code);

    return (code >> 12 & 1) != 0 || is_of_longs(code) || code == VECTOR_BROADCAST_8 || code == VECTOR_ROUND_DOUBLES ||
           (is_real && (code >> 8 & 3) == 1);
}

/* With the prefix EVEX. Displacements have four bytes, as those of one are counted in sizes of the operand. */
static void put_widest(struct assembler *assembler, unsigned code, unsigned size, unsigned target, unsigned first,
                       struct machine_operand operand, unsigned n_behind)
{
    unsigned length = size == 64 ? 0x40u : size == 32 ? 0x20u : 0u;

    unsigned table = code >> 10 & 3, prefix = code >> 8 & 3, w = has_long_elements(code) ? 0x80u : 0u;
    bool is_spread = operand.kind == AT_LABEL && code != VECTOR_BROADCAST_4 && code != VECTOR_BROADCAST_8;

    put(assembler, 0x62);
    put(assembler, (target > 7 ? 0u : 0x80u) | (has_upper_index(&operand) ? 0u : 0x40u) |
                       (has_upper_base(&operand) ? 0u : 0x20u) | 0x10u | table);
    put(assembler, w | (~first & 15u) << 3 | 4u | prefix);
    put(assembler, length | (is_spread ? 0x18u : 0x08u) | ((code & VECTOR_IS_ZEROED) != 0 ? 0x80u : 0u) |
                       ((code & VECTOR_IS_MASKED) != 0 ? VECTOR_MASK : 0u));
    put(assembler, code & 0xFF);
    put_operand(assembler, target, &operand, n_behind, false);
}

/* An instruction one of whose operands is that register, which it may write: VECTOR_MASK and its vector are no longer the same.
 * It is the first one, but of a few. */
static void forget_mask(struct assembler *assembler, unsigned code, unsigned size, uint8_t target, uint8_t first,
                        const struct machine_operand *second)
{
    bool is_second = code == VECTOR_UPPER_HALF || code == VECTOR_UPPER_32 || code == VECTOR_NARROW_INTS_8 ||
                     code == VECTOR_HALVES_OF_FLOATS || code == VECTOR_BYTES_OF_INTS || code == VECTOR_SHORTS_OF_INTS ||
                     code == VECTOR_BYTES_OF_SHORTS;

    bool is_shift = code == VECTOR_SHIFT_INTS || code == VECTOR_SHIFT_INTS_8 || code == VECTOR_SHIFT_SHORTS ||
                    code == VECTOR_ROTATE_INTS || code == VECTOR_ROTATE_INTS_8;

    assembler->touched |= (uint16_t)(1U << (first & 15));
    target = is_shift ? first : target;
    if (code == VECTOR_MASK_OF_GENERAL || target == assembler->mask_of ||
        ((size == 64 || (code & VECTOR_IS_WIDE_SET) != 0) && target == VECTOR_MASK) ||
        (is_second && second->kind == IN_REGISTER && second->number == assembler->mask_of)) {
        assembler->mask_bytes = 0;
    }
}

void assemble_vector(struct assembler *assembler, unsigned code, unsigned size, uint8_t target, uint8_t first,
                     struct machine_operand second)
{
    forget_mask(assembler, code, size, target, first, &second);
    if ((size == 64 || (code & VECTOR_IS_WIDE_SET) != 0) && make_room(assembler)) {
        put_widest(assembler, code, size, target, first, second, 0);
    } else if (make_room(assembler)) {
        put_vector(assembler, code, size, target, first, &second, 0);
    }
}

void assemble_vector_with_number(struct assembler *assembler, unsigned code, unsigned size, uint8_t target, uint8_t first,
                                 struct machine_operand second, uint8_t number)
{
    forget_mask(assembler, code, size, target, first, &second);
    if ((size == 64 || (code & VECTOR_IS_WIDE_SET) != 0) && make_room(assembler)) {
        put_widest(assembler, code, size, target, first, second, 1);
        put(assembler, number);
    } else if (make_room(assembler)) {
        put_vector(assembler, code, size, target, first, &second, 1);
        put(assembler, number);
    }
}

void assemble_vector_end(struct assembler *assembler)
{
    assembler->mask_bytes = 0;
    if (make_room(assembler)) {
        put(assembler, 0xC5);
        put(assembler, 0xF8);
        put(assembler, 0x77);
    }
}
