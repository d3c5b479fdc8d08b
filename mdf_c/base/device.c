/* device.c - see device.h. */
#include "mdf_c/base/device.h"

#include <sys/stat.h>
#include <unistd.h>

bool mdf_stream_is_device(FILE *stream)
{
    struct stat status;

    return fstat(fileno(stream), &status) == 0 && (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) && !isatty(fileno(stream));
}
