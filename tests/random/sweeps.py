"""A case as a sweep: three instances with other values of parameters and inputs, and the same as cases of their own with these values set."""
import copy
import re

import numpy as np

import onnx_file

PER_INSTANCE, PER_STEP, TYPED = 1, 2, 4  # of mdf.h
N_INSTANCES, MOST_PARAMETERS, MOST_STEPS = 3, 3, 8


def make(case, both_axes=True):
    """{"values": what is swept, "instances": cases}; None where the case can not be swept. A value: {"name", "axes", "is_parameter", "type", "array"}.
    ``both_axes``: an input may have a value for each step of each instance."""
    steps = min(MOST_STEPS, sum(max(1, phase["steps"]) for phase in case["phases"]))
    given = case["phases"][0]["inputs"] if case["phases"] else {}
    if any(_array(value) is None for value in given.values()):
        return None
    models = [copy.deepcopy(case["model"]) for _ in range(N_INSTANCES)]
    values = [] if case["format"] == "onnx" else _sweep_parameters(models)
    phases = [[{"steps": 1, "inputs": {}} for _ in range(steps)] for _ in models]
    for k, (name, value) in enumerate(given.items()):
        axes = ([PER_INSTANCE | PER_STEP] * both_axes + [PER_INSTANCE, PER_STEP, 0])[k % (3 + both_axes)]
        for i, own in enumerate(phases):
            for s, phase in enumerate(own):
                phase["inputs"][name] = _other(value, (i if axes & PER_INSTANCE else 0) + (s if axes & PER_STEP else 0))
        rows = [[_array(phase["inputs"][name]) for phase in own[:steps if axes & PER_STEP else 1]] for own in phases[:N_INSTANCES if axes & PER_INSTANCE else 1]]
        array = np.array(rows).reshape([n for n, flag in ((N_INSTANCES, PER_INSTANCE), (steps, PER_STEP)) if axes & flag] + list(rows[0][0].shape))
        values.append({"name": name, "axes": axes | (TYPED if isinstance(value, dict) else 0), "is_parameter": False,
                       "type": value["type"] if isinstance(value, dict) else array.dtype.name, "array": array})
    return {"values": values, "instances": [{**case, "model": m, "phases": p} for m, p in zip(models, phases)]} if values else None


def _other(value, k):
    """Another value of the same form and type for each k; the value itself for 0."""
    if isinstance(value, dict):
        data = value["data"]
        if len(data) == 1 and not value["type"].startswith("complex"):
            is_usual = value["type"] in ("float32", "float64", "int32", "int64", "bool") and abs(data[0]) < 1 << 30  # and so none of the ends of its type
            return {**value, "data": [_other(data[0], k) if is_usual else data[0]]}
        return {**value, "data": data[k % len(data):] + data[:k % len(data)] if data else data}
    if isinstance(value, list):
        whole = all(isinstance(x, int) for x in value)
        return [_other(x if whole else float(x), k) for x in value]
    if isinstance(value, bool):
        return value != (k % 2 == 1)
    return value if k == 0 else (value + k if value < 1 << 62 else value - k) if isinstance(value, int) else 0.25 - value * k


def _array(value):
    """The elements as the engine reads them; None for what a sweep can not be given: texts, sequences, nothing."""
    if isinstance(value, dict):
        return onnx_file.numpy_array(value) if "data" in value and value["type"] != "string" else None
    return np.array(value) if _is_numbers(value) else None


def _is_numbers(value):
    if isinstance(value, list):
        return all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in value)
    return isinstance(value, (int, float))


def _parameters(value):
    """(id, definition) of all parameters in a model: of nodes, of graphs, of nodes within nodes and bodies."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "parameters" and isinstance(item, dict):
                yield from ((name, what) for name, what in item.items() if isinstance(what, dict))
            yield from _parameters(item)


def _field(definition):
    """Where the constant of a parameter stands that a sweep replaces; None where it has none."""
    if "value" in definition and _is_numbers(definition["value"]):
        return "value"
    is_computed = "value" not in definition or isinstance(definition["value"], str) and re.search(r"[a-zA-Z]", re.sub(r"\d[.\d]*e\d+", "", definition["value"])) is not None
    return "default_initial_value" if is_computed and _is_numbers(definition.get("default_initial_value")) else None


def _ports(value):
    """Ids of all input ports in a model, which a sweep takes a name for before it does for a parameter."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "input_ports" and isinstance(item, dict):
                yield from item
            yield from _ports(item)


def _sweep_parameters(models):
    """Writes other values into the models; what a sweep is given for that."""
    names = [name for name, _ in _parameters(models[0])] + list(_ports(models[0]))
    chosen = [name for name, what in _parameters(models[0]) if names.count(name) == 1 and _field(what) is not None][:MOST_PARAMETERS]
    rows = {name: [] for name in chosen}
    for i, model in enumerate(models):
        for name, what in _parameters(model):
            if name in rows:
                field = _field(what)
                what[field] = _other(what[field], i)
                rows[name].append(what[field])
    arrays = {name: np.array(own) for name, own in rows.items()}
    return [{"name": name, "axes": PER_INSTANCE, "is_parameter": True, "type": array.dtype.name, "array": array} for name, array in arrays.items()]
