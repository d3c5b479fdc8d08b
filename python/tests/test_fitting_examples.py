"""What stands in examples/fitting finds the parameters that its data was made with."""

import numpy as np
import pytest

import mdf_c

pytest.importorskip("scipy", reason="scipy is not installed")


@pytest.fixture
def folder(examples):
    return examples / "fitting"


def expect(found, **true):
    """Each within four standard errors, which are small."""
    for name, value in true.items():
        estimate = next(each for key, each in found.estimates.items() if key.split(".")[-1] == name)
        assert estimate.error < 0.2 * abs(value)
        assert abs(estimate.value - value) < 4 * estimate.error, name


def test_cooling(folder):
    found = mdf_c.fit(folder.parent / "cooling.yaml", folder / "cooling.yaml")
    expect(found, time_constant=300, temperature=90, room=20)
    assert found.sum_of_squares / (found.n_data - 3) == pytest.approx(0.25, rel=0.5)
    for each in found.estimates.values():
        np.testing.assert_allclose(each.profile, each.interval, atol=0.05 * each.error)


def test_fitzhugh_nagumo(folder):
    found = mdf_c.fit(folder.parent / "fitzhugh_nagumo.yaml", folder / "fitzhugh_nagumo.yaml", intervals="hessian", starts=2)
    expect(found, a=0.7, b=0.8, current=0.8, noise=0.1)
    assert found.n_gradients > 0 and found.why_differences is None


def test_decisions(folder):
    """With fewer walks than the file asks for, for the time that it takes."""
    found = mdf_c.fit(folder / "decision_model.yaml", folder / "decisions.yaml", first_passage=walks(200), max_evaluations=90)
    for name, value in (("gain", 1.8), ("threshold", 1.2), ("rest", 0.3)):
        assert found[name] == pytest.approx(value, rel=0.25), name


def walks(trials):
    return {
        "time": "time", "choice": "choice", "port": "decision.choice", "stop_when": "decision.is_over", "trials": trials, "offset": "rest",
    }  # fmt: skip
