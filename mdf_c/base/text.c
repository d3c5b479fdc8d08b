/* text.c - see text.h. */
#include "mdf_c/base/text.h"

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
        memcpy(text->bytes + text->length, bytes, length);
        text->length += length;
        text->bytes[text->length] = '\0';
    }
}

void mdf_text_append_string(struct mdf_text *text, const char *string)
{
    mdf_text_append(text, string, strlen(string));
}

void mdf_text_printf(struct mdf_text *text, const char *format, ...)
{
    va_list arguments, again;
    int length;

    va_start(arguments, format);
    va_copy(again, arguments);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length >= 0 && reserve(text, (size_t)length)) {
        vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
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

size_t mdf_format_float64(double value, char text[MDF_NUMBER_TEXT_SIZE])
{
    int digits = fabs(value) < DBL_MIN ? 1 : DBL_DIG;

    if (!isfinite(value)) {
        return format_special(value, text);
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

    if (!isfinite(value)) {
        return format_special(value, text);
    }
    for (; digits <= 9; digits++) {
        snprintf(text, MDF_NUMBER_TEXT_SIZE, "%.*g", digits, (double)value);
        if (digits == 9 || strtof(text, NULL) == value) {
            break;
        }
    }
    return mark_as_real(text);
}

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
