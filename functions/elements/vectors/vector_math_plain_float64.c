/* vector_math_plain_float64.c - vector_math.inc in vectors: portable ones, of float64. */
#include "functions/elements/vectors/vector_math_kernels.h"

#define TARGET
#define LINKAGE
#define NAME(x) x##_plain_float64
#define DOUBLES
#define LANES 2
#include "functions/elements/vectors/vector_math.inc"
