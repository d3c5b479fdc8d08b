"""One call of an ONNX operator: arguments bound to formals, a model of one node, its outputs."""

from __future__ import annotations

import ctypes
from functools import cache, lru_cache
from typing import Any, NamedTuple

from .._documents import as_bytes, as_graph
from .._library import lib
from .._settings import hint_of
from ..engine import Program, load
from ..errors import MdfError

DEFAULT_OPSET = 15
_CONTROL_FLOW = ("Scan", "Loop", "If")
_PORT = "mdf_c_input_"


class Form(NamedTuple):
    """What an operator takes and yields: names of formals; ``variadic`` is the last input where it stands for any number."""

    inputs: tuple[str, ...]
    optional: frozenset[str]
    variadic: bool
    outputs: tuple[str, ...]
    attributes: tuple[str, ...]

    @property
    def singles(self) -> tuple[str, ...]:
        """The inputs that are one argument each."""
        return self.inputs[:-1] if self.variadic else self.inputs


@cache
def form_of(operator: str, opset: int = DEFAULT_OPSET) -> Form:
    """The form of an operator.

    Raises
    ------
    ValueError
        ONNX has no such operator.
    """
    size = lib.mdf_onnx_operator_form(operator.encode(), opset, None, 0) + 1
    if size == 1:
        raise ValueError(f"ONNX has no operator {operator!r}")
    buffer = ctypes.create_string_buffer(size)
    lib.mdf_onnx_operator_form(operator.encode(), opset, buffer, size)
    inputs, outputs, attributes = (part.split() for part in buffer.value.decode().split("|"))
    variadic = bool(inputs) and inputs[-1].endswith("*")
    optional = frozenset(name[:-1] for name in inputs if name.endswith("?"))
    return Form(tuple(name.rstrip("?*") for name in inputs), optional, variadic, tuple(outputs), tuple(attributes))


class _Call(NamedTuple):
    """Arguments by what they are for. ``rest`` is what the variadic input stands for."""

    single: dict[str, Any]
    rest: list[Any]
    attributes: dict[str, Any]


def _bind(operator: str, form: Form, args: tuple, kwargs: dict[str, Any]) -> _Call:
    attributes = {name: kwargs.pop(name) for name in list(kwargs) if name in form.attributes and name not in form.inputs}
    singles = form.singles
    single = {name: kwargs.pop(name) for name in singles if name in kwargs}
    rest: list[Any] = []
    if form.variadic:
        given = kwargs.pop(form.inputs[-1], [])
        rest += given if isinstance(given, (list, tuple)) else [given]
        rest += [kwargs.pop(name) for name in list(kwargs)]
    positional = list(args)
    for name in singles:
        if name not in single and positional:
            single[name] = positional.pop(0)
    if form.variadic:
        rest = positional + rest
        positional = []
    for name in form.attributes:
        if positional and name not in attributes:
            attributes[name] = positional.pop(0)
    if positional or kwargs:
        extra = ", ".join(kwargs) or f"{len(positional)} more by position"
        attributes_of = f"the attributes {', '.join(form.attributes)}" if form.attributes else "no attributes"
        hint = hint_of(next(iter(kwargs)), [*form.inputs, *form.attributes]) if kwargs else ""
        raise TypeError(f"onnx::{operator} takes the inputs {', '.join(form.inputs)} and {attributes_of}, not {extra}{hint}")
    single = {name: single[name] for name in singles if name in single}
    for name in form.optional & single.keys():
        if isinstance(single[name], str) and not single[name]:
            single[name] = None
    return _Call(single, rest, {name: value for name, value in attributes.items() if value is not None})


def _plain_body(body: Any) -> Any:
    """A body as a dict, from a graph object, a dict, or the path of a model."""
    graph = as_graph(body)
    if graph is not None:
        return graph
    from ..conversion import to_dict

    model = next(iter(to_dict(load(body)).values()))
    return dict([next(iter(model["graphs"].items()))])


@lru_cache(maxsize=512)
def _program(document: str) -> Program:
    return load(document).compile()


def _without_place(error: MdfError) -> MdfError:
    """The error of a call as it is without the model of one node that is made of it."""
    message = error.message if error.message.startswith("onnx::") else f"{error.path}: {error.message}" if error.path else error.message
    return type(error)(message, code=error.code, suggestion=error.suggestion)


def _count_outputs(operator: str, form: Form, call: _Call) -> int | None:
    """How many outputs to ask for; None: all that a body yields, as a list."""
    if operator in _CONTROL_FLOW:
        return None
    if operator == "BatchNormalization" and not call.attributes.get("training_mode"):
        return 1
    if not form.outputs[0].endswith("*"):
        return len(form.outputs)
    if call.attributes.get("num_outputs"):
        return int(call.attributes["num_outputs"])
    lengths = call.single.get("split", call.attributes.get("split"))
    return 2 if lengths is None else len(lengths)


def _evaluate(operator: str, form: Form, call: _Call, opset: int, n_outputs: int | None) -> Any:
    """One node of one function, compiled once per form of call."""
    ports: dict[str, Any] = {}

    def port(value: Any) -> str | None:
        if value is None:
            return None
        name = f"{_PORT}{len(ports)}"
        ports[name] = value
        return name

    args: dict[str, Any] = {name: port(value) for name, value in call.single.items()}
    if form.variadic:
        args[form.inputs[-1]] = [port(value) for value in call.rest]
    args.update(call.attributes)
    values = ["f"] if n_outputs in (None, 1) else [f"f[{i}]" for i in range(n_outputs)]
    node = {
        "input_ports": {name: {} for name in ports},
        "functions": {"f": {"function": f"onnx::{operator}", "args": args}},
        "output_ports": {f"out_{i}": {"value": value} for i, value in enumerate(values)},
    }
    document = as_bytes({"nodes": {"call": node}}, opset)[0]  # type: ignore[index] # a dict has bytes
    try:
        state = _program(document.decode()).state()
        state.set_inputs(ports, lend=True)
        state.evaluate()
    except MdfError as error:
        raise _without_place(error) from None
    if n_outputs is None:
        return state.function_values(0, 0)
    outcome = [state.output("call", f"out_{i}") for i in range(len(values))]
    return outcome[0] if len(outcome) == 1 else tuple(outcome)


def call_operator(operator: str, *args: Any, opset: int = DEFAULT_OPSET, n_outputs: int | None = None, **kwargs: Any) -> Any:
    """Calls an operator by ONNX's name; see the module."""
    form = form_of(operator, opset)
    bodies = [name for name in form.attributes if hasattr(kwargs.get(name), "SerializeToString")]
    if operator in _CONTROL_FLOW:
        if bodies or _is_onnx_file(kwargs):
            from ._onnx_body import run_with_bodies

            return run_with_bodies(operator, _bind(operator, form, args, kwargs), form.singles, opset)
        for name in ("body", "then_branch", "else_branch"):
            if kwargs.get(name) is not None:
                kwargs[name] = _plain_body(kwargs[name])
    call = _bind(operator, form, args, kwargs)
    return _evaluate(operator, form, call, opset, n_outputs or _count_outputs(operator, form, call))


def _is_onnx_file(kwargs: dict[str, Any]) -> bool:
    return any(str(kwargs.get(name, "")).endswith(".onnx") for name in ("body", "then_branch"))
