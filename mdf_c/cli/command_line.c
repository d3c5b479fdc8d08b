/* command_line.c - see command_line.h. */
#include "mdf_c/cli/command_line.h"

#include "mdf_c/base/error.h"
#include "mdf_c/cli/completion.h"
#include "mdf_c/cli/reports/messages.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int usage_error(const struct command_line *line, const char *format, ...)
{
    mdf_error error = {0};
    va_list values;

    va_start(values, format);
    mdf_error_set_v(&error, MDF_USAGE, format, values);
    va_end(values);
    print_error(&error, line->program);
    if (!are_messages_json()) {
        fprintf(stderr, "Try '%s --help'.\n", line->program);
    }
    return EXIT_USAGE;
}

/* ------------------------------------------------------------------ the texts of options */

static bool parse_count(const char *text, uint64_t *count)
{
    char *end;

    errno = 0;
    *count = strtoull(text, &end, 10);
    return mdf_is_digit(text[0]) && *end == '\0' && errno == 0;
}

/* "512M": a number of bytes, with a factor of 1024, 1024^2 or 1024^3; or "none". */
static bool parse_bytes(const char *text, size_t *n_bytes)
{
    static const char factors[] = "KMG";
    size_t length = strlen(text), n_factors = 0;
    const char *factor = length > 0 ? strchr(factors, text[length - 1]) : NULL;
    char digits[32];
    uint64_t count;

    if (strcmp(text, "none") == 0) {
        *n_bytes = SIZE_MAX;
        return true;
    }
    if (length >= sizeof digits) {
        return false;
    }
    memcpy(digits, text, length + 1);
    if (factor != NULL) {
        digits[length - 1] = '\0';
        n_factors = (size_t)(factor - factors) + 1;
    }
    if (!parse_count(digits, &count)) {
        return false;
    }
    *n_bytes = (size_t)count;
    for (; n_factors > 0; n_factors--) {
        if (!mdf_size_multiply(*n_bytes, 1024, n_bytes)) {
            return false;
        }
    }
    return true;
}

static bool parse_real(const char *text, double *real)
{
    int64_t integer;
    bool is_integer;

    return mdf_parse_python_number(text, real, &integer, &is_integer) && isfinite(*real);
}

const char *input_fault(const char *text)
{
    const char *value = strchr(text, '=');

    if (value == NULL || value == text) {
        return "must have the form NAME=VALUE";
    }
    return value[1] == '\0' || strcmp(value, "=@") == 0 ? "must have the form NAME=VALUE, with a VALUE in JSON or @FILE" : NULL;
}

static int set_count(const struct command_line *line, const struct option_row *row, const char *text, uint64_t *count)
{
    uint64_t most = row->most != 0 ? row->most : row->argument == ARGUMENT_INTEGER ? INT_MAX : UINT64_MAX;

    if (!parse_count(text, count) || *count < row->least || *count > most) {
        return usage_error(line, "--%s must be a whole number from %" PRIu64 " to %" PRIu64 ", not '%s'", row->name, row->least,
                           most, text);
    }
    return EXIT_DONE;
}

static int set_word(const struct command_line *line, const struct option_row *row, const char *text, int *place)
{
    char words[100] = "";
    size_t used = 0;

    for (size_t i = 0; row->words[i] != NULL; i++) {
        if (strcmp(row->words[i], text) == 0) {
            *place = (int)(row->least + i);
            return EXIT_DONE;
        }
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", i > 0 ? " or " : "", row->words[i]);
    }
    return usage_error(line, "--%s must be %s, not '%s'", row->name, words, text);
}

static int set_color(const struct command_line *line, const struct option_row *row, const char *text)
{
    int place = COLOR_AUTO, exit_status = set_word(line, row, text, &place);

    if (exit_status == EXIT_DONE) {
        color_messages((enum color)place);
    }
    return exit_status;
}

static int out_of_memory(const struct command_line *line)
{
    fprintf(stderr, "%s: error: out of memory\n", line->program);
    return EXIT_MODEL;
}

static int add_text(const struct command_line *line, struct option_texts *texts, size_t capacity, const char *text)
{
    if (texts->items == NULL) {
        texts->items = calloc(capacity, sizeof *texts->items);
    }
    if (texts->items == NULL) {
        return out_of_memory(line);
    }
    texts->items[texts->n++] = text;
    return EXIT_DONE;
}

void release_option_texts(struct option_texts *texts)
{
    free((void *)texts->items);
    *texts = (struct option_texts){0};
}

/* Sets the field of an option; `next` is the argument behind it, no more than `capacity` texts are ever given. */
static int set_option(const struct command_line *line, const struct option_row *row, const char *text, const char *next,
                      size_t capacity, void *field)
{
    const char *fault = row->fault != NULL && text != NULL ? row->fault(text) : NULL;
    int exit_status = EXIT_DONE;
    uint64_t count;

    if (fault != NULL) {
        return usage_error(line, "--%s %s, not '%s'", row->name, fault, text);
    }
    switch (row->argument) {
    case ARGUMENT_FLAG:
        *(bool *)field = true;
        break;
    case ARGUMENT_CHOICE:
        *(int *)field = (int)row->least;
        break;
    case ARGUMENT_WORD:
        return set_word(line, row, text, field);
    case ARGUMENT_TEXT:
        *(const char **)field = text;
        break;
    case ARGUMENT_TEXTS:
        return add_text(line, field, capacity, text);
    case ARGUMENT_COUNT:
        return set_count(line, row, text, field);
    case ARGUMENT_INTEGER:
        exit_status = set_count(line, row, text, &count);
        *(int *)field = (int)count;
        break;
    case ARGUMENT_BYTES:
        return parse_bytes(text, field)
                   ? EXIT_DONE
                   : usage_error(line, "--%s must be a number of bytes, as 1000000 or 512M, or none, not '%s'", row->name, text);
    case ARGUMENT_SECONDS:
        return parse_real(text, field) && *(double *)field > 0
                   ? EXIT_DONE
                   : usage_error(line, "--%s must be a number of seconds above 0, not '%s'", row->name, text);
    case ARGUMENT_POSITIVE:
        return parse_real(text, field) && *(double *)field > 0
                   ? EXIT_DONE
                   : usage_error(line, "--%s must be a number above 0, not '%s'", row->name, text);
    case ARGUMENT_REAL:
        return parse_real(text, field) ? EXIT_DONE : usage_error(line, "--%s must be a finite number, not '%s'", row->name, text);
    case ARGUMENT_JSON:
        write_messages_as_json();
        break;
    case ARGUMENT_COLOR:
        return set_color(line, row, text);
    case ARGUMENT_OPTIONAL:
        *(struct optional_text *)field = (struct optional_text){true, text, next};
        break;
    case ARGUMENT_HELP:
    case ARGUMENT_VERSION:
    case ARGUMENT_PAGE:
    case ARGUMENT_COMPLETION:
        break;
    }
    return exit_status;
}

/* ------------------------------------------------------------------ what is asked for in place of the program's work */

static bool asks(const struct option_row *row)
{
    return row->argument == ARGUMENT_HELP || row->argument == ARGUMENT_VERSION || row->argument == ARGUMENT_PAGE ||
           row->argument == ARGUMENT_COMPLETION;
}

static int answer(const struct command_line *line, const struct option_row *row, const char *argument)
{
    struct mdf_memory memory;
    mdf_error error = {0};
    struct mdf_text text;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    if (row->argument == ARGUMENT_HELP) {
        mdf_text_append(&text, line->help, strlen(line->help));
    } else if (row->argument == ARGUMENT_VERSION) {
        mdf_text_printf(&text, "%s " MDF_VERSION "\n", line->program);
    } else if (row->argument == ARGUMENT_COMPLETION) {
        if (!write_completion(&text, line, argument)) {
            return usage_error(line, "--%s must be bash, zsh or fish, not '%s'", row->name, argument);
        }
    } else {
        row->page(&text);
    }
    if (text.failed) {
        mdf_memory_error(&memory, &error);
    } else {
        print_output(text.bytes, text.length, &error);
    }
    if (error.code != MDF_OK) {
        print_error(&error, line->program);
    }
    mdf_text_release(&text);
    return error.code == MDF_OK ? EXIT_DONE : EXIT_MODEL;
}

/* ------------------------------------------------------------------ getopt */

enum { FIRST_CODE = 256 }; /* of options without a letter */

static int code_of(const struct command_line *line, size_t row)
{
    return line->rows[row].letter != '\0' ? line->rows[row].letter : FIRST_CODE + (int)row;
}

static const struct option_row *find_row(const struct command_line *line, int code)
{
    for (size_t i = 0; i < line->n_rows; i++) {
        if (code == code_of(line, i)) {
            return &line->rows[i];
        }
    }
    return NULL;
}

/* As getopt says it. */
static int argument_of(const struct option_row *row)
{
    if (row->argument == ARGUMENT_OPTIONAL) {
        return optional_argument;
    }
    return row->argument != ARGUMENT_FLAG && row->argument != ARGUMENT_JSON && row->argument != ARGUMENT_CHOICE &&
                   (row->argument == ARGUMENT_COMPLETION || !asks(row))
               ? required_argument
               : no_argument;
}

/* `table` has a place more than there are rows, `letters` two for each row and two more. */
static void fill_getopt_table(const struct command_line *line, struct option *table, char *letters)
{
    size_t n = 0;

    letters[n++] = ':'; /* a missing argument is told from an unknown option */
    for (size_t i = 0; i < line->n_rows; i++) {
        table[i].name = line->rows[i].name;
        table[i].has_arg = argument_of(&line->rows[i]);
        table[i].val = code_of(line, i);
        if (line->rows[i].letter != '\0') {
            letters[n++] = line->rows[i].letter;
            if (argument_of(&line->rows[i]) == required_argument) {
                letters[n++] = ':';
            }
        }
    }
}

/* A name that is the beginning of several options, or of none. */
static int unknown_name(const struct command_line *line, const char *name)
{
    size_t length = strcspn(name, "="), n_found = 0, i;
    char found[256] = "", text[64];
    struct mdf_nearest nearest;

    snprintf(text, sizeof text, "%.*s", (int)length, name);
    mdf_nearest_begin(&nearest, text);
    for (i = 0; i < line->n_rows; i++) {
        const char *candidate = line->rows[i].name;

        mdf_nearest_offer(&nearest, candidate);
        if (strncmp(candidate, name, length) == 0) {
            size_t n = strlen(found);

            snprintf(found + n, sizeof found - n, "%s--%s", n_found++ > 0 ? ", " : "", candidate);
        }
    }
    if (n_found > 1) {
        return usage_error(line, "the option '--%s' can mean %s", text, found);
    }
    return mdf_nearest_result(&nearest) == NULL
               ? usage_error(line, "unknown option '--%s'", text)
               : usage_error(line, "unknown option '--%s'; did you mean '--%s'?", text, mdf_nearest_result(&nearest));
}

/* An option that getopt did not take: `code` is its ':' or '?', `argument` the argument that it stands in. */
static int refuse(const struct command_line *line, int code, const char *argument)
{
    const struct option_row *row = find_row(line, optopt);

    if (row != NULL && code == ':') {
        return usage_error(line, "there is no argument after the option '%s'", argument);
    }
    if (row != NULL) {
        return usage_error(line, "the option '--%s' takes no argument", row->name);
    }
    return optopt == 0 ? unknown_name(line, argument + 2) : usage_error(line, "unknown option '-%c'", optopt);
}

/* Stops at an option that asks for something in place of the program's work: *asked. */
static int read_options(const struct command_line *line, int argc, char **argv, const char *letters, const struct option *table,
                        void *options, const struct option_row **asked)
{
    int exit_status = EXIT_DONE, code;

    opterr = 0;
    while (exit_status == EXIT_DONE && *asked == NULL && (code = getopt_long(argc, argv, letters, table, NULL)) != -1) {
        const struct option_row *row = find_row(line, code);

        if (row == NULL) {
            exit_status = refuse(line, code, argv[optind - 1]);
        } else if (asks(row)) {
            *asked = row;
        } else {
            exit_status = set_option(line, row, optarg, optind < argc ? argv[optind] : NULL, (size_t)argc,
                                     (char *)options + row->offset);
        }
    }
    return exit_status;
}

char **read_command_line(const struct command_line *line, int argc, char **argv, void *options, size_t *n_names, int *exit_status)
{
    struct option *table = calloc(line->n_rows + 1, sizeof *table);
    char *letters = calloc(2 * line->n_rows + 2, 1);
    const struct option_row *asked = NULL;

    *n_names = 0;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) { /* also of what is wrong with options before it */
        if (strcmp(argv[i], "--json-errors") == 0) {
            write_messages_as_json();
        }
    }
    if (table == NULL || letters == NULL) {
        *exit_status = out_of_memory(line);
    } else {
        fill_getopt_table(line, table, letters);
        *exit_status = read_options(line, argc, argv, letters, table, options, &asked);
    }
    free(table);
    free(letters);
    if (asked != NULL) {
        *exit_status = answer(line, asked, optarg);
    }
    if (*exit_status != EXIT_DONE || asked != NULL) {
        return NULL;
    }
    *n_names = (size_t)(argc - optind);
    return argv + optind;
}
