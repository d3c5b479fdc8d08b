"""Random ONNX programs: typed dataflow with Loop, Scan and If nested in each other. ``make(seed)`` gives one case (case.py)."""
import random

import onnx_calls
import onnx_control
import onnx_file

TYPES = ["float32"] * 8 + ["float64"] * 3 + ["int64"] * 4 + ["int32", "bool", "bool", "string", "float16", "uint8", "int8", "bfloat16", "uint64", "int16"]


# What opset 8 does not have, or not in the form in which it is written here. It has a Scan of its own.
AFTER_8 = set("ArgMax ArgMin BitShift CastLike Celu Clip ConcatFromSequence CumSum Dropout Einsum Erf EyeLike GatherElements GatherND GreaterOrEqual HardSwish IsInf IsNaN "
              "LessOrEqual Mish Mod NonZero OneHot Optional OptionalGetElement OptionalHasElement Pad Range Round ScatterElements ScatterND SequenceAt SequenceConstruct SequenceEmpty "
              "SequenceErase SequenceInsert SequenceLength Shrink Sign Sin Sinh Slice SplitToSequence StringConcat StringNormalizer ThresholdedRelu TopK Trilu Unique Where".split())


class Missing(Exception):
    """The opset does not have an operator."""


class Value:
    """A name with its type, and its shape where that is known."""

    def __init__(self, name, type, shape, most=None):
        self.name, self.type, self.shape = name, type, shape
        self.most = most  # of lengths of sequences


def numbers(rng, type, n):
    """Elements of that type as they stand in a case."""
    if type == "string":
        return [rng.choice(["a", "b", "", "xyz", "é", "a b"]) for _ in range(n)]
    if type == "bool":
        return [rng.random() < 0.5 for _ in range(n)]
    if type.startswith("complex"):
        return [[round(rng.uniform(-2, 2), 2), round(rng.uniform(-2, 2), 2)] for _ in range(n)]
    if "float" in type:
        return [rng.choice([0.0, 1.0, -1.0, 0.5, 2.0, round(rng.uniform(-3, 3), 2), round(rng.uniform(-3, 3), 3)]) for _ in range(n)]
    low = 0 if type.startswith("u") else -4
    return [rng.randint(low, 6) for _ in range(n)]


def lengths(rng, n, most):
    """Of sequences in a batch; now and then one that none can have."""
    return [rng.choice([most, most, 0, rng.randint(0, most)]) if rng.random() < 0.98 else rng.choice([-1, most + 1]) for _ in range(n)]


def length(shape):
    n = 1
    for axis in shape:
        n *= axis
    return n


class Graph:
    """A graph in the making: its calls, and the values that may be used here. ``outer``: the graph around it."""

    def __init__(self, program, outer=None):
        self.program, self.rng, self.outer = program, program.rng, outer
        self.nodes, self.initializers, self.values = [], [], []
        self.depth = outer.depth + 1 if outer is not None else 0

    def visible(self):
        return self.values + (self.outer.visible() if self.outer is not None else [])

    def fresh(self):
        self.program.n_names += 1
        return f"v{self.program.n_names}"

    def call(self, op, inputs, outputs, **attributes):
        """Adds a call; ``outputs``: (type, shape) each. The values that it gives."""
        if self.program.opset < 9 and (op in AFTER_8 or "bfloat16" in [type for type, _ in outputs]):
            raise Missing(op)
        made = [Value(self.fresh(), type, shape) for type, shape in outputs]
        node = {"op": op, "inputs": [x.name if isinstance(x, Value) else x for x in inputs], "outputs": [v.name for v in made]}
        if attributes:
            node["attributes"] = attributes
        self.nodes.append(node)
        self.values += made
        return made

    def constant(self, type, shape, data=None):
        if onnx_file.ELEMENTS[type] > 16:  # narrow types have no elements in a case: they are cast from float32
            wide = self.constant("float32", shape, [abs(x) for x in numbers(self.rng, "float32", length(shape))])
            return self.call("Cast", [wide], [(type, list(shape))], to=onnx_file.ELEMENTS[type])[0]
        data = numbers(self.rng, type, length(shape)) if data is None else data
        tensor = {"type": type, "shape": list(shape), "data": data}
        if type != "bfloat16" and self.rng.random() < 0.3:
            return self.call("Constant", [], [(type, list(shape))], value={"tensor": tensor})[0]
        value = Value(self.fresh(), type, list(shape))
        self.initializers.append({"name": value.name, **tensor})
        self.values.append(value)
        return value

    def pick(self, fits):
        """A visible value that fits, rather a late one of this graph; None where there is none."""
        own = [v for v in self.values[-8:] if fits(v)]
        if own and self.rng.random() < 0.7:
            return self.rng.choice(own)
        every = [v for v in self.visible() if fits(v)]
        return self.rng.choice(every) if every else None

    def get(self, type, shape):
        """A value of that type and shape, a constant where there is none."""
        found = self.pick(lambda v: v.type == type and v.shape == shape)
        return found if found is not None and self.rng.random() < 0.9 else self.constant(type, shape)

    def attempt(self, add):
        """Adds calls by a function; where the opset does not have one of them, none."""
        lists = (self.nodes, self.initializers, self.values)
        lengths = [len(each) for each in lists]
        try:
            return add(self)
        except Missing:
            for each, n in zip(lists, lengths):
                del each[n:]
            return None

    def grow(self, n_calls):
        for _ in range(n_calls):
            r = self.rng.random()
            self.attempt(onnx_control.add if self.depth < 3 and r < 0.12 + 0.08 * (self.depth == 0) else onnx_calls.add)


class Program:
    def __init__(self, rng):
        self.rng, self.n_names = rng, 0
        self.opset = rng.choice([8, 11, 13, 13, 15, 16, 17, 18, 19, 21, 22])
        self.width = rng.choice([1, 2, 2, 3])

    def shape(self):
        return self.rng.choice([[], [], [1], [self.width], [self.width], [2, self.width], [1, self.width], [self.width, 1], [2, 2, self.width], [0]] + [[0, 2]] * (self.rng.random() < 0.3))


def make(seed):
    rng = random.Random(f"onnx {seed}")
    program = Program(rng)
    graph = Graph(program)
    inputs = []
    for _ in range(rng.choice([0, 1, 1, 2, 2, 3])):
        value = Value(graph.fresh(), rng.choice(TYPES), program.shape())
        inputs.append(value)
        graph.values.append(value)
    if program.opset < 9:
        inputs += [Value(graph.fresh(), "int64", [batch], most) for batch in (1, 2, 3) for most in (1, 2, 3) if rng.random() < 0.4]
        graph.values += [v for v in inputs if v.most]
    if not inputs:
        graph.constant("float32", program.shape())
    graph.grow(rng.choice([1, 2, 3, 4, 6, 9]))
    made = {name for node in graph.nodes for name in node["outputs"]}
    own = [v for v in graph.values if v.name in made]
    outputs = [v for v in own if rng.random() < 0.5][-6:] or own[-1:] or graph.values[-1:]
    if inputs and rng.random() < 0.03:
        outputs.append(inputs[0])
    model = {"opset": program.opset, "inputs": [declared(v) for v in inputs], "outputs": [declared(v) for v in {v.name: v for v in outputs}.values()],
             "initializers": graph.initializers, "nodes": graph.nodes}
    phases = [{"steps": rng.choice([1, 2, 3, 4]), "inputs": {v.name: given(rng, v) for v in inputs}} for _ in range(rng.choice([1, 1, 2, 3]))]
    _add_defaults(random.Random(f"defaults {seed}"), model, phases)
    return {"format": "onnx", "model": model, "phases": phases, "dt": None}


def _add_defaults(rng, model, phases):
    """Now and then initializers are inputs too, used or not: the values that these have where none are given."""
    if rng.random() > 0.2:
        return
    shown = [Value(x["name"], x["type"], x["shape"]) for x in model["initializers"] if x["type"] in ("float32", "float64", "bool", "string") and rng.random() < 0.6]
    at = rng.randint(0, len(model["inputs"]))
    model["inputs"][at:at] = [declared(v) for v in shown]
    for phase in phases:
        for x in model["initializers"]:  # other values may be none that their operators allow
            if x["name"] in [v.name for v in shown] and rng.random() < 0.4:
                phase["inputs"][x["name"]] = {"type": x["type"], "shape": x["shape"], "data": rng.sample(x["data"], len(x["data"]))}


def declared(value):
    shape = value.shape
    return {"name": value.name, "type": value.type, "shape": shape}


def given(rng, value):
    if value.most is not None:
        return {"type": value.type, "shape": value.shape, "data": lengths(rng, length(value.shape), value.most)}
    return {"type": value.type, "shape": value.shape, "data": numbers(rng, value.type, length(value.shape))}
