"""How far the best values can be trusted: by the curvature of the cost where it is least, and by its profile.

Both are found on the scale that is searched, and bounds of intervals carried over to values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from .objective import Compared, Objective
from .searching import METHODS, Found, local_method, needs
from .space import Space
from .specification import Parameter


@dataclass
class Uncertainty:
    """Of all numbers that were fitted, in a row; NaN where it can not be told.

    Attributes
    ----------
    errors : numpy.ndarray
        Standard errors of the values.
    intervals : numpy.ndarray, shape (n, 2)
        By the curvature.
    profiles : numpy.ndarray, shape (n, 2), optional
        By the profile; infinite where the cost does not rise enough before a bound.
    covariance : numpy.ndarray
        Of positions.
    at_bound : numpy.ndarray of bool
    notes : list of str
    better : Found, optional
        Where a profile has found less cost than the search.
    """

    errors: np.ndarray
    intervals: np.ndarray
    covariance: np.ndarray
    at_bound: np.ndarray
    profiles: np.ndarray | None = None
    notes: list[str] = field(default_factory=list)
    better: Found | None = None


def estimate_uncertainty(objective: Objective, found: Found) -> Uncertainty:
    """What the specification asks for, around what was found."""
    space, position = objective.space, found.position
    width = np.where(np.isfinite(space.upper - space.lower), space.upper - space.lower, np.maximum(1, np.abs(position)))
    at_bound = (position - space.lower <= 1e-6 * width) | (space.upper - position <= 1e-6 * width)
    covariance = np.full((space.n, space.n), math.nan)
    notes = [f"{space.names[i]} is at its bound" for i in np.flatnonzero(at_bound)]
    free = np.flatnonzero(~at_bound)
    if len(free) and objective.spec.intervals:
        inner = _covariance(objective, found, free)
        if inner is None:
            notes.append(
                "the cost does not rise on all sides of what was found: there are no standard errors "
                "(a parameter may not be identifiable, or the cost has corners, as that of laplace: there are intervals by profile)"
            )
        else:
            covariance[np.ix_(free, free)] = inner
    with np.errstate(invalid="ignore"):
        deviation = np.sqrt(np.diag(covariance))
    reach = _quantile(objective, found) * deviation
    intervals = space.values(np.column_stack([position - reach, position + reach]).T).T
    uncertainty = Uncertainty(deviation * space.slopes(position), intervals, covariance, at_bound, notes=notes)
    if "profile" in objective.spec.intervals:
        _add_profiles(objective, found, uncertainty, deviation)
    return uncertainty


def _degrees(objective: Objective) -> int | None:
    """Degrees of freedom where the scatter of the data is found from the residuals; None: it is known, or a parameter."""
    if not objective.spec.is_least_squares or all(observed.error is not None for observed in objective.spec.observed):
        return None
    return max(objective.n_data - objective.space.n, 0)


def _quantile(objective: Objective, _found: Found) -> float:
    """How many standard errors an interval reaches."""
    stats, degrees = needs("scipy.stats", "scipy"), _degrees(objective)
    upper = 0.5 + 0.5 * objective.spec.confidence
    if degrees is None:
        return float(stats.norm.ppf(upper))
    return float(stats.t.ppf(upper, degrees)) if degrees else math.nan


def _scatter(objective: Objective, found: Found) -> float:
    """The variance of a residual; 1 where the cost is in its units."""
    degrees = _degrees(objective)
    return 1.0 if degrees is None else 2 * found.cost / degrees if degrees else math.nan


def _covariance(objective: Objective, found: Found, free: np.ndarray) -> np.ndarray | None:
    if objective.spec.is_least_squares:
        assert isinstance(objective, Compared)
        slopes = objective.jacobian(found.position)[:, free]
        curvature = slopes.T @ slopes
    else:
        curvature = _hessian(objective, found.position)[np.ix_(free, free)]
    unit = np.sqrt(np.abs(np.diag(curvature)))
    if not np.isfinite(curvature).all() or (unit == 0).any():
        return None
    scaled = curvature / np.outer(unit, unit)
    if np.linalg.eigvalsh(scaled)[0] <= 1e-12:
        return None
    return _scatter(objective, found) * np.linalg.inv(scaled) / np.outer(unit, unit)


def _hessian(objective: Objective, position: np.ndarray) -> np.ndarray:
    """Second derivatives of the cost: differences of exact gradients, or of costs, or, of a noisy cost, those of a parabola through many."""
    if not isinstance(objective, Compared):
        return _fitted_hessian(objective, position)
    step = (1e-4 if objective.exact() is not None else 1e-3) * np.maximum(np.abs(position), 1e-2)
    above = np.minimum(position + step, objective.space.upper)
    below = np.maximum(position - step, objective.space.lower)
    if objective.exact() is not None:
        rows = []
        for i in range(len(position)):
            ends = [np.where(np.arange(len(position)) == i, end, position) for end in (above, below)]
            rows.append((objective.gradient(ends[0]) - objective.gradient(ends[1])) / (above[i] - below[i]))
        return 0.5 * (np.array(rows) + np.array(rows).T)
    return _second_differences(objective, position, np.minimum(above - position, position - below))


def _second_differences(objective: Objective, position: np.ndarray, step: np.ndarray) -> np.ndarray:
    """From the costs of all pairs of steps, which are one sweep."""
    n = len(position)
    moves, pairs = [np.zeros(n)], []
    for i in range(n):
        for j in range(i, n):
            for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1)) if i < j else ((1, 0), (-1, 0)):
                move = np.zeros(n)
                move[i] += a * step[i]
                move[j] += b * step[j]
                moves.append(move)
            pairs.append((i, j))
    costs = objective.costs(position + np.array(moves))
    hessian, place = np.zeros((n, n)), 1
    for i, j in pairs:
        if i == j:
            value = (costs[place] - 2 * costs[0] + costs[place + 1]) / step[i] ** 2
            place += 2
        else:
            value = (costs[place] - costs[place + 1] - costs[place + 2] + costs[place + 3]) / (4 * step[i] * step[j])
            place += 4
        hessian[i, j] = hessian[j, i] = value
    return hessian


def _fitted_hessian(objective: Objective, position: np.ndarray) -> np.ndarray:
    """Of a parabola through the costs of many candidates around; twice, as the first tells how far to go."""
    n, reach = len(position), 0.1 * np.maximum(np.abs(position), 0.1)
    hessian = np.full((n, n), math.nan)
    for seed in (1, 2):
        points = np.random.default_rng(seed).uniform(-1, 1, (8 * (n + 1) * (n + 2) // 2, n))
        around = objective.space.inside(position + points * reach)
        costs, points = objective.costs(around), (around - position) / reach
        finite = np.isfinite(costs)
        pairs = [(i, j) for i in range(n) for j in range(i, n)]
        terms = [np.ones(len(points)), *points.T, *(points[:, i] * points[:, j] for i, j in pairs)]
        weights = np.linalg.lstsq(np.array(terms).T[finite], costs[finite], rcond=None)[0][1 + n :]
        hessian = np.zeros((n, n))
        for (i, j), weight in zip(pairs, weights):
            hessian[i, j] = hessian[j, i] = (2 * weight if i == j else weight) / (reach[i] * reach[j])
        diagonal = np.diag(hessian)
        reach = np.where(diagonal > 0, np.clip(3 / np.sqrt(np.abs(diagonal) + 1e-300), 0.02 * reach, 5 * reach), reach)
    return hessian


# ---------------------------------------------------------------- profiles


class _Held(Space):
    """The space without one of its numbers."""

    def __init__(self, whole: Space, i: int) -> None:
        self._whole, self._i = whole, i
        self._keep = np.arange(whole.n) != i
        self.n = whole.n - 1
        self.names = [name for k, name in enumerate(whole.names) if k != i]
        self.owners: list[Parameter] = [owner for k, owner in enumerate(whole.owners) if k != i]
        self.lower, self.upper = whole.lower[self._keep], whole.upper[self._keep]
        self.at = math.nan

    def whole(self, positions: np.ndarray) -> np.ndarray:
        return np.insert(np.asarray(positions, float), self._i, self.at, axis=-1)


def _add_profiles(objective: Objective, found: Found, uncertainty: Uncertainty, deviation: np.ndarray) -> None:
    stats, degrees = needs("scipy.stats", "scipy"), _degrees(objective)
    confidence = objective.spec.confidence
    if degrees == 0:
        return
    limit = stats.chi2.ppf(confidence, 1) if degrees is None else stats.f.ppf(confidence, 1, degrees) * _scatter(objective, found)
    profiles = np.full((objective.space.n, 2), math.nan)
    for i in range(objective.space.n):
        first = deviation[i] if math.isfinite(deviation[i]) else 0.05 * max(abs(found.position[i]), 0.1)
        profile = _Profile(objective, found, i, float(limit))
        for side, sign in enumerate((-1, 1)):
            profiles[i, side] = profile.end(sign, first)
        if profile.least.cost < (uncertainty.better or found).cost - 1e-3 * limit / 2:
            uncertainty.better = profile.least
    uncertainty.profiles = np.where(np.isinf(profiles), profiles, objective.space.values(profiles.T).T)


class _Profile:
    """The least cost where one number is held, over values of that number.

    Parameters
    ----------
    limit : float
        How far twice the cost rises at the ends of the interval.
    """

    def __init__(self, objective: Objective, found: Found, i: int, limit: float) -> None:
        self._objective, self._found, self._i, self._limit = objective, found, i, limit
        self._space = _Held(objective.space, i)
        self.least = found

    def end(self, sign: int, first: float) -> float:
        """Where the profile has risen by the limit, on one side; infinite: nowhere before the bound."""
        start, bound = (
            self._found.position[self._i],
            (self._objective.space.lower, self._objective.space.upper)[sign > 0][self._i],
        )
        self._warm = np.delete(self._found.position, self._i)
        inner, inner_rise, step = start, 0.0, 1.5 * first
        for _ in range(24):
            outer = start + sign * step
            if (outer - bound) * sign >= 0:
                outer = bound
            rise = self._rise(outer) if math.isfinite(outer) else math.inf
            if rise >= self._limit:
                return self._between(inner, inner_rise, outer, rise)
            if outer == bound:
                return sign * math.inf
            inner, inner_rise, step = outer, rise, step * 2
        return sign * math.inf

    def _between(self, inner: float, inner_rise: float, outer: float, outer_rise: float) -> float:
        """By secants of the root of the rise, which is nearly straight."""
        target = math.sqrt(self._limit)
        a, b = (
            (inner, math.sqrt(max(inner_rise, 0)) - target),
            (outer, math.sqrt(outer_rise) - target if math.isfinite(outer_rise) else math.inf),
        )
        for _ in range(30):
            share = a[1] / (a[1] - b[1]) if math.isfinite(b[1]) else 0.5
            middle = a[0] + min(max(share, 0.05), 0.95) * (b[0] - a[0])
            rise = math.sqrt(max(self._rise(middle), 0)) - target
            a, b = ((middle, rise), b) if rise < 0 else (a, (middle, rise))
            if abs(rise) < 1e-3 * target or abs(b[0] - a[0]) < 1e-9 * max(1, abs(middle)):
                return middle
        return 0.5 * (a[0] + b[0])

    def _rise(self, at: float) -> float:
        self._space.at = at
        if self._space.n == 0:
            cost, position = self._objective.cost(np.array([at])), np.array([at])
        else:
            held = _HeldObjective(self._objective, self._space)
            best = METHODS[local_method(self._objective)](held, self._space.inside(self._warm), {})  # type: ignore[arg-type]
            self._warm, cost, position = best.position, best.cost, self._space.whole(best.position)
        if cost < self.least.cost:
            self.least = Found(position, cost, True, "found by the profile")
        return 2 * (cost - self._found.cost)


class _HeldObjective(Compared):
    """An objective over the space without one number."""

    def __init__(self, objective: Objective, space: _Held) -> None:
        self._objective, self.space, self.spec, self.n_data = objective, space, objective.spec, objective.n_data
        self._held = space

    def costs(self, positions: np.ndarray) -> np.ndarray:
        return self._objective.costs(self._held.whole(positions))

    def residuals(self, positions: np.ndarray) -> np.ndarray:
        assert isinstance(self._objective, Compared)
        return self._objective.residuals(self._held.whole(positions))

    def gradient(self, position: np.ndarray) -> np.ndarray:
        return self._objective.gradient(self._held.whole(position))[self._held._keep]

    def jacobian(self, position: np.ndarray) -> np.ndarray:
        assert isinstance(self._objective, Compared)
        return self._objective.jacobian(self._held.whole(position))[:, self._held._keep]
