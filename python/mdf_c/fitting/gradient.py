"""The objective as a part of the model, so that the engine derives it: exact gradients by reverse accumulation.

The model gets one more node. Its inputs are the output ports that are compared, and the data of one run by step; it adds the log density of
each step to a total, whose value after the last step is the log likelihood of the run.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .._added_node import AddedNode
from .._library import Handle
from .._sweep_library import PER_INSTANCE, NativeSweep, Plan, Swept
from ..engine import State
from ..errors import MdfUnsupportedError
from ..gradients import gradient, jvp
from .specification import Argument

if TYPE_CHECKING:
    from .objective import Compared, _Comparison

_SQUARES = "-0.5 * ((y - m) / error) ** 2"


class ExactGradient:
    """The derivative of the log likelihood (of least squares: of minus half the sum of squares), without priors.

    Raises
    ------
    MdfUnsupportedError
        The model has no derivative, or an argument none of the forms that it can have here.
    """

    def __init__(self, objective: Compared) -> None:
        spec, aligned = objective.spec, objective.aligned
        if aligned.by_step:
            raise MdfUnsupportedError("an input changes from step to step")
        self._node = AddedNode(objective.source, objective.names.program.graph_id, "fit_objective")
        self._data: dict[str, np.ndarray] = {}
        self._own: dict[str, str] = {}
        self._objective = objective
        compared = self._compared()
        parameters = {
            **{own: {"value": self._start(name).tolist()} for name, own in self._own.items()},
            "fit_step": {"value": "fit_step + 1", "default_initial_value": -1},
            **compared,
        }
        shapes = {name: array.shape[1:] for name, array in self._data.items()}
        model = self._node.model(shapes, parameters, {"fit_total": "fit_total"})
        self._wrt = {
            parameter.name: parameter.name if objective.is_of_model(parameter) else f"{self._node.id}.{self._own[parameter.name]}"
            for parameter in spec.parameters
        }
        self._changing = [name for name in aligned.inputs if name in objective.simulation.program.parameters]
        settings = {**objective.settings, "graph": objective.names.program.graph_id}
        self._program = self._derived(
            model,
            f"{self._node.id}.fit_total",
            [*self._wrt.values(), *self._changing],
            steps=aligned.n_steps,
            dt=spec.dt,
            **settings,
        )
        self._state: State | None = None
        self._shapes = {parameter.name: shape for parameter, shape in zip(spec.parameters, objective.space.shapes)}

    # ------------------------------------------------------------ the node

    _derived = staticmethod(gradient)
    _squares = _SQUARES

    def _compared(self) -> dict[str, Any]:
        """Parameters of the node of which `fit_total` is what is derived."""
        terms = [self._sum(*self._term(i, comparison)) for i, comparison in enumerate(self._objective.comparisons)]
        return {"fit_total": {"value": " + ".join(["fit_total", *terms]), "default_initial_value": 0.0}}

    @staticmethod
    def _sum(weights: str, term: str) -> str:
        return f"numpy.sum({weights} * ({term}))"

    def _start(self, name: str) -> np.ndarray:
        space = self._objective.space
        return space.by_name(space.start[None])[name][0]

    def _places(self) -> np.ndarray:
        """Of each row of the data, which it is of those of its run and step."""
        aligned = self._objective.aligned
        place = np.zeros(len(aligned.run), int)
        seen: dict[tuple[int, int], int] = {}
        for row, key in enumerate(zip(aligned.run.tolist(), aligned.step.tolist())):
            place[row] = seen[key] = seen.get(key, -1) + 1
        return place

    def _by_step(self, comparison: _Comparison, values: np.ndarray, empty: float) -> np.ndarray:
        """Rows of the data by run and step; of several rows of one step, beside each other: (runs, steps, rows, ...)."""
        aligned, place = self._objective.aligned, self._places()
        filled = np.full((aligned.n_runs, aligned.n_steps, place.max() + 1, *values.shape[1:]), empty)
        filled[aligned.run, aligned.step, place] = values
        return filled

    def _keep(self, name: str, values: np.ndarray) -> str:
        self._data[name] = values
        return f"{name}[fit_step]"

    def _term(self, i: int, comparison: _Comparison) -> tuple[str, str]:
        """What a step has of a column: weights, 0 where there is no data, and the numbers that they go with."""
        row = comparison.observed.distribution
        index = "".join(f"[{k}]" for k in comparison.observed.index)
        center = self._node.port(comparison.port) + index
        names = {
            "y": self._keep(f"fit_data{i}", self._by_step(comparison, comparison.data, float(comparison.data.flat[0]))),
            "m": center,
            **{key: self._argument(f"fit_{key}{i}", comparison, argument) for key, argument in comparison.arguments.items()},
        }
        if row is None:
            names.setdefault("error", "1.0")
        text = self._squares if row is None else row.text
        weights = self._keep(f"fit_weight{i}", self._by_step(comparison, comparison.is_there.astype(float), 0.0))
        term = re.sub(
            r"(?<![\w.])([A-Za-z_]\w*)(?!\w*\()", lambda found: f"({names[found[1]]})" if found[1] in names else found[1], text
        )
        return weights, term

    def _argument(self, own: str, comparison: _Comparison, argument: Argument) -> str:
        name, objective = argument.value, self._objective
        if not isinstance(name, str):
            return repr(name)
        fitted = {parameter.name: parameter for parameter in objective.spec.parameters}
        if name in fitted:
            if objective.is_of_model(fitted[name]):
                raise MdfUnsupportedError(f"'{name}' is a parameter of the model and of a distribution")
            return self._own.setdefault(name, f"fit_own{len(self._own)}")
        if name in objective.spec.data:
            column = objective.spec.data[name].astype(float)
            column = column.reshape(*column.shape, *[1] * (comparison.data.ndim - column.ndim))
            return self._keep(own, self._by_step(comparison, column, float(column.flat[0])))
        return self._node.port(objective.names.port(name, argument.place))

    # ------------------------------------------------------------ the derivative

    def __call__(self, by_name: Mapping[str, np.ndarray]) -> tuple[float, dict[str, np.ndarray]]:
        """The value, and its derivatives by each parameter, in its shape: the sums over the runs."""
        n, given = self._objective.aligned.n_runs, {**self._objective.aligned.inputs, **self._data}
        value, *arrays = self._by_sweep(by_name, given) if self._objective.spec.dt is None else self._by_states(by_name, given)
        slopes = {name: array.reshape(n, *self._shapes[name]).sum(axis=0) for name, array in zip(by_name, arrays)}
        return float(value.sum()), slopes

    def _ports_of(self, by_name: Mapping[str, np.ndarray]) -> list[str]:
        return ["value", *(self._wrt[name] for name in by_name)]

    def _by_sweep(self, by_name: Mapping[str, np.ndarray], given: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Runs are instances of one sweep, side by side."""
        n, n_steps = self._objective.aligned.n_runs, self._objective.aligned.n_steps
        parameters = [
            Swept(self._wrt[name], np.repeat(values[None], n, axis=0), PER_INSTANCE) for name, values in by_name.items()
        ]
        parameters += [Swept(name, given[name], PER_INSTANCE) for name in self._changing]
        inputs = [Swept(name, values, PER_INSTANCE) for name, values in given.items() if name not in self._changing]
        records = [self._program.outputs["gradient", name] for name in self._ports_of(by_name)]
        shapes: list[tuple[int, ...]] = [(), *(self._shapes[name] for name in by_name)]
        forms: list[tuple[np.dtype, tuple[int, ...]]] = [(np.dtype(float), shape) for shape in shapes]
        plan = Plan(parameters, inputs, records, 0, n, [n], 1, math.nan, 0, forms)
        handle: Handle = self._program._handle
        is_small = n * n_steps < 10_000
        return NativeSweep(handle, plan, 1 if is_small else 0, brief=is_small).run()

    def _by_states(self, by_name: Mapping[str, np.ndarray], given: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Run by run: the first evaluation of a sweep has no time increment, which the program of a gradient needs."""
        rows = []
        state = self._state = self._state or self._program.state()
        for run in range(self._objective.aligned.n_runs):
            state._renew()
            for name, values in by_name.items():
                state.set_parameter(self._wrt[name], values)
            for name in self._changing:
                state.set_parameter(name, given[name][run])
            state.set_inputs({name: values[run] for name, values in given.items() if name not in self._changing})
            state._take_as_checked()
            state.evaluate(self._objective.spec.dt)
            rows.append([state.output("gradient", name) for name in self._ports_of(by_name)])
        return [np.array(column) for column in zip(*rows)]


# Each step looks at the residuals of all steps; each parameter of each run is an evaluation.
_MOST_STEPS, _MOST_TANGENTS = 2000, 64
_MUCH_S = 0.1


class ExactTangents(ExactGradient):
    """The Jacobian of the residuals of least squares, without priors, by forward accumulation: a tangent for each number that is fitted.

    Raises
    ------
    MdfUnsupportedError
        As of an :class:`ExactGradient`; or differences take less.
    """

    _derived = staticmethod(jvp)
    _squares = "(y - m) / error"

    def __init__(self, objective: Compared) -> None:
        aligned = objective.aligned
        are_many = aligned.n_steps > _MOST_STEPS or objective.space.n * aligned.n_runs > _MOST_TANGENTS
        if are_many and objective.spec.gradient != "exact":
            raise MdfUnsupportedError("differences take less: there are many steps, runs or parameters")
        super().__init__(objective)
        self._taken: dict[str, float] = {}  # seconds, by way
        self._is_warm = False

    def _compared(self) -> dict[str, Any]:
        parameters, n_steps = {}, self._objective.aligned.n_steps
        for i, comparison in enumerate(self._objective.comparisons):
            weights, term = self._term(i, comparison)
            _, _, *shape = self._data[f"fit_weight{i}"].shape
            steps = f"numpy.reshape(numpy.arange({n_steps}), {[-1, *[1] * len(shape)]})"
            parameters[f"fit_kept{i}"] = {
                "value": f"numpy.where({steps} == fit_step, {weights} * ({term}), fit_kept{i})",
                "default_initial_value": np.zeros((n_steps, *shape)).tolist(),
            }
        kept = ", ".join(f"numpy.ravel({name})" for name in parameters)
        return {**parameters, "fit_total": {"value": f"numpy.concatenate([{kept}])"}}

    def rows(self, flat: np.ndarray) -> np.ndarray:
        """What the node has of all runs, shape (runs, numbers), as the residuals are, shape (residuals,)."""
        aligned, parts, first, place = self._objective.aligned, [], 0, self._places()
        for i, comparison in enumerate(self._objective.comparisons):
            shape = self._data[f"fit_weight{i}"].shape
            last = first + math.prod(shape[1:])
            values = flat[:, first:last].reshape(shape)[aligned.run, aligned.step, place]
            parts.append(values[comparison.is_there])
            first = last
        return np.concatenate(parts)

    def __call__(self, by_name: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[override]
        """The residuals, and how they change with each number that is fitted, shape (residuals, numbers): one by one, or as instances of a
        sweep, side by side, which has to be made anew each time. Both have the same bits; what takes less is found once, where that is
        much."""
        ways, taken = {"one by one": self._one_by_one, "side by side": self._side_by_side}, self._taken
        way = "one by one" if not taken or taken["one by one"] < _MUCH_S else next((w for w in ways if w not in taken), None)
        way = way or min(taken, key=lambda name: taken[name])
        begin = time.perf_counter()
        found = ways[way](by_name)
        if self._is_warm:  # the first call compiles
            taken.setdefault(way, time.perf_counter() - begin)
        self._is_warm = True
        return found

    def _one_by_one(self, by_name: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        aligned, given = self._objective.aligned, {**self._objective.aligned.inputs, **self._data}
        state = self._state = self._state or self._program.state()
        values: list[np.ndarray] = []
        columns: list[np.ndarray] = []
        for name, number in ((name, k) for name, array in by_name.items() for k in range(array.size)):
            tangents = []
            for run in range(aligned.n_runs):
                state._renew()
                for other, array in by_name.items():
                    direction = np.zeros(array.shape)
                    if other == name:
                        direction.flat[number] = 1.0
                    state.set_parameter(self._wrt[other], array)
                    state.set_parameter(f"direction.{self._wrt[other]}", direction)
                for other in self._changing:
                    state.set_parameter(other, given[other][run])
                    state.set_parameter(f"direction.{other}", 0.0)
                state.set_inputs({key: array[run] for key, array in given.items() if key not in self._changing})
                state._take_as_checked()
                state.evaluate(self._objective.spec.dt)
                tangents.append(state.output("gradient", "tangent"))
                if not columns:
                    values.append(state.output("gradient", "value"))
            columns.append(self.rows(np.array(tangents)))
        return self.rows(np.array(values)), np.stack(columns, axis=1)

    def _side_by_side(self, by_name: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        aligned, n = self._objective.aligned, sum(array.size for array in by_name.values())
        n_instances = n * aligned.n_runs
        given = {name: np.tile(array, (n, *[1] * (array.ndim - 1))) for name, array in {**aligned.inputs, **self._data}.items()}
        swept = [Swept(self._wrt[name], np.asarray(array), 0) for name, array in by_name.items()]
        swept += [
            Swept(f"direction.{self._wrt[name]}", np.repeat(rows, aligned.n_runs, axis=0), PER_INSTANCE)
            for name, rows in self._directions(by_name, n).items()
        ]
        for name in self._changing:
            swept += [Swept(name, given[name], PER_INSTANCE), Swept(f"direction.{name}", np.zeros(()), 0)]
        inputs = [Swept(name, array, PER_INSTANCE) for name, array in given.items() if name not in self._changing]
        records = [self._program.outputs["gradient", name] for name in ("value", "tangent")]
        # The first evaluation of a sweep has no time increment, which all of a program of derivatives needs: the second is looked at.
        n_steps, dt = (1, math.nan) if self._objective.spec.dt is None else (2, self._objective.spec.dt)
        is_small = n_instances * aligned.n_steps < 10_000
        plan = Plan(swept, inputs, records, 0, n_instances, [n_instances], n_steps, dt, 0)
        sweep = NativeSweep(self._program._handle, plan, 1 if is_small else 0, brief=is_small)
        values, tangents = (array[:, -1].reshape(n, aligned.n_runs, -1) for array in sweep.run())
        return self.rows(values[0]), np.stack([self.rows(tangent) for tangent in tangents], axis=1)

    @staticmethod
    def _directions(by_name: Mapping[str, np.ndarray], n: int) -> dict[str, np.ndarray]:
        """Of each parameter, by tangent, shape (numbers, *shape): the rows of an identity matrix."""
        whole, directions, first = np.eye(n), {}, 0
        for name, array in by_name.items():
            directions[name] = whole[:, first : first + array.size].reshape(n, *array.shape)
            first += array.size
        return directions
