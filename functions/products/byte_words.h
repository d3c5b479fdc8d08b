/* byte_words.h - arrays of 8-bit integers as the words of functions/products/fused_words.h, and what is done with the sums of
 * products of these, in the widest vectors that the processor has. All sums wrap at 32 bits; results are the same on every
 * processor. */
#ifndef MDF_FUNCTIONS_PRODUCTS_BYTE_WORDS_H
#define MDF_FUNCTIONS_PRODUCTS_BYTE_WORDS_H

#include "mdf_c/tensor/dtype.h"

/* What makes int8 of uint8 and the other way round, in each byte: 128 is taken off, or added. */
enum { MDF_BYTE_FLIP = 0x80 };

/* What turns a line of sums into quantised numbers. */
struct mdf_requantised_line {
    const float *scales; /* an element each; NULL: `scale` for all */
    float scale;
    int32_t zero; /* a byte */
    bool is_signed;
    uint8_t *to;
};

struct mdf_byte_words {
    size_t n_bytes; /* of a word */
    /* Words of a row of `k` bytes, each byte exclusive-or `flip`; bytes beyond are zero. The sum of the bytes, as int8. */
    uint32_t (*pack_row)(size_t k, const uint8_t *row, uint8_t flip, uint32_t *words);
    /* Word j: elements j of up to n_bytes rows that lie `stride` apart; bytes of missing rows are zero. */
    void (*interleave)(size_t n_rows, size_t n, const uint8_t *rows, size_t stride, uint8_t flip, bool is_signed,
                       uint32_t *words);
    /* sums += the bytes of words, as uint8. */
    void (*add_bytes)(size_t n, const uint32_t *words, uint32_t *sums);
    /* sums += addend + p u + q v; u, v: NULL for nothing. */
    void (*correct)(size_t n, uint32_t addend, uint32_t p, const uint32_t *u, uint32_t q, const uint32_t *v, uint32_t *sums);
    /* Bytes less a zero point as float32. */
    void (*to_reals)(size_t n, const uint8_t *bytes, bool is_signed, float zero, float *reals);
    /* Sums that are whole numbers in float32, plus an addend. */
    void (*from_reals)(size_t n, const float *reals, uint32_t addend, uint32_t *sums);
    /* Each sum times its scale in float64, rounded to even, zero added, saturated. */
    void (*requantise)(size_t n, const uint32_t *sums, const struct mdf_requantised_line *line);
};

const struct mdf_byte_words *mdf_byte_words(void);
const struct mdf_byte_words *mdf_byte_pairs(void); /* words that are pairs */

#endif
