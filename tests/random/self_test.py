#!/usr/bin/env python3
"""Whether the harness can fail: a way whose numbers are changed in their last bit, a model that ends the process, one that does not end."""
import argparse
import os
import sys
import time

import check_random
import families
from runner import ROOT, Runner

MOST_BYTES = 600  # of a shrunk case: a node or two


def wrong_way(build, way):
    """A finding of that way, shrunk; None where nothing was found."""
    sys.argv = ["", "--build", build, "--wrong-way", way, "--no-python", "--compile-every", "0", "--shrink-s", "20"]
    check = check_random.Check(check_random.arguments())
    with check.runner:
        for seed in range(100):
            case, found, _ = check.seed(seed)
            if any(f["way"] == way for f in found):
                return check.shrink(case, next(f for f in found if f["way"] == way))[0]
    return None


def fate(build, program, limit_s):
    """What becomes of a program that does not answer as it should."""
    with Runner(build, limit_s) as runner:
        runner.program = program
        return runner.run(families.make(0)).findings[0]["kind"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.environ.get("BUILD", "build"))
    build, begin, failed = parser.parse_args().build, time.monotonic(), []
    for way in ("default", "steps", "yaml", "sweep"):
        case = wrong_way(build, way)
        if case is None or len(str(case["model"])) > MOST_BYTES:
            failed.append(f"a wrong last bit of the way '{way}': " + ("not found" if case is None else f"not shrunk: {case['model']}"))
    if fate(build, os.path.join(ROOT, "tests", "random", "ends.sh"), 5.0) != "crash":
        failed.append("a process that ends is not found")
    if fate(build, os.path.join(ROOT, "tests", "random", "hangs.sh"), 0.2) != "hang":
        failed.append("a process that does not answer is not found")
    for line in failed:
        print("self test:", line)
    print(f"self test: {6 - len(failed)} of 6 wrong ways found, {time.monotonic() - begin:.1f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
