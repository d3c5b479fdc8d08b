#!/usr/bin/env python3
"""Compares the shapes of scan outputs of loops without a run with ONNX Runtime's: what is known of every operator's results before it runs.

    pip install onnx onnxruntime
    make all && MDF_C_LIBRARY=build/libmdf.so PYTHONPATH=python python3 tests/calls/zero_trips.py [--only WORD] [--failures]

Each of ONNX's node tests becomes the body of a Loop of no iterations, whose results are its scan outputs: 0 items of the shape that is known, sizes that
are not known 0. Whole numbers in few are constants, all else is an input; and once more with an unknown size in front of each input. That ONNX Runtime
refuses is no case, nor what has no array as a result. Prints how many are alike, and of those that are not a count by operator.
"""
import argparse
import sys
import warnings
from collections import Counter

import mdf_c
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases

warnings.filterwarnings("ignore")
MOST_CONSTANTS = 16  # numbers of an input that is a constant
NEWEST_IR, OPSET = 11, 21


def is_constant(array):
    return array.ndim <= 1 and array.size <= MOST_CONSTANTS and array.dtype.kind in "iub" and array.size > 0


def model_of(test, open_axis):
    """The loop around a test, and its inputs; None where it is none of arrays."""
    graph, given = test.model.graph, test.data_sets[0][0]
    inputs, initializers, values = [], list(graph.initializer), {}
    for info, value in zip(graph.input, given):
        if not info.type.HasField("tensor_type") or value is None:
            return None
        array = np.asarray(value) if not hasattr(value, "SerializeToString") else numpy_helper.to_array(value)
        dims = list(array.shape)
        if is_constant(array):
            initializers.append(numpy_helper.from_array(array, info.name))
            continue
        if open_axis and dims:
            dims[0] = "N"
        inputs.append(helper.make_tensor_value_info(info.name, info.type.tensor_type.elem_type, dims))
        values[info.name] = array
    if any(not info.type.HasField("tensor_type") for info in graph.output):
        return None
    outputs = [info.name for info in graph.output if info.name]
    nodes = [*graph.node, helper.make_node("Identity", ["loop_go"], ["loop_on"])]
    formals = [helper.make_tensor_value_info("loop_i", onnx.TensorProto.INT64, []), helper.make_tensor_value_info("loop_go", onnx.TensorProto.BOOL, [])]
    yields = [helper.make_empty_tensor_value_info(name) for name in ["loop_on", *outputs]]
    body = helper.make_graph(nodes, "body", formals, yields)
    loop = helper.make_node("Loop", ["loop_n", ""], [f"all_{name}" for name in outputs], body=body)
    initializers.append(numpy_helper.from_array(np.array(0, np.int64), "loop_n"))
    whole = helper.make_graph([loop], "zero", inputs, [helper.make_empty_tensor_value_info(f"all_{name}") for name in outputs], initializers)
    opsets = list(test.model.opset_import)
    if all(opset.domain for opset in opsets):
        opsets.append(helper.make_opsetid("", OPSET))
    model = helper.make_model(whole, opset_imports=opsets, functions=test.model.functions)
    model.ir_version = min(NEWEST_IR, test.model.ir_version)
    return model, values


def by_runtime(text, values):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(text, options, providers=["CPUExecutionProvider"])
    return [list(a.shape) for a in session.run(None, values)]


def by_us(text, values, names):
    results = mdf_c.run(mdf_c.Model(text, format="onnx"), values)
    return [list(np.shape(results[name])) for name in names]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", metavar="WORD", help="only tests whose name holds this")
    parser.add_argument("--failures", action="store_true", help="print each that differs")
    args = parser.parse_args()
    n_alike, differ = 0, Counter()
    for test in collect_testcases(None):
        for open_axis in (False, True) if args.only in test.name else ():
            made = model_of(test, open_axis)
            operator = test.model.graph.node[0].op_type
            if made is None:
                continue
            text, values = made[0].SerializeToString(), made[1]
            try:
                want = by_runtime(text, values)
            except Exception:
                continue
            try:
                got = by_us(text, values, [info.name for info in made[0].graph.output])
            except Exception as why:
                got = str(why)[:300]
            if got == want:
                n_alike += 1
                continue
            differ[operator] += 1
            if args.failures:
                print(f"{test.name}{' open' if open_axis else ''}: {got}, not {want}")
    print(f"{n_alike} alike, {differ.total()} differ")
    for operator, n in sorted(differ.items()):
        print(f"{n:5} {operator}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
