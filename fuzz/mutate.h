/* mutate.h - inputs made worse, the same ones for the same seed.
 *
 * Comes in: the bytes of a sound file. Goes out: bytes that differ from it a little, at random, or along the structure that the
 * format has: fields of protobuf messages, tokens of a text. */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H

#include "mdf_c/base/text.h"

struct random_source {
    uint64_t state;
};

/* A number below `bound` > 0. */
size_t random_below(struct random_source *random, size_t bound);

/* Changes a few bytes. */
void flip_bytes(struct random_source *random, struct mdf_text *bytes);
/* Changes, takes away, doubles or moves parts of messages, of text, or of bytes, by the format. */
void mutate(struct random_source *random, const char *format, struct mdf_text *bytes);

#endif
