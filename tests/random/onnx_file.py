"""ONNX files without the package onnx: the few messages of onnx.proto that programs need, in protobuf's wire format.

A program is plain JSON: {"opset": n, "inputs": [{"name", "type", "shape"}], "outputs": [...], "initializers": [{"name", "type", "shape",
"data"}], "nodes": [{"op", "inputs", "outputs", "attributes"}]}. An op may have a domain in front, "ai.onnx.ml::Scaler". A type is the name of an element type, or "seq(T)", "optional(T)"; a shape of
None is left open. Attributes: whole numbers, reals, texts, lists of one of these, {"tensor": {"type", "shape", "data"}}, {"graph": program},
{"declares": type, "shape"}, or {"ref": name, "type": number} within a function: what its call gives. "functions": [{"name", "inputs", "outputs", "attributes": [name], "defaults": {name: attribute}, "nodes"}], of the domain local.
"""
import struct

import numpy as np

ELEMENTS = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "string": 8, "bool": 9, "float16": 10,
            "float64": 11, "uint32": 12, "uint64": 13, "complex64": 14, "complex128": 15, "bfloat16": 16,
            "float8_e4m3fn": 17, "float8_e4m3fnuz": 18, "float8_e5m2": 19, "float8_e5m2fnuz": 20, "uint4": 21, "int4": 22}


def _varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while True:
        byte, n = n & 127, n >> 7
        out.append(byte | (128 if n else 0))
        if not n:
            return bytes(out)


def _number(field, n):
    return _varint(field << 3) + _varint(n)


def _bytes(field, content):
    content = content.encode() if isinstance(content, str) else content
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _float(field, x):
    return _varint(field << 3 | 5) + struct.pack("<f", x)


def numpy_array(tensor):
    """The elements of {"type", "shape", "data"}; those of bfloat16 as the upper half of float32, rounded to even."""
    if tensor["type"] == "bfloat16":
        bits = np.array(tensor["data"], np.float32).view(np.uint32)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16).reshape(tensor["shape"])
    if tensor["type"] == "string":
        return np.array(tensor["data"], object).reshape(tensor["shape"])
    if tensor["type"].startswith("complex"):
        return np.array([complex(*pair) for pair in tensor["data"]], tensor["type"]).reshape(tensor["shape"])
    return np.array(tensor["data"], dtype=np.float64 if "float" in tensor["type"] else object).astype(tensor["type"]).reshape(tensor["shape"])


def _tensor(tensor, name=""):
    out = b"".join(_number(1, n) for n in tensor["shape"]) + _number(2, ELEMENTS[tensor["type"]])
    if tensor["type"] == "string":
        out += b"".join(_bytes(6, text) for text in tensor["data"])
    else:
        out += _bytes(9, numpy_array(tensor).tobytes())
    return out + (_bytes(8, name) if name else b"")


def _type(text, shape):
    for prefix, field in (("seq(", 4), ("optional(", 9)):
        if text.startswith(prefix):
            return _bytes(field, _bytes(1, _type(text[len(prefix):-1], shape)))
    axes = b"" if shape is None else _bytes(2, b"".join(_bytes(1, b"" if n is None else _number(1, n)) for n in shape))
    return _bytes(1, _number(1, ELEMENTS[text]) + axes)


def _value(value):
    return _bytes(1, value["name"]) + (_bytes(2, _type(value["type"], value.get("shape"))) if value.get("type") else b"")


def _attribute(name, value):
    out = _bytes(1, name)
    if isinstance(value, dict) and "graph" in value:
        return out + _bytes(6, _graph(value["graph"], name)) + _number(20, 5)
    if isinstance(value, dict) and "ref" in value:
        return out + _bytes(21, value["ref"]) + _number(20, value["type"])
    if isinstance(value, dict) and "declares" in value:
        return out + _bytes(14, _type(value["declares"], value["shape"])) + _number(20, 13)
    if isinstance(value, dict):
        return out + _bytes(5, _tensor(value["tensor"])) + _number(20, 4)
    if isinstance(value, float):
        return out + _float(2, value) + _number(20, 1)
    if isinstance(value, int):
        return out + _number(3, value) + _number(20, 2)
    if isinstance(value, str):
        return out + _bytes(4, value) + _number(20, 3)
    if any(isinstance(x, str) for x in value):
        return out + b"".join(_bytes(9, x) for x in value) + _number(20, 8)
    if any(isinstance(x, float) for x in value):
        return out + b"".join(_float(7, x) for x in value) + _number(20, 6)
    return out + b"".join(_number(8, x) for x in value) + _number(20, 7)


def _node(node):
    domain, _, op = node["op"].rpartition("::")
    return (b"".join(_bytes(1, x) for x in node["inputs"]) + b"".join(_bytes(2, x) for x in node["outputs"]) + _bytes(4, op)
            + b"".join(_bytes(5, _attribute(k, v)) for k, v in node.get("attributes", {}).items()) + (_bytes(7, domain) if domain else b""))


def _graph(graph, name):
    return (b"".join(_bytes(1, _node(x)) for x in graph["nodes"]) + _bytes(2, name)
            + b"".join(_bytes(5, _tensor(x, x["name"])) for x in graph.get("initializers", []))
            + b"".join(_bytes(11, _value(x)) for x in graph["inputs"]) + b"".join(_bytes(12, _value(x)) for x in graph["outputs"]))


def _function(function, opsets):
    return (_bytes(1, function["name"]) + b"".join(_bytes(4, x) for x in function["inputs"]) + b"".join(_bytes(5, x) for x in function["outputs"])
            + b"".join(_bytes(6, x) for x in function["attributes"]) + b"".join(_bytes(7, _node(x)) for x in function["nodes"])
            + b"".join(_bytes(9, x) for x in opsets) + _bytes(10, "local") + b"".join(_bytes(11, _attribute(k, v)) for k, v in function["defaults"].items()))


def encode(program):
    """The bytes of an .onnx file."""
    opsets = [_bytes(1, domain) + _number(2, version) for domain, version in (("", program["opset"]), ("ai.onnx.ml", 3))]
    opsets += [_bytes(1, "local") + _number(2, 1)] if program.get("functions") else []
    return (_number(1, 8) + _bytes(2, "mdf_c") + _bytes(7, _graph(program, "main")) + b"".join(_bytes(8, x) for x in opsets)
            + b"".join(_bytes(25, _function(x, opsets)) for x in program.get("functions", [])))
