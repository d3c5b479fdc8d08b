/* byte_words.c - see byte_words.h. */
#include "functions/products/byte_words.h"

#include "functions/products/fused_words.h"
#include "functions/products/requantise_routine.inc"

#define KERNELS "functions/products/byte_words.inc"
#include "functions/products/fused_words.inc"

const struct mdf_byte_words *mdf_byte_words(void)
{
    return MDF_WORD_KERNELS(&byte_words);
}

const struct mdf_byte_words *mdf_byte_pairs(void)
{
    return MDF_WORD_KERNELS(&byte_pairs);
}
