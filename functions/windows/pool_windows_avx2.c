/* pool_windows_avx2.c - pool_windows.inc in vectors: those of AVX2. */
#include "functions/elements/vectors/extreme.h"
#include "functions/windows/pool_windows_kernels.h"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
#define NAME(x) x##_float32_avx2
#define ELEMENT float
#define LANES 8
#define LARGER(x, y) (VECTOR) MDF_EXTREME_256(max, ps, __m256, x, y)
#define FIRST_LANES(n) _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n)), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0))
#define LOAD_SOME(from, n) (VECTOR) _mm256_maskload_ps(from, FIRST_LANES(n))
#define STORE_SOME(to, n, vector) _mm256_maskstore_ps(to, FIRST_LANES(n), (__m256)(vector))
#define EVEN(a, b) \
    (VECTOR) _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(_mm256_shuffle_ps((__m256)(a), (__m256)(b), 0x88)), 0xd8))
#include "functions/windows/pool_windows.inc"
#define TARGET __attribute__((target("avx2")))
#define NAME(x) x##_float64_avx2
#define ELEMENT double
#define LANES 4
#define LARGER(x, y) (VECTOR) MDF_EXTREME_256(max, pd, __m256d, x, y)
#undef FIRST_LANES
#define FIRST_LANES(n) _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_set_epi64x(3, 2, 1, 0))
#define LOAD_SOME(from, n) (VECTOR) _mm256_maskload_pd(from, FIRST_LANES(n))
#define STORE_SOME(to, n, vector) _mm256_maskstore_pd(to, FIRST_LANES(n), (__m256d)(vector))
#define EVEN(a, b) (VECTOR) _mm256_permute4x64_pd(_mm256_unpacklo_pd((__m256d)(a), (__m256d)(b)), 0xd8)
#include "functions/windows/pool_windows.inc"
#endif
