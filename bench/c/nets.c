/* nets.c - recurrent nets and matrix products: products of a few rows with a matrix of weights, laid out anew for vectors once.
 */
#include "handwritten.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 16 };
typedef float vector __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float))));

/* out[R][V * LANES] += a[R][inner] x b[inner][V * LANES], where rows of `b` follow each other at `b_step`. R and V are constants.
 */
static inline __attribute__((always_inline)) void block(int R, int V, int64_t inner, const float *a, int64_t a_step,
                                                        const float *b, int64_t b_step, float *out, int64_t out_step)
{
    vector sums[8][8];

    for (int r = 0; r < R; r++) {
        for (int v = 0; v < V; v++) {
            sums[r][v] = *(const vector *)(out + r * out_step + v * LANES);
        }
    }
    for (int64_t k = 0; k < inner; k++) {
        for (int v = 0; v < V; v++) {
            vector column = *(const vector *)(b + k * b_step + v * LANES);

            for (int r = 0; r < R; r++) {
                sums[r][v] += a[r * a_step + k] * column;
            }
        }
    }
    for (int r = 0; r < R; r++) {
        for (int v = 0; v < V; v++) {
            *(vector *)(out + r * out_step + v * LANES) = sums[r][v];
        }
    }
}

/* Columns that fill no vector: four at a time, then one. */
static void narrow(int64_t rows, int64_t inner, int64_t columns, const float *a, const float *b, int64_t step, float *out)
{
    typedef float quarter __attribute__((vector_size(4 * sizeof(float)), aligned(sizeof(float))));
    int64_t c = 0;

    for (; c + 4 <= columns; c += 4) {
        for (int64_t r = 0; r < rows; r++) {
            quarter sum = *(const quarter *)(out + r * step + c);

            for (int64_t k = 0; k < inner; k++) {
                sum += a[r * inner + k] * *(const quarter *)(b + k * step + c);
            }
            *(quarter *)(out + r * step + c) = sum;
        }
    }
    for (; c < columns; c++) {
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t k = 0; k < inner; k++) {
                out[r * step + c] += a[r * inner + k] * b[k * step + c];
            }
        }
    }
}

/* out += a x b, all row by row. With many rows, panels of `b` are laid out one after the other in `panel`, which has room for
 * inner times 4 vectors, so that they lie in the cache as they are read. */
static void multiply(int64_t rows, int64_t inner, int64_t columns, const float *a, const float *b, float *out, float *panel)
{
    int64_t c = 0;

    for (; rows == 1 && c + 8 * LANES <= columns; c += 8 * LANES) {
        block(1, 8, inner, a, inner, b + c, columns, out + c, columns);
    }
    for (; c + 3 * LANES <= columns; c += 3 * LANES) {
        const float *from = b + c;
        int64_t r = 0, step = columns;

        if (rows >= 64) {
            for (int64_t k = 0; k < inner; k++) {
                memcpy(panel + k * 3 * LANES, b + k * columns + c, 3 * LANES * sizeof *panel);
            }
            from = panel;
            step = 3 * LANES;
        }
        for (; r + 8 <= rows; r += 8) {
            block(8, 3, inner, a + r * inner, inner, from, step, out + r * columns + c, columns);
        }
        for (; r < rows; r++) {
            block(1, 3, inner, a + r * inner, inner, from, step, out + r * columns + c, columns);
        }
    }
    for (; c + LANES <= columns; c += LANES) {
        int64_t r = 0;

        for (; r + 8 <= rows; r += 8) {
            block(8, 1, inner, a + r * inner, inner, b + c, columns, out + r * columns + c, columns);
        }
        for (; r < rows; r++) {
            block(1, 1, inner, a + r * inner, inner, b + c, columns, out + r * columns + c, columns);
        }
    }
    narrow(rows, inner, columns - c, a, b + c, columns, out + c);
}

static void fill_rows(int64_t rows, int64_t n, const float *row, float *out)
{
    for (int64_t r = 0; r < rows; r++) {
        memcpy(out + r * n, row, (size_t)n * sizeof *out);
    }
}

/* In whole vectors, so that the last few take one call, too. */
static void tanh_all(float *x, int64_t n)
{
    int64_t i, whole = n / LANES * LANES;

    for (i = 0; i < whole; i++) {
        x[i] = tanhf(x[i]);
    }
    if (i < n) {
        float rest[LANES] = {0};

        memcpy(rest, x + i, (size_t)(n - i) * sizeof *x);
        for (int lane = 0; lane < LANES; lane++) {
            rest[lane] = tanhf(rest[lane]);
        }
        memcpy(x + i, rest, (size_t)(n - i) * sizeof *x);
    }
}

/* size: steps, batch, hidden. The share of the input is worked out for all steps at once. */
HANDWRITTEN(elman)
{
    int64_t n_steps = size[0], batch = size[1], n = size[2], n_state = batch * n;
    const float *h = in[0], *x = in[1], *from_x = in[2], *from_h = in[3], *bias = in[4];
    float *last = out[0], *all = out[1], *panel = malloc((size_t)n * 4 * LANES * sizeof *panel);

    fill_rows(n_steps * batch, n, bias, all);
    multiply(n_steps * batch, n, n, x, from_x, all, panel);
    for (int64_t t = 0; t < n_steps; t++) {
        float *now = all + t * n_state;

        multiply(batch, n, n, h, from_h, now, panel);
        tanh_all(now, n_state);
        h = now;
    }
    memcpy(last, h, (size_t)n_state * sizeof *last);
    free(panel);
}

/* The same three times, each layer of what the one before yields. */
HANDWRITTEN(elman_layers)
{
    const void *inputs[] = {in[0], in[1], in[2], in[3], in[4]};
    int64_t n = size[0] * size[1] * size[2];
    float *rows = malloc((size_t)n * sizeof *rows);

    elman(size, inputs, out);
    for (int layer = 1; layer < 3; layer++) {
        memcpy(rows, out[1], (size_t)n * sizeof *rows);
        inputs[1] = rows;
        elman(size, inputs, out);
    }
    free(rows);
}

/* size: steps, batch, hidden. Gates in the order update, reset, candidate. */
HANDWRITTEN(gru)
{
    int64_t n_steps = size[0], batch = size[1], n = size[2], wide = 3 * n;
    const float *h = in[0], *x = in[1], *from_x = in[2], *from_h = in[3], *bias_x = in[4], *bias_h = in[5];
    float *last = out[0], *all = out[1];
    float *panel = malloc((size_t)n * 4 * LANES * sizeof *panel);
    float *shares = malloc((size_t)(n_steps + 1) * batch * wide * sizeof *shares), *gates = shares + n_steps * batch * wide;

    fill_rows(n_steps * batch, wide, bias_x, shares);
    multiply(n_steps * batch, n, wide, x, from_x, shares, panel);
    for (int64_t t = 0; t < n_steps; t++) {
        fill_rows(batch, wide, bias_h, gates);
        multiply(batch, n, wide, h, from_h, gates, panel);
        for (int64_t r = 0; r < batch; r++) {
            const float *share = shares + (t * batch + r) * wide, *gate = gates + r * wide, *before = h + r * n;
            float *now = all + (t * batch + r) * n;

            for (int64_t i = 0; i < n; i++) {
                float update = 1 / (1 + expf(-(share[i] + gate[i]))), reset = 1 / (1 + expf(-(share[n + i] + gate[n + i])));
                float candidate = tanhf(share[2 * n + i] + reset * gate[2 * n + i]);

                now[i] = candidate + update * (before[i] - candidate);
            }
        }
        h = all + t * batch * n;
    }
    memcpy(last, h, (size_t)(batch * n) * sizeof *last);
    free(shares);
    free(panel);
}

/* size: steps, n. */
HANDWRITTEN(matrix_products)
{
    int64_t n_steps = size[0], n = size[1];
    size_t n_bytes = (size_t)(n * n) * sizeof(float);
    const float *x = in[1], *w = in[2];
    float *s = out[0], *next = malloc(n_bytes), *panel = malloc((size_t)n * 4 * LANES * sizeof *panel);

    memcpy(s, in[0], n_bytes);
    for (int64_t t = 0; t < n_steps; t++) {
        float *before = s;

        fill_rows(n, n, x + t * n, next);
        multiply(n, n, n, s, w, next, panel);
        s = next;
        next = before;
    }
    if (s != out[0]) {
        memcpy(out[0], s, n_bytes);
        next = s;
    }
    free(next);
    free(panel);
}
