"""The program run_ways as a child process that cases are given to, one after the other. It is started anew where a case ends it."""
import argparse
import contextlib
import os
import select
import signal
import subprocess
import tempfile
import time

import case as cases

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def seeds_parser(doc, seeds, what):
    """The arguments of who goes through seeds: how many, from which, whose build, for how long."""
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--build", default=os.environ.get("BUILD", "build"))
    parser.add_argument("--time", type=float, default=1e9, help=f"seconds after which no new {what} is begun")
    return parser


class Outcome:
    """What the ways gave. ``findings``: {"way", "kind" ("different", "crash", "hang"), "detail"}; ``last``: what the reference gave in
    its last step, a text "NODE.PORT TYPE[SHAPE] ELEMENTS" each."""

    def __init__(self):
        self.findings, self.last, self.n_ways = [], [], 0


class Runner:
    """Use it as a context; ``limit_s`` is the time that a case may take."""

    def __init__(self, build, limit_s=20.0, wrong_way=None, sanitize=False):
        self.program = os.path.join(ROOT, build, "random", "run_ways") if not os.path.isabs(build) else os.path.join(build, "random", "run_ways")
        if not os.path.exists(self.program):
            raise SystemExit(f"{self.program} is not there: make {os.path.relpath(self.program, ROOT)}")
        self.limit_s, self.process = limit_s, None
        self.folder = tempfile.TemporaryDirectory(prefix="mdf_random_", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self.messages = open(os.path.join(self.folder.name, "messages"), "w+", errors="replace")
        self.environment = {**os.environ, "CC": os.path.join(os.path.dirname(os.path.abspath(__file__)), "cc_fast.sh")}
        if sanitize:
            self.environment["MDF_RANDOM_SANITIZE"] = "-O1 -fsanitize=address,undefined -fsanitize-undefined-trap-on-error"
            self.environment["LD_PRELOAD"] = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout.strip()
            self.environment["ASAN_OPTIONS"] = "detect_leaks=0"
        if wrong_way:
            self.environment["MDF_RANDOM_WRONG_WAY"] = wrong_way

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process is not None:  # it ends by itself where nothing more comes, and may write what a profile counts
            with contextlib.suppress(BrokenPipeError, subprocess.TimeoutExpired):
                self.process.stdin.close()
                self.process.wait(self.limit_s)
        self._end()
        self.messages.close()
        self.folder.cleanup()

    def _end(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
            self.process.stdout.close()
            self.process = None

    def _start(self):
        self.messages.seek(0)
        self.messages.truncate()
        self.process = subprocess.Popen([self.program, self.folder.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.messages, env=self.environment)
        os.set_blocking(self.process.stdout.fileno(), False)

    def run(self, case, compiled=False, only="-"):
        outcome, way = Outcome(), "load"
        if self.process is None:
            self._start()
        try:
            self.process.stdin.write(cases.encode(case, compiled, only))
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        deadline, rest = time.monotonic() + self.limit_s, []  # of a line: a state that doubles makes long ones
        while True:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(self.process.stdout.fileno(), 1 << 20) if ready else None
            if not chunk:
                outcome.findings.append({"way": way, **self._fate(hung=chunk is None)})
                self._end()
                return outcome
            *lines, part = chunk.split(b"\n")
            if lines:
                lines[0], rest = b"".join([*rest, lines[0]]), []
            rest.append(part)
            for line in lines:
                word, _, content = line.decode(errors="replace").partition(" ")
                if word == "way":
                    way = content
                elif word == "last":
                    outcome.last.append(content)
                elif word == "different":
                    name, *detail = content.split("\t")
                    outcome.findings.append({"way": name, "kind": "different", "detail": detail})
                elif word == "done":
                    outcome.n_ways = int(content)
                    return outcome

    def _fate(self, hung):
        if hung:
            return {"kind": "hang", "detail": [f"no end after {self.limit_s:g} s"]}
        status = self.process.wait()
        name = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        self.messages.seek(0)
        told = [line.strip() for line in self.messages if "ERROR" in line or "runtime error" in line or "SUMMARY" in line]  # of a sanitizer
        return {"kind": "crash", "detail": [name, *told[:3]]}
