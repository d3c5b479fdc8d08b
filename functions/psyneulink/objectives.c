/* objectives.c - PsyNeuLink's objective functions: the distance of two arrays by a metric, and how stable an array is under a
 * matrix, which is its distance to what the matrix makes of it. */
#include "functions/psyneulink/psyneulink.h"

#define METRICS "difference,max_abs_diff,normed_L0_similarity,dot_product,euclidean,cosine,correlation,cross-entropy,energy"

/* Of v1 and v2, by `metric`, normalised by their length where that is asked for. The smallest real number above 1, less 1, stands
 * for a zero that can not be divided by, or be taken the logarithm of. */
#define EPSILON "2.220446049250313e-16"
#define OR_EPSILON(x) "(" x " if " x " != 0 else " EPSILON ")"
#define NOT_ZERO(v) "numpy.where(" v " == 0, " EPSILON ", " v ")"
#define DISTANCE_STEPS                                                                                     \
    {"centred_1", "v1 - numpy.mean(v1)"}, {"centred_2", "v2 - numpy.mean(v2)"},                            \
        {"norms", "numpy.sqrt(numpy.sum(v1 ** 2)) * numpy.sqrt(numpy.sum(v2 ** 2))"},                      \
        {"spread", "numpy.sqrt(numpy.sum(centred_1 ** 2) * numpy.sum(centred_2 ** 2))"},                   \
        {"distance", "numpy.sum(numpy.fabs(v1 - v2)) if metric == 'difference' else "                      \
                     "numpy.max(numpy.fabs(v1 - v2)) if metric == 'max_abs_diff' else "                    \
                     "1.0 - numpy.sum(numpy.abs(v1 - v2)) / 4.0 if metric == 'normed_L0_similarity' else " \
                     "numpy.dot(v1, v2) if metric == 'dot_product' else "                                  \
                     "numpy.linalg.norm(v2 - v1) if metric == 'euclidean' else "                           \
                     "1.0 - numpy.fabs(numpy.sum(v1 * v2) / " OR_EPSILON(                                  \
                         "norms") ") if metric == 'cosine' else "                                          \
                                  "1.0 - numpy.fabs(numpy.sum(centred_1 * centred_2) / " OR_EPSILON(       \
                                      "spread") ") "                                                       \
                                                "if metric == 'correlation' else "                         \
                                                "-numpy.sum(" NOT_ZERO("v1") " * numpy.log(" NOT_ZERO(     \
                                                    "v2") ")) if metric == 'cross-entropy' else "          \
                                                          "-numpy.sum(v1 * v2) / 2.0"},                    \
        {"value", "distance / (len(v1) ** 2.0 if metric == 'energy' else len(v1)) if normalize and "       \
                  "metric not in ('max_abs_diff', 'correlation', 'cosine') else distance"},                \
    {                                                                                                      \
        NULL, NULL                                                                                         \
    }

static const struct mdf_function_step distance_steps[] = {
    {"v1", "numpy.ravel(variable0[0])"}, {"v2", "numpy.ravel(variable0[1])"}, DISTANCE_STEPS};

/* The matrix never connects an element with itself. */
#define STABILITY_STEPS                                          \
    {"v1", "numpy.atleast_1d(numpy.squeeze(variable0))"},        \
    {                                                            \
        "v2", "numpy.dot(matrix * (1 - numpy.eye(v1.size)), v1)" \
    }
static const struct mdf_function_step stability_steps[] = {STABILITY_STEPS, DISTANCE_STEPS};
static const struct mdf_function_step energy_steps[] = {STABILITY_STEPS, {"metric", "'energy'"}, DISTANCE_STEPS};
static const struct mdf_function_step entropy_steps[] = {STABILITY_STEPS, {"metric", "'cross-entropy'"}, DISTANCE_STEPS};

#define WIDTH "numpy.asarray(variable0).size"
static const struct mdf_function_step matrix_keywords[] = {{"HollowMatrix", "1 - numpy.eye(" WIDTH ")"},
                                                           {"InverseHollowMatrix", "numpy.eye(" WIDTH ") - 1"},
                                                           {"IdentityMatrix", "numpy.eye(" WIDTH ")"},
                                                           {"FullConnectivityMatrix", "numpy.ones((" WIDTH ", " WIDTH "))"},
                                                           {"ZerosMatrix", "numpy.zeros((" WIDTH ", " WIDTH "))"},
                                                           {NULL, NULL}};

/* Of a sample and its target. The cross-entropy is of both their softmaxes, without a sign. */
#define SOFTMAX(x) "numpy.exp(" x " - numpy.max(" x ")) / numpy.sum(numpy.exp(" x " - numpy.max(" x ")))"
#define LOSSES "Loss.MSE,Loss.L0,Loss.L1,Loss.SSE,Loss.POISSON_NLL,Loss.CROSS_ENTROPY"
static const struct mdf_function_step loss_steps[] = {
    {"sample", "numpy.ravel(variable0[0]) * 1.0"},
    {"target", "numpy.ravel(variable0[1]) * 1.0"},
    {"apart", "sample - target"},
    {"soft_sample", SOFTMAX("sample")},
    {"soft_target", SOFTMAX("target")},
    {"both_zero", "numpy.logical_and(soft_sample == 0, soft_target == 0)"},
    {"total", "numpy.sum(apart) if loss == 'Loss.L0' else numpy.sum(numpy.abs(apart)) if loss == 'Loss.L1' else "
              "numpy.sum(apart ** 2) if loss == 'Loss.SSE' else numpy.mean(apart ** 2) if loss == 'Loss.MSE' else "
              "numpy.mean(-target * numpy.log(sample + 1e-09) + sample) if loss == 'Loss.POISSON_NLL' else "
              "numpy.sum(soft_sample * numpy.where(both_zero, 0.0, numpy.log(numpy.where(both_zero, 1.0, soft_target))))"},
    {"value", "total / sample.size if normalize else total"},
    {NULL, NULL}};

const struct mdf_defined_function mdf_psyneulink_objectives[] = {
    {"lossfunction", "variable0 loss:" LOSSES " normalize=False", NULL, NULL, loss_steps, "value"},
    {"distance", "variable0 metric:" METRICS " normalize=False", NULL, NULL, distance_steps, "value"},
    {"stability", "variable0 matrix=1-numpy.eye(" WIDTH ") metric:energy," METRICS " normalize=False", matrix_keywords, NULL,
     stability_steps, "value"},
    {"energy", "variable0 matrix=1-numpy.eye(" WIDTH ") normalize=False", matrix_keywords, NULL, energy_steps, "value"},
    {"entropy", "variable0 matrix=1-numpy.eye(" WIDTH ") normalize=False", matrix_keywords, NULL, entropy_steps, "value"},
    {NULL, NULL, NULL, NULL, NULL, NULL}};
