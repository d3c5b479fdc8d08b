/* conv_planes.c - see conv_planes.h. Planes are read where they lie: a vector of adjacent windows, for some rows of the result at
 * once, so that rows of the array that these have in common are read once. What lies beside a plane is masked out, or it is
 * copied with zeros around; what lies above or below is a row of zeros. */
#include "functions/windows/convolutions/planes/conv_planes.h"

#include "mdf_c/base/sizes.h"
#include "functions/windows/convolutions/planes/conv_planes_kernels.h"

#include <string.h>

/* Rough time of one tap at stride 1, to judge what is worth a thread. */
static const double tap_ns = 0.03;

struct job {
    const struct mdf_conv_planes *planes;
    struct mdf_plane_geometry geometry;
    mdf_plane_function convolve;
    const struct mdf_small_planes *small; /* NULL: they are not */
    bool skips;
    size_t size_bytes;        /* of an element */
    size_t n_group, n_groups; /* planes of the result that are worked on at once; groups of a batch */
};

static struct mdf_plane_geometry read_geometry(const struct mdf_windows *windows)
{
    static const struct mdf_window_axis none = {1, 1, 1, 1, 1, 0, 0};
    const struct mdf_window_axis *rows = windows->rank == 2 ? &windows->axes[0] : &none,
                                 *columns = &windows->axes[windows->rank - 1];

    return (struct mdf_plane_geometry){.rows = rows->windows,
                                       .columns = columns->windows,
                                       .array_rows = rows->array,
                                       .array_columns = columns->array,
                                       .kernel_rows = rows->kernel,
                                       .kernel_columns = columns->kernel,
                                       .row_stride = rows->stride,
                                       .stride = columns->stride,
                                       .row_dilation = rows->dilation,
                                       .dilation = columns->dilation,
                                       .pad_rows = rows->pad_begin,
                                       .pad_columns = columns->pad_begin};
}

bool mdf_conv_planes_fit(const struct mdf_windows *windows)
{
    struct mdf_plane_geometry geometry;

    if (windows->rank > 2 || windows->axes[windows->rank - 1].stride > MDF_MOST_PHASES) {
        return false;
    }
    geometry = read_geometry(windows);
    return geometry.stride <= 2 || mdf_plane_is_copied(&geometry);
}

/* Whether there is a kernel for windows of this size. */
static bool has_own_kernel(const struct mdf_plane_geometry *geometry)
{
    int64_t size = geometry->kernel_rows, gap = geometry->dilation;

    return size == geometry->kernel_columns && geometry->row_stride == geometry->stride && geometry->row_dilation == gap &&
           (size == 3 || size == 5 || (size == 7 && gap == 1)) && geometry->stride <= 2 && (gap == 1 || geometry->stride == 1);
}

/* Whether a kernel has one row, or one column that meets rows as they lie, and its row's copy has room. */
static bool is_line(const struct mdf_plane_geometry *geometry)
{
    if (geometry->kernel_rows == 1) {
        return geometry->stride <= 2 && (geometry->kernel_columns - 1) <= MDF_MOST_LINE / geometry->dilation;
    }
    return geometry->kernel_columns == 1 && geometry->stride == 1 && geometry->pad_columns == 0 &&
           geometry->columns == geometry->array_columns;
}

/* Whether planes of 7 by 7 are worth bands: there are as many rows as are summed at once, and some of them have room. */
static bool fits_band(const struct mdf_plane_geometry *geometry)
{
    return geometry->rows >= MDF_MOST_SQUARE_ROWS && geometry->columns <= MDF_MOST_LINE / geometry->stride;
}

/* Whether windows are those of conv_others.inc. */
static bool are_others(const struct mdf_plane_geometry *geometry)
{
    return has_own_kernel(geometry) ? geometry->kernel_rows == 7 && !fits_band(geometry) : !is_line(geometry);
}

/* Whether taps in rows of padding meet zeros. */
static bool meets_zeros(const struct mdf_plane_geometry *geometry)
{
    return are_others(geometry) ? mdf_plane_is_copied(geometry)
                                : has_own_kernel(geometry) && geometry->dilation == 1 && geometry->kernel_rows < 7;
}

bool mdf_conv_planes_skip_rows(const struct mdf_windows *windows)
{
    struct mdf_plane_geometry geometry = read_geometry(windows);

    return !meets_zeros(&geometry);
}

static mdf_plane_function choose_function(mdf_dtype dtype, const struct mdf_plane_geometry *geometry)
{
    size_t stride = (size_t)geometry->stride - 1;

    if (are_others(geometry)) {
        return MDF_FUSED_KERNELS(&mdf_plane_others, dtype)->of[0];
    }
    if (!has_own_kernel(geometry)) {
        return MDF_FUSED_KERNELS(&mdf_plane_lines, dtype)->of[stride];
    }
    if (geometry->dilation > 1) {
        return MDF_FUSED_KERNELS(&mdf_plane_gaps, dtype)->of[geometry->kernel_rows == 5];
    }
    return geometry->kernel_rows == 3   ? MDF_FUSED_KERNELS(&mdf_plane_threes, dtype)->of[stride]
           : geometry->kernel_rows == 5 ? MDF_FUSED_KERNELS(&mdf_plane_fives, dtype)->of[stride]
                                        : MDF_FUSED_KERNELS(&mdf_plane_sevens, dtype)->of[stride];
}

/* Whether planes are small enough to have a lane each: at most half of the lanes would hold windows of a row. */
static bool are_small(const struct mdf_conv_planes *planes, const struct mdf_plane_geometry *geometry, int64_t lanes)
{
    const int64_t most = MDF_SMALL_PLANE;

    return planes->channel_outputs == 1 && (int64_t)planes->n_channels >= lanes && 2 * geometry->columns <= lanes &&
           geometry->rows <= lanes && geometry->pad_columns >= 0 && geometry->pad_columns <= most &&
           geometry->kernel_rows <= most && geometry->kernel_columns <= most && geometry->dilation <= most &&
           geometry->array_rows <= most && geometry->array_columns <= most &&
           geometry->kernel_rows * geometry->kernel_columns <= MDF_SMALL_KERNEL &&
           (geometry->array_rows + 1) * mdf_small_width(geometry) <= MDF_SMALL_PLANE &&
           geometry->array_rows * geometry->array_columns <= MDF_SMALL_PLANE &&
           geometry->rows * geometry->columns <= MDF_SMALL_RESULT;
}

/* Planes [first, last), side by side where they are as many as a vector has lanes. */
static void convolve_group(const struct job *job, size_t first, size_t last)
{
    const struct mdf_conv_planes *planes = job->planes;
    const struct mdf_plane_geometry *geometry = &job->geometry;
    size_t x_bytes = (size_t)(geometry->array_rows * geometry->array_columns) * job->size_bytes;
    size_t y_bytes = (size_t)(geometry->rows * geometry->columns) * job->size_bytes;
    size_t w_bytes = (size_t)(geometry->kernel_rows * geometry->kernel_columns) * job->size_bytes;
    bool has_lanes = job->small != NULL && last - first == (size_t)job->small->lanes;
    const double zeros[16] = {0}; /* of either type, for all lanes */

    for (size_t plane = first; plane < last; plane += has_lanes ? last - first : 1) {
        size_t x_plane = plane / planes->channel_outputs;
        size_t channel = x_plane % planes->n_channels * planes->channel_outputs + plane % planes->channel_outputs;
        const char *x = (const char *)planes->x + x_plane * x_bytes, *weights = (const char *)planes->weights + channel * w_bytes;
        const char *start = planes->bias == NULL ? (const char *)zeros : (const char *)planes->bias + channel * job->size_bytes;
        char *y = (char *)planes->y + plane * y_bytes;

        if (has_lanes) {
            job->small->convolve(geometry, job->skips, x, weights, start, y);
        } else {
            job->convolve(geometry, x, weights, start, y);
        }
    }
}

/* Groups of planes, none of which is of two batches. */
static void convolve_groups(void *context, size_t first, size_t last)
{
    const struct job *job = context;
    size_t n_outputs = job->planes->n_channels * job->planes->channel_outputs;

    for (size_t group = first; group < last; group++) {
        size_t begin = group % job->n_groups * job->n_group, batch = group / job->n_groups * n_outputs;

        convolve_group(job, batch + begin, batch + mdf_least(begin + job->n_group, n_outputs));
    }
}

bool mdf_conv_planes_run(struct mdf_workspace *workspace, const struct mdf_conv_planes *planes)
{
    struct job job = {.planes = planes, .geometry = read_geometry(planes->windows)};
    const struct mdf_plane_geometry *geometry = &job.geometry;
    double cost_ns = (double)geometry->rows * (double)geometry->columns * (double)geometry->kernel_rows *
                     (double)geometry->kernel_columns * (double)geometry->stride * tap_ns;
    void *zeros = mdf_workspace_array(workspace, workspace->dtype, (size_t)geometry->array_columns);

    if (zeros == NULL) {
        return false;
    }
    job.size_bytes = mdf_dtype_size(workspace->dtype);
    memset(zeros, 0, (size_t)geometry->array_columns * job.size_bytes);
    job.geometry.zeros = zeros;
    job.geometry.limits = planes->limits;
    job.skips = !meets_zeros(geometry);
    job.small = MDF_FUSED_KERNELS(&mdf_small_planes, workspace->dtype);
    job.small = are_small(planes, geometry, job.small->lanes) ? job.small : NULL;
    job.convolve = choose_function(workspace->dtype, geometry);
    job.n_group = job.small != NULL ? (size_t)job.small->lanes : 1;
    job.n_groups = mdf_divide_up(planes->n_channels * planes->channel_outputs, job.n_group);
    mdf_parallel_for(workspace->call->context, planes->n_planes / planes->n_channels * job.n_groups,
                     cost_ns * (double)job.n_group, convolve_groups, &job);
    return true;
}
