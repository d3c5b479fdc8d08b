/* compile.c - a model's graph to a program: the passes in order. See program.h. */
#include "functions/custom/custom.h"
#include "mdf_c/base/machine_memory.h"
#include "mdf_c/base/processor.h"
#include "mdf_c/plan/gradient/evaluation.h"
#include "mdf_c/plan/graph_ports.h"
#include "mdf_c/plan/solve/method.h"

#include <stdio.h>
#include <math.h>
#include <string.h>

/* A schedule that needs more passes than this in one evaluation is taken for one that never ends, unless the caller says
 * otherwise. */
#define DEFAULT_MAX_PASSES 1000000u

/* What a solver's steps may be off by, unless the caller says otherwise. */
#define DEFAULT_RTOL 1e-6
#define DEFAULT_ATOL 1e-9
#define DEFAULT_STEP_LIMIT 100000u

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

static bool keep_output(struct graph_builder *builder, const struct mdf_output_port *source, struct mdf_program_output *output)
{
    struct compiler *compiler = builder->compiler;
    struct place place = place_enter(compiler, "output port", source->id, source->source);

    output->id = compile_keep_text(compiler, source->id);
    output->origin = place_origin(compiler);
    place_leave(compiler, place);
    return output->id != NULL && keep_initial(builder, source, output);
}

/* A node's name, place and outputs. */
static bool keep_node(struct graph_builder *builder, const struct mdf_graph_node *source, const struct node_plan *plan,
                      struct mdf_program_node *node)
{
    struct compiler *compiler = builder->compiler;
    struct place place = place_enter(compiler, "node", source->id, source->source);
    bool done = true;

    node->id = compile_keep_text(compiler, source->id);
    node->origin = place_origin(compiler);
    node->n_outputs = source->n_output_ports;
    node->has_graph = source->graph != NULL;
    node->outputs = mdf_arena_array(compiler->arena, node->n_outputs, sizeof *node->outputs);
    if (node->id == NULL || node->outputs == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    for (size_t i = 0; done && i < node->n_outputs; i++) {
        node->outputs[i].operand = plan->outputs[i];
        done = keep_output(builder, &source->output_ports[i], &node->outputs[i]);
    }
    place_leave(compiler, place);
    return done;
}

static bool keep_nodes(struct graph_builder *builder)
{
    struct mdf_program *program = builder->compiler->program;

    for (size_t i = 0; i < program->n_nodes; i++) {
        const struct mdf_graph_node *source = &builder->graph->nodes[i];
        const struct node_plan *plan = &builder->nodes[i];
        struct mdf_program_node *node = &program->nodes[i];

        if (!keep_node(builder, source, plan, node)) {
            return false;
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
    code->origins = origins;
    for (size_t i = 0; i < code->n_bodies; i++) {
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
    if (!graph_add_ports(builder, ports) || (nested == NULL && !graph_add_free_inputs(builder, ports)) ||
        !graph_compile_nodes(builder) || !graph_add_edges(builder, ports, edges)) {
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
    for (size_t i = 0; i < ports->n; i++) {
        struct mdf_program_port *port = (struct mdf_program_port *)ports->items + i;

        port->holds = port->holds || port->is_required;
    }
}

/* Whether an edge may bring what its sender computed in an evaluation before: its receiver does not wait for it. */
static bool has_late_edges(const struct mdf_graph *graph)
{
    for (size_t i = 0; i < graph->n_edges; i++) {
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
    for (size_t i = 0; i < layer->n_nodes; i++) {
        const struct mdf_program_node *node = &program->nodes[layer->nodes[i]];

        for (size_t j = 0; j < node->n_edges; j++) {
            for (size_t k = 0; k < layer->n_nodes; k++) {
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
    for (size_t i = 0; i < program->n_layers; i++) {
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

/* What is found in a graph and kept in its program: ports, edges, what comes out, names of inputs. */
struct found {
    struct list ports, edges, results, names;
};

static bool begin_graph(struct graph_builder *builder, struct target *target, const struct mdf_graph *graph,
                        const struct nested *nested, struct found *found)
{
    struct compiler *compiler = target->compiler;
    struct mdf_program *program = compiler->program;

    program->n_nodes = graph->n_nodes;
    program->declares_results = graph->declares_outputs;
    program->nodes = mdf_arena_array(compiler->arena, graph->n_nodes, sizeof *program->nodes);
    if (program->nodes == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    if (!find_dt(compiler, target) ||
        !graph_begin(builder, compiler, graph, target->unit, nested != NULL ? nested->outer->scope : NULL, false)) {
        return false;
    }
    builder->ports = &found->ports;
    builder->is_nested = nested != NULL;
    if (!graph_find_scheduling_mode(builder)) {
        return false;
    }
    builder->is_scheduled = builder->is_exact || graph_has_conditions(graph);
    builder->keeps_outputs = builder->is_scheduled || has_late_edges(graph);
    return true;
}

static bool compile_nodes(struct graph_builder *builder, struct nested *nested, struct found *found)
{
    struct compiler *compiler = builder->compiler;
    struct open_graph open = {compiler->open, builder->graph->source};
    bool done;

    compiler->open = &open;
    done = compile_parts(builder, nested, &found->ports, &found->edges) &&
           (nested != NULL || compiler->stop_when == NULL || compile_stop_when(builder, compiler->stop_when));
    compiler->open = open.outer;
    note_holding(&found->ports);
    if (done && compiler->n_taken > 0 && nested == NULL) {
        graph_add_results(builder, &found->ports, &found->results); /* for what else is wrong */
    }
    return done && compiler->n_taken == 0;
}

static bool keep_found(struct graph_builder *builder, bool is_nested, struct found *found)
{
    struct compiler *compiler = builder->compiler;
    struct mdf_program *program = compiler->program;

    return (is_nested || (graph_add_results(builder, &found->ports, &found->results) &&
                          graph_add_input_names(compiler, builder->graph, &found->ports, &found->names))) &&
           unit_keep_list(compiler, &found->ports, sizeof(struct mdf_program_port), &program->ports, &program->n_ports) &&
           unit_keep_list(compiler, &found->edges, sizeof(struct mdf_program_edge), &program->edges, &program->n_edges) &&
           unit_keep_list(compiler, &found->results, sizeof(struct mdf_program_result), &program->results, &program->n_results) &&
           unit_keep_list(compiler, &found->names, sizeof(char *), &program->input_names, &program->n_inputs) &&
           graph_distribute_edges(compiler);
}

/* Of the outermost graph: names of its ports, steps of its solver, its derivatives. */
static bool compile_outermost(struct graph_builder *builder)
{
    struct compiler *compiler = builder->compiler;

    if (!mdf_program_name_ports(compiler->program)) {
        compile_out_of_memory(compiler);
        return false;
    }
    return compile_solver(builder) && (compiler->gradient == NULL || (all_changeables_are_met(compiler) &&
                                                                      compile_evaluation_gradient(builder, compiler->gradient)));
}

static bool keep_lists(struct compiler *compiler)
{
    struct mdf_program *program = compiler->program;

    return keep_origins(compiler) && all_changeables_are_met(compiler) &&
           unit_keep_list(compiler, &compiler->parameters, sizeof *program->parameters, &program->parameters,
                          &program->n_parameters) &&
           unit_keep_list(compiler, &compiler->integrals, sizeof *program->integrals, &program->integrals,
                          &program->n_integrals) &&
           unit_keep_list(compiler, &compiler->events, sizeof *program->events, &program->events, &program->n_events);
}

bool compile_graph(struct compiler *compiler, const struct mdf_graph *graph, struct unit *unit, struct nested *nested)
{
    struct mdf_program *program = compiler->program;
    struct graph_builder builder;
    struct target target = {compiler, unit, &builder.scope};
    struct found found = {0};

    if (!begin_graph(&builder, &target, graph, nested, &found) || !compile_nodes(&builder, nested, &found) ||
        !keep_found(&builder, nested != NULL, &found)) {
        return false;
    }
    if (compile_is_psyneulink(compiler) || builder.is_exact) {
        note_simultaneous(program);
    }
    if (nested == NULL && !compile_outermost(&builder)) {
        return false;
    }
    program->code = unit_finish(compiler, unit);
    return program->code != NULL && (!compiler->looks_over || compile_look_over(&builder, program)) &&
           (nested != NULL || keep_lists(compiler));
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
    program->solver =
        (struct mdf_program_solver){.method = options->method,
                                    .rtol = options->rtol > 0 ? options->rtol : DEFAULT_RTOL,
                                    .atol = options->atol > 0 ? options->atol : DEFAULT_ATOL,
                                    .max_step = options->max_step > 0 ? options->max_step : (double)INFINITY,
                                    .step_limit = options->step_limit > 0 ? options->step_limit : DEFAULT_STEP_LIMIT,
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

/* What there is to be beside, or in place of, a graph's evaluation. */
struct compiling {
    const struct mdf_gradient_request *gradient;
    bool has_right_side, looks_over;
};

/* A solver of its own steps has no derivatives through its steps: the library solves for these too. */
static bool is_derived_by_library(const struct compiling *what, const mdf_options *options)
{
    return what->gradient != NULL && mdf_method_row(options->method)->kind == MDF_METHOD_LIBRARY;
}

/* A program without code, and the compiler of it; `unit`: that of its graph. False: out of memory. */
static bool begin_compiler(struct compiler *compiler, const struct mdf_model *model, const mdf_options *options,
                           struct unit *unit, struct mdf_stop *stop, mdf_error *first)
{
    compiler->program = new_program(model, options);
    if (compiler->program == NULL) {
        return false;
    }
    take_options(compiler->program, options);
    compiler->root = compiler->program;
    compiler->root_unit = unit;
    compiler->memory = &compiler->program->memory;
    compiler->arena = &compiler->program->arena;
    mdf_arena_init(&compiler->scratch, compiler->memory);
    compiler->stop = stop;
    mdf_stop_init(stop);
    compiler->error = first;
    compiler->list = options->diagnostics;
    compiler->receiver = (struct mdf_warnings){options->warning, options->warning_context};
    compiler->receiver.list = options->diagnostics;
    if (!model->is_partial && (options->warning != NULL || options->diagnostics != NULL)) {
        compiler->warnings.handler = pass_warning_once;
    }
    compiler->warnings.context = compiler;
    compiler->real = compiler->program->real;
    compiler->loop_condition = options->loop_condition;
    compiler->scheduling_mode = options->scheduling_mode;
    compiler->functions = compiler->program->functions = mdf_functions_share(options->functions);
    compiler->stop_when = options->stop_when;
    return true;
}

static bool compile_chosen_graph(struct compiler *compiler, const struct mdf_model *model, const char *const *parameters,
                                 size_t n_parameters, const mdf_options *options, struct unit *unit)
{
    double end_s = options->time_limit_s > 0 ? mdf_clock_s() + options->time_limit_s : (double)INFINITY;
    const struct mdf_graph *graph;

    if (compiler->model == NULL) {
        return false;
    }
    mdf_diagnostics_look_at(compiler->list, &compiler->model->document->source);
    place_at(compiler, compiler->model->source);
    graph = choose_graph(compiler, options->graph);
    if (graph == NULL || !mdf_stop_begin(compiler->stop, compiler->memory, end_s, compiler->error) ||
        !want(compiler, parameters, n_parameters)) {
        return false;
    }
    compiler->program->model_id = compile_keep_text(compiler, model->id);
    compiler->program->graph_id = compile_keep_text(compiler, graph->id);
    return compile_graph(compiler, graph, unit, NULL);
}

static struct mdf_program *compile_program(const struct mdf_model *model, const char *const *parameters, size_t n_parameters,
                                           const mdf_options *options, const struct compiling *what, mdf_error *error)
{
    struct compiler compiler = {.model = model,
                                .gradient = what->gradient,
                                .has_right_side = what->has_right_side || is_derived_by_library(what, options),
                                .looks_over = what->looks_over};
    size_t n_before = mdf_diagnostics_n_errors(options->diagnostics);
    struct meaning meaning = {0};
    struct unit unit = {0};
    mdf_error first = {0};
    struct mdf_stop stop;
    bool done;

    if (!begin_compiler(&compiler, model, options, &unit, &stop, &first)) {
        mdf_error_set(error, MDF_OUT_OF_MEMORY, "out of memory");
        return NULL;
    }
    compiler.model = meaning_of(&compiler, model, options, &meaning);
    done = compile_chosen_graph(&compiler, model, parameters, n_parameters, options, &unit);
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
    return compile_program(model, parameters, n_parameters, options, &(struct compiling){NULL, false, false}, error);
}

struct mdf_program *mdf_program_compile_right_side(const struct mdf_model *model, const char *const *parameters,
                                                   size_t n_parameters, const mdf_options *options, mdf_error *error)
{
    return compile_program(model, parameters, n_parameters, options, &(struct compiling){NULL, true, false}, error);
}

struct mdf_program *mdf_program_look_over(const struct mdf_model *model, const mdf_options *options, mdf_error *error)
{
    return compile_program(model, NULL, 0, options, &(struct compiling){NULL, false, true}, error);
}

struct mdf_program *mdf_program_compile_gradient(const struct mdf_model *model, const struct mdf_gradient_request *request,
                                                 const mdf_options *options, mdf_error *error)
{
    return compile_program(model, request->by, request->n_by, options, &(struct compiling){request, false, false}, error);
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
