/* json_reader.c - JSON text into the tree, in one pass.
 *
 * Read is what Python's json module reads: RFC 8259, and the tokens NaN, Infinity and -Infinity, whole numbers of any
 * length, reals past the range of float64 (infinities), and a byte order mark in front. Unlike there, the escape of a
 * lone surrogate is an error (it has no UTF-8), and so is a key with a NUL in it. Why no library does this:
 * docs/decisions/json-reading.md.
 *
 * Nothing recurses: what is open is the builder's to know. */
#include "mdf_c/base/text.h"
#include "mdf_c/document/formats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct json_reader {
    struct mdf_tree *tree;
    const unsigned char *at, *end;
    const unsigned char *line_start;
    size_t n_continuation; /* bytes of this line that continue a character */
    uint32_t line;
};

/* ------------------------------------------------------------------ positions and errors */

static uint32_t column(const struct json_reader *reader)
{
    return (uint32_t)((size_t)(reader->at - reader->line_start) - reader->n_continuation + 1);
}

/* Fails at a place within the current line, the characters before which are counted anew. */
static bool fail_at(struct json_reader *reader, const unsigned char *place, const char *message)
{
    const unsigned char *c;

    reader->n_continuation = 0;
    for (c = reader->line_start; c < place; c++) {
        reader->n_continuation += (*c & 0xc0) == 0x80;
    }
    reader->at = place;
    return mdf_tree_fail(reader->tree, MDF_SYNTAX, reader->line, column(reader), "%s", message);
}

/* The character at `at` as messages show it. */
static const char *show(const struct json_reader *reader, char text[32])
{
    size_t length = mdf_utf8_sequence(reader->at, (size_t)(reader->end - reader->at));

    if (length == 0) {
        snprintf(text, 32, "the byte 0x%02x (not UTF-8)", *reader->at);
    } else if (*reader->at < 0x20 || *reader->at == 0x7f) {
        snprintf(text, 32, "the control character 0x%02x", *reader->at);
    } else {
        snprintf(text, 32, "'%.*s'", (int)length, (const char *)reader->at);
    }
    return text;
}

/* What helps where something else stands than was expected; "": nothing is known to. */
static const char *cure_of(const struct json_reader *reader, const char *expected)
{
    char c = (char)*reader->at;

    if (c == '/' || c == '#') {
        return ": JSON has no comments (YAML has)";
    }
    if (c == '.') {
        return ": a number has a digit before its point";
    }
    return strchr(expected, ',') != NULL && strchr("\"{[", c) != NULL ? ": a ',' is missing before it" : "";
}

/* Fails with what stands at `at` in place of what was expected. */
static bool fail_expected(struct json_reader *reader, const char *expected)
{
    const struct mdf_tree_frame *frame = mdf_tree_top(reader->tree);
    const char *opened = frame == NULL ? NULL : frame->kind == MDF_NODE_LIST ? "list" : "object";
    char text[32];

    if (reader->at < reader->end) {
        show(reader, text);
    }
    if (frame == NULL) {
        return mdf_tree_fail(reader->tree, MDF_SYNTAX, reader->line, column(reader), "%s is expected, not %s", expected,
                             reader->at < reader->end ? text : "the end of the file");
    }
    if (reader->at == reader->end) {
        return mdf_tree_fail(reader->tree, MDF_SYNTAX, reader->line, column(reader),
                             "the file ends inside the %s that opens at %u:%u", opened, frame->line, frame->column);
    }
    return mdf_tree_fail(reader->tree, MDF_SYNTAX, reader->line, column(reader),
                         "%s is expected in the %s that opens at %u:%u, not %s%s", expected, opened, frame->line, frame->column,
                         text, cure_of(reader, expected));
}

/* ------------------------------------------------------------------ white space */

static inline uint64_t load_eight(const unsigned char *at)
{
    uint64_t eight;

    memcpy(&eight, at, sizeof eight);
    return eight;
}

#define EVERY_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

static inline void skip_space(struct json_reader *reader)
{
    const unsigned char *at = reader->at, *end = reader->end;

    while (at < end && *at <= ' ') {
        if (*at == '\n') {
            reader->line++;
            reader->line_start = ++at;
            reader->n_continuation = 0;
            while (end - at >= 8 && load_eight(at) == EVERY_BYTE(' ')) {
                at += 8;
            }
        } else if (*at == ' ' || *at == '\t' || *at == '\r') {
            at++;
        } else {
            break;
        }
    }
    reader->at = at;
}

/* ------------------------------------------------------------------ strings */

/* Whether one of eight bytes ends a run of plain text: a quote, a backslash, a control character, or not ASCII. */
static inline bool has_special(uint64_t eight)
{
    uint64_t quote = eight ^ EVERY_BYTE('"'), backslash = eight ^ EVERY_BYTE('\\');

    return (((quote - EVERY_BYTE(1)) | (backslash - EVERY_BYTE(1)) | (eight - EVERY_BYTE(0x20)) | eight) & EVERY_BYTE(0x80)) != 0;
}

/* Finds the end of the string that opens at `at`; moves there. */
static bool scan_string(struct json_reader *reader, const unsigned char **closing, bool *has_escape)
{
    const unsigned char *at = reader->at + 1, *end = reader->end;
    size_t length;

    *has_escape = false;
    for (;;) {
        while (end - at >= 8 && !has_special(load_eight(at))) {
            at += 8;
        }
        if (at == end) {
            return fail_at(reader, reader->at, "the file ends inside this string");
        }
        if (*at == '"') {
            break;
        }
        if (*at < 0x20) {
            return fail_at(reader, at,
                           *at == '\n' ? "the string has no closing quote on its line (a line break is written \\n)"
                                       : "a control character in a string is written as an escape (\\t, \\u0001)");
        }
        if (*at == '\\') {
            *has_escape = true;
            at += end - at > 1 && at[1] < 0x80 ? 2 : 1;
            continue;
        }
        length = mdf_utf8_sequence(at, (size_t)(end - at));
        if (length == 0) {
            char message[64];

            snprintf(message, sizeof message, "the text is not valid UTF-8 (byte 0x%02x)", *at);
            return fail_at(reader, at, message);
        }
        reader->n_continuation += length - 1;
        at += length;
    }
    *closing = at;
    reader->at = at + 1;
    return true;
}

static bool read_hex4(const unsigned char *at, const unsigned char *end, uint32_t *code)
{
    *code = 0;
    if (end - at < 4) {
        return false;
    }
    for (int i = 0; i < 4; i++) {
        unsigned c = at[i], digit = mdf_is_digit((char)c)                    ? c - '0'
                                    : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                                             : 16;

        if (digit > 15) {
            return false;
        }
        *code = *code << 4 | digit;
    }
    return true;
}

/* The escape \uXXXX, or two of them that are a surrogate pair, at `at`; returns what follows, NULL on error. */
static const unsigned char *read_unicode_escape(struct json_reader *reader, const unsigned char *at, const unsigned char *end,
                                                uint32_t *code)
{
    uint32_t low;

    if (!read_hex4(at + 2, end, code)) {
        fail_at(reader, at, "\\u takes four hexadecimal digits");
        return NULL;
    }
    if (*code < 0xd800 || *code > 0xdfff) {
        return at + 6;
    }
    if (*code > 0xdbff || end - at < 12 || at[6] != '\\' || at[7] != 'u' || !read_hex4(at + 8, end, &low) || low < 0xdc00 ||
        low > 0xdfff) {
        fail_at(reader, at, "half of a surrogate pair stands alone; it is no character");
        return NULL;
    }
    *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
    return at + 12;
}

/* Writes what the text between quotes stands for, which is never longer than it; false on a malformed escape. */
static bool decode_string(struct json_reader *reader, const unsigned char *at, const unsigned char *end, char *out,
                          size_t *length)
{
    static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    char *start = out;

    while (at < end) {
        const unsigned char *backslash = memchr(at, '\\', (size_t)(end - at));
        size_t plain = (size_t)((backslash != NULL ? backslash : end) - at);
        const char *escape;
        uint32_t code;

        memcpy(out, at, plain);
        out += plain;
        at += plain;
        if (at == end) {
            break;
        }
        if (at[1] == 'u') {
            at = read_unicode_escape(reader, at, end, &code);
            if (at == NULL) {
                return false;
            }
            out += mdf_utf8_encode(code, out);
            continue;
        }
        escape = at[1] != '\0' ? strchr(escapes, at[1]) : NULL;
        if (escape == NULL) {
            return fail_at(reader, at, "no escape of JSON begins so (a backslash itself is written \\\\)");
        }
        *out++ = meanings[escape - escapes];
        at += 2;
    }
    *length = (size_t)(out - start);
    *out = '\0';
    return true;
}

/* The string at `at`, in the arena, terminated. */
static bool read_string(struct json_reader *reader, const char **bytes, size_t *length)
{
    const unsigned char *start = reader->at + 1, *closing = start;
    bool has_escape;
    char *copy;

    if (!scan_string(reader, &closing, &has_escape)) {
        return false;
    }
    *length = (size_t)(closing - start);
    copy = mdf_arena_allocate(&reader->tree->document->arena, *length + 1);
    if (copy == NULL) {
        return mdf_tree_out_of_memory(reader->tree);
    }
    *bytes = copy;
    if (has_escape) {
        return decode_string(reader, start, closing, copy, length);
    }
    memcpy(copy, start, *length);
    return true;
}

static bool read_key(struct json_reader *reader)
{
    uint32_t line, key_column;
    const char *key;
    size_t length;

    skip_space(reader);
    line = reader->line;
    key_column = column(reader);
    if (reader->at == reader->end || *reader->at != '"') {
        return fail_expected(reader,
                             reader->at < reader->end && *reader->at == '\'' ? "a key in double quotes" : "a key in quotes");
    }
    if (!read_string(reader, &key, &length)) {
        return false;
    }
    if (memchr(key, '\0', length) != NULL) {
        return mdf_tree_fail(reader->tree, MDF_SYNTAX, line, key_column, "a key can not hold the character \\u0000");
    }
    skip_space(reader);
    if (reader->at == reader->end || *reader->at != ':') {
        return fail_expected(reader, "':' after a key");
    }
    reader->at++;
    mdf_tree_key(reader->tree, key, line, key_column);
    return true;
}

/* ------------------------------------------------------------------ numbers and words */

static inline bool is_digit(const unsigned char *at, const unsigned char *end)
{
    return at < end && (unsigned)(*at - '0') <= 9;
}

/* A whole number of `length` bytes past 64 bits. */
static bool add_huge(struct json_reader *reader, const unsigned char *text, size_t length, uint32_t start_column)
{
    enum { MOST_DIGITS_OF_DOUBLE = 309 };
    struct mdf_node node = {.kind = MDF_NODE_REAL, .line = reader->line, .column = start_column};
    bool negative = *text == '-';

    node.digits = mdf_arena_text(&reader->tree->document->arena, (const char *)text, length);
    if (node.digits == NULL) {
        return mdf_tree_out_of_memory(reader->tree);
    }
    node.as.real = negative ? -INFINITY : INFINITY;
    if (length - negative <= MOST_DIGITS_OF_DOUBLE) {
        node.as.real = mdf_parse_real(node.digits, length);
    }
    return mdf_tree_add(reader->tree, &node);
}

/* The length of the fraction and exponent at `at`; false where they are malformed. */
static bool scan_fraction(struct json_reader *reader, const unsigned char **after)
{
    const unsigned char *at = *after, *end = reader->end;

    if (*at == '.') {
        at++;
        if (!is_digit(at, end)) {
            return fail_at(reader, at, "a digit is expected after the point of a number");
        }
        while (is_digit(at, end)) {
            at++;
        }
    }
    if (at < end && (*at | 0x20) == 'e') {
        at++;
        at += at < end && (*at == '+' || *at == '-');
        if (!is_digit(at, end)) {
            return fail_at(reader, at, "a digit is expected in the exponent of a number");
        }
        while (is_digit(at, end)) {
            at++;
        }
    }
    *after = at;
    return true;
}

static bool add_number(struct json_reader *reader)
{
    const unsigned char *start = reader->at, *at = start, *end = reader->end, *digits;
    uint32_t start_column = column(reader);
    bool negative = *at == '-';
    uint64_t magnitude = 0, bits;
    double real;

    at += negative;
    digits = at;
    if (!is_digit(at, end)) {
        return fail_at(reader, at, "a digit is expected after the sign of a number");
    }
    for (; is_digit(at, end); at++) {
        magnitude = magnitude * 10 + (uint64_t)(*at - '0');
    }
    if (*digits == '0' && at - digits > 1) {
        return fail_at(reader, digits, "a number can not begin with 0 and another digit");
    }
    if (at < end && (*at == '.' || (*at | 0x20) == 'e')) {
        if (!scan_fraction(reader, &at)) {
            return false;
        }
        real = mdf_parse_real((const char *)start, (size_t)(at - start));
        if (isnan(real)) {
            return mdf_tree_out_of_memory(reader->tree);
        }
        memcpy(&bits, &real, sizeof bits);
        reader->at = at;
        return mdf_tree_add_number(reader->tree, MDF_DTYPE_FLOAT64, bits, reader->line, start_column);
    }
    reader->at = at;
    if (at - digits > 19 || (at - digits == 19 && magnitude > (uint64_t)INT64_MAX + negative)) {
        return add_huge(reader, start, (size_t)(at - start), start_column);
    }
    bits = negative ? 0 - magnitude : magnitude;
    return mdf_tree_add_number(reader->tree, MDF_DTYPE_INT64, bits, reader->line, start_column);
}

/* The words that are values, and those of Python that are easily taken for them. */
static bool add_word(struct json_reader *reader)
{
    static const struct {
        const char *word, *meant;
        struct mdf_node node;
    } words[] = {
        {"true", NULL, {.kind = MDF_NODE_BOOL, .as.truth = true}},
        {"false", NULL, {.kind = MDF_NODE_BOOL, .as.truth = false}},
        {"null", NULL, {.kind = MDF_NODE_NULL}},
        {"NaN", NULL, {.kind = MDF_NODE_REAL, .as.real = NAN}},
        {"Infinity", NULL, {.kind = MDF_NODE_REAL, .as.real = INFINITY}},
        {"-Infinity", NULL, {.kind = MDF_NODE_REAL, .as.real = -INFINITY}},
        {"True", "true", {.kind = MDF_NODE_NULL}},
        {"False", "false", {.kind = MDF_NODE_NULL}},
        {"None", "null", {.kind = MDF_NODE_NULL}},
        {"nan", "NaN", {.kind = MDF_NODE_NULL}},
        {"inf", "Infinity", {.kind = MDF_NODE_NULL}},
        {"-inf", "-Infinity", {.kind = MDF_NODE_NULL}},
    };
    size_t i, length = 0, left = (size_t)(reader->end - reader->at);
    struct mdf_node node;

    while (length < left && length < 12 &&
           ((unsigned)((reader->at[length] | 0x20) - 'a') < 26 || (length == 0 && *reader->at == '-'))) {
        length++;
    }
    for (i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i].word) != length || memcmp(words[i].word, reader->at, length) != 0) {
            continue;
        }
        if (words[i].meant != NULL) {
            return mdf_tree_fail(reader->tree, MDF_SYNTAX, reader->line, column(reader), "'%s' is no value in JSON; '%s' is",
                                 words[i].word, words[i].meant);
        }
        node = words[i].node;
        node.line = reader->line;
        node.column = column(reader);
        reader->at += length;
        return mdf_tree_add(reader->tree, &node);
    }
    return length == 0 || *reader->at == '-'
               ? fail_expected(reader, "a value")
               : mdf_tree_fail(reader->tree, MDF_SYNTAX, reader->line, column(reader), "a value is expected, not '%.*s'",
                               (int)length, (const char *)reader->at);
}

static bool add_string(struct json_reader *reader)
{
    struct mdf_node node = {.kind = MDF_NODE_STRING, .line = reader->line, .column = column(reader)};

    return read_string(reader, &node.as.string.bytes, &node.as.string.length) && mdf_tree_add(reader->tree, &node);
}

/* ------------------------------------------------------------------ structure */

/* Opens a list or object and, in an object, reads its first key; `closed` tells that it was empty. */
static bool open_container(struct json_reader *reader, bool *closed)
{
    enum mdf_node_kind kind = *reader->at == '[' ? MDF_NODE_LIST : MDF_NODE_OBJECT;
    struct mdf_node node;

    if (!mdf_tree_open(reader->tree, kind, reader->line, column(reader))) {
        return false;
    }
    reader->at++;
    skip_space(reader);
    *closed = reader->at < reader->end && *reader->at == (kind == MDF_NODE_LIST ? ']' : '}');
    if (*closed) {
        reader->at++;
        return mdf_tree_close(reader->tree, &node, false) && mdf_tree_add(reader->tree, &node);
    }
    return kind == MDF_NODE_LIST || read_key(reader);
}

/* Reads up to the end of the next scalar or empty container. */
static bool read_value(struct json_reader *reader)
{
    bool closed;

    for (;;) {
        skip_space(reader);
        if (reader->at == reader->end) {
            return fail_expected(reader, "a value");
        }
        switch (*reader->at) {
        case '[':
        case '{':
            if (!open_container(reader, &closed)) {
                return false;
            }
            if (closed) {
                return true;
            }
            break;
        case '"':
            return add_string(reader);
        case '\'':
            return fail_expected(reader, "a value (a string takes double quotes)");
        case '-':
            return is_digit(reader->at + 1, reader->end) ? add_number(reader) : add_word(reader);
        case '0':
        case '1':
        case '2':
        case '3':
        case '4':
        case '5':
        case '6':
        case '7':
        case '8':
        case '9':
            return add_number(reader);
        default:
            return add_word(reader);
        }
    }
}

/* After a comma: what must not be a closing bracket. */
static bool read_next(struct json_reader *reader, const struct mdf_tree_frame *frame, const unsigned char *comma)
{
    uint32_t line = reader->line, comma_column = column(reader);

    reader->at = comma + 1;
    skip_space(reader);
    if (reader->at < reader->end && *reader->at == (frame->kind == MDF_NODE_LIST ? ']' : '}')) {
        return mdf_tree_fail(reader->tree, MDF_SYNTAX, line, comma_column, "a comma stands before the closing '%c'", *reader->at);
    }
    return frame->kind == MDF_NODE_LIST || read_key(reader);
}

/* Reads what follows a value: closings, then a comma and key, or the end of the file (`done`). */
static bool read_after_value(struct json_reader *reader, bool *done)
{
    struct mdf_tree_frame *frame;
    struct mdf_node node;

    *done = false;
    for (frame = mdf_tree_top(reader->tree); frame != NULL; frame = mdf_tree_top(reader->tree)) {
        skip_space(reader);
        if (reader->at < reader->end && *reader->at == ',') {
            return read_next(reader, frame, reader->at);
        }
        if (reader->at == reader->end || *reader->at != (frame->kind == MDF_NODE_LIST ? ']' : '}')) {
            return fail_expected(reader, frame->kind == MDF_NODE_LIST ? "',' or ']'" : "',' or '}'");
        }
        reader->at++;
        if (!mdf_tree_close(reader->tree, &node, false) || !mdf_tree_add(reader->tree, &node)) {
            return false;
        }
    }
    *done = true;
    skip_space(reader);
    if (reader->at < reader->end) {
        char text[32];

        return mdf_tree_fail(reader->tree, MDF_SYNTAX, reader->line, column(reader), "the document has ended, but %s follows%s",
                             show(reader, text), *reader->at == ',' ? "; several values stand in brackets: [1, 2]" : "");
    }
    return true;
}

bool mdf_json_read(struct mdf_tree *tree, const void *bytes, size_t size_bytes)
{
    const unsigned char *start = bytes;
    struct json_reader reader = {.tree = tree, .at = start, .end = start + size_bytes, .line = 1};
    bool done = false;

    if (size_bytes >= 3 && memcmp(start, "\xef\xbb\xbf", 3) == 0) {
        reader.at += 3;
    } else if (size_bytes >= 2 && (memcmp(start, "\xff\xfe", 2) == 0 || memcmp(start, "\xfe\xff", 2) == 0)) {
        return mdf_tree_fail(tree, MDF_SYNTAX, 1, 1, "the text is UTF-16; JSON is read as UTF-8");
    }
    reader.line_start = reader.at;
    skip_space(&reader);
    if (reader.at == reader.end) {
        return mdf_tree_fail(tree, MDF_SYNTAX, 1, 1, "the file is empty");
    }
    while (!done) {
        if (!read_value(&reader) || !read_after_value(&reader, &done)) {
            return false;
        }
    }
    return true;
}
