/* nested.c - a graph within a node, as a program of its own inside the program of the graph around it: its own names, order,
 * conditions and state, run as a whole where the node runs.
 *
 * Its free input ports take what the node calls by their name (or by NODE.PORT, or by the name that the graph's interface
 * declares): they are wired to the node's values at compile time. Its output ports are names that the node's own output ports may
 * use. */
#include "mdf_c/plan/compiler.h"

#include <string.h>

/* An output port of the graph that the node reads. */
struct yield {
    size_t node, output;
    mdf_operand operand; /* in the graph's unit */
    const char *full_name;
    bool is_unique; /* no other node of the graph has a port of that name */
};

/* ------------------------------------------------------------------ inputs */

/* What the node calls `name`, as an operand of the graph's unit; MDF_NO_OPERAND where it has no such name. */
static mdf_operand find_in_node(struct graph_builder *builder, struct target *outer, const char *name)
{
    struct target inner = {builder->compiler, builder->unit, &builder->scope};
    struct outcome outcome;
    mdf_operand operand;

    if (!scope_find_in_node(outer, name, &outcome)) {
        return MDF_NO_OPERAND;
    }
    operand = scope_as_operand(outer, &outcome);
    return unit_capture(&inner, builder->unit, outer->unit, operand);
}

/* What the file says of the node's port that feeds an inner one, and of those that feed that. */
static void note_said(const struct mdf_input_port *port, const struct port_link *around, struct port_link *link)
{
    link->default_value = around->default_value != NULL || port->is_made ? around->default_value : port->default_value;
    link->shaped = port->is_made || !port->declaration.has_shape ? around->shaped : port;
    link->reduced =
        around->reduced != NULL || port->is_made || mdf_node_get(port->source, "reduce") == NULL ? around->reduced : port;
}

/* Links a port to the input port of the node that has `name`, where that is filled at run time: what was given to it from outside
 * counts for one run of the inner node, as in the graph around, what edges brought for each. */
static bool link_port(struct graph_builder *builder, struct target *outer, const char *name, struct port_link *link)
{
    const struct graph_builder *graph = outer->scope->outer->graph;
    const struct mdf_graph_node *node = &graph->graph->nodes[graph->current_node];
    struct target inner = {builder->compiler, builder->unit, &builder->scope};
    size_t i;

    if (mdf_model_find_function(node, name) != NULL || mdf_model_find_parameter(node, name) != NULL) {
        return false; /* which hides a port of that name */
    }
    i = mdf_model_find_input_port(node, name);
    link->outer_port = i < node->n_input_ports ? graph_port_number(graph, graph->nodes[graph->current_node].ports[i]) : SIZE_MAX;
    if (link->outer_port == SIZE_MAX) {
        return false;
    }
    note_said(&node->input_ports[i], &graph->nodes[graph->current_node].links[i], link);
    link->source = unit_capture(&inner, builder->unit, outer->unit, graph->nodes[graph->current_node].ports[i]);
    return true;
}

const char *nested_input_name(const struct mdf_graph *graph, const char *node, const char *port)
{
    for (size_t i = 0; i < graph->n_inputs; i++) {
        const struct mdf_interface_item *item = &graph->inputs[i];

        if (strcmp(item->port, port) == 0 && (item->node == NULL || strcmp(item->node, node) == 0)) {
            return item->name;
        }
    }
    return NULL;
}

static bool feed_port(struct graph_builder *builder, struct target *outer, size_t node, size_t port)
{
    struct compiler *compiler = builder->compiler;
    const char *id = builder->graph->nodes[node].input_ports[port].id, *names[3];
    size_t n = 0;

    names[n++] = nested_input_name(builder->graph, builder->graph->nodes[node].id, id);
    names[n++] = mdf_arena_printf(&compiler->scratch, "%s.%s", builder->graph->nodes[node].id, id);
    if (names[1] == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    if (!builder->graph->declares_inputs) {
        names[n++] = id;
    }
    for (size_t i = 0; i < n && builder->nodes[node].ports[port] == MDF_NO_OPERAND; i++) {
        if (names[i] == NULL) {
            continue;
        }
        if (link_port(builder, outer, names[i], &builder->nodes[node].links[port])) {
            break;
        }
        builder->nodes[node].ports[port] = find_in_node(builder, outer, names[i]);
    }
    return compiler->error->code == MDF_OK;
}

bool nested_feed(struct graph_builder *builder, struct target *outer)
{
    for (size_t i = 0; i < builder->graph->n_nodes; i++) {
        for (size_t j = 0; j < builder->graph->nodes[i].n_input_ports; j++) {
            if (graph_edges_into(builder, i, j)->n == 0 && !feed_port(builder, outer, i, j)) {
                return false;
            }
        }
    }
    return true;
}

/* ------------------------------------------------------------------ outputs */

/* The names in the values of the node's output ports. */
static bool collect_output_names(struct compiler *compiler, const struct mdf_graph_node *node, struct name_table *names)
{
    struct list found = {0};

    for (size_t i = 0; i < node->n_output_ports; i++) {
        if (!collect_names(compiler, node->output_ports[i].value, &found)) {
            return false;
        }
    }
    for (size_t i = 0; i < found.n; i++) {
        if (name_table_add(names, &compiler->scratch, ((const char *const *)found.items)[i]) == NULL) {
            compile_out_of_memory(compiler);
            return false;
        }
    }
    return true;
}

static bool add_yield(struct graph_builder *builder, const struct name_table *names, size_t node, size_t output,
                      struct list *yields)
{
    const char *id = builder->graph->nodes[node].output_ports[output].id;
    struct yield yield = {.node = node, .output = output, .operand = MDF_NO_OPERAND};
    size_t found_node, found_output;

    yield.full_name = mdf_arena_printf(&builder->compiler->scratch, "%s.%s", builder->graph->nodes[node].id, id);
    if (yield.full_name == NULL) {
        compile_out_of_memory(builder->compiler);
        return false;
    }
    yield.is_unique = name_table_find(names, id) != NULL && graph_find_output(builder, id, &found_node, &found_output);
    return (!yield.is_unique && name_table_find(names, yield.full_name) == NULL) ||
           list_add(builder->compiler, yields, &yield, sizeof yield);
}

bool nested_find_yields(struct graph_builder *builder, const struct mdf_graph_node *outer_node, struct list *yields)
{
    struct name_table names = {0};

    if (!collect_output_names(builder->compiler, outer_node, &names)) {
        return false;
    }
    for (size_t i = 0; i < builder->graph->n_nodes; i++) {
        for (size_t j = 0; j < builder->graph->nodes[i].n_output_ports; j++) {
            if (!add_yield(builder, &names, i, j, yields)) {
                return false;
            }
        }
    }
    return true;
}

bool nested_take_yields(struct graph_builder *builder, struct list *yields)
{
    struct yield *items = yields->items;

    for (size_t i = 0; i < yields->n; i++) {
        items[i].operand = graph_output(builder, items[i].node, items[i].output);
        if (items[i].operand == MDF_NO_OPERAND) {
            return false;
        }
    }
    return true;
}

static bool keep_yields(struct compiler *compiler, struct mdf_code *code, const struct list *yields)
{
    const struct yield *items = yields->items;

    code->n_yields = yields->n;
    code->yields = mdf_arena_array(compiler->arena, yields->n, sizeof *code->yields);
    code->yield_is_own = mdf_arena_array(compiler->arena, yields->n, sizeof *code->yield_is_own);
    if (code->yields == NULL || code->yield_is_own == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    for (size_t i = 0; i < yields->n; i++) {
        code->yields[i] = items[i].operand;
    }
    return true;
}

/* ------------------------------------------------------------------ the call */

/* The node's own names come before those of the graph. */
static bool bind_yield(struct target *target, const struct yield *yield, const char *id, mdf_operand slot)
{
    struct outcome outcome;

    return scope_bind(target->compiler, target->scope, yield->full_name, slot) &&
           (!yield->is_unique || scope_find_in_node(target, id, &outcome) ||
            scope_bind(target->compiler, target->scope, id, slot));
}

static bool emit(struct target *target, const struct mdf_graph *graph, struct mdf_code *code, const struct list *yields)
{
    struct unit *unit = target->unit;
    uint32_t body = (uint32_t)unit->bodies.n;
    const struct yield *items = yields->items;

    if (!list_add(target->compiler, &unit->bodies, &code, sizeof code)) {
        mdf_code_clear(target->compiler->memory, code);
        return false;
    }
    if (!unit_emit(target, MDF_OPCODE_GRAPH, 0, 0, 0)) {
        return false;
    }
    unit_instruction(unit, unit_position(unit) - 1)->target = body;
    for (size_t i = 0; i < yields->n; i++) {
        mdf_operand slot = unit_new_slot(target, OPERAND_MAY_BE_LIST | OPERAND_IS_FOREIGN);

        if (slot == MDF_NO_OPERAND || !unit_emit(target, MDF_OPCODE_YIELD, slot, 0, (mdf_operand)i)) {
            return false;
        }
        unit_instruction(unit, unit_position(unit) - 1)->target = body;
        if (!bind_yield(target, &items[i], graph->nodes[items[i].node].output_ports[items[i].output].id, slot)) {
            return false;
        }
    }
    return true;
}

/* The name of its graph, for those who look at it; where it has none, of the node. */
static const char *keep_id(struct compiler *compiler, const struct mdf_graph_node *node)
{
    const char *id = node->graph->id != NULL ? node->graph->id : node->id;

    return mdf_arena_text(compiler->arena, id, strlen(id));
}

/* Keeps the unit, whose constants and bodies belong to the code. */
static bool keep_unit(struct compiler *compiler, const struct mdf_code *code, const struct unit *unit)
{
    struct nested_unit nested = {code, mdf_arena_allocate(&compiler->scratch, sizeof *nested.unit)};

    if (nested.unit == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    *nested.unit = *unit;
    nested.unit->constants = (struct list){.items = code->constants, .n = code->n_constants};
    nested.unit->bodies = (struct list){.items = code->bodies, .n = code->n_bodies};
    return list_add(compiler, &compiler->nested, &nested, sizeof nested);
}

bool compile_nested(struct target *target, const struct mdf_graph_node *node, bool is_in_body)
{
    struct compiler *compiler = target->compiler;
    struct mdf_program *outer = compiler->program, *program = mdf_arena_allocate(compiler->arena, sizeof *program);
    const struct mdf_graph_node *compiled_node = compiler->node;
    struct unit unit = {.outer = target->unit};
    struct nested nested = {.outer = target, .node = node};
    mdf_operand dt = compiler->dt;
    bool done;

    if (is_in_body) {
        compile_error(
            compiler, MDF_UNSUPPORTED,
            "a node with a graph of its own can not stand in the body of Scan, Loop or If: put its nodes into the body");
        return false;
    }
    if (program != NULL) {
        program->graph_id = keep_id(compiler, node);
    }
    if (program == NULL || program->graph_id == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    program->is_plain = outer->is_plain;
    program->real = outer->real;
    program->max_iterations = outer->max_iterations;
    program->max_passes = outer->max_passes;
    compiler->program = program;
    done = compile_graph(compiler, node->graph, &unit, &nested);
    compiler->program = outer;
    compiler->dt = dt;
    compiler->node = compiled_node;
    if (done) {
        program->code->program = program;
        if (!keep_yields(compiler, program->code, &nested.yields) ||
            (compiler->gradient != NULL && !keep_unit(compiler, program->code, &unit))) {
            mdf_code_clear(compiler->memory, program->code);
            return false;
        }
        return emit(target, node->graph, program->code, &nested.yields);
    }
    unit_clear(compiler, &unit);
    return false;
}
