"""What learns in a composition of PsyNeuLink, as a part of the MDF model.

In comes the model of a composition as it runs (_psyneulink_document.py); out goes the same with targets, comparators and learning
mechanisms as nodes, and with a node for each learned projection, which keeps the matrix. That node runs after the trial's learning
mechanisms, and its matrix arrives at the projection's receiver in the next trial; with learning_update=ONLINE it runs before the
receiver, with the learning signal of the trial before. Nodes that learn run while the node LEARNING yields 1: by default in the file,
in a program during `learn`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _psyneulink_document as _document
from ._psyneulink_names import Part, identifier, is_composition, is_interface, matrix_of, modulating, plain, port_id, source, unsupported

_SUPERVISED = ("BackPropagation", "Reinforcement", "TDLearning")
_LOSSES = ("Loss.MSE", "Loss.SSE", "Loss.L0")
_LEARNING_RULES = _SUPERVISED + ("Hebbian", "ContrastiveHebbian")


@dataclass
class Learning:
    """Where a model learns.

    Attributes
    ----------
    switch : str
        The model's input port that says whether it does, 1 or 0.
    matrices : dict of str to (str, str)
        By the names of learned projections: the node and the output port that hold the matrix.
    rates : dict of str to float
        By input ports: learning rates that `learn` may replace, as no other was given to their mechanism alone.
    """

    switch: str
    matrices: dict[str, tuple[str, str]]
    rates: dict[str, float]

    def held(self, learns: bool, learning_rate: float | None = None) -> dict[str, np.ndarray]:
        """Inputs that are the same in all trials, each in one row: whether the model learns, and at which rate."""
        rows = {self.switch: np.array([[float(learns)]])}
        if learning_rate is not None:
            rows.update({name: np.full((1, *np.shape(rate)), float(learning_rate)) for name, rate in self.rates.items()})
        return rows


def has_learning(composition: Any) -> bool:
    """Whether there is anything that learns."""
    return is_autodiff(composition) or any(_is_learning_mechanism(node) for node in composition.nodes)


def add_learning(model: Part, composition: Any) -> Learning:
    """Adds to the model of a composition what learns.

    Raises
    ------
    MdfUnsupportedError
        A component learns in a way that is not covered; the message names it.
    """
    if not has_learning(composition):
        raise unsupported(composition, "it has no learning mechanisms: add a learning pathway, or enable_learning")
    _check(composition)
    graph, exported = _document.graph_of(model), _document.graph_of(_document.exported(composition))
    switch = _add_switch(graph)
    mechanisms = [node for node in composition.nodes if _is_learning_mechanism(node)]
    for node in _plain_nodes(composition):
        part = graph["nodes"][identifier(node.name)] = exported["nodes"][identifier(node.name)]
        _document.complete_mechanism(part, node)
    for mechanism in mechanisms:
        graph["nodes"][identifier(mechanism.name)] = _mechanism(mechanism)
    for node in [*_plain_nodes(composition), *mechanisms]:
        _connect_inputs(graph, node)
    places = {projection: _add_projection(graph, projection, mechanism, switch) for projection, mechanism in _learned(composition)}
    for mechanism in mechanisms:
        _connect_error_matrices(graph, mechanism, places)
    _schedule(graph, composition, switch, places)
    matrices = {projection.name: (place, "learned") for projection, place in places.items()}
    return Learning(f"{switch}.{switch}_input", matrices, {_rate_port(m): _rate(m) for m in mechanisms if _has_common_rate(m)})


def learned_projections(composition: Any) -> list[Any]:
    return [projection for projection, _ in _learned(composition)]


def target_ports(composition: Any) -> Iterator[Any]:
    """Input ports that take targets, and ports of the model that these are."""
    for port, (_, inside) in composition.input_CIM.port_map.items():
        if port.owner in _plain_nodes(composition):
            yield port, inside, f"{identifier(port.owner.name)}.{port_id(port)}"


def is_autodiff(composition: Any) -> bool:
    return any(kind.__name__ == "AutodiffComposition" for kind in type(composition).__mro__)


def _is_learning_mechanism(node: Any) -> bool:
    from psyneulink.core.components.mechanisms.modulatory.learning.learningmechanism import LearningMechanism

    return isinstance(node, LearningMechanism)


def _plain_nodes(composition: Any) -> list[Any]:
    """Targets and what compares with them: mechanisms like others."""
    gone = _document.left_out(composition)
    return [node for node in gone if node is not composition.controller and not _is_learning_mechanism(node)]


def _learned(composition: Any) -> Iterator[tuple[Any, Any]]:
    """Projections, each with the mechanism that it learns from."""
    for mechanism in composition.nodes:
        if _is_learning_mechanism(mechanism):
            for signal in mechanism.learning_signals:
                for projection in signal.efferents:
                    yield projection.receiver.owner, mechanism


# What is covered


def _check(composition: Any) -> None:
    if is_autodiff(composition):
        raise unsupported(
            composition,
            "it learns by a gradient of all of it, which is no part of the model: compile it, and call learn; or write a Composition with add_backpropagation_learning_pathway",
        )
    reasons = {
        "it has a controller": composition.controller is not None and composition.enable_controller,
        "it has conditions": bool(own_conditions(composition)) or not _ends_as_usual(composition),
        "it learns in a nested composition": any(has_learning(node) for node in composition.nodes if is_composition(node)),
    }
    for reason in (reason for reason, holds in reasons.items() if holds):
        raise unsupported(composition, f"{reason}: learning is not covered with that, learn with PsyNeuLink")
    for projection, mechanism in _learned(composition):
        _check_mechanism(mechanism)
        _check_projection(composition, projection)


def own_conditions(composition: Any) -> list[Any]:
    """Nodes with conditions that somebody gave them: in its first run the scheduler gives each one, to wait for its senders."""
    scheduler = composition.scheduler
    conditions = scheduler.conditions.conditions
    return [
        node
        for node in conditions
        if node in composition.nodes and not _waits_for(conditions[node], scheduler.dependency_dict.get(node, set()))
    ]


def _waits_for(condition: Any, senders: set[Any]) -> bool:
    kind = type(condition).__name__
    if kind == "EveryNCalls":
        return tuple(condition.args)[1:] == (1,) and condition.args[0] in senders
    return kind == "Always" and not senders or kind == "All" and all(_waits_for(part, senders) for part in condition.args)


def _ends_as_usual(composition: Any) -> bool:
    from psyneulink.core.scheduling.condition import AllHaveRun, Never
    from psyneulink.core.scheduling.time import TimeScale

    ends = composition.termination_processing
    trial = ends.get(TimeScale.TRIAL)
    return isinstance(ends.get(TimeScale.RUN, Never()), Never) and (type(trial) is AllHaveRun and not trial.args or trial is None)


def _check_mechanism(mechanism: Any) -> None:
    rule = type(mechanism.function).__name__
    if rule not in _LEARNING_RULES or type(mechanism).__name__ not in ("LearningMechanism", "AutoAssociativeLearningMechanism"):
        raise unsupported(mechanism, f"learning by {rule} is not covered: take one of {', '.join(_LEARNING_RULES)}, or learn with PsyNeuLink")
    loss = getattr(mechanism.function, "loss_spec", None)
    if loss is not None and str(loss) not in _LOSSES:
        raise unsupported(mechanism, f"its loss is {loss}: take SSE, MSE or L0, or learn with PsyNeuLink")
    if getattr(mechanism, "covariates_sources", None):
        raise unsupported(mechanism, "it has covariates, of a function that does more than add up its inputs: that is not covered")
    if getattr(mechanism, "condition", None) is not None:
        raise unsupported(mechanism, "it has a learning_condition: learning in each trial (UPDATE) is covered")
    if len(mechanism.learning_signals) != 1 or any(len(port.path_afferents) != 1 for port in mechanism.input_ports):
        raise unsupported(mechanism, "its ports have more than one projection: that is not covered")
    if any(modulating(port) for port in mechanism.parameter_ports):
        raise unsupported(mechanism, "its parameters are controlled: give a number as learning_rate")


def _check_projection(composition: Any, projection: Any) -> None:
    if len(projection.parameter_ports["matrix"].mod_afferents) != 1:
        raise unsupported(projection, "several mechanisms learn it: one is covered")
    if any(type(node.owner).__name__ == "CompositionInterfaceMechanism" for node in (projection.sender, projection.receiver)):
        raise unsupported(projection, "it leads into or out of a nested composition: learn that with PsyNeuLink")
    if _update(projection) == "online" and hasattr(projection.receiver.owner, "recurrent_projection"):
        raise unsupported(projection, "PsyNeuLink never makes ONLINE changes of what a recurrent mechanism receives: take AFTER")
    ways = {_update(p) for p, _ in _learned(composition) if p.receiver.owner is projection.receiver.owner and _update(p)}
    if len(ways) > 1:
        raise unsupported(projection.receiver.owner, "of the projections that it learns by, some are ONLINE and some AFTER: take one for all")


def _update(projection: Any) -> str | None:
    """When it is updated: "after" the trial, "online" (as it is used for the next time), or never: None."""
    (learning,) = projection.parameter_ports["matrix"].mod_afferents
    enabled = learning.learning_enabled
    if not enabled or not projection.learnable or not learning.sender.owner.learning_enabled:
        return None
    if hasattr(projection.receiver.owner, "recurrent_projection") and projection is projection.receiver.owner.recurrent_projection:
        return "after"
    return "after" if enabled == "after" else "online"


# Nodes


def unused(graph: Part, name: str) -> str:
    while name in graph["nodes"]:
        name += "_"
    return name


def _add_switch(graph: Part) -> str:
    """A node that yields what it is given, 1 where it is given nothing."""
    switch = unused(graph, "LEARNING")
    graph["nodes"][switch] = {
        "input_ports": {f"{switch}_input": {"shape": [1], "type": "float64", "default_value": [1.0]}},
        "output_ports": {switch: {"value": f"{switch}_input"}},
    }
    return switch


def _mechanism(mechanism: Any) -> Part:
    """A learning mechanism: for each error that arrives, what its function makes of it; the sum is the signal."""
    id = identifier(mechanism.name)
    part: Part = {"input_ports": {}, "functions": {}, "output_ports": {}}
    for port in mechanism.input_ports:
        part["input_ports"][port_id(port)] = {"shape": list(np.shape(port.defaults.value)), "type": "float64"}
    part["input_ports"][f"{id}_learning_rate"] = {"shape": list(np.shape(_rate(mechanism))), "type": "float64", "default_value": plain(_rate(mechanism))}
    names = []
    for number, arguments in enumerate(_calls(mechanism)):
        names.append(f"{identifier(mechanism.name + '_' + mechanism.function.name)}_{number}")
        part["functions"][names[-1]] = {**arguments, "metadata": _metadata(mechanism)}
        part["functions"][names[-1]]["args"]["learning_rate"] = f"{id}_learning_rate"
    is_pair = type(mechanism.function).__name__ in _SUPERVISED
    for item, port in enumerate((mechanism.learning_signals[0], mechanism.output_ports["error_signal"]) if is_pair else mechanism.learning_signals):
        value = " + ".join(f"{name}[{item}]" if is_pair else name for name in names)
        part["output_ports"][port_id(port)] = {"value": value, "metadata": {"default": np.zeros(_shape_of_signal(mechanism, item)).tolist()}}
    return part


def _shape_of_signal(mechanism: Any, item: int) -> tuple[int, ...]:
    return np.shape(mechanism.defaults.value[item])


def _metadata(mechanism: Any) -> Part:
    found = {"type": type(mechanism.function).__name__}
    if found["type"] == "BackPropagation" and mechanism.function.loss_spec is not None:
        found["loss_spec"] = str(mechanism.function.loss_spec)
    return found


def _calls(mechanism: Any) -> Iterator[Part]:
    """The function with its arguments, for each error."""
    rule = type(mechanism.function).__name__
    ports = [port_id(port) for port in mechanism.input_ports]
    if rule not in _SUPERVISED:
        yield {"function": rule.lower(), "args": {"variable0": ports[0]}}
        return
    for number, port in enumerate(mechanism.error_signal_input_ports):
        arguments = {"variable0": f"[{ports[0]}, {ports[1]}, {port_id(port)}]"}
        if rule == "BackPropagation":
            arguments["error_matrix"] = _error_matrix(mechanism, number)
            arguments["activation_derivative"] = _derivative(mechanism, ports[1])
        yield {"function": rule.lower(), "args": arguments}


def _error_matrix(mechanism: Any, number: int) -> Any:
    """The matrix by which an error came about: of a projection, or as it is."""
    matrix = mechanism.error_matrices[number]
    if _projection_behind(mechanism, number) is not None:
        return f"{identifier(mechanism.name)}_error_matrix_{number}"
    return np.asarray(matrix, float).tolist()


def _projection_behind(mechanism: Any, number: int) -> Any:
    matrix = mechanism.error_matrices[number]
    return matrix.owner if hasattr(matrix, "mod_afferents") else None


def _derivative(mechanism: Any, output: str) -> str:
    """What PsyNeuLink takes for the derivative of the receiver's function, given its output."""
    receiver = mechanism.output_source
    function = receiver.function
    kind = type(function).__name__
    controlled = [port for port in receiver.parameter_ports if port.source._owner._owner is function and modulating(port)]
    if controlled:
        raise unsupported(receiver, f"its parameter '{controlled[0].name}' is controlled, and it is learned by: that is not covered")

    def value(name: str) -> Any:
        return plain(getattr(function.parameters, name).get(None))

    if kind == "Linear":
        return f"{value('slope')} * {value('scale')}"
    if kind == "Logistic":
        return f"{value('gain')} * {value('scale')} * {output} * (1 - {output})"
    if kind == "ReLU":
        slope = f"{value('scale')} * {value('gain')}"
        return f"numpy.where({output} / {value('gain')} > 0, {slope}, {slope} * {value('leak')})"
    if kind == "SoftMax" and str(function.output) == "all":
        activity = f"numpy.ravel({output})"
        return f"numpy.diag({activity}) - numpy.outer({activity}, {activity})"
    raise unsupported(
        receiver,
        f"backpropagation through {kind} is not covered (PsyNeuLink itself has the derivative at an output of Linear, Logistic, ReLU and SoftMax): take one of these",
    )


def _rate(mechanism: Any) -> Any:
    rate = mechanism.parameters.learning_rate.get(None)
    rate = mechanism.function.parameters.learning_rate.get(None) if rate is None else rate
    return plain(mechanism.function.defaults.learning_rate if rate is None else rate)


def _has_common_rate(mechanism: Any) -> bool:
    """As PsyNeuLink's CompositionRunner tells which mechanisms have a rate of their own."""
    return np.array_equal(mechanism.parameters.learning_rate.get(), mechanism.defaults.learning_rate)


def _rate_port(mechanism: Any) -> str:
    id = identifier(mechanism.name)
    return f"{id}.{id}_learning_rate"


# Learned projections


def _add_projection(graph: Part, projection: Any, mechanism: Any, switch: str) -> str:
    """A node that holds the matrix; the projection's receiver multiplies by it."""
    id, update = unused(graph, identifier(projection.name)), _update(projection)
    matrix = matrix_of(projection)
    signal = f"{id}_signal"
    part: Part = {
        "parameters": {"matrix": {"value": "matrix", "default_initial_value": matrix.tolist()}},
        "output_ports": {"learned": {"value": "matrix", "metadata": {"default": matrix.tolist()}}},
    }
    if update is not None:
        part["input_ports"] = {signal: {"shape": list(_shape_of_signal(mechanism, 0)), "type": "float64"}}
        part["parameters"]["matrix"]["value"] = f"matrix + {_change(mechanism, projection, signal, matrix)}"
        graph["edges"][f"{id}_learning"] = edge(
            identifier(mechanism.name), port_id(mechanism.learning_signals[0]), id, signal, feedback=update == "online"
        )
    if update == "online":
        part["input_ports"]["learning"] = {"shape": [1], "type": "float64"}
        part["parameters"]["matrix"]["value"] = f"numpy.where(learning > 0, {part['parameters']['matrix']['value']}, matrix)"
        graph["edges"][f"{id}_learns"] = edge(switch, switch, id, "learning")
    graph["nodes"][id] = part
    multiply_in_receiver(graph, projection, id, matrix.shape, feedback=update != "online")
    return id


def _change(mechanism: Any, projection: Any, signal: str, matrix: np.ndarray) -> str:
    """A learning signal of one axis is the diagonal of a matrix that is one, or a column (LearningProjection._execute)."""
    shape = _shape_of_signal(mechanism, 0)
    if len(shape) == 2:
        return signal
    if matrix.shape[0] == matrix.shape[1] == shape[0] and np.array_equal(matrix, np.diag(np.diag(matrix))):
        return f"numpy.diag({signal})"
    if (*shape, 1) != matrix.shape:
        raise unsupported(projection, f"a learning signal of shape {shape} does not fit its matrix: by {type(mechanism.function).__name__} it must be diagonal")
    return f"numpy.reshape({signal}, (-1, 1))"


def multiply_in_receiver(graph: Part, projection: Any, id: str, shape: tuple[int, ...], feedback: bool) -> None:
    receiver, port = identifier(projection.receiver.owner.name), port_id(projection.receiver, projection)
    part, key = graph["nodes"][receiver], identifier(projection.name)
    replaced = part["input_ports"].pop(port, None)
    if replaced is None:
        raise unsupported(projection, "its receiver does not have it as a port of its own: that is not covered")
    sent, by = f"{port}_sent", f"{port}_matrix"
    part["input_ports"][sent] = {"shape": [shape[0]], "type": "float64"}
    part["input_ports"][by] = {"shape": list(shape), "type": "float64"}
    is_row = len(replaced["shape"]) > 1
    part.setdefault("functions", {})[port] = {"value": f"numpy.reshape(numpy.matmul({sent}, {by}), (1, -1))" if is_row else f"numpy.matmul({sent}, {by})"}
    sender = source(projection.sender)
    before = graph["edges"].pop(key, {})
    graph["edges"][key] = edge(
        identifier(sender.owner.name), port_id(sender), receiver, sent, bool(before.get("metadata", {}).get("feedback"))
    )
    graph["edges"][f"{key}_matrix"] = edge(id, "learned", receiver, by, feedback)


def _connect_error_matrices(graph: Part, mechanism: Any, places: dict[Any, str]) -> None:
    if type(mechanism.function).__name__ != "BackPropagation":
        return
    id = identifier(mechanism.name)
    for number in range(len(mechanism.error_signal_input_ports)):
        projection = _projection_behind(mechanism, number)
        if projection is None:
            continue
        port, node = f"{id}_error_matrix_{number}", places[projection]
        graph["nodes"][id]["input_ports"][port] = {"shape": list(np.shape(projection.parameters.matrix.get(None))), "type": "float64"}
        is_before = _update(projection) != "online"
        graph["edges"][f"{port}_from_{node}"] = edge(node, "learned", id, port, feedback=is_before)
        if is_before:  # the matrix that the trial was run with: it changes after all that look at it
            graph["nodes"][node].setdefault("input_ports", {})[f"{port}_read"] = {
                "shape": list(_shape_of_signal(mechanism, 0)),
                "type": "float64",
            }
            graph["edges"][f"{port}_read"] = edge(id, port_id(mechanism.learning_signals[0]), node, f"{port}_read")


# Edges and conditions


def edge(sender: str, sender_port: str, receiver: str, receiver_port: str, feedback: bool = False) -> Part:
    metadata = {"feedback": True} if feedback else {}
    return {"sender": sender, "sender_port": sender_port, "receiver": receiver, "receiver_port": receiver_port, "metadata": metadata}


def _connect_inputs(graph: Part, node: Any) -> None:
    """Edges from where its values come."""
    for port in node.input_ports:
        for projection in port.path_afferents:
            if is_interface(projection.sender.owner):
                continue
            sender = source(projection.sender)
            part = edge(identifier(sender.owner.name), port_id(sender), identifier(node.name), port_id(port, projection))
            if not projection.function._is_identity(defaults=True):
                matrix = np.asarray(projection.parameters.matrix.get(None), float).tolist()
                part["metadata"]["functions"] = {"matrix": {"function": "onnx::MatMul", "args": {"B": matrix}}}
            graph["edges"][identifier(projection.name)] = part


def _schedule(graph: Part, composition: Any, switch: str, places: dict[Any, str]) -> None:
    """What learns runs while it is to; a trial is one pass, as nothing has conditions of its own."""
    learning = [identifier(node.name) for node in composition.nodes if _is_learning_mechanism(node)]
    learning += [identifier(node.name) for node in _plain_nodes(composition) if any(not is_interface(p.sender.owner) for p in node.path_afferents)]
    learning += [place for projection, place in places.items() if _update(projection) == "after"]
    conditions = graph["conditions"]["node_specific"]
    for id in learning:
        conditions[id] = {"type": "Threshold", "kwargs": {"dependency": switch, "parameter": switch, "threshold": 0.5, "comparator": ">"}}
    graph["conditions"]["termination"]["environment_state_update"] = {"type": "AfterNPasses", "kwargs": {"n": 1, "time_scale": "TimeScale.ENVIRONMENT_STATE_UPDATE"}}
