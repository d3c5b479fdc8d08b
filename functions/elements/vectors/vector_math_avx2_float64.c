/* vector_math_avx2_float64.c - vector_math.inc in vectors: those of AVX2, and of half their width for a few elements, of float64. */
#include "functions/elements/vectors/vector_math_kernels.h"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2,fma")))
#define LINKAGE static
#define NAME(x) x##_avx2_few_float64
#define DOUBLES
#define LANES 2
/* The instructions yield their second operand where there is a NaN. */
#define SQRT(x) (VECTOR) _mm_sqrt_pd((__m128d)(x))
#define NOT_ABOVE(limit, x) (VECTOR) _mm_min_pd(_mm_set1_pd(limit), (__m128d)(x))
#define NOT_BELOW(limit, x) (VECTOR) _mm_max_pd(_mm_set1_pd(limit), (__m128d)(x))
#define ANY(mask) (_mm_movemask_pd((__m128d)(mask)) != 0)
#include "functions/elements/vectors/vector_math.inc"
#define TARGET __attribute__((target("avx2,fma")))
#define LINKAGE
#define NAME(x) x##_avx2_float64
#define DOUBLES
#define LANES 4
#define NARROWER(id) mdf_##id##_loop_avx2_few_float64
#define SQRT(x) (VECTOR) _mm256_sqrt_pd((__m256d)(x))
#define NOT_ABOVE(limit, x) (VECTOR) _mm256_min_pd(_mm256_set1_pd(limit), (__m256d)(x))
#define NOT_BELOW(limit, x) (VECTOR) _mm256_max_pd(_mm256_set1_pd(limit), (__m256d)(x))
#define ANY(mask) (_mm256_movemask_pd((__m256d)(mask)) != 0)
#define TAKE(rows, i) (VECTOR) _mm256_i64gather_pd(rows, (__m256i)(i), 8)
#include "functions/elements/vectors/vector_math.inc"
#endif
