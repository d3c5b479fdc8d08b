"""Values of parameters that are drawn: distributions, and points of the unit cube."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Mapping
from ctypes import POINTER, c_double, c_int, c_size_t, c_uint64
from dataclasses import dataclass

import numpy as np

from ._library import Error, checked, lib

# mdf_distribution_kind, mdf_sampling.
_KINDS = ("uniform", "normal", "lognormal")
_SAMPLINGS = ("random", "sobol", "latin_hypercube")


class _NativeDistribution(ctypes.Structure):
    """mdf_distribution."""

    _fields_ = [("kind", c_int), ("a", c_double), ("b", c_double)]


lib.declare(
    {"mdf_sample": (c_int, c_int, c_uint64, POINTER(_NativeDistribution), c_size_t, c_size_t, POINTER(c_double), POINTER(Error))}
)


@dataclass(frozen=True)
class Distribution:
    """How the values of a parameter are drawn. Made by :func:`uniform`, :func:`normal` and :func:`lognormal`."""

    kind: str
    a: float
    b: float


def uniform(low: float, high: float) -> Distribution:
    """Each number from `low` to `high` alike; `high` itself is not drawn."""
    return Distribution("uniform", float(low), float(high))


def normal(mean: float, deviation: float) -> Distribution:
    """The normal distribution."""
    return Distribution("normal", float(mean), float(deviation))


def lognormal(mean: float, deviation: float) -> Distribution:
    """What has a normal distribution of its logarithm, whose mean and standard deviation are given."""
    return Distribution("lognormal", float(mean), float(deviation))


def sample(
    distributions: Mapping[str, Distribution], n: int, sampling: str = "random", seed: int = 0
) -> dict[str, np.ndarray]:
    """Draws values for parameters.

    Parameters
    ----------
    distributions : dict of str to Distribution
    n : int
        How many values of each.
    sampling : {"random", "sobol", "latin_hypercube"}
        Each by itself; the points of Sobol's sequence, which a seed that is not 0 shifts; one point in each of n layers of
        equal probability.
    seed : int
        Values of a parameter hang on the seed and its place among the distributions alone.

    Returns
    -------
    dict of str to numpy.ndarray
        Shape (n,).

    Raises
    ------
    ValueError
        There is no such sampling.
    MdfError
        The numbers of a distribution are at fault.
    """
    if sampling not in _SAMPLINGS:
        raise ValueError(f"sampling must be one of {', '.join(_SAMPLINGS)}, not {sampling!r}")
    if n < 0:
        raise ValueError(f"the number of samples is {n}")
    given = (_NativeDistribution * len(distributions))(*(_NativeDistribution(_KINDS.index(d.kind), d.a, d.b) for d in distributions.values()))
    values, error = np.empty((len(distributions), n)), Error()
    pointer = values.ctypes.data_as(POINTER(c_double))
    checked(lib.mdf_sample(_SAMPLINGS.index(sampling), operator.index(seed) % 2**64, given, len(given), n, pointer, error), error)
    return dict(zip(distributions, values))
