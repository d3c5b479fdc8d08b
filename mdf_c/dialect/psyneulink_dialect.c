/* psyneulink_dialect.c - a document of PsyNeuLink, rule by rule. See dialect.h. */
#include "mdf_c/dialect/psyneulink_rules.h"

#include "mdf_c/dialect/dialect.h"

#include <strings.h>

/* ------------------------------------------------------------------ mechanisms */

const char *mechanism_class(const struct mechanism *mechanism)
{
    const char *class = rewriting_text(rewriting_find_path(mechanism->node, "metadata.type"));

    return class != NULL ? class : "";
}

const char *mechanism_value(const struct mechanism *mechanism)
{
    struct mdf_node *ports = rewriting_find(mechanism->node, "output_ports"),
                    *functions = rewriting_find(mechanism->node, "functions");
    const char *value =
        rewriting_n_entries(ports) > 0 ? rewriting_text(rewriting_find(&ports->as.object.entries[0].value, "value")) : NULL;

    for (size_t i = 0; value != NULL && i < rewriting_n_entries(functions); i++) {
        if (rewriting_mentions(mechanism->rewriting, value, functions->as.object.entries[i].key)) {
            return functions->as.object.entries[i].key;
        }
    }
    return NULL;
}

struct mdf_node mechanism_expression(const struct mechanism *mechanism, const struct mdf_node *place, const char *expression)
{
    struct mdf_node function = rewriting_make_object(place);

    rewriting_put(mechanism->rewriting, &function, "value", rewriting_make_text(mechanism->rewriting, place, "%s", expression));
    return function;
}

void mechanism_wrap(const struct mechanism *mechanism, const char *id, const char *inner, struct mdf_node function)
{
    struct mdf_node *functions = rewriting_find(mechanism->node, "functions");

    rewriting_rename(functions, id, inner);
    rewriting_put(mechanism->rewriting, functions, id, function);
}

/* ------------------------------------------------------------------ graphs */

/* PsyNeuLink has a scheduler always: a trial ends when all nodes have run. */
static void give_conditions(struct rewriting *rewriting, struct mdf_node *graph)
{
    struct mdf_node *conditions = rewriting_object(rewriting, graph, "conditions"), *termination, all;

    if (rewriting_n_entries(rewriting_find(conditions, "node_specific")) > 0 ||
        rewriting_n_entries(rewriting_find(conditions, "termination")) > 0 || conditions == NULL) {
        return;
    }
    all = rewriting_make_object(graph);
    rewriting_put(rewriting, &all, "type", rewriting_make_text(rewriting, graph, "AllHaveRun"));
    termination = rewriting_object(rewriting, conditions, "termination");
    if (termination != NULL) {
        rewriting_put(rewriting, termination, "environment_state_update", all);
    }
}

static void rewrite_graph(struct rewriting *rewriting, struct mdf_node *graph);

/* The graph of a node: its own nodes, or "graph", as it is or as {ID: graph}. */
static void rewrite_inner_graph(struct rewriting *rewriting, struct mdf_node *node)
{
    struct mdf_node *graph = rewriting_find(node, "nodes") != NULL ? node : rewriting_find(node, "graph");

    if (rewriting_find(graph, "nodes") == NULL && rewriting_n_entries(graph) == 1) {
        graph = &graph->as.object.entries[0].value;
    }
    if (rewriting_find(graph, "nodes") != NULL) {
        rewrite_graph(rewriting, graph);
    }
}

static void rewrite_graph(struct rewriting *rewriting, struct mdf_node *graph)
{
    struct mdf_node *nodes, *edges;

    rewriting_object(rewriting, graph, "edges");
    give_conditions(rewriting, graph);
    nodes = rewriting_find(graph, "nodes"); /* found when all are there: they move where an entry is added */
    edges = rewriting_find(graph, "edges");
    psyneulink_fold_projections(rewriting, graph);
    for (size_t i = 0; edges != NULL && i < rewriting_n_entries(nodes); i++) {
        struct mechanism mechanism = {rewriting, nodes->as.object.entries[i].key, &nodes->as.object.entries[i].value};

        psyneulink_close_recurrence(&mechanism, edges);
    }
    for (size_t i = 0; i < rewriting_n_entries(edges); i++) {
        struct mdf_node *edge = &edges->as.object.entries[i].value, *feedback = rewriting_find_path(edge, "metadata.feedback");

        if (feedback != NULL) {
            rewriting_put(rewriting, edge, "feedback", *feedback);
        }
    }
    psyneulink_apply_matrices(rewriting, graph);
    for (size_t i = 0; i < rewriting_n_entries(nodes) && !rewriting->failed; i++) {
        struct mechanism mechanism = {rewriting, nodes->as.object.entries[i].key, &nodes->as.object.entries[i].value};

        rewrite_inner_graph(rewriting, mechanism.node);
        psyneulink_state_formulas(&mechanism);
        psyneulink_complete_mechanism(&mechanism);
        psyneulink_order_parameters(&mechanism);
        psyneulink_give_defaults(&mechanism);
    }
}

mdf_status mdf_psyneulink_rewrite(struct mdf_arena *arena, const struct mdf_document *document, struct mdf_node *root,
                                  mdf_error *error)
{
    mdf_error first = {0};
    struct rewriting rewriting = {arena, document, &first, false, 0};
    struct mdf_node *graphs;
    const char *id;

    *root = rewriting_copy(&rewriting, &document->root);
    graphs = rewriting_find(root, "graphs");
    if (graphs == NULL && mdf_document_model(root, &id) != NULL) {
        graphs = rewriting_find(&root->as.object.entries[0].value, "graphs");
    }
    for (size_t i = 0; i < rewriting_n_entries(graphs) && !rewriting.failed; i++) {
        rewrite_graph(&rewriting, &graphs->as.object.entries[i].value);
    }
    if (arena->has_refused && !rewriting.failed) { /* a search that found no room */
        rewriting.failed = true;
        mdf_error_set(&first, MDF_OUT_OF_MEMORY, "out of memory");
    }
    if (rewriting.failed && error != NULL && error->code == MDF_OK) {
        *error = first;
    }
    return rewriting.failed ? first.code : MDF_OK;
}

mdf_dialect mdf_dialect_of(const struct mdf_document *document, mdf_dialect said)
{
    const struct mdf_node *model;
    const char *id, *name;

    if (said != MDF_DIALECT_UNSAID) {
        return said;
    }
    model = mdf_document_model(&document->root, &id);
    name = model != NULL ? rewriting_text(mdf_node_get(model, "generating_application")) : NULL;
    return name != NULL && strncasecmp(name, "psyneulink", 10) == 0 ? MDF_DIALECT_PSYNEULINK : MDF_DIALECT_REFERENCE;
}
