"""What a fit has found, and how it is told: as JSON, as a table, as pictures."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..drawing import table, titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass
class Estimate:
    """One number that was fitted.

    Attributes
    ----------
    value : float
    error : float
        Its standard error; NaN: not told.
    interval, profile : tuple of float
        Confidence intervals by the curvature, and by the profile; NaN: not told, infinite: there is no end before the bound.
    at_bound : bool
    """

    value: float
    error: float = math.nan
    interval: tuple[float, float] = (math.nan, math.nan)
    profile: tuple[float, float] = (math.nan, math.nan)
    at_bound: bool = False


@dataclass(repr=False)
class Fit:
    """What :func:`mdf_c.fit` has found.

    Attributes
    ----------
    estimates : dict of str to Estimate
        By NODE.PARAMETER, or NODE.PARAMETER[0] of an array.
    parameters : dict of str to value
        Best values, as :func:`mdf_c.run` takes them; those of distributions too.
    correlation : numpy.ndarray
        Of the estimates, on the scales that were searched.
    kind : {"least squares", "likelihood"}
    sum_of_squares, log_likelihood : float
        Of the best values; NaN where the other one is meant. The log likelihood is without the priors.
    aic, bic : float
    n_data : int
    residuals : dict of str to numpy.ndarray
        By observed port: data minus model, in the rows of the data; predicted: what the model computes.
    method, message : str
    is_converged : bool
    n_evaluations, n_gradients : int
        Candidates for which the model was evaluated, and exact gradients.
    seconds : float
    why_differences : str or None
        Why derivatives, if any were needed, were found by differences.
    notes : list of str
        What to look at.
    """

    model: str
    graph: str
    estimates: dict[str, Estimate]
    parameters: dict[str, Any]
    correlation: np.ndarray
    kind: str
    sum_of_squares: float
    log_likelihood: float
    cost: float
    n_data: int
    confidence: float
    method: str
    message: str
    is_converged: bool
    n_evaluations: int
    n_gradients: int
    seconds: float
    why_differences: str | None = None
    notes: list[str] = field(default_factory=list)
    observed: dict[str, np.ndarray] = field(default_factory=dict)
    predicted: dict[str, np.ndarray] = field(default_factory=dict)
    abscissa: dict[str, np.ndarray] = field(default_factory=dict)
    abscissa_name: str = "row"

    def __getitem__(self, name: str) -> Any:
        found = [key for key in self.parameters if name in (key, key.split(".", 1)[-1])]
        if len(found) != 1:
            raise KeyError(f"{name!r} is not one of the fitted parameters {list(self.parameters)}")
        return self.parameters[found[0]]

    @property
    def residuals(self) -> dict[str, np.ndarray]:
        """Data minus model, by observed port."""
        return {name: values - self.predicted[name] for name, values in self.observed.items()}

    @property
    def aic(self) -> float:
        """Akaike's criterion; of least squares with normal errors of unknown size, up to a constant."""
        return 2 * len(self.estimates) - 2 * self._log_likelihood()

    @property
    def bic(self) -> float:
        """Schwarz's criterion, likewise."""
        return len(self.estimates) * math.log(self.n_data) - 2 * self._log_likelihood()

    def _log_likelihood(self) -> float:
        if self.kind == "likelihood":
            return self.log_likelihood
        return -0.5 * self.n_data * math.log(self.sum_of_squares / self.n_data) if self.sum_of_squares > 0 else math.inf

    def __repr__(self) -> str:
        return f"<mdf_c.Fit: {', '.join(f'{name} = {each.value:.6g}' for name, each in self.estimates.items())}>"

    # ------------------------------------------------------------ forms

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON has it; what is not a finite number is None."""
        likelihood = (
            {"log_likelihood": _number(self.log_likelihood)}
            if self.kind == "likelihood"
            else {"sum_of_squares": self.sum_of_squares}
        )
        return {
            "model": self.model,
            "graph": self.graph,
            "kind": self.kind,
            "parameters": {name: _estimate(each, self.confidence) for name, each in self.estimates.items()},
            **likelihood,
            "cost": _number(self.cost),
            "n_data": self.n_data,
            "aic": _number(self.aic),
            "bic": _number(self.bic),
            "correlation": [[_number(value) for value in row] for row in self.correlation],
            "method": self.method,
            "converged": self.is_converged,
            "message": self.message,
            "evaluations": self.n_evaluations,
            "gradients": self.n_gradients,
            "why_differences": self.why_differences,
            "seconds": round(self.seconds, 6),
            "notes": self.notes,
        }

    def save(self, path: str | os.PathLike) -> None:
        """Writes :meth:`to_dict` as a JSON file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps(self.to_dict(), indent=2) + "\n")

    def _rows(self) -> list[list[str]]:
        has_profile = any(not math.isnan(end) for each in self.estimates.values() for end in each.profile)
        percent = f"{100 * self.confidence:g} %"
        rows = [["parameter", "value", "error", percent, *([f"{percent} (profile)"] if has_profile else [])]]
        for name, each in self.estimates.items():
            cells = [name, _shown(each.value), _shown(each.error), _pair(each.interval)]
            rows.append(cells + ([_pair(each.profile)] if has_profile else []))
        return rows

    def table(self) -> str:
        """A table for reading."""
        rows = self._rows()
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        value = (
            f"log likelihood {self.log_likelihood:.6g}"
            if self.kind == "likelihood"
            else f"sum of squares {self.sum_of_squares:.6g}"
        )
        lines += ["", f"{value}, {self.n_data} data, AIC {self.aic:.6g}, BIC {self.bic:.6g}"]
        state = "converged" if self.is_converged else "NOT converged"
        lines.append(
            f"{self.method}: {state} ({self.message}); {self.n_evaluations} evaluations, {self.n_gradients} gradients, {self.seconds:.3g} s"
        )
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        rows = self._rows()
        return titled(repr(self), table(rows[0], rows[1:]))

    def plot(self) -> Figure:
        """Data, what the model computes, and residuals: a row of two panels for each observed port.

        Raises
        ------
        ImportError
            matplotlib is not installed.
        """
        from .pictures import plot_fit

        return plot_fit(self)


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _estimate(estimate: Estimate, confidence: float) -> dict[str, Any]:
    entries: dict[str, Any] = {
        "value": estimate.value,
        "error": _number(estimate.error),
        "interval": [_number(end) for end in estimate.interval],
    }
    if not all(math.isnan(end) for end in estimate.profile):
        entries["profile"] = [_number(end) for end in estimate.profile]
    return {**entries, "confidence": confidence, "at_bound": estimate.at_bound}


def _shown(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.6g}"


def _pair(ends: tuple[float, float]) -> str:
    return "-" if all(math.isnan(end) for end in ends) else f"{_shown(ends[0])} to {_shown(ends[1])}"
