/* numpy_functions.c - numpy's functions of reals: sin exp log arctan2 hypot ...; floor ceil trunc rint; heaviside sinc.
 *
 * Whole numbers become reals first. Errors of domain give NaN or an infinity. Source: numpy 2.4, "Mathematical functions". */
#include "functions/elements/element.h"
#include "functions/python/ufunc.h"

#include <math.h>

/* ------------------------------------------------------------------ functions of the C library */

struct function {
    double (*of_double)(double);
    float (*of_float)(float);
};

static bool map_float64(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings)
{
    double (*function)(double) = ((const struct function *)settings)->of_double;
    const double *in = operands[0];
    double *out = target;

    (void)steps;
    for (size_t i = 0; i < n; i++) {
        out[i] = function(in[i]);
    }
    return true;
}

static bool map_float32(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings)
{
    float (*function)(float) = ((const struct function *)settings)->of_float;
    const float *in = operands[0];
    float *out = target;

    (void)steps;
    for (size_t i = 0; i < n; i++) {
        out[i] = function(in[i]);
    }
    return true;
}

static const struct mdf_ufunc map = {{.loops = {MDF_LOOPS_REALS(map)}, .settings_last = true, .cost_ns = 12}, MDF_UFUNC_REALS, 1};

/* X(kernel, function of C) */
#define FUNCTION_LIST(X)  \
    X(run_cbrt, cbrt)     \
    X(run_exp, exp)       \
    X(run_exp2, exp2)     \
    X(run_expm1, expm1)   \
    X(run_log, log)       \
    X(run_log2, log2)     \
    X(run_log10, log10)   \
    X(run_log1p, log1p)   \
    X(run_sin, sin)       \
    X(run_cos, cos)       \
    X(run_tan, tan)       \
    X(run_arcsin, asin)   \
    X(run_arccos, acos)   \
    X(run_arctan, atan)   \
    X(run_sinh, sinh)     \
    X(run_cosh, cosh)     \
    X(run_tanh, tanh)     \
    X(run_arcsinh, asinh) \
    X(run_arccosh, acosh) \
    X(run_arctanh, atanh)

#define FUNCTION_KERNEL(name, of_c)                               \
    static bool name(struct mdf_call *call)                       \
    {                                                             \
        static const struct function functions = {of_c, of_c##f}; \
                                                                  \
        return mdf_ufunc_call(call, &map, &functions);            \
    }
FUNCTION_LIST(FUNCTION_KERNEL)

/* ------------------------------------------------------------------ other functions of one number */

#define OPERATION real_absolute
#define UNARY(x) MATH(fabs)(x)
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION degrees
#define UNARY(x) x *(ELEMENT)(180 / M_PI)
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION radians
#define UNARY(x) x *(ELEMENT)(M_PI / 180)
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION nearest
#define UNARY(x) MATH(rint)(x)
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION lower
#define UNARY(x) MATH(floor)(x)
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION upper
#define UNARY(x) MATH(ceil)(x)
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION truncated
#define UNARY(x) MATH(trunc)(x)
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

/* Whole numbers stay as they are. */
#define OPERATION kept
#define UNARY(x) x
#include "functions/elements/elementwise_bool.inc"
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"
#include "functions/elements/elementwise_end.inc"

/* sin(pi x) / (pi x); numpy puts 1e-20 for a zero. */
#define OPERATION sinc
#define UNARY(x) MATH(sin)((ELEMENT)M_PI * (x == 0 ? (ELEMENT)1e-20 : x)) / ((ELEMENT)M_PI * (x == 0 ? (ELEMENT)1e-20 : x))
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

#define WHOLE_KEPT MDF_LOOPS_INTEGERS(kept), MDF_LOOPS_BOOL(kept)
static const struct mdf_ufunc real_absolute = {{.loops = {MDF_LOOPS_REALS(real_absolute)}}, MDF_UFUNC_REALS, 1};
static const struct mdf_ufunc degrees = {{.loops = {MDF_LOOPS_REALS(degrees)}}, MDF_UFUNC_REALS, 1};
static const struct mdf_ufunc radians = {{.loops = {MDF_LOOPS_REALS(radians)}}, MDF_UFUNC_REALS, 1};
static const struct mdf_ufunc nearest = {{.loops = {MDF_LOOPS_REALS(nearest)}}, MDF_UFUNC_REALS, 1};
static const struct mdf_ufunc lower = {{.loops = {MDF_LOOPS_REALS(lower), WHOLE_KEPT}}, MDF_UFUNC_SHARED, 1};
static const struct mdf_ufunc upper = {{.loops = {MDF_LOOPS_REALS(upper), WHOLE_KEPT}}, MDF_UFUNC_SHARED, 1};
static const struct mdf_ufunc truncated = {{.loops = {MDF_LOOPS_REALS(truncated), WHOLE_KEPT}}, MDF_UFUNC_SHARED, 1};
static const struct mdf_ufunc sinc = {{.loops = {MDF_LOOPS_REALS(sinc)}, .cost_ns = 12}, MDF_UFUNC_QUOTIENT, 1};

/* ------------------------------------------------------------------ functions of two numbers */

#define OPERATION arc_tangent
#define BINARY(a, b) MATH(atan2)(a, b)
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION hypotenuse
#define BINARY(a, b) MATH(hypot)(a, b)
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION copy_sign
#define BINARY(a, b) MATH(copysign)(a, b)
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION next_after
#define BINARY(a, b) MATH(nextafter)(a, b)
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION step
#define BINARY(a, b) a != a ? a : a == 0 ? b : a < 0 ? 0 : 1
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

/* log(exp(a) + exp(b)), and the same to the base 2, the larger taken out. */
#define OPERATION log_sum
#define BINARY(a, b) \
    a == b ? a + (ELEMENT)M_LN2 : a > b ? a + MATH(log1p)(MATH(exp)(b - a)) : a <= b ? b + MATH(log1p)(MATH(exp)(a - b)) : a - b
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

#define OPERATION log2_sum
#define BINARY(a, b)                                                \
    a == b   ? a + 1                                                \
    : a > b  ? a + (ELEMENT)M_LOG2E *MATH(log1p)(MATH(exp2)(b - a)) \
    : a <= b ? b + (ELEMENT)M_LOG2E *MATH(log1p)(MATH(exp2)(a - b)) \
             : a - b
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_end.inc"

static const struct mdf_ufunc arc_tangent = {{.loops = {MDF_LOOPS_REALS(arc_tangent)}, .cost_ns = 20}, MDF_UFUNC_REALS, 2};
static const struct mdf_ufunc hypotenuse = {{.loops = {MDF_LOOPS_REALS(hypotenuse)}, .cost_ns = 5}, MDF_UFUNC_REALS, 2};
static const struct mdf_ufunc copy_sign = {{.loops = {MDF_LOOPS_REALS(copy_sign)}}, MDF_UFUNC_REALS, 2};
static const struct mdf_ufunc next_after = {{.loops = {MDF_LOOPS_REALS(next_after)}, .cost_ns = 5}, MDF_UFUNC_REALS, 2};
static const struct mdf_ufunc step = {{.loops = {MDF_LOOPS_REALS(step)}}, MDF_UFUNC_REALS, 2};
static const struct mdf_ufunc log_sum = {{.loops = {MDF_LOOPS_REALS(log_sum)}, .cost_ns = 25}, MDF_UFUNC_REALS, 2};
static const struct mdf_ufunc log2_sum = {{.loops = {MDF_LOOPS_REALS(log2_sum)}, .cost_ns = 25}, MDF_UFUNC_REALS, 2};

/* ------------------------------------------------------------------ kernels */

#define KERNEL(name, ufunc)                          \
    static bool name(struct mdf_call *call)          \
    {                                                \
        return mdf_ufunc_call(call, &(ufunc), NULL); \
    }

KERNEL(run_real_absolute, real_absolute)
KERNEL(run_degrees, degrees)
KERNEL(run_radians, radians)
KERNEL(run_nearest, nearest)
KERNEL(run_lower, lower)
KERNEL(run_upper, upper)
KERNEL(run_truncated, truncated)
KERNEL(run_sinc, sinc)
KERNEL(run_arc_tangent, arc_tangent)
KERNEL(run_hypotenuse, hypotenuse)
KERNEL(run_copy_sign, copy_sign)
KERNEL(run_next_after, next_after)
KERNEL(run_step, step)
KERNEL(run_log_sum, log_sum)
KERNEL(run_log2_sum, log2_sum)

#define BINARY_ROW(name, kernel, element)                                        \
    {                                                                            \
        name, 0, 0, kernel, NULL, 0, MDF_OPERATOR_KEEPS_INPUTS, "x1 x2", element \
    }
#define UNARY_ROW(name, kernel, element)                                     \
    {                                                                        \
        name, 0, 0, kernel, NULL, 0, MDF_OPERATOR_KEEPS_INPUTS, "x", element \
    }

const struct mdf_operator mdf_operators_python_numpy_functions[] = {
    UNARY_ROW("numpy.cbrt", run_cbrt, MDF_ELEMENT(cube_root)),
    UNARY_ROW("numpy.exp", run_exp, MDF_ELEMENT(exponential)),
    UNARY_ROW("numpy.exp2", run_exp2, MDF_ELEMENT(exponential_base_two)),
    UNARY_ROW("numpy.expm1", run_expm1, MDF_ELEMENT(exponential_minus_one)),
    UNARY_ROW("numpy.log", run_log, MDF_ELEMENT(logarithm)),
    UNARY_ROW("numpy.log2", run_log2, MDF_ELEMENT(logarithm_base_two)),
    UNARY_ROW("numpy.log10", run_log10, MDF_ELEMENT(logarithm_base_ten)),
    UNARY_ROW("numpy.log1p", run_log1p, MDF_ELEMENT(logarithm_of_one_more)),
    UNARY_ROW("numpy.sin", run_sin, MDF_ELEMENT(sine)),
    UNARY_ROW("numpy.cos", run_cos, MDF_ELEMENT(cosine)),
    UNARY_ROW("numpy.tan", run_tan, MDF_ELEMENT(tangent)),
    UNARY_ROW("numpy.arcsin", run_arcsin, MDF_ELEMENT(arc_sine)),
    UNARY_ROW("numpy.asin", run_arcsin, MDF_ELEMENT(arc_sine)),
    UNARY_ROW("numpy.arccos", run_arccos, MDF_ELEMENT(arc_cosine)),
    UNARY_ROW("numpy.acos", run_arccos, MDF_ELEMENT(arc_cosine)),
    UNARY_ROW("numpy.arctan", run_arctan, MDF_ELEMENT(arc_tangent)),
    UNARY_ROW("numpy.atan", run_arctan, MDF_ELEMENT(arc_tangent)),
    UNARY_ROW("numpy.sinh", run_sinh, MDF_ELEMENT(sine_hyperbolic)),
    UNARY_ROW("numpy.cosh", run_cosh, MDF_ELEMENT(cosine_hyperbolic)),
    UNARY_ROW("numpy.tanh", run_tanh, MDF_ELEMENT(tangent_hyperbolic)),
    UNARY_ROW("numpy.arcsinh", run_arcsinh, MDF_ELEMENT(arc_sine_hyperbolic)),
    UNARY_ROW("numpy.asinh", run_arcsinh, MDF_ELEMENT(arc_sine_hyperbolic)),
    UNARY_ROW("numpy.arccosh", run_arccosh, MDF_ELEMENT(arc_cosine_hyperbolic)),
    UNARY_ROW("numpy.acosh", run_arccosh, MDF_ELEMENT(arc_cosine_hyperbolic)),
    UNARY_ROW("numpy.arctanh", run_arctanh, MDF_ELEMENT(arc_tangent_hyperbolic)),
    UNARY_ROW("numpy.atanh", run_arctanh, MDF_ELEMENT(arc_tangent_hyperbolic)),
    UNARY_ROW("numpy.fabs", run_real_absolute, MDF_ELEMENT(absolute)),
    UNARY_ROW("numpy.degrees", run_degrees, MDF_ELEMENT(degrees)),
    UNARY_ROW("numpy.rad2deg", run_degrees, MDF_ELEMENT(degrees)),
    UNARY_ROW("numpy.radians", run_radians, MDF_ELEMENT(radians)),
    UNARY_ROW("numpy.deg2rad", run_radians, MDF_ELEMENT(radians)),
    UNARY_ROW("numpy.rint", run_nearest, MDF_ELEMENT(nearest)),
    UNARY_ROW("numpy.floor", run_lower, MDF_ELEMENT(floor)),
    UNARY_ROW("numpy.ceil", run_upper, MDF_ELEMENT(ceiling)),
    UNARY_ROW("numpy.trunc", run_truncated, MDF_ELEMENT(truncated)),
    UNARY_ROW("numpy.fix", run_truncated, MDF_ELEMENT(truncated)),
    UNARY_ROW("numpy.sinc", run_sinc, NULL),
    BINARY_ROW("numpy.arctan2", run_arc_tangent, MDF_ELEMENT(arc_tangent_of_two)),
    BINARY_ROW("numpy.atan2", run_arc_tangent, MDF_ELEMENT(arc_tangent_of_two)),
    BINARY_ROW("numpy.hypot", run_hypotenuse, MDF_ELEMENT(hypotenuse)),
    BINARY_ROW("numpy.copysign", run_copy_sign, MDF_ELEMENT(copy_sign)),
    BINARY_ROW("numpy.nextafter", run_next_after, NULL),
    BINARY_ROW("numpy.heaviside", run_step, MDF_ELEMENT(step)),
    BINARY_ROW("numpy.logaddexp", run_log_sum, NULL),
    BINARY_ROW("numpy.logaddexp2", run_log2_sum, NULL),
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL},
};
