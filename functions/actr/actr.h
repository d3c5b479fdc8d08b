/* actr.h - the parts of an ACT-R model that MDF's examples of it are made of: chunks in declarative memory, productions that
 * match the goal and what was retrieved. See docs/actr_ddm.md. */
#ifndef MDF_FUNCTIONS_ACTR_ACTR_H
#define MDF_FUNCTIONS_ACTR_ACTR_H

#include "functions/kernel/defined_function.h"

extern const struct mdf_defined_function mdf_actr_functions[];

#endif
