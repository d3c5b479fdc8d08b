#!/usr/bin/env python3
"""What a trial takes PsyNeuLink in its Python mode, in its LLVM mode, and mdf_c.psyneulink.

    compare_speed.py [--rounds N] [NAME...]

Needs PsyNeuLink; mdf_c is found by PYTHONPATH. The ways take turns, round by round, and the least time of each counts: the ratios are of one
run. Times are the process's own. The inputs of 20 trials differ; LLVM mode is timed with these, which it goes through again (its best), and with
a row for each trial, which mdf_c always has. Results of the ways are compared before they are timed, and one that
gives others than PsyNeuLink's Python mode has no time. It prints the table of docs/psyneulink.md.
"""

import argparse
import sys
import time
import warnings

import numpy as np

warnings.simplefilter("ignore")

import compositions  # noqa: E402
import psyneulink as pnl  # noqa: E402
from agreement import agree  # noqa: E402

import mdf_c  # noqa: E402

NAMES = (
    "stroop_feedforward",
    "recurrent_auto_hetero",
    "lca_finished",
    "transfer_until_finished",
    "lib_cohen_huston_horse_race",
    "botvinick_conflict",
    "necker_cube",
    "feedback_cycle",
    "ddm_analytical",
    "ddm_integrator_step",
    "sched_everyncalls",
    "nested_simple",
)
N_COMPARED = 20  # trials
SHORTEST_S = 0.2  # about what is timed at once
MOST_TRIALS = 200_000  # in that time: their results are kept


def changing(inputs):
    """The given inputs, in each trial a little other ones."""
    rng = np.random.default_rng(0)
    rows = {name: np.resize(np.array(values, float), (N_COMPARED, *np.shape(values)[1:])) for name, values in inputs.items()}
    return {name: array + rng.uniform(0, 0.01, array.shape) for name, array in rows.items()}


def repeated(inputs, n_trials):
    return {name: np.resize(rows, (n_trials, *rows.shape[1:])) for name, rows in inputs.items()}


class Composed:
    """Composition.run in one of its modes, with inputs of some trials that it goes through again, or a row for each trial."""

    def __init__(self, name, mode, all_rows=False):
        self.composition, inputs, _ = compositions.COMPOSITIONS[name]()
        self.inputs, self.mode, self.all_rows = changing(inputs), mode, all_rows

    def prepare(self, n_trials):
        inputs = repeated(self.inputs, n_trials) if self.all_rows else self.inputs
        self.rows = {node: rows.tolist() for node, rows in inputs.items()}

    def run(self, n_trials):
        self.composition.run(inputs=dict(self.rows), num_trials=n_trials, execution_mode=self.mode)

    @property
    def results(self):
        return self.composition.results


class Live:
    """mdf_c.psyneulink; compiling is a part of its first run."""

    def __init__(self, name):
        self.composition, inputs, _ = compositions.COMPOSITIONS[name]()
        self.inputs, self.program = changing(inputs), None

    def prepare(self, n_trials):
        self.rows = repeated(self.inputs, n_trials)

    def run(self, n_trials):
        if self.program is None:
            self.program = mdf_c.psyneulink.compile(self.composition)
        self.program.run(self.rows, n_trials)

    @property
    def results(self):
        return self.program.results


class Timed:
    """A way and its least time; what its first run takes beyond a second one is the time of compiling."""

    def __init__(self, way):
        self.way, self.best_s = way, float("inf")
        way.prepare(N_COMPARED)
        first_s = self.run(N_COMPARED)
        self.results = np.array(way.results, dtype=object)
        again_s = self.run(N_COMPARED)
        self.compiling_s = max(0.0, first_s - again_s)
        self.n_trials = N_COMPARED
        while again_s < SHORTEST_S / 2 and self.n_trials < MOST_TRIALS:  # what a run takes besides its trials has no weight then
            self.n_trials = min(MOST_TRIALS, self.n_trials * 4)
            way.prepare(self.n_trials)
            again_s = self.run(self.n_trials)

    def run(self, n_trials):
        start = time.process_time()
        self.way.run(n_trials)
        return time.process_time() - start

    def measure(self):
        self.best_s = min(self.best_s, self.run(self.n_trials) / self.n_trials)


def timed(make, wanted=None):
    """None: PsyNeuLink's LLVM mode does not take the composition; a text: what it gives is wrong."""
    try:
        found = Timed(make())
    except Exception as error:  # of many kinds: assertions, KeyError, RunError
        return type(error).__name__
    return "other results" if wanted is not None and agree(found.results, wanted) else found


def compare(name, n_rounds):
    """A row of the table, and whether ours are PsyNeuLink's results."""
    python = Timed(Composed(name, pnl.ExecutionMode.Python))
    llvm = timed(lambda: Composed(name, pnl.ExecutionMode.LLVMRun), python.results)
    with_rows = timed(lambda: Composed(name, pnl.ExecutionMode.LLVMRun, all_rows=True), python.results)
    own = Timed(Live(name))
    ways = [way for way in (python, llvm, with_rows, own) if isinstance(way, Timed)]
    for _ in range(n_rounds):
        for way in ways:
            way.measure()
    cells = [f"{python.best_s * 1e3:.3g} ms", told(llvm), told(with_rows), told(own), f"{python.best_s / own.best_s:,.0f}"]
    cells += [f"{way.best_s / own.best_s:.1f}" if isinstance(way, Timed) else "" for way in (llvm, with_rows)]
    return f"| {name} | {' | '.join(cells)} |", agree(own.results, python.results)


def told(way):
    return f"{way.best_s * 1e6:.3g} us ({way.compiling_s:.2g} s)" if isinstance(way, Timed) else way


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("names", nargs="*", default=NAMES)
    arguments = parser.parse_args()
    n_wrong = 0
    print("| composition | Python | LLVM, inputs again | LLVM, a row a trial | here | Python / here | LLVM / here | rows / here |\n" + "|---" * 8 + "|")
    for name in arguments.names:
        row, why = compare(name, arguments.rounds)
        n_wrong += why is not None
        print(row if why is None else f"{name}: {why}", flush=True)
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
