/* library_entry.c - what a library needs to solve the states: see solver.h. */
#include "mdf_c/plan/solve/solver.h"

#include "mdf_c/plan/gradient/evaluation.h"
#include "mdf_c/plan/trace.h"

#include <string.h>

static bool make_state(struct target *target, const struct solver_state *of, struct mdf_program_state *state)
{
    bool done;

    *state = (struct mdf_program_state){
        .y = unit_new_slot(target, 0), .weight = unit_new_slot(target, 0), .next = of->next, .path = of->origin.path};
    done = state->y != MDF_NO_OPERAND && state->weight != MDF_NO_OPERAND;
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

/* The sum of the products of two values of each of some states. */
static mdf_operand sum_products(struct target *target, const mdf_operand *a, const mdf_operand *b, size_t n)
{
    mdf_operand total = MDF_NO_OPERAND;

    for (size_t i = 0; i < n; i++) {
        mdf_operand product = unit_call_two(target, PYTHON_MULTIPLY, a[i], b[i], MDF_NO_OPERAND), sum;

        sum = product != MDF_NO_OPERAND ? unit_call_python(target, "numpy.sum", &product, 1, MDF_NO_OPERAND) : product;
        total = i == 0 || sum == MDF_NO_OPERAND ? sum : unit_call_two(target, PYTHON_ADD, total, sum, MDF_NO_OPERAND);
        if (total == MDF_NO_OPERAND) {
            return total;
        }
    }
    return total;
}

/* The gradients of the sum of all slopes, weighted, by the states: with one weight of 1, a row of the Jacobian. */
static bool emit_gradients(struct solver *solver, struct target *target, const struct mdf_program_state *states)
{
    size_t n = solver->side.n_states - target->compiler->program->solver.n_held, first;
    solver_values y = states_of(solver, states), slopes = solver_new_values(solver), weights = solver_new_values(solver),
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
    sum = sum_products(target, weights, slopes, n);
    if (sum == MDF_NO_OPERAND ||
        !compile_gradients_from(target, first, &(struct derived_value){sum, MDF_NO_OPERAND}, 1, y, n, gradients)) {
        return false;
    }
    for (size_t i = n; i < solver->side.n_states; i++) {
        gradients[i] = y[i]; /* nobody asks for that of what is held */
    }
    return leave_whole(solver, target, states, REAL, y, gradients, MDF_STATE_GRADIENT);
}

/* Where there are no derivatives, the library takes differences. */
static bool emit_differentiate(struct solver *solver, struct target *target, struct mdf_program_solver *kept)
{
    struct compiler *compiler = target->compiler;
    size_t first = unit_position(target->unit);
    bool done = emit_gradients(solver, target, kept->states);

    kept->differentiate = (struct mdf_range){first, unit_position(target->unit)};
    if (done || compiler->error->code == MDF_OUT_OF_MEMORY) {
        return done;
    }
    memset(compiler->error, 0, sizeof *compiler->error);
    solver_blank(target->unit, first, kept->differentiate.end);
    kept->differentiate.end = first;
    return true;
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
    return kept->method != MDF_METHOD_CVODE_BDF || emit_differentiate(solver, target, kept);
}
