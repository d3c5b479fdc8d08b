"""Random MDF models that are little but conditions, nested up to four deep, of nodes that count and hand on what they have: in cycles too, and a graph within a node. Evaluations end after some passes, in the
middle of one, before anything has run, or never; phases have up to nine steps, so that some are done in a row and others by themselves. ``make(seed)`` gives one case (case.py)."""
import random

import case as cases
import conditions


def _c(kind, **kwargs):
    return {"type": kind, "kwargs": kwargs}


def _condition(rng, nodes, depth, terminates):
    r = rng.random()
    if depth > 0 and r < 0.5:
        return _c(rng.choice(["All", "Any", "And", "Or"]), dependencies=[_condition(rng, nodes, depth - 1, terminates) for _ in range(rng.choice([1, 2, 2, 3]))])
    if depth > 0 and r < 0.65:
        return _c("Not", condition=_condition(rng, nodes, depth - 1, terminates))
    if r < 0.75:
        return _c("Threshold", dependency=rng.choice(list(nodes)), parameter="k", threshold=rng.randint(0, 12), comparator=rng.choice(["<", "<=", ">", ">=", "==", "!="]),
                  **({rng.choice(["atol", "rtol"]): rng.choice([0.5, 1, 4])} if rng.random() < 0.2 else {}))
    if r < 0.85:
        return _c(rng.choice(["AfterNCalls", "AtNCalls", "BeforeNCalls", "AfterCall"]), dependency=rng.choice(list(nodes)), n=rng.randint(0, 9), time_scale=f"TimeScale.{rng.choice(conditions.SCALES)}")
    return conditions.one(rng, nodes, 2, terminates)


def _node(rng, senders):
    node = {"parameters": {"k": {"default_initial_value": rng.choice([0, 1, 0.5]), "value": rng.choice(["k + 1", "k + 1", "k + 2", "1 - k", "k * 0.5"])}},
            "output_ports": {"o": {"value": "k"}, **({"p": {"value": rng.choice(["2 * k", "-k", "k > 2"])}} if rng.random() < 0.5 else {})}}
    if senders:
        node["input_ports"] = {f"i{j}": {} for j in range(len(senders))}
        node["parameters"]["s"] = {"value": " + ".join(node["input_ports"]), **({"default_initial_value": 0} if rng.random() < 0.3 else {})}
        node["output_ports"]["q"] = {"value": rng.choice(["s", "s + k"])}
    if rng.random() < 0.15:
        node["output_ports"]["is_finished"] = {"value": f"k >= {rng.randint(1, 9)}"}
    return node


def _graph(rng, n, depth):
    graph, names = {"nodes": {}, "edges": {}}, [f"{'NM'[depth]}{k}" for k in range(n)]
    for k, name in enumerate(names):
        senders = [x for j, x in enumerate(names) if j < k and rng.random() < 0.35]
        back = [x for j, x in enumerate(names) if j >= k and rng.random() < 0.1]  # these need a value to begin with
        node = graph["nodes"][name] = _node(rng, senders + back)
        for j, sender in enumerate(senders + back):
            graph["edges"][f"{sender}_{name}"] = {"sender": sender, "sender_port": "o", "receiver": name, "receiver_port": f"i{j}"}
            if sender in back:
                node["input_ports"][f"i{j}"]["default_value"] = 0
        if depth == 0 and rng.random() < 0.06:
            inner = _graph(rng, rng.choice([1, 2, 3]), 1)
            graph["nodes"][name] = {"graph": inner, "input_ports": node.get("input_ports", {}), "parameters": {"k": {"default_initial_value": 0, "value": "k + 1"}},
                                    "output_ports": {"o": {"value": f"{next(iter(inner['nodes']))}.o"}}}
    made = {name: _condition(rng, graph["nodes"], 3, False) for name in names if rng.random() < 0.4}
    last, some = _c("AfterNPasses", n=rng.randint(1, 5)), _condition(rng, graph["nodes"], 3, True)
    graph["conditions"] = {"node_specific": made, "termination": {"environment_state_update": rng.choice([last, some, _c("Any", dependencies=[some, last]), _c("Any", dependencies=[some, last])])}}
    if rng.random() < 0.2:
        graph["conditions"]["termination"]["environment_sequence"] = _condition(rng, graph["nodes"], 2, True)
    return graph


def make(seed):
    rng = random.Random(f"scheduled {seed}")
    model = {"m": {"format": "ModECI MDF v0.4", "graphs": {"main": _graph(rng, rng.choice([1, 2, 2, 3, 4, 6, 9]), 0)}}}
    return cases.new(model, [{"steps": rng.choice([1, 2, 4, 5, 6, 7, 9]), "inputs": {}} for _ in range(rng.choice([1, 2]))])
