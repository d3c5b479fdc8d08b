/* where.c - see where.h. */
#include "functions/elements/where.h"

struct bytes16 {
    uint64_t words[2];
};

/* Elements are chosen by their size, whatever their type; each way in which the operands advance has a loop. */
#define WHERE_LOOP(name, type)                                                                                                 \
    static bool where_##name(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings) \
    {                                                                                                                          \
        const uint8_t *condition = operands[0];                                                                                \
        const type *x = operands[1], *y = operands[2];                                                                         \
        type *out = target, first_x = x[0], first_y = y[0];                                                                    \
                                                                                                                               \
        (void)settings;                                                                                                        \
        if (steps[0] == 0) {                                                                                                   \
            for (size_t i = 0; i < n; i++) {                                                                                   \
                out[i] = condition[0] != 0 ? x[i * steps[1]] : y[i * steps[2]];                                                \
            }                                                                                                                  \
        } else if (steps[1] != 0 && steps[2] != 0) {                                                                           \
            for (size_t i = 0; i < n; i++) {                                                                                   \
                type this_x = x[i], this_y = y[i];                                                                             \
                                                                                                                               \
                out[i] = condition[i] != 0 ? this_x : this_y;                                                                  \
            }                                                                                                                  \
        } else if (steps[1] != 0) {                                                                                            \
            for (size_t i = 0; i < n; i++) {                                                                                   \
                type this_x = x[i];                                                                                            \
                                                                                                                               \
                out[i] = condition[i] != 0 ? this_x : first_y;                                                                 \
            }                                                                                                                  \
        } else {                                                                                                               \
            for (size_t i = 0; i < n; i++) {                                                                                   \
                type this_y = y[i * steps[2]];                                                                                 \
                                                                                                                               \
                out[i] = condition[i] != 0 ? first_x : this_y;                                                                 \
            }                                                                                                                  \
        }                                                                                                                      \
        return true;                                                                                                           \
    }

WHERE_LOOP(1, uint8_t)
WHERE_LOOP(2, uint16_t)
WHERE_LOOP(4, uint32_t)
WHERE_LOOP(8, uint64_t)
WHERE_LOOP(16, struct bytes16)

static bool where_string(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings)
{
    const uint8_t *condition = operands[0];
    char *const *x = operands[1], *const *y = operands[2];
    char **out = target;

    (void)settings;
    for (size_t i = 0; i < n; i++) {
        out[i] = mdf_string_share(condition[i * steps[0]] != 0 ? x[i * steps[1]] : y[i * steps[2]]);
    }
    return true;
}

const struct mdf_operation mdf_where = {
    .loops = {[MDF_DTYPE_BOOL] = where_1,           [MDF_DTYPE_INT2] = where_1,         [MDF_DTYPE_INT4] = where_1,
              [MDF_DTYPE_INT8] = where_1,           [MDF_DTYPE_INT16] = where_2,        [MDF_DTYPE_INT32] = where_4,
              [MDF_DTYPE_INT64] = where_8,          [MDF_DTYPE_UINT2] = where_1,        [MDF_DTYPE_UINT4] = where_1,
              [MDF_DTYPE_UINT8] = where_1,          [MDF_DTYPE_UINT16] = where_2,       [MDF_DTYPE_UINT32] = where_4,
              [MDF_DTYPE_UINT64] = where_8,         [MDF_DTYPE_FLOAT4E2M1FN] = where_1, [MDF_DTYPE_FLOAT8E4M3FN] = where_1,
              [MDF_DTYPE_FLOAT8E4M3FNUZ] = where_1, [MDF_DTYPE_FLOAT8E5M2] = where_1,   [MDF_DTYPE_FLOAT8E5M2FNUZ] = where_1,
              [MDF_DTYPE_FLOAT8E8M0] = where_1,     [MDF_DTYPE_FLOAT16] = where_2,      [MDF_DTYPE_BFLOAT16] = where_2,
              [MDF_DTYPE_FLOAT32] = where_4,        [MDF_DTYPE_FLOAT64] = where_8,      [MDF_DTYPE_COMPLEX64] = where_8,
              [MDF_DTYPE_COMPLEX128] = where_16,    [MDF_DTYPE_STRING] = where_string},
    .selects = true};
