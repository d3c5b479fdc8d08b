/* evaluation_gradient.c - the program of a value after some evaluations of a graph, and of its derivatives by parameters.
 *
 * Comes in: a graph whose nodes are compiled, and what is asked for. Goes out: the same program with one node in place of all:
 * its code is that of the evaluations (evaluation.c) and of the gradients (gradient.c), its output ports are `value` and the
 * names of the parameters. Inputs are those of the graph, and hold for all evaluations. */
#include "mdf_c/dialect/set_parameters.h"
#include "mdf_c/plan/gradient/evaluation.h"
#include "mdf_c/plan/gradient/gradient.h"
#include "mdf_c/plan/solve/entry.h"
#include "mdf_c/plan/traced/trace.h"

#include <stdio.h>
#include <string.h>

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
            const char *id = program->nodes[i].outputs[k].id;
            const char *whole = mdf_arena_printf(&compiler->scratch, "%s.%s", program->nodes[i].id, id);

            mdf_nearest_offer(&nearest, id);
            mdf_nearest_offer(&nearest, whole != NULL ? whole : id);
            if (mdf_part_is_named(program->nodes[i].id, program->nodes[i].outputs[k].id, name)) {
                return program->nodes[i].outputs[k].operand;
            }
        }
    }
    mdf_error_set(compiler->error, MDF_NAME, "the graph has no result or output port '%s' to derive", name);
    mdf_error_suggest(compiler->error, mdf_nearest_result(&nearest));
    return MDF_NO_OPERAND;
}

/* The slot of a parameter that is kept changeable, and its number; that there is one of that name has been made sure of. */
static mdf_operand find_parameter(struct compiler *compiler, const char *name, size_t *number)
{
    const struct mdf_program_parameter *parameters = compiler->parameters.items;

    for (size_t i = 0; i < compiler->parameters.n; i++) {
        if (mdf_part_is_named(parameters[i].node, parameters[i].id, name)) {
            *number = i;
            return parameters[i].slot;
        }
    }
    return compile_error(compiler, MDF_NAME, "no parameter is called '%s'", name);
}

static bool name_output(struct compiler *compiler, struct mdf_program_output *output, const char *name, mdf_operand operand)
{
    *output = (struct mdf_program_output){
        .id = mdf_arena_text(compiler->arena, name, strlen(name)), .operand = operand, .initial = MDF_NO_OPERAND};
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
        program->ports[i].is_fed = false;
    }
    program->schedule = NULL;
    program->takes_first = false;
    program->nodes = node;
    program->layers = layer;
    program->results = results;
    program->n_nodes = program->n_layers = 1;
    program->n_results = made->n_outputs;
    program->n_edges = 0;
    if (program->right_side.n_steps == 0) {
        program->solver.n_states = program->solver.n_ports = 0; /* its one evaluation has all their steps */
    }
    program->takes_first = false;
    return true;
}

/* ------------------------------------------------------------------ vectors */

/* A parameter of the program that is none of the model's: a vector, 1 until it is set. */
static mdf_operand add_vector(struct target *target, const char *first, const char *second)
{
    struct compiler *compiler = target->compiler;
    struct mdf_program_parameter parameter = {.origin = compiler->origins[compiler->origin],
                                              .declaration = {.type = {.dtype = MDF_DTYPE_NONE}}};
    size_t n = strlen(first), n_second = strlen(second);
    char *id = mdf_arena_allocate(compiler->arena, n + n_second + 1);
    struct mdf_value one = {0};

    if (id == NULL || !mdf_value_make_double(compiler->memory, &one, 1.0)) {
        return compile_out_of_memory(compiler);
    }
    memcpy(id, first, n);
    memcpy(id + n, second, n_second + 1);
    parameter.id = id;
    parameter.default_value = unit_add_constant(target, &one, 0);
    parameter.slot = unit_new_slot(target, OPERAND_IS_FIXED);
    return parameter.default_value != MDF_NO_OPERAND && parameter.slot != MDF_NO_OPERAND &&
                   list_add(compiler, &compiler->parameters, &parameter, sizeof parameter)
               ? parameter.slot
               : MDF_NO_OPERAND;
}

/* The same in the shape of what it belongs to. */
static mdf_operand vector_like(struct target *target, const char *first, const char *second, mdf_operand like)
{
    mdf_operand vector = add_vector(target, first, second);

    return vector != MDF_NO_OPERAND ? unit_call_two(target, "gradient.vector", vector, like) : vector;
}

/* How far (the sum of) a value goes in the direction of the vectors: the sum of gradients times these. */
static mdf_operand go_along(struct target *target, const struct mdf_gradient_request *request, const mdf_operand *parameters,
                            const mdf_operand *gradients)
{
    mdf_operand *vectors = trace_new_operands(target->compiler, request->n_by + 1, MDF_NO_OPERAND);

    for (size_t i = 0; vectors != NULL && i < request->n_by; i++) {
        vectors[i] = vector_like(target, "direction.", request->by[i], parameters[i]);
        if (vectors[i] == MDF_NO_OPERAND) {
            return MDF_NO_OPERAND;
        }
    }
    return vectors == NULL      ? MDF_NO_OPERAND
           : request->n_by == 0 ? unit_add_int(target, 0)
                                : entry_sum_products(target, gradients, vectors, request->n_by);
}

/* ------------------------------------------------------------------ what is asked for */

/* The derivatives of one request. */
struct derivation {
    struct target target;
    const struct mdf_gradient_request *request;
    size_t first; /* of the instructions that compute the value */
    mdf_operand value;
    mdf_operand *parameters; /* slots */
    size_t *numbers;         /* of these, among the program's */
    mdf_operand *results;    /* one for each parameter; of JVP, the tangent */
};

static bool derive_by_parameters(struct derivation *derivation, mdf_operand y, mdf_operand seed)
{
    const struct derived_value value = {y, seed};

    return compile_gradients_from(&derivation->target, derivation->first, &value, 1, derivation->parameters,
                                  derivation->request->n_by, derivation->results);
}

/* What hands a gradient back is linear in it: the derivative of that is what goes forward. */
static bool derive_forward(struct derivation *derivation)
{
    struct target *target = &derivation->target;
    mdf_operand seed = unit_call_python(target, PYTHON_ONES_LIKE, &derivation->value, 1), along;
    size_t first = unit_position(target->unit);

    if (seed == MDF_NO_OPERAND || !derive_by_parameters(derivation, derivation->value, seed)) {
        return false;
    }
    along = go_along(target, derivation->request, derivation->parameters, derivation->results);
    return along != MDF_NO_OPERAND && compile_gradients_from(target, first, &(struct derived_value){along, MDF_NO_OPERAND}, 1,
                                                             &seed, 1, derivation->results);
}

static bool derive_twice(struct derivation *derivation)
{
    mdf_operand along;

    if (!derive_by_parameters(derivation, derivation->value, MDF_NO_OPERAND)) {
        return false;
    }
    along = go_along(&derivation->target, derivation->request, derivation->parameters, derivation->results);
    return along != MDF_NO_OPERAND && derive_by_parameters(derivation, along, MDF_NO_OPERAND);
}

static bool derive(struct derivation *derivation)
{
    mdf_operand seed;

    switch (derivation->request->kind) {
    case MDF_REQUEST_GRADIENT:
        return derive_by_parameters(derivation, derivation->value, MDF_NO_OPERAND);
    case MDF_REQUEST_VJP:
        seed = vector_like(&derivation->target, "cotangent", "", derivation->value);
        return seed != MDF_NO_OPERAND && derive_by_parameters(derivation, derivation->value, seed);
    case MDF_REQUEST_JVP:
        return derive_forward(derivation);
    case MDF_REQUEST_HVP:
        return derive_twice(derivation);
    }
    return false;
}

static bool find_parameters(struct compiler *compiler, struct derivation *derivation)
{
    const struct mdf_gradient_request *request = derivation->request;
    size_t n = request->n_by + 1;

    derivation->parameters = mdf_arena_array(&compiler->scratch, n, sizeof *derivation->parameters);
    derivation->results = mdf_arena_array(&compiler->scratch, n, sizeof *derivation->results);
    derivation->numbers = mdf_arena_array(&compiler->scratch, n, sizeof *derivation->numbers);
    if (derivation->parameters == NULL || derivation->results == NULL || derivation->numbers == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    for (size_t i = 0; i < request->n_by; i++) {
        derivation->parameters[i] = find_parameter(compiler, request->by[i], &derivation->numbers[i]);
        if (derivation->parameters[i] == MDF_NO_OPERAND) {
            return false;
        }
    }
    return true;
}

/* The output ports, and with them what the code is for: the rest is taken out. */
static bool name_outputs(struct derivation *derivation, struct mdf_program_node *node)
{
    struct compiler *compiler = derivation->target.compiler;
    bool is_forward = derivation->request->kind == MDF_REQUEST_JVP;
    struct list roots = {0};

    node->n_outputs = 1 + (is_forward ? 1 : derivation->request->n_by);
    node->outputs = mdf_arena_array(compiler->arena, node->n_outputs, sizeof *node->outputs);
    if (node->outputs == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    for (size_t i = 0; i < node->n_outputs; i++) {
        const char *name = i == 0 ? "value" : is_forward ? "tangent" : derivation->request->by[i - 1];
        mdf_operand operand = i == 0 ? derivation->value : derivation->results[i - 1];

        if (!name_output(compiler, &node->outputs[i], name, operand) || !list_add(compiler, &roots, &operand, sizeof operand)) {
            return false;
        }
    }
    return compile_take_out_unread(&derivation->target, derivation->first, &roots);
}

/* ------------------------------------------------------------------ by a library */

/* What is derived: an output port, counted node by node; as many as there are: it is none. */
static size_t find_output(const struct mdf_program *program, mdf_operand operand)
{
    size_t n = 0;

    for (size_t i = 0; i < program->n_nodes; i++) {
        for (size_t k = 0; k < program->nodes[i].n_outputs; k++, n++) {
            if (program->nodes[i].outputs[k].operand == operand) {
                return n;
            }
        }
    }
    return n;
}

/* The states as the first evaluation sets them: the value and the seed of each. */
static bool trace_initials(struct graph_builder *builder, struct derivation *derivation, struct derived_value *values)
{
    const struct mdf_program_right_side *side = &builder->compiler->program->right_side;
    const struct mdf_gradient_request once = {.n_steps = 1};
    struct scope scope = {.unit = derivation->target.unit};
    struct target *target = &derivation->target, inner = {target->compiler, target->unit, &scope};

    for (size_t i = 0; i < side->n_states; i++) {
        mdf_operand slot = MDF_NO_OPERAND;

        if (!compile_evaluations(builder, &once, side->states[i].slot, &slot) || !solver_name(&inner, "x", slot)) {
            return false;
        }
        values[i].value = solver_compute(&inner, NULL, "numpy.multiply(x, 1.0)");
        values[i].seed =
            values[i].value != MDF_NO_OPERAND ? unit_call_python(target, PYTHON_ONES_LIKE, &values[i].value, 1) : MDF_NO_OPERAND;
        if (values[i].seed == MDF_NO_OPERAND) {
            return false;
        }
    }
    return true;
}

/* They, and how they change in the direction of parameters, in slots of the states. */
static bool emit_initials(struct graph_builder *builder, struct derivation *derivation)
{
    struct mdf_program_right_side *side = &builder->compiler->program->right_side;
    struct target *target = &derivation->target;
    struct compiler *compiler = target->compiler;
    size_t n = side->n_states, first = unit_position(target->unit), second;
    struct derived_value *values = mdf_arena_array(&compiler->scratch, n + 1, sizeof *values);
    mdf_operand *seeds = trace_new_operands(compiler, n + 1, MDF_NO_OPERAND),
                *tangents = trace_new_operands(compiler, n + 1, MDF_NO_OPERAND),
                *directions = trace_new_operands(compiler, derivation->request->n_by + 1, MDF_NO_OPERAND), along;
    struct list roots = {0};

    if (values == NULL || seeds == NULL || tangents == NULL || directions == NULL ||
        !trace_initials(builder, derivation, values)) {
        return false;
    }
    second = unit_position(target->unit);
    for (size_t i = 0; i < derivation->request->n_by; i++) {
        directions[i] = side->by_parameter[derivation->numbers[i]];
    }
    for (size_t i = 0; i < n; i++) {
        seeds[i] = values[i].seed;
    }
    if (!compile_gradients_from(target, first, values, n, derivation->parameters, derivation->request->n_by,
                                derivation->results)) {
        return false;
    }
    along = entry_sum_products(target, derivation->results, directions, derivation->request->n_by);
    if (along == MDF_NO_OPERAND ||
        !compile_gradients_from(target, second, &(struct derived_value){along, MDF_NO_OPERAND}, 1, seeds, n, tangents)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!list_add(compiler, &roots, &values[i].value, sizeof values[i].value) ||
            !list_add(compiler, &roots, &tangents[i], sizeof tangents[i])) {
            return false;
        }
    }
    if (!compile_take_out_unread(target, first, &roots)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!unit_emit(target, MDF_OPCODE_COPY, side->states[i].y, values[i].value, 0) ||
            !unit_emit(target, MDF_OPCODE_COPY, side->states[i].direction, tangents[i], 0)) {
            return false;
        }
    }
    side->initial = (struct mdf_range){first, unit_position(target->unit)};
    return true;
}

/* The library looks at all ports. */
static bool keep_ports(struct compiler *compiler)
{
    struct mdf_program *program = compiler->program;

    program->solver.ports = mdf_arena_array(compiler->arena, program->n_ports + 1, sizeof *program->solver.ports);
    for (size_t i = 0; program->solver.ports != NULL && i < program->n_ports; i++) {
        program->solver.ports[i] = i;
    }
    program->solver.n_ports = program->n_ports;
    return program->solver.ports != NULL || compile_out_of_memory(compiler) != MDF_NO_OPERAND;
}

static bool can_be_derived(struct compiler *compiler, const struct mdf_gradient_request *request, bool are_outputs)
{
    const struct mdf_program_right_side *side = &compiler->program->right_side;
    const char *why =
        request->kind != MDF_REQUEST_GRADIENT                  ? "it has gradients, no other products of derivatives"
        : compiler->program->schedule != NULL                  ? "conditions say which nodes run"
        : side->condition.first < side->condition.end          ? "events change states, and with them their derivatives, in jumps"
        : side->differentiate.first == side->differentiate.end ? "something on the way has no derivative (docs/gradients.md)"
        : !are_outputs                                         ? "it derives output ports"
                                                               : NULL;

    if (why != NULL) {
        compile_error(compiler, MDF_UNSUPPORTED, "there are no derivatives of a solution by %s here: %s",
                      mdf_method_names[compiler->program->solver.method], why);
    }
    return why == NULL;
}

/* Output ports that are derived, by a library. */
struct derived_ports {
    const char **names;
    size_t n;
    bool of_each; /* after each evaluation */
};

static const char each_suffix[] = "[:]";

/* NODE.PORT[:], or several with commas between. */
static bool find_ports(struct compiler *compiler, const char *of, struct derived_ports *ports)
{
    size_t n_suffix = sizeof each_suffix - 1, most = 1;

    for (const char *at = of; *at != '\0'; at++) {
        most += *at == ',';
    }
    ports->names = mdf_arena_array(&compiler->scratch, most, sizeof *ports->names);
    while (ports->names != NULL && ports->n < most) {
        size_t length = strcspn(of, ",");
        bool is_each = length > n_suffix && memcmp(of + length - n_suffix, each_suffix, n_suffix) == 0;

        ports->of_each = ports->of_each || is_each;
        if (ports->of_each && !is_each) {
            return compile_error(compiler, MDF_NAME, "of '%s' values after each evaluation are asked for, and of others not",
                                 of) != MDF_NO_OPERAND;
        }
        ports->names[ports->n] = mdf_arena_text(&compiler->scratch, of, ports->of_each ? length - n_suffix : strlen(of));
        if (ports->names[ports->n++] == NULL || !ports->of_each) {
            break;
        }
        of += length + (of[length] == ',');
    }
    return (ports->names != NULL && ports->names[ports->n - 1] != NULL) || compile_out_of_memory(compiler) != MDF_NO_OPERAND;
}

/* "NODE.PORT by NODE.PARAMETER" */
static const char *name_derivative(struct compiler *compiler, const char *of, const char *by)
{
    size_t n = strlen(of) + strlen(by) + sizeof " by ";
    char *name = mdf_arena_allocate(compiler->arena, n);

    if (name != NULL) {
        snprintf(name, n, "%s by %s", of, by);
    }
    return name;
}

bool *compile_derived_outputs(struct compiler *compiler)
{
    const struct mdf_program *program = compiler->program;
    bool *is_derived = mdf_arena_array(&compiler->scratch, mdf_program_count_outputs(program) + 1, sizeof *is_derived);
    struct derived_ports ports = {0};

    if (is_derived == NULL) {
        compile_out_of_memory(compiler);
        return NULL;
    }
    if (!find_ports(compiler, compiler->gradient->of, &ports)) {
        return NULL;
    }
    for (size_t i = 0; i < ports.n; i++) {
        mdf_operand of = find_value(compiler, ports.names[i]);

        if (of == MDF_NO_OPERAND) {
            return NULL;
        }
        for (size_t n = 0, at = 0; n < program->n_nodes; n++) {
            for (size_t k = 0; k < program->nodes[n].n_outputs; k++, at++) {
                is_derived[at] = is_derived[at] || program->nodes[n].outputs[k].operand == of;
            }
        }
    }
    return is_derived;
}

/* Their slots, and the outputs of the node, whose code only copies the one value after the last evaluation. */
static bool make_outputs(struct derivation *derivation, const struct derived_ports *ports, struct mdf_program_node *node)
{
    struct compiler *compiler = derivation->target.compiler;
    struct mdf_program_right_side *side = &compiler->program->right_side;
    const struct mdf_gradient_request *request = derivation->request;
    size_t at = 0;

    node->n_outputs = ports->n * (1 + request->n_by);
    node->outputs = mdf_arena_array(compiler->arena, node->n_outputs, sizeof *node->outputs);
    for (size_t i = 0; node->outputs != NULL && i < ports->n; i++) {
        mdf_operand *results = side->results + i * compiler->parameters.n;

        side->values[i] =
            ports->of_each ? unit_new_slot(&derivation->target, 0) : unit_own_copy(&derivation->target, side->of_value[i]);
        for (size_t k = 0; k < compiler->parameters.n; k++) {
            side->results[i * compiler->parameters.n + k] = unit_new_slot(&derivation->target, 0);
        }
        if (!name_output(compiler, &node->outputs[at++], ports->of_each ? ports->names[i] : "value", side->values[i])) {
            return false;
        }
        for (size_t k = 0; k < request->n_by; k++) {
            const char *name = ports->of_each ? name_derivative(compiler, ports->names[i], request->by[k]) : request->by[k];

            if (name == NULL) {
                return compile_out_of_memory(compiler) != MDF_NO_OPERAND;
            }
            if (!name_output(compiler, &node->outputs[at++], name, results[derivation->numbers[k]])) {
                return false;
            }
        }
    }
    return node->outputs != NULL || compile_out_of_memory(compiler) != MDF_NO_OPERAND;
}

static bool keep_derived(struct compiler *compiler, const struct derived_ports *ports)
{
    struct mdf_program_right_side *side = &compiler->program->right_side;

    side->n_of = ports->n;
    side->of_each = ports->of_each;
    side->of = mdf_arena_array(compiler->arena, ports->n, sizeof *side->of);
    side->of_value = mdf_arena_array(compiler->arena, ports->n, sizeof *side->of_value);
    side->values = mdf_arena_array(compiler->arena, ports->n, sizeof *side->values);
    side->results = mdf_arena_array(compiler->arena, ports->n * compiler->parameters.n + 1, sizeof *side->results);
    if (side->of == NULL || side->of_value == NULL || side->values == NULL || side->results == NULL) {
        return compile_out_of_memory(compiler) != MDF_NO_OPERAND;
    }
    for (size_t i = 0; i < ports->n; i++) {
        side->of_value[i] = find_value(compiler, ports->names[i]);
        if (side->of_value[i] == MDF_NO_OPERAND) {
            return false;
        }
        side->of[i] = find_output(compiler->program, side->of_value[i]);
    }
    return true;
}

/* All is the library's work (mdf_c/run/solve). */
static bool derive_by_library(struct graph_builder *builder, struct derivation *derivation, const struct derived_ports *ports)
{
    struct compiler *compiler = builder->compiler;
    struct mdf_program_right_side *side = &compiler->program->right_side;
    const struct mdf_gradient_request *request = derivation->request;
    struct mdf_program_node node = {
        .id = "gradient", .finished = MDF_NO_OPERAND, .most_repeats = 1, .n_ports = compiler->program->n_ports};
    size_t n_outputs = mdf_program_count_outputs(compiler->program), last = 0;

    if (!keep_derived(compiler, ports)) {
        return false;
    }
    for (size_t i = 0; i < ports->n; i++) {
        last = side->of[i] > last ? side->of[i] : last;
    }
    if (!can_be_derived(compiler, request, last < n_outputs) || !emit_initials(builder, derivation)) {
        return false;
    }
    side->n_steps = request->n_steps;
    node.first = node.reset = node.initial = node.main = unit_position(builder->unit);
    if (!make_outputs(derivation, ports, &node)) {
        return false;
    }
    node.end = unit_position(builder->unit);
    return keep_ports(compiler) && keep_output_parts(compiler, &node) && keep_node(compiler, &node);
}

/* Behind derivatives that draw random numbers again these go on from where the value left them. */
static bool derive_and_go_on(struct derivation *derivation)
{
    struct target *target = &derivation->target;
    mdf_operand mark = MDF_NO_OPERAND;

    if (!gradient_mark_draws(target, derivation->first)) {
        return false;
    }
    if (gradient_has_marks(target, derivation->first)) {
        mark = gradient_emit_mark(target, derivation->first);
        if (mark == MDF_NO_OPERAND) {
            return false;
        }
    }
    return derive(derivation) && (mark == MDF_NO_OPERAND || gradient_emit_return(target, mark));
}

bool compile_evaluation_gradient(struct graph_builder *builder, const struct mdf_gradient_request *request)
{
    struct compiler *compiler = builder->compiler;
    struct derivation derivation = {.target = {compiler, builder->unit, &builder->scope}, .request = request};
    size_t first = derivation.first = unit_position(builder->unit);
    struct mdf_program_node node = {.id = "gradient",
                                    .finished = MDF_NO_OPERAND,
                                    .most_repeats = 1,
                                    .first = first,
                                    .reset = first,
                                    .initial = first,
                                    .main = first,
                                    .n_ports = compiler->program->n_ports};
    struct derived_ports ports = {0};
    mdf_operand of;

    if (!find_ports(compiler, request->of, &ports) || !find_parameters(compiler, &derivation)) {
        return false;
    }
    if (compiler->program->solver.states != NULL) {
        return derive_by_library(builder, &derivation, &ports);
    }
    if (ports.of_each) {
        return compile_error(
                   compiler, MDF_UNSUPPORTED,
                   "derivatives of what '%s' is after each evaluation are had by the methods cvode_adams and cvode_bdf alone",
                   request->of) != MDF_NO_OPERAND;
    }
    of = find_value(compiler, request->of);
    if (of == MDF_NO_OPERAND) {
        return false;
    }
    if (!compile_evaluations(builder, request, of, &derivation.value) || !derive_and_go_on(&derivation) ||
        !name_outputs(&derivation, &node)) {
        return false;
    }
    node.end = unit_position(builder->unit);
    return keep_output_parts(compiler, &node) && keep_node(compiler, &node);
}
