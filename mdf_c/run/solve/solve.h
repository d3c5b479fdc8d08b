/* solve.h - time derivatives by a library: before the nodes of an evaluation run, SUNDIALS' CVODE takes the states over its time
 * increment, and leaves them for the nodes (mdf_c/plan/solve/library_entry.c). */
#ifndef MDF_RUN_SOLVE_SOLVE_H
#define MDF_RUN_SOLVE_SOLVE_H

#include "mdf_c/plan/solve/method.h"
#include "mdf_c/run/state.h"

/* Whether the program is solved so. */
static inline bool mdf_program_is_solved_by_library(const struct mdf_program *program)
{
    return program->solver.evaluate.end > program->solver.evaluate.first;
}

/* Advances by the time increment of the evaluation that begins; without one the solver begins anew behind it. False: the error of
 * the state's context is set. */
bool mdf_solve_advance(struct mdf_state *state);
/* The state begins anew. */
void mdf_solve_restart(struct mdf_state *state);
void mdf_solve_release(struct mdf_state *state);

#endif
