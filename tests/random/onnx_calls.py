"""Random calls of ONNX operators other than control flow. Each function adds calls to a graph, or nothing where nothing fits."""
import onnx_file
import onnx_layers
import onnx_ml_calls

REALS = ("float32", "float64", "float16", "bfloat16")
COMMON_REALS = ("float32", "float64")
INTEGERS = ("int64", "int32", "int8", "uint8", "int16", "uint64")
UNARY_REALS = ["Relu", "Sigmoid", "Tanh", "Sqrt", "Abs", "Neg", "Floor", "Ceil", "Erf", "Sin", "Cos", "Softplus", "Sign", "Reciprocal", "Log", "Exp", "Atan",
               "Softsign", "Elu", "LeakyRelu", "Selu", "HardSigmoid", "Round", "Identity", "ThresholdedRelu", "IsNaN"]
REDUCTIONS = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"]


def is_tensor(value):
    return "(" not in value.type


def broadcast(a, b):
    """The shape of both together; None where it is not known, False where they do not fit."""
    if a is None or b is None:
        return None
    out = []
    for i in range(1, max(len(a), len(b)) + 1):
        x, y = (a[-i] if i <= len(a) else 1), (b[-i] if i <= len(b) else 1)
        if x != y and 1 not in (x, y):
            return False
        out.append(y if x == 1 else x)
    return out[::-1]


def add(graph):
    for _ in range(8):
        if graph.rng.choice(_KINDS)(graph):
            return


def _unary(g):
    x = g.pick(lambda v: v.type in REALS)
    if x is None:
        return False
    op = g.rng.choice(UNARY_REALS)
    if x.type == "bfloat16" and op not in ("Identity", "Abs", "Neg", "Relu", "Sqrt", "Tanh", "Sigmoid"):
        op = "Identity"
    return g.call(op, [x], [("bool" if op == "IsNaN" else x.type, x.shape)])


def _unary_integer(g):
    x = g.pick(lambda v: v.type in ("int64", "int32", "int8", "int16"))
    return x is not None and g.call(g.rng.choice(["Abs", "Neg", "Sign", "Identity"]), [x], [(x.type, x.shape)])


def _binary(g):
    x = g.pick(lambda v: v.type in REALS + INTEGERS and v.shape is not None)
    if x is None or (g.program.opset < 14 and x.type in ("int8", "uint8", "int16", "bfloat16")):
        return False
    fits = g.pick(lambda v: v.type == x.type and v.shape is not None and broadcast(x.shape, v.shape) not in (None, False))
    y = fits if g.rng.random() < 0.7 else g.constant(x.type, g.rng.choice([x.shape, [], [1]]))
    op = g.rng.choice(["Add", "Sub", "Mul", "Add", "Mul", "Div", "Max", "Min", "Pow", "Mod"])
    if op == "Mod" and x.type in REALS or op in ("Div", "Mod") and x.type in INTEGERS:
        y = g.constant(x.type, [], [g.rng.choice([1, 2, 3])])
        op = "Mul" if op == "Mod" and x.type in REALS else op
    if op in ("Pow", "Max", "Min") and x.type not in ("float32", "float64", "int64"):
        op = "Add"
    if op in ("Pow", "Max", "Min") and x.type == "int64" and g.program.opset < 12:
        op = "Add"
    if op == "Pow":
        y = g.constant(x.type, [], [g.rng.choice([0, 1, 2, 3])])
    pair = [x, y] if g.rng.random() < 0.7 or op in ("Pow", "Div", "Mod") else [y, x]
    return g.call(op, pair, [(x.type, broadcast(x.shape, y.shape))])


def _compare(g):
    x = g.pick(lambda v: v.type in ("float32", "float64", "int64", "int32") and v.shape is not None)
    if x is None:
        return False
    y = g.pick(lambda v: v.type == x.type and broadcast(x.shape, v.shape) not in (None, False)) if g.rng.random() < 0.6 else g.constant(x.type, [])
    ops = ["Less", "Greater", "Equal"] + ["LessOrEqual", "GreaterOrEqual"] * (g.program.opset >= 12)
    return y is not None and g.call(g.rng.choice(ops), [x, y], [("bool", broadcast(x.shape, y.shape))])


def _logic(g):
    x = g.pick(lambda v: v.type == "bool")
    if x is None:
        return False
    if g.rng.random() < 0.3 or x.shape is None:
        return g.call("Not", [x], [("bool", x.shape)])
    y = g.get("bool", g.rng.choice([x.shape, []]))
    return g.call(g.rng.choice(["And", "Or", "Xor"]), [x, y], [("bool", broadcast(x.shape, y.shape))])


def _cast(g):
    x = g.pick(lambda v: is_tensor(v) and v.type != "string")
    if x is None:
        return False
    types = ["float32", "float64", "int64", "int32", "bool", "float16", "float32", "int8" if "float" not in x.type else "float32"]
    to = g.rng.choice(types)
    if "float" in x.type and "int" in to:  # of a number that may be no whole one, or none at all, C and ONNX say nothing
        x = g.call("Clip", [x, g.constant(x.type, [], [-5.0]), g.constant(x.type, [], [5.0])], [(x.type, x.shape)])[0] if x.type in COMMON_REALS else x
        to = "float32" if x.type not in COMMON_REALS else to
    return g.call("Cast", [x], [(to, x.shape)], to=onnx_file.ELEMENTS[to])


def _where(g):
    x = g.pick(lambda v: is_tensor(v) and v.shape is not None and v.type in ("float32", "float64", "int64", "string", "bool", "uint8"))
    if x is None:
        return False
    y = g.get(x.type, x.shape)
    c = g.get("bool", g.rng.choice([x.shape, []]))
    return g.call("Where", [c, x, y], [(x.type, broadcast(x.shape, c.shape))])


def _reduce(g):
    x = g.pick(lambda v: v.type in COMMON_REALS and v.shape is not None and 0 not in v.shape)
    if x is None:
        return False
    op, keep = g.rng.choice(REDUCTIONS), g.rng.choice([0, 1])
    rank = len(x.shape)
    axes = sorted(g.rng.sample(range(rank), g.rng.randint(1, rank))) if rank and g.rng.random() < 0.7 else None
    shape = [1 if axes is None or i in axes else n for i, n in enumerate(x.shape) if keep or not (axes is None or i in axes)]
    as_input = g.program.opset >= 18 or (op == "ReduceSum" and g.program.opset >= 13)
    if axes is not None and as_input:
        return g.call(op, [x, g.constant("int64", [len(axes)], axes)], [(x.type, shape)], keepdims=keep)
    return g.call(op, [x], [(x.type, shape)], keepdims=keep, **({"axes": axes} if axes is not None else {}))


def _product(g):
    x = g.pick(lambda v: v.type in COMMON_REALS and v.shape is not None and len(v.shape) == 2)
    if x is None:
        return False
    n = g.rng.choice([1, 2, 3])
    y = g.get(x.type, [x.shape[1], n])
    if g.rng.random() < 0.5:
        return g.call("MatMul", [x, y], [(x.type, [x.shape[0], n])])
    c = g.get(x.type, g.rng.choice([[], [1], [n], [x.shape[0], n], [1, n]]))
    return g.call("Gemm", [x, y, c] if g.rng.random() < 0.8 else [x, y], [(x.type, [x.shape[0], n])],
                  **({"alpha": 0.5, "beta": 2.0} if g.rng.random() < 0.4 else {}))


def _reshape(g):
    x = g.pick(lambda v: is_tensor(v) and v.shape is not None)
    if x is None:
        return False
    n = 1
    for axis in x.shape:
        n *= axis
    kind = g.rng.randrange(6)
    if kind == 0:
        return g.call("Reshape", [x, g.constant("int64", [1], [n])], [(x.type, [n])])
    if kind == 1 and n:
        return g.call("Reshape", [x, g.constant("int64", [2], [1, -1])], [(x.type, [1, n])])
    if kind == 2:
        order = g.rng.sample(range(len(x.shape)), len(x.shape))
        return g.call("Transpose", [x], [(x.type, [x.shape[i] for i in order])], **({"perm": order} if order else {}))
    if kind == 3:
        shape = [1] + x.shape
        return g.call("Unsqueeze", [x, g.constant("int64", [1], [0])], [(x.type, shape)]) if g.program.opset >= 13 else g.call("Unsqueeze", [x], [(x.type, shape)], axes=[0])
    if kind == 4 and 1 in x.shape:
        i = x.shape.index(1)
        shape = x.shape[:i] + x.shape[i + 1:]
        return g.call("Squeeze", [x, g.constant("int64", [1], [i])], [(x.type, shape)]) if g.program.opset >= 13 else g.call("Squeeze", [x], [(x.type, shape)], axes=[i])
    return g.call("Expand", [x, g.constant("int64", [len(x.shape) + 1], [2] + x.shape)], [(x.type, [2] + x.shape)])


def _concat(g):
    x = g.pick(lambda v: is_tensor(v) and v.shape)
    if x is None:
        return False
    axis = g.rng.randrange(len(x.shape))
    y = g.get(x.type, x.shape)
    parts = [x, y] if g.rng.random() < 0.7 else [x]
    return g.call("Concat", parts, [(x.type, [n * len(parts) if i == axis else n for i, n in enumerate(x.shape)])], axis=axis)


def _slice(g):
    x = g.pick(lambda v: is_tensor(v) and v.shape and v.shape[0] > 0)
    if x is None:
        return False
    n = x.shape[0]
    begin, step = g.rng.randrange(n), g.rng.choice([1, 1, 2])
    end = g.rng.randint(begin, n)
    size = len(range(begin, end, step))
    if g.rng.random() < 0.2:
        begin, end, step, size = n - 1, -n - 1, -1, n
    return g.call("Slice", [x] + [g.constant("int64", [1], [k]) for k in (begin, end, 0, step)], [(x.type, [size] + x.shape[1:])])


def _gather(g):
    x = g.pick(lambda v: is_tensor(v) and v.shape and v.shape[0] > 0)
    if x is None:
        return False
    shape = g.rng.choice([[], [1], [2], [2, 2]])
    n = 1
    for axis in shape:
        n *= axis
    index = g.constant("int64", shape, [g.rng.randrange(-x.shape[0], x.shape[0]) for _ in range(n)])
    return g.call("Gather", [x, index], [(x.type, shape + x.shape[1:])], axis=0)


def _split(g):
    x = g.pick(lambda v: is_tensor(v) and v.shape and v.shape[0] >= 2)
    if x is None:
        return False
    first = g.rng.randrange(0, x.shape[0] + 1)
    sizes = [first, x.shape[0] - first]
    outputs = [(x.type, [n] + x.shape[1:]) for n in sizes]
    if g.program.opset >= 13:
        return g.call("Split", [x, g.constant("int64", [2], sizes)], outputs, axis=0)
    return g.call("Split", [x], outputs, axis=0, split=sizes)


def _along(g):
    x = g.pick(lambda v: v.type in COMMON_REALS and v.shape and 0 not in v.shape)
    if x is None:
        return False
    axis = g.rng.randrange(-1, len(x.shape))
    kind = g.rng.choice(["Softmax", "LogSoftmax", "CumSum", "ArgMax", "ArgMin", "Hardmax"])
    if kind == "CumSum":
        return g.call(kind, [x, g.constant("int64", [], [axis])], [(x.type, x.shape)], exclusive=g.rng.choice([0, 1]), reverse=g.rng.choice([0, 1]))
    if kind.startswith("Arg"):
        at = axis % len(x.shape)
        return g.call(kind, [x], [("int64", x.shape[:at] + [1] + x.shape[at + 1:])], axis=axis, keepdims=1)
    return g.call(kind, [x], [(x.type, x.shape)], axis=axis)


def _shape(g):
    x = g.pick(is_tensor)
    if x is None:
        return False
    if g.rng.random() < 0.5:
        return g.call("Size", [x], [("int64", [])])
    return g.call("Shape", [x], [("int64", [len(x.shape)] if x.shape is not None else None)])


def _clip(g):
    x = g.pick(lambda v: v.type in COMMON_REALS)
    return x is not None and g.call("Clip", [x, g.constant(x.type, [], [-1.0]), g.rng.choice(["", g.constant(x.type, [], [1.5])])], [(x.type, x.shape)])


def _sequence(g):
    r, rng = g.rng.random(), g.rng
    s = g.pick(lambda v: v.type.startswith("seq("))
    if s is None or r < 0.25:
        x = g.pick(lambda v: is_tensor(v) and v.type in ("float32", "int64", "float64", "string", "bool"))
        if x is None:
            return False
        if rng.random() < 0.2:
            return g.call("SequenceEmpty", [], [(f"seq({x.type})", None)], **({"dtype": onnx_file.ELEMENTS[x.type]} if x.type != "float32" or rng.random() < 0.5 else {}))
        return g.call("SequenceConstruct", [x] * rng.choice([1, 1, 2, 3]), [(f"seq({x.type})", None)])
    element = s.type[4:-1]
    if r < 0.5:
        x = g.pick(lambda v: v.type == element)
        x = x if x is not None else g.constant(element, g.program.shape())
        return g.call("SequenceInsert", [s, x] + ([g.constant("int64", [], [rng.choice([0, 0, -1])])] if rng.random() < 0.3 else []), [(s.type, None)])
    if r < 0.65:
        return g.call("SequenceLength", [s], [("int64", [])])
    if r < 0.8:
        return g.call("SequenceAt", [s, g.constant("int64", [], [rng.choice([0, 0, -1, 1])])], [(element, None)])
    if r < 0.87:
        return g.call("SequenceErase", [s] + ([g.constant("int64", [], [0])] if rng.random() < 0.5 else []), [(s.type, None)])
    if r < 0.94:
        return g.call("Identity", [s], [(s.type, None)]) if g.program.opset >= 16 else False
    return g.call("ConcatFromSequence", [s], [(element, None)], axis=0, new_axis=1)


def _split_to_sequence(g):
    x = g.pick(lambda v: v.type in ("float32", "float64", "int64") and v.shape and v.shape[0] > 0)
    return x is not None and g.call("SplitToSequence", [x], [(f"seq({x.type})", None)], axis=0, keepdims=g.rng.choice([0, 1]))


def _optional(g):
    if g.program.opset < 18:
        return False
    o = g.pick(lambda v: v.type.startswith("optional("))
    if o is None:
        x = g.pick(lambda v: is_tensor(v) and v.type in ("float32", "int64", "float64"))
        return x is not None and g.call("Optional", [x], [(f"optional({x.type})", x.shape)])
    if g.rng.random() < 0.5:
        return g.call("OptionalHasElement", [o], [("bool", [])])
    return g.call("OptionalGetElement", [o], [(o.type[9:-1], o.shape)])


def _string(g):
    x = g.pick(lambda v: v.type == "string" and v.shape is not None)
    if x is None:
        x = g.constant("string", g.program.shape())
    if g.program.opset >= 20 and g.rng.random() < 0.6:
        y = g.get("string", g.rng.choice([x.shape, []]))
        return g.call("StringConcat", [x, y], [("string", broadcast(x.shape, y.shape))])
    return g.call("Identity", [x], [("string", x.shape)])


def _pad(g):
    x = g.pick(lambda v: v.type in ("float32", "float64", "int64") and v.shape)
    if x is None:
        return False
    before = [g.rng.choice([0, 1]) for _ in x.shape]
    after = [g.rng.choice([0, 1]) for _ in x.shape]
    shape = [a + n + b for a, n, b in zip(before, x.shape, after)]
    return g.call("Pad", [x, g.constant("int64", [2 * len(shape)], before + after)] + ([g.constant(x.type, [])] if g.rng.random() < 0.5 else []), [(x.type, shape)])


def _tile(g):
    x = g.pick(lambda v: is_tensor(v) and v.shape and v.type not in ("bfloat16", "string"))
    if x is None:
        return False
    times = [g.rng.choice([1, 1, 2, 0]) for _ in x.shape]
    return g.call("Tile", [x, g.constant("int64", [len(times)], times)], [(x.type, [a * n for a, n in zip(times, x.shape)])])


def _top(g):
    x = g.pick(lambda v: v.type in COMMON_REALS and v.shape and v.shape[-1] > 0)
    if x is None:
        return False
    shape = x.shape[:-1] + [1]
    return g.call("TopK", [x, g.constant("int64", [1], [1])], [(x.type, shape), ("int64", shape)], axis=-1, largest=g.rng.choice([0, 1]))


def _normalise(g):
    x = g.pick(lambda v: v.type == "float32" and v.shape and 0 not in v.shape)
    if x is None or g.program.opset < 17:
        return False
    return g.call("LayerNormalization", [x, g.get("float32", [x.shape[-1]])], [("float32", x.shape)], axis=-1)


def _scatter(g):
    x = g.pick(lambda v: v.type in ("float32", "float64", "int64", "string") and v.shape and v.shape[0] > 0)
    if x is None:
        return False
    how = {"reduction": g.rng.choice(["add", "mul"] + ["min", "max"] * (g.program.opset >= 18))} if g.program.opset >= 16 and x.type != "string" and g.rng.random() < 0.4 else {}
    if g.rng.random() < 0.4:
        axis, shape = g.rng.randrange(len(x.shape)), [g.rng.randint(1, n) if n else 0 for n in x.shape]
        most = x.shape[axis]
        shape[axis] = g.rng.choice([1, 2, 3]) if most else 0
        n = 1
        for size in shape:
            n *= size
        index = g.constant("int64", shape, [g.rng.randrange(-most, most) for _ in range(n)])
        return g.call("ScatterElements", [x, index, g.get(x.type, shape)], [(x.type, x.shape)], axis=axis - g.rng.choice([0, len(shape)]), **how)
    n = g.rng.choice([1, 1, 2])
    rows = g.constant("int64", [n, 1], [g.rng.randrange(-x.shape[0], x.shape[0]) for _ in range(n)])
    number = g.pick(lambda v: v.type == "int64" and v.shape == [1, 1]) if n == 1 and g.rng.random() < 0.3 else None
    if number is not None:
        rows = g.call("Mod", [number, g.constant("int64", [], [x.shape[0]])], [("int64", [1, 1])])[0] if g.program.opset >= 10 else rows
    return g.call("ScatterND", [x, rows, g.get(x.type, [n] + x.shape[1:])], [(x.type, x.shape)], **how)


def _narrow(g):
    """To a narrow type and back."""
    x = g.pick(lambda v: v.type == "float32")
    narrow = [17, 18, 19, 20] * (g.program.opset >= 19) + [22, 21] * (g.program.opset >= 21)
    if x is None or not narrow:
        return False
    to = g.rng.choice(narrow)
    name = next(n for n, number in onnx_file.ELEMENTS.items() if number == to)
    if to in (21, 22):
        x = g.call("Clip", [x, g.constant("float32", [], [0.0]), g.constant("float32", [], [5.0])], [("float32", x.shape)])[0]
    y = g.call("Cast", [x], [(name, x.shape)], to=to)[0]
    return g.call("Cast", [y], [("float32", x.shape)], to=1)


def _nonzero(g):
    x = g.pick(lambda v: v.type in ("float32", "int64", "bool") and v.shape)
    return x is not None and g.call("NonZero", [x], [("int64", None)])


def _range(g):
    if g.program.opset < 11:
        return False
    type = g.rng.choice(["float32", "float64", "int64", "int32"])
    n, start, delta = g.rng.randrange(5), g.rng.randint(-3, 3), g.rng.choice([1, 2, -1, -3])
    return g.call("Range", [g.constant(type, [], [k]) for k in (start, start + n * delta, delta)], [(type, [n])])


def _eye(g):
    x = g.pick(lambda v: v.type in ("float32", "float64", "int64", "int32") and v.shape is not None and len(v.shape) == 2)
    return x is not None and g.call("EyeLike", [x], [(x.type, x.shape)], k=g.rng.choice([-1, 0, 1]))


def _suppress(g):
    if g.program.opset < 11:
        return False
    n, classes = g.rng.choice([1, 3, 6]), g.rng.choice([1, 2])
    bounds = [g.constant("int64", [1], [g.rng.choice([1, 2, 9])]), g.constant("float32", [1], [g.rng.choice([0.0, 0.2, 0.5])]), g.constant("float32", [1], [g.rng.choice([-9.0, 0.0])])]
    return g.call("NonMaxSuppression", [g.get("float32", [1, n, 4]), g.get("float32", [1, classes, n])] + bounds[:g.rng.choice([1, 2, 3])], [("int64", None)],
                  center_point_box=g.rng.choice([0, 1]))


_KINDS = [_range, _eye, _suppress] + [onnx_ml_calls.add, onnx_layers.add] * 2 + [_pad, _tile, _top, _normalise, _scatter, _narrow, _nonzero] + [_unary] * 4 + [_binary] * 6 + [_compare] * 2 + [_cast] * 2 + [_reshape] * 2 + [_reduce] * 2 + [_sequence] * 2 + [
    _unary_integer, _logic, _where, _product, _concat, _slice, _gather, _split, _along, _shape, _clip, _split_to_sequence, _optional, _string]
