/* vector_rows.c - see vector_rows.h. The compiler makes vectors of plain loops, once for each instruction set. */
#include "functions/vector_rows.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { SUM_PARTS = 16 };

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq")))
#define NAME(x) x##_float32_avx512
#define ELEMENT float
#define LANES 16
/* The instruction yields its second operand where there is a NaN. */
#define LARGER_VECTOR(x, y)                                              \
    (VECTOR) _mm512_mask_mov_ps(_mm512_max_ps((__m512)(y), (__m512)(x)), \
                                _mm512_cmp_ps_mask((__m512)(y), (__m512)(y), _CMP_UNORD_Q), (__m512)(y))
#define BITS int32_t
#include "functions/vector_rows.inc"
#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq")))
#define NAME(x) x##_float64_avx512
#define ELEMENT double
#define LANES 8
#define BITS int64_t
#include "functions/vector_rows.inc"
#define TARGET __attribute__((target("avx2")))
#define NAME(x) x##_float32_avx2
#define ELEMENT float
#define LARGER_VECTOR(x, y)                                                         \
    (VECTOR) _mm256_blendv_ps(_mm256_max_ps((__m256)(y), (__m256)(x)), (__m256)(y), \
                              _mm256_cmp_ps((__m256)(y), (__m256)(y), _CMP_UNORD_Q))
#define LANES 8
#define BITS int32_t
#include "functions/vector_rows.inc"
#define TARGET __attribute__((target("avx2")))
#define NAME(x) x##_float64_avx2
#define ELEMENT double
#define LANES 4
#define BITS int64_t
#include "functions/vector_rows.inc"
#endif
#define TARGET
#define NAME(x) x##_float32
#define ELEMENT float
#define LANES 4
#define BITS int32_t
#include "functions/vector_rows.inc"
#define TARGET
#define NAME(x) x##_float64
#define ELEMENT double
#define LANES 2
#define BITS int64_t
#include "functions/vector_rows.inc"

const struct mdf_vector_rows *mdf_vector_rows(mdf_dtype dtype)
{
    bool is_float32 = dtype == MDF_DTYPE_FLOAT32;

#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
        return is_float32 ? &rows_float32_avx512 : &rows_float64_avx512;
    }
    if (__builtin_cpu_supports("avx2")) {
        return is_float32 ? &rows_float32_avx2 : &rows_float64_avx2;
    }
#endif
    return is_float32 ? &rows_float32 : &rows_float64;
}
