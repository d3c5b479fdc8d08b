/* given_parameters.h - other values of parameters from the command line: --set. */
#ifndef MDF_CLI_GIVEN_PARAMETERS_H
#define MDF_CLI_GIVEN_PARAMETERS_H

#include "mdf_c/base/arena.h"
#include "mdf_c/cli/options.h"

/* What follows --set: NAME=VALUE, NAME=@FILE, or @FILE with an object {NAME: value}; NULL: it is one of these. */
const char *setting_fault(const char *text);
/* Where a value was given. */
struct given_place {
    const char *text; /* as it stands behind --set NAME=; NULL: it is in a file */
    char name[128];   /* then "--set NAME" */
    const char *file;
    int line, column;
    const char *key; /* the parameter's name in the file, and where it is; NULL: on the command line */
    int key_line, key_column;
};

/* All that was set: a text with each value on a line of its own, from the second on, and the place of each. */
struct given_parameters {
    struct mdf_text text;
    struct mdf_arena names;
    struct given_place *places;
    size_t n_places, capacity;
};

/* Makes options->library.parameters of what was set: the text lies in `given`, which is zeroed and must live until the model is
 * compiled, and as long as errors are told. Returns EXIT_DONE, or the exit status with the error set. */
int read_given_parameters(struct mdf_memory *memory, struct run_options *options, struct given_parameters *given,
                          mdf_error *error);
void release_given_parameters(struct mdf_memory *memory, struct given_parameters *given);
/* What is told of a place in the text (MDF_GIVEN_FILE) becomes what is told of the command line, or of the file that it was in;
 * so does a name that no parameter has. `given` may be NULL. */
void place_given_parameter(const struct given_parameters *given, mdf_diagnostic *diagnostic);
/* What a program that does not compile ends with: a name that no place of the model has, and a value that was set, come from the
 * command line. */
int compile_status(const mdf_error *error);

#endif
