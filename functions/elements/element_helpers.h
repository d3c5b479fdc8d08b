/* element_helpers.h - arithmetic that C does not have, or slowly, for functions of elements: remainders, floor division, powers
 * of integers, common divisors, extremes; and what the words of float32_functions.inc and float64_functions.inc are in generated
 * C. In elements.def HELPER(f) is mdf_f.
 */
#ifndef MDF_FUNCTIONS_ELEMENTS_ELEMENT_HELPERS_H
#define MDF_FUNCTIONS_ELEMENTS_ELEMENT_HELPERS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* fmod, to the last bit, which takes the C library as long as the quotient has bits. Cut off, a rounded quotient is the right one
 * or, where it was rounded up, the next. It times b is a sum of two numbers (T. J. Dekker, 1971), and what is left of a has no
 * more bits than b. */
static inline double mdf_remainder_float64(double a, double b)
{
    double quotient = a / b, product, rest, wide, high, low, b_high, b_low;

    if (!(fabs(quotient) < 0x1p52 && fabs(b) < 0x1p900 && fabs(b) > 0x1p-900)) {
        return fmod(a, b);
    }
    quotient = (double)(int64_t)quotient;
    product = quotient * b;
    wide = 134217729.0 * quotient;
    high = wide - (wide - quotient);
    low = quotient - high;
    wide = 134217729.0 * b;
    b_high = wide - (wide - b);
    b_low = b - b_high;
    rest = (a - product) - (((high * b_high - product) + high * b_low + low * b_high) + low * b_low);
    if (a < 0 ? rest > 0 : rest < 0) {
        rest += copysign(b, a);
    }
    return copysign(rest, a);
}

/* In float64 the quotient of such numbers is rounded up to no whole number, and its product exact. */
static inline float mdf_remainder_float32(float a, float b)
{
    double quotient = (double)a / (double)b;

    if (!(fabs(quotient) < 0x1p28 && fabsf(b) < HUGE_VALF)) {
        return fmodf(a, b);
    }
    return copysignf((float)((double)a - (double)(int32_t)quotient * (double)b), a);
}

/* The larger or the smaller one of x and t, as elements.def has it: x where it is NaN, t where t is, or where they are equal. In
 * two steps, as compilers have an instruction for the first one, and no jump then that is taken now and then. */
static inline float mdf_larger_float32(float x, float t)
{
    const float either = x > t ? x : t;

    return x != x ? x : either;
}

static inline double mdf_larger_float64(double x, double t)
{
    const double either = x > t ? x : t;

    return x != x ? x : either;
}

static inline float mdf_smaller_float32(float x, float t)
{
    const float either = x < t ? x : t;

    return x != x ? x : either;
}

static inline double mdf_smaller_float64(double x, double t)
{
    const double either = x < t ? x : t;

    return x != x ? x : either;
}

/* The same of numpy's: x where they are equal, and of two NaN. */
static inline float mdf_maximum_float32(float x, float t)
{
    const float either = t > x ? t : x;

    return t != t && x == x ? t : either;
}

static inline double mdf_maximum_float64(double x, double t)
{
    const double either = t > x ? t : x;

    return t != t && x == x ? t : either;
}

static inline float mdf_minimum_float32(float x, float t)
{
    const float either = t < x ? t : x;

    return t != t && x == x ? t : either;
}

static inline double mdf_minimum_float64(double x, double t)
{
    const double either = t < x ? t : x;

    return t != t && x == x ? t : either;
}

/* a modulo b with the sign of b, for b != 0, exactly as CPython and numpy find it. */
static inline double mdf_modulo_float64(double a, double b)
{
    double remainder = mdf_remainder_float64(a, b);

    if (remainder == 0) {
        return copysign(0, b);
    }
    return (b < 0) != (remainder < 0) ? remainder + b : remainder;
}

static inline float mdf_modulo_float32(float a, float b)
{
    float remainder = mdf_remainder_float32(a, b);

    if (remainder == 0) {
        return copysignf(0.0f, b);
    }
    return (b < 0) != (remainder < 0) ? remainder + b : remainder;
}

/* The floor of a / b for b != 0. */
static inline double mdf_floor_quotient_float64(double a, double b)
{
    double remainder = mdf_remainder_float64(a, b), quotient = (a - remainder) / b, whole;

    if (remainder != 0 && (b < 0) != (remainder < 0)) {
        quotient -= 1;
    }
    if (quotient == 0) {
        return copysign(0, a / b);
    }
    whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1 : whole;
}

/* base ** exponent modulo 2**64. */
static inline uint64_t mdf_whole_power(uint64_t base, uint64_t exponent)
{
    uint64_t result = exponent & 1 ? base : 1;

    while ((exponent >>= 1) > 0) { /* the last square is one that is used */
        base *= base;
        if (exponent & 1) {
            result *= base;
        }
    }
    return result;
}

static inline uint64_t mdf_magnitude(int64_t integer)
{
    return integer < 0 ? 0 - (uint64_t)integer : (uint64_t)integer;
}

/* a / b for b != 0, rounded once: as reals where these are both numbers, else from more bits of the quotient than a real has, of which
 * the last tells whether something is left. */
static inline double mdf_true_quotient(int64_t a, int64_t b)
{
    const int64_t most = INT64_C(1) << 53;
    uint64_t quotient, divisor, rest;
    int n = 0;

    if (a == 0 || (a >= -most && a <= most && b >= -most && b <= most)) {
        return (double)a / (double)b;
    }
    divisor = mdf_magnitude(b);
    quotient = mdf_magnitude(a) / divisor;
    rest = mdf_magnitude(a) % divisor;
    for (; quotient < UINT64_C(1) << 55; n++) {
        uint64_t bit = rest >= divisor - rest;

        quotient = quotient * 2 + bit;
        rest = rest * 2 - bit * divisor;
    }
    return ldexp((a < 0) == (b < 0) ? (double)(quotient | (rest != 0)) : -(double)(quotient | (rest != 0)), -n);
}

static inline uint64_t mdf_common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

static inline uint64_t mdf_common_multiple(uint64_t a, uint64_t b)
{
    return a == 0 || b == 0 ? 0 : a / mdf_common_divisor(a, b) * b;
}

static inline uint32_t mdf_bits_float32(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float mdf_of_bits_float32(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint64_t mdf_bits_float64(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double mdf_of_bits_float64(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline double mdf_not_above_float64(double limit, double x)
{
    return limit < x ? limit : x;
}

static inline double mdf_not_below_float64(double limit, double x)
{
    return limit > x ? limit : x;
}

static inline float mdf_not_above_float32(float limit, float x)
{
    return limit < x ? limit : x;
}

static inline float mdf_not_below_float32(float limit, float x)
{
    return limit > x ? limit : x;
}

/* The n of exp, as what rounds it, at most 128, with which all that is beyond gives infinity: positive numbers have the order of
 * their bits, of which compilers take the smaller ones by one operation. Of NaN, and of what is so far below that `n` is negative
 * as a whole, the result does not come from here. */
static inline float mdf_exp_power_float32(float n)
{
    int32_t bits = (int32_t)mdf_bits_float32(n), most = 0x4b400080;

    return mdf_of_bits_float32((uint32_t)(bits < most ? bits : most));
}

/* exp(x), of which y is that for what does not round to 0. */
static inline float mdf_exp_result_float32(float x, float y)
{
    return x < -104.0f ? 0.0f : y;
}

/* Those of float64_functions.inc, which generated C gets as text. */
#define MDF_FLOAT64_FUNCTION_LIST(X)                                                                                          \
    X(exp)                                                                                                                    \
    X(exp2)                                                                                                                   \
    X(expm1)                                                                                                                  \
    X(log)                                                                                                                    \
    X(log1p) X(log2) X(log10) X(tanh) X(sinh) X(cosh) X(asinh) X(acosh) X(atanh) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) \
        X(fourth) X(cbrt) X(erf) X(erfc) X(sigmoid) X(softplus) X(mish)
#define MDF_FLOAT64_FUNCTION(function) double mdf_##function##_float64(double x);
MDF_FLOAT64_FUNCTION_LIST(MDF_FLOAT64_FUNCTION)
#undef MDF_FLOAT64_FUNCTION
double mdf_power_float64(double base, double exponent);

#endif
