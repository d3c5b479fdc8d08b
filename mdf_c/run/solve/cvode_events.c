/* cvode_events.c - the times at which conditions of parameters come to hold, found by CVODE's search for roots.
 *
 * Of each element there is a root where a condition comes to hold: a function of it is 1 where one does and -1 where not. There
 * the conditions of all elements that are at a root act at once, all by the same values, and then those that come to hold by what
 * these did. What events are is the same as in mdf_c/plan/solve/events.c. */
#include "mdf_c/run/solve/cvode_state.h"

#include <math.h>

/* What a condition that holds waits for: nothing; that it does not; the same, having made nothing else of what it had made (of
 * what is not held). */
enum wait { ARMED, WAITS, WAITS_AS_IT_IS };

/* Events of one element that are nearer to each other than this part of the time: after so many in a row it is in vain to go on,
 * as the next ones are nearer than roots are told apart. */
enum { MOST_REPEATS = 10 };
static const double min_distance = 1e-10;

static bool holds(const struct mdf_solve *solve, size_t i)
{
    return solve->holds[i] != 0;
}

static bool look(struct mdf_state *state, N_Vector y)
{
    return mdf_solve_run_part(state, &state->solve->condition, NV_DATA_S(y), state->solve->conditioned);
}

static int tell_roots(realtype time, N_Vector y, realtype *roots, void *context)
{
    struct mdf_state *state = context;

    (void)time;
    if (!look(state, y)) {
        return -1;
    }
    for (size_t i = 0; i < state->solve->n_all; i++) {
        roots[i] = holds(state->solve, i) ? 1 : -1;
    }
    return 0;
}

bool mdf_solve_make_events(struct mdf_state *state)
{
    struct mdf_memory *memory = &state->shared->memory;
    struct mdf_solve *solve = state->solve;
    const struct mdf_cvode_library *library = &solve->library;

    if (solve->condition.range.first == solve->condition.range.end) {
        return true;
    }
    solve->conditioned = mdf_memory_allocate_zeroed(memory, 2 * solve->n_all, sizeof *solve->conditioned);
    solve->waits = mdf_memory_allocate_zeroed(memory, solve->n_all, sizeof *solve->waits);
    solve->roots = mdf_memory_allocate_zeroed(memory, solve->n_all, sizeof *solve->roots);
    solve->acted_at = mdf_memory_allocate_zeroed(memory, solve->n_all, sizeof *solve->acted_at);
    solve->n_repeats = mdf_memory_allocate_zeroed(memory, solve->n_all, sizeof *solve->n_repeats);
    if (solve->conditioned == NULL || solve->waits == NULL || solve->roots == NULL || solve->acted_at == NULL ||
        solve->n_repeats == NULL) {
        return false;
    }
    solve->holds = solve->conditioned + solve->n_all;
    for (size_t i = 0; i < solve->n_all; i++) {
        solve->roots[i] = 1; /* upwards only */
    }
    return library->CVodeRootInit(solve->cvode, (int)solve->n_all, tell_roots) == CV_SUCCESS &&
           library->CVodeSetRootDirection(solve->cvode, solve->roots) == CV_SUCCESS &&
           library->CVodeSetNoInactiveRootWarn(solve->cvode) == CV_SUCCESS;
}

void mdf_solve_release_events(struct mdf_solve *solve, struct mdf_memory *memory)
{
    mdf_memory_release(memory, solve->conditioned);
    mdf_memory_release(memory, solve->waits);
    mdf_memory_release(memory, solve->roots);
    mdf_memory_release(memory, solve->acted_at);
    mdf_memory_release(memory, solve->n_repeats);
    solve->conditioned = NULL;
    solve->waits = NULL;
    solve->roots = NULL;
    solve->acted_at = NULL;
    solve->n_repeats = NULL;
}

static enum wait wait_of(const struct mdf_solve *solve, size_t i)
{
    return !holds(solve, i)                                                        ? ARMED
           : i < solve->n && solve->conditioned[i] == *mdf_solve_element(solve, i) ? WAITS_AS_IT_IS
                                                                                   : WAITS;
}

/* What waited, and is not held any more, is armed. What holds on must not be there to hold the state. */
static bool arm(struct mdf_state *state)
{
    struct mdf_solve *solve = state->solve;

    if (!look(state, solve->y)) {
        return false;
    }
    for (size_t i = 0; i < solve->n_all; i++) {
        if (!holds(solve, i)) {
            solve->waits[i] = ARMED;
        } else if (solve->waits[i] == WAITS_AS_IT_IS && solve->conditioned[i] != *mdf_solve_element(solve, i)) {
            return mdf_solve_end_by(state, MDF_SOLVER_SLIDES);
        }
    }
    return true;
}

static bool act(struct mdf_state *state, size_t i)
{
    struct mdf_solve *solve = state->solve;
    bool is_near = solve->time - solve->acted_at[i] <= min_distance * fabs(solve->time);

    *mdf_solve_element(solve, i) = solve->conditioned[i];
    solve->acted_at[i] = solve->time;
    solve->n_repeats[i] = is_near ? solve->n_repeats[i] + 1 : 0;
    return solve->n_repeats[i] < MOST_REPEATS || mdf_solve_end_by(state, MDF_SOLVER_CHATTERS);
}

/* Conditions that hold, and have been looked at, and are armed act; then those that these make hold. */
static bool act_where_due(struct mdf_state *state)
{
    struct mdf_solve *solve = state->solve;
    bool has_acted = true;

    while (has_acted) {
        has_acted = false;
        for (size_t i = 0; i < solve->n_all; i++) {
            solve->roots[i] = holds(solve, i) && solve->waits[i] == ARMED;
            has_acted = has_acted || solve->roots[i] != 0;
        }
        for (size_t i = 0; i < solve->n_all; i++) {
            if (solve->roots[i] != 0 && !act(state, i)) {
                return false;
            }
        }
        if (has_acted && !look(state, solve->y)) {
            return false;
        }
        for (size_t i = 0; i < solve->n_all; i++) {
            if (solve->roots[i] != 0 || !holds(solve, i)) {
                solve->waits[i] = (unsigned char)wait_of(solve, i);
            }
        }
    }
    return true;
}

bool mdf_solve_begin_events(struct mdf_state *state)
{
    struct mdf_solve *solve = state->solve;

    if (solve->conditioned == NULL) {
        return true;
    }
    solve->event_time = solve->time;
    for (size_t i = 0; i < solve->n_all; i++) {
        solve->acted_at[i] = -INFINITY;
        solve->n_repeats[i] = 0;
    }
    if (!look(state, solve->y)) {
        return false;
    }
    for (size_t i = 0; i < solve->n_all; i++) {
        if (!solve->has_begun || !holds(solve, i)) {
            solve->waits[i] = (unsigned char)wait_of(solve, i);
        }
    }
    return act_where_due(state);
}

bool mdf_solve_act(struct mdf_state *state, double *first_step)
{
    struct mdf_solve *solve = state->solve;
    double since = solve->time - solve->event_time;

    if (solve->library.CVodeGetRootInfo(solve->cvode, solve->roots) != CV_SUCCESS) {
        return mdf_solve_out_of_memory(state);
    }
    for (size_t i = 0; i < solve->n_all; i++) {
        solve->waits[i] = solve->roots[i] != 0 ? ARMED : solve->waits[i];
    }
    solve->event_time = solve->time;
    *first_step = 0.1 * since;
    return arm(state) && act_where_due(state);
}

bool mdf_solve_end_events(struct mdf_state *state)
{
    return state->solve->conditioned == NULL || arm(state);
}
