/* mdf_models.c - the models of bench/models: the first evaluation, which sets initial values, then size[0] steps of *in[0].
 * Parameters are worked out in the order of the model, so that each sees new values of those before it and old ones of those
 * after. */
#include "handwritten.h"

HANDWRITTEN(fitzhugh_nagumo)
{
    double dt = *(const double *)in[0], t = 0, current = 0, v = -1.2, w = -0.6;

    for (int64_t i = 0; i < size[0]; i++) {
        t += dt;
        current = t >= 5 ? 0.6 : 0;
        v += dt * (v - v * v * v / 3 - w + current);
        w += dt * ((v + 0.7 - 0.8 * w) / 12.5);
    }
    *(double *)out[0] = current;
    *(double *)out[1] = v;
    *(double *)out[2] = w;
}

HANDWRITTEN(izhikevich)
{
    double dt = *(const double *)in[0], t = 0, current = 0, v = -65, u = -13, fired = 0;

    for (int64_t i = 0; i < size[0]; i++) {
        double before = v;

        t += dt;
        current = t >= 10 && t < 410 ? 10 : 0;
        fired = before > 30;
        v += dt * (0.04 * v * v + 5 * v + 140 - u + current);
        v = before > 30 ? -65 : v;
        u = fired > 0 ? u + 8 : u + dt * (0.02 * (0.2 * v - u));
    }
    *(double *)out[0] = v;
    *(double *)out[1] = u;
    *(double *)out[2] = fired;
}

HANDWRITTEN(newton_cooling)
{
    double dt = *(const double *)in[0], temperature = 88, flow = -0.02 * (temperature - 21.5);

    for (int64_t i = 0; i < size[0]; i++) {
        temperature += dt * flow;
        flow = -0.02 * (temperature - 21.5);
    }
    *(double *)out[0] = temperature;
    *(double *)out[1] = flow;
}

enum { N = 10 };

struct population {
    double v[N], spike[N];
};

static void step_population(struct population *population, const double *current, double threshold, double dt)
{
    for (int i = 0; i < N; i++) {
        double before = population->v[i], v = before + dt * ((-65 - before) / 12 + current[i]);

        population->spike[i] = before >= threshold;
        population->v[i] = before > threshold ? -65 : v;
    }
}

HANDWRITTEN(integrate_and_fire_net)
{
    double dt = *(const double *)in[0], t = 0, level[N] = {0}, current[N] = {0};
    struct population first = {{0}, {0}}, second = {{0}, {0}};

    for (int i = 0; i < N; i++) {
        first.v[i] = -65 + i;
        second.v[i] = -65;
    }
    for (int64_t step = 0; step < size[0]; step++) {
        t += dt;
        for (int i = 0; i < N; i++) {
            level[i] = t > 10 ? 1 + 0.5 * i : 0;
        }
        step_population(&first, level, -50, dt);
        for (int i = 0; i < N; i++) {
            current[i] += dt * (0.5 * first.spike[i] + 0.1 * first.spike[(i + N - 1) % N] - current[i] / 5);
        }
        step_population(&second, current, -64, dt);
    }
    for (int i = 0; i < N; i++) {
        ((double *)out[0])[i] = first.v[i];
        ((double *)out[1])[i] = current[i];
        ((double *)out[2])[i] = second.v[i];
        ((double *)out[3])[i] = second.spike[i];
    }
}

HANDWRITTEN(switched_rlc)
{
    double dt = *(const double *)in[0], t = 0, voltage = 0, coil = 0, charging = 0;

    for (int64_t i = 0; i < size[0]; i++) {
        double supply, resistor;

        t += dt;
        supply = t >= 0.2 ? 5 : 0;
        voltage += dt * (charging / 0.0022);
        resistor = voltage / 220;
        coil += dt * ((supply - voltage) / 0.5);
        charging = coil - resistor;
    }
    *(double *)out[0] = voltage;
    *(double *)out[1] = coil;
}

/* A runs in every pass, B in every second, C in every third; an evaluation ends when C has run four times. */
HANDWRITTEN(every_n_calls)
{
    int64_t n = 0, b = 0, c = 0, since_b = 0, since_c = 0;

    (void)in;
    for (int64_t i = 0; i <= size[0]; i++) {
        for (int n_c = 0; n_c < 4;) {
            n++;
            if (++since_b == 2) {
                since_b = 0;
                b += n;
            }
            if (++since_c == 3) {
                since_c = 0;
                c += 2 * n;
                n_c++;
            }
        }
    }
    *(double *)out[0] = (double)n;
    *(double *)out[1] = (double)b;
    *(double *)out[2] = (double)c;
}
