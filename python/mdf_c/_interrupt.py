"""Ctrl-C during a long call of the engine.

Python runs signal handlers in its main thread, between two of its own instructions: not while that thread is inside the
engine. So a call that may be long is made in a second thread while the main thread waits, where it can be woken.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def interruptible(call: Callable[[], Result], interrupt: Callable[[], None]) -> Result:
    """`call()`; an exception that a signal handler raises meanwhile (KeyboardInterrupt) asks it to stop, and goes on up.

    Parameters
    ----------
    call
        Runs to its end, or until `interrupt` has been called.
    interrupt
        Makes `call` return soon.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    outcome: list = []
    ended = threading.Lock()
    ended.acquire()

    def work() -> None:
        try:
            outcome.append((call(), None))
        except BaseException as error:  # noqa: BLE001 - it is raised again where it belongs
            outcome.append((None, error))
        finally:
            ended.release()

    threading.Thread(target=work, name="mdf_c evaluation", daemon=True).start()
    try:
        ended.acquire()
    except BaseException:
        interrupt()
        ended.acquire()
        raise
    result, error = outcome[0]
    if error is not None:
        raise error
    return result
