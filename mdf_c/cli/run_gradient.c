/* run_gradient.c - see run_gradient.h. */
#include "mdf_c/cli/run_gradient.h"

#include "mdf_c/base/error.h"
#include "mdf_c/cli/compiling/name_list.h"

#include <math.h>
#include <string.h>

static int out_of_memory(const struct run_gradients *gradients, mdf_error *error)
{
    mdf_memory_error(gradients->arena.memory, error);
    return EXIT_MODEL;
}

/* What the run itself computed for a name of --gradient. */
static const mdf_value *find_result(const mdf_state *state, const mdf_program *program, const char *name)
{
    const char *dot = strchr(name, '.');

    for (size_t i = 0; i < mdf_program_n_results(program); i++) {
        if (strcmp(mdf_program_result_name(program, i), name) == 0) {
            return mdf_result_at(state, i);
        }
    }
    for (size_t i = 0; i < mdf_program_n_nodes(program); i++) {
        const char *node = mdf_program_node_id(program, i);
        bool is_named = dot != NULL && strlen(node) == (size_t)(dot - name) && memcmp(node, name, strlen(node)) == 0;

        for (size_t k = 0; k < mdf_program_n_outputs(program, i); k++) {
            if (strcmp(mdf_program_output_id(program, i, k), name) == 0 ||
                (is_named && strcmp(mdf_program_output_id(program, i, k), dot + 1) == 0)) {
                return mdf_output_at(state, i, k);
            }
        }
    }
    return NULL;
}

/* A program of its own computes the value once more: it has to be the same one; of CVODE, whose steps are others beside equations
 * of derivatives, to the tolerance, which says little of the distance behind many steps: it has derived the right-hand side
 * itself. */
static int compare(const struct run_gradients *gradients, size_t i, const mdf_value *result, mdf_method method, mdf_error *error)
{
    const mdf_value *value = mdf_output(gradients->states[i], "gradient", "value");
    bool is_solved = method == MDF_METHOD_CVODE_ADAMS || method == MDF_METHOD_CVODE_BDF;

    if (value == NULL) {
        mdf_error_set(error, MDF_UNSUPPORTED,
                      "--gradient '%s': derivatives after each evaluation are had from C and Python (docs/time.md)",
                      gradients->results[i]);
        return EXIT_USAGE;
    }
    if (result != NULL && (is_solved || mdf_value_equal(result, value))) {
        return EXIT_DONE;
    }
    mdf_error_set(error, MDF_UNSUPPORTED,
                  "there is no derivative of '%s': computed as one function of the parameters it is not what the steps give",
                  gradients->results[i]);
    return EXIT_MODEL;
}

static int compute(struct run_gradients *gradients, size_t i, const struct run_options *options, const mdf_model *model,
                   struct run_inputs *inputs, mdf_error *error)
{
    gradients->programs[i] = mdf_compile_gradient(model, gradients->results[i], gradients->parameters, gradients->n_parameters,
                                                  options->n_steps, options->dt, &options->library, error);
    if (gradients->programs[i] != NULL) {
        gradients->states[i] = mdf_state_new(gradients->programs[i], error);
    }
    if (gradients->states[i] == NULL) { /* a name that the model has not comes from the command line */
        return error->code == MDF_NAME && error->file[0] == '\0' ? EXIT_USAGE : EXIT_MODEL;
    }
    if (set_run_inputs(inputs, gradients->states[i], 0, error) != EXIT_DONE ||
        mdf_evaluate(gradients->states[i], options->dt, error) != MDF_OK) {
        return EXIT_MODEL;
    }
    for (size_t k = 0; k < gradients->n_parameters; k++) {
        gradients->items[i * gradients->n_parameters + k] =
            (struct mdf_report_gradient){gradients->results[i], gradients->parameters[k],
                                         mdf_output(gradients->states[i], "gradient", gradients->parameters[k])};
    }
    return EXIT_DONE;
}

static bool read_names(struct run_gradients *gradients, const struct run_options *options)
{
    struct mdf_arena *arena = &gradients->arena;

    gradients->results = read_name_list(arena, options->gradient, &gradients->n_results);
    gradients->parameters = read_name_list(arena, options->gradient_of, &gradients->n_parameters);
    gradients->programs = mdf_arena_array(arena, gradients->n_results, sizeof(mdf_program *));
    gradients->states = mdf_arena_array(arena, gradients->n_results, sizeof(mdf_state *));
    gradients->items = mdf_arena_array(arena, gradients->n_results * gradients->n_parameters, sizeof *gradients->items);
    if (gradients->results == NULL || gradients->parameters == NULL || gradients->programs == NULL || gradients->states == NULL ||
        gradients->items == NULL) {
        gradients->n_results = 0;
        return false;
    }
    return true;
}

int compute_gradients(struct run_gradients *gradients, struct mdf_memory *memory, const struct run_options *options,
                      const mdf_model *model, struct run_inputs *inputs, const mdf_state *state, const mdf_program *program,
                      mdf_error *error)
{
    int exit_status = EXIT_DONE;

    mdf_arena_init(&gradients->arena, memory);
    if (!read_names(gradients, options)) {
        return out_of_memory(gradients, error);
    }
    if (inputs->n_steps > 1 && !inputs->same_each_step) {
        mdf_error_set(error, MDF_UNSUPPORTED, "--gradient: there are derivatives only where inputs are the same in each step");
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < gradients->n_results && exit_status == EXIT_DONE; i++) {
        exit_status = compute(gradients, i, options, model, inputs, error);
        if (exit_status == EXIT_DONE) {
            exit_status =
                compare(gradients, i, find_result(state, program, gradients->results[i]), options->library.method, error);
        }
    }
    return exit_status;
}

void release_gradients(struct run_gradients *gradients)
{
    for (size_t i = 0; i < gradients->n_results; i++) {
        mdf_state_free(gradients->states[i]);
        mdf_program_free(gradients->programs[i]);
    }
    if (gradients->arena.memory != NULL) {
        mdf_arena_release(&gradients->arena);
    }
}
