/* conv_sevens_plain.c - conv_sevens.inc in vectors: portable ones. */
#include "functions/windows/convolutions/conv_planes_kernels.h"

#define VECTORS 128
#define KERNELS "functions/windows/convolutions/conv_sevens.inc"
#include "functions/products/fused_vectors.inc"
