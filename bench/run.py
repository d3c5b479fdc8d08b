#!/usr/bin/env python3
"""Times this engine beside others, checks that all agree, and writes bench/results.md. `make bench` calls it; see bench/README.md.

All engines of a workload run in turn, round after round in one process, so that a machine that slows down slows all. An engine's
time is the least of its rounds. Packages that are not installed are columns of dashes.

    python3 bench/run.py [--only TEXT] [--seconds S] [--parts times,memory,...] [--output FILE]
"""

import argparse
import collections
import math
import os
import sys
import time

# One thread for numpy's products: two that wait for each other busily slow whoever runs beside them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import engines
import growth
import loading
import mdf_workloads
import memory
import report
import workloads

# What a workload gave: the seconds of each engine for one unit, whether its results agree, and why an engine is not there.
Timing = collections.namedtuple("Timing", "name group seconds wrong absent targets")

PARTS = "times", "start", "loading", "memory", "growth"


def difference(found, expected):
    """The largest difference between arrays, as a part of the largest value; infinite where shapes differ."""
    worst = 0.0
    if len(found) != len(expected):
        return math.inf
    for a, b in zip(found, expected):
        a, b = np.asarray(a, "float64").ravel(), np.asarray(b, "float64").ravel()
        if a.size != b.size:
            return math.inf
        if a.size:
            worst = max(worst, float(np.max(np.abs(a - b)) / max(1e-300, np.max(np.abs(b)))))
    return worst


TURN = 0.01  # seconds of a turn, of short runs: what the others have left in the caches is gone by its end


def take_turns(runners, seconds):
    """Lets runners run in turn for so long: the least time of each. Whoever needs more than a share of the time has two rounds."""
    best, n_runs = {}, collections.Counter()
    end, n_rounds = time.perf_counter() + seconds, 0
    while n_rounds < 3 or time.perf_counter() < end:
        for name, runner in runners.items():
            if n_runs[name] >= 2 and best[name] > seconds / 12:
                continue
            for _ in range(max(3, min(30, int(TURN / best[name]))) if best.get(name, 1) < 2 * TURN else 1):
                best[name] = min(best.get(name, math.inf), runner.run())
                n_runs[name] += 1
        n_rounds += 1
    return best


def start(kind, problem, small):
    """Runners of all engines that do a problem, and why the others do not."""
    runners, absent = {}, {}
    for engine in engines.ENGINES:
        make = getattr(engine, kind)
        if make is None:
            continue
        try:
            runner = make(small if make.slow else problem)
            runner.run()
            runners[engine.name] = runner
        except engines.Absent as reason:
            absent[engine.name] = str(reason)
        except Exception as fault:  # an engine that fails is told of, and is no reason to time the others less
            absent[engine.name] = f"{type(fault).__name__}: {str(fault)[:200]}"
    return runners, absent


def check_onnx(runners, problem, small, tolerance):
    expected = {False: problem.numpy(*problem.inputs.values()), True: small.numpy(*small.inputs.values())}
    differences = {name: difference(runner.results(), expected[runner.slow]) for name, runner in runners.items()}
    return {name: size for name, size in differences.items() if not size <= tolerance}


def check_mdf(runners, tolerance):
    """All against the Python engine, or against the first that is there."""
    results = {name: runner.results() for name, runner in runners.items()}
    expected = results.get("modeci_mdf", next(iter(results.values())))
    wide = [np.asarray(array).size for array in expected]
    differences = {name: difference([np.asarray(array).ravel()[:n] for array, n in zip(arrays, wide)], expected)
                   for name, arrays in results.items()}
    return {name: size for name, size in differences.items() if not size <= tolerance}


def measure(name, seconds):
    if name in workloads.WORKLOADS:
        problem, small = workloads.build(name), workloads.build(name, small=True)
        runners, absent = start("onnx", problem, small)
        best = take_turns(runners, seconds)
        wrong = check_onnx(runners, problem, small, problem.tolerance)
    else:
        problem = mdf_workloads.WORKLOADS[name]
        if problem.outputs is None:
            problem = problem._replace(outputs=engines.output_names(problem))
        runners, absent = start("mdf", problem, problem)
        best = take_turns(runners, seconds)
        wrong = check_mdf(runners, mdf_workloads.TOLERANCE)
    per_unit = {engine: best[engine] / runner.units for engine, runner in runners.items()}
    return Timing(name, problem.group, per_unit, wrong, absent, problem.targets)


def tell(timing):
    mine = timing.seconds.get("mdf_c", math.nan)
    others = "  ".join(f"{name} {seconds / mine:.3g}" for name, seconds in timing.seconds.items() if name != "mdf_c")
    wrong = "".join(f"  {name} DIFFERS by {size:.2g}" for name, size in timing.wrong.items())
    print(f"{timing.name}: times mdf_c's: {others}{wrong}", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="workloads whose name has this in it, and nothing else")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each workload (default 5)")
    parser.add_argument("--parts", default=",".join(PARTS), help="what to measure (default all: %(default)s)")
    parser.add_argument("--output", help="the report (default bench/results.md; with --only none)")
    arguments = parser.parse_args()
    parts = set(arguments.parts.split(",")) if not arguments.only else {"times"}
    found = report.Findings()
    for name in [*workloads.WORKLOADS, *mdf_workloads.WORKLOADS] if "times" in parts else []:
        if arguments.only in name:
            found.timings.append(measure(name, arguments.seconds))
            tell(found.timings[-1])
    for part, function in ("start", loading.measure_start), ("loading", loading.measure), ("memory", memory.measure), \
            ("growth", growth.measure):
        if part in parts:
            print(f"measuring {part} ...", file=sys.stderr, flush=True)
            setattr(found, part, function())
    if arguments.output or not arguments.only:
        report.write(found, arguments.output)
    return 1 if any(timing.wrong for timing in found.timings) else 0


if __name__ == "__main__":
    sys.exit(main())
