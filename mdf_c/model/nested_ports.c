/* nested_ports.c - the ports that a node has by the graph within it.
 *
 * Comes in: a node whose graph is read, its edges resolved. Goes out: the node with an input port for each input of the graph
 * that the node has no name for (port, parameter or function), and an output port for each output of the graph that it does not
 * have itself. A graph that declares its interface is taken at its word; else its inputs are the ports that no edge feeds, its
 * outputs those that no edge reads. */
#include "mdf_c/model/model.h"

#include <string.h>

struct joiner {
    struct mdf_arena *arena;
    struct mdf_graph_node *node;
    const struct mdf_graph *graph;
    /* Of each port of the graph's nodes, in order, whether an edge feeds or reads it; where those of a node begin. */
    bool *is_fed, *is_read;
    size_t *first_input, *first_output;
    struct name_table free_ports, outputs; /* the first node, from 1, that has one of that name */
    const struct mdf_input_port *unlike;   /* see mdf_model_add_nested_ports */
    bool failed;                           /* out of memory */
};

/* ------------------------------------------------------------------ what edges of the graph do */

static bool mark_ports(struct joiner *joiner)
{
    const struct mdf_graph *graph = joiner->graph;
    size_t n_inputs = 0, n_outputs = 0;

    joiner->first_input = mdf_arena_array(joiner->arena, graph->n_nodes, sizeof *joiner->first_input);
    joiner->first_output = mdf_arena_array(joiner->arena, graph->n_nodes, sizeof *joiner->first_output);
    for (size_t i = 0; joiner->first_input != NULL && joiner->first_output != NULL && i < graph->n_nodes; i++) {
        joiner->first_input[i] = n_inputs;
        joiner->first_output[i] = n_outputs;
        n_inputs += graph->nodes[i].n_input_ports;
        n_outputs += graph->nodes[i].n_output_ports;
    }
    joiner->is_fed = mdf_arena_array(joiner->arena, n_inputs, sizeof *joiner->is_fed);
    joiner->is_read = mdf_arena_array(joiner->arena, n_outputs, sizeof *joiner->is_read);
    if (joiner->first_input == NULL || joiner->first_output == NULL || joiner->is_fed == NULL || joiner->is_read == NULL) {
        return false;
    }
    for (size_t i = 0; i < graph->n_edges; i++) {
        joiner->is_fed[joiner->first_input[graph->edges[i].receiver_node] + graph->edges[i].receiver_index] = true;
        joiner->is_read[joiner->first_output[graph->edges[i].sender_node] + graph->edges[i].sender_index] = true;
    }
    return true;
}

static bool is_fed(const struct joiner *joiner, size_t node, size_t port)
{
    return joiner->is_fed[joiner->first_input[node] + port];
}

/* ------------------------------------------------------------------ names */

/* "NODE.PORT"; NULL with `failed` set. */
static char *full_name(struct joiner *joiner, size_t node, const char *port)
{
    char *name = mdf_arena_printf(joiner->arena, "%s.%s", joiner->graph->nodes[node].id, port);

    joiner->failed = joiner->failed || name == NULL;
    return name;
}

static bool has_name(const struct mdf_graph_node *node, const char *id)
{
    return mdf_model_find_function(node, id) != NULL || mdf_model_find_parameter(node, id) != NULL ||
           mdf_model_find_input_port(node, id) < node->n_input_ports;
}

static bool has_output(const struct mdf_graph_node *node, const char *id)
{
    return mdf_model_find_output_port(node, id) < node->n_output_ports;
}

/* Notes the last of the ports, of which there are `n`, in the table of their names. */
static void note_name(struct joiner *joiner, struct name_table *names, const char *id, size_t n)
{
    size_t *number = name_table_add(names, joiner->arena, id);

    joiner->failed = joiner->failed || number == NULL;
    if (number != NULL && *number == 0) {
        *number = n;
    }
}

/* Ports are added to tables that know all that are there. */
static void index_own_ports(struct joiner *joiner)
{
    struct mdf_graph_node *node = joiner->node;

    for (size_t i = 0; i < node->n_input_ports && !joiner->failed; i++) {
        note_name(joiner, &node->input_port_names, node->input_ports[i].id, i + 1);
    }
    for (size_t i = 0; i < node->n_output_ports && !joiner->failed; i++) {
        note_name(joiner, &node->output_port_names, node->output_ports[i].id, i + 1);
    }
}

/* ------------------------------------------------------------------ inputs */

/* Finds the free ports of the graph's nodes by their names, where an interface will ask for them. */
static void index_free_ports(struct joiner *joiner)
{
    const struct mdf_graph *graph = joiner->graph;

    for (size_t i = 0; i < graph->n_nodes && !joiner->failed; i++) {
        for (size_t j = 0; j < graph->nodes[i].n_input_ports && !joiner->failed; j++) {
            if (!is_fed(joiner, i, j)) {
                note_name(joiner, &joiner->free_ports, graph->nodes[i].input_ports[j].id, i + 1);
            }
        }
    }
}

/* The first port of that name, of any node or of one, that nothing feeds; NULL: there is none. */
static const struct mdf_input_port *find_free_port(const struct joiner *joiner, const char *node, const char *port)
{
    const struct mdf_graph *graph = joiner->graph;
    const size_t *number = node == NULL ? name_table_find(&joiner->free_ports, port) : NULL;
    size_t at = node != NULL ? mdf_model_find_node(graph, node) : number != NULL ? *number - 1 : graph->n_nodes, i;

    if (at == graph->n_nodes) {
        return NULL;
    }
    i = mdf_model_find_input_port(&graph->nodes[at], port);
    return i < graph->nodes[at].n_input_ports && !is_fed(joiner, at, i) ? &graph->nodes[at].input_ports[i] : NULL;
}

/* Room for `n_more` ports behind those that a node has. */
static bool grow(struct mdf_arena *arena, void *ports, size_t n, size_t n_more, size_t size)
{
    void *grown = n + n_more < n ? NULL : mdf_arena_array(arena, n + n_more, size), *old;

    if (grown == NULL) {
        return false;
    }
    memcpy(&old, ports, sizeof old);
    if (n > 0) {
        memcpy(grown, old, n * size);
    }
    memcpy(ports, &grown, sizeof grown);
    return true;
}

/* Like the port that it feeds; what the interface declares comes first. Types are for the ports that it feeds to convert to. */
static void add_input(struct joiner *joiner, const char *id, const struct mdf_input_port *port,
                      const struct mdf_interface_item *item)
{
    struct mdf_graph_node *node = joiner->node;
    struct mdf_input_port made = {0};

    if (port != NULL) {
        made = *port;
        made.declaration.type = (struct mdf_declared_type){.dtype = MDF_DTYPE_NONE};
    }
    made.id = id;
    made.is_made = true;
    made.source = item != NULL ? item->source : made.source;
    if (item != NULL && (port == NULL || item->declaration.has_shape || item->declaration.type.dtype != MDF_DTYPE_NONE)) {
        made.declaration = item->declaration;
    }
    node->input_ports[node->n_input_ports++] = made;
    note_name(joiner, &node->input_port_names, id, node->n_input_ports);
}

static void add_declared_inputs(struct joiner *joiner)
{
    const struct mdf_graph *graph = joiner->graph;

    index_free_ports(joiner);
    for (size_t i = 0; i < graph->n_inputs && !joiner->failed; i++) {
        if (!has_name(joiner->node, graph->inputs[i].name)) {
            add_input(joiner, graph->inputs[i].name, find_free_port(joiner, graph->inputs[i].node, graph->inputs[i].port),
                      &graph->inputs[i]);
        }
    }
}

/* One more port that the node's port of that name feeds: the node's has the shape that all of them have, and waits for its edges
 * if one of them does. */
static void join_input(struct joiner *joiner, const struct mdf_input_port *port)
{
    struct mdf_graph_node *node = joiner->node;
    struct mdf_declaration *declaration;
    size_t i = mdf_model_find_input_port(node, port->id);

    if (i == node->n_input_ports || !node->input_ports[i].is_made) {
        return;
    }
    if (port->reduce != node->input_ports[i].reduce && joiner->unlike == NULL) {
        joiner->unlike = port;
    }
    declaration = &node->input_ports[i].declaration;
    if (declaration->has_shape != port->declaration.has_shape || declaration->rank != port->declaration.rank ||
        (declaration->rank > 0 &&
         memcmp(declaration->shape, port->declaration.shape, declaration->rank * sizeof *declaration->shape) != 0)) {
        *declaration = (struct mdf_declaration){.type.dtype = MDF_DTYPE_NONE};
    }
    if (port->default_value == NULL) {
        node->input_ports[i].default_value = NULL;
    }
}

static void add_free_inputs(struct joiner *joiner)
{
    const struct mdf_graph *graph = joiner->graph;
    char *name;

    for (size_t i = 0; i < graph->n_nodes && !joiner->failed; i++) {
        for (size_t j = 0; j < graph->nodes[i].n_input_ports && !joiner->failed; j++) {
            const struct mdf_input_port *port = &graph->nodes[i].input_ports[j];

            name = is_fed(joiner, i, j) ? NULL : full_name(joiner, i, port->id);
            if (name != NULL && !has_name(joiner->node, name)) {
                if (has_name(joiner->node, port->id)) {
                    join_input(joiner, port);
                } else {
                    add_input(joiner, port->id, port, NULL);
                }
            }
        }
    }
}

static size_t count_inputs(const struct mdf_graph *graph)
{
    size_t n = graph->n_inputs;

    for (size_t i = 0; i < graph->n_nodes; i++) {
        n += graph->nodes[i].n_input_ports;
    }
    return n;
}

/* ------------------------------------------------------------------ outputs */

/* An output port whose value is a name: "NODE.PORT", or an input that is passed through. `initial`: what that port holds before
 * its node has run, so that this one holds it, too; NULL: nothing. */
static void add_output(struct joiner *joiner, const char *id, const char *value, const struct mdf_node *source,
                       const struct mdf_declaration *declaration, const struct mdf_node *initial)
{
    struct mdf_node *text = mdf_arena_allocate(joiner->arena, sizeof *text);
    struct mdf_output_port port = {.id = id, .source = source, .value = text, .initial = initial, .declaration = *declaration};

    if (text == NULL || value == NULL) {
        joiner->failed = true;
        return;
    }
    text->kind = MDF_NODE_STRING;
    text->is_given = source->is_given;
    text->line = source->line;
    text->column = source->column;
    text->as.string.bytes = value;
    text->as.string.length = strlen(value);
    joiner->node->output_ports[joiner->node->n_output_ports++] = port;
    note_name(joiner, &joiner->node->output_port_names, id, joiner->node->n_output_ports);
}

/* Finds the output ports of the graph's nodes by their names, where an interface will ask for them. */
static void index_outputs(struct joiner *joiner)
{
    const struct mdf_graph *graph = joiner->graph;

    for (size_t i = 0; i < graph->n_nodes && !joiner->failed; i++) {
        for (size_t j = 0; j < graph->nodes[i].n_output_ports && !joiner->failed; j++) {
            note_name(joiner, &joiner->outputs, graph->nodes[i].output_ports[j].id, i + 1);
        }
    }
}

/* What a port of the node holds before that has run. */
static const struct mdf_node *initial_of(const struct mdf_graph_node *node, const char *port)
{
    return node->output_ports[mdf_model_find_output_port(node, port)].initial;
}

static void add_declared_output(struct joiner *joiner, const struct mdf_interface_item *item)
{
    const struct mdf_graph *graph = joiner->graph;
    const size_t *number = item->node == NULL ? name_table_find(&joiner->outputs, item->port) : NULL;
    size_t at = item->node != NULL ? mdf_model_find_node(graph, item->node) : number != NULL ? *number - 1 : graph->n_nodes;
    bool is_output = at < graph->n_nodes && has_output(&graph->nodes[at], item->port);

    add_output(joiner, item->name, is_output ? full_name(joiner, at, item->port) : item->port, item->source, &item->declaration,
               is_output ? initial_of(&graph->nodes[at], item->port) : NULL);
}

static void add_unread_outputs(struct joiner *joiner)
{
    const struct mdf_graph *graph = joiner->graph;
    char *name;

    for (size_t i = 0; i < graph->n_nodes && !joiner->failed; i++) {
        for (size_t j = 0; j < graph->nodes[i].n_output_ports && !joiner->failed; j++) {
            const struct mdf_output_port *port = &graph->nodes[i].output_ports[j];

            name = joiner->is_read[joiner->first_output[i] + j] ? NULL : full_name(joiner, i, port->id);
            if (name != NULL) {
                add_output(joiner, has_output(joiner->node, port->id) ? name : port->id, name, port->source, &port->declaration,
                           port->initial);
            }
        }
    }
}

static void add_outputs(struct joiner *joiner)
{
    const struct mdf_graph *graph = joiner->graph;

    if (!graph->declares_outputs) {
        add_unread_outputs(joiner);
        return;
    }
    index_outputs(joiner);
    for (size_t i = 0; i < graph->n_outputs && !joiner->failed; i++) {
        if (!has_output(joiner->node, graph->outputs[i].name)) {
            add_declared_output(joiner, &graph->outputs[i]);
        }
    }
}

static size_t count_outputs(const struct mdf_graph *graph)
{
    size_t n = graph->n_outputs;

    for (size_t i = 0; i < graph->n_nodes; i++) {
        n += graph->nodes[i].n_output_ports;
    }
    return n;
}

bool mdf_model_add_nested_ports(struct mdf_arena *arena, struct mdf_graph_node *node, const struct mdf_input_port **unlike)
{
    struct joiner joiner = {.arena = arena, .node = node, .graph = node->graph};

    if (!mark_ports(&joiner) ||
        !grow(arena, &node->input_ports, node->n_input_ports, count_inputs(node->graph), sizeof *node->input_ports) ||
        !grow(arena, &node->output_ports, node->n_output_ports, count_outputs(node->graph), sizeof *node->output_ports)) {
        return false;
    }
    index_own_ports(&joiner);
    if (node->graph->declares_inputs) {
        add_declared_inputs(&joiner);
    } else {
        add_free_inputs(&joiner);
    }
    if (!joiner.failed) {
        add_outputs(&joiner);
    }
    *unlike = joiner.unlike;
    return !joiner.failed;
}
