/* conv_gaps_plain.c - conv_gaps.inc in vectors: portable ones. */
#include "functions/windows/convolutions/planes/conv_planes_kernels.h"

#define VECTORS 128
#define KERNELS "functions/windows/convolutions/planes/conv_gaps.inc"
#include "functions/products/fused_vectors.inc"
