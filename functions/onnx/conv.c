/* conv.c - convolution over any number of spatial axes: Conv.
 *
 * Comes in: X [n, c, ...], W [m, c / group, ...], B [m] or nothing. Goes out: Y [n, m, ...]. Each group is a product of its
 * weights with the array unrolled to one column a window; columns are unrolled when the product asks for them. Where a
 * group has one channel, planes are convolved directly. Source: ONNX Conv, all versions. */
#include "functions/onnx/conv.h"

#include "functions/follow.h"
#include "functions/gemm.h"
#include "functions/onnx/conv_planes.h"
#include "functions/onnx/padded_planes.h"

#include <string.h>

const struct mdf_setting mdf_conv_setting_table[] = {
    MDF_WINDOW_SETTINGS, {"group", MDF_SETTING_INT, offsetof(struct mdf_conv_settings, group)}, {NULL, MDF_SETTING_INT, 0}};

struct convolution {
    struct mdf_taps taps;
    const void *x, *weights, *bias;
    void *y;
    size_t n_groups, n_outputs, group_channels, group_outputs;
    mdf_dtype dtype;
    size_t size_bytes; /* of an element */
    bool is_output;
    bool is_pointwise; /* the unrolled array is the array */
    bool weights_are_constant;
    struct mdf_padded_planes padded; /* of one batch's planes, where they are laid out in `laid_out` */
    char *laid_out;
    mdf_add_scaled add_scaled;
};

/* Elements that are copied at a time, and the parts of runs that a panel of at most MAX_STRETCHES columns consists of. */
enum { PART_ELEMENTS = 16, MAX_STRETCHES = 64, LARGEST_LAYOUT = 1 << 27 };

struct stretch {
    size_t at;
    int64_t offset;
};

#define ELEMENT float
#define NAME(x) x##_float32
#include "functions/onnx/conv_rows.inc"
#define ELEMENT double
#define NAME(x) x##_float64
#include "functions/onnx/conv_rows.inc"

/* Rough times of one element, to judge what is worth a thread. */
static const double tap_ns = 0.3, lay_out_ns = 0.2;

static bool check_channels(struct mdf_call *call, const struct mdf_conv_settings *settings, const struct mdf_value *x,
                           const struct mdf_value *weights, const struct mdf_value *bias)
{
    const int64_t *x_shape = mdf_value_shape(x), *w_shape = mdf_value_shape(weights);
    int64_t group = settings->group;

    if (weights->rank != x->rank || x->rank < 3) {
        return mdf_call_error(call, MDF_SHAPE, "X has rank %u and W rank %u; both need one rank, at least 3", x->rank,
                              weights->rank);
    }
    if (group < 1 || x_shape[1] % group != 0 || w_shape[0] % group != 0) {
        return mdf_call_error(call, MDF_VALUE, "group is %lld; it has to divide the %lld input and %lld output channels",
                              (long long)group, (long long)x_shape[1], (long long)w_shape[0]);
    }
    if (w_shape[1] != x_shape[1] / group) {
        return mdf_call_error(call, MDF_SHAPE, "W has %lld channels; X has %lld in %lld groups", (long long)w_shape[1],
                              (long long)x_shape[1], (long long)group);
    }
    return bias == NULL || mdf_workspace_check_shape(call, "B", bias, 1, w_shape);
}

bool mdf_conv_read(struct mdf_workspace *workspace, const struct mdf_conv_settings *settings, const struct mdf_value *x,
                   const struct mdf_value *weights, const struct mdf_value *bias, struct mdf_conv_plan *plan)
{
    struct mdf_windows *windows = &plan->windows;

    if (!check_channels(workspace->call, settings, x, weights, bias) ||
        !mdf_windows_read(workspace, &settings->window, x, mdf_value_shape(weights) + 2, windows) ||
        !mdf_windows_count(workspace->call, &settings->window, windows)) {
        return false;
    }
    plan->n_batches = (size_t)mdf_value_shape(x)[0];
    plan->n_channels = (size_t)mdf_value_shape(x)[1];
    plan->n_groups = (size_t)settings->group;
    plan->n_outputs = (size_t)mdf_value_shape(weights)[0];
    plan->weights_are_constant = plan->is_output = false;
    windows->shape[0] = (int64_t)plan->n_batches;
    windows->shape[1] = (int64_t)plan->n_outputs;
    for (size_t i = 0; i < windows->rank; i++) {
        windows->shape[i + 2] = windows->axes[i].windows;
    }
    return true;
}

/* Whether each window is one element, and the windows are the array. */
static bool is_pointwise(const struct mdf_windows *windows)
{
    for (size_t i = 0; i < windows->rank; i++) {
        const struct mdf_window_axis *axis = &windows->axes[i];

        if (axis->kernel != 1 || axis->stride != 1 || axis->pad_begin != 0 || axis->pad_end != 0) {
            return false;
        }
    }
    return true;
}

static void locate_group(const void *context, size_t batch, struct mdf_product *product)
{
    const struct convolution *job = context;
    size_t group = batch % job->n_groups;

    product->a = (const char *)job->weights + group * product->m * product->k * job->size_bytes;
    product->c = (char *)job->y + batch * product->m * product->n * job->size_bytes;
    product->start = job->bias == NULL ? NULL : (const char *)job->bias + group * product->m * job->size_bytes;
    if (job->is_pointwise) {
        product->b = (const char *)job->x + batch * product->k * product->n * job->size_bytes;
    }
}

static void lay_out_planes(void *context, size_t first, size_t last)
{
    const struct convolution *job = context;

    for (size_t plane = first; plane < last; plane++) {
        mdf_padded_planes_fill(&job->padded, job->dtype, (const char *)job->x + plane * job->taps.array_size * job->size_bytes,
                               job->laid_out + plane * job->padded.n_plane * job->size_bytes);
    }
}

/* One batch after the other, its planes laid out first. */
static bool multiply_laid_out(struct mdf_workspace *workspace, struct convolution *job, struct mdf_value *scratch,
                              const struct mdf_product *product, size_t n_batches)
{
    size_t n_channels = job->n_groups * job->group_channels;

    memset(job->laid_out + n_channels * job->padded.n_plane * job->size_bytes, 0, MDF_PADDED_SLACK * job->size_bytes);
    for (size_t batch = 0; batch < n_batches; batch++) {
        mdf_parallel_for(workspace->call->context, n_channels, lay_out_ns * (double)job->padded.n_plane, lay_out_planes, job);
        if (!mdf_multiply_batch(workspace->call, scratch, product, job->n_groups, locate_group, job)) {
            return false;
        }
        job->x = (const char *)job->x + n_channels * job->taps.array_size * job->size_bytes;
        job->y = (char *)job->y + job->n_groups * product->m * product->n * job->size_bytes;
    }
    return true;
}

/* Room for the planes of one batch; *fits: they are to be laid out. */
static bool prepare_planes(struct mdf_workspace *workspace, struct convolution *job, bool *fits)
{
    size_t n_channels = job->n_groups * job->group_channels;

    *fits = !job->is_pointwise && job->group_channels > 0 && mdf_padded_planes_fit(&job->taps);
    if (*fits && !mdf_padded_planes_prepare(workspace, &job->taps, &job->padded)) {
        return false;
    }
    *fits = *fits && (double)job->padded.n_plane * (double)n_channels < LARGEST_LAYOUT;
    if (*fits) {
        job->laid_out = mdf_workspace_array(workspace, workspace->dtype, job->padded.n_plane * n_channels + MDF_PADDED_SLACK);
    }
    return !*fits || job->laid_out != NULL;
}

static bool multiply_groups(struct mdf_workspace *workspace, struct convolution *job, size_t n_batches)
{
    bool fits;
    struct mdf_product product = {.dtype = workspace->dtype, .alpha = 1, .a_column = 1, .b_column = 1};
    struct mdf_value *scratch = mdf_workspace_value(workspace), *kept = mdf_workspace_value(workspace);
    const struct mdf_follow *follow = NULL;

    product.m = job->group_outputs;
    product.n = job->taps.n_outer * (size_t)job->taps.n_run;
    if (!mdf_size_multiply(job->group_channels, job->taps.n_taps, &product.k)) {
        return mdf_call_error(workspace->call, MDF_LIMIT, "the weights are more than any memory holds");
    }
    product.a_row = (int64_t)product.k;
    product.b_row = product.c_row = (int64_t)product.n;
    if (!prepare_planes(workspace, job, &fits)) {
        return false;
    }
    if (fits) {
        product.panel = workspace->dtype == MDF_DTYPE_FLOAT32 ? unroll_panel_float32 : unroll_panel_float64;
    } else if (!job->is_pointwise) {
        product.row = workspace->dtype == MDF_DTYPE_FLOAT32 ? unroll_row_float32 : unroll_row_float64;
    }
    product.row_context = job;
    if (scratch == NULL || kept == NULL) {
        return false;
    }
    product.a = job->weights;
    if (job->is_output && product.k > 0 && (product.m > 2 || job->n_groups == 1) && mdf_product_is_packed(&product)) {
        follow = mdf_follow_begin(workspace->call);
    }
    if (follow != NULL) {
        product.limits = mdf_follow_limits(follow);
        job->y = mdf_follow_result(follow);
    }
    if (job->n_groups == 1 && mdf_product_is_packed(&product) &&
        !mdf_product_keep_a(workspace->call, kept, job->weights_are_constant, &product)) {
        return false;
    }
    return fits ? multiply_laid_out(workspace, job, scratch, &product, n_batches)
                : mdf_multiply_batch(workspace->call, scratch, &product, n_batches * job->n_groups, locate_group, job);
}

bool mdf_conv_run(struct mdf_workspace *workspace, const struct mdf_conv_plan *plan, const void *x, const void *weights,
                  const void *bias, void *y)
{
    struct convolution job = {
        .x = x, .weights = weights, .bias = bias, .y = y, .n_groups = plan->n_groups, .n_outputs = plan->n_outputs};
    bool is_float32 = workspace->dtype == MDF_DTYPE_FLOAT32;
    const struct mdf_context *context = workspace->call->context;
    size_t n_planes = plan->n_batches * plan->n_outputs, plane_size;
    const struct mdf_follow *follow = NULL;

    if (!mdf_workspace_product(workspace->call, plan->windows.shape, 0, plan->windows.rank + 2, &plane_size)) {
        return false;
    }
    if (plane_size == 0) {
        return true;
    }
    job.group_channels = plan->n_channels / plan->n_groups;
    job.group_outputs = plan->n_outputs / plan->n_groups;
    if (job.group_channels == 1 && mdf_conv_planes_fit(&plan->windows)) {
        struct mdf_conv_planes planes = {
            &plan->windows, x, weights, bias, y, plan->n_batches * plan->n_channels, plan->n_channels, job.group_outputs, NULL};

        if (plan->is_output) {
            follow = mdf_follow_begin(workspace->call);
        }
        if (follow != NULL) {
            planes.limits = mdf_follow_limits(follow);
            planes.y = mdf_follow_result(follow);
        }
        return mdf_conv_planes_run(workspace, &planes);
    }
    if (!mdf_taps_prepare(workspace, &plan->windows, false, &job.taps)) {
        return false;
    }
    plane_size = job.taps.n_outer * (size_t)job.taps.n_run;
    job.dtype = workspace->dtype;
    job.size_bytes = mdf_dtype_size(workspace->dtype);
    job.is_pointwise = is_pointwise(&plan->windows);
    job.weights_are_constant = plan->weights_are_constant;
    job.is_output = plan->is_output;
    job.add_scaled = mdf_add_scaled_for(workspace->dtype);
    if (job.group_channels == 1 && job.group_outputs <= 2) {
        mdf_parallel_for(context, n_planes, (double)plane_size * (double)job.taps.n_taps * tap_ns,
                         is_float32 ? convolve_planes_float32 : convolve_planes_float64, &job);
        return true;
    }
    return multiply_groups(workspace, &job, plan->n_batches);
}

static bool conv(struct mdf_call *call)
{
    const struct mdf_value *x = mdf_call_tensor(call, 0), *weights = mdf_call_tensor(call, 1), *bias = mdf_call_input(call, 2);
    struct mdf_workspace workspace;
    struct mdf_conv_plan plan;
    const void *elements[3] = {NULL, NULL, NULL};
    void *y;

    if (x == NULL || weights == NULL || (bias != NULL && mdf_call_tensor(call, 2) == NULL)) {
        return false;
    }
    if (!mdf_workspace_begin(&workspace, call, mdf_workspace_dtype((mdf_dtype)x->dtype), MDF_CONV_ARRAYS + 4) ||
        !mdf_conv_read(&workspace, call->settings, x, weights, bias, &plan)) {
        return false;
    }
    plan.weights_are_constant = mdf_call_is_constant(call, 1);
    plan.is_output = true;
    for (size_t i = 0; i < (bias != NULL ? 3 : 2); i++) {
        elements[i] = mdf_workspace_input(&workspace, i);
        if (elements[i] == NULL) {
            return false;
        }
    }
    y = mdf_workspace_output(&workspace, 0, (mdf_dtype)x->dtype, plan.windows.rank + 2, plan.windows.shape);
    return y != NULL && mdf_conv_run(&workspace, &plan, elements[0], elements[1], elements[2], y) &&
           mdf_workspace_end(&workspace);
}

const struct mdf_operator mdf_operators_conv[] = {
    {"Conv", 1, 99, conv, mdf_conv_setting_table, sizeof(struct mdf_conv_settings), MDF_OPERATOR_PURE, NULL},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
