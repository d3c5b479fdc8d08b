/* stats.h - mdf-run --stats: how large a model is. Nothing is evaluated. */
#ifndef MDF_CLI_STATS_H
#define MDF_CLI_STATS_H

#include "mdf_c/base/error.h"
#include "mdf_c/base/memory.h"

/* Writes to standard output, as text or as JSON. Returns EXIT_DONE, or the exit status with the error set. */
int print_stats(struct mdf_memory *memory, const mdf_model *model, const mdf_program *program, bool as_json, mdf_error *error);

#endif
