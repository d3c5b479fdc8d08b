"""What the package is made of, without making it: tools/check_wheel.sh does that."""

import re
import subprocess

import pytest
from conftest import ROOT


def test_each_program_is_a_console_program():
    if not (ROOT / "Makefile").exists():
        pytest.skip("the source is not here")
    programs = subprocess.run(["make", "-s", "print-programs"], check=True, capture_output=True, text=True, cwd=ROOT).stdout.split()
    project = (ROOT / "python" / "pyproject.toml").read_text(encoding="utf-8")
    scripts = re.findall(r"^(mdf-\S+) = \"mdf_c.__main__:main\"$", project, re.MULTILINE)
    assert scripts == programs
