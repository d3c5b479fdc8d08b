/* mdf_compile.c - the program mdf-compile: a model as C source, or as a shared library made of it. See docs/man/mdf-compile.1. */
#include "mdf_c/cli/completion.h"
#include "mdf_c/cli/compile_library.h"
#include "mdf_c/cli/given_parameters.h"
#include "mdf_c/cli/load_model.h"
#include "mdf_c/cli/make_source.h"
#include "mdf_c/cli/plugins.h"
#include "mdf_c/values/new_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: mdf-compile [options] MODEL -o OUT      MODEL: .json .yaml .yml .bson .onnx, or - with --from FORMAT\n"
    "Writes a model as C source that needs C11 and libm only. OUT: out.c; out.h for out.h and out.c; "
    "out.so, compiled by $CC or cc.\n"
    "The model is evaluated a few times first, as types and shapes have to be known.\n"
    "  -o, --output OUT          see above\n"
    "      --name NAME           of the model in C: NAME_init, NAME_step, ...; default: its id\n"
    "      --tunable NODE.PARAMETER,...|all   parameters that become fields of the struct, with the model's values at first\n"
    "  -g, --graph ID            the graph; default: the first that no other uses as a body\n"
    "  -i, --input NAME=VALUE    an input for these evaluations, as in mdf-run; its shape counts\n"
    "      --set NODE.PARAMETER=VALUE   another value of a parameter, as in mdf-run\n"
    "      --inputs FILE         the same from a file\n"
    "      --dt T                their time increment\n"
    "      --float32             reals without a declared type are float32, not float64\n"
    "      --max-iterations N, --max-passes N   bounds on one Loop, and on one evaluation by conditions\n"
    "      --loop-condition standard|obey   of a Loop without a condition input: ignore what its body yields, or obey it\n"
    "      --dialect reference|psyneulink   what the file means (docs/dialects.md); default: by who wrote it\n"
    "      --scheduling-mode standard|exact_time   of a graph with conditions (docs/scheduling.md); default: as it says\n"
    "      --max-memory BYTES    bound on memory (K, M, G may follow; none); default: what the machine has\n"
    "      --time-limit SECONDS  end with an error what takes longer to compile, or in these evaluations\n"
    "      --from FORMAT         json, yaml, bson or onnx, whatever the suffix\n"
    "      --plugin FILE         functions of a shared library, as in mdf-run; what calls one has no form in C\n"
    MESSAGE_HELP
    "  -h, --help, --version, --completion SHELL   the last: what bash, zsh or fish needs to complete the options\n";

struct compilation {
    struct run_options options;
    const char *output, *name;
    const char *tunable; /* NAME,NAME,... or all; NULL: none */
    struct mdf_memory memory;
    struct warning_printer warnings;
    mdf_model *model; /* has the text that messages show */
    struct mdf_text parameters, source, header;
    mdf_error error;
};

/* ------------------------------------------------------------------ the command line */

static const char *output_fault(const char *path)
{
    if (mdf_ends_with(path, ".h") && strpbrk(path, "\"\\\n") != NULL) {
        return "can not be included: its name has a quote, a backslash or a line break";
    }
    return mdf_ends_with(path, ".c") || mdf_ends_with(path, ".h") || mdf_ends_with(path, ".so") ? NULL
                                                                                                : "must be a file .c, .h or .so";
}

#define FIELD(name) offsetof(struct compilation, name)

static const struct option_row rows[] = {
    {"output", 'o', ARGUMENT_TEXT, .offset = FIELD(output), .fault = output_fault},
    {"name", '\0', ARGUMENT_TEXT, .offset = FIELD(name)},
    {"tunable", '\0', ARGUMENT_TEXT, .offset = FIELD(tunable)},
    {"graph", 'g', ARGUMENT_TEXT, .offset = FIELD(options.library.graph)},
    {"input", 'i', ARGUMENT_TEXTS, .offset = FIELD(options.inputs), .fault = input_fault},
    {"set", '\0', ARGUMENT_TEXTS, .offset = FIELD(options.settings), .fault = setting_fault},
    {"inputs", '\0', ARGUMENT_TEXT, .offset = FIELD(options.inputs_path)},
    {"dt", '\0', ARGUMENT_REAL, .offset = FIELD(options.dt)},
    {"float32", '\0', ARGUMENT_FLAG, .offset = FIELD(options.library.float32)},
    {"max-iterations", '\0', ARGUMENT_COUNT, .offset = FIELD(options.library.max_iterations)},
    {"max-passes", '\0', ARGUMENT_COUNT, .offset = FIELD(options.library.max_passes)},
    {"loop-condition", '\0', ARGUMENT_WORD, .offset = FIELD(options.library.loop_condition), .least = MDF_LOOP_CONDITION_STANDARD,
     .words = loop_condition_words},
    {"dialect", '\0', ARGUMENT_WORD, .offset = FIELD(options.library.dialect), .least = MDF_DIALECT_REFERENCE,
     .words = dialect_words},
    {"scheduling-mode", '\0', ARGUMENT_WORD, .offset = FIELD(options.library.scheduling_mode),
     .least = MDF_SCHEDULING_MODE_STANDARD, .words = scheduling_mode_words},
    {"max-memory", '\0', ARGUMENT_BYTES, .offset = FIELD(options.library.max_memory_bytes)},
    {"time-limit", '\0', ARGUMENT_SECONDS, .offset = FIELD(options.library.time_limit_s)},
    {"from", '\0', ARGUMENT_TEXT, .offset = FIELD(options.format)},
    {"plugin", '\0', ARGUMENT_TEXTS, .offset = FIELD(options.plugins)},
    MESSAGE_ROWS,
    {"completion", '\0', ARGUMENT_COMPLETION, .words = completion_shells},
    {"help", 'h', .argument = ARGUMENT_HELP},
    {"version", '\0', .argument = ARGUMENT_VERSION},
};

static const struct command_line line = {"mdf-compile", help, rows, sizeof rows / sizeof *rows};

static int parse(int argc, char **argv, struct compilation *compilation, bool *ends)
{
    int exit_status;
    size_t n_names;
    char **names = read_command_line(&line, argc, argv, compilation, &n_names, &exit_status);

    *ends = names == NULL;
    if (names == NULL) {
        return exit_status;
    }
    if (n_names != 1) {
        return usage_error(&line, n_names == 0 ? "no model was given" : "more than one model was given");
    }
    compilation->options.model_path = names[0];
    if (strcmp(names[0], "-") == 0 && compilation->options.format == NULL) {
        return usage_error(&line, "--from is needed where the model comes from standard input");
    }
    return compilation->output != NULL ? EXIT_DONE : usage_error(&line, "--output is needed");
}

/* ------------------------------------------------------------------ output */

/* Opens a file and writes it, beside its place. */
static mdf_status prepare(struct compilation *compilation, struct mdf_new_file *file, const char *path,
                          const struct mdf_text *text)
{
    mdf_status status = mdf_new_file_open(file, &compilation->memory, path, &compilation->error);

    if (status == MDF_OK) {
        status = mdf_new_file_write(file, text->bytes, text->length, &compilation->error);
        if (status != MDF_OK) {
            mdf_new_file_abandon(file);
        }
    }
    return status;
}

static mdf_status write_file(struct compilation *compilation, const char *path, const struct mdf_text *text)
{
    struct mdf_new_file file;
    mdf_status status = prepare(compilation, &file, path, text);

    return status == MDF_OK ? mdf_new_file_commit(&file, &compilation->error) : status;
}

/* Puts two files into their places: both or none. (A process that is killed in between leaves a header that the source refuses.)
 */
static mdf_status commit_both(struct compilation *compilation, struct mdf_new_file *first, struct mdf_new_file *second)
{
    size_t size = strlen(first->path) + 32;
    char *old = mdf_memory_allocate(&compilation->memory, size);
    bool replaces, is_kept = false;
    mdf_status status;

    if (old == NULL) {
        mdf_new_file_abandon(first);
        mdf_new_file_abandon(second);
        return mdf_memory_error(&compilation->memory, &compilation->error);
    }
    snprintf(old, size, "%s.%ld.old", first->path, (long)getpid());
    replaces = access(first->path, F_OK) == 0;
    is_kept = replaces && first->temporary != NULL && link(first->path, old) == 0;
    status = mdf_new_file_commit(first, &compilation->error);
    if (status == MDF_OK) {
        status = mdf_new_file_commit(second, &compilation->error);
        if (status != MDF_OK && is_kept) {
            is_kept = rename(old, first->path) != 0;
        } else if (status != MDF_OK && !replaces) {
            unlink(first->path);
        }
    }
    mdf_new_file_abandon(second);
    if (is_kept) {
        unlink(old);
    }
    mdf_memory_release(&compilation->memory, old);
    return status;
}

/* A header, and the source beside it. */
static mdf_status write_both(struct compilation *compilation)
{
    size_t length = strlen(compilation->output);
    char *path = mdf_memory_allocate(&compilation->memory, length + 1);
    struct mdf_new_file source, header;
    mdf_status status;

    if (path == NULL) {
        return mdf_memory_error(&compilation->memory, &compilation->error);
    }
    memcpy(path, compilation->output, length + 1);
    path[length - 1] = 'c';
    status = prepare(compilation, &source, path, &compilation->source);
    if (status == MDF_OK) {
        status = prepare(compilation, &header, compilation->output, &compilation->header);
        if (status == MDF_OK) {
            status = commit_both(compilation, &source, &header);
        } else {
            mdf_new_file_abandon(&source);
        }
    }
    mdf_memory_release(&compilation->memory, path);
    return status;
}

static mdf_status write_output(struct compilation *compilation)
{
    if (mdf_ends_with(compilation->output, ".so")) {
        return compile_library(&compilation->memory, &compilation->source, compilation->output, &compilation->error);
    }
    return mdf_ends_with(compilation->output, ".h") ? write_both(compilation)
                                                    : write_file(compilation, compilation->output, &compilation->source);
}

/* The model as text, in compilation->source and ->header. */
static int make_text(struct compilation *compilation, const mdf_program *program)
{
    const char *slash = strrchr(compilation->output, '/'), *base = slash != NULL ? slash + 1 : compilation->output;
    struct mdf_source_options how = {compilation->name, mdf_ends_with(compilation->output, ".h") ? base : NULL};

    return make_source(&compilation->options, program, &compilation->warnings, &how, &compilation->source,
                       how.header != NULL ? &compilation->header : NULL, &compilation->error);
}

/* ------------------------------------------------------------------ tunable parameters */

/* Names of parameters; the texts lie in the arena. */
struct names {
    struct mdf_arena *arena;
    const char **items;
    size_t n;
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

static bool split(struct names *names, const char *text)
{
    size_t length;

    for (; *text != '\0'; text += length + (text[length] == ',')) {
        length = strcspn(text, ",");
        if (length > 0 && !add_name(names, text, length)) {
            return false;
        }
    }
    return true;
}

static bool add_all(struct names *names, const mdf_program *program)
{
    size_t i, j;

    for (i = 0; i < mdf_program_n_nodes(program); i++) {
        for (j = 0; j < mdf_program_n_parts(program, i, MDF_PART_PARAMETER); j++) {
            const char *name = mdf_arena_printf(names->arena, "%s.%s", mdf_program_node_id(program, i),
                                                mdf_program_part_id(program, i, MDF_PART_PARAMETER, j));

            if (name == NULL || !add_name(names, name, strlen(name))) {
                return false;
            }
        }
    }
    return true;
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
    if (!add_all(names, program)) {
        return false;
    }
    n = names->n;
    names->n = 0;
    return keep_possible(names, 0, n, model, &quiet, error);
}

/* The program, in which the parameters that are to be tunable are changeable. NULL: the error is set. */
static mdf_program *compile_tunable(struct compilation *compilation, const mdf_model *model)
{
    const mdf_options *options = &compilation->options.library;
    bool are_all = compilation->tunable != NULL && strcmp(compilation->tunable, "all") == 0, done = true;
    mdf_program *program = NULL;
    struct mdf_arena arena;
    struct names names = {&arena, NULL, 0};

    mdf_arena_init(&arena, &compilation->memory);
    if (are_all) {
        program = mdf_compile(model, options, &compilation->error);
        done = program == NULL || find_all(&names, model, program, options, &compilation->error);
        mdf_program_free(program);
        program = NULL;
    } else if (compilation->tunable != NULL) {
        done = split(&names, compilation->tunable);
    }
    if (!done) {
        mdf_memory_error(&compilation->memory, &compilation->error);
    } else if (compilation->error.code == MDF_OK) {
        program = mdf_compile_changeable(model, names.items, names.n, options, &compilation->error);
    }
    mdf_arena_release(&arena);
    return program;
}

/* ------------------------------------------------------------------ compile */

static int compile(struct compilation *compilation)
{
    struct run_options *options = &compilation->options;
    mdf_program *program = NULL;
    mdf_model *model = NULL;
    int status = load_plugins(options, &compilation->error);

    if (status == EXIT_DONE) {
        status = load_model(options, &model, &compilation->error);
        compilation->model = model;
        compilation->warnings.model = model;
    }
    if (status == EXIT_DONE) {
        status = check_graph(options, model, &compilation->error);
    }
    if (status == EXIT_DONE) {
        status = read_given_parameters(&compilation->memory, options, &compilation->parameters, &compilation->error);
    }
    if (status == EXIT_DONE) {
        program = compile_tunable(compilation, model);
        status = program != NULL ? make_text(compilation, program) : compile_status(&compilation->error);
    }
    if (status == EXIT_DONE && write_output(compilation) != MDF_OK) {
        status = EXIT_MODEL;
    }
    mdf_program_free(program);
    return status;
}

int main(int argc, char **argv)
{
    struct compilation compilation = {.options = {.dt = (double)NAN}};
    bool ends;
    int status = parse(argc, argv, &compilation, &ends);

    mdf_memory_init(&compilation.memory, NULL, 0);
    mdf_text_init(&compilation.parameters, &compilation.memory);
    mdf_text_init(&compilation.source, &compilation.memory);
    mdf_text_init(&compilation.header, &compilation.memory);
    if (status == EXIT_DONE && !ends) {
        status = start_messages(&compilation.warnings, &compilation.options.library, &compilation.error) ? compile(&compilation)
                                                                                                          : EXIT_MODEL;
    }
    if (compilation.error.code != MDF_OK) {
        print_errors(&compilation.warnings, &compilation.error, status == EXIT_MODEL ? compilation.options.model_path : "mdf-compile");
    }
    end_messages(&compilation.warnings);
    mdf_model_free(compilation.model);
    mdf_text_release(&compilation.parameters);
    mdf_text_release(&compilation.source);
    mdf_text_release(&compilation.header);
    release_run_options(&compilation.options);
    return status;
}
