/* mutate_message.h - protobuf messages changed along their declaration (onnx.proto): fields go, double, change places, come in,
 * get values that their type allows or just does not; the lengths around them fit again.
 *
 * Comes in and goes out: the bytes of a ModelProto, or what should be one. */
#ifndef FUZZ_MUTATE_MESSAGE_H
#define FUZZ_MUTATE_MESSAGE_H

#include "fuzz/mutate.h"

void mutate_message(struct random_source *random, struct mdf_text *bytes);
/* Puts a field of `other` into a message of the same type. */
void graft_message(struct random_source *random, struct mdf_text *bytes, const struct mdf_text *other);

#endif
