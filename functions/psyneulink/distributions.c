/* distributions.c - PsyNeuLink's drift diffusion model in closed form, and random numbers for its diffusing integrators.
 *
 * Comes in: for each decision drift rate, threshold, starting value, noise and non-decision time. Goes out: mean response time,
 * error rate, and mean, variance and skewness of the response time of correct and of wrong answers. Sources: R. Bogacz et al.,
 * "The physics of optimal decision making", Psychological Review 113 (2006), appendix; V. Srivastava et al., "Explicit moments of
 * decision times for single- and double-threshold drift-diffusion processes", Journal of Mathematical Psychology 75 (2016). */
#include "functions/kernel/routine.h"
#include "functions/psyneulink/psyneulink.h"
#include "functions/python/python_values.h"
#include "functions/sampling/random.h"

#include <math.h>
#include <string.h>

enum { N_PARAMETERS = 5, N_MEASURES = 8 };

#include "functions/kernel/number_routine.inc"
#include "functions/psyneulink/decision_routine.inc"

/* ------------------------------------------------------------------ the kernels */

/* Parameters, arrays of one shape, to an array of eight of that shape. */
static bool drift_diffusion(struct mdf_call *call)
{
    const struct mdf_value *parameters[N_PARAMETERS];
    const void *in[N_PARAMETERS];
    int64_t *shape, whole[1 + N_PARAMETERS] = {0};
    void *measures;

    for (size_t j = 0; j < N_PARAMETERS; j++) {
        const struct mdf_value *given = mdf_python_input_array(call, j, MDF_SLOT_OWN + j);

        parameters[j] = given != NULL ? mdf_python_array_of(call, given, MDF_DTYPE_FLOAT64, MDF_SLOT_OWN + j) : NULL;
        if (parameters[j] == NULL) {
            return false;
        }
        if (parameters[j]->length != parameters[0]->length) {
            return mdf_call_error(call, MDF_SHAPE, "the arrays have different shapes");
        }
        in[j] = parameters[j]->data;
        mdf_routine_kind(parameters[j], MDF_DTYPE_NONE, &whole[1 + j]);
    }
    whole[0] = (int64_t)parameters[0]->length;
    shape = mdf_python_sizes(call, MDF_SLOT_OWN + N_PARAMETERS, (size_t)parameters[0]->rank + 1);
    if (shape == NULL) {
        return false;
    }
    shape[0] = N_MEASURES;
    memcpy(shape + 1, mdf_value_shape(parameters[0]), parameters[0]->rank * sizeof *shape);
    measures = mdf_python_make(call, call->outputs[0], MDF_DTYPE_FLOAT64, mdf_numpy_strength(parameters[0]),
                               (size_t)parameters[0]->rank + 1, shape);
    return measures != NULL && mdf_drift_diffusion(&measures, in, whole, NULL, NULL);
}

static bool plan_drift_diffusion(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    if (mdf_call_result(call, 0) == NULL || !mdf_routine_room(plan, 1 + N_PARAMETERS, 0)) {
        return false;
    }
    plan->function = "drift_diffusion";
    plan->dtype = MDF_DTYPE_NONE;
    for (size_t j = 0; j < N_PARAMETERS; j++) {
        const struct mdf_value *parameter = mdf_call_input(call, j);

        if (parameter == NULL || !mdf_routine_kind(parameter, call->context->real, &plan->whole[1 + j])) {
            return false;
        }
    }
    plan->whole[0] = (int64_t)call->inputs[0]->length;
    return true;
}

/* Normal deviates of mean 0 and variance 1, one for each element of an array. */
static bool standard_normal(struct mdf_call *call)
{
    const struct mdf_value *like = mdf_python_input_array(call, 0, MDF_SLOT_OWN);
    double *deviates;

    if (like == NULL) {
        return false;
    }
    deviates =
        mdf_python_make(call, call->outputs[0], MDF_DTYPE_FLOAT64, MDF_STRENGTH_LITERAL, like->rank, mdf_value_shape(like));
    for (size_t i = 0; deviates != NULL && i < like->length; i++) {
        deviates[i] = mdf_random_normal(call->context->random_state);
    }
    return deviates != NULL;
}

static bool plan_standard_normal(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct mdf_value *result = mdf_call_result(call, 0);

    if (result == NULL || !mdf_routine_room(plan, 1, 0)) {
        return false;
    }
    plan->function = "draw_psyneulink_standard_normal";
    plan->dtype = MDF_DTYPE_NONE;
    plan->whole[0] = (int64_t)result->length;
    return true;
}

const struct mdf_operator mdf_operators_python_psyneulink[] = {
    {"psyneulink.drift_diffusion", 0, 0, drift_diffusion, NULL, 0, MDF_OPERATOR_KEEPS_INPUTS,
     "drift threshold starting_value noise non_decision_time", .routine = MDF_ROUTINE(plan_drift_diffusion, NULL)},
    {"psyneulink.standard_normal", 0, 0, standard_normal, NULL, 0, MDF_OPERATOR_RANDOM | MDF_OPERATOR_KEEPS_INPUTS, "like",
     .routine = MDF_DRAWING_ROUTINE(plan_standard_normal, NULL)},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};

/* An array in the shape that all of them have together. */
#define IN_SHAPE(x) "numpy.where(like, " x ", " x ")"
static const struct mdf_function_step drift_diffusion_steps[] = {
    {"drift", "drift_rate * variable0"},
    {"like", "drift + threshold + starting_value + noise + non_decision_time == 0"},
    {"measures", "psyneulink.drift_diffusion(" IN_SHAPE("drift") ", " IN_SHAPE("threshold") ", " IN_SHAPE(
                     "starting_value") ", " IN_SHAPE("noise") ", " IN_SHAPE("non_decision_time") ")"},
    {"time", "measures[0]"},
    {"error_rate", "measures[1]"},
    {"mean_correct", "measures[2]"},
    {"variance_correct", "measures[3]"},
    {"skewness_correct", "measures[4]"},
    {"mean_wrong", "measures[5]"},
    {"variance_wrong", "measures[6]"},
    {"skewness_wrong", "measures[7]"},
    {NULL, NULL}};

const struct mdf_defined_function mdf_psyneulink_distributions[] = {
    {"driftdiffusionanalytical",
     "variable0 drift_rate=1.0 threshold=1.0 starting_value|starting_point=0.0 noise=0.5 non_decision_time|t0=0.2", NULL, NULL,
     drift_diffusion_steps,
     "time error_rate mean_correct variance_correct skewness_correct mean_wrong variance_wrong skewness_wrong"},
    {NULL, NULL, NULL, NULL, NULL, NULL}};
