/* pool_windows.c - see pool_windows.h. */
#include "functions/windows/pool_windows_kernels.h"

#include "mdf_c/base/sizes.h"

enum { CACHED_ELEMENTS = 16384 };

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

size_t mdf_pool_planes_at_once(const struct mdf_taps *taps)
{
    size_t n = CACHED_ELEMENTS / (taps->array_size + taps->n_outer * (size_t)taps->n_run + 1);

    return n > 0 ? n : 1;
}

struct mdf_pool_stretch mdf_pool_next_stretch(const struct mdf_taps *taps, int64_t begin)
{
    int64_t place = taps->offsets[taps->rank - 1], n_array = taps->axes[taps->rank - 1].array, span = window_span(taps);
    int64_t end = begin + (MDF_POOL_STRETCH - span) / taps->stride + 1;
    struct mdf_pool_stretch stretch = {.begin = begin, .end = end < taps->n_run ? end : taps->n_run};

    stretch.low = begin * taps->stride + place;
    stretch.high = (stretch.end - 1) * taps->stride + place + span;
    stretch.first = mdf_clamp(0, stretch.low, stretch.high);
    stretch.last = mdf_clamp(n_array, stretch.first, stretch.high);
    return stretch;
}

size_t mdf_pool_find_rows(const struct mdf_taps *taps, size_t outer, int64_t *rows)
{
    size_t n_rows = 0;

    for (size_t tap = 0; tap < taps->n_taps; tap += taps->n_last) {
        n_rows += mdf_taps_row(taps, outer, tap, &rows[n_rows]);
    }
    return n_rows;
}

const struct mdf_pool_windows *mdf_pool_windows(mdf_dtype dtype)
{
    return MDF_FUSED_KERNELS(&mdf_pool_windows, dtype);
}
