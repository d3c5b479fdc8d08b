"""Random ONNX programs of sequences: arrays that are split, put together, and changed by loops (queues, lists that grow, SequenceMap): what becomes the rows of one array
(docs/lowered.md); and of optionals. ``make(seed)`` gives one case (case.py)."""
import random

import nests
import onnx_grammar
import optionals
from onnx_grammar import Value


class Sequence(Value):
    """A sequence, with the form of its items; ``n`` of them, None: not known."""

    def __init__(self, name, type, item, n):
        super().__init__(name, f"seq({type})", None)
        self.element, self.item, self.n = type, item, n


def _call(g, op, inputs, type, item, n, **attributes):
    made = g.call(op, inputs, [(f"seq({type})", None)], **attributes)[0]
    return Sequence(made.name, type, item, n)


def _other(item, rng):
    """Now and then an item that does not fit the others."""
    return item + [2] if rng.random() < 0.03 else item


def _source(g):
    """A sequence that is there before the loops."""
    rng, type, item = g.rng, g.program.type, g.program.item
    n, kind = rng.choice([1, 2, 3, 4, 7]), rng.choice(["split", "split", "construct", "empty", "input", "input"])
    if kind == "split":
        axis, length, keeps = rng.randrange(len(item) + 1), rng.choice([None, None, 1, 2]), rng.choice([0, 1])
        whole = item[:axis] + [n * (length or 1)] + item[axis:]
        if length is None and not keeps:
            one = [g.constant("int64", [], [1])] if rng.random() < 0.3 else []  # as torch writes unbind()
            return _call(g, "SplitToSequence", [_array(g, whole)] + one, type, item, n, axis=rng.choice([axis, axis - len(whole)]), keepdims=0)
        if not item:
            return _call(g, "SplitToSequence", [_array(g, whole)], type, [length or 1], n, axis=0, keepdims=1) if length is None else _source(g)
        axis = min(axis, len(item) - 1)
        length = item[axis] if length is not None else 1
        if length is not None and item[axis] != length:
            return _source(g)
        whole = item[:axis] + [n * length] + item[axis + 1:]
        cut = [g.constant("int64", [], [length])] if rng.random() < 0.5 else [g.constant("int64", [n], [length] * n)]
        return _call(g, "SplitToSequence", [_array(g, whole)] + cut, type, item, n, axis=axis)
    if kind == "construct":
        return _call(g, "SequenceConstruct", [_array(g, _other(item, rng)) for _ in range(n)], type, item, n)
    if kind == "input":
        value = Sequence(g.fresh(), type, item, n)
        g.program.inputs.append(value)
        return value
    empty = g.call("SequenceEmpty", [], [(f"seq({type})", None)], dtype=nests.onnx_file.ELEMENTS[type])[0]
    return _call(g, "SequenceInsert", [empty, _array(g, item)], type, item, 1)


def _array(g, shape):
    found = g.pick(lambda v: v.type == g.program.type and v.shape == shape)
    if found is not None and g.rng.random() < 0.7:
        return found
    if g.depth == 0 and g.rng.random() < 0.4:
        value = Value(g.fresh(), g.program.type, shape)
        g.program.inputs.append(value)
        g.values.append(value)
        return value
    return g.constant(g.program.type, shape)


def _position(g, s):
    """Mostly one that is there."""
    number = g.pick(lambda v: v.type == "int64" and v.shape == [])
    if number is not None and g.rng.random() < 0.6:
        if s.n and g.rng.random() < 0.8:
            return g.call("Mod", [number, g.constant("int64", [], [s.n])], [("int64", [])])[0]
        return number
    return g.constant("int64", [], [g.rng.choice([0, 0, -1, -1, 1, (s.n or 1) - 1])])


def _change(g, s):
    """What comes of a sequence: with another item, or one less."""
    rng = g.rng
    if rng.random() < 0.3 and (s.n is None or s.n > 1):
        at = [] if rng.random() < 0.4 else [_position(g, s)]
        return _call(g, "SequenceErase", [s] + at, s.element, s.item, s.n and s.n - 1)
    at = [] if rng.random() < 0.6 else [_position(g, s)]
    return _call(g, "SequenceInsert", [s, _array(g, _other(s.item, rng))] + at, s.element, s.item, s.n and s.n + 1)


def _look(g, s):
    kind = g.rng.choice(["at", "at", "at", "length", "join", "stack"])
    if kind == "at":
        return g.call("SequenceAt", [s, _position(g, s)], [(s.element, s.item)])[0]
    if kind == "length":
        return g.call("SequenceLength", [s], [("int64", [])])[0]
    axis = g.rng.choice([0, 0, 0, 1, -1])
    if kind == "join" and not s.item:
        return None
    joined = g.call("ConcatFromSequence", [s], [(s.element, None)], axis=axis, new_axis=int(kind == "stack"))[0]
    return g.call("ReduceSum", [joined], [(s.element, [])], keepdims=0)[0] if g.program.opset < 13 else joined


def _map(g, s):
    body = onnx_grammar.Graph(g.program, g if g.rng.random() < 0.3 else None)
    item = Value(body.fresh(), s.element, s.item)
    body.values.append(item)
    body.numbers, body.n_runs = [], s.n or 1
    nests._fill(body, g.rng.choice([1, 2, 3]))
    own = [v for v in body.values if v.shape is not None and v.type == s.element and len(v.shape) < 5] or [item]
    given = g.rng.choice(own)
    made = body.call("Identity", [given], [(given.type, given.shape)])[0]
    inner = {"initializers": body.initializers, "nodes": body.nodes, "inputs": [onnx_grammar.declared(item)], "outputs": [onnx_grammar.declared(made)]}
    return _call(g, "SequenceMap", [s], s.element, given.shape, s.n, body={"graph": inner})


def _either(g, s):
    """What one of two branches makes of a sequence, by the number of a run: one of them may hand it on."""
    zero, two = g.constant("int64", [], [0]), g.constant("int64", [], [g.rng.choice([2, 3])])
    rest = g.call("Mod", [g.numbers[0], two], [("int64", [])])[0]
    chosen = g.call("Equal", [rest, zero], [("bool", [])])[0]
    branches = []
    for may_keep in (True, g.rng.random() < 0.3):
        branch = onnx_grammar.Graph(g.program, g)
        branch.numbers, branch.n_runs = g.numbers, g.n_runs
        if may_keep and g.program.opset >= 16 and g.rng.random() < 0.6:
            made = branch.call("Identity", [s], [(s.type, None)])[0]
        else:
            made = _change(branch, s)
        branches.append({"graph": {"initializers": branch.initializers, "nodes": branch.nodes, "inputs": [], "outputs": [onnx_grammar.declared(made)]}})
    branches = branches[::g.rng.choice([1, -1])]
    made = g.call("If", [chosen], [(s.type, None)], then_branch=branches[0], else_branch=branches[1])[0]
    return Sequence(made.name, s.element, s.item, None)


def _loop(g, sequences):
    rng, program = g.rng, g.program
    states = rng.sample(sequences, min(len(sequences), rng.choice([1, 1, 2])))
    arrays = [g.constant(program.type, program.item) for _ in range(rng.choice([0, 1, 1]))]
    body = onnx_grammar.Graph(program, g)
    body.n_runs, body.numbers = rng.choice([1, 2, 3, 6]), [Value(body.fresh(), "int64", [])]
    go = Value(body.fresh(), "bool", [])
    inside = [Sequence(body.fresh(), s.element, s.item, None) for s in states]
    inner_arrays = [Value(body.fresh(), v.type, v.shape) for v in arrays]
    body.values += body.numbers + inner_arrays
    keeps, following = [], []
    for s, outer in zip(inside, states):
        kind = rng.choice(["queue", "grow", "same", "other", "either", "either"])
        s.n = outer.n if kind in ("queue", "same") else None
        keeps.append(kind)
    for s in inside + sequences[:1]:
        for _ in range(rng.choice([0, 1, 2])):
            _look(body, s)
    nests._fill(body, rng.choice([0, 1, 2, 3]))
    for kind, s in zip(keeps, inside):
        if kind == "queue":
            first = _call(body, "SequenceErase", [s, body.constant("int64", [], [0]) if rng.random() < 0.5 else _position(body, s)], s.element, s.item, s.n and s.n - 1)
            last = [] if rng.random() < 0.6 or first.n == 0 else [_position(body, first)]
            s = _call(body, "SequenceInsert", [first, _array(body, s.item)] + last, s.element, s.item, s.n)
        elif kind == "grow":
            s = _call(body, "SequenceInsert", [s, _array(body, s.item)], s.element, s.item, None)
            if rng.random() < 0.3:
                _look(body, s)
        elif kind == "other":
            s = _change(body, s)
        elif kind == "either":
            s = _either(body, s)
            if rng.random() < 0.4:
                _look(body, s)
        following.append(s)
    following = [body.call("Identity", [s], [(s.type, None)])[0] if program.opset >= 16 and rng.random() < 0.3 else s for s in following]
    nexts = [nests._next(body, v) for v in inner_arrays]
    own = [v for v in body.values if v.shape is not None and v.type == program.type and len(v.shape) < 4 and v not in g.visible()]
    stacked = [body.call("Identity", [v], [(v.type, v.shape)])[0] for v in rng.sample(own, min(len(own), rng.choice([0, 1])))]
    nexts = [body.call("Identity", [v], [(v.type, v.shape)])[0] for v in nexts]
    declared = onnx_grammar.declared
    inner = {"initializers": body.initializers, "nodes": body.nodes, "inputs": [declared(v) for v in [body.numbers[0], go] + inside + inner_arrays],
             "outputs": [declared(v) for v in [go] + following + nexts + stacked]}
    results = g.call("Loop", [g.constant("int64", [], [body.n_runs]), ""] + states + arrays,
                     [(s.type, None) for s in states] + [(v.type, v.shape) for v in arrays] + [(v.type, [body.n_runs] + v.shape) for v in stacked], body={"graph": inner})
    return [Sequence(r.name, s.element, s.item, s.n if kind in ("queue", "same") else None) for r, s, kind in zip(results, states, keeps)], results[len(states):]


def _ragged(g):
    """Sequences of items that differ in length, changed and looked at where positions are known; what comes of them."""
    rng, type = g.rng, g.program.type
    tail, lengths = rng.choice([[], [2], [3]]), [rng.choice([1, 2, 3]) for _ in range(rng.choice([2, 2, 3, 4]))]
    if rng.random() < 0.4:
        axis = rng.choice([0, len(tail)])
        forms = [tail[:axis] + [n] + tail[axis:] for n in lengths]
        cut = g.constant("int64", [len(lengths)], lengths)
        s = _call(g, "SplitToSequence", [_array(g, tail[:axis] + [sum(lengths)] + tail[axis:]), cut], type, None, len(lengths), axis=axis)
    else:
        axis, forms = 0, [[n] + tail for n in lengths]
        s = _call(g, "SequenceConstruct", [_array(g, form) for form in forms], type, None, len(forms))
    shown = [s]
    for _ in range(rng.choice([1, 2, 3, 4])):
        kind, at = rng.choice(["insert", "insert", "erase", "at", "length", "join", "loop"] + ["map"] * (g.program.opset >= 17)), rng.randrange(len(forms))
        where = [g.constant("int64", [], [rng.choice([at, at - len(forms)])])]
        if kind == "insert":
            form = list(forms[0])
            form[axis] = rng.choice([1, 2, 4])
            s = _call(g, "SequenceInsert", [s, _array(g, form)] + where, type, None, None)
            forms.insert(at, form)
            shown.append(s)
        elif kind == "erase" and len(forms) > 1:
            s = _call(g, "SequenceErase", [s] + where, type, None, None)
            del forms[at]
            shown.append(s)
        elif kind == "at":
            shown.append(g.call("SequenceAt", [s] + where, [(type, forms[at])])[0])
        elif kind == "length":
            shown.append(g.call("SequenceLength", [s], [("int64", [])])[0])
        elif kind == "loop":
            s, forms = _ragged_loop(g, s, forms, axis)
            shown.append(s)
        elif kind == "map":
            s, forms = _ragged_map(g, s, forms, axis)
            shown.append(s)
        else:
            whole = forms[0][:axis] + [sum(form[axis] for form in forms)] + forms[0][axis + 1:]
            shown.append(g.call("ConcatFromSequence", [s], [(type, whole)], axis=axis)[0])
    return shown


def _ragged_map(g, s, forms, axis):
    """Each item twice, one behind the other, or less a number."""
    body, type = onnx_grammar.Graph(g.program, g), g.program.type
    item, twice = Value(body.fresh(), type, None), g.rng.random() < 0.5
    made, = body.call("Concat", [item, item], [(type, None)], axis=axis) if twice else body.call("Sub", [item, body.constant(type, [])], [(type, None)])
    inner = {"initializers": body.initializers, "nodes": body.nodes, "inputs": [onnx_grammar.declared(item)], "outputs": [onnx_grammar.declared(made)]}
    forms = [form[:axis] + [form[axis] * (1 + twice)] + form[axis + 1:] for form in forms]
    return _call(g, "SequenceMap", [s], type, None, None, body={"graph": inner}), forms


def _ragged_loop(g, s, forms, axis):
    """A Loop that puts an array into a sequence which is longer from run to run."""
    n, type, start, front = g.rng.choice([1, 2, 3]), g.program.type, g.constant(g.program.type, forms[0]), g.rng.random() < 0.3
    body = onnx_grammar.Graph(g.program, g)
    number, go = Value(body.fresh(), "int64", []), Value(body.fresh(), "bool", [])
    inside, x = Sequence(body.fresh(), type, None, None), Value(body.fresh(), type, None)
    going, = body.call("Identity", [go], [("bool", [])])
    grown = _call(body, "SequenceInsert", [inside, x] + [body.constant("int64", [], [0])] * front, type, None, None)
    longer, = body.call("Concat", [x, body.constant(type, forms[0])], [(type, None)], axis=axis)
    declared = onnx_grammar.declared
    inner = {"initializers": body.initializers, "nodes": body.nodes, "inputs": [declared(v) for v in (number, go, inside, x)],
             "outputs": [declared(v) for v in (going, grown, longer)]}
    made = g.call("Loop", [g.constant("int64", [], [n]), "", s, start], [(s.type, None), (type, None)], body={"graph": inner})[0]
    more = [forms[0][:axis] + [forms[0][axis] * (k + 1)] + forms[0][axis + 1:] for k in range(n)]
    return Sequence(made.name, type, None, None), (more[::-1] + forms if front else forms + more)


def make(seed):
    rng = random.Random(f"sequences {seed}")
    program = nests.Program(rng)
    program.opset = rng.choice([13, 13, 16, 17, 18, 21])
    program.type = rng.choice(["float32"] * 3 + ["float64", "int64", "int32", "bool"][:3])
    program.item = rng.choice([[], [1], [2], [3], [8], [2, 3], [4, 1]])
    program.inputs = []
    graph = onnx_grammar.Graph(program)
    sequences = [_source(graph) for _ in range(rng.choice([1, 1, 2]))]
    shown = list(sequences)
    for _ in range(rng.choice([1, 1, 2, 3])):
        kind = rng.choice(["loop", "loop", "change", "look"] + ["map"] * (program.opset >= 17))
        s = rng.choice(sequences)
        if kind == "loop":
            made, arrays = _loop(graph, sequences)
            sequences += made
            shown += made + arrays
        elif kind == "map":
            sequences.append(_map(graph, s))
        elif kind == "change":
            sequences.append(_change(graph, s))
        else:
            shown += [v for v in [_look(graph, s)] if v is not None]
    if rng.random() < 0.3:
        shown += _ragged(graph)
    if program.opset >= 18 and rng.random() < 0.6:
        shown += optionals.add(graph)
    shown += [v for v in [_look(graph, s) for s in sequences[-2:]] if v is not None] + sequences[-1:]
    made = {name for node in graph.nodes for name in node["outputs"]}
    shown = {v.name: v for v in shown if v.name in made and rng.random() < 0.7} or {v.name: v for v in shown[-1:]}
    declared = onnx_grammar.declared
    model = {"opset": program.opset, "inputs": [declared(v) for v in program.inputs], "outputs": [declared(v) for v in shown.values()], "initializers": graph.initializers,
             "nodes": graph.nodes}
    phases = [{"steps": rng.choice([2, 4]), "inputs": {v.name: _given(rng, v) for v in program.inputs}} for _ in range(rng.choice([1, 2]))]
    return {"format": "onnx", "model": model, "phases": phases, "dt": None}


def _given(rng, value):
    if not isinstance(value, Sequence):
        return onnx_grammar.given(rng, value)
    n = value.n if rng.random() < 0.8 else rng.choice([0, 1, 5])
    item = Value("", value.element, value.item)
    return {"sequence": [onnx_grammar.given(rng, item) for _ in range(n)]}
