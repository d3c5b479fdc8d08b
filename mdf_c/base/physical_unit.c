/* physical_unit.c - see physical_unit.h. The table has the units of the SI (BIPM, The International System of Units, 9th edition)
 * that models use, and those that are accepted with it. A symbol that means several things ("C", coulombs or degrees) is not in
 * it. */
#include "mdf_c/base/physical_unit.h"

#include "mdf_c/base/text.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* ------------------------------------------------------------------ the table */

struct symbol {
    const char *text;
    bool takes_prefix;
    double factor;
    signed char powers[MDF_BASE_UNITS]; /* kg m s A K mol cd rad */
    double offset;
};

static const struct symbol symbols[] = {
    {"g", true, 1e-3, {1}},
    {"m", true, 1, {0, 1}},
    {"s", true, 1, {0, 0, 1}},
    {"sec", false, 1, {0, 0, 1}},
    {"second", false, 1, {0, 0, 1}},
    {"seconds", false, 1, {0, 0, 1}},
    {"min", false, 60, {0, 0, 1}},
    {"h", false, 3600, {0, 0, 1}},
    {"hour", false, 3600, {0, 0, 1}},
    {"A", true, 1, {0, 0, 0, 1}},
    {"K", true, 1, {0, 0, 0, 0, 1}},
    {"degC", false, 1, {0, 0, 0, 0, 1}, 273.15},
    {"\302\260C", false, 1, {0, 0, 0, 0, 1}, 273.15},
    {"celsius", false, 1, {0, 0, 0, 0, 1}, 273.15},
    {"mol", true, 1, {0, 0, 0, 0, 0, 1}},
    {"M", true, 1e3, {0, -3, 0, 0, 0, 1}}, /* mol/L */
    {"cd", true, 1, {0, 0, 0, 0, 0, 0, 1}},
    {"rad", true, 1, {0, 0, 0, 0, 0, 0, 0, 1}},
    {"deg", false, 0.017453292519943295, {0, 0, 0, 0, 0, 0, 0, 1}},
    {"\302\260", false, 0.017453292519943295, {0, 0, 0, 0, 0, 0, 0, 1}},
    {"Hz", true, 1, {0, 0, -1}},
    {"N", true, 1, {1, 1, -2}},
    {"Pa", true, 1, {1, -1, -2}},
    {"bar", true, 1e5, {1, -1, -2}},
    {"J", true, 1, {1, 2, -2}},
    {"eV", true, 1.602176634e-19, {1, 2, -2}},
    {"W", true, 1, {1, 2, -3}},
    {"V", true, 1, {1, 2, -3, -1}},
    {"volt", false, 1, {1, 2, -3, -1}},
    {"F", true, 1, {-1, -2, 4, 2}},
    {"Ohm", true, 1, {1, 2, -3, -2}},
    {"ohm", true, 1, {1, 2, -3, -2}},
    {"\316\251", true, 1, {1, 2, -3, -2}},
    {"S", true, 1, {-1, -2, 3, 2}},
    {"Wb", true, 1, {1, 2, -2, -1}},
    {"T", true, 1, {1, 0, -2, -1}},
    {"H", true, 1, {1, 2, -2, -2}},
    {"L", true, 1e-3, {0, 3}},
    {"l", true, 1e-3, {0, 3}},
    {"%", false, 1e-2, {0}},
    {"dimensionless", false, 1, {0}},
    {"1", false, 1, {0}},
};

static const struct {
    const char *text;
    double factor;
} prefixes[] = {{"T", 1e12}, {"G", 1e9},         {"M", 1e6},         {"k", 1e3},  {"d", 1e-1},  {"c", 1e-2}, {"m", 1e-3},
                {"u", 1e-6}, {"\302\265", 1e-6}, {"\316\274", 1e-6}, {"n", 1e-9}, {"p", 1e-12}, {"f", 1e-15}};

static const struct symbol *find_symbol(const char *text, size_t length, bool after_prefix)
{
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        if ((symbols[i].takes_prefix || !after_prefix) && mdf_bytes_are(text, length, symbols[i].text)) {
            return &symbols[i];
        }
    }
    return NULL;
}

/* A symbol with or without a prefix. */
static bool read_symbol(const char *text, size_t length, struct mdf_physical_unit *unit)
{
    const struct symbol *found = find_symbol(text, length, false);
    double factor = 1;

    for (size_t i = 0; found == NULL && i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t n = strlen(prefixes[i].text);

        if (n < length && memcmp(text, prefixes[i].text, n) == 0) {
            found = find_symbol(text + n, length - n, true);
            factor = prefixes[i].factor;
        }
    }
    if (found == NULL) {
        return false;
    }
    unit->factor = factor * found->factor;
    unit->offset = found->offset;
    for (size_t i = 0; i < MDF_BASE_UNITS; i++) {
        unit->powers[i] = found->powers[i];
    }
    return true;
}

/* ------------------------------------------------------------------ reading */

void mdf_multiply_physical_unit(struct mdf_physical_unit *unit, const struct mdf_physical_unit *other, int power)
{
    unit->factor *= pow(other->factor, power);
    for (size_t i = 0; i < MDF_BASE_UNITS; i++) {
        unit->powers[i] += power * other->powers[i];
    }
}

/* "2", "-1", "^2", "**-1" behind a symbol: 1 where nothing stands there. False: it is no small whole number. */
static bool read_power(const char **text, int *power)
{
    const char *at = *text;
    bool is_negative, has_sign, is_told;

    at += strncmp(at, "**", 2) == 0 ? 2 : *at == '^';
    is_told = at != *text;
    has_sign = *at == '-' || *at == '+';
    is_negative = *at == '-';
    at += has_sign;
    *power = 1;
    if (!mdf_is_digit(*at)) {
        return !is_told && !has_sign;
    }
    *power = *at - '0';
    at++;
    if (mdf_is_digit(*at)) {
        return false;
    }
    *power = is_negative ? -*power : *power;
    *text = at;
    return true;
}

static bool ends_symbol(char c)
{
    return c == '\0' || strchr(" .*/^()-+0123456789", c) != NULL;
}

/* "1/s", not "10 s" or "1.5 s". */
static bool ends_number(char c)
{
    return c == '\0' || c == '/' || c == '*' || c == ')' || c == ' ';
}

static bool read_product(const char **text, struct mdf_physical_unit *unit, int depth);

/* A symbol or a product in parentheses, to a power. */
static bool read_factor(const char **text, struct mdf_physical_unit *unit, int depth)
{
    size_t length = 0;

    *unit = (struct mdf_physical_unit){.factor = 1};
    if (**text == '(') {
        ++*text;
        if (depth > 4 || !read_product(text, unit, depth + 1) || **text != ')') {
            return false;
        }
        ++*text;
        return true;
    }
    if (**text == '1') {
        ++*text;
        return ends_number(**text);
    }
    while (!ends_symbol((*text)[length])) {
        length++;
    }
    if (!read_symbol(*text, length, unit)) {
        return false;
    }
    *text += length;
    return true;
}

static bool read_product(const char **text, struct mdf_physical_unit *unit, int depth)
{
    struct mdf_physical_unit factor;
    int sign = 1, power;

    *unit = (struct mdf_physical_unit){.factor = 1};
    for (;;) {
        if (!read_factor(text, &factor, depth) || !read_power(text, &power)) {
            return false;
        }
        mdf_multiply_physical_unit(unit, &factor, sign * power);
        while (**text == ' ') {
            ++*text;
        }
        if (**text == '\0' || **text == ')') {
            return true;
        }
        sign = **text == '/' ? -1 : 1;
        *text += strchr("/*.", **text) != NULL;
        while (**text == ' ') {
            ++*text;
        }
    }
}

bool mdf_read_physical_unit(const char *text, struct mdf_physical_unit *unit)
{
    while (*text == ' ') {
        text++;
    }
    if (*text == '\0') {
        *unit = (struct mdf_physical_unit){.factor = 1};
        return true;
    }
    return read_symbol(text, strlen(text), unit) || (read_product(&text, unit, 0) && *text == '\0');
}

bool mdf_same_physical_unit(const struct mdf_physical_unit *a, const struct mdf_physical_unit *b, bool with_factor)
{
    for (size_t i = 0; i < MDF_UNIT_RAD; i++) {
        if (a->powers[i] != b->powers[i]) {
            return false;
        }
    }
    return !with_factor || fabs(a->factor - b->factor) <= 1e-9 * fabs(a->factor);
}
