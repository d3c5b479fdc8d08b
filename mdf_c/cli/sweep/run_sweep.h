/* run_sweep.h - mdf-run --sweep: the model evaluated for all that a sweep file says. */
#ifndef MDF_CLI_SWEEP_RUN_SWEEP_H
#define MDF_CLI_SWEEP_RUN_SWEEP_H

#include "mdf_c/cli/options.h"
#include "mdf_c/tensor/value.h"

/* Reads the file, evaluates, and writes to the output file or standard output. `program` is the model's, without changeable
 * parameters. Returns EXIT_DONE, or the exit status with the error set. */
int run_sweep(struct mdf_memory *memory, const struct run_options *options, const mdf_model *model, const mdf_program *program,
              mdf_error *error);

#endif
