/* bodies.h - what the files of bodies share: the forms of a body, and functions. */
#ifndef BENCH_BODIES_H
#define BENCH_BODIES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define BODY(name) void name(const void *const *restrict in, void *const *restrict out)
#define IN(type, name, k) const type *restrict name = in[k]
#define STATE(type, name, k, n)   \
    type *restrict name = out[k]; \
    memcpy(name, in[k], (n) * sizeof(type))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* exp within 2 units in the last place, in a form that compilers make vectors of. */
static inline float fast_exp(float x)
{
    float y = MIN(MAX(x, -87.0f), 88.0f), n = y * 1.44269504f + 12582912.0f, r, p; /* 1.5 * 2^23: rounds to a whole number */
    int32_t bits;

    memcpy(&bits, &n, sizeof bits);
    n -= 12582912.0f;
    r = y - n * 0.693359375f + n * 2.12194440e-4f;
    p = ((((1.9875691500e-4f * r + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f) * r + 1.6666665459e-1f) * r;
    p = (p + 5.0000001201e-1f) * r * r + r + 1.0f;
    bits = (bits - 0x4B400000 + 127) << 23;
    memcpy(&r, &bits, sizeof r);
    return p * r;
}

static inline float sigmoid(float x)
{
    return 1 / (1 + fast_exp(-x));
}

#endif
