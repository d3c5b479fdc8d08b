"""Derivatives: of a value that a model computes, after one evaluation or many, by its parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ._documents import Origin, Source
from ._library import Error, c_text, lib
from .engine import Model, Program, Settings, _Findings, _options, c_names

_NODE, _VALUE = "gradient", "value"


class Gradient(Program):
    """A value that a graph computes, as a function of parameters, with its derivatives by them: reverse accumulation, compiled once.
    It is a program of one node, ``gradient``, whose output ports are ``value`` and the names of the parameters. Made by
    :func:`gradient`.

    Attributes
    ----------
    of : str
    wrt : tuple of str
    steps : int
    dt : float, optional
    """

    def __init__(self, model: Model, of: str, wrt: Sequence[str], steps: int, dt: float | None, settings: Settings) -> None:
        self._ask(of, wrt, steps, dt)
        super().__init__(model, settings)

    def _ask(self, of: str, wrt: Sequence[str], steps: int, dt: float | None) -> None:
        if isinstance(wrt, str):
            raise TypeError(f"wrt is a sequence of names, not the text {wrt!r}")
        if steps < 1:
            raise ValueError(f"steps must be at least 1, not {steps}")
        self.of, self.wrt, self.steps, self.dt = of, tuple(wrt), steps, dt

    @classmethod
    def _remade_gradient(cls, origin: Origin, settings: Settings, asked: tuple) -> Gradient:
        program = cls.__new__(cls)
        program._ask(*asked)
        program._make(Model._read(origin), settings)
        return program

    def _compiled(self, model: Model, settings: Settings, findings: _Findings) -> int:
        error = Error()
        names = c_names(self.wrt)
        dt = math.nan if self.dt is None else self.dt
        of = c_text(self.of, "the name of a result")
        options = _options(settings, findings)
        return findings.take(
            lib.mdf_compile_gradient(model._pointer, of, names, len(names), self.steps, dt, options, error), error
        )

    def __reduce_ex__(self, protocol):
        return Gradient._remade_gradient, (self._origin.packed(), self.settings, (self.of, self.wrt, self.steps, self.dt))

    def __repr__(self) -> str:
        return f"<mdf_c.Gradient of {self.of!r} by {list(self.wrt)} after {self.steps} steps>"

    def __call__(
        self, parameters: Mapping[str, Any] | None = None, inputs: Mapping[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """The value, and its derivatives.

        Parameters
        ----------
        parameters : dict, optional
            Values of parameters among ``wrt``; others are as the model has them.
        inputs : dict, optional
            Inputs of the graph, which hold for all steps.

        Returns
        -------
        value : array
            What ``of`` is after the last step.
        gradients : dict of str to array
            By each parameter, in its shape: of the value, or the sum of its elements.
        """
        state = self.state(parameters)
        state.set_inputs(inputs or {})
        state._take_as_checked()
        state.evaluate(self.dt)
        return state.output(_NODE, _VALUE), {name: state.output(_NODE, name) for name in self.wrt}


def gradient(
    model: Source | Model, of: str, wrt: Sequence[str], *, steps: int = 1, dt: float | None = None, **settings: Any
) -> Gradient:
    """Compiles the derivatives of a value by parameters.

    Parameters
    ----------
    model
        What :func:`mdf_c.load` takes, or a Model.
    of : str
        A result of the graph, or an output port: PORT, or NODE.PORT.
    wrt : sequence of str
        Parameters that hold numbers: NODE.PARAMETER; one with a time derivative or a state stands for its initial value.
    steps : int
        Evaluations in a row; the value is that after the last.
    dt : float, optional
        The time increment of all but the first.
    **settings
        Those of :class:`mdf_c.Settings`.

    Raises
    ------
    MdfUnsupportedError
        There is no such derivative: of a graph with conditions, say, or of an operator without one, which the error names.
    MdfError
        The model is invalid.

    Examples
    --------
    >>> cooling = mdf_c.gradient("cooling.yaml", "temperature", ["cup.temperature"], steps=61, dt=10)  # doctest: +SKIP
    >>> value, by = cooling({"cup.temperature": 95.0})  # doctest: +SKIP
    """
    if not isinstance(model, Model):
        model = Model(model, **{name: settings[name] for name in ("max_memory", "time_limit") if name in settings})
    return Gradient(model, of, wrt, steps, dt, Settings(**settings))


def value_and_grad(
    model: Source | Model,
    of: str,
    wrt: Sequence[str],
    *,
    inputs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    steps: int = 1,
    dt: float | None = None,
    **settings: Any,
) -> tuple[Any, dict[str, Any]]:
    """A value that a model computes, and its derivatives by parameters: :func:`gradient`, called once.

    Parameters
    ----------
    model, of, wrt, steps, dt, **settings
        As for :func:`gradient`.
    inputs, parameters
        As for a call of what that gives.

    Returns
    -------
    value : array
    gradients : dict of str to array
    """
    return gradient(model, of, wrt, steps=steps, dt=dt, **settings)(parameters, inputs)
