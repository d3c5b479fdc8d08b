/* run_report.c - see run_report.h. */
#include "mdf_c/cli/reports/run_report.h"

#include "mdf_c/cli/reports/messages.h"
#include "mdf_c/cli/compiling/make_source.h"
#include "mdf_c/cli/reports/schedule_text.h"
#include "mdf_c/run/dump.h"
#include "mdf_c/tensor/entries.h"
#include "mdf_c/run/explain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int out_of_memory(struct run_report *report, mdf_error *error)
{
    mdf_memory_error(report->memory, error);
    return EXIT_MODEL;
}

int init_run_report(struct run_report *report, struct mdf_memory *memory, const struct run_options *options,
                    const mdf_program *program, mdf_error *error)
{
    int exit_status;

    memset(report, 0, sizeof *report);
    report->memory = memory;
    report->options = options;
    report->program = program;
    report->recording.memory = memory;
    mdf_text_init(&report->told, memory);
    exit_status = choose_ports(&report->ports, memory, program, "--record", options->record, error);
    if (exit_status == EXIT_DONE &&
        mdf_recording_init(&report->recording, memory, report->ports.columns, report->ports.n_columns, error) != MDF_OK) {
        exit_status = EXIT_MODEL;
    }
    return exit_status;
}

void release_run_report(struct run_report *report)
{
    mdf_recording_release(&report->recording);
    mdf_value_clear(report->memory, &report->bodies);
    release_ports(&report->ports);
    mdf_memory_release(report->memory, report->schedule);
    mdf_text_release(&report->told);
}

/* ------------------------------------------------------------------ steps */

static bool add_word(struct run_report *report, size_t *n_words, size_t word)
{
    if (*n_words == report->schedule_capacity) {
        size_t *grown =
            mdf_memory_grow(report->memory, report->schedule, &report->schedule_capacity, *n_words + 1, sizeof *grown);

        if (grown == NULL) {
            return false;
        }
        report->schedule = grown;
    }
    report->schedule[(*n_words)++] = word;
    return true;
}

static bool collect_schedule(struct run_report *report, const mdf_state *state, size_t *n_words)
{
    size_t n_sets = mdf_schedule_n_sets(state), set, i;
    bool done = add_word(report, n_words, n_sets);

    for (set = 0; set < n_sets && done; set++) {
        size_t n = mdf_schedule_set_size(state, set);

        done = add_word(report, n_words, n);
        for (i = 0; i < n && done; i++) {
            done = add_word(report, n_words, mdf_schedule_node(state, set, i));
        }
    }
    return done;
}

bool records_every_step(const struct run_options *options)
{
    return options->trace || options->plot_path != NULL;
}

/* The report outlives the state. */
static bool record_bodies(struct run_report *report, const mdf_state *state)
{
    const struct mdf_value *bodies = mdf_state_bodies(state);
    struct mdf_value copy = {0};
    bool done = bodies == NULL || bodies->kind == MDF_KIND_NONE ? mdf_value_make_dict(report->memory, &copy, 0) != NULL
                                                                : mdf_value_copy_apart(report->memory, &copy, bodies);

    done = done && mdf_list_take(report->memory, &report->bodies, &copy);
    mdf_value_clear(report->memory, &copy);
    return done;
}

int record_step(struct run_report *report, const mdf_state *state, uint64_t step, mdf_error *error)
{
    double dt = report->options->dt;
    size_t n_words = 0;
    mdf_status status;

    if (report->options->schedule) {
        write_schedule_text(&report->told, report->program, state, step);
    }
    if (report->told.failed) {
        return out_of_memory(report, error);
    }
    if (!records_every_step(report->options) && step + 1 < report->options->n_steps) {
        return EXIT_DONE;
    }
    status = mdf_recording_begin_step(&report->recording, isnan(dt) ? dt : dt * (double)step, error);
    for (size_t i = 0; i < report->ports.n_columns && status == MDF_OK; i++) {
        status =
            mdf_recording_add_value(&report->recording, mdf_output_at(state, report->ports.columns[i].node, report->ports.outputs[i]), error);
    }
    if (status == MDF_OK && report->options->trace_bodies && !record_bodies(report, state)) {
        return out_of_memory(report, error);
    }
    if (status == MDF_OK && report->options->trace) {
        if (!collect_schedule(report, state, &n_words)) {
            return out_of_memory(report, error);
        }
        status = mdf_recording_add_schedule(&report->recording, report->schedule, n_words, error);
    }
    return status == MDF_OK ? EXIT_DONE : EXIT_MODEL;
}

/* ------------------------------------------------------------------ output */

typedef mdf_status (*report_writer)(struct mdf_text *text, const struct mdf_report *report, mdf_error *error);

static report_writer writer_of(const char *path)
{
    static const struct {
        const char *suffix;
        report_writer writer;
    } writers[] = {{".json", mdf_write_report_json}, {".csv", mdf_write_report_csv}, {".npz", mdf_write_report_npz}};

    for (size_t i = 0; path != NULL && i < sizeof writers / sizeof *writers; i++) {
        size_t length = strlen(path), n = strlen(writers[i].suffix);

        if (length >= n && strcmp(path + length - n, writers[i].suffix) == 0) {
            return writers[i].writer;
        }
    }
    return mdf_write_report_json;
}

static int write_text(struct run_report *report, const struct mdf_text *text, mdf_error *error)
{
    const char *path = report->options->output_path;

    if (path != NULL && mdf_save_file(report->memory, path, text->bytes, text->length, error) != MDF_OK) {
        return EXIT_MODEL;
    }
    if (report->options->schedule || report->options->explain || report->options->dump != DUMP_NOTHING) {
        text = &report->told;
    } else if (path != NULL) {
        return EXIT_DONE;
    }
    return print_output(text->bytes, text->length, error) == MDF_OK ? EXIT_DONE : EXIT_MODEL;
}

/* The names and values that the report borrows, in arrays that live while it is written. */
static int write_with(struct run_report *report, const mdf_state *state, const char **node_ids, const char **result_names,
                      const struct mdf_value **results, mdf_error *error)
{
    const struct mdf_report told = {.model = mdf_program_model_id(report->program),
                                    .graph = mdf_program_graph_id(report->program),
                                    .n_steps = report->options->n_steps,
                                    .n_nodes = mdf_program_n_nodes(report->program),
                                    .node_ids = node_ids,
                                    .n_results = mdf_program_n_results(report->program),
                                    .result_names = result_names,
                                    .results = results,
                                    .recording = &report->recording,
                                    .bodies = report->options->trace_bodies ? mdf_value_items(&report->bodies) : NULL,
                                    .all_nodes = report->options->record == NULL,
                                    .trace = report->options->trace,
                                    .typed = report->options->typed,
                                    .gradients = report->gradients,
                                    .n_gradients = report->n_gradients};
    struct mdf_text text;
    int exit_status;

    for (size_t i = 0; i < told.n_nodes; i++) {
        node_ids[i] = mdf_program_node_id(report->program, i);
    }
    for (size_t i = 0; i < told.n_results; i++) {
        result_names[i] = mdf_program_result_name(report->program, i);
        results[i] = mdf_result_at(state, i);
    }
    mdf_text_init(&text, report->memory);
    if (writer_of(report->options->output_path)(&text, &told, error) == MDF_OK) {
        exit_status = write_text(report, &text, error);
    } else {
        exit_status = EXIT_MODEL;
    }
    mdf_text_release(&text);
    return exit_status;
}

int add_source(struct run_report *report, struct warning_printer *warnings, mdf_error *error)
{
    const struct mdf_source_options how = {NULL, NULL};

    return report->options->dump != DUMP_C
               ? EXIT_DONE
               : make_source(report->options, report->program, warnings, &how, true, &report->told, NULL, error);
}

/* What --explain and --dump ask for, behind the schedule. */
static bool add_forms(struct run_report *report, const mdf_state *state)
{
    bool done = !report->options->explain || mdf_state_explain(&report->told, state);

    switch (report->options->dump) {
    case DUMP_NOTHING:
    case DUMP_C:
        return done;
    case DUMP_CODE:
        return mdf_state_dump(&report->told, state, MDF_DUMP_CODE) && done;
    case DUMP_LOWERED:
        return mdf_state_dump(&report->told, state, MDF_DUMP_LOWERED) && done;
    case DUMP_NESTS:
        return mdf_state_dump(&report->told, state, MDF_DUMP_NESTS) && done;
    case DUMP_SCHEDULE:
        return mdf_state_dump(&report->told, state, MDF_DUMP_SCHEDULE) && done;
    case DUMP_MACHINE:
        return mdf_state_dump(&report->told, state, MDF_DUMP_MACHINE) && done;
    }
    return done;
}

int write_run_report(struct run_report *report, const mdf_state *state, mdf_error *error)
{
    size_t n_nodes = mdf_program_n_nodes(report->program), n_results = mdf_program_n_results(report->program);
    const char **node_ids = mdf_memory_allocate_zeroed(report->memory, n_nodes, sizeof *node_ids);
    const char **result_names = mdf_memory_allocate_zeroed(report->memory, n_results, sizeof *result_names);
    const struct mdf_value **results = mdf_memory_allocate_zeroed(report->memory, n_results, sizeof *results);
    int exit_status;

    if (node_ids == NULL || result_names == NULL || results == NULL || !add_forms(report, state)) {
        exit_status = out_of_memory(report, error);
    } else {
        exit_status = write_with(report, state, node_ids, result_names, results, error);
    }
    mdf_memory_release(report->memory, node_ids);
    mdf_memory_release(report->memory, result_names);
    mdf_memory_release(report->memory, results);
    return exit_status;
}
