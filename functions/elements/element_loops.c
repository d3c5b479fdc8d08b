/* element_loops.c - the loops over arrays of the functions of elements.def, and the operators that are nothing but such a
 * function.
 *
 * elements.def is read once a type; then once more for the table of the operations. */
#include "functions/elements/element.h"
#include "functions/elements/element_helpers.h"
#include "functions/elements/vector_math.h"
#include "functions/kernel/operator.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ loops by hand */

/* Loops over float32 in vectors, the widest that there are. */
#define VECTORS(id, n_operands, ...)                                                                                           \
    static bool id##_float32(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings) \
    {                                                                                                                          \
        return mdf_vector_math()->loops[MDF_VECTORS_##id](target, operands, steps, n, settings);                               \
    }
#include "functions/elements/elements.def"

/* What a magnitude is added to so that no place is left for a fraction; larger ones have none, NaN and infinity stay. */
#define WITHOUT_FRACTION (sizeof(ELEMENT) == 4 ? (ELEMENT)0x1p23 : (ELEMENT)0x1p52)

#define OPERATION nearest
#define UNARY(x) MATH(fabs)(x) < WITHOUT_FRACTION ? MATH(copysign)((MATH(fabs)(x) + WITHOUT_FRACTION) - WITHOUT_FRACTION, x) : x
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

/* Whole numbers shrink as reals and are cut off again, at the ends of their range too. */
static double shrink_real(double x, const struct mdf_element_settings *given)
{
    return x < -given->lambd ? x + given->bias : x > given->lambd ? x - given->bias : 0;
}

#define OPERATION shrink
#define SETTINGS struct mdf_element_settings
#define UNARY(x) MDF_TO_WHOLE(ELEMENT, shrink_real((double)x, given), LOWEST, LARGEST)
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"

#include "functions/elements/elementwise_end.inc"

/* Strings in the order of their bytes, which is that of code points. */
static int compare_strings(const char *a, const char *b)
{
    size_t a_length = mdf_string_length(a), b_length = mdf_string_length(b), shorter = a_length < b_length ? a_length : b_length;
    int order = shorter == 0 ? 0 : memcmp(a, b, shorter);

    return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

#define STRING_LOOP(name, sign)                                                                                                 \
    static bool name##_string(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings) \
    {                                                                                                                           \
        const char *const *a = operands[0], *const *b = operands[1];                                                            \
        uint8_t *out = target;                                                                                                  \
                                                                                                                                \
        (void)settings;                                                                                                         \
        for (size_t i = 0; i < n; i++) {                                                                                        \
            out[i] = compare_strings(a[i * steps[0]], b[i * steps[1]]) sign 0;                                                  \
        }                                                                                                                       \
        return true;                                                                                                            \
    }

STRING_LOOP(less, <)
STRING_LOOP(less_or_equal, <=)
STRING_LOOP(greater, >)
STRING_LOOP(greater_or_equal, >=)
STRING_LOOP(equal, ==)
STRING_LOOP(not_equal, !=)

#define HELPER(name) mdf_##name

/* ------------------------------------------------------------------ loops of elements.def */

#define SUFFIX float32
#define ELEMENT float
#define MATH(function) function##f
#define HAS_REALS(...) __VA_ARGS__
#define HAS_FLOAT32(...) __VA_ARGS__
#include "functions/elements/element_loops.inc"

#define SUFFIX float64
#define ELEMENT double
#define MATH(function) function
#define HAS_REALS(...) __VA_ARGS__
#define HAS_FLOAT64(...) __VA_ARGS__
#include "functions/elements/element_loops.inc"

#define SUFFIX int8
#define ELEMENT int8_t
#define UNSIGNED_OF uint32_t
#define HAS_SIGNED(...) __VA_ARGS__
#include "functions/elements/element_loops.inc"

#define SUFFIX int16
#define ELEMENT int16_t
#define UNSIGNED_OF uint32_t
#define HAS_SIGNED(...) __VA_ARGS__
#include "functions/elements/element_loops.inc"

#define SUFFIX int32
#define ELEMENT int32_t
#define UNSIGNED_OF uint32_t
#define HAS_SIGNED(...) __VA_ARGS__
#include "functions/elements/element_loops.inc"

#define SUFFIX int64
#define ELEMENT int64_t
#define UNSIGNED_OF uint64_t
#define HAS_SIGNED(...) __VA_ARGS__
#include "functions/elements/element_loops.inc"

#define SUFFIX uint8
#define ELEMENT uint8_t
#define UNSIGNED_OF uint32_t
#define HAS_UNSIGNED(...) __VA_ARGS__
#include "functions/elements/element_loops.inc"

#define SUFFIX uint16
#define ELEMENT uint16_t
#define UNSIGNED_OF uint32_t
#define HAS_UNSIGNED(...) __VA_ARGS__
#include "functions/elements/element_loops.inc"

#define SUFFIX uint32
#define ELEMENT uint32_t
#define UNSIGNED_OF uint32_t
#define HAS_UNSIGNED(...) __VA_ARGS__
#include "functions/elements/element_loops.inc"

#define SUFFIX uint64
#define ELEMENT uint64_t
#define UNSIGNED_OF uint64_t
#define HAS_UNSIGNED(...) __VA_ARGS__
#include "functions/elements/element_loops.inc"

#define SUFFIX bool8
#define ELEMENT uint8_t
#define UNSIGNED_OF uint32_t
#define HAS_BOOL(...) __VA_ARGS__
#include "functions/elements/element_loops.inc"

/* ------------------------------------------------------------------ operations */

static bool positive_part_limits(mdf_dtype dtype, const void *settings, struct mdf_limits *limits)
{
    (void)dtype;
    (void)settings;
    *limits = (struct mdf_limits){0.0, INFINITY, 0.0};
    return true;
}

/* An element of a table of loops: that of function `id` is `loop`. */
#define OF_TYPE(id, dtype, loop) [MDF_ELEMENT_##id].loops[dtype] = loop
#define OF_FLOAT32(id, name) OF_TYPE(id, MDF_DTYPE_FLOAT32, name##_float32),
#define OF_FLOAT64(id, name) OF_TYPE(id, MDF_DTYPE_FLOAT64, name##_float64),
#define OF_REALS(id, name) OF_FLOAT32(id, name) OF_FLOAT64(id, name)
#define OF_SIGNED(id, name)                                                               \
    OF_TYPE(id, MDF_DTYPE_INT8, name##_int8), OF_TYPE(id, MDF_DTYPE_INT16, name##_int16), \
        OF_TYPE(id, MDF_DTYPE_INT32, name##_int32), OF_TYPE(id, MDF_DTYPE_INT64, name##_int64),
#define OF_UNSIGNED(id, name)                                                                 \
    OF_TYPE(id, MDF_DTYPE_UINT8, name##_uint8), OF_TYPE(id, MDF_DTYPE_UINT16, name##_uint16), \
        OF_TYPE(id, MDF_DTYPE_UINT32, name##_uint32), OF_TYPE(id, MDF_DTYPE_UINT64, name##_uint64),
#define OF_WHOLE(id, name) OF_SIGNED(id, name) OF_UNSIGNED(id, name)
#define OF_NUMBERS(id, name) OF_REALS(id, name) OF_WHOLE(id, name)
#define OF_BOOL(id, name) OF_TYPE(id, MDF_DTYPE_BOOL, name##_bool8),
#define OF_STRING(id, name) OF_TYPE(id, MDF_DTYPE_STRING, name##_string),
#define OF_ALL(id, name) OF_NUMBERS(id, name) OF_BOOL(id, name)

const struct mdf_operation mdf_element_operations[MDF_ELEMENT_COUNT] = {
#define UNARY(id, kinds, ...) OF_##kinds(id, id)
#define BINARY(id, kinds, ...) OF_##kinds(id, id)
#define UNARY_GIVEN(id, kinds, ...) OF_##kinds(id, id)
#define BINARY_GIVEN(id, kinds, ...) OF_##kinds(id, id)
#define COMPARISON(id, kinds, ...) OF_##kinds(id, id)
#define PREDICATE(id, kinds, ...) OF_##kinds(id, id)
#define TRUTH(id) [MDF_ELEMENT_##id].result = MDF_RESULT_BOOL,
#define REFUSING(id, kinds, condition, why, ...) OF_##kinds(id, id)
#define LOOPS(id, kinds, name) OF_##kinds(id, name)
#define VECTORS(id, n_operands, ...) OF_FLOAT32(id, id)
#define COST(id, ns) [MDF_ELEMENT_##id].cost_ns = ns,
#define REFUSAL(id, why) [MDF_ELEMENT_##id].refusal = why,
#include "functions/elements/elements.def"
    [MDF_ELEMENT_positive_part].limits = positive_part_limits};

#define SETTING_ROW(name, type)                                  \
    {                                                            \
#name, type, offsetof(struct mdf_element_settings, name) \
    }
const struct mdf_setting mdf_element_setting_rows[] = {SETTING_ROW(alpha, MDF_SETTING_FLOAT),
                                                       SETTING_ROW(beta, MDF_SETTING_FLOAT),
                                                       SETTING_ROW(gamma, MDF_SETTING_FLOAT),
                                                       SETTING_ROW(bias, MDF_SETTING_FLOAT),
                                                       SETTING_ROW(lambd, MDF_SETTING_FLOAT),
                                                       SETTING_ROW(approximate, MDF_SETTING_STRING),
                                                       {NULL}};

bool mdf_element_call(struct mdf_call *call)
{
    const struct mdf_element *element = mdf_element_of(call->operator, call->settings);

    return mdf_elementwise_call(call, &mdf_element_operations[element->id], element->n_operands, call->settings);
}

const struct mdf_operator mdf_operators_elements[] = {
#define ONNX(name, since, id) {name, since, 99, mdf_element_call, NULL, 0, MDF_OPERATOR_PURE, NULL, MDF_ELEMENT(id)},
#define ONNX_GIVEN(name, since, id)          \
    {                                        \
        name,                                \
        since,                               \
        99,                                  \
        mdf_element_call,                    \
        mdf_element_setting_rows,            \
        sizeof(struct mdf_element_settings), \
        MDF_OPERATOR_PURE,                   \
        NULL,                                \
        MDF_ELEMENT(id)},
#include "functions/elements/elements.def"
    {NULL}};
