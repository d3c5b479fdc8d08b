/* turn_block.c - see turn_block.h. Squares of 8 by 8, 4 by 4 or 2 by 2 elements are turned in registers. */
#include "functions/moves/turn_block.h"

#include "functions/moves/words.h"

typedef uint8_t bytes8 __attribute__((vector_size(8), aligned(1), may_alias));
typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint16_t pairs4 __attribute__((vector_size(8), aligned(2), may_alias));
typedef uint16_t pairs8 __attribute__((vector_size(16)));
typedef uint32_t singles4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint64_t doubles2 __attribute__((vector_size(16), aligned(4), may_alias)); /* made of elements of 4 bytes, too */
typedef uint64_t eight_bytes __attribute__((aligned(1), may_alias));

/* Of two vectors of four columns each, one above the other: columns 0 and 1, and columns 2 and 3. */
static inline doubles2 join_low(singles4 above, singles4 below)
{
    return (doubles2)__builtin_shufflevector(above, below, 0, 4, 1, 5);
}

static inline doubles2 join_high(singles4 above, singles4 below)
{
    return (doubles2)__builtin_shufflevector(above, below, 2, 6, 3, 7);
}

/* The two halves become the begins of two rows. */
static inline void store_rows(void *first, void *second, doubles2 halves)
{
    *(eight_bytes *)first = halves[0];
    *(eight_bytes *)second = halves[1];
}

static inline bytes16 interleave_bytes(const mdf_word8 *a, const mdf_word8 *b)
{
    return __builtin_shufflevector(*(const bytes8 *)a, *(const bytes8 *)b, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
}

static inline void turn_square_8(mdf_word8 *to, int64_t row, const mdf_word8 *from, int64_t column)
{
    pairs8 ab = (pairs8)interleave_bytes(from, from + column),
           cd = (pairs8)interleave_bytes(from + 2 * column, from + 3 * column),
           ef = (pairs8)interleave_bytes(from + 4 * column, from + 5 * column),
           gh = (pairs8)interleave_bytes(from + 6 * column, from + 7 * column);
    singles4 low_ad = (singles4)__builtin_shufflevector(ab, cd, 0, 8, 1, 9, 2, 10, 3, 11),
             high_ad = (singles4)__builtin_shufflevector(ab, cd, 4, 12, 5, 13, 6, 14, 7, 15),
             low_eh = (singles4)__builtin_shufflevector(ef, gh, 0, 8, 1, 9, 2, 10, 3, 11),
             high_eh = (singles4)__builtin_shufflevector(ef, gh, 4, 12, 5, 13, 6, 14, 7, 15);

    store_rows(to, to + row, join_low(low_ad, low_eh));
    store_rows(to + 2 * row, to + 3 * row, join_high(low_ad, low_eh));
    store_rows(to + 4 * row, to + 5 * row, join_low(high_ad, high_eh));
    store_rows(to + 6 * row, to + 7 * row, join_high(high_ad, high_eh));
}

static inline singles4 interleave_pairs(const mdf_word16 *a, const mdf_word16 *b)
{
    return (singles4)__builtin_shufflevector(*(const pairs4 *)a, *(const pairs4 *)b, 0, 4, 1, 5, 2, 6, 3, 7);
}

static inline void turn_square_16(mdf_word16 *to, int64_t row, const mdf_word16 *from, int64_t column)
{
    singles4 ab = interleave_pairs(from, from + column), cd = interleave_pairs(from + 2 * column, from + 3 * column);

    store_rows(to, to + row, join_low(ab, cd));
    store_rows(to + 2 * row, to + 3 * row, join_high(ab, cd));
}

static inline void turn_square_32(mdf_word32 *to, int64_t row, const mdf_word32 *from, int64_t column)
{
    singles4 a = *(const singles4 *)from, b = *(const singles4 *)(from + column), c = *(const singles4 *)(from + 2 * column),
             d = *(const singles4 *)(from + 3 * column);
    doubles2 low_ab = join_low(a, b), high_ab = join_high(a, b), low_cd = join_low(c, d), high_cd = join_high(c, d);

    *(doubles2 *)to = __builtin_shufflevector(low_ab, low_cd, 0, 2);
    *(doubles2 *)(to + row) = __builtin_shufflevector(low_ab, low_cd, 1, 3);
    *(doubles2 *)(to + 2 * row) = __builtin_shufflevector(high_ab, high_cd, 0, 2);
    *(doubles2 *)(to + 3 * row) = __builtin_shufflevector(high_ab, high_cd, 1, 3);
}

/* Of three rows that lie element by element, four elements of each. */
static inline void take_three_32(mdf_word32 *a, mdf_word32 *b, mdf_word32 *c, const mdf_word32 *x)
{
    singles4 first = *(const singles4 *)x, second = *(const singles4 *)(x + 4), third = *(const singles4 *)(x + 8);

    *(singles4 *)a = __builtin_shufflevector(__builtin_shufflevector(first, second, 0, 3, 6, 6), third, 0, 1, 2, 5);
    *(singles4 *)b = __builtin_shufflevector(__builtin_shufflevector(first, second, 1, 4, 7, 7), third, 0, 1, 2, 6);
    *(singles4 *)c = __builtin_shufflevector(__builtin_shufflevector(first, second, 2, 5, 5, 5), third, 0, 1, 4, 7);
}

static inline void turn_square_64(mdf_word64 *to, int64_t row, const mdf_word64 *from, int64_t column)
{
    doubles2 a = *(const doubles2 *)from, b = *(const doubles2 *)(from + column);

    *(doubles2 *)to = __builtin_shufflevector(a, b, 0, 2);
    *(doubles2 *)(to + row) = __builtin_shufflevector(a, b, 1, 3);
}

#define WORD mdf_word8
#define SIDE 8
#define TURN_SQUARE turn_square_8
#define NAME(x) x##_8
#include "functions/moves/turn_block.inc"
#define WORD mdf_word16
#define SIDE 4
#define TURN_SQUARE turn_square_16
#define NAME(x) x##_16
#include "functions/moves/turn_block.inc"
#define WORD mdf_word32
#define SIDE 4
#define TURN_SQUARE turn_square_32
#define TAKE_THREE take_three_32
#define NAME(x) x##_32
#include "functions/moves/turn_block.inc"
#define WORD mdf_word64
#define SIDE 2
#define TURN_SQUARE turn_square_64
#define NAME(x) x##_64
#include "functions/moves/turn_block.inc"

void mdf_turn_block(size_t element_size, void *target, const void *source, const struct mdf_block *block, int64_t *rows,
                    int64_t *columns)
{
    int64_t side = element_size == 1 ? 8 : element_size == 8 ? 2 : 4;

    *rows = *columns = 0;
    if (block->target_column != 1 || block->source_row != 1 || block->source_column == 0 || element_size > sizeof(mdf_word64)) {
        return;
    }
    *rows = block->rows / side * side;
    *columns = block->columns / side * side;
    switch (element_size) {
    case 1:
        turn_8(target, source, *rows, *columns, block);
        break;
    case 2:
        turn_16(target, source, *rows, *columns, block);
        break;
    case 4:
        turn_32(target, source, *rows, *columns, block);
        break;
    default:
        turn_64(target, source, *rows, *columns, block);
    }
}

bool mdf_interleave_block(size_t element_size, void *target, const void *source, const struct mdf_block *block)
{
    int64_t n_rows = block->rows, n = block->columns;
    bool apart = block->target_column == 1 && block->source_row == 1 && block->source_column == n_rows;
    bool together = block->source_column == 1 && block->target_row == 1 && block->target_column == n_rows;

    if (n_rows < 2 || n_rows > 4 || (!apart && !together) || element_size > sizeof(mdf_word64)) {
        return false;
    }
#define RUN(size)                                                          \
    if (apart) {                                                           \
        take_apart_##size(target, block->target_row, source, n_rows, n);   \
    } else {                                                               \
        put_together_##size(target, source, block->source_row, n_rows, n); \
    }
    if (element_size == 1) {
        RUN(8)
    } else if (element_size == 2) {
        RUN(16)
    } else if (element_size == 4) {
        RUN(32)
    } else {
        RUN(64)
    }
#undef RUN
    return true;
}
