"""What a caller says of how a model is compiled and evaluated."""

from __future__ import annotations

import ctypes
import inspect
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ._documents import as_parameters
from ._findings import Findings
from ._library import Options, c_text
from .custom import Functions, default_functions

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:
    from ._record import record

# mdf_loop_condition, mdf_dialect, mdf_scheduling_mode, mdf_method.
_LOOP_CONDITIONS = {None: 0, "standard": 1, "obey": 2}
_DIALECTS = {None: 0, "reference": 1, "psyneulink": 2}
_SCHEDULING_MODES = {None: 0, "standard": 1, "exact_time": 2}
_METHODS = ("euler", "exponential_euler", "heun", "rk4", "dopri5", "cvode_adams", "cvode_bdf")


@record(frozen=True)
class Settings:
    """How a model is compiled and evaluated.

    Attributes
    ----------
    graph : str, optional
        Id of the graph to run; by default the first that no other uses as a body.
    float32 : bool
        Reals without a declared type are float32, not float64.
    max_iterations : int
        Bound on the iterations of one Loop; 0: none, and an endless Loop is refused.
    max_passes : int
        Bound on the passes of one evaluation of a graph with conditions; 0: a million.
    max_memory : int
        Bound on the bytes that a model, its program and one state may hold together; 0: what the machine has; 2**64 - 1: none.
    time_limit : float
        Bound in seconds on reading a model, on compiling, on each evaluation of a state and each sweep, and on a whole
        :func:`mdf_c.run`; 0: none.
    seed : int
        For random functions: the same seed gives the same numbers.
    threads : int
        For big kernels; 0: all cores.
    loop_condition : {"standard", "obey"}, optional
        What becomes of the condition that the body of a Loop without a condition input yields: ignored, as the ONNX standard says,
        or obeyed, as by ONNX Runtime. By default it is ignored, with a warning where it may be false.
    dialect : {"reference", "psyneulink"}, optional
        What the model means: what the Python engine of MDF makes of it, or what PsyNeuLink does. By default the latter where PsyNeuLink wrote
        the model.
    parameters : dict, optional
        Other values of parameters, as if the model's file had them: ``{name: value}``, NODE.PARAMETER, or PARAMETER for every one of
        that name. A value stands in the place of the constant that the file has, as the parameter's value or, where that is computed,
        as its default_initial_value.
    changeable : sequence of str
        Names of parameters (of numbers) that each state can set for itself, without compiling again: :meth:`State.set_parameter`.
    scheduling_mode : {"standard", "exact_time"}, optional
        Which nodes are looked at together: graph_scheduler's SchedulingMode. By default what the graph's conditions say.
    method : str
        How parameters with a time_derivative are solved: "euler", "exponential_euler", "heun", "rk4", "dopri5", "cvode_adams" or
        "cvode_bdf" (docs/time.md).
    rtol, atol, max_step : float
        Of methods with steps of their own (dopri5, cvode_*): the error of a step is at most ``rtol * abs(value) + atol``, 0: 1e-6 and
        1e-9; no step is longer than ``max_step``, 0: none is too long.
    step_limit : int
        More steps of theirs in one evaluation are an error, 0: 100,000.
    functions : Functions, optional
        That the model can call besides the engine's own; by default those of :func:`mdf_c.register_function`.

    Raises
    ------
    TypeError, ValueError
        A setting is of another type, or no number that fits.
    plain : bool
        Nothing is fused or made machine code: the same results, more slowly (docs/speed.md). With ``profile``, operators inside
        nodes and bodies are told one by one.
    """

    graph: str | None = None
    float32: bool = False
    max_iterations: int = 0
    max_passes: int = 0
    max_memory: int = 0
    time_limit: float = 0.0
    seed: int = 0
    threads: int = 0
    loop_condition: str | None = None
    dialect: str | None = None
    parameters: Mapping[str, Any] | None = None
    changeable: tuple[str, ...] = ()
    scheduling_mode: str | None = None
    functions: Functions | None = None
    plain: bool = False
    method: str = "euler"
    rtol: float = 0.0
    atol: float = 0.0
    max_step: float = 0.0
    step_limit: int = 0

    def __post_init__(self) -> None:
        if self.graph is not None:
            c_text(self.graph, "graph")
        if not isinstance(self.float32, (bool, np.bool_)):
            raise TypeError(f"float32 must be True or False, not {self.float32!r}")
        for name, bits in (("max_iterations", 64), ("max_passes", 64), ("max_memory", 64), ("seed", 64), ("step_limit", 64), ("threads", 31)):
            if not 0 <= operator.index(getattr(self, name)) < 2**bits:
                raise ValueError(f"{name} must be a number from 0 to 2**{bits} - 1, not {getattr(self, name)}")
        if not float(self.time_limit) >= 0:
            raise ValueError(f"time_limit must be a number of seconds, not {self.time_limit}")
        if self.loop_condition not in _LOOP_CONDITIONS:
            raise ValueError(f"loop_condition must be 'standard' or 'obey', not {self.loop_condition!r}")
        if self.dialect not in _DIALECTS:
            raise ValueError(f"dialect must be 'reference' or 'psyneulink', not {self.dialect!r}")
        if self.parameters is not None:
            as_parameters(self.parameters)
        if isinstance(self.changeable, str):
            raise TypeError(f"changeable is a sequence of names, not the text {self.changeable!r}")
        object.__setattr__(self, "changeable", tuple(self.changeable))
        for name in self.changeable:
            c_text(name, "the name of a parameter")
        if self.scheduling_mode not in _SCHEDULING_MODES:
            raise ValueError(f"scheduling_mode must be 'standard' or 'exact_time', not {self.scheduling_mode!r}")
        if self.method not in _METHODS:
            raise ValueError(f"method must be one of {', '.join(_METHODS)}, not {self.method!r}")
        for name in ("rtol", "atol", "max_step"):
            if not 0 <= float(getattr(self, name)) < math.inf:
                raise ValueError(f"{name} must be a number above 0, or 0 for the default, not {getattr(self, name)}")
        if self.functions is not None and not isinstance(self.functions, Functions):
            raise TypeError(f"functions must be a set mdf_c.Functions, not {type(self.functions).__name__}")


#: Where nothing is set: checking them takes longer than evaluating a small model.
_DEFAULTS = Settings()
_NAMES = frozenset(Settings.__annotations__)


def hint_of(name: str, known: Iterable[str]) -> str:
    """What ends a message by the name that was probably meant; empty where none is near."""
    import difflib  # for mistakes only

    spelt = {one.lower(): one for one in known}
    nearest = [spelt[one] for one in difflib.get_close_matches(name.lower(), spelt, 1)]
    return f"; did you mean '{nearest[0]}'?" if nearest else ""


def number_of_steps(steps: Any) -> int:
    """Evaluations, as the engine counts them; more than any machine can make would become fewer there."""
    try:
        number = operator.index(steps)
    except TypeError:
        raise TypeError(f"steps must be a whole number, not {steps!r}") from None
    if number < 1:
        raise ValueError(f"steps must be at least 1, not {number}")
    if number >= 2**63:
        raise ValueError(f"steps must be less than 2**63, not {number}")
    return number


def increment_of(dt: Any) -> float | None:
    """A time increment as a number; None: there is none."""
    try:
        return None if dt is None else float(dt)
    except (TypeError, ValueError) as error:
        raise type(error)(f"dt must be a number, not {dt!r}") from None


def settings_of(given: Mapping[str, Any], function: Callable[..., Any]) -> Settings:
    """The settings among a function's keywords; a TypeError says which keyword is none, and which was probably meant."""
    unknown = next((name for name in given if name not in _NAMES), None)
    if unknown is not None:
        own = (name for name, one in inspect.signature(function).parameters.items() if one.kind is not one.VAR_KEYWORD)
        raise TypeError(f"{function.__name__}() got an unexpected keyword argument '{unknown}'{hint_of(unknown, [*own, *_NAMES])}")
    return Settings(**given) if given else _DEFAULTS


def functions_of(settings: Settings) -> Functions:
    """What a model can call that is compiled with these settings."""
    return default_functions if settings.functions is None else settings.functions


def options_of(settings: Settings, findings: Findings) -> Options:
    """The same for the library, which tells what it finds by `findings`; these live as long as the options do."""
    options = Options(
        size=ctypes.sizeof(Options),
        graph=c_text(settings.graph, "graph") if settings.graph is not None else None,
        float32=settings.float32,
        max_iterations=settings.max_iterations,
        max_passes=settings.max_passes,
        max_memory_bytes=settings.max_memory,
        time_limit_s=settings.time_limit,
        seed=settings.seed,
        n_threads=settings.threads,
        plain=bool(settings.plain),
        loop_condition=_LOOP_CONDITIONS[settings.loop_condition],
        dialect=_DIALECTS[settings.dialect],
        parameters=None if settings.parameters is None else as_parameters(settings.parameters),
        scheduling_mode=_SCHEDULING_MODES[settings.scheduling_mode],
        functions=functions_of(settings).pointer,
        method=_METHODS.index(settings.method),
        rtol=settings.rtol,
        atol=settings.atol,
        max_step=settings.max_step,
        step_limit=settings.step_limit,
        diagnostics=findings.pointer,
    )
    options.findings = findings
    return options
