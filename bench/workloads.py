"""Control flow of ONNX to be timed: for each workload a model in ONNX's text form, its inputs, and the same in numpy.

A workload is a row of WORKLOADS; build(name) makes it in its full size, build(name, small=True) in one for evaluators that are a
thousand times slower. `units` counts innermost iterations. The hand-written C of bench/c has the name in `c`, the sizes that it
takes in `c_sizes`, and takes the inputs in the order of the graph."""

import collections
import functools
import re

import numpy as np
import onnx
import onnx.checker
import onnx.parser

Problem = collections.namedtuple("Problem", "name group model inputs units numpy c c_sizes tolerance targets")

# Sums of float32 come out differently in the last digits, by their order; products of 512 terms fifty times over more so.
EXACT, SUMS, LONG_SUMS = 0.0, 2e-5, 1e-4

# A target: how many times slower at least (a peer), or how many times faster at most (C), others are.
SCALARS = {"onnxruntime": 300, "c": 3, "c compiled": 1.2}
ARRAYS = {"c": 1.5, "c compiled": 1.2}
NETS = {"c": 1.3}
PRODUCTS = {"best library": 1.1}

HEAD = """<ir_version: 9, opset_import: ["" : 18]>
"""

LOGISTIC = """logistic (int64 n, REAL r, REAL x_first) => (REAL x)
<bool on = {1}, REAL one = {1}>
{
    x = Loop (n, on, x_first) <body = step (int64 i, bool going, REAL x_in) => (bool go, REAL x_out) {
        go = Identity (going)
        rest = Sub (one, x_in)
        grown = Mul (r, x_in)
        x_out = Mul (grown, rest)
    }>
}"""

FIBONACCI = """fibonacci (int64 n, int64 a_first, int64 b_first) => (int64 a, int64 b)
<bool on = {1}, int64 prime = {998244353}>
{
    a, b = Loop (n, on, a_first, b_first)
        <body = step (int64 i, bool going, int64 a_in, int64 b_in) => (bool go, int64 a_out, int64 b_out) {
        go = Identity (going)
        sum = Add (a_in, b_in)
        a_out = Identity (b_in)
        b_out = Mod (sum, prime)
    }>
}"""

COLLATZ = """collatz (int64 n) => (int64 n_steps)
<bool on = {1}, int64 none = {0}, int64 one = {1}, int64 two = {2}, int64 three = {3}>
{
    n_steps = Loop (n, on, none) <body = start (int64 i, bool going, int64 total) => (bool go, int64 total_out) {
        go = Identity (going)
        k_first = Add (i, one)
        is_more = Greater (k_first, one)
        k_last, total_out = Loop (, is_more, k_first, total)
            <body = step (int64 j, bool is_on, int64 k, int64 steps) => (bool goes_on, int64 k_out, int64 steps_out) {
            odd = Mod (k, two)
            is_even = Equal (odd, none)
            k_out = If (is_even) <
                then_branch = halve () => (int64 half) { half = Div (k, two) },
                else_branch = triple () => (int64 tripled) { thrice = Mul (k, three) tripled = Add (thrice, one) }>
            steps_out = Add (steps, one)
            is_one = Equal (k_out, one)
            goes_on = Not (is_one)
        }>
    }>
}"""

ELMAN = """elman (REAL[B, H] h_first, REAL[S, B, H] x, REAL[H, H] from_x, REAL[H, H] from_h, REAL[H] bias)
    => (REAL[B, H] h_last, REAL[S, B, H] h_all)
{
    h_last, h_all = Scan (h_first, x) <num_scan_inputs = 1, body = cell (REAL[B, H] h, REAL[B, H] x_t)
        => (REAL[B, H] h_out, REAL[B, H] h_row) {
        seen = MatMul (x_t, from_x)
        kept = MatMul (h, from_h)
        both = Add (seen, kept)
        shifted = Add (both, bias)
        h_out = Tanh (shifted)
        h_row = Identity (h_out)
    }>
}"""

CUMULATIVE_SUM = """cumulative_sum (REAL[N] first, REAL[S, N] x) => (REAL[N] last, REAL[S, N] sums)
{
    last, sums = Scan (first, x) <num_scan_inputs = 1, body = add (REAL[N] sum, REAL[N] x_t) => (REAL[N] sum_out, REAL[N] row) {
        sum_out = Add (sum, x_t)
        row = Identity (sum_out)
    }>
}"""

INTEGRATE_AND_FIRE = """integrate_and_fire (REAL[N] v_first, REAL[N] count_first, REAL[S] current, REAL[N] bias)
    => (REAL[N] v, REAL[N] count)
<REAL rate = {0.05}, REAL threshold = {1}, REAL zero = {0}, REAL one = {1}>
{
    v, count = Scan (v_first, count_first, current) <num_scan_inputs = 1,
        body = step (REAL[N] v_in, REAL[N] count_in, REAL current_t) => (REAL[N] v_out, REAL[N] count_out) {
        drive = Add (bias, current_t)
        gap = Sub (drive, v_in)
        rise = Mul (gap, rate)
        risen = Add (v_in, rise)
        fires = GreaterOrEqual (risen, threshold)
        v_out = Where (fires, zero, risen)
        spike = Where (fires, one, zero)
        count_out = Add (count_in, spike)
    }>
}"""

NEWTON = """newton (int64 n) => (double[K] roots)
<bool on = {1}, double one = {1}, double half = {0.5}, double tolerance = {1e-12}>
{
    roots = Loop (n, on) <body = number (int64 i, bool going) => (bool go, double root) {
        go = Identity (going)
        before = Cast <to = 11> (i)
        a = Add (before, one)
        allowed = Mul (tolerance, a)
        root = Loop (, going, a) <body = step (int64 j, bool is_on, double x) => (bool goes_on, double x_out) {
            quotient = Div (a, x)
            sum = Add (x, quotient)
            x_out = Mul (half, sum)
            square = Mul (x_out, x_out)
            difference = Sub (square, a)
            distance = Abs (difference)
            goes_on = Greater (distance, allowed)
        }>
    }>
}"""

DISPATCH = """dispatch (int64 n, double x_first) => (double x)
<bool on = {1}, int64 none = {0}, int64 three = {3}, double half = {0.5}, double more = {1.25}>
{
    x = Loop (n, on, x_first) <body = step (int64 i, bool going, double x_in) => (bool go, double x_out) {
        go = Identity (going)
        left = Mod (i, three)
        is_third = Equal (left, none)
        x_out = If (is_third) <
            then_branch = shrink () => (double less) { less = Mul (x_in, half) },
            else_branch = grow () => (double grown) { grown = Add (x_in, more) }>
    }>
}"""

GRU = """gru (REAL[B, H] h_first, REAL[S, B, H] x, REAL[H, W] from_x, REAL[H, W] from_h, REAL[W] bias_x, REAL[W] bias_h)
    => (REAL[B, H] h_last, REAL[S, B, H] h_all)
{
    h_last, h_all = Scan (h_first, x) <num_scan_inputs = 1, body = cell (REAL[B, H] h, REAL[B, H] x_t)
        => (REAL[B, H] h_out, REAL[B, H] h_row) {
        x_product = MatMul (x_t, from_x)
        x_gates = Add (x_product, bias_x)
        h_product = MatMul (h, from_h)
        h_gates = Add (h_product, bias_h)
        x_update, x_reset, x_candidate = Split <axis = 1, num_outputs = 3> (x_gates)
        h_update, h_reset, h_candidate = Split <axis = 1, num_outputs = 3> (h_gates)
        update_sum = Add (x_update, h_update)
        update = Sigmoid (update_sum)
        reset_sum = Add (x_reset, h_reset)
        reset = Sigmoid (reset_sum)
        remembered = Mul (reset, h_candidate)
        candidate_sum = Add (x_candidate, remembered)
        candidate = Tanh (candidate_sum)
        gap = Sub (h, candidate)
        kept = Mul (update, gap)
        h_out = Add (candidate, kept)
        h_row = Identity (h_out)
    }>
}"""

MANDELBROT = """mandelbrot (int64 n, REAL[N] zero_all, REAL[N] re, REAL[N] im) => (REAL[N] count)
<bool on = {1}, REAL zero = {0}, REAL one = {1}, REAL two = {2}, REAL four = {4}>
{
    x, y, count = Loop (n, on, zero_all, zero_all, zero_all)
        <body = step (int64 i, bool going, REAL[N] x_in, REAL[N] y_in, REAL[N] count_in)
        => (bool go, REAL[N] x_out, REAL[N] y_out, REAL[N] count_out) {
        go = Identity (going)
        xx = Mul (x_in, x_in)
        yy = Mul (y_in, y_in)
        size = Add (xx, yy)
        is_inside = LessOrEqual (size, four)
        inside = Where (is_inside, one, zero)
        count_out = Add (count_in, inside)
        difference = Sub (xx, yy)
        x_next = Add (difference, re)
        product = Mul (x_in, y_in)
        twice = Mul (product, two)
        y_next = Add (twice, im)
        x_out = Where (is_inside, x_next, x_in)
        y_out = Where (is_inside, y_next, y_in)
    }>
}"""

MATRIX_PRODUCTS = """matrix_products (REAL[N, N] first, REAL[S, N] x, REAL[N, N] weights) => (REAL[N, N] last)
{
    last = Scan (first, x) <num_scan_inputs = 1, body = step (REAL[N, N] state, REAL[N] x_t) => (REAL[N, N] state_out) {
        product = MatMul (state, weights)
        state_out = Add (product, x_t)
    }>
}"""

DRIFT_DIFFUSION = """drift_diffusion (REAL[N] x_first, REAL[N] time_first, REAL[S, N] noise) => (REAL[N] x, REAL[N] time)
<REAL bound = {1}, REAL zero = {0}, REAL dt = {0.002}, REAL drift = {0.001}, REAL spread = {0.04472136}>
{
    x, time = Scan (x_first, time_first, noise) <num_scan_inputs = 1,
        body = step (REAL[N] x_in, REAL[N] time_in, REAL[N] noise_t) => (REAL[N] x_out, REAL[N] time_out) {
        distance = Abs (x_in)
        is_open = Less (distance, bound)
        shaken = Mul (noise_t, spread)
        move = Add (shaken, drift)
        moved = Add (x_in, move)
        x_out = Where (is_open, moved, x_in)
        tick = Where (is_open, dt, zero)
        time_out = Add (time_in, tick)
    }>
}"""


FILTER = """    last_%d, rows_%d = Scan (first, rows_%d) <num_scan_inputs = 1, body = filter_%d (REAL[N] s_%d, REAL[N] x_%d)
        => (REAL[N] next_%d, REAL[N] row_%d) {
        gap_%d = Sub (x_%d, s_%d)
        part_%d = Mul (gap_%d, rate)
        next_%d = Add (s_%d, part_%d)
        row_%d = Identity (next_%d)
    }>
"""

# Four filters, each of what the one before yields.
FILTERS = """filters (REAL[N] first, REAL[S, N] rows_0) => (REAL[N] last_4, REAL[S, N] rows_4)
<REAL rate = {0.125}>
{
""" + "".join(FILTER.replace("rows_%d)", f"rows_{k - 1})").replace("%d", str(k)) for k in (1, 2, 3, 4)) + "}"

MAP_AND_FOLD = """map_and_fold (REAL[N] first, REAL[S, N] x) => (REAL[N] last)
<REAL decay = {0.9}>
{
    mapped = Scan (x) <num_scan_inputs = 1, body = each (REAL[N] x_t) => (REAL[N] y_t) {
        square = Mul (x_t, x_t)
        y_t = Sub (square, x_t)
    }>
    last = Scan (first, mapped) <num_scan_inputs = 1, body = all (REAL[N] total, REAL[N] z_t) => (REAL[N] total_out) {
        kept = Mul (total, decay)
        total_out = Add (kept, z_t)
    }>
}"""

BOTH_WAYS = """both_ways (REAL[N] first, REAL[S, N] x) => (REAL[S, N] forward, REAL[S, N] backward)
<REAL decay = {0.9}>
{
    last, forward = Scan (first, x) <num_scan_inputs = 1, body = on (REAL[N] f, REAL[N] x_f) => (REAL[N] f_out, REAL[N] f_row) {
        f_kept = Mul (f, decay)
        f_out = Add (f_kept, x_f)
        f_row = Identity (f_out)
    }>
    earliest, backward = Scan (first, x) <num_scan_inputs = 1, scan_input_directions = [1], scan_output_directions = [1],
        body = back (REAL[N] b, REAL[N] x_b) => (REAL[N] b_out, REAL[N] b_row) {
        b_kept = Mul (b, decay)
        b_out = Add (b_kept, x_b)
        b_row = Identity (b_out)
    }>
}"""

CELL = """    last_%d, rows_%d = Scan (h_first, rows_%d) <num_scan_inputs = 1, body = cell_%d (REAL[B, H] h_%d, REAL[B, H] x_%d)
        => (REAL[B, H] out_%d, REAL[B, H] row_%d) {
        seen_%d = MatMul (x_%d, from_x)
        kept_%d = MatMul (h_%d, from_h)
        both_%d = Add (seen_%d, kept_%d)
        sum_%d = Add (both_%d, bias)
        out_%d = Tanh (sum_%d)
        row_%d = Identity (out_%d)
    }>
"""

# Three layers with the same weights.
ELMAN_LAYERS = """elman_layers (REAL[B, H] h_first, REAL[S, B, H] rows_0, REAL[H, H] from_x, REAL[H, H] from_h, REAL[H] bias)
    => (REAL[B, H] last_3, REAL[S, B, H] rows_3)
{
""" + "".join(CELL.replace("rows_%d)", f"rows_{k - 1})").replace("%d", str(k)) for k in (1, 2, 3)) + "}"


def parse(text, dtype="float32", **sizes):
    """A model of a text, with its element type and the names of its axes filled in."""
    text = text.replace("REAL", {"float32": "float", "float64": "double"}[dtype])
    for name, size in sizes.items():
        text = re.sub(rf"(?<=[\[ ]){name}(?=[,\]])", str(size), text)
    model = onnx.parser.parse_model(HEAD + text)
    onnx.checker.check_model(model, full_check=True)
    return model


def random(seed):
    return np.random.default_rng(seed)


# ---------------------------------------------------------------- scalars


def logistic(n=1_000_000, dtype="float64"):
    def plain(n, r, x):
        one = np.asarray(1, dtype)[()]
        r, x = r[()], x[()]
        if dtype == "float64":
            r, x, one = float(r), float(x), 1.0
        for _ in range(int(n)):
            x = r * x * (one - x)
        return [np.asarray(x, dtype)]

    inputs = {"n": np.array(n), "r": np.array(3.7, dtype), "x_first": np.array(0.3, dtype)}
    return parse(LOGISTIC, dtype), inputs, n, plain, "logistic_f32" if dtype == "float32" else "logistic_f64", []


def fibonacci(n=1_000_000):
    def plain(n, a, b):
        a, b = int(a), int(b)
        for _ in range(int(n)):
            a, b = b, (a + b) % 998244353
        return [np.array(a), np.array(b)]

    return parse(FIBONACCI), {"n": np.array(n), "a_first": np.array(0), "b_first": np.array(1)}, n, plain, "fibonacci", []


@functools.cache
def collatz_steps(n):
    steps = 0
    for k in range(1, n + 1):
        while k != 1:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            steps += 1
    return steps


def collatz(n=20_000):
    def plain(n):
        return [np.array(collatz_steps.__wrapped__(int(n)))]

    return parse(COLLATZ), {"n": np.array(n)}, collatz_steps(n), plain, "collatz", []


def newton_roots(n):
    roots, steps = np.empty(n), 0
    for i in range(n):
        a = x = float(i + 1)
        going = True
        while going:
            x = 0.5 * (x + a / x)
            going = abs(x * x - a) > 1e-12 * a
            steps += 1
        roots[i] = x
    return roots, steps


def newton(n=10_000):
    def plain(n):
        return [newton_roots(int(n))[0]]

    return parse(NEWTON), {"n": np.array(n)}, newton_roots(n)[1], plain, "newton", []


def dispatch(n=200_000):
    def plain(n, x):
        x = float(x)
        for i in range(int(n)):
            x = x * 0.5 if i % 3 == 0 else x + 1.25
        return [np.array(x)]

    return parse(DISPATCH), {"n": np.array(n), "x_first": np.array(0.1)}, n, plain, "dispatch", []


# ---------------------------------------------------------------- arrays


def cumulative_sum(n=1000, steps=1000):
    def plain(first, x):
        total, rows = first, np.empty_like(x)
        for t, row in enumerate(x):
            rows[t] = total = total + row
        return [total, rows]

    inputs = {"first": np.zeros(n, "float32"), "x": random(5).standard_normal((steps, n), "float32")}
    return parse(CUMULATIVE_SUM, N=n, S=steps), inputs, steps, plain, "cumulative_sum", [steps, n]


def integrate_and_fire(n=100, steps=10_000, dtype="float32"):
    def plain(v, count, current, bias):
        zero, one, rate = (np.asarray(x, dtype) for x in (0, 1, 0.05))
        for level in current:
            risen = v + (bias + level - v) * rate
            fires = risen >= one
            v, count = np.where(fires, zero, risen), count + np.where(fires, one, zero)
        return [v, count]

    generator = random(6)
    inputs = {"v_first": np.zeros(n, dtype), "count_first": np.zeros(n, dtype),
              "current": generator.uniform(-0.5, 0.5, steps).astype(dtype), "bias": generator.uniform(0.7, 2.5, n).astype(dtype)}
    name = "integrate_and_fire_f32" if dtype == "float32" else "integrate_and_fire_f64"
    return parse(INTEGRATE_AND_FIRE, dtype, N=n, S=steps), inputs, steps, plain, name, [steps, n]


def mandelbrot(side=256, n=200):
    def plain(n, zero_all, re, im):
        x = y = count = zero_all
        zero, one, two, four = (np.float32(k) for k in (0, 1, 2, 4))
        for _ in range(int(n)):
            xx, yy = x * x, y * y
            inside = xx + yy <= four
            count = count + np.where(inside, one, zero)
            x, y = np.where(inside, xx - yy + re, x), np.where(inside, x * y * two + im, y)
        return [count]

    re, im = np.meshgrid(np.linspace(-2.1, 0.6, side, dtype="float32"), np.linspace(-1.2, 1.2, side, dtype="float32"))
    inputs = {"n": np.array(n), "zero_all": np.zeros(side * side, "float32"), "re": re.ravel(), "im": im.ravel()}
    return parse(MANDELBROT, N=side * side), inputs, n, plain, "mandelbrot", [side * side]


def drift_diffusion(n=10_000, steps=1000):
    def plain(x, time, noise):
        zero, dt, drift, spread, bound = (np.float32(k) for k in (0, 0.002, 0.001, 0.04472136, 1))
        for row in noise:
            undecided = np.abs(x) < bound
            x, time = np.where(undecided, x + (row * spread + drift), x), time + np.where(undecided, dt, zero)
        return [x, time]

    inputs = {"x_first": np.zeros(n, "float32"), "time_first": np.zeros(n, "float32"),
              "noise": random(12).standard_normal((steps, n), "float32")}
    return parse(DRIFT_DIFFUSION, N=n, S=steps), inputs, steps, plain, "drift_diffusion", [steps, n]


# ---------------------------------------------------------------- loops in succession


def filters(n=64, steps=2000):
    def plain(first, rows):
        rate = np.float32(0.125)
        for _ in range(4):
            state, next_rows = first, np.empty_like(rows)
            for t, row in enumerate(rows):
                next_rows[t] = state = state + (row - state) * rate
            rows = next_rows
        return [state, rows]

    inputs = {"first": np.zeros(n, "float32"), "rows_0": random(11).standard_normal((steps, n), "float32")}
    return parse(FILTERS, N=n, S=steps), inputs, steps, plain, "filters", [steps, n]


def map_and_fold(n=64, steps=2000):
    def plain(total, x):
        for row in x:
            total = total * np.float32(0.9) + (row * row - row)
        return [total]

    inputs = {"first": np.zeros(n, "float32"), "x": random(12).standard_normal((steps, n), "float32")}
    return parse(MAP_AND_FOLD, N=n, S=steps), inputs, steps, plain, "map_and_fold", [steps, n]


def both_ways(n=4, steps=2000):
    def plain(first, x):
        sides = []
        for rows in (x, x[::-1]):
            state, made = first, np.empty_like(x)
            for t, row in enumerate(rows):
                made[t] = state = state * np.float32(0.9) + row
            sides.append(made)
        return [sides[0], sides[1][::-1]]

    inputs = {"first": np.zeros(n, "float32"), "x": random(13).standard_normal((steps, n), "float32")}
    return parse(BOTH_WAYS, N=n, S=steps), inputs, steps, plain, "both_ways", [steps, n]


# ---------------------------------------------------------------- nets and products


def weights(generator, rows, columns, scale=1.0):
    return (scale / np.sqrt(rows) * generator.standard_normal((rows, columns))).astype("float32")


def elman(hidden=64, batch=1, steps=1000):
    def plain(h, x, from_x, from_h, bias):
        rows = np.empty_like(x)
        for t, x_t in enumerate(x):
            rows[t] = h = np.tanh(x_t @ from_x + h @ from_h + bias)
        return [h, rows]

    generator = random(4)
    inputs = {"h_first": np.zeros((batch, hidden), "float32"), "x": generator.standard_normal((steps, batch, hidden), "float32"),
              "from_x": weights(generator, hidden, hidden), "from_h": weights(generator, hidden, hidden, 0.6),
              "bias": weights(generator, hidden, hidden)[0]}
    return parse(ELMAN, B=batch, H=hidden, S=steps), inputs, steps, plain, "elman", [steps, batch, hidden]


def elman_layers(hidden=8, batch=1, steps=1000):
    _, inputs, _, layer, _, _ = elman(hidden, batch, steps)

    def plain(h, rows, *weights):
        for _ in range(3):
            last, rows = layer(h, rows, *weights)
        return [last, rows]

    inputs = {"rows_0" if name == "x" else name: value for name, value in inputs.items()}
    return parse(ELMAN_LAYERS, B=batch, H=hidden, S=steps), inputs, steps, plain, "elman_layers", [steps, batch, hidden]


def gru(hidden=128, batch=1, steps=500):
    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    def plain(h, x, from_x, from_h, bias_x, bias_h):
        rows = np.empty_like(x)
        for t, x_t in enumerate(x):
            x_update, x_reset, x_candidate = np.split(x_t @ from_x + bias_x, 3, axis=1)
            h_update, h_reset, h_candidate = np.split(h @ from_h + bias_h, 3, axis=1)
            candidate = np.tanh(x_candidate + sigmoid(x_reset + h_reset) * h_candidate)
            rows[t] = h = candidate + sigmoid(x_update + h_update) * (h - candidate)
        return [h, rows]

    generator, wide = random(9), 3 * hidden
    inputs = {"h_first": np.zeros((batch, hidden), "float32"), "x": generator.standard_normal((steps, batch, hidden), "float32"),
              "from_x": weights(generator, hidden, wide), "from_h": weights(generator, hidden, wide),
              "bias_x": weights(generator, hidden, wide)[0], "bias_h": weights(generator, hidden, wide)[0]}
    return parse(GRU, B=batch, H=hidden, S=steps, W=wide), inputs, steps, plain, "gru", [steps, batch, hidden]


def matrix_products(n=512, steps=50):
    def plain(state, x, by):
        for x_t in x:
            state = state @ by + x_t
        return [state]

    generator = random(11)
    inputs = {"first": generator.standard_normal((n, n), "float32"), "x": generator.standard_normal((steps, n), "float32"),
              "weights": weights(generator, n, n, 0.9)}
    return parse(MATRIX_PRODUCTS, N=n, S=steps), inputs, steps, plain, "matrix_products", [steps, n]


# ---------------------------------------------------------------- all

Row = collections.namedtuple("Row", "make sizes small group tolerance targets")

WORKLOADS = {
    "logistic float64": Row(logistic, {}, {"n": 2000}, "scalar bodies", EXACT, SCALARS),
    "logistic float32": Row(logistic, {"dtype": "float32"}, {"n": 2000}, "scalar bodies", EXACT, SCALARS),
    "fibonacci": Row(fibonacci, {}, {"n": 2000}, "scalar bodies", EXACT, SCALARS),
    "collatz": Row(collatz, {}, {"n": 60}, "scalar bodies", EXACT, SCALARS),
    "newton": Row(newton, {}, {"n": 100}, "scalar bodies", EXACT, SCALARS),
    "dispatch": Row(dispatch, {}, {"n": 1000}, "scalar bodies", EXACT, SCALARS),
    **{f"integrate and fire {dtype} n={n}": Row(integrate_and_fire, {"n": n, "dtype": dtype}, {"steps": 200},
                                               "scalar bodies" if n == 1 else "arrays", EXACT, SCALARS if n == 1 else ARRAYS)
       for n in (1, 100, 10_000) for dtype in ("float32", "float64")},
    "cumulative sum": Row(cumulative_sum, {}, {"steps": 100}, "arrays", EXACT, ARRAYS),
    "mandelbrot": Row(mandelbrot, {}, {"n": 10}, "arrays", EXACT, ARRAYS),
    "drift diffusion": Row(drift_diffusion, {}, {"steps": 50}, "arrays", EXACT, ARRAYS),
    **{f"elman h={hidden} batch={batch}": Row(elman, {"hidden": hidden, "batch": batch}, {"steps": 50}, "recurrent nets", SUMS,
                                             NETS)
       for hidden in (4, 16, 64, 256) for batch in (1, 16)},
    **{f"filters n={n}": Row(filters, {"n": n}, {"steps": 100}, "loops in succession", EXACT, ARRAYS) for n in (1, 64)},
    "map and fold": Row(map_and_fold, {}, {"steps": 100}, "loops in succession", EXACT, ARRAYS),
    "both ways": Row(both_ways, {}, {"steps": 100}, "loops in succession", EXACT, ARRAYS),
    **{f"elman of three layers h={hidden}": Row(elman_layers, {"hidden": hidden}, {"steps": 50}, "loops in succession", SUMS, NETS)
       for hidden in (8, 64)},
    "gru": Row(gru, {}, {"steps": 50}, "recurrent nets", SUMS, NETS),
    "matrix products": Row(matrix_products, {}, {"steps": 5}, "products", LONG_SUMS, PRODUCTS),
}


def build(name, small=False, **sizes):
    row = WORKLOADS[name]
    model, inputs, units, plain, c, c_sizes = row.make(**{**row.sizes, **(row.small if small else {}), **sizes})
    return Problem(name, row.group, model, inputs, units, plain, c, c_sizes, row.tolerance, row.targets)
