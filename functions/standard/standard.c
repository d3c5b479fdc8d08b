/* standard.c - the table of MDF's own functions. See standard.h. The order of operations is that of the specification, so that
 * results equal the reference's to the last bit. */
#include "functions/standard/standard.h"

#include <string.h>

static const struct mdf_standard_function functions[] = {
    {"linear", "variable0 slope intercept", "(variable0 * slope + intercept)"},
    {"arctan", "variable0 scale", "scale * numpy.arctan(variable0)"},
    {"arcsin", "variable0 scale", "scale * numpy.arcsin(variable0)"},
    {"arccos", "variable0 scale", "scale * numpy.arccos(variable0)"},
    {"logistic", "variable0 gain bias offset", "1/(1 + numpy.exp(-1*gain*(variable0 + bias) + offset))"},
    {"exponential", "variable0 scale rate bias offset", "scale * numpy.exp((rate * variable0) + bias) + offset"},
    {"sin", "variable0 scale", "scale * numpy.sin(variable0)"},
    {"cos", "variable0 scale", "scale * numpy.cos(variable0)"},
    {"tan", "variable0 scale", "scale * numpy.tan(variable0)"},
    {"sinh", "variable0 scale", "scale * numpy.sinh(variable0)"},
    {"cosh", "variable0 scale", "scale * numpy.cosh(variable0)"},
    {"tanh", "variable0 scale", "scale * numpy.tanh(variable0)"},
    {"MatMul", "A B", "A @ B"},
    {"Relu", "A", "A * (A > 0)"},
    {NULL, NULL, NULL},
};

const struct mdf_standard_function *mdf_standard_function(const char *name)
{
    const struct mdf_standard_function *function;

    for (function = functions; function->name != NULL; function++) {
        if (strcmp(function->name, name) == 0) {
            return function;
        }
    }
    return NULL;
}

void mdf_standard_offer(struct mdf_nearest *nearest)
{
    const struct mdf_standard_function *function;

    for (function = functions; function->name != NULL; function++) {
        mdf_nearest_offer(nearest, function->name);
    }
}
