"""README.md and docs/*.md: which test runs each command and each block of code, and whether what they name is there.

A command that no test runs fails here, unless NOT_RUN says why; a page with measured numbers names the script that measures them."""

import importlib
import re

import pytest
from conftest import ROOT

import mdf_c
from test_docs import COMMAND_PAGES, PAGES, PROMPTS

README, DOCS = ROOT / "README.md", ROOT / "docs"
if not (ROOT / "tests/programs/test_pages.c").exists():
    pytest.skip("the source tree is not here", allow_module_level=True)
ALL = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in [README, ROOT / "python/README.md", *sorted(DOCS.glob("*.md"))]}

# Pages whose blocks tests/programs/test_example_pages.c runs, and those whose commands "$ build/..." and "$ cc ..." tests/programs/test_pages.c does.
EXAMPLE_PAGES = set(re.findall(r'"(docs/[a-z_-]+\.md)"', (ROOT / "tests/programs/test_example_pages.c").read_text()))
C_PAGES = set(re.findall(r'\{"((?:docs/)?[A-Za-z_-]+\.md)", \d+\}', (ROOT / "tests/programs/test_pages.c").read_text()))
PYTHON_PAGES = set(PAGES)

# Words of a command, or of a block's first lines, and what runs it: a file that says so, or why nothing does.
ELSEWHERE = {
    ("README.md", "make demo"): "tools/demo.sh",
    ("README.md", "make test"): ".ci/run",
    ("README.md", "make install"): "tools/check_install.sh",
    ("README.md", "pip install ./python"): "tools/check_wheel.sh",
    ("README.md", "#include <mdf.h>"): "tests/programs/test_pages.c",
    ("docs/python.md", "pip install ./python"): "tools/check_wheel.sh",
    ("python/README.md", "pip install ./python"): "tools/check_wheel.sh",
    ("python/README.md", "python -m build --sdist"): "tools/check_wheel.sh",
    ("docs/cluster.md", "mdf-run --sweep"): "tests/cluster/slurm_array.sh",
    ("docs/cluster.md", "mdf-merge results.zarr"): "tests/cluster/slurm_array.sh",
    ("docs/editors.md", "import json, jsonschema"): "python/tests/test_docs.py",
    ("docs/psyneulink.md", "program = mdf_c.psyneulink.compile(composition)"): "tests/psyneulink/check_live.py",
    ("docs/psyneulink.md", "estimation = mdf_c.psyneulink.compile(pec)"): "tests/psyneulink/estimating.py",
    ("docs/plugins.md", "MDF_PLUGIN_EXPORT"): "examples/plugin/mylab.c",
    ("docs/plugins.md", "MDF_FUNCTION_SOURCE"): "examples/plugin/mylab.c",
    ("docs/plugins.md", "mdf_functions *functions"): "tests/functions/test_plugins.c",
    ("docs/plugins.md", '"functions": {"squashed"'): "examples/plugin/saturate.json",
    ("docs/diagnostics.md", "mdf_diagnostics *list"): "tests/documents/test_diagnostics.c",
    ("docs/fmu.md", "fmpy simulate"): "python/tests/test_fmu.py",
}
NOT_RUN = {
    ("docs/cluster.md", "export DASK_DISTRIBUTED"): "settings of dask",
    ("docs/editors.md", '"json.schemas"'): "settings of an editor",
    ("docs/editors.md", "# yaml-language-server"): "a comment for an editor",
    ("docs/explain.md", "xxd -r -p"): "machine code of a kind of processor, taken apart by other programs",
}
PROGRAMS = ("mdf-", "build/", "make ", "pip ", "python3 ", "cc ", "export ")


def commands(name):
    """The indented lines that are commands, and those of console blocks."""
    language = ""
    for line in ALL[name].splitlines():
        fence = re.match(r"```(\w*)(.*)", line)
        if fence:
            language = "" if language else (fence[1] or "text")
            continue
        command = re.match(r"(?:    )?\$ (.*)", line) or (not language and re.match(rf"    ((?:{'|'.join(PROGRAMS)}).*)", line))
        if command and not re.match(r"\S+:\d+:\d+: |mdf-run: ", command[1]):
            yield command[1], (language == "console" and name in EXAMPLE_PAGES) or (
                name in C_PAGES and line.startswith(("    $ build/", "    $ cc "))
            ) or (name in COMMAND_PAGES and line.startswith("    $ build/"))


def blocks(name):
    """What stands between fences, with its language; console blocks and output are above, or are compared with it."""
    for language, file, text in re.findall(r"^```(\w+)([^\n]*)\n(.*?)^```", ALL[name], re.MULTILINE | re.DOTALL):
        if language not in ("text", "console"):
            yield text, (name in PYTHON_PAGES and language == "python") or (name in EXAMPLE_PAGES and bool(file.strip()))


def reason(name, text):
    found = [known[one] for known in (ELSEWHERE, NOT_RUN) for one in known if one[0] == name and one[1] in text]
    return found[0] if found else None


# The first lines of blocks of Python that stand indented, where no test would find them: they stand between fences, or behind ">>>".
PYTHON = re.compile(r"(?<=\n\n)    (?:import \w|from \w+(?:\.\w+)* import|(?:\w+ = )?mdf_c\.\w|def \w+\(|class \w+[(:]|with \w+\().*")


@pytest.mark.parametrize("name", ALL)
def test_blocks_of_python_are_where_a_test_finds_them(name):
    assert PYTHON.findall(re.sub(r"^```.*?^```$", "", ALL[name], flags=re.MULTILINE | re.DOTALL)) == []
    assert name in PROMPTS or "    >>> " not in ALL[name]
    assert name in PYTHON_PAGES or "```python" not in ALL[name] or any(one[0] == name for one in ELSEWHERE)


@pytest.mark.parametrize("name", ALL)
def test_all_that_a_page_shows_is_run(name):
    left = [text for text, is_run in [*commands(name), *blocks(name)] if not is_run and reason(name, text) is None]
    assert left == [], f"no test runs what {name} shows: run it (tests/programs/test_pages.c, python/tests/test_docs.py), or say here why not"


def test_what_is_said_to_run_them_is_there():
    for (name, words), where in {**ELSEWHERE, **NOT_RUN}.items():
        assert words in ALL[name], f"{name} does not show {words!r} any more"
        assert (name, words) in NOT_RUN or (ROOT / where).exists(), where
    assert EXAMPLE_PAGES and C_PAGES and PYTHON_PAGES


# ---------------------------------------------------------------- what is named

MANUALS = "".join(page.read_text().replace("\\-", "-") for page in (DOCS / "man").glob("*.1"))
SCRIPTS = "".join(script.read_text(errors="replace") for folder in ("bench", "tools", "tests") for script in (ROOT / folder).rglob("*.py"))
TARGETS = set(re.findall(r"^([a-z][a-z-]*)(?: [a-z -]*)?:", (ROOT / "Makefile").read_text(), re.MULTILINE))
# Options of other programs: pkg-config, cmake, pip, build, sbatch, valgrind, fmpy.
OTHERS = {"--cflags", "--libs", "--dependency", "--array", "--cpus-per-task", "--requeue", "--build", "--stop-time", "--tool", "--sdist"}
PATH = re.compile(r"(?<![\w/.<:-])((?:bench|tools|tests|docs|examples|mdf_c|functions|schemas|python|fuzz)/[\w./-]*\w)")
OTHERS_PATHS = {"tests/mdf/test_mdf.py"}  # PsyNeuLink's


def code_of(name):
    return re.findall(r"`([^`\n]+)`", ALL[name]) + re.findall(r"^    \$? ?(.*)$", ALL[name], re.MULTILINE)


@pytest.mark.parametrize("name", ALL)
def test_what_a_page_names_is_there(name):
    for code in code_of(name):
        for option in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", code):
            assert option in MANUALS or f'"{option}"' in SCRIPTS or option in OTHERS, f"{name}: there is no option {option}"
        for target in re.findall(r"^(?:\$ )?make ((?:[a-z-]+ ?)*)", code):
            assert set(target.split()) <= TARGETS, f"{name}: make {target}"
        for path in PATH.findall(code):
            is_pattern = any((ROOT / path).parent.glob(f"{(ROOT / path).name}*"))
            assert is_pattern or path in OTHERS_PATHS, f"{name}: there is no {path}"


# Functions of C are those of the sources, the suites and the examples.
FOLDERS = ("mdf_c", "functions", "schemas", "tests", "examples", "python")
SOURCES = "".join(file.read_text(errors="replace") for folder in FOLDERS for file in (ROOT / folder).rglob("*.[chdip]*") if file.suffix in (".h", ".c", ".def", ".inc", ".py"))


@pytest.mark.parametrize("name", ALL)
def test_functions_that_a_page_names_are_there(name):
    if "mdf_c.onnx_backend" in ALL[name]:
        pytest.importorskip("onnx")
    for dotted in set(re.findall(r"\bmdf_c((?:\.[a-zA-Z_]\w*)+)", ALL[name])):
        found = mdf_c
        for i, part in enumerate(dotted.split(".")[1:]):
            found = getattr(found, part, None) or importlib.import_module("mdf_c" + ".".join(dotted.split(".")[: i + 2]))
    unknown = {word for word in re.findall(r"\b(mdf_[a-z][a-z0-9_]+)\b", ALL[name]) if word not in SOURCES}
    assert unknown == set()


# ---------------------------------------------------------------- numbers

MEASURED = re.compile(r"(?<![\w.-])\d[\d,.]*(?:e[+-]?\d+)? ?(?:(?:ms|us|ns|s|seconds|minutes|times|[kMG]i?B|K[Bi]B?)\b|%)")
SHOWN_BY = re.compile(r"\b(?:bench|tools|tests|python/tests)/[\w/]+\.(?:py|sh|c)\b|make (?:bench|coverage|wheel|check-[a-z]+)|`time make`")
# Sections whose numbers nobody measured: settings, defaults, what follows from them, and times of models. "": the whole page.
NO_MEASURE = {
    ("docs/compile.md", "Random numbers"): "the size of a generator's state",
    ("docs/compile.md", "The cache"): "how long a lock is waited for",
    ("docs/diagnostics.md", ""): "units in an example, a bound",
    ("docs/dialects.md", ""): "times of a model",
    ("docs/control-flow.md", ""): "times of a model",
    ("docs/scheduling.md", ""): "times of a model",
    ("docs/limits.md", "Memory"): "a bound",
    ("docs/nested_graphs.md", ""): "times of a model",
    ("docs/parameters.md", ""): "times of a model",
    ("docs/speed.md", "New states"): "a bound",
}


def sections(name):
    """(heading, text) of each section; of indented lines only those of tables count, as output is compared with what is printed."""
    text = re.sub(r"^```.*?^```$|^    .*$", "", ALL[name], flags=re.MULTILINE | re.DOTALL)
    for section in re.split(r"^(?=#+ )", text, flags=re.MULTILINE):
        yield section.partition("\n")[0].lstrip("# "), section


@pytest.mark.parametrize("name", ALL)
def test_a_section_with_measures_names_what_measures_them(name):
    for heading, section in sections(name):
        measured = MEASURED.findall(section)
        is_set = (name, "") in NO_MEASURE or (name, heading) in NO_MEASURE
        assert not measured or is_set or SHOWN_BY.search(section), f"{name}, {heading}: {measured}"
