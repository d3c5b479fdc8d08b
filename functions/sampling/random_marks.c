/* random_marks.c - see random_marks.h. Marks are made before each of many short runs, of which each draws few of the words that a
 * Twister has: only these are copied. */
#include "functions/sampling/random_marks.h"

#include <string.h>

/* Whether `from` is as `to` but for words that it has drawn since, fewer than all: those that it draws next are the same. */
static bool has_gone_on(const struct mdf_twister *to, const struct mdf_twister *from)
{
    enum { TELLING = 4 }; /* words of 32 bits */

    for (uint32_t i = 0; i < TELLING; i++) {
        uint32_t next = (from->n_used + i) % MDF_TWISTER_WORDS;

        if (to->words[next] != from->words[next]) {
            return false;
        }
    }
    return to->is_seeded;
}

/* Words [first, end). */
static void copy_words(struct mdf_twister *to, const struct mdf_twister *from, uint32_t first, uint32_t end)
{
    memcpy(to->words + first, from->words + first, (end - first) * sizeof *to->words);
}

static void copy_twister(struct mdf_twister *to, const struct mdf_twister *from)
{
    uint32_t first = to->n_used % MDF_TWISTER_WORDS, end = from->n_used % MDF_TWISTER_WORDS;

    if (from->is_seeded && !has_gone_on(to, from)) {
        copy_words(to, from, 0, MDF_TWISTER_WORDS);
    } else if (from->is_seeded && first <= end) {
        copy_words(to, from, first, end);
    } else if (from->is_seeded) {
        copy_words(to, from, first, MDF_TWISTER_WORDS);
        copy_words(to, from, 0, end);
    }
    to->n_used = from->n_used;
    to->is_seeded = from->is_seeded;
    to->has_normal = from->has_normal;
    to->normal = from->normal;
}

static void copy_stream(struct mdf_stream *to, const struct mdf_stream *from)
{
    to->has_begun = from->has_begun;
    if (from->has_begun) {
        to->seed = from->seed;
        copy_twister(&to->twister, &from->twister);
    }
}

static bool make_room(struct mdf_random_marks *marks, struct mdf_memory *memory, size_t n_streams)
{
    size_t n = marks->capacity;
    struct mdf_stream *streams;

    if (n_streams <= n) {
        return true;
    }
    streams = mdf_memory_grow(memory, marks->streams, &n, n_streams, sizeof *streams);
    if (streams == NULL) {
        return false;
    }
    memset(streams + marks->capacity, 0, (n - marks->capacity) * sizeof *streams);
    marks->streams = streams;
    marks->capacity = n;
    return true;
}

bool mdf_random_mark(struct mdf_random_marks *marks, const struct mdf_context *context)
{
    if (!make_room(marks, context->memory, context->n_streams)) {
        return false;
    }
    memcpy(marks->random_state, context->random_state, sizeof marks->random_state);
    copy_twister(&marks->numpy_random, &context->numpy_random);
    copy_twister(&marks->python_random, &context->python_random);
    marks->n_streams = context->n_streams;
    for (size_t i = 0; i < marks->n_streams; i++) {
        copy_stream(&marks->streams[i], &context->streams[i]);
    }
    return true;
}

void mdf_random_return(const struct mdf_random_marks *marks, struct mdf_context *context)
{
    memcpy(context->random_state, marks->random_state, sizeof context->random_state);
    copy_twister(&context->numpy_random, &marks->numpy_random);
    copy_twister(&context->python_random, &marks->python_random);
    for (size_t i = 0; i < context->n_streams; i++) {
        if (i < marks->n_streams) {
            copy_stream(&context->streams[i], &marks->streams[i]);
        } else {
            context->streams[i].has_begun = false;
        }
    }
}

void mdf_random_marks_release(struct mdf_random_marks *marks, struct mdf_memory *memory)
{
    mdf_memory_release(memory, marks->streams);
    marks->streams = NULL;
    marks->capacity = marks->n_streams = 0;
}
