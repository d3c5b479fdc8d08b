"""Random MDF models. ``make(seed)`` gives one case (case.py); the same seed gives the same case on every machine."""
import random

import conditions
import either
import expressions
import loops
from expressions import Scope

ODD_NAMES = ["yes", "null", "1", "α", "-", "#x", "if", "0x1", "double", "~", "é:", "N", "main", "1e3", "struct", "a-b", "Ⅷ", "[x]", "model"]
NUMBER_TYPES = ["float64", "float32", "int64", "int32", "bool", "float16", "uint8", "int8", "float", "int"]


def make(seed):
    """One of eight is of numbers of either type."""
    return either.make(seed) if random.Random(f"which {seed}").random() < 0.125 else Model(random.Random(f"mdf {seed}")).case()


class Model:
    """One model: its graphs, and the values that it is given. ``shape`` is that of all arrays, () where there are none."""

    def __init__(self, rng):
        self.rng = rng
        self.width = rng.choice([1, 2, 3, 4, 4, 8, 17])
        self.arrays = rng.random() < 0.4
        self.graphs = {}
        self.n_names = 0
        self.depth = 0  # of bodies within each other
        self.n_outputs = {}  # of functions that have several
        self.has_loops = rng.random() < 0.35
        self.has_derivatives = rng.random() < 0.3
        self.is_psyneulink = rng.random() < 0.2

    def fresh(self, prefix):
        self.n_names += 1
        return f"{prefix}{self.n_names}"

    def chance(self, p):
        return self.rng.random() < p

    def reference(self, name):
        """How an expression names the first output of a parameter."""
        return f"{name}[0]" if self.n_outputs.get(name, 1) > 1 else name

    def shape(self):
        return (self.width,) if self.arrays and self.chance(0.5) else ()

    def case(self):
        rng = self.rng
        graph = self.graph(rng.choice([1, 1, 2, 2, 3, 4]), depth=0)
        graphs = {"main": graph, **self.graphs}
        model = {"m": {"format": "ModECI MDF v0.4", "onnx_opset_version": str(rng.choice([13, 15, 17, 18, 21])), "graphs": graphs}}
        if self.is_psyneulink:
            model["m"]["generating_application"] = "PsyNeuLink v0.21.0.0"
        unfed = [(n, p, port) for n, node in graph["nodes"].items() for p, port in (node.get("input_ports") or {}).items()]
        phases = []
        for _ in range(rng.choice([1, 1, 2, 3])):
            inputs = {}
            for node, name, port in unfed:
                if self.chance(0.35) and not any(e["receiver"] == node and e["receiver_port"] == name for e in graph["edges"].values()):
                    inputs[f"{node}.{name}"] = expressions.value(rng, self.input_shape(port))
            phases.append({"steps": rng.choice([1, 2, 3, 4, 6, 6, 15]), "inputs": inputs})
        return {"format": "json", "model": model, "phases": phases, "dt": rng.choice([None, 0.1, 0.25, 1.0, 0.01]),
                "method": rng.choice(["euler", "euler", "exponential_euler", "heun", "rk4", "dopri5"])}

    def input_shape(self, port):
        shape = tuple(port.get("shape", ()))
        if not shape and isinstance(port.get("default_value"), list):
            shape = (len(port["default_value"]),)
        return self.shape() if self.chance(0.05) else shape

    # ---------------------------------------------------------------- graphs

    def graph(self, n_nodes, depth):
        rng = self.rng
        graph = {"nodes": {}, "edges": {}}
        outer = Scope()
        if self.chance(0.2):
            graph["parameters"] = {}
            for _ in range(rng.choice([1, 2])):
                name, shape = self.fresh("g"), self.shape()
                graph["parameters"][name] = {"value": expressions.value(rng, shape)}
                outer.add(name, shape)
        outputs = []  # (node, port, shape)
        for _ in range(n_nodes):
            name = self.fresh("N")
            if self.chance(0.04):
                name = rng.choice(ODD_NAMES)  # as they stand in files, C or a terminal it may mean something
            if name in graph["nodes"]:
                continue
            node, made = self.node(outer, depth)
            graph["nodes"][name] = node
            self.connect(graph, name, outputs)
            outputs += [(name, port, shape) for port, shape in made]
        self.connect_back(graph, outputs)
        if self.is_psyneulink:
            self.make_psyneulink(graph, outputs)
        if self.chance(0.4):
            graph["conditions"] = conditions.make(rng, graph["nodes"])
        if not graph["edges"]:
            del graph["edges"]
            graph["edges"] = {}
        return graph

    def connect(self, graph, name, outputs):
        """Edges from nodes before to this one."""
        for port, what in (graph["nodes"][name].get("input_ports") or {}).items():
            n_edges = self.rng.choice([0, 1, 1, 1, 2, 3]) if outputs else 0
            for _ in range(n_edges):
                self.edge(graph, self.source(outputs, what), name, port)
            if n_edges > 1 and self.chance(0.8):
                what["reduce"] = self.rng.choice(["overwrite", "add", "multiply", "max", "min"]) if self.chance(0.3) else self.rng.choice(["add", "multiply"])

    def source(self, outputs, port):
        """An output whose shape fits, mostly."""
        wanted = self.input_shape(port)
        fitting = [o for o in outputs if o[2] == wanted]
        return self.rng.choice(fitting if fitting and self.chance(0.95) else outputs)

    def connect_back(self, graph, outputs):
        """Recurrent edges, and edges of a node to itself, into ports with default values."""
        for name, node in graph["nodes"].items():
            for port, what in (node.get("input_ports") or {}).items():
                if "default_value" in what and outputs and self.chance(0.3):
                    own = [o for o in outputs if o[0] == name]
                    self.edge(graph, self.source(own if self.chance(0.5) and own else outputs, what), name, port)

    def make_psyneulink(self, graph, outputs):
        """What only PsyNeuLink's models have: circles, feedback, matrices on edges, ports that hold something at first, values that begin
        anew in each evaluation, nodes that run until they are finished."""
        rng = self.rng
        for name, node in graph["nodes"].items():
            for port, what in (node.get("input_ports") or {}).items():
                if outputs and self.chance(0.25):
                    self.edge(graph, self.source(outputs, what), name, port)
            for port, shape in [(p, s) for n, p, s in outputs if n == name]:
                if self.chance(0.6):
                    node["output_ports"][port]["default_initial_value"] = expressions.value(rng, shape)
                own = node["output_ports"][port]["value"]
                if isinstance(own, str) and self.chance(0.05):  # a stream of random numbers, which another port may share
                    kind = rng.choice(["normal", "uniform", "exponential"])
                    drawn = f"psyneulink.draw_{kind}([{rng.randrange(4)}], {rng.choice([-1, 7, 8])}, 0.0)"
                    node["output_ports"][port]["value"] = f"{own} + 0.25 * {drawn}"
            for parameter in (node.get("parameters") or {}).values():
                if "default_initial_value" in parameter and self.chance(0.4):
                    parameter["reset"] = "environment_state_update"
            if "graph" not in node and self.chance(0.3):
                scope = Scope()
                for own in node["output_ports"].values():
                    if isinstance(own["value"], str) and own["value"].isidentifier():
                        scope.add(own["value"], ())
                for port, what in (node.get("input_ports") or {}).items():
                    scope.add(port, tuple(what.get("shape", ())))
                node.setdefault("functions", {})["is_finished"] = {"value": f"numpy.any({expressions.test(rng, scope)})"}
                node["repeat_until_finished"] = rng.choice([1, 2, 3, 5, 20])
        for edge in graph["edges"].values():
            if self.chance(0.15):
                edge["metadata"] = {"feedback": True}
            elif self.arrays and self.chance(0.2):
                matrix = [[rng.choice([0, 1, -0.5, 2.0]) for _ in range(self.width)] for _ in range(self.width)]
                edge["metadata"] = {"functions": {"matrix": {"function": "onnx::MatMul", "args": {"B": matrix}}}}

    def edge(self, graph, source, receiver, port):
        edge = {"sender": source[0], "sender_port": source[1], "receiver": receiver, "receiver_port": port}
        if self.chance(0.25):
            edge["parameters"] = {"weight": self.rng.choice([1, 0, -1, 0.5, 2.5, 1e-3])}
        graph["edges"][self.fresh("e")] = edge

    # ---------------------------------------------------------------- nodes

    def node(self, outer, depth):
        rng, node, scope = self.rng, {}, outer.inner()
        ports = {}
        for _ in range(rng.choice([0, 1, 1, 2, 2, 3])):
            name, shape = self.fresh("i"), self.shape()
            ports[name] = self.input_port(shape)
            scope.add(name, shape)
        if ports:
            node["input_ports"] = ports
        if depth == 0 and self.chance(0.08):
            return self.nested(node, scope)
        names = [(self.fresh("p"), self.shape(), self.parameter_kind()) for _ in range(rng.choice([0, 1, 2, 2, 3, 4, 6]))]
        functions = [(self.fresh("f"), self.shape()) for _ in range(rng.choice([0, 0, 0, 1, 1, 2]))]
        made = {}
        for name, shape in functions:
            made[name] = self.function(scope, [n for n in names if n[2] in ("state", "derivative")], shape)
            scope.add(name, shape)
        if made:
            node["functions"] = made
        # Parameters see each other in any order: one that is written further down must have an initial value (mostly).
        made = {}
        order = list(names)
        rng.shuffle(order)
        for name, shape, kind in names:
            seen = scope.inner()
            for other, other_shape, other_kind in order:
                if other in made and other_kind != "nothing" or other_kind in ("state", "derivative") or self.chance(0.01):
                    if other != name or kind in ("state", "derivative"):
                        seen.add(self.reference(other), other_shape)
            made[name] = self.parameter(name, shape, kind, seen)
        if made:
            node["parameters"] = made
        for name, shape, _ in names:
            scope.add(self.reference(name), shape)
        node["output_ports"], outputs = {}, []
        for _ in range(rng.choice([1, 1, 2, 3])):
            name, shape = self.fresh("o"), self.shape()
            port = {"value": expressions.name_or_expression(rng, scope, shape)}
            if self.chance(0.06):
                port["type"] = rng.choice(NUMBER_TYPES[:5])
            node["output_ports"][name] = port
            outputs.append((name, shape))
        for name, n in self.n_outputs.items():
            for k in range(n if name in made else 0):
                node["output_ports"][self.fresh("o")] = {"value": f"{name}[{k}]" if n > 1 else name}
        return node, outputs

    def input_port(self, shape):
        port = {}
        if self.chance(0.5):
            port["default_value"] = expressions.value(self.rng, shape)
        if shape or self.chance(0.15):
            port["shape"] = list(shape)
        if self.chance(0.15):
            port["type"] = self.rng.choice(NUMBER_TYPES)
        return port

    def nested(self, node, scope):
        """A node with a graph in it, whose outputs are the node's."""
        node["graph"] = self.graph(self.rng.choice([1, 2, 2, 3]), depth=1)
        inner = node["graph"]
        outputs = []
        node["output_ports"] = {}
        for name, part in inner["nodes"].items():
            for port in part["output_ports"]:
                if self.chance(0.6) or not node["output_ports"]:
                    own = self.fresh("o")
                    node["output_ports"][own] = {"value": port if self.chance(0.5) else f"{name}.{port}"}
                    outputs.append((own, self.shape()))
        if scope.names and self.chance(0.7):  # a port inside that takes a value of the node
            outer = self.rng.choice(scope.names)[0]
            inside = self.rng.choice(list(inner["nodes"]))
            part = inner["nodes"][inside]
            if outer not in part.get("input_ports", {}):
                part.setdefault("input_ports", {})[outer] = {}
                part["output_ports"][self.fresh("o")] = {"value": f"{outer} * 2"}
        return node, outputs

    # ---------------------------------------------------------------- parameters and functions

    def parameter_kind(self):
        kinds = ["value", "value", "value", "constant", "state", "state", "conditional", "conditional", "function"]
        return self.rng.choice(kinds + ["derivative"] * 2 * self.has_derivatives + ["loop"] * 3 * self.has_loops)

    def parameter(self, name, shape, kind, scope):
        rng = self.rng
        if kind == "constant":
            made = {"value": expressions.value(rng, shape)}
            if self.chance(0.25):
                made["metadata"] = {"type": rng.choice(NUMBER_TYPES)}
            return made
        if kind == "function":
            return self.function(scope, [], shape)
        if kind == "loop":
            made, self.n_outputs[name] = loops.make(self, scope, shape)
            return made
        if kind == "derivative":
            return {"default_initial_value": expressions.value(rng, shape), "time_derivative": expressions.make(rng, scope, shape, 2)}
        made = {}
        if kind == "state":
            made["default_initial_value"] = expressions.value(rng, shape) if self.chance(0.9) else str(expressions.number(rng))
            made["value"] = expressions.state_update(rng, scope, name, shape)
        elif kind == "value" or self.chance(0.7):
            made["value"] = expressions.make(rng, scope, shape, 3)
        if kind == "conditional" or self.chance(0.07):
            if self.chance(0.35) and "default_initial_value" not in made:
                made["default_initial_value"] = expressions.value(rng, shape)
            made["conditions"] = {f"c{k}": {"test": expressions.test(rng, scope), "value": expressions.make(rng, scope, shape, 2)}
                                  for k in range(rng.choice([1, 1, 2, 3]))}
        return made

    def function(self, scope, states, shape):
        rng = self.rng
        seen = scope.inner()
        for name, own, _ in states:
            seen.add(name, own)

        def argument():
            return expressions.make(rng, seen, shape, 1)

        if shape and self.chance(0.3):
            return self.array_function(seen, shape)
        if self.chance(0.5):
            name = rng.choice(list(expressions.STANDARD))
            first, *others = expressions.STANDARD[name].split()
            return {"function": name, "args": {first: argument(), **{x: expressions.number(rng) for x in others}}}
        op, formals, attributes = rng.choice(expressions.ONNX)
        return {"function": "onnx::" + op, "args": {**{x: argument() for x in formals.split()}, **attributes}}

    def array_function(self, seen, shape):
        """Operators that look at an array as a whole, and give one of the same shape."""
        rng = self.rng
        x, y = expressions.make(rng, seen, shape, 1), expressions.make(rng, seen, shape, 1)
        name, args = rng.choice([
            ("Softmax", {"input": x}), ("LogSoftmax", {"input": x}), ("CumSum", {"x": x, "axis": 0}), ("MatMul", {"A": f"numpy.eye({shape[0]})", "B": x}),
            ("Concat", {"inputs": [f"({x})[:1]", f"({x})[1:]"], "axis": 0}), ("Gather", {"data": x, "indices": str(list(range(shape[0])))}), ("Mean", {"data_0": [x, y]}),
            ("Sum", {"data_0": [x, y]}), ("Where", {"condition": f"({x}) > 0", "X": x, "Y": y}), ("Clip", {"input": x, "min": -1.0, "max": 1.0}),
            ("Expand", {"input": rng.choice([x, expressions.make(rng, seen, (), 1)]), "shape": f"[{shape[0]}]"}), ("Reshape", {"data": x, "shape": "[-1]"})])
        return {"function": "onnx::" + name, "args": args}
