"""``python -m mdf_c`` is mdf-run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import mdf_c
from mdf_c._library import native_file

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(mdf_c.__file__).resolve().parent.parent)}


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--version"], 0),
        (["newton_sqrt.json", "-i", "a=10"], 0),
        (["cooling.yaml", "--steps", "3", "--dt", "1", "--trace"], 0),
        (["no_such_file.json"], 1),
        (["--no-such-option"], 2),
    ],
)
def test_it_does_what_mdf_run_does(arguments, status, examples):
    module, program = (
        subprocess.run([*command, *arguments], capture_output=True, text=True, cwd=examples, env=ENVIRONMENT, check=False)
        for command in ([sys.executable, "-m", "mdf_c"], [native_file("mdf-run")])
    )
    assert module.returncode == program.returncode == status
    assert (module.stdout, module.stderr) == (program.stdout, program.stderr)


@pytest.mark.parametrize("name", ["mdf-run", "mdf-convert", "mdf-compile", "mdf-fmu", "mdf-merge", "mdf-diff"])
def test_the_console_programs_are_the_engine_s(name, tmp_path):
    script = tmp_path / name  # as pip writes it
    script.write_text("from mdf_c.__main__ import main\nmain()\n")
    told = subprocess.run([sys.executable, str(script), "--version"], capture_output=True, text=True, env=ENVIRONMENT, check=True)
    assert told.stdout == subprocess.run([name, "--version"], executable=native_file("mdf-run"), capture_output=True, text=True, check=True).stdout
    assert told.stdout.startswith(name)
