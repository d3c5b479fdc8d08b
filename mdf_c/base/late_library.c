/* late_library.c - see late_library.h. */
#include "mdf_c/base/late_library.h"

#include <dlfcn.h>
#include <string.h>

bool mdf_late_library_load(const char *file, const char *const *names, size_t n, void *pointers)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE), *found = library;

    for (size_t i = 0; i < n && found != NULL; i++) {
        found = dlsym(library, names[i]);
        memcpy((char *)pointers + i * sizeof found, &found, sizeof found); /* POSIX: functions have addresses like any */
    }
    if (library != NULL) {
        dlclose(library);
    }
    return found != NULL;
}
