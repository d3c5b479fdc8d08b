/* jumps.h - derivatives that jump, and lead back to the jump from both of its sides: see jumps.c. */
#ifndef MDF_PLAN_SOLVE_JUMPS_H
#define MDF_PLAN_SOLVE_JUMPS_H

#include "mdf_c/plan/solve/solver.h"

/* The name `turned`: 1.0 where a step of length `h` from `y`, with these slopes there, was not `accepted` (names of the target, as
 * `steps`, how many the evaluation has taken), and a jump lies in it that the solver can not leave behind; else 0.0. */
bool solver_emit_jump(struct solver *solver, struct target *target, solver_values y, solver_values slopes);

#endif
