"""Random calls at the edges, for tests/calls/sweep_operators.py --random N --family edge: empty arrays, rank 0, ends of integer types, infinities and NaN, negative axes,
older versions, small types, strings, and operators that random_calls.py leaves out."""
import numpy as np

WHOLE = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
WORDS = ["", "a", "B b", "Straße", "日本", "ÀÉ", "a,b,,c", "  x  y ", "naïve", "7", "tHe"]
ODD = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, float("nan"), float("inf"), float("-inf"), 1e-38, -1e-45, 3e38, 88.0, -104.0, 1e4, 65504.0]


def odd(s, name, shape):
    """Numbers that few think of."""
    target = s.types[name]
    if name == "bool":
        return s.random.integers(0, 2, shape).astype(np.bool_)
    if name in WHOLE:
        info = np.iinfo(target)
        return s.random.choice(np.array([info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, info.max // 2], dtype=target), shape)
    return s.random.choice(np.array(ODD, np.float32), shape).astype(np.float32).astype(target)


def sized(s, rank, empty=0.2):
    """Sizes, now and then one of 0."""
    sizes = [int(s.random.integers(1, 5)) for _ in range(rank)]
    if rank and s.random.random() < empty:
        sizes[int(s.random.integers(rank))] = 0
    return tuple(sizes)


def words(s, shape):
    return np.array([s.pick(WORDS) for _ in range(int(np.prod(shape)))], dtype=object).reshape(shape)


def anything(s, shape, names=("float", "double", "float16", "bfloat16", "bool", "string", "complex64", *WHOLE)):
    name = s.pick(list(names))
    if name == "string":
        return words(s, shape)
    if name == "complex64":
        return (s.random.normal(size=shape) + 1j * s.random.normal(size=shape)).astype(np.complex64)
    return odd(s, name, shape)


def whole(s, allowed):
    op = s.pick(["Add", "Sub", "Mul", "Div", "Mod", "BitShift", "BitwiseAnd", "BitwiseXor", "BitwiseNot", "Abs", "Neg", "Sign", "Max", "Min", "Pow", "CumSum", "ReduceSum", "ReduceProd",
                 "ReduceSumSquare", "ReduceL1", "ReduceMean", "Clip", "MatMul", "Less", "Relu", "Equal", "GreaterOrEqual"])
    name = s.pick([n for n in allowed(op) if n in WHOLE] or ["int32"])
    shape = sized(s, int(s.random.integers(0, 4)))
    a, b = odd(s, name, shape), odd(s, name, s.like(shape))
    if op in ("BitwiseNot", "Abs", "Neg", "Sign", "Relu"):
        return op, [a], {}
    if op == "BitShift":
        a, b = a.astype(s.types[name := s.pick(WHOLE[4:])]), s.random.integers(0, np.iinfo(s.types[name]).bits, shape).astype(s.types[name])
        return op, [a, b], {"direction": s.pick(["LEFT", "RIGHT"])}
    if op in ("Div", "Mod"):
        b = np.where(b == 0, 1, b).astype(b.dtype)
        if name.startswith("int"):
            a = np.where(a == np.iinfo(a.dtype).min, 5, a).astype(a.dtype)
        return op, [a, b], {"fmod": int(s.random.integers(2))} if op == "Mod" else {}
    if op == "Pow":
        return op, [s.array(name, shape, 0, -3, 4), s.array(name, s.like(shape), 0, 0, 4)], {}
    if op == "CumSum":
        shape = sized(s, int(s.random.integers(1, 4)), 0)
        return op, [odd(s, s.pick(["int32", "int64"]), shape), np.array(s.axis(len(shape)), s.pick([np.int32, np.int64]))], {"reverse": int(s.random.integers(2)), "exclusive": int(s.random.integers(2))}
    if op.startswith("Reduce"):
        shape = sized(s, int(s.random.integers(1, 4)), 0 if op == "ReduceMean" else 0.2)
        axes = [np.array([s.axis(len(shape))], np.int64)] if s.random.random() < 0.7 else []
        if op == "ReduceMean":  # of large numbers: the sum may wrap, or not
            return op, [s.array(name, shape, 0), *axes], {"keepdims": int(s.random.integers(2))}
        return op, [odd(s, name, shape), *axes], {"keepdims": int(s.random.integers(2)), "noop_with_empty_axes": int(s.random.integers(2))}
    if op == "Clip":
        ends = [odd(s, name, ()) if s.random.random() < 0.7 else None for _ in range(2)]
        return op, [a, *(ends if ends[1] is not None else ends[:1] if ends[0] is not None else [])], {}
    if op == "MatMul":
        m, n, k = (int(s.random.integers(0 if s.random.random() < 0.2 else 1, 5)) for _ in range(3))
        return op, [odd(s, name, (m, k)), odd(s, name, (k, n))], {}
    return op, [a, b], {}


def reals(s, allowed):
    op = s.pick(["Abs", "Ceil", "Floor", "Round", "Sqrt", "Exp", "Log", "Sin", "Tanh", "Sigmoid", "Relu", "Softplus", "Softsign", "Elu", "Selu", "Celu", "Gelu", "Mish", "HardSwish", "HardSigmoid", "Erf", "Sign",
                 "Reciprocal", "IsNaN", "IsInf", "Shrink", "ThresholdedRelu", "LeakyRelu", "Acos", "Acosh", "Asin", "Atanh", "Cosh", "Sinh", "Max", "Min", "Mod", "Pow", "Add", "Div", "Equal", "Less",
                 "Greater", "Where", "Clip", "Softmax", "LogSoftmax", "ArgMax", "ArgMin", "ReduceMax", "ReduceMin", "ReduceSum", "ReduceLogSumExp", "ReduceL2", "CumSum", "TopK", "Not", "Hardmax", "LpNormalization", "Swish"])
    name = s.pick([n for n in allowed(op) if n in ("float", "float", "double", "float16")] or ["float"])
    shape = sized(s, int(s.random.integers(0, 4)))
    a, b = odd(s, name, shape), odd(s, name, s.like(shape))
    if op == "Not":
        return op, [odd(s, "bool", shape)], {}
    if op == "Where":
        return op, [odd(s, "bool", s.like(shape)), a, b], {}
    if op in ("Max", "Min", "Mod", "Pow", "Add", "Div", "Equal", "Less", "Greater"):
        return op, [a, b], {"fmod": 1} if op == "Mod" else {}
    if op == "Clip":
        return op, [a, np.array(-1, a.dtype), np.array(s.pick([2, -3]), a.dtype)], {}
    if op in ("Softmax", "LogSoftmax", "ArgMax", "ArgMin", "Hardmax", "LpNormalization", "TopK", "CumSum"):
        a = odd(s, name, sized(s, int(s.random.integers(1, 4)), 0))
        axis = s.axis(a.ndim)
        if op == "CumSum":
            return op, [a, np.array(axis, np.int64)], {}
        if op == "TopK":
            a = np.where(np.isnan(a), 0, a).astype(a.dtype)
            return op, [a, np.array([int(s.random.integers(0, a.shape[axis] + 1))], np.int64)], {"axis": axis, "largest": int(s.random.integers(2))}
        return op, [np.where(np.isnan(a), 1, a).astype(a.dtype) if op[:3] in ("Arg", "Har") else a], {"axis": axis, **({"select_last_index": int(s.random.integers(2))} if op[:3] == "Arg" else {})}
    if op.startswith("Reduce"):
        a = odd(s, name, sized(s, int(s.random.integers(1, 4)), 0.1))
        return op, [a, *([np.array([s.axis(a.ndim)], np.int64)] if s.random.random() < 0.7 else [])], {"keepdims": int(s.random.integers(2))}
    if op == "IsInf":
        return op, [a], {"detect_negative": int(s.random.integers(2)), "detect_positive": int(s.random.integers(2))}
    if op == "Gelu":
        return op, [a], {"approximate": s.pick(["none", "tanh"])}
    return op, [a], {}


def shapes(s, allowed):
    """Shapes and places: operators of any type, in the versions whose form differs."""
    op = s.pick(["Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose", "Expand", "Tile", "Concat", "Split", "Slice", "Pad", "Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "Compress",
                 "Trilu", "Unique", "NonZero", "OneHot", "EyeLike", "Shape", "Size", "CenterCropPad", "ReverseSequence", "ConstantOfShape", "Range", "Identity", "DepthToSpace"])
    rank = int(s.random.integers(1, 4))
    shape = sized(s, rank)
    x, axis = anything(s, shape), s.axis(rank)
    at = axis % rank
    if op == "Reshape":
        n = int(np.prod(shape))
        target = s.pick([[-1], list(shape[::-1]), [0, -1] if rank > 1 and n else [n], [1, -1, 1]])
        if n == 0:
            target = s.pick([list(shape), [0, 3], [5, 0]])
        return op, [x, np.array(target, np.int64)], {"allowzero": 1} if n == 0 else {}, {"version": s.pick([14, 19])}
    if op in ("Squeeze", "Unsqueeze"):
        axes = sorted(s.random.permutation(rank + 1)[: int(s.random.integers(1, 3))].tolist())
        negative = s.random.random() < 0.4
        if op == "Squeeze":
            x = anything(s, tuple(1 if i in axes else 3 for i in range(rank + 1)))
        n_out = rank + 1 if op == "Squeeze" else rank + len(axes)
        axes = [a - n_out if negative else a for a in axes]
        version = s.pick([11, 13, 21]) if negative else s.pick([1, 11, 13, 21])
        if version < 13:
            return op, [x if x.dtype.name != "bfloat16" else x.astype(np.float32)], {"axes": axes}, {"version": version}
        return op, [x, np.array(axes, np.int64)] if op == "Unsqueeze" or s.random.random() < 0.8 else [x], {}, {"version": version}
    if op == "Flatten":
        return op, [x], {"axis": s.pick([axis, rank])}
    if op == "Transpose":
        return op, [x], {"perm": s.random.permutation(rank).tolist()} if s.random.random() < 0.7 else {}
    if op == "Expand":
        return op, [anything(s, s.like(shape)), np.array(shape, np.int64)], {}
    if op == "Tile":
        return op, [x, s.random.integers(0, 3, rank).astype(np.int64)], {}
    if op == "Concat":
        return op, [x, x, x[..., :0] if at == rank - 1 else x], {"axis": axis}
    if op == "Split":
        version, parts = s.pick([2, 11, 13, 18]), int(s.random.integers(1, 4))
        n = int(s.random.integers(parts, 9)) if version == 18 else parts * int(s.random.integers(1, 4))
        x = odd(s, "float", tuple(n if i == at else k for i, k in enumerate(shape)))
        cuts = np.sort(s.random.integers(0, n + 1, parts - 1))
        sizes = np.diff(np.concatenate([[0], cuts, [n]])).astype(np.int64)
        by_sizes = s.random.random() < 0.5
        if version == 18 and not by_sizes and -(-n // parts) * (parts - 1) > n:
            by_sizes = True
        if version < 13:
            return op, [x], {"axis": at if version == 2 else axis, **({"split": sizes.tolist()} if by_sizes else {})}, {"version": version, "outputs": parts}
        return op, [x, sizes] if by_sizes else [x], {"axis": axis, **({"num_outputs": parts} if version == 18 and not by_sizes else {})}, {"version": version, "outputs": parts}
    if op == "Slice":
        of = s.random.permutation(rank)[: int(s.random.integers(1, rank + 1))]
        big = s.pick([10, 2**31 - 1, 2**63 - 1])
        starts, ends = ([int(s.pick([-big, big, *range(-4, 5)])) for _ in of] for _ in range(2))
        if s.random.random() < 0.2:
            x = x.astype(np.float32) if x.dtype.kind not in "OVc" else odd(s, "float", shape)
            return op, [x], {"starts": starts, "ends": ends, "axes": of.tolist()}, {"version": 1}
        kind = np.int64 if big > 2**31 else s.pick([np.int32, np.int64])
        steps = [int(s.pick([1, 2, -1, -2, big, -big])) for _ in of]
        axes = [int(a) - rank if s.random.random() < 0.4 else int(a) for a in of]
        return op, [x, *(np.array(v, kind) for v in (starts, ends, axes, steps))], {}, {"version": s.pick([11, 13]) if x.dtype.name != "bfloat16" else 13}
    if op == "Pad":
        mode = s.pick(["constant", "edge", "reflect", "wrap"])
        x = anything(s, tuple(k + 2 for k in shape) if mode != "constant" else shape, ("float", "double", "int32", "uint8", "bool", "string"))
        pads = s.random.integers(-2 if mode == "constant" else 0, 3, (2, rank))
        if mode == "constant":
            pads = np.where(pads.sum(0) + np.array(x.shape) < 0, 0, pads)  # more may be removed from one side than there is
        version = s.pick([2, 11, 13, 18, 19]) if x.dtype == np.float32 and mode != "wrap" else s.pick([19, 21])
        if version == 2:
            return op, [x], {"pads": pads.ravel().tolist(), "mode": mode, "value": 1.5}, {"version": 2}
        value = anything(s, (), (["float", "double"][x.dtype == np.float64],)) if x.dtype.kind == "f" else words(s, ()) if x.dtype.kind == "O" else np.array(1, x.dtype)
        more = [value] if s.random.random() < 0.5 and mode == "constant" else []
        if version >= 18 and s.random.random() < 0.4:
            of = s.random.permutation(rank)[: int(s.random.integers(1, rank + 1))]
            axes = np.array([int(a) - rank if s.random.random() < 0.4 else int(a) for a in of], s.pick([np.int32, np.int64]))
            return op, [x, pads[:, of].ravel().astype(np.int64), *(more or [None]), axes], {"mode": mode}, {"version": version}
        return op, [x, pads.ravel().astype(np.int64), *more], {"mode": mode}, {"version": version}
    if op in ("Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "Compress", "OneHot", "Unique", "NonZero"):
        return picks(s, op, rank)
    if op == "Trilu":
        return op, [anything(s, sized(s, int(s.random.integers(2, 4))), ("float", "double", "int64", "bool", "uint8")), *([np.array(int(s.pick([0, 1, -1, 5, -5, 2**62, -(2**62)])), np.int64)] if s.random.random() < 0.7 else [])], {"upper": int(s.random.integers(2))}
    if op == "EyeLike":
        return op, [odd(s, s.pick(["float", "int32", "bool"]), sized(s, 2))], {"k": int(s.random.integers(-3, 4)), **({"dtype": int(s.pick([1, 7, 11]))} if s.random.random() < 0.5 else {})}
    if op == "Shape":
        return op, [x], {"start": int(s.random.integers(-4, 5)), "end": int(s.random.integers(-4, 5))}
    if op == "CenterCropPad":
        x = anything(s, shape, ("float", "int64", "uint8"))
        return op, [x, np.array([int(s.random.integers(1, 7)) for _ in shape], np.int64)], {}
    if op == "ReverseSequence":
        x = anything(s, sized(s, 3, 0), ("float", "int64", "string", "bool"))
        time = int(s.random.integers(2))
        return op, [x, s.random.integers(1, x.shape[time] + 1, x.shape[1 - time]).astype(np.int64)], {"time_axis": time, "batch_axis": 1 - time}
    if op == "ConstantOfShape":
        return op, [np.array(shape if s.random.random() < 0.8 else [], np.int64)], {"value": anything(s, (1,), ("float", "double", "int64", "bool", "uint8", "float16"))} if s.random.random() < 0.8 else {}
    if op == "Range":
        name = s.pick(["float", "double", "int16", "int32", "int64"])
        return op, [np.array(v, s.types[name]) for v in (s.random.integers(-9, 9), s.random.integers(-9, 9), s.pick([1, 2, -1, -3]))], {}
    if op == "DepthToSpace":
        return op, [anything(s, (1, 8, 2, 3), ("float", "string", "int8", "bool", "complex64"))], {"blocksize": 2, "mode": s.pick(["DCR", "CRD"])}
    return op, [x], {}


def picks(s, op, rank):
    shape = sized(s, rank, 0)
    x, axis = anything(s, shape), s.axis(rank)
    n, kind = shape[axis], s.pick([np.int32, np.int64])

    def places(n, of):
        return s.random.integers(-n, n, of).astype(kind)

    if op == "Gather":
        return op, [x, places(n, sized(s, int(s.random.integers(0, 3))))], {"axis": axis}
    if op == "GatherElements":
        of = tuple(int(s.random.integers(0, 5)) if i == axis % rank else int(s.random.integers(1, k + 1)) for i, k in enumerate(shape))
        return op, [x, places(n, of)], {"axis": axis}
    if op in ("GatherND", "ScatterND"):
        batch = int(s.random.integers(0, rank)) if op == "GatherND" else 0
        depth = int(s.random.integers(1, rank - batch + 1))
        lead = shape[:batch] + sized(s, int(s.random.integers(0, 3)))
        at = np.stack([s.random.integers(-shape[batch + i], shape[batch + i], lead) for i in range(depth)], -1).astype(np.int64)
        if op == "GatherND":
            return op, [x, at], {"batch_dims": batch}
        reduction = s.pick(["none", "add", "mul", "max", "min"])
        x = s.array(s.pick(["float", "int32", "double"]), shape, 0)
        at = np.unique(np.where(at < 0, at + np.array(shape[:depth]), at).reshape(-1, depth), axis=0) if reduction == "none" else at
        updates = s.array("float", at.shape[:-1] + shape[depth:], 0).astype(x.dtype)
        return op, [x, at, updates], {"reduction": reduction}, {"version": 18}
    if op == "ScatterElements":
        x = s.array(s.pick(["float", "int32", "uint8", "float16"]), shape, 0)
        of = tuple(int(s.random.integers(1, k + 1)) for k in shape)
        reduction = s.pick(["add", "mul", "max", "min"])
        return op, [x, places(n, of), s.array("float", of, 0, 0, 3).astype(x.dtype)], {"axis": axis, "reduction": reduction}, {"version": 18}
    if op == "Compress":
        if s.random.random() < 0.5:
            return op, [x, s.random.integers(0, 2, int(s.random.integers(0, n + 1))).astype(np.bool_)], {"axis": axis}
        return op, [x, s.random.integers(0, 2, int(s.random.integers(0, x.size + 1))).astype(np.bool_)], {}
    if op == "OneHot":
        depth = int(s.random.integers(1, 5))
        indices = s.random.integers(-depth - 2, depth + 2, sized(s, int(s.random.integers(0, 3)))).astype(s.pick([np.int64, np.int32, np.float32]))
        return op, [indices, np.array(depth, s.pick([np.int64, np.float32])), anything(s, (2,), ("float", "int64", "string", "bool"))], {"axis": s.axis(indices.ndim + 1)}
    if op == "Unique":
        x = s.pick([s.array("float", shape, 0, 0, 3).round(), s.array("int64", shape, 0, 0, 3), words(s, shape)])
        return op, [x], {"sorted": int(s.random.integers(2)), **({"axis": axis} if s.random.random() < 0.5 else {})}, {"outputs": 4}
    return op, [anything(s, sized(s, int(s.random.integers(0, 4))), ("float", "int64", "bool", "uint8", "string"))], {}


def texts(s, allowed):
    op = s.pick(["StringConcat", "StringSplit", "StringNormalizer", "RegexFullMatch", "Equal", "Cast", "LabelEncoder", "TfIdfVectorizer", "Unique", "Expand"])
    shape = sized(s, int(s.random.integers(0, 3)))
    x = words(s, shape)
    if op == "StringConcat":
        return op, [x, words(s, s.like(shape))], {}
    if op == "StringSplit":
        attributes = {"delimiter": s.pick([",", " ", "", "b", ",,"])} if s.random.random() < 0.7 else {}
        return op, [x], {**attributes, **({"maxsplit": int(s.random.integers(1, 3))} if s.random.random() < 0.5 else {})}, {"outputs": 2}
    if op == "StringNormalizer":
        x = words(s, s.pick([(4,), (1, 4), (1,)]))
        return op, [x], {"case_change_action": s.pick(["LOWER", "UPPER", "NONE"]), "is_case_sensitive": int(s.random.integers(2)), **({"stopwords": [s.pick(WORDS), s.pick(WORDS)]} if s.random.random() < 0.7 else {})}
    if op == "RegexFullMatch":
        return op, [x], {"pattern": s.pick([".*", "a", r"\w+", r"[A-Z].*", r"\d+", "(a|b)*", r".*ß.*", r"^\s*x.*$", r"\p{Han}+", ""])}
    if op == "Equal":
        return op, [x, words(s, s.like(shape))], {}
    if op == "Cast":
        if s.random.random() < 0.5:
            return op, [np.array([s.pick(["1", "-2", "3.5", "1e3", "inf", "-INF", "nan", "NaN", "0", "1.17e-38", "16777217"]) for _ in range(5)], dtype=object)], {"to": int(s.pick([1, 11, 10]))}
        return op, [s.array(s.pick(["int8", "int64", "uint8", "bool"]), (5,), 0.3)], {"to": 8}
    if op == "TfIdfVectorizer":
        low = int(s.random.integers(1, 3))
        pool = [1, 2, 3, 4, 2, 3, 1, 2]
        attributes = {"mode": s.pick(["TF", "IDF", "TFIDF"]), "min_gram_length": low, "max_gram_length": 2, "max_skip_count": int(s.random.integers(0, 3)), "ngram_counts": [0, 4], "ngram_indexes": [0, 1, 2, 3, 4, 5],
                      "pool_int64s": pool, **({"weights": [0.5, 1.5, 2.0, 1.0, 3.0, 0.1]} if s.random.random() < 0.5 else {})}
        return op, [s.random.integers(1, 5, s.pick([(6,), (2, 5), (1,)])).astype(s.pick([np.int32, np.int64]))], attributes
    if op == "Unique":
        return op, [words(s, (6,))], {"sorted": int(s.random.integers(2))}, {"outputs": 4}
    return "Expand", [words(s, s.like(shape)), np.array(shape, np.int64)], {}


def quantised(s, allowed):
    op = s.pick(["QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "QLinearMatMul", "DequantizeLinear", "QuantizeLinear"])
    if op == "DynamicQuantizeLinear":
        return op, [s.array("float", sized(s, int(s.random.integers(1, 4)), 0), 0)], {}, {"outputs": 3}
    narrow = s.pick(["int8", "uint8", "int16", "uint16", "int4", "uint4", "float8e4m3fn", "float8e5m2", "float8e4m3fnuz", "float8e5m2fnuz", "float4e2m1", "int2", "uint2"])
    target = s.types[narrow]
    if op in ("QuantizeLinear", "DequantizeLinear"):
        rank = int(s.random.integers(1, 4))
        shape, axis = sized(s, rank, 0), s.axis(rank)
        block = 0
        of = s.pick([(), (shape[axis],)])
        if s.random.random() < 0.3:
            block = int(s.random.integers(1, 3))
            shape = tuple(k * block if i == axis % rank else k for i, k in enumerate(shape))
            of = tuple(k // block if i == axis % rank else k for i, k in enumerate(shape))
        scale = s.random.uniform(0.05, 2, of).astype(np.float32)
        is_float = narrow.startswith("float")
        zero = (np.zeros(of) if is_float else s.random.integers(0 if narrow[0] == "u" else -2, 2, of)).astype(np.float32).astype(target)
        attributes = {"axis": axis, **({"block_size": block} if block else {})}
        version = 25 if narrow in ("int2", "uint2") else s.pick([23, 25])
        if op == "QuantizeLinear":
            x = s.random.uniform(-9, 9, shape).astype(np.float32)
            return op, [x, scale, zero], {**attributes, **({"saturate": int(s.random.integers(2))} if narrow.startswith("float8") else {})}, {"version": version}
        x = s.random.uniform(-3 if narrow[0] != "u" else 0, 3, shape).astype(np.float32).astype(np.int8 if not is_float else np.float32).astype(target)
        return op, [x, scale, zero] if s.random.random() < 0.8 else [x, scale], attributes, {"version": version}
    m, n, k = (int(s.random.integers(1, 5)) for _ in range(3))
    batch = s.pick([(), (2,)])
    a = s.random.integers(0, 256, batch + (m, k)).astype(np.uint8)
    b = s.random.integers(-128, 128, (k, n)).astype(np.int8)
    if op == "MatMulInteger":
        zeros = [np.array(int(s.random.integers(0, 255)), np.uint8), s.random.integers(-9, 9, (n,) if s.random.random() < 0.5 else ()).astype(np.int8)]
        return op, [a, b, *zeros[: int(s.random.integers(0, 3))]], {}
    b_of = (n,) if s.random.random() < 0.5 else ()
    f = [np.array(v, np.float32) for v in (0.02, s.random.uniform(0.01, 0.1, b_of), 0.3)]
    return op, [a, f[0], np.array(100, np.uint8), b, f[1], s.random.integers(-3, 3, b_of).astype(np.int8), f[2], np.array(120, np.uint8)], {}, {"version": s.pick([10, 21])}


def signals(s, allowed):
    op = s.pick(["DFT", "DFT", "STFT", "HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix", "Einsum", "Einsum", "Det", "AffineGrid", "Bernoulli", "CumProd", "Gemm"])
    if op == "DFT":
        version, n = s.pick([17, 20]), int(s.random.integers(1, 12))
        real = s.random.random() < 0.5
        x = s.array(s.pick(["float", "double"]), (2, n, 3, 1 if real else 2), 0)
        axis = int(s.pick([1, 2, -3, -2]))
        attributes = {"inverse": 0, "onesided": 1} if real and s.random.random() < 0.5 else {"inverse": int(not real and s.random.random() < 0.5)}
        length = [np.array(int(s.random.integers(1, 14)), np.int64)] if s.random.random() < 0.5 else []
        if version == 17:
            return op, [x, *length], {**attributes, "axis": axis}, {"version": 17}
        return op, [x, *(length or [None]), np.array(axis, np.int64)], attributes, {"version": 20}
    if op == "STFT":
        n, frame, step = 16, int(s.pick([4, 8, 5])), int(s.random.integers(1, 5))
        window = [s.array("float", (frame,), 0)] if s.random.random() < 0.6 else [None]
        return op, [s.array("float", (2, n, 1), 0), np.array(step, np.int64), *window, np.array(frame, np.int64)], {"onesided": int(s.random.integers(2))}
    if op.endswith("Window"):
        return op, [np.array(int(s.random.integers(1, 12)), s.pick([np.int32, np.int64]))], {"periodic": int(s.random.integers(2)), "output_datatype": int(s.pick([1, 11, 10]))}
    if op == "MelWeightMatrix":
        return op, [np.array(v, t) for v, t in ((int(s.random.integers(2, 9)), np.int64), (16, np.int64), (8192, np.int64), (0.0, np.float32), (4096.0, np.float32))], {}
    if op == "Einsum":
        equation, dims = s.pick([("ij,jk->ik", "ij jk"), ("ij,jk", "ij jk"), ("bij,bjk->bik", "bij bjk"), ("ii->i", "ii"), ("ii", "ii"), ("ij->ji", "ij"), ("ij->", "ij"), ("i,j->ij", "i j"), ("...ij->...ji", "bij"),
                                 ("...i,...i->...", "bi bi"), ("ij,ij->", "ij ij"), ("ijk,kl,lj->il", "ijk kl lj"), (" i j , j -> i ", "ij j"), ("bij,bj->bi", "bij bj"), ("ab...,b->a...", "abij b"), ("i->ii" if False else "i->i", "i")])
        size = {letter: int(s.random.integers(1, 5)) for letter in "abijkl"}
        return op, [s.array(s.pick(["float"]), tuple(size[c] for c in d), 0) for d in dims.split()], {"equation": equation}
    if op == "Det":
        n = int(s.random.integers(1, 5))
        return op, [s.array(s.pick(["float", "double"]), s.pick([(), (2,), (2, 3)]) + (n, n), 0)], {}
    if op == "AffineGrid":
        three = s.random.random() < 0.4
        theta = s.array("float", (2, 3, 4) if three else (2, 2, 3), 0)
        return op, [theta, np.array([2, 1, 3, 4, 2] if three else [2, 1, 3, 4], np.int64)], {"align_corners": int(s.random.integers(2))}
    if op == "CumProd":
        x = s.array(s.pick(["float", "int32", "double"]), sized(s, 3, 0), 0)
        return op, [x, np.array(s.axis(3), np.int64)], {"reverse": int(s.random.integers(2)), "exclusive": int(s.random.integers(2))}
    m, n, k = (int(s.random.integers(0 if s.random.random() < 0.3 else 1, 5)) for _ in range(3))
    name = s.pick(["float", "double", "int32"])
    c = s.array(name, s.pick([(n,), (m, n), (1,), (), (m, 1), (1, n)]), 0)
    return "Gemm", [s.array(name, (m, k), 0), s.array(name, (k, n), 0), *([c] if s.random.random() < 0.7 else [])], {"alpha": float(s.pick([1.0, 0.5, 2.0])), "beta": float(s.pick([1.0, 0.0, 3.0]))}, {"version": 13}


FAMILIES = [whole, reals, reals, shapes, shapes, shapes, texts, quantised, signals]
