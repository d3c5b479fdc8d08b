/* entry.h - ranges of instructions that others than an evaluation run when they need them: a library that solves the states
 * (library_entry.c), or who solves them from outside (right_side_entry.c). Both give the states in slots `y`, and find results in
 * slots of their shapes. */
#ifndef MDF_PLAN_SOLVE_ENTRY_H
#define MDF_PLAN_SOLVE_ENTRY_H

#include "mdf_c/plan/solve/solver.h"

/* `made` as a real of the shape of `y`: names of entry_leave. */
#define ENTRY_REAL "made + numpy.where(y > 0.0, 0.0, 0.0)"

/* One for each state of the solver. NULL: the error is set. */
struct mdf_program_state *entry_new_states(struct solver *solver, struct target *target);
/* Their slots `y`. */
solver_values entry_y(struct solver *solver, const struct mdf_program_state *states);
/* What nodes have as the states' values, as real numbers, in `y`. */
bool entry_emit_begin(struct solver *solver, struct target *target, const struct mdf_program_state *states);
/* What conditions make of `y`, and whether one holds. */
bool entry_emit_condition(struct solver *solver, struct target *target, const struct mdf_program_state *states);
/* What an expression makes of `y` and `made`, in slots of the states' results. */
bool entry_leave(struct solver *solver, struct target *target, const struct mdf_program_state *states, const char *expression,
                 solver_values y, solver_values made, enum mdf_state_result result);
/* The range of what finds derivatives, from `first` on; where that was not done, as there are none, it is left out, and empty.
 * False: memory was refused. */
bool entry_end_derivatives(struct target *target, size_t first, bool done, struct mdf_range *range);
/* The sum of the products of two values of each of n. */
mdf_operand entry_sum_products(struct target *target, const mdf_operand *a, const mdf_operand *b, size_t n);

/* --- right_side_entry.c: the program's right_side. */
bool solver_emit_right_side(struct solver *solver, struct target *target);

#endif
