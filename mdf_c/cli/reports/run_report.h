/* run_report.h - what a run records and how it is told: --record, --trace, --schedule, --explain, --dump, --typed, --output. */
#ifndef MDF_CLI_RUN_REPORT_H
#define MDF_CLI_RUN_REPORT_H

#include "mdf_c/cli/options.h"
#include "mdf_c/cli/port_choice.h"
#include "mdf_c/values/values.h"

struct run_report {
    struct mdf_memory *memory;
    const struct run_options *options;
    const mdf_program *program;
    struct port_choice ports; /* those that are recorded */
    struct mdf_recording recording;
    struct mdf_value bodies; /* of --trace-bodies: a list with what each step had */
    size_t *schedule; /* words of the schedule that is being recorded */
    size_t schedule_capacity;
    const struct mdf_report_gradient *gradients; /* NULL: none */
    size_t n_gradients;
    struct mdf_text told; /* in place of JSON: of --schedule, --explain, --dump */
};

/* Finds the ports. Functions return EXIT_DONE, or the exit status with the error set; release the report in either case. */
int init_run_report(struct run_report *report, struct mdf_memory *memory, const struct run_options *options,
                    const mdf_program *program, mdf_error *error);
/* Whether more than the last step is recorded. */
bool records_every_step(const struct run_options *options);
/* Records the state after a step, counted from 0. */
int record_step(struct run_report *report, const mdf_state *state, uint64_t step, mdf_error *error);
/* The model as C source, for --dump c. */
struct warning_printer;
int add_source(struct run_report *report, struct warning_printer *warnings, mdf_error *error);
/* Writes everything to the output file or to standard output. `state` is that after the last step. */
int write_run_report(struct run_report *report, const mdf_state *state, mdf_error *error);
void release_run_report(struct run_report *report);

#endif
