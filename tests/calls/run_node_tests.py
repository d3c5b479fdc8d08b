#!/usr/bin/env python3
"""Runs ONNX's own backend tests through build/mdf-run and says which pass, by name.

    pip install onnx numpy ml_dtypes
    make all && python3 tests/calls/run_node_tests.py [--only WORD] [--failures FILE] [--expected FILE]
    python3 tests/calls/run_node_tests.py --compile [--only WORD] [--failures FILE]

The tests are those of the installed onnx package: its node tests, and the folders simple, pytorch-operator and pytorch-converted, all data sets.
Each is one process with 60 seconds, so that a crash or a hang is one failure. Types and shapes must be equal, numbers within the test's own rtol
and atol, as onnx.backend.test.runner has it (bfloat16: two units in the last place). Of operators that draw random numbers only type and shape are compared:
the standard says how the numbers are distributed, not which they are. With --expected (names, one a line, # begins a comment) it fails only where
another test fails, or one that is named passes. With --compile each is generated C, and says in the end how many have no form there, by reason.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np

warnings.filterwarnings("ignore")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TIMEOUT_S = 60
DRAWS = {"Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial"}


def typed(value):
    """The --typed form of a value of the tests."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return {"sequence": [typed(v) for v in value]}
    if isinstance(value, dict):
        return {str(k): typed(v) for k, v in value.items()}
    if hasattr(value, "SerializeToString"):
        from onnx import numpy_helper

        value = numpy_helper.to_array(value)
    a = np.asarray(value)
    if a.dtype.kind in "OUS":
        return {"type": "string", "shape": list(a.shape), "data": [v.decode() if isinstance(v, bytes) else str(v) for v in a.ravel().tolist()]}
    if a.dtype.kind == "c":
        return {"type": str(a.dtype), "shape": list(a.shape), "data": [[v.real, v.imag] for v in a.ravel().tolist()]}
    if a.dtype.kind not in "biuf":  # bfloat16, float8, int4: as float32, which holds them all
        return {"type": str(a.dtype), "shape": list(a.shape), "data": a.astype(np.float32).ravel().tolist()}
    return {"type": str(a.dtype), "shape": list(a.shape), "data": a.ravel().tolist()}


def numbers(value):
    return np.asarray(value["data"], np.complex128 if "complex" in value["type"] else np.float64)


def pairs_to_complex(value):
    if value["type"].startswith("complex"):
        value = {**value, "data": [complex(*pair) for pair in value["data"]]}
    return value


def difference(got, want, rtol, atol, drawn):
    """What is wrong with a result; None: nothing."""
    if want is None or got is None:
        return None if want is got else f"{json.dumps(got)[:100]}, not {json.dumps(want)[:100]}"
    if "sequence" in want:
        items = got.get("sequence", [])
        if len(items) != len(want["sequence"]):
            return f"a sequence of {len(items)}, not {len(want['sequence'])}"
        return next((d for d in (difference(g, w, rtol, atol, drawn) for g, w in zip(items, want["sequence"])) if d), None)
    if "type" not in want:  # a map, which is an object here
        return None if got == want else f"{json.dumps(got)[:100]}, not {json.dumps(want)[:100]}"
    for part in ("type", "shape"):
        if got.get(part) != want[part]:
            return f"{part} {got.get(part)}, not {want[part]}"
    if drawn:
        return None
    if want["type"] in ("string", "bool"):
        same = got["data"] == want["data"]
    elif want["type"] in ("int64", "uint64"):
        same = np.allclose(numbers(got), numbers(want), rtol=rtol, atol=atol)
    else:
        got, want = pairs_to_complex(got), pairs_to_complex(want)
        rtol = max(rtol, 2**-6) if want["type"] == "bfloat16" else rtol
        same = np.allclose(numbers(got), numbers(want), rtol=rtol, atol=atol, equal_nan=True)
    return None if same else f"{json.dumps(got['data'], default=str)[:100]}, not {json.dumps(want['data'], default=str)[:100]}"


def from_file(path, info):
    """A value of a .pb file: what the formal says it is."""
    import onnx
    from onnx import numpy_helper

    kinds = {"sequence_type": (onnx.SequenceProto, numpy_helper.to_list), "optional_type": (onnx.OptionalProto, numpy_helper.to_optional)}
    kind, convert = kinds.get(info.type.WhichOneof("value"), (onnx.TensorProto, numpy_helper.to_array))
    with open(path, "rb") as f:
        return convert(kind.FromString(f.read()))


def data_sets_of(folder, graph):
    for name in sorted(os.listdir(folder)):
        if name.startswith("test_data_set_"):
            found = []
            for kind, infos in (("input", graph.input), ("output", graph.output)):
                paths = [os.path.join(folder, name, f"{kind}_{i}.pb") for i in range(len(infos))]
                found.append([from_file(p, info) for p, info in zip(paths, infos) if os.path.exists(p)])
            yield found


def draws(model):
    """Whether the results are random: an operator that draws, or dropout while training."""
    for node in model.graph.node:
        if node.op_type in DRAWS or (node.op_type == "Dropout" and len(node.input) > 2 and node.input[2]):
            return True
    return False


def run_once(command, model_path, graph, given):
    """(results by name, None) or (None, what went wrong)."""
    initialised = {i.name for i in graph.initializer}
    formals = [i for i in graph.input if i.name not in initialised]
    formals = formals if len(given) <= len(formals) else list(graph.input)
    path = model_path + ".inputs.json"
    with open(path, "w") as f:
        json.dump({info.name: typed(value) for info, value in zip(formals, given)}, f)
    try:
        done = subprocess.run([*command, "--from", "onnx", model_path, "--inputs", path, "--typed", "--quiet", "--max-iterations", "1000000"],
                              capture_output=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return None, f"no answer in {TIMEOUT_S} s"
    if done.returncode != 0:
        message = done.stderr.decode("utf-8", "replace").replace(model_path, "").strip()
        return None, f"exit status {done.returncode}: {message[:300]}"
    return json.loads(done.stdout)["results"], None


def check(command, test):
    """What is wrong with a test; None: it passes."""
    import onnx

    with tempfile.TemporaryDirectory() as folder:
        if test.model_dir is not None:
            path = os.path.join(test.model_dir, "model.onnx")
            model = onnx.load(path, load_external_data=False)
            data_sets = list(data_sets_of(test.model_dir, model.graph))
            os.symlink(path, os.path.join(folder, "model.onnx"))
        else:
            model, data_sets = test.model, test.data_sets
            with open(os.path.join(folder, "model.onnx"), "wb") as f:
                f.write(model.SerializeToString())
        for given, wanted in data_sets:
            results, fault = run_once(command, os.path.join(folder, "model.onnx"), model.graph, given)
            if fault:
                return fault
            for info, want in zip(model.graph.output, wanted):
                fault = difference(results.get(info.name), typed(want), test.rtol, test.atol, draws(model))
                if fault:
                    return f"{info.name}: {fault}"
    return None


def safely(command, test):
    try:
        return check(command, test)
    except Exception as why:  # what can not be judged has failed
        return f"{type(why).__name__}: {why}"


def collect(word):
    from onnx.backend.test.case.node import collect_testcases
    from onnx.backend.test.loader import load_model_tests

    tests = list(collect_testcases(None))
    for kind in ("simple", "pytorch-operator", "pytorch-converted"):
        tests += load_model_tests(kind=kind)
    return sorted((t for t in tests if word in t.name), key=lambda t: t.name)


def print_reasons(failed):
    """Why tests failed, the most frequent reason first."""
    kinds = Counter()
    for why in failed:
        of_c = re.search(r"can not be written as C: ([^;]*)", why)
        kinds[of_c.group(1) if of_c else re.sub(r"'[^']*'|[-\d.]+", "_", why)[:100]] += 1
    for why, n in kinds.most_common():
        print(f"{n:5} {why}")


def report(results, expected):
    """Prints what failed; returns the exit status."""
    failed = {name: why for name, why in results if why}
    fixed = [name for name, why in results if not why and name in expected]
    for name, why in failed.items():
        if name not in expected:
            print(f"FAIL {name}: {why}")
    for name in fixed:
        print(f"PASSES NOW {name}")
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed")
    return 0 if results and not fixed and set(failed) <= expected else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mdf-run", default=os.path.join(ROOT, "build", "mdf-run"))
    parser.add_argument("--only", default="", metavar="WORD", help="only tests whose name holds this")
    parser.add_argument("--compile", action="store_true", help="by generated C")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--failures", metavar="FILE", help="write the names of what failed there")
    parser.add_argument("--expected", metavar="FILE", help="names of tests that are known to fail")
    args = parser.parse_args()
    expected = set()
    if args.expected:
        with open(args.expected) as f:
            expected = {line.split("#")[0].strip() for line in f} - {""}
    command = [args.mdf_run] + (["--compile"] if args.compile else [])
    if args.compile:
        os.environ.setdefault("CC", os.path.join(ROOT, "tests", "random", "cc_fast.sh"))
    tests = collect(args.only)
    with ThreadPoolExecutor(args.jobs) as pool:
        results = list(pool.map(lambda t: (t.name, safely(command, t)), tests))
    if args.failures:
        with open(args.failures, "w") as f:
            f.writelines(f"{name}  # {why}\n" for name, why in results if why)
    if args.compile:
        print_reasons([why for _, why in results if why])
    return report(results, expected)


if __name__ == "__main__":
    sys.exit(main())
