"""The space that is searched: all fitted numbers in a row, each on the scale that it is searched on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .specification import Parameter


class Space:
    """Between numbers in a row and parameters by name.

    A position `u` has the logarithm of what is on a log scale, and of the rest the value itself.

    Attributes
    ----------
    names : list of str
        Of the numbers: "NODE.PARAMETER", or "NODE.PARAMETER[0][1]".
    owners : list of Parameter
        The parameter that each number is of.
    lower, upper : numpy.ndarray
        Bounds of positions.
    """

    def __init__(self, parameters: Sequence[Parameter], starts: Sequence[np.ndarray]) -> None:
        self.parameters = list(parameters)
        self.shapes = [np.shape(start) for start in starts]
        sizes = [int(np.prod(shape)) for shape in self.shapes]
        self._ends = np.cumsum([0, *sizes])
        self.n = int(self._ends[-1])
        self.names = [
            parameter.name + "".join(f"[{i}]" for i in index)
            for parameter, shape in zip(parameters, self.shapes)
            for index in np.ndindex(shape)
        ]
        self.owners = [parameter for parameter, size in zip(parameters, sizes) for _ in range(size)]
        self._is_log = np.array([parameter.scale == "log" for parameter in self.owners])
        bounds = [np.array([getattr(parameter, end) for parameter in self.owners]) for end in ("lower", "upper")]
        self.lower, self.upper = (self.position(end) for end in bounds)
        self.start = self.position(np.concatenate([np.ravel(start) for start in starts]).astype(float))

    def position(self, values: np.ndarray) -> np.ndarray:
        """Where values are."""
        with np.errstate(divide="ignore"):
            return np.where(self._is_log, np.log(np.where(self._is_log, values, 1)), values)

    def values(self, positions: np.ndarray) -> np.ndarray:
        """The values at positions, shape (..., n)."""
        with np.errstate(over="ignore"):
            return np.where(self._is_log, np.exp(np.where(self._is_log, positions, 0)), positions)

    def slopes(self, positions: np.ndarray) -> np.ndarray:
        """Derivatives of values by positions."""
        return np.where(self._is_log, self.values(positions), 1.0)

    def by_name(self, positions: np.ndarray) -> dict[str, np.ndarray]:
        """Values of each parameter, shape (candidates, *shape of the parameter)."""
        values = self.values(positions)
        return {
            parameter.name: values[:, first:last].reshape(len(values), *shape)
            for parameter, shape, first, last in zip(self.parameters, self.shapes, self._ends, self._ends[1:])
        }

    def flat(self, by_name: Mapping[str, np.ndarray]) -> np.ndarray:
        """Numbers by name in a row, shape (candidates, n)."""
        parts = [np.reshape(by_name[parameter.name], (len(by_name[parameter.name]), -1)) for parameter in self.parameters]
        return np.concatenate(parts, axis=1)

    def inside(self, positions: np.ndarray) -> np.ndarray:
        """The nearest positions within the bounds."""
        return np.clip(positions, self.lower, self.upper)
