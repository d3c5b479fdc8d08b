/* fourier.c - see fourier.h. Sources: Cooley and Tukey, An algorithm for the machine calculation of complex Fourier series
 * (1965); Bluestein, A linear filtering approach to the computation of the discrete Fourier transform (1970). */
#include "functions/signal/fourier.h"

#include "mdf_c/base/memory.h"

#include <math.h>
#include <string.h>

enum { LARGEST_RADIX = 61 };

static const double pi = 3.14159265358979323846;

/* The radix to begin with: 4 where possible, else the smallest prime factor. */
static size_t radix_of(size_t n)
{
    if (n % 4 == 0) {
        return 4;
    }
    for (size_t p = 2; p <= LARGEST_RADIX && p * p <= n; p++) {
        if (n % p == 0) {
            return p;
        }
    }
    return n;
}

static bool is_smooth(size_t n)
{
    for (size_t p = 2; p <= LARGEST_RADIX; p++) {
        while (n % p == 0) {
            n /= p;
        }
    }
    return n == 1;
}

/* Length of the convolution that a transform of length n needs; 0: none, or past all memory. */
static size_t convolution_length(size_t n)
{
    size_t m = 1;

    if (is_smooth(n)) {
        return 0;
    }
    while (m < 2 * n - 1) {
        m *= 2;
    }
    return m;
}

bool mdf_fourier_sizes(size_t n, size_t *n_table, size_t *n_work)
{
    size_t m;

    if (n > SIZE_MAX / 64) {
        return false;
    }
    m = convolution_length(n);
    *n_table = m == 0 ? 2 * n : 2 * m + 2 * n + 2 * m;
    *n_work = m == 0 ? 0 : 4 * m;
    return true;
}

/* Whether to stop is asked before each so many elements. */
static bool is_stopped(struct mdf_stop *stop, size_t element)
{
    enum { N_BETWEEN = 1 << 14 };

    return element % N_BETWEEN == 0 && mdf_stop_heed(stop);
}

/* ------------------------------------------------------------------ mixed radices */

struct strides {
    size_t n, step; /* length of the whole table; distance of roots in it */
    const double *twiddles;
    struct mdf_stop *stop;
};

static void multiply_root(const struct strides *roots, size_t power, const double *x, double *product)
{
    const double *root = roots->twiddles + 2 * (power % roots->n);
    double real = x[0] * root[0] - x[1] * root[1];

    product[1] = x[0] * root[1] + x[1] * root[0];
    product[0] = real;
}

/* Joins the transforms of four parts of length m. */
static void join_4(const struct strides *roots, size_t m, double *out)
{
    for (size_t k = 0; k < m && !is_stopped(roots->stop, k + 1); k++) {
        double t[8];
        double *a = out + 2 * k, *b = a + 2 * m, *c = b + 2 * m, *d = c + 2 * m;

        memcpy(t, a, 2 * sizeof *t);
        multiply_root(roots, k * roots->step, b, t + 2);
        multiply_root(roots, 2 * k * roots->step, c, t + 4);
        multiply_root(roots, 3 * k * roots->step, d, t + 6);
        for (size_t part = 0; part < 2; part++) {
            double sign = part == 0 ? 1 : -1, other = sign * (t[3 - part] - t[7 - part]);

            a[part] = t[part] + t[4 + part] + (t[2 + part] + t[6 + part]);
            c[part] = t[part] + t[4 + part] - (t[2 + part] + t[6 + part]);
            b[part] = t[part] - t[4 + part] + other;
            d[part] = t[part] - t[4 + part] - other;
        }
    }
}

/* Joins the transforms of `radix` parts of length m. */
static void join(const struct strides *roots, size_t radix, size_t m, double *out)
{
    double parts[2 * LARGEST_RADIX], product[2];

    for (size_t k = 0; k < m && !is_stopped(roots->stop, k + 1); k++) {
        for (size_t part = 0; part < radix; part++) {
            multiply_root(roots, part * k * roots->step, out + 2 * (part * m + k), parts + 2 * part);
        }
        for (size_t result = 0; result < radix; result++) {
            double *to = out + 2 * (result * m + k);

            to[0] = parts[0];
            to[1] = parts[1];
            for (size_t part = 1; part < radix; part++) {
                multiply_root(roots, part * result % radix * m * roots->step, parts + 2 * part, product);
                to[0] += product[0];
                to[1] += product[1];
            }
        }
    }
}

/* Transforms `n` numbers of `in`, `stride` apart. */
static void transform(const struct strides *roots, size_t n, const double *in, size_t stride, double *out)
{
    enum { LONG_PART = 1 << 12 };
    size_t radix = radix_of(n), m = n / radix;

    if (n == 1) {
        memcpy(out, in, 2 * sizeof *out);
        return;
    }
    for (size_t part = 0; part < radix && !is_stopped(roots->stop, n > LONG_PART ? 0 : 1); part++) {
        struct strides inner = {roots->n, roots->step * radix, roots->twiddles, roots->stop};

        transform(&inner, m, in + 2 * part * stride, stride * radix, out + 2 * part * m);
    }
    if (radix == 4) {
        join_4(roots, m, out);
    } else {
        join(roots, radix, m, out);
    }
}

/* ------------------------------------------------------------------ any length */

static void fill_twiddles(size_t n, double *twiddles, struct mdf_stop *stop)
{
    for (size_t k = 0; k < n && !is_stopped(stop, k); k++) {
        double angle = -2 * pi * (double)k / (double)n;

        twiddles[2 * k] = cos(angle);
        twiddles[2 * k + 1] = sin(angle);
    }
}

void mdf_fourier_prepare(struct mdf_fourier *plan, size_t n, double *table, double *work, struct mdf_stop *stop)
{
    size_t m = convolution_length(n), square = 0;
    double *chirp = table + 2 * m, *spectrum = chirp + 2 * n;
    struct strides roots = {m, 1, table, stop};

    *plan = (struct mdf_fourier){n, m, table, chirp, spectrum, stop};
    fill_twiddles(m == 0 ? n : m, table, stop);
    if (m == 0 || is_stopped(stop, 0)) {
        return;
    }
    memset(work, 0, 2 * m * sizeof *work);
    for (size_t k = 0; k < n && !is_stopped(stop, k); k++) {
        double angle = -pi * (double)square / (double)n;
        size_t mirrored = k == 0 ? 0 : m - k;

        chirp[2 * k] = work[2 * k] = work[2 * mirrored] = cos(angle);
        chirp[2 * k + 1] = sin(angle);
        work[2 * k + 1] = work[2 * mirrored + 1] = -chirp[2 * k + 1];
        square = (square + 2 * k + 1) % (2 * n); /* k^2, which the angle needs modulo 2n only */
    }
    transform(&roots, m, work, 1, spectrum);
}

/* product = a b, or its conjugate */
static void multiply(const double *a, const double *b, bool conjugate, double *product)
{
    double real = a[0] * b[0] - a[1] * b[1], imaginary = a[0] * b[1] + a[1] * b[0];

    product[0] = real;
    product[1] = conjugate ? -imaginary : imaginary;
}

void mdf_fourier_run(const struct mdf_fourier *plan, const double *in, double *out, double *work)
{
    size_t m = plan->m, n = plan->n;
    struct strides roots = {m == 0 ? n : m, 1, plan->twiddles, plan->stop};
    double *padded = work, *transformed = work + 2 * m;

    if (m == 0) {
        transform(&roots, n, in, 1, out);
        return;
    }
    if (is_stopped(plan->stop, 0)) { /* memory that is not touched costs no time */
        return;
    }
    memset(padded, 0, 2 * m * sizeof *padded);
    for (size_t k = 0; k < n && !is_stopped(plan->stop, k); k++) {
        multiply(in + 2 * k, plan->chirp + 2 * k, false, padded + 2 * k);
    }
    transform(&roots, m, padded, 1, transformed);
    for (size_t k = 0; k < m && !is_stopped(plan->stop, k); k++) {
        multiply(transformed + 2 * k, plan->spectrum + 2 * k, true, transformed + 2 * k);
    }
    transform(&roots, m, transformed, 1, padded); /* of the conjugate: the inverse transform's conjugate, times m */
    for (size_t k = 0; k < n && !is_stopped(plan->stop, k); k++) {
        double sum[2] = {padded[2 * k] / (double)m, -padded[2 * k + 1] / (double)m};

        multiply(sum, plan->chirp + 2 * k, false, out + 2 * k);
    }
}
