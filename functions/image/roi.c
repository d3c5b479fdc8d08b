/* roi.c - pools over regions of interest: MaxRoiPool, RoiAlign.
 *
 * Comes in: X [batch, channels, height, width] and regions, of which a batch number is known. Goes out: for each region and
 * channel a grid of cells: the largest element in each, or the mean or maximum of points sampled in it between elements.
 * Computed in float64. Source: the ONNX operators, all versions. */
#include "functions/kernel/derivatives.h"
#include "functions/kernel/routine.h"
#include "functions/kernel/workspace.h"

#include <math.h>
#include <string.h>

struct roi_settings {
    struct mdf_ints pooled_shape;
    double spatial_scale;
    int64_t output_height, output_width, sampling_ratio;
    const char *mode, *coordinates;
};

static const struct mdf_setting max_table[] = {{"pooled_shape", MDF_SETTING_INTS, offsetof(struct roi_settings, pooled_shape)},
                                               {"spatial_scale", MDF_SETTING_FLOAT, offsetof(struct roi_settings, spatial_scale)},
                                               {NULL, MDF_SETTING_INT, 0}};
static const struct mdf_setting align_table[] = {
    {"output_height", MDF_SETTING_INT, offsetof(struct roi_settings, output_height)},
    {"output_width", MDF_SETTING_INT, offsetof(struct roi_settings, output_width)},
    {"sampling_ratio", MDF_SETTING_INT, offsetof(struct roi_settings, sampling_ratio)},
    {"spatial_scale", MDF_SETTING_FLOAT, offsetof(struct roi_settings, spatial_scale)},
    {"mode", MDF_SETTING_STRING, offsetof(struct roi_settings, mode)},
    {"coordinate_transformation_mode", MDF_SETTING_STRING, offsetof(struct roi_settings, coordinates)},
    {NULL, MDF_SETTING_INT, 0}};

#include "functions/image/roi_points_routine.inc"

/* More points along one axis of a cell can not be meant (mdf_roi_axis). */
enum { MAX_POINTS = 4096 };

struct regions {
    const double *x, *rois;
    double *y;
    const int64_t *batches; /* of RoiAlign: batch of each region */
    const struct roi_settings *settings;
    int64_t n_rois, n_batches, n_channels, height, width, cells_down, cells_across;
    bool wants_places; /* of the largest elements, in their place */
    bool is_float64;   /* what the regions are given in */
};

/* Reads X and the regions, of `n_numbers` numbers each, and makes the output. */
static bool prepare_regions(struct mdf_workspace *workspace, struct mdf_call *call, int64_t n_numbers, struct regions *job)
{
    const struct mdf_value *x = mdf_call_tensor(call, 0), *rois = mdf_call_tensor(call, 1);
    int64_t shape[4];

    if (x == NULL || rois == NULL || !mdf_workspace_begin(workspace, call, MDF_DTYPE_FLOAT64, 3)) {
        return false;
    }
    if (x->rank != 4 || rois->rank != 2 || mdf_value_shape(rois)[1] != n_numbers) {
        char x_text[96], text[96];

        mdf_value_describe(x, x_text, sizeof x_text);
        mdf_value_describe(rois, text, sizeof text);
        return mdf_call_error(call, MDF_SHAPE,
                              "X is %s and the regions are %s; ranks 4 and 2, and %lld numbers a region are needed", x_text, text,
                              (long long)n_numbers);
    }
    job->n_rois = mdf_value_shape(rois)[0];
    job->n_batches = mdf_value_shape(x)[0];
    job->n_channels = mdf_value_shape(x)[1];
    job->height = mdf_value_shape(x)[2];
    job->width = mdf_value_shape(x)[3];
    job->is_float64 = rois->dtype == MDF_DTYPE_FLOAT64;
    memcpy(shape, (const int64_t[4]){job->n_rois, job->n_channels, job->cells_down, job->cells_across}, sizeof shape);
    job->x = mdf_workspace_input(workspace, 0);
    job->rois = job->x == NULL ? NULL : mdf_workspace_input(workspace, 1);
    job->y = job->rois == NULL
                 ? NULL
                 : mdf_workspace_output(workspace, 0, job->wants_places ? MDF_DTYPE_INT64 : (mdf_dtype)x->dtype, 4, shape);
    return job->y != NULL;
}

static bool check_batch(struct mdf_call *call, const struct regions *job, int64_t region, double batch)
{
    if (batch >= 0 && batch < (double)job->n_batches) {
        return true;
    }
    return mdf_call_error(call, MDF_VALUE, "region %lld is in batch %g of %lld", (long long)region, batch,
                          (long long)job->n_batches);
}

/* ------------------------------------------------------------------ MaxRoiPool */

/* Elements of a cell along one axis. */
struct span {
    int64_t first, last;
};

static struct span cell_span(double start, double end, int64_t cell, int64_t n_cells, int64_t size)
{
    struct span span;

    mdf_roi_span(start, end, cell, n_cells, size, &span.first, &span.last);
    return span;
}

/* The largest element, and in *at where it is in the plane; 0 of none, and -1. */
static double largest_in(const double *plane, int64_t width, struct span rows, struct span columns, int64_t *at)
{
    double largest = rows.first < rows.last && columns.first < columns.last ? -INFINITY : 0;

    *at = -1;
    for (int64_t row = rows.first; row < rows.last; row++) {
        for (int64_t column = columns.first; column < columns.last; column++) {
            bool is_larger = plane[row * width + column] > largest;

            largest = is_larger ? plane[row * width + column] : largest;
            *at = is_larger ? row * width + column : *at;
        }
    }
    return largest;
}

/* One cell of all channels; `y` is that of the first one. */
static void pool_planes(const struct regions *job, const double *planes, struct span rows, struct span columns, double *y)
{
    for (int64_t channel = 0; channel < job->n_channels; channel++) {
        int64_t at;
        double largest = largest_in(planes, job->width, rows, columns, &at);

        *y = !job->wants_places ? largest : at < 0 ? 0 : (double)(planes - job->x + at + 1);
        planes += job->height * job->width;
        y += job->cells_down * job->cells_across;
    }
}

static void pool_regions(void *context, size_t first, size_t last)
{
    const struct regions *job = context;
    int64_t n_cells = job->cells_down * job->cells_across;
    double scale = job->settings->spatial_scale;

    for (size_t region = first; region < last; region++) {
        const double *roi = job->rois + 5 * region;
        double left = round(roi[1] * scale), top = round(roi[2] * scale), right = round(roi[3] * scale),
               bottom = round(roi[4] * scale);

        for (int64_t cell = 0; cell < n_cells; cell++) {
            pool_planes(job, job->x + (int64_t)roi[0] * job->n_channels * job->height * job->width,
                        cell_span(top, bottom, cell / job->cells_across, job->cells_down, job->height),
                        cell_span(left, right, cell % job->cells_across, job->cells_across, job->width),
                        job->y + (int64_t)region * job->n_channels * n_cells + cell);
        }
    }
}

static bool pool_all(struct mdf_call *call, bool wants_places)
{
    const struct roi_settings *settings = call->settings;
    struct mdf_workspace workspace;
    const double element_ns = 1; /* rough time of one, to judge what is worth a thread */
    struct regions job = {.wants_places = wants_places};

    if (settings->pooled_shape.items == NULL || settings->pooled_shape.n != 2 || settings->pooled_shape.items[0] < 1 ||
        settings->pooled_shape.items[1] < 1) {
        return mdf_call_error(call, MDF_VALUE, "pooled_shape has to be two numbers from 1 on");
    }
    job.cells_down = settings->pooled_shape.items[0];
    job.cells_across = settings->pooled_shape.items[1];
    if (!prepare_regions(&workspace, call, 5, &job)) {
        return false;
    }
    job.settings = settings;
    for (int64_t region = 0; region < job.n_rois && job.n_channels > 0; region++) {
        if (!check_batch(call, &job, region, job.rois[5 * region])) {
            return false;
        }
    }
    if (job.n_channels > 0) {
        mdf_parallel_for(call->context, (size_t)job.n_rois, element_ns * (double)(job.n_channels * job.height * job.width),
                         pool_regions, &job);
    }
    return mdf_workspace_end(&workspace);
}

static bool max_roi_pool(struct mdf_call *call)
{
    return pool_all(call, false);
}

/* What the routines of both operators are told first, of so many whole numbers: how many regions, and the shape of the planes. */
static bool plan_regions(struct mdf_call *call, struct mdf_routine_plan *plan, const char *function, size_t n_whole)
{
    const struct roi_settings *settings = call->settings;
    const struct mdf_value *x = call->inputs[0], *rois = call->inputs[1];

    if (!mdf_dtype_is_real(x->dtype) || rois->dtype != x->dtype || x->rank != 4 || rois->rank != 2 ||
        !mdf_routine_room(plan, n_whole, 1)) {
        return false;
    }
    plan->function = function;
    plan->dtype = (mdf_dtype)x->dtype;
    plan->whole[0] = mdf_value_shape(rois)[0];
    memcpy(plan->whole + 1, mdf_value_shape(x), 4 * sizeof *plan->whole);
    plan->real[0] = settings->spatial_scale;
    return true;
}

static bool plan_roi_pool(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct roi_settings *settings = call->settings;

    if (!plan_regions(call, plan, "roi_pool", 7)) {
        return false;
    }
    memcpy(plan->whole + 5, settings->pooled_shape.items, 2 * sizeof *plan->whole);
    return true;
}

/* Which elements are the largest, counted from 1; 0: none. */
static bool find_largest(struct mdf_call *call)
{
    return pool_all(call, true);
}

static const struct mdf_operator largest_places = {
    "MaxRoiPool.places", 0, 0, find_largest, NULL, 0, MDF_OPERATOR_KEEPS_INPUTS, NULL, .derivatives = mdf_derivatives_flat};

/* ------------------------------------------------------------------ RoiAlign */

/* Cells of one region, and the points sampled in each. */
struct sampling {
    double top, left, cell_height, cell_width;
    int64_t points_down, points_across;
    bool use_max;
};

/* A point: the elements around it, and their weights. One that is too far outside weighs nothing, and stands for 0. */
struct point {
    int64_t corners[4]; /* offsets in a plane; the first is -1 of one too far outside */
    double weights[4];
};

/* Points of a cell that are worked out at once, for all channels. */
enum { SOME_POINTS = 64 };

static struct point find_point(const struct regions *job, double y, double x)
{
    struct point point = {{-1, 0, 0, 0}, {0, 0, 0, 0}};

    mdf_roi_corners(job->height, job->width, y, x, point.corners, point.weights);
    return point;
}

/* The parts of a point: the four elements around it by weight. One too far outside has none that count. */
static inline bool find_parts(const struct point *point, const double *plane, double parts[4])
{
    for (size_t i = 0; point->corners[0] >= 0 && i < 4; i++) {
        parts[i] = point->weights[i] * plane[point->corners[i]];
    }
    return point->corners[0] >= 0;
}

static inline double sum_parts(const struct point *point, const double *plane)
{
    double parts[4];

    return find_parts(point, plane, parts) ? parts[0] + parts[1] + parts[2] + parts[3] : 0;
}

static inline double largest_part(const struct point *point, const double *plane)
{
    double parts[4];

    return find_parts(point, plane, parts) ? mdf_roi_largest(parts) : 0;
}

/* Adds points to the cell of every channel, or takes the largest; `y` is that of the first channel. */
static void add_points(const struct regions *job, const struct point *points, size_t n, bool use_max, bool is_first,
                       const double *planes, double *y)
{
    size_t n_plane = (size_t)(job->height * job->width), n_cells = (size_t)(job->cells_down * job->cells_across);

    for (int64_t channel = 0; channel < job->n_channels; channel++, planes += n_plane, y += n_cells) {
        double result = !is_first ? *y : use_max && n > 0 ? largest_part(&points[0], planes) : 0;

        for (size_t i = 0; !use_max && i < n; i++) {
            result += sum_parts(&points[i], planes);
        }
        for (size_t i = 0; use_max && i < n; i++) {
            result = mdf_roi_larger(largest_part(&points[i], planes), result);
        }
        *y = result;
    }
}

static void pool_cell(const struct regions *job, const struct sampling *sampling, const double *planes, int64_t down,
                      int64_t across, double *y)
{
    int64_t n_across = sampling->points_across, n_points = sampling->points_down * n_across, n_some;
    size_t n_cells = (size_t)(job->cells_down * job->cells_across);
    struct point some[SOME_POINTS];

    for (int64_t first = 0; first == 0 || first < n_points; first += n_some) {
        n_some = n_points - first < SOME_POINTS ? n_points - first : SOME_POINTS;
        for (int64_t k = 0; k < n_some; k++) {
            int64_t i = (first + k) / n_across, j = (first + k) % n_across;

            some[k] = find_point(job, mdf_roi_place(sampling->top, sampling->cell_height, down, i, sampling->points_down),
                                 mdf_roi_place(sampling->left, sampling->cell_width, across, j, n_across));
        }
        add_points(job, some, (size_t)n_some, sampling->use_max, first == 0, planes, y);
        n_some = n_some > 0 ? n_some : 1;
    }
    for (size_t channel = 0; channel < (size_t)job->n_channels && !sampling->use_max; channel++) {
        y[channel * n_cells] /= fmax((double)n_points, 1);
    }
}

static bool is_half_pixel(const struct roi_settings *settings)
{
    return settings->coordinates != NULL && strcmp(settings->coordinates, "half_pixel") == 0;
}

static bool takes_largest(const struct roi_settings *settings)
{
    return settings->mode != NULL && strcmp(settings->mode, "max") == 0;
}

/* False: a cell would have too many points. */
static bool plan_sampling(const struct roi_settings *settings, const struct regions *job, int64_t region,
                          struct sampling *sampling)
{
    const double *roi = job->rois + 4 * region;
    bool is_half = is_half_pixel(settings), fits;

    sampling->use_max = takes_largest(settings);
    fits = mdf_roi_axis(job->is_float64, is_half, roi[1], roi[3], settings->spatial_scale, job->cells_down,
                        settings->sampling_ratio, &sampling->top, &sampling->cell_height, &sampling->points_down);
    return mdf_roi_axis(job->is_float64, is_half, roi[0], roi[2], settings->spatial_scale, job->cells_across,
                        settings->sampling_ratio, &sampling->left, &sampling->cell_width, &sampling->points_across) &&
           fits;
}

static bool check_regions(struct mdf_call *call, const struct regions *job)
{
    const struct roi_settings *settings = call->settings;
    struct sampling sampling;

    for (int64_t region = 0; region < job->n_rois; region++) {
        if (!check_batch(call, job, region, (double)job->batches[region])) {
            return false;
        }
        if (!plan_sampling(settings, job, region, &sampling)) {
            return mdf_call_error(
                call, MDF_LIMIT, "a cell of %g by %g with sampling_ratio %lld would take more than %d points along an axis",
                sampling.cell_height, sampling.cell_width, (long long)settings->sampling_ratio, (int)MAX_POINTS);
        }
    }
    return true;
}

/* Cells [first, last), counted by region; check_regions has passed. */
static void align_cells(void *context, size_t first, size_t last)
{
    const struct regions *job = context;
    size_t n_cells = (size_t)(job->cells_down * job->cells_across), n_plane = (size_t)(job->height * job->width);

    for (size_t at = first; at < last; at++) {
        size_t region = at / n_cells, cell = at % n_cells;
        struct sampling sampling;

        plan_sampling(job->settings, job, (int64_t)region, &sampling);
        pool_cell(job, &sampling, job->x + (size_t)(job->batches[region] * job->n_channels) * n_plane,
                  (int64_t)cell / job->cells_across, (int64_t)cell % job->cells_across,
                  job->y + region * (size_t)job->n_channels * n_cells + cell);
    }
}

static bool align_regions(struct mdf_call *call, struct regions *job)
{
    const double point_ns = 3; /* rough time of one in one channel, to judge what is worth a thread */
    struct sampling sampling;

    job->settings = call->settings;
    if (!check_regions(call, job)) {
        return false;
    }
    if (job->n_rois > 0) {
        plan_sampling(job->settings, job, 0, &sampling);
        mdf_parallel_for(call->context, (size_t)(job->n_rois * job->cells_down * job->cells_across),
                         point_ns * (double)job->n_channels * (double)(sampling.points_down * sampling.points_across),
                         align_cells, job);
    }
    return true;
}

static bool roi_align(struct mdf_call *call)
{
    const struct roi_settings *settings = call->settings;
    struct mdf_workspace workspace;
    struct regions job = {.wants_places = false};
    size_t n;

    if (settings->output_height < 1 || settings->output_width < 1 || settings->output_height > INT32_MAX ||
        settings->output_width > INT32_MAX) {
        return mdf_call_error(call, MDF_VALUE, "output_height and output_width are %lld and %lld",
                              (long long)settings->output_height, (long long)settings->output_width);
    }
    if (settings->mode != NULL && strcmp(settings->mode, "avg") != 0 && strcmp(settings->mode, "max") != 0) {
        return mdf_call_error(call, MDF_VALUE, "mode is '%s', not avg or max", settings->mode);
    }
    job.cells_down = settings->output_height;
    job.cells_across = settings->output_width;
    if (!prepare_regions(&workspace, call, 4, &job)) {
        return false;
    }
    job.batches = mdf_call_integers(call, 2, 1, &n);
    if (job.batches == NULL) {
        return false;
    }
    if ((int64_t)n != job.n_rois) {
        return mdf_call_error(call, MDF_SHAPE, "batch_indices has %zu numbers for %lld regions", n, (long long)job.n_rois);
    }
    return (job.n_channels == 0 || align_regions(call, &job)) && mdf_workspace_end(&workspace);
}

static bool plan_roi_align(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct roi_settings *settings = call->settings;

    if (!plan_regions(call, plan, "roi_align", 11)) {
        return false;
    }
    plan->whole[5] = settings->output_height;
    plan->whole[6] = settings->output_width;
    plan->whole[7] = settings->sampling_ratio;
    plan->whole[8] = takes_largest(settings);
    plan->whole[9] = is_half_pixel(settings);
    plan->whole[10] = plan->dtype == MDF_DTYPE_FLOAT64;
    return true;
}

/* How much the elements of an axis count for each cell: [regions, cells, size]. A point lies between two elements; those of a
 * cell count alike. */
#define SHARES(name, low, high, cells, size)                                                                                    \
    {name "_offset", "0.5 if coordinate_transformation_mode == 'half_pixel' else 0.0", NULL},                                   \
        {name "_given",                                                                                                         \
         "(x1[:, " high "] * spatial_scale - " name "_offset) - (x1[:, " low "] * spatial_scale - " name "_offset)", NULL},     \
        {name "_length",                                                                                                        \
         name "_given if coordinate_transformation_mode == 'half_pixel' else numpy.maximum(" name "_given, 1.0)", NULL},        \
        {name "_cell", "numpy.reshape(" name "_length, [-1, 1, 1]) / " cells, NULL},                                            \
        {name "_n", "1.0 * sampling_ratio + 0.0 * numpy.floor(" name "_cell) if sampling_ratio else numpy.ceil(" name "_cell)", \
         NULL},                                                                                                                 \
        {name "_points", "numpy.arange(int(numpy.max(numpy.maximum(" name "_n, 1.0))))", NULL},                                 \
        {name "_start", "numpy.reshape(x1[:, " low "], [-1, 1, 1]) * spatial_scale - " name "_offset", NULL},                   \
        {name "_place",                                                                                                         \
         name "_start + numpy.expand_dims(numpy.arange(" cells "), 1) * " name "_cell + (" name "_points + 0.5) * " name        \
              "_cell / numpy.maximum(" name "_n, 1.0)",                                                                         \
         NULL},                                                                                                                 \
        {name "_counts", "(" name "_place >= -1) & (" name "_place <= " size ") & (" name "_points < " name "_n)", NULL},       \
        {name "_at", "numpy.expand_dims(numpy.clip(" name "_place, 0.0, " size " - 1.0), 3)", NULL},                            \
    {                                                                                                                           \
        name,                                                                                                                   \
            "numpy.sum(numpy.maximum(1 - numpy.abs(" name "_at - numpy.arange(" size ")), 0.0) * numpy.expand_dims(" name       \
            "_counts, 3), 2) / numpy.maximum(" name "_n, 1.0)",                                                                 \
            NULL                                                                                                                \
    }

const struct mdf_operator mdf_operators_roi[] = {
    {"MaxRoiPool", 1, 99, max_roi_pool, max_table, sizeof(struct roi_settings), MDF_OPERATOR_PURE, NULL,
     .meaning = MDF_MEANING("result", &largest_places, {"result", "gradient.take(x0, places(x0, x1))", NULL}),
     .routine = MDF_ROUTINE(plan_roi_pool, "a region is in no batch")},
    {"RoiAlign", 10, 99, roi_align, align_table, sizeof(struct roi_settings), MDF_OPERATOR_PURE, NULL,
     .meaning = MDF_MEANING(
         "result", NULL,
         {"planes", "gradient.refuse('the largest point of a region') if mode == 'max' else numpy.take(x0, x2, 0)", NULL},
         SHARES("down", "1", "3", "y.shape[2]", "x0.shape[2]"), SHARES("across", "0", "2", "y.shape[3]", "x0.shape[3]"),
         {"result",
          "numpy.matmul(numpy.matmul(numpy.expand_dims(down, 1), planes), gradient.turn(numpy.expand_dims(across, 1), True))",
          NULL}),
     .routine = MDF_ROUTINE(plan_roi_align, "a region is in no batch, or its cells have too many points")},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
