/* prepared_avx2.c - prepared_kernel.inc in vectors: those of AVX2. */
#include "functions/products/prepared_kernels.h"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_float32_8
#define ELEMENT float
#define LANES 8
#define ROWS 4
#define MULTIPLY_ADD(element, vector, sums) (VECTOR) _mm256_fmadd_ps(_mm256_set1_ps(element), (__m256)(vector), (__m256)(sums))
#include "functions/products/prepared_kernel.inc"
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_float64_4
#define ELEMENT double
#define LANES 4
#define ROWS 4
#define MULTIPLY_ADD(element, vector, sums) (VECTOR) _mm256_fmadd_pd(_mm256_set1_pd(element), (__m256d)(vector), (__m256d)(sums))
#include "functions/products/prepared_kernel.inc"
#endif
