"""ONNX's operators as functions: the scope of modeci_mdf's own tests of them, and Scan, Loop and If with every kind of body."""

import json

import numpy as np
import pytest

import mdf_c
from mdf_c.functions import onnx as ops

# Sums what it is given: state, element -> new state, its double.
SUM = {
    "nodes": {
        "n": {
            "input_ports": {"s": {}, "e": {}},
            "output_ports": {"sum": {"value": "s + e"}, "twice": {"value": "2 * (s + e)"}},
        }
    },
    "metadata": {"inputs": ["s", "e"], "outputs": ["sum", "twice"]},
}
HALVE = {
    "nodes": {
        "n": {
            "input_ports": {"i": {}, "c": {"type": "bool"}, "x": {}},
            "output_ports": {"go": {"value": "x / 2 > 4"}, "next": {"value": "x / 2"}, "was": {"value": "x"}},
        }
    },
    "metadata": {"inputs": ["i", "c", "x"], "outputs": ["go", "next", "was"]},
}


def branch(value):
    return {"nodes": {"n": {"output_ports": {"y": {"value": value}}}}}


def test_conv():
    image = np.arange(25, dtype=np.float32).reshape(1, 1, 5, 5)
    found = ops.conv(image, np.ones((1, 1, 3, 3), dtype=np.float32))
    assert found.shape == (1, 1, 3, 3) and found.dtype == np.float32 and found[0, 0, 0, 0] == image[0, 0, :3, :3].sum()
    assert ops.conv(image, np.ones((1, 1, 3, 3), dtype=np.float32), pads=[1, 1, 1, 1]).shape == (1, 1, 5, 5)


def test_pad():
    x, pads, value = np.zeros((3, 2)), np.array([0, 1, 0, 1]), np.array(1.5)
    by_name = ops.pad(x, pads, value, mode="constant")
    np.testing.assert_array_equal(by_name, [[1.5, 0, 0, 1.5]] * 3)
    np.testing.assert_array_equal(ops.pad(x, pads, value, "constant"), by_name)


def test_inputs_by_name_and_attributes():
    assert ops.unsqueeze(data=np.zeros((3, 2)), axes=[0]).shape == (1, 3, 2)
    np.testing.assert_array_equal(ops.concat(np.ones(2), np.zeros(1), axis=0), [1, 1, 0])
    np.testing.assert_array_equal(ops.gemm(np.ones((2, 3)), np.ones((3, 2)), alpha=0.5), np.full((2, 2), 1.5))
    assert ops.mul(1, 2) == 2 and ops.and_(True, False) == np.False_
    np.testing.assert_array_equal(ops.clip(np.array([-1.0, 0.5, 2.0]), None, 1.0), [-1, 0.5, 1])
    np.testing.assert_array_equal(ops.cast(np.array([1.7]), to="int64"), [1])


def test_several_outputs():
    values, places = ops.topk(np.arange(5.0), np.array([2]))
    np.testing.assert_array_equal(values, [4, 3])
    np.testing.assert_array_equal(places, [4, 3])
    assert [len(part) for part in ops.split(np.arange(6.0), np.array([2, 4]))] == [2, 4]
    assert len(ops.split(np.arange(6.0), num_outputs=3, opset=18)) == 3


def test_types_are_kept():
    for dtype in ("float16", "float32", "float64", "int32", "int64"):
        assert ops.add(np.ones(2, dtype), np.ones(2, dtype)).dtype == dtype
    assert ops.add(np.ones(2, "float32"), 1.5).dtype == "float32"


def test_every_operator_has_a_function_with_a_text():
    assert len(ops.OPERATORS) > 150
    for name in ops.__all__:
        if name not in ("DEFAULT_OPSET", "OPERATORS", "call_operator"):
            assert getattr(ops, name).__doc__.startswith("onnx::")


def test_mistakes():
    with pytest.raises(TypeError, match="onnx::Relu"):
        ops.relu(np.ones(2), bogus=3)
    with pytest.raises(mdf_c.MdfError):
        ops.matmul(np.ones((2, 3)), np.ones((2, 3)))
    with pytest.raises(ValueError, match="no operator"):
        ops.call_operator("Reluu", 1)


@pytest.fixture(params=["dict", "path", "object"])
def form(request, tmp_path):
    """Turns a graph (dict) into another kind of body."""

    def turn(graph):
        if request.param == "path":
            path = tmp_path / f"body{id(graph)}.json"
            path.write_text(json.dumps({"m": {"graphs": {"g": graph}}}))
            return path
        if request.param == "object":
            return pytest.importorskip("modeci_mdf.mdf").Graph.from_dict({"g": graph})
        return graph

    return turn


def test_scan(form):
    total, doubles = ops.scan(0.0, np.array([1.0, 2.0, 3.0]), num_scan_inputs=1, body=form(SUM))
    assert total == 6
    np.testing.assert_array_equal(doubles, [2, 6, 12])


def test_loop(form):
    last, seen = ops.loop(None, True, 20.0, body=form(HALVE))
    assert last == 2.5
    np.testing.assert_array_equal(seen, [20, 10, 5])
    assert ops.loop(1, None, 20.0, body=form(HALVE))[0] == 10
    assert ops.loop(1, "", 20.0, body=form(HALVE))[0] == 10
    assert ops.loop("", True, 20.0, body=form(HALVE))[0] == 2.5


def test_if(form):
    branches = {"then_branch": form(branch("1.5")), "else_branch": form(branch("[1, 2]"))}
    (found,) = ops.if_(True, **branches)
    assert found == 1.5
    (found,) = ops.if_(np.array(False), **branches)
    np.testing.assert_array_equal(found, [1, 2])


def test_loop_of_onnx_has_its_inputs_by_name():
    onnx = pytest.importorskip("onnx")
    body = onnx.parser.parse_graph("b (int64 i, bool c, double s) => (bool d, double t) { d = Less(s, s) t = Add(s, s) }")
    assert ops.loop(cond=True, v_initial=[3.0], body=body) == [6]
    assert ops.loop(4, cond=False, v_initial=[3.0], body=body) == [3]
    assert ops.loop(v_initial=[3.0], cond="", M=4, body=body) == [48]


@pytest.mark.parametrize("kind", ["graph", "model", "path"])
def test_bodies_of_onnx(kind, tmp_path):
    onnx = pytest.importorskip("onnx")
    real = onnx.TensorProto.DOUBLE
    values = {name: onnx.helper.make_tensor_value_info(name, real, None) for name in ("s", "e", "sum", "out")}
    nodes = [onnx.helper.make_node("Add", ["s", "e"], ["sum"]), onnx.helper.make_node("Identity", ["sum"], ["out"])]
    body = onnx.helper.make_graph(nodes, "body", [values["s"], values["e"]], [values["sum"], values["out"]])
    if kind != "graph":
        body = onnx.helper.make_model(body, opset_imports=[onnx.helper.make_opsetid("", 16)])
    if kind == "path":
        onnx.save(body, tmp_path / "body.onnx")
        body = tmp_path / "body.onnx"
    total, sums = ops.scan(np.array(0.0), np.array([1.0, 2.0, 3.0]), num_scan_inputs=1, body=body)
    assert total == 6
    np.testing.assert_array_equal(sums, [1, 3, 6])
