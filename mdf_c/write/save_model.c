/* save_model.c - see save_model.h. */
#include "mdf_c/write/save_model.h"

#include "mdf_c/write/write.h"

#include <string.h>

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

mdf_status mdf_model_write(const struct mdf_model *model, const char *path, const char *format, mdf_error *error)
{
    struct mdf_memory memory;
    struct mdf_arena arena;
    struct mdf_text text;
    struct mdf_node root;
    struct mdf_node_entry entry;
    mdf_status status;

    mdf_memory_init(&memory, &model->memory.allocator, 0);
    mdf_arena_init(&arena, &memory);
    mdf_text_init(&text, &memory);
    if (!complete_tree(&arena, model, &root, &entry)) {
        status = mdf_memory_error(&memory, error);
    } else if (!mdf_document_write(&root, format, &text, error)) {
        mdf_memory_error(&memory, error); /* where the writer has not said anything */
        status = error != NULL ? error->code : MDF_OUT_OF_MEMORY;
    } else {
        status = mdf_save_file(&memory, path, text.bytes, text.length, error);
    }
    mdf_text_release(&text);
    mdf_arena_release(&arena);
    return status;
}
