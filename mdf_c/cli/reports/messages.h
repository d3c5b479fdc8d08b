/* messages.h - errors and warnings on standard error, for people or, as lines of JSON, for programs. */
#ifndef MDF_CLI_MESSAGES_H
#define MDF_CLI_MESSAGES_H

#include "mdf_c/mdf.h"

/* How messages are written, by all of a program. */
enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
extern const char *const color_words[];
void write_messages_as_json(void);
bool are_messages_json(void);
/* AUTO: on a terminal, unless NO_COLOR is set. */
void color_messages(enum color color);

/* Takes errors and warnings, writes warnings at once (as mdf_warning_handler), and counts these. */
struct warning_printer {
    mdf_diagnostics *list;
    const mdf_model *model; /* that has the text of the file; NULL: none yet */
    const struct given_parameters *given; /* on the command line, which messages point at; NULL: none */
    bool strict;            /* warnings are errors */
    size_t n_warnings;
};
/* Makes a list, and puts all that a call needs into `options`. False, with the error set: memory is refused. */
bool start_messages(struct warning_printer *printer, mdf_options *options, mdf_error *error);
void end_messages(struct warning_printer *printer);
void print_warning(void *printer, const mdf_error *warning);

/* Writes the errors of the list, which `error` belongs to or is added to: "file:line:column: error: ..." and the line of the file.
 * `file` stands in where the error names none, NULL: nothing does. */
void print_errors(struct warning_printer *printer, const mdf_error *error, const char *file);
/* The same of one error without a list. */
void print_error(const mdf_error *error, const char *file);

/* Writes to standard output, all at once. */
mdf_status print_output(const char *bytes, size_t length, mdf_error *error);

#endif
