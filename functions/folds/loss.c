/* loss.c - NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss.
 *
 * Comes in: scores [n, classes, ...], the right classes [n, ...], a weight for each class or none. Goes out: the losses [n, ...],
 * their sum, or their mean by weight; of the second also the logarithms of the probabilities. What `ignore_index` names as
 * class does not count. Computed in float64. Source: the ONNX operators, all versions. */
#include "functions/elements/element_helpers.h"
#include "functions/elements/exp_sum.h"
#include "functions/folds/short_rows.h"
#include "functions/kernel/routine.h"
#include "functions/kernel/workspace.h"
#include "mdf_c/base/arena.h"
#include "mdf_c/base/text.h"

#include <string.h>

struct loss_settings {
    int64_t ignore_index;
    const char *reduction;
};

static const struct mdf_setting loss_table[] = {{"ignore_index", MDF_SETTING_INT, offsetof(struct loss_settings, ignore_index)},
                                                {"reduction", MDF_SETTING_STRING, offsetof(struct loss_settings, reduction)},
                                                {NULL, MDF_SETTING_INT, 0}};

/* Numbers for loss_routine.inc. */
enum { LOSS_N, LOSS_CLASSES, LOSS_INNER, LOSS_REDUCTION, LOSS_LABEL_BYTES, LOSS_MAY_IGNORE, LOSS_IGNORED, LOSS_NUMBERS };
enum { REDUCE_NONE, REDUCE_SUM, REDUCE_MEAN };
enum { INPUT_SCORES, INPUT_LABELS, INPUT_WEIGHTS, LOSS_INPUTS };
enum { OUTPUT_LOSS, OUTPUT_LOGARITHMS, LOSS_OUTPUTS };

#define ROUTINES "functions/folds/loss_routine.inc"
#include "functions/kernel/routine_reals.inc"

/* Scores, weights and results are of one type, float32 or float64. */
struct loss {
    size_t n, n_classes, inner; /* scores are [n, n_classes, inner] */
    mdf_dtype dtype;
    int64_t whole[LOSS_NUMBERS];
    const void *in[LOSS_INPUTS];
    void *out[LOSS_OUTPUTS];
    double *largest, *logarithms; /* what the scores of each line have to lose, one array behind the other; NULL: they are
                                     logarithms of probabilities already */
};

/* Of a line of adjacent scores: the largest, and the sum of their powers without that. `powers`: room for as many. */
static void measure_line(const struct loss *loss, const void *scores, void *powers, size_t line)
{
    const struct mdf_vector_math *math = mdf_vector_math();
    size_t n = loss->n_classes;

    if (loss->dtype == MDF_DTYPE_FLOAT32) {
        loss->largest[line] = (double)math->largest(n, scores);
        loss->logarithms[line] = math->exp_sum(n, scores, (float)loss->largest[line], powers);
    } else {
        loss->largest[line] = mdf_largest_float64(n, scores);
        loss->logarithms[line] = mdf_exp_sum_float64(n, scores, loss->largest[line], powers);
    }
}

/* `room`: for all lines of one batch, and for the powers of one of them. */
static void find_normalisers(const struct loss *loss, void *room)
{
    size_t size = mdf_dtype_size(loss->dtype), line_bytes = loss->n_classes * size, n_lines = loss->n * loss->inner;
    char *powers = (char *)room + loss->inner * line_bytes;

    for (size_t batch = 0; batch < loss->n; batch++) {
        const char *scores = (const char *)loss->in[INPUT_SCORES] + batch * loss->inner * line_bytes;

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

/* Which label is no class. */
static bool refuse_label(struct mdf_call *call, const struct loss *loss)
{
    const int64_t *labels = loss->in[INPUT_LABELS];
    size_t i = 0;

    while ((loss->whole[LOSS_MAY_IGNORE] && labels[i] == loss->whole[LOSS_IGNORED]) ||
           (labels[i] >= 0 && (size_t)labels[i] < loss->n_classes)) {
        i++;
    }
    return mdf_call_error(call, MDF_VALUE, "element %zu of the labels is %lld, but there are %zu classes", i,
                          (long long)labels[i], loss->n_classes);
}

static bool add_losses(struct mdf_call *call, const struct loss *loss)
{
    mdf_routine_function logarithms = loss->dtype == MDF_DTYPE_FLOAT32 ? mdf_logarithms_float32 : mdf_logarithms_float64;
    mdf_routine_function losses = loss->dtype == MDF_DTYPE_FLOAT32 ? mdf_losses_float32 : mdf_losses_float64;

    if (loss->out[OUTPUT_LOGARITHMS] != NULL) {
        logarithms(loss->out, loss->in, loss->whole, NULL, loss->largest);
    }
    return losses(loss->out, loss->in, loss->whole, NULL, loss->largest) || refuse_label(call, loss);
}

static bool read_reduction(struct mdf_call *call, int64_t *reduction)
{
    static const char *const names[] = {"none", "sum", "mean"};
    const struct loss_settings *settings = call->settings;
    const char *name = settings->reduction != NULL ? settings->reduction : "";
    size_t i = MDF_FIND_WORD(name, names);

    *reduction = (int64_t)i;
    return i != SIZE_MAX || mdf_call_error(call, MDF_VALUE, "reduction is '%s', not none, sum or mean", name);
}

/* What the call's attributes and shapes say. *shape is that of the labels: room for as many as the scores have axes. */
static bool describe_loss(struct mdf_call *call, int64_t *shape, int64_t *whole)
{
    const struct loss_settings *settings = call->settings;
    const struct mdf_value *scores = call->inputs[INPUT_SCORES], *weights = mdf_call_input(call, INPUT_WEIGHTS);
    const int64_t *sizes = mdf_value_shape(scores);
    size_t inner;

    if (scores->rank < 2) {
        return mdf_call_error(call, MDF_SHAPE, "the scores have rank %u, but need axes for the batch and the classes",
                              scores->rank);
    }
    shape[0] = sizes[0];
    memcpy(shape + 1, sizes + 2, (scores->rank - 2) * sizeof *shape);
    if (!read_reduction(call, &whole[LOSS_REDUCTION]) ||
        !mdf_workspace_check_shape(call, "the array of labels", call->inputs[INPUT_LABELS], scores->rank - 1, shape) ||
        (weights != NULL && !mdf_workspace_check_shape(call, "the array of weights", weights, 1, sizes + 1)) ||
        !mdf_workspace_product(call, sizes, 2, scores->rank, &inner)) {
        return false;
    }
    whole[LOSS_N] = sizes[0];
    whole[LOSS_CLASSES] = sizes[1];
    whole[LOSS_INNER] = (int64_t)inner;
    whole[LOSS_LABEL_BYTES] = (int64_t)mdf_dtype_size((mdf_dtype)call->inputs[INPUT_LABELS]->dtype);
    whole[LOSS_MAY_IGNORE] = settings->ignore_index != MDF_NOT_GIVEN;
    whole[LOSS_IGNORED] = settings->ignore_index;
    return true;
}

static bool prepare_loss(struct mdf_workspace *workspace, struct mdf_call *call, struct loss *loss)
{
    const struct mdf_value *scores = mdf_call_tensor(call, INPUT_SCORES), *labels = mdf_call_tensor(call, INPUT_LABELS);
    bool has_weights = mdf_call_input(call, INPUT_WEIGHTS) != NULL;
    int64_t *shape;
    size_t n_labels;

    if (scores == NULL || labels == NULL ||
        !mdf_workspace_begin(workspace, call, mdf_workspace_dtype((mdf_dtype)scores->dtype), 8)) {
        return false;
    }
    shape = mdf_workspace_array(workspace, MDF_DTYPE_INT64, (size_t)scores->rank + 1);
    if (shape == NULL || !describe_loss(call, shape, loss->whole)) {
        return false;
    }
    loss->dtype = workspace->dtype;
    loss->n = (size_t)loss->whole[LOSS_N];
    loss->n_classes = (size_t)loss->whole[LOSS_CLASSES];
    loss->inner = (size_t)loss->whole[LOSS_INNER];
    loss->in[INPUT_SCORES] = mdf_workspace_input(workspace, INPUT_SCORES);
    loss->in[INPUT_LABELS] = mdf_call_integers(call, INPUT_LABELS, 1, &n_labels);
    loss->in[INPUT_WEIGHTS] = has_weights ? mdf_workspace_input(workspace, INPUT_WEIGHTS) : NULL;
    loss->whole[LOSS_LABEL_BYTES] = sizeof(int64_t);
    loss->out[OUTPUT_LOSS] = mdf_workspace_output(workspace, OUTPUT_LOSS, (mdf_dtype)scores->dtype,
                                                  loss->whole[LOSS_REDUCTION] == REDUCE_NONE ? scores->rank - 1u : 0, shape);
    return loss->in[INPUT_SCORES] != NULL && loss->in[INPUT_LABELS] != NULL &&
           (!has_weights || loss->in[INPUT_WEIGHTS] != NULL) && loss->out[OUTPUT_LOSS] != NULL;
}

static bool negative_log_likelihood(struct mdf_call *call)
{
    struct mdf_workspace workspace;
    struct loss loss = {0};

    return prepare_loss(&workspace, call, &loss) && add_losses(call, &loss) && mdf_workspace_end(&workspace);
}

/* Finds out what makes scores logarithms of probabilities. */
static bool normalise_scores(struct mdf_workspace *workspace, struct loss *loss)
{
    void *room;

    if (workspace->call->inputs[INPUT_SCORES]->length == 0) {
        return true;
    }
    room = mdf_workspace_array(workspace, loss->dtype, (loss->inner + 1) * loss->n_classes);
    loss->largest = mdf_workspace_matrix(workspace, MDF_DTYPE_FLOAT64, 2, loss->n * loss->inner);
    if (room == NULL || loss->largest == NULL) {
        return false;
    }
    loss->logarithms = loss->largest + loss->n * loss->inner;
    find_normalisers(loss, room);
    return true;
}

static bool softmax_cross_entropy(struct mdf_call *call)
{
    struct mdf_workspace workspace;
    struct loss loss = {0};

    if (!prepare_loss(&workspace, call, &loss) || !normalise_scores(&workspace, &loss)) {
        return false;
    }
    if (mdf_call_result(call, OUTPUT_LOGARITHMS) != NULL) {
        const struct mdf_value *scores = call->inputs[INPUT_SCORES];

        loss.out[OUTPUT_LOGARITHMS] =
            mdf_workspace_output(&workspace, OUTPUT_LOGARITHMS, (mdf_dtype)scores->dtype, scores->rank, mdf_value_shape(scores));
        if (loss.out[OUTPUT_LOGARITHMS] == NULL) {
            return false;
        }
    }
    return add_losses(call, &loss) && mdf_workspace_end(&workspace);
}

/* As plain C, of some scores. */
static bool plan_losses(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct mdf_value *scores = call->inputs[INPUT_SCORES], *labels = call->inputs[INPUT_LABELS],
                           *weights = mdf_call_input(call, INPUT_WEIGHTS);
    int64_t *shape = mdf_arena_array(plan->arena, (size_t)scores->rank + 1, sizeof *shape);

    plan->dtype = (mdf_dtype)scores->dtype;
    plan->function = "losses";
    return mdf_dtype_is_real(plan->dtype) && scores->length > 0 &&
           (labels->dtype == MDF_DTYPE_INT64 || labels->dtype == MDF_DTYPE_INT32) &&
           (weights == NULL || weights->dtype == scores->dtype) && shape != NULL && mdf_routine_room(plan, LOSS_NUMBERS, 0) &&
           describe_loss(call, shape, plan->whole);
}

static bool plan_softmax_losses(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    if (!plan_losses(call, plan)) {
        return false;
    }
    plan->function = "softmax_losses";
    plan->work_bytes = 2 * call->inputs[INPUT_LABELS]->length * sizeof(double);
    return true;
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
static const char no_class[] = "a label names none of the classes";

#define SCORES "numpy.reshape(x0, [x0.shape[0], x0.shape[1], x0.size // (x0.shape[0] * x0.shape[1])])"

const struct mdf_operator mdf_operators_loss[] = {
    {"NegativeLogLikelihoodLoss", 12, 99, negative_log_likelihood, loss_table, sizeof(struct loss_settings), MDF_OPERATOR_PURE,
     NULL, .meaning = MDF_MEANING("loss", NULL, {"logs", SCORES, NULL}, LOSS_STEPS),
     .routine = MDF_ROUTINE(plan_losses, no_class), .infer = &mdf_rule_loss},
    {"SoftmaxCrossEntropyLoss", 12, 99, softmax_cross_entropy, loss_table, sizeof(struct loss_settings), MDF_OPERATOR_PURE, NULL,
     .meaning = MDF_MEANING("loss logarithms", NULL, {"scores", SCORES, NULL},
                            {"shifted", "scores - numpy.max(scores, 1, keepdims=True)", NULL},
                            {"logs", "shifted - numpy.log(numpy.sum(numpy.exp(shifted), 1, keepdims=True))", NULL}, LOSS_STEPS,
                            {"logarithms", "numpy.reshape(logs, x0.shape)", NULL}),
     .routine = MDF_ROUTINE(plan_softmax_losses, no_class), .infer = &mdf_rule_loss},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
