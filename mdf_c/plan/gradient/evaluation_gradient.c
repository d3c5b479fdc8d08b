/* evaluation_gradient.c - the program of a value after some evaluations of a graph, and of its derivatives by parameters.
 *
 * Comes in: a graph whose nodes are compiled, and what is asked for. Goes out: the same program with one node in place of all:
 * its code is that of the evaluations (evaluation.c) and of the gradients (gradient.c), its output ports are `value` and the
 * names of the parameters. Inputs are those of the graph, and hold for all evaluations. */
#include "mdf_c/dialect/set_parameters.h"
#include "mdf_c/plan/gradient/evaluation.h"

#include <string.h>

static bool is_port(const struct mdf_program_node *node, const char *port, const char *name)
{
    size_t length = strlen(node->id);

    return strcmp(port, name) == 0 ||
           (strncmp(node->id, name, length) == 0 && name[length] == '.' && strcmp(name + length + 1, port) == 0);
}

/* The operand of a result, or of an output port. */
static mdf_operand find_value(struct compiler *compiler, const char *name)
{
    const struct mdf_program *program = compiler->program;
    struct mdf_nearest nearest;

    mdf_nearest_begin(&nearest, name);
    for (size_t i = 0; i < program->n_results; i++) {
        const struct mdf_program_result *result = &program->results[i];

        mdf_nearest_offer(&nearest, result->name);
        if (strcmp(result->name, name) == 0 && result->output != SIZE_MAX) {
            return program->nodes[result->node].outputs[result->output].operand;
        }
    }
    for (size_t i = 0; i < program->n_nodes; i++) {
        for (size_t k = 0; k < program->nodes[i].n_outputs; k++) {
            mdf_nearest_offer(&nearest, program->nodes[i].outputs[k].id);
            if (is_port(&program->nodes[i], program->nodes[i].outputs[k].id, name)) {
                return program->nodes[i].outputs[k].operand;
            }
        }
    }
    compile_error(compiler, MDF_NAME, "the graph has no result or output port '%s' to derive", name);
    mdf_error_suggest(compiler->error, mdf_nearest_result(&nearest));
    return MDF_NO_OPERAND;
}

/* The slot of a parameter that is kept changeable; that there is one of that name has been made sure of. */
static mdf_operand find_parameter(struct compiler *compiler, const char *name)
{
    const struct mdf_program_parameter *parameters = compiler->parameters.items;

    for (size_t i = 0; i < compiler->parameters.n; i++) {
        if (mdf_parameter_is_named(parameters[i].node, parameters[i].id, name)) {
            return parameters[i].slot;
        }
    }
    return compile_error(compiler, MDF_NAME, "no parameter is called '%s'", name);
}

static bool name_output(struct compiler *compiler, struct mdf_program_output *output, const char *name, mdf_operand operand)
{
    *output = (struct mdf_program_output){mdf_arena_text(compiler->arena, name, strlen(name)), operand, MDF_NO_OPERAND};
    return operand != MDF_NO_OPERAND && (output->id != NULL || compile_out_of_memory(compiler) != MDF_NO_OPERAND);
}

/* Its outputs as the parts that can be looked at by name. */
static bool keep_output_parts(struct compiler *compiler, struct mdf_program_node *node)
{
    struct mdf_program_part *parts = mdf_arena_array(compiler->arena, node->n_outputs, sizeof *parts);

    if (parts == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    for (size_t i = 0; i < node->n_outputs; i++) {
        parts[i] = (struct mdf_program_part){node->outputs[i].id, &node->outputs[i].operand, 1};
    }
    node->parts[MDF_PART_OUTPUT] = (struct mdf_program_parts){parts, node->n_outputs};
    return true;
}

/* The one node, whose results are its outputs. */
static bool keep_node(struct compiler *compiler, const struct mdf_program_node *made)
{
    struct mdf_program *program = compiler->program;
    struct mdf_program_node *node = mdf_arena_array(compiler->arena, 1, sizeof *node);
    struct mdf_program_layer *layer = mdf_arena_array(compiler->arena, 1, sizeof *layer);
    size_t *number = mdf_arena_array(compiler->arena, 1, sizeof *number);
    struct mdf_program_result *results = mdf_arena_array(compiler->arena, made->n_outputs, sizeof *results);

    if (node == NULL || layer == NULL || number == NULL || results == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    *node = *made;
    *layer = (struct mdf_program_layer){.nodes = number, .n_nodes = 1};
    for (size_t i = 0; i < made->n_outputs; i++) {
        results[i] = (struct mdf_program_result){made->outputs[i].id, 0, i};
    }
    for (size_t i = 0; i < program->n_ports; i++) {
        program->ports[i].node = 0;
        program->ports[i].holds = true;
    }
    program->nodes = node;
    program->layers = layer;
    program->results = results;
    program->n_nodes = program->n_layers = 1;
    program->n_results = made->n_outputs;
    program->n_edges = 0;
    program->solver.n_states = program->solver.n_ports = 0; /* its one evaluation has all their steps */
    program->takes_first = false;
    return true;
}

bool compile_evaluation_gradient(struct graph_builder *builder, const struct mdf_gradient_request *request)
{
    struct compiler *compiler = builder->compiler;
    struct target target = {compiler, builder->unit, &builder->scope};
    size_t first = unit_position(builder->unit);
    struct mdf_program_node node = {.id = "gradient",
                                    .finished = MDF_NO_OPERAND,
                                    .most_repeats = 1,
                                    .first = first,
                                    .reset = first,
                                    .initial = first,
                                    .main = first,
                                    .n_outputs = 1 + request->n_by,
                                    .n_ports = compiler->program->n_ports};
    mdf_operand *parameters = mdf_arena_array(&compiler->scratch, request->n_by, sizeof *parameters),
                *gradients = mdf_arena_array(&compiler->scratch, request->n_by, sizeof *gradients);
    mdf_operand of = find_value(compiler, request->of), value;

    node.outputs = mdf_arena_array(compiler->arena, node.n_outputs, sizeof *node.outputs);
    if (parameters == NULL || gradients == NULL || node.outputs == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    for (size_t i = 0; i < request->n_by; i++) {
        parameters[i] = find_parameter(compiler, request->by[i]);
        if (parameters[i] == MDF_NO_OPERAND) {
            return false;
        }
    }
    if (of == MDF_NO_OPERAND || !compile_evaluations(builder, request, of, &value) ||
        !compile_gradients_from(&target, first, value, parameters, request->n_by, gradients) ||
        !name_output(compiler, &node.outputs[0], "value", value)) {
        return false;
    }
    for (size_t i = 0; i < request->n_by; i++) {
        if (!name_output(compiler, &node.outputs[i + 1], request->by[i], gradients[i])) {
            return false;
        }
    }
    node.end = unit_position(builder->unit);
    return keep_output_parts(compiler, &node) && keep_node(compiler, &node);
}
