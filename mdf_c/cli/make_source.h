/* make_source.h - a compiled program as C source: evaluates it a few times, so that types and shapes are known, and writes it. */
#ifndef MDF_CLI_MAKE_SOURCE_H
#define MDF_CLI_MAKE_SOURCE_H

#include "mdf_c/cli/messages.h"
#include "mdf_c/cli/options.h"
#include "mdf_c/source/source.h"

/* Inputs are those of the options: --input, --inputs; the time increment too. Returns EXIT_DONE, or the exit status with the
 * error set. */
int make_source(const struct run_options *options, const mdf_program *program, struct warning_printer *warnings,
                const struct mdf_source_options *how, struct mdf_text *source, struct mdf_text *header, mdf_error *error);

#endif
