/* events.c - see events.h.
 *
 * An event is that a condition of a state comes to hold. The polynomial of a step is looked at in PARTS places; between
 * the last one at which none holds and the first at which one does, the time is halved until it is known to 2^-HALVINGS of the
 * part. There the conditions act, all by the same values. Elements on which a condition has acted, and for which it still holds,
 * wait until it does not: so nothing acts twice for one crossing. Where the condition would leave what it has made as it is, and
 * then, holding still, would change it, the model means a limit that holds the state: this is no event. */
#include "mdf_c/plan/solve/events.h"

#include "mdf_c/plan/solve/step_loop.h"
#include "mdf_c/plan/traced/trace.h"

enum { PARTS = 8, HALVINGS = 50 };

/* ------------------------------------------------------------------ at one time */

/* Conditions at some values of the states. */
struct sight {
    solver_values x, made, holds; /* of each state: its value, what conditions make of it, whether one holds */
};

static bool see(struct solver *solver, struct target *target, const mdf_operand *values, struct sight *sight)
{
    size_t n = solver->side.n_states;
    mdf_operand *results = trace_new_operands(target->compiler, 2 * n, MDF_NO_OPERAND);

    *sight = (struct sight){solver_new_values(solver), results, results != NULL ? results + n : NULL};
    if (results == NULL || sight->x == NULL ||
        !right_side_emit(&solver->side, &solver->side.conditions, target, values, results)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        sight->x[i] = values[i];
    }
    return true;
}

/* Elements of the first states for which an expression over `armed` and a sight (x, r, held) is not 0, as a name. */
static bool count_elements(struct solver *solver, struct target *target, const struct sight *sight, const mdf_operand *armed,
                           const char *expression, size_t n_states, const char *name)
{
    solver_values counts = solver_new_values(solver), copy = solver_new_values(solver);
    const struct solver_named named[] = {{"x", sight->x}, {"r", sight->made}, {"held", sight->holds}, {"armed", copy}};
    mdf_operand total = MDF_NO_OPERAND;

    if (counts == NULL || copy == NULL) {
        return false;
    }
    for (size_t i = 0; i < solver->side.n_states; i++) {
        copy[i] = armed[i];
    }
    if (!solver_compute_each(solver, target, expression, named, 4, counts)) {
        return false;
    }
    for (size_t i = 0; i < n_states; i++) {
        total = i == 0 ? counts[i] : unit_call_two(target, PYTHON_ADD, total, counts[i]);
    }
    return solver_name(target, name, total);
}

/* What there is to see, and, as the name `fires`, whether a condition acts. */
static bool look(struct solver *solver, struct target *target, const mdf_operand *values, const mdf_operand *armed,
                 struct sight *sight)
{
    return see(solver, target, values, sight) &&
           count_elements(solver, target, sight, armed, "numpy.sum(numpy.where(held, numpy.where(armed > 0.0, 1.0, 0.0), 0.0))",
                          solver->side.n_states, "n_changes") &&
           solver_compute(target, "fires", "n_changes > 0.0") != MDF_NO_OPERAND;
}

#define WAITS "numpy.where(r == x, -1.0, 0.0)"

bool solver_emit_arming(struct solver *solver, struct target *target, const mdf_operand *y, solver_values armed)
{
    struct sight sight;

    if (!see(solver, target, y, &sight)) {
        return false;
    }
    const struct solver_named named[] = {{"x", sight.x}, {"r", sight.made}, {"held", sight.holds}};

    return solver_compute_each(solver, target, "numpy.where(held, " WAITS ", numpy.where(x == x, 1.0, 1.0))", named, 3, armed);
}

/* The values at the time `u` of a span, in a body. */
static bool take_point(struct solver *solver, struct step_loop *inner, const struct solver_span *span, solver_values values)
{
    struct solver_named *named = mdf_arena_array(&inner->target.compiler->scratch, span->n_parts, sizeof *named);

    if (named == NULL) {
        compile_out_of_memory(inner->target.compiler);
        return false;
    }
    for (size_t k = 0; k < span->n_parts; k++) {
        named[k] = (struct solver_named){span->parts[k].name, step_loop_capture(solver, inner, span->parts[k].values)};
        if (named[k].values == NULL) {
            return false;
        }
    }
    return solver_compute_each(solver, &inner->target, span->polynomial, named, span->n_parts, values);
}

/* ------------------------------------------------------------------ loops */

/* The part of the span in which an event comes first: the names `low`, `high` and `fired`; and what is armed before it. */
static bool search(struct solver *solver, struct target *target, const struct solver_span *span, solver_values armed)
{
    size_t n = 3 + solver->side.n_states;
    solver_values values = solver_new_values(solver), now = solver_new_values(solver);
    struct solver_named named[] = {{"held", NULL}, {"armed", now}};
    struct sight sight;
    mdf_operand *states = trace_new_operands(target->compiler, n, MDF_NO_OPERAND),
                *outputs = trace_new_operands(target->compiler, n, MDF_NO_OPERAND), low, high, fired;
    struct step_loop inner;

    step_loop_begin(&inner, target);
    if (values == NULL || now == NULL || states == NULL || outputs == NULL || !step_loop_formal(&inner, "low", &low) ||
        !step_loop_formal(&inner, "high", &high) || !step_loop_formal(&inner, "fired", &fired)) {
        return false;
    }
    if (!step_loop_formals(solver, &inner, now)) {
        return false;
    }
    for (size_t i = 0; i < solver->side.n_states; i++) {
        states[3 + i] = span->armed[i];
    }
    if (solver_compute(&inner.target, "u", "high + 0.125") == MDF_NO_OPERAND || !take_point(solver, &inner, span, values) ||
        !look(solver, &inner.target, values, now, &sight) || !step_loop_yield(&inner, "high + 0.0") || !step_loop_yield(&inner, "u + 0.0") ||
        !step_loop_yield(&inner, "numpy.where(fires, 1.0, 0.0)")) {
        unit_clear(target->compiler, &inner.unit);
        return false;
    }
    named[0].values = sight.holds;
    if (!step_loop_yields(solver, &inner, "numpy.where(fires, armed, numpy.where(held, armed, 1.0))", named, 2)) {
        unit_clear(target->compiler, &inner.unit);
        return false;
    }
    states[0] = solver_compute(target, NULL, "0.0 * h");
    states[1] = solver_compute(target, NULL, "0.0 * h");
    states[2] = solver_compute(target, NULL, "0.0 * h");
    if (states[0] == MDF_NO_OPERAND || states[1] == MDF_NO_OPERAND || states[2] == MDF_NO_OPERAND ||
        !step_loop_emit(&inner, target, solver_compute(&inner.target, NULL, "not fires"), PARTS,
                    solver_compute(target, NULL, "accepted"), states, outputs, n)) {
        return false;
    }
    for (size_t i = 0; i < solver->side.n_states; i++) {
        armed[i] = outputs[3 + i];
    }
    return solver_name(target, "low", outputs[0]) && solver_name(target, "high", outputs[1]) &&
           solver_name(target, "fired", outputs[2]);
}

/* Halves the part: the name `high` is just behind the event. */
static bool halve(struct solver *solver, struct target *target, const struct solver_span *span, const mdf_operand *armed)
{
    solver_values values = solver_new_values(solver), captured;
    struct sight sight;
    mdf_operand states[2], outputs[2], low, high;
    struct step_loop inner;

    step_loop_begin(&inner, target);
    captured = step_loop_capture(solver, &inner, armed);
    if (values == NULL || captured == NULL || !step_loop_formal(&inner, "low", &low) || !step_loop_formal(&inner, "high", &high) ||
        solver_compute(&inner.target, "u", "0.5 * (low + high)") == MDF_NO_OPERAND || !take_point(solver, &inner, span, values) ||
        !look(solver, &inner.target, values, captured, &sight) || !step_loop_yield(&inner, "numpy.where(fires, low, u)") ||
        !step_loop_yield(&inner, "numpy.where(fires, u, high)")) {
        unit_clear(target->compiler, &inner.unit);
        return false;
    }
    states[0] = solver_compute(target, NULL, "low");
    states[1] = solver_compute(target, NULL, "high");
    return states[0] != MDF_NO_OPERAND && states[1] != MDF_NO_OPERAND &&
           step_loop_emit(&inner, target, solver_compute(&inner.target, NULL, "low < u and u < high"), HALVINGS,
                      solver_compute(target, NULL, "fired > 0.0"), states, outputs, 2) &&
           solver_name(target, "behind", outputs[1]);
}

/* What is held can not slide: it is there to be changed in events. */
#define SLIDES "numpy.sum(numpy.where(held, numpy.where(armed < 0.0, numpy.where(r != x, 1.0, 0.0), 0.0), 0.0))"

static size_t n_held(const struct solver *solver)
{
    return solver->side.builder->compiler->program->solver.n_held;
}

/* What is armed behind an event, by what conditions make of its values. */
static bool arm_behind(struct solver *solver, struct target *target, const struct sight *at, const mdf_operand *values,
                       solver_values before, solver_values armed)
{
    struct sight then;

    if (!see(solver, target, values, &then)) {
        return false;
    }
    const struct solver_named named[] = {
        {"x", then.x}, {"r", then.made}, {"held_then", then.holds}, {"held", at->holds}, {"armed", before}};

    return solver_compute_each(solver, target,
                               "numpy.where(fired > 0.0, numpy.where(held_then, numpy.where(armed > 0.0, numpy.where(held, " WAITS
                               ", 1.0), armed), 1.0), armed)",
                               named, 5, armed);
}

bool solver_emit_events(struct solver *solver, struct target *target, const struct solver_span *span, const mdf_operand *at_end,
                        solver_values values, solver_values armed)
{
    solver_values before = solver_new_values(solver), point = solver_new_values(solver), x = solver_new_values(solver),
                  end = solver_new_values(solver);
    const struct solver_named ends[] = {{"point", point}, {"end", end}};
    struct sight sight;

    if (before == NULL || point == NULL || x == NULL || end == NULL || !search(solver, target, span, before) ||
        !halve(solver, target, span, before) ||
        solver_compute(target, "share", "numpy.where(fired > 0.0, behind, 1.0)") == MDF_NO_OPERAND ||
        solver_compute(target, "u", "share") == MDF_NO_OPERAND ||
        !solver_compute_each(solver, target, span->polynomial, span->parts, span->n_parts, point)) {
        return false;
    }
    for (size_t i = 0; i < solver->side.n_states; i++) {
        end[i] = at_end[i];
    }
    if (!solver_compute_each(solver, target, "numpy.where(fired > 0.0, point, end)", ends, 2, x) ||
        !look(solver, target, x, before, &sight)) {
        return false;
    }
    const struct solver_named named[] = {{"x", x}, {"r", sight.made}, {"held", sight.holds}, {"armed", before}};

    return solver_compute_each(solver, target,
                               "numpy.where(fired > 0.0, numpy.where(held, numpy.where(armed > 0.0, r, x), x), x)", named, 4,
                               values) &&
           count_elements(solver, target, &sight, before, SLIDES, solver->side.n_states - n_held(solver), "slides") &&
           arm_behind(solver, target, &sight, values, before, armed);
}
