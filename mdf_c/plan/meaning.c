/* meaning.c - what a model means beside what its file says: parameters that were given other values, and its dialect. Comes in: a
 * model and options; goes out: the same model, or one that was read anew. */
#include "mdf_c/dialect/dialect.h"
#include "mdf_c/dialect/set_parameters.h"
#include "mdf_c/plan/compiler.h"

#include <string.h>

/* Of the document of given parameters: where they stand is told as such. */
static void mark_given(struct mdf_node *node)
{
    node->is_given = true;
    for (size_t i = 0; node->kind == MDF_NODE_LIST && i < node->as.list.n; i++) {
        mark_given(&node->as.list.items[i]);
    }
    for (size_t i = 0; node->kind == MDF_NODE_OBJECT && i < node->as.object.n; i++) {
        mark_given(&node->as.object.entries[i].value);
    }
}

static bool read_given_parameters(struct compiler *compiler, const char *text, struct mdf_document **parameters)
{
    *parameters = mdf_document_parse(compiler->memory, "json", MDF_GIVEN_FILE, text, strlen(text), NULL, compiler->error);
    if (*parameters != NULL && (*parameters)->root.kind != MDF_NODE_OBJECT) {
        mdf_node_error(*parameters, &(*parameters)->root, compiler->error, MDF_TYPE,
                       "parameters must be an object {NAME: value}, not %s", mdf_node_describe(&(*parameters)->root));
    }
    if (compiler->error->code == MDF_OK) {
        mark_given(&(*parameters)->root);
    }
    return compiler->error->code == MDF_OK;
}

const struct mdf_model *meaning_of(struct compiler *compiler, const struct mdf_model *model, const mdf_options *options,
                                   struct meaning *meaning)
{
    bool is_psyneulink = mdf_dialect_of(model->document, options->dialect) == MDF_DIALECT_PSYNEULINK;
    struct mdf_document *document = &meaning->document;
    struct mdf_arena *arena = &meaning->model.arena;

    mdf_arena_init(arena, compiler->memory);
    if (!is_psyneulink && options->parameters == NULL) {
        return model;
    }
    *document = *model->document;
    meaning->model.document = document;
    if (options->parameters != NULL &&
        (!read_given_parameters(compiler, options->parameters, &meaning->parameters) ||
         mdf_set_parameters(arena, document, &meaning->parameters->root, &document->root, compiler->error) != MDF_OK)) {
        return NULL;
    }
    document->source.given = meaning->parameters != NULL ? &meaning->parameters->source : NULL;
    if (is_psyneulink) {
        meaning->model.dialect = MDF_DIALECT_PSYNEULINK;
        if (mdf_psyneulink_rewrite(arena, document, &document->root, compiler->error) != MDF_OK) {
            return NULL;
        }
    }
    return mdf_model_read(&meaning->model, compiler->error) == MDF_OK ? &meaning->model : NULL;
}

void meaning_release(struct meaning *meaning)
{
    mdf_arena_release(&meaning->model.arena);
    mdf_document_free(meaning->parameters);
}
