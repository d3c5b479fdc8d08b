/* device.h - streams that are no files: what a device such as /dev/zero holds has no end. */
#ifndef MDF_C_BASE_DEVICE_H
#define MDF_C_BASE_DEVICE_H

#include <stdbool.h>
#include <stdio.h>

/* Whether a stream is a device, but no terminal: not to be read whole where it has anything (/dev/null has nothing). */
bool mdf_stream_is_device(FILE *stream);

#endif
