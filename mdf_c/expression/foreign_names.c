/* foreign_names.c - what other languages call the constants of expressions. See foreign_names.h. */
#include "mdf_c/expression/foreign_names.h"

#include <stddef.h>
#include <string.h>

struct translation {
    const char *theirs, *ours;
};

/* By the last part of a name: "np.pi", "Math.PI". */
static const struct translation constants[] = {
    {"pi", "math.pi"},   {"PI", "math.pi"},   {"e", "math.e"},          {"E", "math.e"},          {"inf", "math.inf"},
    {"Inf", "math.inf"}, {"INF", "math.inf"}, {"infinity", "math.inf"}, {"Infinity", "math.inf"}, {"nan", "math.nan"},
    {"NaN", "math.nan"}, {"NAN", "math.nan"}, {"true", "True"},         {"TRUE", "True"},         {"false", "False"},
    {"FALSE", "False"},  {"null", "None"},    {"none", "None"},         {"nil", "None"},          {"tau", "math.tau"},
};

const char *mdf_foreign_constant(const char *name)
{
    const char *point = strrchr(name, '.');

    name = point != NULL ? point + 1 : name;
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        if (strcmp(constants[i].theirs, name) == 0) {
            return constants[i].ours;
        }
    }
    return NULL;
}
