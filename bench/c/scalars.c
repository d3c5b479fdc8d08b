/* scalars.c - loops over a few numbers. */
#include "handwritten.h"

#include <math.h>

HANDWRITTEN(logistic_f32)
{
    int64_t n = *(const int64_t *)in[0];
    float r = *(const float *)in[1], x = *(const float *)in[2];

    (void)size;
    for (int64_t i = 0; i < n; i++) {
        x = r * x * (1 - x);
    }
    *(float *)out[0] = x;
}

HANDWRITTEN(logistic_f64)
{
    int64_t n = *(const int64_t *)in[0];
    double r = *(const double *)in[1], x = *(const double *)in[2];

    (void)size;
    for (int64_t i = 0; i < n; i++) {
        x = r * x * (1 - x);
    }
    *(double *)out[0] = x;
}

/* Modulo the prime 998244353. */
HANDWRITTEN(fibonacci)
{
    int64_t n = *(const int64_t *)in[0], a = *(const int64_t *)in[1], b = *(const int64_t *)in[2];

    (void)size;
    for (int64_t i = 0; i < n; i++) {
        int64_t next = (a + b) % 998244353;

        a = b;
        b = next;
    }
    *(int64_t *)out[0] = a;
    *(int64_t *)out[1] = b;
}

/* Steps that all starts from 1 to n take together. */
HANDWRITTEN(collatz)
{
    int64_t n = *(const int64_t *)in[0], n_steps = 0;

    (void)size;
    for (int64_t start = 1; start <= n; start++) {
        for (int64_t k = start; k != 1; n_steps++) {
            k = k % 2 == 0 ? k / 2 : 3 * k + 1;
        }
    }
    *(int64_t *)out[0] = n_steps;
}

/* Square roots of 1 to n. */
HANDWRITTEN(newton)
{
    int64_t n = *(const int64_t *)in[0];
    double *roots = out[0];

    (void)size;
    for (int64_t i = 0; i < n; i++) {
        double a = (double)(i + 1), x = a;

        do {
            x = 0.5 * (x + a / x);
        } while (fabs(x * x - a) > 1e-12 * a);
        roots[i] = x;
    }
}

HANDWRITTEN(dispatch)
{
    int64_t n = *(const int64_t *)in[0];
    double x = *(const double *)in[1];

    (void)size;
    for (int64_t i = 0; i < n; i++) {
        if (i % 3 == 0) {
            x *= 0.5;
        } else {
            x += 1.25;
        }
    }
    *(double *)out[0] = x;
}
