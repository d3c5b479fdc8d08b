"""Derivatives: of a value that a model computes, after one evaluation or many, by its parameters."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ._documents import Origin, Source
from ._findings import Findings
from ._library import Error, c_text, lib
from ._settings import Settings, number_of_steps, options_of, settings_of
from ._sweep_library import PER_INSTANCE, NativeSweep, Plan, Swept
from .engine import Model, Program, State, c_names

_NODE, _VALUE = "gradient", "value"
_VJP, _JVP, _HVP = range(3)  # mdf_vector_product


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
        self.of, self.wrt, self.steps, self.dt = of, tuple(wrt), number_of_steps(steps), dt

    @classmethod
    def _remade_gradient(cls, origin: Origin, settings: Settings, asked: tuple) -> Gradient:
        program = cls.__new__(cls)
        program._ask(*asked)
        program._make(Model._read(origin), settings)
        return program

    def _compiled(self, model: Model, settings: Settings, findings: Findings) -> int:
        error = Error()
        names = c_names(self.wrt)
        dt = math.nan if self.dt is None else self.dt
        of = c_text(self.of, "the name of a result")
        asked = of, names, len(names), self.steps, dt, options_of(settings, findings), error
        return findings.take(self._compile(model, asked), error)

    def _compile(self, model: Model, asked: tuple) -> int:
        return lib.mdf_compile_gradient(model._pointer, *asked)

    def _keeping(self, names: tuple[str, ...]) -> Program:
        """Its parameters and vectors are changeable, and there are no others: State.set_parameter says so."""
        return self

    def __reduce_ex__(self, protocol):
        return type(self)._remade_gradient, (self._origin.packed(), self.settings, (self.of, self.wrt, self.steps, self.dt))

    def __repr__(self) -> str:
        return f"<mdf_c.{type(self).__name__} of {self.of!r} by {list(self.wrt)} after {self.steps} steps>"

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
        results = self._results(parameters, inputs)
        return results[_VALUE], {name: results[name] for name in self.wrt}

    def _results(
        self,
        parameters: Mapping[str, Any] | None,
        inputs: Mapping[str, Any] | None,
        vectors: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The values of all output ports, by name."""
        with self._idle_state() as state:
            for name, value in {**(parameters or {}), **(vectors or {})}.items():
                state.set_parameter(name, value)
            state.set_inputs(inputs or {})
            state._take_as_checked()
            state.evaluate(self.dt)
            return state.results()

    @contextlib.contextmanager
    def _idle_state(self) -> Iterator[State]:
        """The state of an earlier call, which has found its ways to run and has its memory, as new; a new one where there is none, or
        another thread has it. An idle state does not refer to its program, which so ends when nobody else does."""
        idle: list[State] = self.__dict__.setdefault("_idle", [])
        try:
            state = idle.pop()
        except IndexError:
            state = self.state()
        else:
            state.program = self
            state.reset()
        yield state
        if not idle:
            del state.program
            idle.append(state)


class VectorJacobian(Gradient):
    """The same of an array: a vector times the derivatives of all its elements (reverse accumulation). Made by :func:`vjp`."""

    def _compile(self, model: Model, asked: tuple) -> int:
        return lib.mdf_compile_vector_product(model._pointer, _VJP, *asked)

    def __call__(
        self,
        parameters: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        *,
        cotangent: Any = 1.0,
    ) -> tuple[Any, dict[str, Any]]:
        """The value, and the vector times its derivatives by each parameter.

        Parameters
        ----------
        parameters, inputs
            As of a :class:`Gradient`.
        cotangent : array
            The vector, in the shape of the value; a number: that in all elements.
        """
        results = self._results(parameters, inputs, {"cotangent": cotangent})
        return results[_VALUE], {name: results[name] for name in self.wrt}


class _Along(Gradient):
    """What goes in a direction of the parameters."""

    def _check_names(self, directions: Mapping[str, Any]) -> None:
        unknown = set(directions) - set(self.wrt)
        if unknown:
            raise KeyError(f"there is no direction of {min(unknown)!r}: the parameters are {list(self.wrt)}")

    def _along(
        self,
        directions: Mapping[str, Any],
        parameters: Mapping[str, Any] | None,
        inputs: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        self._check_names(directions)
        vectors = {f"direction.{name}": directions.get(name, 0.0) for name in self.wrt}
        return self._results(parameters, inputs, vectors)


class JacobianVector(_Along):
    """How a value changes in a direction of the parameters: its derivatives times a vector (what forward accumulation gives). Made by
    :func:`jvp`."""

    def _compile(self, model: Model, asked: tuple) -> int:
        return lib.mdf_compile_vector_product(model._pointer, _JVP, *asked)

    def __call__(  # type: ignore[override]
        self,
        directions: Mapping[str, Any],
        parameters: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
    ) -> tuple[Any, Any]:
        """The value, and how it changes.

        Parameters
        ----------
        directions : dict of str to array
            The direction, by parameter, in its shape; 0 of others.
        parameters, inputs
            As of a :class:`Gradient`.

        Returns
        -------
        value, tangent : array
        """
        results = self._along(directions, parameters, inputs)
        return results[_VALUE], results["tangent"]

    def many(
        self,
        directions: Mapping[str, Any],
        parameters: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        *,
        threads: int = 0,
    ) -> tuple[Any, np.ndarray]:
        """The same in many directions at once, of which several go side by side in vector registers, as instances of a sweep do: with
        the rows of an identity matrix, the whole Jacobian. Each tangent has the bits of a call of its own.

        Parameters
        ----------
        directions : dict of str to array
            The first axis goes through the directions, the rest is the parameter's shape; 0 of others.
        parameters, inputs
            As of a :class:`Gradient`.
        threads : int
            0: all cores.

        Returns
        -------
        value : array
        tangents : numpy.ndarray, shape (directions, *shape of the value)
        """
        self._check_names(directions)
        arrays = {name: np.asarray(values, float) for name, values in directions.items()}
        lengths = {array.shape[:1] for array in arrays.values()}
        if len(lengths) != 1 or not all(map(all, lengths)) or lengths == {()}:
            shapes = {name: array.shape for name, array in arrays.items()}
            raise ValueError(f"directions have one first axis, of one length that is not 0, not {shapes}")
        ((n,),) = lengths
        swept = [
            Swept(f"direction.{name}", arrays.get(name, np.zeros(())), PER_INSTANCE if name in arrays else 0) for name in self.wrt
        ]
        swept += [Swept(name, np.asarray(value), 0) for name, value in (parameters or {}).items()]
        records = [self.outputs[_NODE, name] for name in (_VALUE, "tangent")]
        # The first evaluation of a sweep has no time increment, which all of a program of derivatives needs: the second is looked at.
        n_steps, dt = (1, math.nan) if self.dt is None else (2, self.dt)
        given = [Swept(name, np.asarray(value), 0) for name, value in (inputs or {}).items()]
        seeds = np.full(n, self.settings.seed % 2**64, np.uint64)
        plan = Plan(swept, given, records, seeds, n, [n], n_steps, dt, 0)
        values, tangents = (array[:, -1] for array in NativeSweep(self._handle, plan, threads).run())
        return values[0], tangents


class HessianVector(_Along):
    """How the derivatives of a value (or of the sum of its elements) change in a direction of the parameters: the Hessian times a vector.
    Made by :func:`hvp`."""

    def _compile(self, model: Model, asked: tuple) -> int:
        return lib.mdf_compile_vector_product(model._pointer, _HVP, *asked)

    def __call__(  # type: ignore[override]
        self,
        directions: Mapping[str, Any],
        parameters: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """The value, and the Hessian times the direction, by parameter.

        Parameters
        ----------
        directions, parameters, inputs
            As of a :class:`JacobianVector`.
        """
        results = self._along(directions, parameters, inputs)
        return results[_VALUE], {name: results[name] for name in self.wrt}


class ForwardSensitivities(Gradient):
    """Values after each evaluation, as functions of parameters, with their derivatives by them: forward sensitivities of CVODES, along the
    solution. Made by :func:`forward_sensitivities`.

    Attributes
    ----------
    ports : tuple of str
    wrt : tuple of str
    steps : int
    dt : float, optional
    """

    @property
    def ports(self) -> tuple[str, ...]:
        return tuple(name.removesuffix("[:]") for name in self.of.split(","))

    def __call__(  # type: ignore[override]
        self, parameters: Mapping[str, Any] | None = None, inputs: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """The values, and their derivatives.

        Parameters
        ----------
        parameters, inputs
            As of a :class:`Gradient`.

        Returns
        -------
        values : dict of str to array
            By port: shape (steps, *shape of the value).
        derivatives : dict of str to dict of str to array
            By port and parameter: shape (steps, *shape of the value, *shape of the parameter).
        """
        results = self._results(parameters, inputs)
        values = {port: results[port] for port in self.ports}
        return values, {port: {name: results[f"{port} by {name}"] for name in self.wrt} for port in self.ports}


def _read(model: Source | Model, settings: Mapping[str, Any]) -> Model:
    if isinstance(model, Model):
        return model
    return Model(model, **{name: settings[name] for name in ("max_memory", "time_limit") if name in settings})


def vjp(model: Source | Model, of: str, wrt: Sequence[str], *, steps: int = 1, dt: float | None = None, **settings: Any) -> VectorJacobian:
    """Compiles the product of a vector by the derivatives of a value; arguments are those of :func:`gradient`.

    Examples
    --------
    >>> product = mdf_c.vjp("net.json", "y", ["n.w"])  # doctest: +SKIP
    >>> value, by = product(cotangent=[1.0, 0.0])  # doctest: +SKIP
    """
    return VectorJacobian(_read(model, settings), of, wrt, steps, dt, settings_of(settings, vjp))


def jvp(model: Source | Model, of: str, wrt: Sequence[str], *, steps: int = 1, dt: float | None = None, **settings: Any) -> JacobianVector:
    """Compiles how a value changes in a direction of parameters; arguments are those of :func:`gradient`.

    Examples
    --------
    >>> along = mdf_c.jvp("net.json", "y", ["n.w"])  # doctest: +SKIP
    >>> value, tangent = along({"n.w": direction})  # doctest: +SKIP
    """
    return JacobianVector(_read(model, settings), of, wrt, steps, dt, settings_of(settings, jvp))


def hvp(model: Source | Model, of: str, wrt: Sequence[str], *, steps: int = 1, dt: float | None = None, **settings: Any) -> HessianVector:
    """Compiles the product of the Hessian of a value by a vector; arguments are those of :func:`gradient`.

    Examples
    --------
    >>> product = mdf_c.hvp("net.json", "y", ["n.w"])  # doctest: +SKIP
    >>> value, by = product({"n.w": direction})  # doctest: +SKIP
    """
    return HessianVector(_read(model, settings), of, wrt, steps, dt, settings_of(settings, hvp))


def forward_sensitivities(
    model: Source | Model, of: Sequence[str], wrt: Sequence[str], *, steps: int = 1, dt: float | None = None, **settings: Any
) -> ForwardSensitivities:
    """Compiles the values of output ports after each evaluation, and their derivatives by parameters: by the methods ``cvode_adams`` and
    ``cvode_bdf``.

    Parameters
    ----------
    model, wrt, steps, dt, **settings
        As for :func:`gradient`.
    of : sequence of str
        Results of the graph, or output ports: PORT, or NODE.PORT.

    Examples
    --------
    >>> neuron = mdf_c.forward_sensitivities("fitzhugh_nagumo.yaml", ["V"], ["membrane.a"], steps=101, dt=0.5, method="cvode_bdf")  # doctest: +SKIP
    >>> values, by = neuron({"membrane.a": 0.7})  # doctest: +SKIP
    >>> by["V"]["membrane.a"].shape  # doctest: +SKIP
    (101,)
    """
    if isinstance(of, str):
        raise TypeError(f"of is a sequence of names, not the text {of!r}")
    return ForwardSensitivities(_read(model, settings), ",".join(f"{name}[:]" for name in of), wrt, steps, dt, settings_of(settings, forward_sensitivities))


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
    return Gradient(_read(model, settings), of, wrt, steps, dt, settings_of(settings, gradient))


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
