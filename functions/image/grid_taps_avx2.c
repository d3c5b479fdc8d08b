/* grid_taps_avx2.c - grid_taps.inc in vectors: those of AVX2. */
#include "functions/image/grid_taps.h"

#include <math.h>

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
#define NAME(x) x##_avx2
#include "functions/image/grid_taps.inc"
#endif
