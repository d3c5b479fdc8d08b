/* random.c - see random.h. Source: Blackman and Vigna, Scrambled linear pseudorandom number generators (2018); G. Marsaglia
 * and T. A. Bray, A convenient method for generating normal variables (1964). */
#include "functions/random.h"

#include <math.h>

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
