/* completion.h - what a shell needs to complete a command line, from the table of its options. */
#ifndef MDF_CLI_COMPLETION_H
#define MDF_CLI_COMPLETION_H

#include "mdf_c/cli/command_line.h"

extern const char *const completion_shells[]; /* bash, zsh, fish; NULL behind the last */

/* Appends the script; false: there is no such shell. */
bool write_completion(struct mdf_text *text, const struct command_line *line, const char *shell);

#endif
