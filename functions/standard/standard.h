/* standard.h - MDF's own functions: linear, logistic, ... each defined by an expression of its arguments.
 * Source: https://mdf.readthedocs.io/en/latest/api/MDF_function_specifications.html */
#ifndef MDF_FUNCTIONS_STANDARD_STANDARD_H
#define MDF_FUNCTIONS_STANDARD_STANDARD_H

#include "mdf_c/base/error.h"

struct mdf_standard_function {
    const char *name;
    const char *formals;    /* names, separated by blanks */
    const char *expression; /* of the formals */
};

/* NULL where there is no such function. */
const struct mdf_standard_function *mdf_standard_function(const char *name);
void mdf_standard_offer(struct mdf_nearest *nearest);

#endif
