"""One more node in a model, which looks at output ports that are there: what is computed of them becomes a part of the model, and is derived with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ._documents import Origin
from .engine import Model


class AddedNode:
    """A model as a dict that gets one more node.

    Parameters
    ----------
    source : Origin
        Of a model as JSON.
    graph : str
        Id of the graph.
    id : str
        Of the node; it gets another one where there is one of that name.

    Attributes
    ----------
    id : str
    """

    def __init__(self, source: Origin, graph: str, id: str) -> None:
        self._document = json.loads(source.content or b"{}")
        model = self._document if "graphs" in self._document else next(iter(self._document.values()))
        self._graph = model["graphs"][graph]
        self.id = _fresh(id, self._graph["nodes"])
        self._ports: dict[str, str] = {}

    def port(self, name: str) -> str:
        """The input port of the node that has what an output port NODE.PORT has."""
        if name not in self._ports:
            self._ports[name] = own = f"{self.id}_{len(self._ports)}"
            node, port = name.split(".", 1)
            edges = self._graph.setdefault("edges", {})
            edges[_fresh(own, edges)] = {"sender": node, "sender_port": port, "receiver": self.id, "receiver_port": own}
        return self._ports[name]

    def model(self, inputs: Mapping[str, Any], parameters: Mapping[str, Any], outputs: Mapping[str, str]) -> Model:
        """The model with the node, whose outputs are expressions.

        Parameters
        ----------
        inputs : dict of str to tuple of int
            Shapes of input ports that nothing feeds.
        parameters : dict
            As in a model.
        outputs : dict of str to str
            Expressions.
        """
        self._graph["nodes"][self.id] = {
            "input_ports": {
                **{port: {} for port in self._ports.values()},
                **{name: {"shape": str(tuple(shape))} for name, shape in inputs.items()},
            },
            "parameters": dict(parameters),
            "output_ports": {name: {"value": text} for name, text in outputs.items()},
        }
        return Model(json.dumps(self._document))


def _fresh(name: str, taken: Mapping[str, Any]) -> str:
    while name in taken:
        name += "_"
    return name
