"""simulator: a model as a function of a batch of parameters, for sbi, PyMC, emcee, scipy and the like; sensitivity indices."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ._cores import CORES
from ._documents import Source
from ._settings import settings_of
from ._sweep_library import NativeSweep
from .sampling import Distribution, uniform
from .sweeping import _ChangeableProgram, _grid, _origin, _plan, _result, instance_seeds, sweep


class Simulator:
    """A function of parameters to results. Made by :func:`simulator`.

    Attributes
    ----------
    names : list of str
        The parameters, in the order of the columns of a batch.
    results : list of str
        What is returned, in the order of its columns.
    """

    def __init__(
        self, model: Source, names: Sequence[str], results: Sequence[str] | str, inputs: Any, steps: int, dt: float | None,
        stop_when: str | None, seed: int, new_seeds: bool, threads: int, settings: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.names = list(names)
        self.results = [results] if isinstance(results, str) else list(results)
        self._program = _ChangeableProgram(_origin(model), self.names, settings, stop_when)
        ports = [name for name in self.results if not name.startswith("stopped_")]
        self._run = {"inputs": inputs, "steps": steps, "dt": dt, "record": ports, "every": 0}
        self._is_single, self._seed, self._new_seeds, self._threads = isinstance(results, str), seed, new_seeds, threads
        self._n_calls = 0
        self._forms: list[tuple[np.dtype, tuple[int, ...]]] = []

    def __repr__(self) -> str:
        return f"<mdf_c.Simulator of {', '.join(self.names)} to {', '.join(self.results)}>"

    def __call__(self, parameters: Any) -> Any:
        """Evaluates the model.

        Parameters
        ----------
        parameters : array_like
            Shape (batch, parameters), or (parameters,). A tensor of torch gives one.

        Returns
        -------
        numpy.ndarray or torch.Tensor
            Of one result: shape (batch, *shape of one value); of several: (batch, columns), their elements one behind the
            other. Without the axis of the batch where the parameters have none.
        """
        tensor = parameters if hasattr(parameters, "detach") else None
        given = np.asarray(tensor.detach().cpu().numpy() if tensor is not None else parameters, np.float64)
        if given.ndim not in (1, 2) or given.shape[-1] != len(self.names):
            raise ValueError(f"a batch has the shape (batch, {len(self.names)}), not {given.shape}")
        results = self._evaluate(given.reshape(-1, len(self.names)))
        results = results[0] if given.ndim == 1 else results
        if tensor is None:
            return results
        import torch

        return torch.as_tensor(results, dtype=tensor.dtype, device=tensor.device)

    def _next_seed(self) -> int:
        call, self._n_calls = self._n_calls, self._n_calls + 1
        return int(instance_seeds(self._seed, call + 1)[-1]) if self._new_seeds else self._seed

    def _evaluate(self, batch: np.ndarray) -> np.ndarray:
        columns = {name: batch[:, i] for i, name in enumerate(self.names)}
        grid = _grid(columns, "zip", 0, "random", 0, 0, len(batch))
        plan = _plan(self._program, grid, seeds=self._next_seed(), **self._run)
        plan.forms = self._forms
        with CORES.taken(self._threads) as n_threads:
            native = NativeSweep(self._program.handle, plan, n_threads)
            if plan.n and not self._forms:
                self._forms = native.forms()
            arrays = native.run() if plan.n else None
        result = _result(self._program, plan, grid, arrays, native.stopped_steps)
        if self._is_single:
            return result[self.results[0]]
        return np.concatenate([result[name].reshape(len(batch), -1) for name in self.results], axis=1)


def simulator(
    model: Source,
    parameters: Iterable[str],
    results: str | Sequence[str],
    inputs: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    steps: int = 1,
    dt: float | None = None,
    stop_when: str | None = None,
    seed: int = 0,
    new_seeds: bool = True,
    threads: int = 0,
    **settings: Any,
) -> Simulator:
    """A model as a function of a batch of parameters to a batch of results. It is compiled once.

    Parameters
    ----------
    model
        What :func:`mdf_c.load` takes, or a Model.
    parameters : list of str
        NODE.PARAMETER, or PARAMETER for all of that name; or inputs.
    results : str or list of str
        Ports, NODE.PORT or a unique PORT; with stop_when also "stopped_step" and "stopped_time".
    inputs, steps, dt, stop_when, threads, **settings
        As of :func:`mdf_c.sweep`.
    seed : int
        For random functions. Each call has seeds of its own, which hang on `seed` and on how many calls there were before.
    new_seeds : bool
        False: all calls have the same seeds (common random numbers, for optimisers).
    """
    names = [parameters] if isinstance(parameters, str) else list(parameters)
    settings_of(settings, simulator)
    return Simulator(model, names, results, inputs, steps, dt, stop_when, seed, new_seeds, threads, settings)


_SALIB_NAMES = {"uniform": "unif", "normal": "norm", "lognormal": "lognorm"}


def sensitivity(
    model: Source,
    parameters: Mapping[str, Distribution | tuple[float, float]],
    output: str,
    method: str = "sobol",
    n: int = 1024,
    seed: int = 0,
    value: Callable[[np.ndarray], np.ndarray] | None = None,
    trials: int = 0,
    analysis: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Sensitivity indices of an output with respect to parameters, by SALib: one call from the model to the indices.

    Parameters
    ----------
    model
        What :func:`mdf_c.load` takes, or a Model.
    parameters : dict
        How each is distributed: :func:`uniform` and the like, or (low, high).
    output : str
        A port, NODE.PORT or a unique PORT, or "stopped_step" or "stopped_time".
    method : {"sobol", "morris"}
    n : int
        Base samples of Sobol's method, a power of two: n (2 d + 2) instances for d parameters; trajectories of Morris's: n (d + 1)
        instances.
    seed : int
        Of the samples and of the instances.
    value : callable, optional
        Values of the output, shape (instances, *shape of one value), to one number an instance. Needed where a value is an array.
    trials : int
        The output is the mean of so many trials, which differ in their seeds; 0: of one.
    analysis : dict, optional
        More arguments for the analyser of SALib.
    **options
        Those of :func:`mdf_c.sweep`: steps, dt, inputs, stop_when, client, ...

    Returns
    -------
    SALib.util.ResultDict
        S1, ST, S2 and their confidences, or mu, mu_star, sigma; ``.to_df()``, ``.plot()``.

    Raises
    ------
    ImportError
        SALib is not installed.
    """
    given = {name: d if isinstance(d, Distribution) else uniform(*d) for name, d in parameters.items()}
    problem = {
        "num_vars": len(given),
        "names": list(given),
        "bounds": [[d.a, d.b] for d in given.values()],
        "dists": [_SALIB_NAMES[d.kind] for d in given.values()],
    }
    points = _salib_sample(problem, method, n, seed)
    columns = {name: points[:, i] for i, name in enumerate(given)}
    common = {"combine": "zip", "seeds": seed, "record": [] if output.startswith("stopped_") else output, **options}
    if trials:
        result = sweep(model, columns, trials=trials, reduce={"over": "trial", "mean": output}, **common)
        values = result[f"{output}.mean"]
    else:
        values = sweep(model, columns, **common)[output]
    values = np.asarray(value(values) if value is not None else values, np.float64)
    if values.shape != (len(points),):
        raise ValueError(f"a value of '{output}' is an array: 'value' must make one number of it")
    if not math.isfinite(values.sum()):
        raise ValueError(f"some values of '{output}' are not finite: they have no sensitivity")
    return _salib_analyze(problem, method, points, values, seed, dict(analysis or {}))


def _salib_sample(problem: dict[str, Any], method: str, n: int, seed: int) -> np.ndarray:
    if method == "sobol":
        from SALib.sample import sobol

        return sobol.sample(problem, n, seed=seed)
    if method == "morris":
        from SALib.sample import morris

        return morris.sample(problem, n, seed=seed)
    raise ValueError(f"method must be 'sobol' or 'morris', not {method!r}")


def _salib_analyze(
    problem: dict[str, Any], method: str, points: np.ndarray, values: np.ndarray, seed: int, analysis: dict[str, Any]
) -> Any:
    if method == "sobol":
        from SALib.analyze import sobol

        return sobol.analyze(problem, values, seed=seed, **analysis)
    from SALib.analyze import morris

    return morris.analyze(problem, points, values, seed=seed, **analysis)
