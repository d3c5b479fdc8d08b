"""The JSON Schema of models (``schemas/mdf.schema.json``, docs/editors.md): what runs is valid by it, and what structure alone forbids is not."""

import copy
import json
import subprocess

import pytest

from mdf_c._library import native_file

jsonschema = pytest.importorskip("jsonschema")

MODEL = {
    "m": {
        "graphs": {
            "g": {
                "nodes": {
                    "a": {"parameters": {"p": {"value": 2}}, "output_ports": {"o": {"value": "p"}}},
                    "b": {
                        "input_ports": {"i": {"shape": [1]}},
                        "parameters": {"q": {"function": "onnx::Add", "args": {"A": "i", "B": "i"}}},
                        "output_ports": {"o": {"value": "q"}},
                    },
                },
                "edges": {"e": {"sender": "a", "sender_port": "o", "receiver": "b", "receiver_port": "i"}},
                "conditions": {"node_specific": {"b": {"type": "AfterPass", "kwargs": {"n": 1}}}},
            }
        }
    }
}


@pytest.fixture(scope="module")
def validator():
    schema = json.loads(subprocess.run([native_file("mdf-run"), "--schema"], capture_output=True, check=True).stdout)
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def test_examples_are_valid(validator, examples):
    yaml = pytest.importorskip("yaml")
    paths = [path for path in examples.rglob("*.*") if path.suffix in (".json", ".yaml")]
    models = {path: yaml.safe_load(path.read_text()) for path in paths}
    models = {path: model for path, model in models.items() if isinstance(model, dict) and "graphs" in next(iter(model.values()))}
    assert len(models) > 10
    for path, model in models.items():
        assert validator.is_valid(model), path


def _set(model, path, value):
    changed = copy.deepcopy(model)
    *way, last = path
    place = changed["m"]["graphs"]["g"]
    for key in way:
        place = place[key]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return changed


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("edges", "e", "sender_port"), None),
        (("edges", "e"), [1]),
        (("nodes", "a"), 3),
        (("nodes",), "a"),
        (("nodes", "b", "parameters", "q", "function"), {"onnx::Add": {}, "onnx::Sub": {}}),
        (("nodes", "b", "parameters", "q", "args"), 4),
        (("nodes", "b", "input_ports", "i", "shape"), [-1]),
        (("conditions", "node_specific", "b", "type"), "AfterPas"),
    ],
)
def test_what_structure_forbids_is_refused_by_both(validator, path, value, tmp_path):
    assert validator.is_valid(MODEL)
    changed = _set(MODEL, path, value)
    assert not validator.is_valid(changed)
    file = tmp_path / "model.json"
    file.write_text(json.dumps(changed))
    assert subprocess.run([native_file("mdf-run"), "--check", file], capture_output=True, check=False).returncode != 0
