/* yaml_scalar.c - see yaml_scalar.h. The patterns are those of PyYAML 6.0's resolver.py, the values those of its
 * constructor.py: "1e-3" is a string (an exponent needs a point before it and a sign), "012" is octal, "1:30" is 90. */
#include "mdf_c/document/yaml_scalar.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ patterns */

struct scanner {
    const char *at, *end;
};

static bool accept(struct scanner *scanner, const char *set)
{
    if (scanner->at < scanner->end && *scanner->at != '\0' && strchr(set, *scanner->at) != NULL) {
        scanner->at++;
        return true;
    }
    return false;
}

/* Number of characters of a set that are skipped. */
static size_t accept_many(struct scanner *scanner, const char *set)
{
    const char *start = scanner->at;

    while (accept(scanner, set)) {
    }
    return (size_t)(scanner->at - start);
}

static bool accept_word(struct scanner *scanner, const char *word)
{
    size_t length = strlen(word);

    if ((size_t)(scanner->end - scanner->at) >= length && memcmp(scanner->at, word, length) == 0) {
        scanner->at += length;
        return true;
    }
    return false;
}

static bool at_end(const struct scanner *scanner)
{
    return scanner->at == scanner->end;
}

#define DIGITS "0123456789"

static size_t accept_digits(struct scanner *scanner, bool underscores)
{
    const char *start = scanner->at;

    while (!at_end(scanner) && ((unsigned)(*scanner->at - '0') <= 9 || (underscores && *scanner->at == '_'))) {
        scanner->at++;
    }
    return (size_t)(scanner->at - start);
}

/* (?::[0-5]?[0-9])+ : of two digits the first is at most 5. */
static bool accept_sixtieths(struct scanner *scanner)
{
    size_t n = 0;

    while (!at_end(scanner) && *scanner->at == ':') {
        const char *colon = scanner->at++;
        size_t n_digits = accept_digits(scanner, false);

        if (n_digits == 0 || n_digits > 2 || (n_digits == 2 && colon[1] > '5')) {
            return false;
        }
        n++;
    }
    return n > 0;
}

static bool is_int(struct scanner scanner)
{
    struct scanner digits;

    accept(&scanner, "+-");
    digits = scanner;
    if (accept_word(&digits, "0b")) {
        return accept_many(&digits, "01_") > 0 && at_end(&digits);
    }
    if (accept_word(&digits, "0x")) {
        return accept_many(&digits, DIGITS "abcdefABCDEF_") > 0 && at_end(&digits);
    }
    if (accept_word(&digits, "0")) {
        accept_many(&digits, "01234567_");
        return at_end(&digits);
    }
    if (!accept(&scanner, "123456789")) {
        return false;
    }
    accept_digits(&scanner, true);
    return at_end(&scanner) || (accept_sixtieths(&scanner) && at_end(&scanner));
}

/* (?:[eE][-+][0-9]+)? and the end. */
static bool ends_in_exponent(struct scanner *scanner)
{
    if (accept(scanner, "eE")) {
        return accept(scanner, "+-") && accept_digits(scanner, false) > 0 && at_end(scanner);
    }
    return at_end(scanner);
}

static bool is_real(struct scanner scanner)
{
    bool sign;

    if (!at_end(&scanner) && *scanner.at == '.' && scanner.end - scanner.at > 1 && mdf_is_digit(scanner.at[1])) {
        scanner.at++;
        accept_digits(&scanner, true);
        return ends_in_exponent(&scanner);
    }
    sign = accept(&scanner, "+-");
    if (accept(&scanner, ".")) {
        return ((accept_word(&scanner, "inf") || accept_word(&scanner, "Inf") || accept_word(&scanner, "INF")) ||
                (!sign && (accept_word(&scanner, "nan") || accept_word(&scanner, "NaN") || accept_word(&scanner, "NAN")))) &&
               at_end(&scanner);
    }
    if (!accept(&scanner, DIGITS)) {
        return false;
    }
    accept_digits(&scanner, true);
    if (accept(&scanner, ".")) {
        accept_digits(&scanner, true);
        return ends_in_exponent(&scanner);
    }
    return accept_sixtieths(&scanner) && accept(&scanner, ".") && (accept_digits(&scanner, true), at_end(&scanner));
}

static bool accept_n_digits(struct scanner *scanner, size_t least, size_t most)
{
    size_t n = accept_digits(scanner, false);

    return n >= least && n <= most;
}

static bool is_timestamp(struct scanner scanner)
{
    struct scanner date = scanner;

    if (!accept_n_digits(&scanner, 4, 4) || !accept(&scanner, "-") || !accept_n_digits(&scanner, 1, 2) ||
        !accept(&scanner, "-") || !accept_n_digits(&scanner, 1, 2)) {
        return false;
    }
    if (at_end(&scanner)) {
        return scanner.end - date.at == 10;
    }
    if (!accept(&scanner, "Tt") && accept_many(&scanner, " \t") == 0) {
        return false;
    }
    if (!accept_n_digits(&scanner, 1, 2) || !accept(&scanner, ":") || !accept_n_digits(&scanner, 2, 2) ||
        !accept(&scanner, ":") || !accept_n_digits(&scanner, 2, 2)) {
        return false;
    }
    if (accept(&scanner, ".")) {
        accept_digits(&scanner, false);
    }
    if (at_end(&scanner)) {
        return true;
    }
    accept_many(&scanner, " \t");
    if (accept(&scanner, "Z")) {
        return at_end(&scanner);
    }
    return accept(&scanner, "+-") && accept_n_digits(&scanner, 1, 2) &&
           (!accept(&scanner, ":") || accept_n_digits(&scanner, 2, 2)) && at_end(&scanner);
}

/* A word in one of the three ways in which YAML 1.1 writes it: true, True, TRUE. */
static bool is_word(const char *text, size_t length, const char *word)
{
    bool upper = length > 1 && text[1] >= 'A' && text[1] <= 'Z';

    if (strlen(word) != length) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        char capital = (char)(word[i] - 'a' + 'A');

        if (i == 0 ? text[i] != capital && (upper || text[i] != word[i]) : text[i] != (upper ? capital : word[i])) {
            return false;
        }
    }
    return true;
}

static const struct {
    const char *word;
    bool truth;
} booleans[] = {{"yes", true}, {"no", false}, {"true", true}, {"false", false}, {"on", true}, {"off", false}};

enum { N_BOOLEANS = sizeof booleans / sizeof *booleans };

static bool is_bool(const char *text, size_t length)
{
    for (size_t i = 0; i < N_BOOLEANS; i++) {
        if (is_word(text, length, booleans[i].word)) {
            return true;
        }
    }
    return false;
}

enum mdf_yaml_type mdf_yaml_resolve(const char *text, size_t length)
{
    struct scanner scanner = {text, text + length};
    char first = length > 0 ? *text : '\0';

    if (mdf_is_digit(first) || first == '-' || first == '+' || first == '.') {
        return is_real(scanner)        ? MDF_YAML_REAL
               : is_int(scanner)       ? MDF_YAML_INT
               : is_timestamp(scanner) ? MDF_YAML_TIMESTAMP
                                       : MDF_YAML_STRING;
    }
    if (length == 0 || (length == 1 && first == '~') || is_word(text, length, "null")) {
        return MDF_YAML_NULL;
    }
    if (length == 1 && first == '=') {
        return MDF_YAML_VALUE;
    }
    if (length == 2 && memcmp(text, "<<", 2) == 0) {
        return MDF_YAML_MERGE;
    }
    return is_bool(text, length) ? MDF_YAML_BOOL : MDF_YAML_STRING;
}

/* ------------------------------------------------------------------ values */

/* Copies a text without its underscores, terminated; its length. */
static size_t drop_underscores(const char *text, size_t length, char *copy)
{
    size_t n = 0;

    for (size_t i = 0; i < length; i++) {
        if (text[i] != '_') {
            copy[n++] = text[i];
        }
    }
    copy[n] = '\0';
    return n;
}

static unsigned digit_value(char c)
{
    return mdf_is_digit(c)                          ? (unsigned)(c - '0')
           : (c | 0x20) >= 'a' && (c | 0x20) <= 'z' ? (unsigned)((c | 0x20) - 'a') + 10
                                                    : 99;
}

/* Digits of a base, and with base 60 decimal numbers between colons. */
static enum mdf_yaml_outcome read_magnitude(const char *text, const char *end, unsigned base, uint64_t *magnitude)
{
    enum mdf_yaml_outcome outcome = MDF_YAML_DONE;
    uint64_t part = 0, digit_base = base == 60 ? 10 : base;
    bool any = false;

    *magnitude = 0;
    for (; text <= end; text++) {
        if (text == end || (base == 60 && *text == ':')) {
            if (!any) {
                return MDF_YAML_MALFORMED;
            }
            if (__builtin_mul_overflow(*magnitude, (uint64_t)60, magnitude) ||
                __builtin_add_overflow(*magnitude, part, magnitude)) {
                outcome = MDF_YAML_TOO_LARGE;
            }
            part = 0;
            any = false;
            continue;
        }
        if (digit_value(*text) >= digit_base) {
            return MDF_YAML_MALFORMED;
        }
        if (__builtin_mul_overflow(part, digit_base, &part) || __builtin_add_overflow(part, digit_value(*text), &part)) {
            outcome = MDF_YAML_TOO_LARGE;
        }
        any = true;
    }
    return outcome;
}

/* A decimal whole number past 64 bits, the digits of which are kept. */
static enum mdf_yaml_outcome make_huge(struct mdf_node *node, const char *digits, size_t length, bool negative,
                                       struct mdf_arena *arena)
{
    enum { MOST_DIGITS_OF_DOUBLE = 309 };
    char *kept = mdf_arena_allocate(arena, length + 2);

    if (kept == NULL) {
        return MDF_YAML_OUT_OF_MEMORY;
    }
    kept[0] = '-';
    memcpy(kept + negative, digits, length);
    node->kind = MDF_NODE_REAL;
    node->digits = kept;
    node->as.real = negative ? -INFINITY : INFINITY;
    if (length <= MOST_DIGITS_OF_DOUBLE) {
        node->as.real = mdf_parse_real(kept, length + negative);
    }
    return MDF_YAML_DONE;
}

static enum mdf_yaml_outcome make_int(struct mdf_node *node, const char *text, size_t length, struct mdf_arena *arena)
{
    const char *at = text, *end = text + length;
    bool negative = length > 0 && *text == '-';
    enum mdf_yaml_outcome outcome;
    uint64_t magnitude;
    unsigned base = 10;

    at += length > 0 && (*at == '-' || *at == '+');
    if (end - at >= 2 && at[0] == '0' && (at[1] == 'b' || at[1] == 'x')) {
        base = at[1] == 'b' ? 2 : 16;
        at += 2;
    } else if (end - at >= 2 && at[0] == '0') {
        base = 8;
    } else if (memchr(at, ':', (size_t)(end - at)) != NULL) {
        base = 60;
    }
    outcome = read_magnitude(at, end, base, &magnitude);
    if (outcome == MDF_YAML_DONE && magnitude > (uint64_t)INT64_MAX + negative) {
        outcome = MDF_YAML_TOO_LARGE;
    }
    if (outcome == MDF_YAML_TOO_LARGE && base == 10) {
        return make_huge(node, at, (size_t)(end - at), negative, arena);
    }
    node->kind = MDF_NODE_INT;
    node->as.integer = (int64_t)(negative ? 0 - magnitude : magnitude);
    return outcome;
}

/* "1:30.5" : decimal numbers between colons, each worth sixty of the next. */
static bool read_sixtieths(char *text, char *end, double *value)
{
    double base = 1, part;
    int64_t integer;
    bool is_integer;
    char *start;

    for (*value = 0; end > text; end = start > text ? start - 1 : text) {
        *end = '\0';
        for (start = end; start > text && start[-1] != ':'; start--) {
        }
        if (!mdf_parse_python_number(start, &part, &integer, &is_integer)) {
            return false;
        }
        *value += part * base;
        base *= 60;
    }
    return true;
}

static enum mdf_yaml_outcome make_real(struct mdf_node *node, char *text, size_t length, bool resolved)
{
    char *at = text, *end = text + length;
    bool negative = length > 0 && *text == '-', is_integer;
    int64_t integer;
    double value;

    node->kind = MDF_NODE_REAL;
    at += length > 0 && (*at == '-' || *at == '+');
    if (end - at == 4 && *at == '.' && is_word(at + 1, 3, "inf")) {
        value = INFINITY;
    } else if (end - at == 4 && *at == '.' && (is_word(at + 1, 3, "nan") || memcmp(at + 1, "NaN", 3) == 0)) {
        value = NAN;
    } else if (memchr(at, ':', (size_t)(end - at)) != NULL) {
        if (!read_sixtieths(at, end, &value)) {
            return MDF_YAML_MALFORMED;
        }
    } else if (resolved) {
        value = mdf_parse_real(at, (size_t)(end - at));
        if (isnan(value)) {
            return MDF_YAML_OUT_OF_MEMORY;
        }
    } else if (end == at || *at == '-' || *at == '+' || !mdf_parse_python_number(at, &value, &integer, &is_integer)) {
        return MDF_YAML_MALFORMED;
    }
    node->as.real = negative ? -value : value;
    return MDF_YAML_DONE;
}

static enum mdf_yaml_outcome make_bool(struct mdf_node *node, const char *text, size_t length)
{
    size_t j;

    node->kind = MDF_NODE_BOOL;
    for (size_t i = 0; i < N_BOOLEANS; i++) {
        for (j = 0; j < length && (text[j] | 0x20) == booleans[i].word[j]; j++) {
        }
        if (j == length && booleans[i].word[j] == '\0') {
            node->as.truth = booleans[i].truth;
            return MDF_YAML_DONE;
        }
    }
    return MDF_YAML_MALFORMED;
}

enum mdf_yaml_outcome mdf_yaml_construct(struct mdf_node *node, enum mdf_yaml_type type, const char *text, size_t length,
                                         struct mdf_arena *arena)
{
    char small[64], *copy;
    bool resolved;

    switch (type) {
    case MDF_YAML_NULL:
        node->kind = MDF_NODE_NULL;
        return MDF_YAML_DONE;
    case MDF_YAML_BOOL:
        return make_bool(node, text, length);
    case MDF_YAML_INT:
    case MDF_YAML_REAL:
        break;
    default:
        node->kind = MDF_NODE_STRING;
        node->as.string.length = length;
        node->as.string.bytes = mdf_arena_text(arena, text, length);
        return node->as.string.bytes != NULL ? MDF_YAML_DONE : MDF_YAML_OUT_OF_MEMORY;
    }
    copy = length < sizeof small ? small : mdf_arena_allocate(arena, length + 1);
    if (copy == NULL) {
        return MDF_YAML_OUT_OF_MEMORY;
    }
    length = drop_underscores(text, length, copy);
    if (type == MDF_YAML_INT) {
        return make_int(node, copy, length, arena);
    }
    resolved = mdf_yaml_resolve(copy, length) == MDF_YAML_REAL;
    return make_real(node, copy, length, resolved);
}
