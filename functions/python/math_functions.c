/* math_functions.c - Python's module math: functions of real numbers.
 *
 * Operands are single numbers; results are Python floats. What has no real result is an error, as in Python: "math domain error",
 * "math range error". Source: the Python library reference, "math", version 3.11; CPython's mathmodule.c for what counts as which
 * error. */
#include "functions/kernel/derivatives.h"
#include "functions/elements/element.h"
#include "functions/elements/element_helpers.h"
#include "functions/python/python_operations.h"

#include <string.h>

static bool refuse_domain(struct mdf_call *call)
{
    return mdf_call_error(call, MDF_VALUE, "math domain error");
}

static bool refuse_range(struct mdf_call *call)
{
    return mdf_call_error(call, MDF_VALUE, "math range error");
}

/* ------------------------------------------------------------------ functions of one number */

/* Writes f(x): no NaN that x was not, no infinity of a finite x: a pole is an error of domain, an overflow (`grows`) one of
 * range. */
static bool yield_checked(struct mdf_call *call, double x, double result, bool grows)
{
    if (isnan(result) && !isnan(x)) {
        return refuse_domain(call);
    }
    if (isinf(result) && isfinite(x)) {
        return grows ? refuse_range(call) : refuse_domain(call);
    }
    return mdf_python_make_real(call, mdf_call_target(call, 0), result);
}

static bool apply(struct mdf_call *call, double (*function)(double), bool grows)
{
    double x;

    return mdf_call_real(call, 0, &x) && yield_checked(call, x, function(x), grows);
}

/* X(kernel, function of C, whether it overflows) */
#define FUNCTION_LIST(X)                   \
    X(run_acos, mdf_acos_float64, false)   \
    X(run_acosh, mdf_acosh_float64, false) \
    X(run_asin, mdf_asin_float64, false)   \
    X(run_asinh, mdf_asinh_float64, false) \
    X(run_atan, mdf_atan_float64, false)   \
    X(run_atanh, mdf_atanh_float64, false) \
    X(run_cbrt, mdf_cbrt_float64, false)   \
    X(run_cos, mdf_cos_float64, false)     \
    X(run_cosh, mdf_cosh_float64, true)    \
    X(run_erf, mdf_erf_float64, false)     \
    X(run_erfc, mdf_erfc_float64, false)   \
    X(run_exp, mdf_exp_float64, true)      \
    X(run_exp2, mdf_exp2_float64, true)    \
    X(run_expm1, mdf_expm1_float64, true)  \
    X(run_fabs, fabs, false)               \
    X(run_log10, mdf_log10_float64, false) \
    X(run_log1p, mdf_log1p_float64, false) \
    X(run_log2, mdf_log2_float64, false)   \
    X(run_sin, mdf_sin_float64, false)     \
    X(run_sinh, mdf_sinh_float64, true)    \
    X(run_sqrt, sqrt, false)               \
    X(run_tan, mdf_tan_float64, false)     \
    X(run_tanh, mdf_tanh_float64, false)

#define FUNCTION_KERNEL(name, of_c, grows)  \
    static bool name(struct mdf_call *call) \
    {                                       \
        return apply(call, of_c, grows);    \
    }
FUNCTION_LIST(FUNCTION_KERNEL)

static bool run_degrees(struct mdf_call *call)
{
    double x;

    return mdf_call_real(call, 0, &x) && mdf_python_make_real(call, mdf_call_target(call, 0), x * (180 / M_PI));
}

static bool run_radians(struct mdf_call *call)
{
    double x;

    return mdf_call_real(call, 0, &x) && mdf_python_make_real(call, mdf_call_target(call, 0), x * (M_PI / 180));
}

/* Factorials that a float64 holds exactly, for gamma of whole numbers. */
static double exact_gamma(double x)
{
    double product = 1, k;

    for (k = 2; k < x; k++) {
        product *= k;
    }
    return product;
}

static bool run_gamma(struct mdf_call *call)
{
    double x;

    if (!mdf_call_real(call, 0, &x)) {
        return false;
    }
    if (x == (double)-INFINITY || (x <= 0 && x == floor(x))) {
        return refuse_domain(call);
    }
    return yield_checked(call, x, x == floor(x) && x <= 23 ? exact_gamma(x) : tgamma(x), true);
}

static bool run_lgamma(struct mdf_call *call)
{
    double x;

    if (!mdf_call_real(call, 0, &x)) {
        return false;
    }
    if (isfinite(x) && x <= 0 && x == floor(x)) {
        return refuse_domain(call);
    }
    return yield_checked(call, x, x == 1 || x == 2 ? 0 : lgamma_r(x, &(int){0}), true);
}

static bool run_log(struct mdf_call *call)
{
    double x;

    if (!mdf_call_real(call, 0, &x)) {
        return false;
    }
    return x > 0 || isnan(x) ? mdf_python_make_real(call, mdf_call_target(call, 0), mdf_log_float64(x)) : refuse_domain(call);
}

static bool run_ulp(struct mdf_call *call)
{
    double x;

    if (!mdf_call_real(call, 0, &x)) {
        return false;
    }
    x = fabs(x);
    if (isfinite(x)) {
        double next = nextafter(x, (double)INFINITY);

        x = isinf(next) ? x - nextafter(x, 0) : next - x;
    }
    return mdf_python_make_real(call, mdf_call_target(call, 0), x);
}

static bool run_frexp(struct mdf_call *call)
{
    struct mdf_value *items;
    int exponent = 0;
    double x, mantissa;

    if (!mdf_call_real(call, 0, &x)) {
        return false;
    }
    mantissa = isfinite(x) ? frexp(x, &exponent) : x;
    items = mdf_python_make_list(call, mdf_call_target(call, 0), 2);
    return items != NULL && mdf_python_make_real(call, &items[0], mantissa) && mdf_python_make_int(call, &items[1], exponent);
}

/* ------------------------------------------------------------------ questions */

static bool run_isnan(struct mdf_call *call)
{
    double x;

    return mdf_call_real(call, 0, &x) && mdf_python_make_bool(call, mdf_call_target(call, 0), isnan(x));
}

static bool run_isinf(struct mdf_call *call)
{
    double x;

    return mdf_call_real(call, 0, &x) && mdf_python_make_bool(call, mdf_call_target(call, 0), isinf(x));
}

static bool run_isfinite(struct mdf_call *call)
{
    double x;

    return mdf_call_real(call, 0, &x) && mdf_python_make_bool(call, mdf_call_target(call, 0), isfinite(x));
}

/* ------------------------------------------------------------------ functions of two numbers */

static bool read_two(struct mdf_call *call, double *a, double *b)
{
    return mdf_call_real(call, 0, a) && mdf_call_real(call, 1, b);
}

static bool run_atan2(struct mdf_call *call)
{
    double a, b;

    return read_two(call, &a, &b) && mdf_python_make_real(call, mdf_call_target(call, 0), atan2(a, b));
}

static bool run_copysign(struct mdf_call *call)
{
    double a, b;

    return read_two(call, &a, &b) && mdf_python_make_real(call, mdf_call_target(call, 0), copysign(a, b));
}

static bool run_nextafter(struct mdf_call *call)
{
    double a, b;

    return read_two(call, &a, &b) && mdf_python_make_real(call, mdf_call_target(call, 0), nextafter(a, b));
}

/* A remainder by a C function: of an infinity, or by zero, there is none. */
static bool yield_remainder(struct mdf_call *call, double (*function)(double, double))
{
    double a, b;

    if (!read_two(call, &a, &b)) {
        return false;
    }
    if (!isnan(a) && !isnan(b) && (isinf(a) || b == 0)) {
        return refuse_domain(call);
    }
    return mdf_python_make_real(call, mdf_call_target(call, 0), function(a, b));
}

static bool run_fmod(struct mdf_call *call)
{
    return yield_remainder(call, mdf_remainder_float64);
}

static bool run_remainder(struct mdf_call *call)
{
    return yield_remainder(call, remainder);
}

static bool run_pow(struct mdf_call *call)
{
    double a, b, power;

    if (!read_two(call, &a, &b)) {
        return false;
    }
    power = mdf_power_float64(a, b);
    if (isfinite(a) && isfinite(b) && !isfinite(power)) {
        return isnan(power) || a == 0 ? refuse_domain(call) : refuse_range(call);
    }
    return mdf_python_make_real(call, mdf_call_target(call, 0), power);
}

static bool run_ldexp(struct mdf_call *call)
{
    double x, result;
    int64_t exponent;

    if (!mdf_call_real(call, 0, &x) || !mdf_call_integer(call, 1, &exponent)) {
        return false;
    }
    result = ldexp(x, exponent > 5000 ? 5000 : exponent < -5000 ? -5000 : (int)exponent);
    return isinf(result) && isfinite(x) ? refuse_range(call) : mdf_python_make_real(call, mdf_call_target(call, 0), result);
}

/* ------------------------------------------------------------------ sums */

/* A Euclidean length under construction: scaled by the largest magnitude so that nothing overflows. */
struct length {
    double largest;
    long double sum;
    bool infinite, nan;
};

static void measure(struct length *length, double x)
{
    length->infinite = length->infinite || isinf(x);
    length->nan = length->nan || isnan(x);
    length->largest = fabs(x) > length->largest ? fabs(x) : length->largest;
}

static void add_square(struct length *length, double x)
{
    long double scaled = length->largest > 0 ? (long double)x / (long double)length->largest : 0;

    length->sum += scaled * scaled;
}

static bool yield_length(struct mdf_call *call, const struct length *length)
{
    double result = length->infinite ? (double)INFINITY
                    : length->nan    ? (double)NAN
                                     : (double)((long double)length->largest * sqrtl(length->sum));

    return mdf_python_make_real(call, mdf_call_target(call, 0), result);
}

/* "*coordinates". */
static bool run_hypot(struct mdf_call *call)
{
    struct length length = {0};
    double x, y;

    if (call->n_inputs == 2) {
        return read_two(call, &x, &y) && mdf_python_make_real(call, mdf_call_target(call, 0), hypot(x, y));
    }
    for (size_t i = 0; i < call->n_inputs; i++) {
        if (!mdf_call_real(call, i, &x)) {
            return false;
        }
        measure(&length, x);
    }
    for (size_t i = 0; i < call->n_inputs; i++) {
        if (mdf_call_real(call, i, &x)) {
            add_square(&length, x);
        }
    }
    return yield_length(call, &length);
}

/* Input `i` as a row of reals. */
static const double *read_row(struct mdf_call *call, size_t i, size_t slot, size_t *n)
{
    static const double nothing = 0;
    const struct mdf_value *array = mdf_python_input_array(call, i, slot), *reals;

    reals = array == NULL ? NULL : mdf_python_array_of(call, array, MDF_DTYPE_FLOAT64, slot);
    if (reals == NULL) {
        return NULL;
    }
    if (reals->rank != 1) {
        mdf_call_error(call, MDF_SHAPE, "a row of numbers is needed, not an array of rank %zu", (size_t)reals->rank);
        return NULL;
    }
    *n = reals->length;
    return reals->length > 0 ? reals->data : &nothing;
}

static bool run_dist(struct mdf_call *call)
{
    size_t n, m;
    const double *p = read_row(call, 0, MDF_SLOT_OPERANDS, &n),
                 *q = p == NULL ? NULL : read_row(call, 1, MDF_SLOT_OPERANDS + 1, &m);
    struct length length = {0};

    if (q == NULL) {
        return false;
    }
    if (n != m) {
        return mdf_call_error(call, MDF_SHAPE, "points of %zu and %zu coordinates", n, m);
    }
    for (size_t i = 0; i < n; i++) {
        measure(&length, p[i] - q[i]);
    }
    for (size_t i = 0; i < n; i++) {
        add_square(&length, p[i] - q[i]);
    }
    return yield_length(call, &length);
}

/* Adds x to a sum that is held as partial sums without overlap, in ascending order; their new number. Source: J. R. Shewchuk,
 * "Adaptive Precision Floating-Point Arithmetic", 1997. */
static size_t add_exactly(double *partials, size_t n, double x)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        double y = partials[i], high, low;

        if (fabs(x) < fabs(y)) {
            double held = x;

            x = y;
            y = held;
        }
        high = x + y;
        low = y - (high - x);
        if (low != 0) {
            partials[kept++] = low;
        }
        x = high;
    }
    if (x != 0) {
        partials[kept++] = x;
    }
    return kept;
}

/* The sum of partial sums, correctly rounded. */
static double round_partials(const double *partials, size_t n)
{
    double high = 0, low = 0, before;

    if (n == 0) {
        return 0;
    }
    high = partials[--n];
    while (n > 0) {
        before = high;
        high = before + partials[--n];
        low = partials[n] - (high - before);
        if (low != 0) {
            break;
        }
    }
    if (n > 0 && ((low < 0 && partials[n - 1] < 0) || (low > 0 && partials[n - 1] > 0))) { /* a tie that the rest breaks */
        before = high + low * 2;
        if (low * 2 == before - high) {
            high = before;
        }
    }
    return high;
}

static bool run_fsum(struct mdf_call *call)
{
    size_t n, n_partials = 0, i;
    const double *items = read_row(call, 0, MDF_SLOT_OPERANDS, &n);
    double special = 0, *partials;

    /* Partial sums do not overlap: float64 has room for at most 2098 / 53 of them, and one. */
    partials = items == NULL ? NULL : mdf_call_scratch(call, MDF_PYTHON_SCRATCH_INTEGERS, MDF_DTYPE_FLOAT64, 64);
    if (partials == NULL) {
        return false;
    }
    for (i = 0; i < n; i++) {
        if (!isfinite(items[i])) {
            special += items[i];
            continue;
        }
        n_partials = add_exactly(partials, n_partials, items[i]);
        if (n_partials > 0 && !isfinite(partials[n_partials - 1])) {
            return refuse_range(call);
        }
    }
    if (special != 0) {
        for (i = 0; isnan(special) && i < n && !isnan(items[i]); i++) {
        }
        return isnan(special) && i == n ? refuse_domain(call) : mdf_python_make_real(call, mdf_call_target(call, 0), special);
    }
    return mdf_python_make_real(call, mdf_call_target(call, 0), round_partials(partials, n_partials));
}

#define NOT_NEGATIVE(tolerance) "operator.refuse('math.isclose: a tolerance is negative', " tolerance ", " tolerance " >= 0)"

const struct mdf_operator mdf_operators_python_math_functions[] = {
    MDF_FUNCTION("math.acos", run_acos, 0, "x", MDF_ELEMENT(arc_cosine)),
    MDF_FUNCTION("math.acosh", run_acosh, 0, "x", MDF_ELEMENT(arc_cosine_hyperbolic)),
    MDF_FUNCTION("math.asin", run_asin, 0, "x", MDF_ELEMENT(arc_sine)),
    MDF_FUNCTION("math.asinh", run_asinh, 0, "x", MDF_ELEMENT(arc_sine_hyperbolic)),
    MDF_FUNCTION("math.atan", run_atan, 0, "x", MDF_ELEMENT(arc_tangent)),
    MDF_FUNCTION("math.atan2", run_atan2, 0, "y x", MDF_ELEMENT(arc_tangent_of_two)),
    MDF_FUNCTION("math.atanh", run_atanh, 0, "x", MDF_ELEMENT(arc_tangent_hyperbolic)),
    MDF_FUNCTION("math.cbrt", run_cbrt, 0, "x", MDF_ELEMENT(cube_root)),
    MDF_FUNCTION("math.copysign", run_copysign, 0, "x y", MDF_ELEMENT(copy_sign)),
    MDF_FUNCTION("math.cos", run_cos, 0, "x", MDF_ELEMENT(cosine)),
    MDF_FUNCTION("math.cosh", run_cosh, 0, "x", MDF_ELEMENT(cosine_hyperbolic)),
    MDF_FUNCTION("math.degrees", run_degrees, 0, "x", MDF_ELEMENT(degrees)),
    MDF_FUNCTION("math.dist", run_dist, 0, "p q",
                 .derivatives = MDF_DERIVATIVES({0, "dy * (numpy.asarray(x0) - numpy.asarray(x1)) / y"},
                                                {1, "dy * (numpy.asarray(x1) - numpy.asarray(x0)) / y"})),
    MDF_FUNCTION("math.erf", run_erf, 0, "x", MDF_ELEMENT(error_function)),
    MDF_FUNCTION("math.erfc", run_erfc, 0, "x", MDF_ELEMENT(error_function_complement)),
    MDF_FUNCTION("math.exp", run_exp, 0, "x", MDF_ELEMENT(exponential)),
    MDF_FUNCTION("math.exp2", run_exp2, 0, "x", MDF_ELEMENT(exponential_base_two)),
    MDF_FUNCTION("math.expm1", run_expm1, 0, "x", MDF_ELEMENT(exponential_minus_one)),
    MDF_FUNCTION("math.fabs", run_fabs, 0, "x", MDF_ELEMENT(absolute)),
    MDF_FUNCTION("math.fmod", run_fmod, 0, "x y", MDF_ELEMENT(c_remainder)),
    MDF_FUNCTION("math.frexp", run_frexp, 0, "x"),
    MDF_FUNCTION("math.fsum", run_fsum, 0, "seq", .derivatives = MDF_DERIVATIVES({0, "dy + numpy.zeros_like(x0)"})),
    MDF_FUNCTION("math.gamma", run_gamma, 0, "x", .derivatives = MDF_DERIVATIVES({0, "dy * y * gradient.digamma(x0)"})),
    MDF_FUNCTION("math.hypot", run_hypot, 0, "*coordinates", MDF_ELEMENT(hypotenuse)),
    MDF_FUNCTION("math.isclose", NULL, 0, "a b rel_tol= abs_tol=",
                 .meaning = MDF_MEANING(
                     "result", NULL, {"relative", "1e-09 if rel_tol is None else " NOT_NEGATIVE("rel_tol"), NULL},
                     {"absolute", "0.0 if abs_tol is None else " NOT_NEGATIVE("abs_tol"), NULL},
                     {"apart", "math.fabs(b - a)", NULL},
                     {"result",
                      "a == b or not (math.isinf(a) or math.isinf(b)) and (apart <= math.fabs(relative * b) or apart <= "
                      "math.fabs(relative * a) or apart <= absolute)",
                      NULL}),
                 .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("math.isfinite", run_isfinite, 0, "x", MDF_ELEMENT(is_finite)),
    MDF_FUNCTION("math.isinf", run_isinf, 0, "x", MDF_ELEMENT(is_infinite)),
    MDF_FUNCTION("math.isnan", run_isnan, 0, "x", MDF_ELEMENT(is_nan)),
    MDF_FUNCTION("math.ldexp", run_ldexp, 0, "x i", .derivatives = MDF_DERIVATIVES({0, "dy * 2.0 ** x1"}, {1, NULL})),
    MDF_FUNCTION("math.lgamma", run_lgamma, 0, "x", .derivatives = MDF_DERIVATIVES({0, "dy * gradient.digamma(x0)"})),
    MDF_FUNCTION("math.log", run_log, 0, "x base=+operator.log_to_base", MDF_ELEMENT(logarithm)),
    MDF_FUNCTION("operator.log_to_base", NULL, 0, "x base",
                 .meaning = MDF_MEANING("result", NULL, {"result", "math.log(x) / math.log(base)", NULL})),
    MDF_FUNCTION("math.log10", run_log10, 0, "x", MDF_ELEMENT(logarithm_base_ten)),
    MDF_FUNCTION("math.log1p", run_log1p, 0, "x", MDF_ELEMENT(logarithm_of_one_more)),
    MDF_FUNCTION("math.log2", run_log2, 0, "x", MDF_ELEMENT(logarithm_base_two)),
    MDF_FUNCTION("math.modf", NULL, 0, "x",
                 .meaning =
                     MDF_MEANING("result", NULL, {"part", "math.copysign(0.0 if math.isinf(x) else math.fmod(x, 1.0), x)", NULL},
                                 {"result", "(part, math.copysign(x - part, x))", NULL})),
    MDF_FUNCTION("math.nextafter", run_nextafter, 0, "x y", MDF_ELEMENT(next_after)),
    MDF_FUNCTION("math.pow", run_pow, 0, "x y", MDF_ELEMENT(power)),
    MDF_FUNCTION("math.radians", run_radians, 0, "x", MDF_ELEMENT(radians)),
    MDF_FUNCTION("math.remainder", run_remainder, 0, "x y",
                 .derivatives = MDF_DERIVATIVES({0, "dy"}, {1, "-dy * numpy.rint(x0 / x1)"})),
    MDF_FUNCTION("math.sin", run_sin, 0, "x", MDF_ELEMENT(sine)),
    MDF_FUNCTION("math.sinh", run_sinh, 0, "x", MDF_ELEMENT(sine_hyperbolic)),
    MDF_FUNCTION("math.sqrt", run_sqrt, 0, "x", MDF_ELEMENT(square_root)),
    MDF_FUNCTION("math.tan", run_tan, 0, "x", MDF_ELEMENT(tangent)),
    MDF_FUNCTION("math.tanh", run_tanh, 0, "x", MDF_ELEMENT(tangent_hyperbolic)),
    MDF_FUNCTION("math.ulp", run_ulp, 0, "x", .derivatives = mdf_derivatives_flat),
    {NULL}};
