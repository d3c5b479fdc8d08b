/* pool_windows.h - windows folded by rows: the largest element, or the sum, of each window of a run. */
#ifndef MDF_FUNCTIONS_POOL_WINDOWS_H
#define MDF_FUNCTIONS_POOL_WINDOWS_H

#include "functions/windows/sliding.h"

/* Elements of a row that windows are folded in at a time; windows that span half of it, have more rows than this, or
 * are further apart are not taken this way, nor those without taps. */
enum { MDF_POOL_STRETCH = 1024, MDF_POOL_ROWS = 64, MDF_POOL_STRIDE = 8 };

/* All windows of planes that lie one behind the other: y[i] is what window i of array x is folded to, over the taps that lie in
 * the array. The rows of a window are folded first, then what is left along the last axis. */
struct mdf_pool_windows {
    /* NaN where there is one; -infinity where there is no tap. */
    void (*larger)(const struct mdf_taps *taps, size_t n_planes, const void *x, void *y);
    void (*sum)(const struct mdf_taps *taps, size_t n_planes, const void *x, void *y);
    /* y[i] /= by * divisors[i], elements of the same type */
    void (*divide)(size_t n, const void *divisors, double by, void *y);
};

/* FLOAT32 or FLOAT64; the results are the same on every processor. */
const struct mdf_pool_windows *mdf_pool_windows(mdf_dtype dtype);
bool mdf_pool_windows_fit(const struct mdf_taps *taps);
/* How many planes at a time stay in the nearest cache, at least 1. */
size_t mdf_pool_planes_at_once(const struct mdf_taps *taps);

#endif
