"""run: a model, its inputs and a number of steps in; named arrays out."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from ._documents import Source
from ._library import Record, Series, Tensor, lib
from ._settings import increment_of, number_of_steps, settings_of
from ._values import dtype_number
from .engine import Program, State, compile, find_ports, warn_of_run
from .errors import MdfError

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.figure import Figure

# How long the engine evaluates before Python may look at signals.
_BUDGET_S = 0.05

Inputs = Union[Mapping[str, Any], Sequence[Mapping[str, Any]]]


class Traces(dict[str, np.ndarray]):
    """What was recorded, by NODE.PORT; a PORT that only one node has stands for it."""

    def __missing__(self, name: str) -> np.ndarray:
        found = [key for key in self if isinstance(name, str) and key.endswith(f".{name}")]
        if len(found) != 1:
            why = f"is recorded of {' and '.join(found)}: name one of them" if found else "was not recorded (record=...)"
            raise KeyError(f"'{name}' {why}; there are {', '.join(self) or 'none'}")
        return self[found[0]]


class Result:
    """What a run computed. ``result["NODE.PORT"]``, ``result["PORT"]`` and ``result["NAME"]`` look values up.

    Attributes
    ----------
    program : Program or None
    state : State or None
        As the last step left it; it can be evaluated further. A copy and a pickle have the values and traces only, no program and
        no state.
    steps : int
    results : dict of str to value
        What the graph yields.
    outputs : dict of str to dict of str to value
        Every output port after the last step, by node and port.
    trace : dict of str to numpy.ndarray
        Recorded ports, by NODE.PORT or a unique PORT: the first axis is the step. A port whose form changes has an array of objects.
    times : numpy.ndarray, shape (steps,)
        Time of each step; NaN without a time increment.
    bodies : list of dict
        With ``trace_bodies``: what bodies had in each step, as :meth:`State.bodies` has it.
    profile : dict
        With ``profile``: where the time went, as :meth:`State.profile` has it.
    """

    def __init__(
        self,
        program: Program | None,
        state: State | None,
        steps: int,
        results: dict[str, Any],
        outputs: dict[str, dict[str, Any]],
        trace: dict[str, np.ndarray] | None = None,
        times: np.ndarray | None = None,
        bodies: list[dict[str, Any]] | None = None,
        profile: dict[str, Any] | None = None,
    ) -> None:
        self.program, self.state, self.steps, self.results, self.outputs = program, state, steps, results, outputs
        self.trace: dict[str, np.ndarray] = {} if trace is None else trace
        self.times = np.empty(0) if times is None else times
        self.bodies: list[dict[str, Any]] = [] if bodies is None else bodies
        self.profile: dict[str, Any] = {} if profile is None else profile

    def __contains__(self, name: object) -> bool:
        ports = [text for node, ports in self.outputs.items() for port in ports for text in (f"{node}.{port}", port)]
        return name in self.results or sum(port == name for port in ports) == 1

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __getitem__(self, name: str) -> Any:
        if name in self.results:
            return self.results[name]
        ((node, port),) = self._find(name)
        return self.outputs[node][port]

    if not TYPE_CHECKING:  # for who looks at types there is no such attribute

        def __getattr__(self, name: str) -> Any:
            """Of a name that no attribute has: where it is a value's, how that is looked up."""
            known = self.__dict__.get("outputs", {})
            is_value = name in self.__dict__.get("results", {}) or any(name in ports or name == node for node, ports in known.items())
            hint = f": values are looked up as result['{name}'], or result['NODE.PORT']" if is_value else ""
            raise AttributeError(f"a Result has no attribute '{name}'{hint}")

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "program": None, "state": None}

    def _find(self, name: str) -> list[tuple[str, str]]:
        return find_ports([(node, port) for node, ports in self.outputs.items() for port in ports], name)

    def recorded(self, name: str) -> np.ndarray:
        """The trace of NODE.PORT, or of a unique PORT; shape (steps, ...).

        Raises
        ------
        MdfNameError
            There is no such port.
        KeyError
            It was not recorded.
        """
        ((node, port),) = self._find(name)
        return self.trace[f"{node}.{port}"]

    def __repr__(self) -> str:
        words = {name: np.array2string(np.asarray(value), threshold=6).split() for name, value in self.results.items()}
        found = ", ".join(f"{name}={' '.join(parts)}" for name, parts in words.items())
        return f"<mdf_c.Result of {self.steps} steps: {found}>"

    def _repr_html_(self) -> str:
        from .drawing import shown, table, titled

        rows = [(f"{node}.{port}", shown(value)) for node, ports in self.outputs.items() for port, value in ports.items()]
        recorded = f", recorded {', '.join(self.trace)}" if self.trace else ""
        return titled(f"{self.steps} steps{recorded}", table(["output", "value after the last step"], rows))

    def plot(self, *names: str) -> Figure:
        """The trace over time (or steps), a panel for each port: lines, or colours for an array of many numbers.

        Parameters
        ----------
        *names : str
            NODE.PORT or a unique PORT; by default all that was recorded.

        Raises
        ------
        ImportError
            matplotlib is not installed.
        ValueError
            Nothing was recorded that has numbers.
        """
        from .drawing import plot_traces

        chosen = {f"{node}.{port}" for name in names for node, port in self._find(name)} if names else set(self.trace)
        return plot_traces({name: values for name, values in self.trace.items() if name in chosen}, *self._axis())

    def to_pandas(self) -> pandas.DataFrame:
        """The trace as a table, a row a step; an array of several numbers has a column each, ``PORT[i,j]``.

        Raises
        ------
        ImportError
            pandas is not installed.
        ValueError
            No port was recorded.
        """
        import pandas

        self._need_trace()
        columns: dict[str, np.ndarray] = {}
        for name, values in self.trace.items():
            if values.ndim == 1:
                columns[name] = values
                continue
            for index in np.ndindex(values.shape[1:]):
                columns[f"{name}[{','.join(map(str, index))}]"] = values[(slice(None), *index)]
        return pandas.DataFrame(columns, index=pandas.Index(self._axis()[1], name=self._axis()[0]))

    def to_xarray(self) -> xarray.Dataset:
        """The trace as a data set with the axis "time" (or "step", without a time increment).

        Raises
        ------
        ImportError
            xarray is not installed.
        ValueError
            No port was recorded.
        """
        import xarray

        self._need_trace()
        axis, ticks = self._axis()
        variables = {
            name: ([axis, *(f"{name}_{i}" for i in range(values.ndim - 1))], values) for name, values in self.trace.items()
        }
        return xarray.Dataset(variables, coords={axis: ticks})

    def _need_trace(self) -> None:
        if not self.trace:
            raise ValueError("there is no trace: no port was recorded (record=True)")

    def _axis(self) -> tuple[str, np.ndarray]:
        if np.isnan(self.times).any():
            return "step", np.arange(len(self.times))
        return "time", self.times


class _Recorder:
    """Values of some ports, step by step: packed arrays, filled by the engine, while the form of a port stays the same."""

    def __init__(self, program: Program, ports: list[tuple[str, str]], steps: int) -> None:
        self.program, self.ports, self.steps = program, ports, steps
        self.arrays: list[np.ndarray] = []

    def store(self, state: State, step: int) -> None:
        """Writes the values after a step; the first one says what form the ports have."""
        for i, (node, port) in enumerate(self.ports):
            value = state.output(node, port)
            if step == 0:
                self.arrays.append(self._new(value))
            if self.arrays[i].dtype != object and not self._fits(self.arrays[i], value):
                self._loosen(i, step)
            if self.arrays[i].dtype == object:
                self.arrays[i][step] = value[()] if getattr(value, "ndim", 1) == 0 else value
            else:
                self.arrays[i][step] = value

    def _new(self, value: Any) -> np.ndarray:
        if isinstance(value, np.ndarray) and value.dtype != object:
            return np.empty((self.steps, *value.shape), value.dtype)
        return np.empty(self.steps, object)

    @staticmethod
    def _fits(array: np.ndarray, value: Any) -> bool:
        return isinstance(value, np.ndarray) and value.dtype == array.dtype and value.shape == array.shape[1:]

    def _loosen(self, i: int, n_filled: int) -> None:
        loose = np.empty(self.steps, object)
        for step in range(n_filled):
            loose[step] = self.arrays[i][step]
        self.arrays[i] = loose

    def records(self, step: int) -> ctypes.Array | None:
        """Where the engine itself writes from `step` on; None where a port's values are no numbers of one form."""
        if any(array.dtype == object for array in self.arrays):
            return None
        records = (Record * len(self.arrays))()
        for record, array, key in zip(records, self.arrays, self.ports):
            record.node, record.output = self.program.outputs[key]
            shape = array.shape[1:]
            record.dtype, record.rank = dtype_number(array.dtype), len(shape)
            record.shape = (ctypes.c_int64 * len(shape))(*shape)
            record.size_bytes = array.itemsize * math.prod(shape)
            record.data = array.ctypes.data + step * record.size_bytes
        return records


def _series(inputs: Mapping[str, np.ndarray], first: int) -> ctypes.Array:
    """Inputs from step `first` on."""
    series = (Series * len(inputs))()
    for one, (name, array) in zip(series, inputs.items()):
        shape = array.shape[1:]
        one.name, one.step_bytes = name.encode(), array.itemsize * math.prod(shape)
        one.value = Tensor(
            dtype_number(array.dtype),
            len(shape),
            (ctypes.c_int64 * len(shape))(*shape),
            array.ctypes.data + first * one.step_bytes,
        )
    return series


def _evaluate_many(
    state: State, recorder: _Recorder, first: int, steps: int, dt: float, inputs: Mapping[str, np.ndarray] | None = None
) -> int:
    """Evaluates from step `first` on, as far as one call of the engine gets, with inputs that change, where there are such; the
    next step."""
    records = recorder.records(first)
    if records is None:
        if inputs is not None:
            state.set_inputs({name: array[first] for name, array in inputs.items()})
        state.evaluate(dt)
        recorder.store(state, first)
        return first + 1
    n_done, n_recorded = ctypes.c_uint64(), ctypes.c_uint64()
    series = _series(inputs or {}, first)
    arguments = (
        state._pointer,
        series,
        len(series),
        steps - first,
        dt,
        dt,
        _BUDGET_S,
        records,
        len(records),
        n_done,
        n_recorded,
        state._error,
    )
    state._run(lambda: lib.mdf_evaluate_series(*arguments), 2 * _BUDGET_S)
    if n_recorded.value < n_done.value:
        recorder.store(state, first + n_recorded.value)
    return first + n_done.value


def _check_inputs(inputs: Any) -> None:
    if inputs is None or isinstance(inputs, Mapping):
        return
    if isinstance(inputs, (str, bytes)) or not isinstance(inputs, Sequence) or not all(isinstance(one, Mapping) for one in inputs):
        raise TypeError(f"inputs are a dict {{name: value}}, or a list of such dicts, one a step, not {inputs!r:.100}")


def _ports(program: Program, record: bool | str | Iterable[str]) -> list[tuple[str, str]]:
    if record is True:
        return list(program.outputs)
    if not record:
        return []
    names = [record] if isinstance(record, str) else record
    return [key for name in names for key in program.find_outputs(name)]


def run(
    model: Source | Program,
    inputs: Inputs | None = None,
    steps: int = 1,
    dt: float | None = None,
    record: bool | str | Iterable[str] = (),
    *,
    progress: Callable[[int], None] | None = None,
    trace_bodies: bool = False,
    profile: bool = False,
    **settings: Any,
) -> Result:
    """Evaluates a graph for some steps.

    Parameters
    ----------
    model
        What :func:`mdf_c.compile` takes.
    inputs
        ``{name: value}``, given in every step, or a sequence of such dicts, one a step (steps past its end get none). A name
        is PORT or NODE.PORT.
    steps : int
        Evaluations of the graph.
    dt : float, optional
        The time increment. The first evaluation sets the initial values and gets none.
    record
        Ports whose values are kept for every step: True for all, or names (NODE.PORT or a unique PORT).
    progress
        Called now and then with the number of steps that are done, as ``tqdm.update`` is with a difference.
    trace_bodies : bool
        Values inside the bodies of Scan, Loop and If are kept, by step and iteration: ``Result.bodies``.
    profile : bool
        Time and calls of nodes, operators and bodies are taken: ``Result.profile``.
    **settings
        Those of :class:`mdf_c.Settings`.

    Returns
    -------
    Result

    Raises
    ------
    MdfError
        The model, an input or the evaluation is at fault.
    KeyboardInterrupt
        Ctrl-C.
    """
    steps, dt = number_of_steps(steps), increment_of(dt)
    _check_inputs(inputs)
    settings_of(settings, run)
    program = compile(model, **settings)
    warn_of_run(program._pointer, program._origin, input_names(inputs), steps, dt)
    state = program.state()
    state._take_as_checked()
    state.limit_time(settings.get("time_limit", 0.0))
    if trace_bodies or profile:
        state.inspect(bodies=trace_bodies, profile=profile)
    recorder = _Recorder(program, _ports(program, record), steps)
    bodies: list[dict[str, Any]] | None = [] if trace_bodies else None
    try:
        _record_steps(state, inputs, steps, dt, recorder, progress, bodies)
    except MdfError as error:
        _advise_of_arrays(error, inputs)
        raise
    times = np.full(steps, np.nan) if dt is None else dt * np.arange(steps)
    trace = Traces({f"{node}.{port}": array for (node, port), array in zip(recorder.ports, recorder.arrays)})
    return Result(program, state, steps, state.results(), state.outputs(), trace, times, bodies or [], state.profile() if profile else {})


def _advise_of_arrays(error: MdfError, inputs: Inputs | None) -> None:
    """Where an error names the shape of an array that is given as a whole in each step, it may be one over time: says how that is
    given."""
    for name, value in inputs.items() if isinstance(inputs, Mapping) else ():
        if np.ndim(value) == 1 and len(value) > 1 and f"[{len(value)}]" in error.message:
            error.message += (
                f"; input '{name}' is given as an array of {len(value)} values in each step: to give one of them in each step, "
                f"pass a list of dicts, inputs=[{{'{name}': value}} for value in ...]"
            )
            error.args = (error.message,)
            return


def record_series(state: State, inputs: Mapping[str, np.ndarray], steps: int, ports: list[tuple[str, str]]) -> list[np.ndarray]:
    """The same as :func:`record_steps` for arrays of numbers, one a row for each step, which are gone through again where there are
    fewer: the engine goes from step to step."""
    rows = {
        name: np.ascontiguousarray(array if len(array) == steps else array[np.arange(steps) % len(array)])
        for name, array in inputs.items()
    }
    recorder = _Recorder(state.program, ports, steps)
    state.set_inputs({name: array[0] for name, array in rows.items()})
    state.evaluate(None)
    recorder.store(state, 0)
    step = 1
    while step < steps:
        step = _evaluate_many(state, recorder, step, steps, math.nan, rows)
    return recorder.arrays


def record_steps(state: State, inputs: Inputs | None, steps: int, ports: list[tuple[str, str]]) -> list[np.ndarray]:
    """Evaluates a state for some steps; the values of ports, whose first axis is the step."""
    recorder = _Recorder(state.program, ports, steps)
    _record_steps(state, inputs, steps, None, recorder, None)
    return recorder.arrays


def _record_steps(
    state: State,
    inputs: Inputs | None,
    steps: int,
    dt: float | None,
    recorder: _Recorder,
    progress: Callable[[int], None] | None,
    bodies: list[dict[str, Any]] | None = None,
) -> None:
    step = 0
    while step < steps:
        _give_inputs(state, inputs, step)
        if step == 0 or bodies is not None or (inputs is not None and not isinstance(inputs, Mapping) and step < len(inputs)):
            state.evaluate(None if step == 0 else dt)
            recorder.store(state, step)
            if bodies is not None:
                bodies.append(state.bodies())
            step += 1
        else:
            step = _evaluate_many(state, recorder, step, steps, math.nan if dt is None else dt)
        if progress is not None:
            progress(step)


def input_names(inputs: Inputs | None) -> set[str]:
    """Of all steps."""
    if inputs is None or isinstance(inputs, Mapping):
        return set(inputs or ())
    return {name for given in inputs for name in given}


def _give_inputs(state: State, inputs: Inputs | None, step: int) -> None:
    if isinstance(inputs, Mapping):
        state.set_inputs(inputs)
    elif inputs is not None and step < len(inputs):
        state.set_inputs(inputs[step])
