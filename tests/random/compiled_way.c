/* compiled_way.c - a case by C source: written, compiled by $CC, loaded, run, as mdf-run --compile does. */
#include "mdf_c/cli/compiling/compile_library.h"
#include "mdf_c/cli/compiling/compiled_run.h"
#include "mdf_c/run/state.h"
#include "mdf_c/source/source.h"
#include "tests/random/ways.h"

#include <dlfcn.h>
#include <math.h>
#include <unistd.h>

/* The phase that a step belongs to, counted through all phases; the last one goes on for ever. */
static const struct random_phase *phase_of(const struct random_case *what, uint64_t step)
{
    size_t phase = 0;

    while (phase + 1 < what->n_phases && step >= what->phases[phase].n_steps) {
        step -= what->phases[phase].n_steps;
        phase++;
    }
    return &what->phases[phase];
}

static bool feed(void *context, struct mdf_state *state, uint64_t step, mdf_error *error)
{
    return random_set_inputs(phase_of(context, step), (mdf_state *)state, error) == MDF_OK;
}

static bool write_source(struct ways *ways, struct mdf_text *source, mdf_error *error)
{
    const struct mdf_source_options how = {.name = "model"};
    mdf_state *state = mdf_state_new(ways->program, error);
    bool done = state != NULL && mdf_source_warm_up(state, feed, (void *)(uintptr_t)ways->what, ways->what->dt, error) &&
                mdf_source_write(state, &how, source, NULL, error);

    mdf_state_free(state);
    return done;
}

static bool open_library(struct ways *ways, struct compiled_run *run, mdf_error *error)
{
    struct mdf_text source;
    char path[512];

    snprintf(path, sizeof path, "%s/compiled.so", ways->folder);
    mdf_text_init(&source, ways->memory);
    run->memory = ways->memory;
    if (write_source(ways, &source, error) && compile_library(ways->memory, &source, path, LIBRARY_OWN, error) == MDF_OK) {
        run->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        run->model = run->library != NULL ? dlsym(run->library, "mdf_compiled") : NULL;
        unlink(path);
    }
    mdf_text_release(&source);
    return run->model != NULL;
}

static void run_steps(struct ways *ways, struct compiled_run *run, mdf_state *state, struct trace *trace)
{
    size_t phase, step;

    for (phase = 0; phase < ways->what->n_phases; phase++) {
        for (step = 0; step < ways->what->phases[phase].n_steps; step++) {
            mdf_error error = {0};

            if (random_set_inputs(&ways->what->phases[phase], state, &error) != MDF_OK ||
                evaluate_compiled(run, state, phase == 0 && step == 0 ? (double)NAN : ways->what->dt, &error) != MDF_OK ||
                show_compiled_values(run, state, &error) != MDF_OK) {
                trace_error(trace, &error, phase, step);
                return;
            }
            trace_state(trace, ways->program, state, phase, step);
        }
    }
}

bool random_run_compiled(struct ways *ways, struct trace *trace)
{
    struct compiled_run run = {0};
    mdf_error error = {0};
    mdf_state *state = NULL;
    bool done = ways->program != NULL && open_library(ways, &run, &error);

    if (done) {
        state = mdf_state_new(ways->program, &error);
        done = state != NULL && begin_compiled(&run, true, ways->program->seed);
    }
    if (done) {
        run_steps(ways, &run, state, trace);
    } else if (ways->program != NULL && error.code == MDF_FILE) { /* source was written that does not compile */
        trace_error(trace, &error, 0, 0);
        done = true;
    }
    mdf_state_free(state);
    close_compiled(&run);
    return done;
}
