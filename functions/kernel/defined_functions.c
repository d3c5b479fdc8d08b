/* defined_functions.c - finds a function that is given by expressions by its name, among all families of such. */
#include "functions/actr/actr.h"
#include "functions/ddm/ddm.h"
#include "functions/kernel/defined_function.h"
#include "functions/psyneulink/psyneulink.h"
#include "mdf_c/base/text.h"

static const struct mdf_defined_function *const families[] = {mdf_actr_functions,           mdf_ddm_functions,
                                                              mdf_psyneulink_integrators,   mdf_psyneulink_transfers,
                                                              mdf_psyneulink_combinations,  mdf_psyneulink_objectives,
                                                              mdf_psyneulink_distributions, mdf_psyneulink_memories,
                                                              mdf_psyneulink_learning,      NULL};

const struct mdf_defined_function *mdf_defined_function(const char *name)
{
    const struct mdf_defined_function *function;

    for (size_t i = 0; families[i] != NULL; i++) {
        for (function = families[i]; function->name != NULL; function++) {
            if (mdf_text_is(function->name, name)) {
                return function;
            }
        }
    }
    return NULL;
}

void mdf_defined_function_offer(struct mdf_nearest *nearest)
{
    const struct mdf_defined_function *function;

    for (size_t i = 0; families[i] != NULL; i++) {
        for (function = families[i]; function->name != NULL; function++) {
            mdf_nearest_offer(nearest, function->name);
        }
    }
}
