/* fused_vectors.h - which vectors kernels are written for: those of AVX-512, of AVX2 with FMA, and portable ones of 16 bytes,
 * without fused multiplication and addition. See fused_vectors.inc. */
#ifndef MDF_FUNCTIONS_PRODUCTS_FUSED_VECTORS_H
#define MDF_FUNCTIONS_PRODUCTS_FUSED_VECTORS_H

#include "mdf_c/base/processor.h"
#include "mdf_c/tensor/dtype.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <stdint.h>
#include <string.h>

/* Of what a file included by fused_vectors.inc defines as NAME(name): the one for the type, FLOAT32 or FLOAT64, and this
 * processor. */
#define MDF_FUSED_KERNELS(name, dtype) ((dtype) == MDF_DTYPE_FLOAT32 ? MDF_WIDEST(name##_float32) : MDF_WIDEST(name##_float64))

/* Declares them, where each kind of vector has a file of its own. */
#if defined(__x86_64__)
#define MDF_DECLARE_FUSED(type, name)                               \
    extern const type name##_float32_avx512, name##_float64_avx512; \
    extern const type name##_float32_avx2, name##_float64_avx2;     \
    extern const type name##_float32_plain, name##_float64_plain
#else
#define MDF_DECLARE_FUSED(type, name) extern const type name##_float32_plain, name##_float64_plain
#endif

#endif
