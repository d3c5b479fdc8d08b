/* byte_words.c - see byte_words.h. */
#include "functions/byte_words.h"

#include "functions/fused_words.h"

#define KERNELS "functions/byte_words.inc"
#include "functions/fused_words.inc"

const struct mdf_byte_words *mdf_byte_words(void)
{
    return MDF_WORD_KERNELS(&byte_words);
}
