/* rational.c - see rational.h. */
#include "mdf_c/base/rational.h"

#include "mdf_c/base/text.h"

int64_t mdf_gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

bool mdf_lcm(int64_t a, int64_t b, int64_t *multiple)
{
    return !__builtin_mul_overflow(a / mdf_gcd(a, b), b, multiple);
}

bool mdf_rational_make(int64_t numerator, int64_t denominator, struct mdf_rational *result)
{
    int64_t divisor;

    if (denominator == 0 || numerator == INT64_MIN || denominator == INT64_MIN) {
        return false;
    }
    divisor = mdf_gcd(numerator, denominator);
    divisor = denominator < 0 ? -divisor : divisor;
    result->numerator = numerator / divisor;
    result->denominator = denominator / divisor;
    return true;
}

/* result * 10^exponent, `exponent` of either sign */
static bool scale(struct mdf_rational *result, int64_t exponent)
{
    const struct mdf_rational ten = {10, 1}, tenth = {1, 10};

    for (; exponent > 0; exponent--) {
        if (result->numerator == 0) {
            return true;
        }
        if (!mdf_rational_multiply(*result, ten, result)) {
            return false;
        }
    }
    for (; exponent < 0; exponent++) {
        if (result->numerator == 0) {
            return true;
        }
        if (!mdf_rational_multiply(*result, tenth, result)) {
            return false;
        }
    }
    return true;
}

/* Digits at text[*at], as a number behind what is there. */
static bool read_digits(const char *text, size_t length, size_t *at, int64_t *number, int64_t *n_digits)
{
    for (; *at < length && mdf_is_digit(text[*at]); (*at)++, (*n_digits)++) {
        if (__builtin_mul_overflow(*number, 10, number) || __builtin_add_overflow(*number, text[*at] - '0', number)) {
            return false;
        }
    }
    return true;
}

static bool read_exponent(const char *text, size_t length, size_t *at, int64_t *exponent)
{
    int64_t n_digits = 0;
    bool negative;

    if (*at == length || (text[*at] != 'e' && text[*at] != 'E')) {
        return true;
    }
    (*at)++;
    negative = *at < length && text[*at] == '-';
    *at += *at < length && (text[*at] == '-' || text[*at] == '+');
    if (!read_digits(text, length, at, exponent, &n_digits) || n_digits == 0 || *exponent > 1000) {
        return false;
    }
    *exponent = negative ? -*exponent : *exponent;
    return true;
}

bool mdf_rational_parse(const char *text, size_t length, struct mdf_rational *result)
{
    int64_t number = 0, n_digits = 0, n_decimals = 0, exponent = 0;
    size_t at = 0;
    bool negative = length > 0 && text[0] == '-';

    at += length > 0 && (text[0] == '-' || text[0] == '+');
    if (!read_digits(text, length, &at, &number, &n_digits)) {
        return false;
    }
    if (at < length && text[at] == '.') {
        at++;
        if (!read_digits(text, length, &at, &number, &n_decimals)) {
            return false;
        }
    }
    if (n_digits + n_decimals == 0 || !read_exponent(text, length, &at, &exponent) || at != length) {
        return false;
    }
    return mdf_rational_make(negative ? -number : number, 1, result) && scale(result, exponent - n_decimals);
}

bool mdf_rational_multiply(struct mdf_rational a, struct mdf_rational b, struct mdf_rational *result)
{
    /* Across first, so that what cancels does not overflow. */
    int64_t down = mdf_gcd(a.numerator, b.denominator), up = mdf_gcd(b.numerator, a.denominator);
    int64_t numerator, denominator;

    return !__builtin_mul_overflow(a.numerator / down, b.numerator / up, &numerator) &&
           !__builtin_mul_overflow(a.denominator / up, b.denominator / down, &denominator) &&
           mdf_rational_make(numerator, denominator, result);
}

bool mdf_rational_gcd(struct mdf_rational a, struct mdf_rational b, struct mdf_rational *result)
{
    int64_t denominator;

    /* Both are in lowest terms: gcd of the numerators over lcm of the denominators. */
    return mdf_lcm(a.denominator, b.denominator, &denominator) &&
           mdf_rational_make(mdf_gcd(a.numerator, b.numerator), denominator, result);
}

bool mdf_rational_count(struct mdf_rational number, struct mdf_rational divisor, int64_t *count)
{
    struct mdf_rational inverse, quotient;

    if (!mdf_rational_make(divisor.denominator, divisor.numerator, &inverse) ||
        !mdf_rational_multiply(number, inverse, &quotient) || quotient.denominator != 1) {
        return false;
    }
    *count = quotient.numerator;
    return true;
}
