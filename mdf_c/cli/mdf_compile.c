/* mdf_compile.c - the program mdf-compile: a model as C source, or as a shared library made of it. See docs/man/mdf-compile.1. */
#include "mdf_c/cli/compile_library.h"
#include "mdf_c/cli/make_source.h"
#include "mdf_c/write/new_file.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] = "usage: mdf-compile [options] MODEL -o OUT      MODEL: .json .yaml .yml .bson .onnx\n"
                           "Writes a model as C source that needs C11 and libm only. OUT: out.c; out.h for out.h and out.c; "
                           "out.so, compiled by $CC or cc.\n"
                           "The model is evaluated a few times first, as types and shapes have to be known.\n"
                           "  -o, --output OUT          see above\n"
                           "      --name NAME           of the model in C: NAME_init, NAME_step, ...; default: its id\n"
                           "  -g, --graph ID            the graph; default: the first that no other uses as a body\n"
                           "  -i, --input NAME=VALUE    an input for these evaluations, as in mdf-run; its shape counts\n"
                           "      --inputs FILE         the same from a file\n"
                           "      --dt T                their time increment\n"
                           "      --float32             reals without a declared type are float32, not float64\n"
                           "      --max-iterations N, --max-passes N   bounds on one Loop, and on one evaluation by conditions\n"
                           "      --from FORMAT         json, yaml, bson or onnx, whatever the suffix\n"
                           "  -h, --help, --version\n";

struct compilation {
    struct run_options options;
    const char *output, *name;
    struct mdf_memory memory;
    struct warning_printer warnings;
    struct mdf_text source, header;
    mdf_error error;
};

/* ------------------------------------------------------------------ the command line */

static int usage_error(const char *what, const char *argument)
{
    fprintf(stderr, "mdf-compile: error: %s%s\nTry 'mdf-compile --help'.\n", what, argument);
    return EXIT_USAGE;
}

static bool read_count(const char *text, uint64_t *count)
{
    char *end;

    *count = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0';
}

static bool read_real(const char *text, double *real)
{
    char *end;

    *real = strtod(text, &end);
    return end != text && *end == '\0';
}

enum letter {
    LETTER_NAME = 256,
    LETTER_INPUTS,
    LETTER_DT,
    LETTER_FLOAT32,
    LETTER_ITERATIONS,
    LETTER_PASSES,
    LETTER_FROM,
    LETTER_VERSION
};

static int take_option(struct compilation *compilation, int letter, const char *text)
{
    struct run_options *options = &compilation->options;

    switch (letter) {
    case 'o':
        compilation->output = text;
        return EXIT_DONE;
    case 'g':
        options->library.graph = text;
        return EXIT_DONE;
    case 'i':
        options->inputs[options->n_inputs++] = text;
        return strchr(text, '=') != NULL && text[0] != '=' ? EXIT_DONE
                                                           : usage_error("--input must have the form NAME=VALUE: ", text);
    case LETTER_NAME:
        compilation->name = text;
        return EXIT_DONE;
    case LETTER_INPUTS:
        options->inputs_path = text;
        return EXIT_DONE;
    case LETTER_DT:
        return read_real(text, &options->dt) ? EXIT_DONE : usage_error("--dt must be a number: ", text);
    case LETTER_FLOAT32:
        options->library.float32 = true;
        return EXIT_DONE;
    case LETTER_ITERATIONS:
        return read_count(text, &options->library.max_iterations)
                   ? EXIT_DONE
                   : usage_error("--max-iterations must be a whole number: ", text);
    case LETTER_PASSES:
        return read_count(text, &options->library.max_passes) ? EXIT_DONE
                                                              : usage_error("--max-passes must be a whole number: ", text);
    case LETTER_FROM:
        options->format = text;
        return EXIT_DONE;
    default:
        return usage_error("unknown or wrongly used option", "");
    }
}

static bool has_suffix(const char *path, const char *suffix)
{
    size_t length = strlen(path), n = strlen(suffix);

    return length > n && strcmp(path + length - n, suffix) == 0;
}

static int parse(int argc, char **argv, struct compilation *compilation)
{
    static const struct option table[] = {{"output", required_argument, NULL, 'o'},
                                          {"graph", required_argument, NULL, 'g'},
                                          {"input", required_argument, NULL, 'i'},
                                          {"name", required_argument, NULL, LETTER_NAME},
                                          {"inputs", required_argument, NULL, LETTER_INPUTS},
                                          {"dt", required_argument, NULL, LETTER_DT},
                                          {"float32", no_argument, NULL, LETTER_FLOAT32},
                                          {"max-iterations", required_argument, NULL, LETTER_ITERATIONS},
                                          {"max-passes", required_argument, NULL, LETTER_PASSES},
                                          {"from", required_argument, NULL, LETTER_FROM},
                                          {NULL, 0, NULL, 0}};
    int letter, status = EXIT_DONE;

    while (status == EXIT_DONE && (letter = getopt_long(argc, argv, "o:g:i:", table, NULL)) != -1) {
        status = take_option(compilation, letter, optarg);
    }
    if (status != EXIT_DONE) {
        return status;
    }
    if (optind + 1 != argc) {
        return usage_error(optind == argc ? "no model was given" : "more than one model was given", "");
    }
    compilation->options.model_path = argv[optind];
    if (compilation->output == NULL) {
        return usage_error("--output is needed", "");
    }
    return has_suffix(compilation->output, ".c") || has_suffix(compilation->output, ".h") ||
                   has_suffix(compilation->output, ".so")
               ? EXIT_DONE
               : usage_error("the output must end in .c, .h or .so: ", compilation->output);
}

/* ------------------------------------------------------------------ output */

static mdf_status write_file(struct compilation *compilation, const char *path, const struct mdf_text *text)
{
    struct mdf_new_file file;
    mdf_status status = mdf_new_file_open(&file, &compilation->memory, path, &compilation->error);

    if (status == MDF_OK) {
        status = mdf_new_file_write(&file, text->bytes, text->length, &compilation->error);
        status = status == MDF_OK ? mdf_new_file_commit(&file, &compilation->error) : status;
        mdf_new_file_abandon(&file);
    }
    return status;
}

/* A header, and the source beside it. */
static mdf_status write_both(struct compilation *compilation)
{
    size_t length = strlen(compilation->output);
    char *path = mdf_memory_allocate(&compilation->memory, length + 1);
    mdf_status status;

    if (path == NULL) {
        return mdf_memory_error(&compilation->memory, &compilation->error);
    }
    memcpy(path, compilation->output, length + 1);
    path[length - 1] = 'c';
    status = write_file(compilation, path, &compilation->source);
    mdf_memory_release(&compilation->memory, path);
    return status == MDF_OK ? write_file(compilation, compilation->output, &compilation->header) : status;
}

static mdf_status write_output(struct compilation *compilation)
{
    if (has_suffix(compilation->output, ".so")) {
        return compile_library(&compilation->memory, &compilation->source, compilation->output, &compilation->error);
    }
    return has_suffix(compilation->output, ".h") ? write_both(compilation)
                                                 : write_file(compilation, compilation->output, &compilation->source);
}

static int compile(struct compilation *compilation)
{
    const char *slash = strrchr(compilation->output, '/'), *base = slash != NULL ? slash + 1 : compilation->output;
    struct mdf_source_options how = {compilation->name, has_suffix(compilation->output, ".h") ? base : NULL};
    struct run_options *options = &compilation->options;
    mdf_model *model = mdf_model_load_file_as(options->model_path, options->format, &options->library, &compilation->error);
    mdf_program *program = model == NULL ? NULL : mdf_compile(model, &options->library, &compilation->error);
    int status = compilation->error.code == MDF_USAGE ? EXIT_USAGE : EXIT_MODEL;

    if (program != NULL) {
        status = make_source(options, program, &compilation->warnings, &how, &compilation->source,
                             how.header != NULL ? &compilation->header : NULL, &compilation->error);
    }
    if (status == EXIT_DONE && write_output(compilation) != MDF_OK) {
        status = EXIT_MODEL;
    }
    mdf_program_free(program);
    mdf_model_free(model);
    return status;
}

int main(int argc, char **argv)
{
    struct compilation compilation = {.options = {.dt = (double)NAN}};
    int status;

    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(help, stdout);
        return EXIT_DONE;
    }
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        puts("mdf-compile " MDF_VERSION);
        return EXIT_DONE;
    }
    mdf_memory_init(&compilation.memory, NULL, 0);
    mdf_text_init(&compilation.source, &compilation.memory);
    mdf_text_init(&compilation.header, &compilation.memory);
    compilation.options.library.warning = print_warning;
    compilation.options.library.warning_context = &compilation.warnings;
    compilation.options.inputs = calloc((size_t)argc, sizeof *compilation.options.inputs);
    status = compilation.options.inputs != NULL ? parse(argc, argv, &compilation) : EXIT_MODEL;
    if (status == EXIT_DONE) {
        status = compile(&compilation);
    }
    if (compilation.error.code != MDF_OK) {
        print_error(&compilation.error, compilation.options.model_path);
    }
    mdf_text_release(&compilation.source);
    mdf_text_release(&compilation.header);
    release_run_options(&compilation.options);
    return status;
}
