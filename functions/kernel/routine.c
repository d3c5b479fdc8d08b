/* routine.c - see routine.h. */
#include "functions/kernel/routine.h"

#include "mdf_c/base/arena.h"

bool mdf_routine_room(struct mdf_routine_plan *plan, size_t n_whole, size_t n_real)
{
    plan->whole = mdf_arena_array(plan->arena, n_whole, sizeof *plan->whole);
    plan->real = mdf_arena_array(plan->arena, n_real, sizeof *plan->real);
    plan->n_whole = n_whole;
    plan->n_real = n_real;
    return plan->whole != NULL && plan->real != NULL;
}
