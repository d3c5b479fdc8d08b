/* compile_library.h - C source made into a shared library by the system's C compiler. */
#ifndef MDF_CLI_COMPILE_LIBRARY_H
#define MDF_CLI_COMPILE_LIBRARY_H

#include "mdf_c/base/error.h"
#include "mdf_c/base/hash.h"
#include "mdf_c/base/text.h"

/* What a compiler needs to be told for results that are those of mdf-run, whatever else it is told; NULL behind the last. */
extern const char *const same_bits_flags[];

enum library_kind {
    LIBRARY_OWN,     /* for this machine, with the table `mdf_compiled` */
    LIBRARY_PORTABLE /* for all machines of its kind; exports what the source marks */
};

/* Writes the library to `path`, which appears whole or not at all. The compiler is $CC, or cc: a program, or a program with
 * arguments, quoted as for a shell where they need it. */
mdf_status compile_library(struct mdf_memory *memory, const struct mdf_text *source, const char *path, enum library_kind kind,
                           mdf_error *error);

/* Is called with the path of a finished file before it comes into its place. */
typedef mdf_status (*library_seal)(void *context, const char *path, mdf_error *error);
/* The same with a last touch. `seal` NULL: none. */
mdf_status compile_sealed_library(struct mdf_memory *memory, const struct mdf_text *source, const char *path, library_seal seal,
                                  void *context, mdf_error *error);

/* Adds all that decides what the compiler makes of a source: its words, its version, flags. */
mdf_status hash_compiler(struct mdf_memory *memory, struct mdf_hash *hash, mdf_error *error);

#endif
