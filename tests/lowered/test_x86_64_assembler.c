/* test_x86_64_assembler.c - encodings, by running them: with each register in each place, and each kind of operand. */
#include "mdf_c/machine/x86_64_assembler.h"

#include "mdf_c/base/processor.h"
#include "mdf_c/machine/emit_x86_64_packed.h"

#include <criterion/criterion.h>
#include <string.h>

#if defined(__x86_64__) && defined(__unix__)
#include <sys/mman.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

typedef uint64_t (*machine_function)(uint64_t a, uint64_t b, void *memory);

static struct mdf_memory memory;
static struct assembler assembler;
static const uint8_t kept[] = {RBX, RBP, R12, R13, R14, R15};

static void begin(void)
{
    size_t i;

    mdf_memory_init(&memory, NULL, 0);
    assembler_init(&assembler, &memory);
    for (i = 0; i < COUNT(kept); i++) {
        assemble_push(&assembler, kept[i]);
    }
}

/* Runs what was assembled; the result is rax. */
static uint64_t end(uint64_t a, uint64_t b, void *place)
{
    machine_function function;
    uint64_t result;
    void *code;
    size_t i;

    for (i = COUNT(kept); i-- > 0;) {
        assemble_pop(&assembler, kept[i]);
    }
    assemble_return(&assembler);
    cr_assert(assembler_finish(&assembler));
    code = mmap(NULL, assembler.n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(code, MAP_FAILED);
    memcpy(code, assembler.bytes, assembler.n_bytes);
    cr_assert_eq(mprotect(code, assembler.n_bytes, PROT_READ | PROT_EXEC), 0);
    memcpy(&function, &code, sizeof code);
    result = function(a, b, place);
    munmap(code, assembler.n_bytes);
    assembler_release(&assembler);
    cr_assert_eq(atomic_load(&memory.used_bytes), (size_t)0);
    return result;
}

static uint64_t compute(unsigned code, unsigned size, uint64_t a, uint64_t b)
{
    uint64_t result;

    switch (code) {
    case GENERAL_ADD:
        result = a + b;
        break;
    case GENERAL_SUBTRACT:
        result = a - b;
        break;
    case GENERAL_AND:
        result = a & b;
        break;
    case GENERAL_OR:
        result = a | b;
        break;
    case GENERAL_EXCLUSIVE_OR:
        result = a ^ b;
        break;
    default:
        result = a * b;
    }
    return size == 4 ? (uint32_t)result : result;
}

static const unsigned general_codes[] = {GENERAL_ADD, GENERAL_SUBTRACT,     GENERAL_AND,
                                         GENERAL_OR,  GENERAL_EXCLUSIVE_OR, GENERAL_MULTIPLY};

/* Moves a and b through rax and rcx, as any register may be the one that they come in. */
static void put_arguments(uint8_t first, uint8_t second)
{
    assemble_move(&assembler, RAX, RDI);
    assemble_move(&assembler, RCX, RSI);
    assemble_push(&assembler, RCX);
    assemble_move(&assembler, first, RAX);
    assemble_pop(&assembler, second);
}

Test(x86_64_assembler, registers)
{
    const uint64_t a = UINT64_C(0x123456789ABCDEF1), b = UINT64_C(0x0FEDCBA987654321);
    uint8_t first, second;
    size_t i, size;

    for (i = 0; i < COUNT(general_codes); i++) {
        for (first = RAX; first <= R15; first++) {
            for (second = RAX; second <= R15; second++) {
                size = (first + second) % 2 == 0 ? 4 : 8;
                if (first == RSP || second == RSP || first == second) {
                    continue;
                }
                begin();
                put_arguments(first, second);
                assemble_general(&assembler, general_codes[i], (unsigned)size, first, in_register(second));
                assemble_move(&assembler, RAX, first);
                cr_assert_eq(end(a, b, NULL), compute(general_codes[i], (unsigned)size, a, b), "code %x, registers %d, %d",
                             general_codes[i], first, second);
            }
        }
    }
}

Test(x86_64_assembler, memory)
{
    static const int32_t displacements[] = {0, 8, 127, -128, 128, -129, 1024};
    static const uint8_t scales[] = {1, 2, 4, 8};
    uint8_t bytes[8192];
    uint8_t base, index;
    uint64_t expected;
    size_t i, j;

    for (i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 37 + i / 256);
    }
    for (base = RAX; base <= R15; base++) {
        for (index = RAX; index <= NO_REGISTER; index++) {
            int32_t displacement = displacements[(base + index) % COUNT(displacements)];
            uint8_t scale = scales[index % 4];
            unsigned size = 1u << (base + index) % 4;

            if (base == RSP || index == RSP || base == index) {
                continue;
            }
            begin();
            assemble_move(&assembler, RAX, RDX);
            assemble_push(&assembler, RAX);
            if (index != NO_REGISTER) {
                assemble_move_number(&assembler, index, 100);
            }
            assemble_pop(&assembler, base);
            assemble_load(&assembler, size, R11, in_memory_at(base, index, scale, displacement));
            assemble_move(&assembler, RAX, R11);
            j = 4096 + (size_t)(int64_t)displacement + (index != NO_REGISTER ? 100u * scale : 0);
            expected = 0;
            memcpy(&expected, bytes + j, size);
            cr_assert_eq(end(0, 0, bytes + 4096), expected, "base %d, index %d", base, index);
        }
    }
}

Test(x86_64_assembler, numbers)
{
    static const int32_t numbers[] = {0, 1, -1, 127, -128, 128, -129, INT32_MAX, INT32_MIN};
    static const uint64_t values[] = {
        0, 1, UINT32_MAX, UINT64_C(1) << 32, UINT64_MAX, (uint64_t)INT64_MIN, (uint64_t)(int64_t)INT32_MIN};
    uint8_t number;
    size_t i;

    for (i = 0; i < COUNT(numbers); i++) {
        for (number = RBX; number <= R15; number++) {
            if (number != RSP && number != RDI) {
                begin();
                assemble_move(&assembler, number, RDI);
                assemble_with_number(&assembler, NUMBER_ADD, 8, in_register(number), numbers[i]);
                assemble_multiply_by(&assembler, 8, RAX, in_register(number), numbers[i]);
                cr_assert_eq(end(12345, 0, NULL), (12345 + (uint64_t)(int64_t)numbers[i]) * (uint64_t)(int64_t)numbers[i]);
            }
        }
    }
    for (i = 0; i < COUNT(values); i++) {
        begin();
        assemble_move_number(&assembler, R13, values[i]);
        assemble_move(&assembler, RAX, R13);
        cr_assert_eq(end(0, 0, NULL), values[i]);
    }
}

Test(x86_64_assembler, one_operand)
{
    begin();
    assemble_move(&assembler, RAX, RDI);
    assemble_sign_of_rax(&assembler);
    assemble_single(&assembler, SINGLE_DIVIDE, 8, in_register(RSI));
    assemble_shift(&assembler, SHIFT_LEFT, 8, RAX, 8);
    assemble_general(&assembler, GENERAL_OR, 8, RAX, in_register(RDX));
    cr_assert_eq(end(1000, 7, NULL), 142u << 8 | 6);

    begin();
    assemble_move(&assembler, RAX, RDI);
    assemble_single(&assembler, SINGLE_MULTIPLY_WIDE, 8, in_register(RSI));
    assemble_single(&assembler, SINGLE_NEGATE, 8, in_register(RDX));
    assemble_single(&assembler, SINGLE_NOT, 8, in_register(RDX));
    assemble_move(&assembler, RAX, RDX);
    cr_assert_eq(end((uint64_t)1 << 62, 16, NULL), 3);

    begin(); /* bits that both have: none, some */
    assemble_move(&assembler, R12, RDI);
    assemble_move_number(&assembler, RAX, 0);
    assemble_test_number(&assembler, 4, in_register(R12), 0x300);
    assemble_set_if(&assembler, IF_EQUAL, RAX);
    assemble_move_number(&assembler, RCX, 0);
    assemble_test_number(&assembler, 8, in_register(R12), 0x1C0);
    assemble_set_if(&assembler, IF_NOT_EQUAL, RCX);
    assemble_general(&assembler, GENERAL_ADD, 8, RAX, in_register(RCX));
    cr_assert_eq(end(0x4F0FF, 0, NULL), 2);

    begin();
    assemble_general(&assembler, GENERAL_SIGN_EXTEND, 8, R9, in_register(RDI));
    assemble_shift(&assembler, SHIFT_RIGHT_SIGNED, 8, R9, 4);
    assemble_shift(&assembler, SHIFT_RIGHT, 8, R9, 1);
    assemble_move(&assembler, RAX, R9);
    cr_assert_eq(end(UINT32_MAX, 0, NULL), UINT64_MAX >> 1);
}

/* The sum of 1 to n, and each condition. */
Test(x86_64_assembler, jumps)
{
    machine_label again, done;
    unsigned condition;

    begin();
    again = new_label(&assembler);
    done = new_label(&assembler);
    assemble_move_number(&assembler, RAX, 0);
    bind_label(&assembler, again);
    assemble_general(&assembler, GENERAL_TEST, 8, RDI, in_register(RDI));
    assemble_jump_if(&assembler, IF_EQUAL, done);
    assemble_general(&assembler, GENERAL_ADD, 8, RAX, in_register(RDI));
    assemble_with_number(&assembler, NUMBER_SUBTRACT, 8, in_register(RDI), 1);
    assemble_align(&assembler, 32);
    assemble_jump(&assembler, again);
    bind_label(&assembler, done);
    cr_assert_eq(end(100, 0, NULL), 5050);
    for (condition = IF_OVERFLOW; condition <= IF_GREATER; condition++) {
        bool expected[] = {false, true,  true,  false, false, true,  true, false,
                           true,  false, false, true,  true,  false, true, false};

        begin(); /* 1 - 3: below, less, negative, odd number of bits in 0xFE */
        assemble_move_number(&assembler, RCX, 10);
        assemble_move_number(&assembler, R10, 20);
        assemble_general(&assembler, GENERAL_COMPARE, 8, RDI, in_register(RSI));
        assemble_general(&assembler, GENERAL_MOVE_IF + condition, 8, RCX, in_register(R10));
        assemble_set_if(&assembler, (enum machine_condition)condition, RSI);
        assemble_general(&assembler, GENERAL_LOAD_BYTE, 4, RAX, in_register(RSI));
        assemble_general(&assembler, GENERAL_ADD, 8, RAX, in_register(RCX));
        cr_assert_eq(end(1, 3, NULL), expected[condition] ? 21u : 10u, "condition %u", condition);
    }
}

Test(x86_64_assembler, vectors)
{
    double numbers[] = {1.5, 2, 3, 4, 10, 20, 30, 40, 0, 0, 0, 0};
    uint8_t first, second;

    if (!mdf_has_avx2()) {
        return;
    }
    for (first = 0; first < 16; first++) {
        for (second = 0; second < 16; second++) {
            if (first == second) {
                continue;
            }
            begin();
            assemble_vector(&assembler, VECTOR_LOAD, 32, first, 0, in_memory(RDX, 0));
            assemble_vector(&assembler, VECTOR_LOAD, 32, second, 0, in_memory_at(RDX, RDI, 8, 0));
            assemble_vector(&assembler, VECTOR_SUBTRACT | OF_DOUBLES, 32, second, second, in_register(first));
            assemble_vector(&assembler, VECTOR_MULTIPLY | OF_DOUBLES, 32, first, second,
                            constant_operand(&assembler, UINT64_C(0x4000000000000000), 8));
            assemble_vector_with_number(&assembler, VECTOR_BLEND_DOUBLES, 32, first, first, in_register(second),
                                        (uint8_t)(first << 4));
            assemble_vector(&assembler, VECTOR_STORE, 32, first, 0, in_memory(RDX, 64));
            assemble_vector(&assembler, VECTOR_FROM_GENERAL_8, 16, second, 0, in_register(RSI));
            assemble_vector(&assembler, VECTOR_TO_GENERAL_8, 16, second, 0, in_register(RAX));
            assemble_vector_end(&assembler);
            cr_assert_eq(end(4, 77, numbers), 77u);
            cr_assert(numbers[8] == 17 && numbers[9] == 36 && numbers[10] == 54 && numbers[11] == 72, "registers %d, %d", first,
                      second);
        }
    }
}

/* In every register, with memory near and far, by an index and of constants. */
Test(x86_64_assembler, vectors_of_64_bytes)
{
    double numbers[64];
    float *singles = (float *)&numbers[56];
    uint8_t first, second;

    if (!mdf_has_avx512()) {
        return;
    }
    for (int i = 0; i < 256; i++) {
        first = (uint8_t)(i % 16);
        second = (uint8_t)(i / 16);
        if (first == second) {
            continue;
        }
        for (int k = 0; k < 64; k++) {
            numbers[k] = 1 + k;
        }
        begin();
        assemble_vector(&assembler, VECTOR_LOAD, 64, first, 0, in_memory_at(RDX, RDI, 8, 64));      /* 13 + k */
        assemble_vector(&assembler, VECTOR_ADD | OF_DOUBLES, 64, second, first, in_memory(RDX, 8)); /* 15 + 2 k */
        assemble_vector(&assembler, VECTOR_MULTIPLY | OF_DOUBLES, 64, second, second,
                        constant_operand(&assembler, UINT64_C(0x4000000000000000), 8)); /* 30 + 4 k */
        assemble_vector(&assembler, VECTOR_EXCLUSIVE_OR | OF_DOUBLES, 64, first, first,
                        constant_operand(&assembler, UINT64_C(1) << 63, 8));                     /* -13 - k */
        assemble_vector(&assembler, VECTOR_ADD_PRODUCT, 64, first, second, in_register(second)); /* its square more */
        assemble_vector(&assembler, VECTOR_STORE, 64, first, 0, in_memory(RDX, 256));
        assemble_vector(&assembler, VECTOR_FLOATS_OF_DOUBLES, 64, second, 0, in_register(second));
        assemble_vector(&assembler, VECTOR_STORE, 32, second, 0, in_memory(RDX, 448));
        assemble_vector(&assembler, VECTOR_DOUBLES_OF_FLOATS, 64, second, 0, in_memory(RDX, 448));
        assemble_vector_with_number(&assembler, VECTOR_UPPER_32, 64, second, 0, in_register(second), 1); /* 46 + 4 k */
        assemble_vector(&assembler, VECTOR_BROADCAST_8, 64, second, 0, in_register(second));
        assemble_vector(&assembler, VECTOR_STORE, 64, second, 0, in_memory(RDX, 320));
        assemble_vector(&assembler, VECTOR_BROADCAST_4, 64, second, 0, constant_operand(&assembler, 0x40000000, 4));
        assemble_vector(&assembler, VECTOR_MULTIPLY, 64, second, second, constant_operand(&assembler, 0x40400000, 4));
        assemble_vector(&assembler, VECTOR_STORE, 32, second, 0, in_memory(RDX, 480));
        assemble_vector(&assembler, VECTOR_LOAD, 64, second, 0, in_memory(RDX, 256));
        assemble_vector_with_number(&assembler, VECTOR_INSERT_32, 64, first, second, in_memory(RDX, 320), 1);
        assemble_vector_with_number(&assembler, VECTOR_INSERT_32, 64, second, second, in_register(first), 0);
        assemble_vector(&assembler, VECTOR_STORE, 64, first, 0, in_memory(RDX, 0));
        assemble_vector(&assembler, VECTOR_STORE, 64, second, 0, in_memory(RDX, 64));
        assemble_vector_end(&assembler);
        end(4, 0, numbers);
        for (int k = 0; k < 8; k++) {
            cr_assert_eq(numbers[k], k < 4 ? numbers[32 + k] : 46, "registers %d, %d", first, second);
            cr_assert_eq(numbers[8 + k], numbers[32 + k], "registers %d, %d", first, second);
            cr_assert_eq(numbers[32 + k], (30 + 4 * k) * (30 + 4 * k) - 13 - k, "registers %d, %d", first, second);
            cr_assert_eq(numbers[40 + k], 46, "registers %d, %d", first, second);
            cr_assert(singles[k] == (float)(30 + 4 * k) && singles[8 + k] == 6, "registers %d, %d", first, second);
        }
    }
}

/* Comparisons give masks, which choose. */
Test(x86_64_assembler, masks)
{
    double numbers[32];
    float *singles = (float *)&numbers[24];
    uint8_t first, second;

    if (!mdf_has_avx512()) {
        return;
    }
    for (int i = 0; i < 256; i++) {
        first = (uint8_t)(i % 16);
        second = (uint8_t)(i / 16);
        if (first == second) {
            continue;
        }
        for (int k = 0; k < 32; k++) {
            numbers[k] = k < 16 ? k + 0.5 : 0;
        }
        begin();
        assemble_vector(&assembler, VECTOR_LOAD, 64, first, 0, in_memory(RDX, 0));
        assemble_vector_with_number(&assembler, VECTOR_COMPARE | OF_DOUBLES, 64, VECTOR_MASK, first,
                                    constant_operand(&assembler, UINT64_C(0x4008000000000000), 8), VECTOR_GREATER); /* 3 */
        assemble_vector(&assembler, VECTOR_OF_MASK_8, 64, second, 0, in_register(VECTOR_MASK));
        assemble_vector(&assembler, VECTOR_MASK_TO_GENERAL, 16, RCX, 0, in_register(VECTOR_MASK));
        assemble_vector_with_number(&assembler, VECTOR_COMPARE | OF_DOUBLES, 64, VECTOR_MASK, first, in_register(first),
                                    VECTOR_UNORDERED); /* another mask */
        assemble_vector(&assembler, VECTOR_TO_MASK_8, 64, VECTOR_MASK, 0, in_register(second));
        assemble_vector(&assembler, VECTOR_CHOOSE_DOUBLES, 64, second, first, in_memory(RDX, 64));
        assemble_vector(&assembler, VECTOR_STORE, 64, second, 0, in_memory(RDX, 128));
        assemble_vector_with_number(&assembler, VECTOR_ROUND_DOUBLES, 64, second, 0, in_register(second), 9);
        assemble_vector(&assembler, VECTOR_FLOATS_OF_DOUBLES, 64, second, 0, in_register(second));
        assemble_vector_with_number(&assembler, VECTOR_COMPARE | OF_FLOATS, 64, VECTOR_MASK, second,
                                    constant_operand(&assembler, 0x41400000, 4), VECTOR_LESS); /* 12 */
        assemble_vector(&assembler, VECTOR_OF_MASK_4, 64, first, 0, in_register(VECTOR_MASK));
        assemble_vector(&assembler, VECTOR_TO_MASK_4, 64, VECTOR_MASK, 0, in_register(first));
        assemble_vector(&assembler, VECTOR_CHOOSE_FLOATS, 64, second, second,
                        constant_operand(&assembler, 0x41F00000, 4)); /* 30 */
        assemble_vector(&assembler, VECTOR_STORE, 32, second, 0, in_memory(RDX, 192));
        assemble_vector(&assembler, VECTOR_EXTEND_INTS, 64, first, 0, in_register(first));
        assemble_vector(&assembler, VECTOR_NARROW_INTS_8, 64, first, 0, in_register(second));
        assemble_vector(&assembler, VECTOR_STORE, 32, second, 0, in_memory(RDX, 224));
        assemble_vector_end(&assembler);
        assemble_move(&assembler, RAX, RCX);
        cr_assert_eq(end(0, 0, numbers), 0xF8, "registers %d, %d", first, second);
        for (int k = 0; k < 8; k++) {
            uint32_t ones;

            cr_assert_eq(numbers[16 + k], k < 3 ? k + 0.5 : 8.5 + k, "registers %d, %d", first, second);
            cr_assert_eq(singles[k], (float)(k < 4 ? 30 : 8 + k), "registers %d, %d", first, second);
            memcpy(&ones, &singles[8 + k], sizeof ones);
            cr_assert_eq(ones, k < 4 ? UINT32_MAX : 0, "registers %d, %d", first, second);
        }
    }
}

/* The bytes of a choice by the mask in vector register 3. */
static size_t choice_length(bool is_narrow)
{
    size_t before = assembler.n_bytes;

    packed_choose(&assembler, is_narrow, 64, 4, 3, in_register(5), 6);
    return assembler.n_bytes - before;
}

static void compare_into(uint8_t target)
{
    packed_compare(&assembler, VECTOR_COMPARE | OF_FLOATS, 64, target, 0, in_register(2), VECTOR_LESS);
}

/* What a comparison says is there as a mask of bits until another one is, its vector is something else, or code from elsewhere
 * may have come; else that is made of the vector again. */
Test(x86_64_assembler, masks_are_kept)
{
    size_t length;

    begin();
    compare_into(3);
    length = choice_length(true);
    cr_expect_eq(choice_length(true), length);
    cr_expect_gt(choice_length(false), length);
    cr_expect_gt(choice_length(true), length, "of other elements");
    cr_expect_eq(choice_length(true), length);
    assemble_vector(&assembler, VECTOR_MOVE, 64, 7, 0, in_register(3));
    cr_expect_eq(choice_length(true), length);
    assemble_vector(&assembler, VECTOR_MOVE, 16, 3, 0, in_register(7));
    cr_expect_gt(choice_length(true), length, "another vector");
    compare_into(8);
    cr_expect_gt(choice_length(true), length, "another comparison");
    bind_label(&assembler, new_label(&assembler));
    cr_expect_gt(choice_length(true), length, "a label");
    assemble_single(&assembler, SINGLE_CALL, 4, in_register(RAX));
    cr_expect_gt(choice_length(true), length, "a call");
    assemble_vector_end(&assembler);
    cr_expect_gt(choice_length(true), length, "the upper halves are zeros");
    packed_choose(&assembler, true, 64, 3, 3, in_register(5), 6);
    cr_expect_gt(choice_length(true), length, "the choice lies there");
    assembler_release(&assembler);
}

Test(x86_64_assembler, scalars)
{
    uint8_t first, target;

    if (!mdf_has_avx2()) {
        return;
    }
    for (target = 0; target < 16; target++) {
        first = (uint8_t)(15 - target);
        begin();
        assemble_vector(&assembler, VECTOR_EXCLUSIVE_OR, 16, first, first, in_register(first));
        assemble_vector(&assembler, VECTOR_DOUBLE_OF_INT_8, 16, first, first, in_register(RDI));
        assemble_vector(&assembler, VECTOR_SQUARE_ROOT | OF_DOUBLE, 16, target, first, in_register(first));
        assemble_vector_with_number(&assembler, VECTOR_ROUND_DOUBLE, 16, target, target, in_register(target), 9);
        assemble_vector(&assembler, VECTOR_FLOAT_OF_DOUBLE, 16, target, target, in_register(target));
        assemble_vector(&assembler, VECTOR_INT_8_OF_FLOAT, 16, R12, 0, in_register(target));
        assemble_move(&assembler, RAX, R12);
        cr_assert_eq(end(1000, 0, NULL), 31u, "register %d", target);
    }
}

#else
Test(x86_64_assembler, elsewhere)
{
    cr_assert(true); /* nothing runs what it makes */
}
#endif
