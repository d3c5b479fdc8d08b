/* events.c - see events.h.
 *
 * An event is that the conditions of a state come to change it. The polynomial of a step is looked at in PARTS places; between
 * the last one at which none holds and the first at which one does, the time is halved until it is known to 2^-HALVINGS of the
 * part. There the conditions act, all by the same values. Elements that a condition has changed, and for which it still holds,
 * wait until it does not: so nothing acts twice for one crossing. */
#include "mdf_c/plan/solve/events.h"

#include "mdf_c/plan/made_loop.h"
#include "mdf_c/plan/trace.h"

enum { PARTS = 8, HALVINGS = 50 };

/* The body of a loop within the code of a step. */
struct inner {
    struct unit unit, *outer;
    struct scope scope;
    struct target target;
    struct list formals, yields;
};

static void begin_inner(struct inner *inner, struct target *outer)
{
    *inner = (struct inner){.outer = outer->unit};
    inner->unit.outer = outer->unit;
    inner->scope = (struct scope){.outer = outer->scope, .unit = &inner->unit};
    inner->target = (struct target){outer->compiler, &inner->unit, &inner->scope};
}

/* Values of the code around a body as the body sees them. */
static solver_values capture(struct solver *solver, struct inner *inner, const mdf_operand *values)
{
    solver_values captured = solver_new_values(solver);

    for (size_t i = 0; captured != NULL && i < solver->side.n_states; i++) {
        captured[i] = unit_capture(&inner->target, &inner->unit, inner->outer, values[i]);
        if (captured[i] == MDF_NO_OPERAND) {
            return NULL;
        }
    }
    return captured;
}

static bool add_formal(struct inner *inner, const char *name, mdf_operand *formal)
{
    *formal = unit_new_slot(&inner->target, 0);
    return *formal != MDF_NO_OPERAND && list_add(inner->target.compiler, &inner->formals, formal, sizeof *formal) &&
           (name == NULL || solver_name(&inner->target, name, *formal));
}

static bool add_yield(struct inner *inner, const char *expression)
{
    mdf_operand yield = solver_compute(&inner->target, NULL, expression);

    return yield != MDF_NO_OPERAND && list_add(inner->target.compiler, &inner->yields, &yield, sizeof yield);
}

/* ------------------------------------------------------------------ at one time */

/* What conditions make of the values at one time, and, as the name `fires`, whether one acts. */
static bool look(struct solver *solver, struct target *target, const mdf_operand *values, const mdf_operand *armed,
                 solver_values conditioned)
{
    solver_values changes = solver_new_values(solver), copy = solver_new_values(solver);
    struct solver_named named[] = {{"x", copy}, {"r", conditioned}, {"armed", solver_new_values(solver)}};
    mdf_operand total = MDF_NO_OPERAND;

    if (changes == NULL || copy == NULL || named[2].values == NULL ||
        !right_side_emit(&solver->side, &solver->side.conditioned, target, values, conditioned)) {
        return false;
    }
    for (size_t i = 0; i < solver->side.n_states; i++) {
        copy[i] = values[i];
        named[2].values[i] = armed[i];
    }
    if (!solver_compute_each(solver, target, "numpy.sum(numpy.where(r != x, armed, 0.0))", named, 3, changes)) {
        return false;
    }
    for (size_t i = 0; i < solver->side.n_states; i++) {
        total = i == 0 ? changes[i] : unit_call_two(target, PYTHON_ADD, total, changes[i], MDF_NO_OPERAND);
    }
    return solver_name(target, "n_changes", total) && solver_compute(target, "fires", "n_changes > 0.0") != MDF_NO_OPERAND;
}

bool solver_emit_arming(struct solver *solver, struct target *target, const mdf_operand *y, solver_values armed)
{
    solver_values conditioned = solver_new_values(solver), copy = solver_new_values(solver);
    const struct solver_named named[] = {{"x", copy}, {"r", conditioned}};

    if (conditioned == NULL || copy == NULL ||
        !right_side_emit(&solver->side, &solver->side.conditioned, target, y, conditioned)) {
        return false;
    }
    for (size_t i = 0; i < solver->side.n_states; i++) {
        copy[i] = y[i];
    }
    return solver_compute_each(solver, target, "numpy.where(r != x, 0.0, 1.0)", named, 2, armed);
}

/* The values at the time `u` of a span, in a body. */
static bool take_point(struct solver *solver, struct inner *inner, const struct solver_span *span, solver_values values)
{
    struct solver_named *named = mdf_arena_array(&inner->target.compiler->scratch, span->n_parts, sizeof *named);

    if (named == NULL) {
        compile_out_of_memory(inner->target.compiler);
        return false;
    }
    for (size_t k = 0; k < span->n_parts; k++) {
        named[k] = (struct solver_named){span->parts[k].name, capture(solver, inner, span->parts[k].values)};
        if (named[k].values == NULL) {
            return false;
        }
    }
    return solver_compute_each(solver, &inner->target, span->polynomial, named, span->n_parts, values);
}

/* ------------------------------------------------------------------ loops */

static bool emit_inner(struct inner *inner, struct target *target, mdf_operand goes_on, uint64_t most, mdf_operand condition,
                       const mdf_operand *states, mdf_operand *outputs, size_t n)
{
    struct mdf_code *body =
        goes_on != MDF_NO_OPERAND ? made_loop_body(&inner->target, &inner->formals, &inner->yields, goes_on, "event") : NULL;

    unit_clear(target->compiler, &inner->unit);
    for (size_t i = 0; body != NULL && i < n; i++) {
        outputs[i] = unit_new_slot(target, 0);
        if (outputs[i] == MDF_NO_OPERAND) {
            mdf_code_clear(target->compiler->memory, body);
            return false;
        }
    }
    return body != NULL && made_loop_emit(target, body, most, condition, states, outputs, n);
}

/* The part of the span in which an event comes first: the names `low`, `high` and `fired`; and what is armed before it. */
static bool search(struct solver *solver, struct target *target, const struct solver_span *span, solver_values armed)
{
    size_t n = 3 + solver->side.n_states;
    solver_values values = solver_new_values(solver), conditioned = solver_new_values(solver), now = solver_new_values(solver),
                  next = solver_new_values(solver);
    const struct solver_named named[] = {{"x", values}, {"r", conditioned}, {"armed", now}};
    mdf_operand *states = trace_new_operands(target->compiler, n, MDF_NO_OPERAND),
                *outputs = trace_new_operands(target->compiler, n, MDF_NO_OPERAND), low, high, fired;
    struct inner inner;

    begin_inner(&inner, target);
    if (values == NULL || conditioned == NULL || now == NULL || next == NULL || states == NULL || outputs == NULL ||
        !add_formal(&inner, "low", &low) || !add_formal(&inner, "high", &high) || !add_formal(&inner, "fired", &fired)) {
        return false;
    }
    for (size_t i = 0; i < solver->side.n_states; i++) {
        if (!add_formal(&inner, NULL, &now[i])) {
            return false;
        }
        states[3 + i] = span->armed[i];
    }
    if (solver_compute(&inner.target, "u", "high + 0.125") == MDF_NO_OPERAND || !take_point(solver, &inner, span, values) ||
        !look(solver, &inner.target, values, now, conditioned) || !add_yield(&inner, "high + 0.0") || !add_yield(&inner, "u + 0.0") ||
        !add_yield(&inner, "numpy.where(fires, 1.0, 0.0)") ||
        !solver_compute_each(solver, &inner.target, "numpy.where(fires, armed, numpy.where(r != x, armed, 1.0))", named, 3, next)) {
        unit_clear(target->compiler, &inner.unit);
        return false;
    }
    for (size_t i = 0; i < solver->side.n_states; i++) {
        if (!list_add(target->compiler, &inner.yields, &next[i], sizeof *next)) {
            return false;
        }
    }
    states[0] = solver_compute(target, NULL, "0.0 * h");
    states[1] = solver_compute(target, NULL, "0.0 * h");
    states[2] = solver_compute(target, NULL, "0.0 * h");
    if (states[0] == MDF_NO_OPERAND || states[1] == MDF_NO_OPERAND || states[2] == MDF_NO_OPERAND ||
        !emit_inner(&inner, target, solver_compute(&inner.target, NULL, "not fires"), PARTS,
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
    solver_values values = solver_new_values(solver), conditioned = solver_new_values(solver), captured;
    mdf_operand states[2], outputs[2], low, high;
    struct inner inner;

    begin_inner(&inner, target);
    captured = capture(solver, &inner, armed);
    if (values == NULL || conditioned == NULL || captured == NULL || !add_formal(&inner, "low", &low) ||
        !add_formal(&inner, "high", &high) || solver_compute(&inner.target, "u", "0.5 * (low + high)") == MDF_NO_OPERAND ||
        !take_point(solver, &inner, span, values) || !look(solver, &inner.target, values, captured, conditioned) ||
        !add_yield(&inner, "numpy.where(fires, low, u)") || !add_yield(&inner, "numpy.where(fires, u, high)")) {
        unit_clear(target->compiler, &inner.unit);
        return false;
    }
    states[0] = solver_compute(target, NULL, "low");
    states[1] = solver_compute(target, NULL, "high");
    return states[0] != MDF_NO_OPERAND && states[1] != MDF_NO_OPERAND &&
           emit_inner(&inner, target, solver_compute(&inner.target, NULL, "low < u and u < high"), HALVINGS,
                      solver_compute(target, NULL, "fired > 0.0"), states, outputs, 2) &&
           solver_name(target, "behind", outputs[1]);
}

bool solver_emit_events(struct solver *solver, struct target *target, const struct solver_span *span, const mdf_operand *at_end,
                        solver_values values, solver_values armed)
{
    solver_values before = solver_new_values(solver), point = solver_new_values(solver), x = solver_new_values(solver),
                  conditioned = solver_new_values(solver), end = solver_new_values(solver);
    const struct solver_named ends[] = {{"point", point}, {"end", end}};
    const struct solver_named named[] = {{"x", x}, {"r", conditioned}, {"armed", before}};

    if (before == NULL || point == NULL || x == NULL || conditioned == NULL || end == NULL ||
        !search(solver, target, span, before) || !halve(solver, target, span, before) ||
        solver_compute(target, "share", "numpy.where(fired > 0.0, behind, 1.0)") == MDF_NO_OPERAND ||
        solver_compute(target, "u", "share") == MDF_NO_OPERAND ||
        !solver_compute_each(solver, target, span->polynomial, span->parts, span->n_parts, point)) {
        return false;
    }
    for (size_t i = 0; i < solver->side.n_states; i++) {
        end[i] = at_end[i];
    }
    return solver_compute_each(solver, target, "numpy.where(fired > 0.0, point, end)", ends, 2, x) &&
           look(solver, target, x, before, conditioned) &&
           solver_compute_each(solver, target, "numpy.where(fired > 0.0, numpy.where(armed > 0.0, r, x), x)", named, 3, values) &&
           solver_compute_each(solver, target, "numpy.where(fired > 0.0, numpy.where(r != x, 0.0, 1.0), armed)", named, 3, armed);
}
