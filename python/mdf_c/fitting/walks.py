"""Choices and times beside those of simulated walks: drift diffusion, accumulators that race, any model that stops.

The likelihood of a row is the density of the first-passage times of many simulations with its inputs, of those that made its choice. All
candidates are simulated with the same seeds, so that the cost is a function, and differences between candidates are of them alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._documents import Origin
from .._placed import unknown
from .._sweep_library import PER_INSTANCE, NativeSweep, Plan, Swept
from ..sweeping import _ChangeableProgram, instance_seeds
from .alignment import Alignment
from .objective import Objective
from .specification import Argument, FirstPassage, Specification

_MOST_INSTANCES = 1 << 22  # of one call


class Walks(Objective):
    """The likelihood of choices and times. Each run is a condition: the inputs that its rows share."""

    def __init__(self, spec: Specification, source: Origin, aligned: Alignment, settings: Mapping[str, Any]) -> None:
        assert spec.first_passage is not None
        self.passage: FirstPassage = spec.first_passage
        super().__init__(spec, source, aligned, settings)
        self.times = spec.data[self.passage.time].astype(float)
        self.n_data = len(self.times)
        latest = float(np.nanmax(self.times))
        self._range = latest if self.passage.is_whole else (spec.dt or 0.0) * (spec.steps or 0)
        choices = np.zeros(len(self.times)) if self.passage.choice is None else spec.data[self.passage.choice].astype(float)
        self.choices = (choices > 0).astype(float) if self.passage.is_whole else choices
        self._kinds = np.unique(self.choices[np.isfinite(self.times)])
        port = (
            None
            if self.passage.port is None
            else self.names.port(self.passage.port, self.passage.place.value["walks" if self.passage.is_whole else "port"])
        )
        self._check_offset()
        names = [*self.model_names, *aligned.inputs]
        self._program = _ChangeableProgram(source, names, settings, self.passage.stop_when)
        self._records = [] if port is None else [self._program.outputs[self._program.find_outputs(port)[0]]]
        self._forms: list[tuple[np.dtype, tuple[int, ...]]] = []
        n = aligned.n_runs * self.passage.trials
        self._seeds = instance_seeds(spec.seed, n)

    def _arguments(self) -> list[Argument]:
        return [] if self.passage.offset is None else [self.passage.offset]

    def _check_offset(self) -> None:
        offset = self.passage.offset
        fitted = [parameter.name for parameter in self.spec.parameters]
        if offset is not None and isinstance(offset.value, str) and offset.value not in fitted:
            raise unknown(offset.place, offset.value, "fitted parameter", fitted)

    # ------------------------------------------------------------ simulation

    def simulate(self, by_name: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Times and choices of walks, shape (candidates, runs, trials); the time of one that did not stop is NaN."""
        n = len(next(iter(by_name.values())))
        size = max(1, _MOST_INSTANCES // len(self._seeds))
        parts = [self._simulate({name: values[i : i + size] for name, values in by_name.items()}) for i in range(0, n, size)]
        return tuple(np.concatenate(arrays) for arrays in zip(*parts))  # type: ignore[return-value]

    def _simulate(self, by_name: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        n, per_candidate, trials = len(next(iter(by_name.values()))), len(self._seeds), self.passage.trials
        swept = [Swept(name, np.repeat(by_name[name], per_candidate, axis=0), PER_INSTANCE) for name in self.model_names]
        for name, values in self.aligned.inputs.items():
            of_candidate = np.repeat(values, trials, axis=0)
            swept.append(Swept(name, np.tile(of_candidate, (n, *[1] * (values.ndim - 1))), PER_INSTANCE))
        plan = Plan(
            [each for each in swept if each.name in self._program.parameters],
            [each for each in swept if each.name not in self._program.parameters],
            self._records, np.tile(self._seeds, n), n * per_candidate, [n * per_candidate], self.aligned.n_steps,
            math.nan if self.spec.dt is None else self.spec.dt, 0, self._forms, stops=not self.passage.is_whole,
        )  # fmt: skip
        native = NativeSweep(self._program.handle, plan, 0)
        self._forms = self._forms or native.forms()
        arrays, stopped = native.run(), native.stopped_steps
        shape = (n, self.aligned.n_runs, trials)
        if self.passage.is_whole:
            signed = arrays[0].reshape(*shape[:2], -1).astype(float)
            return np.abs(signed), (signed > 0).astype(float)
        assert self.spec.dt is not None
        times = np.where(stopped < 0, math.nan, self.spec.dt * (stopped - 1)).reshape(shape)
        return times, arrays[0].reshape(*shape, -1)[..., 0].astype(float) if arrays else np.zeros(shape)

    # ------------------------------------------------------------ likelihood

    def log_likelihoods(self, by_name: Mapping[str, np.ndarray]) -> np.ndarray:
        """Of all rows."""
        times, choices = self.simulate(by_name)
        offset = self.passage.offset.value if self.passage.offset is not None else 0.0
        offsets = by_name[offset].reshape(-1) if isinstance(offset, str) else np.full(len(times), offset)
        return np.array([self._log_likelihood(*each) for each in zip(times, choices, offsets)])

    def _log_likelihood(self, times: np.ndarray, choices: np.ndarray, offset: float) -> float:
        """Of one candidate: times and choices are those of its walks, shape (runs, trials)."""
        lapse, total = self.passage.lapse, 0.0
        has_time = np.isfinite(self.times)
        with np.errstate(divide="ignore"):
            for run in range(self.aligned.n_runs):
                of_run = self.aligned.run == run
                ended = np.isfinite(times[run])
                n_without = int((of_run & ~has_time).sum())
                if n_without:  # rows without a time: walks that did not end
                    total += n_without * math.log(((~ended).sum() + 0.5) / (len(ended) + 1))
                for kind in self._kinds:
                    rows = of_run & has_time & (self.choices == kind)
                    if rows.any():
                        walks = times[run][ended & (choices[run] == kind)]
                        density = self._density(walks, self.times[rows] - offset) * (len(walks) / len(ended))
                        total += float(np.log((1 - lapse) * density + lapse / (len(self._kinds) * self._range)).sum())
        return total

    def _density(self, walks: np.ndarray, at: np.ndarray) -> np.ndarray:
        if len(walks) == 0:
            return np.zeros(len(at))
        if self.passage.density == "histogram":
            counts, edges = np.histogram(walks, self.passage.bins, (0.0, self._range))
            place = np.floor(at / edges[1]).astype(int)
            inside = (at >= 0) & (place < len(counts))
            return np.where(inside, counts[np.clip(place, 0, len(counts) - 1)], 0) / (len(walks) * edges[1])
        return kernel_density(np.maximum(walks, 0.5 * (self.spec.dt or 2e-6)), at)  # a walk may end at once


def kernel_density(sample: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The density of times by normal kernels of Silverman's width on the scale of their logarithms, where first-passage times are nearly
    normal, so that the steep rise of the first ones is not blurred. Computed on a grid of a tenth of that width.

    Parameters
    ----------
    sample : numpy.ndarray
        Above 0.
    at : numpy.ndarray
        Where it is wanted; up to 0 it is 0.
    """
    logs = np.log(sample)
    low, high = np.quantile(logs, (0.25, 0.75))
    spread = min(logs.std(), (high - low) / 1.34) or logs.std() or 0.01
    width = 0.9 * spread * len(sample) ** -0.2
    step, begin = width / 10, float(logs.min())
    n = int((float(logs.max()) - begin) / step) + 2
    place = (logs - begin) / step
    left = np.minimum(place.astype(int), n - 2)
    counts = np.bincount(left, 1 - (place - left), n) + np.bincount(left + 1, place - left, n)
    reach = 50  # five widths
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / 10) ** 2) / (len(sample) * width * math.sqrt(2 * math.pi))
    grid = begin + step * np.arange(-reach, n + reach)
    with np.errstate(all="ignore"):
        found = np.interp(np.log(at), grid, np.convolve(counts, kernel), left=0.0, right=0.0) / at
    return np.where(at > 0, found, 0.0)
