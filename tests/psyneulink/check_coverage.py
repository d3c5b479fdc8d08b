#!/usr/bin/env python3
"""Each class of functions and mechanisms that PsyNeuLink has: it stands in the table of docs/psyneulink.md, "Which classes", and what the
table says runs by itself gives PsyNeuLink's results so.

    check_coverage.py [--jobs N] [--timeout SECONDS]

Needs PsyNeuLink; mdf_c is found by PYTHONPATH. The last line is `N classes, N alone, N found`.
"""

import argparse
import inspect
import re
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np

warnings.simplefilter("ignore")

import building  # noqa: E402
import one_by_one  # noqa: E402
import psyneulink as pnl  # noqa: E402
from agreement import agree  # noqa: E402
from psyneulink.core.components.functions.function import Function_Base  # noqa: E402
from psyneulink.core.components.mechanisms.mechanism import Mechanism_Base  # noqa: E402

import mdf_c  # noqa: E402

PAGE = Path(__file__).resolve().parents[2] / "docs" / "psyneulink.md"
ROW = re.compile(r"^\| (functions|mechanisms), ([^|]*) \| ([^|]*) \|", re.MULTILINE)
# They are for others to inherit from, or for PsyNeuLink itself.
ABSTRACT = re.compile(r"_Base$|^(Deterministic)?\w*(Transfer|Distribution|Integrator|Memory|Learning|Objective|Optimization|Selection|Timer|Stateful|Transform)Function$")


def classes(base):
    for kind in base.__subclasses__():
        if not ABSTRACT.search(kind.__name__) and not inspect.isabstract(kind):
            yield kind
        yield from classes(kind)


def table():
    """What is said of each class, by its name."""
    section = PAGE.read_text(encoding="utf-8").partition("## Which classes\n")[2].partition("\n## ")[0]
    return {name: said for _, said, names in ROW.findall(section) for name in re.findall(r"`(\w+)`", names)}


def alone(kind):
    """A mechanism with nothing but what the class gives it, for two trials."""

    def build():
        if issubclass(kind, Mechanism_Base):
            return kind(name="T")
        return pnl.ProcessingMechanism(name="T", function=kind())

    mechanism = building.fresh(build)()
    composition = building.comp(mechanism)
    inputs = {"T": [[np.full_like(np.ravel(port.defaults.value), 0.7, float).tolist() for port in mechanism.external_input_ports]] * 2}
    program = mdf_c.psyneulink.compile(composition)
    program.run(inputs, 2)
    composition.run(inputs=inputs, num_trials=2)
    return agree(program.results, composition.results)


def check(kind, said):
    if said is None:
        return "docs/psyneulink.md does not say whether it is covered"
    if said == "refused":
        try:
            alone(kind)
        except mdf_c.MdfUnsupportedError:
            return None
        except Exception:  # PsyNeuLink does not make it without arguments
            return None
        return "it is not refused"
    return alone(kind) if said == "alone" else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    one_by_one.add_options(parser)
    arguments, said = parser.parse_args(), table()
    kinds = list(dict.fromkeys([*classes(Function_Base), *classes(Mechanism_Base)]))
    checks = {kind.__name__: partial(check, kind, said.get(kind.__name__)) for kind in kinds}
    checks |= {name: lambda: "PsyNeuLink has no such class" for name in said.keys() - checks.keys()}
    failed = one_by_one.run(checks, arguments.jobs, arguments.timeout)
    print(f"{len(kinds)} classes, {sum(word == 'alone' for word in said.values())} alone, {len(failed)} found")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
