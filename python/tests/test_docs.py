"""The blocks of docs/python.md and docs/plugins.md, in order, and what they print. A block whose packages are not installed is passed over."""

import contextlib
import doctest
import io
import json
import os
import re
import shutil
import subprocess

import pytest
from conftest import ROOT

# Pages whose commands "$ build/..." need the Python package: they run here, the others in tests/test_pages.c.
COMMAND_PAGES = {"docs/fitting.md": 1}
PAGES = [(ROOT / "docs" / "python.md", 9), (ROOT / "docs" / "plugins.md", 1)]
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


@pytest.mark.parametrize(("page", "at_least"), PAGES, ids=lambda value: getattr(value, "stem", ""))
def test_a_page(page, at_least, tmp_path, monkeypatch, examples):
    shutil.copytree(examples, tmp_path / "examples")
    monkeypatch.chdir(tmp_path / "examples")
    if not page.exists():
        pytest.skip("the documentation is not here")
    names = {}
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    assert len(blocks) >= at_least
    for code, expected in blocks:
        if not is_there(code):
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(page), "exec"), names)  # noqa: S102 - the page is ours
        assert printed.getvalue() == expected, code


def test_the_readme(monkeypatch, examples):
    page = ROOT / "README.md"
    if not page.exists():
        pytest.skip("the page is not here")
    monkeypatch.chdir(examples.parent)
    lines = re.findall(r"^    (>>> .*\n(?:    (?!>>>).+\n)*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    text = "\n".join(line.replace("\n    ", "\n") for line in lines)
    assert text.count(">>>") >= 2
    test = doctest.DocTestParser().get_doctest(text, {}, "README.md", str(page), 0)
    assert doctest.DocTestRunner().run(test).failed == 0


@pytest.mark.parametrize("name", COMMAND_PAGES)
def test_commands_print_what_stands_under_them(name):
    build = ROOT / os.environ.get("BUILD", "build")
    if not (build / "mdf-fit").exists():
        pytest.skip("the programs are not here")
    pytest.importorskip("scipy")
    found = re.findall(r"^    \$ build/(.*)\n((?:    (?!\$).*\n)*)", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    assert len(found) == COMMAND_PAGES[name]
    for command, shown in found:
        printed = subprocess.run(f"{build}/{command}", shell=True, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        number, wanted = re.compile(r"\d[\d.]*"), shown.split()
        found_words = printed.split()[: len(wanted)]
        assert [number.sub("#", word) for word in found_words] == [number.sub("#", word) for word in wanted]
        # What a search ends at differs in the last digits from one version of scipy to the next.
        numbers = [[float(one) for one in number.findall(" ".join(words))] for words in (found_words, wanted)]
        assert numbers[0] == pytest.approx(numbers[1], rel=1e-3)


def test_the_schema_is_used_as_the_page_of_editors_says(tmp_path, monkeypatch, examples):
    pytest.importorskip("jsonschema")
    if not (ROOT / "schemas").exists() or not (ROOT / "docs").exists():
        pytest.skip("the source tree is not here")
    shutil.copy(examples / "newton_sqrt.json", tmp_path / "model.json")
    shutil.copy(ROOT / "schemas/mdf.schema.json", tmp_path)
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/editors.md").read_text(encoding="utf-8"), re.DOTALL)
    exec(code, {})  # noqa: S102 - the page is ours
    (settings,) = re.findall(r"```json\n(.*?)```", (ROOT / "docs/editors.md").read_text(encoding="utf-8"), re.DOTALL)
    assert set(json.loads(settings)) == {"json.schemas", "yaml.schemas"}
