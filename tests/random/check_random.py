#!/usr/bin/env python3
"""Runs random models by every way that the engine has, and shrinks what does not agree. See README.md in this folder.

    python3 tests/random/check_random.py --seeds 1000 [--from 0] [--jobs 2] [--build build]

Ends with one line "N models, N found"; exit status 1 where something was found that known.txt does not explain."""
import json
import multiprocessing
import os
import queue
import re
import shutil
import sys
import time

import case as cases
import families
import lanes_way
import nested_way
import outlined_way
import shrink
from runner import ROOT, Runner, seeds_parser

HERE = os.path.dirname(os.path.abspath(__file__))
DOOR_WAYS = ("inspected", "onnx_written", "custom_function", "fmu2", "fmu3")  # door_ways.py
PYTHON_WAYS = ("python", "EvaluableGraph", "python_sweep", "command_sweep", "onnx_backend", *DOOR_WAYS)
SLOW_EVERY = 5  # of so many models of each family one goes the slow ways through Python too, which take as long as all others through it
MOST_SHRUNK = 8  # of one kind of finding one is shrunk, and of all so many


def read_known():
    """Rules of known.txt: (name, way, pattern)."""
    rules = []
    with open(os.path.join(HERE, "known.txt")) as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                name, way, pattern = [part.strip() for part in line.split("\t") if part.strip()][:3]
                rules.append((name, way, re.compile(pattern)))
    return rules


def known_name(finding, rules):
    text = f"{finding['kind']} " + " | ".join(finding["detail"])
    for name, way, pattern in rules:
        if way in ("*", finding["way"]) and pattern.search(text):
            return name
    return None


def signature(finding):
    """What findings of one cause probably have in common: the way, and the message without names and numbers."""
    detail = [re.sub(r"[0-9a-f]{2,}|\d+|'[^']*'", "#", x) for x in finding["detail"][1:3]] or finding["detail"]
    return finding["way"], finding["kind"], tuple(x.split(" ")[0] if finding["kind"] == "different" and not x.startswith("error") else x for x in detail)


def _together(found):
    """Several ways that differ from the reference in one model have one cause: the first stands for them."""
    differ = [f for f in found if f["kind"] == "different" and f["way"] != "nested"]
    if len(differ) < 2:
        return found
    first = {**differ[0], "detail": differ[0]["detail"] + ["also " + ", ".join(dict.fromkeys(f["way"] for f in differ[1:]))]}
    return [first] + [f for f in found if f not in differ]


class Check:
    """What one process does: seeds in, findings out."""

    def __init__(self, settings):
        self.settings, self.rules = settings, read_known()
        self.runner = Runner(settings.build, settings.limit, settings.wrong_way, settings.sanitize)
        self.python = None
        if settings.python:
            import door_ways
            import python_way

            self.python, self.door = python_way, door_ways

    def findings(self, case, compiled=False, only="-", slow_python=False):
        outcome = self.runner.run(case, compiled, only)
        found = outcome.findings
        if only == "-" and not any(f["kind"] != "different" for f in outcome.findings):
            found = found + self.nested(case, outcome.last) + self.outlined(case, outcome.last) + (self.nested_compiled(case) + self.compiled_lanes(case) if compiled else [])
        if self.python is not None and only == "-" and not any(f["kind"] != "different" for f in outcome.findings):
            found = found + self.python.findings(case, outcome.last)
            found = found + (self.slow_python(case, outcome.last, compiled) if slow_python else [])
        found = _together(found)
        names = [known_name(f, self.rules) for f in found]
        return [f for f, name in zip(found, names) if name is None], [name for name in names if name is not None]

    def slow_python(self, case, last, compiled=False):
        found = self.python.sweep_findings(case) + self.python.backend_findings(case, last)
        return found + self.door.findings(case, [way for way in DOOR_WAYS if compiled or not way.startswith("fmu")])

    def nested(self, case, last):
        return nested_way.findings(case, last, lambda inside: self.runner.run(inside, only="plain").last)

    def outlined(self, case, last):
        return outlined_way.findings(case, last, lambda other: self.runner.run(other, only="plain").last)

    def nested_compiled(self, case):
        inside = nested_way.nested(case)
        found = [] if inside is None else self.runner.run(inside, True, "compiled").findings
        return [{**finding, "way": "nested_compiled"} for finding in found if finding["way"] == "compiled"]

    def compiled_lanes(self, case):
        return lanes_way.findings(case, self.settings.build)

    def seed(self, seed):
        case = families.make(seed)
        every = self.settings.compile_every
        return case, *self.findings(case, bool(every) and seed % every == 0, slow_python=seed // len(families.FAMILIES) % SLOW_EVERY == 0)

    def again(self, case, finding):
        """The findings of that way and kind."""
        if finding["way"] in DOOR_WAYS:
            found = self.door.findings(case, [finding["way"]])
        elif finding["way"] in PYTHON_WAYS:
            outcome = self.runner.run(case, False, "plain")
            run = self.slow_python if finding["way"] in ("python_sweep", "command_sweep", "onnx_backend") else self.python.findings
            found = run(case, outcome.last) if not outcome.findings else []
        elif finding["way"] == "nested":
            found = self.nested(case, self.runner.run(case, only="plain").last)
        elif finding["way"] == "outlined":
            found = self.outlined(case, self.runner.run(case, only="plain").last)
        elif finding["way"] == "nested_compiled":
            found = self.nested_compiled(case)
        elif finding["way"] == "compiled_lanes":
            found = self.compiled_lanes(case)
        else:
            only = "-" if finding["way"] == "load" else finding["way"]
            found, _ = self.findings(case, finding["way"] == "compiled", only)
        return [f for f in found if f["way"] == finding["way"] and f["kind"] == finding["kind"]]

    def shrink(self, case, finding):
        smaller = shrink.shrink(case, lambda candidate: bool(self.again(candidate, finding)), self.settings.shrink_s)
        return smaller, (self.again(smaller, finding) or [finding])[0]


def work(settings, begin, number, results, places):
    """Every jobs-th seed from ``begin`` on, by process ``number``. Where it is is told in ``places``, should it end."""
    check = Check(settings)
    with check.runner:
        for seed in range(begin, settings.first + settings.seeds, settings.jobs):
            places[number] = seed
            if time.monotonic() > settings.end:
                break
            _, found, known = check.seed(seed)
            results.put((number, seed, found, known))
    places[number] = -1
    results.put((number, None, [], []))


def collect(settings):
    """Findings of all seeds: {signature: [(seed, finding)]}, how many models ran, and how often each rule of known.txt was needed."""
    results, places = multiprocessing.Queue(), multiprocessing.Array("q", settings.jobs)
    workers, found, n_models, known = {}, {}, 0, {}

    def begin(seed, number):
        places[number] = seed
        workers[number] = multiprocessing.Process(target=work, args=(settings, seed, number, results, places))
        workers[number].start()

    for number in range(settings.jobs):
        begin(settings.first + number, number)
    while workers:
        try:
            number, seed, findings, names = results.get(timeout=1.0)
        except queue.Empty:  # has one of them ended in a seed? Then the package has ended it: run_ways is a process of its own
            for number, worker in list(workers.items()):
                if not worker.is_alive() and places[number] >= 0:
                    finding = {"way": "python", "kind": "crash", "detail": [f"exit status {worker.exitcode}"]}
                    found.setdefault(signature(finding), []).append((places[number], finding))
                    begin(places[number] + settings.jobs, number)
            continue
        if seed is None:
            workers.pop(number).join()
            continue
        n_models += 1
        for name in names:
            known[name] = known.get(name, 0) + 1
        for finding in findings:
            found.setdefault(signature(finding), []).append((seed, finding))
    return found, n_models, known


def keep(settings, seed, finding, case):
    """Writes a shrunk case to files; returns their folder."""
    folder = os.path.join(settings.keep, f"{seed}_{finding['way']}")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    model = "model." + case["format"]
    with open(os.path.join(folder, model), "wb") as file:
        file.write(cases.model_bytes(case))
    with open(os.path.join(folder, "inputs.json"), "w") as file:
        json.dump(cases.inputs_by_step(case), file)
    with open(os.path.join(folder, "case.json"), "w") as file:
        json.dump(case, file)
    with open(os.path.join(folder, "README.md"), "w") as file:
        file.write(f"{cases.mdf_run_command(case, model)}\n\nway: {finding['way']}, {finding['kind']}\n\n" + "\n\n".join(finding["detail"]) + "\n")
    return folder


def report(settings, found):
    check = Check(settings)
    with check.runner:
        for k, (_, group) in enumerate(sorted(found.items(), key=lambda item: -len(item[1]))):
            seed, finding = group[0]
            print(f"\n{finding['way']}: {finding['kind']}, seed {seed}" + (f" and {len(group) - 1} others" if len(group) > 1 else ""))
            case = families.make(seed)
            if k < MOST_SHRUNK and (finding["way"] not in PYTHON_WAYS or finding["kind"] == "different"):
                case, finding = check.shrink(case, finding)
            for line in finding["detail"]:
                print("   ", line[:600])
            if k < MOST_SHRUNK:
                folder = keep(settings, seed, finding, case)
                print("   ", json.dumps(case["model"])[:3000])
                print(f"    in {os.path.relpath(folder, ROOT)}: {cases.mdf_run_command(case, 'model.' + case['format'])}")
            print(f"    again: make check-random FROM={seed} SEEDS=1" + (f" RANDOM_FLAGS='--family {settings.family}'" if settings.family else ""))
            sys.stdout.flush()


def arguments():
    parser = seeds_parser(__doc__, 1000, "model")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--compile-every", type=int, default=50, help="which share of the models is compiled as C too; 0: none")
    parser.add_argument("--no-python", dest="python", action="store_false", help="leave out the Python package")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds that a model may take by all ways")
    parser.add_argument("--shrink-s", type=float, default=30.0, help="seconds that shrinking may take")
    parser.add_argument("--sanitize", action="store_true", help="has generated C watched by the address sanitizer and that of undefined behaviour")
    parser.add_argument("--wrong-way", help="changes the last bits that this way gives, to see that it is found")
    parser.add_argument("--family", choices=sorted(families.NAMED), help="all models are of this family")
    parser.add_argument("--keep", default=None, help="folder for what is found; default BUILD/random/found")
    settings = parser.parse_args()
    families.choose(settings.family)
    settings.end = time.monotonic() + settings.time
    settings.keep = settings.keep or os.path.join(ROOT, settings.build, "random", "found")
    return settings


def main():
    settings = arguments()
    begin = time.monotonic()
    found, n_models, known = collect(settings)
    report(settings, found)
    for name, count in sorted(known.items()):
        print(f"known: {name}: {count}")
    print(f"{n_models} models, {sum(len(group) for group in found.values())} found, {time.monotonic() - begin:.1f} s")
    return 1 if found or n_models == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
