"""Exceptions and warnings of the package, with the place in the model that they are about."""

from __future__ import annotations


class _Placed:
    """What an error or warning says, and where.

    Attributes
    ----------
    message : str
        One sentence, without the position.
    file : str or None
        The file, as the caller named it.
    line, column : int or None
        1-based position in the file.
    path : str or None
        The place in the model, as in ``"node 'B', parameter 'B_out'"``.
    end_column : int or None
        Behind the last character of what it is about, in the same line.
    code : str or None
        A word for what it is of: "name", "model", "unused-parameter".
    suggestion : str or None
        The name that was probably meant.
    graph : str or None
        The graph, where the path does not name it and there is no file in which it would be seen.
    source : str or None
        The line of the file, or a part of a long one, with the place marked in a second line.

    Where a model was made of Python objects, file and line are those of the Python file, if they can be told, and else None.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        path: str | None = None,
        end_column: int | None = None,
        code: str | None = None,
        suggestion: str | None = None,
        source: str | None = None,
        graph: str | None = None,
    ) -> None:
        super().__init__(message)  # type: ignore[call-arg] # an exception's, which stands beside this class
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        self.path = path
        self.end_column = end_column
        self.code = code
        self.suggestion = suggestion
        self.source = source
        self.graph = graph
        if source is not None and hasattr(self, "add_note"):  # tracebacks show it, from Python 3.11 on
            self.add_note(source)

    def __str__(self) -> str:
        position = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None and self.file)
        path = f"graph '{self.graph}', {self.path}" if self.graph is not None and self.path else self.path
        return ": ".join(part for part in (position, path, self.message) if part)

    def __reduce__(self):
        return _rebuild, (type(self), self.message, self._details(), self._others())

    def _details(self) -> dict:
        names = ("file", "line", "column", "path", "end_column", "code", "suggestion", "source", "graph")
        return {name: getattr(self, name) for name in names}

    def _others(self) -> tuple:
        return ()


def _rebuild(kind, message, details, others):
    error = kind(message, **details)
    if others:
        error.set_others(others)
    return error


class MdfError(_Placed, ValueError):
    """A model, its inputs or its evaluation is at fault. See :class:`_Placed` for the attributes."""

    _more: tuple[MdfError, ...] = ()

    @property
    def errors(self) -> list[MdfError]:
        """All errors of the model that were found together, up to 20, in the order of the file: this one is the first."""
        return [self, *self._more]

    def set_others(self, others: tuple[MdfError, ...]) -> None:
        """Notes what was found together with this error."""
        self._more = tuple(others)
        for other in self._more:
            if hasattr(self, "add_note"):
                self.add_note(f"{other}\n{other.source}" if other.source else str(other))

    def _others(self) -> tuple:
        return self._more


class MdfFileError(MdfError, OSError):
    """A file can not be read or written."""


class MdfSyntaxError(MdfError):
    """A document is malformed."""


class MdfNameError(MdfError):
    """A name of a port, function, graph or variable is not known."""


class MdfTypeError(MdfError, TypeError):
    """A value has the wrong type."""


class MdfUnsupportedError(MdfError, NotImplementedError):
    """What the model asks for is not supported."""


class MdfMemoryError(MdfError, MemoryError):
    """Memory ran out."""


class MdfLimitError(MdfError):
    """A bound was passed: on memory, passes or iterations (see :class:`mdf_c.Settings`), or the engine's own."""


class MdfInterrupted(MdfError):
    """The evaluation was asked to stop (:meth:`mdf_c.State.interrupt`)."""


class MdfWarning(_Placed, UserWarning):
    """Something in a model that is probably not meant. See :class:`_Placed` for the attributes."""


# By the names of mdf.h's status codes; what is missing is a plain MdfError.
BY_STATUS: dict[str, type[MdfError]] = {
    "OUT_OF_MEMORY": MdfMemoryError,
    "LIMIT": MdfLimitError,
    "FILE": MdfFileError,
    "SYNTAX": MdfSyntaxError,
    "NAME": MdfNameError,
    "TYPE": MdfTypeError,
    "UNSUPPORTED": MdfUnsupportedError,
    "INTERRUPTED": MdfInterrupted,
}
