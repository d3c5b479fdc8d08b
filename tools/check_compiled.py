#!/usr/bin/env python3
"""Compares mdf-run with mdf-run --compile, to the last bit.

    check_compiled.py [--mdf-run build/mdf-run] [--only SUBSTRING] [--jobs N] [--show N] FILE|FOLDER...

A FILE is a model, run for some steps without and with a time increment. A FOLDER holds cases as the reference folders do: cases/*.json
(model, graph, steps, dt, inputs) or index.json (ONNX backend-test layout; needs the Python package onnx). A case counts as
    equal       both print the same numbers, to the last bit (but a whole number may be a real one of that value: a variable of C has one type
                from the first step on, and so may be an array all of which is that number),
    refused     mdf-run alone runs it; the compiler says that it has no form in C, and what to do,
    skipped     mdf-run alone does not run it either,
    different   anything else: this is a fault, as is C source that does not compile.
Exits 1 where there is one. Compiled models are kept in $XDG_CACHE_HOME/mdf_c.
"""
import argparse
import collections
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

REFUSAL = re.compile(r"can not be written as C: (.*?); run the model without compiling it")


def run(argv):
    try:
        done = subprocess.run(argv, capture_output=True, timeout=120)
    except subprocess.TimeoutExpired:
        return None, "", "no answer"
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def compare(mdf_run, arguments):
    """(verdict, text)"""
    plain = run([mdf_run, "--quiet"] + arguments)
    if plain[0] != 0:
        return "skipped", plain[2].strip()
    compiled = run([mdf_run, "--quiet", "--compile"] + arguments)
    if compiled[0] == 0:
        same = compiled[1] == plain[1] or same_values(json.loads(plain[1]), json.loads(compiled[1]))
        return ("equal", "") if same else ("different", first_difference(plain[1], compiled[1]))
    refusal = REFUSAL.search(compiled[2])
    return ("refused", refusal.group(1)) if refusal else ("different", compiled[2].strip()[:400])


def same_values(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same_values(a[key], b[key]) for key in a)
    if type(a) in (int, float) and isinstance(b, list):
        return len(b) > 1 and all(same_values(a, item) for item in b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same_values, a, b))
    if type(a) in (int, float) and type(b) in (int, float):
        return float(a).hex() == float(b).hex() and (type(a) is float or a == b)
    return type(a) is type(b) and a == b


def first_difference(want, have):
    for a, b in zip(want.splitlines(), have.splitlines()):
        if a != b:
            at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
            start = max(0, at - 60)
            return f"...{b[start:at + 60]} in place of ...{a[start:at + 60]}"
    return "one text is longer than the other"


def value_to_json(value):
    import numpy as np

    if value is None:
        return None
    if isinstance(value, list):
        return {"sequence": [value_to_json(item) for item in value]}
    array = np.asarray(value)
    if array.dtype.kind in "OUS":
        return {"type": "string", "shape": list(array.shape), "data": [str(x.decode() if isinstance(x, bytes) else x) for x in array.ravel().tolist()]}
    plain = array if array.dtype.kind in "biufc" else array.astype(np.float32)
    data = plain.ravel().tolist()
    if plain.dtype.kind == "c":
        data = [[x.real, x.imag] for x in data]
    return {"type": str(array.dtype), "shape": list(array.shape), "data": data}


def file_arguments(path):
    yield path, [path, "--trace", "-n", "4"], None
    yield path + " (dt)", [path, "--trace", "-n", "6", "--dt", "0.015625"], None


def json_case(base, path):
    with open(path) as f:
        case = json.load(f)
    arguments = [os.path.join(base, case["model"]), "--trace", "--steps", str(case.get("steps", 1))]
    if case.get("graph"):
        arguments += ["--graph", case["graph"]]
    dt = case.get("dt") if case.get("dt") is not None else case.get("dt_first")
    if dt is not None:
        arguments += ["--dt", repr(dt)]
    if case.get("inputs_gen") or case.get("expect_error"):
        return None
    return arguments, case.get("inputs_seq") or case.get("inputs")


def onnx_case(folder):
    import onnx
    from onnx import numpy_helper

    model = onnx.load(os.path.join(folder, "model.onnx"))
    given = set(x.name for x in model.graph.initializer)
    names = [x for x in model.graph.input if x.name not in given]
    inputs = {}
    for i, x in enumerate(names):
        path = os.path.join(folder, "test_data_set_0", f"input_{i}.pb")
        if not os.path.exists(path):
            break
        with open(path, "rb") as f:
            data = f.read()
        kind = x.type.WhichOneof("value")
        if kind != "tensor_type":
            return None
        tensor = onnx.TensorProto()
        tensor.ParseFromString(data)
        inputs[x.name] = value_to_json(numpy_helper.to_array(tensor))
    with open(os.path.join(folder, "case.json")) as f:
        case = json.load(f)
    arguments = [os.path.join(folder, "model.onnx"), "--typed"]
    if case.get("max_iterations"):
        arguments += ["--max-iterations", str(case["max_iterations"])]
    return arguments, inputs


def find_cases(target, only):
    if os.path.isfile(target):
        yield from (lambda path=path, arguments=arguments: (path, arguments, None) for path, arguments, _ in file_arguments(target) if only in path)
    elif os.path.isdir(os.path.join(target, "cases")):
        for path in sorted(glob.glob(os.path.join(target, "cases", "*.json"))):
            if only in path:
                yield lambda path=path: (path,) + (json_case(os.path.join(target), path) or (None, None))
    else:
        for path in sorted(glob.glob(os.path.join(target, "*", "model.onnx"))):
            if only in path:
                yield lambda path=path: (path,) + (onnx_case(os.path.dirname(path)) or (None, None))


def check(mdf_run, make):
    path, arguments, inputs = make()
    if arguments is None:
        return path, "skipped", "inputs that can not be given here"
    with tempfile.TemporaryDirectory() as folder:
        if inputs:
            name = os.path.join(folder, "inputs.json")
            with open(name, "w") as f:
                json.dump(inputs, f)
            arguments = arguments + ["--inputs", name]
        return (path,) + compare(mdf_run, arguments)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mdf-run", default="build/mdf-run")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", type=int, default=20, help="how many faults are shown, and reasons of refusal")
    parser.add_argument("targets", nargs="+")
    options = parser.parse_args()
    cases = [case for target in options.targets for case in find_cases(target, options.only)]
    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda case: check(options.mdf_run, case), cases))
    counts = collections.Counter(verdict for _, verdict, _ in results)
    for path, verdict, text in [r for r in results if r[1] == "different"][: options.show]:
        print(f"different: {path}: {text}")
    reasons = collections.Counter(re.sub(r"'[^']*'", "'...'", text) for _, verdict, text in results if verdict == "refused")
    for reason, n in reasons.most_common(options.show):
        print(f"refused {n}: {reason}")
    print(", ".join(f"{counts[key]} {key}" for key in ("equal", "refused", "skipped", "different")))
    return 1 if counts["different"] or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
