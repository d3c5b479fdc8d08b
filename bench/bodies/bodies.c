/* bodies.c - the loops of bodies.py as a C programmer writes them: the same names, sizes, inputs and outputs, in their order.
 * Arrays are dense and of float32 and int64 but where another type is said. Nothing is allocated, checked, or done by more than
 * one thread. */
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

/* ---------------------------------------------------------------- random numbers */

/* xoshiro256**, as the engine begins it. */
static uint64_t rotated(uint64_t bits, int by)
{
    return bits << by | bits >> (64 - by);
}

static uint64_t next_bits(uint64_t s[4])
{
    uint64_t result = rotated(s[1] * 5, 7) * 9, shifted = s[1] << 17;

    s[2] ^= s[0], s[3] ^= s[1], s[1] ^= s[2], s[0] ^= s[3], s[2] ^= shifted, s[3] = rotated(s[3], 45);
    return result;
}

BODY(random_walk)
{
    uint64_t s[4] = {UINT64_C(0xe220a8397b1dcdaf), UINT64_C(0x6e789e6aa1b965f4), UINT64_C(0x06c45d188009454f),
                     UINT64_C(0xf88bb8a8724c81ec)};
    int64_t n = *(const int64_t *)in[0];
    float x = *(const float *)in[1], far = *(const float *)in[2];

    for (int64_t i = 0; i < n; i++) {
        x += (float)(next_bits(s) >> 40) * 0x1p-24f < 0.5f ? -1 : 1;
        far = MAX(far, fabsf(x));
    }
    *(float *)out[0] = x;
    *(float *)out[1] = far;
}

BODY(annealing)
{
    STATE(float, spins, 0, 64);
    IN(int64_t, j, 1);
    IN(float, u, 2);
    IN(float, cold, 3);

    for (int t = 0; t < 20000; t++) {
        float cost = spins[j[t]] * (spins[(j[t] + 1) % 64] + spins[(j[t] + 63) % 64]) * 2;

        if (u[t] < expf(-cost * cold[t])) {
            spins[j[t]] = -spins[j[t]];
        }
    }
}

BODY(metropolis)
{
    float x = *(const float *)in[0], worth = *(const float *)in[1];
    int64_t n = *(const int64_t *)in[2];
    IN(float, noise, 3);
    IN(float, u, 4);

    for (int t = 0; t < 20000; t++) {
        float there = x + noise[t] * 0.5f, worth_there = there * there * -0.5f + cosf(there * 3);

        if (logf(u[t]) < worth_there - worth) {
            x = there;
            worth = worth_there;
            n++;
        }
    }
    *(float *)out[0] = x;
    *(float *)out[1] = worth;
    *(int64_t *)out[2] = n;
}

BODY(particle_filter)
{
    enum { N = 64 };
    STATE(float, x, 0, N);
    IN(float, y, 1);
    IN(float, noise, 2);
    IN(float, u, 3);
    float *restrict means = out[1];

    for (int t = 0; t < 500; t++) {
        float moved[N], share[N], sum = 0, mean = 0;

        for (int i = 0; i < N; i++) {
            moved[i] = x[i] * 0.95f + noise[t * N + i];
            share[i] = fast_exp((moved[i] - y[t]) * (moved[i] - y[t]) * -0.5f);
        }
        for (int i = 0; i < N; i++) {
            share[i] = sum += share[i];
        }
        for (int i = 0, k = 0; i < N; i++) {
            while (k < N - 1 && share[k] / sum < ((float)i + u[t]) / N) {
                k++;
            }
            mean += x[i] = moved[k];
        }
        means[t] = mean / N;
    }
}

/* ---------------------------------------------------------------- tables */

BODY(histogram)
{
    STATE(float, boxes, 0, 256);
    IN(float, points, 1);

    for (int t = 0; t < 20000; t++) {
        boxes[(int)floorf(points[2 * t] * 16) * 16 + (int)floorf(points[2 * t + 1] * 16)] += 1;
    }
}

BODY(knapsack)
{
    enum { N = 1001 };
    STATE(float, best, 0, N);
    IN(int64_t, weight, 1);
    IN(float, worth, 2);
    float next[N];

    for (int t = 0; t < 100; t++) {
        memcpy(next, best, sizeof next);
        for (int64_t i = weight[t]; i < N; i++) {
            next[i] = MAX(best[i], best[i - weight[t]] + worth[t]);
        }
        memcpy(best, next, sizeof next);
    }
}

BODY(edit_distance)
{
    enum { N = 100 };
    IN(int64_t, other, 0);
    IN(int64_t, word, 2);
    int64_t *restrict row = out[0];

    memcpy(row, in[1], (N + 1) * sizeof *row);
    for (int t = 0; t < N; t++) {
        int64_t corner = row[0], left = row[0] += 1;

        for (int i = 0; i < N; i++) {
            int64_t up = row[i + 1];

            left = MIN(MIN(left, up) + 1, corner + (word[t] != other[i]));
            corner = up;
            row[i + 1] = left;
        }
    }
}

BODY(ring_buffer)
{
    IN(float, x, 0);
    int64_t n = *(const int64_t *)in[1];
    float *restrict ring = out[0], *restrict heard = out[1];

    memcpy(ring, in[2], 64 * sizeof *ring);
    for (int64_t i = 0; i < n; i++) {
        heard[i] = ring[i % 64] = x[i] + ring[i % 64] * 0.6f;
    }
}

BODY(automaton)
{
    IN(int64_t, table, 0);
    IN(int64_t, accepts, 1);
    IN(int64_t, word, 4);
    int64_t state = *(const int64_t *)in[2], n = *(const int64_t *)in[3];

    for (int t = 0; t < 50000; t++) {
        state = table[state * 4 + word[t]];
        n += accepts[state];
    }
    *(int64_t *)out[0] = state;
    *(int64_t *)out[1] = n;
}

BODY(bubble_sort)
{
    int64_t n = *(const int64_t *)in[0];
    float *restrict x = out[0];

    memcpy(x, in[1], (size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n - 1 - i; j++) {
            float a = x[j], b = x[j + 1];

            x[j] = MIN(a, b);
            x[j + 1] = MAX(a, b);
        }
    }
}

BODY(roots)
{
    IN(int64_t, parent, 0);
    IN(int64_t, nodes, 1);
    int64_t *restrict root = out[0], *restrict n = out[1];

    for (int t = 0; t < 4000; t++) {
        int64_t at = nodes[t];

        for (n[t] = 1; parent[at] != at; n[t]++) {
            at = parent[at];
        }
        root[t] = at;
    }
}

BODY(q_learning)
{
    STATE(float, q, 0, 64);
    IN(int64_t, action, 2);
    IN(float, reward, 3);
    int64_t state = *(const int64_t *)in[1];

    for (int t = 0; t < 20000; t++) {
        int64_t after = (state * 5 + action[t] * 3 + 1) % 16;
        const float *row = q + after * 4;
        float best = MAX(MAX(row[0], row[1]), MAX(row[2], row[3])), *old = &q[state * 4 + action[t]];

        *old += (reward[t] + best * 0.9f - *old) * 0.1f;
        state = after;
    }
    *(int64_t *)out[1] = state;
}

BODY(actor_critic)
{
    STATE(float, theta, 0, 64);
    STATE(float, worth, 1, 16);
    IN(float, u, 3);
    int64_t state = *(const int64_t *)in[2];

    for (int t = 0; t < 10000; t++) {
        float *row = theta + state * 4, top = MAX(MAX(row[0], row[1]), MAX(row[2], row[3])), p[4], sum = 0, share = 0, gap;
        int64_t action = 0, after;

        for (int k = 0; k < 4; k++) {
            sum += p[k] = fast_exp(row[k] - top);
        }
        for (int k = 0; k < 4; k++) {
            p[k] /= sum;
            share += p[k];
            action += k < 3 && share < u[t];
        }
        after = (state * 5 + action * 3 + 1) % 16;
        gap = (after == 3 ? 1.0f : 0.0f) + worth[after] * 0.9f - worth[state];
        for (int k = 0; k < 4; k++) {
            row[k] += ((k == action) - p[k]) * (gap * 0.1f);
        }
        worth[state] += gap * 0.05f;
        state = after;
    }
    *(int64_t *)out[2] = state;
}

/* ---------------------------------------------------------------- graphs */

BODY(floyd_warshall)
{
    int64_t n = *(const int64_t *)in[0];
    float *restrict d = out[0];

    memcpy(d, in[1], 48 * 48 * sizeof *d);
    for (int64_t k = 0; k < n; k++) {
        for (int64_t i = 0; i < 48; i++) {
            float to = d[i * 48 + k];

            for (int64_t j = 0; j < 48; j++) {
                d[i * 48 + j] = MIN(d[i * 48 + j], to + d[k * 48 + j]);
            }
        }
    }
}

BODY(bellman_ford)
{
    IN(int64_t, start, 0);
    IN(int64_t, end, 1);
    IN(float, length, 2);
    int64_t n = *(const int64_t *)in[3];
    float *restrict d = out[0], old[64];

    memcpy(d, in[4], sizeof old);
    for (int64_t i = 0; i < n; i++) {
        memcpy(old, d, sizeof old);
        for (int e = 0; e < 256; e++) {
            d[end[e]] = MIN(d[end[e]], old[start[e]] + length[e]);
        }
    }
}

BODY(viterbi)
{
    IN(float, moves, 0);
    IN(float, seen, 2);
    float *restrict best = out[0];
    int64_t *restrict from = out[1];

    memcpy(best, in[1], 8 * sizeof *best);
    for (int t = 0; t < 2000; t++) {
        float top[8];
        int32_t at[8] = {0};

        for (int j = 0; j < 8; j++) {
            top[j] = best[0] + moves[j];
        }
        for (int i = 1; i < 8; i++) {
            for (int j = 0; j < 8; j++) {
                float way = best[i] + moves[i * 8 + j];

                at[j] = way > top[j] ? i : at[j];
                top[j] = way > top[j] ? way : top[j];
            }
        }
        for (int j = 0; j < 8; j++) {
            best[j] = top[j] + seen[t * 8 + j];
            from[t * 8 + j] = at[j];
        }
    }
}

/* ---------------------------------------------------------------- grids */

BODY(life)
{
    int64_t n = *(const int64_t *)in[0];
    float *restrict x = out[0], edged[34][34];

    memcpy(x, in[1], 32 * 32 * sizeof *x);
    for (int64_t t = 0; t < n; t++) {
        for (int i = 0; i < 34; i++) {
            const float *row = x + (i + 31) % 32 * 32;

            memcpy(edged[i] + 1, row, 32 * sizeof *row);
            edged[i][0] = row[31];
            edged[i][33] = row[0];
        }
        for (int i = 0; i < 32; i++) {
            const float *a = edged[i], *b = edged[i + 1], *c = edged[i + 2];

            for (int j = 0; j < 32; j++) {
                float around = a[j] + a[j + 1] + a[j + 2] + b[j] + b[j + 2] + c[j] + c[j + 1] + c[j + 2];

                x[i * 32 + j] = (around == 3) | ((around == 2) & (b[j + 1] > 0.5f)) ? 1 : 0;
            }
        }
    }
}

BODY(jacobi)
{
    enum { N = 34 };
    int64_t n = *(const int64_t *)in[0];
    float *restrict u = out[0], old[N * N];

    memcpy(u, in[1], sizeof old);
    for (int64_t t = 0; t < n; t++) {
        memcpy(old, u, sizeof old);
        for (int i = 1; i < N - 1; i++) {
            for (int j = 1; j < N - 1; j++) {
                int at = i * N + j;

                u[at] = (old[at - N] + old[at + N] + old[at - 1] + old[at + 1]) * 0.25f;
            }
        }
    }
}

static void set_in_border(const float *restrict x, float edged[34][34])
{
    for (int i = 0; i < 34; i++) {
        const float *row = x + (i + 31) % 32 * 32;

        memcpy(edged[i] + 1, row, 32 * sizeof *row);
        edged[i][0] = row[31];
        edged[i][33] = row[0];
    }
}

static inline float spread(float edged[34][34], int i, int j)
{
    return edged[i][j + 1] + edged[i + 2][j + 1] + edged[i + 1][j] + edged[i + 1][j + 2] - edged[i + 1][j + 1] * 4;
}

BODY(reaction)
{
    int64_t n = *(const int64_t *)in[0];
    float *restrict u = out[0], *restrict v = out[1], a[34][34], b[34][34];

    memcpy(u, in[1], 32 * 32 * sizeof *u);
    memcpy(v, in[2], 32 * 32 * sizeof *v);
    for (int64_t t = 0; t < n; t++) {
        set_in_border(u, a);
        set_in_border(v, b);
        for (int i = 0; i < 32; i++) {
            for (int j = 0; j < 32; j++) {
                float x = a[i + 1][j + 1], y = b[i + 1][j + 1], both = x * y * y;

                u[i * 32 + j] = x + spread(a, i, j) * 0.16f - both + (1 - x) * 0.035f;
                v[i * 32 + j] = y + spread(b, i, j) * 0.08f + both - y * 0.1f;
            }
        }
    }
}

BODY(heat)
{
    int64_t n = *(const int64_t *)in[0];
    float *restrict u = out[0], old[256];

    memcpy(u, in[1], sizeof old);
    for (int64_t t = 0; t < n; t++) {
        memcpy(old, u, sizeof old);
        for (int i = 1; i < 255; i++) {
            u[i] = old[i] + (old[i + 1] - old[i] * 2 + old[i - 1]) * 0.2f;
        }
    }
}

/* ---------------------------------------------------------------- signals */

BODY(causal_convolution)
{
    IN(float, taps, 0);
    IN(float, bias, 1);
    IN(float, x, 3);
    float *restrict window = out[0], *restrict y = out[1], seen[4][16], turned[4][16];

    memcpy(window, in[2], sizeof seen);
    for (int k = 0; k < 64; k++) {
        seen[k % 4][k / 4] = window[k];
        turned[k % 4][k / 4] = taps[k];
    }
    for (int t = 0; t < 4000; t++) {
        memmove(seen[0], seen[1], 3 * sizeof seen[0]);
        memcpy(seen[3], x + t * 16, sizeof seen[3]);
        for (int c = 0; c < 16; c++) {
            float sum = bias[c] + (seen[0][c] * turned[0][c] + seen[1][c] * turned[1][c] + seen[2][c] * turned[2][c] +
                                   seen[3][c] * turned[3][c]);

            y[t * 16 + c] = sum * sigmoid(sum);
        }
    }
    for (int k = 0; k < 64; k++) {
        window[k] = seen[k % 4][k / 4];
    }
}

BODY(biquad)
{
    float a = *(const float *)in[0], b = *(const float *)in[1], *restrict y = out[2];
    IN(float, x, 2);

    for (int t = 0; t < 50000; t++) {
        y[t] = x[t] * 0.2f + a;
        a = x[t] * 0.4f + y[t] * 1.2f + b;
        b = x[t] * 0.2f - y[t] * 0.5f;
    }
    *(float *)out[0] = a;
    *(float *)out[1] = b;
}

BODY(fourier)
{
    enum { N = 1024 };
    STATE(float, re, 0, N);
    STATE(float, im, 1, N);
    IN(float, c, 4);
    IN(float, s, 5);

    for (int stage = 0; stage < 10; stage++, c += N, s += N) {
        int half = 1 << stage;

        for (int start = 0; start < N; start += 2 * half) {
            for (int k = start; k < start + half; k++) {
                float re_upper = re[k + half] * c[k] - im[k + half] * s[k], im_upper = re[k + half] * s[k] + im[k + half] * c[k];

                re[k + half] = re[k] - re_upper;
                im[k + half] = im[k] - im_upper;
                re[k] += re_upper;
                im[k] += im_upper;
            }
        }
    }
}

/* ---------------------------------------------------------------- statistics */

BODY(k_means)
{
    IN(float, points, 0);
    int64_t n = *(const int64_t *)in[1];
    float *restrict centres = out[0];

    memcpy(centres, in[2], 16 * sizeof *centres);
    for (int64_t t = 0; t < n; t++) {
        float sums[8][3] = {{0}};

        for (int i = 0; i < 256; i++) {
            float x = points[2 * i], y = points[2 * i + 1], least = INFINITY;
            int at = 0;

            for (int k = 0; k < 8; k++) {
                float dx = x - centres[2 * k], dy = y - centres[2 * k + 1], d = dx * dx + dy * dy;

                at = d < least ? k : at;
                least = MIN(d, least);
            }
            sums[at][0] += x;
            sums[at][1] += y;
            sums[at][2] += 1;
        }
        for (int k = 0; k < 8; k++) {
            centres[2 * k] = sums[k][0] / MAX(sums[k][2], 1);
            centres[2 * k + 1] = sums[k][1] / MAX(sums[k][2], 1);
        }
    }
}

BODY(mixture)
{
    enum { N = 256 };
    IN(float, x, 0);
    int64_t n = *(const int64_t *)in[1];
    float *restrict mean = out[0], *restrict variance = out[1], *restrict share = out[2], p[4][N];

    for (int k = 0; k < 3; k++) {
        memcpy(out[k], in[2 + k], 4 * sizeof(float));
    }
    for (int64_t t = 0; t < n; t++) {
        float total[N] = {0};

        for (int k = 0; k < 4; k++) {
            float factor = share[k] / sqrtf(variance[k]), rate = -0.5f / variance[k];

            for (int i = 0; i < N; i++) {
                total[i] += p[k][i] = factor * fast_exp((x[i] - mean[k]) * (x[i] - mean[k]) * rate);
            }
        }
        for (int k = 0; k < 4; k++) {
            float weight = 0, sum = 0, squares = 0;

#pragma omp simd reduction(+ : weight, sum)
            for (int i = 0; i < N; i++) {
                weight += p[k][i] /= total[i];
                sum += p[k][i] * x[i];
            }
            mean[k] = sum / weight;
#pragma omp simd reduction(+ : squares)
            for (int i = 0; i < N; i++) {
                squares += p[k][i] * (x[i] - mean[k]) * (x[i] - mean[k]);
            }
            variance[k] = squares / weight + 0.01f;
            share[k] = weight / N;
        }
    }
}

/* In rows of 32, minus the logarithm of the sum of exp(x[j] - cost[i][j]). */
static void softmin(const float *restrict cost, const float *restrict x, float *restrict y)
{
    for (int i = 0; i < 32; i++) {
        float row[32], top = -INFINITY, sum = 0;

#pragma omp simd reduction(max : top)
        for (int j = 0; j < 32; j++) {
            row[j] = x[j] - cost[i * 32 + j];
            top = MAX(top, row[j]);
        }
#pragma omp simd reduction(+ : sum)
        for (int j = 0; j < 32; j++) {
            sum += fast_exp(row[j] - top);
        }
        y[i] = -(logf(sum) + top);
    }
}

BODY(sinkhorn)
{
    IN(float, cost, 0);
    int64_t n = *(const int64_t *)in[1];
    float *restrict f = out[0], *restrict g = out[1], turned[32 * 32];

    memcpy(f, in[2], 32 * sizeof *f);
    memcpy(g, in[3], 32 * sizeof *g);
    for (int k = 0; k < 32 * 32; k++) {
        turned[k] = cost[k % 32 * 32 + k / 32];
    }
    for (int64_t t = 0; t < n; t++) {
        softmin(cost, g, f);
        softmin(turned, f, g);
    }
}

BODY(kalman)
{
    enum { N = 6 };
    IN(float, f, 0);
    IN(float, q, 1);
    IN(float, z, 4);
    float *restrict x = out[0], *restrict p = out[1], *restrict rows = out[2];

    memcpy(x, in[2], N * sizeof *x);
    memcpy(p, in[3], N * N * sizeof *p);
    for (int t = 0; t < 2000; t++) {
        float fx[N] = {0}, fp[N][N] = {{0}}, next[N][N], gain[N], gap, divisor;

        for (int i = 0; i < N; i++) {
            for (int k = 0; k < N; k++) {
                fx[i] += f[i * N + k] * x[k];
                for (int j = 0; j < N; j++) {
                    fp[i][j] += f[i * N + k] * p[k * N + j];
                }
            }
        }
        memcpy(next, q, sizeof next);
        for (int i = 0; i < N; i++) {
            for (int j = 0; j < N; j++) {
                for (int k = 0; k < N; k++) {
                    next[i][j] += fp[i][k] * f[j * N + k];
                }
            }
        }
        gap = z[t] - fx[0];
        divisor = next[0][0] + 0.5f;
        for (int i = 0; i < N; i++) {
            gain[i] = next[i][0] / divisor;
            x[i] = fx[i] + gain[i] * gap;
            rows[t * N + i] = fx[i];
        }
        for (int i = 0; i < N; i++) {
            for (int j = 0; j < N; j++) {
                p[i * N + j] = next[i][j] - gain[i] * next[j][0];
            }
        }
    }
}

BODY(power_iteration)
{
    enum { N = 64 };
    IN(float, a, 0);
    int64_t n = *(const int64_t *)in[1];
    float *restrict v = out[0], size = *(const float *)in[3], w[N];

    memcpy(v, in[2], sizeof w);
    for (int64_t t = 0; t < n; t++) {
        size = 0;
        for (int i = 0; i < N; i++) {
            float sum = 0;

#pragma omp simd reduction(+ : sum)
            for (int j = 0; j < N; j++) {
                sum += a[i * N + j] * v[j];
            }
            w[i] = sum;
            size += sum * sum;
        }
        size = sqrtf(size);
        for (int i = 0; i < N; i++) {
            v[i] = w[i] / size;
        }
    }
    *(float *)out[1] = size;
}

/* ---------------------------------------------------------------- dynamics */

BODY(molecules)
{
    enum { N = 16 };
    int64_t n = *(const int64_t *)in[0];
    float *restrict x = out[0], *restrict v = out[1], px[N], py[N];

    memcpy(x, in[1], 2 * N * sizeof *x);
    memcpy(v, in[2], 2 * N * sizeof *v);
    for (int64_t t = 0; t < n; t++) {
        for (int i = 0; i < N; i++) {
            px[i] = x[2 * i];
            py[i] = x[2 * i + 1];
        }
        for (int i = 0; i < N; i++) {
            float fx = 0, fy = 0;

#pragma omp simd reduction(+ : fx, fy)
            for (int j = 0; j < N; j++) {
                float dx = px[i] - px[j], dy = py[i] - py[j], near = 1 / (dx * dx + dy * dy + (i == j ? 1e6f : 0)),
                      near3 = near * near * near;
                float size = (near3 * near3 * 2 - near3) * near * 24;

                fx += size * dx;
                fy += size * dy;
            }
            v[2 * i] += fx * 0.001f;
            v[2 * i + 1] += fy * 0.001f;
        }
        for (int i = 0; i < 2 * N; i++) {
            x[i] += v[i] * 0.001f;
        }
    }
}

BODY(hodgkin_huxley)
{
    int64_t steps = *(const int64_t *)in[0];
    double v = *(const double *)in[1], n = *(const double *)in[2], h = *(const double *)in[3], m = *(const double *)in[4];

    for (int64_t i = 0; i < steps; i++) {
        double a_n = (v + 55) * 0.01 / (1 - exp((v + 55) / -10)), b_n = exp((v + 65) / -80) * 0.125;
        double a_m = (v + 40) * 0.1 / (1 - exp((v + 40) / -10)), b_m = exp((v + 65) / -18) * 4;
        double a_h = exp((v + 65) / -20) * 0.07, b_h = 1 / (1 + exp((v + 35) / -10));
        double current = 120 * m * m * m * h * (v - 50) + 36 * n * n * n * n * (v + 77) + 0.3 * (v + 54.387);

        v += (10 - current) * 0.01;
        n += (a_n * (1 - n) - b_n * n) * 0.01;
        h += (a_h * (1 - h) - b_h * h) * 0.01;
        m += (a_m * (1 - m) - b_m * m) * 0.01;
    }
    *(double *)out[0] = v;
    *(double *)out[1] = n;
    *(double *)out[2] = h;
    *(double *)out[3] = m;
}

BODY(lorenz)
{
    int64_t n = *(const int64_t *)in[0];
    double x = ((const double *)in[1])[0], y = ((const double *)in[1])[1], z = ((const double *)in[1])[2];

    for (int64_t i = 0; i < n; i++) {
        double dx = (y - x) * 10, dy = x * (28 - z) - y, dz = x * y - z * (8.0 / 3);

        x += dx * 0.001, y += dy * 0.001, z += dz * 0.001;
    }
    memcpy(out[0], (double[]){x, y, z}, 3 * sizeof x);
}

BODY(gru)
{
    enum { N = 32 };
    IN(float, from_x, 0);
    IN(float, from_h, 1);
    IN(float, bias, 2);
    IN(float, x, 4);
    float *restrict h = out[0], *restrict rows = out[1];

    memcpy(h, in[3], N * sizeof *h);
    for (int t = 0; t < 500; t++) {
        float gates[3 * N], kept[3 * N] = {0};

        memcpy(gates, bias, sizeof gates);
        for (int k = 0; k < N; k++) {
            for (int j = 0; j < 3 * N; j++) {
                gates[j] += x[t * N + k] * from_x[k * 3 * N + j];
                kept[j] += h[k] * from_h[k * 3 * N + j];
            }
        }
        for (int j = 0; j < N; j++) {
            float update = sigmoid(gates[j] + kept[j]), reset = sigmoid(gates[N + j] + kept[N + j]);
            float candidate = 2 * sigmoid(2 * (gates[2 * N + j] + reset * kept[2 * N + j])) - 1;

            rows[t * N + j] = h[j] = candidate + update * (h[j] - candidate);
        }
    }
}

BODY(addressing)
{
    enum { N = 32, D = 16, T = 500 };
    STATE(float, memory, 0, N *D);
    IN(float, keys, 1);
    IN(float, erases, 2);
    IN(float, adds, 3);
    float *restrict rows = out[1];

    for (int t = 0; t < T; t++) {
        const float *restrict key = keys + t * D, *restrict erase = erases + t * D, *restrict add = adds + t * D;
        float share[N], gone[D], size = 0, largest = -INFINITY, total = 0, *restrict row = rows + t * D;

        for (int k = 0; k < D; k++) {
            size += key[k] * key[k];
            gone[k] = sigmoid(erase[k]);
            row[k] = 0;
        }
        size = sqrtf(size);
        for (int i = 0; i < N; i++) {
            float product = 0, square = 0;

#pragma omp simd reduction(+ : product, square)
            for (int k = 0; k < D; k++) {
                product += memory[i * D + k] * key[k];
                square += memory[i * D + k] * memory[i * D + k];
            }
            share[i] = product / (sqrtf(square) * size + 1e-6f) * 5;
            largest = MAX(largest, share[i]);
        }
        for (int i = 0; i < N; i++) {
            share[i] = fast_exp(share[i] - largest);
        }
#pragma omp simd reduction(+ : total)
        for (int i = 0; i < N; i++) {
            total += share[i];
        }
        for (int i = 0; i < N; i++) {
            float part = share[i] / total;

            for (int k = 0; k < D; k++) {
                row[k] += part * memory[i * D + k];
                memory[i * D + k] = memory[i * D + k] * (1 - part * gone[k]) + part * add[k];
            }
        }
    }
}

BODY(spikes)
{
    enum { N = 48, T = 500 };
    IN(float, befores, 0);
    IN(float, afters, 1);
    float *restrict weights = out[0], *restrict trace = out[1], *restrict rows = out[2];

    memcpy(weights, in[2], N * N * sizeof *weights);
    memcpy(trace, in[3], N * sizeof *trace);
    for (int t = 0; t < T; t++) {
        const float *restrict before = befores + t * N, *restrict after = afters + t * N;
        float row[N] = {0};

        for (int j = 0; j < N; j++) {
            trace[j] = trace[j] * 0.9f + before[j];
        }
        for (int j = 0; j < N; j++) {
            float up = trace[j], down = before[j], *restrict line = weights + j * N;

            for (int i = 0; i < N; i++) {
                line[i] = MIN(MAX(line[i] + up * after[i] * 0.01f - down * after[i] * 0.0105f, 0.0f), 1.0f);
                row[i] += down * line[i];
            }
        }
        memcpy(rows + t * N, row, sizeof row);
    }
}

/* ---------------------------------------------------------------- bits */

BODY(checksum)
{
    enum { T = 10000 };
    IN(uint8_t, bytes, 1);
    uint32_t sum = *(const uint32_t *)in[0];

    for (int t = 0; t < T; t++) {
        sum ^= bytes[t];
        for (int k = 0; k < 8; k++) {
            sum = (sum & 1) != 0 ? sum >> 1 ^ 0xEDB88320u : sum >> 1;
        }
    }
    *(uint32_t *)out[0] = sum;
}

static inline uint32_t turned(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

BODY(bit_count)
{
    int64_t n = *(const int64_t *)in[0];
    IN(uint64_t, words, 1);

    for (int t = 0; t < 50000; t++) {
        uint64_t x = words[t];

        x -= x >> 1 & UINT64_C(0x5555555555555555);
        x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
        x = (x + (x >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
        n += (int64_t)(x * UINT64_C(0x0101010101010101) >> 56);
    }
    *(int64_t *)out[0] = n;
}

/* Four rounds, and the keys behind them. */
#define ROUND(by) (x0 += x1, x1 = turned(x1, by) ^ x0)
#define ROUNDS(a, b, c, d, first, second, number) \
    (ROUND(a), ROUND(b), ROUND(c), ROUND(d), x0 += keys[first], x1 += keys[second] + (number))

BODY(threefry)
{
    enum { N = 64 };
    int64_t n = *(const int64_t *)in[2];
    float *restrict sums = out[0];
    uint32_t *restrict k0 = out[1], *restrict k1 = out[2];

    memcpy(sums, in[3], N * sizeof *sums);
    memcpy(k0, in[0], N * sizeof *k0);
    memcpy(k1, in[1], N * sizeof *k1);
    for (int64_t i = 0; i < n; i++) {
        for (int j = 0; j < N; j++) {
            uint32_t keys[3] = {k0[j], k1[j], k0[j] ^ k1[j] ^ 0x1BD11BDAu}, x0 = (uint32_t)j + keys[0],
                     x1 = (uint32_t)i + keys[1];

            ROUNDS(13, 15, 26, 6, 1, 2, 1);
            ROUNDS(17, 29, 16, 24, 2, 0, 2);
            ROUNDS(13, 15, 26, 6, 0, 1, 3);
            ROUNDS(17, 29, 16, 24, 1, 2, 4);
            ROUNDS(13, 15, 26, 6, 2, 0, 5);
            sums[j] += (float)x0 * 0x1p-32f;
            k1[j] = x1;
        }
    }
}
