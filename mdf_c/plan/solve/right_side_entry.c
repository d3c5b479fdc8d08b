/* right_side_entry.c - the right-hand side for who solves the equations himself: source for FMUs and simulators.
 *
 * Goes out: code that no evaluation runs. It sets output ports and tests of conditions to what they are at states `y`, and gives
 * slopes, what conditions make of the states, and how slopes and outputs change in a direction of states, inputs and
 * parameters: what hands gradients back is linear in them, and the derivative of that is what goes forward. */
#include "mdf_c/plan/solve/entry.h"

#include "mdf_c/plan/gradient/evaluation.h"
#include "mdf_c/plan/traced/trace.h"

#include <string.h>

static const struct mdf_program *program_of(const struct solver *solver)
{
    return solver->side.builder->compiler->program;
}

/* ------------------------------------------------------------------ what is looked at */

static bool is_state(const struct solver *solver, mdf_operand operand)
{
    for (size_t i = 0; i < solver->side.n_states; i++) {
        if (solver->side.states[i].slot == operand) {
            return true;
        }
    }
    return false;
}

/* Who sets the states sees to what is one. */
static bool put(const struct solver *solver, struct target *target, mdf_operand operand, mdf_operand made)
{
    return MDF_OPERAND_KIND(operand) != MDF_OPERAND_SLOT || operand == made || is_state(solver, operand) ||
           unit_emit(target, MDF_OPCODE_COPY, operand, made, 0);
}

static bool emit_evaluate(struct solver *solver, struct target *target, const struct mdf_program_state *states)
{
    const struct mdf_program *program = program_of(solver);
    const struct list *events = &target->compiler->events;
    size_t n = solver->side.looked.n_values, at = solver->side.n_states, output = 0;
    solver_values y = entry_y(solver, states);
    mdf_operand *made = trace_new_operands(target->compiler, n + 1, MDF_NO_OPERAND);

    if (y == NULL || made == NULL || !right_side_emit(&solver->side, &solver->side.looked, target, y, made) ||
        !entry_leave(solver, target, states, ENTRY_REAL, y, made, MDF_STATE_SLOPE)) {
        return false;
    }
    for (size_t i = 0; i < program->n_nodes; i++) {
        for (size_t k = 0; k < program->nodes[i].n_outputs; k++, at++, output++) {
            if ((solver->side.is_looked_at == NULL || solver->side.is_looked_at[output]) &&
                !put(solver, target, program->nodes[i].outputs[k].operand, made[at])) {
                return false;
            }
        }
    }
    for (size_t i = 0; i < events->n; i++) {
        if (!put(solver, target, ((const struct mdf_program_event *)events->items)[i].test, made[at++])) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ directions */

/* What there are derivatives by: states, then ports that nothing feeds, then parameters that are changeable. */
struct directions {
    size_t n, n_states;
    mdf_operand *xs, *slots;
};

static bool add_direction(struct directions *directions, struct target *target, mdf_operand x, mdf_operand *slot)
{
    *slot = unit_new_slot(target, 0);
    directions->xs[directions->n] = x;
    directions->slots[directions->n++] = *slot;
    return *slot != MDF_NO_OPERAND;
}

static bool add_others(struct directions *directions, struct target *target, const struct mdf_program_right_side *kept)
{
    const struct mdf_program *program = target->compiler->program;
    const struct list *parameters = &target->compiler->parameters;

    for (size_t i = 0; i < program->n_ports; i++) {
        if (!program->ports[i].is_fed && !add_direction(directions, target, program->ports[i].slot, &kept->by_port[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < parameters->n; i++) {
        if (!add_direction(directions, target, ((const struct mdf_program_parameter *)parameters->items)[i].slot,
                           &kept->by_parameter[i])) {
            return false;
        }
    }
    return true;
}

static bool find_directions(struct solver *solver, struct target *target, struct mdf_program_right_side *kept,
                            struct directions *directions)
{
    struct compiler *compiler = target->compiler;
    const struct mdf_program *program = compiler->program;
    size_t most = solver->side.n_states + program->n_ports + compiler->parameters.n + 1;

    kept->by_port = mdf_arena_array(compiler->arena, program->n_ports + 1, sizeof *kept->by_port);
    kept->by_parameter = mdf_arena_array(compiler->arena, compiler->parameters.n + 1, sizeof *kept->by_parameter);
    directions->xs = trace_new_operands(compiler, most, MDF_NO_OPERAND);
    directions->slots = trace_new_operands(compiler, most, MDF_NO_OPERAND);
    if (kept->by_port == NULL || kept->by_parameter == NULL) {
        return compile_out_of_memory(compiler) != MDF_NO_OPERAND;
    }
    for (size_t i = 0; i < program->n_ports; i++) {
        kept->by_port[i] = MDF_NO_OPERAND;
    }
    for (size_t i = 0; directions->slots != NULL && i < solver->side.n_states; i++) {
        directions->xs[i] = kept->states[i].y;
        directions->slots[i] = kept->states[i].direction;
    }
    directions->n = directions->n_states = solver->side.n_states;
    return directions->xs != NULL && directions->slots != NULL && add_others(directions, target, kept);
}

/* All 1, in the shapes of what they are directions of. */
static bool emit_directions(struct target *target, const struct directions *directions)
{
    for (size_t i = 0; i < directions->n; i++) {
        struct scope scope = {.outer = target->scope, .unit = target->unit};
        struct target inner = {target->compiler, target->unit, &scope};
        mdf_operand one = solver_name(&inner, "x", directions->xs[i])
                              ? solver_compute(&inner, NULL, "numpy.ones_like(numpy.multiply(x, 1.0))")
                              : MDF_NO_OPERAND;

        if (one == MDF_NO_OPERAND || !unit_emit(target, MDF_OPCODE_COPY, directions->slots[i], one, 0)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ tangents */

/* What is derived: slopes and outputs, each computed once more, so that no two are one operand. */
struct derived {
    size_t first, n; /* instructions from `first` on */
    struct derived_value *values;
    mdf_operand *seeds, *tangents;
};

static bool emit_values(struct solver *solver, struct target *target, const mdf_operand *y, struct derived *derived)
{
    struct compiler *compiler = target->compiler;
    mdf_operand *made = trace_new_operands(compiler, solver->side.looked.n_values + 1, MDF_NO_OPERAND), one;

    derived->values = mdf_arena_array(&compiler->scratch, derived->n + 1, sizeof *derived->values);
    derived->seeds = trace_new_operands(compiler, derived->n + 1, MDF_NO_OPERAND);
    derived->tangents = trace_new_operands(compiler, derived->n + 1, MDF_NO_OPERAND);
    derived->first = unit_position(target->unit);
    if (made == NULL || derived->values == NULL || derived->seeds == NULL || derived->tangents == NULL ||
        !right_side_emit(&solver->side, &solver->side.looked, target, y, made)) {
        return false;
    }
    one = solver_compute(target, NULL, "1.0");
    for (size_t i = 0; i < derived->n; i++) {
        derived->values[i].value = unit_call_two(target, PYTHON_MULTIPLY, made[i], one);
        derived->seeds[i] = derived->values[i].value != MDF_NO_OPERAND
                                ? unit_call_python(target, PYTHON_ONES_LIKE, &derived->values[i].value, 1)
                                : MDF_NO_OPERAND;
        derived->values[i].seed = derived->seeds[i];
        if (derived->seeds[i] == MDF_NO_OPERAND) {
            return false;
        }
    }
    return true;
}

static bool emit_forward(struct target *target, const mdf_operand *xs, const struct directions *directions,
                         struct derived *derived)
{
    size_t second = unit_position(target->unit);
    mdf_operand *gradients = trace_new_operands(target->compiler, directions->n + 1, MDF_NO_OPERAND), along;

    if (gradients == NULL ||
        !compile_gradients_from(target, derived->first, derived->values, derived->n, xs, directions->n, gradients)) {
        return false;
    }
    along = entry_sum_products(target, gradients, directions->slots, directions->n);
    return along != MDF_NO_OPERAND && compile_gradients_from(target, second, &(struct derived_value){along, MDF_NO_OPERAND}, 1,
                                                             derived->seeds, derived->n, derived->tangents);
}

/* In slots, and with that the code only that these need. */
static bool leave_tangents(struct solver *solver, struct target *target, const struct mdf_program_right_side *kept,
                           struct derived *derived)
{
    struct list roots = {0};
    size_t n_outputs = derived->n - solver->side.n_states;
    solver_values y = entry_y(solver, kept->states);

    for (size_t i = 0; i < derived->n; i++) {
        if (!list_add(target->compiler, &roots, &derived->tangents[i], sizeof derived->tangents[i])) {
            return false;
        }
    }
    if (!compile_take_out_unread(target, derived->first, &roots) || y == NULL ||
        !entry_leave(solver, target, kept->states, ENTRY_REAL, y, derived->tangents, MDF_STATE_TANGENT)) {
        return false;
    }
    for (size_t i = 0; i < n_outputs; i++) {
        if (!unit_emit(target, MDF_OPCODE_COPY, kept->of_output[i], derived->tangents[solver->side.n_states + i], 0)) {
            return false;
        }
    }
    return true;
}

static bool emit_tangents(struct solver *solver, struct target *target, const struct mdf_program_right_side *kept,
                          const struct directions *directions)
{
    struct derived derived = {.n = solver->side.n_states + mdf_program_count_outputs(target->compiler->program)};
    mdf_operand *xs = trace_new_operands(target->compiler, directions->n + 1, MDF_NO_OPERAND);

    for (size_t i = 0; xs != NULL && i < directions->n; i++) {
        xs[i] = i < directions->n_states ? unit_own_copy(target, directions->xs[i]) : directions->xs[i]; /* written once */
        if (xs[i] == MDF_NO_OPERAND) {
            return false;
        }
    }
    return xs != NULL && emit_values(solver, target, xs, &derived) && emit_forward(target, xs, directions, &derived) &&
           leave_tangents(solver, target, kept, &derived);
}

/* Where there are no derivatives, there is no such code. */
static bool emit_differentiate(struct solver *solver, struct target *target, struct mdf_program_right_side *kept,
                               const struct directions *directions)
{
    size_t first = unit_position(target->unit);
    bool done = directions->n == 0 || emit_tangents(solver, target, kept, directions);

    return entry_end_derivatives(target, first, done, &kept->differentiate);
}

/* ------------------------------------------------------------------ the whole */

static bool new_slots(struct target *target, struct mdf_program_right_side *kept)
{
    size_t n = mdf_program_count_outputs(target->compiler->program);

    kept->of_output = mdf_arena_array(target->compiler->arena, n + 1, sizeof *kept->of_output);
    if (kept->of_output == NULL) {
        return compile_out_of_memory(target->compiler) != MDF_NO_OPERAND;
    }
    for (size_t i = 0; i < n; i++) {
        kept->of_output[i] = unit_new_slot(target, 0);
        if (kept->of_output[i] == MDF_NO_OPERAND) {
            return false;
        }
    }
    return true;
}

bool solver_emit_right_side(struct solver *solver, struct target *target)
{
    struct mdf_program_right_side *kept = &target->compiler->program->right_side;
    struct directions directions = {0};
    size_t first = unit_position(target->unit);

    kept->states = target->compiler->program->solver.states; /* a library's, where one solves them */
    kept->states = kept->states != NULL ? kept->states : entry_new_states(solver, target);
    kept->n_states = solver->side.n_states;
    if (kept->states == NULL || !new_slots(target, kept) || !find_directions(solver, target, kept, &directions) ||
        !entry_emit_begin(solver, target, kept->states)) {
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
    if (!emit_directions(target, &directions)) {
        return false;
    }
    kept->direct = (struct mdf_range){kept->condition.end, unit_position(target->unit)};
    return emit_differentiate(solver, target, kept, &directions);
}
