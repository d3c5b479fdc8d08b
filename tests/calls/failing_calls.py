#!/usr/bin/env python3
"""Calls the Python package with one allocation of the engine failing, for each allocation that a call makes.

    make all preload && LD_PRELOAD=build/tests/preload/fail_allocation.so MDF_C_BUILD=build python3 tests/calls/failing_calls.py [--step N] [--seconds S]

Each call ends in MemoryError (or the package's own error), or in the same result; afterwards the engine holds no more than before, and
works. Prints what does not, then one line that sums up.
"""
import argparse
import ctypes
import gc
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
import mdf_c  # noqa: E402

FAILER = ctypes.CDLL(None)
COOLING, NEWTON = "examples/cooling.yaml", "examples/newton_sqrt.json"


def converted(folder):
    path = os.path.join(folder, "converted.bson")
    mdf_c.load(COOLING).save(path)
    with open(path, "rb") as file:
        return file.read()


def stepped():
    state = mdf_c.compile(mdf_c.load(COOLING)).state()
    state.evaluate()
    for _ in range(3):
        state.evaluate(dt=1.0)
    return float(state.results()["temperature"])


def calls(folder):
    """What is called, by name."""
    return {
        "run": lambda: [float(mdf_c.run(COOLING, steps=3, dt=1.0)["temperature"]), float(mdf_c.run(NEWTON, {"a": 9.0})["root"])],
        "state": stepped,
        "convert": lambda: converted(folder),
        "sweep": lambda: mdf_c.sweep(COOLING, {"cup.time_constant": [100.0, 200.0]}, steps=3, dt=1.0, threads=2)["temperature"].tolist(),
    }


def fail_at(call, at, once):
    """How a call ends: "failed", or its result; and how many allocations it made."""
    FAILER.fail_allocation_arm(b"libmdf", ctypes.c_long(at), once)
    try:
        result = call()
    except (MemoryError, mdf_c.MdfError) as error:
        result = "failed" if str(error) else "says nothing"
    finally:
        n_calls = FAILER.fail_allocation_disarm()
    return result, n_calls


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120)
    options = parser.parse_args()
    FAILER.fail_allocation_disarm.restype = FAILER.fail_allocation_blocks.restype = ctypes.c_long
    n_tried, n_failed, n_calls_in_all, wrong = 0, 0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        for name, call in calls(folder).items():
            for once in (True, False):
                expected, n_calls = fail_at(call, 0, True)
                n_calls_in_all += len(range(1, n_calls + 1, options.step))
                end = time.monotonic() + options.seconds / 8  # for each call and way
                for at in range(1, n_calls + 1, options.step):
                    if time.monotonic() > end:
                        break
                    gc.collect()
                    before = FAILER.fail_allocation_blocks()
                    result, _ = fail_at(call, at, once)
                    gc.collect()
                    n_tried += 1
                    n_failed += result == "failed"
                    if result not in ("failed", expected):
                        wrong.append(f"{name}, allocation {at}: {result}, not {expected}")
                    if FAILER.fail_allocation_blocks() > before:
                        wrong.append(f"{name}, allocation {at}: leaks {FAILER.fail_allocation_blocks() - before} blocks")
                result, _ = fail_at(call, 0, True)
                if result != expected:
                    wrong.append(f"{name}: afterwards {result}, not {expected}")
        left = [file for file in os.listdir(folder) if file.endswith(".new")]
        wrong += [f"convert: {file} is left" for file in left]
    for line in wrong[:12]:
        print(line, file=sys.stderr)
    print(f"python: {n_tried} of {n_calls_in_all} allocations fail: {n_failed} refused, {n_tried - n_failed} done all the same, {len(wrong)} wrong")
    return 1 if wrong or n_tried == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
