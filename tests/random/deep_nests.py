"""Random ONNX programs whose Scans and Loops stand in each other, with bodies of many calls on arrays of any rank (array_calls.py): scanned and stacked along any axes in either
direction, with states of every form, ended by a condition or not. ``make(seed)`` gives one case (case.py); ``make_hard(seed)`` one of NaN, infinities, subnormal numbers and the
ends of whole types. Neither is one of the families that seeds take turns in: ``--family`` chooses them."""
import random

import array_calls
import onnx_calls
import onnx_grammar

HARD = {"float32": [float("nan"), float("inf"), -float("inf"), -0.0, 1e-40, -1e-45, 3.4e38, 1e-30, 16777217.0, 2147483648.0, -2147483904.0, 0.5, 2.5, 65504.0, 9.3e18],
        "float64": [float("nan"), float("inf"), -float("inf"), -0.0, 5e-324, -1e-310, 1.7e308, 1e-300, 9007199254740993.0, 9.3e18, -9.3e18, 0.5, 2.5, 1e39, 4294967296.0],
        "float16": [float("nan"), float("inf"), -float("inf"), -0.0, 6e-8, 65504.0, 2048.0, 0.5],
        "bfloat16": [float("nan"), float("inf"), -float("inf"), -0.0, 1e-40, 3.3e38, 256.0, 0.5]}


def _ends(bits, is_natural):
    low, high = (0, 2**bits - 1) if is_natural else (-2**(bits - 1), 2**(bits - 1) - 1)
    return [low, low + 1, high, high - 1, high // 2, high // 2 + 1]


class Program:
    def __init__(self, rng, hard):
        self.rng, self.hard, self.n_names, self.inputs = rng, hard, 0, []
        self.opset = rng.choice([13, 17, 18, 18, 21])
        self.sizes = rng.sample([1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 19, 31, 32, 33, 37], 4) + [1]
        is_large = rng.random() < 0.25
        self.sizes += (rng.sample([64, 70, 97, 128, 300], 2) if is_large else []) + [0] * (rng.random() < 0.06)
        self.type = rng.choice(["float32"] * 5 + ["float64"] * 3 + ["int64", "int32"] + ["float16", "bfloat16"])
        self.most = 40000 if is_large else 6000  # elements of an array

    def shape(self):
        while True:
            shape = [self.rng.choice(self.sizes) for _ in range(self.rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 5]))]
            if onnx_grammar.length(shape) <= self.most // 4:
                return shape

    def numbers(self, type, n):
        """A few that repeat, where there are many."""
        some = onnx_grammar.numbers(self.rng, type, min(n, 400))
        if self.hard and type != "bool":
            ends = HARD.get(type) or _ends(int(type.strip("uint")), type[0] == "u")
            some = [self.rng.choice(ends) if self.rng.random() < 0.15 else x for x in some]
        return (some * (n // len(some) + 1))[:n] if some else []


class Graph(onnx_grammar.Graph):
    """``numbers``: of the runs of the loop that it is the body of."""

    def __init__(self, program, outer=None, numbers=()):
        super().__init__(program, outer)
        self.numbers = list(numbers)
        self.values += self.numbers

    def call(self, op, inputs, outputs, **attributes):
        if any(shape is not None and (onnx_grammar.length(shape) > self.program.most or len(shape) > 6) for _, shape in outputs):
            raise onnx_grammar.Missing(op)
        return super().call(op, inputs, outputs, **attributes)

    def constant(self, type, shape, data=None):
        """Here or around it; no value that others pick."""
        where = self.outer if self.outer is not None and self.rng.random() < 0.3 else self
        value = super(Graph, where).constant(type, shape, self.program.numbers(type, onnx_grammar.length(shape)) if data is None else data)
        where.values.remove(value)
        return value

    def fill(self, n):
        for _ in range(n):
            for _ in range(5):
                if self.attempt(self.rng.choice(array_calls.KINDS)):
                    break

    def made(self):
        return {name for node in self.nodes for name in node["outputs"]}


def _next(g, state):
    """What a state becomes: rather what the body has made of its type and shape."""
    made, type, shape = g.made(), state.type, state.shape
    x = g.pick(lambda v: v.type == type and v.shape == shape and v.name in made)
    if x is not None and g.rng.random() < 0.7:
        return x
    x = g.pick(lambda v: v.type == type and v.type in array_calls.SUMMED and v.name in made and v.shape is not None and 0 not in v.shape)
    if x is not None:
        x = g.call(g.rng.choice(["ReduceMax", "ReduceSum"]), [x], [(type, [])], keepdims=0)[0] if x.shape else x
        return g.call(g.rng.choice(["Add", "Sub", "Mul", "Max"]), [state, x], [(type, shape)])[0]
    if type in array_calls.SUMMED:
        return g.call("Add", [state, g.constant(type, [])], [(type, shape)])[0]
    return g.call("Not" if type == "bool" else "Identity", [state], [(type, shape)])[0]


def _graph(g, inputs, outputs):
    """As an attribute; no output has the name of another, or one that the body has not made. Now and then its values are declared without shapes."""
    made, names, named = g.made(), set(), []
    for v in outputs:
        if v.name not in made or v.name in names:
            v = g.call("Identity", [v], [(v.type, v.shape)])[0]
        names.add(v.name)
        named.append(v)
    is_open = g.rng.random() < 0.15
    declared = [[{**onnx_grammar.declared(v), **({"shape": None} if is_open else {})} for v in each] for each in (inputs, named)]
    return {"graph": {"inputs": declared[0], "outputs": declared[1], "initializers": g.initializers, "nodes": g.nodes}}


def _inside(g, values):
    return [onnx_grammar.Value(g.fresh(), v.type, v.shape) for v in values]


def _states(g, n):
    found = [g.pick(lambda v: v.shape is not None) if g.rng.random() < 0.5 else None for _ in range(n)]
    return [v if v is not None else g.constant(g.program.type, g.program.shape()) for v in found]


def _stacked(body, n_runs, numbers):
    """What the body stacks."""
    own = [v for v in body.values if v.shape is not None and onnx_grammar.length(v.shape) * max(n_runs, 1) <= body.program.most and len(v.shape) < 6]
    return [body.rng.choice(own[-6:]) for _ in range(body.rng.choice(numbers))] if own else []


def _fill(body, n_calls, depth):
    body.fill(n_calls)
    if depth > 0:
        nest(body, depth - 1)
        body.fill(body.rng.choice([0, 2, 4]))


def _scanned(g, n_runs):
    """An array with an axis to go through, of n_runs if that is known; the axis."""
    found = g.pick(lambda v: v.shape and (n_runs in v.shape if n_runs is not None else 0 not in v.shape))
    if found is not None and (n_runs is None or g.rng.random() < 0.7):
        return found, g.rng.choice([k for k, n in enumerate(found.shape) if n_runs in (None, n)])
    shape, n_runs = g.program.shape(), 3 if n_runs is None else n_runs
    axis = g.rng.randint(0, len(shape))
    shape.insert(axis, n_runs)
    if onnx_grammar.length(shape) > g.program.most:
        shape, axis = [n_runs], 0
    type = g.rng.choice([g.program.type] * 5 + ["int64", "float64", "float32", "int32", "bool"])
    if g.outer is not None or g.rng.random() < 0.3:
        return g.constant(type, shape), axis
    g.program.inputs.append(onnx_grammar.Value(g.fresh(), type, shape))
    g.values.append(g.program.inputs[-1])
    return g.values[-1], axis


def _scan(g, n_calls, depth):
    rng, body = g.rng, Graph(g.program, g)
    n_runs = rng.choice([1, 2, 3, 5, 8, 9, 17]) if g.outer is None or rng.random() < 0.5 else None
    scanned, axes = [], []
    for _ in range(rng.choice([1, 1, 2, 3])):
        v, axis = _scanned(g, n_runs)
        n_runs = v.shape[axis]
        scanned.append(v)
        axes.append(axis)
    if n_runs > 40:
        raise onnx_grammar.Missing
    states = _states(g, rng.choice([0, 1, 1, 2, 3]))
    inside = _inside(body, states)
    items = [onnx_grammar.Value(body.fresh(), v.type, v.shape[:axis] + v.shape[axis + 1:]) for v, axis in zip(scanned, axes)]
    body.values += inside + items
    _fill(body, n_calls, depth)
    nexts, stacked = [_next(body, v) for v in inside], _stacked(body, n_runs, [1, 1, 2, 3])
    ends = [rng.randint(0, len(v.shape)) for v in stacked]
    attributes = {"scan_input_axes": [array_calls._either_end(g, axis, len(v.shape)) for axis, v in zip(axes, scanned)]} if any(axes) or rng.random() < 0.7 else {}
    if stacked:
        attributes["scan_output_axes"] = [end - rng.choice([0, 0, len(v.shape) + 1]) for end, v in zip(ends, stacked)]
    for name, values in (("scan_input_directions", scanned), ("scan_output_directions", stacked)):
        if values and rng.random() < 0.5:
            attributes[name] = [rng.choice([0, 1]) for _ in values]
    results = [(v.type, v.shape) for v in states] + [(v.type, v.shape[:end] + [n_runs] + v.shape[end:]) for v, end in zip(stacked, ends)]
    return g.call("Scan", states + scanned, results, body=_graph(body, inside + items, nexts + stacked), num_scan_inputs=len(scanned), **attributes)


def _condition(g):
    """That a number which the body has made is on one side of a constant; None where there is none."""
    x = g.pick(lambda v: v.type in array_calls.SUMMED and v.shape is not None and onnx_grammar.length(v.shape) == 1)
    if x is None:
        return None
    x = g.call("Reshape", [x, g.constant("int64", [0], [])], [(x.type, [])])[0] if x.shape else x
    return g.call(g.rng.choice(["Less", "Greater"]), [x, g.constant(x.type, [])], [("bool", [])])[0]


def _loop(g, n_calls, depth):
    rng, n_runs = g.rng, g.rng.choice([0, 1, 2, 3, 3, 5, 5, 9, 9])
    states, number = _states(g, rng.choice([1, 1, 2, 3])), onnx_grammar.Value(g.fresh(), "int64", [])
    body, go = Graph(g.program, g, [number]), onnx_grammar.Value(g.fresh(), "bool", [])
    inside = _inside(body, states)
    body.values += inside
    _fill(body, n_calls, depth)
    nexts, stacked = [_next(body, v) for v in inside], _stacked(body, n_runs, [0, 1, 1, 2])
    condition = _condition(body) if rng.random() < 0.3 else None
    begins = "" if condition is None and rng.random() < 0.6 else g.constant("bool", [], [True])
    results = [(v.type, v.shape) for v in states] + [(v.type, [n_runs] + v.shape if condition is None else None) for v in stacked]
    inner = _graph(body, [number, go] + inside, [condition or go] + nexts + stacked)
    made = g.call("Loop", [g.constant("int64", [], [n_runs]), begins] + states, results, body=inner)
    for v in made[len(states):] if condition is not None else []:  # nothing but a result: as long as the condition says
        g.values.remove(v)
    return made


def _branch(g, n_calls, _):
    rng = g.rng
    c = g.pick(lambda v: v.type == "bool" and v.shape == []) or _condition(g)
    wanted = [g.pick(lambda v: v.type in array_calls.SUMMED and v.shape is not None) for _ in range(rng.choice([1, 2]))]
    if c is None or None in wanted:
        raise onnx_grammar.Missing
    branches = {}
    for name in ("then_branch", "else_branch"):
        body = Graph(g.program, g)
        begin = [body.call("Identity", [v], [(v.type, v.shape)])[0] for v in wanted]
        body.fill(rng.choice([1, 3, n_calls]))
        branches[name] = _graph(body, [], [_next(body, v) for v in begin])
    return g.call("If", [c], [(v.type, v.shape) for v in wanted], **branches)


def nest(g, depth):
    """A loop, or within one an If, with ``depth`` levels of others in it; what it gives."""
    kind = g.rng.choice([_scan, _scan, _scan, _loop, _loop] + [_branch] * (g.outer is not None))
    return g.attempt(lambda graph: kind(graph, g.rng.choice([1, 3, 5, 8] if depth else [3, 5, 8, 12, 15]), depth)) or []


def make(seed, hard=False):
    rng = random.Random(f"deep nests {seed}")
    program = Program(rng, hard)
    g, results = Graph(program), []
    program.inputs += [onnx_grammar.Value(g.fresh(), program.type, program.shape()) for _ in range(rng.choice([1, 2]))]
    g.values += program.inputs
    while not results or rng.random() < 0.3:
        results += nest(g, rng.choice([0, 0, 1, 1, 2]))
    n = len(g.nodes)
    g.fill(rng.choice([0, 0, 1, 3]))
    results += [v for v in g.values if v.name in {name for node in g.nodes[n:] if node["op"] != "Constant" for name in node["outputs"]}]
    outputs = rng.sample(results, min(len(results), rng.choice([1, 2, 3, 5])))
    model = {"opset": program.opset, "inputs": [onnx_grammar.declared(v) for v in program.inputs],
             "outputs": [{**onnx_grammar.declared(v), "shape": None} for v in outputs], "initializers": g.initializers, "nodes": g.nodes}
    given = [{v.name: {"type": v.type, "shape": v.shape, "data": program.numbers(v.type, onnx_grammar.length(v.shape))} for v in program.inputs} for _ in range(rng.choice([1, 2]))]
    return {"format": "onnx", "model": model, "phases": [{"steps": rng.choice([1, 2]), "inputs": inputs} for inputs in given], "dt": None}


def make_hard(seed):
    return make(seed, True)
