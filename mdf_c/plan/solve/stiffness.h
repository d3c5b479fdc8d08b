/* stiffness.h - how the slope of a state changes with the state itself, element by element. */
#ifndef MDF_PLAN_SOLVE_STIFFNESS_H
#define MDF_PLAN_SOLVE_STIFFNESS_H

#include "mdf_c/plan/solve/solver.h"

/* Of each state: the derivative of the slope of each of its elements by that element. The instructions from `first` on have
 * computed `slopes` from `y`, the latter written once before them. */
bool solver_take_stiffness(struct solver *solver, struct target *target, size_t first, solver_values y, const mdf_operand *slopes,
                           solver_values stiffness);

#endif
