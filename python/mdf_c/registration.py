"""Scan, Loop and If for modeci_mdf's own engine, which has them on its blacklist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .functions._onnx_call import call_operator, form_of

_REGISTERED = ("Scan", "Loop", "If")


def _resolved(value: Any, names: dict[str, Any]) -> Any:
    """A list of names, which modeci_mdf hands over as it stands in the file, as what they name."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "U":
        value = value.tolist()
    if isinstance(value, list):
        return [names.get(item, item) if isinstance(item, str) else item for item in value]
    return value


def _for_engine(operator: str) -> Callable[..., Any]:
    """The operator as modeci_mdf's engine calls it: with all values of the node by keyword, or with the arguments alone."""
    form = form_of(operator)
    formals = {*form.inputs, *form.attributes}

    def function(*args: Any, **kwargs: Any) -> list[Any]:
        if form.variadic and form.inputs[-1] not in kwargs:
            return call_operator(operator, *args, **kwargs)
        given = {name: _resolved(value, kwargs) for name, value in kwargs.items() if name in formals}
        return call_operator(operator, *args, **given)

    function.__name__ = operator.lower()
    return function


def register() -> None:
    """Gives modeci_mdf's engine ``onnx::Scan``, ``onnx::Loop`` and ``onnx::If``, evaluated by this one.

    Models then use them like any other function of ONNX; a body is a graph (dict) in the function's args. May be called
    again.

    Raises
    ------
    ImportError
        modeci_mdf is not installed.
    """
    import modeci_mdf.functions.onnx as onnx_ops
    from modeci_mdf.functions.standard import add_mdf_function

    for operator in _REGISTERED:
        form = form_of(operator)
        name = operator.lower()
        setattr(onnx_ops, name, _for_engine(operator))
        passed = ", ".join(f"{formal}={formal}" for formal in form.inputs + form.attributes)
        add_mdf_function(
            name=f"onnx::{operator}",
            description=f"onnx::{operator}, evaluated by mdf_c",
            arguments=list(form.inputs),
            expression_string=f"onnx_ops.{name}({passed})",
        )
