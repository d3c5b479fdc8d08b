#!/usr/bin/env python3
"""PsyNeuLink's own tests, with each composition that they run, or have learn, tried by the live door beside it.

    check_their_tests.py [--report FILE] [--timeout SECONDS] TEST_FILE_OR_FOLDER... [-- PYTEST_ARGUMENT...]

TEST_FILE_OR_FOLDER is of `tests` of PsyNeuLink's source (a source distribution has them). They are run by this Python, which has
PsyNeuLink and pytest; mdf_c is found by PYTHONPATH. Before the first `run` or `learn` of a composition it is compiled; after it the program
does the same, and results of all trials must agree. What is refused is counted by the reason. Of PsyNeuLink's conftest.py, which a
source distribution lacks, this file has what these tests use; what they ask of LLVM mode is left out.

--report FILE: a line of JSON for each composition. --timeout SECONDS: a test that takes longer is ended, and told of as not compared. The last line is `N compositions: N agree, N refused, N not compared, N found`.
"""

import argparse
import collections
import contextlib
import copy
import inspect
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import modeci_mdf.functions.standard  # noqa: F401 it looks at sys.argv when it is imported, which some tests change
import pytest
from agreement import agree

import mdf_c

REPORT = "MDF_C_REPORT_OF_THEIR_TESTS"
TIMEOUT = "MDF_C_SECONDS_OF_THEIR_TESTS"
ARGUMENTS = {"inputs", "num_trials", "execution_mode"}
ARGUMENTS_OF_RUN = ARGUMENTS | {"termination_processing", "scheduler", "scheduling_mode", "initialize_cycle_values", "reset_stateful_functions_when"}
ARGUMENTS_OF_LEARN = ARGUMENTS | {
    *("targets", "epochs", "learning_rate", "minibatch_size", "optimizations_per_minibatch", "randomize_minibatches", "patience", "min_delta")
}
# Arguments that say what is told of a run, or kept of it.
ONLY_TELLING = ("call_", "report_", "log", "animate", "context", "base_context", "retain_", "synch_")


class Watch:
    """Compositions of a test, each compared in its first call."""

    def __init__(self):
        self.test, self.depth, self.seen = None, 0, []

    def begin(self, test):
        self.test, self.seen = test, []

    def tell(self, what, outcome, why=""):
        with open(os.environ[REPORT], "a") as report:
            report.write(json.dumps({"test": self.test, "call": what, "outcome": outcome, "why": str(why)[:400]}) + "\n")

    def call(self, original, known, composition, args, kwargs):
        parameters = inspect.signature(original).parameters
        given = {name: value for name, value in {**dict(zip(list(parameters)[1:], args)), **kwargs}.items() if value is not None}
        given = {name: value for name, value in given.items() if not name.startswith(ONLY_TELLING) and not is_default(parameters, name, value)}
        # within a run or a learn it is not a call of the test's
        if self.depth or self.test is None or any(composition is other for other in self.seen):
            return self.within(original, composition, args, kwargs)
        self.seen.append(composition)
        what = original.__name__
        others = sorted(given.keys() - known)
        if others:
            self.tell(what, "not compared", f"arguments {' '.join(others)}")
            return self.within(original, composition, args, kwargs)
        if len(composition.results):
            self.tell(what, "not compared", "it has run")
            return self.within(original, composition, args, kwargs)
        return self.compared(original, composition, args, kwargs, given)

    def within(self, original, composition, args, kwargs):
        self.depth += 1
        try:
            return original(composition, *args, **kwargs)
        finally:
            self.depth -= 1

    def compared(self, original, composition, args, kwargs, given):
        what, own = original.__name__, {name: copied(value) for name, value in given.items() if name != "execution_mode"}
        program = why = None
        self.depth += 1
        try:
            program = mdf_c.psyneulink.compile(composition, time_limit=20.0)
        except mdf_c.MdfUnsupportedError as error:
            why = ("refused", error)
        except Exception as error:
            why = ("found", f"compile: {type(error).__name__}: {error}")
        finally:
            self.depth -= 1
        n_before = len(composition.results)
        value = self.within(original, composition, args, kwargs)
        if why is None:
            self.depth += 1
            try:
                getattr(program, what)(**own)
                own_results, results = program.results, composition.results[n_before:]
                if what == "learn":
                    own_results, results = program.learning_results, composition.learning_results
                why = agree(own_results, results)
                why = ("agree", "") if why is None else ("found", why)
            except mdf_c.MdfUnsupportedError as error:
                why = ("refused", error)
            except Exception as error:
                why = ("found", f"{what}: {type(error).__name__}: {error}")
            finally:
                self.depth -= 1
        self.tell(what, *why)
        return value


def copied(value):
    """A container that PsyNeuLink may take apart; objects in it stay themselves."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return copy.copy(value) if inspect.isgenerator(value) is False and type(value).__module__ == "numpy" else value


def is_default(parameters, name, value):
    default = parameters[name].default if name in parameters else inspect.Parameter.empty
    return default is value or isinstance(value, (bool, int, float, str)) and type(default) is type(value) and default == value


watch = Watch()


class Bench:
    """The fixture of pytest-benchmark, without measuring."""

    enabled, group = False, None

    def __call__(self, function, *args, **kwargs):
        return function(*args, **kwargs)


@pytest.fixture
def benchmark():
    return Bench()


@pytest.fixture
def comp_mode_no_llvm():
    return None


@pytest.fixture
def comp_mode_no_per_node():
    return None


def python_mode():
    from psyneulink import ExecutionMode

    return [pytest.param(ExecutionMode.Python)]


def mechanism_execution(mechanism, _):
    return lambda variable: (mechanism.execute(variable), mechanism.output_values)[1]


def nested_lists(array):
    with contextlib.suppress(TypeError):
        return [nested_lists(item) for item in array]
    return array.tolist()


def all_subclasses(type_=None, include_abstract=True, exclude_type=()):
    from psyneulink.core.components.component import Component

    classes, waiting = set(), [type_ or Component]
    while waiting:
        new = set(waiting.pop().__subclasses__()) - classes
        classes |= new
        waiting += new
    return {one for one in classes if (include_abstract or not inspect.isabstract(one)) and not issubclass(one, exclude_type or ())}


def helpers():
    """What PsyNeuLink's conftest.py puts into the namespace of pytest."""
    found = SimpleNamespace(
        get_comp_execution_modes=python_mode,
        get_comp_and_ocm_execution_modes=lambda: [pytest.param(mode.values[0], "Python") for mode in python_mode()],
        cuda_param=lambda value: pytest.param(value, marks=pytest.mark.skip),
        get_func_execution=lambda function, _, writeback=True: function.function,
        get_mech_execution=mechanism_execution,
        expand_np_ndarray=nested_lists,
        numpy_uses_avx512=lambda: False,
        llvm_current_fp_precision=lambda: "fp64",
        get_all_subclasses=all_subclasses,
        power_set=lambda values: itertools.chain.from_iterable(itertools.combinations(values, n) for n in range(len(values) + 1)),
    )
    found.register = lambda function: setattr(found, function.__name__, function) or function
    return found


if REPORT in os.environ:  # as a plugin: their conftest.py, where there is one, is loaded before pytest is configured
    pytest.helpers = helpers()


def pytest_configure(config):
    import psyneulink
    from psyneulink.core.compositions.composition import Composition
    from psyneulink.library.compositions.autodiffcomposition import AutodiffComposition

    psyneulink._called_from_pytest = True
    for kind in (Composition, AutodiffComposition):
        for name, known in (("run", ARGUMENTS_OF_RUN), ("learn", ARGUMENTS_OF_LEARN)):
            if name in vars(kind):
                setattr(kind, name, patched(vars(kind)[name], known))


def patched(original, known):
    def call(self, *args, **kwargs):
        return watch.call(original, known, self, args, kwargs)

    call.__signature__, call.__name__, call.__doc__ = inspect.signature(original), original.__name__, original.__doc__
    return call


def pytest_generate_tests(metafunc):
    for name in ("func_mode", "mech_mode"):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, ["Python"])
    if "comp_mode" in metafunc.fixturenames:
        metafunc.parametrize("comp_mode", python_mode())
    if "autodiff_mode" in metafunc.fixturenames:
        from psyneulink import ExecutionMode

        metafunc.parametrize("autodiff_mode", [ExecutionMode.PyTorch])


def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if not {"llvm", "cuda", "stress"} & {mark.name for mark in item.iter_markers()}]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """Each test has so much time, with what making its fixtures takes."""
    seconds = int(os.environ[TIMEOUT])

    def end(*_):
        watch.tell("test", "not compared", f"it takes more than {seconds} s")
        pytest.fail(f"more than {seconds} s", pytrace=False)

    signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    yield
    signal.alarm(0)


def pytest_runtest_call(item):
    import numpy as np
    import torch
    from psyneulink.core.globals.utilities import set_global_seed

    np.random.seed(0)
    set_global_seed(0)
    torch.manual_seed(0)
    watch.begin(item.nodeid)


def pytest_runtest_teardown(item):
    from psyneulink import clear_registry, primary_registries

    watch.begin(None)
    for registry in primary_registries:  # names count from the start in each test
        clear_registry(registry)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report")
    parser.add_argument("--timeout", type=int, default=600)
    parser.add_argument("paths", nargs="+")
    own = sys.argv[1 : sys.argv.index("--")] if "--" in sys.argv else sys.argv[1:]
    arguments, further = parser.parse_args(own), sys.argv[len(own) + 2 :]
    paths = [str(Path(path).resolve()) for path in arguments.paths]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(arguments.report or f"{folder}/report").resolve()
        report.write_text("")
        environment = {**os.environ, REPORT: str(report), TIMEOUT: str(arguments.timeout), "PYTHONWARNINGS": "ignore"}
        here = str(Path(__file__).resolve().parent)
        environment["PYTHONPATH"] = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
        options = ["-q", "--no-header", "--tb=line", "-W", "ignore", "-p", "no:cacheprovider", "-p", Path(__file__).stem]
        options += ["-c", os.devnull, "--rootdir", str(Path(paths[0]).parent)]  # PsyNeuLink's own settings ask for plugins
        subprocess.run([sys.executable, "-m", "pytest", *options, *paths, *further], env=environment)
        rows = [json.loads(line) for line in report.read_text().splitlines()]
    for row in rows:
        if row["outcome"] == "found":
            print(f"{row['test']}: {row['call']}: {row['why']}")
    for outcome in ("refused", "not compared"):
        reasons = collections.Counter(row["why"].partition(": ")[2] or row["why"] for row in rows if row["outcome"] == outcome)
        for reason, n in reasons.most_common():
            print(f"{outcome}, {n}: {reason[:200]}")
    counts = collections.Counter(row["outcome"] for row in rows)
    told = ", ".join(f"{counts[name]} {name}" for name in ("agree", "refused", "not compared", "found"))
    print(f"{len(rows)} compositions: {told}")
    return 1 if counts["found"] else 0


if __name__ == "__main__":
    sys.exit(main())
