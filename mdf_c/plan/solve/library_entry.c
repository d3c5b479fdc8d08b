/* library_entry.c - what a library needs to solve the states: see solver.h. */
#include "mdf_c/plan/solve/solver.h"

#include "mdf_c/plan/trace.h"

static bool make_state(struct target *target, const struct solver_state *of, struct mdf_program_state *state)
{
    bool done;

    *state = (struct mdf_program_state){.y = unit_new_slot(target, 0), .next = of->next, .path = of->origin.path};
    done = state->y != MDF_NO_OPERAND;
    for (int k = 0; done && k < MDF_STATE_N_RESULTS; k++) {
        state->results[k] = unit_new_slot(target, 0);
        done = state->results[k] != MDF_NO_OPERAND;
    }
    return done;
}

static struct mdf_program_state *make_states(struct solver *solver, struct target *target)
{
    struct mdf_program_state *states = mdf_arena_array(target->compiler->arena, solver->side.n_states, sizeof *states);

    for (size_t i = 0; states != NULL && i < solver->side.n_states; i++) {
        if (!make_state(target, &solver->side.states[i], &states[i])) {
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

static solver_values states_of(struct solver *solver, const struct mdf_program_state *states)
{
    solver_values y = solver_new_values(solver);

    for (size_t i = 0; y != NULL && i < solver->side.n_states; i++) {
        y[i] = states[i].y;
    }
    return y;
}

/* Some values as reals of the shapes of the states, in slots of these. */
static bool leave_whole(struct solver *solver, struct target *target, const struct mdf_program_state *states,
                        const char *expression, solver_values y, solver_values made, enum mdf_state_result result)
{
    const struct solver_named named[] = {{"y", y}, {"made", made}};
    solver_values whole = solver_new_values(solver);
    bool done = whole != NULL && solver_compute_each(solver, target, expression, named, 2, whole);

    for (size_t i = 0; done && i < solver->side.n_states; i++) {
        done = copy(target, states[i].results[result], whole[i]);
    }
    return done;
}

#define REAL "made + numpy.where(y > 0.0, 0.0, 0.0)"

static bool emit_evaluate(struct solver *solver, struct target *target, const struct mdf_program_state *states)
{
    solver_values y = states_of(solver, states), slopes = solver_new_values(solver);

    return y != NULL && slopes != NULL && right_side_emit(&solver->side, &solver->side.slopes, target, y, slopes) &&
           leave_whole(solver, target, states, REAL, y, slopes, MDF_STATE_SLOPE);
}

static bool emit_condition(struct solver *solver, struct target *target, const struct mdf_program_state *states)
{
    solver_values y = states_of(solver, states);
    mdf_operand *made = trace_new_operands(target->compiler, 2 * solver->side.n_states, MDF_NO_OPERAND);

    return y != NULL && made != NULL && right_side_emit(&solver->side, &solver->side.conditions, target, y, made) &&
           leave_whole(solver, target, states, REAL, y, made, MDF_STATE_CONDITIONED) &&
           leave_whole(solver, target, states, "numpy.where(made, 1.0, 0.0) + numpy.where(y > 0.0, 0.0, 0.0)", y,
                       made + solver->side.n_states, MDF_STATE_HOLDS);
}

bool solver_emit_entry(struct solver *solver, struct target *target)
{
    struct mdf_program_solver *kept = &target->compiler->program->solver;
    size_t first = unit_position(target->unit);

    kept->states = make_states(solver, target);
    if (kept->states == NULL || !emit_begin(solver, target, kept->states)) {
        return false;
    }
    kept->begin = (struct mdf_range){first, unit_position(target->unit)};
    if (!emit_evaluate(solver, target, kept->states)) {
        return false;
    }
    kept->evaluate = (struct mdf_range){kept->begin.end, unit_position(target->unit)};
    if (solver->side.has_events && !emit_condition(solver, target, kept->states)) {
        return false;
    }
    kept->condition = (struct mdf_range){kept->evaluate.end, unit_position(target->unit)};
    return true;
}
