/* exact_sum.h - sums of numbers and of their squares without rounding, so that they come out the same in whatever order and parts
 * the numbers are added.
 *
 * A sum is a whole number of 2^-1074, or of 2^-2148 where it is one of squares: digits of 32 bits, of which those are kept that
 * have been met. A digit is a signed number of 64 bits, so that 2^30 additions need no carry. Infinities and NaN are the
 * caller's to count. */
#ifndef MDF_RUN_SWEEP_EXACT_SUM_H
#define MDF_RUN_SWEEP_EXACT_SUM_H

#include "mdf_c/base/memory.h"
#include "mdf_c/base/text.h"

struct mdf_exact_sum {
    int64_t *digits; /* of 2^(32 (first + i)) units each */
    uint32_t first, n;
    uint32_t n_uncarried; /* additions since the last carry */
};

void mdf_exact_sum_release(struct mdf_exact_sum *sum, struct mdf_memory *memory);
/* Each returns false where memory is refused; the sum is then as it was. `number` is finite. */
bool mdf_exact_sum_add(struct mdf_exact_sum *sum, struct mdf_memory *memory, double number);
bool mdf_exact_sum_add_square(struct mdf_exact_sum *sum, struct mdf_memory *memory, double number);
/* Several finite ones. */
bool mdf_exact_sum_add_all(struct mdf_exact_sum *sum, struct mdf_memory *memory, const double *numbers, size_t n);
/* The same of a whole number, magnitude and sign, which a double may not hold. */
bool mdf_exact_sum_add_whole(struct mdf_exact_sum *sum, struct mdf_memory *memory, uint64_t magnitude, bool is_negative);
bool mdf_exact_sum_add_square_of_whole(struct mdf_exact_sum *sum, struct mdf_memory *memory, uint64_t magnitude);
bool mdf_exact_sum_merge(struct mdf_exact_sum *sum, struct mdf_memory *memory, const struct mdf_exact_sum *other);

/* The sum of numbers, rounded to the nearest double. */
double mdf_exact_sum_round(struct mdf_exact_sum *sum);
/* n times the sum of the squares of n numbers, less the square of their sum, both exact: rounded to a double, over n twice. False
 * where memory is refused. */
bool mdf_exact_variance(struct mdf_memory *memory, struct mdf_exact_sum *sum, struct mdf_exact_sum *squares, uint64_t n,
                        double *variance);

/* As bytes that any machine reads, after all carries: two that are equal have the same ones. */
void mdf_exact_sum_write(struct mdf_exact_sum *sum, struct mdf_text *bytes);
/* Adds what was written, and moves *bytes behind it. False where it is cut short, or memory is refused. */
bool mdf_exact_sum_read(struct mdf_exact_sum *sum, struct mdf_memory *memory, const unsigned char **bytes,
                        const unsigned char *end);

#endif
