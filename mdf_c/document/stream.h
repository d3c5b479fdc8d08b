/* stream.h - what is left of a stream, whole. */
#ifndef MDF_C_DOCUMENT_STREAM_H
#define MDF_C_DOCUMENT_STREAM_H

#include "mdf_c/base/error.h"
#include "mdf_c/base/memory.h"

#include <stdio.h>

/* Its bytes, which the caller releases. MDF_FILE: *reason says why not, as errno does (ENODEV: it is a device, such as /dev/zero,
 * which has no end; a terminal has one, and /dev/null nothing). On other errors the error is set, but for the path. */
mdf_status mdf_read_stream(struct mdf_memory *memory, FILE *stream, char **bytes, size_t *size_bytes, int *reason,
                           mdf_error *error);

#endif
