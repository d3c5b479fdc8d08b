"""tools/check_linter.py: no finding of mdf-run --check about the examples is false, and it sees one that is."""

import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

from mdf_c._library import native_file

pytest.importorskip("yaml")
ROOT = pathlib.Path(__file__).parent.parent.parent
TOOL = ROOT / "tools" / "check_linter.py"
pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="the tool is in the repository")


def test_examples():
    environment = {"BUILD": str(native_file("mdf-run").parent)}
    done = subprocess.run([sys.executable, TOOL, ROOT / "examples"], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith(" 0 false findings\n")


def test_a_false_finding_is_seen(tmp_path, monkeypatch):
    specification = importlib.util.spec_from_file_location("check_linter", TOOL)
    tool = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(tool)
    monkeypatch.setattr(tool, "MDF_RUN", native_file("mdf-run"))
    node = {"parameters": {"used": {"value": 2}, "spare": {"value": 3}}, "output_ports": {"y": {"value": "used + 1"}}}
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"m": {"graphs": {"g": {"nodes": {"n": node}}}}}))
    verdicts = [
        tool.judge(path, {"code": "unused-parameter", "path": f"node 'n', parameter '{name}'"}, tmp_path) for name in ("used", "spare")
    ]
    assert verdicts == ["false", "true"]
