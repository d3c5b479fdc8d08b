/* hash.c - see hash.h: two multiplicative hashes side by side, eight bytes at a time, the same on every machine. */
#include "mdf_c/base/hash.h"

#include <string.h>

struct mdf_hash mdf_hash_begin(void)
{
    return (struct mdf_hash){UINT64_C(0xcbf29ce484222325), UINT64_C(0x243f6a8885a308d3)};
}

static void add_word(struct mdf_hash *hash, uint64_t word)
{
    hash->a = (hash->a ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    hash->a ^= hash->a >> 32;
    hash->b = (hash->b + word) * UINT64_C(0xbf58476d1ce4e5b9);
    hash->b ^= hash->b >> 29;
}

/* Little-endian; compilers make one load of it. */
static uint64_t word_at(const unsigned char *bytes)
{
    uint64_t word = 0;

    for (size_t i = 0; i < sizeof word; i++) {
        word |= (uint64_t)bytes[i] << 8 * i;
    }
    return word;
}

void mdf_hash_add(struct mdf_hash *hash, const void *bytes, size_t n)
{
    unsigned char rest[sizeof(uint64_t)] = {0};
    const unsigned char *at = bytes;
    size_t left;

    for (left = n; left >= sizeof(uint64_t); left -= sizeof(uint64_t), at += sizeof(uint64_t)) {
        add_word(hash, word_at(at));
    }
    if (left > 0) {
        memcpy(rest, at, left);
    }
    add_word(hash, word_at(rest));
    add_word(hash, n);
}

void mdf_hash_add_text(struct mdf_hash *hash, const char *text)
{
    mdf_hash_add(hash, text, strlen(text) + 1);
}
