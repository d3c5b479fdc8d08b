/* scanner.c - see scanner.h. Source: the Python language reference, "Lexical analysis". */
#include "mdf_c/expression/scanner.h"
#include "mdf_c/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { EXCERPT_BYTES = 60, WORD_BYTES = 24, MESSAGE_BYTES = 256 };

/* ------------------------------------------------------------------ errors */

static bool continues_character(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Copies bytes of the text so that no character is cut and no control character gets into a message. */
static void copy_excerpt(char *out, size_t size, const char *text, size_t length)
{
    size_t n = length < size - 1 ? length : size - 1;

    while (n > 0 && n < length && continues_character(text[n])) {
        n--;
    }
    for (size_t i = 0; i < n; i++) {
        out[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? ' ' : text[i];
    }
    out[n] = '\0';
}

static size_t column_of(const char *text, size_t offset)
{
    size_t column = 1;

    for (size_t i = 0; i < offset; i++) {
        column += !continues_character(text[i]);
    }
    return column;
}

/* How an expression says what other languages, or a word processor, write so; "": nothing is known to help. */
static const char *cure_of(const struct mdf_scanner *scanner, size_t offset)
{
    static const char *const cures[][2] = {
        {"!", "; write 'not'"},
        {"?", "; write 'A if CONDITION else B'"},
        {"if", "; write 'A if CONDITION else B'"},
        {"|", "; an absolute value is 'abs(x)'"},
        {"$", "; a name stands without it"},
        {";", "; an expression is one value"},
        {"=", "; '==' compares"},
        {"\u2212", "; the minus sign is '-'"},
        {"\u2013", "; the minus sign is '-'"},
        {"\u00d7", "; the sign of a product is '*'"},
        {"\u00b7", "; the sign of a product is '*'"},
        {"\u00f7", "; the sign of a quotient is '/'"},
        {"\u2264", "; write '<='"},
        {"\u2265", "; write '>='"},
        {"\u00b2", "; a square is written '**2'"},
        {"\u201c", "; quotes are ' or \""},
        {"\u2019", "; quotes are ' or \""},
    };
    const char *text = scanner->text + offset;

    if (offset > 0 && text[-1] == text[0] && (*text == '&' || *text == '|')) {
        return *text == '&' ? "; write 'and'" : "; write 'or'";
    }
    for (size_t i = 0; i < sizeof cures / sizeof *cures; i++) {
        if (strncmp(text, cures[i][0], strlen(cures[i][0])) == 0) {
            return cures[i][1];
        }
    }
    return "";
}

void mdf_scanner_fail(struct mdf_scanner *scanner, size_t offset, const char *format, ...)
{
    char message[MESSAGE_BYTES], excerpt[EXCERPT_BYTES + 1];
    size_t length, start = 0;
    va_list arguments;
    bool is_plain; /* what was expected is not said */

    if (scanner->failed) {
        return;
    }
    scanner->failed = true;
    scanner->token.kind = MDF_TOKEN_END;
    scanner->error_offset = offset;
    if (scanner->error == NULL) {
        return;
    }
    length = strlen(scanner->text);
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    is_plain = strstr(message, ", expected ") == NULL;
    if (length > EXCERPT_BYTES && offset > EXCERPT_BYTES / 2) {
        start = offset - EXCERPT_BYTES / 2;
        start = start > length - EXCERPT_BYTES ? length - EXCERPT_BYTES : start;
        while (start < offset && continues_character(scanner->text[start])) {
            start++;
        }
    }
    copy_excerpt(excerpt, sizeof excerpt, scanner->text + start, length - start);
    mdf_error_set(scanner->error, MDF_EXPRESSION, "expression '%s%s%s': %s at column %zu%s", start > 0 ? "..." : "", excerpt,
                  length - start > EXCERPT_BYTES ? "..." : "", message, column_of(scanner->text, offset),
                  is_plain ? cure_of(scanner, offset) : "");
}

void mdf_scanner_out_of_memory(struct mdf_scanner *scanner)
{
    if (!scanner->failed) {
        scanner->failed = true;
        scanner->token.kind = MDF_TOKEN_END;
        scanner->error_offset = scanner->position;
        mdf_memory_error(scanner->arena->memory, scanner->error);
    }
}

/* What Python has and this language has not, without what needs words of its own. */
static bool is_unsupported(const struct mdf_scanner *scanner)
{
    static const char *const words[] = {"lambda",   "await",    "async", "yield", "as",     "assert",  "break", "class",
                                        "continue", "def",      "del",   "elif",  "except", "finally", "from",  "global",
                                        "import",   "nonlocal", "pass",  "raise", "return", "try",     "while", "with",
                                        ":=",       "->",       "+=",    "-=",    "*=",     "/=",      "//=",   "%=",
                                        "@=",       "&=",       "|=",    "^=",    "<<=",    ">>=",     "**="};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (mdf_scanner_at(scanner, words[i])) {
            return true;
        }
    }
    return false;
}

void mdf_scanner_unexpected(struct mdf_scanner *scanner, const char *expected)
{
    const struct mdf_token *token = &scanner->token;
    const char *before = expected == NULL ? "" : ", expected ", *after = expected == NULL ? "" : expected;
    char word[WORD_BYTES + 1];

    copy_excerpt(word, sizeof word, scanner->text + token->offset, token->length);
    if (token->kind == MDF_TOKEN_END) {
        mdf_scanner_fail(scanner, token->offset, "%sunexpected end%s%s", expected == NULL ? "a value is missing: " : "", before,
                         after);
    } else if (token->kind == MDF_TOKEN_STRING) {
        mdf_scanner_fail(scanner, token->offset, "unexpected string%s%s", before, after);
    } else if (mdf_scanner_at(scanner, "=")) {
        mdf_scanner_fail(scanner, token->offset, "an assignment with '=' is not supported in an expression");
    } else if (is_unsupported(scanner)) {
        mdf_scanner_fail(scanner, token->offset, "'%s' is not supported in an expression", word);
    } else {
        mdf_scanner_fail(scanner, token->offset, "unexpected '%s'%s%s", word, before, after);
    }
}

/* ------------------------------------------------------------------ characters */

static bool is_digit(char c, unsigned base)
{
    unsigned digit = mdf_is_digit(c)        ? (unsigned)(c - '0')
                     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                     : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                            : 99;

    return digit < base;
}

static unsigned digit_of(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
}

/* The code point of the UTF-8 character at `text` and its length; 0 where it is not valid. */
static size_t decode_character(const char *text, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = (unsigned char)text[0];
    size_t length = first < 0x80 ? 1 : first < 0xc0 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf8 ? 4 : 0;

    *code = length < 2 ? first : first & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if (!continues_character(text[i])) {
            return 0;
        }
        *code = *code << 6 | ((unsigned char)text[i] & 0x3fU);
    }
    if (length > 1 && (*code < least[length] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000))) {
        return 0;
    }
    return length;
}

/* Beyond ASCII all counts as a letter but the blocks of signs that word processors and web pages put into formulas: spaces,
 * dashes, quotes, operators. */
static bool is_sign(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } signs[] = {{0x80, 0xa9},     {0xab, 0xb4},     {0xb6, 0xb6},     {0xb8, 0xb9},     {0xbb, 0xbf},      {0xd7, 0xd7},
                 {0xf7, 0xf7},     {0x2000, 0x203e}, {0x2041, 0x2053}, {0x2055, 0x2070}, {0x2074, 0x207e},  {0x2080, 0x208e},
                 {0x20a0, 0x20cf}, {0x2190, 0x2bff}, {0x2e00, 0x2e7f}, {0x3000, 0x3004}, {0x3008, 0x3020},  {0xe000, 0xf8ff},
                 {0xfeff, 0xfeff}, {0xff01, 0xff0f}, {0xff1a, 0xff20}, {0xfff0, 0xffff}, {0x1f000, 0x1faff}};

    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (code >= signs[i].first && code <= signs[i].last) {
            return true;
        }
    }
    return false;
}

/* The length of the character at `position` where a name may contain it, 0 elsewhere. */
static size_t name_character(const struct mdf_scanner *scanner, size_t position, bool first)
{
    const char *c = scanner->text + position;
    uint32_t code;
    size_t length;

    if ((unsigned char)*c < 0x80) {
        return mdf_begins_identifier(*c) || (!first && is_digit(*c, 10)) ? 1 : 0;
    }
    length = decode_character(c, &code);
    return length == 0 || is_sign(code) ? 0 : length;
}

/* The length of the name or keyword at `position`. */
static size_t name_length(const struct mdf_scanner *scanner, size_t position)
{
    size_t length = 0, step;

    while ((step = name_character(scanner, position + length, length == 0)) > 0) {
        length += step;
    }
    return length;
}

/* ------------------------------------------------------------------ white space */

static void skip_comment(struct mdf_scanner *scanner)
{
    while (scanner->text[scanner->position] != '\0' && scanner->text[scanner->position] != '\n') {
        scanner->position++;
    }
}

/* Skips white space and comments, line breaks only with `lines`. */
static void skip_space(struct mdf_scanner *scanner, bool lines)
{
    for (;;) {
        const char *c = scanner->text + scanner->position;

        if (*c == ' ' || *c == '\t' || *c == '\f' || (lines && (*c == '\n' || *c == '\r'))) {
            scanner->position++;
        } else if (*c == '#') {
            skip_comment(scanner);
        } else if (c[0] == '\\' && c[1] == '\n') {
            scanner->position += 2;
        } else if (c[0] == '\\' && c[1] == '\r' && c[2] == '\n') {
            scanner->position += 3;
        } else {
            return;
        }
    }
}

/* Goes to the next token; outside brackets a line break ends the expression. */
static void skip_to_token(struct mdf_scanner *scanner)
{
    size_t line_break;

    skip_space(scanner, scanner->n_brackets > 0);
    if (scanner->text[scanner->position] == '\n' || scanner->text[scanner->position] == '\r') {
        line_break = scanner->position;
        skip_space(scanner, true);
        if (scanner->text[scanner->position] != '\0') {
            mdf_scanner_fail(scanner, line_break, "unexpected line break outside brackets");
        }
    }
}

/* ------------------------------------------------------------------ numbers */

/* The digits of a number without its underscores. */
struct digits {
    char *bytes;
    size_t n;
};

/* Takes digits with single underscores between them; with `after_prefix` one may also come first, as in 0x_ff. */
static bool take_digits(struct mdf_scanner *scanner, struct digits *digits, unsigned base, bool after_prefix)
{
    const char *text = scanner->text;
    size_t start = scanner->position;

    for (;;) {
        if (text[scanner->position] == '_' && (after_prefix || scanner->position > start)) {
            scanner->position++;
            if (!is_digit(text[scanner->position], base)) {
                mdf_scanner_fail(scanner, scanner->position - 1, "an underscore in a number must stand between digits");
                return false;
            }
        }
        if (!is_digit(text[scanner->position], base)) {
            return scanner->position > start;
        }
        digits->bytes[digits->n++] = text[scanner->position++];
    }
}

static void take_character(struct mdf_scanner *scanner, struct digits *digits)
{
    digits->bytes[digits->n++] = scanner->text[scanner->position++];
}

/* Whether a word follows that Python lets stand directly behind a number: "1if x else 2". */
static bool before_operator(const struct mdf_scanner *scanner)
{
    static const char *const words[] = {"and", "else", "for", "if", "in", "is", "not", "or"};
    size_t i, length = name_length(scanner, scanner->position);

    for (i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i]) == length && memcmp(words[i], scanner->text + scanner->position, length) == 0) {
            return true;
        }
    }
    return false;
}

/* Takes ".5" and "e-3" behind the whole digits; true where there is one of them. */
static bool take_fraction(struct mdf_scanner *scanner, struct digits *digits)
{
    const char *text = scanner->text;
    bool real = false;

    if (text[scanner->position] == '.') {
        take_character(scanner, digits);
        take_digits(scanner, digits, 10, false);
        real = true;
    }
    if (!scanner->failed && !before_operator(scanner) && (text[scanner->position] == 'e' || text[scanner->position] == 'E')) {
        take_character(scanner, digits);
        if (text[scanner->position] == '+' || text[scanner->position] == '-') {
            take_character(scanner, digits);
        }
        if (!take_digits(scanner, digits, 10, false)) {
            mdf_scanner_fail(scanner, scanner->position, "the exponent of a number has no digits");
        }
        real = true;
    }
    return real;
}

/* Digits in base 2, 8 or 16, which are `bits` bits each. The first 64 bits and whether any later one is set are enough to
 * round to float64 correctly. */
static void read_bits(struct mdf_token *token, const struct digits *digits, unsigned bits)
{
    uint64_t leading = 0;
    int dropped = 0;

    for (size_t i = 0; i < digits->n; i++) {
        for (unsigned bit = bits; bit-- > 0;) {
            unsigned value = digit_of(digits->bytes[i]) >> bit & 1;

            if (leading >> 63 == 0) {
                leading = leading << 1 | value;
            } else {
                leading |= value;
                dropped += dropped < 10000;
            }
        }
    }
    if (dropped > 0 || leading > INT64_MAX) {
        token->kind = MDF_TOKEN_REAL;
        token->as.real = ldexp((double)leading, dropped);
    } else {
        token->as.integer = (int64_t)leading;
    }
}

static void read_decimal(struct mdf_token *token, const struct digits *digits)
{
    uint64_t value = 0;

    for (size_t i = 0; i < digits->n; i++) {
        unsigned digit = digit_of(digits->bytes[i]);

        if (value > ((uint64_t)INT64_MAX - digit) / 10) {
            token->kind = MDF_TOKEN_REAL;
            token->as.real = mdf_parse_real(digits->bytes, digits->n);
            return;
        }
        value = value * 10 + digit;
    }
    token->as.integer = (int64_t)value;
}

/* What may not follow a number directly. */
static bool check_end_of_number(struct mdf_scanner *scanner)
{
    const char *c = scanner->text + scanner->position;
    size_t length = name_character(scanner, scanner->position, false);

    if ((*c == 'j' || *c == 'J') && name_character(scanner, scanner->position + 1, false) == 0) {
        mdf_scanner_fail(scanner, scanner->token.offset, "a complex number is not supported in an expression");
    } else if (*c == '_') {
        mdf_scanner_fail(scanner, scanner->position, "an underscore in a number must stand between digits");
    } else if (length > 0 && !before_operator(scanner)) {
        mdf_scanner_fail(scanner, scanner->position, "unexpected '%.*s' directly after a number%s", (int)length, c,
                         mdf_is_digit(*c) ? "" : ", without an operator such as '*'");
    }
    return !scanner->failed;
}

static void scan_with_prefix(struct mdf_scanner *scanner, struct digits *digits, unsigned bits)
{
    scanner->position += 2;
    if (!take_digits(scanner, digits, 1U << bits, true)) {
        mdf_scanner_fail(scanner, scanner->position, "a number has no digits");
    } else if (check_end_of_number(scanner)) {
        read_bits(&scanner->token, digits, bits);
    }
}

static void scan_decimal(struct mdf_scanner *scanner, struct digits *digits)
{
    struct mdf_token *token = &scanner->token;

    take_digits(scanner, digits, 10, false);
    if (scanner->failed) {
        return;
    }
    if (take_fraction(scanner, digits)) {
        token->kind = MDF_TOKEN_REAL;
    }
    if (scanner->failed || !check_end_of_number(scanner)) {
        return;
    }
    if (token->kind == MDF_TOKEN_REAL) {
        token->as.real = mdf_parse_real(digits->bytes, digits->n);
    } else if (digits->bytes[0] == '0' && strspn(digits->bytes, "0") < digits->n) {
        mdf_scanner_fail(scanner, token->offset, "a whole number may not begin with 0; octal numbers begin with 0o");
    } else {
        read_decimal(token, digits);
        if (token->kind == MDF_TOKEN_REAL && isinf(token->as.real)) {
            mdf_scanner_fail(scanner, token->offset, "a whole number is too large");
        }
    }
}

/* At least the length of the number at `c`; no more than a sign and a word behind it. */
static size_t room_for_number(const char *c)
{
    static const char characters[] = "0123456789abcdefABCDEFxXoO_.";
    size_t length = strspn(c, characters);

    return length + (c[length] == '+' || c[length] == '-' ? 1 + strspn(c + length + 1, characters) : 0) + 1;
}

static void scan_number(struct mdf_scanner *scanner)
{
    const char *c = scanner->text + scanner->position;
    unsigned bits = c[0] != '0' ? 0 : (c[1] | 0x20) == 'x' ? 4 : (c[1] | 0x20) == 'o' ? 3 : (c[1] | 0x20) == 'b' ? 1 : 0;
    struct digits digits = {mdf_arena_allocate(scanner->arena, room_for_number(c)), 0};

    scanner->token.kind = MDF_TOKEN_INT;
    if (digits.bytes == NULL) {
        mdf_scanner_out_of_memory(scanner);
    } else if (bits > 0) {
        scan_with_prefix(scanner, &digits, bits);
        if (!scanner->failed && scanner->token.kind == MDF_TOKEN_REAL && isinf(scanner->token.as.real)) {
            mdf_scanner_fail(scanner, scanner->token.offset, "a whole number is too large");
        }
    } else {
        scan_decimal(scanner, &digits);
    }
}

/* ------------------------------------------------------------------ strings */

/* A string literal while its escapes are resolved. */
struct literal {
    char *bytes;
    size_t length;
};

static void put_character(struct literal *literal, uint32_t code)
{
    literal->length += mdf_utf8_encode(code, literal->bytes + literal->length);
}

/* \x41, \u0041, \U00000041: exactly `n` digits. */
static void take_hexadecimal(struct mdf_scanner *scanner, struct literal *literal, unsigned n)
{
    size_t start = scanner->position - 2;
    uint32_t code = 0;

    for (unsigned i = 0; i < n; i++, scanner->position++) {
        char c = scanner->text[scanner->position];

        if (!is_digit(c, 16)) {
            mdf_scanner_fail(scanner, start, "the escape '\\%c' needs %u hexadecimal digits", scanner->text[start + 1], n);
            return;
        }
        code = code << 4 | digit_of(c);
    }
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
        mdf_scanner_fail(scanner, start, "an escape is not the code of a character");
    } else {
        put_character(literal, code);
    }
}

static void take_octal(struct mdf_scanner *scanner, struct literal *literal)
{
    uint32_t code = 0;

    scanner->position--;
    for (int i = 0; i < 3 && is_digit(scanner->text[scanner->position], 8); i++) {
        code = code * 8 + digit_of(scanner->text[scanner->position++]);
    }
    put_character(literal, code);
}

/* What stands behind a backslash. */
static void take_escape(struct mdf_scanner *scanner, struct literal *literal)
{
    static const char names[] = "\\'\"abfnrtv", meanings[] = "\\'\"\a\b\f\n\r\t\v";
    char c = scanner->text[++scanner->position];
    const char *name = c == '\0' ? NULL : strchr(names, c);

    if (c == '\0') {
        return; /* the caller finds that the string is not closed */
    }
    scanner->position++;
    if (name != NULL) {
        literal->bytes[literal->length++] = meanings[name - names];
    } else if (is_digit(c, 8)) {
        take_octal(scanner, literal);
    } else if (c == 'x' || c == 'u' || c == 'U') {
        take_hexadecimal(scanner, literal, c == 'x' ? 2 : c == 'u' ? 4 : 8);
    } else if (c == 'N') {
        mdf_scanner_fail(scanner, scanner->position - 2, "the escape '\\N' is not supported");
    } else if (c == '\r' && scanner->text[scanner->position] == '\n') {
        scanner->position++;
    } else if (c != '\n') {
        /* Python keeps what it does not know. */
        literal->bytes[literal->length++] = '\\';
        scanner->position--;
    }
}

/* Takes the characters up to the closing quote. */
static void take_string(struct mdf_scanner *scanner, struct literal *literal, char quote, bool raw)
{
    const char *text = scanner->text;
    uint32_t code;
    size_t length;

    while (!scanner->failed && text[scanner->position] != quote) {
        char c = text[scanner->position], next;

        if (c == '\0' || c == '\n' || c == '\r') {
            mdf_scanner_fail(scanner, scanner->token.offset, "a string is not closed");
        } else if (c == '\\' && !raw) {
            take_escape(scanner, literal);
        } else {
            /* A raw string keeps the backslash, but a quote behind it does not close the string. */
            next = c == '\\' ? text[scanner->position + 1] : '\0';
            length = next == quote || next == '\\' || next == '\n' ? 2 : decode_character(text + scanner->position, &code);
            if (length == 0) {
                mdf_scanner_fail(scanner, scanner->position, "a byte that is not UTF-8");
                return;
            }
            memcpy(literal->bytes + literal->length, text + scanner->position, length);
            literal->length += length;
            scanner->position += length;
        }
    }
}

/* A string whose quote stands at the position. */
static void scan_string(struct mdf_scanner *scanner, bool raw)
{
    const char *opening = scanner->text + scanner->position;
    struct literal literal = {NULL, 0};
    char quote = *opening;
    size_t room;

    if (opening[1] == quote && opening[2] == quote) {
        mdf_scanner_fail(scanner, scanner->token.offset, "a string in triple quotes is not supported in an expression");
        return;
    }
    /* No escape is shorter than what it stands for: the room up to the closing quote is enough. */
    for (room = 1; opening[room] != '\0' && opening[room] != quote; room++) {
        room += opening[room] == '\\' && opening[room + 1] != '\0';
    }
    literal.bytes = mdf_arena_allocate(scanner->arena, room + 1);
    if (literal.bytes == NULL) {
        mdf_scanner_out_of_memory(scanner);
        return;
    }
    scanner->position++;
    take_string(scanner, &literal, quote, raw);
    if (!scanner->failed) {
        scanner->position++;
        scanner->token.kind = MDF_TOKEN_STRING;
        scanner->token.as.text.bytes = literal.bytes;
        scanner->token.as.text.length = literal.length;
    }
}

/* ------------------------------------------------------------------ names */

static bool is_keyword(const char *name, size_t length)
{
    static const char *const keywords[] = {
        "False",  "None",     "True", "and",    "as",      "assert", "async",  "await",  "break", "class",  "continue", "def",
        "del",    "elif",     "else", "except", "finally", "for",    "from",   "global", "if",    "import", "in",       "is",
        "lambda", "nonlocal", "not",  "or",     "pass",    "raise",  "return", "try",    "while", "with",   "yield"};

    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        if (strlen(keywords[i]) == length && memcmp(keywords[i], name, length) == 0) {
            return true;
        }
    }
    return false;
}

/* A string with letters before its quote: r'...', u'...' and what is not supported. */
static void scan_prefixed_string(struct mdf_scanner *scanner, const char *prefix, size_t length)
{
    char lower[3] = {(char)(prefix[0] | 0x20), length > 1 ? (char)(prefix[1] | 0x20) : '\0', '\0'};

    if (strcmp(lower, "r") == 0 || strcmp(lower, "u") == 0) {
        scan_string(scanner, lower[0] == 'r');
    } else if (strcmp(lower, "f") == 0 || strcmp(lower, "fr") == 0 || strcmp(lower, "rf") == 0) {
        mdf_scanner_fail(scanner, scanner->token.offset, "an f-string (f'...') is not supported in an expression");
    } else if (strcmp(lower, "b") == 0 || strcmp(lower, "br") == 0 || strcmp(lower, "rb") == 0) {
        mdf_scanner_fail(scanner, scanner->token.offset, "a byte string (b'...') is not supported in an expression");
    } else {
        mdf_scanner_fail(scanner, scanner->token.offset, "unexpected '%.*s' before a string", (int)length, prefix);
    }
}

static void scan_name(struct mdf_scanner *scanner)
{
    const char *name = scanner->text + scanner->position;
    size_t length = name_length(scanner, scanner->position);

    scanner->position += length;
    if ((name[length] == '\'' || name[length] == '"') && length <= 2 && mdf_begins_identifier(name[0]) &&
        !is_keyword(name, length)) {
        scan_prefixed_string(scanner, name, length);
    } else {
        scanner->token.kind = is_keyword(name, length) ? MDF_TOKEN_KEYWORD : MDF_TOKEN_NAME;
    }
}

/* ------------------------------------------------------------------ operators */

/* A character that begins no token. */
static void refuse_character(struct mdf_scanner *scanner)
{
    const char *c = scanner->text + scanner->position;
    uint32_t code;
    size_t length = decode_character(c, &code);

    if (length == 0) {
        mdf_scanner_fail(scanner, scanner->position, "a byte that is not UTF-8");
    } else if (code < ' ' || code == 0x7f) {
        mdf_scanner_fail(scanner, scanner->position, "unexpected control character");
    } else {
        mdf_scanner_fail(scanner, scanner->position, "unexpected '%.*s'", (int)length, c);
    }
}

/* The longest first. Those that no expression has are here so that errors can name them. */
static void scan_operator(struct mdf_scanner *scanner)
{
    static const char *const operators[] = {
        "**=", "//=", "<<=", ">>=", "...", "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "->", ":=", "+=",
        "-=",  "*=",  "/=",  "%=",  "&=",  "|=", "^=", "@=", "+",  "-",  "*",  "/",  "%",  "@",  "&",  "|",
        "^",   "~",   "<",   ">",   "(",   ")",  "[",  "]",  "{",  "}",  ",",  ":",  ".",  ";",  "="};
    const char *c = scanner->text + scanner->position;

    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        size_t length = strlen(operators[i]);

        if (strncmp(c, operators[i], length) == 0) {
            scanner->token.kind = MDF_TOKEN_OPERATOR;
            scanner->position += length;
            if (*c == '(' || *c == '[' || *c == '{') {
                scanner->n_brackets++;
            } else if ((*c == ')' || *c == ']' || *c == '}') && scanner->n_brackets > 0) {
                scanner->n_brackets--;
            }
            return;
        }
    }
    refuse_character(scanner);
}

/* ------------------------------------------------------------------ tokens */

void mdf_scanner_advance(struct mdf_scanner *scanner)
{
    const char *c;

    if (scanner->failed) {
        return;
    }
    skip_to_token(scanner);
    scanner->token.kind = MDF_TOKEN_END;
    scanner->token.offset = scanner->position;
    c = scanner->text + scanner->position;
    if (scanner->failed || *c == '\0') {
        scanner->token.length = 0;
        return;
    }
    if (is_digit(c[0], 10) || (c[0] == '.' && is_digit(c[1], 10))) {
        scan_number(scanner);
    } else if (*c == '\'' || *c == '"') {
        scan_string(scanner, false);
    } else if (name_character(scanner, scanner->position, true) > 0) {
        scan_name(scanner);
    } else {
        scan_operator(scanner);
    }
    if (scanner->failed) {
        scanner->token.kind = MDF_TOKEN_END;
    }
    scanner->token.length = scanner->position - scanner->token.offset;
}

void mdf_scanner_init(struct mdf_scanner *scanner, struct mdf_arena *arena, const char *text, mdf_error *error)
{
    *scanner = (struct mdf_scanner){.arena = arena, .error = error, .text = text};
    skip_space(scanner, true);
    mdf_scanner_advance(scanner);
}

bool mdf_scanner_at(const struct mdf_scanner *scanner, const char *word)
{
    const struct mdf_token *token = &scanner->token;

    return (token->kind == MDF_TOKEN_OPERATOR || token->kind == MDF_TOKEN_KEYWORD) && strlen(word) == token->length &&
           memcmp(word, scanner->text + token->offset, token->length) == 0;
}

bool mdf_scanner_skip(struct mdf_scanner *scanner, const char *word)
{
    if (!mdf_scanner_at(scanner, word)) {
        return false;
    }
    mdf_scanner_advance(scanner);
    return true;
}

bool mdf_scanner_before_equals(const struct mdf_scanner *scanner)
{
    struct mdf_scanner ahead = *scanner;

    skip_space(&ahead, ahead.n_brackets > 0);
    return ahead.text[ahead.position] == '=' && ahead.text[ahead.position + 1] != '=';
}
