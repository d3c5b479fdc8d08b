/* patterns.h - matching the patterns of ACT-R's productions and requests against chunks.
 *
 * A pattern's words stand for the slots of a chunk, in order, or for the one that "SLOT:" in front of the word names. A word is
 * a literal, "=NAME" (a variable: bound by the first slot it meets, equal to all others), "!LITERAL" or "-=NAME" (any other
 * value), "?" (anything), or several of these in a row, which must all hold. */
#ifndef MDF_FUNCTIONS_ACTR_PATTERNS_H
#define MDF_FUNCTIONS_ACTR_PATTERNS_H

#include "functions/actr/chunks.h"

/* What a pattern is matched against. */
struct mdf_chunk {
    const struct mdf_value *object; /* NULL: the buffer is empty, and no slot matches */
    bool has_words; /* slots are the words of its values, as mdf_check_chunk has checked; else its entries, by name only */
};

/* A pattern, checked by mdf_check_words, and its chunk. */
struct mdf_match {
    const struct mdf_value *pattern;
    struct mdf_chunk chunk;
};

/* Checks that an object can be a chunk with words. */
bool mdf_check_chunk(struct mdf_call *call, const struct mdf_value *object, const char *what);
/* Checks that a pattern can be read. */
bool mdf_check_pattern(struct mdf_call *call, const struct mdf_value *pattern, const char *what);

/* Whether all patterns match, variables being shared among them. `bindings` becomes a list: name, value, name, value, ... in the
 * order in which variables were bound. False with the error set where memory ran out. */
bool mdf_match_patterns(struct mdf_call *call, const struct mdf_match *matches, size_t n, struct mdf_value *bindings,
                        bool *is_match);

/* Where the slot at `position` of a chunk with words lies: its value. False where there is none, without an error. */
bool mdf_chunk_slot(const struct mdf_value *object, size_t position, struct mdf_span *value);
/* How many words a chunk has; whether one of them is a named slot. */
size_t mdf_chunk_length(const struct mdf_value *object, bool *has_names);

#endif
