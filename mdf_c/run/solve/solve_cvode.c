/* solve_cvode.c - see solve.h. One state of CVODE for each state of a program.
 *
 * Steps go over the times of evaluations, whose values are those of CVODE's polynomial. It begins anew where a node has given a
 * state another value than the solver left, where an input that derivatives depend on has changed, and behind events
 * (cvode_events.c). */
#include "mdf_c/run/solve/cvode_state.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Where there are events, the error of a stretch is an error in the time of the event at its end, and those of all stretches add
 * up: each is kept to this part of the tolerance, as far as numbers are told apart. */
static const double part_of_events = 0.01, least_rtol = 1e-14;

/* Of one step, each of which makes it shorter: that behind an event begins with one that the tolerance may be far below. */
enum { MOST_FAILURES = 30 };

static struct mdf_context *context_of(struct mdf_state *state)
{
    return &state->shared->execution.context;
}

bool mdf_solve_fail(struct mdf_state *state, mdf_status status, const char *what)
{
    mdf_error_set(&context_of(state)->error, status, "%s %s", mdf_method_names[state->program->solver.method], what);
    return false;
}

bool mdf_solve_end_by(struct mdf_state *state, enum mdf_solver_end end)
{
    return mdf_solve_fail(state, end == MDF_SOLVER_TIRES ? MDF_LIMIT : MDF_VALUE, mdf_solver_ends[end]);
}

bool mdf_solve_out_of_memory(struct mdf_state *state)
{
    mdf_memory_error(&state->shared->memory, &context_of(state)->error);
    return false;
}

/* ------------------------------------------------------------------ states and the vector */

/* Where the values of a state lie, looked up once: they stay there as long as the frame. */
static void find_places(struct mdf_state *state)
{
    const struct mdf_program_solver *solver = &state->program->solver;

    for (size_t i = 0; i < solver->n_states; i++) {
        const struct mdf_program_state *of = &solver->states[i];
        struct mdf_solve_state *to = &state->solve->states[i];

        to->node = mdf_frame_slot(state->frame, of->slot);
        to->at[MDF_SOLVE_Y] = mdf_frame_slot(state->frame, of->y);
        to->at[MDF_SOLVE_NEXT] = mdf_frame_slot(state->frame, of->next);
        to->at[MDF_SOLVE_WEIGHT] = of->weight == MDF_NO_OPERAND ? NULL : mdf_frame_slot(state->frame, of->weight);
        to->at[MDF_SOLVE_DIRECTION] = of->direction == MDF_NO_OPERAND ? NULL : mdf_frame_slot(state->frame, of->direction);
        for (size_t k = 0; k < MDF_STATE_N_RESULTS; k++) {
            to->results[k] = of->results[k] == MDF_NO_OPERAND ? NULL : mdf_frame_slot(state->frame, of->results[k]);
        }
    }
}

/* Most states are single numbers. */
static inline void copy_numbers(double *to, const double *from, size_t n)
{
    if (n == 1) {
        *to = *from;
    } else {
        memcpy(to, from, n * sizeof *to);
    }
}

/* Elements of all states together, which are float64, and of those that are not held. */
static bool count(struct mdf_state *state, size_t *n_all, size_t *n)
{
    const struct mdf_program_solver *solver = &state->program->solver;

    *n_all = *n = 0;
    for (size_t i = 0; i < solver->n_states; i++) {
        const struct mdf_value *y = state->solve->states[i].at[MDF_SOLVE_Y];

        if (y->kind != MDF_KIND_TENSOR || y->dtype != MDF_DTYPE_FLOAT64) {
            return mdf_solve_fail(state, MDF_UNSUPPORTED, "solves for numbers of float64 only (docs/time.md)");
        }
        *n_all += y->length;
        *n += i < solver->n_states - solver->n_held ? y->length : 0;
    }
    return true;
}

double *mdf_solve_element(const struct mdf_solve *solve, size_t i)
{
    return i < solve->n ? NV_DATA_S(solve->y) + i : solve->held + (i - solve->n);
}

/* As the nodes have them (`of_nodes`), or as they are in `y`. */
static void gather(struct mdf_state *state, double *elements, bool of_nodes)
{
    const struct mdf_program_solver *solver = &state->program->solver;

    for (size_t i = 0; i < solver->n_states; i++) {
        const struct mdf_solve_state *of = &state->solve->states[i];
        const struct mdf_value *y = of_nodes ? of->node : of->at[MDF_SOLVE_Y];

        if (i == solver->n_states - solver->n_held) {
            elements = state->solve->held;
        }
        copy_numbers(elements, y->data, y->length);
        elements += y->length;
    }
}

/* Into slots of the forms that `y` has. */
bool mdf_solve_scatter(struct mdf_state *state, const double *elements, enum mdf_solve_place to)
{
    const struct mdf_program_solver *solver = &state->program->solver;
    size_t n = solver->n_states - (to == MDF_SOLVE_WEIGHT ? solver->n_held : 0);

    for (size_t i = 0; i < n; i++) {
        const struct mdf_value *y = state->solve->states[i].at[MDF_SOLVE_Y];
        struct mdf_value *slot = state->solve->states[i].at[to];
        uint8_t strength = y->strength;
        double *own = slot == y ? mdf_value_own_elements(slot) : NULL;

        if (own == NULL) {
            own = mdf_value_make_tensor(&state->shared->memory, slot, MDF_DTYPE_FLOAT64, y->rank, mdf_value_shape(y));
        }
        if (own == NULL) {
            return mdf_solve_out_of_memory(state);
        }
        if (i == solver->n_states - solver->n_held) {
            elements = state->solve->held;
        }
        slot->strength = strength;
        copy_numbers(own, elements, y->length);
        elements += y->length;
    }
    return true;
}

/* ------------------------------------------------------------------ code of the program */

static void give_part(struct mdf_state *state, struct mdf_solve_part *part, struct mdf_range range, enum mdf_state_result first,
                      size_t n_results)
{
    const struct mdf_program_solver *solver = &state->program->solver;

    part->range = (struct mdf_lowering_range){range.first, range.end};
    part->first_result = first;
    part->n_results = n_results;
    part->request = (struct mdf_lowering_request){.frame = state->frame,
                                                  .ranges = &part->range,
                                                  .n_ranges = 1,
                                                  .readers = state->solve->readers,
                                                  .self = 1,
                                                  .leaves_out = true};
    for (size_t i = 0; i < solver->n_states; i++) {
        for (size_t k = 0; k < n_results; k++) {
            state->solve->readers[MDF_OPERAND_INDEX(solver->states[i].results[first + k])] = MDF_READ_BY_ALL;
        }
    }
}

bool mdf_solve_run(struct mdf_state *state, struct mdf_solve_part *part)
{
    return (!state->program->is_plain && mdf_fast_run(&part->fast, &part->request)) ||
           mdf_frame_run(state->frame, part->range.first, part->range.end);
}

bool mdf_solve_take(struct mdf_state *state, enum mdf_state_result result, double *elements)
{
    const struct mdf_program_solver *solver = &state->program->solver;
    bool is_of_all = result == MDF_STATE_CONDITIONED || result == MDF_STATE_HOLDS;
    size_t n = solver->n_states - (is_of_all ? 0 : solver->n_held);

    for (size_t i = 0; i < n; i++) {
        const struct mdf_value *of = state->solve->states[i].results[result], *y = state->solve->states[i].at[MDF_SOLVE_Y];

        if (of->kind != MDF_KIND_TENSOR || of->dtype != MDF_DTYPE_FLOAT64 || of->length != y->length) {
            mdf_solve_fail(state, MDF_SHAPE,
                           !is_of_all ? "needs a derivative of the shape of its parameter"
                                      : "needs conditions and values of the shape of their parameter");
            mdf_error_in(&context_of(state)->error, "%s", solver->states[i].path);
            return false;
        }
        copy_numbers(elements, of->data, y->length);
        elements += y->length;
    }
    return true;
}

bool mdf_solve_set_weights(struct mdf_state *state)
{
    return mdf_solve_scatter(state, state->solve->weights, MDF_SOLVE_WEIGHT);
}

bool mdf_solve_run_part(struct mdf_state *state, struct mdf_solve_part *part, const double *y, double *results)
{
    bool done = !mdf_state_is_interrupted(state) && mdf_solve_scatter(state, y, MDF_SOLVE_Y) && mdf_solve_run(state, part);

    for (size_t k = 0; done && k < part->n_results; k++) {
        done = mdf_solve_take(state, (enum mdf_state_result)(part->first_result + k), results + k * state->solve->n_all);
    }
    state->solve->is_lost = !done;
    return done;
}

/* 0; 1: a step less long may do; -1: the error is set. */
static int right_side(realtype time, N_Vector y, N_Vector slopes, void *context)
{
    struct mdf_state *state = context;
    const double *slope = NV_DATA_S(slopes);
    bool is_finite = true;

    (void)time;
    if (!mdf_solve_run_part(state, &state->solve->evaluate, NV_DATA_S(y), NV_DATA_S(slopes))) {
        return -1;
    }
    if (!mdf_solve_watch(state, NV_DATA_S(y), NV_DATA_S(slopes))) {
        state->solve->is_lost = true;
        return -1;
    }
    for (size_t i = 0; i < state->solve->n; i++) {
        is_finite = is_finite && isfinite(slope[i]);
    }
    return is_finite ? 0 : 1;
}

/* The library prints nothing. */
static void drop_message(int code, const char *module, const char *function, char *message, void *context)
{
    (void)code, (void)module, (void)function, (void)message, (void)context;
}

/* ------------------------------------------------------------------ life */

static void release_vectors(struct mdf_solve *solve, struct mdf_memory *memory)
{
    const struct mdf_cvode_library *library = &solve->library;

    mdf_solve_release_sensitivities(solve);
    if (solve->cvode != NULL) {
        library->CVodeFree(&solve->cvode);
    }
    if (solve->linear != NULL) {
        library->SUNLinSolFree(solve->linear);
    }
    if (solve->nonlinear != NULL) {
        library->SUNNonlinSolFree(solve->nonlinear);
    }
    if (solve->matrix != NULL) {
        library->SUNMatDestroy(solve->matrix);
    }
    if (solve->y != NULL) {
        library->N_VDestroy(solve->y);
    }
    mdf_memory_release(memory, solve->left);
    mdf_memory_release(memory, solve->held);
    mdf_solve_release_events(solve, memory);
    mdf_solve_release_watch(solve, memory);
    mdf_solve_release_jacobian(solve, memory);
    solve->linear = NULL;
    solve->nonlinear = NULL;
    solve->matrix = NULL;
    solve->y = NULL;
    solve->left = NULL;
    solve->held = NULL;
    solve->n_all = solve->n = 0;
}

void mdf_solve_release(struct mdf_state *state)
{
    struct mdf_memory *memory = &state->shared->memory;
    struct mdf_solve *solve = state->solve;

    if (solve == NULL) {
        return;
    }
    release_vectors(solve, memory);
    if (solve->context != NULL) {
        solve->library.SUNContext_Free(&solve->context);
    }
    mdf_fast_release(&solve->evaluate.fast);
    mdf_fast_release(&solve->condition.fast);
    mdf_fast_release(&solve->differentiate.fast);
    mdf_fast_release(&solve->along.fast);
    for (size_t i = 0; solve->inputs != NULL && i < state->program->solver.n_ports; i++) {
        mdf_value_clear(memory, &solve->inputs[i]);
    }
    mdf_memory_release(memory, solve->inputs);
    mdf_memory_release(memory, solve->readers);
    mdf_memory_release(memory, solve->states);
    mdf_memory_release(memory, solve);
    state->solve = NULL;
}

void mdf_solve_restart(struct mdf_state *state)
{
    if (state->solve != NULL) {
        state->solve->has_begun = false;
        mdf_solve_end_watch(state->solve);
    }
}

static bool make_solve(struct mdf_state *state)
{
    struct mdf_memory *memory = &state->shared->memory;
    const struct mdf_program_solver *solver = &state->program->solver;
    struct mdf_solve *solve = mdf_memory_allocate_zeroed(memory, 1, sizeof *solve);

    if (solve == NULL) {
        return mdf_solve_out_of_memory(state);
    }
    if (mdf_cvode_library_load(&solve->library, &context_of(state)->error) != MDF_OK) {
        mdf_memory_release(memory, solve);
        return false;
    }
    state->solve = solve;
    solve->inputs = mdf_memory_allocate_zeroed(memory, solver->n_ports + 1, sizeof *solve->inputs);
    solve->readers = mdf_memory_allocate_zeroed(memory, state->program->code->n_slots, sizeof *solve->readers);
    solve->states = mdf_memory_allocate_zeroed(memory, solver->n_states + 1, sizeof *solve->states);
    if (solve->inputs == NULL || solve->readers == NULL || solve->states == NULL ||
        solve->library.SUNContext_Create(NULL, &solve->context) != 0) {
        mdf_solve_release(state);
        return mdf_solve_out_of_memory(state);
    }
    find_places(state);
    give_part(state, &solve->evaluate, solver->evaluate, MDF_STATE_SLOPE, 1);
    give_part(state, &solve->condition, solver->condition, MDF_STATE_CONDITIONED, 2);
    give_part(state, &solve->differentiate, solver->differentiate, MDF_STATE_GRADIENT, 1);
    if (state->program->right_side.n_steps > 0) {
        give_part(state, &solve->along, state->program->right_side.differentiate, MDF_STATE_TANGENT, 1);
        for (size_t i = 0; i < state->program->right_side.n_of; i++) {
            solve->readers[MDF_OPERAND_INDEX(state->program->right_side.of_output[state->program->right_side.of[i]])] =
                MDF_READ_BY_ALL;
        }
    }
    return true;
}

/* A solver of linear or nonlinear equations, as the method needs. */
static bool make_solvers(struct mdf_state *state, bool is_stiff)
{
    struct mdf_solve *solve = state->solve;
    const struct mdf_cvode_library *library = &solve->library;

    if (is_stiff) {
        return mdf_solve_make_linear(state);
    }
    solve->nonlinear = library->SUNNonlinSol_FixedPoint(solve->y, 0, solve->context);
    return solve->nonlinear != NULL && library->CVodeSetNonlinearSolver(solve->cvode, solve->nonlinear) == CV_SUCCESS;
}

/* What errors of the states are weighed by. Not so where an evaluation takes so many steps that it is watched (cvode_jumps.c), as
 * where it slides along a jump, of which each step is the shorter for it. */
static int weigh(N_Vector y, N_Vector weights, void *context)
{
    const struct mdf_state *state = context;
    const struct mdf_program_solver *solver = &state->program->solver;
    bool has_events = solver->condition.end > solver->condition.first && solver->rtol > least_rtol && !state->solve->watch.is_on;
    double rtol = has_events ? fmax(part_of_events * solver->rtol, least_rtol) : solver->rtol;
    double atol = has_events ? part_of_events * solver->atol : solver->atol;
    const double *elements = NV_DATA_S(y);
    double *weight = NV_DATA_S(weights);

    for (size_t i = 0; i < state->solve->n; i++) {
        weight[i] = 1 / (rtol * fabs(elements[i]) + atol);
        if (!(weight[i] > 0)) {
            return -1;
        }
    }
    return 0;
}

static bool make_vectors(struct mdf_state *state, size_t n_all, size_t n)
{
    const struct mdf_program_solver *solver = &state->program->solver;
    bool is_stiff = solver->method == MDF_METHOD_CVODE_BDF;
    struct mdf_solve *solve = state->solve;
    const struct mdf_cvode_library *library = &solve->library;

    release_vectors(solve, &state->shared->memory);
    solve->n_all = n_all;
    solve->n = n;
    solve->held = mdf_memory_allocate_zeroed(&state->shared->memory, n_all - n + 1, sizeof *solve->held);
    solve->left = mdf_memory_allocate_zeroed(&state->shared->memory, n + 1, sizeof *solve->left);
    solve->y = solve->left != NULL && solve->held != NULL ? library->N_VNew_Serial((sunindextype)n, solve->context) : NULL;
    solve->cvode = solve->y != NULL ? library->CVodeCreate(is_stiff ? CV_BDF : CV_ADAMS, solve->context) : NULL;
    if (solve->y != NULL) {
        gather(state, NV_DATA_S(solve->y), false);
    }
    if (solve->cvode == NULL || library->CVodeSetErrHandlerFn(solve->cvode, drop_message, NULL) != CV_SUCCESS ||
        library->CVodeInit(solve->cvode, right_side, 0, solve->y) != CV_SUCCESS ||
        library->CVodeWFtolerances(solve->cvode, weigh) != CV_SUCCESS ||
        library->CVodeSetUserData(solve->cvode, state) != CV_SUCCESS ||
        library->CVodeSetMaxErrTestFails(solve->cvode, MOST_FAILURES) != CV_SUCCESS ||
        (isfinite(solver->max_step) && library->CVodeSetMaxStep(solve->cvode, solver->max_step) != CV_SUCCESS) ||
        !make_solvers(state, is_stiff) || !mdf_solve_make_events(state) || !mdf_solve_make_watch(state)) {
        release_vectors(solve, &state->shared->memory);
        return mdf_solve_out_of_memory(state);
    }
    return true;
}

/* ------------------------------------------------------------------ an evaluation */

static bool keep_inputs(struct mdf_state *state)
{
    const struct mdf_program *program = state->program;

    for (size_t i = 0; i < program->solver.n_ports; i++) {
        if (!mdf_value_copy(&state->shared->memory, &state->solve->inputs[i],
                            mdf_frame_slot(state->frame, program->ports[program->solver.ports[i]].slot))) {
            return mdf_solve_out_of_memory(state);
        }
    }
    return true;
}

static bool has_other_inputs(struct mdf_state *state)
{
    const struct mdf_program *program = state->program;
    bool is_other = false;

    for (size_t i = 0; i < program->solver.n_ports; i++) {
        is_other = is_other || !mdf_value_equal(&state->solve->inputs[i],
                                                mdf_frame_slot(state->frame, program->ports[program->solver.ports[i]].slot));
    }
    return is_other;
}

/* first_step: 0: the library chooses it. */
static bool begin_anew(struct mdf_state *state, double first_step)
{
    struct mdf_solve *solve = state->solve;

    solve->has_begun = true;
    return (solve->library.CVodeReInit(solve->cvode, solve->time, solve->y) == CV_SUCCESS &&
            solve->library.CVodeSetInitStep(solve->cvode, first_step) == CV_SUCCESS) ||
           mdf_solve_out_of_memory(state);
}

/* Whether nodes have the states as the solver has them: numbers of float64, of these shapes. */
static bool have_same_forms(struct mdf_state *state)
{
    const struct mdf_program_solver *solver = &state->program->solver;
    bool are_same = state->solve->has_begun;

    for (size_t i = 0; are_same && i < solver->n_states; i++) {
        const struct mdf_value *of_node = state->solve->states[i].node, *y = state->solve->states[i].at[MDF_SOLVE_Y];

        are_same = of_node->kind == MDF_KIND_TENSOR && of_node->dtype == MDF_DTYPE_FLOAT64 && mdf_value_has_shape_of(of_node, y);
    }
    return are_same;
}

static bool take_states(struct mdf_state *state)
{
    const struct mdf_program_solver *solver = &state->program->solver;
    struct mdf_solve *solve = state->solve;
    size_t n_all, n;

    if (!mdf_frame_run(state->frame, solver->begin.first, solver->begin.end) || !count(state, &n_all, &n)) {
        return false;
    }
    if (n_all != solve->n_all || n != solve->n) {
        return make_vectors(state, n_all, n); /* with them in it */
    }
    if (n > 0) {
        gather(state, NV_DATA_S(solve->y), false);
    }
    return true;
}

/* From the states as the nodes have them: again where these, or inputs, are not as they were. */
static bool begin(struct mdf_state *state)
{
    struct mdf_solve *solve = state->solve;

    if (have_same_forms(state)) {
        gather(state, NV_DATA_S(solve->y), true);
    } else if (!take_states(state)) {
        return false;
    }
    if (solve->n == 0) {
        return true;
    }
    if (solve->has_begun && memcmp(solve->left, NV_DATA_S(solve->y), solve->n * sizeof *solve->left) == 0 &&
        !has_other_inputs(state)) {
        return true;
    }
    solve->time = 0;
    return keep_inputs(state) && mdf_solve_begin_events(state) && begin_anew(state, 0);
}

static const char *text_of(int code)
{
    switch (code) {
    case CV_TOO_MUCH_ACC:
        return "can not be as exact as --rtol and --atol ask for: they are too small for these numbers";
    case CV_ERR_FAILURE:
    case CV_CONV_FAILURE:
        return "can not keep to the tolerance: its steps have become too short to go on (a jump or a pole, or a greater --rtol "
               "is "
               "needed)";
    case CV_FIRST_RHSFUNC_ERR:
    case CV_REPTD_RHSFUNC_ERR:
    case CV_UNREC_RHSFUNC_ERR:
        return "finds no derivative that is finite, however short its steps";
    default:
        return "could not solve the equations";
    }
}

/* Too near to step to: the values are the same. */
static bool is_at(double time, double to)
{
    return to - time <= 4 * DBL_EPSILON * fmax(fabs(time), fabs(to));
}

bool mdf_solve_make_for(struct mdf_state *state, size_t *n)
{
    size_t n_all;

    state->solve->time = 0;
    return count(state, &n_all, n) && (*n == 0 || make_vectors(state, n_all, *n));
}

/* What CVode returns; less than 0: the error is set. */
static int go_on(struct mdf_state *state, double time)
{
    struct mdf_solve *solve = state->solve;
    int code;

    solve->is_lost = false;
    code = is_at(solve->time, time) ? CV_SUCCESS : mdf_solve_steps(state, time);
    if (code == CV_TOO_MUCH_WORK) {
        mdf_solve_end_by(state, MDF_SOLVER_TIRES);
    } else if (code < 0 && !solve->is_lost) {
        mdf_solve_fail(state, MDF_VALUE, text_of(code));
    }
    return code;
}

bool mdf_solve_go_to(struct mdf_state *state, double time)
{
    struct mdf_solve *solve = state->solve;

    mdf_solve_begin_watch(solve);
    return go_on(state, time) >= 0;
}

static bool solve_to(struct mdf_state *state, double time)
{
    struct mdf_solve *solve = state->solve;
    double first_step;
    int code = CV_ROOT_RETURN;

    mdf_solve_begin_watch(solve);
    while (code == CV_ROOT_RETURN) {
        code = go_on(state, time);
        if (code < 0 || (code == CV_ROOT_RETURN && !(mdf_solve_act(state, &first_step) && begin_anew(state, first_step)))) {
            solve->has_begun = false;
            return false;
        }
    }
    memcpy(solve->left, NV_DATA_S(solve->y), solve->n * sizeof *solve->left);
    return mdf_solve_end_events(state);
}

bool mdf_solve_advance(struct mdf_state *state)
{
    double dt = state->shared->execution.dt;

    if (state->program->right_side.n_steps > 0) {
        return (state->solve != NULL || make_solve(state)) && mdf_solve_derive(state);
    }
    if (isnan(dt)) {
        mdf_solve_restart(state);
        return true;
    }
    if ((state->solve == NULL && !make_solve(state)) || !begin(state)) {
        return false;
    }
    if (state->solve->n == 0) {
        return mdf_solve_scatter(state, NULL, MDF_SOLVE_NEXT);
    }
    if (dt > 0 && !solve_to(state, state->solve->time + dt)) {
        return false;
    }
    return mdf_solve_scatter(state, NV_DATA_S(state->solve->y), MDF_SOLVE_NEXT);
}
