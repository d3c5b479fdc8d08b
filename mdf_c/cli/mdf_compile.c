/* mdf_compile.c - the program mdf-compile: a model as C source, or as a shared library made of it. See docs/man/mdf-compile.1. */
#include "mdf_c/cli/completion.h"
#include "mdf_c/cli/compiling/compile_library.h"
#include "mdf_c/cli/load_model.h"
#include "mdf_c/cli/compiling/make_source.h"
#include "mdf_c/cli/programs.h"
#include "mdf_c/cli/compiling/source_request.h"
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
    "      --lanes N             NAME_lanes_step too: N instances side by side, a power of two from 2 to 64\n"
    "      --derivatives         NAME_derivatives too: the right-hand side of the model's differential equation\n"
    "      --gradient RESULT --of NODE.PARAMETER,... [--steps N]   in place of the model: that result after N steps, and its "
    "derivatives\n"
    "      --tunable NODE.PARAMETER,...|all   parameters that become fields of the struct, with the model's values at "
    "first\n" SOURCE_HELP MESSAGE_HELP
    "  -h, --help, --version, --completion SHELL   the last: what bash, zsh or fish needs to complete the options\n";

struct compilation {
    struct source_request request;
    const char *output;
    bool derivatives;
    uint64_t n_lanes;
    const char *gradient, *gradient_of; /* NULL: none */
    uint64_t n_steps;
    struct mdf_text source, header;
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

enum { MOST_LANES = 64 };

#define FIELD(name) offsetof(struct compilation, name)

static const struct option_row rows[] = {
    {"output", 'o', ARGUMENT_TEXT, .offset = FIELD(output), .fault = output_fault},
    {"derivatives", '\0', ARGUMENT_FLAG, .offset = FIELD(derivatives)},
    {"lanes", '\0', ARGUMENT_COUNT, .offset = FIELD(n_lanes), .least = 2, .most = MOST_LANES},
    {"gradient", '\0', ARGUMENT_TEXT, .offset = FIELD(gradient)},
    {"of", '\0', ARGUMENT_TEXT, .offset = FIELD(gradient_of)},
    {"steps", 'n', ARGUMENT_COUNT, .offset = FIELD(n_steps), .least = 1},
    SOURCE_ROWS(struct compilation, request),
    COMMON_ROWS,
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
    if ((compilation->gradient == NULL) != (compilation->gradient_of == NULL)) {
        return usage_error(&line, "--gradient goes with --of NODE.PARAMETER");
    }
    if (compilation->gradient != NULL && (compilation->derivatives || compilation->request.tunable != NULL)) {
        return usage_error(&line, "--gradient does not go with --derivatives or --tunable");
    }
    if (compilation->derivatives && mdf_method_takes_own_steps(compilation->request.options.library.method)) {
        return usage_error(&line, "--derivatives goes with methods of fixed steps: others keep where they are between states that are set");
    }
    if (compilation->gradient == NULL && compilation->n_steps > 0) {
        return usage_error(&line, "--steps goes with --gradient");
    }
    if ((compilation->n_lanes & (compilation->n_lanes - 1)) != 0 && compilation->n_lanes > 0) {
        return usage_error(&line, "--lanes must be a power of two");
    }
    return take_model_path(&compilation->request, &line, names, n_names, compilation->output);
}

/* ------------------------------------------------------------------ output */

/* Opens a file and writes it, beside its place. */
static mdf_status prepare(struct compilation *compilation, struct mdf_new_file *file, const char *path,
                          const struct mdf_text *text)
{
    mdf_status status = mdf_new_file_open(file, &compilation->request.memory, path, &compilation->request.error);

    if (status == MDF_OK) {
        status = mdf_new_file_write(file, text->bytes, text->length, &compilation->request.error);
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

    return status == MDF_OK ? mdf_new_file_commit(&file, &compilation->request.error) : status;
}

/* Puts two files into their places: both or none. (A process that is killed in between leaves a header that the source refuses.)
 */
static mdf_status commit_both(struct compilation *compilation, struct mdf_new_file *first, struct mdf_new_file *second)
{
    size_t size = strlen(first->path) + 32;
    char *old = mdf_memory_allocate(&compilation->request.memory, size);
    bool replaces, is_kept = false;
    mdf_status status;

    if (old == NULL) {
        mdf_new_file_abandon(first);
        mdf_new_file_abandon(second);
        return mdf_memory_error(&compilation->request.memory, &compilation->request.error);
    }
    snprintf(old, size, "%s.%ld.old", first->path, (long)getpid());
    replaces = access(first->path, F_OK) == 0;
    is_kept = replaces && first->temporary != NULL && link(first->path, old) == 0;
    status = mdf_new_file_commit(first, &compilation->request.error);
    if (status == MDF_OK) {
        status = mdf_new_file_commit(second, &compilation->request.error);
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
    mdf_memory_release(&compilation->request.memory, old);
    return status;
}

/* A header, and the source beside it. */
static mdf_status write_both(struct compilation *compilation)
{
    size_t length = strlen(compilation->output);
    char *path = mdf_memory_allocate(&compilation->request.memory, length + 1);
    struct mdf_new_file source, header;
    mdf_status status;

    if (path == NULL) {
        return mdf_memory_error(&compilation->request.memory, &compilation->request.error);
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
    mdf_memory_release(&compilation->request.memory, path);
    return status;
}

static mdf_status write_output(struct compilation *compilation)
{
    if (mdf_ends_with(compilation->output, ".so")) {
        return compile_library(&compilation->request.memory, &compilation->source, compilation->output, LIBRARY_OWN,
                               &compilation->request.error);
    }
    return mdf_ends_with(compilation->output, ".h") ? write_both(compilation)
                                                    : write_file(compilation, compilation->output, &compilation->source);
}

/* The model as text, in compilation->source and ->header. */
static int make_text(struct compilation *compilation, const mdf_program *program)
{
    const char *slash = strrchr(compilation->output, '/'), *base = slash != NULL ? slash + 1 : compilation->output;
    struct mdf_source_options how = {compilation->request.name, mdf_ends_with(compilation->output, ".h") ? base : NULL, NULL,
                                     compilation->derivatives, false, NULL, (size_t)compilation->n_lanes};

    return make_source(&compilation->request.options, program, &compilation->request.warnings, &how, true, &compilation->source,
                       how.header != NULL ? &compilation->header : NULL, &compilation->request.error);
}

/* ------------------------------------------------------------------ compile */

static int compile(struct compilation *compilation)
{
    struct source_request *request = &compilation->request;
    mdf_program *program = NULL;
    int status = load_source_model(request);

    if (status == EXIT_DONE) {
        program = compilation->gradient != NULL
                      ? compile_request_gradient(request, compilation->gradient, compilation->gradient_of,
                                                 compilation->n_steps > 0 ? compilation->n_steps : 1)
                      : compile_tunable(request, compilation->derivatives);
        status = program != NULL ? make_text(compilation, program) : compile_status(&request->error);
    }
    if (status == EXIT_DONE && write_output(compilation) != MDF_OK) {
        status = EXIT_MODEL;
    }
    mdf_program_free(program);
    return status;
}

int compile_program(int argc, char **argv)
{
    struct compilation compilation = {.request = {.options = {.dt = (double)NAN}}};
    bool ends;
    int status = parse(argc, argv, &compilation, &ends);

    begin_source_request(&compilation.request);
    mdf_text_init(&compilation.source, &compilation.request.memory);
    mdf_text_init(&compilation.header, &compilation.request.memory);
    if (status == EXIT_DONE && !ends) {
        status = compile(&compilation);
    }
    mdf_text_release(&compilation.source);
    mdf_text_release(&compilation.header);
    return end_source_request(&compilation.request, "mdf-compile", status);
}
