#!/usr/bin/env python3
"""Writes tests/data/example_answers.json: what each model of examples/ must print with the options of its row in examples/README.md,
computed here by plain Python,
with numpy for its random numbers, and scipy for differential equations. (The answers of examples/control_flow come from tools/make_control_flow_examples.py.)

    python3 tests/answers/generate_example_answers.py
"""

import json
import math
import pathlib

import numpy as np

ANSWERS = {}


def answer(function):
    """Registers what an example prints: the fields of mdf-run's output that the function returns."""
    ANSWERS[function.__name__] = function()
    return function


@answer
def lif_population():
    v, spikes = [0.0, 0.0, 0.0], []
    for _ in range(8):
        v = [x + (current - x) / 4.0 for x, current in zip(v, [1.5, 2.0, 0.5])]
        spikes.append([x >= 1.0 for x in v])
        v = [0.0 if x >= 1.0 else x for x in v]
    return {"results": {"v_end": v, "spikes": spikes}}


@answer
def linear_attention():
    state, ys = np.zeros((2, 3)), []
    for k, v, q in zip([[1.0, 0.5], [0.25, -1.0], [0.5, 0.5]], [[1.0, 2.0, 3.0], [0.5, 0.25, -0.5], [0.0, 1.0, -1.0]], [[1.0, 1.0], [2.0, -1.0], [0.5, 0.5]]):
        state = state + np.outer(k, v)
        ys.append(np.dot(q, state).tolist())
    return {"results": {"S": state.tolist(), "ys": ys}}


@answer
def elman_rnn():
    W = [[0.5, -0.5, 0.25], [1.0, 0.5, -1.0]]
    R = [[0.1, 0.2, 0.3], [-0.3, 0.0, 0.3], [0.2, -0.2, 0.1]]
    h, seen = [0.0, 0.0, 0.0], []
    for x in [[0, 1], [1, 0]]:
        h = [math.tanh(sum(x[i] * W[i][k] for i in range(2)) + sum(h[i] * R[i][k] for i in range(3))) for k in range(3)]
        seen.append(h)
    return {"results": {"h_end": h, "h_all": seen}}


@answer
def newton_sqrt():
    x, n, more = 10.0, 0, True
    while more:
        next_x = (x + 10 / x) / 2
        x, n, more = next_x, n + 1, abs(next_x - x) > 1e-12
    return {"results": {"x": x, "iterations": n}}


@answer
def compound_interest():
    history = [100.0 * 1.04**year for year in range(1, 31)]
    return {"results": {"balance": history[-1], "history": history}}


@answer
def if_unequal_branches():
    return {"results": {"report": [1.0, 2.0, 3.0, 6.0]}}


@answer
def multiplication_table():
    return {"results": {"products": [[row * column for column in range(1, 5)] for row in range(1, 4)]}}


@answer
def shared_body():
    return {"results": {"position": 1 - 2.0**-2, "long_walk.position": 1 - 2.0**-20}}


@answer
def fitzhugh_nagumo():
    v = w = 0.0
    for _ in range(999):  # the first step sets the initial values; w sees the new v
        v += 0.05 * (v - v**3 / 3 - w + 0.8)
        w += 0.05 * (0.08 * (v + 0.7 - 0.8 * w))
    return {"results": {"V": v, "W": w}}


@answer
def cooling():
    return {"results": {"temperature": 20.0 + 70.0 * (1 - 10 / 300) ** 60, "drinkable": True}}


@answer
def traffic_light():
    return {"trace": [{"outputs": {"light": {"lamp": step % 4}}} for step in range(8)]}


@answer
def weighted_edges():
    net = [2.5 * 1.0 - 1.0 * 0.0, 2.5 * 0.0 - 0.5 * 1.0]
    return {"results": {"out": [1 / (1 + math.exp(-x)) for x in net], "net": net}}


@answer
def race():
    totals = []
    for drive in (1.0, 0.8):
        rate, total = 1 / (1 + math.exp(-2 * (drive - 0.5))), 0.0
        for _ in range(20):
            total += (rate - 0.2 * total) * 0.1
        totals.append(total)
    return {"results": {"lead": totals[0] - totals[1]}, "outputs": {"left": {"total": totals[0]}, "right": {"total": totals[1]}}}


@answer
def recurrence():
    trace, back = [], 1.0
    for _ in range(5):
        trace.append({"outputs": {"grow": {"out": 2 * back}, "damp": {"out": 2 * back - 0.5}}})
        back = 2 * back - 0.5
    return {"trace": trace}


@answer
def slow_and_fast():
    schedule, fast, slow, fused, passes = [], 0, 0, 0, 0
    while fused < 3:
        sensors = ["fast"] + (["slow"] if passes % 3 == 0 else [])
        schedule.append(sensors)
        fast, slow, passes = fast + 1, slow + 10 * (len(sensors) - 1), passes + 1
        if "slow" in sensors:
            schedule.append(["fuse"])
            fused += 1
    outputs = {"fast": {"reading": fast}, "slow": {"reading": slow}, "fuse": {"mean": (fast + slow) / 2}}
    return {"trace": [{"outputs": outputs, "schedule": schedule}]}


@answer
def drift_diffusion():
    generator = np.random.RandomState(3)

    def trial(start, drift, noise):
        x, n = start, 0
        while abs(x) < 1.0:
            x, n = x + generator.normal(drift * 0.01, noise * 0.1), n + 1
        return math.copysign(0.3 + n * 0.01, x)

    times = [[trial(start, drift, 0.8) for drift in (0.2, 1.0, 3.0)] for start in (0.0, 0.5)]
    return {"results": {"times": times, "times_without_noise": [trial(0.0, drift, 0.0) for drift in (0.2, 1.0, 3.0)],
                        "share_of_yes": sum(time > 0 for row in times for time in row) / 6}}


@answer
def actr_retrieval():
    return {"results": {"rule": "know", "goal": {"buffer": "goal", "ISA": "say", "word": "Rome"}}}


def solve(side, start, end, events=None):
    """The last value, to all digits that count here."""
    from scipy.integrate import solve_ivp

    return solve_ivp(side, (0, end), start, method="LSODA", rtol=1e-11, atol=1e-12, events=events)


@answer
def hodgkin_huxley():
    def side(t, y):
        v, m, h, n = y
        x_m, x_n = (v + 40) / 10, (v + 55) / 10
        rise = [x_m / (1 - math.exp(-x_m)), 0.07 * math.exp(-(v + 65) / 20), 0.1 * x_n / (1 - math.exp(-x_n))]
        fall = [4 * math.exp(-(v + 65) / 18), 1 / (1 + math.exp(-(v + 35) / 10)), 0.125 * math.exp(-(v + 65) / 80)]
        return [10 - 120 * m**3 * h * (v - 50) - 36 * n**4 * (v + 77) - 0.3 * (v + 54.387), *(a * (1 - x) - b * x for a, b, x in zip(rise, fall, (m, h, n)))]

    return {"results": {"V": solve(side, [-65.0, 0.0529, 0.5961, 0.3177], 50.0).y[0, -1]}}


@answer
def izhikevich_population():
    def neuron(a, c, d):
        def side(t, y):
            return [0.04 * y[0] ** 2 + 5 * y[0] + 140 - y[1] + 10, a * (0.2 * y[0] - y[1])]

        def fires(t, y):
            return y[0] - 30

        fires.terminal, fires.direction = True, 1
        time, y, spikes = 0.0, [-65.0, -13.0], 0
        while time < 100:
            found = solve(side, y, 100.0 - time, fires)
            time, y = time + found.t[-1], list(found.y[:, -1])
            if found.status == 1:
                y, spikes = [c, y[1] + d], spikes + 1
        return y[0], float(spikes)

    ends = [neuron(a, c, d) for a, c, d in ((0.02, -65.0, 8.0), (0.02, -55.0, 4.0), (0.02, -50.0, 2.0), (0.1, -65.0, 2.0))]
    return {"results": {"V": [v for v, _ in ends], "spikes": [n for _, n in ends]}}


@answer
def bouncing_ball():
    begin, up = -math.sqrt(2 / 9.81), math.sqrt(2 * 9.81)
    while begin + 2 * up / 9.81 < 3.0:
        begin, up = begin + 2 * up / 9.81, 0.8 * up
    t = 3.0 - begin
    return {"results": {"height": up * t - 0.5 * 9.81 * t * t, "speed": up - 9.81 * t}}


@answer
def lorenz():
    def side(y):
        return np.array([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])

    y, h = np.ones(3), 0.01
    for _ in range(100):
        a = side(y)
        b = side(y + h / 2 * a)
        c = side(y + h / 2 * b)
        y = y + h / 6 * (a + 2 * b + 2 * c + side(y + h * c))
    return {"results": {"Y": y.tolist()}}


@answer
def van_der_pol():
    return {"results": {"X": solve(lambda t, y: [y[1], 5 * (1 - y[0] ** 2) * y[1] - y[0]], [2.0, 0.0], 20.0).y[0, -1]}}


@answer
def robertson():
    def side(t, y):
        a, b, c = y
        return [-0.04 * a + 1e4 * b * c, 0.04 * a - 1e4 * b * c - 3e7 * b**2, 3e7 * b**2]

    return {"results": dict(zip("ABC", solve(side, [1.0, 0.0, 0.0], 40.0).y[:, -1].tolist()))}


def main():
    lines = (f'"{path.name}": {json.dumps(ANSWERS[path.stem])}' for path in sorted(pathlib.Path("examples").glob("*.*"))
             if path.suffix != ".md")
    pathlib.Path("tests/data/example_answers.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
