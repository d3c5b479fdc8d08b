/* mdf_convert.c - the program mdf-convert: a model in one format into another. See docs/man/mdf-convert.1. */
#include "mdf_c/base/error.h"
#include "mdf_c/cli/command_line.h"
#include "mdf_c/cli/completion.h"
#include "mdf_c/cli/convert_yaml.h"
#include "mdf_c/cli/programs.h"
#include "mdf_c/cli/reports/messages.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: mdf-convert [options] IN OUT\n"
    "Converts a model between JSON (.json), YAML (.yaml, .yml), BSON (.bson) and ONNX (.onnx); the formats follow the\n"
    "suffixes. OUT appears whole or not at all. To ONNX goes what one evaluation computes (docs/onnx.md).\n"
    "      --weights-beside BYTES  arrays of at least so many bytes go into the NumPy archive OUT.npz, which OUT refers to. "
    "From\n"
    "                              ONNX, and where IN has arrays beside it, the default is 1M; else all stay in OUT\n"
    "      --weights-inside        all arrays stay in OUT\n"
    "      --format                lay the text out anew: the same indentation everywhere, small objects on one line. OUT may be "
    "left\n"
    "                              out then: IN is replaced, unless it has comments, which would go\n"
    "      --float32               to ONNX: reals without a declared type are float32, for which ONNX Runtime has all"
    " kernels\n" MESSAGE_HELP
    "  -h, --help, --version, --completion SHELL   the last: what bash, zsh or fish needs to complete the options\n";

/* 0 bytes would mean the default. */
static const char *beside_fault(const char *text)
{
    return strspn(text, "0KMG") == strlen(text) ? "must be at least 1 byte" : NULL;
}

/* One call of the program. */
struct conversion {
    const char *source, *target;
    size_t beside_bytes; /* as mdf_model_save_file_parted takes it; 0: not given */
    bool inside, float32, format;
};

#define FIELD(name) offsetof(struct conversion, name)

static const struct option_row rows[] = {
    {"weights-beside", '\0', ARGUMENT_BYTES, .offset = FIELD(beside_bytes), .fault = beside_fault},
    {"weights-inside", '\0', ARGUMENT_FLAG, .offset = FIELD(inside)},
    {"format", '\0', ARGUMENT_FLAG, .offset = FIELD(format)},
    {"float32", '\0', ARGUMENT_FLAG, .offset = FIELD(float32)},
    COMMON_ROWS,
};

static const struct command_line line = {"mdf-convert", help, rows, sizeof rows / sizeof *rows};

static bool is_yaml(const char *path)
{
    return mdf_ends_with(path, ".yaml") || mdf_ends_with(path, ".yml");
}

/* YAML to YAML, where arrays stay where they are. *is_done: false where the tree is to be written in place of the text. */
static mdf_status convert_text(const struct conversion *conversion, const mdf_model *model, bool *is_done, mdf_error *error)
{
    *is_done = false;
    return is_yaml(conversion->source) && is_yaml(conversion->target) && conversion->beside_bytes == 0 && !conversion->inside &&
                   !conversion->format && !model->document->is_parted
               ? convert_yaml_text(model, conversion->source, conversion->target, is_done, error)
               : MDF_OK;
}

/* Comments go where the tree is written in place of the text. */
static void warn_of_comments(const struct conversion *conversion, struct warning_printer *warnings)
{
    mdf_error warning = {0};

    if (is_yaml(conversion->source) && find_yaml_comment(conversion->source, &warning.line, &warning.column)) {
        mdf_error_set(&warning, MDF_MODEL, "comments are not kept: this is the first");
        snprintf(warning.file, sizeof warning.file, "%s", conversion->source);
        print_warning(warnings, &warning);
    }
}

/* A file is not replaced by one without its comments. */
static bool keeps_comments(const struct conversion *conversion, mdf_error *error)
{
    int line_number, column;

    if (strcmp(conversion->source, conversion->target) != 0 || !conversion->format || !is_yaml(conversion->source) ||
        !find_yaml_comment(conversion->source, &line_number, &column)) {
        return true;
    }
    mdf_error_set(error, MDF_MODEL,
                  "a text that is laid out anew has no comments, and this file has: name an OUT beside it to go without them");
    mdf_error_at(error, conversion->source, line_number, column);
    return false;
}

static void save_onnx(const mdf_model *model, const char *path, size_t beside_bytes, const mdf_options *options, mdf_error *error)
{
    (void)beside_bytes; /* an .onnx file has its weights inside */
    mdf_model_save_onnx(model, path, options, error);
}

static void save_parted(const mdf_model *model, const char *path, size_t beside_bytes, const mdf_options *options,
                        mdf_error *error)
{
    (void)options;
    mdf_model_save_file_parted(model, path, beside_bytes, error);
}

static int convert(const struct conversion *conversion)
{
    struct warning_printer warnings = {0};
    mdf_options options = {0};
    mdf_error error = {0};
    bool is_done, to_onnx = mdf_ends_with(conversion->target, ".onnx");
    size_t beside_bytes = conversion->inside ? SIZE_MAX : conversion->beside_bytes;
    mdf_model *model = NULL;

    options.float32 = conversion->float32;
    if (start_messages(&warnings, &options, &error)) {
        model = mdf_model_load_file_as(conversion->source, NULL, &options, &error);
    }
    if (model == NULL) {
        print_errors(&warnings, &error, conversion->source);
    } else if (!keeps_comments(conversion, &error)) {
        /* the error is told below */
    } else if (convert_text(conversion, model, &is_done, &error) == MDF_OK && !is_done) {
        (to_onnx ? save_onnx : save_parted)(model, conversion->target, beside_bytes, &options, &error);
        if (error.code == MDF_OK) {
            warn_of_comments(conversion, &warnings);
        }
    }
    if (model != NULL && error.code != MDF_OK) {
        print_errors(&warnings, &error, to_onnx && error.code != MDF_FILE ? conversion->source : conversion->target);
    }
    mdf_model_free(model);
    end_messages(&warnings);
    return error.code == MDF_OK ? EXIT_DONE : error.code == MDF_USAGE ? EXIT_USAGE : EXIT_MODEL;
}

int convert_program(int argc, char **argv)
{
    struct conversion conversion = {0};
    int exit_status;
    size_t n_names;
    char **names = read_command_line(&line, argc, argv, &conversion, &n_names, &exit_status);

    if (names == NULL) {
        return exit_status;
    }
    if (n_names < (conversion.format ? 1 : 2)) {
        return usage_error(&line, conversion.format ? "no model was given" : "two file names are needed");
    }
    if (n_names > 2) {
        return usage_error(&line, "one file name too many: %s", names[2]);
    }
    if (conversion.inside && conversion.beside_bytes > 0) {
        return usage_error(&line, "--weights-inside does not go with --weights-beside");
    }
    conversion.source = names[0];
    conversion.target = names[n_names - 1];
    if (conversion.format && mdf_ends_with(conversion.target, ".onnx")) {
        return usage_error(&line, "--format is for a model that is written as text");
    }
    if (conversion.float32 && !mdf_ends_with(conversion.target, ".onnx")) {
        return usage_error(&line, "--float32 is for a model that is written as ONNX");
    }
    return convert(&conversion);
}
