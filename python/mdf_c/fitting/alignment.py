"""Which evaluation of the model each row of the data is about.

A row is of a run, an evaluation of the model from its beginning with inputs of its own, and of a step of that run. Without a column for time
or step, each row is a run, compared after its last step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._placed import Placed
from .specification import Specification


@dataclass
class Alignment:
    """Rows, runs and steps.

    Attributes
    ----------
    run, step : numpy.ndarray of int, shape (rows,)
        The run of each row, and its step, both counted from 0.
    n_runs, n_steps : int
    every_step : bool
        Whether steps before the last are compared.
    inputs : dict of str to numpy.ndarray
        Shape (runs, *shape of one value), or (runs, steps, *shape of one value) of those in `by_step`.
    by_step : set of str
    """

    run: np.ndarray
    step: np.ndarray
    n_runs: int
    n_steps: int
    every_step: bool
    inputs: dict[str, np.ndarray] = field(default_factory=dict)
    by_step: set[str] = field(default_factory=set)


def align(spec: Specification) -> Alignment:
    """The alignment that the keys time, step, run, steps, dt and inputs say.

    Raises
    ------
    MdfError
        They do not go with the data.
    """
    step = _steps(spec)
    if spec.first_passage is not None:
        run = _conditions(spec)
    elif spec.run is not None:
        run = np.unique(spec.data[spec.run], return_inverse=True)[1].reshape(-1)
    else:
        run = np.arange(spec.n_rows) if step is None else np.zeros(spec.n_rows, int)
    n_steps = spec.steps or (1 if step is None else int(step.max()) + 1)
    if step is None:
        step = np.full(spec.n_rows, n_steps - 1)
    elif step.max() >= n_steps:
        raise _key(spec, "steps").fault(
            f"row {int(step.argmax()) + 1} of the data is of step {int(step.max()) + 1}, behind the last, {n_steps}"
        )
    aligned = Alignment(run, step, int(run.max()) + 1, n_steps, bool((step < n_steps - 1).any()))
    for name, argument in spec.inputs.items():
        _align_input(spec, aligned, name, argument.value, argument.place)
    return aligned


def _key(spec: Specification, key: str) -> Placed:
    entries = spec.place.value
    return entries.get(key, spec.place) if isinstance(entries, dict) else spec.place


def _steps(spec: Specification) -> np.ndarray | None:
    """Of each row, counted from 0."""
    if spec.step is not None:
        steps = spec.data[spec.step].astype(float)
        if not (np.isfinite(steps) & (steps == np.floor(steps)) & (steps >= 1)).all():
            raise _key(spec, "step").fault(f"column '{spec.step}' must have whole numbers from 1 on: the steps of the rows")
        return steps.astype(int) - 1
    if spec.time is None:
        return None
    assert spec.dt is not None
    steps = (spec.data[spec.time].astype(float) - spec.start_time) / spec.dt
    nearest = np.rint(steps)
    off = ~(np.abs(steps - nearest) <= 1e-6 * np.maximum(1, np.abs(steps))) | (nearest < 0)
    if off.any():
        row = int(np.argmax(off))
        time = spec.data[spec.time][row]
        cure = (
            "choose dt so that all times are multiples of it"
            if steps[row] > 0
            else "set 'start_time', the time of the first evaluation"
        )
        raise _key(spec, "time").fault(
            f"row {row + 1} of column '{spec.time}' has {time}, which no step of the model has: they have {spec.start_time} + k * {spec.dt}; {cure}"
        )
    return nearest.astype(int)


def _conditions(spec: Specification) -> np.ndarray:
    """Of walks, rows with the same inputs are of one run, which is simulated many times."""
    columns = [
        spec.data[argument.value].reshape(spec.n_rows, -1) for argument in spec.inputs.values() if isinstance(argument.value, str)
    ]
    if not columns:
        return np.zeros(spec.n_rows, int)
    return np.unique(np.concatenate(columns, axis=1), axis=0, return_inverse=True)[1].reshape(-1)


def _align_input(spec: Specification, aligned: Alignment, name: str, value: Any, place: Placed) -> None:
    if not isinstance(value, str):
        aligned.inputs[name] = np.broadcast_to(np.asarray(value), (aligned.n_runs, *np.shape(value))).copy()
        return
    column = spec.data[value]
    if not np.isfinite(column.astype(float)).all():
        raise place.fault(f"column '{value}' has missing values: an input needs one in each row")
    first = np.array([np.argmax(aligned.run == run) for run in range(aligned.n_runs)])
    of_run = column[first]
    if (column == of_run[aligned.run]).all():
        aligned.inputs[name] = of_run
        return
    filled = np.zeros((aligned.n_runs, aligned.n_steps), bool)
    filled[aligned.run, aligned.step] = True
    if not filled.all():
        run, step = np.argwhere(~filled)[0]
        raise place.fault(
            f"column '{value}' changes within a run, so that it must have a value for each step: run {run + 1} has none for step {step + 1}"
        )
    by_step = np.empty((aligned.n_runs, aligned.n_steps, *column.shape[1:]), column.dtype)
    by_step[aligned.run, aligned.step] = column
    aligned.inputs[name] = by_step
    aligned.by_step.add(name)
