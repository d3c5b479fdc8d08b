"""A function for each ONNX operator that the engine's table has."""

from __future__ import annotations

import keyword
from collections.abc import Callable
from typing import Any

from .._library import lib, text
from ._onnx_call import DEFAULT_OPSET, call_operator, form_of


def _define(operator: str) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        return call_operator(operator, *args, **kwargs)

    form = form_of(operator)
    function.__name__ = function.__qualname__ = function_name(operator)
    function.__doc__ = (
        f"onnx::{operator}.\n\nParameters\n----------\n"
        f"inputs\n    {', '.join(form.inputs) or 'none'}{' (any number)' if form.variadic else ''}\n"
        f"attributes\n    {', '.join(form.attributes) or 'none'}\n\n"
        f"Returns\n-------\n{', '.join(name.rstrip('?*') for name in form.outputs)}\n\n"
        "Raises\n------\nMdfError\n    Shapes, types or values do not fit.\n"
    )
    return function


def function_name(operator: str) -> str:
    """The name of an operator's function here."""
    name = operator.lower()
    return f"{name}_" if keyword.iskeyword(name) else name


def _operators() -> list[str]:
    names: list[str] = []
    while (name := lib.mdf_onnx_operator_name(len(names))) is not None:
        names.append(text(name))
    return names


OPERATORS = _operators()


def define_all() -> dict[str, Callable[..., Any]]:
    """The functions, by name."""
    return {function_name(operator): _define(operator) for operator in OPERATORS}


__all__ = ["DEFAULT_OPSET", "OPERATORS", "define_all", "function_name"]
