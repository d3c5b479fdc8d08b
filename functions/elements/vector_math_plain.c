/* vector_math_plain.c - vector_math.inc in vectors: portable ones. */
#include "functions/elements/vector_math_kernels.h"

#define TARGET
#define NAME(x) x##_plain
#define LANES 4
#define MATH
#include "functions/elements/vector_math.inc"
