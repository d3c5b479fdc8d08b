/* compile_library.h - C source made into a shared library by the system's C compiler. */
#ifndef MDF_CLI_COMPILE_LIBRARY_H
#define MDF_CLI_COMPILE_LIBRARY_H

#include "mdf_c/base/error.h"
#include "mdf_c/base/text.h"

/* Writes the library to `path`, which appears whole or not at all. The compiler is $CC, or cc. */
mdf_status compile_library(struct mdf_memory *memory, const struct mdf_text *source, const char *path, mdf_error *error);

/* The path of the library of this source, in memory of the caller's: from the cache, or made and put there. The cache is
 * $XDG_CACHE_HOME/mdf_c or ~/.cache/mdf_c, of which nothing is taken that belongs to another user or that others may write. */
char *cached_library(struct mdf_memory *memory, const struct mdf_text *source, mdf_error *error);

#endif
