/* vector_math_avx512_float64.c - vector_math.inc in vectors: those of AVX-512, of float64. */
#include "functions/elements/vectors/vector_math_kernels.h"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx512f,avx512dq")))
#define LINKAGE
#define NAME(x) x##_avx512_float64
#define DOUBLES
#define LANES 8
#define NARROWER(id) mdf_##id##_loop_avx512_half_float64
#define SQRT(x) (VECTOR) _mm512_sqrt_pd((__m512d)(x))
#define NOT_ABOVE(limit, x) (VECTOR) _mm512_min_pd(_mm512_set1_pd(limit), (__m512d)(x))
#define NOT_BELOW(limit, x) (VECTOR) _mm512_max_pd(_mm512_set1_pd(limit), (__m512d)(x))
#define SCALE(y, n) (VECTOR) _mm512_scalef_pd((__m512d)(y), (__m512d)((n)-6755399441055744.0))
#define ANY(mask) (_mm512_movepi64_mask((__m512i)(mask)) != 0)
#define TAKE(rows, i) (VECTOR) _mm512_i64gather_pd((__m512i)(i), rows, 8)
#include "functions/elements/vectors/vector_math.inc"
#endif
