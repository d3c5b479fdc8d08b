/* short_rows.c - see short_rows.h. Squares of 4 by 4 or of 2 by 2 elements are turned in registers; the last ones of a row or
 * column begin early enough to fit, over elements that have been turned already. */
#include "functions/folds/short_rows.h"

#include "functions/moves/words.h"

typedef uint32_t words32 __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint64_t words64 __attribute__((vector_size(16), aligned(8), may_alias));

/* Without squares; with one number of rows or columns known, the compiler makes vectors. */
static inline void turn_thin(mdf_word32 *restrict turned, const mdf_word32 *restrict x, size_t n_rows, size_t n_columns)
{
    for (size_t row = 0; row < n_rows; row++) {
        for (size_t column = 0; column < n_columns; column++) {
            turned[column * n_rows + row] = x[row * n_columns + column];
        }
    }
}

static void turn_square_32(mdf_word32 *turned, size_t turned_step, const mdf_word32 *x, size_t step)
{
    words32 a = *(const words32 *)x, b = *(const words32 *)(x + step), c = *(const words32 *)(x + 2 * step),
            d = *(const words32 *)(x + 3 * step);
    words32 low_ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), high_ab = __builtin_shufflevector(a, b, 2, 6, 3, 7),
            low_cd = __builtin_shufflevector(c, d, 0, 4, 1, 5), high_cd = __builtin_shufflevector(c, d, 2, 6, 3, 7);

    *(words32 *)turned = __builtin_shufflevector(low_ab, low_cd, 0, 1, 4, 5);
    *(words32 *)(turned + turned_step) = __builtin_shufflevector(low_ab, low_cd, 2, 3, 6, 7);
    *(words32 *)(turned + 2 * turned_step) = __builtin_shufflevector(high_ab, high_cd, 0, 1, 4, 5);
    *(words32 *)(turned + 3 * turned_step) = __builtin_shufflevector(high_ab, high_cd, 2, 3, 6, 7);
}

static void turn_square_64(mdf_word64 *turned, size_t turned_step, const mdf_word64 *x, size_t step)
{
    words64 a = *(const words64 *)x, b = *(const words64 *)(x + step);

    *(words64 *)turned = __builtin_shufflevector(a, b, 0, 2);
    *(words64 *)(turned + turned_step) = __builtin_shufflevector(a, b, 1, 3);
}

/* By squares of `side`, which neither number is below. */
#define TURN(side, turn_square)                                                                          \
    for (size_t i = 0; i < n_columns; i += side) {                                                       \
        size_t column = i + side <= n_columns ? i : n_columns - side;                                    \
                                                                                                         \
        for (size_t j = 0; j < n_rows; j += side) {                                                      \
            size_t row = j + side <= n_rows ? j : n_rows - side;                                         \
                                                                                                         \
            turn_square(to + column * n_rows + row, n_rows, from + row * n_columns + column, n_columns); \
        }                                                                                                \
    }

static void turn_32(mdf_word32 *restrict to, const mdf_word32 *restrict from, size_t n_rows, size_t n_columns)
{
    if (n_columns == 2) {
        turn_thin(to, from, n_rows, 2);
    } else if (n_columns == 3) {
        turn_thin(to, from, n_rows, 3);
    } else if (n_rows == 2) {
        turn_thin(to, from, 2, n_columns);
    } else if (n_rows == 3) {
        turn_thin(to, from, 3, n_columns);
    } else if (n_rows < 4 || n_columns < 4) {
        turn_thin(to, from, n_rows, n_columns);
    } else {
        TURN(4, turn_square_32)
    }
}

static void turn_64(mdf_word64 *restrict to, const mdf_word64 *restrict from, size_t n_rows, size_t n_columns)
{
    if (n_rows == 1 || n_columns == 1) {
        for (size_t i = 0; i < n_rows * n_columns; i++) {
            to[i] = from[i];
        }
    } else {
        TURN(2, turn_square_64)
    }
}

void mdf_turn_rows(size_t element_size, void *restrict turned, const void *restrict elements, size_t n_rows, size_t n_columns)
{
    if (element_size == sizeof(uint32_t)) {
        turn_32(turned, elements, n_rows, n_columns);
    } else {
        turn_64(turned, elements, n_rows, n_columns);
    }
}
