"""Scan, Loop and If with bodies that are ONNX graphs: the call as an ONNX model of one node."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..engine import load

if TYPE_CHECKING:
    from ._onnx_call import _Call


def _as_proto(body: Any) -> tuple[Any, int | None]:
    """A GraphProto, and the opset that came with it."""
    import onnx

    if isinstance(body, (str, os.PathLike)):
        body = onnx.load(os.fspath(body))
    if isinstance(body, onnx.ModelProto):
        opset = next((entry.version for entry in body.opset_import if entry.domain in ("", "ai.onnx")), None)
        return body.graph, opset
    return body, None


def run_with_bodies(operator: str, call: _Call, singles: tuple[str, ...], opset: int) -> list[Any]:
    """Runs the call. ``singles`` are the formals but for the variadic one, in their order.

    Raises
    ------
    ImportError
        onnx is not installed.
    """
    from onnx import helper

    attributes = dict(call.attributes)
    for name in ("body", "then_branch", "else_branch"):
        if name in attributes:
            attributes[name], own = _as_proto(attributes[name])
            opset = own or opset
    values = [*(call.single.get(name) for name in singles), *call.rest]
    names = ["" if value is None else f"input_{i}" for i, value in enumerate(values)]
    n_yields = len(attributes["then_branch" if operator == "If" else "body"].output) - (operator == "Loop")
    outputs = [f"output_{i}" for i in range(n_yields)]
    graph = helper.make_graph(
        [helper.make_node(operator, names, outputs, name="call", **attributes)],
        "call",
        [helper.make_empty_tensor_value_info(name) for name in names if name],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    state = load(model).compile().state()
    state.set_inputs({name: value for name, value in zip(names, values) if name}, lend=True)
    state.evaluate()
    return list(state.results().values())
