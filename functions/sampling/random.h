/* random.h - all pseudo-random numbers of the engine; the same on every machine for the same seed. See docs/random.md.
 *
 * Two generators. xoshiro256** 1.0 of D. Blackman and S. Vigna (period 2^256 - 1), its state filled by splitmix64 from a seed of
 * 64 bits: for whatever may draw as it likes. The Mersenne Twister MT19937 of M. Matsumoto and T. Nishimura: where the reference
 * draws from numpy.random or from Python's random, so that the same seed gives the same numbers.
 * States belong to the caller: those of an evaluation lie in its context, another is made from a node's `seed`. */
#ifndef MDF_FUNCTIONS_SAMPLING_RANDOM_H
#define MDF_FUNCTIONS_SAMPLING_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ------------------------------------------------------------------ xoshiro256** */

/* Fills the state from a seed; any seed will do, 0 included. */
void mdf_random_seed(uint64_t state[4], uint64_t seed);
/* The next 64 random bits. */
uint64_t mdf_random_bits(uint64_t state[4]);
/* A multiple of 2^-53 in [0, 1), each equally likely. */
double mdf_random_uniform(uint64_t state[4]);
/* A normal deviate of mean 0 and variance 1, by Marsaglia's polar method. */
double mdf_random_normal(uint64_t state[4]);

/* ------------------------------------------------------------------ Mersenne Twister */

enum { MDF_TWISTER_WORDS = 624 };

/* Zeroed, it has no seed yet. */
struct mdf_twister {
    uint32_t words[MDF_TWISTER_WORDS];
    uint32_t n_used; /* of the words */
    bool is_seeded;
    bool has_normal; /* `normal` is the second deviate of the pair that was drawn last */
    double normal;
};

/* As numpy.random.seed(seed) does; past 32 bits, which numpy refuses, as numpy.random.seed([seed % 2**32, seed // 2**32]). */
void mdf_twister_seed_as_numpy(struct mdf_twister *twister, uint64_t seed);
/* As Python's random.seed(seed) does; up to 32 bits that is numpy.random.RandomState([seed]) too. */
void mdf_twister_seed_as_python(struct mdf_twister *twister, uint64_t seed);
/* The next 32 random bits. */
uint32_t mdf_twister_bits(struct mdf_twister *twister);
/* A multiple of 2^-53 in [0, 1): numpy.random.random_sample(), and Python's random.random(). */
double mdf_twister_uniform(struct mdf_twister *twister);
/* numpy.random.standard_normal(). */
double mdf_twister_normal(struct mdf_twister *twister);
/* An integer in [0, n), n > 0: what Python's random.choice and random.randrange draw. */
uint64_t mdf_twister_below(struct mdf_twister *twister, uint64_t n);

/* What else numpy.random.RandomState draws, whose stream is frozen; each of these takes numbers of the Twister as that does. */
/* standard_exponential(). */
double mdf_twister_exponential(struct mdf_twister *twister);
/* standard_gamma(shape); shape >= 0. */
double mdf_twister_gamma(struct mdf_twister *twister, double shape);
/* wald(mean, scale); both > 0. */
double mdf_twister_wald(struct mdf_twister *twister, double mean, double scale);
/* binomial(1, p); p in [0, 1]. */
bool mdf_twister_happens(struct mdf_twister *twister, double p);

/* ------------------------------------------------------------------ the Twisters of an evaluation */

struct mdf_context;

/* The generator that stands for numpy.random, and for Python's random; seeded from the context's seed when first asked for. */
struct mdf_twister *mdf_random_as_numpy(struct mdf_context *context);
struct mdf_twister *mdf_random_as_python(struct mdf_context *context);

/* A Twister of one function's own, which goes on from call to call: a stream. */
struct mdf_stream {
    struct mdf_twister twister;
    uint32_t seed;
    bool has_begun;
};

/* How it begins where its first seed is the one said here: not at its first number, but as RandomState([seed]) is after it gave
 * n_drawn words of 32 bits. `normal` is the second deviate of a pair, if one is left; else it is NaN. */
struct mdf_stream_start {
    uint32_t seed;
    uint64_t n_drawn;
    double normal;
};

/* Stream number `number` of the evaluation. It begins when it is first asked for, and anew where its seed has become another one.
 * NULL with the error set: out of memory. `start` may be NULL. */
struct mdf_twister *mdf_random_stream(struct mdf_context *context, size_t number, uint32_t seed,
                                      const struct mdf_stream_start *start);
/* All generators of an evaluation begin from a seed. */
void mdf_random_begin(struct mdf_context *context, uint64_t seed);
/* All generators of an evaluation are where those of another are. False: out of memory. */
bool mdf_random_copy(struct mdf_context *target, const struct mdf_context *source);
void mdf_random_release_streams(struct mdf_context *context);

#endif
