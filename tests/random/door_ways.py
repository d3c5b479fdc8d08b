"""Ways that a user comes in by: a model written as ONNX and read again, looked into while it runs (profile, bodies), with a
function of his own in it, and as an FMU. Held against what mdf_c.run gives, to which python_way.py holds the reference."""
import copy
import importlib.util
import itertools
import json
import os
import subprocess
import tempfile
import warnings

import numpy as np

import case as cases
from python_way import SETTINGS, _input, _settings, mdf_c, value_text
from runner import ROOT

TOLERANCE = 1e-9  # of ONNX: what an expression becomes computes in another order (docs/onnx.md)


def _different(way, name, expected, found):
    return [{"way": way, "kind": "different", "detail": [name, str(expected)[:2000], str(found)[:2000]]}]


def _inputs(case):
    return [{name: _input(value) for name, value in step.items()} for step in cases.inputs_by_step(case)]


def _source(case):
    return cases.model_bytes(case) if case["format"] == "onnx" else case["model"]


def _trace(case, model=None, **settings):
    """A Result, all ports recorded; an MdfError as it is."""
    load = mdf_c.load(_source(case), format=case["format"]) if case["format"] == "onnx" else mdf_c.load(model or case["model"])
    inputs = _inputs(case)
    return mdf_c.run(load, inputs, steps=len(inputs), dt=case.get("dt"), record=True, **{**_settings(case), **settings})


def _text(value):
    """value_text, of arrays of objects too: steps of unequal form."""
    return "".join(map(_text, value)) if isinstance(value, list) or getattr(value, "dtype", None) == object and value.ndim else value_text(value)


def _texts(result):
    return {name: _text(value) for name, value in result.trace.items()}


# ---------------------------------------------------------------- looked into

def inspected(case, plain):
    """A profile and the values in bodies change nothing."""
    expected = _texts(plain)
    for what in ({"profile": True}, {"trace_bodies": True}, {"profile": True, "trace_bodies": True, "plain": True}):
        try:
            result = _trace(case, **what)
        except mdf_c.MdfLimitError as error:
            if "trace_bodies" in what and "--max-memory" in str(error):
                continue  # values of all iterations are kept, and count
            raise
        found = _texts(result)
        if found != expected:
            name = next(name for name in expected if found.get(name) != expected[name])
            return _different("inspected", f"{what} {name}", expected[name], found.get(name))
        if "profile" in what and result.profile.get("evaluations") != len(_inputs(case)):
            return _different("inspected", str(what), f"{len(_inputs(case))} evaluations", result.profile)
    return []


# ---------------------------------------------------------------- written as ONNX

def _close(ours, theirs):
    if isinstance(theirs, (list, tuple)):
        return len(ours) == len(theirs) and all(map(_close, ours, theirs))
    a, b = np.asarray(ours), np.asarray(theirs)
    if a.dtype.kind not in "biuf" or b.dtype.kind not in "biuf":
        return value_text(ours) == value_text(theirs)
    narrow = min(a.dtype.itemsize if a.dtype.kind == "f" else 8, b.dtype.itemsize if b.dtype.kind == "f" else 8)
    tolerance = {2: 2e-2, 4: 1e-5}.get(narrow, TOLERANCE)
    return a.shape == b.shape and np.allclose(a.astype(float), b.astype(float), rtol=tolerance, atol=tolerance, equal_nan=True)


def _has_shapes_of_defaults(model, given):
    """Whether inputs are of the shape that the file in ONNX declares: that of the default, where the port says none."""
    nodes = next(iter(next(iter(model.values()))["graphs"].values()))["nodes"]
    for name, value in given.items():
        node, _, port = name.partition(".")
        what = nodes.get(node, {}).get("input_ports", {}).get(port, {})
        if np.shape(value) != tuple(what.get("shape") or np.shape(what.get("default_value", 0))):
            return False
    return True


def onnx_written(case, _):
    """The file, evaluated step by step, what it hands on handed on."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        model = mdf_c.load(_source(case), format=case["format"]) if case["format"] == "onnx" else mdf_c.load(case["model"])
        try:
            model.save(path)
        except mdf_c.MdfError as error:
            return [] if "can not be written as ONNX" in str(error) else _different("onnx_written", "saving", "a file, or a reason", error)
        written = mdf_c.compile(path, **SETTINGS)
    original, state, handed_on = model.compile(**SETTINGS).state(), written.state(), {}
    inputs = _inputs(case)
    for step, given in enumerate(inputs):
        if case["format"] != "onnx" and not _has_shapes_of_defaults(case["model"], given):
            return []
        dt = case.get("dt") if step > 0 else None
        original.set_inputs(given)
        original.evaluate(dt)
        feed = {**{name if name in written.inputs else name.split(".", 1)[-1]: value for name, value in given.items()}, **handed_on}
        if dt is not None and "dt" in written.inputs:
            feed["dt"] = np.float64(dt)
        state.set_inputs({name: value for name, value in feed.items() if name in written.inputs})
        try:
            state.evaluate(None)
        except mdf_c.MdfError as error:
            # What nothing feeds is 0 in MDF, and must be given in ONNX; an input without a declared type has that of its default there.
            if "has no value" in str(error) or "does not fit the declared type" in str(error) and case["format"] != "onnx":
                return []
            raise
        results = state.results()
        for name, value in original.results().items():
            if name in results and not _close(value, results[name]):
                return _different("onnx_written", f"step {step + 1} {name}", value_text(value), value_text(results[name]))
        handed_on = {name.removesuffix(".next"): value for name, value in results.items() if name.endswith(".next") and name.removesuffix(".next") in written.inputs}
    return []


# ---------------------------------------------------------------- a function of one's own

def _identity(x):
    return x


def custom_function(case, plain):
    """The values of output ports, which are numbers of float64, go through a function that is registered."""
    if case["format"] == "onnx":
        return []
    functions = mdf_c.Functions()
    functions.register("lab::same", _identity, arguments=["x: float64"])
    model, expected = copy.deepcopy(case["model"]), _texts(plain)
    changed = set()
    for graph in next(iter(model.values()))["graphs"].values():
        nodes = graph.get("nodes", {})
        for node, port in [(node, port) for node in nodes for port in nodes[node].get("output_ports", {})] if isinstance(nodes, dict) else []:
            holder, value = nodes[node]["output_ports"][port], plain.trace.get(f"{node}.{port}")
            if not isinstance(holder, dict) or not isinstance(holder.get("value"), str) or "type" in holder or "shape" in holder:
                continue
            if getattr(value, "dtype", None) == np.float64 and plain.outputs.get(node, {}).get(port) is not None:
                holder["value"] = f"lab.same({holder['value']})"
                changed.add(f"{node}.{port}")
    ends = {f"{node}.{port}" for node, ports in plain.outputs.items() for port in ports}
    if not changed or not changed <= ends or _is_read_on(case["model"], changed):
        return []  # what is declared is typed, and counts as such in what reads it
    try:
        found = _texts(_trace(case, model, functions=functions))
    except mdf_c.MdfError as error:
        if "lab::same: argument 'x' has no value (None)" in str(error):  # in a pass before the end of a step, a port of a nested graph
            return []
        raise
    name = next((name for name in expected if found.get(name) != expected[name]), None)
    return [] if name is None else _different("custom_function", name, expected[name], found.get(name))


def _is_read_on(model, ports):
    return any(f"{edge.get('sender')}.{edge.get('sender_port')}" in ports
               for graph in next(iter(model.values()))["graphs"].values() for edge in (graph.get("edges") or {}).values())


# ---------------------------------------------------------------- as an FMU

def _elements(name, value):
    array = np.asarray(value)
    for index in itertools.product(*map(range, array.shape)):
        yield (f"{name}[{','.join(str(i + 1) for i in index)}]" if index else name), array[index]


def _places(name, variables):
    """The variables of an FMU, NODE.PORT, that a name means: of one port, or of all of that name."""
    return [name] if name in variables else [variable for variable in variables if variable.endswith("." + name)]


def _fits_integer(value):
    """Whether FMI 2 can be given this: its Integer has 32 bits, and FMPy cuts off what is above."""
    number = value.item() if hasattr(value, "item") else value
    return not isinstance(number, int) or -(1 << 31) <= number < 1 << 31


def _all_fit(plain):
    return all(_fits_integer(number) for array in plain.trace.values() if array.dtype.kind in "iu" for number in array.ravel())


def _start_values(inputs, variables, version):
    """Of the first step's inputs, as FMPy takes them: a number each in FMI 2, all of an array in FMI 3."""
    given = {scalar: number for name, array in inputs.items() for scalar, number in _elements(name, array)} if version == 2 else \
        {name: array if np.ndim(array) == 0 else np.ravel(array).tolist() for name, array in inputs.items()}
    return {place: value for name, value in given.items() for place in _places(name, variables)}


def _fmu(case, plain, version):
    """FMPy steps it; inputs that do not change are its start values. What no Integer of FMI 2 can hold has no form (docs/fmu.md)."""
    if importlib.util.find_spec("fmpy") is None:
        return []
    import fmpy

    way, inputs, dt, method = f"fmu{version}", _inputs(case), case.get("dt"), _settings(case)["method"]
    if any(step.keys() != inputs[0].keys() or not all(np.array_equal(step[name], inputs[0][name]) for name in step) for step in inputs):
        return []  # FMPy gives inputs that change between the steps
    if dt is None:
        if "time_derivative" in json.dumps(case["model"]):
            return []
        dt = 1.0  # which nothing reads
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model." + case["format"])
        with open(path, "wb") as file:
            file.write(cases.model_bytes(case))
        with open(os.path.join(folder, "inputs.json"), "w") as file:
            json.dump(cases.inputs_by_step(case)[:1], file)
        command = [os.path.join(os.environ["MDF_C_BUILD"], "mdf-fmu"), path, "--fmi", str(version), "--dt", repr(dt), "--method", method,
                   "--inputs", os.path.join(folder, "inputs.json"), "-o", os.path.join(folder, "model.fmu")]
        made = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "CC": os.path.join(ROOT, "tests/random/cc_fast.sh")})
        if made.returncode != 0:
            refused = made.returncode == 1 and made.stderr.startswith(path)
            return [] if refused else _different(way, "mdf-fmu", "an FMU, or a reason", made.stderr)
        start = _start_values(inputs[0], [variable.name for variable in fmpy.read_model_description(command[-1]).modelVariables], version)
        if version == 2 and not all(map(_fits_integer, start.values())):
            return []
        told = []
        try:
            result = fmpy.simulate_fmu(command[-1], fmi_type="CoSimulation", stop_time=(len(inputs) - 1) * dt, step_size=dt,
                                       output_interval=dt, start_values=start, logger=lambda *told_of: told.append(told_of[-1].decode()))
        except Exception as error:  # noqa: BLE001 - whatever FMPy raises
            if any("does not fit an Integer of FMI 2" in message for message in told) and not _all_fit(plain):
                return []
            return _different(way, "FMPy", "a simulation", f"{error} {told}")
    columns = {name.replace("'", ""): name for name in result.dtype.names}
    for name, array in plain.trace.items():
        for step in range(min(len(array), len(result))) if array.dtype.kind in "biuf" else []:
            for scalar, expected in _elements(name, array[step]) if version == 2 else [(name, array[step])]:
                places = _places(scalar, columns)
                found = result[columns[places[0]]][step] if len(places) == 1 else expected
                if not np.array_equal(np.asarray(expected, float), np.asarray(found, float), equal_nan=True):
                    return _different(way, f"step {step + 1} {scalar}", expected, found)
    return []


def fmu2(case, plain):
    """Each element of an array is a variable."""
    return _fmu(case, plain, 2)


def fmu3(case, plain):
    """Arrays are arrays, and types stay what they are."""
    return _fmu(case, plain, 3)


# ---------------------------------------------------------------- all

RUNS = {"inspected": inspected, "onnx_written": onnx_written, "custom_function": custom_function, "fmu2": fmu2, "fmu3": fmu3}


def findings(case, ways):
    """Where one of these ways gives something else than mdf_c.run. A model that ends in an error, or has no input of a type that Python has, is left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            plain = _trace(case)
        except Exception:  # noqa: BLE001 - the other ways tell
            return []
        found = []
        for way in ways:
            try:
                found += RUNS[way](case, plain)
            except Exception as error:  # noqa: BLE001 - there was none
                found += _different(way, "", "no error", f"{type(error).__name__}: {error}")
        return found
