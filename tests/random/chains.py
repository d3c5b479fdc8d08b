"""Random ONNX programs of loops in succession that run equally often: what may become one loop (docs/lowered.md). Each goes through what earlier ones yield, or through the same as
they, forward or backward, or begins with what an earlier one has left. ``make(seed)`` gives one case (case.py)."""
import random

import nests
import onnx_grammar


def _sequence(graph, type, n_runs, rng):
    shape = rng.choice([[], [], [1], [2], [3], [8], [9], [2, 3], [4, 1]] + ([[33]] if n_runs in (9, 400) else [[3, 8, 5]] if n_runs == 70 else []))
    return onnx_grammar.Value(graph.fresh(), type, [n_runs] + shape)


def _between(graph, x):
    """What stands between two loops: something of all items."""
    kind = graph.rng.choice(["Tanh", "Neg", "Add", "Mul", "Reshape", "Transpose"])
    if kind in ("Tanh", "Neg"):
        return graph.call(kind, [x], [(x.type, x.shape)])[0]
    if kind in ("Add", "Mul"):
        other = graph.pick(lambda v: v.type == x.type and v.shape == x.shape) if graph.rng.random() < 0.5 else None
        form = [1 if graph.rng.random() < 0.3 else n for n in x.shape][graph.rng.choice([0, 1]):]
        return graph.call(kind, [x, other or graph.constant(x.type, form)], [(x.type, x.shape)])[0]
    if kind == "Reshape":
        shape = [x.shape[0], onnx_grammar.length(x.shape[1:])]
        return graph.call(kind, [x, graph.constant("int64", [2], shape)], [(x.type, shape)])[0]
    perm = [0] + graph.rng.sample(range(1, len(x.shape)), len(x.shape) - 1)
    return graph.call(kind, [x], [(x.type, [x.shape[p] for p in perm])], perm=perm)[0]


def _loop(graph, sequences, n_runs):
    """One loop; what it stacks."""
    rng, program = graph.rng, graph.program
    is_scan = rng.random() < 0.8
    scanned = [sequences[-1] if rng.random() < 0.7 else rng.choice(sequences) for _ in range(rng.choice([1, 1, 2]))] if is_scan else []
    states = []
    for _ in range(rng.choice([0, 1, 1, 2]) or (not is_scan)):
        like = rng.choice(sequences).shape[1:]
        left = graph.pick(lambda v: v.type == program.type and v.shape == like and v in graph.left) if rng.random() < 0.2 else None
        states.append(left or graph.constant(program.type, like))
    body = onnx_grammar.Graph(program, graph if rng.random() < 0.3 else None)
    inside = [onnx_grammar.Value(body.fresh(), v.type, v.shape) for v in states]
    items = [onnx_grammar.Value(body.fresh(), v.type, v.shape[1:]) for v in scanned]
    number, go = onnx_grammar.Value(body.fresh(), "int64", []), onnx_grammar.Value(body.fresh(), "bool", [])
    body.numbers, body.n_runs = [] if is_scan else [number], n_runs
    body.values += inside + items + body.numbers
    nests._fill(body, rng.choice([1, 2, 4, 6]))
    nexts = [nests._next(body, v) for v in inside]
    made = {name for node in body.nodes for name in node["outputs"]}
    own = [v for v in body.values if (v.name in made or v in inside + items) and v.shape is not None and len(v.shape) < 4 and v.type == program.type
           and n_runs * onnx_grammar.length(v.shape) < 17000]
    stacked = rng.sample(own, min(len(own), rng.choice([1, 1, 2])))
    twice = [body.call("Identity", [v], [(v.type, v.shape)])[0] for v in nexts + stacked]
    declared = onnx_grammar.declared
    results = [(v.type, v.shape) for v in states] + [(v.type, [n_runs] + v.shape) for v in stacked]
    inner = {"initializers": body.initializers, "nodes": body.nodes}
    if is_scan:
        inner |= {"inputs": [declared(v) for v in inside + items], "outputs": [declared(v) for v in twice]}
        turned = {name: [int(rng.random() < 0.5) for _ in each] for name, each in [("scan_input_directions", scanned), ("scan_output_directions", stacked)]
                  if each and rng.random() < 0.25}
        outputs = graph.call("Scan", states + scanned, results, num_scan_inputs=len(scanned), **turned, body={"graph": inner})
    else:
        inner |= {"inputs": [declared(v) for v in [number, go] + inside], "outputs": [declared(v) for v in [go] + twice]}
        outputs = graph.call("Loop", [graph.constant("int64", [], [n_runs]), ""] + states, results, body={"graph": inner})
    graph.left += outputs[:len(states)]
    return outputs[len(states):]


def make(seed):
    rng = random.Random(f"chains {seed}")
    program = nests.Program(rng)
    program.opset = rng.choice([11, 13, 15, 18, 18, 21])
    program.type = rng.choice(["float32"] * 3 + ["float64", "int64", "int32"])
    graph = onnx_grammar.Graph(program)
    graph.left = []
    n_runs = rng.choice([2, 3, 3, 5, 7, 9, 9, 70, 400])
    sequences = [_sequence(graph, program.type, n_runs, rng) for _ in range(rng.choice([1, 1, 2]))]
    inputs = list(sequences)
    graph.values += inputs
    results = []
    for _ in range(rng.choice([2, 2, 3, 4])):
        stacks = _loop(graph, sequences, n_runs)
        results += stacks
        sequences += stacks
        if stacks and rng.random() < 0.3:
            between = graph.attempt(lambda g: _between(g, stacks[-1]))
            sequences += [between] * (between is not None)
    shown = [v for v in results + graph.left if rng.random() < 0.6] or (results + graph.left)[-1:]
    declared = onnx_grammar.declared
    model = {"opset": program.opset, "inputs": [declared(v) for v in inputs], "outputs": [declared(v) for v in shown], "initializers": graph.initializers, "nodes": graph.nodes}
    phases = [{"steps": rng.choice([2, 4]), "inputs": {v.name: onnx_grammar.given(rng, v) for v in inputs}} for _ in range(rng.choice([1, 2]))]
    return {"format": "onnx", "model": model, "phases": phases, "dt": None}
