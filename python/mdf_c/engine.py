"""Models, programs and states: the life of an evaluation, as mdf.h has it."""

from __future__ import annotations

import ctypes
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from ctypes import byref
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ._documents import Origin, Source
from ._findings import Findings, Warnings, located
from ._interrupt import interruptible, only_ctrl_c_is_handled
from ._library import (
    PART_FUNCTION,
    PART_INPUT,
    PART_OUTPUT,
    WARNING_HANDLER,
    Error,
    Handle,
    Tensor,
    Uncopied,
    c_path,
    c_text,
    checked,
    lib,
    text,
)
from ._record import fields, replace
from ._settings import Settings, functions_of, hint_of, increment_of, options_of, settings_of
from ._values import InputArrays, Value, as_array, is_array, taker_of, tensor_of, to_python
from .custom import known_elsewhere
from .errors import MdfError, MdfNameError, MdfWarning

if TYPE_CHECKING:
    from .drawing import Drawing  # imported where a picture is drawn

# An evaluation that took longer than this is watched for Ctrl-C the next time (see _interrupt.py), as is the first.
_LONG_S = 0.005
# Found once: an evaluation may take less than finding them. Without types, as the state has its arguments ready as C's.
_clock, _evaluate = time.perf_counter, lib["mdf_evaluate"]
_set_inputs, _evaluate_anew, _results_locate = lib["mdf_set_inputs"], lib["mdf_evaluate_anew"], lib["mdf_results_locate"]
_results_locate.restype = ctypes.c_bool


# Of mdf_state_inspect.
_INSPECT_BODIES, _INSPECT_PROFILE = 1, 2


def _check_run(program: int | None, origin: Origin, inputs: Iterable[str], steps: int, dt: float | None) -> Warnings:
    collected, names = Warnings(origin), [str(name).encode() for name in inputs]
    given = (ctypes.c_char_p * len(names))(*names)
    arguments = program, given, len(names), steps, math.nan if dt is None else dt
    if lib.mdf_check_run(*arguments, WARNING_HANDLER(), None):  # a function that C calls takes long to make: only for those that are
        lib.mdf_check_run(*arguments, collected.handler, None)
    return collected


def warn_of_run(program: int | None, origin: Origin, inputs: Iterable[str], steps: int, dt: float | None) -> None:
    """Warns, before a run, of input ports that are 0 because nothing feeds them, neither the file nor one of the inputs, and of
    derivatives that stand still because there is no time increment."""
    _check_run(program, origin, inputs, steps, dt).emit()


class Model(Uncopied):
    """A model that has been read. Immutable: a copy is the model itself, and a pickle what it was read from. Made by :func:`load`.

    Attributes
    ----------
    id : str
    graphs : list of str
        Ids of its graphs.
    """

    def __init__(self, source: Source, format: str | None = None, **limits: Any) -> None:
        self._open(Origin.of(source, format), **limits).emit()

    @classmethod
    def _read(cls, origin: Origin) -> Model:
        """A model that has been read before, and warned of."""
        model = cls.__new__(cls)
        model._open(origin.unpacked())
        return model

    def _open(self, origin: Origin, **limits: Any) -> Findings:
        findings = Findings(origin)
        error, options = Error(), options_of(settings_of(limits, Model), findings)
        name = None if origin.is_object else c_path(origin.name)  # else messages would have places of a text that nobody wrote
        format = None if origin.format is None else c_text(origin.format, "format")
        if origin.content is None:
            pointer = lib.mdf_model_load_file_as(name, format, options, error)
        else:
            pointer = lib.mdf_model_load_bytes(origin.content, len(origin.content), format, name, options, error)
        self._origin = origin
        self._handle = Handle(findings.take(pointer, error), lib.mdf_model_free)
        self._pointer = self._handle.pointer
        self.graphs = [text(lib.mdf_model_graph_id(pointer, i)) for i in range(lib.mdf_model_n_graphs(pointer))]
        return findings

    @cached_property
    def id(self) -> str:
        return text(lib.mdf_model_id(self._pointer))

    def __copy__(self) -> Model:
        return self

    def __deepcopy__(self, memo: dict) -> Model:
        return self

    def __reduce_ex__(self, protocol):
        return Model._read, (self._origin.packed(),)

    def __repr__(self) -> str:
        return f"<mdf_c.Model {self.id!r}, graphs {self.graphs}>"

    def graph(self, graph: str | None = None, detail: int = 0) -> Drawing:
        """A picture of one of the graphs, with the bodies of its loops.

        Parameters
        ----------
        graph : str, optional
            Its id; by default the one that runs where none is asked for.
        detail : {0, 1, 2, 3}
            1: names of nodes; 2: ports, parameters and functions too; 3: all; 0: 2, or 1 for large graphs.

        Raises
        ------
        MdfNameError
            There is no such graph.
        ValueError
            There is no such detail.
        """
        if detail not in (0, 1, 2, 3):
            raise ValueError(f"detail is 0, 1, 2 or 3, not {detail!r}")
        arguments = self._pointer, None if graph is None else c_text(graph, "graph"), detail
        length = lib.mdf_model_dot(*arguments, None, 0)
        if not length and graph not in (None, *self.graphs):
            raise MdfNameError(f"the model has no graph '{graph}': its graphs are {', '.join(self.graphs)}")
        dot = ctypes.create_string_buffer(length + 1)
        lib.mdf_model_dot(*arguments, dot, len(dot))
        from .drawing import Drawing

        return Drawing(text(dot.value))

    def _repr_html_(self) -> str:
        from .drawing import titled

        return titled(repr(self), self.graph()._repr_html_())

    def save(self, path: str | os.PathLike, **settings: Any) -> None:
        """Writes the model: .json, .yaml, .yml, .bson or .onnx by suffix; to .onnx goes what one evaluation computes.

        Keywords are those of :class:`Settings`, for .onnx only: ``graph``, ``parameters``, and ``float32=True``, which ONNX Runtime has kernels for
        where it has none for float64.

        Raises
        ------
        MdfError
            The suffix is none of these, the file can not be written, or something has no form in ONNX.
        TypeError
            A setting for another format than ONNX, or one that there is not.
        """
        error = Error()
        if not settings:
            checked(lib.mdf_model_save_file(self._pointer, c_path(path), error), error)
            return
        if not os.fspath(path).endswith(".onnx"):
            raise TypeError(f"{', '.join(settings)}: settings are for models that are written as ONNX")
        compiled = self.compile(**settings)  # for its warnings and errors, which have their places
        checked(lib.mdf_model_save_onnx(self._pointer, c_path(path), options_of(compiled.settings, Findings(self._origin)), error), error)

    def compile(self, **settings: Any) -> Program:
        """The program of one graph. Keywords are those of :class:`Settings`.

        Raises
        ------
        MdfError
            The model is invalid.
        """
        return Program(self, settings_of(settings, compile))


class Program(Uncopied):
    """A compiled graph. Immutable: threads may share it, each with states of its own; a copy is the program itself, and a pickle
    what it was made from, with its settings. Made by :func:`compile`.

    Attributes
    ----------
    model_id, graph_id : str
    nodes : list of str
        Ids of the nodes, in the order of the file.
    inputs : list of str
        What the graph takes.
    results : list of str
        What the graph yields.
    outputs : dict of (str, str) to (int, int)
        Position of every output port, by node and port.
    """

    def __init__(self, model: Model, settings: Settings) -> None:
        self._make(model, settings).emit()

    @classmethod
    def _remade(cls, origin: Origin, settings: Settings) -> Program:
        """A program that has been compiled before, and warned of."""
        program = cls.__new__(cls)
        program._make(Model._read(origin), settings)
        return program

    def _make(self, model: Model, settings: Settings) -> Findings:
        if not isinstance(model, Model) or not isinstance(settings, Settings):
            raise TypeError("a program is made of a Model and Settings: see compile")
        self._functions = functions_of(settings)
        findings = Findings(model._origin, settings.graph or (model.graphs[0] if len(model.graphs) == 1 else None))
        pointer = self._compiled(model, settings, findings)
        self._handle = Handle(pointer, lib.mdf_program_free, self._functions.handle)
        self._pointer = self._handle.pointer
        self._origin, self.settings = model._origin, settings
        self.inputs = [text(lib.mdf_program_graph_input_name(pointer, i)) for i in range(lib.mdf_program_n_graph_inputs(pointer))]
        self.results = [text(lib.mdf_program_result_name(pointer, i)) for i in range(lib.mdf_program_n_results(pointer))]
        return findings

    # Read when they are asked for: a run takes inputs and results only.

    @cached_property
    def model_id(self) -> str:
        return text(lib.mdf_program_model_id(self._pointer))

    @cached_property
    def graph_id(self) -> str:
        return text(lib.mdf_program_graph_id(self._pointer))

    @cached_property
    def nodes(self) -> list[str]:
        return [text(lib.mdf_program_node_id(self._pointer, i)) for i in range(lib.mdf_program_n_nodes(self._pointer))]

    @cached_property
    def outputs(self) -> dict[tuple[str, str], tuple[int, int]]:
        return {(node, port): (i, j) for i, node in enumerate(self.nodes) for j, port in enumerate(self.part_ids(i, PART_OUTPUT))}

    def _compiled(self, model: Model, settings: Settings, findings: Findings) -> int:
        error = Error()
        names = c_names(settings.changeable)
        pointer = lib.mdf_compile_changeable(model._pointer, names, len(names), options_of(settings, findings), error)
        return findings.take(pointer, error)

    def __copy__(self) -> Program:
        return self

    def __deepcopy__(self, memo: dict) -> Program:
        return self

    def __reduce_ex__(self, protocol):
        return Program._remade, (self._origin.packed(), self._settings_elsewhere())

    def _settings_elsewhere(self) -> Settings:
        """The settings for another process, which has registered no functions."""
        functions = self.settings.functions if self.settings.functions is not None else known_elsewhere()
        return replace(self.settings, functions=functions)

    def __repr__(self) -> str:
        return f"<mdf_c.Program of graph {self.graph_id!r}, inputs {self.inputs}, results {self.results}>"

    def graph(self, detail: int = 0) -> Drawing:
        """A picture of the program's graph. See :meth:`Model.graph`."""
        return Model._read(self._origin).graph(self.graph_id, detail)

    def _repr_html_(self) -> str:
        from .drawing import titled

        return titled(repr(self), self.graph()._repr_html_())

    def part_ids(self, node: int, kind: int) -> list[str]:
        """Ids of the parts of one kind (PART_INPUT, ...) that node number `node` has."""
        count = lib.mdf_program_n_parts(self._pointer, node, kind)
        return [text(lib.mdf_program_part_id(self._pointer, node, kind, i)) for i in range(count)]

    def layers(self) -> list[list[int]]:
        """The consideration queue: numbers of the nodes that wait for no other of their layer, layer by layer."""
        return [
            [lib.mdf_program_layer_node(self._pointer, i, j) for j in range(lib.mdf_program_layer_size(self._pointer, i))]
            for i in range(lib.mdf_program_n_layers(self._pointer))
        ]

    def input_ports(self) -> list[tuple[str, str]]:
        """Every input port, as (node, port)."""
        return [(node, port) for i, node in enumerate(self.nodes) for port in self.part_ids(i, PART_INPUT)]

    def find_outputs(self, name: str) -> list[tuple[str, str]]:
        """The output ports that NODE.PORT, or a unique PORT, stands for.

        Raises
        ------
        MdfNameError
            There is none, or PORT is not unique.
        """
        return find_ports(self.outputs, name)

    def state(self, parameters: Mapping[str, Any] | None = None) -> State:
        """A new state: the buffers of one thread's evaluations.

        Parameters
        ----------
        parameters : dict, optional
            Values of parameters: see :meth:`State.set_parameter`. Those that the program does not keep changeable are kept so by a
            program of their own, which is compiled when it is first asked for and serves all states that get these parameters.
        """
        state = State(self._keeping(tuple(name for name in parameters or {} if name not in self.settings.changeable)))
        for name, value in (parameters or {}).items():
            state.set_parameter(name, value)
        return state

    def _keeping(self, names: tuple[str, ...]) -> Program:
        """This program, or one that keeps these parameters changeable too, compiled once."""
        if not names:
            return self
        kept = self.__dict__.setdefault("_kept", {})
        if names not in kept:
            settings = replace(self.settings, changeable=(*self.settings.changeable, *names))
            kept[names] = Program._remade(self._origin, settings)
        return kept[names]

    def _derivatives(self, kind: str, of: str, wrt: Sequence[str], steps: int, dt: float | None) -> Any:
        """What :mod:`mdf_c.gradients` compiles of this program's model, once."""
        from . import gradients

        compiled = self.__dict__.setdefault("_compiled_derivatives", {})
        key = kind, of, tuple(wrt), steps, dt
        if key not in compiled:
            settings = fields(self.settings)
            compiled[key] = getattr(gradients, kind)(Model._read(self._origin), of, list(wrt), steps=steps, dt=dt, **settings)
        return compiled[key]

    def jvp(
        self,
        of: str,
        directions: Mapping[str, Any],
        *,
        parameters: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        steps: int = 1,
        dt: float | None = None,
    ) -> tuple[Any, Any]:
        """A value, and how it changes in a direction of parameters: :func:`mdf_c.jvp`, compiled at the first call.

        Parameters
        ----------
        of : str
            A result, or an output port.
        directions : dict of str to array
            The direction, by parameter, in its shape.
        parameters : dict, optional
            Values of these parameters; others are as the model has them.
        inputs, steps, dt
            As of :func:`mdf_c.gradient`.
        """
        return self._derivatives("jvp", of, list(directions), steps, dt)(directions, parameters, inputs)

    def vjp(
        self,
        of: str,
        wrt: Sequence[str],
        cotangent: Any = 1.0,
        *,
        parameters: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        steps: int = 1,
        dt: float | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """A value, and a vector of its shape times its derivatives by parameters: :func:`mdf_c.vjp`, compiled at the first call.

        Parameters
        ----------
        of, wrt
            As of :func:`mdf_c.gradient`.
        cotangent : array
            The vector; a number: that in all elements.
        parameters, inputs, steps, dt
            As of :meth:`jvp`.
        """
        return self._derivatives("vjp", of, wrt, steps, dt)(parameters, inputs, cotangent=cotangent)

    def hvp(
        self,
        of: str,
        directions: Mapping[str, Any],
        *,
        parameters: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        steps: int = 1,
        dt: float | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """A value, and its Hessian by parameters times a direction of them: :func:`mdf_c.hvp`, compiled at the first call.

        Parameters
        ----------
        of, directions, parameters, inputs, steps, dt
            As of :meth:`jvp`.
        """
        return self._derivatives("hvp", of, list(directions), steps, dt)(directions, parameters, inputs)


def c_names(names: Sequence[str]) -> ctypes.Array:
    """Names of parameters, as C has them."""
    return (ctypes.c_char_p * len(names))(*(c_text(name, "the name of a parameter") for name in names))


def _unknown_output(ports: Sequence[tuple[str, str]], name: str) -> MdfNameError:
    names = [f"{node}.{port}" for node, port in ports]
    import difflib  # for mistakes only

    nearest = difflib.get_close_matches(name, [port for _, port in ports] + names, 1)
    hint = f"; did you mean '{nearest[0]}'?" if nearest else ""
    listed = f"; there are {', '.join(names)}" if not nearest and 0 < len(names) <= 12 else ""
    return MdfNameError(f"no output port is named '{name}'{hint}{listed}", suggestion=nearest[0] if nearest else None)


def find_ports(ports: Iterable[tuple[str, str]], name: str) -> list[tuple[str, str]]:
    """Of (node, port), those that a name stands for; see :meth:`Program.find_outputs`."""
    ports = list(ports)
    found = [key for key in ports if f"{key[0]}.{key[1]}" == name] or [key for key in ports if key[1] == name]
    if len(found) == 1:
        return found
    if not found:
        raise _unknown_output(ports, name)
    raise MdfNameError(f"{len(found)} output ports are named '{name}': say NODE.{name}")


class State(Uncopied):
    """What evaluations of a program work on: the buffers of one thread. It is not pickled; :meth:`copy` makes another one.

    While it is evaluated, other threads and handlers of signals get a RuntimeError, unless they :meth:`interrupt` it.

    Parameters
    ----------
    program : Program
    """

    def __init__(self, program: Program) -> None:
        if not isinstance(program, Program):
            raise TypeError(f"a state is of a Program, not of {type(program).__name__}")
        self._error = Error()
        self.program = program
        pointer = self._check(lib.mdf_state_new(program._pointer, self._error))
        self._handle = Handle(pointer, lib.mdf_state_free, program._handle)
        self._pointer = pointer
        self._increment = ctypes.c_double()
        self._dt: float | None = None  # what it is
        self._seed = ctypes.c_uint64(program.settings.seed)
        self._arguments = (ctypes.c_void_p(self._pointer), self._increment, byref(self._error))
        self._lock = threading.RLock()  # held by who looks at the state, or evaluates it
        self._is_evaluated = False
        self._lent: list[Any] = []
        self._known: dict[tuple, tuple] = {}  # by the names of inputs: the arrays that they were, arguments of a call with such ones
        self._tensors = (Tensor * len(program.results))()  # what results were
        self._takers: list[tuple[str, Tensor, Callable[[int], Any]]] = []  # of each, by its address
        self._whole_keys: frozenset[str] = frozenset()  # results of which the keys of objects are whole numbers
        self._results_arguments = (ctypes.c_void_p(pointer), self._tensors, ctypes.c_size_t(len(program.results)))
        self._words = (ctypes.c_size_t * 64)()
        self._may_be_long = True
        self._has_inputs = False  # they have been set before
        self._n_checked = 0  # evaluations that were looked at for what they quietly take: of the first two
        self._given: set[str] = set()  # names of inputs before the first one

    def __repr__(self) -> str:
        return f"<mdf_c.State of graph {self.program.graph_id!r}>"

    def __reduce_ex__(self, protocol):
        raise TypeError("a State can not be copied or pickled: make another one of its program, with program.state() or state.copy()")

    def _free(self) -> threading.RLock:
        """The lock, where the state is not being evaluated: who looks at it waits for others that do, but not for an evaluation."""
        if self._is_evaluated:
            raise RuntimeError("the state is being evaluated")
        return self._lock

    def _run(self, call: Callable[[], Any] | None, long_s: float, dt: float = math.nan) -> None:
        """`call()`, an evaluation in the engine, during which nobody else may use the state; one that takes longer than `long_s`
        is watched for Ctrl-C the next time. None: one evaluation, with this time increment."""
        if self._is_evaluated:
            self._free()
        if self._lock._is_owned():  # type: ignore[attr-defined]  # a handler of a signal, or a method of a value that is being set
            raise RuntimeError("the state is in use: it can not be evaluated now")
        with self._lock:
            self._is_evaluated = True
            try:
                if dt is not self._dt:  # mostly it is that of the evaluation before: what ctypes sets and looks at takes long
                    self._increment.value = self._dt = dt
                may_have_failed = True
                start = _clock()
                if self._may_be_long:
                    self._guard(call or (lambda: _evaluate(*self._arguments)))
                elif call is None:
                    may_have_failed = _evaluate(*self._arguments)
                else:
                    call()
                self._may_be_long = _clock() - start > long_s
                if may_have_failed and self._error.code:
                    self._check(None)
            except BaseException:  # what an evaluation that was called off has to say is no error of the next call
                ctypes.memset(byref(self._error), 0, ctypes.sizeof(Error))
                raise
            finally:
                self._is_evaluated = False

    def _check(self, result: Any) -> Any:
        if not self._error.code:
            return result
        exception = self._error.exception(lambda parts: located(parts, self.program._origin, self.program.graph_id))
        self._error.code = 0
        ctypes.memset(byref(self._error), 0, ctypes.sizeof(Error))
        raise exception

    def set_parameter(self, name: str, value: Any) -> None:
        """Sets a parameter that the program keeps changeable (``compile(model, changeable=[name])``), before the first evaluation of
        the state, or the first after :meth:`reset`, which gives all parameters the values of the model again.

        Parameters
        ----------
        name : str
            NODE.PARAMETER, or PARAMETER for every one of that name.
        value
            A number or an array of numbers. float64, int64 and bool count as if they stood in the model, other types stay what they
            are.

        Raises
        ------
        MdfNameError
            No parameter of that name is changeable.
        MdfError
            The value does not fit, or the state has been evaluated.
        """
        array = as_array(value if is_array(value) else np.asarray(value))
        with self._free():
            self._check(lib.mdf_set_parameter(self._pointer, c_text(name, "the name of a parameter"), tensor_of(array), self._error))

    def reset(self) -> None:
        """Makes the state as it was when it was new: without inputs, and with the parameters of the model."""
        self._renew()

    def copy(self) -> State:
        """A new state that goes on from where this one is: with its values, clocks, random numbers, parameters and inputs.

        Evaluations of either give the same bits, and change nothing in the other.
        """
        copy = State(self.program)
        copy.restore(self)
        return copy

    def restore(self, snapshot: State) -> None:
        """Goes on from where another state of the same program is: one that :meth:`copy` gave, or any other, which stays as it is.
        The memory of this state, and the ways that it has found to run, stay for later use.

        Raises
        ------
        MdfError
            The states are of different programs, or memory is refused: then the state is as new.
        """
        first, second = (self, snapshot) if id(self) < id(snapshot) else (snapshot, self)
        with first._free(), second._free():
            self._check(lib.mdf_state_copy(self._pointer, snapshot._pointer, self._error))
            self._lent.clear()
            self._n_checked, self._given = snapshot._n_checked, set(snapshot._given)

    def set_input(self, name: str, value: Any) -> None:
        """Sets an input for the next evaluation.

        Parameters
        ----------
        name : str
            PORT (every port of that name, in any node) or NODE.PORT.
        value
            An array (NumPy, buffer protocol, DLPack), number, text, list, dict or None; copied.

        Raises
        ------
        MdfNameError
            No port that takes inputs has that name.
        """
        c_text(name, "the name of an input")
        self.set_inputs({name: value})

    def _set_input(self, name: str, value: Any, lend: bool) -> None:
        port = c_text(name, "the name of an input")
        if self._n_checked == 0:
            self._given.add(name)
        if is_array(value):
            array = as_array(value)
            if lend:
                self._lent.append(array)
            give = lib.mdf_lend_input if lend else lib.mdf_set_input
            self._check(give(self._pointer, port, tensor_of(array), self._error))
        else:
            made = Value(value)
            self._check(lib.mdf_set_input_value(self._pointer, port, made.pointer, self._error))

    def _point_at(self, inputs: Mapping[str, Any]) -> tuple | None:
        """Arguments of a call with inputs that are arrays like those of an earlier one; None where they are not."""
        known, arguments = self._known.get(tuple(inputs), (None, None))
        return arguments if known is not None and known.point_at(inputs) else None

    def _remember(self, inputs: Mapping[str, Any]) -> None:
        known = InputArrays.of(inputs)
        if known is not None:
            arguments = (known.names, known.tensors, ctypes.c_size_t(len(inputs)), byref(self._error))
            self._known[tuple(inputs)] = (known, arguments)

    def set_inputs(self, inputs: Mapping[str, Any], *, lend: bool = False) -> None:
        """:meth:`set_input` for each.

        Parameters
        ----------
        inputs : dict
            Values by name.
        lend : bool
            Look at arrays where they are rather than copy them: they must not change while the state is in use, which keeps
            them alive. For states that are evaluated once.
        """
        if type(inputs) is not dict and not isinstance(inputs, Mapping):
            raise TypeError(f"inputs are a dict of values by name, not a {type(inputs).__name__}")
        with self._free():
            arguments = None if lend else self._point_at(inputs)
            if arguments is None:
                for name, value in inputs.items():
                    self._set_input(name, value, lend)
                if not lend and self._has_inputs:  # who sets them once needs no arguments for the next time
                    self._remember(inputs)
                self._has_inputs = True
                return
            if self._n_checked == 0:
                self._given.update(inputs)
            if _set_inputs(self._arguments[0], *arguments):
                self._check(None)

    def evaluate(self, dt: float | None = None) -> None:
        """Evaluates the graph once.

        The first evaluation warns of input ports that are 0 because nothing feeds them and no input was set, the second one of
        derivatives that stand still because there is no ``dt``.

        Parameters
        ----------
        dt : float, optional
            The time increment. Without one, time derivatives take their initial values.

        Raises
        ------
        MdfError
            The evaluation failed.
        KeyboardInterrupt
            Ctrl-C; the state can be evaluated again. It is heard in the first evaluation of a state and in those that
            follow one of more than 5 ms; else at the end of the evaluation.
        """
        if self._n_checked < 2:
            self._warn_of_run(dt)
        self._run(None, _LONG_S, math.nan if dt is None else dt)

    def _warn_of_run(self, dt: float | None) -> None:
        """What `run` warns of as a whole, once for a state: of the inputs before its first evaluation, of `dt` before the second."""
        origin = self.program._origin
        dt = increment_of(dt)
        collected = _check_run(self.program._pointer, origin, self._given, 1 + self._n_checked, dt)
        if self._n_checked > 0:  # that of inputs has been told
            collected.found = collected.found[len(_check_run(self.program._pointer, origin, self._given, 1, dt).found) :]
        self._n_checked += 1
        collected.emit()

    def _take_as_checked(self) -> None:
        """Its caller has warned of all that there is to warn of."""
        self._n_checked = 2

    def _guard(self, call: Callable[[], Any]) -> None:
        try:
            if only_ctrl_c_is_handled():
                self._ask_by_ctrl_c(call)
            else:
                interruptible(call, self.interrupt)
        except BaseException:
            lib.mdf_state_forget_interrupt(self._pointer)  # the evaluation may have ended before it was heard
            ctypes.memset(byref(self._error), 0, ctypes.sizeof(Error))
            raise

    def _ask_by_ctrl_c(self, call: Callable[[], Any]) -> None:
        """`call()` in this thread, which Ctrl-C ends; KeyboardInterrupt is raised when it has."""
        before = None
        try:
            before = lib.mdf_ctrl_c_asks(self._pointer)
            call()
        finally:
            lib.mdf_ctrl_c_asks(before)

    def _renew(self) -> None:
        """Makes the state as it was when it was new; its memory, and the ways that it has found to run, stay for later use."""
        with self._free():
            self._check(lib.mdf_state_reset(self._pointer, self.program.settings.seed, self._error))
            self._lent.clear()
            self._n_checked = 0
            self._given = set()

    def _evaluate_anew(self, inputs: Mapping[str, Any]) -> bool:
        """Makes the state as it was when it was new, and evaluates it, in one call, with inputs that are arrays like those of an
        earlier one; False where they are not: nothing is done then. After a long one it is watched for Ctrl-C. The state is its
        caller's alone."""
        arguments = self._point_at(inputs)
        if arguments is None:
            return False
        start = _clock()
        if self._may_be_long:
            self._guard(lambda: _evaluate_anew(self._arguments[0], self._seed, *arguments))
            self._check(None)
        elif _evaluate_anew(self._arguments[0], self._seed, *arguments):
            self._check(None)
        self._may_be_long = _clock() - start > _LONG_S
        return True

    def limit_time(self, seconds: float) -> None:
        """From now on all evaluations together have so many seconds, in place of the settings' ``time_limit`` for each; 0: no more."""
        lib.mdf_state_limit_time(self._pointer, seconds)

    def interrupt(self) -> None:
        """Asks the evaluation that is running to stop, from any thread; it then raises MdfInterrupted."""
        lib.mdf_state_interrupt(self._pointer)

    def output(self, node: str, port: str, *, copy: bool = True) -> Any:
        """Value of an output port after the last evaluation; None where its node has never run.

        Parameters
        ----------
        node, port : str
            Their ids.
        copy : bool
            False: an array is a read-only view; later evaluations do not change it.

        Raises
        ------
        MdfNameError
            There is no such port.
        """
        place = self.program.outputs.get((node, port))
        if place is None:
            names = [".".join(each) for each in self.program.outputs]
            raise MdfNameError(f"there is no output port '{port}' of a node '{node}'{hint_of(f'{node}.{port}', names)}")
        with self._free():
            return to_python(lib.mdf_output_at(self._pointer, *place), owner=None if copy else self._handle)

    def outputs(self) -> dict[str, dict[str, Any]]:
        """Every output port's value, by node and port."""
        values: dict[str, dict[str, Any]] = {node: {} for node in self.program.nodes}
        for node, port in self.program.outputs:
            values[node][port] = self.output(node, port)
        return values

    def results(self) -> dict[str, Any]:
        """What the graph yields, by name."""
        with self._free():
            if not self._takers or not _results_locate(*self._results_arguments):
                return self._look_at_results()
            return {name: take(tensor.data) for name, tensor, take in self._takers}

    def _look_at_results(self) -> dict[str, Any]:
        """The results one by one; how they are taken is remembered for the next time."""
        pointers = [lib.mdf_result_at(self._pointer, i) for i in range(len(self._tensors))]
        keys = [int if name in self._whole_keys else str for name in self.program.results]
        takers = [taker_of(pointer, tensor, key) for pointer, tensor, key in zip(pointers, self._tensors, keys)]
        self._takers = list(zip(self.program.results, self._tensors, takers))
        return {name: take(tensor.data) for name, tensor, take in self._takers}

    def part(self, node: int, kind: int, index: int, n_values: int) -> Any:
        """Value of a part of a node (see mdf_part_at): NumPy scalars for arrays without axes; a list where it has several."""
        with self._free():
            values = [to_python(lib.mdf_part_at(self._pointer, node, kind, index, i), scalars=True) for i in range(n_values)]
        return values[0] if n_values == 1 else values or None

    def function_values(self, node: int, function: int) -> list[Any]:
        """What a function yields, a value for each of its outputs."""
        count = lib.mdf_program_part_n_values(self.program._pointer, node, PART_FUNCTION, function)
        with self._free():
            return [to_python(lib.mdf_part_at(self._pointer, node, PART_FUNCTION, function, i)) for i in range(count)]

    def schedule_words(self) -> bytes:
        """The last evaluation's execution sets, packed; see :func:`unpack_schedule`."""
        with self._free():
            needed = lib.mdf_schedule_read(self._pointer, self._words, len(self._words))
            if needed > len(self._words):
                self._words = (ctypes.c_size_t * (2 * needed))()
                lib.mdf_schedule_read(self._pointer, self._words, needed)
            return bytes(memoryview(self._words).cast("B")[: needed * ctypes.sizeof(ctypes.c_size_t)])

    def schedule(self) -> list[list[str]]:
        """Execution sets of the last evaluation, in the order they ran, as ids of nodes."""
        return [[self.program.nodes[i] for i in numbers] for numbers in unpack_schedule(self.schedule_words())]

    def explain(self) -> str:
        """Which way the graph, its nodes and the bodies in them ran in the last evaluation, and why not a faster one.

        Types and shapes are stable from the third evaluation on: evaluate that often first.
        """
        with self._free():
            length = lib.mdf_explain(self._pointer, None, 0)
            text = ctypes.create_string_buffer(length + 1)
            lib.mdf_explain(self._pointer, text, len(text))
            return text.value.decode()

    def inspect(self, *, bodies: bool = False, profile: bool = False) -> None:
        """Tells the state, before its first evaluation or the first after a reset, to keep what its evaluations do.

        Parameters
        ----------
        bodies : bool
            Values inside the bodies of Scan, Loop and If: :meth:`bodies`.
        profile : bool
            Where the time goes: :meth:`profile`.

        Raises
        ------
        MdfError
            It has been evaluated already.
        """
        with self._free():
            self._check(lib.mdf_state_inspect(self._pointer, bodies * _INSPECT_BODIES + profile * _INSPECT_PROFILE, self._error))

    def bodies(self) -> dict[str, list[dict[str, Any]]]:
        """What bodies had in the last evaluation, by node: a list of calls, each a dict with the keys "operator", "body" and
        "iterations"; an iteration has "inputs", "outputs" (by node and port), and "bodies" where nodes of the body have such. An
        empty dict where :meth:`inspect` did not ask for it.
        """
        with self._free():
            return to_python(lib.mdf_state_bodies(self._pointer), scalars=True) or {}

    def profile(self) -> dict[str, Any]:
        """Where the time of all evaluations so far went: "total_s", "evaluations", and lists of dicts with "name", "calls", "time_s"
        and "self_s" under "nodes", "operators", "bodies" and "places", whose self_s add up to total_s. An empty dict where
        :meth:`inspect` did not ask for it.
        """
        with self._free():
            found = to_python(lib.mdf_state_profile(self._pointer), scalars=True) or {}
        return _plain(found)

    def profile_stacks(self) -> str:
        """The same as lines "graph;node;operator NANOSECONDS", for a flame graph."""
        with self._free():
            length = lib.mdf_state_profile_stacks(self._pointer, None, 0)
            text = ctypes.create_string_buffer(length + 1)
            lib.mdf_state_profile_stacks(self._pointer, text, len(text))
            return text.value.decode()

    @property
    def peak_bytes(self) -> int:
        """Most bytes that the state held at any time."""
        return lib.mdf_state_peak_bytes(self._pointer)


def _plain(value: Any) -> Any:
    """Numbers and texts in place of arrays without axes."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, (np.ndarray, np.generic)) else value


def unpack_schedule(words: bytes) -> list[list[int]]:
    """Execution sets as numbers of nodes, from :meth:`State.schedule_words`."""
    numbers = memoryview(words).cast("N").tolist()  # type: ignore[call-overload] # "N" is a size_t
    sets, place = [], 1
    for _ in range(numbers[0]):
        sets.append(numbers[place + 1 : place + 1 + numbers[place]])
        place += 1 + numbers[place]
    return sets


def load(source: Source, format: str | None = None) -> Model:
    """Reads a model.

    Parameters
    ----------
    source
        A path (.json, .yaml, .yml, .bson, .onnx), JSON text, bytes, a dict, a modeci_mdf Model or Graph, or an ONNX
        ModelProto.
    format : str, optional
        "json", "yaml", "bson" or "onnx", whatever the suffix.

    Raises
    ------
    MdfError
        It can not be read, or is invalid.
    """
    return source if isinstance(source, Model) else Model(source, format)


def compile(source: Source, **settings: Any) -> Program:
    """Compiles one graph of a model, or returns `source` where it is a program already.

    Parameters
    ----------
    source
        What :func:`load` takes, or a Model or Program.
    **settings
        Those of :class:`Settings`.

    Raises
    ------
    MdfError
        The model is invalid.
    """
    if isinstance(source, Program):
        if settings:
            raise TypeError("a program is compiled already: settings belong to compile")
        return source
    if not isinstance(source, Model):
        source = Model(source, **{name: settings[name] for name in ("max_memory", "time_limit") if name in settings})
    return source.compile(**settings)


def check(
    source: Source, inputs: Iterable[str] = (), steps: int = 1, dt: float | None = None, **settings: Any
) -> list[MdfError | MdfWarning]:
    """All that is wrong with a model, or can hardly be meant, without running it: errors, then warnings.

    Parameters
    ----------
    source
        What :func:`load` takes, or a Model.
    inputs : iterable of str
        Names of the inputs that a run sets.
    steps, dt
        Of the run, as :func:`mdf_c.run` has them.
    **settings
        Those of :class:`Settings`.
    """
    error, limits = Error(), {name: settings[name] for name in ("max_memory", "time_limit") if name in settings}
    found: list[MdfError | MdfWarning] = []
    findings: Findings | None = None
    names = [c_text(name, "the name of an input") for name in inputs]
    try:
        if isinstance(source, Model):
            model = source
        else:
            model = Model.__new__(Model)
            found += model._open(Origin.of(source), **limits).found
        options = settings_of(settings, check)
        findings = Findings(model._origin, options.graph or (model.graphs[0] if len(model.graphs) == 1 else None))
        given = (ctypes.c_char_p * len(names))(*names)
        lib.mdf_check(
            model._pointer, given, len(names), steps, math.nan if dt is None else dt, options_of(options, findings), error
        )
        findings.take(None, error)
    except MdfError as wrong:
        return [*wrong.errors, *found, *(findings.found if findings is not None else [])]
    return [*found, *findings.found]
