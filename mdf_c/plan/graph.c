/* graph.c - a graph's parameters, wiring and order. See compiler.h. */
#include "mdf_c/plan/compiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool begin_node(struct graph_builder *builder, size_t index)
{
    const struct mdf_graph_node *node = &builder->graph->nodes[index];
    struct mdf_arena *arena = &builder->compiler->scratch;
    struct node_plan *plan = &builder->nodes[index];

    plan->outputs = mdf_arena_array(arena, node->n_output_ports, sizeof *plan->outputs);
    plan->output_is_reserved = mdf_arena_array(arena, node->n_output_ports, sizeof *plan->output_is_reserved);
    plan->ports = mdf_arena_array(arena, node->n_input_ports, sizeof *plan->ports);
    plan->links = mdf_arena_array(arena, node->n_input_ports, sizeof *plan->links);
    plan->output_is_consumed = mdf_arena_array(arena, node->n_output_ports, sizeof *plan->output_is_consumed);
    if (plan->outputs == NULL || plan->output_is_reserved == NULL || plan->ports == NULL || plan->links == NULL ||
        plan->output_is_consumed == NULL) {
        compile_out_of_memory(builder->compiler);
        return false;
    }
    for (size_t i = 0; i < node->n_output_ports; i++) {
        plan->outputs[i] = MDF_NO_OPERAND;
    }
    for (size_t i = 0; i < node->n_input_ports; i++) {
        plan->ports[i] = MDF_NO_OPERAND;
        plan->links[i] = (struct port_link){SIZE_MAX, MDF_NO_OPERAND, NULL, NULL, NULL};
    }
    return true;
}

/* Sorts the edges by the ports that they go into. */
static bool index_edges(struct graph_builder *builder)
{
    const struct mdf_graph *graph = builder->graph;
    struct mdf_arena *arena = &builder->compiler->scratch;
    size_t n_ports = 0;

    builder->first_port = mdf_arena_array(arena, graph->n_nodes, sizeof *builder->first_port);
    for (size_t i = 0; builder->first_port != NULL && i < graph->n_nodes; i++) {
        builder->first_port[i] = n_ports;
        n_ports += graph->nodes[i].n_input_ports;
    }
    builder->fed = mdf_arena_array(arena, n_ports, sizeof *builder->fed);
    if (builder->first_port == NULL || builder->fed == NULL) {
        compile_out_of_memory(builder->compiler);
        return false;
    }
    for (size_t i = 0; i < graph->n_edges; i++) {
        builder->fed[builder->first_port[graph->edges[i].receiver_node] + graph->edges[i].receiver_index].n++;
    }
    for (size_t i = 0; i < n_ports; i++) {
        builder->fed[i].edges = mdf_arena_array(arena, builder->fed[i].n, sizeof *builder->fed[i].edges);
        builder->fed[i].n = 0;
        if (builder->fed[i].edges == NULL) {
            compile_out_of_memory(builder->compiler);
            return false;
        }
    }
    for (size_t i = 0; i < graph->n_edges; i++) {
        const struct mdf_edge *edge = &graph->edges[i];
        struct port_edges *fed = &builder->fed[builder->first_port[edge->receiver_node] + edge->receiver_index];

        fed->edges[fed->n++] = edge;
        /* what leads back is, in PsyNeuLink, no use that keeps a port from being a result */
        builder->nodes[edge->sender_node].output_is_consumed[edge->sender_index] |=
            builder->compiler->model->dialect != MDF_DIALECT_PSYNEULINK ||
            (edge->sender_node != edge->receiver_node && !edge->is_feedback);
    }
    return true;
}

/* Finds output ports by their names. */
static bool index_outputs(struct graph_builder *builder)
{
    const struct mdf_graph *graph = builder->graph;
    struct mdf_arena *arena = &builder->compiler->scratch;
    size_t n_outputs = 0;

    for (size_t i = 0; i < graph->n_nodes; i++) {
        n_outputs += graph->nodes[i].n_output_ports;
    }
    builder->output_places = mdf_arena_array(arena, n_outputs, sizeof *builder->output_places);
    n_outputs = 0;
    for (size_t i = 0; builder->output_places != NULL && i < graph->n_nodes; i++) {
        for (size_t j = 0; j < graph->nodes[i].n_output_ports; j++) {
            size_t *number = name_table_add(&builder->output_names, arena, graph->nodes[i].output_ports[j].id);

            if (number == NULL) {
                compile_out_of_memory(builder->compiler);
                return false;
            }
            if (*number != 0) {
                builder->output_places[*number - 1].is_unique = false;
                continue;
            }
            builder->output_places[n_outputs++] = (struct output_place){i, j, true};
            *number = n_outputs;
        }
    }
    return builder->output_places != NULL || compile_out_of_memory(builder->compiler) != MDF_NO_OPERAND;
}

const struct port_edges *graph_edges_into(const struct graph_builder *builder, size_t node, size_t port)
{
    return &builder->fed[builder->first_port[node] + port];
}

static int compare_slot(const void *slot, const void *port)
{
    mdf_operand x = *(const mdf_operand *)slot, y = ((const struct mdf_program_port *)port)->slot;

    return x < y ? -1 : x > y;
}

size_t graph_find_port(const struct list *ports, mdf_operand slot)
{
    const struct mdf_program_port *found =
        ports != NULL && ports->n > 0 ? bsearch(&slot, ports->items, ports->n, sizeof *found, compare_slot) : NULL;

    return found != NULL ? (size_t)(found - (const struct mdf_program_port *)ports->items) : SIZE_MAX;
}

size_t graph_port_number(const struct graph_builder *builder, mdf_operand slot)
{
    return graph_find_port(builder->ports, slot);
}

bool graph_is_consumed(const struct graph_builder *builder, size_t node, size_t output)
{
    return builder->nodes[node].output_is_consumed[output];
}

/* Metadata is free: it declares a type only where it reads as one. */
static bool read_parameter_declaration(struct compiler *compiler, const struct mdf_node *metadata,
                                       struct mdf_declaration *declaration)
{
    const struct mdf_node *type = metadata != NULL ? mdf_node_get(metadata, "type") : NULL;
    struct mdf_declared_type declared;

    declaration->type.dtype = MDF_DTYPE_NONE;
    if (type == NULL || type->kind != MDF_NODE_STRING || !mdf_parse_type(type->as.string.bytes, &declared)) {
        return true;
    }
    return mdf_model_read_declaration(&compiler->scratch, compiler->model->document, &compiler->warnings, metadata, declaration,
                                      compiler->error) == MDF_OK;
}

/* An object without a "value" is a value itself; a key that is nearly "value" is meant to be it. */
static void warn_of_value(struct compiler *compiler, const struct mdf_node *parameter)
{
    for (size_t i = 0; parameter->kind == MDF_NODE_OBJECT && i < parameter->as.object.n; i++) {
        const struct mdf_node_entry *entry = &parameter->as.object.entries[i];
        struct mdf_nearest nearest;

        mdf_nearest_begin(&nearest, entry->key);
        mdf_nearest_offer(&nearest, "value");
        if (mdf_nearest_result(&nearest) != NULL) {
            struct place place = place_at_key(compiler, entry);

            compile_warning(compiler, "'%s' makes an object of this parameter; did you mean 'value'?", entry->key);
            place_leave(compiler, place);
        }
    }
}

/* A graph parameter, without its name in scope. */
static mdf_operand compile_graph_parameter(struct target *target, const struct mdf_node_entry *entry)
{
    const struct mdf_node *value = mdf_node_get(&entry->value, "value"), *metadata = mdf_node_get(&entry->value, "metadata");
    struct compiler *compiler = target->compiler;
    struct mdf_declaration declaration = {0};
    struct mdf_value constant = {0};

    if (value == NULL) {
        warn_of_value(compiler, &entry->value);
        value = &entry->value;
    }
    if (!read_parameter_declaration(compiler, metadata, &declaration) ||
        !keep_graph_changeable(target, entry->key, value, &declaration) ||
        (!is_changeable(compiler, value) && !compile_declared_constant(target, value, &declaration, &constant))) {
        return MDF_NO_OPERAND;
    }
    return is_changeable(compiler, value) ? changeable_operand(target, value) : unit_add_constant(target, &constant, 0);
}

/* Graph parameters are constants: a bare value, or an object with a "value", whose type and shape may stand in its metadata. */
static bool bind_parameters(struct graph_builder *builder)
{
    const struct mdf_node *parameters = builder->graph->parameters;
    struct target target = {builder->compiler, builder->unit, &builder->scope};

    for (size_t i = 0; parameters != NULL && i < parameters->as.object.n; i++) {
        const struct mdf_node_entry *entry = &parameters->as.object.entries[i];
        struct place place = place_enter(builder->compiler, "graph parameter", entry->key, &entry->value);
        mdf_operand operand = compile_graph_parameter(&target, entry);

        if (operand == MDF_NO_OPERAND && compile_recover(builder->compiler, place)) {
            operand = unit_unknown(&target);
        }
        if (operand == MDF_NO_OPERAND || !scope_bind(builder->compiler, &builder->scope, entry->key, operand)) {
            return false;
        }
        place_leave(builder->compiler, place);
    }
    return true;
}

bool graph_begin(struct graph_builder *builder, struct compiler *compiler, const struct mdf_graph *graph, struct unit *unit,
                 struct scope *outer, bool is_body)
{
    memset(builder, 0, sizeof *builder);
    builder->compiler = compiler;
    builder->graph = graph;
    builder->unit = unit;
    builder->scope.outer = outer;
    builder->scope.unit = unit;
    builder->scope.graph = builder;
    builder->is_body = is_body;
    builder->current_node = SIZE_MAX;
    builder->nodes = mdf_arena_array(&compiler->scratch, graph->n_nodes, sizeof *builder->nodes);
    if (builder->nodes == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    for (size_t i = 0; i < graph->n_nodes; i++) {
        if (!begin_node(builder, i)) {
            return false;
        }
    }
    return index_edges(builder) && index_outputs(builder) && bind_parameters(builder);
}

bool graph_add_sender(struct graph_builder *builder, size_t receiver, size_t sender)
{
    return receiver == sender || list_add(builder->compiler, &builder->nodes[receiver].senders, &sender, sizeof sender);
}

static mdf_operand reserve_output(struct graph_builder *builder, size_t node, size_t output)
{
    struct target target = {builder->compiler, builder->unit, &builder->scope};
    struct node_plan *plan = &builder->nodes[node];

    plan->outputs[output] = unit_new_slot(&target, OPERAND_MAY_BE_LIST);
    plan->output_is_reserved[output] = true;
    if (plan->outputs[output] != MDF_NO_OPERAND) {
        unit_set_owner(builder->unit, plan->outputs[output], node + 1);
    }
    return plan->outputs[output];
}

/* A node of a body on the way to those that feed it. These wait in a list and not on the stack: a chain of them may be long. */
struct feeding {
    size_t node, port, edge; /* the edge that is looked at next */
};

/* The next node that feeds this one and is not compiled yet; SIZE_MAX: there is none. */
static size_t next_waiting_sender(const struct graph_builder *builder, struct feeding *feeding)
{
    for (; feeding->port < builder->graph->nodes[feeding->node].n_input_ports; feeding->port++) {
        const struct port_edges *fed = graph_edges_into(builder, feeding->node, feeding->port);

        while (feeding->edge < fed->n) {
            size_t sender = fed->edges[feeding->edge++]->sender_node;

            if (builder->nodes[sender].progress == NODE_WAITING && !builder->nodes[sender].is_asked_for) {
                return sender;
            }
        }
        feeding->edge = 0;
    }
    return SIZE_MAX;
}

/* Compiles a node; one that can not be is left out, and its outputs are unknown. */
static bool compile_or_skip(struct graph_builder *builder, size_t index)
{
    struct target target = {builder->compiler, builder->unit, &builder->scope};
    struct place place = place_here(builder->compiler);
    struct node_plan *plan = &builder->nodes[index];

    if (compile_node(builder, index)) {
        return true;
    }
    if (!compile_recover(builder->compiler, place)) {
        return false;
    }
    for (size_t i = 0; i < builder->graph->nodes[index].n_output_ports; i++) {
        plan->outputs[i] = plan->outputs[i] == MDF_NO_OPERAND ? unit_unknown(&target) : plan->outputs[i];
        if (plan->outputs[i] == MDF_NO_OPERAND) {
            return false;
        }
    }
    return true;
}

/* Compiles a node of a body after those that edges lead from, by way of whatever number of nodes. */
static bool compile_after_senders(struct graph_builder *builder, size_t node)
{
    struct list stack = {0};
    struct feeding first = {.node = node};
    size_t sender;

    builder->nodes[node].is_asked_for = true;
    if (!list_add(builder->compiler, &stack, &first, sizeof first)) {
        return false;
    }
    while (stack.n > 0) {
        struct feeding *last = (struct feeding *)stack.items + stack.n - 1, more = {0};

        sender = next_waiting_sender(builder, last);
        if (sender == SIZE_MAX) {
            if (!compile_or_skip(builder, last->node)) {
                return false;
            }
            stack.n--;
            continue;
        }
        more.node = sender;
        builder->nodes[sender].is_asked_for = true;
        if (!list_add(builder->compiler, &stack, &more, sizeof more)) {
            return false;
        }
    }
    return true;
}

mdf_operand graph_output(struct graph_builder *builder, size_t node, size_t output)
{
    struct node_plan *plan = &builder->nodes[node];

    if (builder->current_node != SIZE_MAX && !graph_add_sender(builder, builder->current_node, node)) {
        return MDF_NO_OPERAND;
    }
    if (plan->outputs[output] != MDF_NO_OPERAND) {
        return plan->outputs[output];
    }
    if (!builder->is_body) {
        return reserve_output(builder, node, output);
    }
    if (plan->progress == NODE_STARTED || plan->is_asked_for) { /* being compiled, or waiting for the one that is */
        return compile_error(builder->compiler, MDF_MODEL,
                             "nodes of the body depend on each other in a circle (through node '%s'); carry a value over "
                             "to the next iteration as a state variable",
                             builder->graph->nodes[node].id);
    }
    return compile_after_senders(builder, node) ? plan->outputs[output] : MDF_NO_OPERAND;
}

bool graph_find_output(const struct graph_builder *builder, const char *name, size_t *node, size_t *output)
{
    const size_t *number = name_table_find(&builder->output_names, name);
    const struct output_place *place = number != NULL ? &builder->output_places[*number - 1] : NULL;

    if (place == NULL || !place->is_unique) {
        return false;
    }
    *node = place->node;
    *output = place->output;
    return true;
}

/* ------------------------------------------------------------------ order */

/* An edge by which a node waits for another; NULL: it reads its value by name, or a condition puts it behind. */
static const struct mdf_edge *find_edge(const struct graph_builder *builder, size_t sender, size_t receiver)
{
    const struct mdf_graph_node *node = &builder->graph->nodes[receiver];

    for (size_t i = 0; i < node->n_input_ports; i++) {
        const struct port_edges *fed = graph_edges_into(builder, receiver, i);

        for (size_t j = 0; j < fed->n && node->input_ports[i].default_value == NULL; j++) {
            if (fed->edges[j]->sender_node == sender && !fed->edges[j]->is_feedback) {
                return fed->edges[j];
            }
        }
    }
    return NULL;
}

/* A sender of a node that waits itself. */
static size_t waiting_sender(const struct graph_builder *builder, const size_t *n_waiting, size_t node)
{
    const struct list *senders = &builder->nodes[node].senders;
    size_t i;

    for (i = 0; i < senders->n && n_waiting[((const size_t *)senders->items)[i]] == 0; i++) {
    }
    return i < senders->n ? ((const size_t *)senders->items)[i] : SIZE_MAX;
}

/* "'A' -> 'B' by edge 'e' (12:5)" */
static size_t tell_step(const struct graph_builder *builder, size_t sender, size_t receiver, char *text, size_t size)
{
    const struct mdf_edge *edge = find_edge(builder, sender, receiver);
    const struct mdf_graph_node *nodes = builder->graph->nodes;
    int n = snprintf(text, size, "'%.60s' -> '%.60s'", nodes[sender].id, nodes[receiver].id);

    if (edge != NULL && n > 0 && (size_t)n < size) {
        n += snprintf(text + n, size - (size_t)n, " by edge '%.60s'", edge->id);
    }
    if (edge != NULL && edge->source->line > 0 && n > 0 && (size_t)n < size) {
        n += snprintf(text + n, size - (size_t)n, " (%u:%u)", edge->source->line, edge->source->column);
    }
    return n > 0 ? (size_t)n : 0;
}

/* The nodes of one circle among those that wait, in the order in which they do; each of them waits for the one behind it. */
static size_t find_circle(const struct graph_builder *builder, const size_t *n_waiting, size_t *circle)
{
    size_t n = builder->graph->n_nodes, node = 0, length = 0, start;

    while (node < n && n_waiting[node] == 0) {
        node++;
    }
    for (size_t n_steps = 0; n_steps < n && node < n; n_steps++) { /* from any of them on back into a circle */
        node = waiting_sender(builder, n_waiting, node);
    }
    for (start = node; node < n && (length == 0 || node != start) && length < n;
         node = waiting_sender(builder, n_waiting, node)) {
        circle[length++] = node;
    }
    return node == start && node < n ? length : 0;
}

/* The edge of a circle that stands first in the file: the number of the node that it leads to. */
static size_t first_of_circle(const struct graph_builder *builder, const size_t *circle, size_t length)
{
    const struct mdf_edge *best = NULL;
    size_t first = 0;

    for (size_t i = 0; i < length; i++) {
        const struct mdf_edge *edge = find_edge(builder, circle[(i + 1) % length], circle[i]);

        if (edge != NULL && (best == NULL || edge < best)) {
            best = edge;
            first = i;
        }
    }
    return first;
}

/* Tells one of the circles, edge by edge from the first of the file on. */
static bool cycle_error(struct graph_builder *builder, const size_t *n_waiting)
{
    size_t *circle = mdf_arena_array(&builder->compiler->scratch, builder->graph->n_nodes, sizeof *circle);
    size_t length = circle != NULL ? find_circle(builder, n_waiting, circle) : 0, first, used = 0, i;
    const struct mdf_edge *edge;
    char steps[560] = "";
    struct place place;

    if (circle == NULL || length == 0) {
        compile_out_of_memory(builder->compiler);
        return false;
    }
    first = first_of_circle(builder, circle, length);
    for (i = 0; i < length && used + 200 < sizeof steps; i++) { /* against the order of waiting: along the edges */
        size_t receiver = circle[(first + length - i) % length], sender = circle[(first + length - i + 1) % length];

        used += (size_t)snprintf(steps + used, sizeof steps - used, "%s", i > 0 ? ", " : "");
        used += tell_step(builder, sender, receiver, steps + used, sizeof steps - used);
    }
    if (i < length && used < sizeof steps) {
        snprintf(steps + used, sizeof steps - used, ", and %zu more", length - i);
    }
    edge = find_edge(builder, circle[(first + 1) % length], circle[first]);
    place = edge != NULL ? place_enter(builder->compiler, "edge", edge->id, edge->source) : place_here(builder->compiler);
    compile_error(builder->compiler, MDF_MODEL,
                  "nodes wait for each other in a circle: %s; give an input port on the circle a default_value", steps);
    place_leave(builder->compiler, place);
    return false;
}

/* Turns lists of senders around: for each node its receivers. */
static bool find_receivers(struct graph_builder *builder, struct list *receivers, size_t *n_waiting)
{
    for (size_t i = 0; i < builder->graph->n_nodes; i++) {
        const size_t *senders = builder->nodes[i].senders.items;

        n_waiting[i] = builder->nodes[i].senders.n;
        for (size_t j = 0; j < builder->nodes[i].senders.n; j++) {
            if (!list_add(builder->compiler, &receivers[senders[j]], &i, sizeof i)) {
                return false;
            }
        }
    }
    return true;
}

/* The nodes that wait for nothing once a layer has run, in the order of the file. */
static bool next_layer(struct graph_builder *builder, const struct mdf_program_layer *layer, const struct list *receivers,
                       size_t *n_waiting, struct mdf_program_layer *next)
{
    struct list ready = {0};

    for (size_t i = 0; i < layer->n_nodes; i++) {
        const struct list *list = &receivers[layer->nodes[i]];

        for (size_t j = 0; j < list->n; j++) {
            size_t receiver = ((const size_t *)list->items)[j];

            if (--n_waiting[receiver] == 0 && !list_add(builder->compiler, &ready, &receiver, sizeof receiver)) {
                return false;
            }
        }
    }
    next->n_nodes = ready.n;
    next->nodes = mdf_arena_array(builder->compiler->arena, ready.n, sizeof *next->nodes);
    if (next->nodes == NULL) {
        compile_out_of_memory(builder->compiler);
        return false;
    }
    if (ready.n > 0) {
        memcpy(next->nodes, ready.items, ready.n * sizeof *next->nodes);
        qsort(next->nodes, ready.n, sizeof *next->nodes, compare_numbers);
    }
    return true;
}

bool graph_layers(struct graph_builder *builder, struct mdf_program_layer **layers, size_t *n_layers)
{
    size_t n = builder->graph->n_nodes, n_placed = 0;
    struct mdf_arena *scratch = &builder->compiler->scratch;
    struct list *receivers = mdf_arena_array(scratch, n, sizeof *receivers);
    size_t *n_waiting = mdf_arena_array(scratch, n, sizeof *n_waiting);
    struct mdf_program_layer start = {NULL, 0, false};

    *layers = mdf_arena_array(builder->compiler->arena, n + 1, sizeof **layers);
    start.nodes = mdf_arena_array(builder->compiler->arena, n, sizeof *start.nodes);
    *n_layers = 0;
    if (receivers == NULL || n_waiting == NULL || *layers == NULL || start.nodes == NULL) {
        compile_out_of_memory(builder->compiler);
        return false;
    }
    if (!find_receivers(builder, receivers, n_waiting)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (n_waiting[i] == 0) {
            start.nodes[start.n_nodes++] = i;
        }
    }
    (*layers)[0] = start;
    while ((*layers)[*n_layers].n_nodes > 0) {
        n_placed += (*layers)[*n_layers].n_nodes;
        if (!next_layer(builder, &(*layers)[*n_layers], receivers, n_waiting, &(*layers)[*n_layers + 1])) {
            return false;
        }
        (*n_layers)++;
    }
    return n_placed == n || cycle_error(builder, n_waiting);
}

/* An edge makes its receiver wait, unless the port can do with a default value. In a body every edge does. */
static bool add_dependencies(struct graph_builder *builder)
{
    const struct mdf_graph *graph = builder->graph;

    for (size_t i = 0; i < graph->n_edges; i++) {
        const struct mdf_edge *edge = &graph->edges[i];
        const struct mdf_input_port *port = &graph->nodes[edge->receiver_node].input_ports[edge->receiver_index];

        if (port->default_value == NULL && !edge->is_feedback &&
            !graph_add_sender(builder, edge->receiver_node, edge->sender_node)) {
            return false;
        }
    }
    return gradient_add_senders(builder) &&
           (builder->compiler->model->dialect != MDF_DIALECT_PSYNEULINK || graph_join_circles(builder));
}

static bool compile_in_order(struct graph_builder *builder)
{
    for (size_t i = 0; i < builder->graph->n_nodes; i++) {
        if (!compile_or_skip(builder, i)) {
            return false;
        }
    }
    return true;
}

bool graph_compile_nodes(struct graph_builder *builder)
{
    struct place place = place_here(builder->compiler);
    struct mdf_program_layer *layers;
    size_t n_layers;

    if (builder->is_body) {
        for (size_t i = 0; i < builder->graph->n_nodes; i++) {
            if (builder->nodes[i].progress == NODE_WAITING && !compile_after_senders(builder, i)) {
                return false;
            }
        }
        return true;
    }
    if (!add_dependencies(builder)) {
        return false;
    }
    if (builder->is_scheduled) { /* all edges are run ones: any order does, and conditions may undo a circle */
        return compile_in_order(builder);
    }
    if (!graph_layers(builder, &layers, &n_layers)) {
        return compile_recover(builder->compiler, place) && compile_in_order(builder);
    }
    for (size_t i = 0; i < n_layers; i++) {
        for (size_t j = 0; j < layers[i].n_nodes; j++) {
            if (!compile_or_skip(builder, layers[i].nodes[j])) {
                return false;
            }
        }
    }
    return true;
}
