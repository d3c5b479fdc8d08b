/* grid_taps_avx512.c - grid_taps.inc in vectors: those of AVX-512. */
#include "functions/image/grid_taps.h"

#include <math.h>

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx512f,avx512dq")))
#define NAME(x) x##_avx512
#include "functions/image/grid_taps.inc"
#endif
