"""Random ONNX programs of Scans in succession: layers, of which one goes through what others yield, in either direction, and beside each other (mdf_c/lower/loops/lower_fuse.c, lower_concurrent.c).
``make(seed)`` gives one case (case.py)."""
import random

import onnx_grammar
import outer_loops


def _layer(graph, sequences, n_runs):
    """A Scan of one or two of the sequences, with a state or two; what it stacks is a sequence too, or what is made of it."""
    rng, program = graph.rng, graph.program
    rows = [rng.choice(sequences) for _ in range(rng.choice([1, 1, 2]))]
    states = [graph.pick(lambda v: v.type == program.type and v.shape is not None and len(v.shape) < 3 and v not in sequences) or graph.constant(program.type, program.shape())
              for _ in range(rng.choice([1, 1, 2]))]
    inside = [onnx_grammar.Value(graph.fresh(), v.type, v.shape) for v in states]
    items = [onnx_grammar.Value(graph.fresh(), v.type, v.shape[1:]) for v in rows]
    body = outer_loops._inner(graph, rng.choice([1, 3, 6, 9]), inside + items)
    nexts = [outer_loops._value(body, v.type, v.shape) for v in inside]
    stacked = [outer_loops._value(body, v.type, v.shape) for v in rng.choices(inside + items, k=rng.choice([1, 1, 2]))]
    results = graph.call("Scan", states + rows, [(v.type, v.shape) for v in states] + [(v.type, [n_runs] + v.shape) for v in stacked], num_scan_inputs=len(rows),
                         scan_input_directions=[rng.choice([0, 0, 0, 1]) for _ in rows], scan_output_directions=[rng.choice([0, 0, 0, 1]) for _ in stacked],
                         body=outer_loops._graph(body, inside + items, nexts + stacked))
    sequences += results[len(states):]
    if rng.random() < 0.2:
        x = rng.choice(sequences)
        if x.type != "int64":
            sequences += graph.call(rng.choice(["Tanh", "Neg", "Abs"]), [x], [(x.type, x.shape)])
    return results


def make(seed):
    rng = random.Random(f"successions {seed}")
    program = outer_loops.Program(rng)
    program.opset = max(program.opset, 13)
    graph, declared = onnx_grammar.Graph(program), onnx_grammar.declared
    n_runs = rng.choice([1, 2, 9, 20, 33])
    inputs = [onnx_grammar.Value(graph.fresh(), program.type, [n_runs] + program.shape()) for _ in range(rng.choice([1, 2]))]
    same = [onnx_grammar.Value(graph.fresh(), program.type, program.shape())]
    graph.values += inputs + same
    graph.numbers, graph.n_runs = [], n_runs
    sequences, results = list(inputs), []
    for _ in range(rng.choice([2, 2, 3, 4])):
        results += _layer(graph, sequences, n_runs)
    made = [v for v in results + sequences if v not in inputs]
    outputs = list({v.name: v for v in rng.sample(made, min(len(made), rng.choice([1, 2, 3]))) + made[-1:]}.values())
    model = {"opset": program.opset, "inputs": [declared(v) for v in inputs + same], "outputs": [declared(v) for v in outputs],
             "initializers": graph.initializers, "nodes": graph.nodes}
    phases = [{"steps": rng.choice([2, 4]), "inputs": {v.name: onnx_grammar.given(rng, v) for v in inputs + same}} for _ in range(rng.choice([1, 2]))]
    return {"format": "onnx", "model": model, "phases": phases, "dt": None}
