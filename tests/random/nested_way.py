"""A graph within a node computes what the same graph computes flat (docs/nested_graphs.md): the model with its main graph put into a node."""
import json


def nested(case):
    """The case with its graph in the node OUT, whose output ports have the names of those in it; None where the graph has one already."""
    model = case["model"]["m"] if case["format"] == "json" and "m" in case["model"] else None
    graphs = model.get("graphs") if isinstance(model, dict) else None
    inner = graphs.get("main") if isinstance(graphs, dict) else None
    if not isinstance(inner, dict) or '"graph"' in json.dumps(graphs):
        return None
    if "generating_application" in model and '"Threshold"' in json.dumps(graphs):
        return None  # a condition sees an input that holds from the start; one of a graph within a node, what has arrived
    nodes = inner.get("nodes") or {}
    ports = {port: {"value": f"{node}.{port}"} for node, what in nodes.items() for port in what.get("output_ports") or {}}
    outer = {"nodes": {"OUT": {"graph": inner, "output_ports": ports}}, "edges": {}}
    phases = [{**phase, "inputs": {"OUT." + name.split(".", 1)[-1]: value for name, value in phase["inputs"].items()}} for phase in case["phases"]]
    return {**case, "model": {"m": {**model, "graphs": {**graphs, "main": outer}}}, "phases": phases}


def findings(case, last, run):
    """Where the nested model gives something else than ``last``, the lines of the flat one's last step. ``run(case)`` gives such lines."""
    inside = nested(case) if case.get("method", "euler") == "euler" else None  # derivatives in a graph within a node have no other
    if inside is None:
        return []
    flat = _by_port(last)
    found = _by_port(run(inside))
    if ("error" in flat) != ("error" in found):
        name = "error"
    else:
        # A list of numbers becomes an array where a port takes it, which the node's output port does.
        name = next((n for n in flat if n != "error" and flat[n] != found.get(n) and not flat[n].startswith("(")), None)
    return [] if name is None else [{"way": "nested", "kind": "different", "detail": [name, flat.get(name, "no error"), found.get(name, "no error")]}]


def _by_port(lines):
    """{PORT: value} of lines "NODE.PORT VALUE"; the text of an error under "error"."""
    out = {}
    for line in lines:
        name, _, value = line.partition(" ")
        if name == "error":
            return {"error": "error " + value}
        if not name.startswith(("result:", "schedule")):
            out[name.split(".", 1)[1]] = value
    return out
