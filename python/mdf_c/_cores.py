"""Cores of this process: what takes all of them gets those that others, which run at the same time, have left."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager


def count_cores() -> int:
    """Those that the process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Cores:
    """How many threads work in this process."""

    def __init__(self) -> None:
        self._lock, self._n_busy = threading.Lock(), 0

    @contextmanager
    def taken(self, wish: int) -> Iterator[int]:
        """So many threads are at work meanwhile: `wish`, or, where that is 0, one for each core that is left, but at least one."""
        with self._lock:
            n = wish if wish > 0 else max(1, count_cores() - self._n_busy)
            self._n_busy += n
        try:
            yield n
        finally:
            with self._lock:
                self._n_busy -= n

    def forget(self) -> None:
        """In a process that was forked nothing runs."""
        self._lock, self._n_busy = threading.Lock(), 0


CORES = Cores()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=CORES.forget)
