/* mdf_convert.c - the program mdf-convert: a model in one format into another. See docs/man/mdf-convert.1. */
#include "mdf_c/cli/command_line.h"
#include "mdf_c/cli/messages.h"

#include <string.h>

static const char help[] =
    "usage: mdf-convert [options] IN OUT\n"
    "Converts a model between JSON (.json), YAML (.yaml, .yml) and BSON (.bson), and from ONNX (.onnx); the formats follow\n"
    "the suffixes. OUT appears whole or not at all.\n"
    "      --weights-beside BYTES  arrays of at least so many bytes go into the NumPy archive OUT.npz, which OUT refers to. "
    "From\n"
    "                              ONNX, and where IN has arrays beside it, the default is 1M; else all stay in OUT\n"
    "      --weights-inside        all arrays stay in OUT\n"
    MESSAGE_HELP
    "  -h, --help, --version\n";

/* 0 bytes would mean the default. */
static const char *beside_fault(const char *text)
{
    return strspn(text, "0KMG") == strlen(text) ? "must be at least 1 byte" : NULL;
}

/* One call of the program. */
struct conversion {
    const char *source, *target;
    size_t beside_bytes; /* as mdf_model_save_file_parted takes it; 0: not given */
    bool inside;
};

#define FIELD(name) offsetof(struct conversion, name)

static const struct option_row rows[] = {
    {"weights-beside", '\0', ARGUMENT_BYTES, .offset = FIELD(beside_bytes), .fault = beside_fault},
    {"weights-inside", '\0', ARGUMENT_FLAG, .offset = FIELD(inside)},
    MESSAGE_ROWS,
    {"help", 'h', .argument = ARGUMENT_HELP},
    {"version", '\0', .argument = ARGUMENT_VERSION},
};

static const struct command_line line = {"mdf-convert", help, rows, sizeof rows / sizeof *rows};

static int convert(const struct conversion *conversion)
{
    struct warning_printer warnings = {0};
    mdf_options options = {0};
    mdf_error error = {0};
    size_t beside_bytes = conversion->inside ? SIZE_MAX : conversion->beside_bytes;
    mdf_model *model = NULL;

    if (start_messages(&warnings, &options, &error)) {
        model = mdf_model_load_file_as(conversion->source, NULL, &options, &error);
    }
    if (model == NULL) {
        print_errors(&warnings, &error, conversion->source);
    } else if (mdf_model_save_file_parted(model, conversion->target, beside_bytes, &error) != MDF_OK) {
        print_errors(&warnings, &error, conversion->target);
    }
    mdf_model_free(model);
    end_messages(&warnings);
    return error.code == MDF_OK ? EXIT_DONE : error.code == MDF_USAGE ? EXIT_USAGE : EXIT_MODEL;
}

int main(int argc, char **argv)
{
    struct conversion conversion = {0};
    int exit_status;
    size_t n_names;
    char **names = read_command_line(&line, argc, argv, &conversion, &n_names, &exit_status);

    if (names == NULL) {
        return exit_status;
    }
    if (n_names < 2) {
        return usage_error(&line, "two file names are needed");
    }
    if (n_names > 2) {
        return usage_error(&line, "one file name too many: %s", names[2]);
    }
    if (conversion.inside && conversion.beside_bytes > 0) {
        return usage_error(&line, "--weights-inside does not go with --weights-beside");
    }
    conversion.source = names[0];
    conversion.target = names[1];
    return convert(&conversion);
}
