/* conv_others_avx2.c - conv_others.inc in vectors: those of AVX2. */
#include "functions/windows/convolutions/planes/conv_planes_kernels.h"

#define VECTORS 256
#define KERNELS "functions/windows/convolutions/planes/conv_others.inc"
#include "functions/products/fused_vectors.inc"
