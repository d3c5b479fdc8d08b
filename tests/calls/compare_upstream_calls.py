#!/usr/bin/env python3
"""Calls the ONNX operators as MDF models do, and compares the answers with those of modeci_mdf's own engine.

    pip install modeci_mdf onnx numpy ml_dtypes
    make all && python3 tests/calls/compare_upstream_calls.py [--only WORD] [--random N --seed S --family F] [--jobs N] [--mdf-run FILE]

The calls are those of ONNX's node tests, brought to the versions of opset 15, which that engine has, or random ones (tests/calls/random_calls.py). Each is
written in three ways: "p" a parameter that is a function of parameters, attributes in its args; "f" a Function object whose inputs come through ports;
"a" a parameter whose attributes are parameters of the node. Files are JSON and YAML in turn. Results are taken whole and by index. Where that engine
fails, the answer is that of onnx.reference or ONNX Runtime for the same call. Printed are calls that are refused here and answers that differ; exit
status 1 where there are any but those of DIFFERENT, which says why.
"""
import argparse
import json
import os
import pickle
import re
import select
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
import yaml

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sweep_operators as sweep  # noqa: E402
from run_node_tests import ROOT, typed  # noqa: E402

OPSET = 15
LIMIT_S = 60
RTOL, ATOL = 1e-5, 1e-5  # that engine rounds to float32 at each call
AS_LISTS = {"float", "double", "int64", "int32", "bool", "string"}  # what a list in a file becomes there; others arrive as inputs

# What is meant otherwise here, each with its reason.
DIFFERENT = [
    (r"Dropout", "training draws random numbers"),
    (r"Clip .*max", "that engine hands max on as min where min is left out"),
    (r"MaxUnpool .*output_shape", "the indices are those of the output without output_shape, as the node test has it"),
    (r"Split ", "that engine asks for one part"),
    (r"NonZero .*\[\]", "that engine makes a bare number an array of one"),
    (r"StringNormalizer", "onnx.reference takes accents off; ONNX does not say so"),
    (r"OptionalHasElement", "version 15 has an input that must be given"),
]


# ------------------------------------------------------------------ models


def plain(value):
    """Lists, numbers and truths."""
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray) and value.dtype.kind not in "biufcOUS":
        value = value.astype(np.float32)
    value = np.asarray(value).tolist() if isinstance(value, (np.ndarray, np.generic)) else value
    return value.decode() if isinstance(value, bytes) else value


def attributes_of(call):
    """{name: value} as a file would have them; None: one has no such form."""
    found = {}
    for a in call.attributes:
        value = onnx.helper.get_attribute_value(a)
        if isinstance(value, onnx.TensorProto):
            value = onnx.numpy_helper.to_array(value)
        elif hasattr(value, "SerializeToString"):
            return None
        found[a.name] = plain([v.decode() if isinstance(v, bytes) else v for v in value] if isinstance(value, list) else value)
    return found


def arguments_of(call):
    """{formal: value}; those of a variadic formal by made-up names."""
    schema = call.schema
    variadic = bool(schema.inputs) and schema.inputs[0].option == onnx.defs.OpSchema.FormalParameterOption.Variadic
    return {f"x{i}" if variadic else schema.inputs[i].name: v for i, v in enumerate(call.values) if v is not None}, variadic


def build(call, style):
    """(model, inputs) in one of the three ways."""
    given, variadic = arguments_of(call)
    attributes, function = attributes_of(call), f"onnx::{call.schema.name}"
    inputs = {}
    if style == "f":
        port = "{}" if variadic else "{}_port"
        node = {"input_ports": {port.format(k): {"shape": list(np.shape(v))} for k, v in given.items()}}
        inputs = {port.format(k): v for k, v in given.items()}
        node["functions"] = {"y": {"function": function, "args": {**{k: port.format(k) for k in given}, **attributes}}}
    else:
        node = {"parameters": {k: {"value": v} for k, v in attributes.items()} if style == "a" else {}}
        node["parameters"].update({f"{k}_c": {"value": plain(v)} for k, v in given.items()})
        node["parameters"]["y"] = {"function": function, "args": {**{k: f"{k}_c" for k in given}, **(attributes if style == "p" else {})}}
    node["output_ports"] = {"o": {"value": "y"}} if all(call.outputs) else {}
    if len(call.outputs) > 1:
        node["output_ports"].update({f"o{k}": {"value": f"y[{k}]"} for k, used in enumerate(call.outputs) if used})
    return {"m": {"format": "ModECI MDF v0.4", "graphs": {"g": {"nodes": {"n": node}}}}}, inputs


def styles_of(call):
    given, variadic = arguments_of(call)
    lists = all(n in AS_LISTS for n in call.names if n is not None)
    if attributes_of(call) is None or any(isinstance(v, list) or np.shape(plain(v)) != np.shape(v) for v in call.values if v is not None):
        return ""  # a sequence, or an empty array whose other sizes a list does not tell
    if any(n == "string" and np.ndim(v) == 0 for v, n in zip(call.values, call.names)):
        return "f"  # a bare text in a file is an expression
    return "f" if variadic or not lists else "pfa" if call.attributes else "pf"


# ------------------------------------------------------------------ answers


def in_child(work):
    """What a function returns in a process of its own; None: it raised, died or took too long."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        try:
            with os.fdopen(write, "wb") as f:
                pickle.dump(work(), f)
        finally:
            os._exit(0)
    os.close(write)
    data = b""
    with os.fdopen(read, "rb", buffering=0) as f:
        while select.select([f], [], [], LIMIT_S)[0] and (some := f.read(1 << 20)):
            data += some
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    try:
        return pickle.loads(data)
    except Exception:
        return None


def as_inputs(inputs):
    """Inputs as that engine gets them: lists have become arrays of float64 or int64."""
    return {k: np.array(v.tolist()) if isinstance(v, np.ndarray) and v.dtype.name in ("float32", "float64", "int64", "bool") else v for k, v in inputs.items()}


def by_upstream(path, inputs, first):
    """{port: value}. `first`: of several outputs the first one is meant by the bare name."""
    from modeci_mdf.execution_engine import EvaluableGraph
    from modeci_mdf.utils import load_mdf

    graph = EvaluableGraph(load_mdf(path).graphs[0], verbose=False)
    graph.evaluate(initializer=as_inputs(inputs) or None)
    return {k: plain(v[0]) if first and isinstance(v, tuple) else plain(v) for k, p in graph.enodes["n"].evaluable_outputs.items() for v in [p.curr_value]}


def by_others(call, ports):
    """The answers of onnx.reference and ONNX Runtime by port: a list of them."""
    found = []
    for results, who in sweep.answers(call):
        if len(results) < sum(call.outputs):
            continue
        left = iter(results)
        values = [plain(next(left)) if used else None for used in call.outputs]
        whole = len(call.outputs) == 1 or len(call.outputs) >= len(call.schema.outputs)  # the bare name has them all
        found.append((who, {p: (values if len(call.outputs) > 1 else values[0]) if p == "o" else values[int(p[1:])] for p in ports if whole or p != "o"}))
    return found


def by_this(mdf_run, path, inputs):
    """({port: value}, None) or (None, message)."""
    argv = [mdf_run, path, "--quiet"]
    if inputs:
        given = {k: plain(v) if np.asarray(v).dtype.name in ("float32", "float64", "int64", "bool") else typed(v) for k, v in inputs.items()}
        with open(path + ".inputs.json", "w") as f:
            json.dump(given, f)
        argv += ["--inputs", path + ".inputs.json"]
    try:
        done = subprocess.run(argv, capture_output=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return None, f"no answer in {LIMIT_S} s"
    if done.returncode != 0:
        return None, done.stderr.decode("utf-8", "replace").replace(path, "").strip()[:300]
    return json.loads(done.stdout)["outputs"]["n"], None


def same(a, b):
    """Values that lists and numbers make; one number is the same as an array of it."""
    if a is None or b is None or isinstance(a, str) or isinstance(b, str):
        return a == b
    try:
        x, y = np.asarray(a), np.asarray(b)
    except ValueError:
        return isinstance(a, list) and isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if x.dtype.kind not in "biuf" or y.dtype.kind not in "biuf":
        return x.shape == y.shape and x.tolist() == y.tolist()
    if x.shape != y.shape and not (x.size == y.size <= 1):
        return False
    return np.allclose(x.ravel().astype(float), y.ravel().astype(float), rtol=RTOL, atol=ATOL, equal_nan=True)


def difference(got, want):
    wrong = [p for p in want if not same(got.get(p), want[p])]
    return f"{wrong[0]}: {json.dumps(got.get(wrong[0]))[:90]}, not {json.dumps(want[wrong[0]])[:90]}" if wrong else None


# ------------------------------------------------------------------ the check


def check(mdf_run, item):
    """(kind, text): ok, others, unknown, refused, differs."""
    number, what, call, style = item
    what = f"{what} [{style}]"
    model, inputs = build(call, style)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model." + ("yaml" if number % 2 else "json"))
        with open(path, "w") as f:
            yaml.safe_dump(model, f, sort_keys=False, default_flow_style=None) if number % 2 else json.dump(model, f)
        upstream = in_child(lambda: by_upstream(path, inputs, len(call.outputs) == 1))
        got, fault = by_this(mdf_run, path, inputs)
    wanted = [("modeci_mdf", upstream)] if upstream is not None else []
    wanted += by_others(call, model["m"]["graphs"]["g"]["nodes"]["n"]["output_ports"]) if not upstream or fault or difference(got, upstream) else []
    known = any(re.search(pattern, what) for pattern, _ in DIFFERENT)
    if fault:
        return ("meant" if known else "refused" if wanted else "unknown"), f"{what}: {fault} ({', '.join(w for w, _ in wanted)} can)"
    wrong = [(who, difference(got, want)) for who, want in wanted]
    if not wrong:
        return "unknown", what
    if wrong[0][1] is None or (upstream is None and None in [w for _, w in wrong]):
        return ("ok" if upstream is not None else "others"), what
    return ("meant" if known else "differs"), f"{what}: " + "; ".join(f"{who}: {w or 'the same'}" for who, w in wrong)


def is_of_opset(schema):
    try:
        return schema.domain == "" and onnx.defs.get_schema(schema.name, OPSET).since_version == schema.since_version
    except onnx.defs.SchemaError:
        return False


def items(args):
    """(number, what, call, style)."""
    if args.random:
        calls = sweep.random_calls(args.random, args.seed, args.only, sweep.FAMILIES[args.family])
        calls = ((w, c) for w, c in calls if is_of_opset(c.schema) and set(c.names) <= AS_LISTS - {"int32"} | {None})
    else:
        calls = seeds(args.only)
    number = 0
    for what, call in calls:
        for style in styles_of(call):
            yield number, what, call, style
            number += 1


def seeds(word):
    for (domain, op), found in sorted(sweep.node_tests().items()):
        if domain or word not in op:
            continue
        try:
            schema = onnx.defs.get_schema(op, OPSET)
        except onnx.defs.SchemaError:
            continue
        for test_schema, node, values, name in found:
            call = sweep.brought_to(schema, test_schema, node, values)
            if call is not None:
                yield f"{op} ({name})", call


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mdf-run", default=os.path.join(ROOT, "build", "mdf-run"))
    parser.add_argument("--only", default="", metavar="WORD", help="only operators whose name holds this")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--random", type=int, default=0, metavar="N", help="N random calls")
    parser.add_argument("--seed", type=int, default=0, help="of the random calls")
    parser.add_argument("--family", choices=sorted(sweep.FAMILIES), default="onnx", help="of the random calls")
    parser.add_argument("--all", action="store_true", help="also name the calls that nobody else could answer")
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    import modeci_mdf.execution_engine  # noqa: F401  before the first fork
    import skl2onnx.algebra.onnx_ops  # noqa: F401

    counts = Counter()
    with ThreadPoolExecutor(args.jobs) as pool:
        for some in sweep.batches(items(args), 64):
            for kind, text in pool.map(lambda item: check(args.mdf_run, item), some):
                counts[kind] += 1
                if kind in ("refused", "differs") or args.all and kind in ("unknown", "meant"):
                    print(f"{kind.upper()} {text}", flush=True)
    print(", ".join(f"{n} {kind}" for kind, n in counts.most_common()))
    return 1 if counts["refused"] or counts["differs"] or not counts else 0


if __name__ == "__main__":
    sys.exit(main())
