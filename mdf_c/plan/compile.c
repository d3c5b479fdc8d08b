/* compile.c - a model's graph to a program: the passes in order. See program.h. */
#include "functions/custom/custom.h"
#include "mdf_c/base/machine_memory.h"
#include "mdf_c/base/processor.h"
#include "mdf_c/plan/gradient/evaluation.h"

#include <stdio.h>
#include <math.h>
#include <string.h>

/* A schedule that needs more passes than this in one evaluation is taken for one that never ends, unless the caller says
 * otherwise. */
#define DEFAULT_MAX_PASSES 1000000u

/* What a solver's steps may be off by, unless the caller says otherwise. */
#define DEFAULT_RTOL 1e-6
#define DEFAULT_ATOL 1e-9

/* ------------------------------------------------------------------ which graph */

static const struct mdf_graph *choose_graph(struct compiler *compiler, const char *id)
{
    const struct mdf_model *model = compiler->model;
    const struct mdf_graph *graph = id == NULL ? mdf_model_main_graph(model) : mdf_model_find_graph(model, id);

    if (graph == NULL) {
        compile_error(compiler, MDF_NAME, "the model has no graph '%s'", id);
        mdf_error_suggest(compiler->error, mdf_model_nearest_graph(model, id));
    }
    return graph;
}

/* ------------------------------------------------------------------ ports that are filled at run time */

static bool is_wired(const struct graph_builder *builder, size_t node, size_t port)
{
    const struct mdf_input_port *input = &builder->graph->nodes[node].input_ports[port];
    const struct port_edges *fed = graph_edges_into(builder, node, port);
    size_t i;

    if (builder->is_scheduled) {
        return false;
    }
    for (i = 0; i < fed->n; i++) {
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

static char *keep_text(struct compiler *compiler, const char *text)
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
        port->input_name = name != NULL ? keep_text(builder->compiler, name) : NULL;
    }
    return name == NULL || port->input_name != NULL;
}

static bool is_psyneulink(const struct compiler *compiler)
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
    port.id = keep_text(builder->compiler, source->id);
    port.slot =
        unit_new_slot(&target, OPERAND_MAY_BE_LIST | (source->declaration.type.dtype == MDF_DTYPE_BOOL ? OPERAND_IS_BOOL : 0));
    if (port.id == NULL || port.slot == MDF_NO_OPERAND || !add_default(builder, source, &port) ||
        !add_combination(builder, &port) || !keep_declaration(builder->compiler, &source->declaration, &port.declaration)) {
        return false;
    }
    port.origin = builder->compiler->origins[builder->compiler->origin];
    port.is_required = source->default_value == NULL && graph_edges_into(builder, node, index)->n == 0;
    port.holds = is_psyneulink(builder->compiler) && !builder->is_nested && graph_edges_into(builder, node, index)->n == 0;
    if (!require_input(builder, &port)) {
        return false;
    }
    note_type(builder, port.slot, &port.declaration, port.is_required);
    builder->nodes[node].ports[index] = port.slot;
    place_leave(builder->compiler, place);
    return list_add(builder->compiler, ports, &port, sizeof port);
}

static bool add_ports(struct graph_builder *builder, struct list *ports)
{
    const struct mdf_graph *graph = builder->graph;
    struct mdf_program *program = builder->compiler->program;
    struct target target = {builder->compiler, builder->unit, &builder->scope};
    size_t i, j;

    for (i = 0; i < graph->n_nodes; i++) {
        struct place place = place_enter(builder->compiler, "node", graph->nodes[i].id, graph->nodes[i].source);
        struct place inside = place_here(builder->compiler);

        program->nodes[i].first_port = ports->n;
        for (j = 0; j < graph->nodes[i].n_input_ports; j++) {
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
static bool add_free_inputs(struct graph_builder *builder, struct list *ports)
{
    const struct mdf_graph *graph = builder->graph;
    struct target target = {builder->compiler, builder->unit, &builder->scope};
    struct ports_by_name index = {0};
    const char *name;
    size_t i;

    for (i = 0; i < graph->n_inputs; i++) {
        const struct mdf_interface_item *item = &graph->inputs[i];
        struct mdf_program_port port = {
            .node = SIZE_MAX, .default_value = MDF_NO_OPERAND, .outer_port = SIZE_MAX, .source = MDF_NO_OPERAND};

        name = keep_text(builder->compiler, item->name);
        if (name == NULL || !index_ports(builder->compiler, ports, &index)) {
            return false;
        }
        if (name_ports(graph, item, ports, &index, name)) {
            continue;
        }
        port.input_name = name;
        port.is_required = true;
        port.id = keep_text(builder->compiler, item->port);
        port.slot = unit_new_slot(&target, OPERAND_MAY_BE_LIST);
        if (port.id == NULL || port.slot == MDF_NO_OPERAND ||
            !keep_declaration(builder->compiler, &item->declaration, &port.declaration) ||
            !scope_bind(builder->compiler, &builder->scope, port.id, port.slot) ||
            !list_add(builder->compiler, ports, &port, sizeof port)) {
            return false;
        }
        note_type(builder, port.slot, &port.declaration, true);
        port.origin = builder->compiler->origins[builder->compiler->origin];
    }
    for (i = 0; i < ports->n; i++) { /* other ports that nothing fills hold zeros */
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

static bool add_edges(struct graph_builder *builder, const struct list *ports, struct list *edges)
{
    const struct mdf_graph *graph = builder->graph;
    struct place place = place_here(builder->compiler);
    size_t i;

    for (i = 0; i < graph->n_edges; i++) {
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

/* Gives each node the list of its edges. */
static bool distribute_edges(struct compiler *compiler)
{
    struct mdf_program *program = compiler->program;
    size_t i;

    for (i = 0; i < program->n_edges; i++) {
        program->nodes[program->ports[program->edges[i].port].node].n_edges++;
    }
    for (i = 0; i < program->n_nodes; i++) {
        program->nodes[i].edges = mdf_arena_array(compiler->arena, program->nodes[i].n_edges, sizeof(size_t));
        if (program->nodes[i].edges == NULL) {
            compile_out_of_memory(compiler);
            return false;
        }
        program->nodes[i].n_edges = 0;
    }
    for (i = 0; i < program->n_edges; i++) {
        struct mdf_program_node *node = &program->nodes[program->ports[program->edges[i].port].node];

        node->edges[node->n_edges++] = i;
    }
    return true;
}

/* ------------------------------------------------------------------ the interface */

static bool add_result(struct compiler *compiler, struct list *results, const char *name, size_t node, size_t output)
{
    struct mdf_program_result result = {keep_text(compiler, name), node, output};

    return result.name != NULL && list_add(compiler, results, &result, sizeof result);
}

/* Output ports that no edge consumes; of a name that is there already, as NODE.PORT. */
static bool infer_results(const struct graph_builder *builder, struct list *results)
{
    struct compiler *compiler = builder->compiler;
    const struct mdf_graph *graph = builder->graph;
    struct name_table names = {0};
    size_t i, j;

    for (i = 0; i < graph->n_nodes; i++) {
        for (j = 0; j < graph->nodes[i].n_output_ports; j++) {
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

static bool add_results(const struct graph_builder *builder, const struct list *ports, struct list *results)
{
    const struct mdf_graph *graph = builder->graph;
    struct place place = place_here(builder->compiler);
    struct ports_by_name index = {0};
    size_t i;

    if (!graph->declares_outputs) {
        return infer_results(builder, results);
    }
    if (!index_ports(builder->compiler, ports, &index)) {
        return false;
    }
    for (i = 0; i < graph->n_outputs; i++) {
        if (!declare_result(builder, &index, &graph->outputs[i], results) && !compile_recover(builder->compiler, place)) {
            return false;
        }
    }
    return true;
}

static bool add_input_names(struct compiler *compiler, const struct mdf_graph *graph, const struct list *ports,
                            struct list *names)
{
    size_t n = graph->declares_inputs ? graph->n_inputs : ports->n, i;
    struct name_table known = {0};

    for (i = 0; i < n; i++) {
        const char *name = graph->declares_inputs ? graph->inputs[i].name : ((const struct mdf_program_port *)ports->items)[i].id;
        size_t *number = name_table_add(&known, &compiler->scratch, name);

        if (number == NULL) {
            compile_out_of_memory(compiler);
            return false;
        }
        if ((*number)++ == 0) {
            name = keep_text(compiler, name);
            if (name == NULL || !list_add(compiler, names, &name, sizeof name)) {
                return false;
            }
        }
    }
    return true;
}

/* ------------------------------------------------------------------ the passes */

/* What an output port holds before its node has run. */
static bool keep_initial(struct graph_builder *builder, const struct mdf_output_port *source, struct mdf_program_output *output)
{
    struct target target = {builder->compiler, builder->unit, &builder->scope};
    struct mdf_value constant = {0};
    struct place place;

    output->initial = MDF_NO_OPERAND;
    if (source->initial == NULL) {
        return true;
    }
    place = place_enter(builder->compiler, "output port", source->id, source->initial);
    if (!compile_declared_constant(&target, source->initial, &source->declaration, &constant)) {
        return false;
    }
    output->initial = unit_add_constant(&target, &constant, 0);
    place_leave(builder->compiler, place);
    return output->initial != MDF_NO_OPERAND;
}

static bool keep_nodes(struct graph_builder *builder)
{
    struct mdf_program *program = builder->compiler->program;
    struct mdf_arena *arena = builder->compiler->arena;
    size_t i, j;

    for (i = 0; i < program->n_nodes; i++) {
        const struct mdf_graph_node *source = &builder->graph->nodes[i];
        const struct node_plan *plan = &builder->nodes[i];
        struct mdf_program_node *node = &program->nodes[i];

        node->id = keep_text(builder->compiler, source->id);
        node->n_outputs = source->n_output_ports;
        node->has_graph = source->graph != NULL;
        node->outputs = mdf_arena_array(arena, node->n_outputs, sizeof *node->outputs);
        if (node->id == NULL || node->outputs == NULL) {
            compile_out_of_memory(builder->compiler);
            return false;
        }
        for (j = 0; j < node->n_outputs; j++) {
            node->outputs[j].id = keep_text(builder->compiler, source->output_ports[j].id);
            node->outputs[j].operand = plan->outputs[j];
            if (!keep_initial(builder, &source->output_ports[j], &node->outputs[j])) {
                return false;
            }
        }
        node->finished = plan->finished;
        node->most_repeats = source->repeat != NULL ? (uint64_t)source->repeat->as.integer : 1;
        node->first = plan->first;
        node->reset = plan->reset;
        node->initial = plan->initial;
        node->main = plan->main;
        node->end = plan->end;
        if (!keep_parts(builder, i) ||
            !unit_keep_list(builder->compiler, &plan->shaped, sizeof *node->shaped, &node->shaped, &node->n_shaped)) {
            return false;
        }
    }
    return true;
}

static void set_origins(struct mdf_code *code, const struct mdf_origin *origins)
{
    size_t i;

    code->origins = origins;
    for (i = 0; i < code->n_bodies; i++) {
        set_origins(code->bodies[i], origins);
    }
}

/* The time increment: in a slot of the outermost unit, which those within it capture. */
static bool find_dt(struct compiler *compiler, struct target *target)
{
    compiler->dt = target->unit->outer == NULL ? unit_new_slot(target, 0)
                                               : unit_capture(target, target->unit, target->unit->outer, compiler->dt);
    return compiler->dt != MDF_NO_OPERAND;
}

/* Everything but the interface: ports, nodes, edges and their order. */
static bool compile_parts(struct graph_builder *builder, struct nested *nested, struct list *ports, struct list *edges)
{
    struct mdf_program *program = builder->compiler->program;

    if (nested != NULL && (!nested_feed(builder, nested->outer) || !nested_find_yields(builder, nested->node, &nested->yields) ||
                           /* of a node that never runs there is no value: its outputs get slots of their own before */
                           (builder->is_scheduled && !nested_take_yields(builder, &nested->yields)))) {
        return false;
    }
    if (!add_ports(builder, ports) || (nested == NULL && !add_free_inputs(builder, ports)) || !graph_compile_nodes(builder) ||
        !add_edges(builder, ports, edges)) {
        return false;
    }
    if (builder->compiler->n_taken > 0) { /* there will be no program: what else is wrong is all that counts */
        return builder->is_scheduled ? compile_schedule(builder) : true;
    }
    return keep_nodes(builder) &&
           (builder->is_scheduled ? compile_schedule(builder) : graph_layers(builder, &program->layers, &program->n_layers)) &&
           (nested == NULL || nested_take_yields(builder, &nested->yields));
}

/* What must be given holds for all of an evaluation. */
static void note_holding(struct list *ports)
{
    size_t i;

    for (i = 0; i < ports->n; i++) {
        struct mdf_program_port *port = (struct mdf_program_port *)ports->items + i;

        port->holds = port->holds || port->is_required;
    }
}

/* Whether an edge may bring what its sender computed in an evaluation before: its receiver does not wait for it. */
static bool has_late_edges(const struct mdf_graph *graph)
{
    size_t i;

    for (i = 0; i < graph->n_edges; i++) {
        const struct mdf_edge *edge = &graph->edges[i];

        if (edge->sender_node == edge->receiver_node || edge->is_feedback ||
            graph->nodes[edge->receiver_node].input_ports[edge->receiver_index].default_value != NULL) {
            return true;
        }
    }
    return false;
}

/* Whether an edge leads from one node of the layer to another. */
static bool feeds_itself(const struct mdf_program *program, const struct mdf_program_layer *layer)
{
    size_t i, j, k;

    for (i = 0; i < layer->n_nodes; i++) {
        const struct mdf_program_node *node = &program->nodes[layer->nodes[i]];

        for (j = 0; j < node->n_edges; j++) {
            for (k = 0; k < layer->n_nodes; k++) {
                if (k != i && program->edges[node->edges[j]].sender == layer->nodes[k]) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* Nodes of one set do not see what others of it compute, in PsyNeuLink, and where time is exact. */
static void note_simultaneous(struct mdf_program *program)
{
    size_t i;

    for (i = 0; i < program->n_layers; i++) {
        program->layers[i].takes_first = feeds_itself(program, &program->layers[i]);
        program->takes_first = program->takes_first || program->layers[i].takes_first;
    }
}

static bool keep_origins(struct compiler *compiler)
{
    struct list origins = {compiler->origins, compiler->n_origins, 0};
    struct mdf_origin *kept;
    size_t n;

    if (compiler->derivative != 0) {
        compiler->root->has_derivative = true;
        compiler->root->derivative = compiler->origins[compiler->derivative];
    }

    if (!unit_keep_list(compiler, &origins, sizeof *kept, &kept, &n)) {
        return false;
    }
    set_origins(compiler->program->code, kept);
    return true;
}

bool compile_graph(struct compiler *compiler, const struct mdf_graph *graph, struct unit *unit, struct nested *nested)
{
    struct mdf_program *program = compiler->program;
    struct graph_builder builder;
    struct target target = {compiler, unit, &builder.scope};
    struct list ports = {0}, edges = {0}, results = {0}, names = {0};
    struct open_graph open = {compiler->open, graph->source};
    bool done;

    program->n_nodes = graph->n_nodes;
    program->declares_results = graph->declares_outputs;
    program->nodes = mdf_arena_array(compiler->arena, graph->n_nodes, sizeof *program->nodes);
    if (program->nodes == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    if (!find_dt(compiler, &target) ||
        !graph_begin(&builder, compiler, graph, unit, nested != NULL ? nested->outer->scope : NULL, false)) {
        return false;
    }
    builder.ports = &ports;
    builder.is_nested = nested != NULL;
    if (!graph_find_scheduling_mode(&builder)) {
        return false;
    }
    builder.is_scheduled = builder.is_exact || graph_has_conditions(graph);
    builder.keeps_outputs = builder.is_scheduled || has_late_edges(graph);
    compiler->open = &open;
    done = compile_parts(&builder, nested, &ports, &edges) &&
           (nested != NULL || compiler->stop_when == NULL || compile_stop_when(&builder, compiler->stop_when));
    compiler->open = open.outer;
    note_holding(&ports);
    if (compiler->n_taken > 0 && nested == NULL && done) {
        done = add_results(&builder, &ports, &results);
    }
    if (!done || compiler->n_taken > 0 ||
        (nested == NULL && (!add_results(&builder, &ports, &results) || !add_input_names(compiler, graph, &ports, &names))) ||
        !unit_keep_list(compiler, &ports, sizeof(struct mdf_program_port), &program->ports, &program->n_ports) ||
        !unit_keep_list(compiler, &edges, sizeof(struct mdf_program_edge), &program->edges, &program->n_edges) ||
        !unit_keep_list(compiler, &results, sizeof(struct mdf_program_result), &program->results, &program->n_results) ||
        !unit_keep_list(compiler, &names, sizeof(char *), &program->input_names, &program->n_inputs) ||
        !distribute_edges(compiler)) {
        return false;
    }
    if (is_psyneulink(compiler) || builder.is_exact) {
        note_simultaneous(program);
    }
    if (nested == NULL && !mdf_program_name_ports(program)) {
        compile_out_of_memory(compiler);
        return false;
    }
    if (nested == NULL && !compile_solver(&builder)) {
        return false;
    }
    if (nested == NULL && compiler->gradient != NULL &&
        !(all_changeables_are_met(compiler, graph) && compile_evaluation_gradient(&builder, compiler->gradient))) {
        return false;
    }
    program->code = unit_finish(compiler, unit);
    return program->code != NULL && (!compiler->looks_over || compile_look_over(&builder, program)) &&
           (nested != NULL || (keep_origins(compiler) && all_changeables_are_met(compiler, graph) &&
                               unit_keep_list(compiler, &compiler->parameters, sizeof *program->parameters, &program->parameters,
                                              &program->n_parameters) &&
                               unit_keep_list(compiler, &compiler->integrals, sizeof *program->integrals, &program->integrals,
                                              &program->n_integrals) &&
                               unit_keep_list(compiler, &compiler->events, sizeof *program->events, &program->events,
                                              &program->n_events)));
}

static void take_options(struct mdf_program *program, const mdf_options *options)
{
    program->real = options->float32 ? MDF_DTYPE_FLOAT32 : MDF_DTYPE_FLOAT64;
    program->max_iterations = options->max_iterations;
    program->max_passes = options->max_passes > 0 ? options->max_passes : DEFAULT_MAX_PASSES;
    program->seed = options->seed;
    program->time_limit_s = options->time_limit_s;
    program->n_threads = options->n_threads > 0 ? options->n_threads : mdf_count_cores();
    program->is_plain = options->plain;
    program->solver = (struct mdf_program_solver){.method = options->method,
                                                  .rtol = options->rtol > 0 ? options->rtol : DEFAULT_RTOL,
                                                  .atol = options->atol > 0 ? options->atol : DEFAULT_ATOL,
                                                  .max_step = options->max_step > 0 ? options->max_step : (double)INFINITY,
                                                  .behind = MDF_NO_OPERAND};
}

/* What the model holds counts for the bound of its program. */
static struct mdf_program *new_program(const struct mdf_model *model, const mdf_options *options)
{
    struct mdf_memory memory;
    struct mdf_program *program;

    mdf_memory_init(&memory, options->allocator, 0);
    program = mdf_memory_allocate_zeroed(&memory, 1, sizeof *program);
    if (program != NULL) {
        mdf_memory_init(&program->memory, options->allocator, mdf_memory_bound(options->max_memory_bytes));
        mdf_memory_share_bound(&program->memory, &model->memory);
        mdf_arena_init(&program->arena, &program->memory);
        program->spares = mdf_arena_allocate(&program->arena, sizeof *program->spares);
    }
    return program;
}

/* The names of parameters that are to be kept changeable. */
static bool want(struct compiler *compiler, const char *const *parameters, size_t n_parameters)
{
    compiler->wanted = parameters;
    compiler->n_wanted = n_parameters;
    compiler->is_met = mdf_arena_array(&compiler->scratch, n_parameters, sizeof *compiler->is_met);
    if (compiler->is_met == NULL) {
        compile_out_of_memory(compiler);
    }
    return compiler->is_met != NULL;
}

/* Memory refuses once the work is to stop: that is the error, at the place where it was noticed. */
static bool tell_stop(struct compiler *compiler)
{
    mdf_error noticed = *compiler->error;

    mdf_stop_tell(compiler->stop, compiler->error);
    if (noticed.line > 0) {
        mdf_error_at(compiler->error, noticed.file, noticed.line, noticed.column);
    }
    if (noticed.path[0] != '\0') {
        mdf_error_in(compiler->error, "%s", noticed.path);
    }
    return false;
}

static struct mdf_program *compile_program(const struct mdf_model *model, const char *const *parameters, size_t n_parameters,
                                           const struct mdf_gradient_request *gradient, const mdf_options *options,
                                           bool looks_over, mdf_error *error)
{
    struct compiler compiler = {.model = model, .gradient = gradient, .looks_over = looks_over};
    struct meaning meaning = {0};
    mdf_error first = {0};
    const struct mdf_graph *graph;
    struct mdf_stop stop;
    struct unit unit = {0};
    size_t n_before;
    bool done = false;

    compiler.program = new_program(model, options);
    if (compiler.program == NULL) {
        mdf_error_set(error, MDF_OUT_OF_MEMORY, "out of memory");
        return NULL;
    }
    compiler.root = compiler.program;
    compiler.root_unit = &unit;
    take_options(compiler.program, options);
    compiler.memory = &compiler.program->memory;
    compiler.stop = &stop;
    compiler.arena = &compiler.program->arena;
    compiler.error = &first;
    compiler.list = options->diagnostics;
    n_before = mdf_diagnostics_n_errors(compiler.list);
    mdf_diagnostics_look_at(compiler.list, &model->document->source);
    compiler.receiver = (struct mdf_warnings){options->warning, options->warning_context};
    compiler.receiver.list = options->diagnostics;
    if (!model->is_partial && (options->warning != NULL || options->diagnostics != NULL)) {
        compiler.warnings.handler = pass_warning_once;
    }
    compiler.warnings.context = &compiler;
    compiler.real = compiler.program->real;
    compiler.loop_condition = options->loop_condition;
    compiler.scheduling_mode = options->scheduling_mode;
    compiler.functions = compiler.program->functions = mdf_functions_share(options->functions);
    compiler.stop_when = options->stop_when;
    mdf_arena_init(&compiler.scratch, compiler.memory);
    compiler.model = meaning_of(&compiler, model, options, &meaning);
    if (compiler.model != NULL) {
        place_at(&compiler, compiler.model->source);
    }
    graph = compiler.model != NULL ? choose_graph(&compiler, options->graph) : NULL;
    mdf_stop_init(&stop);
    if (graph != NULL &&
        mdf_stop_begin(&stop, compiler.memory,
                       options->time_limit_s > 0 ? mdf_clock_s() + options->time_limit_s : (double)INFINITY, &first) &&
        want(&compiler, parameters, n_parameters)) {
        compiler.program->model_id = keep_text(&compiler, model->id);
        compiler.program->graph_id = keep_text(&compiler, graph->id);
        done = compile_graph(&compiler, graph, &unit, NULL);
    }
    if (mdf_stop_is_untold(&stop)) {
        done = tell_stop(&compiler);
    } else if ((!done && compiler.n_taken == 0) || compiler.arena->has_refused || compiler.scratch.has_refused) {
        compile_out_of_memory(&compiler); /* where nothing else has been said */
    }
    mdf_diagnostics_settle(compiler.list, n_before, &first);
    unit_clear(&compiler, &unit);
    mdf_arena_release(&compiler.scratch);
    meaning_release(&meaning);
    mdf_stop_release(&stop, compiler.memory);
    if (!done || first.code != MDF_OK) {
        mdf_program_release(compiler.program);
        if (error != NULL && error->code == MDF_OK) {
            *error = first;
        }
        return NULL;
    }
    return compiler.program;
}

struct mdf_program *mdf_program_compile(const struct mdf_model *model, const char *const *parameters, size_t n_parameters,
                                        const mdf_options *options, mdf_error *error)
{
    return compile_program(model, parameters, n_parameters, NULL, options, false, error);
}

struct mdf_program *mdf_program_look_over(const struct mdf_model *model, const mdf_options *options, mdf_error *error)
{
    return compile_program(model, NULL, 0, NULL, options, true, error);
}

struct mdf_program *mdf_program_compile_gradient(const struct mdf_model *model, const struct mdf_gradient_request *request,
                                                 const mdf_options *options, mdf_error *error)
{
    return compile_program(model, request->by, request->n_by, request, options, false, error);
}

void mdf_program_release(struct mdf_program *program)
{
    struct mdf_memory memory;
    struct mdf_kept_value *kept;

    if (program == NULL) {
        return;
    }
    if (program->code != NULL) {
        mdf_code_clear(&program->memory, program->code);
    }
    for (kept = program->kept; kept != NULL; kept = kept->next) {
        mdf_value_clear(&program->memory, &kept->value);
    }
    mdf_functions_release(program->functions);
    mdf_arena_release(&program->arena);
    mdf_memory_init(&memory, &program->memory.allocator, 0);
    mdf_memory_release(&memory, program);
}
