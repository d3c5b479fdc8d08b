"""Operators of ONNX Runtime that are read as others of ONNX (mdf_c/document/onnx/onnx_definitions.c), beside ONNX Runtime."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

import mdf_c.onnx_backend as backend  # noqa: E402

TENSOR = onnx.TensorProto


def normal(*shape, seed=0, size=1.0):
    return (size * np.random.default_rng([17, seed, *shape]).standard_normal(shape)).astype(np.float32)


def whole(low, high, *shape, dtype=np.uint8, seed=0):
    return np.random.default_rng([18, seed, *shape]).integers(low, high, shape).astype(dtype)


def real(x):
    return np.float32(x)


def byte(x):
    return np.uint8(x)


def mha(**more):
    return {"num_heads": 2, **more}


ONE = {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 0}
LENGTHS = np.array([3, 5], np.int32)
MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
ROWS = [normal(2, 4, 8, seed=i) for i in range(3)]
LONGER = [normal(2, 5, 8, seed=i) for i in range(3)]
PAST = [normal(2, 2, 3, 4, seed=i) for i in range(3)]
WEIGHTS = [normal(8, 24), normal(24)]
ANGLES = [np.cos(normal(16, 2)), np.sin(normal(16, 2))]
X8, W8, B8 = whole(0, 255, 3, 8), whole(0, 255, 8, 5), whole(-120, 120, 8, 5, dtype=np.int8)
Q = [whole(0, 255, 2, 3, 4, 4), real(0.05), byte(120)]
CACHE = [normal(2, 2, 8, 16), normal(2, 2, 8, 16, seed=1)]
GROUPED = {"num_heads": 4, "kv_num_heads": 2}
GQA = [normal(2, 1, 64), normal(2, 1, 32), normal(2, 1, 32, seed=1)]
FIRST = [normal(2, 4, 64), normal(2, 4, 32), normal(2, 4, 32, seed=1)]
WIDE_ANGLES = [np.cos(normal(16, 8)), np.sin(normal(16, 8))]



def quantised_lstm(directions, dtype, batch, per_output, *more):
    """X, W, R, B, lengths, first states, peepholes, scales and zero points: an input of 8, states of 6."""
    low, high, zero = (-120, 120, 0) if dtype == np.int8 else (0, 255, 127)
    weights = [whole(low, high, directions, n, 24, dtype=dtype) for n in (8, 6)]
    scales = [np.abs(normal(directions, 24)) / 200 + 0.001 if per_output else np.full(directions, scale, np.float32) for scale in (0.008, 0.01)]
    zeros = [np.full(scale.shape, zero, dtype) for scale in scales]
    given = [None, *more, *[None] * (3 - len(more))]
    return [normal(5, batch, 8), *weights, normal(directions, 48), *given, scales[0], zeros[0], scales[1], zeros[1]]


def lstm_attributes(**more):
    return {"hidden_size": 6, **more}


# operator, inputs (None: omitted), attributes, number of outputs
CASES = [
    ("Gelu", [normal(3, 4)], {}, 1),
    ("BiasGelu", [normal(2, 3, 4), normal(4)], {}, 1),
    ("FastGelu", [normal(2, 3, 4), normal(4)], {}, 1),
    ("FastGelu", [normal(2, 3, 4)], {}, 1),
    ("QuickGelu", [normal(2, 3, 4)], {}, 1),
    ("QuickGelu", [normal(2, 3, 4)], {"alpha": 1.0}, 1),
    *[("FusedGemm", [normal(3, 8), normal(8, 5), normal(5)], {"activation": a, "activation_alpha": 0.1, **ONE}, 1)
      for a in ("Relu", "Sigmoid", "Tanh", "LeakyRelu")],
    ("FusedGemm", [normal(8, 3), normal(5, 8)], {"activation": "Relu", **ONE, "transA": 1, "transB": 1, "alpha": 0.5}, 1),
    *[("FusedConv", [normal(1, 3, 6, 6), normal(4, 3, 3, 3), normal(4)], {"activation": a, "pads": [1, 1, 1, 1], **more}, 1)
      for a, more in (("Relu", {}), ("Clip", {"activation_params": [-0.5, 0.5]}), ("LeakyRelu", {"activation_params": [0.2]}),
                      ("HardSigmoid", {"activation_params": [0.2, 0.5]}))],
    ("FusedConv", [normal(1, 3, 6, 6), normal(4, 3, 3, 3), normal(4), normal(1, 4, 4, 4)], {"activation": "Relu"}, 1),
    *[("FusedMatMul", [normal(*a), normal(*b)], {"transA": ta, "transB": tb, "alpha": alpha}, 1)
      for a, b, ta, tb, alpha in (((3, 4), (4, 5), 0, 0, 0.5), ((4, 3), (4, 5), 1, 0, 1.0), ((2, 3, 4), (2, 5, 4), 0, 1, 0.25),
                                  ((2, 4, 3), (5, 4), 1, 1, 2.0))],
    ("FusedMatMul", [normal(3, 2, 4), normal(2, 4, 5)], {"transBatchA": 1}, 1),
    ("TransposeMatMul", [normal(2, 3, 4), normal(2, 5, 4)], {"transB": 1}, 1),
    *[("MatMulNBits", [normal(2, 40), whole(0, 255, 6, 3, 2 * bits), normal(6, 3), *zeros], {"K": 40, "N": 6, "bits": bits, "block_size": 16}, 1)
      for bits in (4, 8) for zeros in ([], [whole(0, 255, 6, (3 * bits + 7) // 8)])],
    ("MatMulNBits", [normal(1, 2, 32), whole(0, 255, 6, 2, 8), normal(12), None, None, normal(6)], {"K": 32, "N": 6, "bits": 4, "block_size": 16}, 1),
    *[("GatherBlockQuantized", [whole(0, 255, 9, 4 * bits), whole(0, 9, 2, 3, dtype=np.int64), normal(9, 2), *zeros], {"bits": bits, "block_size": 16}, 1)
      for bits in (4, 8) for zeros in ([], [whole(0, 255, 9, bits // 4)])],
    ("SkipLayerNormalization", [normal(2, 3, 8), normal(2, 3, 8, seed=1), normal(8), normal(8, seed=1)], {}, 1),
    ("SkipLayerNormalization", [normal(2, 3, 8), normal(1, 3, 8, seed=1), normal(8), None, normal(8, seed=2)], {"epsilon": 1e-5}, (0, 3)),
    ("SkipSimplifiedLayerNormalization", [normal(2, 3, 8), normal(2, 3, 8, seed=1), normal(8)], {}, (0, 3)),
    ("SkipSimplifiedLayerNormalization", [normal(2, 3, 8), normal(2, 3, 8, seed=1), normal(8), normal(8, seed=2)], {"epsilon": 1e-5}, 1),
    *[("EmbedLayerNormalization", [whole(0, 9, 2, 5, dtype=np.int32), segments, normal(9, 8), normal(6, 8), normal(2, 8) if segments is not None else None,
                                   normal(8), normal(8, seed=1), mask], {"epsilon": 1e-5}, 2)
      for segments, mask in ((None, None), (whole(0, 2, 2, 5, dtype=np.int32), MASK))],
    *[("RotaryEmbedding", [x, positions, *ANGLES], {"interleaved": interleaved, **more}, 1) for interleaved in (0, 1)
      for positions in (np.array([3], np.int64), whole(0, 16, 2, 4, dtype=np.int64))
      for x, more in ((normal(2, 3, 4, 4), {}), (normal(2, 4, 12), {}))],
    ("RotaryEmbedding", [normal(2, 4, 18), np.array([1], np.int64), *ANGLES], {"num_heads": 3, "rotary_embedding_dim": 4}, 1),
    ("MultiHeadAttention", ROWS, mha(), 1),
    ("MultiHeadAttention", ROWS, mha(scale=0.3), 1),
    ("MultiHeadAttention", ROWS, mha(unidirectional=1), 1),
    ("MultiHeadAttention", [ROWS[0], *LONGER[1:], normal(24)], mha(), 1),
    ("MultiHeadAttention", [ROWS[0], *LONGER[1:], None, LENGTHS], mha(), 1),
    ("MultiHeadAttention", [ROWS[0], *LONGER[1:], None, MASK], mha(), 1),
    ("MultiHeadAttention", [ROWS[0], *LONGER[1:], None, MASK, normal(1, 2, 4, 5)], mha(mask_filter_value=-100.0), 1),
    ("MultiHeadAttention", [ROWS[0], *LONGER[1:], None, None, normal(2, 2, 4, 5)], mha(), 1),
    ("MultiHeadAttention", [*ROWS, normal(24), None, None, *PAST[:2]], mha(), 3),
    ("MultiHeadAttention", [*ROWS, None, None, None, *PAST[:2]], mha(unidirectional=1), 3),
    ("MultiHeadAttention", [ROWS[0], normal(2, 2, 5, 4), normal(2, 2, 5, 4, seed=1)], mha(), 1),
    ("Attention", [ROWS[0], *WEIGHTS], mha(), 1),
    ("Attention", [LONGER[0], *WEIGHTS, LENGTHS], mha(), 1),
    ("Attention", [LONGER[0], *WEIGHTS, MASK], mha(unidirectional=1), 1),
    ("Attention", [LONGER[0], *WEIGHTS, np.tril(np.ones((2, 5, 5), np.int32))], mha(mask_filter_value=-50.0), 1),
    ("Attention", [ROWS[0], *WEIGHTS, None, np.stack(PAST[:2])], mha(unidirectional=1), 2),
    ("Attention", [ROWS[0], *WEIGHTS, None, None, normal(1, 2, 4, 4)], mha(), 1),
    ("Attention", [ROWS[0], normal(8, 20), normal(20)], mha(qkv_hidden_sizes=[8, 8, 4]), 1),
    ("QAttention", [whole(0, 255, 2, 5, 8), whole(0, 255, 8, 24), normal(24), real(0.01), real(0.02), MASK, byte(128), byte(120)], mha(), 1),
    ("GroupQueryAttention", [*FIRST, None, None, np.array([3, 3], np.int32), np.int32(4)], GROUPED, 1),
    ("GroupQueryAttention", [*FIRST, None, None, np.array([3, 3], np.int32), np.int32(4), *WIDE_ANGLES], {**GROUPED, "do_rotary": 1}, 3),
    ("GroupQueryAttention", [*GQA, *CACHE, np.array([8, 8], np.int32), np.int32(9), *WIDE_ANGLES], {**GROUPED, "do_rotary": 1, "rotary_interleaved": 1}, 3),
    ("GroupQueryAttention", [*GQA, *CACHE, np.array([5, 8], np.int32), np.int32(9)], {**GROUPED, "scale": 0.2}, 3),
    ("GroupQueryAttention", [*GQA, *CACHE, np.array([8, 8], np.int32), np.int32(9)], {**GROUPED, "local_window_size": 4, "softcap": 2.0}, 3),
    ("GroupQueryAttention", [normal(2, 1, 128), None, None, *CACHE, np.array([8, 8], np.int32), np.int32(9), *WIDE_ANGLES], {**GROUPED, "do_rotary": 1}, 3),
    ("QuantizeLinear", [normal(3, 4), real(0.02), byte(120)], {}, 1),
    ("QuantizeLinear", [normal(3, 4), np.array([0.02, 0.03, 0.1, 0.2], np.float32), whole(100, 130, 4)], {}, 1),
    ("DequantizeLinear", [whole(0, 255, 3, 4), real(0.02), byte(120)], {}, 1),
    ("DequantizeLinear", [whole(0, 65535, 3, 4, dtype=np.uint16), real(0.02), np.uint16(1200)], {}, 1),
    ("DynamicQuantizeMatMul", [normal(3, 8), W8, real(0.03), byte(110), normal(5)], {}, 1),
    ("DynamicQuantizeMatMul", [normal(3, 8), B8, np.abs(normal(5)), np.zeros(5, np.int8)], {}, 1),
    ("DynamicQuantizeLSTM", quantised_lstm(1, np.uint8, 1, False), lstm_attributes(), 3),
    ("DynamicQuantizeLSTM", quantised_lstm(2, np.int8, 2, False), lstm_attributes(direction="bidirectional"), 3),
    ("DynamicQuantizeLSTM", quantised_lstm(1, np.int8, 2, True, normal(1, 2, 6), normal(1, 2, 6)), lstm_attributes(direction="reverse", clip=0.9), 3),
    ("DynamicQuantizeLSTM", quantised_lstm(1, np.uint8, 2, False, None, None, normal(1, 18)),
     lstm_attributes(input_forget=0, activations=["HardSigmoid", "Relu", "Tanh"], activation_alpha=[0.25], activation_beta=[0.4]), 3),
    ("MatMulIntegerToFloat", [X8, W8, real(0.01), real(0.03), byte(110), byte(90), normal(5)], {}, 1),
    ("QLinearAdd", [*Q, *Q[:1], real(0.03), byte(100), real(0.1), byte(128)], {}, 1),
    
    ("QLinearMul", [*Q, whole(0, 255, 4), real(0.03), byte(100), real(0.1), byte(128)], {}, 1),
    ("QLinearSigmoid", [*Q, real(1 / 256), byte(0)], {}, 1),
    ("QLinearLeakyRelu", [*Q, real(0.04), byte(20)], {"alpha": 0.1}, 1),
    ("QLinearConcat", [real(0.04), byte(100), *Q, Q[0], real(0.03), byte(90), Q[0][:, :1], real(0.08), byte(128)], {"axis": 1}, 1),
    ("QLinearSoftmax", [*Q, real(1 / 256), byte(0)], {"opset": 13}, 1),
    ("QLinearGlobalAveragePool", [*Q, real(0.02), byte(128)], {}, 1),
    ("QLinearAveragePool", [*Q, real(0.05), byte(128)], {"kernel_shape": [2, 2], "pads": [1, 0, 0, 1]}, 1),
    ("QLinearWhere", [Q[0] > 100, *Q, whole(0, 255, 4), real(0.03), byte(100), real(0.1), byte(128)], {}, 1),
    ("QGemm", [X8, real(0.02), byte(120), W8, real(0.03), byte(100), whole(-900, 900, 5, dtype=np.int32), real(0.5), byte(128)], {}, 1),
    ("QGemm", [X8, real(0.02), byte(120), W8.T.copy(), real(0.03), byte(100)], {"transB": 1}, 1),
    ("Trilu", [normal(3, 4, 4), np.int64(1)], {"upper": 0}, 1),
    ("GatherND", [normal(3, 4, 5), np.array([[0, 1], [2, 3]], np.int32)], {}, 1),
    ("ExpandDims", [normal(3, 4), np.int32(-1)], {}, 1),
    ("Pad", [normal(3, 4), np.array([1, 0, 2, 1], np.int64), np.array([0.5], np.float32)], {}, 1),
    ("Unique", [np.array([2, 1, 2, 5, 1], np.float32)], {}, 3),
    ("GridSample", [normal(1, 2, 4, 4), np.tanh(normal(1, 3, 3, 2))], {"mode": "bilinear"}, 1),
    *[("CropAndResize", [normal(2, 3, 6, 7), np.array([[0, 0, 1, 1], [0.1, 0.2, 0.8, 0.7], [-0.2, 0.5, 1.2, 0.1]], np.float32),
                         np.array([0, 1, 1], np.int32), np.array(size, np.int32)], {"extrapolation_value": 0.5}, 1) for size in ((4, 5), (1, 3))],
]  # fmt: skip


def model_of(operator, inputs, attributes, outputs, domain="com.microsoft", opset=17):
    info = onnx.helper.make_tensor_value_info
    code = onnx.helper.np_dtype_to_tensor_dtype
    there = {f"x{i}": np.asarray(x) for i, x in enumerate(inputs) if x is not None}
    wanted = range(outputs) if isinstance(outputs, int) else outputs
    names = [f"y{i}" if i in wanted else "" for i in range(max(wanted) + 1)]
    given = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    node = onnx.helper.make_node(operator, given, names, domain=domain, **attributes)
    results = [onnx.helper.make_empty_tensor_value_info(name) for name in names if name]
    graph = onnx.helper.make_graph([node], "g", [info(k, code(v.dtype), v.shape) for k, v in there.items()], results)
    opsets = [onnx.helper.make_opsetid("", opset), onnx.helper.make_opsetid("com.microsoft", 1)]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10), there


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda i: f"{CASES[i][0]}-{i}")
def test_as_onnx_runtime(case):
    operator, inputs, attributes, outputs = CASES[case]
    model, there = model_of(operator, inputs, attributes, outputs)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1  # a state of DynamicQuantizeLSTM is rounded with those of its thread
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    expected = session.run(None, there)
    found = backend.prepare(model).run(list(there.values()))
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        if theirs.dtype.kind == "f":
            np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)
        else:  # one step of what is quantised: sums are rounded in another order
            assert np.abs(ours.astype(np.int64) - theirs.astype(np.int64)).max() <= (1 if operator.startswith("Q") else 0)


@pytest.mark.parametrize("of_lengths", [False, True])
def test_masks_whose_rank_is_not_known(of_lengths):
    """As ONNX Runtime's optimizer writes them: the value has no declared shape, and is [batch, keys] or [batch]."""
    node, info = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    steps = [node("Cast", ["m"], ["all"], to=TENSOR.INT32), node("Add", ["all", "none"], ["some"])]
    steps += [node("ReduceSum", ["some", "one"], ["mask"], keepdims=0) if of_lengths else node("Identity", ["some"], ["mask"])]
    steps += [node("Attention", ["x", "w", "b", "mask"], ["y"], domain="com.microsoft", num_heads=2)]
    constants = [onnx.numpy_helper.from_array(x, name) for name, x in
                 (("none", np.int32(0)), ("one", np.array([1])), ("w", WEIGHTS[0]), ("b", WEIGHTS[1]))]  # fmt: skip
    graph = onnx.helper.make_graph(
        steps, "g", [info("x", TENSOR.FLOAT, [2, 5, 8]), info("m", TENSOR.INT64, [2, 5])], [info("y", TENSOR.FLOAT, None)], constants
    )
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.microsoft", 1)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)
    inputs = {"x": LONGER[0], "m": MASK.astype(np.int64)}
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(backend.prepare(model).run(list(inputs.values()))[0], session.run(None, inputs)[0], rtol=1e-3, atol=1e-5)
