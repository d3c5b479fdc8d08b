/* conv_planes.c - see conv_planes.h. Planes are read where they lie: a vector of adjacent windows, for some rows of the result at
 * once, so that rows of the array that these have in common are read once. What lies beside a plane is masked out, what lies
 * above or below is a row of zeros. */
#include "functions/onnx/conv_planes.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* One plane and its result. An axis that is not there has size 1. */
struct geometry {
    int64_t rows, columns; /* of the result */
    int64_t array_rows, array_columns, kernel_rows, kernel_columns;
    int64_t row_stride, stride, row_dilation, dilation, pad_rows, pad_columns;
    const void *zeros;  /* a row of the array */
    const void *limits; /* or NULL */
};

typedef void (*plane_function)(const struct geometry *geometry, const void *x, const void *weights, const void *start, void *y);

/* For kernels of 3 by 3 and 5 by 5 at strides 1 and 2, and any other. */
struct plane_kernels {
    plane_function three[2], five[2], any[2];
};

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx512f")))
#define NAME(x) x##_float32_avx512
#define LIMIT(x, low, high) (VECTOR) _mm512_min_ps((__m512)(high), _mm512_max_ps((__m512)(low), (__m512)(x)))
#define ELEMENT float
#define LANES 16
#define MULTIPLY_ADD(element, vector, sums) (VECTOR) _mm512_fmadd_ps(_mm512_set1_ps(element), (__m512)(vector), (__m512)(sums))
#define LOAD_SOME(from, low, high) (VECTOR) _mm512_maskz_loadu_ps((__mmask16)(((1u << (high)) - 1) & ~((1u << (low)) - 1)), from)
#define EVEN(a, b)                                                                                                            \
    (VECTOR) _mm512_permutex2var_ps((__m512)(a), _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0), \
                                    (__m512)(b))
#define STORE_SOME(to, n, vector) _mm512_mask_storeu_ps(to, (__mmask16)((1u << (n)) - 1), (__m512)(vector))
#include "functions/onnx/conv_planes.inc"
#define TARGET __attribute__((target("avx512f")))
#define NAME(x) x##_float64_avx512
#define LIMIT(x, low, high) (VECTOR) _mm512_min_pd((__m512d)(high), _mm512_max_pd((__m512d)(low), (__m512d)(x)))
#define ELEMENT double
#define LANES 8
#define MULTIPLY_ADD(element, vector, sums) (VECTOR) _mm512_fmadd_pd(_mm512_set1_pd(element), (__m512d)(vector), (__m512d)(sums))
#define LOAD_SOME(from, low, high) (VECTOR) _mm512_maskz_loadu_pd((__mmask8)(((1u << (high)) - 1) & ~((1u << (low)) - 1)), from)
#define EVEN(a, b) (VECTOR) _mm512_permutex2var_pd((__m512d)(a), _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0), (__m512d)(b))
#define STORE_SOME(to, n, vector) _mm512_mask_storeu_pd(to, (__mmask8)((1u << (n)) - 1), (__m512d)(vector))
#include "functions/onnx/conv_planes.inc"
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_float32_avx2
#define LIMIT(x, low, high) (VECTOR) _mm256_min_ps((__m256)(high), _mm256_max_ps((__m256)(low), (__m256)(x)))
#define ELEMENT float
#define LANES 8
#define MULTIPLY_ADD(element, vector, sums) (VECTOR) _mm256_fmadd_ps(_mm256_set1_ps(element), (__m256)(vector), (__m256)(sums))
#define EVEN(a, b) \
    (VECTOR) _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(_mm256_shuffle_ps((__m256)(a), (__m256)(b), 0x88)), 0xd8))
#include "functions/onnx/conv_planes.inc"
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_float64_avx2
#define LIMIT(x, low, high) (VECTOR) _mm256_min_pd((__m256d)(high), _mm256_max_pd((__m256d)(low), (__m256d)(x)))
#define ELEMENT double
#define LANES 4
#define MULTIPLY_ADD(element, vector, sums) (VECTOR) _mm256_fmadd_pd(_mm256_set1_pd(element), (__m256d)(vector), (__m256d)(sums))
#define EVEN(a, b) (VECTOR) _mm256_permute4x64_pd(_mm256_unpacklo_pd((__m256d)(a), (__m256d)(b)), 0xd8)
#include "functions/onnx/conv_planes.inc"
#endif
#define TARGET
#define NAME(x) x##_float32
#define ELEMENT float
#define LANES 4
#define MULTIPLY_ADD(element, vector, sums) (sums) + (element) * (vector)
#include "functions/onnx/conv_planes.inc"
#define TARGET
#define NAME(x) x##_float64
#define ELEMENT double
#define LANES 2
#define MULTIPLY_ADD(element, vector, sums) (sums) + (element) * (vector)
#include "functions/onnx/conv_planes.inc"

static const struct plane_kernels *choose_kernels(mdf_dtype dtype)
{
    bool is_float32 = dtype == MDF_DTYPE_FLOAT32;

#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        return is_float32 ? &planes_float32_avx512 : &planes_float64_avx512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return is_float32 ? &planes_float32_avx2 : &planes_float64_avx2;
    }
#endif
    return is_float32 ? &planes_float32 : &planes_float64;
}

/* Rough time of one tap, to judge what is worth a thread. */
static const double tap_ns = 0.02;

struct job {
    const struct mdf_conv_planes *planes;
    struct geometry geometry;
    plane_function convolve;
    size_t size_bytes; /* of an element */
};

bool mdf_conv_planes_fit(const struct mdf_windows *windows)
{
    return windows->rank <= 2 && windows->axes[windows->rank - 1].stride <= 2;
}

static struct geometry read_geometry(const struct mdf_windows *windows)
{
    static const struct mdf_window_axis none = {1, 1, 1, 1, 1, 0, 0};
    const struct mdf_window_axis *rows = windows->rank == 2 ? &windows->axes[0] : &none,
                                 *columns = &windows->axes[windows->rank - 1];

    return (struct geometry){.rows = rows->windows,
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

static plane_function choose_function(const struct plane_kernels *kernels, const struct geometry *geometry)
{
    bool is_square = geometry->kernel_rows == geometry->kernel_columns && geometry->row_stride == geometry->stride &&
                     geometry->row_dilation == 1 && geometry->dilation == 1;
    size_t stride = (size_t)geometry->stride - 1;

    return is_square && geometry->kernel_rows == 3   ? kernels->three[stride]
           : is_square && geometry->kernel_rows == 5 ? kernels->five[stride]
                                                     : kernels->any[stride];
}

static void convolve_planes(void *context, size_t first, size_t last)
{
    const struct job *job = context;
    const struct mdf_conv_planes *planes = job->planes;
    const struct geometry *geometry = &job->geometry;
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
    const struct geometry *geometry = &job.geometry;
    double cost_ns = (double)geometry->rows * (double)geometry->columns * (double)geometry->kernel_rows *
                     (double)geometry->kernel_columns * tap_ns;
    void *zeros = mdf_workspace_array(workspace, workspace->dtype, (size_t)geometry->array_columns);

    if (zeros == NULL) {
        return false;
    }
    job.size_bytes = mdf_dtype_size(workspace->dtype);
    memset(zeros, 0, (size_t)geometry->array_columns * job.size_bytes);
    job.geometry.zeros = zeros;
    job.geometry.limits = planes->limits;
    job.convolve = choose_function(choose_kernels(workspace->dtype), geometry);
    mdf_parallel_for(workspace->call->context, planes->n_planes * planes->channel_outputs, cost_ns, convolve_planes, &job);
    return true;
}
