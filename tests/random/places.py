"""Random ONNX files of Loops, Scans and Ifs whose bodies read and write arrays of ranks 1 to 3 at places that they compute: by every operator that takes places, counted from
either end, rarely past it; with slices, pads, tiles and lengths by computed numbers. States take each other over, change places, are given back as they are, or begin as one
value. ``make(seed)`` gives one case (case.py)."""
import random

import onnx_file
import onnx_grammar

TYPES = ["float32"] * 5 + ["float64"] * 2 + ["int64"] * 3 + ["int32"] * 2 + ["bool", "uint8", "int8", "float16", "bfloat16", "string", "int16", "uint16", "uint32", "uint64", "complex64"]
NARROW = ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "uint4", "int4"]
ADDED = ("float32", "float64", "int64", "int32")
PERMILLE_PAST = 6  # of places, past an end


class Program:
    def __init__(self, rng):
        self.rng, self.n_names = rng, 0
        self.opset = rng.choice([11, 13, 16, 18, 18, 21, 22, 23, 25])
        self.n = rng.choice([1, 2, 3, 4, 5])
        self.sizes = [self.n, rng.choice([1, 2, 3, 4])] + [0] * (rng.random() < 0.08)
        self.types = rng.sample(TYPES, 2) if rng.random() < 0.9 or self.opset < 21 else [rng.choice(NARROW), rng.choice(TYPES)]
        self.types = ["int64" if self.opset < 16 and t == "bfloat16" or self.opset < 13 and t in ("int8", "int16", "uint8", "uint16") and rng.random() < 0.5 else t for t in self.types]

    def shape(self, rank=None):
        rank = self.rng.choice([1, 1, 2, 2, 3]) if rank is None else rank
        return [self.n if self.rng.random() < 0.6 else self.rng.choice(self.sizes) for _ in range(rank)]


class Scope:
    def __init__(self, graph, arrays, numbers):
        self.graph, self.rng, self.program = graph, graph.rng, graph.program
        self.arrays, self.numbers = list(arrays), list(numbers)

    def within(self):
        return Scope(onnx_grammar.Graph(self.program, self.graph), self.arrays, self.numbers)

    def call(self, op, inputs, type, shape=(), **attributes):
        return self.graph.call(op, inputs, [(type, None if shape is None else list(shape))], **attributes)[0]

    def ints(self, data):
        return self.graph.constant("int64", [len(data)], list(data))

    def whole(self, value):
        return self.graph.constant("int64", [], [value])

    def number(self):
        found = [v for v in self.numbers if v.type == "int64"]
        return self.rng.choice(found) if found and self.rng.random() < 0.9 else self.whole(self.rng.randint(-3, 5))

    def place(self, n):
        """One of n places, from either end."""
        at = self.number()
        if self.rng.random() < PERMILLE_PAST / 1000:
            return at
        n = max(n, 1)
        r = self.rng.random()
        at = self.call("Mod", [at, self.whole(n)], "int64")
        if r < 0.35:
            at = self.call("Sub", [at, self.whole(n)], "int64")
        elif r < 0.5:  # either
            at = self.call("Sub", [at, self.whole(self.rng.randint(0, n))], "int64")
        return at

    def places(self, n, count):
        """A vector of places."""
        one = self.ints([1])
        rows = [self.call("Reshape", [self.place(n), one], "int64", [1]) if self.rng.random() < 0.7 else self.ints([self.rng.randint(-n, n - 1) if n else 0]) for _ in range(count)]
        return rows[0] if count == 1 else self.call("Concat", rows, "int64", [count], axis=0)

    def array(self, fits=lambda v: True):
        found = [v for v in self.arrays if v.shape is not None and fits(v)]
        return self.rng.choice(found) if found else None

    def like(self, type, shape):
        return self.array(lambda v: v.type == type and v.shape == shape) if self.rng.random() < 0.7 else None

    def get(self, type, shape):
        return self.like(type, shape) or self.graph.constant(type, shape)

    def truth(self):
        r = self.rng.random()
        known = [v for v in self.numbers if v.type == "bool"]
        if known and r < 0.3:
            return self.rng.choice(known)
        return self.call(self.rng.choice(["Less", "Greater", "Equal"]), [self.number(), self.number()], "bool")

    def index_type(self, x):
        return self.call("Cast", [x], "int32", x.shape, to=6) if self.rng.random() < 0.2 else x


def _keep_number(s, v):
    same = [k for k, x in enumerate(s.numbers) if x.type == v.type]
    if same and s.rng.random() < 0.6:
        s.numbers[s.rng.choice(same)] = v
    else:
        s.numbers.append(v)


def _keep(s, v, old=None):
    """An array that was made: instead of one of its form, or another one."""
    if v.shape == []:
        if v.type in ("int64", "bool"):
            _keep_number(s, v)
            return
    same = [k for k, x in enumerate(s.arrays) if x.type == v.type and x.shape == v.shape]
    if old in s.arrays and old.shape == v.shape and s.rng.random() < 0.8:
        s.arrays[s.arrays.index(old)] = v
    elif same and s.rng.random() < 0.8:
        s.arrays[s.rng.choice(same)] = v
    elif len(v.shape) <= 3:
        s.arrays.append(v)


def _gather(s):
    x = s.array(lambda v: v.shape)
    axis = s.rng.randrange(len(x.shape))
    count = s.rng.choice([0, 1, 1, 2, x.shape[axis]]) if s.rng.random() < 0.5 else None
    at = s.place(x.shape[axis]) if count is None else s.places(x.shape[axis], count) if count else s.ints([])
    middle = [] if count is None else [count]
    _keep(s, s.call("Gather", [x, s.index_type(at)], x.type, x.shape[:axis] + middle + x.shape[axis + 1:], axis=axis - s.rng.choice([0, len(x.shape)])), x)


def _index_array(s, shape, n):
    """An array of places of that shape, some of them computed."""
    count = onnx_grammar.length(shape)
    if count > 12 or count == 0:
        return s.graph.constant("int64", shape, [s.rng.randint(-n, n - 1) if n else 0 for _ in range(count)])
    if s.rng.random() < 0.4:
        at = s.place(n)
        return s.call("Expand", [at, s.ints(shape)], "int64", shape)
    return s.call("Reshape", [s.places(n, count), s.ints(shape)], "int64", shape)


def _gather_elements(s):
    x = s.array(lambda v: v.shape and 0 not in v.shape)
    axis = s.rng.randrange(len(x.shape))
    shape = [s.rng.randint(1, n) for n in x.shape]
    shape[axis] = s.rng.choice([1, 2, x.shape[axis]])
    _keep(s, s.call("GatherElements", [x, s.index_type(_index_array(s, shape, x.shape[axis]))], x.type, shape, axis=axis - s.rng.choice([0, len(x.shape)])), x)


def _tuples(s, sizes, lead):
    """Places of several axes: [*lead, len(sizes)]."""
    rows = []
    for _ in range(onnx_grammar.length(lead)):
        rows += [s.places(n, 1) for n in sizes]
    flat = rows[0] if len(rows) == 1 else s.call("Concat", rows, "int64", [len(rows)], axis=0) if rows else s.ints([])
    return s.call("Reshape", [flat, s.ints([*lead, len(sizes)])], "int64", [*lead, len(sizes)])


def _gather_nd(s):
    x = s.array(lambda v: v.shape and 0 not in v.shape)
    b = s.rng.choice([0, 0, 0, 1]) if len(x.shape) > 1 and s.program.opset >= 12 and x.shape[0] < 4 else 0
    k = s.rng.randint(1, len(x.shape) - b)
    lead = x.shape[:b] + s.rng.choice([[], [1], [2], [1, 2]])
    at = _tuples(s, x.shape[b:b + k], lead)
    _keep(s, s.call("GatherND", [x, at], x.type, lead + x.shape[b + k:], **({"batch_dims": b} if b else {})), x)


def _reduction(s, x):
    if s.program.opset < 16 or x.type not in ADDED + ("float16", ) or s.rng.random() < 0.4:
        return {}
    return {"reduction": s.rng.choice(["add", "add", "mul", "none"] + ["min", "max"] * (s.program.opset >= 18))}


def _scatter_elements(s):
    x = s.array(lambda v: v.shape and 0 not in v.shape)
    axis = s.rng.randrange(len(x.shape))
    shape = [s.rng.randint(1, n) for n in x.shape]
    if s.rng.random() < 0.5:
        shape[axis] = 1
    put = s.call("ScatterElements", [x, s.index_type(_index_array(s, shape, x.shape[axis])), s.get(x.type, shape)], x.type, x.shape,
                 axis=axis - s.rng.choice([0, len(x.shape)]), **_reduction(s, x))
    _keep(s, put, x)


def _scatter_nd(s):
    x = s.array(lambda v: v.shape and 0 not in v.shape)
    k = s.rng.randint(1, len(x.shape))
    lead = s.rng.choice([[], [1], [1], [2], [0]])
    at = _tuples(s, x.shape[:k], lead)
    _keep(s, s.call("ScatterND", [x, at, s.get(x.type, lead + x.shape[k:])], x.type, x.shape, **_reduction(s, x)), x)


def _measure(s, v):
    """A whole number or an array of what has a length that nobody knows before."""
    r = s.rng.random()
    if r < 0.4 or v.type not in ADDED:
        size = s.call("Shape", [v], "int64", None)
        _keep_number(s, s.call("ReduceSum", [size], "int64", keepdims=0))
    elif r < 0.8:
        total = s.call("ReduceSum", [v], v.type, keepdims=0)
        if v.type == "int64":
            _keep_number(s, total)
        else:
            x = s.array(lambda a: a.type == v.type)
            if x is not None:
                _keep(s, s.call("Add", [x, total], x.type, x.shape), x)


def _slice(s):
    x = s.array(lambda v: v.shape)
    axis = s.rng.randrange(len(x.shape))
    n, one = x.shape[axis], s.ints([1])
    r = s.rng.random()
    if r < 0.35:  # one, at a computed place
        at = s.call("Mod", [s.number(), s.whole(max(n, 1))], "int64")
        start = s.call("Reshape", [at, one], "int64", [1])
        end = s.call("Add", [start, one], "int64", [1])
        if n == 0:
            return
        _keep(s, s.call("Slice", [x, start, end, s.ints([axis])], x.type, x.shape[:axis] + [1] + x.shape[axis + 1:]), x)
    elif r < 0.65:  # turned round there
        step = s.ints([s.rng.choice([-1, -1, 1, 2, -2])])
        start, end = s.places(n, 1), s.places(n, 1)
        _measure(s, s.call("Slice", [x, start, end, s.ints([axis - s.rng.choice([0, len(x.shape)])]), step], x.type, None))
    else:  # rolled
        at = s.call("Reshape", [s.call("Mod", [s.number(), s.whole(max(n, 1))], "int64"), one], "int64", [1])
        parts = [s.call("Slice", [x, at, s.ints([s.rng.choice([n, 1 << 40])]), s.ints([axis])], x.type, None), s.call("Slice", [x, s.ints([0]), at, s.ints([axis])], x.type, None)]
        _keep(s, s.call("Concat", parts, x.type, x.shape, axis=axis), x)


def _lengths(s):
    """What has a length that is computed."""
    x = s.array(lambda v: v.shape)
    n, one, r = len(x.shape), s.ints([1]), s.rng.random()
    few = s.call("Reshape", [s.call("Mod", [s.number(), s.whole(s.rng.choice([2, 3]))], "int64"), one], "int64", [1])
    if r < 0.2 and x.type in ("float32", "float64", "int64", "int32"):
        pads = s.call("Concat", [few] + [s.ints([0] * (2 * n - 1))], "int64", [2 * n], axis=0) if s.rng.random() < 0.7 else s.call(
            "Concat", [s.ints([0] * n), s.call("Neg", [few], "int64", [1])] + [s.ints([0] * (n - 1))] * (n > 1), "int64", [2 * n], axis=0)
        _measure(s, s.call("Pad", [x, pads, s.graph.constant(x.type, [])], x.type, None, mode=s.rng.choice(["constant"] * 3 + ["edge"])))
    elif r < 0.35 and x.type in ADDED:
        _measure(s, s.call("Tile", [x, s.call("Concat", [s.ints([1])] * (n - 1) + [few], "int64", [n], axis=0) if n > 1 else few], x.type, None))
    elif r < 0.5 and x.type in ADDED and s.program.opset >= 11:
        count = s.call("Min", [few, s.ints([x.shape[-1]])], "int64", [1]) if s.program.opset >= 12 else s.ints([min(1, x.shape[-1])])
        top = s.graph.call("TopK", [x, count], [(x.type, None), ("int64", None)], axis=-1, largest=s.rng.choice([0, 1]))
        _measure(s, s.rng.choice(top))
    elif r < 0.65:
        up = s.call("Range", [s.whole(0), s.call("Mod", [s.number(), s.whole(4)], "int64"), s.whole(1)], "int64", None)
        _measure(s, up)
    elif r < 0.75 and x.type != "complex64":
        zero = s.call("Cast", [x], "bool", x.shape, to=9) if x.type not in ("bool", "string") else x if x.type == "bool" else None
        if zero is not None:
            _measure(s, s.call("NonZero", [zero], "int64", None))
    elif r < 0.85 and x.type in ADDED:
        kept = s.call("Reshape", [s.truth(), one], "bool", [1])
        _measure(s, s.call("Compress", [x, kept], x.type, None, axis=0))
    elif s.rng.random() < 0.5:
        _measure(s, s.call("ConstantOfShape", [few], "float32", None))
    else:
        table = s.graph.constant("float32", [2], [0.0, 1.0])
        _keep(s, s.call("OneHot", [s.places(s.program.n, 1), s.whole(s.program.n), table], "float32", [1, s.program.n]))


def _compute(s):
    x = s.array()
    r = s.rng.random()
    if x.type in ADDED:
        y = s.array(lambda v: v.type == x.type and v.shape == x.shape) if r < 0.6 else s.graph.constant(x.type, [])
        _keep(s, s.call(s.rng.choice(["Add", "Sub", "Mul"] + ["Max", "Min"] * (s.program.opset >= 12)), [x, y], x.type, x.shape), x)
    elif x.type == "bool":
        _keep(s, s.call("Not", [x], "bool", x.shape), x)
    else:
        y = s.array(lambda v: v.type == x.type and v.shape == x.shape)
        _keep(s, s.call("Where", [s.truth(), x, y], x.type, x.shape) if s.program.opset >= 9 and x.type not in NARROW else s.call("Identity", [x], x.type, x.shape), x)


def _number(s):
    r = s.rng.random()
    x = s.array(lambda v: v.type in ("int64", "int32") and v.shape and 0 not in v.shape)
    if r < 0.25 and x is not None:
        v = s.call("ReduceMax", [x], x.type, keepdims=0) if s.rng.random() < 0.5 and s.program.opset >= 12 else s.call("ReduceSum", [x], x.type, keepdims=0)
        _keep_number(s, v if v.type == "int64" else s.call("Cast", [v], "int64", to=7))
    elif r < 0.4:
        x = s.array(lambda v: v.type in ("float32", "float64") and len(v.shape) == 1 and 0 not in v.shape)
        if x is not None:
            _keep_number(s, s.call("ArgMax", [x], "int64", axis=0, keepdims=0))
    elif r < 0.5:
        _keep_number(s, s.truth())
    else:
        _keep_number(s, s.call(s.rng.choice(["Add", "Sub", "Mul"]), [s.number(), s.number()], "int64"))
        v = s.numbers[-1]
        if v.type == "int64" and s.rng.random() < 0.5:
            s.numbers[-1] = s.call("Mod", [v, s.whole(7)], "int64")


def _swap(s):
    """Arrays, or numbers, change places."""
    x = s.array()
    same = [k for k, v in enumerate(s.arrays) if v.type == x.type and v.shape == x.shape]
    s.rng.shuffle(same)
    turned = [s.arrays[k] for k in same[1:] + same[:1]]
    for k, v in zip(sorted(same), turned):
        s.arrays[k] = v
    whole = [k for k, v in enumerate(s.numbers) if v.type == "int64"]
    if len(whole) > 1 and s.rng.random() < 0.5:
        i, j = s.rng.sample(whole, 2)
        s.numbers[i], s.numbers[j] = s.numbers[j], s.numbers[i] if s.rng.random() < 0.7 else s.numbers[j]


def _given(s, values):
    """Values as a body's results: some of them as they are."""
    made, names, given = {n for node in s.graph.nodes for n in node["outputs"]}, set(), []
    for v in values:
        if v.name in names or v.name not in made and s.rng.random() < 0.97:
            v = s.call("Identity", [v], v.type, v.shape)
        names.add(v.name)
        given.append(v)
    return given


def _body(s, inputs, outputs):
    opened = s.rng.random() < 0.1
    declare = lambda v: {**onnx_grammar.declared(v), **({"shape": None} if opened else {})}
    return {"graph": {"inputs": [declare(v) for v in inputs], "outputs": [declare(v) for v in outputs], "initializers": s.graph.initializers, "nodes": s.graph.nodes}}


def _choose(s, most):
    arrays = sorted(s.rng.sample(range(len(s.arrays)), s.rng.randint(1, min(most, len(s.arrays)))))
    arrays = [k for k in arrays if s.arrays[k].shape is not None]
    return arrays, sorted(s.rng.sample(range(len(s.numbers)), s.rng.randint(0, min(3, len(s.numbers)))))


def _if(s, depth):
    arrays, numbers = _choose(s, 3)
    condition, sides = s.truth(), []
    kept = [s.arrays[k] for k in arrays] + [s.numbers[k] for k in numbers]
    for n in (s.rng.choice([1, 2, 3]), s.rng.choice([0, 0, 1, 2])):
        side = s.within()
        _run(side, n, depth - 1)
        left = [side.arrays[k] for k in arrays] + [side.numbers[k] for k in numbers]
        sides.append(_body(side, [], _given(side, left)))
    made = s.graph.call("If", [condition], [(v.type, v.shape) for v in kept], then_branch=sides[0], else_branch=sides[1])
    _take_over(s, arrays, numbers, made)


def _take_over(s, arrays, numbers, made):
    for k, v in zip(arrays, made):
        s.arrays[k] = v
    for k, v in zip(numbers, made[len(arrays):]):
        s.numbers[k] = v


def _fresh(s, type, shape):
    return onnx_grammar.Value(s.graph.fresh(), type, shape)


def _states(s, body, arrays, numbers):
    begun = [s.arrays[k] for k in arrays] + [s.numbers[k] for k in numbers]
    if s.rng.random() < 0.1 and len(arrays) > 1:  # two begin as one
        a, b = begun[0], next((v for v in begun[1:len(arrays)] if v.type == begun[0].type and v.shape == begun[0].shape), None)
        begun = [a if v is b else v for v in begun]
    inside = [_fresh(body, v.type, v.shape) for v in begun]
    _take_over(body, arrays, numbers, inside)
    return begun, inside


def _loop(s, depth, count=None, statements=None):
    arrays, numbers = _choose(s, 4)
    body = s.within()
    begun, inside = _states(s, body, arrays, numbers)
    number, go = _fresh(body, "int64", []), _fresh(body, "bool", [])
    body.numbers += [number] * 2
    _run(body, statements or s.rng.choice([1, 2, 3, 5]), depth - 1)
    on = body.truth() if s.rng.random() < 0.35 else go
    nexts = [body.arrays[k] for k in arrays] + [body.numbers[k] for k in numbers]
    stacked = s.rng.sample([v for v in body.arrays + body.numbers if v.shape is not None], s.rng.choice([0, 0, 1, 1, 2]))
    is_while = s.rng.random() < 0.15
    if is_while:
        on = body.call("And", [on, body.call("Less", [number, body.whole(s.rng.choice([0, 1, 4]))], "bool")], "bool")
    given = _given(body, [on, *nexts, *stacked])
    if count is None:
        count = "" if is_while else s.whole(s.rng.choice([0, 1, 2, 3, 4])) if s.rng.random() < 0.7 else s.call("Mod", [s.number(), s.whole(5)], "int64")
    condition = s.truth() if s.rng.random() < 0.15 else s.graph.constant("bool", [], [True]) if on is not go else ""
    made = s.graph.call("Loop", [count, condition, *begun], [(v.type, v.shape) for v in begun] + [(v.type, None) for v in stacked],
                        body=_body(body, [number, go, *inside], given))
    _take_over(s, arrays, numbers, made)
    return made


def _scan(s, depth):
    """Through one or two arrays, along any axes."""
    first = s.array(lambda v: v.shape)
    scanned, axes = [first], [s.rng.randrange(len(first.shape))]
    n = first.shape[axes[0]]
    other = s.array(lambda v: n in v.shape)
    if other is not None and s.rng.random() < 0.5:
        scanned.append(other)
        axes.append(s.rng.choice([k for k, size in enumerate(other.shape) if size == n]))
    arrays, numbers = _choose(s, 3)
    if s.rng.random() < 0.2:
        arrays = numbers = []
    body = s.within()
    begun, inside = _states(s, body, arrays, numbers)
    items = [_fresh(body, v.type, v.shape[:a] + v.shape[a + 1:]) for v, a in zip(scanned, axes)]
    body.arrays += [v for v in items if v.shape]
    body.numbers += [v for v in items if v.shape == [] and v.type in ("int64", "bool")]
    _run(body, s.rng.choice([1, 2, 3]), depth - 1)
    nexts = [body.arrays[k] for k in arrays] + [body.numbers[k] for k in numbers]
    can = [v for v in body.arrays + body.numbers + items if v.shape is not None]
    stacked = s.rng.sample(can, min(len(can), s.rng.choice([1, 1, 2] if not nexts else [0, 1, 1, 2])))
    ends = [s.rng.randrange(len(v.shape) + 1) for v in stacked]
    given = _given(body, [*nexts, *stacked])
    if not given:
        return
    attributes = {"scan_input_axes": [a - s.rng.choice([0, 0, len(v.shape)]) for a, v in zip(axes, scanned)]}
    if stacked and any(ends):
        attributes["scan_output_axes"] = [e - s.rng.choice([0, 0, len(v.shape) + 1]) for e, v in zip(ends, stacked)]
    if s.rng.random() < 0.4:
        attributes["scan_input_directions"] = [s.rng.choice([0, 1]) for _ in scanned]
    if stacked and s.rng.random() < 0.4:
        attributes["scan_output_directions"] = [s.rng.choice([0, 1]) for _ in stacked]
    shapes = [(v.type, v.shape) for v in begun] + [(v.type, v.shape[:e] + [n] + v.shape[e:]) for v, e in zip(stacked, ends)]
    made = s.graph.call("Scan", [*begun, *scanned], shapes, num_scan_inputs=len(scanned), body=_body(body, [*inside, *items], given), **attributes)
    _take_over(s, arrays, numbers, made)
    for v in made[len(begun):]:
        if v.shape and len(v.shape) <= 3:
            s.arrays.append(v)


STATEMENTS = [_gather] * 3 + [_gather_elements] * 2 + [_gather_nd] * 2 + [_scatter_elements] * 3 + [_scatter_nd] * 3 + [_slice] * 3 + [_lengths] * 3 + [_compute] * 3 + [_number] * 4 + [_swap] * 2


def _run(s, n_statements, depth):
    for _ in range(n_statements):
        lists = s.graph.nodes, s.graph.initializers, s.graph.values
        if depth > 0 and s.rng.random() < 0.25:
            s.rng.choice([_if, _if, _loop, _loop, _scan])(s, depth)
            continue
        lengths = [len(each) for each in lists]
        try:
            s.rng.choice(STATEMENTS)(s)
        except (AttributeError, IndexError):  # there is no array that fits
            for each, n in zip(lists, lengths):
                del each[n:]


def make(seed):
    rng = random.Random(f"places {seed}")
    program = Program(rng)
    graph = onnx_grammar.Graph(program)
    s = Scope(graph, [], [])
    wide = [t for t in program.types if t not in NARROW] or ["float32"]
    shape = program.shape()
    inputs = [_fresh(s, rng.choice(wide), shape if rng.random() < 0.6 else program.shape()) for _ in range(rng.choice([1, 2, 3]))]
    whole = [_fresh(s, "int64", []) for _ in range(rng.choice([1, 2, 3]))]
    s.arrays, s.numbers = list(inputs), list(whole)
    for type in program.types:
        if rng.random() < 0.6 or type in NARROW:
            s.arrays.append(graph.constant(type, shape))
    made = []
    for _ in range(rng.choice([1, 1, 2])):
        made = [*made, *(_loop(s, rng.choice([1, 2, 3]), statements=rng.choice([2, 4, 6])) if rng.random() < 0.8 else (_scan(s, 2) or []))]
    if not made:
        made = _loop(s, 1, statements=2)
    declared = onnx_grammar.declared
    fits = [v for v in {v.name: v for v in made + s.arrays + s.numbers}.values() if v not in inputs + whole and v.name in {n for node in graph.nodes for n in node["outputs"]}]
    outputs = [{**declared(v), **({"shape": None} if v.shape is None else {})} for v in fits]
    model = {"opset": program.opset, "inputs": [declared(v) for v in inputs + whole], "outputs": outputs, "initializers": graph.initializers, "nodes": graph.nodes}
    given = lambda v: {"type": v.type, "shape": v.shape, "data": onnx_grammar.numbers(rng, v.type, onnx_grammar.length(v.shape))}
    phases = [{"steps": rng.choice([2, 3, 5]), "inputs": {v.name: given(v) for v in inputs + whole}} for _ in range(rng.choice([1, 2]))]
    return {"format": "onnx", "model": model, "phases": phases, "dt": None}
