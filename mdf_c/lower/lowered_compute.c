/* lowered_compute.c - element ops on scalars, by their code: the meaning that lowered.h gives each. */
#include "mdf_c/lower/lowered_run.h"

#include <math.h>
#include <string.h>

/* A cell's first bytes as a number of a type, and the other way round. */
#define CELL_FUNCTIONS(name, type)                            \
    static inline type get_##name(const uint64_t *cell)       \
    {                                                         \
        type value;                                           \
                                                              \
        memcpy(&value, cell, sizeof value);                   \
        return value;                                         \
    }                                                         \
    static inline bool put_##name(uint64_t *cell, type value) \
    {                                                         \
        memcpy(cell, &value, sizeof value);                   \
        return true;                                          \
    }

CELL_FUNCTIONS(float32, float)
CELL_FUNCTIONS(float64, double)
CELL_FUNCTIONS(int32, int32_t)
CELL_FUNCTIONS(int64, int64_t)
CELL_FUNCTIONS(bool8, uint8_t)

/* What reals of one type have. */
#define COMPUTE_REALS(name, type, root, down, up)                                                              \
    static bool compute_##name(enum mdf_lowered_code code, const uint64_t *const operands[], uint64_t *result) \
    {                                                                                                          \
        type a = get_##name(operands[0]);                                                                      \
        type b = operands[1] != NULL ? get_##name(operands[1]) : 0;                                            \
                                                                                                               \
        switch (code) {                                                                                        \
        case MDF_LOWERED_ADD:                                                                                  \
            return put_##name(result, a + b);                                                                  \
        case MDF_LOWERED_SUBTRACT:                                                                             \
            return put_##name(result, a - b);                                                                  \
        case MDF_LOWERED_MULTIPLY:                                                                             \
            return put_##name(result, a * b);                                                                  \
        case MDF_LOWERED_NEGATE:                                                                               \
            return put_##name(result, -a);                                                                     \
        case MDF_LOWERED_ABSOLUTE:                                                                             \
            return put_##name(result, (type)fabs(a));                                                          \
        case MDF_LOWERED_DIVIDE:                                                                               \
            return put_##name(result, a / b);                                                                  \
        case MDF_LOWERED_DIVIDE_NONZERO:                                                                       \
            return b != 0 && put_##name(result, a / b);                                                        \
        case MDF_LOWERED_SQUARE_ROOT:                                                                          \
            return put_##name(result, root(a));                                                                \
        case MDF_LOWERED_FLOOR:                                                                                \
            return put_##name(result, down(a));                                                                \
        case MDF_LOWERED_CEILING:                                                                              \
            return put_##name(result, up(a));                                                                  \
        case MDF_LOWERED_EQUAL:                                                                                \
            return put_bool8(result, a == b);                                                                  \
        case MDF_LOWERED_NOT_EQUAL:                                                                            \
            return put_bool8(result, a != b);                                                                  \
        case MDF_LOWERED_LESS:                                                                                 \
            return put_bool8(result, a < b);                                                                   \
        case MDF_LOWERED_LESS_EQUAL:                                                                           \
            return put_bool8(result, a <= b);                                                                  \
        case MDF_LOWERED_GREATER:                                                                              \
            return put_bool8(result, a > b);                                                                   \
        case MDF_LOWERED_GREATER_EQUAL:                                                                        \
            return put_bool8(result, a >= b);                                                                  \
        default:                                                                                               \
            return false;                                                                                      \
        }                                                                                                      \
    }

COMPUTE_REALS(float32, float, sqrtf, floorf, ceilf)
COMPUTE_REALS(float64, double, sqrt, floor, ceil)

/* Whole numbers; `wide` is the unsigned type in which they wrap. */
#define COMPUTE_WHOLE(name, type, wide, lowest)                                                                \
    static bool compute_##name(enum mdf_lowered_code code, const uint64_t *const operands[], uint64_t *result) \
    {                                                                                                          \
        type a = get_##name(operands[0]), rest;                                                                \
        type b = operands[1] != NULL ? get_##name(operands[1]) : 0;                                            \
                                                                                                               \
        switch (code) {                                                                                        \
        case MDF_LOWERED_ADD:                                                                                  \
            return put_##name(result, (type)((wide)a + (wide)b));                                              \
        case MDF_LOWERED_SUBTRACT:                                                                             \
            return put_##name(result, (type)((wide)a - (wide)b));                                              \
        case MDF_LOWERED_MULTIPLY:                                                                             \
            return put_##name(result, (type)((wide)a * (wide)b));                                              \
        case MDF_LOWERED_NEGATE:                                                                               \
            return put_##name(result, (type)(0 - (wide)a));                                                    \
        case MDF_LOWERED_ABSOLUTE:                                                                             \
            return put_##name(result, a < 0 ? (type)(0 - (wide)a) : a);                                        \
        case MDF_LOWERED_QUOTIENT:                                                                             \
            return b != 0 && put_##name(result, b == -1 ? (type)(0 - (wide)a) : a / b);                        \
        case MDF_LOWERED_REMAINDER:                                                                            \
            return b != 0 && put_##name(result, b == -1 ? 0 : a % b);                                          \
        case MDF_LOWERED_FLOOR_QUOTIENT:                                                                       \
            if (b == 0 || (b == -1 && a == (lowest))) {                                                        \
                return false;                                                                                  \
            }                                                                                                  \
            return put_##name(result, a / b - (a % b != 0 && (a < 0) != (b < 0)));                             \
        case MDF_LOWERED_FLOOR_REMAINDER:                                                                      \
            if (b == 0) {                                                                                      \
                return false;                                                                                  \
            }                                                                                                  \
            rest = b == -1 ? 0 : a % b;                                                                        \
            return put_##name(result, rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);                   \
        case MDF_LOWERED_ADD_EXACT:                                                                            \
            return !__builtin_add_overflow(a, b, &rest) && put_##name(result, rest);                           \
        case MDF_LOWERED_SUBTRACT_EXACT:                                                                       \
            return !__builtin_sub_overflow(a, b, &rest) && put_##name(result, rest);                           \
        case MDF_LOWERED_MULTIPLY_EXACT:                                                                       \
            return !__builtin_mul_overflow(a, b, &rest) && put_##name(result, rest);                           \
        case MDF_LOWERED_NEGATE_EXACT:                                                                         \
            return a != (lowest) && put_##name(result, -a);                                                    \
        case MDF_LOWERED_EQUAL:                                                                                \
            return put_bool8(result, a == b);                                                                  \
        case MDF_LOWERED_NOT_EQUAL:                                                                            \
            return put_bool8(result, a != b);                                                                  \
        case MDF_LOWERED_LESS:                                                                                 \
            return put_bool8(result, a < b);                                                                   \
        case MDF_LOWERED_LESS_EQUAL:                                                                           \
            return put_bool8(result, a <= b);                                                                  \
        case MDF_LOWERED_GREATER:                                                                              \
            return put_bool8(result, a > b);                                                                   \
        case MDF_LOWERED_GREATER_EQUAL:                                                                        \
            return put_bool8(result, a >= b);                                                                  \
        default:                                                                                               \
            return false;                                                                                      \
        }                                                                                                      \
    }

COMPUTE_WHOLE(int32, int32_t, uint32_t, INT32_MIN)
COMPUTE_WHOLE(int64, int64_t, uint64_t, INT64_MIN)

static bool compute_bool(enum mdf_lowered_code code, const uint64_t *const operands[], uint64_t *result)
{
    bool a = get_bool8(operands[0]) != 0, b = operands[1] != NULL && get_bool8(operands[1]) != 0;

    switch (code) {
    case MDF_LOWERED_AND:
        return put_bool8(result, a && b);
    case MDF_LOWERED_OR:
        return put_bool8(result, a || b);
    case MDF_LOWERED_EXCLUSIVE_OR:
    case MDF_LOWERED_NOT_EQUAL:
        return put_bool8(result, a != b);
    case MDF_LOWERED_NOT:
        return put_bool8(result, !a);
    case MDF_LOWERED_EQUAL:
        return put_bool8(result, a == b);
    case MDF_LOWERED_LESS:
        return put_bool8(result, !a && b);
    case MDF_LOWERED_LESS_EQUAL:
        return put_bool8(result, !a || b);
    case MDF_LOWERED_GREATER:
        return put_bool8(result, a && !b);
    case MDF_LOWERED_GREATER_EQUAL:
        return put_bool8(result, a || !b);
    default:
        return false;
    }
}

bool mdf_lowered_compute(enum mdf_lowered_code code, mdf_dtype dtype, const uint64_t *const operands[], uint64_t *result)
{
    if (code == MDF_LOWERED_SELECT) {
        *result = *operands[get_bool8(operands[0]) != 0 ? 1 : 2];
        return true;
    }
    switch (dtype) {
    case MDF_DTYPE_FLOAT32:
        return compute_float32(code, operands, result);
    case MDF_DTYPE_FLOAT64:
        return compute_float64(code, operands, result);
    case MDF_DTYPE_INT32:
        return compute_int32(code, operands, result);
    case MDF_DTYPE_INT64:
        return compute_int64(code, operands, result);
    case MDF_DTYPE_BOOL:
        return compute_bool(code, operands, result);
    default:
        return false;
    }
}

/* ------------------------------------------------------------------ CAST */

/* Whether a real number, cut to a whole one, fits `bits` bits with sign. NaN does not. */
static bool fits(double real, int bits)
{
    double bound = ldexp(1, bits - 1), whole = trunc(real);

    return whole >= -bound && whole < bound;
}

bool mdf_lowered_cast(mdf_dtype from, mdf_dtype to, const void *source, void *target, size_t n)
{
    size_t size = mdf_dtype_size(from), i;
    int bits = to == MDF_DTYPE_INT64 ? 64 : 32;

    if (mdf_dtype_kind(from) == 'f' && mdf_dtype_kind(to) == 'i') {
        for (i = 0; i < n; i++) {
            if (!fits(mdf_element_to_double(from, (const char *)source + i * size), bits)) {
                return false;
            }
        }
    }
    mdf_convert_elements(to, target, from, source, n, false);
    return true;
}
