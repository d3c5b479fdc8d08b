/* words.h - elements that are moved: words of their size, whatever type they were stored with. */
#ifndef MDF_FUNCTIONS_MOVES_WORDS_H
#define MDF_FUNCTIONS_MOVES_WORDS_H

#include <stdint.h>

typedef uint8_t __attribute__((may_alias)) mdf_word8;
typedef uint16_t __attribute__((may_alias)) mdf_word16;
typedef uint32_t __attribute__((may_alias)) mdf_word32;
typedef uint64_t __attribute__((may_alias)) mdf_word64;
typedef struct __attribute__((may_alias)) {
    uint64_t low, high;
} mdf_word128;

#endif
