/* conv_planes.c - see conv_planes.h. Planes are read where they lie: a vector of adjacent windows, for some rows of the result at
 * once, so that rows of the array that these have in common are read once. What lies beside a plane is masked out, what lies
 * above or below is a row of zeros. */
#include "functions/windows/convolutions/conv_planes.h"

#include "functions/windows/convolutions/conv_planes_kernels.h"

#include <string.h>

/* Rough time of one tap at stride 1, to judge what is worth a thread. */
static const double tap_ns = 0.03;

struct job {
    const struct mdf_conv_planes *planes;
    struct mdf_plane_geometry geometry;
    mdf_plane_function convolve;
    size_t size_bytes; /* of an element */
};

bool mdf_conv_planes_fit(const struct mdf_windows *windows)
{
    return windows->rank <= 2 && windows->axes[windows->rank - 1].stride <= 2;
}

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

/* Whether there is a kernel for windows of this size, and one in which taps in rows of padding meet zeros. */
static bool has_own_kernel(const struct mdf_plane_geometry *geometry)
{
    int64_t size = geometry->kernel_rows, gap = geometry->dilation;

    return size == geometry->kernel_columns && geometry->row_stride == geometry->stride && geometry->row_dilation == gap &&
           (size == 3 || size == 5 || (size == 7 && gap == 1)) && (gap == 1 || geometry->stride == 1);
}

static bool meets_zeros(const struct mdf_plane_geometry *geometry)
{
    return has_own_kernel(geometry) && geometry->dilation == 1 && geometry->kernel_rows < 7;
}

bool mdf_conv_planes_skip_rows(const struct mdf_windows *windows)
{
    struct mdf_plane_geometry geometry = read_geometry(windows);

    return !meets_zeros(&geometry);
}

static mdf_plane_function choose_function(const struct mdf_plane_kernels *kernels, const struct mdf_plane_geometry *geometry)
{
    size_t stride = (size_t)geometry->stride - 1;

    if (!has_own_kernel(geometry)) {
        return kernels->any[stride];
    }
    if (geometry->dilation > 1) {
        return geometry->kernel_rows == 3 ? kernels->dilated_three : kernels->dilated_five;
    }
    return geometry->kernel_rows == 3   ? kernels->three[stride]
           : geometry->kernel_rows == 5 ? kernels->five[stride]
                                        : kernels->seven[stride];
}

static void convolve_planes(void *context, size_t first, size_t last)
{
    const struct job *job = context;
    const struct mdf_conv_planes *planes = job->planes;
    const struct mdf_plane_geometry *geometry = &job->geometry;
    size_t x_bytes = (size_t)(geometry->array_rows * geometry->array_columns) * job->size_bytes;
    size_t y_bytes = (size_t)(geometry->rows * geometry->columns) * job->size_bytes;
    size_t w_bytes = (size_t)(geometry->kernel_rows * geometry->kernel_columns) * job->size_bytes;
    const double zero = 0; /* of either type */

    for (size_t plane = first; plane < last; plane++) {
        size_t x_plane = plane / planes->channel_outputs;
        size_t channel = x_plane % planes->n_channels * planes->channel_outputs + plane % planes->channel_outputs;

        job->convolve(geometry, (const char *)planes->x + x_plane * x_bytes, (const char *)planes->weights + channel * w_bytes,
                      planes->bias == NULL ? (const char *)&zero : (const char *)planes->bias + channel * job->size_bytes,
                      (char *)planes->y + plane * y_bytes);
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
    job.convolve = choose_function(MDF_FUSED_KERNELS(&mdf_plane_kernels, workspace->dtype), geometry);
    mdf_parallel_for(workspace->call->context, planes->n_planes * planes->channel_outputs, cost_ns, convolve_planes, &job);
    return true;
}
