/* chunks.h - chunks and patterns of ACT-R as values: objects whose values are strings; and the words that such strings hold.
 *
 * Functions that return bool or a pointer fail with false or NULL and the error set, unless said otherwise. */
#ifndef MDF_FUNCTIONS_ACTR_CHUNKS_H
#define MDF_FUNCTIONS_ACTR_CHUNKS_H

#include "functions/python/python_values.h"

/* Bounds that keep the time of matching in proportion to the size of a model. */
enum {
    MDF_ACTR_MOST_ENTRIES = 10000, /* of an object that is made */
    MDF_ACTR_MOST_WORDS = 1024     /* of a chunk, tests of a pattern, patterns of a production */
};

/* Bytes of a string, which lives elsewhere. */
struct mdf_span {
    const char *bytes;
    size_t length;
};

/* A text that lives as long as the program; the text of a value that is a string. */
struct mdf_span mdf_span_of(const char *text);
struct mdf_span mdf_span_of_value(const struct mdf_value *string);
bool mdf_span_equal(struct mdf_span a, struct mdf_span b);

/* Entry number `i` of an object. */
static inline const struct mdf_value *mdf_object_key(const struct mdf_value *object, size_t i)
{
    return &mdf_value_items(object)[2 * i];
}

static inline const struct mdf_value *mdf_object_value(const struct mdf_value *object, size_t i)
{
    return &mdf_value_items(object)[2 * i + 1];
}

/* The value under a key; NULL where there is none, without an error. */
const struct mdf_value *mdf_object_find(const struct mdf_value *object, struct mdf_span key);
/* The same where it must be there; `what` names the object in the message. */
const struct mdf_value *mdf_object_need(struct mdf_call *call, const struct mdf_value *object, const char *what, const char *key);
/* Whether a value is what Python's `== {}` finds equal: an object without entries. */
bool mdf_object_is_empty(const struct mdf_value *value);

/* Checks that a value is an object, or a list whose items are objects; `what` names it in the message. */
bool mdf_check_object(struct mdf_call *call, const struct mdf_value *value, const char *what);
bool mdf_check_objects(struct mdf_call *call, const struct mdf_value *value, const char *what);

/* An object under construction: its entries from the first on. */
struct mdf_object_maker {
    struct mdf_call *call;
    struct mdf_value *object;
    size_t capacity;
};

/* Begins an object of at most `capacity` entries. */
bool mdf_object_begin(struct mdf_object_maker *maker, struct mdf_call *call, struct mdf_value *target, size_t capacity);
/* Sets an entry: in its place where the key is there, else behind the others. */
bool mdf_object_put(struct mdf_object_maker *maker, const struct mdf_value *key, const struct mdf_value *value);
bool mdf_object_put_all(struct mdf_object_maker *maker, const struct mdf_value *source);

/* Which values of an object make up its text: those from entry `first` on, without the one under `left_out` (NULL: all). */
struct mdf_words_of {
    size_t first;
    const char *left_out;
};
extern const struct mdf_words_of mdf_words_of_chunk, mdf_words_of_pattern;

/* Checks that these values are strings. */
bool mdf_check_words(struct mdf_call *call, const struct mdf_value *object, const char *what, struct mdf_words_of which);
/* Output 0 becomes these values, with blanks between them. The object must have been checked. */
bool mdf_join_words(struct mdf_call *call, const struct mdf_value *object, struct mdf_words_of which, bool is_pattern);

/* A walk over the words, parted by white space, of an object that has been checked. */
struct mdf_words {
    const struct mdf_value *object;
    struct mdf_words_of which;
    size_t entry;         /* that comes next */
    struct mdf_span rest; /* of the entry before it */
};

struct mdf_words mdf_words_begin(const struct mdf_value *object, struct mdf_words_of which);
/* False at the end, without an error. */
bool mdf_words_next(struct mdf_words *words, struct mdf_span *word);

/* Character `i` of a pattern as it is matched: "=x", a variable, reads "?x", and "-=x" reads "!?x". */
char mdf_pattern_character(struct mdf_span word, size_t i);

#endif
