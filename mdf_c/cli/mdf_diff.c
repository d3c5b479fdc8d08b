/* mdf_diff.c - the program mdf-diff: two models compared by what they mean. See docs/man/mdf-diff.1. */
#include "mdf_c/cli/command_line.h"
#include "mdf_c/cli/completion.h"
#include "mdf_c/cli/programs.h"
#include "mdf_c/cli/reports/messages.h"
#include "mdf_c/model/model.h"
#include "mdf_c/write/compare_models.h"

#include <stdio.h>

enum { EXIT_SAME = 0, EXIT_DIFFERENT = 1, EXIT_TROUBLE = 2 }; /* as diff has it */

static const char help[] =
    "usage: mdf-diff [options] A B\n"
    "Tells where two models (.json .yaml .yml .bson .onnx) mean something else: + only in B, - only in A, ~ A -> B. Formats,\n"
    "the order of keys, and entries that say what holds without them do not count. Exit status: 0 the same, 1 they differ,\n"
    "2 something is wrong.\n"
    "  -q, --quiet               tell nothing: the exit status says it\n" MESSAGE_HELP
    "  -h, --help, --version, --completion SHELL   the last: what bash, zsh or fish needs to complete the options\n";

struct diff_options {
    bool quiet;
};

#define FIELD(name) offsetof(struct diff_options, name)

static const struct option_row rows[] = {
    {"quiet", 'q', ARGUMENT_FLAG, .offset = FIELD(quiet)},
    COMMON_ROWS,
};

static const struct command_line line = {"mdf-diff", help, rows, sizeof rows / sizeof *rows};

static int compare(const mdf_model *a, const mdf_model *b, bool quiet)
{
    struct mdf_memory memory;
    struct mdf_text text;
    mdf_error error = {0};
    size_t n = 0;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    if (!mdf_compare_models(a, b, &text, &n)) {
        mdf_memory_error(&memory, &error);
    } else if (!quiet && text.length > 0) {
        print_output(text.bytes, text.length, &error);
    }
    mdf_text_release(&text);
    if (error.code != MDF_OK) {
        print_error(&error, "mdf-diff");
        return EXIT_TROUBLE;
    }
    return n > 0 ? EXIT_DIFFERENT : EXIT_SAME;
}

static mdf_model *load(const char *path)
{
    struct warning_printer printer = {0};
    mdf_options options = {.size = sizeof options};
    mdf_error error = {0};
    mdf_model *model = NULL;

    if (start_messages(&printer, &options, &error)) {
        options.warning = NULL; /* they are told where a model is run or checked */
        model = mdf_model_load_file_as(path, NULL, &options, &error);
    }
    if (model == NULL) {
        print_errors(&printer, &error, path);
    }
    end_messages(&printer);
    return model;
}

int diff_program(int argc, char **argv)
{
    struct diff_options options = {0};
    int exit_status;
    size_t n_names;
    char **names = read_command_line(&line, argc, argv, &options, &n_names, &exit_status);
    mdf_model *a, *b;

    if (names == NULL) {
        return exit_status;
    }
    if (n_names != 2) {
        return usage_error(&line, "two file names are needed");
    }
    a = load(names[0]);
    b = a != NULL ? load(names[1]) : NULL;
    exit_status = b != NULL ? compare(a, b, options.quiet) : EXIT_TROUBLE;
    mdf_model_free(a);
    mdf_model_free(b);
    return exit_status;
}
