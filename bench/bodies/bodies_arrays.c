/* bodies_arrays.c - the same as bodies.c: what the loops of bodies.py do on grids, signals, in statistics and dynamics. */
#include "bodies.h"

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

BODY(window)
{
    enum { N = 8, W = 4 };
    STATE(float, rows, 0, N *W);
    IN(float, x, 1);
    float *restrict means = out[1], *restrict largest = out[2];

    for (int t = 0; t < 4000; t++) {
        memmove(rows, rows + W, (N - 1) * W * sizeof *rows);
        memcpy(rows + (N - 1) * W, x + t * W, W * sizeof *rows);
        for (int j = 0; j < W; j++) {
            float sum = rows[j], top = rows[j];

            for (int i = 1; i < N; i++) {
                sum += rows[i * W + j];
                top = MAX(top, rows[i * W + j]);
            }
            means[t * W + j] = sum / N;
            largest[t * W + j] = top;
        }
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

/* A neuron that spikes, begins anew, and rests for five steps. */
BODY(resting_neuron)
{
    float v = *(const float *)in[0];
    int64_t rest = *(const int64_t *)in[1], n = *(const int64_t *)in[2];
    IN(float, current, 3);
    float *restrict course = out[3];

    for (int t = 0; t < 20000; t++) {
        if (rest <= 0) {
            v += (current[t] - v) * 0.1f;
        }
        rest = MAX(rest - 1, 0);
        if (v > 1) {
            v = 0;
            rest = 5;
            n++;
        }
        course[t] = v;
    }
    *(float *)out[0] = v;
    *(int64_t *)out[1] = rest;
    *(int64_t *)out[2] = n;
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
