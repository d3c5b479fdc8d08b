/* main_graph.c - which of a model's graphs is meant where none is named. See model.h. */
#include "mdf_c/model/model.h"

#include <string.h>

static bool is_text(const struct mdf_node *node, const char *text)
{
    return node != NULL && node->kind == MDF_NODE_STRING && strcmp(node->as.string.bytes, text) == 0;
}

/* Whether this is the text `id`, or a parameter with it, under a name that bodies go by. */
static bool is_named_body(const char *name, const struct mdf_node *node, const char *id)
{
    static const char *const attributes[] = {"body", "then_branch", "else_branch", "score_mod", "prob_mod", "graph"};

    return MDF_FIND_WORD(name, attributes) != SIZE_MAX && (is_text(node, id) || is_text(mdf_node_get(node, "value"), id));
}

/* Whether some attribute in the tree has the text `id` under such a name. */
static bool names_body(const struct mdf_node *node, const char *id)
{
    const struct mdf_node *own = mdf_node_get(node, "id"); /* of an item of a list of parameters */

    if (own != NULL && own->kind == MDF_NODE_STRING && is_named_body(own->as.string.bytes, node, id)) {
        return true;
    }
    for (size_t i = 0; node->kind == MDF_NODE_LIST && i < node->as.list.n; i++) {
        if (names_body(&node->as.list.items[i], id)) {
            return true;
        }
    }
    for (size_t i = 0; node->kind == MDF_NODE_OBJECT && i < node->as.object.n; i++) {
        const struct mdf_node_entry *entry = &node->as.object.entries[i];

        if (is_named_body(entry->key, &entry->value, id) || names_body(&entry->value, id)) {
            return true;
        }
    }
    return false;
}

const struct mdf_graph *mdf_model_main_graph(const struct mdf_model *model)
{
    for (size_t i = 0; i < model->n_graphs && model->n_graphs > 1; i++) {
        if (!names_body(model->source, model->graphs[i].id)) {
            return &model->graphs[i];
        }
    }
    return &model->graphs[0];
}

const struct mdf_graph *mdf_model_find_graph(const struct mdf_model *model, const char *id)
{
    for (size_t i = 0; i < model->n_graphs; i++) {
        if (strcmp(model->graphs[i].id, id) == 0) {
            return &model->graphs[i];
        }
    }
    return NULL;
}

const char *mdf_model_nearest_graph(const struct mdf_model *model, const char *id)
{
    struct mdf_nearest nearest;

    mdf_nearest_begin(&nearest, id);
    for (size_t i = 0; i < model->n_graphs; i++) {
        mdf_nearest_offer(&nearest, model->graphs[i].id);
    }
    return mdf_nearest_result(&nearest);
}
