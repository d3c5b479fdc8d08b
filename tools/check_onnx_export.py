#!/usr/bin/env python3
"""Writes models as ONNX, checks the files with onnx.checker, and compares ONNX Runtime with this engine, step by step.

Counts what is written, what is refused by reason, what ONNX Runtime can not run, and what differs; exit status 1 where something
differs or a file is not valid. Usage: check_onnx_export.py [-v] FILE... (models, or folders of models).
"""

import argparse
import collections
import pathlib
import re
import sys
import tempfile
import warnings

import numpy as np
import onnx
import onnxruntime

import mdf_c

STEPS, DT = 3, 0.125
SUFFIXES = {".json", ".yaml", ".yml", ".bson", ".onnx"}
REASON = re.compile(r"this can not be written as ONNX: (.*)", re.DOTALL)


def models(names):
    for name in map(pathlib.Path, names):
        if name.is_dir():
            yield from sorted(path for path in name.rglob("*") if path.suffix in SUFFIXES)
        else:
            yield name


def of_type(type_text, shape, rng):
    """A value for an input without a default."""
    size = [1 if not isinstance(axis, int) or axis < 0 else axis for axis in (shape or [])]
    if "string" in type_text:
        return np.full(size, "a", object)
    if "bool" in type_text:
        return np.asarray(rng.integers(0, 2, size), bool)
    if "int" in type_text:
        return np.asarray(rng.integers(0, 3, size)).astype(re.search(r"\((\w+)\)", type_text)[1])
    number = {"float": np.float32, "double": np.float64, "float16": np.float16}.get(re.search(r"\((\w+)\)", type_text)[1])
    if number is None:
        raise TypeError(type_text)
    return np.asarray(rng.random(size) + 0.5, number)


def same(ours, theirs):
    if isinstance(theirs, list):
        return isinstance(ours, (list, np.ndarray)) and len(ours) == len(theirs) and all(map(same, ours, theirs))
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if theirs.dtype == object or ours.dtype.kind in "USO":
        return ours.shape == theirs.shape and [str(x) for x in ours.ravel()] == [str(x) for x in theirs.ravel()]
    if ours.dtype.kind not in "biuf":
        ours = ours.astype(np.float64)
    narrow = theirs.dtype in (np.float16, np.float32) or ours.dtype in (np.float16, np.float32)
    tolerance = 2e-2 if np.float16 in (theirs.dtype, ours.dtype) else 1e-4 if narrow else 1e-9
    return ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=tolerance, atol=tolerance, equal_nan=True)


def compare(path, written):
    """Runs both engines; None: the same, else what is not."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(written), options)
    if path.suffix == ".onnx":  # what ONNX Runtime makes nothing of in the first place
        given = {}
        original = onnxruntime.InferenceSession(str(path), options)
        rng = np.random.default_rng(0)
        for one in original.get_inputs():
            given[one.name] = of_type(one.type, one.shape, rng)
        try:
            original.run(None, given)
        except Exception as error:  # noqa: BLE001
            raise TypeError(f"ONNX Runtime does not run it: {error}") from error
    rng = np.random.default_rng(0)
    defaults = {one.name: one for one in session.get_overridable_initializers()}
    given = {one.name: of_type(one.type, one.shape, rng) for one in session.get_inputs() if one.name not in defaults}
    names = [one.name for one in session.get_outputs()]
    states = {name[: -len(".next")]: name for name in names if name.endswith(".next") and name[: -len(".next")] in defaults}
    steps = STEPS if states else 1
    dt = DT if "dt" in defaults else None
    program = mdf_c.compile(str(path))
    state = program.state()
    feed = dict(given)
    for step in range(steps):
        if step > 0 and dt is not None:
            feed["dt"] = np.asarray(dt, np.float64)
        state.set_inputs(given)
        state.evaluate(dt if step > 0 else None)
        theirs = dict(zip(names, session.run(None, feed)))
        ours = state.results()
        for name in names:
            if name in ours and not same(ours[name], theirs[name]):
                return f"step {step + 1}, {name}: {ours[name]!r} here, {theirs[name]!r} in ONNX Runtime"
        feed.update({name: theirs[output] for name, output in states.items()})
    return None


def check(path, folder):
    """(kind, detail): "written", "refused", "not run", "invalid", "differs", "no model"."""
    written = folder / "model.onnx"
    written.unlink(missing_ok=True)
    try:
        model = mdf_c.load(str(path))
        model.compile()
    except mdf_c.MdfError as error:
        return "no model", str(error)
    try:
        model.save(written)
    except mdf_c.MdfError as error:
        found = REASON.search(str(error))
        return ("refused" if found else "invalid"), (found[1] if found else str(error))
    try:
        onnx.checker.check_model(str(written), full_check=False)
    except Exception as error:  # noqa: BLE001 - whatever it raises
        return "invalid", str(error)
    try:
        found = compare(path, written)
    except (onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented, TypeError) as error:
        return "not run", str(error)
    except mdf_c.MdfError as error:
        return "not run", str(error)
    except Exception as error:  # noqa: BLE001
        return ("not run" if "NOT_IMPLEMENTED" in str(error) else "differs"), str(error)
    return ("written", "") if found is None else ("differs", found)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    counts, reasons = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        for path in models(arguments.files):
            kind, detail = check(path, pathlib.Path(name))
            counts[kind] += 1
            if kind == "refused":
                reasons[re.sub(r"'[^']*'|\d+", "...", detail)] += 1
            if kind in ("differs", "invalid") or arguments.verbose:
                print(f"{path}: {kind}: {detail[:400]}")
    print(", ".join(f"{kind} {n}" for kind, n in counts.most_common()))
    for reason, n in reasons.most_common():
        print(f"  refused {n}: {reason}")
    return 1 if counts["differs"] or counts["invalid"] else 0


if __name__ == "__main__":
    sys.exit(main())
