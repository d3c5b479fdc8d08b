/* parts.c - which operands hold the values of a node's input ports, functions, parameters and output ports, for those who look
 * at them by name after an evaluation. Comes in: a compiled node and its scope; goes out: the parts of its program node. */
#include "mdf_c/plan/compiler.h"

#include <string.h>

static const char *id_of(const struct mdf_graph_node *node, enum mdf_part kind, size_t i)
{
    switch (kind) {
    case MDF_PART_INPUT:
        return node->input_ports[i].id;
    case MDF_PART_FUNCTION:
        return node->functions[i].id;
    case MDF_PART_PARAMETER:
        return node->parameters[i].definition.id;
    case MDF_PART_OUTPUT:
        return node->output_ports[i].id;
    case MDF_PART_COUNT:
        break;
    }
    return NULL;
}

static size_t count_of(const struct mdf_graph_node *node, enum mdf_part kind)
{
    switch (kind) {
    case MDF_PART_INPUT:
        return node->n_input_ports;
    case MDF_PART_FUNCTION:
        return node->n_functions;
    case MDF_PART_PARAMETER:
        return node->n_parameters;
    case MDF_PART_OUTPUT:
        return node->n_output_ports;
    case MDF_PART_COUNT:
        break;
    }
    return 0;
}

/* The operands of a part, in the compiler's scratch or the plan; NULL: it has none. */
static const mdf_operand *operands_of(const struct node_plan *plan, const char *id, enum mdf_part kind, size_t i, size_t *n)
{
    const struct binding *binding;

    *n = 1;
    if (kind == MDF_PART_OUTPUT) {
        return &plan->outputs[i];
    }
    binding = scope_find_here(plan->scope, id);
    if (binding == NULL) {
        return NULL;
    }
    *n = binding->outcome.n_outputs;
    return binding->outcome.outputs;
}

static bool keep_part(const struct compiler *compiler, const struct node_plan *plan, const char *id, enum mdf_part kind, size_t i,
                      struct mdf_program_part *part)
{
    size_t n;
    const mdf_operand *operands = operands_of(plan, id, kind, i, &n);
    mdf_operand *kept = mdf_arena_array(compiler->arena, n, sizeof *kept);

    part->id = mdf_arena_text(compiler->arena, id, strlen(id));
    part->operands = kept;
    if (part->id == NULL || kept == NULL) {
        return false;
    }
    if (operands != NULL) {
        memcpy(kept, operands, n * sizeof *kept);
        part->n_operands = n;
    }
    return true;
}

bool keep_parts(const struct graph_builder *builder, size_t index)
{
    const struct mdf_graph_node *source = &builder->graph->nodes[index];
    struct mdf_program_node *node = &builder->compiler->program->nodes[index];
    enum mdf_part kind;

    for (kind = 0; kind < MDF_PART_COUNT; kind++) {
        struct mdf_program_parts *parts = &node->parts[kind];

        parts->n = count_of(source, kind);
        parts->items = mdf_arena_array(builder->compiler->arena, parts->n, sizeof *parts->items);
        for (size_t i = 0; parts->items != NULL && i < parts->n; i++) {
            if (!keep_part(builder->compiler, &builder->nodes[index], id_of(source, kind, i), kind, i, &parts->items[i])) {
                parts->items = NULL;
            }
        }
        if (parts->items == NULL) {
            compile_out_of_memory(builder->compiler);
            return false;
        }
    }
    return true;
}
