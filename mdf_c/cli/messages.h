/* messages.h - errors and warnings on standard error. */
#ifndef MDF_CLI_MESSAGES_H
#define MDF_CLI_MESSAGES_H

#include "mdf_c/mdf.h"

/* Receives warnings (as mdf_warning_handler) and counts them. */
struct warning_printer {
    bool strict; /* they are errors */
    size_t n_warnings;
};
void print_warning(void *printer, const mdf_error *warning);

/* Prints "file:line:column: error: ..."; `file` stands in where the error names none, NULL: nothing does. */
void print_error(const mdf_error *error, const char *file);

/* Writes to standard output, all at once. */
mdf_status print_output(const char *bytes, size_t length, mdf_error *error);

#endif
