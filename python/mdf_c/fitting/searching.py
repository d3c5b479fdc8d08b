"""The methods: which of scipy's and pycma's searches finds the least cost. Each is a row of METHODS."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import MdfError
from .objective import Compared, Exhausted, Objective
from .specification import LOCAL, Method

_DEFAULT_STARTS_TRIED = 16  # candidates that are evaluated, in one sweep, for each start that is searched from


@dataclass
class Found:
    """Where a search has ended."""

    position: np.ndarray
    cost: float
    is_converged: bool
    message: str


def needs(module: str, package: str) -> Any:
    """A package that searches.

    Raises
    ------
    ImportError
        It is not installed; the message says what to do.
    """
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"fitting needs {package}, which is not installed: pip install {package}") from error


def _seeded(seed: int) -> dict[str, Any]:
    """The argument of scipy's functions that draw, which had another name before version 1.15."""
    version = tuple(int(part) for part in needs("scipy", "scipy").__version__.split(".")[:2])
    return {"rng" if version >= (1, 15) else "seed": seed}


# ---------------------------------------------------------------- local methods


def _trust_region(objective: Objective, start: np.ndarray, _options: dict[str, Any]) -> Found:
    """Least squares within bounds (Branch, Coleman, Li: scipy's "trf")."""
    return _least_squares(objective, start, "trf", lambda u: u, objective.space.lower, objective.space.upper)


def _levenberg_marquardt(objective: Objective, start: np.ndarray, _options: dict[str, Any]) -> Found:
    """Least squares (MINPACK's lmder). It knows no bounds: a parameter that has some is searched along a curve that ends at them."""
    space = objective.space
    curve = _Curve(space.lower, space.upper)
    if objective.n_data < space.n:
        raise MdfError(
            f"levenberg_marquardt needs at least as many numbers as parameters: {objective.n_data} for {space.n}; take trust_region"
        )
    return _least_squares(objective, curve.inverse(start), "lm", curve, -math.inf, math.inf)


class _Curve:
    """All numbers to those within bounds: between two by the logistic function, above or below one by the exponential."""

    def __init__(self, lower: np.ndarray, upper: np.ndarray) -> None:
        self._lower, self._upper = lower, upper
        self._has_lower, self._has_upper = np.isfinite(lower), np.isfinite(upper)

    def __call__(self, free: np.ndarray) -> np.ndarray:
        both = self._has_lower & self._has_upper
        with np.errstate(all="ignore"):
            inner = np.where(both, self._lower + (self._upper - self._lower) / (1 + np.exp(-free)), free)
            above, below = self._lower + np.exp(free), self._upper - np.exp(-free)
        inner = np.where(self._has_lower & ~self._has_upper, above, inner)
        return np.where(self._has_upper & ~self._has_lower, below, inner)

    def inverse(self, position: np.ndarray) -> np.ndarray:
        both = self._has_lower & self._has_upper
        span = np.where(both, self._upper - self._lower, 1.0)
        lower, upper = np.where(self._has_lower, self._lower, 0.0), np.where(self._has_upper, self._upper, 0.0)
        share = np.clip((position - lower) / span, 1e-6, 1 - 1e-6)
        free = np.where(both, np.log(share / (1 - share)), position)
        free = np.where(self._has_lower & ~self._has_upper, np.log(np.maximum(position - lower, 1e-12)), free)
        return np.where(self._has_upper & ~self._has_lower, -np.log(np.maximum(upper - position, 1e-12)), free)

    def slopes(self, free: np.ndarray) -> np.ndarray:
        step = 1e-6 * np.maximum(1, np.abs(free))
        return (self(free + step) - self(free - step)) / (2 * step)


def _least_squares(objective: Objective, start: np.ndarray, method: str, curve: Any, lower: Any, upper: Any) -> Found:
    assert isinstance(objective, Compared)
    optimize = needs("scipy.optimize", "scipy")
    tolerance = objective.spec.tolerance or 1e-10
    slopes = curve.slopes if isinstance(curve, _Curve) else lambda free: 1.0
    result = optimize.least_squares(
        lambda free: _finite(objective.residuals(curve(free)[None])[0], method),
        _inwards(start, lower, upper),
        lambda free: objective.jacobian(objective.space.inside(curve(free))) * slopes(free),
        (lower, upper), method, ftol=tolerance, xtol=tolerance, gtol=tolerance, x_scale="jac" if method == "trf" else 1.0,
    )  # fmt: skip
    return Found(objective.space.inside(curve(result.x)), float(result.cost), result.status > 0, str(result.message))


def _finite(residuals: np.ndarray, method: str) -> np.ndarray:
    """MINPACK takes no infinities: a very bad candidate."""
    return residuals if method == "trf" else np.nan_to_num(residuals, nan=1e100, posinf=1e100, neginf=-1e100)


def _inwards(start: np.ndarray, lower: Any, upper: Any) -> np.ndarray:
    """Just within the bounds."""
    room = np.where(np.isfinite(np.subtract(upper, lower)), np.subtract(upper, lower), 1.0) * 1e-9
    return np.clip(start, np.add(lower, room), np.subtract(upper, room))


def _l_bfgs_b(objective: Objective, start: np.ndarray, _options: dict[str, Any]) -> Found:
    """Quasi-Newton within bounds, by the gradient."""
    optimize = needs("scipy.optimize", "scipy")
    tolerance = objective.spec.tolerance or 1e-12
    scale = _scale(objective, start)
    space = objective.space

    def ask(scaled: np.ndarray) -> tuple[float, np.ndarray]:
        position = space.inside(scaled * scale)
        cost = objective.cost(position)
        if not math.isfinite(cost):
            return 1e300, np.zeros(space.n)
        return cost, objective.gradient(position) * scale

    bounds = list(zip(space.lower / scale, space.upper / scale))
    result = optimize.minimize(
        ask, space.inside(start) / scale, jac=True, method="L-BFGS-B", bounds=bounds,
        options={"ftol": tolerance, "gtol": 1e-8, "maxiter": 15_000, "maxfun": 10**9, "maxls": 40},
    )  # fmt: skip
    return Found(space.inside(result.x * scale), float(result.fun), bool(result.success), str(result.message))


def _scale(objective: Objective, start: np.ndarray) -> np.ndarray:
    """A unit for each number, so that all change alike."""
    return np.where(np.abs(start) > 1e-8, np.abs(start), 1.0)


def _nelder_mead(objective: Objective, start: np.ndarray, _options: dict[str, Any]) -> Found:
    """The simplex, without derivatives: for likelihoods of simulated walks."""
    optimize = needs("scipy.optimize", "scipy")
    space = objective.space
    tolerance = objective.spec.tolerance or 1e-8
    simplex = _simplex(objective, start)
    result = optimize.minimize(
        lambda position: min(objective.cost(position), 1e300), start, method="Nelder-Mead", bounds=list(zip(space.lower, space.upper)),
        options={"xatol": tolerance ** 0.5, "fatol": tolerance ** 0.5, "initial_simplex": simplex, "maxiter": 400 * space.n, "adaptive": space.n > 4},
    )  # fmt: skip
    return Found(space.inside(result.x), float(result.fun), bool(result.success), str(result.message))


def _simplex(objective: Objective, start: np.ndarray) -> np.ndarray:
    space = objective.space
    step = np.where(start != 0, 0.2 * np.abs(start), 0.1)
    step = np.where(start + step > space.upper, -step, step)
    return space.inside(np.vstack([start, start + np.diag(step)]))


# ---------------------------------------------------------------- global methods


def _box(objective: Objective) -> tuple[np.ndarray, np.ndarray]:
    """Finite bounds.

    Raises
    ------
    MdfError
        A parameter has none.
    """
    space = objective.space
    for i in np.flatnonzero(~np.isfinite(space.upper - space.lower)):
        parameter = space.owners[i]
        more = ", the least above 0 on a log scale" if parameter.scale == "log" else ""
        raise parameter.place.fault(f"a global search, and more than one start, need finite bounds{more}: [least, greatest]")
    return space.lower, space.upper


def _differential_evolution(objective: Objective, _start: np.ndarray, options: dict[str, Any]) -> Found:
    """Storn and Price; each generation is one sweep."""
    optimize = needs("scipy.optimize", "scipy")
    lower, upper = _box(objective)
    size = max(5, math.ceil(options.get("population", max(40, 15 * objective.space.n)) / objective.space.n))
    result = optimize.differential_evolution(
        lambda positions: np.minimum(objective.costs(positions.T), 1e300), list(zip(lower, upper)), popsize=size, vectorized=True,
        updating="deferred", polish=False, maxiter=options.get("generations", 1000), x0=objective.space.start,
        tol=objective.spec.tolerance or 1e-6, init="sobol", **_seeded(objective.spec.seed),
    )  # fmt: skip
    return Found(np.asarray(result.x), float(result.fun), bool(result.success), str(result.message))


def _cma_es(objective: Objective, start: np.ndarray, options: dict[str, Any]) -> Found:
    """Hansen's CMA-ES (pycma); each generation is one sweep."""
    cma = needs("cma", "cma")
    lower, upper = _box(objective)
    span = upper - lower
    settings = {
        "bounds": [0, 1], "seed": objective.spec.seed + 1, "verbose": -9, "tolfun": objective.spec.tolerance or (1e-9 if isinstance(objective, Compared) else 0.05),
        # Of walks: a thousandth of the bounds is finer than what their number tells.
        "tolx": 1e-11 if isinstance(objective, Compared) else 1e-3,
        "popsize": options.get("population", 4 + int(3 * math.log(objective.space.n)) * 2), "maxiter": options.get("generations", 1000),
    }  # fmt: skip
    search = cma.CMAEvolutionStrategy(list((start - lower) / span), options.get("sigma", 0.25), settings)
    while not search.stop():
        asked = search.ask()
        search.tell(asked, np.minimum(objective.costs(lower + np.array(asked) * span), 1e300).tolist())
    message = ", ".join(f"{key}: {value}" for key, value in search.stop().items())
    return Found(
        lower + np.array(search.result.xbest) * span, float(search.result.fbest), "maxiter" not in search.stop(), message
    )


METHODS: dict[str, Callable[[Objective, np.ndarray, dict[str, Any]], Found]] = {
    "trust_region": _trust_region,
    "levenberg_marquardt": _levenberg_marquardt,
    "l_bfgs_b": _l_bfgs_b,
    "nelder_mead": _nelder_mead,
    "differential_evolution": _differential_evolution,
    "cma_es": _cma_es,
}


# ---------------------------------------------------------------- a whole search


def local_method(objective: Objective) -> str:
    """The local method that goes with the objective."""
    method = objective.spec.method
    if method is not None and method.name in LOCAL:
        return method.name
    if objective.spec.is_least_squares:
        return "trust_region"
    return "l_bfgs_b" if isinstance(objective, Compared) else "nelder_mead"


def _default_method(objective: Objective) -> str:
    """The local one; of walks, whose likelihood is rugged, CMA-ES where there are bounds."""
    is_bounded = bool(np.isfinite(objective.space.upper - objective.space.lower).all())
    is_rugged = not isinstance(objective, Compared) and objective.space.n > 1
    return "cma_es" if is_rugged and is_bounded else local_method(objective)


def search(objective: Objective) -> tuple[Found, str]:
    """The best that the method, the starts and the polish of the specification find, and the name of the method."""
    spec = objective.spec
    method = spec.method or Method(_default_method(objective), spec.place)
    objective.is_searching = True
    try:
        found = _search(objective, method)
    except Exhausted:
        cost, position = objective.best
        found = Found(position, cost, False, f"after {objective.n_evaluations} evaluations, as max_evaluations says")
    finally:
        objective.is_searching = False
    return found, method.name


def _search(objective: Objective, method: Method) -> Found:
    spec = objective.spec
    if method.name in LOCAL:
        found = [METHODS[method.name](objective, start, method.options) for start in _starts(objective)]
        return min(found, key=lambda each: each.cost)
    first = METHODS[method.name](objective, objective.space.start, method.options)
    polish = spec.polish or (local_method(objective) if isinstance(objective, Compared) else "none")
    if polish == "none":
        return first
    polished = METHODS[polish](objective, first.position, {})
    return polished if polished.cost <= first.cost else first


def _starts(objective: Objective) -> list[np.ndarray]:
    """The given start, and the best of a Sobol sequence over the bounds, all of which are evaluated in one sweep."""
    n = objective.spec.starts
    if n == 1:
        return [objective.space.start]
    qmc = needs("scipy.stats", "scipy").qmc
    lower, upper = _box(objective)
    power = math.ceil(math.log2(_DEFAULT_STARTS_TRIED * n))
    drawn = lower + qmc.Sobol(objective.space.n, **_seeded(objective.spec.seed)).random_base2(power) * (upper - lower)
    order = np.argsort(objective.costs(drawn), kind="stable")
    return [objective.space.start, *drawn[order[: n - 1]]]
