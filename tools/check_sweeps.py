"""Sweeps every model below a folder and holds the values against single runs: one by one, side by side in lanes, and for some
instances mdf-run --set with the instance's seed must give the same numbers.

usage: check_sweeps.py MDF_RUN FOLDER [MOST_MODELS]

Of each .json model the first number is swept that can be: a parameter of a node of the first graph with a constant value. Of each
model.onnx with inputs beside it (inputs_0.npz, or ONNX's test_data_set_0) all inputs of real numbers are, each instance's a little
larger. Tells how many models went side by side, how many one by one and why, and each difference; exit status 1 where there is one.
A model of PsyNeuLink, whose first evaluation is like all others, and one with inputs that are required, are passed over where a run
of its own fails."""

import collections
import glob
import json
import os
import subprocess
import sys
import tempfile
from typing import Any, Iterator, Optional, Union

import numpy as np

INSTANCES, STEPS, DT, LOOKED_AT = 24, 12, 0.01, (0, 7, 23)
# Of models with inputs: how many evaluations, and how many numbers are swept at most.
INPUT_STEPS, MOST_NUMBERS = 3, 400_000
MISSING = object()
Outcome = tuple[int, str, str]


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < abs(value) < 1e9


def numbers(model: dict[str, Any]) -> Iterator[tuple[str, Union[int, float]]]:
    """(NODE.PARAMETER, its number) of the first graph."""
    graph = next(iter(next(iter(model.values()))["graphs"].values()))
    for node, what in graph["nodes"].items():
        for name, parameter in (what.get("parameters") or {}).items():
            value = parameter.get("value") if isinstance(parameter, dict) else parameter
            if isinstance(parameter, dict) and not is_number(value) and "function" not in parameter:
                value = parameter.get("default_initial_value")
            if is_number(value) and (node + name).replace("_", "").isalnum():
                yield f"{node}.{name}", value


def run(*arguments: str) -> Optional[Outcome]:
    """None: it took too long."""
    try:
        done = subprocess.run([*arguments, "--threads", "1", "--quiet"], capture_output=True, text=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return None
    return done.returncode, done.stdout, done.stderr if done.returncode else ""


def last(value: Any) -> Any:
    """Reals and whole numbers alike, NaN as nothing."""
    if isinstance(value, list):
        return [last(item) for item in value]
    return None if value is None or value != value else float(value)


def of_port(outputs: dict[str, Any], port: str) -> Any:
    """What a run gives at NODE.PORT or a unique PORT; MISSING: it tells nothing of it."""
    return next((value for node, ports in outputs.items() for name, value in ports.items() if port in (name, f"{node}.{name}")), MISSING)


def differs_from_runs(mdf_run: str, path: str, name: str, values: list[float], sweep: dict[str, Any]) -> str:
    for i in LOOKED_AT:
        steps = ["-n", str(STEPS), "--dt", str(DT), "--seed", str(sweep["seeds"][i])]
        alone = run(mdf_run, path, "--set", f"{name}={values[i]!r}", *steps)
        if alone is None or alone[0] != 0:
            return "" if alone is None else f"instance {i} fails by itself: {alone[2][:200]}"
        outputs = json.loads(alone[1])["outputs"]
        for port, rows in sweep["outputs"].items():
            want = of_port(outputs, port)
            if want is not MISSING and last(want) != last(rows[i][-1]):
                return f"instance {i}, {port}: {rows[i][-1]}, by itself {want}"
    return ""


def check(mdf_run: str, path: str, scratch: str) -> tuple[str, str]:
    """What became of a model, and what differs; or why it went one by one."""
    with open(path, encoding="utf-8") as file:
        model = json.load(file)
    became = "no number to sweep"
    for name, value in list(numbers(model))[:4]:
        values = [value * (1 + 0.07 * i) if isinstance(value, float) else value + i % 3 for i in range(INSTANCES)]
        with open(scratch, "w", encoding="utf-8") as file:
            json.dump({"parameters": {name: values}, "steps": STEPS, "dt": DT, "every": 1}, file)
        ways = [run(mdf_run, "--sweep", scratch, path, "--lanes", lanes) for lanes in ("1", "16")]
        if ways[0] is None or ways[1] is None:
            return "too slow", ""
        if ways[0] != ways[1]:
            return "different", f"{name}: side by side {ways[1][1][:200]} {ways[1][2][:200]}, one by one {ways[0][2][:200]}"
        if ways[0][0] != 0:
            became = "can not be swept"
            continue
        difference = differs_from_runs(mdf_run, path, name, values, json.loads(ways[0][1]))
        if difference:
            return "different", f"{name}: {difference}"
        told = run(mdf_run, "--sweep", scratch, path, "--lanes", "16", "--explain")
        text = told[1] if told is not None else ""
        return ("side by side", "") if "side by side" in text else ("one by one", text.partition("because ")[2].partition("\n")[0])
    return became, ""


def given(path: str) -> dict[str, np.ndarray]:
    """The inputs that lie beside an ONNX model; empty: there are none, or one that is no array of numbers."""
    import onnx
    from google.protobuf.message import DecodeError

    folder = os.path.dirname(path)
    archive = os.path.join(folder, "inputs_0.npz")
    if os.path.exists(archive):
        arrays = dict(np.load(archive))
    else:
        try:
            names = [value.name for value in onnx.load(path, load_external_data=False).graph.input]
        except DecodeError:
            return {}
        arrays = {}
        for i, name in enumerate(names):
            tensor = onnx.TensorProto()
            with open(os.path.join(folder, "test_data_set_0", f"input_{i}.pb"), "rb") as file:
                tensor.ParseFromString(file.read())
            arrays[name] = onnx.numpy_helper.to_array(tensor)
    return arrays if all(array.dtype.kind in "biuf" for array in arrays.values()) else {}


def typed(array: np.ndarray) -> dict[str, Any]:
    return {"type": array.dtype.name, "shape": list(array.shape), "data": array.ravel().tolist()}


def nested(array: np.ndarray) -> dict[str, Any]:
    return {"type": array.dtype.name, "data": array.tolist()}


def check_inputs(mdf_run: str, path: str, scratch: str) -> tuple[str, str]:
    """The same as check, of an ONNX model."""
    arrays = given(path)
    swept = [name for name, array in arrays.items() if array.dtype.name in ("float32", "float64")]
    if not swept:
        return "no number to sweep", ""
    if sum(arrays[name].size for name in swept) * INSTANCES > MOST_NUMBERS:
        return "too large", ""
    values = {name: np.stack([arrays[name] * arrays[name].dtype.type(1 + 0.07 * i) for i in range(INSTANCES)]) for name in swept}
    others = {name: typed(array) for name, array in arrays.items() if name not in swept}
    with open(scratch, "w", encoding="utf-8") as file:
        parameters = {name: nested(array) for name, array in values.items()}
        json.dump({"parameters": parameters, "combine": "zip", "inputs": others, "steps": INPUT_STEPS}, file)
    ways = [run(mdf_run, "--sweep", scratch, path, "--lanes", lanes) for lanes in ("1", "16")]
    if ways[0] is None or ways[1] is None:
        return "too slow", ""
    if ways[0] != ways[1]:
        return "different", f"side by side {ways[1][1][:200]} {ways[1][2][:200]}, one by one {ways[0][2][:200]}"
    if ways[0][0] != 0:
        return "can not be swept", ""
    sweep = json.loads(ways[0][1])
    for i in LOOKED_AT:
        with open(scratch + ".inputs", "w", encoding="utf-8") as file:
            json.dump({**others, **{name: typed(array[i]) for name, array in values.items()}}, file)
        seed = ["-n", str(INPUT_STEPS), "--seed", str(sweep["seeds"][i])]
        alone = run(mdf_run, path, "--inputs", scratch + ".inputs", *seed)
        if alone is None or alone[0] != 0:
            return ("too slow", "") if alone is None else ("different", f"instance {i} fails by itself: {alone[2][:200]}")
        outputs = json.loads(alone[1])["outputs"]
        for port, rows in sweep["outputs"].items():
            want = of_port(outputs, port)
            if want is not MISSING and last(want) != last(rows[i]):
                return "different", f"instance {i}, {port}: {str(rows[i])[:200]}, by itself {str(want)[:200]}"
    told = run(mdf_run, "--sweep", scratch, path, "--lanes", "16", "--explain")
    text = told[1] if told is not None else ""
    return ("side by side", "") if "side by side" in text else ("one by one", text.partition("because ")[2].partition("\n")[0])


def main() -> int:
    mdf_run, folder, *most = sys.argv[1:]
    paths = sorted(path for name in ("*.json", "model.onnx") for path in glob.glob(os.path.join(folder, "**", name), recursive=True))
    counts: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        for path in paths[: int(most[0]) if most else None]:
            try:
                how = check_inputs if path.endswith(".onnx") else check
                became, text = how(mdf_run, path, os.path.join(scratch, "sweep.json"))
            except (OSError, ValueError, KeyError, AttributeError, TypeError, RuntimeError):  # too deep, or without a graph
                became, text = "no model", ""
            counts[became] += 1
            if became == "different":
                print(f"{path}: {text}")
            elif became == "one by one":
                reasons[text[:80]] += 1
    print(", ".join(f"{n} {became}" for became, n in counts.most_common()))
    for reason, n in reasons.most_common():
        print(f"  one by one, {n}: {reason}")
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
