"""The live door: compositions of PsyNeuLink, run by this engine.

>>> program = mdf_c.psyneulink.compile(composition)  # doctest: +SKIP
>>> program.run({mechanism: [[1.0], [2.0]]}, num_trials=100)  # doctest: +SKIP

PsyNeuLink itself is imported by whoever made the composition. See docs/psyneulink.md.
"""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Dict, List, Union

import numpy as np

from . import _psyneulink_document as _document
from . import engine
from ._psyneulink_control import Controller
from ._psyneulink_estimation import Estimation
from .running import record_series, record_steps


def export(composition: Any, path: str | os.PathLike | None = None) -> dict[str, Any]:
    """The complete MDF model of a composition, with what PsyNeuLink's own exporter leaves out.

    Parameters
    ----------
    composition : psyneulink.Composition
    path : optional
        A file to write it to, by its suffix JSON, YAML or BSON.

    Returns
    -------
    dict

    Raises
    ------
    MdfUnsupportedError
        A component can not be told in MDF; the message names it.
    """
    model, _ = _document.document(composition)
    if path is not None:
        if str(path).endswith(".json"):
            with open(path, "w", encoding="utf-8") as file:
                json.dump(model, file, indent=1)
        else:
            engine.Model(model).save(path)
    return model


def compile(composition: Any, **settings: Any) -> Program | Estimation:
    """A composition as a program of this engine; a ParameterEstimationComposition as an :class:`Estimation`.

    Parameters
    ----------
    composition : psyneulink.Composition
        As it is now: what is added to it later is not seen.
    **settings
        Those of :class:`mdf_c.Settings`.

    Raises
    ------
    MdfUnsupportedError
        A component can not be told in MDF; the message names it.
    """
    model = getattr(composition, "model", None)
    if type(composition).__name__ == "ParameterEstimationComposition":
        if model is None:
            raise _document.unsupported(composition, "it fits a hierarchy of participants: that is not covered, run it with PsyNeuLink")
        return Estimation(composition, Program(model, **settings), **settings)
    return Program(composition, **settings)


class Program:
    """A composition that this engine runs, from the state that it has before its first run.

    Attributes
    ----------
    composition : psyneulink.Composition
    model : dict
        The MDF model; see :func:`export`.
    outlets : list of (str, str)
        Nodes and output ports of the model whose values are the results.
    state : State
        As the last trial left it.
    """

    def __init__(self, composition: Any, **settings: Any) -> None:
        self.composition = composition
        self.model, inlets = _document.document(composition)
        self._program = engine.compile(_document.without_end(self.model), **settings)
        self._controller = None
        if composition.controller is not None and composition.enable_controller:
            self._controller = Controller(composition, inlets, self.model, settings)
        self._inlets = list(_inlets(composition))
        self._ports_of = {inlet.port: inlet.names for inlet in self._inlets}
        outlets = list(_outlets(composition))
        self.outlets, self._shapes = [place for place, _ in outlets], [shape for _, shape in outlets]
        self._most_trials = _most_trials(composition)
        self.reset()

    def reset(self) -> None:
        """Forgets all trials."""
        self.state = self._program.state()
        self.state._take_as_checked()
        self._blocks: list[list[np.ndarray]] = []
        if self._controller is not None:
            self._controller.reset()

    def run(self, inputs: Any = None, num_trials: int | None = None) -> np.ndarray:
        """Runs trials, which go on from those before, as Composition.run does.

        Parameters
        ----------
        inputs
            What Composition.run takes: a dict of values by mechanism or its name, a list where there is one input mechanism, a
            function of the number of the trial, a generator.
        num_trials : int, optional
            By default as many as there are inputs; where there are fewer of these, they are gone through again.

        Returns
        -------
        numpy.ndarray
            Results of the last trial: values of the output ports, one a row.

        Raises
        ------
        MdfError
            The evaluation failed.
        psyneulink's CompositionError, RunError
            The inputs are none for this composition.
        """
        given, n_given = self._given(inputs, num_trials)
        num_trials = n_given if num_trials is None else num_trials
        num_trials = min(num_trials, self._most_trials)
        if num_trials < 1:
            raise ValueError(f"num_trials must be at least 1, not {num_trials}")
        if self._controller is not None:
            self._run_controlled(given, n_given, num_trials)
        else:
            self._blocks.append(self._record(given, n_given, num_trials))
        return self._results_of(self._blocks[-1], len(self._blocks[-1][0]) - 1)

    def _record(self, given: Given, n_given: int, num_trials: int) -> list[np.ndarray]:
        """Values of the outlets, trial by trial."""
        if n_given == 1:
            return record_steps(self.state, self._step(given, 0), num_trials, self.outlets)
        if all(isinstance(rows, np.ndarray) for rows in given.values()):
            rows = {name: given[inlet.inside] for inlet in self._inlets if inlet.inside in given for name in inlet.names}
            return record_series(self.state, rows, num_trials, self.outlets)
        steps = [self._step(given, i % n_given) for i in range(num_trials)]
        return record_steps(self.state, steps, num_trials, self.outlets)

    def _run_controlled(self, given: Given, n_given: int, num_trials: int) -> None:
        """Trial by trial, with a decision before or after each."""
        controller = self._controller
        for trial in range(num_trials):
            number = trial % n_given
            if controller.before:
                self._decide(given, number)
            steps = {**self._step(given, number), **controller.inputs()}
            self._blocks.append(record_steps(self.state, steps, 1, self.outlets))
            if not controller.before:
                self._decide(given, number)

    def _decide(self, given: Given, number: int) -> None:
        self._controller.decide(self.state, lambda port: given[port][number], lambda port: self._ports_of[port])

    def _step(self, given: Given, number: int) -> dict[str, np.ndarray]:
        """Inputs of a trial, by names of the model's ports."""
        return {name: given[inlet.inside][number] for inlet in self._inlets if inlet.inside in given for name in inlet.names}

    @property
    def results(self) -> np.ndarray:
        """Results of all trials since the last reset, as Composition.results has them."""
        rows = [self._results_of(block, i) for block in self._blocks for i in range(len(block[0]) if block else 0)]
        return _as_results(rows)

    def model_inputs(self, inputs: Any = None, num_trials: int | None = None) -> list[dict[str, np.ndarray]]:
        """Inputs of Composition.run as those of the model, NODE.PORT by trial: what :func:`mdf_c.run` takes."""
        given, n_given = self._given(inputs, num_trials)
        return [self._step(given, i % n_given) for i in range(n_given if num_trials is None else num_trials)]

    def values(self) -> dict[str, dict[str, Any]]:
        """Values of all output ports after the last trial, by node and port."""
        return self.state.outputs()

    def _results_of(self, block: list[np.ndarray], trial: int) -> np.ndarray:
        return _as_results([_shaped(array[trial], shape) for array, shape in zip(block, self._shapes)])

    def _given(self, inputs: Any, num_trials: int | None) -> tuple[Given, int]:
        """What ports of the input interface are given, trial by trial, and in how many trials."""
        given = self._arrays(inputs)
        if given is not None:
            return given, max(map(len, given.values()))
        parsed, n_given = self._parsed(inputs, num_trials)
        given = {
            inlet.inside: [np.atleast_1d(np.asarray(trial[inlet.number], float)) for trial in parsed[inlet.node]]
            for inlet in self._inlets
            if inlet.node in parsed
        }
        return given, n_given

    def _arrays(self, inputs: Any) -> Given | None:
        """The same, at once, where all input mechanisms have one port and each is given rows of numbers, one a trial."""
        by_key = {key: inlet for inlet in self._inlets for key in (inlet.node, inlet.node.name)}
        if not isinstance(inputs, dict) or len(inputs) != len(self._inlets) or not inputs.keys() <= by_key.keys():
            return None
        given = {}
        for key, value in inputs.items():
            try:
                array = np.asarray(value, float)
            except (TypeError, ValueError):
                return None
            inlet = by_key[key]
            if array.ndim != 2 or len(array) == 0 or (array.shape[1],) != inlet.shape:
                return None
            given[inlet.inside] = array
        return given if len(given) == len(self._inlets) and len({len(array) for array in given.values()}) == 1 else None

    def _parsed(self, inputs: Any, num_trials: int | None) -> tuple[Mapping[Any, Any], int]:
        if not self._inlets and not inputs:
            return {}, 1
        parsed, n_given = self.composition._parse_run_inputs(dict(inputs) if isinstance(inputs, dict) else inputs)
        if isinstance(parsed, dict):
            return parsed, n_given
        return self._drawn(parsed, num_trials)

    def _drawn(self, source: Any, num_trials: int | None) -> tuple[Mapping[Any, Any], int]:
        """Inputs from a function or a generator, trial by trial."""
        count = itertools.count() if num_trials is None else range(num_trials)
        trials = []
        try:
            for number in count if not (callable(source) and num_trials is None) else range(1):
                trials.append(self.composition._parse_trial_inputs(source, number, None))
        except StopIteration:
            pass
        return {node: [trial[node] for trial in trials] for node in trials[0]}, len(trials)


def _as_results(values: list) -> np.ndarray:
    from psyneulink.core.globals.utilities import convert_to_np_array

    return convert_to_np_array(values)


@dataclass
class _Inlet:
    """A port of an input node.

    Attributes
    ----------
    port
        The input port; of a nested composition that of its interface.
    inside
        The port of the composition's own interface that passes the value on.
    node, number
        The node, and the port's number among those that take inputs.
    names : list of str
        Ports of the model that get its value.
    shape : tuple of int, or None
        That of the value, where the node has no other port.
    """

    port: Any
    inside: Any
    node: Any
    number: int
    names: list[str]
    shape: tuple[int, ...] | None


# What ports of the interface are given, trial by trial.
Given = Dict[Any, Union[np.ndarray, List[np.ndarray]]]


def _inlets(composition: Any) -> Iterator[_Inlet]:
    gone = _document.left_out(composition)
    for port, (_, inside) in composition.input_CIM.port_map.items():
        node = _document.owner(port)
        if node in gone:
            continue
        names = []
        for projection in inside.efferents:
            receiver = _document.owner(projection.receiver)
            if receiver not in gone:
                id = _document.identifier(receiver.name)
                names += [f"{id}.{name}" for name in _document.receivers(projection.receiver, projection)]
        ports = node.external_input_ports
        yield _Inlet(port, inside, node, ports.index(port), names, port.defaults.value.shape if len(ports) == 1 else None)


def _outlets(composition: Any) -> Iterator[tuple[tuple[str, str], tuple[int, ...]]]:
    """Ports of the model whose values are the results, and the shapes of these."""
    interface = composition.output_CIM
    for port in interface.output_ports:
        if interface._sender_is_probe(port) and not composition.include_probes_in_output:
            continue
        inner = next(pair[0] for pair in interface.port_map.values() if pair[1] is port).path_afferents[0].sender
        place = _document.identifier(_document.owner(inner).name), _document.port_id(_document.source(inner))
        yield place, _document.source(inner).defaults.value.shape


def _shaped(value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """A port's value in the shape that PsyNeuLink has it in; a model's may have axes of size 1 before."""
    array = np.atleast_1d(np.asarray(value))
    return array.reshape(shape) if array.size == math.prod(shape) else array


def _most_trials(composition: Any) -> float:
    """How many trials the termination of a run lets go."""
    from psyneulink.core.scheduling.condition import AfterNTrials, Never
    from psyneulink.core.scheduling.time import TimeScale

    condition = composition.termination_processing.get(TimeScale.RUN)
    if condition is None or isinstance(condition, Never):
        return math.inf
    if type(condition) is AfterNTrials:
        return condition.args[0] if condition.args else condition.kwargs["n"]
    raise _document.unsupported(composition, f"a run that ends by {condition}: give num_trials, or AfterNTrials")
