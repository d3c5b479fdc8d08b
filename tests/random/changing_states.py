"""Random MDF models whose states and lists change length, rank and type while they run, with conditions over all that: lists that are appended to, cut, sorted, put into each other; numbers that
become arrays and back, whole numbers that become real ones and truths; inputs of other lengths in each phase. ``make(seed)`` gives one case (case.py)."""
import random

import case as cases
import conditions

NUMBERS = [0, 1, 2, 3, -1, 0.0, 0.5, 1.0, -2.5, 4]
KINDS = ["number", "number", "row", "row", "list", "any", "table"]
FIRST = {"number": [0, 1, 0.5, 2.0, True, 3], "row": [[1.0, 2.0], [0.5], [1, 2, 3], []], "list": [[], [1], [1, 2.5], [[1, 2], [3, 4]]], "table": [[[1.0, 2.0], [3.0, 4.0]], [[1, 2]]],
         "any": [0, 1.5, [1, 2], [[1.0]], True, []]}


class Maker:
    """Expressions over names of some kind each: "number", "row" (an array of any length), "table" (of rows), "list" (of Python), or "any" of them."""

    def __init__(self, rng, names):
        self.rng, self.names = rng, names

    def name(self, kind):
        found = [name for name, own in self.names if own == kind]
        return self.rng.choice(found) if found else None

    def any(self):
        return self.rng.choice(self.names)[0] if self.names else "[1, 2]"

    def size(self, depth=1):
        """A small whole number that changes."""
        x = self.any()
        return self.rng.choice(["1", "2", "3", f"numpy.size({x})", f"int(abs({self.number(depth - 1)})) % 4", f"numpy.size({x}) % 3", f"len(numpy.atleast_1d({x}))"])

    def test(self, depth=1):
        x, r = self.any(), self.rng.random()
        compare = self.rng.choice(["<", ">", "<=", ">=", "==", "!="])
        if r < 0.35:
            return f"numpy.size({x}) {compare} {self.rng.choice([0, 1, 2, 3, 5])}"
        if r < 0.5:
            return f"numpy.ndim({x}) {compare} {self.rng.choice([0, 1, 2])}"
        if r < 0.6:
            return f"numpy.{self.rng.choice(['any', 'all'])}(numpy.array({x}) > {self.rng.choice([0, 1, 0.5])})"
        return f"{self.number(depth - 1)} {compare} {self.number(depth - 1)}"

    def number(self, depth=2):
        rng, own = self.rng, self.name("number")
        if depth <= 0 or rng.random() < 0.2:
            return own if own is not None and rng.random() < 0.8 else str(rng.choice(NUMBERS)).replace("-2.5", "(-2.5)").replace("-1", "(-1)")
        x = self.any()
        return rng.choice([
            lambda: f"({self.number(depth - 1)} {rng.choice('+-*')} {self.number(depth - 1)})",
            lambda: f"numpy.{rng.choice(['sum', 'mean', 'max', 'min', 'prod'])}(numpy.append({x}, {self.number(0)}))",
            lambda: f"numpy.{rng.choice(['size', 'ndim'])}({x})",
            lambda: f"({self.number(depth - 1)} if {self.test(depth - 1)} else {self.number(depth - 1)})",
            lambda: f"{rng.choice(['int', 'float', 'bool', 'abs'])}({self.number(depth - 1)})",
            lambda: f"numpy.append({self.array(depth - 1)}, {rng.choice(NUMBERS[:4])})[{rng.choice([0, -1])}]",
            lambda: f"sum([k * {rng.choice(NUMBERS[:4])} for k in range({self.size(depth)})])",
            lambda: f"({self.number(depth - 1)} and {self.number(depth - 1)})",
        ])()

    def array(self, depth=2):
        """An array of a rank that nobody knows, mostly one."""
        rng = self.rng
        own = self.name(rng.choice(["row", "row", "row", "table", "any", "list"]))
        if depth <= 0 or rng.random() < 0.15:
            return f"numpy.array({own})" if own is not None and rng.random() < 0.85 else rng.choice(["numpy.ones(2)", "numpy.arange(3)", "numpy.zeros((1, 2))", "numpy.array([1.5])"])
        return rng.choice([
            lambda: f"numpy.append({self.array(depth - 1)}, {self.number(depth - 1)})",
            lambda: f"numpy.concatenate(({self.row(depth - 1)}, {self.row(depth - 1)}))",
            lambda: f"({self.array(depth - 1)} {rng.choice('+-*')} {self.number(depth - 1)})",
            lambda: f"{self.row(depth - 1)}[{rng.choice(['1:', ':-1', ':2', '::-1', '-2:', ':' + self.size(depth), self.size(depth) + ':'])}]",
            lambda: f"numpy.{rng.choice(['cumsum', 'sort', 'ravel', 'unique', 'atleast_2d', 'atleast_1d', 'squeeze', 'sign'])}({self.array(depth - 1)})",
            lambda: f"numpy.{rng.choice(['zeros', 'ones', 'arange'])}({self.size(depth)})",
            lambda: f"numpy.full({self.size(depth)}, {self.number(depth - 1)})",
            lambda: f"({self.array(depth - 1)} if {self.test(depth - 1)} else {rng.choice([self.array, self.number])(depth - 1)})",
            lambda: f"numpy.where({self.array(depth - 1)} > {self.number(0)}, {self.number(depth - 1)}, {self.number(depth - 1)})",
            lambda: f"numpy.stack([{self.row(depth - 1)}, {self.row(depth - 1)}])" if rng.random() < 0.3 else f"numpy.stack([{(x := self.row(depth - 1))}, {x}])",
            lambda: f"numpy.expand_dims({self.array(depth - 1)}, 0)",
            lambda: f"({x})[{x} > {self.number(0)}]" if (x := self.name("row")) is not None else self.row(depth - 1),
            lambda: f"numpy.array([{self.number(depth - 1)} * k for k in {self.row(depth - 1)}])",
            lambda: f"numpy.array([{self.number(depth - 1)}, {self.number(depth - 1)}])",
            lambda: f"numpy.array({self.array(depth - 1)}, dtype={rng.choice(['int', 'float', 'bool', 'numpy.float32'])})",
        ])()

    def row(self, depth=2):
        rng, own = self.rng, self.name("row")
        if own is not None and rng.random() < 0.5:
            return f"numpy.ravel({own})" if rng.random() < 0.3 else own
        return f"numpy.ravel({self.array(depth - 1)})" if depth > 0 else "numpy.ones(2)"

    def list(self, depth=2):
        rng, own = self.rng, self.name("list")
        if depth <= 0 or rng.random() < 0.2:
            return own or rng.choice(["[]", "[1, 2]", "[0.5]"])
        return rng.choice([
            lambda: f"({self.list(depth - 1)} + [{self.item(depth - 1)}])",
            lambda: f"([{self.item(depth - 1)}] + {self.list(depth - 1)})",
            lambda: f"{self.list(depth - 1)}[{rng.choice(['1:', ':-1', ':3', '-2:', '::-1', ':' + self.size(depth)])}]",
            lambda: f"[{self.item(depth - 1)}, {self.item(depth - 1)}]",
            lambda: f"[k for k in {self.list(depth - 1)} if {self.test(depth - 1)}]",
            lambda: f"[{self.number(depth - 1)} for k in range({self.size(depth)})]",
            lambda: f"({self.list(depth - 1)} if {self.test(depth - 1)} else {self.list(depth - 1)})",
            lambda: f"list({self.row(depth - 1)})",
        ])()

    def item(self, depth):
        return self.rng.choice([self.number, self.number, self.row, self.list, self.array])(depth)

    def make(self, kind, depth=2):
        if kind == "any":
            kind = self.rng.choice(["number", "row", "list", "table"])
        return {"number": self.number, "row": self.row, "list": self.list, "table": self.array}[kind](depth)

    def next(self, name, kind):
        """What a state becomes: kept, made longer, cut where it is long, made anew, of another kind now and then."""
        rng = self.rng
        if kind == "list":
            grown = rng.choice([f"{name} + [{self.item(1)}]", f"{name} + [{self.number(1)}]", f"[{self.item(1)}] + {name}", self.list()])
        elif kind in ("row", "table"):
            grown = rng.choice([f"numpy.append({name}, {self.number(1)})", f"numpy.concatenate(({name}, {self.row(1)}))", f"{name} * 0.5", self.make(kind),
                                f"numpy.concatenate(({name}, {name}[-1:]))", f"numpy.append({self.number(1)}, {name})"])
        else:
            grown = rng.choice([f"{name} + 1", f"0.5 * {name}", self.make(kind), f"{name} - {self.number(1)}"])
        r = rng.random()
        if r < 0.35:
            return f"({grown} if {self.test()} and numpy.size({name}) < 9 else {rng.choice([name, name + '[1:]' if kind not in ('number', 'any') else name, self.make(kind, 1)])})"
        if r < 0.85 or kind in ("any", "number"):
            return f"({grown} if numpy.size({name}) < {rng.choice([2, 4, 6])} else {self.make(kind if r < 0.9 else 'any', 1)})"
        return f"{name} + [{self.number(1)}]" if kind == "list" else f"numpy.append({name}, {self.number(1)})"  # one more in each step


def _node(rng, number, inputs):
    names = [(name, kind) for name, kind in inputs]
    states = [(f"s{number}{k}", rng.choice(KINDS)) for k in range(rng.choice([1, 1, 2, 3]))]
    maker, parameters = Maker(rng, names + states), {}
    for name, kind in states:
        parameters[name] = {"default_initial_value": rng.choice(FIRST[kind]), "value": maker.next(name, kind)}
        if rng.random() < 0.3:
            parameters[name]["conditions"] = {f"c{k}": {"test": maker.test(), "value": maker.make(kind) if kind == "number" else f"{name} * {rng.choice([0.5, 1, 2])}"} for k in range(rng.choice([1, 2]))}
            if rng.random() < 0.3 and kind == "number":
                del parameters[name]["value"]
    for k in range(rng.choice([0, 1, 2])):
        kind = rng.choice(KINDS)
        parameters[f"v{number}{k}"] = {"value": maker.make(kind)}
        maker.names = maker.names + [(f"v{number}{k}", kind)]
    ports = {f"o{number}_{name}": {"value": name} for name in parameters if rng.random() < 0.8}
    ports[f"q{number}"] = {"value": maker.make(rng.choice(KINDS))}
    return {"input_ports": {name: {"default_value": rng.choice(FIRST[kind])} for name, kind in inputs}, "parameters": parameters, "output_ports": ports}, [(port, dict(maker.names).get(what["value"], "any")) for port, what in ports.items()]


def make(seed):
    rng = random.Random(f"changing states {seed}")
    nodes, edges, outputs, given = {}, {}, [], []
    for number in range(rng.choice([1, 1, 1, 2, 3])):
        inputs = [(f"i{number}{k}", rng.choice(["number", "row", "row", "any"])) for k in range(rng.choice([0, 1, 1, 2]))]
        name = f"N{number}"
        nodes[name], made = _node(rng, number, inputs)
        for port, kind in inputs:
            fits = [o for o in outputs if o[2] == kind] or outputs
            if fits and rng.random() < 0.7:
                source = rng.choice(fits)
                edges[f"e{len(edges)}"] = {"sender": source[0], "sender_port": source[1], "receiver": name, "receiver_port": port}
            else:
                given.append((f"{name}.{port}", kind))
        outputs += [(name, port, kind) for port, kind in made]
        own = [o for o in outputs if o[0] == name and o[1].startswith(f"o{number}_s")]  # states, which do not grow without end
        if rng.random() < 0.1 and inputs and own:  # of itself, a step later
            port, source = rng.choice(inputs)[0], rng.choice(own)
            edges[f"e{len(edges)}"] = {"sender": name, "sender_port": source[1], "receiver": name, "receiver_port": port}
            given = [(where, kind) for where, kind in given if where != f"{name}.{port}"]
    graph = {"nodes": nodes, "edges": edges}
    if rng.random() < 0.35:
        graph["conditions"] = conditions.make(rng, nodes)
    phases = [{"steps": rng.choice([1, 1, 2, 3, 5, 8, 12]), "inputs": {name: _value(rng, kind) for name, kind in given if rng.random() < 0.8}} for _ in range(rng.choice([1, 2, 3, 5]))]
    return cases.new({"m": {"format": "ModECI MDF v0.4", "graphs": {"main": graph}}}, phases)


def _value(rng, kind):
    if kind == "number" or kind == "any" and rng.random() < 0.4:
        return rng.choice(NUMBERS)
    if kind == "any" and rng.random() < 0.3:
        return [[float(rng.choice(NUMBERS)) for _ in range(2)] for _ in range(rng.choice([1, 2]))]
    whole = rng.random() < 0.3
    return [rng.randint(-2, 4) if whole else float(rng.choice(NUMBERS)) for _ in range(rng.choice([0, 1, 1, 2, 3, 3, 5]))]
