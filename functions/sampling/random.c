/* random.c - see random.h. The generators: generators_routine.inc. */
#include "functions/kernel/call.h"
#include "functions/sampling/random.h"
#include "functions/sampling/seed_several.h"

#include <math.h>
#include <string.h>

#define INLINE
#include "functions/sampling/generators_routine.inc"
#undef INLINE

/* ------------------------------------------------------------------ as Python draws */

/* `n_bits` random bits, 1 to 64, the first 32 lowest, as Python's getrandbits. */
static uint64_t draw_bits(struct mdf_twister *twister, int n_bits)
{
    uint64_t low;

    if (n_bits <= 32) {
        return mdf_twister_bits(twister) >> (32 - n_bits);
    }
    low = mdf_twister_bits(twister);
    return low | (uint64_t)(mdf_twister_bits(twister) >> (64 - n_bits)) << 32;
}

uint64_t mdf_twister_below(struct mdf_twister *twister, uint64_t n)
{
    uint64_t drawn;
    int n_bits = 0;

    while (n_bits < 64 && n >> n_bits != 0) {
        n_bits++;
    }
    do {
        drawn = draw_bits(twister, n_bits);
    } while (drawn >= n);
    return drawn;
}

/* ------------------------------------------------------------------ several at once */

enum { ABREAST = 8 }; /* chains of operations of which each waits for the one before */

/* mdf_twister_fill_from_key with two words, of several. `words` begin as mdf_twister_fill left them. */
static void fill_abreast(struct mdf_twister *const *twisters, const uint64_t *seeds)
{
    uint32_t last[ABREAST], i = 1;

    for (uint32_t t = 0; t < ABREAST; t++) {
        last[t] = twisters[t]->words[0];
    }
    for (uint32_t k = 0; k < MDF_TWISTER_WORDS; k++) {
        for (uint32_t t = 0; t < ABREAST; t++) {
            uint32_t key = k % 2 == 0 ? (uint32_t)seeds[t] : (uint32_t)(seeds[t] >> 32);

            last[t] = (twisters[t]->words[i] ^ ((last[t] ^ (last[t] >> 30)) * UINT32_C(1664525))) + key + k % 2;
            twisters[t]->words[i] = last[t];
        }
        i = i + 1 < MDF_TWISTER_WORDS ? i + 1 : 1; /* the first takes what the last one is, which is what `last` is, too */
    }
    for (uint32_t k = 0; k < MDF_TWISTER_WORDS - 1; k++) {
        for (uint32_t t = 0; t < ABREAST; t++) {
            last[t] = (twisters[t]->words[i] ^ ((last[t] ^ (last[t] >> 30)) * UINT32_C(1566083941))) - i;
            twisters[t]->words[i] = last[t];
        }
        i = i + 1 < MDF_TWISTER_WORDS ? i + 1 : 1; /* the first takes what the last one is, which is what `last` is, too */
    }
    for (uint32_t t = 0; t < ABREAST; t++) {
        twisters[t]->words[0] = UINT32_C(0x80000000);
    }
}

void mdf_twisters_seed_as_numpy(struct mdf_twister *const *twisters, const uint64_t *seeds, size_t n)
{
    struct mdf_twister first;
    size_t i, j, n_long = 0;

    mdf_twister_fill(&first, UINT32_C(19650218));
    for (i = 0; i + ABREAST <= n; i += ABREAST) {
        for (j = 0, n_long = 0; j < ABREAST; j++) {
            n_long += seeds[i + j] > UINT32_MAX;
        }
        for (j = 0; j < ABREAST && n_long == ABREAST; j++) {
            *twisters[i + j] = first;
        }
        if (n_long < ABREAST) {
            break;
        }
        fill_abreast(twisters + i, seeds + i);
    }
    for (; i < n; i++) {
        mdf_twister_seed_as_numpy(twisters[i], seeds[i]);
    }
}

/* ------------------------------------------------------------------ the Twisters of an evaluation */

struct mdf_twister *mdf_random_as_numpy(struct mdf_context *context)
{
    if (!context->numpy_random.is_seeded) {
        mdf_twister_seed_as_numpy(&context->numpy_random, context->seed);
    }
    return &context->numpy_random;
}

struct mdf_twister *mdf_random_as_python(struct mdf_context *context)
{
    if (!context->python_random.is_seeded) {
        mdf_twister_seed_as_python(&context->python_random, context->seed);
    }
    return &context->python_random;
}

/* ------------------------------------------------------------------ streams */

static void begin_stream(struct mdf_stream *stream, uint32_t seed, const struct mdf_stream_start *start)
{
    bool has_start = start != NULL && start->seed == seed;

    mdf_stream_begin(stream, seed, has_start ? start->n_drawn : 0, has_start ? start->normal : (double)NAN);
}

struct mdf_twister *mdf_random_stream(struct mdf_context *context, size_t number, uint32_t seed,
                                      const struct mdf_stream_start *start)
{
    size_t n = context->n_streams;

    if (number >= n) {
        struct mdf_stream *streams = mdf_memory_grow(context->memory, context->streams, &n, number + 1, sizeof *streams);

        if (streams == NULL) {
            mdf_memory_error(context->memory, &context->error);
            return NULL;
        }
        context->streams = streams;
        for (; context->n_streams < n; context->n_streams++) {
            streams[context->n_streams].has_begun = false;
        }
    }
    if (!context->streams[number].has_begun || context->streams[number].seed != seed) {
        begin_stream(&context->streams[number], seed, context->streams[number].has_begun ? NULL : start);
    }
    return &context->streams[number].twister;
}

/* All streams are to begin again. */
static void forget_streams(struct mdf_context *context)
{
    for (size_t i = 0; i < context->n_streams; i++) {
        context->streams[i].has_begun = false;
    }
}

void mdf_random_begin(struct mdf_context *context, uint64_t seed)
{
    context->seed = seed;
    mdf_random_seed(context->random_state, seed);
    context->numpy_random.is_seeded = context->python_random.is_seeded = false;
    forget_streams(context);
}

bool mdf_random_copy(struct mdf_context *target, const struct mdf_context *source)
{
    size_t capacity = target->n_streams;

    if (target->n_streams < source->n_streams) {
        struct mdf_stream *streams =
            mdf_memory_grow(target->memory, target->streams, &capacity, source->n_streams, sizeof *streams);

        if (streams == NULL) {
            return false;
        }
        target->streams = streams;
        target->n_streams = capacity;
    }
    forget_streams(target);
    if (source->n_streams > 0) {
        memcpy(target->streams, source->streams, source->n_streams * sizeof *source->streams);
    }
    target->seed = source->seed;
    memcpy(target->random_state, source->random_state, sizeof source->random_state);
    target->numpy_random = source->numpy_random;
    target->python_random = source->python_random;
    return true;
}

void mdf_random_release_streams(struct mdf_context *context)
{
    mdf_memory_release(context->memory, context->streams);
    context->streams = NULL;
    context->n_streams = 0;
}
