#!/usr/bin/env python3
"""PsyNeuLink's own tests of its MDF export, with this engine in the place of modeci_mdf's.

    check_test_mdf.py TEST_FILE [PYTEST_ARGUMENT...]

TEST_FILE is tests/mdf/test_mdf.py of PsyNeuLink's source, with the models that lie beside it (a source distribution has them). It is run
twice by this Python, which has PsyNeuLink, modeci_mdf and pytest; mdf_c is found by PYTHONPATH. What passes with modeci_mdf's engine must
pass with ours. Of PsyNeuLink's conftest.py, which a source distribution lacks, this file has what these tests use.
"""

import inspect
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

ENGINE, OUTCOMES = "MDF_C_TESTED_ENGINE", "MDF_C_TESTED_OUTCOMES"
found = {}


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


def pytest_configure(config):
    import psyneulink

    psyneulink._called_from_pytest = True
    pytest.helpers = SimpleNamespace(get_all_subclasses=all_subclasses)
    if os.environ[ENGINE] == "mdf_c":
        import modeci_mdf.execution_engine as engine

        import mdf_c

        engine.EvaluableGraph, engine.evaluate_onnx_expr = mdf_c.EvaluableGraph, drawn_by_ours


def pytest_runtest_call(item):
    import numpy as np
    from psyneulink.core.globals.utilities import set_global_seed

    np.random.seed(0)
    set_global_seed(0)


def pytest_runtest_teardown(item):
    from psyneulink import clear_registry, primary_registries

    for registry in primary_registries:  # names count from the start in each test
        clear_registry(registry)


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        found[report.nodeid] = "xfailed" if hasattr(report, "wasxfail") else report.outcome


def pytest_sessionfinish(session):
    Path(os.environ[OUTCOMES]).write_text(json.dumps(found))


def outcomes(engine, file, arguments):
    """Of each test, by name."""
    with tempfile.NamedTemporaryFile(suffix=".json") as written:
        here = str(Path(__file__).resolve().parent)
        environment = {**os.environ, ENGINE: engine, OUTCOMES: written.name}
        environment["PYTHONPATH"] = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
        options = ["-q", "--no-header", "--tb=short", "-W", "ignore", "-p", "no:cacheprovider", "-p", Path(__file__).stem]
        options += ["-c", os.devnull, "--rootdir", str(file.parent)]  # PsyNeuLink's own settings ask for plugins
        run = subprocess.run(
            [sys.executable, "-m", "pytest", *options, str(file), *arguments], env=environment, stdout=subprocess.PIPE, text=True
        )
        text = Path(written.name).read_text()
    if run.returncode not in (0, 1) or not text:
        sys.exit(f"pytest of {file} failed with {engine}:\n{run.stdout}")
    return json.loads(text), run.stdout


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    file, arguments = Path(sys.argv[1]).resolve(), sys.argv[2:]
    theirs, _ = outcomes("modeci_mdf", file, arguments)
    ours, told = outcomes("mdf_c", file, arguments)
    for engine, of in (("modeci_mdf", theirs), ("mdf_c", ours)):
        counts = {outcome: list(of.values()).count(outcome) for outcome in sorted(set(of.values()))}
        print(f"{engine}: " + ", ".join(f"{n} {outcome}" for outcome, n in counts.items()))
    lost = [name for name, outcome in theirs.items() if outcome == "passed" and ours.get(name) != "passed"]
    if lost:
        print(told)
    for name in lost:
        print(f"FAIL {name}: {ours.get(name, 'not run')}")
    print(f"{list(theirs.values()).count('passed') - len(lost)} passed, {len(lost)} failed")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
