"""Random ONNX programs whose sizes, trip counts and shapes change from evaluation to evaluation, and whose values have several parts to play: a state that is a scan output, captured and a
branch's result too, one initial value of two states, what is passed through, lists that grow beside scan outputs of the same items. A shape has names for lengths that are only known when it
runs. ``make(seed)`` gives one case (case.py)."""
import random

import onnx_file
import onnx_grammar
from onnx_grammar import Value

REALS = ["float32", "float32", "float32", "float64"]
MOST_DEPTH = 3


class Program:
    def __init__(self, rng):
        self.rng, self.n_names, self.n_lengths = rng, 0, 0
        self.opset = rng.choice([13, 15, 16, 17, 18, 21])
        self.type = rng.choice(REALS + ["int64"])
        self.width = rng.choice([1, 2, 3, 8])
        self.is_strict = rng.random() < 0.6  # bodies give back only what they have made, as other engines want it

    def length(self):
        """A length that is not known before it runs."""
        self.n_lengths += 1
        return f"n{self.n_lengths}"


class Graph(onnx_grammar.Graph):
    def whole(self, n):
        return self.constant("int64", [], [n])

    def number(self):
        """A whole number that changes, kept small."""
        found = self.pick(lambda v: v.type == "int64" and v.shape == [])
        if found is None or self.rng.random() < 0.15:
            return self.whole(self.rng.choice([0, 1, 2, 3]))
        return self.call("Mod", [found, self.whole(self.rng.choice([2, 3, 4, 6]))], [("int64", [])])[0] if self.rng.random() < 0.4 else found

    def tensor(self, ranks=(0, 1, 2, 3)):
        found = self.pick(lambda v: v.type == self.program.type and v.shape is not None and len(v.shape) in ranks)
        return found or self.constant(self.program.type, [2] * ranks[-1] if 0 not in ranks else [])

    def like(self, value):
        """Another value of that shape, or a number or row that goes with it."""
        found = self.pick(lambda v: v.type == value.type and v.shape == value.shape and v is not value)
        if found is not None and self.rng.random() < 0.7:
            return found
        row = self.pick(lambda v: v.type == value.type and v.shape is not None and (v.shape == [] or v.shape == value.shape[-1:]))
        return row if row is not None and self.rng.random() < 0.6 else self.constant(value.type, [])

    def test(self):
        r = self.rng.random()
        found = self.pick(lambda v: v.type == "bool" and v.shape == [])
        if found is not None and r < 0.5:
            return found
        if r < 0.75:
            return self.call("Less", [self.number(), self.whole(self.rng.choice([1, 2, 3]))], [("bool", [])])[0]
        x = self.tensor()
        total = self.call("ReduceSum", [x], [(x.type, [])], keepdims=0)[0]
        return self.call("Greater", [total, self.constant(x.type, [])], [("bool", [])])[0]

    def grow(self, n_calls):
        for _ in range(n_calls):
            r = self.rng.random()
            if self.depth < MOST_DEPTH and r < 0.16 + 0.1 * (self.depth == 0):
                self.rng.choice([_loop, _loop, _loop, _branch, _branch, _scan])(self)
            else:
                self.rng.choice(CALLS)(self)


# ---------------------------------------------------------------- calls


def _binary(g):
    x = g.tensor()
    sides = [x, g.like(x)]
    g.rng.shuffle(sides)
    g.call(g.rng.choice(["Add", "Sub", "Mul", "Max", "Min"]), sides, [(x.type, x.shape)])


def _unary(g):
    x = g.tensor()
    g.call(g.rng.choice(["Neg", "Abs", "Identity"] + ["Tanh", "Sigmoid", "Relu"] * (x.type != "int64")), [x], [(x.type, x.shape)])


def _join(g):
    x = g.tensor((1, 2))
    axis = g.rng.randrange(len(x.shape))
    y = g.pick(lambda v: v.type == x.type and v.shape is not None and len(v.shape) == len(x.shape) and v.shape[:axis] + v.shape[axis + 1:] == x.shape[:axis] + x.shape[axis + 1:]) or x
    parts = [x, y] if g.rng.random() < 0.8 else [x, y, x]
    g.call("Concat", parts, [(x.type, [g.program.length() if k == axis else n for k, n in enumerate(x.shape)])], axis=axis)


def _ends(g):
    """Two indices: constants, numbers that change, either end."""
    at = [g.number() if g.rng.random() < 0.5 else g.whole(g.rng.choice([0, 1, -1, -2, 2, 99])) for _ in range(2)]
    return [g.call("Reshape", [v, g.constant("int64", [1], [1])], [("int64", [1])])[0] for v in at]


def _slice(g):
    x = g.tensor((1, 2, 3))
    axis = g.rng.randrange(len(x.shape))
    step = [g.constant("int64", [1], [g.rng.choice([1, 1, -1, 2])])] if g.rng.random() < 0.3 else []
    g.call("Slice", [x, *_ends(g), g.constant("int64", [1], [axis]), *step], [(x.type, [g.program.length() if k == axis else n for k, n in enumerate(x.shape)])])


def _range(g):
    made, = g.call("Range", [g.whole(0), g.number(), g.whole(1)], [("int64", [g.program.length()])])
    if g.program.type != "int64":
        g.call("Cast", [made], [(g.program.type, made.shape)], to=onnx_file.ELEMENTS[g.program.type])


def _fill(g):
    """As many as a number says, of a number or a row."""
    x = g.tensor((0, 1))
    size = g.call("Reshape", [g.number(), g.constant("int64", [1], [1])], [("int64", [1])])[0]
    if x.shape:
        size = g.call("Concat", [size, g.call("Shape", [x], [("int64", [1])])[0]], [("int64", [2])], axis=0)[0]
    g.call("Expand", [x, size], [(x.type, [g.program.length()] + x.shape)])


def _size(g):
    x = g.tensor((1, 2))
    if g.rng.random() < 0.5:
        g.call("Size", [x], [("int64", [])])
    else:
        shape, = g.call("Shape", [x], [("int64", [len(x.shape)])])
        g.call("Gather", [shape, g.whole(g.rng.randrange(len(x.shape)))], [("int64", [])], axis=0)


def _reduce(g):
    x = g.tensor((1, 2, 3))
    axis, keep = g.rng.randrange(len(x.shape)), g.rng.choice([0, 1])
    shape = [1 if k == axis else n for k, n in enumerate(x.shape) if keep or k != axis]
    op = g.rng.choice(["ReduceSum", "ReduceSum", "ReduceSumSquare", "ReduceL1"])
    if op == "ReduceSum" or g.program.opset >= 18:
        g.call(op, [x, g.constant("int64", [1], [axis])], [(x.type, shape)], keepdims=keep)
    else:
        g.call(op, [x], [(x.type, shape)], keepdims=keep, axes=[axis])


def _item(g):
    """A row by an index that may be past the end, mostly is not."""
    x = g.tensor((1, 2, 3))
    index = g.number()
    if g.rng.random() < 0.9:
        extended, = g.call("Concat", [x, g.call("Expand", [g.constant(x.type, []), g.call("Max", [g.call("Shape", [x], [("int64", [len(x.shape)])])[0], g.constant("int64", [1], [1])], [("int64", [len(x.shape)])])[0]],
                                                           [(x.type, None)])[0]], [(x.type, None)], axis=0)
        x = Value(extended.name, x.type, [g.program.length()] + x.shape[1:])
        index = g.whole(g.rng.choice([0, -1]))
    g.call("Gather", [x, index], [(x.type, x.shape[1:])], axis=0)


def _move(g):
    x = g.tensor((1, 2))
    kind = g.rng.choice(["flat", "Transpose", "Unsqueeze", "Softmax", "CumSum"])
    if kind == "flat":
        g.call("Reshape", [x, g.constant("int64", [1], [-1])], [(x.type, [g.program.length()])])
    elif kind == "Transpose":
        g.call(kind, [x], [(x.type, x.shape[::-1])], perm=list(range(len(x.shape)))[::-1])
    elif kind == "Unsqueeze":
        axis = g.rng.randint(0, len(x.shape))
        g.call(kind, [x, g.constant("int64", [1], [axis])], [(x.type, x.shape[:axis] + [1] + x.shape[axis:])])
    elif kind == "CumSum":
        g.call(kind, [x, g.whole(g.rng.randrange(len(x.shape)))], [(x.type, x.shape)])
    elif x.type != "int64":
        g.call(kind, [x], [(x.type, x.shape)], axis=g.rng.randrange(len(x.shape)))


def _choose(g):
    x = g.tensor()
    test = g.test() if g.rng.random() < 0.5 else g.call("Greater", [x, g.constant(x.type, [])], [("bool", x.shape)])[0]
    g.call("Where", [test, x, g.like(x)], [(x.type, x.shape)])


def _compress(g):
    x = g.tensor((1,))
    kept, = g.call("Greater", [x, g.constant(x.type, [])], [("bool", x.shape)])
    g.call("Compress", [x, kept], [(x.type, [g.program.length()])], axis=0)


def _product(g):
    x = g.tensor((2,))
    if x.type != "int64" and len(x.shape) == 2:
        turned, = g.call("Transpose", [x], [(x.type, x.shape[::-1])], perm=[1, 0])
        y = g.pick(lambda v: v.type == x.type and v.shape is not None and len(v.shape) == 2 and v.shape[0] == x.shape[1]) or turned
        g.call("MatMul", [x, y], [(x.type, [x.shape[0], y.shape[1]])])


def _list(g):
    s = g.pick(lambda v: v.type == f"seq({g.program.type})")
    kind = g.rng.choice(["make", "insert", "insert", "join", "join", "length", "at", "split", "erase"]) if s is not None else g.rng.choice(["make", "split", "empty"])
    if kind == "make":
        x = g.tensor((0, 1, 2))
        g.call("SequenceConstruct", [x, *([g.like(x)] * g.rng.choice([0, 1]))], [(f"seq({x.type})", None)])
    elif kind == "empty":
        g.call("SequenceEmpty", [], [(f"seq({g.program.type})", None)], dtype=onnx_file.ELEMENTS[g.program.type])
    elif kind == "split":
        x = g.tensor((1, 2))
        g.call("SplitToSequence", [x], [(f"seq({x.type})", None)], axis=0, keepdims=g.rng.choice([0, 1]))
    elif kind == "insert":
        g.call("SequenceInsert", [s, g.tensor((0, 1, 2))] + [g.whole(0)] * (g.rng.random() < 0.2), [(s.type, None)])
    elif kind == "length":
        g.call("SequenceLength", [s], [("int64", [])])
    elif kind == "erase":
        g.call("SequenceErase", [s], [(s.type, None)])
    elif kind == "at":
        g.call("SequenceAt", [s, g.whole(g.rng.choice([0, -1]))], [(g.program.type, None)])
    else:
        g.call("ConcatFromSequence", [s], [(g.program.type, None)], axis=0, new_axis=g.rng.choice([0, 1]))


def _whole_of(g):
    """Of a value of a shape that nobody knows: what every shape has."""
    x = g.pick(lambda v: v.type == g.program.type and v.shape is None)
    if x is not None:
        kind = g.rng.choice(["flat", "Size", "Neg", "ReduceSum", "Add"])
        if kind == "flat":
            g.call("Reshape", [x, g.constant("int64", [1], [-1])], [(x.type, [g.program.length()])])
        elif kind == "Size":
            g.call("Size", [x], [("int64", [])])
        elif kind == "ReduceSum":
            g.call("ReduceSum", [x], [(x.type, [])], keepdims=0)
        else:
            g.call(kind, [x] + [g.constant(x.type, [])] * (kind == "Add"), [(x.type, None)])


CALLS = [_binary] * 5 + [_unary] * 2 + [_join] * 2 + [_slice] * 2 + [_range, _fill, _size, _reduce, _reduce, _item, _move, _choose, _compress, _product, _list, _list, _whole_of]


# ---------------------------------------------------------------- control flow


def _body(graph, inputs, n_calls):
    body = Graph(graph.program, graph)
    body.values += inputs
    body.grow(n_calls)
    return body


def _graph(body, inputs, outputs):
    """What a body is in the file: an output that is listed twice, or is no value of its own, goes by another name, mostly."""
    names, own = [], {name for node in body.nodes for name in node["outputs"]}
    for v in outputs:
        if v.name in names or v.name not in own and (body.program.is_strict or body.rng.random() < 0.3):
            v, = body.call("Identity", [v], [(v.type, v.shape)])
        names.append(v.name)
    by_name = {v.name: v for v in [*body.visible(), *inputs, *outputs]}
    return {"graph": {"inputs": [_declared(v) for v in inputs], "outputs": [_declared(by_name[name]) for name in names], "initializers": body.initializers, "nodes": body.nodes}}


def _declared(value):
    """A length with a name is open."""
    shape = value.shape if value.shape is not None and not value.type.startswith("seq(") else None
    return {"name": value.name, "type": value.type, "shape": None if shape is None else [n if isinstance(n, int) else None for n in shape]}


def _states(graph):
    """Initial values: of two states the same, now and then."""
    rng, states = graph.rng, []
    for _ in range(rng.choice([0, 1, 1, 2, 2, 3])):
        r = rng.random()
        found = rng.choice(states) if states and r < 0.2 else graph.pick(lambda v: v.type.startswith("seq(")) if r < 0.4 else graph.number() if r < 0.5 else None
        if r < 0.3 and found is None:
            found, = graph.call("SequenceEmpty", [], [(f"seq({graph.program.type})", None)], dtype=onnx_file.ELEMENTS[graph.program.type])
        states.append(found or graph.tensor())
    return states


def _kinds(rng, states):
    """What becomes of each state: "same" shape, another "length" along an axis, or "any" shape."""
    return ["list" if v.type.startswith("seq(") else "any" if v.shape is None else rng.choice(["same", "same", "length", "any"] if v.shape else ["same"] * 9 + ["any"]) for v in states]


def _inside(graph, states, kinds):
    """The states in the body."""
    made = []
    for v, kind in zip(states, kinds):
        shape = v.shape if kind == "same" else [graph.program.length()] + v.shape[1:] if kind == "length" else None
        made.append(Value(graph.fresh(), v.type, shape))
    return made


def _next(body, state, kind, items):
    """What a state becomes; ``items``: what was put behind others, to be scan outputs too."""
    rng = body.rng
    if kind == "list":
        item = rng.choice(items) if items and rng.random() < 0.4 else body.tensor((0, 1, 2))
        items.append(item)
        r = rng.random()
        if r < 0.15:
            return state
        grown, = body.call("SequenceInsert", [state, item], [(state.type, None)])
        return body.call("SequenceErase", [grown, body.whole(0)], [(state.type, None)])[0] if r < 0.3 else grown
    if kind == "length":
        fits = body.pick(lambda v: v.type == state.type and v.shape is not None and len(v.shape) == len(state.shape) and v.shape[1:] == state.shape[1:] and v.name != state.name)
        if rng.random() < 0.25:
            return body.call("Slice", [state, *_ends(body), body.constant("int64", [1], [0])], [(state.type, None)])[0]
        if rng.random() < 0.25 and fits is not None:
            return fits
        row = body.pick(lambda v: v.type == state.type and v.shape == state.shape[1:])
        if row is not None:
            items.append(row)
            fits, = body.call("Unsqueeze", [row, body.constant("int64", [1], [0])], [(row.type, [1] + row.shape)])
        return body.call("Concat", [state, fits or state] if rng.random() < 0.8 else [fits or state, state], [(state.type, None)], axis=0)[0]
    fits = [v for v in body.visible() if v.type == state.type and (kind == "any" or v.shape == state.shape)]
    if state.type == "int64" and state.shape == [] and rng.random() < 0.5:
        return body.call("Add", [state, body.whole(1)], [("int64", [])])[0]
    if kind == "same" and fits and rng.random() < 0.3 and state.type != "bool":
        return body.call("Add", [state, rng.choice(fits[-4:])], [(state.type, state.shape)])[0]
    own = [v for v in fits if v in body.values] if rng.random() < 0.85 else fits
    return rng.choice(own[-5:]) if own else state


def _stacked(body, items):
    """Scan outputs: states, what they become, items of lists, captured ones, branches' results."""
    found = [body.rng.choice(items)] if items and body.rng.random() < 0.7 else []
    for _ in range(body.rng.choice([0, 1, 1, 2])):
        found.append(body.pick(lambda v: not v.type.startswith("seq(") and v.shape is not None))
    return [v for v in found if v is not None]


def _given_back(graph, inside, kinds, stacked, length):
    """Types and shapes of a loop's results."""
    states = [(v.type, v.shape if kind == "same" else [graph.program.length()] + v.shape[1:] if kind == "length" else None) for v, kind in zip(inside, kinds)]
    return states + [(v.type, [length] + v.shape) for v in stacked]


def _loop(graph):
    rng, states = graph.rng, _states(graph)
    kinds = _kinds(rng, states)
    inside = _inside(graph, states, kinds)
    number, go = Value(graph.fresh(), "int64", []), Value(graph.fresh(), "bool", [])
    count = graph.number() if rng.random() < 0.75 else graph.whole(rng.choice([1, 2, 3, 5]))
    condition = graph.test() if rng.random() < 0.15 else ""
    body = _body(graph, [number, go] + inside, rng.choice([0, 1, 2, 3, 4]))
    items = []
    nexts = [_next(body, v, kind, items) for v, kind in zip(inside, kinds)]
    stacked = _stacked(body, items)
    on = body.test() if rng.random() < 0.2 else go
    if not nexts + stacked:
        return
    made = _given_back(graph, inside, kinds, stacked, graph.program.length())
    graph.call("Loop", [count, condition] + states, made, body=_graph(body, [number, go] + inside, [on] + nexts + stacked))


def _scan(graph):
    rng = graph.rng
    scanned = [v for v in [graph.tensor((1, 2, 3))] if v.shape]
    if not scanned:
        return
    scanned += [v for v in [graph.pick(lambda v: v.type == graph.program.type and v.shape and v.shape[0] == scanned[0].shape[0])] if v is not None][:rng.choice([0, 1])]
    states = [v for v in _states(graph) if v.shape is not None]
    inside = _inside(graph, states, ["same"] * len(states))
    slices = [Value(graph.fresh(), v.type, v.shape[1:]) for v in scanned]
    body = _body(graph, inside + slices, rng.choice([0, 1, 2, 3]))
    nexts = [_next(body, v, "same", []) for v in inside]
    stacked = _stacked(body, [])
    if not nexts + stacked:
        return
    turned = {"scan_input_directions": [rng.choice([0, 1]) for _ in scanned]} if rng.random() < 0.2 else {}
    graph.call("Scan", states + scanned, _given_back(graph, inside, ["same"] * len(states), stacked, scanned[0].shape[0]), num_scan_inputs=len(scanned), **turned,
               body=_graph(body, inside + slices, nexts + stacked))


def _branch(graph):
    rng, n = graph.rng, graph.rng.choice([1, 1, 2, 3])
    test = graph.test()
    wanted = [graph.pick(lambda v: v.type != "bool") or graph.tensor() for _ in range(n)]
    free = [not v.type.startswith("seq(") and rng.random() < 0.3 for v in wanted]  # the branches' shapes differ
    branches = []
    for _ in range(2):
        body, outputs = _body(graph, [], rng.choice([0, 0, 1, 2, 3])), []
        for v, is_free in zip(wanted, free):
            fits = [w for w in body.visible() if w.type == v.type and (is_free or w.shape == v.shape)]
            own = [w for w in fits if w in body.values]
            outputs.append(rng.choice(own[-3:] if own and rng.random() < 0.6 else fits) if fits else v)
        branches.append(_graph(body, [], outputs))
    graph.call("If", [test], [(v.type, None if is_free else v.shape) for v, is_free in zip(wanted, free)], then_branch=branches[0], else_branch=branches[1])


# ---------------------------------------------------------------- the whole


def _inputs(graph):
    """Inputs, some of whose lengths are named."""
    rng, program = graph.rng, graph.program
    n, m = program.length(), program.length()
    shapes = [[n], [n], [n, program.width], [n, m], [program.width], [], [m]]
    made = [Value(graph.fresh(), program.type, rng.choice(shapes)) for _ in range(rng.choice([1, 2, 2, 3]))]
    made += [Value(graph.fresh(), "int64", []) for _ in range(rng.choice([1, 1, 2]))]
    return made + [Value(graph.fresh(), "bool", [])] * rng.choice([0, 1])


def _phases(rng, inputs, width):
    """Lengths and numbers that stay for some evaluations, change, and come back."""
    few = [rng.choice([0, 1, 1, 2, 3, 3, 4, 5, 8]) for _ in range(3)]
    phases = []
    for _ in range(rng.choice([2, 3, 4, 6, 8])):
        lengths, phase = {}, {}
        for v in inputs:
            shape = [n if isinstance(n, int) else lengths.setdefault(n, rng.choice(few)) for n in v.shape]
            data = [rng.choice(few)] if v.type == "int64" and not shape else onnx_grammar.numbers(rng, v.type, onnx_grammar.length(shape))
            phase[v.name] = {"type": v.type, "shape": shape, "data": data}
        phases.append({"steps": rng.choice([1, 1, 2, 3, 4]) if rng.random() < 0.97 else 70, "inputs": phase})
    return phases


def make(seed):
    rng = random.Random(f"changing {seed}")
    program = Program(rng)
    graph = Graph(program)
    inputs = _inputs(graph)
    graph.values += inputs
    graph.grow(rng.choice([2, 3, 4, 6, 9]))
    made = {name for node in graph.nodes for name in node["outputs"]}
    own = [v for v in graph.values if v.name in made]
    shown = [v for v in own if rng.random() < 0.5][-8:] or own[-1:] or inputs[:1]
    model = {"opset": program.opset, "inputs": [_declared(v) for v in inputs], "outputs": [_declared(v) for v in shown], "initializers": graph.initializers, "nodes": graph.nodes}
    return {"format": "onnx", "model": model, "phases": _phases(rng, inputs, program.width), "dt": None}
