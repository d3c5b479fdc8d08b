/* vector_math_avx512.c - vector_math.inc in vectors: those of AVX-512, of float32. */
#include "functions/elements/vectors/vector_math_kernels.h"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx512f,avx512dq")))
#define LINKAGE
#define NAME(x) x##_avx512
#define LANES 16
#define NARROWER(id) mdf_##id##_loop_avx512_half
#define SQRT(x) (VECTOR) _mm512_sqrt_ps((__m512)(x))
#define NOT_ABOVE(limit, x) (VECTOR) _mm512_min_ps(_mm512_set1_ps(limit), (__m512)(x))
#define NOT_BELOW(limit, x) (VECTOR) _mm512_max_ps(_mm512_set1_ps(limit), (__m512)(x))
#define LARGER(x, y) (VECTOR) _mm512_max_ps((__m512)(x), (__m512)(y))
#define SCALE(y, n) (VECTOR) _mm512_scalef_ps((__m512)(y), (__m512)((n)-12582912.0f))
#define FUSED(a, b, c) (VECTOR) _mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c))
#define ANY(mask) (_mm512_movepi32_mask((__m512i)(mask)) != 0)
#define WIDENED(x) _mm512_cvtps_pd(_mm256_loadu_ps(x))
#define LOAD_REST(filled, from, n) (VECTOR) _mm512_mask_loadu_ps((__m512)(filled), (__mmask16)((1u << (n)) - 1), from)
#define STORE_REST(to, x, n) _mm512_mask_storeu_ps(to, (__mmask16)((1u << (n)) - 1), (__m512)(x))
#define FLOAT64_NAME(x) x##_avx512_float64
#define NUMBER_NAME(x) x##_avx512_few
#define NUMBER_FLOAT64_NAME(x) x##_avx512_few_float64
#define MATH
#include "functions/elements/vectors/vector_math.inc"
#endif
