"""What the tests have in common: small models as dicts, and the files of the repository."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def model_of(node=None, **graph):
    """A model of one graph; `node` is its only node "n", or `graph` has nodes, edges and conditions."""
    nodes = {"n": node} if node is not None else graph.pop("nodes")
    return {"m": {"graphs": {"g": {"nodes": nodes, **graph}}}}


@pytest.fixture
def examples():
    """The folder of example models; a source distribution does not have it."""
    folder = ROOT / "examples"
    if not folder.exists():
        pytest.skip("the examples are not here")
    return folder


# Doubles x; counts its evaluations.
DOUBLE = {
    "input_ports": {"x": {"default_value": 1.0}},
    "parameters": {"count": {"value": "count + 1", "default_initial_value": 0}},
    "output_ports": {"y": {"value": "x * 2"}, "count": {"value": "count"}},
}
# dv/dt = -v, from 1.
DECAY = {"parameters": {"v": {"default_initial_value": 1.0, "time_derivative": "-v"}}, "output_ports": {"v": {"value": "v"}}}
# Runs for as long as nobody stops it.
ENDLESS = {
    "input_ports": {"n": {"default_value": 1}},
    "functions": {
        "f": {
            "function": "onnx::Loop",
            "args": {
                "M": 10**12,
                "v_initial": ["n"],
                "body": {
                    "nodes": {
                        "b": {
                            "input_ports": {"i": {}, "c": {"type": "bool"}, "a": {}},
                            "output_ports": {"go": {"value": "c"}, "next": {"value": "numpy.cos(a)"}},
                        }
                    },
                    "metadata": {"inputs": ["i", "c", "a"], "outputs": ["go", "next"]},
                },
            },
        }
    },
    "output_ports": {"y": {"value": "f"}},
}
