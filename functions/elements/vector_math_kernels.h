/* vector_math_kernels.h - for the files of vector_math.c: one for each kind of vector. */
#ifndef MDF_FUNCTIONS_ELEMENTS_VECTOR_MATH_KERNELS_H
#define MDF_FUNCTIONS_ELEMENTS_VECTOR_MATH_KERNELS_H

#include "functions/elements/float64_tables.inc"
#include "functions/elements/vector_math.h"
#include "mdf_c/base/processor.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__x86_64__)
extern const struct mdf_vector_math mdf_vector_math_avx512, mdf_vector_math_avx2;
#endif

#endif
