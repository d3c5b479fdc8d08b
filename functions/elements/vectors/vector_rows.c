/* vector_rows.c - see vector_rows.h. The compiler makes vectors of plain loops, once for each instruction set. */
#include "functions/elements/vectors/vector_rows.h"

#include "functions/elements/vectors/extreme.h"
#include "mdf_c/base/processor.h"

#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq")))
#define WIDE 64
#define NAME(x) x##_float32_avx512
#define WIDENED(x) ((NAME(wide))_mm512_cvtps_pd((__m256)(x)))
#define EXTREME(which, x, y) (NAME(part)) MDF_EXTREME_512(which, ps, __m512, x, y)
#define LOAD_REST(filled, from, n) (NAME(part)) _mm512_mask_loadu_ps((__m512)(filled), (__mmask16)((1u << (n)) - 1), from)
#define ELEMENT float
#include "functions/elements/vectors/vector_rows.inc"
#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq")))
#define WIDE 64
#define NAME(x) x##_float64_avx512
#define EXTREME(which, x, y) (NAME(part)) MDF_EXTREME_512(which, pd, __m512d, x, y)
#define LOAD_REST(filled, from, n) (NAME(part)) _mm512_mask_loadu_pd((__m512d)(filled), (__mmask8)((1u << (n)) - 1), from)
#define ELEMENT double
#include "functions/elements/vectors/vector_rows.inc"
#define TARGET __attribute__((target("avx2")))
#define WIDE 32
#define NAME(x) x##_float32_avx2
#define WIDENED(x) ((NAME(wide))_mm256_cvtps_pd((__m128)(x)))
#define EXTREME(which, x, y) (NAME(part)) MDF_EXTREME_256(which, ps, __m256, x, y)
#define ELEMENT float
#include "functions/elements/vectors/vector_rows.inc"
#define TARGET __attribute__((target("avx2")))
#define WIDE 32
#define NAME(x) x##_float64_avx2
#define EXTREME(which, x, y) (NAME(part)) MDF_EXTREME_256(which, pd, __m256d, x, y)
#define ELEMENT double
#include "functions/elements/vectors/vector_rows.inc"
#endif
#define TARGET
#define WIDE 16
#define NAME(x) x##_float32_plain
#define ELEMENT float
#include "functions/elements/vectors/vector_rows.inc"
#define TARGET
#define WIDE 16
#define NAME(x) x##_float64_plain
#define ELEMENT double
#include "functions/elements/vectors/vector_rows.inc"

const struct mdf_vector_rows *mdf_vector_rows(mdf_dtype dtype)
{
    return dtype == MDF_DTYPE_FLOAT32 ? MDF_WIDEST(&rows_float32) : MDF_WIDEST(&rows_float64);
}
