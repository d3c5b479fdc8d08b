"""Named distributions: of data about what a model computes, and of parameters (priors).

A distribution is a row: its log density is an expression of MDF over ``y``, what is observed, ``m``, what the model computes, and its
arguments. The same text is evaluated over arrays of candidates here, and compiled into the model where its exact gradient is wanted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Distribution:
    """A row of the table.

    Attributes
    ----------
    name : str
    center : str
        What ``m`` is.
    arguments : tuple of str
        What there is besides.
    text : str
        The log density.
    support : str
        A key of SUPPORTS.
    is_categorical : bool
        ``m`` has an axis, the last one, that ``y`` does not have.
    """

    name: str
    center: str
    arguments: tuple[str, ...]
    text: str
    support: str = "real"
    is_categorical: bool = False


_HALF_LOG_TAU = repr(0.5 * math.log(2 * math.pi))

SUPPORTS: dict[str, tuple[str, Callable[[np.ndarray], Any]]] = {
    "real": ("numbers", lambda y: np.isfinite(y)),
    "positive": ("numbers above 0", lambda y: (y > 0) & np.isfinite(y)),
    "unit": ("numbers between 0 and 1", lambda y: (y > 0) & (y < 1)),
    "truth": ("0 or 1", lambda y: (y == 0) | (y == 1)),
    "count": ("whole numbers from 0 on", lambda y: (y >= 0) & (y == np.floor(y)) & np.isfinite(y)),
}

DISTRIBUTIONS: dict[str, Distribution] = {
    row.name: row
    for row in (
        Distribution("normal", "mean", ("sd",), f"-0.5 * ((y - m) / sd) ** 2 - numpy.log(sd) - {_HALF_LOG_TAU}"),
        Distribution(
            "lognormal", "median", ("sd",),
            f"-0.5 * ((numpy.log(y) - numpy.log(m)) / sd) ** 2 - numpy.log(sd) - numpy.log(y) - {_HALF_LOG_TAU}", "positive",
        ),
        Distribution("laplace", "mean", ("scale",), "-numpy.abs(y - m) / scale - numpy.log(2 * scale)"),
        Distribution("cauchy", "median", ("scale",), "-numpy.log(math.pi * scale) - numpy.log1p(((y - m) / scale) ** 2)"),
        Distribution(
            "logistic", "mean", ("scale",),
            "-numpy.abs(y - m) / scale - numpy.log(scale) - 2 * numpy.log1p(numpy.exp(-numpy.abs(y - m) / scale))",
        ),
        Distribution(
            "student_t", "center", ("scale", "df"),
            "math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - 0.5 * numpy.log(df * math.pi) - numpy.log(scale)"
            " - (df + 1) / 2 * numpy.log1p(((y - m) / scale) ** 2 / df)",
        ),
        Distribution("exponential", "mean", (), "-y / m - numpy.log(m)", "positive"),
        Distribution(
            "gamma", "mean", ("shape",),
            "(shape - 1) * numpy.log(y) - y * shape / m + shape * numpy.log(shape / m) - math.lgamma(shape)", "positive",
        ),
        Distribution(
            "weibull", "scale", ("shape",),
            "numpy.log(shape / m) + (shape - 1) * numpy.log(y / m) - (y / m) ** shape", "positive",
        ),
        Distribution(
            "beta", "mean", ("concentration",),
            "(m * concentration - 1) * numpy.log(y) + ((1 - m) * concentration - 1) * numpy.log(1 - y)"
            " + math.lgamma(concentration) - math.lgamma(m * concentration) - math.lgamma((1 - m) * concentration)", "unit",
        ),
        Distribution("poisson", "mean", (), "y * numpy.log(numpy.where(y > 0, m, 1)) - m - math.lgamma(y + 1)", "count"),
        Distribution(
            "negative_binomial", "mean", ("size",),
            "math.lgamma(y + size) - math.lgamma(size) - math.lgamma(y + 1) + size * numpy.log(size / (size + m))"
            " + y * numpy.log(numpy.where(y > 0, m, 1) / (size + m))", "count",
        ),
        Distribution(
            "binomial", "probability", ("n",),
            "math.lgamma(n + 1) - math.lgamma(y + 1) - math.lgamma(n - y + 1) + y * numpy.log(numpy.where(y > 0, m, 1))"
            " + (n - y) * numpy.log(numpy.where(y < n, 1 - m, 1))", "count",
        ),
        Distribution("bernoulli", "probability", (), "numpy.log(numpy.where(y > 0, m, 1 - m))", "truth"),
        Distribution(
            "categorical", "probabilities", (),
            "numpy.log(numpy.sum(numpy.where(numpy.arange(m.shape[-1]) == y[..., None], m, 0), axis=-1))", "count", True,
        ),
    )
}  # fmt: skip


def _gammaln(values: Any) -> Any:
    from scipy.special import gammaln  # type: ignore[import-untyped, unused-ignore]

    return gammaln(values)


_NAMES = {"numpy": np, "math": SimpleNamespace(pi=math.pi, lgamma=_gammaln)}
_CODE = {name: compile(row.text, f"<{name}>", "eval") for name, row in DISTRIBUTIONS.items()}


def log_density(name: str, y: Any, m: Any, arguments: Mapping[str, Any]) -> np.ndarray:
    """The log density of a named distribution, element by element; NaN where an argument is none that it can have."""
    with np.errstate(all="ignore"):
        return np.asarray(eval(_CODE[name], _NAMES, {"y": y, "m": m, **arguments}))  # noqa: S307 - a text of the table above
