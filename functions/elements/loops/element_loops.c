/* element_loops.c - the functions of elements.def as operations on arrays, and the operators that are nothing but such a
 * function.
 *
 * elements.def is read once a type, in files for types of one size (element_loops_8.c, ...), so that none takes the compiler
 * long; then once more for the table of the operations. */
#include "functions/elements/loops/element_loops.h"
#include "functions/elements/vectors/vector_math.h"

#include <string.h>

/* ------------------------------------------------------------------ loops by hand */

/* Loops over reals in vectors, the widest that there are. */
#define SUFFIX_FLOAT32(name) name##_float32
#define SUFFIX_FLOAT64(name) name##_float64
#define VECTORS(id, kind, n_operands, ...)                                                                           \
    bool SUFFIX_##kind(mdf_element_##id)(void *target, const void *const operands[], const size_t steps[], size_t n, \
                                         const void *settings)                                                       \
    {                                                                                                                \
        return mdf_vector_math()->loops[MDF_VECTORS_##id##_##kind](target, operands, steps, n, settings);            \
    }
#include "functions/elements/elements.def"

mdf_loop mdf_loop_here(mdf_loop loop)
{
#define VECTORS(id, kind, n_operands, ...)                               \
    if (loop == SUFFIX_##kind(mdf_element_##id)) {                       \
        return mdf_vector_math()->loops[MDF_VECTORS_##id##_##kind];      \
    }
#include "functions/elements/elements.def"
    return loop;
}

mdf_number_function mdf_number_here(mdf_loop loop)
{
#define VECTORS(id, kind, n_operands, ...)                                 \
    if (loop == SUFFIX_##kind(mdf_element_##id)) {                         \
        return mdf_vector_math()->numbers[MDF_VECTORS_##id##_##kind];      \
    }
#include "functions/elements/elements.def"
    return NULL;
}

/* What a magnitude is added to so that no place is left for a fraction; larger ones have none, NaN and infinity stay. */
#define WITHOUT_FRACTION (sizeof(ELEMENT) == 4 ? (ELEMENT)0x1p23 : (ELEMENT)0x1p52)

#define NEAREST(x) MATH(copysign)((MATH(fabs)(x) + WITHOUT_FRACTION) - WITHOUT_FRACTION, x)

#define LINKAGE
#define OPERATION mdf_element_nearest
#define UNARY(x) MATH(fabs)(x) < WITHOUT_FRACTION ? NEAREST(x) : x
#include "functions/elements/loops/elementwise_reals.inc"

#include "functions/elements/loops/elementwise_end.inc"

#define LINKAGE
#define OPERATION mdf_element_floor
#define UNARY(x) MATH(fabs)(x) < WITHOUT_FRACTION ? MATH(copysign)(NEAREST(x) - (NEAREST(x) > x ? (ELEMENT)1 : (ELEMENT)0), x) : x
#include "functions/elements/loops/elementwise_reals.inc"

#include "functions/elements/loops/elementwise_end.inc"

#define LINKAGE
#define OPERATION mdf_element_ceiling
#define UNARY(x) MATH(fabs)(x) < WITHOUT_FRACTION ? MATH(copysign)(NEAREST(x) + (NEAREST(x) < x ? (ELEMENT)1 : (ELEMENT)0), x) : x
#include "functions/elements/loops/elementwise_reals.inc"

#include "functions/elements/loops/elementwise_end.inc"

/* Where all have one exponent, that is looked at once. */
#define POWER_LOOP(type, name, dtype)                                                                                 \
    bool mdf_element_power_##name(void *target, const void *const operands[], const size_t steps[], size_t n,         \
                                  const void *settings)                                                               \
    {                                                                                                                 \
        const struct mdf_element *simpler =                                                                           \
            steps[1] == 0 ? mdf_element_with_constant(MDF_ELEMENT(power), (double)*(const type *)operands[1]) : NULL; \
                                                                                                                      \
        return (simpler != NULL ? mdf_element_operations[simpler->id].loops[dtype]                                    \
                                : mdf_element_each_power_##name)(target, operands, steps, n, settings);               \
    }
POWER_LOOP(float, float32, MDF_DTYPE_FLOAT32)
POWER_LOOP(double, float64, MDF_DTYPE_FLOAT64)

/* Whole numbers shrink as reals and are cut off again, at the ends of their range too. */
static double shrink_real(double x, const struct mdf_element_settings *given)
{
    return x < -given->lambd ? x + given->bias : x > given->lambd ? x - given->bias : 0;
}

#define LINKAGE
#define OPERATION mdf_element_shrink
#define SETTINGS struct mdf_element_settings
#define UNARY(x) MDF_TO_WHOLE(ELEMENT, shrink_real((double)x, given), LOWEST, LARGEST)
#include "functions/elements/loops/elementwise_signed.inc"
#include "functions/elements/loops/elementwise_unsigned.inc"
#include "functions/elements/loops/elementwise_end.inc"

#define STRING_LOOP(name, sign)                                                                                  \
    bool mdf_element_##name##_string(void *target, const void *const operands[], const size_t steps[], size_t n, \
                                     const void *settings)                                                       \
    {                                                                                                            \
        const char *const *a = operands[0], *const *b = operands[1];                                             \
        uint8_t *out = target;                                                                                   \
                                                                                                                 \
        (void)settings;                                                                                          \
        for (size_t i = 0; i < n; i++) {                                                                         \
            out[i] = mdf_string_compare(a[i * steps[0]], b[i * steps[1]]) sign 0;                                \
        }                                                                                                        \
        return true;                                                                                             \
    }

STRING_LOOP(less, <)
STRING_LOOP(less_or_equal, <=)
STRING_LOOP(greater, >)
STRING_LOOP(greater_or_equal, >=)
STRING_LOOP(equal, ==)
STRING_LOOP(not_equal, !=)

/* ------------------------------------------------------------------ operations */

static bool positive_part_limits(mdf_dtype dtype, const void *settings, struct mdf_limits *limits)
{
    (void)dtype;
    (void)settings;
    *limits = (struct mdf_limits){0.0, INFINITY, 0.0};
    return true;
}

const struct mdf_operation mdf_element_operations[MDF_ELEMENT_COUNT] = {
#define OF_TYPE(id, dtype, loop) [MDF_ELEMENT_##id].loops[dtype] = loop,
#define TRUTH(id) [MDF_ELEMENT_##id].result = MDF_RESULT_BOOL,
#define COST(id, ns) [MDF_ELEMENT_##id].cost_ns = ns,
#define REFUSAL(id, why) [MDF_ELEMENT_##id].refusal = why,
#include "functions/elements/loops/element_loops_each.inc"
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
