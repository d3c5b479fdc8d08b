"""Sweeps as mdf.h has them: structures, and a call of the engine."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint, c_uint64, c_void_p
from dataclasses import dataclass, field, replace

import numpy as np

from ._interrupt import interruptible
from ._library import Error, Handle, Record, Tensor, Uncopied, c_text, checked, lib
from ._values import _DTYPES, dtype_number, dtype_of, tensor_of

PER_INSTANCE, PER_STEP, TYPED = 1, 2, 4
# mdf_sweep_reduction_kind.
REDUCTION_KINDS = ("count", "mean", "var", "quantiles", "histogram")
# MDF_REDUCED_STOPPED_STEP, MDF_REDUCED_STOPPED_TIME, which stand in the place of a record.
_LARGEST = c_size_t(-1).value
STOPPED = {"stopped_step": _LARGEST - 1, "stopped_time": _LARGEST}
NO_DTYPE = len(_DTYPES)


class SweepValues(ctypes.Structure):
    """mdf_sweep_values."""

    _fields_ = [("name", c_char_p), ("axes", c_uint), ("values", Tensor)]


class NativeReduction(ctypes.Structure):
    """mdf_sweep_reduction."""

    _fields_ = [("record", c_size_t), ("kind", c_int), ("points", POINTER(c_double)), ("n_points", c_size_t)]


def along(axis: int) -> int:
    """MDF_SWEEP_ALONG."""
    return (axis + 1) << 8


PROGRESS = ctypes.CFUNCTYPE(c_bool, c_void_p, c_size_t, c_size_t)


class SweepOptions(ctypes.Structure):
    """mdf_sweep_options."""

    _fields_ = [
        ("size", c_size_t),
        ("n_instances", c_size_t),
        ("first_instance", c_size_t),
        ("parameters", POINTER(SweepValues)),
        ("inputs", POINTER(SweepValues)),
        ("n_parameters", c_size_t),
        ("n_inputs", c_size_t),
        ("records", POINTER(Record)),
        ("n_records", c_size_t),
        ("n_steps", c_uint64),
        ("dt", c_double),
        ("record_every", c_uint64),
        ("seeds", POINTER(c_uint64)),
        ("seed", c_uint64),
        ("n_threads", c_int),
        ("progress", PROGRESS),
        ("progress_context", c_void_p),
        ("grid", POINTER(c_size_t)),
        ("n_grid", c_size_t),
        ("stopped_steps", POINTER(c_int64)),
        ("reductions", POINTER(NativeReduction)),
        ("n_reductions", c_size_t),
        ("is_reduced", POINTER(c_bool)),
        ("n_lanes", c_size_t),
    ]


lib.declare(
    {
        "mdf_sweep_new": (c_void_p, c_void_p, POINTER(SweepOptions), POINTER(Error)),
        "mdf_sweep_free": (None, c_void_p),
        "mdf_sweep_n_rows": (c_size_t, c_void_p),
        "mdf_sweep_form": (c_bool, c_void_p, c_size_t, POINTER(Tensor)),
        "mdf_sweep_run": (c_int, c_void_p, POINTER(c_void_p), POINTER(Error)),
        "mdf_sweep_interrupt": (None, c_void_p),
        "mdf_explain_sweep": (c_size_t, c_void_p, c_char_p, c_size_t),
        "mdf_sweep_reduced_form": (c_bool, c_void_p, c_size_t, POINTER(Tensor)),
        "mdf_sweep_reduced": (c_int, c_void_p, c_size_t, c_void_p, POINTER(Error)),
        "mdf_sweep_save_reduced": (c_size_t, c_void_p, c_void_p, c_size_t),
        "mdf_sweep_add_reduced": (c_int, c_void_p, c_char_p, c_size_t, POINTER(Error)),
        "mdf_sweep_seed": (c_uint64, c_uint64, c_uint64),
        "mdf_model_save_file_parted": (c_int, c_void_p, c_char_p, c_size_t, POINTER(Error)),
    }
)


@dataclass
class Swept:
    """Values of a parameter or an input: an array, and which leading axes it has."""

    name: str
    values: np.ndarray
    axes: int

    def part(self, first: int, last: int) -> Swept:
        """The values of the instances [first, last); those along an axis of a grid are found by the engine."""
        return Swept(self.name, self.values[first:last], self.axes) if self.axes == PER_INSTANCE else self


@dataclass
class Reduction:
    """What is told of many instances together: of a record, or of STOPPED."""

    record: int
    kind: str
    points: np.ndarray


@dataclass
class Plan:
    """What a sweep evaluates. Plain data, which can travel.

    Attributes
    ----------
    parameters, inputs : list of Swept
    records : list of (int, int)
        Node and output of the ports that are recorded.
    forms : list of (numpy.dtype, tuple of int)
        Type and shape of one value of each; empty: found by evaluating the first instances.
    seeds : int, or numpy.ndarray of uint64, shape (instances,)
        What the seed of each instance is made from, or the seed of each.
    n : int
        Instances.
    grid : list of int
        Lengths of the axes of all instances.
    first : int
        Number of the first of these in the grid.
    stops : bool
        Whether the step after which each stopped is wanted.
    reductions : list of Reduction
    is_reduced : list of bool
        Of each axis of the grid.
    lanes : int
        Instances that are evaluated side by side; 0: as many as pay.
    """

    parameters: list[Swept]
    inputs: list[Swept]
    records: list[tuple[int, int]]
    seeds: int | np.ndarray
    n: int
    grid: list[int]
    steps: int
    dt: float
    every: int
    forms: list[tuple[np.dtype, tuple[int, ...]]] = field(default_factory=list)
    first: int = 0
    stops: bool = False
    reductions: list[Reduction] = field(default_factory=list)
    is_reduced: list[bool] = field(default_factory=list)
    lanes: int = 0

    def part(self, first: int, last: int) -> Plan:
        """The plan of the instances [first, last)."""
        last = min(last, self.n)
        return replace(
            self,
            parameters=[swept.part(first, last) for swept in self.parameters],
            inputs=[swept.part(first, last) for swept in self.inputs],
            seeds=self.seeds if isinstance(self.seeds, int) else self.seeds[first:last],
            n=last - first,
            first=self.first + first,
        )


class NativeSweep(Uncopied):
    """A sweep of a program in the engine.

    Parameters
    ----------
    program : Handle
    plan : Plan
    threads : int
        0: all cores.
    progress : callable, optional
        Called with the number of instances that are done, ten times a second.
    brief : bool
        It takes milliseconds: it is not watched for Ctrl-C, which is heard when it is over.

    Raises
    ------
    MdfError
        The plan does not fit the program, or its first instance can not be evaluated.
    """

    def __init__(
        self, program: Handle, plan: Plan, threads: int, progress: Callable[[int], None] | None = None, brief: bool = False
    ) -> None:
        self._progress, self._is_stopped = progress, False
        self._watched = _unwatched if brief else interruptible
        self._failure: BaseException | None = None  # of the progress function
        self._callback = PROGRESS(self._tell)
        self._plan = plan
        self._parameters, self._inputs = _values(plan.parameters), _values(plan.inputs)
        is_listed = not isinstance(plan.seeds, int)
        self._seeds = np.ascontiguousarray(plan.seeds, np.uint64) if is_listed else None
        #: The step after which each instance stopped, -1: none; where it is wanted.
        self.stopped_steps = np.empty(plan.n if plan.stops else 0, np.int64)
        options = SweepOptions(
            size=ctypes.sizeof(SweepOptions),
            n_instances=plan.n,
            first_instance=plan.first,
            parameters=self._parameters,
            inputs=self._inputs,
            n_parameters=len(self._parameters),
            n_inputs=len(self._inputs),
            records=_records(plan),
            n_records=len(plan.records),
            n_steps=plan.steps,
            dt=plan.dt,
            record_every=plan.every,
            seeds=self._seeds.ctypes.data_as(POINTER(c_uint64)) if self._seeds is not None else None,
            seed=plan.seeds % 2**64 if isinstance(plan.seeds, int) else 0,
            n_threads=threads,
            progress=self._callback,
            grid=(c_size_t * len(plan.grid))(*plan.grid),
            n_grid=len(plan.grid),
            stopped_steps=self.stopped_steps.ctypes.data_as(POINTER(c_int64)) if plan.stops else None,
            reductions=_reductions(plan),
            n_reductions=len(plan.reductions),
            is_reduced=(c_bool * len(plan.is_reduced))(*plan.is_reduced) if plan.is_reduced else None,
            n_lanes=plan.lanes,
        )
        error = Error()
        made: list[Handle] = []

        def make() -> None:
            pointer = lib.mdf_sweep_new(program.pointer, options, error)
            if pointer is not None:
                made.append(Handle(pointer, lib.mdf_sweep_free, program))

        self._watched(make, self._stop)
        if self._failure is not None:
            raise self._failure
        checked(None, error)
        (self._handle,) = made
        self._pointer = self._handle.pointer

    def _tell(self, _context, n_done: int, _n_instances: int) -> bool:
        try:
            if self._progress is not None and self._failure is None:
                self._progress(n_done)
        except BaseException as failure:  # noqa: BLE001 - raised again by run
            self._failure = failure
        return self._failure is None and not self._is_stopped

    def _stop(self) -> None:
        self._is_stopped = True

    def forms(self) -> list[tuple[np.dtype, tuple[int, ...]]]:
        """Type and shape of one value of each record."""
        forms: list = []
        for i in range(len(self._plan.records)):
            tensor = Tensor()
            lib.mdf_sweep_form(self._pointer, i, byref(tensor))
            forms.append((dtype_of(tensor.dtype), tuple(tensor.shape[: tensor.rank])))
        return forms

    def run(self) -> list[np.ndarray]:
        """Evaluates all instances.

        Returns
        -------
        list of numpy.ndarray
            For each record, shape (instances, rows, *shape of one value); none where they are reduced.

        Raises
        ------
        MdfError
            That of the first instance that fails.
        KeyboardInterrupt
            Ctrl-C.
        """
        rows = lib.mdf_sweep_n_rows(self._pointer)
        is_reduced = bool(self._plan.reductions)
        forms = [] if is_reduced else self.forms()
        arrays = [np.empty((self._plan.n, rows, *shape), dtype) for dtype, shape in forms]
        pointers = None if is_reduced else (c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
        error = Error()
        self._watched(lambda: lib.mdf_sweep_run(self._pointer, pointers, error), lambda: lib.mdf_sweep_interrupt(self._pointer))
        if self._failure is not None:
            raise self._failure
        checked(None, error)
        return arrays

    def explain(self) -> str:
        """Whether the instances of the last run were evaluated side by side, and why not."""
        text = ctypes.create_string_buffer(lib.mdf_explain_sweep(self._pointer, None, 0) + 1)
        lib.mdf_explain_sweep(self._pointer, text, len(text))
        return text.value.decode()

    def reduced(self) -> list[np.ndarray]:
        """What each reduction has come to, shape (cells, rows, *shape of one value, points)."""
        arrays, error = [], Error()
        for i in range(len(self._plan.reductions)):
            tensor = Tensor()
            lib.mdf_sweep_reduced_form(self._pointer, i, byref(tensor))
            arrays.append(np.empty(tuple(tensor.shape[: tensor.rank]), dtype_of(tensor.dtype)))
            checked(lib.mdf_sweep_reduced(self._pointer, i, arrays[-1].ctypes.data, error), error)
        return arrays

    def saved(self) -> bytes:
        """What all reductions have come to, for a sweep of the other instances."""
        size = lib.mdf_sweep_save_reduced(self._pointer, None, 0)
        content = ctypes.create_string_buffer(size)
        lib.mdf_sweep_save_reduced(self._pointer, content, size)
        return content.raw

    def add(self, saved: bytes) -> None:
        """Adds what a sweep of other instances has saved."""
        error = Error()
        checked(lib.mdf_sweep_add_reduced(self._pointer, saved, len(saved), error), error)


def _unwatched(call: Callable[[], None], _stop: Callable[[], None]) -> None:
    call()


def _reductions(plan: Plan) -> ctypes.Array:
    reductions = (NativeReduction * len(plan.reductions))()
    for target, source in zip(reductions, plan.reductions):
        points = np.ascontiguousarray(source.points, np.float64)
        target.record, target.kind = source.record, REDUCTION_KINDS.index(source.kind)
        if len(points):
            target.points = (c_double * len(points))(*points)
            target.n_points = len(points)
    return reductions


def _values(swept: list[Swept]) -> ctypes.Array:
    values = (SweepValues * len(swept))()
    for target, source in zip(values, swept):
        target.name, target.axes = c_text(source.name, "the name of values"), source.axes
        target.values = tensor_of(source.values)
    return values


def _records(plan: Plan) -> ctypes.Array:
    records = (Record * len(plan.records))()
    for i, (record, place) in enumerate(zip(records, plan.records)):
        record.node, record.output = place
        record.dtype = NO_DTYPE
        if plan.forms:
            dtype, shape = plan.forms[i]
            record.dtype, record.rank = dtype_number(dtype), len(shape)
            record.shape = (ctypes.c_int64 * len(shape))(*shape)
    return records
