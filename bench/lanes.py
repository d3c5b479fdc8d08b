"""Sweeps beside C written by hand, sixteen instances side by side: ns of a processor for an instance and step.

usage: lanes.py [--mdf-run build/mdf-run] [--only NAME] [--rounds 5] [--instances 4096] [--steps 4000]

Each figure is the least of all rounds, in which all take turns; what starting takes is left out, as few steps are taken off many.
All are processor time; cost(2) is that of two threads over that of one, times(2) how many times faster two threads are by the time
that passes, which says something where two processors have nothing else to do. Then the milliseconds of processor of 120,000 first
passages, without what a program takes that evaluates one: of a grid, where neighbours are much alike, and of drifts that are drawn.
Needs gcc; results are held against those of C."""

import argparse
import ctypes
import json
import os
import resource
import subprocess
import tempfile
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))


def node(parameters, outputs):
    return {"m": {"graphs": {"g": {"nodes": {"n": {"parameters": parameters, "output_ports": {k: {"value": v} for k, v in outputs.items()}}}}}}}


def value(text):
    return {"value": text}


def state(initial, text):
    return {"default_initial_value": initial, "value": text}


def slope(initial, text):
    return {"default_initial_value": initial, "time_derivative": text}


W = [[2.2, -2.2, 4.0], [-2.2, 2.2, 4.0], [2.6, -2.6, 0.0], [-2.6, 2.6, 0.0]]
U = [[1.3, -1.3, 2.5, -2.5], [-1.3, 1.3, -2.5, 2.5]]
#: name: (model, parameters and their ranges, dt, the largest relative difference by precision)
MODELS = {
    "fitzhugh": (
        node(
            {"current": value(0.8), "a": value(0.7), "v": slope(0.0, "v - v * v * v / 3 - w + current"), "w": slope(0.0, "0.08 * (v + a - 0.8 * w)")},
            {"V": "v", "W": "w"},
        ),
        {"a": (0.5, 0.9), "current": (0.0, 0.3)},
        0.05,
    ),
    "diffusion": (
        node(
            {
                "drift": value(0.3),
                "threshold": value(0.5),
                "x": state(0.0, "x + drift * 0.001 if abs(x) < threshold else x"),
                "t": state(0.0, "t + 0.001 if abs(x) < threshold else t"),
            },
            {"X": "x", "T": "t"},
        ),
        {"drift": (0.1, 2.0), "threshold": (0.2, 1.0)},
        None,
    ),
    "lca": (
        node(
            {
                "i": value(1.0),
                "beta": value(0.2),
                "a": state(0.0, "a + 0.01 * (i - 0.2 * a - beta * (a2 if a2 > 0 else 0.0))"),
                "b": state(0.0, "b + 0.01 * (1.0 - 0.2 * b - beta * (a if a > 0 else 0.0))"),
                "a2": state(0.0, "b"),
            },
            {"A": "a", "B": "b"},
        ),
        {"i": (0.8, 1.2), "beta": (0.05, 0.15)},
        None,
    ),
    "izhikevich": (
        node(
            {
                "i": value(10.0),
                "d": value(8.0),
                "v": state(-65.0, "-65.0 if v >= 30 else v + 0.5 * (0.04 * v * v + 5.0 * v + 140.0 - u + i)"),
                "u": state(-13.0, "u + d if v == -65.0 else u + 0.5 * 0.02 * (0.2 * v - u)"),
            },
            {"V": "v", "U": "u"},
        ),
        {"i": (4.0, 12.0), "d": (2.0, 8.0)},
        None,
    ),
    "stroop": (
        node(
            {
                "gain": value(1.0),
                "strength": value(1.0),
                "w": value(W),
                "s": value([1.0, 0.0, 0.5]),
                "u": value(U),
                "h": state([0.0] * 4, "h + 0.1 * (numpy.dot(w, s) * strength - h)"),
                "a": value("1.0 / (1.0 + numpy.exp(-gain * h))"),
                "o": state([0.0] * 2, "o + 0.1 * (numpy.dot(u, a) - o)"),
            },
            {"F": "o[0]", "S": "o[1]"},
        ),
        {"gain": (0.5, 1.5), "strength": (0.2, 0.6)},
        None,
    ),
}


class Sweep:
    def __init__(self, settings, folder, name):
        self.settings, self.folder, self.name = settings, folder, name
        self.model, self.ranges, self.dt = MODELS[name]
        self.side = int(round(settings.instances**0.5))
        self.path = os.path.join(folder, name + ".json")
        with open(self.path, "w") as file:
            json.dump(self.model, file)

    def run(self, steps, *options):
        """Processor time and time of a run, in s; the results."""
        swept = {"n." + k: {"linspace": [*ends, self.side]} for k, ends in self.ranges.items()}
        sweep = {"parameters": swept, "steps": steps, **({"dt": self.dt} if self.dt else {})}
        file, out = (os.path.join(self.folder, "sweep" + e) for e in (".json", ".npz"))
        with open(file, "w") as f:
            json.dump(sweep, f)
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run([self.settings.mdf_run, "--sweep", file, self.path, "-o", out, "--quiet", *options], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.perf_counter() - begin, dict(np.load(out))

    def hand(self, library, steps, dtype):
        function = getattr(library, self.name)
        grid = [v.ravel().astype(dtype) for v in np.meshgrid(*(np.linspace(*ends, self.side) for ends in self.ranges.values()), indexing="ij")]
        outs = [np.zeros(self.side**2, dtype) for _ in range(2)]
        begin = time.process_time()
        function(ctypes.c_size_t(self.side**2), ctypes.c_uint64(steps), *(ctypes.c_void_p(x.ctypes.data) for x in grid + outs))
        return time.process_time() - begin, outs


TYPES = {"double": (np.float64, []), "float": (np.float32, ["--float32"])}
WAYS = {"1": ["--threads", "1"], "2": ["--threads", "2"], "alone": ["--threads", "1", "--lanes", "1"]}


def measure(sweep, libraries, settings):
    """The least ns for an instance and step by (type, way): C, the ways, and the time that passes of one thread and of two."""
    best = {}

    def note(key, seconds, steps):
        best[key] = min(best.get(key, np.inf), seconds / sweep.side**2 / steps * 1e9)

    for _ in range(settings.rounds):
        for kind, (dtype, options) in TYPES.items():
            note((kind, "C"), sweep.hand(libraries[kind], settings.steps, dtype)[0], settings.steps)
            for way, others in WAYS.items():
                many = settings.steps // (10 if way == "alone" else 1)
                few = many // 10
                times = [sweep.run(steps, *options, *others)[:2] for steps in (few, many)]
                note((kind, way), times[1][0] - times[0][0], many - few)
                note((kind, way, "passed"), times[1][1] - times[0][1], many - few)
    got = sweep.run(settings.steps, "--threads", "1")[2]
    want = sweep.hand(libraries["double"], settings.steps, np.float64)[1]
    names = list(next(iter(next(iter(sweep.model.values()))["graphs"].values()))["nodes"]["n"]["output_ports"])
    differs = max(float(np.max(np.abs(got["n." + k].ravel() - w))) / max(1e-30, float(np.max(np.abs(w)))) for k, w in zip(names, want))
    return best, differs


def row(name, best, differs):
    cells = [name]
    for kind in TYPES:
        c, one, two = best[kind, "C"], best[kind, "1"], best[kind, "2"]
        cells += [f"{c:.3g}", f"{one:.3g}", f"{one / c:.2f}", f"{best[kind, 'alone']:.3g}", f"{two / one:.2f}"]
        cells += [f"{best[kind, '1', 'passed'] / best[kind, '2', 'passed']:.2f}"]
    return "| " + " | ".join([*cells, f"{differs:.0e}"]) + " |"


def build(folder, kind):
    path = os.path.join(folder, kind + ".so")
    flags = "-std=c11 -O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math -shared -fPIC".split()
    subprocess.run(["gcc", *flags, "-DREAL=" + kind, os.path.join(HERE, "c", "lanes.c"), "-o", path, "-lm"], check=True)
    return ctypes.CDLL(path)


def used_by(command):
    """Milliseconds of processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


def passages(settings, folder):
    """Of the drift-diffusion model, with means: those side by side, and one by one."""
    model, path, best = os.path.join(folder, "diffusion.json"), os.path.join(folder, "passages.json"), {}
    rest = {"steps": 3000, "dt": 0.001, "stop_when": "abs(n.X) >= 0.5", "record": ["n.X"], "reduce": {"count": True, "mean": True}}
    kinds = {
        "one": {"parameters": {"n.drift": [5.0], "n.threshold": [1.0]}},
        "of a grid": {"parameters": {"n.drift": {"linspace": [5, 15, 400]}, "n.threshold": {"linspace": [0.7, 1.0, 300]}}},
        "of drawn drifts": {"parameters": {"n.drift": {"uniform": [5, 15]}, "n.threshold": [1.0]}, "samples": 120000},
    }
    with open(model, "w") as file:
        json.dump(MODELS["diffusion"][0], file)
    for _ in range(4 * settings.rounds):
        for way in ("1", "alone"):
            for kind, swept in kinds.items():
                with open(path, "w") as file:
                    json.dump({**swept, **rest}, file)
                used = used_by([settings.mdf_run, "--sweep", path, model, "--quiet", *WAYS[way]])
                best[way, kind] = min(best.get((way, kind), np.inf), used)
    for kind in list(kinds)[1:]:
        beside, alone = (best[way, kind] - best[way, "one"] for way in ("1", "alone"))
        print(f"120,000 first passages of 55 steps, {kind}: {beside:.1f} ms side by side, {alone:.1f} ms one by one")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mdf-run", default="build/mdf-run")
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--instances", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=4000)
    settings = parser.parse_args()
    head = ["C", "lanes", "/ C", "one by one", "cost(2)", "times(2)"]
    print("| model |" + "".join(f" {text} |" for text in [*head, *(text + ", float32" for text in head), "difference"]))
    print("|---|" + "---:|" * (2 * len(head) + 1))
    with tempfile.TemporaryDirectory() as folder:
        libraries = {kind: build(folder, kind) for kind in TYPES}
        for name in MODELS:
            if settings.only in name:
                print(row(name, *measure(Sweep(settings, folder, name), libraries, settings)), flush=True)
        passages(settings, folder)


if __name__ == "__main__":
    main()
