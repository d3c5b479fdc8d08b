/* emit_x86_64_division.c - see emit_x86_64.h. Quotients and remainders of whole numbers.
 *
 * A constant divisor becomes a multiplication (Granlund and Montgomery, Division by Invariant Integers using Multiplication,
 * 1994; the multiplier as in Warren, Hacker's Delight, chapter 10): with N bits, |d| >= 2 and the right s, floor(n / d) for 0 <=
 * n < 2^(N-1) is (n * m) >> (N + s). Numbers of fewer bytes are divided as 64-bit ones; those of uint64, of which the multiplier
 * needs a bit more, as (((n - q) >> 1) + q) >> (l - 1) with q = (n * m) >> N and 2^(l - 1) < d <= 2^l. */
#include "mdf_c/machine/emit_x86_64.h"

/* m as a signed number: where it is negative, 2^64 is to be added. */
struct multiplier {
    int64_t m;
    uint8_t shift;
};

/* For d >= 2 that is no power of two. */
static struct multiplier find_multiplier(uint64_t d)
{
    const uint64_t half = UINT64_C(1) << 63, largest = half - 1 - half % d; /* the largest n with n % d == d - 1 */
    uint64_t quotient = half / largest, remainder = half % largest, quotient_d = half / d, remainder_d = half % d, difference;
    unsigned power = 63;

    do {
        power++;
        quotient = 2 * quotient + (remainder >= largest - remainder);
        remainder = remainder >= largest - remainder ? remainder - (largest - remainder) : 2 * remainder;
        quotient_d = 2 * quotient_d + (remainder_d >= d - remainder_d);
        remainder_d = remainder_d >= d - remainder_d ? remainder_d - (d - remainder_d) : 2 * remainder_d;
        difference = d - remainder_d;
    } while (quotient < difference || (quotient == difference && remainder == 0));
    return (struct multiplier){(int64_t)(quotient_d + 1), (uint8_t)(power - 64)};
}

static bool floors(const struct mdf_lowered_op *op)
{
    return op->code == MDF_LOWERED_FLOOR_QUOTIENT || op->code == MDF_LOWERED_FLOOR_REMAINDER;
}

static bool wants_remainder(const struct mdf_lowered_op *op)
{
    return op->code == MDF_LOWERED_REMAINDER || op->code == MDF_LOWERED_FLOOR_REMAINDER;
}

/* Loads a whole number as one of 8 bytes. */
static void load_wide(struct emission *emission, const struct mdf_lowered_op *op, mdf_lowered_id id, uint8_t number)
{
    emission_load_whole_number(emission, id, number);
    if (machine_whole_size(op->dtype) == 4) {
        assemble_general(emission->assembler, machine_is_signed(op->dtype) ? GENERAL_SIGN_EXTEND : GENERAL_LOAD,
                         machine_is_signed(op->dtype) ? 8 : 4, number, in_register(number));
    }
}

static void finish(struct emission *emission, const struct mdf_lowered_op *op, uint8_t number)
{
    if (machine_whole_size(op->dtype) == 4) {
        assemble_general(emission->assembler, GENERAL_LOAD, 4, number, in_register(number));
    }
    emission_finish(emission, op->out, number);
}

/* Whether a number is known not to be negative: then it makes no difference which way is rounded. */
static bool is_natural(const struct emission *emission, mdf_lowered_id id)
{
    const struct step *step = emission->lives[id].step != UINT32_MAX ? &emission->steps[emission->lives[id].step] : NULL;
    unsigned dtype = emission->lowered->values[id].form.dtype;
    int32_t number;

    if (!machine_is_signed(dtype)) {
        return dtype != MDF_DTYPE_UINT64;
    }
    if (emission_is_constant(emission, id)) {
        return emission_small_constant(emission, id, &number) && number >= 0;
    }
    if (step == NULL || step->op == NULL) {
        return false;
    }
    if (step->op->code == MDF_LOWERED_LOOP) {
        return step->op->of.loop->number == id;
    }
    return step->op->code == MDF_LOWERED_FLOOR_REMAINDER && step->op->out == id &&
           emission_small_constant(emission, step->op->in[1], &number) && number > 0;
}

/* rdx = (rcx * multiplier) >> 64 >> shift; changes rax. */
static void multiply(struct emission *emission, struct multiplier multiplier)
{
    struct assembler *assembler = emission->assembler;

    assemble_move_number(assembler, RAX, (uint64_t)multiplier.m);
    assemble_single(assembler, SINGLE_MULTIPLY_WIDE, 8, in_register(RCX));
    if (multiplier.m < 0) {
        assemble_general(assembler, GENERAL_ADD, 8, RDX, in_register(RCX));
    }
    if (multiplier.shift > 0) {
        assemble_shift(assembler, SHIFT_RIGHT_SIGNED, 8, RDX, multiplier.shift);
    }
}

/* rdx = rcx / d, from rcx, which is kept; changes rax. For floors, what is divided is n where n >= 0, else -n - 1 = ~n, and the
 * quotient is flipped back; else 1 is added where n < 0. */
static void divide_by_multiplier(struct emission *emission, const struct mdf_lowered_op *op, uint64_t d)
{
    struct assembler *assembler = emission->assembler;
    struct multiplier multiplier = find_multiplier(d);

    if (is_natural(emission, op->in[0])) {
        multiply(emission, multiplier);
    } else if (floors(op)) {
        assemble_move(assembler, RDX, RCX);
        assemble_shift(assembler, SHIFT_RIGHT_SIGNED, 8, RDX, 63);
        assemble_general(assembler, GENERAL_EXCLUSIVE_OR, 8, RCX, in_register(RDX));
        assemble_push(assembler, RDX);
        multiply(emission, multiplier);
        assemble_pop(assembler, RAX);
        assemble_general(assembler, GENERAL_EXCLUSIVE_OR, 8, RDX, in_register(RAX));
        assemble_general(assembler, GENERAL_EXCLUSIVE_OR, 8, RCX, in_register(RAX));
    } else {
        multiply(emission, multiplier);
        assemble_move(assembler, RAX, RCX);
        assemble_shift(assembler, SHIFT_RIGHT, 8, RAX, 63);
        assemble_general(assembler, GENERAL_ADD, 8, RDX, in_register(RAX));
    }
}

/* rdx = rcx - rdx * d */
static void remainder_of_quotient(struct emission *emission, int64_t d)
{
    struct assembler *assembler = emission->assembler;

    if (d == (int32_t)d) {
        assemble_multiply_by(assembler, 8, RDX, in_register(RDX), (int32_t)d);
    } else {
        assemble_move_number(assembler, RAX, (uint64_t)d);
        assemble_general(assembler, GENERAL_MULTIPLY, 8, RDX, in_register(RAX));
    }
    assemble_general(assembler, GENERAL_SUBTRACT, 8, RCX, in_register(RDX));
    assemble_move(assembler, RDX, RCX);
}

/* rdx = rcx / 2^n_bits, or the remainder; 0 < n_bits < 63. */
static void divide_by_power(struct emission *emission, const struct mdf_lowered_op *op, uint8_t n_bits)
{
    struct assembler *assembler = emission->assembler;

    bool rounds_down = floors(op) || is_natural(emission, op->in[0]);

    assemble_move(assembler, RDX, RCX);
    if (rounds_down && wants_remainder(op)) { /* the low bits */
        assemble_shift(assembler, SHIFT_LEFT, 8, RDX, (uint8_t)(64 - n_bits));
        assemble_shift(assembler, SHIFT_RIGHT, 8, RDX, (uint8_t)(64 - n_bits));
        return;
    }
    if (!rounds_down) { /* of negative ones, rounded up */
        if (n_bits > 1) {
            assemble_shift(assembler, SHIFT_RIGHT_SIGNED, 8, RDX, 63);
        }
        assemble_shift(assembler, SHIFT_RIGHT, 8, RDX, (uint8_t)(64 - n_bits));
        assemble_general(assembler, GENERAL_ADD, 8, RDX, in_register(RCX));
    }
    assemble_shift(assembler, SHIFT_RIGHT_SIGNED, 8, RDX, n_bits);
    if (wants_remainder(op)) {
        assemble_shift(assembler, SHIFT_LEFT, 8, RDX, n_bits);
        assemble_general(assembler, GENERAL_SUBTRACT, 8, RCX, in_register(RDX));
        assemble_move(assembler, RDX, RCX);
    }
}

static uint8_t power_of_two(uint64_t number)
{
    uint8_t n_bits = 0;

    while (number >> n_bits > 1) {
        n_bits++;
    }
    return UINT64_C(1) << n_bits == number ? n_bits : 0;
}

/* By a constant d with |d| >= 2, positive for those that floor. Truncated: n / -d is -(n / d), and the remainder is that by d. */
static void divide_by_constant(struct emission *emission, const struct mdf_lowered_op *op, int64_t divisor)
{
    uint64_t d = divisor < 0 ? 0 - (uint64_t)divisor : (uint64_t)divisor;
    uint8_t n_bits = power_of_two(d);

    if (n_bits > 0 && n_bits < 31 && wants_remainder(op) && (floors(op) || is_natural(emission, op->in[0]))) { /* the low bits */
        uint8_t target = emission_target(emission, op->out, RDX);

        emission_load_whole_number(emission, op->in[0], target);
        assemble_with_number(emission->assembler, NUMBER_AND, 4, in_register(target), (int32_t)(d - 1));
        emission_finish(emission, op->out, target);
        return;
    }
    load_wide(emission, op, op->in[0], RCX);
    if (n_bits > 0) {
        divide_by_power(emission, op, n_bits);
    } else {
        divide_by_multiplier(emission, op, d);
        if (wants_remainder(op)) {
            remainder_of_quotient(emission, (int64_t)d);
        }
    }
    if (divisor < 0 && !wants_remainder(op)) {
        assemble_single(emission->assembler, SINGLE_NEGATE, 8, in_register(RDX));
    }
    finish(emission, op, RDX);
}

/* rax: quotient, rdx: remainder of a truncated division by rcx; they become those of one that rounds down. */
static void round_down(struct emission *emission, const struct mdf_lowered_op *op)
{
    struct assembler *assembler = emission->assembler;
    machine_label done = new_label(assembler);

    assemble_general(assembler, GENERAL_TEST, 8, RDX, in_register(RDX));
    assemble_jump_if(assembler, IF_EQUAL, done);
    if (wants_remainder(op)) {
        assemble_move(assembler, RAX, RDX);
        assemble_general(assembler, GENERAL_EXCLUSIVE_OR, 8, RAX, in_register(RCX));
        assemble_jump_if(assembler, IF_NOT_NEGATIVE, done);
        assemble_general(assembler, GENERAL_ADD, 8, RDX, in_register(RCX));
    } else {
        assemble_general(assembler, GENERAL_EXCLUSIVE_OR, 8, RDX, in_register(RCX));
        assemble_jump_if(assembler, IF_NOT_NEGATIVE, done);
        assemble_with_number(assembler, NUMBER_SUBTRACT, 8, in_register(RAX), 1);
    }
    bind_label(assembler, done);
}

/* By -1: the processor refuses the lowest number. rax: the dividend; the result in rax, or rdx for remainders. */
static void divide_by_minus_one(struct emission *emission, const struct mdf_lowered_op *op)
{
    struct assembler *assembler = emission->assembler;

    if (wants_remainder(op)) {
        assemble_move_number(assembler, RDX, 0);
        return;
    }
    assemble_single(assembler, SINGLE_NEGATE, machine_whole_size(op->dtype), in_register(RAX));
    if (floors(op) && machine_is_short(op->dtype)) {
        assemble_with_number(assembler, NUMBER_COMPARE, 4, in_register(RAX), 1 << (8 * mdf_dtype_size((mdf_dtype)op->dtype) - 1));
        assemble_jump_if(assembler, IF_EQUAL, emission->bail_out);
    } else if (floors(op)) {
        assemble_jump_if(assembler, IF_OVERFLOW, emission->bail_out);
    }
}

/* 2^64 (2^l - d) / d + 1, bit by bit; 2^l may be 2^64. */
static uint64_t find_natural_multiplier(uint64_t d, uint8_t l)
{
    uint64_t rest = (l == 64 ? 0 : UINT64_C(1) << l) - d, quotient = 0;

    for (unsigned i = 0; i < 64; i++) {
        bool takes = rest >= d - rest; /* 2 rest >= d */

        quotient = 2 * quotient + takes;
        rest = takes ? rest - (d - rest) : 2 * rest;
    }
    return quotient + 1;
}

/* uint64 by a constant d >= 2. */
static void divide_naturals_by(struct emission *emission, const struct mdf_lowered_op *op, uint64_t d)
{
    struct assembler *assembler = emission->assembler;
    uint8_t n_bits = power_of_two(d), l = (uint8_t)(64 - __builtin_clzll(d - 1));

    emission_load_general(emission, op->in[0], RCX);
    if (n_bits > 0) {
        assemble_move(assembler, RDX, RCX);
        assemble_shift(assembler, wants_remainder(op) ? SHIFT_LEFT : SHIFT_RIGHT, 8, RDX,
                       wants_remainder(op) ? (uint8_t)(64 - n_bits) : n_bits);
        if (wants_remainder(op)) {
            assemble_shift(assembler, SHIFT_RIGHT, 8, RDX, (uint8_t)(64 - n_bits));
        }
    } else {
        assemble_move_number(assembler, RAX, find_natural_multiplier(d, l));
        assemble_single(assembler, SINGLE_MULTIPLY_NATURALS, 8, in_register(RCX));
        assemble_move(assembler, RAX, RCX);
        assemble_general(assembler, GENERAL_SUBTRACT, 8, RAX, in_register(RDX));
        assemble_shift(assembler, SHIFT_RIGHT, 8, RAX, 1);
        assemble_general(assembler, GENERAL_ADD, 8, RDX, in_register(RAX));
        assemble_shift(assembler, SHIFT_RIGHT, 8, RDX, (uint8_t)(l - 1));
        if (wants_remainder(op)) {
            remainder_of_quotient(emission, (int64_t)d);
        }
    }
    emission_finish(emission, op->out, RDX);
}

static void divide_naturals(struct emission *emission, const struct mdf_lowered_op *op)
{
    struct assembler *assembler = emission->assembler;
    unsigned size = machine_whole_size(op->dtype);

    emission_load_whole_number(emission, op->in[0], RAX);
    emission_load_whole_number(emission, op->in[1], RCX);
    assemble_general(assembler, GENERAL_TEST, size, RCX, in_register(RCX));
    assemble_jump_if(assembler, IF_EQUAL, emission->bail_out);
    assemble_move_number(assembler, RDX, 0);
    assemble_single(assembler, SINGLE_DIVIDE_NATURALS, size, in_register(RCX));
    emission_finish(emission, op->out, wants_remainder(op) ? RDX : RAX);
}

static void divide_by_value(struct emission *emission, const struct mdf_lowered_op *op)
{
    struct assembler *assembler = emission->assembler;
    machine_label usual = new_label(assembler), done = new_label(assembler);

    load_wide(emission, op, op->in[0], RAX);
    load_wide(emission, op, op->in[1], RCX);
    assemble_general(assembler, GENERAL_TEST, 8, RCX, in_register(RCX));
    assemble_jump_if(assembler, IF_EQUAL, emission->bail_out);
    assemble_with_number(assembler, NUMBER_COMPARE, 8, in_register(RCX), -1);
    assemble_jump_if(assembler, IF_NOT_EQUAL, usual);
    divide_by_minus_one(emission, op);
    assemble_jump(assembler, done);
    bind_label(assembler, usual);
    assemble_sign_of_rax(assembler);
    assemble_single(assembler, SINGLE_DIVIDE, 8, in_register(RCX));
    if (floors(op)) {
        round_down(emission, op);
    }
    bind_label(assembler, done);
    finish(emission, op, wants_remainder(op) ? RDX : RAX);
}

/* ------------------------------------------------------------------ remainders of quotients that are there */

static bool is_same_number(const struct emission *emission, mdf_lowered_id a, mdf_lowered_id b)
{
    return a == b || (emission_is_constant(emission, a) && emission_is_constant(emission, b) &&
                      emission_constant(emission, a) == emission_constant(emission, b));
}

const struct mdf_lowered_op *emission_quotient_of(const struct emission *emission, const struct mdf_lowered_op *op)
{
    enum { MOST_BACK = 64 };
    const struct step *steps = emission->steps;
    size_t at = emission->at;

    if (!wants_remainder(op) || op->dtype != MDF_DTYPE_INT64 ||
        (emission_is_constant(emission, op->in[1]) && power_of_two(emission_constant(emission, op->in[1])) > 0)) {
        return NULL; /* or the low bits */
    }
    for (size_t n_left = MOST_BACK; at-- > 0 && n_left > 0; n_left--) {
        const struct mdf_lowered_op *made = steps[at].kind == STEP_OP ? steps[at].op : NULL;

        if (made != NULL && steps[at].region == steps[emission->at].region && made->dtype == op->dtype &&
            (made->code == (floors(op) ? MDF_LOWERED_FLOOR_QUOTIENT : MDF_LOWERED_QUOTIENT) ||
             made->code == MDF_LOWERED_QUOTIENT) &&
            made->in[0] == op->in[0] && is_same_number(emission, made->in[1], op->in[1])) {
            return made;
        }
    }
    return NULL;
}

/* rcx = n - quotient * d; where the quotient was truncated, d is added to what is not 0, and has another sign. */
static void remainder_of(struct emission *emission, const struct mdf_lowered_op *op, const struct mdf_lowered_op *quotient)
{
    struct assembler *assembler = emission->assembler;
    int32_t number;
    bool is_signed;
    uint8_t d;

    emission_load_general(emission, quotient->out, RDX);
    if (emission_small_constant(emission, op->in[1], &number)) {
        assemble_multiply_by(assembler, 8, RDX, in_register(RDX), number);
    } else {
        assemble_general(assembler, GENERAL_MULTIPLY, 8, RDX, in_register(emission_general(emission, op->in[1], RAX)));
    }
    emission_load_general(emission, op->in[0], RCX);
    assemble_general(assembler, GENERAL_SUBTRACT, 8, RCX, in_register(RDX));
    is_signed = !is_natural(emission, op->in[0]) || !is_natural(emission, op->in[1]);
    if (floors(op) && quotient->code == MDF_LOWERED_QUOTIENT && is_signed) {
        d = emission_general(emission, op->in[1], RAX);
        assemble_move(assembler, RDX, RCX);
        if (!is_natural(emission, op->in[1])) {
            assemble_general(assembler, GENERAL_EXCLUSIVE_OR, 8, RDX, in_register(d));
        }
        assemble_shift(assembler, SHIFT_RIGHT_SIGNED, 8, RDX, 63);
        assemble_general(assembler, GENERAL_AND, 8, RDX, in_register(d));
        if (!is_natural(emission, op->in[1])) {
            assemble_general(assembler, GENERAL_TEST, 8, RCX, in_register(RCX));
            assemble_general(assembler, GENERAL_MOVE_IF + IF_EQUAL, 8, RDX, in_register(RCX));
        }
        assemble_general(assembler, GENERAL_ADD, 8, RCX, in_register(RDX));
    }
    emission_finish(emission, op->out, RCX);
}

void emission_division(struct emission *emission, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_op *quotient = emission_quotient_of(emission, op);
    bool is_constant = emission_is_constant(emission, op->in[1]);
    uint64_t bits = is_constant ? emission_constant(emission, op->in[1]) : 0;
    int64_t divisor = 0;
    int32_t number;

    if (quotient != NULL) {
        remainder_of(emission, op, quotient);
        return;
    }
    if (is_constant && op->dtype == MDF_DTYPE_UINT64 && bits >= 2) {
        divide_naturals_by(emission, op, bits);
        return;
    }
    if (is_constant && op->dtype != MDF_DTYPE_UINT64) {
        divisor = machine_whole_size(op->dtype) == 8 || !machine_is_signed(op->dtype)
                      ? (int64_t)bits
                      : (emission_small_constant(emission, op->in[1], &number) ? number : 0);
    }
    if (!machine_is_signed(op->dtype) && divisor < 2) {
        divide_naturals(emission, op);
    } else if (divisor >= 2 || (divisor <= -2 && divisor != INT64_MIN && !floors(op))) {
        divide_by_constant(emission, op, divisor);
    } else {
        divide_by_value(emission, op);
    }
}
