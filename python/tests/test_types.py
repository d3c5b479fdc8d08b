"""mypy finds nothing in the package: it has py.typed, so that those who import it are checked by its annotations."""

import subprocess
import sys

import pytest
from conftest import PACKAGE


def test_annotations(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed")
    # Optional packages are not there everywhere, and few of them have annotations: what they give counts as Any.
    command = [sys.executable, "-m", "mypy", "--ignore-missing-imports", "--no-error-summary", "--cache-dir", str(tmp_path), "mdf_c"]
    found = subprocess.run(command, cwd=PACKAGE, capture_output=True, text=True, timeout=300)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
