/* ways.c - see ways.h. */
#include "tests/random/ways.h"

#include "mdf_c/base/error.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

mdf_options random_options(const struct random_case *what)
{
    return (mdf_options){.method = (mdf_method)what->method, .max_iterations = 2000, .max_passes = 500, .max_memory_bytes = (size_t)1 << 28, .n_threads = 1};
}

/* ------------------------------------------------------------------ one state, step by step */

mdf_status random_set_inputs(const struct random_phase *phase, mdf_state *state, mdf_error *error)
{
    mdf_status status = MDF_OK;
    size_t i;

    for (i = 0; i < phase->n_inputs && status == MDF_OK; i++) {
        status = mdf_set_input_json(state, phase->inputs[i].name, phase->inputs[i].json, error);
    }
    return status;
}

/* Evaluations of one phase; false where one fails. */
static bool run_phase(struct ways *ways, const mdf_program *program, mdf_state *state, size_t phase, bool is_first,
                      struct trace *trace)
{
    const struct random_phase *what = &ways->what->phases[phase];
    mdf_error error = {0};
    size_t step;

    for (step = 0; step < what->n_steps; step++) {
        if (random_set_inputs(what, state, &error) != MDF_OK ||
            mdf_evaluate(state, is_first && step == 0 ? (double)NAN : ways->what->dt, &error) != MDF_OK) {
            trace_error(trace, &error, phase, step);
            return false;
        }
        trace_state(trace, program, state, phase, step);
    }
    return true;
}

static void run_state(struct ways *ways, const mdf_program *program, mdf_state *state, struct trace *trace)
{
    size_t phase;

    for (phase = 0; phase < ways->what->n_phases; phase++) {
        if (!run_phase(ways, program, state, phase, phase == 0, trace)) {
            return;
        }
    }
}

/* What a pass made and the verifier refused (mdf_c/lowered/verify.h) costs only time, and so would not be seen. */
void random_check_sound(const mdf_state *state, struct trace *trace)
{
    static const mdf_error unsound = {.code = MDF_LIMIT, .message = "a lowered form that does not hold: see mdf-run --explain"};
    size_t size = mdf_explain(state, NULL, 0) + 1;
    char *text = malloc(size);

    if (text != NULL && mdf_explain(state, text, size) < size && strstr(text, "a mistake in the engine") != NULL) {
        trace_error(trace, &unsound, 0, 0);
    }
    free(text);
}

static void run_program(struct ways *ways, const mdf_program *program, const mdf_error *why_none, struct trace *trace)
{
    mdf_error error = {0};
    mdf_state *state = program != NULL ? mdf_state_new(program, &error) : NULL;

    if (state == NULL) {
        trace_error(trace, program != NULL ? &error : why_none, 0, 0);
        return;
    }
    run_state(ways, program, state, trace);
    random_check_sound(state, trace);
    mdf_state_free(state);
}

static void run_model(struct ways *ways, const mdf_model *model, const mdf_options *options, struct trace *trace)
{
    mdf_error error = ways->error;
    mdf_program *program = model != NULL ? mdf_compile(model, options, &error) : NULL;

    run_program(ways, program, &error, trace);
    mdf_program_free(program);
}

static bool run_plain(struct ways *ways, struct trace *trace)
{
    mdf_options options = random_options(ways->what);

    options.plain = true;
    run_model(ways, ways->model, &options, trace);
    return true;
}

static bool run_default(struct ways *ways, struct trace *trace)
{
    run_program(ways, ways->program, &ways->error, trace);
    return true;
}

/* ------------------------------------------------------------------ many steps in one go */

static bool run_steps(struct ways *ways, struct trace *trace)
{
    mdf_error error = ways->error;
    mdf_state *state = ways->program != NULL ? mdf_state_new(ways->program, &error) : NULL;
    size_t phase;

    if (state == NULL) {
        trace_error(trace, &error, 0, 0);
        return true;
    }
    for (phase = 0; phase < ways->what->n_phases; phase++) {
        const struct random_phase *what = &ways->what->phases[phase];
        uint64_t n_done = 0, n_recorded = 0;

        if (random_set_inputs(what, state, &error) != MDF_OK ||
            mdf_evaluate_steps(state, what->n_steps, phase == 0 ? (double)NAN : ways->what->dt, ways->what->dt, 0, NULL, 0,
                               &n_done, &n_recorded, &error) != MDF_OK) {
            trace_error(trace, &error, phase, n_done);
            break;
        }
        trace_state(trace, ways->program, state, phase, what->n_steps - 1);
    }
    mdf_state_free(state);
    return true;
}

/* ------------------------------------------------------------------ two threads */

struct thread {
    struct ways *ways;
    const mdf_program *program;
    const mdf_error *error;
    struct trace *trace;
};

static void *run_thread(void *context)
{
    struct thread *thread = context;

    run_program(thread->ways, thread->program, thread->error, thread->trace);
    return NULL;
}

/* What another state gave: its trace is looked at where it differs. Which of them is wrong is seen by holding both against the
 * reference. */
static void compare_traces(struct trace *trace, struct trace *other, const char *what)
{
    if (other->text.length != trace->text.length || memcmp(other->text.bytes, trace->text.bytes, trace->text.length) != 0) {
        struct trace own = *trace;
        mdf_error error = {.code = MDF_USAGE};

        snprintf(error.message, sizeof error.message, "%s", what);
        *trace = *other;
        *other = own;
        trace_error(trace, &error, 0, 0);
    }
    trace_release(other);
}

/* Two states of one program at once, whose kernels may use two threads each. The trace of one is looked at, that of the other
 * where they differ. */
static bool run_threads(struct ways *ways, struct trace *trace)
{
    mdf_options options = random_options(ways->what);
    mdf_error error = ways->error;
    static struct mdf_memory memory; /* a trace that is looked at instead of another outlives the function */
    struct trace other;
    mdf_program *program;
    pthread_t thread;
    struct thread work;

    options.n_threads = 2;
    mdf_memory_init(&memory, NULL, 0);
    trace_init(&other, &memory);
    other.is_wrong = trace->is_wrong;
    program = ways->model != NULL ? mdf_compile(ways->model, &options, &error) : NULL;
    work = (struct thread){ways, program, &error, &other};
    if (pthread_create(&thread, NULL, run_thread, &work) == 0) {
        run_program(ways, program, &error, trace);
        pthread_join(thread, NULL);
        compare_traces(trace, &other, "two states of one program differ");
    } else {
        trace_release(&other);
    }
    mdf_program_free(program);
    return true;
}

/* ------------------------------------------------------------------ as another file */

static bool run_converted(struct ways *ways, const char *suffix, struct trace *trace)
{
    mdf_options options = random_options(ways->what);
    mdf_error error = {0};
    mdf_model *model = NULL;
    char path[512];

    if (ways->model == NULL) {
        return false;
    }
    snprintf(path, sizeof path, "%s/converted.%s", ways->folder, suffix);
    if (mdf_model_save_file(ways->model, path, &error) == MDF_OK) {
        model = mdf_model_load_file_as(path, NULL, &options, &error);
    }
    if (model == NULL) {
        trace_error(trace, &error, 0, 0);
    } else {
        run_model(ways, model, &options, trace);
    }
    mdf_model_free(model);
    return true;
}

static bool run_json(struct ways *ways, struct trace *trace)
{
    return run_converted(ways, "json", trace);
}

static bool run_yaml(struct ways *ways, struct trace *trace)
{
    return run_converted(ways, "yaml", trace);
}

static bool run_bson(struct ways *ways, struct trace *trace)
{
    return run_converted(ways, "bson", trace);
}

/* ------------------------------------------------------------------ one state again and again */

typedef void (*use_state)(struct ways *ways, mdf_state *state);

/* How a state that was used becomes as new. */
enum renewal { NOT_RENEWED, RESET, FREED };

static mdf_state *renew(const struct ways *ways, mdf_state *state, enum renewal renewal, mdf_error *error)
{
    if (state == NULL || renewal == NOT_RENEWED) {
        return state;
    }
    if (renewal == RESET && mdf_state_reset(state, 0, error) == MDF_OK) {
        return state;
    }
    mdf_state_free(state);
    return renewal == FREED ? mdf_state_new(ways->program, error) : NULL;
}

/* A state that `use` has done something with. */
static bool run_used(struct ways *ways, use_state use, enum renewal renewal, struct trace *trace)
{
    mdf_error error = {0};
    mdf_state *state;

    if (ways->program == NULL) {
        return false;
    }
    state = mdf_state_new(ways->program, &error);
    if (state != NULL) {
        use(ways, state);
    }
    state = renew(ways, state, renewal, &error);
    if (state == NULL) {
        trace_error(trace, &error, 0, 0);
    } else {
        run_state(ways, ways->program, state, trace);
    }
    mdf_state_free(state);
    return true;
}

static void use_all(struct ways *ways, mdf_state *state)
{
    size_t phase, step;

    for (phase = 0; phase < ways->what->n_phases; phase++) {
        for (step = 0; step < ways->what->phases[phase].n_steps; step++) {
            mdf_error error = {0};

            if (random_set_inputs(&ways->what->phases[phase], state, &error) == MDF_OK) {
                mdf_evaluate(state, ways->what->dt, &error);
            }
        }
    }
}

static void use_a_hundred_times(struct ways *ways, mdf_state *state)
{
    uint64_t n_done, n_recorded;
    mdf_error error = {0};

    if (ways->what->n_phases > 0 && random_set_inputs(&ways->what->phases[0], state, &error) == MDF_OK) {
        mdf_evaluate_steps(state, 99, ways->what->dt, ways->what->dt, 1, NULL, 0, &n_done, &n_recorded, &error);
    }
}

static void use_interrupted(struct ways *ways, mdf_state *state)
{
    int i;

    for (i = 0; i < 6; i++) {
        mdf_error error = {0};

        if (i % 2 == 1) {
            mdf_state_interrupt(state);
        }
        if (ways->what->n_phases > 0 && random_set_inputs(&ways->what->phases[0], state, &error) == MDF_OK) {
            mdf_evaluate(state, ways->what->dt, &error);
        }
        mdf_state_forget_interrupt(state);
    }
}

/* Inputs of other shapes and types, most of which end in an error. */
static void use_with_others(struct ways *ways, mdf_state *state)
{
    static const char *const others[] = {"[0.5, 1.5, -2.5]",
                                         "[[1, 2], [3, 4]]",
                                         "7",
                                         "[]",
                                         "\"text\"",
                                         "{\"type\": \"float32\", \"shape\": [2], \"data\": [1, 2]}"};
    size_t n_inputs = mdf_program_n_graph_inputs(ways->program), i, j;

    for (i = 0; i < sizeof others / sizeof *others; i++) {
        mdf_error error = {0};

        for (j = 0; j < n_inputs; j++) {
            mdf_error ignored = {0};

            mdf_set_input_json(state, mdf_program_graph_input_name(ways->program, j), others[i], &ignored);
        }
        mdf_evaluate(state, ways->what->dt, &error);
    }
}

static bool run_reset(struct ways *ways, struct trace *trace)
{
    return run_used(ways, use_all, RESET, trace);
}

static bool run_reset_after_interrupt(struct ways *ways, struct trace *trace)
{
    return run_used(ways, use_interrupted, RESET, trace);
}

static bool run_reset_after_others(struct ways *ways, struct trace *trace)
{
    return run_used(ways, use_with_others, RESET, trace);
}

static bool run_freed(struct ways *ways, struct trace *trace)
{
    return run_used(ways, use_all, FREED, trace);
}

static bool run_freed_after_interrupt(struct ways *ways, struct trace *trace)
{
    return run_used(ways, use_interrupted, FREED, trace);
}

static bool run_again(struct ways *ways, struct trace *trace)
{
    return run_used(ways, use_all, NOT_RENEWED, trace);
}

static bool run_hundredth(struct ways *ways, struct trace *trace)
{
    return run_used(ways, use_a_hundred_times, NOT_RENEWED, trace);
}

static bool run_after_interrupt(struct ways *ways, struct trace *trace)
{
    return run_used(ways, use_interrupted, NOT_RENEWED, trace);
}

static bool run_after_others(struct ways *ways, struct trace *trace)
{
    return run_used(ways, use_with_others, NOT_RENEWED, trace);
}

/* Each phase by a state of its own, up to the first error. */
static bool run_fresh(struct ways *ways, struct trace *trace)
{
    bool goes_on = ways->program != NULL;
    size_t phase;

    for (phase = 0; phase < ways->what->n_phases && goes_on; phase++) {
        mdf_error error = {0};
        mdf_state *state = mdf_state_new(ways->program, &error);

        if (state == NULL) {
            trace_error(trace, &error, phase, 0);
        }
        goes_on = state != NULL && run_phase(ways, ways->program, state, phase, true, trace);
        mdf_state_free(state);
    }
    return ways->program != NULL;
}

/* ------------------------------------------------------------------ states that go on from each other */

struct copies {
    struct ways *ways;
    mdf_state *states[2];
    struct trace *traces[2];
};

/* Copies one of the states to the other, with its inputs, or lets each go on by itself; then evaluates both. */
static bool step_copies(struct copies *copies, size_t n, size_t phase, size_t step)
{
    enum { FORTH = 0, APART = 1, BACK = 2, TURNS = 4 };
    const struct random_phase *what = &copies->ways->what->phases[phase];
    double dt = phase == 0 && step == 0 ? (double)NAN : copies->ways->what->dt;
    size_t from = n % TURNS == BACK ? 1 : 0, i;
    bool is_copied = n % TURNS != APART, goes_on = true;
    mdf_error errors[2] = {{0}};

    for (i = 0; i < 2; i++) {
        if (i == from || !is_copied) {
            random_set_inputs(what, copies->states[i], &errors[i]);
        }
    }
    if (is_copied) {
        errors[1 - from] = errors[from];
        mdf_state_copy(copies->states[1 - from], copies->states[from], &errors[1 - from]);
    }
    for (i = 0; i < 2; i++) {
        if (errors[i].code != MDF_OK || mdf_evaluate(copies->states[i], dt, &errors[i]) != MDF_OK) {
            trace_error(copies->traces[i], &errors[i], phase, step);
            goes_on = false;
        } else {
            trace_state(copies->traces[i], copies->ways->program, copies->states[i], phase, step);
        }
    }
    return goes_on;
}

static void run_copies(struct copies *copies)
{
    size_t n = 0, phase, step;

    for (phase = 0; phase < copies->ways->what->n_phases; phase++) {
        for (step = 0; step < copies->ways->what->phases[phase].n_steps; step++) {
            if (!step_copies(copies, n++, phase, step)) {
                return;
            }
        }
    }
}

bool random_is_solved_by_library(const struct random_case *what)
{
    return what->method == MDF_METHOD_CVODE_ADAMS || what->method == MDF_METHOD_CVODE_BDF;
}

/* Two states, one of which has been used, that take turns in going on from where the other is. */
static bool run_copied(struct ways *ways, struct trace *trace)
{
    struct copies copies = {.ways = ways};
    static struct mdf_memory memory; /* a trace that is looked at instead of another outlives the function */
    struct trace other;
    mdf_error error = {0};

    if (ways->program == NULL || random_is_solved_by_library(ways->what)) {
        return false;
    }
    mdf_memory_init(&memory, NULL, 0);
    trace_init(&other, &memory);
    other.is_wrong = trace->is_wrong;
    copies.states[0] = mdf_state_new(ways->program, &error);
    copies.states[1] = copies.states[0] != NULL ? mdf_state_new(ways->program, &error) : NULL;
    copies.traces[0] = trace;
    copies.traces[1] = &other;
    if (copies.states[1] == NULL) {
        trace_error(trace, &error, 0, 0);
        trace_release(&other);
    } else {
        use_all(ways, copies.states[1]);
        run_copies(&copies);
        random_check_sound(copies.states[1], &other);
        compare_traces(trace, &other, "two states that go on from each other differ");
    }
    mdf_state_free(copies.states[0]);
    mdf_state_free(copies.states[1]);
    return true;
}

/* ------------------------------------------------------------------ all of them */

const struct random_way random_ways[] = {
    {"plain", 0, run_plain},
    {"default", 0, run_default},
    {"steps", WAY_OF_LAST_STEPS, run_steps},
    {"threads", 0, run_threads},
    {"json", 0, run_json},
    {"yaml", 0, run_yaml},
    {"bson", 0, run_bson},
    {"reset", 0, run_reset},
    {"reset_after_interrupt", 0, run_reset_after_interrupt},
    {"reset_after_others", 0, run_reset_after_others},
    {"freed", 0, run_freed},
    {"freed_after_interrupt", 0, run_freed_after_interrupt},
    {"copied", 0, run_copied},
    {"again", WAY_KEEPS_NOTHING, run_again},
    {"hundredth", WAY_KEEPS_NOTHING, run_hundredth},
    {"after_interrupt", WAY_KEEPS_NOTHING, run_after_interrupt},
    {"after_others", WAY_KEEPS_NOTHING, run_after_others},
    {"fresh", WAY_KEEPS_NOTHING, run_fresh},
    {"sweep", WAY_HAS_REFERENCE, random_run_sweep},
    {"series", WAY_HAS_REFERENCE, random_run_series},
    {"mixed", WAY_HAS_REFERENCE, random_run_mixed},
    {"compiled", WAY_IS_COMPILED, random_run_compiled},
    {NULL, 0, NULL},
};
