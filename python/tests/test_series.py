"""Inputs that change from step to step, given to the engine as arrays: the same as step by step."""

import json
from pathlib import Path

import numpy as np
import pytest

import mdf_c
from mdf_c.running import record_series, record_steps

NODE = {
    "input_ports": {"x": {"shape": [2]}, "z": {"default_value": 1.0}},
    "parameters": {"s": {"value": "s + x * z", "default_initial_value": [0.0, 0.0]}},
    "output_ports": {"y": {"value": "s"}, "n": {"value": "x if z < 3 else [1.0]"}},
}
SUM = {"m": {"graphs": {"g": {"nodes": {"a": NODE}}}}}
PORTS = [("a", "y"), ("a", "n")]


@pytest.fixture
def states():
    program = mdf_c.load(SUM).compile()
    return program.state(), program.state()


@pytest.mark.parametrize("n_given", [1, 3, 7, 40])
def test_series_are_steps(states, n_given):
    rows = {"a.x": np.arange(2.0 * n_given).reshape(n_given, 2), "z": np.linspace(0.5, 4, n_given)}
    steps = [{name: array[i % n_given] for name, array in rows.items()} for i in range(40)]
    for got, wanted in zip(record_series(states[0], rows, 40, PORTS), record_steps(states[1], steps, 40, PORTS)):
        assert got.dtype == wanted.dtype
        assert all(np.array_equal(a, b) for a, b in zip(got, wanted))


def test_an_error_in_the_middle_is_told(states):
    with pytest.raises(mdf_c.MdfError):
        record_series(states[0], {"a.x": np.ones((4, 3))}, 4, PORTS[:1])
    with pytest.raises(mdf_c.MdfError, match="no input port is called 'w'"):
        record_series(states[0], {"w": np.ones(4)}, 4, PORTS[:1])


RECORDED = Path(__file__).parents[2] / "tests" / "psyneulink" / "recorded"
MANY = 4500  # of so many, most run as a loop that goes through the inputs


def rows_of(steps):
    """Inputs that each step has, as arrays; None where a step has others, or of another form."""
    arrays = [{name: np.asarray(value) for name, value in step.items()} for step in steps]
    if any(
        {n: (a.shape, a.dtype.kind) for n, a in one.items()} != {n: (a.shape, a.dtype.kind) for n, a in arrays[0].items()}
        for one in arrays
    ):
        return None
    return {name: np.stack([one[name] for one in arrays]).astype(float) for name in arrays[0]}


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.json"))[::2], ids=lambda path: path.stem)
def test_long_series_of_psyneulinks_models_are_steps(path):
    recorded = json.loads(path.read_text())
    rows = rows_of(recorded["inputs"])
    if rows is None:
        pytest.skip("inputs are not those of one form")
    program = mdf_c.load(recorded["model"]).compile()
    ports = list(program.outputs)
    wanted = record_steps(
        program.state(), [{name: array[i % len(array)] for name, array in rows.items()} for i in range(MANY)], MANY, ports
    )
    for chosen in (range(len(ports)), [len(ports) - 1]):
        got = record_series(program.state(), rows, MANY, [ports[i] for i in chosen])
        for array, i in zip(got, chosen):
            assert np.array_equal(array, wanted[i], equal_nan=array.dtype.kind == "f"), ports[i]
