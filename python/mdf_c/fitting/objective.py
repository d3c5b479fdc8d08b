"""What is made least: the one place where data, model, distributions and priors come together.

An objective is a function of positions (space.py), many at a time: the sum of squares, or minus the log of likelihood times priors.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._documents import Origin
from .._library import PART_PARAMETER
from .._placed import Placed, unknown
from ..engine import Model, Program, Settings
from ..errors import MdfError, MdfInterrupted, MdfLimitError, MdfMemoryError, MdfNameError, MdfUnsupportedError
from .alignment import Alignment
from .distributions import log_density
from .gradient import ExactGradient, ExactTangents
from .journal import Journal
from .sensitivities import SensitiveGradient
from .simulation import Simulation
from .space import Space
from .specification import Argument, Observed, Parameter, Specification


class Exhausted(Exception):  # noqa: N818 - no error: a search ends
    """A search has had all of its evaluations."""


class Names:
    """What the model has by name.

    Attributes
    ----------
    parameters : dict of str to value or None
        Of nodes, as NODE.PARAMETER; constants have their value.
    ports : list of str
        Output ports, as NODE.PORT.
    """

    def __init__(self, source: Origin, settings: Mapping[str, Any]) -> None:
        program = Program(Model._read(source), Settings(**settings))
        self.program = program
        self.ports = [f"{node}.{port}" for node, port in program.outputs]
        self.inputs = [*program.inputs, *(f"{node}.{port}" for node, port in program.input_ports())]
        self.parameters: dict[str, Any] = {
            f"{node}.{name}": None for i, node in enumerate(program.nodes) for name in program.part_ids(i, PART_PARAMETER)
        }
        model = json.loads(source.content or b"{}") if source.format == "json" else {}
        model = model.get("graphs") and model or next(iter(model.values()), {})
        graphs = model.get("graphs", {})
        nodes = graphs.get(program.graph_id, {}).get("nodes", {}) if isinstance(graphs, dict) else {}
        for name in self.parameters:
            node, parameter = name.split(".", 1)
            found = nodes.get(node, {}).get("parameters", {}).get(parameter) if isinstance(nodes, dict) else None
            self.parameters[name] = _constant(found)

    def find_parameters(self, name: str) -> list[str]:
        """Those that NODE.PARAMETER, or PARAMETER for every one of that name, stands for."""
        return [key for key in self.parameters if name in (key, key.split(".", 1)[1])]

    def port(self, name: str, place: Placed) -> str:
        """NODE.PORT for what stands for it."""
        try:
            node, port = self.program.find_outputs(name)[0]
        except MdfNameError as error:
            raise (
                unknown(place, name, "output port", self.ports) if "no output" in str(error) else place.fault(error.message)
            ) from None
        return f"{node}.{port}"


def _constant(parameter: Any) -> Any:
    """What can stand in the place of a parameter's number in the model."""
    value = parameter.get("value") if isinstance(parameter, dict) else parameter
    if isinstance(parameter, dict) and (value is None or isinstance(value, str)):
        value = parameter.get("default_initial_value")
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError):
        return None
    return None if value is None or isinstance(value, (str, bool)) else array


class Objective:
    """Costs of candidates, from what each candidate's simulation gives. Made for one specification and model.

    Attributes
    ----------
    space : Space
    n_data : int
        Numbers that are compared.
    n_evaluations, n_gradients : int
        Candidates that were evaluated, and exact gradients.
    """

    def __init__(self, spec: Specification, source: Origin, aligned: Alignment, settings: Mapping[str, Any]) -> None:
        self.spec, self.aligned, self.source, self.settings = spec, aligned, source, dict(settings)
        self.names = Names(source, settings)
        self.n_evaluations = self.n_gradients = 0
        self.why_differences: str | None = None
        used = {argument.value for argument in self._arguments() if isinstance(argument.value, str)}
        for parameter in spec.parameters:
            if not self.is_of_model(parameter) and parameter.name not in used:
                raise unknown(parameter.key, parameter.name, "parameter", [*self.names.parameters, *sorted(used)])
        for name, argument in spec.inputs.items():
            if name not in self.names.inputs and not self.names.find_parameters(name):
                raise unknown(argument.place, name, "input", self.names.inputs)
        self.space = Space(spec.parameters, [self._start(parameter) for parameter in spec.parameters])
        self.model_names = [parameter.name for parameter in spec.parameters if self.is_of_model(parameter)]
        self.n_data = 0
        self.journal = Journal()
        self.best: tuple[float, np.ndarray] = (math.inf, self.space.start)
        self.tell: Callable[[Objective], None] | None = None

    def is_of_model(self, parameter: Parameter) -> bool:
        """Whether it is one of the model, and not of a distribution alone."""
        return bool(self.names.find_parameters(parameter.name)) or parameter.name in self.names.inputs

    def _start(self, parameter: Parameter) -> np.ndarray:
        known = [self.names.parameters[name] for name in self.names.find_parameters(parameter.name)]
        of_model = known[0] if known else None
        if parameter.start is None:
            if of_model is None:
                raise parameter.place.fault("the key 'start' is missing: the model has no number for it")
            if not ((of_model >= parameter.lower) & (of_model <= parameter.upper)).all():
                raise parameter.place.fault(
                    f"the model's value, {of_model}, is not within the bounds: say another one by 'start'"
                )
            return of_model
        if of_model is not None and of_model.shape != parameter.start.shape:
            if parameter.start.ndim:
                raise parameter.place.fault(f"'start' has the shape {parameter.start.shape}, in the model it is {of_model.shape}")
            return np.full(of_model.shape, float(parameter.start))
        return parameter.start

    def _arguments(self) -> list[Argument]:
        """All that may name a parameter that the model does not have."""
        return [argument for observed in self.spec.observed for argument in observed.arguments.values()]

    # ------------------------------------------------------------ what depends on the kind of data

    def log_likelihoods(self, by_name: Mapping[str, np.ndarray]) -> np.ndarray:
        """Minus the costs of the data, shape (candidates,)."""
        raise NotImplementedError

    # ------------------------------------------------------------ what is asked

    def costs(self, positions: np.ndarray) -> np.ndarray:
        """What is made least, shape (candidates,): infinite where there is no number."""
        costs = self._ask("costs", positions, self._costs)
        self._note(positions, costs)
        return costs

    def _costs(self, positions: np.ndarray) -> np.ndarray:
        by_name = self.space.by_name(positions)
        with np.errstate(all="ignore"):
            total = self.log_likelihoods(by_name) + self.log_priors(by_name)
        return np.where(np.isfinite(total), -total, math.inf)

    def _ask(self, kind: str, positions: np.ndarray, compute: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """What is computed for positions, or stands in the journal of an earlier search."""
        positions = np.ascontiguousarray(positions, float)
        self.n_evaluations += len(positions)
        return self.journal.ask(kind, positions, compute)

    def _note(self, positions: np.ndarray, costs: np.ndarray) -> None:
        """Keeps the best, and ends a search that has had its evaluations."""
        least = int(np.argmin(costs))
        if costs[least] < self.best[0]:
            self.best = float(costs[least]), np.array(positions[least])
        if self.tell is not None:
            self.tell(self)
        if self.spec.max_evaluations is not None and self.n_evaluations >= self.spec.max_evaluations and self.is_searching:
            raise Exhausted

    is_searching = False

    def cost(self, position: np.ndarray) -> float:
        """Of one candidate."""
        return float(self.costs(np.asarray(position, float)[None])[0])

    def log_priors(self, by_name: Mapping[str, np.ndarray]) -> np.ndarray:
        """Log densities of the priors."""
        total = np.zeros(len(next(iter(by_name.values()))))
        for parameter in self.spec.parameters:
            if parameter.prior is not None:
                values = by_name[parameter.name].reshape(len(total), -1)
                total = total + log_density(parameter.prior.name, values, parameter.prior.center, parameter.prior.arguments).sum(
                    axis=1
                )
        return total

    def gradient(self, position: np.ndarray) -> np.ndarray:
        """The derivative of the cost: exact where the model has one, else by central differences."""
        exact = self.exact()
        if exact is None:
            return self.differences(position)
        self.n_gradients += 1
        flat = self.journal.ask("gradient", position[None], lambda positions: self._exact_of(exact, positions))[0]
        return -(flat * self.space.slopes(position) + self._prior_slopes(position))

    def _exact_of(self, exact: ExactGradient | SensitiveGradient, positions: np.ndarray) -> np.ndarray:
        by_name = {name: values[0] for name, values in self.space.by_name(positions).items()}
        return self.space.flat({name: value[None] for name, value in exact(by_name)[1].items()})

    def exact(self) -> ExactGradient | SensitiveGradient | None:
        """The program of the gradient; None: there is none, `why_differences` says why."""
        if not hasattr(self, "_exact"):
            self._exact: ExactGradient | SensitiveGradient | None = None
            if self.spec.gradient == "differences":
                self.why_differences = "the fit asks for differences"
                return None
            try:
                self._exact = self._make_exact()
            except MdfUnsupportedError as error:
                if self.spec.gradient == "exact":
                    raise
                self.why_differences = error.message
        return self._exact

    def _make_exact(self) -> ExactGradient | SensitiveGradient:
        raise MdfUnsupportedError("the likelihood is that of simulated walks")

    def _prior_slopes(self, position: np.ndarray) -> np.ndarray:
        if all(parameter.prior is None for parameter in self.spec.parameters):
            return np.zeros(self.space.n)
        step = np.cbrt(np.finfo(float).eps) * np.maximum(1, np.abs(position))
        around = np.concatenate([position + np.diag(step), position - np.diag(step)])
        above, below = np.split(self.log_priors(self.space.by_name(around)), 2)
        return (above - below) / (2 * step)

    def steps_around(self, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For central differences: positions above and below in each direction, within the bounds."""
        step = np.cbrt(np.finfo(float).eps) * np.maximum(1e-3, np.abs(position))
        above = np.minimum(position + step, self.space.upper)
        below = np.maximum(position - step, self.space.lower)
        return position + np.diag(above - position), position - np.diag(position - below)

    def differences(self, position: np.ndarray) -> np.ndarray:
        """The derivative by central differences, all of them in one sweep."""
        above, below = self.steps_around(position)
        costs = self.costs(np.concatenate([above, below]))
        with np.errstate(invalid="ignore", divide="ignore"):
            slopes = (costs[: len(above)] - costs[len(above) :]) / np.diag(above - below)
        return np.where(np.isfinite(slopes), slopes, 0.0)


class _Comparison:
    """One observed column, beside what the model computes for it."""

    def __init__(self, objective: Compared, observed: Observed) -> None:
        spec, names = objective.spec, objective.names
        self.observed = observed
        self.port = names.port(observed.port, observed.place)
        data = spec.data[observed.column].astype(float)
        self.is_there = np.isfinite(data)
        if not self.is_there.any():
            raise observed.place.fault(f"column '{observed.column}' has no number")
        self.data = np.where(self.is_there, data, data[self.is_there][0])
        self.arguments = dict(observed.arguments)
        if observed.error is not None:
            self.arguments["error"] = observed.error

    def take(self, recorded: np.ndarray, aligned: Alignment) -> np.ndarray:
        """Of what a port has: the value that each row of the data is about, shape (candidates, rows, ...)."""
        steps = aligned.step if aligned.every_step else np.zeros(len(aligned.step), int)
        return recorded[:, aligned.run, steps].astype(float)

    def center(self, recorded: np.ndarray, aligned: Alignment) -> np.ndarray:
        """The same for the port that is compared, in the shape of the data."""
        values = self.take(recorded, aligned)
        if self.observed.index:
            if values.ndim - 2 != len(self.observed.index) or any(i >= n for i, n in zip(self.observed.index, values.shape[2:])):
                raise self.observed.place.fault(
                    f"'{self.port}' has the shape {values.shape[2:]}: there is no element {list(self.observed.index)}"
                )
            values = values[(slice(None), slice(None), *self.observed.index)]  # type: ignore[arg-type]
        row = self.observed.distribution
        event = values.shape[2:-1] if row is not None and row.is_categorical else values.shape[2:]
        if event != self.data.shape[1:]:
            if event == (1,) and self.data.ndim == 1:
                return values[:, :, 0]
            raise self.observed.place.fault(
                f"'{self.port}' has the shape {values.shape[2:]}, and a row of column '{self.observed.column}' {self.data.shape[1:]}: "
                "compare one element by NODE.PORT[0], or give the data as arrays (.npz)"
            )
        return values


class Compared(Objective):
    """Columns of data that are compared with output ports."""

    def __init__(self, spec: Specification, source: Origin, aligned: Alignment, settings: Mapping[str, Any]) -> None:
        super().__init__(spec, source, aligned, settings)
        self.comparisons = [_Comparison(self, observed) for observed in spec.observed]
        self.n_data = int(sum(comparison.is_there.sum() for comparison in self.comparisons))
        ports = [comparison.port for comparison in self.comparisons]
        for comparison in self.comparisons:
            for key, argument in comparison.arguments.items():
                ports += self._check_argument(key, argument)
        self.ports = list(dict.fromkeys(ports))
        self.simulation = Simulation(source, self.model_names, aligned, spec.dt, self.ports, settings, spec.seed)

    def _check_argument(self, key: str, argument: Argument) -> list[str]:
        """Ports that an argument needs."""
        name = argument.value
        fitted = [parameter.name for parameter in self.spec.parameters]
        if not isinstance(name, str) or name in self.spec.data:
            return []
        if name in fitted:
            if key == "error":
                raise argument.place.fault(
                    f"'{name}' can not be fitted by least squares: give a distribution, {{normal: {{sd: {name}}}}}"
                )
            return []
        try:
            return [self.names.port(name, argument.place)]
        except MdfNameError:
            raise unknown(
                argument.place, name, "parameter, column or output port", [*fitted, *self.spec.data, *self.names.ports]
            ) from None

    def _value(
        self, comparison: _Comparison, argument: Argument, by_name: Mapping[str, np.ndarray], recorded: Mapping[str, np.ndarray]
    ) -> Any:
        """An argument, to go with arrays (candidates, rows, ...)."""
        name, rank = argument.value, comparison.data.ndim
        if not isinstance(name, str):
            return name
        if name in by_name:
            return by_name[name].reshape(len(by_name[name]), *[1] * (rank - by_name[name].ndim + 1), *by_name[name].shape[1:])
        if name in self.spec.data:
            column = self.spec.data[name].astype(float)
            return column.reshape(1, *column.shape, *[1] * (rank - column.ndim))
        values = comparison.take(recorded[self.names.port(name, argument.place)], self.aligned)
        return values.reshape(*values.shape[:2], *[1] * (rank + 1 - values.ndim), *values.shape[2:])

    def predicted(self, by_name: Mapping[str, np.ndarray]) -> list[tuple[np.ndarray, dict[str, Any]]]:
        """For each column: what the model computes, and the arguments."""
        candidates = {name: by_name[name] for name in self.model_names}
        arrays = self.simulation(candidates, len(next(iter(by_name.values()))))
        recorded = dict(zip(self.ports, arrays))
        return [
            (
                comparison.center(recorded[comparison.port], self.aligned),
                {key: self._value(comparison, argument, by_name, recorded) for key, argument in comparison.arguments.items()},
            )
            for comparison in self.comparisons
        ]

    def residuals(self, positions: np.ndarray) -> np.ndarray:
        """Of least squares: shape (candidates, residuals); the last ones are those of priors."""
        residuals = self._ask("residuals", positions, self._residuals)
        with np.errstate(all="ignore"):
            costs = 0.5 * np.sum(residuals**2, axis=1)
        self._note(positions, np.where(np.isfinite(costs), costs, math.inf))
        return residuals

    def _residuals(self, positions: np.ndarray) -> np.ndarray:
        by_name = self.space.by_name(positions)
        parts = []
        for comparison, (center, arguments) in zip(self.comparisons, self.predicted(by_name)):
            distance = (comparison.data - center) / arguments.get("error", 1.0)
            parts.append(distance[:, comparison.is_there])
        for parameter in self.spec.parameters:
            if parameter.prior is not None:
                values = by_name[parameter.name].reshape(len(positions), -1)
                parts.append((values - parameter.prior.center) / parameter.prior.arguments["sd"])
        return np.concatenate(parts, axis=1)

    def _costs(self, positions: np.ndarray) -> np.ndarray:
        """Half the sum of squares, or as for all objectives."""
        if not self.spec.is_least_squares:
            return super()._costs(positions)
        with np.errstate(all="ignore"):
            total = 0.5 * np.sum(self._residuals(positions) ** 2, axis=1)
        return np.where(np.isfinite(total), total, math.inf)

    def log_likelihoods(self, by_name: Mapping[str, np.ndarray]) -> np.ndarray:
        """Of the distributions."""
        total = np.zeros(len(next(iter(by_name.values()))))
        for comparison, (center, arguments) in zip(self.comparisons, self.predicted(by_name)):
            assert comparison.observed.distribution is not None
            density = log_density(comparison.observed.distribution.name, comparison.data, center, arguments)
            total = total + np.where(comparison.is_there, density, 0).reshape(len(total), -1).sum(axis=1)
        return total

    def _is_sensitive(self) -> bool:
        """Whether CVODE solves, which has forward sensitivities."""
        return str(self.settings.get("method", "")).startswith("cvode")

    def port_of(self, argument: Argument) -> str | None:
        """The output port that an argument is; None: it is none."""
        name = argument.value
        others = [*self.spec.data, *(parameter.name for parameter in self.spec.parameters)]
        return None if not isinstance(name, str) or name in others else self.names.port(name, argument.place)

    def jacobian(self, position: np.ndarray) -> np.ndarray:
        """Of the residuals by position: by forward accumulation or sensitivities, or by central differences in one sweep."""
        tangents = self._tangents()
        if tangents is None:
            return self._jacobian_by_differences(position)
        try:
            flat = self.journal.ask("jacobian", position[None], lambda positions: self._tangents_at(tangents, positions[0]))
        except (MdfInterrupted, MdfLimitError, MdfMemoryError):
            raise
        except MdfError:  # the model can not be evaluated there
            return self._jacobian_by_differences(position)
        self.n_gradients += 1
        return self._with_priors(flat.reshape(-1, self.space.n), position)

    def _tangents_at(self, tangents: ExactTangents | SensitiveGradient, position: np.ndarray) -> np.ndarray:
        """The Jacobian of the data's residuals by position, in a row."""
        by_name = {name: values[0] for name, values in self.space.by_name(position[None]).items()}
        jacobian = tangents.jacobian(by_name).T if isinstance(tangents, SensitiveGradient) else tangents(by_name)[1]
        return (jacobian * self.space.slopes(position)).reshape(1, -1)

    def _with_priors(self, jacobian: np.ndarray, position: np.ndarray) -> np.ndarray:
        """Residuals of priors are linear in a value."""
        rows = []
        for i, parameter in enumerate(self.space.owners):
            if parameter.prior is not None:
                row = np.zeros(self.space.n)
                row[i] = self.space.slopes(position)[i] / parameter.prior.arguments["sd"]
                rows.append(row)
        return np.concatenate([jacobian, *[row[None] for row in rows]])

    def _tangents(self) -> ExactTangents | SensitiveGradient | None:
        """The program of the tangents; None: there is none, or differences take less."""
        if not hasattr(self, "_forward"):
            self._forward: ExactTangents | SensitiveGradient | None = None
            if self._is_sensitive():
                exact = self.exact()
                self._forward = exact if isinstance(exact, SensitiveGradient) else None
            elif self.spec.gradient != "differences":
                try:
                    self._forward = self._make_tangents()
                except MdfUnsupportedError as error:
                    if self.spec.gradient == "exact":
                        raise
                    self.why_differences = error.message
        return self._forward

    def _make_tangents(self) -> ExactTangents:
        """Where the residuals are what the steps of the model give."""
        tangents, start = ExactTangents(self), self.space.start[None]
        found = tangents({name: values[0] for name, values in self.space.by_name(start).items()})[0]
        if not np.allclose(found, self._residuals(start)[0, : self.n_data], rtol=1e-6, atol=1e-9):
            raise MdfUnsupportedError("computed as one function of the parameters, the residuals are not what the steps give")
        return tangents

    def _jacobian_by_differences(self, position: np.ndarray) -> np.ndarray:
        above, below = self.steps_around(position)
        values = self.residuals(np.concatenate([above, below]))
        return ((values[: len(above)] - values[len(above) :]) / np.diag(above - below)[:, None]).T

    def _make_exact(self) -> ExactGradient | SensitiveGradient:
        """The derivative, where its value is what the steps of the model give."""
        is_sensitive = self._is_sensitive()
        exact: ExactGradient | SensitiveGradient = SensitiveGradient(self) if is_sensitive else ExactGradient(self)
        by_name = self.space.by_name(self.space.start[None])
        value = exact({name: values[0] for name, values in by_name.items()})[0]
        if self.spec.is_least_squares:
            expected = -0.5 * float(np.sum(self._residuals(self.space.start[None])[0, : self.n_data] ** 2))
        else:
            expected = float(self.log_likelihoods(by_name)[0])
        if not math.isclose(value, expected, rel_tol=0.05 if is_sensitive else 1e-6, abs_tol=1e-9):  # CVODES' steps are others
            raise MdfUnsupportedError("computed as one function of the parameters, the likelihood is not what the steps give")
        return exact


def check_start(objective: Objective) -> float:
    """The cost where the search begins.

    Raises
    ------
    MdfError
        There is none.
    """
    cost = objective.cost(objective.space.start)
    if not math.isfinite(cost):
        raise MdfError(
            "where the search begins, the model or the likelihood gives no finite number: begin with other values ('start')"
        )
    return cost
