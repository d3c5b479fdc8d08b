#!/usr/bin/env python3
"""PsyNeuLink's own tests of its MDF export, with this engine in the place of modeci_mdf's.

    check_test_mdf.py [--timeout SECONDS] [-k WORDS] TEST_FILE

TEST_FILE is tests/mdf/test_mdf.py of PsyNeuLink's source, with the models that lie beside it (a source distribution has them). This Python
has PsyNeuLink, modeci_mdf and pytest; mdf_c is found by PYTHONPATH. The tests run with modeci_mdf's engine, and those that ask for an
evaluation, which most do not, once more with ours: what passes with theirs must pass with ours. Each is told of as it ends, and is stopped
after some time. Of PsyNeuLink's conftest.py, which a source distribution lacks, this file has what these tests use.
"""

import argparse
import contextlib
import inspect
import io
import multiprocessing
import os
import signal
import sys
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

THEIRS, OURS = "modeci_mdf", "mdf_c"
FORK = multiprocessing.get_context("fork")  # PsyNeuLink is imported once


def drawn_by_ours(expression, base_parameters, evaluated_parameters, verbose=False):
    """modeci_mdf's evaluate_onnx_expr of one call of an operator: ONNX leaves open which numbers a seed gives."""
    from mdf_c.functions import onnx

    return getattr(onnx, expression.rpartition(".")[2])(**evaluated_parameters)


def all_subclasses(include_abstract=True):
    from psyneulink.core.components.component import Component

    classes, waiting = set(), [Component]
    while waiting:
        new = set(waiting.pop().__subclasses__()) - classes
        classes |= new
        waiting += new
    return {cls for cls in classes if include_abstract or not inspect.isabstract(cls)}


@dataclass
class Outcome:
    name: str
    outcome: str
    evaluates: bool  # it asks for an evaluation
    told: str  # what pytest says of a failure


@dataclass
class Session:
    """A plugin of pytest: what PsyNeuLink's conftest.py does, with one of the engines, and what becomes of the tests.

    Tests have numbers in the order in which they are collected: names of some have numbers in them that the engine draws."""

    engine: str
    wanted: object  # of a name and a number: whether the test is run
    timeout: int
    tests: dict = field(default_factory=dict)
    numbers: dict = field(default_factory=dict)
    evaluates: bool = False

    def pytest_configure(self, config):
        import modeci_mdf.execution_engine as execution_engine
        import psyneulink

        psyneulink._called_from_pytest = True
        pytest.helpers = SimpleNamespace(get_all_subclasses=all_subclasses)
        if self.engine == OURS:
            import mdf_c

            execution_engine.EvaluableGraph, execution_engine.evaluate_onnx_expr = mdf_c.EvaluableGraph, drawn_by_ours
        execution_engine.EvaluableGraph = partial(self.make_graph, execution_engine.EvaluableGraph)
        signal.signal(signal.SIGALRM, self.stop)

    def make_graph(self, evaluable, *arguments, **options):
        self.evaluates = True
        return evaluable(*arguments, **options)

    def stop(self, *_):
        raise TimeoutError(f"it did not end in {self.timeout} s")

    def pytest_collection_modifyitems(self, items):
        self.numbers = {item.nodeid: number for number, item in enumerate(items)}
        items[:] = [item for number, item in enumerate(items) if self.wanted(item.name, number)]

    def pytest_runtest_call(self, item):
        import numpy as np
        from psyneulink.core.globals.utilities import set_global_seed

        np.random.seed(0)
        set_global_seed(0)
        self.evaluates = False
        signal.alarm(self.timeout)

    def pytest_runtest_teardown(self, item):
        from psyneulink import clear_registry, primary_registries

        signal.alarm(0)
        for registry in primary_registries:  # names count from the start in each test
            clear_registry(registry)

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            outcome = "xfailed" if hasattr(report, "wasxfail") else report.outcome
            name = report.nodeid.partition("::")[2]
            self.tests[self.numbers[report.nodeid]] = Outcome(name, outcome, self.evaluates, report.longreprtext[-2000:])
            print(f"{self.engine}: {outcome} {name} ({report.duration:.1f} s)", file=sys.stderr, flush=True)


def run(file, engine, wanted, timeout, answer):
    session = Session(engine, wanted, timeout)
    options = ["-q", "--no-header", "--tb=short", "-W", "ignore", "-p", "no:cacheprovider"]
    options += ["-c", os.devnull, "--rootdir", str(file.parent)]  # PsyNeuLink's own settings ask for plugins
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        pytest.main([*options, str(file)], plugins=[session])
    answer.send(session.tests or told.getvalue())
    answer.close()
    sys.stderr.flush()
    os._exit(0)  # threads of libraries have not come along


def outcomes(file, engine, wanted, timeout):
    """Of each test, by number: a process of its own runs them."""
    answer, sender = FORK.Pipe(duplex=False)
    process = FORK.Process(target=run, args=(file, engine, wanted, timeout, sender))
    process.start()
    sender.close()
    found = answer.recv()
    process.join()
    if isinstance(found, str):
        sys.exit(f"pytest finds no tests in {file}:\n{found}")
    return found


def counted(tests):
    return ", ".join(f"{n} {outcome}" for outcome, n in sorted(Counter(test.outcome for test in tests).items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", dest="words", default="", help="only tests with this in their names")
    parser.add_argument("--timeout", type=int, default=300, help="seconds that a test may take")
    parser.add_argument("file", type=lambda text: Path(text).resolve())
    arguments = parser.parse_args()
    __import__("psyneulink")
    theirs = outcomes(arguments.file, THEIRS, lambda name, number: arguments.words in name, arguments.timeout)
    evaluating = {number for number, test in theirs.items() if test.evaluates}
    ours = dict(theirs)
    if evaluating:
        ours |= outcomes(arguments.file, OURS, lambda name, number: number in evaluating, arguments.timeout)
    for engine, tests in ((THEIRS, theirs), (OURS, ours)):
        print(f"{engine}: {counted(tests.values())}")
    print(f"{len(evaluating)} of {len(theirs)} evaluate a model")
    lost = [ours[number] for number, test in theirs.items() if test.outcome == "passed" and ours[number].outcome != "passed"]
    for test in lost:
        print(f"FAIL {test.name}: {test.outcome}\n{test.told}")
    print(f"{sum(test.outcome == 'passed' for test in theirs.values()) - len(lost)} passed, {len(lost)} failed")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
