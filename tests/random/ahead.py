"""Random Scans and Loops much of whose bodies hangs on no state: numbers made of items and of the number of the run, also by functions and by looking
them up, which are counted, stacked, or compared with what a state has come to. ``make(seed)`` gives one case (case.py)."""
import random

import bits
import onnx_calls
import onnx_grammar

FUNCTIONS = ["Exp", "Log", "Sqrt", "Sigmoid", "Tanh", "Cos", "Floor", "Abs", "Neg", "Reciprocal"]
REAL = ["float32", "float64"]


def _function(g):
    x = g.pick(lambda v: v.type in REAL and v.shape is not None)
    if x is not None:
        g.call(g.rng.choice(FUNCTIONS), [x], [(x.type, x.shape)])


def _look_up(g):
    at = g.pick(lambda v: v.type in ("int32", "int64") and v.shape == [])
    table = g.pick(lambda v: v.shape is not None and len(v.shape) == 1 and v.shape[0] > 1)
    if at is None or table is None:
        return
    n = table.shape[0]
    if g.rng.random() < 0.9:
        at = g.call("Mod", [at, g.constant(at.type, [], [n])], [(at.type, [])])[0]
    g.call("Gather", [table, at], [(table.type, [])])


_KINDS = bits._KINDS + [_function] * 8 + [bits._real] * 6 + [_look_up] * 4


def _count(g, state):
    """The state and a whole number that the body has made without it."""
    made = {name for node in g.nodes for name in node["outputs"]}
    found = [v for v in g.values if v.name in made and v.shape == []]
    if not found:
        return None
    x = g.rng.choice(found)
    if x.type != state.type:
        x = g.call("Cast", [x], [(state.type, [])], to=bits.onnx_file.ELEMENTS[state.type])[0]
    return [state, x] if g.rng.random() < 0.5 else [x, state]


def _accept(g, state):
    """As it was, or another one, by a comparison."""
    y = bits._same(g, state)
    other = g.call(g.rng.choice(["Add", "Mul"]), [state, y], [(state.type, [])])[0]
    if g.rng.random() < 0.6:
        bound = g.call(g.rng.choice(FUNCTIONS), [other], [(state.type, [])])[0]
    else:
        bound = other
    truth = g.call(g.rng.choice(["Less", "Greater"]), [bits._same(g, bound), bound], [("bool", [])])[0]
    return g.call("Where", [truth, other, state] if g.rng.random() < 0.5 else [truth, state, other], [(state.type, [])])[0]


def make(seed):
    rng = random.Random(f"ahead {seed}")
    program = bits.Program(rng)
    program.types = sorted({"int64", *REAL[:rng.choice([1, 2])], *program.types})
    graph = onnx_grammar.Graph(program)
    n_runs, is_scan = rng.choice([2, 5, 20, 64, 70, 130]), rng.random() < 0.6
    fresh = lambda g, type, shape: onnx_grammar.Value(g.fresh(), type, shape)
    counts = [fresh(graph, rng.choice(["int64", "int64", "int32"]), []) for _ in range(rng.choice([0, 1, 1, 2]))]
    others = [fresh(graph, rng.choice(REAL + ["int64"]), []) for _ in range(rng.choice([0, 0, 1, 2]) if counts else 1)]
    shapes = [[]] * 4 + [[rng.choice([2, 3, 5])]]
    scanned = [fresh(graph, rng.choice(program.types), [n_runs] + rng.choice(shapes)) for _ in range(rng.choice([1, 2, 3]))] if is_scan else []
    outer = [fresh(graph, rng.choice(program.types), rng.choice([[], [7], [program.length]])) for _ in range(rng.choice([1, 2]))]
    graph.values += outer
    body = onnx_grammar.Graph(program, graph)
    inside = [fresh(body, v.type, v.shape) for v in counts + others]
    items = [fresh(body, v.type, v.shape[1:]) for v in scanned]
    number, go = fresh(body, "int64", []), fresh(body, "bool", [])
    body.values += items + [number] * (not is_scan)
    for _ in range(rng.choice([2, 4, 7, 12])):
        body.attempt(rng.choice(_KINDS))
    pairs = [_count(body, v) for v in inside[:len(counts)]]
    nexts = [body.call("Add", pair or [v, body.constant(v.type, [], [3])], [(v.type, [])])[0] for pair, v in zip(pairs, inside)]
    made = {name for node in body.nodes for name in node["outputs"]} - {v.name for v in nexts}
    own = [v for v in body.values if v.name in made and v.shape is not None]
    body.values = [v for v in body.values if v not in nexts]
    for state in inside[len(counts):]:
        body.values.append(state)
        nexts.append(_accept(body, state) if state.type in REAL and rng.random() < 0.7 else bits._next(body, state))
    stacked = rng.sample(own, min(len(own), rng.choice([0, 0, 1, 2]))) + nexts[len(counts):] * (rng.random() < 0.3)
    given = [body.call("Identity", [v], [(v.type, v.shape)])[0] for v in nexts + stacked]
    results = [(v.type, v.shape) for v in counts + others] + [(v.type, [n_runs] + v.shape) for v in stacked]
    declared = onnx_grammar.declared
    inner = {"initializers": body.initializers, "nodes": body.nodes}
    if is_scan:
        backwards = {"scan_input_directions": [rng.choice([0, 1]) for _ in scanned]} if rng.random() < 0.3 else {}
        inner |= {"inputs": [declared(v) for v in inside + items], "outputs": [declared(v) for v in given]}
        outputs = graph.call("Scan", counts + others + scanned, results, num_scan_inputs=len(scanned), body={"graph": inner}, **backwards)
    else:
        inner |= {"inputs": [declared(v) for v in [number, go] + inside], "outputs": [declared(v) for v in [go] + given]}
        outputs = graph.call("Loop", [graph.constant("int64", [], [n_runs]), ""] + counts + others, results, body={"graph": inner})
    inputs = counts + others + scanned + outer
    model = {"opset": program.opset, "inputs": [declared(v) for v in inputs], "outputs": [declared(v) for v in outputs], "initializers": graph.initializers,
             "nodes": graph.nodes}
    data = lambda v: {"type": v.type, "shape": v.shape, "data": bits.elements(rng, v.type, onnx_grammar.length(v.shape))}
    phases = [{"steps": rng.choice([2, 4]), "inputs": {v.name: data(v) for v in inputs}} for _ in range(rng.choice([1, 2]))]
    return {"format": "onnx", "model": model, "phases": phases, "dt": None}
