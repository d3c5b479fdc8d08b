"""sweep: one model evaluated thousands of times, with other parameters, inputs and seeds; on all cores, or on a cluster."""

from __future__ import annotations

import ctypes
import functools
import math
import os
import queue
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._documents import Origin, Source, format_of
from ._library import PART_PARAMETER, Error, Handle, Uncopied, checked, lib
from ._sweep_library import PER_INSTANCE, PER_STEP, TYPED, NativeSweep, Plan, Swept
from ._values import as_array, is_array, unmasked
from .custom import known_elsewhere
from .drawing import plot_sweep, shown, table, titled
from .engine import Model, Program, Settings, _Findings, _options, c_names, functions_of, warn_of_run
from .errors import MdfError
from .running import input_names

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.figure import Figure

# Parts that a cluster's work is cut into, for each of its threads: enough that a lost worker costs little.
_CHUNKS_PER_THREAD = 8
# No array is so large that it would be put beside the file.
_WHOLE = ctypes.c_size_t(-1).value


@dataclass(repr=False)
class SweepResult:
    """What a sweep computed. ``result["NODE.PORT"]`` and ``result["PORT"]`` look arrays up.

    Attributes
    ----------
    axes : dict of str to numpy.ndarray
        The swept names and their values: of a grid, an axis each; else each has one value an instance.
    dims : tuple of str
        Names of the leading axes of every array: those of the instances (the swept names of a grid, or "instance"), and
        then, where more than the last step is recorded, "step".
    outputs : dict of str to numpy.ndarray
        Values by NODE.PORT; shape: that of `dims`, then that of one value. A node that had not run yet has NaN.
    seeds : numpy.ndarray of uint64
        The seed of each instance; shape: that of the instances.
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
    is_grid: bool = field(default=True, repr=False)

    def __getitem__(self, name: str) -> np.ndarray:
        found = [key for key in self.outputs if name in (key, key.split(".", 1)[-1])]
        if len(found) != 1:
            raise KeyError(f"'{name}' is not one of the recorded ports {list(self.outputs)}")
        return self.outputs[found[0]]

    def __repr__(self) -> str:
        shape = dict(zip(self.dims, self._shape()))
        return f"<mdf_c.SweepResult of {self.seeds.size} instances over {shape}: {', '.join(self.outputs)}>"

    def _shape(self) -> tuple[int, ...]:
        return next(iter(self.outputs.values())).shape[: len(self.dims)]

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
        ticks = {**self.axes, "instance": np.arange(len(self.seeds)), "step": self.times if over_time else self.steps}
        dims = list(self.dims)
        if not self.is_grid and len(self.axes) == 1 and dims[0] == "instance":
            dims[0] = next(iter(self.axes))
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
        variables = {
            name: ([*dims, *(f"{name}_{i}" for i in range(values.ndim - len(dims)))], values)
            for name, values in self.outputs.items()
        }
        coordinates: dict[str, Any] = {"seed": (dims[: self.seeds.ndim], self.seeds)}
        for name, values in axes.items():
            if not self.is_grid:
                coordinates[name] = (("instance", *(f"{name}_{i}" for i in range(values.ndim - 1))), values)
            elif values.ndim == 1:
                coordinates[name] = values
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
    parameters: Mapping[str, Any],
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
        axis of the values goes through the instances, the rest is the shape of one value.
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
        0: all cores.
    client : concurrent.futures.Executor or dask.distributed.Client, optional
        Spreads the instances over its workers, where this package must be installed. An executor is anything with
        ``submit(function, *arguments)`` whose futures have ``result``, ``cancel`` and ``add_done_callback``. Work of a worker
        that dask loses is done again by others; an executor that loses one says so itself (BrokenExecutor).
    progress
        True: a bar, where tqdm is installed; or a function, called now and then with the number of instances done.
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
    if not isinstance(parameters, Mapping):
        raise TypeError(f"parameters are a dict of values by name, not a {type(parameters).__name__}")
    program = _ChangeableProgram(_origin(model), parameters, settings)
    axes = {name: _axis(name, values) for name, values in parameters.items()}
    warn_of_run(program.handle.pointer, _origin(model), input_names(inputs) | set(program.input_names), steps, dt)
    shape = _instances(axes, combine) if axes else (np.size(seeds),)
    plan = _plan(program, axes, shape, inputs, steps, dt, record, every, seeds, combine)
    n = math.prod(shape)
    with _progress(progress, n) as tell:
        if client is None:
            arrays = NativeSweep(program.handle, plan, threads, tell).run() if n else None
        else:
            plan.forms = NativeSweep(program.handle, plan.part(0, 1), 1).forms() if n else []
            arrays = _run_on_cluster(client, program, plan, n, tell) if n else None
    return _result(program, plan, axes, shape, arrays, combine)


def instance_seeds(seed: int, n: int) -> np.ndarray:
    """The seeds of `n` instances: the numbers that SplitMix64 gives from `seed`."""
    with np.errstate(over="ignore"):
        bits = np.uint64(seed % 2**64) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
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

    def __init__(self, source: Origin, names: Iterable[str], settings: Mapping[str, Any]) -> None:
        self.source, self.settings = source, dict(settings)
        for name in ("seed", "threads"):
            if name in settings:
                raise TypeError(f"'{name}' is no setting of a sweep: see seeds and threads")
        model = Model._read(source)
        program = Program(model, Settings(**settings))
        self.outputs, self.find_outputs, self.results = program.outputs, program.find_outputs, program.results
        self.parameters = [name for name in names if not _is_input(program, name)]
        self.input_names = [name for name in names if name not in self.parameters]
        self.handle = _compile(model, tuple(self.parameters), self.settings)


def _compile(model: Model, parameters: tuple[str, ...], settings: Mapping[str, Any]) -> Handle:
    error, findings = Error(), _Findings(model._origin, settings.get("graph"))
    names = c_names(parameters)
    known = Settings(**settings)
    pointer = lib.mdf_compile_changeable(model._pointer, names, len(names), _options(known, findings), error)
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


def _instances(axes: Mapping[str, np.ndarray], combine: str) -> tuple[int, ...]:
    """Shape of the instances."""
    lengths = tuple(len(values) for values in axes.values())
    if combine == "grid":
        return lengths or (1,)
    if combine != "zip":
        raise ValueError(f"combine must be 'grid' or 'zip', not {combine!r}")
    if len(set(lengths)) > 1:
        raise ValueError(f"to be combined one by one, names need equally many values, not {dict(zip(axes, lengths))}")
    return lengths[:1] or (1,)


def _spread(values: np.ndarray, axis: int, shape: tuple[int, ...], combine: str) -> np.ndarray:
    """The value of each instance, in a row."""
    if combine == "zip":
        return values
    index = np.indices(shape)[axis].ravel()
    return values[index]


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


def _plan(program, axes, shape, inputs, steps, dt, record, every, seeds, combine) -> Plan:
    if steps < 1 or not 0 <= every <= steps:
        raise ValueError("steps must be at least 1, and every between 0 and steps")
    n = math.prod(shape)
    if np.ndim(seeds) == 0:
        seeds = instance_seeds(int(seeds), n)
    seeds = np.asarray(seeds, np.uint64)
    if seeds.size != n:
        raise ValueError(f"{seeds.size} seeds were given for {n} instances")
    spread = [Swept(name, _spread(values, i, shape, combine), PER_INSTANCE) for i, (name, values) in enumerate(axes.items())]
    return Plan(
        [swept for swept in spread if swept.name in program.parameters],
        [swept for swept in spread if swept.name in program.input_names] + _shared(inputs, steps),
        [program.outputs[key] for key in _ports(program, record)],
        seeds.ravel(), steps, math.nan if dt is None else dt, every,
    )  # fmt: skip


def _ports(program: _ChangeableProgram, record: str | Iterable[str] | None) -> list[tuple[str, str]]:
    if record is None:
        names = program.results
        known = [key for key in program.outputs if key[1] in names or f"{key[0]}.{key[1]}" in names]
        return known or list(program.outputs)
    names = [record] if isinstance(record, str) else list(record)
    return [key for name in names for key in program.find_outputs(name)]


def _result(program, plan: Plan, axes, shape, arrays, combine: str) -> SweepResult:
    steps = np.arange(1, plan.steps + 1, plan.every) if plan.every else np.array([plan.steps])
    names = {place: f"{node}.{port}" for (node, port), place in program.outputs.items()}
    outputs = {}
    for i, place in enumerate(plan.records):
        values = arrays[i] if arrays is not None else np.empty((0, len(steps)))
        trailing = values.shape[1:] if plan.every else values.shape[2:]
        outputs[names[place]] = values.reshape(*shape, *trailing)
    dims = (tuple(axes) if combine == "grid" and axes else ("instance",)) + (("step",) if plan.every else ())
    times = plan.dt * (steps - 1)
    return SweepResult(dict(axes), dims, outputs, plan.seeds.reshape(shape), steps, times, combine == "grid" and bool(axes))


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
def _compiled(source: Origin, parameters: tuple[str, ...], settings: tuple[tuple[str, Any], ...]) -> Handle:
    """A worker compiles a program once."""
    return _compile(Model._read(source), parameters, dict(settings))


def _evaluate_part(source: Origin, parameters: tuple[str, ...], settings: tuple, plan: Plan) -> list[np.ndarray]:
    """What a worker does: some of the instances, on the one thread that it does it in."""
    return NativeSweep(_compiled(source, parameters, settings), plan, 1).run()


def _is_dask(client: Any) -> bool:
    return hasattr(client, "scheduler_info")


def _n_threads(client: Any) -> int:
    """How many parts can be evaluated at once, as far as the client tells."""
    if _is_dask(client):
        return max(1, sum(client.nthreads().values()))
    return getattr(client, "_max_workers", None) or os.cpu_count() or 1


def _ending(futures: Iterable[Any]) -> Iterator[Any]:
    """The futures in the order in which they end, whatever executor they are of."""
    ended: queue.SimpleQueue = queue.SimpleQueue()
    n = 0
    for future in futures:
        future.add_done_callback(ended.put)
        n += 1
    for _ in range(n):
        yield ended.get()


def _cancel(client: Any, futures: list[Any]) -> None:
    if _is_dask(client):
        client.cancel(futures)
    else:
        for future in futures:
            future.cancel()


def _run_on_cluster(client, program: _ChangeableProgram, plan: Plan, n: int, tell) -> list[np.ndarray]:
    size = max(1, math.ceil(n / (_n_threads(client) * _CHUNKS_PER_THREAD)))
    common = (program.source, tuple(program.parameters), tuple({"functions": known_elsewhere(), **program.settings}.items()))
    # Not pure: dask would take parts that are alike, but for what it can not see, for one.
    options = {"pure": False} if _is_dask(client) else {}
    rows = (plan.steps - 1) // plan.every + 1 if plan.every else 1
    arrays = [np.empty((n, rows, *shape), dtype) for dtype, shape in plan.forms]
    futures: dict[Any, int] = {}
    done = 0
    try:
        for first in range(0, n, size):
            futures[client.submit(_evaluate_part, *common, plan.part(first, first + size), **options)] = first
        for future in _ending(futures):
            first = futures[future]
            part = future.result()
            for array, values in zip(arrays, part):
                array[first : first + size] = values
            done += min(size, n - first)
            if tell is not None:
                tell(done)
    except BaseException:
        _cancel(client, list(futures))
        raise
    return arrays
