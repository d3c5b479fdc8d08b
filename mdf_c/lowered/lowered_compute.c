/* lowered_compute.c - element ops on scalars, by their code: the meaning that lowered.h gives each. */
#include "mdf_c/lowered/lowered_parts.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ cells */

/* A cell's first bytes as a number of a type, and the other way round; writing is always possible. */
#define CELL_FUNCTIONS(name, kind, type, ...)                   \
    static inline type read_##name(const uint64_t *cell)        \
    {                                                           \
        type value;                                             \
                                                                \
        memcpy(&value, cell, sizeof value);                     \
        return value;                                           \
    }                                                           \
    static inline bool write_##name(uint64_t *cell, type value) \
    {                                                           \
        memcpy(cell, &value, sizeof value);                     \
        return true;                                            \
    }

/* X(type, its dtype, that of C, ...) of all but bool. */
#define NUMBERS(X, ...)                      \
    X(float32, FLOAT32, float, __VA_ARGS__)  \
    X(float64, FLOAT64, double, __VA_ARGS__) \
    X(int8, INT8, int8_t, __VA_ARGS__)       \
    X(int16, INT16, int16_t, __VA_ARGS__)    \
    X(int32, INT32, int32_t, __VA_ARGS__)    \
    X(int64, INT64, int64_t, __VA_ARGS__)    \
    X(uint8, UINT8, uint8_t, __VA_ARGS__)    \
    X(uint16, UINT16, uint16_t, __VA_ARGS__) \
    X(uint32, UINT32, uint32_t, __VA_ARGS__) \
    X(uint64, UINT64, uint64_t, __VA_ARGS__)
#define TYPES(X, ...) NUMBERS(X, __VA_ARGS__) X(bool, BOOL, bool, __VA_ARGS__)

NUMBERS(CELL_FUNCTIONS, 0)

static inline bool read_bool(const uint64_t *cell)
{
    return *(const uint8_t *)cell != 0;
}

static inline bool write_bool(uint64_t *cell, bool truth)
{
    *(uint8_t *)cell = truth;
    return true;
}

/* ------------------------------------------------------------------ one op, by its code */

/* Of two elements of which the first is less than, equal to, or greater than the second; false: the code is no comparison. */
static inline bool compare(enum mdf_lowered_code code, bool is_less, bool is_equal, bool is_greater, uint64_t *result)
{
    bool holds = code == MDF_LOWERED_EQUAL        ? is_equal
                 : code == MDF_LOWERED_NOT_EQUAL  ? !is_equal
                 : code == MDF_LOWERED_LESS       ? is_less
                 : code == MDF_LOWERED_LESS_EQUAL ? is_less || is_equal
                 : code == MDF_LOWERED_GREATER    ? is_greater
                                                  : is_greater || is_equal;

    return code >= MDF_LOWERED_EQUAL && code <= MDF_LOWERED_GREATER_EQUAL && write_bool(result, holds);
}

#define COMPUTE compute_float32
#define ELEMENT float
#define READ read_float32
#define WRITE write_float32
#define MATH(name) name##f
#include "mdf_c/lowered/lowered_real.inc"

#define COMPUTE compute_float64
#define ELEMENT double
#define READ read_float64
#define WRITE write_float64
#define MATH(name) name
#include "mdf_c/lowered/lowered_real.inc"

#define COMPUTE compute_int8
#define ELEMENT int8_t
#define WIDE uint32_t
#define LOWEST INT8_MIN
#define IS_NEGATIVE(x) ((x) < 0)
#define READ read_int8
#define WRITE write_int8
#include "mdf_c/lowered/lowered_whole.inc"

#define COMPUTE compute_int16
#define ELEMENT int16_t
#define WIDE uint32_t
#define LOWEST INT16_MIN
#define IS_NEGATIVE(x) ((x) < 0)
#define READ read_int16
#define WRITE write_int16
#include "mdf_c/lowered/lowered_whole.inc"

#define COMPUTE compute_int32
#define ELEMENT int32_t
#define WIDE uint32_t
#define LOWEST INT32_MIN
#define IS_NEGATIVE(x) ((x) < 0)
#define READ read_int32
#define WRITE write_int32
#include "mdf_c/lowered/lowered_whole.inc"

#define COMPUTE compute_int64
#define ELEMENT int64_t
#define WIDE uint64_t
#define LOWEST INT64_MIN
#define IS_NEGATIVE(x) ((x) < 0)
#define READ read_int64
#define WRITE write_int64
#include "mdf_c/lowered/lowered_whole.inc"

#define COMPUTE compute_uint8
#define ELEMENT uint8_t
#define WIDE uint32_t
#define LOWEST 0
#define IS_NEGATIVE(x) false
#define READ read_uint8
#define WRITE write_uint8
#include "mdf_c/lowered/lowered_whole.inc"

#define COMPUTE compute_uint16
#define ELEMENT uint16_t
#define WIDE uint32_t
#define LOWEST 0
#define IS_NEGATIVE(x) false
#define READ read_uint16
#define WRITE write_uint16
#include "mdf_c/lowered/lowered_whole.inc"

#define COMPUTE compute_uint32
#define ELEMENT uint32_t
#define WIDE uint32_t
#define LOWEST 0
#define IS_NEGATIVE(x) false
#define READ read_uint32
#define WRITE write_uint32
#include "mdf_c/lowered/lowered_whole.inc"

#define COMPUTE compute_uint64
#define ELEMENT uint64_t
#define WIDE uint64_t
#define LOWEST 0
#define IS_NEGATIVE(x) false
#define READ read_uint64
#define WRITE write_uint64
#include "mdf_c/lowered/lowered_whole.inc"

static inline bool compute_bool(enum mdf_lowered_code code, const uint64_t *left, const uint64_t *right, uint64_t *result)
{
    bool a = read_bool(left), b = right != NULL && read_bool(right);

    if (code < MDF_LOWERED_AND || code > MDF_LOWERED_NOT) {
        return compare(code, !a && b, a == b, a && !b, result);
    }
    return write_bool(result, code == MDF_LOWERED_AND  ? a && b
                              : code == MDF_LOWERED_OR ? a || b
                                                       : a != (code == MDF_LOWERED_NOT || b));
}

bool mdf_lowered_compute(enum mdf_lowered_code code, mdf_dtype dtype, const uint64_t *const operands[], uint64_t *result)
{
    if (code == MDF_LOWERED_SELECT) {
        *result = *operands[read_bool(operands[0]) ? 1 : 2];
        return true;
    }
    switch (dtype) {
#define COMPUTED(type, kind, c_type, ...) \
    case MDF_DTYPE_##kind:                \
        return compute_##type(code, operands[0], operands[1], result);
        TYPES(COMPUTED, 0)
#undef COMPUTED
    default:
        return false;
    }
}

/* ------------------------------------------------------------------ a function for each code and type */

#define SCALAR_FUNCTION(type, kind, c_type, code, right)                                      \
    static bool run_##code##_##type(uint64_t *cells, const struct mdf_lowered_op *op)         \
    {                                                                                         \
        return compute_##type(MDF_LOWERED_##code, &cells[op->in[0]], right, &cells[op->out]); \
    }
#define SCALAR_FUNCTIONS(code, right) TYPES(SCALAR_FUNCTION, code, right)
#define CELL(type, kind, c_type, code) [MDF_DTYPE_##kind] = run_##code##_##type,
#define ROW(code) [MDF_LOWERED_##code] = {TYPES(CELL, code)},

#define CODES_OF_TWO(X)                                                                                                     \
    X(ADD)                                                                                                                  \
    X(SUBTRACT)                                                                                                             \
    X(MULTIPLY)                                                                                                             \
    X(DIVIDE)                                                                                                               \
    X(DIVIDE_NONZERO)                                                                                                       \
    X(QUOTIENT) X(REMAINDER) X(FLOOR_QUOTIENT) X(FLOOR_REMAINDER) X(ADD_EXACT) X(SUBTRACT_EXACT) X(MULTIPLY_EXACT) X(EQUAL) \
        X(NOT_EQUAL) X(LESS) X(LESS_EQUAL) X(GREATER) X(GREATER_EQUAL) X(AND) X(OR) X(EXCLUSIVE_OR) X(SHIFT_LEFT) X(SHIFT_RIGHT) \
            X(SHIFT_LEFT_EXACT) X(SHIFT_RIGHT_EXACT)
#define CODES_OF_ONE(X) X(NEGATE) X(ABSOLUTE) X(SQUARE_ROOT) X(FLOOR) X(CEILING) X(NEGATE_EXACT) X(NOT)
#define FUNCTIONS_OF_TWO(code) SCALAR_FUNCTIONS(code, &cells[op->in[1]])
#define FUNCTIONS_OF_ONE(code) SCALAR_FUNCTIONS(code, NULL)

CODES_OF_TWO(FUNCTIONS_OF_TWO)
CODES_OF_ONE(FUNCTIONS_OF_ONE)

typedef bool (*scalar_function)(uint64_t *cells, const struct mdf_lowered_op *op);

/* clang-format off */
static const scalar_function functions[MDF_LOWERED_SELECT][MDF_DTYPE_COUNT] = {CODES_OF_TWO(ROW) CODES_OF_ONE(ROW)};
/* clang-format on */

bool mdf_lowered_run_scalar(uint64_t *cells, const struct mdf_lowered_op *op)
{
    scalar_function function;

    if (op->code == MDF_LOWERED_SELECT) {
        cells[op->out] = cells[op->in[read_bool(&cells[op->in[0]]) ? 1 : 2]];
        return true;
    }
    function = functions[op->code][op->dtype];
    return function != NULL && function(cells, op);
}
