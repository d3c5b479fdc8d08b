/* weighted_rows.c - see weighted_rows.h. */
#include "functions/weighted_rows.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx512f")))
#define NAME(x) x##_float32_avx512
#define ELEMENT float
#define LANES 16
#define MULTIPLY_ADD(element, vector, sums) (VECTOR) _mm512_fmadd_ps(_mm512_set1_ps(element), (__m512)(vector), (__m512)(sums))
#include "functions/weighted_rows.inc"
#define TARGET __attribute__((target("avx512f")))
#define NAME(x) x##_float64_avx512
#define ELEMENT double
#define LANES 8
#define MULTIPLY_ADD(element, vector, sums) (VECTOR) _mm512_fmadd_pd(_mm512_set1_pd(element), (__m512d)(vector), (__m512d)(sums))
#include "functions/weighted_rows.inc"
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_float32_avx2
#define ELEMENT float
#define LANES 8
#define MULTIPLY_ADD(element, vector, sums) (VECTOR) _mm256_fmadd_ps(_mm256_set1_ps(element), (__m256)(vector), (__m256)(sums))
#include "functions/weighted_rows.inc"
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_float64_avx2
#define ELEMENT double
#define LANES 4
#define MULTIPLY_ADD(element, vector, sums) (VECTOR) _mm256_fmadd_pd(_mm256_set1_pd(element), (__m256d)(vector), (__m256d)(sums))
#include "functions/weighted_rows.inc"
#endif
#define TARGET
#define NAME(x) x##_float32
#define ELEMENT float
#define LANES 4
#define MULTIPLY_ADD(element, vector, sums) (sums) + (element) * (vector)
#include "functions/weighted_rows.inc"
#define TARGET
#define NAME(x) x##_float64
#define ELEMENT double
#define LANES 2
#define MULTIPLY_ADD(element, vector, sums) (sums) + (element) * (vector)
#include "functions/weighted_rows.inc"

mdf_weighted_rows mdf_weighted_rows_for(mdf_dtype dtype)
{
    bool is_float32 = dtype == MDF_DTYPE_FLOAT32;

#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        return is_float32 ? add_rows_float32_avx512 : add_rows_float64_avx512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return is_float32 ? add_rows_float32_avx2 : add_rows_float64_avx2;
    }
#endif
    return is_float32 ? add_rows_float32 : add_rows_float64;
}
