/* make_source.c - see make_source.h. */
#include "mdf_c/cli/compiling/make_source.h"

#include "mdf_c/base/machine_memory.h"
#include "mdf_c/base/stop.h"
#include "mdf_c/cli/run_inputs.h"

#include <stdio.h>

struct feeding {
    struct run_inputs inputs;
    uint64_t n_steps; /* for which there are inputs; the last ones are given again after them */
    bool zeros_stand_in;
    int exit_status;
};

/* Lets zeros stand for what must be given and is not; a warning names each such input once. */
static void stand_in(const struct feeding *feeding, struct mdf_state *state)
{
    const struct mdf_program *program = state->program;

    for (size_t i = 0; i < mdf_program_n_graph_inputs(program); i++) {
        const char *name = mdf_program_graph_input_name(program, i);
        const struct mdf_named_port *named = mdf_program_ports_named(program, name);
        const struct mdf_program_port *port = named != NULL ? &program->ports[named->port] : NULL;
        mdf_error warning = {0};

        if (port == NULL || !port->is_required || state->ports[named->port].has_input || !mdf_input_has_stand_in(port)) {
            continue;
        }
        mdf_error_set(&warning, MDF_VALUE,
                      "the input '%s' has no value: zeros of its declared type and shape stand in, to find types and shapes by; "
                      "where a shape, or how often a loop runs, hangs on it, give it one: --input %s=VALUE",
                      name, name);
        mdf_error_at(&warning, port->origin.file, port->origin.line, port->origin.column);
        print_warning(feeding->inputs.warnings, &warning);
    }
    state->shared->zeros_stand_in = true;
}

static bool feed(void *context, struct mdf_state *state, uint64_t step, mdf_error *error)
{
    struct feeding *feeding = context;

    feeding->exit_status = set_run_inputs(&feeding->inputs, state, step < feeding->n_steps ? step : feeding->n_steps - 1, error);
    if (feeding->zeros_stand_in && step == 0 && feeding->exit_status == EXIT_DONE) {
        stand_in(feeding, state);
    }
    return feeding->exit_status == EXIT_DONE;
}

/* Without --time-limit: what waits for an input that is not given may wait for ever. */
enum { WARM_UP_S = 10 };

static bool warm_up(const struct run_options *options, struct mdf_state *state, struct feeding *feeding, mdf_error *error)
{
    double limit_s = options->library.time_limit_s > 0 ? options->library.time_limit_s : WARM_UP_S;
    double end_s = mdf_clock_s() + limit_s;

    mdf_state_limit_time(state, limit_s);
    if (mdf_source_warm_up(state, feed, feeding, options->dt, error)) {
        mdf_state_limit_time(state, options->library.time_limit_s);
        return true;
    }
    if (error->code == MDF_LIMIT && mdf_clock_s() >= end_s) {
        snprintf(error->message, sizeof error->message,
                 "the evaluations that show types and shapes have not ended in %g s: give inputs with which they end "
                 "(--input NAME=VALUE, --inputs FILE), or more time (--time-limit SECONDS)",
                 limit_s);
    }
    return false;
}

int with_warm_state(const struct run_options *options, const mdf_program *program, struct warning_printer *warnings,
                    const struct warm_state_user *user, mdf_error *error)
{
    struct feeding feeding = {.zeros_stand_in = user->zeros_stand_in, .exit_status = EXIT_DONE};
    struct mdf_memory memory;
    int exit_status = EXIT_MODEL;
    mdf_state *state;

    mdf_memory_init(&memory, NULL, mdf_memory_bound(options->library.max_memory_bytes));
    exit_status = load_run_inputs(&feeding.inputs, &memory, options, warnings, error);
    if (exit_status != EXIT_DONE) {
        return exit_status;
    }
    feeding.n_steps = feeding.inputs.path != NULL && !feeding.inputs.same_each_step && feeding.inputs.n_steps > 0
                          ? feeding.inputs.n_steps
                          : UINT64_MAX;
    exit_status = EXIT_MODEL;
    state = mdf_state_new(program, error);
    if (state != NULL) {
        mdf_state_limit_time(state, options->library.time_limit_s);
    }
    if (state != NULL && (user->prepare == NULL || user->prepare(user->context, state, error)) &&
        warm_up(options, state, &feeding, error) && user->use(user->context, state, error)) {
        exit_status = EXIT_DONE;
    }
    mdf_state_free(state);
    release_run_inputs(&feeding.inputs);
    return feeding.exit_status != EXIT_DONE ? feeding.exit_status : exit_status;
}

struct writing {
    const struct mdf_source_options *how;
    struct mdf_text *source, *header;
};

static bool write_source(void *context, struct mdf_state *state, mdf_error *error)
{
    const struct writing *writing = context;

    return mdf_source_write(state, writing->how, writing->source, writing->header, error);
}

int make_source(const struct run_options *options, const mdf_program *program, struct warning_printer *warnings,
                const struct mdf_source_options *how, bool zeros_stand_in, struct mdf_text *source, struct mdf_text *header,
                mdf_error *error)
{
    struct writing writing = {how, source, header};
    const struct warm_state_user user = {zeros_stand_in, NULL, write_source, &writing};

    return with_warm_state(options, program, warnings, &user, error);
}
