/* test_random_operators.c - operators that draw numbers: moments, bounds and independence of what they draw, with the attribute
 * `seed` and with the state's generator, in each type of reals; which numbers these are is nobody's business but that they are
 * the same for the same seed. Bounds are six standard errors: one in 500 million runs would pass them by chance, and seeds are
 * fixed. */
#include "functions/sampling/random.h"
#include "tests/support/kernel_call.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { N_DRAWS = 40000 };

static const mdf_dtype reals[] = {MDF_DTYPE_FLOAT16, MDF_DTYPE_BFLOAT16, MDF_DTYPE_FLOAT32, MDF_DTYPE_FLOAT64};

enum { N_REALS = sizeof reals / sizeof *reals };

/* What elements are rounded by, relative to the largest. */
static double step_of(mdf_dtype dtype)
{
    return dtype == MDF_DTYPE_FLOAT16 ? 0x1p-11 : dtype == MDF_DTYPE_BFLOAT16 ? 0x1p-8 : 0x1p-24;
}

struct moments {
    double mean, deviation, lowest, largest, neighbours; /* of neighbours the correlation */
};

static struct moments measure(const struct mdf_value *array)
{
    struct moments moments = {.lowest = INFINITY, .largest = -INFINITY};
    double sum = 0, squares = 0, products = 0;

    for (size_t i = 0; i < array->length; i++) {
        double x = kernel_number(array, i);

        sum += x;
        squares += x * x;
        moments.lowest = fmin(moments.lowest, x);
        moments.largest = fmax(moments.largest, x);
    }
    moments.mean = sum / (double)array->length;
    moments.deviation = sqrt(fmax(0, squares / (double)array->length - moments.mean * moments.mean));
    for (size_t i = 1; i < array->length; i++) {
        products += (kernel_number(array, i) - moments.mean) * (kernel_number(array, i - 1) - moments.mean);
    }
    moments.neighbours = products / (double)array->length / (moments.deviation * moments.deviation);
    return moments;
}

static void check_moments(const struct mdf_value *array, double mean, double deviation, double deviation_error)
{
    struct moments moments = measure(array);
    double rounding = 8 * step_of((mdf_dtype)array->dtype) * (fabs(mean) + deviation), root = sqrt((double)array->length);

    cr_assert(fabs(moments.mean - mean) <= 6 * deviation / root + rounding, "mean %g, not %g", moments.mean, mean);
    cr_assert(fabs(moments.deviation - deviation) <= 6 * deviation_error / root + rounding, "deviation %g, not %g",
              moments.deviation, deviation);
    cr_assert(fabs(moments.neighbours) <= 6 / root, "neighbours are correlated by %g", moments.neighbours);
}

static void run(struct kernel_call *call)
{
    cr_assert(call->operator->kernel(&call->call), "%s: %s", call->operator->name, call->context.error.message);
}

/* A call of one of the four operators that draw reals, of N_DRAWS elements. */
static void begin(struct kernel_call *call, const char *name, mdf_dtype dtype)
{
    static const int64_t shape[2] = {N_DRAWS / 4, 4};

    kernel_begin(call, name, 1);
    if (strstr(name, "Like") != NULL) {
        kernel_add(call, MDF_DTYPE_FLOAT32, 2, shape, NUMBERS_SHORT, false);
    } else {
        kernel_set_ints(call, "shape", shape, 2);
    }
    *(mdf_dtype *)kernel_field(call, "dtype") = dtype;
    mdf_random_seed(call->context.random_state, 11);
}

static void set_real(struct kernel_call *call, const char *name, double real)
{
    *(double *)kernel_field(call, name) = real;
}

Test(random_operators, normal)
{
    static const char *const names[] = {"RandomNormal", "RandomNormalLike"};

    for (size_t i = 0; i < 2 * N_REALS; i++) {
        struct kernel_call call;

        begin(&call, names[i % 2], reals[i / 2]);
        set_real(&call, "mean", 3);
        set_real(&call, "scale", 2);
        run(&call);
        cr_assert(call.outputs[0].dtype == reals[i / 2] && call.outputs[0].length == N_DRAWS && call.outputs[0].rank == 2);
        check_moments(&call.outputs[0], 3, 2, 2 / sqrt(2)); /* of a normal deviation the standard error is s / sqrt(2 n) */
        kernel_end(&call);
    }
}

Test(random_operators, uniform)
{
    static const char *const names[] = {"RandomUniform", "RandomUniformLike"};

    for (size_t i = 0; i < 2 * N_REALS; i++) {
        struct kernel_call call;
        struct moments moments;

        begin(&call, names[i % 2], reals[i / 2]);
        set_real(&call, "low", -1);
        set_real(&call, "high", 1);
        run(&call);
        moments = measure(&call.outputs[0]);
        cr_assert(call.outputs[0].dtype == reals[i / 2]);
        cr_assert(moments.lowest >= -1 && moments.lowest < -0.99 && moments.largest < 1 && moments.largest > 0.98);
        check_moments(&call.outputs[0], 0, 1 / sqrt(3), 1 / sqrt(3));
        kernel_end(&call);
    }
}

/* With `seed` each call draws the same; without, each goes on where the one before has stopped. */
Test(random_operators, seeds)
{
    static const char *const names[] = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike"};

    for (size_t i = 0; i < 4; i++) {
        struct mdf_value first = {0};
        struct kernel_call call;

        begin(&call, names[i], MDF_DTYPE_FLOAT32);
        run(&call);
        cr_assert(mdf_value_copy_apart(&call.memory, &first, &call.outputs[0]));
        run(&call);
        cr_assert_not(mdf_value_equal(&first, &call.outputs[0]));
        mdf_random_seed(call.context.random_state, 11);
        run(&call);
        cr_assert(mdf_value_equal(&first, &call.outputs[0]));
        set_real(&call, "seed", 5);
        run(&call);
        cr_assert(mdf_value_copy_apart(&call.memory, &first, &call.outputs[0]));
        run(&call);
        cr_assert(mdf_value_equal(&first, &call.outputs[0]));
        set_real(&call, "seed", 6);
        run(&call);
        cr_assert_not(mdf_value_equal(&first, &call.outputs[0]));
        mdf_value_clear(&call.memory, &first);
        kernel_end(&call);
    }
}

static const int64_t n_draws = N_DRAWS;

static void fill(struct mdf_value *array, float number)
{
    for (size_t i = 0; i < array->length; i++) {
        ((float *)array->data)[i] = number;
    }
}

Test(random_operators, bernoulli)
{
    static const float probabilities[] = {0, 0.25f, 1};

    for (size_t i = 0; i < 3; i++) {
        double p = (double)probabilities[i];
        struct kernel_call call;
        struct moments moments;

        kernel_begin(&call, "Bernoulli", 15);
        mdf_random_seed(call.context.random_state, 2);
        fill(kernel_add(&call, MDF_DTYPE_FLOAT32, 1, &n_draws, NUMBERS_SHORT, false), probabilities[i]);
        *(mdf_dtype *)kernel_field(&call, "dtype") = i == 1 ? MDF_DTYPE_INT32 : MDF_DTYPE_NONE;
        run(&call);
        moments = measure(&call.outputs[0]);
        cr_assert(call.outputs[0].dtype == (i == 1 ? MDF_DTYPE_INT32 : MDF_DTYPE_FLOAT32));
        cr_assert(fabs(moments.mean - p) <= 6 * sqrt(p * (1 - p) / N_DRAWS), "%g", moments.mean);
        cr_assert(i != 1 || (moments.lowest == 0 && moments.largest == 1 && fabs(moments.neighbours) <= 6 / sqrt(N_DRAWS)));
        kernel_end(&call);
    }
}

/* Logarithms that are off by any constant, a class that can not be drawn, and a row of its own for each array. */
Test(random_operators, multinomial)
{
    static const int64_t shape[2] = {2, 3};
    static const double parts[2][3] = {{0.2, 0.5, 0.3}, {0.9, 0, 0.1}};
    size_t counts[2][3] = {{0}};
    struct kernel_call call;
    float *logarithms;

    kernel_begin(&call, "Multinomial", 7);
    mdf_random_seed(call.context.random_state, 3);
    logarithms = kernel_add(&call, MDF_DTYPE_FLOAT32, 2, shape, NUMBERS_SHORT, false)->data;
    for (size_t i = 0; i < 6; i++) {
        logarithms[i] = (float)log(parts[i / 3][i % 3]) + (i < 3 ? 40 : -400);
    }
    kernel_set_int(&call, "sample_size", N_DRAWS);
    run(&call);
    for (size_t i = 0; i < 2 * N_DRAWS; i++) {
        int64_t class = kernel_whole(&call.outputs[0], i);

        cr_assert(class >= 0 && class < 3);
        counts[i / N_DRAWS][class]++;
    }
    for (size_t i = 0; i < 6; i++) {
        double p = parts[i / 3][i % 3], error = sqrt(p * (1 - p) / N_DRAWS);

        cr_assert(fabs((double)counts[i / 3][i % 3] / N_DRAWS - p) <= 6 * error + 1e-4 * p, "class %zu",
                  i); /* logarithms are rounded */
    }
    kernel_end(&call);
}

Test(random_operators, dropout_in_training)
{
    struct kernel_call call;
    size_t n_kept = 0;
    const bool *mask;

    kernel_begin(&call, "Dropout", 13);
    mdf_random_seed(call.context.random_state, 4);
    call.call.n_outputs = 2;
    fill(kernel_add(&call, MDF_DTYPE_FLOAT32, 1, &n_draws, NUMBERS_SHORT, false), 3);
    fill(kernel_add(&call, MDF_DTYPE_FLOAT32, 0, NULL, NUMBERS_SHORT, false), 0.25f);
    *(bool *)kernel_add(&call, MDF_DTYPE_BOOL, 0, NULL, NUMBERS_SHORT, false)->data = true;
    run(&call);
    mask = call.outputs[1].data;
    for (size_t i = 0; i < N_DRAWS; i++) {
        cr_assert(((const float *)call.outputs[0].data)[i] == (mask[i] ? 4.0f : 0.0f));
        n_kept += mask[i];
    }
    cr_assert(fabs((double)n_kept / N_DRAWS - 0.75) <= 6 * sqrt(0.75 * 0.25 / N_DRAWS));
    kernel_end(&call);
}
