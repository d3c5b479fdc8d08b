/* prepared_avx2_few.c - prepared_kernel.inc in vectors: half those of AVX2, for matrices of few columns. */
#include "functions/products/prepared_kernels.h"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_float32_4
#define ELEMENT float
#define LANES 4
#define ROWS 4
#define MULTIPLY_ADD(element, vector, sums) (VECTOR) _mm_fmadd_ps(_mm_set1_ps(element), (__m128)(vector), (__m128)(sums))
#include "functions/products/prepared_kernel.inc"
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_float64_2
#define ELEMENT double
#define LANES 2
#define ROWS 4
#define MULTIPLY_ADD(element, vector, sums) (VECTOR) _mm_fmadd_pd(_mm_set1_pd(element), (__m128d)(vector), (__m128d)(sums))
#include "functions/products/prepared_kernel.inc"
#endif
