/* save_model.c - see save_model.h. */
#include "mdf_c/write/save_model.h"

#include "mdf_c/values/values.h"
#include "mdf_c/write/beside.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The model's object with one entry more. */
static bool add_opset(struct mdf_arena *arena, const struct mdf_model *model, struct mdf_node *object)
{
    size_t n = model->source->as.object.n;
    struct mdf_node_entry *entries = mdf_arena_array(arena, n + 1, sizeof *entries);
    char *version = mdf_arena_printf(arena, "%d", model->opset);

    if (entries == NULL || version == NULL) {
        return false;
    }
    memcpy(entries + 1, model->source->as.object.entries, n * sizeof *entries);
    entries[0].key = "onnx_opset_version";
    entries[0].value.kind = MDF_NODE_STRING;
    entries[0].value.as.string.bytes = version;
    entries[0].value.as.string.length = strlen(version);
    *object = *model->source;
    object->as.object.entries = entries;
    object->as.object.n = n + 1;
    return true;
}

/* The tree to write: the document's own, or with the model's object in another form. */
static bool complete_tree(struct mdf_arena *arena, const struct mdf_model *model, struct mdf_node *root,
                          struct mdf_node_entry *entry)
{
    struct mdf_node object;

    *root = model->document->root;
    if (model->declares_opset) {
        return true;
    }
    if (!add_opset(arena, model, &object)) {
        return false;
    }
    if (model->source == &model->document->root) {
        *root = object;
    } else {
        *entry = model->document->root.as.object.entries[0];
        entry->value = object;
        root->as.object.entries = entry;
    }
    return true;
}

/* What one writing of a model holds. */
struct saving {
    struct mdf_memory memory;
    struct mdf_arena arena;
    struct mdf_text text;
    struct mdf_node root;
    struct mdf_node_entry entry;
};

static size_t choose_beside_bytes(const struct mdf_model *model, const char *path, size_t beside_bytes)
{
    struct stat about;

    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) {
        return SIZE_MAX; /* a pipe has nothing beside it */
    }
    return beside_bytes != 0                                                 ? beside_bytes
           : model->document->messages != NULL || model->document->is_parted ? MDF_DEFAULT_BESIDE_BYTES
                                                                             : SIZE_MAX;
}

/* Puts both files into their places, the document last. An archive that nobody names is taken away again. */
static mdf_status commit(struct mdf_new_file *document, struct mdf_new_file *archive, mdf_error *error)
{
    bool is_new = archive != NULL && access(archive->path, F_OK) != 0;
    mdf_status status = archive != NULL ? mdf_new_file_commit(archive, error) : MDF_OK;

    if (status != MDF_OK) {
        mdf_new_file_abandon(document);
        return status;
    }
    status = mdf_new_file_commit(document, error);
    if (status != MDF_OK && is_new) {
        unlink(archive->path);
    }
    return status;
}

/* Writes the document, and with it the archive, where there is one. */
static mdf_status save_document(struct saving *saving, const char *path, const char *format, struct mdf_new_file *archive,
                                mdf_error *error)
{
    struct mdf_new_file document;
    mdf_status status;

    if (!mdf_document_write(&saving->root, format, &saving->text, error)) {
        mdf_memory_error(&saving->memory, error); /* where the writer has not said anything */
        return error != NULL ? error->code : MDF_OUT_OF_MEMORY;
    }
    status = mdf_new_file_open(&document, &saving->memory, path, error);
    if (status != MDF_OK) {
        return status;
    }
    status = mdf_new_file_write(&document, saving->text.bytes, saving->text.length, error);
    if (status != MDF_OK) {
        mdf_new_file_abandon(&document);
        return status;
    }
    return commit(&document, archive, error);
}

/* The same, with big arrays in the archive; afterwards archives that the replaced document named are taken away. */
static mdf_status save_parted(struct saving *saving, const char *path, const char *format, size_t beside_bytes, mdf_error *error)
{
    char *archive_path = mdf_arena_printf(&saving->arena, "%s.npz", path);
    struct mdf_new_file archive;
    struct mdf_beside_old *old;
    bool has_archive = false;
    mdf_status status;

    if (archive_path == NULL) {
        return mdf_memory_error(&saving->memory, error);
    }
    status = mdf_beside_find_old(&saving->arena, path, &old, error);
    if (status == MDF_OK) {
        status =
            mdf_write_arrays_beside(&saving->arena, &saving->root, beside_bytes, archive_path, &archive, &has_archive, error);
    }
    if (status == MDF_OK) {
        status = save_document(saving, path, format, has_archive ? &archive : NULL, error);
    }
    if (has_archive) {
        mdf_new_file_abandon(&archive);
    }
    for (; status == MDF_OK && old != NULL; old = old->next) {
        if (!has_archive || strcmp(old->path, archive.path) != 0) {
            unlink(old->path);
        }
    }
    return status;
}

mdf_status mdf_model_write(const struct mdf_model *model, const char *path, const char *format, size_t beside_bytes,
                           mdf_error *error)
{
    struct saving saving;
    mdf_status status;

    mdf_memory_init(&saving.memory, &model->memory.allocator, 0);
    mdf_arena_init(&saving.arena, &saving.memory);
    mdf_text_init(&saving.text, &saving.memory);
    beside_bytes = choose_beside_bytes(model, path, beside_bytes);
    if (!complete_tree(&saving.arena, model, &saving.root, &saving.entry)) {
        status = mdf_memory_error(&saving.memory, error);
    } else {
        status = save_parted(&saving, path, format, beside_bytes, error);
    }
    mdf_text_release(&saving.text);
    mdf_arena_release(&saving.arena);
    return status;
}
