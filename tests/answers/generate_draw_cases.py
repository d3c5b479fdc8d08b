#!/usr/bin/env python3
"""Writes tests/data/draw_cases.json: what NumPy draws, for tests/functions/test_draws.c.

    pip install numpy scipy
    python3 tests/answers/generate_draw_cases.py

A case: {"call", "numpy", "n", "last", "numbers", "rtol"}. `call` is an expression of the engine's, `numpy` what was called for it, of r, a
numpy.random.RandomState([42]); `n` of its numbers are drawn, of which `numbers` are the first, `last` is the last: past 624 words the generator
makes new ones. rtol: 0 for what needs but bits and a square root; where logarithms and powers are taken, which may differ in their last bit
between C libraries, 1e-14; 1e-12 for the inverse of erf, which is another algorithm than SciPy's.
"""
import json
import os

import numpy as np
from scipy.special import erfinv

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
N = 1000

CASES = [
    ("draw_normal([0], 42, x)", "r.normal(size=n)", 1e-14),
    ("draw_uniform([0], 42, x)", "r.uniform(size=n)", 0),
    ("draw_exponential([0], 42, x)", "r.exponential(size=n)", 1e-14),
    ("draw_gamma([0], 42, x, 0.3)", "r.gamma(0.3, size=n)", 1e-13),
    ("draw_gamma([0], 42, x, 1)", "r.gamma(1, size=n)", 1e-14),
    ("draw_gamma([0], 42, x, 2.5)", "r.gamma(2.5, size=n)", 1e-13),
    ("draw_wald([0], 42, x, 1.5, 0.7)", "r.wald(1.5, 0.7, size=n)", 1e-13),
    ("draw_binomial([0], 42, x, 0.3)", "r.binomial(1, 0.3, size=n)", 0),
    ("draw_binomial([0], 42, x, 0.8)", "r.binomial(1, 0.8, size=n)", 0),
    ("draw_inverted([0], 42, x)", "np.sqrt(2) * erfinv(2 * r.rand(n) - 1)", 1e-12),
    # numbers that are drawn before the model begins; of another seed than its first one they are not
    ("draw_uniform([3, 42, 1300], 42, x)", "(r.bytes(4 * 1300), r.uniform(size=n))[1]", 0),
    ("draw_normal([3, 42, 4, {left}], 42, x)", "(r.normal(), r.normal(size=n))[1]", 1e-14),
    ("draw_uniform([3, 41, 1300], 42, x)", "r.uniform(size=n)", 0),
]


def main():
    left = (lambda r: r.normal(size=2)[1])(np.random.RandomState([42]))
    lines = []
    for call, numpy_call, rtol in CASES:
        numbers = np.asarray(eval(numpy_call, {"np": np, "erfinv": erfinv, "r": np.random.RandomState([42]), "n": N}), float).tolist()
        case = {"call": call.format(left=repr(float(left))), "numpy": numpy_call, "n": N, "numbers": numbers[:6], "last": numbers[-1], "rtol": rtol}
        lines.append(json.dumps(case))
    with open(os.path.join(ROOT, "tests", "data", "draw_cases.json"), "w") as file:
        file.write("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
