/* entry.c - see entry.h. */
#include "mdf_c/plan/solve/entry.h"

#include "mdf_c/plan/traced/trace.h"

static bool make_state(struct target *target, const struct solver_state *of, struct mdf_program_state *state)
{
    bool done;

    *state = (struct mdf_program_state){.slot = of->slot,
                                        .y = unit_new_slot(target, 0),
                                        .direction = unit_new_slot(target, 0),
                                        .weight = unit_new_slot(target, 0),
                                        .next = of->next,
                                        .path = of->origin.path};
    done = state->y != MDF_NO_OPERAND && state->direction != MDF_NO_OPERAND && state->weight != MDF_NO_OPERAND;
    for (int k = 0; done && k < MDF_STATE_N_RESULTS; k++) {
        state->results[k] = unit_new_slot(target, 0);
        done = state->results[k] != MDF_NO_OPERAND;
    }
    return done;
}

struct mdf_program_state *entry_new_states(struct solver *solver, struct target *target)
{
    struct mdf_program_state *states = mdf_arena_array(target->compiler->arena, solver->side.n_states + 1, sizeof *states);

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

bool entry_emit_begin(struct solver *solver, struct target *target, const struct mdf_program_state *states)
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

solver_values entry_y(struct solver *solver, const struct mdf_program_state *states)
{
    solver_values y = solver_new_values(solver);

    for (size_t i = 0; y != NULL && i < solver->side.n_states; i++) {
        y[i] = states[i].y;
    }
    return y;
}

bool entry_leave(struct solver *solver, struct target *target, const struct mdf_program_state *states,
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

bool entry_emit_condition(struct solver *solver, struct target *target, const struct mdf_program_state *states)
{
    solver_values y = entry_y(solver, states);
    mdf_operand *made = trace_new_operands(target->compiler, 2 * solver->side.n_states, MDF_NO_OPERAND);

    return y != NULL && made != NULL && right_side_emit(&solver->side, &solver->side.conditions, target, y, made) &&
           entry_leave(solver, target, states, ENTRY_REAL, y, made, MDF_STATE_CONDITIONED) &&
           entry_leave(solver, target, states, "numpy.where(made, 1.0, 0.0) + numpy.where(y > 0.0, 0.0, 0.0)", y,
                       made + solver->side.n_states, MDF_STATE_HOLDS);
}

mdf_operand entry_sum_products(struct target *target, const mdf_operand *a, const mdf_operand *b, size_t n)
{
    mdf_operand total = MDF_NO_OPERAND;

    for (size_t i = 0; i < n; i++) {
        mdf_operand product = unit_call_two(target, PYTHON_MULTIPLY, a[i], b[i]), sum;

        sum = product != MDF_NO_OPERAND ? unit_call_python(target, PYTHON_SUM, &product, 1) : product;
        total = i == 0 || sum == MDF_NO_OPERAND ? sum : unit_call_two(target, PYTHON_ADD, total, sum);
        if (total == MDF_NO_OPERAND) {
            return total;
        }
    }
    return total;
}
