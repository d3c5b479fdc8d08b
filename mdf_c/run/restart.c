/* restart.c - a state before its first evaluation: as it was when it was new, with the parameters that the caller sets.
 * Holds after a restart: an evaluation gives the bits that it gives in a new state with the same seed. */
#include "mdf_c/run/restart.h"

#include "functions/sampling/random.h"
#include "mdf_c/code/operands.h"
#include "mdf_c/dialect/set_parameters.h"
#include "mdf_c/run/buffer_reuse.h"
#include "mdf_c/run/solve/solve.h"

#include <string.h>

static void forget_inputs(struct mdf_state *state)
{
    for (size_t i = 0; i < state->program->n_ports; i++) {
        state->ports[i].has_input = state->ports[i].repeats = state->ports[i].has_value = false;
        state->ports[i].was_given = state->ports[i].was_fed = state->ports[i].is_linked = false;
    }
}

void mdf_state_forget_inputs(struct mdf_state *state)
{
    struct mdf_state *nested;

    forget_inputs(state);
    for (nested = state->shared->nested; nested != NULL; nested = nested->next) {
        forget_inputs(nested);
    }
}

static void forget_graph(struct mdf_state *state)
{
    const struct mdf_program *program = state->program;

    for (size_t i = 0; i < program->n_ports; i++) {
        state->ports[i].has_default = false;
    }
    forget_inputs(state);
    memset(state->has_run, 0, program->n_nodes * sizeof *state->has_run);
    for (size_t i = 0; state->nodes != NULL && !state->leaves_nothing && i < program->n_nodes; i++) {
        state->nodes[i].n_runs = 0; /* lowered forms stay, and are used again once types and shapes are stable */
    }
    if (state->whole != NULL) {
        mdf_whole_renew(state);
    }
    mdf_buffer_reuse_forget(state);
    mdf_schedule_record_clear(&state->schedule);
    if (program->schedule != NULL) {
        mdf_scheduler_clear(&state->scheduler, program);
    }
}

/* What output ports hold before their nodes run. */
static bool set_initial_outputs(struct mdf_state *state)
{
    const struct mdf_program *program = state->program;

    for (size_t i = 0; i < program->n_nodes; i++) {
        for (size_t j = 0; j < program->nodes[i].n_outputs; j++) {
            const struct mdf_program_output *output = &program->nodes[i].outputs[j];

            if (output->initial != MDF_NO_OPERAND && MDF_OPERAND_KIND(output->operand) == MDF_OPERAND_SLOT &&
                !mdf_value_copy(&state->shared->memory, mdf_frame_slot(state->frame, output->operand),
                                mdf_frame_value(state->frame, output->initial))) {
                return false;
            }
        }
    }
    return true;
}

/* Changeable parameters hold what the model gives them. */
static bool set_parameters(struct mdf_state *state)
{
    const struct mdf_program *program = state->program;

    for (size_t i = 0; i < program->n_parameters; i++) {
        if (!mdf_value_copy(&state->shared->memory, mdf_frame_slot(state->frame, program->parameters[i].slot),
                            mdf_frame_value(state->frame, program->parameters[i].default_value))) {
            return false;
        }
    }
    return true;
}

bool mdf_state_set_defaults(struct mdf_state *state)
{
    struct mdf_state *nested;

    for (nested = state->shared->nested; nested != NULL; nested = nested->next) {
        if (!set_initial_outputs(nested)) {
            return false;
        }
    }
    return set_initial_outputs(state) && set_parameters(state);
}

mdf_status mdf_state_restart(struct mdf_state *state, uint64_t seed, mdf_error *error)
{
    struct mdf_state *nested;

    forget_graph(state);
    mdf_solve_restart(state);
    for (nested = state->shared->nested; nested != NULL; nested = nested->next) {
        forget_graph(nested);
    }
    mdf_frame_forget(state->frame);
    state->shared->has_begun = false;
    mdf_random_begin(&state->shared->execution.context, seed);
    return mdf_state_set_defaults(state) ? MDF_OK : mdf_memory_error(&state->shared->memory, error);
}

static bool is_parameter(void *context, mdf_operand operand)
{
    const struct mdf_program *program = *(const struct mdf_program *const *)context;
    size_t i = 0;

    while (i < program->n_parameters && program->parameters[i].slot != operand) {
        i++;
    }
    return i < program->n_parameters;
}

/* Whether an evaluation leaves something else in a changeable parameter. */
static bool writes_parameters(const struct mdf_program *program)
{
    const struct mdf_code *code = program->code;
    size_t i = 0;

    while (i < code->n_instructions && !mdf_any_written(&code->instructions[i], code->calls, is_parameter, &program)) {
        i++;
    }
    return i < code->n_instructions;
}

bool mdf_program_leaves_nothing(const struct mdf_program *program, struct mdf_arena *arena)
{
    bool *has_come = mdf_arena_array(arena, program->n_nodes, sizeof *has_come);
    bool leaves_nothing = has_come != NULL && program->schedule == NULL && !writes_parameters(program);

    for (size_t i = 0; leaves_nothing && i < program->n_layers; i++) {
        for (size_t j = 0; j < program->layers[i].n_nodes; j++) {
            const struct mdf_program_node *node = &program->nodes[program->layers[i].nodes[j]];

            leaves_nothing = leaves_nothing && node->reset == node->main && !node->has_graph;
            for (size_t k = 0; k < node->n_edges; k++) {
                leaves_nothing = leaves_nothing && has_come[program->edges[node->edges[k]].sender];
            }
            has_come[program->layers[i].nodes[j]] = true;
        }
    }
    return leaves_nothing;
}

mdf_status mdf_state_restart_to_evaluate(struct mdf_state *state, uint64_t seed, mdf_error *error)
{
    if (!state->leaves_nothing || state->schedule.n_nodes != state->program->n_nodes) {
        return mdf_state_restart(state, seed, error);
    }
    for (size_t i = 0; i < state->program->n_ports; i++) {
        state->ports[i].has_default = false;
    }
    forget_inputs(state);
    mdf_random_begin(&state->shared->execution.context, seed);
    return set_parameters(state) ? MDF_OK : mdf_memory_error(&state->shared->memory, error);
}

/* ------------------------------------------------------------------ parameters */

bool mdf_program_has_parameter(const struct mdf_program *program, const char *name)
{
    for (size_t i = 0; i < program->n_nodes; i++) {
        const struct mdf_program_node *node = &program->nodes[i];

        for (size_t j = 0; j < node->parts[MDF_PART_PARAMETER].n; j++) {
            if (mdf_part_is_named(node->id, node->parts[MDF_PART_PARAMETER].items[j].id, name)) {
                return true;
            }
        }
    }
    return false;
}

/* A name that no changeable parameter has: one that was not kept so, or none at all. */
static mdf_status unknown_parameter(const struct mdf_state *state, const char *name, mdf_error *error)
{
    const struct mdf_program *program = state->program;
    struct mdf_parameter_guess guess;
    struct mdf_arena arena;

    if (mdf_program_has_parameter(program, name)) {
        return mdf_error_set(error, MDF_NAME,
                             "the program has no changeable parameter '%s': name it where the model is compiled "
                             "(mdf_compile_changeable, in Python changeable=[...])",
                             name);
    }
    mdf_arena_init(&arena, &state->shared->memory);
    mdf_parameter_guess_begin(&guess, &arena, name);
    for (size_t i = 0; i < program->n_nodes; i++) {
        const struct mdf_program_node *node = &program->nodes[i];

        for (size_t j = 0; j < node->parts[MDF_PART_PARAMETER].n; j++) {
            mdf_parameter_guess_offer(&guess, node->id, node->parts[MDF_PART_PARAMETER].items[j].id);
        }
    }
    mdf_parameter_guess_refuse(&guess, error);
    mdf_arena_release(&arena);
    return MDF_NAME;
}

static bool has_declared_shape(const struct mdf_declaration *declaration, const struct mdf_value *value)
{
    for (size_t i = 0; declaration->has_shape && i < declaration->rank; i++) {
        if (declaration->shape[i] < 0) {
            return true; /* an open axis: nothing is promised */
        }
    }
    return !declaration->has_shape || !declaration->type.exact ||
           (value->kind == MDF_KIND_TENSOR && value->rank == declaration->rank &&
            (value->rank == 0 || memcmp(mdf_value_shape(value), declaration->shape, value->rank * sizeof(int64_t)) == 0));
}

static mdf_status at_parameter(const struct mdf_program_parameter *parameter, mdf_status status, mdf_error *error)
{
    mdf_error_at(error, parameter->origin.file, parameter->origin.line, parameter->origin.column);
    mdf_error_in(error, "%s", parameter->origin.path);
    return status;
}

static bool is_shaped_as(const struct mdf_value *value, const struct mdf_value *other)
{
    return value->kind == other->kind && (value->kind != MDF_KIND_TENSOR || mdf_value_has_shape_of(value, other));
}

static mdf_status set_one(struct mdf_state *state, const struct mdf_program_parameter *parameter, const struct mdf_value *value,
                          mdf_error *error)
{
    struct mdf_context *context = &state->shared->execution.context;
    struct mdf_value *slot = mdf_frame_slot(state->frame, parameter->slot);
    char description[80];

    if (!has_declared_shape(&parameter->declaration, value)) {
        mdf_value_describe(value, description, sizeof description);
        return at_parameter(
            parameter,
            mdf_error_set(error, MDF_SHAPE, "the value (%s) does not have the shape that the parameter declares", description),
            error);
    }
    if (parameter->keeps_shape && !is_shaped_as(value, mdf_frame_value(state->frame, parameter->default_value))) {
        mdf_value_describe(value, description, sizeof description);
        return at_parameter(parameter,
                            mdf_error_set(error, MDF_SHAPE,
                                          "the value (%s) does not have the shape of the model's own, by which derivatives were "
                                          "made: a comprehension goes through it, or through its length",
                                          description),
                            error);
    }
    if (parameter->declaration.type.dtype == MDF_DTYPE_NONE && state->program->real == MDF_DTYPE_FLOAT32 &&
        value->kind == MDF_KIND_TENSOR && value->dtype == MDF_DTYPE_FLOAT64 && value->strength != MDF_STRENGTH_TYPED) {
        return mdf_value_convert(&state->shared->memory, slot, value, MDF_DTYPE_FLOAT32)
                   ? MDF_OK
                   : mdf_memory_error(&state->shared->memory, error);
    }
    memset(&context->error, 0, sizeof context->error);
    if (!mdf_declare_value(context, slot, value, &parameter->declaration.type, false)) {
        if (error != NULL && error->code == MDF_OK) {
            *error = context->error;
        }
        return at_parameter(parameter, context->error.code, error);
    }
    return MDF_OK;
}

mdf_status mdf_state_set_parameter(struct mdf_state *state, const char *name, const struct mdf_value *value, mdf_error *error)
{
    const struct mdf_program *program = state->program;
    mdf_status status = MDF_OK;
    size_t n_found = 0;

    if (state->shared->has_begun) {
        return mdf_error_set(error, MDF_USAGE, "parameter '%s' is set after the first evaluation: reset the state before", name);
    }
    for (size_t i = 0; status == MDF_OK && i < program->n_parameters; i++) {
        const struct mdf_program_parameter *parameter = &program->parameters[i];

        if (mdf_part_is_named(parameter->node, parameter->id, name)) {
            n_found++;
            status = set_one(state, parameter, value, error);
        }
    }
    return n_found > 0 ? status : unknown_parameter(state, name, error);
}

void mdf_parameter_value(struct mdf_memory *memory, struct mdf_value *value, const mdf_tensor *tensor)
{
    bool is_plain = tensor->dtype == MDF_DTYPE_FLOAT64 || tensor->dtype == MDF_DTYPE_INT64 || tensor->dtype == MDF_DTYPE_BOOL;

    mdf_value_borrow_tensor(memory, value, tensor->dtype,
                            !is_plain           ? MDF_STRENGTH_TYPED
                            : tensor->rank == 0 ? MDF_STRENGTH_PYTHON
                                                : MDF_STRENGTH_LITERAL,
                            tensor->rank, tensor->shape, tensor->data);
}
