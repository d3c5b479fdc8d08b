/* numpy_arithmetic.c - numpy's arithmetic on arrays: add subtract multiply divide floor_divide remainder power maximum minimum
 * negative absolute square, bits, greatest divisors.
 *
 * Whole numbers wrap; division of a whole number by zero gives 0, of a real one an infinity or NaN. Source: numpy 2.4, "Universal
 * functions". */
#include "functions/elements/element.h"
#include "functions/python/python_numbers.h"
#include "functions/python/ufunc.h"

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

#define OPERATION floor_divide
#define BINARY(a, b) b == 0 ? a / b : (ELEMENT)mdf_floor_quotient(a, b)
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION floor_divide
#define BINARY(a, b) b == 0 ? 0 : b == -1 ? (ELEMENT)(0 - (WIDE)a) : a / b - (a % b != 0 && (a < 0) != (b < 0))
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION floor_divide
#define BINARY(a, b) b == 0 ? 0 : a / b
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION remainder_of
#define BINARY(a, b) b == 0 ? (ELEMENT)NAN : (ELEMENT)mdf_floor_remainder(a, b)
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION remainder_of
#define BINARY(a, b) b == 0 || b == -1 ? 0 : a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0)
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION remainder_of
#define BINARY(a, b) b == 0 ? 0 : a % b
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

/* The remainder as C has it, with the sign of the dividend. */
#define OPERATION c_remainder
#define BINARY(a, b) MATH(fmod)(a, b)
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION c_remainder
#define BINARY(a, b) b == 0 || b == (ELEMENT)-1 ? 0 : a % b
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION c_remainder
#define BINARY(a, b) b == 0 ? 0 : a % b
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION power
#define BINARY(a, b) MATH(pow)(a, b)
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION power
#define BINARY(a, b) mdf_wrapping_power((uint64_t)a, (uint64_t)b)
#define REFUSED b < 0
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION power
#define BINARY(a, b) mdf_wrapping_power(a, b)
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

/* NaN comes through. */
#define OPERATION maximum
#define BINARY(a, b) a >= b || a != a ? a : b
#include "functions/elements/elementwise_bool.inc"
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION minimum
#define BINARY(a, b) a <= b || a != a ? a : b
#include "functions/elements/elementwise_bool.inc"
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

/* NaN gives way. */
#define OPERATION real_maximum
#define BINARY(a, b) a >= b || b != b ? a : b
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION real_minimum
#define BINARY(a, b) a <= b || b != b ? a : b
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION both
#define BINARY(a, b) a &b
#include "functions/elements/elementwise_bool.inc"
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION either
#define BINARY(a, b) a | b
#include "functions/elements/elementwise_bool.inc"
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION different
#define BINARY(a, b) a ^ b
#include "functions/elements/elementwise_bool.inc"
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

/* Shifts by the width or more, or by a negative number, leave the sign only. */
#define OPERATION shift_left
#define BINARY(a, b) (uint64_t) b < BITS ? (WIDE)a << b : 0
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION shift_right
#define BINARY(a, b) (uint64_t) b < BITS ? a >> b : -(a < 0)
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION shift_right
#define BINARY(a, b) b < BITS ? a >> b : 0
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION greatest_divisor
#define BINARY(a, b) mdf_common_divisor(mdf_magnitude(a), mdf_magnitude(b))
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION greatest_divisor
#define BINARY(a, b) mdf_common_divisor(a, b)
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

static uint64_t common_multiple(uint64_t a, uint64_t b)
{
    return a == 0 || b == 0 ? 0 : a / mdf_common_divisor(a, b) * b;
}

#define OPERATION least_multiple
#define BINARY(a, b) common_multiple(mdf_magnitude(a), mdf_magnitude(b))
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION least_multiple
#define BINARY(a, b) common_multiple(a, b)
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION negate
#define UNARY(x) -x
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION negate
#define UNARY(x) 0 - (WIDE)x
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION keep
#define UNARY(x) x
#include "functions/elements/elementwise_bool.inc"
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION absolute
#define UNARY(x) MATH(fabs)(x)
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION absolute
#define UNARY(x) x < 0 ? 0 - (WIDE)x : (WIDE)x
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION signs
#define UNARY(x) x != x ? x : (ELEMENT)((x > 0) - (x < 0))
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION signs
#define UNARY(x) x > 0
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION square
#define UNARY(x) (WIDE) x *(WIDE)x
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION reciprocal
#define UNARY(x) 1 / x
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

/* Of zero: what x86 processors make of an infinity. */
#define OPERATION reciprocal
#define UNARY(x) x == 0 ? (BITS < 32 ? 0 : LOWEST) : 1 / x
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION square_root
#define UNARY(x) MATH(sqrt)(x)
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION invert
#define UNARY(x) !x
#include "functions/elements/elementwise_bool.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION invert
#define UNARY(x) ~(WIDE)x
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

/* ------------------------------------------------------------------ functions */

#define NUMBER_LOOPS(name) MDF_LOOPS_REALS(name), MDF_LOOPS_INTEGERS(name)

const struct mdf_ufunc mdf_ufunc_add = {{.loops = {NUMBER_LOOPS(add), MDF_LOOPS_BOOL(either)}}, MDF_UFUNC_SHARED, 2};
const struct mdf_ufunc mdf_ufunc_subtract = {{.loops = {NUMBER_LOOPS(subtract)}}, MDF_UFUNC_SHARED, 2};
const struct mdf_ufunc mdf_ufunc_multiply = {{.loops = {NUMBER_LOOPS(multiply), MDF_LOOPS_BOOL(both)}}, MDF_UFUNC_SHARED, 2};
const struct mdf_ufunc mdf_ufunc_divide = {{.loops = {MDF_LOOPS_REALS(divide)}, .cost_ns = 0.5f}, MDF_UFUNC_QUOTIENT, 2};
const struct mdf_ufunc mdf_ufunc_floor_divide = {{.loops = {NUMBER_LOOPS(floor_divide)}, .cost_ns = 10}, MDF_UFUNC_NUMBERS, 2};
const struct mdf_ufunc mdf_ufunc_remainder = {{.loops = {NUMBER_LOOPS(remainder_of)}, .cost_ns = 10}, MDF_UFUNC_NUMBERS, 2};
const struct mdf_ufunc mdf_ufunc_bitwise_and = {{.loops = {MDF_LOOPS_INTEGERS(both), MDF_LOOPS_BOOL(both)}}, MDF_UFUNC_SHARED, 2};
const struct mdf_ufunc mdf_ufunc_bitwise_or = {
    {.loops = {MDF_LOOPS_INTEGERS(either), MDF_LOOPS_BOOL(either)}}, MDF_UFUNC_SHARED, 2};
const struct mdf_ufunc mdf_ufunc_bitwise_xor = {
    {.loops = {MDF_LOOPS_INTEGERS(different), MDF_LOOPS_BOOL(different)}}, MDF_UFUNC_SHARED, 2};
const struct mdf_ufunc mdf_ufunc_left_shift = {{.loops = {MDF_LOOPS_INTEGERS(shift_left)}}, MDF_UFUNC_NUMBERS, 2};
const struct mdf_ufunc mdf_ufunc_right_shift = {{.loops = {MDF_LOOPS_INTEGERS(shift_right)}}, MDF_UFUNC_NUMBERS, 2};
const struct mdf_ufunc mdf_ufunc_negative = {{.loops = {NUMBER_LOOPS(negate)}}, MDF_UFUNC_SHARED, 1};
const struct mdf_ufunc mdf_ufunc_positive = {{.loops = {NUMBER_LOOPS(keep)}}, MDF_UFUNC_SHARED, 1};
const struct mdf_ufunc mdf_ufunc_absolute = {
    {.loops = {MDF_LOOPS_REALS(absolute), MDF_LOOPS_SIGNED(absolute), MDF_LOOPS_UNSIGNED(keep), MDF_LOOPS_BOOL(keep)}},
    MDF_UFUNC_SHARED,
    1};
const struct mdf_ufunc mdf_ufunc_invert = {{.loops = {MDF_LOOPS_INTEGERS(invert), MDF_LOOPS_BOOL(invert)}}, MDF_UFUNC_SHARED, 1};
const struct mdf_ufunc mdf_ufunc_maximum = {{.loops = {NUMBER_LOOPS(maximum), MDF_LOOPS_BOOL(maximum)}}, MDF_UFUNC_SHARED, 2};
const struct mdf_ufunc mdf_ufunc_minimum = {{.loops = {NUMBER_LOOPS(minimum), MDF_LOOPS_BOOL(minimum)}}, MDF_UFUNC_SHARED, 2};

static const struct mdf_ufunc c_remainder = {{.loops = {NUMBER_LOOPS(c_remainder)}, .cost_ns = 10}, MDF_UFUNC_NUMBERS, 2};
static const struct mdf_ufunc real_maximum = {
    {.loops = {MDF_LOOPS_REALS(real_maximum), MDF_LOOPS_INTEGERS(maximum), MDF_LOOPS_BOOL(maximum)}}, MDF_UFUNC_SHARED, 2};
static const struct mdf_ufunc real_minimum = {
    {.loops = {MDF_LOOPS_REALS(real_minimum), MDF_LOOPS_INTEGERS(minimum), MDF_LOOPS_BOOL(minimum)}}, MDF_UFUNC_SHARED, 2};
static const struct mdf_ufunc greatest_divisor = {
    {.loops = {MDF_LOOPS_INTEGERS(greatest_divisor)}, .cost_ns = 50}, MDF_UFUNC_NUMBERS, 2};
static const struct mdf_ufunc least_multiple = {
    {.loops = {MDF_LOOPS_INTEGERS(least_multiple)}, .cost_ns = 50}, MDF_UFUNC_NUMBERS, 2};
static const struct mdf_ufunc signs = {{.loops = {NUMBER_LOOPS(signs)}}, MDF_UFUNC_SHARED, 1};
static const struct mdf_ufunc square = {{.loops = {NUMBER_LOOPS(square)}}, MDF_UFUNC_NUMBERS, 1};
static const struct mdf_ufunc reciprocal = {{.loops = {NUMBER_LOOPS(reciprocal)}}, MDF_UFUNC_NUMBERS, 1};
static const struct mdf_ufunc square_root = {{.loops = {MDF_LOOPS_REALS(square_root)}, .cost_ns = 2}, MDF_UFUNC_REALS, 1};
static const struct mdf_ufunc float_power = {{.loops = {MDF_LOOPS_REALS(power)}, .cost_ns = 20}, MDF_UFUNC_FLOAT64, 2};
static const struct mdf_ufunc power = {
    {.loops = {NUMBER_LOOPS(power)}, .cost_ns = 20, .refusal = "whole numbers to negative whole powers are not allowed"},
    MDF_UFUNC_NUMBERS,
    2};

bool mdf_ufunc_power(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *const operands[2])
{
    const struct mdf_value *base = operands[0], *exponent = operands[1];
    bool real_base = base->kind == MDF_KIND_TENSOR && base->rank > 0 && mdf_dtype_kind((mdf_dtype)base->dtype) == 'f';
    double number;

    if (real_base && mdf_value_is_scalar(exponent) && mdf_value_to_double(exponent, &number) &&
        mdf_python_promote(call->context, base, exponent) == base->dtype) {
        const struct mdf_ufunc *way = number == 2 ? &square : number == 0.5 ? &square_root : number == -1 ? &reciprocal : NULL;

        if (way != NULL) {
            return mdf_ufunc_apply(call, target, way, operands, NULL);
        }
    }
    return mdf_ufunc_apply(call, target, &power, operands, NULL);
}

/* ------------------------------------------------------------------ kernels */

#define KERNEL(name, ufunc)                          \
    static bool name(struct mdf_call *call)          \
    {                                                \
        return mdf_ufunc_call(call, &(ufunc), NULL); \
    }

KERNEL(run_add, mdf_ufunc_add)
KERNEL(run_subtract, mdf_ufunc_subtract)
KERNEL(run_multiply, mdf_ufunc_multiply)
KERNEL(run_divide, mdf_ufunc_divide)
KERNEL(run_floor_divide, mdf_ufunc_floor_divide)
KERNEL(run_remainder, mdf_ufunc_remainder)
KERNEL(run_c_remainder, c_remainder)
KERNEL(run_float_power, float_power)
KERNEL(run_maximum, mdf_ufunc_maximum)
KERNEL(run_minimum, mdf_ufunc_minimum)
KERNEL(run_real_maximum, real_maximum)
KERNEL(run_real_minimum, real_minimum)
KERNEL(run_bitwise_and, mdf_ufunc_bitwise_and)
KERNEL(run_bitwise_or, mdf_ufunc_bitwise_or)
KERNEL(run_bitwise_xor, mdf_ufunc_bitwise_xor)
KERNEL(run_left_shift, mdf_ufunc_left_shift)
KERNEL(run_right_shift, mdf_ufunc_right_shift)
KERNEL(run_greatest_divisor, greatest_divisor)
KERNEL(run_least_multiple, least_multiple)
KERNEL(run_negative, mdf_ufunc_negative)
KERNEL(run_positive, mdf_ufunc_positive)
KERNEL(run_absolute, mdf_ufunc_absolute)
KERNEL(run_signs, signs)
KERNEL(run_square, square)
KERNEL(run_reciprocal, reciprocal)
KERNEL(run_square_root, square_root)
KERNEL(run_invert, mdf_ufunc_invert)

static bool run_power(struct mdf_call *call)
{
    if (mdf_call_input(call, 0) == NULL || mdf_call_input(call, 1) == NULL) {
        return mdf_call_tensor(call, mdf_call_input(call, 0) == NULL ? 0 : 1) != NULL;
    }
    return mdf_ufunc_power(call, mdf_call_target(call, 0), call->inputs);
}

#define BINARY_ROW(name, kernel, element)                                        \
    {                                                                            \
        name, 0, 0, kernel, NULL, 0, MDF_OPERATOR_KEEPS_INPUTS, "x1 x2", element \
    }
#define UNARY_ROW(name, kernel, element)                                     \
    {                                                                        \
        name, 0, 0, kernel, NULL, 0, MDF_OPERATOR_KEEPS_INPUTS, "x", element \
    }

const struct mdf_operator mdf_operators_python_numpy_arithmetic[] = {
    BINARY_ROW("numpy.add", run_add, MDF_ELEMENT(add)),
    BINARY_ROW("numpy.subtract", run_subtract, MDF_ELEMENT(subtract)),
    BINARY_ROW("numpy.multiply", run_multiply, MDF_ELEMENT(multiply)),
    BINARY_ROW("numpy.divide", run_divide, MDF_ELEMENT(divide)),
    BINARY_ROW("numpy.true_divide", run_divide, MDF_ELEMENT(divide)),
    BINARY_ROW("numpy.floor_divide", run_floor_divide, MDF_ELEMENT(floor_quotient)),
    BINARY_ROW("numpy.mod", run_remainder, MDF_ELEMENT(floor_remainder)),
    BINARY_ROW("numpy.remainder", run_remainder, MDF_ELEMENT(floor_remainder)),
    BINARY_ROW("numpy.fmod", run_c_remainder, MDF_ELEMENT(c_remainder)),
    BINARY_ROW("numpy.power", run_power, MDF_ELEMENT(power)),
    BINARY_ROW("numpy.pow", run_power, MDF_ELEMENT(power)),
    BINARY_ROW("numpy.float_power", run_float_power, MDF_ELEMENT(power)),
    BINARY_ROW("numpy.maximum", run_maximum, MDF_ELEMENT(maximum)),
    BINARY_ROW("numpy.minimum", run_minimum, MDF_ELEMENT(minimum)),
    BINARY_ROW("numpy.fmax", run_real_maximum, MDF_ELEMENT(maximum_number)),
    BINARY_ROW("numpy.fmin", run_real_minimum, MDF_ELEMENT(minimum_number)),
    BINARY_ROW("numpy.bitwise_and", run_bitwise_and, MDF_ELEMENT(bitwise_and)),
    BINARY_ROW("numpy.bitwise_or", run_bitwise_or, MDF_ELEMENT(bitwise_or)),
    BINARY_ROW("numpy.bitwise_xor", run_bitwise_xor, MDF_ELEMENT(bitwise_xor)),
    BINARY_ROW("numpy.left_shift", run_left_shift, NULL),
    BINARY_ROW("numpy.bitwise_left_shift", run_left_shift, NULL),
    BINARY_ROW("numpy.right_shift", run_right_shift, NULL),
    BINARY_ROW("numpy.bitwise_right_shift", run_right_shift, NULL),
    BINARY_ROW("numpy.gcd", run_greatest_divisor, NULL),
    BINARY_ROW("numpy.lcm", run_least_multiple, NULL),
    UNARY_ROW("numpy.negative", run_negative, MDF_ELEMENT(negative)),
    UNARY_ROW("numpy.positive", run_positive, MDF_ELEMENT(kept)),
    UNARY_ROW("numpy.abs", run_absolute, MDF_ELEMENT(absolute)),
    UNARY_ROW("numpy.absolute", run_absolute, MDF_ELEMENT(absolute)),
    UNARY_ROW("numpy.sign", run_signs, MDF_ELEMENT(sign)),
    UNARY_ROW("numpy.square", run_square, MDF_ELEMENT(square)),
    UNARY_ROW("numpy.reciprocal", run_reciprocal, MDF_ELEMENT(reciprocal)),
    UNARY_ROW("numpy.sqrt", run_square_root, MDF_ELEMENT(square_root)),
    UNARY_ROW("numpy.invert", run_invert, MDF_ELEMENT(complement)),
    UNARY_ROW("numpy.bitwise_not", run_invert, MDF_ELEMENT(complement)),
    UNARY_ROW("numpy.bitwise_invert", run_invert, MDF_ELEMENT(complement)),
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL},
};
