/* exact_sum.c - see exact_sum.h. */
#include "mdf_c/run/sweep/exact_sum.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
    DIGIT_BITS = 32,
    UNIT_BITS = 1074,         /* a sum is in units of 2^-1074, one of squares of twice as many bits */
    WORDS = 5,                /* digits that one addition reaches: 128 bits, shifted by less than a digit */
    MOST_DIGITS = 160,        /* of any sum: the largest square, 2^64 times, and a sign */
    MOST_UNCARRIED = 1 << 28, /* additions of less than 2^32 that a digit has room for */
    SIGNIFICANT_BITS = 53,
    FEWEST_CUT = 8,
    MOST_CUT_BITS = 8,
    MOST_CUT = 1 << (MOST_CUT_BITS - 1), /* numbers that are added without rounding */
    MOST_EXPONENT_SHIFT = 1100 /* by which a number is brought to its exponent in one step */
};

void mdf_exact_sum_release(struct mdf_exact_sum *sum, struct mdf_memory *memory)
{
    mdf_memory_release(memory, sum->digits);
    memset(sum, 0, sizeof *sum);
}

/* ------------------------------------------------------------------ digits */

/* Carries: all digits but the last become 0 to 2^32 - 1. */
static void carry(struct mdf_exact_sum *sum)
{
    for (uint32_t i = 0; i + 1 < sum->n; i++) {
        int64_t low = sum->digits[i] & 0xFFFFFFFF;

        sum->digits[i + 1] += (sum->digits[i] - low) / ((int64_t)1 << DIGIT_BITS);
        sum->digits[i] = low;
    }
    sum->n_uncarried = 0;
}

/* Room for the digits [first, end), and one more that takes the sign. */
static bool reach(struct mdf_exact_sum *sum, struct mdf_memory *memory, uint32_t first, uint32_t end)
{
    uint32_t new_first = sum->n == 0 || first < sum->first ? first : sum->first;
    uint32_t new_end = sum->n == 0 || end > sum->first + sum->n ? end : sum->first + sum->n;
    int64_t *digits;

    if (sum->n > 0 && new_first == sum->first && new_end == sum->first + sum->n) {
        return true;
    }
    digits = mdf_memory_allocate_zeroed(memory, new_end - new_first, sizeof *digits);
    if (digits == NULL) {
        return false;
    }
    carry(sum);
    if (sum->n > 0) {
        memcpy(digits + (sum->first - new_first), sum->digits, sum->n * sizeof *digits);
    }
    mdf_memory_release(memory, sum->digits);
    sum->digits = digits;
    sum->first = new_first;
    sum->n = new_end - new_first;
    return true;
}

/* 128 bits, the low ones first. */
struct wide {
    uint64_t low, high;
};

/* Adds a number of 2^position units. */
static bool add_wide(struct mdf_exact_sum *sum, struct mdf_memory *memory, struct wide number, unsigned position,
                     bool is_negative)
{
    uint32_t first = position / DIGIT_BITS;
    unsigned shift = position % DIGIT_BITS;
    struct wide rest = {.low = shift == 0 ? number.low >> 32 | number.high << 32
                                          : number.low >> (DIGIT_BITS - shift) | number.high << (DIGIT_BITS + shift),
                        .high = number.high >> (DIGIT_BITS - shift)};
    const int64_t words[WORDS] = {(int64_t)((number.low << shift) & 0xFFFFFFFF), (int64_t)(rest.low & 0xFFFFFFFF),
                                  (int64_t)(rest.low >> 32), (int64_t)(rest.high & 0xFFFFFFFF), (int64_t)(rest.high >> 32)};
    uint32_t n = number.high == 0 ? 3 : WORDS;
    int64_t *digits;

    if ((sum->n == 0 || first < sum->first || first + n >= sum->first + sum->n) && !reach(sum, memory, first, first + n + 1)) {
        return false;
    }
    digits = sum->digits + (first - sum->first);
    for (uint32_t i = 0; i < n; i++) {
        digits[i] += is_negative ? -words[i] : words[i];
    }
    if (++sum->n_uncarried >= MOST_UNCARRIED) {
        carry(sum);
    }
    return true;
}

static struct wide square_of(uint64_t number)
{
    uint64_t low = number & 0xFFFFFFFF, high = number >> 32, middle = low * high;
    struct wide square = {low * low, high * high + (middle >> 31)};

    middle <<= 33;
    square.low += middle;
    square.high += square.low < middle;
    return square;
}

/* A finite number as a whole number of 2^(*position - UNIT_BITS). */
static uint64_t take_apart(double number, unsigned *position)
{
    uint64_t bits, fraction;
    unsigned exponent;

    memcpy(&bits, &number, sizeof bits);
    fraction = bits & (((uint64_t)1 << 52) - 1);
    exponent = (unsigned)(bits >> 52) & 0x7FF;
    *position = exponent > 0 ? exponent - 1 : 0;
    return exponent > 0 ? fraction | (uint64_t)1 << 52 : fraction;
}

/* The same of a number of 64 bits, where there are digits for it and no carry is due: as it is of almost all numbers. */
static inline bool add_narrow(struct mdf_exact_sum *sum, struct mdf_memory *memory, uint64_t number, unsigned position,
                              bool is_negative)
{
    uint32_t first = position / DIGIT_BITS - sum->first;
    unsigned shift = position % DIGIT_BITS;
    uint64_t rest = number >> (DIGIT_BITS - shift);
    int64_t sign = -(int64_t)is_negative, *digits;

    if (position / DIGIT_BITS < sum->first || first + 3 >= sum->n || sum->n_uncarried + 1 >= MOST_UNCARRIED) {
        return add_wide(sum, memory, (struct wide){number, 0}, position, is_negative);
    }
    digits = sum->digits + first;
    digits[0] += ((int64_t)(number << shift & 0xFFFFFFFF) ^ sign) - sign;
    digits[1] += ((int64_t)(rest & 0xFFFFFFFF) ^ sign) - sign;
    digits[2] += ((int64_t)(rest >> DIGIT_BITS) ^ sign) - sign;
    sum->n_uncarried++;
    return true;
}

/* Two doubles whose sum is that of a few numbers: each is cut in two, a multiple of 2^unit and what is left, a multiple of
 * 2^(unit - 44), so that no addition of either has to be rounded (S. M. Rump et al., Accurate floating-point summation, 2008).
 * False: they lie too far apart, or doubles are not added as doubles here. */
static bool add_cut(const double *numbers, size_t n, double sums[2])
{
    double largest = 0, coarse, fine, rest = 0;
    int exponent;

    for (size_t i = 0; i < n; i++) {
        largest = fabs(numbers[i]) > largest ? fabs(numbers[i]) : largest;
    }
    frexp(largest, &exponent);
    if (FLT_EVAL_METHOD != 0 || largest == 0 || exponent < -800 || exponent > 900) {
        return false;
    }
    coarse = ldexp(1.5, exponent + MOST_CUT_BITS);           /* unit: exponent + MOST_CUT_BITS - 52 */
    fine = ldexp(1.5, exponent + 2 * MOST_CUT_BITS - 52);
    sums[0] = sums[1] = 0;
    for (size_t i = 0; i < n; i++) {
        double high = numbers[i] + coarse - coarse, left = numbers[i] - high, low = left + fine - fine;

        sums[0] += high;
        sums[1] += low;
        rest = left - low != 0 ? 1 : rest;
    }
    return rest == 0;
}

bool mdf_exact_sum_add_all(struct mdf_exact_sum *sum, struct mdf_memory *memory, const double *numbers, size_t n)
{
    double sums[2];
    unsigned position;
    bool done = true;

    if (n >= FEWEST_CUT && n <= MOST_CUT && add_cut(numbers, n, sums)) {
        return mdf_exact_sum_add_all(sum, memory, sums, 2);
    }
    for (size_t i = 0; i < n && done; i++) {
        uint64_t whole = take_apart(numbers[i], &position);

        done = add_narrow(sum, memory, whole, position, signbit(numbers[i]) != 0);
    }
    return done;
}

bool mdf_exact_sum_add(struct mdf_exact_sum *sum, struct mdf_memory *memory, double number)
{
    return mdf_exact_sum_add_all(sum, memory, &number, 1);
}

bool mdf_exact_sum_add_square(struct mdf_exact_sum *sum, struct mdf_memory *memory, double number)
{
    unsigned position;
    uint64_t whole = take_apart(number, &position);

    return add_wide(sum, memory, square_of(whole), 2 * position, false);
}

bool mdf_exact_sum_add_whole(struct mdf_exact_sum *sum, struct mdf_memory *memory, uint64_t magnitude, bool is_negative)
{
    return add_narrow(sum, memory, magnitude, UNIT_BITS, is_negative);
}

bool mdf_exact_sum_add_square_of_whole(struct mdf_exact_sum *sum, struct mdf_memory *memory, uint64_t magnitude)
{
    return add_wide(sum, memory, square_of(magnitude), 2 * UNIT_BITS, false);
}

bool mdf_exact_sum_merge(struct mdf_exact_sum *sum, struct mdf_memory *memory, const struct mdf_exact_sum *other)
{
    static const int64_t small = (int64_t)1 << 28;
    uint32_t n = other->n;
    int64_t last = n > 0 ? other->digits[n - 1] : 0;

    /* A last digit that is but a sign goes into the one before: else each merger would need one digit more. */
    for (; n > 1 && last > -small && last < small; n--) {
        last = last * ((int64_t)1 << DIGIT_BITS) + other->digits[n - 2];
    }
    if (n == 0) {
        return true;
    }
    if (!reach(sum, memory, other->first, other->first + n + 1)) {
        return false;
    }
    carry(sum);
    for (uint32_t i = 0; i + 1 < n; i++) {
        sum->digits[other->first - sum->first + i] += other->digits[i];
    }
    sum->digits[other->first - sum->first + n - 1] += last;
    carry(sum);
    return true;
}

/* ------------------------------------------------------------------ what it comes to */

/* The magnitude of digits after all carries, in place; whether they were negative. */
static bool take_sign(int64_t *digits, size_t n)
{
    bool is_negative = n > 0 && digits[n - 1] < 0;
    int64_t borrow = 0;

    for (size_t i = 0; is_negative && i < n; i++) {
        int64_t digit = borrow - digits[i];

        borrow = 0;
        if (i + 1 < n && digit < 0) {
            digit += (int64_t)1 << DIGIT_BITS;
            borrow = -1;
        }
        digits[i] = digit;
    }
    return is_negative;
}

static unsigned bit_length(uint64_t number)
{
    unsigned n = 0;

    for (; number != 0; number >>= 1) {
        n++;
    }
    return n;
}

/* Digits that are not negative, of which only the last may have more than 32 bits: the nearest number of 2^*exponent, or the even
 * one of two, of as many bits as a double has. */
static uint64_t round_digits(const int64_t *digits, size_t n, long *exponent)
{
    uint64_t top = 0;
    bool is_sticky = false;
    unsigned length;
    long drop;
    size_t i = n;

    *exponent = 0;
    while (i > 0 && digits[i - 1] == 0) {
        i--;
    }
    if (i == 0) {
        return 0;
    }
    top = (uint64_t)digits[--i];
    for (; i > 0 && bit_length(top) <= 32; i--) {
        top = top << DIGIT_BITS | (uint64_t)digits[i - 1];
    }
    *exponent = (long)i * DIGIT_BITS;
    length = bit_length(top);
    if (length < 64 && i > 0) {         /* all 64 bits are filled */
        unsigned missing = 64 - length; /* less than a digit */

        top = top << missing | (uint64_t)digits[i - 1] >> (DIGIT_BITS - missing);
        is_sticky = ((uint64_t)digits[i - 1] & (((uint64_t)1 << (DIGIT_BITS - missing)) - 1)) != 0;
        *exponent -= (long)missing;
        i--;
    }
    while (i > 0 && !is_sticky) {
        is_sticky = digits[--i] != 0;
    }
    drop = (long)bit_length(top) - SIGNIFICANT_BITS;
    if (drop > 0) {
        uint64_t half = (uint64_t)1 << (drop - 1), below = top & ((half << 1) - 1);

        top >>= drop;
        top += below > half || (below == half && (is_sticky || (top & 1) != 0));
        *exponent += drop;
    }
    return top;
}

double mdf_exact_sum_round(struct mdf_exact_sum *sum)
{
    int64_t digits[MOST_DIGITS];
    bool is_negative;
    long exponent;
    double number;

    carry(sum);
    if (sum->n == 0) {
        return 0;
    }
    memcpy(digits, sum->digits, sum->n * sizeof *digits);
    is_negative = take_sign(digits, sum->n);
    number = (double)round_digits(digits, sum->n, &exponent);
    exponent += (long)sum->first * DIGIT_BITS - UNIT_BITS;
    number = ldexp(number, (int)exponent); /* a whole number of the smallest double: nothing is rounded again */
    return is_negative ? -number : number;
}

/* product += a * b, of digits that are not negative; the last ones may be large. */
static void add_product(int64_t *product, const int64_t *a, size_t n_a, const int64_t *b, size_t n_b)
{
    for (size_t i = 0; i < n_a; i++) {
        uint64_t over = 0;

        for (size_t j = 0; j < n_b || over != 0; j++) {
            uint64_t part = (uint64_t)product[i + j] + over + (j < n_b ? (uint64_t)a[i] * (uint64_t)b[j] : 0);

            product[i + j] = (int64_t)(part & 0xFFFFFFFF);
            over = part >> DIGIT_BITS;
        }
    }
}

/* Cuts the last digit, which may have more than 32 bits, in two; digits has room for one more. */
static size_t even_out(int64_t *digits, size_t n)
{
    if (n > 0) {
        digits[n] = digits[n - 1] >> DIGIT_BITS;
        digits[n - 1] &= 0xFFFFFFFF;
        n++;
    }
    return n;
}

bool mdf_exact_variance(struct mdf_memory *memory, struct mdf_exact_sum *sum, struct mdf_exact_sum *squares, uint64_t n,
                        double *variance)
{
    enum { ROOM = 2 * MOST_DIGITS + 8 };
    const int64_t counts[2] = {(int64_t)(n & 0xFFFFFFFF), (int64_t)(n >> 32)};
    int64_t *digits = mdf_memory_allocate_zeroed(memory, 3 * (size_t)ROOM, sizeof *digits);
    int64_t *own = digits, *square = digits + ROOM, *all = digits + 2 * (size_t)ROOM;
    size_t n_own, n_all;
    long exponent;
    double number;

    if (digits == NULL) {
        return false;
    }
    carry(sum);
    carry(squares);
    memcpy(own, sum->digits, sum->n * sizeof *own);
    take_sign(own, sum->n);
    n_own = even_out(own, sum->n);
    add_product(square + 2 * (size_t)sum->first, own, n_own, own, n_own);
    memset(own, 0, ROOM * sizeof *own);
    memcpy(own, squares->digits, squares->n * sizeof *own);
    n_all = even_out(own, squares->n);
    add_product(all + squares->first, own, n_all, counts, 2);
    for (size_t i = 0; i < ROOM; i++) {
        all[i] -= square[i];
        if (i + 1 < ROOM && all[i] < 0) {
            all[i] += (int64_t)1 << DIGIT_BITS;
            all[i + 1]--;
        }
    }
    number = (double)round_digits(all, ROOM, &exponent);
    number = number / (double)n / (double)n;
    exponent -= 2 * UNIT_BITS;
    if (exponent < -MOST_EXPONENT_SHIFT) { /* in two steps, as the first alone must not round */
        number = ldexp(number, -MOST_EXPONENT_SHIFT / 2);
        exponent += MOST_EXPONENT_SHIFT / 2;
    }
    *variance = ldexp(number, (int)exponent);
    mdf_memory_release(memory, digits);
    return true;
}

/* ------------------------------------------------------------------ bytes */

static void write_bytes(struct mdf_text *bytes, uint64_t number, unsigned n)
{
    unsigned char little[8];

    for (unsigned i = 0; i < n; i++) {
        little[i] = (unsigned char)(number >> (8 * i));
    }
    mdf_text_append(bytes, (const char *)little, n);
}

static bool read_bytes(const unsigned char **bytes, const unsigned char *end, unsigned n, uint64_t *number)
{
    *number = 0;
    if ((size_t)(end - *bytes) < n) {
        return false;
    }
    for (unsigned i = 0; i < n; i++) {
        *number |= (uint64_t)(*bytes)[i] << (8 * i);
    }
    *bytes += n;
    return true;
}

void mdf_exact_sum_write(struct mdf_exact_sum *sum, struct mdf_text *bytes)
{
    int64_t digits[MOST_DIGITS];
    uint32_t first = 0, end = sum->n;
    bool is_negative;

    carry(sum);
    if (sum->n > 0) {
        memcpy(digits, sum->digits, sum->n * sizeof *digits);
    }
    is_negative = take_sign(digits, sum->n);
    while (end > 0 && digits[end - 1] == 0) {
        end--;
    }
    while (first < end && digits[first] == 0) {
        first++;
    }
    write_bytes(bytes, (uint64_t)is_negative, 1);
    write_bytes(bytes, first < end ? sum->first + first : 0, 2);
    write_bytes(bytes, end - first, 2);
    for (uint32_t i = first; i < end; i++) {
        write_bytes(bytes, (uint64_t)digits[i], 8);
    }
}

bool mdf_exact_sum_read(struct mdf_exact_sum *sum, struct mdf_memory *memory, const unsigned char **bytes,
                        const unsigned char *end)
{
    uint64_t is_negative, first, n, digit;
    int64_t digits[MOST_DIGITS];
    struct mdf_exact_sum read = {digits, 0, 0, 0};

    if (!read_bytes(bytes, end, 1, &is_negative) || !read_bytes(bytes, end, 2, &first) || !read_bytes(bytes, end, 2, &n) ||
        is_negative > 1 || first + n + 2 > MOST_DIGITS) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!read_bytes(bytes, end, 8, &digit) || digit > INT64_MAX / 2 || (i + 1 < n && digit >> DIGIT_BITS != 0)) {
            return false;
        }
        digits[i] = is_negative ? -(int64_t)digit : (int64_t)digit;
    }
    read.first = (uint32_t)first;
    read.n = (uint32_t)n;
    return mdf_exact_sum_merge(sum, memory, &read);
}
