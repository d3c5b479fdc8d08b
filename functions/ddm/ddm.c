/* ddm.c - one trial of the drift diffusion model by the Euler-Maruyama method.
 *
 * Comes in: starting point, non-decision time, drift rate, threshold, noise and time step, numbers or arrays that broadcast. Goes
 * out: for each element the time at which the particle left (-threshold, threshold), negative where it did not leave it upward.
 * Every step takes a deviate of the generator that stands for numpy.random, also without noise; elements are run in order.
 * Source: modeci_mdf.functions.ddm of MDF 0.4.15, which draws from numpy.random.normal. */
#include "functions/ddm/ddm.h"
#include "functions/kernel/routine.h"
#include "functions/python/python_values.h"

#include <math.h>
#include <string.h>

enum { START, NON_DECISION_TIME, DRIFT_RATE, THRESHOLD, NOISE, TIME_STEP, N_ARGUMENTS };

/* Slots: the arguments as arrays, then the shape of the result, built up in two places. */
enum { SLOT_ARGUMENTS = MDF_SLOT_OWN, SLOT_SHAPE = SLOT_ARGUMENTS + N_ARGUMENTS, SLOT_NEXT_SHAPE };

/* Steps after which a trial is given up where the evaluation has no bound of its own; steps between looks at an interruption. */
static const uint64_t MOST_STEPS = UINT64_C(1000000000), STEPS_BETWEEN_LOOKS = UINT64_C(1) << 14;

struct trial {
    double arguments[N_ARGUMENTS];
};

/* ------------------------------------------------------------------ one trial */

/* Whether the trial may take step number `n`. */
static bool may_step(struct mdf_call *call, const struct trial *trial, uint64_t n)
{
    uint64_t limit = call->context->max_iterations != 0 ? call->context->max_iterations : MOST_STEPS;

    if (n >= limit) {
        return mdf_call_error(call, MDF_LIMIT, "the particle has not crossed the threshold %g after %llu steps",
                              trial->arguments[THRESHOLD], (unsigned long long)limit);
    }
    return n % STEPS_BETWEEN_LOOKS != 0 || !mdf_should_stop(call->context);
}

/* The order of operations is the reference's, so that times equal its own to the last bit. */
static bool run_trial(struct mdf_call *call, const struct trial *trial, double *time)
{
    const double *arguments = trial->arguments;
    double particle = arguments[START], step = arguments[TIME_STEP], moved;
    double location = arguments[DRIFT_RATE] * step, scale = arguments[NOISE] * sqrt(step);
    struct mdf_twister *twister = mdf_random_as_numpy(call->context);
    uint64_t n;

    for (n = 0; fabs(particle) < arguments[THRESHOLD]; n++) {
        if (!may_step(call, trial, n)) {
            return false;
        }
        if (!isnan(scale) && signbit(scale)) {
            return mdf_call_error(call, MDF_VALUE, "the noise is %g: a standard deviation is not negative", arguments[NOISE]);
        }
        moved = particle + (location + scale * mdf_twister_normal(twister));
        if (scale == 0 && moved == particle) {
            return mdf_call_error(call, MDF_VALUE,
                                  "without noise, and with a drift rate of %g, the particle stays at %g and never crosses the "
                                  "threshold %g",
                                  arguments[DRIFT_RATE], particle, arguments[THRESHOLD]);
        }
        particle = moved;
    }
    *time = particle > arguments[THRESHOLD] ? arguments[NON_DECISION_TIME] + (double)n * step
                                            : -arguments[NON_DECISION_TIME] - (double)n * step;
    return true;
}

/* ------------------------------------------------------------------ all elements */

/* The shape that all arguments have together, kept in slot SLOT_SHAPE or SLOT_NEXT_SHAPE; NULL with the error set. */
static const int64_t *common_shape(struct mdf_call *call, const struct mdf_value *const *arguments, size_t *rank)
{
    const int64_t *shape = NULL;

    *rank = 0;
    for (size_t i = 0; i < N_ARGUMENTS; i++) {
        size_t joint_rank = arguments[i]->rank > *rank ? arguments[i]->rank : *rank;
        int64_t *joint = mdf_python_sizes(call, i % 2 == 0 ? SLOT_SHAPE : SLOT_NEXT_SHAPE, joint_rank);

        if (joint == NULL) {
            return NULL;
        }
        if (!mdf_broadcast_shape(*rank, shape, arguments[i]->rank, mdf_value_shape(arguments[i]), joint)) {
            mdf_call_error(call, MDF_SHAPE, "the shapes of the arguments do not broadcast");
            return NULL;
        }
        shape = joint;
        *rank = joint_rank;
    }
    return shape;
}

/* Element `i` of an array's broadcast to a shape, as a position among its own elements. */
static size_t find_source(const struct mdf_value *array, size_t rank, const int64_t *shape, size_t i)
{
    const int64_t *own = mdf_value_shape(array);
    size_t axis = rank, own_axis = array->rank, stride = 1, source = 0;

    while (own_axis > 0) {
        axis--;
        own_axis--;
        if (own[own_axis] != 1) {
            source += i % (size_t)shape[axis] * stride;
        }
        stride *= (size_t)own[own_axis];
        i /= (size_t)shape[axis];
    }
    return source;
}

static bool collect_arguments(struct mdf_call *call, const struct mdf_value **arguments)
{
    for (size_t i = 0; i < N_ARGUMENTS; i++) {
        const struct mdf_value *given = mdf_python_input_array(call, i, SLOT_ARGUMENTS + i);

        arguments[i] = given != NULL ? mdf_python_array_of(call, given, MDF_DTYPE_FLOAT64, SLOT_ARGUMENTS + i) : NULL;
        if (arguments[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* "starting_point non_decision_time drift_rate threshold noise dt". */
static bool integrate(struct mdf_call *call)
{
    const struct mdf_value *arguments[N_ARGUMENTS];
    struct mdf_value *target = mdf_call_target(call, 0);
    mdf_dtype real = call->context->real;
    const int64_t *shape;
    size_t rank;
    char *times;

    if (!collect_arguments(call, arguments)) {
        return false;
    }
    shape = common_shape(call, arguments, &rank);
    times = shape == NULL
                ? NULL
                : mdf_python_make(call, target, real, rank == 0 ? MDF_STRENGTH_PYTHON : MDF_STRENGTH_LITERAL, rank, shape);
    for (size_t i = 0; times != NULL && i < target->length; i++) {
        struct trial trial;
        double time;

        for (size_t k = 0; k < N_ARGUMENTS; k++) {
            trial.arguments[k] = ((const double *)arguments[k]->data)[find_source(arguments[k], rank, shape, i)];
        }
        if (!run_trial(call, &trial, &time)) {
            return false;
        }
        mdf_convert_elements(real, times + i * mdf_dtype_size(real), MDF_DTYPE_FLOAT64, &time, 1, false);
    }
    return times != NULL;
}

/* ------------------------------------------------------------------ as C */

/* Strides of an argument within the shape of the result; of an axis that it has not, or of length 1, 0. */
static void find_strides(const struct mdf_value *argument, size_t rank, int64_t *strides)
{
    size_t missing = rank - argument->rank;
    int64_t stride = 1;

    for (size_t axis = argument->rank; axis-- > 0;) {
        strides[missing + axis] = mdf_value_shape(argument)[axis] == 1 ? 0 : stride;
        stride *= mdf_value_shape(argument)[axis];
    }
}

static bool plan_trials(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    enum { BEFORE_SHAPE = 4 + N_ARGUMENTS };
    const struct mdf_value *result = mdf_call_result(call, 0);
    uint64_t limit = call->context->max_iterations != 0 ? call->context->max_iterations : MOST_STEPS;
    size_t rank = result != NULL ? result->rank : 0;

    if (result == NULL || !mdf_routine_room(plan, BEFORE_SHAPE + (N_ARGUMENTS + 1) * rank, 0)) {
        return false;
    }
    plan->function = "draw_ddm_trials";
    plan->dtype = MDF_DTYPE_NONE;
    plan->whole[0] = (int64_t)result->length;
    plan->whole[2] = limit < INT64_MAX ? (int64_t)limit : INT64_MAX;
    plan->whole[BEFORE_SHAPE - 1] = (int64_t)rank;
    memcpy(plan->whole + BEFORE_SHAPE, mdf_value_shape(result), rank * sizeof *plan->whole);
    for (size_t i = 0; i < N_ARGUMENTS; i++) {
        const struct mdf_value *argument = mdf_call_input(call, i);

        if (argument == NULL || !mdf_routine_kind(argument, call->context->real, &plan->whole[3 + i])) {
            return false;
        }
        find_strides(argument, rank, plan->whole + BEFORE_SHAPE + (i + 1) * rank);
    }
    return mdf_routine_kind(result, MDF_DTYPE_NONE, &plan->whole[1]);
}

const struct mdf_operator mdf_operators_python_ddm[] = {
    {"ddm.drift_diffusion_integrator", 0, 0, integrate, NULL, 0, MDF_OPERATOR_RANDOM | MDF_OPERATOR_KEEPS_INPUTS,
     "starting_point non_decision_time drift_rate threshold noise dt",
     .routine = MDF_DRAWING_ROUTINE(plan_trials, "a particle does not reach its threshold, or its noise is negative")},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};

static const struct mdf_function_step integrator_steps[] = {
    {"time", "ddm.drift_diffusion_integrator(starting_point, non_decision_time, drift_rate, threshold, noise, dt)"},
    {NULL, NULL}};

const struct mdf_defined_function mdf_ddm_functions[] = {
    {"drift_diffusion_integrator", "starting_point non_decision_time drift_rate threshold noise=1.0 dt=0.01", NULL, NULL,
     integrator_steps, "time"},
    {NULL, NULL, NULL, NULL, NULL, NULL}};
