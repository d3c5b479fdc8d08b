/* messages.c - see messages.h. */
#include "mdf_c/cli/reports/messages.h"

#include "mdf_c/base/diagnostics.h"
#include "mdf_c/base/error.h"
#include "mdf_c/base/utf8.h"
#include "mdf_c/cli/given_parameters.h"
#include "mdf_c/values/values.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_READ_BYTES = 1 << 22 }; /* of a file of which a line is shown */

const char *const color_words[] = {"auto", "always", "never", NULL};

static struct {
    bool json;
    enum color color;
} style;

void write_messages_as_json(void)
{
    style.json = true;
}

bool are_messages_json(void)
{
    return style.json;
}

void color_messages(enum color color)
{
    style.color = color;
}

static bool has_color(void)
{
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");

    if (style.color != COLOR_AUTO) {
        return style.color == COLOR_ALWAYS;
    }
    return isatty(STDERR_FILENO) && (no_color == NULL || no_color[0] == '\0') && terminal != NULL &&
           strcmp(terminal, "dumb") != 0;
}

static void print_formatted(const mdf_diagnostic *diagnostic)
{
    unsigned flags = style.json ? MDF_FORMAT_JSON : MDF_FORMAT_SOURCE | (has_color() ? MDF_FORMAT_COLOR : 0u);
    size_t length = mdf_diagnostic_format(diagnostic, flags, NULL, 0);
    char *text = malloc(length + 1);

    if (text == NULL) {
        fprintf(stderr, "error: out of memory\n");
        return;
    }
    mdf_diagnostic_format(diagnostic, flags, text, length + 1);
    fprintf(stderr, "%s\n", text);
    free(text);
}

/* Reads a file that a message points into and that is no model: a sweep's, one of values. Devices and pipes are left alone. */
static bool read_text(struct mdf_memory *memory, const char *path, struct mdf_source *source, void **bytes)
{
    mdf_error error = {0};
    struct stat about;

    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size > MOST_READ_BYTES ||
        mdf_read_file(memory, path, bytes, &source->size, &error) != MDF_OK) {
        return false;
    }
    source->bytes = *bytes;
    return true;
}

/* With the line of the file, where that is not known yet and there is one. */
static void print_diagnostic(const mdf_diagnostic *diagnostic)
{
    mdf_diagnostics *list = NULL;
    mdf_diagnostic shown = *diagnostic, found;
    struct mdf_source source = {NULL};
    struct mdf_memory memory;
    mdf_error place = {.code = MDF_VALUE, .line = diagnostic->line, .column = diagnostic->column};
    void *bytes = NULL;

    mdf_memory_init(&memory, NULL, 0);
    if (diagnostic->source == NULL && diagnostic->line > 0 && read_text(&memory, diagnostic->file, &source, &bytes)) {
        list = mdf_diagnostics_new(NULL, NULL);
        snprintf(place.file, sizeof place.file, "%s", diagnostic->file);
        mdf_diagnostics_look_at(list, &source);
        if (list != NULL) {
            mdf_diagnostics_note(list, diagnostic->severity, NULL, &place);
        }
    }
    if (mdf_diagnostics_get(list, 0, &found) && found.source != NULL) {
        shown.source = found.source;
        shown.source_column = found.source_column;
        shown.end_column = found.end_column;
    }
    print_formatted(&shown);
    mdf_diagnostics_free(list);
    mdf_memory_release(&memory, bytes);
}

/* ------------------------------------------------------------------ warnings */

bool start_messages(struct warning_printer *printer, mdf_options *options, mdf_error *error)
{
    printer->list = mdf_diagnostics_new(NULL, error);
    options->diagnostics = printer->list;
    options->warning = print_warning;
    options->warning_context = printer;
    return printer->list != NULL;
}

void end_messages(struct warning_printer *printer)
{
    mdf_diagnostics_free(printer->list);
    printer->list = NULL;
}

/* The warning in the list; false: it is not there. */
static bool find_warning(const struct warning_printer *printer, const mdf_error *warning, mdf_diagnostic *found)
{
    size_t i = mdf_diagnostics_length(printer->list) - mdf_diagnostics_n_errors(printer->list);

    while (i-- > 0) {
        if (mdf_diagnostics_get(printer->list, i, found) && found->line == warning->line && found->column == warning->column &&
            strcmp(found->path, warning->path) == 0 && strcmp(found->message, warning->message) == 0) {
            return true;
        }
    }
    return false;
}

/* What is known of an error without a list. */
static mdf_diagnostic bare(const mdf_error *error, mdf_severity severity)
{
    return (mdf_diagnostic){.severity = severity,
                            .line = error->line,
                            .column = error->column,
                            .file = error->file,
                            .path = error->path,
                            .message = error->message[0] != '\0' ? error->message : mdf_status_text(error->code)};
}

void print_warning(void *context, const mdf_error *warning)
{
    struct warning_printer *printer = context;
    mdf_diagnostic diagnostic;

    printer->n_warnings++;
    mdf_diagnostics_add(printer->list, printer->model, MDF_SEVERITY_WARNING, warning, NULL);
    if (!find_warning(printer, warning, &diagnostic)) {
        diagnostic = bare(warning, MDF_SEVERITY_WARNING);
    }
    place_given_parameter(printer->given, &diagnostic);
    diagnostic.severity = printer->strict ? MDF_SEVERITY_ERROR : MDF_SEVERITY_WARNING;
    print_diagnostic(&diagnostic);
}

/* ------------------------------------------------------------------ errors */

static mdf_error with_file(const mdf_error *error, const char *file)
{
    mdf_error named = *error;

    if (file != NULL && named.file[0] == '\0') {
        mdf_visible_text(file, named.file, sizeof named.file);
    }
    return named;
}

void print_errors(struct warning_printer *printer, const mdf_error *error, const char *file)
{
    mdf_error named = with_file(error, file);
    mdf_diagnostic diagnostic;
    size_t n = 0;

    mdf_diagnostics_add(printer->list, printer->model, MDF_SEVERITY_ERROR, &named, NULL);
    for (size_t i = 0; mdf_diagnostics_get(printer->list, i, &diagnostic); i++) {
        if (diagnostic.severity == MDF_SEVERITY_ERROR) {
            if (diagnostic.file[0] == '\0') {
                diagnostic.file = named.file;
            }
            place_given_parameter(printer->given, &diagnostic);
            print_diagnostic(&diagnostic);
            n++;
        }
    }
    if (n == 0) {
        diagnostic = bare(&named, MDF_SEVERITY_ERROR);
        place_given_parameter(printer->given, &diagnostic);
        print_diagnostic(&diagnostic);
    } else if (n == MDF_MOST_ERRORS && !style.json) {
        fprintf(stderr, "These are the first %d errors; there may be more.\n", MDF_MOST_ERRORS);
    }
}

void print_error(const mdf_error *error, const char *file)
{
    struct warning_printer printer = {.list = mdf_diagnostics_new(NULL, NULL)};

    print_errors(&printer, error, file);
    end_messages(&printer);
}

mdf_status print_output(const char *bytes, size_t length, mdf_error *error)
{
    if ((length == 0 || fwrite(bytes, 1, length, stdout) == length) && fflush(stdout) == 0) {
        return MDF_OK;
    }
    mdf_error_set(error, MDF_FILE, "it can not be written: %s", strerror(errno));
    mdf_error_at(error, "standard output", 0, 0);
    return MDF_FILE;
}
