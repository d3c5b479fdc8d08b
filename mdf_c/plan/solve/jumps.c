/* jumps.c - see jumps.h.
 *
 * Where slopes jump, and on either side lead to the other, no solution goes on by the slopes as they are: a solver goes to and fro
 * in steps that the tolerance makes tiny. Of a step that was wrong the way of an Euler step of its length is halved, towards the
 * part in which slopes change more. Where they are continuous, the change gets smaller with the part, and the loop ends; what is
 * left behind all halvings is a jump. Then an Euler step from each side, short beside the solver's, tells where the slopes there
 * lead to: past a jump in time, or one that a solution goes through, only one leads to the other side.
 * mdf_c/run/solve/cvode_jumps.c does the same. */
#include "mdf_c/plan/solve/jumps.h"

#include "mdf_c/plan/solve/step_loop.h"
#include "mdf_c/plan/traced/trace.h"

enum { N_ENDS = 4, N_COUNTS = 3, ALL_TRIPS = 1 + MDF_SOLVER_JUMP_HALVINGS + 2 };

/* Names of the body: how far slopes at the point are from those at either end, and what follows of it. */
static bool compare(struct solver *solver, struct step_loop *loop, const struct solver_named *named)
{
    static const struct {
        const char *name, *expression;
    } lines[] = {
        {"is_low", "from_low < from_high"},
        {"begins", "trip < 1.0"},
        {"halves", "trip <= halvings"}, /* or begins */
        {"moves_low", "numpy.logical_and(numpy.logical_and(halves, is_low), trip >= 1.0)"},
        {"moves_high", "numpy.logical_and(halves, numpy.logical_or(begins, from_low >= from_high))"},
        {"whole", "numpy.where(begins, from_low, change)"},
        {"leads", "numpy.where(halves, 0.0, numpy.where(trip < halvings + 2.0, numpy.where(from_high < from_low, 1.0, 0.0), "
                  "numpy.where(is_low, 1.0, 0.0)))"},
        {"goes_on", "numpy.logical_or(trip > halvings, numpy.maximum(from_low, from_high) > 0.25 * whole)"},
    };

    if (!solver_take_norm(solver, &loop->target, "from_low", "(k - kl) / (atol + rtol * numpy.abs(m))", named, N_ENDS + 2) ||
        !solver_take_norm(solver, &loop->target, "from_high", "(k - kh) / (atol + rtol * numpy.abs(m))", named, N_ENDS + 2)) {
        return false;
    }
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (solver_compute(&loop->target, lines[i].name, lines[i].expression) == MDF_NO_OPERAND) {
            return false;
        }
    }
    return true;
}

static bool make_body(struct solver *solver, struct step_loop *loop)
{
    struct solver_named named[N_ENDS + 2] = {{"low", NULL}, {"high", NULL}, {"kl", NULL}, {"kh", NULL}, {"m", NULL}, {"k", NULL}};
    static const char *const counts[N_COUNTS] = {"trip", "change", "led"},
                      *const next_counts[N_COUNTS] = {"trip + 1.0", "whole + 0.0", "led + leads"},
                      *const next[N_ENDS] = {"numpy.where(moves_low, m, low)", "numpy.where(moves_high, m, high)",
                                             "numpy.where(moves_low, k, kl)", "numpy.where(moves_high, k, kh)"};
    mdf_operand formal;

    for (size_t i = 0; i < N_COUNTS; i++) {
        if (!step_loop_formal(loop, counts[i], &formal)) {
            return false;
        }
    }
    for (size_t k = 0; k < N_ENDS + 2; k++) {
        named[k].values = solver_new_values(solver);
        if (named[k].values == NULL || (k < N_ENDS && !step_loop_formals(solver, loop, named[k].values))) {
            return false;
        }
    }
    if (!solver_compute_each(solver, &loop->target,
                             "numpy.where(trip < 1.0, low + h * kl, numpy.where(trip <= halvings, 0.5 * (low + high), "
                             "numpy.where(trip < halvings + 2.0, low + h / jump_part * kl, high + h / jump_part * kh)))",
                             named, N_ENDS, named[N_ENDS].values) ||
        !right_side_emit(&solver->side, &solver->side.slopes, &loop->target, named[N_ENDS].values, named[N_ENDS + 1].values) ||
        !compare(solver, loop, named)) {
        return false;
    }
    for (size_t i = 0; i < N_COUNTS; i++) {
        if (!step_loop_yield(loop, next_counts[i])) {
            return false;
        }
    }
    for (size_t k = 0; k < N_ENDS; k++) {
        if (!step_loop_yields(solver, loop, next[k], named, N_ENDS + 2)) {
            return false;
        }
    }
    return true;
}

/* What the body knows of the step around it. */
static bool name_outer(struct solver *solver, struct target *target, struct step_loop *loop)
{
    mdf_operand h = solver_compute(target, NULL, "h");

    return h != MDF_NO_OPERAND && solver_name(&loop->target, "h", unit_capture(&loop->target, &loop->unit, loop->outer, h)) &&
           solver_name_real(&loop->target, "jump_part", MDF_SOLVER_JUMP_PART) &&
           solver_name_real(&loop->target, "halvings", MDF_SOLVER_JUMP_HALVINGS) && solver_name_options(solver, &loop->target);
}

/* The states of the loop as it begins. */
static mdf_operand *begin_at(struct solver *solver, struct target *target, solver_values y, solver_values slopes, size_t n)
{
    const solver_values values[N_ENDS] = {y, y, slopes, slopes};
    mdf_operand *states = trace_new_operands(target->compiler, n, MDF_NO_OPERAND);

    for (size_t i = 0; states != NULL && i < N_COUNTS; i++) {
        states[i] = solver_compute(target, NULL, "0.0 * h");
        if (states[i] == MDF_NO_OPERAND) {
            return NULL;
        }
    }
    for (size_t k = 0; states != NULL && k < N_ENDS; k++) {
        for (size_t i = 0; i < solver->side.n_states; i++) {
            states[N_COUNTS + k * solver->side.n_states + i] = values[k][i];
        }
    }
    return states;
}

/* A name for what the loop leaves, which is `else_value` where it does not run. */
static bool leave(struct target *target, const char *name, mdf_operand else_value, mdf_operand *slot)
{
    *slot = unit_new_slot(target, 0);
    return *slot != MDF_NO_OPERAND && unit_emit(target, MDF_OPCODE_COPY, *slot, else_value, 0) && solver_name(target, name, *slot);
}

/* The loop is jumped over, which costs less than one of no runs: it is needed for few steps. */
static bool emit_loop(struct step_loop *loop, struct target *target, mdf_operand condition, const mdf_operand *states,
                      mdf_operand *outputs, size_t n)
{
    mdf_operand goes_on = solver_compute(&loop->target, NULL, "goes_on"), trips, led;
    size_t past;

    if (goes_on == MDF_NO_OPERAND || !leave(target, "trips", states[0], &trips) || !leave(target, "led_across", states[2], &led)) {
        unit_clear(target->compiler, &loop->unit);
        return false;
    }
    past = unit_emit_jump(target, MDF_OPCODE_JUMP_UNLESS, condition);
    if (!step_loop_emit(loop, target, goes_on, ALL_TRIPS, condition, states, outputs, n) || past == SIZE_MAX ||
        !unit_emit(target, MDF_OPCODE_COPY, trips, outputs[0], 0) || !unit_emit(target, MDF_OPCODE_COPY, led, outputs[2], 0)) {
        return false;
    }
    unit_land(target->unit, past);
    return true;
}

bool solver_emit_jump(struct solver *solver, struct target *target, solver_values y, solver_values slopes)
{
    size_t n = N_COUNTS + N_ENDS * solver->side.n_states;
    mdf_operand *outputs = trace_new_operands(target->compiler, n, MDF_NO_OPERAND), *states, condition;
    struct step_loop loop;

    if (outputs == NULL || !solver_name_real(target, "steps_to_watch", MDF_SOLVER_STEPS_TO_WATCH) ||
        !solver_name_real(target, "all_trips", ALL_TRIPS)) {
        return false;
    }
    states = begin_at(solver, target, y, slopes, n);
    condition = solver_compute(target, NULL, "numpy.logical_and(numpy.logical_not(accepted), steps >= steps_to_watch)");
    if (states == NULL || condition == MDF_NO_OPERAND) {
        return false;
    }
    step_loop_begin(&loop, target);
    if (!name_outer(solver, target, &loop) || !make_body(solver, &loop)) {
        unit_clear(target->compiler, &loop.unit);
        return false;
    }
    return emit_loop(&loop, target, condition, states, outputs, n) &&
           solver_compute(target, "turned", "numpy.where(trips >= all_trips, numpy.where(led_across >= 2.0, 1.0, 0.0), 0.0)") !=
               MDF_NO_OPERAND;
}
