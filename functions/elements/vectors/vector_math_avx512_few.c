/* vector_math_avx512_few.c - vector_math.inc for fewer elements of float32 than a vector of AVX-512 has, and for single numbers,
 * with its instructions, which load a constant as they use it, and scale by a power of two. */
#include "functions/elements/vectors/vector_math_kernels.h"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,fma")))
#define LINKAGE static
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
#define LINKAGE
#define NAME(x) x##_avx512_half
#define LANES 8
#define NARROWER(id) mdf_##id##_loop_avx512_few
#define SQRT(x) (VECTOR) _mm256_sqrt_ps((__m256)(x))
#define NOT_ABOVE(limit, x) (VECTOR) _mm256_min_ps(_mm256_set1_ps(limit), (__m256)(x))
#define NOT_BELOW(limit, x) (VECTOR) _mm256_max_ps(_mm256_set1_ps(limit), (__m256)(x))
#define SCALE(y, n) (VECTOR) _mm256_scalef_ps((__m256)(y), (__m256)((n)-12582912.0f))
#define FUSED(a, b, c) (VECTOR) _mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c))
#define ANY(mask) (_mm256_movepi32_mask((__m256i)(mask)) != 0)
#include "functions/elements/vectors/vector_math.inc"
#endif
