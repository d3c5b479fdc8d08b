/* bson_writer.c - a tree as BSON bytes, through libbson.
 *
 * libbson ends the process where its own allocation fails, so it is given a buffer of the caller's memory that is large
 * enough from the start: the size of the document is computed first. Whole numbers are int32 where they fit (as pymongo
 * writes them), else int64, past that decimals. */
#include "mdf_c/document/formats.h"

#include <bson/bson.h>
#include <stdlib.h>
#include <string.h>

enum { EMPTY_DOCUMENT_BYTES = 5, DECIMAL_BYTES = 16, MOST_DECIMAL_DIGITS = 34 };

static bool is_small(int64_t integer)
{
    return integer >= INT32_MIN && integer <= INT32_MAX;
}

/* Whether an item of packed numbers is a whole number that has no room in an int64: it becomes a decimal, as such numbers do. */
static bool is_wide(const struct mdf_node *list, const struct mdf_node *item)
{
    return list->kind == MDF_NODE_NUMBERS && list->packed_dtype == MDF_DTYPE_UINT64 && item->kind == MDF_NODE_REAL;
}

/* ------------------------------------------------------------------ size */

static bool add_size(const struct mdf_node *node, size_t *size, mdf_error *error);

/* Entries with keys "0", "1", ... : type, key and its terminator, value. */
static bool add_list_size(const struct mdf_node *node, size_t *size, mdf_error *error)
{
    size_t n = mdf_node_length(node), i, next_power = 10, n_digits = 1;
    struct mdf_node item;

    *size += EMPTY_DOCUMENT_BYTES;
    for (i = 0; i < n; i++) {
        if (i == next_power) {
            next_power *= 10;
            n_digits++;
        }
        *size += 1 + n_digits + 1;
        if (!mdf_node_item(node, i, &item) || !add_size(&item, size, error)) {
            return false;
        }
        *size += is_wide(node, &item) ? DECIMAL_BYTES - sizeof(double) : 0;
    }
    return true;
}

static bool add_object_size(const struct mdf_node *node, size_t *size, mdf_error *error)
{
    size_t i;

    *size += EMPTY_DOCUMENT_BYTES;
    for (i = 0; i < node->as.object.n; i++) {
        *size += 1 + strlen(node->as.object.entries[i].key) + 1;
        if (!add_size(&node->as.object.entries[i].value, size, error)) {
            return false;
        }
    }
    return true;
}

/* Adds the bytes of a value without its type and key; false where BSON can not hold it. */
static bool add_size(const struct mdf_node *node, size_t *size, mdf_error *error)
{
    bool done = true;

    switch (node->kind) {
    case MDF_NODE_NULL:
        break;
    case MDF_NODE_BOOL:
        *size += 1;
        break;
    case MDF_NODE_INT:
        *size += is_small(node->as.integer) ? 4 : 8;
        break;
    case MDF_NODE_REAL:
        *size += node->digits != NULL ? DECIMAL_BYTES : sizeof(double);
        if (node->digits != NULL && strlen(node->digits) - (node->digits[0] == '-') > MOST_DECIMAL_DIGITS) {
            mdf_error_set(error, MDF_VALUE, "BSON can not hold the whole number %.40s, which has more than %d digits",
                          node->digits, MOST_DECIMAL_DIGITS);
            done = false;
        }
        break;
    case MDF_NODE_STRING:
        *size += 4 + node->as.string.length + 1;
        break;
    case MDF_NODE_OBJECT:
        done = add_object_size(node, size, error);
        break;
    default:
        done = add_list_size(node, size, error);
        break;
    }
    if (done && *size > INT32_MAX) {
        mdf_error_set(error, MDF_LIMIT, "BSON can not hold more than 2 GB");
        done = false;
    }
    return done;
}

/* ------------------------------------------------------------------ content */

static bool append_value(bson_t *parent, const char *key, size_t key_length, const struct mdf_node *node);

static bool append_list(bson_t *parent, const char *key, size_t key_length, const struct mdf_node *node)
{
    size_t n = mdf_node_length(node), i;
    char digits[MDF_NUMBER_TEXT_SIZE];
    struct mdf_node item;
    bson_t child;

    if (!bson_append_array_begin(parent, key, (int)key_length, &child)) {
        return false;
    }
    for (i = 0; i < n; i++) {
        char room[16];
        const char *number;
        size_t length = bson_uint32_to_string((uint32_t)i, &number, room, sizeof room);

        if (!mdf_node_item(node, i, &item)) {
            return false;
        }
        if (is_wide(node, &item)) {
            mdf_format_element(MDF_DTYPE_UINT64, (const uint64_t *)node->as.numbers.elements + i, digits);
            item.digits = digits;
        }
        if (!append_value(&child, number, length, &item)) {
            return false;
        }
    }
    return bson_append_array_end(parent, &child);
}

static bool append_entries(bson_t *document, const struct mdf_node *node)
{
    size_t i;

    for (i = 0; i < node->as.object.n; i++) {
        const struct mdf_node_entry *entry = &node->as.object.entries[i];

        if (!append_value(document, entry->key, strlen(entry->key), &entry->value)) {
            return false;
        }
    }
    return true;
}

static bool append_object(bson_t *parent, const char *key, size_t key_length, const struct mdf_node *node)
{
    bson_t child;

    return bson_append_document_begin(parent, key, (int)key_length, &child) && append_entries(&child, node) &&
           bson_append_document_end(parent, &child);
}

static bool append_value(bson_t *parent, const char *key, size_t key_length, const struct mdf_node *node)
{
    int length = (int)key_length;
    bson_decimal128_t decimal;

    switch (node->kind) {
    case MDF_NODE_NULL:
        return bson_append_null(parent, key, length);
    case MDF_NODE_BOOL:
        return bson_append_bool(parent, key, length, node->as.truth);
    case MDF_NODE_INT:
        return is_small(node->as.integer) ? bson_append_int32(parent, key, length, (int32_t)node->as.integer)
                                          : bson_append_int64(parent, key, length, node->as.integer);
    case MDF_NODE_REAL:
        if (node->digits != NULL) {
            return bson_decimal128_from_string(node->digits, &decimal) && bson_append_decimal128(parent, key, length, &decimal);
        }
        return bson_append_double(parent, key, length, node->as.real);
    case MDF_NODE_STRING:
        return bson_append_utf8(parent, key, length, node->as.string.bytes, (int)node->as.string.length);
    case MDF_NODE_OBJECT:
        return append_object(parent, key, key_length, node);
    default:
        return append_list(parent, key, key_length, node);
    }
}

/* Never called: the buffer has its final size. */
static void *refuse_to_grow(void *block, size_t size, void *context)
{
    (void)block;
    (void)size;
    (void)context;
    return NULL;
}

/* A document over a buffer, empty so far. libbson allocates its handle (128 bytes) and would end the process where that
 * fails, so whether it can be had is tried before. */
static bson_t *open_document(uint8_t **buffer, size_t *capacity)
{
    static const uint8_t empty[EMPTY_DOCUMENT_BYTES] = {EMPTY_DOCUMENT_BYTES, 0, 0, 0, 0};
    void *trial = malloc(4096);

    if (trial == NULL) {
        return NULL;
    }
    free(trial);
    memcpy(*buffer, empty, sizeof empty);
    return bson_new_from_buffer(buffer, capacity, refuse_to_grow, NULL);
}

bool mdf_bson_write(const struct mdf_node *root, struct mdf_text *text, mdf_error *error)
{
    size_t size = 0, capacity;
    bson_t *document = NULL;
    uint8_t *buffer;
    bool done;

    if (root->kind != MDF_NODE_OBJECT) {
        mdf_error_set(error, MDF_VALUE, "BSON holds an object, not %s", mdf_node_describe(root));
        return false;
    }
    if (!add_size(root, &size, error)) {
        return false;
    }
    capacity = size + MDF_DOCUMENT_MAX_DEPTH + 16; /* libbson reserves a byte for each document that is open */
    buffer = mdf_memory_allocate(text->memory, capacity);
    if (buffer != NULL) {
        document = open_document(&buffer, &capacity);
    }
    done = document != NULL && append_entries(document, root);
    if (done) {
        mdf_text_append(text, (const char *)buffer, document->len);
    }
    bson_destroy(document);
    mdf_memory_release(text->memory, buffer);
    if (!done || text->failed) {
        mdf_memory_error(text->memory, error);
        return false;
    }
    return true;
}
