/* mdf_convert.c - the program mdf-convert: a model in one format into another. See docs/man/mdf-convert.1. */
#include "mdf_c/cli/messages.h"
#include "mdf_c/cli/options.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: mdf-convert IN OUT\n"
    "Converts a model between JSON (.json), YAML (.yaml, .yml) and BSON (.bson), and from ONNX (.onnx); the formats follow\n"
    "the suffixes. OUT appears whole or not at all.\n"
    "  -h, --help, --version\n";

static int convert(const char *source, const char *target)
{
    struct warning_printer warnings = {0};
    mdf_options options = {.warning = print_warning, .warning_context = &warnings};
    mdf_error error = {0};
    mdf_model *model = mdf_model_load_file_as(source, NULL, &options, &error);

    if (model == NULL) {
        print_error(&error, source);
        return error.code == MDF_USAGE ? EXIT_USAGE : EXIT_MODEL;
    }
    if (mdf_model_save_file(model, target, &error) != MDF_OK) {
        print_error(&error, target);
    }
    mdf_model_free(model);
    return error.code == MDF_OK ? EXIT_DONE : error.code == MDF_USAGE ? EXIT_USAGE : EXIT_MODEL;
}

int main(int argc, char **argv)
{
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(help, stdout);
        return EXIT_DONE;
    }
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        puts("mdf-convert " MDF_VERSION);
        return EXIT_DONE;
    }
    if (argc != 3 || argv[1][0] == '-' || argv[2][0] == '-') {
        fputs("mdf-convert: error: two file names are needed\nTry 'mdf-convert --help'.\n", stderr);
        return EXIT_USAGE;
    }
    return convert(argv[1], argv[2]);
}
