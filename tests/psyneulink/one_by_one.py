"""Checks one by one, each in a process of its own: what one does to PsyNeuLink no other sees, one that does not end is stopped, and
each is told of as it ends."""

import multiprocessing
import os
import time
from multiprocessing import connection

FORK = multiprocessing.get_context("fork")  # PsyNeuLink is imported once


def add_options(parser):
    parser.add_argument("--jobs", type=int, default=1, help="checks at a time")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds that a check may take")


class Started:
    """A check that runs."""

    def __init__(self, name, check):
        self.name, self.begun = name, time.monotonic()
        self.answer, sender = FORK.Pipe(duplex=False)
        self.process = FORK.Process(target=answer, args=(check, sender))
        self.process.start()
        sender.close()

    def ended(self):
        """Why it failed, or None."""
        try:
            why = self.answer.recv()
        except EOFError:
            self.process.join()
            why = f"its process ended with {self.process.exitcode}"
        self.process.join()
        return why

    def stopped(self, timeout):
        self.process.kill()
        self.process.join()
        return f"it did not end in {timeout:g} s"

    @property
    def seconds(self):
        return time.monotonic() - self.begun


def answer(check, sender):
    try:
        why = check()
    except Exception as error:  # the others are to be tried, whatever is wrong with this one
        why = f"{type(error).__name__}: {error}"
    sender.send(why and str(why))
    sender.close()
    os._exit(0)  # threads of libraries have not come along


def run(checks, jobs, timeout):
    """The names of what failed; `checks` has functions that return None, or why not."""
    waiting, running, failed = list(checks.items()), {}, []
    while waiting or running:
        while waiting and len(running) < max(1, jobs):
            started = Started(*waiting.pop(0))
            running[started.answer] = started
        ready = connection.wait(list(running), max(0.0, timeout - max(one.seconds for one in running.values())))
        outcomes = [(running.pop(place), None) for place in ready]
        late = [place for place, one in running.items() if one.seconds >= timeout]
        outcomes += [(running.pop(place), timeout) for place in late]
        for one, too_long in outcomes:
            why = one.stopped(too_long) if too_long else one.ended()
            failed += [one.name] if why else []
            print(f"{'FAIL' if why else 'ok'} {one.name} ({one.seconds:.1f} s)" + (f": {why[:300]}" if why else ""), flush=True)
    return failed
