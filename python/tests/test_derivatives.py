"""Every operator and function of expressions that has a derivative, against differences: tests/derivatives."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECKER = Path(__file__).resolve().parents[2] / "tests/derivatives/check_derivatives.py"


@pytest.mark.skipif(not CHECKER.exists(), reason="the cases stand in the repository")
def test_all_operators_have_the_derivatives_that_differences_give():
    ran = subprocess.run([sys.executable, CHECKER, "--second"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert int(ran.stdout.split()[-4]) > 450
