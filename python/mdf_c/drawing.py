"""What notebooks show: graphs as pictures, values as tables; and plots of what was recorded, by matplotlib."""

from __future__ import annotations

import io
import math
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# An array of more numbers than that is an image, not a line for each of them.
_MOST_LINES = 16
# The longest value that a table has in full.
_MOST_CHARACTERS = 80


class Drawing:
    """A graph as Graphviz draws it; a notebook shows it as a picture.

    Attributes
    ----------
    dot : str
        In the language of Graphviz.
    """

    def __init__(self, dot: str) -> None:
        self.dot = dot

    def _made(self, format: str) -> bytes:
        if shutil.which("dot") is None:
            raise FileNotFoundError("pictures need the program dot of Graphviz (Debian's package graphviz); `dot` has the text")
        import subprocess

        return subprocess.run(["dot", f"-T{format}"], input=self.dot.encode(), capture_output=True, check=True).stdout

    def svg(self) -> str:
        """The picture in SVG.

        Raises
        ------
        FileNotFoundError
            Graphviz is not installed.
        """
        return self._made("svg").decode()

    def save(self, path: str | os.PathLike) -> None:
        """Writes the picture: .svg, .png or .pdf by suffix, or .dot, which needs no Graphviz.

        Raises
        ------
        ValueError
            The suffix is none of these.
        FileNotFoundError
            Graphviz is not installed.
        """
        suffix = Path(path).suffix
        if suffix not in (".svg", ".png", ".pdf", ".dot"):
            raise ValueError(f"a picture is a file .svg, .png, .pdf or .dot, not {str(path)!r}")
        Path(path).write_bytes(self.dot.encode() if suffix == ".dot" else self._made(suffix[1:]))

    def __repr__(self) -> str:
        return f"<mdf_c.Drawing, {len(self.dot)} characters of DOT>"

    def _repr_html_(self) -> str:
        if shutil.which("dot") is None:
            return f"<p>(Graphviz, which draws this, is not installed)</p><pre>{_escape(self.dot)}</pre>"
        svg = self.svg()
        return svg[svg.index("<svg") :]  # without the header of a file of its own


def _escape(text: str) -> str:
    import html  # for pages only, as is what else is imported within functions here

    return html.escape(text)


def titled(title: str, body: str) -> str:
    """A piece of a page under a title, which is text."""
    return f"<div><p><code>{_escape(title)}</code></p>{body}</div>"


def shown(value: Any) -> str:
    """A value as a cell of a table has it: shortened, with its type and shape where it is an array."""
    array = value if isinstance(value, np.ndarray) else None
    words = np.array2string(array, threshold=12, precision=6) if array is not None else repr(value)
    words = " ".join(words.split())
    if len(words) > _MOST_CHARACTERS:
        words = words[:_MOST_CHARACTERS] + "…"
    form = f" <small>{array.dtype}{list(array.shape)}</small>" if array is not None and array.ndim else ""
    return _escape(words) + form


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are HTML already."""
    head = "".join(f"<th>{_escape(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _panels(names: Sequence[str]) -> tuple[Figure, list[Any]]:
    """A figure with a panel below the other for each name, apart from what pyplot keeps: a notebook shows it once."""
    from matplotlib.figure import Figure

    class Plot(Figure):
        def _repr_png_(self) -> bytes:
            picture = io.BytesIO()
            self.savefig(picture, format="png")
            return picture.getvalue()

    figure = Plot(figsize=(7, 1.2 + 2.2 * len(names)), layout="constrained")
    return figure, list(figure.subplots(len(names), 1, squeeze=False)[:, 0])


def _draw(panel: Any, x: np.ndarray, y: np.ndarray, label: str) -> None:
    """Values, whose first axis is that of `x`: lines, or an image where they are many."""
    n_lines = math.prod(y.shape[1:])
    flat = y.reshape(len(x), n_lines)
    if n_lines > _MOST_LINES:
        image = panel.pcolormesh(x, np.arange(n_lines), flat.T, shading="nearest")
        panel.figure.colorbar(image, ax=panel, label=label)
        panel.set_ylabel("element")
        return
    lines = panel.plot(x, flat, marker="." if len(x) < 3 else None)
    panel.set_ylabel(label)
    if n_lines > 1:
        panel.legend(lines, [str(list(index)) for index in np.ndindex(y.shape[1:])], fontsize="small")


def _numbers(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    found = {name: values for name, values in arrays.items() if values.dtype.kind in "biuf"}
    if not found:
        raise ValueError("there is nothing to plot: no port with numbers was recorded (record=True)")
    return found


def plot_traces(traces: Mapping[str, np.ndarray], axis: str, ticks: np.ndarray) -> Figure:
    """A panel for each trace over time, or steps."""
    numbers = _numbers(traces)
    figure, panels = _panels(list(numbers))
    for panel, (name, values) in zip(panels, numbers.items()):
        _draw(panel, ticks, values, name)
    panels[-1].set_xlabel(axis)
    return figure


def plot_sweep(outputs: Mapping[str, np.ndarray], dims: Sequence[str], ticks: Mapping[str, np.ndarray]) -> Figure:
    """A panel for each output over one axis of the sweep, or an image over two.

    Raises
    ------
    ValueError
        There are more axes, or the values of an axis are no numbers.
    """
    numbers = _numbers(outputs)
    axes = [np.asarray(ticks[name]) for name in dims]
    if len(dims) not in (1, 2) or any(values.ndim != 1 or values.dtype.kind not in "biuf" for values in axes):
        raise ValueError(f"a plot has one or two axes of numbers, this sweep {list(dims)}: choose from to_xarray()")
    figure, panels = _panels(list(numbers))
    for panel, (name, values) in zip(panels, numbers.items()):
        if len(dims) == 1:
            order = np.argsort(axes[0], kind="stable")
            _draw(panel, axes[0][order], values[order], name)
        elif values.ndim == 2:
            image = panel.pcolormesh(axes[1], axes[0], values, shading="nearest")
            figure.colorbar(image, ax=panel, label=name)
            panel.set_ylabel(dims[0])
        else:
            raise ValueError(f"{name} has {values.ndim - 2} axes of its own beside those of the sweep: choose from to_xarray()")
    panels[-1].set_xlabel(dims[-1])
    return figure
