"""Optionals for random ONNX programs of sequences (sequences.py): arrays that may not be there, made by branches, kept and changed by loops, looked at where they are known to be there and
elsewhere. ``add(graph)`` adds some calls; what comes of them."""
import nests
import onnx_grammar
from onnx_grammar import Value


class Optional(Value):
    """What may not be there, with the type and shape of what it holds."""

    def __init__(self, name, type, held):
        super().__init__(name, f"optional({type})", held)
        self.element, self.held = type, held


def _call(g, op, inputs, element, held, **attributes):
    made = g.call(op, inputs, [(f"optional({element})", held)], **attributes)[0]
    g.values.remove(made)
    own = Optional(made.name, element, held)
    g.values.append(own)
    return own


def _graph(body, outputs, inputs=()):
    declared = onnx_grammar.declared
    return {"graph": {"initializers": body.initializers, "nodes": body.nodes, "inputs": [declared(v) for v in inputs], "outputs": [declared(v) for v in outputs]}}


def _array(g, type, held):
    """An array, computed here or not."""
    x = g.get(type, held)
    return g.call("Add", [x, g.get(type, held)], [(type, held)])[0] if type != "bool" and g.rng.random() < 0.5 else x


def _truth(g):
    """Now one, now the other: mostly by a number."""
    number = g.pick(lambda v: v.type == "int64" and v.shape == [])
    if number is not None and g.rng.random() < 0.7:
        return g.call(g.rng.choice(["Less", "Equal", "Greater"]), [number, g.constant("int64", [], [g.rng.choice([0, 1, 2])])], [("bool", [])])[0]
    if g.depth == 0 and g.rng.random() < 0.6:
        value = Value(g.fresh(), "bool", [])
        g.program.inputs.append(value)
        g.values.append(value)
        return value
    return g.get("bool", [])


def _nothing(g, type, held):
    return _call(g, "Optional", [], type, held, type={"declares": type, "shape": held})


def _some(g, type, held, there):
    """An optional: one of those that are there, one that holds an array, nothing, or what branches leave."""
    kind = g.rng.choice(["there", "there", "full", "full", "nothing", "branch"])
    if kind == "there" and there:
        o = g.rng.choice(there)
        return _call(g, "Identity", [o], type, held)
    if kind == "nothing":
        return _nothing(g, type, held)
    if kind == "branch" and g.depth < 3:
        return _branch(g, type, held, there)
    return _call(g, "Optional", [_array(g, type, held)], type, held)


def _branch(g, type, held, there):
    sides = []
    for _ in range(2):
        body = onnx_grammar.Graph(g.program, g)
        sides.append(_graph(body, [_some(body, type, held, there)]))
    return _call(g, "If", [_truth(g)], type, held, then_branch=sides[0], else_branch=sides[1])


def look(g, o):
    """What is there, or something else; whether it is; rarely what is there, be it or not."""
    rng = g.rng
    has = g.call("OptionalHasElement", [o], [("bool", [])])[0]
    if rng.random() < 0.2:
        return has
    if rng.random() < 0.08:
        return g.call("OptionalGetElement", [o], [(o.element, o.held)])[0]
    full, empty = onnx_grammar.Graph(g.program, g), onnx_grammar.Graph(g.program, g)
    got = full.call("OptionalGetElement", [o], [(o.element, o.held)])[0]
    if rng.random() < 0.5 and o.element != "bool":
        got = full.call(rng.choice(["Add", "Sub", "Max"]) if o.element != "int64" else "Add", [got, full.get(o.element, o.held)], [(o.element, o.held)])[0]
    other = _array(empty, o.element, o.held)
    other = empty.call("Identity", [other], [(other.type, other.shape)])[0]
    negated = rng.random() < 0.25
    condition = g.call("Not", [has], [("bool", [])])[0] if negated else has
    sides = [_graph(full, [got]), _graph(empty, [other])]
    return g.call("If", [condition], [(o.element, o.held)], then_branch=sides[negated], else_branch=sides[not negated])[0]


def _loop(g, type, held, there):
    rng = g.rng
    states, n_runs = [rng.choice(there) if there and rng.random() < 0.5 else _some(g, type, held, there) for _ in range(rng.choice([1, 1, 2]))], rng.choice([0, 1, 2, 3, 5])
    total = g.get(type, held)
    body = onnx_grammar.Graph(g.program, g)
    number, go = Value(body.fresh(), "int64", []), Value(body.fresh(), "bool", [])
    inside = [Optional(body.fresh(), type, held) for _ in states]
    inner = Value(body.fresh(), type, held)
    body.values += [number, inner]
    found = [look(body, o) for o in inside if rng.random() < 0.8]
    nexts = [_branch(body, type, held, inside) if rng.random() < 0.7 else _some(body, type, held, inside) for _ in states]
    if rng.random() < 0.3:
        found.append(look(body, rng.choice(nexts)))
    if rng.random() < 0.2 and body.depth < 2:
        found += [v for v in _loop(body, type, held, inside) if not isinstance(v, Optional)]
    stacked = [body.call("Identity", [v], [(v.type, v.shape)])[0] for v in found[:1] if v.shape is not None]
    body.numbers, body.n_runs = [number], max(n_runs, 1)
    last = body.call("Identity", [nests._next(body, inner)], [(type, held)])[0]
    going = body.call("Identity", [go], [("bool", [])])[0]
    made = g.call("Loop", [g.constant("int64", [], [n_runs]), g.constant("bool", [], [True])] + states + [total],
                  [(s.type, held) for s in states] + [(type, held)] + [(v.type, [n_runs] + v.shape) for v in stacked],
                  body=_graph(body, [going] + nexts + [last] + stacked, [number, go] + inside + [inner]))
    n = len(states)
    for v in made[:n]:
        g.values.remove(v)
    g.values += (kept := [Optional(v.name, type, held) for v in made[:n]])
    return kept + made[n:]


def add(g):
    rng, type = g.rng, g.program.type if g.program.type != "int32" else "float32"
    held = rng.choice([[], [1], [2], [3, 2], [5]])
    there, shown = [], []
    for _ in range(rng.choice([2, 3, 4])):
        kind = rng.choice(["some", "branch", "loop", "loop"])
        if kind == "loop":
            made = _loop(g, type, held, there)
            there += [v for v in made if isinstance(v, Optional)]
            shown += made
        else:
            there.append(_some(g, type, held, there) if kind == "some" else _branch(g, type, held, there))
            shown.append(there[-1])
        if rng.random() < 0.6:
            shown.append(look(g, rng.choice(there)))
    return shown
