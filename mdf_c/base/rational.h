/* rational.h - exact fractions of 64-bit whole numbers. Every function that could pass 64 bits says so by returning false. */
#ifndef MDF_BASE_RATIONAL_H
#define MDF_BASE_RATIONAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In lowest terms; the denominator is positive. */
struct mdf_rational {
    int64_t numerator, denominator;
};

/* Greatest common divisor, never negative; of 0 and 0 it is 0. Neither may be INT64_MIN. */
int64_t mdf_gcd(int64_t a, int64_t b);
/* Least common multiple of two positive numbers. */
bool mdf_lcm(int64_t a, int64_t b, int64_t *multiple);

bool mdf_rational_make(int64_t numerator, int64_t denominator, struct mdf_rational *result);
/* A decimal number "-12.5e-3" of `length` bytes, exactly. False: not such a text, or past 64 bits. */
bool mdf_rational_parse(const char *text, size_t length, struct mdf_rational *result);
bool mdf_rational_multiply(struct mdf_rational a, struct mdf_rational b, struct mdf_rational *result);
/* The largest fraction that divides both evenly. */
bool mdf_rational_gcd(struct mdf_rational a, struct mdf_rational b, struct mdf_rational *result);
/* How often `divisor` goes into `number`, where it does so evenly. */
bool mdf_rational_count(struct mdf_rational number, struct mdf_rational divisor, int64_t *count);

#endif
