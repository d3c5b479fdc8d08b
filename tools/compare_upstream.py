#!/usr/bin/env python3
"""Writes a table of models: does each run here and in the Python engine, and how long does one evaluation take?

    compare_upstream.py FOLDER > docs/upstream_models.md

FOLDER holds model files (JSON and YAML, at any depth), such as the folder examples/ of https://github.com/ModECI/MDF. Each is run as
it is, without inputs, by build/mdf-run (the median of five evaluations, each from a fresh state) and by modeci_mdf's EvaluableGraph (one
evaluation), in processes of their own. Needs modeci_mdf.
"""
import json
import pathlib
import re
import statistics
import subprocess
import sys

LIMIT_S = 120

PYTHON = """
import contextlib, io, sys, time
from modeci_mdf.utils import load_mdf
from modeci_mdf.execution_engine import EvaluableGraph
out = io.StringIO()
with contextlib.redirect_stdout(out):
    model = load_mdf(sys.argv[1])
    graph = EvaluableGraph(model.graphs[0], verbose=False)
    start = time.perf_counter()
    graph.evaluate()
    end = time.perf_counter()
print(end - start)
"""


def run(command):
    """Exit status, standard output, standard error; None where it took too long."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return None
    return done.returncode, done.stdout, done.stderr


def milliseconds(seconds):
    return f"{seconds * 1e3:.3g} ms"


def run_here(path):
    done = run(["build/mdf-run", "--quiet", "--time", "--repeat", "5", "-o", "/dev/null", str(path)])
    if done is None:
        return "does not end", None
    times = [line for line in done[2].splitlines() if line.startswith("{")]
    if done[0] != 0 or not times:
        message = next((line for line in done[2].splitlines() if ": error: " in line), "fails")
        return re.sub(r"^.*?:(?=\\d+:|\\s*error)", "", message).replace(str(path), path.name), None
    seconds = statistics.median(json.loads(times[-1])["evaluate_s"])
    return milliseconds(seconds), seconds


def run_there(path):
    done = run([sys.executable, "-c", PYTHON, str(path)])
    if done is None:
        return "does not end", None
    if done[0] != 0:
        names = re.findall(r"^(?:\w+\.)*(\w*(?:Error|Exception|Graph))\b", done[2], re.MULTILINE)
        return "fails: " + (names[-1] if names else "no message"), None
    seconds = float(done[1].splitlines()[-1])
    return milliseconds(seconds), seconds


def main():
    folder = pathlib.Path(sys.argv[1])
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".json", ".yaml", ".yml"))
    rows, ran = [], [0, 0]
    for path in files:
        (here, here_s), (there, there_s) = run_here(path), run_there(path)
        ran[0] += here_s is not None
        ran[1] += there_s is not None
        ratio = f"{there_s / here_s:,.0f}" if here_s and there_s else ""
        name = str(path.relative_to(folder)).replace("|", "\\|")
        rows.append(f"| {name} | {here.replace('|', ' ')} | {there.replace('|', ' ')} | {ratio} |")
    print("# Upstream's example models\n")
    print(f"One evaluation of each example file of ModECI/MDF without inputs, here and in the Python engine (modeci_mdf): {ran[0]} of "
          f"{len(files)} run here, {ran[1]} there. Written by `tools/compare_upstream.py`; loading and compiling are not in the times.\n"
          "The ACT-R models wait for a goal and a pattern as inputs (`docs/actr_ddm.md`); with these they run. `PyTorch/ddm.json` has an "
          "edge to a node that is missing.\n")
    print("| model | mdf_c | modeci_mdf | times faster |\n|---|---|---|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
