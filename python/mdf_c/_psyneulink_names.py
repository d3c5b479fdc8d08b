"""Names of a composition's parts as PsyNeuLink's exporter writes them, and what lies behind the ports of nested compositions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from .errors import MdfUnsupportedError

Part = dict[str, Any]


def unsupported(component: Any, what: str) -> MdfUnsupportedError:
    """An error that names a component of PsyNeuLink."""
    return MdfUnsupportedError(f"{type(component).__name__} '{component.name}': {what}")


def identifier(name: str) -> str:
    """A name of PsyNeuLink as the exporter writes it."""
    from psyneulink.core.globals.utilities import parse_valid_identifier

    return parse_valid_identifier(name)


def is_interface(mechanism: Any) -> bool:
    """Whether it is one of the mechanisms that pass values into and out of a composition."""
    from psyneulink.core.components.mechanisms.processing.compositioninterfacemechanism import CompositionInterfaceMechanism

    return isinstance(mechanism, CompositionInterfaceMechanism)


def is_composition(node: Any) -> bool:
    """Whether a node is a composition."""
    return hasattr(node, "input_CIM")


def port_id(port: Any, projection: Any = None) -> str:
    """A mechanism's port, as the exporter writes it: an input port with several projections has one for each of them."""
    from psyneulink.core.globals.mdf import _get_id_for_mdf_port

    several = projection is not None and len(port.path_afferents) > 1
    return _get_id_for_mdf_port(port, afferent=projection if several else None)


def receivers(port: Any, projection: Any) -> Iterator[str]:
    """Ids of the input ports by which `projection`, which leads to `port`, reaches mechanisms: of a mechanism, or of the node that a
    nested composition is."""
    if not is_interface(port.owner):
        yield port_id(port, projection)
        return
    several = len(port.path_afferents) > 1
    for id in within(port):
        yield own_port(id, projection) if several else id


def within(port: Any) -> Iterator[str]:
    """Names of what a port of a nested composition's interface passes its value to, in that composition."""
    inside = next(pair[1] for pair in port.owner.port_map.values() if pair[0] is port)
    for inner in inside.efferents:
        yield from receivers(inner.receiver, inner)


def reached(port: Any) -> Iterator[Any]:
    """An input port, and those within a nested composition that it passes its value to."""
    yield port
    if is_interface(port.owner):
        inside = next(pair[1] for pair in port.owner.port_map.values() if pair[0] is port)
        for inner in inside.efferents:
            yield from reached(inner.receiver)


def own_port(id: str, projection: Any) -> str:
    return f"{id}_input_port_from_{identifier(projection.name)}"


def source(port: Any) -> Any:
    """The mechanism's output port that a port of an interface passes on."""
    while is_interface(port.owner):
        inside = next(pair[0] for pair in port.owner.port_map.values() if pair[1] is port)
        port = inside.path_afferents[0].sender
    return port


def held_at_first(port: Any) -> np.ndarray:
    """What an output port holds before the composition's first run: its default, or what its mechanism left there when it was
    executed by itself."""
    value = port.parameters.value.get(None)
    return np.asarray(port.defaults.value if value is None else value, float)


def matrix_of(projection: Any) -> np.ndarray:
    """The matrix that a projection has: what was learned in a composition, else what it was made with."""
    from psyneulink.core.globals.parameters import ParameterNoValueError

    port = projection.parameter_ports["matrix"]
    is_learned = any(type(afferent).__name__ == "LearningProjection" for afferent in port.mod_afferents)
    parameter = port.parameters.value if is_learned else projection.parameters.matrix
    found = None
    for composition in projection.compositions:
        with contextlib.suppress(ParameterNoValueError):  # it has not run
            found = parameter.get(composition.default_execution_id) if found is None else found
    return np.atleast_2d(np.asarray(projection.parameters.matrix.get(None) if found is None else found, float))


def owner(port: Any) -> Any:
    return port.owner.composition if is_interface(port.owner) else port.owner


def modulating(port: Any) -> list[Any]:
    """The projections that modulate it. One that waits for a signal, of a parameter under CONTROL that no controller has taken up, does
    nothing."""
    from psyneulink.core.globals.context import ContextFlags

    return [projection for projection in port.mod_afferents if projection.initialization_status != ContextFlags.DEFERRED_INIT]


def by_itself(value: Any) -> Any:
    """The value of a parameter that was given with what modulates it, as (0.5, CONTROL)."""
    from psyneulink.core.components.ports.modulatorysignals.modulatorysignal import _is_modulatory_spec

    is_modulated = isinstance(value, tuple) and len(value) == 2 and _is_modulatory_spec(value[1], include_matrix_spec=False)
    return value[0] if is_modulated else value


def is_randomization(signal: Any) -> bool:
    """Whether it gives the mechanisms that draw another seed for each estimate of an allocation."""
    from psyneulink.core.components.mechanisms.modulatory.control.optimizationcontrolmechanism import RANDOMIZATION_CONTROL_SIGNAL

    return signal.name.startswith(RANDOMIZATION_CONTROL_SIGNAL)


def plain(value: Any) -> Any:
    """Arrays as lists, numbers of NumPy as Python's; one number in an array as the number."""
    array = np.asarray(value)
    if array.dtype == object:
        return [plain(item) for item in value]
    return array.item() if array.size == 1 else array.tolist()
