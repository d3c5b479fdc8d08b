/* binary.c - arithmetic of two arrays: Add Sub Mul Div Pow Mod PRelu BitShift BitwiseAnd BitwiseOr BitwiseXor.
 *
 * Whole numbers wrap; their division truncates, by zero it is an error. Sources: the ONNX operators of these names. */
#include "functions/elements/elementwise.h"
#include "functions/elements/limited_broadcast.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ loops */

#define OPERATION add
#define BINARY(a, b) (WIDE) a + (WIDE)b
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION subtract
#define BINARY(a, b) (WIDE) a - (WIDE)b
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION multiply
#define BINARY(a, b) (WIDE) a *(WIDE)b
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION divide
#define BINARY(a, b) a / b
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

/* The lowest number by -1 wraps: the processor would trap. */
#define OPERATION divide
#define BINARY(a, b) b == -1 ? (ELEMENT)(0 - (WIDE)a) : a / b
#define REFUSED b == 0
#include "functions/elements/elementwise_signed.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION divide
#define BINARY(a, b) a / b
#define REFUSED b == 0
#include "functions/elements/elementwise_unsigned.inc"

#include "functions/elements/elementwise_end.inc"

/* fmod = 1: the sign of the result is that of a. */
#define OPERATION remainder
#define BINARY(a, b) MATH(fmod)(a, b)
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION remainder
#define BINARY(a, b) b == -1 ? 0 : a % b
#define REFUSED b == 0
#include "functions/elements/elementwise_signed.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION remainder
#define BINARY(a, b) a % b
#define REFUSED b == 0
#include "functions/elements/elementwise_unsigned.inc"

#include "functions/elements/elementwise_end.inc"

/* fmod = 0: the sign of the result is that of b, as in Python. */
static double modulo(double a, double b)
{
    double rest = fmod(a, b);

    if (rest == 0) {
        return copysign(0.0, b);
    }
    return (b < 0) != (rest < 0) ? rest + b : rest;
}

static float modulof(float a, float b)
{
    float rest = fmodf(a, b);

    if (rest == 0) {
        return copysignf(0.0f, b);
    }
    return (b < 0) != (rest < 0) ? rest + b : rest;
}

#define OPERATION modulo
#define BINARY(a, b) MATH(modulo)(a, b)
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION modulo
#define BINARY(a, b) b == -1 ? 0 : (a % b + (a % b != 0 && ((a % b < 0) != (b < 0)) ? b : 0))
#define REFUSED b == 0
#include "functions/elements/elementwise_signed.inc"

#include "functions/elements/elementwise_end.inc"

/* Squares are so common that they are worth a product, which rounds as well as pow does. */
#define OPERATION power
#define BINARY(a, b) b == 2 ? a *a : MATH(pow)(a, b)
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

/* The lowest 64 bits of a power; shorter numbers are its lowest bits. */
static uint64_t whole_power(uint64_t base, uint64_t exponent)
{
    uint64_t result = 1;

    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1) {
            result *= base;
        }
        base *= base;
    }
    return result;
}

#define OPERATION power
#define BINARY(a, b) whole_power((uint64_t)a, (uint64_t)b)
#define REFUSED b < 0
#include "functions/elements/elementwise_signed.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION power
#define BINARY(a, b) whole_power(a, b)
#include "functions/elements/elementwise_unsigned.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION scale_negative
#define BINARY(a, b) a < 0 ? (ELEMENT)((WIDE)a * (WIDE)b) : a
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_signed.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION scale_negative
#define BINARY(a, b) ((void)b, a)
#include "functions/elements/elementwise_unsigned.inc"

#include "functions/elements/elementwise_end.inc"

/* Shifts by the width or more, or by a negative number, leave the sign only. */
#define OPERATION shift_left
#define BINARY(a, b) (uint64_t) b < BITS ? (WIDE)a << b : 0
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION shift_right
#define BINARY(a, b) a >> ((uint64_t)b < BITS ? (int)b : BITS - 1)
#include "functions/elements/elementwise_signed.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION shift_right
#define BINARY(a, b) b < BITS ? a >> b : 0
#include "functions/elements/elementwise_unsigned.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION bitwise_and
#define BINARY(a, b) a &b
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION bitwise_or
#define BINARY(a, b) a | b
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION bitwise_xor
#define BINARY(a, b) a ^ b
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"

#include "functions/elements/elementwise_end.inc"

/* ------------------------------------------------------------------ operations */

static const char by_zero[] = "integer division by zero";

static const struct mdf_operation add = {.loops = {MDF_LOOPS_REALS(add), MDF_LOOPS_INTEGERS(add)}};
static const struct mdf_operation subtract = {.loops = {MDF_LOOPS_REALS(subtract), MDF_LOOPS_INTEGERS(subtract)}};
static const struct mdf_operation multiply = {.loops = {MDF_LOOPS_REALS(multiply), MDF_LOOPS_INTEGERS(multiply)}};
static const struct mdf_operation divide = {
    .loops = {MDF_LOOPS_REALS(divide), MDF_LOOPS_INTEGERS(divide)}, .cost_ns = 1, .refusal = by_zero};
static const struct mdf_operation remainder_of_division = {
    .loops = {MDF_LOOPS_REALS(remainder), MDF_LOOPS_INTEGERS(remainder)}, .cost_ns = 10, .refusal = by_zero};
static const struct mdf_operation modulo_of_division = {
    .loops = {MDF_LOOPS_REALS(modulo), MDF_LOOPS_SIGNED(modulo), MDF_LOOPS_UNSIGNED(remainder)},
    .cost_ns = 10,
    .refusal = by_zero};
static const struct mdf_operation power = {.loops = {MDF_LOOPS_REALS(power), MDF_LOOPS_INTEGERS(power)},
                                           .cost_ns = 20,
                                           .refusal = "an integer to a negative power is not an integer"};
static const struct mdf_operation scale_negative = {
    .loops = {MDF_LOOPS_REALS(scale_negative), MDF_LOOPS_INTEGERS(scale_negative)}};
static const struct mdf_operation shift_left = {.loops = {MDF_LOOPS_INTEGERS(shift_left)}};
static const struct mdf_operation shift_right = {.loops = {MDF_LOOPS_INTEGERS(shift_right)}};
static const struct mdf_operation bitwise_and = {.loops = {MDF_LOOPS_INTEGERS(bitwise_and)}};
static const struct mdf_operation bitwise_or = {.loops = {MDF_LOOPS_INTEGERS(bitwise_or)}};
static const struct mdf_operation bitwise_xor = {.loops = {MDF_LOOPS_INTEGERS(bitwise_xor)}};

/* ------------------------------------------------------------------ kernels */

static bool run_add(struct mdf_call *call)
{
    return mdf_elementwise_call(call, &add, 2, NULL);
}

static bool run_subtract(struct mdf_call *call)
{
    return mdf_elementwise_call(call, &subtract, 2, NULL);
}

static bool run_multiply(struct mdf_call *call)
{
    return mdf_elementwise_call(call, &multiply, 2, NULL);
}

static bool run_divide(struct mdf_call *call)
{
    return mdf_elementwise_call(call, &divide, 2, NULL);
}

static bool run_limited_add(struct mdf_call *call)
{
    return mdf_limited_broadcast_call(call, &add);
}

static bool run_limited_subtract(struct mdf_call *call)
{
    return mdf_limited_broadcast_call(call, &subtract);
}

static bool run_limited_multiply(struct mdf_call *call)
{
    return mdf_limited_broadcast_call(call, &multiply);
}

static bool run_limited_divide(struct mdf_call *call)
{
    return mdf_limited_broadcast_call(call, &divide);
}

static bool run_limited_power(struct mdf_call *call)
{
    return mdf_limited_broadcast_call(call, &power);
}

static bool run_bitwise_and(struct mdf_call *call)
{
    return mdf_elementwise_call(call, &bitwise_and, 2, NULL);
}

static bool run_bitwise_or(struct mdf_call *call)
{
    return mdf_elementwise_call(call, &bitwise_or, 2, NULL);
}

static bool run_bitwise_xor(struct mdf_call *call)
{
    return mdf_elementwise_call(call, &bitwise_xor, 2, NULL);
}

struct mod_settings {
    int64_t fmod;
};

static const struct mdf_setting mod_settings[] = {{"fmod", MDF_SETTING_INT, offsetof(struct mod_settings, fmod)},
                                                  {NULL, MDF_SETTING_INT, 0}};

static bool run_mod(struct mdf_call *call)
{
    const struct mod_settings *given = call->settings;

    return mdf_elementwise_call(call, given->fmod == 1 ? &remainder_of_division : &modulo_of_division, 2, NULL);
}

struct shift_settings {
    const char *direction;
};

static const struct mdf_setting shift_settings[] = {{"direction", MDF_SETTING_STRING, offsetof(struct shift_settings, direction)},
                                                    {NULL, MDF_SETTING_INT, 0}};

static bool run_shift(struct mdf_call *call)
{
    const struct shift_settings *given = call->settings;

    if (given->direction != NULL && strcmp(given->direction, "LEFT") == 0) {
        return mdf_elementwise_call(call, &shift_left, 2, NULL);
    }
    if (given->direction != NULL && strcmp(given->direction, "RIGHT") == 0) {
        return mdf_elementwise_call(call, &shift_right, 2, NULL);
    }
    return mdf_call_error(call, MDF_VALUE, "attribute 'direction' is \"%s\", not \"LEFT\" or \"RIGHT\"",
                          given->direction != NULL ? given->direction : "");
}

enum { SCRATCH_BASE = 2, SCRATCH_EXPONENT = 3 };

/* Whether the only element of an array is a number that another real type holds as it is. */
static bool fits_real(const struct mdf_value *value, mdf_dtype dtype)
{
    uint64_t element = 0;
    double real;

    if (value->length != 1 || mdf_dtype_kind(dtype) != 'f') {
        return false;
    }
    real = mdf_element_to_double((mdf_dtype)value->dtype, value->data);
    mdf_convert_elements(dtype, &element, MDF_DTYPE_FLOAT64, &real, 1, false);
    return mdf_element_to_double(dtype, &element) == real;
}

/* Powers of two different types are computed in the type that they share, the result converted to that of the base. */
static bool run_mixed_power(struct mdf_call *call, const struct mdf_value *base, const struct mdf_value *exponent)
{
    mdf_dtype dtype = (mdf_dtype)base->dtype;
    mdf_dtype common = fits_real(exponent, dtype) ? dtype
                                                  : mdf_promote(dtype, MDF_STRENGTH_TYPED, (mdf_dtype)exponent->dtype,
                                                                MDF_STRENGTH_TYPED, MDF_DTYPE_FLOAT64);
    struct mdf_memory *memory = call->context->memory;
    struct mdf_value *result = mdf_call_result(call, 0);
    const struct mdf_value *operands[2] = {base, exponent};

    if (exponent->dtype != common) {
        operands[1] = &call->scratch[SCRATCH_EXPONENT];
        if (!mdf_value_convert(memory, &call->scratch[SCRATCH_EXPONENT], exponent, common)) {
            return mdf_call_out_of_memory(call);
        }
    }
    if (common == dtype) {
        return mdf_elementwise(call, result != NULL ? result : &call->scratch[0], &power, 2, operands, NULL);
    }
    operands[0] = &call->scratch[SCRATCH_BASE];
    if (!mdf_value_convert(memory, &call->scratch[SCRATCH_BASE], base, common)) {
        return mdf_call_out_of_memory(call);
    }
    if (!mdf_elementwise(call, &call->scratch[0], &power, 2, operands, NULL)) {
        return false;
    }
    return result == NULL || mdf_value_convert(memory, result, &call->scratch[0], dtype) || mdf_call_out_of_memory(call);
}

static bool run_power(struct mdf_call *call)
{
    const struct mdf_value *base = mdf_call_tensor(call, 0), *exponent = base != NULL ? mdf_call_tensor(call, 1) : NULL;

    if (exponent == NULL) {
        return false;
    }
    return base->dtype == exponent->dtype ? mdf_elementwise_call(call, &power, 2, NULL) : run_mixed_power(call, base, exponent);
}

/* The slope never widens the result. Before version 7 a vector of slopes belongs to the channels, axis 1. */
static bool run_prelu(struct mdf_call *call)
{
    const struct mdf_value *x = mdf_call_tensor(call, 0), *slope = x != NULL ? mdf_call_tensor(call, 1) : NULL;
    bool channels = call->operator->since<7 && x != NULL && x->rank> 1 && slope != NULL && slope->rank == 1;
    struct mdf_value view, *target = mdf_call_result(call, 0);
    const struct mdf_value *operands[2] = {x, &view};

    if (slope == NULL) {
        return false;
    }
    if (slope->rank > x->rank) {
        return mdf_call_error(call, MDF_SHAPE, "the slope has %u axes, the data only %u", (unsigned)slope->rank,
                              (unsigned)x->rank);
    }
    return mdf_align_axes(call, x, slope, channels ? 1 : x->rank - slope->rank, &view) &&
           mdf_elementwise(call, target != NULL ? target : &call->scratch[0], &scale_negative, 2, operands, NULL);
}

#define LIMITED mdf_limited_broadcast_settings, sizeof(struct mdf_limited_broadcast)

const struct mdf_operator mdf_operators_binary[] = {
    {"Add", 1, 6, run_limited_add, LIMITED, MDF_OPERATOR_PURE, NULL},
    {"Add", 7, 99, run_add, NULL, 0, MDF_OPERATOR_PURE, NULL},
    {"Sub", 1, 6, run_limited_subtract, LIMITED, MDF_OPERATOR_PURE, NULL},
    {"Sub", 7, 99, run_subtract, NULL, 0, MDF_OPERATOR_PURE, NULL},
    {"Mul", 1, 6, run_limited_multiply, LIMITED, MDF_OPERATOR_PURE, NULL},
    {"Mul", 7, 99, run_multiply, NULL, 0, MDF_OPERATOR_PURE, NULL},
    {"Div", 1, 6, run_limited_divide, LIMITED, MDF_OPERATOR_PURE, NULL},
    {"Div", 7, 99, run_divide, NULL, 0, MDF_OPERATOR_PURE, NULL},
    {"Pow", 1, 6, run_limited_power, LIMITED, MDF_OPERATOR_PURE, NULL},
    {"Pow", 7, 99, run_power, NULL, 0, MDF_OPERATOR_PURE, NULL},
    {"Mod", 10, 99, run_mod, mod_settings, sizeof(struct mod_settings), MDF_OPERATOR_PURE, NULL},
    {"PRelu", 1, 6, run_prelu, NULL, 0, MDF_OPERATOR_PURE, NULL},
    {"PRelu", 7, 99, run_prelu, NULL, 0, MDF_OPERATOR_PURE, NULL},
    {"BitShift", 11, 99, run_shift, shift_settings, sizeof(struct shift_settings), MDF_OPERATOR_PURE, NULL},
    {"BitwiseAnd", 18, 99, run_bitwise_and, NULL, 0, MDF_OPERATOR_PURE, NULL},
    {"BitwiseOr", 18, 99, run_bitwise_or, NULL, 0, MDF_OPERATOR_PURE, NULL},
    {"BitwiseXor", 18, 99, run_bitwise_xor, NULL, 0, MDF_OPERATOR_PURE, NULL},
    {NULL, 0, 0, NULL, NULL, 0, MDF_OPERATOR_PURE, NULL}};
