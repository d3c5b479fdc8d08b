/* library_cache.h - shared libraries made of C source, kept from one run to the next. */
#ifndef MDF_CLI_LIBRARY_CACHE_H
#define MDF_CLI_LIBRARY_CACHE_H

#include "mdf_c/base/error.h"
#include "mdf_c/base/text.h"

/* Loads the library of a source (as dlopen does): from the cache, or it is made and put there. NULL with the error set. The cache
 * is $XDG_CACHE_HOME/mdf_c or ~/.cache/mdf_c. What is not whole there, belongs to another user, or may be written by others, is
 * made anew; where nothing can be kept, the library is made for this run only. */
void *load_cached_library(struct mdf_memory *memory, const struct mdf_text *source, mdf_error *error);

#endif
