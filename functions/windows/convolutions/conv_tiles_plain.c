/* conv_tiles_plain.c - conv_tiles.inc in vectors: portable ones. */
#include "functions/windows/convolutions/conv_tiles_kernels.h"

#define VECTORS 128
#define KERNELS "functions/windows/convolutions/conv_tiles.inc"
#include "functions/products/fused_vectors.inc"

#define KERNELS "functions/windows/convolutions/conv_tiles.inc"
#include "functions/products/fused_words.inc"
