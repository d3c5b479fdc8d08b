"""Random Loops and Scans as programs of numbers and short tables: elements that are put at places and looked up there, by puts, branches and loops within each other that go on with
the same tables, now and then with what a table was before; loops from element to element along rows of tables; heaps, sieves, machines with a stack, resets of states. ``make(seed)`` gives one case (case.py)."""
import random

import bits
import onnx_file
import onnx_grammar

TYPES = ["float32", "float64", "int64", "int32", "bool", "uint8"]


class Program:
    def __init__(self, rng):
        self.rng, self.n_names, self.opset = rng, 0, rng.choice([16, 18, 18, 21])
        self.length = rng.choice([2, 3, 5, 8, 17, 40, 150])


class Scope:
    """What stands for the tables and the numbers of the program at a place of it."""

    def __init__(self, graph, tables, numbers):
        self.graph, self.rng, self.tables, self.numbers = graph, graph.rng, list(tables), list(numbers)

    def within(self):
        return Scope(onnx_grammar.Graph(self.graph.program, self.graph), self.tables, self.numbers)

    def call(self, op, inputs, type, shape=(), **attributes):
        return self.graph.call(op, inputs, [(type, list(shape))], **attributes)[0]

    def constant(self, type, value):
        return self.graph.constant(type, [], [value])

    def number(self, type):
        found = [v for v in self.numbers if v.type == type]
        return self.rng.choice(found) if found and self.rng.random() < 0.8 else self.graph.constant(type, [])

    def truth(self):
        """A comparison, or what two of them make."""
        r = self.rng.random()
        if r < 0.15:
            return self.call("Not", [self.truth()], "bool")
        if r < 0.3:
            return self.call(self.rng.choice(["And", "Or", "Xor"]), [self.truth(), self.truth()], "bool")
        known = [v for v in self.numbers if v.type == "bool"]
        if known and r < 0.4:
            return self.rng.choice(known)
        type = self.rng.choice([v.type for v in self.numbers if v.type not in ("bool", "uint8")] or ["float32"])
        op = self.rng.choice(["Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal"])
        return self.call(op, [self.number(type), self.number(type)], "bool")

    def place(self):
        """A whole number that is, mostly, one of a place in the tables."""
        at = self.number("int64")
        if self.rng.random() < 0.97:
            at = self.call("Mod", [at, self.constant("int64", self.graph.program.length)], "int64")
        if self.rng.random() < 0.1:
            at = self.call("Clip", [at, self.constant("int64", self.rng.choice([0, 1, -2])), self.constant("int64", self.graph.program.length - 1)], "int64")
        return at


def _keep(scope, number):
    """A number that was made takes the place of one of its type, or is one more."""
    same = [k for k, v in enumerate(scope.numbers) if v.type == number.type]
    if same and scope.rng.random() < 0.6:
        scope.numbers[scope.rng.choice(same)] = number
    else:
        scope.numbers.append(number)


def _look_up(scope, depth):
    table = scope.rng.choice(scope.tables)
    _keep(scope, scope.call("Gather", [table, scope.place()], table.type))


def _put(scope, depth):
    k = scope.rng.randrange(len(scope.tables))
    table, one = scope.tables[k], scope.graph.constant("int64", [1], [1])
    at, value = [scope.call("Reshape", [x, one], x.type, [1]) for x in (scope.place(), scope.number(table.type))]
    put = scope.call("ScatterElements", [table, at, value], table.type, table.shape)
    if scope.rng.random() < 0.1:  # what it was is looked at once more
        _keep(scope, scope.call("Gather", [table, scope.place()], table.type))
    scope.tables[k] = put


def _compute(scope, depth):
    type = scope.rng.choice([v.type for v in scope.numbers])
    x, y, r = scope.number(type), scope.number(type), scope.rng.random()
    if type == "bool" and r < 0.6:
        _keep(scope, scope.truth())
    elif type == "bool" or r < 0.2:
        kinds = ["int64", "float32", "float64"] if type == "bool" else ["int64", "float64"]
        to = scope.rng.choice([t for t in kinds if t != type])
        bounded = scope.call("Clip", [x, scope.constant(type, 0), scope.constant(type, 9)], type) if "float" in type else x
        _keep(scope, scope.call("Cast", [bounded], to, to=onnx_file.ELEMENTS[to]))
    elif r < 0.3 and "float" in type:
        _keep(scope, scope.call(scope.rng.choice(["Tanh", "Abs", "Neg", "Floor"]), [x], type))
    else:
        op = scope.rng.choice(["Add", "Sub", "Mul", "Max", "Min"] if type != "uint8" else ["Add", "Sub", "Mul"])
        _keep(scope, scope.call(op, [x, y], type))


def _choose(scope, depth):
    """A number, begun anew from a constant or the other one; rarely a table."""
    r = scope.rng.random()
    truth = scope.truth()
    if r < 0.1 and len(scope.tables) > 1:
        k, other = scope.rng.randrange(len(scope.tables)), scope.rng.choice(scope.tables)
        if scope.tables[k].type == other.type:
            scope.tables[k] = scope.call("Where", [truth, other, scope.tables[k]], other.type, other.shape)
        return
    k = scope.rng.randrange(len(scope.numbers))
    x = scope.numbers[k]
    other = scope.graph.constant(x.type, []) if r < 0.5 else scope.number(x.type)
    scope.numbers[k] = scope.call("Where", [truth, *((x, other) if scope.rng.random() < 0.5 else (other, x))], x.type)


def _begin_anew(scope, depth):
    """A number that begins anew once it has come somewhere, or stays while another one says so, and what else hangs on that: counts, truths that are turned, other numbers."""
    rng = scope.rng
    found = [k for k, v in enumerate(scope.numbers) if v.type not in ("bool", "uint8")]
    if not found:
        return None
    k = rng.choice(found)
    x, tested = scope.numbers[k], scope.numbers[rng.choice(found)] if rng.random() < 0.3 else scope.numbers[k]
    truth = scope.call(rng.choice(["Less", "Greater", "GreaterOrEqual", "Equal"]), [tested, scope.graph.constant(tested.type, [])], "bool")
    other = scope.graph.constant(x.type, []) if rng.random() < 0.7 else scope.call("Add", [scope.call("Mul", [x, scope.number(x.type)], x.type), scope.number(x.type)], x.type)
    scope.numbers[k] = scope.call("Where", [truth, *((other, x) if rng.random() < 0.6 else (x, other))], x.type)
    for at, v in enumerate(scope.numbers):
        r = rng.random()
        if at == k or r < 0.4:
            continue
        if v.type == "bool":
            scope.numbers[at] = scope.call("Xor", [v, truth] if r < 0.7 else [truth, v], "bool") if r < 0.9 else truth
        elif r < 0.7:
            scope.numbers[at] = scope.call(rng.choice(["Add", "Add", "Sub"]), [v, scope.call("Cast", [truth], v.type, to=onnx_file.ELEMENTS[v.type])], v.type)
        else:
            scope.numbers[at] = scope.call("Where", [truth, *((v, scope.number(v.type)) if r < 0.85 else (scope.number(v.type), v))], v.type)
    return truth


def _take_further(scope, depth):
    """A number becomes what goes beyond it, the least or the largest so far, and others say of what."""
    rng = scope.rng
    found = [k for k, v in enumerate(scope.numbers) if v.type not in ("bool", "uint8")]
    if not found:
        return
    k = rng.choice(found)
    x, other = scope.numbers[k], scope.number(scope.numbers[k].type)
    truth = scope.call(rng.choice(["Less", "Greater", "LessOrEqual", "GreaterOrEqual"]), [other, x] if rng.random() < 0.7 else [x, other], "bool")
    if rng.random() < 0.4:
        truth = scope.call("And", [truth, scope.truth()] if rng.random() < 0.5 else [scope.truth(), truth], "bool")
    scope.numbers[k] = scope.call("Where", [truth, *((other, x) if rng.random() < 0.8 else (x, other))], x.type)
    for at, v in enumerate(scope.numbers):
        if at != k and rng.random() < 0.5:
            scope.numbers[at] = scope.call("Where", [truth, scope.number(v.type), v], v.type)


def _whole_table(scope, depth):
    """All elements of a table."""
    k = scope.rng.randrange(len(scope.tables))
    table = scope.tables[k]
    if table.type == "bool":
        scope.tables[k] = scope.call("Not", [table], "bool", table.shape)
    else:
        scope.tables[k] = scope.call("Add", [table, scope.number(table.type)], table.type, table.shape)


def _inner(scope):
    return {"initializers": scope.graph.initializers, "nodes": scope.graph.nodes}


def _results(scope, values):
    return [scope.call("Identity", [v], v.type, v.shape) for v in values]


def _branch(scope, depth):
    """An If that leaves some tables and numbers; now and then two tables change places in it."""
    truth = scope.truth()
    tables = sorted(scope.rng.sample(range(len(scope.tables)), scope.rng.randint(0, len(scope.tables))))
    numbers = sorted(scope.rng.sample(range(len(scope.numbers)), scope.rng.randint(0, min(3, len(scope.numbers)))))
    if not tables and not numbers:
        return
    sides = []
    for n in (scope.rng.choice([1, 2, 4]), scope.rng.choice([0, 0, 1, 3])):
        side = scope.within()
        _run(side, n, depth - 1)
        left = [side.tables[k] for k in tables] + [side.numbers[k] for k in numbers]
        if scope.rng.random() < 0.05 and len(tables) > 1 and left[0].type == left[1].type:
            left[:2] = left[1::-1]
        sides.append({"graph": {**_inner(side), "inputs": [], "outputs": [onnx_grammar.declared(v) for v in _results(side, left)]}})
    if scope.rng.random() < 0.4:
        sides.reverse()
    kept = [scope.tables[k] for k in tables] + [scope.numbers[k] for k in numbers]
    made = scope.graph.call("If", [truth], [(v.type, v.shape) for v in kept], then_branch=sides[0], else_branch=sides[1])
    for k, v in zip(tables, made):
        scope.tables[k] = v
    for k, v in zip(numbers, made[len(tables):]):
        scope.numbers[k] = v


def _loop(scope, depth, n_runs=None, n_statements=None):
    """A Loop that goes on with some tables and numbers, also as long as a condition holds; what it stacks."""
    rng = scope.rng
    tables = sorted(rng.sample(range(len(scope.tables)), rng.randint(1, len(scope.tables))))
    numbers = sorted(rng.sample(range(len(scope.numbers)), rng.randint(0, min(4, len(scope.numbers)))))
    if n_runs is None:
        n_runs = scope.constant("int64", rng.choice([0, 1, 2, 3, 5])) if rng.random() < 0.6 else scope.place()
    begun = [scope.tables[k] for k in tables] + [scope.numbers[k] for k in numbers]
    body = scope.within()
    fresh = lambda type, shape: onnx_grammar.Value(body.graph.fresh(), type, shape)
    number, go = fresh("int64", []), fresh("bool", [])
    states = [fresh(v.type, v.shape) for v in begun]
    for k, v in zip(tables, states):
        body.tables[k] = v
    for k, v in zip(numbers, states[len(tables):]):
        body.numbers[k] = v
    body.numbers.append(number)
    _run(body, n_statements or rng.choice([1, 2, 4]), depth - 1)
    by = _begin_anew(body, depth) if rng.random() < 0.5 else None
    goes_on = body.truth() if rng.random() < 0.4 else go
    if by is not None and rng.random() < 0.4:  # it ends where that does not hold
        goes_on = by if goes_on is go else body.call("And", [by, goes_on], "bool")
    nexts = [body.tables[k] for k in tables] + [body.numbers[k] for k in numbers]
    stacked = rng.sample(body.numbers, rng.choice([0, 0, 1])) if n_statements is None else rng.sample(body.numbers + body.tables, rng.choice([0, 1, 2]))
    given = _results(body, [goes_on] + nexts + stacked)
    graph = {**_inner(body), "inputs": [onnx_grammar.declared(v) for v in [number, go] + states], "outputs": [onnx_grammar.declared(v) for v in given]}
    results = [(v.type, v.shape) for v in begun] + [(v.type, [None] + v.shape) for v in stacked]
    made = scope.graph.call("Loop", [n_runs, scope.truth() if rng.random() < 0.1 else ""] + begun, results, body={"graph": graph})
    for k, v in zip(tables, made):
        scope.tables[k] = v
    for k, v in zip(numbers, made[len(tables):]):
        scope.numbers[k] = v
    return made


def _goes_along(scope, depth):
    """A Loop that goes through places of one or two tables, upward or downward, from or up to any of them, now and then further: what is put there is made of what lies there, at the same place
    of other tables, or some places away."""
    rng, length = scope.rng, scope.graph.program.length
    tables = rng.sample(range(len(scope.tables)), rng.choice([1, 1, min(2, len(scope.tables))]))
    body = scope.within()
    fresh = lambda type, shape: onnx_grammar.Value(body.graph.fresh(), type, shape)
    number, go = fresh("int64", []), fresh("bool", [])
    states = [fresh(scope.tables[k].type, scope.tables[k].shape) for k in tables]
    whole = lambda n: scope.constant("int64", n)
    down = rng.random() < 0.3
    first = rng.choice([whole(0), whole(rng.randrange(length)), scope.place()]) if not down else rng.choice([whole(length - 1), scope.place()])
    if rng.random() < 0.9:  # all within, mostly
        n_runs = scope.call("Add", [first, whole(1)], "int64") if down else scope.call("Sub", [whole(length), first], "int64")
        if rng.random() < 0.3:
            n_runs = scope.call("Sub", [n_runs, whole(rng.choice([-1, 1, 2]))], "int64")
    else:
        n_runs = whole(rng.choice([length, 9, 16, 33]))
    at = body.call("Sub" if down else "Add", [first, number] if down or rng.random() < 0.7 else [number, first], "int64")
    one = body.graph.constant("int64", [1], [1])

    def place():
        r = rng.random()
        if r < 0.3:
            return at
        if r < 0.4:
            return body.call("Add", [body.call("Mul", [number, whole(rng.choice([0, 1, -1, 2]))], "int64"), whole(rng.randrange(length))], "int64")
        away = whole(rng.choice([1, 2, 8, 9, -1, -3, -8, -20])) if r < 0.8 else scope.place()
        moved = body.call(rng.choice(["Add", "Sub"]), [at, away], "int64")
        return body.call("Mod", [moved, whole(length)], "int64") if rng.random() < 0.1 else moved

    for k, state in zip(tables, states):
        body.tables[k] = state
    puts = []
    for k, state in zip(tables, states):
        type = state.type
        x = body.call("Gather", [state, at], type)
        for _ in range(rng.choice([0, 1, 1, 2])):
            others = [v for v in body.tables if v.type == type] + [state]
            y = body.call("Gather", [rng.choice(others), place()], type) if rng.random() < 0.8 else body.number(type)
            if type == "bool":
                x = body.call(rng.choice(["And", "Or", "Xor"]), [x, y], type)
            elif rng.random() < 0.2:
                x = body.call("Where", [body.truth(), x, y], type)
            else:
                x = body.call(rng.choice(["Add", "Sub", "Mul", "Max", "Min"] if type != "uint8" else ["Add", "Sub", "Mul"]), [x, y], type)
        if "float" in type and rng.random() < 0.2:
            x = body.call("Add", [x, body.call("Cast", [number], type, to=onnx_file.ELEMENTS[type])], type)
        puts.append(body.call("ScatterElements", [state, *(body.call("Reshape", [v, one], v.type, [1]) for v in (at, x))], type, state.shape))
    given = _results(body, [go] + puts)
    graph = {**_inner(body), "inputs": [onnx_grammar.declared(v) for v in [number, go] + states], "outputs": [onnx_grammar.declared(v) for v in given]}
    made = scope.graph.call("Loop", [n_runs, ""] + [scope.tables[k] for k in tables], [(v.type, v.shape) for v in states], body={"graph": graph})
    for k, v in zip(tables, made):
        scope.tables[k] = v


def _keeps(scope, depth):
    """A Loop that goes on with an element of a table at one place, mostly: what it is next is made of what it was, of the run's number, and of other tables' elements."""
    rng = scope.rng
    k = rng.randrange(len(scope.tables))
    table, place = scope.tables[k], scope.place()
    if table.type == "bool":
        return
    body = scope.within()
    fresh = lambda type, shape: onnx_grammar.Value(body.graph.fresh(), type, shape)
    number, go, state = fresh("int64", []), fresh("bool", []), fresh(table.type, table.shape)
    body.tables[k] = state
    one = body.graph.constant("int64", [1], [1])
    at = body.call("Add", [place, scope.constant("int64", 0)], "int64") if rng.random() < 0.3 else place
    x = body.call("Gather", [state, at], table.type)
    for _ in range(rng.choice([1, 1, 2])):
        r = rng.random()
        if r < 0.4:
            other = rng.choice(body.tables if r < 0.05 else [v for i, v in enumerate(body.tables) if i != k] or [table])
            y = body.call("Gather", [other, body.call("Mod", [number, scope.constant("int64", scope.graph.program.length)], "int64")], other.type)
            y = y if y.type == table.type else body.number(table.type)
        else:
            y = body.call("Cast", [number], table.type, to=onnx_file.ELEMENTS[table.type]) if r < 0.7 else body.number(table.type)
        x = body.call(rng.choice(["Add", "Sub", "Mul"] + ["Max", "Min"] * (table.type != "uint8")), [x, y], table.type)
    put = body.call("ScatterElements", [state, *(body.call("Reshape", [v, one], v.type, [1]) for v in (place, x))], table.type, table.shape)
    given = _results(body, [go, put] + [x] * (rng.random() < 0.3))
    graph = {**_inner(body), "inputs": [onnx_grammar.declared(v) for v in [number, go, state]], "outputs": [onnx_grammar.declared(v) for v in given]}
    n_runs = scope.constant("int64", rng.choice([0, 1, 3, 9])) if rng.random() < 0.7 else scope.place()
    results = [(table.type, table.shape)] + [(x.type, [None])] * (len(given) - 2)
    scope.tables[k] = scope.graph.call("Loop", [n_runs, "", table], results, body={"graph": graph})[0]


STATEMENTS = [_look_up] * 5 + [_put] * 6 + [_compute] * 6 + [_choose] * 4 + [_begin_anew] * 3 + [_take_further] * 3 + [_whole_table]


def _run(scope, n_statements, depth):
    for _ in range(n_statements):
        kinds = STATEMENTS + ([_branch] * 6 + [_loop] * 3 + [_goes_along] * 4 + [_keeps] * 2 if depth > 0 else [])
        scope.rng.choice(kinds)(scope, depth)


def make(seed):
    rng = random.Random(f"tables {seed}")
    program = Program(rng)
    graph = onnx_grammar.Graph(program)
    fresh = lambda type, shape: onnx_grammar.Value(graph.fresh(), type, shape)
    types = rng.sample(TYPES, rng.choice([1, 2]))
    tables = [fresh(rng.choice(types), [program.length]) for _ in range(rng.choice([1, 1, 2, 3]))]
    numbers = [fresh(rng.choice(types + ["int64", "float32"]), []) for _ in range(rng.choice([1, 2, 4]))] + [fresh("int64", [])]
    scope = Scope(graph, tables, numbers)
    if rng.random() < 0.3:
        _goes_along(scope, 1)
    if rng.random() < 0.2:
        _keeps(scope, 1)
    made = _loop(scope, rng.choice([1, 2, 2, 3]), graph.constant("int64", [], [rng.choice([1, 3, 7, 20, 70])]), rng.choice([2, 4, 7, 10]))
    declared = onnx_grammar.declared
    inputs = tables + numbers
    model = {"opset": program.opset, "inputs": [declared(v) for v in inputs], "outputs": [declared(v) for v in made], "initializers": graph.initializers, "nodes": graph.nodes}
    data = lambda v: {"type": v.type, "shape": v.shape, "data": onnx_grammar.numbers(rng, v.type, onnx_grammar.length(v.shape)) if rng.random() < 0.8 else bits.elements(rng, v.type, onnx_grammar.length(v.shape))}
    phases = [{"steps": rng.choice([2, 4]), "inputs": {v.name: data(v) for v in inputs}} for _ in range(rng.choice([1, 2]))]
    return {"format": "onnx", "model": model, "phases": phases, "dt": None}
