"""bench/results.md: tables of ratios from what was measured. bench/notes.md, where it is there, stands below the targets."""

import dataclasses
import datetime
import importlib.metadata
import os
import pathlib
import subprocess

import engines

HERE = pathlib.Path(__file__).resolve().parent
DASH = "–"


@dataclasses.dataclass
class Findings:
    """What each part measured; None: it was left out."""
    timings: list = dataclasses.field(default_factory=list)
    start: dict = None
    loading: dict = None
    memory: dict = None
    growth: list = None


def number(value, digits=3):
    """Three digits, without an exponent."""
    if value is None:
        return DASH
    if value >= 1000:
        return f"{float(f'{value:.{digits}g}'):,.0f}"
    return f"{float(f'{value:.{digits}g}'):g}"


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows)]) + "\n"


def ratio(timing, over, under):
    """How many times the seconds of one engine those of another are."""
    if over not in timing.seconds or under not in timing.seconds:
        return None
    return timing.seconds[over] / timing.seconds[under]


# ---------------------------------------------------------------- targets


def best_library(timing):
    found = [timing.seconds[name] for name in ("numpy", "onnxruntime", "onnxruntime 1") if name in timing.seconds]
    return min(found) / timing.seconds["mdf_c"] if found and "mdf_c" in timing.seconds else None


def judge(timing):
    """For each target of a workload: what it asks, what was found, whether it is reached (None: not measured)."""
    for key, limit in timing.targets.items():
        if key == "best library":
            found = best_library(timing)
            found = 1 / found if found else None
        elif key == "c":
            found = ratio(timing, "mdf_c", "C")
        elif key == "c compiled":
            found = ratio(timing, "mdf_c compiled", "C")
        else:
            found = ratio(timing, key, "mdf_c")
        at_least = key not in ("c", "c compiled", "best library")
        ask = {"c": "of C at most", "c compiled": "compiled, of C at most", "best library": "of the best library at most"}.get(
            key, f"{key}: at least")
        reached = None if found is None else found >= limit if at_least else found <= limit
        yield f"{ask} {limit:,}", found, reached


def targets(findings):
    by_group = {}
    for timing in findings.timings:
        for ask, found, reached in judge(timing):
            by_group.setdefault((timing.group, ask), []).append((timing.name, found, reached))
    rows = []
    for (group, ask), cases in by_group.items():
        measured = [case for case in cases if case[2] is not None]
        missed = [f"{name} ({number(found)})" for name, found, reached in measured if not reached]
        n = sum(case[2] for case in measured)
        rows.append((group, ask, f"{n} of {len(measured)}" if measured else DASH, ", ".join(missed) or ""))
    return "## Targets\n\n" + table(("workloads", "times", "reached", "not reached"), rows)


# ---------------------------------------------------------------- tables


def cell(timing, engine):
    if engine in timing.wrong:
        return "wrong"
    value = ratio(timing, engine, "mdf_c")
    return number(value)


def absences(findings):
    """Why a table has dashes: each reason with the workloads that it holds for."""
    reasons = {}
    for timing in findings.timings:
        for engine, why in timing.absent.items():
            reasons.setdefault((engine, why), []).append(timing.name)
    lines = [f"- {engine}: {why} ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})"
             for (engine, why), names in reasons.items() if why != engines.NOT_WRITTEN]
    return "\n" + "\n".join(lines) + "\n" if lines else ""


def times(findings):
    text = "## Times\n\nEach engine's time for one iteration or step, in times that of mdf_c. " \
        "The last columns: mdf_c's time in times that of C.\n\n"
    for kind in "onnx", "mdf":
        columns = [engine.name for engine in engines.ENGINES if getattr(engine, kind) is not None and engine.name != "mdf_c"]
        timings = [timing for timing in findings.timings if timing.group.startswith("MDF") == (kind == "mdf")]
        rows = [(timing.name, *(cell(timing, name) for name in columns), number(ratio(timing, "mdf_c", "C")),
                 number(ratio(timing, "mdf_c compiled", "C"))) for timing in timings]
        if rows:
            text += table(("workload", *columns, "mdf_c / C", "compiled / C"), rows) + "\n"
    wrong = [f"{timing.name}: {name} differs by {size:.2g}" for timing in findings.timings for name, size in timing.wrong.items()]
    text += "Results differ: " + "; ".join(wrong) + ".\n" if wrong else "All results agree.\n"
    return text + absences(findings)


def start(findings):
    own = next(seconds for name, seconds in findings.start.items() if name.startswith("mdf-run"))
    rows = [(name, number(seconds and seconds * 1e3), number(seconds and own and seconds / own))
            for name, seconds in findings.start.items()]
    text = "## Start\n\nWhole processes. Target: mdf-run at most 3 ms.\n\n"
    return text + table(("command", "ms", "in times mdf-run's"), rows)


def loading(findings):
    numbers, first = findings.loading["numbers"], next(iter(findings.loading["numbers"].values()))
    text = "## Loading\n\n100,000 numbers (2 MB of JSON). Target: no slower than json.load.\n\n"
    rows = [(name, number(seconds and seconds / first)) for name, seconds in numbers.items()]
    text += table(("file and reader", "in times Python's json.load"), rows)
    text += "\nWeights of an .onnx. Target: the time of reading the file, which is that into memory that the process did not have;\n" \
        "what is read through a small buffer, as cat does, is not kept.\n\n"
    rows = [(f"{size} MB", number(found["mdf_c"] / found["read into fresh memory"]),
             number(found["mdf_c"] / found["read through a buffer"]), number(found["peak"]))
            for size, found in findings.loading["weights"].items()]
    heads = "file", "mdf_c's time / read into fresh memory", "/ read through a small buffer", "peak memory / size of the file"
    return text + table(heads, rows)


def mebibytes(n_bytes):
    return None if n_bytes is None else max(n_bytes, 0) / 2**20


def memory(findings):
    columns = list(next(iter(findings.memory.values())))
    rows = []
    for name, found in findings.memory.items():
        own = found["mdf_c"] or {}
        rows.append((name, number(mebibytes(own.get("values"))), number(mebibytes(own.get("state"))),
                     *(number(mebibytes(found[engine] and found[engine]["peak"])) for engine in columns)))
    text = "## Memory\n\nMiB. Peak resident memory of a run above what the process had with the inputs loaded; inputs and\n" \
        "outputs themselves; and what mdf_c's state held at most, with its copies of the inputs.\n\n"
    return text + table(("workload", "inputs and outputs", "state of mdf_c", *columns), rows)


def growth(findings):
    text = "## Growth\n\nProcessor time for each unit, in times that at the smallest size, and the exponent of growth between\n" \
        "the last two sizes (1: linear; what leaves a cache costs more from there on).\n"
    for title, unit, sizes, columns in findings.growth:
        rows = []
        for name, (seconds, power) in columns.items():
            each = [total / size for total, size in zip(seconds, sizes)]
            rows.append((name, *(number(one / each[0]) for one in each), f"{power:.2f}"))
        text += f"\n{title}\n\n" + table(("", *(f"{size:,} {unit}" for size in sizes), "exponent"), rows)
    return text


# ---------------------------------------------------------------- the page


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def head():
    compiler = subprocess.run([os.environ.get("CC", "gcc"), "-dumpfullversion"], capture_output=True, text=True).stdout.strip()
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "onnx", "onnxruntime", "modeci_mdf"))
    return f"""# Results

Written by `make bench` on {datetime.date.today()}, {len(os.sched_getaffinity(0))} cores; {packages}, gcc {compiler}.
All engines of a workload ran in turn in one process; the least of many rounds counts. Only ratios mean anything.

"""


def write(findings, path=None):
    parts = ("timings", targets), ("timings", times), ("start", start), ("loading", loading), ("memory", memory), ("growth", growth)
    sections = [section(findings) for name, section in parts if getattr(findings, name)]
    notes = HERE / "notes.md"
    if notes.exists() and findings.timings:
        sections.insert(1, notes.read_text())
    pathlib.Path(path or HERE / "results.md").write_text(head() + "\n".join(sections))
