/* body_names.c - the names that bodies take from around them, as far as their text tells: what a definition with bodies depends
 * on besides its arguments. See compiler.h. */
#include "mdf_c/plan/compiler.h"

#include <string.h>

struct body_names {
    struct compiler *compiler;
    struct list read;         /* const char *: names in values, but for what their body has itself */
    struct name_table *own;   /* of what the body that is gone through has itself */
    struct name_table bodies; /* ids of graphs that were gone through */
    size_t depth;
};

static bool read_body(struct body_names *names, const struct mdf_node *graph);

/* A body that is given by the id of a graph. */
static bool read_named_body(struct body_names *names, const char *id)
{
    const struct mdf_graph *graph = mdf_model_find_graph(names->compiler->model, id);
    size_t *is_read = graph != NULL ? name_table_add(&names->bodies, &names->compiler->scratch, id) : NULL;

    if (graph == NULL || (is_read != NULL && *is_read != 0)) {
        return true;
    }
    if (is_read == NULL) {
        compile_out_of_memory(names->compiler);
        return false;
    }
    *is_read = 1;
    return read_body(names, graph->source);
}

/* A value, which may be a body, or have some in it. */
static bool read_value(struct body_names *names, const struct mdf_node *value)
{
    bool done = true;
    size_t i;

    if (value == NULL) {
        return true;
    }
    if (value->kind == MDF_NODE_STRING) {
        return collect_names(names->compiler, value, &names->read) && read_named_body(names, value->as.string.bytes);
    }
    if (value->kind == MDF_NODE_OBJECT && mdf_node_get(value, "nodes") != NULL) {
        return read_body(names, value);
    }
    for (i = 0; done && value->kind == MDF_NODE_LIST && i < value->as.list.n; i++) {
        done = read_value(names, &value->as.list.items[i]);
    }
    for (i = 0; done && value->kind == MDF_NODE_OBJECT && i < value->as.object.n; i++) {
        done = read_value(names, &value->as.object.entries[i].value);
    }
    return done;
}

/* What the items of a kind say ("functions", "parameters", "input_ports", "output_ports"); the node has their names itself,
 * unless they are of outputs. */
static bool read_items(struct body_names *names, const struct mdf_node *node, const char *kind)
{
    static const char *const keys[] = {"args", "value", "default_initial_value", "time_derivative", "conditions"};
    const struct mdf_node *items = mdf_node_get(node, kind);
    bool are_outputs = strcmp(kind, "output_ports") == 0;
    size_t i, k;

    for (i = 0; items != NULL && items->kind == MDF_NODE_OBJECT && i < items->as.object.n; i++) {
        const struct mdf_node_entry *item = &items->as.object.entries[i];

        if (!are_outputs && name_table_add(names->own, &names->compiler->scratch, item->key) == NULL) {
            compile_out_of_memory(names->compiler);
            return false;
        }
        for (k = 0; item->value.kind == MDF_NODE_OBJECT && k < sizeof keys / sizeof *keys; k++) {
            if (!read_value(names, mdf_node_get(&item->value, keys[k]))) {
                return false;
            }
        }
    }
    return true;
}

/* Outputs that the body only names may be what stands around it. */
static bool read_outputs(struct body_names *names, const struct mdf_node *graph)
{
    const struct mdf_node *metadata = mdf_node_get(graph, "metadata");
    const struct mdf_node *outputs = metadata != NULL ? mdf_node_get(metadata, "outputs") : NULL;
    size_t i;

    for (i = 0; outputs != NULL && outputs->kind == MDF_NODE_LIST && i < outputs->as.list.n; i++) {
        const struct mdf_node *output = &outputs->as.list.items[i];

        if (!collect_names(names->compiler, output->kind == MDF_NODE_OBJECT ? mdf_node_get(output, "name") : output,
                           &names->read)) {
            return false;
        }
    }
    return true;
}

/* Takes the names away that were read from number `first` on and are the body's own. */
static void leave_body(struct body_names *names, size_t first)
{
    const char **read = (const char **)names->read.items;
    size_t n = first, i;

    for (i = first; i < names->read.n; i++) {
        if (name_table_find(names->own, read[i]) == NULL) {
            read[n++] = read[i];
        }
    }
    names->read.n = n;
}

static bool read_body(struct body_names *names, const struct mdf_node *graph)
{
    static const char *const kinds[] = {"input_ports", "functions", "parameters", "output_ports"};
    const struct mdf_node *nodes = mdf_node_get(graph, "nodes");
    struct name_table own = {0}, *around = names->own;
    size_t first = names->read.n, i, k;
    bool done;

    if (names->depth >= MDF_MAX_BODY_DEPTH) {
        return true; /* which is told where they are compiled */
    }
    names->depth++;
    names->own = &own;
    done = read_outputs(names, graph);
    for (i = 0; done && nodes != NULL && nodes->kind == MDF_NODE_OBJECT && i < nodes->as.object.n; i++) {
        for (k = 0; done && k < sizeof kinds / sizeof *kinds; k++) {
            done = read_items(names, &nodes->as.object.entries[i].value, kinds[k]);
        }
    }
    leave_body(names, first);
    names->own = around;
    names->depth--;
    return done;
}

bool collect_body_names(struct compiler *compiler, const struct mdf_definition *definition, const struct mdf_schema *schema,
                        struct list *names)
{
    struct body_names found = {.compiler = compiler};
    size_t i;

    for (i = 0; definition->args != NULL && i < schema->n_attributes; i++) {
        const struct mdf_node *body =
            schema->attributes[i].type == MDF_ATTRIBUTE_GRAPH ? mdf_node_get(definition->args, schema->attributes[i].name) : NULL;

        if (body != NULL &&
            !(body->kind == MDF_NODE_STRING ? read_named_body(&found, body->as.string.bytes) : read_value(&found, body))) {
            return false;
        }
    }
    for (i = 0; i < found.read.n; i++) {
        const char *name = ((const char *const *)found.read.items)[i];

        if (!list_add(compiler, names, &name, sizeof name)) {
            return false;
        }
    }
    return true;
}
