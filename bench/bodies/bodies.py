"""Bodies of Loop, Scan and If as users write them: for each a function of a model (tracing.py) that makes its inputs, its loop and
its outputs, and gives the number of innermost iterations. bodies.c and bodies_arrays.c have the same by hand, with the same sizes, under the
same name."""

import numpy as np

BODIES = {}
RANDOM = np.random.default_rng(7)


def body(function):
    BODIES[function.__name__] = function
    return function


def normal(*shape, dtype="float32"):
    return RANDOM.standard_normal(shape).astype(dtype)


def uniform(*shape, dtype="float32"):
    return RANDOM.random(shape).astype(dtype)


def whole(limit, *shape):
    return RANDOM.integers(0, limit, shape)


def zeros(*shape, dtype="float32"):
    return np.zeros(shape, dtype)


# ---------------------------------------------------------------- random numbers


@body
def random_walk(m):
    """A walk by a step of 1 to one side or the other, and how far it came."""
    def step(i, x, far):
        x = x + m.Where(m.RandomUniform(shape=[1]) < 0.5, -1.0, 1.0)
        return x, m.Max(far, m.Abs(x))

    m.output(*m.loop(m.input("n", 50_000), step, m.input("x", zeros(1)), m.input("far", zeros(1))))
    return 50_000


@body
def annealing(m):
    """A ring of 64 spins that are turned at random, less and less against the field."""
    def step(spins, j, u, cold):
        spin, right, left = spins[j], spins[(j + 1) % 64], spins[(j + 63) % 64]
        cost = spin * (left + right) * 2.0
        turned = m.Where(u < m.Exp(-cost * cold), -spin, spin)
        return m.ScatterElements(spins, m.Reshape(j, np.array([1])), m.Reshape(turned, np.array([1])))

    t = 20_000
    m.output(m.scan(step, [m.input("spins", np.ones(64, "float32"))],
                    [m.input("j", whole(64, t)), m.input("u", uniform(t)), m.input("cold", np.linspace(0.1, 2, t, dtype="float32"))]))
    return t


@body
def metropolis(m):
    """A walk whose steps are accepted by what a function says of where they lead, and how often."""
    def step(x, worth, n, noise, u):
        there = x + noise * 0.5
        worth_there = there * there * -0.5 + m.Cos(there * 3.0)
        accepted = m.Log(u) < worth_there - worth
        return m.Where(accepted, there, x), m.Where(accepted, worth_there, worth), n + accepted.to("int64")

    t = 20_000
    m.output(*m.scan(step, [m.input("x", zeros()), m.input("worth", np.float32(1)), m.input("n", np.array(0))],
                     [m.input("noise", normal(t)), m.input("u", uniform(t))]))
    return t


@body
def particle_filter(m):
    """64 particles are moved, weighed by a measurement, and drawn anew in even steps of the weights' sum."""
    def step(x, y, noise, u):
        moved = x * 0.95 + noise
        gap = moved - y
        weight = m.Exp(gap * gap * -0.5)
        share = m.CumSum(weight, np.array(0)) / m.sum(weight, 0, 1)
        at = (m.constant(np.arange(64, dtype="float32"), "float32") + u) / 64.0
        chosen = m.sum((share[None, :] < at[:, None]).to("int64"), 1)
        drawn = moved[m.Min(chosen, 63)]
        return drawn, m.ReduceMean(drawn, np.array([0]), keepdims=0)

    t = 500
    m.output(*m.scan(step, [m.input("x", normal(64))], [m.input("y", normal(t)), m.input("noise", normal(t, 64)), m.input("u", uniform(t))]))
    return t


# ---------------------------------------------------------------- tables


@body
def histogram(m):
    """Points into 16 by 16 boxes."""
    def step(boxes, point):
        at = m.Floor(point * 16.0).to("int64")
        return m.ScatterND(boxes, at[None], m.constant(np.ones(1, "float32"), None), reduction="add")

    m.output(m.scan(step, [m.input("boxes", zeros(16, 16))], [m.input("points", uniform(20_000, 2))]))
    return 20_000


@body
def counts(m):
    """Rows of 64 numbers each into 32 bins: a scatter with sums for each row."""
    def step(bins, x):
        at = m.Min(m.Floor(x * 32.0).to("int64"), 31)
        return m.ScatterElements(bins, at, m.constant(np.ones(64, "float32"), None), reduction="add")

    t = 1000
    m.output(m.scan(step, [m.input("bins", zeros(32))], [m.input("x", uniform(t, 64))]))
    return 64 * t


@body
def kept_sums(m):
    """Sums, squares and counts of 8 groups in one state of 24 numbers, read and put at places that the group says."""
    def step(sums, group, x):
        for part, more in enumerate((x, x * x, 1.0)):
            at = group + 8 * part
            sums = put(m, sums, at, sums[at] + more)
        return sums, sums[group] / sums[group + 16]

    t = 20_000
    m.output(*m.scan(step, [m.input("sums", zeros(24))], [m.input("group", whole(8, t)), m.input("x", normal(t))]))
    return t


@body
def knapsack(m):
    """The most worth for each of 1001 weights."""
    places = np.arange(1001)

    def step(best, weight, worth):
        at = m.constant(places, None) - weight
        taken = best[m.Max(at, 0)] + worth
        return m.Max(best, m.Where(at >= 0, taken, -1.0))

    m.output(m.scan(step, [m.input("best", zeros(1001))], [m.input("weight", whole(200, 100) + 1), m.input("worth", uniform(100))]))
    return 100


@body
def edit_distance(m):
    """Of two words of 100 letters, row by row."""
    def row(above, letter, other):
        def cell(left, corner, up, b):
            best = m.Min(m.Min(left, up) + 1, corner + m.Where(m.Equal(letter, b), m.constant(0, "int64"), 1))
            return best, up, best

        first = above[0] + 1
        _, _, cells = m.scan(cell, [first, above[0]], [above[1:], other])
        return m.Concat(m.Reshape(first, np.array([1])), cells, axis=0)

    other = m.input("other", whole(4, 100))
    m.output(m.scan(lambda above, letter: row(above, letter, other), [m.input("above", np.arange(101))], [m.input("word", whole(4, 100))]))
    return 10_000


@body
def ring_buffer(m):
    """An echo: what was heard 64 samples ago is added."""
    def step(i, ring):
        at = m.Reshape(i % 64, np.array([1]))
        heard = x[m.Reshape(i, np.array([1]))] + ring[at] * 0.6
        return m.ScatterElements(ring, at, heard), heard

    x = m.input("x", normal(20_000))
    m.output(*m.loop(m.input("n", 20_000), step, m.input("ring", zeros(64))))
    return 20_000


@body
def automaton(m):
    """States by a table of 16 states and 4 letters, and how often it accepts."""
    def step(state, n, letter):
        state = table[state * 4 + letter]
        return state, n + accepts[state]

    table, accepts = m.input("table", whole(16, 64)), m.input("accepts", whole(2, 16))
    m.output(*m.scan(step, [m.input("state", np.array(0)), m.input("n", np.array(0))], [m.input("word", whole(4, 50_000))]))
    return 50_000


@body
def bubble_sort(m):
    """256 numbers by neighbours that change places."""
    def inner(j, x):
        at = m.Concat(m.Reshape(j, np.array([1])), m.Reshape(j + 1, np.array([1])), axis=0)
        pair = x[at]
        a, b = pair[0:1], pair[1:2]
        return m.ScatterElements(x, at, m.Concat(m.Min(a, b), m.Max(a, b), axis=0))

    m.output(m.loop(m.input("n", 256), lambda i, x: m.loop(255 - i, inner, x), m.input("x", normal(256))))
    return 256 * 255 // 2


@body
def gibbs(m):
    """A lattice of 32 by 32 spins, each drawn anew as those around it say."""
    n = 32

    def step(spins, i, j, u):
        around = spins[i][(j + 1) % n] + spins[i][(j + n - 1) % n] + spins[(i + 1) % n][j] + spins[(i + n - 1) % n][j]
        spin = m.Where(u < m.Sigmoid(around * 0.88), m.constant(1.0, "float32"), -1.0)
        at = m.Concat(m.Reshape(i, np.array([1])), m.Reshape(j, np.array([1])), axis=0)
        return m.ScatterND(spins, at[None], m.Reshape(spin, np.array([1])))

    t = 20_000
    m.output(m.scan(step, [m.input("spins", np.sign(normal(n, n)))],
                    [m.input("i", whole(n, t)), m.input("j", whole(n, t)), m.input("u", uniform(t))]))
    return t


def put(m, x, at, value):
    return m.ScatterElements(x, m.Reshape(at, np.array([1])), m.Reshape(value, np.array([1])))


@body
def sieve(m):
    """How many primes there are below 10,000: an If whose branch is a loop that marks what a prime divides."""
    def step(i, composite, n):
        p = i + 2

        def mark():
            times = m.constant(9999, "int64") / p - 1
            return m.loop(times, lambda k, marks: put(m, marks, p * (k + 2), m.constant(np.array(True), None)), composite), n + 1

        return m.choose(m.Not(composite[p]), mark, lambda: (m.Identity(composite), m.Identity(n)))

    m.output(*m.loop(m.input("n", 9998), step, m.input("composite", np.zeros(10_000, "bool")), m.input("primes", np.array(0))))
    return 26_000


@body
def heap_sort(m):
    """512 numbers, a heap already: the largest goes behind, the last one sinks from the top."""
    n = 512

    def step(k, x):
        end = m.constant(n - 1, "int64") - k
        last = x[end]

        def sink(i, x, at):
            child = at * 2 + 1
            right = m.Min(child + 1, end - 1)
            child = m.Where(x[right] > x[child], right, child)
            larger = m.And(child < end, x[child] > last)
            x = put(m, x, at, m.Where(larger, x[child], last))
            at = m.Where(larger, child, at)
            return m.And(larger, at * 2 + 1 < end), x, at

        x, at = m.loop_while(sink, put(m, x, end, x[0]), m.constant(0, "int64"))
        return put(m, x, at, last)

    m.output(m.loop(m.input("n", n - 2), step, m.input("x", -np.sort(-normal(n)))))
    return n * 8


@body
def roots(m):
    """The roots of nodes in a forest: from parent to parent until one is its own."""
    def find(node):
        def up(i, at, n):
            above = parent[at]
            return m.Not(m.Equal(above, at)), above, n + 1

        return m.loop_while(up, node, m.constant(0, "int64"))

    parent = m.input("parent", np.array([0, *(RANDOM.integers(0, k) if k % 97 else k for k in range(1, 4096))]))
    m.output(*m.scan(find, [], [m.input("nodes", whole(4096, 4000))]))
    return 4000


@body
def q_learning(m):
    """A walk of 16 states and 4 actions by a table, whose worths are learnt."""
    def step(q, state, action, reward):
        after = m.Mod(state * 5 + action * 3 + 1, 16)
        old, best = q[state][action], m.max(q[after], 0)
        new = old + (reward + best * 0.9 - old) * 0.1
        at = m.Concat(m.Reshape(state, np.array([1])), m.Reshape(action, np.array([1])), axis=0)
        return m.ScatterND(q, at[None], m.Reshape(new, np.array([1]))), after

    t = 20_000
    m.output(*m.scan(step, [m.input("q", zeros(16, 4)), m.input("state", np.array(0))],
                     [m.input("action", whole(4, t)), m.input("reward", uniform(t))]))
    return t


@body
def actor_critic(m):
    """The same states: an action by a softmax of 4, worths and preferences that are learnt."""
    def step(theta, worth, state, u):
        p = m.Softmax(theta[state], axis=0)
        action = m.Min(m.sum((m.CumSum(p, np.array(0)) < u).to("int64"), 0), 3)
        after = m.Mod(state * 5 + action * 3 + 1, 16)
        reward = m.Where(m.Equal(after, 3), m.constant(1.0, "float32"), 0.0)
        gap = reward + worth[after] * 0.9 - worth[state]
        at = m.Reshape(state, np.array([1]))
        taken = m.Equal(m.constant(np.arange(4), None), action).to("float32")
        row = theta[state] + (taken - p) * (gap * 0.1)
        return (m.ScatterND(theta, at[None], row[None]),
                m.ScatterElements(worth, at, m.Reshape(worth[state] + gap * 0.05, np.array([1]))), after)

    t = 10_000
    m.output(*m.scan(step, [m.input("theta", zeros(16, 4)), m.input("worth", zeros(16)), m.input("state", np.array(0))],
                     [m.input("u", uniform(t))]))
    return t


# ---------------------------------------------------------------- graphs


@body
def floyd_warshall(m):
    """All shortest ways between 48 places."""
    m.output(m.loop(m.input("n", 48), lambda k, d: m.Min(d, d[:, k][:, None] + d[k][None]), m.input("d", uniform(48, 48))))
    return 48


def put_at(m, x, i, j, value):
    at = m.Concat(m.Reshape(i, np.array([1])), m.Reshape(j, np.array([1])), axis=0)
    return m.ScatterND(x, at[None], m.Reshape(value, np.array([1])))


@body
def shortest_ways(m):
    """The same by three loops over a table of one axis."""
    n = 48

    def row(k, i, d):
        first = d[i * n + k]
        return m.loop(n, lambda j, d: put(m, d, i * n + j, m.Min(d[i * n + j], first + d[k * n + j])), d)

    m.output(m.loop(m.input("n", n), lambda k, d: m.loop(n, lambda i, d: row(k, i, d), d), m.input("d", uniform(n * n))))
    return n**3


@body
def elimination(m):
    """Gauss's, of 32 equations, by three loops over a table of two axes."""
    n = 32

    def row(k, i, a):
        factor = a[i][k] / a[k][k]
        return m.loop(m.constant(n, "int64") - k, lambda c, a: put_at(m, a, i, c + k, a[i][c + k] - factor * a[k][c + k]), a)

    def step(k, a):
        return m.loop(m.constant(n - 1, "int64") - k, lambda r, a: row(k, r + k + 1, a), a)

    m.output(m.loop(m.input("n", n - 1), step, m.input("a", normal(n, n) + np.eye(n, dtype="float32") * 8)))
    return n**3 // 3


@body
def bellman_ford(m):
    """Shortest ways from one of 64 places along 256 edges."""
    start, end, length = m.input("start", whole(64, 256)), m.input("end", whole(64, 256)), m.input("length", uniform(256))
    first = np.full(64, 1e9, "float32")
    first[0] = 0
    m.output(m.loop(m.input("n", 63), lambda i, d: m.ScatterElements(d, end, d[start] + length, reduction="min"), m.input("d", first)))
    return 63


@body
def search(m):
    """How far 1,000 nodes of 4 ways each are, by a queue."""
    n = 1000
    graph = m.input("graph", whole(n, n, 4))

    def step(i, far, queue, head, tail):
        node = queue[head]
        next_far = far[node] + 1

        def look(k, far, queue, tail):
            other = graph[node][k]
            return m.choose(far[other] < 0, lambda: (put(m, far, other, next_far), put(m, queue, tail, other), tail + 1),
                            lambda: (m.Identity(far), m.Identity(queue), m.Identity(tail)))

        far, queue, tail = m.loop(4, look, far, queue, tail)
        return head + 1 < tail, far, queue, head + 1, tail

    states = [("far", np.array([0] + [-1] * (n - 1))), ("queue", np.zeros(n, "int64")), ("head", np.array(0)), ("tail", np.array(1))]
    m.output(*m.loop_while(step, *(m.input(*state) for state in states)))
    return 4 * n


@body
def viterbi(m):
    """The best way to each of 8 states, and where it came from."""
    def step(best, seen):
        ways = best[:, None] + moves
        return m.max(ways, 0) + seen, m.ArgMax(ways, axis=0, keepdims=0)

    moves = m.input("moves", normal(8, 8))
    m.output(*m.scan(step, [m.input("best", zeros(8))], [m.input("seen", normal(2000, 8))]))
    return 2000


# ---------------------------------------------------------------- grids


def around(m, x, rows, columns):
    """A torus turned by so many rows and columns."""
    for axis, by in ((0, rows), (1, columns)):
        if by:
            at = [np.array([v]) for v in (by, np.iinfo("int64").max, axis)], [np.array([v]) for v in (0, by, axis)]
            x = m.Concat(*(m.Slice(x, *ends) for ends in at), axis=axis)
    return x


@body
def life(m):
    """Conway's, on a torus of 32 by 32."""
    def step(i, x):
        n = None
        for a in (-1, 0, 1):
            for b in (-1, 0, 1):
                if a or b:
                    n = around(m, x, a, b) if n is None else n + around(m, x, a, b)
        alive = m.Or(m.Equal(n, 3.0), m.And(m.Equal(n, 2.0), x > 0.5))
        return alive.to("float32")

    m.output(m.loop(m.input("n", 100), step, m.input("x", whole(2, 32, 32).astype("float32"))))
    return 100


@body
def jacobi(m):
    """Laplace's equation on 34 by 34, with a border that stays."""
    def step(i, u):
        middle = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) * 0.25
        rows = m.Concat(u[1:-1, :1], middle, u[1:-1, 33:], axis=1)
        return m.Concat(u[:1], rows, u[33:], axis=0)

    m.output(m.loop(m.input("n", 200), step, m.input("u", uniform(34, 34))))
    return 200


@body
def reaction(m):
    """Two fields of 32 by 32 that react and diffuse (Gray and Scott), on a torus by Pad."""
    def spread(x):
        edged = m.Pad(x, np.array([1, 1, 1, 1]), mode="wrap")
        return edged[:-2, 1:-1] + edged[2:, 1:-1] + edged[1:-1, :-2] + edged[1:-1, 2:] - x * 4.0

    def step(i, u, v):
        both = u * v * v
        fed = (m.constant(1.0, "float32") - u) * 0.035
        return u + spread(u) * 0.16 - both + fed, v + spread(v) * 0.08 + both - v * 0.1

    m.output(*m.loop(m.input("n", 100), step, m.input("u", uniform(32, 32)), m.input("v", uniform(32, 32) * np.float32(0.3))))
    return 100


@body
def heat(m):
    """Along a rod of 256 places whose ends stay."""
    def step(i, u):
        middle = u[1:-1] + (u[2:] - u[1:-1] * 2.0 + u[:-2]) * 0.2
        return m.Concat(u[:1], middle, u[255:], axis=0)

    m.output(m.loop(m.input("n", 1000), step, m.input("u", uniform(256))))
    return 1000


# ---------------------------------------------------------------- signals


@body
def causal_convolution(m):
    """16 channels with a window of 4 samples each, which is the state."""
    def step(window, x):
        window = m.Concat(window[:, 1:], x[:, None], axis=1)
        y = m.sum(window * taps, 1) + bias
        return window, y * m.Sigmoid(y)

    taps, bias = m.input("taps", normal(16, 4)), m.input("bias", normal(16))
    m.output(*m.scan(step, [m.input("window", zeros(16, 4))], [m.input("x", normal(4000, 16))]))
    return 4000


@body
def window(m):
    """The last 8 rows of 4 numbers, kept by Concat: their mean, and the largest of each column."""
    def step(rows, x):
        rows = m.Concat(rows[1:], x[None], axis=0)
        return rows, m.ReduceMean(rows, np.array([0]), keepdims=0), m.max(rows, 0)

    t = 4000
    m.output(*m.scan(step, [m.input("rows", zeros(8, 4))], [m.input("x", normal(t, 4))]))
    return t


@body
def biquad(m):
    """A filter of two poles and two zeros."""
    def step(a, b, x):
        y = x * 0.2 + a
        return x * 0.4 + y * 1.2 + b, x * 0.2 - y * 0.5, y

    m.output(*m.scan(step, [m.input("a", zeros()), m.input("b", zeros())], [m.input("x", normal(50_000))]))
    return 50_000


@body
def fourier(m):
    """The fast transform of 1024 numbers: what each stage joins is gathered."""
    n = 1024
    k, stages = np.arange(n), [2 ** s for s in range(10)]
    even = np.array([(k // (2 * h)) * 2 * h + k % h for h in stages])
    angle = np.array([-np.pi * (k % (2 * h)) / h for h in stages])

    def step(re, im, lower, upper, c, s):
        re_upper, im_upper = re[upper], im[upper]
        return re[lower] + (re_upper * c - im_upper * s), im[lower] + (re_upper * s + im_upper * c)

    m.output(*m.scan(step, [m.input("re", normal(n)), m.input("im", normal(n))],
                     [m.input("lower", even), m.input("upper", even + np.array(stages)[:, None]),
                      m.input("c", np.cos(angle).astype("float32")), m.input("s", np.sin(angle).astype("float32"))]))
    return 10


# ---------------------------------------------------------------- statistics


@body
def k_means(m):
    """256 points in 8 groups."""
    def step(i, centres):
        gap = points[:, None] - centres[None]
        nearest = m.ArgMin(m.sum(gap * gap, 2), axis=1, keepdims=0)
        member = m.OneHot(nearest, m.constant(np.array(8), None), m.constant(np.array([0, 1], "float32"), None), axis=0, dtype="float32")
        return member @ points / m.Max(m.sum(member, 1, 1), 1.0)

    points = m.input("points", normal(256, 2))
    m.output(m.loop(m.input("n", 20), step, m.input("centres", normal(8, 2))))
    return 20


@body
def mixture(m):
    """Expectation and maximisation of 4 normal distributions over 256 numbers."""
    def step(i, mean, variance, share):
        gap = x[:, None] - mean[None]
        p = share * m.Exp(gap * gap / variance * -0.5) / m.Sqrt(variance)
        p = p / m.sum(p, 1, 1)
        weight = m.sum(p, 0)
        mean = m.sum(p * x[:, None], 0) / weight
        gap = x[:, None] - mean[None]
        return mean, m.sum(p * gap * gap, 0) / weight + 0.01, weight / 256.0

    x = m.input("x", normal(256))
    m.output(*m.loop(m.input("n", 50), step, m.input("mean", normal(4)), m.input("variance", np.ones(4, "float32")),
                     m.input("share", np.full(4, 0.25, "float32"))))
    return 50


@body
def sinkhorn(m):
    """Transport between 32 and 32 masses by logarithms of sums."""
    def step(i, f, g):
        def softmin(x, axis):
            top = m.max(x, axis, 1)
            return m.Log(m.sum(m.Exp(x - top), axis, 0)) + m.Squeeze(top, np.array([axis]))

        f = -softmin(g[None] - cost, 1)
        return f, -softmin(f[:, None] - cost, 0)

    cost = m.input("cost", uniform(32, 32))
    m.output(*m.loop(m.input("n", 50), step, m.input("f", zeros(32)), m.input("g", zeros(32))))
    return 50


@body
def kalman(m):
    """6 states, of which one is measured."""
    def step(x, p, z):
        x, p = f @ x, f @ p @ m.Transpose(f, perm=[1, 0]) + q
        ph = p[:, 0]
        gain = ph / (p[0, 0] + 0.5)
        return x + gain * (z - x[0]), p - gain[:, None] * ph[None], x

    f, q = m.input("f", (np.eye(6) * 0.95 + np.eye(6, k=1) * 0.1).astype("float32")), m.input("q", (np.eye(6) * 0.01).astype("float32"))
    m.output(*m.scan(step, [m.input("x", zeros(6)), m.input("p", np.eye(6, dtype="float32"))], [m.input("z", normal(2000))]))
    return 2000


@body
def power_iteration(m):
    """The largest eigenvalue of a matrix of 64 by 64."""
    def step(i, v, size):
        w = a @ v
        size = m.Sqrt(m.sum(w * w, 0))
        return w / size, size

    a = m.input("a", uniform(64, 64))
    m.output(*m.loop(m.input("n", 300), step, m.input("v", np.ones(64, "float32")), m.input("size", zeros())))
    return 300


# ---------------------------------------------------------------- dynamics


@body
def molecules(m):
    """16 of them in a plane, by the forces of Lennard-Jones."""
    def step(i, x, v):
        gap = x[:, None] - x[None]
        near = 1.0 / (m.sum(gap * gap, 2) + m.constant(np.eye(16, dtype="float32") * 1e6, None))
        near3 = near * near * near
        force = m.sum(((near3 * near3 * 2.0 - near3) * near * 24.0)[:, :, None] * gap, 1)
        v = v + force * 0.001
        return x + v * 0.001, v

    grid = np.stack(np.meshgrid(np.arange(4), np.arange(4)), -1).reshape(16, 2).astype("float32") * 1.2
    m.output(*m.loop(m.input("n", 500), step, m.input("x", grid), m.input("v", normal(16, 2) * 0.1)))
    return 500


@body
def hodgkin_huxley(m):
    """Numbers of float64, by Euler's method."""
    def step(i, v, n, h, k):
        a_n, b_n = (v + 55.0) * 0.01 / (1.0 - m.Exp((v + 55.0) / -10.0)), m.Exp((v + 65.0) / -80.0) * 0.125
        a_m, b_m = (v + 40.0) * 0.1 / (1.0 - m.Exp((v + 40.0) / -10.0)), m.Exp((v + 65.0) / -18.0) * 4.0
        a_h, b_h = m.Exp((v + 65.0) / -20.0) * 0.07, 1.0 / (1.0 + m.Exp((v + 35.0) / -10.0))
        current = 120.0 * k * k * k * h * (v - 50.0) + 36.0 * n * n * n * n * (v + 77.0) + 0.3 * (v + 54.387)
        return (v + (10.0 - current) * 0.01, n + (a_n * (1.0 - n) - b_n * n) * 0.01, h + (a_h * (1.0 - h) - b_h * h) * 0.01,
                k + (a_m * (1.0 - k) - b_m * k) * 0.01)

    m.output(*m.loop(m.input("n", 5000), step, *(m.input(name, np.array(x)) for name, x in dict(v=-65.0, gate=0.32, h=0.6, k=0.05).items())))
    return 5000


@body
def resting_neuron(m):
    """A neuron that leaks, spikes, and rests for five steps."""
    def step(v, rest, n, current):
        v = m.Where(rest > 0, v, v + (current - v) * 0.1)
        spikes = v > 1.0
        v = m.Where(spikes, m.constant(0.0, "float32"), v)
        return v, m.Where(spikes, m.constant(5, "int64"), m.Max(rest - 1, 0)), n + spikes.to("int64"), v

    t = 20_000
    m.output(*m.scan(step, [m.input("v", zeros()), m.input("rest", np.array(0)), m.input("n", np.array(0))], [m.input("current", uniform(t) * 3)]))
    return t


@body
def lorenz(m):
    """A vector of three numbers of float64."""
    def step(i, s):
        x, y, z = s[0:1], s[1:2], s[2:3]
        return s + m.Concat((y - x) * 10.0, x * (28.0 - z) - y, x * y - z * (8 / 3), axis=0) * 0.001

    m.output(m.loop(m.input("n", 5000), step, m.input("s", np.array([1.0, 1.0, 20.0]))))
    return 5000


@body
def gru(m):
    """Gates of 32, written out for one sequence."""
    def step(h, x):
        gates, kept = x @ from_x + bias, h @ from_h
        update, reset = m.Sigmoid(gates[0:32] + kept[0:32]), m.Sigmoid(gates[32:64] + kept[32:64])
        candidate = m.Tanh(gates[64:96] + reset * kept[64:96])
        h = candidate + update * (h - candidate)
        return h, h

    from_x, from_h, bias = (m.input(k, v * np.float32(0.2)) for k, v in dict(a=normal(32, 96), b=normal(32, 96), c=normal(96)).items())
    m.output(*m.scan(step, [m.input("h", zeros(32))], [m.input("x", normal(500, 32))]))
    return 500


@body
def addressing(m):
    """A memory of 32 rows that is read, and written, where its rows have the angle of a key."""
    def step(memory, key, erase, add):
        sizes = m.Sqrt(m.sum(memory * memory, 1)) * m.Sqrt(m.sum(key * key, 0))
        share = m.Softmax(memory @ key / (sizes + 1e-6) * 5.0, axis=0)
        share_of_row = share[:, None]
        return memory * (1.0 - share_of_row * m.Sigmoid(erase)) + share_of_row * add, share @ memory

    t = 500
    m.output(*m.scan(step, [m.input("memory", normal(32, 16))], [m.input(name, normal(t, 16)) for name in ("key", "erase", "add")]))
    return t


@body
def spikes(m):
    """48 by 48 weights that change where spikes meet traces of others, between bounds."""
    def step(weights, trace, before, after):
        trace = trace * 0.9 + before
        weights = m.Clip(weights + trace[:, None] * after * 0.01 - before[:, None] * after * 0.0105, 0.0, 1.0)
        return weights, trace, before @ weights

    t = 500
    rows = [m.input(name, (uniform(t, 48) < 0.2).astype("float32")) for name in ("before", "after")]
    m.output(*m.scan(step, [m.input("weights", uniform(48, 48)), m.input("trace", zeros(48))], rows))
    return t


# ---------------------------------------------------------------- bits


@body
def checksum(m):
    """CRC-32 of bytes, bit by bit."""
    def step(sum_so_far, byte):
        x = m.BitwiseXor(sum_so_far, byte.to("uint32"))
        for _ in range(8):
            half = m.BitShift(x, 1, direction="RIGHT")
            x = m.Where(m.Equal(m.BitwiseAnd(x, 1), 1), m.BitwiseXor(half, 0xEDB88320), half)
        return x

    t = 10_000
    m.output(m.scan(step, [m.input("sum", np.uint32(0xFFFFFFFF))], [m.input("bytes", whole(256, t).astype("uint8"))]))
    return t


@body
def bit_count(m):
    """How many bits are set in words of 64."""
    def step(n, x):
        def number(value):
            return m.constant(np.array(value, "uint64"), "uint64")

        def shifted(x, by):
            return m.BitShift(x, number(by), direction="RIGHT")

        x = x - m.BitwiseAnd(shifted(x, 1), number(0x5555555555555555))
        x = m.BitwiseAnd(x, number(0x3333333333333333)) + m.BitwiseAnd(shifted(x, 2), number(0x3333333333333333))
        x = m.BitwiseAnd(x + shifted(x, 4), number(0x0F0F0F0F0F0F0F0F))
        return n + shifted(x * number(0x0101010101010101), 56).to("int64")

    t = 50_000
    m.output(m.scan(step, [m.input("n", np.array(0))], [m.input("x", RANDOM.integers(0, 2 ** 63, t).astype("uint64"))]))
    return t


@body
def threefry(m):
    """64 pairs of numbers of uint32 by twenty rounds of sums and rotations of a counter and a key, as reals from 0 to 1."""
    turns = [13, 15, 26, 6, 17, 29, 16, 24]

    def step(i, sums, k0, k1):
        keys = [k0, k1, m.BitwiseXor(m.BitwiseXor(k0, k1), 0x1BD11BDA)]
        x0, x1 = m.constant(np.arange(64, dtype="uint32"), "uint32") + k0, i.to("uint32") + k1
        for n in range(20):
            x0, by = x0 + x1, turns[n % 8]
            x1 = m.BitwiseXor(m.BitwiseOr(m.BitShift(x1, by, direction="LEFT"), m.BitShift(x1, 32 - by, direction="RIGHT")), x0)
            if n % 4 == 3:
                x0, x1 = x0 + keys[(n // 4 + 1) % 3], x1 + keys[(n // 4 + 2) % 3] + (n // 4 + 1)
        return sums + x0.to("float32") * np.float32(2.0**-32), k0, x1

    t = 500
    keys = [m.input(name, RANDOM.integers(0, 2**32, 64, dtype="uint32")) for name in ("k0", "k1")]
    m.output(*m.loop(m.input("n", t), step, m.input("sums", zeros(64)), *keys))
    return t
