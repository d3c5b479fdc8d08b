"""mdf-fit: the command line of fit."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from ..errors import MdfError, _Placed
from .completion import SHELLS, completion
from .fitting import fit
from .result import Fit
from .searching import METHODS

DONE, AT_FAULT, USAGE = 0, 1, 2
_FORMATS = (".png", ".svg", ".pdf")
_KEYS = ("code", "file", "line", "column", "end_column", "path", "message", "suggestion")
_BOLD, _PLAIN, _COLORS = "\x1b[1m", "\x1b[0m", {"error": "\x1b[1;31m", "warning": "\x1b[1;35m"}


class _Complete(argparse.Action):
    """--completion SHELL: prints what the shell needs, and ends."""

    def __call__(self, parser, namespace, values, option_string=None):
        sys.stdout.write(completion(parser, values))
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mdf-fit",
        description="Finds the parameters of a MODEL that go best with data, as FIT, a file of JSON or YAML, says (docs/fitting.md).",
        allow_abbrev=False,
    )
    parser.add_argument("fit", metavar="FIT", help="what is fitted to what")
    parser.add_argument("model", metavar="MODEL", help=".json .yaml .bson .onnx")
    parser.add_argument("-o", "--output", metavar="FILE", help="the report as JSON; default standard output")
    parser.add_argument("--table", action="store_true", help="a table to read, on standard output, in place of JSON")
    parser.add_argument("--plot", metavar="FILE", help="data, fit and residuals: .png .svg .pdf (matplotlib)")
    parser.add_argument("--data", metavar="FILE", help="in place of the data that FIT names")
    parser.add_argument("--method", metavar="NAME", help=", ".join(METHODS))
    parser.add_argument("--solver", metavar="NAME", help="of the model's time derivatives (docs/time.md)")
    parser.add_argument("--starts", metavar="N", type=int, help="of the search, drawn within the bounds")
    parser.add_argument("--profile", action="store_true", help="confidence intervals by profile likelihood too")
    parser.add_argument("--seed", metavar="N", type=int, help="of random searches and simulations")
    parser.add_argument("--max-evaluations", metavar="N", type=int, help="after which the search ends")
    parser.add_argument("--resume", metavar="FILE", help="keep what was evaluated there, and go on from it")
    parser.add_argument("-g", "--graph", metavar="ID", help="of the model")
    parser.add_argument("--max-memory", metavar="BYTES", type=int, default=0, help="a bound on what one evaluation may hold")
    parser.add_argument("--time-limit", metavar="S", type=float, default=0.0, help="a bound on each sweep of evaluations")
    parser.add_argument("--progress", action="store_true", help="how far it is, on standard error; on by default on a terminal")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress and no warnings")
    parser.add_argument("--json-errors", action="store_true", help="errors and warnings as lines of JSON")
    parser.add_argument(
        "--color", metavar="WHEN", choices=("auto", "always", "never"), default="auto", help="auto, always or never; auto: on a terminal, unless NO_COLOR is set"
    )
    parser.add_argument("--completion", metavar="SHELL", choices=SHELLS, action=_Complete, help="what bash, zsh or fish needs to complete the options")
    parser.add_argument("--version", action="version", version=f"mdf-fit {_version()}")
    return parser


def _version() -> str:
    from .. import __version__

    return __version__


class _Progress:
    """A line on standard error, written anew a few times a second."""

    def __init__(self) -> None:
        self._last, self._begin = 0.0, time.monotonic()

    def __call__(self, n_evaluations: int, cost: float) -> None:
        now = time.monotonic()
        if now - self._last >= 0.2:
            self._last = now
            sys.stderr.write(f"\r{n_evaluations} evaluations, least cost {cost:.9g}, {now - self._begin:.0f} s ")
            sys.stderr.flush()

    def end(self) -> None:
        if self._last:
            sys.stderr.write("\r\x1b[K" if sys.stderr.isatty() else "\n")


class _Messages:
    """Errors and warnings on standard error, for people or, as lines of JSON, for programs, as the other programs write them."""

    def __init__(self, given: argparse.Namespace) -> None:
        self._is_json = given.json_errors
        self._is_colored = given.color == "always" or (given.color == "auto" and sys.stderr.isatty() and not os.environ.get("NO_COLOR"))

    def _colored(self, text: str, color: str) -> str:
        return f"{color}{text}{_PLAIN}" if self._is_colored else text

    def tell(self, kind: str, found: _Placed) -> None:
        if self._is_json:
            sys.stderr.write(json.dumps({"severity": kind, **{key: getattr(found, key) for key in _KEYS}}) + "\n")
            return
        place = ":".join(str(part) for part in (found.file, found.line, found.column) if part is not None and found.file)
        parts = (self._colored(f"{place or 'mdf-fit'}:", _BOLD), self._colored(f"{kind}:", _COLORS[kind]))
        sys.stderr.write(" ".join((*parts, ": ".join(part for part in (found.path, found.message) if part))) + "\n")
        source = found.source or _source_of(found)
        if source:
            sys.stderr.write(f"{source}\n")

    def tell_text(self, kind: str, message: object, code: str) -> None:
        """What has no place."""
        self.tell(kind, MdfError(str(message), code=code))


def _source_of(found: _Placed) -> str | None:
    """The line of the file, and a mark under the place."""
    if not found.file or not found.line or not found.column:
        return None
    try:
        lines = Path(found.file).read_text(encoding="utf-8").split("\n")
    except (OSError, ValueError):
        return None
    if found.line > len(lines) or len(lines[found.line - 1]) > 200:
        return None
    return f"{found.line:5} | {lines[found.line - 1]}\n      | {' ' * (found.column - 1)}^"


def main(arguments: list[str] | None = None) -> None:
    """The program."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.plot is not None and Path(given.plot).suffix.lower() not in _FORMATS:
        parser.error(f"--plot writes {', '.join(_FORMATS)}, not '{given.plot}'")
    try:
        sys.exit(_run(given, _Messages(given)))
    except KeyboardInterrupt:
        sys.stderr.write("\nmdf-fit: interrupted\n")
        sys.exit(130)


def _keys(given: argparse.Namespace) -> dict[str, Any]:
    names = ("method", "solver", "starts", "seed", "max_evaluations", "graph")
    keys = {name: getattr(given, name) for name in names if getattr(given, name) is not None}
    if given.profile:
        keys["intervals"] = ["hessian", "profile"]
    if given.data is not None:
        keys["data"] = os.path.abspath(given.data)
    return {**keys, "max_memory": given.max_memory, "time_limit": given.time_limit}


def _run(given: argparse.Namespace, messages: _Messages) -> int:
    progress = _Progress() if given.progress or (sys.stderr.isatty() and not given.quiet) else None
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = fit(given.model, given.fit, progress=progress, resume=given.resume, **_keys(given))
            finally:
                if progress is not None:
                    progress.end()
                if not given.quiet:
                    _warn(caught, messages)
        _write(given, found)
    except MdfError as error:
        for each in error.errors:
            messages.tell("error", each)
        return AT_FAULT
    except (ImportError, ValueError, OSError) as error:
        messages.tell_text("error", error, "file" if isinstance(error, OSError) else "value")
        return AT_FAULT
    if not found.is_converged and not given.quiet:
        messages.tell_text("warning", f"the search has not converged: {found.message}", "not-converged")
    return DONE


def _warn(caught: list[warnings.WarningMessage], messages: _Messages) -> None:
    told = set()
    for each in caught:
        if isinstance(each.message, _Placed) and str(each.message) not in told:
            told.add(str(each.message))
            messages.tell("warning", each.message)


def _write(given: argparse.Namespace, found: Fit) -> None:
    if given.plot is not None:
        try:
            found.plot().savefig(given.plot)
        except ImportError:
            raise ImportError("--plot needs matplotlib, which is not installed: pip install matplotlib") from None
    report = json.dumps(found.to_dict(), indent=2) + "\n"
    if given.output is not None:
        _write_whole(Path(given.output), report)
    if given.table:
        sys.stdout.write(found.table() + "\n")
    elif given.output is None:
        sys.stdout.write(report)
    sys.stdout.flush()


def _write_whole(path: Path, text: str) -> None:
    """The file appears whole or not at all."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
        file.write(text)
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)
