#!/usr/bin/env python3
"""Calls every ONNX operator with sizes, counts and places that nobody can mean, and sees that each call ends: with a result or one clear error.

    pip install onnx numpy ml_dtypes
    make all && python3 tests/calls/hostile_calls.py [--only WORD] [--jobs N] [--memory BYTES] [--mdf-run FILE] [--random N | --edges N [--seed S]]

The calls are ONNX's node tests of one operator and its versions (tests/calls/sweep_operators.py). In each, one number of an attribute (given or not) or of a small
input is replaced by the ends of its type, powers of two that overflow when multiplied, 0, -1, infinities and NaN; then all numbers of it are; with
--random, two or three of them in calls that are drawn from all node tests; with --edges, operators are called with inputs of random types and
shapes, whose elements are the ends of their type, and with attributes out of all that there are. Each runs in a process that may have 1 GB
(--memory 0, for builds with a sanitizer: mdf-run bounds itself) and 20 seconds. Printed are those that crash, hang, or end in an error without position.
"""
import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from onnx import helper

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sweep_operators as sweep  # noqa: E402
from run_node_tests import ROOT, typed  # noqa: E402

LIMIT_S = 20
OWN_BOUND = 1 << 29  # bytes
HOSTILE = [-(2**63), -(2**31), -1, 0, 2**31 - 1, 2**31, 3037000500, 2**40, 2**62, 2**63 - 1]
HOSTILE_REALS = [float("nan"), float("inf"), float("-inf"), 1e308, -1e308, 0.0, -1.0, 1e-308]
MOST_ELEMENTS = 8  # an input of more is data, not sizes


def replaced(values, hostile):
    """Lists in which the first, the last or all numbers are hostile."""
    n = len(values)
    for number in hostile:
        for places in {(0,), (n - 1,), tuple(range(n))} if n else ():
            yield [number if i in places else v for i, v in enumerate(values)], number, places


def with_attribute(call, name, value):
    others = [a for a in call.attributes if a.name != name]
    return sweep.Call(call.schema, call.values, call.names, [*others, helper.make_attribute(name, value)], call.outputs, None)


def with_attributes(call):
    """Each attribute that holds numbers; one that the call leaves out is a list of one, or as long as the longest list that the call has."""
    given = {a.name: helper.get_attribute_value(a) for a in call.attributes}
    longest = max([1, *(len(v) for v in given.values() if isinstance(v, list))])
    for name, attribute in call.schema.attributes.items():
        kind = attribute.type.name
        if kind not in ("INT", "INTS", "FLOAT", "FLOATS"):
            continue
        hostile, filler = (HOSTILE, 1) if kind.startswith("INT") else (HOSTILE_REALS, 1.0)
        whole = kind in ("INT", "FLOAT")
        starts = [given[name]] if name in given else [filler] if whole else [[filler] * n for n in {1, longest}]
        for start in starts:
            for new, number, places in replaced([start] if whole else list(start), hostile):
                yield f"{name}{list(places)}={number}", with_attribute(call, name, new[0] if whole else new)


def with_inputs(call):
    for i, (value, name) in enumerate(zip(call.values, call.names)):
        if name not in ("int32", "int64", "float", "double") or isinstance(value, list) or not 0 < np.size(value) <= MOST_ELEMENTS:
            continue
        is_real = name in ("float", "double")
        for new, number, places in replaced(np.asarray(value).ravel().tolist(), HOSTILE_REALS if is_real else HOSTILE):
            if is_real:
                with np.errstate(over="ignore"):
                    array = np.array(new).astype(sweep.NUMPY[name]).reshape(np.shape(value))
            else:
                info = np.iinfo(name)
                array = np.clip(np.array(new, object), info.min, info.max).astype(name).reshape(np.shape(value))
            values = [array if j == i else v for j, v in enumerate(call.values)]
            yield f"input {i}{list(places)}={number}", sweep.Call(call.schema, values, call.names, call.attributes, call.outputs, None)


def calls(word):
    seeds = sweep.node_tests()
    for schema in sweep.onnx.defs.get_all_schemas_with_history():
        n = 0
        for test_schema, node, values, name in sorted(seeds.get((schema.domain, schema.name), []), key=lambda s: -s[0].since_version):
            call = sweep.brought_to(schema, test_schema, node, values) if word in schema.name and n < 1 and not schema.deprecated else None
            found = [] if call is None else [*with_attributes(call), *with_inputs(call)]
            n += bool(found)  # some have no whole numbers
            for what, changed in found:
                yield f"{schema.domain or 'onnx'}::{schema.name} {schema.since_version} ({name}) {what}", changed


def random_calls(word, n, seed):
    """Calls with two or three changes at once."""
    draw, seeds = random.Random(seed), node_test_seeds(word)
    while seeds and n > 0:
        schema, call, name = draw.choice(seeds)
        whats = []
        for _ in range(draw.choice((2, 2, 3))):
            changes = [*with_attributes(call), *with_inputs(call)]
            what, call = draw.choice(changes) if changes else ("", call)
            whats.append(what)
        n -= 1
        yield f"{schema.domain or 'onnx'}::{schema.name} {schema.since_version} ({name}) {', '.join(whats)}", call


def node_test_seeds(word):
    """(schema, call, name) of all node tests in all versions that take them."""
    found, seeds = [], sweep.node_tests()
    for schema in sweep.onnx.defs.get_all_schemas_with_history():
        for test_schema, node, values, name in seeds.get((schema.domain, schema.name), []) if word in schema.name and not schema.deprecated else []:
            call = sweep.brought_to(schema, test_schema, node, values)
            found += [(schema, call, name)] if call is not None else []
    return found


# ------------------------------------------------------------------ inputs of edge values

EDGE_TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "bool"]
EDGE_SHAPES = [(12,), (3, 4), (1,), (), (2, 3, 2), (1, 1, 3, 4), (1, 2, 2, 3), (0,), (2, 0), (2,), (4,)]
EDGE_TEXTS = ["NOTSET", "SAME_UPPER", "VALID", "linear", "cubic", "nearest", "constant", "reflect", "edge", "wrap", "add", "mul", "max", "min", "bilinear",
              "zeros", "border", "avg", "DCR", "CRD", "ij,jk->ik", "x", "forward", "reverse", "bidirectional", "none", "mean", "sum", "MAX", "L1", "L2"]


class EdgeCall:
    """One operator on constants; what sweep.Call is to run()."""

    def __init__(self, schema, values, attributes):
        self.schema, self.values, self.attributes = schema, values, attributes

    def given(self):
        return []

    def model(self):
        outputs = [f"o{i}" for i in range(max(1, len(self.schema.outputs)))]
        names = ["" if value is None else f"i{i}" for i, value in enumerate(self.values)]
        node = helper.make_node(self.schema.name, names, outputs, domain=self.schema.domain, **self.attributes)
        constants = [sweep.onnx.numpy_helper.from_array(value, name) for name, value in zip(names, self.values) if name]
        graph = helper.make_graph([node], "g", [], [helper.make_empty_tensor_value_info("o0")], constants)
        imports = [helper.make_opsetid(self.schema.domain, self.schema.since_version)]
        return helper.make_model(graph, opset_imports=imports + ([helper.make_opsetid("", 17)] if self.schema.domain else []), ir_version=8)


def edge_array(draw, dtype):
    shape = draw.choice(EDGE_SHAPES)
    if dtype == "bool":
        edges = [True, False]
    elif "int" in dtype:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        edges = [low, high, 0, 1, 2, high // 2, high - 1, 5, 7, low + 1, 3]
    else:
        info = np.finfo(dtype)
        edges = [0.0, -0.0, 1, -1.5, info.max, -info.max, info.tiny, info.smallest_subnormal, np.inf, -np.inf, np.nan, info.eps]
    n = int(np.prod(shape))
    values = np.resize(np.array(edges, dtype), n) if draw.random() < 0.6 else np.array([draw.choice([0, 1, 2, 3, -1, -2]) for _ in range(n)]).astype(dtype)
    return values.reshape(shape)


def edge_attribute(draw, kind):
    whole = [0, 1, 2, -1, -2, 3, 7, 2**31 - 1, -2**31, 2**62, -2**63, 2**63 - 1, 9, 10, 11, 6]
    real = [0.0, 1.0, -1.0, 1e38, float("nan"), float("inf"), 1e-40]
    makers = {"INT": lambda: draw.choice(whole), "FLOAT": lambda: draw.choice(real), "STRING": lambda: draw.choice(EDGE_TEXTS),
              "INTS": lambda: [draw.choice([0, 1, 2, -1, 3, 2**62, 2**31]) if draw.random() < 0.3 else 1 for _ in range(draw.choice([1, 2, 4]))],
              "FLOATS": lambda: [draw.choice([0.0, 1.0, -1.0, float("nan")]) for _ in range(3)],
              "STRINGS": lambda: [draw.choice(EDGE_TEXTS) for _ in range(2)]}
    return makers[kind]() if kind in makers else None


def edge_call(draw, schema):
    values, dtype = [], draw.choice(EDGE_TYPES)
    for formal in schema.inputs:
        if formal.option.name == "Optional" and draw.random() < 0.5:
            values.append(None)
            continue
        for _ in range(draw.choice([1, 2, 3]) if formal.option.name == "Variadic" else 1):
            of_formal = dtype if draw.random() < 0.75 else draw.choice(["int64", "float32", dtype])
            values.append(edge_array(draw, "int64" if formal.type_str == "tensor(int64)" else of_formal))
    attributes = {}
    for name, attribute in schema.attributes.items():
        value = edge_attribute(draw, attribute.type.name)
        if value is not None and (attribute.required or draw.random() < 0.5):
            attributes[name] = value
    return EdgeCall(schema, values, attributes)


def edge_calls(word, n, seed):
    """Calls of operators without bodies on edge values, as many of each."""
    draw = random.Random(seed)
    schemas = [s for s in sweep.onnx.defs.get_all_schemas_with_history() if word in s.name and not s.deprecated
               and not any(a.type.name in ("GRAPH", "GRAPHS") for a in s.attributes.values())]
    for i in range(n if schemas else 0):
        schema = schemas[i % len(schemas)]
        with np.errstate(all="ignore"):
            call = edge_call(draw, schema)
        inputs = ", ".join("-" if v is None else f"{v.dtype}{list(v.shape)}" for v in call.values)
        yield f"{schema.domain or 'onnx'}::{schema.name} {schema.since_version} edges {i}: {inputs} {call.attributes}", call


def run(mdf_run, memory, item):
    """(kind, text): result, error, or what is wrong."""
    what, call = item
    with tempfile.TemporaryDirectory() as folder:
        path, model = os.path.join(folder, "model.onnx"), call.model()
        with open(path, "wb") as f:
            f.write(model.SerializeToString())
        with open(path + ".json", "w") as f:
            json.dump({info.name: typed(value) for info, value in zip(model.graph.input, call.given())}, f)
        limit = (lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory))) if memory else None
        argv = [mdf_run, path, "--inputs", path + ".json", "--quiet", "-o", os.devnull, "--max-iterations", "1000"]
        argv += [] if memory else ["--max-memory", str(OWN_BOUND)]
        start = time.perf_counter()
        try:
            done = subprocess.run(argv, capture_output=True, timeout=LIMIT_S, preexec_fn=limit)
        except subprocess.TimeoutExpired:
            return "hangs", what
    message = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode not in (0, 1) or "Sanitizer:" in message.replace("WARNING: AddressSanitizer failed to allocate", "") or "runtime error" in message:
        return "crashes", f"{what}: {done.returncode}, {message[-300:]}"
    if done.returncode == 1 and "error: " not in message:
        return "unclear", f"{what}: {message[-300:]}"
    return ("result" if done.returncode == 0 else "error"), f"{what} ({time.perf_counter() - start:.1f} s): {message}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mdf-run", default=os.path.join(ROOT, "build", "mdf-run"))
    parser.add_argument("--only", default="", metavar="WORD", help="only operators whose name holds this")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--memory", type=int, default=1 << 30, metavar="BYTES", help="address space of a call; 0: as much as mdf-run --max-memory gives")
    parser.add_argument("--all", action="store_true", help="print all calls with their messages")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="N random calls")
    parser.add_argument("--seed", type=int, default=0, help="of the random calls")
    parser.add_argument("--edges", type=int, default=0, metavar="N", help="N random calls with inputs of edge values")
    args = parser.parse_args()
    items = (edge_calls(args.only, args.edges, args.seed) if args.edges else
             random_calls(args.only, args.random, args.seed) if args.random else calls(args.only))
    counts = Counter()
    with ThreadPoolExecutor(args.jobs) as pool:
        for some in sweep.batches(items, 256):
            for kind, text in pool.map(lambda item: run(args.mdf_run, args.memory, item), some):
                counts[kind] += 1
                if args.all or kind not in ("result", "error"):
                    print(f"{kind.upper()} {text}", flush=True)
    print(", ".join(f"{n} {kind}" for kind, n in counts.most_common()))
    return 0 if counts and not set(counts) - {"result", "error"} else 1


if __name__ == "__main__":
    sys.exit(main())
