/* bson_writer.c - a tree as BSON bytes (bsonspec.org).
 *
 * The bytes are written here, not by libbson, which ends the process where its own allocation fails; what is called of it, here
 * and in bson_reader.c, allocates nothing. Whole numbers are int32 where they fit (as pymongo writes them), else int64, past that
 * decimals. Recursion is bounded by the document's depth. */
#include "mdf_c/document/formats.h"

#include <bson/bson.h>
#include <string.h>

enum { MOST_DECIMAL_DIGITS = 34 };

struct bson_writer {
    struct mdf_text *text;
    mdf_error *error;
};

static bool fail(const struct bson_writer *writer, mdf_status status, const char *message)
{
    mdf_error_set(writer->error, status, "%s", message);
    return false;
}

/* ------------------------------------------------------------------ scalars */

/* BSON is little-endian. */
static void put_word(struct mdf_text *text, uint64_t word, size_t n_bytes)
{
    char bytes[sizeof word];

    for (size_t i = 0; i < n_bytes; i++) {
        bytes[i] = (char)(word >> 8 * i & 0xff);
    }
    mdf_text_append(text, bytes, n_bytes);
}

/* What precedes each value. */
static void put_head(struct mdf_text *text, bson_type_t type, const char *key)
{
    put_word(text, (uint64_t)type, 1);
    mdf_text_append(text, key, strlen(key) + 1);
}

static void put_integer(struct mdf_text *text, const char *key, int64_t integer)
{
    bool is_small = integer >= INT32_MIN && integer <= INT32_MAX;

    put_head(text, is_small ? BSON_TYPE_INT32 : BSON_TYPE_INT64, key);
    put_word(text, (uint64_t)integer, is_small ? sizeof(int32_t) : sizeof(int64_t));
}

static void put_real(struct mdf_text *text, const char *key, double real)
{
    uint64_t bits;

    memcpy(&bits, &real, sizeof bits);
    put_head(text, BSON_TYPE_DOUBLE, key);
    put_word(text, bits, sizeof bits);
}

/* A whole number past 64 bits. */
static bool put_decimal(const struct bson_writer *writer, const char *key, const char *digits)
{
    bson_decimal128_t decimal;

    if (strlen(digits) - (digits[0] == '-') > MOST_DECIMAL_DIGITS || !bson_decimal128_from_string(digits, &decimal)) {
        mdf_error_set(writer->error, MDF_VALUE, "BSON can not hold the whole number %.40s, which has more than %d digits", digits,
                      MOST_DECIMAL_DIGITS);
        return false;
    }
    put_head(writer->text, BSON_TYPE_DECIMAL128, key);
    put_word(writer->text, decimal.low, sizeof decimal.low);
    put_word(writer->text, decimal.high, sizeof decimal.high);
    return true;
}

static bool put_string(const struct bson_writer *writer, const char *key, const char *bytes, size_t length)
{
    if (length >= INT32_MAX) {
        return fail(writer, MDF_LIMIT, "BSON can not hold more than 2 GB");
    }
    put_head(writer->text, BSON_TYPE_UTF8, key);
    put_word(writer->text, length + 1, sizeof(int32_t));
    mdf_text_append(writer->text, bytes, length);
    mdf_text_append(writer->text, "", 1);
    return true;
}

/* ------------------------------------------------------------------ lists and objects */

static bool put_value(const struct bson_writer *writer, const char *key, const struct mdf_node *node);

/* The beginning of a document, whose length is known at its end. */
static size_t open_document(struct mdf_text *text)
{
    size_t start = text->length;

    put_word(text, 0, sizeof(int32_t));
    return start;
}

static bool close_document(const struct bson_writer *writer, size_t start)
{
    struct mdf_text *text = writer->text;
    size_t length;

    mdf_text_append(text, "", 1);
    if (text->failed) {
        mdf_memory_error(text->memory, writer->error);
        return false;
    }
    length = text->length - start;
    if (length > INT32_MAX) {
        return fail(writer, MDF_LIMIT, "BSON can not hold more than 2 GB");
    }
    for (size_t i = 0; i < sizeof(int32_t); i++) {
        text->bytes[start + i] = (char)(length >> 8 * i & 0xff);
    }
    return true;
}

static bool put_object(const struct bson_writer *writer, const struct mdf_node *node)
{
    size_t start = open_document(writer->text), i;

    for (i = 0; i < node->as.object.n; i++) {
        if (!put_value(writer, node->as.object.entries[i].key, &node->as.object.entries[i].value)) {
            return false;
        }
    }
    return close_document(writer, start);
}

/* Items have the keys "0", "1", ... Of packed numbers, a whole one that has no room in an int64 becomes a decimal. */
static bool put_list(const struct bson_writer *writer, const struct mdf_node *node)
{
    size_t start = open_document(writer->text), n = mdf_node_length(node), i;
    char digits[MDF_NUMBER_TEXT_SIZE], key[24];
    struct mdf_node item;

    for (i = 0; i < n; i++) {
        if (!mdf_node_item(node, i, &item)) {
            return fail(writer, MDF_OUT_OF_MEMORY, "out of memory");
        }
        if (node->kind == MDF_NODE_NUMBERS && node->packed_dtype == MDF_DTYPE_UINT64 && item.kind == MDF_NODE_REAL) {
            mdf_format_element(MDF_DTYPE_UINT64, (const uint64_t *)node->as.numbers.elements + i, digits);
            item.digits = digits;
        }
        snprintf(key, sizeof key, "%zu", i);
        if (!put_value(writer, key, &item)) {
            return false;
        }
    }
    return close_document(writer, start);
}

static bool put_value(const struct bson_writer *writer, const char *key, const struct mdf_node *node)
{
    switch (node->kind) {
    case MDF_NODE_NULL:
        put_head(writer->text, BSON_TYPE_NULL, key);
        return true;
    case MDF_NODE_BOOL:
        put_head(writer->text, BSON_TYPE_BOOL, key);
        put_word(writer->text, node->as.truth, 1);
        return true;
    case MDF_NODE_INT:
        put_integer(writer->text, key, node->as.integer);
        return true;
    case MDF_NODE_REAL:
        if (node->digits != NULL) {
            return put_decimal(writer, key, node->digits);
        }
        put_real(writer->text, key, node->as.real);
        return true;
    case MDF_NODE_STRING:
        return put_string(writer, key, node->as.string.bytes, node->as.string.length);
    case MDF_NODE_OBJECT:
        put_head(writer->text, BSON_TYPE_DOCUMENT, key);
        return put_object(writer, node);
    case MDF_NODE_LIST:
    case MDF_NODE_NUMBERS:
        put_head(writer->text, BSON_TYPE_ARRAY, key);
        return put_list(writer, node);
    }
    return fail(writer, MDF_VALUE, "BSON has no such value");
}

bool mdf_bson_write(const struct mdf_node *root, struct mdf_text *text, mdf_error *error)
{
    const struct bson_writer writer = {text, error};

    if (root->kind != MDF_NODE_OBJECT) {
        mdf_error_set(error, MDF_VALUE, "BSON holds an object, not %s", mdf_node_describe(root));
        return false;
    }
    return put_object(&writer, root);
}
