/* conv_transpose.c - transposed convolution over any number of spatial axes: ConvTranspose.
 *
 * Comes in: X [n, c, ...], W [c, m / group, ...], B [m] or nothing. Goes out: Y [n, m, ...]. Each element of X is a window
 * on Y: its taps are products of weights and elements, added where they fall. Source: ONNX ConvTranspose, all versions;
 * ConvTransposeWithDynamicPads of ONNX Runtime's com.microsoft, version 1, whose pads are an input. */
#include "functions/kernel/derivatives.h"
#include "functions/kernel/routine_vectors.h"
#include "functions/products/gemm/gemm.h"
#include "functions/windows/sliding.h"

#include <math.h>

struct transpose_settings {
    struct mdf_window_settings window;
    struct mdf_ints output_padding, output_shape;
    int64_t group;
};

static const struct mdf_setting transpose_table[] = {
    MDF_WINDOW_SETTINGS,
    {"output_padding", MDF_SETTING_INTS, offsetof(struct transpose_settings, output_padding)},
    {"output_shape", MDF_SETTING_INTS, offsetof(struct transpose_settings, output_shape)},
    {"group", MDF_SETTING_INT, offsetof(struct transpose_settings, group)},
    {NULL, MDF_SETTING_INT, 0}};

/* One group of one batch under way. */
struct transposed {
    struct mdf_taps taps;
    const void *columns, *bias;
    void *y;
    mdf_add_scaled add_scaled;
};

#define TEMPLATE "functions/windows/convolutions/conv_transpose_rows.inc"
#include "functions/kernel/of_reals.inc"

/* Rough time of one element, to judge what is worth a thread. */
static const double add_ns = 0.4;

static bool check_list(struct mdf_call *call, const char *name, const struct mdf_ints *list, size_t n)
{
    if (list->items == NULL || list->n == n || list->n == 0) {
        return true;
    }
    return mdf_call_error(call, MDF_SHAPE, "%s has %zu numbers, not %zu", name, list->n, n);
}

static bool check_operands(struct mdf_call *call, const struct transpose_settings *settings, const struct mdf_value *x,
                           const struct mdf_value *weights, const struct mdf_value *bias)
{
    const int64_t *x_shape = mdf_value_shape(x), *w_shape = mdf_value_shape(weights);
    int64_t n_outputs;

    if (weights->rank != x->rank || x->rank < 3) {
        return mdf_call_error(call, MDF_SHAPE, "X has rank %u and W rank %u; both need one rank, at least 3", x->rank,
                              weights->rank);
    }
    if (settings->group < 1 || x_shape[1] % settings->group != 0) {
        return mdf_call_error(call, MDF_VALUE, "group is %lld; it has to divide the %lld channels", (long long)settings->group,
                              (long long)x_shape[1]);
    }
    if (w_shape[0] != x_shape[1]) {
        return mdf_call_error(call, MDF_SHAPE, "W is for %lld channels; X has %lld", (long long)w_shape[0],
                              (long long)x_shape[1]);
    }
    if (__builtin_mul_overflow(w_shape[1], settings->group, &n_outputs)) {
        return mdf_call_error(call, MDF_LIMIT, "%lld groups of %lld channels are too many", (long long)settings->group,
                              (long long)w_shape[1]);
    }
    return (bias == NULL || mdf_workspace_check_shape(call, "B", bias, 1, &n_outputs)) &&
           check_list(call, "output_padding", &settings->output_padding, x->rank - 2) &&
           (settings->output_shape.items == NULL || settings->output_shape.n == x->rank ||
            check_list(call, "output_shape", &settings->output_shape, x->rank - 2));
}

static void split_padding(struct mdf_window_axis *axis, int64_t natural, bool upper)
{
    int64_t total = natural > axis->array ? natural - axis->array : 0;

    axis->pad_begin = upper ? total / 2 : total - total / 2;
    axis->pad_end = total - axis->pad_begin;
}

/* Size of Y and padding on one axis. */
static bool plan_axis(struct mdf_call *call, const struct transpose_settings *settings, const struct mdf_windows *windows,
                      size_t i)
{
    struct mdf_window_axis *axis = &windows->axes[i];
    const struct mdf_ints *output_shape = &settings->output_shape;
    int64_t extra =
                settings->output_padding.items != NULL && i < settings->output_padding.n ? settings->output_padding.items[i] : 0,
            natural;

    if (extra < 0 || extra > INT32_MAX) {
        return mdf_call_error(call, MDF_VALUE, "output_padding[%zu] is %lld", i, (long long)extra);
    }
    axis->windows = axis->array;
    if (axis->windows > INT64_MAX / 4 / axis->stride) {
        return mdf_call_error(call, MDF_LIMIT, "the result would be too large on spatial axis %zu", i);
    }
    natural = (axis->windows - 1) * axis->stride + extra + (axis->kernel - 1) * axis->dilation + 1;
    if (output_shape->items != NULL && output_shape->n > 0) {
        axis->array = output_shape->items[output_shape->n - windows->rank + i];
        split_padding(axis, natural, windows->auto_pad == MDF_PAD_SAME_UPPER);
    } else if (windows->auto_pad == MDF_PAD_SAME_UPPER || windows->auto_pad == MDF_PAD_SAME_LOWER) {
        axis->array = axis->windows * axis->stride;
        split_padding(axis, natural, windows->auto_pad == MDF_PAD_SAME_UPPER);
    } else {
        if (windows->auto_pad == MDF_PAD_VALID) {
            axis->pad_begin = axis->pad_end = 0;
        }
        axis->array = natural - axis->pad_begin - axis->pad_end;
    }
    if (axis->array < 0 || axis->array > INT64_MAX / 4) {
        return mdf_call_error(call, MDF_SHAPE, "the result would have size %lld on spatial axis %zu", (long long)axis->array, i);
    }
    return true;
}

struct group_shape {
    size_t n_batches, n_groups, channels, outputs; /* of one group */
};

static bool plan_transposed(struct mdf_workspace *workspace, const struct mdf_value *x, const struct mdf_value *weights,
                            struct mdf_windows *windows, struct group_shape *groups)
{
    const struct transpose_settings *settings = workspace->call->settings;

    if (!mdf_windows_read(workspace, &settings->window, x, mdf_value_shape(weights) + 2, windows)) {
        return false;
    }
    for (size_t i = 0; i < windows->rank; i++) {
        if (!plan_axis(workspace->call, settings, windows, i)) {
            return false;
        }
        windows->shape[i + 2] = windows->axes[i].array;
    }
    groups->n_batches = (size_t)mdf_value_shape(x)[0];
    groups->n_groups = (size_t)settings->group;
    groups->channels = (size_t)mdf_value_shape(x)[1] / groups->n_groups;
    groups->outputs = (size_t)mdf_value_shape(weights)[1];
    windows->shape[0] = (int64_t)groups->n_batches;
    windows->shape[1] = (int64_t)(groups->outputs * groups->n_groups);
    return true;
}

/* Group after group: columns = weights^T X, then their sum on Y. */
static bool run_transposed(struct mdf_workspace *workspace, const struct mdf_windows *windows, const struct group_shape *groups,
                           const char *x, const char *weights, const char *bias, char *y)
{
    struct transposed job = {.add_scaled = mdf_add_scaled_for(workspace->dtype)};
    struct mdf_product product = {.dtype = workspace->dtype, .alpha = 1, .a_row = 1, .b_column = 1, .k = groups->channels};
    size_t size_bytes = mdf_dtype_size(workspace->dtype);
    struct mdf_value *scratch = mdf_workspace_value(workspace);

    if (scratch == NULL || !mdf_taps_prepare(workspace, windows, false, &job.taps)) {
        return false;
    }
    product.n = job.taps.n_outer * (size_t)job.taps.n_run;
    if (!mdf_size_multiply(groups->outputs, job.taps.n_taps, &product.m)) {
        return mdf_call_error(workspace->call, MDF_LIMIT, "the weights are more than any memory holds");
    }
    product.c = mdf_workspace_matrix(workspace, workspace->dtype, product.m, product.n);
    if (product.c == NULL) {
        return false;
    }
    product.a_column = (int64_t)product.m;
    product.b_row = product.c_row = (int64_t)product.n;
    job.columns = product.c;
    for (size_t batch = 0; batch < groups->n_batches * groups->n_groups; batch++) {
        size_t group = batch % groups->n_groups;

        product.a = weights + group * product.k * product.m * size_bytes;
        product.b = x + batch * product.k * product.n * size_bytes;
        if (!mdf_multiply(workspace->call, scratch, &product)) {
            return false;
        }
        job.bias = bias != NULL ? bias + group * groups->outputs * size_bytes : NULL;
        job.y = y + batch * groups->outputs * job.taps.array_size * size_bytes;
        mdf_parallel_for(workspace->call->context, groups->outputs, (double)product.n * (double)job.taps.n_taps * add_ns,
                         workspace->dtype == MDF_DTYPE_FLOAT32 ? scatter_planes_float32 : scatter_planes_float64, &job);
    }
    return true;
}

static bool conv_transpose(struct mdf_call *call)
{
    const struct mdf_value *x = mdf_call_tensor(call, 0), *weights = mdf_call_tensor(call, 1), *bias = mdf_call_input(call, 2);
    struct mdf_workspace workspace;
    struct mdf_windows windows;
    struct group_shape groups;
    const void *elements[3] = {NULL, NULL, NULL};
    void *y;
    size_t n;

    if (x == NULL || weights == NULL || (bias != NULL && mdf_call_tensor(call, 2) == NULL) ||
        !check_operands(call, call->settings, x, weights, bias) ||
        !mdf_workspace_begin(&workspace, call, mdf_workspace_dtype((mdf_dtype)x->dtype), 9) ||
        !plan_transposed(&workspace, x, weights, &windows, &groups)) {
        return false;
    }
    for (size_t i = 0; i < (bias != NULL ? 3 : 2); i++) {
        elements[i] = mdf_workspace_input(&workspace, i);
        if (elements[i] == NULL) {
            return false;
        }
    }
    y = mdf_workspace_output(&workspace, 0, (mdf_dtype)x->dtype, windows.rank + 2, windows.shape);
    if (y == NULL || !mdf_workspace_product(call, windows.shape, 0, windows.rank + 2, &n)) {
        return false;
    }
    return (n == 0 || run_transposed(&workspace, &windows, &groups, elements[0], elements[1], elements[2], y)) &&
           mdf_workspace_end(&workspace);
}

static bool plan_routine(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct mdf_value *x = call->inputs[0], *weights = call->inputs[1];
    mdf_dtype dtype = (mdf_dtype)x->dtype;
    struct mdf_product product = {.dtype = dtype, .alpha = 1, .a_row = 1, .b_column = 1};
    struct mdf_workspace workspace;
    struct mdf_windows windows;
    struct group_shape groups;
    size_t n_taps;

    if (!mdf_dtype_is_real(dtype) || !mdf_workspace_begin(&workspace, call, dtype, 9) ||
        !plan_transposed(&workspace, x, weights, &windows, &groups) || !mdf_routine_room(plan, 6 + 6 * windows.rank, 0) ||
        !mdf_workspace_product(call, mdf_value_shape(weights), 2, weights->rank, &n_taps) ||
        !mdf_workspace_product(call, mdf_value_shape(x), 2, x->rank, &product.n)) {
        return false;
    }
    product.k = groups.channels;
    product.m = groups.outputs * n_taps;
    product.a_column = (int64_t)product.m;
    product.b_row = product.c_row = (int64_t)product.n;
    plan->function = "convolve_back";
    plan->dtype = dtype;
    plan->whole[0] = (int64_t)groups.n_batches;
    plan->whole[1] = (int64_t)groups.n_groups;
    plan->whole[2] = (int64_t)groups.channels;
    plan->whole[3] = (int64_t)groups.outputs;
    plan->whole[4] = (int64_t)windows.rank;
    plan->whole[5] = mdf_product_routine(mdf_product_order(&product), dtype);
    mdf_windows_write(&windows, plan->whole + 6);
    plan->work_bytes = mdf_windows_bytes_met(&windows) + (product.k + 2 * product.n) * mdf_dtype_size(dtype);
    return true;
}

#include "functions/windows/taps_routine.inc"
#define ROUTINES "functions/products/add_product_routine.inc"
#include "functions/kernel/routine_reals.inc"
#define ROUTINES "functions/products/multiply_routine.inc"
#include "functions/kernel/routine_reals.inc"
#define ROUTINES "functions/windows/windows_routine.inc"
#include "functions/kernel/routine_reals.inc"

MDF_REAL_ROUTINES_IN_VECTORS(convolve_back)

/* Of so few products that the kernel's looks at types and shapes would take longer. */
static mdf_routine_function routine_function(const struct mdf_routine_plan *plan)
{
    enum { MOST_PRODUCTS = 1 << 10 };

    return mdf_windows_meet_few_products(plan->whole, plan->whole + 6, plan->whole[4], MOST_PRODUCTS)
               ? MDF_WIDEST_OF_REALS(plan, convolve_back)
               : NULL;
}

/* The settings, with the pads that are an input. */
static bool read_pads(struct mdf_call *call, struct transpose_settings *settings)
{
    *settings = *(const struct transpose_settings *)call->settings;
    if (mdf_call_input(call, 2) != NULL) {
        settings->window.pads.items = mdf_call_integers(call, 2, 0, &settings->window.pads.n);
    }
    return mdf_call_input(call, 2) == NULL || settings->window.pads.items != NULL;
}

/* X, W, pads or nothing, B or nothing. */
static bool conv_transpose_with_pads(struct mdf_call *call)
{
    struct transpose_settings settings;
    const struct mdf_value *inputs[] = {mdf_call_input(call, 0), mdf_call_input(call, 1), mdf_call_input(call, 3)};
    struct mdf_call inner = *call;

    if (!read_pads(call, &settings)) {
        return false;
    }
    inner.settings = &settings;
    inner.inputs = inputs;
    inner.n_inputs = inputs[2] != NULL ? 3 : 2;
    inner.constants = NULL;
    return conv_transpose(&inner);
}

/* ------------------------------------------------------------------ what derivatives are made of */

static bool find_places(struct mdf_call *call)
{
    const struct mdf_value *x = mdf_call_tensor(call, 0), *weights = mdf_call_tensor(call, 1);
    struct mdf_workspace workspace;
    struct mdf_windows windows;
    struct group_shape groups;

    return x != NULL && weights != NULL && mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, 9) &&
           plan_transposed(&workspace, x, weights, &windows, &groups) &&
           mdf_windows_places(call, &windows, windows.shape[0], windows.shape[1]);
}

static bool find_places_with_pads(struct mdf_call *call)
{
    struct transpose_settings settings;
    struct mdf_call inner = *call;

    inner.settings = &settings;
    return read_pads(call, &settings) && find_places(&inner);
}

static const struct mdf_operator places_with_pads = {
    "ConvTransposeWithDynamicPads.places", 0,           0, find_places_with_pads, NULL, 0, MDF_OPERATOR_KEEPS_INPUTS, NULL,
    .derivatives = mdf_derivatives_flat,   .by_form = 3};

static const struct mdf_operator places = {"ConvTranspose.places",
                                           0,
                                           0,
                                           find_places,
                                           NULL,
                                           0,
                                           MDF_OPERATOR_KEEPS_INPUTS,
                                           NULL,
                                           .derivatives = mdf_derivatives_flat,
                                           .by_form = 3};

/* Of the places in the result, and B or nothing. */
#define TRANSPOSED(bias, at)                                                                                                   \
    {"at", at, NULL},                                                                                                          \
        {"factors", "gradient.turn(numpy.reshape(x1, [group, x1.shape[0] // group, x1.shape[1] * at.shape[2]]), True)", NULL}, \
        {"rows", "numpy.reshape(x0, [x0.shape[0], group, x0.shape[1] // group, at.shape[3]])", NULL},                          \
        {"plain", "gradient.send_back(numpy.matmul(factors, rows), at, y)", NULL},                                             \
    {                                                                                                                          \
        "with_bias", "plain if " bias " is None else plain + numpy.reshape(" bias ", [-1] + [1] * (x0.ndim - 2))", NULL              \
    }

const struct mdf_operator mdf_operators_conv_transpose[] = {
    {"ConvTranspose", 1, 99, conv_transpose, transpose_table, sizeof(struct transpose_settings), MDF_OPERATOR_PURE, NULL,
     .infer = &mdf_rule_conv_transpose, .meaning = MDF_MEANING("with_bias", &places, TRANSPOSED("x2", "places(x0, x1)")),
     .routine = &(const struct mdf_routine){plan_routine, .function = routine_function}},
    {"ConvTransposeWithDynamicPads", 1, 99, conv_transpose_with_pads, transpose_table, sizeof(struct transpose_settings),
     MDF_OPERATOR_PURE, NULL, .infer = &mdf_rule_rank,
     .meaning = MDF_MEANING("with_bias", &places_with_pads, TRANSPOSED("x3", "places(x0, x1, x2)"))},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
