/* gemm_avx512.c - gemm_kernel.inc in vectors: those of AVX-512. */
#include "functions/products/gemm/gemm_kernels.h"

#define VECTORS 512
#define KERNELS "functions/products/gemm/gemm_kernel.inc"
#include "functions/products/fused_vectors.inc"

#define KERNELS "functions/products/gemm/gemm_kernel.inc"
#define ONLY_TILES
#include "functions/products/fused_words.inc"

#define KERNELS "functions/products/gemm/gemm_kernel.inc"
#include "functions/products/fused_pairs.inc"
