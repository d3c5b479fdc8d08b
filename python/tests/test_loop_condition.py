"""Loops without a condition input, whose bodies yield a condition all the same."""

import warnings

import numpy as np
import pytest

import mdf_c

onnx = pytest.importorskip("onnx")
backend = pytest.importorskip("mdf_c.onnx_backend")
helper = onnx.helper


def _adding_loop(condition):
    """A Loop of five iterations that adds up 1, whose body yields what `condition` (nodes that take i, going, sum) makes of "go_on"."""
    nodes = [helper.make_node("Add", ["sum", "one"], ["next"]), *condition]
    body = helper.make_graph(nodes, "body", [helper.make_tensor_value_info("i", onnx.TensorProto.INT64, []),
                                             helper.make_tensor_value_info("going", onnx.TensorProto.BOOL, []),
                                             helper.make_tensor_value_info("sum", onnx.TensorProto.FLOAT, [])],
                             [helper.make_tensor_value_info("go_on", onnx.TensorProto.BOOL, []),
                              helper.make_tensor_value_info("next", onnx.TensorProto.FLOAT, [])])
    constants = [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in
                 {"m": np.int64(5), "one": np.float32(1), "two": np.float32(2), "zero": np.float32(0), "yes": np.bool_(True)}.items()]
    graph = helper.make_graph([helper.make_node("Loop", ["m", "", "zero"], ["y"], body=body)], "g", [],
                              [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [])], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


BREAKS = [helper.make_node("Less", ["next", "two"], ["go_on"])]


@pytest.mark.parametrize("loop_condition, expected", [("standard", 5), ("obey", 2)])
def test_a_loop_without_a_condition_does_as_it_is_told(loop_condition, expected):
    model = _adding_loop(BREAKS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mdf_c.run(model, loop_condition=loop_condition).results["y"] == expected
        assert backend.run_model(model, [], loop_condition=loop_condition)[0] == expected
        assert mdf_c.run(model, steps=5, loop_condition=loop_condition).results["y"] == expected


def test_a_loop_without_a_condition_that_may_be_false_is_warned_of():
    with pytest.warns(mdf_c.MdfWarning, match="may be false: it is ignored"):
        assert mdf_c.run(_adding_loop(BREAKS)).results["y"] == 5
    with pytest.raises(ValueError, match="loop_condition must be 'standard' or 'obey'"):
        mdf_c.run(_adding_loop(BREAKS), loop_condition="maybe")


@pytest.mark.parametrize("condition", [
    [helper.make_node("Identity", ["going"], ["go_on"])],
    [helper.make_node("Identity", ["yes"], ["go_on"])],
    [helper.make_node("Constant", [], ["go_on"], value=onnx.numpy_helper.from_array(np.asarray(True)))],
    [helper.make_node("Not", ["going"], ["stop"]), helper.make_node("Not", ["stop"], ["going_on"]), helper.make_node("And", ["going_on", "yes"], ["go_on"])],
    [helper.make_node("Cast", ["one"], ["true"], to=onnx.TensorProto.BOOL), helper.make_node("Or", ["true", "going"], ["go_on"])],
])
def test_a_condition_that_is_always_true_is_not_warned_of(condition):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mdf_c.run(_adding_loop(condition)).results["y"] == 5
