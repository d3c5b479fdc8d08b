"""An AutodiffComposition that learns as torch has it learn: its loss is derived by the matrices of its projections, and these are
changed by an optimizer.

In comes the model of the composition as it runs (_psyneulink_document.py); out goes the same with a node for each learned projection,
whose input is the matrix. A second model has the matrices as parameters, and the loss as a node: of that the gradient is compiled,
when it is first asked for.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Callable

import numpy as np

from . import _psyneulink_document as _document
from . import _psyneulink_learning as _learning
from . import _psyneulink_training as _training
from . import gradients
from ._psyneulink_names import Part, identifier, is_composition, is_interface, matrix_of, port_id, source, unsupported


@dataclass(frozen=True)
class Loss:
    """Of one trial, by `{s}`, a sample, and `{t}`, its target; that of a minibatch is the mean or the sum of those."""

    value: str
    is_mean: bool


# What torch makes of PsyNeuLink's names (LossFunction._gen_pytorch_fct). Of the others PsyNeuLink 0.21 can make a LossMechanism of
# CROSS_ENTROPY and POISSON_NLL only.
_LOSSES = {
    "MSE": Loss("numpy.mean(({s} - {t}) * ({s} - {t}))", True),
    "SSE": Loss("numpy.sum(({s} - {t}) * ({s} - {t}))", False),
    "L1": Loss("numpy.sum(numpy.abs({s} - {t}))", False),
}
# Functions that torch computes as PsyNeuLink does.
_FUNCTIONS = ("Linear", "Identity", "Logistic", "Tanh", "Exponential", "ReLU", "SoftMax", "LinearCombination", "MatrixTransform", "Concatenate", "Normalize")


@dataclass
class Moments:
    """What torch.optim.Adam keeps of a parameter."""

    first: np.ndarray
    second: np.ndarray
    n_steps: int = 0

    def direction(self, slope: np.ndarray) -> np.ndarray:
        self.n_steps += 1
        self.first = 0.9 * self.first + 0.1 * slope
        self.second = 0.999 * self.second + 0.001 * slope * slope
        spread = np.sqrt(self.second) / np.sqrt(1 - 0.999**self.n_steps) + 1e-8
        return self.first / (1 - 0.9**self.n_steps) / spread


@dataclass
class Learned:
    """A projection, its matrix, and the model's node for it."""

    projection: Any
    node: str
    matrix: np.ndarray
    moments: Moments = field(init=False)

    def __post_init__(self) -> None:
        self.moments = Moments(np.zeros_like(self.matrix), np.zeros_like(self.matrix))


class Autodiff:
    """How an AutodiffComposition learns.

    Attributes
    ----------
    matrices : dict of str to numpy.ndarray
        By the names of learned projections: as the next trial uses them.
    """

    def __init__(self, model: Part, composition: Any, settings: Mapping[str, Any]) -> None:
        pathways = _pathways(composition)
        self._composition, self._settings = composition, settings
        self._projections = list(dict.fromkeys(part for pathway in pathways for part in pathway[1::2]))
        self._samples = list(dict.fromkeys(pathway[-1] for pathway in pathways))
        self._loss = _loss(composition)
        _check(composition, model, self._projections, self._samples)
        self._derived = copy.deepcopy(model)
        self._gradient: gradients.Gradient | None = None  # made when it is first asked for
        self._nodes = {p: _learning.unused(_document.graph_of(model), identifier(p.name)) for p in self._projections}
        for projection, node in self._nodes.items():
            matrix = matrix_of(projection)
            port = {"shape": list(matrix.shape), "type": "float64", "default_value": matrix.tolist()}
            _add_matrix(model, projection, node, {"input_ports": {"matrix": port}})
            _add_matrix(self._derived, projection, node, {"parameters": {"matrix": {"value": matrix.tolist()}}})
        self._loss_node = _add_loss(self._derived, self._samples, self._loss)
        self.reset()

    def reset(self) -> None:
        """Forgets what was learned."""
        self._learned = [Learned(projection, node, matrix_of(projection)) for projection, node in self._nodes.items()]

    @property
    def matrices(self) -> dict[str, np.ndarray]:
        return {learned.projection.name: learned.matrix.copy() for learned in self._learned}

    def held(self, learns: bool, learning_rate: float | None = None) -> dict[str, np.ndarray]:
        """Inputs of the model that are the same in all trials, each in one row."""
        return {f"{learned.node}.matrix": learned.matrix[np.newaxis] for learned in self._learned}

    def learn(
        self,
        run: Callable[[Mapping[Any, Any], list[int]], dict[str, np.ndarray]],
        inputs: Any,
        targets: Any,
        learning_rate: Any,
        plan: _training.Schedule,
    ) -> None:
        """Runs trials, minibatch by minibatch, and learns behind each.

        Parameters
        ----------
        run
            Runs the trials of these numbers, of what nodes get, and returns inputs of the model, a row for each.
        """
        if not self._composition.enable_learning:
            raise unsupported(self._composition, "its enable_learning is False: set it to True, or call run")
        rates = self._rates(learning_rate)
        for nodes, wanted, numbers in self._minibatches(inputs, targets, plan):
            rows = run(nodes, numbers)
            rows.update({name: array.take(numbers, axis=0, mode="wrap") for name, array in wanted.items()})
            self._change(rows, len(numbers), rates)

    def _rates(self, learning_rate: Any) -> dict[Any, float]:
        """Learning rates of projections that learn, by PsyNeuLink's own rules."""
        from psyneulink.core.globals.context import Context

        context = Context(execution_id=None)
        with _at_run_time(self._composition, learning_rate):
            found = {p: self._composition._get_optimizer_param_value("learning_rate", context, p) for p in self._projections}
        return {projection: float(np.asarray(rate).item()) for projection, rate in found.items() if rate is not False}

    def _change(self, rows: Mapping[str, np.ndarray], n_trials: int, rates: Mapping[Any, float]) -> None:
        """A step of the optimizer."""
        slopes = self._slopes(rows, n_trials)
        for learned in self._learned:
            if learned.projection in rates:
                slope = slopes[f"{learned.node}.matrix"] + self._composition.weight_decay * learned.matrix
                direction = learned.moments.direction(slope) if self._composition.optimizer_type == "adam" else slope
                learned.matrix = learned.matrix - rates[learned.projection] * direction

    def _slopes(self, rows: Mapping[str, np.ndarray], n_trials: int) -> dict[str, np.ndarray]:
        """Derivatives of a minibatch's loss by the matrices."""
        names = [f"{learned.node}.matrix" for learned in self._learned]
        if self._gradient is None:
            self._gradient = gradients.gradient(self._derived, f"{self._loss_node}.loss", names, **self._settings)
        parameters = {name: learned.matrix for name, learned in zip(names, self._learned)}
        totals = {name: np.zeros_like(matrix) for name, matrix in parameters.items()}
        for i in range(n_trials):
            _, slopes = self._gradient(parameters, {name: array[i % len(array)] for name, array in rows.items()})
            for name in names:
                totals[name] += slopes[name]
        return {name: total / n_trials if self._loss.is_mean else total for name, total in totals.items()}

    # Which trials

    def _minibatches(self, inputs: Any, targets: Any, plan: _training.Schedule) -> Iterator[tuple[dict, dict[str, np.ndarray], list[int]]]:
        """What nodes get, trial by trial, the loss's targets, and the numbers of a minibatch's trials. When it is over `plan` has the
        number of trials and the size of a minibatch."""
        if isinstance(plan.minibatch_size, int) and plan.minibatch_size > 1 and plan.optimizations_per_minibatch > 1:
            raise ValueError("minibatch_size and optimizations_per_minibatch can not both be greater than 1")
        for given, target, n_epochs in _training.sets(inputs, targets, plan):
            if callable(given):
                raise unsupported(self._composition, "its inputs are a function of the trial: give it rows, or a generator of dicts")
            nodes, wanted, n_given = self._parsed(given, target)
            plan.settle(n_given)
            for numbers in plan.minibatches(n_epochs):
                yield nodes, wanted, [i % n_given for i in numbers]

    def _parsed(self, given: Mapping[Any, Any], target: Mapping[Any, Any] | None) -> tuple[dict, dict[str, np.ndarray], int]:
        inputs = dict(given.get("inputs", {key: value for key, value in given.items() if key not in ("targets", "epochs")}))
        wanted = {**given.get("targets", {}), **(target or {})}
        wanted.update({key: inputs.pop(key) for key in list(inputs) if self._sample(key) is not None})
        nodes, n_given = self._composition._parse_run_inputs(inputs)
        found = {self._sample(key): value for key, value in wanted.items()}
        if found.keys() != set(self._samples):
            names = ", ".join(f"'{sample.name}'" for sample in self._samples)
            raise ValueError(f"targets are needed of {names}, by these mechanisms or their names, and of no others")
        rows = [np.asarray(found[sample], float) for sample in self._samples]
        return nodes, {f"{self._loss_node}.t{number}": array.reshape(len(array), -1) for number, array in enumerate(rows)}, n_given

    def _sample(self, key: Any) -> Any:
        """The output mechanism that a target is given for: itself, its name, its output port, or what PsyNeuLink has added for it."""
        key = getattr(key, "owner", key)
        for sample in self._samples:
            if key in (sample, sample.name) or getattr(key, "name", key) == f"TARGET for {sample.name}":
                return sample
        return None


@contextmanager
def _at_run_time(composition: Any, learning_rate: Any) -> Iterator[None]:
    from psyneulink.core.compositions.composition import OptimizerParams

    before = composition.runtime_optimizer_params
    composition.runtime_optimizer_params = {**before, None: OptimizerParams(learning_rate=learning_rate)}
    try:
        yield
    finally:
        composition.runtime_optimizer_params = before


def _pathways(composition: Any) -> list[list[Any]]:
    from psyneulink.core.compositions.composition import CompositionError
    from psyneulink.core.globals.context import Context

    if type(composition).__name__ != "AutodiffComposition":
        raise unsupported(composition, f"learning of a {type(composition).__name__} is not covered: that of an AutodiffComposition is")
    if any(is_composition(node) for node in composition.nodes):
        raise unsupported(composition, "it learns with compositions in it: that is not covered, write their mechanisms into it")
    try:
        pathways = composition._get_pytorch_backprop_pathways(Context(execution_id=None))
    except (CompositionError, AssertionError) as error:
        raise unsupported(composition, f"PsyNeuLink finds no pathways in it that can be learned: {error}") from error
    pathways = [pathway for pathway in pathways if len(pathway) > 1]
    if not pathways:
        raise unsupported(composition, "it has no pathway that can be learned")
    return pathways


def _loss(composition: Any) -> Loss:
    name = getattr(composition.loss_spec, "name", str(composition.loss_spec))
    if name not in _LOSSES:
        raise unsupported(composition, f"its loss is {name}: take one of {', '.join(_LOSSES)}, or learn with PsyNeuLink")
    return _LOSSES[name]


def _check(composition: Any, model: Part, projections: list[Any], samples: list[Any]) -> None:
    graph, gone = _document.graph_of(model), _document.left_out(composition)
    if composition.targets:
        raise unsupported(composition, "its targets are given to its constructor: give them to learn")
    if composition.controller is not None or any(node not in gone for node in _learning.own_conditions(composition)):
        raise unsupported(composition, "it has conditions or a controller: learning is not covered with that, learn with PsyNeuLink")
    if composition.optimizer_type not in ("sgd", "adam"):
        raise unsupported(composition, f"its optimizer is {composition.optimizer_type}: take sgd or adam")
    for node in (node for node in composition.nodes if identifier(node.name) in graph["nodes"]):
        part = graph["nodes"][identifier(node.name)]
        kind = type(node.function).__name__
        if kind not in _FUNCTIONS:
            raise unsupported(node, f"learning through {kind} is not covered: take one of {', '.join(_FUNCTIONS)}, or learn with PsyNeuLink")
        if any("default_initial_value" in parameter for parameter in part.get("parameters", {}).values()):
            raise unsupported(node, "it keeps something from trial to trial: learning with that is not covered, learn with PsyNeuLink")
    for sample in samples:
        if len(sample.output_ports) != 1:
            raise unsupported(sample, "it has several output ports, each with a target of its own: one is covered")
    for projection in projections:
        if is_interface(projection.sender.owner) or is_interface(projection.receiver.owner):
            raise unsupported(projection, "it leads into or out of a composition: that is not covered")


def _add_matrix(model: Part, projection: Any, node: str, holder: Part) -> None:
    """A node that has the matrix; the projection's receiver multiplies by it."""
    graph = _document.graph_of(model)
    graph["nodes"][node] = {**holder, "output_ports": {"learned": {"value": "matrix"}}}
    _learning.multiply_in_receiver(graph, projection, node, matrix_of(projection).shape, feedback=False)


def _add_loss(model: Part, samples: list[Any], loss: Loss) -> str:
    """A node that yields the sum of the losses of all samples; its name."""
    graph = _document.graph_of(model)
    node = _learning.unused(graph, "LOSS")
    part: Part = {"input_ports": {}, "functions": {}, "output_ports": {}}
    for number, sample in enumerate(samples):
        size, port = np.size(sample.output_port.defaults.value), source(sample.output_port)
        for name in (f"s{number}", f"t{number}"):
            part["input_ports"][name] = {"shape": [size], "type": "float64"}
        graph["edges"][f"{node}_of_{number}"] = _learning.edge(identifier(sample.name), port_id(port), node, f"s{number}")
        part["functions"][f"loss_{number}"] = {"value": loss.value.format(s=f"s{number}", t=f"t{number}")}
    part["output_ports"]["loss"] = {"value": " + ".join(part["functions"])}
    graph["nodes"][node] = part
    return node
