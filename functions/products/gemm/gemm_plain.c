/* gemm_plain.c - gemm_kernel.inc in vectors: portable ones. */
#include "functions/products/gemm/gemm_kernels.h"

#define VECTORS 128
#define KERNELS "functions/products/gemm/gemm_kernel.inc"
#include "functions/products/fused_vectors.inc"

#define KERNELS "functions/products/gemm/gemm_kernel.inc"
#define ONLY_TILES
#include "functions/products/fused_words.inc"
