"""Sweeps as mdf.h has them: structures, and a call of the engine."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_size_t, c_uint, c_uint64, c_void_p
from dataclasses import dataclass, field

import numpy as np

from ._interrupt import interruptible
from ._library import Error, Handle, Record, Tensor, Uncopied, c_text, checked, lib
from ._values import _DTYPES as DTYPES
from ._values import dtype_number, tensor_of

PER_INSTANCE, PER_STEP, TYPED = 1, 2, 4
NO_DTYPE = len(DTYPES)


class SweepValues(ctypes.Structure):
    """mdf_sweep_values."""

    _fields_ = [("name", c_char_p), ("axes", c_uint), ("values", Tensor)]


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
    ]


for _name, (_result, *_arguments) in {
    "mdf_sweep_new": (c_void_p, c_void_p, POINTER(SweepOptions), POINTER(Error)),
    "mdf_sweep_free": (None, c_void_p),
    "mdf_sweep_n_rows": (c_size_t, c_void_p),
    "mdf_sweep_form": (c_bool, c_void_p, c_size_t, POINTER(Tensor)),
    "mdf_sweep_run": (c_int, c_void_p, POINTER(c_void_p), POINTER(Error)),
    "mdf_sweep_interrupt": (None, c_void_p),
    "mdf_sweep_seed": (c_uint64, c_uint64, c_uint64),
    "mdf_model_save_file_parted": (c_int, c_void_p, c_char_p, c_size_t, POINTER(Error)),
}.items():
    _function = getattr(lib, _name)
    _function.restype, _function.argtypes = _result, _arguments


@dataclass
class Swept:
    """Values of a parameter or an input: an array, and which leading axes it has."""

    name: str
    values: np.ndarray
    axes: int

    def part(self, first: int, last: int) -> Swept:
        """The values of the instances [first, last)."""
        return Swept(self.name, self.values[first:last], self.axes) if self.axes & PER_INSTANCE else self


@dataclass
class Plan:
    """What a sweep evaluates. Plain data, which can travel.

    Attributes
    ----------
    parameters, inputs : list of Swept
    records : list of (int, int)
        Node and output of the ports that are recorded.
    forms : list of (numpy.dtype, tuple of int)
        Type and shape of one value of each; empty: found by evaluating the first instance.
    seeds : numpy.ndarray of uint64, shape (instances,)
    first : int
        Number of the first instance, in messages.
    """

    parameters: list[Swept]
    inputs: list[Swept]
    records: list[tuple[int, int]]
    seeds: np.ndarray
    steps: int
    dt: float
    every: int
    forms: list[tuple[np.dtype, tuple[int, ...]]] = field(default_factory=list)
    first: int = 0

    def part(self, first: int, last: int) -> Plan:
        """The plan of the instances [first, last)."""
        return Plan(
            [swept.part(first, last) for swept in self.parameters],
            [swept.part(first, last) for swept in self.inputs],
            self.records, self.seeds[first:last], self.steps, self.dt, self.every, self.forms, first,
        )  # fmt: skip


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

    Raises
    ------
    MdfError
        The plan does not fit the program, or its first instance can not be evaluated.
    """

    def __init__(self, program: Handle, plan: Plan, threads: int, progress: Callable[[int], None] | None = None) -> None:
        self._progress, self._is_stopped = progress, False
        self._failure: BaseException | None = None  # of the progress function
        self._callback = PROGRESS(self._tell)
        self._plan = plan
        self._parameters, self._inputs = _values(plan.parameters), _values(plan.inputs)
        self._seeds = np.ascontiguousarray(plan.seeds, np.uint64)
        options = SweepOptions(
            size=ctypes.sizeof(SweepOptions),
            n_instances=len(self._seeds),
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
            seeds=self._seeds.ctypes.data_as(POINTER(c_uint64)),
            n_threads=threads,
            progress=self._callback,
        )
        error = Error()
        made: list[Handle] = []

        def make() -> None:
            pointer = lib.mdf_sweep_new(program.pointer, options, error)
            if pointer is not None:
                made.append(Handle(pointer, lib.mdf_sweep_free, program))

        interruptible(make, self._stop)
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
        forms = []
        for i in range(len(self._plan.records)):
            tensor = Tensor()
            lib.mdf_sweep_form(self._pointer, i, byref(tensor))
            forms.append((DTYPES[tensor.dtype], tuple(tensor.shape[: tensor.rank])))
        return forms

    def run(self) -> list[np.ndarray]:
        """Evaluates all instances.

        Returns
        -------
        list of numpy.ndarray
            For each record, shape (instances, rows, *shape of one value).

        Raises
        ------
        MdfError
            That of the first instance that fails.
        KeyboardInterrupt
            Ctrl-C.
        """
        rows = lib.mdf_sweep_n_rows(self._pointer)
        arrays = [np.empty((len(self._seeds), rows, *shape), dtype) for dtype, shape in self.forms()]
        pointers = (c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
        error = Error()
        interruptible(lambda: lib.mdf_sweep_run(self._pointer, pointers, error), lambda: lib.mdf_sweep_interrupt(self._pointer))
        if self._failure is not None:
            raise self._failure
        checked(None, error)
        return arrays


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
