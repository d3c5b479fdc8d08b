"""Fits of examples/fitting: by mdf_c.fit, and by scipy over MDF's Python engine (modeci_mdf), which evaluates the same model step by step, where it can.

python3 bench/fitting.py [--only NAME]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import time
from pathlib import Path

import numpy as np
from scipy import optimize, stats  # noqa: F401 - imported before anything is timed

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
import mdf_c  # noqa: E402

FOLDER = ROOT / "examples" / "fitting"


def report(what: str, by: str, values: dict[str, float], evaluations: int, seconds: float, more: str = "") -> None:
    shown = ", ".join(f"{name} {value:.4g}" for name, value in values.items())
    print(f"{what:16} {by:34} {shown}; {evaluations} evaluations, {seconds:.3g} s{more}", flush=True)


def ours(what: str, model: Path, shown: list[str] | None = None, **keys) -> mdf_c.Fit:
    begin = time.perf_counter()
    found = mdf_c.fit(model, FOLDER / f"{what}.yaml", **keys)
    values = {name: each.value for name, each in found.estimates.items() if shown is None or name in shown}
    report(what, f"mdf_c.fit, {found.method}", values, found.n_evaluations, time.perf_counter() - begin, f", {found.n_gradients} gradients")
    return found


class Theirs:
    """A model evaluated by modeci_mdf: a column of one output port at some steps."""

    def __init__(self, model: Path, node: str, port: str, names: dict[str, str], dt: float) -> None:
        from modeci_mdf.utils import load_mdf

        self.graph = load_mdf(str(model)).graphs[0]
        self.node, self.port, self.names, self.dt, self.n = node, port, names, dt, 0

    def trace(self, values: np.ndarray, steps: np.ndarray) -> np.ndarray:
        from modeci_mdf.execution_engine import EvaluableGraph

        for node in self.graph.nodes:
            for parameter in node.parameters:
                key = f"{node.id}.{parameter.id}"
                if key in self.names:
                    setattr(parameter, self.names[key], float(values[list(self.names).index(key)]))
        with contextlib.redirect_stdout(io.StringIO()):
            graph = EvaluableGraph(self.graph, verbose=False)
        self.n += 1
        out = np.empty(int(steps.max()) + 1)
        for step in range(len(out)):
            graph.evaluate(time_increment=self.dt if step else None)
            out[step] = np.ravel(graph.enodes[self.node].evaluable_outputs[self.port].curr_value)[0]
        return out[steps]


def theirs(what: str, engine: Theirs, time_column: np.ndarray, data: np.ndarray, start: list[float], bounds) -> None:
    steps = np.rint(time_column / engine.dt).astype(int)
    begin = time.perf_counter()
    found = optimize.least_squares(lambda values: data - engine.trace(values, steps), start, bounds=bounds, x_scale=np.maximum(np.abs(start), 0.1))
    values = dict(zip(engine.names, found.x))
    report(what, "scipy least_squares over modeci_mdf", values, engine.n, time.perf_counter() - begin)


def cooling() -> None:
    model, keys = ROOT / "examples" / "cooling.yaml", {"intervals": "hessian"}
    ours("cooling", model, **keys)
    data = np.loadtxt(FOLDER / "cooling.csv", delimiter=",", skiprows=1).T
    names = {"cup.time_constant": "value", "cup.temperature": "default_initial_value", "cup.room": "value"}
    theirs("cooling", Theirs(model, "cup", "temperature", names, 10.0), *data, [100.0, 70.0, 10.0], ([10, -np.inf, -20], [5000, np.inf, 50]))


def fitzhugh_nagumo() -> None:
    model, keys = ROOT / "examples" / "fitzhugh_nagumo.yaml", {"intervals": "hessian", "starts": 1}
    ours("fitzhugh_nagumo", model, **keys)
    squares = {"observe": {"membrane.V": "voltage"}, "data": str(FOLDER / "fitzhugh_nagumo.csv")}
    start = {"membrane.a": {"start": 0.5, "bounds": [0.1, 1.5]}, "membrane.b": {"start": 0.5, "bounds": [0.1, 1.5]}}
    start["membrane.current"] = {"start": 0.6, "bounds": [0.3, 1.5]}
    ours("fitzhugh_nagumo", model, **keys, **squares, parameters=start)
    data = np.loadtxt(FOLDER / "fitzhugh_nagumo.csv", delimiter=",", skiprows=1).T
    names = dict.fromkeys(start, "value")
    theirs("fitzhugh_nagumo", Theirs(model, "membrane", "V", names, 0.05), *data, [0.5, 0.5, 0.6], ([0.1, 0.1, 0.3], [1.5, 1.5, 1.5]))


def decisions() -> None:
    """The Python engine has no drift_diffusion_integrator."""
    ours("decisions", FOLDER / "decision_model.yaml")


def elman() -> None:
    ours("elman", FOLDER / "elman_model.yaml", ["net.c"], max_evaluations=400)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["cooling", "fitzhugh_nagumo", "decisions", "elman"])
    given = parser.parse_args()
    fits = {"cooling": cooling, "fitzhugh_nagumo": fitzhugh_nagumo, "decisions": decisions, "elman": elman}
    for name, run in fits.items():
        if given.only in (None, name):
            run()


if __name__ == "__main__":
    main()
