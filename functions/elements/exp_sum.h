/* exp_sum.h - of adjacent numbers of float64 what vector_math.h has of float32: the largest, and the sum of powers. */
#ifndef MDF_FUNCTIONS_ELEMENTS_EXP_SUM_H
#define MDF_FUNCTIONS_ELEMENTS_EXP_SUM_H

#include "functions/elements/vectors/vector_math.h"

#include <math.h>

/* -infinity where there is none but NaN. */
static inline double mdf_largest_float64(size_t n, const double *x)
{
    double largest = -INFINITY;

    for (size_t i = 0; i < n; i++) {
        largest = x[i] > largest ? x[i] : largest;
    }
    return largest;
}

/* The sum of exp(x - shift), one after the other; these are left in `powers`, which may be x. */
static inline double mdf_exp_sum_float64(size_t n, const double *x, double shift, double *powers)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        powers[i] = x[i] - shift;
    }
    mdf_vector_math()->loops[MDF_VECTORS_exponential_FLOAT64](powers, (const void *[]){powers}, (const size_t[]){1}, n, NULL);
    for (size_t i = 0; i < n; i++) {
        sum += powers[i];
    }
    return sum;
}

#endif
