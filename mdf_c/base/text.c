/* text.c - see text.h. */
#include "mdf_c/base/text.h"

#include "mdf_c/base/utf8.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void mdf_text_init(struct mdf_text *text, struct mdf_memory *memory)
{
    memset(text, 0, sizeof *text);
    text->memory = memory;
}

void mdf_text_release(struct mdf_text *text)
{
    mdf_memory_release(text->memory, text->bytes);
    mdf_text_init(text, text->memory);
}

/* Room for `length` more bytes and the terminator. */
static bool reserve(struct mdf_text *text, size_t length)
{
    size_t needed;
    char *grown;

    if (text->failed || !mdf_size_add(text->length, length, &needed) || !mdf_size_add(needed, 1, &needed)) {
        text->failed = true;
        return false;
    }
    if (needed <= text->capacity) {
        return true;
    }
    grown = mdf_memory_grow(text->memory, text->bytes, &text->capacity, needed, 1);
    if (grown == NULL) {
        text->failed = true;
        return false;
    }
    text->bytes = grown;
    return true;
}

void mdf_text_append(struct mdf_text *text, const char *bytes, size_t length)
{
    if (reserve(text, length)) {
        if (length > 0) { /* nothing may have no address */
            memcpy(text->bytes + text->length, bytes, length);
        }
        text->length += length;
        text->bytes[text->length] = '\0';
    }
}

void mdf_text_append_string(struct mdf_text *text, const char *string)
{
    mdf_text_append(text, string, strlen(string));
}

void mdf_text_append_visible(struct mdf_text *text, const char *string)
{
    size_t left = strlen(string), n_read;
    char shown[MDF_VISIBLE_SIZE];

    for (; left > 0; left -= n_read, string += n_read) {
        size_t length = mdf_visible_character((const unsigned char *)string, left, shown, &n_read);

        mdf_text_append(text, shown, length);
    }
}

void mdf_text_printf(struct mdf_text *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    mdf_text_vprintf(text, format, arguments);
    va_end(arguments);
}

void mdf_text_vprintf(struct mdf_text *text, const char *format, va_list arguments)
{
    va_list again;
    int length;

    va_copy(again, arguments);
    length = vsnprintf(NULL, 0, format, arguments);
    if (length >= 0 && reserve(text, (size_t)length)) {
        vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

size_t mdf_identifier_length(const char *text)
{
    size_t n = 0;

    while (n > 0 ? mdf_is_in_identifier(text[n]) : mdf_begins_identifier(text[n])) {
        n++;
    }
    return n;
}

size_t mdf_find_word(const char *text, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(words[i], text) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

size_t mdf_utf8_encode(uint32_t code, char *out)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

bool mdf_ends_with(const char *text, const char *suffix)
{
    size_t length = strlen(text), n = strlen(suffix);

    return length > n && strcmp(text + length - n, suffix) == 0;
}

/* The C library writes and reads numbers in the process's locale; a comma in it becomes a point here. */
static void use_point(char *text)
{
    char *comma = strchr(text, ',');

    if (comma != NULL) {
        *comma = '.';
    }
}

/* Zeros, and what is no number. */
static size_t format_special(double value, char *text)
{
    const char *word = isnan(value) ? "NaN" : value != 0 ? "Infinity" : "0.0";

    strcpy(text, signbit(value) && !isnan(value) ? "-" : "");
    return strlen(strcat(text, word));
}

static size_t mark_as_real(char *text)
{
    use_point(text);
    if (strpbrk(text, ".e") == NULL) {
        strcat(text, ".0");
    }
    return strlen(text);
}

/* ------------------------------------------------------------------ powers of ten */

enum { LEAST_POWER = -43, LARGEST_POWER = 47 };

/* 10^k = word * 2^(power_exponent(k) - 63), the word rounded to the nearest. */
static const uint64_t power_words[LARGEST_POWER - LEAST_POWER + 1] = {
    0x8eb98a7a9a5b04e3, 0xb267ed1940f1c61c, 0xdf01e85f912e37a3, 0x8b61313bbabce2c6, 0xae397d8aa96c1b78, 0xd9c7dced53c72256,
    0x881cea14545c7575, 0xaa242499697392d3, 0xd4ad2dbfc3d07788, 0x84ec3c97da624ab5, 0xa6274bbdd0fadd62, 0xcfb11ead453994ba,
    0x81ceb32c4b43fcf5, 0xa2425ff75e14fc32, 0xcad2f7f5359a3b3e, 0xfd87b5f28300ca0e, 0x9e74d1b791e07e48, 0xc612062576589ddb,
    0xf79687aed3eec551, 0x9abe14cd44753b53, 0xc16d9a0095928a27, 0xf1c90080baf72cb1, 0x971da05074da7bef, 0xbce5086492111aeb,
    0xec1e4a7db69561a5, 0x9392ee8e921d5d07, 0xb877aa3236a4b449, 0xe69594bec44de15b, 0x901d7cf73ab0acd9, 0xb424dc35095cd80f,
    0xe12e13424bb40e13, 0x8cbccc096f5088cc, 0xafebff0bcb24aaff, 0xdbe6fecebdedd5bf, 0x89705f4136b4a597, 0xabcc77118461cefd,
    0xd6bf94d5e57a42bc, 0x8637bd05af6c69b6, 0xa7c5ac471b478423, 0xd1b71758e219652c, 0x83126e978d4fdf3b, 0xa3d70a3d70a3d70a,
    0xcccccccccccccccd, 0x8000000000000000, 0xa000000000000000, 0xc800000000000000, 0xfa00000000000000, 0x9c40000000000000,
    0xc350000000000000, 0xf424000000000000, 0x9896800000000000, 0xbebc200000000000, 0xee6b280000000000, 0x9502f90000000000,
    0xba43b74000000000, 0xe8d4a51000000000, 0x9184e72a00000000, 0xb5e620f480000000, 0xe35fa931a0000000, 0x8e1bc9bf04000000,
    0xb1a2bc2ec5000000, 0xde0b6b3a76400000, 0x8ac7230489e80000, 0xad78ebc5ac620000, 0xd8d726b7177a8000, 0x878678326eac9000,
    0xa968163f0a57b400, 0xd3c21bcecceda100, 0x84595161401484a0, 0xa56fa5b99019a5c8, 0xcecb8f27f4200f3a, 0x813f3978f8940984,
    0xa18f07d736b90be5, 0xc9f2c9cd04674edf, 0xfc6f7c4045812296, 0x9dc5ada82b70b59e, 0xc5371912364ce305, 0xf684df56c3e01bc7,
    0x9a130b963a6c115c, 0xc097ce7bc90715b3, 0xf0bdc21abb48db20, 0x96769950b50d88f4, 0xbc143fa4e250eb31, 0xeb194f8e1ae525fd,
    0x92efd1b8d0cf37be, 0xb7abc627050305ae, 0xe596b7b0c643c719, 0x8f7e32ce7bea5c70, 0xb35dbf821ae4f38c, 0xe0352f62a19e306f,
    0x8c213d9da502de45};

static int power_exponent(int k)
{
    return k * 217706 >> 16; /* log2(10) * 2^16 */
}

static uint64_t high_product(uint64_t a, uint64_t b, uint64_t *low)
{
    uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
    uint64_t middle = a_high * b_low + (a_low * b_low >> 32), other = a_low * b_high + (uint32_t)middle;

    *low = a * b;
    return a_high * b_high + (middle >> 32) + (other >> 32);
}

/* ------------------------------------------------------------------ shortest digits */

/* digits * 10^(exponent - n_digits + 1) */
struct shortest {
    uint64_t digits;
    int n_digits, exponent;
};

/* What a number type is to the search for its digits. */
struct precision {
    int significand_bits, least_digits, most_digits;
    uint64_t limit; /* 10^most_digits */
    double least_normal;
};

static const struct precision float64_precision = {DBL_MANT_DIG, DBL_DIG, 17, 100000000000000000, DBL_MIN};
static const struct precision float32_precision = {FLT_MANT_DIG, FLT_DIG, 9, 1000000000, (double)FLT_MIN};

/* A number with most_digits digits before its point; distances are in 2^-FRACTION_BITS. */
struct scaled {
    uint64_t whole, fraction;
    uint64_t half_spacing; /* the numbers that read back to it are nearer than this */
};

enum {
    FRACTION_BITS = 16,
    SCALING_ERROR = 512 /* of a power rounded to 64 bits: 10^17 / 2^64 * 2^FRACTION_BITS is 355; and bits that are cut off */
};

/* significand * 2^binary * 10^k; the significand has its upper bit set. */
static struct scaled scale_by_power(uint64_t significand, int binary, int k, int significand_bits)
{
    uint64_t word = power_words[k - LEAST_POWER], low, high = high_product(word, significand, &low);
    int shift = -1 - power_exponent(k) - binary; /* of the upper half of the product */
    struct scaled scaled;

    scaled.whole = high >> shift;
    scaled.fraction = (high << (64 - shift) | low >> shift) >> (64 - FRACTION_BITS);
    scaled.half_spacing = word >> (shift + significand_bits + 1 - FRACTION_BITS);
    return scaled;
}

/* The fewest digits of a positive number of usual size that read back to it, the nearest ones of these. False: what the rounded
 * power of ten leaves open would decide whether they do, or between two candidates. */
static bool find_shortest(double value, const struct precision *precision, struct shortest *found)
{
    uint64_t bits, significand, unit = 1, past, rest, distance, reach;
    int binary, exponent, n;
    struct scaled scaled;

    if (!(value > 1e-29 && value < 1e29)) {
        return false;
    }
    memcpy(&bits, &value, sizeof bits);
    significand = bits << (64 - DBL_MANT_DIG) | UINT64_C(1) << 63;
    binary = (int)(bits >> (DBL_MANT_DIG - 1)) + DBL_MIN_EXP - 1;
    exponent = (binary - 1) * 78913 >> 18; /* log10(2) * 2^18; of the power of two: it may be one less than the number's */
    scaled = scale_by_power(significand, binary - 64, precision->most_digits - 1 - exponent, precision->significand_bits);
    if (scaled.whole >= precision->limit) {
        exponent++;
        scaled = scale_by_power(significand, binary - 64, precision->most_digits - 1 - exponent, precision->significand_bits);
    }
    for (n = precision->most_digits; n > precision->least_digits; n--) {
        unit *= 10;
    }
    for (; n <= precision->most_digits; n++, unit /= 10) {
        past = (scaled.whole % unit << FRACTION_BITS) + scaled.fraction;
        rest = (unit << FRACTION_BITS) - past;
        distance = past < rest ? past : rest;
        /* below a power of two, numbers are twice as close */
        reach = past < rest && significand == UINT64_C(1) << 63 ? scaled.half_spacing / 2 : scaled.half_spacing;
        if (distance > reach + SCALING_ERROR) {
            continue;
        }
        if (distance + SCALING_ERROR > reach || rest - distance + past - distance <= 2 * SCALING_ERROR) {
            return false;
        }
        found->n_digits = n;
        found->exponent = exponent;
        found->digits = scaled.whole / unit + (rest < past);
        if (found->digits >= precision->limit / unit) { /* 9.99 rounded up to 10.0 */
            found->digits /= 10;
            found->exponent++;
        }
        return true;
    }
    return false;
}

/* As "%.{n_digits}g" writes it, with ".0" where nothing else shows that it is a real number. */
static size_t write_shortest(const struct shortest *number, bool negative, char *text)
{
    char digits[24], *out = text;
    int n = number->n_digits, exponent = number->exponent;
    uint64_t rest = number->digits;

    for (int i = n; i-- > 0; rest /= 10) {
        digits[i] = (char)('0' + rest % 10);
    }
    while (n > 1 && digits[n - 1] == '0') {
        n--;
    }
    if (negative) {
        *out++ = '-';
    }
    if (exponent < -4 || exponent >= number->n_digits) {
        *out++ = digits[0];
        if (n > 1) {
            *out++ = '.';
            memcpy(out, digits + 1, (size_t)n - 1);
            out += n - 1;
        }
        *out++ = 'e';
        *out++ = exponent < 0 ? '-' : '+';
        *out++ = (char)('0' + abs(exponent) / 10);
        *out++ = (char)('0' + abs(exponent) % 10);
        *out = '\0';
        return (size_t)(out - text);
    }
    for (int i = exponent < 0 ? exponent : 0; i < n || i <= exponent + 1; i++) {
        if (i == exponent + 1) {
            *out++ = '.';
        }
        if (i < n || i <= exponent || i == exponent + 1) {
            *out++ = i >= 0 && i < n ? digits[i] : '0';
        }
    }
    *out = '\0';
    return (size_t)(out - text);
}

/* The text of the fewest digits that read back. */
static size_t format_real(double value, const struct precision *precision, char *text)
{
    int digits = fabs(value) < precision->least_normal ? 1 : precision->least_digits;
    struct shortest shortest;

    if (value == 0 || !isfinite(value)) {
        return format_special(value, text);
    }
    if (find_shortest(fabs(value), precision, &shortest)) {
        return write_shortest(&shortest, value < 0, text);
    }
    for (; digits <= precision->most_digits; digits++) {
        snprintf(text, MDF_NUMBER_TEXT_SIZE, "%.*g", digits, value);
        if (value == (precision == &float32_precision ? (double)strtof(text, NULL) : strtod(text, NULL))) {
            break;
        }
    }
    return mark_as_real(text);
}

size_t mdf_format_float64(double value, char text[MDF_NUMBER_TEXT_SIZE])
{
    return format_real(value, &float64_precision, text);
}

size_t mdf_format_float32(float value, char text[MDF_NUMBER_TEXT_SIZE])
{
    return format_real((double)value, &float32_precision, text);
}

/* ------------------------------------------------------------------ reading */

static double parse_with_library(const char *text, size_t length)
{
    char small[64], *copy = length < sizeof small ? small : malloc(length + 1), *end;
    double value;

    if (copy == NULL) {
        return NAN;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    value = strtod(copy, &end);
    if (*end == '.') { /* a locale whose decimal point is a comma */
        *end = ',';
        value = strtod(copy, NULL);
    }
    if (copy != small) {
        free(copy);
    }
    return value;
}

/* A decimal number: digits * 10^exponent. */
struct decimal {
    uint64_t digits;
    int exponent;
    bool negative;
    bool is_exact; /* all digits fitted, and the exponent is of a usual size */
};

/* Takes digits from place i on; returns the place behind them. n_digits counts them without zeros in front. */
static size_t scan_digits(struct decimal *number, const char *text, size_t length, size_t i, size_t *n_digits)
{
    unsigned digit;

    for (; i < length && (digit = (unsigned char)text[i] - '0') <= 9; i++) {
        number->digits = number->digits * 10 + digit;
        *n_digits += *n_digits > 0 || digit != 0;
    }
    return i;
}

static struct decimal scan_decimal(const char *text, size_t length)
{
    struct decimal number = {0};
    size_t i = length > 0 && (text[0] == '-' || text[0] == '+'), n_digits = 0, n_behind = 0;
    int written = 0, sign = 1;

    number.negative = i > 0 && text[0] == '-';
    i = scan_digits(&number, text, length, i, &n_digits);
    if (i < length && text[i] == '.') {
        n_behind = i + 1;
        i = scan_digits(&number, text, length, i + 1, &n_digits);
        n_behind = i - n_behind;
    }
    if (i < length && (text[i] == 'e' || text[i] == 'E')) {
        i++;
        if (i < length && (text[i] == '-' || text[i] == '+')) {
            sign = text[i++] == '-' ? -1 : 1;
        }
        for (; i < length && written < 10000; i++) {
            written = written * 10 + (text[i] - '0');
        }
    }
    number.is_exact = n_digits <= 19 && n_behind < 10000;
    number.exponent = sign * written - (number.is_exact ? (int)n_behind : 0);
    return number;
}

/* Up to 19 digits fit into 64 bits, and the power of ten is rounded to as many, so that their product is off by less than three
 * units in the last of its upper 64 bits. Rounding it to float64 is then right unless the 11 bits that go away are as near to a
 * half; those rare numbers, and all of other sizes, go to strtod. */
double mdf_parse_real(const char *text, size_t length)
{
    struct decimal number = scan_decimal(text, length);
    uint64_t high, low, past, bits;
    int shift;
    double power;

    if (number.is_exact && number.digits == 0) {
        return number.negative ? -0.0 : 0.0;
    }
    if (!number.is_exact || number.exponent < LEAST_POWER || number.exponent > LARGEST_POWER) {
        return parse_with_library(text, length);
    }
    shift = __builtin_clzll(number.digits);
    high = high_product(power_words[number.exponent - LEAST_POWER], number.digits << shift, &low);
    if (high >> 63 == 0) {
        high = high << 1 | low >> 63;
        shift++;
    }
    past = high & 0x7ff;
    if (past > 0x400 - 4 && past < 0x400 + 4) {
        return parse_with_library(text, length);
    }
    bits = (uint64_t)(power_exponent(number.exponent) + 12 - shift + DBL_MAX_EXP - 1) << (DBL_MANT_DIG - 1);
    memcpy(&power, &bits, sizeof power);
    power = (double)((high >> 11) + (past > 0x400)) * power;
    return number.negative ? -power : power;
}

/* Copies a number's text without white space around it and single underscores between digits; false where it can
 * not be a number. */
static bool strip(const char *text, char *out, size_t size)
{
    size_t length = 0;
    const char *c = text;

    while (*c == ' ' || (*c >= '\t' && *c <= '\r')) {
        c++;
    }
    for (; *c != '\0' && *c != ' ' && !(*c >= '\t' && *c <= '\r'); c++) {
        if (*c == '_') {
            if (length == 0 || !mdf_is_digit(c[1]) || !mdf_is_digit(out[length - 1])) {
                return false;
            }
            continue;
        }
        if (length + 1 >= size) {
            return false;
        }
        out[length++] = *c;
    }
    while (*c == ' ' || (*c >= '\t' && *c <= '\r')) {
        c++;
    }
    out[length] = '\0';
    return *c == '\0' && length > 0;
}

static bool parse_named(const char *word, double *real)
{
    static const struct {
        const char *name;
        double value;
    } names[] = {{"inf", INFINITY}, {"infinity", INFINITY}, {"nan", NAN}};
    bool negative = *word == '-';
    size_t j;

    word += *word == '-' || *word == '+';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (j = 0; names[i].name[j] != '\0' && (word[j] | 0x20) == names[i].name[j]; j++) {
        }
        if (names[i].name[j] == '\0' && word[j] == '\0') {
            *real = negative ? -names[i].value : names[i].value;
            return true;
        }
    }
    return false;
}

bool mdf_parse_python_number(const char *text, double *real, int64_t *integer, bool *is_integer)
{
    char word[512];
    const char *c = word;
    int n_digits = 0;

    *is_integer = false;
    if (!strip(text, word, sizeof word)) {
        return false;
    }
    if (parse_named(word, real)) {
        return true;
    }
    c += *c == '-' || *c == '+';
    for (; mdf_is_digit(*c); c++) {
        n_digits++;
    }
    if (*c == '\0' && n_digits > 0) {
        char *end;

        *real = mdf_parse_real(word, strlen(word));
        errno = 0;
        *integer = strtoll(word, &end, 10);
        *is_integer = errno == 0;
        return true;
    }
    if (*c == '.') {
        for (c++; mdf_is_digit(*c); c++) {
            n_digits++;
        }
    }
    if (n_digits > 0 && (*c == 'e' || *c == 'E')) {
        c++;
        c += *c == '-' || *c == '+';
        if (!mdf_is_digit(*c)) {
            return false;
        }
        while (mdf_is_digit(*c)) {
            c++;
        }
    }
    if (n_digits == 0 || *c != '\0') {
        return false;
    }
    *real = mdf_parse_real(word, strlen(word));
    return true;
}
