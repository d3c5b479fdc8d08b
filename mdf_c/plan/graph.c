/* graph.c - a graph's parameters, wiring and order. See compiler.h. */
#include "mdf_c/plan/compiler.h"

#include <string.h>

static bool begin_node(struct graph_builder *builder, size_t index)
{
    const struct mdf_graph_node *node = &builder->graph->nodes[index];
    struct mdf_arena *arena = &builder->compiler->scratch;
    struct node_plan *plan = &builder->nodes[index];
    size_t i;

    plan->outputs = mdf_arena_array(arena, node->n_output_ports, sizeof *plan->outputs);
    plan->output_is_reserved = mdf_arena_array(arena, node->n_output_ports, sizeof *plan->output_is_reserved);
    plan->ports = mdf_arena_array(arena, node->n_input_ports, sizeof *plan->ports);
    plan->depends = mdf_arena_array(arena, builder->graph->n_nodes, sizeof *plan->depends);
    if (plan->outputs == NULL || plan->output_is_reserved == NULL || plan->ports == NULL || plan->depends == NULL) {
        compile_out_of_memory(builder->compiler);
        return false;
    }
    for (i = 0; i < node->n_output_ports; i++) {
        plan->outputs[i] = MDF_NO_OPERAND;
    }
    for (i = 0; i < node->n_input_ports; i++) {
        plan->ports[i] = MDF_NO_OPERAND;
    }
    return true;
}

/* Graph parameters are constants: a bare value, or an object with a "value". */
static bool bind_parameters(struct graph_builder *builder)
{
    const struct mdf_node *parameters = builder->graph->parameters;
    struct target target = {builder->compiler, builder->unit, &builder->scope};
    size_t i;

    for (i = 0; parameters != NULL && i < parameters->as.object.n; i++) {
        const struct mdf_node_entry *entry = &parameters->as.object.entries[i];
        const struct mdf_node *value = mdf_node_get(&entry->value, "value");
        struct place place = place_enter(builder->compiler, "graph parameter", entry->key, &entry->value);
        struct mdf_value constant = {0};
        mdf_operand operand;

        if (!compile_constant(&target, value != NULL ? value : &entry->value, &constant)) {
            return false;
        }
        operand = unit_add_constant(&target, &constant, 0);
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
    size_t i;

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
    for (i = 0; i < graph->n_nodes; i++) {
        if (!begin_node(builder, i)) {
            return false;
        }
    }
    return bind_parameters(builder);
}

bool graph_port_is_fed(const struct mdf_graph *graph, size_t node, size_t port)
{
    size_t i;

    for (i = 0; i < graph->n_edges; i++) {
        if (graph->edges[i].receiver_node == node && graph->edges[i].receiver_index == port) {
            return true;
        }
    }
    return false;
}

static mdf_operand reserve_output(struct graph_builder *builder, size_t node, size_t output)
{
    struct target target = {builder->compiler, builder->unit, &builder->scope};
    struct node_plan *plan = &builder->nodes[node];

    plan->outputs[output] = unit_new_slot(&target, OPERAND_MAY_BE_LIST);
    plan->output_is_reserved[output] = true;
    return plan->outputs[output];
}

mdf_operand graph_output(struct graph_builder *builder, size_t node, size_t output)
{
    struct node_plan *plan = &builder->nodes[node];

    if (builder->current_node != SIZE_MAX && builder->current_node != node) {
        builder->nodes[builder->current_node].depends[node] = true;
    }
    if (plan->outputs[output] != MDF_NO_OPERAND) {
        return plan->outputs[output];
    }
    if (!builder->is_body) {
        return reserve_output(builder, node, output);
    }
    if (plan->progress == NODE_STARTED) {
        return compile_error(builder->compiler, MDF_MODEL, "nodes of the body depend on each other in a circle (through node '%s'); carry a value over "
                                                           "to the next iteration as a state variable",
                             builder->graph->nodes[node].id);
    }
    return compile_node(builder, node) ? plan->outputs[output] : MDF_NO_OPERAND;
}

bool graph_find_output(const struct graph_builder *builder, const char *name, size_t *node, size_t *output)
{
    size_t n_found = 0, i, j;

    for (i = 0; i < builder->graph->n_nodes; i++) {
        for (j = 0; j < builder->graph->nodes[i].n_output_ports; j++) {
            if (strcmp(builder->graph->nodes[i].output_ports[j].id, name) == 0) {
                *node = i;
                *output = j;
                n_found++;
            }
        }
    }
    return n_found == 1;
}

/* ------------------------------------------------------------------ order */

static bool cycle_error(struct graph_builder *builder, const size_t *layer_of)
{
    char names[300] = "";
    size_t used, i;

    for (i = 0; i < builder->graph->n_nodes; i++) {
        used = strlen(names);
        if (layer_of[i] == SIZE_MAX && used + strlen(builder->graph->nodes[i].id) + 8 < sizeof names) {
            strcat(names, used > 0 ? ", '" : "'");
            strcat(names, builder->graph->nodes[i].id);
            strcat(names, "'");
        }
    }
    compile_error(builder->compiler, MDF_MODEL,
                  "nodes wait for each other in a circle: %s; give an input port on the circle a default_value", names);
    return false;
}

static bool is_ready(const struct graph_builder *builder, const size_t *layer_of, size_t node, size_t layer)
{
    size_t i;

    for (i = 0; i < builder->graph->n_nodes; i++) {
        if (builder->nodes[node].depends[i] && i != node && layer_of[i] >= layer) {
            return false;
        }
    }
    return true;
}

bool graph_layers(struct graph_builder *builder, struct mdf_program_layer **layers, size_t *n_layers)
{
    size_t n = builder->graph->n_nodes, n_placed = 0, i;
    struct mdf_arena *arena = builder->compiler->arena;
    size_t *layer_of = mdf_arena_array(&builder->compiler->scratch, n, sizeof *layer_of);

    *layers = mdf_arena_array(arena, n, sizeof **layers);
    *n_layers = 0;
    if (layer_of == NULL || *layers == NULL) {
        compile_out_of_memory(builder->compiler);
        return false;
    }
    for (i = 0; i < n; i++) {
        layer_of[i] = SIZE_MAX;
    }
    while (n_placed < n) {
        struct mdf_program_layer *layer = &(*layers)[*n_layers];
        size_t before = n_placed;

        layer->nodes = mdf_arena_array(arena, n - n_placed, sizeof *layer->nodes);
        if (layer->nodes == NULL) {
            compile_out_of_memory(builder->compiler);
            return false;
        }
        for (i = 0; i < n; i++) {
            if (layer_of[i] == SIZE_MAX && is_ready(builder, layer_of, i, *n_layers)) {
                layer->nodes[layer->n_nodes++] = i;
            }
        }
        for (i = 0; i < layer->n_nodes; i++) {
            layer_of[layer->nodes[i]] = *n_layers;
        }
        n_placed += layer->n_nodes;
        (*n_layers)++;
        if (n_placed == before) {
            return cycle_error(builder, layer_of);
        }
    }
    return true;
}

/* An edge makes its receiver wait, unless the port can do with a default value. In a body every edge does. */
static void add_dependencies(struct graph_builder *builder)
{
    const struct mdf_graph *graph = builder->graph;
    size_t i;

    for (i = 0; i < graph->n_edges; i++) {
        const struct mdf_edge *edge = &graph->edges[i];
        const struct mdf_input_port *port = &graph->nodes[edge->receiver_node].input_ports[edge->receiver_index];

        if (port->default_value == NULL && edge->sender_node != edge->receiver_node) {
            builder->nodes[edge->receiver_node].depends[edge->sender_node] = true;
        }
    }
}

bool graph_compile_nodes(struct graph_builder *builder)
{
    struct mdf_program_layer *layers;
    size_t n_layers, i, j;

    if (builder->is_body) {
        for (i = 0; i < builder->graph->n_nodes; i++) {
            if (builder->nodes[i].progress == NODE_WAITING && !compile_node(builder, i)) {
                return false;
            }
        }
        return true;
    }
    add_dependencies(builder);
    if (!graph_layers(builder, &layers, &n_layers)) {
        return false;
    }
    for (i = 0; i < n_layers; i++) {
        for (j = 0; j < layers[i].n_nodes; j++) {
            if (!compile_node(builder, layers[i].nodes[j])) {
                return false;
            }
        }
    }
    return true;
}
