"""Every operator and function of expressions that has a derivative, against differences: tests/derivatives. Programs of derivatives as C source."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import model_of

import mdf_c

TESTS = Path(__file__).resolve().parents[2] / "tests"
CHECKER = TESTS / "derivatives/check_derivatives.py"
EXAMPLES = TESTS.parent / "examples"
sys.path.append(str(TESTS / "random"))


def rows_of(page):
    """Of docs/derivatives.md: by operator the number of calls, and the errors of derivative and Hessian; infinite where there is none."""
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")]
    return {name: (int(calls), [float(error or "inf") for error in errors]) for name, calls, *errors in cells[1:]}


@pytest.mark.skipif(not CHECKER.exists(), reason="the cases stand in the repository")
def test_all_operators_have_the_derivatives_that_differences_give():
    ran = subprocess.run([sys.executable, CHECKER, "--page"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stderr.split()[-4]) > 450
    page, now = (rows_of(text) for text in ((TESTS.parent / "docs/derivatives.md").read_text(), ran.stdout))
    assert {name: calls for name, (calls, _) in page.items()} == {name: calls for name, (calls, _) in now.items()}
    for name, (_, errors) in now.items():  # rounding differs from processor to processor: ten times as much is none
        assert all(error <= 10 * stated for error, stated in zip(errors, page[name][1], strict=True)), f"{name}: {errors}, the page says {page[name][1]}"


COUNTED = {"n": {"parameters": {"w": {"value": [0.3, -0.5]}, "k": {"default_initial_value": 1, "value": "k * 0.5 + numpy.sum(w)"}}, "output_ports": {"y": {"value": "k * k * w[1]"}}}}


def cases():
    for steps in (1, 2, 3, 4, 61):
        yield EXAMPLES / "cooling.yaml", "temperature", ["cup.temperature", "cup.time_constant", "cup.room"], steps, 10.0
        yield EXAMPLES / "fitzhugh_nagumo.yaml", "V", ["membrane.a", "membrane.current"], steps, 0.05
        yield model_of(nodes=COUNTED), "y", ["n.w", "n.k"], steps, None


@pytest.mark.skipif(not CHECKER.exists(), reason="the compiler's way stands in the repository")
@pytest.mark.parametrize("number", range(15))
def test_c_source_leaves_the_same_bits(number):
    import gradient_source

    source, of, wrt, steps, dt = list(cases())[number]
    program = mdf_c.gradient(source, of, wrt, steps=steps, dt=dt)
    value, by = program()
    like = [value, *by.values()]
    got = gradient_source.evaluate(source, of, wrt, steps, dt, None, like)
    assert [np.asarray(array).tobytes() for array in got] == [np.asarray(array).tobytes() for array in like]
