"""Random calls of ONNX operators, for tests/calls/sweep_operators.py --random: shapes that broadcast, axes from either end, sizes of 0 and 1, rank 0,
NaN, infinities, the ends of integer types."""
import numpy as np

REALS = ["float", "double", "float16", "bfloat16"]
WHOLE = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
ODD = [0.0, -0.0, 1.0, -1.0, float("nan"), float("inf"), float("-inf"), 1e-30, 6e4]


class Source:
    def __init__(self, seed, numpy_types):
        self.random, self.types = np.random.default_rng(seed), numpy_types

    def pick(self, items):
        return items[int(self.random.integers(len(items)))]

    def shape(self, rank=None, least=0):
        """Sizes of 0 are rare; small sizes, and some that fill a vector and more."""
        rank = self.pick([0, 1, 1, 2, 2, 3, 4]) if rank is None else rank
        return tuple(max(least, int(self.pick([0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 17, 33]))) if self.random.random() < 0.95 else least for _ in range(rank))

    def like(self, shape):
        """A shape that broadcasts with this one: axes left out in front, others of size 1."""
        cut = shape[int(self.random.integers(len(shape) + 1)) :]
        return tuple(1 if self.random.random() < 0.3 else n for n in cut)

    def array(self, name, shape, odd=0.1, low=-4, high=4):
        """Numbers in the type's range; some at its ends."""
        target = self.types[name]
        if name == "bool":
            return self.random.integers(0, 2, shape).astype(np.bool_)
        if name in WHOLE:
            info = np.iinfo(target)
            a = self.random.integers(max(low, info.min), high + 1, shape).astype(target)
            ends = self.random.choice(np.array([info.min, info.max, 0, 1], dtype=target), shape)
        else:
            a = self.random.uniform(low, high, shape).astype(np.float32).astype(target)
            ends = self.random.choice(np.array(ODD, dtype=np.float32), shape).astype(target)
        return np.where(self.random.random(shape) < odd, ends, a).astype(target)

    def axis(self, rank):
        return int(self.random.integers(-rank, rank))


UNARY = ["Abs", "Neg", "Floor", "Ceil", "Round", "Sign", "Sqrt", "Exp", "Log", "Sin", "Cos", "Tanh", "Sigmoid", "Reciprocal", "Relu", "Softplus", "Softsign", "IsNaN", "IsInf", "Erf",
         "Elu", "Selu", "LeakyRelu", "HardSigmoid", "HardSwish", "Gelu", "Mish", "Atan", "Asinh", "Identity", "BitwiseNot", "Not", "Celu", "ThresholdedRelu", "Shrink"]  # fmt: skip
BINARY = ["Add", "Sub", "Mul", "Div", "Pow", "Mod", "Max", "Min", "Mean", "Sum", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor", "BitwiseAnd",
          "BitwiseOr", "BitwiseXor", "PRelu"]  # fmt: skip
REDUCE = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"]


def unary(s, allowed):
    op = s.pick(UNARY)
    return op, [s.array(s.pick(allowed(op)), s.shape())], {}


def binary(s, allowed):
    op, shape = s.pick(BINARY), s.shape()
    name, other = s.pick(allowed(op)), s.like(shape)
    shapes = (shape, other) if op == "PRelu" or s.random.random() < 0.5 else (other, shape)
    whole = name in WHOLE
    a = s.array(name, shapes[0], 0.1 if not (whole and op in ("Pow", "Div", "Mod")) else 0)
    b = s.array(name, shapes[1], 0.1 if not (whole and op in ("Pow", "Div", "Mod")) else 0, low=0 if op == "Pow" and whole else -4)
    if whole and op in ("Div", "Mod"):  # by zero is not defined, nor is the least by -1
        b = np.where(b == 0, np.ones_like(b), b)
    return op, [a, b], {"fmod": 1} if op == "Mod" and not whole else {}


def reduce(s, allowed):
    op, shape = s.pick(REDUCE), s.shape(least=1)
    rank = len(shape)
    axes = sorted({s.axis(rank) % rank for _ in range(int(s.random.integers(1, 3)))}) if rank else []
    axes = [a - rank if s.random.random() < 0.5 else a for a in axes]
    inputs = [s.array(s.pick(allowed(op)), shape, 0.02)] + ([np.array(axes, np.int64)] if axes and s.random.random() < 0.8 else [])
    return op, inputs, {"keepdims": int(s.random.integers(2))}


def along_axis(s, allowed):
    op = s.pick(["Softmax", "LogSoftmax", "Hardmax", "ArgMax", "ArgMin", "CumSum", "LpNormalization"])
    shape = s.shape(int(s.random.integers(1, 5)), 1)
    name, axis = s.pick(allowed(op)), s.axis(len(shape))
    # zeros alone have no norm
    array = s.array(name, shape, 0.05 if op in ("ArgMax", "ArgMin", "Hardmax") and name in WHOLE else 0, low=1 if op == "LpNormalization" else -4)
    if op == "CumSum":
        return op, [array, np.array(axis, np.int64)], {"exclusive": int(s.random.integers(2)), "reverse": int(s.random.integers(2))}
    return op, [array], {"axis": axis, **({"keepdims": int(s.random.integers(2))} if op.startswith("Arg") else {})}


def product(s, allowed):
    m, n, k = (int(s.pick([1, 2, 3, 5, 8, 17, 33])) for _ in range(3))
    name = s.pick(allowed("MatMul"))
    if s.random.random() < 0.3:
        op, ta, tb = "Gemm", int(s.random.integers(2)), int(s.random.integers(2))
        name = s.pick(allowed(op))
        inputs = [s.array(name, (k, m) if ta else (m, k), 0), s.array(name, (n, k) if tb else (k, n), 0)]
        inputs += [s.array(name, s.like((m, n)), 0)] if s.random.random() < 0.7 else []
        return op, inputs, {"transA": ta, "transB": tb}
    batch = s.shape(int(s.random.integers(0, 3)), 1)
    a = (k,) if s.random.random() < 0.15 else s.like(batch) + (m, k)
    b = (k,) if s.random.random() < 0.15 else batch + (k, n)
    return "MatMul", [s.array(name, a, 0), s.array(name, b, 0)], {}


def pick_elements(s, allowed):
    op = s.pick(["Gather", "GatherElements", "GatherND", "ScatterElements", "Compress", "Slice", "TopK", "OneHot"])
    rank = int(s.random.integers(1, 4))
    shape, axis = s.shape(rank, 1), s.axis(rank)
    name, size = s.pick(allowed(op)), s.shape(rank, 1)
    data = s.array(name, shape, 0.1 if name != "string" else 0)

    def indices(n, of):
        return s.random.integers(-n, n, of).astype(np.int64)

    if op == "Gather":
        return op, [data, indices(shape[axis], s.shape(int(s.random.integers(0, 3))))], {"axis": axis}
    if op in ("GatherElements", "ScatterElements"):
        of = tuple(min(a, b) if i != axis % rank else b for i, (a, b) in enumerate(zip(shape, size)))
        if op == "ScatterElements":  # each place once: the order of several is not stated
            of = tuple(min(a, b) for a, b in zip(shape, size))
            lines = np.argsort(s.random.random(tuple(shape[i] if i == axis % rank else n for i, n in enumerate(of))), axis=axis)
            at = np.take(lines, range(of[axis]), axis=axis).astype(np.int64)
            return op, [data, at, s.array(name, of)], {"axis": axis}
        return op, [data, indices(shape[axis], of)], {"axis": axis}
    if op == "GatherND":
        depth = int(s.random.integers(1, rank + 1))
        at = np.stack([indices(shape[i], (3,)) for i in range(depth)], -1)
        return op, [data, at], {}
    if op == "Compress":
        return op, [data, s.random.integers(0, 2, shape[axis]).astype(np.bool_)], {"axis": axis}
    if op == "TopK":
        k = int(s.random.integers(0, shape[axis] + 1))
        return op, [s.array(name, shape, 0), np.array([k], np.int64)], {"axis": axis, "largest": int(s.random.integers(2))}
    if op == "OneHot":
        depth = int(s.random.integers(1, 6))
        return op, [indices(depth, shape), np.array(depth, np.int64), s.array(name, (2,), 0)], {"axis": s.axis(rank + 1)}
    starts, ends = (s.random.integers(-n - 2, n + 3) for n in (shape[axis], shape[axis]))
    step = int(s.pick([1, 2, -1, -3]))
    return op, [data, *(np.array([v], np.int64) for v in (starts, ends, axis, step))], {}


def arrange(s, allowed):
    op = s.pick(["Transpose", "Concat", "Tile", "Pad", "Expand", "Where", "Trilu", "Clip", "Unsqueeze", "Flatten", "Split", "ReverseSequence"])
    rank = int(s.random.integers(1, 4))
    shape, axis, name = s.shape(rank), s.axis(rank), s.pick(allowed(op))
    data = s.array(name, shape)
    if op == "Transpose":
        return op, [data], {"perm": s.random.permutation(rank).tolist()}
    if op == "Concat":
        parts = [tuple(int(s.random.integers(0, 5)) if i == axis % rank else n for i, n in enumerate(shape)) for _ in range(3)]
        return op, [s.array(name, p) for p in parts], {"axis": axis}
    if op == "Tile":
        return op, [data, s.random.integers(0, 4, rank).astype(np.int64)], {}
    if op == "Pad":
        data = s.array(name, s.shape(rank, 4))
        return op, [data, s.random.integers(0, 3, 2 * rank).astype(np.int64)], {"mode": s.pick(["constant", "edge", "reflect", "wrap"])}
    if op == "Expand":
        return op, [s.array(name, s.like(shape)), np.array(shape, np.int64)], {}
    if op == "Where":
        return op, [s.array("bool", s.like(shape)), data, s.array(name, s.like(shape))], {}
    if op == "Trilu":
        return op, [s.array(name, s.shape(2 + rank % 2)), np.array(s.axis(6), np.int64)], {"upper": int(s.random.integers(2))}
    if op == "Clip":
        low = s.array(name, (), 0)
        return op, [data, low, (low + np.ones_like(low)).astype(low.dtype)], {}
    if op == "Unsqueeze":
        return op, [data, np.array([s.axis(rank + 1)], np.int64)], {}
    if op == "Flatten":
        return op, [data], {"axis": axis}
    if op == "Split":
        sizes = s.random.integers(0, 4, 3)
        data = s.array(name, tuple(int(sizes.sum()) if i == axis % rank else n for i, n in enumerate(shape)))
        return op, [data, sizes.astype(np.int64)], {"axis": axis}
    data = s.array(name, s.shape(3, 1))
    return op, [data, s.random.integers(1, data.shape[0] + 1, data.shape[1]).astype(np.int64)], {}


def windows(s, allowed):
    """For ONNX Runtime, which has them in float32 alone: the fast forms for large and small sizes."""
    op = s.pick(["Conv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool"])
    rank = int(s.random.integers(1, 4))
    kernel = [int(s.random.integers(1, 4)) for _ in range(rank)]
    strides, dilations = ([int(s.random.integers(1, 3)) for _ in range(rank)] for _ in range(2))
    group, per = int(s.pick([1, 1, 2, 3])), int(s.random.integers(1, 4))
    sizes = [int(s.random.integers((k - 1) * d + 1, 12)) for k, d in zip(kernel, dilations)]
    pads = [int(s.random.integers(0, k)) for k in kernel + kernel]
    x = s.array("float", (int(s.random.integers(1, 3)), group * per, *sizes), 0)
    attributes = {"strides": strides, "pads": pads, "dilations": dilations}
    if op.startswith("Conv"):
        out = int(s.random.integers(1, 5))
        w = s.array("float", (group * out, per, *kernel) if op == "Conv" else (group * per, out, *kernel), 0)
        return op, [x, w] + ([s.array("float", (group * out,), 0)] if s.random.random() < 0.5 else []), {**attributes, "group": group}
    return op, [x], {**attributes, "kernel_shape": kernel, **({"count_include_pad": int(s.random.integers(2))} if op == "AveragePool" else {})}


FAMILIES = [unary, binary, binary, reduce, along_axis, product, pick_elements, arrange, arrange, windows]
