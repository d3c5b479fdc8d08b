"""Pictures of a fit, by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .result import Fit


def plot_fit(fit: Fit) -> Figure:
    """Data and model on the left, residuals on the right; a row for each observed port."""
    from matplotlib.figure import Figure

    names = list(fit.observed)
    figure = Figure(figsize=(10, 3 * max(1, len(names))), layout="constrained")
    panels = figure.subplots(max(1, len(names)), 2, squeeze=False)
    for (left, right), name in zip(panels, names):
        x = fit.abscissa.get(name, np.arange(len(fit.observed[name])))
        order = np.argsort(x, kind="stable")
        data, model = (values[name].reshape(len(x), -1)[order] for values in (fit.observed, fit.predicted))
        left.plot(x[order], data, ".", color="0.4", label="data")
        left.plot(x[order], model, "-", label="model")
        left.set(xlabel=fit.abscissa_name, ylabel=name)
        left.legend(*_first_of_each(left))
        right.axhline(0, color="0.7")
        right.plot(x[order], data - model, ".")
        right.set(xlabel=fit.abscissa_name, ylabel="data - model")
    return figure


def _first_of_each(panel) -> tuple[list, list]:
    handles, labels = panel.get_legend_handles_labels()
    first = [labels.index(label) for label in dict.fromkeys(labels)]
    return [handles[i] for i in first], [labels[i] for i in first]
