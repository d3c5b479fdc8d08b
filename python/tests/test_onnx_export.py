"""Models written as ONNX: onnx.checker takes the files, and ONNX Runtime gives the same numbers."""

import importlib.util
import pathlib
import sys

import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

ROOT = pathlib.Path(__file__).parent.parent.parent
TOOL = ROOT / "tools" / "check_onnx_export.py"
pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="the tool is in the repository")

REFUSED = {
    "actr_retrieval.json": "object",
    "drift_diffusion.yaml": "random",
    "race.yaml": "graph of its own",
    "recurrence.yaml": "runs later",
    "slow_and_fast.yaml": "condition",
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
