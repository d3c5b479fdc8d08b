/* test_quantize.c - QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear against their definitions, on random arrays with
 * one scale, scales along an axis and scales of blocks, and with numbers that are out of any range or none. */
#include "tests/support/kernel_call.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { N_CASES = 300 };

struct quantizing {
    int64_t shape[3], axis, block_size, scale_shape[3];
    size_t scale_rank;
    mdf_dtype dtype;
    double lowest, largest;
};

static void pick_case(struct quantizing *job)
{
    static const struct quantizing types[] = {{.dtype = MDF_DTYPE_UINT8, .lowest = 0, .largest = 255},
                                              {.dtype = MDF_DTYPE_INT8, .lowest = -128, .largest = 127},
                                              {.dtype = MDF_DTYPE_UINT16, .lowest = 0, .largest = 65535},
                                              {.dtype = MDF_DTYPE_INT16, .lowest = -32768, .largest = 32767},
                                              {.dtype = MDF_DTYPE_INT4, .lowest = -8, .largest = 7},
                                              {.dtype = MDF_DTYPE_UINT4, .lowest = 0, .largest = 15}};

    *job = types[kernel_pick(0, 5)];
    for (size_t axis = 0; axis < 3; axis++) {
        job->shape[axis] = kernel_pick(0, 5) == 0 ? kernel_pick(10, 70) : kernel_pick(1, 6);
    }
    job->axis = kernel_pick(0, 2);
    if (kernel_pick(0, 2) == 0) {
        job->block_size = kernel_pick(1, job->shape[job->axis]);
        job->scale_rank = 3;
        memcpy(job->scale_shape, job->shape, sizeof job->shape);
        job->scale_shape[job->axis] = (job->shape[job->axis] + job->block_size - 1) / job->block_size;
    } else if (kernel_pick(0, 1) == 0) {
        job->scale_rank = 1;
        job->scale_shape[0] = job->shape[job->axis];
    }
}

/* The number of the scale that belongs to element `i`. */
static size_t scale_of(const struct quantizing *job, size_t i)
{
    int64_t index[3] = {(int64_t)i / job->shape[2] / job->shape[1], (int64_t)i / job->shape[2] % job->shape[1],
                        (int64_t)i % job->shape[2]};

    if (job->scale_rank == 0) {
        return 0;
    }
    if (job->scale_rank == 1) {
        return (size_t)index[job->axis];
    }
    index[job->axis] /= job->block_size;
    return (size_t)((index[0] * job->scale_shape[1] + index[1]) * job->scale_shape[2] + index[2]);
}

/* One more input: whole numbers from low to high, times `unit`. */
static struct mdf_value *add_numbers(struct kernel_call *call, mdf_dtype dtype, size_t rank, const int64_t *shape, int64_t low,
                                     int64_t high, double unit)
{
    struct mdf_value *array = kernel_add(call, dtype, rank, shape, NUMBERS_SHORT, call->call.n_inputs > 0), reals = {0};
    double *numbers = mdf_value_make_tensor(&call->memory, &reals, MDF_DTYPE_FLOAT64, rank, shape);

    for (size_t i = 0; i < reals.length; i++) {
        numbers[i] = (double)kernel_pick(low, high) * unit;
    }
    cr_assert(mdf_value_convert(&call->memory, array, &reals, dtype));
    mdf_value_clear(&call->memory, &reals);
    return array;
}

/* Scales and, mostly, zero points. */
static void add_scales(struct kernel_call *call, const struct quantizing *job)
{
    add_numbers(call, MDF_DTYPE_FLOAT32, job->scale_rank, job->scale_shape, 1, 300, 1e-3);
    if (kernel_pick(0, 3) != 0) {
        add_numbers(call, job->dtype, job->scale_rank, job->scale_shape, (int64_t)job->lowest, (int64_t)job->largest, 1);
    } else {
        *(mdf_dtype *)kernel_field(call, "output_dtype") = job->dtype;
    }
}

static void begin_linear(struct kernel_call *call, const char *name, const struct quantizing *job)
{
    kernel_begin(call, name, 21);
    kernel_set_int(call, "axis", job->axis);
    kernel_set_int(call, "block_size", job->block_size);
}

static float scale_at(const struct kernel_call *call, size_t at)
{
    return ((const float *)call->inputs[1].data)[at];
}

static double zero_at(const struct kernel_call *call, size_t at)
{
    return call->call.n_inputs > 2 ? kernel_number(&call->inputs[2], at) : 0;
}

static double quantized(float x, float scale, double zero, double lowest, double largest)
{
    double whole = rint((double)(x / scale)) + zero;

    return whole >= largest ? largest : whole >= lowest ? whole : lowest;
}

static void check_quantize(void)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e38f, -0.0f};
    struct quantizing job;
    struct kernel_call call;
    float *x;

    pick_case(&job);
    begin_linear(&call, "QuantizeLinear", &job);
    x = add_numbers(&call, MDF_DTYPE_FLOAT32, 3, job.shape, -40000, 40000, 1e-3)->data;
    for (size_t i = 0; i < call.inputs[0].length; i++) {
        x[i] = kernel_pick(0, 20) == 0 ? odd[kernel_pick(0, 5)] : x[i];
    }
    add_scales(&call, &job);
    kernel_run(&call);
    for (size_t i = 0; i < call.inputs[0].length; i++) {
        size_t at = scale_of(&job, i);

        kernel_check(&call, 0, i, quantized(x[i], scale_at(&call, at), zero_at(&call, at), job.lowest, job.largest), 0);
    }
    kernel_end(&call);
}

static void check_dequantize(void)
{
    struct quantizing job;
    struct kernel_call call;

    pick_case(&job);
    begin_linear(&call, "DequantizeLinear", &job);
    add_numbers(&call, job.dtype, 3, job.shape, (int64_t)job.lowest, (int64_t)job.largest, 1);
    add_scales(&call, &job);
    *(mdf_dtype *)kernel_field(&call, "output_dtype") = MDF_DTYPE_NONE;
    kernel_run(&call);
    for (size_t i = 0; i < call.inputs[0].length; i++) {
        size_t at = scale_of(&job, i);
        float difference = (float)(kernel_number(&call.inputs[0], i) - zero_at(&call, at));

        kernel_check(&call, 0, i, (double)(difference * scale_at(&call, at)), 0);
    }
    kernel_end(&call);
}

static void check_dynamic(void)
{
    int64_t n = kernel_pick(1, 200);
    float lowest = 0, largest = 0, scale, *x;
    struct kernel_call call;
    double zero;

    kernel_begin(&call, "DynamicQuantizeLinear", 11);
    call.call.n_outputs = 2;
    x = add_numbers(&call, MDF_DTYPE_FLOAT32, 1, &n, -1000, 1000, 1e-3)->data;
    for (int64_t i = 0; i < n; i++) {
        x[i] += (float)(n % 3 - 1); /* also all above 0, or below */
        lowest = x[i] < lowest ? x[i] : lowest;
        largest = x[i] > largest ? x[i] : largest;
    }
    kernel_run(&call);
    scale = (largest - lowest > 0 ? largest - lowest : 1) / 255;
    zero = quantized(-lowest, scale, 0, 0, 255);
    kernel_check(&call, 1, 0, (double)scale, 0);
    for (int64_t i = 0; i < n; i++) {
        kernel_check(&call, 0, (size_t)i, quantized(x[i], scale, zero, 0, 255), 0);
    }
    kernel_end(&call);
}

Test(quantize, random_arrays)
{
    for (size_t i = 0; i < N_CASES; i++) {
        check_quantize();
        check_dequantize();
        check_dynamic();
    }
}
