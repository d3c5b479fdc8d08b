/* deform_conv.c - deformable convolution: DeformConv.
 *
 * Comes in: X [n, c, ...], W [m, c / group, ...], for each window and tap an offset [n, offset groups * taps * axes, ...] and
 * perhaps a weight, the mask [n, offset groups * taps, ...], and B [m] or nothing. Goes out: Y [n, m, ...], a convolution whose
 * taps lie at the offsets from their places, between elements. Source: ONNX DeformConv, all versions. */
#include "functions/products/gemm/gemm.h"
#include "functions/windows/convolutions/conv.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

struct deform_settings {
    struct mdf_conv_settings conv;
    int64_t offset_group;
};

static const struct mdf_setting deform_table[] = {
    MDF_WINDOW_SETTINGS,
    {"group", MDF_SETTING_INT, offsetof(struct mdf_conv_settings, group)},
    {"offset_group", MDF_SETTING_INT, offsetof(struct deform_settings, offset_group)},
    {NULL, MDF_SETTING_INT, 0}};

/* A point between elements has neighbours on each axis: their number doubles with each. */
enum { MAX_RANK = 16 };

struct deformed {
    struct mdf_taps taps;
    const void *x, *weights, *offsets, *mask; /* mask: may be NULL */
    void *y;
    size_t n_groups, group_channels, n_offset_groups, size_bytes;
};

/* What the points of images are made of, in float32; see deform_points.inc. */
struct points {
    const struct deformed *job;
    size_t width, plane_size; /* of a plane with its border */
    float *planes;
    float *weights;       /* [batch, offset groups, taps, windows, 4] */
    int32_t *places;      /* [batch, offset groups, taps, windows]: in a plane */
    atomic_bool *is_wild; /* an element is not finite: the points can not be used */
};

/* Rough times, to judge what is worth a thread. */
static const double laid_element_ns = 0.3, point_ns = 5;

#include "functions/windows/deform_points.inc"

#define TEMPLATE "functions/windows/deform_rows.inc"
#include "functions/kernel/of_reals.inc"

static void locate(const void *context, size_t batch, struct mdf_product *product)
{
    const struct deformed *job = context;

    product->a = (const char *)job->weights + batch % job->n_groups * product->m * product->k * job->size_bytes;
    product->c = (char *)job->y + batch * product->m * product->n * job->size_bytes;
}

/* Whether input `i` has `n_parts` channels and one element a window. */
static bool check_parts(struct mdf_workspace *workspace, const char *what, size_t i, const struct mdf_conv_plan *plan,
                        size_t n_parts)
{
    int64_t *shape = mdf_workspace_array(workspace, MDF_DTYPE_INT64, plan->windows.rank + 2);

    if (shape == NULL || mdf_call_tensor(workspace->call, i) == NULL) {
        return false;
    }
    for (size_t axis = 0; axis < plan->windows.rank + 2; axis++) {
        shape[axis] = axis == 1 ? (int64_t)n_parts : plan->windows.shape[axis];
    }
    return mdf_workspace_check_shape(workspace->call, what, workspace->call->inputs[i], plan->windows.rank + 2, shape);
}

static bool check_operands(struct mdf_workspace *workspace, const struct mdf_conv_plan *plan, const struct deformed *job)
{
    const struct deform_settings *settings = workspace->call->settings;
    size_t n_parts, n_offsets;

    if (settings->offset_group < 1 || (int64_t)plan->n_channels % settings->offset_group != 0) {
        return mdf_call_error(workspace->call, MDF_VALUE, "offset_group is %lld; it has to divide the %zu channels",
                              (long long)settings->offset_group, plan->n_channels);
    }
    if (plan->windows.rank > MAX_RANK || !mdf_size_multiply(job->taps.n_taps, (size_t)settings->offset_group, &n_parts) ||
        !mdf_size_multiply(n_parts, plan->windows.rank, &n_offsets)) {
        return mdf_call_error(workspace->call, MDF_LIMIT, "the offsets have more than %d axes or are too many", (int)MAX_RANK);
    }
    return check_parts(workspace, "offset", 2, plan, n_offsets) &&
           (mdf_call_input(workspace->call, 4) == NULL || check_parts(workspace, "mask", 4, plan, n_parts));
}

/* Room for the points, in `points`; its planes are NULL where the convolution is not of images in float32. False with the error
 * set. */
static bool reserve_points(struct mdf_workspace *workspace, const struct mdf_conv_plan *plan, const struct deformed *job,
                           struct points *points)
{
    const struct mdf_window_axis *axes = job->taps.axes;
    size_t n_points = plan->n_batches * job->n_offset_groups * job->taps.n_taps * job->taps.n_outer * (size_t)job->taps.n_run;

    points->job = job;
    points->planes = NULL;
    if (workspace->dtype != MDF_DTYPE_FLOAT32 || job->taps.rank != 2 || axes[0].array > INT32_MAX / 2 - 2 ||
        axes[1].array > INT32_MAX / 2 - 2 || (axes[0].array + 2) * (axes[1].array + 2) > INT32_MAX) {
        return true;
    }
    points->width = (size_t)axes[1].array + 2;
    points->plane_size = ((size_t)axes[0].array + 2) * points->width;
    points->planes = mdf_workspace_matrix(workspace, MDF_DTYPE_FLOAT32, plan->n_batches * plan->n_channels, points->plane_size);
    points->weights = mdf_workspace_matrix(workspace, MDF_DTYPE_FLOAT32, n_points, 4);
    points->places = mdf_workspace_array(workspace, MDF_DTYPE_INT32, n_points);
    return points->planes != NULL && points->weights != NULL && points->places != NULL;
}

/* Makes the points; false: they can not be used. */
static bool make_points(const struct mdf_context *context, const struct mdf_conv_plan *plan, struct points *points)
{
    const struct mdf_taps *taps = &points->job->taps;
    size_t n_windows = taps->n_outer * (size_t)taps->n_run;
    atomic_bool is_wild = false;

    points->is_wild = &is_wild;
    return mdf_parallel_for(context, plan->n_batches * plan->n_channels, laid_element_ns * (double)points->plane_size, lay_planes,
                            points) &&
           mdf_parallel_for(context, plan->n_batches * points->job->n_offset_groups * taps->n_taps, point_ns * (double)n_windows,
                            find_points, points) &&
           !is_wild;
}

static bool run_deformed(struct mdf_workspace *workspace, const struct mdf_conv_plan *plan, struct deformed *job,
                         const void *bias)
{
    bool is_float32 = workspace->dtype == MDF_DTYPE_FLOAT32;
    struct mdf_product product = {.dtype = workspace->dtype, .alpha = 1, .a_column = 1, .add = bias != NULL};
    struct mdf_value *scratch = mdf_workspace_value(workspace);
    struct points points;

    job->n_groups = plan->n_groups;
    job->group_channels = plan->n_channels / plan->n_groups;
    job->size_bytes = mdf_dtype_size(workspace->dtype);
    product.m = plan->n_outputs / plan->n_groups;
    product.n = job->taps.n_outer * (size_t)job->taps.n_run;
    product.k = job->group_channels * job->taps.n_taps;
    product.a_row = (int64_t)product.k;
    product.c_row = (int64_t)product.n;
    product.row = is_float32 ? unroll_deformed_float32 : unroll_deformed_float64;
    product.row_context = job;
    if (scratch == NULL || !reserve_points(workspace, plan, job, &points)) {
        return false;
    }
    if (points.planes != NULL && make_points(workspace->call->context, plan, &points)) {
        product.row = unroll_points;
        product.row_context = &points;
    }
    if (bias != NULL) {
        (is_float32 ? fill_planes_float32 : fill_planes_float64)(job, bias, plan->n_batches * plan->n_outputs, plan->n_outputs);
    }
    return mdf_multiply_batch(workspace->call, scratch, &product, plan->n_batches * plan->n_groups, locate, job);
}

static bool deform_conv(struct mdf_call *call)
{
    const struct deform_settings *settings = call->settings;
    const struct mdf_value *x = mdf_call_tensor(call, 0), *weights = mdf_call_tensor(call, 1), *bias = mdf_call_input(call, 3);
    struct deformed job = {.mask = NULL};
    struct mdf_workspace workspace;
    struct mdf_conv_plan plan;
    const void *inputs[5] = {NULL, NULL, NULL, NULL, NULL};

    if (x == NULL || weights == NULL || (bias != NULL && mdf_call_tensor(call, 3) == NULL) ||
        !mdf_workspace_begin(&workspace, call, mdf_workspace_dtype((mdf_dtype)x->dtype), 16) ||
        !mdf_conv_read(&workspace, &settings->conv, x, weights, bias, &plan) ||
        !mdf_taps_prepare(&workspace, &plan.windows, false, &job.taps) || !check_operands(&workspace, &plan, &job)) {
        return false;
    }
    for (size_t i = 0; i < 5; i++) {
        inputs[i] = i > 2 && mdf_call_input(call, i) == NULL ? NULL : mdf_workspace_input(&workspace, i);
        if (inputs[i] == NULL && mdf_call_input(call, i) != NULL) {
            return false;
        }
    }
    job.x = inputs[0];
    job.weights = inputs[1];
    job.offsets = inputs[2];
    job.mask = inputs[4];
    job.n_offset_groups = (size_t)settings->offset_group;
    job.y = mdf_workspace_output(&workspace, 0, (mdf_dtype)x->dtype, plan.windows.rank + 2, plan.windows.shape);
    if (job.y == NULL) {
        return false;
    }
    return run_deformed(&workspace, &plan, &job, inputs[3]) && mdf_workspace_end(&workspace);
}

/* ------------------------------------------------------------------ what derivatives are made of */

/* Where the taps of the windows are along an axis, between elements: [n, offset groups, taps, windows down, windows across]. */
#define POINTS(name, axis, begin, tap)                                                                                 \
    {name "_step", "1 if strides is None else strides[" axis "]", NULL},                                               \
        {name "_apart", "1 if dilations is None else dilations[" axis "]", NULL},                                      \
        {name "_pad", "0 if pads is None else pads[" axis "]", NULL},                                                  \
        {name, begin " * " name "_step + " tap " * " name "_apart - " name "_pad + offsets[:, :, :, " axis "]", NULL}, \
        {name "0", "numpy.floor(" name ")", NULL}, {name "1", name "0 + 1", NULL},                                     \
    {                                                                                                                  \
        name "_part", name " - " name "0", NULL                                                                        \
    }
/* One of the four neighbours of each point, times its weight. */
#define NEIGHBOUR(i, j)                                                                                                                    \
    "gradient.take(x0, numpy.where(" SPREAD(                                                                                               \
        "(down" i " >= 0) & (down" i " <= height - 1) & (across" j " >= 0) & (across" j                                                    \
        " <= width - 1)") ", first + numpy.astype(" SPREAD("down" i                                                                        \
                                                           " * width + across" j) ", 'int64'), 0)) * " SPREAD(SHARE("down",                \
                                                                                                                    i) " *"                \
                                                                                                                       " " SHARE("across", \
                                                                                                                                 j))
#define SHARE(name, i) "(" name "_part * " i " + (1 - " name "_part) * (1 - " i "))"
#define SPREAD(x) "numpy.repeat(" x ", x0.shape[1] // offset_group, 1)"

const struct mdf_operator mdf_operators_deform_conv[] = {
    {"DeformConv", 19, 99, deform_conv, deform_table, sizeof(struct deform_settings), MDF_OPERATOR_PURE, NULL,
     .infer = &mdf_rule_conv,
     .meaning = MDF_MEANING(
         "sum", NULL,
         {"image",
          "gradient.refuse('a deformable convolution but of images, with pads') if x0.ndim != 4 or auto_pad is not None and "
          "auto_pad != 'NOTSET' else x0",
          NULL},
         {"height", "image.shape[2]", NULL}, {"width", "image.shape[3]", NULL}, {"n_taps", "x1.shape[2] * x1.shape[3]", NULL},
         {"offsets", "numpy.reshape(x2, [x0.shape[0], offset_group, n_taps, 2, y.shape[2], y.shape[3]])", NULL},
         {"taps", "numpy.reshape(numpy.arange(n_taps), [n_taps, 1, 1])", NULL},
         POINTS("down", "0", "numpy.expand_dims(numpy.arange(y.shape[2]), 1)", "(taps // x1.shape[3])"),
         POINTS("across", "1", "numpy.arange(y.shape[3])", "(taps % x1.shape[3])"),
         {"first",
          "1 + height * width * numpy.reshape(numpy.arange(x0.shape[0] * x0.shape[1]), [x0.shape[0], x0.shape[1], 1, 1, 1])",
          NULL},
         {"points", NEIGHBOUR("0", "0") " + " NEIGHBOUR("0", "1") " + " NEIGHBOUR("1", "0") " + " NEIGHBOUR("1", "1"), NULL},
         {"weighed",
          "points if x4 is None else points * " SPREAD("numpy.reshape(x4, [x0.shape[0], offset_group, n_taps, y.shape[2], "
                                                       "y.shape[3]])"),
          NULL},
         {"rows", "numpy.reshape(weighed, [x0.shape[0], group, x1.shape[1] * n_taps, y.shape[2] * y.shape[3]])", NULL},
         {"plain",
          "numpy.reshape(numpy.matmul(numpy.reshape(x1, [group, x1.shape[0] // group, x1.shape[1] * n_taps]), rows), y.shape)",
          NULL},
         {"sum", "plain if x3 is None else plain + numpy.reshape(x3, [-1, 1, 1])", NULL})},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
