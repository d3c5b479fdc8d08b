#!/usr/bin/env python3
"""Counts what mdf-run --check finds in models, and tries whether it is so: what is told to be unused is taken out, and a node that never runs
is looked for in the schedule. A finding is false where that changes what the model computes.

Usage: check_linter.py [-v] FILE... (models, or folders of models; JSON and YAML). Exit status 1 where one is false. BUILD: the folder of the build.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

MDF_RUN = pathlib.Path(os.environ.get("BUILD", "build")) / "mdf-run"
RUN = ["--steps", "4", "--dt", "0.125", "--time-limit", "20"]
PARTS = {"node": "nodes", "parameter": "parameters", "input port": "input_ports", "function": "functions"}
UNUSED = {"unused-parameter", "unused-function", "unused-input"}


def call(path, *arguments):
    done = subprocess.run([MDF_RUN, path, *arguments], capture_output=True, text=True, errors="replace", check=False)
    return done.returncode, done.stdout, done.stderr


def models(names):
    for name in map(pathlib.Path, names):
        yield from sorted(p for p in name.rglob("*") if p.suffix in (".json", ".yaml", ".yml")) if name.is_dir() else [name]


def find(model, path):
    """(what holds the part that a path in the model names, its id, its graph), or None: lists of nodes are left out."""
    graphs = next(iter(model.values())).get("graphs", {})
    steps = re.findall(r"(graph|node|parameter|input port|function) '([^']*)'", path)
    if not isinstance(graphs, dict) or not steps:
        return None
    graph = graphs.get(steps[0][1]) if steps[0][0] == "graph" else next(iter(graphs.values()), None)
    part, holder, name = graph, None, None
    for kind, name in steps[steps[0][0] == "graph" :]:
        holder = part.get(PARTS[kind]) if kind in PARTS and isinstance(part, dict) else None
        if not isinstance(holder, dict) or name not in holder:
            return None
        part = holder[name]
    return (holder, name, graph) if holder is not None else None


def take_out(model, finding):
    """Changes a model so that an unused part is away, or has another value. False: that can not be done here."""
    found = find(model, finding["path"] or "")
    if found is None:
        return False
    holder, name, graph = found
    if finding["code"] != "unused-input":
        del holder[name]
        return True
    edges = graph.get("edges") or {}
    changed = False
    for edge in edges.values() if isinstance(edges, dict) else []:
        if edge.get("receiver_port") == name and graph["nodes"].get(edge.get("receiver"), {}).get("input_ports") is holder:
            edge.setdefault("parameters", {})["weight"] = 3.71
            changed = True
    if not changed and isinstance(holder[name], dict) and not holder[name].get("shape"):
        holder[name]["default_value"] = 17.25
        changed = True
    return changed


def judge(path, finding, folder):
    """ "true", "false" or "not tried"."""
    if finding["code"] == "never-runs":
        status, told, _ = call(path, *RUN, "--schedule")
        node = re.match(r"node '([^']*)'", finding["message"])
        if status != 0 or node is None:
            return "not tried"
        return "false" if re.search(rf"\b{re.escape(node[1])}\b", told.partition('\n')[2]) else "true"
    if finding["code"] not in UNUSED:
        return "not tried"
    text = path.read_text()
    model = yaml.safe_load(text)
    if "random" in text:  # other draws come then
        return "not tried"
    if not isinstance(model, dict) or not take_out(model, finding):
        return "not tried"
    changed = folder / "changed.json"
    changed.write_text(json.dumps(model))
    before, after = call(path, *RUN, "--trace"), call(changed, *RUN, "--trace")
    return "not tried" if before[0] != 0 else "true" if before[:2] == after[:2] else "false"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    counts, n_models, n_clean = collections.Counter(), 0, 0
    with tempfile.TemporaryDirectory() as name:
        for path in models(arguments.files):
            _, _, errors = call(path, "--check", "--json-errors")
            found = [json.loads(line) for line in errors.splitlines() if line.startswith("{")]
            if any(finding["severity"] == "error" for finding in found):
                continue  # no model that can be run
            n_models += 1
            n_clean += not found
            for finding in found:
                verdict = judge(path, finding, pathlib.Path(name))
                counts[finding["code"], verdict] += 1
                if verdict == "false" or arguments.verbose:
                    print(f"{path}:{finding['line']}: {finding['code']}: {finding['path']}: {finding['message']}: {verdict}")
    for (code, verdict), n in sorted(counts.items()):
        print(f"{n:6} {code}, {verdict}")
    n_false = sum(n for (_, verdict), n in counts.items() if verdict == "false")
    print(f"{n_models} models, {n_clean} without a finding, {n_false} false findings")
    return 1 if n_false else 0


if __name__ == "__main__":
    sys.exit(main())
