/* machine_memory.c - see machine_memory.h. Sources: sysconf(3); the kernel's "Control Group v2" (memory.max, in the group of
 * the process and in those around it) and, of version 1, memory.limit_in_bytes. A process in a container sees its own group as
 * the root. */
#include "mdf_c/base/machine_memory.h"

#include "mdf_c/base/sizes.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

/* The number in a file; SIZE_MAX where there is none ("max"), or no such file. */
static size_t read_bound(const char *path)
{
    char text[32], *end;
    FILE *file = fopen(path, "re");
    unsigned long long bound;
    bool done;

    if (file == NULL) {
        return SIZE_MAX;
    }
    done = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    bound = done ? strtoull(text, &end, 10) : 0;
    return done && end != text && bound > 0 && bound < SIZE_MAX ? (size_t)bound : SIZE_MAX;
}

/* The least bound of a group and of those around it. */
static size_t bound_of_group(const char *root, const char *group, const char *name)
{
    char path[PATH_BYTES], file[PATH_BYTES + 64];
    size_t bound = SIZE_MAX;

    if ((size_t)snprintf(path, sizeof path, "%s%s", root, group) >= sizeof path) {
        return bound;
    }
    for (size_t length = strlen(path); length >= strlen(root); path[length] = '\0') {
        snprintf(file, sizeof file, "%s/%s", path, name);
        bound = mdf_least(bound, read_bound(file));
        while (length > 0 && path[length - 1] != '/') {
            length--;
        }
        if (length == 0) {
            break;
        }
        length--;
    }
    return bound;
}

/* A line of /proc/self/cgroup: "0::/a/b" of version 2, "5:cpu,memory:/a/b" of version 1. */
static size_t bound_of_line(char *line)
{
    char *names = strchr(line, ':'), *group = names != NULL ? strchr(names + 1, ':') : NULL;

    if (group == NULL) {
        return SIZE_MAX;
    }
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    if (names[1] == '\0') {
        return bound_of_group("/sys/fs/cgroup", group, "memory.max");
    }
    return strstr(names, "memory") != NULL ? bound_of_group("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes") : SIZE_MAX;
}

static size_t bound_of_groups(void)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[PATH_BYTES];
    size_t bound = SIZE_MAX;

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        bound = mdf_least(bound, bound_of_line(line));
    }
    if (file != NULL) {
        fclose(file);
    }
    return bound;
}

size_t mdf_machine_memory(void)
{
    long n_pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    size_t physical = SIZE_MAX, bound;

    if (n_pages > 0 && page_bytes > 0 && __builtin_mul_overflow((size_t)n_pages, (size_t)page_bytes, &physical)) {
        physical = SIZE_MAX;
    }
    bound = mdf_least(physical, bound_of_groups());
    return bound == SIZE_MAX ? 0 : bound;
}

size_t mdf_memory_bound(size_t max_memory_bytes)
{
    return max_memory_bytes == 0 ? MDF_MEMORY_OF_MACHINE : max_memory_bytes == SIZE_MAX ? 0 : max_memory_bytes;
}
