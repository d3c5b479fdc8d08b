/* library_entry.c - what a library needs to solve the states: see solver.h. */
#include "mdf_c/plan/solve/entry.h"

#include "mdf_c/plan/gradient/evaluation.h"

#include <string.h>

static bool emit_evaluate(struct solver *solver, struct target *target, const struct mdf_program_state *states)
{
    solver_values y = entry_y(solver, states), slopes = solver_new_values(solver);

    return y != NULL && slopes != NULL && right_side_emit(&solver->side, &solver->side.slopes, target, y, slopes) &&
           entry_leave(solver, target, states, ENTRY_REAL, y, slopes, MDF_STATE_SLOPE);
}

/* The gradients of the sum of all slopes, weighted, by the states: with one weight of 1, a row of the Jacobian. */
static bool emit_gradients(struct solver *solver, struct target *target, const struct mdf_program_state *states)
{
    size_t n = solver->side.n_states - target->compiler->program->solver.n_held, first;
    solver_values y = entry_y(solver, states), slopes = solver_new_values(solver), weights = solver_new_values(solver),
                  gradients = solver_new_values(solver);
    mdf_operand sum;

    if (y == NULL || slopes == NULL || weights == NULL || gradients == NULL) {
        return false;
    }
    for (size_t i = 0; i < solver->side.n_states; i++) {
        y[i] = unit_own_copy(target, y[i]); /* written once */
        weights[i] = states[i].weight;
        if (y[i] == MDF_NO_OPERAND) {
            return false;
        }
    }
    first = unit_position(target->unit);
    if (!right_side_emit(&solver->side, &solver->side.slopes, target, y, slopes)) {
        return false;
    }
    sum = entry_sum_products(target, weights, slopes, n);
    if (sum == MDF_NO_OPERAND ||
        !compile_gradients_from(target, first, &(struct derived_value){sum, MDF_NO_OPERAND}, 1, y, n, gradients)) {
        return false;
    }
    for (size_t i = n; i < solver->side.n_states; i++) {
        gradients[i] = y[i]; /* nobody asks for that of what is held */
    }
    return entry_leave(solver, target, states, ENTRY_REAL, y, gradients, MDF_STATE_GRADIENT);
}

bool entry_end_derivatives(struct target *target, size_t first, bool done, struct mdf_range *range)
{
    struct compiler *compiler = target->compiler;

    *range = (struct mdf_range){first, unit_position(target->unit)};
    if (done || compiler->error->code == MDF_OUT_OF_MEMORY) {
        return done;
    }
    memset(compiler->error, 0, sizeof *compiler->error);
    solver_blank(target->unit, first, range->end);
    range->end = first;
    return true;
}

/* Where there are no derivatives, the library takes differences. */
static bool emit_differentiate(struct solver *solver, struct target *target, struct mdf_program_solver *kept)
{
    size_t first = unit_position(target->unit);
    bool done = emit_gradients(solver, target, kept->states);

    return entry_end_derivatives(target, first, done, &kept->differentiate);
}

bool solver_emit_entry(struct solver *solver, struct target *target)
{
    struct mdf_program_solver *kept = &target->compiler->program->solver;
    size_t first = unit_position(target->unit);

    kept->states = entry_new_states(solver, target);
    if (kept->states == NULL || !entry_emit_begin(solver, target, kept->states)) {
        return false;
    }
    kept->begin = (struct mdf_range){first, unit_position(target->unit)};
    if (!emit_evaluate(solver, target, kept->states)) {
        return false;
    }
    kept->evaluate = (struct mdf_range){kept->begin.end, unit_position(target->unit)};
    if (solver->side.has_events && !entry_emit_condition(solver, target, kept->states)) {
        return false;
    }
    kept->condition = (struct mdf_range){kept->evaluate.end, unit_position(target->unit)};
    return kept->method != MDF_METHOD_CVODE_BDF || emit_differentiate(solver, target, kept);
}
