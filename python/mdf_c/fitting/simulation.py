"""What the model computes for many candidates at once: a sweep over candidates and runs, compiled once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .._documents import Origin
from .._sweep_library import PER_INSTANCE, PER_STEP, NativeSweep, Plan, Swept
from ..errors import MdfError, MdfInterrupted, MdfLimitError, MdfMemoryError
from ..sweeping import _ChangeableProgram, instance_seeds
from .alignment import Alignment

# What one call may record, and how many steps are not worth waking other threads.
_MOST_BYTES, _SMALL = 1 << 27, 50_000


class Simulation:
    """A program with the fitted parameters changeable.

    Parameters
    ----------
    source : Origin
        Of the model.
    names : iterable of str
        Parameters of the model.
    aligned : Alignment
    dt : float or None
    ports : list of str
        What is recorded.
    settings : dict
        Of mdf_c.Settings.
    seed : int
        Of the runs: all candidates have the same seeds, so that what is computed is a function of the candidate.

    Attributes
    ----------
    n_failed : int
        Candidates for which the model could not be evaluated: all that they have is NaN.
    failure : str
        What was said of the first of them.
    """

    def __init__(
        self,
        source: Origin,
        names: Iterable[str],
        aligned: Alignment,
        dt: float | None,
        ports: list[str],
        settings: Mapping[str, Any],
        seed: int,
    ) -> None:
        self.program = _ChangeableProgram(source, [*names, *aligned.inputs], settings)
        self.aligned, self.ports, self._dt = aligned, ports, math.nan if dt is None else dt
        self._records = [self.program.outputs[self.program.find_outputs(port)[0]] for port in ports]
        self._forms: list[tuple[np.dtype, tuple[int, ...]]] = []
        self._seeds = instance_seeds(seed, aligned.n_runs)
        self.n_failed, self.failure = 0, ""

    def __call__(self, candidates: Mapping[str, np.ndarray], n: int) -> list[np.ndarray]:
        """What the ports have.

        Parameters
        ----------
        candidates : dict of str to numpy.ndarray
            Shape (n, *shape of the parameter).
        n : int
            How many candidates there are.

        Returns
        -------
        list of numpy.ndarray
            For each port: (candidates, runs, steps, *shape of one value); of the last step alone where no other is compared.

        Raises
        ------
        MdfError
            The first candidate of all can not be evaluated.
        """
        if not candidates and n > 1:  # what is fitted is not the model's: it is the same for all
            return [np.repeat(array, n, axis=0) for array in self(candidates, 1)]
        size = max(1, _MOST_BYTES // self._bytes_of_one())
        parts = [self._evaluate(_part(candidates, first, first + size), min(size, n - first)) for first in range(0, n, size)]
        return [np.concatenate(arrays) if len(arrays) > 1 else arrays[0] for arrays in zip(*parts)]

    def _bytes_of_one(self) -> int:
        rows = self.aligned.n_steps if self.aligned.every_step else 1
        return 8 * self.aligned.n_runs * rows * max(1, sum(math.prod(shape) for _, shape in self._forms))

    def _evaluate(self, candidates: Mapping[str, np.ndarray], n: int) -> list[np.ndarray]:
        """All at once; where one of them fails, each by itself."""
        try:
            return self._sweep(candidates, n)
        except (MdfInterrupted, MdfLimitError, MdfMemoryError):
            raise
        except MdfError as error:
            if not self._forms:
                raise
            if n > 1:
                parts = [self._evaluate(_part(candidates, i, i + 1), 1) for i in range(n)]
                return [np.concatenate(arrays) for arrays in zip(*parts)]
            self.n_failed, self.failure = self.n_failed + 1, self.failure or str(error)
        rows = self.aligned.n_steps if self.aligned.every_step else 1
        return [np.full((1, self.aligned.n_runs, rows, *shape), math.nan) for _, shape in self._forms]

    def _sweep(self, candidates: Mapping[str, np.ndarray], n: int) -> list[np.ndarray]:
        aligned, n_instances = self.aligned, n * self.aligned.n_runs
        swept = [Swept(name, np.repeat(values, aligned.n_runs, axis=0), PER_INSTANCE) for name, values in candidates.items()]
        for name, values in aligned.inputs.items():
            axes = PER_INSTANCE | (PER_STEP if name in aligned.by_step else 0)
            swept.append(Swept(name, np.tile(values, (n, *[1] * (values.ndim - 1))), axes))
        plan = Plan(
            [each for each in swept if each.name in self.program.parameters],
            [each for each in swept if each.name not in self.program.parameters],
            self._records, np.tile(self._seeds, n), n_instances, [n_instances], aligned.n_steps, self._dt,
            1 if aligned.every_step else 0, self._forms,
        )  # fmt: skip
        is_small = n_instances * aligned.n_steps < _SMALL
        native = NativeSweep(self.program.handle, plan, 1 if is_small else 0, brief=is_small)
        arrays = [array.reshape(n, aligned.n_runs, *array.shape[1:]) for array in native.run()]
        # Later candidates may have reals where the first one has whole numbers.
        self._forms = self._forms or [
            (np.dtype(float) if dtype.kind in "biuf" else dtype, shape) for dtype, shape in native.forms()
        ]
        return arrays


def _part(candidates: Mapping[str, np.ndarray], first: int, last: int) -> dict[str, np.ndarray]:
    return {name: values[first:last] for name, values in candidates.items()}
