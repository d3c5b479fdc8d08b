/* conv_small_avx512.c - conv_small.inc in vectors: those of AVX-512. */
#include "functions/windows/convolutions/planes/conv_planes_kernels.h"

#define VECTORS 512
#define KERNELS "functions/windows/convolutions/planes/conv_small.inc"
#include "functions/products/fused_vectors.inc"
