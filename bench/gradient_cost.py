"""What a gradient costs beside the value that it is of, and beside jax.grad: loops of nets and steps of equations.

    PYTHONPATH=python python3 bench/gradient_cost.py [--rounds 30] [--only NAME] [--without-jax] [--check]

The value, the value with its gradient, and both by jax (on the CPU, compiled; where it is installed) take turns, round by round; the least
time of a call counts, and only ratios within one run mean anything. Gradients that disagree end it with an error.
"""

import argparse
import ctypes
import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("MDF_C_BUILD", str(Path(__file__).resolve().parent.parent / "build"))
os.environ.setdefault("JAX_ENABLE_X64", "1")

import numpy as np

import mdf_c
from mdf_c._library import lib

ROUND_S = 0.01
TOLERANCE = 1e-8


class Workload(NamedTuple):
    name: str
    model: dict  # of one graph, "g"
    of: str
    wrt: list[str]
    by_jax: Callable[[Any, dict], Any]  # of jax.numpy and jax.lax, and the parameters: the value
    steps: int = 1
    dt: float | None = None


def scan(states: str, scanned: list[str], body: str) -> dict:
    arguments = {"initial_state_and_scan_inputs": f"[{states}, {', '.join(scanned)}]", "num_scan_inputs": len(scanned), "body": body}
    return {"function": "onnx::Scan", "args": arguments}


def model(parameters: dict, value: str, bodies: dict | None = None) -> dict:
    """A graph of one node, `n`, with the output port `y`, and bodies of one node: name: (inputs, parameters, outputs)."""
    listed = {name: p if isinstance(p, dict) else {"value": p} for name, p in parameters.items()}
    graphs = {"g": {"nodes": {"n": {"parameters": listed, "output_ports": {"y": {"value": value}}}}}}
    for name, (inputs, inner, outputs) in (bodies or {}).items():
        node = {
            "input_ports": {port: {} for port in inputs},
            "parameters": {key: {"value": text} for key, text in inner.items()},
            "output_ports": {port: {"value": text} for port, text in outputs.items()},
        }
        graphs[name] = {"metadata": {"inputs": inputs, "outputs": list(outputs)}, "nodes": {"m": node}}
    return {"m": {"format": "ModECI MDF v0.4", "graphs": graphs}}


def numbers(*shape: int, scale: float = 1.0, seed: int = 0) -> list:
    return (scale * np.random.default_rng(seed + sum(shape)).standard_normal(shape)).tolist()


def elman(units: int, steps: int, batch: int | None = None) -> Workload:
    row = [units] if batch is None else [batch, units]
    scale = 0.5 / units**0.5
    parameters = {"x": numbers(steps, *row), "u": numbers(units, units, scale=scale, seed=1)}
    parameters |= {"w": numbers(units, units, scale=scale, seed=2), "b": numbers(units, seed=3), "h": numbers(*row, seed=4)}
    parameters["p"] = scan("h", ["x"], "cell")
    body = (["s", "t"], {"a": "numpy.tanh(numpy.matmul(t, u) + numpy.matmul(s, w) + b)"}, {"o": "a", "q": "a"})

    def by_jax(jax, p):
        def cell(s, t):
            s = jax.numpy.tanh(t @ p["u"] + s @ p["w"] + p["b"])
            return s, s

        return jax.numpy.sum(jax.lax.scan(cell, p["h"], p["x"])[1] ** 2)

    title = f"Elman {units} x {steps}" + ("" if batch is None else f", {batch} at once")
    made = model(parameters, "numpy.sum(p[1] * p[1])", {"cell": body})
    return Workload(title, made, "y", ["n.u", "n.w", "n.b", "n.h", "n.x"], by_jax)


def gru(units: int, steps: int) -> Workload:
    scale = 0.5 / units**0.5
    parameters = {"x": numbers(steps, units), "h": numbers(units, seed=9)}
    for i, gate in enumerate("zrc"):
        parameters |= {f"u{gate}": numbers(units, units, scale=scale, seed=i), f"w{gate}": numbers(units, units, scale=scale, seed=3 + i)}
        parameters[f"b{gate}"] = numbers(units, seed=6 + i)
    parameters["p"] = scan("h", ["x"], "cell")
    inner = {gate: f"1 / (1 + numpy.exp(-(numpy.matmul(t, u{gate}) + numpy.matmul(s, w{gate}) + b{gate})))" for gate in "zr"}
    inner["c"] = "numpy.tanh(numpy.matmul(t, uc) + numpy.matmul(r * s, wc) + bc)"
    inner["a"] = "(1 - z) * c + z * s"

    def by_jax(jax, p):
        def cell(s, t):
            z, r = (1 / (1 + jax.numpy.exp(-(t @ p[f"u{g}"] + s @ p[f"w{g}"] + p[f"b{g}"]))) for g in "zr")
            c = jax.numpy.tanh(t @ p["uc"] + (r * s) @ p["wc"] + p["bc"])
            s = (1 - z) * c + z * s
            return s, s

        return jax.numpy.sum(jax.lax.scan(cell, p["h"], p["x"])[1] ** 2)

    made = model(parameters, "numpy.sum(p[1] * p[1])", {"cell": (["s", "t"], inner, {"o": "a", "q": "a"})})
    return Workload(f"GRU {units} x {steps}", made, "y", [f"n.{name}" for name in parameters if name != "p"], by_jax)


def mamba(channels: int, states: int, steps: int) -> Workload:
    """The selective scan: a state of channels x states, whose decay and input depend on what comes in."""
    parameters = {
        "x": numbers(steps, channels),
        "delta": (0.1 + 0.1 * np.abs(numbers(steps, channels, seed=1))).tolist(),
        "into": numbers(steps, states, seed=2),
        "out": numbers(steps, states, seed=3),
        "decay": (-np.abs(numbers(channels, states, seed=4))).tolist(),
        "h": np.zeros((channels, states)).tolist(),
        "p": scan("h", ["x", "delta", "into", "out"], "cell"),
    }
    inner = {"d": "numpy.reshape(dt, [-1, 1])", "a": "numpy.exp(d * decay) * s + d * numpy.reshape(xt, [-1, 1]) * bt"}
    body = (["s", "xt", "dt", "bt", "ct"], inner, {"o": "a", "q": "numpy.matmul(a, ct)"})

    def by_jax(jax, p):
        def cell(s, row):
            xt, dt, bt, ct = row
            s = jax.numpy.exp(dt[:, None] * p["decay"]) * s + (dt * xt)[:, None] * bt
            return s, s @ ct

        return jax.numpy.sum(jax.lax.scan(cell, p["h"], (p["x"], p["delta"], p["into"], p["out"]))[1] ** 2)

    made = model(parameters, "numpy.sum(p[1] * p[1])", {"cell": body})
    return Workload(f"Mamba {channels}x{states} x {steps}", made, "y", ["n.x", "n.delta", "n.into", "n.out", "n.decay"], by_jax)


def delta_net(size: int, steps: int) -> Workload:
    """The delta rule: S moves towards what it should give for a key."""
    scale = size**-0.5
    parameters = {"q": numbers(steps, size, scale=scale), "k": numbers(steps, size, scale=scale, seed=1)}
    parameters |= {"v": numbers(steps, size, seed=2), "beta": np.full((steps, 1), 0.5).tolist(), "s0": np.zeros((size, size)).tolist()}
    parameters["p"] = scan("s0", ["q", "k", "v", "beta"], "cell")
    inner = {"e": "bt * (vt - numpy.matmul(s, kt))", "a": "s + numpy.reshape(e, [-1, 1]) * kt"}
    body = (["s", "qt", "kt", "vt", "bt"], inner, {"o": "a", "y": "numpy.matmul(a, qt)"})

    def by_jax(jax, p):
        def cell(s, row):
            qt, kt, vt, bt = row
            s = s + (bt * (vt - s @ kt))[:, None] * kt
            return s, s @ qt

        return jax.numpy.sum(jax.lax.scan(cell, p["s0"], (p["q"], p["k"], p["v"], p["beta"]))[1] ** 2)

    made = model(parameters, "numpy.sum(p[1] * p[1])", {"cell": body})
    return Workload(f"DeltaNet {size} x {steps}", made, "y", ["n.q", "n.k", "n.v", "n.beta"], by_jax)


def fitzhugh_nagumo(neurons: int | None, steps: int) -> Workload:
    start = 0.0 if neurons is None else np.linspace(-1, 1, neurons).tolist()
    zero = 0.0 if neurons is None else [0.0] * neurons
    parameters = {
        "current": {"value": 0.8},
        "a": {"value": 0.7},
        "b": {"value": 0.8},
        "v": {"default_initial_value": start, "time_derivative": "v - v ** 3 / 3 - w + current"},
        "w": {"default_initial_value": zero, "time_derivative": "0.08 * (v + a - b * w)"},
    }

    def by_jax(jax, p):
        def step(state, _):
            v, w = state
            v = v + 0.05 * (v - v**3 / 3 - w + p["current"])
            return (v, w + 0.05 * 0.08 * (v + p["a"] - p["b"] * w)), None

        (v, _), _ = jax.lax.scan(step, (p["v"], jax.numpy.asarray(zero)), None, length=steps - 1)
        return jax.numpy.sum(v**2)

    made = model(parameters, "v * v" if neurons is None else "numpy.sum(v * v)")
    title = f"FitzHugh-Nagumo {neurons or 1} x {steps}"
    return Workload(title, made, "y", ["n.current", "n.a", "n.b", "n.v"], by_jax, steps, 0.05)


def runge_kutta(steps: int) -> Workload:
    """A pendulum by four stages a step, as a Loop."""
    stages = {}
    at = ("s", "s + 0.01 * k1", "s + 0.01 * k2", "s + 0.02 * k3")
    for k, point in enumerate(at, 1):
        stages[f"z{k}"] = point
        stages[f"k{k}"] = f"numpy.matmul(f, z{k}) - g * numpy.sin(z{k})"
    stages["a"] = "s + 0.02 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)"
    parameters = {"f": [[0.0, 1.0], [-0.5, -0.1]], "g": 0.3, "s0": [1.0, 0.0]}
    parameters["p"] = {"function": "onnx::Loop", "args": {"M": steps, "cond": True, "v_initial": "[s0]", "body": "step"}}

    def by_jax(jax, p):
        def rate(s):
            return p["f"] @ s - p["g"] * jax.numpy.sin(s)

        def step(s, _):
            k1 = rate(s)
            k2 = rate(s + 0.01 * k1)
            k3 = rate(s + 0.01 * k2)
            k4 = rate(s + 0.02 * k3)
            return s + 0.02 / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

        return jax.numpy.sum(jax.lax.scan(step, p["s0"], None, length=steps)[0] ** 2)

    body = (["i", "c", "s"], stages, {"c2": "True", "o": "a"})
    return Workload(f"Runge-Kutta 2 x {steps}", model(parameters, "numpy.sum(p * p)", {"step": body}), "y", ["n.f", "n.g", "n.s0"], by_jax)


WORKLOADS = [
    elman(8, 100),
    elman(64, 200),
    elman(128, 100),
    elman(64, 50, batch=32),
    gru(32, 100),
    mamba(64, 16, 100),
    delta_net(32, 100),
    fitzhugh_nagumo(None, 1000),
    fitzhugh_nagumo(100, 1000),
    runge_kutta(500),
]


def value(workload: Workload) -> Callable[[], Any]:
    state = mdf_c.compile(workload.model, graph="g", changeable=workload.wrt).state()
    n_done, n_recorded, error = ctypes.c_uint64(), ctypes.c_uint64(), mdf_c._library.Error()
    dt = math.nan if workload.dt is None else workload.dt

    def evaluate() -> Any:
        state.reset()
        state.evaluate()
        if workload.steps > 1:
            lib.mdf_evaluate_steps(state._pointer, workload.steps - 1, dt, dt, 0.0, None, 0, n_done, n_recorded, error)
        return state.output("n", workload.of)

    return evaluate


def gradient(workload: Workload) -> Callable[[], Any]:
    program = mdf_c.gradient(workload.model, workload.of, workload.wrt, steps=workload.steps, dt=workload.dt, graph="g")
    state = program.state()

    def once() -> Any:
        state.reset()
        state.evaluate(workload.dt)
        results = state.results()
        return results["value"], {name: results[name] for name in workload.wrt}

    return once


def by_jax(workload: Workload) -> tuple[Callable[[], Any], Callable[[], Any]]:
    import jax

    listed = workload.model["m"]["graphs"]["g"]["nodes"]["n"]["parameters"]
    given = {name: p.get("value", p.get("default_initial_value")) for name, p in listed.items() if "function" not in p}
    given = {name: jax.numpy.asarray(value, dtype=float) for name, value in given.items()}
    names = [name.removeprefix("n.") for name in workload.wrt]
    fixed = {name: value for name, value in given.items() if name not in names}
    free = {name: given[name] for name in names}
    value = jax.jit(lambda free: workload.by_jax(jax, free | fixed))
    both = jax.jit(jax.value_and_grad(lambda free: workload.by_jax(jax, free | fixed)))
    return lambda: jax.block_until_ready(value(free)), lambda: jax.block_until_ready(both(free))


def check(workload: Workload, ours: tuple, theirs: tuple) -> None:
    for name in workload.wrt:
        a, b = np.asarray(ours[1][name]), np.asarray(theirs[1][name.removeprefix("n.")])
        worst = np.max(np.abs(a - b)) / max(np.max(np.abs(b)), 1e-30)
        if a.shape != b.shape or not worst < TOLERANCE:
            raise SystemExit(f"{workload.name}: the gradient by {name} differs from jax's by {worst:.1e} of the largest")


def time_all(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            end = time.perf_counter() + ROUND_S
            start = 0.0
            while start < end:
                start = time.perf_counter()
                call()
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def first_ms(call: Callable[[], Callable[[], Any]]) -> tuple[Callable[[], Any], float]:
    start = time.perf_counter()
    made = call()
    made()
    return made, 1e3 * (time.perf_counter() - start)


def check_all(with_jax: bool) -> None:
    """Gradients of all workloads against those of jax; it ends with an error where they differ."""
    if not with_jax:
        print("gradients: jax is not installed")
        return
    for workload in WORKLOADS:
        theirs = by_jax(workload)[1]()
        check(workload, gradient(workload)(), theirs)
    print(f"gradients: {len(WORKLOADS)} loops have those of jax")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--only", default="")
    parser.add_argument("--without-jax", action="store_true")
    parser.add_argument("--check", action="store_true", help="times nothing: the gradients are held against those of jax")
    asked = parser.parse_args()
    try:
        import jax  # noqa: F401

        with_jax = not asked.without_jax
    except ImportError:
        with_jax = False
    if asked.check:
        check_all(with_jax)
        return
    print("| workload | value us | gradient us | ratio | first ms | jax value us | jax gradient us | ratio | first ms | ours / jax |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for workload in (w for w in WORKLOADS if asked.only.lower() in w.name.lower()):
        calls = {"value": value(workload)}
        calls["gradient"], first = first_ms(lambda: gradient(workload))
        cells = [workload.name]
        if with_jax:
            jax_value, jax_both = by_jax(workload)
            _, jax_first = first_ms(lambda: jax_both)
            calls |= {"jax value": jax_value, "jax gradient": jax_both}
            theirs = jax_both()
            check(workload, calls["gradient"](), (theirs[0], theirs[1]))
        us = {name: 1e6 * s for name, s in time_all(calls, asked.rounds).items()}
        cells += [f"{us['value']:.1f}", f"{us['gradient']:.1f}", f"{us['gradient'] / us['value']:.2f}", f"{first:.0f}"]
        if with_jax:
            cells += [f"{us['jax value']:.1f}", f"{us['jax gradient']:.1f}", f"{us['jax gradient'] / us['jax value']:.2f}"]
            cells += [f"{jax_first:.0f}", f"{us['gradient'] / us['jax gradient']:.2f}"]
        print("| " + " | ".join(cells + ["-"] * (10 - len(cells))) + " |", flush=True)


if __name__ == "__main__":
    main()
