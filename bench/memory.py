#!/usr/bin/env python3
"""How much memory a run takes: each engine and workload in a process of its own, whose peak resident memory is reset once the
packages and the inputs are there. Linux only (/proc).

    python3 bench/memory.py ENGINE WORKLOAD       prints one such measurement as JSON
"""

import json
import pathlib
import re
import subprocess
import sys

import numpy as np

import engines
import mdf_workloads
import workloads

# One of each kind.
ONNX = ["logistic float64", "collatz", "newton", "dispatch", "integrate and fire float32 n=10000", "cumulative sum", "mandelbrot",
        "drift diffusion", "elman h=256 batch=16", "gru", "matrix products"]
MDF = ["fitzhugh nagumo", "izhikevich", "integrate and fire net", "every n calls"]
ENGINES = ["mdf_c", "C", "onnxruntime", "numpy", "modeci_mdf"]


def resident(field):
    """VmRSS (now) or VmHWM (the peak), in bytes."""
    return int(re.search(rf"{field}:\s*(\d+) kB", pathlib.Path("/proc/self/status").read_text())[1]) * 1024


def one(engine_name, name):
    """Memory of one run, from the moment that the engine's package and the inputs are there."""
    engine = next(engine for engine in engines.ENGINES if engine.name == engine_name)
    make = engine.onnx if name in workloads.WORKLOADS else engine.mdf
    problem = workloads.build(name) if name in workloads.WORKLOADS else mdf_workloads.WORKLOADS[name]
    if make is None:
        raise engines.Absent("it does not do such models")
    if name in workloads.WORKLOADS:
        small = workloads.build(name, small=True)
        make(small).run()  # whatever a package sets up once
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    runner = make(problem)
    runner.run()
    found = {"peak": resident("VmHWM") - before}
    if engine_name == "mdf_c":
        found["state"] = runner.model.peak_bytes()
    if name in workloads.WORKLOADS:
        found["values"] = sum(np.asarray(array).nbytes for array in [*problem.inputs.values(), *runner.results()])
    return found


def in_a_process(engine_name, name):
    done = subprocess.run([sys.executable, __file__, engine_name, name], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def measure():
    return {name: {engine: in_a_process(engine, name) for engine in ENGINES} for name in [*ONNX, *MDF]}


if __name__ == "__main__":
    print(json.dumps(one(*sys.argv[1:])))
