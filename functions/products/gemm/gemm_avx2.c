/* gemm_avx2.c - gemm_kernel.inc in vectors: those of AVX2. */
#include "functions/products/gemm/gemm_kernels.h"

#define VECTORS 256
#define KERNELS "functions/products/gemm/gemm_kernel.inc"
#include "functions/products/fused_vectors.inc"

#define KERNELS "functions/products/gemm/gemm_kernel.inc"
#define ONLY_TILES
#include "functions/products/fused_words.inc"

#define KERNELS "functions/products/gemm/gemm_kernel.inc"
#include "functions/products/fused_pairs.inc"
