/* integrators.c - PsyNeuLink's integrator functions: what they kept from the call before goes in as a state, with the variable.
 * The order of operations is the package's, so that results equal its own to the last bit. */
#include "functions/psyneulink/psyneulink.h"

/* One state, previous_value, which becomes the value that the function yields. */
static const struct mdf_function_state value_state[] = {{"previous_value", "initializer previous_value", "0", "value"},
                                                        {NULL, NULL, NULL, NULL}};

/* The variable gives nothing but its shape. */
#define IN_SHAPE(x) x " + numpy.zeros_like(variable0)"
static const struct mdf_function_step accumulator_steps[] = {{"value", IN_SHAPE("previous_value * rate + noise + increment")},
                                                             {NULL, NULL}};

static const struct mdf_function_step simple_steps[] = {{"value", "previous_value + variable0 * rate + noise + offset"},
                                                        {NULL, NULL}};

static const struct mdf_function_step adaptive_steps[] = {
    {"value", "(1 - rate) * previous_value + rate * variable0 + noise + offset"}, {NULL, NULL}};

static const struct mdf_function_step leaky_steps[] = {
    {"value", "previous_value + (-rate * previous_value + variable0) * time_step_size + noise * time_step_size ** 0.5 + offset"},
    {NULL, NULL}};

/* Two averages that follow the variable quickly and slowly, each through a logistic function. The package hands its averaging
 * helper the rate and the average in each other's place; what is computed here is what it computes. */
static const struct mdf_function_state dual_states[] = {
    {"previous_short_term_avg", "initial_short_term_avg previous_short_term_avg", "0", "short_term_avg"},
    {"previous_long_term_avg", "initial_long_term_avg previous_long_term_avg", "0", "long_term_avg"},
    {NULL, NULL, NULL, NULL}};
static const struct mdf_function_step dual_steps[] = {
    {"short_term_avg", "(1 - previous_short_term_avg) * short_term_rate + previous_short_term_avg * variable0"},
    {"long_term_avg", "(1 - previous_long_term_avg) * long_term_rate + previous_long_term_avg * variable0"},
    {"quick", "1 - 1 / (1 + numpy.exp(-(short_term_gain * short_term_avg) + short_term_bias))"},
    {"slow", "1 / (1 + numpy.exp(-(long_term_gain * long_term_avg) + long_term_bias))"},
    {"value", "(quick * slow if operation == 'product' else quick + slow if operation == 'sum' else "
              "quick - slow if operation == 's-l' else slow - quick) + offset"},
    {NULL, NULL}};

static const struct mdf_function_state activation_states[] = {{"previous_value", "rest", "0", "value"}, {NULL, NULL, NULL, NULL}};
static const struct mdf_function_step activation_steps[] = {
    {"distance", "numpy.where(variable0 > 0, max_val - previous_value, "
                 "numpy.where(variable0 < 0, previous_value - min_val, 0.0))"},
    {"value", "previous_value + (rate * (variable0 + noise) * distance) - (decay * (previous_value - rest))"},
    {NULL, NULL}};

/* Diffusion: noise is the scale of what random numbers add. */
static const struct mdf_function_state diffusion_states[] = {
    {"previous_value", "starting_value starting_point initializer previous_value", "0", "value"},
    {"previous_time", "non_decision_time t0 previous_time", "0.0", "time"},
    {NULL, NULL, NULL, NULL}};
static const struct mdf_function_step drift_diffusion_steps[] = {{"drifted",
                                                                  "previous_value + rate * variable0 * time_step_size + "
                                                                  "noise * numpy.sqrt(time_step_size) * random_draw"},
                                                                 {"value", "numpy.clip(drifted + offset, -threshold, threshold)"},
                                                                 {"time", IN_SHAPE("previous_time + time_step_size")},
                                                                 {NULL, NULL}};
static const struct mdf_function_step ornstein_steps[] = {
    {"value", "previous_value + (decay * previous_value - rate * variable0) * time_step_size + "
              "numpy.sqrt(time_step_size * noise) * random_draw + offset"},
    {"time", IN_SHAPE("previous_time + time_step_size")},
    {NULL, NULL}};

/* FitzHugh and Nagumo's two equations. Within a step of the Runge-Kutta method the package takes the other variable as it was
 * before the step. */
#define SLOPE_V(v)                                                                                                              \
    "(a_v * ((" v ") ** 3) + (1 + threshold) * b_v * ((" v ") ** 2) + (-threshold) * c_v * (" v ") + d_v + e_v * previous_w + " \
    "f_v * variable0) / time_constant_v"
#define SLOPE_W(w) "(mode * a_w * previous_v + b_w * (" w ") + c_w + (1 - mode) * uncorrelated_activity) / time_constant_w"
static const struct mdf_function_state fitzhugh_states[] = {{"previous_v", "initial_v previous_v", "0.0", "v"},
                                                            {"previous_w", "initial_w previous_w", "0.0", "w"},
                                                            {"previous_time", "t_0 previous_time", "0.0", "time"},
                                                            {NULL, NULL, NULL, NULL}};
static const struct mdf_function_step fitzhugh_steps[] = {
    {"v_1", SLOPE_V("previous_v")},
    {"w_1", SLOPE_W("previous_w")},
    {"v_2", SLOPE_V("previous_v + (0.5 * time_step_size * v_1)")},
    {"w_2", SLOPE_W("previous_w + (0.5 * time_step_size * w_1)")},
    {"v_3", SLOPE_V("previous_v + (0.5 * time_step_size * v_2)")},
    {"w_3", SLOPE_W("previous_w + (0.5 * time_step_size * w_2)")},
    {"v_4", SLOPE_V("previous_v + (time_step_size * v_3)")},
    {"w_4", SLOPE_W("previous_w + (time_step_size * w_3)")},
    {"v", "previous_v + (time_step_size / 6) * (v_1 + 2 * (v_2 + v_3) + v_4) if integration_method == 'RK4' else "
          "previous_v + time_step_size * v_1"},
    {"w", "previous_w + (time_step_size / 6) * (w_1 + 2 * (w_2 + w_3) + w_4) if integration_method == 'RK4' else "
          "previous_w + time_step_size * w_1"},
    {"time", IN_SHAPE("previous_time + time_step_size")},
    {NULL, NULL}};

/* A point that moves on the unit sphere: along a direction that goes with it (a variable of one number), by coordinates of the
 * tangent plane in the basis of a Householder reflection, or towards a point, `aim`. */
#define LENGTH(x) "numpy.sqrt(numpy.sum(" x " * " x "))"
#define UNIT(x) x " / " LENGTH(x)
#define IS_AIM "(input_space == 'target' or (input_space == 'auto' and given.size == place.size))"
static const struct mdf_function_state sphere_states[] = {
    {"previous_value", "initializer previous_value", "numpy.zeros(0)", "value"},
    {"previous_drift_dir", "drift_dir previous_drift_dir", "numpy.zeros(0)", "drift_dir_after"},
    {NULL, NULL, NULL, NULL}};
static const struct mdf_function_step sphere_steps[] = {
    {"given", "numpy.ravel(variable0) * 1.0"},
    {"place", "numpy.ravel(previous_value) * 1.0 if numpy.asarray(previous_value).size > 0 else numpy.eye(int(dimension))[0]"},
    {"is_directed", "numpy.asarray(previous_drift_dir).size > 0"},
    {"direction", "numpy.ravel(previous_drift_dir) * 1.0 if is_directed else psyneulink.insist(numpy.zeros(place.size), "
                  "given.size != 1, 'a variable of one number is a distance along drift_dir, which is not given')"},
    {"unit", UNIT("place")},
    {"pole", "numpy.eye(place.size)[0]"},
    {"apart", "unit - pole"},
    {"mirror", UNIT("apart")},
    {"basis", "numpy.eye(place.size)[:, 1:] if numpy.all(numpy.abs(apart) <= 1e-08 + 1e-05 * pole) else "
              "(numpy.eye(place.size) - 2 * numpy.reshape(mirror, (-1, 1)) * mirror)[:, 1:]"},
    {"aim", "given / " LENGTH("given") " if " IS_AIM " and " LENGTH("given") " >= 1e-14 else unit"},
    {"cosine", "numpy.minimum(numpy.maximum(numpy.sum(unit * aim), -1.0), 1.0)"},
    {"angle", "numpy.arccos(cosine)"},
    {"towards", "aim - cosine * unit"},
    {"bent", LENGTH("towards")},
    {"straight", "angle * (basis[:, 0] if bent < 1e-14 else towards / bent) if angle >= 1e-14 else numpy.zeros(place.size)"},
    {"drift", "rate * direction * given[0] if given.size == 1 else rate * straight if " IS_AIM " else rate * (basis @ given)"},
    {"diffusion", "numpy.sqrt(time_step_size) * (basis @ (noise * random_draw))"},
    {"step", "time_step_size * (drift + diffusion)"},
    {"length", LENGTH("step")},
    {"heading", "step / length if length != 0 else numpy.zeros(place.size)"},
    {"moved", "numpy.cos(length) * place + numpy.sin(length) * heading"},
    {"value", "place if length == 0 else " UNIT("moved")},
    {"along", "numpy.sum(direction * heading)"},
    {"carried", "direction - along * heading + along * (numpy.cos(length) * heading - numpy.sin(length) * place)"},
    {"drift_dir_after", "previous_drift_dir if length == 0 or not is_directed else " UNIT("carried")},
    {NULL, NULL}};

const struct mdf_defined_function mdf_psyneulink_integrators[] = {
    {"accumulatorintegrator", "variable0=0 rate=1.0 noise=0.0 increment=0.0", NULL, value_state, accumulator_steps, "value"},
    {"simpleintegrator", "variable0 rate=1.0 noise=0.0 offset=0.0", NULL, value_state, simple_steps, "value"},
    {"adaptiveintegrator", "variable0 rate=1.0 noise=0.0 offset=0.0", NULL, value_state, adaptive_steps, "value"},
    {"leakycompetingintegrator", "variable0 rate|leak=1.0 noise=0.0 offset=0.0 time_step_size=0.1", NULL, value_state,
     leaky_steps, "value"},
    {"dualadaptiveintegrator",
     "variable0 short_term_gain=1.0 long_term_gain=1.0 short_term_bias=0.0 long_term_bias=0.0 short_term_rate=0.9 "
     "long_term_rate=0.1 operation:product,sum,s-l,l-s offset=0.0",
     NULL, dual_states, dual_steps, "value"},
    {"interactiveactivationintegrator", "variable0 rate=1.0 decay=0.0 rest=0.0 max_val=1.0 min_val=-1.0 noise=0.0", NULL,
     activation_states, activation_steps, "value"},
    {"driftdiffusionintegrator",
     "variable0 rate=1.0 noise=0.0 offset=0.0 threshold=100.0 time_step_size=1.0 "
     "random_draw=psyneulink.standard_normal(variable0)",
     NULL, diffusion_states, drift_diffusion_steps, "value time"},
    {"ornsteinuhlenbeckintegrator",
     "variable0 rate=1.0 decay=1.0 noise=0.0 offset=0.0 time_step_size=1.0 "
     "random_draw=psyneulink.standard_normal(0)",
     NULL, diffusion_states, ornstein_steps, "value time"},
    {"fitzhughnagumointegrator",
     "variable0 time_step_size=0.05 a_v=-1/3 b_v=0.0 c_v=1.0 d_v=0.0 e_v=-1.0 f_v=1.0 threshold=-1.0 time_constant_v=1.0 a_w=1.0 "
     "b_w=-0.8 c_w=0.7 mode=1.0 uncorrelated_activity=0.0 time_constant_w=12.5 integration_method:RK4,EULER",
     NULL, fitzhugh_states, fitzhugh_steps, "v w time"},
    {"driftonasphereintegrator",
     "variable0 rate=1.0 noise=0.0 time_step_size=1.0 dimension=3 input_space:auto,tangent,target "
     "random_draw=psyneulink.standard_normal(numpy.zeros(int(dimension)-1))",
     NULL, sphere_states, sphere_steps, "value"},
    {NULL, NULL, NULL, NULL, NULL, NULL}};
