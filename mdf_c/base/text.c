/* text.c - see text.h. */
#include "mdf_c/base/text.h"

#include "mdf_c/base/utf8.h"

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

static size_t format_special(double value, char *text)
{
    strcpy(text, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
    return strlen(text);
}

static size_t mark_as_real(char *text)
{
    use_point(text);
    if (strpbrk(text, ".e") == NULL) {
        strcat(text, ".0");
    }
    return strlen(text);
}

/* ------------------------------------------------------------------ shortest digits */

#if LDBL_MANT_DIG >= 64
#define HAS_WIDE_REALS 1
#else
#define HAS_WIDE_REALS 0
#endif

#define SCALING_ERROR 0x1p-62L /* more than that of a product by a power of ten */

enum { LEAST_POWER = -46, LARGEST_POWER = 46 };

static long double power_of_ten(int exponent)
{
    static const long double powers[] = {
        1e-46L, 1e-45L, 1e-44L, 1e-43L, 1e-42L, 1e-41L, 1e-40L, 1e-39L, 1e-38L, 1e-37L, 1e-36L, 1e-35L, 1e-34L, 1e-33L,
        1e-32L, 1e-31L, 1e-30L, 1e-29L, 1e-28L, 1e-27L, 1e-26L, 1e-25L, 1e-24L, 1e-23L, 1e-22L, 1e-21L, 1e-20L, 1e-19L,
        1e-18L, 1e-17L, 1e-16L, 1e-15L, 1e-14L, 1e-13L, 1e-12L, 1e-11L, 1e-10L, 1e-9L,  1e-8L,  1e-7L,  1e-6L,  1e-5L,
        1e-4L,  1e-3L,  1e-2L,  1e-1L,  1e0L,   1e1L,   1e2L,   1e3L,   1e4L,   1e5L,   1e6L,   1e7L,   1e8L,   1e9L,
        1e10L,  1e11L,  1e12L,  1e13L,  1e14L,  1e15L,  1e16L,  1e17L,  1e18L,  1e19L,  1e20L,  1e21L,  1e22L,  1e23L,
        1e24L,  1e25L,  1e26L,  1e27L,  1e28L,  1e29L,  1e30L,  1e31L,  1e32L,  1e33L,  1e34L,  1e35L,  1e36L,  1e37L,
        1e38L,  1e39L,  1e40L,  1e41L,  1e42L,  1e43L,  1e44L,  1e45L,  1e46L};

    return powers[exponent - LEAST_POWER];
}

/* digits * 10^(exponent - n_digits + 1) */
struct shortest {
    uint64_t digits;
    int n_digits, exponent;
};

/* What a number type is to the search for its digits. */
struct precision {
    int least_digits, most_digits;
    long double slack; /* relative error that the search may have made, with room to spare */
    bool (*reads_back)(long double candidate, long double value);
};

static bool reads_back_float64(long double candidate, long double value)
{
    return (double)candidate == (double)value;
}

static bool reads_back_float32(long double candidate, long double value)
{
    return (float)candidate == (float)value;
}

static const struct precision float64_precision = {DBL_DIG, 17, 0x1p-61L, reads_back_float64};
static const struct precision float32_precision = {FLT_DIG, 9, 0x1p-55L, reads_back_float32};

static int decimal_exponent(long double value)
{
    int binary, exponent;

    frexpl(value, &binary);
    exponent = (int)floor((binary - 1) * 0.30102999566398120);
    exponent += value >= power_of_ten(exponent + 1);
    return exponent - (value < power_of_ten(exponent));
}

/* The fewest digits of a positive number of usual size that read back to it, the nearest ones of these. All is computed in long
 * double, whose error is a small part of the number's own spacing: a candidate counts only where the whole range of that error
 * reads back, and where the number lies in the middle between two within that range, neither does. False: not decided. */
static bool find_shortest(long double value, const struct precision *precision, struct shortest *found)
{
    const long double unit = 1 / LDBL_EPSILON; /* no fractions beside it */
    int exponent, n;
    long double scaled, whole, candidate;
    bool low, high;

    if (!HAS_WIDE_REALS || value < 1e-20L || value > 1e20L) {
        return false;
    }
    exponent = decimal_exponent(value);
    for (n = precision->least_digits; n <= precision->most_digits; n++) {
        scaled = value * power_of_ten(n - 1 - exponent);
        whole = scaled + unit - unit;
        candidate = whole * power_of_ten(exponent - n + 1);
        low = precision->reads_back(candidate * (1 - precision->slack), value);
        high = precision->reads_back(candidate * (1 + precision->slack), value);
        if (low != high || (low && fabsl(fabsl(scaled - whole) - 0.5L) <= scaled * SCALING_ERROR)) {
            return false;
        }
        if (low) {
            found->n_digits = n;
            found->exponent = exponent;
            found->digits = (uint64_t)whole;
            if (found->digits >= (uint64_t)power_of_ten(n)) { /* 9.99 rounded up to 10.0 */
                found->digits /= 10;
                found->exponent++;
            }
            return true;
        }
    }
    return false;
}

/* As "%.{n_digits}g" writes it, with ".0" where nothing else shows that it is a real number. */
static size_t write_shortest(const struct shortest *number, bool negative, char *text)
{
    char digits[24], *out = text;
    int n = number->n_digits, exponent = number->exponent, i;
    uint64_t rest = number->digits;

    for (i = n; i-- > 0; rest /= 10) {
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
        return (size_t)(out - text) + (size_t)snprintf(out, 8, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
    }
    for (i = exponent < 0 ? exponent : 0; i < n || i <= exponent + 1; i++) {
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

size_t mdf_format_float64(double value, char text[MDF_NUMBER_TEXT_SIZE])
{
    int digits = fabs(value) < DBL_MIN ? 1 : DBL_DIG;
    struct shortest shortest;

    if (!isfinite(value)) {
        return format_special(value, text);
    }
    if (find_shortest(fabsl((long double)value), &float64_precision, &shortest)) {
        return write_shortest(&shortest, value < 0, text);
    }
    for (; digits <= 17; digits++) {
        snprintf(text, MDF_NUMBER_TEXT_SIZE, "%.*g", digits, value);
        if (digits == 17 || strtod(text, NULL) == value) {
            break;
        }
    }
    return mark_as_real(text);
}

size_t mdf_format_float32(float value, char text[MDF_NUMBER_TEXT_SIZE])
{
    int digits = fabsf(value) < FLT_MIN ? 1 : FLT_DIG;
    struct shortest shortest;

    if (!isfinite(value)) {
        return format_special(value, text);
    }
    if (find_shortest(fabsl((long double)value), &float32_precision, &shortest)) {
        return write_shortest(&shortest, value < 0, text);
    }
    for (; digits <= 9; digits++) {
        snprintf(text, MDF_NUMBER_TEXT_SIZE, "%.*g", digits, (double)value);
        if (digits == 9 || strtof(text, NULL) == value) {
            break;
        }
    }
    return mark_as_real(text);
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

#if LDBL_MANT_DIG == 64
/* A decimal number: digits * 10^exponent. */
struct decimal {
    uint64_t digits;
    int exponent;
    bool negative;
    bool exact; /* all digits fitted, and the exponent is of a usual size */
};

static struct decimal scan_decimal(const char *text, size_t length)
{
    struct decimal number = {0, 0, false, true};
    size_t i = 0;
    int n_digits = 0, written = 0, sign = 1;
    bool fraction = false;

    if (i < length && (text[i] == '-' || text[i] == '+')) {
        number.negative = text[i++] == '-';
    }
    for (; i < length; i++) {
        unsigned digit = (unsigned char)text[i] - '0';

        if (text[i] == '.') {
            fraction = true;
            continue;
        }
        if (digit > 9) {
            break;
        }
        n_digits += n_digits > 0 || digit != 0;
        if (n_digits > 19) {
            number.exact = false;
            return number;
        }
        number.digits = number.digits * 10 + digit;
        number.exponent -= fraction;
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
    number.exponent += sign * written;
    return number;
}
#endif

/* Where long double has 64 bits of digits, up to 19 decimal digits and powers up to 10^27 are exact in it, so their
 * product or quotient is off by half a unit in its last place at most. Rounding it to float64 is then right unless
 * the 11 bits that go away are within one unit of a half; those rare numbers, and all others, go to strtod. */
double mdf_parse_real(const char *text, size_t length)
{
#if LDBL_MANT_DIG == 64
    static const long double powers[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
                                         1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
                                         1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
    struct decimal number = scan_decimal(text, length);
    long double wide;
    uint64_t bits;

    if (number.exact && number.digits == 0) {
        return number.negative ? -0.0 : 0.0;
    }
    if (number.exact && number.exponent >= -27 && number.exponent <= 27) {
        wide = number.exponent < 0 ? (long double)number.digits / powers[-number.exponent]
                                   : (long double)number.digits * powers[number.exponent];
        memcpy(&bits, &wide, sizeof bits); /* the explicit 64-bit significand */
        bits &= 0x7ff;
        if (bits < 0x3fe || bits > 0x402) {
            return number.negative ? -(double)wide : (double)wide;
        }
    }
#endif
    return parse_with_library(text, length);
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
            if (length == 0 || c[1] < '0' || c[1] > '9' || out[length - 1] < '0' || out[length - 1] > '9') {
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
    size_t i, j;

    word += *word == '-' || *word == '+';
    for (i = 0; i < sizeof names / sizeof *names; i++) {
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
    for (; *c >= '0' && *c <= '9'; c++) {
        n_digits++;
    }
    if (*c == '\0' && n_digits > 0) {
        char *end;

        *real = mdf_parse_real(word, strlen(word));
        *integer = strtoll(word, &end, 10);
        *is_integer = n_digits < 19 || (*integer != INT64_MAX && *integer != INT64_MIN);
        return true;
    }
    if (*c == '.') {
        for (c++; *c >= '0' && *c <= '9'; c++) {
            n_digits++;
        }
    }
    if (n_digits > 0 && (*c == 'e' || *c == 'E')) {
        c++;
        c += *c == '-' || *c == '+';
        if (*c < '0' || *c > '9') {
            return false;
        }
        while (*c >= '0' && *c <= '9') {
            c++;
        }
    }
    if (n_digits == 0 || *c != '\0') {
        return false;
    }
    *real = mdf_parse_real(word, strlen(word));
    return true;
}
