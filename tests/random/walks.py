"""Random programs of loops within loops that walk along tables of one and two axes, as people write them out of scalars: counts that are constants, computed, or the number of a loop around; places that are sums of
multiples of the loops' numbers, from either end, turned round, sometimes past it; loops that break, while loops, branches; what is assigned in a body goes on, everything else is captured. ``make(seed)`` gives one case (case.py)."""
import random

import bits
import onnx_file
import onnx_grammar

TYPES = ["float32"] * 5 + ["float64"] * 3 + ["int64"] * 3 + ["int32"] * 2 + ["float16", "bool", "uint8", "int8", "bfloat16"]
ADDED = ("float32", "float64", "int64", "int32", "float16", "uint8", "int8", "bfloat16")


class Program:
    def __init__(self, rng):
        self.rng, self.n_names, self.opset = rng, 0, rng.choice([18, 18, 21, 16])
        self.n = rng.choice([2, 3, 5, 8, 9, 16, 17, 24, 33, 64, 70])
        self.m = rng.choice([1, 2, 3, 4, 8, 11])
        self.safe = rng.random() < 0.8
        self.work = 1


class Place:
    """A place in the program: what its variables are; the loops around, (value, least, largest number) each."""

    def __init__(self, graph, tables, numbers, loops=(), work=1):
        self.graph, self.rng, self.program = graph, graph.rng, graph.program
        self.tables, self.numbers, self.loops, self.work = list(tables), list(numbers), list(loops), work

    def within(self, work):
        return Place(onnx_grammar.Graph(self.program, self.graph), self.tables, self.numbers, self.loops, work)

    def call(self, op, inputs, type, shape=(), **attributes):
        return self.graph.call(op, inputs, [(type, None if shape is None else list(shape))], **attributes)[0]

    def whole(self, n):
        return self.graph.constant("int64", [], [n])

    def ints(self, *n):
        return self.graph.constant("int64", [len(n)], list(n))

    def number(self, type):
        found = [v for v in self.numbers if v.type == type]
        if found and self.rng.random() < 0.6:
            return self.rng.choice(found)
        if self.rng.random() < 0.5 and any(t.type == type for t in self.tables):
            return self.read(self.rng.choice([t for t in self.tables if t.type == type]))
        if type == "int64" and self.loops and self.rng.random() < 0.5:
            return self.rng.choice(self.loops)[0]
        others = [v for v in self.numbers if v.type != type and v.type != "bfloat16"]
        if others and self.rng.random() < 0.4 and type != "bool":
            return self.cast(self.rng.choice(others), type)
        return self.graph.constant(type, [])

    def cast(self, x, type):
        if "float" in x.type and "float" not in type and type != "bool":
            high = self.graph.constant(x.type, [], [9])
            x = self.call("Min", [self.call("Max", [x, self.graph.constant(x.type, [], [0])], x.type), high], x.type)
        return self.call("Cast", [x], type, to=onnx_file.ELEMENTS[type])

    def truth(self):
        r = self.rng.random()
        if r < 0.1:
            return self.call("Not", [self.truth()], "bool")
        if r < 0.25:
            return self.call(self.rng.choice(["And", "Or"]), [self.truth(), self.truth()], "bool")
        type = self.rng.choice([v.type for v in self.numbers + self.tables if v.type not in ("bool", "uint8", "int8", "bfloat16")] or ["int64"])
        return self.call(self.rng.choice(["Less", "Greater", "LessOrEqual", "Equal"]), [self.number(type), self.number(type)], "bool")

    def index(self, n):
        """A place along an axis of n: of the loops' numbers, mostly within it."""
        rng = self.rng
        if rng.random() < 0.1 or not self.loops:
            x = self.number("int64")
            return self.call("Mod", [x, self.whole(n)], "int64") if self.program.safe or rng.random() < 0.8 else x
        low, high, made = 0, 0, None
        for value, least, largest in rng.sample(self.loops, rng.choice([1, 1, 1, min(2, len(self.loops))])):
            factor = rng.choice([1, 1, 1, 1, -1, -1, 2, -2, 3, self.program.m])
            term = value if factor == 1 else self.call("Mul", [value, self.whole(factor)] if rng.random() < 0.5 else [self.whole(factor), value], "int64")
            low, high = low + min(factor * least, factor * largest), high + max(factor * least, factor * largest)
            made = term if made is None else self.call("Add", [made, term], "int64")
        if high - low < n and (self.program.safe or rng.random() < 0.95):
            base = rng.choice([-low, n - 1 - high, rng.randint(-low, n - 1 - high)])
            if rng.random() < 0.1:
                base -= n
        elif self.program.safe or rng.random() < 0.9:
            base = rng.choice([0, 1, -1, n - 1])
            shifted = self.call("Add", [made, self.whole(base)], "int64")
            if rng.random() < 0.5:
                return self.call("Mod", [shifted, self.whole(n)], "int64")
            return self.call("Min", [self.call("Max", [shifted, self.whole(0)], "int64"), self.whole(n - 1)], "int64")
        else:
            base = rng.choice([0, -1, 1, -low, n - 1 - high])
        if base == 0:
            return made
        return self.call("Sub", [made, self.whole(-base)], "int64") if rng.random() < 0.5 else self.call("Add", [made, self.whole(base)], "int64")

    def row(self, x):
        return self.call("Reshape", [x, self.ints(1)], x.type, [1]) if self.rng.random() < 0.5 else self.call("Unsqueeze", [x, self.ints(0)], x.type, [1])

    def read(self, t):
        if len(t.shape) == 1:
            at = self.index(t.shape[0])
            if self.rng.random() < 0.15:
                return self.call("Squeeze", [self.call("GatherElements", [t, self.row(at)], t.type, [1])], t.type)
            if self.rng.random() < 0.1:
                return self.call("Squeeze", [self.call("Slice", [t, self.row(self.call("Mod", [at, self.whole(t.shape[0])], "int64")),
                                                                self.row(self.call("Add", [self.call("Mod", [at, self.whole(t.shape[0])], "int64"), self.whole(1)], "int64"))], t.type, [1])], t.type)
            return self.call("Gather", [t, at], t.type)
        i, j = self.index(t.shape[0]), self.index(t.shape[1])
        if self.rng.random() < 0.5:
            both = self.call("Concat", [self.row(i), self.row(j)], "int64", [2], axis=0)
            return self.call("GatherND", [t, both], t.type)
        return self.call("Gather", [self.call("Gather", [t, i], t.type, t.shape[1:]), j], t.type)

    def expression(self, type, depth=2):
        rng, r = self.rng, self.rng.random()
        if depth == 0 or r < 0.2:
            return self.number(type)
        if type == "bool":
            return self.truth()
        if r < 0.35:
            return self.call("Where", [self.truth(), self.expression(type, depth - 1), self.expression(type, depth - 1)], type)
        if r < 0.42 and type in ("float32", "float64"):
            return self.call(rng.choice(["Tanh", "Abs", "Neg", "Sqrt", "Floor"]), [self.expression(type, depth - 1)], type)
        ops = ["Add", "Add", "Sub", "Mul"] + (["Max", "Min"] if type not in ("uint8", "int8", "bfloat16") else [])
        return self.call(rng.choice(ops), [self.expression(type, depth - 1), self.expression(type, depth - 1)], type)


def _assign(p, depth):
    type = p.rng.choice([v.type for v in p.numbers])
    x = p.expression(type)
    same = [k for k, v in enumerate(p.numbers) if v.type == type]
    p.numbers[p.rng.choice(same)] = x


def _put(p, depth):
    k = p.rng.randrange(len(p.tables))
    t = p.tables[k]
    if len(t.shape) == 1:
        at, x = p.index(t.shape[0]), p.expression(t.type)
        at, x = p.row(at), p.row(x)
        if p.rng.random() < 0.3:
            p.tables[k] = p.call("ScatterND", [t, p.call("Unsqueeze", [at, p.ints(0)], "int64", [1, 1]), x], t.type, t.shape)
        else:
            p.tables[k] = p.call("ScatterElements", [t, at, x], t.type, t.shape)
        return
    i = p.row(p.index(t.shape[0]))
    if p.rng.random() < 0.3:  # a row
        row = p.call("Gather", [p.rng.choice([v for v in p.tables if v.type == t.type and v.shape == t.shape]), p.index(t.shape[0])], t.type, t.shape[1:])
        if t.type != "bool":
            row = p.call(p.rng.choice(["Add", "Mul"]), [row, p.number(t.type)], t.type, t.shape[1:])
        at = p.call("Unsqueeze", [i, p.ints(0)], "int64", [1, 1])
        p.tables[k] = p.call("ScatterND", [t, at, p.call("Unsqueeze", [row, p.ints(0)], t.type, [1, *t.shape[1:]])], t.type, t.shape)
        return
    both = p.call("Unsqueeze", [p.call("Concat", [i, p.row(p.index(t.shape[1]))], "int64", [2], axis=0), p.ints(0)], "int64", [1, 2])
    p.tables[k] = p.call("ScatterND", [t, both, p.row(p.expression(t.type))], t.type, t.shape)


def _accumulate(p, depth):
    """x = x op what lies in a table: sums, extremes, counts; t[i] = t[i] op something."""
    rng = p.rng
    k = rng.randrange(len(p.tables))
    t = p.tables[k]
    if t.type == "bool":
        return _put(p, depth)
    op = rng.choice(["Add", "Add", "Sub", "Mul"] + (["Max", "Min"] if t.type not in ("uint8", "int8", "bfloat16") else []))
    if rng.random() < 0.5 or len(t.shape) > 1:
        same = [j for j, v in enumerate(p.numbers) if v.type == t.type]
        if same:
            j = rng.choice(same)
            p.numbers[j] = p.call(op, [p.numbers[j], p.read(t)], t.type)
        return
    at = p.index(t.shape[0])
    x = p.call(op, [p.call("Gather", [t, at], t.type), p.expression(t.type, 1)], t.type)
    p.tables[k] = p.call("ScatterElements", [t, p.row(at), p.row(x)], t.type, t.shape)


def _swap(p, depth):
    """Elements of a table, tables, or numbers change places."""
    rng, r = p.rng, p.rng.random()
    if r < 0.5:
        flat = [k for k, t in enumerate(p.tables) if len(t.shape) == 1]
        if flat:
            k = rng.choice(flat)
            t = p.tables[k]
            i, j = p.index(t.shape[0]), p.index(t.shape[0])
            x, y = p.call("Gather", [t, i], t.type), p.call("Gather", [t, j], t.type)
            t = p.call("ScatterElements", [t, p.row(i), p.row(y)], t.type, t.shape)
            p.tables[k] = p.call("ScatterElements", [t, p.row(j), p.row(x)], t.type, t.shape)
        return
    of = p.tables if r < 0.8 else p.numbers
    i = rng.randrange(len(of))
    same = [k for k, v in enumerate(of) if v.type == of[i].type and v.shape == of[i].shape]
    turned = [of[k] for k in same[1:] + same[:1]]
    for k, v in zip(same, turned):
        of[k] = v


def _whole(p, depth):
    """All of a table at once."""
    rng = p.rng
    k = rng.randrange(len(p.tables))
    t = p.tables[k]
    r = rng.random()
    if r < 0.3:
        p.tables[k] = p.call("Slice", [t, p.ints(-1), p.ints(-(1 << 40)), p.ints(rng.randrange(len(t.shape))), p.ints(-1)], t.type, t.shape)
    elif r < 0.5 and len(t.shape) == 2 and t.shape[0] == t.shape[1]:
        p.tables[k] = p.call("Transpose", [t], t.type, t.shape, perm=[1, 0])
    elif r < 0.7 and t.type in ADDED:
        u = rng.choice([v for v in p.tables if v.type == t.type and v.shape == t.shape])
        p.tables[k] = p.call(rng.choice(["Add", "Sub", "Mul"]), [t, rng.choice([u, p.number(t.type)])], t.type, t.shape)
    elif t.type in ("float32", "float64", "int64", "int32"):
        x = p.call(rng.choice(["ReduceSum", "ReduceMax"]), [t], t.type, keepdims=0)
        same = [j for j, v in enumerate(p.numbers) if v.type == t.type]
        if same:
            p.numbers[rng.choice(same)] = x


STATEMENTS = [_assign] * 3 + [_put] * 5 + [_accumulate] * 5 + [_swap] * 2 + [_whole]


def _block(p, n, depth):
    for _ in range(n):
        if depth > 0 and p.rng.random() < 0.4:
            p.rng.choice([_for, _for, _for, _while, _if, _if, _scan])(p, depth)
        else:
            p.rng.choice(STATEMENTS)(p, depth)


def _changed(p, inner):
    """Which variables a block has assigned: their numbers among tables, among numbers."""
    return [k for k, v in enumerate(inner.tables[:len(p.tables)]) if v is not p.tables[k]], [k for k, v in enumerate(inner.numbers[:len(p.numbers)]) if v is not p.numbers[k]]


def _named(inner, values):
    """As a body's results: under names of their own where they are made elsewhere, or twice there."""
    made, seen, given = {name for node in inner.graph.nodes for name in node["outputs"]}, set(), []
    for v in values:
        if v.name not in made or v.name in seen or inner.rng.random() < 0.2:
            v = inner.call("Identity", [v], v.type, v.shape)
        seen.add(v.name)
        given.append(v)
    return given


def _graph(inner, inputs, outputs):
    declared = onnx_grammar.declared
    return {"graph": {"inputs": [declared(v) for v in inputs], "outputs": [declared(v) for v in outputs], "initializers": inner.graph.initializers, "nodes": inner.graph.nodes}}


def _take(p, tables, numbers, made):
    for k, v in zip(tables, made):
        p.tables[k] = v
    for k, v in zip(numbers, made[len(tables):]):
        p.numbers[k] = v


def _if(p, depth):
    truth = p.truth()
    sides = [p.within(p.work) for _ in range(2)]
    _block(sides[0], p.rng.choice([1, 2, 3]), depth - 1)
    _block(sides[1], p.rng.choice([0, 0, 1, 2]), depth - 1)
    tables, numbers = [sorted(set(a) | set(b)) for a, b in zip(_changed(p, sides[0]), _changed(p, sides[1]))]
    if not tables and not numbers:
        return
    graphs = [_graph(side, [], _named(side, [side.tables[k] for k in tables] + [side.numbers[k] for k in numbers])) for side in sides]
    made = p.graph.call("If", [truth], [(v.type, v.shape) for v in [p.tables[k] for k in tables] + [p.numbers[k] for k in numbers]], then_branch=graphs[0], else_branch=graphs[1])
    _take(p, tables, numbers, made)


def _fresh(inner, type, shape):
    return onnx_grammar.Value(inner.graph.fresh(), type, shape)


def _begin(p, work):
    """A body, all of whose variables are states; those that do not change are then captured, for the most part."""
    inner = p.within(work)
    inner.tables = [_fresh(inner, v.type, v.shape) for v in p.tables]
    inner.numbers = [_fresh(inner, v.type, v.shape) for v in p.numbers]
    return inner


def _rename(nodes, names):
    """What is read, by other names, within too."""
    for node in nodes:
        node["inputs"] = [names.get(x, x) for x in node["inputs"]]
        for value in node.get("attributes", {}).values():
            if isinstance(value, dict) and "graph" in value:
                _rename(value["graph"]["nodes"], names)


def _settle(p, inner, first_tables, first_numbers):
    """(tables, numbers) that go on; the others are captured under the names that they have outside."""
    goes = [[k for k, (a, b) in enumerate(zip(first, now)) if a is not b or p.rng.random() < 0.08] for first, now in ((first_tables, inner.tables), (first_numbers, inner.numbers))]
    names = {}
    for first, outside, kept in ((first_tables, p.tables, goes[0]), (first_numbers, p.numbers, goes[1])):
        names.update({v.name: outside[k].name for k, v in enumerate(first) if k not in kept})
    return goes, names


def _finish_loop(p, inner, first, head, given, tables, numbers, names, stacked, count, condition, known):
    _rename(inner.graph.nodes, names)
    on = given[0]
    results = _named(inner, [on] + [inner.tables[k] for k in tables] + [inner.numbers[k] for k in numbers] + stacked)
    _rename(inner.graph.nodes, names)
    body = _graph(inner, head + [first[0][k] for k in tables] + [first[1][k] for k in numbers], results)
    states = [p.tables[k] for k in tables] + [p.numbers[k] for k in numbers]
    if len(states) + len(stacked) == 0:
        return
    made = p.graph.call("Loop", [count, condition] + states, [(v.type, v.shape) for v in states] + [(v.type, [known] + v.shape if known is not None else None) for v in stacked], body=body)
    _take(p, tables, numbers, made)
    for v in made[len(states):]:
        if v.shape is not None and 0 not in v.shape and len(v.shape) <= 2:
            p.tables.append(v)


MOST_WORK = 4000


def _count(p):
    """How many runs: a value, the most that there can be, whether it is exactly that."""
    rng, n = p.rng, p.program.n
    r = rng.random()
    if r < 0.55 or not p.loops and r < 0.7:
        most = rng.choice([n, n, n - 1, max(n // 2, 1), p.program.m, 1, 0, 2, n + 1])
        return p.whole(most), most, True
    if r < 0.85 and p.loops:  # triangular
        value, least, largest = rng.choice(p.loops)
        if rng.random() < 0.5:
            return value, largest, False
        most = max(n, largest + 1)
        return p.call("Sub", [p.whole(most), value], "int64"), most - least, False
    return p.call("Mod", [p.number("int64"), p.whole(n + 1)], "int64"), n, False


def _for(p, depth):
    rng = p.rng
    count, most, exact = _count(p)
    if p.work * max(most, 1) > MOST_WORK:
        most, exact = rng.choice([1, 2, 3]), True
        count = p.whole(most)
    inner = _begin(p, p.work * max(most, 1))
    first = list(inner.tables), list(inner.numbers)
    number, go = _fresh(inner, "int64", []), _fresh(inner, "bool", [])
    at, low, high = number, 0, max(most - 1, 0)
    if rng.random() < 0.2:  # from another number on, or downward
        if rng.random() < 0.5 and exact:
            at = inner.call("Sub", [inner.whole(high), number], "int64")
        else:
            c = rng.choice([1, 2, -1])
            at, low, high = inner.call("Add", [number, inner.whole(c)], "int64"), low + c, high + c
    inner.loops.append((at, low, high))
    _block(inner, rng.choice([1, 1, 2, 3]), depth - 1)
    breaks = rng.random() < 0.15
    on = inner.truth() if breaks else go
    if breaks and rng.random() < 0.3:
        on = inner.call("Not", [on], "bool")
    (tables, numbers), names = _settle(p, inner, *first)
    stacked = [v for v in rng.sample(inner.numbers + inner.tables[:1], rng.choice([0, 0, 0, 1, 2, 1][:3 + 3 * (p.work < 50)])) if v.shape is not None]
    stacked = [inner.call("Identity", [v], v.type, v.shape) for v in stacked]
    condition = p.graph.constant("bool", [], [True]) if rng.random() < 0.4 or breaks else ""
    _finish_loop(p, inner, first, [number, go], [on], tables, numbers, names, stacked, count, condition, most if exact and not breaks and most else None)


def _while(p, depth):
    rng = p.rng
    most = rng.choice([3, 9, 20])
    if p.work * most > MOST_WORK:
        return
    inner = _begin(p, p.work * most)
    first = list(inner.tables), list(inner.numbers)
    number, go = _fresh(inner, "int64", []), _fresh(inner, "bool", [])
    inner.loops.append((number, 0, most - 1))
    _block(inner, rng.choice([1, 2, 3]), depth - 1)
    on = inner.call("And", [inner.call("Less", [number, inner.whole(most - 2)], "bool"), inner.truth()], "bool")
    (tables, numbers), names = _settle(p, inner, *first)
    _finish_loop(p, inner, first, [number, go], [on], tables, numbers, names, [], "", p.truth(), None)


def _scan(p, depth):
    """Through a table, from either end."""
    rng = p.rng
    t = rng.choice(p.tables)
    axis = rng.randrange(len(t.shape))
    n = t.shape[axis]
    if p.work * n > MOST_WORK:
        return
    inner = _begin(p, p.work * n)
    first = list(inner.tables), list(inner.numbers)
    item = _fresh(inner, t.type, t.shape[:axis] + t.shape[axis + 1:])
    (inner.tables if item.shape else inner.numbers).append(item)
    _block(inner, rng.choice([1, 2, 3]), depth - 1)
    (tables, numbers), names = _settle(p, inner, *first)
    tables, numbers = [k for k in tables if k < len(p.tables)], [k for k in numbers if k < len(p.numbers)]
    stacked = rng.sample([v for v in inner.numbers + inner.tables[-1:] if v.shape is not None], 1) if rng.random() < 0.5 or not tables + numbers else []
    stacked = [inner.call("Identity", [v], v.type, v.shape) for v in stacked]
    _rename(inner.graph.nodes, names)
    results = _named(inner, [inner.tables[k] for k in tables] + [inner.numbers[k] for k in numbers] + stacked)
    _rename(inner.graph.nodes, names)
    body = _graph(inner, [first[0][k] for k in tables] + [first[1][k] for k in numbers] + [item], results)
    states = [p.tables[k] for k in tables] + [p.numbers[k] for k in numbers]
    attributes = {"scan_input_axes": [axis]} if axis or rng.random() < 0.3 else {}
    if rng.random() < 0.4:
        attributes["scan_input_directions"] = [1]
    if stacked and rng.random() < 0.4:
        attributes["scan_output_directions"] = [1]
    made = p.graph.call("Scan", states + [t], [(v.type, v.shape) for v in states] + [(v.type, [n] + v.shape) for v in stacked], num_scan_inputs=1, body=body, **attributes)
    _take(p, tables, numbers, made)
    p.tables += [v for v in made[len(states):] if len(v.shape) <= 2 and 0 not in v.shape]


def make(seed):
    rng = random.Random(f"walks {seed}")
    program = Program(rng)
    graph = onnx_grammar.Graph(program)
    types = rng.sample(TYPES, rng.choice([1, 1, 2]))
    n, m = program.n, program.m
    shapes = [[n], [n], [n], [n], [n, m], [n, n] if n < 20 else [n], [n * m], [2 * n + 1]]
    tables = [onnx_grammar.Value(graph.fresh(), rng.choice(types), rng.choice(shapes)) for _ in range(rng.choice([1, 2, 2, 3]))]
    numbers = [onnx_grammar.Value(graph.fresh(), t, []) for t in types + ["int64"] + rng.sample(["float32", "int64", "float64"], 1)]
    p = Place(graph, tables, numbers)
    for _ in range(rng.choice([1, 1, 2])):
        _for(p, rng.choice([1, 2, 2, 3]))
    made = {name for node in graph.nodes for name in node["outputs"]}
    outputs = list({v.name: v for v in p.tables + p.numbers if v.name in made}.values()) or [p.call("Identity", [p.tables[0]], p.tables[0].type, p.tables[0].shape)]
    declared = onnx_grammar.declared
    model = {"opset": program.opset, "inputs": [declared(v) for v in tables + numbers], "outputs": [declared(v) for v in outputs], "initializers": graph.initializers, "nodes": graph.nodes}
    special = rng.random() < 0.1
    data = lambda v: {"type": v.type, "shape": v.shape, "data": bits.elements(rng, v.type, onnx_grammar.length(v.shape)) if special and v.type not in ("bfloat16", "float16", "int8") else onnx_grammar.numbers(rng, v.type, onnx_grammar.length(v.shape))}
    phases = [{"steps": rng.choice([2, 4]), "inputs": {v.name: data(v) for v in tables + numbers}} for _ in range(rng.choice([1, 2]))]
    return {"format": "onnx", "model": model, "phases": phases, "dt": None}
