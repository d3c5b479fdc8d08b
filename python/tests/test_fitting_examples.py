"""What stands in examples/fitting finds the parameters that its data was made with."""

import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from conftest import PACKAGE, ROOT

import mdf_c
from mdf_c._library import native_file

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
    pytest.importorskip("cma", reason="cma is not installed")
    found = mdf_c.fit(folder / "decision_model.yaml", folder / "decisions.yaml", max_evaluations=400)
    expect(found, gain=1.8, threshold=1.2)
    assert found["rest"] == pytest.approx(0.3, abs=0.1)


def test_an_elman_network_is_trained_by_torch(folder):
    pytest.importorskip("torch", reason="torch is not installed")
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "MDF_C_BUILD": str(native_file("libmdf.so").parent)}
    run = subprocess.run([sys.executable, folder / "elman_training.py", "300"], capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr
    loss, right = map(float, re.search(r"loss ([\d.]+), right ([\d.]+)\n$", run.stdout).groups())
    assert loss < 0.02 and right == 1.0


def test_an_elman_network_is_trained_in_c(folder, tmp_path):
    compiler, library = shutil.which("cc"), native_file("libmdf.so")
    if compiler is None or not (ROOT / "mdf_c" / "mdf.h").exists():
        pytest.skip("there is no C compiler, or no mdf.h")
    (tmp_path / "mdf.h").write_text((ROOT / "mdf_c" / "mdf.h").read_text())
    warnings = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    paths = [f"-I{tmp_path}", f"-L{library.parent}", f"-Wl,-rpath,{library.parent}"]
    subprocess.run(
        [compiler, *warnings, folder / "elman_training.c", "-o", tmp_path / "train", *paths, "-lmdf", "-lm"], check=True
    )
    run = subprocess.run(
        [tmp_path / "train", folder / "elman_model.yaml", folder / "sequence.csv", "500"], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert float(run.stdout.split()[1]) < 0.02


def test_an_elman_network_is_fitted_with_a_prior(folder):
    found = mdf_c.fit(folder / "elman_model.yaml", folder / "elman.yaml", max_evaluations=400)
    assert found.n_gradients > 10 and len(found.estimates) == 89
    told = mdf_c.run(folder / "elman_model.yaml", sequence(folder), parameters=found.parameters)
    assert np.mean((told["probability"] > 0.5) == (sequence(folder)["target"] > 0)) == 1.0
    assert found.log_likelihood == pytest.approx(-60 * float(told["loss"]), rel=1e-9)


def sequence(folder):
    bits, changed = np.loadtxt(folder / "sequence.csv", delimiter=",", skiprows=1).T
    return {"sequence": bits, "target": changed}
