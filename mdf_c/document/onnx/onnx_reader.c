/* onnx_reader.c - an ONNX file as the tree of an MDF model: the passes in order. See onnx_import.h and docs/onnx.md. */
#include "mdf_c/document/onnx/onnx_import.h"

static bool import_model(struct onnx_import *import, const void *bytes, size_t size_bytes)
{
    const struct onnx_graph *graph;

    import->model = mdf_onnx_unpack(import->tree, bytes, size_bytes);
    if (import->model == NULL) {
        return false;
    }
    if (import->model->graph == NULL) {
        return mdf_onnx_fail(import, MDF_SYNTAX, "this is not an ONNX model: it has no graph");
    }
    graph = mdf_onnx_resolve(import);
    return graph != NULL && mdf_onnx_write_model(import, graph);
}

bool mdf_onnx_read(struct mdf_tree *tree, const void *bytes, size_t size_bytes)
{
    struct onnx_import import = {.tree = tree, .document = tree->document, .bytes = bytes};
    bool done;

    mdf_arena_init(&import.scratch, tree->document->memory);
    done = import_model(&import, bytes, size_bytes);
    mdf_arena_release(&import.scratch);
    return done;
}
