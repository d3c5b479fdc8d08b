#!/usr/bin/env python3
"""Random models by this engine and by others: ONNX programs by onnxruntime and onnx.reference, MDF models by modeci_mdf (with graph-scheduler).

    python3 tests/random/check_against.py --seeds 200 [--from 0] [--jobs 2] [--build build]

What differs is told with its seed. Where the other engine fails, or gives what a rule below names, it is counted. See README.md."""
import collections
import contextlib
import io
import json
import logging
import multiprocessing
import queue
import re
import signal
import sys
import warnings

import numpy as np

import case as cases
import check_random
import families
import shrink
from python_way import SETTINGS, Absent, _input, mdf_c

LIMIT_S = 3  # of the other engine, for one model


def _bodies(graph):
    """(call, body) of all control flow in a program."""
    for call in graph["nodes"]:
        for value in call.get("attributes", {}).values():
            if isinstance(value, dict) and "graph" in value:
                yield call, value["graph"]
                yield from _bodies(value["graph"])


def _yields_what_it_did_not_make(case):
    for _, body in _bodies(case["model"]):
        made = {name for call in body["nodes"] for name in call["outputs"]} | {x["name"] for x in body.get("initializers", [])}
        names = [x["name"] for x in body["outputs"]]
        if len(set(names)) < len(names) or not made.issuperset(names):
            return True
    return False


def _has_loop_without_condition(case):
    return any(call["op"] == "Loop" and (call["inputs"] + ["", ""])[1] == "" for call, _ in _bodies(case["model"]))


def _has_condition_without_input(case):
    """Whether a Loop without a condition input has a body that yields another condition than it gets."""
    for call, body in _bodies(case["model"]):
        if call["op"] == "Loop" and (call["inputs"] + ["", ""])[1] == "":
            kept = [n["outputs"] for n in body["nodes"] if n["op"] == "Identity" and n["inputs"] == [body["inputs"][1]["name"]]]
            if [body["outputs"][0]["name"]] not in kept and body["outputs"][0]["name"] != body["inputs"][1]["name"]:
                return True
    return False


def _has_loop_that_stacks(case):
    return any(call["op"] == "Loop" and len(body["outputs"]) > len(call["inputs"]) - 1 for call, body in _bodies(case["model"]))


def _calls(case, operators):
    """(call, graph) of all calls of these operators in a program."""
    for graph in [case["model"]] + [body for _, body in _bodies(case["model"])]:
        for call in graph["nodes"]:
            if call["op"] in operators:
                yield call, graph


def _has_numbers(case, graph, name, accepts):
    """Whether numbers that a name is known to have, as a constant or an input of the program, are accepted."""
    known = [x["data"] for x in graph.get("initializers", []) if x["name"] == name]
    known += [call["attributes"]["value"]["tensor"]["data"] for call in graph["nodes"] if call["op"] == "Constant" and name in call["outputs"]]
    known += [phase["inputs"][name]["data"] for phase in case["phases"] if name in phase["inputs"]]
    return any(accepts(numbers) for numbers in known)


def _has_nan(value):
    """Whether there is a NaN anywhere in an array, or in lists and dicts of such."""
    if isinstance(value, (dict, list, tuple)):
        return any(_has_nan(item) for item in (value.values() if isinstance(value, dict) else value))
    array = np.asarray(value)
    return array.dtype.kind == "f" and bool(np.isnan(array).any())


def _has_extreme_of_nan(case):
    """Whether a program looks for an extreme, or the place of one, and meets NaN: in its inputs, nodes or bodies."""
    if next(_calls(case, ("ArgMin", "ArgMax", "ReduceMin", "ReduceMax")), None) is None:
        return False
    try:
        state = mdf_c.load(cases.model_bytes(case), format=case["format"]).compile(**SETTINGS).state()
        state.inspect(bodies=True)
        for phase in case["phases"]:
            inputs = {name: _input(value) for name, value in phase["inputs"].items()}
            state.set_inputs(inputs)
            state.evaluate(None)
            if _has_nan(inputs) or _has_nan(state.outputs()) or _has_nan(state.bodies()):
                return True
    except mdf_c.MdfError:
        pass
    return False


def _has_empty_sequence_with_state(case):
    for call, graph in _calls(case, ("RNN", "GRU", "LSTM")):
        lengths, *initial = (call["inputs"] + [""] * 7)[4:7]
        if any(initial) and _has_numbers(case, graph, lengths, lambda numbers: 0 in numbers):
            return True
    return False


def _has_extreme_of_bare_leaves(case):
    for call, _ in _calls(case, ("ai.onnx.ml::TreeEnsembleRegressor",)):
        given = call["attributes"]
        weighed = set(zip(given["target_treeids"], given["target_nodeids"]))
        nodes = zip(given["nodes_treeids"], given["nodes_nodeids"], given["nodes_modes"])
        if given.get("aggregate_function") in ("MIN", "MAX") and any(mode == "LEAF" and (tree, node) not in weighed for tree, node, mode in nodes):
            return True
    return False


def _holds(pattern):
    return lambda case: re.search(pattern, json.dumps(case["model"])) is not None


# Differences that are decided, or faults of the other engine: (engine, which models, why).
RULES = [
    ("onnxruntime", _yields_what_it_did_not_make, "what a body yields without having made it (its input, a value from outside, one value twice) shares memory with what it is "
                                                  "made from, and others write there: numbers of other types are seen in it"),
    ("onnxruntime", _has_empty_sequence_with_state, "the state of a sequence of no steps is the initial one, by the equations of the operators; there it is zeros"),
    ("onnxruntime", _has_extreme_of_nan, "NaN is what ArgMin, ArgMax, ReduceMin and ReduceMax find first, as in numpy; there it is passed over"),
    ("onnxruntime", _holds(r'"type": "int32".*"op": "Reduce(Sum|SumSquare|L1|Prod)"'), "whole numbers go on at the other end of their type; there what is summed or multiplied stays at its "
                                                                                   "end, or is computed in float32"),
    ("onnxruntime", _has_extreme_of_bare_leaves, "a leaf that has no weight for a target gives it nothing, as where there are several targets; there, with one target, it "
                                                 "gives 0, which is then the smallest or largest"),
    ("modeci_mdf", _holds(r'"default_value": \['), "a list that is a port's default value stays a list of Python there, whose + joins and whose * repeats; a port's value is an array"),
    ("onnx.reference", _holds(r'"op": "Global(Max|Average)Pool"'), "of arrays of other ranks than 4 it reduces other axes"),
    ("onnx.reference", _yields_what_it_did_not_make, "such values are the same Python object in several places"),
    ("onnxruntime", _has_condition_without_input, "what a body yields as condition is ignored where the Loop has no such input, unless loop_condition says otherwise (docs/control-flow.md)"),
    ("onnx.reference", _has_loop_without_condition, "a Loop without a condition ends by its body's"),
    ("onnx.reference", _has_loop_that_stacks, "what a Loop stacks of numbers without axes has an axis too many"),
    ("onnx.reference", _holds(r'"scan_output_axes"'), "what a Scan stacks has the axis of the runs in front"),
    ("onnx.reference", _holds(r'"opset": 8,.*"op": "Scan"'), "a Scan of version 8 is run as one of version 9, without its batch"),
    ("onnx.reference", _holds(r'"op": "(RNN|GRU|LSTM)", "inputs": \["[^"]*"(, "[^"]*"){3}, "[^"]'), "recurrent networks do not look at sequence_lens"),
    ("onnx.reference", _holds(r'"op": "(RNN|GRU|LSTM)", "inputs": \[[^]]*\], "outputs": \[[^]]*\], "attributes": \{[^{}]*"(activations|activation_alpha|activation_beta|clip|input_forget)"'),
     "recurrent networks do not look at these attributes: they are Sigmoid and Tanh, unclipped"),
    ("onnx.reference", _holds(r'"op": "Erf"'), "computed in float32"),
    ("onnx.reference", _holds(r'"op": "Optional'), "an optional is a list"),
    ("onnx.reference", _holds(r'"op": "(Div|Mod)"'), "whole numbers are divided as NumPy does, rounded down"),
    ("onnx.reference", _holds(r'"type": "b?float16"'), "intermediate results of functions that ONNX defines by others are rounded elsewhere"),
]


class Hang(Exception):
    pass


@contextlib.contextmanager
def limited():
    def end(*_):
        raise Hang

    signal.signal(signal.SIGALRM, end)
    signal.alarm(LIMIT_S)
    try:
        yield
    finally:
        signal.alarm(0)


def ours(case):
    """What the graph yields after each phase, by name; an exception where there is an error."""
    source = cases.model_bytes(case)
    program = mdf_c.load(source, format=case["format"]).compile(**SETTINGS)
    state, results, is_first = program.state(), [], True
    for phase in case["phases"]:
        for _ in range(max(1, phase["steps"])):
            state.set_inputs({name: _input(value) for name, value in phase["inputs"].items()})
            state.evaluate(None if is_first else case.get("dt"))
            is_first = False
        results.append(state.results() if case["format"] == "onnx" else {f"{n}.{p}": v for n, ports in state.outputs().items() for p, v in ports.items()})
    return results


# ---------------------------------------------------------------- the others


def by_onnxruntime(case):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(cases.model_bytes(case), options, providers=["CPUExecutionProvider"])
    return _phases(case, [x.name for x in session.get_outputs()], lambda inputs: session.run(None, inputs))


def by_reference(case):
    import onnx
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(onnx.load_from_string(cases.model_bytes(case)))
    return _phases(case, evaluator.output_names, lambda inputs: evaluator.run(None, inputs))


def _phases(case, names, run):
    return [dict(zip(names, run({name: _input(value) for name, value in phase["inputs"].items()}))) for phase in case["phases"]]


def by_modeci_mdf(case):
    from modeci_mdf.execution_engine import EvaluableGraph
    from modeci_mdf.mdf import Model

    graph, results, is_first = EvaluableGraph(Model.from_json(json.dumps(case["model"])).graphs[0]), [], True
    for phase in case["phases"]:
        for _ in range(max(1, phase["steps"])):
            graph.evaluate(time_increment=None if is_first else case.get("dt"),
                           initializer={name.split(".")[-1]: np.array(value) for name, value in phase["inputs"].items()})
            is_first = False
        results.append({f"{n}.{p}": port.curr_value for n, node in graph.enodes.items() for p, port in node.evaluable_outputs.items()})
    return results


ENGINES = {"onnx": [("onnxruntime", "onnxruntime", by_onnxruntime), ("onnx.reference", "onnx.reference", by_reference)],
           "json": [("modeci_mdf", "modeci_mdf.execution_engine", by_modeci_mdf)]}


# ---------------------------------------------------------------- comparing


def tolerance(case, dtype):
    """Relative to the largest number of an array. Functions of two engines differ in the last bits of their polynomials, and sums in their order; modeci_mdf
    rounds what goes through an onnx:: function to float32. What is cast may have been of the narrowest type of the model."""
    if dtype.kind in "biuUSO":
        return 0.0
    if case["format"] == "json":
        return 1e-4 if "onnx::" in json.dumps(case["model"]) else 1e-9
    text = json.dumps(case["model"])
    casts = [size for name, size in (("float16", 2), ("float32", 4)) if '"Cast' in text and f'"{name}"' in text]
    return {2: 4e-3, 4: 2e-4, 8: 1e-9}.get(min([dtype.itemsize, *casts]), 1e-9)


def same(case, a, b):
    if a is None or b is None:
        return a is None and b is None
    if isinstance(a, (list, tuple)) or isinstance(b, (list, tuple)) and case["format"] == "onnx":
        return isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and len(a) == len(b) and all(same(case, x, y) for x, y in zip(a, b))
    a, b = np.asarray(a), np.asarray(b)
    if case["format"] == "onnx" and (a.shape != b.shape or a.dtype.kind != b.dtype.kind and "O" not in (a.dtype.kind, b.dtype.kind)):
        return False
    if a.dtype.kind in "OUS" or b.dtype.kind in "OUS":
        return a.astype(str).tolist() == b.astype(str).tolist()
    if case["format"] == "json" and a.size == 1 and b.size == 1:
        a, b = a.reshape(()), b.reshape(())
    if a.shape != b.shape:
        return False
    limit = max(tolerance(case, a.dtype), tolerance(case, b.dtype) if case["format"] == "json" else 0)
    a, b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(all="ignore"):
        scale = np.max(np.abs(np.where(np.isfinite(b), b, 0)), initial=1.0)
        return bool(np.all((a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= limit * scale)))


def compare(case, engine, run):
    """(verdict, detail): "same", "different", "fails" (the other engine does), "refused" (this one does)."""
    error, mine, others = None, None, None
    try:
        mine = ours(case)
    except mdf_c.MdfError as fault:
        error = fault
    try:
        with limited(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            others = run(case)
    except Absent:
        return "fails", "ml_dtypes is absent"
    except (Exception, SystemExit) as fault:  # modeci_mdf leaves Python where it does not know a name
        return "fails", f"{type(fault).__name__}: {fault}"
    if error is not None:
        if re.search("does not apply to .*a float", str(error)):  # a whole number past 64 bits is one, of whose bits nothing is known (docs/expressions.md)
            return "refused past 64 bits", str(error)
        return "refused as the schema has it" if "is the first to allow it" in str(error) else "refused", str(error)
    for k, (a, b) in enumerate(zip(mine, others)):
        for name, value in b.items():
            if name in a and not same(case, a[name], value):
                return "different", f"phase {k}, {name}: here {str(a[name])[:150]}, there {str(value)[:150]}"
    return "same", ""


def rule(case, engine):
    return next((why for name, holds, why in RULES if name == engine and holds(case)), None)


_FIRST = {"format": "json", "phases": [{"steps": 1, "inputs": {}}], "dt": None, "model": {"m": {"format": "ModECI MDF v0.4", "graphs": {"main": {"nodes": {
    "N": {"functions": {"f": {"function": "onnx::Sin", "args": {"input": 1.0}}}, "output_ports": {"o": {"value": "f"}}}}}}}}}


def work(settings, seeds, results, places, k):
    """Compares the models of these seeds; where it is is told in ``places``, as another engine may end the process."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    np.seterr(all="ignore")
    with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
        by_modeci_mdf(_FIRST)  # what it loads with its first function takes longer than a model may
    for seed in seeds:
        case = families.make_comparable(seed)
        for number, (engine, package, run) in enumerate(ENGINES[case["format"]]):
            places[2 * k], places[2 * k + 1] = seed, number
            try:
                __import__(package)  # takes its time: not within the limit of a model
            except ImportError:
                continue
            results.put((seed, engine, *compare(case, engine, run)))
    places[2 * k] = -1


def answers(settings):
    """What all comparisons gave. A process that ends is begun again behind the model that ended it."""
    results, places = multiprocessing.Queue(), multiprocessing.Array("q", 2 * settings.jobs)
    seeds = {k: range(settings.first + k, settings.first + settings.seeds, settings.jobs) for k in range(settings.jobs)}
    workers = {}

    def begin(k):
        workers[k] = multiprocessing.Process(target=work, args=(settings, seeds[k], results, places, k))
        workers[k].start()

    for k in seeds:
        begin(k)
    while workers:
        try:
            yield results.get(timeout=1.0)
            continue
        except queue.Empty:
            pass
        for k, worker in list(workers.items()):
            if worker.is_alive():
                continue
            del workers[k]
            if places[2 * k] >= 0:
                seed = places[2 * k]
                yield seed, ENGINES[families.make_comparable(seed)["format"]][places[2 * k + 1]][0], "ends the process", f"exit status {worker.exitcode}"
                seeds[k] = range(seed + settings.jobs, settings.first + settings.seeds, settings.jobs)
                begin(k)


def smaller(case, engine, verdict):
    run = next(r for e, _, r in ENGINES[case["format"]] if e == engine)
    return shrink.shrink(case, lambda c: compare(c, engine, run)[0] == verdict and rule(c, engine) is None, 15.0)


def main():
    settings = check_random.arguments()
    counts, found = collections.Counter(), []
    for seed, engine, verdict, detail in answers(settings):
        why = rule(families.make_comparable(seed), engine) if verdict in ("different", "refused") else None
        counts[engine, verdict if why is None else f"{verdict}, as ruled"] += 1
        if verdict in ("different", "refused") and why is None:
            found.append((seed, engine, verdict, detail))
    warnings.simplefilter("ignore")
    for k, (seed, engine, verdict, detail) in enumerate(sorted(found)):
        print(f"\n{engine}: {verdict}, seed {seed}: {detail[:400]}")
        if k < check_random.MOST_SHRUNK:
            case = smaller(families.make_comparable(seed), engine, verdict) if verdict != "ends the process" else families.make_comparable(seed)
            folder = check_random.keep(settings, seed, {"way": engine, "kind": verdict, "detail": [detail]}, case)
            print("   ", json.dumps(case["model"])[:1500], f"\n    in {folder}: {cases.mdf_run_command(case, 'model.' + case['format'])}")
        sys.stdout.flush()
    for key, n in sorted(counts.items()):
        print(f"{key[0]}: {key[1]}: {n}")
    print(f"{sum(counts.values())} comparisons, {len(found)} found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
