/* mutate.c - see mutate.h. */
#include "fuzz/mutate.h"

#include <string.h>

enum { MOST_CHANGES = 6, DEEPEST_MESSAGE = 40, MOST_BYTES = 1 << 22 };

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

/* Puts `with` in the place of bytes [from, to). */
static void replace(struct mdf_text *bytes, size_t from, size_t to, const void *with, size_t size)
{
    struct mdf_text changed;

    if (bytes->length - (to - from) + size > MOST_BYTES) {
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
        replace(bytes, from, from + size, "", 0);
    }
    if (random_below(random, 2) != 0) {
        from = random_below(random, bytes->length + 1);
        replace(bytes, from, from, run, size);
    }
}

/* ------------------------------------------------------------------ messages of protobuf */

struct field {
    size_t start, value, body, end; /* places of the key, of what follows it, of the bytes behind a length, of the end */
    unsigned wire_type;
};

static bool take_varint(const struct mdf_text *bytes, size_t *at, size_t end, uint64_t *number)
{
    unsigned shift = 0;

    *number = 0;
    while (*at < end && shift < 64) {
        unsigned char byte = (unsigned char)bytes->bytes[(*at)++];

        *number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return true;
        }
        shift += 7;
    }
    return false;
}

static bool take_field(const struct mdf_text *bytes, size_t at, size_t end, struct field *field)
{
    uint64_t key, length = 0;

    field->start = at;
    if (!take_varint(bytes, &at, end, &key) || key >> 3 == 0) {
        return false;
    }
    field->value = at;
    field->wire_type = (unsigned)(key & 7);
    if ((field->wire_type == 0 || field->wire_type == 2) && !take_varint(bytes, &at, end, &length)) {
        return false;
    }
    length = field->wire_type == 2 ? length : field->wire_type == 1 ? 8 : field->wire_type == 5 ? 4 : 0;
    field->body = at;
    field->end = at + (size_t)length;
    return length <= end - at && (field->wire_type < 3 || field->wire_type == 5);
}

/* Number of fields that fill [from, end); 0 where it is not that. */
static size_t n_fields(const struct mdf_text *bytes, size_t from, size_t end)
{
    struct field field;
    size_t n = 0;

    for (; from < end; from = field.end, n++) {
        if (!take_field(bytes, from, end, &field)) {
            return 0;
        }
    }
    return n;
}

static void find_field(const struct mdf_text *bytes, size_t from, size_t end, size_t index, struct field *field)
{
    size_t i;

    for (i = 0; i <= index; i++, from = field->end) {
        take_field(bytes, from, end, field);
    }
}

static size_t put_varint(unsigned char *target, uint64_t number)
{
    size_t n = 0;

    for (; number > 0x7f; number >>= 7) {
        target[n++] = (unsigned char)(number & 0x7f) | 0x80;
    }
    target[n++] = (unsigned char)number;
    return n;
}

/* Another number, or another size of a text: small, large, negative. */
static uint64_t odd_number(struct random_source *random)
{
    static const uint64_t numbers[] = {0,           1,
                                       2,           3,
                                       5,           7,
                                       8,           16,
                                       127,         128,
                                       1000,        65536,
                                       0x7fffffffU, 0x80000000U,
                                       UINT32_MAX,  1ULL << 32,
                                       1ULL << 40,  1ULL << 62,
                                       1ULL << 63,  INT64_MAX,
                                       UINT64_MAX,  UINT64_MAX - 1};

    return numbers[random_below(random, sizeof numbers / sizeof *numbers)];
}

/* Changes one field; what is in [from, *end) afterwards is again a row of fields. */
static void change_field(struct random_source *random, struct mdf_text *bytes, const struct field *field, size_t from, size_t end)
{
    unsigned char number[10];
    struct field other;
    size_t size;

    switch (random_below(random, 5)) {
    case 0:
        replace(bytes, field->start, field->end, "", 0);
        break;
    case 1: /* stands twice */
    case 2: /* in the place of another */
        find_field(bytes, from, end, random_below(random, n_fields(bytes, from, end)), &other);
        size = field->end - field->start;
        if (size <= MOST_BYTES / 4) {
            struct mdf_text copy;

            mdf_text_init(&copy, bytes->memory);
            mdf_text_append(&copy, bytes->bytes + field->start, size);
            replace(bytes, other.start, random_below(random, 2) != 0 ? other.start : other.end, copy.bytes, copy.length);
            mdf_text_release(&copy);
        }
        break;
    default:
        if (field->wire_type == 0) {
            replace(bytes, field->value, field->end, number, put_varint(number, odd_number(random)));
        } else if (field->end > field->body) {
            bytes->bytes[field->body + random_below(random, field->end - field->body)] ^= (char)(1 << random_below(random, 8));
        }
    }
}

/* Changes a field somewhere inside the messages of [from, end), lengths around it included; the new end. */
static size_t change_message(struct random_source *random, struct mdf_text *bytes, size_t from, size_t end, size_t depth)
{
    size_t n = n_fields(bytes, from, end), before = bytes->length, inner_end, length_size;
    unsigned char number[10];
    struct field field;

    if (n == 0) {
        return end;
    }
    find_field(bytes, from, end, random_below(random, n), &field);
    if (field.wire_type != 2 || depth == DEEPEST_MESSAGE || n_fields(bytes, field.body, field.end) == 0 ||
        random_below(random, 6) == 0) {
        change_field(random, bytes, &field, from, end);
        return end + bytes->length - before;
    }
    inner_end = change_message(random, bytes, field.body, field.end, depth + 1);
    length_size = put_varint(number, inner_end - field.body);
    replace(bytes, field.value, field.body, number, length_size);
    return end + bytes->length - before;
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

        replace(text, from, to, word, strlen(word));
        return;
    }
    find_token(text, random_below(random, text->length), &other_from, &other_to);
    if (other_to - other_from < 200) {
        char word[200];

        memcpy(word, text->bytes + other_from, other_to - other_from);
        replace(text, from, to, word, other_to - other_from);
    }
}

/* ------------------------------------------------------------------ all formats */

void mutate(struct random_source *random, const char *format, struct mdf_text *bytes)
{
    size_t n = n_changes(random), i;

    for (i = 0; i < n; i++) {
        if (random_below(random, 8) == 0) {
            move_bytes(random, bytes);
        } else if (strcmp(format, "onnx") == 0) {
            change_message(random, bytes, 0, bytes->length, 0);
        } else if (strcmp(format, "bson") == 0) {
            flip_bytes(random, bytes);
        } else {
            change_token(random, bytes);
        }
    }
}
