#!/usr/bin/env python3
"""Error against evaluations and time of the methods for time derivatives (docs/time.md), beside scipy's solve_ivp, Myokit (CVODES) and diffrax where these are installed
and, of the Hodgkin-Huxley neuron, hand-written C with CVODE.

    python3 bench/work_precision.py [--build build] [--rounds 3] [--plot FOLDER]

A row is a problem, a method and what it was asked for; its error is that of the last value, relative to the greatest that it has, against scipy's
Radau at 1e-12; its time the least of the rounds, of solving alone. The times that values are asked at are the same for all. scipy calls a right-hand side in Python; what
Myokit and diffrax compile first (seconds) is not counted. Evaluations of the right-hand side are told where the method, or the library, says how many there were. Behind
the problems, events: the times of a ball's first bounces against the exact ones. With --plot, and matplotlib, an SVG of each problem."""
import argparse
import importlib.util
import itertools
import json
import math
import os
import subprocess
import tempfile
import time

import numpy
import numpy as np
from scipy.integrate import solve_ivp

PROBLEMS = {
    # name: (file, port, steps, dt, right-hand side, initial values, index of the port)
    "Hodgkin-Huxley": ("hodgkin_huxley.yaml", "V", 100, 1.0, "hodgkin_huxley", [-65.0, 0.0529, 0.5961, 0.3177], 0),
    "FitzHugh-Nagumo": ("fitzhugh_nagumo.yaml", "V", 200, 0.5, "fitzhugh_nagumo", [0.0, 0.0], 0),
    "van der Pol, mu 1000": ("van_der_pol.yaml", "X", 20, 100.0, "van_der_pol", [2.0, 0.0], 0),
    "Robertson": ("robertson.yaml", "A", 4, 1e3, "robertson", [1.0, 0.0, 0.0], 0),
    "Lorenz": ("lorenz.yaml", "Y", 100, 0.05, "lorenz", [1.0, 1.0, 1.0], 0),
}
MYOKIT = {
    "hodgkin_huxley": """
x_m = (v + 40) / 10
x_n = (v + 55) / 10
am = if(abs(x_m) > 1e-6, x_m / (1 - exp(-x_m)), 1 + x_m / 2)
an = if(abs(x_n) > 1e-6, 0.1 * x_n / (1 - exp(-x_n)), 0.1 + 0.05 * x_n)
dot(v) = 10 - 120 * m^3 * h * (v - 50) - 36 * n^4 * (v + 77) - 0.3 * (v + 54.387)
dot(m) = am * (1 - m) - 4 * exp(-(v + 65) / 18) * m
dot(h) = 0.07 * exp(-(v + 65) / 20) * (1 - h) - 1 / (1 + exp(-(v + 35) / 10)) * h
dot(n) = an * (1 - n) - 0.125 * exp(-(v + 65) / 80) * n
""",
    "fitzhugh_nagumo": "dot(v) = v - v^3 / 3 - w + 0.8\ndot(w) = 0.08 * (v + 0.7 - 0.8 * w)\n",
    "van_der_pol": "dot(x) = y\ndot(y) = 1000 * (1 - x^2) * y - x\n",
    "robertson": "dot(a) = -0.04 * a + 1e4 * b * c\ndot(b) = 0.04 * a - 1e4 * b * c - 3e7 * b^2\ndot(c) = 3e7 * b^2\n",
    "lorenz": "dot(x) = 10 * (y - x)\ndot(y) = x * (28 - z) - y\ndot(z) = x * y - 8 / 3 * z\n",
}
STAGES = {"euler": 1, "exponential_euler": 1, "heun": 2, "rk4": 4}
STIFF = ("van der Pol, mu 1000", "Robertson")


def hodgkin_huxley(t, y, np=np):
    v, m, h, n = y
    x_m, x_n = (v + 40) / 10, (v + 55) / 10
    if np is numpy:
        am = x_m / (1 - np.exp(-x_m)) if abs(x_m) > 1e-6 else 1 + x_m / 2
        an = 0.1 * x_n / (1 - np.exp(-x_n)) if abs(x_n) > 1e-6 else 0.1 + 0.05 * x_n
    else:
        am = np.where(abs(x_m) > 1e-6, x_m / (1 - np.exp(-x_m)), 1 + x_m / 2)
        an = np.where(abs(x_n) > 1e-6, 0.1 * x_n / (1 - np.exp(-x_n)), 0.1 + 0.05 * x_n)
    bm, ah, bh, bn = 4 * np.exp(-(v + 65) / 18), 0.07 * np.exp(-(v + 65) / 20), 1 / (1 + np.exp(-(v + 35) / 10)), 0.125 * np.exp(-(v + 65) / 80)
    return [10 - 120 * m**3 * h * (v - 50) - 36 * n**4 * (v + 77) - 0.3 * (v + 54.387), am * (1 - m) - bm * m, ah * (1 - h) - bh * h, an * (1 - n) - bn * n]


def fitzhugh_nagumo(t, y, np=np):
    return [y[0] - y[0] ** 3 / 3 - y[1] + 0.8, 0.08 * (y[0] + 0.7 - 0.8 * y[1])]


def van_der_pol(t, y, np=np):
    return [y[1], 1000 * (1 - y[0] ** 2) * y[1] - y[0]]


def robertson(t, y, np=np):
    a, b, c = y
    return [-0.04 * a + 1e4 * b * c, 0.04 * a - 1e4 * b * c - 3e7 * b**2, 3e7 * b**2]


def lorenz(t, y, np=np):
    return [10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]]


def run_engine(arguments, file, port, steps, dt, extra):
    """The last value of a port, and the least time of all repetitions."""
    command = [os.path.join(arguments.build, "mdf-run"), os.path.join("examples", file), "--steps", str(steps + 1), "--dt", repr(dt), "--time",
               "--repeat", str(arguments.rounds), *extra]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return None
    value = json.loads(done.stdout)["results"][port]
    return (value[0] if isinstance(value, list) else value), min(json.loads(done.stderr)["evaluate_s"]), None


def engine_rows(arguments, problem, file, port, steps, dt):
    """Methods of fixed steps with some lengths, others with some tolerances."""
    for method in ("euler", "exponential_euler", "heun", "rk4"):
        for parts in (10, 100, 1000) if problem not in STIFF else ():
            found = run_engine(arguments, file, port, steps * parts, dt / parts, ["--method", method])
            yield f"{method}, dt {dt / parts:g}", found and (*found[:2], STAGES[method] * steps * parts)
    for method in ("dopri5", "cvode_adams", "cvode_bdf"):
        for tolerance in (1e-4, 1e-6, 1e-8, 1e-10) if problem not in STIFF or method == "cvode_bdf" else ():
            extra = ["--method", method, "--rtol", repr(tolerance), "--atol", repr(tolerance * (1e-4 if problem == "Robertson" else 1))]
            yield f"{method}, {tolerance:g}", run_engine(arguments, file, port, steps, dt, extra)


def scipy_rows(arguments, problem, side, start, index, times):
    for method in ("LSODA",) if problem in STIFF else ("RK45", "LSODA"):
        for tolerance in (1e-6, 1e-8):
            def solve():
                return solve_ivp(side, (0, times[-1]), start, method=method, t_eval=times, rtol=tolerance, atol=tolerance * (1e-4 if problem == "Robertson" else 1))

            best, found = np.inf, None
            for _ in range(arguments.rounds):
                begin = time.perf_counter()
                found = solve()
                best = min(best, time.perf_counter() - begin)
            yield f"scipy {method}, {tolerance:g}", (found.y[index, -1], best, found.nfev)


def least(arguments, solve):
    """What the last of the rounds gives, and the least time of all."""
    best, found = np.inf, None
    for _ in range(arguments.rounds):
        begin = time.perf_counter()
        found = solve()
        best = min(best, time.perf_counter() - begin)
    return found, best


def new_myokit(name, start):
    import myokit

    names = [line.split(")")[0][4:] for line in MYOKIT[name].splitlines() if line.startswith("dot(")]
    head = "[[model]]\n" + "".join(f"all.{state} = {value!r}\n" for state, value in zip(names, start))
    return myokit.Simulation(myokit.parse_model(head + "[engine]\ntime = 0 bind time\n[all]\n" + MYOKIT[name])), [f"all.{state}" for state in names]


def myokit_rows(arguments, problem, name, start, index, times):
    if importlib.util.find_spec("myokit") is None:
        return
    simulation, names = new_myokit(name, start)
    for tolerance in (1e-4, 1e-6, 1e-8):
        simulation.set_tolerance(tolerance * (1e-4 if problem == "Robertson" else 1), tolerance)

        def solve():
            simulation.reset()
            return simulation.run(times[-1], log=["engine.time", *names], log_times=times)

        _, best = least(arguments, solve)
        yield f"Myokit (CVODES), {tolerance:g}", (simulation.state()[index], best, simulation.last_number_of_evaluations())


def diffrax_rows(arguments, problem, side, start, index, times):
    if importlib.util.find_spec("diffrax") is None:
        return
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import diffrax
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    term = diffrax.ODETerm(lambda t, y, _: jnp.stack(side(t, y, jnp)))
    solver = diffrax.Kvaerno5() if problem in STIFF else diffrax.Dopri5()
    for tolerance in (1e-4, 1e-6, 1e-8):
        control = diffrax.PIDController(rtol=tolerance, atol=tolerance * (1e-4 if problem == "Robertson" else 1))

        @jax.jit
        def compiled(y, control=control):
            save = diffrax.SaveAt(ts=jnp.asarray(times))
            found = diffrax.diffeqsolve(term, solver, 0.0, times[-1], None, y, saveat=save, stepsize_controller=control, max_steps=10**7, throw=False)
            return found.ys, found.stats["num_steps"]

        first = jnp.asarray(start, dtype=float)
        compiled(first)[0].block_until_ready()
        (values, n_steps), best = least(arguments, lambda compiled=compiled, first=first: jax.block_until_ready(compiled(first)))
        yield f"diffrax {type(solver).__name__}, {tolerance:g}", (float(values[-1, index]), best, None if problem in STIFF else 6 * int(n_steps) + 1)


def by_hand(arguments, end, dt, tolerance):
    """The Hodgkin-Huxley neuron in C with CVODE; None where SUNDIALS or a compiler is not there."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "by_hand")
        compiled = subprocess.run(["cc", "-O3", "-o", program, "bench/c/hodgkin_huxley_cvode.c", "-lsundials_cvodes", "-lm"], capture_output=True)
        if compiled.returncode != 0:
            return None
        runs = [subprocess.run([program, str(end), str(dt), str(tolerance)], capture_output=True, text=True).stdout.split() for _ in range(arguments.rounds)]
    return float(runs[0][0]), min(float(run[1]) for run in runs), None


def one_second(arguments):
    """A second of the Hodgkin-Huxley neuron at 1e-6, values every 0.1 ms and every 10 ms."""
    print("| Hodgkin-Huxley, 1 s at 1e-6 | values every | v at the end | ms |\n| --- | --- | --- | --- |")
    for dt in (0.1, 10.0):
        rows = [("hand-written C with CVODE (BDF)", by_hand(arguments, 1000, dt, 1e-6))]
        rows += [(f"mdf-run --method {method}", run_engine(arguments, "hodgkin_huxley.yaml", "V", round(1000 / dt), dt, ["--method", method, "--rtol", "1e-6", "--atol", "1e-6"]))
                 for method in ("cvode_bdf", "cvode_adams", "dopri5")]
        begin = time.perf_counter()
        found = solve_ivp(hodgkin_huxley, (0, 1000), PROBLEMS["Hodgkin-Huxley"][5], method="LSODA", t_eval=np.linspace(0, 1000, round(1000 / dt) + 1), rtol=1e-6, atol=1e-6)
        rows.append(("scipy LSODA", (found.y[0, -1], time.perf_counter() - begin, found.nfev)))
        if importlib.util.find_spec("myokit") is not None:
            simulation, names = new_myokit("hodgkin_huxley", PROBLEMS["Hodgkin-Huxley"][5])
            simulation.set_tolerance(1e-6, 1e-6)

            def solve(simulation=simulation, names=names, dt=dt):
                simulation.reset()
                simulation.run(1000, log=["engine.time", *names], log_interval=dt)
                return simulation.state()[0]

            rows.append(("Myokit (CVODES)", least(arguments, solve)))
        for name, outcome in rows:
            if outcome is not None:
                print(f"| {name} | {dt:g} ms | {outcome[0]:.6f} | {1e3 * outcome[1]:.1f} |", flush=True)
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="one problem, or events")
    parser.add_argument("--plot", metavar="FOLDER", help="write plots there")
    arguments = parser.parse_args()
    if arguments.only in (None, "Hodgkin-Huxley"):
        one_second(arguments)
    for problem, (file, port, steps, dt, side, start, index) in PROBLEMS.items():
        if arguments.only not in (None, problem):
            continue
        side, times = globals()[side], np.linspace(0, steps * dt, steps + 1)
        exact = solve_ivp(side, (0, times[-1]), start, method="Radau", t_eval=times, rtol=1e-12, atol=1e-14).y[index]
        print(f"| {problem}, {steps} values to {times[-1]:g} | error | evaluations | ms |\n| --- | --- | --- | --- |")
        points = {}
        for rows in (
            engine_rows(arguments, problem, file, port, steps, dt),
            scipy_rows(arguments, problem, side, start, index, times),
            myokit_rows(arguments, problem, PROBLEMS[problem][4], start, index, times),
            diffrax_rows(arguments, problem, side, start, index, times),
        ):
            for name, outcome in rows:
                if outcome is None:
                    print(f"| {name} | fails | | |")
                    continue
                error = abs(outcome[0] - exact[-1]) / max(abs(exact))
                print(f"| {name} | {error:.1e} | {outcome[2] or ''} | {1e3 * outcome[1]:.2f} |", flush=True)
                points.setdefault(name.split(",")[0], []).append((error, outcome[2], outcome[1]))
        print()
        if arguments.plot:
            plot(arguments.plot, problem, points)
    if arguments.only in (None, "events"):
        events(arguments)


ROBERTSON_END = 0.2083340149701255e-7  # at 1e11: Hairer, Wanner, Solving Ordinary Differential Equations II, test set


def events(arguments):
    """Robertson's equations to 1e11; the times of the first five bounces of a ball, against the exact ones."""
    for tolerance in (1e-6, 1e-8):
        found = run_engine(arguments, "robertson.yaml", "A", 1, 1e11, ["--method", "cvode_bdf", "--rtol", repr(tolerance), "--atol", repr(tolerance * 1e-10)])
        print(f"Robertson to 1e11, cvode_bdf, {tolerance:g}: relative error {abs(found[0] / ROBERTSON_END - 1):.1e}, {1e3 * found[1]:.2f} ms")
    fall, rest = math.sqrt(2 * 1.0 / 9.81), 0.8
    exact = [fall + 2 * fall * sum(rest**k for k in range(1, n + 1)) for n in range(5)]
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "ball.yaml")
        with open(model, "w") as file:
            file.write(BALL)
        for method, tolerance in itertools.product(("dopri5", "cvode_adams", "cvode_bdf"), (1e-10, 1e-11)):
            tolerances = ["--rtol", repr(tolerance), "--atol", repr(0.01 * tolerance)]
            command = [os.path.join(arguments.build, "mdf-run"), model, "--steps", "1501", "--dt", "0.002", "--method", method, *tolerances, "--trace"]
            trace = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["trace"]
            times = sorted({step["outputs"]["ball"]["hit_time"] for step in trace} - {-1.0})[:5]
            print(f"bounces of a ball, {method}, {tolerance:g}: {max(abs(a - b) for a, b in zip(times, exact)):.1e} s from the exact times of {len(times)}")


BALL = """
ball:
  graphs:
    fall:
      nodes:
        ball:
          metadata: {events: {hit: {crosses: height, direction: falling}}}
          parameters:
            height: {default_initial_value: 1.0, time_derivative: speed}
            speed:
              default_initial_value: 0.0
              time_derivative: -9.81
              conditions: [{id: bounce, test: 'numpy.logical_and(height <= 0, speed < 0)', value: -0.8 * speed}]
          output_ports: {height: {value: height}}
"""


def plot(folder, problem, points):
    try:
        import matplotlib

        matplotlib.use("svg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("(no plots: matplotlib is not installed)\n")
        return
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True)
    for name, rows in points.items():
        rows = [row for row in rows if row[0] > 0]
        counted = [row for row in rows if row[1]]
        axes[0].loglog([row[1] for row in counted], [row[0] for row in counted], "o-", label=name)
        axes[1].loglog([1e3 * row[2] for row in rows], [row[0] for row in rows], "o-", label=name)
    axes[0].set(xlabel="evaluations of the right-hand side", ylabel="relative error", title=problem)
    axes[1].set(xlabel="ms")
    axes[1].legend(fontsize=7)
    os.makedirs(folder, exist_ok=True)
    figure.tight_layout()
    figure.savefig(os.path.join(folder, "".join(c if c.isalnum() else "_" for c in problem) + ".svg"))
    plt.close(figure)


if __name__ == "__main__":
    main()
