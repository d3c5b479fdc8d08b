/* random.h - pseudo-random numbers, the same on every machine for the same seed.
 *
 * Generator: xoshiro256** 1.0 of D. Blackman and S. Vigna (period 2^256 - 1), its state filled by splitmix64 from a seed of
 * 64 bits. The state belongs to the caller: context->random_state of an evaluation, or one made from a node's `seed`. */
#ifndef MDF_FUNCTIONS_RANDOM_H
#define MDF_FUNCTIONS_RANDOM_H

#include <stdint.h>

/* Fills the state from a seed; any seed will do, 0 included. */
void mdf_random_seed(uint64_t state[4], uint64_t seed);
/* The next 64 random bits. */
uint64_t mdf_random_bits(uint64_t state[4]);
/* A multiple of 2^-53 in [0, 1), each equally likely. */
double mdf_random_uniform(uint64_t state[4]);
/* A normal deviate of mean 0 and variance 1, by Marsaglia's polar method. */
double mdf_random_normal(uint64_t state[4]);

#endif
