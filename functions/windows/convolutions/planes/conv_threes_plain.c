/* conv_threes_plain.c - conv_threes.inc in vectors: portable ones. */
#include "functions/windows/convolutions/planes/conv_planes_kernels.h"

#define VECTORS 128
#define KERNELS "functions/windows/convolutions/planes/conv_threes.inc"
#include "functions/products/fused_vectors.inc"
