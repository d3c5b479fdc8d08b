/* document.c - see document.h: files in and out, and access to a tree. */
#include "mdf_c/document/document.h"

#include "mdf_c/document/formats.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct format {
    const char *name;
    bool (*read)(struct mdf_tree *tree, const void *bytes, size_t size_bytes);
    bool (*write)(const struct mdf_node *root, struct mdf_text *text, mdf_error *error);
};

static const struct format formats[] = {
    {"json", mdf_json_read, mdf_json_write},
    {"yaml", mdf_yaml_read, mdf_yaml_write},
    {"bson", mdf_bson_read, mdf_bson_write},
};

static const struct format *find_format(const char *name, const char *file, mdf_error *error)
{
    size_t i;

    for (i = 0; name != NULL && i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(formats[i].name, name) == 0) {
            return &formats[i];
        }
    }
    if (name == NULL) {
        mdf_error_set(error, MDF_USAGE, "the name's suffix is none of .json, .yaml, .yml, .bson");
    } else {
        mdf_error_set(error, MDF_USAGE, "'%s' is no format of documents; json, yaml and bson are", name);
    }
    mdf_error_at(error, file, 0, 0);
    return NULL;
}

const char *mdf_format_of_path(const char *path)
{
    static const struct {
        const char *suffix, *format;
    } suffixes[] = {{".json", "json"}, {".yaml", "yaml"}, {".yml", "yaml"}, {".bson", "bson"}};
    size_t length = strlen(path), i, j;

    for (i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t n = strlen(suffixes[i].suffix);

        for (j = 0; n <= length && j < n; j++) {
            char c = path[length - n + j];

            if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != suffixes[i].suffix[j]) {
                break;
            }
        }
        if (n <= length && j == n) {
            return suffixes[i].format;
        }
    }
    return NULL;
}

void mdf_warn(const struct mdf_warnings *warnings, const char *file, int line, int column, const char *path, const char *format,
              ...)
{
    mdf_error warning = {.code = MDF_MODEL, .line = line, .column = column};
    va_list arguments;

    if (warnings == NULL || warnings->handler == NULL) {
        return;
    }
    snprintf(warning.file, sizeof warning.file, "%s", file != NULL ? file : "");
    snprintf(warning.path, sizeof warning.path, "%s", path != NULL ? path : "");
    va_start(arguments, format);
    vsnprintf(warning.message, sizeof warning.message, format, arguments);
    va_end(arguments);
    warnings->handler(warnings->context, &warning);
}

/* ------------------------------------------------------------------ reading */

static struct mdf_document *new_document(struct mdf_memory *memory, const char *file)
{
    struct mdf_document *document = mdf_memory_allocate_zeroed(memory, 1, sizeof *document);

    if (document == NULL) {
        return NULL;
    }
    document->memory = memory;
    mdf_arena_init(&document->arena, memory);
    document->file = mdf_arena_text(&document->arena, file, strlen(file));
    if (document->file == NULL) {
        mdf_document_free(document);
        return NULL;
    }
    return document;
}

struct mdf_document *mdf_document_parse(struct mdf_memory *memory, const char *format, const char *file, const void *bytes,
                                        size_t size_bytes, const struct mdf_warnings *warnings, mdf_error *error)
{
    const struct format *reader = find_format(format, file, error);
    struct mdf_document *document;
    struct mdf_tree *tree;
    bool done;

    if (reader == NULL) {
        return NULL;
    }
    if (size_bytes > MDF_DOCUMENT_MAX_BYTES) {
        mdf_error_set(error, MDF_LIMIT, "the document has more than %zu bytes", MDF_DOCUMENT_MAX_BYTES);
        mdf_error_at(error, file, 0, 0);
        return NULL;
    }
    document = new_document(memory, file != NULL ? file : "");
    tree = document != NULL ? mdf_memory_allocate(memory, sizeof *tree) : NULL;
    if (tree == NULL) {
        mdf_memory_error(memory, error);
        mdf_error_at(error, file, 0, 0);
        mdf_document_free(document);
        return NULL;
    }
    mdf_tree_init(tree, document, warnings, error);
    done = reader->read(tree, bytes, size_bytes);
    mdf_tree_release(tree);
    mdf_memory_release(memory, tree);
    if (!done) {
        mdf_document_free(document);
        return NULL;
    }
    return document;
}

/* Why a file can not be read, from what the C library said just now. */
static void fail_to_read(mdf_error *error, const char *path, int reason)
{
    const char *text = reason == ENOENT   ? "there is no such file"
                       : reason == EACCES ? "the file can not be read: permission denied"
                       : reason == EISDIR ? "this is a directory, not a file"
                                          : "the file can not be read";

    mdf_error_set(error, MDF_FILE, "%s", text);
    mdf_error_at(error, path, 0, 0);
}

/* The bytes of an open file; the caller releases them. NULL on error. */
static char *read_file(struct mdf_memory *memory, FILE *stream, const char *path, size_t *size_bytes, mdf_error *error)
{
    size_t capacity = 0, size = 0, n;
    char *bytes = NULL;

    for (;;) {
        if (size == capacity) {
            char *grown = size > MDF_DOCUMENT_MAX_BYTES ? NULL : mdf_memory_grow(memory, bytes, &capacity, size + (1 << 16), 1);

            if (grown == NULL) {
                if (size > MDF_DOCUMENT_MAX_BYTES) {
                    mdf_error_set(error, MDF_LIMIT, "the file has more than %zu bytes", MDF_DOCUMENT_MAX_BYTES);
                } else {
                    mdf_memory_error(memory, error);
                }
                break;
            }
            bytes = grown;
        }
        n = fread(bytes + size, 1, capacity - size, stream);
        size += n;
        if (n == 0 && ferror(stream)) {
            fail_to_read(error, path, errno);
            break;
        }
        if (n == 0) {
            *size_bytes = size;
            return bytes;
        }
    }
    mdf_error_at(error, path, 0, 0);
    mdf_memory_release(memory, bytes);
    return NULL;
}

struct mdf_document *mdf_document_load(struct mdf_memory *memory, const char *path, const char *format,
                                       const struct mdf_warnings *warnings, mdf_error *error)
{
    struct mdf_document *document = NULL;
    size_t size_bytes = 0;
    FILE *stream;
    char *bytes;

    format = format != NULL ? format : mdf_format_of_path(path);
    if (find_format(format, path, error) == NULL) {
        return NULL;
    }
    stream = fopen(path, "rb");
    if (stream == NULL) {
        fail_to_read(error, path, errno);
        return NULL;
    }
    bytes = read_file(memory, stream, path, &size_bytes, error);
    fclose(stream);
    if (bytes != NULL) {
        document = mdf_document_parse(memory, format, path, bytes, size_bytes, warnings, error);
    }
    mdf_memory_release(memory, bytes);
    return document;
}

void mdf_document_free(struct mdf_document *document)
{
    if (document != NULL) {
        mdf_arena_release(&document->arena);
        mdf_memory_release(document->memory, document);
    }
}

/* ------------------------------------------------------------------ access */

static const struct mdf_node *find_in_order(const struct mdf_node *node, const char *key)
{
    size_t low = 0, high = node->as.object.n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct mdf_node_entry *entry = &node->as.object.entries[node->as.object.order[middle]];
        int order = strcmp(key, entry->key);

        if (order == 0) {
            return &entry->value;
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}

const struct mdf_node *mdf_node_get(const struct mdf_node *node, const char *key)
{
    size_t i;

    if (node == NULL || node->kind != MDF_NODE_OBJECT) {
        return NULL;
    }
    if (node->as.object.order != NULL) {
        return find_in_order(node, key);
    }
    for (i = 0; i < node->as.object.n; i++) {
        if (strcmp(node->as.object.entries[i].key, key) == 0) {
            return &node->as.object.entries[i].value;
        }
    }
    return NULL;
}

/* One element of packed numbers. */
static struct mdf_node element_node(const struct mdf_node *numbers, size_t index)
{
    struct mdf_node node = {.line = numbers->line, .column = numbers->column};
    const void *elements = numbers->as.numbers.elements;

    if (numbers->packed_dtype == MDF_DTYPE_INT64) {
        node.kind = MDF_NODE_INT;
        node.as.integer = ((const int64_t *)elements)[index];
    } else if (numbers->packed_dtype == MDF_DTYPE_FLOAT64) {
        node.kind = MDF_NODE_REAL;
        node.as.real = ((const double *)elements)[index];
    } else {
        node.kind = MDF_NODE_BOOL;
        node.as.truth = ((const bool *)elements)[index];
    }
    return node;
}

bool mdf_node_item(const struct mdf_node *node, size_t index, struct mdf_node *item)
{
    size_t n_each = node->packed_dtype == MDF_DTYPE_BOOL ? 1 : 8, axis;

    if (index >= mdf_node_length(node) || node->kind == MDF_NODE_OBJECT) {
        return false;
    }
    if (node->kind == MDF_NODE_LIST) {
        *item = node->as.list.items[index];
        return true;
    }
    if (node->as.numbers.rank == 1) {
        *item = element_node(node, index);
        return true;
    }
    for (axis = 1; axis < node->as.numbers.rank; axis++) {
        n_each *= (size_t)node->as.numbers.shape[axis];
    }
    *item = *node;
    item->as.numbers.rank--;
    item->as.numbers.shape++;
    item->as.numbers.elements = (char *)node->as.numbers.elements + index * n_each;
    return true;
}

size_t mdf_node_length(const struct mdf_node *node)
{
    switch (node->kind) {
    case MDF_NODE_LIST:
        return node->as.list.n;
    case MDF_NODE_NUMBERS:
        return (size_t)node->as.numbers.shape[0];
    case MDF_NODE_OBJECT:
        return node->as.object.n;
    default:
        return 0;
    }
}

const char *mdf_node_describe(const struct mdf_node *node)
{
    static const char *const texts[] = {
        [MDF_NODE_NULL] = "null",      [MDF_NODE_BOOL] = "a boolean",   [MDF_NODE_INT] = "a number",
        [MDF_NODE_REAL] = "a number",  [MDF_NODE_STRING] = "a string",  [MDF_NODE_LIST] = "a list",
        [MDF_NODE_NUMBERS] = "a list", [MDF_NODE_OBJECT] = "an object",
    };

    return node->kind < sizeof texts / sizeof *texts ? texts[node->kind] : "nothing";
}

mdf_status mdf_node_error(const struct mdf_document *document, const struct mdf_node *node, mdf_error *error, mdf_status status,
                          const char *format, ...)
{
    char message[sizeof error->message];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    mdf_error_set(error, status, "%s", message);
    mdf_error_at(error, document->file, node != NULL ? mdf_position(node->line) : 0,
                 node != NULL ? mdf_position(node->column) : 0);
    return error != NULL ? error->code : status;
}

/* ------------------------------------------------------------------ writing */

static bool check_text(const char *bytes, size_t length, mdf_error *error)
{
    if (mdf_utf8_valid_length(bytes, length) != length) {
        mdf_error_set(error, MDF_VALUE, "a text to be written is not valid UTF-8");
        return false;
    }
    return true;
}

/* Whether a tree, which a caller may have made by hand, is one that the readers could give. */
static bool check_tree(const struct mdf_node *node, size_t depth, mdf_error *error)
{
    size_t i, n = mdf_node_length(node);

    if (node->kind == MDF_NODE_STRING) {
        return check_text(node->as.string.bytes, node->as.string.length, error);
    }
    if (node->kind < MDF_NODE_LIST) {
        return true;
    }
    if (depth + (node->kind == MDF_NODE_NUMBERS ? node->as.numbers.rank : 1) > MDF_DOCUMENT_MAX_DEPTH) {
        mdf_error_set(error, MDF_LIMIT, "lists and objects to be written are nested more than %d deep", MDF_DOCUMENT_MAX_DEPTH);
        return false;
    }
    for (i = 0; i < n && node->kind == MDF_NODE_LIST; i++) {
        if (!check_tree(&node->as.list.items[i], depth + 1, error)) {
            return false;
        }
    }
    for (i = 0; i < n && node->kind == MDF_NODE_OBJECT; i++) {
        const struct mdf_node_entry *entry = &node->as.object.entries[i];

        if (!check_text(entry->key, strlen(entry->key), error) || !check_tree(&entry->value, depth + 1, error)) {
            return false;
        }
    }
    return true;
}

bool mdf_document_write(const struct mdf_node *root, const char *format, struct mdf_text *text, mdf_error *error)
{
    const struct format *writer = find_format(format, NULL, error);

    return writer != NULL && check_tree(root, 0, error) && writer->write(root, text, error);
}
