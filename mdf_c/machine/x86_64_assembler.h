/* x86_64_assembler.h - instructions of x86-64 as bytes: integer ones, and those of SSE and AVX in their VEX form.
 *
 * In: instructions, one call each, with labels for places that are known later. Out: the bytes, constants behind them. Where
 * memory is refused or the code gets too long, `failed` is set and all else does nothing. Source: Intel 64 and IA-32
 * Architectures Software Developer's Manual, volume 2. */
#ifndef MDF_MACHINE_X86_64_ASSEMBLER_H
#define MDF_MACHINE_X86_64_ASSEMBLER_H

#include "mdf_c/base/memory.h"

#include <stdint.h>

enum general_register { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15, NO_REGISTER };

enum machine_condition {
    IF_OVERFLOW,
    IF_NO_OVERFLOW,
    IF_BELOW,
    IF_ABOVE_OR_EQUAL,
    IF_EQUAL,
    IF_NOT_EQUAL,
    IF_BELOW_OR_EQUAL,
    IF_ABOVE,
    IF_NEGATIVE,
    IF_NOT_NEGATIVE,
    IF_PARITY,
    IF_NO_PARITY,
    IF_LESS,
    IF_GREATER_OR_EQUAL,
    IF_LESS_OR_EQUAL,
    IF_GREATER
};

typedef uint32_t machine_label;

/* Where an operand lies: in a register; in memory at base + index * scale + displacement; or at a label. */
struct machine_operand {
    enum { IN_REGISTER, IN_MEMORY, AT_LABEL } kind;
    uint8_t number; /* of the register, or of the base */
    uint8_t index;  /* NO_REGISTER: none */
    uint8_t scale;  /* 1, 2, 4, 8 */
    int32_t displacement;
    machine_label label;
};

struct machine_fixup {
    size_t at; /* of four bytes that say how far it is from behind them */
    machine_label label;
    uint8_t n_behind; /* bytes of the instruction that follow these four */
};

struct machine_constant {
    uint64_t words[4]; /* 32 bytes, aligned to 32 */
    machine_label label;
};

struct assembler {
    struct mdf_memory *memory;
    uint8_t *bytes;
    size_t n_bytes, capacity;
    size_t *labels; /* offset, SIZE_MAX while it is not known */
    size_t n_labels, label_capacity;
    struct machine_fixup *fixups;
    size_t n_fixups, fixup_capacity;
    struct machine_constant *constants;
    size_t n_constants, constant_capacity;
    size_t *addresses; /* where the 8 bytes of each address begin, in order */
    size_t n_addresses, address_capacity;
    size_t end; /* of the instructions: where the constants begin */
    /* VECTOR_MASK has what vector register `mask_of` says of elements of so many bytes; 0: it is not known what it has. */
    uint8_t mask_bytes, mask_of;
    uint16_t
        touched; /* a bit for the number of each register, general or vector, of which something may have become another one */
    bool failed;
};

void assembler_init(struct assembler *assembler, struct mdf_memory *memory);
void assembler_release(struct assembler *assembler);
/* Room for one more item behind `n` of a list that is made with the code. With `failed` set there is none. */
void *assembler_grow(struct assembler *assembler, void *items, size_t *capacity, size_t n, size_t item_size);
/* Puts the constants behind the code and fills in the labels. False: failed. */
bool assembler_finish(struct assembler *assembler);

struct machine_operand in_register(uint8_t number);
struct machine_operand in_memory(uint8_t base, int32_t displacement);
struct machine_operand in_memory_at(uint8_t base, uint8_t index, uint8_t scale, int32_t displacement);
/* 32 bytes of constant: the pattern of `size` bytes (1, 2, 4, 8) again and again. */
struct machine_operand constant_operand(struct assembler *assembler, uint64_t pattern, size_t size);

/* 32 bytes of constant that are not one pattern. */
struct machine_operand constant_words_operand(struct assembler *assembler, const uint64_t words[4]);

machine_label new_label(struct assembler *assembler);
void bind_label(struct assembler *assembler, machine_label label);
/* Fills up with instructions that do nothing until the offset is a multiple of `alignment`, a power of two. */
void assemble_align(struct assembler *assembler, size_t alignment);
void assemble_jump(struct assembler *assembler, machine_label label);
void assemble_jump_if(struct assembler *assembler, enum machine_condition condition, machine_label label);

/* --- integer instructions. `size` is 4 or 8: with 4 the upper half of a register that is written becomes 0. */

enum general_code { /* 0x0F00: behind the byte 0F */
                    GENERAL_ADD = 0x03,
                    GENERAL_OR = 0x0B,
                    GENERAL_AND = 0x23,
                    GENERAL_SUBTRACT = 0x2B,
                    GENERAL_EXCLUSIVE_OR = 0x33,
                    GENERAL_COMPARE = 0x3B,
                    GENERAL_COMPARE_BYTE = 0x3A, /* size 4 */
                    GENERAL_TEST = 0x85,
                    GENERAL_LOAD = 0x8B,
                    GENERAL_STORE = 0x89,
                    GENERAL_ADDRESS = 0x8D,     /* lea */
                    GENERAL_SIGN_EXTEND = 0x63, /* movsxd: of 4 bytes, to size */
                    GENERAL_MULTIPLY = 0x0FAF,
                    GENERAL_LOAD_BYTE = 0x0FB6,  /* movzx */
                    GENERAL_LOAD_SHORT = 0x0FB7, /* movzx */
                    GENERAL_SIGN_BYTE = 0x0FBE,  /* movsx */
                    GENERAL_SIGN_SHORT = 0x0FBF, /* movsx */
                    GENERAL_MOVE_IF = 0x0F40     /* + condition */
};
enum general_single { /* F7 or D3 and their kin: one operand; << 8 is the field in the second byte */
                      SINGLE_NOT = 0x2F7,
                      SINGLE_NEGATE = 0x3F7,
                      SINGLE_MULTIPLY_WIDE = 0x5F7,     /* rdx:rax = rax * operand, signed */
                      SINGLE_DIVIDE = 0x7F7,            /* rax, rdx: quotient and remainder of rdx:rax, signed */
                      SINGLE_MULTIPLY_NATURALS = 0x4F7, /* the same two without signs */
                      SINGLE_DIVIDE_NATURALS = 0x6F7,
                      SINGLE_SHIFT_LEFT = 0x4D3, /* by cl, of which the low 5 bits count, or 6 of 8 bytes */
                      SINGLE_SHIFT_RIGHT = 0x5D3,
                      SINGLE_SHIFT_RIGHT_SIGNED = 0x7D3,
                      SINGLE_CALL = 0x2FF /* size 4, although the address has 8 */
};
enum general_with_number { NUMBER_ADD, NUMBER_OR, NUMBER_AND = 4, NUMBER_SUBTRACT, NUMBER_EXCLUSIVE_OR, NUMBER_COMPARE };
enum general_shift { ROTATE_LEFT = 0, SHIFT_LEFT = 4, SHIFT_RIGHT = 5, SHIFT_RIGHT_SIGNED = 7 };

void assemble_general(struct assembler *assembler, unsigned code, unsigned size, uint8_t number, struct machine_operand operand);
/* The line of memory comes to the second cache, where the address is one; nothing else happens. */
void assemble_prefetch(struct assembler *assembler, struct machine_operand operand);
void assemble_single(struct assembler *assembler, enum general_single code, unsigned size, struct machine_operand operand);
/* `size` may be 1 too, of a number of one byte. */
void assemble_with_number(struct assembler *assembler, enum general_with_number code, unsigned size,
                          struct machine_operand operand, int32_t number);
void assemble_multiply_by(struct assembler *assembler, unsigned size, uint8_t target, struct machine_operand operand,
                          int32_t number);
void assemble_shift(struct assembler *assembler, enum general_shift code, unsigned size, uint8_t number, uint8_t n_bits);
/* Sets flags by the operand and a number. */
void assemble_test_number(struct assembler *assembler, unsigned size, struct machine_operand operand, int32_t number);
/* Stores the low `size` bytes, 1, 2, 4 or 8. */
void assemble_store(struct assembler *assembler, unsigned size, uint8_t number, struct machine_operand operand);
/* Loads `size` bytes, 1, 2, 4 or 8; the rest of the register becomes 0. */
void assemble_load(struct assembler *assembler, unsigned size, uint8_t number, struct machine_operand operand);
/* The low byte of the register becomes 1 or 0. */
void assemble_set_if(struct assembler *assembler, enum machine_condition condition, uint8_t number);
/* No flag changes. */
void assemble_move_number(struct assembler *assembler, uint8_t number, uint64_t value);
/* The same for an address of this process, always in 8 bytes, which are noted. */
void assemble_move_address(struct assembler *assembler, uint8_t number, const void *address);
void assemble_move(struct assembler *assembler, uint8_t target, uint8_t source);
/* Fills rdx with the sign of rax. */
void assemble_sign_of_rax(struct assembler *assembler);
void assemble_push(struct assembler *assembler, uint8_t number);
void assemble_pop(struct assembler *assembler, uint8_t number);
void assemble_return(struct assembler *assembler);

/* --- SSE and AVX: the bits of a code are opcode, prefix (0: none, 1: 66, 2: F3, 3: F2) << 8, table of opcodes (1: 0F, 2: 0F38,
 * 3: 0F3A) << 10, W << 12 */
#define VECTOR_CODE(table, prefix, w, opcode) ((table) << 10 | (prefix) << 8 | (w) << 12 | (opcode))
enum {
    VECTOR_IS_MASKED = 1 << 13,
    VECTOR_IS_WIDE_SET = 1 << 14, /* of AVX-512 only, for vectors of any size */
    VECTOR_IS_ZEROED = 1 << 15    /* what the mask leaves out becomes 0; else it stays, and of what is stored is not touched */
};
enum vector_code {
    /* Of the four kinds of reals, the one meant is added: see vector_real. */
    VECTOR_ADD = VECTOR_CODE(1, 0, 0, 0x58),
    VECTOR_MULTIPLY = VECTOR_CODE(1, 0, 0, 0x59),
    VECTOR_SUBTRACT = VECTOR_CODE(1, 0, 0, 0x5C),
    VECTOR_DIVIDE = VECTOR_CODE(1, 0, 0, 0x5E),
    VECTOR_SQUARE_ROOT = VECTOR_CODE(1, 0, 0, 0x51),
    VECTOR_COMPARE = VECTOR_CODE(1, 0, 0, 0xC2), /* number: enum vector_comparison */
    VECTOR_AND = VECTOR_CODE(1, 0, 0, 0x54),
    VECTOR_AND_NOT = VECTOR_CODE(1, 0, 0, 0x55),
    VECTOR_OR = VECTOR_CODE(1, 0, 0, 0x56),
    VECTOR_EXCLUSIVE_OR = VECTOR_CODE(1, 0, 0, 0x57),
    VECTOR_ORDER_FLOAT = VECTOR_CODE(1, 0, 0, 0x2E), /* vucomis: sets flags */
    VECTOR_ORDER_DOUBLE = VECTOR_CODE(1, 1, 0, 0x2E),
    VECTOR_ROUND_FLOAT = VECTOR_CODE(3, 1, 0, 0x0A), /* scalar; number: 9 down, 10 up */
    VECTOR_ROUND_DOUBLE = VECTOR_CODE(3, 1, 0, 0x0B),
    VECTOR_ROUND_FLOATS = VECTOR_CODE(3, 1, 0, 0x08),
    VECTOR_ROUND_DOUBLES = VECTOR_CODE(3, 1, 0, 0x09),
    VECTOR_MOVE = VECTOR_CODE(1, 0, 0, 0x28), /* of a whole register */
    VECTOR_LOAD_FLOAT = VECTOR_CODE(1, 2, 0, 0x10),
    VECTOR_LOAD_DOUBLE = VECTOR_CODE(1, 3, 0, 0x10),
    VECTOR_STORE_FLOAT = VECTOR_CODE(1, 2, 0, 0x11),
    VECTOR_STORE_DOUBLE = VECTOR_CODE(1, 3, 0, 0x11),
    VECTOR_LOAD_UPPER = VECTOR_CODE(1, 0, 0, 0x16), /* 8 bytes; the lower 8 are those of the first */
    VECTOR_LOAD = VECTOR_CODE(1, 0, 0, 0x10),
    VECTOR_STORE = VECTOR_CODE(1, 0, 0, 0x11),
    VECTOR_FROM_GENERAL = VECTOR_CODE(1, 1, 0, 0x6E),   /* 4 bytes */
    VECTOR_FROM_GENERAL_8 = VECTOR_CODE(1, 1, 1, 0x6E), /* 8 bytes */
    VECTOR_TO_GENERAL = VECTOR_CODE(1, 1, 0, 0x7E),
    VECTOR_TO_GENERAL_8 = VECTOR_CODE(1, 1, 1, 0x7E),
    VECTOR_FLOAT_OF_DOUBLE = VECTOR_CODE(1, 3, 0, 0x5A),
    VECTOR_DOUBLE_OF_FLOAT = VECTOR_CODE(1, 2, 0, 0x5A),
    VECTOR_FLOAT_OF_INT = VECTOR_CODE(1, 2, 0, 0x2A), /* of a general register */
    VECTOR_FLOAT_OF_INT_8 = VECTOR_CODE(1, 2, 1, 0x2A),
    VECTOR_DOUBLE_OF_INT = VECTOR_CODE(1, 3, 0, 0x2A),
    VECTOR_DOUBLE_OF_INT_8 = VECTOR_CODE(1, 3, 1, 0x2A),
    VECTOR_INT_8_OF_FLOAT = VECTOR_CODE(1, 2, 1, 0x2C), /* to a general register; truncated */
    VECTOR_INT_8_OF_DOUBLE = VECTOR_CODE(1, 3, 1, 0x2C),
    VECTOR_FLOATS_OF_DOUBLES = VECTOR_CODE(1, 1, 0, 0x5A),
    VECTOR_DOUBLES_OF_FLOATS = VECTOR_CODE(1, 0, 0, 0x5A),
    VECTOR_FLOATS_OF_INTS = VECTOR_CODE(1, 0, 0, 0x5B),
    VECTOR_INTS_OF_FLOATS = VECTOR_CODE(1, 2, 0, 0x5B),  /* truncated; what does not fit is the lowest number */
    VECTOR_INTS_OF_DOUBLES = VECTOR_CODE(1, 1, 0, 0xE6), /* the size is that of the source */
    VECTOR_DOUBLES_OF_INTS = VECTOR_CODE(1, 2, 0, 0xE6),
    VECTOR_BLEND_FLOATS = VECTOR_CODE(3, 1, 0, 0x4A), /* number: the mask's register << 4 */
    VECTOR_BLEND_DOUBLES = VECTOR_CODE(3, 1, 0, 0x4B),
    VECTOR_SIGNS_OF_FLOATS = VECTOR_CODE(1, 0, 0, 0x50), /* to a general register: a bit an element */
    VECTOR_SIGNS_OF_DOUBLES = VECTOR_CODE(1, 1, 0, 0x50),
    VECTOR_SIGNS_OF_BYTES = VECTOR_CODE(1, 1, 0, 0xD7),
    VECTOR_ADD_BYTES = VECTOR_CODE(1, 1, 0, 0xFC),
    VECTOR_ADD_SHORTS = VECTOR_CODE(1, 1, 0, 0xFD),
    VECTOR_SUBTRACT_BYTES = VECTOR_CODE(1, 1, 0, 0xF8),
    VECTOR_SUBTRACT_SHORTS = VECTOR_CODE(1, 1, 0, 0xF9),
    VECTOR_MULTIPLY_SHORTS = VECTOR_CODE(1, 1, 0, 0xD5),
    VECTOR_UPPER_PRODUCT_SHORTS = VECTOR_CODE(1, 1, 0, 0xE5),
    VECTOR_UPPER_PRODUCT_NATURAL_SHORTS = VECTOR_CODE(1, 1, 0, 0xE4),
    VECTOR_MULTIPLY_HALVES_SIGNED = VECTOR_CODE(2, 1, 0, 0x28),
    VECTOR_TAKE_INTS = VECTOR_CODE(3, 1, 0, 0x02), /* as VECTOR_TAKE_FLOATS */
    VECTOR_ABSOLUTE_SHORTS = VECTOR_CODE(2, 1, 0, 0x1D),
    VECTOR_EQUAL_BYTES = VECTOR_CODE(1, 1, 0, 0x74),
    VECTOR_EQUAL_SHORTS = VECTOR_CODE(1, 1, 0, 0x75),
    VECTOR_GREATER_BYTES = VECTOR_CODE(1, 1, 0, 0x64),
    VECTOR_GREATER_SHORTS = VECTOR_CODE(1, 1, 0, 0x65),
    VECTOR_MAXIMUM_NATURAL_BYTES = VECTOR_CODE(1, 1, 0, 0xDE),
    VECTOR_MINIMUM_NATURAL_BYTES = VECTOR_CODE(1, 1, 0, 0xDA),
    VECTOR_MAXIMUM_NATURAL_SHORTS = VECTOR_CODE(2, 1, 0, 0x3E),
    VECTOR_MINIMUM_NATURAL_SHORTS = VECTOR_CODE(2, 1, 0, 0x3A),
    VECTOR_SHIFT_SHORTS = VECTOR_CODE(1, 1, 0, 0x71), /* as VECTOR_SHIFT_INTS */
    VECTOR_BLEND_BYTES = VECTOR_CODE(3, 1, 0, 0x4C),  /* number: the mask's register << 4 */
    VECTOR_EXTEND_BYTES_TO_2 = VECTOR_CODE(2, 1, 0, 0x20),
    VECTOR_FILL_BYTES_TO_2 = VECTOR_CODE(2, 1, 0, 0x30),
    VECTOR_BROADCAST_1 = VECTOR_CODE(2, 1, 0, 0x78),
    VECTOR_BROADCAST_2 = VECTOR_CODE(2, 1, 0, 0x79),
    VECTOR_INSERT_SHORT = VECTOR_CODE(1, 1, 0, 0xC4),    /* of a general register; number: which */
    VECTOR_STORE_SHORT = VECTOR_CODE(3, 1, 0, 0x15),     /* to a general register; number: which */
    VECTOR_TURN_LANES_8 = VECTOR_CODE(3, 1, 1, 0x00),    /* number: two bits for each of four */
    VECTOR_MASK_OF_GENERAL = VECTOR_CODE(1, 3, 0, 0x92), /* size 16 */
    VECTOR_ADD_INTS = VECTOR_CODE(1, 1, 0, 0xFE),
    VECTOR_ADD_INTS_8 = VECTOR_CODE(1, 1, 0, 0xD4),
    VECTOR_SUBTRACT_INTS = VECTOR_CODE(1, 1, 0, 0xFA),
    VECTOR_SUBTRACT_INTS_8 = VECTOR_CODE(1, 1, 0, 0xFB),
    VECTOR_MULTIPLY_INTS = VECTOR_CODE(2, 1, 0, 0x40),
    VECTOR_MULTIPLY_HALVES = VECTOR_CODE(1, 1, 0, 0xF4), /* the low 4 of each 8 bytes, unsigned, to 8 bytes */
    VECTOR_ABSOLUTE_INTS = VECTOR_CODE(2, 1, 0, 0x1E),
    VECTOR_ABSOLUTE_BYTES = VECTOR_CODE(2, 1, 0, 0x1C),
    VECTOR_EQUAL_INTS = VECTOR_CODE(1, 1, 0, 0x76),
    VECTOR_EQUAL_INTS_8 = VECTOR_CODE(2, 1, 0, 0x29),
    VECTOR_GREATER_INTS = VECTOR_CODE(1, 1, 0, 0x66),
    VECTOR_GREATER_INTS_8 = VECTOR_CODE(2, 1, 0, 0x37),
    VECTOR_EXTEND_BYTES_TO_4 = VECTOR_CODE(2, 1, 0, 0x21), /* by their signs */
    VECTOR_EXTEND_BYTES_TO_8 = VECTOR_CODE(2, 1, 0, 0x22),
    VECTOR_EXTEND_SHORTS_TO_4 = VECTOR_CODE(2, 1, 0, 0x23),
    VECTOR_EXTEND_INTS = VECTOR_CODE(2, 1, 0, 0x25),
    VECTOR_FILL_BYTES_TO_4 = VECTOR_CODE(2, 1, 0, 0x31), /* with zeros */
    VECTOR_FILL_SHORTS_TO_4 = VECTOR_CODE(2, 1, 0, 0x33),
    VECTOR_FILL_INTS = VECTOR_CODE(2, 1, 0, 0x35),
    VECTOR_PACK_INTS = VECTOR_CODE(1, 1, 0, 0x6B),          /* 4 bytes to 2, within each half */
    VECTOR_PACK_SHORTS = VECTOR_CODE(1, 1, 0, 0x63),        /* 2 bytes to 1 */
    VECTOR_PACK_INTS_NATURALS = VECTOR_CODE(2, 1, 0, 0x2B), /* the same two to numbers without sign */
    VECTOR_PACK_SHORTS_NATURALS = VECTOR_CODE(1, 1, 0, 0x67),
    /* register field: enum vector_shift, of 8 bytes without a sign; first: the target; number: bits */
    VECTOR_SHIFT_INTS = VECTOR_CODE(1, 1, 0, 0x72),
    VECTOR_SHIFT_INTS_8 = VECTOR_CODE(1, 1, 0, 0x73),
    /* first by the bits of each element of the second; past the width 0 is left, or the sign */
    VECTOR_LEFT_INTS = VECTOR_CODE(2, 1, 0, 0x47),
    VECTOR_LEFT_INTS_8 = VECTOR_CODE(2, 1, 1, 0x47),
    VECTOR_RIGHT_INTS = VECTOR_CODE(2, 1, 0, 0x45),
    VECTOR_RIGHT_INTS_8 = VECTOR_CODE(2, 1, 1, 0x45),
    VECTOR_RIGHT_SIGNED_INTS = VECTOR_CODE(2, 1, 0, 0x46),
    VECTOR_SHUFFLE_INTS = VECTOR_CODE(1, 1, 0, 0x70),
    VECTOR_SHUFFLE_FLOATS = VECTOR_CODE(1, 0, 0, 0xC6),
    VECTOR_INTERLEAVE_LOWER = VECTOR_CODE(1, 0, 0, 0x14), /* of reals; within each half */
    VECTOR_INTERLEAVE_UPPER = VECTOR_CODE(1, 0, 0, 0x15),
    VECTOR_PRODUCT_ADD = VECTOR_CODE(2, 1, 1, 0xA8), /* of doubles: the target, which is read, times first, plus second, fused */
    VECTOR_ADD_PRODUCT = VECTOR_CODE(2, 1, 1, 0xB8), /* of doubles: the target, which is read, plus first times second, fused */
    VECTOR_ADD_PRODUCT_OF_FLOATS = VECTOR_CODE(2, 1, 0, 0xB8),
    VECTOR_STORE_BYTE = VECTOR_CODE(3, 1, 0, 0x14),  /* number: which byte */
    VECTOR_UPPER_HALF = VECTOR_CODE(3, 1, 0, 0x39),  /* the register field is the source */
    VECTOR_UPPER_32 = VECTOR_CODE(3, 1, 1, 0x1B),    /* the same of 64 bytes */
    VECTOR_INSERT_HALF = VECTOR_CODE(3, 1, 0, 0x38),
    VECTOR_INSERT_32 = VECTOR_CODE(3, 1, 1, 0x1A),    /* the same of 64 bytes */
    VECTOR_INSERT_BYTE = VECTOR_CODE(3, 1, 0, 0x20),  /* number: which byte */
    VECTOR_INSERT_FLOAT = VECTOR_CODE(3, 1, 0, 0x21), /* number: 16 times which one */
    VECTOR_INSERT_4 = VECTOR_CODE(3, 1, 0, 0x22),     /* of memory or a general register */
    VECTOR_INSERT_8 = VECTOR_CODE(3, 1, 1, 0x22),
    VECTOR_EXTRACT_4 = VECTOR_CODE(3, 1, 0, 0x16), /* to memory or a general register */
    VECTOR_EXTRACT_8 = VECTOR_CODE(3, 1, 1, 0x16),
    VECTOR_LOAD_MASKED_4 = VECTOR_CODE(2, 1, 0, 0x2C), /* first: the mask; what is not loaded becomes 0 */
    VECTOR_LOAD_MASKED_8 = VECTOR_CODE(2, 1, 0, 0x2D),
    VECTOR_STORE_MASKED_4 = VECTOR_CODE(2, 1, 0, 0x2E),
    VECTOR_STORE_MASKED_8 = VECTOR_CODE(2, 1, 0, 0x2F),
    /* first: the mask, which becomes 0; the index register of the operand is one of vectors of 8 bytes */
    VECTOR_GATHER_4_BY_4 = VECTOR_CODE(2, 1, 0, 0x90), /* indices of 4 bytes */
    VECTOR_GATHER_4 = VECTOR_CODE(2, 1, 0, 0x91),
    VECTOR_GATHER_8 = VECTOR_CODE(2, 1, 1, 0x91),
    VECTOR_TAKE_FLOATS = VECTOR_CODE(3, 1, 0, 0x0C), /* number: a bit for each lane that the second has */
    VECTOR_TAKE_DOUBLES = VECTOR_CODE(3, 1, 0, 0x0D),
    VECTOR_MAXIMUM = VECTOR_CODE(1, 0, 0, 0x5F), /* of reals: the second where one is NaN or both are 0 */
    VECTOR_MINIMUM = VECTOR_CODE(1, 0, 0, 0x5D),
    VECTOR_MAXIMUM_INTS = VECTOR_CODE(2, 1, 0, 0x3D),
    VECTOR_MINIMUM_INTS = VECTOR_CODE(2, 1, 0, 0x39),
    VECTOR_MAXIMUM_NATURALS = VECTOR_CODE(2, 1, 0, 0x3F),
    VECTOR_MINIMUM_NATURALS = VECTOR_CODE(2, 1, 0, 0x3B),
    VECTOR_BROADCAST_4 = VECTOR_CODE(2, 1, 0, 0x58),
    VECTOR_BROADCAST_8 = VECTOR_CODE(2, 1, 0, 0x59),
    /* Of 64 bytes only. Comparisons write a mask, a bit for each element, in place of a vector; VECTOR_MASK is the one that is
     * used. */
    VECTOR_OF_MASK_4 = VECTOR_CODE(2, 2, 0, 0x38), /* elements of all ones where the bit is 1 */
    VECTOR_OF_MASK_8 = VECTOR_CODE(2, 2, 1, 0x38),
    VECTOR_TO_MASK_4 = VECTOR_CODE(2, 2, 0, 0x39), /* their upper bits */
    VECTOR_TO_MASK_8 = VECTOR_CODE(2, 2, 1, 0x39),
    VECTOR_CHOOSE_FLOATS = VECTOR_CODE(2, 1, 0, 0x65) | VECTOR_IS_MASKED, /* the second where the mask has a 1, else the first */
    VECTOR_CHOOSE_DOUBLES = VECTOR_CODE(2, 1, 1, 0x65) | VECTOR_IS_MASKED,
    VECTOR_FLOATS_OF_HALVES = VECTOR_CODE(2, 1, 0, 0x13), /* of float16; the size is that of the result */
    VECTOR_HALVES_OF_FLOATS = VECTOR_CODE(3, 1, 0, 0x1D), /* number: how it rounds; the register field is the source */
    VECTOR_NARROW_INTS_8 = VECTOR_CODE(2, 2, 0, 0x35),    /* to 4 bytes; the register field is the source */
    /* Of AVX-512, for vectors of any size: */
    VECTOR_BYTES_OF_INTS = VECTOR_CODE(2, 2, 0, 0x31) | VECTOR_IS_WIDE_SET, /* the low bytes; the register field is the source */
    VECTOR_SHORTS_OF_INTS = VECTOR_CODE(2, 2, 0, 0x33) | VECTOR_IS_WIDE_SET,
    VECTOR_BYTES_OF_SHORTS = VECTOR_CODE(2, 2, 0, 0x30) | VECTOR_IS_WIDE_SET,
    VECTOR_LOAD_BYTES = VECTOR_CODE(1, 3, 0, 0x6F) | VECTOR_IS_WIDE_SET,
    VECTOR_LOAD_SHORTS = VECTOR_CODE(1, 3, 1, 0x6F) | VECTOR_IS_WIDE_SET,
    VECTOR_STORE_BYTES = VECTOR_CODE(1, 3, 0, 0x7F) | VECTOR_IS_WIDE_SET,
    VECTOR_STORE_SHORTS = VECTOR_CODE(1, 3, 1, 0x7F) | VECTOR_IS_WIDE_SET,
    VECTOR_ROTATE_INTS = VECTOR_CODE(1, 1, 0, 0x72) | VECTOR_IS_WIDE_SET,   /* to the left, as VECTOR_SHIFT_INTS with field 1 */
    VECTOR_ROTATE_INTS_8 = VECTOR_CODE(1, 1, 1, 0x72) | VECTOR_IS_WIDE_SET, /* with field 4 the shift that takes the sign along */
    VECTOR_RIGHT_SIGNED_INTS_8 = VECTOR_CODE(2, 1, 1, 0x46) | VECTOR_IS_WIDE_SET,
    VECTOR_MULTIPLY_INTS_8 = VECTOR_CODE(2, 1, 1, 0x40) | VECTOR_IS_WIDE_SET,
    VECTOR_ABSOLUTE_INTS_8 = VECTOR_CODE(2, 1, 1, 0x1F) | VECTOR_IS_WIDE_SET,
    VECTOR_COMPARE_INTS = VECTOR_CODE(3, 1, 0, 0x1F) | VECTOR_IS_WIDE_SET, /* to a mask; number: enum vector_order */
    VECTOR_COMPARE_INTS_8 = VECTOR_CODE(3, 1, 1, 0x1F) | VECTOR_IS_WIDE_SET,
    VECTOR_COMPARE_NATURALS = VECTOR_CODE(3, 1, 0, 0x1E) | VECTOR_IS_WIDE_SET,
    VECTOR_COMPARE_NATURALS_8 = VECTOR_CODE(3, 1, 1, 0x1E) | VECTOR_IS_WIDE_SET,
    VECTOR_FLOAT_OF_NATURAL_8 = VECTOR_CODE(1, 2, 1, 0x7B) | VECTOR_IS_WIDE_SET, /* of a general register */
    VECTOR_DOUBLE_OF_NATURAL_8 = VECTOR_CODE(1, 3, 1, 0x7B) | VECTOR_IS_WIDE_SET,
    VECTOR_FLOATS_OF_INTS_8 = VECTOR_CODE(1, 0, 1, 0x5B) | VECTOR_IS_WIDE_SET, /* the size is that of the source */
    VECTOR_DOUBLES_OF_INTS_8 = VECTOR_CODE(1, 2, 1, 0xE6) | VECTOR_IS_WIDE_SET,
    VECTOR_INTS_8_OF_FLOATS = VECTOR_CODE(1, 1, 0, 0x7A) | VECTOR_IS_WIDE_SET,
    VECTOR_INTS_8_OF_DOUBLES = VECTOR_CODE(1, 1, 1, 0x7A) | VECTOR_IS_WIDE_SET,
    VECTOR_NATURALS_8_OF_FLOATS = VECTOR_CODE(1, 1, 0, 0x78) | VECTOR_IS_WIDE_SET,
    VECTOR_NATURALS_8_OF_DOUBLES = VECTOR_CODE(1, 1, 1, 0x78) | VECTOR_IS_WIDE_SET,
    VECTOR_FLOATS_OF_NATURALS = VECTOR_CODE(1, 3, 0, 0x7A) | VECTOR_IS_WIDE_SET,
    VECTOR_DOUBLES_OF_NATURALS = VECTOR_CODE(1, 2, 0, 0x7A) | VECTOR_IS_WIDE_SET,
    VECTOR_FLOATS_OF_NATURALS_8 = VECTOR_CODE(1, 3, 1, 0x7A) | VECTOR_IS_WIDE_SET, /* the size is that of the source */
    VECTOR_DOUBLES_OF_NATURALS_8 = VECTOR_CODE(1, 2, 1, 0x7A) | VECTOR_IS_WIDE_SET,
    VECTOR_MASK_TO_GENERAL = VECTOR_CODE(1, 0, 0, 0x93) /* size 16 */
};
enum { VECTOR_MASK = 1 };
enum vector_order { ORDER_EQUAL, ORDER_LESS, ORDER_LESS_EQUAL, ORDER_NOT_EQUAL = 4, ORDER_GREATER_EQUAL, ORDER_GREATER };
enum vector_shift { VECTOR_ROTATED = 1, VECTOR_TO_RIGHT = 2, VECTOR_TO_RIGHT_SIGNED = 4, VECTOR_TO_LEFT = 6 };
/* Added to a code of reals. */
enum vector_real { OF_FLOATS = 0 << 8, OF_DOUBLES = 1 << 8, OF_FLOAT = 2 << 8, OF_DOUBLE = 3 << 8 };
enum vector_comparison {
    VECTOR_EQUAL = 0,
    VECTOR_LESS = 17,
    VECTOR_LESS_EQUAL = 18,
    VECTOR_NOT_EQUAL = 4,
    VECTOR_UNORDERED = 3,
    VECTOR_ORDERED = 7,
    VECTOR_NOT_LESS_EQUAL = 22, /* these two also where they are unordered */
    VECTOR_NOT_GREATER_EQUAL = 25,
    VECTOR_GREATER_EQUAL = 29,
    VECTOR_GREATER = 30
};

/* `size` is 16 or 32 bytes (scalar instructions: 16). Instructions with one operand have `first` 0. Of 64 bytes, with AVX-512 F
 * and DQ, there are arithmetic and casts of reals, moves and broadcasts; a constant stands there for its first element. */
void assemble_vector(struct assembler *assembler, unsigned code, unsigned size, uint8_t target, uint8_t first,
                     struct machine_operand second);
void assemble_vector_with_number(struct assembler *assembler, unsigned code, unsigned size, uint8_t target, uint8_t first,
                                 struct machine_operand second, uint8_t number);
/* Ends the use of the upper halves. */
void assemble_vector_end(struct assembler *assembler);

#endif
