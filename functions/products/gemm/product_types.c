/* product_types.c - see product_types.h. */
#include "functions/products/gemm/product_types.h"

#include <string.h>

#define KERNELS "functions/products/gemm/gemm_kernel.inc"
#define WITHOUT_TILES
#if defined(__x86_64__)
#define MASK(low, high) (((1u << (high)) - 1) & ~((1u << (low)) - 1))
#define TARGET __attribute__((target("avx512f,avx512dq")))
#define NAME(x) x##_integer64_avx512
#define ELEMENT uint64_t
#define LANES 8
#define LOAD_LANES(from, low, high) (VECTOR) _mm512_maskz_loadu_epi64((__mmask8)MASK(low, high), from)
#define STORE_LANES(to, low, high, vector) _mm512_mask_storeu_epi64(to, (__mmask8)MASK(low, high), (__m512i)(vector))
#define MULTIPLY_ADD(element, vector, sums) (sums) + (element) * (vector)
#include "functions/products/fused_vector.inc"
#define TARGET __attribute__((target("avx512f,avx512dq")))
#define NAME(x) x##_integer32_avx512
#define ELEMENT uint32_t
#define LANES 16
#define LOAD_LANES(from, low, high) (VECTOR) _mm512_maskz_loadu_epi32((__mmask16)MASK(low, high), from)
#define STORE_LANES(to, low, high, vector) _mm512_mask_storeu_epi32(to, (__mmask16)MASK(low, high), (__m512i)(vector))
#define MULTIPLY_ADD(element, vector, sums) (sums) + (element) * (vector)
#include "functions/products/fused_vector.inc"
#undef MASK
#define TARGET __attribute__((target("avx2")))
#define NAME(x) x##_integer64_avx2
#define ELEMENT uint64_t
#define LANES 4
#define MULTIPLY_ADD(element, vector, sums) (sums) + (element) * (vector)
#include "functions/products/fused_vector.inc"
#define TARGET __attribute__((target("avx2")))
#define NAME(x) x##_integer32_avx2
#define ELEMENT uint32_t
#define LANES 8
#define MULTIPLY_ADD(element, vector, sums) (sums) + (element) * (vector)
#include "functions/products/fused_vector.inc"
#endif
#define TARGET
#define NAME(x) x##_integer64_plain
#define ELEMENT uint64_t
#define LANES 2
#define MULTIPLY_ADD(element, vector, sums) (sums) + (element) * (vector)
#include "functions/products/fused_vector.inc"
#define TARGET
#define NAME(x) x##_integer32_plain
#define ELEMENT uint32_t
#define LANES 4
#define MULTIPLY_ADD(element, vector, sums) (sums) + (element) * (vector)
#include "functions/products/fused_vector.inc"
#undef WITHOUT_TILES

#define TEMPLATE "functions/products/gemm/gemm_pack.inc"
#include "functions/kernel/of_reals.inc"
#define ELEMENT uint32_t
#define NAME(x) x##_words
#include "functions/products/gemm/gemm_pack.inc"
#define TEMPLATE "functions/products/gemm/gemm_turned.inc"
#include "functions/kernel/of_reals.inc"
#define TEMPLATE "functions/products/gemm/gemm_plain.inc"
#include "functions/kernel/of_reals.inc"
#define ELEMENT uint32_t
#define NAME(x) x##_integer32
#include "functions/products/gemm/gemm_plain.inc"
#define ELEMENT uint64_t
#define NAME(x) x##_integer64
#include "functions/products/gemm/gemm_plain.inc"

static const struct mdf_gemm_type float32_type = {sizeof(float),      pack_a_float32,       pack_b_float32,
                                                  store_edge_float32, store_turned_float32, multiply_plain_float32};
static const struct mdf_gemm_type float64_type = {sizeof(double),     pack_a_float64,       pack_b_float64,
                                                  store_edge_float64, store_turned_float64, multiply_plain_float64};
static const struct mdf_gemm_type words_type = {sizeof(uint32_t), pack_a_words, pack_b_words, store_edge_words, NULL, NULL};
static const struct mdf_gemm_type integer32_type = {sizeof(uint32_t), NULL, NULL, NULL, NULL, multiply_plain_integer32};
static const struct mdf_gemm_type integer64_type = {sizeof(uint64_t), NULL, NULL, NULL, NULL, multiply_plain_integer64};

mdf_dtype mdf_product_dtype(mdf_dtype dtype)
{
    switch (mdf_dtype_kind(dtype)) {
    case 'f':
        return dtype == MDF_DTYPE_FLOAT64 ? MDF_DTYPE_FLOAT64 : MDF_DTYPE_FLOAT32;
    case 'u':
        return mdf_dtype_size(dtype) <= sizeof(uint32_t) ? MDF_DTYPE_UINT32 : MDF_DTYPE_UINT64;
    case 'i':
        return mdf_dtype_size(dtype) <= sizeof(int32_t) ? MDF_DTYPE_INT32 : MDF_DTYPE_INT64;
    default:
        return MDF_DTYPE_INT64;
    }
}

static const struct mdf_gemm_kernels *choose_number_kernels(mdf_dtype dtype)
{
    return mdf_dtype_is_real(dtype)     ? MDF_FUSED_KERNELS(&mdf_gemm_kernels, dtype)
           : mdf_dtype_size(dtype) == 4 ? MDF_WIDEST(&mdf_gemm_kernels_integer32)
                                        : MDF_WIDEST(&mdf_gemm_kernels_integer64);
}

const struct mdf_gemm_kernels *mdf_gemm_kernels_of(const struct mdf_product *product)
{
    switch (product->elements) {
    case MDF_PRODUCT_OF_WORDS:
        return MDF_WORD_KERNELS(&mdf_gemm_kernels);
    case MDF_PRODUCT_OF_PAIRS:
        return MDF_PAIR_KERNELS(&mdf_gemm_kernels);
    case MDF_PRODUCT_OF_NUMBERS:
        break;
    }
    return choose_number_kernels(product->dtype);
}

mdf_add_scaled mdf_add_scaled_for(mdf_dtype dtype)
{
    return choose_number_kernels(dtype)->add_scaled;
}

const struct mdf_gemm_type *mdf_gemm_type_of(const struct mdf_product *product)
{
    if (product->elements != MDF_PRODUCT_OF_NUMBERS) {
        return &words_type;
    }
    if (mdf_dtype_is_real(product->dtype)) {
        return product->dtype == MDF_DTYPE_FLOAT32 ? &float32_type : &float64_type;
    }
    return mdf_dtype_size(product->dtype) == 4 ? &integer32_type : &integer64_type;
}
