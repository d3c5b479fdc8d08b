"""Derivatives along the solution of a model that CVODE solves: forward sensitivities of what is compared, at each step.

What the density, or the residual, changes with is put together here: with the model's output ports by the sensitivities, with arguments of distributions
by the derivative of the density's own text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine import Model, State
from ..errors import MdfUnsupportedError
from ..gradients import Gradient, forward_sensitivities, gradient

if TYPE_CHECKING:
    from .objective import Compared, _Comparison

Derivatives = dict[str, np.ndarray]  # by port: (elements of all parameters, runs, steps, *shape of the value)


class SensitiveGradient:
    """The log likelihood and its derivative, and the Jacobian of residuals, of a model that is solved by CVODE.

    Raises
    ------
    MdfUnsupportedError
        The model has no such derivatives.
    """

    def __init__(self, objective: Compared) -> None:
        aligned = objective.aligned
        if aligned.by_step:
            raise MdfUnsupportedError("an input changes from step to step")
        self._objective = objective
        self._of_model = [parameter.name for parameter in objective.spec.parameters if objective.is_of_model(parameter)]
        self._changing = [name for name in aligned.inputs if name in objective.simulation.program.parameters]
        settings = {**objective.settings, "graph": objective.names.program.graph_id}
        self._program = forward_sensitivities(
            Model._read(objective.source), objective.ports, [*self._of_model, *self._changing], steps=aligned.n_steps, dt=objective.spec.dt, **settings
        )
        self._state: State | None = None
        self._densities: dict[int, Gradient] = {}

    # ------------------------------------------------------------ along the solution

    def _solve(self, by_name: Mapping[str, np.ndarray]) -> tuple[Derivatives, Derivatives]:
        """By port: the values, shape (1, runs, steps, ...), and how they change with each element of the parameters."""
        aligned, state = self._objective.aligned, self._state or self._program.state()
        self._state = state
        values: dict[str, list[np.ndarray]] = {port: [] for port in self._program.ports}
        changes: dict[str, list[np.ndarray]] = {port: [] for port in self._program.ports}
        for run in range(aligned.n_runs):
            state._renew()
            for name in self._of_model:
                state.set_parameter(name, by_name[name])
            for name in self._changing:
                state.set_parameter(name, aligned.inputs[name][run])
            state.set_inputs({name: array[run] for name, array in aligned.inputs.items() if name not in self._changing})
            state._take_as_checked()
            state.evaluate(self._objective.spec.dt)
            for port in self._program.ports:
                value = np.asarray(state.output("gradient", port))
                values[port].append(value)
                by = [np.asarray(state.output("gradient", f"{port} by {name}")).reshape(*value.shape, -1) for name in self._of_model]
                changes[port].append(np.moveaxis(np.concatenate(by, axis=-1) if by else np.zeros((*value.shape, 0)), -1, 0))
        n = -1 if not aligned.every_step else None  # of the last step alone where no other is compared
        at = slice(n, None)
        return (
            {port: np.array(arrays)[None][:, :, at] for port, arrays in values.items()},
            {port: np.stack(arrays, axis=1)[:, :, at] for port, arrays in changes.items()},
        )

    def _spread(self, of_model: np.ndarray, by_name: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Numbers for each element of the model's parameters, by name."""
        ends = np.cumsum([0, *(np.size(by_name[name]) for name in self._of_model)])
        return {
            name: of_model[first:last].reshape(np.shape(by_name[name]))
            for name, first, last in zip(self._of_model, ends, ends[1:])
        }

    # ------------------------------------------------------------ least squares

    def jacobian(self, by_name: Mapping[str, np.ndarray]) -> np.ndarray:
        """Of the residuals of data by each element of the parameters, shape (elements, residuals)."""
        values, changes = self._solve(by_name)
        return np.concatenate([self._slopes_of(comparison, by_name, values, changes) for comparison in self._objective.comparisons], axis=1)

    def _distance(self, comparison: _Comparison, by_name: Mapping[str, np.ndarray], values: Derivatives) -> tuple[np.ndarray, Any]:
        """Of the data from what is computed, and the error that it is compared with."""
        error = comparison.arguments.get("error")
        size: Any = 1.0 if error is None else self._objective._value(comparison, error, _one(by_name), values)
        return comparison.data - comparison.center(values[comparison.port], self._objective.aligned), size

    def _slopes_of(
        self, comparison: _Comparison, by_name: Mapping[str, np.ndarray], values: Derivatives, changes: Derivatives
    ) -> np.ndarray:
        objective = self._objective
        error = comparison.arguments.get("error")
        distance, size = self._distance(comparison, by_name, values)
        slopes = -comparison.center(changes[comparison.port], objective.aligned) / size
        port = None if error is None else objective.port_of(error)
        if error is not None and port is not None:
            slopes = slopes - distance / size**2 * objective._value(comparison, error, {}, {port: changes[port]})
        return slopes[:, comparison.is_there].reshape(len(slopes), -1)

    # ------------------------------------------------------------ likelihoods

    def __call__(self, by_name: Mapping[str, np.ndarray]) -> tuple[float, dict[str, np.ndarray]]:
        """The log likelihood (of least squares: minus half the sum of squares), and its derivatives by each parameter."""
        values, changes = self._solve(by_name)
        of_model = np.zeros(sum(np.size(by_name[name]) for name in self._of_model))
        own = {name: np.zeros(np.shape(by_name[name])) for name in by_name if name not in self._of_model}
        total = 0.0
        for i, comparison in enumerate(self._objective.comparisons):
            if self._objective.spec.is_least_squares:
                total += self._add_squares(comparison, by_name, values, changes, of_model)
            else:
                total += self._add_density(i, comparison, by_name, values, changes, of_model, own)
        return total, {**self._spread(of_model, by_name), **own}

    def _add_squares(
        self, comparison: _Comparison, by_name: Mapping[str, np.ndarray], values: Derivatives, changes: Derivatives, of_model: np.ndarray
    ) -> float:
        distance, size = self._distance(comparison, by_name, values)
        residuals = (distance / size)[:, comparison.is_there].reshape(-1)
        of_model -= self._slopes_of(comparison, by_name, values, changes) @ residuals
        return -0.5 * float(residuals @ residuals)

    def _add_density(
        self,
        i: int,
        comparison: _Comparison,
        by_name: Mapping[str, np.ndarray],
        values: Derivatives,
        changes: Derivatives,
        of_model: np.ndarray,
        own: dict[str, np.ndarray],
    ) -> float:
        """The density's text is derived by what the model computes, and by its arguments."""
        objective = self._objective
        given = {"m": comparison.center(values[comparison.port], objective.aligned)[0]}
        for key, argument in comparison.arguments.items():
            value = objective._value(comparison, argument, _one(by_name), values)
            if isinstance(argument.value, str) and argument.value in by_name:
                given[key] = by_name[argument.value]
            else:
                given[key] = np.asarray(value, float)[0] if np.ndim(value) > 0 else np.asarray(value, float)
        density = self._densities.get(i) or self._densities.setdefault(i, _density_of(comparison, given))
        total, slopes = density({f"density.{name}": value for name, value in given.items()})
        of_model += _inner(comparison.center(changes[comparison.port], objective.aligned), slopes["density.m"])
        for key, argument in comparison.arguments.items():
            slope, port = slopes[f"density.{key}"], objective.port_of(argument)
            if port is not None:
                of_model += _inner(objective._value(comparison, argument, {}, {port: changes[port]}), slope)
            elif argument.value in own:
                own[argument.value] += np.reshape(slope, np.shape(own[argument.value]))
            elif isinstance(argument.value, str) and argument.value in self._of_model:
                at = {name: np.zeros(np.shape(by_name[name])) for name in self._of_model}
                at[argument.value] += np.reshape(slope, np.shape(at[argument.value]))
                of_model += np.concatenate([np.ravel(at[name]) for name in self._of_model])
        return float(total)


def _one(by_name: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """As of one candidate of several."""
    return {name: np.asarray(value)[None] for name, value in by_name.items()}


def _inner(changes: np.ndarray, slope: Any) -> np.ndarray:
    """Of each element of the parameters: the sum of how much all numbers change, times the slope by each."""
    slope = np.broadcast_to(slope, changes.shape[1:])
    return changes.reshape(len(changes), -1) @ slope.reshape(-1)


def _density_of(comparison: _Comparison, given: Mapping[str, np.ndarray]) -> Gradient:
    """The sum of the log density of all rows that are there, as a function of what it is of."""
    row = comparison.observed.distribution
    assert row is not None
    weights = comparison.is_there.astype(float)
    constants = {"y": comparison.data, "there": weights}
    parameters = {name: {"value": np.asarray(value, float).tolist()} for name, value in {**constants, **given}.items()}
    node = {"parameters": parameters, "output_ports": {"total": {"value": f"numpy.sum(there * ({row.text}))"}}}
    model = {"fit_density": {"graphs": {"density": {"nodes": {"density": node}}}}}
    return gradient(model, "density.total", [f"density.{name}" for name in given])
