"""Estimation of parameters: a ParameterEstimationComposition whose simulations are run by this engine.

In come values of the parameters that are fitted; out goes what the model gives for them, trial by trial, once for each estimate. What is
made of that, a likelihood or the user's objective, and the search among values are PsyNeuLink's own, so that both mean the same there and
here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._psyneulink_document import without_end
from ._psyneulink_names import unsupported
from .engine import Model
from .sweeping import instance_seeds, sweep


class Estimation:
    """A ParameterEstimationComposition, see :func:`mdf_c.psyneulink.compile`.

    Attributes
    ----------
    composition : psyneulink.ParameterEstimationComposition
    program : Program
        The model whose parameters are estimated.
    optimized_parameter_values : dict
        By name, after a run.
    optimal_value : float
        That of the objective, or the log-likelihood, for them.
    """

    def __init__(self, composition: Any, program: Any, **settings: Any) -> None:
        _check(composition)
        self.composition, self.program = composition, program
        self._function = composition.controller.function
        self._model = Model(_unseeded(without_end(program.model)))
        self._settings = {name: value for name, value in settings.items() if name not in ("seed", "threads")}
        self._first_seed = int(composition.controller.initial_seed or settings.get("seed", 0))
        self._same_seeds = bool(composition.controller.parameters.same_seed_for_all_allocations.get(None))
        self.optimized_parameter_values: dict[str, float] = {}
        self.optimal_value: float | None = None
        self.reset()

    def reset(self) -> None:
        """Seeds begin anew."""
        self._n_simulated = 0

    @property
    def parameter_names(self) -> list[str]:
        """Of what is fitted, in the order in which values are given."""
        return list(self._function.fit_param_names)

    def simulate(self, *values: float, inputs: Any) -> np.ndarray:
        """What the outcome variables are for values of the parameters.

        Parameters
        ----------
        *values : float
            One for each of :attr:`parameter_names`.
        inputs
            What ParameterEstimationComposition.run takes.

        Returns
        -------
        numpy.ndarray
            (trials, estimates, outcomes): what PsyNeuLink gives its objective function.
        """
        return self._simulate(values, self._prepared(inputs))

    def objective(self, *values: float, inputs: Any) -> float:
        """The objective function's value for values of the parameters, or the log-likelihood of the data."""
        return self._function._pec_objective_function(self.simulate(*values, inputs=inputs))

    def log_likelihood(self, *values: float, inputs: Any, return_sim_data: bool = False) -> Any:
        """As ParameterEstimationComposition.log_likelihood."""
        if self.composition.data is None:
            raise ValueError(f"{self.composition.name} has no data: take objective()")
        simulated = self.simulate(*values, inputs=inputs)
        found = self._function._pec_objective_function(simulated)
        return (found, simulated) if return_sim_data else found

    def run(self, inputs: Any) -> dict[str, float]:
        """Searches by the composition's optimization_function; the values that it finds, by name."""
        if self._function.method is None:
            raise ValueError(f"{self.composition.name} has no optimization_function: take log_likelihood()")
        context = self._prepared(inputs)

        def objective(*values: float) -> float:
            return self._function._pec_objective_function(self._simulate(values, context))

        found = self._function._fit(obj_func=objective, context=context)
        self.optimized_parameter_values = {name: float(value) for name, value in found["fitted_params"].items()}
        self.optimal_value = float(found["optimal_value"])
        return self.optimized_parameter_values

    def _prepared(self, inputs: Any) -> Any:
        """Has PsyNeuLink check the inputs and put them together, with places for the parameters."""
        from psyneulink.core.globals.context import Context

        context = Context(execution_id=None)
        self.composition._assign_execution_ids(context)
        self.composition._prepare_pec_inputs_for_simulation(inputs, context)
        return context

    def _simulate(self, values: Any, context: Any) -> np.ndarray:
        if len(values) != len(self.parameter_names):
            raise ValueError(f"{len(values)} values are given for {len(self.parameter_names)} parameters, {', '.join(self.parameter_names)}")
        controller = self.composition.controller
        controller.set_parameters_in_inputs(parameters=values, inputs=controller._pec_input_values)
        trials = self._trials(controller._pec_input_values)
        places = [f"{node}.{port}" for node, port in self.program.outlets]
        found = sweep(
            self._model, {}, trials, steps=len(trials), every=1, record=places, seeds=self._seeds(), progress=False, **self._settings
        )
        columns = [np.reshape(found[place], (*np.shape(found[place])[:2], -1)) for place in places]
        data = np.concatenate(columns, axis=2)[:, :, self._function.outcome_variable_indices]  # estimates, trials, outcomes
        return np.transpose(data, (1, 0, 2))

    def _trials(self, given: Any) -> list[dict[str, np.ndarray]]:
        """Inputs of the model's ports, trial by trial: those of all input ports in a row, or by mechanism."""
        inlets, model = self.program._inlets, self.composition.model
        if model in given:
            rows = [[row[i] for i in range(len(inlets))] for row in given[model]]
        else:
            n = len(next(iter(given.values())))
            rows = [[np.atleast_2d(given[inlet.node][trial])[inlet.number] for inlet in inlets] for trial in range(n)]
        return [
            {name: np.ravel(np.asarray(value, float)) for inlet, value in zip(inlets, row) for name in inlet.names} for row in rows
        ]

    def _seeds(self) -> np.ndarray:
        """One for each estimate: the same for all values of the parameters, or new ones."""
        n = int(self.composition.controller.num_estimates or 1)
        first = 0 if self._same_seeds else self._n_simulated
        self._n_simulated += n
        return instance_seeds(self._first_seed, first + n)[first:]


def _unseeded(part: Any) -> Any:
    """The model without seeds of its own: each estimate draws by its own one."""
    if isinstance(part, list):
        return [_unseeded(item) for item in part]
    if not isinstance(part, dict):
        return part
    return {key: _unseeded(value) for key, value in part.items() if key not in ("seed", "random_state")}


def _check(composition: Any) -> None:
    reasons = {
        "it fits a hierarchy of participants": composition._fit_method is not None,
        "its likelihood is that of a neural network": composition._likelihood_estimator == "neural",
        "its search is distributed": composition._pec_distributed or bool(composition.controller and composition.controller.function.distributed),
    }
    for reason in (reason for reason, holds in reasons.items() if holds):
        raise unsupported(composition, f"{reason}: that is not covered, run it with PsyNeuLink")
