/* make_source.h - a compiled program as C source: evaluates it a few times, so that types and shapes are known, and writes it. */
#ifndef MDF_CLI_MAKE_SOURCE_H
#define MDF_CLI_MAKE_SOURCE_H

#include "mdf_c/cli/reports/messages.h"
#include "mdf_c/cli/options.h"
#include "mdf_c/source/source.h"

/* What is done with a state: before its first evaluation (NULL: nothing), and once types and shapes are known. False: the error
 * is set. */
struct warm_state_user {
    bool zeros_stand_in; /* for inputs that must be given and are not, where type and shape are declared; a warning says so */
    bool (*prepare)(void *context, struct mdf_state *state, mdf_error *error);
    bool (*use)(void *context, struct mdf_state *state, mdf_error *error);
    void *context;
};

/* Evaluates a fresh state as make_source does, and hands it on. */
int with_warm_state(const struct run_options *options, const mdf_program *program, struct warning_printer *warnings,
                    const struct warm_state_user *user, mdf_error *error);

/* Inputs are those of the options: --input, --inputs, and zeros where `zeros_stand_in`; the time increment too. Returns EXIT_DONE, or the exit status with the
 * error set. */
int make_source(const struct run_options *options, const mdf_program *program, struct warning_printer *warnings,
                const struct mdf_source_options *how, bool zeros_stand_in, struct mdf_text *source, struct mdf_text *header,
                mdf_error *error);

#endif
