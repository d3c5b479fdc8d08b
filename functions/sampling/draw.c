/* draw.c - random numbers: RandomNormal, RandomNormalLike, RandomUniform, RandomUniformLike, Multinomial, Bernoulli.
 *
 * Comes in: a shape, an array to take it from, or probabilities. Goes out: an array of draws. With the attribute `seed` every
 * call draws the same numbers, those of a generator seeded with it; without, the next numbers of the state's generator.
 * Elements are drawn in order, on one thread. Source: the ONNX operators, all versions; the generator:
 * functions/sampling/random.h. */
#include "functions/kernel/routine.h"
#include "functions/kernel/workspace.h"
#include "functions/sampling/drawing.h"

#include <math.h>
#include <string.h>

struct draw_settings {
    double seed, mean, scale, low, high;
    struct mdf_ints shape;
    mdf_dtype dtype;
    int64_t sample_size;
};

/* Of all operators: each has some of them. */
static const struct mdf_setting draw_table[] = {{"seed", MDF_SETTING_FLOAT, offsetof(struct draw_settings, seed)},
                                                {"mean", MDF_SETTING_FLOAT, offsetof(struct draw_settings, mean)},
                                                {"scale", MDF_SETTING_FLOAT, offsetof(struct draw_settings, scale)},
                                                {"low", MDF_SETTING_FLOAT, offsetof(struct draw_settings, low)},
                                                {"high", MDF_SETTING_FLOAT, offsetof(struct draw_settings, high)},
                                                {"shape", MDF_SETTING_INTS, offsetof(struct draw_settings, shape)},
                                                {"dtype", MDF_SETTING_DTYPE, offsetof(struct draw_settings, dtype)},
                                                {"sample_size", MDF_SETTING_INT, offsetof(struct draw_settings, sample_size)},
                                                {NULL, MDF_SETTING_INT, 0}};

/* The generator of a call: `own`, seeded from the attribute, or that of the state. */
static uint64_t *choose_state(struct mdf_call *call, uint64_t own[4])
{
    const struct draw_settings *settings = call->settings;
    uint64_t seed;

    if (isnan(settings->seed)) {
        return call->context->random_state;
    }
    memcpy(&seed, &settings->seed, sizeof seed);
    mdf_random_seed(own, seed);
    return own;
}

/* An array of a type to be drawn as float64; NULL with the error set. */
static double *begin_draw(struct mdf_workspace *workspace, struct mdf_call *call, mdf_dtype dtype, size_t rank,
                          const int64_t *shape)
{
    char kind = mdf_dtype_kind(dtype);

    if (kind == '?' || kind == 's' || kind == 'c') {
        mdf_call_error(call, MDF_TYPE, "dtype is %s, not a type of numbers that can be drawn", mdf_dtype_name(dtype));
        return NULL;
    }
    return mdf_workspace_begin(workspace, call, MDF_DTYPE_FLOAT64, 3) ? mdf_workspace_output(workspace, 0, dtype, rank, shape)
                                                                      : NULL;
}

/* Steps of [0, 1) that a type tells apart near 1: a uniform number is cut to them, so that none is rounded to 1. */
static double uniform_steps(mdf_dtype dtype)
{
    switch (dtype) {
    case MDF_DTYPE_FLOAT16:
        return 0x1p11;
    case MDF_DTYPE_BFLOAT16:
        return 0x1p8;
    case MDF_DTYPE_FLOAT64:
        return 0x1p53;
    default:
        return 0x1p24;
    }
}

/* What numbers are drawn, one after the other. */
struct draws {
    const struct draw_settings *settings;
    uint64_t *state;
    double steps, step; /* of a uniform number, and their reciprocal: powers of two, so that products are quotients */
    bool normal;
};

static inline double next_draw(const struct draws *draws)
{
    const struct draw_settings *settings = draws->settings;

    return draws->normal ? settings->mean + settings->scale * mdf_random_normal(draws->state)
                         : settings->low + (settings->high - settings->low) *
                                               (floor(mdf_random_uniform(draws->state) * draws->steps) * draws->step);
}

static bool draw_doubles(const struct draws *draws, double *y, size_t n)
{
    for (size_t i = 0; y != NULL && i < n; i++) {
        y[i] = next_draw(draws);
    }
    return y != NULL;
}

static bool draw_floats(const struct draws *draws, float *y, size_t n)
{
    for (size_t i = 0; y != NULL && i < n; i++) {
        y[i] = (float)next_draw(draws);
    }
    return y != NULL;
}

/* float32 and float64 are drawn where they are to be, others as float64. */
static bool draw(struct mdf_call *call, mdf_dtype dtype, size_t rank, const int64_t *shape, bool normal)
{
    uint64_t own[4];
    struct draws draws = {call->settings, choose_state(call, own), uniform_steps(dtype), 1 / uniform_steps(dtype), normal};
    struct mdf_workspace workspace;
    size_t n;

    if (!mdf_workspace_product(call, shape, 0, rank, &n)) {
        return false;
    }
    if (dtype == MDF_DTYPE_FLOAT32) {
        return draw_floats(&draws, mdf_call_output(call, 0, dtype, rank, shape), n);
    }
    if (dtype == MDF_DTYPE_FLOAT64) {
        return draw_doubles(&draws, mdf_call_output(call, 0, dtype, rank, shape), n);
    }
    return draw_doubles(&draws, begin_draw(&workspace, call, dtype, rank, shape), n) && mdf_workspace_end(&workspace);
}

static bool draw_shape(struct mdf_call *call, bool normal)
{
    const struct draw_settings *settings = call->settings;

    if (settings->shape.items == NULL && settings->shape.n > 0) {
        return mdf_call_error(call, MDF_VALUE, "no shape is given");
    }
    return draw(call, settings->dtype == MDF_DTYPE_NONE ? MDF_DTYPE_FLOAT32 : settings->dtype, settings->shape.n,
                settings->shape.items, normal);
}

static bool draw_like(struct mdf_call *call, bool normal)
{
    const struct draw_settings *settings = call->settings;
    const struct mdf_value *like = mdf_call_tensor(call, 0);

    return like != NULL && draw(call, settings->dtype == MDF_DTYPE_NONE ? (mdf_dtype)like->dtype : settings->dtype, like->rank,
                                mdf_value_shape(like), normal);
}

static bool random_normal(struct mdf_call *call)
{
    return draw_shape(call, true);
}

static bool random_normal_like(struct mdf_call *call)
{
    return draw_like(call, true);
}

static bool random_uniform(struct mdf_call *call)
{
    return draw_shape(call, false);
}

static bool random_uniform_like(struct mdf_call *call)
{
    return draw_like(call, false);
}

static bool bernoulli(struct mdf_call *call)
{
    const struct draw_settings *settings = call->settings;
    const struct mdf_value *p = mdf_call_tensor(call, 0);
    uint64_t own[4], *state = choose_state(call, own);
    struct mdf_workspace workspace;
    const double *probabilities;
    double *y;

    if (p == NULL) {
        return false;
    }
    y = begin_draw(&workspace, call, settings->dtype == MDF_DTYPE_NONE ? (mdf_dtype)p->dtype : settings->dtype, p->rank,
                   mdf_value_shape(p));
    probabilities = y == NULL ? NULL : mdf_workspace_input(&workspace, 0);
    if (probabilities == NULL) {
        return false;
    }
    for (size_t i = 0; i < p->length; i++) {
        if (!(probabilities[i] >= 0 && probabilities[i] <= 1)) {
            return mdf_call_error(call, MDF_VALUE, "element %zu of the probabilities is %g", i, probabilities[i]);
        }
        y[i] = mdf_random_uniform(state) < probabilities[i] ? 1 : 0;
    }
    return mdf_workspace_end(&workspace);
}

#include "functions/sampling/classes_routine.inc"

static bool multinomial(struct mdf_call *call)
{
    const struct draw_settings *settings = call->settings;
    const struct mdf_value *input = mdf_call_tensor(call, 0);
    uint64_t own[4], *state = choose_state(call, own);
    struct mdf_workspace workspace;
    int64_t shape[2];
    const double *x;
    double *y, *sums;
    size_t n;

    if (input == NULL) {
        return false;
    }
    if (input->rank != 2 || settings->sample_size < 0) {
        return mdf_call_error(call, MDF_SHAPE, "the input has rank %u and sample_size is %lld; 2 and at least 0 are needed",
                              input->rank, (long long)settings->sample_size);
    }
    shape[0] = mdf_value_shape(input)[0];
    shape[1] = settings->sample_size;
    y = begin_draw(&workspace, call, settings->dtype == MDF_DTYPE_NONE ? MDF_DTYPE_INT32 : settings->dtype, 2, shape);
    x = y == NULL ? NULL : mdf_workspace_input(&workspace, 0);
    if (x == NULL) {
        return false;
    }
    if (mdf_value_shape(input)[1] == 0 && shape[0] > 0 && shape[1] > 0) {
        return mdf_call_error(call, MDF_SHAPE, "there are no classes to draw from");
    }
    n = (size_t)mdf_value_shape(input)[1];
    sums = mdf_workspace_array(&workspace, MDF_DTYPE_FLOAT64, n);
    if (sums == NULL) {
        return false;
    }
    for (int64_t row = 0; row < shape[0] && shape[1] > 0; row++, x += n) {
        int64_t last;

        memcpy(sums, x, n * sizeof *sums);
        last = mdf_sum_weights((int64_t)n, sums);
        for (int64_t sample = 0; sample < shape[1]; sample++) {
            *y++ = (double)mdf_pick_class(sums, (int64_t)n, last, mdf_random_uniform(state) * sums[n - 1]);
        }
    }
    return mdf_workspace_end(&workspace);
}

/* ------------------------------------------------------------------ without the kernel */

/* As next_draw has them: what is cut off is below the bits that are taken. */
static double uniform_of_24_bits(uint64_t state[4], double low, double width)
{
    return low + width * ((double)(mdf_random_bits(state) >> 40) * 0x1p-24);
}

static double uniform_of_53_bits(uint64_t state[4], double low, double width)
{
    return low + width * mdf_random_uniform(state);
}

static double normal_number(uint64_t state[4], double mean, double scale)
{
    return mean + scale * mdf_random_normal(state);
}

static bool say_numbers(struct mdf_call *call, struct mdf_drawing *drawing)
{
    const struct draw_settings *settings = call->settings;

    drawing->seed = drawing->settings[0] = drawing->settings[1] = SIZE_MAX;
    return isnan(settings->seed); /* others draw the same ones each time */
}

static bool say_normal(struct mdf_call *call, struct mdf_drawing *drawing)
{
    const struct draw_settings *settings = call->settings;

    *drawing = (struct mdf_drawing){.plain = normal_number, .defaults = {settings->mean, settings->scale}};
    return say_numbers(call, drawing);
}

static bool say_uniform(struct mdf_call *call, struct mdf_drawing *drawing)
{
    const struct draw_settings *settings = call->settings;
    bool is_wide = mdf_call_result(call, 0) != NULL && mdf_call_result(call, 0)->dtype == MDF_DTYPE_FLOAT64;

    *drawing = (struct mdf_drawing){.plain = is_wide ? uniform_of_53_bits : uniform_of_24_bits,
                                    .uniform_bits = is_wide ? 53 : 24,
                                    .defaults = {settings->low, settings->high - settings->low}};
    return say_numbers(call, drawing);
}

/* ------------------------------------------------------------------ as C */

/* What draw_routine.inc has of all: the seed, the result's elements and type; then the kind of the input. */
static bool plan_draw(struct mdf_call *call, struct mdf_routine_plan *plan, const char *function, size_t n_whole)
{
    const struct draw_settings *settings = call->settings;
    const struct mdf_value *result = mdf_call_result(call, 0);

    if (result == NULL || !mdf_routine_room(plan, n_whole, 3)) {
        return false;
    }
    plan->function = function;
    plan->dtype = MDF_DTYPE_NONE;
    plan->whole[0] = !isnan(settings->seed);
    memcpy(&plan->whole[1], &settings->seed, sizeof settings->seed);
    plan->whole[2] = (int64_t)result->length;
    return mdf_routine_kind(result, MDF_DTYPE_NONE, &plan->whole[3]) &&
           (n_whole < 5 || mdf_routine_kind(mdf_call_input(call, 0), MDF_DTYPE_NONE, &plan->whole[4]));
}

static bool is_real(const struct mdf_call *call)
{
    return mdf_dtype_is_real(call->outputs[0]->dtype);
}

static bool plan_normal(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct draw_settings *settings = call->settings;

    if (!plan_draw(call, plan, "draw_onnx_normal", 4)) {
        return false;
    }
    plan->real[0] = settings->mean;
    plan->real[1] = settings->scale;
    return is_real(call);
}

static bool plan_uniform(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct draw_settings *settings = call->settings;

    if (!plan_draw(call, plan, "draw_onnx_uniform", 4)) {
        return false;
    }
    plan->real[0] = settings->low;
    plan->real[1] = settings->high;
    plan->real[2] = uniform_steps((mdf_dtype)call->outputs[0]->dtype);
    return is_real(call);
}

static bool plan_bernoulli(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_draw(call, plan, "draw_onnx_bernoulli", 5);
}

static bool plan_multinomial(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    if (!plan_draw(call, plan, "draw_onnx_multinomial", 7) || call->outputs[0]->rank != 2) {
        return false;
    }
    plan->whole[2] = mdf_value_shape(call->outputs[0])[1];
    plan->whole[5] = mdf_value_shape(call->outputs[0])[0];
    plan->whole[6] = mdf_value_shape(call->inputs[0])[1];
    plan->work_bytes = (size_t)plan->whole[6] * sizeof(double);
    return true;
}

#define ROW(name, since, kernel, routine_of, forms)                                                               \
    {                                                                                                             \
        name, since, 99, kernel, draw_table, sizeof(struct draw_settings), MDF_OPERATOR_RANDOM, NULL, routine_of, \
            .by_form = (forms)                                                                                    \
    }

const struct mdf_operator mdf_operators_draw[] = {
    ROW("RandomNormal", 1, random_normal, .routine = MDF_NUMBERS_ROUTINE(plan_normal, NULL, say_normal), 0),
    ROW("RandomNormalLike", 1, random_normal_like, .routine = MDF_NUMBERS_ROUTINE(plan_normal, NULL, say_normal), 1),
    ROW("RandomUniform", 1, random_uniform, .routine = MDF_NUMBERS_ROUTINE(plan_uniform, NULL, say_uniform), 0),
    ROW("RandomUniformLike", 1, random_uniform_like, .routine = MDF_NUMBERS_ROUTINE(plan_uniform, NULL, say_uniform), 1),
    ROW("Multinomial", 7, multinomial, .routine = MDF_DRAWING_ROUTINE(plan_multinomial, NULL), 0),
    ROW("Bernoulli", 15, bernoulli, .routine = MDF_DRAWING_ROUTINE(plan_bernoulli, "a probability is not in [0, 1]"), 0),
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
