/* processor.c - see processor.h. */
#ifdef __linux__
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "mdf_c/base/processor.h"

#ifdef __linux__
#include <sched.h>
#endif
#include <unistd.h>

/* Those that the process may run on, as a batch system or the worker of a pool has it: fewer than there are, perhaps. */
static long count_allowed(void)
{
#ifdef __linux__
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        return CPU_COUNT(&set);
    }
#endif
    return sysconf(_SC_NPROCESSORS_ONLN);
}

int mdf_count_cores(void)
{
    long n = count_allowed();

    return n < 1 ? 1 : n > 256 ? 256 : (int)n;
}
