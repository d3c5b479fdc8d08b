/* conv_tiles_avx512.c - conv_tiles.inc in vectors: those of AVX-512. */
#include "functions/windows/convolutions/conv_tiles_kernels.h"

#define VECTORS 512
#define KERNELS "functions/windows/convolutions/conv_tiles.inc"
#include "functions/products/fused_vectors.inc"

#define KERNELS "functions/windows/convolutions/conv_tiles.inc"
#define WITHOUT_SPLIT
#include "functions/products/fused_words.inc"

#define KERNELS "functions/windows/convolutions/conv_tiles.inc"
#include "functions/products/fused_pairs.inc"
