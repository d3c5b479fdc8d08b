/* learning.c - PsyNeuLink's learning functions: how a matrix of weights changes, from what came into the projection, what its
 * receiver made of it, and the error. What they return is in the order of PsyNeuLink's: the change first, then the error that is
 * passed on to the projections before. */
#include "functions/psyneulink/psyneulink.h"

/* A rate for each element counts for what is in the columns, one rate for all of the matrix: either way once. */
#define IS_EACH "numpy.asarray(learning_rate).ndim == 1"
static const struct mdf_function_step hebbian_steps[] = {
    {"activity", "numpy.ravel(variable0)"},
    {"rated", "activity * learning_rate if " IS_EACH " else activity"},
    {"changes", "rated * numpy.reshape(activity, (-1, 1)) * (1 - numpy.eye(activity.size))"},
    {"value", "changes if " IS_EACH " else changes * learning_rate"},
    {NULL, NULL}};

/* variable0 is what came in, what came out, the error. The matrix is that of the projection behind, by which its error came
 * about. */
static const struct mdf_function_step backpropagation_steps[] = {
    {"error", "numpy.ravel(variable0[2])"},
    {"carried", "numpy.matmul(error_matrix, error)"},
    {"of_activity",
     "carried / error.size * 2 if loss_spec == 'Loss.MSE' else carried * 2 if loss_spec == 'Loss.SSE' else carried"},
    {"slope", "numpy.asarray(activation_derivative)"},
    {"error_signal", "numpy.matmul(of_activity, slope) if slope.ndim == 2 else of_activity * slope"},
    {"learning_signal", "learning_rate * numpy.reshape(variable0[0], (-1, 1)) * error_signal"},
    {NULL, NULL}};

/* The error belongs to what was chosen: to elements that came out as something else than 0. */
static const struct mdf_function_step reinforcement_steps[] = {
    {"error", "numpy.ravel(variable0[2])"},
    {"learning_signal", "numpy.where(numpy.ravel(variable0[1]) != 0, learning_rate * error, 0.0)"},
    {NULL, NULL}};

/* variable0 is what came in, the activities, the matrix. */
static const struct mdf_function_step kohonen_steps[] = {
    {"activities", "numpy.ravel(variable0[1])"},
    {"steps_away", "numpy.abs(numpy.arange(activities.size) - numpy.argmax(activities))"},
    {"distance", "numpy.exp(-steps_away ** 2 / 2) / numpy.sqrt(2 * math.pi) if distance_function == 'gaussian' else "
                 "steps_away if distance_function == 'linear' else numpy.exp(steps_away)"},
    {"value", "(1 - distance) * (variable0[2] - numpy.reshape(variable0[0], (-1, 1))) * learning_rate"},
    {NULL, NULL}};

const struct mdf_defined_function mdf_psyneulink_learning[] = {
    {"hebbian", "variable0 learning_rate=0.05", NULL, NULL, hebbian_steps, "value"},
    {"contrastivehebbian", "variable0 learning_rate=0.05", NULL, NULL, hebbian_steps, "value"},
    {"backpropagation",
     "variable0 error_matrix activation_derivative learning_rate=0.05 loss_spec:Loss.L0,Loss.MSE,Loss.SSE,Loss.CROSS_ENTROPY",
     NULL, NULL, backpropagation_steps, "learning_signal error_signal"},
    {"reinforcement", "variable0 learning_rate=0.05", NULL, NULL, reinforcement_steps, "learning_signal learning_signal"},
    {"tdlearning", "variable0 learning_rate=0.05", NULL, NULL, reinforcement_steps, "learning_signal learning_signal"},
    {"kohonen", "variable0 learning_rate=0.05 distance_function:gaussian,linear,exponential", NULL, NULL, kohonen_steps, "value"},
    {NULL, NULL, NULL, NULL, NULL, NULL}};
