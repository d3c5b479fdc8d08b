/* read_values.c - values from a document: plain ones, and the typed forms that mdf-run writes. See values.h.
 *
 *     {"type": "float32", "shape": [2, 0], "data": [flat or nested]}     an array; "shape" may be left out
 *     {"sequence": [value, ...]}                                         a list
 *     null                                                               nothing
 *
 * Numbers must lie in the range of their type, whole ones be whole. Recursion is bounded by the document's depth. */
#include "mdf_c/values/values.h"

#include <string.h>

/* What a value is made of and for. */
struct reader {
    struct mdf_memory *memory;
    const struct mdf_document *document;
    mdf_error *error;
};

static mdf_status out_of_memory(const struct reader *reader)
{
    return mdf_memory_error(reader->memory, reader->error);
}

/* ------------------------------------------------------------------ typed arrays */

/* The sizes in "shape"; NULL on error. The caller releases them. */
static int64_t *read_shape(const struct reader *reader, const struct mdf_node *given, size_t *rank)
{
    int64_t *shape = mdf_memory_allocate_zeroed(reader->memory, mdf_node_length(given), sizeof *shape);
    struct mdf_node item;
    size_t i;

    if (shape == NULL) {
        out_of_memory(reader);
        return NULL;
    }
    for (i = 0; i < mdf_node_length(given); i++) {
        if (!mdf_node_item(given, i, &item) || item.kind != MDF_NODE_INT || item.as.integer < 0) {
            break;
        }
        shape[i] = item.as.integer;
    }
    *rank = i;
    if ((given->kind != MDF_NODE_LIST && given->kind != MDF_NODE_NUMBERS) || i != mdf_node_length(given)) {
        mdf_node_error(reader->document, given, reader->error, MDF_SHAPE, "\"shape\" must be a list of sizes");
        mdf_memory_release(reader->memory, shape);
        return NULL;
    }
    return shape;
}

static mdf_status read_typed(const struct reader *reader, const struct mdf_node *typed, struct mdf_value *value)
{
    const struct mdf_node *type = mdf_node_get(typed, "type"), *data = mdf_node_get(typed, "data"),
                          *given = mdf_node_get(typed, "shape");
    struct mdf_declared_type declared;
    int64_t *shape = NULL;
    size_t rank = 0;
    bool done;

    if (type->kind != MDF_NODE_STRING || !mdf_parse_type(type->as.string.bytes, &declared) || declared.dtype == MDF_DTYPE_NONE ||
        declared.sequence) {
        return mdf_node_error(reader->document, type, reader->error, MDF_TYPE,
                              "\"type\" must name an element type, as \"float32\" does");
    }
    shape = given != NULL ? read_shape(reader, given, &rank) : NULL;
    if (given != NULL && shape == NULL) {
        return reader->error != NULL ? reader->error->code : MDF_SHAPE;
    }
    done = mdf_node_to_array(reader->memory, reader->document, data, declared.dtype, rank, shape, value, reader->error);
    mdf_memory_release(reader->memory, shape);
    return done ? MDF_OK : reader->error != NULL ? reader->error->code : MDF_VALUE;
}

/* ------------------------------------------------------------------ values */

static mdf_status read_node(const struct reader *reader, const struct mdf_node *node, struct mdf_value *value);

/* The element type that all arrays of a list share is that of the sequence. */
static void note_sequence_type(struct mdf_value *list)
{
    const struct mdf_value *items = mdf_value_items(list);

    list->dtype = MDF_DTYPE_NONE;
    for (size_t i = 0; i < list->length; i++) {
        if (!mdf_value_is_tensor(&items[i]) || items[i].dtype != items[0].dtype) {
            return;
        }
    }
    if (list->length > 0) {
        list->dtype = items[0].dtype;
    }
}

static mdf_status read_sequence(const struct reader *reader, const struct mdf_node *node, struct mdf_value *value)
{
    size_t n = mdf_node_length(node), i;
    struct mdf_value *items;
    mdf_status status = MDF_OK;
    struct mdf_node item;

    if (node->kind != MDF_NODE_LIST && node->kind != MDF_NODE_NUMBERS) {
        return mdf_node_error(reader->document, node, reader->error, MDF_TYPE, "\"sequence\" must be a list");
    }
    items = mdf_value_make_list(reader->memory, value, n);
    if (items == NULL) {
        return out_of_memory(reader);
    }
    for (i = 0; i < n && status == MDF_OK && mdf_node_item(node, i, &item); i++) {
        status = read_node(reader, &item, &items[i]);
    }
    note_sequence_type(value);
    return status;
}

static mdf_status read_object(const struct reader *reader, const struct mdf_node *node, struct mdf_value *value)
{
    size_t n = node->as.object.n;
    struct mdf_value *pairs;
    mdf_status status = MDF_OK;

    if (n == 1 && strcmp(node->as.object.entries[0].key, "sequence") == 0) {
        return read_sequence(reader, &node->as.object.entries[0].value, value);
    }
    if (mdf_node_get(node, "type") != NULL && mdf_node_get(node, "data") != NULL &&
        n == 2 + (mdf_node_get(node, "shape") != NULL)) {
        return read_typed(reader, node, value);
    }
    pairs = mdf_value_make_dict(reader->memory, value, n);
    if (pairs == NULL) {
        return out_of_memory(reader);
    }
    for (size_t i = 0; i < n && status == MDF_OK; i++) {
        const struct mdf_node_entry *entry = &node->as.object.entries[i];

        if (!mdf_value_make_string(reader->memory, &pairs[2 * i], entry->key, strlen(entry->key))) {
            return out_of_memory(reader);
        }
        status = read_node(reader, &entry->value, &pairs[2 * i + 1]);
    }
    return status;
}

/* Whether typed forms stand below a list. */
static bool holds_objects(const struct mdf_node *list)
{
    for (size_t i = 0; list->kind == MDF_NODE_LIST && i < list->as.list.n; i++) {
        const struct mdf_node *item = &list->as.list.items[i];

        if (item->kind == MDF_NODE_OBJECT || holds_objects(item)) {
            return true;
        }
    }
    return false;
}

static mdf_status read_node(const struct reader *reader, const struct mdf_node *node, struct mdf_value *value)
{
    if (node->kind == MDF_NODE_OBJECT) {
        return read_object(reader, node, value);
    }
    if (holds_objects(node)) {
        return read_sequence(reader, node, value);
    }
    return mdf_node_to_value(reader->memory, value, node, false, reader->error) ? MDF_OK : out_of_memory(reader);
}

mdf_status mdf_read_value(struct mdf_memory *memory, const struct mdf_document *document, const struct mdf_node *node,
                          struct mdf_value *value, mdf_error *error)
{
    struct reader reader = {memory, document, error};
    mdf_status status = read_node(&reader, node, value);

    if (status != MDF_OK) {
        mdf_value_clear(memory, value);
    }
    return status;
}
