"""What modeci_mdf's users ask of ``EvaluableGraph.scheduler``, told from the engine's own record."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from .engine import unpack_schedule


class Scheduler:
    """The sets of nodes that ran together, and the conditions under which nodes run.

    Parameters
    ----------
    nodes
        The graph's nodes, by number.
    conditions
        Makes the conditions of nodes, and those of termination, when they are first asked for.
    layers
        Makes the consideration queue, as numbers of nodes.
    """

    def __init__(
        self, nodes: list[Any], conditions: Callable[[], tuple[dict, dict]], layers: Callable[[], list[list[int]]]
    ) -> None:
        self.nodes = nodes
        self._make_conditions, self._make_layers = conditions, layers
        self._records: list[bytes] = []
        self.record = self._records.append  # adds the sets of an evaluation (see :meth:`mdf_c.State.schedule_words`)

    def sets(self) -> list[list[Any]]:
        """The execution sets of all evaluations, each in the order its nodes ran."""
        return [[self.nodes[i] for i in numbers] for words in self._records for numbers in unpack_schedule(words)]

    @property
    def execution_list(self) -> dict[None, list[set]]:
        """``{None: sets}``, as graph_scheduler has it."""
        return {None: [set(nodes) for nodes in self.sets()]}

    @cached_property
    def consideration_queue(self) -> list[set]:
        """Nodes that may run at the same time, in the order in which they are looked at in each pass."""
        return [{self.nodes[i] for i in layer} for layer in self._make_layers()]

    @cached_property
    def _conditions(self) -> tuple[dict, dict]:
        return self._make_conditions()

    @property
    def conditions(self) -> dict:
        """graph_scheduler's condition of each node that has one."""
        return self._conditions[0]

    @property
    def termination_conds(self) -> dict:
        """graph_scheduler's condition of each time scale that has one."""
        return self._conditions[1]
