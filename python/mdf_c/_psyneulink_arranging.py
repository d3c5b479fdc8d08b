"""What Composition.run takes besides inputs: how trials end, how they are scheduled, what nodes of circles begin with, and which
states begin anew. A program is compiled for it; the composition is as it was afterwards.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ._psyneulink_names import Part, identifier, port_id, unsupported


def arrangement(composition: Any, given: dict[str, Any]) -> Arrangement:
    """What arguments of Composition.run say, those apart that are told elsewhere."""
    known = {field.name for field in fields(Arrangement)}
    for name in given.keys() - known:
        if name not in inspect.signature(type(composition).run).parameters:
            raise TypeError(f"run has no argument {name!r}")
        raise unsupported(composition, f"the argument '{name}' of run is not covered: {_INSTEAD.get(name, 'run it with PsyNeuLink')}")
    return Arrangement(**given)


_INSTEAD = {
    "runtime_params": "set the parameters before it is compiled, or let a ControlSignal bring them",
    "clamp_input": "an input holds in the passes of its trial, as with SOFT_CLAMP",
    "execution_mode": "this engine is one",
}


@dataclass
class Arrangement:
    """Arguments of Composition.run, by their names; None: as the composition has it."""

    termination_processing: Any = None
    scheduler: Any = None
    scheduling_mode: Any = None
    initialize_cycle_values: Any = None
    reset_stateful_functions_when: Any = None

    def goes_on_from(self, other: Arrangement) -> bool:
        """Whether trials by `other` may be followed by ones by this: what circles began with is past."""
        return (
            self.initialize_cycle_values is None
            and self.termination_processing is other.termination_processing
            and self.scheduler is other.scheduler
            and self.scheduling_mode in (None, other.scheduling_mode)
            and self.reset_stateful_functions_when is other.reset_stateful_functions_when
        )

    @contextlib.contextmanager
    def applied(self, composition: Any) -> Iterator[None]:
        """The composition has it, for a while."""
        from psyneulink.core.scheduling.time import TimeScale

        own, resets = composition.scheduler, dict(self._resets(composition))
        scheduler = own if self.scheduler is None else self.scheduler
        before = scheduler.termination_conds, scheduler.mode, {node: node.reset_stateful_function_when for node in resets}
        try:
            if scheduler is not own:
                composition.scheduler = scheduler
            if self.termination_processing is not None:
                of_run = {scale: condition for scale, condition in before[0].items() if scale == TimeScale.RUN}
                scheduler.termination_conds = {**of_run, **self.termination_processing}  # others are the scheduler's defaults
            if self.scheduling_mode is not None:
                scheduler.mode = self.scheduling_mode
            for node, condition in resets.items():
                node.reset_stateful_function_when = condition
            yield
        finally:
            if scheduler is not own:
                composition.scheduler = own
            scheduler.termination_conds, scheduler.mode = before[:2]
            for node, condition in before[2].items():
                node.reset_stateful_function_when = condition

    def _resets(self, composition: Any) -> Iterator[tuple[Any, Any]]:
        """Nodes, each with when its states begin anew: one condition is for those that have none."""
        from psyneulink.core.scheduling.condition import Never

        when = self.reset_stateful_functions_when
        if isinstance(when, dict):
            yield from when.items()
        elif when is not None:
            for node in composition.nodes:
                if isinstance(getattr(node, "reset_stateful_function_when", None), Never):
                    yield node, when

    def complete(self, model: Part, composition: Any) -> None:
        """What circles begin with, in the model."""
        from psyneulink.core.compositions.composition import NodeRole

        of_circles = [*composition.get_nodes_by_role(NodeRole.CYCLE), *composition.get_nodes_by_role(NodeRole.FEEDBACK_SENDER)]
        (graph,) = next(iter(model.values()))["graphs"].values()
        for node, value in (self.initialize_cycle_values or {}).items():
            if node in of_circles:
                _hold(graph["nodes"][identifier(node.name)], node, node.defaults.value if isinstance(value, str) else value)


def _hold(part: Part, mechanism: Any, value: Any) -> None:
    items = np.atleast_1d(np.asarray(value, float))
    for port in mechanism.output_ports:
        spec = port._variable_spec
        if not port.function._is_identity(defaults=True):
            raise unsupported(mechanism, f"it is to begin with {value}, but its port '{port.name}' has a function: that is not covered")
        item = items[spec[1] if isinstance(spec, tuple) else 0]
        part["output_ports"][port_id(port)]["metadata"]["default"] = np.reshape(item, np.shape(port.defaults.value)).tolist()
