#!/usr/bin/env python3
"""Random models, and the derivatives of what they compute (docs/gradients.md).

    check_gradients.py [--models N] [--from SEED] [--show]

Half of them are smooth, and a fourth are random calls of numpy (numpy_calls.py), which are where nothing has a corner: nodes, edges, states and derivatives in time, over some steps, some in graphs within nodes or under conditions that look at counts or values, with Loop, Scan and If in each other, products, reductions, moves and
conditional expressions. Their derivatives have to be those that differences give, extrapolated to a step of nothing, in a random direction. The rest are those of
grammar.py, which are not made for it: most of these are refused. Of all that is not refused the program of derivatives gives the same bits plainly, when it is lowered, by
copies of a state, and (of each tenth) as C source, and the value is that of the steps themselves. What goes forward and the Hessian times a vector are held against these."""
import argparse
import json
import math
import os
import random
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(Path(__file__).resolve().parent)]
os.environ.setdefault("MDF_C_BUILD", str((ROOT / os.environ.get("BUILD", "build")).resolve()))
try:
    import numpy as np
except ImportError:
    print("0 passed, 0 failed")
    sys.exit(0)
import gradient_source  # noqa: E402
import gradient_programs  # noqa: E402
import grammar  # noqa: E402
import mdf_c  # noqa: E402
import numpy_calls  # noqa: E402

SHAPES = [(), (3,), (2, 3), (3, 3)]
UNARY = ["numpy.sin({})", "numpy.cos({})", "numpy.tanh({})", "numpy.exp(-{0} * {0})", "numpy.arctan({})", "numpy.sqrt(1 + {0} * {0})", "numpy.log1p({0} * {0})", "-{}",
         "numpy.square({})", "1 / (1 + numpy.exp(-{}))", "({} * 0.5)"]
BINARY = ["{} + {}", "{} - {}", "{} * {}", "{0} / (1 + {1} * {1})", "numpy.maximum({0}, {1})", "numpy.where({0} > {1}, {0}, {1} * 2)"]
COMPILE_EVERY = 10  # C source: the compiler takes longer than all else
SETTINGS = {"max_iterations": 2000, "max_memory": 1 << 28, "threads": 1}
REFUSED_BY_VALUES = ["build_outputs", "may be given or not"]  # lists that are made in a node's first run; inputs of graphs within nodes (docs/gradients.md)
STEP = 2e-4  # of the widest difference; the others are a half and a quarter of it
MOST_BENT = 0.05  # of the slopes to both sides: what a second derivative of a thousand makes of the least difference


class Writer:
    """Writes expressions over names whose shapes are known."""

    def __init__(self, rng, names):
        self.rng, self.names = rng, dict(names)

    def name(self, shape):
        fitting = [name for name, s in self.names.items() if s == shape]
        return self.rng.choice(fitting) if fitting else None

    def constant(self, shape):
        if not shape:
            return repr(round(self.rng.uniform(0.2, 1.5), 3))
        return f"numpy.array({self.value(shape)!r})"

    def value(self, shape):
        """As it stands in a file."""
        return np.round(np.array([self.rng.uniform(-1, 1) for _ in range(math.prod(shape))]).reshape(shape), 2).tolist()

    def expression(self, shape, depth=2):
        rng = self.rng
        if depth == 0 or rng.random() < 0.1:
            return self.name(shape) or self.constant(shape)
        kind = rng.random()
        if kind < 0.3:
            return "(" + rng.choice(UNARY).format(f"({self.expression(shape, depth - 1)})") + ")"
        if kind < 0.55:
            other = rng.choice([shape, shape, (), shape[-1:]])
            pair = [f"({self.expression(shape, depth - 1)})", f"({self.expression(other, depth - 1)})"]
            return "(" + rng.choice(BINARY).format(*pair) + ")"
        if kind < 0.62:
            a, b, c = (f"({self.expression(shape if i else (), depth - 1)})" for i in range(3))
            return f"({b} if {a} > {rng.uniform(-0.5, 0.5):.2f} else {c})"
        return f"({self.reshaping(shape, depth - 1)})"

    def reshaping(self, shape, depth):
        """Products, reductions, moves."""
        rng, e = self.rng, lambda s: f"({self.expression(s, depth)})"
        if shape == ():
            return self._number(e)
        if shape == (3,):
            return rng.choice([lambda: f"numpy.matmul({e((3, 3))}, {e((3,))})", lambda: f"numpy.matmul({e((3,))}, {e((3, 3))})", lambda: f"numpy.sum({e((2, 3))}, 0)",
                               lambda: f"{e((3, 3))}[1]", lambda: f"{e((3, 3))}[:, 0]", lambda: f"{e((3,))}[::-1]", lambda: f"numpy.roll({e((3,))}, 1)",
                               lambda: f"numpy.mean({e((3, 3))}, axis=1)", lambda: f"numpy.cumsum({e((3,))})", lambda: f"numpy.dot({e((3,))}, {e((3, 3))})"])()
        if shape == (2, 3):
            return rng.choice([lambda: f"numpy.matmul({e((2, 3))}, {e((3, 3))})", lambda: f"{e((3, 3))}[1:]", lambda: f"{e((3, 3))}[[0, 2]]",
                               lambda: f"{e((2, 3))} * {e((3,))}", lambda: f"numpy.reshape(numpy.transpose({e((2, 3))}), [2, 3])"])()
        return rng.choice([lambda: f"numpy.matmul({e((3, 3))}, {e((3, 3))})", lambda: f"{e((3, 3))}.T", lambda: f"numpy.reshape({e((3,))}, [3, 1]) * {e((3,))}",
                           lambda: f"{e((3, 3))}[::-1]"])()

    def _number(self, e):
        return self.rng.choice([lambda: f"numpy.sum({e((2, 3))})", lambda: f"numpy.mean({e((3, 3))})", lambda: f"numpy.matmul({e((3,))}, {e((3,))})", lambda: f"{e((3,))}[1]",
                                lambda: f"{e((2, 3))}[1, 2]", lambda: f"numpy.sum({e((3,))} * {e((3,))})", lambda: f"numpy.max({e((3,))})"])()


class Maker:
    """A smooth model: graphs, the results that are derived, and by what."""

    def __init__(self, seed):
        self.rng, self.graphs, self.n = random.Random(seed), {}, 0

    def body(self, inputs, outputs, writer, depth):
        """A graph that is a body; `inputs`: shapes by name, `outputs`: shapes in order."""
        self.n += 1
        n, inner = self.n, Writer(self.rng, {**writer.names, **inputs})
        parameters = {}
        if depth > 0 and self.rng.random() < 0.5:
            parameters[f"inner{n}"] = self.control(inner, depth - 1, f"inner{n}")
        else:
            shape = self.rng.choice(SHAPES)
            parameters[f"part{n}"] = {"value": inner.expression(shape)}
            inner.names[f"part{n}"] = shape
        ports = {f"o{k}_{n}": {"value": inner.expression(shape) if shape is not None else "True"} for k, shape in enumerate(outputs)}
        node = {"input_ports": {port: {} for port in inputs}, "parameters": parameters, "output_ports": ports}
        self.graphs[f"body{n}"] = {"metadata": {"inputs": list(inputs), "outputs": list(ports)}, "nodes": {f"m{n}": node}}
        return f"body{n}"

    def control(self, writer, depth, name):
        """A parameter with a Loop, Scan or If; notes what can be read of it as names."""
        rng, k = self.rng, len(writer.names)
        shape, kind = rng.choice(SHAPES), rng.random()
        if kind < 0.2:
            condition = f"{writer.expression((), 1)} > {rng.uniform(-0.5, 0.5):.2f}"
            branches = [self.body({}, [shape], writer, depth) for _ in range(2)]
            writer.names[name] = shape
            return {"function": "onnx::If", "args": {"cond": condition, "then_branch": branches[0], "else_branch": branches[1]}}
        if kind < 0.6:
            body = self.body({f"i{k}": None, f"c{k}": None, f"s{k}": shape}, [None, shape, ()], writer, depth)
            initial = f"[{writer.expression(shape, 1)}]"
            writer.names[f"{name}[0]"] = shape
            writer.names[f"numpy.sum({name}[1])"] = ()
            return {"function": "onnx::Loop", "args": {"M": rng.choice([0, 1, 2, 3, 5, 18]), "cond": True, "v_initial": initial, "body": body}}
        body = self.body({f"s{k}": shape, f"t{k}": (3,)}, [shape, (3,)], writer, depth)
        scanned = f"[{writer.expression(shape, 1)}, {writer.expression((3, 3), 1)}]"
        writer.names[f"{name}[0]"] = shape
        writer.names[f"{name}[1]"] = (3, 3)
        arguments = {"initial_state_and_scan_inputs": scanned, "num_scan_inputs": 1, "body": body}
        if rng.random() < 0.3:
            arguments["scan_input_axes"] = [1]
        if rng.random() < 0.3:
            arguments["scan_input_directions"] = arguments["scan_output_directions"] = [1]
        return {"function": "onnx::Scan", "args": arguments}

    def parameter(self, name, writer, has_time, states):
        rng, shape = self.rng, self.rng.choice(SHAPES)
        value = writer.value(shape)
        kind = rng.random()
        if kind < 0.5:
            writer.names[name] = shape
            return {"value": value}, True
        if kind < 0.75:
            states.append((name, shape, has_time))
            writer.names[name] = shape
            return {"default_initial_value": value}, True
        if kind < 0.85:
            made = {"value": writer.expression(shape)}
            writer.names[name] = shape
            return made, False
        return self.control(writer, 2, name), False

    def make(self):
        rng = self.rng
        has_time, nodes, edges, parameters = rng.random() < 0.4, {}, {}, []
        last, watched = None, []
        for number in range(rng.choice([1, 1, 2])):
            node, writer, states, own = f"n{number}", Writer(rng, {}), [], {}
            if last is not None:
                writer.names["incoming"] = last[1]
            for k in range(rng.choice([2, 3, 4])):
                name = f"p{number}_{k}"
                own[name], is_free = self.parameter(name, writer, has_time, states)
                if is_free:
                    parameters.append(f"{node}.{name}")
            for name, shape, has_derivative in states:
                own[name]["time_derivative" if has_derivative else "value"] = f"numpy.sin({writer.expression(shape)})"
            watched += [(node, name, shape) for name, shape, _ in states]
            shape = rng.choice(SHAPES)
            watched.append((node, f"y{number}", shape))
            nodes[node] = {"parameters": own, "output_ports": {f"y{number}": {"value": writer.expression(shape)}}}
            if last is not None:
                nodes[node]["input_ports"] = {"incoming": {}}
                edges["e"] = {"sender": last[0], "sender_port": last[2], "receiver": node, "receiver_port": "incoming"}
            last = node, shape, f"y{number}"
        graph = {"nodes": nodes, "edges": edges}
        model = {"m": {"onnx_opset_version": "21", "graphs": {"g": graph, **self.graphs}}}
        made = {"model": model, "of": last[2], "wrt": parameters, "steps": rng.choice([1, 1, 2, 3, 6]), "dt": 0.1 if has_time else None, "is_smooth": True}
        if rng.random() < 0.3 and "onnx::" not in json.dumps(nodes[last[0]]):  # a body sees names of the outermost graph only
            self.wrap(nodes, last[0], last[2])
        if rng.random() < 0.4 and len(nodes) > 1:
            graph["conditions"] = self.conditions(list(nodes)) if rng.random() < 0.6 else self.by_values(list(nodes), watched)
            made["steps"] = rng.choice([1, 2, 5, 9])
        return made

    def wrap(self, nodes, name, port):
        """The node becomes that of a graph within a node, which may run it several times."""
        inner, rng = nodes[name], self.rng
        graph = {"nodes": {name: inner}}
        if rng.random() < 0.5:
            count = {"parameters": {"k": {"value": "k + 1", "default_initial_value": 0}}, "output_ports": {"k_out": {"value": "k"}}}
            graph = {"nodes": {name: inner, "counts": count}, "conditions": {"node_specific": {"counts": self.condition(name, rng.choice([2, 3, 70]))}}}
        nodes[name] = {"input_ports": {key: {} for key in inner.get("input_ports", {})}, **graph, "output_ports": {port: {"value": f"{name}.{port}"}}}

    def condition(self, dependency, n):
        return {"type": "EveryNCalls", "kwargs": {"dependency": dependency, "n": n}}

    def conditions(self, nodes):
        """That hang on counts and passes."""
        rng, (first, last) = self.rng, nodes
        n = rng.choice([1, 2, 3, 5])
        after = {"type": "AfterNCalls", "kwargs": {"dependency": first, "n": n}}
        chosen = [self.condition(first, n), after, {"type": "AfterPass", "kwargs": {"n": n}}, {"type": "JustRan", "kwargs": {"dependency": first}},
                  {"type": "All", "kwargs": {"dependencies": [after, {"type": "Not", "kwargs": {"condition": {"type": "AtPass", "kwargs": {"n": n}}}}]}}]
        specific = {last: rng.choice(chosen)}
        if rng.random() < 0.4:
            specific[first] = rng.choice([{"type": "EveryNPasses", "kwargs": {"n": 2}}, {"type": "BeforePass", "kwargs": {"n": 40}}, {"type": "Always", "kwargs": {}}])
        return {"node_specific": specific}

    def threshold(self, watched):
        """On one element."""
        node, name, shape = self.rng.choice(watched)
        indices = {"indices": [self.rng.randrange(n) for n in shape]} if shape else {}
        return {"type": "Threshold", "kwargs": {"dependency": node, "parameter": name, "threshold": self.rng.choice([-0.5, 0, 0.3, 0.7, 1.5]),
                                                "comparator": self.rng.choice(["<", "<=", ">", ">="]), **indices}}

    def by_values(self, nodes, watched):
        """That look at values, alone and beside others; most evaluations take some passes."""
        rng, (first, last) = self.rng, nodes
        of_first = [w for w in watched if w[0] == first]
        chosen = [self.threshold(of_first), {"type": "Not", "kwargs": {"condition": self.threshold(of_first)}}, self.condition(first, rng.choice([1, 2])),
                  {"type": "NWhen", "kwargs": {"condition": self.threshold(of_first), "n": rng.choice([1, 2])}},
                  {"type": "Any", "kwargs": {"dependencies": [self.threshold(of_first), {"type": "AfterNCalls", "kwargs": {"dependency": first, "n": 2}}]}}]
        made = {"node_specific": {last: rng.choice(chosen)}}
        if rng.random() < 0.4:
            made["node_specific"][first] = rng.choice([{"type": "EveryNPasses", "kwargs": {"n": 2}}, {"type": "JustRan", "kwargs": {"dependency": last}}, self.threshold(of_first)])
        met = {"type": "All", "kwargs": {"dependencies": [self.threshold(of_first), {"type": "AfterPass", "kwargs": {"n": rng.choice([0, 0, 1])}}]}}
        ends = [{"type": "AfterNPasses", "kwargs": {"n": rng.choice([1, 3, 6])}}, met]
        made["termination"] = {"environment_state_update": {"type": "Any", "kwargs": {"dependencies": ends}}}
        return made


def make_other(seed):
    """A model of grammar.py; what it can be derived by is found from the file. None: nothing."""
    case = grammar.make(4 * seed)
    rng, name = random.Random(seed), next(iter(case["model"]))
    graph = next(iter(case["model"][name]["graphs"].values()))
    ports = [f"{node}.{port}" for node, parts in graph["nodes"].items() for port in parts.get("output_ports", {})]
    constants = [f"{node}.{key}" for node, parts in graph["nodes"].items() for key, p in parts.get("parameters", {}).items()
                 if isinstance(p, dict) and any(isinstance(p.get(k), (int, float)) for k in ("value", "default_initial_value"))]
    if not ports or not constants:
        return None
    return {"model": case["model"], "of": rng.choice(ports), "wrt": rng.sample(constants, min(3, len(constants))), "steps": rng.choice([1, 2, 4]), "dt": case["dt"],
            "is_smooth": False, "graph": next(iter(case["model"][name]["graphs"]))}


# What has no derivative where it has a value (docs/gradients.md), or has it in float32; arguments that are not there.
NOT_DERIVED = ("float32", "std", "ord=", "mode='wrap'", "mode='clip'", "mode='raise'", "axis1", "axis2", "where=", "equal_nan")


def make_call(seed):
    """A random call of numpy, of reals: its elements, each with a weight of its own. None: it gives no real numbers."""
    draw = numpy_calls.Draw(random.Random(f"derived {seed}"))
    draw.reals = "float64"
    try:
        text = numpy_calls.call(draw)
        found = np.asarray(eval(text, {"numpy": np, **draw.arrays}))
    except Exception:  # noqa: BLE001 - numpy has several
        return None
    wrt = [f"n.{name}" for name, array in draw.arrays.items() if array.dtype.kind == "f" and array.size]
    if found.dtype.kind != "f" or found.size == 0 or not np.isfinite(found).all() or not wrt or any(x in text for x in NOT_DERIVED):
        return None
    weights = np.random.default_rng(seed).uniform(0.5, 1.5, found.shape)
    parameters = {name: {"value": array.tolist(), "metadata": {"type": array.dtype.name, "shape": list(array.shape)}} for name, array in {**draw.arrays, "weights": weights}.items()}
    node = {"parameters": parameters, "output_ports": {"y": {"value": f"numpy.sum(weights * ({text}))"}}}
    return {"model": {"m": {"format": "ModECI MDF v0.4", "graphs": {"g": {"nodes": {"n": node}}}}}, "of": "y", "wrt": wrt, "steps": 1, "dt": None, "is_smooth": True}


# --------------------------------------------------------------------------- checking


def bits(result):
    value, by = result
    return [(np.asarray(array).dtype.str, np.asarray(array).shape, np.where(np.isnan(array), np.nan, array).tobytes() if np.asarray(array).dtype.kind == "f" else np.asarray(array).tobytes())
            for array in (np.asarray(a) for a in (value, *by.values()))]


def evaluate(state, made):
    state.evaluate(made["dt"])
    return state.output("gradient", "value"), {name: state.output("gradient", name) for name in made["wrt"]}


def directional(program, made, by):
    """The derivative in a random direction, as it is and as differences have it, with an estimate of the error of these."""
    rng = np.random.default_rng(1)
    at = {name: np.asarray(value, dtype=float) for name, value in made["at"].items()}
    direction = {name: rng.standard_normal(value.shape) for name, value in at.items()}

    def value(h):
        moved = program({name: at[name] + h * direction[name] for name in at})[0]
        return float(np.sum(moved))

    sides = [(value(h) - value(0.0)) / h for h in (STEP / 4, -STEP / 4)]  # which are not alike at a tie, whose mean the others have
    differences = [(value(h) - value(-h)) / (2 * h) for h in (STEP, STEP / 2, STEP / 4)]
    once = [(4 * b - a) / 3 for a, b in zip(differences, differences[1:])]
    twice = (16 * once[1] - once[0]) / 15
    error = max(abs(twice - once[1]), abs(differences[2] - differences[1]) * 1e-3) + 1e-11 / STEP * (1 + abs(value(0.0)))
    if abs(sides[0] - sides[1]) > MOST_BENT * (1 + abs(twice)):
        error = np.inf
    return sum(float(np.sum(by[name] * direction[name])) for name in at), twice, error, direction


def check_products(made, program, direction, along, settings, counts):
    """What goes forward has to be the same as the gradient times the direction; the Hessian times that, how the gradient changes in it."""
    arguments = made["model"], made["of"], made["wrt"]
    given = {"steps": made["steps"], "dt": made["dt"], **settings}
    at = {name: np.asarray(value, dtype=float) for name, value in made["at"].items()}
    forward = outcome(lambda: mdf_c.jvp(*arguments, **given)(direction, at))
    if isinstance(forward, str):
        counts["no forward"] += 1
    elif abs(float(np.sum(forward[1])) - along) > 1e-9 * (1 + abs(along)) + 1e-12 * sum(float(np.sum(np.abs(d))) for d in direction.values()):
        return f"forward {float(np.sum(forward[1]))!r}, backward {along!r}"
    second = outcome(lambda: mdf_c.hvp(*arguments, **given)(direction, at))
    if isinstance(second, str):
        counts["no Hessian"] += 1
        return None

    def slope(h):
        by = program({name: at[name] + h * direction[name] for name in at})[1]
        return np.concatenate([np.ravel(by[name]) for name in made["wrt"]])

    got = np.concatenate([np.ravel(second[1][name]) for name in made["wrt"]])
    differences = [(slope(h) - slope(-h)) / (2 * h) for h in (STEP, STEP / 2)]
    expected = (4 * differences[1] - differences[0]) / 3
    error = np.max(np.abs(expected - differences[1]), initial=0) + 1e-11 / STEP * (1 + np.max(np.abs(slope(0)), initial=0))
    scale = 1 + np.max(np.abs(expected), initial=0)
    if not error < 1e-4 * scale:
        return None
    counts["Hessians"] += 1
    return None if np.max(np.abs(got - expected), initial=0) <= 10 * error + 1e-7 * scale else f"Hessian times vector {got}, by differences {expected} (+- {error:.1e})"


def parameters_at(made):
    graph = next(iter(made["model"].values()))["graphs"]["g"]
    found = {}
    for name in made["wrt"]:
        node, key = name.split(".")
        holder = graph["nodes"][node]
        parameter = holder.get("nodes", {}).get(node, holder)["parameters"][key]
        found[name] = parameter["default_initial_value"] if "default_initial_value" in parameter else parameter["value"]
    return found


def outcome(call):
    try:
        return call()
    except mdf_c.MdfError as error:
        return f"{type(error).__name__}: {error.message}"


def check_source(made, graph, reference, counts):
    """The program of derivatives as C source has to leave the same bits."""
    like = [reference[0], *reference[1].values()]
    try:
        got = gradient_source.evaluate(made["model"], made["of"], made["wrt"], made["steps"], made["dt"], graph, like)
    except gradient_source.Refused:
        counts["no source"] += 1
        return None
    counts["sources"] += 1
    if isinstance(got, str) or bits((got[0], dict(zip(made["wrt"], got[1:], strict=True)))) != bits(reference):
        return f"C source: {got}, not {like}"
    return None


def has_value(made, settings):
    """Whether there is something to derive: nodes under conditions that look at values may never run, or evaluations never end."""
    ran = outcome(lambda: mdf_c.run(made["model"], steps=made["steps"], dt=made["dt"], **settings))
    return not isinstance(ran, str) and next(ports[made["of"]] for ports in ran.outputs.values() if made["of"] in ports) is not None


def check(made, counts):
    """What is wrong; None: nothing."""
    settings = {**SETTINGS, "graph": made.get("graph", "g")}
    programs = [outcome(lambda: mdf_c.gradient(made["model"], made["of"], made["wrt"], steps=made["steps"], dt=made["dt"], plain=plain, **settings)) for plain in (True, False)]
    if isinstance(programs[0], str) or isinstance(programs[1], str):
        counts["refused"] += 1
        same = isinstance(programs[0], str) and programs[0] == programs[1]
        if same and programs[0] == outcome(lambda: mdf_c.run(made["model"], steps=made["steps"], dt=made["dt"], **settings)):
            return None  # the model itself is refused
        if same and '"Threshold"' in json.dumps(made["model"]) and any(reason in programs[0] for reason in REFUSED_BY_VALUES):
            return None
        return f"refused: {programs[0]}" if made["is_smooth"] and same else None if same else f"plain: {programs[0]}\n  fast: {programs[1]}"
    reference = outcome(lambda: evaluate(programs[0].state(), made))
    state = programs[1].state()
    for way in ("first run", "second", "third", "fourth", "copy"):
        if way == "copy":
            state = state.copy()
        result = outcome(lambda: evaluate(state, made))
        if isinstance(result, str) or isinstance(reference, str):
            counts["failing"] += 1
            if made["is_smooth"] and result == reference and has_value(made, settings):
                return f"fails: {result}"
            return None if result == reference else f"plain: {reference}\n  {way}: {result}"
        if bits(result) != bits(reference):
            return f"{way}: other bits than plain\n  {reference}\n  {result}"
        state.reset()
    ran = outcome(lambda: mdf_c.run(made["model"], steps=made["steps"], dt=made["dt"], **settings))
    port = made["of"].split(".")[-1]
    if not isinstance(ran, str) and made["is_smooth"]:
        expected = next(ports[port] for ports in ran.outputs.values() if port in ports)
        if not np.array_equal(np.asarray(expected), np.asarray(reference[0]), equal_nan=True):
            return f"the value is {reference[0]}, of the steps {expected}"
    if made["seed"] % COMPILE_EVERY == 0:
        found = check_source(made, settings["graph"], reference, counts)
        if found:
            return found
    if not made["is_smooth"] or not made["wrt"]:
        counts["bits"] += 1
        return None
    made["at"] = parameters_at(made)
    got, expected, error, direction = directional(programs[1], made, reference[1])
    if not error < 1e-5 * (1 + abs(expected)):
        counts["kinks"] += 1
        return None
    counts["derivatives"] += 1
    if not abs(got - expected) <= 10 * error + 1e-8 * (1 + abs(expected)):
        return f"derivative {got!r}, by differences {expected!r} (+- {error:.1e})"
    return check_products(made, programs[1], direction, got, settings, counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", type=int, default=300)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--show", action="store_true", help="print the first model that is found")
    asked = parser.parse_args()
    counts, n_found = dict.fromkeys(("derivatives", "Hessians", "kinks", "bits", "refused", "failing", "no forward", "no Hessian", "sources", "no source", "programs"), 0), 0
    warnings.simplefilter("ignore")
    for seed in range(asked.first, asked.first + asked.models):
        made = Maker(seed).make() if seed % 2 == 0 else make_call(seed) if seed % 4 == 1 else make_other(seed)
        found = check({**made, "seed": seed}, counts) if made else None
        found = found or gradient_programs.check(seed, counts)
        if found:
            n_found += 1
            print(f"model {seed}: {found}")
            if asked.show and made:
                print(json.dumps(made["model"]), made["of"], ",".join(made["wrt"]), made["steps"], made["dt"], sep="\n")
                break
    print(", ".join(f"{n} {what}" for what, n in counts.items()))
    print(f"{asked.models - n_found} passed, {n_found} failed")
    return 1 if n_found else 0


if __name__ == "__main__":
    sys.exit(main())
