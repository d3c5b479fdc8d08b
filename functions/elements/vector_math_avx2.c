/* vector_math_avx2.c - vector_math.inc in vectors: those of AVX2, and of half their width for a few elements. */
#include "functions/elements/vector_math_kernels.h"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_avx2_few_doubles
#define DOUBLES
#define LANES 2
/* The instructions yield their second operand where there is a NaN. */
#define SQRT(x) (VECTOR) _mm_sqrt_pd((__m128d)(x))
#define NOT_ABOVE(limit, x) (VECTOR) _mm_min_pd(_mm_set1_pd(limit), (__m128d)(x))
#define NOT_BELOW(limit, x) (VECTOR) _mm_max_pd(_mm_set1_pd(limit), (__m128d)(x))
#define ANY(mask) (_mm_movemask_pd((__m128d)(mask)) != 0)
#include "functions/elements/vector_math.inc"
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_avx2_doubles
#define DOUBLES
#define LANES 4
#define NARROWER(id) id##_loop_avx2_few_doubles
#define SQRT(x) (VECTOR) _mm256_sqrt_pd((__m256d)(x))
#define NOT_ABOVE(limit, x) (VECTOR) _mm256_min_pd(_mm256_set1_pd(limit), (__m256d)(x))
#define NOT_BELOW(limit, x) (VECTOR) _mm256_max_pd(_mm256_set1_pd(limit), (__m256d)(x))
#define ANY(mask) (_mm256_movemask_pd((__m256d)(mask)) != 0)
#define TAKE(rows, i) (VECTOR) _mm256_i64gather_pd(rows, (__m256i)(i), 8)
#include "functions/elements/vector_math.inc"
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_avx2_few
#define LANES 4
#define SQRT(x) (VECTOR) _mm_sqrt_ps((__m128)(x))
#define NOT_ABOVE(limit, x) (VECTOR) _mm_min_ps(_mm_set1_ps(limit), (__m128)(x))
#define NOT_BELOW(limit, x) (VECTOR) _mm_max_ps(_mm_set1_ps(limit), (__m128)(x))
#define FUSED(a, b, c) (VECTOR) _mm_fmadd_ps((__m128)(a), (__m128)(b), (__m128)(c))
#define ANY(mask) (_mm_movemask_ps((__m128)(mask)) != 0)
#include "functions/elements/vector_math.inc"
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_avx2
#define DOUBLES_NAME(x) x##_avx2_doubles
#define LANES 8
#define NARROWER(id) id##_loop_avx2_few
#define SQRT(x) (VECTOR) _mm256_sqrt_ps((__m256)(x))
#define NOT_ABOVE(limit, x) (VECTOR) _mm256_min_ps(_mm256_set1_ps(limit), (__m256)(x))
#define NOT_BELOW(limit, x) (VECTOR) _mm256_max_ps(_mm256_set1_ps(limit), (__m256)(x))
#define LARGER(x, y) (VECTOR) _mm256_max_ps((__m256)(x), (__m256)(y))
#define FUSED(a, b, c) (VECTOR) _mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c))
#define ANY(mask) (_mm256_movemask_ps((__m256)(mask)) != 0)
#define WIDENED(x) _mm256_cvtps_pd((__m128)(x))
#define MATH
#include "functions/elements/vector_math.inc"
#endif
