/* cvode_jumps.c - bounds on the steps of an evaluation: their number, and jumps of slopes that the solver can not leave behind.
 *
 * What such a jump is, and how it is told from others, is the same as in mdf_c/plan/solve/jumps.c. Here it lies between two places,
 * one after the other, at which CVODE has looked at slopes, with a step that failed between them, or much unlike slopes. */
#include "mdf_c/run/solve/cvode_state.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static bool allocate(struct mdf_state *state)
{
    struct mdf_solve *solve = state->solve;

    solve->watch.last = mdf_memory_allocate_zeroed(&state->shared->memory, 6 * solve->n + solve->n_all + 1, sizeof *solve->watch.last);
    return solve->watch.last != NULL;
}

bool mdf_solve_make_watch(struct mdf_state *state)
{
    state->solve->watch = (struct mdf_solve_watch){0};
    return allocate(state);
}

void mdf_solve_release_watch(struct mdf_solve *solve, struct mdf_memory *memory)
{
    mdf_memory_release(memory, solve->watch.last);
    solve->watch = (struct mdf_solve_watch){0};
}

/* What takes few steps in each evaluation, but many in each of very many, is looked at too. */
enum { STEPS_OF_A_CROWD = 100, STEPS_OF_CROWDS = 20 * MDF_SOLVER_STEPS_TO_WATCH };

void mdf_solve_begin_watch(struct mdf_solve *solve)
{
    struct mdf_solve_watch *watch = &solve->watch;

    watch->n_before = watch->n_steps < STEPS_OF_A_CROWD ? 0 : watch->n_before + watch->n_steps;
    watch->n_steps = 0;
    watch->n_turns = 0;
    watch->is_on = watch->n_before >= STEPS_OF_CROWDS;
    watch->has_last = false;
}

void mdf_solve_end_watch(struct mdf_solve *solve)
{
    solve->watch.n_before = solve->watch.n_steps = 0;
}

/* ------------------------------------------------------------------ the number of steps */

static uint64_t steps_so_far(const struct mdf_solve *solve)
{
    long n = 0;

    solve->library.CVodeGetNumSteps(solve->cvode, &n);
    return (uint64_t)n;
}

/* How many there may be until something changes. */
static long steps_left(const struct mdf_state *state)
{
    const struct mdf_solve_watch *watch = &state->solve->watch;
    uint64_t end = state->program->solver.step_limit;

    if (!watch->is_on && end > MDF_SOLVER_STEPS_TO_WATCH) {
        end = MDF_SOLVER_STEPS_TO_WATCH;
    }
    return end > watch->n_steps ? (long)(end - watch->n_steps < LONG_MAX ? end - watch->n_steps : LONG_MAX) : 0;
}

int mdf_solve_steps(struct mdf_state *state, double time)
{
    struct mdf_solve *solve = state->solve;
    int code = CV_TOO_MUCH_WORK;
    long left;

    while (code == CV_TOO_MUCH_WORK && (left = steps_left(state)) > 0) {
        uint64_t before = steps_so_far(solve);

        if (solve->library.CVodeSetMaxNumSteps(solve->cvode, left) != CV_SUCCESS) {
            return CV_MEM_FAIL;
        }
        code = solve->library.CVode(solve->cvode, time, solve->y, &solve->time, CV_NORMAL);
        solve->watch.n_steps += steps_so_far(solve) - before;
        solve->watch.is_on = solve->watch.is_on || solve->watch.n_steps >= MDF_SOLVER_STEPS_TO_WATCH;
    }
    return code;
}

/* ------------------------------------------------------------------ jumps */

/* The root of the mean square of the distance of slopes, by the tolerance at `y`; `b` NULL: from 0. */
static double distance(const struct mdf_state *state, const double *y, const double *a, const double *b)
{
    const struct mdf_program_solver *solver = &state->program->solver;
    double sum = 0;

    for (size_t i = 0; i < state->solve->n; i++) {
        double part = (a[i] - (b != NULL ? b[i] : 0)) / (solver->atol + solver->rtol * fabs(y[i]));

        sum += part * part;
    }
    return sqrt(sum / (double)state->solve->n);
}

/* One side of a jump. */
struct side {
    double *y, *slopes;
};

static void move_to(const struct mdf_solve *solve, struct side *side, struct side *to)
{
    memcpy(side->y, to->y, solve->n * sizeof *side->y);
    memcpy(side->slopes, to->slopes, solve->n * sizeof *side->slopes);
}

/* Halves what lies between two sides for as long as slopes jump there: whether they do to the end. */
static bool close_in(struct mdf_state *state, struct side *low, struct side *high, struct side *at, bool *done)
{
    const struct mdf_solve *solve = state->solve;
    double change = 0, near = 1;

    for (int trip = 0; *done && trip < MDF_SOLVER_JUMP_HALVINGS && near >= 0.25 * change; trip++) {
        double from_low, from_high;

        for (size_t i = 0; i < solve->n; i++) {
            at->y[i] = 0.5 * (low->y[i] + high->y[i]);
        }
        *done = mdf_solve_run_part(state, &state->solve->evaluate, at->y, at->slopes);
        if (*done) {
            from_low = distance(state, at->y, at->slopes, low->slopes);
            from_high = distance(state, at->y, at->slopes, high->slopes);
            move_to(solve, from_low < from_high ? low : high, at);
            near = fmax(from_low, from_high);
            change = trip == 0 ? from_low + from_high : change;
        }
    }
    return *done && near > 0 && near >= 0.25 * change;
}

/* Whether slopes at a side lead to the other one. */
static bool leads_across(struct mdf_state *state, const struct side *from, const struct side *to, struct side *at, bool *done)
{
    const struct mdf_solve *solve = state->solve;
    double length = 0;

    solve->library.CVodeGetLastStep(solve->cvode, &length);
    for (size_t i = 0; i < solve->n; i++) {
        at->y[i] = from->y[i] + length / MDF_SOLVER_JUMP_PART * from->slopes[i];
    }
    *done = *done && mdf_solve_run_part(state, &state->solve->evaluate, at->y, at->slopes);
    return *done && distance(state, at->y, at->slopes, to->slopes) < distance(state, at->y, at->slopes, from->slopes);
}

static bool look_for_jump(struct mdf_state *state, const double *y, const double *slopes)
{
    struct mdf_solve *solve = state->solve;
    double *room = solve->watch.last;
    size_t n = solve->n;
    struct side low = {room, room + n}, high = {room + 2 * n, room + 3 * n}, at = {room + 4 * n, room + 5 * n};
    bool done = true;

    memcpy(high.y, y, n * sizeof *y);
    memcpy(high.slopes, slopes, n * sizeof *slopes);
    if (close_in(state, &low, &high, &at, &done) && leads_across(state, &low, &high, &at, &done) &&
        leads_across(state, &high, &low, &at, &done)) {
        solve->watch.n_turns++;
    }
    return done;
}

static long failures_so_far(const struct mdf_solve *solve)
{
    long of_tests = 0, of_equations = 0;

    solve->library.CVodeGetNumErrTestFails(solve->cvode, &of_tests);
    solve->library.CVodeGetNumNonlinSolvConvFails(solve->cvode, &of_equations);
    return of_tests + of_equations;
}

/* Whether slopes are much unlike those at the place before: steps may be so small that none fails. */
static bool is_another(const struct mdf_state *state, const double *y, const double *slopes)
{
    const struct mdf_solve *solve = state->solve;

    return distance(state, y, slopes, solve->watch.last + solve->n) > 0.1 * distance(state, y, slopes, NULL);
}

bool mdf_solve_watch(struct mdf_state *state, const double *y, const double *slopes)
{
    struct mdf_solve *solve = state->solve;
    struct mdf_solve_watch *watch = &solve->watch;
    size_t n = solve->n;
    long n_failures;

    if (!watch->is_on) {
        return true;
    }
    n_failures = failures_so_far(solve);
    if (watch->has_last && (n_failures != watch->n_failures || is_another(state, y, slopes)) && !look_for_jump(state, y, slopes)) {
        return false;
    }
    watch->n_failures = n_failures;
    watch->has_last = true;
    memcpy(watch->last, y, n * sizeof *y);
    memcpy(watch->last + n, slopes, n * sizeof *slopes);
    return watch->n_turns < MDF_SOLVER_MOST_TURNS || mdf_solve_end_by(state, MDF_SOLVER_TURNS);
}
