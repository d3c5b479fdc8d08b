"""ONNX's own tests of backends, unchanged: of the nodes, those that say most about a backend."""

import copy
import pickle
import signal
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the tests' own data divide by zero
    import onnx.backend.test

    import mdf_c.engine
    import mdf_c.onnx_backend as backend
    from mdf_c.engine import load

    TESTS = onnx.backend.test.BackendTest(backend, __name__)
    for part in (
        "loop",
        "scan",
        "if",
        "sequence",
        "optional",
        "gemm",
        "conv_",
        "softmax",
        "einsum",
        "string",
        "cast_",
        "reshape",
    ):
        TESTS.include(rf"^test_{part}.*_cpu$")
    # ONNX's runner can not compare the output of this test with itself: len() of an array without axes.
    TESTS.exclude("test_loop16_seq_none_cpu")
    OnnxBackendNodeModelTest = TESTS.test_cases["OnnxBackendNodeModelTest"]
    for name, method in list(vars(OnnxBackendNodeModelTest).items()):
        if getattr(method, "__unittest_skip__", False):  # of other devices, or not included
            delattr(OnnxBackendNodeModelTest, name)


def make_model():
    helper, real = onnx.helper, onnx.TensorProto.FLOAT
    info = helper.make_tensor_value_info
    node = helper.make_node("Add", ["a", "b"], ["sum"])
    graph = helper.make_graph([node], "g", [info("a", real, [2]), info("b", real, [2])], [info("sum", real, [2])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def test_prepare_and_run():
    a, b = np.array([1, 2], np.float32), np.array([3, 4], np.float32)
    prepared = backend.prepare(make_model())
    for inputs in ([a, b], {"b": b, "a": a}):
        found = prepared.run(inputs)
        np.testing.assert_array_equal(found.sum, [4, 6])
    np.testing.assert_array_equal(backend.run_model(make_model(), [a, a])[0], [2, 4])
    (found,) = backend.run_node(onnx.helper.make_node("Mul", ["x", "y"], ["z"]), [a, b])
    np.testing.assert_array_equal(found, [3, 8])
    (found,) = backend.run_node(onnx.helper.make_node("Clip", ["x", "", "m"], ["z"]), [b, np.float32(3.5)])
    np.testing.assert_array_equal(found, [3, 3.5])


def random_sums():
    """Three random numbers, and the sum of what comes in, of any shape."""
    helper, real = onnx.helper, onnx.TensorProto.FLOAT
    info = helper.make_tensor_value_info
    nodes = [helper.make_node("RandomUniform", [], ["noise"], shape=[3]), helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0)]
    graph = helper.make_graph(nodes, "g", [info("x", real, None)], [info("noise", real, [3]), info("sum", real, [])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def test_each_run_is_from_a_fresh_state():
    prepared = backend.prepare(random_sums())
    first = prepared.run([np.ones(3, np.float32)])
    for shape in [(3,), (3,), (3,), (2, 5), (2, 5), (200, 300), (), (3,), (3,), (200, 300), (200, 300), (0, 2), (0, 2), (3,)]:
        x = np.ones(shape, np.float32)
        found = prepared.run([x])
        x[...] = 7
        np.testing.assert_array_equal(found.noise, first.noise)
        assert found.sum == x.size and found["sum"] == x.size
    fixed, spread = np.ones(3, np.float32), np.arange(6, dtype=np.float32)
    fixed.flags.writeable = False
    assert [prepared.run([x]).sum for x in (fixed, spread[::2], spread[:3], spread[3:], fixed)] == [3, 6, 3, 12, 3]
    with pytest.raises(ValueError, match="x"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepared.run([])
    with pytest.raises(ValueError, match="string"):
        prepared.run([np.array(["a"])])
    for same in (prepared, copy.copy(prepared), copy.deepcopy(prepared), pickle.loads(pickle.dumps(prepared))):
        np.testing.assert_array_equal(same.run([x]).noise, first.noise)


@pytest.mark.parametrize("long_s", [0.0, 1e9])
def test_long_runs_and_short_ones_are_evaluated_alike(monkeypatch, long_s):
    monkeypatch.setattr(mdf_c.engine, "_LONG_S", long_s)
    helper, real, watched = onnx.helper, onnx.TensorProto.FLOAT, []
    infos = [helper.make_tensor_value_info(name, real, [4]) for name in "xy"]
    nodes = [helper.make_node("Mul", ["x", "x"], ["z"]), helper.make_node("Add", ["z", "x"], ["y"])]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:])
    prepared = backend.prepare(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    for i in range(6):
        np.testing.assert_array_equal(prepared.run([np.full(4, i, np.float32)]).y, [i * i + i] * 4)
        (state,) = prepared._idle
        if i == 2:  # from now on in one call
            monkeypatch.setattr(state, "evaluate", None)
            monkeypatch.setattr(state, "_guard", lambda call, guard=state._guard: (watched.append(1), guard(call)))
    assert state.explain().startswith("graph 'g': lowered")
    assert len(watched) == (3 if long_s == 0 else 0)


def test_a_long_run_after_others_hears_ctrl_c(monkeypatch):
    monkeypatch.setattr(mdf_c.engine, "_LONG_S", 0.0)
    helper, real, whole, truth = onnx.helper, onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL
    info = helper.make_tensor_value_info
    nodes = [helper.make_node("Sin", ["s"], ["t"]), helper.make_node("Identity", ["c"], ["d"])]
    body = helper.make_graph(nodes, "b", [info("i", whole, []), info("c", truth, []), info("s", real, [])], [info("d", truth, []), info("t", real, [])])
    loop = helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)
    graph = helper.make_graph([loop], "g", [info("n", whole, []), info("x", real, [])], [info("y", real, [])])
    prepared = backend.prepare(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    found = [prepared.run([np.int64(3), np.float32(0.5)]).y for _ in range(4)]
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            prepared.run([np.int64(2**60), np.float32(0.5)])
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert [prepared.run([np.int64(3), np.float32(0.5)]).y for _ in range(4)] == found


def test_maps_of_all_runs_are_the_callers_own():
    helper, real = onnx.helper, onnx.TensorProto.FLOAT
    zipped = helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_strings=["a", "b"])
    graph = helper.make_graph(
        [zipped], "g", [helper.make_tensor_value_info("x", real, [None, 2])], [helper.make_empty_tensor_value_info("y")]
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    prepared = backend.prepare(helper.make_model(graph, opset_imports=opsets))
    given = [np.full((n, 2), (n, -n), np.float32) + np.arange(2 * n, dtype=np.float32).reshape(n, 2) for n in (2, 2, 3, 0, 1, 3)]
    found = [prepared.run([x]).y for x in given]
    assert [[(row["a"], row["b"]) for row in rows] for rows in found] == [[tuple(row) for row in x] for x in given]
    assert all(number.dtype == np.float32 for rows in found for row in rows for number in row.values())


@pytest.mark.parametrize("is_declared", [True, False])
def test_keys_of_maps_are_what_the_model_says(is_declared):
    helper = onnx.helper
    zipped = helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_int64s=[3, -5])
    row = helper.make_map_type_proto(onnx.TensorProto.INT64, helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, []))
    rows = helper.make_value_info("y", helper.make_sequence_type_proto(row)) if is_declared else helper.make_empty_tensor_value_info("y")
    graph = helper.make_graph([zipped], "g", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [None, 2])], [rows])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    prepared = backend.prepare(helper.make_model(graph, opset_imports=opsets))
    for n in (2, 2, 40, 0, 1):
        x = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
        assert prepared.run([x]).y == [{3: a, -5: b} for a, b in x], n


def test_runs_at_a_time():
    prepared = backend.prepare(random_sums())
    given = [np.full(40_000, i, np.float32) for i in range(8)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda x: float(prepared.run([x]).sum), given * 5))
    assert found == [40_000.0 * i for i in range(8)] * 5


def test_devices_and_compatibility():
    assert backend.supports_device("CPU") and backend.supports_device("cpu:0") and not backend.supports_device("CUDA")
    with pytest.raises(ValueError, match="CUDA"):
        backend.prepare(make_model(), "CUDA")
    assert backend.is_compatible(make_model())
    wrong = make_model()
    wrong.graph.node[0].op_type = "Addd"
    assert not backend.is_compatible(wrong)


def _labels_and_maps():
    """Labels of rows by a tree of one split, and ZipMap of their scores."""
    helper, real = onnx.helper, onnx.TensorProto.FLOAT
    tree = helper.make_node(
        "TreeEnsembleClassifier", ["x"], ["label", "scores"], domain="ai.onnx.ml", classlabels_strings=["low", "hi gh"],
        nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[0, 0, 0], nodes_values=[0.5, 0.0, 0.0],
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0],
        class_treeids=[0, 0, 0, 0], class_nodeids=[1, 1, 2, 2], class_ids=[0, 1, 0, 1], class_weights=[0.75, 0.25, 0.125, 0.875],
    )  # fmt: skip
    zipped = helper.make_node("ZipMap", ["scores"], ["maps"], domain="ai.onnx.ml", classlabels_strings=["low", "hi gh"])
    outputs = [helper.make_tensor_value_info("label", onnx.TensorProto.STRING, [None]), helper.make_empty_tensor_value_info("maps")]
    graph = helper.make_graph([tree, zipped], "g", [helper.make_tensor_value_info("x", real, [None, 1])], outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)])


def _expected(x):
    high = x[:, 0] > 0.5
    maps = [{"low": 0.125 if h else 0.75, "hi gh": 0.875 if h else 0.25} for h in high]
    return ["hi gh" if h else "low" for h in high], maps


def test_texts_and_maps_are_taken_anew_each_time():
    """Evaluations of one state with other numbers, and with other numbers of rows; what an earlier one gave does not change."""
    state = load(_labels_and_maps()).compile().state()
    rng = np.random.default_rng(3)
    given, found, kept = [], [], []
    for n in [3, 3, 3, 3, 5, 5, 5, 2, 2, 1, 3, 3]:
        given.append(rng.random((n, 1)).astype(np.float32))
        state.set_inputs({"x": given[-1]})
        state.evaluate()
        found.append(state.results())
        if n == 3:
            node = next(node for node, port in state.program.outputs if port == "maps")
            kept.append((len(found) - 1, state.output(node, "maps", copy=False)))
    for x, results in zip(given, found):
        labels, maps = _expected(x)
        assert results["label"].dtype == object and results["label"].tolist() == labels
        assert results["maps"] == maps and list(map(list, results["maps"])) == list(map(list, maps))
    for i, maps in kept:
        assert maps == _expected(given[i])[1]


def test_stft_takes_real_signals_without_a_last_axis():
    """As PyTorch's exporter writes them, and ONNX Runtime takes them."""
    node = onnx.helper.make_node("STFT", ["signal", "step", "window"], ["spectrum"])
    signal = np.random.default_rng(5).standard_normal((2, 40)).astype(np.float32)
    others = np.array(4), np.hanning(16).astype(np.float32)
    (flat,), (deep,) = backend.run_node(node, [signal, *others]), backend.run_node(node, [signal[..., None], *others])
    assert flat.shape == (2, 7, 9, 2)
    np.testing.assert_array_equal(flat, deep)
