"""What the engine finds fault with, as warnings and errors of Python."""

from __future__ import annotations

import warnings
from functools import cached_property

from ._diagnostics import SEVERITY_WARNING, Diagnostic
from ._documents import Origin
from ._library import WARNING_HANDLER, Error, Handle, checked, lib
from .errors import BY_STATUS, MdfError, MdfWarning


class Warnings:
    """Collects what the engine warns of, and gives it to Python's warnings afterwards."""

    def __init__(self, origin: Origin, graph: str | None = None) -> None:
        self.found: list[MdfWarning] = []
        self._origin, self._graph = origin, graph

    @cached_property
    def handler(self):
        """What the engine calls with each."""

        def take(_context, warning):
            self.found.append(MdfWarning(**located(warning.contents.parts(), self._origin, self._graph)))

        return WARNING_HANDLER(take)

    def emit(self) -> None:
        for warning in self.found:
            warnings.warn(warning, stacklevel=4)


def _marked(line: int, source: str, column: int, end_column: int) -> str:
    """A line of a file, and under it a mark at the place."""
    return f"{line:5} | {source}\n      | {' ' * (column - 1)}^{'~' * (end_column - column - 1)}"


def located(parts: dict, origin: Origin, graph: str | None) -> dict:
    """Fields of an error or warning, with the place in the caller's Python where the model was made of objects, else with the line
    of the file where that is not there yet.

    Parameters
    ----------
    parts : dict
        As Error.parts and Diagnostic.parts have them.
    origin : Origin
        Of the model.
    graph : str or None
        The graph, for paths that do not name it.
    """
    content, line, column = origin.content, parts["line"], parts["column"]
    if not origin.is_object:
        if line and column and parts.get("source") is None and parts["file"] == origin.name:
            source = _line_of(origin, line)
            if source is not None and len(source) < 200:
                parts = {**parts, "source": _marked(line, source, column, column + 1)}
        return parts
    path = parts["path"]
    if path is not None and graph is not None and not path.startswith("graph "):
        parts = {**parts, "graph": graph}
    from ._python_source import find as find_in_python  # for mistakes only

    place = find_in_python(content or b"", line, column, path)
    if place is None:
        return {**parts, "file": None, "line": None, "column": None, "end_column": None, "source": None}
    marked = _marked(place.line, place.source, place.column, place.end_column)
    return {**parts, "file": place.file, "line": place.line, "column": place.column, "end_column": place.end_column, "source": marked}


def _line_of(origin: Origin, line: int) -> str | None:
    try:
        if origin.content is not None:
            lines = origin.content.decode().split("\n")
        else:
            with open(origin.name, encoding="utf-8") as file:
                lines = file.read().split("\n")
    except (OSError, ValueError):
        return None
    return lines[line - 1].rstrip("\r") if line <= len(lines) else None


class Findings(Warnings):
    """The same, with the errors of a call: all of them, with their lines of the file.

    Parameters
    ----------
    origin : Origin
        Of the model that the call is about.
    graph : str, optional
        The graph that is compiled, for paths that do not name it.
    """

    def __init__(self, origin: Origin, graph: str | None = None) -> None:
        super().__init__(origin, graph)
        error = Error()
        self._list = Handle(checked(lib.mdf_diagnostics_new(None, error), error), lib.mdf_diagnostics_free)
        self.pointer = self._list.pointer

    def take(self, result, error: Error):
        """What a call gave, unless it failed; its warnings are found from now on.

        Raises
        ------
        MdfError
            The first error, with all of them in its `errors`.
        """
        read, severities = [], []
        for i in range(lib.mdf_diagnostics_length(self.pointer)):
            diagnostic = Diagnostic()
            lib.mdf_diagnostics_get(self.pointer, i, diagnostic)
            severities.append(diagnostic.severity)
            read.append(located(diagnostic.parts(), self._origin, self._graph))
        self.found += [MdfWarning(**parts) for parts, severity in zip(read, severities) if severity == SEVERITY_WARNING]
        if not error.code:
            return result
        kinds = {name.lower().replace("_", "-"): kind for name, kind in BY_STATUS.items()}
        found = [
            kinds.get(parts["code"], MdfError)(**parts)
            for parts, severity in zip(read, severities)
            if severity != SEVERITY_WARNING
        ]
        if not found:
            raise error.exception()
        found[0].set_others(tuple(found[1:]))
        raise found[0]
