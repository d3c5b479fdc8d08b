"""fit: from data and a model to parameters and their intervals."""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._documents import Source
from ..engine import Model
from ..sweeping import _origin
from .alignment import Alignment, align
from .intervals import Uncertainty, estimate_uncertainty
from .journal import Journal
from .objective import Compared, Objective, check_start
from .result import Estimate, Fit
from .searching import METHODS, Found, local_method, needs, search
from .specification import Specification, read_specification
from .walks import Walks

_SETTINGS = (
    "float32",
    "max_iterations",
    "max_passes",
    "max_memory",
    "time_limit",
    "loop_condition",
    "dialect",
    "scheduling_mode",
    "functions",
)


def fit(
    model: Source | Model,
    *given: Any,
    specification: str | os.PathLike | Mapping[str, Any] | None = None,
    progress: Callable[[int, float], None] | None = None,
    resume: str | os.PathLike | None = None,
    **keys: Any,
) -> Fit:
    """Finds the values of a model's parameters that go best with data.

    Parameters
    ----------
    model
        What :func:`mdf_c.load` takes, or a Model.
    given
        One argument: `specification`. Two: the keys ``data`` and ``parameters``.
    specification : path or dict, optional
        A FIT file (JSON, YAML), or its keys as a dict.
    progress : callable, optional
        Called with the number of evaluations so far and the least cost.
    resume : path, optional
        A file that keeps what was evaluated: the same fit with the same file goes on where an earlier one was ended.
    **keys
        Those of a FIT file (docs/fitting.md), in the place of those that `specification` has: ``data``, ``parameters``, ``observe``,
        ``time``, ``dt``, ``method``, ...; and ``max_memory``, ``time_limit`` and other settings of :class:`mdf_c.Settings`.

    Returns
    -------
    Fit

    Raises
    ------
    MdfError
        The specification, the data or the model is at fault; of a file, the error has the line and column.
    ImportError
        A package that the method needs is not installed.

    Examples
    --------
    >>> found = mdf_c.fit("cooling.yaml", "cooling_fit.yaml")  # doctest: +SKIP
    >>> found["time_constant"], found.estimates["cup.time_constant"].interval  # doctest: +SKIP
    """
    begin = time.perf_counter()
    needs("scipy", "scipy")
    if len(given) > 2 or (given and specification is not None):
        raise TypeError("fit() takes a model, and then a specification, or data and parameters")
    if len(given) == 1:
        specification = given[0]
    elif given:
        keys = {**dict(zip(("data", "parameters"), given)), **keys}
    settings = {name: keys.pop(name) for name in _SETTINGS if name in keys}
    spec = read_specification(specification, keys)
    settings.update(spec.solver)
    if spec.graph is not None:
        settings["graph"] = spec.graph
    source = _origin(model if isinstance(model, Model) else Model(model))
    source = _origin(Model._read(source)) if source.format != "json" else source
    aligned = align(spec)
    objective = _objective(spec, source, aligned, settings)
    objective.journal = Journal(resume, _fingerprint(spec, source, settings))
    if progress is not None:
        objective.tell = lambda each: progress(each.n_evaluations, each.best[0])
    try:
        check_start(objective)
        found, method = search(objective)
        uncertainty = estimate_uncertainty(objective, found)
        if uncertainty.better is not None:  # the profile went past a local least
            found = METHODS[local_method(objective)](objective, uncertainty.better.position, {})
            uncertainty = estimate_uncertainty(objective, found)
            uncertainty.notes.append(
                "the profile led to a better fit than the search: more starts, or a global method, may find a better one still"
            )
    finally:
        objective.journal.close()
    return _result(objective, found, method, uncertainty, time.perf_counter() - begin)


def _objective(spec: Specification, source: Any, aligned: Alignment, settings: Mapping[str, Any]) -> Objective:
    return Compared(spec, source, aligned, settings) if spec.first_passage is None else Walks(spec, source, aligned, settings)


def _fingerprint(spec: Specification, source: Any, settings: Mapping[str, Any]) -> bytes:
    """Of all that changes what an evaluation gives."""
    digest = hashlib.sha256(source.content)
    for name, column in sorted(spec.data.items()):
        digest.update(
            repr((name, column.shape, column.dtype.str)).encode()
            + (column.tobytes() if column.dtype != object else repr(column.tolist()).encode())
        )
    parts = [
        (parameter.name, parameter.scale, parameter.lower, parameter.upper, parameter.prior) for parameter in spec.parameters
    ]
    observed = [
        (
            each.port,
            each.index,
            each.column,
            each.error and each.error.value,
            each.distribution,
            [(key, item.value) for key, item in each.arguments.items()],
        )
        for each in spec.observed
    ]
    inputs = [(name, np.asarray(each.value).tolist()) for name, each in spec.inputs.items()]
    passage = spec.first_passage and {
        key: value for key, value in vars(spec.first_passage).items() if key not in ("place", "offset")
    }
    digest.update(
        repr(
            (
                parts,
                observed,
                inputs,
                passage,
                spec.time,
                spec.step,
                spec.run,
                spec.start_time,
                spec.steps,
                spec.dt,
                spec.seed,
                spec.gradient,
            )
        ).encode()
    )
    digest.update(repr(sorted((name, str(value)) for name, value in settings.items())).encode())
    return digest.digest()


def _result(objective: Objective, found: Found, method: str, uncertainty: Uncertainty, seconds: float) -> Fit:
    spec, space = objective.spec, objective.space
    values = space.values(found.position)
    profiles = uncertainty.profiles if uncertainty.profiles is not None else np.full((space.n, 2), math.nan)
    estimates = {
        name: Estimate(
            float(values[i]),
            float(uncertainty.errors[i]),
            _ends(uncertainty.intervals[i]),
            _ends(profiles[i]),
            bool(uncertainty.at_bound[i]),
        )
        for i, name in enumerate(space.names)
    }
    by_name = space.by_name(found.position[None])
    with np.errstate(invalid="ignore"):
        deviation = np.sqrt(np.diag(uncertainty.covariance))
        correlation = uncertainty.covariance / np.outer(deviation, deviation)
    likelihood = math.nan if spec.is_least_squares else float(objective.log_likelihoods(by_name)[0])
    fitted = Fit(
        objective.names.program.model_id, objective.names.program.graph_id, estimates,
        {name: value[0] if value[0].ndim else float(value[0]) for name, value in by_name.items()}, correlation,
        "least squares" if spec.is_least_squares else "likelihood", 2 * found.cost if spec.is_least_squares else math.nan, likelihood,
        found.cost, objective.n_data, spec.confidence, method, found.message, found.is_converged, objective.n_evaluations,
        objective.n_gradients, seconds, objective.why_differences, uncertainty.notes,
    )  # fmt: skip
    if isinstance(objective, Compared):
        _add_series(objective, fitted, by_name)
        if objective.simulation.n_failed:
            failed = f"{objective.simulation.n_failed} candidates could not be evaluated and were passed over"
            fitted.notes.append(f"{failed}: {objective.simulation.failure}")
    return fitted


def _ends(pair: np.ndarray) -> tuple[float, float]:
    return float(pair[0]), float(pair[1])


def _add_series(objective: Compared, fitted: Fit, by_name: Mapping[str, np.ndarray]) -> None:
    """Data and model, row by row, for residuals and pictures."""
    spec = objective.spec
    key = spec.time or spec.step
    for comparison, (center, _) in zip(objective.comparisons, objective.predicted(by_name)):
        name = comparison.port + "".join(f"[{i}]" for i in comparison.observed.index)
        if comparison.observed.distribution is not None and comparison.observed.distribution.is_categorical:
            continue
        fitted.observed[name] = np.where(comparison.is_there, comparison.data, math.nan)
        fitted.predicted[name] = center[0]
        fitted.abscissa[name] = spec.data[key].astype(float) if key is not None else np.arange(1, spec.n_rows + 1)
    fitted.abscissa_name = key or "row"
