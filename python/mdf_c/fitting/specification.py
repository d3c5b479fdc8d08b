"""What is to be fitted to what: read from a FIT file, or from arguments of Python, by the same rows.

Comes in: an object of keys. Goes out: a Specification, in which names of columns and distributions are known to exist. Names of the model
are looked up by who compiles it.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .._settings import _METHODS as SOLVERS
from .._placed import Placed, unknown
from .data import Columns, read_data
from .distributions import DISTRIBUTIONS, SUPPORTS, Distribution

SCALES = ("linear", "log")
LOCAL = ("trust_region", "levenberg_marquardt", "l_bfgs_b", "nelder_mead")
GLOBAL = ("differential_evolution", "cma_es")
INTERVALS = ("hessian", "profile")
GRADIENTS = ("auto", "exact", "differences")
DENSITIES = ("kernel", "histogram")


@dataclass
class Prior:
    """What is known of a parameter before the data: a distribution with numbers for what it needs."""

    name: str
    center: float
    arguments: dict[str, float]


@dataclass
class Parameter:
    """What is fitted: a parameter of the model, or one of a distribution alone."""

    name: str
    place: Placed
    key: Placed
    start: np.ndarray | None = None
    lower: float = -math.inf
    upper: float = math.inf
    scale: str = "linear"
    prior: Prior | None = None


@dataclass
class Argument:
    """A number, or the name of a fitted parameter, a column of the data, or an output port."""

    value: float | str
    place: Placed


@dataclass
class Observed:
    """A column of the data, and the output port that it is compared with."""

    port: str
    index: tuple[int, ...]
    column: str
    place: Placed
    error: Argument | None = None
    distribution: Distribution | None = None
    arguments: dict[str, Argument] = field(default_factory=dict)


@dataclass
class FirstPassage:
    """Choices and times that are compared with those of simulated walks."""

    place: Placed
    time: str
    stop_when: str | None = None
    choice: str | None = None
    port: str | None = None
    is_whole: bool = False  # `port` has the times of whole walks, negative where the lower end was reached
    trials: int = 1000
    density: str = "kernel"
    bins: int = 50
    lapse: float = 0.01
    offset: Argument | None = None


@dataclass
class Method:
    """How the best values are searched for."""

    name: str
    place: Placed
    options: dict[str, Any] = field(default_factory=dict)


@dataclass
class Specification:
    """All of it; see docs/fitting.md for what the keys mean."""

    place: Placed
    data: Columns = field(default_factory=dict)
    time: str | None = None
    step: str | None = None
    run: str | None = None
    start_time: float = 0.0
    inputs: dict[str, Argument] = field(default_factory=dict)
    steps: int | None = None
    dt: float | None = None
    parameters: list[Parameter] = field(default_factory=list)
    observed: list[Observed] = field(default_factory=list)
    first_passage: FirstPassage | None = None
    method: Method | None = None
    starts: int = 1
    polish: str | None = None
    seed: int = 0
    gradient: str = "auto"
    confidence: float = 0.95
    intervals: list[str] = field(default_factory=lambda: ["hessian"])
    max_evaluations: int | None = None
    tolerance: float | None = None
    graph: str | None = None
    solver: dict[str, Any] = field(default_factory=dict)  # of Settings

    @property
    def n_rows(self) -> int:
        """Rows of the data."""
        return len(next(iter(self.data.values())))

    @property
    def is_least_squares(self) -> bool:
        """Whether the sum of squares is made least; else the likelihood is made greatest."""
        return self.first_passage is None and all(observed.distribution is None for observed in self.observed)


# ---------------------------------------------------------------- the parts


def _column(spec: Specification, node: Placed, what: str) -> str:
    name = node.text(f"the name of a column, {what}")
    if name not in spec.data:
        raise unknown(node, name, "column", spec.data)
    return name


def _numeric(spec: Specification, node: Placed, what: str) -> str:
    name = _column(spec, node, what)
    if spec.data[name].dtype.kind not in "biuf":
        raise node.fault(f"column '{name}' must have numbers in all rows")
    return name


def _argument(node: Placed) -> Argument:
    if isinstance(node.value, str):
        return Argument(node.text(), node)
    return Argument(node.number("a number, or the name of a parameter, a column or an output port"), node)


def _read_prior(node: Placed) -> Prior:
    entries = node.entries("a distribution {NAME: numbers}", list(DISTRIBUTIONS))
    if len(entries) != 1:
        raise node.fault(f"must be one distribution {{NAME: numbers}}, not {len(entries)}")
    name, given = next(iter(entries.items()))
    row = DISTRIBUTIONS[name]
    names = (row.center, *row.arguments)
    if row.is_categorical or row.support in ("count", "truth"):
        raise node.keys[name].fault(f"'{name}' is a distribution of whole numbers: no prior of a parameter")
    if isinstance(given.value, dict):
        numbers = {key: item.number() for key, item in given.entries("numbers", names).items()}
    else:
        items = given.items(f"a list of {len(names)} numbers ({', '.join(names)})") if not _is_number(given) else [given]
        numbers = {key: item.number() for key, item in zip(names, items)}
        if len(items) > len(names):
            raise given.fault(f"'{name}' has {len(names)} numbers ({', '.join(names)}), not {len(items)}")
    missing = [key for key in names if key not in numbers]
    if missing:
        raise given.fault(f"'{name}' needs {', '.join(missing)} too: its numbers are {', '.join(names)}")
    for key in row.arguments:
        if numbers[key] <= 0:
            raise given.fault(f"{key} must be above 0, not {numbers[key]}")
    return Prior(name, numbers.pop(row.center), numbers)


def _is_number(node: Placed) -> bool:
    return isinstance(node.value, (int, float, np.number)) and not isinstance(node.value, bool)


def _read_bounds(node: Placed) -> tuple[float, float]:
    items = node.items("a list of the least and the greatest value")
    if len(items) != 2:
        raise node.fault(f"must be a list of the least and the greatest value, not of {len(items)} values")
    ends = []
    for item, none in zip(items, (-math.inf, math.inf)):
        ends.append(none if item.value is None else item.number("a number", lambda value: not math.isnan(value)))
    if not ends[0] < ends[1]:
        raise node.fault(f"the least value must be below the greatest, not {ends[0]} and {ends[1]}")
    return ends[0], ends[1]


def _read_parameter(name: str, node: Placed, key: Placed) -> Parameter:
    parameter = Parameter(name, node, key)
    if node.value is None:
        return parameter
    if not isinstance(node.value, dict):
        parameter.start = node.numbers()
        return _check_parameter(parameter)
    entries = node.entries("a number to begin with, or an object", ("start", "bounds", "scale", "prior"))
    if "start" in entries:
        parameter.start = entries["start"].numbers()
    if "bounds" in entries:
        parameter.lower, parameter.upper = _read_bounds(entries["bounds"])
    if "scale" in entries:
        parameter.scale = entries["scale"].choice(SCALES, "scale")
    if "prior" in entries:
        parameter.prior = _read_prior(entries["prior"])
        support = {"positive": (0.0, math.inf), "unit": (0.0, 1.0)}.get(DISTRIBUTIONS[parameter.prior.name].support)
        if support is not None:
            parameter.lower, parameter.upper = max(parameter.lower, support[0]), min(parameter.upper, support[1])
    return _check_parameter(parameter)


def _check_parameter(parameter: Parameter) -> Parameter:
    if parameter.scale == "log" and parameter.lower < 0:
        if parameter.lower > -math.inf:
            raise parameter.place.fault(f"on a log scale the least value can not be {parameter.lower}: it must be 0 or more")
        parameter.lower = 0.0
    start = parameter.start
    if start is not None:
        if not np.isfinite(start).all():
            raise parameter.place.fault("the value to begin with must be finite")
        if not ((start >= parameter.lower) & (start <= parameter.upper)).all() or (
            parameter.scale == "log" and (start <= 0).any()
        ):
            raise parameter.place.fault(
                f"the value to begin with must lie within the bounds {parameter.lower} and {parameter.upper}"
            )
    return parameter


_PORT = re.compile(r"^(.+?)((?:\[\d+\])*)$")


def _read_observed(spec: Specification, name: str, node: Placed) -> Observed:
    found = _PORT.match(name)
    port, index = (found[1], tuple(int(i) for i in re.findall(r"\d+", found[2]))) if found else (name, ())
    if isinstance(node.value, str):
        return Observed(port, index, _numeric(spec, node, "of what was observed"), node)
    entries = node.entries("the name of a column, or an object", ("data", "error", "distribution"))
    if "data" not in entries:
        raise node.fault("the key 'data' is missing: the name of the column with what was observed")
    observed = Observed(port, index, _numeric(spec, entries["data"], "of what was observed"), node)
    if "error" in entries and "distribution" in entries:
        raise node.keys["error"].fault("'error' is for least squares: with a distribution, say the same by its arguments")
    if "error" in entries:
        observed.error = _argument(entries["error"])
        if not isinstance(observed.error.value, str) and observed.error.value <= 0:
            raise entries["error"].fault(f"must be above 0, not {observed.error.value}")
    if "distribution" in entries:
        _read_distribution(spec, observed, entries["distribution"])
    return observed


def _read_distribution(spec: Specification, observed: Observed, node: Placed) -> None:
    if isinstance(node.value, str):
        name, given = node.choice(DISTRIBUTIONS, "distribution"), Placed({}, node.path, node.file, node.line, node.column)
    else:
        entries = node.entries("the name of a distribution, or {NAME: its arguments}", list(DISTRIBUTIONS))
        if len(entries) != 1:
            raise node.fault(f"must be one distribution, not {len(entries)}")
        name, given = next(iter(entries.items()))
    row = DISTRIBUTIONS[name]
    arguments = given.entries(f"an object of {', '.join(row.arguments) or 'nothing'}", row.arguments)
    missing = [key for key in row.arguments if key not in arguments]
    if missing:
        raise given.fault(f"'{name}' needs {', '.join(missing)}: numbers, or names of parameters, columns or output ports")
    observed.distribution = row
    observed.arguments = {key: _argument(item) for key, item in arguments.items()}
    values = spec.data[observed.column]
    what, holds = SUPPORTS[row.support]
    wrong = np.flatnonzero(~(holds(values) | np.isnan(values.astype(float))).reshape(len(values), -1).all(axis=1))
    if len(wrong):
        raise observed.place.fault(
            f"'{name}' is of {what}: row {wrong[0] + 1} of column '{observed.column}' has {values[wrong[0]]}"
        )


def _read_first_passage(spec: Specification, node: Placed) -> FirstPassage:
    known = ("time", "choice", "port", "stop_when", "walks", "trials", "density", "bins", "lapse", "offset")
    entries = node.entries("an object", known)
    if "time" not in entries:
        raise node.fault("the key 'time' is missing: the column of times")
    if ("stop_when" in entries) == ("walks" in entries):
        raise node.fault(
            "one of the keys 'stop_when', an expression over output ports, and 'walks', an output port that has the times of whole walks, "
            "is needed, and only one"
        )
    passage = FirstPassage(node, _numeric(spec, entries["time"], "of times"))
    if "choice" in entries:
        passage.choice = _numeric(spec, entries["choice"], "of choices")
    if "walks" in entries:
        if "port" in entries:
            raise node.keys["port"].fault("'port' goes with 'stop_when': of 'walks' the sign of a time is the choice")
        passage.port, passage.is_whole = entries["walks"].text("an output port"), True
    else:
        passage.stop_when = entries["stop_when"].text("an expression")
        if ("choice" in entries) != ("port" in entries):
            raise node.fault(
                "'choice', a column, and 'port', the output port that has the same when a walk ends, belong together"
            )
        passage.port = entries["port"].text("an output port") if "port" in entries else None
    if "trials" in entries:
        passage.trials = entries["trials"].integer(1)
    if "density" in entries:
        passage.density = entries["density"].choice(DENSITIES, "density")
    if "bins" in entries:
        passage.bins = entries["bins"].integer(1)
    if "lapse" in entries:
        passage.lapse = entries["lapse"].number("a share from 0 to below 1", lambda value: 0 <= value < 1)
    if "offset" in entries:
        passage.offset = _argument(entries["offset"])
    return passage


def _read_method(node: Placed) -> Method:
    names = [*LOCAL, *GLOBAL]
    if isinstance(node.value, str):
        return Method(node.choice(names, "method"), node)
    entries = node.entries("the name of a method, or {NAME: its options}", names)
    if len(entries) != 1:
        raise node.fault(f"must be one method, not {len(entries)}")
    name, options = next(iter(entries.items()))
    known = ("population", "generations", "sigma") if name in GLOBAL else ()
    plain: dict[str, Any] = {}
    for key, item in options.entries("an object of options", known).items():
        plain[key] = item.number("above 0", lambda value: value > 0) if key == "sigma" else item.integer(1)
    return Method(name, node, plain)


def _read_solver(node: Placed) -> dict[str, Any]:
    if isinstance(node.value, str):
        return {"method": node.choice(SOLVERS, "solver")}
    entries = node.entries("the name of a method, or an object of settings", ("method", "rtol", "atol", "max_step", "step_limit"))
    settings: dict[str, Any] = {}
    for key, item in entries.items():
        if key == "method":
            settings[key] = item.choice(SOLVERS, "solver")
        else:
            settings[key] = item.integer(1) if key == "step_limit" else item.number("above 0", lambda value: 0 < value < math.inf)
    return settings


def _read_inputs(spec: Specification, node: Placed) -> dict[str, Argument]:
    inputs = {}
    for name, item in node.entries("an object {INPUT: column, or value}").items():
        if isinstance(item.value, str):
            inputs[name] = Argument(_numeric(spec, item, "of values of an input"), item)
        else:
            inputs[name] = Argument(item.numbers(), item)  # type: ignore[arg-type]
    return inputs


# ---------------------------------------------------------------- the whole

_Reader = Callable[[Specification, Placed], Any]

# In the order in which they are read: the data first, as others name its columns.
KEYS: dict[str, _Reader] = {
    "data": lambda spec, node: read_data(node, _folder(node)),
    "time": lambda spec, node: _numeric(spec, node, "of times"),
    "step": lambda spec, node: _numeric(spec, node, "of steps"),
    "run": lambda spec, node: _column(spec, node, "which tells runs apart"),
    "start_time": lambda spec, node: node.number(),
    "inputs": _read_inputs,
    "steps": lambda spec, node: node.integer(1),
    "dt": lambda spec, node: node.number("above 0", lambda value: 0 < value < math.inf),
    "parameters": lambda spec, node: [
        _read_parameter(name, item, node.keys[name])
        for name, item in node.entries("an object {NODE.PARAMETER: how it begins}").items()
    ],
    "observe": lambda spec, node: [
        _read_observed(spec, name, item) for name, item in node.entries("an object {NODE.PORT: column}").items()
    ],
    "first_passage": _read_first_passage,
    "method": lambda spec, node: _read_method(node),
    "starts": lambda spec, node: node.integer(1),
    "polish": lambda spec, node: node.choice((*LOCAL, "none"), "polish"),
    "seed": lambda spec, node: node.integer(0),
    "gradient": lambda spec, node: node.choice(GRADIENTS, "gradient"),
    "confidence": lambda spec, node: node.number("above 0 and below 1", lambda value: 0 < value < 1),
    "intervals": lambda spec, node: [
        item.choice(INTERVALS, "intervals") for item in ([node] if isinstance(node.value, str) else node.items())
    ],
    "max_evaluations": lambda spec, node: node.integer(1),
    "tolerance": lambda spec, node: node.number("above 0", lambda value: 0 < value < 1),
    "graph": lambda spec, node: node.text("the id of a graph"),
    "solver": lambda spec, node: _read_solver(node),
}
_FIELDS = {"observe": "observed"}


def _folder(node: Placed) -> Path:
    return Path(node.file).parent if node.file else Path()


def read_specification(given: str | os.PathLike | Mapping[str, Any] | None, keys: Mapping[str, Any]) -> Specification:
    """What a FIT file or a dict says, with `keys` in the place of those that it has.

    Raises
    ------
    MdfError
        Something in it is wrong; the error says where, and what would be right.
    """
    root = Placed.read(given) if isinstance(given, (str, os.PathLike)) else Placed.of({} if given is None else given)
    entries = dict(root.entries("a fit is an object with at least data, parameters and observe", list(KEYS)))
    for key, value in keys.items():
        if key not in KEYS:
            raise TypeError(f"a fit has no key '{key}'; there are {', '.join(KEYS)}")
        entries[key] = Placed.of(value, key)
    spec = Specification(root)
    for key in ("data", "parameters"):
        if key not in entries:
            raise root.fault(f"the key '{key}' is missing")
    for key, reader in KEYS.items():
        if key in entries:
            setattr(spec, _FIELDS.get(key, key), reader(spec, entries[key]))
    _check(spec, entries)
    return spec


def _check(spec: Specification, entries: Mapping[str, Placed]) -> None:
    if bool(spec.observed) == (spec.first_passage is not None):
        raise spec.place.fault(
            "one of the keys 'observe' and 'first_passage' is needed, and only one: observe {NODE.PORT: COLUMN} says which output port goes "
            "with which column of the data"
        )
    if not spec.parameters:
        raise entries["parameters"].fault("there is nothing to fit: say at least one NODE.PARAMETER")
    if spec.time is not None and spec.step is not None:
        raise entries["step"].fault("'time' and 'step' both say when a row is: give one of them")
    if spec.time is not None and spec.dt is None:
        raise entries["time"].fault("'time' needs the key 'dt', the time increment of the model")
    passage = spec.first_passage
    if passage is not None and passage.stop_when is not None and (spec.dt is None or spec.steps is None):
        raise passage.place.fault("walks need the keys 'dt' and 'steps', the most steps that a walk takes")
    kinds = [observed.distribution is None for observed in spec.observed]
    if any(kinds) and not all(kinds):
        place = next(observed.place for observed in spec.observed if observed.distribution is None)
        raise place.fault(
            "a distribution is missing here, as another column has one: give one to all columns, or to none (least squares)"
        )
    if spec.is_least_squares:
        _check_least_squares(spec)
    elif spec.method is not None and spec.method.name in ("trust_region", "levenberg_marquardt"):
        raise spec.method.place.fault(
            f"'{spec.method.name}' is for least squares: a likelihood is searched by l_bfgs_b, nelder_mead, {', '.join(GLOBAL)}"
        )


def _check_least_squares(spec: Specification) -> None:
    for parameter in spec.parameters:
        if parameter.prior is None:
            continue
        if parameter.prior.name != "normal":
            raise parameter.place.fault("with least squares a prior must be normal: give the columns a distribution for others")
        without = [observed for observed in spec.observed if observed.error is None]
        if without:
            raise without[0].place.fault(
                "with a prior, least squares need the key 'error' of each column, its standard deviation"
            )
