/* mdf_run.c - the program mdf-run: loads a model, compiles it, evaluates it, tells what it computed. See docs/man/mdf-run.1.
 *
 * Nothing goes to standard output, and no output file appears, before all has gone well; but for a picture of the graph, which is
 * there as soon as the model is loaded. */
#include "mdf_c/base/machine_memory.h"
#include "mdf_c/base/stop.h"
#include "mdf_c/cli/compiling/compiled_run.h"
#include "mdf_c/cli/given_parameters.h"
#include "mdf_c/cli/load_model.h"
#include "mdf_c/cli/reports/messages.h"
#include "mdf_c/cli/options.h"
#include "mdf_c/cli/reports/pictures.h"
#include "mdf_c/cli/plugins.h"
#include "mdf_c/cli/reports/profile_file.h"
#include "mdf_c/cli/reports/progress_bar.h"
#include "mdf_c/cli/programs.h"
#include "mdf_c/cli/run_gradient.h"
#include "mdf_c/cli/run_inputs.h"
#include "mdf_c/cli/reports/run_report.h"
#include "mdf_c/cli/reports/stats.h"
#include "mdf_c/cli/sweep/run_sweep.h"
#include "mdf_c/cli/time_limit.h"
#include "mdf_c/cli/watch.h"
#include "mdf_c/plan/print_program.h"
#include "mdf_c/run/given_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

/* One call of the program. */
struct run {
    struct run_options options;
    struct mdf_memory memory; /* of what the program itself holds */
    struct warning_printer warnings;
    mdf_error error;
    mdf_model *model;
    mdf_program *program;
    struct given_parameters parameters; /* of --set */
    struct run_inputs inputs;
    struct run_report report;
    struct run_gradients gradients;
    struct watch watch;
    struct progress_bar bar;
    struct compiled_run compiled;
    double start_s; /* by mdf_clock_s */
    double load_s, compile_s;
    double *evaluate_s; /* of each repeat */
    size_t peak_bytes;
};

/* ------------------------------------------------------------------ load and compile */

static int load(struct run *run)
{
    double start_s = mdf_clock_s();
    int exit_status = load_model(&run->options, &run->model, &run->error);

    run->warnings.model = run->model;
    run->warnings.given = &run->parameters;
    run->load_s = mdf_clock_s() - start_s;
    return exit_status == EXIT_DONE ? check_graph(&run->options, run->model, &run->error) : exit_status;
}

/* The picture is one of the model as it was loaded: there is one of a model that does not compile too. */
static int draw(struct run *run)
{
    return run->options.graph_image_path != NULL ? write_graph_image(&run->memory, &run->options, run->model, &run->error)
                                                 : EXIT_DONE;
}

static int compile(struct run *run)
{
    double start_s = mdf_clock_s();
    int exit_status = read_given_parameters(&run->memory, &run->options, &run->parameters, &run->error);
    mdf_options options = run->options.library;

    if (exit_status != EXIT_DONE) {
        return exit_status;
    }
    options.time_limit_s = time_left(options.time_limit_s, run->start_s);
    run->program = run->options.check ? mdf_program_look_over(run->model, &options, &run->error)
                                      : mdf_compile(run->model, &options, &run->error);
    run->compile_s = mdf_clock_s() - start_s;
    return run->program != NULL ? EXIT_DONE : compile_status(&run->error);
}

/* ------------------------------------------------------------------ evaluate */

static mdf_status evaluate_once(struct run *run, mdf_state *state, double dt)
{
    return run->options.compile ? evaluate_compiled(&run->compiled, state, dt, &run->error)
                                : mdf_evaluate(state, dt, &run->error);
}

static mdf_status evaluate_unseen_steps(struct run *run, mdf_state *state, uint64_t n, uint64_t *n_done)
{
    static const double budget_s = 0.1; /* so that progress is seen */
    double dt = run->options.dt;
    uint64_t n_recorded;

    return run->options.compile ? evaluate_compiled_steps(&run->compiled, n, dt, n_done, &run->error)
                                : mdf_evaluate_steps(state, n, dt, dt, budget_s, NULL, 0, n_done, &n_recorded, &run->error);
}

/* An error comes when the step is run by itself. */
static bool give_step(void *context, mdf_state *state, uint64_t step)
{
    struct run *run = context;
    mdf_error error = {0};

    return set_run_inputs(&run->inputs, state, step, &error) == EXIT_DONE;
}

/* Steps between the first and the last, where nobody looks at them: many at once. */
static int skip_unseen_steps(struct run *run, mdf_state *state, bool is_last, uint64_t *step)
{
    enum { MOST_AT_ONCE = 1 << 16 };
    const struct run_options *options = &run->options;
    uint64_t n = options->n_steps - *step - 1, n_done;
    mdf_status status;

    if (*step == 0 || n == 0 || (is_last && (records_every_step(options) || options->schedule || options->watch != NULL))) {
        return EXIT_DONE;
    }
    n = n < MOST_AT_ONCE ? n : MOST_AT_ONCE;
    if (run->inputs.single.length > 0 || run->inputs.path != NULL) {
        if (!options->compile) {
            *step += mdf_state_skip_given(state, &(struct mdf_given_steps){options->dt, *step, *step + n + 1, give_step, run});
        }
        return EXIT_DONE;
    }
    status = evaluate_unseen_steps(run, state, n, &n_done);
    *step += n_done;
    return status == MDF_OK ? EXIT_DONE : EXIT_MODEL;
}

/* All steps on a fresh state; recorded where this is the last repeat. The time spent on recording is not counted. */
static int evaluate_steps(struct run *run, mdf_state *state, uint64_t repeat)
{
    const struct run_options *options = &run->options;
    bool is_last = repeat + 1 == options->n_repeats;
    double start_s = mdf_clock_s(), recording_s = 0, recording_start_s;
    int exit_status = EXIT_DONE;
    uint64_t step;

    for (step = 0; step < options->n_steps && exit_status == EXIT_DONE; step++) {
        exit_status = skip_unseen_steps(run, state, is_last, &step);
        if (exit_status == EXIT_DONE) {
            exit_status = set_run_inputs(&run->inputs, state, step, &run->error);
        }
        if (exit_status == EXIT_DONE && evaluate_once(run, state, step == 0 ? NAN : options->dt) != MDF_OK) {
            exit_status = EXIT_MODEL;
        }
        if (exit_status == EXIT_DONE && is_last &&
            (records_every_step(options) || options->schedule || step + 1 == options->n_steps)) {
            recording_start_s = mdf_clock_s();
            if (options->compile && show_compiled_values(&run->compiled, state, &run->error) != MDF_OK) {
                exit_status = EXIT_MODEL;
                break;
            }
            exit_status = record_step(&run->report, state, step, &run->error);
            recording_s += mdf_clock_s() - recording_start_s;
        }
        if (exit_status == EXIT_DONE && is_last && tell_changes(&run->watch, state, step, options->dt, &run->error) != MDF_OK) {
            exit_status = EXIT_MODEL;
        }
        show_progress(&run->bar, (double)repeat * (double)options->n_steps + (double)step + 1);
    }
    run->evaluate_s[repeat] = mdf_clock_s() - start_s - recording_s;
    if (exit_status == EXIT_MODEL) {
        advise_of_arrays(&run->inputs, &run->error);
    }
    if (exit_status == EXIT_MODEL && options->n_steps > 1) {
        mdf_error_append(&run->error, " (step %" PRIu64 ")", step);
    }
    return exit_status;
}

/* The plot before the values: nothing goes to standard output unless all has gone well. */
static int write_results(struct run *run, mdf_state *state)
{
    int exit_status = EXIT_DONE;

    if (run->options.plot_path != NULL) {
        exit_status = write_plot(&run->memory, &run->report, run->model, &run->error);
    }
    if (exit_status == EXIT_DONE && run->options.gradient != NULL) {
        exit_status = compute_gradients(&run->gradients, &run->memory, &run->options, run->model, &run->inputs, state,
                                        run->program, &run->error);
        run->report.gradients = run->gradients.items;
        run->report.n_gradients = run->gradients.n_results * run->gradients.n_parameters;
    }
    if (exit_status == EXIT_DONE) {
        exit_status = add_source(&run->report, &run->warnings, &run->error);
    }
    if (exit_status == EXIT_DONE && run->options.profile.is_given) {
        exit_status = write_profile(&run->memory, state, run->options.profile.text, &run->error);
    }
    return exit_status == EXIT_DONE ? write_run_report(&run->report, state, &run->error) : exit_status;
}

/* What the options ask to be kept of what evaluations do. */
static unsigned what_to_inspect(const struct run_options *options)
{
    return (options->trace_bodies ? MDF_INSPECT_BODIES : 0) | (options->profile.is_given ? MDF_INSPECT_PROFILE : 0);
}

/* All steps in what is left of the time. */
static int evaluate_in_time(struct run *run, mdf_state *state, uint64_t repeat)
{
    double left_s = time_left(run->options.library.time_limit_s, run->start_s);
    struct time_guard *guard = run->options.compile ? guard_time(left_s, run->options.model_path, &run->error) : NULL;
    int exit_status = EXIT_MODEL;

    mdf_state_limit_time(state, left_s);
    if (run->error.code == MDF_OK) {
        exit_status = evaluate_steps(run, state, repeat);
    }
    release_time(guard);
    return exit_status;
}

static int evaluate(struct run *run)
{
    const struct run_options *options = &run->options;
    int exit_status = EXIT_DONE;
    mdf_state *state;

    for (uint64_t repeat = 0; repeat < options->n_repeats && exit_status == EXIT_DONE; repeat++) {
        state = mdf_state_new(run->program, &run->error);
        if (state == NULL) {
            return EXIT_MODEL;
        }
        if (repeat + 1 == options->n_repeats && mdf_state_inspect(state, what_to_inspect(options), &run->error) != MDF_OK) {
            exit_status = EXIT_MODEL;
        } else if (options->compile &&
                   !begin_compiled(&run->compiled, options->trace || options->schedule, options->library.seed)) {
            mdf_memory_error(&run->memory, &run->error);
            exit_status = EXIT_MODEL;
        } else {
            exit_status = evaluate_in_time(run, state, repeat);
        }
        run->peak_bytes = mdf_state_peak_bytes(state) > run->peak_bytes ? mdf_state_peak_bytes(state) : run->peak_bytes;
        if (exit_status == EXIT_DONE && repeat + 1 == options->n_repeats) {
            end_progress(&run->bar);
            exit_status = write_results(run, state);
        }
        mdf_state_free(state);
    }
    end_progress(&run->bar);
    return exit_status;
}

static void print_times(const struct run *run)
{
    fprintf(stderr, "{\"load_s\": %.9f, \"compile_s\": %.9f, \"evaluate_s\": [", run->load_s, run->compile_s);
    for (uint64_t i = 0; i < run->options.n_repeats && run->evaluate_s != NULL; i++) {
        fprintf(stderr, "%s%.9f", i > 0 ? ", " : "", run->evaluate_s[i]);
    }
    fprintf(stderr, "], \"peak_bytes\": %zu}\n", run->peak_bytes);
}

static int load_inputs(struct run *run)
{
    const struct run_options *options = &run->options;
    int exit_status = load_run_inputs(&run->inputs, &run->memory, options, &run->warnings, &run->error);

    if (exit_status != EXIT_DONE) {
        return exit_status;
    }
    if (!check_run_inputs(&run->inputs, run->program, NULL, 0, options->n_steps, options->dt)) {
        mdf_memory_error(&run->memory, &run->error);
    }
    if (run->error.code != MDF_OK || (options->strict && run->warnings.n_warnings > 0)) {
        release_run_inputs(&run->inputs);
        return EXIT_MODEL;
    }
    return EXIT_DONE;
}

/* Of --dump what needs no evaluation. */
static int dump_program(struct run *run)
{
    int exit_status = EXIT_DONE;
    struct mdf_text text;

    mdf_text_init(&text, &run->memory);
    if (run->options.dump == DUMP_CODE ? !mdf_program_print_code(&text, run->program)
                                       : run->options.dump == DUMP_SCHEDULE && !mdf_program_print_schedule(&text, run->program)) {
        mdf_memory_error(&run->memory, &run->error);
        exit_status = EXIT_MODEL;
    } else if (text.length > 0 && print_output(text.bytes, text.length, &run->error) != MDF_OK) {
        exit_status = EXIT_MODEL;
    }
    mdf_text_release(&text);
    return exit_status;
}

/* Nothing is evaluated. */
static int check(struct run *run)
{
    int exit_status = load_inputs(run);

    if (exit_status == EXIT_DONE) {
        release_run_inputs(&run->inputs);
        exit_status = dump_program(run);
    }
    return exit_status;
}

/* Inputs, evaluation, output. */
static int perform(struct run *run)
{
    const struct run_options *options = &run->options;
    int exit_status;

    run->evaluate_s = mdf_memory_allocate_zeroed(&run->memory, (size_t)options->n_repeats, sizeof *run->evaluate_s);
    if (run->evaluate_s == NULL) {
        mdf_memory_error(&run->memory, &run->error);
        return EXIT_MODEL;
    }
    exit_status = load_inputs(run);
    if (exit_status != EXIT_DONE) {
        return exit_status;
    }
    if (options->compile) {
        double start_s = mdf_clock_s();

        exit_status = open_compiled(&run->compiled, &run->memory, options, run->program, &run->warnings, &run->error);
        run->compile_s += mdf_clock_s() - start_s;
    }
    if (exit_status != EXIT_DONE) {
        release_run_inputs(&run->inputs);
        return exit_status;
    }
    exit_status = init_run_report(&run->report, &run->memory, options, run->program, &run->error);
    if (exit_status == EXIT_DONE) {
        exit_status = begin_watching(&run->watch, &run->memory, run->program, options->watch, &run->error);
    }
    if (exit_status == EXIT_DONE) {
        start_progress(&run->bar, options->progress, (double)options->n_steps * (double)options->n_repeats);
        exit_status = evaluate(run);
    }
    end_watching(&run->watch);
    release_run_report(&run->report);
    release_gradients(&run->gradients);
    release_run_inputs(&run->inputs);
    return exit_status;
}

static int run_all(struct run *run)
{
    int exit_status = check_picture_programs(&run->options, &run->error);

    if (exit_status == EXIT_DONE) {
        exit_status = load_plugins(&run->options, &run->error);
    }
    if (exit_status == EXIT_DONE) {
        exit_status = load(run);
    }
    if (exit_status == EXIT_DONE) {
        exit_status = draw(run);
    }
    if (exit_status == EXIT_DONE) {
        exit_status = compile(run);
    }
    if (exit_status == EXIT_DONE && run->options.strict && run->warnings.n_warnings > 0) {
        return EXIT_MODEL;
    }
    if (exit_status == EXIT_DONE && run->options.sweep_path != NULL) {
        return run_sweep(&run->memory, &run->options, run->model, run->program, &run->error);
    }
    if (exit_status == EXIT_DONE && run->options.stats.is_given) {
        bool as_json = run->options.stats.text != NULL && strcmp(run->options.stats.text, "json") == 0;

        return print_stats(&run->memory, run->model, run->program, as_json, &run->error);
    }
    if (exit_status == EXIT_DONE) {
        exit_status = run->options.check ? check(run) : perform(run);
    }
    if (exit_status == EXIT_DONE && run->options.time) {
        print_times(run);
    }
    return exit_status;
}

/* Each evaluation is from a fresh state, whose arrays would come from the system page by page if what the last one had went back
 * to it: three times the time of a short Scan. */
static void keep_freed_memory(void)
{
#ifdef __GLIBC__
    enum { KEPT_BYTES = 1 << 28 };

    mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
#endif
}

int run_program(int argc, char **argv)
{
    struct run run = {0};
    int exit_status;

    if (parse_run_options(argc, argv, &run.options, &exit_status)) {
        if (run.options.n_repeats > 1) {
            keep_freed_memory();
        }
        run.start_s = mdf_clock_s();
        mdf_memory_init(&run.memory, NULL, mdf_memory_bound(run.options.library.max_memory_bytes));
        run.warnings.strict = run.options.strict;
        exit_status = start_messages(&run.warnings, &run.options.library, &run.error) ? run_all(&run) : EXIT_MODEL;
        if (run.error.code != MDF_OK) {
            print_errors(&run.warnings, &run.error, exit_status == EXIT_MODEL ? run.options.model_path : "mdf-run");
        }
        close_compiled(&run.compiled);
        mdf_program_free(run.program);
        mdf_model_free(run.model);
        end_messages(&run.warnings);
        release_given_parameters(&run.memory, &run.parameters);
        mdf_memory_release(&run.memory, run.evaluate_s);
    }
    release_run_options(&run.options);
    return exit_status;
}
