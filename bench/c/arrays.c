/* arrays.c - steps over whole arrays, element by element. */
#include "handwritten.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* size: steps, elements. */
HANDWRITTEN(cumulative_sum)
{
    int64_t n_steps = size[0], n = size[1];
    const float *restrict rows = in[1];
    float *restrict sum = out[0], *restrict sums = out[1];

    memcpy(sum, in[0], (size_t)n * sizeof *sum);
    for (int64_t t = 0; t < n_steps; t++, rows += n, sums += n) {
        for (int64_t i = 0; i < n; i++) {
            sums[i] = sum[i] += rows[i];
        }
    }
}

/* size: steps, elements. Each row goes through all four filters. */
HANDWRITTEN(filters)
{
    enum { N_FILTERS = 4 };
    int64_t n_steps = size[0], n = size[1];
    const float *restrict rows = in[1];
    float *restrict made = out[1], *restrict states = malloc((size_t)(N_FILTERS * n) * sizeof *states);

    for (int k = 0; k < N_FILTERS; k++) {
        memcpy(states + k * n, in[0], (size_t)n * sizeof *states);
    }
    for (int64_t t = 0; t < n_steps; t++, rows += n, made += n) {
        for (int64_t i = 0; i < n; i++) {
            float row = rows[i];

            for (int k = 0; k < N_FILTERS; k++) {
                row = states[k * n + i] += (row - states[k * n + i]) * 0.125f;
            }
            made[i] = row;
        }
    }
    memcpy(out[0], states + (N_FILTERS - 1) * n, (size_t)n * sizeof *states);
    free(states);
}

/* size: steps, elements. */
HANDWRITTEN(map_and_fold)
{
    int64_t n_steps = size[0], n = size[1];
    const float *restrict rows = in[1];
    float *restrict total = out[0];

    memcpy(total, in[0], (size_t)n * sizeof *total);
    for (int64_t t = 0; t < n_steps; t++, rows += n) {
        for (int64_t i = 0; i < n; i++) {
            total[i] = total[i] * 0.9f + (rows[i] * rows[i] - rows[i]);
        }
    }
}

/* size: steps, elements. */
HANDWRITTEN(both_ways)
{
    int64_t n_steps = size[0], n = size[1];
    const float *restrict rows = in[1];
    float *restrict forward = out[0], *restrict backward = out[1];

    for (int64_t i = 0; i < n; i++) {
        float f = ((const float *)in[0])[i], b = f;

        for (int64_t t = 0; t < n_steps; t++) {
            int64_t back = (n_steps - 1 - t) * n + i;

            forward[t * n + i] = f = f * 0.9f + rows[t * n + i];
            backward[back] = b = b * 0.9f + rows[back];
        }
    }
}

/* size: steps, neurons. A few neurons go through all steps one by one, in registers. */
#define INTEGRATE_AND_FIRE(name, real)                                  \
    static inline void name##_step(real *v, real *n_spikes, real drive) \
    {                                                                   \
        real risen = *v + (drive - *v) * (real)0.05;                    \
                                                                        \
        *n_spikes += risen >= 1 ? (real)1 : (real)0;                    \
        *v = risen >= 1 ? (real)0 : risen;                              \
    }                                                                   \
                                                                        \
    HANDWRITTEN(name)                                                   \
    {                                                                   \
        int64_t n_steps = size[0], n = size[1];                         \
        const real *restrict input = in[2], *restrict bias = in[3];     \
        real *restrict v = out[0], *restrict n_spikes = out[1];         \
                                                                        \
        memcpy(v, in[0], (size_t)n * sizeof *v);                        \
        memcpy(n_spikes, in[1], (size_t)n * sizeof *n_spikes);          \
        for (int64_t i = 0; i < n && n < 8; i++) {                      \
            real v_i = v[i], spikes_i = n_spikes[i];                    \
                                                                        \
            for (int64_t t = 0; t < n_steps; t++) {                     \
                name##_step(&v_i, &spikes_i, bias[i] + input[t]);       \
            }                                                           \
            v[i] = v_i;                                                 \
            n_spikes[i] = spikes_i;                                     \
        }                                                               \
        for (int64_t t = 0; t < n_steps && n >= 8; t++) {               \
            for (int64_t i = 0; i < n; i++) {                           \
                name##_step(&v[i], &n_spikes[i], bias[i] + input[t]);   \
            }                                                           \
        }                                                               \
    }

INTEGRATE_AND_FIRE(integrate_and_fire_f32, float)
INTEGRATE_AND_FIRE(integrate_and_fire_f64, double)

/* size: points. A tile of points goes through all iterations, so that it stays in registers and the first cache. */
HANDWRITTEN(mandelbrot)
{
    enum { TILE = 256 };
    int64_t n_iterations = *(const int64_t *)in[0], n = size[0];
    const float *re = in[2], *im = in[3];
    float *count = out[0];

    for (int64_t first = 0; first < n; first += TILE) {
        int64_t width = n - first < TILE ? n - first : TILE;
        float x[TILE] = {0}, y[TILE] = {0}, inside[TILE] = {0}, a[TILE] = {0}, b[TILE] = {0};

        memcpy(a, re + first, (size_t)width * sizeof *a);
        memcpy(b, im + first, (size_t)width * sizeof *b);
        for (int64_t t = 0; t < n_iterations; t++) {
            for (int i = 0; i < TILE; i++) {
                float xx = x[i] * x[i], yy = y[i] * y[i], next_x = xx - yy + a[i], next_y = x[i] * y[i] * 2 + b[i];
                int bounded = xx + yy <= 4;

                inside[i] += bounded ? 1.0f : 0.0f;
                x[i] = bounded ? next_x : x[i];
                y[i] = bounded ? next_y : y[i];
            }
        }
        memcpy(count + first, inside, (size_t)width * sizeof *count);
    }
}

/* size: steps, walks. */
HANDWRITTEN(drift_diffusion)
{
    int64_t n_steps = size[0], n = size[1];
    const float *restrict noise = in[2];
    float *restrict x = out[0], *restrict time = out[1];
    const float dt = 0.002f, drift = 0.001f, spread = 0.04472136f;

    memcpy(x, in[0], (size_t)n * sizeof *x);
    memcpy(time, in[1], (size_t)n * sizeof *time);
    for (int64_t t = 0; t < n_steps; t++, noise += n) {
        for (int64_t i = 0; i < n; i++) {
            int undecided = fabsf(x[i]) < 1;
            float moved = x[i] + (noise[i] * spread + drift);

            time[i] += undecided ? dt : 0.0f;
            x[i] = undecided ? moved : x[i];
        }
    }
}
