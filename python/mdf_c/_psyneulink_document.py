"""The complete MDF model of a composition of PsyNeuLink.

In comes a composition; out goes what PsyNeuLink's own exporter writes, with what it leaves out added from the objects in memory:
edges into and out of nested compositions, projections that modulate (as arguments that are expressions of an input port), functions
of ports, noise, values before the first run. What the file's parts mean is said in one place, the engine's reading of PsyNeuLink's
files (docs/psyneulink.md); nothing is translated here that the file has.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _psyneulink_random as _random
from ._psyneulink_names import (
    Part,
    by_itself,
    held_at_first,
    identifier,
    is_composition,
    is_interface,
    is_randomization,
    matrix_of,
    modulating,
    own_port,
    owner,
    plain,
    port_id,
    receivers,
    source,
    unsupported,
    within,
)
from ._psyneulink_ports import (
    add_function,
    counts,
    defaults,
    described,
    function_id,
    index_of,
    input_functions,
    is_chosen,
    is_count,
    output_functions,
    read_as,
    read_instead,
    replaced,
)

_MODULATORY = ("ControlProjection", "GatingProjection", "LearningProjection")


@dataclass
class Inlet:
    """An input port that brings what modulates something.

    Attributes
    ----------
    signal
        The output port of PsyNeuLink that it comes from.
    node, port : str
        Where it arrives, in the graph where it is not connected yet.
    """

    signal: Any
    node: str
    port: str


def document(composition: Any) -> tuple[Part, list[Inlet]]:
    """The model as a dict, complete, and where the controller's signals arrive; of a composition that is prepared.

    Raises
    ------
    MdfUnsupportedError
        A component has a meaning that MDF can not express; the message names it.
    """
    _check_schedule(composition)
    _check_kinds(composition)
    _check_controller(composition)
    model = exported(composition)
    graph = graph_of(model)
    inlets = _complete_graph(graph, composition)
    for inlet in inlets:
        if inlet.signal.owner is not composition.controller:
            raise unsupported(inlet.signal.owner, f"'{inlet.signal.name}' modulates '{inlet.port}', but is not in '{composition.name}'")
    return model, inlets


def without_end(model: Part) -> Part:
    """The model without what ends a sequence of evaluations: each call of Program.run is one, and ends it itself."""
    model = copy.deepcopy(model)
    for graph in next(iter(model.values()))["graphs"].values():
        graph["conditions"]["termination"].pop("environment_sequence", None)
    return model


def exported(composition: Any) -> Part:
    """What PsyNeuLink's exporter writes."""
    from psyneulink.core.globals.mdf import PNLJSONEncoder, get_mdf_model

    simpler = (_counts_as_values, _controlled_by_themselves, _noise_as_lists, _rates_as_numbers)
    with warnings.catch_warnings(), contextlib.ExitStack() as stack:
        for change in simpler:
            stack.enter_context(change(composition))
        warnings.simplefilter("ignore")  # of functions that are not MDF's, which are those of this engine
        try:
            written = get_mdf_model(composition, simple_edge_format=False).to_dict()
        except TypeError as error:  # of a dict by components, as state features and targets may be
            raise unsupported(composition, f"PsyNeuLink's exporter fails with it, {error}: give what is a dict of components as a list") from error
        return json.loads(json.dumps(written, cls=PNLJSONEncoder))


@contextlib.contextmanager
def _counts_as_values(composition: Any) -> Iterator[None]:
    """Ports that count, or choose, are no ports to the exporter, which has an error for them: here they give the value at first."""
    mechanisms = [node for node in composition._get_all_nodes() if hasattr(node, "output_ports")]
    ports = [port for mechanism in mechanisms for port in mechanism.output_ports if is_count(port) or is_chosen(port)]
    specs = {port: port._variable_spec for port in ports}
    for port in specs:
        port._variable_spec = "OWNER_VALUE"
    try:
        yield
    finally:
        for port, spec in specs.items():
            port._variable_spec = spec


@contextlib.contextmanager
def _controlled_by_themselves(composition: Any) -> Iterator[None]:
    """Values of parameters that were given with what modulates them."""
    mechanisms = [node for node in composition._get_all_nodes() if hasattr(node, "function")]
    holders = [*mechanisms, *(function for mechanism in mechanisms for _, function in _functions(mechanism))]
    given = {parameter: parameter.default_value for holder in holders if hasattr(holder, "parameters") for parameter in holder.parameters}
    with _other_defaults({parameter: own for parameter, value in given.items() if (own := by_itself(value)) is not value}):
        yield


@contextlib.contextmanager
def _noise_as_lists(composition: Any) -> Iterator[None]:
    """Noise with an item for each element: of an array the exporter has an error, a list it writes; distributions, not their methods."""
    mechanisms = [node for node in composition._get_all_nodes() if hasattr(node, "function")]
    functions = [function for mechanism in mechanisms for _, function in _functions(mechanism)]
    noises = [function.parameters.noise for function in functions if hasattr(function.parameters, "noise")]
    arrays = [noise for noise in noises if np.size(noise.default_value) > 1 or np.ndim(noise.default_value) > 0 and _is_number(noise.default_value)]
    drawn = {noise: _random.distribution_of(noise.default_value) for noise in noises}
    methods = {noise: value for noise, value in drawn.items() if value is not noise.default_value}
    with _other_defaults({**{noise: _list(noise.default_value) for noise in arrays}, **methods}):
        yield


@contextlib.contextmanager
def _rates_as_numbers(composition: Any) -> Iterator[None]:
    """Learning rates by projections: of a dict the exporter has an error; learning mechanisms have them, too."""
    compositions = [composition, *(node for node in composition._get_all_nodes() if is_composition(node))]
    rates = [one.parameters.learning_rate for one in compositions if isinstance(one.parameters.learning_rate.default_value, dict)]
    with _other_defaults({rate: rate.default_value.get("default_learning_rate") for rate in rates}):
        yield


@contextlib.contextmanager
def _other_defaults(values: dict[Any, Any]) -> Iterator[None]:
    before = {parameter: parameter.default_value for parameter in values}
    for parameter, value in values.items():
        parameter._set_default_value(value, directly=True)
    try:
        yield
    finally:
        for parameter, value in before.items():
            parameter._set_default_value(value, directly=True)


def graph_of(model: Part) -> Part:
    """The graph of a model that has one."""
    (graph,) = next(iter(model.values()))["graphs"].values()
    return graph


def prepare(composition: Any) -> None:
    """What Composition.run does before its first trial: projections from the interface are there, roles are known, and who waits for whom."""
    from psyneulink.core.globals.context import Context, ContextFlags

    context = Context(source=ContextFlags.COMPOSITION, execution_id=None)  # as run says it: of other sources projections make other edges
    composition._complete_init_of_partially_initialized_nodes(context=context)
    composition._analyze_graph(context=context)


def _check_schedule(composition: Any) -> None:
    """What the file says of it in a text, or not at all."""
    for node in composition.nodes:
        if is_composition(node):
            _check_schedule(node)
    unit = composition.scheduler.default_absolute_time_unit
    if unit != 1 * unit.units._REGISTRY.ms:
        raise unsupported(composition, f"its default_absolute_time_unit is {unit}: without times to meet, a set takes 1 ms")
    conditions = [*composition.scheduler.conditions.conditions.values(), *composition.termination_processing.values()]
    for condition in _with_parts(conditions):
        if type(condition).__name__ in ("While", "WhileNot", "Condition", "When"):
            raise unsupported(composition, f"a condition asks a Python function, {condition}: take one of PsyNeuLink's conditions")


def _with_parts(conditions: Any) -> Iterator[Any]:
    """Conditions and those that they are made of."""
    for condition in conditions:
        yield condition
        parts = [*getattr(condition, "args", ()), *getattr(condition, "kwargs", {}).values()]
        yield from _with_parts(part for part in parts if hasattr(part, "is_satisfied"))


def _is_learning(node: Any) -> bool:
    from psyneulink.core.components.mechanisms.modulatory.learning.learningmechanism import LearningMechanism

    return isinstance(node, LearningMechanism)


def left_out(composition: Any) -> list[Any]:
    """Nodes that have no part in a run: those of learning, and the controller, which the runner is."""
    from psyneulink.core.compositions.composition import NodeRole

    roles = (NodeRole.LEARNING, NodeRole.LEARNING_OBJECTIVE)
    nodes = [node for node in composition.nodes if _is_learning(node) or any(role in composition.nodes_to_roles[node] for role in roles)]
    return nodes + ([composition.controller] if composition.controller is not None else [])


def _complete_graph(graph: Part, composition: Any) -> list[Inlet]:
    """Inlets whose signals come from outside are left to the caller."""
    _check_names(composition)
    for node in left_out(composition):
        graph["nodes"].pop(identifier(node.name), None)
        graph["conditions"]["node_specific"].pop(identifier(node.name), None)
    graph["metadata"]["controller"] = None
    graph["edges"] = {
        key: edge for key, edge in graph.get("edges", {}).items() if {edge["sender"], edge["receiver"]} <= graph["nodes"].keys()
    }
    inlets: list[Inlet] = []
    for node in composition.nodes:
        id = identifier(node.name)
        part = graph["nodes"].get(id)
        if part is None:
            continue
        if is_composition(node):
            if node.controller is not None and node.enable_controller:
                where = f"'{node.name}' within '{composition.name}'"
                raise unsupported(node.controller, f"it controls {where}, where it would decide within each trial")
            part = graph["nodes"][id] = graph_of(exported(node))  # within others the exporter writes projections otherwise
            inlets += [Inlet(inlet.signal, id, inlet.port) for inlet in _complete_graph(part, node)]
            _add_up_inputs(part, node)
            _name_outputs(part, node)
        else:
            complete_mechanism(part, node)
            inlets += _modulations(part, node)
    _complete_edges(graph, composition)
    _complete_conditions(graph, composition)
    if composition.scheduler.mode.name != "STANDARD":
        graph["conditions"]["metadata"] = {"scheduling_mode": composition.scheduler.mode.name}
    return _connect(graph, composition, inlets)


def _check_names(composition: Any) -> None:
    """The exporter writes an underscore for what identifiers do not have: two nodes may become one."""
    found: dict[str, Any] = {}
    for node in composition.nodes:
        other = found.setdefault(identifier(node.name), node)
        if other is not node:
            raise unsupported(node, f"it is written as '{identifier(node.name)}', as '{other.name}' is: rename one of them")


def _add_up_inputs(part: Part, composition: Any) -> None:
    """Several projections to a port of a nested composition have a port each, and a sum in place of the port."""
    for port in composition.input_CIM.input_ports:
        if len(port.path_afferents) < 2:
            continue
        for id in within(port):
            names = [own_port(id, projection) for projection in port.path_afferents]
            shape = list(np.shape(port.defaults.value))
            part.setdefault("input_ports", {}).update({name: {"shape": shape, "type": "float64"} for name in names})
            part.setdefault("functions", {})[id] = {"value": " + ".join(names)}


def _name_outputs(part: Part, composition: Any) -> None:
    """Output ports of a nested composition under the names of the mechanisms' ports."""
    ports = [source(outer) for _, outer in composition.output_CIM.port_map.values()]
    part["output_ports"] = {
        port_id(port): {"value": port_id(port), "metadata": {"default": held_at_first(port).tolist()}} for port in ports
    }


# Edges


def _complete_edges(graph: Part, composition: Any) -> None:
    feedback = _feedback(composition)
    nodes, edges = graph["nodes"], graph["edges"]
    for key in [key for key, edge in edges.items() if edge.get("metadata", {}).get("type") in _MODULATORY]:
        del edges[key]  # it has an edge of its own
    for projection in _projections(composition):
        key, ends = identifier(projection.name), (owner(projection.sender), owner(projection.receiver))
        if {identifier(node.name) for node in ends} - nodes.keys():
            continue
        if any(is_interface(port.owner) for port in (projection.sender, projection.receiver)):
            edges.pop(key, None)
            written = {f"{key}_{i}" if i else key: edge for i, edge in enumerate(_nested_edges(nodes, projection))}
            edges.update(written)
        else:
            written = {key: edges[key]}
            _write_matrix(edges[key], projection)
        if _begins_anew(ends[0]) and (ends in feedback or _may_run_first(composition, ends[1], ends[0])):
            what = f"it begins anew in each trial, and '{projection.name}' may take its value before it has run"
            raise unsupported(ends[0], f"{what}: that is not covered, let a mechanism between keep the value")
        for edge in written.values() if ends in feedback else ():
            edge.setdefault("metadata", {})["feedback"] = True
    for node in composition.nodes:
        if getattr(node, "recurrent_projection", None) is not None:
            _write_lone_recurrence(edges, node.recurrent_projection)


def _write_lone_recurrence(edges: Part, projection: Any) -> None:
    """A recurrent projection by itself: where nothing else leads to its port, the file has no port of its own for it, by which it is known."""
    if list(projection.receiver.path_afferents) != [projection]:
        return
    mechanism = identifier(projection.receiver.owner.name)
    edges[f"{mechanism}_recurrent_projection"] = {
        "sender": mechanism,
        "sender_port": port_id(projection.sender),
        "receiver": mechanism,
        "receiver_port": port_id(projection.receiver),
        "metadata": {"functions": {"matrix": {"function": "onnx::MatMul", "args": {"B": matrix_of(projection).tolist()}}}},
    }


def _may_run_first(composition: Any, receiver: Any, sender: Any) -> bool:
    """Whether conditions let `receiver` run in a trial in which `sender` has not: the former waits for nothing, the latter for something."""
    conditions = composition.scheduler.conditions.conditions
    if sender not in conditions or receiver not in conditions:
        return False
    waits = list(_with_parts([conditions[sender]]))
    asked = [argument for part in _with_parts([conditions[receiver]]) for argument in part.args]
    is_late = not all(type(part).__name__ in ("Always", "EveryNPasses") for part in waits) and not _waits_for_senders(composition, sender)
    return is_late and type(conditions[receiver]).__name__ in ("Always", "EveryNPasses", "AtPass", "AtTrialStart") and sender not in asked


def _waits_for_senders(composition: Any, node: Any) -> bool:
    """Whether its condition is that each of those before it has run again, as the scheduler has it by default."""
    parts = list(_with_parts([composition.scheduler.conditions.conditions[node]]))
    return all(type(part).__name__ in ("All", "EveryNCalls") and (type(part).__name__ == "All" or part.args[1] == 1) for part in parts)


def _begins_anew(node: Any) -> bool:
    when = type(getattr(node, "reset_stateful_function_when", None)).__name__
    return when == "AtTrialStart" and bool(node.parameters.has_initializers.get(None))


def _write_matrix(edge: Part, projection: Any) -> None:
    """What was learned: the exporter writes what the projection was made with."""
    matrix = matrix_of(projection)
    if not np.array_equal(matrix, np.atleast_2d(projection.parameters.matrix.get(None))):
        function = {"function": "onnx::MatMul", "args": {"B": matrix.tolist()}}
        edge.setdefault("metadata", {})["functions"] = {"matrix": function}


def _projections(composition: Any) -> list[Any]:
    """Those that lead from one node of it to another and bring what ports add up."""
    return [
        projection
        for projection in composition.projections
        if not _is_modulatory(projection)
        and projection.sender.owner is not composition.input_CIM
        and projection.receiver.owner is not composition.output_CIM
        and not _brings_control(projection.receiver)
        and projection.sender.owner is not projection.receiver.owner
    ]


def _brings_control(port: Any) -> bool:
    return is_interface(port.owner) and port.owner is port.owner.composition.parameter_CIM


def _connect(graph: Part, composition: Any, inlets: list[Inlet]) -> list[Inlet]:
    """Edges from the composition's own signals; what is left comes from outside."""
    awaited, left = _edges_of(composition) - _feedback(composition), []
    by_id = {identifier(node.name): node for node in composition.nodes}
    for inlet in inlets:
        sender = identifier(inlet.signal.owner.name)
        if sender not in graph["nodes"] or by_id[sender] is not inlet.signal.owner:
            left.append(inlet)
            continue
        graph["edges"][f"{sender}_to_{inlet.node}_{inlet.port}"] = {
            "sender": sender,
            "sender_port": port_id(inlet.signal),
            "receiver": inlet.node,
            "receiver_port": inlet.port,
            "metadata": {} if (inlet.signal.owner, by_id[inlet.node]) in awaited else {"feedback": True},
        }
    return left


def _feedback(composition: Any) -> set[tuple[Any, Any]]:
    """Pairs of nodes, sender and receiver, of which the receiver does not wait for the sender."""
    from psyneulink.core.globals.graph import EdgeType

    return {ends for ends, kind in _kinds_of_edges(composition) if kind is EdgeType.FEEDBACK}


def _edges_of(composition: Any) -> set[tuple[Any, Any]]:
    """Pairs of nodes, sender and receiver: control of what is within another composition makes none."""
    return {ends for ends, _ in _kinds_of_edges(composition)}


def _kinds_of_edges(composition: Any) -> Iterator[tuple[tuple[Any, Any], Any]]:
    for vertex in composition.graph_processing.vertices:
        for sender, kind in vertex.source_types.items():
            yield (sender.component, vertex.component), kind


def _is_modulatory(projection: Any) -> bool:
    from psyneulink.core.components.projections.modulatory.modulatoryprojection import ModulatoryProjection_Base

    return isinstance(projection, ModulatoryProjection_Base)


def _nested_edges(nodes: Part, projection: Any) -> Iterator[Part]:
    """An edge to each port that it reaches; a matrix acts on its way out of the sender, as it may end in several mechanisms."""
    sender = identifier(owner(projection.sender).name)
    port = port_id(source(projection.sender))
    if not projection.function._is_identity(defaults=True):
        projected = f"{port}_by_{identifier(projection.name)}"
        matrix = matrix_of(projection).tolist()
        value, before = nodes[sender]["output_ports"][port]["value"], held_at_first(source(projection.sender))
        nodes[sender]["output_ports"][projected] = {
            "value": f"numpy.matmul({value}, numpy.array({matrix}))",
            "metadata": {"default": (np.ravel(before) @ np.array(matrix)).tolist()},
        }
        port = projected
    for receiver_port in receivers(projection.receiver, projection):
        yield {
            "sender": sender,
            "sender_port": port,
            "receiver": identifier(owner(projection.receiver).name),
            "receiver_port": receiver_port,
        }


# Conditions


def _complete_conditions(graph: Part, composition: Any) -> None:
    """What the exporter leaves out of conditions, and of which it writes the default in place of what was given."""
    scheduler, written = composition.scheduler, graph["conditions"]
    for node, condition in scheduler.conditions.conditions.items():
        if identifier(node.name) in written["node_specific"]:
            _complete_condition(graph, written["node_specific"][identifier(node.name)], condition, composition)
    for scale, condition in scheduler.termination_conds.items():
        if scale.name.lower() in written["termination"]:
            _complete_condition(graph, written["termination"][scale.name.lower()], condition, composition)


def _complete_condition(graph: Part, written: Part, condition: Any, composition: Any) -> None:
    arguments = written["kwargs"]
    if written["type"].endswith("NStart"):
        arguments.clear()
        condition = condition.args[-1]  # that it is the n-th; the other one is that something begins
        arguments["n"] = condition.args[0]
    elif written["type"] == "Threshold":  # of a mechanism's value, for which the exporter names a port that need not be there
        _complete_threshold(graph, written, composition)
        return
    scale = _time_scale(condition) if "time_scale" in inspect.signature(type(condition).__init__).parameters else None
    if scale is not None:
        arguments["time_scale"] = str(scale)
    parts = [part for part in condition.args if hasattr(part, "is_satisfied")]
    for inner, part in zip(_conditions_in(arguments), parts):
        _complete_condition(graph, inner, part, composition)


def _conditions_in(arguments: Part) -> Iterator[Part]:
    for value in arguments.values():
        yield from (item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict) and "type" in item)


def counts_in_run(composition: Any) -> str | None:
    """What looks at how much there was in the run, by its name, in the composition or one within it; None: nothing does."""
    scheduler = composition.scheduler
    of_trial = [condition for scale, condition in scheduler.termination_conds.items() if scale.name != "ENVIRONMENT_SEQUENCE"]
    for condition in _with_parts([*scheduler.conditions.conditions.values(), *of_trial]):
        kinds = " ".join(kind.__name__ for kind in type(condition).__mro__)
        if getattr(_time_scale(condition), "name", None) == "ENVIRONMENT_SEQUENCE" or "EnvironmentSequence" in kinds:
            return f"the condition {condition}"
    for node in composition.nodes:
        if is_composition(node):
            found = counts_in_run(node)
        else:
            found = f"the termination_measure of '{node.name}'" if str(getattr(node, "termination_measure", None)) in _RUNS else None
        if found is not None:
            return found
    return None


_RUNS = ("TimeScale.RUN", "TimeScale.ENVIRONMENT_SEQUENCE")


def _time_scale(condition: Any) -> Any:
    """The one that a condition was given, or has by default: most keep it in their function only. None: it has none."""
    from psyneulink.core.scheduling.time import TimeScale

    function = getattr(condition, "func", None)
    given = next((argument for argument in condition.args if isinstance(argument, TimeScale)), None)
    return given or (inspect.getclosurevars(function).nonlocals.get("time_scale") if inspect.isfunction(function) else None)


def _complete_threshold(graph: Part, written: Part, composition: Any) -> None:
    arguments = written["kwargs"]
    id, indices = identifier(arguments["dependency"]), arguments.get("indices")
    if arguments["parameter"] in ("num_executions", "execution_count"):
        mechanism = next(node for node in composition.nodes if identifier(node.name) == id)
        _count_executions(graph["nodes"][id], mechanism, written)
        return
    if identifier(arguments["parameter"]) != f"{id}_OutputPort_0" or isinstance(indices, str):
        return
    mechanism = next(node for node in composition.nodes if identifier(node.name) == id)
    index, *within = indices or [0]
    port = next((port for port in mechanism.output_ports if index_of(port) == index), None)
    if port is None or not port.function._is_identity(defaults=True) or np.size(port.defaults.value) > 1 and not within:
        raise unsupported(mechanism, "a condition compares its value, which is not one number: give indices=(port, element)")
    name, ports = port_id(port), graph["nodes"][id]["output_ports"]
    if np.size(port.defaults.value) > 1:
        value, name = ports[name]["value"], f"{name}_{within[0]}"
        ports[name] = {
            "value": f"numpy.ravel({value})[{within[0]}]",
            "metadata": {"default": float(np.ravel(held_at_first(port))[within[0]])},
        }
    arguments.update(dependency=id, parameter=name, indices=None)


def _count_executions(part: Part, mechanism: Any, written: Part) -> None:
    """How often the mechanism has run: at all, as a parameter of the node, or in the trial, as a condition of calls."""
    arguments, id = written["kwargs"], identifier(mechanism.name)
    if arguments["parameter"] == "execution_count":
        counter = {"value": "executions + 1", "default_initial_value": int(mechanism.execution_count)}
        part.setdefault("parameters", {})["executions"] = counter
        arguments.update(dependency=id, parameter="executions", indices=None)
        return
    is_of_trial = str(arguments.get("indices")).rpartition(".")[2] in ("TRIAL", "ENVIRONMENT_STATE_UPDATE")
    repeats = getattr(mechanism, "termination_threshold", None) is not None and mechanism.execute_until_finished
    most = float(np.asarray(arguments["threshold"]).item())
    if not is_of_trial or repeats or arguments["comparator"] not in (">=", ">"):
        what = "a condition compares its num_executions: that they are as many as a threshold in the trial can be told"
        raise unsupported(mechanism, f"{what}, of a mechanism that does not run until it is finished")
    n = int(np.ceil(most)) if arguments["comparator"] == ">=" else int(np.floor(most)) + 1
    written.update(type="AfterNCalls", kwargs={"dependency": id, "n": n, "time_scale": "TimeScale.ENVIRONMENT_STATE_UPDATE"})


# Mechanisms


def complete_mechanism(part: Part, mechanism: Any) -> None:
    """Adds to a mechanism's node what the exporter leaves out."""
    for complete in (input_functions, _recurrence, _current_values, _python_functions, _resets, _states, _directions, _integrated, _noise, _generators, _code_of_mechanism, counts, output_functions, defaults):
        complete(part, mechanism)


# Those whose code the engine's reading of a file, or this page, tells.
_KINDS = (
    "ProcessingMechanism TransferMechanism RecurrentTransferMechanism LCAMechanism KWTAMechanism IntegratorMechanism TimerMechanism DDM ObjectiveMechanism "
    "ComparatorMechanism PredictionErrorMechanism ControlMechanism GatingMechanism LCControlMechanism EpisodicMemoryMechanism"
).split()


def _check_kinds(composition: Any) -> None:
    """Before it is exported: of some mechanisms the exporter has an error that names none."""
    gone = left_out(composition)
    for node in composition.nodes:
        if is_composition(node):
            _check_kinds(node)
        elif node not in gone:
            _check_kind(node)


def _check_controller(composition: Any) -> None:
    controller = composition.controller
    if controller is not None and composition.enable_controller and not hasattr(controller, "agent_rep"):
        what = f"it is the controller of '{composition.name}', which an OptimizationControlMechanism with GridSearch can be"
        raise unsupported(controller, f"{what}: add it as a node, or run it with PsyNeuLink")


def _check_parameter_ports(component: Any) -> None:
    """They give the parameters as they are, or with what they learned."""
    for port in component.parameter_ports:
        function = port.function
        if type(function).__name__ == "AccumulatorIntegrator":
            rate, noise, increment = (getattr(function.parameters, name).get(None) for name in ("rate", "noise", "increment"))
            is_plain = np.all(rate == 1) and not np.any(noise) and not np.any(increment)
        else:
            is_plain = function._is_identity(defaults=True)
        if not is_plain:
            what = f"its parameter '{port.name}' is what a function of its own makes of it, {type(function).__name__}"
            raise unsupported(component, f"{what}: let a mechanism compute it, and a ControlSignal bring it")


def _check_kind(mechanism: Any) -> None:
    if type(mechanism).__name__ not in _KINDS:
        raise unsupported(mechanism, "mechanisms of this class have code of their own, which is not covered: run it with PsyNeuLink")
    for component in (mechanism, *(p for port in mechanism.input_ports for p in port.path_afferents)):
        _check_parameter_ports(component)
    for port in mechanism.output_ports:
        spec = port._variable_spec
        if (spec[0] if isinstance(spec, tuple) else spec) != "OWNER_VALUE" and not is_count(port) and not is_chosen(port):
            raise unsupported(mechanism, f"its output port '{port.name}' gives {spec}: only items of the mechanism's value can be told")


def _recurrence(part: Part, mechanism: Any) -> None:
    """The matrix as it is, in place of what it was made from."""
    projection = getattr(mechanism, "recurrent_projection", None)
    if projection is None:
        return
    parameters = part.setdefault("parameters", {})
    for key in ("auto", "hetero"):
        parameters.pop(key, None)
    parameters["matrix"] = {"value": matrix_of(projection).tolist()}


def _current_values(part: Part, mechanism: Any) -> None:
    """Numbers that were set after the component was made: the exporter writes those it was made with."""
    for _, function in _functions(mechanism):
        written = part.get("functions", {}).get(function_id(mechanism, function))
        if written is not None:
            _write_current(written, function)
    most = mechanism.parameters.max_executions_before_finished.get(None)
    part.setdefault("metadata", {})["max_executions_before_finished"] = int(np.asarray(most).item())
    for parameter in _changed(mechanism):
        if parameter.name in part.get("parameters", {}):
            part["parameters"][parameter.name]["value"] = _list(parameter.get(None))


def _write_current(written: Part, function: Any) -> None:
    for parameter in _changed(function):
        key = parameter.mdf_name or parameter.name
        place = written.setdefault("args" if key in written.get("args", {}) else "metadata", {})
        place[key] = _list(parameter.get(None))


def _changed(component: Any) -> Iterator[Any]:
    from psyneulink.core.globals.parameters import ParameterAlias, SharedParameter

    for parameter in component.parameters:
        is_own = not isinstance(parameter, (ParameterAlias, SharedParameter)) and parameter.initializer is None
        if not is_own or parameter.name in ("variable", "value", "seed") or parameter.read_only or not parameter.loggable:
            continue
        value = parameter.get(None)
        if _is_number(value) and not isinstance(value, bool) and not np.array_equal(value, parameter.default_value):
            yield parameter


def _list(value: Any) -> Any:
    return np.asarray(value).tolist()


def _python_functions(part: Part, mechanism: Any) -> None:
    """Functions of Python's math by their names; others can not be told."""
    from psyneulink.core.components.functions.userdefinedfunction import UserDefinedFunction

    for _, function in _functions(mechanism):
        if not isinstance(function, UserDefinedFunction):
            continue
        written, custom = part["functions"][function_id(mechanism, function)], function.custom_function
        module = str(getattr(custom, "__module__", ""))
        if module == "math":
            written.pop("function", None)
            written["value"] = f"math.{custom.__name__}(variable0)"
        elif not module.startswith("modeci_mdf."):
            raise unsupported(
                mechanism, f"its function is a Python function, {described(custom)}: take a function of PsyNeuLink or of math"
            )


def _resets(part: Part, mechanism: Any) -> None:
    """States that begin anew in each trial."""
    condition = type(mechanism.reset_stateful_function_when).__name__
    if type(mechanism).__name__ == "DDM":
        if condition not in ("AtTrialStart", "Never") and mechanism.function.parameters.has_initializers.get(None):
            raise unsupported(mechanism, f"reset_stateful_function_when={condition}: of a DDM AtTrialStart and Never can be told")
        part.setdefault("metadata", {})["reset_stateful_function_when"] = condition
        return
    if condition == "Never":
        return
    if condition != "AtTrialStart" or getattr(mechanism, "learning_mechanism", None) is not None:
        raise unsupported(mechanism, f"reset_stateful_function_when={condition}: AtTrialStart of a mechanism that does not learn can be told")
    if hasattr(mechanism, "recurrent_projection") and mechanism.defaults.integrator_mode:
        _begin_recurrence(part, mechanism)
    for parameter in part.get("parameters", {}).values():
        if "default_initial_value" in parameter:
            parameter["reset"] = "environment_state_update"


def _begin_recurrence(part: Part, mechanism: Any) -> None:
    """In the first run of a trial it gets from itself what its function makes of the initial value."""
    projection, parameters = mechanism.recurrent_projection, part.setdefault("parameters", {})
    receiver, id = projection.receiver, port_id(projection.receiver)
    name = own_port(id, projection) if len(receiver.path_afferents) > 1 else id
    initial = mechanism.function(np.reshape(mechanism.integrator_function.parameters.initializer.get(None), (1, -1)))
    shape = part["input_ports"][name]["shape"]
    arriving = (np.ravel(initial) @ matrix_of(projection)).tolist()
    data = f"{id}_combination_function_input_data"
    begun = f"{name}_begun"
    if data in parameters:
        parameters[data]["value"] = replaced(parameters[data]["value"], name, begun)
    else:
        read_instead(part, name, begun)
    parameters["has_begun"] = {"value": "1.0", "default_initial_value": 0.0}
    add_function(part, begun, f"numpy.where(has_begun > 0.5, {name}, numpy.reshape(numpy.array({arriving}), {shape}))")


# Parameters of the model that keep what an integrator keeps under another name.
_KEPT_AS = {"previous_v": "v", "previous_w": "w"}


def _states(part: Part, mechanism: Any) -> None:
    """What integrators begin with, where the mechanism was executed by itself before."""
    parameters = part.get("parameters", {})
    for _, function in _functions(mechanism):
        for name in getattr(function, "stateful_attributes", ()):
            value, kept = getattr(function.parameters, name).get(None), parameters.get(_KEPT_AS.get(name, name), {})
            initial = kept.get("default_initial_value")
            if initial is not None and "reset" not in kept and _is_number(value) and np.size(value) == np.size(initial):
                kept["default_initial_value"] = np.reshape(value, np.shape(initial)).tolist()


def _directions(part: Part, mechanism: Any) -> None:
    """Where a drift on a sphere leads at first: it is drawn when the function is made, and the exporter leaves it out."""
    for _, function in _functions(mechanism):
        direction = getattr(function.parameters, "drift_dir", None)
        written = part.get("functions", {}).get(function_id(mechanism, function))
        if direction is not None and written is not None:
            written.setdefault("metadata", {})["drift_dir"] = _list(direction.get(None))


def _functions(mechanism: Any) -> list[tuple[str, Any]]:
    found = [("function", mechanism.function)]
    integrator = getattr(mechanism, "integrator_function", None)
    return found + ([("integrator_function", integrator)] if integrator is not None else [])


def _integrated(part: Part, mechanism: Any) -> None:
    """Where a transfer mechanism's integrator has several values (of what is integrated, and the time), its function gets them as an array."""
    integrator, written = getattr(mechanism, "integrator_function", None), part.get("functions", {}).get(function_id(mechanism), {})
    if integrator is None or written.get("args", {}).get("variable0") != function_id(mechanism, integrator):
        return
    items = [np.shape(item) for item in np.asarray(integrator.defaults.value, dtype=object)]
    if not isinstance(integrator.parameters.value.get(None), (list, tuple)) and len(integrator.stateful_attributes) < 2:
        return
    name, shape = function_id(mechanism, integrator), list(items[0])
    values = ", ".join(f"numpy.broadcast_to(numpy.reshape({name}[{i}], (-1,)), {[int(np.prod(shape))]})" for i in range(len(items)))
    value = f"numpy.reshape(numpy.stack([{values}]), {[len(items), *shape]})"
    written["args"]["variable0"] = add_function(part, f"{name}_values", value)


def _noise(part: Part, mechanism: Any) -> None:
    """A transfer mechanism that does not integrate adds its noise to what its function gets."""
    from psyneulink.core.components.mechanisms.processing.transfermechanism import TransferMechanism

    if not isinstance(mechanism, TransferMechanism) or mechanism.defaults.integrator_mode:
        return
    noise = by_itself(mechanism.defaults.noise)
    if not _is_number(noise) or not np.any(noise):  # what is drawn the file has
        return
    part.setdefault("parameters", {})["noise"] = {"value": plain(noise)}
    arguments = part["functions"][function_id(mechanism)]["args"]
    arguments["variable0"] = add_function(part, f"{identifier(mechanism.name)}_with_noise", f"{arguments['variable0']} + noise")


def _generators(part: Part, mechanism: Any) -> None:
    """The seeds that functions draw by, and how far they have come."""
    for drawing in _random.drawings(mechanism):
        written, arguments = _generator_place(part, mechanism, drawing)
        arguments["seed"] = _random.describe(drawing.holder)["seed"]
        written.setdefault("metadata", {})["random_state"] = _random.describe(drawing.holder)
        if drawing.kind == "decision":
            part.setdefault("parameters", {})["seed"] = {"value": arguments["seed"]}
        elif drawing.holder is not drawing.function:
            _write_current(written, drawing.holder)
            _draw_for_each(written, arguments, drawing)


def _draw_for_each(written: Part, arguments: Part, drawing: _random.Drawing) -> None:
    """Noise is drawn for each element, also by a distribution that was made for one number."""
    variable = np.asarray(drawing.function.defaults.variable, float)
    if np.size(drawing.holder.defaults.variable) != variable.size:
        written["metadata"]["variable"] = variable.tolist()
        if "shape" in arguments:
            arguments["shape"] = list(variable.shape)


def _generator_place(part: Part, mechanism: Any, drawing: _random.Drawing) -> tuple[Part, Part]:
    """The dict of what draws, and the one that has its seed."""
    if drawing.kind == "decision":
        return part, {}
    if drawing.kind == "input":
        written = part["metadata"]["integrator_function"]["metadata"]["noise"]
    else:
        written = part["functions"][function_id(mechanism, drawing.function)]
    if drawing.kind == "noise":
        written = part["functions"][part["functions"][written["args"]["noise"]]["args"]["variable0"]]
    return written, written.setdefault("args", {})


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, list, tuple, np.ndarray, np.number)) and np.asarray(value).dtype.kind in "bif"


def _code_of_mechanism(part: Part, mechanism: Any) -> None:
    """What a class of mechanisms does with the value of its function."""
    change = _CODE.get(type(mechanism).__name__)
    if change is not None:
        change(part, mechanism, function_id(mechanism))


def _locus_coeruleus(part: Part, mechanism: Any, function: str) -> None:
    """Its value begins with the gain, which is what it sends."""
    gain = add_function(part, f"{identifier(mechanism.name)}_gain", f"scaling_factor_gain * {function}[1] + base_level_gain")
    for port in mechanism.output_ports:
        index = index_of(port)
        part["output_ports"][port_id(port)]["value"] = gain if index == 0 else f"{function}[{index - 1}]"


def _integrator(part: Part, mechanism: Any, function: str) -> None:
    """In a run in which its parameter `reset` is not 0 it begins anew, and its value is the initial one."""
    port = next((port for port in mechanism.parameter_ports if port.name == "reset"), None)
    if port is None or not modulating(port) and not np.any(mechanism.parameters.reset.get(None)):
        return
    kept = {name: parameter for name, parameter in part["parameters"].items() if "default_initial_value" in parameter}
    if list(mechanism.function.stateful_attributes) != ["previous_value"] or [one["value"] for one in kept.values()] != [function]:
        what = f"its {type(mechanism.function).__name__} keeps more than its value, and is reset by control"
        raise unsupported(mechanism, f"{what}: that is covered of functions that keep one value")
    initial = np.reshape(mechanism.function.parameters.initializer.get(None), np.shape(mechanism.function.defaults.value)).tolist()
    now = add_function(part, f"{function}_or_initial", f"numpy.where(numpy.any(reset != 0), numpy.array({initial}), {function})")
    for written in [*part["output_ports"].values(), *kept.values()]:
        written["value"] = replaced(written["value"], function, now)


def _prediction_error(part: Part, mechanism: Any, function: str) -> None:
    """The errors a step earlier, the last one 0."""
    shifted = add_function(part, f"{identifier(mechanism.name)}_shifted", f"numpy.append({function}[1:], 0)")
    for port in mechanism.output_ports:
        part["output_ports"][port_id(port)]["value"] = shifted


_CODE: dict[str, Callable[[Part, Any, str], None]] = {
    "IntegratorMechanism": _integrator,
    "LCControlMechanism": _locus_coeruleus,
    "PredictionErrorMechanism": _prediction_error,
}


# Modulation


def _modulations(part: Part, mechanism: Any) -> list[Inlet]:
    """Input ports for what modulates the mechanism, with which the modulated values become expressions."""
    inlets = []
    for port in [*mechanism.input_ports, *mechanism.parameter_ports, *mechanism.output_ports]:
        if len(modulating(port)) < len(port.mod_afferents):
            _modulated(part, port)  # the exporter leaves out the value that it has by itself
        for projection in modulating(port):
            if _has_no_effect(mechanism, port, projection):
                continue
            signal = source(projection.sender)
            value = np.asarray(signal.defaults.value, float)
            inlet = identifier(f"{port_id(port)}_from_{signal.owner.name}_{signal.name}")
            part["input_ports"][inlet] = {"shape": list(value.shape), "type": "float64"}
            if getattr(getattr(signal.owner, "composition", None), "controller", None) is signal.owner:  # no edge leads to it
                part["input_ports"][inlet]["default_value"] = value.tolist()
            _modulate(part, port, projection, _projected(projection, inlet))
            _spread(part, port)
            inlets.append(Inlet(signal, identifier(mechanism.name), inlet))
    return inlets


def _spread(part: Part, port: Any) -> None:
    """The exporter writes some functions in several parts, each with the arguments: all have those of the function."""
    owner = getattr(getattr(port, "source", None), "_owner", None)
    function = getattr(owner, "_owner", None)
    if function is None or function is port.owner:
        return
    name, whole = port.source.mdf_name or port.source.name, part.get("functions", {}).get(function_id(port.owner, function), {})
    for id, written in part.get("functions", {}).items():
        if id.startswith(f"{identifier(function.name)}_") and name in written.get("args", {}) and name in whole.get("args", {}):
            written["args"][name] = whole["args"][name]


def _has_no_effect(mechanism: Any, port: Any, projection: Any) -> bool:
    """Of seeds: nothing draws by it, or an estimation's simulations, which draw as instances of a sweep, by seeds of their own."""
    signal = source(projection.sender)
    if not is_randomization(signal):
        return False
    of_estimation = type(getattr(signal.owner, "composition", None)).__name__ == "ParameterEstimationComposition"
    return of_estimation or not any(drawing.holder is port.source._owner._owner for drawing in _random.drawings(mechanism))


def _projected(projection: Any, inlet: str) -> str:
    """What the projection makes of the signal."""
    function = projection.function
    if function._is_identity(defaults=True):
        return inlet
    numbers = {name: plain(getattr(function.parameters, name).get(None)) for name in ("slope", "intercept", "scale", "offset") if hasattr(function.parameters, name)}
    if type(function).__name__ != "Linear" or numbers.get("scale", 1) != 1 or numbers.get("offset", 0) != 0:
        raise unsupported(projection, "it has a function of its own that is not Linear: let the signal's mechanism compute it")
    return f"({numbers['slope']} * {inlet} + {numbers['intercept']})"


def _modulate(part: Part, port: Any, projection: Any, inlet: str) -> None:
    place = _modulated(part, port)
    if place is None:
        raise unsupported(port.owner, f"nothing in the model computes with its parameter '{port.name}', which '{projection.name}' modulates")
    holder, key = place
    value, how = holder[key], str(projection.sender.modulation)
    if "disable" in how.lower():
        return
    if "override" in how.lower():
        holder[key] = inlet
    elif "multiplicative" in how:
        holder[key] = f"({_expression(value)}) * {inlet}"
    elif "additive" in how:
        holder[key] = f"({_expression(value)}) + {inlet}"
    else:
        raise unsupported(projection.sender, f"it modulates by '{how}': multiplicative, additive or override can be told in MDF")


def _expression(value: Any) -> str:
    return f"numpy.array({value})" if isinstance(value, list) else str(value)


def _modulated(part: Part, port: Any) -> tuple[Part, str] | None:
    """The dict and the key of what the port stands for: an argument, a parameter, the value of an output port."""
    id = port_id(port)
    if id in part.get("output_ports", {}):
        return part["output_ports"][id], "value"
    if not hasattr(port, "source"):
        return _modulated_input(part, port, id)
    owner, name = port.source._owner._owner, port.source.mdf_name or port.source.name
    if name == "seed":
        return _modulated_seed(part, port.owner, owner)
    function = part.get("functions", {}).get(function_id(port.owner, owner)) if owner is not port.owner else None
    if function is None and owner is not port.owner and any(drawing.holder is owner for drawing in _random.drawings(port.owner)):
        return _modulated_draw(part, port, owner), name
    if function is None:
        parameter = part.get("parameters", {}).get(name)
        return (parameter, "value") if parameter is not None else None
    arguments = function.setdefault("args", {})
    if name not in arguments:
        arguments[name] = plain(port.source.default_value)
        function.get("metadata", {}).pop(name, None)
    return arguments, name


def _modulated_draw(part: Part, port: Any, holder: Any) -> Part:
    """The arguments of a distribution that draws noise."""
    drawing = next(drawing for drawing in _random.drawings(port.owner) if drawing.holder is holder)
    arguments = _generator_place(part, port.owner, drawing)[1]
    arguments.setdefault(port.source.mdf_name or port.source.name, plain(port.source.default_value))
    return arguments


def _modulated_seed(part: Part, mechanism: Any, holder: Any) -> tuple[Part, str] | None:
    drawing = next((drawing for drawing in _random.drawings(mechanism) if drawing.holder is holder), None)
    if drawing is None:
        return None
    if drawing.kind == "decision":
        return part["parameters"]["seed"], "value"
    return _generator_place(part, mechanism, drawing)[1], "seed"


def _modulated_input(part: Part, port: Any, id: str) -> tuple[Part, str]:
    """What reads an input port reads a function in its place."""
    gated = f"{id}_gated"
    if gated not in part["functions"]:
        read = f"{id}_combined" if f"{id}_combined" in part["functions"] else read_as(part, port)
        read_instead(part, read, gated)
        part["functions"][gated] = {"value": read}
    return part["functions"][gated], "value"


