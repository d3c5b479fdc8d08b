/* mutate_tree.h - documents changed as trees: values, keys and expressions go, double, change places, become odd ones.
 *
 * Comes in: the bytes of a document as JSON, YAML or BSON. Goes out: a document of the same format that can be read, so that what
 * lies behind the readers gets to see it. */
#ifndef FUZZ_MUTATE_TREE_H
#define FUZZ_MUTATE_TREE_H

#include "fuzz/mutate.h"

/* False: the bytes are no document, and are as they were. */
bool mutate_tree(struct random_source *random, const char *format, struct mdf_text *bytes);
/* Puts a part of `other` into the document. */
bool graft_tree(struct random_source *random, const char *format, struct mdf_text *bytes, const void *other, size_t size);

#endif
