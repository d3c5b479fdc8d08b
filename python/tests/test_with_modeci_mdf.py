"""register and from_onnx: what this package gives modeci_mdf."""

import numpy as np
import pytest
from conftest import model_of
from test_onnx_functions import HALVE, SUM, branch

import mdf_c

mdf = pytest.importorskip("modeci_mdf.mdf")
engine = pytest.importorskip("modeci_mdf.execution_engine")


def by_modeci_mdf(node):
    """What modeci_mdf's own engine computes for a model of one node."""
    mdf_c.register()
    graph = engine.EvaluableGraph(mdf.Model.from_dict(model_of(node)).graphs[0])
    graph.evaluate()
    return {id: port.curr_value for id, port in graph.enodes["n"].evaluable_outputs.items()}


def test_scan_in_modeci_mdfs_engine():
    node = {
        "parameters": {
            "x": {"value": [1.0, 2.0, 3.0]},
            "zero": {"value": 0.0},
            "f": {
                "function": "onnx::Scan",
                "args": {"initial_state_and_scan_inputs": ["zero", "x"], "num_scan_inputs": 1, "body": SUM},
            },
        },
        "output_ports": {"total": {"value": "f[0]"}, "doubles": {"value": "f[1]"}},
    }
    found = by_modeci_mdf(node)
    assert found["total"] == 6
    np.testing.assert_array_equal(found["doubles"], [2, 6, 12])


def test_loop_and_if_in_modeci_mdfs_engine():
    node = {
        "parameters": {
            "go": {"value": True},
            "start": {"value": 20.0},
            "l": {"function": "onnx::Loop", "args": {"M": 10, "cond": "go", "v_initial": "start", "body": HALVE}},
            "i": {
                "function": "onnx::If",
                "args": {"cond": "go", "then_branch": branch("1.5"), "else_branch": branch("2.5")},
            },
        },
        "output_ports": {"last": {"value": "l[0]"}, "chosen": {"value": "i[0]"}},
    }
    assert by_modeci_mdf(node) == {"last": 2.5, "chosen": 1.5}


def test_register_can_be_called_again():
    mdf_c.register()
    mdf_c.register()
    assert {"onnx::Scan", "onnx::Loop", "onnx::If"} <= set(pytest.importorskip("modeci_mdf.functions.standard").mdf_functions)


def control_flow_model(onnx):
    """An If in a Loop, which captures an input of the graph; initializers of two types."""
    helper, real, whole, truth = onnx.helper, onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL
    info = helper.make_tensor_value_info
    add = helper.make_graph([helper.make_node("Add", ["x", "step"], ["more"])], "add", [], [info("more", real, [2])])
    less = helper.make_graph([helper.make_node("Sub", ["x", "step"], ["fewer"])], "less", [], [info("fewer", real, [2])])
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["cond"], ["go"]),
            helper.make_node("If", ["up"], ["next"], then_branch=add, else_branch=less),
            helper.make_node("Identity", ["next"], ["seen"]),
        ],
        "body",
        [info("i", whole, []), info("cond", truth, []), info("x", real, [2])],
        [info("go", truth, []), info("next", real, [2]), info("seen", real, [2])],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["trips", "", "start"], ["last", "all"], body=body)],
        "counting",
        [info("start", real, [2]), info("up", truth, [])],
        [info("last", real, [2]), info("all", real, [3, 2])],
        [helper.make_tensor("trips", whole, [], [3]), helper.make_tensor("step", real, [2], [1.0, 10.0])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)])


@pytest.mark.parametrize("up", [True, False])
def test_from_onnx_loses_nothing(up, tmp_path):
    onnx = pytest.importorskip("onnx")
    proto = control_flow_model(onnx)
    inputs = {"start": np.array([0, 1], np.float32), "up": np.array(up)}
    expected = mdf_c.run(proto, inputs).results
    np.testing.assert_array_equal(expected["last"], [3, 31] if up else [-3, -29])
    model = mdf_c.from_onnx(proto)
    assert isinstance(model, mdf.Model) and str(model.onnx_opset_version) == "16"
    model.to_json_file(str(tmp_path / "model.json"))
    onnx.save(proto, tmp_path / "model.onnx")
    for source in (model, model.graphs[0], mdf_c.from_onnx(tmp_path / "model.onnx"), tmp_path / "model.json"):
        found = mdf_c.run(source, inputs).results
        assert list(found) == ["last", "all"]
        for name, value in expected.items():
            assert found[name].dtype == value.dtype
            np.testing.assert_array_equal(found[name], value)


def test_draws_in_a_graph_of_psyneulinks_are_those_of_onnx():
    """The same ones in each run, by the seed, as with modeci_mdf: PsyNeuLink's tests of its export give them to PsyNeuLink."""
    arguments = {"low": -1.0, "high": 1.0, "seed": 0, "shape": (1, 2)}
    graph = mdf.Graph(id="g", metadata={"type": "Composition", "execute_until_finished": True})
    node = mdf.Node(id="n", metadata={"type": "TransferMechanism"})
    function = mdf.Function(
        id="noise", function="onnx::RandomUniform", args=arguments, metadata={"type": "UniformDist", "variable": [[0, 0]]}
    )
    node.functions.append(function)
    node.output_ports.append(mdf.OutputPort(id="y", value="noise", shape=(1, 2)))
    graph.nodes.append(node)
    evaluable = mdf_c.EvaluableGraph(graph)
    for _ in range(2):
        evaluable.evaluate()
        drawn = evaluable.enodes["n"].evaluable_outputs["y"].curr_value
        assert np.array_equal(drawn, mdf_c.functions.onnx.randomuniform(**arguments))
    assert function.metadata["type"] == "UniformDist", "the graph itself is left alone"
