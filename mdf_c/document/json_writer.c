/* json_writer.c - a tree as JSON text, through cJSON.
 *
 * cJSON holds the structure, escapes strings and lays the text out. Numbers are raw items with text of our own, since cJSON
 * would turn them into doubles of at most 17 digits; so are texts with a NUL in them, which cJSON's strings end at. cJSON
 * indents with tabs, which become four spaces at the end: strings hold no raw tab. See docs/decisions/json-writing.md. */
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

/* One axis of packed numbers; its elements on one line. */
static void append_row(struct mdf_text *text, const struct mdf_node *node)
{
    mdf_dtype dtype = (mdf_dtype)node->packed_dtype;
    const char *elements = node->as.numbers.elements;
    size_t n = mdf_node_length(node), i;
    char number[MDF_NUMBER_TEXT_SIZE];

    mdf_text_append_string(text, "[");
    for (i = 0; i < n; i++) {
        mdf_text_append(text, ", ", i == 0 ? 0 : 2);
        mdf_text_append(text, number, mdf_format_element(dtype, elements + i * mdf_dtype_size(dtype), number));
    }
    mdf_text_append_string(text, "]");
}

/* Packed numbers: the last axis on one line, each row of the others on a line of its own. */
static void append_numbers(struct mdf_text *text, const struct mdf_node *node, size_t n_tabs)
{
    size_t n = mdf_node_length(node), i, tab;
    struct mdf_node item;

    if (node->as.numbers.rank == 1 || n == 0) {
        append_row(text, node);
        return;
    }
    mdf_text_append_string(text, "[");
    for (i = 0; i < n && mdf_node_item(node, i, &item); i++) {
        mdf_text_append_string(text, i == 0 ? "\n" : ",\n");
        for (tab = 0; tab <= n_tabs; tab++) {
            mdf_text_append_string(text, "\t");
        }
        append_numbers(text, &item, n_tabs + 1);
    }
    mdf_text_append_string(text, "\n");
    for (tab = 0; tab < n_tabs; tab++) {
        mdf_text_append_string(text, "\t");
    }
    mdf_text_append_string(text, "]");
}

static void append_escaped(struct mdf_text *text, const char *bytes, size_t length)
{
    size_t i;

    mdf_text_append_string(text, "\"");
    for (i = 0; i < length; i++) {
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

static cJSON *make_item(struct json_writer *writer, const struct mdf_node *node, size_t n_tabs);

/* cJSON breaks the line between empty braces; raw items do not. */
static cJSON *make_empty(struct json_writer *writer, const char *text)
{
    mdf_text_append_string(&writer->scratch, text);
    return raw_item(writer);
}

static cJSON *make_list(struct json_writer *writer, const struct mdf_node *node, size_t n_tabs)
{
    cJSON *list = cJSON_CreateArray();
    size_t i;

    if (list == NULL) {
        return out_of_memory(writer);
    }
    for (i = 0; i < node->as.list.n; i++) {
        cJSON *item = make_item(writer, &node->as.list.items[i], n_tabs + 1);

        if (item == NULL) {
            cJSON_Delete(list);
            return NULL;
        }
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static cJSON *make_object(struct json_writer *writer, const struct mdf_node *node, size_t n_tabs)
{
    cJSON *object = cJSON_CreateObject();
    size_t i;

    if (object == NULL) {
        return out_of_memory(writer);
    }
    for (i = 0; i < node->as.object.n; i++) {
        cJSON *item = make_item(writer, &node->as.object.entries[i].value, n_tabs + 1);

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

/* `n_tabs` is how far the line is indented in which the item begins. */
static cJSON *make_item(struct json_writer *writer, const struct mdf_node *node, size_t n_tabs)
{
    writer->scratch.length = 0;
    switch (node->kind) {
    case MDF_NODE_NULL:
        return make_empty(writer, "null");
    case MDF_NODE_STRING:
        return make_string(writer, node);
    case MDF_NODE_LIST:
        return node->as.list.n == 0 ? make_empty(writer, "[]") : make_list(writer, node, n_tabs);
    case MDF_NODE_OBJECT:
        return node->as.object.n == 0 ? make_empty(writer, "{}") : make_object(writer, node, n_tabs);
    case MDF_NODE_NUMBERS:
        append_numbers(&writer->scratch, node, n_tabs);
        return raw_item(writer);
    default:
        append_scalar(&writer->scratch, node);
        return raw_item(writer);
    }
}

/* ------------------------------------------------------------------ layout */

/* Tabs after a key's colon become a space, all others four. */
static void append_with_spaces(struct mdf_text *text, const char *printed)
{
    const char *tab;

    for (tab = strchr(printed, '\t'); tab != NULL; tab = strchr(printed, '\t')) {
        mdf_text_append(text, printed, (size_t)(tab - printed));
        mdf_text_append_string(text, tab > printed && tab[-1] == ':' ? " " : "    ");
        printed = tab + 1;
    }
    mdf_text_append_string(text, printed);
    mdf_text_append_string(text, "\n");
}

bool mdf_json_write(const struct mdf_node *root, struct mdf_text *text, mdf_error *error)
{
    struct json_writer writer = {.error = error};
    char *printed = NULL;
    cJSON *item;

    mdf_text_init(&writer.scratch, text->memory);
    item = make_item(&writer, root, 0);
    mdf_text_release(&writer.scratch);
    if (item == NULL) {
        return false;
    }
    printed = cJSON_Print(item);
    cJSON_Delete(item);
    if (printed != NULL) {
        append_with_spaces(text, printed);
        cJSON_free(printed);
    }
    if (printed == NULL || text->failed) {
        mdf_memory_error(text->memory, error);
        return false;
    }
    return true;
}
