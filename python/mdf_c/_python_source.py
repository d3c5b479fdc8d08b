"""Where in the caller's Python a part of a model was written, when the model was made of objects.

The engine says where in the model's JSON text an error is. The text that stands there, an expression say, is searched for in the
files of the functions that called: where it stands once, or once in what has the name of its parameter or node, that is the place.
"""

from __future__ import annotations

import ast
import json
import linecache
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_STATEMENT = re.compile(r"^(?!(?:else|elif|except|finally)\b)[\w@]", re.MULTILINE)  # at the beginning of a line
_PART = re.compile(r"(\w[\w ]*?) '((?:[^'])*)'")
_HERE = os.path.dirname(os.path.abspath(__file__))


@dataclass(frozen=True)
class Place:
    """A place in a Python file: line and columns from 1, the text of the line."""

    file: str
    line: int
    column: int
    end_column: int
    source: str


def _text_at(content: str, line: int, column: int) -> tuple[str, int | None] | None:
    """The string of a JSON text that a place lies in, and how many of its characters stand before the place; None: it is the whole."""
    lines = content.split("\n")
    if not 1 <= line <= len(lines):
        return None
    text = lines[line - 1]
    for match in _STRING.finditer(text):
        if match.start() < column <= match.end():
            before = text[match.start() + 1 : column - 1]
            try:
                return json.loads(match.group()), None if column - 1 == match.start() else len(json.loads(f'"{before}"'))
            except ValueError:
                return None
        if match.start() >= column:
            break
    return None


def _frames() -> Iterator[tuple[str, int]]:
    """Files of the functions that called the package, and the lines where they are, innermost first."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if os.path.dirname(os.path.abspath(file)) != _HERE:
            yield file, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]


def _parents(tree: ast.AST) -> dict[ast.AST, ast.AST]:
    return {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}


def _names_around(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> set[str]:
    """Texts that stand as ids beside or above a constant: id="b" of a call, keys of dicts."""
    names: set[str] = set()
    while node in parents:
        child, node = node, parents[node]
        if isinstance(node, ast.Call):
            for value in [keyword.value for keyword in node.keywords if keyword.arg == "id"] + node.args[:1]:
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    names.add(value.value)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values):
                if value is child and isinstance(key, ast.Constant) and isinstance(key.value, str):
                    names.add(key.value)
        elif isinstance(node, (ast.FunctionDef, ast.Module, ast.ClassDef)):
            break
    return names


def _position(lines: list[str], node: ast.Constant, before: int, text: str, offset: int | None) -> tuple[int, int, int]:
    """Line and columns, from 1, of the word at a place of a constant; of all of it where it is not written as it reads."""
    number = before + node.lineno
    line = lines[number - 1]
    start = len(line.encode()[: node.col_offset].decode())
    inside = line.find(text, start)
    if offset is not None and node.lineno == node.end_lineno and inside >= 0 and offset < len(text):
        word = re.match(r"\w+(?:(?:\.|::)\w+)*", text[offset:])
        return number, inside + offset + 1, inside + offset + (len(word.group()) if word else 1) + 1
    end = len(line.encode()[: node.end_col_offset].decode()) if node.lineno == node.end_lineno else len(line.rstrip("\n"))
    return number, start + 1, end + 1


def _statement_around(source: str, at: int) -> tuple[int, int] | None:
    """Where the outermost statement that a place of a file lies in begins and ends; None: it can not be told without reading all."""
    first = next((match.start() for match in _reversed_starts(source, at)), 0)
    if source.count('"""', 0, first) % 2 or source.count("'''", 0, first) % 2:  # it may begin within a text
        return None
    following = _STATEMENT.search(source, at)
    return first, len(source) if following is None else following.start()


def _reversed_starts(source: str, at: int) -> Iterator[re.Match[str]]:
    """Lines up to a place that begin a statement, the last one first."""
    end = at
    while (start := source.rfind("\n", 0, end)) >= 0:
        match = _STATEMENT.match(source, start + 1)
        if match is not None and match.start() <= at:
            yield match
        end = start


def _trees(source: str, text: str) -> list[tuple[ast.AST, int]]:
    """The statements of a file that may have a text, and the lines in front of each: reading a long file takes a hundred times as
    long as looking for what stands in it. All of it where the text may be written in pieces, or otherwise than it reads."""
    quoted = [match.start() for match in re.finditer(f"[\"']{re.escape(text)}[\"']", source)]
    if not quoted and (text.isidentifier() or any(re.search(rf"\b{word}\b", source) is None for word in re.findall(r"\w+", text))):
        return []
    spans = {_statement_around(source, at) for at in quoted}
    try:
        if spans and None not in spans:
            return [(ast.parse(source[start:end]), source.count("\n", 0, start)) for start, end in filter(None, spans)]
    except (SyntaxError, ValueError):
        pass
    try:
        return [(ast.parse(source), 0)]
    except (SyntaxError, ValueError):
        return []


def _find_constants(source: str, text: str, names: list[str]) -> list[tuple[ast.Constant, int]]:
    """Those that are the text, by the names around them where there are several, and the lines in front of their trees."""
    trees = _trees(source, text)
    found = [
        (node, lines)
        for tree, lines in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value == text
    ]
    if len(found) > 1:
        parents: dict[ast.AST, ast.AST] = {}
        for tree, _ in trees:
            parents.update(_parents(tree))
        around = {node: _names_around(node, parents) for node, _ in found}
        for name in reversed(names):  # the innermost part of the path first
            named = [(node, lines) for node, lines in found if name in around[node]]
            found = named or found
            if len(found) == 1:
                break
    return found


def find(content: bytes, line: int | None, column: int | None, path: str | None) -> Place | None:
    """The place in the caller's Python of what a place in a JSON text is about.

    Parameters
    ----------
    content : bytes
        The JSON text that was made of the objects.
    line, column : int or None
        The place there.
    path : str or None
        The place in the model.

    Returns
    -------
    Place or None
        None: it can not be told.
    """
    names = [name for _, name in _PART.findall(path or "")]
    at = _text_at(content.decode(errors="replace"), line, column) if line and column else None
    if at is None and not names:
        return None
    text, offset = at if at is not None else (names[-1], None)
    for file, _ in _frames():
        lines = linecache.getlines(file)
        found = _find_constants("".join(lines), text, names)
        if len(found) > 1:  # a file further out has it for something else
            return None
        if found:
            place = _position(lines, *found[0], text, offset)
            return Place(file, *place, lines[place[0] - 1].rstrip("\n"))
    return None
