/* numpy_random.c - numpy.random in expressions: random random_sample rand uniform, standard_normal randn normal.
 *
 * Comes in: a shape (none: one number), and for some a place and a scale, numbers. Goes out: draws of the generator that stands
 * for numpy.random, in row-major order: those that numpy gives for the same seed. Source: numpy.random.RandomState, whose stream
 * is frozen; docs/random.md. */
#include "functions/kernel/derivatives.h"
#include "functions/kernel/routine.h"
#include "functions/python/python_values.h"
#include "functions/sampling/drawing.h"

#include <math.h>

/* Slots. */
enum { SLOT_SHAPE = MDF_SLOT_OWN };

static double uniform_number(struct mdf_twister *twister, double low, double high)
{
    return low + (high - low) * mdf_twister_uniform(twister);
}

static double normal_number(struct mdf_twister *twister, double place, double scale)
{
    return place + scale * mdf_twister_normal(twister);
}

static double standard_uniform_number(struct mdf_twister *twister, double first, double second)
{
    (void)first, (void)second;
    return mdf_twister_uniform(twister);
}

static double standard_normal_number(struct mdf_twister *twister, double first, double second)
{
    (void)first, (void)second;
    return mdf_twister_normal(twister);
}

/* What is drawn: `number` of low and high, or place and scale. */
struct drawing {
    double (*number)(struct mdf_twister *twister, double first, double second);
    double first, second;
};

static bool has_range(double low, double high)
{
    return isfinite(high - low);
}

static bool has_scale(double place, double scale)
{
    (void)place;
    return isnan(scale) || !signbit(scale);
}

static double draw_one(struct mdf_call *call, const struct drawing *drawing)
{
    return drawing->number(mdf_random_as_numpy(call->context), drawing->first, drawing->second);
}

/* Output 0 becomes an array of draws; where `shape` is NULL, one number. */
static bool fill(struct mdf_call *call, const struct drawing *drawing, size_t rank, const int64_t *shape)
{
    struct mdf_value *target = mdf_call_target(call, 0);
    mdf_dtype real = call->context->real;
    char *elements;

    if (shape == NULL) {
        return mdf_python_make_real(call, target, draw_one(call, drawing));
    }
    for (size_t i = 0; i < rank; i++) {
        if (shape[i] < 0) {
            return mdf_call_error(call, MDF_VALUE, "a size is negative: %lld", (long long)shape[i]);
        }
    }
    elements = mdf_python_make(call, target, real, MDF_STRENGTH_LITERAL, rank, shape);
    for (size_t i = 0;
         elements != NULL && i < target->length && !mdf_should_stop_at(call->context, (size_t)i, MDF_ITEMS_PER_LOOK); i++) {
        double drawn = draw_one(call, drawing);

        mdf_convert_elements(real, elements + i * mdf_dtype_size(real), MDF_DTYPE_FLOAT64, &drawn, 1, false);
    }
    return elements != NULL;
}

/* Input `i` is the shape, "size=". */
static bool fill_size(struct mdf_call *call, const struct drawing *drawing, size_t i)
{
    const int64_t *shape;
    size_t rank;

    if (mdf_python_given(call, i) == NULL) {
        return fill(call, drawing, 0, NULL);
    }
    shape = mdf_python_integers(call, i, SLOT_SHAPE, &rank);
    return shape != NULL && fill(call, drawing, rank, shape);
}

/* Each input is a size, "*sizes". */
static bool fill_sizes(struct mdf_call *call, const struct drawing *drawing)
{
    int64_t *shape = mdf_python_sizes(call, SLOT_SHAPE, call->n_inputs);

    for (size_t i = 0; shape != NULL && i < call->n_inputs; i++) {
        if (!mdf_call_integer(call, i, &shape[i])) {
            return false;
        }
    }
    return shape != NULL && fill(call, drawing, call->n_inputs, call->n_inputs == 0 ? NULL : shape);
}

static bool run_random(struct mdf_call *call)
{
    return fill_size(call, &(struct drawing){standard_uniform_number, 0, 1}, 0);
}

static bool run_rand(struct mdf_call *call)
{
    return fill_sizes(call, &(struct drawing){standard_uniform_number, 0, 1});
}

/* "low= high= size=". */
static bool run_uniform(struct mdf_call *call)
{
    struct drawing drawing = {uniform_number, 0, 1};

    if (!mdf_python_real(call, 0, 0, &drawing.first) || !mdf_python_real(call, 1, 1, &drawing.second)) {
        return false;
    }
    if (!has_range(drawing.first, drawing.second)) {
        return mdf_call_error(call, MDF_VALUE, "the range from %g to %g is not finite", drawing.first, drawing.second);
    }
    return fill_size(call, &drawing, 2);
}

static bool run_standard_normal(struct mdf_call *call)
{
    return fill_size(call, &(struct drawing){standard_normal_number, 0, 1}, 0);
}

static bool run_randn(struct mdf_call *call)
{
    return fill_sizes(call, &(struct drawing){standard_normal_number, 0, 1});
}

/* "loc= scale= size=". */
static bool run_normal(struct mdf_call *call)
{
    struct drawing drawing = {normal_number, 0, 1};

    if (!mdf_python_real(call, 0, 0, &drawing.first) || !mdf_python_real(call, 1, 1, &drawing.second)) {
        return false;
    }
    if (!has_scale(drawing.first, drawing.second)) {
        return mdf_call_error(call, MDF_VALUE, "scale is %g: a standard deviation is not negative", drawing.second);
    }
    return fill_size(call, &drawing, 2);
}

/* ------------------------------------------------------------------ without a kernel */

static bool say(struct mdf_call *call, struct mdf_drawing *drawing, double (*number)(struct mdf_twister *, double, double),
                bool (*is_fit)(double, double))
{
    *drawing = (struct mdf_drawing){.number = number, .is_fit = is_fit, .seed = SIZE_MAX, .settings = {SIZE_MAX, SIZE_MAX},
                                    .defaults = {0, 1}};
    for (size_t i = 0; is_fit != NULL && i < MDF_DRAWING_SETTINGS; i++) {
        drawing->settings[i] = mdf_python_given_at(call, i);
    }
    return true;
}

static bool say_random(struct mdf_call *call, struct mdf_drawing *drawing)
{
    return say(call, drawing, standard_uniform_number, NULL);
}

static bool say_standard_normal(struct mdf_call *call, struct mdf_drawing *drawing)
{
    return say(call, drawing, standard_normal_number, NULL);
}

static bool say_uniform(struct mdf_call *call, struct mdf_drawing *drawing)
{
    return say(call, drawing, uniform_number, has_range);
}

static bool say_normal(struct mdf_call *call, struct mdf_drawing *drawing)
{
    return say(call, drawing, normal_number, has_scale);
}

/* ------------------------------------------------------------------ as C */

/* Sizes, which are input `first_size` and what is behind it, have to be known before. */
static bool plan_draws(struct mdf_call *call, struct mdf_routine_plan *plan, const char *function, size_t first_size)
{
    const struct mdf_value *result = mdf_call_result(call, 0);

    if (result == NULL || !mdf_routine_room(plan, 4, 0)) {
        return false;
    }
    for (size_t i = first_size; i < call->n_inputs; i++) {
        if (mdf_python_given(call, i) != NULL && call->inputs[i]->data == NULL) {
            return false;
        }
    }
    plan->function = function;
    plan->dtype = MDF_DTYPE_NONE;
    plan->whole[0] = (int64_t)result->length;
    return mdf_routine_kind(result, MDF_DTYPE_NONE, &plan->whole[1]) &&
           mdf_routine_kind(first_size > 0 ? mdf_python_given(call, 0) : NULL, MDF_DTYPE_NONE, &plan->whole[2]) &&
           mdf_routine_kind(first_size > 1 ? mdf_python_given(call, 1) : NULL, MDF_DTYPE_NONE, &plan->whole[3]);
}

static bool plan_random(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_draws(call, plan, "draw_numpy_uniform", 0);
}

static bool plan_uniform(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_draws(call, plan, "draw_numpy_uniform_between", 2);
}

static bool plan_standard_normal(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_draws(call, plan, "draw_numpy_normal", 0);
}

static bool plan_normal(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_draws(call, plan, "draw_numpy_normal_around", 2);
}

/* What is drawn from the standard distribution is a constant. */
#define LOW "(0.0 if x0 is None else x0)"
#define SHARE "((y - " LOW ") / ((1.0 if x1 is None else x1) - " LOW "))"
static const struct mdf_derivative uniform_rules[] = {
    {0, "dy * (1 - " SHARE ")"}, {1, "dy * " SHARE}, {2, NULL}, {MDF_DERIVATIVE_END, NULL}};
static const struct mdf_derivative normal_rules[] = {
    {0, "dy"}, {1, "dy * (y - " LOW ") / x1"}, {2, NULL}, {MDF_DERIVATIVE_END, NULL}};

#define ROW(name, kernel, formals, plan, why, rules)                                                           \
    {                                                                                                          \
        "numpy.random." name, 0, 0, kernel, NULL, 0, MDF_OPERATOR_RANDOM | MDF_OPERATOR_KEEPS_INPUTS, formals, \
            .routine = MDF_NUMBERS_ROUTINE(plan_##plan, why, say_##plan), .derivatives = rules                      \
    }

const struct mdf_operator mdf_operators_python_numpy_random[] = {
    ROW("random", run_random, "size=", random, NULL, mdf_derivatives_flat),
    ROW("random_sample", run_random, "size=", random, NULL, mdf_derivatives_flat),
    ROW("rand", run_rand, "*sizes", random, NULL, mdf_derivatives_flat),
    ROW("uniform", run_uniform, "low= high= size=", uniform, "a range of random numbers is not finite", uniform_rules),
    ROW("standard_normal", run_standard_normal, "size=", standard_normal, NULL, mdf_derivatives_flat),
    ROW("randn", run_randn, "*sizes", standard_normal, NULL, mdf_derivatives_flat),
    ROW("normal", run_normal, "loc= scale= size=", normal, "a standard deviation is negative", normal_rules),
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL},
};
