#!/usr/bin/env python3
"""Times bodies.py by default and compiled (--compile) beside the same in C, in turn, one thread: ns of an innermost iteration and ratios to C.

    time_bodies.py [--only TEXT] [--seconds 1] [--part default,compiled] [--keep FOLDER]

Each figure is the least of all rounds. Results of a fresh state are compared with those of C: a difference, relative to the largest
value of an output, above 1e-3 (sums of float32 in another order, gone through many steps; 1e-9 of float64) or of whole numbers makes
the exit status 1. --keep leaves the models and their inputs in a folder."""

import argparse
import collections
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import bodies
import engines
import run
import tracing

Problem = collections.namedtuple("Problem", "name model inputs units")
FLAGS = "-std=c11 -O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math -fopenmp-simd -fPIC -shared".split()


class Hand:
    """The function in C; results are like those of the engine."""

    def __init__(self, library, problem, like):
        self.function = getattr(library, problem.name)
        self.inputs = [np.ascontiguousarray(array) for array in problem.inputs.values()]
        self.outputs = [np.empty_like(array) for array in like]

    def run(self):
        return engines.clock(self.function, engines.addresses(self.inputs), engines.addresses(self.outputs))


def wrong(found, expected):
    """What differs, of outputs, as a text; empty where nothing does."""
    for k, (a, b) in enumerate(zip(found, expected)):
        tolerance = {"f4": 1e-3, "f8": 1e-9}.get(b.dtype.str[1:], 0)
        difference = run.difference([a], [b])
        if not difference <= tolerance:
            return f"output {k} differs by {difference:.2g}"
    return ""


def measure(name, library, parts, seconds):
    m = tracing.Model()
    units = bodies.BODIES[name](m)
    problem = Problem(name, m.proto(), m.arrays, units)
    runners = {}
    for part, engine in (("default", engines.Library), ("compiled", engines.CompiledOnce)):
        if part in parts:
            runners[part] = engine(problem)
            runners[part].run()
    results = {part: runner.results() for part, runner in runners.items()}
    runners["C"] = Hand(library, problem, next(iter(results.values())))
    runners["C"].run()
    faults = [f"{part}: {fault}" for part, found in results.items() if (fault := wrong(found, runners["C"].outputs))]
    best = run.take_turns(runners, seconds)
    return {part: time / units * 1e9 for part, time in best.items()}, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="bodies whose name has this in it; several with commas")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each body (default 1)")
    parser.add_argument("--part", default="default,compiled", help="what to time beside C (default: %(default)s)")
    parser.add_argument("--keep", help="a folder for models and inputs")
    arguments = parser.parse_args()
    parts, n_wrong, ratios = arguments.part.split(","), 0, collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        engines.FOLDER = pathlib.Path(arguments.keep or folder).absolute()
        subprocess.run([os.environ.get("CC", "gcc"), *FLAGS, "-o", f"{folder}/bodies.so", *HERE.glob("*.c"), "-lm"], check=True)
        library = ctypes.CDLL(f"{folder}/bodies.so")
        print(f"{'body':20} {'C ns':>9} " + " ".join(f"{part + '/C':>10}" for part in parts))
        for name in bodies.BODIES:
            if any(text in name for text in arguments.only.split(",")):
                ns, faults = measure(name, library, parts, arguments.seconds)
                for part in parts:
                    ratios[part].append(ns[part] / ns["C"])
                print(f"{name:20} {ns['C']:9.4g} " + " ".join(f"{ratios[part][-1]:10.2f}" for part in parts), *faults, flush=True)
                n_wrong += len(faults)
    print(f"{'geometric mean':30} " + " ".join(f"{np.exp(np.mean(np.log(ratios[part]))):10.2f}" for part in parts))
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
