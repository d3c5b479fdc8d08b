"""Models that mdf_c.psyneulink exported, against results that PsyNeuLink gave; PsyNeuLink itself is not needed (tests/psyneulink)."""

import json

import numpy as np
import pytest
from conftest import ROOT

import mdf_c

RECORDED = sorted((ROOT / "tests" / "psyneulink" / "recorded").glob("*.json"))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_recorded(path):
    recorded = json.loads(path.read_text())
    results = recorded["results"]
    inputs = [{name: np.array(value) for name, value in step.items()} for step in recorded["inputs"]]
    found = mdf_c.run(recorded["model"], inputs, steps=len(results), record=list(results[0]))
    for trial, ports in enumerate(results):
        for port, want in ports.items():
            np.testing.assert_allclose(np.ravel(found.trace[port][trial]), want, rtol=1e-9, atol=1e-9, err_msg=f"{port}, trial {trial + 1}")


def test_the_door_is_there_without_psyneulink():
    assert callable(mdf_c.psyneulink.compile) and callable(mdf_c.psyneulink.export)


def test_adam_is_that_of_the_paper():
    """Its first step is by the sign of the slope; the second follows from both."""
    from mdf_c._psyneulink_autodiff import Moments

    moments, first, second = Moments(np.zeros(2), np.zeros(2)), np.array([0.5, -2.0]), np.array([1.0, 1.0])
    np.testing.assert_allclose(moments.direction(first), np.sign(first), rtol=1e-7)
    mean = (0.09 * first + 0.1 * second) / (1 - 0.81)
    spread = np.sqrt((0.000999 * first**2 + 0.001 * second**2) / (1 - 0.998001))
    np.testing.assert_allclose(moments.direction(second), mean / spread, rtol=1e-7)
