/* test_vector_math.c - exp, tanh and their kin of arrays against the C library in long double, over all of float32 and float64;
 * one result for each element, wherever it stands. */
#include "functions/elements/element_helpers.h"
#include "functions/elements/vectors/vector_math.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { N = 1024 };

static long double sigmoid(long double x)
{
    return 1 / (1 + expl(-x));
}

static long double gelu(long double x)
{
    return x * 0.5L * erfcl(-x * 0.70710678118654752440084436210485L); /* of -infinity NaN */
}

static long double softplus(long double x)
{
    return (x > 0 ? x : 0) + log1pl(expl(-fabsl(x)));
}

/* The bounds of docs/elements.md, in units in the last place. */
static long double fourthl(long double x)
{
    return (x * x) * (x * x);
}

static const struct function {
    const char *name;
    bool is_double;
    int loop;
    long double (*plain)(long double);
    double bound;
} functions[] = {
    {"exp", false, MDF_VECTORS_exponential_FLOAT32, expl, 1},
    {"exp2", false, MDF_VECTORS_exponential_base_two_FLOAT32, exp2l, 0.75},
    {"expm1", false, MDF_VECTORS_exponential_minus_one_FLOAT32, expm1l, 1.5},
    {"log", false, MDF_VECTORS_logarithm_FLOAT32, logl, 1},
    {"log1p", false, MDF_VECTORS_logarithm_of_one_more_FLOAT32, log1pl, 1},
    {"log2", false, MDF_VECTORS_logarithm_base_two_FLOAT32, log2l, 1},
    {"log10", false, MDF_VECTORS_logarithm_base_ten_FLOAT32, log10l, 1},
    {"sin", false, MDF_VECTORS_sine_FLOAT32, sinl, 1.1},
    {"cos", false, MDF_VECTORS_cosine_FLOAT32, cosl, 1.1},
    {"tan", false, MDF_VECTORS_tangent_FLOAT32, tanl, 2.3},
    {"asin", false, MDF_VECTORS_arc_sine_FLOAT32, asinl, 2},
    {"acos", false, MDF_VECTORS_arc_cosine_FLOAT32, acosl, 1.2},
    {"atan", false, MDF_VECTORS_arc_tangent_FLOAT32, atanl, 1.2},
    {"sinh", false, MDF_VECTORS_sine_hyperbolic_FLOAT32, sinhl, 2.5},
    {"cosh", false, MDF_VECTORS_cosine_hyperbolic_FLOAT32, coshl, 1.5},
    {"tanh", false, MDF_VECTORS_tangent_hyperbolic_FLOAT32, tanhl, 1.1},
    {"asinh", false, MDF_VECTORS_arc_sine_hyperbolic_FLOAT32, asinhl, 1.7},
    {"acosh", false, MDF_VECTORS_arc_cosine_hyperbolic_FLOAT32, acoshl, 1.9},
    {"atanh", false, MDF_VECTORS_arc_tangent_hyperbolic_FLOAT32, atanhl, 2},
    {"fourth", false, MDF_VECTORS_fourth_FLOAT32, fourthl, 1},
    {"cbrt", false, MDF_VECTORS_cube_root_FLOAT32, cbrtl, 0.7},
    {"erf", false, MDF_VECTORS_error_function_FLOAT32, erfl, 1.5},
    {"erfc", false, MDF_VECTORS_error_function_complement_FLOAT32, erfcl, 5},
    {"sigmoid", false, MDF_VECTORS_sigmoid_FLOAT32, sigmoid, 2.5},
    {"softplus", false, MDF_VECTORS_softplus_FLOAT32, softplus, 2},
    {"gelu", false, MDF_VECTORS_gelu_FLOAT32, gelu, 7},
    {"exp", true, MDF_VECTORS_exponential_FLOAT64, expl, 0.85},
    {"exp2", true, MDF_VECTORS_exponential_base_two_FLOAT64, exp2l, 0.75},
    {"expm1", true, MDF_VECTORS_exponential_minus_one_FLOAT64, expm1l, 1.15},
    {"log", true, MDF_VECTORS_logarithm_FLOAT64, logl, 0.9},
    {"log1p", true, MDF_VECTORS_logarithm_of_one_more_FLOAT64, log1pl, 0.9},
    {"log2", true, MDF_VECTORS_logarithm_base_two_FLOAT64, log2l, 1},
    {"log10", true, MDF_VECTORS_logarithm_base_ten_FLOAT64, log10l, 1},
    {"sin", true, MDF_VECTORS_sine_FLOAT64, sinl, 0.85},
    {"cos", true, MDF_VECTORS_cosine_FLOAT64, cosl, 0.85},
    {"tan", true, MDF_VECTORS_tangent_FLOAT64, tanl, 1.05},
    {"asin", true, MDF_VECTORS_arc_sine_FLOAT64, asinl, 0.85},
    {"acos", true, MDF_VECTORS_arc_cosine_FLOAT64, acosl, 0.95},
    {"atan", true, MDF_VECTORS_arc_tangent_FLOAT64, atanl, 0.9},
    {"sinh", true, MDF_VECTORS_sine_hyperbolic_FLOAT64, sinhl, 2.2},
    {"cosh", true, MDF_VECTORS_cosine_hyperbolic_FLOAT64, coshl, 1.6},
    {"tanh", true, MDF_VECTORS_tangent_hyperbolic_FLOAT64, tanhl, 1.05},
    {"asinh", true, MDF_VECTORS_arc_sine_hyperbolic_FLOAT64, asinhl, 1.7},
    {"acosh", true, MDF_VECTORS_arc_cosine_hyperbolic_FLOAT64, acoshl, 1.9},
    {"atanh", true, MDF_VECTORS_arc_tangent_hyperbolic_FLOAT64, atanhl, 2},
    {"fourth", true, MDF_VECTORS_fourth_FLOAT64, fourthl, 1},
    {"cbrt", true, MDF_VECTORS_cube_root_FLOAT64, cbrtl, 0.7},
    {"erf", true, MDF_VECTORS_error_function_FLOAT64, erfl, 1.3},
    {"erfc", true, MDF_VECTORS_error_function_complement_FLOAT64, erfcl, 4.5},
    {"sigmoid", true, MDF_VECTORS_sigmoid_FLOAT64, sigmoid, 2.5},
    {"softplus", true, MDF_VECTORS_softplus_FLOAT64, softplus, 2},
};
enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

static void map_in(const struct mdf_vector_math *math, const struct function *function, size_t n, const double *x, double *y)
{
    float narrow[N];
    void *target = function->is_double ? (void *)y : narrow;
    const void *operand = function->is_double ? (const void *)x : narrow;

    for (size_t i = 0; i < n; i++) {
        narrow[i] = (float)x[i];
    }
    cr_assert(math->loops[function->loop](target, (const void *[]){operand}, (const size_t[]){1}, n, NULL));
    for (size_t i = 0; i < n && !function->is_double; i++) {
        y[i] = (double)narrow[i];
    }
}

static long double unit_in_last_place(const struct function *function, long double x)
{
    int exponent, lowest = function->is_double ? -1074 : -149;

    frexpl(fabsl(x), &exponent);
    exponent -= function->is_double ? 53 : 24;
    return ldexpl(1, exponent < lowest ? lowest : exponent);
}

/* Whether the reference is nearer to what is right than what is tested: long double may be no more than double. */
static bool has_reference(bool is_double)
{
    return !is_double || LDBL_MANT_DIG > DBL_MANT_DIG;
}

static void check_element(const struct function *function, double x, double y)
{
    long double wanted = function->plain(function->is_double ? x : (double)(float)x);
    double rounded = function->is_double ? (double)wanted : (double)(float)wanted;

    if (!has_reference(function->is_double)) {
        return;
    }
    if (isnan(wanted)) {
        cr_assert(isnan(y), "%s(%a) is %a", function->name, x, y);
    } else if (isinf(rounded) || isinf(y) || wanted == 0) {
        cr_assert(rounded == y && signbit(rounded) == signbit(y), "%s(%a) is %a", function->name, x, y);
    } else {
        cr_assert(fabsl(y - wanted) <= function->bound * unit_in_last_place(function, wanted), "%s(%a) is %a, not %La", function->name, x,
                  y, wanted);
    }
}

/* Numbers spread over all there are, from the first-th on; every second time those between -limit and limit. */
static void spread(const struct function *function, uint64_t first, double *x)
{
    const double limits[] = {1, 10, 800, 1e5, 1.7e6, 1e-3};
    const uint64_t step = 40093; /* a prime, so that all digits vary */

    for (size_t i = 0; i < N; i++) {
        uint64_t number = (first + i) * step;
        uint32_t narrow = (uint32_t)number;
        float of_narrow;

        memcpy(&of_narrow, &narrow, sizeof of_narrow);
        number *= 0x9e3779b97f4a7c15u;
        memcpy(&x[i], &number, sizeof *x);
        if (!function->is_double) {
            x[i] = (double)of_narrow;
        } else if (first / N % 2 == 1) {
            x[i] = ((double)number * 0x1p-63 - 1) * limits[first / N / 2 % 6];
        }
    }
}

enum { N_SPREAD = 50 * N }; /* of float32, those are spread over all */

/* What a function makes of a single number, of any bits, is what its loop makes of it. */
static void check_number(const struct function *function, uint64_t bits)
{
    mdf_number_function number = mdf_vector_math()->numbers[function->loop];
    double x, y = 0, alone = 0;
    float single, alone_single;

    memcpy(&x, &bits, sizeof x);
    mdf_vector_math()->loops[function->loop](&y, (const void *[]){&x}, (const size_t[]){1}, 1, NULL);
    if (function->is_double) {
        alone = ((double (*)(double, double, const void *))number)(x, 1, NULL);
    } else {
        memcpy(&single, &bits, sizeof single);
        alone_single = ((float (*)(float, float, const void *))number)(single, 1, NULL);
        memcpy(&alone, &alone_single, sizeof alone_single);
    }
    cr_assert_eq(memcmp(&y, &alone, sizeof y), 0, "%s of %#llx", function->name, (unsigned long long)bits);
}

Test(vector_math, numbers)
{
    uint64_t bits = 1;
    size_t i, k;

    for (i = 0; i < sizeof functions / sizeof *functions; i++) {
        for (k = 0; k < 4000; k++) {
            bits = bits * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            check_number(&functions[i], bits ^ bits >> 29);
        }
    }
}

Test(vector_math, errors_stay_within_their_bounds)
{
    double x[N], y[N];

    for (const struct function *function = functions; function < functions + N_FUNCTIONS; function++) {
        for (uint64_t first = 0; first < N_SPREAD; first += N) {
            spread(function, first, x);
            map_in(mdf_vector_math(), function, N, x, y);
            for (size_t i = 0; i < N; i++) {
                check_element(function, x[i], y[i]);
            }
        }
    }
}

/* Multiples of pi / 2 and their neighbours, whose sines and cosines keep no digit that is not worked for. */
Test(vector_math, arguments_next_to_zeros_of_sine_and_cosine)
{
    double x[N], y[N];

    for (const struct function *function = functions; function < functions + N_FUNCTIONS; function++) {
        bool is_circular = function->plain == sinl || function->plain == cosl || function->plain == tanl;

        for (size_t first = 1; is_circular && first < (function->is_double ? 1100000 : 8200); first += first / 50 + N) {
            for (size_t i = 0; i < N; i++) {
                x[i] = (double)(first + i) * 1.57079632679489661923;
                x[i] = function->is_double ? x[i] : (double)(float)x[i];
            }
            map_in(mdf_vector_math(), function, N, x, y);
            for (size_t i = 0; i < N; i++) {
                check_element(function, x[i], y[i]);
            }
        }
    }
}

static bool is_same(double x, double y)
{
    return memcmp(&x, &y, sizeof x) == 0 || (isnan(x) && isnan(y));
}

/* One result on every processor. */
Test(vector_math, wide_vectors_give_what_any_processor_gives)
{
    double x[N], y[N], z[N];
    float narrow[N];

    for (uint64_t first = 0; first < N_SPREAD; first += N) {
        for (const struct function *function = functions; function < functions + N_FUNCTIONS; function++) {
            spread(function, first, x);
            map_in(mdf_vector_math(), function, N, x, y);
            map_in(&mdf_vector_math_plain, function, N, x, z);
            for (size_t i = 0; i < N; i++) {
                cr_assert(is_same(y[i], z[i]), "%s(%a) is %a and %a", function->name, x[i], y[i], z[i]);
            }
        }
        spread(&functions[0], first, x);
        for (size_t i = 0; i < N; i++) {
            narrow[i] = (float)x[i];
        }
        cr_assert_eq(mdf_vector_math()->largest(N, narrow), mdf_vector_math_plain.largest(N, narrow));
    }
}

/* What C functions of numbers are for scalars. */
Test(vector_math, numbers_give_what_vectors_give)
{
    static const struct {
        double (*function)(double);
        int loop;
    } numbers[] = {
        {mdf_exp_float64, MDF_VECTORS_exponential_FLOAT64},
        {mdf_exp2_float64, MDF_VECTORS_exponential_base_two_FLOAT64},
        {mdf_expm1_float64, MDF_VECTORS_exponential_minus_one_FLOAT64},
        {mdf_log_float64, MDF_VECTORS_logarithm_FLOAT64},
        {mdf_log1p_float64, MDF_VECTORS_logarithm_of_one_more_FLOAT64},
        {mdf_log2_float64, MDF_VECTORS_logarithm_base_two_FLOAT64},
        {mdf_log10_float64, MDF_VECTORS_logarithm_base_ten_FLOAT64},
        {mdf_sin_float64, MDF_VECTORS_sine_FLOAT64},
        {mdf_cos_float64, MDF_VECTORS_cosine_FLOAT64},
        {mdf_tan_float64, MDF_VECTORS_tangent_FLOAT64},
        {mdf_asin_float64, MDF_VECTORS_arc_sine_FLOAT64},
        {mdf_acos_float64, MDF_VECTORS_arc_cosine_FLOAT64},
        {mdf_atan_float64, MDF_VECTORS_arc_tangent_FLOAT64},
        {mdf_sinh_float64, MDF_VECTORS_sine_hyperbolic_FLOAT64},
        {mdf_cosh_float64, MDF_VECTORS_cosine_hyperbolic_FLOAT64},
        {mdf_tanh_float64, MDF_VECTORS_tangent_hyperbolic_FLOAT64},
        {mdf_asinh_float64, MDF_VECTORS_arc_sine_hyperbolic_FLOAT64},
        {mdf_acosh_float64, MDF_VECTORS_arc_cosine_hyperbolic_FLOAT64},
        {mdf_atanh_float64, MDF_VECTORS_arc_tangent_hyperbolic_FLOAT64},
        {mdf_fourth_float64, MDF_VECTORS_fourth_FLOAT64},
        {mdf_cbrt_float64, MDF_VECTORS_cube_root_FLOAT64},
        {mdf_erf_float64, MDF_VECTORS_error_function_FLOAT64},
        {mdf_erfc_float64, MDF_VECTORS_error_function_complement_FLOAT64},
    };
    double x[N], y[N];

    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        const struct function function = {.is_double = true, .loop = numbers[k].loop};

        for (uint64_t first = 0; first < N_SPREAD; first += N) {
            spread(&function, first, x);
            map_in(mdf_vector_math(), &function, N, x, y);
            for (size_t i = 0; i < N; i++) {
                cr_assert(is_same(numbers[k].function(x[i]), y[i]), "%zu of %a is %a and %a", k, x[i], numbers[k].function(x[i]),
                          y[i]);
            }
        }
    }
}

/* Powers to 2, 3 and 4 are products; one exponent for all, one for each, and C functions of numbers agree. */
Test(vector_math, powers)
{
    static const double exponents[] = {2, 3, 4, 1.5};
    static const struct function doubles = {.is_double = true};
    mdf_loop loop = mdf_element_operations[MDF_ELEMENT_power].loops[MDF_DTYPE_FLOAT64];
    double x[N], y[N], z[N], each[N];

    for (size_t k = 0; k < sizeof exponents / sizeof *exponents; k++) {
        spread(&doubles, N, x);
        for (size_t i = 0; i < N; i++) {
            each[i] = exponents[k];
        }
        cr_assert(loop(y, (const void *[]){x, each}, (const size_t[]){1, 0}, N, NULL));
        cr_assert(loop(z, (const void *[]){x, each}, (const size_t[]){1, 1}, N, NULL));
        for (size_t i = 0; i < N; i++) {
            long double wanted = powl(x[i], exponents[k]);

            cr_assert(is_same(y[i], z[i]) && is_same(y[i], mdf_power_float64(x[i], exponents[k])));
            cr_assert(isnan(wanted) || fabsl(y[i] - wanted) <= 1.5 * unit_in_last_place(&doubles, wanted), "%a to %a is %a", x[i],
                      exponents[k], y[i]);
        }
    }
}

/* Base and exponent number `i` of a kind: usual ones; results of all sizes; whole exponents; next to 1; all bits; results of all
 * sizes from bases about 1. */
static void power_case(bool is_double, uint64_t i, double *base, double *exponent)
{
    uint64_t a = (i * 2 + 1) * 0x9e3779b97f4a7c15u, b = (a ^ a >> 29) * 0xbf58476d1ce4e5b9u;
    double x = (double)(a ^ a >> 32) * 0x1p-64, y = (double)(b ^ b >> 31) * 0x1p-63 - 1;

    *base = 4 * x;
    *exponent = 10 * y;
    if (i % 6 == 1) {
        *base = ldexp(1 + x, (int)(b % (is_double ? 2000 : 240)) - (is_double ? 1000 : 120));
        *exponent = (is_double ? 744 : 103) * y / log(*base);
    } else if (i % 6 == 2) {
        *base = 40 * x - 20;
        *exponent = floor(20 * y);
    } else if (i % 6 == 3) {
        *base = 1 + (x - 0.5) * 1e-3;
        *exponent = 1e5 * y;
    } else if (i % 6 == 4) {
        uint32_t narrow[2] = {(uint32_t)(a >> 20), (uint32_t)(b >> 20)};
        float of_narrow[2];

        memcpy(of_narrow, narrow, sizeof narrow);
        memcpy(base, &a, sizeof a);
        memcpy(exponent, &b, sizeof b);
        *base = is_double ? *base : (double)of_narrow[0];
        *exponent = is_double ? *exponent : (double)of_narrow[1];
    } else if (i % 6 == 5) {
        *base = 1 + (x - 0.5) * 0.1;
        *exponent = (is_double ? 744 : 103) * y / log(*base);
    }
    *base = is_double ? *base : (double)(float)*base;
    *exponent = is_double ? *exponent : (double)(float)*exponent;
}

/* Elements of both types, by vectors of some kind. */
static void map_powers(const struct mdf_vector_math *math, bool is_double, const double *x, const double *y, double *z)
{
    float narrow[3][N];
    int loop = is_double ? MDF_VECTORS_each_power_FLOAT64 : MDF_VECTORS_each_power_FLOAT32;

    for (size_t i = 0; i < N; i++) {
        narrow[0][i] = (float)x[i];
        narrow[1][i] = (float)y[i];
    }
    cr_assert(
        math->loops[loop](is_double ? (void *)z : narrow[2],
                          (const void *[]){is_double ? (const void *)x : narrow[0], is_double ? (const void *)y : narrow[1]},
                          (const size_t[]){1, 1}, N, NULL));
    for (size_t i = 0; i < N && !is_double; i++) {
        z[i] = (double)narrow[2][i];
    }
}

static void check_power(bool is_double, double x, double y, double z)
{
    const struct function type = {.is_double = is_double};
    long double wanted = powl(x, y);
    double rounded = is_double ? (double)wanted : (double)(float)wanted;

    if (!has_reference(is_double)) {
        return;
    }
    if (isnan(wanted)) {
        cr_assert(isnan(z), "%a to %a is %a", x, y, z);
    } else if (isinf(rounded) || isinf(z) || wanted == 0) {
        cr_assert(rounded == z && signbit(rounded) == signbit(z), "%a to %a is %a", x, y, z);
    } else {
        /* A subnormal result has been rounded before. */
        long double bound = y == 3 ? 1.5L : !is_double ? 0.8L : fabsl(wanted) < 0x1p-1022L ? 0.8L : 0.6L;

        cr_assert(fabsl(z - wanted) <= bound * unit_in_last_place(&type, wanted), "%a to %a is %a, not %La", x, y, z, wanted);
    }
}

Test(vector_math, errors_of_powers_stay_within_their_bounds)
{
    double x[N], y[N], z[N], plain[N];

    for (uint64_t first = 0; first < 400 * N; first += N) {
        bool is_double = first / N % 2 == 1;

        for (size_t i = 0; i < N; i++) {
            power_case(is_double, first + i, &x[i], &y[i]);
        }
        map_powers(mdf_vector_math(), is_double, x, y, z);
        map_powers(&mdf_vector_math_plain, is_double, x, y, plain);
        for (size_t i = 0; i < N; i++) {
            check_power(is_double, x[i], y[i], z[i]);
            cr_assert(is_same(z[i], plain[i]), "%a to %a is %a and %a", x[i], y[i], z[i], plain[i]);
            cr_assert(!is_double || is_same(z[i], mdf_power_float64(x[i], y[i])));
        }
    }
}

/* Zeros, infinities, NaN, units, the ends of the range, odd and even exponents and such without places for units: as C99 has it.
 */
Test(vector_math, powers_at_the_edge)
{
    static const double edges[] = {0.0,        -0.0,       1,         -1,
                                   INFINITY,   -INFINITY,  NAN,       0.5,
                                   -0.5,       2,          -2,        3,
                                   -3,         1.5,        -1.5,      0x1p-1074,
                                   -0x1p-149,  1e300,      -1e300,    0x1p52,
                                   0x1p53,     -0x1p52,    1e19,      4,
                                   5,          -5,         0.7,       -0.7,
                                   0x1p23,     0x1p24,     0x1p-126,  0x1.fffffep127,
                                   0x1p50 + 1, 0x1p51 + 1, 0x1p-1022, -0x1.fffffffffffffp1023,
                                   2097153,    4194305,    -8388607,  1e-300};
    enum { N_EDGES = sizeof edges / sizeof *edges };
    double x[N], y[N], z[N];

    for (int type = 0; type < 2; type++) {
        for (size_t i = 0; i < N_EDGES; i++) {
            for (size_t k = 0; k < N; k++) {
                x[k] = type == 1 ? edges[i] : (double)(float)edges[i];
                y[k] = type == 1 ? edges[k % N_EDGES] : (double)(float)edges[k % N_EDGES];
            }
            map_powers(mdf_vector_math(), type == 1, x, y, z);
            for (size_t k = 0; k < N_EDGES; k++) {
                check_power(type == 1, x[k], y[k], z[k]);
            }
        }
    }
}

/* Results that are numbers of the type are these: whole powers, roots of powers, logarithms of powers of 2 and 10. */
Test(vector_math, exact_results)
{
    for (int base = 2; base < 200; base++) {
        for (int exponent = 2; powl(base, exponent) < 0x1p53L; exponent++) {
            cr_assert_eq(mdf_power_float64(base, exponent), (double)powl(base, exponent));
        }
        cr_assert_eq(mdf_cbrt_float64((double)base * base * base), base);
    }
    for (int exponent = 0; exponent < 23; exponent++) {
        cr_assert_eq(mdf_log10_float64((double)powl(10, exponent)), exponent);
    }
    for (int exponent = -1022; exponent < 1024; exponent++) {
        cr_assert_eq(mdf_log2_float64(ldexp(1, exponent)), exponent);
        cr_assert_eq(mdf_exp2_float64(exponent), ldexp(1, exponent));
    }
}

Test(vector_math, values_at_the_edge)
{
    const double x[] = {0.0,       -0.0,       INFINITY, -INFINITY, NAN,        0x1p-149,  -0x1p-149,   0x1p-126,
                        -0x1p-126, 0x1.fep127, -3e38,    88.72,     88.73,      -87.3,     -103.9,      -104.1,
                        0.625,     1.0,        -1.0,     0x1p-1074, -0x1p-1074, 0x1p-1030, 0x1.8p-1022, 1.79e308,
                        709.78,    709.79,     -708.5,   -745.1,    -745.2,     1e22,      -12868,      1647100};
    enum { N_EDGES = sizeof x / sizeof *x };
    double y[N_EDGES];

    for (const struct function *function = functions; function < functions + N_FUNCTIONS; function++) {
        map_in(mdf_vector_math(), function, N_EDGES, x, y);
        for (size_t i = 0; i < N_EDGES; i++) {
            check_element(function, x[i], y[i]);
        }
    }
}

Test(vector_math, an_element_is_the_same_at_each_place)
{
    double x[67], whole[67], part[67];

    for (size_t i = 0; i < 67; i++) {
        x[i] = (double)i * 0.375 - 11;
    }
    x[5] = NAN;
    x[40] = INFINITY;
    for (const struct function *function = functions; function < functions + N_FUNCTIONS; function++) {
        map_in(mdf_vector_math(), function, 67, x, whole);
        for (size_t first = 0; first < 67; first++) {
            for (size_t n = 0; first + n <= 67; n++) {
                memcpy(part, x + first, n * sizeof *x);
                map_in(mdf_vector_math(), function, n, part, part);
                for (size_t i = 0; i < n; i++) {
                    cr_assert(is_same(part[i], whole[first + i]));
                }
            }
        }
    }
}

Test(vector_math, sums_of_powers)
{
    float x[100], y[100], z[100];

    for (size_t i = 0; i < 100; i++) {
        x[i] = sinf((float)i) * 20;
    }
    for (size_t n = 0; n <= 100; n++) {
        float largest = -INFINITY;
        double sum = 0;

        for (size_t i = 0; i < n; i++) {
            largest = x[i] > largest ? x[i] : largest;
        }
        cr_assert(mdf_vector_math()->largest(n, x) == largest);
        for (size_t i = 0; i < n; i++) {
            z[i] = x[i] - largest;
        }
        mdf_vector_math()->loops[MDF_VECTORS_exponential_FLOAT32](z, (const void *[]){z}, (const size_t[]){1}, n, NULL);
        for (size_t i = 0; i < n; i++) {
            sum += (double)z[i];
        }
        /* Both add the same numbers in float64, in two orders. */
        cr_assert(fabs(mdf_vector_math()->exp_sum(n, x, largest, y) - sum) <= 1e-14 * sum);
        cr_assert(memcmp(y, z, n * sizeof *y) == 0);
        mdf_vector_math()->multiply(n, 0.3f, y);
        for (size_t i = 0; i < n; i++) {
            cr_assert(y[i] == z[i] * 0.3f);
        }
    }
}

/* The sum that exp_sum has to give to the last bit: conversions of the powers, in parts, parts in halves. */
static double sum_in_parts(size_t n, const float *powers)
{
    double parts[MDF_EXP_SUM_PARTS] = {0};

    for (size_t i = 0; i < n; i++) {
        parts[i % MDF_EXP_SUM_PARTS] += (double)powers[i];
    }
    for (size_t half = MDF_EXP_SUM_PARTS / 2; half > 0; half /= 2) {
        for (size_t part = 0; part < half; part++) {
            parts[part] += parts[part + half];
        }
    }
    return parts[0];
}

enum { MOST_POWERS = 2100 };

/* Subnormal powers and none at all, one NaN of either sign at each place, infinities. */
static void check_sum_of_powers(const struct mdf_vector_math *math, size_t n, const float *x)
{
    float shift = math->largest(n, x), y[MOST_POWERS], powers[MOST_POWERS];
    double sum, expected;

    for (size_t i = 0; i < n; i++) {
        powers[i] = x[i] - shift;
    }
    math->loops[MDF_VECTORS_exponential_FLOAT32](powers, (const void *[]){powers}, (const size_t[]){1}, n, NULL);
    expected = sum_in_parts(n, powers);
    sum = math->exp_sum(n, x, shift, NULL);
    cr_assert(isnan(expected) ? isnan(sum) : sum == expected, "%zu: %.17g for %.17g", n, sum, expected);
    memcpy(y, x, n * sizeof *y);
    sum = math->exp_sum(n, y, shift, y);
    cr_assert(isnan(expected) ? isnan(sum) : sum == expected, "%zu: %.17g for %.17g", n, sum, expected);
    for (size_t i = 0; i < n; i++) {
        cr_assert(isnan(powers[i]) ? isnan(y[i]) : y[i] == powers[i], "element %zu of %zu", i, n);
    }
}

Test(vector_math, sums_of_powers_are_those_of_conversions)
{
    static const float odd[] = {NAN, -NAN, INFINITY, -INFINITY, -88, -103.9f, -200};
    const struct mdf_vector_math *all[] = {&mdf_vector_math_plain, mdf_vector_math()};
    float x[100];

    for (size_t i = 0; i < 2 * 99 * sizeof odd / sizeof *odd; i++) {
        size_t n = 1 + i / 2 % 99;

        for (size_t k = 0; k < n; k++) {
            x[k] = i / 2 / 99 % 2 == 0 ? -70 - 0.37f * (float)(k % 90) : sinf((float)k) * 20;
        }
        x[0] = 0;
        x[i * 7 % n] = odd[i / 2 / 99];
        check_sum_of_powers(all[i % 2], n, x);
    }
}

/* Loops that go in steps give what they give of each element by itself; the target may be the operand. */
Test(vector_math, tanh_in_steps)
{
    static const size_t lengths[] = {511, 520, 528, 1023, 1040, 2100};
    const struct mdf_vector_math *all[] = {&mdf_vector_math_plain, mdf_vector_math()};
    float x[MOST_POWERS], y[MOST_POWERS], alone;

    for (size_t i = 0; i < 2 * sizeof lengths / sizeof *lengths; i++) {
        mdf_loop loop = all[i % 2]->loops[MDF_VECTORS_tangent_hyperbolic_FLOAT32];
        size_t n = lengths[i / 2];

        for (size_t k = 0; k < n; k++) {
            x[k] = y[k] = k % 97 == 5 ? NAN : k % 101 == 7 ? -INFINITY : sinf((float)k) * (float)(k % 12);
        }
        loop(y, (const void *[]){y}, (const size_t[]){1}, n, NULL);
        for (size_t k = 0; k < n; k++) {
            loop(&alone, (const void *[]){x + k}, (const size_t[]){1}, 1, NULL);
            cr_assert(isnan(x[k]) ? isnan(y[k]) : memcmp(&alone, &y[k], sizeof alone) == 0, "element %zu of %zu", k, n);
        }
    }
}

/* More than are made at a time; among them a NaN whose lowest digits are not 0. */
Test(vector_math, sums_of_many_powers)
{
    static const size_t lengths[] = {1023, 1024, 1025, 1040, 2048, 2100};
    const struct mdf_vector_math *all[] = {&mdf_vector_math_plain, mdf_vector_math()};
    float x[MOST_POWERS];

    for (size_t i = 0; i < 2 * 3 * sizeof lengths / sizeof *lengths; i++) {
        size_t n = lengths[i / 6];

        for (size_t k = 0; k < n; k++) {
            x[k] = sinf((float)k) * 20;
        }
        if (i / 2 % 3 != 0) {
            x[(i / 2 % 3 == 1 ? 500 : n - 1)] = nanf("0x1ff");
        }
        check_sum_of_powers(all[i % 2], n, x);
    }
}

Test(vector_math, largest_passes_over_nan)
{
    float x[33];

    for (size_t place = 0; place < 33; place++) {
        for (size_t i = 0; i < 33; i++) {
            x[i] = i == place ? NAN : -2 - (float)i;
        }
        cr_assert(mdf_vector_math()->largest(33, x) == (place == 0 ? -3 : -2));
    }
    for (size_t i = 0; i < 33; i++) {
        x[i] = NAN;
    }
    cr_assert(mdf_vector_math()->largest(33, x) == -INFINITY);
}
