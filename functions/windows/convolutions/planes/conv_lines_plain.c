/* conv_lines_plain.c - conv_lines.inc in vectors: portable ones. */
#include "functions/windows/convolutions/planes/conv_planes_kernels.h"

#define VECTORS 128
#define KERNELS "functions/windows/convolutions/planes/conv_lines.inc"
#include "functions/products/fused_vectors.inc"
