"""Every ONNX operator as a function of arrays: ``gemm(a, b, alpha=0.5)``, ``scan(...)``, ``loop(...)``, ``if_(...)``.

Names are in lower case, with an underscore where Python has the word for itself (``and_``, ``if_``, ``not_``, ``or_``).
Inputs come by position or by ONNX's name, None or, as in ONNX, "" for one that is left out; attributes by keyword, or by
position after the inputs. ``opset`` selects the version of the operator, by default MDF's own default; ``n_outputs`` says how
many outputs to compute where ONNX leaves that open. Numbers keep their type; Python's numbers take the type of what they meet.

Operators of one output return an array, others a tuple; Scan, Loop and If a list. Errors are :class:`mdf_c.MdfError`, and
TypeError where an argument fits no formal.
"""

import difflib

# Some of the functions have the names of Python's builtins: nothing but their definition belongs in this module.
from ._onnx_call import call_operator
from ._onnx_define import DEFAULT_OPSET, OPERATORS, define_all

_FUNCTIONS = define_all()
globals().update(_FUNCTIONS)


def __getattr__(name: str) -> object:
    """Of a name that no operator has."""
    nearest = difflib.get_close_matches(name.lower(), _FUNCTIONS, 1)
    hint = f"; did you mean '{nearest[0]}'?" if nearest else ""
    raise AttributeError(f"there is no operator '{name}' in {__name__}{hint}")


__all__ = ["DEFAULT_OPSET", "OPERATORS", "call_operator", *_FUNCTIONS]  # noqa: PLE0604
