/* patterns.c - see patterns.h. Source: modeci_mdf.functions.actr of MDF 0.4.15, whose patterns and chunks are those of Python
 * ACT-R (the ccm package): ccm/pattern.py, ccm/buffer.py.
 *
 * A pattern is read anew for each chunk it is tried on: words lie in the strings of the model, and nothing is built from them. */
#include "functions/actr/patterns.h"

#include "mdf_c/base/text.h"

#include <string.h>

enum test_kind {
    TEST_EQUALS,            /* text is a literal */
    TEST_DIFFERS,           /* text is a literal */
    TEST_BINDS,             /* text is the name of a variable */
    TEST_DIFFERS_FROM_BOUND /* text is the name of a variable */
};

struct slot {
    enum { SLOT_AT, SLOT_NAMED, SLOT_NAMED_BY_VARIABLE } kind;
    size_t position;      /* SLOT_AT */
    struct mdf_span name; /* of the slot, or of the variable */
};

struct test {
    enum test_kind kind;
    struct slot slot;
    struct mdf_span text;
};

/* A walk over the tests of a pattern. */
struct reader {
    struct mdf_words words;
    struct mdf_span word, rest; /* the word, and what is not yet read of it */
    struct slot slot;           /* that it is about */
    size_t n_words;
    bool has_names;
    const char *fault; /* NULL: none; else what is wrong with `word` */
};

/* ------------------------------------------------------------------ reading patterns */

/* How many characters from `first` on are of a name, or with `more` of a literal. */
static size_t count_characters(struct mdf_span word, size_t first, const char *more)
{
    size_t i;

    for (i = first; i < word.length; i++) {
        char character = mdf_pattern_character(word, i);

        if (!mdf_is_word(character) && (character == '\0' || strchr(more, character) == NULL)) {
            break;
        }
    }
    return i - first;
}

/* A name of digits alone is a position. */
static struct slot slot_named(struct mdf_span name)
{
    struct slot slot = {SLOT_NAMED, 0, name};
    size_t i;

    for (i = 0; i < name.length && i < 18 && mdf_is_digit(name.bytes[i]); i++) {
        slot.position = slot.position * 10 + (size_t)(name.bytes[i] - '0');
    }
    slot.kind = i == name.length ? SLOT_AT : SLOT_NAMED;
    return slot;
}

/* Sets the slot that the word is about, by the name in front of it or by its place; false where that is a fault. */
static bool read_slot(struct reader *reader)
{
    struct mdf_span word = reader->word;
    size_t first = mdf_pattern_character(word, 0) == '?' ? 1 : 0;
    size_t end = first + count_characters(word, first, ".");
    bool is_named = end > first && end < word.length && word.bytes[end] == ':';

    reader->rest = word;
    if (!is_named) {
        reader->slot = (struct slot){SLOT_AT, reader->n_words, {"", 0}};
        reader->fault = reader->has_names ? "stands for a slot by its place, behind one that names its slot" : NULL;
    } else {
        struct mdf_span name = {word.bytes + first, end - first};

        reader->has_names = true;
        reader->slot = first == 1 ? (struct slot){SLOT_NAMED_BY_VARIABLE, 0, name} : slot_named(name);
        reader->rest = (struct mdf_span){word.bytes + end + 1, word.length - end - 1};
        reader->fault = reader->rest.length == 0 ? "names a slot without a value" : NULL;
    }
    reader->n_words++;
    return reader->fault == NULL;
}

/* Reads the test that `rest` begins with. */
static bool read_test(struct reader *reader, struct test *test)
{
    char first = mdf_pattern_character(reader->rest, 0);
    char second = reader->rest.length > 1 ? mdf_pattern_character(reader->rest, 1) : '\0';
    size_t n_marks = first == '!' && second == '?' ? 2 : first == '!' || first == '?' ? 1 : 0;
    bool is_variable = first == '?' || n_marks == 2;
    size_t length = count_characters(reader->rest, n_marks, is_variable ? "" : ".-");

    if (length == 0) {
        reader->fault = "is no literal, no '=variable', and no '-=variable'";
        return false;
    }
    test->kind = is_variable ? (n_marks == 2 ? TEST_DIFFERS_FROM_BOUND : TEST_BINDS) : n_marks == 1 ? TEST_DIFFERS : TEST_EQUALS;
    test->slot = reader->slot;
    test->text = (struct mdf_span){reader->rest.bytes + n_marks, length};
    reader->rest.bytes += n_marks + length;
    reader->rest.length -= n_marks + length;
    return true;
}

static struct reader begin_reading(const struct mdf_value *pattern)
{
    return (struct reader){.words = mdf_words_begin(pattern, mdf_words_of_pattern)};
}

/* The next test; false at the end, and where a fault is found. */
static bool next_test(struct reader *reader, struct test *test)
{
    while (reader->rest.length == 0) {
        if (!mdf_words_next(&reader->words, &reader->word) || !read_slot(reader)) {
            return false;
        }
        if (reader->rest.length == 1 && mdf_pattern_character(reader->rest, 0) == '?') {
            reader->rest.length = 0; /* anything will do, even no slot */
        }
    }
    return read_test(reader, test);
}

bool mdf_check_pattern(struct mdf_call *call, const struct mdf_value *pattern, const char *what)
{
    struct reader reader;
    struct test test;
    size_t n = 0;

    if (!mdf_check_words(call, pattern, what, mdf_words_of_pattern)) {
        return false;
    }
    reader = begin_reading(pattern);
    while (next_test(&reader, &test)) {
        n++;
    }
    if (n > MDF_ACTR_MOST_WORDS || reader.n_words > MDF_ACTR_MOST_WORDS) {
        return mdf_call_error(call, MDF_LIMIT, "%s has more than %d words", what, MDF_ACTR_MOST_WORDS);
    }
    return reader.fault == NULL ||
           mdf_call_error(call, MDF_VALUE, "the word '%.*s' of %s %s", (int)(reader.word.length < 60 ? reader.word.length : 60),
                          reader.word.bytes, what, reader.fault);
}

/* ------------------------------------------------------------------ slots of chunks */

/* Cuts "NAME:VALUE"; false where the word has no name. */
static bool cut_word(struct mdf_span word, struct mdf_span *name, struct mdf_span *value)
{
    const char *colon = memchr(word.bytes, ':', word.length);

    *value = word;
    if (colon == NULL) {
        return false;
    }
    *name = (struct mdf_span){word.bytes, (size_t)(colon - word.bytes)};
    *value = (struct mdf_span){colon + 1, word.length - name->length - 1};
    return true;
}

bool mdf_check_chunk(struct mdf_call *call, const struct mdf_value *object, const char *what)
{
    struct mdf_span word, name, value;
    struct mdf_words words;
    size_t n = 0;

    if (!mdf_check_words(call, object, what, mdf_words_of_chunk)) {
        return false;
    }
    words = mdf_words_begin(object, mdf_words_of_chunk);
    while (mdf_words_next(&words, &word)) {
        if (++n > MDF_ACTR_MOST_WORDS) {
            return mdf_call_error(call, MDF_LIMIT, "%s has more than %d words", what, MDF_ACTR_MOST_WORDS);
        }
        cut_word(word, &name, &value);
        if (value.length > 0 && value.bytes[0] == '?') {
            return mdf_call_error(call, MDF_VALUE, "the word '%.*s' of %s is a variable, which only patterns can have",
                                  (int)(word.length < 60 ? word.length : 60), word.bytes, what);
        }
    }
    return true;
}

bool mdf_chunk_slot(const struct mdf_value *object, size_t position, struct mdf_span *value)
{
    struct mdf_words words = mdf_words_begin(object, mdf_words_of_chunk);
    struct mdf_span name;

    for (size_t i = 0; mdf_words_next(&words, value); i++) {
        if (i == position) {
            return !cut_word(*value, &name, value);
        }
    }
    return false;
}

size_t mdf_chunk_length(const struct mdf_value *object, bool *has_names)
{
    struct mdf_words words = mdf_words_begin(object, mdf_words_of_chunk);
    struct mdf_span word, name, value;
    size_t n = 0;

    *has_names = false;
    while (mdf_words_next(&words, &word)) {
        *has_names = cut_word(word, &name, &value) || *has_names;
        n++;
    }
    return n;
}

/* The slot that a word names; of several of one name the last. */
static bool find_named_word(const struct mdf_value *object, struct mdf_span wanted, struct mdf_span *found)
{
    struct mdf_words words = mdf_words_begin(object, mdf_words_of_chunk);
    struct mdf_span word, name, value;
    bool is_found = false;

    while (mdf_words_next(&words, &word)) {
        if (cut_word(word, &name, &value) && mdf_span_equal(name, wanted)) {
            *found = value;
            is_found = true;
        }
    }
    return is_found;
}

/* The slot under a name. A name with a dot asks for a slot within a slot, which strings do not have. */
static bool find_named(const struct mdf_chunk *chunk, struct mdf_span name, struct mdf_span *found)
{
    const struct mdf_value *value;

    if (memchr(name.bytes, '.', name.length) != NULL) {
        return false;
    }
    if (chunk->has_words) {
        return find_named_word(chunk->object, name, found);
    }
    value = mdf_object_find(chunk->object, name);
    if (value == NULL) {
        return false;
    }
    *found = mdf_span_of_value(value);
    return true;
}

/* ------------------------------------------------------------------ matching */

struct matcher {
    struct mdf_call *call;
    struct mdf_value *bindings;
    bool has_failed; /* memory ran out */
};

static bool find_bound(const struct matcher *matcher, struct mdf_span name, struct mdf_span *value)
{
    const struct mdf_value *items = mdf_value_items(matcher->bindings);

    for (size_t i = 0; i + 1 < matcher->bindings->length; i += 2) {
        if (mdf_span_equal(mdf_span_of_value(&items[i]), name)) {
            *value = mdf_span_of_value(&items[i + 1]);
            return true;
        }
    }
    return false;
}

static bool append_text(struct matcher *matcher, struct mdf_span text)
{
    struct mdf_memory *memory = matcher->call->context->memory;
    struct mdf_value string = {0};
    bool done =
        mdf_value_make_string(memory, &string, text.bytes, text.length) && mdf_value_append(memory, matcher->bindings, &string);

    mdf_value_clear(memory, &string);
    matcher->has_failed = matcher->has_failed || !done;
    return done;
}

/* What the slot of a test holds; false where the chunk has no such slot. Only an equality looks up a variable as its name. */
static bool find_slot(const struct matcher *matcher, const struct mdf_chunk *chunk, const struct test *test,
                      struct mdf_span *value)
{
    struct mdf_span name = test->slot.name;

    if (chunk->object == NULL) {
        return false;
    }
    switch (test->slot.kind) {
    case SLOT_AT:
        return chunk->has_words && mdf_chunk_slot(chunk->object, test->slot.position, value);
    case SLOT_NAMED_BY_VARIABLE:
        return (test->kind == TEST_EQUALS || test->kind == TEST_BINDS) && find_bound(matcher, test->slot.name, &name) &&
               find_named(chunk, name, value);
    default:
        return find_named(chunk, name, value);
    }
}

/* Literals, and the first meeting of each variable. */
static bool passes_first(struct matcher *matcher, const struct mdf_chunk *chunk, const struct test *test)
{
    struct mdf_span value, bound;

    switch (test->kind) {
    case TEST_EQUALS:
        return find_slot(matcher, chunk, test, &value) && mdf_span_equal(test->text, value);
    case TEST_DIFFERS:
        return find_slot(matcher, chunk, test, &value) && !mdf_span_equal(test->text, value);
    case TEST_BINDS:
        return find_bound(matcher, test->text, &bound) ||
               (test->slot.kind != SLOT_NAMED_BY_VARIABLE && find_slot(matcher, chunk, test, &value) &&
                append_text(matcher, test->text) && append_text(matcher, value));
    default:
        return true;
    }
}

/* What depends on variables that may be bound further on. */
static bool passes_second(const struct matcher *matcher, const struct mdf_chunk *chunk, const struct test *test)
{
    struct mdf_span value, bound;

    switch (test->kind) {
    case TEST_BINDS:
        return find_slot(matcher, chunk, test, &value) && find_bound(matcher, test->text, &bound) && mdf_span_equal(bound, value);
    case TEST_DIFFERS_FROM_BOUND:
        return find_slot(matcher, chunk, test, &value) && find_bound(matcher, test->text, &bound) &&
               !mdf_span_equal(bound, value);
    default:
        return true;
    }
}

bool mdf_match_patterns(struct mdf_call *call, const struct mdf_match *matches, size_t n, struct mdf_value *bindings,
                        bool *is_match)
{
    struct matcher matcher = {call, bindings, false};
    struct test test;

    *is_match = true;
    if (mdf_value_make_list(call->context->memory, bindings, 0) == NULL) {
        return mdf_call_out_of_memory(call);
    }
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < n && *is_match; i++) {
            struct reader reader = begin_reading(matches[i].pattern);

            while (*is_match && next_test(&reader, &test)) {
                *is_match = pass == 0 ? passes_first(&matcher, &matches[i].chunk, &test)
                                      : passes_second(&matcher, &matches[i].chunk, &test);
            }
        }
    }
    return !matcher.has_failed || mdf_call_out_of_memory(call);
}
