"""Models written as ONNX: onnx.checker takes the files, and ONNX Runtime gives the same numbers."""

import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

from mdf_c._library import native_file

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

ROOT = pathlib.Path(__file__).parent.parent.parent
TOOL = ROOT / "tools" / "check_onnx_export.py"
pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="the tool is in the repository")

REFUSED = {
    "actr_retrieval.json": "object",
    "drift_diffusion.yaml": "random",
    "race.yaml": "graph of its own",
}


@pytest.fixture(scope="module")
def tool():
    specification = importlib.util.spec_from_file_location("check_onnx_export", TOOL)
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


def test_examples(tool, tmp_path):
    written = 0
    for path in tool.models([ROOT / "examples"]):
        if path.parent.name in ("plugin", "fitting"):  # what it calls is not there; files of fits, and what draws
            continue
        kind, detail = tool.check(path, tmp_path)
        if path.name in REFUSED:
            assert kind == "refused" and REFUSED[path.name] in detail, (path, kind, detail)
        else:
            assert kind == "written", (path, kind, detail)
            written += 1
    assert written >= 15


def test_states_are_inputs_and_outputs(examples, tmp_path):
    import mdf_c

    mdf_c.load(examples / "cooling.yaml").save(tmp_path / "cooling.onnx")
    graph = onnx.load(str(tmp_path / "cooling.onnx")).graph
    assert {"cup.temperature", "dt"} <= {one.name for one in graph.input}
    assert "cup.temperature.next" in {one.name for one in graph.output}
    double = onnx.TensorProto.DOUBLE
    assert all(one.type.tensor_type.elem_type == double for one in graph.input if one.name == "cup.temperature")


def graph_of(nodes, edges=None, conditions=None):
    graph = {"nodes": nodes, "edges": edges or {}}
    if conditions is not None:
        graph["conditions"] = conditions
    return {"m": {"graphs": {"g": graph}}}


COUNTER = {"parameters": {"n": {"value": "n + 1"}}, "output_ports": {"count": {"value": "n"}}}
READER = {"input_ports": {"x": {}}, "parameters": {"sum": {"value": "sum + x"}}, "output_ports": {"seen": {"value": "sum"}}}
A_TO_B = {"a_to_b": {"sender": "a", "receiver": "b", "sender_port": "count", "receiver_port": "x"}}
EVERY_2 = {"type": "EveryNCalls", "kwargs": {"dependency": "a", "n": 2}}
MODELS = {
    "a node that runs twice in each evaluation": graph_of({"a": COUNTER, "b": READER}, A_TO_B, {"node_specific": {"b": EVERY_2}}),
    "an input that the first of two runs takes": graph_of(
        {
            "a": {"input_ports": {"x": {"shape": [1]}}, "output_ports": {"count": {"value": "x + 1"}}},
            "b": {"input_ports": {"x": {}}, "output_ports": {"seen": {"value": "x * 2"}}},
        },
        A_TO_B,
        {"node_specific": {"b": EVERY_2}},
    ),
    "an edge from a later node": graph_of(
        {
            "a": {"input_ports": {"x": {"default_value": 3.0}}, "output_ports": {"y": {"value": "x * 0.5 + 1"}}},
            "b": {"input_ports": {"x": {}}, "output_ports": {"y": {"value": "x + 1"}, "z": {"value": "x * 2"}}},
        },
        {
            "there": {"sender": "a", "receiver": "b", "sender_port": "y", "receiver_port": "x"},
            "back": {"sender": "b", "receiver": "a", "sender_port": "y", "receiver_port": "x", "parameters": {"weight": 0.25}},
        },
    ),
    "an edge of a node to itself, and no results": graph_of(
        {"a": {"input_ports": {"x": {"default_value": 1}}, "output_ports": {"y": {"value": "x * 2"}}}},
        {"e": {"sender": "a", "receiver": "a", "sender_port": "y", "receiver_port": "x"}},
    ),
    "an initial value from an input": graph_of(
        {
            "a": {
                "input_ports": {"v0": {}, "x": {}},
                "parameters": {"v": {"default_initial_value": "v0 * 2", "value": "v + x"}},
                "output_ports": {"v": {"value": "v"}},
            }
        }
    ),
    "a function of several outputs": graph_of(
        {
            "a": {
                "input_ports": {"x": {"shape": [4]}},
                "parameters": {"best": {"function": "onnx::TopK", "args": {"X": "x", "K": [2]}}},
                "output_ports": {"best": {"value": "best"}},
            }
        }
    ),
    "inputs that are no reals": graph_of(
        {
            "a": {
                "input_ports": {"x": {"shape": [3]}, "i": {"shape": [2]}, "c": {"shape": [2]}},
                "parameters": {
                    "chosen": {"function": "onnx::Gather", "args": {"data": "x", "indices": "i"}},
                    "kept": {"function": "onnx::Where", "args": {"condition": "c", "X": "chosen", "Y": [0.0]}},
                },
                "output_ports": {"y": {"value": "kept"}},
            }
        }
    ),
    "zeros like": graph_of({"a": {"input_ports": {"x": {"shape": [3]}}, "output_ports": {"y": {"value": "numpy.zeros_like(x) + x"}}}}),
}


@pytest.mark.parametrize("name", MODELS)
def test_forms(tool, tmp_path, name):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(MODELS[name]))
    assert tool.check(path, tmp_path) == ("written", "")


def test_float32_has_kernels(tool, tmp_path):
    import mdf_c

    path = tmp_path / "model.json"
    path.write_text(json.dumps(graph_of({"a": {"input_ports": {"x": {}}, "output_ports": {"y": {"value": "numpy.arctan(x)"}}}})))
    assert tool.check(path, tmp_path) == (
        "no kernel",
        "Atan(7): onnx.reference gives the same; in float32 ONNX Runtime gives the same",
    )
    program = native_file("mdf-run")
    subprocess.run(["mdf-convert", "--float32", path, tmp_path / "narrow.onnx"], executable=program, check=True)
    types = {one.type.tensor_type.elem_type for one in onnx.load(str(tmp_path / "narrow.onnx")).graph.output}
    assert types == {onnx.TensorProto.FLOAT}
    assert subprocess.run(["mdf-convert", "--float32", path, tmp_path / "copy.json"], executable=program, capture_output=True, check=False).returncode == 2
    with pytest.raises(TypeError, match="written as ONNX"):
        mdf_c.load(path).save(tmp_path / "copy.json", float32=True)


def test_what_changes_from_evaluation_to_evaluation_is_refused(tool, tmp_path):
    life = {"type": "AfterNCalls", "kwargs": {"dependency": "a", "n": 2, "time_scale": "TimeScale.LIFE"}}
    path = tmp_path / "model.json"
    path.write_text(json.dumps(graph_of({"a": COUNTER, "b": READER}, A_TO_B, {"node_specific": {"b": life}})))
    kind, detail = tool.check(path, tmp_path)
    assert kind == "refused" and "earlier evaluations" in detail


@pytest.mark.parametrize("port", [{}, {"type": "float"}, {"type": "float64"}, {"default_value": 1.5}])
def test_truths_are_those_of_python_numbers_where_no_type_is_declared(port, tmp_path):
    import mdf_c

    values = {"o1": "(x > 1) + (x > 0)", "o2": "~(x > 1)", "o3": "(not x) + (x > 1)", "o4": "(x > 1) * 3"}
    node = {"input_ports": {"x": port}, "output_ports": {name: {"value": value} for name, value in values.items()}}
    model = mdf_c.load({"m": {"graphs": {"g": {"nodes": {"n": node}}}}})
    model.save(tmp_path / "m.onnx")
    results = []
    for program in (model.compile(), mdf_c.compile(tmp_path / "m.onnx")):
        state = program.state()
        state.set_inputs({"x": 1.5})
        state.evaluate()
        results.append({name: (value.dtype, value.item()) for name, value in state.results().items()})
    assert results[0] == results[1]


def test_optionals(tmp_path):
    import numpy as np
    import onnxruntime
    from onnx import TensorProto, helper

    import mdf_c

    item = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
    for of in (item, helper.make_sequence_type_proto(item)):
        optional = helper.make_optional_type_proto(of)
        one = [] if of is item else [helper.make_node("SequenceConstruct", ["x", "x"], ["s"])]

        def graph(name, nodes, inputs=(), of=optional):
            output = onnx.ValueInfoProto(name=nodes[-1].output[0], type=of)
            return helper.make_graph(nodes, name, list(inputs), [output])

        some = graph("some", [*one, helper.make_node("Optional", ["s" if one else "x"], ["a"])])
        none = graph("none", [helper.make_node("Optional", [], ["b"], type=of)])
        chosen = helper.make_node("If", ["c"], ["o"], then_branch=some, else_branch=none)
        has = helper.make_node("OptionalHasElement", ["given"], ["h"])
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
        c, h = (helper.make_tensor_value_info(name, TensorProto.BOOL, []) for name in "ch")
        given = onnx.ValueInfoProto(name="given", type=optional)
        whole = graph("g", [has, chosen], [x, c, given])
        whole.output.append(h)
        model = helper.make_model(whole, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
        mdf_c.load(model.SerializeToString(), format="onnx").save(tmp_path / "optional.onnx")
        onnx.checker.check_model(str(tmp_path / "optional.onnx"), full_check=True)
        session = onnxruntime.InferenceSession(str(tmp_path / "optional.onnx"))
        for truth in (True, False):
            feed = {"x": np.array([1, 2], np.float32), "c": np.array(truth), "given": None}
            found, has_one = session.run(["o", "h"], feed)
            assert not has_one and (found is not None) == truth
            assert not truth or np.array_equal(np.asarray(found), [[1, 2]] * 2 if one else [1, 2])
