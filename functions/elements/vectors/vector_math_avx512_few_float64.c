/* vector_math_avx512_few_float64.c - vector_math.inc for fewer elements of float64 than a vector of AVX-512 has, and for single
 * numbers, with its instructions. */
#include "functions/elements/vectors/vector_math_kernels.h"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,fma")))
#define LINKAGE static
#define NAME(x) x##_avx512_few_float64
#define DOUBLES
#define LANES 2
#define SQRT(x) (VECTOR) _mm_sqrt_pd((__m128d)(x))
#define NOT_ABOVE(limit, x) (VECTOR) _mm_min_pd(_mm_set1_pd(limit), (__m128d)(x))
#define NOT_BELOW(limit, x) (VECTOR) _mm_max_pd(_mm_set1_pd(limit), (__m128d)(x))
#define SCALE(y, n) (VECTOR) _mm_scalef_pd((__m128d)(y), (__m128d)((n)-6755399441055744.0))
#define ANY(mask) (_mm_movepi64_mask((__m128i)(mask)) != 0)
#include "functions/elements/vectors/vector_math.inc"
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,fma")))
#define LINKAGE
#define NAME(x) x##_avx512_half_float64
#define DOUBLES
#define LANES 4
#define NARROWER(id) mdf_##id##_loop_avx512_few_float64
#define SQRT(x) (VECTOR) _mm256_sqrt_pd((__m256d)(x))
#define NOT_ABOVE(limit, x) (VECTOR) _mm256_min_pd(_mm256_set1_pd(limit), (__m256d)(x))
#define NOT_BELOW(limit, x) (VECTOR) _mm256_max_pd(_mm256_set1_pd(limit), (__m256d)(x))
#define SCALE(y, n) (VECTOR) _mm256_scalef_pd((__m256d)(y), (__m256d)((n)-6755399441055744.0))
#define ANY(mask) (_mm256_movepi64_mask((__m256i)(mask)) != 0)
#define TAKE(rows, i) (VECTOR) _mm256_i64gather_pd(rows, (__m256i)(i), 8)
#include "functions/elements/vectors/vector_math.inc"
#endif
