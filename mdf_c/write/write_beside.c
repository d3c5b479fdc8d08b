/* write_beside.c - big arrays of a tree go into an archive beside the file that is written. See beside.h. Recursion is bounded by
 * the document's depth.
 *
 * An array is called by the nearest key above it that is not one of MDF's own words ("w" for parameters.w.value), with a number
 * behind where that name is taken. */
#include "mdf_c/base/name_table.h"
#include "mdf_c/values/npy.h"
#include "mdf_c/values/zip_writer.h"
#include "mdf_c/write/beside.h"

#include <string.h>

enum { LONGEST_NAME = 60000 /* of an entry of a zip archive, nearly */ };

/* An entry of a reference that is to name the archive. */
struct mention {
    struct mdf_node_entry *entry;
    struct mention *next;
};

struct writer {
    struct mdf_arena *arena;
    size_t least_bytes;
    struct mention *mentions;
    struct mdf_zip_writer zip;
    struct name_table names; /* of arrays */
    const char *name;        /* of what is being looked at */
    mdf_error *error;
    mdf_status status;
};

static bool fail(struct writer *writer, mdf_status status)
{
    writer->status = status;
    return false;
}

static bool out_of_memory(struct writer *writer)
{
    return fail(writer, mdf_memory_error(writer->arena->memory, writer->error));
}

/* ------------------------------------------------------------------ names */

/* A name that no other array has. */
static const char *choose_name(struct writer *writer)
{
    const char *base = writer->name != NULL && strlen(writer->name) < LONGEST_NAME ? writer->name : "array", *name = base;

    for (size_t number = writer->names.n; name != NULL && name_table_find(&writer->names, name) != NULL; number++) {
        name = mdf_arena_printf(writer->arena, "%s_%zu", base, number);
    }
    if (name == NULL || name_table_add(&writer->names, writer->arena, name) == NULL) {
        out_of_memory(writer);
        return NULL;
    }
    return name;
}

/* ------------------------------------------------------------------ arrays */

/* The type by which NumPy can hold the elements, bit by bit. */
static mdf_dtype stored_dtype(mdf_dtype dtype)
{
    if (mdf_dtype_kind(dtype) == 'f' && mdf_dtype_size(dtype) == 1) {
        return MDF_DTYPE_UINT8;
    }
    return dtype == MDF_DTYPE_BFLOAT16 ? MDF_DTYPE_UINT16 : mdf_dtype_in_bytes(dtype);
}

static bool write_array(struct writer *writer, const struct mdf_node *node, const char *name)
{
    char *entry = mdf_arena_printf(writer->arena, "%s.npy", name);
    mdf_dtype dtype = stored_dtype((mdf_dtype)node->packed_dtype);
    struct mdf_value array = {0};
    struct mdf_text head;
    mdf_status status;

    if (entry == NULL) {
        return out_of_memory(writer);
    }
    mdf_value_borrow_tensor(writer->arena->memory, &array, dtype, MDF_STRENGTH_TYPED, node->as.numbers.rank,
                            node->as.numbers.shape, node->as.numbers.elements);
    mdf_text_init(&head, writer->arena->memory);
    mdf_npy_append_head(&head, &array);
    status = head.failed ? mdf_memory_error(writer->arena->memory, writer->error)
                         : mdf_zip_add(&writer->zip, entry, head.bytes, head.length, array.data,
                                       array.length * mdf_dtype_size(dtype), writer->error);
    mdf_text_release(&head);
    return status == MDF_OK || fail(writer, status);
}

static void set_text(struct mdf_node_entry *entry, const char *key, const char *text)
{
    *entry = (struct mdf_node_entry){.key = key, .value = {.kind = MDF_NODE_STRING}};
    entry->value.as.string.bytes = text;
    entry->value.as.string.length = strlen(text);
}

/* {"npz", "array"}, and "type" where NumPy does not have it. */
static bool refer(struct writer *writer, const struct mdf_node *node, struct mdf_node *reference)
{
    mdf_dtype dtype = (mdf_dtype)node->packed_dtype;
    bool has_type = stored_dtype(dtype) != dtype;
    struct mdf_node_entry *entries = mdf_arena_array(writer->arena, 3, sizeof *entries);
    struct mention *mention = mdf_arena_allocate(writer->arena, sizeof *mention);
    const char *name = choose_name(writer);

    if (entries == NULL || mention == NULL) {
        return out_of_memory(writer);
    }
    if (name == NULL || !write_array(writer, node, name)) {
        return false;
    }
    *mention = (struct mention){&entries[0], writer->mentions};
    writer->mentions = mention;
    set_text(&entries[1], "array", name);
    if (has_type) {
        set_text(&entries[2], "type", mdf_dtype_name(dtype));
    }
    *reference = (struct mdf_node){.kind = MDF_NODE_OBJECT};
    reference->as.object.entries = entries;
    reference->as.object.n = 2U + has_type;
    return true;
}

/* ------------------------------------------------------------------ the tree */

static bool is_big(const struct writer *writer, const struct mdf_node *node)
{
    size_t n, n_bytes;

    return node->kind == MDF_NODE_NUMBERS && node->as.numbers.rank <= MDF_NPY_DEEPEST_RANK &&
           mdf_shape_n_elements(node->as.numbers.rank, node->as.numbers.shape, &n) && n > 0 &&
           mdf_size_multiply(n, mdf_dtype_size((mdf_dtype)node->packed_dtype), &n_bytes) && n_bytes >= writer->least_bytes;
}

static bool holds_big(const struct writer *writer, const struct mdf_node *node)
{
    for (size_t i = 0; node->kind == MDF_NODE_LIST && i < node->as.list.n; i++) {
        if (holds_big(writer, &node->as.list.items[i])) {
            return true;
        }
    }
    for (size_t i = 0; node->kind == MDF_NODE_OBJECT && i < node->as.object.n; i++) {
        if (holds_big(writer, &node->as.object.entries[i].value)) {
            return true;
        }
    }
    return is_big(writer, node);
}

static bool is_word_of_mdf(const char *key)
{
    static const char *const words[] = {"value", "data", "default_value", "default_initial_value", "shape"};

    return MDF_FIND_WORD(key, words) != SIZE_MAX;
}

/* *changed becomes the node without big arrays; lists and objects that hold some are copied. */
static bool write_node(struct writer *writer, const struct mdf_node *node, struct mdf_node *changed)
{
    const char *name = writer->name;

    *changed = *node;
    if (is_big(writer, node)) {
        return refer(writer, node, changed);
    }
    if (node->kind == MDF_NODE_LIST) {
        changed->as.list.items = mdf_arena_array(writer->arena, node->as.list.n, sizeof *node->as.list.items);
        for (size_t i = 0; changed->as.list.items != NULL && i < node->as.list.n; i++) {
            if (!write_node(writer, &node->as.list.items[i], &changed->as.list.items[i])) {
                return false;
            }
        }
        return changed->as.list.items != NULL || out_of_memory(writer);
    }
    if (node->kind == MDF_NODE_OBJECT) {
        changed->as.object.entries = mdf_arena_array(writer->arena, node->as.object.n, sizeof *node->as.object.entries);
        for (size_t i = 0; changed->as.object.entries != NULL && i < node->as.object.n; i++) {
            changed->as.object.entries[i] = node->as.object.entries[i];
            writer->name = is_word_of_mdf(node->as.object.entries[i].key) ? name : node->as.object.entries[i].key;
            if (!write_node(writer, &node->as.object.entries[i].value, &changed->as.object.entries[i].value)) {
                return false;
            }
        }
        writer->name = name;
        return changed->as.object.entries != NULL || out_of_memory(writer);
    }
    return true;
}

/* Ends the archive, whose name follows from what is in it, and writes that name where it is mentioned. */
static mdf_status finish(struct writer *writer, struct mdf_new_file *file)
{
    const struct mention *mention;
    const char *slash;
    mdf_status status = mdf_zip_finish(&writer->zip, writer->error);

    if (status == MDF_OK) {
        status = mdf_beside_choose_path(writer->arena, file, &writer->zip.hash, writer->error);
    }
    slash = strrchr(file->path, '/');
    for (mention = writer->mentions; mention != NULL; mention = mention->next) {
        set_text(mention->entry, "npz", slash != NULL ? slash + 1 : file->path);
    }
    return status;
}

mdf_status mdf_write_arrays_beside(struct mdf_arena *arena, struct mdf_node *root, size_t least_bytes, const char *path,
                                   struct mdf_new_file *file, bool *is_written, mdf_error *error)
{
    struct writer writer = {.arena = arena, .least_bytes = least_bytes, .error = error};
    struct mdf_node changed;
    mdf_status status;

    *is_written = false;
    if (!holds_big(&writer, root)) {
        return MDF_OK;
    }
    status = mdf_new_file_open(file, arena->memory, path, error);
    if (status != MDF_OK) {
        return status;
    }
    *is_written = true;
    mdf_zip_writer_init(&writer.zip, file, arena->memory);
    if (write_node(&writer, root, &changed)) {
        writer.status = finish(&writer, file);
        *root = changed;
    }
    mdf_zip_writer_release(&writer.zip);
    return writer.status;
}
