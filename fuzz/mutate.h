/* mutate.h - inputs made worse, the same ones for the same seed.
 *
 * Comes in: the bytes of a sound file. Goes out: bytes that differ from it a little, at random, or along the structure that the
 * format has: fields of protobuf messages, values and keys of documents, words and brackets of expressions, tokens of a text. */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H

#include "mdf_c/base/text.h"

struct random_source {
    uint64_t state;
};

/* A number below `bound` > 0. */
size_t random_below(struct random_source *random, size_t bound);

/* Puts `with` in the place of bytes [from, to); nothing where that would be very long. */
void replace_bytes(struct mdf_text *bytes, size_t from, size_t to, const void *with, size_t size);
/* Changes a few bytes. */
void flip_bytes(struct random_source *random, struct mdf_text *bytes);
/* Changes one part of an expression: a word, a bracket and what is in it. */
void change_expression(struct random_source *random, struct mdf_text *text);
/* Changes, takes away, doubles or moves parts of messages, of documents, of text, or of bytes, by the format: "json", "yaml",
 * "bson", "onnx", "expression"; any other: bytes. */
void mutate(struct random_source *random, const char *format, struct mdf_text *bytes);
/* Puts a part of `other` into the input. */
void graft(struct random_source *random, const char *format, struct mdf_text *bytes, const struct mdf_text *other);

#endif
