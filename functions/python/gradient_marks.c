/* gradient_marks.c - where the random generators of an evaluation are, as a value: what ways back of loops and branches
 * (mdf_c/plan/gradient/gradient_draws.c) go back to, to draw the same numbers again.
 *
 * Comes in, or goes out: a row of whole numbers of 64 bits. First the state of xoshiro256**, then the Mersenne Twisters of numpy
 * and of Python, then streams, as many as there may be. */
#include "functions/kernel/derivatives.h"
#include "functions/python/gradients.h"

#include <string.h>

enum { XOSHIRO_WORDS = 4, TWISTER_WORDS = MDF_TWISTER_WORDS / 2 + 2, STREAM_WORDS = TWISTER_WORDS + 1 };

static size_t count_words(size_t n_streams)
{
    return XOSHIRO_WORDS + 2 * (size_t)TWISTER_WORDS + n_streams * STREAM_WORDS;
}

static void write_twister(int64_t *words, const struct mdf_twister *twister)
{
    if (!twister->is_seeded) {
        memset(words, 0, TWISTER_WORDS * sizeof *words);
        return;
    }
    memcpy(words, twister->words, sizeof twister->words);
    memcpy(words + TWISTER_WORDS - 1, &twister->normal, sizeof twister->normal);
    words[TWISTER_WORDS - 2] = (int64_t)twister->n_used * 4 + (twister->has_normal ? 2 : 0) + 1;
}

static void read_twister(const int64_t *words, struct mdf_twister *twister)
{
    int64_t facts = words[TWISTER_WORDS - 2];

    twister->is_seeded = (facts & 1) != 0;
    if (twister->is_seeded) {
        memcpy(twister->words, words, sizeof twister->words);
        memcpy(&twister->normal, words + TWISTER_WORDS - 1, sizeof twister->normal);
        twister->has_normal = (facts & 2) != 0;
        twister->n_used = (uint32_t)(facts / 4);
    }
}

/* Streams that something was drawn from: there may be room for more. */
static size_t count_begun(const struct mdf_context *context)
{
    size_t n = context->n_streams;

    while (n > 0 && !context->streams[n - 1].has_begun) {
        n--;
    }
    return n;
}

/* The settings are how many streams there may be. */
static bool run_mark(struct mdf_call *call)
{
    const struct mdf_gradient_mark *settings = call->settings;
    const struct mdf_context *context = call->context;
    size_t n_streams = settings != NULL ? settings->n_streams : 0, n_begun = count_begun(context);
    int64_t n = (int64_t)count_words(n_streams), *words;

    if (n_begun > n_streams) {
        return mdf_call_error(call, MDF_VALUE, "random numbers of %zu streams are to be drawn again, not of %zu", n_begun,
                              n_streams);
    }
    words = mdf_python_make(call, mdf_call_target(call, 0), MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, 1, &n);
    if (words == NULL) {
        return false;
    }
    memcpy(words, context->random_state, sizeof context->random_state);
    write_twister(words + XOSHIRO_WORDS, &context->numpy_random);
    write_twister(words + XOSHIRO_WORDS + TWISTER_WORDS, &context->python_random);
    memset(words + count_words(0), 0, (count_words(n_streams) - count_words(0)) * sizeof *words);
    for (size_t i = 0; i < n_begun; i++) {
        const struct mdf_stream *stream = &context->streams[i];

        if (stream->has_begun) {
            words[count_words(i)] = (int64_t)stream->seed * 2 + 1;
            write_twister(words + count_words(i) + 1, &stream->twister);
        }
    }
    return true;
}

static void read_stream(const int64_t *words, struct mdf_stream *stream)
{
    stream->has_begun = (words[0] & 1) != 0;
    if (stream->has_begun) {
        stream->seed = (uint32_t)(words[0] / 2);
        read_twister(words + 1, &stream->twister);
    }
}

/* "mark": what is drawn next is what was drawn behind it. */
static bool run_draw_again(struct mdf_call *call)
{
    const struct mdf_value *mark = mdf_call_tensor(call, 0);
    struct mdf_context *context = call->context;
    size_t n_begun = count_begun(context);
    const int64_t *words;
    int64_t *done;

    if (mark == NULL) {
        return false;
    }
    if (mark->dtype != MDF_DTYPE_INT64 || mark->length < count_words(n_begun)) {
        return mdf_call_error(call, MDF_VALUE, "this is no mark of random numbers");
    }
    words = mark->data;
    memcpy(context->random_state, words, sizeof context->random_state);
    read_twister(words + XOSHIRO_WORDS, &context->numpy_random);
    read_twister(words + XOSHIRO_WORDS + TWISTER_WORDS, &context->python_random);
    for (size_t i = 0; i < n_begun; i++) { /* what began behind the mark has not begun again */
        read_stream(words + count_words(i), &context->streams[i]);
    }
    done = mdf_python_make(call, mdf_call_target(call, 0), MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, 0, NULL);
    if (done != NULL) {
        *done = 1;
    }
    return done != NULL;
}

const struct mdf_operator mdf_operators_python_gradient_marks[] = {
    MDF_FUNCTION("gradient.mark_draws", run_mark, MDF_OPERATOR_RANDOM, "", .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("gradient.draw_again", run_draw_again, MDF_OPERATOR_RANDOM, "mark", .derivatives = mdf_derivatives_flat),
    {NULL}};
