/* source_request.c - see source_request.h. */
#include "mdf_c/cli/compiling/source_request.h"

#include "mdf_c/cli/load_model.h"
#include "mdf_c/cli/compiling/name_list.h"
#include "mdf_c/cli/plugins.h"
#include "mdf_c/dialect/set_parameters.h"
#include "mdf_c/model/model.h"
#include "mdf_c/plan/program.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ tunable parameters */

/* Names of parameters; the texts lie in the arena. */
struct names {
    struct mdf_arena *arena;
    const char **items;
    size_t n;
    bool failed; /* memory was refused */
};

static bool add_name(struct names *names, const char *text, size_t length)
{
    const char **items = mdf_arena_array(names->arena, names->n + 1, sizeof *items);
    const char *name = mdf_arena_text(names->arena, text, length);

    if (items == NULL || name == NULL) {
        return false;
    }
    if (names->n > 0) {
        memcpy(items, names->items, names->n * sizeof *items);
    }
    items[names->n++] = name;
    names->items = items;
    return true;
}

static bool add_all(struct names *names, const mdf_program *program)
{
    for (size_t i = 0; i < mdf_program_n_nodes(program); i++) {
        for (size_t j = 0; j < mdf_program_n_parts(program, i, MDF_PART_PARAMETER); j++) {
            const char *name = mdf_arena_printf(names->arena, "%s.%s", mdf_program_node_id(program, i),
                                                mdf_program_part_id(program, i, MDF_PART_PARAMETER, j));

            if (name == NULL || !add_name(names, name, strlen(name))) {
                return false;
            }
        }
    }
    return true;
}

/* Beside those of the program's nodes: of graphs, of nodes within nodes and of bodies. */
static void add_inner(void *context, const char *node, const char *id)
{
    struct names *names = context;
    const char *name = node != NULL ? mdf_arena_printf(names->arena, "%s.%s", node, id) : id;
    size_t i;

    for (i = 0; name != NULL && i < names->n && strcmp(names->items[i], name) != 0; i++) {
    }
    if (name == NULL || (i == names->n && !add_name(names, name, strlen(name)))) {
        names->failed = true;
    }
}

/* Leaves of names [first, end) those that can be kept changeable, from number names->n on: others are computed, no numbers, or
 * read while compiling. The compiler says whether all of some can, so that few compilations tell where few can not. False: the
 * error is set. */
static bool keep_possible(struct names *names, size_t first, size_t end, const mdf_model *model, const mdf_options *options,
                          mdf_error *error)
{
    size_t middle = first + (end - first) / 2;
    mdf_error refused = {0};
    mdf_program *program;

    if (first == end) {
        return true;
    }
    program = mdf_compile_changeable(model, names->items + first, end - first, options, &refused);
    mdf_program_free(program);
    if (program != NULL) {
        memmove(names->items + names->n, names->items + first, (end - first) * sizeof *names->items);
        names->n += end - first;
        return true;
    }
    if (refused.code == MDF_OUT_OF_MEMORY || refused.code == MDF_LIMIT || refused.code == MDF_INTERRUPTED) {
        *error = refused;
        return false;
    }
    return end - first == 1 || (keep_possible(names, first, middle, model, options, error) &&
                                keep_possible(names, middle, end, model, options, error));
}

/* All parameters of the program's nodes that can be kept changeable. False: the error is set. */
static bool find_all(struct names *names, const mdf_model *model, const mdf_program *program, const mdf_options *options,
                     mdf_error *error)
{
    mdf_options quiet = *options;
    size_t n;

    quiet.warning = NULL;
    quiet.diagnostics = NULL;
    if (!add_all(names, program) || !mdf_find_constants(names->arena, model->document, add_inner, names) || names->failed) {
        return false;
    }
    n = names->n;
    names->n = 0;
    return keep_possible(names, 0, n, model, &quiet, error);
}

/* Leaves out those with more elements than may be. False: the error is set. */
static bool keep_small(struct names *names, const struct source_request *request, const mdf_options *options, mdf_error *error)
{
    mdf_program *program = mdf_compile_changeable(request->model, names->items, names->n, options, error);
    size_t n = names->n;

    if (program == NULL) {
        return false;
    }
    names->n = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_small = true;

        for (size_t j = 0; j < program->n_parameters; j++) {
            const struct mdf_program_parameter *parameter = &program->parameters[j];
            const struct mdf_value *value = &program->code->constants[MDF_OPERAND_INDEX(parameter->default_value)];

            is_small = is_small && !(mdf_part_is_named(parameter->node, parameter->id, names->items[i]) &&
                                     value->length > request->most_tunable);
        }
        if (is_small) {
            names->items[names->n++] = names->items[i];
        }
    }
    mdf_program_free(program);
    return true;
}

/* The names of all that can be tunable. False: the error is set, or memory was refused. */
static bool name_all(struct names *names, struct source_request *request)
{
    mdf_program *program = mdf_compile(request->model, &request->options.library, &request->error);
    mdf_options quiet = request->options.library;
    bool done = program != NULL && find_all(names, request->model, program, &quiet, &request->error);

    quiet.warning = NULL;
    quiet.diagnostics = NULL;
    mdf_program_free(program);
    return done && (request->most_tunable == 0 || keep_small(names, request, &quiet, &request->error));
}

mdf_program *compile_tunable(struct source_request *request, bool has_right_side)
{
    bool are_all = request->tunable != NULL && strcmp(request->tunable, TUNABLE_ALL) == 0, done = true;
    mdf_program *program = NULL;
    struct mdf_arena arena;
    struct names names = {.arena = &arena};

    mdf_arena_init(&arena, &request->memory);
    if (are_all) {
        done = name_all(&names, request);
    } else if (request->tunable != NULL && strcmp(request->tunable, "none") != 0) {
        names.items = read_name_list(&arena, request->tunable, &names.n);
        done = names.items != NULL;
    }
    if (!done && request->error.code == MDF_OK) {
        mdf_memory_error(&request->memory, &request->error);
    } else if (done) {
        program =
            has_right_side
                ? mdf_program_compile_right_side(request->model, names.items, names.n, &request->options.library, &request->error)
                : mdf_compile_changeable(request->model, names.items, names.n, &request->options.library, &request->error);
    }
    mdf_arena_release(&arena);
    return program;
}

mdf_program *compile_request_gradient(struct source_request *request, const char *of, const char *by, uint64_t n_steps)
{
    mdf_program *program = NULL;
    struct mdf_arena arena;
    const char **names;
    size_t n;

    mdf_arena_init(&arena, &request->memory);
    names = read_name_list(&arena, by, &n);
    if (names == NULL) {
        mdf_memory_error(&request->memory, &request->error);
    } else {
        program = mdf_compile_gradient(request->model, of, names, n, n_steps, request->options.dt, &request->options.library,
                                       &request->error);
    }
    mdf_arena_release(&arena);
    return program;
}

/* ------------------------------------------------------------------ the model */

void begin_source_request(struct source_request *request)
{
    mdf_memory_init(&request->memory, NULL, 0);
}

int take_model_path(struct source_request *request, const struct command_line *line, char **names, size_t n_names,
                    const char *output)
{
    if (n_names != 1) {
        return usage_error(line, n_names == 0 ? "no model was given" : "more than one model was given");
    }
    request->options.model_path = names[0];
    if (strcmp(names[0], "-") == 0 && request->options.format == NULL) {
        return usage_error(line, "--from is needed where the model comes from standard input");
    }
    return output != NULL ? EXIT_DONE : usage_error(line, "--output is needed");
}

int load_source_model(struct source_request *request)
{
    struct run_options *options = &request->options;
    int status = start_messages(&request->warnings, &options->library, &request->error) ? EXIT_DONE : EXIT_MODEL;

    if (status == EXIT_DONE) {
        status = load_plugins(options, &request->error);
    }
    if (status == EXIT_DONE) {
        status = load_model(options, &request->model, &request->error);
        request->warnings.model = request->model;
        request->warnings.given = &request->parameters;
    }
    if (status == EXIT_DONE) {
        status = check_graph(options, request->model, &request->error);
    }
    if (status == EXIT_DONE) {
        status = read_given_parameters(&request->memory, options, &request->parameters, &request->error);
    }
    return status;
}

int end_source_request(struct source_request *request, const char *program, int status)
{
    if (request->error.code != MDF_OK) {
        print_errors(&request->warnings, &request->error, status == EXIT_MODEL ? request->options.model_path : program);
    }
    end_messages(&request->warnings);
    mdf_model_free(request->model);
    release_given_parameters(&request->memory, &request->parameters);
    release_run_options(&request->options);
    return status;
}
