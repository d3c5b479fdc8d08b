/* fixed_step.c - one step of a method an evaluation: see solver.h. */
#include "mdf_c/plan/solve/stiffness.h"

/* What the step begins with. What is derived by is written once: a copy. */
static solver_values take_states(struct solver *solver, struct target *target)
{
    solver_values y = solver_new_values(solver);

    for (size_t i = 0; y != NULL && i < solver->side.n_states; i++) {
        y[i] = solver->side.states[i].slot;
        if (solver->method->needs_stiffness) {
            y[i] = unit_own_copy(target, y[i]);
        }
        if (y[i] == MDF_NO_OPERAND) {
            return NULL;
        }
    }
    return y;
}

static bool take_step(struct solver *solver, struct target *target)
{
    solver_values y = take_states(solver, target), values = solver_new_values(solver), stiffness = solver_new_values(solver);
    struct solver_named named[2 + MDF_MOST_STAGES];
    size_t first = unit_position(target->unit), n_stages;

    if (y == NULL || values == NULL || stiffness == NULL || !solver_name(target, "h", target->compiler->dt) ||
        !solver_take_stages(solver, target, y, true, named, values, &n_stages)) {
        return false;
    }
    if (solver->method->needs_stiffness && !solver_take_stiffness(solver, target, first, y, named[1].values, stiffness)) {
        return false;
    }
    named[1 + n_stages] = (struct solver_named){"a", stiffness};
    return solver_compute_each(solver, target, solver->method->result, named, 1 + n_stages + solver->method->needs_stiffness,
                               values) &&
           solver_leave(solver, target, values);
}

bool solver_emit_fixed_step(struct solver *solver, struct target *target)
{
    size_t jump = unit_emit_jump(target, MDF_OPCODE_JUMP_WITHOUT_DT, 0);

    if (jump == SIZE_MAX || !take_step(solver, target)) {
        return false;
    }
    unit_land(target->unit, jump);
    return true;
}
