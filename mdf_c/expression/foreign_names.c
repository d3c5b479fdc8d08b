/* foreign_names.c - what other languages call what an expression has under another name. See foreign_names.h. */
#include "mdf_c/expression/foreign_names.h"

#include <stddef.h>
#include <string.h>

struct translation {
    const char *theirs, *ours;
};

static const struct translation functions[] = {
    {"ln", "numpy.log"},
    {"lg", "numpy.log10"},
    {"sgn", "numpy.sign"},
    {"sqr", "numpy.square"},
    {"tg", "numpy.tan"},
    {"ceiling", "math.ceil"},
    {"avg", "numpy.mean"},
    {"sd", "numpy.std"},
    {"step", "numpy.heaviside"},
    {"clamp", "numpy.clip"},
    {"rem", "numpy.mod"},
    {"fabs", "math.fabs"},
    {"concat", "numpy.concatenate"},
    {"cat", "numpy.concatenate"},
    {"truncate", "math.trunc"},
    {"prod", "numpy.prod"},
};

/* By the last part of a name: "np.pi", "Math.PI". */
static const struct translation constants[] = {
    {"pi", "math.pi"},   {"PI", "math.pi"},   {"e", "math.e"},          {"E", "math.e"},          {"inf", "math.inf"},
    {"Inf", "math.inf"}, {"INF", "math.inf"}, {"infinity", "math.inf"}, {"Infinity", "math.inf"}, {"nan", "math.nan"},
    {"NaN", "math.nan"}, {"NAN", "math.nan"}, {"true", "True"},         {"TRUE", "True"},         {"false", "False"},
    {"FALSE", "False"},  {"null", "None"},    {"none", "None"},         {"nil", "None"},          {"tau", "math.tau"},
};

static const char *find(const struct translation *translations, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(translations[i].theirs, name) == 0) {
            return translations[i].ours;
        }
    }
    return NULL;
}

const char *mdf_foreign_function(const char *name)
{
    return find(functions, sizeof functions / sizeof *functions, name);
}

const char *mdf_foreign_constant(const char *name)
{
    const char *point = strrchr(name, '.');

    return find(constants, sizeof constants / sizeof *constants, point != NULL ? point + 1 : name);
}
