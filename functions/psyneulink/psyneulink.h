/* psyneulink.h - functions that PsyNeuLink's exported models name though MDF does not define them, by the meaning that they have
 * in PsyNeuLink 0.21 (https://princetonuniversity.github.io/PsyNeuLink/Functions.html): names are those of its classes in small
 * letters, arguments those of their parameters. See docs/psyneulink.md. */
#ifndef MDF_FUNCTIONS_PSYNEULINK_PSYNEULINK_H
#define MDF_FUNCTIONS_PSYNEULINK_PSYNEULINK_H

#include "functions/kernel/defined_function.h"
#include "mdf_c/base/error.h"

#include <stdbool.h>

/* The families, each a table, found by mdf_defined_function. */
extern const struct mdf_defined_function mdf_psyneulink_integrators[], mdf_psyneulink_transfers[], mdf_psyneulink_combinations[],
    mdf_psyneulink_objectives[], mdf_psyneulink_distributions[], mdf_psyneulink_memories[], mdf_psyneulink_learning[];

/* Why a function of PsyNeuLink's that its exporter writes is none here, and what to do instead; NULL: it writes no such function.
 */
const char *mdf_psyneulink_refusal(const char *name);

/* An argument that PsyNeuLink's exporter writes for a function that has none of that name. */
struct mdf_exported_argument {
    const char *function, *name;
    double value;   /* with which it changes nothing */
    bool any_value; /* no value changes anything */
};
/* NULL: it writes no such argument. */
const struct mdf_exported_argument *mdf_psyneulink_exported_argument(const char *function, const char *name);

#endif
