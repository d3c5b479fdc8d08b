/* processor.c - see processor.h. */
#include "mdf_c/base/processor.h"

#include <unistd.h>

int mdf_count_cores(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n < 1 ? 1 : n > 256 ? 256 : (int)n;
}
