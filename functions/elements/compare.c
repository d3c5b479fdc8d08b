/* compare.c - comparisons and logic of two arrays: Equal Greater GreaterOrEqual Less LessOrEqual And Or Xor.
 *
 * The result is bool. Comparisons with NaN are false. Strings are equal byte by byte. Sources: the ONNX operators of these
 * names. */
#include "functions/elements/elementwise.h"
#include "functions/elements/limited_broadcast.h"

#include <string.h>

/* ------------------------------------------------------------------ loops */

#define OPERATION equal
#define RESULT uint8_t
#define BINARY(a, b) a == b
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION equal
#define RESULT uint8_t
#define BINARY(a, b) (a != 0) == (b != 0)
#include "functions/elements/elementwise_bool.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION greater
#define RESULT uint8_t
#define BINARY(a, b) a > b
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION greater_or_equal
#define RESULT uint8_t
#define BINARY(a, b) a >= b
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION less
#define RESULT uint8_t
#define BINARY(a, b) a < b
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION less_or_equal
#define RESULT uint8_t
#define BINARY(a, b) a <= b
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION logical_and
#define RESULT uint8_t
#define BINARY(a, b) a != 0 && b != 0
#include "functions/elements/elementwise_bool.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION logical_or
#define RESULT uint8_t
#define BINARY(a, b) a != 0 || b != 0
#include "functions/elements/elementwise_bool.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION logical_xor
#define RESULT uint8_t
#define BINARY(a, b) (a != 0) != (b != 0)
#include "functions/elements/elementwise_bool.inc"

#include "functions/elements/elementwise_end.inc"

static bool equal_string(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings)
{
    const char *const *a = operands[0], *const *b = operands[1];
    uint8_t *out = target;
    size_t i;

    (void)settings;
    for (i = 0; i < n; i++) {
        const char *left = a[i * steps[0]], *right = b[i * steps[1]];
        size_t length = mdf_string_length(left);

        out[i] = length == mdf_string_length(right) && (length == 0 || memcmp(left, right, length) == 0);
    }
    return true;
}

/* ------------------------------------------------------------------ operations */

/* An operation and its kernel; LIMITED_KERNEL makes that for the broadcasting before opset 7. */
#define COMPARE_KERNEL(name, ...)                                                                 \
    static const struct mdf_operation name = {.loops = {__VA_ARGS__}, .result = MDF_RESULT_BOOL}; \
    static bool run_##name(struct mdf_call *call)                                                 \
    {                                                                                             \
        return mdf_elementwise_call(call, &name, 2, NULL);                                        \
    }
#define LIMITED_KERNEL(name)                              \
    static bool run_limited_##name(struct mdf_call *call) \
    {                                                     \
        return mdf_limited_broadcast_call(call, &name);   \
    }

COMPARE_KERNEL(equal, MDF_LOOPS_REALS(equal), MDF_LOOPS_INTEGERS(equal), MDF_LOOPS_BOOL(equal), [MDF_DTYPE_STRING] = equal_string)
COMPARE_KERNEL(greater, MDF_LOOPS_REALS(greater), MDF_LOOPS_INTEGERS(greater))
COMPARE_KERNEL(greater_or_equal, MDF_LOOPS_REALS(greater_or_equal), MDF_LOOPS_INTEGERS(greater_or_equal))
COMPARE_KERNEL(less, MDF_LOOPS_REALS(less), MDF_LOOPS_INTEGERS(less))
COMPARE_KERNEL(less_or_equal, MDF_LOOPS_REALS(less_or_equal), MDF_LOOPS_INTEGERS(less_or_equal))
COMPARE_KERNEL(logical_and, MDF_LOOPS_BOOL(logical_and))
COMPARE_KERNEL(logical_or, MDF_LOOPS_BOOL(logical_or))
COMPARE_KERNEL(logical_xor, MDF_LOOPS_BOOL(logical_xor))
LIMITED_KERNEL(equal)
LIMITED_KERNEL(greater)
LIMITED_KERNEL(less)
LIMITED_KERNEL(logical_and)
LIMITED_KERNEL(logical_or)
LIMITED_KERNEL(logical_xor)

#define LIMITED mdf_limited_broadcast_settings, sizeof(struct mdf_limited_broadcast)

const struct mdf_operator mdf_operators_compare[] = {
    {"Equal", 1, 6, run_limited_equal, LIMITED, MDF_OPERATOR_PURE, NULL},
    {"Equal", 7, 99, run_equal, NULL, 0, MDF_OPERATOR_PURE, NULL},
    {"Greater", 1, 6, run_limited_greater, LIMITED, MDF_OPERATOR_PURE, NULL},
    {"Greater", 7, 99, run_greater, NULL, 0, MDF_OPERATOR_PURE, NULL},
    {"Less", 1, 6, run_limited_less, LIMITED, MDF_OPERATOR_PURE, NULL},
    {"Less", 7, 99, run_less, NULL, 0, MDF_OPERATOR_PURE, NULL},
    {"And", 1, 6, run_limited_logical_and, LIMITED, MDF_OPERATOR_PURE, NULL},
    {"And", 7, 99, run_logical_and, NULL, 0, MDF_OPERATOR_PURE, NULL},
    {"Or", 1, 6, run_limited_logical_or, LIMITED, MDF_OPERATOR_PURE, NULL},
    {"Or", 7, 99, run_logical_or, NULL, 0, MDF_OPERATOR_PURE, NULL},
    {"Xor", 1, 6, run_limited_logical_xor, LIMITED, MDF_OPERATOR_PURE, NULL},
    {"Xor", 7, 99, run_logical_xor, NULL, 0, MDF_OPERATOR_PURE, NULL},
    {"GreaterOrEqual", 12, 99, run_greater_or_equal, NULL, 0, MDF_OPERATOR_PURE, NULL},
    {"LessOrEqual", 12, 99, run_less_or_equal, NULL, 0, MDF_OPERATOR_PURE, NULL},
    {NULL, 0, 0, NULL, NULL, 0, MDF_OPERATOR_PURE, NULL}};
