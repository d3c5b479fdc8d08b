/* mutate.c - see mutate.h. */
#include "fuzz/mutate.h"

#include "fuzz/mutate_message.h"
#include "fuzz/mutate_tree.h"
#include "fuzz/words.h"

#include <string.h>

enum { MOST_CHANGES = 6, MOST_BYTES = 1 << 22 };

/* splitmix64. */
static uint64_t random_bits(struct random_source *random)
{
    uint64_t bits = random->state += 0x9e3779b97f4a7c15U;

    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebU;
    return bits ^ bits >> 31;
}

size_t random_below(struct random_source *random, size_t bound)
{
    return (size_t)(random_bits(random) % bound);
}

void replace_bytes(struct mdf_text *bytes, size_t from, size_t to, const void *with, size_t size)
{
    struct mdf_text changed;

    if (bytes->length - (to - from) + size > MOST_BYTES) {
        return;
    }
    if (bytes->bytes == NULL) {
        mdf_text_append(bytes, with, size);
        return;
    }
    mdf_text_init(&changed, bytes->memory);
    mdf_text_append(&changed, bytes->bytes, from);
    mdf_text_append(&changed, with, size);
    mdf_text_append(&changed, bytes->bytes + to, bytes->length - to);
    mdf_text_release(bytes);
    *bytes = changed;
}

/* One as a rule: an input should not fall at the first fence. */
static size_t n_changes(struct random_source *random)
{
    return random_below(random, 2) == 0 ? 1 : 1 + random_below(random, MOST_CHANGES);
}

/* ------------------------------------------------------------------ any bytes */

void flip_bytes(struct random_source *random, struct mdf_text *bytes)
{
    static const unsigned char odd[] = {0, 1, 0x7f, 0x80, 0xff, '"', '{', '[', '-', '9'};
    size_t n = n_changes(random), i;

    for (i = 0; i < n && bytes->length > 0; i++) {
        char *at = bytes->bytes + random_below(random, bytes->length);

        switch (random_below(random, 3)) {
        case 0:
            *at = (char)(*at ^ 1 << random_below(random, 8));
            break;
        case 1:
            *at = (char)random_below(random, 256);
            break;
        default:
            *at = (char)odd[random_below(random, sizeof odd)];
        }
    }
}

/* Takes away, doubles, or moves a run of bytes. */
static void move_bytes(struct random_source *random, struct mdf_text *bytes)
{
    size_t from, size;
    char run[64];

    if (bytes->length == 0) {
        return;
    }
    from = random_below(random, bytes->length);
    size = 1 + random_below(random, sizeof run);
    size = size > bytes->length - from ? bytes->length - from : size;
    memcpy(run, bytes->bytes + from, size);
    if (random_below(random, 3) != 0) {
        replace_bytes(bytes, from, from + size, "", 0);
    }
    if (random_below(random, 2) != 0) {
        from = random_below(random, bytes->length + 1);
        replace_bytes(bytes, from, from, run, size);
    }
}

/* ------------------------------------------------------------------ texts */

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || strchr("_.+-", c) != NULL;
}

/* The word, or the sign, at a place. */
static void find_token(const struct mdf_text *text, size_t at, size_t *from, size_t *to)
{
    *from = at;
    *to = at + 1;
    if (!is_word(text->bytes[at])) {
        return;
    }
    while (*from > 0 && is_word(text->bytes[*from - 1])) {
        (*from)--;
    }
    while (*to < text->length && is_word(text->bytes[*to])) {
        (*to)++;
    }
}

/* Changes a word: to an odd one, or to another of the text. */
static void change_token(struct random_source *random, struct mdf_text *text)
{
    static const char *const odd[] = {"0",
                                      "1",
                                      "-1",
                                      "2",
                                      "1e308",
                                      "1e999",
                                      "NaN",
                                      "-Infinity",
                                      "9223372036854775807",
                                      "null",
                                      "true",
                                      "[]",
                                      "{}",
                                      "\"\"",
                                      "[[1], 2]",
                                      "1000000",
                                      "18446744073709551616",
                                      "0.1",
                                      "value",
                                      "args",
                                      "\"x[0]\"",
                                      "onnx::Loop",
                                      "onnx::Scan",
                                      "onnx::If",
                                      "onnx::Reshape",
                                      "\"1e3*(2**70)\"",
                                      "- 1",
                                      "&a",
                                      "*a",
                                      "<<: *a",
                                      "\\ud800",
                                      "\"\\u0000\"",
                                      "numpy.zeros",
                                      ",",
                                      "x"};
    size_t from, to, other_from, other_to;

    if (text->length == 0) {
        return;
    }
    find_token(text, random_below(random, text->length), &from, &to);
    if (random_below(random, 2) == 0) {
        const char *word = odd[random_below(random, sizeof odd / sizeof *odd)];

        replace_bytes(text, from, to, word, strlen(word));
        return;
    }
    find_token(text, random_below(random, text->length), &other_from, &other_to);
    if (other_to - other_from < 200) {
        char word[200];

        memcpy(word, text->bytes + other_from, other_to - other_from);
        replace_bytes(text, from, to, word, other_to - other_from);
    }
}

/* ------------------------------------------------------------------ expressions */

/* The bracket at a place with all that is in it; any other place: the word there. */
static void find_group(const struct mdf_text *text, size_t at, size_t *from, size_t *to)
{
    size_t depth = 0, i;

    find_token(text, at, from, to);
    if (strchr("([{", text->bytes[at]) == NULL || text->bytes[at] == '\0') {
        return;
    }
    for (i = at; i < text->length; i++) {
        depth += strchr("([{", text->bytes[i]) != NULL && text->bytes[i] != '\0';
        if (strchr(")]}", text->bytes[i]) != NULL && text->bytes[i] != '\0' && --depth == 0) {
            *to = i + 1;
            return;
        }
    }
}

void change_expression(struct random_source *random, struct mdf_text *text)
{
    static const char *const signs[] = {" + ",  "*",      "**",   "/",  "//",    "%",  " < ", "==", " and ", " or ",
                                        " if ", " else ", " in ", ", ", "[",     "]",  "(",   ")",  ":",     "@",
                                        "-",    "not ",   ".",    "=",  " for ", "<<", "&",   "|",  "^",     "~"};
    size_t from = 0, to = 0;
    const char *word;

    if (text->length > 0) {
        find_group(text, random_below(random, text->length), &from, &to);
    }
    switch (random_below(random, 8)) {
    case 0: /* in brackets, or without */
        replace_bytes(text, to, to, ")", 1);
        replace_bytes(text, from, from, "(", 1);
        break;
    case 1:
        replace_bytes(text, from, to, "", 0);
        break;
    case 2:
        if (text->length > 0) {
            change_token(random, text);
        }
        break;
    case 3:
        word = signs[random_below(random, sizeof signs / sizeof *signs)];
        replace_bytes(text, from, random_below(random, 2) == 0 ? from : to, word, strlen(word));
        break;
    case 4:
        word = random_name(random);
        replace_bytes(text, from, to, word, strlen(word));
        break;
    default:
        word = random_fragment(random);
        replace_bytes(text, from, random_below(random, 3) == 0 ? from : to, word, strlen(word));
    }
}

/* ------------------------------------------------------------------ all formats */

static bool is_document(const char *format)
{
    return strcmp(format, "json") == 0 || strcmp(format, "yaml") == 0 || strcmp(format, "bson") == 0;
}

static void change_once(struct random_source *random, const char *format, struct mdf_text *bytes)
{
    if (random_below(random, 8) == 0) {
        move_bytes(random, bytes);
    } else if (strcmp(format, "onnx") == 0) {
        mutate_message(random, bytes);
    } else if (strcmp(format, "expression") == 0) {
        change_expression(random, bytes);
    } else if (strcmp(format, "json") == 0 || strcmp(format, "yaml") == 0) {
        change_token(random, bytes);
    } else {
        flip_bytes(random, bytes);
    }
}

void mutate(struct random_source *random, const char *format, struct mdf_text *bytes)
{
    size_t n = n_changes(random), i;

    if (is_document(format) && random_below(random, 4) != 0 && mutate_tree(random, format, bytes)) {
        return;
    }
    for (i = 0; i < n; i++) {
        change_once(random, format, bytes);
    }
}

void graft(struct random_source *random, const char *format, struct mdf_text *bytes, const struct mdf_text *other)
{
    size_t from, size, at;

    if (strcmp(format, "onnx") == 0) {
        graft_message(random, bytes, other);
    } else if (!is_document(format) || !graft_tree(random, format, bytes, other->bytes, other->length)) {
        from = random_below(random, other->length + 1);
        size = random_below(random, other->length - from + 1);
        at = random_below(random, bytes->length + 1);
        replace_bytes(bytes, at, at, other->bytes != NULL ? other->bytes + from : "", size);
    }
}
