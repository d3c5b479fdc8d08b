/* fused_words.h - words of four bytes as elements of products: such a word is four neighbours along the axis that is summed over.
 *
 * A word of the first operand holds signed bytes, one of the second unsigned ones; MULTIPLY_ADD(element, vector, sums) adds the
 * four products of the bytes of a word to a sum of 32 bits. Sums wrap, so the result is the same on every processor.
 *
 * Where no operation does that, a word of two numbers of 16 bits, a pair, takes the fewest: what takes bytes apart each time that
 * they are met takes longer than their products. Such words are twice as many, which does not pay where each is met once. */
#ifndef MDF_FUNCTIONS_PRODUCTS_FUSED_WORDS_H
#define MDF_FUNCTIONS_PRODUCTS_FUSED_WORDS_H

#include "functions/products/fused_vectors.h"

/* Of what a file included by fused_words.inc defines as NAME(name): the one for this processor. */
#if defined(__x86_64__)
#define MDF_WORD_KERNELS(name) (mdf_has_vnni() ? name##_words_vnni : MDF_WIDEST(name##_words))
#define MDF_DECLARE_WORDS(type, name) \
    extern const type name##_words_vnni, name##_words_avx512, name##_words_avx2, name##_words_plain

/* Whether products whose words are met often are better made of pairs; then their kernels are these. */
static inline bool mdf_pairs_are_faster(void)
{
    return mdf_has_avx2() && !mdf_has_vnni();
}

#define MDF_PAIR_KERNELS(name) (mdf_has_avx512() ? name##_pairs_avx512 : name##_pairs_avx2)
#define MDF_DECLARE_PAIRS(type, name) extern const type name##_pairs_avx512, name##_pairs_avx2
/* Of what has words of bytes only where pairs are no faster. */
#define MDF_BYTE_KERNELS(name) (mdf_has_vnni() ? name##_words_vnni : name##_words_plain)

/* The bytes at even places and those at odd ones are multiplied as numbers of 16 bits. */
__attribute__((target("avx512f,avx512bw"))) static inline __m512i mdf_add_words_avx512(__m512i element, __m512i vector,
                                                                                       __m512i sums)
{
    __m512i even =
        _mm512_madd_epi16(_mm512_and_si512(vector, _mm512_set1_epi16(255)), _mm512_srai_epi16(_mm512_slli_epi16(element, 8), 8));

    sums = _mm512_add_epi32(sums, _mm512_madd_epi16(_mm512_srli_epi16(vector, 8), _mm512_srai_epi16(element, 8)));
    return _mm512_add_epi32(sums, even);
}

__attribute__((target("avx2"))) static inline __m256i mdf_add_words_avx2(__m256i element, __m256i vector, __m256i sums)
{
    __m256i even =
        _mm256_madd_epi16(_mm256_and_si256(vector, _mm256_set1_epi16(255)), _mm256_srai_epi16(_mm256_slli_epi16(element, 8), 8));

    sums = _mm256_add_epi32(sums, _mm256_madd_epi16(_mm256_srli_epi16(vector, 8), _mm256_srai_epi16(element, 8)));
    return _mm256_add_epi32(sums, even);
}
#else
#define MDF_WORD_KERNELS(name) MDF_WIDEST(name##_words)
#define MDF_DECLARE_WORDS(type, name) extern const type name##_words_plain
#define MDF_PAIR_KERNELS(name) (name##_words_plain)
#define MDF_DECLARE_PAIRS(type, name) extern const type name##_words_plain
#define MDF_BYTE_KERNELS(name) (name##_words_plain)

static inline bool mdf_pairs_are_faster(void)
{
    return false;
}
#endif

#endif
