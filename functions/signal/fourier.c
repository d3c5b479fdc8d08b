/* fourier.c - see fourier.h. Sources: Cooley and Tukey, An algorithm for the machine calculation of complex Fourier series
 * (1965); Bluestein, A linear filtering approach to the computation of the discrete Fourier transform (1970). */
#include "functions/signal/fourier.h"

#include "mdf_c/base/memory.h"

#include <math.h>
#include <string.h>

enum { LARGEST_RADIX = 61 };

static const double pi = 3.14159265358979323846;

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

#define HEEDED(stop, element) (!is_stopped(stop, (size_t)(element)))
#define APART
#include "functions/signal/fourier_routine.inc"
#undef HEEDED
#undef APART

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

    *plan = (struct mdf_fourier){n, m, table, stop};
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
    mdf_fourier_transform(table, 1, (int64_t)m, work, 1, spectrum, stop);
}

void mdf_fourier_run(const struct mdf_fourier *plan, const double *in, double *out, double *work)
{
    mdf_fourier_line((int64_t)plan->n, (int64_t)plan->m, plan->table, in, out, work, plan->stop);
}
