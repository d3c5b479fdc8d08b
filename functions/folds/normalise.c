/* normalise.c - arrays brought to mean 0 and variance 1: BatchNormalization, InstanceNormalization, GroupNormalization,
 * LayerNormalization, RMSNormalization.
 *
 * Comes in: an array, scale and bias (the first also mean and variance). Goes out: (x - mean) / sqrt(variance + epsilon) * scale
 * + bias, the statistics being those of a channel, plane, group of channels or the last axes. Variances are of the population.
 * Source: the ONNX operators, all versions. */
#include "functions/elements/vectors/vector_rows.h"
#include "functions/folds/short_rows.h"
#include "functions/kernel/routine.h"
#include "functions/kernel/workspace.h"

#include <math.h>
#include <string.h>

struct normalise_settings {
    double epsilon, momentum;
    int64_t training_mode, is_test, spatial; /* of BatchNormalization: from 14, up to 6, up to 8 */
    int64_t axis, num_groups, stash_type;
};

static const struct mdf_setting batch_table[] = {
    {"epsilon", MDF_SETTING_FLOAT, offsetof(struct normalise_settings, epsilon)},
    {"momentum", MDF_SETTING_FLOAT, offsetof(struct normalise_settings, momentum)},
    {"training_mode", MDF_SETTING_INT, offsetof(struct normalise_settings, training_mode)},
    {"is_test", MDF_SETTING_INT, offsetof(struct normalise_settings, is_test)},
    {"spatial", MDF_SETTING_INT, offsetof(struct normalise_settings, spatial)},
    {NULL, MDF_SETTING_INT, 0}};
static const struct mdf_setting instance_table[] = {{"epsilon", MDF_SETTING_FLOAT, offsetof(struct normalise_settings, epsilon)},
                                                    {NULL, MDF_SETTING_INT, 0}};
static const struct mdf_setting group_table[] = {{"epsilon", MDF_SETTING_FLOAT, offsetof(struct normalise_settings, epsilon)},
                                                 {"num_groups", MDF_SETTING_INT, offsetof(struct normalise_settings, num_groups)},
                                                 {NULL, MDF_SETTING_INT, 0}};
static const struct mdf_setting layer_table[] = {{"epsilon", MDF_SETTING_FLOAT, offsetof(struct normalise_settings, epsilon)},
                                                 {"axis", MDF_SETTING_INT, offsetof(struct normalise_settings, axis)},
                                                 {"stash_type", MDF_SETTING_INT, offsetof(struct normalise_settings, stash_type)},
                                                 {NULL, MDF_SETTING_INT, 0}};

/* Lines of `n` elements, each with statistics of its own. Part p of line l (parts have `span` elements) is scaled by element
 * l % scale_period * scale_step + p. */
struct lines {
    const void *x, *scale, *bias; /* bias: may be NULL */
    void *y, *means, *inverses;   /* means, inverses: NULL, not wanted */
    size_t n, span, scale_period, scale_step;
    double epsilon;
    bool is_centred; /* the mean is subtracted */
};

/* [n, n_channels, inner]. */
struct batch {
    const void *x, *scale, *bias, *mean, *variance;
    void *y, *own_mean, *own_variance; /* own: measured when training */
    void *factors;                     /* of each channel */
    size_t n, n_channels, inner;
    double epsilon;
};

#define ELEMENT float
#define TYPE MDF_DTYPE_FLOAT32
#define NAME(x) x##_float32
#include "functions/folds/normalise_lines.inc"
#define ELEMENT double
#define TYPE MDF_DTYPE_FLOAT64
#define NAME(x) x##_float64
#include "functions/folds/normalise_lines.inc"

enum { FEWEST_SHORT_LINES = 8 /* that are worth to be turned */ };

/* Rough time of one element, to judge what is worth a thread. */
static const double element_ns = 0.2;

/* ------------------------------------------------------------------ statistics of channels */

/* Sizes, and the shape that scale, bias, mean and variance must have: [channels], or all axes but the first where the
 * statistics are of each feature by itself. */
static bool plan_batch(struct mdf_call *call, bool is_spatial, struct batch *job)
{
    static const char *const names[] = {"X", "scale", "B", "the mean", "the variance"};
    const struct mdf_value *x = mdf_call_tensor(call, 0);
    const int64_t one = 1, *shape;
    size_t rank;

    if (x == NULL) {
        return false;
    }
    if (x->rank == 0) {
        return mdf_call_error(call, MDF_SHAPE, "X is a scalar, but needs a batch axis");
    }
    rank = is_spatial || x->rank == 1 ? 1 : x->rank - 1;
    shape = x->rank == 1 ? &one : mdf_value_shape(x) + 1;
    job->n = (size_t)mdf_value_shape(x)[0];
    if (!mdf_workspace_product(call, shape, 0, rank, &job->n_channels) ||
        !mdf_workspace_product(call, mdf_value_shape(x), rank + 1, x->rank, &job->inner)) {
        return false;
    }
    for (size_t i = 1; i < 5; i++) {
        if (mdf_call_tensor(call, i) == NULL || !mdf_workspace_check_shape(call, names[i], call->inputs[i], rank, shape)) {
            return false;
        }
    }
    return true;
}

/* The statistics of this batch, mixed into the running ones; and both for those who read them. */
static bool train(struct mdf_workspace *workspace, struct batch *job)
{
    const struct normalise_settings *settings = workspace->call->settings;
    bool is_float32 = workspace->dtype == MDF_DTYPE_FLOAT32;
    const void *running[2] = {job->mean, job->variance};
    const void *own[2];

    own[0] = job->mean = job->own_mean = mdf_workspace_array(workspace, workspace->dtype, job->n_channels);
    own[1] = job->variance = job->own_variance = mdf_workspace_array(workspace, workspace->dtype, job->n_channels);
    if (job->mean == NULL || job->variance == NULL) {
        return false;
    }
    mdf_parallel_for(workspace->call->context, job->n_channels, 2 * element_ns * (double)job->n * (double)job->inner,
                     is_float32 ? measure_channels_float32 : measure_channels_float64, job);
    for (size_t output = 1; output < 5; output++) {
        size_t which = (output - 1) % 2;
        const struct mdf_value *input = workspace->call->inputs[3 + which];
        void *target;

        if (mdf_call_result(workspace->call, output) == NULL) {
            continue;
        }
        target = mdf_workspace_output(workspace, output, (mdf_dtype)input->dtype, input->rank, mdf_value_shape(input));
        if (target == NULL) {
            return false;
        }
        (is_float32 ? mix_float32 : mix_float64)(running[which], own[which], job->n_channels, output < 3 ? settings->momentum : 0,
                                                 target);
    }
    return true;
}

static bool normalise_batch(struct mdf_call *call, bool is_training, bool is_spatial)
{
    const struct normalise_settings *settings = call->settings;
    struct batch job = {.epsilon = settings->epsilon};
    struct mdf_workspace workspace;
    const void *inputs[5];
    const struct mdf_value *x;

    if (!plan_batch(call, is_spatial, &job)) {
        return false;
    }
    x = call->inputs[0];
    if (!mdf_workspace_begin(&workspace, call, mdf_workspace_dtype((mdf_dtype)x->dtype), 13)) {
        return false;
    }
    for (size_t i = 0; i < 5; i++) {
        inputs[i] = mdf_workspace_input(&workspace, i);
        if (inputs[i] == NULL) {
            return false;
        }
    }
    job.x = inputs[0];
    job.scale = inputs[1];
    job.bias = inputs[2];
    job.y = mdf_workspace_output(&workspace, 0, (mdf_dtype)x->dtype, x->rank, mdf_value_shape(x));
    if (job.y == NULL) {
        return false;
    }
    job.mean = inputs[3];
    job.variance = inputs[4];
    if (is_training && !train(&workspace, &job)) {
        return false;
    }
    job.factors = mdf_workspace_array(&workspace, workspace.dtype, job.n_channels);
    if (job.factors == NULL) {
        return false;
    }
    if (x->length > 0) {
        (workspace.dtype == MDF_DTYPE_FLOAT32 ? find_factors_float32 : find_factors_float64)(&job);
        mdf_parallel_for(call->context, job.n * job.n_channels, element_ns * (double)job.inner,
                         workspace.dtype == MDF_DTYPE_FLOAT32 ? scale_planes_float32 : scale_planes_float64, &job);
    }
    return mdf_workspace_end(&workspace);
}

static bool batch_normalization_1(struct mdf_call *call)
{
    const struct normalise_settings *settings = call->settings;

    return normalise_batch(call, settings->is_test == 0, settings->spatial != 0);
}

/* Training is asked for by reading the statistics. */
static bool batch_normalization_7(struct mdf_call *call)
{
    const struct normalise_settings *settings = call->settings;
    bool is_training = false;

    for (size_t i = 1; i < 5; i++) {
        is_training = is_training || mdf_call_result(call, i) != NULL;
    }
    return normalise_batch(call, is_training, settings->spatial != 0);
}

static bool batch_normalization_14(struct mdf_call *call)
{
    const struct normalise_settings *settings = call->settings;

    return normalise_batch(call, settings->training_mode != 0, true);
}

/* ------------------------------------------------------------------ statistics of lines */

static bool run_lines(struct mdf_workspace *workspace, struct lines *job, size_t n_lines)
{
    bool is_float32 = workspace->dtype == MDF_DTYPE_FLOAT32, has_one_scale = job->span == 1 && job->scale_period == 1;
    bool is_short = has_one_scale && job->n > 0 && job->n <= MDF_SHORT_ROW && n_lines >= FEWEST_SHORT_LINES;

    /* The statistics of a line of nothing are results too: 0 / 0. */
    if (job->n > 0 || job->means != NULL || job->inverses != NULL) {
        mdf_parallel_for(workspace->call->context, n_lines, 3 * element_ns * (double)job->n,
                         is_short     ? (is_float32 ? normalise_short_lines_float32 : normalise_short_lines_float64)
                         : is_float32 ? normalise_lines_float32
                                      : normalise_lines_float64,
                         job);
    }
    return mdf_workspace_end(workspace);
}

/* InstanceNormalization and GroupNormalization: lines are `n_groups` groups of channels of each batch (0: each channel one). */
/* Groups of channels, of which *n_groups as 0 means each channel by itself: what the lines are. False with the error set. */
static bool plan_groups(struct mdf_call *call, int64_t n_groups, bool scale_by_group, struct lines *job)
{
    const struct mdf_value *x = call->inputs[0];
    int64_t n_channels;
    size_t inner;

    if (x->rank < 2) {
        return mdf_call_error(call, MDF_SHAPE, "the input has rank %u, but needs a batch and a channel axis", x->rank);
    }
    n_channels = mdf_value_shape(x)[1];
    n_groups = n_groups == 0 ? n_channels : n_groups;
    if (n_channels > 0 && (n_groups < 1 || n_channels % n_groups != 0)) {
        return mdf_call_error(call, MDF_VALUE, "num_groups is %lld; it has to divide the %lld channels", (long long)n_groups,
                              (long long)n_channels);
    }
    if (!mdf_workspace_check_shape(call, "scale", call->inputs[1], 1, scale_by_group ? &n_groups : &n_channels) ||
        !mdf_workspace_check_shape(call, "bias", call->inputs[2], 1, scale_by_group ? &n_groups : &n_channels) ||
        !mdf_workspace_product(call, mdf_value_shape(x), 2, x->rank, &inner)) {
        return false;
    }
    if (x->length > 0) {
        job->scale_period = (size_t)n_groups;
        job->scale_step = scale_by_group ? 1 : (size_t)(n_channels / n_groups);
        job->n = (size_t)(n_channels / n_groups) * inner;
        job->span = scale_by_group ? job->n : inner;
    }
    return true;
}

static bool normalise_groups(struct mdf_call *call, int64_t n_groups, bool scale_by_group)
{
    const struct normalise_settings *settings = call->settings;
    const struct mdf_value *x = mdf_call_tensor(call, 0);
    struct lines job = {.epsilon = settings->epsilon, .is_centred = true};
    struct mdf_workspace workspace;

    if (x == NULL || mdf_call_tensor(call, 1) == NULL || mdf_call_tensor(call, 2) == NULL ||
        !mdf_workspace_begin(&workspace, call, mdf_workspace_dtype((mdf_dtype)x->dtype), 4) ||
        !plan_groups(call, n_groups, scale_by_group, &job)) {
        return false;
    }
    job.x = mdf_workspace_input(&workspace, 0);
    job.scale = mdf_workspace_input(&workspace, 1);
    job.bias = mdf_workspace_input(&workspace, 2);
    job.y = mdf_workspace_output(&workspace, 0, (mdf_dtype)x->dtype, x->rank, mdf_value_shape(x));
    if (job.x == NULL || job.scale == NULL || job.bias == NULL || job.y == NULL) {
        return false;
    }
    return x->length == 0 || run_lines(&workspace, &job, x->length / job.n);
}

static bool instance_normalization(struct mdf_call *call)
{
    return normalise_groups(call, 0, false);
}

/* How many groups a call names: none is -1, not 0. */
static int64_t groups_of(const struct mdf_call *call)
{
    const struct normalise_settings *settings = call->settings;

    return settings->num_groups == 0 ? -1 : settings->num_groups;
}

static bool group_normalization_18(struct mdf_call *call)
{
    return normalise_groups(call, groups_of(call), true);
}

static bool group_normalization_21(struct mdf_call *call)
{
    return normalise_groups(call, groups_of(call), false);
}

/* Lines as plain C: rescale_routine.inc. */
static bool describe_lines(struct mdf_routine_plan *plan, const struct mdf_value *x, const struct lines *job)
{
    if (!mdf_routine_room(plan, 5, 1)) {
        return false;
    }
    plan->function = "normalise_lines";
    plan->whole[0] = (int64_t)(x->length / job->n);
    plan->whole[1] = (int64_t)job->n;
    plan->whole[2] = (int64_t)job->span;
    plan->whole[3] = (int64_t)job->scale_period;
    plan->whole[4] = (int64_t)job->scale_step;
    plan->real[0] = job->epsilon;
    return true;
}

static bool plan_group_lines(struct mdf_call *call, bool scale_by_group, struct mdf_routine_plan *plan)
{
    const struct normalise_settings *settings = call->settings;
    const struct mdf_value *x = call->inputs[0];
    struct lines job = {.epsilon = settings->epsilon};

    plan->dtype = (mdf_dtype)x->dtype;
    if (!mdf_dtype_is_real(plan->dtype) || x->length == 0 || call->inputs[1]->dtype != x->dtype ||
        call->inputs[2]->dtype != x->dtype || !plan_groups(call, groups_of(call), scale_by_group, &job)) {
        return false;
    }
    return describe_lines(plan, x, &job);
}

static bool plan_groups_18(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_group_lines(call, true, plan);
}

static bool plan_groups_21(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_group_lines(call, false, plan);
}

/* Whether the last axes of `value` are those of `x` from `axis` on, and it has no more than those. */
static bool fits_line(const struct mdf_value *x, size_t axis, const struct mdf_value *value)
{
    size_t n = x->rank - axis;

    for (size_t i = 0; i < n && value->rank == n; i++) {
        if (mdf_value_shape(value)[i] != mdf_value_shape(x)[axis + i]) {
            return false;
        }
    }
    return value->rank == n;
}

/* Elements of input `i`, repeated to the shape of `x`: by a copy, since scales that do not simply fit a line are rare. */
static const void *repeat_input(struct mdf_workspace *workspace, size_t i, const struct mdf_value *x)
{
    const struct mdf_value *value = workspace->call->inputs[i];
    const int64_t *shape = mdf_value_shape(x), *own = mdf_value_shape(value);
    size_t skipped = x->rank - value->rank, size_bytes = mdf_dtype_size(workspace->dtype);
    const char *from = mdf_workspace_input(workspace, i);
    char *to = mdf_workspace_array(workspace, workspace->dtype, x->length);

    if (from == NULL || to == NULL) {
        return NULL;
    }
    for (size_t element = 0; element < x->length; element++) {
        size_t left = element, offset = 0, stride = 1;

        for (size_t axis = x->rank; axis-- > skipped;) {
            size_t index = left % (size_t)shape[axis];

            left /= (size_t)shape[axis];
            offset += own[axis - skipped] == 1 ? 0 : index * stride;
            stride *= (size_t)own[axis - skipped];
        }
        memcpy(to + element * size_bytes, from + offset * size_bytes, size_bytes);
    }
    return to;
}

/* Whether input `i` broadcasts to the shape of `x`. */
static bool check_broadcast(struct mdf_call *call, size_t i, const struct mdf_value *x)
{
    const struct mdf_value *value = mdf_call_tensor(call, i);
    bool fits = value != NULL && value->rank <= x->rank;
    char text[128], x_text[128];

    for (size_t axis = 0; fits && axis < value->rank; axis++) {
        int64_t size = mdf_value_shape(value)[axis];

        fits = size == 1 || size == mdf_value_shape(x)[x->rank - value->rank + axis];
    }
    if (value != NULL && !fits) {
        mdf_value_describe(value, text, sizeof text);
        mdf_value_describe(x, x_text, sizeof x_text);
        return mdf_call_error(call, MDF_SHAPE, "input %zu, %s, does not broadcast to %s", i + 1, text, x_text);
    }
    return fits;
}

/* Reads scale and bias, each as one line or, where one of them is not, both for all lines. */
static bool read_scales(struct mdf_workspace *workspace, size_t axis, struct lines *job)
{
    struct mdf_call *call = workspace->call;
    const struct mdf_value *x = call->inputs[0], *bias = job->is_centred ? mdf_call_input(call, 2) : NULL;
    bool is_line;

    if (!check_broadcast(call, 1, x) || (bias != NULL && !check_broadcast(call, 2, x))) {
        return false;
    }
    is_line = fits_line(x, axis, call->inputs[1]) && (bias == NULL || fits_line(x, axis, bias));
    job->scale = is_line ? mdf_workspace_input(workspace, 1) : repeat_input(workspace, 1, x);
    if (bias != NULL) {
        job->bias = is_line ? mdf_workspace_input(workspace, 2) : repeat_input(workspace, 2, x);
    }
    job->scale_period = is_line || job->n == 0 ? 1 : x->length / job->n;
    job->scale_period = job->scale_period > 0 ? job->scale_period : 1;
    job->scale_step = job->n;
    return job->scale != NULL && (bias == NULL || job->bias != NULL);
}

/* Makes the outputs; statistics have size 1 on the axes that they are taken over. */
static bool make_outputs(struct mdf_workspace *workspace, size_t axis, mdf_dtype dtype, struct lines *job)
{
    const struct normalise_settings *settings = workspace->call->settings;
    const struct mdf_value *x = workspace->call->inputs[0];
    mdf_dtype stash = mdf_dtype_from_onnx(settings->stash_type);
    int64_t *shape = mdf_workspace_array(workspace, MDF_DTYPE_INT64, x->rank);
    void **statistics[2] = {&job->means, &job->inverses};

    if (shape == NULL) {
        return false;
    }
    for (size_t i = 0; i < x->rank; i++) {
        shape[i] = i < axis ? mdf_value_shape(x)[i] : 1;
    }
    job->y = mdf_workspace_output(workspace, 0, dtype, x->rank, mdf_value_shape(x));
    for (size_t i = 0; i < 2 && job->y != NULL; i++) {
        if (mdf_call_result(workspace->call, i + 1) != NULL) {
            *statistics[i] =
                mdf_workspace_output(workspace, i + 1, stash == MDF_DTYPE_BFLOAT16 ? stash : MDF_DTYPE_FLOAT32, x->rank, shape);
            if (*statistics[i] == NULL) {
                return false;
            }
        }
    }
    return job->y != NULL;
}

static bool normalise_layer(struct mdf_call *call, bool is_centred)
{
    const struct normalise_settings *settings = call->settings;
    const struct mdf_value *x = mdf_call_tensor(call, 0), *scale = mdf_call_tensor(call, 1);
    struct lines job = {.epsilon = settings->epsilon, .is_centred = is_centred, .span = 1};
    struct mdf_workspace workspace;
    size_t axis, n_lines;

    if (x == NULL || scale == NULL || !mdf_call_axis(call, settings->axis, x->rank, &axis) ||
        !mdf_workspace_product(call, mdf_value_shape(x), axis, x->rank, &job.n) ||
        !mdf_workspace_product(call, mdf_value_shape(x), 0, axis, &n_lines) ||
        !mdf_workspace_begin(&workspace, call, mdf_workspace_dtype((mdf_dtype)x->dtype), 9)) {
        return false;
    }
    job.x = mdf_workspace_input(&workspace, 0);
    return job.x != NULL && read_scales(&workspace, axis, &job) &&
           make_outputs(&workspace, axis, (mdf_dtype)(is_centred ? x : scale)->dtype, &job) &&
           run_lines(&workspace, &job, n_lines);
}

static bool layer_normalization(struct mdf_call *call)
{
    return normalise_layer(call, true);
}

static bool rms_normalization(struct mdf_call *call)
{
    return normalise_layer(call, false);
}

/* As plain C, where the statistics are results too: lines that scale and bias fit. */
static bool plan_layer(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct normalise_settings *settings = call->settings;
    const struct mdf_value *x = call->inputs[0], *scale = call->inputs[1], *bias = mdf_call_input(call, 2);
    size_t axis, n;

    plan->dtype = (mdf_dtype)x->dtype;
    if (!mdf_dtype_is_real(plan->dtype) || x->length == 0 || scale->dtype != x->dtype ||
        (bias != NULL && bias->dtype != x->dtype) || !mdf_call_axis(call, settings->axis, x->rank, &axis) ||
        !fits_line(x, axis, scale) || (bias != NULL && !fits_line(x, axis, bias)) ||
        mdf_dtype_from_onnx(settings->stash_type) == MDF_DTYPE_BFLOAT16 ||
        !mdf_workspace_product(call, mdf_value_shape(x), axis, x->rank, &n)) {
        return false;
    }
    return describe_lines(plan, x,
                          &(struct lines){.n = n, .span = 1, .scale_period = 1, .scale_step = n, .epsilon = settings->epsilon});
}

/* Of x0, normalised along axes from `first` on: means, distances from them, what these are multiplied by; the rule for x0, whose
 * result is multiplied by `scale`. */
#define MEAN(first, what) "numpy.mean(" what ", axis=gradient.axes_from(x0, " first "), keepdims=True)"
#define DISTANCE(first) "(x0 - " MEAN(first, "x0") ")"
#define FACTOR(first, what) "(1 / numpy.sqrt(" MEAN(first, what " ** 2") " + epsilon))"
#define NORMAL(first) DISTANCE(first) " * " FACTOR(first, DISTANCE(first))
#define BY_NORMAL(first, scale)    \
    FACTOR(first, DISTANCE(first)) \
    " * (dy * " scale              \
    " - " MEAN(first, "dy * " scale) " - " NORMAL(first) " * " MEAN(first, "dy * " scale " * " NORMAL(first)) ")"
/* Numbers of channels, which are axis 1. */
#define OF_CHANNELS(what) "numpy.reshape(" what ", [-1] + [1] * (x0.ndim - 2))"
#define SUM_OF_CHANNELS(what, like) "numpy.reshape(gradient.sum_to(" what ", " OF_CHANNELS(like) "), " like ".shape)"

/* By means and variances that are given, one a channel, or one an element of a member of the batch. */
#define BY_GIVEN(shape)                                                                                     \
    MDF_MEANING("result", NULL, {"like", shape, NULL},                                                      \
                {"scale", "numpy.reshape(x1, like) / numpy.sqrt(numpy.reshape(x4, like) + epsilon)", NULL}, \
                {"result", "(x0 - numpy.reshape(x3, like)) * scale + numpy.reshape(x2, like)", NULL})
#define A_CHANNEL "[-1] + [1] * (x0.ndim - 2)"
#define GROUPS(scales)                                                                                                           \
    MDF_MEANING(                                                                                                                 \
        "result", NULL, {"grouped", "numpy.reshape(x0, [x0.shape[0], num_groups, x0.size // x0.shape[0] // num_groups])", NULL}, \
        {"apart", "grouped - numpy.mean(grouped, 2, keepdims=True)", NULL},                                                      \
        {"normal", "apart / numpy.sqrt(numpy.mean(apart * apart, 2, keepdims=True) + epsilon)", NULL}, {"result", scales, NULL})
/* Of training, mean and variance are those of the batch, which go into the running ones. */
#define TRAINED                                                                                                               \
    MDF_MEANING("result mean variance", NULL, {"like", A_CHANNEL, NULL},                                                      \
                {"rows", "numpy.reshape(numpy.moveaxis(x0, 1, 0), [x0.shape[1], x0.size // x0.shape[1]])", NULL},             \
                {"own_mean", "numpy.mean(rows, 1)", NULL}, {"own_variance", "numpy.var(rows, 1)", NULL},                      \
                {"m", "numpy.reshape(own_mean if training_mode else x3, like)", NULL},                                        \
                {"v", "numpy.reshape(own_variance if training_mode else x4, like)", NULL},                                    \
                {"result", "(x0 - m) * (numpy.reshape(x1, like) / numpy.sqrt(v + epsilon)) + numpy.reshape(x2, like)", NULL}, \
                {"mean", "x3 * momentum + own_mean * (1 - momentum)", NULL},                                                  \
                {"variance", "x4 * momentum + own_variance * (1 - momentum)", NULL})

const struct mdf_operator mdf_operators_normalise[] = {
    {"BatchNormalization", 1, 6, batch_normalization_1, batch_table, sizeof(struct normalise_settings), MDF_OPERATOR_PURE, NULL,
     .meaning = BY_GIVEN("x1.shape if spatial == 0 else " A_CHANNEL), .form = MDF_FORM_BATCH_NORM, .infer = &mdf_rule_batch_norm},
    {"BatchNormalization", 7, 13, batch_normalization_7, batch_table, sizeof(struct normalise_settings), MDF_OPERATOR_PURE, NULL,
     .meaning = BY_GIVEN("x1.shape if spatial == 0 else " A_CHANNEL), .form = MDF_FORM_BATCH_NORM, .infer = &mdf_rule_batch_norm},
    {"BatchNormalization", 14, 99, batch_normalization_14, batch_table, sizeof(struct normalise_settings), MDF_OPERATOR_PURE,
     NULL, .meaning = TRAINED, .form = MDF_FORM_BATCH_NORM, .infer = &mdf_rule_batch_norm},
    {"InstanceNormalization", 1, 99, instance_normalization, instance_table, sizeof(struct normalise_settings), MDF_OPERATOR_PURE,
     NULL,
     .derivatives = MDF_DERIVATIVES({0, BY_NORMAL("2", OF_CHANNELS("x1"))}, {1, SUM_OF_CHANNELS("dy * " NORMAL("2"), "x1")},
                                    {2, SUM_OF_CHANNELS("dy", "x2")}),
     .form = MDF_FORM_INSTANCE_NORM, .infer = &mdf_rule_same},
    {"GroupNormalization", 18, 20, group_normalization_18, group_table, sizeof(struct normalise_settings), MDF_OPERATOR_PURE,
     NULL, .meaning = GROUPS("numpy.reshape(normal * numpy.reshape(x1, [-1, 1]) + numpy.reshape(x2, [-1, 1]), x0.shape)"),
     .infer = &mdf_rule_same, .routine = MDF_ROUTINE(plan_groups_18, NULL)},
    {"GroupNormalization", 21, 99, group_normalization_21, group_table, sizeof(struct normalise_settings), MDF_OPERATOR_PURE,
     NULL, .meaning = GROUPS("numpy.reshape(normal, x0.shape) * " OF_CHANNELS("x1") " + " OF_CHANNELS("x2")),
     .infer = &mdf_rule_same, .routine = MDF_ROUTINE(plan_groups_21, NULL)},
    {"LayerNormalization", 17, 99, layer_normalization, layer_table, sizeof(struct normalise_settings), MDF_OPERATOR_NEEDS_AXIS,
     NULL, .derivatives = MDF_DERIVATIVES({0, BY_NORMAL("axis", "x1")}, {1, "dy * " NORMAL("axis")}, {2, "dy"}),
     .form = MDF_FORM_LAYER_NORM, .routine = MDF_ROUTINE(plan_layer, NULL), .infer = &mdf_rule_layer_norm},
    {"RMSNormalization", 23, 99, rms_normalization, layer_table, sizeof(struct normalise_settings), MDF_OPERATOR_NEEDS_AXIS, NULL,
     .derivatives = MDF_DERIVATIVES(
         {0, FACTOR("axis", "x0") " * (dy * x1 - x0 * " FACTOR("axis", "x0") " ** 2 * " MEAN("axis", "dy * x1 * x0") ")"},
         {1, "dy * x0 * " FACTOR("axis", "x0")}),
     .form = MDF_FORM_RMS_NORM, .infer = &mdf_rule_same},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
