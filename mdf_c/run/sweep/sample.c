/* sample.c - see sample.h: points of the unit cube, a random one for each sample, those of Sobol's sequence, or those of a Latin
 * hypercube; and from there to the distributions by their quantile functions.
 *
 * Each axis has numbers of its own, from its number and the seed alone: what an axis gives does not change when others are added.
 */
#include "mdf_c/run/sweep/sample.h"

#include "mdf_c/base/error.h"
#include "mdf_c/run/sweep/sweep.h"

#include <math.h>

enum { SOBOL_BITS = 32, REAL_BITS = 53, MOST_DEGREE = 18 };

/* Number `index` of those of an axis, of 64 bits. */
static uint64_t random_bits(uint64_t seed, size_t axis, uint64_t index)
{
    return mdf_sweep_seed_of(mdf_sweep_seed_of(seed, axis), index);
}

/* In the middle of one of 2^53 equal parts of the unit interval: never 0 or 1. */
static double unit_of(uint64_t bits)
{
    double unit = ldexp((double)(bits >> (64 - REAL_BITS)) + 0.5, -REAL_BITS);

    return unit < 1 ? unit : nextafter(1, 0);
}

/* ------------------------------------------------------------------ Sobol */

struct directions {
    uint32_t polynomial; /* primitive, as bits */
    uint32_t numbers[MOST_DEGREE];
};

#define DIRECTIONS(polynomial, ...) {polynomial, {__VA_ARGS__}},
static const struct directions directions_of[] = {
    {1, {1}}, /* of the first axis all are 1 */
#include "mdf_c/run/sweep/sobol_directions.def"
};
#undef DIRECTIONS

enum { N_DIRECTIONS = sizeof directions_of / sizeof *directions_of };

static unsigned degree_of(uint32_t polynomial)
{
    unsigned degree = 0;

    for (; polynomial > 1; polynomial >>= 1) {
        degree++;
    }
    return degree;
}

/* The direction of each bit. Source: P. Bratley, B. L. Fox, Algorithm 659. */
static void make_directions(size_t axis, uint32_t directions[SOBOL_BITS])
{
    const struct directions *source = &directions_of[axis];
    unsigned degree = degree_of(source->polynomial), bit, i;
    uint32_t numbers[SOBOL_BITS];

    for (bit = 0; bit < SOBOL_BITS; bit++) {
        if (axis == 0) {
            numbers[bit] = 1;
        } else if (bit < degree) {
            numbers[bit] = source->numbers[bit];
        } else {
            numbers[bit] = numbers[bit - degree] ^ (numbers[bit - degree] << degree);
            for (i = 1; i < degree; i++) {
                if ((source->polynomial >> (degree - i) & 1) != 0) {
                    numbers[bit] ^= numbers[bit - i] << i;
                }
            }
        }
        directions[bit] = numbers[bit] << (SOBOL_BITS - 1 - bit);
    }
}

/* The points in the order of a Gray code; a shift, where there is one, is that of all bits that a number of its axis says. */
static void fill_sobol(size_t axis, uint64_t seed, size_t n_samples, double *units)
{
    uint64_t shift = seed != 0 ? random_bits(seed, axis, 0) : 0;
    uint32_t directions[SOBOL_BITS], point = 0;

    make_directions(axis, directions);
    for (size_t i = 0; i < n_samples; i++) {
        units[i] = seed != 0 ? unit_of((uint64_t)point << SOBOL_BITS ^ shift) : ldexp((double)point, -SOBOL_BITS);
        point ^= directions[__builtin_ctzll(i + 1)];
    }
}

/* ------------------------------------------------------------------ the others */

static void fill_random(size_t axis, uint64_t seed, size_t n_samples, double *units)
{
    for (size_t i = 0; i < n_samples; i++) {
        units[i] = unit_of(random_bits(seed, axis, i));
    }
}

/* A number less than n, each as likely as another. */
static uint64_t number_below(uint64_t n, uint64_t seed, size_t axis, uint64_t *index)
{
    uint64_t least = (0 - n) % n, bits;

    do {
        bits = random_bits(seed, axis, (*index)++);
    } while (bits < least);
    return bits % n;
}

/* A random place in each of n layers, which are shuffled. */
static void fill_latin(size_t axis, uint64_t seed, size_t n_samples, double *units)
{
    uint64_t index = 0;

    for (size_t i = 0; i < n_samples; i++) {
        double unit = ((double)i + unit_of(random_bits(seed, axis, index++))) / (double)n_samples;

        units[i] = unit < 1 ? unit : nextafter(1, 0);
    }
    for (size_t i = n_samples; i > 1; i--) {
        size_t other = (size_t)number_below(i, seed, axis, &index);
        double unit = units[i - 1];

        units[i - 1] = units[other];
        units[other] = unit;
    }
}

/* ------------------------------------------------------------------ distributions */

static double polynomial(const double *coefficients, size_t n, double x)
{
    double sum = coefficients[n - 1];

    for (n--; n > 0; n--) {
        sum = sum * x + coefficients[n - 1];
    }
    return sum;
}

/* The quantile of the standard normal distribution. Source: M. J. Wichura, Algorithm AS 241 (PPND16), accurate to about 1e-16. */
static double normal_quantile(double unit)
{
    static const double a[] = {3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3,
                               1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                               3.3430575583588128105e+4, 2.5090809287301226727e+3};
    static const double b[] = {1.0,
                               4.2313330701600911252e+1,
                               6.8718700749205790830e+2,
                               5.3941960214247511077e+3,
                               2.1213794301586595867e+4,
                               3.9307895800092710610e+4,
                               2.8729085735721942674e+4,
                               5.2264952788528545610e+3};
    static const double c[] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                               3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                               2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static const double d[] = {1.0,
                               2.05319162663775882187e0,
                               1.67638483018380384940e0,
                               6.89767334985100004550e-1,
                               1.48103976427480074590e-1,
                               1.51986665636164571966e-2,
                               5.47593808499534494600e-4,
                               1.05075007164441684324e-9};
    static const double e[] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                               2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                               2.71155556874348757815e-5, 2.01033439929228813265e-7};
    static const double f[] = {1.0,
                               5.99832206555887937690e-1,
                               1.36929880922735805310e-1,
                               1.48753612908506148525e-2,
                               7.86869131145613259100e-4,
                               1.84631831751005468180e-5,
                               1.42151175831644588870e-7,
                               2.04426310338993978564e-15};
    enum { N = sizeof a / sizeof *a };
    double from_middle = unit - 0.5, r, quantile;

    if (fabs(from_middle) <= 0.425) {
        r = 0.180625 - from_middle * from_middle;
        return from_middle * polynomial(a, N, r) / polynomial(b, N, r);
    }
    r = sqrt(-log(from_middle < 0 ? unit : 1 - unit));
    quantile = r <= 5 ? polynomial(c, N, r - 1.6) / polynomial(d, N, r - 1.6) : polynomial(e, N, r - 5) / polynomial(f, N, r - 5);
    return from_middle < 0 ? -quantile : quantile;
}

static double quantile_of(const mdf_distribution *distribution, double unit)
{
    double value = 0;

    switch (distribution->kind) {
    case MDF_DISTRIBUTION_UNIFORM:
        value = distribution->a + (distribution->b - distribution->a) * unit;
        break;
    case MDF_DISTRIBUTION_NORMAL:
        value = distribution->a + distribution->b * normal_quantile(unit);
        break;
    case MDF_DISTRIBUTION_LOGNORMAL:
        value = exp(distribution->a + distribution->b * normal_quantile(unit));
        break;
    }
    return value;
}

static mdf_status check(mdf_sampling sampling, uint64_t seed, const mdf_distribution *distributions, size_t n, size_t n_samples,
                        mdf_error *error)
{
    if ((unsigned)sampling > MDF_SAMPLING_LATIN_HYPERCUBE) {
        return mdf_error_set(error, MDF_USAGE, "%d is no mdf_sampling", (int)sampling);
    }
    if (sampling == MDF_SAMPLING_SOBOL && (n > N_DIRECTIONS || n_samples > UINT32_MAX)) {
        return mdf_error_set(error, MDF_LIMIT, "Sobol's sequence is known here for %d parameters and 2^32 points at most",
                             N_DIRECTIONS);
    }
    for (size_t i = 0; i < n; i++) {
        const mdf_distribution *distribution = &distributions[i];
        bool is_uniform = distribution->kind == MDF_DISTRIBUTION_UNIFORM;

        if ((unsigned)distribution->kind > MDF_DISTRIBUTION_LOGNORMAL || !isfinite(distribution->a) ||
            !isfinite(distribution->b) || (is_uniform ? distribution->b < distribution->a : distribution->b < 0)) {
            return mdf_error_set(
                error, MDF_VALUE,
                "distribution %zu: the ends of a uniform one ascend, the standard deviation of a normal or lognormal "
                "one is not negative, and all are finite",
                i);
        }
        if (!is_uniform && sampling == MDF_SAMPLING_SOBOL && seed == 0) {
            return mdf_error_set(
                error, MDF_VALUE,
                "distribution %zu: the first point of Sobol's sequence is 0, which for a normal distribution is minus "
                "infinity: give a seed that is not 0, which shifts the points",
                i);
        }
    }
    return MDF_OK;
}

mdf_status mdf_draw_sample(mdf_sampling sampling, uint64_t seed, const mdf_distribution *distributions, size_t n_distributions,
                           size_t n_samples, double *values, mdf_error *error)
{
    mdf_status status = check(sampling, seed, distributions, n_distributions, n_samples, error);

    for (size_t axis = 0; axis < n_distributions && status == MDF_OK; axis++) {
        double *units = values + axis * n_samples;

        switch (sampling) {
        case MDF_SAMPLING_RANDOM:
            fill_random(axis, seed, n_samples, units);
            break;
        case MDF_SAMPLING_SOBOL:
            fill_sobol(axis, seed, n_samples, units);
            break;
        case MDF_SAMPLING_LATIN_HYPERCUBE:
            fill_latin(axis, seed, n_samples, units);
            break;
        }
        for (size_t i = 0; i < n_samples; i++) {
            units[i] = quantile_of(&distributions[axis], units[i]);
        }
    }
    return status;
}
