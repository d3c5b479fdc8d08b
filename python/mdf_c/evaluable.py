"""EvaluableGraph: the class of that name in modeci_mdf.execution_engine, evaluated by this engine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from ._conditions import ConditionReader, as_time_scale
from ._documents import Source, as_bytes
from ._library import PART_FUNCTION, PART_INPUT, PART_OUTPUT, PART_PARAMETER, lib
from ._scheduler import Scheduler
from ._settings import settings_of
from .engine import Model, State, compile
from .errors import MdfNameError

FORMAT_NUMPY = "numpy"


class EvaluablePart:
    """A port, function or parameter of a node.

    Attributes
    ----------
    id : str
    curr_value : numpy.generic, numpy.ndarray, str, list or None
        Its value after the last evaluation; of an input port, the one that the node used last. None before the first.
    """

    def __init__(self, enode: EvaluableNode, kind: int, index: int, id: str, definition: Any) -> None:
        self.id = id
        self.definition = definition
        self._enode, self._kind, self._index = enode, kind, index
        self._n_values = lib.mdf_program_part_n_values(enode._state.program._pointer, enode._number, kind, index)

    @property
    def curr_value(self) -> Any:
        """The value; see the class."""
        return self._enode._state.part(self._enode._number, self._kind, self._index, self._n_values)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r} = {self.curr_value!r}>"


class EvaluableInput(EvaluablePart):
    """An input port."""

    @property
    def input_port(self) -> Any:
        """The port as the graph has it; None where that was not given as objects."""
        return self.definition

    def set_input_value(self, value: Any) -> None:
        """Sets the port for the next evaluation.

        Raises
        ------
        MdfNameError
            Edges alone feed the port.
        """
        self._enode._state.set_input(f"{self._enode.id}.{self.id}", value)


class EvaluableFunction(EvaluablePart):
    """A function."""

    @property
    def function(self) -> Any:
        """The function as the graph has it."""
        return self.definition


class EvaluableParameter(EvaluablePart):
    """A parameter."""

    @property
    def parameter(self) -> Any:
        """The parameter as the graph has it."""
        return self.definition


class EvaluableOutput(EvaluablePart):
    """An output port."""

    @property
    def output_port(self) -> Any:
        """The port as the graph has it."""
        return self.definition


_KINDS = {
    PART_INPUT: (EvaluableInput, "input_ports"),
    PART_FUNCTION: (EvaluableFunction, "functions"),
    PART_PARAMETER: (EvaluableParameter, "parameters"),
    PART_OUTPUT: (EvaluableOutput, "output_ports"),
}


class EvaluableNode:
    """A node and its parts, by id.

    Attributes
    ----------
    evaluable_inputs, evaluable_functions, evaluable_parameters, evaluable_outputs : dict
    """

    def __init__(self, node: Any, number: int, state: State) -> None:
        self.node, self.id = node, node.id
        self._number, self._state = number, state
        self.evaluable_inputs = self._parts(PART_INPUT)
        self.evaluable_functions = self._parts(PART_FUNCTION)
        self.evaluable_parameters = self._parts(PART_PARAMETER)
        self.evaluable_outputs = self._parts(PART_OUTPUT)

    def _parts(self, kind: int) -> dict[str, Any]:
        make, field = _KINDS[kind]
        definitions = {item.id: item for item in getattr(self.node, field, ())}
        ids = self._state.program.part_ids(self._number, kind)
        return {id: make(self, kind, i, id, definitions.get(id)) for i, id in enumerate(ids)}

    def find(self, name: str) -> EvaluablePart | None:
        """The part of that id: an input port goes before a parameter, a function, an output port."""
        for parts in (self.evaluable_inputs, self.evaluable_parameters, self.evaluable_functions, self.evaluable_outputs):
            if name in parts:
                return parts[name]
        return None

    def get_output(self, id: str | None = None) -> Any:
        """Value of an output port; without an id that of the only one, or a tuple of all."""
        if id is not None:
            return self.evaluable_outputs[id].curr_value if id in self.evaluable_outputs else None
        values = tuple(part.curr_value for part in self.evaluable_outputs.values())
        return values[0] if len(values) == 1 else values


class EvaluableGraph:
    """Evaluates a graph.

    Parameters
    ----------
    graph
        A modeci_mdf Graph or Model, a dict, a path, JSON text, an ONNX model (see :func:`mdf_c.load`).
    verbose : bool
        Tell on standard output what each evaluation ran.
    **settings
        Those of :class:`mdf_c.Settings`. The dialect is by default the reference, but PsyNeuLink's of a Graph that PsyNeuLink made.

    Attributes
    ----------
    graph
        As given.
    enodes : dict of str to EvaluableNode
    root_nodes : list of str
        Ids of the nodes that no edge leads to.
    output_nodes, output_enodes : list
        Nodes that no edge leaves, and their evaluable counterparts.
    scheduler : Scheduler
        Which nodes ran, and under which conditions.

    Raises
    ------
    MdfError
        The graph is invalid.
    """

    def __init__(self, graph: Source, verbose: bool = False, **settings: Any) -> None:
        self.graph, self.verbose = graph, verbose
        settings_of(settings, EvaluableGraph)
        source = graph
        if "dialect" not in settings:
            settings["dialect"] = "psyneulink" if _is_psyneulinks(graph) else "reference"
            source = _with_draws_of_onnx(graph) if _is_psyneulinks(graph) else graph
        self.state = compile(source if isinstance(source, Model) else Model(source), **settings).state()
        ids = self.state.program.nodes
        given = {node.id: node for node in getattr(graph, "nodes", ())}
        nodes = [given.get(id) or SimpleNode(id=id) for id in ids]
        self.enodes = {node.id: EvaluableNode(node, i, self.state) for i, node in enumerate(nodes)}
        self._nodes = dict(zip(ids, nodes))
        self._input_names = {port for enode in self.enodes.values() for port in enode.evaluable_inputs}
        self._words: bytes | None = None  # the sets of the last evaluation
        self._is_scheduled = lib.mdf_program_is_scheduled(self.state.program._pointer)
        self.scheduler = Scheduler(nodes, self._read_conditions, self.state.program.layers)
        self._record = self.scheduler.record
        edges = getattr(graph, "edges", None) or ()
        receivers, senders = {edge.receiver for edge in edges}, {edge.sender for edge in edges}
        self.ordered_edges = list(edges)
        self.root_nodes = [id for id in ids if id not in receivers]
        self.output_nodes = [node for node in nodes if node.id not in senders]
        self.output_enodes = [self.enodes[node.id] for node in self.output_nodes]

    @property
    def order_of_execution(self) -> list[str]:
        """Ids of the nodes in the order they ran, over all evaluations."""
        return [node.id for nodes in self.scheduler.sets() for node in nodes]

    def evaluate(
        self,
        time_increment: float | None = None,
        array_format: str = FORMAT_NUMPY,
        initializer: Mapping[str, Any] | None = None,
    ) -> None:
        """Evaluates the graph once.

        Parameters
        ----------
        time_increment : float, optional
            Time step, for parameters with a time derivative.
        array_format : str
            "numpy".
        initializer : dict, optional
            Values of input ports, by id of the port; other names are passed over.

        Raises
        ------
        MdfError
            The evaluation failed.
        ValueError
            Another format than numpy was asked for.
        """
        if array_format != FORMAT_NUMPY:
            raise ValueError(f"arrays are NumPy's here, not those of {array_format!r}")
        if initializer is not None:
            self._initialize(initializer)
        self.state.evaluate(time_increment)
        if self._words is None or self._is_scheduled:
            self._words = self.state.schedule_words()
        self._record(self._words)
        if self.verbose:
            print(f"Evaluated {self.state.program.graph_id}: {self.state.schedule()}\n  outputs: {self.state.outputs()}")

    def _initialize(self, initializer: Mapping[str, Any]) -> None:
        if not isinstance(initializer, Mapping):
            raise TypeError(f"an initializer is a dict of values by port, not a {type(initializer).__name__}")
        for name in self._input_names & initializer.keys():
            try:
                self.state.set_input(name, initializer[name])
            except MdfNameError:  # edges alone feed it
                self._input_names.discard(name)

    def parse_condition(self, condition: Any) -> Any:
        """A condition of MDF as one of graph_scheduler. See :meth:`ConditionReader.read`."""
        return ConditionReader(self._nodes, self.enodes).read(condition)

    def _read_conditions(self) -> tuple[dict, dict]:
        conditions = getattr(self.graph, "conditions", None)
        specific = getattr(conditions, "node_specific", None) or {}
        termination = getattr(conditions, "termination", None) or {}
        return (
            {self._nodes[node]: self.parse_condition(condition) for node, condition in specific.items()},
            {as_time_scale(scale): self.parse_condition(condition) for scale, condition in termination.items()},
        )


def _is_psyneulinks(graph: Any) -> bool:
    """Whether PsyNeuLink wrote a graph that stands on its own, and so has no `generating_application`: it says of each of its
    compositions what class it is, and whether that is executed until it is finished."""
    metadata = getattr(graph, "metadata", None) or {}
    return str(metadata.get("type")).endswith("Composition") and "execute_until_finished" in metadata


def _with_draws_of_onnx(graph: Any) -> dict[str, Any]:
    """The graph as a document in which calls of ONNX that draw random numbers are nothing but that: by their seed they give the same
    numbers in each run, as with modeci_mdf. (By the names of PsyNeuLink's distributions the dialect would draw PsyNeuLink's numbers.)"""
    document = json.loads(as_bytes(graph)[0])  # type: ignore[index] # it is no path
    graphs = [each for model in document.values() for each in model["graphs"].values()]
    for function in (
        function for each in graphs for node in each["nodes"].values() for function in node.get("functions", {}).values()
    ):
        if str(function.get("function")).lower().startswith("onnx::random"):
            (function.get("metadata") or {}).pop("type", None)
    return document


class SimpleNode(SimpleNamespace):
    """Stands for a node of a graph that was not given as objects; told apart by identity."""

    __hash__ = object.__hash__  # type: ignore[assignment] # a SimpleNamespace has none
    __eq__ = object.__eq__
