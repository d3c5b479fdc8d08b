/* json_writer.c - a tree as JSON text, through cJSON.
 *
 * cJSON holds the structure and escapes strings. Numbers are raw items with text of our own, since cJSON
 * would turn them into doubles of at most 17 digits; so are texts with a NUL in them, which cJSON's strings end at. What it
 * prints has no white space; json_layout.c puts it on lines. See docs/decisions/json-writing.md. */
#include "mdf_c/document/formats.h"

#include <cJSON.h>
#include <inttypes.h>
#include <string.h>

struct json_writer {
    struct mdf_text scratch; /* the text of one raw item */
    mdf_error *error;
};

static cJSON *out_of_memory(const struct json_writer *writer)
{
    mdf_memory_error(writer->scratch.memory, writer->error);
    return NULL;
}

/* ------------------------------------------------------------------ raw items */

/* What has been put into scratch, as an item. */
static cJSON *raw_item(struct json_writer *writer)
{
    cJSON *item = writer->scratch.failed ? NULL : cJSON_CreateRaw(writer->scratch.bytes);

    return item != NULL ? item : out_of_memory(writer);
}

static void append_scalar(struct mdf_text *text, const struct mdf_node *node)
{
    char number[MDF_NUMBER_TEXT_SIZE];

    if (node->kind == MDF_NODE_INT) {
        mdf_text_printf(text, "%" PRId64, node->as.integer);
    } else if (node->kind == MDF_NODE_BOOL) {
        mdf_text_append_string(text, node->as.truth ? "true" : "false");
    } else if (node->digits != NULL) {
        mdf_text_append_string(text, node->digits);
    } else {
        mdf_text_append(text, number, mdf_format_float64(node->as.real, number));
    }
}

static void append_numbers(struct mdf_text *text, const struct mdf_node *node)
{
    mdf_dtype dtype = (mdf_dtype)node->packed_dtype;
    const char *elements = node->as.numbers.elements;
    size_t n = mdf_node_length(node), i;
    char number[MDF_NUMBER_TEXT_SIZE];
    struct mdf_node item;

    mdf_text_append_string(text, "[");
    for (i = 0; i < n; i++) {
        mdf_text_append_string(text, i == 0 ? "" : ",");
        if (node->as.numbers.rank == 1) {
            mdf_text_append(text, number, mdf_format_element(dtype, elements + i * mdf_dtype_size(dtype), number));
        } else if (mdf_node_item(node, i, &item)) {
            append_numbers(text, &item);
        }
    }
    mdf_text_append_string(text, "]");
}

static void append_escaped(struct mdf_text *text, const char *bytes, size_t length)
{
    mdf_text_append_string(text, "\"");
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)bytes[i];

        if (c < 0x20) {
            mdf_text_printf(text, "\\u%04x", c);
        } else {
            mdf_text_append(text, "\\", c == '"' || c == '\\');
            mdf_text_append(text, bytes + i, 1);
        }
    }
    mdf_text_append_string(text, "\"");
}

/* ------------------------------------------------------------------ structure */

static cJSON *make_item(struct json_writer *writer, const struct mdf_node *node);

static cJSON *make_list(struct json_writer *writer, const struct mdf_node *node)
{
    cJSON *list = cJSON_CreateArray();

    if (list == NULL) {
        return out_of_memory(writer);
    }
    for (size_t i = 0; i < node->as.list.n; i++) {
        cJSON *item = make_item(writer, &node->as.list.items[i]);

        if (item == NULL) {
            cJSON_Delete(list);
            return NULL;
        }
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static cJSON *make_object(struct json_writer *writer, const struct mdf_node *node)
{
    cJSON *object = cJSON_CreateObject();

    if (object == NULL) {
        return out_of_memory(writer);
    }
    for (size_t i = 0; i < node->as.object.n; i++) {
        cJSON *item = make_item(writer, &node->as.object.entries[i].value);

        if (item != NULL && !cJSON_AddItemToObject(object, node->as.object.entries[i].key, item)) {
            cJSON_Delete(item);
            item = out_of_memory(writer);
        }
        if (item == NULL) {
            cJSON_Delete(object);
            return NULL;
        }
    }
    return object;
}

static cJSON *make_string(struct json_writer *writer, const struct mdf_node *node)
{
    cJSON *string;

    if (memchr(node->as.string.bytes, '\0', node->as.string.length) != NULL) {
        append_escaped(&writer->scratch, node->as.string.bytes, node->as.string.length);
        return raw_item(writer);
    }
    string = cJSON_CreateString(node->as.string.bytes);
    return string != NULL ? string : out_of_memory(writer);
}

static cJSON *make_item(struct json_writer *writer, const struct mdf_node *node)
{
    writer->scratch.length = 0;
    switch (node->kind) {
    case MDF_NODE_NULL:
        mdf_text_append_string(&writer->scratch, "null");
        return raw_item(writer);
    case MDF_NODE_STRING:
        return make_string(writer, node);
    case MDF_NODE_LIST:
        return make_list(writer, node);
    case MDF_NODE_OBJECT:
        return make_object(writer, node);
    case MDF_NODE_NUMBERS:
        append_numbers(&writer->scratch, node);
        return raw_item(writer);
    default:
        append_scalar(&writer->scratch, node);
        return raw_item(writer);
    }
}

bool mdf_json_write(const struct mdf_node *root, struct mdf_text *text, mdf_error *error)
{
    struct json_writer writer = {.error = error};
    char *printed = NULL;
    cJSON *item;

    mdf_text_init(&writer.scratch, text->memory);
    item = make_item(&writer, root);
    mdf_text_release(&writer.scratch);
    if (item == NULL) {
        return false;
    }
    printed = cJSON_PrintUnformatted(item);
    cJSON_Delete(item);
    if (printed != NULL) {
        mdf_json_lay_out(printed, text);
        cJSON_free(printed);
    }
    if (printed == NULL || text->failed) {
        mdf_memory_error(text->memory, error);
        return false;
    }
    return true;
}
