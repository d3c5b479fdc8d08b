/* distributions.c - PsyNeuLink's drift diffusion model in closed form, and random numbers for its diffusing integrators.
 *
 * Comes in: for each decision drift rate, threshold, starting value, noise and non-decision time. Goes out: mean response time,
 * error rate, and mean, variance and skewness of the response time of correct and of wrong answers. Sources: R. Bogacz et al.,
 * "The physics of optimal decision making", Psychological Review 113 (2006), appendix; V. Srivastava et al., "Explicit moments of
 * decision times for single- and double-threshold drift-diffusion processes", Journal of Mathematical Psychology 75 (2016). */
#include "functions/psyneulink/psyneulink.h"
#include "functions/python/python_values.h"
#include "functions/sampling/random.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { N_PARAMETERS = 5, N_MEASURES = 8 };

struct decision {
    double drift, threshold, start, noise, non_decision_time;
};

/* ------------------------------------------------------------------ mean time and error rate */

/* Numbers so near to 0 that digits are lost; the package has numpy tell it of them, and of infinite results. */
static bool is_out_of_range(double x)
{
    return isinf(x) || fabs(x) < DBL_MIN;
}

/* Without drift. */
static void measure_still(const struct decision *d, double bias, double *time, double *error_rate)
{
    double start = bias * 2 * d->threshold - d->threshold;

    *time = d->non_decision_time + (d->threshold * d->threshold - start * start) / (d->noise * d->noise);
    *error_rate = (d->threshold - start) / (2 * d->threshold);
}

/* Towards the upper threshold with speed |drift|; *error_rate is that of missing it. */
static void measure_drifting(const struct decision *d, double bias, double *time, double *error_rate)
{
    bool is_negative = d->drift < 0;
    double drift = fabs(d->drift), z = d->threshold / drift, a = (drift / d->noise) * (drift / d->noise);
    double towards = is_negative ? 1 - bias : bias, y = d->noise * d->noise / 2 * log(towards / (1 - towards)), x;
    double start_power, up, down, span;

    if (fabs(y) > d->threshold) {
        y = is_negative ? -d->threshold : d->threshold;
    }
    x = y / drift;
    start_power = exp(-2 * x * a);
    up = exp(2 * z * a);
    down = exp(-2 * z * a);
    span = (1 - start_power) / (up - down);
    if (is_out_of_range(start_power) || is_out_of_range(up) || is_out_of_range(down) || is_out_of_range(1 / (1 + up)) ||
        (span != 0 && is_out_of_range(span))) {
        *error_rate = 0;
        *time = z / a - x + d->non_decision_time;
    } else {
        *time = z * tanh(z * a) + ((2 * z * (1 - start_power)) / (up - down) - x) + d->non_decision_time;
        *error_rate = 1 / (1 + up) - span;
    }
    *error_rate = is_negative ? 1 - *error_rate : *error_rate;
}

/* ------------------------------------------------------------------ moments of the times of correct and wrong answers */

static double coth(double x)
{
    return 1 / tanh(x);
}

static double csch(double x)
{
    return 1 / sinh(x);
}

static double clamp(double x, double limit)
{
    return x < -limit ? -limit : x > limit ? limit : x;
}

/* Mean, variance and skewness, from the threshold `z` and its distance `reach` from the start, both in units of noise^2 / drift.
 */
static void find_moments(double unit, double z, double reach, double non_decision_time, double moments[3])
{
    double twice = 2 * z, c2 = coth(twice), s2 = csch(twice) * csch(twice), c1 = coth(reach), s1 = csch(reach) * csch(reach);
    double mean = twice * c2 - reach * c1, curve = twice * twice * s2 - reach * reach * s1;
    double third = pow(twice, 3) * c2 * s2 - pow(reach, 3) * c1 * s1;

    moments[0] = unit * mean + non_decision_time;
    moments[1] = unit * unit * (curve + mean);
    moments[2] = pow(unit, 3) * (3 * curve + 2 * third + 3 * mean) / pow(moments[1], 1.5);
}

static void measure(const struct decision *d, double measures[N_MEASURES])
{
    double bias = (d->start + d->threshold) / (2 * d->threshold), drift, start, x, z, variance = d->noise * d->noise;

    bias = bias <= 0 ? 1e-8 : bias >= 1 ? 1 - 1e-8 : bias;
    if (fabs(d->drift) < 1e-8) {
        measure_still(d, bias, &measures[0], &measures[1]);
    } else {
        measure_drifting(d, bias, &measures[0], &measures[1]);
    }
    start = (bias - 0.5) * 2 * d->threshold;
    drift = fabs(d->drift) < 0.01 ? 0.01 : d->drift;
    x = clamp(drift * start / variance, 100);
    z = clamp(drift * d->threshold / variance, 100);
    z = fabs(z) < 0.0001 ? 0.0001 : z;
    find_moments(variance / (drift * drift), z, x + z, d->non_decision_time, measures + 2);
    find_moments(variance / (drift * drift), z, z - x, d->non_decision_time, measures + 5);
}

/* ------------------------------------------------------------------ the kernels */

/* Parameters, arrays of one shape, to an array of eight of that shape. */
static bool drift_diffusion(struct mdf_call *call)
{
    const struct mdf_value *parameters[N_PARAMETERS];
    double *measures, decision[N_PARAMETERS], result[N_MEASURES];
    int64_t *shape;
    size_t n, i, j;

    for (j = 0; j < N_PARAMETERS; j++) {
        const struct mdf_value *given = mdf_python_input_array(call, j, MDF_SLOT_OWN + j);

        parameters[j] = given != NULL ? mdf_python_array_of(call, given, MDF_DTYPE_FLOAT64, MDF_SLOT_OWN + j) : NULL;
        if (parameters[j] == NULL) {
            return false;
        }
        if (parameters[j]->length != parameters[0]->length) {
            return mdf_call_error(call, MDF_SHAPE, "the arrays have different shapes");
        }
    }
    n = parameters[0]->length;
    shape = mdf_python_sizes(call, MDF_SLOT_OWN + N_PARAMETERS, (size_t)parameters[0]->rank + 1);
    if (shape == NULL) {
        return false;
    }
    shape[0] = N_MEASURES;
    memcpy(shape + 1, mdf_value_shape(parameters[0]), parameters[0]->rank * sizeof *shape);
    measures = mdf_python_make(call, call->outputs[0], MDF_DTYPE_FLOAT64, mdf_numpy_strength(parameters[0]),
                               (size_t)parameters[0]->rank + 1, shape);
    for (i = 0; measures != NULL && i < n; i++) {
        for (j = 0; j < N_PARAMETERS; j++) {
            decision[j] = ((const double *)parameters[j]->data)[i];
        }
        measure(&(struct decision){decision[0], decision[1], decision[2], decision[3], decision[4]}, result);
        for (j = 0; j < N_MEASURES; j++) {
            measures[j * n + i] = result[j];
        }
    }
    return measures != NULL;
}

/* Normal deviates of mean 0 and variance 1, one for each element of an array. */
static bool standard_normal(struct mdf_call *call)
{
    const struct mdf_value *like = mdf_python_input_array(call, 0, MDF_SLOT_OWN);
    double *deviates;
    size_t i;

    if (like == NULL) {
        return false;
    }
    deviates =
        mdf_python_make(call, call->outputs[0], MDF_DTYPE_FLOAT64, MDF_STRENGTH_LITERAL, like->rank, mdf_value_shape(like));
    for (i = 0; deviates != NULL && i < like->length; i++) {
        deviates[i] = mdf_random_normal(call->context->random_state);
    }
    return deviates != NULL;
}

const struct mdf_operator mdf_operators_python_psyneulink[] = {
    {"psyneulink.drift_diffusion", 0, 0, drift_diffusion, NULL, 0, MDF_OPERATOR_KEEPS_INPUTS,
     "drift threshold starting_value noise non_decision_time"},
    {"psyneulink.standard_normal", 0, 0, standard_normal, NULL, 0, MDF_OPERATOR_RANDOM | MDF_OPERATOR_KEEPS_INPUTS, "like"},
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
