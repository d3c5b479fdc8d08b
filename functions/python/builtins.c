/* builtins.c - Python's builtin functions of single values: abs round divmod pow int float bool str len.
 *
 * Source: the Python library reference, "Built-in Functions"; CPython's floatobject.c for rounding. */
#include "functions/kernel/derivatives.h"
#include "functions/elements/element.h"
#include "functions/elements/element_helpers.h"
#include "functions/python/python_operations.h"
#include "functions/python/ufunc.h"
#include "mdf_c/base/text.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ abs, divmod, pow, len */

static bool run_abs(struct mdf_call *call)
{
    const struct mdf_value *value = call->inputs[0];
    struct mdf_value *target = mdf_call_target(call, 0);
    int64_t integer;
    double real;

    if (mdf_python_is_integer(value)) {
        integer = mdf_element_to_int64((mdf_dtype)value->dtype, value->data);
        return integer == INT64_MIN ? mdf_python_make_whole(call, target, 0x1p63)
                                    : mdf_python_make_int(call, target, integer < 0 ? -integer : integer);
    }
    if (mdf_python_is_number(value) && mdf_value_to_double(value, &real)) {
        return mdf_python_make_real(call, target, fabs(real));
    }
    if (value->kind != MDF_KIND_TENSOR || value->dtype == MDF_DTYPE_STRING) {
        return mdf_python_refuse(call, value, NULL);
    }
    return mdf_ufunc_apply(call, target, &mdf_ufunc_absolute, call->inputs, NULL);
}

/* a * b modulo m, by doubling: no intermediate value passes 64 bits. */
static uint64_t multiply_modulo(uint64_t a, uint64_t b, uint64_t m)
{
    uint64_t product = 0;

    for (a %= m; b > 0; b >>= 1) {
        if (b & 1) {
            product = product >= m - a ? product - (m - a) : product + a;
        }
        a = a >= m - a ? a - (m - a) : a + a;
    }
    return product;
}

static bool raise_modulo(struct mdf_call *call)
{
    int64_t base, exponent, modulus;
    uint64_t m, power, result;

    if (!mdf_call_integer(call, 0, &base) || !mdf_call_integer(call, 1, &exponent) || !mdf_call_integer(call, 2, &modulus)) {
        return false;
    }
    if (exponent < 0 || modulus == 0) {
        return mdf_call_error(call, MDF_VALUE, modulus == 0 ? "a power modulo zero" : "a negative power with a modulus");
    }
    m = mdf_magnitude(modulus);
    power = mdf_magnitude(base) % m;
    power = base < 0 && power > 0 ? m - power : power;
    for (result = 1 % m; exponent > 0; exponent >>= 1) {
        result = (exponent & 1) != 0 ? multiply_modulo(result, power, m) : result;
        power = multiply_modulo(power, power, m);
    }
    return mdf_python_make_int(call, mdf_call_target(call, 0),
                               modulus < 0 && result > 0 ? (int64_t)(result - m) : (int64_t)result);
}

/* "base exp mod=". */
static bool run_pow(struct mdf_call *call)
{
    return mdf_python_given(call, 2) != NULL ? raise_modulo(call)
                                             : mdf_python_power(call, mdf_call_target(call, 0), call->inputs[0], call->inputs[1]);
}

static bool run_len(struct mdf_call *call)
{
    return mdf_python_check_iterable(call, call->inputs[0]) &&
           mdf_python_make_int(call, mdf_call_target(call, 0), (int64_t)mdf_python_length(call->inputs[0]));
}

/* ------------------------------------------------------------------ round */

/* To the nearest multiple of 10 ** -decimals for decimals < 0, half to even. All steps are exact while the power of ten is. */
static double round_to_tens(double x, int64_t decimals)
{
    double power = decimals < -308 ? (double)INFINITY : pow(10, (double)-decimals), rest, lower;
    bool up;

    if (isinf(power)) {
        return copysign(0, x);
    }
    rest = fmod(fabs(x), power);
    lower = fabs(x) - rest;
    up = rest > power / 2 || (rest == power / 2 && fmod(lower / power, 2) != 0);
    return copysign(up ? lower + power : lower, x);
}

/* To a number of decimals, from the exact decimal value of the number: by way of its text, as Python. */
static double round_to_decimals(double x, int64_t decimals)
{
    char text[400];
    char *at;

    if (decimals > 330 || fabs(x) >= 0x1p52) {
        return x;
    }
    snprintf(text, sizeof text, "%.*f", (int)decimals, x);
    for (at = text; *at != '\0'; at++) {
        if (!mdf_is_digit(*at) && *at != '-') { /* the point, whatever the locale has for it */
            *at = '.';
        }
    }
    return mdf_parse_real(text, strlen(text));
}

static bool round_integer(struct mdf_call *call, struct mdf_value *target, int64_t integer, int64_t decimals)
{
    int64_t power = 1, rest, lower;

    if (decimals >= 0) {
        return mdf_python_make_int(call, target, integer);
    }
    for (; decimals < 0 && power <= INT64_MAX / 10; decimals++) {
        power *= 10;
    }
    if (decimals < 0) {
        return mdf_python_make_int(call, target, 0);
    }
    rest = integer % power < 0 ? integer % power + power : integer % power;
    if (integer < INT64_MIN + rest) {
        return mdf_python_make_whole(call, target, (double)integer - (double)rest);
    }
    lower = integer - rest;
    if (rest > power / 2 || (rest == power / 2 && lower / power % 2 != 0)) {
        return lower > INT64_MAX - power ? mdf_python_make_whole(call, target, (double)lower + (double)power)
                                         : mdf_python_make_int(call, target, lower + power);
    }
    return mdf_python_make_int(call, target, lower);
}

/* "number ndigits=". Of numpy's scalars and arrays: numpy.round, an int where there is no ndigits. */
static bool run_round(struct mdf_call *call)
{
    const struct mdf_value *value = call->inputs[0];
    struct mdf_value *target = mdf_call_target(call, 0);
    bool to_whole = mdf_python_given(call, 1) == NULL;
    int64_t decimals;
    double real = 0;

    if (value->kind != MDF_KIND_TENSOR || value->dtype == MDF_DTYPE_STRING) {
        return mdf_python_refuse(call, value, NULL);
    }
    if (!mdf_python_integer(call, 1, 0, &decimals)) {
        return false;
    }
    if (mdf_python_is_integer(value)) {
        return round_integer(call, target, mdf_element_to_int64((mdf_dtype)value->dtype, value->data), decimals);
    }
    if (value->rank == 0 && mdf_value_to_double(value, &real) && to_whole) {
        return mdf_python_make_whole(call, target, rint(real));
    }
    if (!mdf_python_is_number(value)) {
        return mdf_ufunc_round(call, target, value, decimals);
    }
    if (!isfinite(real)) {
        return mdf_python_make_real(call, target, real);
    }
    return mdf_python_make_real(call, target, decimals < 0 ? round_to_tens(real, decimals) : round_to_decimals(real, decimals));
}

/* ------------------------------------------------------------------ int, float, bool */

static bool refuse_text(struct mdf_call *call, const char *text)
{
    return mdf_call_error(call, MDF_VALUE, "'%.80s' is no such number", text);
}

/* The digits of a number in a base; prefixes "0x" and the like are allowed where they fit the base. */
static bool read_in_base(struct mdf_call *call, const char *text, int64_t base)
{
    const char *digits = text + strspn(text, " \t\n");
    bool negative = *digits == '-', any = false;
    int64_t value = 0;

    digits += *digits == '-' || *digits == '+';
    if (digits[0] == '0' &&
        ((base == 16 && strchr("xX", digits[1]) != NULL) || (base == 2 && strchr("bB", digits[1]) != NULL) ||
         (base == 8 && strchr("oO", digits[1]) != NULL)) &&
        digits[1] != '\0') {
        digits += 2;
    }
    for (; *digits != '\0'; digits++) {
        int digit = mdf_is_digit(*digits)              ? *digits - '0'
                    : *digits >= 'a' && *digits <= 'z' ? *digits - 'a' + 10
                    : *digits >= 'A' && *digits <= 'Z' ? *digits - 'A' + 10
                                                       : 99;

        if (digit >= base || __builtin_mul_overflow(value, base, &value) || __builtin_add_overflow(value, digit, &value)) {
            break;
        }
        any = true;
    }
    digits += strspn(digits, " \t\n");
    return any && *digits == '\0' ? mdf_python_make_int(call, mdf_call_target(call, 0), negative ? -value : value)
                                  : refuse_text(call, text);
}

static bool int_of_text(struct mdf_call *call, const char *text)
{
    int64_t base, integer;
    double real;
    bool is_integer;

    if (!mdf_python_integer(call, 1, 10, &base)) {
        return false;
    }
    if (base < 2 || base > 36) {
        return mdf_call_error(call, MDF_VALUE, "a base is from 2 to 36");
    }
    if (base != 10) {
        return read_in_base(call, text, base);
    }
    if (!mdf_parse_python_number(text, &real, &integer, &is_integer)) {
        return refuse_text(call, text);
    }
    if (is_integer) {
        return mdf_python_make_int(call, mdf_call_target(call, 0), integer);
    }
    /* Only digits: a whole number past 64 bits. */
    return strspn(text, " \t\n+-_0123456789") == strlen(text) ? mdf_python_make_whole(call, mdf_call_target(call, 0), real)
                                                              : refuse_text(call, text);
}

/* "x= base=". */
static bool run_int(struct mdf_call *call)
{
    const struct mdf_value *value = mdf_python_given(call, 0);
    struct mdf_value *target = mdf_call_target(call, 0);
    size_t length;
    double real;

    if (value == NULL) {
        return mdf_call_input(call, 0) == NULL ? mdf_python_make_int(call, target, 0)
                                               : mdf_python_refuse(call, call->inputs[0], NULL);
    }
    if (mdf_python_is_string(value)) {
        return int_of_text(call, mdf_python_text(value, &length));
    }
    if (!mdf_value_to_double(value, &real)) {
        return mdf_python_refuse(call, value, NULL);
    }
    if (mdf_dtype_kind((mdf_dtype)value->dtype) == 'f' || (value->dtype == MDF_DTYPE_UINT64 && real >= 0x1p63)) {
        return mdf_python_make_whole(call, target, trunc(real));
    }
    return mdf_python_make_int(call, target, mdf_element_to_int64((mdf_dtype)value->dtype, value->data));
}

/* "x=". */
static bool run_float(struct mdf_call *call)
{
    const struct mdf_value *value = mdf_call_input(call, 0);
    struct mdf_value *target = mdf_call_target(call, 0);
    size_t length;
    int64_t integer;
    double real = 0;
    bool is_integer;

    if (value != NULL && mdf_python_is_string(value)) {
        if (!mdf_parse_python_number(mdf_python_text(value, &length), &real, &integer, &is_integer)) {
            return refuse_text(call, mdf_python_text(value, &length));
        }
    } else if (value != NULL && !mdf_value_to_double(value, &real)) {
        return mdf_python_refuse(call, value, NULL);
    }
    return mdf_python_make_real(call, target, real);
}

/* "x=". */
static bool run_bool(struct mdf_call *call)
{
    bool truth = false;

    if (mdf_call_input(call, 0) != NULL && !mdf_python_truth_of(call, call->inputs[0], &truth)) {
        return false;
    }
    return mdf_python_make_bool(call, mdf_call_target(call, 0), truth);
}

/* ------------------------------------------------------------------ str */

/* Appends what Python shows of a value; false where it is not known. `quoted`: as part of a list. */
static bool write_value(struct mdf_text *text, const struct mdf_value *value, bool quoted, unsigned depth)
{
    char number[MDF_NUMBER_TEXT_SIZE];
    size_t length;
    double real;

    if (value->kind == MDF_KIND_LIST && depth < 100) {
        for (size_t i = 0; i < value->length; i++) {
            mdf_text_append_string(text, i == 0 ? "[" : ", ");
            if (!write_value(text, &mdf_value_items(value)[i], true, depth + 1)) {
                return false;
            }
        }
        mdf_text_append_string(text, value->length == 0 ? "[]" : "]");
        return true;
    }
    if (value->kind == MDF_KIND_NONE || (value->kind == MDF_KIND_TENSOR && value->rank == 0 && value->dtype == MDF_DTYPE_BOOL)) {
        mdf_text_append_string(text, value->kind == MDF_KIND_NONE ? "None" : *(const uint8_t *)value->data ? "True" : "False");
    } else if (mdf_python_is_string(value)) {
        mdf_text_append_string(text, quoted ? "'" : "");
        mdf_text_append(text, mdf_python_text(value, &length), mdf_string_length(mdf_value_to_string(value)));
        mdf_text_append_string(text, quoted ? "'" : "");
    } else if (!mdf_value_is_scalar(value) || !mdf_value_to_double(value, &real)) {
        return false;
    } else if (mdf_dtype_kind((mdf_dtype)value->dtype) != 'f') {
        mdf_text_printf(text, value->dtype == MDF_DTYPE_UINT64 ? "%llu" : "%lld",
                        (long long)mdf_element_to_int64((mdf_dtype)value->dtype, value->data));
    } else if (!isfinite(real)) {
        mdf_text_append_string(text, isnan(real) ? "nan" : real > 0 ? "inf" : "-inf");
    } else {
        if (value->dtype == MDF_DTYPE_FLOAT64) {
            mdf_format_float64(real, number);
        } else {
            mdf_format_float32((float)real, number);
        }
        mdf_text_append_string(text, number);
    }
    return true;
}

/* "object=". */
static bool run_str(struct mdf_call *call)
{
    const struct mdf_value *value = mdf_call_input(call, 0);
    struct mdf_text text;
    bool known, done;

    if (value == NULL) {
        return mdf_python_make_string(call, mdf_call_target(call, 0), "", 0);
    }
    mdf_text_init(&text, call->context->memory);
    known = write_value(&text, value, false, 0);
    if (!known) {
        done = mdf_python_refuse(call, value, NULL);
    } else if (text.failed) {
        done = mdf_call_out_of_memory(call);
    } else {
        done = mdf_python_make_string(call, mdf_call_target(call, 0), text.bytes != NULL ? text.bytes : "", text.length);
    }
    mdf_text_release(&text);
    return done;
}

const struct mdf_operator mdf_operators_python_builtins[] = {
    MDF_FUNCTION("abs", run_abs, 0, "x", MDF_ELEMENT(exact_absolute)),
    MDF_FUNCTION("divmod", NULL, 0, "a b", .meaning = MDF_MEANING("result", NULL, {"result", "(a // b, a % b)", NULL})),
    MDF_FUNCTION("pow", run_pow, 0, "base exp mod=", MDF_ELEMENT(power_of_numbers)),
    MDF_FUNCTION("len", run_len, 0, "obj", .form = MDF_FORM_OF_SHAPE, .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("round", run_round, 0, "number ndigits=", .form = MDF_FORM_NEAREST, .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("int", run_int, 0, "x= base=", .form = MDF_FORM_NUMBER, .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("float", run_float, 0, "x=", .form = MDF_FORM_NUMBER, .derivatives = MDF_DERIVATIVES({0, "dy"})),
    MDF_FUNCTION("bool", run_bool, 0, "x=", .form = MDF_FORM_NUMBER, .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("str", run_str, 0, "object="),
    {NULL}};
