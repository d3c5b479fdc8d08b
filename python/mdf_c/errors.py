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
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        path: str | None = None,
    ) -> None:
        super().__init__(message)  # type: ignore[call-arg] # an exception's, which stands beside this class
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        self.path = path

    def __str__(self) -> str:
        position = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return ": ".join(part for part in (position, self.path, self.message) if part)

    def __reduce__(self):
        return _rebuild, (type(self), self.message, self.file, self.line, self.column, self.path)


def _rebuild(kind, message, file, line, column, path):
    return kind(message, file=file, line=line, column=column, path=path)


class MdfError(_Placed, ValueError):
    """A model, its inputs or its evaluation is at fault. See :class:`_Placed` for the attributes."""


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
