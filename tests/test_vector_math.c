/* test_vector_math.c - exp, tanh and their kin of arrays against the C library in float64, over all of float32; one result for
 * each element, wherever it stands. */
#include "functions/elements/vector_math.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { N = 1024 };

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double gelu(double x)
{
    return x * 0.5 * erfc(-x * 0.70710678118654752440); /* of -infinity NaN */
}

static double elu(double x)
{
    return x >= 0 ? x : expm1(x);
}

/* The bounds that vector_math.h states, in units in the last place. */
static const struct {
    const char *name;
    int loop;
    double (*plain)(double);
    double bound;
} functions[] = {{"exp", MDF_VECTORS_vector_exponential, exp, 1},
                 {"expm1", MDF_VECTORS_elu, elu, 1.5},
                 {"tanh", MDF_VECTORS_vector_tangent_hyperbolic, tanh, 1.5},
                 {"sigmoid", MDF_VECTORS_sigmoid, sigmoid, 2.5},
                 {"erf", MDF_VECTORS_vector_error_function, erf, 1.5},
                 {"gelu", MDF_VECTORS_gelu, gelu, 7}};

static void map_in(const struct mdf_vector_math *math, size_t function, size_t n, const float *x, float *y)
{
    const struct mdf_element_settings settings = {.alpha = 1};

    cr_assert(math->loops[functions[function].loop](y, (const void *[]){x}, (const size_t[]){1}, n, &settings));
}

static void map_of(size_t function, size_t n, const float *x, float *y)
{
    map_in(mdf_vector_math(), function, n, x, y);
}

static double unit_in_last_place(float x)
{
    int exponent;

    frexp(fabs((double)x), &exponent);
    return ldexp(1, exponent - 24 < -149 ? -149 : exponent - 24);
}

static void check_element(size_t function, float x, float y)
{
    double wanted = functions[function].plain((double)x);
    float rounded = (float)wanted;

    if (isnan(wanted)) {
        cr_assert(isnan(y), "%s(%a) is %a", functions[function].name, (double)x, (double)y);
    } else if (isinf(rounded) || isinf(y) || wanted == 0) {
        cr_assert(rounded == y && signbit(rounded) == signbit(y), "%s(%a) is %a", functions[function].name, (double)x, (double)y);
    } else {
        cr_assert(fabs((double)y - wanted) <= functions[function].bound * unit_in_last_place(rounded), "%s(%a) is %a, not %a",
                  functions[function].name, (double)x, (double)y, wanted);
    }
}

Test(vector_math, errors_stay_within_their_bounds)
{
    const uint64_t step = 40093; /* a prime, so that all digits vary */
    float x[N], y[N];

    for (size_t function = 0; function < sizeof functions / sizeof *functions; function++) {
        for (uint64_t first = 0; first <= UINT32_MAX; first += N * step) {
            for (size_t i = 0; i < N; i++) {
                uint32_t bits = (uint32_t)(first + i * step);

                memcpy(&x[i], &bits, sizeof bits);
            }
            map_of(function, N, x, y);
            for (size_t i = 0; i < N; i++) {
                check_element(function, x[i], y[i]);
            }
        }
    }
}

/* One result on every processor. */
Test(vector_math, wide_vectors_give_what_any_processor_gives)
{
    const uint64_t step = 104729;
    float x[N], y[N], z[N];

    for (uint64_t first = 0; first <= UINT32_MAX; first += N * step) {
        for (size_t i = 0; i < N; i++) {
            uint32_t bits = (uint32_t)(first + i * step);

            memcpy(&x[i], &bits, sizeof bits);
        }
        for (size_t function = 0; function < sizeof functions / sizeof *functions; function++) {
            map_of(function, N, x, y);
            map_in(&mdf_vector_math_plain, function, N, x, z);
            for (size_t i = 0; i < N; i++) {
                cr_assert(memcmp(&y[i], &z[i], sizeof *y) == 0 || (isnan(y[i]) && isnan(z[i])), "%s(%a) is %a and %a",
                          functions[function].name, (double)x[i], (double)y[i], (double)z[i]);
            }
        }
        cr_assert_eq(mdf_vector_math()->largest(N, x), mdf_vector_math_plain.largest(N, x));
    }
}

Test(vector_math, values_at_the_edge)
{
    const float x[] = {0.0f,        -0.0f,  INFINITY, -INFINITY, NAN,    0x1p-149f, -0x1p-149f, 0x1p-126f, -0x1p-126f,
                       0x1.fep127f, -3e38f, 88.72f,   88.73f,    -87.3f, -103.9f,   -104.1f,    0.625f,    1.0f};
    enum { N_EDGES = sizeof x / sizeof *x };
    float y[N_EDGES];

    for (size_t function = 0; function < sizeof functions / sizeof *functions; function++) {
        map_of(function, N_EDGES, x, y);
        for (size_t i = 0; i < N_EDGES; i++) {
            check_element(function, x[i], y[i]);
        }
    }
}

Test(vector_math, an_element_is_the_same_at_each_place)
{
    float x[67], whole[67], part[67];

    for (size_t i = 0; i < 67; i++) {
        x[i] = (float)i * 0.37f - 11;
    }
    x[5] = NAN;
    x[40] = INFINITY;
    for (size_t function = 0; function < sizeof functions / sizeof *functions; function++) {
        map_of(function, 67, x, whole);
        for (size_t first = 0; first < 67; first++) {
            for (size_t n = 0; first + n <= 67; n++) {
                memcpy(part, x + first, n * sizeof *x);
                map_of(function, n, part, part);
                for (size_t i = 0; i < n; i++) {
                    cr_assert(memcmp(&part[i], &whole[first + i], sizeof *part) == 0 ||
                              (isnan(part[i]) && isnan(whole[first + i])));
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
        map_of(0, n, z, z);
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
