/* load_model.h - the model that a command line names. */
#ifndef MDF_CLI_LOAD_MODEL_H
#define MDF_CLI_LOAD_MODEL_H

#include "mdf_c/cli/options.h"

/* Loads options->model_path, a file or "-" for standard input. Returns EXIT_DONE, or the exit status with the error set. */
int load_model(const struct run_options *options, mdf_model **model, mdf_error *error);
/* Refuses a graph that the command line names and the model does not have. */
int check_graph(const struct run_options *options, const mdf_model *model, mdf_error *error);

#endif
