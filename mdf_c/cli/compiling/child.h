/* child.h - another program as a filter: text in, bytes out. No shell takes part. */
#ifndef MDF_CLI_CHILD_H
#define MDF_CLI_CHILD_H

#include "mdf_c/base/error.h"
#include "mdf_c/base/text.h"

/* Whether a program lies on PATH. */
bool child_is_installed(const char *program);
/* Runs `arguments` (the program first, NULL last) with `input` on its standard input; what it writes to standard output is
 * appended to `output`. Where it fails the error quotes what it said on standard error. */
mdf_status run_child(const char *const *arguments, const struct mdf_text *input, struct mdf_text *output, mdf_error *error);

#endif
