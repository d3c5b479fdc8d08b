"""sweep: one model evaluated thousands of times, with other parameters, inputs and seeds; on all cores, or on a cluster."""

from __future__ import annotations

import ctypes
import functools
import math
import operator
import os
import queue
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._cores import CORES
from ._documents import Origin, Source, format_of
from ._findings import Findings
from ._library import PART_PARAMETER, Error, Handle, Uncopied, c_text, checked, lib
from ._settings import Settings, functions_of, hint_of, number_of_steps, options_of, settings_of
from ._sweep_library import PER_INSTANCE, PER_STEP, REDUCTION_KINDS, STOPPED, TYPED, NativeSweep, Plan, Reduction, Swept, along
from ._values import as_array, is_array, unmasked
from .custom import known_elsewhere
from .drawing import plot_sweep, shown, table, titled
from .engine import Model, Program, c_names, warn_of_run
from .errors import MdfError
from .running import input_names
from .sampling import Distribution, sample

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.figure import Figure

# A part of a cluster's work is to take so long: long beside what it costs to send it, so short that little is lost with a worker.
_PART_S = 1.0
# What nothing is known of yet is so many parts for each thread; as many of them wait at once, or this many; and no part has more
# bytes of results.
_FIRST_PARTS_PER_THREAD = 64
_WAITING_PER_THREAD, _LEAST_WAITING = 2, 8
_MOST_PART_BYTES = 1 << 26
# MDF_SWEEP_MOST_LANES.
_MOST_LANES = 64

# MDF_SWEEP_SHOWS_FORMS: so many instances show the forms of what is recorded.
_SHOW_FORMS = 100
# No array is so large that it would be put beside the file.
_WHOLE = ctypes.c_size_t(-1).value


@dataclass(repr=False)
class SweepResult:
    """What a sweep computed. ``result["NODE.PORT"]`` and ``result["PORT"]`` look arrays up.

    Attributes
    ----------
    axes : dict of str to numpy.ndarray
        The swept names and their values, along their axis.
    dims : tuple of str
        Names of the leading axes of every array: those of the instances (the swept names of a grid, or "instance"; "sample"
        of what is drawn; "trial"), and then, where more than the last step is recorded, "step". Of reductions, the axes
        that they do not go over.
    outputs : dict of str to numpy.ndarray
        Values by NODE.PORT; shape: that of `dims`, then that of one value. A node that had not run yet has NaN. With
        stop_when also "stopped_step", -1 where an instance did not stop, and "stopped_time", NaN there, without an axis of
        steps. Reductions are "NODE.PORT.mean" and the like.
    seeds : numpy.ndarray of uint64
        The seed of each instance; shape: that of the instances. Empty where only reductions are told.
    steps : numpy.ndarray of int
        The recorded steps, counted from 1.
    times : numpy.ndarray
        Their times; NaN without a time increment.
    """

    axes: dict[str, np.ndarray]
    dims: tuple[str, ...]
    outputs: dict[str, np.ndarray]
    seeds: np.ndarray
    steps: np.ndarray
    times: np.ndarray
    #: Of each swept name: its axis among `dims`.
    along: dict[str, str] = field(default_factory=dict, repr=False)
    #: Of reductions that have some: the quantiles that are told, the edges of bins.
    points: dict[str, np.ndarray] = field(default_factory=dict, repr=False)
    lengths: tuple[int, ...] = field(default=(), repr=False)
    #: Whether instances were evaluated side by side, and why not; empty where a cluster evaluated them.
    explanation: str = field(default="", repr=False)

    def _find(self, name: object) -> list[str]:
        return [key for key in self.outputs if name in (key, key.split(".", 1)[-1])]

    def __contains__(self, name: object) -> bool:
        return len(self._find(name)) == 1

    def __iter__(self) -> Iterator[str]:
        return iter(self.outputs)

    def __getitem__(self, name: str) -> np.ndarray:
        found = self._find(name)
        if len(found) != 1:
            raise KeyError(f"'{name}' is not one of the recorded ports {list(self.outputs)}{hint_of(name, [port for key in self.outputs for port in (key, key.split('.', 1)[-1])])}")
        return self.outputs[found[0]]

    def __repr__(self) -> str:
        shape = dict(zip(self.dims, self._shape()))
        what = f"{self.seeds.size} instances" if self.seeds.size else "reductions"
        return f"<mdf_c.SweepResult of {what} over {shape}: {', '.join(self.outputs)}>"

    def _shape(self) -> tuple[int, ...]:
        return (*self.lengths, len(self.steps)) if "step" in self.dims else self.lengths

    def _dims_of(self, name: str) -> tuple[str, ...]:
        """The leading axes of an output."""
        return self.dims[: len(self.lengths)] if name.startswith("stopped_") else self.dims

    def _repr_html_(self) -> str:
        rows = [(name, shown(values)) for part in (self.axes, self.outputs) for name, values in part.items()]
        return titled(repr(self), table(["swept or recorded", "values"], rows))

    def plot(self, *names: str) -> Figure:
        """What was recorded over one axis of the sweep, or, as colours, over two: a panel for each port.

        Parameters
        ----------
        *names : str
            NODE.PORT or a unique PORT; by default all that was recorded.

        Raises
        ------
        ImportError
            matplotlib is not installed.
        ValueError
            There are more axes: choose among them with :meth:`to_xarray`.
        """
        chosen = {name: self[name] for name in names} if names else self.outputs
        over_time = not np.isnan(self.times).any()
        ticks = {dim: np.arange(n) for dim, n in zip(self.dims, self.lengths)}
        ticks = {**ticks, **self.axes, "step": self.times if over_time else self.steps}
        dims = list(self.dims)
        for i, dim in enumerate(dims):
            swept = [name for name in self.axes if self.along[name] == dim]
            dims[i] = swept[0] if len(swept) == 1 else dim
        return plot_sweep(chosen, dims, ticks)

    def to_xarray(self) -> xarray.Dataset:
        """The arrays as a data set whose coordinates are the swept values and the steps.

        A swept name that is that of a recorded port too has "swept." before it.

        Raises
        ------
        ImportError
            xarray is not installed.
        """
        import xarray

        axes = {f"swept.{name}" if name in self.outputs else name: values for name, values in self.axes.items()}
        dims = tuple(f"swept.{name}" if name in self.outputs else name for name in self.dims)
        along = dict(zip(axes, self.along.values()))
        variables = {}
        for name, values in self.outputs.items():
            own = dims[: len(self._dims_of(name))]
            variables[name] = ([*own, *(f"{name}_{i}" for i in range(values.ndim - len(own)))], values)
        coordinates: dict[str, Any] = {}
        if self.seeds.size:
            coordinates["seed"] = (dims[: self.seeds.ndim], self.seeds)
        for name, values in axes.items():
            if along[name] != name.removeprefix("swept."):
                coordinates[name] = ((along[name], *(f"{name}_{i}" for i in range(values.ndim - 1))), values)
            elif values.ndim == 1:
                coordinates[name] = values
        for name, values in self.points.items():
            coordinates[f"{name}.at"] = ((f"{name}.at",), values)
        if "step" in dims:
            coordinates["step"] = self.steps
            if not np.isnan(self.times).any():
                coordinates["time"] = ("step", self.times)
        return xarray.Dataset(variables, coords=coordinates)

    def to_pandas(self) -> pandas.DataFrame:
        """A table with a row for each instance and recorded step.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        return self.to_xarray().to_dataframe().reset_index()


def sweep(
    model: Source,
    parameters: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    steps: int = 1,
    dt: float | None = None,
    record: str | Iterable[str] | None = None,
    every: int = 0,
    seeds: int | Sequence[int] | np.ndarray = 0,
    combine: str = "grid",
    threads: int = 0,
    client: Any = None,
    progress: bool | Callable[[int], None] = True,
    trials: int = 0,
    stop_when: str | None = None,
    reduce: Mapping[str, Any] | None = None,
    samples: int = 0,
    sampling: str = "random",
    sample_seed: int = 0,
    lanes: int = 0,
    **settings: Any,
) -> SweepResult:
    """Evaluates a graph for many values of its parameters and inputs.

    An instance gives the bits that a run of its own gives, with its values in the model and its seed: whatever the number of
    threads or workers.

    Parameters
    ----------
    model
        What :func:`mdf_c.load` takes, or a Model.
    parameters : dict
        ``{name: values}``: NODE.PARAMETER, or PARAMETER for all of that name; or an input, as NODE.PORT or PORT. The first
        axis of the values goes through the instances, the rest is the shape of one value. What is drawn, :func:`uniform` and
        the like, has one axis together, "sample".
    inputs
        What all instances get: ``{name: value}``, given in every step, or a sequence of such dicts, one a step.
    steps : int
        Evaluations of each instance.
    dt : float, optional
        The time increment of all evaluations but the first.
    record
        Ports whose values are kept, NODE.PORT or a unique PORT; by default what the graph yields.
    every : int
        k: values of the first step, which has the initial values, and of every k-th from there are kept; 0: of the last one only.
    seeds
        For random functions: a number, from which each instance gets a seed of its own (:func:`instance_seeds`), or an array
        of them, of the shape of the instances. Without parameters there is an instance for each seed of the array.
    combine : {"grid", "zip"}
        Each value with each, or the first with the first, the second with the second.
    threads : int
        0: all cores, but for those that other sweeps of this process, which run at the same time, have taken.
    client : concurrent.futures.Executor or dask.distributed.Client, optional
        Spreads the instances over its workers, where this package must be installed. An executor is anything with
        ``submit(function, *arguments)`` whose futures have ``result``, ``cancel`` and ``add_done_callback``. Work of a worker
        that dask loses is done again by others; an executor that loses one says so itself (BrokenExecutor).
    progress
        True: a bar, where tqdm is installed; or a function, called now and then with the number of instances done.
    trials : int
        So many instances of each combination of values, which differ in their seeds; 0: one, and no axis "trial".
    stop_when : str, optional
        An expression over output ports, NODE.PORT or a unique PORT: an instance ends with the step after which it holds.
    reduce : dict, optional
        What is told of many instances together, in place of the values of each: ``{"over": names of axes, by default all,
        "count": names, "mean": names, "var": names, "quantiles": numbers, or {name: numbers}, "histogram": edges, or {name:
        edges}}``, a name being a recorded port, "stopped_step" or "stopped_time"; True: all of these.
    samples, sampling, sample_seed
        How many values are drawn, and how: see :func:`sample`.
    lanes : int
        So many instances are evaluated side by side, in vector registers: a power of two up to 64, 1: one by one, 0: as many
        as pay. `SweepResult.explanation` says whether they were, and why not.
    **settings
        Those of :class:`mdf_c.Settings`, but for seed and threads.

    Returns
    -------
    SweepResult

    Raises
    ------
    MdfError
        The model or a value is at fault, or an instance fails: the first one that does.
    ValueError
        The values do not fit together.
    KeyboardInterrupt
        Ctrl-C.
    """
    parameters = {} if parameters is None else parameters
    if not isinstance(parameters, Mapping):
        raise TypeError(f"parameters are a dict of values by name, not a {type(parameters).__name__}")
    settings_of(settings, sweep)
    program = _ChangeableProgram(_origin(model), parameters, settings, stop_when)
    steps = number_of_steps(steps)
    grid = _grid(parameters, combine, samples, sampling, sample_seed, trials, np.size(seeds))
    warn_of_run(program.handle.pointer, _origin(model), input_names(inputs) | set(program.input_names), steps, dt)
    if not 0 <= lanes <= _MOST_LANES:
        raise ValueError(f"lanes must be a number from 0 to {_MOST_LANES}, not {lanes!r}")
    plan = replace(_plan(program, grid, inputs, steps, dt, record, every, seeds), lanes=lanes)
    if reduce is not None:
        _plan_reductions(program, plan, grid, reduce)
    with _progress(progress, plan.n) as tell:
        if client is None or not plan.n:
            with CORES.taken(threads) as n_threads:
                native = NativeSweep(program.handle, plan, n_threads, tell)
                arrays, stopped = (native.run() if plan.n else None), native.stopped_steps
        else:
            plan.forms = NativeSweep(program.handle, plan.part(0, min(plan.n, _SHOW_FORMS)), 1).forms()
            native = NativeSweep(program.handle, plan, 1)
            arrays, stopped = _run_on_cluster(client, program, plan, native, tell)
    if reduce is not None:
        result = _reduced_result(program, plan, grid, native.reduced())
    else:
        result = _result(program, plan, grid, arrays, stopped)
    return replace(result, explanation=native.explain() if client is None else "")


def instance_seeds(seed: int, n: int) -> np.ndarray:
    """The seeds of `n` instances: the numbers that SplitMix64 gives from `seed`."""
    with np.errstate(over="ignore"):
        bits = np.uint64(operator.index(seed) % 2**64) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


# ---------------------------------------------------------------- programs


def _origin(model: Source) -> Origin:
    """A model as bytes, so that it can travel."""
    if isinstance(model, Program):
        raise TypeError("a sweep compiles the model itself, to keep its parameters changeable: give it the model")
    if isinstance(model, Model):
        return Origin(f"{model.id}.json", "json", _written(model))
    origin = Origin.of(model)
    if origin.content is not None:
        return origin
    packed = Origin(origin.name, format_of(origin.name), Path(origin.name).read_bytes())
    try:
        Model._read(packed)
    except MdfError:  # arrays lie beside it; or else the file itself tells what is wrong
        return _origin(Model._read(origin))
    return packed


def _written(model: Model) -> bytes:
    """A model as one file, whatever it was loaded from."""
    with tempfile.TemporaryDirectory() as folder:
        path, error = Path(folder, "model.json"), Error()
        checked(lib.mdf_model_save_file_parted(model._pointer, os.fsencode(path), _WHOLE, error), error)
        return path.read_bytes()


class _ChangeableProgram(Uncopied):
    """A compiled program in which the swept parameters are kept changeable. Those that are inputs are `input_names`."""

    def __init__(
        self, source: Origin, names: Iterable[str], settings: Mapping[str, Any], stop_when: str | None = None
    ) -> None:
        self.source, self.settings, self.stop_when = source, dict(settings), stop_when
        for name in ("seed", "threads"):
            if name in settings:
                raise TypeError(f"'{name}' is no setting of a sweep: see seeds and threads")
        model = Model._read(source)
        program = Program(model, Settings(**settings))
        self.outputs, self.find_outputs, self.results = program.outputs, program.find_outputs, program.results
        self.parameters = [name for name in names if not _is_input(program, name)]
        self.input_names = [name for name in names if name not in self.parameters]
        self.handle = _compile(model, tuple(self.parameters), self.settings, stop_when)


def _compile(model: Model, parameters: tuple[str, ...], settings: Mapping[str, Any], stop_when: str | None) -> Handle:
    error, findings = Error(), Findings(model._origin, settings.get("graph"))
    names = c_names(parameters)
    known = Settings(**settings)
    options = options_of(known, findings)
    options.stop_when = c_text(stop_when, "stop_when") if stop_when is not None else None
    pointer = lib.mdf_compile_changeable(model._pointer, names, len(names), options, error)
    return Handle(findings.take(pointer, error), lib.mdf_program_free, functions_of(known).handle)


def _is_input(program: Program, name: str) -> bool:
    """Of one name, a parameter goes before an input."""
    for i, node in enumerate(program.nodes):
        if any(name in (part, f"{node}.{part}") for part in program.part_ids(i, PART_PARAMETER)):
            return False
    return name in program.inputs or any(name in (port, f"{node}.{port}") for node, port in program.input_ports())


# ---------------------------------------------------------------- the plan


def _axis(name: str, values: Any) -> np.ndarray:
    if isinstance(values, (list, tuple)):
        values = [unmasked(value) for value in values]
    array = as_array(values) if is_array(values) else np.array(values)
    if array.ndim == 0 or array.dtype.kind not in "bifuc" and array.dtype.kind != "V":
        raise ValueError(f"the values of '{name}' must be a list or an array of numbers")
    return array


@dataclass
class _Grid:
    """The axes of the instances, and along which of them the swept values go."""

    names: list[str]
    lengths: list[int]
    values: dict[str, np.ndarray]
    axis: dict[str, int]

    def add(self, name: str, length: int) -> int:
        self.names.append(name)
        self.lengths.append(length)
        return len(self.names) - 1

    def swept(self, name: str) -> Swept:
        """Of one axis alone, values are those of the instances, and can be cut into parts."""
        flags = PER_INSTANCE if len(self.names) == 1 else PER_INSTANCE | along(self.axis[name])
        return Swept(name, self.values[name], flags)


def _grid(
    parameters: Mapping[str, Any], combine: str, samples: int, sampling: str, sample_seed: int, trials: int, n_seeds: int
) -> _Grid:
    if combine not in ("grid", "zip"):
        raise ValueError(f"combine must be 'grid' or 'zip', not {combine!r}")
    drawn = {name: values for name, values in parameters.items() if isinstance(values, Distribution)}
    if bool(drawn) != bool(samples):
        raise ValueError("samples say how many values are drawn of parameters that are: give both, or neither")
    values = {name: _axis(name, values) for name, values in parameters.items() if name not in drawn}
    grid = _Grid([], [], {}, {})
    lengths = {name: len(array) for name, array in values.items()}
    if combine == "zip" and values:
        if len(set(lengths.values())) > 1:
            raise ValueError(f"to be combined one by one, names need equally many values, not {lengths}")
        axis = grid.add("instance", next(iter(lengths.values())))
        grid.axis = dict.fromkeys(values, axis)
    else:
        grid.axis = {name: grid.add(name, length) for name, length in lengths.items()}
    if drawn:
        grid.axis |= dict.fromkeys(drawn, grid.add("sample", samples))
        values |= sample(drawn, samples, sampling, sample_seed)
    grid.values = {name: values[name] for name in parameters}
    if trials:
        grid.add("trial", trials)
    if not grid.names:
        grid.add("instance", n_seeds)
    return grid


def _shared(inputs: Any, steps: int) -> list[Swept]:
    """Inputs that all instances have."""
    if inputs is None:
        return []
    if isinstance(inputs, Mapping):
        return [Swept(name, *_value(name, value)) for name, value in inputs.items()]
    if len(inputs) != steps or any(set(each) != set(inputs[0]) for each in inputs):
        raise ValueError(f"inputs by step must be {steps} dicts with the same names")
    swept = []
    for name in inputs[0]:
        values = [_value(name, each[name]) for each in inputs]
        swept.append(Swept(name, np.stack([array for array, _ in values]), values[0][1] | PER_STEP))
    return swept


def _value(name: str, value: Any) -> tuple[np.ndarray, int]:
    """An array has a type of its own; numbers and lists are as if they stood in the model."""
    array = as_array(value) if is_array(value) else np.array(value)
    if array.dtype.kind in "OUSTmM":
        raise ValueError(f"input '{name}' of a sweep must be a number or an array of numbers")
    return array, TYPED if is_array(value) else 0


def _plan(program, grid: _Grid, inputs, steps, dt, record, every, seeds) -> Plan:
    steps = number_of_steps(steps)
    if not 0 <= every <= steps:
        raise ValueError(f"every must be between 0 and steps, not {every}")
    n = math.prod(grid.lengths)
    if np.ndim(seeds) == 0:
        seeds = int(seeds)
    else:
        seeds = np.asarray(seeds, np.uint64).ravel()
        if seeds.size != n:
            raise ValueError(f"{seeds.size} seeds were given for {n} instances")
    return Plan(
        [grid.swept(name) for name in grid.values if name in program.parameters],
        [grid.swept(name) for name in grid.values if name in program.input_names] + _shared(inputs, steps),
        [program.outputs[key] for key in _ports(program, record)],
        seeds, n, grid.lengths, steps, math.nan if dt is None else dt, every, stops=program.stop_when is not None,
    )  # fmt: skip


def _names_of_records(program, plan: Plan) -> list[str]:
    names = {place: f"{node}.{port}" for (node, port), place in program.outputs.items()}
    return [names[place] for place in plan.records]


def _plan_reductions(program, plan: Plan, grid: _Grid, reduce: Mapping[str, Any]) -> None:
    """What is told of many instances together."""
    unknown = set(reduce) - {"over", *REDUCTION_KINDS}
    if unknown or not set(reduce) - {"over"}:
        raise ValueError(f"reduce has the keys over, {', '.join(REDUCTION_KINDS)}; not {sorted(unknown) or 'none of these'}")
    over = reduce.get("over", grid.names)
    over = [over] if isinstance(over, str) else list(over)
    for name in over:
        if name not in grid.names:
            raise ValueError(f"reduce goes over {name!r}, which is none of the axes {grid.names}")
    records: dict[str, int] = {name: i for i, name in enumerate(_names_of_records(program, plan))}
    records |= STOPPED if plan.stops else {}
    for kind, wish in reduce.items():
        for name, points in _wanted(kind, wish, records) if kind != "over" else ():
            plan.reductions.append(Reduction(records[name], kind, points))
    plan.is_reduced, plan.stops = [name in over for name in grid.names], False


def _wanted(kind: str, wish: Any, records: Mapping[str, int]) -> Iterator[tuple[str, np.ndarray]]:
    """The names, and the points, that one kind of reduction is wanted of."""
    has_points = kind in ("quantiles", "histogram")
    if wish is False or wish is None:
        return
    if has_points and not isinstance(wish, Mapping):
        wish = dict.fromkeys(records, wish)
    elif not has_points:
        wish = dict.fromkeys(records if wish is True else [wish] if isinstance(wish, str) else wish, ())
    for name, points in wish.items():
        found = [key for key in records if name in (key, key.split(".", 1)[-1])]
        if len(found) != 1:
            raise ValueError(f"reduce: {name!r} is not one of {list(records)}")
        array = np.array(points, np.float64)
        is_fine = array.ndim == 1 and (
            not has_points
            or (kind == "quantiles" and len(array) > 0 and ((array >= 0) & (array <= 1)).all())
            or (kind == "histogram" and len(array) > 1 and (np.diff(array) > 0).all())
        )
        if not is_fine:
            raise ValueError("quantiles are numbers from 0 to 1, the edges of a histogram two or more that ascend")
        yield found[0], array


def _ports(program: _ChangeableProgram, record: str | Iterable[str] | None) -> list[tuple[str, str]]:
    if record is None:
        names = program.results
        known = [key for key in program.outputs if key[1] in names or f"{key[0]}.{key[1]}" in names]
        return known or list(program.outputs)
    names = [record] if isinstance(record, str) else list(record)
    return [key for name in names for key in program.find_outputs(name)]


def _steps(plan: Plan) -> np.ndarray:
    return np.arange(1, plan.steps + 1, plan.every) if plan.every else np.array([plan.steps])


def _result(program, plan: Plan, grid: _Grid, arrays, stopped: np.ndarray) -> SweepResult:
    steps, shape, outputs = _steps(plan), tuple(grid.lengths), {}
    for i, name in enumerate(_names_of_records(program, plan)):
        values = arrays[i] if arrays is not None else np.empty((0, len(steps)))
        trailing = values.shape[1:] if plan.every else values.shape[2:]
        outputs[name] = values.reshape(*shape, *trailing)
    if plan.stops:
        outputs["stopped_step"] = stopped.reshape(shape)
        outputs["stopped_time"] = np.where(stopped < 0, math.nan, plan.dt * (stopped - 1)).reshape(shape)
    dims = tuple(grid.names) + (("step",) if plan.every else ())
    seeds = instance_seeds(plan.seeds, plan.n) if isinstance(plan.seeds, int) else plan.seeds
    return SweepResult(
        dict(grid.values), dims, outputs, seeds.reshape(shape), steps, plan.dt * (steps - 1),
        {name: grid.names[axis] for name, axis in grid.axis.items()}, lengths=shape,
    )  # fmt: skip


def _reduced_result(program, plan: Plan, grid: _Grid, arrays: list[np.ndarray]) -> SweepResult:
    steps, outputs, points = _steps(plan), {}, {}
    kept = [i for i, is_reduced in enumerate(plan.is_reduced) if not is_reduced]
    shape = tuple(grid.lengths[i] for i in kept)
    records = _names_of_records(program, plan)
    stopped = {place: name for name, place in STOPPED.items()}
    for reduction, values in zip(plan.reductions, arrays):
        has_steps = plan.every and reduction.record not in stopped
        name = f"{stopped.get(reduction.record) or records[reduction.record]}.{reduction.kind}"
        outputs[name] = values.reshape(*shape, *values.shape[1 if has_steps else 2 :])
        if len(reduction.points):
            points[name] = reduction.points
    names = [name for name in grid.values if grid.axis[name] in kept]
    return SweepResult(
        {name: grid.values[name] for name in names},
        tuple(grid.names[i] for i in kept) + (("step",) if plan.every else ()),
        outputs, np.empty(0, np.uint64), steps, plan.dt * (steps - 1),
        {name: grid.names[grid.axis[name]] for name in names}, points, shape,
    )  # fmt: skip


# ---------------------------------------------------------------- progress


@contextmanager
def _progress(wish: bool | Callable[[int], None], n: int):
    """What is called with the number of instances that are done."""
    bar = None
    if wish is True:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            wish = False
        else:
            bar = tqdm(total=n, unit="run", disable=None)
    try:
        yield (lambda done: bar.update(done - bar.n)) if bar is not None else wish or None
    finally:
        if bar is not None:
            bar.close()


# ---------------------------------------------------------------- on a cluster


@functools.lru_cache(maxsize=4)
def _compiled(
    source: Origin, parameters: tuple[str, ...], settings: tuple[tuple[str, Any], ...], stop_when: str | None
) -> Handle:
    """A worker compiles a program once."""
    return _compile(Model._read(source), parameters, dict(settings), stop_when)


@dataclass
class _Part:
    """What has come of some of the instances.

    Attributes
    ----------
    seconds : float
        That a worker took for it: of a processor, where others use it too.
    found : list of numpy.ndarray, or bytes
        For each record (instances, rows, *shape of one value); what reductions come to.
    stopped : numpy.ndarray
    """

    seconds: float
    found: list[np.ndarray] | bytes
    stopped: np.ndarray


def _evaluate_part(
    source: Origin, parameters: tuple[str, ...], settings: tuple, stop_when: str | None, plan: Plan
) -> _Part:
    """What a worker does: some of the instances, on the one thread that it does it in."""
    start, start_cpu = time.perf_counter(), time.process_time()
    native = NativeSweep(_compiled(source, parameters, settings, stop_when), plan, 1)
    arrays = native.run()
    found = native.saved() if plan.reductions else arrays
    seconds = min(time.perf_counter() - start, time.process_time() - start_cpu)
    return _Part(seconds, found, native.stopped_steps)


def _is_dask(client: Any) -> bool:
    return hasattr(client, "scheduler_info")


def _n_threads(client: Any) -> int:
    """How many parts can be evaluated at once, as far as the client tells."""
    if _is_dask(client):
        return max(1, sum(client.nthreads().values()))
    return getattr(client, "_max_workers", None) or os.cpu_count() or 1


def _cancel(client: Any, futures: list[Any]) -> None:
    if _is_dask(client):
        client.cancel(futures)
    else:
        for future in futures:
            future.cancel()


class _Parts:
    """The instances, cut as workers take them: as many as take a worker about _PART_S, as far as is known."""

    def __init__(self, plan: Plan, client: Any) -> None:
        self._n, self._client, self._next = plan.n, client, 0
        self._n_threads, self._asked_s = _n_threads(client), time.monotonic()
        rows = (plan.steps - 1) // plan.every + 1 if plan.every else 1
        each = sum(dtype.itemsize * math.prod(shape) for dtype, shape in plan.forms) * rows + 8
        self._most = max(1, plan.n if plan.reductions else _MOST_PART_BYTES // each)
        self._size = math.ceil(plan.n / (self._n_threads * _FIRST_PARTS_PER_THREAD))

    def _threads(self) -> int:
        """Workers may come and go; a scheduler is asked now and then."""
        if time.monotonic() - self._asked_s > _PART_S:
            self._n_threads, self._asked_s = _n_threads(self._client), time.monotonic()
        return self._n_threads

    def is_due(self, n_waiting: int) -> bool:
        """Whether one more is to be given away, while so many are that have not come back."""
        most = max(_LEAST_WAITING, _WAITING_PER_THREAD * self._threads())
        return self._next < self._n and n_waiting < most

    def take(self) -> tuple[int, int]:
        """The next part: its first instance, and the one behind it. What is left at the end is for all threads, but no part is
        shorter than an eighth of the others."""
        share = math.ceil((self._n - self._next) / (_WAITING_PER_THREAD * self._threads()))
        n = min(self._most, self._size, max(share, self._size // 8))
        first, self._next = self._next, min(self._n, self._next + max(1, n))
        return first, self._next

    def learn(self, n: int, seconds: float) -> None:
        """Of a part that has come back; the next ones are larger by little at a time, as instances may differ."""
        self._size = max(1, min(4 * self._size, math.ceil(n * _PART_S / max(seconds, 1e-6))))


def _run_on_cluster(
    client: Any, program: _ChangeableProgram, plan: Plan, native: NativeSweep, tell: Callable[[int], None] | None
) -> tuple[list[np.ndarray], np.ndarray]:
    """Results of all parts; of reductions, `native` gets what they come to."""
    settings = tuple({"functions": known_elsewhere(), **program.settings}.items())
    common = (program.source, tuple(program.parameters), settings, program.stop_when)
    # Not pure: dask would take parts that are alike, but for what it can not see, for one.
    options = {"pure": False} if _is_dask(client) else {}
    rows = (plan.steps - 1) // plan.every + 1 if plan.every else 1
    arrays = [] if plan.reductions else [np.empty((plan.n, rows, *shape), dtype) for dtype, shape in plan.forms]
    parts = _Parts(plan, client)
    waiting: dict[Any, tuple[int, int]] = {}
    ended: queue.SimpleQueue = queue.SimpleQueue()
    done = 0
    try:
        while done < plan.n:
            while parts.is_due(len(waiting)):
                first, end = parts.take()
                future = client.submit(_evaluate_part, *common, plan.part(first, end), **options)
                waiting[future] = (first, end)
                future.add_done_callback(ended.put)
            future = ended.get()
            part = future.result()
            first, end = waiting.pop(future)
            parts.learn(end - first, part.seconds)
            if isinstance(part.found, bytes):
                native.add(part.found)
            else:
                for array, values in zip([*arrays, native.stopped_steps], [*part.found, part.stopped]):
                    array[first:end] = values
            done += end - first
            if tell is not None:
                tell(done)
    except BaseException:
        _cancel(client, list(waiting))
        raise
    return arrays, native.stopped_steps
