/* given_parameters.h - other values of parameters from the command line: --set. */
#ifndef MDF_CLI_GIVEN_PARAMETERS_H
#define MDF_CLI_GIVEN_PARAMETERS_H

#include "mdf_c/cli/options.h"

/* What follows --set: NAME=VALUE, NAME=@FILE, or @FILE with an object {NAME: value}; NULL: it is one of these. */
const char *setting_fault(const char *text);
/* All that was set, as options->library.parameters takes it, which it becomes: the text lies in `text`, which is empty and must
 * live until the model is compiled. Returns EXIT_DONE, or the exit status with the error set. */
int read_given_parameters(struct mdf_memory *memory, struct run_options *options, struct mdf_text *text, mdf_error *error);
/* What a program that does not compile ends with: a name that no place of the model has comes from the command line. */
int compile_status(const mdf_error *error);

#endif
