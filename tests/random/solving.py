"""Random MDF models of differential equations that all methods can solve: states of nodes that feed each other, numbers and arrays, parameters in front of and behind their readers,
inputs, conditions that reset a state, events in metadata (docs/time.md). ``make(seed)`` gives one case (case.py)."""
import random

import case as cases


def _number(rng):
    return rng.choice([-2.0, -1.0, -0.5, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0])


class Node:
    def __init__(self, rng, name, width, most_states):
        self.rng, self.name, self.width = rng, name, width
        self.states = [f"x{i}" for i in range(min(most_states, rng.choice([1, 1, 2, 3])))]
        self.aids = [f"a{i}" for i in range(rng.choice([0, 0, 1, 2]))]
        self.ports = {}

    def constant(self):
        if self.width and self.rng.random() < 0.6:
            return [_number(self.rng) for _ in range(self.width)]
        return _number(self.rng)

    def start(self):
        """Of the node's shape: a state keeps it."""
        return [_number(self.rng) for _ in range(self.width)] if self.width else _number(self.rng)

    def term(self, names):
        """Something bounded, so that no solution has a pole."""
        rng, name = self.rng, self.rng.choice(names)
        return rng.choice([f"{_number(rng)} * numpy.sin({name})", f"numpy.tanh({name} - {_number(rng)})", f"{_number(rng)} * numpy.exp(-{name} * {name})",
                           f"numpy.where({name} > {_number(rng)}, {_number(rng)}, {_number(rng)})", f"({_number(rng)} if {_number(rng)} > 0 else numpy.cos({name}))",
                           f"{_number(rng)}", f"numpy.maximum({name}, {_number(rng)}) / (1.0 + {name} * {name})"])

    def parameters(self):
        rng, names = self.rng, self.states + self.aids + list(self.ports)
        made = []
        for name in self.states:
            slope = f"{-rng.choice([0.1, 1.0, 3.0])} * {name}" if rng.random() < 0.8 else f"{_number(rng)}"
            for _ in range(rng.choice([1, 1, 2])):
                slope += f" + {self.term(names)}"
            parameter = {"default_initial_value": self.start(), "time_derivative": slope}
            if rng.random() < 0.25:
                value = rng.choice([f"-0.5 * {name}", f"{name} - 2.0", "-1.0", f"{self.states[0]} * 0.5 - 1.0"])
                parameter["conditions"] = [{"id": "reset", "test": f"{name} > {rng.choice([0.25, 0.5, 1.0])}", "value": value}]
            made.append((name, parameter))
        for i, name in enumerate(self.aids):
            made.append((name, {"value": self.term(self.states + self.aids[:i] + list(self.ports)) if rng.random() < 0.7 else self.constant()}))
        rng.shuffle(made)
        return dict(made)

    def node(self):
        rng = self.rng
        ports = {name: {} if fed else {"default_value": self.start()} for name, fed in self.ports.items()}
        node = {"input_ports": ports, "parameters": self.parameters(), "output_ports": {name: {"value": name} for name in self.states + self.aids}}
        if rng.random() < 0.4:
            event = {"crosses": f"{rng.choice(self.states)} - {_number(rng)}"}
            if rng.random() < 0.5:
                event["direction"] = rng.choice(["rising", "falling"])
            node["metadata"] = {"events": {f"hit_{self.name}": event}}  # no field of the graph says that there is such a port: nested_way.py has it by its name
        return node


def make(seed):
    rng = random.Random(seed)
    method = rng.choice(cases.METHODS)
    width = rng.choice([0, 0, 2, 3])
    is_small = method == "dopri5" and width > 0  # a step is a long body of a Loop, which takes long to lower
    nodes = [Node(rng, f"n{i}", width, 1 if is_small else 3) for i in range(1 if is_small else rng.choice([1, 1, 2]))]
    edges, free = {}, []
    for i, node in enumerate(nodes):
        for k in range(rng.choice([0, 0, 1, 2])):
            sender = rng.choice(nodes[:i]) if i and rng.random() < 0.7 else None
            port = f"i{k}_{node.name}"  # EvaluableGraph has inputs by the names of ports
            node.ports[port] = sender is not None
            if sender is None:
                free.append((node, port))
            else:
                edges[f"e{len(edges)}"] = {"sender": sender.name, "sender_port": rng.choice(sender.states), "receiver": node.name, "receiver_port": port}
    graph = {"nodes": {node.name: node.node() for node in nodes}, "edges": edges}
    phases = [{"steps": rng.choice([1, 2, 4]), "inputs": {f"{node.name}.{port}": node.start() for node, port in free if rng.random() < 0.5}}
              for _ in range(rng.choice([1, 2]))]
    return {"format": "json", "model": {"m": {"format": "ModECI MDF v0.4", "graphs": {"main": graph}}}, "phases": phases, "dt": rng.choice([0.01, 0.1, 0.5]),
            "method": method}
