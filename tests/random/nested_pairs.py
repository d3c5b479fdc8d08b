#!/usr/bin/env python3
"""Random graphs, flat and within a node: both must give the same bits in each step, or fail in the same one (docs/nested_graphs.md).

    nested_pairs.py [--pairs N] [--from SEED] [--show]

A pair is a graph with states, derivatives, scheduling conditions, edges forward and back, ports of every kind, with and without types and
shapes, of numbers and arrays; and the same as the graph of a node, under `graph`, as the node's own
`nodes`, or two nodes deep. The node may declare input ports itself: those of the graph, ones with another default value or
reduce for all of them, ones that the graph does not have. Or the graph declares its inputs, some under other names. Other nodes stand before it. Inputs from outside
come in some steps and not in others. Each runs plainly and by the fast ways. (As C source a graph within a node has no form.)"""
import argparse
import ctypes
import importlib
import json
import os
import random
import sys
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).resolve().parent))
import conditions  # noqa: E402

N_STEPS = 5
OUTSIDE = ["x", "y", "z"]
REDUCTIONS = [None, None, "add", "multiply", "overwrite"]
TYPES = ["float64", "float32", "int64", "int32", "float", "int"]
ARRAY_EXPRESSIONS = ["{a} + p", "p * 0.5 + {a}", "{a} - p / 3", "numpy.where({a} < 4, p + {a}, p - 2)", "numpy.sin(p) + {a}", "numpy.maximum(p, {a})", "{a}", "p + 1",
                     "-p", "p[::-1] + {a}", "numpy.cumsum(p) * 0.5 - {a}", "{a} * numpy.mean(p)"]
EXPRESSIONS = ["{a} + p", "p * 0.5 + {a}", "{a} - p / 3", "p + {a} if {a} < 4 else p - 2", "math.sin(p) + {a}", "max(p, {a})", "{a}", "p + 1", "-p"]


def load_library():
    """The functions of the engine, as the Python package declares them; the package itself would need NumPy."""
    package = types.ModuleType("mdf_c")
    package.__path__ = [str(ROOT / "python" / "mdf_c")]
    sys.modules.setdefault("mdf_c", package)
    os.environ.setdefault("MDF_C_BUILD", str((ROOT / os.environ.get("BUILD", "build")).resolve()))
    return importlib.import_module("mdf_c._library")


# --------------------------------------------------------------------------- the graph


class Kind:
    """What the values of a graph are. `width`: elements of its arrays; 0: numbers."""

    def __init__(self, rng):
        self.rng, self.width = rng, rng.choice([0, 0, 2, 3])
        self.has_types = rng.random() < 0.4
        self.reductions = {name: rng.choice(REDUCTIONS) for name in OUTSIDE}  # a node's port has one, however many ports it feeds

    def value(self, choices):
        return [self.rng.choice(choices) for _ in range(self.width)] if self.width and self.rng.random() < 0.8 else self.rng.choice(choices)

    def port(self, name):
        """A port; whole numbers go into those of whole numbers (mostly)."""
        rng, fields = self.rng, {}
        if self.has_types and rng.random() < 0.5:
            fields["type"] = rng.choice(TYPES)
        if rng.random() < 0.5:
            fields["default_value"] = self.value([0, 3, -2] if "int" in fields.get("type", "") else [0, 1.5, -2, 3])
        if self.width and rng.random() < 0.2 and isinstance(fields.get("default_value", []), list):
            fields["shape"] = [self.width]
        reduce = self.reductions.get(name, rng.choice(REDUCTIONS))
        if reduce is not None:
            fields["reduce"] = reduce
        return fields


def make_node(kind, name):
    rng = kind.rng
    ports = {port: kind.port(port) for port in rng.sample(OUTSIDE, rng.choice([0, 1, 1, 2])) + [f"in_{name}"] * rng.choice([0, 1, 1])}
    a = rng.choice(list(ports) or ["p"])
    is_array = kind.width > 0
    node = {"input_ports": ports, "parameters": {"p": {"value": rng.choice(ARRAY_EXPRESSIONS if is_array else EXPRESSIONS).format(a=a),
                                                       "default_initial_value": [rng.choice([0, 1.5, -2]) for _ in range(kind.width)] if is_array else rng.choice([0, 1.5, -2])}}}
    if rng.random() < 0.3:
        node["parameters"]["p"]["conditions"] = [{"id": "c", "test": "p[0] > 20" if is_array else "p > 20", "value": "p * 0.25"}]
    if rng.random() < 0.3:
        node["parameters"]["v"] = {"default_initial_value": [0.5] * kind.width if is_array else 0.5, "time_derivative": f"{a} - v"}
    if rng.random() < 0.3:
        node["functions"] = {"f": {"value": rng.choice([a, f"{a} * 2", "p"])}}
    choice = f"numpy.where(p > 0, {a}, p)" if is_array else f"{a} if p > 0 else p"
    node["output_ports"] = {"o": {"value": rng.choice([a, "p", "p", choice] + ["f"] * ("functions" in node) + ["v"] * ("v" in node["parameters"]))},
                            "q": {"value": f"p * 2 + {a}"}}
    if kind.has_types and rng.random() < 0.2:
        node["output_ports"]["q"]["type"] = rng.choice(["float32", "float64", "float"])
    return node


def make_graph(rng, has_conditions):
    kind = Kind(rng)
    nodes = {f"n{i}": make_node(kind, f"n{i}") for i in range(rng.randint(1, 4))}
    order, edges = list(nodes), {}
    for i, receiver in enumerate(order):
        for port, fields in nodes[receiver]["input_ports"].items():
            for _ in range(rng.choice([1, 1, 2]) if port.startswith("in_") else 0):
                senders = order if "default_value" in fields else order[:i]
                if senders:
                    edges[f"e{len(edges)}"] = {"sender": rng.choice(senders), "sender_port": rng.choice("oq"), "receiver": receiver, "receiver_port": port,
                                               **({"parameters": {"weight": 0.5}} if rng.random() < 0.3 else {})}
    graph = {"nodes": nodes, "edges": edges}
    if has_conditions:
        graph["conditions"] = conditions.make(rng, nodes)
        if kind.width:
            look_at_elements(graph["conditions"])
    return graph, kind


def look_at_elements(value):
    """A Threshold on an array looks at one element."""
    if isinstance(value, dict):
        if value.get("type") == "Threshold":
            value["kwargs"]["indices"] = [0]
        value = list(value.values())
    for item in value if isinstance(value, list) else []:
        look_at_elements(item)


def free_ports(graph):
    """Ports that no edge feeds, by name: the first of each."""
    fed = {(edge["receiver"], edge["receiver_port"]) for edge in graph["edges"].values()}
    found = {}
    for node, parts in graph["nodes"].items():
        for port, fields in parts["input_ports"].items():
            if (node, port) not in fed:
                found.setdefault(port, []).append(fields)
    return found


def has_late_edges(graph):
    return any("default_value" in graph["nodes"][edge["receiver"]]["input_ports"][edge["receiver_port"]] for edge in graph["edges"].values())


# --------------------------------------------------------------------------- pairs


def outputs_of(graph):
    return {f"{node}__{port}": {"value": f"{node}.{port}"} for node, parts in graph["nodes"].items() for port in parts["output_ports"]}


def wrap(rng, graph, depth=0):
    """The node that holds the graph."""
    node = {"output_ports": outputs_of(graph)}
    if depth == 0 and rng.random() < 0.3:
        inner = wrap(rng, graph, 1)
        node = {"nodes": {"inner": inner}, "output_ports": {port: {"value": f"inner.{port}"} for port in node["output_ports"]}}
    elif rng.random() < 0.5:
        node.update(graph)
    else:
        node["graph"] = graph
    return node


def declare(rng, flat, graph, node):
    """The node declares ports itself. `flat` gets what they say beyond the graph's own; `graph` is the one within the node."""
    declared = {}
    for port, fields in free_ports(graph).items():
        r = rng.random()
        if r < 0.4 and all(other == fields[0] for other in fields):
            declared[port] = dict(fields[0])
        elif r < 0.7 and not any("type" in each or "shape" in each for each in fields):  # else a default value of another form may be what differs
            says = {"default_value": rng.choice([0.5, 4, -1])} if any("default_value" in each for each in fields) or rng.random() < 0.5 else {}
            if rng.random() < 0.5 or any("reduce" in each for each in fields):  # one that is not said leaves the graph's
                says["reduce"] = rng.choice(["add", "multiply", "overwrite"])
            declared[port] = says
            for parts in flat["nodes"].values():
                if port in parts["input_ports"] and (port in OUTSIDE or port in free_ports(flat)):
                    parts["input_ports"][port].pop("reduce", None)
                    parts["input_ports"][port].update(says)
    if rng.random() < 0.3:
        declared["own"] = {"default_value": 1.5}  # nothing in the graph is called so
    if declared:
        node["input_ports"] = declared


def give_interface(rng, flat, graph, node):
    """The graph declares its inputs, flat and within the node; what the names of ports become by it. (They must be given then: one that is not is
    told flat in that step, within a node when that runs. So all are given that have no default value, and the node runs in all steps.)"""
    names, inputs = {}, []
    for port, fields in free_ports(graph).items():
        owner = next(node for node, parts in graph["nodes"].items() if port in parts["input_ports"])
        if len(fields) == 1 and port in OUTSIDE and rng.random() < 0.5:
            names[port] = f"given_{port}"
            inputs.append({"name": names[port], "port": f"{owner}.{port}"})
        else:
            inputs.append(port)
    rng.shuffle(inputs)
    for model in (flat, node if "nodes" in node else node["graph"]):
        model["metadata"] = {"inputs": inputs}
    return names


def source_node():
    return {"parameters": {"k": {"value": "k + 1.25", "default_initial_value": 0}}, "output_ports": {"o": {"value": "k"}}}


def add_source(rng, flat, nested, graph):
    """A node before the graph feeds some of its ports. (Around the node all of them wait for it, so ports with a default value have no
    edges in such a graph: flat, their node would not wait.) The ports that take nothing from outside any more."""
    names = [port for port, fields in free_ports(graph).items() if not any("default_value" in each for each in fields)]
    fed = rng.sample(names, rng.randint(0, len(names)))
    for port in fed:
        nested["edges"][f"s_{port}"] = {"sender": "source", "sender_port": "o", "receiver": "around", "receiver_port": port}
        for node, parts in graph["nodes"].items():
            if port in parts["input_ports"] and not port.startswith("in_"):
                flat["edges"][f"s_{port}_{node}"] = {"sender": "source", "sender_port": "o", "receiver": node, "receiver_port": port}
        if port.startswith("in_"):
            flat["edges"][f"s_{port}"] = {"sender": "source", "sender_port": "o", "receiver": port[3:], "receiver_port": port}
    flat["nodes"] = {"source": source_node(), **flat["nodes"]}
    nested["nodes"] = {"source": source_node(), **nested["nodes"]}
    declared = nested["nodes"]["around"].get("input_ports", {})
    return [port for port in fed if any({**fields, **declared.get(port, {})}.get("reduce", "overwrite") == "overwrite" for fields in free_ports(graph)[port])]


def make_pair(seed):
    """The two models, and what is given in each step."""
    rng = random.Random(seed)
    has_conditions = rng.random() < 0.7
    graph, kind = make_graph(rng, has_conditions)
    flat = json.loads(json.dumps(graph))
    nested = {"nodes": {"around": wrap(rng, graph)}, "edges": {}}
    names, around = {}, nested["nodes"]["around"]
    has_interface = rng.random() < 0.2 and "inner" not in around.get("nodes", {})
    if has_interface:
        names = give_interface(rng, flat, graph, around)
    elif rng.random() < 0.5:
        declare(rng, flat, graph, around)
    closed = []
    if not has_conditions and not has_late_edges(graph) and not has_interface and rng.random() < 0.7:
        closed = add_source(rng, flat, nested, graph)
    elif not has_conditions and not kind.has_types and not has_interface and rng.random() < 0.5:
        # The node runs in some evaluations only, and all flat nodes in the same. (A value that does not fit a type is told when it comes
        # to the port that declares it: flat at once, within a node when that runs.)
        when = {"type": rng.choice(["AtEnvironmentStateUpdate", "BeforeEnvironmentStateUpdate", "AfterEnvironmentStateUpdate"]), "kwargs": {"n": rng.choice([1, 2])}}
        end = {"environment_state_update": {"type": "AfterPass", "kwargs": {"n": 0}}}
        flat["conditions"] = {"node_specific": {node: {"type": "All", "args": [{"type": "AtPass", "kwargs": {"n": 0}}, when]} for node in graph["nodes"]}, "termination": end}
        nested["conditions"] = {"node_specific": {"around": {"type": "All", "args": [{"type": "AtPass", "kwargs": {"n": 0}}, when]}}, "termination": end}
    whole = {port for port, fields in free_ports(graph).items() if any("int" in each.get("type", "") for each in fields) and rng.random() < 0.9}
    given = [{names.get(port, port): kind.value([1, 0, 7] if port in whole else [1, 2.5, -3.25, 0, 7]) for port, fields in free_ports(graph).items()
              if port not in closed and (rng.random() < 0.4 or has_interface and not all("default_value" in each for each in fields))}
             for _ in range(N_STEPS)]
    dt = rng.choice([None, 0.1, 1.0])
    return {"m": {"graphs": {"g": flat}}}, {"m": {"graphs": {"g": nested}}}, given, dt


# --------------------------------------------------------------------------- running


class Runner:
    def __init__(self):
        self.module = load_library()
        self.library = self.module.lib
        self.library.declare(
            {
                "mdf_dtype_size": (ctypes.c_size_t, ctypes.c_int),
                "mdf_output": (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p),
                "mdf_set_input_json": (ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p),
            }
        )

    def options(self, plain):
        options = self.module.Options()
        if hasattr(options, "size"):
            options.size = ctypes.sizeof(options)
        options.plain, options.max_passes = plain, 200
        options.warning = self.module.WARNING_HANDLER(lambda context, warning: None)
        return options

    def read(self, state, node, port):
        tensor = self.module.Tensor()
        value = self.library.mdf_output(state, node.encode(), port.encode())
        if not value or not self.library.mdf_value_tensor(value, ctypes.byref(tensor)):
            return None
        shape = [tensor.shape[i] for i in range(tensor.rank)]
        size, n = self.library.mdf_dtype_size(tensor.dtype), 1
        for length in shape:
            n *= length
        return tensor.dtype, shape, ctypes.string_at(tensor.data, size * n).hex()

    def trace(self, model, ports, given, dt, plain):
        """The values of the ports (node, port, name) after each step; an error ends it."""
        text, options, steps = json.dumps(model).encode(), self.options(plain), []
        error, state, program = self.module.Error(), None, None
        loaded = self.library.mdf_model_load_bytes(text, len(text), b"json", b"model.json", ctypes.byref(options), ctypes.byref(error))
        program = loaded and self.library.mdf_compile(loaded, ctypes.byref(options), ctypes.byref(error))
        state = program and self.library.mdf_state_new(program, ctypes.byref(error))
        if not state:
            steps.append(("refused", error.code))
        for i, inputs in enumerate(given if state else []):
            for name, value in inputs.items():
                status = self.library.mdf_set_input_json(state, name.encode(), json.dumps(value).encode(), ctypes.byref(error))
                assert status == 0, (name, error.message, text)
            self.library.mdf_evaluate(state, float("nan") if i == 0 or dt is None else dt, ctypes.byref(error))
            if error.code != 0:
                steps.append(("error", error.code))
                break
            steps.append({name: self.read(state, node, port) for node, port, name in ports})
        self.message = error.message.decode() if error.code != 0 else ""
        self.library.mdf_state_free(state)
        self.library.mdf_program_free(program)
        self.library.mdf_model_free(loaded)
        return steps


def check(runner, seed):
    """What differs in a pair; None: nothing."""
    flat, nested, given, dt = make_pair(seed)
    graph = flat["m"]["graphs"]["g"]
    names = [(node, port) for node, parts in graph["nodes"].items() if node != "source" for port in parts["output_ports"]]
    inside = [("around", f"{node}__{port}", f"{node}.{port}") for node, port in names]
    outside = [(node, port, f"{node}.{port}") for node, port in names]
    reference, why = runner.trace(flat, outside, given, dt, True), runner.message
    for what, model, ports, plain in [("flat", flat, outside, False), ("nested, plain", nested, inside, True), ("nested", nested, inside, False)]:
        steps = runner.trace(model, ports, given, dt, plain)
        if steps != reference:
            at = next((i for i, (a, b) in enumerate(zip(reference, steps)) if a != b), min(len(reference), len(steps)))
            return f"pair {seed}: {what} differs from flat, plain in step {at + 1}\n  {reference[at:at + 1]} {why}\n  {steps[at:at + 1]} {runner.message}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--show", action="store_true", help="print the models of the first pair that differs")
    arguments = parser.parse_args()
    runner, n_different = Runner(), 0
    for seed in range(arguments.first, arguments.first + arguments.pairs):
        different = check(runner, seed)
        if different is None:
            continue
        n_different += 1
        print(different)
        if arguments.show:
            flat, nested, given, dt = make_pair(seed)
            print(json.dumps(flat), json.dumps(nested), json.dumps(given), dt, sep="\n")
            break
    print(f"nested pairs: {arguments.pairs} graphs flat and within a node, {n_different} differ")
    print(f"{arguments.pairs - n_different} passed, {n_different} failed")
    return 1 if n_different > 0 else 0


if __name__ == "__main__":
    sys.exit(main())
