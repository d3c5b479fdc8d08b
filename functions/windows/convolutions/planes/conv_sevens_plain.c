/* conv_sevens_plain.c - conv_sevens.inc in vectors: portable ones. */
#include "functions/windows/convolutions/planes/conv_planes_kernels.h"

#define VECTORS 128
#define KERNELS "functions/windows/convolutions/planes/conv_sevens.inc"
#include "functions/products/fused_vectors.inc"
