"""Operators of ONNX Runtime's domain com.microsoft that exporters write, beside ONNX Runtime."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

import mdf_c.onnx_backend as backend  # noqa: E402

RANDOM = np.random.default_rng(17)


def call(operator, inputs, result_type, **attributes):
    """What ONNX Runtime gives, and what this engine does."""
    there = {f"x{i}": x for i, x in enumerate(inputs)}
    info = onnx.helper.make_tensor_value_info
    node = onnx.helper.make_node(operator, list(there), ["y"], domain="com.microsoft", **attributes)
    types = {k: onnx.helper.np_dtype_to_tensor_dtype(v.dtype) for k, v in there.items()}
    graph = onnx.helper.make_graph(
        [node], "g", [info(k, types[k], v.shape) for k, v in there.items()], [info("y", result_type, None)]
    )
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.microsoft", 1)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, there)[0], backend.prepare(model).run(list(there.values()))[0]


@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean"])
@pytest.mark.parametrize("dtype, code", [(np.float32, onnx.TensorProto.FLOAT), (np.float64, onnx.TensorProto.DOUBLE)])
@pytest.mark.parametrize("k", [1, 4, 7])
def test_distances(metric, dtype, code, k):
    a, b = RANDOM.standard_normal((9, k)).astype(dtype), RANDOM.standard_normal((5, k)).astype(dtype)
    expected, found = call("CDist", [a, b], code, metric=metric)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64])
def test_hashes_of_numbers(positive, dtype):
    code = onnx.TensorProto.UINT32 if positive else onnx.TensorProto.INT32
    x = (100 * RANDOM.standard_normal((3, 4))).astype(np.int32).astype(dtype)
    expected, found = call("MurmurHash3", [x], code, seed=42, positive=positive)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_hashes_of_texts():
    x = np.array(["", "a", "ab", "abc", "abcd", "abcde", "größer", "a longer text, of several words"], dtype=object)
    info = onnx.helper.make_tensor_value_info
    node = onnx.helper.make_node("MurmurHash3", ["x"], ["y"], domain="com.microsoft", seed=7)
    graph = onnx.helper.make_graph(
        [node], "g", [info("x", onnx.TensorProto.STRING, x.shape)], [info("y", onnx.TensorProto.UINT32, x.shape)]
    )
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.microsoft", 1)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9)
    expected = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    np.testing.assert_array_equal(backend.prepare(model).run([x])[0], expected)


@pytest.mark.parametrize("delta", [2, -3])
@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64, np.float32, np.float64])
def test_ranges_are_those_of_onnx(dtype, delta):
    code = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    for start, limit in ((2, 9), (9, 2), (3, 3)):
        expected, found = call("Range", [np.array(x, dtype) for x in (start, limit, delta)], code)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [(6,), (2, 3), (0,), (2, 0)])
@pytest.mark.parametrize("mark", [0, 1])
@pytest.mark.parametrize(
    "how", [{"tokenexp": "[a-z]+"}, {"tokenexp": "a|ab|."}, {"tokenexp": "."}, {"separators": [" ", "b"]}, {"separators": [""]}]
)
def test_tokens(how, mark, shape):
    x = np.array(["ab cab, dö x", "", "a  b", "日本 a", "a\nb", "12"], dtype=object)[: int(np.prod(shape))].reshape(shape)
    info = onnx.helper.make_tensor_value_info
    node = onnx.helper.make_node("Tokenizer", ["x"], ["y"], domain="com.microsoft", mark=mark, mincharnum=1, pad_value="#", **how)
    text = onnx.TensorProto.STRING
    graph = onnx.helper.make_graph([node], "g", [info("x", text, x.shape)], [info("y", text, None)])
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.microsoft", 1)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9)
    expected = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    np.testing.assert_array_equal(backend.prepare(model).run([x])[0], expected)


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 5, 5)])
def test_inverses(shape):
    x = RANDOM.standard_normal(shape).astype(np.float32) + 3 * np.eye(shape[-1], dtype=np.float32)
    expected, found = call("Inverse", [x], onnx.TensorProto.FLOAT)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)


def test_a_matrix_without_an_inverse():
    with pytest.raises(Exception, match="singular"):
        call("Inverse", [np.zeros((2, 2), np.float32)], onnx.TensorProto.FLOAT)


@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 0, 1, 2]])
@pytest.mark.parametrize("bias", [False, True])
def test_convolutions_back(pads, bias):
    real = np.float32
    x, w = RANDOM.standard_normal((2, 4, 5, 6)).astype(real), RANDOM.standard_normal((4, 3, 3, 3)).astype(real)
    inputs = [x, w, np.array(pads, np.int64), *([RANDOM.standard_normal(3).astype(real)] if bias else [])]
    expected, found = call("ConvTransposeWithDynamicPads", inputs, onnx.TensorProto.FLOAT, strides=[2, 1])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
