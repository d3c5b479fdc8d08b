/* sweep_run.h - what the parts of mdf-run --sweep share: one call, its instances, and the store that they may go to in chunks. */
#ifndef MDF_CLI_SWEEP_SWEEP_RUN_H
#define MDF_CLI_SWEEP_SWEEP_RUN_H

#include "mdf_c/cli/reports/progress_bar.h"
#include "mdf_c/cli/run_inputs.h"
#include "mdf_c/cli/reports/run_report.h"
#include "mdf_c/cli/sweep/sweep_file.h"
#include "mdf_c/cli/sweep/sweep_report.h"

/* One call. Small parts lie in the file's arena. */
struct sweep_run {
    struct mdf_memory *memory;
    const struct run_options *options;
    const mdf_program *plain; /* without changeable parameters */
    mdf_program *program;
    struct sweep_file file;
    struct run_inputs inputs; /* of --input */
    struct port_choice ports; /* those that are recorded */
    size_t capacity;          /* instances whose seeds and results are held at once: all, or those of a chunk of a store */
    mdf_sweep_options asked;
    uint64_t *seeds; /* of those that are held; NULL: none are told */
    mdf_sweep *sweep;
    struct mdf_value *results; /* of each port: [capacity, rows, ...]; then the steps and times after which they stopped */
    size_t n_results;
    struct progress_bar bar;
    size_t n_before; /* instances that are done but not by this sweep */
    double end_s;    /* of all chunks together, by mdf_clock_s */
    struct mdf_sweep_dump *dump; /* of --dump; NULL: none */
    mdf_error *error;
};

/* --- run_sweep.c. Each returns false with the error set. */
bool sweep_out_of_memory(struct sweep_run *run);
bool sweep_usage(struct sweep_run *run, const char *why);
/* Room for the seeds of `capacity` instances. */
bool hold_instances(struct sweep_run *run, size_t capacity);
/* The instances [first, first + n), n at most the capacity, are asked for from now on. */
void take_instances(struct sweep_run *run, size_t first, size_t n);
/* The forms that the first instance has found are asked for, as those of all. */
bool keep_forms(struct sweep_run *run);
/* What is to be told of many instances together. */
bool collect_reductions(struct sweep_run *run);
/* The arrays that the results of the instances held go to; run->sweep knows their forms. */
bool make_results(struct sweep_run *run, void **arrays);
/* The instances that are asked for have been evaluated: the times at which they stopped. */
void tell_stopped_times(struct sweep_run *run);
/* Names of what was swept and of what was recorded; one that is both gets "swept." before it where it was swept. */
bool name_columns(struct sweep_run *run, struct sweep_column *swept, struct sweep_column *recorded);
/* What there is to tell, but for the columns' names. */
struct sweep_report describe_sweep(const struct sweep_run *run, const struct sweep_column *swept,
                                   const struct sweep_column *recorded);
/* The report of what instances are told together, without values: its columns have the forms of run->sweep's reductions. Parts
 * of it lie in the file's arena. */
bool describe_reduced(struct sweep_run *run, struct sweep_report *report);
/* Its columns get what the reductions of run->sweep have come to. */
bool tell_reduced(struct sweep_run *run, struct sweep_report *report);

/* --- run_into_store.c: see run_into_store */
bool is_store(const char *path);
/* Evaluates the chunks of instances that the store at the output path lacks, each of which is there whole or not at all. */
bool run_into_store(struct sweep_run *run, const mdf_model *model);

#endif
