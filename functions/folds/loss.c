/* loss.c - NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss.
 *
 * Comes in: scores [n, classes, ...], the right classes [n, ...], a weight for each class or none. Goes out: the losses [n, ...],
 * their sum, or their mean by weight; of the second also the logarithms of the probabilities. What `ignore_index` names as
 * class does not count. Computed in float64. Source: the ONNX operators, all versions. */
#include "functions/elements/element_helpers.h"
#include "functions/elements/vector_math.h"
#include "functions/kernel/workspace.h"

#include <math.h>
#include <string.h>

struct loss_settings {
    int64_t ignore_index;
    const char *reduction;
};

static const struct mdf_setting loss_table[] = {{"ignore_index", MDF_SETTING_INT, offsetof(struct loss_settings, ignore_index)},
                                                {"reduction", MDF_SETTING_STRING, offsetof(struct loss_settings, reduction)},
                                                {NULL, MDF_SETTING_INT, 0}};

enum reduction { REDUCE_NONE, REDUCE_SUM, REDUCE_MEAN };

struct loss {
    size_t n, n_classes, inner;     /* scores are [n, n_classes, inner] */
    const double *scores, *weights; /* weights: NULL, all 1 */
    const int64_t *labels;
    enum reduction reduction;
};

/* The sum of exp(x - shift) of `n` elements. */
static double exp_sum(const double *x, size_t n, size_t step, double shift)
{
    enum { AT_ONCE = 256 };
    double powers[AT_ONCE], sum = 0;

    for (size_t first = 0; first < n; first += AT_ONCE) {
        size_t n_now = n - first < AT_ONCE ? n - first : AT_ONCE;

        for (size_t i = 0; i < n_now; i++) {
            powers[i] = x[(first + i) * step] - shift;
        }
        mdf_vector_math()->loops[MDF_VECTORS_exponential_FLOAT64](powers, (const void *[]){powers}, (const size_t[]){1}, n_now,
                                                                  NULL);
        for (size_t i = 0; i < n_now; i++) {
            sum += powers[i];
        }
    }
    return sum;
}

/* Logarithms of the probabilities that scores stand for. */
static void log_probabilities(const struct loss *loss, double *target)
{
    for (size_t line = 0; line < loss->n * loss->inner; line++) {
        size_t start = line / loss->inner * loss->n_classes * loss->inner + line % loss->inner, step = loss->inner;
        const double *x = loss->scores + start;
        double largest = -INFINITY, logarithm;

        for (size_t i = 0; i < loss->n_classes; i++) {
            largest = x[i * step] > largest ? x[i * step] : largest;
        }
        logarithm = mdf_log_float64(exp_sum(x, loss->n_classes, step, largest));
        for (size_t i = 0; i < loss->n_classes; i++) {
            target[start + i * step] = x[i * step] - largest - logarithm;
        }
    }
}

/* The losses from logarithms of probabilities; `target` has room for one, or for each where they are not reduced. */
static bool add_losses(struct mdf_call *call, const struct loss *loss, const double *logarithms, double *target)
{
    const struct loss_settings *settings = call->settings;
    bool may_ignore = settings->ignore_index != MDF_NOT_GIVEN;
    double sum = 0, total_weight = 0;

    for (size_t line = 0; line < loss->n * loss->inner; line++) {
        int64_t label = loss->labels[line];
        double weight, one = 0;

        if (!may_ignore || label != settings->ignore_index) {
            if (label < 0 || (size_t)label >= loss->n_classes) {
                return mdf_call_error(call, MDF_VALUE, "element %zu of the labels is %lld, but there are %zu classes", line,
                                      (long long)label, loss->n_classes);
            }
            weight = loss->weights != NULL ? loss->weights[label] : 1;
            one = -weight * logarithms[(line / loss->inner * loss->n_classes + (size_t)label) * loss->inner + line % loss->inner];
            sum += one;
            total_weight += weight;
        }
        if (loss->reduction == REDUCE_NONE) {
            target[line] = one;
        }
    }
    if (loss->reduction != REDUCE_NONE) {
        *target = loss->reduction == REDUCE_MEAN ? sum / total_weight : sum;
    }
    return true;
}

static bool read_reduction(struct mdf_call *call, enum reduction *reduction)
{
    static const char *const names[] = {"none", "sum", "mean"};
    const struct loss_settings *settings = call->settings;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (settings->reduction != NULL && strcmp(settings->reduction, names[i]) == 0) {
            *reduction = (enum reduction)i;
            return true;
        }
    }
    return mdf_call_error(call, MDF_VALUE, "reduction is '%s', not none, sum or mean",
                          settings->reduction == NULL ? "" : settings->reduction);
}

/* Reads inputs; *shape is that of the labels. */
static bool prepare_loss(struct mdf_workspace *workspace, struct mdf_call *call, struct loss *loss, const int64_t **shape)
{
    const struct mdf_value *scores = mdf_call_tensor(call, 0), *labels = mdf_call_tensor(call, 1),
                           *weights = mdf_call_input(call, 2);
    int64_t *wanted;
    size_t n_labels;

    if (scores == NULL || labels == NULL || !read_reduction(call, &loss->reduction) ||
        !mdf_workspace_begin(workspace, call, MDF_DTYPE_FLOAT64, 6)) {
        return false;
    }
    if (scores->rank < 2) {
        return mdf_call_error(call, MDF_SHAPE, "the scores have rank %u, but need axes for the batch and the classes",
                              scores->rank);
    }
    wanted = mdf_workspace_array(workspace, MDF_DTYPE_INT64, scores->rank);
    if (wanted == NULL) {
        return false;
    }
    wanted[0] = mdf_value_shape(scores)[0];
    memcpy(wanted + 1, mdf_value_shape(scores) + 2, (scores->rank - 2) * sizeof *wanted);
    if (!mdf_workspace_check_shape(call, "the array of labels", labels, scores->rank - 1, wanted) ||
        (weights != NULL && !mdf_workspace_check_shape(call, "the array of weights", weights, 1, mdf_value_shape(scores) + 1))) {
        return false;
    }
    loss->labels = mdf_call_integers(call, 1, 1, &n_labels);
    loss->scores = mdf_workspace_input(workspace, 0);
    loss->weights = weights != NULL ? mdf_workspace_input(workspace, 2) : NULL;
    loss->n = (size_t)wanted[0];
    loss->n_classes = (size_t)mdf_value_shape(scores)[1];
    *shape = wanted;
    return loss->labels != NULL && loss->scores != NULL && (weights == NULL || loss->weights != NULL) &&
           mdf_workspace_product(call, wanted, 1, scores->rank - 1, &loss->inner);
}

static bool finish_loss(struct mdf_workspace *workspace, const struct loss *loss, const int64_t *shape, const double *logarithms)
{
    const struct mdf_value *scores = workspace->call->inputs[0];
    size_t rank = loss->reduction == REDUCE_NONE ? scores->rank - 1 : 0;
    double *target = mdf_workspace_output(workspace, 0, (mdf_dtype)scores->dtype, rank, shape);

    return target != NULL && add_losses(workspace->call, loss, logarithms, target) && mdf_workspace_end(workspace);
}

static bool negative_log_likelihood(struct mdf_call *call)
{
    struct mdf_workspace workspace;
    struct loss loss;
    const int64_t *shape = NULL;

    return prepare_loss(&workspace, call, &loss, &shape) && finish_loss(&workspace, &loss, shape, loss.scores);
}

static bool softmax_cross_entropy(struct mdf_call *call)
{
    struct mdf_workspace workspace;
    struct loss loss;
    const int64_t *shape = NULL;
    double *logarithms;

    if (!prepare_loss(&workspace, call, &loss, &shape)) {
        return false;
    }
    if (mdf_call_result(call, 1) != NULL) {
        logarithms = mdf_workspace_output(&workspace, 1, (mdf_dtype)call->inputs[0]->dtype, call->inputs[0]->rank,
                                          mdf_value_shape(call->inputs[0]));
    } else {
        logarithms = mdf_workspace_array(&workspace, MDF_DTYPE_FLOAT64, call->inputs[0]->length);
    }
    if (logarithms == NULL) {
        return false;
    }
    if (call->inputs[0]->length > 0) {
        log_probabilities(&loss, logarithms);
    }
    return finish_loss(&workspace, &loss, shape, logarithms);
}

const struct mdf_operator mdf_operators_loss[] = {
    {"NegativeLogLikelihoodLoss", 12, 99, negative_log_likelihood, loss_table, sizeof(struct loss_settings), MDF_OPERATOR_PURE,
     NULL},
    {"SoftmaxCrossEntropyLoss", 12, 99, softmax_cross_entropy, loss_table, sizeof(struct loss_settings), MDF_OPERATOR_PURE, NULL},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
