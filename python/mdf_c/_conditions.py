"""MDF's conditions as objects of graph_scheduler, for those who ask for them. The engine itself has no need of these."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

import numpy as np


def _time_scale(value: Any) -> Any:
    import graph_scheduler

    match = re.match(r"(?:TimeScale\.|TIMESCALE\.)?(\w+)$", value) if isinstance(value, str) else None
    return graph_scheduler.TimeScale.__members__.get(match.group(1)) if match else None


def as_time_scale(value: Any) -> Any:
    """graph_scheduler's time scale of that name, in capitals or not; `value` itself where there is none."""
    scale = _time_scale(value.upper() if isinstance(value, str) else value)
    return value if scale is None else scale


class ConditionReader:
    """Reads the conditions of one graph.

    Parameters
    ----------
    nodes
        The graph's nodes, by id.
    enodes
        Their evaluable counterparts, by id.
    """

    def __init__(self, nodes: Mapping[str, Any], enodes: Mapping[str, Any]) -> None:
        self.nodes, self.enodes = nodes, enodes

    def read(self, condition: Any) -> Any:
        """One condition: modeci_mdf's, or a dict with "type" and "kwargs".

        Returns
        -------
        graph_scheduler.Condition

        Raises
        ------
        ValueError
            The type is not known, or a Threshold names no value.
        TypeError
            It is no condition, or lacks an argument.
        """
        import graph_scheduler

        name, arguments = self._split(condition)
        kind = getattr(graph_scheduler.condition, name, None)
        if kind is None:
            raise ValueError(f"Unsupported condition type: {name}")
        formals = inspect.signature(kind).parameters
        values = {key: self._argument(value) for key, value in arguments.items()}
        if "dependencies" in values and "dependencies" not in formals and "dependency" in formals:
            values["dependency"] = values.pop("dependencies")
        if "custom_parameter_getter" in formals:
            self._look_up(values)
        if "indices" in values and isinstance(values["indices"], list):
            values["indices"] = tuple(values["indices"])
        variadic = [key for key, formal in formals.items() if formal.kind is formal.VAR_POSITIONAL]
        positional = values.pop(variadic[0], ()) if variadic else ()
        return kind(*positional, **values)

    @staticmethod
    def _split(condition: Any) -> tuple[str, dict]:
        if isinstance(condition, Mapping):
            arguments = condition.get("kwargs", condition.get("args")) or {}
            name = condition.get("type")
        else:
            arguments, name = getattr(condition, "kwargs", None) or {}, getattr(condition, "type", None)
        if not isinstance(name, str):
            raise TypeError(f"Invalid condition: {condition}")
        return name, dict(arguments)

    def _argument(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.nodes.get(value, _time_scale(value) or value)
        if isinstance(value, (list, tuple)):
            return [self._argument(item) for item in value]
        if hasattr(value, "id"):
            return self.nodes.get(value.id, value)
        if isinstance(value, Mapping) or (hasattr(value, "type") and hasattr(value, "kwargs")):
            return self.read(value)
        return value

    def _look_up(self, values: dict) -> None:
        """Ties a Threshold to the value that it watches."""
        if "dependency" not in values or "parameter" not in values:
            raise ValueError("Threshold condition did not specify dependency or parameter")
        enode, name = self.enodes[values["dependency"].id], values["parameter"]
        part = enode.find(name)
        if part is None:
            raise ValueError(f"No {name} evaluable object for {enode.id}")

        def getter(dependency: Any, parameter: str) -> Any:
            value = part.curr_value
            return np.zeros(()) if value is None else value

        values["custom_parameter_getter"] = getter
        values["custom_parameter_validator"] = lambda dependency, parameter: enode.find(parameter) is not None
