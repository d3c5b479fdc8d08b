/* graph_ports.c - input ports of a graph that are filled at run time, the edges into them, and the graph's interface. See
 * graph_ports.h. */
#include "mdf_c/plan/graph_ports.h"

#include <string.h>

/* ------------------------------------------------------------------ ports that are filled at run time */

static bool is_wired(const struct graph_builder *builder, size_t node, size_t port)
{
    const struct mdf_input_port *input = &builder->graph->nodes[node].input_ports[port];
    const struct port_edges *fed = graph_edges_into(builder, node, port);

    if (builder->is_scheduled) {
        return false;
    }
    for (size_t i = 0; i < fed->n; i++) {
        if (fed->edges[i]->sender_node == node) {
            return false;
        }
    }
    if (fed->n > 1 && input->declaration.type.exact) {
        return false; /* each of the values has to fit the type, also those that others overwrite */
    }
    return fed->n > 0 && input->default_value == NULL && input->reduce == MDF_REDUCE_OVERWRITE;
}

bool keep_declaration(struct compiler *compiler, const struct mdf_declaration *source, struct mdf_declaration *kept)
{
    int64_t *shape = mdf_arena_array(compiler->arena, source->rank, sizeof *shape);

    if (shape == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    *kept = *source;
    if (source->rank > 0) {
        memcpy(shape, source->shape, source->rank * sizeof *shape);
    }
    kept->shape = shape;
    kept->type_text = NULL;
    return true;
}

char *compile_keep_text(struct compiler *compiler, const char *text)
{
    char *kept = mdf_arena_text(compiler->arena, text, strlen(text));

    if (kept == NULL) {
        compile_out_of_memory(compiler);
    }
    return kept;
}

static bool add_default(struct graph_builder *builder, const struct mdf_input_port *port, struct mdf_program_port *made)
{
    struct target target = {builder->compiler, builder->unit, &builder->scope};
    struct mdf_value constant = {0};

    made->default_value = MDF_NO_OPERAND;
    if (port->default_value == NULL) {
        return true;
    }
    if (!compile_constant(&target, port->default_value, &constant)) {
        return false;
    }
    made->default_value = unit_add_constant(&target, &constant, 0);
    return made->default_value != MDF_NO_OPERAND;
}

/* Instructions that add or multiply what arrives into the port. */
static bool add_combination(struct graph_builder *builder, struct mdf_program_port *port)
{
    struct target target = {builder->compiler, builder->unit, &builder->scope};
    mdf_operand result;

    port->combine.first = port->combine.end = unit_position(builder->unit);
    if (port->reduce == MDF_REDUCE_OVERWRITE) {
        return true;
    }
    port->arriving = unit_new_slot(&target, OPERAND_MAY_BE_LIST);
    result = compile_reduced(&target, port->reduce, port->slot, port->arriving);
    if (result == MDF_NO_OPERAND || !unit_emit(&target, MDF_OPCODE_SWAP, port->slot, result, 0)) {
        return false;
    }
    port->combine.end = unit_position(builder->unit);
    return true;
}

/* A port with a declared width converts to it; the declared shape holds for what is set from outside. */
static void note_type(struct graph_builder *builder, mdf_operand slot, const struct mdf_declaration *declaration,
                      bool from_outside)
{
    struct mdf_static_type type = mdf_static_unknown;

    if (!declaration->type.exact || declaration->type.optional) {
        return;
    }
    type.kind = declaration->type.sequence ? MDF_STATIC_SEQUENCE : MDF_STATIC_TENSOR;
    type.dtype = declaration->type.dtype;
    type.has_shape = from_outside && declaration->has_shape && !declaration->type.sequence;
    type.rank = type.has_shape ? declaration->rank : 0;
    type.shape = declaration->shape;
    unit_set_type(builder->unit, slot, &type);
}

void graph_take_link(const struct port_link *link, struct mdf_input_port *port)
{
    if (link->default_value != NULL) {
        port->default_value = link->default_value;
    }
    if (!port->declaration.has_shape && link->shaped != NULL) {
        port->declaration.has_shape = true;
        port->declaration.rank = link->shaped->declaration.rank;
        port->declaration.shape = link->shaped->declaration.shape;
    }
    port->reduce = link->reduced != NULL ? link->reduced->reduce : port->reduce;
}

/* The inputs of a graph within a node that its interface declares must be given, as those of the outermost graph. */
static bool require_input(struct graph_builder *builder, struct mdf_program_port *port)
{
    const char *name =
        builder->is_nested ? nested_input_name(builder->graph, builder->graph->nodes[port->node].id, port->id) : NULL;

    if (builder->is_nested) {
        port->is_required = port->is_required && name != NULL;
        port->input_name = name != NULL ? compile_keep_text(builder->compiler, name) : NULL;
    }
    return name == NULL || port->input_name != NULL;
}

bool compile_is_psyneulink(const struct compiler *compiler)
{
    return compiler->model->dialect == MDF_DIALECT_PSYNEULINK;
}

static bool add_port(struct graph_builder *builder, size_t node, size_t index, struct list *ports)
{
    const struct port_link *link = &builder->nodes[node].links[index];
    struct mdf_input_port made = builder->graph->nodes[node].input_ports[index];
    const struct mdf_input_port *source = &made;
    struct target target = {builder->compiler, builder->unit, &builder->scope};
    struct place place = place_enter(builder->compiler, "input port", source->id, source->source);
    struct mdf_program_port port = {.node = node, .outer_port = link->outer_port, .source = link->source};

    graph_take_link(link, &made);
    port.reduce = source->reduce;
    port.id = compile_keep_text(builder->compiler, source->id);
    port.slot =
        unit_new_slot(&target, OPERAND_MAY_BE_LIST | (source->declaration.type.dtype == MDF_DTYPE_BOOL ? OPERAND_IS_BOOL : 0));
    if (port.id == NULL || port.slot == MDF_NO_OPERAND || !add_default(builder, source, &port) ||
        !add_combination(builder, &port) || !keep_declaration(builder->compiler, &source->declaration, &port.declaration)) {
        return false;
    }
    port.origin = builder->compiler->origins[builder->compiler->origin];
    port.is_required = source->default_value == NULL && graph_edges_into(builder, node, index)->n == 0;
    port.holds =
        compile_is_psyneulink(builder->compiler) && !builder->is_nested && graph_edges_into(builder, node, index)->n == 0;
    if (!require_input(builder, &port)) {
        return false;
    }
    note_type(builder, port.slot, &port.declaration, port.is_required);
    builder->nodes[node].ports[index] = port.slot;
    place_leave(builder->compiler, place);
    return list_add(builder->compiler, ports, &port, sizeof port);
}

bool graph_add_ports(struct graph_builder *builder, struct list *ports)
{
    const struct mdf_graph *graph = builder->graph;
    struct mdf_program *program = builder->compiler->program;
    struct target target = {builder->compiler, builder->unit, &builder->scope};

    for (size_t i = 0; i < graph->n_nodes; i++) {
        struct place place = place_enter(builder->compiler, "node", graph->nodes[i].id, graph->nodes[i].source);
        struct place inside = place_here(builder->compiler);

        program->nodes[i].first_port = ports->n;
        for (size_t j = 0; j < graph->nodes[i].n_input_ports; j++) {
            if (is_wired(builder, i, j) || builder->nodes[i].ports[j] != MDF_NO_OPERAND || add_port(builder, i, j, ports)) {
                continue;
            }
            if (!compile_recover(builder->compiler, inside)) {
                return false;
            }
            builder->nodes[i].ports[j] = unit_unknown(&target);
            if (builder->nodes[i].ports[j] == MDF_NO_OPERAND) {
                return false;
            }
        }
        program->nodes[i].n_ports = ports->n - program->nodes[i].first_port;
        place_leave(builder->compiler, place);
    }
    return true;
}

/* Ports of one name, from the first to the last. */
struct ports_by_name {
    struct name_table first; /* the place of each, from 1 */
    struct list next;        /* size_t, of each port: that of the next one of its name; 0: none */
    struct list last;        /* size_t, of the first port of each name: that of the last one */
};

/* Notes the ports that have been added to the list since the last time. */
static bool index_ports(struct compiler *compiler, const struct list *ports, struct ports_by_name *index)
{
    while (index->next.n < ports->n) {
        const struct mdf_program_port *port = (const struct mdf_program_port *)ports->items + index->next.n;
        size_t *first = name_table_add(&index->first, &compiler->scratch, port->id), none = 0, number = index->next.n + 1;

        if (first == NULL) {
            compile_out_of_memory(compiler);
            return false;
        }
        if (!list_add(compiler, &index->next, &none, sizeof none) || !list_add(compiler, &index->last, &number, sizeof number)) {
            return false;
        }
        if (*first == 0) {
            *first = number;
        } else {
            size_t *last = (size_t *)index->last.items + *first - 1;

            ((size_t *)index->next.items)[*last - 1] = number;
            *last = number;
        }
    }
    return true;
}

/* Notes an input's name at all ports that it feeds; whether there are any. */
static bool name_ports(const struct mdf_graph *graph, const struct mdf_interface_item *item, struct list *ports,
                       const struct ports_by_name *index, const char *name)
{
    const size_t *first = name_table_find(&index->first, item->port);
    size_t node = item->node != NULL ? mdf_model_find_node(graph, item->node) : SIZE_MAX, number;
    bool found = false;

    for (number = first != NULL ? *first : 0; number != 0; number = ((const size_t *)index->next.items)[number - 1]) {
        struct mdf_program_port *port = (struct mdf_program_port *)ports->items + number - 1;

        if (item->node == NULL || port->node == node) {
            port->input_name = name;
            found = true;
        }
    }
    return found;
}

/* Gives ports the names that the interface has for them. Declared inputs that feed no port are seen by bodies, by name. */
bool graph_add_free_inputs(struct graph_builder *builder, struct list *ports)
{
    const struct mdf_graph *graph = builder->graph;
    struct target target = {builder->compiler, builder->unit, &builder->scope};
    struct ports_by_name index = {0};
    struct place place;
    const char *name;

    for (size_t i = 0; i < graph->n_inputs; i++) {
        const struct mdf_interface_item *item = &graph->inputs[i];
        struct mdf_program_port port = {
            .node = SIZE_MAX, .default_value = MDF_NO_OPERAND, .outer_port = SIZE_MAX, .source = MDF_NO_OPERAND};

        name = compile_keep_text(builder->compiler, item->name);
        if (name == NULL || !index_ports(builder->compiler, ports, &index)) {
            return false;
        }
        if (name_ports(graph, item, ports, &index, name)) {
            continue;
        }
        place = place_at(builder->compiler, item->source);
        port.origin = place_origin(builder->compiler);
        place_leave(builder->compiler, place);
        port.input_name = name;
        port.is_required = true;
        port.id = compile_keep_text(builder->compiler, item->port);
        port.slot = unit_new_slot(&target, OPERAND_MAY_BE_LIST);
        if (port.id == NULL || port.slot == MDF_NO_OPERAND ||
            !keep_declaration(builder->compiler, &item->declaration, &port.declaration) ||
            !scope_bind(builder->compiler, &builder->scope, port.id, port.slot) ||
            !list_add(builder->compiler, ports, &port, sizeof port)) {
            return false;
        }
        note_type(builder, port.slot, &port.declaration, true);
    }
    for (size_t i = 0; i < ports->n; i++) { /* other ports that nothing fills hold zeros */
        struct mdf_program_port *port = (struct mdf_program_port *)ports->items + i;

        port->is_open = port->is_required && port->input_name == NULL;
        port->is_required = port->is_required && port->input_name != NULL;
    }
    return true;
}

/* ------------------------------------------------------------------ edges into such ports */

static bool add_edge(struct graph_builder *builder, const struct mdf_edge *source, const struct list *ports, struct list *edges)
{
    struct target target = {builder->compiler, builder->unit, &builder->scope};
    struct place place = place_enter(builder->compiler, "edge", source->id, source->source);
    const struct mdf_output_port *sender = &builder->graph->nodes[source->sender_node].output_ports[source->sender_index];
    struct mdf_program_edge edge = {.sender = source->sender_node, .has_initial = sender->initial != NULL};

    edge.port = graph_find_port(ports, builder->nodes[source->receiver_node].ports[source->receiver_index]);
    edge.source = graph_output(builder, source->sender_node, source->sender_index);
    edge.weigh.first = unit_position(builder->unit);
    edge.value = compile_weighted(&target, source, edge.source);
    if (edge.value == MDF_NO_OPERAND) {
        return false;
    }
    edge.weigh.end = unit_position(builder->unit);
    place_leave(builder->compiler, place);
    return list_add(builder->compiler, edges, &edge, sizeof edge);
}

bool graph_add_edges(struct graph_builder *builder, const struct list *ports, struct list *edges)
{
    const struct mdf_graph *graph = builder->graph;
    struct place place = place_here(builder->compiler);

    for (size_t i = 0; i < graph->n_edges; i++) {
        const struct mdf_edge *edge = &graph->edges[i];
        mdf_operand port = builder->nodes[edge->receiver_node].ports[edge->receiver_index];

        if (port == MDF_NO_OPERAND || (unit_flags(builder->unit, port) & OPERAND_IS_UNKNOWN) != 0) {
            continue;
        }
        if (!add_edge(builder, edge, ports, edges) && !compile_recover(builder->compiler, place)) {
            return false;
        }
    }
    return true;
}

/* Gives each node the list of its edges; ports to which they lead are fed. */
bool graph_distribute_edges(struct compiler *compiler)
{
    struct mdf_program *program = compiler->program;

    for (size_t i = 0; i < program->n_edges; i++) {
        struct mdf_program_port *port = &program->ports[program->edges[i].port];

        port->is_fed = true;
        program->nodes[port->node].n_edges++;
    }
    for (size_t i = 0; i < program->n_nodes; i++) {
        program->nodes[i].edges = mdf_arena_array(compiler->arena, program->nodes[i].n_edges, sizeof(size_t));
        if (program->nodes[i].edges == NULL) {
            compile_out_of_memory(compiler);
            return false;
        }
        program->nodes[i].n_edges = 0;
    }
    for (size_t i = 0; i < program->n_edges; i++) {
        struct mdf_program_node *node = &program->nodes[program->ports[program->edges[i].port].node];

        node->edges[node->n_edges++] = i;
    }
    return true;
}

/* ------------------------------------------------------------------ the interface */

static bool add_result(struct compiler *compiler, struct list *results, const char *name, size_t node, size_t output)
{
    struct mdf_program_result result = {compile_keep_text(compiler, name), node, output};

    return result.name != NULL && list_add(compiler, results, &result, sizeof result);
}

/* Output ports that no edge consumes; of a name that is there already, as NODE.PORT. */
static bool infer_results(const struct graph_builder *builder, struct list *results)
{
    struct compiler *compiler = builder->compiler;
    const struct mdf_graph *graph = builder->graph;
    struct name_table names = {0};

    for (size_t i = 0; i < graph->n_nodes; i++) {
        for (size_t j = 0; j < graph->nodes[i].n_output_ports; j++) {
            const char *name = graph->nodes[i].output_ports[j].id;

            if (graph_is_consumed(builder, i, j)) {
                continue;
            }
            if (name_table_find(&names, name) != NULL) {
                name = mdf_arena_printf(&compiler->scratch, "%s.%s", graph->nodes[i].id, name);
            }
            if (name == NULL || name_table_add(&names, &compiler->scratch, name) == NULL) {
                compile_out_of_memory(compiler);
                return false;
            }
            if (!add_result(compiler, results, name, i, j)) {
                return false;
            }
        }
    }
    return true;
}

static bool declare_result(const struct graph_builder *builder, const struct ports_by_name *ports,
                           const struct mdf_interface_item *item, struct list *results)
{
    const struct mdf_graph *graph = builder->graph;
    struct compiler *compiler = builder->compiler;
    const size_t *number = name_table_find(&builder->output_names, item->port);
    const struct output_place *first = number != NULL ? &builder->output_places[*number - 1] : NULL;
    size_t node = item->node != NULL ? mdf_model_find_node(graph, item->node) : graph->n_nodes, output;

    if (first != NULL && item->node == NULL) {
        return add_result(compiler, results, item->name, first->node, first->output);
    }
    if (node < graph->n_nodes) {
        output = mdf_model_find_output_port(&graph->nodes[node], item->port);
        if (output < graph->nodes[node].n_output_ports) {
            return add_result(compiler, results, item->name, node, output);
        }
    }
    number = name_table_find(&ports->first, item->port);
    if (number != NULL) {
        return add_result(compiler, results, item->name, *number - 1, SIZE_MAX);
    }
    place_at(compiler, item->source);
    compile_error(compiler, MDF_NAME,
                  "the graph declares an output '%s', but has neither an output port nor an input of that name", item->name);
    return false;
}

bool graph_add_results(const struct graph_builder *builder, const struct list *ports, struct list *results)
{
    const struct mdf_graph *graph = builder->graph;
    struct place place = place_here(builder->compiler);
    struct ports_by_name index = {0};

    if (!graph->declares_outputs) {
        return infer_results(builder, results);
    }
    if (!index_ports(builder->compiler, ports, &index)) {
        return false;
    }
    for (size_t i = 0; i < graph->n_outputs; i++) {
        if (!declare_result(builder, &index, &graph->outputs[i], results) && !compile_recover(builder->compiler, place)) {
            return false;
        }
    }
    return true;
}

bool graph_add_input_names(struct compiler *compiler, const struct mdf_graph *graph, const struct list *ports, struct list *names)
{
    size_t n = graph->declares_inputs ? graph->n_inputs : ports->n;
    struct name_table known = {0};

    for (size_t i = 0; i < n; i++) {
        const char *name = graph->declares_inputs ? graph->inputs[i].name : ((const struct mdf_program_port *)ports->items)[i].id;
        size_t *number = name_table_add(&known, &compiler->scratch, name);

        if (number == NULL) {
            compile_out_of_memory(compiler);
            return false;
        }
        if ((*number)++ == 0) {
            name = compile_keep_text(compiler, name);
            if (name == NULL || !list_add(compiler, names, &name, sizeof name)) {
                return false;
            }
        }
    }
    return true;
}
