"""Two loops that run at the same time, on two threads, against one after the other (docs/speed.md, Successive loops).

    python3 bench/loops_at_once.py [--build build] [--steps N] [--rounds N]

GRUs of n units over 200 items of n numbers: two layers, of which the second goes through what the first yields, and one
forward beside one backward. Both ways in turn, in a state that is kept; the least of some rounds counts. The results have
to be the same bits.
"""
import argparse
import json
import os
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LENGTH = 200
SIZES = 16, 32, 64, 128, 256


def _body(n, name):
    nodes = [helper.make_node("MatMul", ["x", f"W{name}"], ["gx"]), helper.make_node("MatMul", ["h", f"R{name}"], ["gh"])]
    for of in "xh":
        nodes.append(helper.make_node("Split", [f"g{of}"], [f"{of}r", f"{of}z", f"{of}n"], axis=0, num_outputs=3))
    nodes += [helper.make_node(operator, inputs, [output]) for operator, inputs, output in (
        ("Add", ["xr", "hr"], "ar"), ("Sigmoid", ["ar"], "r"), ("Add", ["xz", "hz"], "az"), ("Sigmoid", ["az"], "z"),
        ("Mul", ["r", "hn"], "rn"), ("Add", ["xn", "rn"], "an"), ("Tanh", ["an"], "n"), ("Sub", ["h", "n"], "d"),
        ("Mul", ["z", "d"], "zd"), ("Add", ["n", "zd"], "next"), ("Identity", ["next"], "y"))]
    return helper.make_graph(nodes, f"body{name}",
                             [helper.make_tensor_value_info(item, TensorProto.FLOAT, [n]) for item in ("h", "x")],
                             [helper.make_tensor_value_info(item, TensorProto.FLOAT, [n]) for item in ("next", "y")])


def make(kind, n, random):
    """An ONNX model of two Scans: `kind` is "layers" or "both ways"."""
    weights = [numpy_helper.from_array((random.normal(size=(n, 3 * n)) / np.sqrt(n)).astype(np.float32), name)
               for name in ("W0", "R0", "W1", "R1")]
    scans = [helper.make_node("Scan", ["start", "X" if i == 0 or kind == "both ways" else "Y0"], [f"last{i}", f"Y{i}"],
                              num_scan_inputs=1, body=_body(n, i),
                              **({"scan_input_directions": [1], "scan_output_directions": [1]} if i and kind == "both ways" else {}))
             for i in range(2)]
    graph = helper.make_graph(scans, "g", [helper.make_tensor_value_info("X", TensorProto.FLOAT, [LENGTH, n])],
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, [LENGTH, n]) for name in ("Y0", "Y1")],
                              weights + [numpy_helper.from_array(np.zeros(n, np.float32), "start")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def seconds(build, folder, threads, steps):
    """Of one evaluation; and what it gives."""
    out = os.path.join(folder, f"{threads}.npz")
    done = subprocess.run([os.path.join(build, "mdf-run"), "model.onnx", "-i", "X=@X.npy", "--threads", str(threads), "-n", str(steps),
                           "--time", "-o", out], cwd=folder, capture_output=True, text=True, check=True)
    with np.load(out) as results:
        values = {name: results[name].tobytes() for name in results.files}
    return json.loads(done.stdout + done.stderr)["evaluate_s"][0] / steps, values


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default=os.environ.get("BUILD", "build"), help="with mdf-run")
    parser.add_argument("--steps", type=int, default=200, help="evaluations of a round")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    random = np.random.default_rng(1)
    print("| units | layers, one thread | two threads | both ways, one thread | two threads |\n|---:|---:|---:|---:|---:|")
    for n in SIZES:
        row = []
        for kind in ("layers", "both ways"):
            with tempfile.TemporaryDirectory() as folder:
                onnx.save(make(kind, n, random), os.path.join(folder, "model.onnx"))
                np.save(os.path.join(folder, "X.npy"), random.normal(size=(LENGTH, n)).astype(np.float32))
                times = {1: [], 2: []}
                for _ in range(arguments.rounds):
                    results = [seconds(os.path.abspath(arguments.build), folder, threads, arguments.steps) for threads in times]
                    if results[0][1] != results[1][1]:
                        raise SystemExit(f"{kind}, {n} units: other bits on two threads")
                    for threads, result in zip(times, results):
                        times[threads].append(result[0])
            row += [f"{min(times[1]) * 1e6:,.0f} us", f"{min(times[2]) / min(times[1]):.2f}"]
        print(f"| {n} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
