#!/usr/bin/env python3
"""Calls every ONNX operator and every function of expressions on inputs so large that the call takes long, with a time limit of 0.1 s, and prints the calls
that end more than 0.2 s after it.

    pip install onnx numpy ml_dtypes
    make BUILD=build/o2 CFLAGS=-O2 build/o2/libmdf.so && MDF_C_BUILD=build/o2 python3 tests/calls/late_calls.py [--only WORD] [--elements N] [--all]

The calls of operators are ONNX's node tests of one operator (tests/calls/sweep_operators.py), in which one size after the other, wherever it stands in the inputs, is
made as large as the number of elements allows; those of functions are given large arrays, and lists, as they take them. Numbers go on as they begin, so that
indices stay in range. Each operator or function has a process of its own. A call counts as late where both the clock and the processor say so: others may
use the machine. Printed at the end are the names that no input kept busy for 0.1 s.
"""
import argparse
import gc
import glob
import json
import os
import re
import resource
import sys
import time

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sweep_operators as sweep  # noqa: E402
from run_node_tests import ROOT  # noqa: E402

sys.path.insert(0, os.path.join(ROOT, "python"))
import mdf_c  # noqa: E402

LIMIT_S, LATE_S = 0.1, 0.2
FIRST_ELEMENTS, TEXT_SHARE = 100000, 10  # a trial of each way to grow; texts are some ten times as large as numbers
MOST_BYTES = 6 << 30
MOST_LARGE = 3  # ways to grow of one call that are tried in full


def measure(program, inputs):
    """(how it ended, seconds by the clock, by the processor)"""
    state = program.state()
    try:
        state.set_inputs(inputs, lend=True)
        state.limit_time(LIMIT_S)
        start, start_cpu = time.monotonic(), time.process_time()
        try:
            state.evaluate()
            end = "result"
        except mdf_c.MdfError as error:
            end = "limit" if "--time-limit" in str(error) else "memory" if "--max-memory" in str(error) else f"error: {error}"
        return end, time.monotonic() - start, time.process_time() - start_cpu
    finally:
        del state
        gc.collect()


# ------------------------------------------------------------------ operators


def grown(values, places, n_elements):
    """The inputs with the sizes at `places`, pairs of an input and an axis, as large as `n_elements` together allow."""
    def with_size(size):
        shapes = [list(np.shape(v)) if v is not None and not isinstance(v, list) else None for v in values]
        for i, axis in places:
            shapes[i][axis] = size
        return shapes, sum(float(np.prod(s)) for s in shapes if s is not None)

    size = 1
    while with_size(size * 2)[1] <= n_elements and size < n_elements:
        size *= 2
    shapes = with_size(size)[0]
    return [np.resize(np.asarray(v), s) if s is not None and list(np.shape(v)) != s else v for v, s in zip(values, shapes)]


def ways_to_grow(values):
    """Sets of sizes that may belong together: those that are equal, in all inputs or in one; all of one input; each by itself."""
    places = [(i, axis) for i, v in enumerate(values) if v is not None and not isinstance(v, list) for axis in range(np.ndim(v))]
    ways = []
    for size in sorted({np.shape(values[i])[axis] for i, axis in places}):
        ways.append([p for p in places if np.shape(values[p[0]])[p[1]] == size])
        ways += [[p for p in ways[-1] if p[0] == i] for i in sorted({p[0] for p in ways[-1]})]
    ways += [[p for p in places if p[0] == i] for i in range(len(values))]
    ways += [[p] for p in places]
    ways += [places, [p for p in places if np.shape(values[p[0]])[p[1]] > 1]]
    return [list(w) for w in dict.fromkeys(tuple(w) for w in ways) if w]


def operator_trials(schema, call, name, n_elements):
    if any(isinstance(v, list) for v in call.values) or not any(np.ndim(v) for v in call.values if v is not None):
        return
    if any(of == "string" and not all(isinstance(text, str) for text in np.ravel(v)) for v, of in zip(call.values, call.names)):
        return
    proto = call.model()
    for info in proto.graph.input:
        info.type.tensor_type.ClearField("shape")
    program = mdf_c.compile(proto, max_memory=MOST_BYTES)
    n_elements = n_elements // TEXT_SHARE if "string" in call.names else n_elements
    measured = []

    def trial(places, n):
        values = grown(call.values, places, n)
        inputs = {f"i{i}": v for i, (v, of) in enumerate(zip(values, call.names)) if of is not None}
        shapes = " ".join(str(list(np.shape(v))) for v in values if v is not None)
        return (f"{name} {shapes}", *measure(program, inputs))

    for places in ways_to_grow(call.values):
        what, end, clock, cpu = trial(places, FIRST_ELEMENTS)
        yield what, end, clock, cpu
        if end in ("result", "limit"):
            measured.append((clock, places))
    for _, places in sorted(measured, key=lambda m: -m[0])[:MOST_LARGE]:
        n, end = n_elements, "memory"
        while end == "memory" and n > FIRST_ELEMENTS:
            what, end, clock, cpu = trial(places, n)
            yield what, end, clock, cpu
            n //= 8


def operator_calls(word, n_elements):
    """(operator, function that yields its trials)"""
    seeds, latest = sweep.node_tests(), {}
    for schema in sweep.onnx.defs.get_all_schemas():
        latest[schema.domain, schema.name] = sweep.onnx.defs.get_schema(schema.name, schema.domain)
    for key, schema in sorted(latest.items()):
        if word.lower() not in schema.name.lower() or schema.deprecated:
            continue
        tests = sorted(seeds.get(key, []), key=lambda s: -max((np.ndim(v) for v in s[2] if v is not None and not isinstance(v, list)), default=0))
        calls = [(sweep.brought_to(schema, s[0], s[1], s[2]), s[3]) for s in tests]
        calls = [c for c in calls if c[0] is not None]
        calls = [*calls[:1], *calls[1:][-1:]]

        def trials(schema=schema, calls=calls):
            for call, name in calls:
                try:
                    yield from operator_trials(schema, call, name, n_elements)
                except (mdf_c.MdfError, TypeError) as error:  # the latter of texts that were grown to something else
                    yield name, f"error: {error}", 0, 0
        yield f"{key[0] or 'onnx'}::{key[1]}", trials


# ------------------------------------------------------------------ functions of expressions

FORMS = ["{f}(x)", "{f}(x, x)", "{f}(x, 2)", "{f}(2, x)", "{f}(m)", "{f}(m, m)", "{f}(m, x)", "{f}(k)", "{f}(k, k)", "{f}(k, 2)", "{f}(c, x, x)", "{f}(x, x, x)",
         "{f}(x, k)", "{f}(x, 0, 1)", "{f}(n)", "{f}(0, n)", "{f}(0.0, 1.0, n)", "{f}((n, 2))", "{f}((n,), 1.5)", "{f}(n, n)", "{f}([x, x])", "{f}([m, m])", "{f}(l)", "{f}(l, l)",
         "{f}(l, 2)", "{f}(x, k, x)", "{f}(m, 0)", "{f}(m, (1, 0))", "{f}(x, (n, 1))", "{f}(m, 1, 0)", "{f}(x, 0, n)", "{f}(t)", "{f}(s, s)",
         "{f}('ij,jk->ik', m, m)", "{f}('ij,ij->', m, m)", "{f}(lambda v: v, l)", "{f}(p, p)", "{f}(p, 2)", "{f}(b, x)", "{f}(x, b)", "{f}(b)", "{f}(h, h)", "{f}(h)", "{f}(h, 1000)",
         "{f}(1.0, 2.0, n)", "{f}(n, 0.5, n)", "{f}(0, 5, n)"]
METHODS = ["x.{f}()", "m.{f}()", "l.{f}()", "m.{f}(0)", "x.{f}(x)", "l.{f}(5)", "l.{f}(5, 1)", "x.{f}((n, 1))", "x.{f}(numpy.float32)", "m.{f}(m)", "t.{f}()", "t.{f}('a')", "t.{f}('a', 'bc')", "x.{f}(0, 1)", "x.{f}(k)", "x.{f}(3)"]
OPERATIONS = ["x + x", "x ** x", "m @ m", "x[k]", "x[b]", "x[::-1]", "m.T + m", "m[:, ::-1]", "l + l", "l * 2", "l[::-1]", "l[5:]", "x == x", "l == l", "5 in l", "x in [x]", "-x", "~b",
              "x if n > 0 else 1", "[v for v in l]", "[v + 1 for v in x]", "{{v: 1 for v in l}}", "sum(v for v in l)", "(1 << n)", "7 ** n", "'ab' * n", "t + t", "t == t[1:]", "[0] * n", "list(range(n))",
              "numpy.array(l)", "numpy.array([l, l])", "sorted(l)", "numpy.arange(n) * 1.5", "x // 2", "x % 2", "k // 3", "str(n ** 9999)", "x.tolist()", "m.tolist()", "list(x)", "str(l)", "str(x)", "tuple(l)"]


def function_names():
    """Names in the rows of the tables in functions/python, and of methods."""
    names, methods = set(), set()
    for path in glob.glob(os.path.join(ROOT, "functions", "python", "*.c")):
        with open(path) as f:
            text = f.read()
        names |= set(re.findall(r'"((?:numpy|math|operator|random)\.[\w.]+|[a-z]+)"', text))
        if path.endswith("methods.c"):
            methods |= set(re.findall(r'"(?:numpy\.ndarray|list|dict|str)?\.?([a-z_]+)"', text))
    return sorted(n for n in names if not n.startswith("operator.getitem")), sorted(methods)


def model_of(expression):
    ports = {name: {} for name in re.findall(r"\b[a-z]\b", re.sub(r"'[^']*'", "", expression)) if name in "xmklntspbch"}
    node = {"input_ports": ports, "parameters": {"o": {"value": expression}}, "output_ports": {"o": {"value": "o"}}}
    return json.dumps({"m": {"format": "ModECI MDF v0.4", "graphs": {"g": {"nodes": {"a": node}}}}}), list(ports)


class Inputs:
    """Large values by the names that expressions have for them, made when they are first needed."""

    def __init__(self, n):
        side = int(n**0.5)
        self.made = {}
        self.makers = {"x": lambda: np.resize(np.random.default_rng(1).random(1 << 16), n), "m": lambda: np.resize(np.random.default_rng(1).random(1 << 16), (side, side)),
                       "k": lambda: np.resize(np.arange(1, 1 << 16), n), "n": lambda: n, "b": lambda: np.resize(np.array([True, False, True]), n), "c": lambda: np.resize(np.array([True, False]), n),
                       "l": lambda: list(range(n // 40)), "t": lambda: "ab" * n, "s": lambda: "a" * n, "p": lambda: np.resize(np.arange(5.0), n // 100), "h": lambda: np.resize(np.arange(7.0), 5000)}

    def get(self, name):
        if name not in self.made:
            self.made[name] = self.makers[name]()
        return self.made[name]


def expression_trials(expressions, inputs):
    for expression in expressions:
        text, ports = model_of(expression)
        try:
            program = mdf_c.compile(mdf_c.load(text.encode(), format="json"), max_memory=MOST_BYTES)
            given = {name: inputs.get(name) for name in ports}
        except mdf_c.MdfError as error:
            yield expression, f"error: {error}", 0, 0
            continue
        yield (expression, *measure(program, given))


def function_calls(word, n_elements):
    inputs = Inputs(n_elements)
    names, methods = function_names()
    groups = [(n, [form.format(f=n) for form in FORMS]) for n in names] + [(f".{n}", [form.format(f=n) for form in METHODS]) for n in methods]
    groups += [(e, [e.replace("{{", "{").replace("}}", "}")]) for e in OPERATIONS]
    for name, expressions in groups:
        if word.lower() in name.lower():
            yield name, lambda expressions=expressions: expression_trials(expressions, inputs)


# ------------------------------------------------------------------


def is_late(clock, cpu):
    return clock > LIMIT_S + LATE_S and cpu > LIMIT_S + LATE_S


def run_apart(name, trials, show_all):
    """Runs the trials in a process of their own: (late ones, whether one was kept busy, whether one gave a result or an end)"""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        resource.setrlimit(resource.RLIMIT_AS, (3 * MOST_BYTES, 3 * MOST_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with os.fdopen(write, "w") as out:
            for what, end, clock, cpu in trials():
                out.write(json.dumps([what, end, clock, cpu]) + "\n")
                out.flush()
        os._exit(0)
    os.close(write)
    late, busy, works = 0, False, False
    with os.fdopen(read) as lines:
        for line in lines:
            what, end, clock, cpu = json.loads(line)
            busy, works = busy or clock > LIMIT_S, works or end in ("result", "limit")
            if show_all or is_late(clock, cpu):
                late += is_late(clock, cpu)
                print(f"{'LATE ' if is_late(clock, cpu) else ''}{name} {what}: {clock:.2f} s, {cpu:.2f} s of the processor, {end[:200]}", flush=True)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != 0:
        print(f"CRASHES {name}: {status}", flush=True)
    return late + (status != 0), busy, works


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", metavar="WORD", help="only names that hold this")
    parser.add_argument("--what", choices=["operators", "functions"], help="only these")
    parser.add_argument("--elements", type=int, default=20_000_000, metavar="N", help="of all inputs of a call together")
    parser.add_argument("--all", action="store_true", help="print all calls")
    args = parser.parse_args()
    n_late, idle, unknown = 0, [], []
    calls = [] if args.what == "functions" else list(operator_calls(args.only, args.elements))
    calls += [] if args.what == "operators" else list(function_calls(args.only, args.elements))
    for name, trials in calls:
        late, busy, works = run_apart(name, trials, args.all)
        n_late += late
        (unknown if not works else [] if busy else idle).append(name)
    print(f"never busy for {LIMIT_S} s: {', '.join(idle)}")
    print(f"not called: {', '.join(unknown)}")
    print(f"{n_late} of {len(calls)} names late")
    return 1 if n_late else 0


if __name__ == "__main__":
    sys.exit(main())
