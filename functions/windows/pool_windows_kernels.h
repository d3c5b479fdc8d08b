/* pool_windows_kernels.h - for the files of pool_windows.c: the folds, for each type and kind of vector. */
#ifndef MDF_FUNCTIONS_WINDOWS_POOL_WINDOWS_KERNELS_H
#define MDF_FUNCTIONS_WINDOWS_POOL_WINDOWS_KERNELS_H

#include "functions/products/fused_vectors.h"
#include "functions/windows/pool_windows.h"

#include <math.h>

#define ALWAYS_INLINE inline __attribute__((always_inline))

enum { N_FOLDED = 4 /* rows of the result under way */, MOST_VECTORS = 4 };

/* Windows [begin, end) of a run: they lie in [low, high) of the rows along the last axis, of which [first, last) are in the
 * array. */
struct mdf_pool_stretch {
    int64_t begin, end, low, high, first, last;
};

/* The windows from `begin` on that are folded at a time. */
struct mdf_pool_stretch mdf_pool_next_stretch(const struct mdf_taps *taps, int64_t begin);
/* Where the rows begin that the windows at `outer` meet; their number. */
size_t mdf_pool_find_rows(const struct mdf_taps *taps, size_t outer, int64_t *rows);

MDF_DECLARE_FUSED(struct mdf_pool_windows, mdf_pool_windows);

#endif
