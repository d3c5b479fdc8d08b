/* cvode_sensitivities.c - derivatives of a solution by parameters, by CVODES: forward sensitivities, behind each of its steps.
 *
 * Comes in: a state of a program of derivatives (mdf_c/plan/gradient/evaluation_gradient.c). Goes out: the output port's value
 * after all evaluations, or those of several ports after each, as the right-hand side leaves them, and their derivatives. The
 * test of errors is of the states alone; steps are those without derivatives but where the sensitivities' own equations ask for
 * shorter ones. */
#include "mdf_c/run/solve/cvode_state.h"

#include <math.h>
#include <string.h>

static bool run_range(struct mdf_state *state, struct mdf_range range)
{
    return mdf_frame_run(state->frame, range.first, range.end);
}

/* Zeros in the shape of a value. NULL: the error is set. */
static double *clear_like(struct mdf_state *state, mdf_operand slot, const struct mdf_value *like)
{
    double *elements = mdf_value_make_tensor(&state->shared->memory, mdf_frame_slot(state->frame, slot), MDF_DTYPE_FLOAT64,
                                             like->rank, mdf_value_shape(like));

    if (elements == NULL) {
        mdf_solve_out_of_memory(state);
    } else if (like->length > 0) {
        memset(elements, 0, like->length * sizeof *elements);
    }
    return elements;
}

/* A direction of one element of all parameters, by its number; of none with SIZE_MAX. */
static bool direct(struct mdf_state *state, size_t element)
{
    const struct mdf_program *program = state->program;

    for (size_t i = 0; i < program->n_parameters; i++) {
        const struct mdf_value *parameter = mdf_frame_slot(state->frame, program->parameters[i].slot);
        double *elements = clear_like(state, program->right_side.by_parameter[i], parameter);

        if (elements == NULL) {
            return false;
        }
        if (element < parameter->length) {
            elements[element] = 1;
            element = SIZE_MAX;
        } else if (element != SIZE_MAX) {
            element -= parameter->length;
        }
    }
    return true;
}

/* Nothing changes with the inputs. */
static bool hold_inputs(struct mdf_state *state)
{
    const struct mdf_program *program = state->program;

    for (size_t i = 0; i < program->n_ports; i++) {
        mdf_operand direction = program->right_side.by_port[i];

        if (direction != MDF_NO_OPERAND &&
            clear_like(state, direction, mdf_frame_slot(state->frame, program->ports[i].slot)) == NULL) {
            return false;
        }
    }
    return true;
}

static size_t count_parameters(struct mdf_state *state)
{
    size_t n = 0;

    for (size_t i = 0; i < state->program->n_parameters; i++) {
        n += mdf_frame_slot(state->frame, state->program->parameters[i].slot)->length;
    }
    return n;
}

/* ------------------------------------------------------------------ slopes of sensitivities */

static int find_slopes(int n, realtype time, N_Vector y, N_Vector slopes, N_Vector *by, N_Vector *slopes_by, void *context,
                       N_Vector a, N_Vector b)
{
    struct mdf_state *state = context;
    bool done = !mdf_state_is_interrupted(state) && mdf_solve_scatter(state, NV_DATA_S(y), MDF_SOLVE_Y);

    (void)time, (void)slopes, (void)a, (void)b;
    for (int i = 0; done && i < n; i++) {
        done = direct(state, (size_t)i) && mdf_solve_scatter(state, NV_DATA_S(by[i]), MDF_SOLVE_DIRECTION) &&
               mdf_solve_run(state, &state->solve->along) && mdf_solve_take(state, MDF_STATE_TANGENT, NV_DATA_S(slopes_by[i]));
    }
    state->solve->is_lost = !done;
    return done ? 0 : -1;
}

/* How the initial values change: in the states' directions, as code leaves them there. */
static bool find_initials(struct mdf_state *state)
{
    const struct mdf_program *program = state->program;
    struct mdf_solve *solve = state->solve;

    for (size_t i = 0; i < solve->n_parameters; i++) {
        double *elements = NV_DATA_S(solve->sensitivities[i]);

        if (!direct(state, i) || !run_range(state, program->right_side.initial)) {
            return false;
        }
        for (size_t k = 0; k < program->solver.n_states - program->solver.n_held; k++) {
            const struct mdf_value *direction = mdf_frame_slot(state->frame, program->right_side.states[k].direction);

            if (direction->dtype != MDF_DTYPE_FLOAT64 ||
                direction->length != mdf_frame_slot(state->frame, program->right_side.states[k].y)->length) {
                return mdf_solve_fail(state, MDF_SHAPE, "needs derivatives of the shape of their state");
            }
            memcpy(elements, direction->data, direction->length * sizeof *elements);
            elements += direction->length;
        }
    }
    return true;
}

static bool make_sensitivities(struct mdf_state *state)
{
    struct mdf_solve *solve = state->solve;
    const struct mdf_cvode_library *library = &solve->library;
    bool is_stiff = state->program->solver.method == MDF_METHOD_CVODE_BDF;

    solve->n_parameters = count_parameters(state);
    if (solve->n_parameters == 0) {
        return true;
    }
    solve->sensitivities = library->N_VCloneVectorArray((int)solve->n_parameters, solve->y);
    if (solve->sensitivities == NULL) {
        return mdf_solve_out_of_memory(state);
    }
    if (!find_initials(state)) {
        return false;
    }
    if (library->CVodeSensInit(solve->cvode, (int)solve->n_parameters, CV_STAGGERED, find_slopes, solve->sensitivities) !=
            CV_SUCCESS ||
        library->CVodeSensEEtolerances(solve->cvode) != CV_SUCCESS ||
        library->CVodeSetSensErrCon(solve->cvode, SUNFALSE) != CV_SUCCESS) {
        return mdf_solve_out_of_memory(state);
    }
    if (!is_stiff) {
        solve->nonlinear_sensitivities =
            library->SUNNonlinSol_FixedPointSens((int)solve->n_parameters, solve->y, 0, solve->context);
        if (solve->nonlinear_sensitivities == NULL ||
            library->CVodeSetNonlinearSolverSensStg(solve->cvode, solve->nonlinear_sensitivities) != CV_SUCCESS) {
            return mdf_solve_out_of_memory(state);
        }
    }
    return true;
}

void mdf_solve_release_sensitivities(struct mdf_solve *solve)
{
    if (solve->sensitivities != NULL) {
        solve->library.N_VDestroyVectorArray(solve->sensitivities, (int)solve->n_parameters);
    }
    if (solve->nonlinear_sensitivities != NULL) {
        solve->library.SUNNonlinSolFree(solve->nonlinear_sensitivities);
    }
    solve->sensitivities = NULL;
    solve->nonlinear_sensitivities = NULL;
    solve->n_parameters = 0;
}

/* ------------------------------------------------------------------ an evaluation */

/* What nodes have as the states' values, which an output port may be. */
static bool show_states(struct mdf_state *state)
{
    const struct mdf_program_right_side *side = &state->program->right_side;

    for (size_t i = 0; i < side->n_states; i++) {
        if (!mdf_value_copy(&state->shared->memory, mdf_frame_slot(state->frame, side->states[i].slot),
                            mdf_frame_slot(state->frame, side->states[i].y))) {
            return mdf_solve_out_of_memory(state);
        }
    }
    return true;
}

/* How an output port changes in the states' direction. NULL: the error is set. */
static const struct mdf_value *tangent_of(struct mdf_state *state, size_t number)
{
    const struct mdf_program_right_side *side = &state->program->right_side;
    const struct mdf_value *tangent = mdf_frame_slot(state->frame, side->of_output[side->of[number]]);

    if (tangent->kind != MDF_KIND_TENSOR || tangent->dtype != MDF_DTYPE_FLOAT64) {
        mdf_solve_fail(state, MDF_UNSUPPORTED, "derives numbers of float64 only (docs/time.md)");
        return NULL;
    }
    return tangent;
}

/* Tangents of the output ports by one element of the parameters. */
static bool go_along(struct mdf_state *state, size_t element)
{
    return direct(state, element) &&
           mdf_solve_scatter(state, state->solve->n > 0 ? NV_DATA_S(state->solve->sensitivities[element]) : NULL,
                             MDF_SOLVE_DIRECTION) &&
           mdf_solve_run(state, &state->solve->along);
}

/* The derivative of the sum of the output's elements by one element of the parameters. */
static bool derive_output(struct mdf_state *state, size_t element, double *derivative)
{
    const struct mdf_value *tangent = go_along(state, element) ? tangent_of(state, 0) : NULL;

    if (tangent == NULL) {
        return false;
    }
    *derivative = 0;
    for (size_t i = 0; i < tangent->length; i++) {
        *derivative += ((const double *)tangent->data)[i];
    }
    return true;
}

static bool derive_outputs(struct mdf_state *state)
{
    const struct mdf_program *program = state->program;
    size_t element = 0;

    for (size_t i = 0; i < program->n_parameters; i++) {
        const struct mdf_value *parameter = mdf_frame_slot(state->frame, program->parameters[i].slot);
        double *derivatives = clear_like(state, program->right_side.results[i], parameter);

        if (derivatives == NULL) {
            return false;
        }
        for (size_t k = 0; k < parameter->length; k++) {
            if (!derive_output(state, element++, &derivatives[k])) {
                return false;
            }
        }
    }
    return true;
}

/* What the states are now, and output ports by them. */
static bool look(struct mdf_state *state)
{
    return mdf_solve_scatter(state, NV_DATA_S(state->solve->y), MDF_SOLVE_Y) && show_states(state) &&
           run_range(state, state->program->right_side.evaluate);
}

/* ------------------------------------------------------------------ after each evaluation */

/* Room for a value after each evaluation, or its derivatives by a parameter (NULL: the value). NULL: the error is set. */
static double *make_series(struct mdf_state *state, mdf_operand slot, const struct mdf_value *of, const struct mdf_value *by)
{
    size_t rank = 1 + (size_t)of->rank + (by != NULL ? by->rank : 0), at = 1;
    int64_t *shape = mdf_memory_allocate_zeroed(&state->shared->memory, rank, sizeof *shape);
    double *elements = NULL;

    if (shape != NULL) {
        shape[0] = (int64_t)state->program->right_side.n_steps;
        for (size_t i = 0; i < of->rank; i++) {
            shape[at++] = mdf_value_shape(of)[i];
        }
        for (size_t i = 0; by != NULL && i < by->rank; i++) {
            shape[at++] = mdf_value_shape(by)[i];
        }
        elements =
            mdf_value_make_tensor(&state->shared->memory, mdf_frame_slot(state->frame, slot), MDF_DTYPE_FLOAT64, rank, shape);
    }
    mdf_memory_release(&state->shared->memory, shape);
    return elements != NULL || mdf_solve_out_of_memory(state) ? elements : NULL;
}

static bool make_all_series(struct mdf_state *state)
{
    const struct mdf_program *program = state->program;
    const struct mdf_program_right_side *side = &program->right_side;

    for (size_t i = 0; i < side->n_of; i++) {
        const struct mdf_value *of = mdf_frame_slot(state->frame, side->of_value[i]);

        if (of->kind != MDF_KIND_TENSOR || of->dtype != MDF_DTYPE_FLOAT64) {
            return mdf_solve_fail(state, MDF_UNSUPPORTED, "derives numbers of float64 only (docs/time.md)");
        }
        if (make_series(state, side->values[i], of, NULL) == NULL) {
            return false;
        }
        for (size_t k = 0; k < program->n_parameters; k++) {
            if (make_series(state, side->results[i * program->n_parameters + k], of,
                            mdf_frame_slot(state->frame, program->parameters[k].slot)) == NULL) {
                return false;
            }
        }
    }
    return true;
}

/* The tangent of an output port by element `element` of parameter number `by`, into the row of an evaluation. */
static bool put_tangent(struct mdf_state *state, size_t number, size_t by, size_t element, uint64_t row)
{
    const struct mdf_program *program = state->program;
    const struct mdf_value *tangent = tangent_of(state, number);
    struct mdf_value *series = mdf_frame_slot(state->frame, program->right_side.results[number * program->n_parameters + by]);
    size_t n_by = mdf_frame_slot(state->frame, program->parameters[by].slot)->length;
    double *elements = (double *)series->data + row * (series->length / program->right_side.n_steps);

    if (tangent == NULL || tangent->length * n_by * program->right_side.n_steps != series->length) {
        return tangent != NULL && mdf_solve_fail(state, MDF_SHAPE, "needs outputs of the same shape after each evaluation");
    }
    for (size_t i = 0; i < tangent->length; i++) {
        elements[i * n_by + element] = ((const double *)tangent->data)[i];
    }
    return true;
}

static bool put_tangents(struct mdf_state *state, uint64_t row)
{
    const struct mdf_program *program = state->program;
    size_t element = 0;

    for (size_t by = 0; by < program->n_parameters; by++) {
        size_t n_by = mdf_frame_slot(state->frame, program->parameters[by].slot)->length;

        for (size_t k = 0; k < n_by; k++) {
            if (!go_along(state, element++)) {
                return false;
            }
            for (size_t i = 0; i < program->right_side.n_of; i++) {
                if (!put_tangent(state, i, by, k, row)) {
                    return false;
                }
            }
        }
    }
    return true;
}

static bool put_row(struct mdf_state *state, uint64_t row)
{
    const struct mdf_program_right_side *side = &state->program->right_side;

    if (!look(state) || (row == 0 && !make_all_series(state))) {
        return false;
    }
    for (size_t i = 0; i < side->n_of; i++) {
        const struct mdf_value *of = mdf_frame_slot(state->frame, side->of_value[i]);
        struct mdf_value *series = mdf_frame_slot(state->frame, side->values[i]);

        if (of->kind != MDF_KIND_TENSOR || of->dtype != MDF_DTYPE_FLOAT64 || of->length * side->n_steps != series->length) {
            return mdf_solve_fail(state, MDF_SHAPE, "needs outputs of the same shape after each evaluation");
        }
        memcpy((double *)series->data + row * of->length, of->data, of->length * sizeof(double));
    }
    return put_tangents(state, row);
}

/* ------------------------------------------------------------------ the whole */

static bool take_sensitivities(struct mdf_state *state)
{
    struct mdf_solve *solve = state->solve;

    return solve->n_parameters == 0 ||
           solve->library.CVodeGetSens(solve->cvode, &solve->time, solve->sensitivities) == CV_SUCCESS ||
           mdf_solve_out_of_memory(state);
}

bool mdf_solve_derive(struct mdf_state *state)
{
    const struct mdf_program_right_side *side = &state->program->right_side;
    struct mdf_solve *solve = state->solve;
    double dt = state->shared->execution.dt;
    size_t n = 0;

    if (isnan(dt) && side->n_steps > 1) {
        return mdf_solve_fail(state, MDF_USAGE, "needs a time increment");
    }
    if (!hold_inputs(state) || !direct(state, SIZE_MAX) || !run_range(state, side->initial) || !mdf_solve_make_for(state, &n) ||
        n == 0 || !make_sensitivities(state) || (side->of_each && !put_row(state, 0))) {
        return false;
    }
    for (uint64_t i = 1; i < side->n_steps; i++) {
        if (!mdf_solve_go_to(state, solve->time + dt) ||
            ((side->of_each || i + 1 == side->n_steps) && !take_sensitivities(state)) || (side->of_each && !put_row(state, i))) {
            return false;
        }
    }
    return side->of_each || (look(state) && derive_outputs(state));
}
