"""ONNX models as MDF models."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._documents import Source
from .engine import load

if TYPE_CHECKING:
    from modeci_mdf.mdf import Model


def to_dict(source: Source) -> dict[str, Any]:
    """A model in MDF's form, as JSON has it.

    Parameters
    ----------
    source
        What :func:`mdf_c.load` takes.

    Raises
    ------
    MdfError
        It can not be read, or has no form in JSON.
    """
    import json

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        load(source).save(path)
        return json.loads(path.read_text())


def from_onnx(source: Source) -> Model:
    """An ONNX model as modeci_mdf's Model: bodies of Scan, Loop and If, types, opset and initial values included.

    Parameters
    ----------
    source
        A path, bytes or onnx.ModelProto.

    Raises
    ------
    MdfError
        It can not be read.
    ImportError
        modeci_mdf is not installed.
    """
    from modeci_mdf.mdf import Model

    return Model.from_dict(to_dict(source))
