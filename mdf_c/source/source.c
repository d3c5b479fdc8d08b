/* source.c - see source.h. */
#include "mdf_c/source/source.h"

#include "mdf_c/plan/solve/method.h"
#include "mdf_c/source/program_writer.h"
#include "mdf_c/tensor/rows.h"

#include <math.h>
#include <string.h>

enum { MOST_WARMING_STEPS = 64 };

/* ------------------------------------------------------------------ warming up */

/* Kind, type and shape of a value in one number (not its strength, which code in C does not have). */
static uint64_t form_hash(const struct mdf_value *there)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    struct mdf_value form, *value = &form;

    hash = (hash ^ there->kind) * UINT64_C(1099511628211);
    if (mdf_array_form(there, value)) {
        hash = (hash ^ value->dtype) * UINT64_C(1099511628211);
        for (uint32_t axis = 0; axis < value->rank; axis++) {
            hash = (hash ^ (uint64_t)mdf_value_shape(value)[axis]) * UINT64_C(1099511628211);
        }
        hash = (hash ^ value->length) * UINT64_C(1099511628211);
    }
    return hash;
}

static uint64_t forms_of_frame(const struct mdf_state *state)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < state->program->code->n_slots; i++) {
        hash = hash * 31 + form_hash(mdf_frame_value(state->frame, MDF_OPERAND(MDF_OPERAND_SLOT, i)));
    }
    return hash;
}

/* All values have to be there: what is not is made, and from then on kept. */
static uint64_t all_forms(const struct mdf_state *state)
{
    const struct mdf_state *nested;
    uint64_t hash;

    for (size_t i = 0; i < state->program->n_nodes; i++) {
        if (state->has_run[i]) {
            mdf_state_materialise(state, i, SIZE_MAX);
        }
    }
    hash = forms_of_frame(state);
    for (nested = state->shared->nested; nested != NULL; nested = nested->next) {
        hash = hash * 31 + forms_of_frame(nested);
    }
    return hash;
}

static bool has_run_all(const struct mdf_state *state)
{
    for (size_t i = 0; i < state->program->n_nodes; i++) {
        if (!state->has_run[i]) {
            return false;
        }
    }
    return true;
}

static bool have_all_run(const struct mdf_state *state)
{
    const struct mdf_state *nested;
    bool done = has_run_all(state);

    for (nested = state->shared->nested; done && nested != NULL; nested = nested->next) {
        done = has_run_all(nested);
    }
    return done;
}

bool mdf_source_warm_up(struct mdf_state *state, mdf_source_feed feed, void *context, double dt, mdf_error *error)
{
    uint64_t before = 0;
    bool is_stable = false;
    mdf_error fault = {0};

    for (uint64_t step = 0; step < MOST_WARMING_STEPS && !(is_stable && have_all_run(state)); step++) {
        uint64_t now;

        if ((feed != NULL && !feed(context, state, step, error)) || (mdf_state_evaluate(state,
                                                                                        step == 0   ? (double)NAN
                                                                                        : isnan(dt) ? 0
                                                                                                    : dt,
                                                                                        &fault) != MDF_OK &&
                                                                     step == 0)) {
            if (error != NULL && error->code == MDF_OK) {
                *error = fault;
            }
            return false;
        }
        if (fault.code != MDF_OK && state->shared->stop.is_told) {
            if (error != NULL && error->code == MDF_OK) {
                *error = fault;
            }
            return false;
        }
        if (fault.code != MDF_OK) {
            return true; /* types and shapes are known from the steps before; the caller may not take as many */
        }
        now = all_forms(state);
        is_stable = step > 1 && now == before;
        before = now;
    }
    return true;
}

/* ------------------------------------------------------------------ writing */

/* Names the model, so that its functions have names of their own too. */
static void name_model(struct mdf_source_program *program, const char *hint)
{
    static const char *const suffixes[] = {"size",      "init",         "set_input",   "lend_input", "step",        "steps",
                                           "message",   "output",       "n_inputs",    "n_outputs",  "H",           "PAIR",
                                           "parameter", "n_parameters", "get_states",  "set_states", "derivatives", "n_states",
                                           "seed",      "indicators",   "n_indicators", "n_lanes",    "lanes",
                                           "lanes_size", "lanes_init", "lanes_seed", "lanes_set_input", "lanes_step",
                                           "lanes_steps", "lanes_message", "lanes_output", "lanes_has_output", "lanes_parameter",
                                           "act",       "of_state",     "of_input",    "of_parameter", "clear_direction",
                                           "set_direction", "tangents", "tangent_of_output"};
    enum { N_SUFFIXES = sizeof suffixes / sizeof *suffixes };
    struct mdf_source_writer *writer = &program->writer;
    size_t n_free = 0;

    while (n_free < N_SUFFIXES && writer->error->code == MDF_OK) {
        program->name = mdf_source_name(writer, &writer->globals, hint);
        for (n_free = 0; n_free < N_SUFFIXES; n_free++) {
            if (mdf_source_is_taken(writer, mdf_source_text(writer, "%s_%s", program->name, suffixes[n_free]))) {
                break;
            }
        }
    }
    for (size_t i = 0; i < N_SUFFIXES; i++) {
        mdf_source_take_name(writer, &writer->globals, mdf_source_text(writer, "%s_%s", program->name, suffixes[i]));
    }
}

static void begin(struct mdf_source_program *program, const struct mdf_source_options *options)
{
    static const char *const functions[] = {
        "begin",      "observe",       "count_run",       "open_set",      "end_set",          "run_pass",
        "run_graph",  "run_known_order", "is_over",       "is_steady",       "ends_update",   "ends_sequence",    "take_inputs",
        "table_init", "table_seed",    "table_set_input", "table_step",    "table_lend_input", "table_steps",
        "go_lanes",   "put_lane",      "take_lane",     "bring_outputs", "advance",       "table_message", "table_output",    "table_observe", "table_of_inputs",  "table_of_outputs"};
    static const char *const members[] = {
        "dt",     "has_dt",     "has_run",     "has_value", "is_given",  "message", "observer", "observer_context",
        "counts", "n_have_run", "marks",       "spent",     "last_sets", "n_sets",  "clocks",   "n_idle",
        "tick",   "in_set",     "has_changed", "work",      "lent",      "copies",  "random",   "streams", "failure"};
    struct mdf_source_writer *writer = &program->writer;
    const char *name = options->name != NULL ? options->name : program->graph->program->model_id;

    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        mdf_source_take_name(writer, &writer->globals, functions[i]);
    }
    mdf_source_take_custom_names(writer, program->graph->program->functions);
    mdf_source_take_graph_names(program);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        mdf_source_take_name(writer, &program->members, members[i]);
    }
    for (size_t i = 0; i < program->graph->program->n_ports; i++) {
        mdf_source_take_name(writer, &program->members, mdf_source_text(writer, "input_%zu", i));
    }
    name_model(program, name != NULL && name[0] != '\0' ? name : "model");
}

/* What a library solves, it solves here only. */
static bool has_form(struct mdf_source_program *program, const struct mdf_program *own)
{
    const struct mdf_program_solver *solver = &own->solver;

    return solver->states == NULL ||
           mdf_source_refuse(&program->writer, "%s has no form in C: take dopri5, or a method of fixed steps",
                             mdf_method_names[solver->method]);
}

/* ------------------------------------------------------------------ the right-hand side */

static bool run_range(struct mdf_state *state, struct mdf_range range)
{
    return mdf_frame_run(state->frame, range.first, range.end);
}

/* Its code is run once, so that its types and shapes are known. False: the error is set. *has_tangents: whether there are
 * derivatives. */
static bool warm_right_side(struct mdf_state *state, bool *has_tangents, mdf_error *error)
{
    const struct mdf_program_right_side *side = &state->program->right_side;
    mdf_error *fault = &state->shared->execution.context.error;

    *has_tangents = false;
    if (!run_range(state, side->begin) || !run_range(state, side->evaluate) || !run_range(state, side->condition)) {
        *error = *fault;
        return false;
    }
    *has_tangents = side->differentiate.first < side->differentiate.end && run_range(state, side->direct) &&
                    run_range(state, side->differentiate);
    memset(fault, 0, sizeof *fault);
    return true;
}

/* ------------------------------------------------------------------ the whole */

static bool write_with(struct mdf_state *state, const struct mdf_source_options *options, bool has_tangents,
                       struct mdf_text *source, struct mdf_text *header, mdf_error *error)
{
    struct mdf_source_program program = {.name = "",
                                         .has_derivatives = options->has_derivatives,
                                         .has_indicators = options->has_derivatives || options->has_indicators,
                                         .has_tangents = has_tangents,
                                         .n_lanes = options->n_lanes};
    bool done, draws;

    mdf_source_begin(&program.writer, &state->shared->memory, error);
    program.writer.has_lanes = program.n_lanes > 0;
    program.last_lane_member = &program.lane_members;
    mdf_text_init(&program.arrays, &state->shared->memory);
    mdf_text_init(&program.fields, &state->shared->memory);
    mdf_text_init(&program.copies, &state->shared->memory);
    mdf_text_init(&program.functions, &state->shared->memory);
    mdf_text_init(&program.unions, &state->shared->memory);
    done = has_form(&program, state->program) && mdf_source_find_graphs(&program, state);
    if (done) {
        begin(&program, options);
        done = mdf_source_collect(&program) && (!program.has_derivatives || mdf_source_check_derivatives(&program)) &&
               mdf_source_write_graphs(&program) && (program.n_lanes == 0 || mdf_source_check_lane_calls(&program)) &&
               mdf_source_write_interface(&program, options->header, source, header);
    }
    mdf_source_check(&program.writer, &program.arrays);
    mdf_source_check(&program.writer, &program.fields);
    mdf_source_check(&program.writer, &program.copies);
    mdf_source_check(&program.writer, &program.functions);
    mdf_source_check(&program.writer, &program.unions);
    mdf_source_check(&program.writer, &program.writer.constants);
    done = done && error->code == MDF_OK;
    mdf_source_release_stretches(&program);
    mdf_text_release(&program.arrays);
    mdf_text_release(&program.fields);
    mdf_text_release(&program.copies);
    mdf_text_release(&program.functions);
    mdf_text_release(&program.unions);
    draws = program.writer.draws;
    mdf_source_end(&program.writer);
    if (options->draws != NULL) {
        *options->draws = draws;
    }
    return done;
}

bool mdf_source_write(struct mdf_state *state, const struct mdf_source_options *options, struct mdf_text *source,
                      struct mdf_text *header, mdf_error *error)
{
    size_t length = source->length, header_length = header != NULL ? header->length : 0;
    mdf_error own_error = {0};
    bool has_tangents = false, done;

    if (options->has_derivatives && !warm_right_side(state, &has_tangents, &own_error)) {
        done = false;
    } else {
        done = write_with(state, options, has_tangents, source, header, &own_error);
    }
    if (!done && has_tangents && own_error.code == MDF_UNSUPPORTED) { /* they have no form in C */
        memset(&own_error, 0, sizeof own_error);
        has_tangents = false;
        source->length = length;
        if (header != NULL) {
            header->length = header_length;
        }
        done = write_with(state, options, has_tangents, source, header, &own_error);
    }
    if (options->has_tangents != NULL) {
        *options->has_tangents = has_tangents;
    }
    if (!done && error != NULL && error->code == MDF_OK) {
        *error = own_error;
    }
    return done;
}
