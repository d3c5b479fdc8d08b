/* pool.c - pools: MaxPool, AveragePool, LpPool, and each over whole planes: GlobalMaxPool, GlobalAveragePool, GlobalLpPool.
 *
 * Comes in: X [n, c, ...]. Goes out: Y [n, c, ...], the largest element, mean or p-norm of each window; of MaxPool also where
 * that element lies in X, flattened (-1: the window is all padding). Source: the ONNX operators of these names, all versions. */
#include "functions/elements/vectors/vector_rows.h"
#include "functions/kernel/derivatives.h"
#include "functions/kernel/routine.h"
#include "functions/moves/indexing.h"
#include "functions/windows/pool_windows.h"

#include "mdf_c/base/sizes.h"

#include <math.h>
#include <string.h>

struct pool_settings {
    struct mdf_window_settings window;
    int64_t count_include_pad, storage_order;
    double p;
};

static const struct mdf_setting max_table[] = {MDF_WINDOW_SETTINGS,
                                               {"storage_order", MDF_SETTING_INT, offsetof(struct pool_settings, storage_order)},
                                               {NULL, MDF_SETTING_INT, 0}};
static const struct mdf_setting average_table[] = {
    MDF_WINDOW_SETTINGS,
    {"count_include_pad", MDF_SETTING_INT, offsetof(struct pool_settings, count_include_pad)},
    {NULL, MDF_SETTING_INT, 0}};

/* p is a real number in version 1, an integer from 2 on. */
struct norm_settings {
    struct mdf_window_settings window;
    double real_p;
    int64_t integer_p;
};

static const struct mdf_setting norm_1_table[] = {
    MDF_WINDOW_SETTINGS, {"p", MDF_SETTING_FLOAT, offsetof(struct norm_settings, real_p)}, {NULL, MDF_SETTING_INT, 0}};
static const struct mdf_setting norm_2_table[] = {
    MDF_WINDOW_SETTINGS, {"p", MDF_SETTING_INT, offsetof(struct norm_settings, integer_p)}, {NULL, MDF_SETTING_INT, 0}};

/* A pool under way. */
struct pooling {
    struct mdf_taps taps;
    const struct mdf_context *context; /* a plane may take long */
    const void *x;
    void *y;
    const struct mdf_vector_rows *rows;
    const struct mdf_pool_windows *windows;
    int64_t *indices; /* of MaxPool; NULL: not wanted */
    /* Of AveragePool: taps that count, of the windows along the last axis (in the workspace's type), and of each position on the
     * other axes; 1 where there are none, as the mean of nothing is 0. */
    const void *last_divisors;
    const double *outer_divisors;
    double p; /* of LpPool */
};

enum whole_kind { WHOLE_MAX, WHOLE_AVERAGE, WHOLE_NORM };
enum { PLANES_AT_ONCE = 64 };

struct whole {
    const struct mdf_context *context;
    const void *x;
    void *y;
    size_t size; /* of a plane */
    const struct mdf_vector_rows *rows;
    enum whole_kind kind;
    double p;
};

static double power(double x, double p)
{
    return p == 2 ? x * x : p == 1 ? fabs(x) : pow(fabs(x), p);
}

static double root(double x, double p)
{
    return p == 2 ? sqrt(x) : p == 1 ? x : pow(x, 1 / p);
}

/* How windows are combined: those of planes in one go, or one tap of a run of them. */
struct combination {
    const struct mdf_context *context;
    void (*planes)(const struct mdf_taps *taps, size_t n_planes, const void *x, void *y);
    void (*one)(size_t n, const void *x, size_t step, void *y);
};

#define TEMPLATE "functions/windows/pool_rows.inc"
#include "functions/kernel/of_reals.inc"

/* Rough times of one tap, and of what else a whole plane takes, to judge what is worth a thread. */
static const double tap_ns = 0.1, plane_ns = 15;

/* ------------------------------------------------------------------ pools over windows */

typedef void (*pool_function)(void *context, size_t first, size_t last);

/* Reads the attributes, and makes output 0 and the taps. */
static bool prepare_pool(struct mdf_workspace *workspace, const struct mdf_window_settings *settings, struct mdf_windows *windows,
                         struct pooling *job)
{
    struct mdf_call *call = workspace->call;
    const struct mdf_value *x = mdf_call_tensor(call, 0);

    if (x == NULL || !mdf_workspace_begin(workspace, call, mdf_workspace_dtype((mdf_dtype)x->dtype), 7) ||
        !mdf_windows_read(workspace, settings, x, NULL, windows) || !mdf_windows_count(call, settings, windows)) {
        return false;
    }
    for (size_t i = 0; i < x->rank; i++) {
        windows->shape[i] = i < 2 ? mdf_value_shape(x)[i] : windows->axes[i - 2].windows;
    }
    job->rows = mdf_vector_rows(workspace->dtype);
    job->windows = mdf_pool_windows(workspace->dtype);
    job->x = mdf_workspace_input(workspace, 0);
    job->y = job->x == NULL ? NULL : mdf_workspace_output(workspace, 0, (mdf_dtype)x->dtype, x->rank, windows->shape);
    return job->y != NULL && mdf_taps_prepare(workspace, windows, true, &job->taps);
}

static void run_pool(struct mdf_workspace *workspace, struct pooling *job, pool_function float32, pool_function float64)
{
    const int64_t *shape = mdf_value_shape(workspace->call->inputs[0]);
    double cost_ns = (double)job->taps.n_outer * (double)job->taps.n_run * (double)job->taps.n_taps * tap_ns;
    size_t n_planes = (size_t)shape[0] * (size_t)shape[1];

    if (job->taps.n_outer > 0 && job->taps.n_run > 0) {
        job->context = workspace->call->context;
        mdf_parallel_for(job->context, n_planes, cost_ns, workspace->dtype == MDF_DTYPE_FLOAT32 ? float32 : float64, job);
    }
}

/* Whether there is one window, which meets all of a plane and nothing else: what it comes to is that of the plane. */
static bool is_whole_plane(const struct mdf_windows *windows)
{
    for (size_t i = 0; i < windows->rank; i++) {
        const struct mdf_window_axis *axis = &windows->axes[i];

        if (axis->windows != 1 || axis->kernel != axis->array || axis->pad_begin != 0 ||
            (axis->dilation != 1 && axis->kernel != 1)) {
            return false;
        }
    }
    return true;
}

static void run_planes(struct mdf_workspace *workspace, const struct pooling *pool, enum whole_kind kind, size_t n_planes)
{
    struct mdf_context *context = workspace->call->context;
    struct whole job = {context, pool->x, pool->y, pool->taps.array_size, pool->rows, kind, 0};

    mdf_parallel_for(context, n_planes, plane_ns + (double)job.size * tap_ns,
                     workspace->dtype == MDF_DTYPE_FLOAT32 ? pool_whole_float32 : pool_whole_float64, &job);
}

/* A position in a plane by rows, as one by columns: the first axis runs fastest. */
static int64_t turn_position(const struct mdf_taps *taps, int64_t position)
{
    int64_t turned = 0;

    for (size_t i = taps->rank; i-- > 0;) {
        int64_t size = taps->axes[i].array, stride = 1;

        for (size_t before = 0; before < i; before++) {
            stride *= taps->axes[before].array;
        }
        turned += position % size * stride;
        position /= size;
    }
    return turned;
}

/* Positions in planes become positions in the whole array. */
static void place_indices(const struct pooling *job, size_t n_planes, bool by_columns)
{
    size_t n_windows = job->taps.n_outer * (size_t)job->taps.n_run;
    int64_t *index = job->indices;

    for (size_t plane = 0; plane < n_planes; plane++) {
        for (size_t i = 0; i < n_windows && !mdf_should_stop_at(job->context, i, MDF_ITEMS_PER_LOOK); i++, index++) {
            if (*index >= 0) {
                *index = (by_columns ? turn_position(&job->taps, *index) : *index) + (int64_t)(plane * job->taps.array_size);
            }
        }
    }
}

/* The least number of a type that has no infinity, where a window has no elements. */
static void limit_to_int8(float *y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        y[i] = y[i] < INT8_MIN ? INT8_MIN : y[i];
    }
}

static bool max_pool(struct mdf_call *call)
{
    const struct pool_settings *settings = call->settings;
    struct mdf_workspace workspace = {.call = call};
    struct mdf_windows windows;
    struct pooling job = {.indices = NULL};

    if (!prepare_pool(&workspace, &settings->window, &windows, &job)) {
        return false;
    }
    if (mdf_call_result(call, 1) != NULL) {
        job.indices = mdf_call_output(call, 1, MDF_DTYPE_INT64, windows.rank + 2, windows.shape);
        if (job.indices == NULL) {
            return false;
        }
    }
    if (job.indices == NULL && is_whole_plane(&windows)) {
        run_planes(&workspace, &job, WHOLE_MAX, (size_t)windows.shape[0] * (size_t)windows.shape[1]);
    } else {
        run_pool(&workspace, &job, job.indices != NULL ? pool_max_indices_float32 : pool_max_float32,
                 job.indices != NULL ? pool_max_indices_float64 : pool_max_float64);
    }
    if (job.indices != NULL && mdf_call_result(call, 1)->length > 0) {
        place_indices(&job, (size_t)windows.shape[0] * (size_t)windows.shape[1], settings->storage_order == 1);
    }
    if (call->inputs[0]->dtype == MDF_DTYPE_INT8) {
        limit_to_int8(job.y, mdf_call_target(call, 0)->length);
    }
    return mdf_workspace_end(&workspace);
}

/* Taps of one window along an axis that lie in [low, high). */
static int64_t count_taps(const struct mdf_window_axis *axis, int64_t window, int64_t low, int64_t high)
{
    int64_t begin = window * axis->stride - axis->pad_begin;
    int64_t first = begin >= low ? 0 : (low - begin + axis->dilation - 1) / axis->dilation;
    int64_t last = begin >= high ? 0 : (high - begin + axis->dilation - 1) / axis->dilation;

    last = last < axis->kernel ? last : axis->kernel;
    return last > first ? last - first : 0;
}

static double divisor_at(const struct mdf_window_axis *axis, int64_t window, bool with_padding)
{
    int64_t low = with_padding ? -axis->pad_begin : 0, high = axis->array + (with_padding ? axis->pad_end : 0);
    int64_t n = count_taps(axis, window, low, high);

    return n > 0 ? (double)n : 1;
}

/* Number of taps by which each window's sum is divided, along the last axis and along the others. */
static bool count_divisors(struct mdf_workspace *workspace, const struct mdf_windows *windows, bool with_padding,
                           struct pooling *job)
{
    size_t n_run = (size_t)job->taps.n_run, n_outer_axes = windows->rank - 1;
    void *last = mdf_workspace_array(workspace, workspace->dtype, n_run);
    double *outer = last != NULL ? mdf_workspace_array(workspace, MDF_DTYPE_FLOAT64, job->taps.n_outer) : NULL;

    for (size_t window = 0; outer != NULL && window < n_run; window++) {
        double divisor = divisor_at(&windows->axes[n_outer_axes], (int64_t)window, with_padding);

        if (workspace->dtype == MDF_DTYPE_FLOAT32) {
            ((float *)last)[window] = (float)divisor;
        } else {
            ((double *)last)[window] = divisor;
        }
    }
    for (size_t window = 0; outer != NULL && window < job->taps.n_outer; window++) {
        size_t left = window;

        outer[window] = 1;
        for (size_t i = n_outer_axes; i-- > 0;) {
            outer[window] *= divisor_at(&windows->axes[i], (int64_t)(left % (size_t)windows->axes[i].windows), with_padding);
            left /= (size_t)windows->axes[i].windows;
        }
    }
    job->last_divisors = last;
    job->outer_divisors = outer;
    return outer != NULL;
}

static bool average_pool(struct mdf_call *call)
{
    const struct pool_settings *settings = call->settings;
    struct mdf_workspace workspace = {.call = call};
    struct mdf_windows windows;
    struct pooling job = {.indices = NULL};
    bool with_padding = mdf_is_set(settings->count_include_pad);

    if (!prepare_pool(&workspace, &settings->window, &windows, &job)) {
        return false;
    }
    if (is_whole_plane(&windows)) {
        run_planes(&workspace, &job, WHOLE_AVERAGE, (size_t)windows.shape[0] * (size_t)windows.shape[1]);
        return mdf_workspace_end(&workspace);
    }
    if (!count_divisors(&workspace, &windows, with_padding, &job)) {
        return false;
    }
    run_pool(&workspace, &job, pool_average_float32, pool_average_float64);
    return mdf_workspace_end(&workspace);
}

static bool pool_norm(struct mdf_call *call, double p)
{
    const struct norm_settings *settings = call->settings;
    struct mdf_workspace workspace = {.call = call};
    struct mdf_windows windows;
    struct pooling job = {.p = p};

    if (!prepare_pool(&workspace, &settings->window, &windows, &job)) {
        return false;
    }
    run_pool(&workspace, &job, pool_norm_float32, pool_norm_float64);
    return mdf_workspace_end(&workspace);
}

static bool norm_pool_1(struct mdf_call *call)
{
    return pool_norm(call, ((const struct norm_settings *)call->settings)->real_p);
}

static bool norm_pool_2(struct mdf_call *call)
{
    return pool_norm(call, (double)((const struct norm_settings *)call->settings)->integer_p);
}

/* ------------------------------------------------------------------ pools over whole planes */

static bool pool_whole(struct mdf_call *call, enum whole_kind kind, double p)
{
    const struct mdf_value *x = mdf_call_tensor(call, 0);
    struct whole job = {.context = call->context, .kind = kind, .p = p};
    struct mdf_workspace workspace;
    int64_t *shape;
    size_t n_planes;

    if (x == NULL || !mdf_workspace_begin(&workspace, call, mdf_workspace_dtype((mdf_dtype)x->dtype), 3)) {
        return false;
    }
    if (x->rank < 2) {
        return mdf_call_error(call, MDF_SHAPE, "X has rank %u, but needs a batch and a channel axis", x->rank);
    }
    job.rows = mdf_vector_rows(workspace.dtype);
    shape = mdf_workspace_array(&workspace, MDF_DTYPE_INT64, x->rank);
    job.x = shape == NULL ? NULL : mdf_workspace_input(&workspace, 0);
    if (job.x == NULL || !mdf_workspace_product(call, mdf_value_shape(x), 0, 2, &n_planes) ||
        !mdf_workspace_product(call, mdf_value_shape(x), 2, x->rank, &job.size)) {
        return false;
    }
    for (size_t i = 0; i < x->rank; i++) {
        shape[i] = i < 2 ? mdf_value_shape(x)[i] : 1;
    }
    job.y = mdf_workspace_output(&workspace, 0, (mdf_dtype)x->dtype, x->rank, shape);
    if (job.y == NULL) {
        return false;
    }
    mdf_parallel_for(call->context, n_planes, plane_ns + (double)job.size * tap_ns,
                     workspace.dtype == MDF_DTYPE_FLOAT32 ? pool_whole_float32 : pool_whole_float64, &job);
    return mdf_workspace_end(&workspace);
}

static bool global_max_pool(struct mdf_call *call)
{
    return pool_whole(call, WHOLE_MAX, 0);
}

static bool global_average_pool(struct mdf_call *call)
{
    return pool_whole(call, WHOLE_AVERAGE, 0);
}

static bool global_norm_pool_1(struct mdf_call *call)
{
    return pool_whole(call, WHOLE_NORM, ((const struct norm_settings *)call->settings)->real_p);
}

static bool global_norm_pool_2(struct mdf_call *call)
{
    return pool_whole(call, WHOLE_NORM, (double)((const struct norm_settings *)call->settings)->integer_p);
}

static const struct mdf_setting global_norm_1_table[] = {{"p", MDF_SETTING_FLOAT, offsetof(struct norm_settings, real_p)},
                                                         {NULL, MDF_SETTING_INT, 0}};
static const struct mdf_setting global_norm_2_table[] = {{"p", MDF_SETTING_INT, offsetof(struct norm_settings, integer_p)},
                                                         {NULL, MDF_SETTING_INT, 0}};

/* ------------------------------------------------------------------ as plain C: windows_routine.inc */

/* Windows and divisors of a pool, in a workspace of its own. */
static bool read_pool(struct mdf_call *call, struct mdf_workspace *workspace, const struct mdf_window_settings *settings,
                      struct mdf_windows *windows, struct pooling *job)
{
    mdf_dtype dtype = (mdf_dtype)call->inputs[0]->dtype;

    workspace->call = call;
    return mdf_dtype_is_real(dtype) && mdf_workspace_begin(workspace, call, dtype, 7) &&
           mdf_windows_read(workspace, settings, call->inputs[0], NULL, windows) && mdf_windows_count(call, settings, windows) &&
           mdf_taps_prepare(workspace, windows, true, &job->taps);
}

static bool plan_windows(struct mdf_call *call, const struct mdf_windows *windows, const struct pooling *job,
                         enum whole_kind kind, size_t n_divisors, struct mdf_routine_plan *plan)
{
    const int64_t *shape = mdf_value_shape(call->inputs[0]);

    if (!mdf_routine_room(plan, 5 + 6 * windows->rank, 1 + n_divisors)) {
        return false;
    }
    plan->function = "pool";
    plan->dtype = (mdf_dtype)call->inputs[0]->dtype;
    plan->whole[0] = shape[0] * shape[1];
    plan->whole[1] = (int64_t)kind;
    plan->whole[2] = kind != WHOLE_NORM && mdf_pool_windows_fit(&job->taps);
    plan->whole[3] = (int64_t)windows->rank;
    mdf_windows_write(windows, plan->whole + 5);
    plan->real[0] = job->p;
    plan->work_bytes = mdf_windows_bytes_met(windows);
    return true;
}

static bool plan_planes(struct mdf_call *call, enum whole_kind kind, double p, struct mdf_routine_plan *plan)
{
    const struct mdf_value *x = call->inputs[0];
    const int64_t *shape = mdf_value_shape(x);

    if (!mdf_dtype_is_real(x->dtype) || !mdf_routine_room(plan, 3, 1)) {
        return false;
    }
    plan->function = "pool_planes";
    plan->dtype = (mdf_dtype)x->dtype;
    plan->whole[0] = shape[0] * shape[1];
    plan->whole[1] = (int64_t)kind;
    plan->whole[2] = (int64_t)mdf_axes_product(shape, 2, x->rank);
    plan->real[0] = p;
    return true;
}

static bool plan_max(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct pool_settings *settings = call->settings;
    struct mdf_workspace workspace;
    struct mdf_windows windows;
    struct pooling job = {.p = 0};

    if (!read_pool(call, &workspace, &settings->window, &windows, &job)) {
        return false;
    }
    if (mdf_call_result(call, 1) == NULL && is_whole_plane(&windows)) {
        return plan_planes(call, WHOLE_MAX, 0, plan);
    }
    if (!plan_windows(call, &windows, &job, WHOLE_MAX, 0, plan)) {
        return false;
    }
    plan->whole[4] = settings->storage_order == 1;
    return true;
}

static bool plan_average(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct pool_settings *settings = call->settings;
    bool with_padding = mdf_is_set(settings->count_include_pad);
    struct mdf_workspace workspace;
    struct mdf_windows windows;
    struct pooling job = {.p = 0};
    size_t n_run;

    if (!read_pool(call, &workspace, &settings->window, &windows, &job)) {
        return false;
    }
    if (is_whole_plane(&windows)) {
        return plan_planes(call, WHOLE_AVERAGE, 0, plan);
    }
    if (!count_divisors(&workspace, &windows, with_padding, &job) ||
        !plan_windows(call, &windows, &job, WHOLE_AVERAGE, (size_t)job.taps.n_run + job.taps.n_outer, plan)) {
        return false;
    }
    n_run = (size_t)job.taps.n_run;
    mdf_convert_elements(MDF_DTYPE_FLOAT64, plan->real + 1, workspace.dtype, job.last_divisors, n_run, false);
    memcpy(plan->real + 1 + n_run, job.outer_divisors, job.taps.n_outer * sizeof *plan->real);
    return true;
}

static bool plan_norm(struct mdf_call *call, double p, struct mdf_routine_plan *plan)
{
    const struct norm_settings *settings = call->settings;
    struct mdf_workspace workspace;
    struct mdf_windows windows;
    struct pooling job = {.p = p};

    return read_pool(call, &workspace, &settings->window, &windows, &job) &&
           plan_windows(call, &windows, &job, WHOLE_NORM, 0, plan);
}

static bool plan_norm_1(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_norm(call, ((const struct norm_settings *)call->settings)->real_p, plan);
}

static bool plan_norm_2(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_norm(call, (double)((const struct norm_settings *)call->settings)->integer_p, plan);
}

static bool plan_global_max(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_planes(call, WHOLE_MAX, 0, plan);
}

static bool plan_global_average(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_planes(call, WHOLE_AVERAGE, 0, plan);
}

static bool plan_global_norm_1(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_planes(call, WHOLE_NORM, ((const struct norm_settings *)call->settings)->real_p, plan);
}

static bool plan_global_norm_2(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_planes(call, WHOLE_NORM, (double)((const struct norm_settings *)call->settings)->integer_p, plan);
}

/* ------------------------------------------------------------------ what derivatives are made of */

static bool find_places(struct mdf_call *call)
{
    const struct mdf_window_settings *settings = call->settings;
    const struct mdf_value *x = mdf_call_tensor(call, 0);
    struct mdf_workspace workspace;
    struct mdf_windows windows;

    return x != NULL && mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, 7) &&
           mdf_windows_read(&workspace, settings, x, NULL, &windows) && mdf_windows_count(call, settings, &windows) &&
           mdf_windows_places(call, &windows, mdf_value_shape(x)[0], mdf_value_shape(x)[1]);
}

static const struct mdf_operator places = {
    "pool.places", 0, 0, find_places, NULL, 0, MDF_OPERATOR_KEEPS_INPUTS, NULL, .derivatives = mdf_derivatives_flat,
    .by_form = 1};

/* What windows meet, and of what they make the result. A mean is one of what is met, times what the operator makes of ones. */
#define OF_WINDOWS(outputs, ...) \
    MDF_MEANING(outputs, &places, {"at", "places(x0)", NULL}, {"met", "gradient.take(x0, at)", NULL}, __VA_ARGS__)
#define MAX_STEP                                                                                    \
    {                                                                                               \
        "result", "numpy.reshape(numpy.max(numpy.where(at > 0, met, -math.inf), 2), y.shape)", NULL \
    }
#define MEAN_STEP                                                                                                             \
    {                                                                                                                         \
        "result",                                                                                                             \
            "numpy.reshape(numpy.sum(met, 2) / numpy.maximum(numpy.sum(at > 0, 2), 1), y.shape) * self(numpy.ones_like(x0))", \
            NULL                                                                                                              \
    }
#define NORM_STEP                                                                                                              \
    {"total", "numpy.sum(numpy.abs(met) ** p, 2)", NULL},                                                                      \
    {                                                                                                                          \
        "result", "numpy.reshape(numpy.where(total == 0, 0.0, numpy.where(total == 0, 1.0, total) ** (1 / p)), y.shape)", NULL \
    }
/* Of whole planes. */
#define MAX_SHARE "dy * (x0 == y) / numpy.sum(x0 == y, axis=gradient.axes_from(x0, 2), keepdims=True)"
#define NORM_SHARE "dy * numpy.sign(x0) * (numpy.abs(x0) / numpy.where(y == 0, 1.0, y)) ** (p - 1)"

const struct mdf_operator mdf_operators_pool[] = {
    {"MaxPool", 1, 99, max_pool, max_table, sizeof(struct pool_settings), MDF_OPERATOR_PURE, NULL, .infer = &mdf_rule_pool,
     .meaning = OF_WINDOWS("result -", MAX_STEP), .form = MDF_FORM_POOL, .routine = MDF_ROUTINE(plan_max, NULL)},
    {"AveragePool", 1, 99, average_pool, average_table, sizeof(struct pool_settings), MDF_OPERATOR_PURE, NULL,
     .infer = &mdf_rule_pool, .meaning = OF_WINDOWS("result", MEAN_STEP), .form = MDF_FORM_POOL,
     .routine = MDF_ROUTINE(plan_average, NULL)},
    {"LpPool", 1, 1, norm_pool_1, norm_1_table, sizeof(struct norm_settings), MDF_OPERATOR_PURE, NULL, .infer = &mdf_rule_pool,
     .meaning = OF_WINDOWS("result", NORM_STEP), .form = MDF_FORM_POOL, .routine = MDF_ROUTINE(plan_norm_1, NULL)},
    {"LpPool", 2, 99, norm_pool_2, norm_2_table, sizeof(struct norm_settings), MDF_OPERATOR_PURE, NULL, .infer = &mdf_rule_pool,
     .meaning = OF_WINDOWS("result", NORM_STEP), .form = MDF_FORM_POOL, .routine = MDF_ROUTINE(plan_norm_2, NULL)},
    {"GlobalMaxPool", 1, 99, global_max_pool, NULL, 0, MDF_OPERATOR_PURE, NULL, .infer = &mdf_rule_planes,
     .derivatives = MDF_DERIVATIVES({0, MAX_SHARE}), .form = MDF_FORM_POOL_PLANES, .routine = MDF_ROUTINE(plan_global_max, NULL)},
    {"GlobalAveragePool", 1, 99, global_average_pool, NULL, 0, MDF_OPERATOR_PURE, NULL,
     .derivatives = MDF_DERIVATIVES({0, "dy * numpy.ones_like(x0) * (y.size / x0.size)"}), .infer = &mdf_rule_planes,
     .form = MDF_FORM_POOL_PLANES, .routine = MDF_ROUTINE(plan_global_average, NULL)},
    {"GlobalLpPool", 1, 1, global_norm_pool_1, global_norm_1_table, sizeof(struct norm_settings), MDF_OPERATOR_PURE, NULL,
     .infer = &mdf_rule_planes, .derivatives = MDF_DERIVATIVES({0, NORM_SHARE}), .form = MDF_FORM_POOL_PLANES,
     .routine = MDF_ROUTINE(plan_global_norm_1, NULL)},
    {"GlobalLpPool", 2, 99, global_norm_pool_2, global_norm_2_table, sizeof(struct norm_settings), MDF_OPERATOR_PURE, NULL,
     .infer = &mdf_rule_planes, .derivatives = MDF_DERIVATIVES({0, NORM_SHARE}), .form = MDF_FORM_POOL_PLANES,
     .routine = MDF_ROUTINE(plan_global_norm_2, NULL)},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
