/* lanes.c - what somebody would write by hand for the sweeps of bench/lanes.py: sixteen instances side by side in arrays, which the
 * compiler makes vectors of. Compiled once for each type, -DREAL=double and -DREAL=float. Each function: [n] values of two
 * parameters, n_steps, [n] results of two. */
#include <stddef.h>
#include <stdint.h>
#include <tgmath.h>

#define LANES 16
#define EACH for (size_t l = 0; l < LANES; l++)

void fitzhugh(size_t n, uint64_t n_steps, const REAL *a, const REAL *current, REAL *v_out, REAL *w_out)
{
    for (size_t first = 0; first < n; first += LANES) {
        REAL v[LANES] = {0}, w[LANES] = {0};

        for (uint64_t step = 1; step < n_steps; step++) {
            EACH {
                v[l] += (v[l] - v[l] * v[l] * v[l] / 3 - w[l] + current[first + l]) * (REAL)0.05;
                w[l] += (REAL)0.08 * (v[l] + a[first + l] - (REAL)0.8 * w[l]) * (REAL)0.05;
            }
        }
        EACH v_out[first + l] = v[l], w_out[first + l] = w[l];
    }
}

void diffusion(size_t n, uint64_t n_steps, const REAL *drift, const REAL *threshold, REAL *x_out, REAL *t_out)
{
    for (size_t first = 0; first < n; first += LANES) {
        REAL x[LANES] = {0}, t[LANES] = {0};

        for (uint64_t step = 0; step < n_steps; step++) {
            EACH {
                x[l] = fabs(x[l]) < threshold[first + l] ? x[l] + drift[first + l] * (REAL)0.001 : x[l];
                t[l] = fabs(x[l]) < threshold[first + l] ? t[l] + (REAL)0.001 : t[l];
            }
        }
        EACH x_out[first + l] = x[l], t_out[first + l] = t[l];
    }
}

void lca(size_t n, uint64_t n_steps, const REAL *input, const REAL *beta, REAL *a_out, REAL *b_out)
{
    for (size_t first = 0; first < n; first += LANES) {
        REAL a[LANES] = {0}, b[LANES] = {0};

        for (uint64_t step = 0; step < n_steps; step++) {
            EACH {
                a[l] = a[l] + (REAL)0.01 * (input[first + l] - (REAL)0.2 * a[l] - beta[first + l] * (b[l] > 0 ? b[l] : 0));
                b[l] = b[l] + (REAL)0.01 * (1 - (REAL)0.2 * b[l] - beta[first + l] * (a[l] > 0 ? a[l] : 0));
            }
        }
        EACH a_out[first + l] = a[l], b_out[first + l] = b[l];
    }
}

void izhikevich(size_t n, uint64_t n_steps, const REAL *current, const REAL *d, REAL *v_out, REAL *u_out)
{
    for (size_t first = 0; first < n; first += LANES) {
        REAL v[LANES], u[LANES];

        EACH v[l] = -65, u[l] = -13;
        for (uint64_t step = 0; step < n_steps; step++) {
            EACH {
                REAL next = v[l] + (REAL)0.5 * ((REAL)0.04 * v[l] * v[l] + 5 * v[l] + 140 - u[l] + current[first + l]);

                v[l] = v[l] >= 30 ? (REAL)-65 : next;
                u[l] = v[l] == -65 ? u[l] + d[first + l] : u[l] + (REAL)0.5 * (REAL)0.02 * ((REAL)0.2 * v[l] - u[l]);
            }
        }
        EACH v_out[first + l] = v[l], u_out[first + l] = u[l];
    }
}

void stroop(size_t n, uint64_t n_steps, const REAL *gain, const REAL *strength, REAL *first_out, REAL *second_out)
{
    static const REAL w[4][3] = {{2.2, -2.2, 4}, {-2.2, 2.2, 4}, {2.6, -2.6, 0}, {-2.6, 2.6, 0}}, s[3] = {1, 0, 0.5},
                      u[2][4] = {{1.3, -1.3, 2.5, -2.5}, {-1.3, 1.3, -2.5, 2.5}};

    for (size_t first = 0; first < n; first += LANES) {
        REAL h[4][LANES] = {{0}}, o[2][LANES] = {{0}}, a[4][LANES];

        for (uint64_t step = 0; step < n_steps; step++) {
            for (size_t i = 0; i < 4; i++) {
                REAL sum = w[i][0] * s[0] + w[i][1] * s[1] + w[i][2] * s[2];

                EACH h[i][l] = h[i][l] + (REAL)0.1 * (sum * strength[first + l] - h[i][l]);
                EACH a[i][l] = 1 / (1 + exp(-gain[first + l] * h[i][l]));
            }
            for (size_t i = 0; i < 2; i++) {
                EACH {
                    REAL sum = u[i][0] * a[0][l] + u[i][1] * a[1][l] + u[i][2] * a[2][l] + u[i][3] * a[3][l];

                    o[i][l] = o[i][l] + (REAL)0.1 * (sum - o[i][l]);
                }
            }
        }
        EACH first_out[first + l] = o[0][l], second_out[first + l] = o[1][l];
    }
}
