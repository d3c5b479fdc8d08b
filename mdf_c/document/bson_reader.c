/* bson_reader.c - BSON into the tree, with libbson's iterator, which checks every length before it is used.
 *
 * Read are the types that JSON has too: double, int32, int64, bool, UTF-8 string, null, array, document. BSON has no lines:
 * errors name the place by keys and the offset in bytes. Recursion is bounded by the builder's limit on depth.
 * bson_validate is not used: it recurses without a bound, and what it checks is checked here. */
#include "mdf_c/document/formats.h"

#include <bson/bson.h>
#include <string.h>

/* Where the document that is being read begins in the file. */
struct bson_place {
    struct mdf_tree *tree;
    size_t offset;
};

static bool fail(const struct bson_place *place, size_t offset, const char *message)
{
    char path[512];

    mdf_tree_path(place->tree, path, sizeof path);
    mdf_tree_fail(place->tree, MDF_SYNTAX, 0, 0, "%s, at byte %zu", message, place->offset + offset);
    if (path[0] != '\0') {
        mdf_error_in(place->tree->error, "%s", path);
    }
    return false;
}

static const char *type_name(bson_type_t type)
{
    static const struct {
        bson_type_t type;
        const char *name;
    } names[] = {
        {BSON_TYPE_BINARY, "binary data"},
        {BSON_TYPE_UNDEFINED, "undefined"},
        {BSON_TYPE_OID, "ObjectId"},
        {BSON_TYPE_DATE_TIME, "date"},
        {BSON_TYPE_REGEX, "regular expression"},
        {BSON_TYPE_DBPOINTER, "DBPointer"},
        {BSON_TYPE_CODE, "JavaScript code"},
        {BSON_TYPE_SYMBOL, "symbol"},
        {BSON_TYPE_CODEWSCOPE, "JavaScript code with scope"},
        {BSON_TYPE_TIMESTAMP, "timestamp"},
        {BSON_TYPE_MAXKEY, "max key"},
        {BSON_TYPE_MINKEY, "min key"},
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].type == type) {
            return names[i].name;
        }
    }
    return "unknown";
}

static bool fail_type(const struct bson_place *place, const bson_iter_t *iterator)
{
    char message[128];

    snprintf(message, sizeof message, "the BSON type '%s' (0x%02x) has no place in a model", type_name(bson_iter_type(iterator)),
             (unsigned)bson_iter_type(iterator) & 0xff);
    return fail(place, bson_iter_offset((bson_iter_t *)(uintptr_t)iterator), message);
}

static bool read_entries(const struct bson_place *place, bson_iter_t *iterator);

static bool read_container(const struct bson_place *place, bson_iter_t *iterator, enum mdf_node_kind kind)
{
    struct bson_place inner = {place->tree, place->offset};
    const uint8_t *bytes;
    uint32_t length = 0;
    bson_iter_t child;
    struct mdf_node node;

    if (kind == MDF_NODE_LIST) {
        bson_iter_array(iterator, &length, &bytes);
    } else {
        bson_iter_document(iterator, &length, &bytes);
    }
    inner.offset += (size_t)(bytes - iterator->raw);
    if (!bson_iter_init_from_data(&child, bytes, length)) {
        return fail(&inner, 0, "the BSON document is malformed");
    }
    return mdf_tree_open(place->tree, kind, 0, 0) && read_entries(&inner, &child) && mdf_tree_close(place->tree, &node, false) &&
           mdf_tree_add(place->tree, &node);
}

static bool read_string(const struct bson_place *place, const bson_iter_t *iterator)
{
    struct mdf_node node = {.kind = MDF_NODE_STRING};
    uint32_t length = 0;
    const char *bytes = bson_iter_utf8(iterator, &length);

    if (mdf_utf8_valid_length(bytes, length) != length) {
        return fail(place, (size_t)((const uint8_t *)bytes - iterator->raw), "a string is not valid UTF-8");
    }
    node.as.string.length = length;
    node.as.string.bytes = mdf_arena_text(&place->tree->document->arena, bytes, length);
    return node.as.string.bytes != NULL ? mdf_tree_add(place->tree, &node) : mdf_tree_out_of_memory(place->tree);
}

/* A decimal number: whole ones are written so where they are past 64 bits. */
static bool read_decimal(const struct bson_place *place, const bson_iter_t *iterator)
{
    struct mdf_node node = {.kind = MDF_NODE_REAL};
    char text[BSON_DECIMAL128_STRING];
    bson_decimal128_t decimal;
    int64_t integer;
    bool is_integer;

    bson_iter_decimal128(iterator, &decimal);
    bson_decimal128_to_string(&decimal, text);
    if (!mdf_parse_python_number(text, &node.as.real, &integer, &is_integer)) {
        return fail(place, bson_iter_offset((bson_iter_t *)(uintptr_t)iterator), "a decimal number can not be read");
    }
    if (is_integer) {
        return mdf_tree_add_number(place->tree, MDF_DTYPE_INT64, (uint64_t)integer, 0, 0);
    }
    if (text[strspn(text, "-0123456789")] == '\0') {
        node.digits = mdf_arena_text(&place->tree->document->arena, text, strlen(text));
        if (node.digits == NULL) {
            return mdf_tree_out_of_memory(place->tree);
        }
    }
    return mdf_tree_add(place->tree, &node);
}

static bool read_value(const struct bson_place *place, bson_iter_t *iterator)
{
    struct mdf_node null = {.kind = MDF_NODE_NULL};
    uint64_t bits;
    double real;

    switch (bson_iter_type(iterator)) {
    case BSON_TYPE_DOUBLE:
        real = bson_iter_double(iterator);
        memcpy(&bits, &real, sizeof bits);
        return mdf_tree_add_number(place->tree, MDF_DTYPE_FLOAT64, bits, 0, 0);
    case BSON_TYPE_INT32:
    case BSON_TYPE_INT64:
        return mdf_tree_add_number(place->tree, MDF_DTYPE_INT64, (uint64_t)bson_iter_as_int64(iterator), 0, 0);
    case BSON_TYPE_BOOL:
        return mdf_tree_add_number(place->tree, MDF_DTYPE_BOOL, bson_iter_bool(iterator), 0, 0);
    case BSON_TYPE_DECIMAL128:
        return read_decimal(place, iterator);
    case BSON_TYPE_NULL:
        return mdf_tree_add(place->tree, &null);
    case BSON_TYPE_UTF8:
        return read_string(place, iterator);
    case BSON_TYPE_ARRAY:
        return read_container(place, iterator, MDF_NODE_LIST);
    case BSON_TYPE_DOCUMENT:
        return read_container(place, iterator, MDF_NODE_OBJECT);
    default:
        return fail_type(place, iterator);
    }
}

static bool read_key(const struct bson_place *place, const bson_iter_t *iterator)
{
    const char *text = bson_iter_key(iterator), *key;
    size_t length = strlen(text);

    if (mdf_utf8_valid_length(text, length) != length) {
        return fail(place, (size_t)((const uint8_t *)text - iterator->raw), "a key is not valid UTF-8");
    }
    key = mdf_arena_text(&place->tree->document->arena, text, length);
    if (key == NULL) {
        return mdf_tree_out_of_memory(place->tree);
    }
    mdf_tree_key(place->tree, key, 0, 0);
    return true;
}

static bool read_entries(const struct bson_place *place, bson_iter_t *iterator)
{
    bool is_object = mdf_tree_top(place->tree)->kind == MDF_NODE_OBJECT;

    while (bson_iter_next(iterator)) {
        if ((is_object && !read_key(place, iterator)) || !read_value(place, iterator)) {
            return false;
        }
    }
    return iterator->err_off == 0 || fail(place, iterator->err_off, "the BSON document is malformed");
}

bool mdf_bson_read(struct mdf_tree *tree, const void *bytes, size_t size_bytes)
{
    struct bson_place place = {tree, 0};
    const uint8_t *raw = bytes;
    uint32_t declared;
    bson_iter_t iterator;
    struct mdf_node node;

    if (size_bytes == 0) {
        return mdf_tree_fail(tree, MDF_SYNTAX, 0, 0, "the file is empty");
    }
    if (size_bytes < 5) {
        return mdf_tree_fail(tree, MDF_SYNTAX, 0, 0, "the file has %zu bytes; a BSON document has at least 5", size_bytes);
    }
    declared = raw[0] | (uint32_t)raw[1] << 8 | (uint32_t)raw[2] << 16 | (uint32_t)raw[3] << 24;
    if (declared != size_bytes) {
        return mdf_tree_fail(tree, MDF_SYNTAX, 0, 0, "the BSON document says that it has %u bytes, but the file has %zu",
                             declared, size_bytes);
    }
    if (!bson_iter_init_from_data(&iterator, raw, size_bytes)) {
        return mdf_tree_fail(tree, MDF_SYNTAX, 0, 0, "the BSON document is malformed");
    }
    return mdf_tree_open(tree, MDF_NODE_OBJECT, 0, 0) && read_entries(&place, &iterator) && mdf_tree_close(tree, &node, false) &&
           mdf_tree_add(tree, &node);
}
