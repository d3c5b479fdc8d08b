/* whole_division.c - see whole_division.h.
 *
 * Of whole numbers a and b with |a| < 2^53 the quotient as a real, rounded, lies on the same side of each whole number as the
 * true one: that is at least 1 / |b| away from those that it is not, more than half a unit in its last place. So its whole part
 * is right, and the remainder is exact. */
#include "functions/elements/loops/whole_division.h"

#if defined(__x86_64__)

#include <math.h>
#include <string.h>

#define IN_VECTORS __attribute__((target("avx2"))) static
#define INLINE IN_VECTORS inline __attribute__((always_inline))

enum { STRETCH = 64 };

/* The bits of 1.5 * 2^52 and of a whole number of at most 2^51, added up, are those of their sum. */
#define BASE 0x1.8p52
#define BITS_OF_BASE UINT64_C(0x4338000000000000)
#define LIMIT (UINT64_C(1) << 51)

INLINE double real_of(int64_t whole)
{
    uint64_t bits = (uint64_t)whole + BITS_OF_BASE;
    double sum;

    memcpy(&sum, &bits, sizeof sum);
    return sum - BASE;
}

INLINE int64_t whole_of(double real)
{
    double sum = real + BASE;
    uint64_t bits;

    memcpy(&bits, &sum, sizeof bits);
    return (int64_t)(bits - BITS_OF_BASE);
}

/* A stretch of an operand as reals; false: one is too large. */
IN_VECTORS bool read_stretch(const int64_t *from, size_t step, size_t n, double *reals)
{
    uint64_t beyond = 0;

    for (size_t i = 0; i < (step != 0 ? n : 1); i++) {
        beyond |= ((uint64_t)from[i] + LIMIT) >> 52;
        reals[i] = real_of(from[i]);
    }
    for (size_t i = 1; step == 0 && i < n; i++) {
        reals[i] = reals[0];
    }
    return beyond == 0;
}

INLINE void divide(const double *a, const double *b, size_t n, bool floors, bool wants_remainder, int64_t *out)
{
    for (size_t i = 0; i < n; i++) {
        double quotient = trunc(a[i] / b[i]), remainder = a[i] - quotient * b[i];
        bool is_above = floors && remainder != 0 && (remainder < 0) != (b[i] < 0);

        out[i] = whole_of(wants_remainder ? remainder + (is_above ? b[i] : 0) : quotient - (is_above ? 1 : 0));
    }
}

/* Where an operand goes on behind `done` elements. */
static const int64_t *operand_at(const struct mdf_whole_division *division, size_t which, size_t done)
{
    return (const int64_t *)division->operands[which] + (division->steps[which] != 0 ? done : 0);
}

IN_VECTORS bool divides_by_zero(const struct mdf_whole_division *division)
{
    const int64_t *divisors = division->operands[1];
    size_t n = division->steps[1] != 0 ? division->n : 1;
    uint64_t n_zeros = 0;

    for (size_t i = 0; i < n; i++) {
        n_zeros += divisors[i] == 0;
    }
    return n_zeros > 0;
}

/* The target may be an operand: a stretch is written when it has been read. */
INLINE bool divide_all(const struct mdf_whole_division *division, bool floors, bool wants_remainder)
{
    double a[STRETCH], b[STRETCH];
    int64_t results[STRETCH];
    size_t n;

    if (divides_by_zero(division)) {
        return division->one_by_one(division->target, division->operands, division->steps, division->n, division->settings);
    }
    for (size_t done = 0; done < division->n; done += n) {
        const int64_t *left = operand_at(division, 0, done), *right = operand_at(division, 1, done);
        int64_t *target = (int64_t *)division->target + done;

        n = division->n - done < STRETCH ? division->n - done : STRETCH;
        if (read_stretch(left, division->steps[0], n, a) && read_stretch(right, division->steps[1], n, b)) {
            divide(a, b, n, floors, wants_remainder, results);
            memcpy(target, results, n * sizeof *target);
        } else if (!division->one_by_one(target, (const void *const[]){left, right}, division->steps, n, division->settings)) {
            return false;
        }
    }
    return true;
}

__attribute__((target("avx2"))) bool mdf_whole_quotients(const struct mdf_whole_division *division)
{
    return divide_all(division, false, false);
}

__attribute__((target("avx2"))) bool mdf_whole_remainders(const struct mdf_whole_division *division)
{
    return divide_all(division, false, true);
}

__attribute__((target("avx2"))) bool mdf_whole_floor_quotients(const struct mdf_whole_division *division)
{
    return divide_all(division, true, false);
}

__attribute__((target("avx2"))) bool mdf_whole_floor_remainders(const struct mdf_whole_division *division)
{
    return divide_all(division, true, true);
}

#endif
