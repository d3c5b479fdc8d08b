/* test_document_random.c - documents made and damaged at random (from fixed seeds). Jansson is the oracle for JSON: both readers
 * must agree on every text, apart from what is read beyond RFC 8259 on purpose. What is written in any format reads back to the
 * same tree, and no damage to a file does more than end in an error. */
#include "tests/support/document_notation.h"

#include <jansson.h>
#include <math.h>

TestSuite(document_random, .init = set_up, .fini = tear_down);

static uint64_t random_state;

static size_t below(size_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)((random_state >> 11) % n);
}

static void random_number(struct mdf_text *text, size_t kind)
{
    static const char *const odd[] = {"0",
                                      "-0.0",
                                      "9223372036854775807",
                                      "-9223372036854775808",
                                      "5e-324",
                                      "1.7976931348623157e308",
                                      "2.2250738585072011e-308",
                                      "0.1",
                                      "1e22",
                                      "9007199254740993.0"};

    if (kind == 0) {
        mdf_text_printf(text, "%d", (int)below(2000) - 1000);
    } else if (kind == 1) {
        mdf_text_printf(text, "%.*e", (int)below(18), (double)below(SIZE_MAX) / 1e10 - 1e8);
    } else if (kind == 2) {
        mdf_text_append_string(text, below(2) ? "true" : "false");
    } else {
        mdf_text_append_string(text, odd[below(COUNT(odd))]);
    }
}

static void random_string(struct mdf_text *text)
{
    static const char *const pieces[] = {
        "a",    "B c",  " ",   "\\n",  "\\u0000", "\\u0085", "\\u2028", "\\ufeff", "\xc3\xa9", "\xf0\x9f\x98\x80",
        "12",   ".5",   ": ",  " #",   "- ",      "<<",      "~",       "null",    "yes",      "'",
        "\\\"", "\\\\", "\\t", "\x7f", "{",       "[",       "&",       "*"};
    size_t n = below(5);

    mdf_text_append_string(text, "\"");
    while (n-- > 0) {
        mdf_text_append_string(text, pieces[below(COUNT(pieces))]);
    }
    mdf_text_append_string(text, "\"");
}

/* A key, now and then longer than a line, than what YAML reads before a colon without a mark (1024), or than its writer writes so. */
static void random_key(struct mdf_text *text)
{
    static const size_t lengths[] = {60, 96, 100, 110, 115, 116, 117, 118, 119, 120, 121, 126, 127, 128, 129, 1022, 1024, 1100};
    size_t n = below(3) == 0 ? lengths[below(COUNT(lengths))] : 0;

    mdf_text_printf(text, "\"k%d%s", (int)below(30), below(5) ? "" : ": yes");
    while (n-- > 0) {
        mdf_text_append_string(text, "b");
    }
    mdf_text_append_string(text, "\": ");
}

/* Lists in lists of numbers, now and then not rectangular or not of one kind. */
static void random_array(struct mdf_text *text, const size_t *shape, size_t rank, size_t kind)
{
    size_t n = shape[0] + (below(40) == 0), i;

    mdf_text_append_string(text, "[");
    for (i = 0; i < n; i++) {
        mdf_text_append_string(text, i == 0 ? "" : below(2) ? "," : " ,\n  ");
        if (rank > 1) {
            random_array(text, shape + 1, rank - 1, kind);
        } else {
            random_number(text, below(60) == 0 ? below(4) : kind);
        }
    }
    mdf_text_append_string(text, "]");
}

static void random_value(struct mdf_text *text, size_t depth)
{
    size_t shape[3] = {below(4), below(4), below(4)}, kind = below(depth > 4 ? 4 : 8), n = below(below(8) == 0 ? 20 : 4), i;

    if (kind < 2) {
        random_number(text, below(4));
    } else if (kind == 2) {
        random_string(text);
    } else if (kind == 3) {
        mdf_text_append_string(text, (const char *[]){"null", "{ }", "[ ]", "[[ ]]"}[below(4)]);
    } else if (kind == 4) {
        random_array(text, shape, 1 + below(3), below(4));
    } else {
        mdf_text_append_string(text, kind == 5 ? "[" : "{");
        for (i = 0; i < n; i++) {
            mdf_text_append_string(text, i > 0 ? "," : "");
            if (kind != 5) {
                random_key(text);
            }
            random_value(text, depth + 1);
        }
        mdf_text_append_string(text, kind == 5 ? "]" : "}");
    }
}

static void damage(struct mdf_text *text)
{
    static const char marks[] = "{}[],:\"\\ntfe01.-+ uE\xc3\xff'";
    size_t n = 1 + below(3), at;

    while (n-- > 0 && text->length > 1) {
        at = below(text->length);
        switch (below(3)) {
        case 0:
            text->bytes[at] = marks[below(sizeof marks - 1)];
            break;
        case 1:
            memmove(text->bytes + at, text->bytes + at + 1, text->length - at - 1);
            text->length--;
            break;
        default:
            text->length = below(4) == 0 ? at : text->length;
            break;
        }
    }
}

static bool agrees(const struct mdf_node *node, const json_t *value)
{
    struct mdf_node item;
    const json_t *found;
    size_t i;

    switch (node->kind) {
    case MDF_NODE_NULL:
        return json_is_null(value);
    case MDF_NODE_BOOL:
        return json_is_boolean(value) && json_is_true(value) == node->as.truth;
    case MDF_NODE_INT:
        return json_is_integer(value) && json_integer_value(value) == node->as.integer;
    case MDF_NODE_REAL:
        return json_is_real(value) && json_real_value(value) == node->as.real &&
               signbit(json_real_value(value)) == signbit(node->as.real);
    case MDF_NODE_STRING:
        return json_is_string(value) && json_string_length(value) == node->as.string.length &&
               memcmp(json_string_value(value), node->as.string.bytes, node->as.string.length) == 0;
    case MDF_NODE_OBJECT:
        for (i = 0; i < node->as.object.n; i++) {
            found = json_object_get(value, node->as.object.entries[i].key);
            if (found == NULL || !agrees(&node->as.object.entries[i].value, found)) {
                return false;
            }
        }
        return json_is_object(value) && json_object_size(value) == node->as.object.n;
    default:
        for (i = 0; mdf_node_item(node, i, &item); i++) {
            if (!agrees(&item, json_array_get(value, i))) {
                return false;
            }
        }
        return json_is_array(value) && json_array_size(value) == mdf_node_length(node);
    }
}

/* What Jansson refuses and this reader takes on purpose. */
static bool is_extension(const struct mdf_text *text, const json_error_t *refusal)
{
    return json_error_code(refusal) == json_error_numeric_overflow || strstr(text->bytes, "NaN") != NULL ||
           strstr(text->bytes, "Infinity") != NULL;
}

Test(document_random, json_agrees_with_jansson)
{
    struct mdf_text text;
    int round, n_read = 0;

    random_state = 20240229;
    for (round = 0; round < 20000; round++) {
        struct mdf_document *document;
        json_error_t refusal;
        mdf_error error;
        json_t *value;

        mdf_text_init(&text, &memory);
        random_value(&text, 0);
        if (round % 2 == 1) {
            damage(&text);
            text.bytes[text.length] = '\0';
        }
        document = parse_bytes("json", text.bytes, text.length, &error);
        value = json_loadb(text.bytes, text.length, JSON_DECODE_ANY | JSON_ALLOW_NUL, &refusal);
        cr_assert((document != NULL) == (value != NULL) || (document != NULL && is_extension(&text, &refusal)), "%s: %s / %s",
                  text.bytes, error.message, refusal.text);
        cr_assert(document != NULL || (error.line > 0 && error.column > 0), "%s: no position", text.bytes);
        if (document != NULL && value != NULL) {
            cr_assert(agrees(&document->root, value), "%s", text.bytes);
            n_read++;
        }
        json_decref(value);
        mdf_document_free(document);
        mdf_text_release(&text);
    }
    cr_expect_gt(n_read, 9000);
}

/* ------------------------------------------------------------------ writing and damage */

static void check_round_trip(const struct mdf_node *root, const char *format)
{
    struct mdf_text written, before, after;
    struct mdf_document *again;
    mdf_error error;

    if (!write_tree(root, format, &written, &error)) {
        cr_assert(strcmp(format, "bson") == 0 && strstr(error.message, "BSON") != NULL, "%s", error.message);
        mdf_text_release(&written);
        return;
    }
    again = parse_bytes(format, written.bytes, written.length, &error);
    cr_assert(again != NULL, "%s\n%d:%d: %s", written.bytes, error.line, error.column, error.message);
    mdf_text_init(&before, &memory);
    mdf_text_init(&after, &memory);
    dump(&before, root);
    dump(&after, &again->root);
    cr_assert(before.length == after.length && memcmp(before.bytes, after.bytes, before.length) == 0, "%s: %s / %s / %s", format,
              before.bytes, written.bytes, after.bytes);
    mdf_text_release(&before);
    mdf_text_release(&after);
    mdf_text_release(&written);
    mdf_document_free(again);
}

Test(document_random, what_is_written_reads_back)
{
    struct mdf_text text;
    int round;

    random_state = 7919;
    for (round = 0; round < 3000; round++) {
        struct mdf_document *document;
        mdf_error error;

        mdf_text_init(&text, &memory);
        random_value(&text, 0);
        document = parse_bytes("json", text.bytes, text.length, &error);
        cr_assert_not_null(document, "%s", text.bytes);
        check_round_trip(&document->root, "json");
        check_round_trip(&document->root, "yaml");
        check_round_trip(&document->root, "bson");
        mdf_document_free(document);
        mdf_text_release(&text);
    }
}

Test(document_random, damaged_files_end_in_an_error_or_a_tree)
{
    static const char *const formats[] = {"yaml", "bson"};
    struct mdf_text source, text;
    size_t round, i;

    random_state = 104729;
    for (round = 0; round < 3000; round++) {
        struct mdf_document *document;
        mdf_error error;

        mdf_text_init(&source, &memory);
        mdf_text_append_string(&source, "{\"a\": ");
        random_value(&source, 0);
        mdf_text_append_string(&source, "}");
        document = parse_bytes("json", source.bytes, source.length, &error);
        cr_assert_not_null(document);
        for (i = 0; i < COUNT(formats); i++) {
            if (write_tree(&document->root, formats[i], &text, &error)) {
                damage(&text);
                if (i == 1 && text.length >= 4 && below(4) > 0) { /* let it pass the first check */
                    memcpy(text.bytes, &(uint32_t){(uint32_t)text.length}, 4);
                }
                mdf_document_free(parse_bytes(formats[i], text.bytes, text.length, &error));
            }
            mdf_text_release(&text);
        }
        mdf_document_free(document);
        mdf_text_release(&source);
    }
}
