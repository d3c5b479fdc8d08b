"""Ctrl-C during a long call of the engine.

Python runs signal handlers in its main thread, between two of its own instructions: not while that thread is inside the
engine. Where Ctrl-C is the only signal that does something, and raises KeyboardInterrupt, the engine hears it itself
(mdf_ctrl_c_asks). Else a call that may be long is made in a second thread while the main thread waits, where it can be woken.
That thread stays for the next one: making one takes longer than the first evaluation of a small model.
"""

from __future__ import annotations

import os
import threading
from _thread import start_new_thread
from collections.abc import Callable
from typing import TypeVar

try:
    from _queue import SimpleQueue  # that of queue, without what else there is
except ImportError:  # no CPython
    from queue import SimpleQueue

try:
    from _signal import NSIG, SIGINT, default_int_handler, getsignal  # those of signal, which makes an enum of each answer
except ImportError:
    from signal import NSIG, SIGINT, default_int_handler, getsignal

Result = TypeVar("Result")


class _Work:
    """A call that another thread makes; what came of it."""

    def __init__(self, call: Callable[[], Result]) -> None:
        self._call = call
        self._begins, self._ended = threading.Lock(), threading.Lock()
        self._ended.acquire()
        self.outcome: tuple = ()

    def run(self) -> None:
        """Makes the call, but for one that was called off."""
        if not self._begins.acquire(blocking=False):
            return
        try:
            self.outcome = (self._call(), None)
        except BaseException as error:  # noqa: BLE001 - it is raised again where it belongs
            self.outcome = (None, error)
        finally:
            self._ended.release()

    def wait(self) -> None:
        """Returns when the call has ended."""
        with self._ended:
            pass

    def stop(self, interrupt: Callable[[], None]) -> None:
        """Returns when the call has ended, which `interrupt` asks it to, or when it can not begin any more."""
        while not self._begins.acquire(blocking=False):
            try:
                interrupt()
                self.wait()
                return
            except BaseException:  # noqa: BLE001 - a second Ctrl-C says what the first did
                continue


class _Helper:
    """A thread that makes the calls which it is handed, one after the other, as long as the process lives."""

    def __init__(self) -> None:
        self._handed: SimpleQueue[_Work] = SimpleQueue()
        start_new_thread(self._serve, ())  # at once: a Thread's start() waits for it, which takes longer than a small model

    def _serve(self) -> None:
        while True:
            self._handed.get().run()

    def hand(self, work: _Work) -> None:
        self._handed.put(work)


#: Those that have nothing to do. Only the main thread takes from them: several where a handler of a signal evaluates as well.
_idle: list[_Helper] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # a child has no other threads


def only_ctrl_c_is_handled() -> bool:
    """Whether this is the main thread, Ctrl-C raises KeyboardInterrupt, and no other signal has a handler in Python."""
    return (
        threading.current_thread() is threading.main_thread()
        and getsignal(SIGINT) is default_int_handler
        and sum(map(callable, map(getsignal, range(1, NSIG)))) == 1
    )


def interruptible(call: Callable[[], Result], interrupt: Callable[[], None]) -> Result:
    """`call()`; an exception that a signal handler raises meanwhile (KeyboardInterrupt) asks it to stop, and goes on up when it has.

    Parameters
    ----------
    call
        Runs to its end, or until `interrupt` has been called.
    interrupt
        Makes `call` return soon.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    work = _Work(call)
    helper: _Helper | None = None
    try:
        helper = _idle.pop() if _idle else _Helper()
        helper.hand(work)
        work.wait()
    except BaseException:
        work.stop(interrupt)
        raise
    finally:
        if helper is not None:
            _idle.append(helper)
    result, error = work.outcome
    if error is not None:
        raise error
    return result
