"""All that stands for a model: a path, text, bytes, a dict, a modeci_mdf Model or Graph, an ONNX model."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

Source = Any


def _plain(value: Any) -> Any:
    """What a dict of a model may hold besides JSON's own."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "bifUO" and value.dtype.itemsize == np.dtype(value.dtype.type).itemsize and value.size:
            return value.tolist()
        return {"type": str(value.dtype), "shape": list(value.shape), "data": value.ravel().tolist()}
    if hasattr(value, "to_dict"):
        return next(iter(value.to_dict().values()))
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"a {type(value).__name__} can not stand in a model")


def as_graph(source: Source) -> dict | None:
    """``{id: graph}`` where `source` is a graph on its own, as an object or a dict; None where it is a model."""
    if hasattr(source, "to_dict") and hasattr(source, "nodes"):
        return source.to_dict()
    if isinstance(source, dict):
        if "nodes" in source:
            return {source.get("id", "graph"): {key: item for key, item in source.items() if key != "id"}}
        if len(source) == 1 and isinstance(only := next(iter(source.values())), dict) and "nodes" in only:
            return source
    return None


def as_bytes(source: Source, opset: int | None = None) -> tuple[bytes, str, str] | None:
    """A model that is not a file.

    Parameters
    ----------
    source
        See :func:`mdf_c.load`.
    opset
        Version of ONNX's operators, for a graph on its own.

    Returns
    -------
    tuple of bytes, str, str or None
        The bytes, their format and a name for messages; None where `source` is a path.

    Raises
    ------
    TypeError
        It does not stand for a model.
    """
    if hasattr(source, "SerializeToString"):
        return source.SerializeToString(), "onnx", "model.onnx"
    if isinstance(source, (bytes, bytearray)):
        return bytes(source), "json" if source.lstrip()[:1] == b"{" else "onnx", "model"
    if isinstance(source, str):
        return (source.encode(), "json", "model.json") if source.lstrip()[:1] == "{" else None
    if isinstance(source, Path):
        return None
    graph = as_graph(source)
    if graph is not None:
        model = {"graphs": graph} if opset is None else {"onnx_opset_version": str(opset), "graphs": graph}
        name = next(iter(graph))
        source = {name: model}
    elif hasattr(source, "to_dict"):
        source = source.to_dict()
    if not isinstance(source, dict):
        raise TypeError(f"a {type(source).__name__} does not stand for a model")
    return json.dumps(source, default=_plain).encode(), "json", f"{next(iter(source), 'model')}.json"
