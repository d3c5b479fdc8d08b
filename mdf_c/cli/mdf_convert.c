/* mdf_convert.c - the program mdf-convert: a model in one format into another. See docs/man/mdf-convert.1. */
#include "mdf_c/cli/messages.h"
#include "mdf_c/cli/options.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: mdf-convert [options] IN OUT\n"
    "Converts a model between JSON (.json), YAML (.yaml, .yml) and BSON (.bson), and from ONNX (.onnx); the formats follow\n"
    "the suffixes. OUT appears whole or not at all.\n"
    "      --weights-beside BYTES  arrays of at least so many bytes go into the NumPy archive OUT.npz, which OUT refers to. "
    "From\n"
    "                              ONNX, and where IN has arrays beside it, the default is 1M; else all stay in OUT\n"
    "      --weights-inside        all arrays stay in OUT\n"
    "  -h, --help, --version\n";

/* One call of the program. */
struct conversion {
    const char *source, *target;
    size_t beside_bytes; /* as mdf_model_save_file_parted takes it */
};

static int convert(const struct conversion *conversion)
{
    struct warning_printer warnings = {0};
    mdf_options options = {.warning = print_warning, .warning_context = &warnings};
    mdf_error error = {0};
    mdf_model *model = mdf_model_load_file_as(conversion->source, NULL, &options, &error);

    if (model == NULL) {
        print_error(&error, conversion->source);
        return error.code == MDF_USAGE ? EXIT_USAGE : EXIT_MODEL;
    }
    if (mdf_model_save_file_parted(model, conversion->target, conversion->beside_bytes, &error) != MDF_OK) {
        print_error(&error, conversion->target);
    }
    mdf_model_free(model);
    return error.code == MDF_OK ? EXIT_DONE : error.code == MDF_USAGE ? EXIT_USAGE : EXIT_MODEL;
}

static int usage_error(const char *what, const char *argument)
{
    fprintf(stderr, "mdf-convert: error: %s%s\nTry 'mdf-convert --help'.\n", what, argument);
    return EXIT_USAGE;
}

/* Reads the command line; an exit status, or EXIT_DONE. */
static int parse(int argc, char **argv, struct conversion *conversion)
{
    int i;

    for (i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--weights-inside") == 0) {
            conversion->beside_bytes = SIZE_MAX;
        } else if (strcmp(argv[i], "--weights-beside") == 0) {
            if (i + 1 == argc || !parse_bytes(argv[i + 1], &conversion->beside_bytes) || conversion->beside_bytes == 0) {
                return usage_error("--weights-beside needs a number of bytes, as 100000 or 4M", "");
            }
            i++;
        } else if (argv[i][0] == '-') {
            return usage_error("unknown option ", argv[i]);
        } else if (conversion->source == NULL) {
            conversion->source = argv[i];
        } else if (conversion->target == NULL) {
            conversion->target = argv[i];
        } else {
            return usage_error("one file name too many: ", argv[i]);
        }
    }
    return conversion->target != NULL ? EXIT_DONE : usage_error("two file names are needed", "");
}

int main(int argc, char **argv)
{
    struct conversion conversion = {0};
    int exit_status;

    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(help, stdout);
        return EXIT_DONE;
    }
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        puts("mdf-convert " MDF_VERSION);
        return EXIT_DONE;
    }
    exit_status = parse(argc, argv, &conversion);
    return exit_status == EXIT_DONE ? convert(&conversion) : exit_status;
}
