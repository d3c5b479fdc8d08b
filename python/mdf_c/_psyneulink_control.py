"""The controller of a composition of PsyNeuLink: an OptimizationControlMechanism with GridSearch, as the runner has it.

In comes what the controller looks at, and the state of the model as the trial has it; out goes the allocation of its control signals that
PsyNeuLink finds: of all samples, each tried in a simulation that begins from that state, the one with the best net outcome. What is tried are
inputs of the model (see document), by which its arguments are expressions; costs are computed here, as they are no part of a simulation.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ._psyneulink_document import Inlet
from ._psyneulink_names import identifier, is_interface, is_randomization, port_id, source, unsupported
from .engine import Program, State


_MOST_SEEDS = 2**24


class Controller:
    """See the head of this file.

    Attributes
    ----------
    allocation : list of float
        Of each control signal, as it is now.
    before : bool
        It decides before each trial, from what that trial is given, not after it.
    """

    def __init__(self, composition: Any, inlets: list[Inlet], program: Program) -> None:
        self._mechanism = composition.controller
        _check(composition, self._mechanism)
        self._function = self._mechanism.function
        self._signals = list(self._mechanism.control_signals)
        self._inlets = [[f"{inlet.node}.{inlet.port}" for inlet in inlets if inlet.signal is signal] for signal in self._signals]
        self._first_generator = copy.deepcopy(self._function.parameters.random_state.get(None))
        self._grid = [list(copy.deepcopy(samples)) for samples in self._function.search_space]
        self._seeds = _Seeds(self._mechanism, self._grid)
        self._outcomes = [projection.sender for projection in self._mechanism.input_port.path_afferents]
        self._features = [_Feature(self._mechanism, i) for i in range(self._mechanism.num_state_input_ports)]
        self._n_trials = int(self._mechanism.num_trials_per_estimate or 1)
        self._simulation = program.state()
        self._simulation._take_as_checked()
        self.before = composition.controller_mode == "before"
        self.reset()

    def reset(self) -> None:
        """Forgets all trials."""
        self.allocation = [float(np.ravel(signal.defaults.value)[0]) for signal in self._signals]
        self._generator = copy.deepcopy(self._first_generator)
        self._seeds.reset()
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
        samples = list(itertools.product(*self._seeds.in_grid()))
        outcomes = [self._simulated(state, {**inputs, **self._inputs_of(sample)}) for sample in samples]
        nets = [self._net_outcome(outcome, sample) for outcome, sample in zip(outcomes, samples)]
        samples, nets = self._seeds.over_estimates(samples, nets)
        self.allocation = [float(value) for value in samples[self._best(nets)]]

    def _best(self, nets: list[float]) -> int:
        """The first of the best ones; or one of those, at random, as PsyNeuLink draws it, going through them once."""
        signed = np.negative(nets) if self._function.direction == "minimize" else np.asarray(nets)
        if not self._function.select_randomly_from_optimal_values:
            return int(np.argmax(signed))
        best, n_equal = 0, 1
        for i in range(1, len(signed)):
            if np.allclose(signed[i], signed[best]):
                n_equal += 1
                best = i if self._generator.rand() < 1 / n_equal else best
            elif signed[i] > signed[best]:
                best, n_equal = i, 1
        return best

    def _simulated(self, state: State, inputs: dict[str, np.ndarray]) -> np.ndarray:
        """The outcome of some trials that begin where the state is."""
        self._simulation.restore(state)
        for _ in range(self._n_trials):
            self._simulation.set_inputs(inputs)
            self._simulation.evaluate()
        return sum(self._simulation.output(identifier(port.owner.name), port_id(port)) for port in self._outcomes)

    def _net_outcome(self, outcome: np.ndarray, sample: Any) -> float:
        costs = [_cost_of(signal, value) for signal, value in zip(self._signals, sample)] + [0.0]
        return float(np.ravel(self._mechanism.compute_net_outcome(outcome, float(self._mechanism.combine_costs(costs))))[0])


class _Seeds:
    """The seeds of the estimates of each allocation: the samples of a signal of their own, the last one.

    With other seeds for other allocations (`same_seed_for_all_allocations` False) PsyNeuLink counts on for each sample, but a grid keeps
    those that it began with: a decision has the seeds that the last sample of the one before has left.
    """

    def __init__(self, mechanism: Any, grid: list[list[Any]]) -> None:
        self._function, self._grid = mechanism.function, grid
        self._place = next((i for i, signal in enumerate(mechanism.control_signals) if is_randomization(signal)), None)
        self._counts_on = self._place is not None and not mechanism.parameters.same_seed_for_all_allocations.get(None)
        self._next = int(mechanism._seed_counter) if self._place is not None else 0
        is_apart = self._place is not None and mechanism.parameters.noise_stream_policy.get(None) == "independent"
        self._n_streams = len(mechanism.random_variables) if is_apart else 0
        self.reset()

    def reset(self) -> None:
        self._n_decisions = 0

    def in_grid(self) -> list[list[Any]]:
        """The grid of a decision, with its seeds."""
        grid = list(self._grid)
        if self._place is not None and self._counts_on and self._n_decisions > 0:
            n, n_samples = len(grid[self._place]), int(np.prod([len(values) for values in grid]))
            first = self._next + n * (self._n_decisions * n_samples - 1)
            grid[self._place] = [self._seed(number) for number in range(first, first + n)]
        self._n_decisions += 1
        return grid

    def _seed(self, number: int) -> int:
        """As OptimizationControlMechanism.gen_new_seed_sequence has it: a block for each estimate, with a seed for each stream."""
        return number % (_MOST_SEEDS // self._n_streams) * self._n_streams if self._n_streams else number

    def over_estimates(self, samples: list[Any], nets: list[float]) -> tuple[list[Any], list[float]]:
        """Of each allocation the first estimate's sample, and what all estimates give."""
        combine = self._function.aggregation_function
        if not self._place or combine is None:  # the number of a dimension, as PsyNeuLink asks for it
            return samples, nets
        n = len(self._grid[self._place])
        return samples[::n], list(np.ravel(combine(np.reshape(nets, (-1, n, 1)))))


class _Feature:
    """A value that the controller sees, as an input of what it tries."""

    def __init__(self, mechanism: Any, number: int) -> None:
        from psyneulink.core.components.functions.nonstateful.transformfunctions import TransformFunction

        self._port = mechanism.state_input_ports[number]
        self.receiver = mechanism._specified_INPUT_Node_InputPorts_in_order[number]
        self._number = _number_in(self._port)
        if (not self._port.path_afferents and self._number is None) or isinstance(self.receiver, str):
            raise unsupported(mechanism, f"its state feature '{self._port.name}' comes from no place in the composition")
        self._is_plain = isinstance(self._port.function, TransformFunction)
        self.reset()

    def reset(self) -> None:
        self._function = None if self._is_plain else copy.deepcopy(self._port.function)

    def value(self, state: State, given: Callable[[Any], np.ndarray]) -> np.ndarray:
        value = self._number if self._number is not None else sum(self._arrived(projection, state, given) for projection in self._port.path_afferents)
        return np.ravel(value if self._function is None else self._function(np.atleast_2d(value)))

    @staticmethod
    def _arrived(projection: Any, state: State, given: Callable[[Any], np.ndarray]) -> np.ndarray:
        sender = projection.sender
        if is_interface(sender.owner):
            value = given(sender)
        else:
            sender = source(sender)
            value = state.output(identifier(sender.owner.name), port_id(sender))
            value = sender.defaults.value if value is None else value
        matrix = np.asarray(projection.parameters.matrix.get(None), float)
        return np.ravel(value) if projection.function._is_identity(defaults=True) else np.ravel(value) @ matrix


def _number_in(port: Any) -> np.ndarray | None:
    """The number that a state feature is, by which a port that nothing leads to stands for it; None: it is none."""
    is_number = not port.path_afferents and port.parameters.default_input.get(None) is not None
    return np.asarray(port.defaults.variable, float) if is_number else None


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
        "its simulations change what trials begin from": not mechanism.defaults.search_statefulness,
        "its reconfiguration has a cost": callable(mechanism.compute_reconfiguration_cost),
        "it has several outcomes": mechanism.num_outcome_input_ports != 1,
    }
    for reason in (reason for reason, holds in reasons.items() if holds):
        raise unsupported(mechanism, f"{reason}: that is not covered, run it with PsyNeuLink")


def _cost_of(signal: Any, intensity: float) -> float:
    from psyneulink.core.components.functions.nonstateful.transferfunctions import CostFunctions

    options = signal.defaults.cost_options
    if options is None or options == CostFunctions.NONE:
        return 0.0
    if options & ~CostFunctions.INTENSITY:
        raise unsupported(signal, "its cost depends on trials before: cost_options=CostFunctions.INTENSITY can be told")
    return max(0.0, float(np.ravel(signal.intensity_cost_function(intensity))[0]))
