"""All that stands for a model: a path, text, bytes, a dict, a modeci_mdf Model or Graph, an ONNX model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from pickle import PicklingError
from typing import Any, NamedTuple

import numpy as np

from ._values import as_array, unmasked

Source = Any
_PLAIN_TYPES = {"float64", "int64", "bool"}  # of numbers without a type of their own in a model


class Origin(NamedTuple):
    """What a model is read from, so that it can be read again.

    Attributes
    ----------
    name : str
        The path of a file, as it was given; or what stands for one in messages.
    format : str or None
        None: by the suffix.
    content : bytes or None
        None: it stands in a file.
    path : str or None
        That file, whatever the current folder.
    stamp : tuple or None
        When it was changed last, and its size.
    is_object : bool
        The content was made of objects: no file or text has its lines.
    """

    name: str
    format: str | None
    content: bytes | None
    path: str | None = None
    stamp: tuple[int, int] | None = None
    is_object: bool = False

    @classmethod
    def of(cls, source: Source, format: str | None = None) -> Origin:
        """The origin of what :func:`mdf_c.load` takes."""
        made = as_bytes(source)
        if made is None:
            name = os.fspath(source)
            return cls(name, format, None, os.path.abspath(name), _stamp(name))
        content, guessed, name = made
        return cls(name, format or guessed, content, is_object=not isinstance(source, (str, bytes, bytearray)))

    def packed(self) -> Origin:
        """The same with the bytes of its file, which can travel.

        Raises
        ------
        PicklingError
            The file is not as it was when the model was read.
        """
        if self.content is not None or self.path is None:
            return self
        try:
            content, stamp = Path(self.path).read_bytes(), _stamp(self.path)
        except OSError as error:
            raise PicklingError(f"the model's file can not be read any more: {error}") from error
        if stamp != self.stamp:
            raise PicklingError(f"the file {self.path!r} has changed since the model was read from it")
        return Origin(self.name, self.format or format_of(self.path), content, self.path)

    def unpacked(self) -> Origin:
        """Packed bytes where they are; the file again, where it is here and the same: other files may lie beside it."""
        if self.path is not None:
            try:
                if Path(self.path).read_bytes() == self.content:
                    return Origin(self.path, self.format, None, self.path, _stamp(self.path))
            except OSError:
                pass
        return self


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):  # reading it will say what is wrong
        return None
    return status.st_mtime_ns, status.st_size


def format_of(path: str | os.PathLike) -> str:
    """The format that a suffix stands for."""
    suffix = Path(path).suffix.lower().lstrip(".")
    return {"yml": "yaml"}.get(suffix, suffix)


def _typed(array: np.ndarray) -> dict[str, Any]:
    if array.dtype.itemsize > {"f": 8, "c": 16}.get(array.dtype.kind, 1 << 62) or array.dtype.names:  # numbers that Python has not, records
        raise TypeError(f"a {array.dtype} can not stand in a model")
    name = "string" if array.dtype.kind in "UO" else array.dtype.name  # in whatever order its bytes are
    return {"type": name, "shape": list(array.shape), "data": array.ravel().tolist()}


def _says_itself(array: np.ndarray) -> bool:
    """Whether lists of its elements say its shape, and, where there are none, its type."""
    return array.size > 0 or (array.dtype == np.float64 and np.shape(array.tolist()) == array.shape)


def _plain(value: Any) -> Any:
    """What a dict of a model may hold besides JSON's own."""
    if isinstance(value, np.generic):
        item = value.item()
        return _typed(np.asarray(value)) if isinstance(item, np.generic) else item
    if hasattr(value, "__array__"):
        array = unmasked(value) if isinstance(value, np.ndarray) else as_array(value)
        if array.dtype.kind in "bifUO" and array.dtype.itemsize == np.dtype(array.dtype.type).itemsize and _says_itself(array):
            return array.tolist()
        return _typed(array)
    if hasattr(value, "to_dict"):
        return next(iter(value.to_dict().values()))
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"a {type(value).__name__} can not stand in a model")


def _dump(model: Any) -> bytes:
    """A dict of a model as JSON. A value that none stands for is told with the keys that lead to it."""
    at_fault: list[Any] = []

    def plain(value: Any) -> Any:
        at_fault[:] = [value]
        return _plain(value)

    try:
        import json  # a file needs none of it

        return json.dumps(model, default=plain).encode()
    except TypeError as error:
        path = _keys_to(model, at_fault[0]) if at_fault else None
        cure = ": mdf_c.register_function makes one that models call by its name" if at_fault and callable(at_fault[0]) else ""
        raise TypeError(f"{'.'.join(path)}: {error}{cure}" if path else f"{error}{cure}") from None


def _keys_to(value: Any, wanted: Any, depth: int = 0) -> list[str] | None:
    """The keys, and numbers of items, that lead to a value within dicts and lists; None: it is not in them."""
    if value is wanted:
        return []
    parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    for key, part in parts if depth < 200 else ():
        path = _keys_to(part, wanted, depth + 1)
        if path is not None:
            return [str(key), *path]
    return None


def as_parameters(values: Any) -> bytes:
    """Values of parameters by name, as the engine takes them. Arrays of float64, int64 and bool count as if they stood in the model,
    other types stay what they are.

    Raises
    ------
    TypeError
        They are no dict by name, or one of them can not stand in a model.
    """
    if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
        raise TypeError(f"parameters are a dict of values by name, not {values!r}")
    at_fault: list[Any] = []

    def plain(value: Any) -> Any:
        at_fault[:] = [value]
        return _parameter(value)

    try:
        import json

        return json.dumps(dict(values), default=plain).encode()
    except TypeError as error:
        path = _keys_to(values, at_fault[0]) if at_fault else None
        raise TypeError(f"parameter '{path[0]}': {error}" if path else str(error)) from None


def _parameter(value: Any) -> Any:
    if hasattr(value, "__array__"):
        value = value if isinstance(value, (np.ndarray, np.generic)) else as_array(value)
        if value.dtype.kind in "biuf" and value.dtype.name not in _PLAIN_TYPES:
            return _typed(np.asarray(value))
    return _plain(value)


def _fields(value: Any) -> Any:
    """An object of modeci_mdf, field by field, as its file has it: things with ids as a dict by id, without what is empty."""
    if hasattr(value, "__attrs_attrs__"):
        fields = {field.name: getattr(value, field.name) for field in value.__attrs_attrs__ if field.name != "id"}
        return {name: _fields(item) for name, item in fields.items() if not _is_empty(item)}
    if isinstance(value, dict):
        return {getattr(key, "name", key): _fields(item) for key, item in value.items()}
    if isinstance(value, list) and value and all(_id_of(item) is not None for item in value):
        named = [(_id_of(item), _fields(item)) for item in value]
        return {id: {key: field for key, field in fields.items() if key != "id"} for id, fields in named}
    return [_fields(item) for item in value] if isinstance(value, (list, tuple)) else value


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, (dict, list)) and not value)


def _id_of(value: Any) -> Any:
    return value.get("id") if isinstance(value, dict) else getattr(value, "id", None)


def _as_dict(source: Any) -> dict:
    """``{id: fields}`` of a Model or Graph of modeci_mdf, whose to_dict fails on conditions read from a file."""
    try:
        written = source.to_dict()
    except AttributeError:
        written = {source.id: _fields(source)}
    for graph in getattr(source, "graphs", None) or []:
        _put_empty_lists_back(graph, written[source.id]["graphs"][graph.id])
    if hasattr(source, "nodes"):
        _put_empty_lists_back(source, written[source.id])
    return written


def _put_empty_lists_back(graph: Any, fields: dict) -> None:
    """Values of parameters that are empty lists, which to_dict leaves out, as if there were none."""
    for node in graph.nodes or []:
        for parameter in node.parameters or []:
            for key in ("value", "default_initial_value"):
                value = getattr(parameter, key)
                if isinstance(value, list) and not value:
                    fields["nodes"][node.id]["parameters"][parameter.id][key] = value


def as_graph(source: Source) -> dict | None:
    """``{id: graph}`` where `source` is a graph on its own, as an object or a dict; None where it is a model."""
    if hasattr(source, "to_dict") and hasattr(source, "nodes"):
        return _as_dict(source)
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
        source = _as_dict(source)
    if not isinstance(source, dict):
        raise TypeError(f"{source!r:.80} does not stand for a model: give a path, a dict, a text or bytes, or an object of modeci_mdf or onnx")
    return _dump(source), "json", f"{next(iter(source), 'model')}.json"
