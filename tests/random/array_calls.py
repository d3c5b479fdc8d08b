"""Random calls that take arrays along any of their axes, of ranks up to five: moves, scatters, products, reductions, with axes counted from either end. Each function adds calls to
a graph; what its type, shape or opset does not allow raises ``onnx_grammar.Missing``, and nothing is added."""
import math

import onnx_calls
import onnx_file
import onnx_grammar

REALS = ("float32", "float64")
SUMMED = REALS + ("int64", "int32")
WHOLE = ("int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64")
TYPES = REALS + ("float16", ) + WHOLE
UNARY = ("Abs Neg Floor Ceil Round Sqrt Exp Log Tanh Sigmoid Relu Sign Reciprocal Erf Sin Cos Softplus Softsign Elu LeakyRelu HardSigmoid Selu ThresholdedRelu IsNaN IsInf Atan Sinh "
         "Shrink").split()
REDUCTIONS = "ReduceSum ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum ReduceLogSumExp".split()
WHOLE_REDUCTIONS = ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare", "ReduceL1"]


def _need(condition):
    if not condition:
        raise onnx_grammar.Missing


def _take(g, fits=lambda v: True, full=True):
    """A value with axes that fits; ``full``: none of them is 0."""
    x = g.pick(lambda v: v.shape and (0 not in v.shape or not full) and fits(v))
    _need(x is not None)
    return x, g.rng.randrange(len(x.shape))


def _ints(g, data):
    return g.constant("int64", [len(data)], list(data))


def _either_end(g, axis, rank):
    return axis - g.rng.choice([0, rank])


def _like(g, x):
    """An array that broadcasts with x."""
    y = g.pick(lambda v: v.type == x.type and v is not x and onnx_calls.broadcast(x.shape, v.shape) not in (None, False))
    if y is not None and g.rng.random() < 0.7:
        return y
    return g.constant(x.type, [n if g.rng.random() < 0.6 else 1 for n in x.shape][g.rng.choice([0, 0, 0, 1]):])


def _both(g, op, x, y, type=None, **attributes):
    return g.call(op, [x, y], [(type or x.type, onnx_calls.broadcast(x.shape, y.shape))], **attributes)


def _binary(g):
    x = g.pick(lambda v: v.type in TYPES and v.shape is not None)
    _need(x is not None and (g.program.opset >= 14 or x.type in SUMMED + ("float16", "uint32", "uint64")))
    y = _like(g, x)
    ops = ["Add", "Sub", "Mul"] * 2 + ["Max", "Min", "Div", "Pow", "Mod", "PRelu"] * (x.type in REALS)
    ops += ["Div", "Mod", "Mod", "Pow"] * (x.type in ("int64", "int32")) + ["BitShift"] * (x.type in ("uint8", "uint32", "uint64"))
    ops += ["BitwiseAnd", "BitwiseOr", "BitwiseXor"] * (x.type in WHOLE and g.program.opset >= 18)
    op = g.rng.choice(ops)
    if op == "Pow":
        y = g.constant(g.rng.choice(SUMMED if x.type in REALS else (x.type, "float32")), g.rng.choice([[], y.shape]))
        y = g.call("Abs", [y], [(y.type, y.shape)])[0] if x.type not in REALS else y
    elif op == "PRelu":
        return _both(g, op, x, g.constant(x.type, [n if g.rng.random() < 0.5 else 1 for n in x.shape]))
    elif op == "BitShift":
        return _both(g, op, x, y, direction=g.rng.choice(["LEFT", "RIGHT"]))
    elif op in ("Div", "Mod") and x.type not in REALS:
        y = g.constant(x.type, y.shape, [g.rng.choice([1, 2, 3, -2, 7, -1]) for _ in range(onnx_grammar.length(y.shape))])
    if op == "Mod":
        return _both(g, op, x, y, fmod=1 if x.type in REALS else g.rng.choice([0, 1]))
    return _both(g, op, *([x, y] if op in ("Div", "Pow") or g.rng.random() < 0.5 else [y, x]), type=x.type)


def _unary(g):
    x = g.pick(lambda v: v.type in REALS + ("float16", "int32", "int64", "int8"))
    _need(x is not None)
    op = g.rng.choice(UNARY if x.type in REALS else ["Abs", "Neg", "Relu", "Sqrt", "Tanh"] if x.type == "float16" else ["Abs", "Neg", "Sign"])
    return g.call(op, [x], [("bool" if op.startswith("Is") else x.type, x.shape)])


def _compare(g):
    x = g.pick(lambda v: v.type in SUMMED and v.shape is not None)
    _need(x is not None)
    return _both(g, g.rng.choice(["Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"]), x, _like(g, x), "bool")


def _where(g):
    c = g.pick(lambda v: v.type == "bool") or _compare(g)[0]
    x = g.pick(lambda v: v.type != "bool" and onnx_calls.broadcast(v.shape, c.shape) not in (None, False))
    _need(x is not None)
    y = _like(g, x)
    shape = onnx_calls.broadcast(onnx_calls.broadcast(x.shape, c.shape), y.shape)
    _need(shape is not False)
    return g.call("Where", [c, x, y], [(x.type, shape)])


def _cast(g):
    x = g.pick(lambda v: True)
    to = g.rng.choice(TYPES + REALS * 2 + ("bool", ))
    if "float" in x.type and to in WHOLE:  # of what is no whole number that fits, C and ONNX say nothing
        _need(x.type in REALS)
        x = g.call("Clip", [x, g.constant(x.type, [], [0.0 if to[0] == "u" else -9.0]), g.constant(x.type, [], [9.0])], [(x.type, x.shape)])[0]
        x = g.call("Where", [g.call("IsNaN", [x], [("bool", x.shape)])[0], g.constant(x.type, [], [1.0]), x], [(x.type, x.shape)])[0]
    return g.call("Cast", [x], [(to, x.shape)], to=onnx_file.ELEMENTS[to])


def _transpose(g):
    x, _ = _take(g, full=False)
    perm = g.rng.sample(range(len(x.shape)), len(x.shape))
    return g.call("Transpose", [x], [(x.type, [x.shape[p] for p in perm])], perm=perm)


def _reshape(g):
    x, _ = _take(g)
    rest, shape = onnx_grammar.length(x.shape), []
    while rest > 1 and len(shape) < 4:
        shape.append(g.rng.choice([n for n in range(2, rest + 1) if rest % n == 0]))
        rest //= shape[-1]
    shape += [rest] * (rest > 1) + [1] * (g.rng.random() < 0.3)
    g.rng.shuffle(shape)
    given = list(shape)
    if given and g.rng.random() < 0.3:
        given[g.rng.randrange(len(given))] = -1
    return g.call("Reshape", [x, _ints(g, given)], [(x.type, shape)])


def _ends(g, n):
    """(start, end, step, length) of a slice of an axis of n: counted from either end, past both, backward; rarely of nothing."""
    step = g.rng.choice([1, 1, 1, 2, 3, -1, -2, 5])
    start, end = g.rng.choice([0, g.rng.randint(-n - 1, n + 1), n, -1]), g.rng.choice([n, g.rng.randint(-n - 1, n + 1)] + ([2**31, 2**63 - 1] if step > 0 else [-2**31, -2**63]))
    length = len(range(*slice(start, None if abs(end) > 2**40 else end, step).indices(n)))
    return (start, end, step, length) if length or g.rng.random() < 0.05 else (0, n, 1, n)


def _slice(g):
    x, _ = _take(g, full=False)
    axes = g.rng.sample(range(len(x.shape)), g.rng.randint(1, len(x.shape)))
    parts, shape = [_ends(g, x.shape[axis]) for axis in axes], list(x.shape)
    for axis, (*_, length) in zip(axes, parts):
        shape[axis] = length
    starts, ends, steps, _ = zip(*parts)
    return g.call("Slice", [x, _ints(g, starts), _ints(g, ends), _ints(g, [_either_end(g, a, len(shape)) for a in axes]), _ints(g, steps)], [(x.type, shape)])


def _places(g, n, shape, type="int64"):
    return g.constant(type, shape, [g.rng.randrange(-n, n) for _ in range(onnx_grammar.length(shape))])


def _gather(g):
    x, axis = _take(g)
    shape = g.program.shape()[:g.rng.choice([0, 1, 1, 2])]
    if g.numbers and g.rng.random() < 0.3:
        index, shape = g.call("Mod", [g.rng.choice(g.numbers), g.constant("int64", [], [x.shape[axis]])], [("int64", [])])[0], []
    else:
        index = _places(g, x.shape[axis], shape, g.rng.choice(["int64", "int32"]))
    return g.call("Gather", [x, index], [(x.type, x.shape[:axis] + shape + x.shape[axis + 1:])], axis=_either_end(g, axis, len(x.shape)))


def _gather_elements(g):
    x, axis = _take(g)
    shape = [g.rng.choice(g.program.sizes) if k == axis else g.rng.randint(1, n) for k, n in enumerate(x.shape)]
    _need(onnx_grammar.length(shape) < 3000)
    return g.call("GatherElements", [x, _places(g, x.shape[axis], shape)], [(x.type, shape)], axis=axis)


def _gather_nd(g):
    x, _ = _take(g)
    batch = g.rng.choice([0, 0, 0, 1]) if len(x.shape) > 1 else 0
    k = g.rng.randint(1, len(x.shape) - batch)
    shape = x.shape[:batch] + g.program.shape()[:g.rng.choice([0, 1, 2])]
    _need(onnx_grammar.length(shape) * k < 3000)
    data = [g.rng.randrange(-x.shape[batch + j], x.shape[batch + j]) for _ in range(onnx_grammar.length(shape)) for j in range(k)]
    return g.call("GatherND", [x, g.constant("int64", shape + [k], data)], [(x.type, shape + x.shape[batch + k:])], batch_dims=batch)


def _reduction(g, x):
    """How what is put meets what is there; {}: it takes its place."""
    if g.rng.random() < 0.5 or g.program.opset < 16 or x.type not in SUMMED:
        return {}
    return {"reduction": g.rng.choice(["add", "mul"] + ["min", "max"] * (g.program.opset >= 18))}


def _scatter_elements(g):
    x, axis = _take(g, lambda v: v.type != "bool")
    how, shape, n = _reduction(g, x), [g.rng.randint(1, n) for n in x.shape], x.shape[axis]
    rows = {}  # by the other axes: places that are not taken yet, where each may be taken once
    data = []
    for k in range(onnx_grammar.length(shape)):
        inner = math.prod(shape[axis + 1:])
        row = rows.setdefault((k // (inner * shape[axis]), k % inner), g.rng.sample(range(n), n))
        data.append((g.rng.randrange(n) if how else row.pop()) - g.rng.choice([0, 0, n]))
    put = g.pick(lambda v: v.type == x.type and v.shape == shape) or g.constant(x.type, shape)
    return g.call("ScatterElements", [x, g.constant("int64", shape, data), put], [(x.type, x.shape)], axis=axis, **how)


def _scatter_nd(g):
    x, _ = _take(g, lambda v: v.type != "bool")
    how, k = _reduction(g, x), g.rng.randint(1, len(x.shape))
    total = math.prod(x.shape[:k])
    n = g.rng.randint(1, min(total, 20))
    data = []
    for place in [g.rng.randrange(total) for _ in range(n)] if how else g.rng.sample(range(total), n):
        digits = []
        for size in x.shape[:k][::-1]:
            digits.insert(0, place % size - g.rng.choice([0, 0, size]))
            place //= size
        data += digits
    shape = [n] + x.shape[k:]
    put = g.pick(lambda v: v.type == x.type and v.shape == shape) or g.constant(x.type, shape)
    return g.call("ScatterND", [x, g.constant("int64", [n, k], data), put], [(x.type, x.shape)], **how)


def _concat(g):
    x, axis = _take(g, full=False)
    parts = [x]
    for _ in range(g.rng.choice([1, 1, 2])):
        y = g.pick(lambda v: v.type == x.type and v.shape is not None and len(v.shape) == len(x.shape) and v.shape[:axis] == x.shape[:axis] and v.shape[axis + 1:] == x.shape[axis + 1:])
        if y is None or g.rng.random() < 0.3:
            y = g.constant(x.type, x.shape[:axis] + [g.rng.choice([1, 2, 3])] + x.shape[axis + 1:])
        parts.insert(g.rng.randrange(len(parts) + 1), y)
    shape = x.shape[:axis] + [sum(v.shape[axis] for v in parts)] + x.shape[axis + 1:]
    return g.call("Concat", parts, [(x.type, shape)], axis=_either_end(g, axis, len(shape)))


def _split(g):
    x, axis = _take(g)
    n = x.shape[axis]
    cuts = [0] + sorted(g.rng.sample(range(1, n), min(n - 1, g.rng.choice([1, 1, 2])))) + [n]
    sizes = [b - a for a, b in zip(cuts, cuts[1:])]
    return g.call("Split", [x, _ints(g, sizes)], [(x.type, x.shape[:axis] + [size] + x.shape[axis + 1:]) for size in sizes], axis=axis)


def _pad(g):
    x, _ = _take(g, lambda v: v.type in SUMMED)
    mode = g.rng.choice(["constant", "constant", "edge", "reflect"])
    amounts = {"constant": [0, 0, 1, 2, -1], "edge": [0, 0, 1, 2], "reflect": [0, 0, 1]}[mode]
    before, after = ([g.rng.choice(amounts) if n > 2 else abs(g.rng.choice(amounts)) if mode != "reflect" else 0 for n in x.shape] for _ in range(2))
    shape = [b + n + a for b, n, a in zip(before, x.shape, after)]
    return g.call("Pad", [x, _ints(g, before + after)] + [g.constant(x.type, [])] * (mode == "constant" and g.rng.random() < 0.6), [(x.type, shape)], mode=mode)


def _reduce(g):
    x, _ = _take(g, lambda v: v.type in SUMMED, full=g.program.opset < 18)
    op, keep, rank = g.rng.choice(REDUCTIONS if x.type in REALS else WHOLE_REDUCTIONS), g.rng.choice([0, 1]), len(x.shape)
    op = "ReduceSum" if 0 in x.shape else op
    axes = g.rng.sample(range(rank), g.rng.randint(1, rank))
    shape = [1 if k in axes else n for k, n in enumerate(x.shape) if keep or k not in axes]
    axes = [_either_end(g, axis, rank) for axis in axes]
    if g.program.opset >= 18 or op == "ReduceSum":
        return g.call(op, [x, _ints(g, axes)], [(x.type, shape)], keepdims=keep)
    return g.call(op, [x], [(x.type, shape)], keepdims=keep, axes=axes)


def _einsum_letters(g, x):
    """Letters of x's axes, now and then of a diagonal; the lengths that they stand for."""
    letters = list("abcdefgh"[:len(x.shape)])
    if g.rng.random() < 0.15:
        letters = [letters[x.shape.index(n)] for n in x.shape]
    return letters, dict(zip(letters, x.shape))


def _einsum(g):
    x, _ = _take(g, lambda v: v.type in REALS and len(v.shape) <= 4)
    letters, sizes = _einsum_letters(g, x)
    inputs, equation = [x], "".join(letters)
    if g.rng.random() < 0.7:
        other = g.rng.sample(sorted(sizes), g.rng.randint(0, len(sizes)))
        if g.rng.random() < 0.7:
            sizes["z"] = g.rng.choice([2, 3, 5, 8, 17])
            other.insert(g.rng.randrange(len(other) + 1), "z")
        shape = [sizes[c] for c in other]
        inputs.append(g.pick(lambda v: v.type == x.type and v.shape == shape) or g.constant(x.type, shape))
        equation += "," + "".join(other)
    _need(math.prod(sizes.values()) < 200000)
    left = [c for c in sizes if g.rng.random() < 0.6]
    g.rng.shuffle(left)
    return g.call("Einsum", inputs, [(x.type, [sizes[c] for c in left])], equation=equation + "->" + "".join(left))


def _matmul(g):
    x, _ = _take(g, lambda v: v.type in REALS)
    n, rank = x.shape[-1], g.rng.choice([1, 2, 2, 3, 4])
    batch = [m if g.rng.random() < 0.5 else 1 for m in x.shape[:-2]][-(rank - 2):] if rank > 2 else []
    y = g.pick(lambda v: v.type == x.type and v.shape and v.shape[-2:][0] == n and onnx_calls.broadcast(x.shape[:-2], v.shape[:-2]) not in (None, False))
    if y is None or g.rng.random() < 0.5:
        y = g.constant(x.type, [n] if rank == 1 else batch + [n, g.rng.choice(g.program.sizes)])
    shape = onnx_calls.broadcast(x.shape[:-2], y.shape[:-2]) + x.shape[-2:-1] + (y.shape[-1:] if len(y.shape) > 1 else [])
    _need(onnx_grammar.length(shape) * n < 400000)
    return g.call("MatMul", [x, y], [(x.type, shape)])


def _place(g):
    x, axis = _take(g, lambda v: v.type in SUMMED)
    keep = g.rng.choice([0, 1])
    shape = x.shape[:axis] + [1] * keep + x.shape[axis + 1:]
    return g.call(g.rng.choice(["ArgMax", "ArgMin"]), [x], [("int64", shape)], axis=_either_end(g, axis, len(x.shape)), keepdims=keep, select_last_index=g.rng.choice([0, 1]))


def _running_sum(g):
    x, axis = _take(g, lambda v: v.type in SUMMED, full=False)
    given = g.constant(g.rng.choice(["int64", "int32"]), [], [_either_end(g, axis, len(x.shape))])
    return g.call("CumSum", [x, given], [(x.type, x.shape)], exclusive=g.rng.choice([0, 1]), reverse=g.rng.choice([0, 1]))


def _top(g):
    x, axis = _take(g, lambda v: v.type in SUMMED)
    n = g.rng.randint(1, x.shape[axis])
    shape = x.shape[:axis] + [n] + x.shape[axis + 1:]
    return g.call("TopK", [x, _ints(g, [n])], [(x.type, shape), ("int64", shape)], axis=axis, largest=g.rng.choice([0, 1]), sorted=1)


def _softmax(g):
    x, axis = _take(g, lambda v: v.type in REALS)
    return g.call(g.rng.choice(["Softmax", "LogSoftmax", "Hardmax"]), [x], [(x.type, x.shape)], axis=_either_end(g, axis, len(x.shape)))


def _axes_of_one(g):
    x = g.pick(lambda v: v.shape is not None and len(v.shape) < 5)
    _need(x is not None)
    ones = [k for k, n in enumerate(x.shape) if n == 1]
    if ones and g.rng.random() < 0.4:
        gone = g.rng.sample(ones, g.rng.randint(1, len(ones)))
        return g.call("Squeeze", [x, _ints(g, gone)], [(x.type, [n for k, n in enumerate(x.shape) if k not in gone])])
    axis = g.rng.randint(0, len(x.shape))
    return g.call("Unsqueeze", [x, _ints(g, [axis])], [(x.type, x.shape[:axis] + [1] + x.shape[axis:])])


def _expand(g):
    x = g.pick(lambda v: v.shape is not None and len(v.shape) < 5)
    _need(x is not None)
    shape = [g.rng.choice(g.program.sizes) if n == 1 and g.rng.random() < 0.6 else n for n in x.shape]
    shape = [g.rng.choice([1, 2, 3])] * (g.rng.random() < 0.4) + shape
    given = [1 if len(shape) == len(x.shape) and n == x.shape[k] and g.rng.random() < 0.2 else n for k, n in enumerate(shape)]
    return g.call("Expand", [x, _ints(g, given)], [(x.type, shape)])


def _tile(g):
    x, _ = _take(g, full=False)
    times = [g.rng.choice([1, 1, 2, 3]) for _ in x.shape]
    return g.call("Tile", [x, _ints(g, times)], [(x.type, [a * b for a, b in zip(times, x.shape)])])


def _triangle(g):
    x, _ = _take(g, lambda v: len(v.shape) >= 2, full=False)
    _need(g.program.opset >= 14)
    return g.call("Trilu", [x, g.constant("int64", [], [g.rng.randint(-3, 3)])], [(x.type, x.shape)], upper=g.rng.choice([0, 1]))


def _one_hot(g):
    x, _ = _take(g, lambda v: v.type == "int64" and len(v.shape) < 4, full=False)
    depth, axis, type = g.rng.choice([1, 2, 3, 5, 8]), g.rng.randint(0, len(x.shape)), g.rng.choice(["float32", "int64", "float64"])
    return g.call("OneHot", [x, g.constant("int64", [], [depth]), g.constant(type, [2])], [(type, x.shape[:axis] + [depth] + x.shape[axis:])], axis=_either_end(g, axis, len(x.shape) + 1))


def _less_mean(g):
    x, axis = _take(g, lambda v: v.type in REALS)
    given = [_ints(g, [axis])] if g.program.opset >= 18 else []
    mean, = g.call("ReduceMean", [x] + given, [(x.type, [1 if k == axis else n for k, n in enumerate(x.shape)])], keepdims=1, **({} if given else {"axes": [axis]}))
    return g.call("Sub", [x, mean], [(x.type, x.shape)])


def _reverse(g):
    x, _ = _take(g, lambda v: len(v.shape) >= 2 and v.type in SUMMED)
    batch = g.rng.choice([0, 1])
    lengths = [g.rng.randint(1, x.shape[1 - batch]) for _ in range(x.shape[batch])]
    return g.call("ReverseSequence", [x, _ints(g, lengths)], [(x.type, x.shape)], batch_axis=batch, time_axis=1 - batch)


def _blocks(g):
    x, _ = _take(g, lambda v: len(v.shape) == 4 and v.type in REALS)
    n, c, h, w = x.shape
    if c % 4 == 0:
        return g.call("DepthToSpace", [x], [(x.type, [n, c // 4, h * 2, w * 2])], blocksize=2, mode=g.rng.choice(["DCR", "CRD"]))
    _need(h % 2 == w % 2 == 0)
    return g.call("SpaceToDepth", [x], [(x.type, [n, c * 4, h // 2, w // 2])], blocksize=2)


KINDS = [_binary] * 9 + [_unary, _reduce] * 4 + [_matmul, _transpose, _slice] * 3 + [_cast, _reshape, _where, _concat, _einsum, _running_sum, _axes_of_one, _expand, _gather, _less_mean] * 2 + [
    _split, _pad, _place, _top, _softmax, _gather_elements, _gather_nd, _scatter_elements, _scatter_nd, _tile, _triangle, _one_hot, _compare, _reverse, _blocks]
