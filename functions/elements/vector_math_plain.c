/* vector_math_plain.c - vector_math.inc in vectors: portable ones. */
#include "functions/elements/vector_math_kernels.h"

#define TARGET
#define NAME(x) x##_plain_doubles
#define DOUBLES
#define LANES 2
#include "functions/elements/vector_math.inc"
#define TARGET
#define NAME(x) x##_plain
#define DOUBLES_NAME(x) x##_plain_doubles
#define LANES 4
#define MATH
#include "functions/elements/vector_math.inc"
