/* resolve_graph.c - what in a graph refers to something else in it: the ends of edges, the items of a declared interface. */
#include "mdf_c/model/reader.h"

#include <stdio.h>
#include <string.h>

mdf_status mdf_reader_fail_with_guess(struct mdf_reader *reader, const struct mdf_node *node, const char *message,
                                      const struct mdf_nearest *nearest)
{
    const char *guess = mdf_nearest_result(nearest);
    char text[500];

    snprintf(text, sizeof text, "%s%s%s%s", message, guess ? "; did you mean '" : "", guess ? guess : "", guess ? "'?" : "");
    return mdf_reader_fail(reader, node, MDF_NAME, text);
}

/* "A.out", where A is a node. */
static bool names_port_of_node(const struct mdf_graph *graph, const char *text)
{
    const char *dot = strchr(text, '.');

    for (size_t i = 0; dot != NULL && i < graph->n_nodes; i++) {
        if (strncmp(graph->nodes[i].id, text, (size_t)(dot - text)) == 0 && graph->nodes[i].id[dot - text] == '\0') {
            return true;
        }
    }
    return false;
}

static mdf_status resolve_node(struct mdf_reader *reader, const struct mdf_graph *graph, const struct mdf_edge *edge,
                               const char *role, const char *id, size_t *index)
{
    struct mdf_nearest nearest;
    char message[200];

    *index = mdf_model_find_node(graph, id);
    if (*index < graph->n_nodes) {
        return MDF_OK;
    }
    if (name_table_find(&reader->lost, id) != NULL) {
        return MDF_NAME; /* an error in it is told already */
    }
    mdf_nearest_begin(&nearest, id);
    for (size_t i = 0; i < graph->n_nodes; i++) {
        mdf_nearest_offer(&nearest, graph->nodes[i].id);
    }
    snprintf(message, sizeof message, "%s '%.80s' is not a node of the graph%s", role, id,
             names_port_of_node(graph, id)
                 ? strcmp(role, "sender") == 0 ? ": the port stands in 'sender_port'" : ": the port stands in 'receiver_port'"
             : graph->n_nodes == 0 ? ": it has none"
                                   : "");
    return mdf_reader_fail_with_guess(reader, mdf_node_get(edge->source, role), message, &nearest);
}

/* What else of a node has the name of a port that it does not have, or which ports it has: "; its output ports are: a, b". */
static void tell_of_node(const struct mdf_graph_node *node, const char *what, const char *id, const void *ports, size_t n,
                         size_t size, char *text, size_t text_size)
{
    bool is_sender = what[0] == 'o', is_parameter = false;
    size_t length = 0;

    for (size_t i = 0; i < node->n_parameters && !is_parameter; i++) {
        is_parameter = strcmp(node->parameters[i].definition.id, id) == 0;
    }
    for (size_t i = 0; i < node->n_functions && !is_parameter; i++) {
        is_parameter = strcmp(node->functions[i].id, id) == 0;
    }
    text[0] = '\0';
    if (is_sender && is_parameter) {
        snprintf(text, text_size, "; give it one with the value '%.60s'", id);
        return;
    }
    if (is_sender ? mdf_model_find_input_port(node, id) < node->n_input_ports
                  : mdf_model_find_output_port(node, id) < node->n_output_ports) {
        snprintf(text, text_size,
                 is_sender ? ": it is an input port, where edges end" : ": it is an output port, where edges begin");
        return;
    }
    for (size_t i = 0; i < n && i < 6 && length < text_size; i++) {
        length += (size_t)snprintf(text + length, text_size - length, "%s%.30s",
                                   i > 0   ? ", "
                                   : n > 1 ? "; its ports are: "
                                           : "; it has one: ",
                                   mdf_model_id_of(ports, i, size));
    }
}

/* Index of the port `id` in an array of ports, each `size` bytes with its id first. */
static mdf_status resolve_port(struct mdf_reader *reader, const struct mdf_edge *edge, const char *role, const char *what,
                               const struct mdf_graph_node *node, const char *id, const struct name_table *names,
                               const void *ports, size_t n, size_t size, size_t *index)
{
    struct mdf_nearest nearest;
    char message[400], cure[240] = "";

    *index = mdf_model_find(names, ports, n, size, id);
    if (*index < n) {
        return MDF_OK;
    }
    mdf_nearest_begin(&nearest, id);
    for (size_t i = 0; i < n; i++) {
        mdf_nearest_offer(&nearest, mdf_model_id_of(ports, i, size));
    }
    if (mdf_nearest_result(&nearest) == NULL) {
        tell_of_node(node, what, id, ports, n, size, cure, sizeof cure);
    }
    snprintf(message, sizeof message, "node '%.60s' has no %s '%.60s'%s", node->id, what, id, cure);
    return mdf_reader_fail_with_guess(reader, mdf_node_get(edge->source, role), message, &nearest);
}

static mdf_status resolve_sender(struct mdf_reader *reader, const struct mdf_graph *graph, struct mdf_edge *edge)
{
    mdf_status status = resolve_node(reader, graph, edge, "sender", edge->sender, &edge->sender_node);
    const struct mdf_graph_node *node = status == MDF_OK ? &graph->nodes[edge->sender_node] : NULL;

    return node == NULL
               ? status
               : resolve_port(reader, edge, "sender_port", "output port", node, edge->sender_port, &node->output_port_names,
                              node->output_ports, node->n_output_ports, sizeof *node->output_ports, &edge->sender_index);
}

static mdf_status resolve_receiver(struct mdf_reader *reader, const struct mdf_graph *graph, struct mdf_edge *edge)
{
    mdf_status status = resolve_node(reader, graph, edge, "receiver", edge->receiver, &edge->receiver_node);
    const struct mdf_graph_node *node = status == MDF_OK ? &graph->nodes[edge->receiver_node] : NULL;

    return node == NULL
               ? status
               : resolve_port(reader, edge, "receiver_port", "input port", node, edge->receiver_port, &node->input_port_names,
                              node->input_ports, node->n_input_ports, sizeof *node->input_ports, &edge->receiver_index);
}

/* Both ends are looked at: each may have an error of its own. */
static mdf_status resolve_edge(struct mdf_reader *reader, const struct mdf_graph *graph, struct mdf_edge *edge)
{
    size_t length = strlen(reader->path), inside;
    mdf_status status, other = MDF_OK;

    mdf_reader_enter(reader, "edge", edge->id);
    inside = strlen(reader->path);
    status = resolve_sender(reader, graph, edge);
    if (status == MDF_OK || mdf_reader_recover(reader, inside)) {
        other = resolve_receiver(reader, graph, edge);
    }
    reader->path[length] = '\0';
    return status != MDF_OK ? status : other;
}

/* "NODE.PORT" where NODE is a node of the graph: ids may have points of their own. */
static const char *split_name(struct mdf_reader *reader, const struct mdf_graph *graph, const char *name, const char **node)
{
    const char *point;

    for (point = strchr(name, '.'); point != NULL; point = strchr(point + 1, '.')) {
        char *prefix = mdf_arena_text(reader->arena, name, (size_t)(point - name));

        if (prefix != NULL && mdf_model_find_node(graph, prefix) < graph->n_nodes) {
            *node = prefix;
            return point + 1;
        }
    }
    *node = NULL;
    return name;
}

static mdf_status read_interface_item(struct mdf_reader *reader, const struct mdf_graph *graph, const struct mdf_node *node,
                                      struct mdf_interface_item *item)
{
    const struct mdf_node *name = node->kind == MDF_NODE_OBJECT ? mdf_node_get(node, "name") : node;
    const struct mdf_node *port = node->kind == MDF_NODE_OBJECT ? mdf_node_get(node, "port") : NULL;

    item->source = node;
    item->declaration.type.dtype = MDF_DTYPE_NONE;
    if (name == NULL) {
        name = port;
    }
    if (name == NULL || name->kind != MDF_NODE_STRING || (port != NULL && port->kind != MDF_NODE_STRING)) {
        return mdf_reader_fail(reader, node, MDF_MODEL,
                               "an item of an interface is a name, or an object with 'name' and 'port' as strings");
    }
    item->name = name->as.string.bytes;
    item->port = split_name(reader, graph, (port != NULL ? port : name)->as.string.bytes, &item->node);
    return node->kind == MDF_NODE_OBJECT ? mdf_reader_declaration(reader, node, &item->declaration) : MDF_OK;
}

static mdf_status read_interface(struct mdf_reader *reader, struct mdf_graph *graph, const char *key, bool *declared,
                                 struct mdf_interface_item **items, size_t *n)
{
    const struct mdf_node *metadata = mdf_node_get(graph->source, "metadata");
    const struct mdf_node *list = metadata != NULL ? mdf_node_get(metadata, key) : NULL;
    size_t length = strlen(reader->path), i;

    if (list != NULL && list->kind == MDF_NODE_STRING) { /* metadata is free, but this is meant */
        mdf_reader_warn(reader, list->line, list->column,
                        key[0] == 'i' ? "'inputs' is a list of names: it is ignored"
                                      : "'outputs' is a list of names: it is ignored");
    }
    if (list == NULL || list->kind != MDF_NODE_LIST) {
        return MDF_OK;
    }
    *declared = true;
    *n = mdf_node_length(list);
    *items = mdf_arena_array(reader->arena, *n, sizeof **items);
    if (*items == NULL) {
        return mdf_reader_out_of_memory(reader);
    }
    for (i = 0; i < *n; i++) {
        mdf_status status = read_interface_item(reader, graph, &list->as.list.items[i], &(*items)[i]);

        if (status != MDF_OK && mdf_reader_recover(reader, length)) {
            reader->n_lost++;
            continue;
        }
        if (status != MDF_OK) {
            return status;
        }
    }
    return MDF_OK;
}

/* Edges of which an end is not found are left out. */
static mdf_status resolve_edges(struct mdf_reader *reader, struct mdf_graph *graph)
{
    size_t length = strlen(reader->path), n = 0, i;

    for (i = 0; i < graph->n_edges; i++) {
        mdf_status status = resolve_edge(reader, graph, &graph->edges[i]);

        if (status == MDF_OK) {
            graph->edges[n++] = graph->edges[i];
        } else if (!mdf_reader_recover(reader, length)) {
            return status;
        } else if (graph->n_nodes == 0) {
            break; /* the same of all */
        }
    }
    graph->n_edges = n;
    return MDF_OK;
}

mdf_status mdf_reader_finish_graph(struct mdf_reader *reader, const struct mdf_node *source, void *object)
{
    struct mdf_graph *graph = object;
    mdf_status status;

    (void)source;
    status = resolve_edges(reader, graph);
    if (status == MDF_OK) {
        status = read_interface(reader, graph, "inputs", &graph->declares_inputs, &graph->inputs, &graph->n_inputs);
    }
    if (status == MDF_OK) {
        status = read_interface(reader, graph, "outputs", &graph->declares_outputs, &graph->outputs, &graph->n_outputs);
    }
    return status;
}
