/* prepared_avx512.c - prepared_kernel.inc in vectors: those of AVX-512. */
#include "functions/products/prepared_kernels.h"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx512f")))
#define NAME(x) x##_float32_16
#define ELEMENT float
#define LANES 16
#define ROWS 8
#define MULTIPLY_ADD(element, vector, sums) (VECTOR) _mm512_fmadd_ps(_mm512_set1_ps(element), (__m512)(vector), (__m512)(sums))
#include "functions/products/prepared_kernel.inc"
#define TARGET __attribute__((target("avx512f")))
#define NAME(x) x##_float64_8
#define ELEMENT double
#define LANES 8
#define ROWS 8
#define MULTIPLY_ADD(element, vector, sums) (VECTOR) _mm512_fmadd_pd(_mm512_set1_pd(element), (__m512d)(vector), (__m512d)(sums))
#include "functions/products/prepared_kernel.inc"
#endif
