/* chunks.c - see chunks.h. Source: modeci_mdf.functions.actr of MDF 0.4.15, chunk_to_string and pattern_to_string. */
#include "functions/actr/chunks.h"
#include "mdf_c/base/text.h"

#include <string.h>

/* A chunk's name is no slot; the first entry of a pattern is the buffer that it is for. */
const struct mdf_words_of mdf_words_of_chunk = {0, "name"}, mdf_words_of_pattern = {1, NULL};

/* ------------------------------------------------------------------ spans */

struct mdf_span mdf_span_of(const char *text)
{
    return (struct mdf_span){text, strlen(text)};
}

struct mdf_span mdf_span_of_value(const struct mdf_value *string)
{
    struct mdf_span span;

    span.bytes = mdf_python_text(string, &span.length);
    return span;
}

bool mdf_span_equal(struct mdf_span a, struct mdf_span b)
{
    return a.length == b.length && memcmp(a.bytes, b.bytes, a.length) == 0;
}

/* ------------------------------------------------------------------ objects */

const struct mdf_value *mdf_object_find(const struct mdf_value *object, struct mdf_span key)
{
    for (size_t i = 0; i < object->length; i++) {
        if (mdf_span_equal(mdf_span_of_value(mdf_object_key(object, i)), key)) {
            return mdf_object_value(object, i);
        }
    }
    return NULL;
}

const struct mdf_value *mdf_object_need(struct mdf_call *call, const struct mdf_value *object, const char *what, const char *key)
{
    const struct mdf_value *value = mdf_object_find(object, mdf_span_of(key));

    if (value == NULL) {
        mdf_call_error(call, MDF_VALUE, "%s has no entry '%s'", what, key);
    }
    return value;
}

bool mdf_object_is_empty(const struct mdf_value *value)
{
    return value->kind == MDF_KIND_DICT && value->length == 0;
}

bool mdf_check_object(struct mdf_call *call, const struct mdf_value *value, const char *what)
{
    char text[MDF_PYTHON_KIND_TEXT_SIZE];

    return value->kind == MDF_KIND_DICT ||
           mdf_call_error(call, MDF_TYPE, "%s is %s, not an object", what, mdf_python_kind(value, text));
}

bool mdf_check_objects(struct mdf_call *call, const struct mdf_value *value, const char *what)
{
    char text[MDF_PYTHON_KIND_TEXT_SIZE];

    if (value->kind == MDF_KIND_TENSOR && value->rank > 0 && value->length == 0) {
        return true; /* an empty list, which can be an array as well */
    }
    if (value->kind != MDF_KIND_LIST) {
        return mdf_call_error(call, MDF_TYPE, "%s is %s, not a list of objects", what, mdf_python_kind(value, text));
    }
    for (size_t i = 0; i < value->length; i++) {
        if (mdf_value_items(value)[i].kind != MDF_KIND_DICT) {
            return mdf_call_error(call, MDF_TYPE, "item %zu of %s is %s, not an object", i, what,
                                  mdf_python_kind(&mdf_value_items(value)[i], text));
        }
    }
    return true;
}

bool mdf_object_begin(struct mdf_object_maker *maker, struct mdf_call *call, struct mdf_value *target, size_t capacity)
{
    *maker = (struct mdf_object_maker){call, target, capacity};
    if (capacity > MDF_ACTR_MOST_ENTRIES) {
        return mdf_call_error(call, MDF_LIMIT, "an object of more than %d entries", MDF_ACTR_MOST_ENTRIES);
    }
    if (mdf_value_make_dict(call->context->memory, target, capacity) == NULL) {
        return mdf_call_out_of_memory(call);
    }
    target->length = 0;
    return true;
}

bool mdf_object_put(struct mdf_object_maker *maker, const struct mdf_value *key, const struct mdf_value *value)
{
    struct mdf_memory *memory = maker->call->context->memory;
    struct mdf_value *items = maker->object->data;
    struct mdf_span name = mdf_span_of_value(key);
    size_t i;

    for (i = 0; i < maker->object->length && !mdf_span_equal(mdf_span_of_value(&items[2 * i]), name); i++) {
    }
    if (i == maker->capacity) {
        return mdf_call_error(maker->call, MDF_LIMIT, "the object has more than %zu entries", i);
    }
    if (i == maker->object->length) {
        if (!mdf_value_share(memory, &items[2 * i], key)) {
            return mdf_call_out_of_memory(maker->call);
        }
        maker->object->length++;
    }
    return mdf_value_share(memory, &items[2 * i + 1], value) || mdf_call_out_of_memory(maker->call);
}

bool mdf_object_put_all(struct mdf_object_maker *maker, const struct mdf_value *source)
{
    for (size_t i = 0; i < source->length; i++) {
        if (!mdf_object_put(maker, mdf_object_key(source, i), mdf_object_value(source, i))) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ words */

/* Whether entry `i` of an object belongs to its text. */
static bool is_of_text(const struct mdf_value *object, struct mdf_words_of which, size_t i)
{
    return i >= which.first &&
           (which.left_out == NULL || !mdf_span_equal(mdf_span_of_value(mdf_object_key(object, i)), mdf_span_of(which.left_out)));
}

bool mdf_check_words(struct mdf_call *call, const struct mdf_value *object, const char *what, struct mdf_words_of which)
{
    char text[MDF_PYTHON_KIND_TEXT_SIZE];

    if (!mdf_check_object(call, object, what)) {
        return false;
    }
    for (size_t i = which.first; i < object->length; i++) {
        if (is_of_text(object, which, i) && !mdf_python_is_string(mdf_object_value(object, i))) {
            return mdf_call_error(call, MDF_TYPE, "entry '%s' of %s is %s, not a string",
                                  mdf_span_of_value(mdf_object_key(object, i)).bytes, what,
                                  mdf_python_kind(mdf_object_value(object, i), text));
        }
    }
    return true;
}

bool mdf_join_words(struct mdf_call *call, const struct mdf_value *object, struct mdf_words_of which, bool is_pattern)
{
    const char *separator = "";
    struct mdf_text text;
    bool made;

    mdf_text_init(&text, call->context->memory);
    for (size_t i = which.first; i < object->length; i++) {
        struct mdf_span value = mdf_span_of_value(mdf_object_value(object, i));

        if (!is_of_text(object, which, i)) {
            continue;
        }
        mdf_text_append_string(&text, separator);
        for (size_t k = 0; k < value.length; k++) {
            char character = is_pattern ? mdf_pattern_character(value, k) : value.bytes[k];

            mdf_text_append(&text, &character, 1);
        }
        separator = " ";
    }
    made =
        !text.failed && mdf_python_make_string(call, mdf_call_target(call, 0), text.bytes != NULL ? text.bytes : "", text.length);
    mdf_text_release(&text);
    return made || mdf_call_out_of_memory(call);
}

static bool is_white(char character)
{
    return character == ' ' || (character >= '\t' && character <= '\r') || (character >= '\x1c' && character <= '\x1f');
}

static void skip(struct mdf_span *span, size_t n)
{
    span->bytes += n;
    span->length -= n;
}

struct mdf_words mdf_words_begin(const struct mdf_value *object, struct mdf_words_of which)
{
    return (struct mdf_words){object, which, which.first, {"", 0}};
}

bool mdf_words_next(struct mdf_words *words, struct mdf_span *word)
{
    for (;;) {
        while (words->rest.length > 0 && is_white(words->rest.bytes[0])) {
            skip(&words->rest, 1);
        }
        if (words->rest.length > 0) {
            break;
        }
        while (words->entry < words->object->length && !is_of_text(words->object, words->which, words->entry)) {
            words->entry++;
        }
        if (words->entry >= words->object->length) {
            return false;
        }
        words->rest = mdf_span_of_value(mdf_object_value(words->object, words->entry++));
    }
    *word = (struct mdf_span){words->rest.bytes, 0};
    while (words->rest.length > 0 && !is_white(words->rest.bytes[0])) {
        skip(&words->rest, 1);
        word->length++;
    }
    return true;
}

char mdf_pattern_character(struct mdf_span word, size_t i)
{
    char character = word.bytes[i];

    if (character == '=') {
        return '?';
    }
    return character == '-' && i + 1 < word.length && word.bytes[i + 1] == '=' ? '!' : character;
}
