/* conv_small_plain.c - conv_small.inc in vectors: portable ones. */
#include "functions/windows/convolutions/planes/conv_planes_kernels.h"

#define VECTORS 128
#define KERNELS "functions/windows/convolutions/planes/conv_small.inc"
#include "functions/products/fused_vectors.inc"
