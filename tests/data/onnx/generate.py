#!/usr/bin/env python3
"""Writes the ONNX files that tests/documents/test_onnx_reader.c reads, each with what it must give: NAME.onnx and NAME.json

    {"runs": [{"inputs": {name: value}, "results": {name: value}}, ...]}     values in mdf-run's typed form
    {"runs": [{"inputs": {name: value}, "error": "words of the message"}]}   what only the run can show
    {"error": "words of the message"}                                        what loading or compiling shows

Needs the packages onnx, numpy and ml_dtypes. What is expected is written out here or computed with numpy, never by mdf_c. The
folder external/ holds data of tensors that lie in files of their own, and links inside it and out of it (to outside/).
"""
import json
import os

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

FOLDER = os.path.dirname(os.path.abspath(__file__))
X = np.arange(3, dtype=np.float32)


# ------------------------------------------------------------------ writing

def typed(value):
    if value is None:
        return None
    if isinstance(value, list):
        return {"sequence": [typed(item) for item in value]}
    if isinstance(value, dict):
        return value
    array = np.asarray(value)
    if array.dtype.kind in "OUS":
        return {"type": "string", "shape": list(array.shape), "data": [str(item) for item in array.ravel()]}
    if array.dtype.kind == "c":
        data = [[part.real, part.imag] for part in array.ravel().tolist()]
    elif array.dtype.kind in "biuf":
        data = array.ravel().tolist()
    else:
        data = array.astype(np.float32).ravel().tolist()
    return {"type": str(array.dtype), "shape": list(array.shape), "data": data}


def write(name, model, expected):
    content = model if isinstance(model, bytes) else model.SerializeToString(deterministic=True)
    with open(os.path.join(FOLDER, name + ".onnx"), "wb") as file:
        file.write(content)
    with open(os.path.join(FOLDER, name + ".json"), "w") as file:
        json.dump(expected, file)
        file.write("\n")


def runs(name, model, *pairs):
    """Pairs of inputs and results, or the words of an error."""
    def form(inputs, outcome):
        ending = {"error": outcome} if isinstance(outcome, str) else {"results": {k: typed(v) for k, v in outcome.items()}}
        return {"inputs": {k: typed(v) for k, v in inputs.items()}, **ending}

    write(name, model, {"runs": [form(*pair) for pair in pairs]})


def refused(name, model, words):
    write(name, model, {"error": words})


def value(name, dtype=T.FLOAT, shape=None):
    return h.make_tensor_value_info(name, dtype, shape)


def node(operator, inputs, outputs, **attributes):
    return h.make_node(operator, inputs, outputs, **attributes)


def graph(nodes, inputs, outputs, constants=(), name="g", sparse=()):
    return h.make_graph(nodes, name, inputs, outputs, list(constants), sparse_initializer=list(sparse))


def model(nodes, inputs, outputs, constants=(), opset=17, ir=9, functions=(), imports=None, sparse=()):
    made = h.make_model(graph(nodes, inputs, outputs, constants, sparse=sparse), functions=list(functions),
                        opset_imports=imports or [h.make_opsetid("", opset)], producer_name="mdf_c tests")
    made.ir_version = ir
    return made


def identity(constants=(), **others):
    return model([node("Identity", ["c"], ["y"])], [], [value("y")], constants, **others)


# ------------------------------------------------------------------ tensors

NAMES = {"FLOAT": np.float32, "DOUBLE": np.float64, "INT8": np.int8, "INT16": np.int16, "INT32": np.int32, "INT64": np.int64,
         "UINT8": np.uint8, "UINT16": np.uint16, "UINT32": np.uint32, "UINT64": np.uint64, "BOOL": np.bool_,
         "FLOAT16": np.float16, "BFLOAT16": ml_dtypes.bfloat16, "COMPLEX64": np.complex64, "COMPLEX128": np.complex128,
         "FLOAT8E4M3FN": ml_dtypes.float8_e4m3fn, "FLOAT8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz, "FLOAT8E5M2": ml_dtypes.float8_e5m2,
         "FLOAT8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz, "FLOAT8E8M0": ml_dtypes.float8_e8m0fnu,
         "FLOAT4E2M1": ml_dtypes.float4_e2m1fn, "INT4": ml_dtypes.int4, "UINT4": ml_dtypes.uint4, "INT2": ml_dtypes.int2,
         "UINT2": ml_dtypes.uint2}
NARROW = {"INT4": (-8, 8), "UINT4": (0, 16), "INT2": (-2, 2), "UINT2": (0, 4)}
PACKED = [*NARROW, "FLOAT4E2M1"]


def some_array(random, name, shape):
    dtype, n = NAMES[name], int(np.prod(shape))
    if name == "BOOL":
        array = random.integers(0, 2, n).astype(bool)
    elif name in NARROW:
        array = random.integers(*NARROW[name], n).astype(np.int8).astype(dtype)
    elif name == "FLOAT8E8M0":
        array = np.exp2(random.integers(-3, 4, n)).astype(dtype)
    elif np.dtype(dtype).kind == "c":
        array = (random.normal(size=n) + 1j * random.normal(size=n)).astype(dtype)
    elif np.dtype(dtype).kind in "iu":
        array = random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, n, dtype=dtype, endpoint=True)
    else:
        array = random.normal(size=n).astype(np.float32).astype(dtype)
    return array.reshape(shape)


def some_tensor(name, array, raw):
    code, n = getattr(T, name), array.size
    if raw:
        content = nh.from_array(array).raw_data if name in PACKED else array.tobytes()
        return h.make_tensor("c", code, array.shape, content, raw=True)
    is_small_float = np.dtype(NAMES[name]).kind == "V" or name == "FLOAT16"
    return h.make_tensor("c", code, array.shape, (array.astype(np.float32) if is_small_float else array).ravel()[:n])


def all_types(raw, shapes, as_constants):
    random, nodes, tensors, results = np.random.default_rng(7), [], [], {}
    for name in NAMES:
        for i, shape in enumerate(shapes):
            array = some_array(random, name, shape)
            tensor = some_tensor(name, array, raw)
            tensor.name = f"{name}_{i}"
            if as_constants:
                nodes.append(node("Constant", [], [tensor.name], value=tensor))
            else:
                tensors.append(tensor)
            nodes.append(node("Identity", [tensor.name], ["y_" + tensor.name]))
            results["y_" + tensor.name] = array
    return model(nodes, [], [value(name) for name in results], tensors, opset=25, ir=12), ({}, results)


def tensors():
    for raw in (True, False):
        for as_constants in (True, False):
            name = f"types_{'raw' if raw else 'typed'}_{'constants' if as_constants else 'initializers'}"
            runs(name, *all_types(raw, [(), (2, 3), (0, 3), (1, 1, 1, 1, 1, 5)], as_constants))
    odd = np.array([np.nan, np.inf, -np.inf, 0.1, -0.0, 1e-45, 3.4e38], np.float32)
    runs("types_odd_reals", identity([nh.from_array(odd, "c")]), ({}, {"y": odd}))
    deep = np.arange(6, dtype=np.float32).reshape([1] * 20 + [2, 3])
    runs("types_high_rank", identity([nh.from_array(deep, "c")]), ({}, {"y": deep}))
    text = np.array([["a", "b\n"], ["", "ä [x]"]], dtype=object)
    runs("strings", identity([h.make_tensor("c", T.STRING, (2, 2), [s.encode() for s in text.ravel()])]), ({}, {"y": text}))
    runs("string_scalar", identity([h.make_tensor("c", T.STRING, (), [b"c"])]), ({}, {"y": np.array("c", dtype=object)}))
    refused("strings_not_utf8", identity([h.make_tensor("c", T.STRING, (), [b"\xff"])]), "UTF-8")
    given = {"value_float": (0.1, np.float32(0.1)), "value_floats": ([0.1, 2.0], np.array([0.1, 2], np.float32)),
             "value_int": (-3, np.int64(-3)), "value_ints": ([1, 2**62], np.array([1, 2**62])),
             "value_string": ("hé", np.array("hé", dtype=object)), "value_strings": (["a", "b"], np.array(["a", "b"], dtype=object))}
    runs("constant_forms", model([node("Constant", [], [name], **{name: v[0]}) for name, v in given.items()], [],
                                 [value(name) for name in given]), ({}, {name: v[1] for name, v in given.items()}))

    def changed(**fields):
        tensor = nh.from_array(X, "c")
        dims = fields.pop("dims", None)
        for key, content in fields.items():
            setattr(tensor, key, content)
        if dims is not None:
            del tensor.dims[:]
            tensor.dims.extend(dims)
        return identity([tensor])

    refused("tensor_too_small", changed(dims=[4]), "12 bytes of data, where 16 are needed")
    refused("tensor_negative_size", changed(dims=[-3]), "negative size")
    refused("tensor_huge", changed(dims=[2**40, 2**40]), "more elements than memory")
    refused("tensor_unknown_type", changed(data_type=27), "number 27")
    refused("tensor_typed_too_small", identity([T(name="c", dims=[3], data_type=T.FLOAT, float_data=[1, 2])]), "2 numbers, where 3 are needed")
    refused("tensor_segment", identity([T(name="c", dims=[3], data_type=T.FLOAT, segment=T.Segment(begin=0), raw_data=X.tobytes())]), "segment")


def sparse():
    values, dense = nh.from_array(np.array([1.5, 2.5], np.float32), "c"), np.zeros((2, 3), np.float32)
    dense[0, 1], dense[1, 2] = 1.5, 2.5
    for name, indices in (("flat", [1, 5]), ("rows", [[0, 1], [1, 2]])):
        made = h.make_sparse_tensor(values, nh.from_array(np.array(indices), "i"), [2, 3])
        runs("sparse_" + name, identity(sparse=[made]), ({}, {"y": dense}))
        runs(f"sparse_{name}_constant", model([node("Constant", [], ["y"], sparse_value=made)], [], [value("y")]), ({}, {"y": dense}))
    outside = h.make_sparse_tensor(values, nh.from_array(np.array([1, 6]), "i"), [2, 3])
    refused("sparse_index_outside", identity(sparse=[outside]), "lies outside")
    huge = h.make_sparse_tensor(values, nh.from_array(np.array([1, 6]), "i"), [2**15, 2**15, 2**5])
    refused("sparse_huge", identity(sparse=[huge]), "as a dense one")


def external():
    folder, content = os.path.join(FOLDER, "external"), np.arange(12, dtype=np.float32)
    os.makedirs(os.path.join(folder, "sub"), exist_ok=True)
    os.makedirs(os.path.join(FOLDER, "outside"), exist_ok=True)
    for path, prefix in (("external/w.bin", b"x" * 5), ("external/sub/w.bin", b""), ("outside/w.bin", b"")):
        with open(os.path.join(FOLDER, path), "wb") as file:
            file.write(prefix + content.tobytes())
    for link, target in (("inside_link.bin", "w.bin"), ("outside_link.bin", "../outside/w.bin"), ("folder_link", "../outside")):
        path = os.path.join(folder, link)
        if not os.path.islink(path):
            os.symlink(target, path)

    def stored(location, **others):
        tensor = T(name="c", data_type=T.FLOAT, dims=[3, 4], data_location=T.EXTERNAL)
        for key, text in dict(location=location, **others).items():
            tensor.external_data.add(key=key, value=str(text))
        return identity([tensor])

    good = {"offset": stored("w.bin", offset=5, length=48), "no_length": stored("w.bin", offset=5), "folder": stored("sub/w.bin"),
            "link_inside": stored("inside_link.bin", offset=5)}
    for name, made in good.items():
        runs("external/" + name, made, ({}, {"y": content.reshape(3, 4)}))
    outside, unreadable = "does not lie in the model's folder", "can not be read"
    bad = {"absolute": (stored("/etc/passwd"), outside), "parent": (stored("../outside/w.bin"), outside),
           "parent_inside": (stored("sub/../w.bin"), outside), "link_outside": (stored("outside_link.bin"), outside),
           "folder_link_outside": (stored("folder_link/w.bin"), outside), "missing": (stored("no.bin"), unreadable),
           "is_folder": (stored("sub"), unreadable), "past_end": (stored("w.bin", offset=6), "ends before"),
           "offset_huge": (stored("w.bin", offset=2**63 - 1), "number of bytes"),
           "offset_negative": (stored("w.bin", offset=-1), "number of bytes"),
           "length_wrong": (stored("w.bin", length=47), "47 bytes"), "no_location": (stored(""), "without a location"),
           "nul": (stored("w.bin\0.enc", offset=5), "the value of a StringStringEntryProto has a NUL byte")}
    for name, (made, words) in bad.items():
        refused("external/bad_" + name, made, words)


# ------------------------------------------------------------------ names and wiring

def names():
    odd = ["11", "1e5", "nan", "_11", "Add", "x+y", "[a, b]", "a.b", "A", "B", "'q'", "f[0]", "Add[0]", "True", "a b",
           "/l/Add_output_0", "blk/Add", "é", "min", ".5", "x.", "-1"]
    for i, name in enumerate(odd):
        made = model([node("Add", [name, name], ["t"], name="Add"), node("Sub", ["t", name], [name + "2"], name="Add"),
                      node("Neg", [name + "2"], ["_" + name]), node("Clip", [name, "", name + "m"], ["clipped"])],
                     [value(name), value(name + "m")], [value("_" + name), value(name + "2"), value("clipped")])
        runs(f"name_{i}", made, ({name: X, name + "m": np.float32(1)}, {"_" + name: -X, name + "2": X, "clipped": np.minimum(X, 1)}))
    runs("name_of_omitted_formal", model([node("Clip", ["max"], ["y"])], [value("max")], [value("y")]), ({"max": X}, {"y": X}))
    runs("name_of_other_formal", model([node("Clip", ["min", "", "input"], ["y"])], [value("min"), value("input")], [value("y")]),
         ({"min": X, "input": np.float32(1)}, {"y": np.minimum(X, 1)}))
    runs("name_with_point_of_node", model([node("Neg", ["b"], ["q"], name="a"), node("Abs", ["a.b"], ["z"], name="c")],
                                          [value("b"), value("a.b")], [value("q"), value("z")]),
         ({"b": X, "a.b": -X}, {"q": -X, "z": X}))
    runs("nodes_of_one_name", model([node("Neg", ["x"], ["n"], name="n"), node("Neg", ["n"], ["y"], name="n"), node("Neg", ["y"], ["z"])],
                                    [value("x")], [value("z")]), ({"x": X}, {"z": -X}))
    runs("nodes_unsorted", model([node("Neg", ["t"], ["y"]), node("Abs", ["x"], ["t"])], [value("x")], [value("y")]), ({"x": -X}, {"y": -X}))
    training = [h.make_opsetid("", 17), h.make_opsetid("ai.onnx.preview.training", 1)]
    gradient = {"domain": "ai.onnx.preview.training"}
    runs("names_in_attributes", model([node("Mul", ["1", "w"], ["2"]), node("Mul", ["2", "2"], ["3"]),
                                       node("Gradient", ["1", "w"], ["", "4"], xs=["1", "w"], y="3", **gradient),
                                       node("Gradient", ["2"], ["5"], xs=["2"], y="3", **gradient)],
                                      [value("1")], [value("4"), value("5")], [nh.from_array(X + 1, "w")], imports=training),
         ({"1": X}, {"4": 2 * X * X * (X + 1), "5": 2 * X * (X + 1)}))
    step = graph([node("Identity", ["go"], ["go_on"]), node("Sub", ["7", "target"], ["8"]), node("Mul", ["8", "8"], ["9"]),
                  node("Gradient", ["7"], ["10"], xs=["7"], y="9", **gradient), node("Mul", ["10", "rate"], ["11"]),
                  node("Sub", ["7", "11"], ["12"])],
                 [value("i", T.INT64, []), value("go", T.BOOL, []), value("7")], [value("go_on", T.BOOL, []), value("12")])
    runs("gradient_in_loop", model([node("Loop", ["n", "", "x"], ["y"], body=step)], [value("x")], [value("y")],
                                   [nh.from_array(np.int64(3), "n"), nh.from_array(X * 4, "target"), nh.from_array(np.float32(0.25), "rate")],
                                   imports=training),
         ({"x": X * 0}, {"y": X * 4 * (1 - 0.5**3)}))
    refused("constant_of_one_name", identity([nh.from_array(X, "c"), nh.from_array(X, "c")]), "assigned twice")
    refused("outputs_of_one_name", model([node("Neg", ["x"], ["y"]), node("Abs", ["x"], ["y"])], [value("x")], [value("y")]), "assigned twice")
    refused("name_unknown", model([node("Neg", ["nowhere"], ["y"])], [], [value("y")]), "'nowhere' is used")
    refused("name_not_utf8", model([node("Neg", ["x"], ["y"])], [value("x")], [value("y")]).SerializeToString().replace(b"\x01x", b"\x01\xff"), "UTF-8")


def wiring():
    runs("input_passed", model([], [value("x")], [value("x")]), ({"x": X}, {"x": X}))
    runs("input_passed_and_used", model([node("Neg", ["x"], ["y"])], [value("x")], [value("x"), value("y")]), ({"x": X}, {"x": X, "y": -X}))
    runs("constant_passed", model([], [], [value("c")], [nh.from_array(X, "c")]), ({}, {"c": X}))
    weights = [nh.from_array(X * 10, "w")]
    runs("default_input", model([node("Add", ["x", "w"], ["y"])], [value("x"), value("w")], [value("y")], weights, ir=3, opset=9),
         ({"x": X}, {"y": X * 11}), ({"x": X, "w": X}, {"y": X * 2}))
    runs("default_input_idle", model([node("Neg", ["x"], ["y"])], [value("x"), value("w")], [value("y")], weights, ir=3, opset=9),
         ({"x": X}, {"y": -X}), ({"x": X, "w": X}, {"y": -X}))
    unread = h.make_graph([node("ScatterElements", ["s", "k", "u"], ["unread"], axis=0, reduction="max"), node("Add", ["s", "x"], ["t"]), node("Neg", ["t"], ["y"])], "body",
                          [value("s", T.INT64, [2]), value("k", T.INT64, [2]), value("x", T.INT64, [2])], [value("t", T.INT64, [2]), value("y", T.INT64, [2])],
                          [nh.from_array(np.array([7, 8]), "u")])
    pairs, places = np.array([[1, 2], [3, 4], [5, 6]]), np.array([[0, 1], [-1, 0], [1, -1]])
    sums = np.cumsum(pairs, axis=0)
    runs("scatter_unread_in_scan", model([node("Scan", ["s0", "places", "xs"], ["end", "ys"], body=unread, num_scan_inputs=2)],
                                         [value("s0", T.INT64, [2]), value("places", T.INT64, [3, 2]), value("xs", T.INT64, [3, 2])],
                                         [value("end", T.INT64), value("ys", T.INT64)], opset=18),
         ({"s0": np.zeros(2, np.int64), "places": places, "xs": pairs}, {"end": sums[-1], "ys": -sums}),
         ({"s0": np.zeros(2, np.int64), "places": places + 1, "xs": pairs}, "index 2 (number 1 of the indices) is out of range for axis 0 of size 2"))
    idle = h.make_graph([node("Identity", ["c"], ["d"]), node("Add", ["s", "s"], ["t"]), node("Identity", ["s"], ["r"])], "body",
                        [value("i", T.INT64, []), value("c", T.BOOL, []), value("w"), value("s")], [value("d", T.BOOL, []), value("r"), value("t")], weights)
    runs("default_input_idle_body", model([node("Loop", ["n", "", "x", "x"], ["w_end", "y"], body=idle)], [value("x")], [value("w_end"), value("y")],
                                          [nh.from_array(np.int64(2), "n")]), ({"x": X}, {"w_end": X * 2, "y": X * 4}))
    runs("default_input_passed", model([], [value("w")], [value("w")], weights, ir=3, opset=9), ({}, {"w": X * 10}), ({"w": X}, {"w": X}))
    runs("default_input_empty", model([node("Shape", ["w"], ["y"])], [value("w", T.FLOAT, [0, 3])], [value("y", T.INT64)],
                                      [nh.from_array(np.zeros((0, 3), np.float32), "w")], ir=3, opset=9), ({}, {"y": np.array([0, 3])}))
    runs("input_missing", model([node("Add", ["x", "w"], ["y"])], [value("x"), value("w"), value("unused")], [value("y")], weights[:0]),
         ({"x": X, "w": X, "unused": X}, {"y": 2 * X}), ({"x": X, "unused": X}, "the graph's input 'w' has no value"),
         ({"x": X, "w": X}, "the graph's input 'unused' has no value"))
    runs("default_input_missing", model([node("Add", ["x", "w"], ["y"])], [value("x"), value("w")], [value("y")], weights),
         ({"w": X}, "the graph's input 'x' has no value"))
    runs("outputs_middle_unused", model([node("Split", ["x"], ["a", "", "c"], num_outputs=3)], [value("x")], [value("a"), value("c")], opset=18),
         ({"x": X}, {"a": X[:1], "c": X[2:]}))
    runs("outputs_last_unused", model([node("Split", ["x"], ["a", "b", ""])], [value("x")], [value("a")], opset=13), ({"x": X}, {"a": X[:1]}))
    two = [nh.from_array(np.array([2]), "k")]
    runs("output_second_only", model([node("TopK", ["x", "k"], ["", "i"])], [value("x")], [value("i", T.INT64)], two),
         ({"x": X}, {"i": np.array([2, 1])}))
    runs("output_first_only", model([node("TopK", ["x", "k"], ["v", ""])], [value("x")], [value("v")], two), ({"x": X}, {"v": X[:0:-1]}))
    refused("inputs_too_many", model([node("Neg", ["x", "x"], ["y"])], [value("x")], [value("y")]), "2 inputs")
    refused("outputs_too_many", model([node("Neg", ["x"], ["y", "z"])], [value("x")], [value("y")]), "2 outputs")


def attributes():
    runs("attribute_tensor", model([node("ConstantOfShape", ["s"], ["y"], value=h.make_tensor("v", T.INT32, [1], [7]))],
                                   [value("s", T.INT64)], [value("y", T.INT32)]), ({"s": np.array([2, 2])}, {"y": np.full((2, 2), 7, np.int32)}))
    matrix = np.arange(6, dtype=np.float32).reshape(2, 3)
    runs("attribute_ints", model([node("Transpose", ["x"], ["y"], perm=[1, 0])], [value("x")], [value("y")]), ({"x": matrix}, {"y": matrix.T}))
    runs("attribute_real", model([node("LeakyRelu", ["x"], ["y"], alpha=0.25)], [value("x")], [value("y")]), ({"x": -X}, {"y": -X / 4}))
    joined = np.concatenate([X, X])
    strange, untyped = (node("Concat", ["x", "x"], ["y"], axis=0) for _ in range(2))
    strange.attribute.append(h.make_attribute("strange", 3))
    untyped.attribute[0].ClearField("type")
    refused("attribute_unknown", model([strange], [value("x")], [value("y")]), "onnx::Concat version 13 has no attribute 'strange'")
    runs("attribute_without_type", model([untyped], [value("x")], [value("y")]), ({"x": X}, {"y": joined}))
    empty = node("Optional", [], ["o"], type=h.make_tensor_type_proto(T.FLOAT, None))
    runs("attribute_type", model([empty, node("OptionalHasElement", ["o"], ["y"])], [], [value("y", T.BOOL)], opset=18), ({}, {"y": np.bool_(False)}))


def machines():
    """What ai.onnx.ml computes in float32, with the very attributes of the file: a scaled number that is off by a bit lands in another leaf."""
    random, ml = np.random.default_rng(5), {"domain": "ai.onnx.ml"}
    imports = [h.make_opsetid("", 17), h.make_opsetid("ai.onnx.ml", 3)]
    x = (random.normal(size=(400, 3)) * 10).astype(np.float32)
    offset, scale = (random.normal(size=3).astype(np.float32) for _ in range(2))
    scaled = (x - offset) * scale
    scaler = node("Scaler", ["x"], ["s"], offset=offset.tolist(), scale=scale.tolist(), **ml)
    runs("ml_scaler", model([scaler], [value("x")], [value("s")], imports=imports), ({"x": x}, {"s": scaled}))
    leaves = 64  # trees of one question each, which is whether a number is at most one of those that there are
    splits, features = scaled[:leaves, :].ravel()[::3], [i * 3 % 3 for i in range(leaves)]
    tree = node("TreeEnsembleRegressor", ["s"], ["y"], nodes_treeids=np.repeat(np.arange(leaves), 3).tolist(), nodes_nodeids=[0, 1, 2] * leaves,
                nodes_featureids=[f for feature in features for f in (feature, 0, 0)], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"] * leaves,
                nodes_values=[float(v) for split in splits for v in (split, 0, 0)], nodes_truenodeids=[1, 0, 0] * leaves, nodes_falsenodeids=[2, 0, 0] * leaves,
                target_treeids=np.repeat(np.arange(leaves), 2).tolist(), target_nodeids=[1, 2] * leaves, target_ids=[0] * 2 * leaves,
                target_weights=[1.0, 0.0] * leaves, n_targets=1, **ml)
    counts = sum((scaled[:, f] <= split).astype(np.float32) for f, split in zip(features, splits))
    runs("ml_scaler_and_trees", model([scaler, tree], [value("x")], [value("y")], imports=imports), ({"x": x}, {"y": counts[:, None]}))
    norms = {"MAX": x.max(1), "L1": np.abs(x[:, 0]) + np.abs(x[:, 1]) + np.abs(x[:, 2])}
    for norm, by in norms.items():
        runs(f"ml_normalizer_{norm}", model([node("Normalizer", ["x"], ["y"], norm=norm, **ml)], [value("x")], [value("y")], imports=imports),
             ({"x": x}, {"y": x / by[:, None]}))
    squares = x * x
    runs("ml_label_encoder_nan", model([node("LabelEncoder", ["x"], ["y"], keys_int64s=[3, 5], values_floats=[1.5, 2.5], default_float=float("nan"), **ml)],
                                       [value("x", T.INT64)], [value("y")], imports=imports),
         ({"x": np.array([5, 4, 3])}, {"y": np.float32([2.5, np.nan, 1.5])}))
    runs("ml_normalizer_L2", model([node("Normalizer", ["x"], ["y"], norm="L2", **ml)], [value("x")], [value("y")], imports=imports),
         ({"x": x}, {"y": np.copysign(np.sqrt(squares / (squares[:, 0] + squares[:, 1] + squares[:, 2])[:, None]), x)}))


def maps():
    ml, imports = {"domain": "ai.onnx.ml"}, [h.make_opsetid("", 17), h.make_opsetid("ai.onnx.ml", 3)]
    for code, dtype in ((T.FLOAT, np.float32), (T.DOUBLE, np.float64), (T.INT64, np.int64)):
        declared = onnx.TypeProto(map_type=onnx.TypeProto.Map(key_type=T.STRING, value_type=h.make_tensor_type_proto(code, [])))
        vectorizer = node("DictVectorizer", ["x"], ["y"], string_vocabulary=["a", "b", "c"], **ml)
        runs(f"ml_map_to_{np.dtype(dtype)}", model([vectorizer], [h.make_value_info("x", declared)], [value("y", code, [1, 3])], imports=imports),
             ({"x": {"c": 2, "a": 3}}, {"y": np.array([[3, 0, 2]], dtype)}))


def sequences_of_loops():
    item = h.make_sequence_type_proto(h.make_tensor_type_proto(T.FLOAT, None))
    body = graph([node("Identity", ["c"], ["d"]), node("SequenceInsert", ["s", "x"], ["t"])],
                 [value("i", T.INT64, []), value("c", T.BOOL, []), h.make_value_info("s", item)], [value("d", T.BOOL, []), h.make_value_info("t", item)])
    loop = [node("SequenceEmpty", [], ["e"]), node("Loop", ["m", "", "e"], ["y"], body=body)]
    runs("sequence_empty_is_float32", model(loop, [value("x"), value("m", T.INT64, [])], [h.make_value_info("y", item)]),
         ({"x": X, "m": np.int64(2)}, {"y": [X, X]}), ({"x": X, "m": np.int64(0)}, {"y": []}))
    wrapped = h.make_function("my", "Collect", ["m", "x"], ["y"], loop, [h.make_opsetid("", 17)])
    runs("sequence_empty_in_function", model([node("Collect", ["m", "x"], ["y"], domain="my")], [value("x"), value("m", T.INT64, [])], [h.make_value_info("y", item)],
                                             functions=[wrapped], imports=[h.make_opsetid("", 17), h.make_opsetid("my", 1)]),
         ({"x": X, "m": np.int64(2)}, {"y": [X, X]}))


def containers():
    sequence = h.make_value_info("s", h.make_sequence_type_proto(h.make_tensor_type_proto(T.FLOAT, None)))
    runs("sequence_input", model([node("SequenceAt", ["s", "i"], ["y"])], [sequence, value("i", T.INT64)], [value("y")]),
         ({"s": [X, X + 1], "i": np.int64(1)}, {"y": X + 1}))
    runs("sequence_length", model([node("SequenceLength", ["s"], ["y"])], [sequence], [value("y", T.INT64)]),
         ({"s": []}, {"y": np.int64(0)}), ({"s": [X]}, {"y": np.int64(1)}))
    optional = h.make_value_info("s", h.make_optional_type_proto(h.make_tensor_type_proto(T.FLOAT, None)))
    runs("optional_input", model([node("OptionalHasElement", ["s"], ["y"])], [optional], [value("y", T.BOOL)], opset=18),
         ({"s": X}, {"y": np.bool_(True)}), ({"s": None}, {"y": np.bool_(False)}), ({}, {"y": np.bool_(False)}))
    runs("sequence_output", model([node("SplitToSequence", ["x"], ["s"], keepdims=0)], [value("x")], [sequence]),
         ({"x": X}, {"s": [np.float32(0), np.float32(1), np.float32(2)]}))
    some, none = (graph([made], [], [h.make_value_info("o", h.make_optional_type_proto(h.make_tensor_type_proto(T.FLOAT, None)))])
                  for made in (node("Optional", ["x"], ["o"]), node("Optional", [], ["o"], type=h.make_tensor_type_proto(T.FLOAT, None))))
    runs("optional_output", model([node("If", ["c"], ["s"], then_branch=some, else_branch=none)], [value("x"), value("c", T.BOOL)], [optional], opset=18),
         ({"x": X, "c": np.bool_(True)}, {"s": X}), ({"x": X, "c": np.bool_(False)}, {"s": None}))
    body = graph([node("Identity", ["c"], ["d"]), node("Concat", ["s", "s"], ["t"], axis=0)],
                 [value("i", T.INT64, []), value("c", T.BOOL, []), value("s")], [value("d", T.BOOL, []), value("t")])
    runs("loop_grows", model([node("Loop", ["m", "c", "x"], ["y"], body=body)], [value("m", T.INT64, []), value("c", T.BOOL, []), value("x")], [value("y")]),
         ({"m": np.int64(2), "c": np.bool_(True), "x": X}, {"y": np.tile(X, 4)}))
    runs("reduce_scalar", model([node("ReduceMax", ["x", "axes"], ["y"], keepdims=1), node("ReduceSum", ["x", "axes"], ["z"], keepdims=0)],
                                [value("x", T.FLOAT, []), value("axes", T.INT64)], [value("y"), value("z")], opset=18),
         *(({"x": np.float32(-3.5), "axes": np.array([axis])}, {"y": np.float32(-3.5), "z": np.float32(-3.5)}) for axis in (0, -1)),
         ({"x": np.float32(-3.5), "axes": np.array([1])}, "axis 1 is out of range"))
    runs("pad_nan", model([node("Pad", ["x"], ["y"], pads=[1, 0], value=float("nan"))], [value("x")], [value("y")], opset=9),
         ({"x": X}, {"y": np.float32([np.nan, 0, 1, 2])}))
    runs("axes_named_as_numbers", model([node("Neg", ["x"], ["y"])], [value("x", T.FLOAT, ["0_1", "-1", "7"])], [value("y", T.FLOAT, ["1", "2", "3"])]),
         ({"x": X.reshape(3, 1, 1)}, {"y": -X.reshape(3, 1, 1)}))
    runs("attribute_type_undefined", model([node("QuantizeLinear", ["x", "s", "z"], ["y"], output_dtype=0)], [value("x")], [value("y", T.INT8)],
                                           [nh.from_array(np.float32(0.5), "s"), nh.from_array(np.int8(1), "z")], opset=21), ({"x": X}, {"y": np.int8([1, 3, 5])}))
    refused("attribute_type_zero", model([node("Cast", ["x"], ["y"], to=0)], [value("x")], [value("y")]), "no element type of ONNX has the number 0")
    endless = node("Loop", ["", "", "x"], ["y"], body=body)
    # Rows of pieces of an array that begin and end where a state says, as PyTorch writes embedding_bag: stacked, and as a sequence.
    none = graph([node("Identity", ["zeros"], ["z"])], [], [value("z")])
    some = graph([node("Slice", ["w", "from", "to"], ["piece"]), node("ReduceSum", ["piece", "axis"], ["sum"])], [], [value("sum")])
    steps = [node("Reshape", ["k", "row"], ["at"]), node("Add", ["at", "one"], ["behind"]), node("Slice", ["ends", "at", "behind"], ["from"]),
             node("Gather", ["ends", "behind"], ["to"]), node("Equal", ["from", "to"], ["is_empty"]),
             node("If", ["is_empty"], ["r"], then_branch=none, else_branch=some), node("Add", ["k", "one_number"], ["next"])]
    numbers = [nh.from_array(np.array(v), n) for n, v in (("first", 0), ("one_number", 1), ("one", [1]), ("row", [-1]), ("axis", [0]))]
    numbers.append(nh.from_array(np.zeros((1, 2), np.float32), "zeros"))
    state = [value("i", T.INT64, []), value("c", T.BOOL, []), value("k", T.INT64, [])]
    stacked = graph(steps + [node("Identity", ["c"], ["d"])], state, [value("d", T.BOOL, []), value("next", T.INT64, []), value("r")])
    listed = graph(steps + [node("SequenceInsert", ["s", "r"], ["t"]), node("Less", ["next", "m"], ["d"])],
                   state + [h.make_tensor_sequence_value_info("s", T.FLOAT, None)],
                   [value("d", T.BOOL, []), value("next", T.INT64, []), h.make_tensor_sequence_value_info("t", T.FLOAT, None)])
    W = np.arange(12, dtype=np.float32).reshape(6, 2)
    asked = [value("w"), value("ends", T.INT64), value("m", T.INT64, [])]
    pieces = [({"w": W, "ends": np.array(ends), "m": np.int64(3)},
               {"y": np.stack([W[a:b].sum(0, keepdims=True) for a, b in zip(ends, ends[1:])])}) for ends in ([0, 2, 3, 6], [0, 0, 6, 6], [1, 5, 5, 6])]
    # Ranges that are as long as a state says.
    counted = graph([node("Add", ["k", "one_number"], ["next"]), node("Range", ["first", "next", "one_number"], ["places"]), node("Gather", ["x", "places"], ["some"]),
                     node("ReduceSum", ["some"], ["sum"], keepdims=0), node("Add", ["t", "sum"], ["u"]), node("Identity", ["c"], ["d"])],
                    state + [value("t", T.FLOAT, [])], [value("d", T.BOOL, []), value("next", T.INT64, []), value("u", T.FLOAT, [])])
    F = np.arange(5, dtype=np.float32)
    runs("loop_ranges", model([node("Loop", ["n", "", "first", "zero"], ["k_last", "y"], body=counted)], [value("x", shape=[5]), value("n", T.INT64, [])],
                              [value("y", shape=[])], numbers + [nh.from_array(np.float32(0), "zero")]),
         *(({"x": F, "n": np.int64(n)}, {"y": np.float32(sum(F[:k].sum() for k in range(1, n + 1)))}) for n in (3, 5, 1)))
    # Sequences whose items differ in length, which come to be in no array.
    wholes = [nh.from_array(np.array(v), n) for n, v in (("k0", 0), ("k1", 1), ("k3", 3), ("last", -1), ("cuts", [2, 3]), ("front", [0]))]
    longer = graph([node("Add", ["i", "k1"], ["end"]), node("Unsqueeze", ["end", "front"], ["ends"]), node("Slice", ["y", "front", "ends", "front"], ["part"]),
                    node("SequenceInsert", ["s", "part"], ["t"]), node("Identity", ["c"], ["d"])],
                   [value("i", T.INT64, []), value("c", T.BOOL, []), h.make_tensor_sequence_value_info("s", T.FLOAT, None)],
                   [value("d", T.BOOL, []), h.make_tensor_sequence_value_info("t", T.FLOAT, None)])
    unequal = [node("SequenceConstruct", ["x", "y"], ["made"]), node("CumSum", ["x", "k0"], ["sums"]), node("SequenceInsert", ["made", "sums", "k1"], ["more"]),
               node("SequenceErase", ["more", "k0"], ["fewer"]), node("ConcatFromSequence", ["fewer"], ["joined"], axis=0),
               node("SplitToSequence", ["y", "cuts"], ["parts"], axis=1), node("SequenceAt", ["parts", "last"], ["part_last"]),
               node("SequenceEmpty", [], ["none"], dtype=T.FLOAT), node("Loop", ["k3", "", "none"], ["grown"], body=longer),
               node("SequenceMap", ["grown"], ["mapped"], body=graph([node("Neg", ["item"], ["less"])], [value("item")], [value("less")])),
               node("ConcatFromSequence", ["mapped"], ["all"], axis=0), node("SequenceLength", ["grown"], ["n"])]
    A, B = np.arange(10, dtype=np.float32).reshape(2, 5), np.arange(15, dtype=np.float32).reshape(3, 5) - 7
    runs("sequences_of_unequal_arrays", model(unequal, [value("x", shape=[2, 5]), value("y", shape=[3, 5])],
                                              [value("joined"), value("part_last"), value("all"), value("n", T.INT64)], wholes),
         ({"x": A, "y": B}, {"joined": np.concatenate([A.cumsum(0), B]), "part_last": B[:, 2:], "all": -np.concatenate([B[:1], B[:2], B]), "n": np.int64(3)}))
    runs("loop_pieces", model([node("Loop", ["m", "", "first"], ["k_last", "y"], body=stacked)], asked, [value("y")], numbers), *pieces)
    runs("loop_listed_pieces",
         model([node("SequenceEmpty", [], ["e"]), node("Loop", ["", "yes", "first", "e"], ["k_last", "l"], body=listed),
                node("ConcatFromSequence", ["l"], ["y"], axis=0, new_axis=1)], asked, [value("y")], numbers + [nh.from_array(np.array(True), "yes")]),
         *[(given, {"y": wanted["y"]}) for given, wanted in pieces])
    runs("loop_endless", model([endless], [value("x")], [value("y")]), ({"x": X}, "never ends"))
    body = graph([node("Less", ["i", "n"], ["d"]), node("Add", ["s", "s"], ["t"])],
                 [value("i", T.INT64, []), value("c", T.BOOL, []), value("s")], [value("d", T.BOOL, []), value("t")])
    runs("loop_by_yield", model([node("Loop", ["", "", "x"], ["y"], body=body)], [value("n", T.INT64, []), value("x")], [value("y")]),
         *(({"n": np.int64(n), "x": X}, {"y": X * 2.0 ** (n + 1)}) for n in (0, 3)))


# ------------------------------------------------------------------ bodies and functions

def bodies():
    def branch(operator, number):
        return graph([node(operator, ["x", "k"], ["t"]), node("Neg", ["t"], ["r"])], [], [value("r")], [nh.from_array(np.float32(number), "k")])

    yes, no = np.bool_(True), np.bool_(False)
    inputs = [value("x"), value("c", T.BOOL)]
    runs("body_names_in_siblings", model([node("If", ["c"], ["y"], then_branch=branch("Add", 1), else_branch=branch("Mul", 3)),
                                          node("Abs", ["y"], ["t"]), node("Neg", ["t"], ["r"])], inputs, [value("y"), value("r")]),
         ({"x": X, "c": yes}, {"y": -(X + 1), "r": -(X + 1)}), ({"x": X, "c": no}, {"y": -(X * 3), "r": -(X * 3)}))
    inner = graph([node("Add", ["x", "a"], ["q"]), node("Add", ["q", "w"], ["r2"])], [], [value("r2")])
    outer = graph([node("Neg", ["a"], ["w"]), node("If", ["c"], ["r1"], then_branch=inner, else_branch=inner)], [], [value("r1")])
    runs("body_captures_two_levels", model([node("Abs", ["x"], ["a"]), node("If", ["c"], ["y"], then_branch=outer, else_branch=outer)],
                                           inputs, [value("y")]), ({"x": X, "c": yes}, {"y": X}))
    passing, constant = graph([], [], [value("x")]), graph([], [], [value("k")], [nh.from_array(np.float32(7), "k")])
    runs("body_passes_on", model([node("If", ["c"], ["y"], then_branch=passing, else_branch=constant)], inputs, [value("y")]),
         ({"x": X, "c": yes}, {"y": X}), ({"x": X, "c": no}, {"y": np.float32(7)}))
    body = graph([node("Identity", ["cc"], ["co"]), node("Add", ["x", "5"], ["6"])],
                 [value("i", T.INT64, []), value("cc", T.BOOL, []), value("x")], [value("co", T.BOOL, []), value("6")])
    loop, negate = node("Loop", ["m", "", "x"], ["7"], body=body), node("Neg", ["x"], ["5"])
    for name, nodes in (("body_input_shadows", [negate, loop]), ("body_captures_later_node", [loop, negate])):
        runs(name, model(nodes, [value("x"), value("m", T.INT64)], [value("7")]), ({"x": X, "m": np.int64(3)}, {"7": -2 * X}))
    short = node("Loop", ["m", "", "x"], ["a", "b", "c"], body=body)
    refused("body_yields_too_few", model([short], [value("x"), value("m", T.INT64), value("5")], [value("a")]), "its body yields 1")

    def nested(depth):
        made = graph([node("Identity", ["x"], ["o"])], [], [value("o")])
        for i in range(depth):
            other = graph([node("Identity", ["x"], [f"p{i}"])], [], [value(f"p{i}")])
            made = graph([node("If", ["c"], [f"o{i}"], then_branch=made, else_branch=other)], [], [value(f"o{i}")])
        return model([node("If", ["c"], ["y"], then_branch=made, else_branch=passing)], inputs, [value("y")])

    runs("body_nested_deep", nested(20), ({"x": X, "c": yes}, {"y": X}))
    refused("body_nested_too_deep", nested(31), "nested more than")


IMPORTS = [h.make_opsetid("", 17), h.make_opsetid("my", 1)]


def function(name, inputs, outputs, nodes, attributes=(), imports=None):
    return h.make_function("my", name, inputs, outputs, nodes, imports or IMPORTS, list(attributes))


def call(name, inputs, outputs, **attributes):
    return node(name, inputs, outputs, domain="my", **attributes)


def referring(made, name, to):
    made.attribute.append(onnx.AttributeProto(name=name, ref_attr_name=to, type=onnx.AttributeProto.FLOAT))
    return made


def functions():
    def leaky(x, alpha):
        return np.where(x < 0, x * np.float32(alpha), x).astype(np.float32)

    def with_functions(nodes, made, outputs=("y",), inputs=("x",), **others):
        return model(nodes, [value(name) for name in inputs], [value(name) for name in outputs], functions=made, imports=IMPORTS, **others)

    first = function("F", ["a", "b"], ["o"], [node("Add", ["a", "b"], ["t"]), referring(node("LeakyRelu", ["t"], ["o"]), "alpha", "slope")], ["slope"])
    negative = X - 3
    runs("function_attribute", with_functions([call("F", ["x", "x"], ["t"], slope=0.25), call("F", ["t", "x"], ["y"], slope=0.5)], [first]),
         ({"x": negative}, {"y": leaky(leaky(2 * negative, 0.25) + negative, 0.5)}))
    runs("function_attribute_absent", with_functions([call("F", ["x", "x"], ["y"])], [first]), ({"x": -X}, {"y": leaky(-2 * X, 0.01)}))
    second = function("G", ["a"], ["o"], [referring(call("F", ["a", "a"], ["t"]), "slope", "factor"), node("Neg", ["t"], ["o"])])
    second.attribute_proto.append(h.make_attribute("factor", 0.125))
    runs("function_in_function", with_functions([call("G", ["t"], ["y"]), call("G", ["x"], ["t"], factor=0.75)], [first, second]),
         ({"x": negative}, {"y": -leaky(2 * -leaky(2 * negative, 0.75), 0.125)}))
    third = function("P", ["a", "b"], ["a", "c", "d", "d"], [node("Neg", ["a"], ["c"]), node("Constant", [], ["d"], value_float=2.0)])
    runs("function_passes_on", with_functions([call("P", ["x"], ["p", "q", "r", "s"]), node("Sum", ["p", "q", "r", "s", "x"], ["y"])], [third],
                                              ("y", "p", "r")), ({"x": X}, {"y": X + 4, "p": X, "r": np.float32(2)}))
    runs("function_outputs_omitted", with_functions([call("P", ["x"], ["", "q"])], [third], ("q",)), ({"x": X}, {"q": -X}))
    then, other = (graph([node(operator, ["x", "t"], ["y"])], [], [value("y")]) for operator in ("Add", "Sub"))
    fourth = function("B", ["x", "c"], ["o"], [node("Neg", ["x"], ["t"]), node("If", ["c"], ["o"], then_branch=then, else_branch=other)])
    made = model([node("Add", ["t", "t"], ["x"]), node("Abs", ["x"], ["y"]), call("B", ["y", "c"], ["z"]), call("B", ["z", "c"], ["w"])],
                 [value("t"), value("c", T.BOOL)], [value("z"), value("w")], functions=[fourth], imports=IMPORTS)
    runs("function_with_body", made, ({"t": X, "c": np.bool_(True)}, {"z": 0 * X, "w": 0 * X}),
         ({"t": X, "c": np.bool_(False)}, {"z": 4 * X, "w": 8 * X}))
    plain, overloaded = (function("O", ["a"], ["o"], [node(operator, ["a"], ["o"])]) for operator in ("Neg", "Abs"))
    overloaded.overload = "abs"
    last = call("O", ["t"], ["y"])
    last.overload = "abs"
    runs("function_overload", with_functions([call("O", ["x"], ["t"]), last], [plain, overloaded], ir=10), ({"x": X}, {"y": X}))
    older = [h.make_opsetid("", 11)]
    same = function("S", ["a"], ["o"], [node("Sin", ["a"], ["o"])], imports=older)
    different = function("D", ["a"], ["o"], [node("ReduceSum", ["a"], ["o"], axes=[0])], imports=older)
    runs("function_opset_alike", with_functions([call("S", ["x"], ["y"])], [same]), ({"x": 0 * X}, {"y": 0 * X}))
    runs("function_opset_differs", with_functions([call("D", ["x"], ["t"]), node("ReduceSum", ["t", "axes"], ["y"], keepdims=0)], [different],
                                                  constants=[nh.from_array(np.array([0]), "axes")]), ({"x": X}, {"y": np.float32(3)}))
    either = function("I", ["x", "c"], ["o"], [node("If", ["c"], ["o"], then_branch=graph([node("Squeeze", ["x"], ["s"], axes=[0])], [], [value("s")]),
                                                    else_branch=graph([node("Neg", ["x"], ["n"])], [], [value("n")]))], imports=older)
    made = model([call("I", ["x", "c"], ["y"])], [value("x"), value("c", T.BOOL)], [value("y")], functions=[either], imports=IMPORTS)
    runs("function_opset_differs_in_body", made, ({"x": X[None], "c": np.bool_(True)}, {"y": X}), ({"x": X, "c": np.bool_(False)}, {"y": -X}))
    circle = function("R", ["a"], ["o"], [call("R", ["a"], ["o"])])
    refused("function_circle", with_functions([call("R", ["x"], ["y"])], [circle]), "in a circle?")
    doubling = [function("E0", ["a"], ["o"], [node("Neg", ["a"], ["o"])])]
    for i in range(1, 30):
        doubling.append(function(f"E{i}", ["a"], ["o"], [call(f"E{i - 1}", ["a"], ["t"]), call(f"E{i - 1}", ["t"], ["o"])]))
    runs("function_expanded", with_functions([call("E6", ["x"], ["y"])], doubling), ({"x": X}, {"y": X}))
    refused("function_expanded_too_far", with_functions([call("E29", ["x"], ["y"])], doubling), "nodes in all")
    refused("function_call_too_wide", with_functions([call("F", ["x", "x", "x"], ["y"])], [first]), "its call 3")


# ------------------------------------------------------------------ files that are no models

def varint(number):
    content = b""
    while number > 127:
        content += bytes([number & 127 | 128])
        number >>= 7
    return content + bytes([number])


def files():
    sound = model([node("Neg", ["x"], ["y"])], [value("x")], [value("y")])
    whole = sound.SerializeToString()
    refused("file_empty", b"", "the file is empty")
    refused("file_text", b"hello world, this is a text", "not messages of protobuf")
    refused("file_json", b'{"a": {"graphs": {}}}', "not messages of protobuf")
    refused("file_truncated", whole[:-7], "not messages of protobuf")
    refused("file_without_graph", onnx.ModelProto(ir_version=8).SerializeToString(), "no graph")
    refused("file_two_graphs", whole + whole, "not messages of protobuf")
    deep = b""
    for _ in range(3000):
        for field in (6, 5, 1):  # a graph in an attribute in a node
            deep = varint(field << 3 | 2) + varint(len(deep)) + deep
    refused("file_deep", varint(7 << 3 | 2) + varint(len(deep)) + deep, "more than 128 deep")
    unknown = [h.make_opsetid("", 17), h.make_opsetid("com.example", 1)]
    refused("operator_of_other_domain", model([node("Fused", ["x"], ["y"], domain="com.example")], [value("x")], [value("y")], imports=unknown),
            "unknown function 'com.example::Fused'")
    refused("operator_without_opset", model([node("Neg", ["x"], ["y"])], [value("x")], [value("y")], imports=[h.make_opsetid("com.example", 1)]),
            "imports no opset")
    refused("operator_not_yet_there", model([node("Scan", ["x"], ["y"])], [value("x")], [value("y")], opset=7), "only from opset 8 on")
    refused("opset_twice", model([], [], [], imports=[h.make_opsetid("", 17), h.make_opsetid("ai.onnx", 18)]), "two opsets of the domain 'ai.onnx', 17 and 18")
    refused("opset_not_known", model([], [], [], opset=99), "needs opset 99")


# ------------------------------------------------------------------ what onnx.checker and ONNX Runtime refuse

def checks():
    def neg(**others):
        return model([node("Neg", ["x"], ["y"])], [value("x")], [value("y")], **others)

    for version in (-1, 0, 15):
        refused(f"ir_version_{version}".replace("-", "minus_"), neg(ir=version), "there is no IR version")
    whole = neg()
    whole.ClearField("ir_version")
    refused("ir_version_missing", whole, "does not say its IR version")
    whole = neg()
    del whole.opset_import[:]
    refused("opset_missing", whole, "imports no opset")
    whole.ir_version = 2
    runs("opset_missing_in_first_files", whole, ({"x": X}, {"y": -X}))
    for version in (-1, 0):
        refused(f"opset_{version}".replace("-", "minus_"), neg(opset=version), f"there is no opset {version}")
    ml = {"domain": "ai.onnx.ml"}
    binarizer = model([node("Binarizer", ["x"], ["y"], **ml)], [value("x")], [value("y")])
    refused("opset_of_domain_missing", binarizer, "imports no opset of the domain 'ai.onnx.ml'")
    inverse = model([node("Inverse", ["x"], ["y"], domain="com.microsoft")], [value("x", shape=[2, 2])], [value("y", shape=[2, 2])])
    runs("opset_of_domain_with_one", inverse, ({"x": np.float32([[2, 0], [0, 4]])}, {"y": np.float32([[0.5, 0], [0, 0.25]])}))
    ranges = model([node("Range", ["x", "limit", "delta"], ["y"], domain="com.microsoft")], [value("x", T.INT16, [])], [value("y", T.INT16, [None])],
                   [nh.from_array(np.array(2, np.int16), "limit"), nh.from_array(np.array(-2, np.int16), "delta")])
    runs("range_of_another_domain", ranges, ({"x": np.int16(7)}, {"y": np.array([7, 5, 3], np.int16)}))
    skip = lambda given, named, **more: model(  # noqa: E731
        [node("SkipLayerNormalization", given, named, domain="com.microsoft", **more)], [value(v) for v in given if v], [value(v) for v in named if v])
    total, total_of = np.float32([[1, 3]]) + np.float32([[2, 4]]), np.float32([[-1, 1]])
    runs("operator_defined_by_others", skip(["x", "s", "g", "", "b"], ["y", "", "", "t"], epsilon=0.0),
         ({"x": np.float32([[1, 3]]), "s": np.float32([[2, 4]]), "g": np.float32([1, 2]), "b": np.float32([5, 5])}, {"y": total_of * np.float32([1, 2]), "t": total + 5}))
    simple = node("SkipSimplifiedLayerNormalization", ["x", "x", "g"], ["y", "mean", "inverse"], domain="com.microsoft", epsilon=0.0)
    runs("operator_defined_by_others_unread", model([simple], [value("x"), value("g")], [value("y")]),
         ({"x": np.float32([[3, 4, 0, 0]]), "g": np.float32([5, 10, 1, 1])}, {"y": np.float32([[6, 16, 0, 0]])}))
    refused("operator_defined_by_others_output", model([simple], [value("x"), value("g")], [value("y"), value("mean")]), "nothing computes 'mean'")
    refused("operator_defined_by_others_attribute", skip(["x", "s", "g"], ["y"], gain=1.0), "has no attribute 'gain' here")
    product = node("FusedGemm", ["x", "x"], ["y"], domain="com.microsoft", activation="Foo")
    refused("operator_defined_by_others_unknown", model([product], [value("x", shape=[2, 2])], [value("y")]), "nothing computes 'y' with these attributes")
    norm = node("LayerNormalization", ["x", "g"], ["y"], epsilon=0.0)
    runs("operator_of_a_later_opset", model([norm], [value("x"), value("g")], [value("y")], opset=13),
         ({"x": np.float32([[3, 7]]), "g": np.float32([1, 2])}, {"y": total_of * np.float32([1, 2])}))
    turned = node("RotaryEmbedding", ["x", "p", "c", "c"], ["y"], domain="com.microsoft")
    refused("operator_defined_by_others_rank", model([turned], [value("x"), value("p", T.INT64), value("c")], [value("y")]), "the rank of input has to be known")
    forest = node("TreeEnsemble", ["x"], ["y"], **ml)
    refused("operator_of_domain_not_yet_there", model([forest], [value("x")], [value("y")], imports=[h.make_opsetid("", 17), h.make_opsetid("ai.onnx.ml", 3)]),
            "only from opset 5 on")

    refused("node_reads_itself", model([node("Add", ["x", "y"], ["y"])], [value("x")], [value("y")]), "reads its own output 'y'")
    refused("nodes_in_a_circle", model([node("Add", ["x", "b"], ["a"]), node("Neg", ["a"], ["b"]), node("Neg", ["b"], ["y"])], [value("x")], [value("y")]),
            "waits for itself: it reads 'a'")
    yes = nh.from_array(np.bool_(True), "yes")
    for name, read in (("body_reads_its_own_node", "y"), ("body_reads_what_waits_for_it", "z")):
        branch = graph([node("Neg", [read], ["o"])], [], [value("o")])
        refused(name, model([node("If", ["yes"], ["y"], then_branch=branch, else_branch=branch), node("Abs", ["y"], ["z"])], [], [value("z")], [yes]),
                "reads its own output 'y'" if read == "y" else "waits for itself: it reads")
    branch = graph([node("Neg", ["late"], ["o"])], [], [value("o")])
    runs("body_reads_what_stands_later", model([node("If", ["yes"], ["y"], then_branch=branch, else_branch=branch), node("Abs", ["x"], ["late"])],
                                               [value("x")], [value("y")], [yes]), ({"x": -X}, {"y": -X}))
    unsorted = graph([node("Neg", ["late"], ["o"]), node("Abs", ["x"], ["late"])], [], [value("o")])
    refused("body_unsorted", model([node("If", ["yes"], ["y"], then_branch=unsorted, else_branch=unsorted)], [value("x")], [value("y")], [yes]),
            "only a later node of the body computes")

    elu = node("Elu", ["x"], ["y"], alpha=2.0)
    elu.attribute.append(h.make_attribute("alpha", 3.0))
    refused("attribute_twice", model([elu], [value("x")], [value("y")]), "'alpha' is given twice")
    refused("attribute_int_for_float", model([node("Elu", ["x"], ["y"], alpha=2)], [value("x")], [value("y")]), "must be a float, not an int")
    step = graph([node("Identity", ["s"], ["t"]), node("Identity", ["e"], ["o"])], [value("s"), value("e")], [value("t"), value("o")])
    for name, attributes, words in (("scan_inputs_as_float", {"num_scan_inputs": 1.0}, "must be an int, not a float"),
                                    ("scan_9_with_directions", {"num_scan_inputs": 1, "directions": [1]}, "onnx::Scan version 16 has no attribute 'directions'"),
                                    ("scan_with_fewer_outputs", {"num_scan_inputs": 1}, "has 1 output, but its body yields 2")):
        refused(name, model([node("Scan", ["x", "x"], ["y"], body=step, **attributes)], [value("x")], [value("y")]), words)
    refused("unknown_with_body", model([node("Foo", ["x"], ["a", "b", "y"], body=step)], [value("x")], [value("y")]), "unknown function 'onnx::Foo'")
    two = graph([node("Neg", ["x"], ["p"]), node("Abs", ["x"], ["q"])], [], [value("p"), value("q")])
    refused("if_with_fewer_outputs", model([node("If", ["yes"], ["y"], then_branch=two, else_branch=two)], [value("x")], [value("y")], [yes]),
            "has 1 output, but its body yields 2")
    runs("if_with_unnamed_output", model([node("If", ["yes"], ["y", ""], then_branch=two, else_branch=two)], [value("x")], [value("y")], [yes]),
         ({"x": X}, {"y": -X}))
    body = graph([node("Identity", ["c"], ["d"]), node("Neg", ["s"], ["t"]), node("Abs", ["s"], ["o"])],
                 [value("i", T.INT64, []), value("c", T.BOOL, []), value("s")], [value("d", T.BOOL, []), value("t"), value("o")])
    refused("loop_with_fewer_outputs", model([node("Loop", ["m", "", "x"], ["y"], body=body)], [value("x")], [value("y")], [nh.from_array(np.int64(3), "m")]),
            "has 1 output, but its body yields 2")
    refused("name_with_nul", neg().SerializeToString().replace(b"\x0a\x01x\x12\x01y", b"\x0a\x01\x00\x12\x01y"), "the input of a NodeProto has a NUL byte")


# ------------------------------------------------------------------ operators on types that other engines do not take

def types():
    for kind, code, lowest in ((np.int8, T.INT8, -128), (np.int64, T.INT64, -2**63), (np.uint16, T.UINT16, 0)):
        runs(f"shrink_by_nan_{np.dtype(kind)}", model([node("Shrink", ["x"], ["y"], bias=float("nan"), lambd=0.5)], [value("x", code)], [value("y", code)]),
             ({"x": np.array([0, 1, 2], kind)}, {"y": np.array([0, lowest, lowest], kind)}))
    for operator in ("Softmax", "LogSoftmax", "Hardmax"):
        runs(f"no_axis_{operator}", model([node(operator, ["x"], ["y"])], [value("x", shape=[])], [value("y", shape=[])]),
             ({"x": np.float32(2.5)}, "axis -1"))
    columns = np.array([[[1 + 2j, 3], [0.5 + 0.5j, complex(0, -1)]]], np.complex64)
    runs("col2im_complex", model([node("Col2Im", ["x", "image", "block"], ["y"])], [value("x", T.COMPLEX64)], [value("y", T.COMPLEX64)],
                                 [nh.from_array(np.array([1, 3]), "image"), nh.from_array(np.array([1, 2]), "block")], opset=18),
         ({"x": columns}, {"y": np.array([[[[1 + 2j, 3.5 + 0.5j, complex(0, -1)]]]], np.complex64)}))


if __name__ == "__main__":
    for part in (types, tensors, sparse, external, names, wiring, attributes, containers, bodies, functions, files, checks, machines, maps, sequences_of_loops):
        part()
