"""What the model computes for many candidates at once: a sweep over candidates and runs, compiled once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .._documents import Origin
from .._sweep_library import PER_INSTANCE, PER_STEP, NativeSweep, Plan, Swept
from ..sweeping import _ChangeableProgram
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
    """

    def __init__(
        self,
        source: Origin,
        names: Iterable[str],
        aligned: Alignment,
        dt: float | None,
        ports: list[str],
        settings: Mapping[str, Any],
    ) -> None:
        self.program = _ChangeableProgram(source, [*names, *aligned.inputs], settings)
        self.aligned, self.ports, self._dt = aligned, ports, math.nan if dt is None else dt
        self._records = [self.program.outputs[self.program.find_outputs(port)[0]] for port in ports]
        self._forms: list[tuple[np.dtype, tuple[int, ...]]] = []
        self.n_evaluated = 0

    def __call__(self, candidates: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """What the ports have.

        Parameters
        ----------
        candidates : dict of str to numpy.ndarray
            Shape (candidates, *shape of the parameter).

        Returns
        -------
        list of numpy.ndarray
            For each port: (candidates, runs, steps, *shape of one value); of the last step alone where no other is compared.
        """
        n = len(next(iter(candidates.values())))
        size = max(1, _MOST_BYTES // self._bytes_of_one())
        parts = [
            self._evaluate({name: values[first : first + size] for name, values in candidates.items()})
            for first in range(0, n, size)
        ]
        return [np.concatenate(arrays) if len(arrays) > 1 else arrays[0] for arrays in zip(*parts)]

    def _bytes_of_one(self) -> int:
        rows = self.aligned.n_steps if self.aligned.every_step else 1
        return 8 * self.aligned.n_runs * rows * max(1, sum(math.prod(shape) for _, shape in self._forms))

    def _evaluate(self, candidates: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        aligned, n = self.aligned, len(next(iter(candidates.values())))
        n_instances = n * aligned.n_runs
        swept = [Swept(name, np.repeat(values, aligned.n_runs, axis=0), PER_INSTANCE) for name, values in candidates.items()]
        inputs = [
            Swept(
                name, np.tile(values, (n, *[1] * (values.ndim - 1))), PER_INSTANCE | (PER_STEP if name in aligned.by_step else 0)
            )
            for name, values in aligned.inputs.items()
        ]
        every = 1 if aligned.every_step else 0
        plan = Plan(
            swept + [each for each in inputs if each.name in self.program.parameters],
            [each for each in inputs if each.name not in self.program.parameters],
            self._records, 0, n_instances, [n_instances], aligned.n_steps, self._dt, every, self._forms,
        )  # fmt: skip
        is_small = n_instances * aligned.n_steps < _SMALL
        native = NativeSweep(self.program.handle, plan, 1 if is_small else 0, brief=is_small)
        self._forms = self._forms or native.forms()
        self.n_evaluated += n
        return [array.reshape(n, aligned.n_runs, *array.shape[1:]) for array in native.run()]
