#!/usr/bin/env python3
"""Error against time of the methods for time derivatives (docs/time.md), beside scipy's solve_ivp and, of the Hodgkin-Huxley neuron, hand-written C with CVODE.

    python3 bench/work_precision.py [--build build] [--rounds 3]

A row is a problem, a method and what it was asked for; its error is that of the last value, relative to the greatest that it has, against scipy's
Radau at 1e-12; its time the least of the rounds, of solving alone. The times that values are asked at are the same for all. scipy calls a right-hand side in Python."""
import argparse
import json
import os
import subprocess
import tempfile
import time

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
STIFF = ("van der Pol, mu 1000", "Robertson")


def hodgkin_huxley(t, y):
    v, m, h, n = y
    x_m, x_n = (v + 40) / 10, (v + 55) / 10
    am = x_m / (1 - np.exp(-x_m)) if abs(x_m) > 1e-6 else 1 + x_m / 2
    an = 0.1 * x_n / (1 - np.exp(-x_n)) if abs(x_n) > 1e-6 else 0.1 + 0.05 * x_n
    bm, ah, bh, bn = 4 * np.exp(-(v + 65) / 18), 0.07 * np.exp(-(v + 65) / 20), 1 / (1 + np.exp(-(v + 35) / 10)), 0.125 * np.exp(-(v + 65) / 80)
    return [10 - 120 * m**3 * h * (v - 50) - 36 * n**4 * (v + 77) - 0.3 * (v + 54.387), am * (1 - m) - bm * m, ah * (1 - h) - bh * h, an * (1 - n) - bn * n]


def fitzhugh_nagumo(t, y):
    return [y[0] - y[0] ** 3 / 3 - y[1] + 0.8, 0.08 * (y[0] + 0.7 - 0.8 * y[1])]


def van_der_pol(t, y):
    return [y[1], 1000 * (1 - y[0] ** 2) * y[1] - y[0]]


def robertson(t, y):
    a, b, c = y
    return [-0.04 * a + 1e4 * b * c, 0.04 * a - 1e4 * b * c - 3e7 * b**2, 3e7 * b**2]


def lorenz(t, y):
    return [10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]]


def run_engine(arguments, file, port, steps, dt, extra):
    """The last value of a port, and the least time of all repetitions."""
    command = [os.path.join(arguments.build, "mdf-run"), os.path.join("examples", file), "--steps", str(steps + 1), "--dt", repr(dt), "--time",
               "--repeat", str(arguments.rounds), *extra]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return None
    value = json.loads(done.stdout)["results"][port]
    return (value[0] if isinstance(value, list) else value), min(json.loads(done.stderr)["evaluate_s"])


def engine_rows(arguments, problem, file, port, steps, dt):
    """Methods of fixed steps with some lengths, others with some tolerances."""
    for method in ("euler", "exponential_euler", "heun", "rk4"):
        for parts in (10, 100, 1000) if problem not in STIFF else ():
            yield f"{method}, dt {dt / parts:g}", run_engine(arguments, file, port, steps * parts, dt / parts, ["--method", method])
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
            yield f"scipy {method}, {tolerance:g} ({found.nfev} evaluations)", (found.y[index, -1], best)


def by_hand(arguments, end, dt, tolerance):
    """The Hodgkin-Huxley neuron in C with CVODE; None where SUNDIALS or a compiler is not there."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "by_hand")
        compiled = subprocess.run(["cc", "-O3", "-o", program, "bench/c/hodgkin_huxley_cvode.c", "-lsundials_cvodes", "-lm"], capture_output=True)
        if compiled.returncode != 0:
            return None
        runs = [subprocess.run([program, str(end), str(dt), str(tolerance)], capture_output=True, text=True).stdout.split() for _ in range(arguments.rounds)]
    return float(runs[0][0]), min(float(run[1]) for run in runs)


def one_second(arguments):
    """A second of the Hodgkin-Huxley neuron at 1e-6, values every 0.1 ms and every 10 ms."""
    print("| Hodgkin-Huxley, 1 s at 1e-6 | values every | v at the end | ms |\n| --- | --- | --- | --- |")
    for dt in (0.1, 10.0):
        rows = [("hand-written C with CVODE (BDF)", by_hand(arguments, 1000, dt, 1e-6))]
        rows += [(f"mdf-run --method {method}", run_engine(arguments, "hodgkin_huxley.yaml", "V", round(1000 / dt), dt, ["--method", method, "--rtol", "1e-6", "--atol", "1e-6"]))
                 for method in ("cvode_bdf", "cvode_adams", "dopri5")]
        begin = time.perf_counter()
        found = solve_ivp(hodgkin_huxley, (0, 1000), PROBLEMS["Hodgkin-Huxley"][5], method="LSODA", t_eval=np.linspace(0, 1000, round(1000 / dt) + 1), rtol=1e-6, atol=1e-6)
        rows.append(("scipy LSODA", (found.y[0, -1], time.perf_counter() - begin)))
        for name, outcome in rows:
            if outcome is not None:
                print(f"| {name} | {dt:g} ms | {outcome[0]:.6f} | {1e3 * outcome[1]:.1f} |", flush=True)
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="one problem")
    arguments = parser.parse_args()
    if arguments.only in (None, "Hodgkin-Huxley"):
        one_second(arguments)
    for problem, (file, port, steps, dt, side, start, index) in PROBLEMS.items():
        if arguments.only not in (None, problem):
            continue
        side, times = globals()[side], np.linspace(0, steps * dt, steps + 1)
        exact = solve_ivp(side, (0, times[-1]), start, method="Radau", t_eval=times, rtol=1e-12, atol=1e-14).y[index]
        print(f"| {problem}, {steps} values to {times[-1]:g} | error | ms |\n| --- | --- | --- |")
        rows = list(engine_rows(arguments, problem, file, port, steps, dt)) + list(scipy_rows(arguments, problem, side, start, index, times))
        for name, outcome in rows:
            if outcome is None:
                print(f"| {name} | fails | |")
            else:
                print(f"| {name} | {abs(outcome[0] - exact[-1]) / max(abs(exact)):.1e} | {1e3 * outcome[1]:.2f} |", flush=True)
        print()


if __name__ == "__main__":
    main()
