/* fourier.h - the discrete Fourier transform of any length, in O(n log n) steps.
 *
 * Complex numbers are pairs of float64. Tables and working memory are the caller's, so that nothing is allocated here. Lengths
 * with prime factors up to 61 go through mixed radices, others through a convolution (Bluestein). Why not a library: KissFFT
 * allocates and prints behind its caller and is quadratic for primes; FFTW's licence is another; pocketfft is not packaged for C.
 */
#ifndef MDF_FUNCTIONS_SIGNAL_FOURIER_H
#define MDF_FUNCTIONS_SIGNAL_FOURIER_H

#include "mdf_c/base/stop.h"

#include <stdbool.h>
#include <stddef.h>

struct mdf_fourier {
    size_t n;              /* length */
    size_t m;              /* of the convolution; 0: none */
    const double *table;   /* exp(-2 pi i k / n), or of m; with a convolution its chirp, exp(-pi i k^2 / n), and the transform of
                              the chirp's conjugate, over m */
    struct mdf_stop *stop; /* asked while it works, as a long transform takes seconds; NULL: nobody */
};

/* Numbers of float64 that the tables, and the working memory of one transform, take; false where that overflows. n is at least 1.
 */
bool mdf_fourier_sizes(size_t n, size_t *n_table, size_t *n_work);
/* Fills the tables. */
void mdf_fourier_prepare(struct mdf_fourier *plan, size_t n, double *table, double *work, struct mdf_stop *stop);
/* out[k] = sum over j of in[j] exp(-2 pi i j k / n). `in`, `out` and `work` do not overlap. */
void mdf_fourier_run(const struct mdf_fourier *plan, const double *in, double *out, double *work);

#endif
