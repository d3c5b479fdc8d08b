"""What a step costs from Python: mdf_c.EvaluableGraph.evaluate() and mdf_c.run(steps=...) against modeci_mdf's EvaluableGraph.

    PYTHONPATH=python python3 bench/python_calls.py [--rounds 5] [--steps 100000] [MODEL ...]

The three take turns, round by round; the least time of a round counts, and only ratios mean anything.
"""

import argparse
import contextlib
import io
import os
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("MDF_C_BUILD", str(Path(__file__).resolve().parent.parent / "build"))

import mdf_workloads
from modeci_mdf.execution_engine import EvaluableGraph
from modeci_mdf.utils import load_mdf

import mdf_c

MODELS = ("MDF/Simple.json", "MDF/FN.mdf.json", "MDF/RNN/IAF_net.json", "MDF/abc_conditions.json", "NeuroML/IzhikevichTest.mdf.json")
DT = 1e-4
CALLS = {"modeci_mdf": 30, "mdf_c": 3000}


def time_calls(evaluate: Callable[..., object], calls: int) -> float:
    """Seconds of the processor for one call."""
    start = time.process_time()
    for _ in range(calls):
        evaluate(time_increment=DT)
    return (time.process_time() - start) / calls


def time_run(program: mdf_c.Program, steps: int) -> float:
    start = time.process_time()
    mdf_c.run(program, steps=steps, dt=DT)
    return (time.process_time() - start) / steps


def time_model(path: Path, rounds: int, steps: int) -> dict[str, float]:
    graph = load_mdf(str(path)).graphs[0]
    engines = {"modeci_mdf": EvaluableGraph(graph, verbose=False), "mdf_c": mdf_c.EvaluableGraph(graph)}
    program = mdf_c.compile(str(path))
    best = dict.fromkeys((*engines, "run"), float("inf"))
    for engine in engines.values():
        engine.evaluate()
    for _ in range(rounds):
        for name, engine in engines.items():
            best[name] = min(best[name], time_calls(engine.evaluate, CALLS[name]))
        best["run"] = min(best["run"], time_run(program, steps))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", type=Path, default=[mdf_workloads.UPSTREAM / name for name in MODELS])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=100_000)
    arguments = parser.parse_args()
    print("| model | evaluate(): times as fast as modeci_mdf | run(steps): times as fast |\n|---|---:|---:|")
    for path in arguments.models:
        with contextlib.redirect_stdout(io.StringIO()):
            best = time_model(path, arguments.rounds, arguments.steps)
        print(f"| {path.name} | {best['modeci_mdf'] / best['mdf_c']:,.0f} | {best['modeci_mdf'] / best['run']:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
