#!/usr/bin/env python3
"""Times operators of ONNX against the same functions written as expressions of MDF: there should be no difference.

usage: BUILD=build bench/expression_or_operator.py [--seconds S] [--sizes 4,64,1000,30000] [--dtype float64] [NAME ...]

Each pair is two models of one node, whose states are kept and evaluated many times in turns, in one process with one thread; of
each the shortest processor time of an evaluation counts, less that of a model that does nothing. Results are compared first. What is
printed is the operator's time over the expression's; above 1 the operator is slower. NAME picks cases that have it in their name.
"""
import argparse
import json
import math
import pathlib
import sys
import tempfile
import time

import numpy as np

SIZES = (4, 64, 1000, 30000)


def vector(n):
    return [n]


def rows(n):
    """A matrix of n elements, four rows."""
    return [4, n // 4]


def one_row(n):
    return [n // 4]


# Operands change from evaluation to evaluation, and results are added up, lest nothing have to be computed: x around 0, y from 0.5 to 1.5.
STATES = {"x": "-x", "y": "2 - y"}

# name: operands with their shapes; operator calls, each a name, arguments and attributes, the last one the result; the expression, or one for each call.
CASES = {
    "Add": ({"x": vector, "y": vector}, [("Add", {"A": "x", "B": "y"})], "x + y"),
    "Add, a row": ({"x": rows, "y": one_row}, [("Add", {"A": "x", "B": "y"})], "x + y"),
    "Mul chain": ({"x": vector, "y": vector},
                  [("Mul", {"A": "x", "B": "y"}), ("Mul", {"A": 0, "B": "x"}), ("Mul", {"A": 1, "B": "y"})], ["x * y", "p0 * x", "p1 * y"]),
    "Div": ({"x": vector, "y": vector}, [("Div", {"A": "x", "B": "y"})], "x / y"),
    "Sqrt": ({"y": vector}, [("Sqrt", {"X": "y"})], "numpy.sqrt(y)"),
    "Abs": ({"x": vector}, [("Abs", {"X": "x"})], "numpy.abs(x)"),
    "Neg": ({"x": vector}, [("Neg", {"X": "x"})], "-x"),
    "Reciprocal": ({"y": vector}, [("Reciprocal", {"X": "y"})], "1 / y"),
    "Exp": ({"x": vector}, [("Exp", {"input": "x"})], "numpy.exp(x)"),
    "Sin": ({"x": vector}, [("Sin", {"input": "x"})], "numpy.sin(x)"),
    "Relu": ({"x": vector}, [("Relu", {"X": "x"})], "numpy.where(x > 0, x, 0.0)"),
    "LeakyRelu": ({"x": vector}, [("LeakyRelu", {"X": "x", "alpha": 0.01})], "numpy.where(x < 0, 0.01 * x, x)"),
    "PRelu": ({"x": vector, "y": vector}, [("PRelu", {"X": "x", "slope": "y"})], "numpy.where(x < 0, x * y, x)"),
    "ThresholdedRelu": ({"x": vector}, [("ThresholdedRelu", {"X": "x", "alpha": 1.0})], "numpy.where(x > 1.0, x, 0.0)"),
    "Softsign": ({"x": vector}, [("Softsign", {"input": "x"})], "x / (1 + numpy.abs(x))"),
    "Sigmoid": ({"x": vector}, [("Sigmoid", {"X": "x"})], "1 / (1 + numpy.exp(-x))"),
    "Softplus": ({"x": vector}, [("Softplus", {"X": "x"})], "numpy.maximum(x, 0.0) + numpy.log1p(numpy.exp(-numpy.abs(x)))"),
    "HardSigmoid": ({"x": vector}, [("HardSigmoid", {"X": "x", "alpha": 0.2, "beta": 0.5})],
                    "numpy.maximum(0.0, numpy.minimum(1.0, 0.2 * x + 0.5))"),
    "HardSwish": ({"x": vector}, [("HardSwish", {"X": "x"})], "x * numpy.maximum(0.0, numpy.minimum(1.0, x / 6 + 0.5))"),
    "Elu": ({"x": vector}, [("Elu", {"X": "x", "alpha": 1.5})], "numpy.where(x >= 0, x, 1.5 * numpy.expm1(x))"),
    "Selu": ({"x": vector}, [("Selu", {"X": "x", "alpha": 1.67, "gamma": 1.05})],
             "1.05 * numpy.where(x > 0, x, 1.67 * numpy.expm1(x))"),
    "Celu": ({"x": vector}, [("Celu", {"X": "x", "alpha": 1.5})], "numpy.where(x > 0, x, 1.5 * numpy.expm1(x / 1.5))"),
    "Mish": ({"x": vector}, [("Mish", {"X": "x"})],
             "x * numpy.tanh(numpy.maximum(x, 0.0) + numpy.log1p(numpy.exp(-numpy.abs(x))))"),
    "Gelu tanh": ({"x": vector}, [("Gelu", {"X": "x", "approximate": "tanh"})],
                  "0.5 * x * (1 + numpy.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))"),
    "Swish": ({"x": vector}, [("Swish", {"X": "x", "alpha": 1.0})], "x / (1 + numpy.exp(-x))"),
    "Shrink": ({"x": vector}, [("Shrink", {"input": "x", "lambd": 0.5, "bias": 0.1})],
               "numpy.where(x < -0.5, x + 0.1, numpy.where(x > 0.5, x - 0.1, 0.0))"),
    "Clip": ({"x": vector}, [("Clip", {"input": "x", "min": -1.0, "max": 1.0})], "numpy.clip(x, -1.0, 1.0)"),
    "Where": ({"x": vector, "y": vector}, [("Greater", {"A": "x", "B": "y"}), ("Where", {"condition": 0, "X": "x", "Y": "y"})],
              "numpy.where(x > y, x, y)"),
    "Max": ({"x": vector, "y": vector}, [("Max", {"data_0": ["x", "y"]})], "numpy.maximum(x, y)"),
    "Pow": ({"x": vector, "y": vector}, [("Pow", {"X": "y", "Y": "x"})], "y ** x"),
    "Pow 2": ({"x": vector}, [("Pow", {"X": "x", "Y": 2.0})], "x ** 2"),
    "Mod": ({"x": vector, "y": vector}, [("Mod", {"A": "x", "B": "y", "fmod": 1})], "numpy.fmod(x, y)"),
    "ReduceSum": ({"x": rows}, [("ReduceSum", {"data": "x", "axes": [1], "keepdims": 0})], "numpy.sum(x, axis=1)"),
    "ReduceSum, all": ({"x": vector}, [("ReduceSum", {"data": "x", "keepdims": 0})], "numpy.sum(x)"),
    "ReduceMax": ({"x": rows}, [("ReduceMax", {"data": "x", "axes": [1], "keepdims": 0})], "numpy.max(x, axis=1)"),
    "ReduceMean": ({"x": rows}, [("ReduceMean", {"data": "x", "axes": [0], "keepdims": 0})], "numpy.mean(x, axis=0)"),
    "ReduceL2": ({"x": rows}, [("ReduceL2", {"data": "x", "axes": [1], "keepdims": 0})], "numpy.sqrt(numpy.sum(x * x, axis=1))"),
    "Softmax": ({"x": vector}, [("Softmax", {"input": "x", "axis": -1})],
                "numpy.exp(x - numpy.max(x)) / numpy.sum(numpy.exp(x - numpy.max(x)))"),
    "Transpose": ({"x": rows}, [("Transpose", {"data": "x"})], "numpy.transpose(x)"),
}


def write_model(folder, name, inputs, n, dtype, parameters, last):
    """A graph of one node; the path of its file."""
    node = {"input_ports": {key + "_first": {"shape": shape(n), "type": dtype} for key, shape in inputs.items()},
            "parameters": {key: {"default_initial_value": key + "_first", "value": STATES[key]} for key in inputs} | parameters |
            {"total": {"value": f"0.5 * total + {last}"}},
            "output_ports": {"total": {"value": "total"}}}
    path = pathlib.Path(folder) / f"{name}.json"
    path.write_text(json.dumps({"m": {"format": "ModECI MDF v0.4", "graphs": {"g": {"nodes": {"n": node}}}}}))
    return path


def operator_parameters(calls):
    def argument(given):
        return f"p{given}" if isinstance(given, int) and not isinstance(given, bool) else given

    # A whole number is that of an earlier call, but for these attributes.
    plain = ("keepdims", "axis", "fmod")
    return {f"p{i}": {"function": f"onnx::{name}",
                      "args": {key: given if key in plain else argument(given) for key, given in arguments.items()}}
            for i, (name, arguments) in enumerate(calls)}


def expression_parameters(expressions):
    """The same for expressions; the name of the last one."""
    expressions = [expressions] if isinstance(expressions, str) else expressions
    return {f"p{i}": {"value": expression} for i, expression in enumerate(expressions)}, f"p{len(expressions) - 1}"


def time_evaluations(model, n_steps):
    start = time.process_time()
    model.evaluate_steps(n_steps, math.nan)
    return (time.process_time() - start) / n_steps


def measure(models, seconds):
    """The shortest time of an evaluation of each."""
    n_steps, best = [1] * len(models), [math.inf] * len(models)
    for i, model in enumerate(models):
        while time_evaluations(model, n_steps[i]) * n_steps[i] < seconds / 40:
            n_steps[i] *= 2
    for _ in range(20):
        for i, model in enumerate(models):
            best[i] = min(best[i], time_evaluations(model, n_steps[i]))
    return best


def compare(library, folder, case, n, dtype, seconds):
    """Times of the operator, of the expression, and of nothing."""
    inputs, calls, expression = CASES[case]
    random = np.random.default_rng(1)
    arrays = {key + "_first": (random.standard_normal(shape(n)) * 2 if key == "x" else random.random(shape(n)) + 0.5).astype(dtype)
              for key, shape in inputs.items()}
    first = next(iter(inputs))
    models = []
    for name, parameters, last in (("operator", operator_parameters(calls), f"p{len(calls) - 1}"),
                                   ("expression", *expression_parameters(expression)), ("nothing", {}, first)):
        model = library.Model(write_model(folder, name, inputs, n, dtype, parameters, last))
        model.set_inputs(arrays)
        for _ in range(4):
            model.evaluate()
        models.append(model)
    results = [model.output("n", "total") for model in models]
    if not np.allclose(results[0], results[1], rtol=1e-5, atol=1e-6):
        raise SystemExit(f"{case}: {results[0]} is not {results[1]}")
    times = measure(models, seconds)
    for model in models:
        model.close()
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=0.2, help="of each pair and size")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--dtype", default="float64")
    given = parser.parse_args()
    sizes = [int(size) for size in given.sizes.split(",")]
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    import libmdf  # finds the library by BUILD
    print(f"{given.dtype}: operator / expression, and ns of an evaluation of each")
    print("| case |" + "".join(f" {n:,} |" for n in sizes))
    print("|---|" + "---:|" * len(sizes))
    for case in CASES:
        if given.names and not any(name in case for name in given.names):
            continue
        cells = []
        for n in sizes:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    # Where arrays happen to lie counts too: models made anew lie elsewhere.
                    times = [compare(libmdf, folder, case, n, given.dtype, given.seconds / 3) for _ in range(3)]
                except libmdf.Failure:  # the operator is not defined for this type
                    cells.append("")
                    continue
            operator, expression, nothing = (min(column) for column in zip(*times))
            noise = 10e-9 + nothing / 10  # of what both take beside
            operator, expression = max(operator - nothing, 0), max(expression - nothing, 0)
            cells.append(f"{(operator + noise) / (expression + noise):.2f} ({operator * 1e9:,.0f}/{expression * 1e9:,.0f})")
        print(f"| {case} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
