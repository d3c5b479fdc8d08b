/* loss.c - NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss.
 *
 * Comes in: scores [n, classes, ...], the right classes [n, ...], a weight for each class or none. Goes out: the losses [n, ...],
 * their sum, or their mean by weight; of the second also the logarithms of the probabilities. What `ignore_index` names as
 * class does not count. Computed in float64. Source: the ONNX operators, all versions. */
#include "functions/elements/element_helpers.h"
#include "functions/elements/vector_math.h"
#include "functions/folds/short_rows.h"
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

/* Scores, weights and results are of one type, float32 or float64. */
struct loss {
    size_t n, n_classes, inner; /* scores are [n, n_classes, inner] */
    mdf_dtype dtype;
    const void *scores, *weights; /* weights: NULL, all 1 */
    double *largest,
        *logarithms; /* what the scores of each line have to lose; NULL: they are logarithms of probabilities already */
    const int64_t *labels;
    enum reduction reduction;
};

static double number_at(const struct loss *loss, const void *numbers, size_t i)
{
    return loss->dtype == MDF_DTYPE_FLOAT32 ? (double)((const float *)numbers)[i] : ((const double *)numbers)[i];
}

static void put_number(const struct loss *loss, void *numbers, size_t i, double number)
{
    if (loss->dtype == MDF_DTYPE_FLOAT32) {
        ((float *)numbers)[i] = (float)number;
    } else {
        ((double *)numbers)[i] = number;
    }
}

/* The sum of exp(x - shift), which are left in `powers`. */
static double exp_sum(size_t n, const double *x, double shift, double *powers)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        powers[i] = x[i] - shift;
    }
    mdf_vector_math()->loops[MDF_VECTORS_exponential_FLOAT64](powers, (const void *[]){powers}, (const size_t[]){1}, n, NULL);
    for (size_t i = 0; i < n; i++) {
        sum += powers[i];
    }
    return sum;
}

static double largest_of(size_t n, const double *x)
{
    double largest = -INFINITY;

    for (size_t i = 0; i < n; i++) {
        largest = x[i] > largest ? x[i] : largest;
    }
    return largest;
}

/* Of a line of adjacent scores: the largest, and the sum of their powers without that. `powers`: room for as many. */
static void measure_line(const struct loss *loss, const void *scores, void *powers, size_t line)
{
    const struct mdf_vector_math *math = mdf_vector_math();
    size_t n = loss->n_classes;

    if (loss->dtype == MDF_DTYPE_FLOAT32) {
        loss->largest[line] = (double)math->largest(n, scores);
        loss->logarithms[line] = math->exp_sum(n, scores, (float)loss->largest[line], powers);
    } else {
        loss->largest[line] = largest_of(n, scores);
        loss->logarithms[line] = exp_sum(n, scores, loss->largest[line], powers);
    }
}

/* Place of a line's first score. */
static size_t start_of(const struct loss *loss, size_t line)
{
    return line / loss->inner * loss->n_classes * loss->inner + line % loss->inner;
}

/* `room`: for all lines of one batch, and for the powers of one of them. */
static void find_normalisers(const struct loss *loss, void *room)
{
    size_t size = mdf_dtype_size(loss->dtype), line_bytes = loss->n_classes * size, n_lines = loss->n * loss->inner;
    char *powers = (char *)room + loss->inner * line_bytes;

    for (size_t batch = 0; batch < loss->n; batch++) {
        const char *scores = (const char *)loss->scores + batch * loss->inner * line_bytes;

        if (loss->inner > 1) {
            mdf_turn_rows(size, room, scores, loss->n_classes, loss->inner);
            scores = room;
        }
        for (size_t i = 0; i < loss->inner; i++) {
            measure_line(loss, scores + i * line_bytes, powers, batch * loss->inner + i);
        }
    }
    mdf_vector_math()->loops[MDF_VECTORS_logarithm_FLOAT64](loss->logarithms, (const void *[]){loss->logarithms},
                                                            (const size_t[]){1}, n_lines, NULL);
}

/* The logarithm of the probability of score number `i`, which is on that line. */
static double logarithm_at(const struct loss *loss, size_t line, size_t i)
{
    double score = number_at(loss, loss->scores, i);

    return loss->largest == NULL ? score : score - loss->largest[line] - loss->logarithms[line];
}

static void write_logarithms(const struct loss *loss, void *target)
{
    for (size_t line = 0; line < loss->n * loss->inner; line++) {
        for (size_t i = 0; i < loss->n_classes; i++) {
            size_t at = start_of(loss, line) + i * loss->inner;

            put_number(loss, target, at, logarithm_at(loss, line, at));
        }
    }
}

/* The losses; `target` has room for one, or for each where they are not reduced. */
static bool add_losses(struct mdf_call *call, const struct loss *loss, void *target)
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
            weight = loss->weights != NULL ? number_at(loss, loss->weights, (size_t)label) : 1;
            one = -weight * logarithm_at(loss, line, start_of(loss, line) + (size_t)label * loss->inner);
            sum += one;
            total_weight += weight;
        }
        if (loss->reduction == REDUCE_NONE) {
            put_number(loss, target, line, one);
        }
    }
    if (loss->reduction != REDUCE_NONE) {
        put_number(loss, target, 0, loss->reduction == REDUCE_MEAN ? sum / total_weight : sum);
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
        !mdf_workspace_begin(workspace, call, mdf_workspace_dtype((mdf_dtype)scores->dtype), 8)) {
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
    loss->dtype = workspace->dtype;
    loss->labels = mdf_call_integers(call, 1, 1, &n_labels);
    loss->scores = mdf_workspace_input(workspace, 0);
    loss->weights = weights != NULL ? mdf_workspace_input(workspace, 2) : NULL;
    loss->n = (size_t)wanted[0];
    loss->n_classes = (size_t)mdf_value_shape(scores)[1];
    *shape = wanted;
    return loss->labels != NULL && loss->scores != NULL && (weights == NULL || loss->weights != NULL) &&
           mdf_workspace_product(call, wanted, 1, scores->rank - 1, &loss->inner);
}

static bool finish_loss(struct mdf_workspace *workspace, const struct loss *loss, const int64_t *shape)
{
    const struct mdf_value *scores = workspace->call->inputs[0];
    size_t rank = loss->reduction == REDUCE_NONE ? scores->rank - 1 : 0;
    void *target = mdf_workspace_output(workspace, 0, (mdf_dtype)scores->dtype, rank, shape);

    return target != NULL && add_losses(workspace->call, loss, target) && mdf_workspace_end(workspace);
}

static bool negative_log_likelihood(struct mdf_call *call)
{
    struct mdf_workspace workspace;
    struct loss loss = {0};
    const int64_t *shape = NULL;

    return prepare_loss(&workspace, call, &loss, &shape) && finish_loss(&workspace, &loss, shape);
}

/* Finds out what makes scores logarithms of probabilities. */
static bool normalise_scores(struct mdf_workspace *workspace, struct loss *loss)
{
    void *room;

    if (workspace->call->inputs[0]->length == 0) {
        return true;
    }
    room = mdf_workspace_array(workspace, loss->dtype, (loss->inner + 1) * loss->n_classes);
    loss->largest = mdf_workspace_array(workspace, MDF_DTYPE_FLOAT64, loss->n * loss->inner);
    loss->logarithms = mdf_workspace_array(workspace, MDF_DTYPE_FLOAT64, loss->n * loss->inner);
    if (room == NULL || loss->largest == NULL || loss->logarithms == NULL) {
        return false;
    }
    find_normalisers(loss, room);
    return true;
}

static bool softmax_cross_entropy(struct mdf_call *call)
{
    struct mdf_workspace workspace;
    struct loss loss = {0};
    const int64_t *shape = NULL;
    void *logarithms = NULL;

    if (!prepare_loss(&workspace, call, &loss, &shape) || !normalise_scores(&workspace, &loss)) {
        return false;
    }
    if (mdf_call_result(call, 1) != NULL) {
        logarithms = mdf_workspace_output(&workspace, 1, (mdf_dtype)call->inputs[0]->dtype, call->inputs[0]->rank,
                                          mdf_value_shape(call->inputs[0]));
        if (logarithms == NULL) {
            return false;
        }
        write_logarithms(&loss, logarithms);
    }
    return finish_loss(&workspace, &loss, shape);
}

/* The losses of `logs`, logarithms of probabilities [n, classes, inner]. */
#define LOSS_STEPS                                                                                                      \
    {"labels", "numpy.reshape(x1, [x0.shape[0], 1, x0.size // (x0.shape[0] * x0.shape[1])])", NULL},                    \
        {"is_label", "numpy.reshape(numpy.arange(x0.shape[1]), [x0.shape[1], 1]) == labels", NULL},                     \
        {"counts", "is_label if ignore_index is None else is_label & (labels != ignore_index)", NULL},                  \
        {"shares", "counts * 1.0 if x2 is None else counts * numpy.reshape(x2, [x0.shape[1], 1])", NULL},               \
        {"losses", "-numpy.sum(numpy.where(counts, logs, 0.0) * shares, 1)", NULL},                                     \
    {                                                                                                                   \
        "loss",                                                                                                         \
            "numpy.reshape(losses, x1.shape) if reduction == 'none' else numpy.sum(losses) if reduction == 'sum' else " \
            "numpy.sum(losses) / numpy.sum(shares)",                                                                    \
            NULL                                                                                                        \
    }
#define SCORES "numpy.reshape(x0, [x0.shape[0], x0.shape[1], x0.size // (x0.shape[0] * x0.shape[1])])"

const struct mdf_operator mdf_operators_loss[] = {
    {"NegativeLogLikelihoodLoss", 12, 99, negative_log_likelihood, loss_table, sizeof(struct loss_settings), MDF_OPERATOR_PURE,
     NULL, .meaning = MDF_MEANING("loss", NULL, {"logs", SCORES, NULL}, LOSS_STEPS)},
    {"SoftmaxCrossEntropyLoss", 12, 99, softmax_cross_entropy, loss_table, sizeof(struct loss_settings), MDF_OPERATOR_PURE, NULL,
     .meaning = MDF_MEANING("loss logarithms", NULL, {"scores", SCORES, NULL},
                            {"shifted", "scores - numpy.max(scores, 1, keepdims=True)", NULL},
                            {"logs", "shifted - numpy.log(numpy.sum(numpy.exp(shifted), 1, keepdims=True))", NULL}, LOSS_STEPS,
                            {"logarithms", "numpy.reshape(logs, x0.shape)", NULL})},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
