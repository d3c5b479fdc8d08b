/* conv_sevens_avx2.c - conv_sevens.inc in vectors: those of AVX2. */
#include "functions/windows/convolutions/planes/conv_planes_kernels.h"

#define VECTORS 256
#define KERNELS "functions/windows/convolutions/planes/conv_sevens.inc"
#include "functions/products/fused_vectors.inc"
