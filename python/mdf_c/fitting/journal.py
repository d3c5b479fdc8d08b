"""All that was evaluated, in a file, so that a search that was ended goes on: the same search asks the same things again, and finds them there.

Records are appended, each whole or not: a killed search leaves at most one that is cut off, which is dropped.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..errors import MdfError, MdfFileError

_MAGIC = b"mdf-fit journal 1\n"


class Journal:
    """What has been evaluated, by what was asked.

    Parameters
    ----------
    path : path, optional
        Of the file, which is made where it is not there; without one nothing is kept.
    fingerprint : bytes
        Of model, data and all that matters: a file with another one is refused.
    """

    def __init__(self, path: str | os.PathLike | None = None, fingerprint: bytes = b"") -> None:
        self._known: dict[bytes, np.ndarray] = {}
        self._file = None
        self.n_found = 0
        if path is None:
            return
        self.path = Path(path)
        head = _MAGIC + hashlib.sha256(fingerprint).digest()
        try:
            end = self._read(head) if self.path.exists() else 0
            self._file = open(self.path, "r+b" if end else "wb")  # noqa: SIM115 - it stays open
            self._file.truncate(end)
            self._file.seek(end)
            if not end:
                self._file.write(head)
        except OSError as error:
            raise MdfFileError(f"the journal can not be written: {error.strerror or error}", file=str(path)) from None

    def _read(self, head: bytes) -> int:
        content = self.path.read_bytes()
        if len(content) < len(head) and head.startswith(content):
            return 0
        if content[: len(head)] != head:
            is_journal = content.startswith(_MAGIC)
            what = (
                "is of another model, other data or another fit: remove it, or name another file"
                if is_journal
                else "is no journal of mdf-fit"
            )
            raise MdfError(f"the file {what}", file=str(self.path))
        place = len(head)
        while len(content) - place >= 40:
            key, n = content[place : place + 32], struct.unpack_from("<II", content, place + 32)
            size = 8 * n[0] * n[1]
            if len(content) - place - 40 < size:
                break
            self._known[key] = np.frombuffer(content, "<f8", n[0] * n[1], place + 40).reshape(n).astype(float)
            place += 40 + size
        return place

    def ask(self, kind: str, positions: np.ndarray, compute: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """What `compute` gives for positions, an array with a row for each, from the file where it is there."""
        if self._file is None:
            return compute(positions)
        key = hashlib.sha256(kind.encode() + struct.pack("<I", len(positions)) + positions.tobytes()).digest()
        if key in self._known:
            self.n_found += 1
            return self._known[key].reshape(-1) if kind == "costs" else self._known[key].copy()
        values = np.asarray(compute(positions), float)
        rows = values.reshape(len(positions), -1)
        self._file.write(key + struct.pack("<II", *rows.shape) + rows.astype("<f8").tobytes())
        self._file.flush()
        self._known[key] = rows
        return values

    def close(self) -> None:
        """Ends the writing."""
        if self._file is not None:
            self._file.close()
            self._file = None
