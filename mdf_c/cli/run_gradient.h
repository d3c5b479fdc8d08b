/* run_gradient.h - derivatives of what a run computes: --gradient and --of. */
#ifndef MDF_CLI_RUN_GRADIENT_H
#define MDF_CLI_RUN_GRADIENT_H

#include "mdf_c/base/arena.h"
#include "mdf_c/cli/run_inputs.h"
#include "mdf_c/values/values.h"

struct run_gradients {
    struct mdf_arena arena; /* names and lists lie here */
    const char **results, **parameters;
    size_t n_results, n_parameters;
    mdf_program **programs; /* of each result */
    mdf_state **states;
    struct mdf_report_gradient *items; /* for the report: of each result by each parameter */
};

/* Compiles and evaluates what is asked for, after a run whose last state is `state`; its results are looked at where they are:
 * release them after the report. Returns EXIT_DONE, or the exit status with the error set. */
int compute_gradients(struct run_gradients *gradients, struct mdf_memory *memory, const struct run_options *options,
                      const mdf_model *model, struct run_inputs *inputs, const mdf_state *state, const mdf_program *program,
                      mdf_error *error);
void release_gradients(struct run_gradients *gradients);

#endif
