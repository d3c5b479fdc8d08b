/* test_recurrent_oracles.c - RNN, GRU and LSTM against their equations, written out step by step: both directions, sequences of
 * several lengths, biases, peepholes, states to start from, and both layouts. */
#include "tests/support/kernel_call.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum kind { RNN, GRU, LSTM };

enum { MOST_UNITS = 70, MOST_STEPS = 6, N_CASES = 75 };

struct net {
    enum kind kind;
    int64_t n_steps, n_batch, n_inputs, n_units, n_directions, n_gates, layout;
    bool is_reverse;                                                        /* the only direction */
    int64_t after_reset;                                                    /* linear_before_reset */
    const struct mdf_value *x, *w, *r, *bias, *lengths, *h, *c, *peepholes; /* NULL: not given */
};

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double x_at(const struct net *net, int64_t step, int64_t member, int64_t i)
{
    int64_t row = net->layout == 0 ? step * net->n_batch + member : member * net->n_steps + step;

    return kernel_number(net->x, (size_t)(row * net->n_inputs + i));
}

static size_t state_at(const struct net *net, int64_t direction, int64_t member, int64_t unit)
{
    int64_t row = net->layout == 0 ? direction * net->n_batch + member : member * net->n_directions + direction;

    return (size_t)(row * net->n_units + unit);
}

/* W x of one gate of one unit, and its bias; */
static double of_input(const struct net *net, int64_t direction, int64_t gate, int64_t unit, int64_t step, int64_t member)
{
    int64_t row = (direction * net->n_gates + gate) * net->n_units + unit;
    double sum =
        net->bias == NULL ? 0 : kernel_number(net->bias, (size_t)((direction * 2 * net->n_gates + gate) * net->n_units + unit));

    for (int64_t i = 0; i < net->n_inputs; i++) {
        sum += kernel_number(net->w, (size_t)(row * net->n_inputs + i)) * x_at(net, step, member, i);
    }
    return sum;
}

/* R h likewise, each element of h times `reset` where that is given. */
static double of_state(const struct net *net, int64_t direction, int64_t gate, int64_t unit, const double *h, const double *reset)
{
    int64_t row = (direction * net->n_gates + gate) * net->n_units + unit;
    int64_t bias = (direction * 2 * net->n_gates + net->n_gates + gate) * net->n_units + unit;
    double sum = net->bias == NULL ? 0 : kernel_number(net->bias, (size_t)bias);

    for (int64_t i = 0; i < net->n_units; i++) {
        sum += kernel_number(net->r, (size_t)(row * net->n_units + i)) * h[i] * (reset != NULL ? reset[i] : 1);
    }
    return sum;
}

static double peephole(const struct net *net, int64_t direction, int64_t gate, int64_t unit)
{
    return net->peepholes == NULL ? 0 : kernel_number(net->peepholes, (size_t)((direction * 3 + gate) * net->n_units + unit));
}

/* One step of one member: h and c become the next ones. */
static void take_step(const struct net *net, int64_t direction, int64_t step, int64_t member, double *h, double *c)
{
    double before[MOST_UNITS], reset[MOST_UNITS];

    memcpy(before, h, sizeof before);
    for (int64_t unit = 0; net->kind == GRU && unit < net->n_units; unit++) {
        reset[unit] = sigmoid(of_input(net, direction, 1, unit, step, member) + of_state(net, direction, 1, unit, before, NULL));
    }
    for (int64_t unit = 0; unit < net->n_units; unit++) {
        double gates[4];

        for (int64_t gate = 0; gate < net->n_gates; gate++) {
            gates[gate] = of_input(net, direction, gate, unit, step, member);
            gates[gate] += net->kind == GRU && gate == 2 ? 0 : of_state(net, direction, gate, unit, before, NULL);
        }
        if (net->kind == RNN) {
            h[unit] = tanh(gates[0]);
        } else if (net->kind == GRU) { /* z, r, h */
            double z = sigmoid(gates[0]), hidden;

            hidden = net->after_reset ? reset[unit] * of_state(net, direction, 2, unit, before, NULL)
                                      : of_state(net, direction, 2, unit, before, reset);
            h[unit] = (1 - z) * tanh(gates[2] + hidden) + z * before[unit];
        } else { /* i, o, f, c */
            double in = sigmoid(gates[0] + peephole(net, direction, 0, unit) * c[unit]);
            double forget = sigmoid(gates[2] + peephole(net, direction, 2, unit) * c[unit]);

            c[unit] = forget * c[unit] + in * tanh(gates[3]);
            h[unit] = sigmoid(gates[1] + peephole(net, direction, 1, unit) * c[unit]) * tanh(c[unit]);
        }
    }
}

static void check_member(const struct net *net, const struct kernel_call *call, int64_t direction, int64_t member,
                         double tolerance)
{
    int64_t length = net->lengths == NULL ? net->n_steps : kernel_whole(net->lengths, (size_t)member);
    bool backward = net->is_reverse || direction == 1;
    double h[MOST_UNITS] = {0}, c[MOST_UNITS] = {0};

    for (int64_t unit = 0; unit < net->n_units; unit++) {
        h[unit] = net->h == NULL ? 0 : kernel_number(net->h, state_at(net, direction, member, unit));
        c[unit] = net->c == NULL ? 0 : kernel_number(net->c, state_at(net, direction, member, unit));
    }
    for (int64_t i = 0; i < net->n_steps; i++) {
        int64_t step = i >= length ? i : backward ? length - 1 - i : i, row;

        if (i < length) {
            take_step(net, direction, step, member, h, c);
        }
        row = net->layout == 0 ? (step * net->n_directions + direction) * net->n_batch + member
                               : (member * net->n_steps + step) * net->n_directions + direction;
        for (int64_t unit = 0; unit < net->n_units; unit++) { /* behind the end: zeros */
            kernel_check(call, 0, (size_t)(row * net->n_units + unit), i < length ? h[unit] : 0, tolerance);
        }
    }
    for (int64_t unit = 0; unit < net->n_units; unit++) {
        kernel_check(call, 1, state_at(net, direction, member, unit), h[unit], tolerance);
        if (net->kind == LSTM) {
            kernel_check(call, 2, state_at(net, direction, member, unit), c[unit], tolerance);
        }
    }
}

/* An input that may be left out. */
static const struct mdf_value *add_perhaps(struct kernel_call *call, mdf_dtype dtype, size_t rank, const int64_t *shape)
{
    if (kernel_pick(0, 1) == 0) {
        kernel_omit(call);
        return NULL;
    }
    return kernel_add(call, dtype, rank, shape, NUMBERS_SHORT, kernel_pick(0, 1) == 1);
}

static void add_inputs(struct net *net, struct kernel_call *call, mdf_dtype dtype)
{
    bool turned = net->layout == 1;
    int64_t rows = net->n_gates * net->n_units;
    const int64_t state[3] = {turned ? net->n_batch : net->n_directions, turned ? net->n_directions : net->n_batch, net->n_units};

    net->x =
        kernel_add(call, dtype, 3,
                   (const int64_t[3]){turned ? net->n_batch : net->n_steps, turned ? net->n_steps : net->n_batch, net->n_inputs},
                   NUMBERS_SHORT, false);
    net->w = kernel_add(call, dtype, 3, (const int64_t[3]){net->n_directions, rows, net->n_inputs}, NUMBERS_SHORT, true);
    net->r = kernel_add(call, dtype, 3, (const int64_t[3]){net->n_directions, rows, net->n_units}, NUMBERS_SHORT,
                        kernel_pick(0, 1) == 1);
    net->bias = add_perhaps(call, dtype, 2, (const int64_t[2]){net->n_directions, 2 * rows});
    net->lengths = add_perhaps(call, MDF_DTYPE_INT32, 1, &net->n_batch);
    for (int64_t i = 0; net->lengths != NULL && i < net->n_batch; i++) {
        ((int32_t *)net->lengths->data)[i] = (int32_t)kernel_pick(1, net->n_steps);
    }
    net->h = add_perhaps(call, dtype, 3, state);
    if (net->kind == LSTM) {
        net->c = add_perhaps(call, dtype, 3, state);
        net->peepholes = add_perhaps(call, dtype, 2, (const int64_t[2]){net->n_directions, 3 * net->n_units});
    }
}

static void check_net(enum kind kind, mdf_dtype dtype, double tolerance)
{
    static const char *const names[] = {"RNN", "GRU", "LSTM"}, *const directions[] = {"forward", "reverse", "bidirectional"};
    static const int64_t n_gates[] = {1, 3, 4};
    int64_t direction = kernel_pick(0, 2);
    struct net net = {.kind = kind,
                      .n_steps = kernel_pick(1, MOST_STEPS),
                      .n_batch = kernel_pick(1, 5),
                      .n_inputs = kernel_pick(1, 20),
                      .n_units = kernel_pick(0, 3) == 0 ? kernel_pick(30, MOST_UNITS) : kernel_pick(1, 9),
                      .n_directions = direction == 2 ? 2 : 1,
                      .n_gates = n_gates[kind],
                      .layout = kernel_pick(0, 1),
                      .is_reverse = direction == 1,
                      .after_reset = kernel_pick(0, 1)};
    struct kernel_call call;

    kernel_begin(&call, names[kind], 22);
    kernel_set_int(&call, "hidden_size", net.n_units);
    kernel_set_int(&call, "layout", net.layout);
    kernel_set_text(&call, "direction", directions[direction]);
    if (kind == GRU) {
        kernel_set_int(&call, "linear_before_reset", net.after_reset);
    }
    call.call.n_outputs = kind == LSTM ? 3 : 2;
    add_inputs(&net, &call, dtype);
    kernel_run(&call);
    for (int64_t member = 0; member < net.n_batch; member++) {
        for (int64_t i = 0; i < net.n_directions; i++) {
            check_member(&net, &call, i, member, tolerance);
        }
    }
    kernel_end(&call);
}

/* Rounding errors of float32 pass through some steps of sums of up to 90 products. */
Test(recurrent_oracles, nets)
{
    for (size_t i = 0; i < N_CASES; i++) {
        for (enum kind kind = RNN; kind <= LSTM; kind++) {
            check_net(kind, MDF_DTYPE_FLOAT32, 5e-3);
            check_net(kind, MDF_DTYPE_FLOAT64, 1e-9);
        }
    }
}
