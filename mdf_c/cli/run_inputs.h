/* run_inputs.h - what a run is given from outside: --input and --inputs. */
#ifndef MDF_CLI_RUN_INPUTS_H
#define MDF_CLI_RUN_INPUTS_H

#include "mdf_c/cli/reports/messages.h"
#include "mdf_c/cli/options.h"
#include "mdf_c/tensor/value.h"

struct run_inputs {
    struct mdf_memory *memory;
    struct mdf_value single; /* of --input: an object {name: value}, given at every step */
    const char *path;        /* of --inputs; NULL: none */
    struct mdf_value *steps; /* of --inputs: objects */
    size_t n_steps;
    struct mdf_document *document; /* of --inputs, where its text is kept, for messages; NULL */
    bool same_each_step;      /* steps has one object, given at every step */
    struct mdf_value unknown; /* names of --inputs that the graph does not have, each told once */
    struct warning_printer *warnings;
};

/* Reads the value in a file: .npy, or any format of documents by the suffix, JSON without one that is known. */
mdf_status read_value_file(struct mdf_memory *memory, const char *path, struct mdf_value *value, mdf_error *error);

/* Reads all values. Returns EXIT_DONE, or the exit status, with the error set and the inputs released. */
int load_run_inputs(struct run_inputs *inputs, struct mdf_memory *memory, const struct run_options *options,
                    struct warning_printer *warnings, mdf_error *error);
/* Sets the inputs of one step, counted from 0, which the state looks at where they are: release it first; returns as
 * load_run_inputs, but the inputs stay. A name of --input that the graph does not have is an error; one of --inputs is warned of
 * and left out, as the reference engine leaves it out. */
int set_run_inputs(struct run_inputs *inputs, mdf_state *state, uint64_t step, mdf_error *error);
/* Warns of what a run of so many steps would quietly take; `given` are names of inputs beside those of --input and --inputs.
 * False: out of memory. */
bool check_run_inputs(const struct run_inputs *inputs, const mdf_program *program, const mdf_sweep_values *given, size_t n_given,
                      uint64_t n_steps, double dt);
/* Of an error in an evaluation: where it names the shape of an array that is given as a whole in each step, it may be one over time,
 * and the message goes on to say how that is given. */
void advise_of_arrays(const struct run_inputs *inputs, mdf_error *error);
void release_run_inputs(struct run_inputs *inputs);

#endif
