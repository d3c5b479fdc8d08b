/* solve_absent.c - see solve.h: a build without SUNDIALS. Its compiler refuses the methods (mdf_c/plan/solve/solver.c), so that
 * no program comes here. */
#include "mdf_c/run/solve/solve.h"

bool mdf_solve_advance(struct mdf_state *state)
{
    mdf_error_set(&state->shared->execution.context.error, MDF_UNSUPPORTED, "this build is without SUNDIALS");
    return false;
}

void mdf_solve_restart(struct mdf_state *state)
{
    (void)state;
}

void mdf_solve_release(struct mdf_state *state)
{
    (void)state;
}
