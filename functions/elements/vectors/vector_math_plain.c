/* vector_math_plain.c - vector_math.inc in vectors: portable ones, of float32. */
#include "functions/elements/vectors/vector_math_kernels.h"

#define TARGET
#define LINKAGE
#define NAME(x) x##_plain
#define LANES 4
#define FLOAT64_NAME(x) x##_plain_float64
#define NUMBER_NAME(x) x##_plain
#define NUMBER_FLOAT64_NAME(x) x##_plain_float64
#define MATH
#include "functions/elements/vectors/vector_math.inc"
