/* vector_math_avx512_few.c - vector_math.inc for single numbers, with the instructions of AVX-512, which load a constant as they use
 * it, and scale by a power of two. */
#include "functions/elements/vectors/vector_math_kernels.h"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,fma")))
#define NUMBERS_ALONE
#define NAME(x) x##_avx512_few
#define LANES 4
#define SQRT(x) (VECTOR) _mm_sqrt_ps((__m128)(x))
#define NOT_ABOVE(limit, x) (VECTOR) _mm_min_ps(_mm_set1_ps(limit), (__m128)(x))
#define NOT_BELOW(limit, x) (VECTOR) _mm_max_ps(_mm_set1_ps(limit), (__m128)(x))
#define SCALE(y, n) (VECTOR) _mm_scalef_ps((__m128)(y), (__m128)((n)-12582912.0f))
#define FUSED(a, b, c) (VECTOR) _mm_fmadd_ps((__m128)(a), (__m128)(b), (__m128)(c))
#define ANY(mask) (_mm_movepi32_mask((__m128i)(mask)) != 0)
#include "functions/elements/vectors/vector_math.inc"
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,fma")))
#define NUMBERS_ALONE
#define NAME(x) x##_avx512_few_float64
#define DOUBLES
#define LANES 2
#define SQRT(x) (VECTOR) _mm_sqrt_pd((__m128d)(x))
#define NOT_ABOVE(limit, x) (VECTOR) _mm_min_pd(_mm_set1_pd(limit), (__m128d)(x))
#define NOT_BELOW(limit, x) (VECTOR) _mm_max_pd(_mm_set1_pd(limit), (__m128d)(x))
#define SCALE(y, n) (VECTOR) _mm_scalef_pd((__m128d)(y), (__m128d)((n)-6755399441055744.0))
#define ANY(mask) (_mm_movepi64_mask((__m128i)(mask)) != 0)
#include "functions/elements/vectors/vector_math.inc"
#endif
