/* test_quantize.c - QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear against their definitions, on random arrays with
 * one scale, scales along an axis and scales of blocks, and with numbers that are out of any range or none. */
#include "tests/kernel_fixture.h"

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

    *job = types[pick(0, 5)];
    for (size_t axis = 0; axis < 3; axis++) {
        job->shape[axis] = pick(0, 5) == 0 ? pick(10, 70) : pick(1, 6);
    }
    job->axis = pick(0, 2);
    if (pick(0, 2) == 0) {
        job->block_size = pick(1, job->shape[job->axis]);
        job->scale_rank = 3;
        memcpy(job->scale_shape, job->shape, sizeof job->shape);
        job->scale_shape[job->axis] = (job->shape[job->axis] + job->block_size - 1) / job->block_size;
    } else if (pick(0, 1) == 0) {
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

static double element_of(const struct mdf_value *value, size_t i)
{
    mdf_dtype dtype = (mdf_dtype)value->dtype;

    return mdf_element_to_double(dtype, (const char *)value->data + i * mdf_dtype_size(dtype));
}

static void convert_input(struct fixture *fixture, size_t i, mdf_dtype dtype)
{
    struct mdf_value converted = {0};

    cr_assert(mdf_value_convert(&fixture->memory, &converted, &fixture->inputs[i], dtype));
    mdf_value_clear(&fixture->memory, &fixture->inputs[i]);
    fixture->inputs[i] = converted;
}

/* Scales and, mostly, zero points. */
static void add_scales(struct fixture *fixture, const struct quantizing *job)
{
    float *scales = add_input(fixture, job->scale_rank, job->scale_shape, true), *zeros;

    for (size_t i = 0; i < fixture->inputs[1].length; i++) {
        scales[i] = (float)pick(1, 300) / 1000;
    }
    if (pick(0, 3) != 0) {
        zeros = add_input(fixture, job->scale_rank, job->scale_shape, true);
        for (size_t i = 0; i < fixture->inputs[2].length; i++) {
            zeros[i] = (float)pick((int64_t)job->lowest, (int64_t)job->largest);
        }
        convert_input(fixture, 2, job->dtype);
    } else {
        *(mdf_dtype *)field(fixture, "output_dtype") = job->dtype;
    }
}

static void begin_linear(struct fixture *fixture, const char *name, const struct quantizing *job)
{
    begin(fixture, name, 21);
    *(int64_t *)field(fixture, "axis") = job->axis;
    *(int64_t *)field(fixture, "block_size") = job->block_size;
    *(mdf_dtype *)field(fixture, "output_dtype") = MDF_DTYPE_NONE;
    *(mdf_dtype *)field(fixture, "precision") = MDF_DTYPE_NONE;
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
    struct fixture fixture;
    float *x;

    pick_case(&job);
    begin_linear(&fixture, "QuantizeLinear", &job);
    x = add_input(&fixture, 3, job.shape, false);
    for (size_t i = 0; i < fixture.inputs[0].length; i++) {
        x[i] = pick(0, 20) == 0 ? odd[pick(0, 5)] : x[i] * (float)pick(1, 40);
    }
    add_scales(&fixture, &job);
    run(&fixture);
    for (size_t i = 0; i < fixture.output.length; i++) {
        size_t at = scale_of(&job, i);
        double zero = fixture.call.n_inputs > 2 ? element_of(&fixture.inputs[2], at) : 0;
        double wanted = quantized(x[i], ((const float *)fixture.inputs[1].data)[at], zero, job.lowest, job.largest);

        cr_assert(element_of(&fixture.output, i) == wanted, "%g is %g, not %g", (double)x[i], element_of(&fixture.output, i),
                  wanted);
    }
    end(&fixture);
}

static void check_dequantize(void)
{
    struct quantizing job;
    struct fixture fixture;
    float *x;

    pick_case(&job);
    begin_linear(&fixture, "DequantizeLinear", &job);
    x = add_input(&fixture, 3, job.shape, false);
    for (size_t i = 0; i < fixture.inputs[0].length; i++) {
        x[i] = (float)pick((int64_t)job.lowest, (int64_t)job.largest);
    }
    convert_input(&fixture, 0, job.dtype);
    add_scales(&fixture, &job);
    *(mdf_dtype *)field(&fixture, "output_dtype") = MDF_DTYPE_NONE;
    run(&fixture);
    for (size_t i = 0; i < fixture.output.length; i++) {
        size_t at = scale_of(&job, i);
        double zero = fixture.call.n_inputs > 2 ? element_of(&fixture.inputs[2], at) : 0;
        float wanted = (float)(element_of(&fixture.inputs[0], i) - zero) * ((const float *)fixture.inputs[1].data)[at];

        cr_assert(element_of(&fixture.output, i) == (double)wanted);
    }
    end(&fixture);
}

static void check_dynamic(void)
{
    int64_t n = pick(1, 200);
    float lowest = 0, largest = 0, scale, *x;
    struct fixture fixture;
    double wanted_zero;

    begin(&fixture, "DynamicQuantizeLinear", 11);
    fixture.call.n_outputs = 2;
    x = add_input(&fixture, 1, &n, false);
    for (int64_t i = 0; i < n; i++) {
        x[i] += (float)(n % 3 - 1); /* also all above 0, or below */
        lowest = x[i] < lowest ? x[i] : lowest;
        largest = x[i] > largest ? x[i] : largest;
    }
    run(&fixture);
    scale = (largest - lowest > 0 ? largest - lowest : 1) / 255;
    wanted_zero = quantized(-lowest, scale, 0, 0, 255);
    cr_assert(element_of(&fixture.second, 0) == (double)scale);
    for (int64_t i = 0; i < n; i++) {
        cr_assert(element_of(&fixture.output, (size_t)i) == quantized(x[i], scale, wanted_zero, 0, 255));
    }
    end(&fixture);
}

Test(quantize, random_arrays)
{
    for (size_t i = 0; i < N_CASES; i++) {
        check_quantize();
        check_dequantize();
        check_dynamic();
    }
}
