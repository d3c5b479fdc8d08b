/* psyneulink.c - finds a function of PsyNeuLink by its name. See psyneulink.h. */
#include "functions/psyneulink/psyneulink.h"

#include <string.h>

static const struct mdf_defined_function *const families[] = {mdf_psyneulink_integrators,   mdf_psyneulink_transfers,
                                                              mdf_psyneulink_combinations,  mdf_psyneulink_objectives,
                                                              mdf_psyneulink_distributions, NULL};

const struct mdf_defined_function *mdf_psyneulink_function(const char *name)
{
    const struct mdf_defined_function *function;
    size_t i;

    for (i = 0; families[i] != NULL; i++) {
        for (function = families[i]; function->name != NULL; function++) {
            if (strcmp(function->name, name) == 0) {
                return function;
            }
        }
    }
    return NULL;
}

void mdf_psyneulink_offer(struct mdf_nearest *nearest)
{
    const struct mdf_defined_function *function;
    size_t i;

    for (i = 0; families[i] != NULL; i++) {
        for (function = families[i]; function->name != NULL; function++) {
            mdf_nearest_offer(nearest, function->name);
        }
    }
}
