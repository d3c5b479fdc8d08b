"""Random MDF models of what modeci_mdf and graph-scheduler have, so that most of them can be compared: names that stand further up, each input
port fed by one edge or a default value, functions with names and numbers as arguments, conditions that graph-scheduler has."""
import random

import expressions

_UNARY = ["numpy.sin({})", "numpy.cos({})", "numpy.tanh({})", "numpy.exp(-numpy.abs({}))", "numpy.sqrt(numpy.abs({}))", "numpy.abs({})", "numpy.floor({})", "numpy.square({})"]
_BINARY = ["{} + {}", "{} - {}", "{} * {}", "{} / (1 + numpy.abs({}))", "numpy.maximum({}, {})", "numpy.minimum({}, {})", "({} + {}) * 0.5", "numpy.where({} > {}, 1.5, -0.5)"]
_ARRAY = ["{}[::-1]", "numpy.cumsum({})", "numpy.sort({})", "numpy.roll({}, 1)", "{0} * {0}.sum()", "numpy.ones(3) * numpy.max({})"]
# onnx:: functions compute float32 there, which the tolerance allows for: no steps (Floor, Sign), whose ends would move.
_ONNX = [(op, formals, attributes) for op, formals, attributes in expressions.ONNX if op in ("Add", "Sub", "Mul", "Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Sin", "Cos", "Softplus")]
_STANDARD = ["linear", "logistic", "exponential", "sin", "cos", "tanh", "arctan"]


def make(seed):
    return _Model(random.Random(f"modeci {seed}")).case()


def _c(kind, **kwargs):
    return {"type": kind, "kwargs": kwargs}


class _Model:
    def __init__(self, rng):
        self.rng, self.width, self.n_names = rng, rng.choice([0, 0, 3]), 0

    def fresh(self, prefix):
        self.n_names += 1
        return f"{prefix}{self.n_names}"

    def number(self):
        return self.rng.choice([0.5, 1.0, -1.5, 2.0, 0.25, round(self.rng.uniform(-3, 3), 2)])

    def value(self):
        return [self.number() for _ in range(self.width)] if self.width else self.number()

    def expression(self, names):
        rng = self.rng
        first, second = (rng.choice(names) if names else str(abs(self.number())) for _ in range(2))
        kind = rng.randrange(4 if self.width and names else 3)
        return rng.choice([[first], _UNARY, _BINARY, _ARRAY][kind]).format(first, second)

    def function(self, names):
        rng = self.rng
        if rng.random() < 0.5 or self.width:
            name = rng.choice(_STANDARD)
            first, *others = expressions.STANDARD[name].split()
            return {"function": name, "args": {first: rng.choice(names), **{x: abs(self.number()) for x in others}}}
        op, formals, attributes = rng.choice(_ONNX)
        return {"function": "onnx::" + op, "args": {**{x: rng.choice(names) for x in formals.split()}, **attributes}}

    def parameter(self, name, names, numbers):
        rng = self.rng
        kind = rng.choice(["constant", "value", "value", "state", "derivative", "function"] + ["conditional"] * (self.width == 0))
        if kind == "constant" or kind == "function" and not names:
            return {"value": self.value()}
        if kind == "state":
            return {"default_initial_value": self.value(), "value": f"0.5 * {name} + " + (rng.choice(names) if names else "1")}
        if kind == "derivative":
            return {"default_initial_value": self.value(), "time_derivative": f"{rng.choice(names)} - {name}" if names else f"-{name}"}
        if kind == "function":
            return self.function(names)
        if kind == "conditional" and numbers:
            seen = rng.choice(numbers)
            return {"default_initial_value": self.number(), "conditions": [{"id": "low", "test": f"{seen} < 0.3", "value": abs(self.number())},
                                                                          {"id": "high", "test": f"{seen} >= 0.3", "value": abs(self.number())}]}
        return {"value": self.expression(names)}

    def node(self, senders):
        rng, node, names = self.rng, {}, []
        ports = {self.fresh("i"): {} for _ in range(rng.choice([0, 1, 1, 2]))}
        for name, port in ports.items():
            if self.width:
                port["shape"] = [self.width]
            if not senders:
                port["default_value"] = self.value()
            names.append(name)
        node["input_ports"], node["parameters"] = ports, {}
        numbers = list(names)
        for _ in range(rng.choice([1, 2, 3])):
            name = self.fresh("p")
            node["parameters"][name] = self.parameter(name, names, numbers)
            names.append(name)
        node["output_ports"] = {self.fresh("o"): {"value": rng.choice(names)} for _ in range(rng.choice([1, 2]))}
        return node

    def condition(self, nodes, depth=0):
        """What a node waits for; ``nodes`` are those before it, which it may count."""
        rng, n = self.rng, self.rng.choice([1, 2])
        kinds = [_c("EveryNPasses", n=n), _c("AfterPass", n=0), _c("AtPass", n=rng.choice([0, 1])), _c("BeforePass", n=2), _c("Always")]
        for node in nodes[-1:]:
            kinds += [_c("EveryNCalls", dependency=node, n=n), _c("AfterNCalls", dependency=node, n=n), _c("AtNCalls", dependency=node, n=n), _c("JustRan", dependency=node)]
        if depth == 0 and rng.random() < 0.3:
            return {"type": rng.choice(["All", "Any"]), "kwargs": {"args": [self.condition(nodes, 1), self.condition(nodes, 1)]}}
        return rng.choice(kinds)

    def case(self):
        rng, graph, outputs = self.rng, {"nodes": {}, "edges": {}}, []
        for _ in range(rng.choice([1, 2, 3])):
            name = self.fresh("N")
            node = graph["nodes"][name] = self.node(outputs)
            for port in node["input_ports"] if outputs else []:
                sender, output = rng.choice(outputs)
                graph["edges"][self.fresh("e")] = {"sender": sender, "sender_port": output, "receiver": name, "receiver_port": port,
                                                   **({"parameters": {"weight": rng.choice([0.5, 2, -1])}} if rng.random() < 0.3 else {})}
            outputs += [(name, port) for port in node["output_ports"]]
        if rng.random() < 0.4:
            nodes = list(graph["nodes"])
            graph["conditions"] = {"node_specific": {name: self.condition(nodes[:k]) for k, name in enumerate(nodes) if rng.random() < 0.7},
                                   "termination": {"environment_state_update": _c("AfterNPasses", n=rng.choice([1, 2, 3]))}}
        model = {"m": {"format": "ModECI MDF v0.4", "graphs": {"main": graph}}}
        return {"format": "json", "model": model, "phases": [{"steps": rng.choice([1, 2, 4]), "inputs": {}}], "dt": rng.choice([None, 0.1, 0.25])}
