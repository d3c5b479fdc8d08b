/* bodies.c - the loops of bodies.py as a C programmer writes them: the same names, sizes, inputs and outputs, in their order.
 * Here those of numbers, tables and graphs. Arrays are dense and of float32 and int64 but where another type is said. Nothing is
 * allocated, checked, or done by more than one thread. */
#include "bodies.h"

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

BODY(counts)
{
    STATE(float, bins, 0, 32);
    IN(float, x, 1);

    for (int t = 0; t < 64000; t++) {
        int bin = (int)floorf(x[t] * 32);

        bins[MIN(bin, 31)] += 1;
    }
}

BODY(kept_sums)
{
    STATE(float, sums, 0, 24);
    IN(int64_t, group, 1);
    IN(float, x, 2);
    float *restrict means = out[1];

    for (int t = 0; t < 20000; t++) {
        float *at = sums + group[t];

        at[0] += x[t];
        at[8] += x[t] * x[t];
        at[16] += 1;
        means[t] = at[0] / at[16];
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

BODY(gibbs)
{
    enum { N = 32 };
    STATE(float, spins, 0, N *N);
    IN(int64_t, row, 1);
    IN(int64_t, column, 2);
    IN(float, u, 3);

    for (int t = 0; t < 20000; t++) {
        int64_t i = row[t], j = column[t];
        float field = spins[i * N + (j + 1) % N] + spins[i * N + (j + N - 1) % N] + spins[(i + 1) % N * N + j] +
                      spins[(i + N - 1) % N * N + j];

        spins[i * N + j] = u[t] < 1 / (1 + expf(field * -0.88f)) ? 1 : -1;
    }
}

BODY(sieve)
{
    enum { N = 10000 };
    int64_t n = *(const int64_t *)in[0], n_primes = *(const int64_t *)in[2];
    uint8_t *restrict composite = out[0];

    memcpy(composite, in[1], N);
    for (int64_t p = 2; p < n + 2; p++) {
        if (!composite[p]) {
            n_primes++;
            for (int64_t k = 2 * p; k < N; k += p) {
                composite[k] = 1;
            }
        }
    }
    *(int64_t *)out[1] = n_primes;
}

BODY(heap_sort)
{
    enum { N = 512 };
    int64_t n = *(const int64_t *)in[0];
    float *restrict x = out[0];

    memcpy(x, in[1], N * sizeof *x);
    for (int64_t k = 0; k < n; k++) {
        int64_t end = N - 1 - k, at = 0, child;
        float last = x[end];

        x[end] = x[0];
        while ((child = 2 * at + 1) < end) {
            child += child + 1 < end && x[child + 1] > x[child];
            if (!(x[child] > last)) {
                break;
            }
            x[at] = x[child];
            at = child;
        }
        x[at] = last;
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

BODY(shortest_ways)
{
    enum { N = 48 };
    float *restrict d = out[0];

    memcpy(d, in[1], N * N * sizeof *d);
    for (int k = 0; k < N; k++) {
        for (int i = 0; i < N; i++) {
            float first = d[i * N + k];

            for (int j = 0; j < N; j++) {
                float way = first + d[k * N + j];

                d[i * N + j] = MIN(d[i * N + j], way);
            }
        }
    }
}

BODY(elimination)
{
    enum { N = 32 };
    float *restrict a = out[0];

    memcpy(a, in[1], N * N * sizeof *a);
    for (int k = 0; k < N - 1; k++) {
        for (int i = k + 1; i < N; i++) {
            float factor = a[i * N + k] / a[k * N + k];

            for (int j = k; j < N; j++) {
                a[i * N + j] -= factor * a[k * N + j];
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

BODY(search)
{
    enum { N = 1000, DEGREE = 4 };
    IN(int64_t, graph, 0);
    STATE(int64_t, far, 0, 0);
    int64_t *restrict queue = out[1];
    int64_t head = *(const int64_t *)in[3], tail = *(const int64_t *)in[4];

    memcpy(far, in[1], N * sizeof *far);
    memcpy(queue, in[2], N * sizeof *queue);
    while (head < tail) {
        int64_t node = queue[head++];

        for (int k = 0; k < DEGREE; k++) {
            int64_t other = graph[node * DEGREE + k];

            if (far[other] < 0) {
                far[other] = far[node] + 1;
                queue[tail++] = other;
            }
        }
    }
    *(int64_t *)out[2] = head;
    *(int64_t *)out[3] = tail;
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
