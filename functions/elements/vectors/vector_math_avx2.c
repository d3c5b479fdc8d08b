/* vector_math_avx2.c - vector_math.inc in vectors: those of AVX2, and of half their width for a few elements, of float32. */
#include "functions/elements/vectors/vector_math_kernels.h"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2,fma")))
#define LINKAGE static
#define NAME(x) x##_avx2_few
#define LANES 4
#define BLEND(mask, yes, no) (VECTOR) _mm_blendv_ps((__m128)(no), (__m128)(yes), (__m128)(mask))
#define SQRT(x) (VECTOR) _mm_sqrt_ps((__m128)(x))
#define NOT_ABOVE(limit, x) (VECTOR) _mm_min_ps(_mm_set1_ps(limit), (__m128)(x))
#define NOT_BELOW(limit, x) (VECTOR) _mm_max_ps(_mm_set1_ps(limit), (__m128)(x))
#define FUSED(a, b, c) (VECTOR) _mm_fmadd_ps((__m128)(a), (__m128)(b), (__m128)(c))
#define ANY(mask) (_mm_movemask_ps((__m128)(mask)) != 0)
#include "functions/elements/vectors/vector_math.inc"
#define TARGET __attribute__((target("avx2,fma")))
#define LINKAGE
#define NAME(x) x##_avx2
#define LANES 8
#define BLEND(mask, yes, no) (VECTOR) _mm256_blendv_ps((__m256)(no), (__m256)(yes), (__m256)(mask))
#define NARROWER(id) mdf_##id##_loop_avx2_few
#define SQRT(x) (VECTOR) _mm256_sqrt_ps((__m256)(x))
#define NOT_ABOVE(limit, x) (VECTOR) _mm256_min_ps(_mm256_set1_ps(limit), (__m256)(x))
#define NOT_BELOW(limit, x) (VECTOR) _mm256_max_ps(_mm256_set1_ps(limit), (__m256)(x))
#define LARGER(x, y) (VECTOR) _mm256_max_ps((__m256)(x), (__m256)(y))
#define FUSED(a, b, c) (VECTOR) _mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c))
#define ANY(mask) (_mm256_movemask_ps((__m256)(mask)) != 0)
#define WIDENED(x) _mm256_cvtps_pd(_mm_loadu_ps(x))
#define FLOAT64_NAME(x) x##_avx2_float64
#define NUMBER_NAME(x) x##_avx2_few
#define NUMBER_FLOAT64_NAME(x) x##_avx2_few_float64
#define MATH
#include "functions/elements/vectors/vector_math.inc"
#endif
