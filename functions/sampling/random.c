/* random.c - see random.h. Sources: Blackman and Vigna, Scrambled linear pseudorandom number generators (2018); Matsumoto and
 * Nishimura, Mersenne Twister: a 623-dimensionally equidistributed uniform pseudo-random number generator (1998), and their
 * initialisation of 2002; G. Marsaglia and T. A. Bray, A convenient method for generating normal variables (1964); the
 * documentation of numpy.random.RandomState, whose stream is frozen, and of Python's random. */
#include "functions/kernel/call.h"
#include "functions/sampling/random.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ xoshiro256** */

/* One step of splitmix64. */
static uint64_t split_mix(uint64_t *counter)
{
    uint64_t bits = *counter += UINT64_C(0x9e3779b97f4a7c15);

    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return bits ^ (bits >> 31);
}

void mdf_random_seed(uint64_t state[4], uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        state[i] = split_mix(&seed);
    }
}

static uint64_t rotate_left(uint64_t bits, int count)
{
    return (bits << count) | (bits >> (64 - count));
}

uint64_t mdf_random_bits(uint64_t state[4])
{
    uint64_t result = rotate_left(state[1] * 5, 7) * 9, shifted = state[1] << 17;

    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = rotate_left(state[3], 45);
    return result;
}

double mdf_random_uniform(uint64_t state[4])
{
    return (double)(mdf_random_bits(state) >> 11) * 0x1p-53;
}

double mdf_random_normal(uint64_t state[4])
{
    double x, y, square;

    /* The second deviate that the method gives is dropped: kept, it would be state beyond the generator's. A state that was
     * never seeded is all zeros and stays so; then every point is (-1, -1), and the loop would not end. */
    do {
        x = 2 * mdf_random_uniform(state) - 1;
        y = 2 * mdf_random_uniform(state) - 1;
        square = x * x + y * y;
    } while ((square >= 1 || square <= 0) && (state[0] | state[1] | state[2] | state[3]) != 0);
    return square < 1 && square > 0 ? x * sqrt(-2 * log(square) / square) : 0;
}

/* ------------------------------------------------------------------ Mersenne Twister */

enum { TWISTER_SHIFT = 397 };

static void fill_words(struct mdf_twister *twister, uint32_t seed)
{
    uint32_t i;

    *twister = (struct mdf_twister){.n_used = MDF_TWISTER_WORDS, .is_seeded = true};
    twister->words[0] = seed;
    for (i = 1; i < MDF_TWISTER_WORDS; i++) {
        twister->words[i] = UINT32_C(1812433253) * (twister->words[i - 1] ^ (twister->words[i - 1] >> 30)) + i;
    }
}

/* Advances to the next word but the first, which the last one overwrites when it is passed. */
static uint32_t advance(struct mdf_twister *twister, uint32_t i)
{
    if (i + 1 < MDF_TWISTER_WORDS) {
        return i + 1;
    }
    twister->words[0] = twister->words[MDF_TWISTER_WORDS - 1];
    return 1;
}

static void fill_words_from_key(struct mdf_twister *twister, const uint32_t *key, uint32_t n)
{
    uint32_t *words = twister->words, i = 1, j = 0, k;

    fill_words(twister, UINT32_C(19650218));
    for (k = 0; k < MDF_TWISTER_WORDS; k++) {
        words[i] = (words[i] ^ ((words[i - 1] ^ (words[i - 1] >> 30)) * UINT32_C(1664525))) + key[j] + j;
        i = advance(twister, i);
        j = (j + 1) % n;
    }
    for (k = 0; k < MDF_TWISTER_WORDS - 1; k++) {
        words[i] = (words[i] ^ ((words[i - 1] ^ (words[i - 1] >> 30)) * UINT32_C(1566083941))) - i;
        i = advance(twister, i);
    }
    words[0] = UINT32_C(0x80000000);
}

void mdf_twister_seed_as_numpy(struct mdf_twister *twister, uint64_t seed)
{
    if (seed <= UINT32_MAX) {
        fill_words(twister, (uint32_t)seed);
    } else {
        fill_words_from_key(twister, (uint32_t[]){(uint32_t)seed, (uint32_t)(seed >> 32)}, 2);
    }
}

void mdf_twister_seed_as_python(struct mdf_twister *twister, uint64_t seed)
{
    fill_words_from_key(twister, (uint32_t[]){(uint32_t)seed, (uint32_t)(seed >> 32)}, seed <= UINT32_MAX ? 1 : 2);
}

/* All words anew. */
static void twist(struct mdf_twister *twister)
{
    uint32_t *words = twister->words, i;

    for (i = 0; i < MDF_TWISTER_WORDS; i++) {
        uint32_t joined = (words[i] & UINT32_C(0x80000000)) | (words[(i + 1) % MDF_TWISTER_WORDS] & UINT32_C(0x7fffffff));

        words[i] = words[(i + TWISTER_SHIFT) % MDF_TWISTER_WORDS] ^ (joined >> 1) ^ ((joined & 1) * UINT32_C(0x9908b0df));
    }
    twister->n_used = 0;
}

uint32_t mdf_twister_bits(struct mdf_twister *twister)
{
    uint32_t bits;

    if (twister->n_used >= MDF_TWISTER_WORDS) {
        twist(twister);
    }
    bits = twister->words[twister->n_used++];
    bits ^= bits >> 11;
    bits ^= (bits << 7) & UINT32_C(0x9d2c5680);
    bits ^= (bits << 15) & UINT32_C(0xefc60000);
    return bits ^ (bits >> 18);
}

double mdf_twister_uniform(struct mdf_twister *twister)
{
    uint32_t high = mdf_twister_bits(twister) >> 5, low = mdf_twister_bits(twister) >> 6;

    return (high * 67108864.0 + low) * 0x1p-53;
}

double mdf_twister_normal(struct mdf_twister *twister)
{
    double x, y, square, factor;

    if (twister->has_normal) {
        twister->has_normal = false;
        return twister->normal;
    }
    do {
        x = 2 * mdf_twister_uniform(twister) - 1;
        y = 2 * mdf_twister_uniform(twister) - 1;
        square = x * x + y * y;
    } while (square >= 1 || square <= 0);
    factor = sqrt(-2 * log(square) / square);
    twister->normal = factor * x;
    twister->has_normal = true;
    return factor * y;
}

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

/* ------------------------------------------------------------------ distributions, as numpy.random.RandomState draws them */

double mdf_twister_exponential(struct mdf_twister *twister)
{
    return -log(1 - mdf_twister_uniform(twister));
}

/* By rejection from two pieces, for a shape below 1: J. H. Ahrens and U. Dieter (1974). */
static double draw_small_gamma(struct mdf_twister *twister, double shape)
{
    for (;;) {
        double uniform = mdf_twister_uniform(twister), exponential = mdf_twister_exponential(twister), rest, drawn;

        if (uniform <= 1 - shape) {
            drawn = pow(uniform, 1 / shape);
            rest = 0;
        } else {
            rest = -log((1 - uniform) / shape);
            drawn = pow(1 - shape + shape * rest, 1 / shape);
        }
        if (drawn <= exponential + rest) {
            return drawn;
        }
    }
}

/* From a normal deviate, for a shape above 1: G. Marsaglia and W. W. Tsang (2000). */
static double draw_large_gamma(struct mdf_twister *twister, double shape)
{
    double b = shape - 1. / 3, c = 1 / sqrt(9 * b);

    for (;;) {
        double normal, cube, uniform;

        do {
            normal = mdf_twister_normal(twister);
            cube = 1 + c * normal;
        } while (cube <= 0);
        cube = cube * cube * cube;
        uniform = mdf_twister_uniform(twister);
        if (uniform < 1 - 0.0331 * (normal * normal) * (normal * normal) ||
            log(uniform) < 0.5 * normal * normal + b * (1 - cube + log(cube))) {
            return b * cube;
        }
    }
}

double mdf_twister_gamma(struct mdf_twister *twister, double shape)
{
    if (shape == 1) {
        return mdf_twister_exponential(twister);
    }
    return shape == 0 ? 0 : shape < 1 ? draw_small_gamma(twister, shape) : draw_large_gamma(twister, shape);
}

double mdf_twister_wald(struct mdf_twister *twister, double mean, double scale)
{
    double normal = mdf_twister_normal(twister), square = mean * normal * normal;
    double drawn = mean + mean / (2 * scale) * (square - sqrt(4 * scale * square + square * square));

    return mdf_twister_uniform(twister) <= mean / (mean + drawn) ? drawn : mean * mean / drawn;
}

/* By inversion, of one trial; numpy inverts the likelier of p and 1 - p, and draws again what rounding leaves over. */
bool mdf_twister_happens(struct mdf_twister *twister, double p)
{
    double rare = p <= 0.5 ? p : 1 - p, none = exp(log(1 - rare)), uniform;

    if (p == 0) {
        return false;
    }
    do {
        uniform = mdf_twister_uniform(twister);
    } while (uniform > none && uniform - none > rare * none / (1 - rare));
    return (uniform > none) == (p <= 0.5);
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

    *stream = (struct mdf_stream){.seed = seed, .has_begun = true};
    mdf_twister_seed_as_python(&stream->twister, seed);
    for (uint64_t i = 0; has_start && i < start->n_drawn; i++) {
        mdf_twister_bits(&stream->twister);
    }
    if (has_start && !isnan(start->normal)) {
        stream->twister.has_normal = true;
        stream->twister.normal = start->normal;
    }
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
    mdf_random_forget_streams(target);
    if (source->n_streams > 0) {
        memcpy(target->streams, source->streams, source->n_streams * sizeof *source->streams);
    }
    target->seed = source->seed;
    memcpy(target->random_state, source->random_state, sizeof source->random_state);
    target->numpy_random = source->numpy_random;
    target->python_random = source->python_random;
    return true;
}

void mdf_random_forget_streams(struct mdf_context *context)
{
    for (size_t i = 0; i < context->n_streams; i++) {
        context->streams[i].has_begun = false;
    }
}

void mdf_random_release_streams(struct mdf_context *context)
{
    mdf_memory_release(context->memory, context->streams);
    context->streams = NULL;
    context->n_streams = 0;
}
