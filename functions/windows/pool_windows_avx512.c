/* pool_windows_avx512.c - pool_windows.inc in vectors: those of AVX-512. */
#include "functions/elements/vectors/extreme.h"
#include "functions/windows/pool_windows_kernels.h"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx512f")))
#define NAME(x) x##_float32_avx512
#define ELEMENT float
#define LANES 16
#define LARGER(x, y) (VECTOR) MDF_EXTREME_512(max, ps, __m512, x, y)
#define LOAD_SOME(from, n) (VECTOR) _mm512_maskz_loadu_ps((__mmask16)((1u << (n)) - 1), from)
#define STORE_SOME(to, n, vector) _mm512_mask_storeu_ps(to, (__mmask16)((1u << (n)) - 1), (__m512)(vector))
#define EVEN(a, b)                                                                                                            \
    (VECTOR) _mm512_permutex2var_ps((__m512)(a), _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0), \
                                    (__m512)(b))
#include "functions/windows/pool_windows.inc"
#define TARGET __attribute__((target("avx512f")))
#define NAME(x) x##_float64_avx512
#define ELEMENT double
#define LANES 8
#define LARGER(x, y) (VECTOR) MDF_EXTREME_512(max, pd, __m512d, x, y)
#define LOAD_SOME(from, n) (VECTOR) _mm512_maskz_loadu_pd((__mmask8)((1u << (n)) - 1), from)
#define STORE_SOME(to, n, vector) _mm512_mask_storeu_pd(to, (__mmask8)((1u << (n)) - 1), (__m512d)(vector))
#define EVEN(a, b) (VECTOR) _mm512_permutex2var_pd((__m512d)(a), _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0), (__m512d)(b))
#include "functions/windows/pool_windows.inc"
#endif
