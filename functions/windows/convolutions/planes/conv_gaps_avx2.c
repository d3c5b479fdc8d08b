/* conv_gaps_avx2.c - conv_gaps.inc in vectors: those of AVX2. */
#include "functions/windows/convolutions/planes/conv_planes_kernels.h"

#define VECTORS 256
#define KERNELS "functions/windows/convolutions/planes/conv_gaps.inc"
#include "functions/products/fused_vectors.inc"
