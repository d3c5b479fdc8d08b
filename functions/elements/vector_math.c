/* vector_math.c - see vector_math.h. */
#include "functions/elements/vector_math.h"

#include "mdf_c/base/processor.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_avx2_few
#define LANES 4
/* The instructions yield their second operand where there is a NaN. */
#define NOT_ABOVE(limit, x) (VECTOR) _mm_min_ps(_mm_set1_ps(limit), (__m128)(x))
#define NOT_BELOW(limit, x) (VECTOR) _mm_max_ps(_mm_set1_ps(limit), (__m128)(x))
#define FUSED(a, b, c) (VECTOR) _mm_fmadd_ps((__m128)(a), (__m128)(b), (__m128)(c))
#include "functions/elements/vector_math.inc"
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_avx2
#define LANES 8
#define NARROWER(x) x##_avx2_few
#define NOT_ABOVE(limit, x) (VECTOR) _mm256_min_ps(_mm256_set1_ps(limit), (__m256)(x))
#define NOT_BELOW(limit, x) (VECTOR) _mm256_max_ps(_mm256_set1_ps(limit), (__m256)(x))
#define LARGER(x, y) (VECTOR) _mm256_max_ps((__m256)(x), (__m256)(y))
#define FUSED(a, b, c) (VECTOR) _mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c))
#define WIDENED(x) _mm256_cvtps_pd((__m128)(x))
#define MATH
#include "functions/elements/vector_math.inc"
#define TARGET __attribute__((target("avx512f,avx512dq")))
#define NAME(x) x##_avx512
#define LANES 16
#define NARROWER(x) x##_avx2
#define NOT_ABOVE(limit, x) (VECTOR) _mm512_min_ps(_mm512_set1_ps(limit), (__m512)(x))
#define NOT_BELOW(limit, x) (VECTOR) _mm512_max_ps(_mm512_set1_ps(limit), (__m512)(x))
#define LARGER(x, y) (VECTOR) _mm512_max_ps((__m512)(x), (__m512)(y))
#define SCALE(y, n) (VECTOR) _mm512_scalef_ps((__m512)(y), (__m512)((n)-12582912.0f))
#define FUSED(a, b, c) (VECTOR) _mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c))
#define WIDENED(x) _mm512_cvtps_pd((__m256)(x))
#define MATH
#include "functions/elements/vector_math.inc"
#endif
#define TARGET
#define NAME(x) x##_plain
#define LANES 4
#define MATH
#include "functions/elements/vector_math.inc"

const struct mdf_vector_math *mdf_vector_math_plain(void)
{
    return &math_plain;
}

const struct mdf_vector_math *mdf_vector_math(void)
{
    return MDF_WIDEST(&math);
}
