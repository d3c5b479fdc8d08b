"""Random ONNX programs of loops whose runs do not hang on each other, with loops and conditions of their own: what is done side by side (mdf_c/lower/lanes/lower_outer_loop.c).
``make(seed)`` gives one case (case.py)."""
import random

import nests
import onnx_grammar


class Program(nests.Program):
    def __init__(self, rng):
        super().__init__(rng)
        self.sizes = rng.choice([[1], [1, 2, 3], [2, 3, 4], [3, 65]])
        self.type = rng.choice(["float32"] * 2 + ["float64"] * 3 + ["int64"])

    def shape(self):
        return [self.rng.choice(self.sizes) for _ in range(self.rng.choice([0, 0, 0, 1, 1, 2 - (65 in self.sizes)]))]


def _fill(body, n):
    kinds = [nests._binary] * 6 + [nests._unary] * 3 + [nests._reduce] * 2 + [nests._place, nests._product, nests._move, nests._gather, nests._cast]
    for _ in range(n):
        body.attempt(body.rng.choice(kinds))


def _value(body, type, shape):
    """One of such a form that the body has made itself."""
    made = {name for node in body.nodes for name in node["outputs"]}
    found = [v for v in body.values if v.type == type and v.shape == shape and v.name in made]
    x = body.rng.choice(found) if found and body.rng.random() < 0.8 else body.pick(lambda v: v.type == type and v.shape == shape)
    x = x if x is not None and x.name in made else body.call("Add", [x or body.constant(type, shape), body.constant(type, shape)], [(type, shape)])[0]
    return body.call("Tanh", [x], [(type, shape)])[0] if "float" in type else x


def _compare(body):
    x = body.pick(lambda v: v.shape == [] and v.type in ("float32", "float64", "int64")) or body.constant(body.program.type, [])
    limit = body.constant(x.type, [], [body.rng.choice([-1, 0, 0, 1, 2])])
    return body.call(body.rng.choice(["Less", "Greater"]), [x, limit], [("bool", [])])[0]


def _inner(outer, n, values=(), numbers=()):
    body = onnx_grammar.Graph(outer.program, outer)
    body.numbers, body.n_runs = list(numbers) or outer.numbers, outer.n_runs
    body.values += [*values, *numbers]
    _fill(body, n)
    return body


def _graph(body, inputs, outputs):
    """As an attribute; no output has the name of another, or one that the body has not made."""
    declared, made, names = onnx_grammar.declared, {name for node in body.nodes for name in node["outputs"]}, set()
    for i, v in enumerate(outputs):
        if v.name not in made or v.name in names:
            outputs[i] = body.call("Identity", [v], [(v.type, v.shape)])[0]
        names.add(outputs[i].name)
    return {"graph": {"inputs": [declared(v) for v in inputs], "outputs": [declared(v) for v in outputs], "initializers": body.initializers, "nodes": body.nodes}}


def _forms(body):
    """A few, of values that are there."""
    found = [body.pick(lambda v: v.shape is not None and len(v.shape) < 3 and onnx_grammar.length(v.shape) < 300 and v.type in nests.TYPES) for _ in range(body.rng.choice([1, 1, 2]))]
    return [(v.type, v.shape) if v is not None else (body.program.type, []) for v in found]


def _if(outer):
    """Both sides yield values of the same forms."""
    condition, forms, sides = _compare(outer), _forms(outer), {}
    for side in ("then_branch", "else_branch"):
        body = _inner(outer, outer.rng.choice([0, 1, 3]))
        if body.depth < 3 and body.rng.random() < 0.3:
            body.attempt(_loop)
        sides[side] = _graph(body, [], [_value(body, *form) for form in forms])
    outer.call("If", [condition], forms, **sides)


def _loop(outer):
    """Ends by its trip count, or by what its body says, or by both."""
    rng, program = outer.rng, outer.program
    states = [outer.pick(lambda v: v.type == program.type and v.shape is not None and len(v.shape) < 2) for _ in range(rng.choice([1, 1, 2]))]
    states = [v if v is not None else outer.constant(program.type, []) for v in states]
    number, go = onnx_grammar.Value(outer.fresh(), "int64", []), onnx_grammar.Value(outer.fresh(), "bool", [])
    inside = [onnx_grammar.Value(outer.fresh(), v.type, v.shape) for v in states]
    body = _inner(outer, rng.choice([1, 3, 6]), inside, [number])
    if body.depth < 3 and rng.random() < 0.4:
        body.attempt(rng.choice([_if, _loop]))
    nexts = [_value(body, v.type, v.shape) for v in inside]
    n_trips, is_known = rng.choice([1, 3, 9]), rng.random() < 0.4
    stacked = [_value(body, *form) for form in _forms(body)] if is_known and rng.random() < 0.6 else []
    graph = _graph(body, [number, go] + inside, [go if is_known else _compare(body)] + nexts + stacked)
    trips = outer.pick(lambda v: v.type == "int64" and v.shape == []) if not is_known and rng.random() < 0.4 else None
    count = outer.constant("int64", [], [n_trips])
    if trips is not None:
        count = outer.call("Min", [outer.call("Abs", [trips], [("int64", [])])[0], count], [("int64", [])])[0]
    forms = [(v.type, v.shape) for v in states] + [(v.type, [n_trips] + v.shape) for v in stacked]
    outer.call("Loop", [count, outer.constant("bool", [], [True]) if rng.random() < 0.5 or not is_known else ""] + states, forms, body=graph)


def _scan(outer):
    """Of rows that differ from run to run of what is around, or that are the same in all."""
    rng, program = outer.rng, outer.program
    rows = outer.pick(lambda v: v.shape is not None and len(v.shape) in (1, 2) and v.type in nests.TYPES)
    state = outer.pick(lambda v: v.type == program.type and v.shape is not None and len(v.shape) < 2) or outer.constant(program.type, [])
    if rows is None:
        return
    item, inside = onnx_grammar.Value(outer.fresh(), rows.type, rows.shape[1:]), onnx_grammar.Value(outer.fresh(), state.type, state.shape)
    body = _inner(outer, rng.choice([1, 3, 6]), [item, inside])
    following, stacked = _value(body, inside.type, inside.shape), [_value(body, *form) for form in _forms(body)]
    forms = [(inside.type, inside.shape)] + [(v.type, rows.shape[:1] + v.shape) for v in stacked]
    outer.call("Scan", [state, rows], forms, num_scan_inputs=1, scan_input_directions=[rng.choice([0, 1])],
               scan_output_directions=[rng.choice([0, 1]) for _ in stacked], body=_graph(body, [inside, item], [following] + stacked))


def make(seed):
    rng = random.Random(f"outer loops {seed}")
    program = Program(rng)
    program.opset = max(program.opset, 13)
    graph, declared = onnx_grammar.Graph(program), onnx_grammar.declared
    n_runs, is_scan = rng.choice([2, 8, 9, 16, 23] + [40, 64, 70] * (65 not in program.sizes)), rng.random() < 0.7
    same = [onnx_grammar.Value(graph.fresh(), program.type, program.shape()) for _ in range(rng.choice([1, 2]))]
    scanned = [onnx_grammar.Value(graph.fresh(), rng.choice([program.type, program.type, "float64", "int64"]), [n_runs] + program.shape()) for _ in range(rng.choice([1, 1, 2]))]
    graph.values += same + scanned
    graph.numbers, graph.n_runs = [], n_runs
    items = [onnx_grammar.Value(graph.fresh(), v.type, v.shape[1:]) for v in scanned]
    number, go = onnx_grammar.Value(graph.fresh(), "int64", []), onnx_grammar.Value(graph.fresh(), "bool", [])
    body = _inner(graph, 0, items if is_scan else [], [] if is_scan else [number])
    for v, item in zip(scanned, items if not is_scan else []):
        body.call("Gather", [v, number], [(item.type, item.shape)], axis=0)
    for _ in range(rng.choice([1, 1, 2, 3])):
        _fill(body, rng.choice([0, 1, 3]))
        body.attempt(rng.choice([_if, _loop, _loop, _scan, _scan]))
    made = {name for node in body.nodes for name in node["outputs"]}
    stacked = [v for v in body.values[-2:] if v.shape is not None and onnx_grammar.length(v.shape) < 300 and v.type in nests.TYPES and v.name in made]
    stacked += [_value(body, *form) for form in _forms(body)]
    forms = [(v.type, [n_runs] + v.shape) for v in stacked]
    if is_scan:
        results = graph.call("Scan", scanned, forms, num_scan_inputs=len(scanned), scan_input_directions=[rng.choice([0, 0, 1]) for _ in scanned],
                             scan_output_directions=[rng.choice([0, 0, 1]) for _ in stacked], body=_graph(body, items, stacked))
    else:
        results = graph.call("Loop", [graph.constant("int64", [], [n_runs]), ""], forms, body=_graph(body, [number, go], [go] + stacked))
    model = {"opset": program.opset, "inputs": [declared(v) for v in same + scanned], "outputs": [declared(v) for v in results],
             "initializers": graph.initializers, "nodes": graph.nodes}
    phases = [{"steps": rng.choice([2, 4]), "inputs": {v.name: onnx_grammar.given(rng, v) for v in same + scanned}} for _ in range(rng.choice([1, 2]))]
    return {"format": "onnx", "model": model, "phases": phases, "dt": None}
