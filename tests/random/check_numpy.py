#!/usr/bin/env python3
"""Random expressions by this engine and by Python with numpy itself: calls of numpy's functions with arguments in any order (numpy_calls.py), and all else that expressions have (python_expressions.py).

    python3 tests/random/check_numpy.py --seeds 1000 [--from 0] [--build build]

Each is evaluated once plainly, and four times in a row. Told are results that differ in type, shape or number (functions of two libraries differ in their last bits); counted are texts that one of both refuses: an
argument that is not there here, a call that numpy has no types for. An older numpy than 2.4 is not compared with. Ends with one line "N expressions, N found"; exit status 1 where something was found."""
import collections
import math
import os
import random
import re
import sys
import time
import warnings

import numpy
import numpy as np

import numpy_calls
import python_expressions
from runner import ROOT, seeds_parser

_EVALUATIONS = 4  # lowered by then
_OLDEST = 2, 4  # numpy's version whose meaning expressions have; older ones differ in types, of powers of uint8 and fix of whole numbers, say


def _has_no_number(arrays):
    return any(x.dtype.kind == "f" and not np.isfinite(x).all() for x in arrays if isinstance(x, np.ndarray))


_LISTS_TAKE_TYPES = r"concatenate|append|array\((sorted\()?\[|stack|insert"
# Differences that are decided, or the other side's own: (pattern of the text, whether it counts, why).
RULES = [
    (r"(quantile|percentile)\(", lambda arrays: True, "a number between two of float32 is of float64, one at their end is no whole number; where infinities are about, numpy's interpolation gives NaN at them too"),
    (r"nan(var|std)\(.*ddof=[23]", lambda arrays: True, "with more degrees of freedom taken than there are numbers it is NaN; numpy has infinity for whole numbers"),
    (r"dtype=(int|numpy\.int|bool)|astype\(int|int\(", _has_no_number, "what is no number, or none that the type holds, has no meaning as a whole number"),
    (_LISTS_TAKE_TYPES, lambda arrays: any(getattr(x, "dtype", None) == np.uint8 for x in arrays), "numbers of lists take the type of the array that they meet (docs/expressions.md), and go round where it ends"),
    (r"interp", _has_no_number, "NaN stays NaN beside one point too"),
    (r"cov\(|corrcoef", lambda arrays: any(np.size(x) == 0 for x in arrays), "of nothing it is NaN"),
    (r"argsort", lambda arrays: True, "equal numbers stay in their order, numpy's are in any"),
    (r"initial=-", lambda arrays: any(getattr(x, "dtype", None) == np.uint8 for x in arrays), "a real number as one without sign"),
    (r"\*\* ?\(?[23i]", lambda arrays: any(getattr(x, "dtype", None) == bool for x in arrays), "truths ** 2 are int64 (docs/expressions.md)"),
]
_SIGNS_OF_ZERO = re.compile(r"minimum|maximum|fmin|fmax|clip|min|max|median|round|nanp|sort|unique|dot|inner|matmul|einsum|@")  # which of 0 and -0 numpy's vectors take, and its library of products


def rule(text, arrays):
    return next((why for pattern, holds, why in RULES if re.search(pattern, text) and holds(list(arrays.values()))), None)


def ours(mdf_c, text, values):
    """The result of the first evaluation, plainly, and of the last of several."""
    node = {"input_ports": {name: {} for name in values}, "output_ports": {"o": {"value": text}}}
    model, results = {"m": {"format": "ModECI MDF v0.4", "graphs": {"main": {"nodes": {"N": node}}}}}, []
    for plain in (True, False):
        state = mdf_c.compile(model, plain=plain).state()
        for _ in range(1 if plain else _EVALUATIONS):
            state.set_inputs({f"N.{name}": value for name, value in values.items()})
            state.evaluate()
        results.append(state.output("N", "o"))
    return results


def same(text, values, a, b):
    if isinstance(a, (list, tuple)) or isinstance(b, (list, tuple)) and isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and all(same(text, values, x, y) for x, y in zip(a, b))
    a, b = np.asarray(a), np.asarray(b)
    b = b.astype(float) if b.dtype == object else b  # past 64 bits
    b = b.astype(np.int64) if b.dtype == np.int8 and "**" in text else b  # powers of truths (docs/expressions.md)
    kinds = {a.dtype.kind, b.dtype.kind}
    if a.shape != b.shape or a.dtype != b.dtype and not (re.search(_LISTS_TAKE_TYPES, text) and (len(kinds) == 1 or kinds <= set("iu"))):
        return False
    if a.dtype.kind != "f":
        return bool(np.all(a == b))
    narrow = "float32" in text or any(getattr(x, "dtype", None) == np.float32 for x in values.values())
    with np.errstate(all="ignore"):
        scale = np.max(np.abs(np.where(np.isfinite(b), b, 0)), initial=1.0)
        near = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= (1e-5 if narrow else 1e-12) * scale)
    zeros = (a == 0) & (b == 0)
    return bool(np.all(near)) and (_SIGNS_OF_ZERO.search(text) is not None or bool(np.all(np.signbit(a[zeros]) == np.signbit(b[zeros]))))


def compare(mdf_c, seed):
    """(verdict, lines that tell it)."""
    rng = random.Random(f"numpy {seed}")
    try:
        text, values = (numpy_calls if seed % 3 else python_expressions).make(rng)
    except (IndexError, ValueError):  # no second argument goes with the first
        return "none", []
    expected, refused = None, None
    try:
        expected = eval(text, {"numpy": numpy, "math": math, **{name: np.copy(x) if isinstance(x, np.ndarray) else x for name, x in values.items()}})
    except Exception as error:
        refused = error
    try:
        found = ours(mdf_c, text, values)
    except mdf_c.MdfError as error:
        return "refused by both" if refused else "refused here", [str(error)]
    if refused is not None:
        return "refused by numpy", [f"{type(refused).__name__}: {refused}"]
    if all(same(text, values, x, expected) for x in found):
        return "same", []
    if rule(text, values) is not None:
        return "different, as ruled", []
    given = ", ".join(f"{name} = {x!r}" for name, x in values.items())
    return "different", [text, f"where {given}", f"numpy: {expected!r}", f"here:  {found[0]!r}" + (f", and {found[1]!r}" if repr(found[0]) != repr(found[1]) else "")]


def main():
    settings = seeds_parser(__doc__, 1000, "expression").parse_args()
    if tuple(map(int, numpy.__version__.split(".")[:2])) < _OLDEST:
        print(f"0 expressions: NumPy {numpy.__version__} is older than {'.'.join(map(str, _OLDEST))}, whose meaning expressions have")
        return 0
    os.environ["MDF_C_BUILD"] = os.path.join(ROOT, settings.build)
    sys.path.insert(0, os.path.join(ROOT, "python"))
    import mdf_c

    warnings.simplefilter("ignore")
    counts, begin = collections.Counter(), time.monotonic()
    for seed in range(settings.first, settings.first + settings.seeds):
        if time.monotonic() - begin > settings.time:
            break
        verdict, lines = compare(mdf_c, seed)
        counts[verdict] += 1
        if verdict == "different":
            print(f"\nseed {seed}: " + "\n    ".join(line.replace("\n", " ")[:600] for line in lines), flush=True)
    for verdict, n in sorted(counts.items()):
        print(f"{verdict}: {n}")
    print(f"{sum(counts.values())} expressions, {counts['different']} found")
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
