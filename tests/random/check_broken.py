#!/usr/bin/env python3
"""Random models with one to three mistakes in them, by mdf-run: each ends, without a crash or a fault that a sanitizer tells, with results or with an error that has a place.

    python3 tests/random/check_broken.py --seeds 500 [--from 0] [--build build/asan] [--keep FOLDER]

Best with a build for the address sanitizer (make check-broken), which tells leaks too. Ends with one line "N models, N found"; exit status 1 where something was found."""
import copy
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

import case as cases
import changing
import changing_states
import grammar
import modeci_grammar
import solving
from runner import ROOT, seeds_parser

FAMILIES = [grammar, changing_states, solving, modeci_grammar, changing]
BOUNDS = ["--max-memory", "200M", "--max-iterations", "2000", "--max-passes", "300", "--time-limit", "8"]
WAYS = [[], ["--plain"], ["--dt", "0.1"], ["--explain"], ["--trace"], ["--check"]]
LIMIT_S = 40
OTHERS = [None, True, 0, -1, 1e308, 1e-320, 2**63, 2**70, -2**31, float("nan"), "", "x", "1 +", "[1,", "numpy.foo(1)", "N1.o1", "s00", "é\0", "a" * 300, "1/0", "9**9**9", "numpy.zeros(10**12)", "[0]*10**10",
          "lambda: 1", "numpy.ones((100000, 100000))", "s00[99]", "None", "'a' * 10**9", "range(10**12)", "numpy.arange(1e15)", [], [[]], {}, {"a": 1}, [1, [2]], [1, "a"], "[[1, 2], [3]]",
          {"type": "float32", "shape": [2], "data": [1]}, {"type": "float32", "shape": [-1], "data": []}, {"type": "nope", "shape": [], "data": [1]}, "onnx::Add", "onnx::Loop", "linear", "psyneulink::Foo"]
KEYS = ["value", "default_initial_value", "time_derivative", "function", "args", "conditions", "reduce", "shape", "type", "metadata", "condition", "n", "dependency", "reset", "repeat_until_finished", "default_value"]


def _paths(value, path=()):
    """Paths of all parts."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield (*path, key)
        yield from _paths(value[key], (*path, key))


def _at(value, path):
    for key in path:
        value = value[key]
    return value


def _mistake(rng, model):
    """One mistake: something left out, replaced, called otherwise, added, put elsewhere, or a letter of a text."""
    paths = list(_paths(model))
    if not paths:
        return
    path, kind = rng.choice(paths), rng.choice(["drop", "drop", "other", "other", "other", "other", "name", "add", "move", "letter"])
    holder, key = _at(model, path[:-1]), path[-1]
    if kind == "drop":
        del holder[key]
    elif kind == "name" and isinstance(holder, dict):
        holder[rng.choice([*KEYS, "x", "1", "N0"])] = holder.pop(key)
    elif kind == "add" and isinstance(holder, dict):
        holder[rng.choice(KEYS)] = copy.deepcopy(rng.choice(OTHERS))
    elif kind == "move":
        holder[key] = copy.deepcopy(_at(model, rng.choice(paths)))
    elif kind == "letter" and isinstance(holder[key], str) and holder[key]:
        text, at = holder[key], rng.randrange(len(holder[key]))
        holder[key] = text[:at] + rng.choice(["", "(", ")", "[", "]", ",", "'", "é", " ", "**", "@", "0", "\\"]) + text[at + rng.choice([0, 1]):]
    else:
        holder[key] = copy.deepcopy(rng.choice(OTHERS))


def make(seed):
    """(bytes of a file, its suffix, arguments); None: what came out can not be written."""
    rng = random.Random(f"broken {seed}")
    case = copy.deepcopy(rng.choice(FAMILIES).make(seed))
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        _mistake(rng, case["model"])
    try:
        return cases.model_bytes(case), case["format"], [*BOUNDS, "--steps", "3", *rng.choice(WAYS)]
    except Exception:  # noqa: BLE001 - ONNX's messages have fields of one type each
        return None


def fault(program, path, arguments):
    """What is wrong; None: nothing."""
    try:
        done = subprocess.run([program, path, *arguments], capture_output=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return f"no end after {LIMIT_S} s"
    told = done.stderr.decode(errors="replace")
    if done.returncode < 0 or "Sanitizer" in told or "runtime error" in told:
        return next((line for line in told.split("\n") if "SUMMARY" in line or "runtime error" in line), f"signal {-done.returncode}")
    if done.returncode and path.endswith(".json") and not re.search(r":\d+:\d+: error", told):
        return f"an error without a place: {told[:200]}"
    return None


def main():
    parser = seeds_parser(__doc__, 500, "model")
    parser.add_argument("--keep", help="folder for what is found; default BUILD/random/found")
    settings = parser.parse_args()
    program, end = os.path.join(ROOT, settings.build, "mdf-run"), time.monotonic() + settings.time
    keep, n_models, n_found = settings.keep or os.path.join(ROOT, settings.build, "random", "found"), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(settings.first, settings.first + settings.seeds):
            made = make(seed) if time.monotonic() < end else None
            if made is None:
                continue
            path = os.path.join(folder, "model." + made[1])
            with open(path, "wb") as file:
                file.write(made[0])
            found = fault(program, path, made[2])
            n_models += 1
            if found:
                n_found += 1
                os.makedirs(keep, exist_ok=True)
                kept = os.path.join(keep, f"broken_{seed}.{made[1]}")
                os.replace(path, kept)
                print(f"seed {seed}: {found}\n    mdf-run {kept} {' '.join(made[2])}", flush=True)
    print(f"{n_models} models, {n_found} found")
    return 1 if n_found or n_models == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
