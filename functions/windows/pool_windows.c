/* pool_windows.c - see pool_windows.h. */
#include "functions/windows/pool_windows.h"

#include "mdf_c/base/processor.h"

#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define ALWAYS_INLINE inline __attribute__((always_inline))

enum { N_FOLDED = 4 /* rows of the result under way */, MOST_VECTORS = 4 };

/* Elements from the first to the last tap of a window along the last axis. */
static int64_t window_span(const struct mdf_taps *taps)
{
    return taps->offsets[taps->n_last * taps->rank - 1] - taps->offsets[taps->rank - 1] + 1;
}

bool mdf_pool_windows_fit(const struct mdf_taps *taps)
{
    return taps->n_taps > 0 && window_span(taps) <= MDF_POOL_STRETCH / 2 && taps->n_taps / taps->n_last <= MDF_POOL_ROWS &&
           taps->stride <= MDF_POOL_STRIDE;
}

/* Windows [begin, end) of a run: they lie in [low, high) of the rows along the last axis, of which [first, last) are in the
 * array. */
struct stretch {
    int64_t begin, end, low, high, first, last;
};

static int64_t confine(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static struct stretch next_stretch(const struct mdf_taps *taps, int64_t begin)
{
    int64_t place = taps->offsets[taps->rank - 1], n_array = taps->axes[taps->rank - 1].array, span = window_span(taps);
    int64_t end = begin + (MDF_POOL_STRETCH - span) / taps->stride + 1;
    struct stretch stretch = {.begin = begin, .end = end < taps->n_run ? end : taps->n_run};

    stretch.low = begin * taps->stride + place;
    stretch.high = (stretch.end - 1) * taps->stride + place + span;
    stretch.first = confine(0, stretch.low, stretch.high);
    stretch.last = confine(n_array, stretch.first, stretch.high);
    return stretch;
}

/* Where the rows begin that the windows at `outer` meet; their number. */
static size_t find_rows(const struct mdf_taps *taps, size_t outer, int64_t *rows)
{
    size_t n_rows = 0;

    for (size_t tap = 0; tap < taps->n_taps; tap += taps->n_last) {
        n_rows += mdf_taps_row(taps, outer, tap, &rows[n_rows]);
    }
    return n_rows;
}

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx512f")))
#define NAME(x) x##_float32_avx512
#define ELEMENT float
#define LANES 16
/* The instruction yields its second operand where there is a NaN; where x is one, it is left out. Only this waits for y. */
#define LARGER(x, y) \
    (VECTOR) _mm512_mask_max_ps((__m512)(x), _mm512_cmp_ps_mask((__m512)(x), (__m512)(x), _CMP_ORD_Q), (__m512)(x), (__m512)(y))
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
#define LARGER(x, y) \
    (VECTOR)         \
        _mm512_mask_max_pd((__m512d)(x), _mm512_cmp_pd_mask((__m512d)(x), (__m512d)(x), _CMP_ORD_Q), (__m512d)(x), (__m512d)(y))
#define LOAD_SOME(from, n) (VECTOR) _mm512_maskz_loadu_pd((__mmask8)((1u << (n)) - 1), from)
#define STORE_SOME(to, n, vector) _mm512_mask_storeu_pd(to, (__mmask8)((1u << (n)) - 1), (__m512d)(vector))
#define EVEN(a, b) (VECTOR) _mm512_permutex2var_pd((__m512d)(a), _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0), (__m512d)(b))
#include "functions/windows/pool_windows.inc"
#define TARGET __attribute__((target("avx2")))
#define NAME(x) x##_float32_avx2
#define ELEMENT float
#define LANES 8
#define LARGER(x, y)                                                                \
    (VECTOR) _mm256_blendv_ps(_mm256_max_ps((__m256)(x), (__m256)(y)), (__m256)(x), \
                              _mm256_cmp_ps((__m256)(x), (__m256)(x), _CMP_UNORD_Q))
#define EVEN(a, b) \
    (VECTOR) _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(_mm256_shuffle_ps((__m256)(a), (__m256)(b), 0x88)), 0xd8))
#include "functions/windows/pool_windows.inc"
#define TARGET __attribute__((target("avx2")))
#define NAME(x) x##_float64_avx2
#define ELEMENT double
#define LANES 4
#define LARGER(x, y)                                                                   \
    (VECTOR) _mm256_blendv_pd(_mm256_max_pd((__m256d)(x), (__m256d)(y)), (__m256d)(x), \
                              _mm256_cmp_pd((__m256d)(x), (__m256d)(x), _CMP_UNORD_Q))
#define EVEN(a, b) (VECTOR) _mm256_permute4x64_pd(_mm256_unpacklo_pd((__m256d)(a), (__m256d)(b)), 0xd8)
#include "functions/windows/pool_windows.inc"
#endif
#define TARGET
#define NAME(x) x##_float32_plain
#define ELEMENT float
#define LANES 4
#define BITS int32_t
#include "functions/windows/pool_windows.inc"
#define TARGET
#define NAME(x) x##_float64_plain
#define ELEMENT double
#define LANES 2
#define BITS int64_t
#include "functions/windows/pool_windows.inc"

const struct mdf_pool_windows *mdf_pool_windows(mdf_dtype dtype)
{
    return dtype == MDF_DTYPE_FLOAT32 ? MDF_WIDEST(&windows_float32) : MDF_WIDEST(&windows_float64);
}
