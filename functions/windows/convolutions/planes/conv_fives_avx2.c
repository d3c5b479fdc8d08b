/* conv_fives_avx2.c - conv_fives.inc in vectors: those of AVX2. */
#include "functions/windows/convolutions/planes/conv_planes_kernels.h"

#define VECTORS 256
#define KERNELS "functions/windows/convolutions/planes/conv_fives.inc"
#include "functions/products/fused_vectors.inc"
