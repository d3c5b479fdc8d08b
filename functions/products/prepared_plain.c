/* prepared_plain.c - prepared_kernel.inc in vectors: portable ones. */
#include "functions/products/prepared_kernels.h"

#define NO_FUSED(element, vector, sums) (sums) + (element) * (vector)

#define TARGET
#define NAME(x) x##_float32
#define ELEMENT float
#define LANES 4
#define ROWS 4
#define MULTIPLY_ADD NO_FUSED
#include "functions/products/prepared_kernel.inc"
#define TARGET
#define NAME(x) x##_float64
#define ELEMENT double
#define LANES 2
#define ROWS 4
#define MULTIPLY_ADD NO_FUSED
#include "functions/products/prepared_kernel.inc"
