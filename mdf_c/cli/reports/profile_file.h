/* profile_file.h - mdf-run --profile: the table on standard error, or a file. */
#ifndef MDF_CLI_PROFILE_FILE_H
#define MDF_CLI_PROFILE_FILE_H

#include "mdf_c/base/error.h"
#include "mdf_c/base/memory.h"

/* What is wrong with a path: its suffix must say what is to be written there. NULL: nothing. */
const char *profile_fault(const char *path);
/* `path` NULL: the table. Returns EXIT_DONE, or the exit status with the error set. */
int write_profile(struct mdf_memory *memory, mdf_state *state, const char *path, mdf_error *error);

#endif
