/* grid_taps_plain.c - grid_taps.inc in vectors: portable ones. */
#include "functions/image/grid_taps.h"

#include <math.h>

#define TARGET
#define NAME(x) x##_plain
#include "functions/image/grid_taps.inc"
