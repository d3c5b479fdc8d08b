/* vector_math_avx512.c - vector_math.inc in vectors: those of AVX-512. */
#include "functions/elements/vector_math_kernels.h"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx512f,avx512dq")))
#define NAME(x) x##_avx512_doubles
#define DOUBLES
#define LANES 8
#define NARROWER(id) mdf_vector_math_avx2.loops[MDF_VECTORS_##id##_FLOAT64]
#define SQRT(x) (VECTOR) _mm512_sqrt_pd((__m512d)(x))
#define NOT_ABOVE(limit, x) (VECTOR) _mm512_min_pd(_mm512_set1_pd(limit), (__m512d)(x))
#define NOT_BELOW(limit, x) (VECTOR) _mm512_max_pd(_mm512_set1_pd(limit), (__m512d)(x))
#define SCALE(y, n) (VECTOR) _mm512_scalef_pd((__m512d)(y), (__m512d)((n)-6755399441055744.0))
#define ANY(mask) (_mm512_movepi64_mask((__m512i)(mask)) != 0)
#define TAKE(rows, i) (VECTOR) _mm512_i64gather_pd((__m512i)(i), rows, 8)
#include "functions/elements/vector_math.inc"
#define TARGET __attribute__((target("avx512f,avx512dq")))
#define NAME(x) x##_avx512
#define DOUBLES_NAME(x) x##_avx512_doubles
#define LANES 16
#define NARROWER(id) mdf_vector_math_avx2.loops[MDF_VECTORS_##id##_FLOAT32]
#define SQRT(x) (VECTOR) _mm512_sqrt_ps((__m512)(x))
#define NOT_ABOVE(limit, x) (VECTOR) _mm512_min_ps(_mm512_set1_ps(limit), (__m512)(x))
#define NOT_BELOW(limit, x) (VECTOR) _mm512_max_ps(_mm512_set1_ps(limit), (__m512)(x))
#define LARGER(x, y) (VECTOR) _mm512_max_ps((__m512)(x), (__m512)(y))
#define SCALE(y, n) (VECTOR) _mm512_scalef_ps((__m512)(y), (__m512)((n)-12582912.0f))
#define FUSED(a, b, c) (VECTOR) _mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c))
#define ANY(mask) (_mm512_movepi32_mask((__m512i)(mask)) != 0)
#define WIDENED(x) _mm512_cvtps_pd((__m256)(x))
#define MATH
#include "functions/elements/vector_math.inc"
#endif
