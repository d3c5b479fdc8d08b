#!/usr/bin/env python3
"""The derivative of every operator and function of expressions that has one, against central differences with Richardson's extrapolation.

    check_derivatives.py [--only WORD] [--page] [--second] [--inside]

cases.py has, for each, calls at random points. What the engine gives in a random direction is held against differences, of three widths,
extrapolated to none. --second checks the Hessian times a vector too, where there is one. --page prints docs/derivatives.md, with the largest
relative errors by operator, and checks it as --second does. --inside checks, with the Hessian, each call in the body of a Loop: of its first input's later values.
An operator whose column in docs/operators.md says "yes" and that has no case is a failure."""
import argparse
import json
import math
import os
import re
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(Path(__file__).resolve().parent)]
os.environ.setdefault("MDF_C_BUILD", str((ROOT / os.environ.get("BUILD", "build")).resolve()))
try:
    import numpy as np
except ImportError:
    print("0 passed, 0 failed")
    sys.exit(0)
import itertools

from cases import ELSEWHERE, EXPRESSIONS, OPERATORS, ROUGH

import mdf_c

STEP, TOLERANCE = 1e-3, 1e-6


def point(shapes, number):
    """Arrays by name; each is a shape, a shape with bounds, or the array itself. No two elements are equal."""
    rng = np.random.default_rng(number)
    arrays = {}
    for name, given in shapes.items():
        shape, low, high = given if isinstance(given, tuple) and len(given) == 3 and isinstance(given[0], tuple) else (given, -1.0, 1.0)
        if isinstance(shape, np.ndarray):
            arrays[name] = shape
            continue
        n = int(np.prod(shape, dtype=int))
        arrays[name] = (low + (high - low) * (rng.permutation(n) + rng.uniform(0.2, 0.8, n)) / max(n, 1)).reshape(shape)
    return arrays


def model_of(parameter, result, arrays, opset):
    parameters = {name: {"value": array.tolist()} for name, array in arrays.items()}
    flat = f"numpy.ravel({result})"
    weigh = f"numpy.sum({flat} * numpy.cos(0.3 + numpy.arange(1.0 * {flat}.size)))"
    return {"m": {"onnx_opset_version": opset, "graphs": {"g": {"nodes": {"n": {"parameters": {**parameters, "p": parameter}, "output_ports": {"z": {"value": weigh}}}}}}}}


def inside_loop(model, first):
    """The model with its call in the body of a Loop, whose state the input ``first`` is: it changes a little from run to run. The value is that of all runs."""
    node = model["m"]["graphs"]["g"]["nodes"]["n"]
    parameters, value = node["parameters"], node["output_ports"]["z"]["value"]
    within = json.loads(re.sub(rf"(?<![\w.]){first}(?!\w)", "state", json.dumps(parameters.pop("p"))))
    body = {"input_ports": {"state": {}}, "parameters": {"p": within, "weighed": {"value": value}},
            "output_ports": {"later": {"value": "state * (1 + 0.03 * numpy.tanh(weighed))"}, "all": {"value": "weighed"}}}
    graph = {"metadata": {"inputs": ["i", "on", "state"], "outputs": ["on", "later", "all"]}, "nodes": {"m": body}}
    parameters["loop"] = {"function": "onnx::Loop", "args": {"M": 2, "v_initial": first, "body": graph}}
    node["output_ports"]["z"]["value"] = "numpy.sum(loop[0]) + numpy.sum(loop[1])"


class Case:
    def __init__(self, name, parameter, result, shapes, opset="28", number=0):
        self.name, self.arrays = name, point(shapes, number)
        self.wrt = [f"n.{name}" for name, array in self.arrays.items() if array.dtype.kind == "f" and not name.startswith("k")]
        self.model = model_of(parameter, result, self.arrays, opset)
        rng = np.random.default_rng(7)
        self.direction = {name: rng.standard_normal(self.arrays[name[2:]].shape) for name in self.wrt}

    def moved(self, h):
        return {name: self.arrays[name[2:]] + h * self.direction[name] for name in self.wrt}

    def check(self, second):
        """The relative errors, of the derivative and of the Hessian where it is checked, and what is wrong; None: nothing."""
        programs = [mdf_c.gradient(self.model, "z", self.wrt, graph="g", plain=plain) for plain in (True, False)]
        results = [program(self.moved(0.0)) for program in programs]
        for _ in range(2):
            results.append(programs[1](self.moved(0.0)))
        for value, by in results[1:]:
            if np.asarray(value).tobytes() != np.asarray(results[0][0]).tobytes() or any(by[name].tobytes() != results[0][1][name].tobytes() for name in self.wrt):
                return [], "plain and lowered have other bits"
        value, by = results[0]
        ran = next(iter(mdf_c.run(self.model, graph="g").outputs["n"].values()))
        if not np.array_equal(np.asarray(ran), np.asarray(value)):
            return [], f"the value is {value}, not {ran}"
        got = sum(float(np.sum(by[name] * self.direction[name])) for name in self.wrt)
        error, wrong = self.compare("derivative", got, lambda h: float(programs[1](self.moved(h))[0]))
        if wrong or not second:
            return [error], wrong
        try:
            hessian = mdf_c.hvp(self.model, "z", self.wrt, graph="g")
        except mdf_c.MdfError as refused:
            return [error], None if "there is no derivative" in refused.message else refused.message
        _, along = hessian(self.direction, self.moved(0.0))
        got = sum(float(np.sum(along[name] * self.direction[name])) for name in self.wrt)
        slope = lambda h: sum(float(np.sum(array * self.direction[name])) for name, array in programs[1](self.moved(h))[1].items())
        error_of_hessian, wrong = self.compare("Hessian", got, slope)
        return [error, error_of_hessian], wrong

    def compare(self, what, got, function):
        differences = [(function(h) - function(-h)) / (2 * h) for h in (STEP, STEP / 2, STEP / 4)]
        once = [(4 * b - a) / 3 for a, b in itertools.pairwise(differences)]
        expected = (16 * once[1] - once[0]) / 15
        error = abs(got - expected) / (1 + abs(expected))
        return error, None if error < (1e3 * TOLERANCE if self.name in ROUGH else TOLERANCE) else f"{what} {got!r}, by differences {expected!r}"


def is_told_inside(case, wrong):
    """Whether it is known why a call in a body is not derived (docs/gradients.md), or the differences are not: a limit, clip, lies within them."""
    return case.name in ROUGH or "item by item" in wrong or "derivative of list by" in wrong or '"clip"' in json.dumps(case.model)


def cases(only):
    for title, calls in OPERATORS.items():
        for number, call in enumerate(calls):
            if only in title:
                function = title if "::" in title else f"onnx::{title}"
                args, shapes = call["args"], call["shapes"]
                yield Case(title, {"function": function, "args": args}, call.get("result", "p"), shapes, call.get("opset", "28"), number)
    for title, calls in EXPRESSIONS.items():
        for number, (text, shapes) in enumerate(calls):
            if only in title:
                yield Case(title, {"value": text}, "p", shapes, number=number)


def with_derivative():
    """Names in docs/operators.md whose column says yes."""
    names, column = set(), None
    for line in (ROOT / "docs/operators.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if "derivative" in cells:
            column = cells.index("derivative")
        elif column is not None and len(cells) > column and cells[column] == "yes":
            names.add(cells[1].replace("\\", ""))
    return names


PAGE = """# Derivatives of the operators

Made by `python3 tests/derivatives/check_derivatives.py --page`; a test checks it. How right the derivative of each operator and function is that has one
([operators.md](operators.md) has all of them, [gradients.md](gradients.md) how they are used): what the engine gives in a random direction, beside central differences of
three widths that Richardson's extrapolation takes to none. *calls*: so many calls, each with other settings, types or shapes. *derivative* and *Hessian*: the largest error of them,
relative to 1 and what is expected, is at most this power of ten; differences themselves are right to some 1e-12. No entry: the Hessian is refused. Kernels that compute with
float32 have errors of float32.

| operator | calls | derivative | Hessian |
|---|---|---|---|
"""
LEAST = -12  # powers of ten below it are the differences' own error


def as_power(error):
    return f"1e{max(LEAST, math.ceil(math.log10(error)) if error > 0 else LEAST)}"


def print_page(errors):
    print(PAGE, end="")
    for name, calls in sorted(errors.items(), key=lambda item: item[0].lower()):
        largest = [as_power(max(call[i] for call in calls if len(call) > i)) if any(len(call) > i for call in calls) else "" for i in range(2)]
        print(f"| {name} | {len(calls)} | {largest[0]} | {largest[1]} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="names that have this in them")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--second", action="store_true")
    parser.add_argument("--inside", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    errors, n_passed, n_failed, told = {}, 0, 0, sys.stderr if asked.page else sys.stdout
    for case in cases(asked.only):
        if asked.inside and case.wrt:
            inside_loop(case.model, case.wrt[0].removeprefix("n."))
        try:
            found, wrong = case.check(asked.second or asked.page or asked.inside)
        except mdf_c.MdfError as failure:
            found, wrong = [], failure.message
        if asked.inside and wrong and is_told_inside(case, wrong):
            continue
        errors.setdefault(case.name, []).append(found)
        n_passed, n_failed = n_passed + (wrong is None), n_failed + (wrong is not None)
        if wrong:
            call = list(case.model["m"]["graphs"]["g"]["nodes"]["n"]["parameters"].values())[-1]
            print(f"{case.name}: {call}: {wrong}", file=told)
    if asked.page:
        print_page(errors)
    if not asked.only and not asked.inside:
        for name in sorted(with_derivative() - {name.removeprefix("onnx::").split("::")[-1] for name in errors} - errors.keys() - ELSEWHERE):
            print(f"{name}: has a derivative, but no case", file=told)
            n_failed += 1
    print(f"{n_passed} passed, {n_failed} failed", file=told)
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
