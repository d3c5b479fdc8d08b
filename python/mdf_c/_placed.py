"""Files that lie beside models, read by the engine's own readers, so that whatever is wrong in them has its place."""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from ctypes import POINTER, c_char_p, c_void_p
from typing import Any

import numpy as np

from ._documents import format_of
from ._library import Error, Options, c_path, checked, lib
from ._values import to_python
from .errors import MdfError, MdfNameError

lib.declare({"mdf_value_read_file": (c_void_p, c_char_p, c_char_p, POINTER(Options), POINTER(Error))})


class Placed:
    """A value, and where it stands: in a file, or in an argument of Python.

    Attributes
    ----------
    value
        A dict or list of Placed, or what is neither.
    path : str
        Where it stands within the whole: "parameters, 'cup.room', bounds".
    file, line, column
        Of a file; line 0: it has no lines.
    keys : dict of str to Placed
        Of a dict: where the keys stand.
    """

    def __init__(self, value: Any, path: str = "", file: str | None = None, line: int = 0, column: int = 0) -> None:
        self.value, self.path, self.file, self.line, self.column = value, path, file, line, column
        self.keys: dict[str, Placed] = {}

    @classmethod
    def read(cls, path: str | os.PathLike) -> Placed:
        """What a file says: JSON, YAML or BSON by suffix.

        Raises
        ------
        MdfError
            It can not be read.
        """
        name, error = os.fspath(path), Error()
        suffix = format_of(name)
        format = None if suffix in ("json", "yaml", "bson") else b"yaml"
        pointer = checked(lib.mdf_value_read_file(c_path(path), format, None, error), error)
        try:
            tree = to_python(pointer, scalars=True)
        finally:
            lib.mdf_value_free(pointer)
        return cls._of_tree(tree, "", name)

    @classmethod
    def _of_tree(cls, tree: Any, path: str, file: str) -> Placed:
        line, column, value = int(tree[0]), int(tree[1]), tree[2]
        placed = cls(value, path, file, line, column)
        if isinstance(value, dict):
            placed.value = {}
            for key, (key_line, key_column, item) in value.items():
                inner = _inner(path, key)
                placed.keys[key] = cls(key, inner, file, int(key_line), int(key_column))
                placed.value[key] = cls._of_tree(item, inner, file)
        elif isinstance(value, list):
            placed.value = [cls._of_tree(item, f"{path}[{i}]", file) for i, item in enumerate(value)]
        elif isinstance(value, (np.ndarray, np.generic)):
            placed.value = _plain_number(value)
        return placed

    @classmethod
    def of(cls, value: Any, path: str = "") -> Placed:
        """An argument of Python; what is neither dict nor list stays what it is."""
        placed = cls(value, path)
        if isinstance(value, Mapping) and not hasattr(value, "data_vars"):  # an xarray.Dataset is a mapping too
            placed.value = {str(key): cls.of(item, _inner(path, str(key))) for key, item in value.items()}
            placed.keys = {str(key): cls(key, _inner(path, str(key))) for key in value}
        elif isinstance(value, (list, tuple)) and any(isinstance(item, (str, Mapping)) for item in value):
            placed.value = [cls.of(item, f"{path}[{i}]") for i, item in enumerate(value)]
        return placed

    def fault(self, message: str, kind: type[MdfError] = MdfError, suggestion: str | None = None) -> MdfError:
        """An error about this value."""
        line, column = (self.line or None, self.column or None) if self.file else (None, None)
        return kind(message, path=self.path or None, suggestion=suggestion, file=self.file, line=line, column=column)

    def describe(self) -> str:
        """What stands there, for messages."""
        if isinstance(self.value, dict):
            return "an object"
        if isinstance(self.value, (list, np.ndarray)):
            return "a list"
        return "nothing" if self.value is None else repr(self.value)

    def plain(self) -> Any:
        """The value, without the places of what is in it."""
        if isinstance(self.value, dict):
            return {key: item.plain() for key, item in self.value.items()}
        if isinstance(self.value, list):
            return [item.plain() if isinstance(item, Placed) else item for item in self.value]
        return self.value

    # ------------------------------------------------------------ what it must be

    def number(self, what: str = "a number", check: Callable[[float], bool] = math.isfinite) -> float:
        """The value, which must be a number for which `check` holds."""
        value = self.value
        if (
            isinstance(value, (bool, np.bool_))
            or not isinstance(value, (int, float, np.integer, np.floating))
            or not check(float(value))
        ):
            raise self.fault(f"must be {what}, not {self.describe()}")
        return float(value)

    def integer(self, least: int) -> int:
        """The value, which must be a whole number."""
        value = self.value
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
            raise self.fault(f"must be a whole number, at least {least}, not {self.describe()}")
        return int(value)

    def text(self, what: str = "a text") -> str:
        """The value, which must be a text."""
        if not isinstance(self.value, str) or not self.value:
            raise self.fault(f"must be {what}, not {self.describe()}")
        return self.value

    def choice(self, names: Iterable[str], what: str) -> str:
        """The value, which must be one of the names."""
        names = list(names)
        name = self.text(f"{what}: {', '.join(names)}")
        if name not in names:
            raise unknown(self, name, what, names)
        return name

    def numbers(self) -> np.ndarray:
        """The value, which must be a number or an array of them."""
        plain = self.plain()
        try:
            array = np.asarray(plain, float)
        except (TypeError, ValueError):
            raise self.fault(f"must be a number or an array of numbers, not {self.describe()}") from None
        if isinstance(plain, (str, bool)) or plain is None:
            raise self.fault(f"must be a number or an array of numbers, not {self.describe()}")
        return array

    def items(self, what: str = "a list") -> list[Placed]:
        """Of a list: its items, each with a place."""
        if isinstance(self.value, np.ndarray) and self.value.ndim:
            rows = [
                Placed(row if row.ndim else row.item(), f"{self.path}[{i}]") for i, row in enumerate(map(np.asarray, self.value))
            ]
            for row in rows:
                row.file, row.line, row.column = self.file, self.line, self.column
            return rows
        if isinstance(self.value, tuple):
            return [Placed.of(item, f"{self.path}[{i}]") for i, item in enumerate(self.value)]
        if isinstance(self.value, list):
            return [
                item if isinstance(item, Placed) else Placed.of(item, f"{self.path}[{i}]") for i, item in enumerate(self.value)
            ]
        raise self.fault(f"must be {what}, not {self.describe()}")

    def entries(self, what: str, known: Sequence[str] | None = None) -> dict[str, Placed]:
        """Of an object: its entries.

        Parameters
        ----------
        what : str
            What it is, for messages.
        known : sequence of str, optional
            The only keys that it may have.
        """
        if not isinstance(self.value, dict):
            raise self.fault(f"must be {what}, not {self.describe()}")
        for key in self.value:
            if known is not None and key not in known:
                raise unknown(self.keys[key], key, "key", known)
        return self.value


def unknown(place: Placed, name: str, what: str, known: Iterable[str]) -> MdfError:
    """The error of a name that is none of those that are known."""
    known = [str(each) for each in known]
    near = difflib.get_close_matches(name, known, 1) or [each for each in known if each.split(".")[-1] == name.split(".")[-1]][:1]
    guess = f"; did you mean '{near[0]}'?" if near else ""
    listed = f"; there are {', '.join(known)}" if 0 < len(known) <= 24 else ""
    return place.fault(f"unknown {what} '{name}'{guess}{listed}", MdfNameError, near[0] if near else None)


def _inner(path: str, key: str) -> str:
    shown = key if key.isidentifier() else f"'{key}'"
    return f"{path}, {shown}" if path else shown


def _plain_number(value: Any) -> Any:
    array = np.asarray(value)
    return array.item() if array.ndim == 0 else array
