"""Random MDF models of numbers that are now whole, now real, now a truth, or past 64 bits: parameters that only begin, keep, choose; a graph within a node, and what of its
conditions is counted (NWhen). ``make(seed)`` gives one case (case.py)."""
import random

import case as cases

LITERALS = ["0", "1", "0.0", "1.0", "0.5", "2", "(-1)", "True", "False", "2.5", "(-0.0)", "3", "1e19", "1e30"]
UNARY = ["abs", "float", "int", "round", "bool", "math.floor", "math.trunc", "numpy.sign", "numpy.floor", "numpy.square", "numpy.exp", "numpy.logical_not", "math.ceil", "math.sin", "math.tanh", "math.exp",
         "math.sqrt", "math.log", "math.degrees", "math.isnan", "math.isfinite", "math.isinf", "not "]
BINARY = ["numpy.copysign", "numpy.maximum", "numpy.minimum", "numpy.hypot", "numpy.arctan2", "numpy.heaviside", "numpy.add", "numpy.fmax", "min", "max", "math.copysign", "math.atan2", "math.hypot", "math.fmod", "math.pow"]
VALUES = [0, 1, 2, 0.0, 1.0, 0.5, -1, -2.5, 0.25, 3]


def _test(rng, names, depth):
    if rng.random() < 0.2:
        return f"not {_make(rng, names, depth)}"
    return f"{_make(rng, names, depth)} {rng.choice(['<', '>', '<=', '>=', '==', '!='])} {_make(rng, names, depth)}"


def _make(rng, names, depth):
    """An expression over names."""

    def part():
        return _make(rng, names, depth - 1)

    r = rng.random()
    if depth <= 0 or r < 0.1:
        return rng.choice(names) if rng.random() < 0.75 else rng.choice(LITERALS)
    if r < 0.35:
        sides = [part(), rng.choice(["0", "1", "0.0", part()])]
        rng.shuffle(sides)
        return f"({sides[0]} if {_test(rng, names, depth - 1)} else {sides[1]})"
    if r < 0.48:
        return f"({part()} {rng.choice(['and', 'or'])} {rng.choice(['0', '1', part()])})"
    if r < 0.64:
        return f"({part()} {rng.choice('+-*+-*/')} {part()})"
    if r < 0.78:
        return f"{rng.choice(BINARY)}({part()}, {part()})"
    if r < 0.9:
        return f"({rng.choice(UNARY)}({part()}))"
    return f"numpy.where({_test(rng, names, depth - 1)}, {part()}, {part()})" if r < 0.95 else f"[{part()}, {part()}][{rng.choice([0, 1, -1])}]"


def _node(rng, inputs):
    typed = {"metadata": {"type": "float64", "shape": []}}
    parameters, names = {}, list(inputs)
    for k in range(rng.choice([1, 1, 2])):
        parameters[f"w{k}"] = {rng.choice(["value", "default_initial_value"]): rng.choice(VALUES), **(typed if rng.random() < 0.3 else {})}
        names.append(f"w{k}")
    for k in range(rng.choice([1, 2, 3])):
        name, keeps = f"s{k}", rng.random() < 0.5
        parameters[name] = {**({"default_initial_value": rng.choice(VALUES)} if keeps else {}), "value": _make(rng, names + [name] * keeps, 3)}
        names.append(name)
        if rng.random() < 0.3:
            parameters[name]["conditions"] = {"c": {"test": _test(rng, names, 1), "value": rng.choice(["0", "1", "0.0", _make(rng, names, 1)])}}
    ports = {f"o{k}": {"value": name} for k, name in enumerate(names) if name not in inputs and rng.random() < 0.6}
    return {"input_ports": {name: {"default_value": rng.choice(VALUES)} for name in inputs}, "parameters": parameters,
            "output_ports": {**ports, "q": {"value": _make(rng, names, 2)}}}


def _conditions(rng, node):
    """How often the node runs, and the end."""
    counted = {"type": "NWhen", "kwargs": {"n": rng.choice([1, 2, 3]), "condition": {"type": "Always", "kwargs": {}}}}
    own = rng.choice([{"type": "Always", "kwargs": {}}, {"type": "EveryNPasses", "kwargs": {"n": 2}}, counted])
    return {"node_specific": {node: own}, "termination": {"environment_state_update": {"type": "AfterNPasses", "kwargs": {"n": rng.choice([1, 2, 3])}}}}


def make(seed):
    rng = random.Random(f"either {seed}")
    inputs = ["x", "y"][:rng.choice([0, 1, 2])]
    graph = {"nodes": {"N": _node(rng, inputs)}, "edges": {}}
    if rng.random() < 0.3:
        graph["conditions"] = _conditions(rng, "N")
    phases = [{"steps": rng.choice([1, 2, 2, 3, 4]), "inputs": {f"N.{name}": rng.choice(VALUES) for name in inputs if rng.random() < 0.6}} for _ in range(rng.choice([1, 1, 2]))]
    return cases.new({"m": {"format": "ModECI MDF v0.4", "graphs": {"main": graph}}}, phases)
