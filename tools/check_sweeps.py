"""Sweeps every model below a folder and holds the values against single runs: one by one, side by side in lanes, and for some
instances mdf-run --set with the instance's seed must give the same numbers.

usage: check_sweeps.py MDF_RUN FOLDER [MOST_MODELS]

Of each model the first number is swept that can be: a parameter of a node of the first graph with a constant value. Tells how many
models went side by side, how many one by one and why, and each difference; exit status 1 where there is one. A model of PsyNeuLink,
whose first evaluation is like all others, and one with inputs that are required, are passed over where a run of its own fails."""

import collections
import glob
import json
import os
import subprocess
import sys
import tempfile
from typing import Any, Iterator, Optional, Union

INSTANCES, STEPS, DT, LOOKED_AT = 24, 12, 0.01, (0, 7, 23)
Outcome = tuple[int, str, str]


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < abs(value) < 1e9


def numbers(model: dict[str, Any]) -> Iterator[tuple[str, Union[int, float]]]:
    """(NODE.PARAMETER, its number) of the first graph."""
    graph = next(iter(next(iter(model.values()))["graphs"].values()))
    for node, what in graph["nodes"].items():
        for name, parameter in (what.get("parameters") or {}).items():
            value = parameter.get("value") if isinstance(parameter, dict) else parameter
            if isinstance(parameter, dict) and not is_number(value) and "function" not in parameter:
                value = parameter.get("default_initial_value")
            if is_number(value) and (node + name).replace("_", "").isalnum():
                yield f"{node}.{name}", value


def run(*arguments: str) -> Optional[Outcome]:
    """None: it took too long."""
    try:
        done = subprocess.run([*arguments, "--threads", "1", "--quiet"], capture_output=True, text=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return None
    return done.returncode, done.stdout, done.stderr if done.returncode else ""


def last(value: Any) -> Any:
    """Reals and whole numbers alike, NaN as nothing."""
    if isinstance(value, list):
        return [last(item) for item in value]
    return None if value is None or value != value else float(value)


def differs_from_runs(mdf_run: str, path: str, name: str, values: list[float], sweep: dict[str, Any]) -> str:
    for i in LOOKED_AT:
        steps = ["-n", str(STEPS), "--dt", str(DT), "--seed", str(sweep["seeds"][i])]
        alone = run(mdf_run, path, "--set", f"{name}={values[i]!r}", *steps)
        if alone is None or alone[0] != 0:
            return "" if alone is None else f"instance {i} fails by itself: {alone[2][:200]}"
        outputs = json.loads(alone[1])["outputs"]
        for port, rows in sweep["outputs"].items():
            node, output = port.rsplit(".", 1) if "." in port else (None, port)
            want = outputs[node][output] if node is not None else next(o[output] for o in outputs.values() if output in o)
            if last(want) != last(rows[i][-1]):
                return f"instance {i}, {port}: {rows[i][-1]}, by itself {want}"
    return ""


def check(mdf_run: str, path: str, scratch: str) -> tuple[str, str]:
    """What became of a model, and what differs; or why it went one by one."""
    with open(path, encoding="utf-8") as file:
        model = json.load(file)
    became = "no number to sweep"
    for name, value in list(numbers(model))[:4]:
        values = [value * (1 + 0.07 * i) if isinstance(value, float) else value + i % 3 for i in range(INSTANCES)]
        with open(scratch, "w", encoding="utf-8") as file:
            json.dump({"parameters": {name: values}, "steps": STEPS, "dt": DT, "every": 1}, file)
        ways = [run(mdf_run, "--sweep", scratch, path, "--lanes", lanes) for lanes in ("1", "16")]
        if ways[0] is None or ways[1] is None:
            return "too slow", ""
        if ways[0] != ways[1]:
            return "different", f"{name}: side by side {ways[1][1][:200]} {ways[1][2][:200]}, one by one {ways[0][2][:200]}"
        if ways[0][0] != 0:
            became = "can not be swept"
            continue
        difference = differs_from_runs(mdf_run, path, name, values, json.loads(ways[0][1]))
        if difference:
            return "different", f"{name}: {difference}"
        told = run(mdf_run, "--sweep", scratch, path, "--lanes", "16", "--explain")
        text = told[1] if told is not None else ""
        return ("side by side", "") if "side by side" in text else ("one by one", text.partition("because ")[2].partition("\n")[0])
    return became, ""


def main() -> int:
    mdf_run, folder, *most = sys.argv[1:]
    paths = sorted(glob.glob(os.path.join(folder, "**", "*.json"), recursive=True))
    counts: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        for path in paths[: int(most[0]) if most else None]:
            try:
                became, text = check(mdf_run, path, os.path.join(scratch, "sweep.json"))
            except (ValueError, KeyError, AttributeError, TypeError, RuntimeError):  # RuntimeError: too deep, or without a graph
                became, text = "no model", ""
            counts[became] += 1
            if became == "different":
                print(f"{path}: {text}")
            elif became == "one by one":
                reasons[text[:80]] += 1
    print(", ".join(f"{n} {became}" for became, n in counts.most_common()))
    for reason, n in reasons.most_common():
        print(f"  one by one, {n}: {reason}")
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
