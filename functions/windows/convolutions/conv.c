/* conv.c - convolution over any number of spatial axes: Conv.
 *
 * Comes in: X [n, c, ...], W [m, c / group, ...], B [m] or nothing. Goes out: Y [n, m, ...]. Where a group has one channel,
 * planes are convolved one by one (conv_planes.h), else windows are summed in tiles (conv_tiles.h); where these are a few, or far
 * apart, a group is a product of its weights with the array unrolled to one column a window, when the product asks for it.
 * Source: ONNX Conv, all versions. */
#include "functions/windows/convolutions/conv.h"

#include "functions/elements/epilogue.h"
#include "functions/kernel/derivatives.h"
#include "functions/kernel/routine_vectors.h"
#include "functions/products/gemm/gemm.h"
#include "functions/windows/convolutions/planes/conv_planes.h"
#include "functions/windows/convolutions/conv_tiles.h"

#include <math.h>
#include <string.h>

const struct mdf_setting mdf_conv_setting_table[] = {
    MDF_WINDOW_SETTINGS, {"group", MDF_SETTING_INT, offsetof(struct mdf_conv_settings, group)}, {NULL, MDF_SETTING_INT, 0}};

enum { FEW_WINDOWS = 16 /* fewer than a vector has elements */ };

/* What few windows meet: tap t in places of an array, each in a window, from number starts[t] of these on to starts[t + 1]. */
struct few_windows {
    const struct mdf_convolution *job;
    size_t n_windows;
    int64_t *starts, *windows, *places;
};

#define TEMPLATE "functions/windows/convolutions/conv_rows.inc"
#include "functions/kernel/of_reals.inc"

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

bool mdf_conv_is_pointwise(const struct mdf_windows *windows)
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
    const struct mdf_convolution *job = context;
    size_t group = batch % job->n_groups, size = mdf_dtype_size(product->dtype);

    product->a = (const char *)job->weights + group * product->m * product->k * size;
    product->c = (char *)job->y + batch * product->m * product->n * size;
    product->start = job->bias == NULL ? NULL : (const char *)job->bias + group * product->m * size;
    if (job->is_pointwise) {
        product->b = (const char *)job->x + batch * product->k * product->n * size;
    }
}

/* Whether there is one window, which meets all of the array in its order. */
static bool meets_all(const struct mdf_taps *taps)
{
    bool does = true;

    for (size_t i = 0; i < taps->rank; i++) {
        const struct mdf_window_axis *axis = &taps->axes[i];

        does = does && axis->windows == 1 && axis->pad_begin == 0 && axis->kernel == axis->array;
    }
    return does;
}

/* False with the error set. */
static bool find_few_windows(struct mdf_workspace *workspace, const struct mdf_convolution *job, struct few_windows *few)
{
    const struct mdf_taps *taps = job->taps;
    size_t n_windows = taps->n_outer * (size_t)taps->n_run;
    int64_t n = 0, offset;

    few->job = job;
    few->n_windows = n_windows;
    few->starts = mdf_workspace_matrix(workspace, MDF_DTYPE_INT64, taps->n_taps + 1, 1 + 2 * n_windows);
    if (few->starts == NULL) {
        return false;
    }
    few->windows = few->starts + taps->n_taps + 1;
    few->places = few->windows + taps->n_taps * n_windows;
    for (size_t tap = 0; tap < taps->n_taps; tap++) {
        few->starts[tap] = n;
        for (size_t outer = 0; outer < taps->n_outer; outer++) {
            if (!mdf_taps_run(taps, outer, tap, &offset)) {
                continue;
            }
            for (int64_t i = taps->first[tap]; i < taps->last[tap]; i++, n++) {
                few->windows[n] = (int64_t)outer * taps->n_run + i;
                few->places[n] = offset + i * taps->stride;
            }
        }
    }
    few->starts[taps->n_taps] = n;
    return true;
}

/* All arrays of a batch in one product, where each has few windows: weights are packed once, and vectors are full. */
static bool multiply_joined(struct mdf_workspace *workspace, const struct mdf_convolution *job, struct mdf_value *scratch,
                            struct mdf_product *product)
{
    bool is_float32 = workspace->dtype == MDF_DTYPE_FLOAT32;
    size_t n_windows = product->n;

    if (!mdf_size_multiply(n_windows, job->n_batches, &product->n)) {
        return mdf_call_error(workspace->call, MDF_LIMIT, "the windows are more than any memory holds");
    }
    if (product->row != NULL) {
        product->b_row = (int64_t)product->n;
    }
    product->c_row = (int64_t)product->n;
    product->a = job->weights;
    product->start = job->bias;
    product->c = mdf_workspace_matrix(workspace, workspace->dtype, product->m, product->n);
    if (product->c == NULL || !mdf_multiply(workspace->call, scratch, product)) {
        return false;
    }
    (is_float32 ? part_windows_float32 : part_windows_float64)(job, product->c, n_windows);
    return true;
}

/* Each group as the product of its weights with the array unrolled to one column a window; `depth`: of its blocks, 0 any. */
static bool multiply_groups(struct mdf_workspace *workspace, const struct mdf_convolution *job, size_t depth)
{
    struct mdf_product product = {.dtype = workspace->dtype,
                                  .m = job->group_outputs,
                                  .a = job->weights,
                                  .alpha = 1,
                                  .depth = depth,
                                  .a_column = 1,
                                  .b_column = 1};
    struct mdf_value *scratch = mdf_workspace_value(workspace), *kept = mdf_workspace_value(workspace);
    struct few_windows few;
    bool is_whole = job->n_groups == 1 && !job->is_pointwise && meets_all(job->taps);

    if (scratch == NULL || kept == NULL) {
        return false;
    }
    product.n = job->taps->n_outer * (size_t)job->taps->n_run;
    if (!mdf_size_multiply(job->group_channels, job->taps->n_taps, &product.k)) {
        return mdf_call_error(workspace->call, MDF_LIMIT, "the weights are more than any memory holds");
    }
    product.a_row = (int64_t)product.k;
    product.b_row = product.c_row = (int64_t)product.n;
    if (is_whole) { /* columns are the arrays as they lie */
        product.b = job->x;
        product.b_row = 1;
        product.b_column = (int64_t)product.k;
    } else if (!job->is_pointwise) {
        bool is_float32 = workspace->dtype == MDF_DTYPE_FLOAT32;

        if (product.n < FEW_WINDOWS && !find_few_windows(workspace, job, &few)) {
            return false;
        }
        product.row = product.n >= FEW_WINDOWS ? (is_float32 ? unroll_row_float32 : unroll_row_float64)
                                               : (is_float32 ? unroll_few_float32 : unroll_few_float64);
        product.row_context = product.n < FEW_WINDOWS ? (const void *)&few : job;
    }
    if (job->n_groups == 1 && (is_whole || mdf_product_is_packed(&product)) &&
        !mdf_product_keep_a(workspace->call, kept, job->weights_are_constant, &product)) {
        return false;
    }
    if (job->n_batches > 1 && job->n_groups == 1 && !job->is_pointwise && product.n < FEW_WINDOWS) {
        return multiply_joined(workspace, job, scratch, &product);
    }
    return mdf_multiply_batch(workspace->call, scratch, &product, job->n_batches * job->n_groups, locate_group, job);
}

/* Whether windows that could be summed in tiles would leave most lanes of these empty: a product, which may have outputs or the
 * windows of several arrays in its vectors, sums them in the same order, from weights that are packed once. */
static bool leave_lanes_empty(const struct mdf_convolution *job)
{
    size_t n_windows = job->taps->n_outer * (size_t)job->taps->n_run;
    size_t n_joined = n_windows < FEW_WINDOWS ? (n_windows * job->n_batches + FEW_WINDOWS - 1) / FEW_WINDOWS : job->n_batches;

    return job->n_groups == 1 && job->weights_are_constant && !job->is_pointwise && job->dtype == MDF_DTYPE_FLOAT32 &&
           job->group_outputs >= FEW_WINDOWS && (2 * n_windows <= FEW_WINDOWS || 4 * n_joined <= 3 * job->n_batches);
}

/* An epilogue is put on the result where that may be done: then *y is where the result goes. NULL: there is none. */
static const void *begin_limits(struct mdf_workspace *workspace, const struct mdf_conv_plan *plan, void **y)
{
    const struct mdf_epilogue *epilogue = plan->is_output ? mdf_epilogue_begin(workspace->call) : NULL;

    if (epilogue == NULL) {
        return NULL;
    }
    *y = mdf_epilogue_result(epilogue);
    return mdf_epilogue_limits(epilogue);
}

bool mdf_conv_run(struct mdf_workspace *workspace, const struct mdf_conv_plan *plan, const void *x, const void *weights,
                  const void *bias, void *y)
{
    size_t group_channels = plan->n_channels / plan->n_groups, group_outputs = plan->n_outputs / plan->n_groups;
    bool is_single = mdf_conv_is_pointwise(&plan->windows);
    struct mdf_conv_planes planes = {&plan->windows, x,   weights, bias, y, plan->n_batches * plan->n_channels, plan->n_channels,
                                     group_outputs,  NULL};
    struct mdf_taps taps;
    struct mdf_convolution tiles = {&taps,
                                    x,
                                    weights,
                                    bias,
                                    y,
                                    plan->n_batches,
                                    plan->n_groups,
                                    group_channels,
                                    group_outputs,
                                    is_single,
                                    plan->weights_are_constant,
                                    NULL,
                                    workspace->dtype,
                                    MDF_PRODUCT_OF_NUMBERS,
                                    0};
    size_t n_elements;

    if (!mdf_workspace_product(workspace->call, plan->windows.shape, 0, plan->windows.rank + 2, &n_elements)) {
        return false;
    }
    if (n_elements == 0) {
        return true;
    }
    if (group_channels == 1 && mdf_conv_planes_fit(&plan->windows)) {
        planes.limits = begin_limits(workspace, plan, &planes.y);
        return mdf_conv_planes_run(workspace, &planes);
    }
    if (!mdf_taps_prepare(workspace, &plan->windows, false, &taps)) {
        return false;
    }
    if (mdf_conv_tiles_fit(&tiles)) {
        if (leave_lanes_empty(&tiles)) {
            return multiply_groups(workspace, &tiles, mdf_conv_tiles_block(taps.n_taps));
        }
        tiles.limits = begin_limits(workspace, plan, &tiles.y);
        return mdf_conv_tiles_run(workspace, &tiles);
    }
    return multiply_groups(workspace, &tiles, 0);
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

/* ------------------------------------------------------------------ as plain C: windows_routine.inc */

/* How the products of a window are summed there: in blocks of so many, fused or not, by a scalar product. */
struct sum_plan {
    size_t block;
    bool is_fused, skips_rows, is_dot;
};

/* Where a group is a product of matrices. */
static struct sum_plan plan_group(mdf_dtype dtype, const struct mdf_convolution *job)
{
    size_t k = job->group_channels * job->taps->n_taps, n = job->taps->n_outer * (size_t)job->taps->n_run;
    struct mdf_product product = {.dtype = dtype, .m = job->group_outputs, .n = n, .k = k, .start = job->bias, .alpha = 1};

    product.a_column = product.b_column = 1;
    product.a_row = (int64_t)k;
    product.b_row = product.c_row = (int64_t)n;
    product.row = job->is_pointwise ? NULL : unroll_row_float32; /* of any type */
    switch (mdf_product_order(&product)) {
    case MDF_PRODUCT_IN_BLOCKS:
        return (struct sum_plan){MDF_PRODUCT_DEPTH, mdf_product_is_fused(dtype), false, false};
    case MDF_PRODUCT_DOT:
        return (struct sum_plan){SIZE_MAX, false, false, true};
    case MDF_PRODUCT_IN_ORDER:
    case MDF_PRODUCT_TURNED: /* the same, as alpha is 1 */
        break;
    }
    return (struct sum_plan){SIZE_MAX, false, false, false};
}

static bool plan_sums(struct mdf_workspace *workspace, const struct mdf_conv_plan *plan, const void *bias, struct sum_plan *sums)
{
    size_t group_channels = plan->n_channels / plan->n_groups;
    struct mdf_taps taps;
    struct mdf_convolution tiles = {.taps = &taps,
                                    .bias = bias,
                                    .n_batches = plan->n_batches,
                                    .n_groups = plan->n_groups,
                                    .group_channels = group_channels,
                                    .group_outputs = plan->n_outputs / plan->n_groups,
                                    .is_pointwise = mdf_conv_is_pointwise(&plan->windows),
                                    .dtype = workspace->dtype};

    if (group_channels == 1 && mdf_conv_planes_fit(&plan->windows)) {
        *sums =
            (struct sum_plan){SIZE_MAX, mdf_product_is_fused(workspace->dtype), mdf_conv_planes_skip_rows(&plan->windows), false};
        return true;
    }
    if (!mdf_taps_prepare(workspace, &plan->windows, false, &taps)) {
        return false;
    }
    *sums = mdf_conv_tiles_fit(&tiles)
                ? (struct sum_plan){mdf_conv_tiles_block(taps.n_taps), mdf_product_is_fused(workspace->dtype), false, false}
                : plan_group(workspace->dtype, &tiles);
    return true;
}

static bool plan_conv(struct mdf_call *call, struct mdf_routine_plan *routine)
{
    const struct mdf_value *x = call->inputs[0], *weights = call->inputs[1], *bias = mdf_call_input(call, 2);
    mdf_dtype dtype = (mdf_dtype)x->dtype;
    struct mdf_workspace workspace;
    struct mdf_conv_plan plan;
    struct sum_plan sums;
    const struct mdf_window_axis *last;
    size_t n_run, n_products;

    if (!mdf_dtype_is_real(dtype) || !mdf_workspace_begin(&workspace, call, dtype, MDF_CONV_ARRAYS + 4) ||
        !mdf_conv_read(&workspace, call->settings, x, weights, bias, &plan) || !plan_sums(&workspace, &plan, bias, &sums) ||
        !mdf_routine_room(routine, 9 + 6 * plan.windows.rank, 0)) {
        return false;
    }
    last = &plan.windows.axes[plan.windows.rank - 1];
    /* sums of four output channels, and what the taps of a row meet, one by one or side by side */
    n_run = (4 + (size_t)last->kernel) * (size_t)last->windows + (size_t)((last->kernel - 1) * last->dilation);
    n_products = weights->length / (plan.n_outputs > 0 ? plan.n_outputs : 1);
    routine->function = "convolve";
    routine->dtype = dtype;
    routine->whole[0] = (int64_t)plan.n_batches;
    routine->whole[1] = (int64_t)plan.n_groups;
    routine->whole[2] = (int64_t)(plan.n_channels / plan.n_groups);
    routine->whole[3] = (int64_t)(plan.n_outputs / plan.n_groups);
    routine->whole[4] = (int64_t)plan.windows.rank;
    routine->whole[5] = sums.block < INT64_MAX ? (int64_t)sums.block : INT64_MAX;
    routine->whole[6] = sums.is_fused;
    routine->whole[7] = sums.skips_rows;
    routine->whole[8] = sums.is_dot;
    mdf_windows_write(&plan.windows, routine->whole + 9);
    n_run = n_run > n_products ? n_run : n_products; /* or, of one window, what all taps meet */
    routine->work_bytes = mdf_windows_bytes_met(&plan.windows) + mdf_dtype_size(dtype) * n_run;
    return true;
}

#include "functions/windows/taps_routine.inc"
#define ROUTINES "functions/products/add_product_routine.inc"
#include "functions/kernel/routine_reals.inc"
#define ROUTINES "functions/products/multiply_routine.inc"
#include "functions/kernel/routine_reals.inc"
#define ROUTINES "functions/windows/windows_routine.inc"
#include "functions/kernel/routine_reals.inc"

MDF_REAL_ROUTINES_IN_VECTORS(convolve)

/* Along one axis, of so few products that the kernel's looks at types and shapes would take longer; planes are better off there.
 */
static mdf_routine_function routine_function(const struct mdf_routine_plan *plan)
{
    enum { MOST_PRODUCTS = 1 << 11 };
    bool is_along_one = plan->whole[4] == 1 && plan->whole[9 + 2] > 1;

    return is_along_one && mdf_windows_meet_few_products(plan->whole, plan->whole + 9, plan->whole[4], MOST_PRODUCTS)
               ? MDF_WIDEST_OF_REALS(plan, convolve)
               : NULL;
}

/* ------------------------------------------------------------------ what derivatives are made of */

static bool find_places(struct mdf_call *call)
{
    const struct mdf_value *x = mdf_call_tensor(call, 0), *weights = mdf_call_tensor(call, 1);
    struct mdf_conv_plan plan;
    struct mdf_workspace workspace;

    return x != NULL && weights != NULL && mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, MDF_CONV_ARRAYS) &&
           mdf_conv_read(&workspace, call->settings, x, weights, NULL, &plan) &&
           mdf_windows_places(call, &plan.windows, (int64_t)plan.n_batches, (int64_t)plan.n_channels);
}

static const struct mdf_operator places = {
    "Conv.places", 0, 0, find_places, NULL, 0, MDF_OPERATOR_KEEPS_INPUTS, NULL, .derivatives = mdf_derivatives_flat,
    .by_form = 3};

const struct mdf_operator mdf_operators_conv[] = {
    {"Conv", 1, 99, conv, mdf_conv_setting_table, sizeof(struct mdf_conv_settings), MDF_OPERATOR_PURE, NULL,
     .infer = &mdf_rule_conv, .meaning = MDF_MEANING("sum", &places, MDF_CONV_STEPS("x0", "x1", "x2", "places(x0, x1)")),
     .form = MDF_FORM_CONVOLUTION, .routine = &(const struct mdf_routine){plan_conv, .function = routine_function}},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
