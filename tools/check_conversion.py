#!/usr/bin/env python3
"""Shows that converted models evaluate to the same bits: every model.onnx below the given folders is run as it is, and again as

    JSON, YAML, BSON; JSON to YAML to JSON; BSON to JSON; YAML to BSON; with every array beside it; with these taken in again

with the same inputs, and what `mdf-run --typed` prints (all ports, every digit) is compared as text. A model that fails must fail
alike, with the same message but for the position. Folders are laid out as ONNX's backend tests are: NAME/model.onnx and
NAME/test_data_set_0/input_N.pb. Needs the packages onnx and numpy.

    check_conversion.py [--build build] [--only SUBSTRING] [--jobs N] FOLDER...
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
from onnx import numpy_helper

BOUNDS = ["--max-iterations", "1000000", "--max-memory", "1G"]
# Each form and the names of the files that lead to it, one from the other; a name may be followed by options of mdf-convert.
FORMS = {"json": ["a.json"], "yaml": ["b.yaml"], "bson": ["c.bson"], "json, yaml, json": ["d.json", "e.yaml", "f.json"],
         "bson, json": ["g.bson", "h.json"], "yaml, bson": ["i.yaml", "j.bson"],
         "arrays beside": [["k.json", "--weights-beside", "1"]],
         "arrays beside, then inside": [["l.yaml", "--weights-beside", "1"], ["m.json", "--weights-inside"]]}


def run(arguments):
    done = subprocess.run(arguments, capture_output=True, timeout=120)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def typed(value):
    """A value as mdf-run's --inputs takes it."""
    if value is None:
        return None
    if isinstance(value, list):
        return {"sequence": [typed(item) for item in value]}
    array = np.asarray(value)
    if array.dtype.kind in "OUS":
        flat = [item.decode() if isinstance(item, bytes) else str(item) for item in array.ravel().tolist()]
        return {"type": "string", "shape": list(array.shape), "data": flat}
    if array.dtype.kind == "c":
        flat = [[item.real, item.imag] for item in array.ravel().tolist()]
    else:
        flat = (array if array.dtype.kind in "biuf" else array.astype(np.float32)).ravel().tolist()
    return {"type": str(array.dtype), "shape": list(array.shape), "data": flat}


def read_input(path, info):
    with open(path, "rb") as file:
        content = file.read()
    kind = info.type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(content))
    if kind == "optional_type":
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(content))
    return numpy_helper.to_array(onnx.TensorProto.FromString(content))


def write_inputs(folder, path):
    """The inputs of a case, as far as there are any."""
    inputs, data = {}, os.path.join(folder, "test_data_set_0")
    if os.path.isdir(data):
        graph = onnx.load(os.path.join(folder, "model.onnx"), load_external_data=False).graph
        names = {item.name for item in graph.initializer}
        n_given = len([name for name in os.listdir(data) if name.startswith("input_")])
        infos = [item for item in graph.input if item.name not in names]
        for i, info in enumerate((infos if n_given <= len(infos) else graph.input)[:n_given]):
            inputs[info.name] = typed(read_input(os.path.join(data, f"input_{i}.pb"), info))
    with open(path, "w") as file:
        json.dump(inputs, file)


def without_places(text):
    """A message without the names and positions of files."""
    return re.sub(r"^\S+?\.(onnx|json|yaml|bson)(:\d+)*: ", "", text, flags=re.MULTILINE)


def check(build, folder):
    """Why a case fails, or None."""
    with tempfile.TemporaryDirectory() as work:
        inputs = os.path.join(work, "inputs")
        write_inputs(folder, inputs)
        model = os.path.join(folder, "model.onnx")

        def evaluate(path):
            return run([os.path.join(build, "mdf-run"), path, "--typed", "--inputs", inputs, *BOUNDS])

        status, wanted, message = evaluate(model)
        for form, steps in FORMS.items():
            source = model
            for step in steps:
                name, *options = [step] if isinstance(step, str) else step
                target = os.path.join(work, name)
                converted = run([os.path.join(build, "mdf-convert"), *options, source, target])
                source = target
                if converted[0] != 0:
                    break
            if converted[0] != 0:
                if status == 0 or without_places(converted[2]) != without_places(message):
                    return f"as {form}: {converted[2].strip()}, the file itself: {message.strip()}"
                continue
            again, got, complaint = evaluate(source)
            if again != status or got != wanted or (status != 0 and without_places(complaint) != without_places(message)):
                return f"as {form}: exit status {again} (the file itself {status}): {complaint.strip() or 'another result'}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("folders", nargs="+")
    arguments = parser.parse_args()
    cases = sorted(path for top in arguments.folders for path, _, files in os.walk(top) if "model.onnx" in files and arguments.only in path)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        reasons = list(pool.map(lambda folder: check(arguments.build, folder), cases))
    for folder, why in zip(cases, reasons):
        if why is not None:
            print(f"FAIL {folder}: {why}")
    n_failed = sum(why is not None for why in reasons)
    print(f"{len(cases) - n_failed} passed, {n_failed} failed")
    return 0 if cases and n_failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
