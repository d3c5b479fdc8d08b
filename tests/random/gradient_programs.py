"""Derivatives of random ONNX programs of loops, branches and places (walks.py, places.py), whose real numbers are float64 and parameters: what goes back times a direction has to be what goes forward times a
cotangent, without differences, so that ends, kinks and large numbers may be there; the same bits plainly and again, and within rounding where memory is bounded. ``check(seed, counts)`` says what is wrong."""
import random

import numpy as np
import onnx_file
import places
import walks

import mdf_c

REAL = ("float32", "float16", "bfloat16")
BOUNDS = {"max_iterations": 2000, "time_limit": 10}
# What has no derivative, or none that is one array (docs/gradients.md).
NOT_DERIVED = ("there is no derivative", "has no derivative", "in all iterations", "changes its shape")


def _real(value):
    """All reals of a program as float64: types, numbers of types, what initializers are cast to."""
    if isinstance(value, dict):
        made = {key: _real(item) for key, item in value.items()}
        if made.get("op") == "Cast" and made["attributes"]["to"] in [onnx_file.ELEMENTS[type] for type in REAL]:
            made["attributes"] = {"to": onnx_file.ELEMENTS["float64"]}
        return made
    if isinstance(value, list):
        return [_real(item) for item in value]
    return "float64" if value in REAL and isinstance(value, str) else value


def make(seed):
    """The bytes of a file, the names of its parameters, its other inputs, a result of float64; None: it has none."""
    rng = random.Random(f"gradient programs {seed}")
    case = rng.choice([walks, places]).make(seed)
    model, given = _real(case["model"]), _real(case["phases"][0]["inputs"])
    moved = [x for x in model["inputs"] if x["type"] == "float64"]
    model["inputs"] = [x for x in model["inputs"] if x not in moved]
    model["initializers"] += [{**x, "data": [rng.uniform(-2, 2) for _ in given[x["name"]]["data"]]} for x in moved]
    results = [x["name"] for x in model["outputs"] if x["type"] == "float64" and 0 not in (x["shape"] or [])]
    if not moved or not results or "string" in str(model):
        return None
    inputs = {x["name"]: onnx_file.numpy_array(given[x["name"]]) for x in model["inputs"]}
    return onnx_file.encode(model), {x["name"]: x["shape"] for x in moved}, inputs, rng.choice(results)


def _outcome(call):
    try:
        return call()
    except mdf_c.MdfError as error:
        return f"{type(error).__name__}: {error.message}"


def _differs(a, b, tolerance=0.0):
    return not (np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True))


def check(seed, counts):
    made = make(seed)
    if made is None:
        return None
    source, shapes, inputs, of = made
    load = lambda: mdf_c.load(source, format="onnx")
    ran = _outcome(lambda: mdf_c.run(load(), [inputs], steps=1, plain=True, **BOUNDS).results[of])
    if isinstance(ran, str) or np.size(ran) == 0 or not np.isfinite(ran).all():
        return None
    rng = np.random.default_rng(seed)
    wrt, cotangent = list(shapes), rng.uniform(-1, 1, np.shape(ran))
    direction = {name: rng.uniform(-1, 1, shape) for name, shape in shapes.items()}

    def back(**settings):
        vjp = mdf_c.vjp(load(), of, wrt, **BOUNDS, **settings)
        return [vjp(inputs=inputs, cotangent=cotangent) for _ in range(4)][-1]

    found = {"back": _outcome(back), "plain": _outcome(lambda: back(plain=True)), "bounded": _outcome(lambda: back(max_memory=1 << 26)),
             "forward": _outcome(lambda: mdf_c.jvp(load(), of, wrt, **BOUNDS)(direction, inputs=inputs))}
    for way, result in found.items():
        if isinstance(result, str):
            counts["refused"] += 1
            return None if any(text in result for text in NOT_DERIVED) else f"{way} {of}: {result}"
        if _differs(result[0], ran):
            return f"{way}: the value of {of} is {result[0]}, not {ran}"
    for way, tolerance in (("plain", 0.0), ("bounded", 1e-9)):
        for name in wrt:
            if _differs(found[way][1][name], found["back"][1][name], tolerance):
                return f"{way}: {of} by {name}: {found[way][1][name]}, not {found['back'][1][name]}"
    terms = [direction[name] * found["back"][1][name] for name in wrt]
    along, forward = sum(float(np.sum(x)) for x in terms), float(np.sum(cotangent * found["forward"][1]))
    scale = sum(float(np.sum(np.abs(x))) for x in [*terms, cotangent * found["forward"][1]])
    if not np.isfinite(scale):
        return None
    counts["programs"] += 1
    return None if abs(along - forward) <= 1e-9 * scale + 1e-12 else f"{of}: forward {forward!r}, backward {along!r}"
