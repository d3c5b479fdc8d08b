"""Lists of errors and warnings: mdf_diagnostics of mdf.h."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_bool, c_char_p, c_double, c_int, c_size_t, c_uint64, c_void_p

from ._library import Error, Options, lib, text

SEVERITY_ERROR, SEVERITY_WARNING = range(2)


class Diagnostic(ctypes.Structure):
    """mdf_diagnostic."""

    _fields_ = [
        ("severity", c_int),
        ("code", c_char_p),
        ("line", c_int),
        ("column", c_int),
        ("end_column", c_int),
        ("file", c_char_p),
        ("path", c_char_p),
        ("message", c_char_p),
        ("suggestion", c_char_p),
        ("source", c_char_p),
        ("source_column", c_int),
    ]

    def marked_source(self) -> str | None:
        """The line of the file and under it a mark at the place."""
        if self.source is None:
            return None
        width = max(self.end_column - self.column, 1)
        line = text(self.source)
        mark = "^" + "~" * min(width - 1, max(len(line) - self.source_column, 0))
        return f"{self.line:5} | {line}\n      | {' ' * (self.source_column - 1)}{mark}"

    def parts(self) -> dict:
        """What the exceptions and warnings take."""
        return {
            "message": text(self.message),
            "file": text(self.file) or None,
            "line": self.line or None,
            "column": self.column or None,
            "path": text(self.path) or None,
            "end_column": self.end_column or None,
            "code": text(self.code) or None,
            "suggestion": text(self.suggestion) if self.suggestion is not None else None,
            "source": self.marked_source(),
        }


lib.declare(
    {
        "mdf_diagnostics_new": (c_void_p, c_void_p, POINTER(Error)),
        "mdf_diagnostics_free": (None, c_void_p),
        "mdf_diagnostics_length": (c_size_t, c_void_p),
        "mdf_diagnostics_get": (c_bool, c_void_p, c_size_t, POINTER(Diagnostic)),
        "mdf_check": (c_int, c_void_p, POINTER(c_char_p), c_size_t, c_uint64, c_double, POINTER(Options), POINTER(Error)),
    }
)
