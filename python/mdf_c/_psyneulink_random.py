"""Random numbers of a composition of PsyNeuLink: the generators of its functions, each with its seed and as far as it has come.

Each function that draws has a generator of its own, a numpy.random.RandomState([seed]), and has drawn from it while it was made. What
is added to the model here: of each such function `seed` among its arguments, and in its metadata `random_state`, as docs/random.md says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import MdfUnsupportedError

Part = dict[str, Any]

# Distributions that the engine's reading of a file knows as noise.
_DISTRIBUTIONS = ("NormalDist", "UniformDist", "ExponentialDist", "GammaDist", "WaldDist", "UniformToNormalDist")
_WORDS_PER_BLOCK = 624
_MOST_BLOCKS = 10000


# Functions that draw each time they are called.
_DRAWING = ("DriftDiffusionIntegrator", "OrnsteinUhlenbeckIntegrator", "DriftOnASphereIntegrator", "GaussianDistort", "BinomialDistort", *_DISTRIBUTIONS)


@dataclass
class Drawing:
    """Something of a mechanism that draws.

    Attributes
    ----------
    kind : str
        ``function``: a function of the mechanism; ``noise``: a function's noise; ``input``: what is added to the input of a transfer
        mechanism that does not integrate; ``decision``: of a DDM.
    function
        The mechanism's function that this is, or whose noise.
    holder
        The component that has the generator.
    """

    kind: str
    function: Any
    holder: Any


def drawings(mechanism: Any) -> Iterator[Drawing]:
    """All of a mechanism.

    Raises
    ------
    MdfUnsupportedError
        Noise is drawn by something that can not be told.
    """
    function, integrator = mechanism.function, getattr(mechanism, "integrator_function", None)
    integrates = integrator is not None and bool(mechanism.defaults.integrator_mode)
    if integrator is not None and not integrates:
        noise = _noise_of(mechanism)
        if noise is not None:
            yield Drawing("input", function, noise)
    for one in (function, integrator) if integrates else (function,):
        noise = _noise_of(one)
        if noise is not None:
            yield Drawing("noise", one, noise)
        yield from _own(one)
    if type(mechanism).__name__ == "DDM" and type(function).__name__ == "DriftDiffusionAnalytical":
        yield Drawing("decision", function, mechanism)


def reach(composition: Any, target: Any) -> bool:
    """Whether what is drawn in a composition, at any depth, has a part in what arrives at an input port."""
    mechanisms = [node for node in composition._get_all_nodes() if hasattr(node, "function")]
    ports = [port for mechanism in mechanisms for port in _drawn_ports(mechanism)]
    reached = set()
    while ports:
        for projection in ports.pop().efferents:
            receiver = projection.receiver
            if receiver is target:
                return True
            if receiver.owner not in reached:
                reached.add(receiver.owner)
                ports.extend(getattr(receiver.owner, "output_ports", ()))
    return False


def _drawn_ports(mechanism: Any) -> list[Any]:
    """Its output ports whose values are drawn: of a DDM's decision the first item is."""
    kinds = {drawing.kind for drawing in drawings(mechanism)}
    if kinds == {"decision"}:
        return [port for port in mechanism.output_ports if port._variable_spec in ("OWNER_VALUE", ("OWNER_VALUE", 0))]
    return list(mechanism.output_ports) if kinds else []


def _own(function: Any) -> Iterator[Drawing]:
    name, parameters = type(function).__name__, function.parameters
    if name in _DRAWING:
        yield Drawing("function", function, function)
    elif name == "OneHot" and str(parameters.mode.get(None)).startswith("PROB"):
        yield Drawing("function", function, function)
    elif name == "SoftMax" and str(parameters.output.get(None)).startswith("PROB"):
        yield Drawing("function", function, parameters.one_hot_function.get(None))


def distribution_of(noise: Any) -> Any:
    """Noise that is the method `function` of a distribution is drawn by that; any other as it is."""
    owner = getattr(noise, "__self__", None)
    return owner if type(owner).__name__ in _DISTRIBUTIONS and noise.__name__ == "function" else noise


def _noise_of(component: Any) -> Any:
    """The function that draws its noise; None: it has none, or noise that is not drawn."""
    parameter = getattr(component.parameters, "noise", None)
    noise = parameter.get(None) if parameter is not None else None
    while isinstance(noise, (list, tuple, np.ndarray)) and np.size(noise) == 1 and np.ndim(noise) > 0:
        noise = noise[0]
    noise = distribution_of(noise)
    if noise is None or np.asarray(noise).dtype.kind in "biuf":
        return None
    if np.ndim(noise) > 0:
        raise MdfUnsupportedError(
            f"{type(component).__name__} '{component.name}': its noise is an array of functions, which PsyNeuLink 0.21 itself can not run"
            " in a composition: let one distribution draw it"
        )
    if type(noise).__name__ not in _DISTRIBUTIONS:
        what = getattr(noise, "__qualname__", None) or f"a {type(noise).__name__}"
        raise MdfUnsupportedError(
            f"{type(component).__name__} '{component.name}': its noise is {what}: let one distribution of PsyNeuLink draw it"
        )
    return noise


def describe(component: Any) -> Part:
    """How far a generator has come: its seed, the words of 32 bits that it gave, and a normal deviate that is left.

    Raises
    ------
    MdfUnsupportedError
        It is none that the engine has, or not where its seed leads.
    """
    from psyneulink.core.globals.context import Context

    generator = component.parameters.random_state._get(Context(execution_id=None))
    seed = int(component.parameters.seed._get(Context(execution_id=None)))
    if not isinstance(generator, np.random.RandomState):
        raise MdfUnsupportedError(
            f"{type(component).__name__} '{component.name}': its generator is a {type(generator).__name__}: only NumPy's RandomState is known"
        )
    told = generator.get_state(legacy=False)
    n_drawn = _count(seed, told["state"]["key"], told["state"]["pos"])
    if n_drawn is None:
        raise MdfUnsupportedError(f"{type(component).__name__} '{component.name}': its generator is not where its seed, {seed}, leads")
    state = {"seed": seed, "drawn": n_drawn}
    return {**state, "normal": float(told["gauss"])} if told["has_gauss"] else state


def _count(seed: int, key: np.ndarray, position: int) -> int | None:
    for n_blocks, words in enumerate(_blocks(seed)):
        if np.array_equal(words, key):
            return (n_blocks - 1) * _WORDS_PER_BLOCK + int(position)
    return None


def _blocks(seed: int) -> Iterator[np.ndarray]:
    """The words that a generator holds, as it is new and after each block of them."""
    generator = np.random.RandomState([seed])
    for _ in range(_MOST_BLOCKS):
        yield generator.get_state(legacy=False)["state"]["key"]
        generator.bytes(4 * _WORDS_PER_BLOCK)
