/* conv_tiles_avx2.c - conv_tiles.inc in vectors: those of AVX2. */
#include "functions/windows/convolutions/conv_tiles_kernels.h"

#define VECTORS 256
#define KERNELS "functions/windows/convolutions/conv_tiles.inc"
#include "functions/products/fused_vectors.inc"

#define KERNELS "functions/windows/convolutions/conv_tiles.inc"
#include "functions/products/fused_pairs.inc"
