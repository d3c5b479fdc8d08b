/* ddm.h - the drift diffusion model: a decision as a random walk between two thresholds. See docs/actr_ddm.md. */
#ifndef MDF_FUNCTIONS_DDM_DDM_H
#define MDF_FUNCTIONS_DDM_DDM_H

#include "functions/kernel/defined_function.h"

extern const struct mdf_defined_function mdf_ddm_functions[];

#endif
