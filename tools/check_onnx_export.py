#!/usr/bin/env python3
"""Writes models as ONNX, checks the files with onnx.checker, and compares ONNX Runtime with this engine, step by step.

Counts, and says with -v of which file:
  written        ONNX Runtime gives the same
  no kernel      ONNX Runtime has no kernel for the types (for float64, most often): onnx.reference gives the same; written in
                 float32 (mdf-convert --float32), so does ONNX Runtime, where it says so
  not compared   ONNX Runtime does not run the .onnx file that the model is, or the inputs that are made up here suit neither
  refused        with the reason
  no time        not done within --limit seconds (60)
  invalid, differs: exit status 1

Inputs are those of a file inputs_0.npz beside the model, where there is one; else they are made up.

Usage: check_onnx_export.py [-v] [--limit SECONDS] FILE... (models, or folders of models).
"""

import argparse
import collections
import multiprocessing
import pathlib
import re
import sys
import tempfile
import warnings

import numpy as np
import onnx
import onnx.reference
import onnxruntime

import mdf_c

NO_KERNEL = re.compile("NOT_IMPLEMENTED|does not support double yet")
STEPS, DT = 3, 0.125
SUFFIXES = {".json", ".yaml", ".yml", ".bson", ".onnx"}
NO_MODELS = {"case.json", "index.json", "about.json"}
REASON = re.compile(r"this can not be written as ONNX: (.*)", re.DOTALL)


def models(names):
    for name in map(pathlib.Path, names):
        if name.is_dir():
            yield from sorted(path for path in name.rglob("*") if path.suffix in SUFFIXES and path.name not in NO_MODELS)
        else:
            yield name


def of_type(type_text, shape, rng, whole="random"):
    """A value for an input without a default; `whole`: which whole numbers, "random", "zeros" or "counted", as some are indices."""
    size = [1 if not isinstance(axis, int) or axis < 0 else axis for axis in (shape or [])]
    if "string" in type_text:
        return np.full(size, "a", object)
    if "bool" in type_text:
        return np.asarray(rng.integers(0, 2, size), bool)
    if "int" in type_text:
        numbers = {"random": rng.integers(0, 3, size), "zeros": np.zeros(size), "counted": np.arange(np.prod(size)).reshape(size)}
        return np.asarray(numbers[whole]).astype(re.search(r"\((\w+)\)", type_text)[1])
    number = {"float": np.float32, "double": np.float64, "float16": np.float16}.get(re.search(r"\((\w+)\)", type_text)[1])
    if number is None:
        raise TypeError(type_text)
    return np.asarray(rng.random(size) + (0.5 if whole == "random" else 0), number)


def inputs_for(path, wanted, whole):
    """Values by name: those recorded beside the model, else made up."""
    recorded, rng = {}, np.random.default_rng(0)
    if path.with_name("inputs_0.npz").exists():
        with np.load(path.with_name("inputs_0.npz"), allow_pickle=True) as stored:
            recorded = {name: stored[name] for name in stored.files}
    return {one.name: recorded[one.name] if one.name in recorded else of_type(one.type, one.shape, rng, whole) for one in wanted}


def same(ours, theirs, tolerance=1e-9):
    if isinstance(theirs, list):
        return isinstance(ours, (list, np.ndarray)) and len(ours) == len(theirs) and all(same(*pair, tolerance) for pair in zip(ours, theirs))
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if theirs.dtype == object or ours.dtype.kind in "USO":
        return ours.shape == theirs.shape and [str(x) for x in ours.ravel()] == [str(x) for x in theirs.ravel()]
    if ours.dtype.kind not in "biuf":
        ours = ours.astype(np.float64)
    narrow = theirs.dtype in (np.float16, np.float32) or ours.dtype in (np.float16, np.float32)
    tolerance = 2e-2 if np.float16 in (theirs.dtype, ours.dtype) else 1e-4 if narrow else tolerance
    return ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=tolerance, atol=tolerance, equal_nan=True)


class Reference:
    """onnx.reference as a session of ONNX Runtime."""

    def __init__(self, written):
        self.graph = onnx.load(str(written)).graph
        self.evaluator = onnx.reference.ReferenceEvaluator(str(written))
        self.given = {one.name: onnx.numpy_helper.to_array(one) for one in self.graph.initializer}

    @staticmethod
    def _value(one):
        kind = one.type.tensor_type
        name = {onnx.TensorProto.FLOAT: "float", onnx.TensorProto.DOUBLE: "double"}.get(
            kind.elem_type, str(onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type))
        )
        shape = [axis.dim_value or None for axis in kind.shape.dim]
        return type("Value", (), {"name": one.name, "type": f"tensor({name})", "shape": shape})

    def get_inputs(self):
        return [self._value(one) for one in self.graph.input]

    def get_overridable_initializers(self):
        return [one for one in self.get_inputs() if one.name in self.given]

    def get_outputs(self):
        return [self._value(one) for one in self.graph.output]

    def run(self, names, feed):
        return self.evaluator.run(names, feed)


def session_of(written):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(written), options)


# ONNX Runtime has a kernel for float64 that computes in float32.
COMPUTED_IN_FLOAT32 = {"Shrink"}
IN_FLOAT32 = 1e-6


def value_named(state, name):
    """A result of ours, by the name that it has in the file: RESULT, NODE.PORT where there are no results, with .NUMBER for an item
    of a list; None: no such value."""
    results = state.results()
    if not results:
        results = {f"{node}.{port}": value for node, ports in state.outputs().items() for port, value in ports.items()}
    if name in results:
        return results[name]
    outer, _, item = name.rpartition(".")
    found = value_named(state, outer) if outer and item.isdigit() else None
    return found[int(item)] if isinstance(found, (list, tuple)) else None


def compare(path, written, session, tolerance=1e-9, **settings):
    """Runs both engines; None: the same, else what is not. Inputs that the model refuses are tried otherwise."""
    for whole in ("random", "zeros"):
        try:
            return compare_with(path, written, session, whole, tolerance, **settings)
        except mdf_c.MdfError:
            pass
    return compare_with(path, written, session, "counted", tolerance, **settings)


def compare_with(path, written, session, whole, tolerance, **settings):
    operators = {node.op_type for node in onnx.load(str(written)).graph.node}
    if operators & COMPUTED_IN_FLOAT32:
        tolerance = IN_FLOAT32
    original = None
    if path.suffix == ".onnx":  # what ONNX Runtime makes nothing of in the first place
        try:
            original = session_of(path)
            given = inputs_for(path, original.get_inputs(), whole)
            original.run(None, given)
        except Exception as error:  # noqa: BLE001
            raise TypeError(f"ONNX Runtime does not run it: {error}") from error
    defaults = {one.name: one for one in session.get_overridable_initializers()}
    given = inputs_for(path, [one for one in session.get_inputs() if one.name not in defaults], whole)
    if "OneHot" in operators:  # the depth is a whole number
        given = {name: np.ceil(value).astype(value.dtype) for name, value in given.items()}
    names = [one.name for one in session.get_outputs()]
    states = {name[: -len(".next")]: name for name in names if name.endswith(".next") and name[: -len(".next")] in defaults}
    steps = STEPS if states else 1
    dt = DT if "dt" in defaults else None
    # What ONNX Runtime gives for the original: in an ill-conditioned model rounding alone makes it differ from this engine.
    before = {}
    if original is not None and set(given) == {one.name for one in original.get_inputs()}:
        before = dict(zip((one.name for one in original.get_outputs()), original.run(None, given)))
    program = mdf_c.compile(str(path), **settings)
    state = program.state()
    feed = dict(given)
    for step in range(steps):
        if step > 0 and dt is not None:
            feed["dt"] = np.asarray(dt, np.float64)
        state.set_inputs(given)
        state.evaluate(dt if step > 0 else None)
        theirs = dict(zip(names, session.run(None, feed)))
        n_compared = 0
        for name in names:
            ours = value_named(state, name) if name not in states.values() else None
            n_compared += ours is not None
            if ours is not None and not same(ours, theirs[name], tolerance):
                if name in before and same(before[name], theirs[name]):
                    continue
                return f"step {step + 1}, {name}: {ours!r} here, {theirs[name]!r} in ONNX Runtime"
        if n_compared == 0:
            return "nothing is compared"
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
        found = compare(path, written, session_of(written))
    except (mdf_c.MdfError, TypeError, MemoryError) as error:
        return "not compared", str(error)
    except Exception as error:  # noqa: BLE001
        if not runs_here(model):
            return "not compared", f"neither runs it: {error}"
        return without_kernel(path, model, written, error) if NO_KERNEL.search(str(error)) else ("differs", str(error))
    return ("written", "") if found is None else ("differs", found)


def runs_here(model):
    """Whether this engine evaluates a model without inputs; what has some is taken to run."""
    program = model.compile()
    try:
        program.state().evaluate()
    except mdf_c.MdfError:
        return bool(program.inputs)
    return True


def without_kernel(path, model, written, error):
    """ONNX Runtime has no kernel for an operator of the file in its types."""
    missing = re.search(r"implementation for (\S+)", str(error))
    detail = missing[1] if missing else str(error)
    found, failed = attempt(path, written, lambda: Reference(written), IN_FLOAT32)
    detail += ": onnx.reference gives the same" if found is None and failed is None else ": nor has onnx.reference" if failed else ": onnx.reference differs"
    try:
        model.save(written, float32=True)
    except mdf_c.MdfError:
        return ("differs", f"{detail}: {found}") if found else ("no kernel", detail)
    narrow, failed = attempt(path, written, lambda: session_of(written), float32=True)
    if narrow is not None or (found is not None and failed is not None):  # one of them must bear it out
        return "differs", f"{detail}: {found or narrow}"
    return "no kernel", detail + ("; nor has ONNX Runtime for float32" if failed else "; in float32 ONNX Runtime gives the same")


def attempt(path, written, session, *arguments, **settings):
    """(what differs or None, why it could not be compared or None)"""
    try:
        return compare(path, written, session(), *arguments, **settings), None
    except Exception as failed:  # noqa: BLE001 - an engine without the operator
        return None, str(failed)


def check_and_send(path, sender):
    with tempfile.TemporaryDirectory() as folder:
        sender.send(check(path, pathlib.Path(folder)))


def check_within(path, limit):
    """`check` in a process of its own, which ends with the limit, or with itself."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=check_and_send, args=(path, sender))
    process.start()
    sender.close()
    try:
        return receiver.recv() if receiver.poll(limit) else ("no time", f"not done in {limit} s")
    except EOFError:
        process.join()
        return "differs", f"the process ended with status {process.exitcode}"
    finally:
        process.kill()
        process.join()
        receiver.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--limit", type=float, default=60, metavar="SECONDS", help="for each model")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    counts, reasons = collections.Counter(), collections.Counter()
    for path in models(arguments.files):
        kind, detail = check_within(path, arguments.limit)
        counts[kind] += 1
        if kind in ("refused", "no kernel"):
            detail = detail.partition("): ")[2] if kind == "no kernel" else detail
            reasons[f"{kind}: " + re.sub(r"'[^']*'|\d+", "...", detail)[:200]] += 1
        if kind in ("differs", "invalid", "no time") or arguments.verbose:
            print(f"{path}: {kind}: {detail[:400]}", flush=True)
    print(", ".join(f"{kind} {n}" for kind, n in counts.most_common()))
    for reason, n in reasons.most_common():
        print(f"  {n} {reason}")
    return 1 if counts["differs"] or counts["invalid"] else 0


if __name__ == "__main__":
    sys.exit(main())
