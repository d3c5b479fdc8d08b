/* conv_threes_avx512.c - conv_threes.inc in vectors: those of AVX-512. */
#include "functions/windows/convolutions/planes/conv_planes_kernels.h"

#define VECTORS 512
#define KERNELS "functions/windows/convolutions/planes/conv_threes.inc"
#include "functions/products/fused_vectors.inc"
