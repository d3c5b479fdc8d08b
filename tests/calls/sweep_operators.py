#!/usr/bin/env python3
"""Calls every ONNX operator, in every version, with every element type that the standard allows, and compares the answers.

    pip install onnx numpy ml_dtypes onnxruntime
    make all && python3 tests/calls/sweep_operators.py [--only WORD] [--jobs N] [--all] [--mdf-run FILE]
    python3 tests/calls/sweep_operators.py --random N [--seed S] [--family onnx|edge|ml|nn]

The calls are those of ONNX's own node tests of one operator. Each is brought to the other versions of the operator (an input that was an attribute in
an older version becomes one) and to the other types of each type variable, one variable at a time; types that an attribute selects (to, dtype,
output_dtype) are swept alike. What the answer should be says onnx.reference; where it can not, ONNX Runtime; where neither can, the same call in
float32 (float64, int64), rounded to the type. Printed are calls that are refused, and answers that differ, by name; at the end their numbers, and of the
calls that nobody else could answer, so that at least their success is known. Exit status 1 where a call that the schema allows is refused or crashes.
"""
import argparse
import itertools
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import random_calls as random  # noqa: E402
import random_edge_calls as random_edge  # noqa: E402
import random_ml_calls as random_ml  # noqa: E402
import random_nn_calls as random_nn  # noqa: E402
from run_node_tests import ROOT, draws, run_once, typed  # noqa: E402

warnings.filterwarnings("ignore")
FAMILIES = {"onnx": random.FAMILIES, "edge": random_edge.FAMILIES, "ml": random_ml.FAMILIES, "nn": random_nn.FAMILIES}
MOST_SEEDS = 2  # calls of one operator version that are swept
NUMPY = {
    "bool": np.bool_, "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64, "uint8": np.uint8, "uint16": np.uint16,
    "uint32": np.uint32, "uint64": np.uint64, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float": np.float32, "double": np.float64,
    "complex64": np.complex64, "complex128": np.complex128, "string": object, "int4": ml_dtypes.int4, "uint4": ml_dtypes.uint4,
    "int2": ml_dtypes.int2, "uint2": ml_dtypes.uint2, "float4e2m1": ml_dtypes.float4_e2m1fn, "float8e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz, "float8e5m2": ml_dtypes.float8_e5m2, "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "float8e8m0": ml_dtypes.float8_e8m0fnu,
}  # fmt: skip
WITHOUT_DTYPE = {"float6e2m3", "float6e3m2"}  # no numpy type, and none here
# A result's relative error: a few units in the last place, where sums are rounded at each step by one side and once by the other.
TOLERANCE = {"float16": 5e-3, "bfloat16": 4e-2, "float": 1e-4, "double": 1e-5, "complex64": 1e-4, "complex128": 1e-5, "float8e4m3fn": 0.13,
             "float8e4m3fnuz": 0.13, "float8e5m2": 0.26, "float8e5m2fnuz": 0.26, "float4e2m1": 0.5, "float8e8m0": 1.0}  # fmt: skip
TYPE_ATTRIBUTES = ("to", "dtype", "output_dtype")
ONNX_NUMBER = {"float": "FLOAT", "double": "DOUBLE"}


def onnx_number(name):
    return TensorProto.DataType.Value(ONNX_NUMBER.get(name, name.upper()))


def element(text, value=None):
    """The element type in tensor(T), seq(tensor(T)), optional(...), of the form that `value` has; None: another form, a map, or none that numpy has."""
    match = re.fullmatch(r"(?:optional\()?(seq\()?tensor\((\w+)\)+", text)
    if match is None or match.group(2) in WITHOUT_DTYPE or (value is not None and isinstance(value, list) != bool(match.group(1))):
        return None
    return match.group(2)


def in_type(value, name):
    """A tensor or sequence of the seed in another type, with values that the type has."""
    if isinstance(value, list):
        return [in_type(v, name) for v in value]
    a, target = np.asarray(value), NUMPY[name]
    if a.dtype == target or value is None:
        return value
    if name == "string":
        return a.astype(str).astype(object)
    if a.dtype.kind in "OUS":
        a = np.array([len(str(v)) for v in a.ravel()]).reshape(a.shape)
    if name == "bool":
        return a.astype(np.float64) > 0 if a.dtype.kind != "c" else a.real > 0
    if np.issubdtype(a.dtype, np.complexfloating):
        a = a.real
    if name.startswith("complex"):
        return (a.astype(np.float64) + 0.5j).astype(target)
    reals = a.astype(np.float64)
    if name.startswith(("int", "uint")):
        info = ml_dtypes.iinfo(target)
        fine = a.dtype.kind not in "biu" and np.isfinite(reals).all() and np.abs(reals).max(initial=0) < 3
        whole = np.rint(np.nan_to_num(reals * 3 if fine else reals))
        whole = np.where((whole == 0) & (reals != 0), 1, whole)
        whole = np.abs(whole) if info.min == 0 else whole
        return np.clip(whole, float(info.min), float(min(info.max, 2**53))).astype(target)
    if name == "float8e8m0":
        reals = np.abs(reals) + (reals == 0)
    return reals.astype(np.float32 if name not in ("double",) else np.float64).astype(target)


def value_info(name, formal_types, value, element_name):
    """How a model declares a value: the form that the seed has, of another element type; of a map the types of keys and values."""
    if isinstance(element_name, tuple):
        key, of = (onnx_number(e) for e in element_name)
        return helper.make_value_info(name, helper.make_map_type_proto(key, helper.make_tensor_type_proto(of, [])))
    number = onnx_number(element_name)
    if isinstance(value, list):
        return helper.make_tensor_sequence_value_info(name, number, None)
    return helper.make_tensor_value_info(name, number, np.shape(value) if value is not None else None)


class Call:
    """One call: an operator version, its inputs by formal (None: omitted) with their element types, and attributes."""

    def __init__(self, schema, values, names, attributes, outputs, form):
        self.schema, self.values, self.names, self.attributes = schema, values, names, attributes
        self.outputs, self.form = outputs, form

    def formal(self, i):
        return self.schema.inputs[min(i, len(self.schema.inputs) - 1)]

    def with_type(self, variable, name):
        names = [name if self.formal(i).type_str == variable and n is not None else n for i, n in enumerate(self.names)]
        values = [in_type(v, n) if n is not None else v for v, n in zip(self.values, names)]
        return Call(self.schema, values, names, self.attributes, self.outputs, self.form)

    def with_attribute(self, name, number):
        changed = [a for a in self.attributes if a.name != name] + [helper.make_attribute(name, number)]
        return Call(self.schema, self.values, self.names, changed, self.outputs, self.form)

    def model(self):
        inputs, node_inputs = [], []
        for i, (value, name) in enumerate(zip(self.values, self.names)):
            node_inputs.append(f"i{i}" if name is not None else "")
            if name is not None:
                inputs.append(value_info(f"i{i}", None, value, name))
        outputs = [f"o{i}" if used else "" for i, used in enumerate(self.outputs)]
        node = helper.make_node(self.schema.name, node_inputs, outputs, domain=self.schema.domain)
        node.attribute.extend(self.attributes)
        infos = [onnx.ValueInfoProto(name=o) for o in outputs if o]
        graph = helper.make_graph([node], "sweep", inputs, infos)
        imports = [helper.make_opsetid(self.schema.domain, self.schema.since_version)]
        if self.schema.domain:
            imports.append(helper.make_opsetid("", 15))
        model = helper.make_model(graph, opset_imports=imports, ir_version=10)
        return model

    def given(self):
        return [v for v, n in zip(self.values, self.names) if n is not None]


# ------------------------------------------------------------------ seeds


def element_of(value):
    if isinstance(value, list):
        return element_of(value[0]) if value else "float"
    a = np.asarray(value)
    if a.dtype.kind in "OUS":
        return "string"
    return next((n for n, t in NUMPY.items() if a.dtype == t), None)


def as_attribute(name, array, kind):
    """An input as the attribute that it was in an older version."""
    number = int if kind.startswith("INT") else float
    made = onnx.AttributeProto(name=name, type=onnx.AttributeProto.AttributeType.Value(kind))
    items = [number(v) for v in array.ravel()]
    if kind in ("INT", "FLOAT"):
        setattr(made, "i" if kind == "INT" else "f", items[0])
    elif kind in ("INTS", "FLOATS"):
        getattr(made, kind.lower()).extend(items)
    else:
        raise ValueError(f"attribute {name} is {kind}")
    return made


def brought_to(schema, test_schema, node, values):
    """The seed as a call of another version; None: it has a part that the version has not."""
    formals = [test_schema.inputs[min(i, len(test_schema.inputs) - 1)].name for i in range(len(values))]
    attributes = {a.name: a for a in node.attribute}
    known = [f.name for f in schema.inputs]
    moved, kept = [], []
    for formal, value in zip(formals, values):
        if value is not None and formal not in known and formal in schema.attributes and not isinstance(value, list):
            attributes[formal] = as_attribute(formal, np.asarray(value), schema.attributes[formal].type.name)
            moved.append(formal)
        else:
            kept.append((formal, value))
    variadic = bool(schema.inputs) and schema.inputs[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic
    same = schema.since_version == test_schema.since_version
    if not same and not variadic and [k for k, v in kept if v is not None and k not in known]:
        positions = [i for i, (k, v) in enumerate(kept) if v is not None]
        if moved or positions and positions[-1] >= len(schema.inputs):
            return None
    if not same and not variadic and len(kept) > len(schema.inputs):
        while kept and kept[-1][1] is None:
            kept.pop()
        if len(kept) > len(schema.inputs):
            return None
    if any(name not in schema.attributes for name in attributes):
        return None
    if any(a.required and name not in attributes for name, a in schema.attributes.items()):
        return None
    values = [v for _, v in kept]
    if len(values) < schema.min_input or len(node.output) > schema.max_output:
        return None
    names = []
    for i, value in enumerate(values):
        formal = schema.inputs[min(i, len(schema.inputs) - 1)]
        allowed = [element(t, value) for t in sorted(formal.types)]
        name = element_of(value) if value is not None else None
        if value is not None and name not in allowed:
            name = next((n for n in ("float", "int64", *NUMPY) if n in allowed), None)
            if name is None:
                return None
        names.append(name)
    call = Call(schema, values, names, list(attributes.values()), [bool(o) for o in node.output], None)
    call.values = [in_type(v, n) if n is not None else v for v, n in zip(call.values, call.names)]
    return call


def node_tests():
    """(schema, node, values by position) of the node tests of one node."""
    from onnx.backend.test.case.node import collect_testcases

    found = {}
    for test in collect_testcases(None):
        graph = test.model.graph
        if len(graph.node) != 1 or graph.initializer or any(a.HasField("g") for a in graph.node[0].attribute):
            continue
        node, domain = graph.node[0], graph.node[0].domain
        version = next((o.version for o in test.model.opset_import if o.domain == domain or not domain and o.domain == "ai.onnx"), None)
        if version is None or not test.data_sets or draws(test.model):
            continue
        given = [numpy_helper.to_array(v) if isinstance(v, TensorProto) else v for v in test.data_sets[0][0]]
        by_name = dict(zip([i.name for i in graph.input], given))
        values = [by_name.get(n) if n else None for n in node.input]
        if any(n and by_name.get(n) is None for n in node.input) or any(isinstance(v, dict) or hasattr(v, "SerializeToString") for v in values):
            continue
        if sum(np.size(v) for v in values if v is not None and not isinstance(v, list)) > 20000:
            continue
        schema = onnx.defs.get_schema(node.op_type, version, domain)
        found.setdefault((domain, node.op_type), []).append((schema, node, values, test.name))
    return found


def all_calls(word):
    """(what, Call) for every version, seed, variable and type."""
    seeds = node_tests()
    missing = []
    if word in "Cast":
        yield from conversions()
    for schema in onnx.defs.get_all_schemas_with_history():
        if word and word not in schema.name:
            continue
        n = 0
        for test_schema, node, values, name in sorted(seeds.get((schema.domain, schema.name), []), key=lambda s: -s[0].since_version):
            call = brought_to(schema, test_schema, node, values)
            if call is None or n >= MOST_SEEDS or schema.deprecated:
                continue
            n += 1
            yield from variants(schema, call, name)
        if n == 0 and not schema.deprecated:
            missing.append(f"{schema.domain or 'onnx'}::{schema.name} {schema.since_version}")
    print(f"no node test to start from: {', '.join(missing)}", file=sys.stderr)


def variants(schema, call, name):
    label = f"{schema.domain or 'onnx'}::{schema.name} {schema.since_version}"
    yield f"{label} as is ({name})", call
    used = {call.formal(i).type_str: [element(t, call.values[i]) for t in sorted(call.formal(i).types)] for i, n in enumerate(call.names)
            if n is not None}
    for variable, allowed in used.items():
        for e in dict.fromkeys(x for x in allowed if x):
            if any(call.formal(i).type_str == variable and n not in (None, e) for i, n in enumerate(call.names)):
                yield f"{label} {variable}={e} ({name})", call.with_type(variable, e)
    for attribute in TYPE_ATTRIBUTES:
        if attribute in schema.attributes and schema.outputs and schema.attributes[attribute].type.name == "INT":
            for e in sorted(x for x in {element(t) for t in schema.outputs[0].types} if x):
                yield f"{label} {attribute}={e} ({name})", call.with_attribute(attribute, onnx_number(e))


# Numbers at which a conversion can go wrong: halves, ends of ranges of narrow types and what rounds past them, the smallest, none.
CORNERS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.5, 0.1, 0.24, 0.25, 0.26, 0.75, 1.25, 1.75, 4.9, 5.0, 5.1, 6.0, 7.0, 7.5, 8.0, -8.0, -8.5, 15.5, 127.0,
           127.5, 128.0, -128.0, -129.0, 240.0, 248.0, 249.0, 255.0, 256.0, 447.0, 448.0, 463.0, 464.0, 465.0, 480.0, 32767.0, 32768.0, 57344.0, 61439.0, 61440.0,
           65504.0, 65519.0, 65520.0, 65535.0, 65536.0, 1e5, -1e5, 16777217.0, 2147483647.0, 2147483648.0, 1e15, 1e20, 3.4e38, 1e39, 2.0**-127, 2.0**-16,
           2.0**-17, 2.0**-18, 2.0**-24, 2.0**-25, 1.5 * 2.0**-25, 2.0**-133, 2.0**-134, 1e-45, 7e-46, float("inf"), float("-inf"), float("nan")]  # fmt: skip


def corners_in(name):
    """The corners as far as a type has them."""
    target = NUMPY[name]
    reals = np.array(CORNERS)
    if name == "bool":
        return np.array([False, True])
    if name.startswith(("int", "uint")):
        info = ml_dtypes.iinfo(target)
        low, high = float(info.min), float(info.max)
        whole = np.unique(np.rint(reals[np.isfinite(reals)]))
        return np.append(whole[(whole >= low) & (whole < high)].astype(target), np.array([info.min, info.max], dtype=target))
    if name == "float8e8m0":
        reals = np.abs(reals[np.isfinite(reals) & (reals != 0)])
    return reals.astype(np.float32).astype(target) if name != "double" else reals


def keep_defined(values, target):
    """What a conversion to whole numbers is defined for: numbers within their range."""
    if not target.startswith(("int", "uint")):
        return values
    info, reals = ml_dtypes.iinfo(NUMPY[target]), values.astype(np.float64)
    whole = np.trunc(reals)
    return values[np.isfinite(reals) & (whole >= float(info.min)) & (whole <= float(info.max)) & (np.abs(whole) < 2.0**63)]


def conversions():
    """Cast between all pairs of types, at the corners."""
    schema = onnx.defs.get_schema("Cast")
    types = sorted({element(t) for t in schema.inputs[0].types} - {None, "string"})
    for source in types:
        for target in types:
            values = keep_defined(corners_in(source), target)
            narrow = target.startswith("float8") and target != "float8e8m0"
            for saturate in (1, 0) if narrow else (1,):
                attributes = [helper.make_attribute("to", onnx_number(target))]
                attributes += [helper.make_attribute("saturate", 0)] if not saturate else []
                call = Call(schema, [values], [source], attributes, [True], None)
                yield f"corners of Cast from {source} to {target}{'' if saturate else ', not saturating'}", call


def random_calls(n, seed, word, families=random.FAMILIES):
    """`n` calls of operators, in their newest versions where the family does not say which; see random_calls.py."""
    known = set(NUMPY) - {"string", "complex64", "complex128", "float8e8m0"}

    def allowed(op):
        schema = onnx.defs.get_schema(op)
        formal = schema.inputs[1 if op == "Where" else 2 if op == "OneHot" else 0]
        names = {element(t) for t in formal.types} & known & set(random.REALS + random.WHOLE + ["bool"])
        return sorted(names)

    source = random.Source(seed, NUMPY)
    while n > 0:
        op, values, attributes, *more = source.pick(families)(source, allowed)
        if word not in op:
            continue
        n -= 1
        more = more[0] if more else {}
        schema = onnx.defs.get_schema(op, more.get("version", 1000), more.get("domain", ""))
        outputs = [True] * more.get("outputs", 3 if op == "Split" else 2 if op == "TopK" else 1)
        made = [as_made(k, v) for k, v in attributes.items()]
        names = [more.get("map") or element_of(v) if v is not None else None for v in values]
        shapes = " ".join(f"{n}{list(np.shape(v))}" for v, n in zip(values, names))
        yield f"random {op} {schema.since_version} {shapes} {attributes}"[:400], Call(schema, values, names, made, outputs, None)


def as_made(name, value):
    """An attribute; an array is a tensor."""
    return helper.make_attribute(name, numpy_helper.from_array(value, name) if isinstance(value, np.ndarray) else value)


# ------------------------------------------------------------------ answers


def by_reference(model, feeds):
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(model).run(None, feeds)


def by_runtime(model, feeds):
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def inferred(model):
    """The model with the types of its outputs, which ONNX Runtime asks for."""
    return onnx.shape_inference.infer_shapes(model)


def answers(call):
    """(results, who) or (None, None)."""
    model = call.model()
    feeds = {f"i{i}": v for i, (v, n) in enumerate(zip(call.values, call.names)) if n is not None}
    found = []
    for who, ask in (("onnx.reference", by_reference), ("ONNX Runtime", by_runtime)):
        try:
            with np.errstate(all="ignore"):
                found.append((ask(inferred(model) if who == "ONNX Runtime" else model, feeds), who))
        except Exception:  # no answer from there
            continue
    return found


def close(got, want, exactly=False):
    """None, or how the typed results differ."""
    if got is None or want is None:
        return None if got is want else "nothing"
    if "sequence" in want or "sequence" in got:
        a, b = got.get("sequence", []), want.get("sequence", [])
        return f"{len(a)} items, not {len(b)}" if len(a) != len(b) else next((d for d in map(close, a, b) if d), None)
    if "type" not in want:  # a map, which is an object here
        return f"keys {list(got)}, not {list(want)}" if set(got) != set(want) else next((d for d in (close(got[k], want[k]) for k in want) if d), None)
    if got["shape"] != want["shape"]:
        return f"shape {got['shape']}, not {want['shape']}"
    if "string" in (want["type"], got["type"]) or got["type"] == want["type"] == "bool":
        return None if got["data"] == want["data"] else f"{got['data'][:6]}, not {want['data'][:6]}"
    name = next(n for n, t in NUMPY.items() if np.dtype(t).name == got["type"] or got["type"] == n)
    rtol = 0 if exactly else TOLERANCE.get(name, 0)
    a, b = np.array(got["data"], np.float64), np.array(want["data"], np.float64)
    if name in TOLERANCE and name not in ("double", "complex128"):  # texts have the digits that name a float32
        a, b = a.astype(np.float32).astype(np.float64), b.astype(np.float32).astype(np.float64)
    atol = rtol * max(np.abs(b[np.isfinite(b)]).max(initial=0), 1e-3) if rtol else 0
    if np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True):
        return None
    at = np.flatnonzero(~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True))[0]
    return f"{name}: {a.ravel()[at]}, not {b.ravel()[at]} (at {at})"


def types_of_results(call):
    """The types that the schema says the results have, where it does: numpy's names, or None."""
    bound = {call.formal(i).type_str: n for i, n in enumerate(call.names) if n is not None}
    names = []
    for i, used in enumerate(call.outputs):
        formal = call.schema.outputs[min(i, len(call.schema.outputs) - 1)]
        only = {element(t) for t in formal.types}
        name = bound.get(formal.type_str) or (only.pop() if len(only) == 1 else None)
        if used:
            names.append("string" if name == "string" else np.dtype(NUMPY[name]).name if name else None)
    return names


def wrong_type(result, name):
    """What is wrong with a result's type; None: nothing."""
    if result is None or name is None:
        return None
    if "sequence" in result:
        return next((d for d in (wrong_type(item, name) for item in result["sequence"]) if d), None)
    return f"type {result['type']}, not {name}" if result.get("type") not in (None, name) else None


# Calls that the schema allows and that can not be, each with its reason.
IMPOSSIBLE = [
    (r"LabelEncoder \d+ T1=", "the keys, which are attributes, are of another type"),
    (r"ScatterND|ScatterElements \d+ T=(string|bool)", "strings and truths can not be added"),
    (r"TfIdfVectorizer \d+ T=string", "the pool, an attribute, is of another type"),
    (r"SequenceInsert \d+ [ST]=", "the sequence and what is put into it share a type that the schema gives two names"),
    (r"Resize 11 ", "the node test omits roi, which version 11 demands"),
    (r"PRelu [16] ", "version 7 brought the broadcasting of the node test"),
    (r"QuantizeLinear \d+ output_dtype=", "the zero point has another type"),
    (r"BitCast", "the types have other sizes"),
    (r"(GridSample|Resize|Col2Im) \d+ T1?=(string|bool)", "strings and truths can not be interpolated or added"),
]


def check(mdf_run, what, call):
    """(kind, text): ok, unknown, refused, differs."""
    try:
        model = call.model()
        found = answers(call)
    except Exception as why:
        return "unmade", f"{what}: {type(why).__name__}: {str(why)[:100]}"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        with open(path, "wb") as f:
            f.write(model.SerializeToString())
        results, fault = run_once([mdf_run], path, model.graph, call.given())
    if fault and "exit status 1:" in fault and any(re.search(pattern, what) for pattern, _ in IMPOSSIBLE):
        return "impossible", what
    if fault:
        return "refused", f"{what}: {fault}{'' if found else ' (by the others too)'}"
    names = [o.name for o in model.graph.output]
    worst = [d for n, t in zip(names, types_of_results(call)) for d in [wrong_type(results.get(n), t)] if d]
    if worst:
        return "wrong type", f"{what}: {worst[0]}"
    if not found:
        return "unknown", what
    for wanted, who in found:
        wrong = [f"{n}: {d}" for n, w in zip(names, wanted) for d in [close(results.get(n), typed(w), what.startswith("corners"))] if d]
        if not wrong:
            return "ok", who
        worst.append(f"{who}: {wrong[0]}")
    return "differs", f"{what}: {'; '.join(worst)}"


def batches(items, size):
    items = iter(items)
    while some := list(itertools.islice(items, size)):
        yield some


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mdf-run", default=os.path.join(ROOT, "build", "mdf-run"))
    parser.add_argument("--only", default="", metavar="WORD", help="only operators whose name holds this")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--all", action="store_true", help="also name the calls that nobody else could answer")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="N random calls instead of the sweep")
    parser.add_argument("--seed", type=int, default=0, help="of the random calls")
    parser.add_argument("--family", choices=sorted(FAMILIES), default="onnx", help="of the random calls: which operators")
    args = parser.parse_args()
    counts = Counter()

    def one(item):
        return check(args.mdf_run, *item)

    with ThreadPoolExecutor(args.jobs) as pool:
        calls = random_calls(args.random, args.seed, args.only, FAMILIES[args.family]) if args.random else all_calls(args.only)
        for some in batches(calls, 64):
            for kind, text in pool.map(one, some):
                counts[kind] += 1
                if kind not in ("ok", "unknown", "impossible") or args.all and kind == "unknown":
                    print(f"{kind.upper()} {text}", flush=True)
    print(", ".join(f"{n} {kind}" for kind, n in counts.most_common()))
    return 1 if counts["refused"] or counts["wrong type"] or not counts else 0


if __name__ == "__main__":
    sys.exit(main())
