"""Scan, Loop and If for modeci_mdf's own engine, which has them on its blacklist."""

from __future__ import annotations

from .functions import onnx as functions
from .functions._onnx_call import form_of
from .functions._onnx_define import function_name

_REGISTERED = ("Scan", "Loop", "If")


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
        setattr(onnx_ops, name, getattr(functions, function_name(operator)))
        add_mdf_function(
            name=f"onnx::{operator}",
            description=f"onnx::{operator}, evaluated by mdf_c",
            arguments=list(form.inputs),
            expression_string=f"onnx_ops.{name}({', '.join(form.inputs + form.attributes)})",
        )
