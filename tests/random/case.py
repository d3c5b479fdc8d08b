"""A case: a model, and what it is given, phase by phase. Everything in it is plain JSON, so that it can be shrunk, kept and read."""
import json
import math

import onnx_file
import sweeps

METHODS = ["euler", "exponential_euler", "heun", "rk4", "dopri5", "cvode_adams", "cvode_bdf"]  # of mdf.h


def new(model, phases, dt=None, format="json"):
    """``model``: the document of an MDF file, or what onnx_file.encode takes (format "onnx"). ``phases``: {"steps": n, "inputs":
    {NAME: value}}, whose evaluations each get these inputs."""
    return {"format": format, "model": model, "phases": phases, "dt": dt}


def model_bytes(case):
    if case["format"] == "onnx":
        return onnx_file.encode(case["model"])
    return json.dumps(case["model"]).encode()


def encode(case, compiled=False, only="-"):
    """The case as run_ways reads it (case.c), with the sweep that is made of it. ``only``: the one way besides the reference; "-": all."""
    sweep = sweeps.make(case) if only in ("-", "sweep") else None
    parts = [_encode_runs(case, compiled, only, sweep)]
    for value in sweep["values"] if sweep else []:
        array = value["array"]
        elements = array.tobytes()
        parts += [b"values %s %d %d %s %d " % (value["name"].encode(), value["axes"], value["is_parameter"], value["type"].encode(), array.ndim),
                  b"".join(b"%d " % n for n in array.shape), b"%d\n" % len(elements), elements]
    return b"".join(parts + [_encode_runs(instance, False, only, None) for instance in (sweep["instances"] if sweep else [])])


def _encode_runs(case, compiled, only, sweep):
    """The model and its phases."""
    model, dt = model_bytes(case), case.get("dt")
    parts = [b"case %s %d %d %s %d %d %d %s %d %d\n" % (case["format"].encode(), len(model), len(case["phases"]), b"nan" if dt is None else repr(float(dt)).encode(), METHODS.index(case.get("method", "euler")),
                                                keeps_nothing(case), compiled, only.encode(), len(sweep["values"]) if sweep else 0,
                                                len(sweep["instances"]) if sweep else 0), model]
    for phase in case["phases"]:
        parts.append(b"phase %d %d\n" % (max(1, phase["steps"]), len(phase["inputs"])))
        for name, value in phase["inputs"].items():
            text = json.dumps(value).encode()
            parts += [b"%s %d\n" % (name.encode(), len(text)), text]
    return b"".join(parts)


def _walk(value):
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from _walk(item)
    elif isinstance(value, list):
        for item in value:
            yield from _walk(item)


def keeps_nothing(case):
    """Whether no evaluation can see anything of an earlier one: then a state that has been used is as good as a new one.

    Seen from the text alone, and rather too careful: nothing that has an initial value, a derivative, a condition of any kind; no port
    with a default value that an edge feeds, since such an edge may lead backwards; nothing random; nothing that reads a parameter
    which is written further down. Parameters without a value may keep what they were."""
    if case["format"] == "onnx":
        return True
    if "PsyNeuLink" in json.dumps(case["model"]):
        return False  # nodes in a circle see each other's values of before
    for item in _walk(case["model"]):
        if "sender" in item and item.get("sender") == item.get("receiver"):
            return False
        if {"default_initial_value", "time_derivative", "conditions", "graph"} & item.keys():
            return False
        if item.get("function", "").startswith(("onnx::Random", "random")) if isinstance(item.get("function"), str) else False:
            return False
        if isinstance(item.get("parameters"), dict) and _reads_later(item["parameters"]):
            return False
        if isinstance(item.get("nodes"), dict):
            if item.get("conditions"):
                return False
            for edge in (item.get("edges") or {}).values():
                port = item["nodes"].get(edge.get("receiver"), {}).get("input_ports", {}).get(edge.get("receiver_port"))
                if port is None or "default_value" in port:
                    return False
    text = json.dumps(case["model"])
    return "random" not in text and "draw_" not in text


def _reads_later(parameters):
    names = list(parameters)
    for i, name in enumerate(names):
        text = json.dumps(parameters[name])
        if any(later in text for later in names[i:]):
            return True
    return False


def size(case):
    """What shrinking makes smaller."""
    return len(json.dumps(case))


def mdf_run_command(case, model="model.json"):
    """The command line that runs a case of one phase, or of inputs that go on; None where mdf-run can not be given them."""
    dt = case.get("dt")
    steps = sum(max(1, phase["steps"]) for phase in case["phases"])
    inputs = "" if not any(phase["inputs"] for phase in case["phases"]) else " --inputs inputs.json"
    return f"mdf-run {model}{inputs} --steps {steps} --trace" + (f" --dt {dt}" if dt is not None and math.isfinite(dt) else "") + (f" --method {case['method']}" if case.get("method", "euler") != "euler" else "")


def inputs_by_step(case):
    return [phase["inputs"] for phase in case["phases"] for _ in range(max(1, phase["steps"]))]
