/* command_line.h - the options of a program. A table has a row for each: how it is written, and which field it sets. */
#ifndef MDF_CLI_COMMAND_LINE_H
#define MDF_CLI_COMMAND_LINE_H

#include "mdf_c/base/printf_like.h"
#include "mdf_c/base/text.h"
#include "mdf_c/cli/reports/messages.h"

/* Exit statuses of the programs. */
enum { EXIT_DONE = 0, EXIT_MODEL = 1, EXIT_USAGE = 2 };

/* What follows an option, and so what its field is. */
enum argument {
    ARGUMENT_FLAG,    /* nothing: bool, becomes true */
    ARGUMENT_CHOICE,  /* nothing: int, becomes `least` */
    ARGUMENT_WORD,    /* one of `words`: int, from `least` on, by its place among them */
    ARGUMENT_TEXT,    /* const char * */
    ARGUMENT_TEXTS,   /* struct option_texts; the option may be given again */
    ARGUMENT_COUNT,   /* uint64_t, from `least` to `most` */
    ARGUMENT_INTEGER, /* int, from `least` to `most` */
    ARGUMENT_BYTES,   /* size_t, as in 512M; SIZE_MAX for "none" */
    ARGUMENT_SECONDS, /* double, more than 0 */
    ARGUMENT_REAL,    /* double, finite */
    ARGUMENT_POSITIVE, /* double, finite, more than 0 */
    ARGUMENT_JSON,    /* nothing: messages are lines of JSON */
    ARGUMENT_COLOR,   /* when messages are coloured, one of color_words */
    ARGUMENT_OPTIONAL, /* a text behind '=', or nothing: struct optional_text */
    ARGUMENT_HELP,    /* nothing: prints the help, and the program ends */
    ARGUMENT_VERSION, /* the same with the version */
    ARGUMENT_PAGE,    /* the same with what `page` writes */
    ARGUMENT_COMPLETION /* one of `words`, a shell: prints what that shell needs to complete this command line, and ends */
};

struct option_row {
    const char *name;
    char letter; /* '\0': none */
    enum argument argument;
    size_t offset;                          /* of the field */
    uint64_t least, most;                   /* `most` 0: whatever the field can hold */
    const char *const *words;               /* NULL behind the last */
    const char *(*fault)(const char *text); /* of a text: what is wrong with it, NULL: nothing */
    void (*page)(struct mdf_text *text);
};

/* The options that all programs have, and what is said of those for their messages. */
#define COMMON_ROWS                                                                                                          \
    {"json-errors", '\0', .argument = ARGUMENT_JSON}, {"color", '\0', .argument = ARGUMENT_COLOR, .words = color_words},     \
        {"completion", '\0', ARGUMENT_COMPLETION, .words = completion_shells}, {"help", 'h', .argument = ARGUMENT_HELP},      \
    {                                                                                                                        \
        "version", '\0', .argument = ARGUMENT_VERSION                                                                        \
    }
#define MESSAGE_HELP                                                                                                    \
    "      --json-errors         errors and warnings as lines of JSON\n"                                                \
    "      --color WHEN          auto, always or never; auto: on a terminal, unless NO_COLOR is set\n"

/* Borrowed from the command line; released by release_option_texts. */
struct option_texts {
    const char **items;
    size_t n;
};

/* Borrowed from the command line. */
struct optional_text {
    bool is_given;
    const char *text; /* NULL: none stood behind '=' */
    const char *next; /* the argument behind the option, which may be meant; NULL: none */
};

struct command_line {
    const char *program, *help;
    const struct option_row *rows;
    size_t n_rows;
};

/* Sets the fields of `options`. Returns the names that are no options, which are *n_names and lie in `argv`. NULL: the program
 * ends with *exit_status; what is to be said has been said. */
char **read_command_line(const struct command_line *line, int argc, char **argv, void *options, size_t *n_names,
                         int *exit_status);
void release_option_texts(struct option_texts *texts);

/* Says on standard error what is wrong, and where help is; returns EXIT_USAGE. */
int usage_error(const struct command_line *line, const char *format, ...) MDF_PRINTF_LIKE(2, 3);

/* What is wrong with the text of an option --input; NULL: nothing. */
const char *input_fault(const char *text);

#endif
