/* body_names.c - the names that bodies take from around them, as far as their text tells: what a definition with bodies depends
 * on besides its arguments. See compiler.h. */
#include "functions/kernel/operator.h"
#include "mdf_c/plan/compiler.h"

#include <string.h>

/* A body that is gone through, with the names that are bound in it, as scope.c and body.c find them. */
struct body {
    const struct mdf_node *graph;
    struct body *around;
    struct name_table own;     /* its inputs and the parameters of its graph */
    struct name_table fed;     /* ports that an input feeds: PORT of any node, or NODE.PORT */
    struct name_table outputs; /* output ports, and the number of their node, from 1 on; SEVERAL nodes have it */
    struct name_table of_node; /* functions, parameters and input ports of the node that is gone through */
    size_t node;               /* its number, from 1 on */
};

#define SEVERAL SIZE_MAX

struct body_names {
    struct compiler *compiler;
    struct list read;         /* const char *: names in values, but for what their body has itself */
    struct body *body;        /* which is gone through; NULL: none */
    struct name_table bodies; /* ids of graphs that were gone through */
    size_t depth;
    bool is_branch; /* bodies in the value that is read are branches, which have no inputs */
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

    if (value == NULL) {
        return true;
    }
    if (value->kind == MDF_NODE_STRING) {
        return collect_names(names->compiler, value, &names->read) && read_named_body(names, value->as.string.bytes);
    }
    if (value->kind == MDF_NODE_OBJECT && mdf_node_get(value, "nodes") != NULL) {
        return read_body(names, value);
    }
    for (size_t i = 0; done && value->kind == MDF_NODE_LIST && i < value->as.list.n; i++) {
        done = read_value(names, &value->as.list.items[i]);
    }
    for (size_t i = 0; done && value->kind == MDF_NODE_OBJECT && i < value->as.object.n; i++) {
        done = read_value(names, &value->as.object.entries[i].value);
    }
    return done;
}

/* Whether the bodies of an operator are branches. */
static bool has_branches(const struct mdf_schema *schema)
{
    const struct mdf_operator *operator= schema != NULL ? mdf_operator_onnx(schema->name, schema->since) : NULL;

    return operator!= NULL && operator->form == MDF_FORM_IF;
}

static bool note(struct body_names *names, struct name_table *table, const char *name, size_t number)
{
    size_t *noted = name_table_add(table, &names->compiler->scratch, name);

    if (noted == NULL) {
        compile_out_of_memory(names->compiler);
        return false;
    }
    *noted = *noted == 0 || *noted == number ? number : SEVERAL;
    return true;
}

static bool note_keys(struct body_names *names, struct name_table *table, const struct mdf_node *object, size_t number)
{
    for (size_t i = 0; object != NULL && object->kind == MDF_NODE_OBJECT && i < object->as.object.n; i++) {
        if (!note(names, table, object->as.object.entries[i].key, number)) {
            return false;
        }
    }
    return true;
}

/* NODE.PORT as a text. */
static const char *dotted(struct body_names *names, const char *node, const char *port)
{
    const char *text = mdf_arena_printf(&names->compiler->scratch, "%s.%s", node, port);

    if (text == NULL) {
        compile_out_of_memory(names->compiler);
    }
    return text;
}

/* The text of an item of an interface: of itself, or of one of its keys; NULL: none. */
static const char *text_of(const struct mdf_node *item, const char *key)
{
    const struct mdf_node *text = item->kind == MDF_NODE_OBJECT ? mdf_node_get(item, key) : item;

    return text != NULL && text->kind == MDF_NODE_STRING ? text->as.string.bytes : NULL;
}

static const struct mdf_node *interface_of(const struct mdf_node *graph, const char *kind)
{
    const struct mdf_node *metadata = mdf_node_get(graph, "metadata");
    const struct mdf_node *items = metadata != NULL ? mdf_node_get(metadata, kind) : NULL;

    return items != NULL && items->kind == MDF_NODE_LIST ? items : NULL;
}

static bool note_inputs(struct body_names *names, struct body *body)
{
    const struct mdf_node *inputs = interface_of(body->graph, "inputs");

    for (size_t i = 0; inputs != NULL && i < inputs->as.list.n; i++) {
        const char *name = text_of(&inputs->as.list.items[i], "name"), *port = text_of(&inputs->as.list.items[i], "port");

        if (name != NULL && !(note(names, &body->own, name, 1) && note(names, &body->fed, port != NULL ? port : name, 1))) {
            return false;
        }
    }
    return true;
}

/* Ports that edges feed, and those that the nodes have themselves. */
static bool note_ports(struct body_names *names, struct body *body, const struct mdf_node *nodes)
{
    const struct mdf_node *edges = mdf_node_get(body->graph, "edges");

    for (size_t i = 0; edges != NULL && edges->kind == MDF_NODE_OBJECT && i < edges->as.object.n; i++) {
        const struct mdf_node *edge = &edges->as.object.entries[i].value;
        const char *node = edge->kind == MDF_NODE_OBJECT ? text_of(edge, "receiver") : NULL;
        const char *port = node != NULL ? text_of(edge, "receiver_port") : NULL, *text;

        if (port != NULL && ((text = dotted(names, node, port)) == NULL || !note(names, &body->fed, text, 1))) {
            return false;
        }
    }
    for (size_t i = 0; nodes != NULL && i < nodes->as.object.n; i++) {
        if (!note_keys(names, &body->outputs, mdf_node_get(&nodes->as.object.entries[i].value, "output_ports"), i + 1)) {
            return false;
        }
    }
    return true;
}

static bool read_item(struct body_names *names, const struct mdf_node *item)
{
    static const char *const keys[] = {"args", "value", "default_initial_value", "time_derivative", "conditions"};
    const char *function = text_of(item, "function");
    bool done = true;

    names->is_branch = function != NULL && has_branches(find_onnx_schema(names->compiler, function));
    for (size_t k = 0; done && k < sizeof keys / sizeof *keys; k++) {
        done = read_value(names, mdf_node_get(item, keys[k]));
    }
    names->is_branch = false;
    return done;
}

/* What the items of a kind say ("functions", "parameters", "input_ports", "output_ports"). */
static bool read_items(struct body_names *names, const struct mdf_node *node, const char *kind)
{
    const struct mdf_node *items = mdf_node_get(node, kind);

    for (size_t i = 0; items != NULL && items->kind == MDF_NODE_OBJECT && i < items->as.object.n; i++) {
        const struct mdf_node *item = &items->as.object.entries[i].value;

        if (item->kind == MDF_NODE_OBJECT && !read_item(names, item)) {
            return false;
        }
    }
    return true;
}

/* Takes the names away that were read from number `first` on and stand in a table; `but`: not those with this number. */
static void take_away(struct body_names *names, size_t first, const struct name_table *table, size_t but)
{
    const char **read = (const char **)names->read.items;
    size_t n = first;

    for (size_t i = first; i < names->read.n; i++) {
        const size_t *number = name_table_find(table, read[i]);

        if (number == NULL || *number == but) {
            read[n++] = read[i];
        }
    }
    names->read.n = n;
}

/* What a node's values read that is neither its own nor its graph's. Its output ports hide nothing. */
static bool read_node(struct body_names *names, const struct mdf_node *node)
{
    static const char *const kinds[] = {"input_ports", "functions", "parameters", "output_ports"};
    enum { N_KINDS = sizeof kinds / sizeof *kinds, N_HIDING = N_KINDS - 1 };
    struct body *body = names->body;
    size_t first = names->read.n;

    body->of_node = (struct name_table){0};
    for (size_t i = 0; i < N_HIDING; i++) {
        if (!note_keys(names, &body->of_node, mdf_node_get(node, kinds[i]), 1)) {
            return false;
        }
    }
    for (size_t i = 0; i < N_KINDS; i++) {
        if (!read_items(names, node, kinds[i])) {
            return false;
        }
    }
    take_away(names, first, &body->of_node, 0);
    take_away(names, first, &body->own, 0);
    return true;
}

/* Outputs that the body only names may be what stands around it. */
static bool read_outputs(struct body_names *names)
{
    const struct mdf_node *outputs = interface_of(names->body->graph, "outputs");

    for (size_t i = 0; outputs != NULL && i < outputs->as.list.n; i++) {
        const struct mdf_node *output = &outputs->as.list.items[i];
        const char *name = text_of(output, "name");
        bool is_port = output->kind == MDF_NODE_OBJECT && mdf_node_get(output, "port") != NULL;

        if (name != NULL && !is_port && name_table_find(&names->body->outputs, name) == NULL &&
            name_table_find(&names->body->own, name) == NULL && !list_add(names->compiler, &names->read, &name, sizeof name)) {
            return false;
        }
    }
    return true;
}

/* Input ports that nothing in the body feeds have the value of an outer name. Where a body does not say what its inputs are, that
 * may be these. */
static bool read_free_ports(struct body_names *names, const struct mdf_node_entry *node)
{
    const struct mdf_node *ports = mdf_node_get(&node->value, "input_ports");

    for (size_t i = 0; ports != NULL && ports->kind == MDF_NODE_OBJECT && i < ports->as.object.n; i++) {
        const struct mdf_node_entry *port = &ports->as.object.entries[i];
        const char *text = dotted(names, node->key, port->key);

        if (text == NULL) {
            return false;
        }
        if (name_table_find(&names->body->fed, port->key) == NULL && name_table_find(&names->body->fed, text) == NULL &&
            !(port->value.kind == MDF_NODE_OBJECT && mdf_node_get(&port->value, "default_value") != NULL) &&
            !list_add(names->compiler, &names->read, &port->key, sizeof port->key)) {
            return false;
        }
    }
    return true;
}

static bool read_nodes(struct body_names *names, const struct mdf_node *nodes, bool says_inputs)
{
    size_t n = nodes != NULL ? nodes->as.object.n : 0;

    for (size_t i = 0; i < n; i++) {
        names->body->node = i + 1;
        if (!read_node(names, &nodes->as.object.entries[i].value)) {
            return false;
        }
    }
    for (size_t i = 0; says_inputs && i < n; i++) {
        if (!read_free_ports(names, &nodes->as.object.entries[i])) {
            return false;
        }
    }
    return true;
}

static bool read_body(struct body_names *names, const struct mdf_node *graph)
{
    const struct mdf_node *nodes = mdf_node_get(graph, "nodes");
    struct body body = {.graph = graph, .around = names->body};
    bool is_branch = names->is_branch, done;
    size_t first = names->read.n;

    if (names->depth >= MDF_MAX_BODY_DEPTH) {
        return true; /* which is told where they are compiled */
    }
    nodes = nodes != NULL && nodes->kind == MDF_NODE_OBJECT ? nodes : NULL;
    names->depth++;
    names->body = &body;
    names->is_branch = false;
    done = note_inputs(names, &body) && note_keys(names, &body.own, mdf_node_get(graph, "parameters"), 1) &&
           note_ports(names, &body, nodes) && read_outputs(names) &&
           read_nodes(names, nodes, is_branch || interface_of(graph, "inputs") != NULL);
    if (body.around != NULL) { /* a body in a node finds the output ports of other nodes of its graph */
        take_away(names, first, &body.around->outputs, body.around->node);
    }
    names->body = body.around;
    names->is_branch = is_branch;
    names->depth--;
    return done;
}

bool collect_body_names(struct compiler *compiler, const struct mdf_definition *definition, const struct mdf_schema *schema,
                        struct list *names)
{
    struct body_names found = {.compiler = compiler, .is_branch = has_branches(schema)};

    for (size_t i = 0; i < schema->n_attributes; i++) {
        const char *name = schema->attributes[i].name;
        const struct mdf_node *body =
            schema->attributes[i].type == MDF_ATTRIBUTE_GRAPH ? find_graph_attribute(compiler, definition, name) : NULL;

        if (body != NULL &&
            !(body->kind == MDF_NODE_STRING ? read_named_body(&found, body->as.string.bytes) : read_value(&found, body))) {
            return false;
        }
    }
    for (size_t i = 0; i < found.read.n; i++) {
        const char *name = ((const char *const *)found.read.items)[i];

        if (!list_add(compiler, names, &name, sizeof name)) {
            return false;
        }
    }
    return true;
}
