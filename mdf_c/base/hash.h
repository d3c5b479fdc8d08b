/* hash.h - 128 bits that tell contents apart: for names of files after what is in them, and to see that a file is whole. No
 * secret takes part: it finds accidents, not forgers. */
#ifndef MDF_BASE_HASH_H
#define MDF_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct mdf_hash {
    uint64_t a, b;
};

struct mdf_hash mdf_hash_begin(void);
/* How bytes are dealt out to calls counts too. */
void mdf_hash_add(struct mdf_hash *hash, const void *bytes, size_t n);
/* A text with its end. */
void mdf_hash_add_text(struct mdf_hash *hash, const char *text);

#endif
