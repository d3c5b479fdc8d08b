"""The blocks of docs/python.md, in order, and what they print. A block whose packages are not installed is passed over."""

import contextlib
import io
import re
import shutil

import pytest
from conftest import ROOT

PAGE = ROOT / "docs" / "python.md"
BLOCK = re.compile(r"```python\n(.*?)```(?:\n```text\n(.*?)```)?", re.DOTALL)
OPTIONAL = {"to_pandas": "pandas", "to_xarray": "xarray", "import matplotlib": "matplotlib", "import onnx\n": "onnx"}


def is_there(code):
    """Whether the packages that a block uses are installed."""
    for word, package in OPTIONAL.items():
        if word in code:
            try:
                __import__(package)
            except ImportError:
                return False
    return True


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not here")
def test_the_page(tmp_path, monkeypatch, examples):
    shutil.copytree(examples, tmp_path / "examples")
    monkeypatch.chdir(tmp_path / "examples")
    names = {}
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) > 8
    for code, expected in blocks:
        if not is_there(code):
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(PAGE), "exec"), names)  # noqa: S102 - the page is ours
        assert printed.getvalue() == expected, code
