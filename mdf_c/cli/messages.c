/* messages.c - see messages.h. */
#include "mdf_c/cli/messages.h"

#include "mdf_c/base/error.h"
#include "mdf_c/base/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void print_message(const mdf_error *error, const char *file, const char *what)
{
    char shown[sizeof error->file];

    if (file != NULL) {
        mdf_visible_text(file, shown, sizeof shown);
        file = shown;
    }
    file = error->file[0] != '\0' ? error->file : file;
    if (file != NULL && error->line > 0) {
        fprintf(stderr, "%s:%d:%d: ", file, error->line, error->column);
    } else if (file != NULL) {
        fprintf(stderr, "%s: ", file);
    }
    fprintf(stderr, "%s: %s%s%s\n", what, error->path, error->path[0] != '\0' ? ": " : "",
            error->message[0] != '\0' ? error->message : mdf_status_text(error->code));
}

void print_error(const mdf_error *error, const char *file)
{
    print_message(error, file, "error");
}

void print_warning(void *context, const mdf_error *warning)
{
    struct warning_printer *printer = context;

    printer->n_warnings++;
    print_message(warning, NULL, printer->strict ? "error" : "warning");
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
