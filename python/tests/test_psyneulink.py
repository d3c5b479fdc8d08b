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
