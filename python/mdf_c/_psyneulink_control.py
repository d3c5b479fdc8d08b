"""The controller of a composition: an OptimizationControlMechanism that tries allocations of control with GridSearch.

In come the values that its features saw in a trial; out goes the allocation with the best net outcome, for the next one. Allocations are
tried as instances of one sweep.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _psyneulink_random as _random
from ._psyneulink_document import Inlet, identifier, is_interface, port_id, source, unsupported
from .engine import Model, State
from .sweeping import sweep


class Controller:
    """See the head of this file.

    Attributes
    ----------
    allocation : list of float
        Of each control signal, as it is now.
    before : bool
        It decides before each trial, from what that trial is given, not after it.
    """

    def __init__(self, composition: Any, inlets: list[Inlet], model: dict, settings: dict) -> None:
        self._mechanism = composition.controller
        _check(composition, self._mechanism)
        self._signals = list(self._mechanism.control_signals)
        self._inlets = [[f"{inlet.node}.{inlet.port}" for inlet in inlets if inlet.signal is signal] for signal in self._signals]
        self._samples = list(itertools.product(*(list(copy.deepcopy(s)) for s in self._mechanism.function.search_space)))
        self._costs = [self._cost(sample) for sample in self._samples]
        self._model, self._settings = Model(model), settings
        self._outcomes = [projection.sender for projection in self._mechanism.input_port.path_afferents]
        self._features = [_Feature(self._mechanism, i) for i in range(self._mechanism.num_state_input_ports)]
        self.before = composition.controller_mode == "before"
        self.allocation = [float(np.ravel(signal.defaults.value)[0]) for signal in self._signals]

    def reset(self) -> None:
        """Forgets all trials."""
        self.allocation = [float(np.ravel(signal.defaults.value)[0]) for signal in self._signals]
        for feature in self._features:
            feature.reset()

    def inputs(self) -> dict[str, np.ndarray]:
        """The allocation as inputs of the model."""
        return self._inputs_of(self.allocation)

    def _inputs_of(self, allocation: Any) -> dict[str, np.ndarray]:
        return {name: np.array([value]) for names, value in zip(self._inlets, allocation) for name in names}

    def decide(self, state: State, given: Callable[[Any], np.ndarray], ports: Callable[[Any], list[str]]) -> None:
        """Chooses the allocation; `given` tells what a port of the composition's input interface was given, `ports` to which of the
        model's ports an input port passes its value."""
        inputs = {name: feature.value(state, given) for feature in self._features for name in ports(feature.receiver)}
        values = self._evaluate(inputs)
        best = np.argmin(values) if self._mechanism.function.direction == "minimize" else np.argmax(values)
        self.allocation = [float(value) for value in self._samples[best]]

    def _evaluate(self, inputs: dict[str, np.ndarray]) -> list[float]:
        axes: dict[str, list] = {}
        for sample in self._samples:
            for name, value in self._inputs_of(sample).items():
                axes.setdefault(name, []).append(value)
        places = [f"{identifier(port.owner.name)}.{port_id(port)}" for port in self._outcomes]
        found = sweep(self._model, axes, inputs, record=places, combine="zip", progress=False, **self._settings)
        outcomes = sum(found[place] for place in places)
        return [float(np.ravel(self._mechanism.compute_net_outcome(*pair))[0]) for pair in zip(outcomes, self._costs)]

    def _cost(self, sample: Any) -> float:
        return float(self._mechanism.combine_costs([_cost_of(signal, value) for signal, value in zip(self._signals, sample)] + [0.0]))


class _Feature:
    """A value that the controller sees, as an input of what it tries."""

    def __init__(self, mechanism: Any, number: int) -> None:
        from psyneulink.core.components.functions.nonstateful.transformfunctions import TransformFunction

        self._port = mechanism.state_input_ports[number]
        self.receiver = mechanism._specified_INPUT_Node_InputPorts_in_order[number]
        if len(self._port.path_afferents) != 1 or isinstance(self.receiver, str):
            raise unsupported(mechanism, f"its state feature '{self._port.name}' comes from no one place in the composition")
        self._sender = self._port.path_afferents[0].sender
        self._is_plain = isinstance(self._port.function, TransformFunction)
        self.reset()

    def reset(self) -> None:
        self._function = None if self._is_plain else copy.deepcopy(self._port.function)

    def value(self, state: State, given: Callable[[Any], np.ndarray]) -> np.ndarray:
        if is_interface(self._sender.owner):
            value = given(self._sender)
        else:
            sender = source(self._sender)
            value = state.output(identifier(sender.owner.name), port_id(sender))
        return np.ravel(value if self._function is None else self._function(np.atleast_2d(value)))


def _check(composition: Any, mechanism: Any) -> None:
    """What is said here in numbers is all that there is to the controller."""
    from psyneulink.core.components.functions.nonstateful.optimizationfunctions import GridSearch
    from psyneulink.core.scheduling.condition import Always
    from psyneulink.core.scheduling.time import TimeScale

    function = mechanism.function
    reasons = {
        "its function is no GridSearch": not isinstance(function, GridSearch),
        "it is not asked in each trial": composition.controller_time_scale != TimeScale.TRIAL
        or not isinstance(composition.controller_condition, Always),
        "it tries another composition than its own": mechanism.agent_rep is not composition,
        "it tries an allocation more than once": (mechanism.num_estimates or 1) > 1 or (mechanism.num_trials_per_estimate or 1) > 1,
        "it chooses among equals at random": function.select_randomly_from_optimal_values,
        "it has several outcomes": mechanism.num_outcome_input_ports != 1,
        "its reconfiguration has a cost": callable(mechanism.compute_reconfiguration_cost),
        "its outcome depends on random numbers": _random.reach(composition, mechanism.input_port),
        "the composition keeps values from trial to trial": bool(_stateful(composition)),
    }
    for reason in (reason for reason, holds in reasons.items() if holds):
        raise unsupported(mechanism, f"{reason}: that is not covered, run it with PsyNeuLink")


def _stateful(composition: Any) -> list[Any]:
    from psyneulink.core.compositions.composition import NodeRole

    within = composition.get_nodes_by_role(NodeRole.CYCLE) + composition.get_nodes_by_role(NodeRole.FEEDBACK_SENDER)
    recurrent = [node for node in composition.nodes if hasattr(node, "recurrent_projection")]
    return [node for node in composition.stateful_nodes + within + recurrent if node is not composition.controller]


def _cost_of(signal: Any, intensity: float) -> float:
    from psyneulink.core.components.functions.nonstateful.transferfunctions import CostFunctions

    options = signal.defaults.cost_options
    if options is None or options == CostFunctions.NONE:
        return 0.0
    if options & ~CostFunctions.INTENSITY:
        raise unsupported(signal, "its cost depends on trials before: cost_options=CostFunctions.INTENSITY can be told")
    return max(0.0, float(np.ravel(signal.intensity_cost_function(intensity))[0]))
