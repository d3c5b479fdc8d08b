/* programs.c - the executable: the name that it is called by says which program it is. The engine is in it once, not once for each. */
#include "mdf_c/cli/programs.h"

#include <stddef.h>
#include <string.h>

struct program {
    const char *name;
    int (*perform)(int argc, char **argv);
};

static const struct program programs[] = {
    {"mdf-run", run_program}, {"mdf-convert", convert_program}, {"mdf-compile", compile_program},
    {"mdf-fmu", fmu_program}, {"mdf-merge", merge_program},     {"mdf-diff", diff_program},
};

static const char *name_called(const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;

    return slash != NULL ? slash + 1 : path != NULL ? path : "";
}

/* mdf-convert-0.1 is mdf-convert; what has a name of its own is mdf-run. */
int main(int argc, char **argv)
{
    const char *called = name_called(argc > 0 ? argv[0] : NULL);
    size_t i, n = sizeof(programs) / sizeof(programs[0]);

    for (i = 0; i < n; i++) {
        if (strncmp(called, programs[i].name, strlen(programs[i].name)) == 0) {
            return programs[i].perform(argc, argv);
        }
    }
    return run_program(argc, argv);
}
