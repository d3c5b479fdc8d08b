"""Random models of whole numbers and their bits. ONNX: Scans and Loops whose bodies compute with numbers and arrays of all eight whole types, and cast between these, reals and truths: generators, hashes, masks,
counters that wrap. MDF: Python's whole numbers and arrays of them, shifted. ``make(seed)`` gives one case (case.py)."""
import random

import onnx_calls
import onnx_file
import onnx_grammar

WHOLE = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"]
NATURAL = WHOLE[:4]
OTHER = ["float32", "float64", "bool"]


def bits_of(type):
    return int(type.lstrip("uint"))


def ends(type):
    n = bits_of(type)
    return (0, 2**n - 1) if type in NATURAL else (-2**(n - 1), 2**(n - 1) - 1)


def elements(rng, type, n):
    """Small ones, those at the ends, and any."""
    if type not in WHOLE:
        return [rng.choice([0.0, -0.0, 1.0, -1.5, 200.5, -3e4, 70000.25, 3e9, -1e10, 1.2e19, 9.3e18, 1e20]) if rng.random() < 0.3 else x for x in onnx_grammar.numbers(rng, type, n)] if "float" in type else onnx_grammar.numbers(rng, type, n)
    low, high = ends(type)
    return [rng.choice([low, high, low + 1, high - 1, 0, 1, high // 2 + 1]) if rng.random() < 0.3 else rng.randint(low, high) if rng.random() < 0.6 else rng.randint(max(low, -4), 9) for _ in range(n)]


class Program:
    def __init__(self, rng):
        self.rng, self.n_names, self.opset = rng, 0, rng.choice([14, 18, 18, 18, 21])
        self.types = rng.sample(WHOLE, rng.choice([1, 2, 2, 3])) + rng.sample(OTHER, rng.choice([0, 1, 1, 2]))
        self.length = rng.choice([1, 2, 3, 4, 7, 8, 9, 16, 17, 31, 32, 33, 64, 70])


def _same(g, x):
    """A value that an operator of two takes with it: of its type, and its shape or a number."""
    shape = x.shape if g.rng.random() < 0.7 else []
    found = g.pick(lambda v: v.type == x.type and v.shape in (x.shape, []))
    return found if found is not None and g.rng.random() < 0.7 else g.constant(x.type, shape, elements(g.rng, x.type, onnx_grammar.length(shape)))


def _shape(x, y):
    return onnx_calls.broadcast(x.shape, y.shape)


def _whole(g, types=WHOLE):
    return g.pick(lambda v: v.type in types and v.shape is not None)


def _binary(g):
    x = _whole(g)
    if x is None:
        return
    y = _same(g, x)
    kinds = ["Add", "Sub", "Mul", "Add", "Sub", "Mul", "Max", "Min"] + ["BitwiseAnd", "BitwiseOr", "BitwiseXor"] * 3 * (g.program.opset >= 18)
    g.call(g.rng.choice(kinds), [x, y] if g.rng.random() < 0.6 else [y, x], [(x.type, _shape(x, y))])


def _divide(g):
    x = _whole(g)
    if x is None:
        return
    low, high = ends(x.type)
    by = g.constant(x.type, [], [g.rng.choice([1, 2, 3, 5, 8, 10, 100, high, high // 2 + 1, g.rng.randint(1, high)] + [-1, -3, low] * (low < 0))])
    if g.rng.random() < 0.15:
        by = _same(g, x)
    g.call(g.rng.choice(["Div", "Mod"]), [x, by], [(x.type, _shape(x, by))])


def _shift(g):
    x = _whole(g, NATURAL)
    if x is None:
        return
    n = bits_of(x.type)
    count = _same(g, x) if g.rng.random() < 0.3 else g.constant(x.type, [], [g.rng.choice([0, 1, 3, 5, n // 2, n - 1, n, n + 1, 2 * n, ends(x.type)[1], g.rng.randrange(n)])])
    if g.rng.random() < 0.3:  # turned round
        by = g.rng.randint(1, n - 1)
        parts = [g.call("BitShift", [x, g.constant(x.type, [], [k])], [(x.type, x.shape)], direction=way)[0] for k, way in ((by, "LEFT"), (n - by, "RIGHT"))]
        g.call("BitwiseOr" if g.program.opset >= 18 else "Add", parts, [(x.type, x.shape)])
        return
    g.call("BitShift", [x, count], [(x.type, _shape(x, count))], direction=g.rng.choice(["LEFT", "RIGHT"]))


def _unary(g):
    x = _whole(g)
    if x is not None:
        kinds = ["BitwiseNot"] * 2 * (g.program.opset >= 18) + ["Abs"] + ["Neg", "Sign"] * (x.type not in NATURAL)
        g.call(g.rng.choice(kinds), [x], [(x.type, x.shape)])


def _compare(g):
    x = _whole(g)
    if x is None:
        return
    y = _same(g, x)
    truth = g.call(g.rng.choice(["Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"]), [x, y], [("bool", _shape(x, y))])[0]
    if g.rng.random() < 0.8:
        a = g.pick(lambda v: v.type in g.program.types and v.shape in ([], truth.shape)) or x
        b = _same(g, a)
        g.call("Where", [truth, a, b], [(a.type, onnx_calls.broadcast(truth.shape, _shape(a, b)))])


def _cast(g):
    x = g.pick(lambda v: v.type in g.program.types + ["bool"] and v.shape is not None)
    if x is not None:
        to = g.rng.choice(g.program.types if g.rng.random() < 0.8 else WHOLE + OTHER)
        g.call("Cast", [x], [(to, x.shape)], to=onnx_file.ELEMENTS[to])


def _fold(g):
    x = g.pick(lambda v: v.type in ("int32", "int64", "uint32", "uint64") and v.shape)
    if x is None:
        return
    op, axes = g.rng.choice(["ReduceSum", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"]), [0]
    if op == "ReduceSum" or g.program.opset >= 18:
        total = g.call(op, [x, g.constant("int64", [1], axes)], [(x.type, [])], keepdims=0)[0]
    else:
        total = g.call(op, [x], [(x.type, [])], keepdims=0, axes=axes)[0]
    g.call("Add", [x, total], [(x.type, x.shape)])


def _real(g):
    x = g.pick(lambda v: v.type in ("float32", "float64") and v.shape is not None)
    if x is not None:
        y = _same(g, x)
        g.call(g.rng.choice(["Add", "Mul", "Sub"]), [x, y], [(x.type, _shape(x, y))])


_KINDS = [_binary] * 7 + [_shift] * 5 + [_divide] * 2 + [_unary] * 2 + [_compare] * 3 + [_cast] * 4 + [_fold, _real]


def _next(g, state):
    """Something of the state's type and shape that the body has made."""
    made = {name for node in g.nodes for name in node["outputs"]}
    found = [v for v in g.values if v.name in made and v.type == state.type and v.shape == state.shape]
    if found:
        return g.rng.choice(found[-3:])
    if state.type == "bool":
        return g.call("Not", [state], [("bool", state.shape)])[0]
    return g.call("Add", [state, g.constant(state.type, [], elements(g.rng, state.type, 1))], [(state.type, state.shape)])[0]


def make_onnx(seed):
    rng = random.Random(f"bits {seed}")
    program = Program(rng)
    graph = onnx_grammar.Graph(program)
    shapes = [[]] * 3 + [[program.length]] * (4 if rng.random() < 0.7 else 0)
    states = [onnx_grammar.Value(graph.fresh(), rng.choice(program.types), rng.choice(shapes)) for _ in range(rng.choice([1, 2, 2, 3]))]
    n_runs, is_scan = rng.choice([1, 2, 5, 20, 80]), rng.random() < 0.5
    scanned = [onnx_grammar.Value(graph.fresh(), rng.choice(program.types), [n_runs] + rng.choice(shapes)) for _ in range(rng.choice([1, 2]))] if is_scan else []
    outer = [onnx_grammar.Value(graph.fresh(), rng.choice(program.types), rng.choice(shapes)) for _ in range(rng.choice([0, 1]))]
    graph.values += states + scanned + outer
    body = onnx_grammar.Graph(program, graph)
    inside = [onnx_grammar.Value(body.fresh(), v.type, v.shape) for v in states]
    items = [onnx_grammar.Value(body.fresh(), v.type, v.shape[1:]) for v in scanned]
    number, go = onnx_grammar.Value(body.fresh(), "int64", []), onnx_grammar.Value(body.fresh(), "bool", [])
    body.values += inside + items + [number] * (not is_scan)
    for _ in range(rng.choice([2, 4, 7, 12, 20])):
        body.attempt(rng.choice(_KINDS))
    nexts = [_next(body, v) for v in inside]
    made = {name for node in body.nodes for name in node["outputs"]}
    own = [v for v in body.values if v.name in made and v.shape is not None]
    stacked = rng.sample(own, min(len(own), rng.choice([0, 1, 2])))
    given = [body.call("Identity", [v], [(v.type, v.shape)])[0] for v in nexts + stacked]
    results = [(v.type, v.shape) for v in states] + [(v.type, [n_runs] + v.shape) for v in stacked]
    declared = onnx_grammar.declared
    inner = {"initializers": body.initializers, "nodes": body.nodes}
    if is_scan:
        inner |= {"inputs": [declared(v) for v in inside + items], "outputs": [declared(v) for v in given]}
        outputs = graph.call("Scan", states + scanned, results, num_scan_inputs=len(scanned), body={"graph": inner})
    else:
        inner |= {"inputs": [declared(v) for v in [number, go] + inside], "outputs": [declared(v) for v in [go] + given]}
        outputs = graph.call("Loop", [graph.constant("int64", [], [n_runs]), ""] + states, results, body={"graph": inner})
    for _ in range(rng.choice([0, 0, 2])):
        graph.attempt(rng.choice(_KINDS))
    made = {name for node in graph.nodes for name in node["outputs"]}
    outputs += [v for v in graph.values if v.name in made and v not in outputs and v.shape is not None][-2:]
    inputs = states + scanned + outer
    model = {"opset": program.opset, "inputs": [declared(v) for v in inputs], "outputs": [declared(v) for v in outputs], "initializers": graph.initializers, "nodes": graph.nodes}
    phases = [{"steps": rng.choice([2, 4]), "inputs": {v.name: {"type": v.type, "shape": v.shape, "data": elements(rng, v.type, onnx_grammar.length(v.shape))} for v in inputs}} for _ in range(rng.choice([1, 2]))]
    return {"format": "onnx", "model": model, "phases": phases, "dt": None}


def _expression(rng, names, depth):
    r = rng.random()
    if depth == 0 or r < 0.15:
        return rng.choice(names + [str(rng.choice([0, 1, 2, 3, 5, 7, 8, 13, 31, 62, 63, 64, 255, 4095, 2**31 - 1, 2**40 + 1]))])
    inner = lambda: _expression(rng, names, depth - 1)
    if r < 0.4:
        return f"({inner()} {rng.choice(['<<', '>>', '>>'])} {rng.choice([str(rng.choice([0, 1, 3, 5, 13, 17, 40, 62, 63, 64, 70])), f'({inner()} & {rng.choice([7, 15, 31, 63])})', f'({inner()} % 9)'])})"
    if r < 0.8:
        return f"({inner()} {rng.choice(['&', '|', '^', '^', '+', '-'])} {inner()})"
    if r < 0.9:
        return f"(~{inner()})" if rng.random() < 0.6 else f"(-{inner()})"
    return f"({inner()} & {rng.choice([255, 65535, 4294967295, 2**40 - 1])})" if rng.random() < 0.8 else f"({inner()} if {inner()} > {inner()} else {inner()})"


def make_mdf(seed):
    """A node whose states are whole numbers, or arrays of them, that are mixed by shifts."""
    rng = random.Random(f"shifts {seed}")
    names, is_array = ["a", "b", "k"][:rng.choice([2, 3])], rng.random() < 0.3
    n = rng.choice([2, 5, 8, 33])
    first = lambda: rng.choice([0, 1, 7, rng.randint(0, 255), rng.randint(0, 2**31), rng.randint(-9, 9), rng.randint(-2**40, 2**40)])
    start = lambda: [first() for _ in range(n)] if is_array and rng.random() < 0.7 else first()
    parameters = {}
    for name in names:
        kept = f"({_expression(rng, names, rng.choice([2, 3, 4]))}) & {rng.choice([127, 65535, 4294967295, 2**40 - 1])}"
        parameters[name] = {"default_initial_value": start(), "value": kept if rng.random() < 0.9 else kept.rsplit(" & ", 1)[0]}
    ports = {f"o{i}": {"value": rng.choice(names) if rng.random() < 0.5 else _expression(rng, names, 3)} for i in range(2)}
    model = {"m": {"graphs": {"g": {"nodes": {"N": {"parameters": parameters, "output_ports": ports}}}}}}
    return {"format": "json", "model": model, "phases": [{"steps": rng.choice([3, 6]), "inputs": {}}], "dt": None}


def make(seed):
    return make_mdf(seed) if seed % 5 == 0 else make_onnx(seed)
