"""The blocks of Python on the pages, in order, and what they print. A block whose packages are not installed is passed over."""

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

# Pages whose commands "$ build/..." need the Python package: they run here, the others in tests/programs/test_pages.c.
COMMAND_PAGES = {"docs/fitting.md": 1}
PAGES = {  # how many blocks each page has at least, and the folder that they run in, which holds the examples, or is among them
    "docs/cluster.md": (3, "."),
    "docs/python.md": (9, "examples"),
    "docs/plugins.md": (1, "examples"),
    "docs/fitting.md": (5, "."),
    "docs/sensitivity.md": (2, "."),
    "docs/sweeps.md": (2, "."),
    "python/README.md": (1, "."),
}
PROMPTS = {"README.md": 2, "docs/gradients.md": 7, "docs/time.md": 4}  # pages with ">>>", and how many of these they have at least
NEEDED = {"docs/cluster.md": "distributed"}  # packages without which the rest of a page is not to be had
# What a page takes for granted: a cluster, a model.
SCHEDULER = 'Client("scheduler:8786")'
MODEL = {"m": {"graphs": {"g": {"nodes": {"n": {"input_ports": {"x": {}}, "output_ports": {"y": {"value": "2 * x"}}}}}}}}
ELSEWHERE = "class RayExecutor"  # python/tests/test_executors.py, which starts Ray
BLOCK = re.compile(r"```python\n(.*?)```(?:\n```text\n(.*?)```)?", re.DOTALL)
OPTIONAL = {"to_pandas": "pandas", "to_xarray": "xarray", "import matplotlib": "matplotlib", "import onnx\n": "onnx", "import pandas": "pandas",
            "mdf_c.fit(": "scipy", ".plot(": "matplotlib", "import torch": "torch", "import jax": "jax", "import pytensor": "pytensor",
            "mdf_c.sensitivity(": "SALib", "dask.distributed": "distributed"}


def is_there(code):
    """Whether the packages that a block uses are installed."""
    for word, package in OPTIONAL.items():
        if word in code:
            try:
                __import__(package)
            except ImportError:
                return False
    return True


@pytest.fixture
def scheduler():
    """A client of a cluster of one process, in the place of a page's."""
    with contextlib.ExitStack() as stack:

        def client():
            distributed = pytest.importorskip("distributed")
            cluster = stack.enter_context(distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None))
            return stack.enter_context(distributed.Client(cluster))

        yield client


@pytest.mark.parametrize("name", PAGES)
def test_a_page(name, tmp_path, monkeypatch, examples, scheduler):
    page, (at_least, folder) = ROOT / name, PAGES[name]
    shutil.copytree(examples, tmp_path / "examples")
    (tmp_path / "model.json").write_text(json.dumps(MODEL))
    monkeypatch.chdir(tmp_path / folder)
    if not page.exists():
        pytest.skip("the documentation is not here")
    if name in NEEDED:
        pytest.importorskip(NEEDED[name])
    names = {}
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    assert len(blocks) >= at_least
    for code, expected in blocks:
        if not is_there(code) or ELSEWHERE in code:
            continue
        if SCHEDULER in code:
            names["client"], code = scheduler(), code.replace(SCHEDULER, "client")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(page), "exec"), names)  # noqa: S102 - the page is ours
        assert printed.getvalue() == expected, code


@pytest.mark.parametrize(("name", "at_least"), PROMPTS.items())
def test_what_is_typed_at_a_prompt(name, at_least, monkeypatch, examples):
    page = ROOT / name
    if not page.exists():
        pytest.skip("the page is not here")
    monkeypatch.chdir(examples.parent)
    lines = re.findall(r"^    (>>> .*\n(?:    (?!>>>).+\n)*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    text = "\n".join(line.replace("\n    ", "\n") for line in lines)
    assert text.count(">>>") >= at_least
    test = doctest.DocTestParser().get_doctest(text, {}, name, str(page), 0)
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
