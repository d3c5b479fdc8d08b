/* library_entry.c - what a library needs to solve the states: see solver.h. */
#include "mdf_c/plan/solve/solver.h"

static struct mdf_program_state *make_states(struct solver *solver, struct target *target)
{
    struct mdf_program_state *states = mdf_arena_array(target->compiler->arena, solver->side.n_states, sizeof *states);

    for (size_t i = 0; states != NULL && i < solver->side.n_states; i++) {
        states[i] = (struct mdf_program_state){.y = unit_new_slot(target, 0),
                                               .slope = unit_new_slot(target, 0),
                                               .next = solver->side.states[i].next,
                                               .path = solver->side.states[i].origin.path};
        if (states[i].y == MDF_NO_OPERAND || states[i].slope == MDF_NO_OPERAND) {
            return NULL;
        }
    }
    if (states == NULL) {
        compile_out_of_memory(target->compiler);
    }
    return states;
}

static bool copy(struct target *target, mdf_operand to, mdf_operand from)
{
    return unit_emit(target, MDF_OPCODE_COPY, to, from, 0);
}

/* As real numbers. */
static bool emit_begin(struct solver *solver, struct target *target, const struct mdf_program_state *states)
{
    solver_values slots = solver_new_values(solver), y = solver_new_values(solver);
    const struct solver_named named = {"x", slots};

    for (size_t i = 0; slots != NULL && i < solver->side.n_states; i++) {
        slots[i] = solver->side.states[i].slot;
    }
    if (slots == NULL || y == NULL || !solver_compute_each(solver, target, "numpy.multiply(x, 1.0)", &named, 1, y)) {
        return false;
    }
    for (size_t i = 0; i < solver->side.n_states; i++) {
        if (!copy(target, states[i].y, y[i])) {
            return false;
        }
    }
    return true;
}

/* Slopes are reals of the shapes of their states. */
static bool emit_evaluate(struct solver *solver, struct target *target, const struct mdf_program_state *states)
{
    solver_values y = solver_new_values(solver), slopes = solver_new_values(solver), full = solver_new_values(solver);
    const struct solver_named named[] = {{"y", y}, {"k", slopes}};

    for (size_t i = 0; y != NULL && i < solver->side.n_states; i++) {
        y[i] = states[i].y;
    }
    if (y == NULL || slopes == NULL || full == NULL || !right_side_emit(&solver->side, &solver->side.slopes, target, y, slopes) ||
        !solver_compute_each(solver, target, "k + numpy.where(y > 0.0, 0.0, 0.0)", named, 2, full)) {
        return false;
    }
    for (size_t i = 0; i < solver->side.n_states; i++) {
        if (!copy(target, states[i].slope, full[i])) {
            return false;
        }
    }
    return true;
}

bool solver_emit_entry(struct solver *solver, struct target *target)
{
    struct mdf_program_solver *kept = &target->compiler->program->solver;
    size_t first = unit_position(target->unit), middle;

    kept->states = make_states(solver, target);
    if (kept->states == NULL || !emit_begin(solver, target, kept->states)) {
        return false;
    }
    middle = unit_position(target->unit);
    if (!emit_evaluate(solver, target, kept->states)) {
        return false;
    }
    kept->begin = (struct mdf_range){first, middle};
    kept->evaluate = (struct mdf_range){middle, unit_position(target->unit)};
    return true;
}
