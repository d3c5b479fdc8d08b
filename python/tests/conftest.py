"""What the tests have in common: small models as dicts, and the files of the repository."""

import os
import signal
from pathlib import Path

import pytest

import mdf_c

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(mdf_c.__file__).resolve().parent.parent

# Tests press Ctrl-C. A shell starts what runs in the background with that signal ignored, which Python leaves so.
signal.signal(signal.SIGINT, signal.default_int_handler)


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


@pytest.fixture(scope="session")
def cluster():
    """Two workers of dask in processes of their own; a test may end one."""
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    path = os.pathsep.join([str(PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])])
    before, os.environ["PYTHONPATH"] = os.environ.get("PYTHONPATH"), path
    try:
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as started:
            yield started
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


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
