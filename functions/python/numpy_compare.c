/* numpy_compare.c - numpy's comparisons and truths: less equal ... logical_and ... isnan isclose array_equal.
 *
 * Results are bool. Text is compared byte by byte, which is the order of code points. Source: numpy 2.4, "Logic functions". */
#include "functions/elements/element.h"
#include "functions/python/ufunc.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ loops */

static int compare_text(const char *a, const char *b)
{
    size_t a_length = mdf_string_length(a), b_length = mdf_string_length(b), shorter = a_length < b_length ? a_length : b_length;
    int order = shorter == 0 ? 0 : memcmp(a, b, shorter);

    return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

#define TEXT_LOOP(name, sign)                                                                                                   \
    static bool name##_string(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings) \
    {                                                                                                                           \
        char *const *a = operands[0], *const *b = operands[1];                                                                  \
        uint8_t *out = target;                                                                                                  \
                                                                                                                                \
        (void)settings;                                                                                                         \
        for (size_t i = 0; i < n; i++) {                                                                                        \
            out[i] = compare_text(a[i * steps[0]], b[i * steps[1]]) sign 0;                                                     \
        }                                                                                                                       \
        return true;                                                                                                            \
    }

TEXT_LOOP(less, <)
TEXT_LOOP(less_equal, <=)
TEXT_LOOP(greater, >)
TEXT_LOOP(greater_equal, >=)
TEXT_LOOP(equal, ==)
TEXT_LOOP(not_equal, !=)

#define OPERATION less
#define RESULT uint8_t
#define BINARY(a, b) a < b
#include "functions/elements/elementwise_bool.inc"
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION less_equal
#define RESULT uint8_t
#define BINARY(a, b) a <= b
#include "functions/elements/elementwise_bool.inc"
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION greater
#define RESULT uint8_t
#define BINARY(a, b) a > b
#include "functions/elements/elementwise_bool.inc"
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION greater_equal
#define RESULT uint8_t
#define BINARY(a, b) a >= b
#include "functions/elements/elementwise_bool.inc"
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION equal
#define RESULT uint8_t
#define BINARY(a, b) a == b
#include "functions/elements/elementwise_bool.inc"
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION not_equal
#define RESULT uint8_t
#define BINARY(a, b) a != b
#include "functions/elements/elementwise_bool.inc"
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION both
#define BINARY(a, b) a &b
#include "functions/elements/elementwise_bool.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION either
#define BINARY(a, b) a | b
#include "functions/elements/elementwise_bool.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION different
#define BINARY(a, b) a ^ b
#include "functions/elements/elementwise_bool.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION negation
#define UNARY(x) !x
#include "functions/elements/elementwise_bool.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION is_nan
#define RESULT uint8_t
#define UNARY(x) x != x
#include "functions/elements/elementwise_bool.inc"
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION is_infinite
#define RESULT uint8_t
#define UNARY(x) isinf(x) != 0
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION is_infinite
#define RESULT uint8_t
#define UNARY(x) x != x
#include "functions/elements/elementwise_bool.inc"
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION is_finite
#define RESULT uint8_t
#define UNARY(x) isfinite(x) != 0
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION is_finite
#define RESULT uint8_t
#define UNARY(x) x == x
#include "functions/elements/elementwise_bool.inc"
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION sign_bit
#define RESULT uint8_t
#define UNARY(x) signbit(x) != 0
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION is_positive_infinity
#define RESULT uint8_t
#define UNARY(x) isinf(x) && x > 0
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION is_negative_infinity
#define RESULT uint8_t
#define UNARY(x) isinf(x) && x < 0
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

struct closeness {
    double relative, absolute;
    bool equal_nan;
};

#define OPERATION is_close
#define RESULT uint8_t
#define SETTINGS struct closeness
#define BINARY(a, b)                                                                                \
    isfinite(b) ? fabs((double)a - (double)b) <= given->absolute + given->relative *fabs((double)b) \
                : a == b || (given->equal_nan && a != a && b != b)
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

/* ------------------------------------------------------------------ functions */

#define ALL_LOOPS(name) MDF_LOOPS_REALS(name), MDF_LOOPS_INTEGERS(name), MDF_LOOPS_BOOL(name)
#define COMPARISON(name)                                                                                                   \
    {                                                                                                                      \
        {.loops = {ALL_LOOPS(name), [MDF_DTYPE_STRING] = name##_string}, .result = MDF_RESULT_BOOL}, MDF_UFUNC_COMPARED, 2 \
    }
#define PREDICATE(name)                                                              \
    {                                                                                \
        {.loops = {ALL_LOOPS(name)}, .result = MDF_RESULT_BOOL}, MDF_UFUNC_SHARED, 1 \
    }
#define REAL_PREDICATE(name)                                                              \
    {                                                                                     \
        {.loops = {MDF_LOOPS_REALS(name)}, .result = MDF_RESULT_BOOL}, MDF_UFUNC_REALS, 1 \
    }

const struct mdf_ufunc mdf_ufunc_less = COMPARISON(less);
const struct mdf_ufunc mdf_ufunc_less_equal = COMPARISON(less_equal);
const struct mdf_ufunc mdf_ufunc_greater = COMPARISON(greater);
const struct mdf_ufunc mdf_ufunc_greater_equal = COMPARISON(greater_equal);
const struct mdf_ufunc mdf_ufunc_equal = COMPARISON(equal);
const struct mdf_ufunc mdf_ufunc_not_equal = COMPARISON(not_equal);
static const struct mdf_ufunc logical_and = {{.loops = {MDF_LOOPS_BOOL(both)}}, MDF_UFUNC_TRUTHS, 2};
static const struct mdf_ufunc logical_or = {{.loops = {MDF_LOOPS_BOOL(either)}}, MDF_UFUNC_TRUTHS, 2};
static const struct mdf_ufunc logical_xor = {{.loops = {MDF_LOOPS_BOOL(different)}}, MDF_UFUNC_TRUTHS, 2};
static const struct mdf_ufunc logical_not = {{.loops = {MDF_LOOPS_BOOL(negation)}}, MDF_UFUNC_TRUTHS, 1};
static const struct mdf_ufunc is_nan = PREDICATE(is_nan);
static const struct mdf_ufunc is_infinite = PREDICATE(is_infinite);
static const struct mdf_ufunc is_finite = PREDICATE(is_finite);
static const struct mdf_ufunc sign_bit = REAL_PREDICATE(sign_bit);
static const struct mdf_ufunc is_positive_infinity = REAL_PREDICATE(is_positive_infinity);
static const struct mdf_ufunc is_negative_infinity = REAL_PREDICATE(is_negative_infinity);
static const struct mdf_ufunc is_close = {
    {.loops = {MDF_LOOPS_REALS(is_close)}, .result = MDF_RESULT_BOOL}, MDF_UFUNC_QUOTIENT, 2};

/* ------------------------------------------------------------------ kernels */

#define KERNEL(name, ufunc)                          \
    static bool name(struct mdf_call *call)          \
    {                                                \
        return mdf_ufunc_call(call, &(ufunc), NULL); \
    }

KERNEL(run_less, mdf_ufunc_less)
KERNEL(run_less_equal, mdf_ufunc_less_equal)
KERNEL(run_greater, mdf_ufunc_greater)
KERNEL(run_greater_equal, mdf_ufunc_greater_equal)
KERNEL(run_equal, mdf_ufunc_equal)
KERNEL(run_not_equal, mdf_ufunc_not_equal)
KERNEL(run_logical_and, logical_and)
KERNEL(run_logical_or, logical_or)
KERNEL(run_logical_xor, logical_xor)
KERNEL(run_logical_not, logical_not)
KERNEL(run_is_nan, is_nan)
KERNEL(run_is_infinite, is_infinite)
KERNEL(run_is_finite, is_finite)
KERNEL(run_sign_bit, sign_bit)
KERNEL(run_is_positive_infinity, is_positive_infinity)
KERNEL(run_is_negative_infinity, is_negative_infinity)

static bool read_closeness(struct mdf_call *call, struct closeness *closeness)
{
    return mdf_python_real(call, 2, 1e-5, &closeness->relative) && mdf_python_real(call, 3, 1e-8, &closeness->absolute) &&
           mdf_python_truth(call, 4, false, &closeness->equal_nan);
}

static bool run_is_close(struct mdf_call *call)
{
    struct closeness closeness;

    return read_closeness(call, &closeness) && mdf_ufunc_call(call, &is_close, &closeness);
}

static bool all_true(const struct mdf_value *truths)
{
    return truths->length == 0 || memchr(truths->data, 0, truths->length) == NULL;
}

static bool run_all_close(struct mdf_call *call)
{
    struct mdf_value *slots = mdf_python_slots(call);
    struct closeness closeness;

    return slots != NULL && read_closeness(call, &closeness) &&
           mdf_ufunc_apply(call, &slots[MDF_SLOT_OWN], &is_close, call->inputs, &closeness) &&
           mdf_python_make_bool(call, mdf_call_target(call, 0), all_true(&slots[MDF_SLOT_OWN]));
}

/* Whether two arrays have one shape. */
static bool same_shape(const struct mdf_value *a, const struct mdf_value *b)
{
    return a->rank == b->rank && (a->rank == 0 || memcmp(mdf_value_shape(a), mdf_value_shape(b), a->rank * sizeof(int64_t)) == 0);
}

static bool run_array_equal(struct mdf_call *call)
{
    const struct mdf_value *a = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    const struct mdf_value *b = a == NULL ? NULL : mdf_python_input_array(call, 1, MDF_SLOT_OPERANDS + 1), *operands[2] = {a, b};
    struct mdf_value *slots = b == NULL ? NULL : mdf_python_slots(call), *target = mdf_call_target(call, 0);

    if (slots == NULL) {
        return false;
    }
    if (!same_shape(a, b)) {
        return mdf_python_make_bool(call, target, false);
    }
    return mdf_ufunc_apply(call, &slots[MDF_SLOT_OWN], &mdf_ufunc_equal, operands, NULL) &&
           mdf_python_make_bool(call, target, all_true(&slots[MDF_SLOT_OWN]));
}

const struct mdf_operator mdf_operators_python_numpy_compare[] = {
    MDF_FUNCTION("numpy.less", run_less, 0, "x1 x2", MDF_ELEMENT(less)),
    MDF_FUNCTION("numpy.less_equal", run_less_equal, 0, "x1 x2", MDF_ELEMENT(less_or_equal)),
    MDF_FUNCTION("numpy.greater", run_greater, 0, "x1 x2", MDF_ELEMENT(greater)),
    MDF_FUNCTION("numpy.greater_equal", run_greater_equal, 0, "x1 x2", MDF_ELEMENT(greater_or_equal)),
    MDF_FUNCTION("numpy.equal", run_equal, 0, "x1 x2", MDF_ELEMENT(equal)),
    MDF_FUNCTION("numpy.not_equal", run_not_equal, 0, "x1 x2", MDF_ELEMENT(not_equal)),
    MDF_FUNCTION("numpy.logical_and", run_logical_and, 0, "x1 x2", MDF_ELEMENT(logical_and)),
    MDF_FUNCTION("numpy.logical_or", run_logical_or, 0, "x1 x2", MDF_ELEMENT(logical_or)),
    MDF_FUNCTION("numpy.logical_xor", run_logical_xor, 0, "x1 x2", MDF_ELEMENT(logical_xor)),
    MDF_FUNCTION("numpy.logical_not", run_logical_not, 0, "x", MDF_ELEMENT(negation)),
    MDF_FUNCTION("numpy.isnan", run_is_nan, 0, "x", MDF_ELEMENT(is_nan)),
    MDF_FUNCTION("numpy.isinf", run_is_infinite, 0, "x", MDF_ELEMENT(is_infinite)),
    MDF_FUNCTION("numpy.isfinite", run_is_finite, 0, "x", MDF_ELEMENT(is_finite)),
    MDF_FUNCTION("numpy.signbit", run_sign_bit, 0, "x"),
    MDF_FUNCTION("numpy.isposinf", run_is_positive_infinity, 0, "x", MDF_ELEMENT(is_positive_infinity)),
    MDF_FUNCTION("numpy.isneginf", run_is_negative_infinity, 0, "x", MDF_ELEMENT(is_negative_infinity)),
    MDF_FUNCTION("numpy.isclose", run_is_close, 0, "a b rtol= atol= equal_nan="),
    MDF_FUNCTION("numpy.allclose", run_all_close, 0, "a b rtol= atol= equal_nan="),
    MDF_FUNCTION("numpy.array_equal", run_array_equal, 0, "a1 a2"),
    {NULL}};
