/* compiled_run.h - mdf-run --compile: the steps of a run by a shared library made of the model's C source. */
#ifndef MDF_CLI_COMPILED_RUN_H
#define MDF_CLI_COMPILED_RUN_H

#include "mdf_c/cli/reports/messages.h"
#include "mdf_c/cli/options.h"
#include "mdf_c/source/compiled.h"
#include "mdf_c/tensor/value.h"

struct compiled_run {
    struct mdf_memory *memory;
    void *library; /* NULL: none */
    const struct mdf_compiled *model;
    void *block, *state; /* the latter lies in the former */
    mdf_state *observed; /* whose schedule is recorded */
    bool records, failed;
};

/* Writes and compiles the program, or finds it in the cache. Returns EXIT_DONE, or the exit status with the error set. */
int open_compiled(struct compiled_run *run, struct mdf_memory *memory, const struct run_options *options,
                  const mdf_program *program, struct warning_printer *warnings, mdf_error *error);
/* Before the first step; `records`: which nodes run is recorded. */
bool begin_compiled(struct compiled_run *run, bool records, uint64_t seed);
/* One step, with the inputs that were set in `state`. */
mdf_status evaluate_compiled(struct compiled_run *run, mdf_state *state, double dt, mdf_error *error);
/* `n` steps without inputs, which nobody looks at; *n_done of them are done. */
mdf_status evaluate_compiled_steps(struct compiled_run *run, uint64_t n, double dt, uint64_t *n_done, mdf_error *error);
/* Gives `state` the outputs of the last step. */
mdf_status show_compiled_values(struct compiled_run *run, mdf_state *state, mdf_error *error);
void close_compiled(struct compiled_run *run);

#endif
