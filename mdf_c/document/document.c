/* document.c - see document.h: files in and out, and access to a tree. */
#include "mdf_c/document/document.h"

#include "mdf_c/base/text.h"
#include "mdf_c/document/formats.h"
#include "mdf_c/document/stream.h"
#include "mdf_c/document/tree_builder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Smaller files are read: a mapping costs more than it saves. */
enum { LEAST_MAPPED_BYTES = 1 << 20 };

struct format {
    const char *name;
    bool (*read)(struct mdf_tree *tree, const void *bytes, size_t size_bytes);
    bool (*write)(const struct mdf_node *root, struct mdf_text *text, mdf_error *error); /* NULL: only read */
    bool has_text;                                                                       /* that people read */
};

static const struct format formats[] = {
    {"json", mdf_json_read, mdf_json_write, true},
    {"yaml", mdf_yaml_read, mdf_yaml_write, true},
    {"bson", mdf_bson_read, mdf_bson_write, false},
    {"onnx", mdf_onnx_read, NULL, false},
};

static const struct format *find_format(const char *name, const char *file, mdf_error *error)
{
    for (size_t i = 0; name != NULL && i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(formats[i].name, name) == 0) {
            return &formats[i];
        }
    }
    if (name == NULL) {
        mdf_error_set(error, MDF_USAGE, "the name's suffix is none of .json, .yaml, .yml, .bson, .onnx");
    } else {
        mdf_error_set(error, MDF_USAGE, "'%s' is no format of documents; json, yaml, bson and onnx are", name);
    }
    mdf_error_at(error, file, 0, 0);
    return NULL;
}

const char *mdf_format_of_path(const char *path)
{
    static const struct {
        const char *suffix, *format;
    } suffixes[] = {{".json", "json"}, {".yaml", "yaml"}, {".yml", "yaml"}, {".bson", "bson"}, {".onnx", "onnx"}};
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
    mdf_error warning = {0};
    va_list arguments;

    if (warnings == NULL || (warnings->handler == NULL && warnings->list == NULL)) {
        return;
    }
    va_start(arguments, format);
    mdf_error_set_v(&warning, MDF_MODEL, format, arguments);
    va_end(arguments);
    mdf_error_at(&warning, file, line, column);
    mdf_error_in(&warning, "%s", path != NULL ? path : "");
    mdf_warn_of(warnings, "model", &warning);
}

void mdf_warn_of(const struct mdf_warnings *warnings, const char *code, const mdf_error *warning)
{
    if (warnings->list != NULL) {
        mdf_diagnostics_note(warnings->list, MDF_SEVERITY_WARNING, code, warning);
    }
    if (warnings->handler != NULL) {
        warnings->handler(warnings->context, warning);
    }
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

/* What is read. */
struct source {
    const char *file;
    bool is_file; /* the bytes are those of the file of that name */
    const void *bytes;
    size_t size_bytes;
    struct mdf_store *mapping; /* in which they lie; NULL: in memory of the caller */
};

/* Keeps a text for messages, which can do without. */
static void keep_text(struct mdf_document *document, const struct source *source, const struct mdf_warnings *warnings)
{
    struct mdf_source text = {.bytes = source->bytes, .size = source->size_bytes};

    if (source->size_bytes > 0 && source->size_bytes <= MDF_KEPT_TEXT_BYTES &&
        mdf_memory_has_room(document->memory, 2 * source->size_bytes)) {
        document->source.bytes = mdf_arena_text(&document->arena, source->bytes, source->size_bytes);
        document->source.size = document->source.bytes != NULL ? source->size_bytes : 0;
        mdf_source_mark(&document->source, &document->arena);
        document->arena.has_refused = false;
    }
    if (warnings != NULL) {
        mdf_diagnostics_look_at(warnings->list, &text);
    }
}

static struct mdf_document *parse(struct mdf_memory *memory, const struct format *format, const struct source *source,
                                  const struct mdf_warnings *warnings, mdf_error *error)
{
    const char *file = source->file;
    struct mdf_document *document;
    struct mdf_tree *tree;
    bool done;

    if (source->size_bytes > MDF_DOCUMENT_MAX_BYTES) {
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
    document->is_file = source->is_file;
    if (format->has_text) {
        keep_text(document, source, warnings);
    }
    mdf_tree_init(tree, document, warnings, error);
    tree->mapping = source->mapping;
    done = format->read(tree, source->bytes, source->size_bytes);
    mdf_tree_release(tree);
    mdf_memory_release(memory, tree);
    if (!done && warnings != NULL && warnings->list != NULL && error != NULL) { /* while the text is there */
        mdf_diagnostics_note(warnings->list, MDF_SEVERITY_ERROR, NULL, error);
    }
    if (warnings != NULL) {
        mdf_diagnostics_look_at(warnings->list, done ? &document->source : NULL);
    }
    if (!done) {
        mdf_document_free(document);
        return NULL;
    }
    return document;
}

struct mdf_document *mdf_document_parse(struct mdf_memory *memory, const char *format, const char *file, const void *bytes,
                                        size_t size_bytes, const struct mdf_warnings *warnings, mdf_error *error)
{
    const struct format *found = find_format(format, file, error);
    struct source source = {file, false, bytes, size_bytes, NULL};

    return found != NULL ? parse(memory, found, &source, warnings, error) : NULL;
}

/* Why a file can not be read, from what the C library said just now. */
static void fail_to_read(mdf_error *error, const char *path, int reason)
{
    const char *text = reason == ENOENT   ? "there is no such file"
                       : reason == EACCES ? "the file can not be read: permission denied"
                       : reason == EISDIR ? "this is a directory, not a file"
                       : reason == ENODEV ? "this is a device, not a file"
                                          : "the file can not be read";

    mdf_error_set(error, MDF_FILE, "%s", text);
    mdf_error_at(error, path, 0, 0);
}

/* The bytes of an open file; the caller releases them. NULL on error. */
static char *read_file(struct mdf_memory *memory, FILE *stream, const char *path, size_t *size_bytes, mdf_error *error)
{
    int reason;
    char *bytes;
    mdf_status status = mdf_read_stream(memory, stream, &bytes, size_bytes, &reason, error);

    if (status == MDF_FILE) {
        fail_to_read(error, path, reason);
    } else if (status != MDF_OK) {
        mdf_error_at(error, path, 0, 0);
    }
    return bytes;
}

/* A large file, mapped into memory; NULL where that can not be done, or is not worth it. */
static struct mdf_store *map_file(struct mdf_memory *memory, FILE *stream)
{
    struct stat status;

    if (fstat(fileno(stream), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < LEAST_MAPPED_BYTES) {
        return NULL;
    }
    return mdf_store_map(memory, fileno(stream), (size_t)status.st_size);
}

struct mdf_document *mdf_document_load(struct mdf_memory *memory, const char *path, const char *format,
                                       const struct mdf_warnings *warnings, mdf_error *error)
{
    const struct format *found = find_format(format != NULL ? format : mdf_format_of_path(path), path, error);
    struct source source = {.file = path, .is_file = true};
    struct mdf_document *document = NULL;
    char *bytes = NULL;
    FILE *stream;

    if (found == NULL) {
        return NULL;
    }
    stream = fopen(path, "rb");
    if (stream == NULL) {
        fail_to_read(error, path, errno);
        return NULL;
    }
    source.mapping = map_file(memory, stream);
    if (source.mapping != NULL) {
        source.bytes = mdf_store_bytes(source.mapping);
        source.size_bytes = mdf_store_size(source.mapping);
    } else {
        source.bytes = bytes = read_file(memory, stream, path, &source.size_bytes, error);
    }
    fclose(stream);
    if (source.bytes != NULL) {
        document = parse(memory, found, &source, warnings, error);
    }
    mdf_store_release(source.mapping);
    mdf_memory_release(memory, bytes);
    return document;
}

bool mdf_document_keep(struct mdf_document *document, struct mdf_store *store)
{
    struct mdf_kept_store *kept = mdf_arena_allocate(&document->arena, sizeof *kept);

    if (kept == NULL) {
        mdf_store_release(store);
        return false;
    }
    *kept = (struct mdf_kept_store){document->stores, store};
    document->stores = kept;
    return true;
}

void *mdf_document_elements(struct mdf_document *document, struct mdf_store **store, size_t n, size_t size)
{
    struct mdf_store *made;
    size_t n_bytes;

    if (!mdf_size_multiply(n, size, &n_bytes) || n_bytes < MDF_STORE_LEAST_BYTES) {
        return mdf_arena_array(&document->arena, n, size);
    }
    made = mdf_store_allocate(document->memory, n_bytes);
    if (made == NULL || !mdf_document_keep(document, made)) {
        return NULL;
    }
    *store = made;
    return mdf_store_bytes(made);
}

void mdf_document_free(struct mdf_document *document)
{
    struct mdf_kept_store *kept;

    if (document != NULL) {
        for (kept = document->stores; kept != NULL; kept = kept->next) {
            mdf_store_release(kept->store);
        }
        if (document->messages != NULL) {
            mdf_onnx_release(document);
        }
        mdf_arena_release(&document->arena);
        mdf_memory_release(document->memory, document);
    }
}

/* ------------------------------------------------------------------ access */

void mdf_node_place(const struct mdf_document *document, const struct mdf_node *node, const char *text, size_t offset, int *line,
                    int *column)
{
    *line = mdf_position(node->line);
    *column = mdf_position(node->column);
    mdf_source_locate(node->is_given ? document->source.given : &document->source, text, offset, line, column);
}

const char *mdf_node_file(const struct mdf_document *document, const struct mdf_node *node)
{
    return node != NULL && node->is_given ? MDF_GIVEN_FILE : document->file;
}

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
    if (node == NULL || node->kind != MDF_NODE_OBJECT) {
        return NULL;
    }
    if (node->as.object.order != NULL) {
        return find_in_order(node, key);
    }
    for (size_t i = 0; i < node->as.object.n; i++) {
        if (mdf_text_is(node->as.object.entries[i].key, key)) {
            return &node->as.object.entries[i].value;
        }
    }
    return NULL;
}

size_t mdf_format_element(mdf_dtype dtype, const void *element, char text[MDF_NUMBER_TEXT_SIZE])
{
    uint64_t wide;

    switch (mdf_dtype_kind(dtype)) {
    case 'b':
        return (size_t)snprintf(text, MDF_NUMBER_TEXT_SIZE, "%s", *(const bool *)element ? "true" : "false");
    case 'i':
        return (size_t)snprintf(text, MDF_NUMBER_TEXT_SIZE, "%" PRId64, mdf_element_to_int64(dtype, element));
    case 'u':
        wide = (uint64_t)mdf_element_to_int64(dtype, element);
        if (dtype == MDF_DTYPE_UINT64) {
            memcpy(&wide, element, sizeof wide);
        }
        return (size_t)snprintf(text, MDF_NUMBER_TEXT_SIZE, "%" PRIu64, wide);
    default:
        return dtype == MDF_DTYPE_FLOAT64 ? mdf_format_float64(*(const double *)element, text)
                                          : mdf_format_float32((float)mdf_element_to_double(dtype, element), text);
    }
}

/* One element of packed numbers. A real of a narrow type is the number that its digits say. */
static struct mdf_node element_node(const struct mdf_node *numbers, size_t index)
{
    mdf_dtype dtype = (mdf_dtype)numbers->packed_dtype;
    const void *element = (const char *)numbers->as.numbers.elements + index * mdf_dtype_size(dtype);
    struct mdf_node node = {.is_given = numbers->is_given, .line = numbers->line, .column = numbers->column};
    char text[MDF_NUMBER_TEXT_SIZE];
    double real = mdf_element_to_double(dtype, element);
    size_t length;

    if (mdf_dtype_kind(dtype) == 'b') {
        node.kind = MDF_NODE_BOOL;
        node.as.truth = *(const bool *)element;
    } else if (mdf_dtype_kind(dtype) == 'f' || (dtype == MDF_DTYPE_UINT64 && real >= 0x1p63)) {
        node.kind = MDF_NODE_REAL;
        node.as.real = real;
        if (dtype != MDF_DTYPE_FLOAT64 && mdf_dtype_kind(dtype) == 'f' && real - real == 0) {
            length = mdf_format_element(dtype, element, text);
            node.as.real = mdf_parse_real(text, length);
        }
    } else {
        node.kind = MDF_NODE_INT;
        node.as.integer = mdf_element_to_int64(dtype, element);
    }
    return node;
}

bool mdf_node_item(const struct mdf_node *node, size_t index, struct mdf_node *item)
{
    size_t n_each = mdf_dtype_size((mdf_dtype)node->packed_dtype), axis;

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
    if (n_each > 0) { /* else there need be no elements to point at */
        item->as.numbers.elements = (char *)node->as.numbers.elements + index * n_each;
    }
    return true;
}

const struct mdf_node *mdf_document_model(const struct mdf_node *root, const char **id)
{
    const struct mdf_node *own;

    if (root->kind != MDF_NODE_OBJECT) {
        return NULL;
    }
    if (mdf_node_get(root, "graphs") != NULL) {
        own = mdf_node_get(root, "id");
        *id = own != NULL && own->kind == MDF_NODE_STRING ? own->as.string.bytes : "model";
        return root;
    }
    if (root->as.object.n != 1 || root->as.object.entries[0].value.kind != MDF_NODE_OBJECT) {
        return NULL;
    }
    *id = root->as.object.entries[0].key;
    return &root->as.object.entries[0].value;
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
        [MDF_NODE_NULL] = "null",          [MDF_NODE_BOOL] = "a boolean",   [MDF_NODE_INT] = "a number",
        [MDF_NODE_REAL] = "a real number", [MDF_NODE_STRING] = "a string",  [MDF_NODE_LIST] = "a list",
        [MDF_NODE_NUMBERS] = "a list",     [MDF_NODE_OBJECT] = "an object",
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
    mdf_error_at(error, mdf_node_file(document, node), node != NULL ? mdf_position(node->line) : 0,
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

/* An array without elements is written as the lists that its axes make: a shape of a few bytes may ask for any number of them. */
static bool check_empty(const struct mdf_node *node, mdf_error *error)
{
    enum { MOST_EMPTY_LISTS = 1 << 20 };
    size_t n_lists = 1, axis;

    for (axis = 0; axis < node->as.numbers.rank && node->as.numbers.shape[axis] != 0; axis++) {
        if (!mdf_size_multiply(n_lists, (size_t)node->as.numbers.shape[axis], &n_lists)) {
            n_lists = SIZE_MAX;
            break;
        }
    }
    if (axis < node->as.numbers.rank && n_lists > MOST_EMPTY_LISTS) {
        mdf_error_set(error, MDF_LIMIT, "an array without elements would be written as more than %d empty lists",
                      MOST_EMPTY_LISTS);
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
    if (node->kind == MDF_NODE_NUMBERS && !check_empty(node, error)) {
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

    if (writer != NULL && writer->write == NULL) {
        mdf_error_set(error, MDF_USAGE, "the format %s can be read, not written", format);
        return false;
    }
    return writer != NULL && check_tree(root, 0, error) && writer->write(root, text, error);
}
