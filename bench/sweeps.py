"""A sweep of many runs of one model: seconds, what a second thread gains, and a loop over the reference engine beside it.

    PYTHONPATH=python python3 bench/sweeps.py [--runs 10000] [--steps 1000] [--rounds 3]

Numbers of threads take turns, round by round, so that a change in what else the machine does touches all of them; the reference, a
Python loop over modeci_mdf, is timed for a few steps of one run and multiplied. All give ratios; seconds are those of this machine.
Seconds of processors say what a busy machine hides: where two threads take no more of them than one, they are done in half the time
as soon as two are free.
"""

import argparse
import contextlib
import io
import statistics
import time
from pathlib import Path

import numpy as np

import mdf_c

MODEL = Path(__file__).resolve().parent.parent / "examples" / "fitzhugh_nagumo.yaml"


def time_sweep(runs: int, steps: int, threads: int) -> tuple[float, float]:
    """Seconds by the clock, and of processors."""
    start, start_cpu = time.perf_counter(), time.process_time()
    values = np.linspace(0.5, 0.9, runs)
    mdf_c.sweep(MODEL, {"membrane.a": values}, steps=steps, dt=0.05, threads=threads, progress=False)
    return time.perf_counter() - start, time.process_time() - start_cpu


def time_reference(runs: int, steps: int, sample: int = 300) -> float | None:
    """Seconds of a processor that the same takes in modeci_mdf, from `sample` steps of one run; None where it is not installed."""
    try:
        from modeci_mdf.execution_engine import EvaluableGraph
        from modeci_mdf.utils import load_mdf
    except ImportError:
        return None
    with contextlib.redirect_stdout(io.StringIO()):
        graph = EvaluableGraph(load_mdf(str(MODEL)).graphs[0], verbose=False)
        graph.evaluate()
        start = time.process_time()
        for _ in range(sample):
            graph.evaluate(time_increment=0.05)
        per_step_s = (time.process_time() - start) / sample
    return per_step_s * steps * runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    times: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
    references = []
    for _ in range(arguments.rounds):
        for threads, taken in times.items():
            taken.append(time_sweep(arguments.runs, arguments.steps, threads))
        references.append(time_reference(arguments.runs, arguments.steps))
    for threads, taken in times.items():
        wall, cpu = (statistics.median(each) for each in zip(*taken))
        per_step_ns = cpu / arguments.runs / arguments.steps * 1e9
        print(f"{threads} thread(s): {wall:.2f} s by the clock, {cpu:.2f} s of processors, {per_step_ns:.0f} ns of them a step")
    gains = [one[0] / two[0] for one, two in zip(times[1], times[2])]
    costs = [two[1] / one[1] for one, two in zip(times[1], times[2])]
    print(
        f"2 threads against 1: {statistics.median(gains):.2f} times as fast, {statistics.median(costs):.2f} times the processors' time"
    )
    if references[0] is not None:
        ratios = [reference / one[1] for reference, one in zip(references, times[1])]
        print(
            f"reference, extrapolated: {statistics.median(references):.0f} s; 1 thread is {statistics.median(ratios):.0f} times as fast"
        )


if __name__ == "__main__":
    main()
