"""The live door: compositions of PsyNeuLink, run by this engine.

>>> program = mdf_c.psyneulink.compile(composition)  # doctest: +SKIP
>>> program.run({mechanism: [[1.0], [2.0]]}, num_trials=100)  # doctest: +SKIP
>>> program.learn({"inputs": {mechanism: [[1.0], [2.0]]}, "targets": {last: [[0.0], [1.0]]}, "epochs": 50})  # doctest: +SKIP

PsyNeuLink itself is imported by whoever made the composition. See docs/psyneulink.md.
"""

from __future__ import annotations

import copy
import itertools
import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Dict, List, Union

import numpy as np

from . import _psyneulink_arranging as _arranging
from . import _psyneulink_autodiff as _autodiff
from . import _psyneulink_document as _document
from . import _psyneulink_learning as _learning
from . import _psyneulink_names as _names
from . import _psyneulink_training as _training
from . import engine
from ._psyneulink_control import Controller
from ._psyneulink_estimation import Estimation
from .errors import MdfUnsupportedError
from .running import record_series, record_steps


def export(composition: Any, path: str | os.PathLike | None = None, *, learning: bool = False) -> dict[str, Any]:
    """The complete MDF model of a composition, with what PsyNeuLink's own exporter leaves out.

    Parameters
    ----------
    composition : psyneulink.Composition
    path : optional
        A file to write it to, by its suffix JSON, YAML or BSON.
    learning : bool
        With what learns, too: targets are inputs, and the model learns while its input `LEARNING` is 1, as it is by default.

    Returns
    -------
    dict

    Raises
    ------
    MdfUnsupportedError
        A component can not be told in MDF; the message names it.
    """
    _document.prepare(composition)
    model, _ = _document.document(composition)
    if learning:
        _learning.add_learning(model, composition)
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
            raise _names.unsupported(composition, "it fits a hierarchy of participants: that is not covered, run it with PsyNeuLink")
        return Estimation(composition, Program(model, **settings), **settings)
    return Program(composition, **settings)


class Program:
    """A composition that this engine runs, from the state that it has before its first run, with what it has learned.

    Attributes
    ----------
    composition : psyneulink.Composition
    model : dict
        The MDF model; see :func:`export`. Of a composition that learns it does, too.
    outlets : list of (str, str)
        Nodes and output ports of the model whose values are the results.
    state : State
        As the last trial left it.
    learning_results : numpy.ndarray
        Results of the last epoch of the last call of `learn`, as Composition.learning_results has them.
    """

    def __init__(self, composition: Any, **settings: Any) -> None:
        self.composition, self._settings = composition, settings
        self._arrange(_arranging.Arrangement())

    def _arrange(self, arrangement: _arranging.Arrangement) -> None:
        """Compiles the composition, with what is different in this program."""
        composition, self._arrangement = self.composition, arrangement
        _document.prepare(composition)  # which gives it another scheduler
        with arrangement.applied(composition):
            self.model, inlets = _document.document(composition)
            arrangement.complete(self.model, composition)
            self._learning = self._learning_or_why_not()
            self._most_trials, self._counts_in_run = _most_trials(composition), _document.counts_in_run(composition)
        self._program = engine.compile(_document.without_end(self.model), **self._settings)
        self._controller: Controller | None = None
        if composition.controller is not None and composition.enable_controller:
            self._controller = Controller(composition, inlets, self._program)
        self._inlets = list(_inlets(composition))
        self._targets = list(_targets(composition)) if isinstance(self._learning, _learning.Learning) else []
        self._ports_of = {port: inlet.names for inlet in self._inlets for port in _names.reached(inlet.port)}
        outlets = list(_outlets(composition))
        self.outlets, self._shapes = [place for place, _ in outlets], [shape for _, shape in outlets]
        self.reset()

    def _learning_or_why_not(self) -> _learning.Learning | _autodiff.Autodiff | MdfUnsupportedError:
        model = copy.deepcopy(self.model)
        learning: _learning.Learning | _autodiff.Autodiff
        try:
            if _learning.is_autodiff(self.composition):
                learning = _autodiff.Autodiff(model, self.composition, self._settings)
            else:
                learning = _learning.add_learning(model, self.composition)
        except MdfUnsupportedError as error:  # what can not be learned here can be run
            return error
        self.model = model
        return learning

    def reset(self) -> None:
        """Forgets all trials, and what was learned."""
        self.state = self._program.state()
        self.state._take_as_checked()
        self._blocks: list[list[np.ndarray]] = []
        self.learning_results = _as_results([])
        if self._controller is not None:
            self._controller.reset()
        if isinstance(self._learning, _autodiff.Autodiff):
            self._learning.reset()

    def run(self, inputs: Any = None, num_trials: int | None = None, **arrangement: Any) -> np.ndarray:
        """Runs trials, which go on from those before, as Composition.run does.

        Parameters
        ----------
        inputs
            What Composition.run takes: a dict of values by mechanism or its name, a list where there is one input mechanism, a
            function of the number of the trial, a generator.
        num_trials : int, optional
            By default as many as there are inputs; where there are fewer of these, they are gone through again.
        termination_processing, scheduler, scheduling_mode, initialize_cycle_values, reset_stateful_functions_when : optional
            As in Composition.run. The composition is compiled again for them: they can be given to the first run, and then to each
            that goes on from it.

        Returns
        -------
        numpy.ndarray
            Results of the last trial: values of the output ports, one a row.

        Raises
        ------
        MdfError
            The evaluation failed.
        MdfUnsupportedError
            Trials that have run were arranged in another way; another argument of Composition.run.
        psyneulink's CompositionError, RunError
            The inputs are none for this composition.
        """
        self._arrange_anew(_arranging.arrangement(self.composition, arrangement))
        given, n_given = self._given(inputs, num_trials)
        n_trials = n_given if num_trials is None else num_trials
        if self._most_trials is not None:
            n_trials = min(n_trials, self._most_trials)
        if n_trials < 1:
            raise ValueError(f"num_trials must be at least 1, not {n_trials}")
        if self._controller is not None:
            self._run_controlled(self._controller, given, n_given, n_trials)
        else:
            self._blocks.append(self._record(given, n_given, n_trials))
        return self._results_of(self._blocks[-1], len(self._blocks[-1][0]) - 1)

    def _arrange_anew(self, arrangement: _arranging.Arrangement) -> None:
        if self._blocks and self._counts_in_run is not None:
            what = f"{self._counts_in_run} looks at what was in the run, and a program has one: run all trials at once, or reset()"
            raise _names.unsupported(self.composition, what)
        if self._blocks and arrangement.goes_on_from(self._arrangement) or arrangement == self._arrangement:
            return
        if self._blocks:
            raise _names.unsupported(self.composition, "trials that have run were arranged in another way: give all runs the same, or reset()")
        self._arrange(arrangement)

    def learn(
        self,
        inputs: Any,
        targets: Any = None,
        num_trials: int | None = None,
        epochs: Any = 1,
        learning_rate: float | None = None,
        minibatch_size: Any = None,
        optimizations_per_minibatch: int | None = None,
        patience: int | None = None,
        min_delta: float = 0,
        randomize_minibatches: bool = False,
    ) -> np.ndarray:
        """Runs trials in which the composition learns, as Composition.learn does with all these arguments in its Python mode; `run`
        goes on with what was learned.

        Parameters
        ----------
        inputs
            What Composition.learn takes: a dict of "inputs", "targets" and "epochs", each of the first two by mechanism; a dict by
            mechanism; a function of the trial; a generator of dicts.
        targets : dict, optional
            By output mechanism or its target.
        minibatch_size
            As in PsyNeuLink's Python mode, of each minibatch the first trial is executed.
        patience, min_delta
            Have no effect, as there.

        Returns
        -------
        numpy.ndarray
            Results of the last trial.

        Raises
        ------
        MdfUnsupportedError
            The composition does not learn, or in a way that is not covered; the message names it.
        psyneulink's CompositionError, RunError
            The inputs are none for this composition.
        """
        plan = _training.schedule(
            self.composition, num_trials, epochs, minibatch_size, optimizations_per_minibatch, randomize_minibatches
        )
        if isinstance(self._learning, _autodiff.Autodiff):
            self._learning.learn(self._run_minibatch, inputs, targets, learning_rate, plan)
        else:
            for rows, n_trials in self._learning_rows(inputs, targets, learning_rate, plan):
                self._run_rows(rows, n_trials)
        n_results = (plan.num_trials or 0) // plan.minibatch_size
        self.learning_results = self._last_results(n_results)
        return self._last_results(1)[-1]

    def _run_rows(self, rows: dict[str, np.ndarray], n_trials: int) -> None:
        if n_trials < 1:
            raise ValueError("epochs and num_trials must be at least 1")
        self._blocks.append(record_series(self.state, rows, n_trials, self.outlets))

    def _run_minibatch(self, nodes: Mapping[Any, Any], numbers: list[int]) -> dict[str, np.ndarray]:
        """Runs trials with the matrices as they are; returns what else the model was given, a row for each."""
        rows = self._rows(nodes, numbers)
        self._run_rows({**rows, **self._held(learns=True)}, len(numbers))
        return rows

    def _learning_rows(self, inputs: Any, targets: Any, learning_rate: float | None, plan: _training.Schedule) -> Iterator[tuple[dict, int]]:
        """Inputs of the model, a row for each trial or one for all, and how many trials they are."""
        if isinstance(self._learning_or_error(), _autodiff.Autodiff):
            raise _names.unsupported(self.composition, "it learns by a gradient, which is no part of the model: call learn")
        held = self._held(bool(self.composition.enable_learning), learning_rate)
        for nodes, order in _training.batches(self.composition, inputs, targets, plan):
            yield {**self._rows(nodes, order), **held}, len(order)

    def _learning_or_error(self) -> _learning.Learning | _autodiff.Autodiff:
        if isinstance(self._learning, MdfUnsupportedError):
            raise self._learning
        return self._learning

    def _rows(self, nodes: Mapping[Any, Any], order: list[int]) -> dict[str, np.ndarray]:
        """Inputs of the model, a row for each trial."""
        rows = {}
        for inlet in [*self._inlets, *self._targets]:
            trials = [np.atleast_1d(np.asarray(trial[inlet.number], float)) for trial in nodes[inlet.node]]
            rows.update({name: np.array(trials)[order] for name in inlet.names})
        return rows

    def _record(self, given: Given, n_given: int, num_trials: int) -> list[np.ndarray]:
        """Values of the outlets, trial by trial."""
        if n_given == 1 and isinstance(self._learning, MdfUnsupportedError):
            return record_steps(self.state, self._step(given, 0), num_trials, self.outlets)
        at_once = {port: rows for port, rows in given.items() if isinstance(rows, np.ndarray)}
        if len(at_once) == len(given):
            rows = {name: at_once[inlet.inside] for inlet in self._inlets if inlet.inside in at_once for name in inlet.names}
            return record_series(self.state, {**rows, **self._held(learns=False)}, num_trials, self.outlets)
        steps = [self._step(given, i % n_given) for i in range(num_trials)]
        return record_steps(self.state, steps, num_trials, self.outlets)

    def _run_controlled(self, controller: Controller, given: Given, n_given: int, num_trials: int) -> None:
        """Trial by trial, with a decision before or after each."""
        for trial in range(num_trials):
            number = trial % n_given
            if controller.before:
                self._decide(controller, given, number)
            steps = {**self._step(given, number), **controller.inputs()}
            self._blocks.append(record_steps(self.state, steps, 1, self.outlets))
            if not controller.before:
                self._decide(controller, given, number)

    def _decide(self, controller: Controller, given: Given, number: int) -> None:
        controller.decide(self.state, lambda port: given[port][number], self._ports_that_feed)

    def _ports_that_feed(self, port: Any) -> list[str]:
        if port not in self._ports_of:
            what = f"its state feature for '{port.owner.name}' is none of an input of '{self.composition.name}'"
            raise _names.unsupported(self.composition.controller, what)
        return self._ports_of[port]

    def _step(self, given: Given, number: int) -> dict[str, np.ndarray]:
        """Inputs of a trial, by names of the model's ports."""
        values = {name: given[inlet.inside][number] for inlet in self._inlets if inlet.inside in given for name in inlet.names}
        return {**values, **{name: row[0] for name, row in self._held(learns=False).items()}}

    def _held(self, learns: bool, learning_rate: float | None = None) -> dict[str, np.ndarray]:
        """Inputs that are the same in all trials, each in one row."""
        if isinstance(self._learning, MdfUnsupportedError):
            return {}
        return self._learning.held(learns, learning_rate)

    def _last_results(self, n: int) -> np.ndarray:
        """Results of so many trials, or of all that there are."""
        rows: list[np.ndarray] = []
        for block in reversed(self._blocks):
            n_trials = len(block[0]) if block else 0
            rows = [self._results_of(block, i) for i in range(max(0, n_trials + len(rows) - n), n_trials)] + rows
        return _as_results(rows)

    @property
    def results(self) -> np.ndarray:
        """Results of all trials since the last reset, as Composition.results has them."""
        return self._last_results(sum(len(block[0]) if block else 0 for block in self._blocks))

    @property
    def matrices(self) -> dict[str, np.ndarray]:
        """Matrices of learned projections, by the names of these, as the next trial will use them."""
        learning = self._learning_or_error()
        if isinstance(learning, _autodiff.Autodiff):
            return learning.matrices
        places = learning.matrices
        values = {name: self.state.output(*place) for name, place in places.items()}
        known = {projection.name: projection for projection in _learning.learned_projections(self.composition)}
        return {
            name: _names.matrix_of(known[name]) if value is None else value
            for name, value in values.items()
        }

    def model_inputs(self, inputs: Any = None, num_trials: int | None = None) -> list[dict[str, np.ndarray]]:
        """Inputs of Composition.run as those of the model, NODE.PORT by trial: what :func:`mdf_c.run` takes."""
        given, n_given = self._given(inputs, num_trials)
        return [self._step(given, i % n_given) for i in range(n_given if num_trials is None else num_trials)]

    def model_inputs_of_learning(self, inputs: Any, targets: Any = None, epochs: Any = 1, **settings: Any) -> list[dict[str, np.ndarray]]:
        """The same for the arguments of learn: a model that was exported with `learning` learns from them."""
        rate, randomize = settings.pop("learning_rate", None), settings.pop("randomize_minibatches", False)
        names = ("num_trials", "minibatch_size", "optimizations_per_minibatch")
        n_trials, size, optimizations = (settings.pop(name, None) for name in names)
        if settings:
            raise TypeError(f"learn has no argument {next(iter(settings))!r}")
        plan = _training.schedule(self.composition, n_trials, epochs, size, optimizations, randomize)
        blocks = self._learning_rows(inputs, targets, rate, plan)
        return [{name: array[i % len(array)] for name, array in rows.items()} for rows, n in blocks for i in range(n)]

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
        given: Given = {}
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
        node = _names.owner(port)
        if node in gone:
            continue
        names = []
        for projection in inside.efferents:
            receiver = _names.owner(projection.receiver)
            if receiver not in gone:
                id = _names.identifier(receiver.name)
                names += [f"{id}.{name}" for name in _names.receivers(projection.receiver, projection)]
        ports = node.external_input_ports
        yield _Inlet(port, inside, node, ports.index(port), names, port.defaults.value.shape if len(ports) == 1 else None)


def _targets(composition: Any) -> Iterator[_Inlet]:
    for port, inside, name in _learning.target_ports(composition):
        yield _Inlet(port, inside, port.owner, 0, [name], port.defaults.value.shape)


def _outlets(composition: Any) -> Iterator[tuple[tuple[str, str], tuple[int, ...]]]:
    """Ports of the model whose values are the results, and the shapes of these."""
    interface = composition.output_CIM
    for port in interface.output_ports:
        if interface._sender_is_probe(port) and not composition.include_probes_in_output:
            continue
        inner = next(pair[0] for pair in interface.port_map.values() if pair[1] is port).path_afferents[0].sender
        place = _names.identifier(_names.owner(inner).name), _names.port_id(_names.source(inner))
        yield place, _names.source(inner).defaults.value.shape


def _shaped(value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """A port's value in the shape that PsyNeuLink has it in; a model's may have axes of size 1 before."""
    array = np.atleast_1d(np.asarray(value))
    return array.reshape(shape) if array.size == math.prod(shape) else array


def _most_trials(composition: Any) -> int | None:
    """How many trials the termination of a run lets go; None: any number."""
    from psyneulink.core.scheduling.condition import AfterNTrials, Never
    from psyneulink.core.scheduling.time import TimeScale

    condition = composition.termination_processing.get(TimeScale.RUN)
    if condition is None or isinstance(condition, Never):
        return None
    if type(condition) is AfterNTrials:
        return condition.args[0] if condition.args else condition.kwargs["n"]
    raise _names.unsupported(composition, f"a run that ends by {condition}: give num_trials, or AfterNTrials")
