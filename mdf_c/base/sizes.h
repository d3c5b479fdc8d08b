/* sizes.h - arithmetic of sizes and whole numbers. */
#ifndef MDF_BASE_SIZES_H
#define MDF_BASE_SIZES_H

#include <stddef.h>
#include <stdint.h>

/* a / b, of which a part counts as a whole. */
static inline size_t mdf_divide_up(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

/* The lesser of both. */
static inline size_t mdf_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline int64_t mdf_smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t mdf_larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The number from `low` to `high` that is next to x; `low` where there is none. */
static inline int64_t mdf_clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

#endif
