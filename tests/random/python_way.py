"""The ways through Python: mdf_c.run, its records, EvaluableGraph, mdf_c.sweep and the ONNX backend, held against what the reference gave in its last step."""
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

import case as cases
import onnx_file
import sweeps
from runner import ROOT

sys.path.insert(0, os.path.join(ROOT, "python"))
os.environ.setdefault("MDF_C_BUILD", os.path.join(ROOT, os.environ.get("BUILD", "build")))
import mdf_c  # noqa: E402

SETTINGS = {"max_iterations": 2000, "max_passes": 500, "max_memory": 1 << 28, "threads": 1}  # those of ways.c


def _settings(case):
    """With the method of the case, where that can solve it."""
    method = case.get("method", "euler")
    if method != "euler":
        try:
            mdf_c.compile(case["model"], method=method, **SETTINGS)
        except mdf_c.MdfError:
            method = "euler"
    return {**SETTINGS, "method": method}


def _number_text(element):
    if isinstance(element, (str, bytes)):
        return '"' + "".join(f"\\x{ord(c):02x}" if c in '"\\' or c < " " else c for c in element) + '"'
    kind = element.dtype.kind
    if kind == "c":
        return _number_text(element.real) + " " + _number_text(element.imag)
    if kind in "fV" and np.isnan(np.float64(element)):
        return "nan"
    return element.tobytes().hex()


def value_text(value):
    """A value as trace.c writes it."""
    if value is None:
        return " none"
    if isinstance(value, dict):
        return " {" + "".join(f' "{key}"' + value_text(item) for key, item in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return " (" + "".join(value_text(item) for item in value) + " )"
    if isinstance(value, str):
        return " string[] " + _number_text(value)
    array = np.asarray(value)
    name = "string" if array.dtype == object else array.dtype.name
    elements = list(array.ravel()) if array.dtype == object else [x for x in array.reshape(-1)]
    return f" {name}[{','.join(map(str, array.shape))}]" + "".join(" " + _number_text(x) for x in elements)


class Absent(Exception):
    """Python can not do this here: ml_dtypes is not installed."""


def _input(value):
    if isinstance(value, dict) and "sequence" in value:
        return [_input(item) for item in value["sequence"]]
    if isinstance(value, dict) and "data" in value:
        array = onnx_file.numpy_array(value)
        if value["type"] != "bfloat16":
            return array
        if ml_dtypes is None:
            raise Absent
        return array.view(ml_dtypes.bfloat16)
    return value


def _error_text(error):
    return f"error {type(error).__name__}: {getattr(error, 'path', '')}: {error}"


def _run(case):
    """Lines as those of the reference, by name; an error as an exception."""
    source = cases.model_bytes(case) if case["format"] == "onnx" else case["model"]
    inputs = [{name: _input(value) for name, value in step.items()} for step in cases.inputs_by_step(case)]
    model = mdf_c.load(source, format=case["format"]) if case["format"] == "onnx" else mdf_c.load(source)
    result = mdf_c.run(model, inputs, steps=len(inputs), dt=case.get("dt"), record=True, **_settings(case))
    lines = {f"{node}.{port}": value_text(value) for node, ports in result.outputs.items() for port, value in ports.items()}
    lines.update({f"result:{name}": value_text(value) for name, value in result.results.items()})
    for name, array in result.trace.items():
        lines[f"recorded {name}"] = value_text(array[-1])
    return lines, model, inputs


def _evaluable(case, model, inputs):
    graph = mdf_c.EvaluableGraph(model, **{"dialect": None, **_settings(case)})
    for step, given in enumerate(inputs):
        graph.evaluate(time_increment=None if step == 0 else case.get("dt"),
                       initializer={name.split(".", 1)[-1]: value for name, value in given.items()})
    return {f"{node.id}.{port}": value_text(part.curr_value)
            for node in graph.enodes.values() for port, part in node.evaluable_outputs.items()}


def _one_by_one(instances, inputs_of):
    """What the instances of a sweep give by themselves: {NODE.PORT: arrays}, and the first error."""
    given = {}
    for instance, seed in zip(instances, mdf_c.instance_seeds(0, len(instances))):
        inputs = inputs_of(instance)
        try:
            trace = mdf_c.run(instance["model"], inputs, steps=len(inputs), dt=instance.get("dt"), record=True, seed=int(seed), **_settings(instance)).trace
        except mdf_c.MdfError as error:
            return given, error
        for name, array in trace.items():
            given.setdefault(name, []).append(array)
    return given, None


def _expected_of_sweep(plan):
    """What the instances give by themselves, stacked: {NODE.PORT: array}, and the text of the first error."""
    given, error = _one_by_one(plan["instances"], cases.inputs_by_step)
    names = [name for name, arrays in given.items() if {(a.dtype, a.shape) for a in arrays} == {(arrays[0].dtype, arrays[0].shape)} and arrays[0].dtype != object]
    return {"error": None if error is None else _error_text(error), **{name: np.stack(given[name]) for name in names if not error}}


def _swept(plan):
    """The values that instances differ in, the case without them, and what it is given in each step."""
    values = [v for v in plan["values"] if v["axes"] & sweeps.PER_INSTANCE]
    first, names = plan["instances"][0], {v["name"] for v in values}
    return values, first, [{name: value for name, value in step.items() if name not in names} for step in cases.inputs_by_step(first)]


def _python_sweep(plan, record):
    values, first, inputs = _swept(plan)
    settings = {name: value for name, value in _settings(first).items() if name != "threads"}
    try:
        return {"error": None, **mdf_c.sweep(first["model"], {v["name"]: v["array"] for v in values}, inputs, steps=len(inputs), dt=first.get("dt"), record=record,
                                             every=1, combine="zip", threads=2, progress=False, **settings).outputs}
    except mdf_c.MdfError as error:
        return {"error": _error_text(error)}


def _command_sweep(plan, record):
    """The same by mdf-run, from a sweep file to an archive."""
    values, first, inputs = _swept(plan)
    parameters = {v["name"]: {"type": v["type"], "data": v["array"].tolist()} if v["axes"] & sweeps.TYPED else v["array"].tolist() for v in values}
    sweep = {"parameters": parameters, "combine": "zip", "inputs": inputs, "steps": len(inputs), "every": 1, **({"record": record} if record else {})}
    if first.get("dt") is not None:
        sweep["dt"] = first["dt"]
    with tempfile.TemporaryDirectory() as folder:
        for name, content in (("model.json", first["model"]), ("sweep.json", sweep)):
            with open(os.path.join(folder, name), "w") as file:
                json.dump(content, file)
        bounds = [f"--{name.replace('_', '-')}={SETTINGS[name]}" for name in ("max_iterations", "max_passes", "max_memory")] + ["--method", _settings(first)["method"]]
        done = subprocess.run([os.path.abspath(os.path.join(os.environ["MDF_C_BUILD"], "mdf-run")), "--sweep", "sweep.json", "model.json", "-o", "results.npz", "--threads=2", "--quiet", *bounds],
                              cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            return {"error": done.stderr or f"exit status {done.returncode}"}
        with np.load(os.path.join(folder, "results.npz")) as archive:
            arrays = {name: archive[name] for name in archive.files}
        return {"error": None, **arrays}


def _set_parameters(plan, record):
    """The instances one by one: the first model with their values of parameters set for one run, in its file's place."""
    first, arrays = plan["instances"][0], {name: [] for name in record}
    swept = [v for v in plan["values"] if v["is_parameter"]]
    for i, (instance, seed) in enumerate(zip(plan["instances"], mdf_c.instance_seeds(0, len(plan["instances"])))):
        values, inputs = {v["name"]: v["array"][i] for v in swept}, cases.inputs_by_step(instance)
        try:
            trace = mdf_c.run(first["model"], inputs, steps=len(inputs), dt=first.get("dt"), record=True, seed=int(seed), parameters=values, **_settings(first)).trace
        except mdf_c.MdfError as error:
            return {"error": _error_text(error)}
        for name, rows in arrays.items():
            rows.append(trace[name])
    return {"error": None, **{name: np.stack(rows) for name, rows in arrays.items()}}


def sweep_findings(case):
    """Where mdf_c.sweep, or mdf-run --sweep, gives something else than mdf_c.run of each instance. What is told of an error goes on with the instance."""
    plan = sweeps.make(case, both_axes=False) if case["format"] == "json" else None
    if plan is None or not any(v["axes"] & sweeps.PER_INSTANCE for v in plan["values"]):
        return []
    findings = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = _expected_of_sweep(plan)
        ways = [("python_sweep", _python_sweep), ("set_parameters", _set_parameters)]
        if len(expected) > 1 or expected["error"] is not None:  # a file that records nothing records all, whatever form it has
            ways.append(("command_sweep", _command_sweep))
        for way, run in ways:
            try:
                found = run(plan, [name for name in expected if name != "error"])
            except (mdf_c.MdfError, ValueError) as error:
                found = {"error": _error_text(error)}
            findings += _compare_sweeps(way, expected, found)
    return findings


def _compare_sweeps(way, expected, found):
    if "kept changeable" in (found["error"] or ""):
        return []
    for name, value in expected.items():
        if name == "error" and (value is None) != (found[name] is None) or name != "error" and value_text(found.get(name)) != value_text(value):
            return [{"way": way, "kind": "different", "detail": [name, str(value), str(found.get(name))]}]
    return []


def backend_findings(case, last):
    """Where the ONNX backend gives something else than ``last``. A program that ends in an error is left out: the backend has no bounds that end it alike."""
    reference = dict(line.partition(" ")[::2] for line in last)
    if case["format"] != "onnx" or "error" in reference or ml_dtypes is None:
        return []
    try:
        import onnx

        from mdf_c import onnx_backend
    except ImportError:
        return []
    expected = [" " + value for name, value in reference.items() if name.startswith("result:")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            phases = [{name: _input(value) for name, value in phase["inputs"].items()} for phase in case["phases"]]
            prepared = onnx_backend.prepare(onnx.load_from_string(cases.model_bytes(case)))
            for inputs in phases[:-1]:  # what a run leaves prepared must not be seen in the next
                with contextlib.suppress(mdf_c.MdfError, ValueError, TypeError):
                    prepared.run(inputs)
            for _ in range(3):
                found = [value_text(value) for value in prepared.run(phases[-1])]
                different = next((k for k, (a, b) in enumerate(zip(expected, found)) if a != b), None if len(expected) == len(found) else -1)
                if different is not None:
                    return [{"way": "onnx_backend", "kind": "different", "detail": [f"output {different}", expected[different], found[different]]}]
        except Exception as error:  # whatever it is: the reference has none
            return [{"way": "onnx_backend", "kind": "different", "detail": ["", "no error", _error_text(error)]}]
    return []


def findings(case, last):
    """Where Python gives something else than ``last``, the lines of the reference's last step."""
    reference = {}
    for line in last:
        name, _, value = line.partition(" ")
        reference[name] = " " + value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            lines, model, inputs = _run(case)
            found = _compare("python", lines, reference)
            if not found and case["format"] != "onnx":
                found = _compare("EvaluableGraph", _evaluable(case, model, inputs), reference)
            return found
        except (mdf_c.MdfError, MemoryError) as error:
            # The reference tells the first error that it meets, the package all that there are, in the order of the file.
            messages = [str(e).rsplit(": ", 1)[-1] for e in getattr(error, "errors", [error])]
            if any(message in reference.get("error", "") for message in messages):
                return []
            return [{"way": "python", "kind": "different", "detail": ["", "error" + reference.get("error", "no error"), _error_text(error)]}]
        except Absent:
            return []
        except Exception as error:  # an exception that is none of the package's is a finding
            if ml_dtypes is None and "ml_dtypes" in str(error):
                return []
            return [{"way": "python", "kind": "different", "detail": ["", reference.get("error", "no error"), _error_text(error)]}]


def _compare(way, lines, reference):
    if "error" in reference:
        return [{"way": way, "kind": "different", "detail": ["", "error" + reference["error"], "no error"]}]
    for name, value in lines.items():
        expected = reference.get(name.removeprefix("recorded "))
        if expected is not None and expected != value and not _is_same_scalar(name, expected, value):
            return [{"way": way, "kind": "different", "detail": [name, expected.strip(), value.strip()]}]
    return []


def _is_same_scalar(name, expected, value):
    """An array of objects of a trace gives numbers that Python has."""
    return name.startswith("recorded ") and expected.split(" ")[2:] == value.split(" ")[2:]
