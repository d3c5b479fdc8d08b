/* draws.c - what PsyNeuLink's functions draw from the generators that they have, one each.
 *
 * Comes in: which generator, its seed, an array for whose elements numbers are drawn in order, and what a distribution is given.
 * Goes out: an array of that shape. The generator is a row [stream, seed, drawn, normal]: the stream's number, and how it begins
 * where it has that seed (struct mdf_stream_start); the last three may be left out. A seed below 0 is none: numbers are those of
 * numpy.random, of the seed of the evaluation. Sources: psyneulink.core.globals.utilities, SeededRandomState, and
 * psyneulink.core.components.functions.nonstateful.distributionfunctions, version 0.21. */
#include "functions/kernel/routine.h"
#include "functions/python/python_values.h"
#include "functions/sampling/drawing.h"

#include <math.h>
#include <string.h>

#include "functions/psyneulink/inverted_routine.inc"

/* Inputs, of which a distribution may have two more; slots. */
enum { GENERATOR, SEED, LIKE, FIRST_SETTING, SECOND_SETTING };
enum { SLOT_GENERATOR = MDF_SLOT_OWN, SLOT_LIKE, SLOT_OTHER };
enum { MOST_STREAMS = 1 << 16 };

/* What is drawn for one element. */
typedef double (*draw_number)(struct mdf_twister *twister, double first, double second);

/* ------------------------------------------------------------------ generators */

/* The row of numbers that the first input is, longer ones cut. */
static bool read_generator(struct mdf_call *call, double numbers[4])
{
    const struct mdf_value *row = mdf_python_input_array(call, GENERATOR, SLOT_GENERATOR);
    const double defaults[4] = {0, -1, 0, NAN};

    row = row != NULL ? mdf_python_array_of(call, row, MDF_DTYPE_FLOAT64, SLOT_GENERATOR) : NULL;
    if (row == NULL) {
        return false;
    }
    memcpy(numbers, defaults, sizeof defaults);
    memcpy(numbers, row->data, (row->length < 4 ? row->length : 4) * sizeof *numbers);
    if (row->length == 0 || !(numbers[0] >= 0 && numbers[0] < MOST_STREAMS) || !(numbers[2] >= 0 && numbers[2] < 0x1p40)) {
        return mdf_call_error(call, MDF_VALUE, "no generator is described by these %zu numbers", row->length);
    }
    return true;
}

/* The stream, and how it begins. */
static bool read_stream(struct mdf_call *call, struct mdf_drawing *drawing)
{
    double numbers[4];

    if (!read_generator(call, numbers)) {
        return false;
    }
    drawing->stream = (size_t)numbers[0];
    drawing->start = numbers[1] >= 0 && numbers[1] < 0x1p32
                         ? (struct mdf_stream_start){(uint32_t)numbers[1], (uint64_t)numbers[2], numbers[3]}
                         : (struct mdf_stream_start){.normal = NAN};
    return true;
}

/* NULL with the error set. */
static struct mdf_twister *find_generator(struct mdf_call *call)
{
    struct mdf_drawing drawing;
    double seed;

    if (!read_stream(call, &drawing) || !mdf_python_real(call, SEED, -1, &seed)) {
        return NULL;
    }
    if (!(seed < 0x1p32)) {
        mdf_call_error(call, MDF_VALUE, "the seed is %g, not below 2**32", seed);
        return NULL;
    }
    return mdf_drawing_generator(call->context, &drawing, seed);
}

/* ------------------------------------------------------------------ distributions */

static double draw_normal(struct mdf_twister *twister, double first, double second)
{
    (void)first, (void)second;
    return mdf_twister_normal(twister);
}

static double draw_uniform(struct mdf_twister *twister, double first, double second)
{
    (void)first, (void)second;
    return mdf_twister_uniform(twister);
}

static double draw_exponential(struct mdf_twister *twister, double first, double second)
{
    (void)first, (void)second;
    return mdf_twister_exponential(twister);
}

static double draw_gamma(struct mdf_twister *twister, double shape, double second)
{
    (void)second;
    return mdf_twister_gamma(twister, shape);
}

static double draw_wald(struct mdf_twister *twister, double mean, double scale)
{
    return mdf_twister_wald(twister, mean, scale);
}

static double draw_binomial(struct mdf_twister *twister, double p, double second)
{
    (void)second;
    return mdf_twister_happens(twister, p);
}

static double draw_inverted(struct mdf_twister *twister, double first, double second)
{
    (void)first, (void)second;
    return mdf_twister_inverted(twister);
}

static bool is_shape(double shape, double second)
{
    (void)second;
    return shape >= 0 && shape < INFINITY;
}

static bool are_mean_and_scale(double mean, double scale)
{
    return mean > 0 && mean < INFINITY && scale > 0 && scale < INFINITY;
}

static bool is_probability(double p, double second)
{
    (void)second;
    return p >= 0 && p <= 1;
}

/* ------------------------------------------------------------------ the kernels */

/* A number for each element of input LIKE. */
static bool fill(struct mdf_call *call, draw_number draw, double first, double second)
{
    const struct mdf_value *like = mdf_python_input_array(call, LIKE, SLOT_LIKE);
    struct mdf_twister *twister = like != NULL ? find_generator(call) : NULL;
    double *numbers = NULL;

    if (twister != NULL) {
        numbers =
            mdf_python_make(call, call->outputs[0], MDF_DTYPE_FLOAT64, MDF_STRENGTH_LITERAL, like->rank, mdf_value_shape(like));
    }
    for (size_t i = 0; numbers != NULL && i < call->outputs[0]->length; i++) {
        if (mdf_should_stop_at(call->context, i, MDF_ITEMS_PER_LOOK)) {
            break;
        }
        numbers[i] = draw(twister, first, second);
    }
    return numbers != NULL;
}

static bool run_normal(struct mdf_call *call)
{
    return fill(call, draw_normal, 0, 0);
}

static bool run_uniform(struct mdf_call *call)
{
    return fill(call, draw_uniform, 0, 0);
}

static bool run_exponential(struct mdf_call *call)
{
    return fill(call, draw_exponential, 0, 0);
}

static bool run_inverted(struct mdf_call *call)
{
    return fill(call, draw_inverted, 0, 0);
}

static bool run_gamma(struct mdf_call *call)
{
    double shape;

    if (!mdf_python_real(call, FIRST_SETTING, 1, &shape)) {
        return false;
    }
    if (!is_shape(shape, 0)) {
        return mdf_call_error(call, MDF_VALUE, "the shape is %g: it is to be at least 0", shape);
    }
    return fill(call, draw_gamma, shape, 0);
}

static bool run_wald(struct mdf_call *call)
{
    double mean, scale;

    if (!mdf_python_real(call, FIRST_SETTING, 1, &mean) || !mdf_python_real(call, SECOND_SETTING, 1, &scale)) {
        return false;
    }
    if (!are_mean_and_scale(mean, scale)) {
        return mdf_call_error(call, MDF_VALUE, "the mean is %g and the scale %g: both are to be above 0", mean, scale);
    }
    return fill(call, draw_wald, mean, scale);
}

static bool run_binomial(struct mdf_call *call)
{
    double p;

    if (!mdf_python_real(call, FIRST_SETTING, 1, &p)) {
        return false;
    }
    if (!is_probability(p, 0)) {
        return mdf_call_error(call, MDF_VALUE, "p is %g, not in [0, 1]", p);
    }
    return fill(call, draw_binomial, p, 0);
}

/* The place in `sums` of the first that is above `at`, the last one where none is. */
static size_t find_above(const double *probabilities, size_t n, double at)
{
    double sum = 0;
    size_t i;

    for (i = 0; i + 1 < n; i++) {
        sum += probabilities[i];
        if (sum > at) {
            break;
        }
    }
    return i;
}

/* 1 in the place that is drawn by the probabilities, 0 in all others. Input LIKE are the probabilities, which are taken as one
 * row. Nothing is drawn, and all is 1, where all of them are 0. */
static bool run_choice(struct mdf_call *call)
{
    const struct mdf_value *given = mdf_python_input_array(call, LIKE, SLOT_LIKE);
    const double *probabilities;
    struct mdf_twister *twister;
    bool is_empty = true;
    double *chosen;

    given = given != NULL ? mdf_python_array_of(call, given, MDF_DTYPE_FLOAT64, SLOT_OTHER) : NULL;
    if (given == NULL) {
        return false;
    }
    probabilities = given->data;
    for (size_t i = 0; i < given->length; i++) {
        is_empty = is_empty && probabilities[i] == 0;
    }
    twister = is_empty ? NULL : find_generator(call);
    if (!is_empty && twister == NULL) {
        return false;
    }
    chosen =
        mdf_python_make(call, call->outputs[0], MDF_DTYPE_FLOAT64, MDF_STRENGTH_LITERAL, given->rank, mdf_value_shape(given));
    for (size_t i = 0; chosen != NULL && i < given->length; i++) {
        chosen[i] = is_empty ? 1 : 0;
    }
    if (chosen != NULL && !is_empty) {
        chosen[find_above(probabilities, given->length, mdf_twister_uniform(twister))] = 1;
    }
    return chosen != NULL;
}

/* ------------------------------------------------------------------ as C */

/* The row that describes the generator, which has to be known before. */
static bool read_constant_generator(struct mdf_call *call, double numbers[4])
{
    const struct mdf_value *row = mdf_call_input(call, GENERATOR);

    return row != NULL && row->data != NULL && read_generator(call, numbers);
}

static bool plan_draw(struct mdf_call *call, struct mdf_routine_plan *plan, const char *function)
{
    const struct mdf_value *result = mdf_call_result(call, 0);
    double numbers[4];

    if (result == NULL || !read_constant_generator(call, numbers) || !mdf_routine_room(plan, 8, 1)) {
        return false;
    }
    plan->function = function;
    plan->dtype = MDF_DTYPE_NONE;
    plan->whole[0] = (int64_t)result->length;
    plan->whole[1] = (int64_t)numbers[0];
    plan->whole[2] = numbers[1] >= 0 && numbers[1] < 0x1p32 ? (int64_t)(uint32_t)numbers[1] : -1;
    plan->whole[3] = (int64_t)numbers[2];
    plan->real[0] = numbers[3];
    plan->n_streams = (size_t)numbers[0] + 1;
    return mdf_routine_kind(mdf_python_given(call, SEED), MDF_DTYPE_NONE, &plan->whole[4]) &&
           mdf_routine_kind(mdf_python_given(call, FIRST_SETTING), MDF_DTYPE_NONE, &plan->whole[6]) &&
           mdf_routine_kind(mdf_python_given(call, SECOND_SETTING), MDF_DTYPE_NONE, &plan->whole[7]);
}

/* ... and what it is without its kernel. */
static bool say_draw(struct mdf_call *call, struct mdf_drawing *drawing, draw_number number, bool (*is_fit)(double, double))
{
    *drawing = (struct mdf_drawing){.number = number,
                                    .is_fit = is_fit,
                                    .settings = {mdf_python_given_at(call, FIRST_SETTING), mdf_python_given_at(call, SECOND_SETTING)},
                                    .defaults = {1, 1},
                                    .seed = mdf_python_given_at(call, SEED)};
    return mdf_call_input(call, GENERATOR) != NULL && read_stream(call, drawing);
}

#define PLAN(name, is_fit)                                                           \
    static bool plan_##name(struct mdf_call *call, struct mdf_routine_plan *plan)    \
    {                                                                                \
        return plan_draw(call, plan, "draw_psyneulink_" #name);                      \
    }                                                                                \
    static bool say_##name(struct mdf_call *call, struct mdf_drawing *drawing)       \
    {                                                                                \
        return say_draw(call, drawing, draw_##name, is_fit);                         \
    }
PLAN(normal, NULL)
PLAN(uniform, NULL)
PLAN(exponential, NULL)
PLAN(inverted, NULL)
PLAN(gamma, is_shape)
PLAN(wald, are_mean_and_scale)
PLAN(binomial, is_probability)

static bool plan_choice(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_draw(call, plan, "draw_psyneulink_choice") &&
           mdf_routine_kind(mdf_call_input(call, LIKE), call->context->real, &plan->whole[5]);
}

static const char no_seed[] = "a seed of random numbers is not below 2**32";

/* What is drawn is a constant; where it depends on a parameter by more than a place and a scale, there is no derivative by that.
 */
static const struct mdf_derivative draw_derivatives[] = {{0, NULL}, {1, NULL}, {2, NULL}, {MDF_DERIVATIVE_END, NULL}};

/* Of `like` only the form counts. */
enum { LIKE_FORM = 1 << 2 };

#define ROW_OF(name, kernel, formals, routine_of, forms)                                                           \
    {                                                                                                              \
        "psyneulink.draw_" #name, 0, 0, kernel, NULL, 0, MDF_OPERATOR_RANDOM | MDF_OPERATOR_KEEPS_INPUTS, formals, \
            .routine = routine_of, .derivatives = draw_derivatives, .by_form = (forms)                             \
    }
#define ROW(name, kernel, formals, why, forms) \
    ROW_OF(name, kernel, formals, MDF_NUMBERS_ROUTINE(plan_##name, why, say_##name), forms)

const struct mdf_operator mdf_operators_python_psyneulink_draws[] = {
    ROW(normal, run_normal, "generator seed like", no_seed, LIKE_FORM),
    ROW(uniform, run_uniform, "generator seed like", no_seed, LIKE_FORM),
    ROW(exponential, run_exponential, "generator seed like", no_seed, LIKE_FORM),
    ROW(inverted, run_inverted, "generator seed like", no_seed, LIKE_FORM),
    ROW(gamma, run_gamma, "generator seed like shape", "a shape is below 0, or a seed not below 2**32", LIKE_FORM),
    ROW(wald, run_wald, "generator seed like mean scale", "a mean or scale is not above 0, or a seed not below 2**32", LIKE_FORM),
    ROW(binomial, run_binomial, "generator seed like p", "a probability is not in [0, 1], or a seed not below 2**32", LIKE_FORM),
    ROW_OF(choice, run_choice, "generator seed probabilities", MDF_DRAWING_ROUTINE(plan_choice, no_seed), 0),
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
