/* node_ports.c - what the edges into a node's input ports bring, as instructions. */
#include "mdf_c/plan/node_builder.h"

static bool is_weighted(const struct mdf_edge *edge)
{
    const struct mdf_node *weight = edge->weight;

    return weight != NULL && !(weight->kind == MDF_NODE_INT && weight->as.integer == 1) &&
           !(weight->kind == MDF_NODE_REAL && weight->as.real == 1.0);
}

mdf_operand compile_weighted(struct target *target, const struct mdf_edge *edge, mdf_operand value)
{
    struct mdf_value weight = {0};

    if (value == MDF_NO_OPERAND || !is_weighted(edge)) {
        return value;
    }
    return compile_constant(target, edge->weight, &weight)
               ? unit_call_two(target, PYTHON_MULTIPLY, unit_add_constant(target, &weight, 0), value)
               : MDF_NO_OPERAND;
}

mdf_operand compile_reduced(struct target *target, enum mdf_reduce reduce, mdf_operand held, mdf_operand arriving)
{
    static const char *const operators[] = {[MDF_REDUCE_ADD] = PYTHON_ADD, [MDF_REDUCE_MULTIPLY] = PYTHON_MULTIPLY};

    return reduce == MDF_REDUCE_OVERWRITE ? arriving : unit_call_two(target, operators[reduce], held, arriving);
}

/* The value that an edge brings: its sender's output, times the weight. */
static mdf_operand compile_edge(struct node_builder *builder, const struct mdf_edge *edge)
{
    mdf_operand output = graph_output(builder->graph, edge->sender_node, edge->sender_index), value;
    struct place place = place_enter(builder->compiler, "edge", edge->id, edge->weight);

    value = compile_weighted(&builder->target, edge, output);
    if (value != MDF_NO_OPERAND) {
        place_leave(builder->compiler, place);
    }
    return value;
}

/* All edges into a port that is wired at compile time, reduced to one operand. */
static mdf_operand compile_edges(struct node_builder *builder, size_t port)
{
    const struct port_edges *fed = graph_edges_into(builder->graph, builder->index, port);
    enum mdf_reduce reduce = builder->node->input_ports[port].reduce;
    mdf_operand value = MDF_NO_OPERAND;

    for (size_t i = 0; i < fed->n; i++) {
        mdf_operand arriving = compile_edge(builder, fed->edges[i]);

        value = i == 0 ? arriving : compile_reduced(&builder->target, reduce, value, arriving);
        if (value == MDF_NO_OPERAND) {
            return value;
        }
    }
    return value;
}

/* The senders' ports have the same declared type already. */
static bool is_typed_alike(const struct node_builder *builder, size_t port)
{
    const struct mdf_graph *graph = builder->graph->graph;
    const struct mdf_declared_type *type = &builder->node->input_ports[port].declaration.type;
    const struct port_edges *fed = graph_edges_into(builder->graph, builder->index, port);

    for (size_t i = 0; i < fed->n; i++) {
        const struct mdf_edge *edge = fed->edges[i];
        const struct mdf_output_port *sender = &graph->nodes[edge->sender_node].output_ports[edge->sender_index];

        if (is_weighted(edge) || sender->declaration.type.dtype != type->dtype || !sender->declaration.type.exact) {
            return false;
        }
    }
    return true;
}

/* Which of several values counts is a choice that a file should make. */
static void warn_of_several_edges(struct node_builder *builder, size_t index)
{
    const struct mdf_input_port *port = &builder->node->input_ports[index];
    const struct mdf_node *reduce = mdf_node_get(port->source, "reduce");
    const struct port_edges *fed = graph_edges_into(builder->graph, builder->index, index);

    if (fed->n > 1 && (reduce == NULL || reduce->kind == MDF_NODE_NULL)) {
        compile_warning(
            builder->compiler,
            "%zu edges ('%.60s', '%.60s'%s) lead into it, and it does not say how they are reduced: the last one that "
            "brings a value counts; give it a \"reduce\": \"overwrite\", \"add\" or \"multiply\"",
            fed->n, fed->edges[0]->id, fed->edges[1]->id, fed->n > 2 ? ", ..." : "");
    }
}

/* What arrives at a port of a declared shape is looked at when the node runs. In a body, an operator's shapes are known. */
static bool note_shape(struct node_builder *builder, const struct mdf_input_port *port, mdf_operand operand)
{
    struct compiler *compiler = builder->compiler;
    struct mdf_program_shaped shaped = {.operand = operand, .origin = compiler->origins[compiler->origin]};

    if (builder->graph->is_body || !port->declaration.has_shape || port->declaration.type.sequence) {
        return true;
    }
    return keep_declaration(compiler, &port->declaration, &shaped.declaration) &&
           list_add(compiler, &builder->plan->shaped, &shaped, sizeof shaped);
}

bool node_bind_port(struct node_builder *builder, size_t index)
{
    const struct mdf_input_port *port = &builder->node->input_ports[index];
    mdf_operand operand = builder->plan->ports[index];
    struct place place = place_enter(builder->compiler, "input port", port->id, port->source);

    warn_of_several_edges(builder, index);
    if (operand == MDF_NO_OPERAND) {
        operand = compile_edges(builder, index);
        if (operand != MDF_NO_OPERAND && port->declaration.type.dtype != MDF_DTYPE_NONE && !port->declaration.type.sequence &&
            !is_typed_alike(builder, index)) {
            operand = unit_declare(&builder->target, operand, &port->declaration.type);
        }
    } else if (builder->graph->is_nested && MDF_OPERAND_KIND(operand) == MDF_OPERAND_CAPTURE &&
               port->declaration.type.dtype != MDF_DTYPE_NONE && !port->declaration.type.sequence) {
        operand = unit_declare(&builder->target, operand, &port->declaration.type); /* of the node around it */
    }
    if (operand == MDF_NO_OPERAND || !note_shape(builder, port, operand)) {
        return false;
    }
    place_leave(builder->compiler, place);
    return scope_bind(builder->compiler, &builder->scope, port->id, operand);
}
